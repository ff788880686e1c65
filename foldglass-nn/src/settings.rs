//! Holds what a training run is, as data (paper, app. G.4 and G.5; SPEC, "Transformer RLVR").

use crate::law::{LengthLaw, SymbolLaw};
use crate::layout::Layout;
use crate::schedule::{DecayKind, EntropyDecay, RateSchedule};
use crate::shape::{NetworkShape, ShapeError};
use crate::weights::{WeightLaw, Weights};
use foldglass::model::inputs::{InputError, InputLaw};
use foldglass::model::operation::{Operation, OperationError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Everything the models of a fleet share.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct FleetSettings {
    /// The sizes of the transformer.
    pub shape: NetworkShape,
    /// How its weights are drawn.
    pub initial: WeightLaw,
    /// How inputs and tokens are laid out.
    pub layout: Layout,
    /// B, the samples of a batch.
    pub batch: usize,
    /// Updates in all.
    pub steps: u64,
    /// The longest length.
    pub cap: usize,
    /// Which lengths a batch has.
    pub lengths: BatchLengths,
    /// When the curriculum goes on.
    pub gate: Gate,
    /// What the entropy coefficient multiplies.
    pub entropy: EntropyForm,
    /// What is optimised.
    pub method: TrainingMethod,
    /// The probability that a token is replaced by a uniform symbol.
    pub exploration: f64,
    /// Relabelling of emitted tokens.
    pub relabelling: Option<TokenRelabelling>,
    /// Gradients gathered over several batches.
    pub adaptive: Option<Adaptive>,
    /// Adam's constants.
    pub adam: Adam,
    /// The test at the end.
    pub evaluation: Evaluation,
    // What follows is left out of files where it has its default, so that the files of runs
    // without it stay as they were.
    /// The largest norm of a model's gradient; a longer one is scaled down to it.
    #[serde(skip_serializing_if = "is_default")]
    pub clip_norm: Option<f64>,
    /// AdamW's decay: an update takes rate times this share off every weight.
    #[serde(skip_serializing_if = "is_default")]
    pub weight_decay: f64,
    /// How the learning rate changes over the run.
    #[serde(skip_serializing_if = "is_default")]
    pub schedule: RateSchedule,
    /// How the entropy coefficient changes over the run.
    #[serde(skip_serializing_if = "is_default")]
    pub entropy_decay: Option<EntropyDecay>,
    /// What REINFORCE subtracts from a return.
    #[serde(skip_serializing_if = "is_default")]
    pub baseline: Baseline,
    /// Whether REINFORCE divides advantages by their standard deviation over the batch.
    #[serde(skip_serializing_if = "is_default")]
    pub standardise: bool,
    /// Which weights are kept.
    #[serde(skip_serializing_if = "is_default")]
    pub keep: Keep,
    /// The network to which the models are held.
    #[serde(skip_serializing_if = "is_default")]
    pub prior: Option<Prior>,
    /// The law of the inputs.
    #[serde(skip_serializing_if = "is_uniform")]
    pub inputs: InputLaw,
}

fn is_uniform(law: &InputLaw) -> bool {
    *law == InputLaw::Uniform
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for FleetSettings {
    fn default() -> FleetSettings {
        FleetSettings {
            shape: NetworkShape::default(),
            initial: WeightLaw::Pt,
            layout: Layout::PrefixFixed,
            batch: 512,
            steps: 40_000,
            cap: 21,
            lengths: BatchLengths::default(),
            gate: Gate::default(),
            entropy: EntropyForm::TokenMean,
            method: TrainingMethod::Reinforce {},
            exploration: 0.0,
            relabelling: None,
            adaptive: None,
            adam: Adam::default(),
            evaluation: Evaluation::default(),
            clip_norm: None,
            weight_decay: 0.0,
            schedule: RateSchedule::default(),
            entropy_decay: None,
            baseline: Baseline::Batch,
            standardise: false,
            keep: Keep::Last,
            prior: None,
            inputs: InputLaw::Uniform,
        }
    }
}

/// Which lengths a batch has.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BatchLengths {
    /// Uniform on 1..n, n starting at `start` and raised by the gate.
    Curriculum {
        /// The first n.
        #[serde(default = "one")]
        start: usize,
        /// Whether a length is drawn for every sample or once a batch.
        #[serde(default)]
        drawn: LengthDraw,
    },
    /// Drawn from a list, for good.
    Fixed {
        /// The lengths.
        lengths: Vec<usize>,
        /// How likely each is, in proportion; none are equal ones.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        weights: Vec<u64>,
        /// Whether a length is drawn for every sample or once a batch.
        #[serde(default)]
        drawn: LengthDraw,
    },
}

fn one() -> usize {
    1
}

impl Default for BatchLengths {
    fn default() -> BatchLengths {
        BatchLengths::Curriculum {
            start: 1,
            drawn: LengthDraw::Sample,
        }
    }
}

impl BatchLengths {
    /// The lengths when the curriculum is at `n`.
    pub fn list(&self, n: usize) -> Vec<usize> {
        match self {
            BatchLengths::Curriculum { .. } => (1..=n).collect(),
            BatchLengths::Fixed { lengths, .. } => lengths.clone(),
        }
    }

    /// The same with how likely each is.
    pub fn law(&self, n: usize) -> LengthLaw {
        match self {
            BatchLengths::Curriculum { .. } => LengthLaw::equal(self.list(n)),
            BatchLengths::Fixed {
                lengths, weights, ..
            } => LengthLaw::weighted(lengths.clone(), weights),
        }
    }

    /// For what a length is drawn.
    pub fn drawn(&self) -> LengthDraw {
        match self {
            BatchLengths::Curriculum { drawn, .. } | BatchLengths::Fixed { drawn, .. } => *drawn,
        }
    }

    /// Where the curriculum starts; the longest length when there is none.
    pub fn start(&self) -> usize {
        match self {
            BatchLengths::Curriculum { start, .. } => *start,
            BatchLengths::Fixed { lengths, .. } => lengths.iter().copied().max().unwrap_or(0),
        }
    }
}

/// For what a length is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LengthDraw {
    /// Every sample has its own.
    #[default]
    Sample,
    /// All samples of a batch share one.
    Batch,
}

/// When the curriculum goes on to n + 1.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Gate {
    /// Asked every so many updates.
    pub period: u64,
    /// The accuracy that must be passed.
    pub above: f64,
    /// How the answers are decoded.
    pub decoding: Decoding,
    /// On how many fresh samples.
    pub samples: usize,
    /// Of which lengths.
    pub lengths: GateLengths,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate {
            period: 20,
            above: 0.9,
            decoding: Decoding::Greedy,
            samples: 512,
            lengths: GateLengths::Training,
        }
    }
}

/// How an answer is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decoding {
    /// The likeliest symbol at every step, the least of equals.
    #[default]
    Greedy,
    /// A draw from the policy.
    Sampled,
}

/// The lengths of the gate's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateLengths {
    /// Those of training.
    #[default]
    Training,
    /// The current longest alone.
    Current,
}

/// What the entropy coefficient c multiplies; H is exact over the q symbols, the prefix given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntropyForm {
    /// The mean of H over all emitted tokens of the batch.
    #[default]
    TokenMean,
    /// The mean over samples of the mean over their tokens.
    SequenceMean,
    /// The mean over samples of the sum over their tokens.
    Summed,
    /// Nothing directly: -log pi of the emitted tokens, summed, is added to the sample's return.
    Return,
}

/// What is optimised; braces without fields, so that unknown keys are refused there too.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TrainingMethod {
    /// REINFORCE with the batch mean as baseline, summed over tokens.
    Reinforce {},
    /// Groups of samples of one input: the group's mean as baseline, divided by its deviation, the
    /// probability ratio clipped.
    Grpo {
        /// Samples of one input; divides the batch.
        group: usize,
        /// Ratios outside 1 - clip .. 1 + clip give no gradient where they would go on.
        clip: f64,
        /// Updates on one batch.
        epochs: usize,
    },
    /// Likelihood of the samples that were right, averaged over them.
    Expert {},
}

/// Emitted tokens relabelled by a permutation, drawn for a sample and held for all its steps.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRelabelling {
    /// Which permutations.
    pub kind: Permutation,
    /// The fraction of a batch that is relabelled.
    pub fraction: f64,
    /// Only at steps that are multiples of this.
    pub period: u64,
}

/// Which permutations of the q symbols are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permutation {
    /// An exchange of two different symbols.
    Transposition,
    /// Any of the q!.
    Full,
}

/// Batches are gathered into one update until enough samples were right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adaptive {
    /// Samples that must have been right.
    pub right: u32,
    /// Batches after which the update is made in any case.
    pub most: u32,
}

/// Adam's constants.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Adam {
    /// Memory of the mean.
    pub beta1: f64,
    /// Memory of the square.
    pub beta2: f64,
    /// Added to the root of the square.
    pub epsilon: f64,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam {
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
        }
    }
}

/// The test at the end: greedy accuracy on fresh inputs of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Evaluation {
    /// The length.
    pub length: usize,
    /// The inputs.
    pub inputs: usize,
}

impl Default for Evaluation {
    fn default() -> Evaluation {
        Evaluation {
            length: 8,
            inputs: 2000,
        }
    }
}

/// What REINFORCE subtracts from the return of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// The mean over the batch.
    #[default]
    Batch,
    /// The mean over the samples of the batch that have the same length.
    Length,
}

/// Which weights of a model are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Those of the last step.
    #[default]
    Last,
    /// Those of the best gate too ([`crate::fleet::Best`]).
    Best,
}

/// A reference network, and how strongly models are held to it: the objective loses `coefficient` times
/// KL(pi || prior), the divergence of a token's policy from the reference's on the same prefix, averaged or
/// summed over tokens as [`EntropyForm`] has it for the entropy.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// What multiplies the divergence.
    pub coefficient: f64,
    /// Which network it is from.
    #[serde(default)]
    pub network: PriorNetwork,
}

impl Prior {
    /// Every model held to its own first weights.
    pub fn initial(coefficient: f64) -> Prior {
        Prior {
            coefficient,
            network: PriorNetwork::Initial,
        }
    }
}

/// The network of a prior.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorNetwork {
    /// Every model's own, before its first step.
    #[default]
    Initial,
    /// One for all models, given to [`crate::fleet::Fleet::with_prior`]: a hash of its weights, which tells
    /// runs apart.
    Given(String),
}

/// What is one model's own.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelSettings {
    /// Its seed.
    pub seed: u64,
    /// The task's square.
    pub square: Operation,
    /// c, the entropy coefficient (the paper's 1/beta).
    pub entropy: f64,
    /// Adam's rate.
    pub learning_rate: f64,
}

impl ModelSettings {
    /// A model without an entropy bonus, at Adam's rate 3e-4.
    pub fn new(seed: u64, square: Operation) -> ModelSettings {
        ModelSettings {
            seed,
            square,
            entropy: 0.0,
            learning_rate: 3e-4,
        }
    }
}

/// Settings that make no run.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A task.
    #[error(transparent)]
    Square(#[from] OperationError),
    /// The law of the inputs.
    #[error(transparent)]
    Inputs(#[from] InputError),
    /// The table form is exact for one block only.
    #[error("{0} blocks: fleets train models of 1 block, where the table form is exact")]
    Blocks(usize),
    /// A value out of its range.
    #[error("{what} is {found}; accepted: {accepted}")]
    Range {
        /// Which setting.
        what: &'static str,
        /// Its value.
        found: String,
        /// What would do.
        accepted: &'static str,
    },
    /// No model.
    #[error("a fleet needs at least one model")]
    Empty,
}

impl FleetSettings {
    /// Refuses settings that make no run.
    pub fn check(&self, models: &[ModelSettings]) -> Result<(), SettingsError> {
        if models.is_empty() {
            return Err(SettingsError::Empty);
        }
        for model in models {
            self.shape.check(model.square.q())?;
        }
        if self.shape.blocks != 1 {
            return Err(SettingsError::Blocks(self.shape.blocks));
        }
        self.check_ranges()?;
        for model in models {
            self.symbol_law(model.square.q())?;
        }
        self.check_method()?;
        self.check_optimiser(models)?;
        for model in models {
            let (c, rate) = (model.entropy, model.learning_rate);
            need(c.is_finite() && c >= 0.0, "entropy", c, "a number from 0")?;
            let fits = rate.is_finite() && rate > 0.0;
            need(fits, "learning rate", rate, "a number above 0")?;
        }
        Ok(())
    }

    fn check_ranges(&self) -> Result<(), SettingsError> {
        let cap = self.cap;
        need((1..=64).contains(&cap), "cap", cap, "1 to 64")?;
        let batch = self.batch;
        need((1..=4096).contains(&batch), "batch", batch, "1 to 4096")?;
        let list = self.lengths.list(self.lengths.start());
        let fits = !list.is_empty() && list.iter().all(|t| (1..=cap).contains(t));
        let shown = format!("{list:?} with cap {cap}");
        need(
            fits,
            "lengths",
            shown,
            "at least one, each from 1 to the cap",
        )?;
        if let BatchLengths::Fixed { weights, .. } = &self.lengths {
            let fits = weights.is_empty() || weights.len() == list.len();
            let fits = fits && weights.iter().all(|&weight| weight > 0);
            let shown = format!("{weights:?} for {} lengths", list.len());
            need(fits, "length weights", shown, "one above 0 for each length")?;
        }
        let period = self.gate.period;
        need(period > 0, "gate period", period, "a whole number from 1")?;
        let samples = self.gate.samples;
        need(
            (1..=4096).contains(&samples),
            "gate samples",
            samples,
            "1 to 4096",
        )?;
        let above = self.gate.above;
        need((0.0..=1.0).contains(&above), "gate above", above, "0 to 1")?;
        let length = self.evaluation.length;
        let fits = (1..=cap).contains(&length);
        need(fits, "evaluation length", length, "1 to the cap")?;
        let Adam {
            beta1,
            beta2,
            epsilon,
        } = self.adam;
        for (what, beta) in [("adam beta1", beta1), ("adam beta2", beta2)] {
            need((0.0..1.0).contains(&beta), what, beta, "0 to below 1")?;
        }
        need(epsilon > 0.0, "adam epsilon", epsilon, "a number above 0")
    }

    fn check_method(&self) -> Result<(), SettingsError> {
        if let TrainingMethod::Grpo {
            group,
            clip,
            epochs,
        } = self.method
        {
            let fits = group > 1 && self.batch.is_multiple_of(group);
            need(fits, "grpo group", group, "from 2, a divisor of the batch")?;
            need(clip > 0.0, "grpo clip", clip, "a number above 0")?;
            need(epochs > 0, "grpo epochs", epochs, "a whole number from 1")?;
            let fits = self.entropy != EntropyForm::Return;
            let accepted = "token-mean, sequence-mean, summed";
            need(fits, "entropy form with grpo", "return", accepted)?;
        }
        let epsilon = self.exploration;
        need(
            (0.0..=1.0).contains(&epsilon),
            "exploration",
            epsilon,
            "0 to 1",
        )?;
        if let Some(TokenRelabelling {
            fraction, period, ..
        }) = self.relabelling
        {
            let fits = (0.0..=1.0).contains(&fraction);
            need(fits, "relabelling fraction", fraction, "0 to 1")?;
            need(period > 0, "relabelling period", period, "from 1")?;
        }
        if let Some(Adaptive { most, .. }) = self.adaptive {
            need(most > 0, "adaptive most", most, "a whole number from 1")?;
            let fits = !matches!(self.method, TrainingMethod::Grpo { epochs: 2.., .. });
            let found = "grpo with several epochs";
            need(fits, "adaptive with", found, "one update a batch")?;
        }
        Ok(())
    }

    fn check_optimiser(&self, models: &[ModelSettings]) -> Result<(), SettingsError> {
        if let Some(norm) = self.clip_norm {
            let fits = norm.is_finite() && norm > 0.0;
            need(fits, "clip norm", norm, "a number above 0")?;
        }
        let decay = self.weight_decay;
        let fits = decay.is_finite() && decay >= 0.0;
        need(fits, "weight decay", decay, "a number from 0")?;
        if let Some(Prior { coefficient, .. }) = self.prior {
            let fits = coefficient.is_finite() && coefficient > 0.0;
            need(fits, "kl", coefficient, "a number above 0")?;
        }
        let RateSchedule { warm_up, floor } = self.schedule;
        let fits = warm_up == 0 || warm_up < self.steps;
        need(fits, "warm-up", warm_up, "fewer steps than the run has")?;
        let fits = (0.0..=1.0).contains(&floor);
        need(fits, "rate floor", floor, "0 to 1, a share of the rate")?;
        if let Some(EntropyDecay { kind, to, steps }) = self.entropy_decay {
            let fits = to.is_finite() && to >= 0.0;
            need(fits, "entropy decay's final value", to, "a number from 0")?;
            need(steps > 0, "entropy decay's steps", steps, "from 1")?;
            let positive = to > 0.0 && models.iter().all(|m| m.entropy > 0.0);
            let fits = kind == DecayKind::Linear || positive;
            let accepted = "linear, or coefficients and a final value above 0";
            need(fits, "entropy decay", "geometric from or to 0", accepted)?;
        }
        let fits = self.method == TrainingMethod::Reinforce {} || self.baseline == Baseline::Batch;
        need(fits, "baseline", "length", "with the method reinforce")?;
        let fits = self.method == TrainingMethod::Reinforce {} || !self.standardise;
        need(fits, "standardise", "true", "with the method reinforce")
    }

    /// Refuses a network that is not the one of the prior: `given`, or none.
    pub(crate) fn check_prior(&self, given: Option<&Weights>) -> Result<(), SettingsError> {
        let wanted = matches!(&self.prior, Some(prior) if prior.network != PriorNetwork::Initial);
        need(
            given.is_some() == wanted,
            "prior",
            if wanted {
                "of given weights"
            } else {
                "none, or initial"
            },
            "given weights with the network `given`, and none without",
        )?;
        let fits = given.is_none_or(|weights| weights.shape == self.shape);
        let accepted = "one of the shape of the models";
        need(fits, "prior", "a network of another shape", accepted)
    }

    /// The law of the inputs of a task with q symbols.
    pub fn symbol_law(&self, q: usize) -> Result<SymbolLaw, InputError> {
        SymbolLaw::new(&self.inputs, q, self.cap)
    }

    /// The entropy coefficient at a step, from 1, of a model whose own is `own`.
    pub fn coefficient(&self, own: f64, step: u64) -> f64 {
        (self.entropy_decay).map_or(own, |decay| decay.coefficient(own, step))
    }

    /// The learning rate at a step, from 1, of a model whose own is `own`.
    pub fn rate(&self, own: f64, step: u64) -> f64 {
        own * self.schedule.share(step, self.steps)
    }

    /// Samples of one input.
    pub fn group(&self) -> usize {
        match self.method {
            TrainingMethod::Grpo { group, .. } => group,
            _ => 1,
        }
    }
}

fn need(
    fits: bool,
    what: &'static str,
    found: impl ToString,
    accepted: &'static str,
) -> Result<(), SettingsError> {
    if fits {
        return Ok(());
    }
    Err(SettingsError::Range {
        what,
        found: found.to_string(),
        accepted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> ModelSettings {
        ModelSettings {
            seed: 0,
            square: Operation::paper(),
            entropy: 0.3,
            learning_rate: 3e-4,
        }
    }

    #[test]
    fn settings_are_data_and_unknown_keys_are_refused() {
        let text = r#"
            layout = "causal"
            initial = "02"
            entropy = "sequence-mean"
            method = { kind = "grpo", group = 8, clip = 0.2, epochs = 2 }
            lengths = { kind = "fixed", lengths = [1, 2] }
            clip_norm = 1.0
            weight_decay = 0.1
            schedule = { warm_up = 100, floor = 0.1 }
            entropy_decay = { kind = "geometric", to = 0.01, steps = 500 }
            keep = "best"
            prior = { coefficient = 0.1, network = { given = "5e" } }
            relabelling = { kind = "transposition", fraction = 0.5, period = 500 }
            [shape]
            width = 64
            [gate]
            period = 1
            decoding = "sampled"
        "#;
        let settings: FleetSettings = toml::from_str(text).unwrap();
        assert_eq!(settings.check(&[model()]), Ok(()));
        assert_eq!(
            (settings.layout, settings.shape.width),
            (Layout::Causal, 64)
        );
        assert_eq!(settings.lengths.list(7), [1, 2]);
        assert_eq!(settings.group(), 8);
        let written = toml::to_string(&settings).unwrap();
        assert_eq!(toml::from_str::<FleetSettings>(&written).unwrap(), settings);
        for wrong in [
            "batches = 3",
            "gate = { perod = 3 }",
            "method = { kind = \"reinforce\", clip = 1 }",
            "lengths = { kind = \"curriculum\", stop = 3 }",
            "shape = { depth = 3 }",
            "schedule = { warmup = 3 }",
            "entropy_decay = { kind = \"linear\", to = 0.1, steps = 3, from = 1 }",
            "baseline = \"lengths\"",
            "prior = { coefficient = 1, network = \"first\" }",
            "prior = { kl = 1 }",
        ] {
            assert!(toml::from_str::<FleetSettings>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn settings_without_later_options_are_written_as_before_them() {
        let written = serde_json::to_value(FleetSettings::default()).unwrap();
        let mut keys: Vec<&str> = written.as_object().unwrap().keys().map(|k| &**k).collect();
        keys.sort_unstable();
        let first = [
            "adam",
            "adaptive",
            "batch",
            "cap",
            "entropy",
            "evaluation",
            "exploration",
            "gate",
            "initial",
            "layout",
            "lengths",
            "method",
            "relabelling",
            "shape",
            "steps",
        ];
        assert_eq!(keys, first);
    }

    #[test]
    fn values_out_of_range_are_named() {
        let check = |change: &dyn Fn(&mut FleetSettings)| {
            let mut settings = FleetSettings::default();
            change(&mut settings);
            settings.check(&[model()]).unwrap_err().to_string()
        };
        assert!(check(&|s| s.batch = 0).contains("batch is 0"));
        assert!(check(&|s| s.cap = 7).contains("evaluation length is 8"));
        assert!(check(&|s| s.shape.blocks = 2).contains("2 blocks"));
        assert!(check(&|s| s.shape.vocabulary = 5).contains("vocabulary 5"));
        assert!(check(&|s| s.exploration = 2.0).contains("exploration is 2"));
        let uneven = TrainingMethod::Grpo {
            group: 7,
            clip: 0.2,
            epochs: 1,
        };
        assert!(check(&|s| s.method = uneven).contains("grpo group is 7"));
        assert!(check(&|s| s.clip_norm = Some(0.0)).contains("clip norm is 0"));
        assert!(check(&|s| s.prior = Some(Prior::initial(0.0))).contains("kl is 0"));
        assert!(check(&|s| s.weight_decay = -1.0).contains("weight decay is -1"));
        assert!(check(&|s| s.schedule.warm_up = 40_000).contains("warm-up is 40000"));
        assert!(check(&|s| s.schedule.floor = 2.0).contains("rate floor is 2"));
        let to_zero = EntropyDecay {
            kind: DecayKind::Geometric,
            to: 0.0,
            steps: 9,
        };
        assert!(check(&|s| s.entropy_decay = Some(to_zero)).contains("geometric from or to 0"));
        let expert = |change: fn(&mut FleetSettings)| {
            check(&move |s| {
                s.method = TrainingMethod::Expert {};
                change(s);
            })
        };
        assert!(expert(|s| s.baseline = Baseline::Length).contains("baseline is length"));
        assert!(expert(|s| s.standardise = true).contains("standardise is true"));
        assert_eq!(
            FleetSettings::default().check(&[]),
            Err(SettingsError::Empty)
        );
    }
}
