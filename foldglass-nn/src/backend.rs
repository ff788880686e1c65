//! Says what a back end does for a fleet: many independent models, in lock step.

use crate::batch::Batch;
use crate::law::LengthLaw;
use crate::lesson::Lesson;
use crate::objective::TokenWeight;
use crate::philox::Purpose;
use crate::settings::Decoding;
use foldglass::support::memory::Bytes;
use foldglass::support::watch::Stop;
use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

/// How a fleet computes its MLPs on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Activations in bf16, weights and sums in single precision; needs compute capability 9.
    #[default]
    Bf16,
    /// Single precision, products in TF32: a control, and for other widths.
    Tf32,
}

/// Everything of a model that training changes.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ModelState {
    /// The weights.
    pub weights: Vec<f32>,
    /// Adam's running mean of the gradient.
    pub mean: Vec<f32>,
    /// Adam's running mean of its square.
    pub square: Vec<f32>,
    /// Adam's updates so far.
    pub updates: u64,
    /// Gradients gathered for the next update; empty unless batches are gathered.
    pub gathered: Vec<f32>,
    /// The batches they are of.
    pub gathered_batches: u32,
    /// The right samples among them.
    pub gathered_right: u32,
}

impl ModelState {
    /// A model that starts from these weights.
    pub fn new(weights: Vec<f32>) -> ModelState {
        ModelState {
            mean: vec![0.0; weights.len()],
            square: vec![0.0; weights.len()],
            weights,
            updates: 0,
            gathered: Vec::new(),
            gathered_batches: 0,
            gathered_right: 0,
        }
    }
}

/// What one training step of one model came to.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Deserialize)]
pub struct StepRecord {
    /// The loss.
    pub loss: f64,
    /// The fraction of samples that were right.
    pub sampled: f64,
    /// The entropy of a token, on average, in nats.
    pub entropy: f64,
    /// The norm of the gradient.
    pub gradient_norm: f64,
    /// The divergence of a token from the prior, on average, in nats; none without a prior.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub kl: Option<f64>,
}

impl Serialize for StepRecord {
    /// Formats with names leave out a divergence that is none, so that curves of runs without a prior stay as they were.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let with_kl = self.kl.is_some() || !serializer.is_human_readable();
        let mut fields = serializer.serialize_struct("StepRecord", 4 + usize::from(with_kl))?;
        fields.serialize_field("loss", &self.loss)?;
        fields.serialize_field("sampled", &self.sampled)?;
        fields.serialize_field("entropy", &self.entropy)?;
        fields.serialize_field("gradient_norm", &self.gradient_norm)?;
        match with_kl {
            true => fields.serialize_field("kl", &self.kl)?,
            false => fields.skip_field("kl")?,
        }
        fields.end()
    }
}

/// The records of a step, unless a model's numbers are none any more.
pub(crate) fn checked(
    records: Vec<StepRecord>,
    step: u64,
) -> Result<Vec<StepRecord>, BackendError> {
    let broken = |r: &StepRecord| !(r.loss.is_finite() && r.gradient_norm.is_finite());
    match records.iter().position(broken) {
        Some(model) => Err(BackendError::NotANumber { model, step }),
        None => Ok(records),
    }
}

/// Fresh samples on which every model is tested.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Which random numbers.
    pub purpose: Purpose,
    /// Which of them.
    pub step: u64,
    /// How many samples.
    pub samples: usize,
    /// How answers are decoded.
    pub decoding: Decoding,
    /// For every model, the lengths; none leaves the model out.
    pub lengths: Vec<LengthLaw>,
}

/// Tokens of a network beside those of its teacher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenAgreement {
    /// Those that are the same.
    pub matching: u32,
    /// All.
    pub tokens: u32,
}

/// A back end that cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackendError {
    /// There is no such device, or it cannot be used.
    #[error("{0}; the CPU back end works on any machine")]
    Device(String),
    /// Memory ran out.
    #[error(
        "{needed} are needed for {models} models, the device has {free} free; about {fitting} models fit"
    )]
    Memory {
        /// What they take.
        needed: Bytes,
        /// What there is.
        free: Bytes,
        /// The models asked for.
        models: usize,
        /// The models that would fit.
        fitting: usize,
    },
    /// A model's numbers are not numbers any more.
    #[error("model {model} has a weight or loss that is not a number after step {step}")]
    NotANumber {
        /// Which.
        model: usize,
        /// When it was seen.
        step: u64,
    },
    /// Nothing to imitate.
    #[error("no lessons were given to imitate")]
    NoLesson,
    /// Settings with a prior, and no network for it.
    #[error("the settings hold the models to a prior, and no weights of it were given")]
    NoPrior,
    /// More samples at once than there is room for.
    #[error("{samples} samples at once; there is room for {room}")]
    TooMany {
        /// Asked for.
        samples: usize,
        /// The most.
        room: usize,
    },
    /// It was told to stop. The models are as they were before.
    #[error("it was told to stop")]
    Stopped,
}

/// What came of it, or none where it was told to stop.
pub(crate) fn unless_stopped<T>(
    result: Result<T, BackendError>,
) -> Result<Option<T>, BackendError> {
    match result {
        Err(BackendError::Stopped) => Ok(None),
        other => other.map(Some),
    }
}

/// Trains R models in lock step, each with its own weights, Adam state, seed, task, coefficient,
/// rate and curriculum length.
pub trait Backend: Send {
    /// What it runs on, for a reader.
    fn name(&self) -> String;

    /// R.
    fn models(&self) -> usize;

    /// The most samples a model may be given at once.
    fn room(&self) -> usize;

    /// From now on a back end whose single steps may take long asks this within them. Where it is told
    /// to stop, the call fails with [`BackendError::Stopped`] and nothing of it is done.
    fn heed(&mut self, stop: Stop) {
        let _ = stop;
    }

    /// Takes back the last call of `train` or `imitate`, where the test that belongs to it was stopped.
    fn take_back(&mut self) {
        unreachable!("this back end is never stopped within a test");
    }

    /// What training has made of a model.
    fn state(&mut self, model: usize) -> Result<ModelState, BackendError>;

    /// The weights of a model.
    fn weights(&mut self, model: usize) -> Result<Vec<f32>, BackendError>;

    /// Puts a model into a state.
    fn restore(&mut self, model: usize, state: &ModelState) -> Result<(), BackendError>;

    /// Gives a model the weights of the prior to which the settings hold it.
    fn set_prior(&mut self, model: usize, weights: &[f32]) -> Result<(), BackendError>;

    /// Makes steps `first + 1` to `first + count` of training with the curriculum at `lengths`;
    /// the records are the last step's.
    fn train(
        &mut self,
        first: u64,
        count: u64,
        lengths: &[usize],
    ) -> Result<Vec<StepRecord>, BackendError>;

    /// How many samples of a test each model gets right.
    fn right(&mut self, test: &Test) -> Result<Vec<u32>, BackendError>;

    /// Gives every model a code to imitate.
    fn teach(&mut self, lessons: &[Lesson]) -> Result<(), BackendError>;

    /// Makes updates `first + 1` to `first + count` of every active model towards the tokens that
    /// its lesson emits on fresh inputs (cross-entropy, averaged over tokens); returns the losses
    /// before the last one.
    fn imitate(
        &mut self,
        first: u64,
        count: u64,
        active: &[bool],
    ) -> Result<Vec<f64>, BackendError>;

    /// How many tokens of a test each model emits as its lesson does, each from its own emissions.
    fn agree(&mut self, test: &Test) -> Result<Vec<TokenAgreement>, BackendError>;

    /// Fills every batch's tokens by greedy decoding.
    fn decode(&mut self, batches: &mut [Batch]) -> Result<(), BackendError>;

    /// The gradient of the weighed tokens of every model's batch, tokens as given.
    fn gradients(
        &mut self,
        batches: &[Batch],
        weights: &[Vec<TokenWeight>],
    ) -> Result<Vec<Vec<f32>>, BackendError>;
}
