//! Says in a weight file what it holds: the settings and the model that made the weights.
//!
//! Widths can be read off the tensors; heads, layout and cap cannot, and without them the same
//! weights are another network.

use crate::settings::{FleetSettings, ModelSettings, SettingsError};
use crate::weights::{Weights, WeightsError};
use foldglass::model::operation::Operation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where a network comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// The settings of its fleet.
    pub settings: FleetSettings,
    /// What was its own.
    pub model: ModelSettings,
    /// Updates made.
    pub step: u64,
}

/// A weight file whose origin cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OriginError {
    /// The weights.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The note.
    #[error("its note on where it comes from cannot be read: {0}")]
    Note(String),
}

const FORMAT: &str = "foldglass-weights/1";

/// The form of an origin in a weight file, and of a model in a checkpoint.
#[derive(JsonSchema, Serialize, Deserialize)]
pub(crate) struct StoredModel {
    seed: u64,
    rows: Vec<Vec<i64>>,
    entropy: f64,
    learning_rate: f64,
}

impl From<&ModelSettings> for StoredModel {
    fn from(model: &ModelSettings) -> StoredModel {
        let row = |row: &[u16]| row.iter().map(|&s| i64::from(s)).collect();
        StoredModel {
            seed: model.seed,
            rows: model.square.rows().map(row).collect(),
            entropy: model.entropy,
            learning_rate: model.learning_rate,
        }
    }
}

impl StoredModel {
    pub(crate) fn take(&self) -> Result<ModelSettings, SettingsError> {
        Ok(ModelSettings {
            seed: self.seed,
            square: Operation::from_rows(&self.rows)?,
            entropy: self.entropy,
            learning_rate: self.learning_rate,
        })
    }
}

#[derive(JsonSchema, Serialize, Deserialize)]
struct Note {
    format: String,
    step: u64,
    /// As text: a seed may pass what TOML's whole numbers hold.
    seed: String,
    rows: Vec<Vec<i64>>,
    entropy: f64,
    learning_rate: f64,
    settings: FleetSettings,
}

impl Origin {
    /// Weights as a safetensors file that says where they come from.
    pub fn write(&self, weights: &Weights) -> Vec<u8> {
        let model = StoredModel::from(&self.model);
        let note = Note {
            format: FORMAT.into(),
            step: self.step,
            seed: model.seed.to_string(),
            rows: model.rows,
            entropy: model.entropy,
            learning_rate: model.learning_rate,
            settings: self.settings.clone(),
        };
        let note = toml::to_string(&note).expect("settings can be written");
        weights.to_safetensors_with(Some(note))
    }

    /// What a safetensors file says of itself; none where it says nothing.
    pub fn read(bytes: &[u8]) -> Result<Option<Origin>, OriginError> {
        let Some(text) = Weights::note(bytes)? else {
            return Ok(None);
        };
        let wrong = |problem: String| OriginError::Note(problem);
        let note: Note = toml::from_str(&text).map_err(|e| wrong(e.message().to_owned()))?;
        if note.format != FORMAT {
            let found = note.format;
            return Err(wrong(format!(
                "format '{found}'; this version reads '{FORMAT}'"
            )));
        }
        let seed = note.seed.parse();
        let stored = StoredModel {
            seed: seed.map_err(|_| wrong(format!("seed '{}'", note.seed)))?,
            rows: note.rows,
            entropy: note.entropy,
            learning_rate: note.learning_rate,
        };
        let model = stored.take()?;
        note.settings.check(std::slice::from_ref(&model))?;
        Ok(Some(Origin {
            settings: note.settings,
            model,
            step: note.step,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use crate::shape::NetworkShape;
    use crate::weights::WeightLaw;

    #[test]
    fn a_weight_file_says_where_it_comes_from() {
        let shape = NetworkShape {
            width: 8,
            heads: 2,
            mlp: 12,
            ..NetworkShape::default()
        };
        let origin = Origin {
            settings: FleetSettings {
                shape,
                layout: Layout::Causal,
                cap: 9,
                ..FleetSettings::default()
            },
            model: ModelSettings {
                seed: u64::MAX,
                square: Operation::paper(),
                entropy: 0.3,
                learning_rate: 3e-4,
            },
            step: 20,
        };
        let weights = Weights::draw(shape, WeightLaw::Pt, 4);
        let bytes = origin.write(&weights);
        assert_eq!(bytes, origin.write(&weights), "the same bytes every time");
        assert_eq!(Origin::read(&bytes).unwrap(), Some(origin));
        assert_eq!(Weights::from_safetensors(shape, &bytes).unwrap(), weights);
        assert_eq!(Origin::read(&weights.to_safetensors()).unwrap(), None);
        let foreign = weights.to_safetensors_with(Some("format = 3".into()));
        let refused = Origin::read(&foreign).unwrap_err().to_string();
        assert!(refused.contains("note"), "{refused}");
        assert!(Origin::read(b"nothing").is_err());
    }
}
