//! Reports what a fleet learned: greedy accuracy by length, a row a model.

use std::io::{self, Write};
use std::path::PathBuf;

use foldglass_nn::backend::StepRecord;
use foldglass_nn::settings::Settings;
use foldglass_study::Fields;
use foldglass_study::method::{fields, put};
use serde::Serialize;

use super::Name;
use crate::flags::fleet::Machine;
use crate::output::Report;
use crate::report::{Cell, Column, Digits, Format, Table};

/// The accuracy above which a length is held (SPEC, "Holds T").
const HELD: f64 = 0.9;

/// A model at the end.
#[derive(Debug, Clone, Serialize)]
pub struct Model {
    #[serde(flatten)]
    name: Name,
    /// Updates made.
    step: u64,
    /// Where its curriculum is.
    length: usize,
    /// The longest length up to which its greedy accuracy is above 0.9 everywhere; none where it was
    /// stopped before it was tested.
    holds: Option<usize>,
    /// Greedy accuracy at lengths 1, 2, .. to the cap; none likewise.
    greedy: Option<Vec<f64>>,
    /// What its last update came to, where this call made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<StepRecord>,
    /// Its weight file.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<PathBuf>,
}

impl Model {
    /// A model with its accuracies at lengths from 1.
    pub(super) fn new(
        name: Name,
        step: u64,
        length: usize,
        greedy: Option<Vec<f64>>,
        last: Option<StepRecord>,
        weights: Option<PathBuf>,
    ) -> Model {
        Model {
            holds: greedy.as_deref().map(held),
            name,
            step,
            length,
            greedy,
            last,
            weights,
        }
    }
}

/// The lengths up to which all accuracies are high.
fn held(greedy: &[f64]) -> usize {
    greedy.iter().take_while(|&&share| share > HELD).count()
}

/// What a fleet came to.
#[derive(Serialize)]
pub struct Trained {
    /// Where it was computed.
    pub back_end: Machine,
    /// The same for a reader.
    #[serde(skip)]
    pub device: String,
    /// What all models share.
    #[serde(skip)]
    pub settings: Settings,
    /// The models.
    pub models: Vec<Model>,
    /// Whether the last step was made.
    #[serde(skip)]
    pub whole: bool,
}

/// Lengths that a table has room for.
const COLUMNS: usize = 8;

impl Trained {
    /// Whether the models were tested: else it was stopped before.
    pub fn is_tested(&self) -> bool {
        self.models.iter().all(|model| model.greedy.is_some())
    }

    /// The lengths that are shown: all, or powers of two, the test's and the cap.
    fn shown(&self) -> Vec<usize> {
        let cap = self.settings.cap;
        let test = self.settings.evaluation.length;
        let shown = |&length: &usize| {
            cap <= COLUMNS || length.is_power_of_two() || length == test || length == cap
        };
        (1..=cap).filter(shown).collect()
    }

    fn table(&self) -> Table {
        let lengths = self.shown();
        let mut columns = vec![
            Column::numbers("model"),
            Column::words("task"),
            Column::numbers("c"),
            Column::numbers("rate"),
            Column::numbers("seed"),
            Column::numbers("length"),
            Column::numbers("holds"),
        ];
        columns.extend(lengths.iter().map(|t| Column::numbers(&format!("T={t}"))));
        let row = |model: &Model| -> Vec<Cell> {
            let name = &model.name;
            let mut row = vec![
                name.model.into(),
                name.task.clone().into(),
                name.c.into(),
                name.learning_rate.into(),
                Cell::Text(name.seed.to_string()),
                model.length.into(),
                Cell::or_missing(model.holds),
            ];
            let greedy = |t: &usize| match &model.greedy {
                Some(greedy) => Cell::Real(Digits::Decimals(3).of(greedy[t - 1])),
                None => Cell::Missing,
            };
            row.extend(lengths.iter().map(greedy));
            row
        };
        Table::new(columns).rows(self.models.iter().map(row))
    }
}

/// The word that settings have for a value.
fn name_of(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).expect("plain data");
    value.as_str().unwrap_or_default().to_owned()
}

impl Report for Trained {
    fn settings(&self) -> Option<Fields> {
        let mut fields = fields(&self.settings);
        put(&mut fields, "models", self.models.len());
        Some(fields)
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let step = self.models.first().map_or(0, |model| model.step);
        let Settings {
            batch,
            layout,
            initial,
            evaluation,
            ..
        } = &self.settings;
        writeln!(
            out,
            "{} models, {step} steps of {batch} samples, {} {}, on {}",
            self.models.len(),
            name_of(layout),
            name_of(initial),
            self.device
        )?;
        writeln!(
            out,
            "greedy accuracy on {} fresh inputs of length T; `holds`: above {HELD} at every length up to \
             it\n",
            evaluation.inputs
        )?;
        self.table().write_text(out)?;
        let written = self.models.iter().filter_map(|m| m.weights.as_ref());
        if let Some(path) = written.clone().next() {
            let files = written.count();
            writeln!(out, "\n{files} weight files, the first {}", path.display())?;
        }
        Ok(())
    }

    fn interrupted(&self) -> bool {
        !self.whole || !self.is_tested()
    }
}
