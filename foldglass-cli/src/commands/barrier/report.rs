//! Reports the barriers between networks along a path, a row a stretch (paper, tab:escape).

use std::io::{self, Write};

use foldglass::ClassSpec;
use foldglass_nn::barrier::LineReward;
use foldglass_nn::distill::Distillation;
use foldglass_study::Fields;
use foldglass_study::method::put;
use schemars::JsonSchema;
use serde::Serialize;

use crate::flags::distill::distillation_settings;
use crate::flags::fleet::Machine;
use crate::output::Report;
use crate::report::{Cell, Column, Format, Table};

/// Consecutive codes, and what was measured between their networks.
#[derive(JsonSchema, Serialize)]
pub struct StretchReport {
    pub place: &'static str,
    /// Networks that reproduce their code on every input.
    pub networks: usize,
    /// The updates that each took.
    pub updates: Vec<u64>,
    /// The inputs answered rightly at every point, and the barrier in inputs: quanta of q^-T.
    pub lines: Vec<LineReward>,
}

/// What was measured.
#[derive(JsonSchema, Serialize)]
pub struct BarrierReport {
    #[serde(skip)]
    pub(super) class: ClassSpec,
    pub(super) cells: usize,
    pub(super) inputs: u64,
    /// The chain that arrived.
    pub(super) chain_seed: u64,
    /// The codes of its path.
    pub(super) path_codes: u64,
    /// Those of a stretch.
    pub(super) codes: usize,
    pub(super) points: usize,
    pub(super) back_end: Machine,
    #[serde(skip)]
    pub(super) distillation: Distillation,
    /// The most changes that a chain may propose.
    #[serde(skip)]
    pub(super) max_proposals: u64,
    pub(super) stretches: Vec<StretchReport>,
    #[serde(skip)]
    pub(super) stopped: bool,
}

impl BarrierReport {
    fn table(&self) -> Table {
        let columns = [
            Column::words("stretch"),
            Column::numbers("networks"),
            Column::numbers("lines"),
            Column::numbers("barrier 0"),
            Column::numbers("largest, in quanta").key("largest"),
            Column::numbers("as reward"),
            Column::numbers("updates of a network").key("updates"),
        ];
        let row = |stretch: &StretchReport| {
            let barriers = || stretch.lines.iter().map(|line| line.barrier);
            let largest = barriers().max();
            let updates = &stretch.updates;
            let mean = updates.iter().sum::<u64>() as f64 / updates.len() as f64;
            [
                stretch.place.into(),
                stretch.networks.into(),
                stretch.lines.len().into(),
                barriers().filter(|&b| b == 0).count().into(),
                Cell::or_missing(largest),
                Cell::or_missing(largest.map(|b| b as f64 / self.inputs as f64)),
                Cell::or_missing((!updates.is_empty()).then_some(mean)),
            ]
        };
        Table::new(columns).rows(self.stretches.iter().map(row))
    }

    fn complete(&self) -> bool {
        (self.stretches.iter()).all(|s| s.networks == self.codes && s.lines.len() + 1 == self.codes)
    }
}

impl Report for BarrierReport {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.clone())
    }

    fn settings(&self) -> Fields {
        let mut fields = distillation_settings(&self.distillation);
        put(&mut fields, "max_proposals", self.max_proposals);
        fields
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{}, {} cells: a path of {} codes to reward 1 (chain of seed {}), followed on three \
             stretches of {} codes",
            self.class, self.cells, self.path_codes, self.chain_seed, self.codes
        )?;
        writeln!(
            out,
            "greedy reward on all {} inputs at {} points of every line; a quantum is one input\n",
            self.inputs, self.points
        )?;
        self.table().write_text(out)
    }

    fn failure(&self) -> Option<String> {
        let late = !self.stopped && !self.complete();
        late.then(|| {
            format!(
                "a network was not exact on every input after {} updates: more --steps may do",
                self.distillation.steps
            )
        })
    }

    fn interrupted(&self) -> bool {
        self.stopped
    }
}
