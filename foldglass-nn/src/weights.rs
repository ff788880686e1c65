//! Draws the weights of a model from a named initial law, reads and writes them (paper, app. G.4).

use crate::shape::{NetworkShape, Tensor};
use foldglass::support::stream::Stream;
use safetensors::tensor::{Dtype, SafeTensorError, TensorView};
use safetensors::{SafeTensors, serialize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::f64::consts::TAU;
use thiserror::Error;

/// How the weights are drawn; the norms' weights are always 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub enum WeightLaw {
    /// As PyTorch's modules: the embedding N(0, 1), matrices uniform within 1 / sqrt(inputs).
    #[default]
    #[serde(rename = "pt")]
    Pt,
    /// N(0, 0.02) throughout.
    #[serde(rename = "02")]
    Small,
    /// Matrices N(0, 1 / inputs), the embedding N(0, 0.32^2), the head a tenth of its matrix law.
    #[serde(rename = "fan")]
    Fan,
}

/// The key of our note in a file's header.
const NOTE: &str = "foldglass";

/// All weights of one model, flat, in the order of [`NetworkShape::tensors`].
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// The sizes.
    pub shape: NetworkShape,
    /// The numbers.
    pub values: Vec<f32>,
}

/// A weight file that does not hold the weights of a model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// Not a safetensors file.
    #[error("not a safetensors file: {0}")]
    Format(#[from] SafeTensorError),
    /// A tensor that the shape has is not in the file.
    #[error("no tensor '{name}' in the file; it has: {found}")]
    Missing {
        /// The tensor.
        name: String,
        /// What the file has.
        found: String,
    },
    /// A tensor of other sizes or another type of numbers.
    #[error("tensor '{name}' is {found}; needed: F32 of sizes {needed:?}")]
    Sizes {
        /// The tensor.
        name: String,
        /// Type and sizes in the file.
        found: String,
        /// The shape's sizes.
        needed: Vec<usize>,
    },
    /// A tensor that the shape does not have.
    #[error("the file has {found} tensors, a model of this shape {needed}")]
    Count {
        /// In the file.
        found: usize,
        /// Of the shape.
        needed: usize,
    },
    /// A weight that is no number.
    #[error("tensor '{name}' holds a number that is not finite")]
    NotFinite {
        /// The tensor.
        name: String,
    },
}

impl Weights {
    /// Draws weights; the stream is number 0 of the model's seed.
    pub fn draw(shape: NetworkShape, law: WeightLaw, seed: u64) -> Weights {
        let mut stream = Stream::new(seed, 0);
        let mut values = vec![1.0; shape.parameters()];
        for tensor in shape.tensors() {
            if tensor.sizes.len() == 2 {
                fill(&tensor, law, &mut stream, &mut values[tensor.place.clone()]);
            }
        }
        Weights { shape, values }
    }

    /// The weights as a safetensors file.
    pub fn to_safetensors(&self) -> Vec<u8> {
        self.to_safetensors_with(None)
    }

    /// The same with a note of ours in the file's header, which other readers pass over.
    pub(crate) fn to_safetensors_with(&self, note: Option<String>) -> Vec<u8> {
        let tensors = self.shape.tensors();
        let bytes: Vec<Vec<u8>> = tensors
            .iter()
            .map(|tensor| {
                let values = self.values[tensor.place.clone()].iter();
                values.flat_map(|value| value.to_le_bytes()).collect()
            })
            .collect();
        let views = tensors.iter().zip(&bytes).map(|(tensor, bytes)| {
            let view = TensorView::new(Dtype::F32, tensor.sizes.clone(), bytes);
            (&tensor.name, view.expect("four bytes a number"))
        });
        let header = note.map(|note| HashMap::from([(NOTE.to_owned(), note)]));
        serialize(views, header).expect("names and sizes of a shape can be written")
    }

    /// Our note in the header of a safetensors file, where it has one.
    pub(crate) fn note(bytes: &[u8]) -> Result<Option<String>, WeightsError> {
        let (_, header) = SafeTensors::read_metadata(bytes)?;
        let notes = header.metadata().as_ref();
        Ok(notes.and_then(|notes| notes.get(NOTE)).cloned())
    }

    /// Reads a safetensors file of a model of this shape.
    pub fn from_safetensors(shape: NetworkShape, bytes: &[u8]) -> Result<Weights, WeightsError> {
        let file = SafeTensors::deserialize(bytes)?;
        let tensors = shape.tensors();
        let found: HashMap<String, TensorView> = file.tensors().into_iter().collect();
        let mut values = Vec::with_capacity(shape.parameters());
        for tensor in &tensors {
            let view = found
                .get(&tensor.name)
                .ok_or_else(|| WeightsError::Missing {
                    name: tensor.name.clone(),
                    found: listed(&found),
                })?;
            if view.dtype() != Dtype::F32 || view.shape() != tensor.sizes {
                return Err(WeightsError::Sizes {
                    name: tensor.name.clone(),
                    found: format!("{:?} of sizes {:?}", view.dtype(), view.shape()),
                    needed: tensor.sizes.clone(),
                });
            }
            let start = values.len();
            values.extend(
                (view.data().chunks_exact(4))
                    .map(|four| f32::from_le_bytes(four.try_into().expect("chunks of four"))),
            );
            if !values[start..].iter().all(|value: &f32| value.is_finite()) {
                let name = tensor.name.clone();
                return Err(WeightsError::NotFinite { name });
            }
        }
        if found.len() != tensors.len() {
            return Err(WeightsError::Count {
                found: found.len(),
                needed: tensors.len(),
            });
        }
        Ok(Weights { shape, values })
    }
}

fn listed(found: &HashMap<String, TensorView>) -> String {
    let mut names: Vec<&str> = found.keys().map(String::as_str).collect();
    names.sort_unstable();
    names.join(", ")
}

fn fill(tensor: &Tensor, law: WeightLaw, stream: &mut Stream, values: &mut [f32]) {
    let embedding = tensor.name == "embedding";
    let fan = 1.0 / (tensor.sizes[0] as f64).sqrt();
    let deviation = match law {
        WeightLaw::Pt if embedding => 1.0,
        WeightLaw::Pt => {
            for value in values {
                *value = ((2.0 * stream.uniform() - 1.0) * fan) as f32;
            }
            return;
        }
        WeightLaw::Small => 0.02,
        WeightLaw::Fan if embedding => 0.32,
        WeightLaw::Fan if tensor.name == "head" => 0.1 * fan,
        WeightLaw::Fan => fan,
    };
    for value in values {
        // Box and Muller's method; the second number is left, for one formula a weight.
        let radius = (-2.0 * stream.uniform().ln()).sqrt();
        *value = (deviation * radius * (TAU * stream.uniform()).cos()) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and deviation of one tensor.
    fn moments(weights: &Weights, name: &str) -> (f64, f64) {
        let tensors = weights.shape.tensors();
        let tensor = tensors.iter().find(|t| t.name == name).unwrap();
        let values = &weights.values[tensor.place.clone()];
        let n = values.len() as f64;
        let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
        let square = values.iter().map(|&v| (f64::from(v) - mean).powi(2));
        (mean, (square.sum::<f64>() / n).sqrt())
    }

    #[test]
    fn initial_laws_have_their_moments() {
        let shape = NetworkShape::default();
        let uniform = 1.0 / 3f64.sqrt();
        let cases = [
            (WeightLaw::Pt, "embedding", 1.0),
            (WeightLaw::Pt, "blocks.0.query", uniform / 16.0),
            (WeightLaw::Pt, "blocks.0.down", uniform / 32.0),
            (WeightLaw::Pt, "head", uniform / 16.0),
            (WeightLaw::Small, "embedding", 0.02),
            (WeightLaw::Small, "head", 0.02),
            (WeightLaw::Fan, "embedding", 0.32),
            (WeightLaw::Fan, "blocks.0.up", 1.0 / 16.0),
            (WeightLaw::Fan, "head", 0.1 / 16.0),
        ];
        for (law, name, deviation) in cases {
            let weights = Weights::draw(shape, law, 3);
            let (mean, found) = moments(&weights, name);
            // Five deviations of the mean and of the deviation of 2,048 numbers, the fewest.
            let slack = 5.0 * deviation / 2048f64.sqrt();
            assert!(mean.abs() < slack, "{law:?} {name}: mean {mean}");
            assert!((found - deviation).abs() < slack, "{law:?} {name}: {found}");
            assert_eq!(moments(&weights, "norm"), (1.0, 0.0));
        }
        let largest = |w: &Weights| w.values[2304..].iter().fold(0f32, |m, v| m.max(v.abs()));
        assert!(largest(&Weights::draw(shape, WeightLaw::Pt, 3)) <= 1.0);
    }

    #[test]
    fn weights_are_read_as_they_were_written_and_others_refused() {
        let shape = NetworkShape {
            width: 8,
            heads: 2,
            mlp: 12,
            vocabulary: 4,
            blocks: 2,
            ..NetworkShape::default()
        };
        let weights = Weights::draw(shape, WeightLaw::Pt, 1);
        let file = weights.to_safetensors();
        assert_eq!(Weights::from_safetensors(shape, &file).unwrap(), weights);
        let wider = NetworkShape { mlp: 16, ..shape };
        let error = Weights::from_safetensors(wider, &file).unwrap_err();
        assert!(error.to_string().contains("blocks.0.up"), "{error}");
        let deeper = NetworkShape { blocks: 3, ..shape };
        let error = Weights::from_safetensors(deeper, &file).unwrap_err();
        assert!(matches!(error, WeightsError::Missing { .. }));
        let flatter = NetworkShape { blocks: 1, ..shape };
        let error = Weights::from_safetensors(flatter, &file).unwrap_err();
        assert!(matches!(error, WeightsError::Count { .. }));
        assert!(Weights::from_safetensors(shape, &file[..40]).is_err());
    }
}
