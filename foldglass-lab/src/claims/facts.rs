//! Reads what statements are decided from: the comparison of `reproduce`, its records, and those of probes.

use std::collections::BTreeMap;
use std::path::Path;

use foldglass::stats::Summary;
use foldglass_study::Record;
use serde_json::Value;

use super::probes;
use crate::error::Error;
use crate::reproduce::data::Data;
use crate::reproduce::studies::{self, Source};
use crate::reproduce::{self, Comparison, Manifest, Row};

/// All records of a directory.
pub struct Facts {
    comparison: Option<Comparison>,
    /// The records of studies, censuses and networks.
    pub data: Data,
    probes: BTreeMap<&'static str, Value>,
}

impl Facts {
    /// Reads a directory; what is not there is left out.
    pub fn read(directory: &Path) -> Result<Facts, Error> {
        let manifest = Manifest::find(directory)?;
        let (comparison, data) = match &manifest {
            None => (None, Data::default()),
            Some(manifest) => {
                let data = Data::read(directory, &studies::ALL, manifest.scale, manifest.seed)?;
                (reproduce::compare(&[], directory).ok(), data)
            }
        };
        Ok(Facts {
            comparison,
            data,
            probes: probes::read(directory)?,
        })
    }

    /// What a probe found.
    pub fn probe(&self, id: &str) -> Option<&Value> {
        self.probes.get(id)
    }

    /// A number that a probe found, by its path such as `/T8/traps`.
    pub fn number(&self, id: &str, path: &str) -> Option<f64> {
        self.probe(id)?.pointer(path)?.as_f64()
    }

    /// The numbers of an item.
    pub fn item(&self, label: &str) -> Option<&[Row]> {
        let items = &self.comparison.as_ref()?.items;
        let item = items.iter().find(|item| item.item == label)?;
        Some(&item.rows)
    }

    /// A number of an item.
    pub fn row(&self, label: &str, class: &str, quantity: &str) -> Option<&Row> {
        let own = |row: &&Row| row.row == class && row.quantity == quantity;
        self.item(label)?.iter().find(own)
    }

    /// The records of a class in a study, run by run; none where there are none.
    pub fn runs(&self, source: Source, class: &str) -> Option<Vec<&Record>> {
        if !self.data.has(source) {
            return None;
        }
        Some(self.data.runs(source, class)).filter(|runs| !runs.is_empty())
    }

    /// The mean, spread and number of the rewards of a class at a temperature.
    pub fn summary(&self, source: Source, class: &str, tau: Option<f64>) -> Option<Summary> {
        if !self.data.has(source) {
            return None;
        }
        Summary::of(&self.data.ends(source, class, "", tau).rewards)
    }
}

/// A number of a record's result.
pub fn result(record: &Record, key: &str) -> Option<f64> {
    record.result.get(key).and_then(Value::as_f64)
}

/// The exact rewards at checkpoints of a chain, by sweep.
pub fn checkpoints(record: &Record) -> BTreeMap<u64, String> {
    let marks = record.result.get("checkpoints").and_then(Value::as_array);
    let mark = |mark: &Value| {
        let exact = mark.get("reward_exact")?.as_str()?.to_owned();
        Some((mark.get("sweep")?.as_u64()?, exact))
    };
    marks.into_iter().flatten().filter_map(mark).collect()
}
