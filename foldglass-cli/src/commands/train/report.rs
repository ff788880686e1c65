//! Reports what a fleet learned: greedy accuracy by length, a row a model.

use std::io::{self, Write};
use std::path::PathBuf;

use foldglass_nn::backend::StepRecord;
use foldglass_nn::fleet::Best;
use foldglass_nn::settings::FleetSettings;
use foldglass_study::Fields;
use foldglass_study::method::put;
use schemars::JsonSchema;
use serde::Serialize;

use super::Name;
use super::flags::training_settings;
use crate::flags::fleet::Machine;
use crate::output::Report;
use crate::report::{Cell, Column, Digits, Format, Table};

/// The accuracy above which a length is held (SPEC, "Holds T").
const HELD: f64 = 0.9;

/// A model at the end.
#[derive(Debug, Clone, JsonSchema, Serialize)]
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
    /// The model at its best gate, where that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<AtBest>,
}

/// A model at its best gate.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct AtBest {
    /// Updates made.
    step: u64,
    /// The longest length it was trained on.
    length: usize,
    /// The accuracy that the gate saw.
    gate: f64,
    /// What the update before the gate came to.
    #[serde(flatten)]
    last: StepRecord,
    /// The longest length up to which its greedy accuracy is above 0.9 everywhere; none where the test was
    /// stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<usize>,
    /// Greedy accuracy at lengths 1, 2, .. to the cap; likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    greedy: Option<Vec<f64>>,
    /// Its weight file.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<PathBuf>,
}

impl AtBest {
    /// A best gate with accuracies at lengths from 1.
    pub(super) fn new(best: &Best, greedy: Option<Vec<f64>>, weights: Option<PathBuf>) -> AtBest {
        AtBest {
            step: best.step,
            length: best.length,
            gate: best.gate,
            last: best.last,
            holds: greedy.as_deref().map(held),
            greedy,
            weights,
        }
    }
}

impl Model {
    fn weight_files(&self) -> impl Iterator<Item = &PathBuf> + Clone {
        let best = self.best.iter().filter_map(|best| best.weights.as_ref());
        self.weights.iter().chain(best)
    }

    /// A model with its accuracies at lengths from 1.
    pub(super) fn new(
        name: Name,
        step: u64,
        length: usize,
        greedy: Option<Vec<f64>>,
        last: Option<StepRecord>,
        weights: Option<PathBuf>,
        best: Option<AtBest>,
    ) -> Model {
        Model {
            holds: greedy.as_deref().map(held),
            name,
            step,
            length,
            greedy,
            last,
            weights,
            best,
        }
    }
}

/// The lengths up to which all accuracies are high.
fn held(greedy: &[f64]) -> usize {
    greedy.iter().take_while(|&&share| share > HELD).count()
}

/// What a fleet came to.
#[derive(JsonSchema, Serialize)]
pub struct FleetReport {
    /// Where it was computed.
    pub back_end: Machine,
    /// The same for a reader.
    #[serde(skip)]
    pub device: String,
    /// What all models share.
    #[serde(skip)]
    pub settings: FleetSettings,
    /// The models.
    pub models: Vec<Model>,
    /// Whether the last step was made.
    #[serde(skip)]
    pub whole: bool,
}

/// Lengths that a table has room for.
const COLUMNS: usize = 8;

impl FleetReport {
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

    /// A table with these columns between a model's name and its accuracies.
    fn table<'a>(
        &self,
        columns: &[&str],
        rows: impl Iterator<Item = (&'a Name, Vec<Cell>, Option<&'a [f64]>)>,
    ) -> Table {
        let lengths = self.shown();
        let mut all = vec![
            Column::numbers("model"),
            Column::words("task"),
            Column::numbers("c"),
            Column::numbers("rate"),
            Column::numbers("seed"),
        ];
        all.extend(columns.iter().map(|name| Column::numbers(name)));
        all.extend(lengths.iter().map(|t| Column::numbers(&format!("T={t}"))));
        let row = |(name, own, greedy): (&Name, Vec<Cell>, Option<&[f64]>)| -> Vec<Cell> {
            let mut row = vec![
                name.model.into(),
                name.task.clone().into(),
                name.c.into(),
                name.learning_rate.into(),
                Cell::Text(name.seed.to_string()),
            ];
            row.extend(own);
            let greedy = |t: &usize| match greedy {
                Some(greedy) => Cell::Real(Digits::Decimals(3).of(greedy[t - 1])),
                None => Cell::Missing,
            };
            row.extend(lengths.iter().map(greedy));
            row
        };
        Table::new(all).rows(rows.map(row))
    }

    /// The models at the last step.
    fn last_table(&self) -> Table {
        let rows = self.models.iter().map(|model| {
            let own = vec![model.length.into(), Cell::or_missing(model.holds)];
            (&model.name, own, model.greedy.as_deref())
        });
        self.table(&["length", "holds"], rows)
    }

    /// The models at their best gates, where those are kept.
    fn best_table(&self) -> Option<Table> {
        let rows = self.models.iter().filter_map(|model| {
            let best = model.best.as_ref()?;
            let own = vec![
                Cell::Text(best.step.to_string()),
                best.length.into(),
                Cell::Real(Digits::Decimals(3).of(best.gate)),
                Cell::Real(Digits::Decimals(3).of(best.last.entropy)),
                Cell::or_missing(best.holds),
            ];
            Some((&model.name, own, best.greedy.as_deref()))
        });
        let columns = ["step", "length", "gate", "entropy", "holds"];
        (rows.clone().next().is_some()).then(|| self.table(&columns, rows))
    }
}

/// The word that settings have for a value.
fn name_of(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).expect("plain data");
    value.as_str().unwrap_or_default().to_owned()
}

impl Report for FleetReport {
    fn settings(&self) -> Fields {
        let mut fields = training_settings(&self.settings);
        // Where no task or no coefficient is given, all models have the same.
        if let Some(Model { name, .. }) = self.models.first() {
            put(&mut fields, "task", &name.task);
            put(&mut fields, "entropy", name.c);
        }
        fields
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        [self.last_table()]
            .into_iter()
            .chain(self.best_table())
            .collect()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let step = self.models.first().map_or(0, |model| model.step);
        let FleetSettings {
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
        self.last_table().write_text(out)?;
        if let Some(best) = self.best_table() {
            writeln!(
                out,
                "\nat the best gate: the longest length of the curriculum, there the highest accuracy\n"
            )?;
            best.write_text(out)?;
        }
        let written = self.models.iter().flat_map(Model::weight_files);
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
