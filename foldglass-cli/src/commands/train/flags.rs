//! Reads what is trained and how: the flags of the method, and the settings they make.

use std::path::Path;

use clap::Args;
use foldglass::InputLaw;
use foldglass_nn::schedule::{EntropyDecay, RateSchedule};
use foldglass_nn::settings::{
    Adam, Adaptive, Baseline, BatchLengths, Decoding, EntropyForm, Evaluation, FleetSettings, Gate,
    GateLengths, Keep, LengthDraw, TokenRelabelling, TrainingMethod,
};
use foldglass_nn::shape::NetworkShape;
use foldglass_nn::weights::Weights;
use foldglass_study::methods::train::set_prior;
use foldglass_study::{Fields, words};
use serde_json::{Value, json};

use super::TrainArgs;
use crate::error::Error;
use crate::flags::fleet::{above_zero, network_settings, word};
use crate::flags::{count, law, natural, not_negative, positive, share, whole};

/// What `--quick` trains where nothing else is said.
pub struct Quick {
    /// The task.
    pub task: &'static str,
    pub entropy: f64,
}

/// Seen to reach greedy accuracy 1 at length 2 with each of the seeds 0 to 7; at 0.1 some do not.
pub const QUICK: Quick = Quick {
    task: "z:5",
    entropy: 0.3,
};

/// The settings of `--quick`.
fn quick() -> FleetSettings {
    let mut settings = FleetSettings::default();
    settings.shape = NetworkShape {
        width: 64,
        mlp: 128,
        ..NetworkShape::default()
    };
    settings.batch = 128;
    settings.steps = 1500;
    settings.cap = 2;
    settings.gate = Gate {
        samples: 256,
        ..Gate::default()
    };
    settings.evaluation = Evaluation {
        length: 2,
        inputs: 500,
    };
    settings
}

/// A list of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberList(pub Vec<f64>);

/// Reads entropy coefficients.
pub fn coefficients(text: &str) -> Result<NumberList, String> {
    text.split(',')
        .map(not_negative)
        .collect::<Result<_, _>>()
        .map(NumberList)
}

/// Reads learning rates.
pub fn rates(text: &str) -> Result<NumberList, String> {
    text.split(',')
        .map(above_zero)
        .collect::<Result<_, _>>()
        .map(NumberList)
}

/// The flags of training itself.
#[derive(Debug, Args)]
#[command(next_help_heading = "Training")]
pub struct TrainingArgs {
    #[arg(short, long, value_name = "B", value_parser = positive, allow_negative_numbers = true)]
    batch: Option<usize>,
    #[arg(short = 'n', long, value_name = "N", value_parser = natural, allow_negative_numbers = true)]
    steps: Option<u64>,
    /// The longest length, 1 to 64 [default: 21, or the longest of --lengths]
    #[arg(long, alias = "cap", value_name = "T", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    longest: Option<usize>,
    /// No curriculum: lengths uniform on this list throughout, such as 1,2
    #[arg(long, value_name = "T,..", value_parser = lengths, conflicts_with = "start_length")]
    #[arg(allow_hyphen_values = true)]
    lengths: Option<LengthList>,
    /// How likely the lengths of --lengths are, in proportion: one exact weight above 0 for each, such as
    /// 1,2 or 1/3,2/3 [default: equal]
    #[arg(long, value_name = "W,..", value_parser = length_weights, requires = "lengths")]
    #[arg(allow_hyphen_values = true)]
    length_weights: Option<LengthWeights>,
    /// The law of the inputs: uniform, markov:K (a symbol repeats with probability K, such as 9/10) or
    /// product:FILE (a JSON list with a row of q probabilities for every position up to the longest length)
    /// [default: uniform]
    #[arg(long, value_name = "LAW", value_parser = law)]
    inputs: Option<String>,
    #[arg(long, alias = "start", value_name = "T", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    start_length: Option<usize>,
    #[arg(long, value_name = "WHAT", value_parser = word::<LengthDraw>)]
    drawn: Option<LengthDraw>,
    #[arg(long, value_name = "DECODING", value_parser = word::<Decoding>)]
    gate: Option<Decoding>,
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    gate_every: Option<u64>,
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    gate_above: Option<f64>,
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    gate_samples: Option<usize>,
    #[arg(long, value_name = "WHICH", value_parser = word::<GateLengths>)]
    gate_lengths: Option<GateLengths>,
    #[arg(long, value_name = "CONVENTION", value_parser = word::<EntropyForm>)]
    convention: Option<EntropyForm>,
    #[arg(long, value_name = "METHOD", value_parser = str::parse::<TrainingMethod>)]
    method: Option<TrainingMethod>,
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    epsilon: Option<f64>,
    #[arg(long, value_name = "NOISE", value_parser = str::parse::<TokenRelabelling>)]
    noise: Option<TokenRelabelling>,
    #[arg(long, value_name = "RIGHT,MOST", value_parser = str::parse::<Adaptive>, allow_hyphen_values = true)]
    adaptive: Option<Adaptive>,
    #[arg(long, value_name = "B1,B2,EPS", value_parser = str::parse::<Adam>, allow_hyphen_values = true)]
    adam: Option<Adam>,
    #[arg(long, value_name = "NORM", value_parser = above_zero, allow_hyphen_values = true)]
    clip_norm: Option<f64>,
    #[arg(long, value_name = "X", value_parser = not_negative, allow_hyphen_values = true)]
    weight_decay: Option<f64>,
    #[arg(long, value_name = "STEPS", value_parser = natural, allow_negative_numbers = true)]
    warm_up: Option<u64>,
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    cosine: Option<f64>,
    #[arg(long, value_name = "DECAY", value_parser = str::parse::<EntropyDecay>)]
    entropy_decay: Option<EntropyDecay>,
    #[arg(long, value_name = "X", value_parser = not_negative, allow_hyphen_values = true)]
    kl: Option<f64>,
    #[arg(long, value_name = "WHICH", requires = "kl")]
    prior: Option<String>,
    #[arg(long, value_name = "WHICH", value_parser = word::<Baseline>)]
    baseline: Option<Baseline>,
    #[arg(long)]
    standardise: bool,
    #[arg(long, value_name = "WHICH", value_parser = word::<Keep>)]
    keep: Option<Keep>,
    /// The length of the test at the end [default: 8, or the longest length if shorter]
    #[arg(long, value_name = "T", value_parser = positive, allow_negative_numbers = true)]
    test_length: Option<usize>,
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    test_inputs: Option<usize>,
}

/// What `--lengths` holds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LengthList(Vec<usize>);

fn lengths(text: &str) -> Result<LengthList, String> {
    let one = |part: &str| {
        let part = part.trim();
        let refusal = || format!("'{part}' is not a length: write 2, or several as 1,2");
        whole(part).filter(|&n| n > 0).ok_or_else(refusal)
    };
    text.split(',')
        .map(one)
        .collect::<Result<_, _>>()
        .map(LengthList)
}

/// What `--length-weights` holds: whole numbers in the proportion of the weights.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LengthWeights(Vec<u64>);

fn length_weights(text: &str) -> Result<LengthWeights, String> {
    let weights = words::length_weights(text)?;
    let parts = weights.parts().iter().map(u64::try_from);
    let parts: Result<_, _> = parts.collect();
    (parts.map(LengthWeights)).map_err(|_| format!("'{text}': as whole numbers they pass 64 bits"))
}

impl TrainArgs {
    /// The settings that the flags state, and the weights of the prior, where a file has them.
    pub fn fleet_settings(&self) -> Result<(FleetSettings, Option<Weights>), Error> {
        let mut settings = if self.quick {
            quick()
        } else {
            FleetSettings::default()
        };
        let own = &self.method;
        let listed = own.lengths.as_ref().and_then(|l| l.0.iter().max()).copied();
        let cap = own.longest.or(listed).unwrap_or(settings.cap);
        let drawn = own.drawn.unwrap_or_default();
        let lengths = match &own.lengths {
            Some(LengthList(lengths)) => BatchLengths::Fixed {
                lengths: lengths.clone(),
                weights: (own.length_weights.clone()).map_or(Vec::new(), |weights| weights.0),
                drawn,
            },
            None => BatchLengths::Curriculum {
                start: own.start_length.unwrap_or(1),
                drawn,
            },
        };
        let test = settings.evaluation;
        let longest_test = if own.longest.is_some() || listed.is_some() {
            FleetSettings::default().evaluation.length
        } else {
            test.length
        };
        settings.shape = self.network.shape(settings.shape);
        settings.initial = self.initial.law(settings.initial);
        settings.layout = self.network.layout(settings.layout);
        settings.batch = own.batch.unwrap_or(settings.batch);
        settings.steps = own.steps.unwrap_or(settings.steps);
        settings.cap = cap;
        settings.lengths = lengths;
        settings.gate = self.gate(settings.gate);
        settings.entropy = own.convention.unwrap_or(settings.entropy);
        settings.method = own.method.unwrap_or(settings.method);
        settings.exploration = own.epsilon.unwrap_or(settings.exploration);
        settings.relabelling = own.noise;
        settings.adaptive = own.adaptive;
        settings.adam = own.adam.unwrap_or(settings.adam);
        settings.evaluation = Evaluation {
            length: own.test_length.unwrap_or(longest_test.min(cap)),
            inputs: own.test_inputs.unwrap_or(test.inputs),
        };
        settings.clip_norm = own.clip_norm;
        settings.weight_decay = own.weight_decay.unwrap_or(settings.weight_decay);
        settings.schedule = RateSchedule {
            warm_up: own.warm_up.unwrap_or(settings.schedule.warm_up),
            floor: own.cosine.unwrap_or(settings.schedule.floor),
        };
        settings.entropy_decay = own.entropy_decay;
        settings.baseline = own.baseline.unwrap_or(settings.baseline);
        settings.standardise = own.standardise;
        settings.keep = own.keep.unwrap_or(settings.keep);
        settings.inputs = match &own.inputs {
            Some(law) => words::law(law, Path::new(""))?,
            None => settings.inputs,
        };
        let (kl, which) = (own.kl.unwrap_or(0.0), own.prior.as_deref());
        let prior = set_prior(&mut settings, kl, which, Path::new(""))?;
        Ok((settings, prior))
    }

    fn gate(&self, base: Gate) -> Gate {
        let own = &self.method;
        Gate {
            period: own.gate_every.unwrap_or(base.period),
            above: own.gate_above.unwrap_or(base.above),
            decoding: own.gate.unwrap_or(base.decoding),
            samples: own.gate_samples.unwrap_or(base.samples),
            lengths: own.gate_lengths.unwrap_or(base.lengths),
        }
    }
}

/// What the flags of training hold by name, where they have a value that need not be given.
pub fn training_settings(settings: &FleetSettings) -> Fields {
    let FleetSettings {
        shape,
        layout,
        initial,
        gate,
        adam,
        evaluation,
        schedule,
        ..
    } = settings;
    let mut fields = network_settings(shape, *layout, *initial);
    let mut state = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    state("batch", json!(settings.batch));
    state("steps", json!(settings.steps));
    state("longest", json!(settings.cap));
    if settings.inputs == InputLaw::Uniform {
        state("inputs", json!("uniform"));
    }
    if let BatchLengths::Curriculum { start, .. } = settings.lengths {
        state("start_length", json!(start));
    }
    state("drawn", json!(settings.lengths.drawn()));
    state("gate", json!(gate.decoding));
    state("gate_every", json!(gate.period));
    state("gate_above", json!(gate.above));
    state("gate_samples", json!(gate.samples));
    state("gate_lengths", json!(gate.lengths));
    state("convention", json!(settings.entropy));
    if let TrainingMethod::Reinforce {} = settings.method {
        state("method", json!("reinforce"));
    }
    state("epsilon", json!(settings.exploration));
    state("adam", json!([adam.beta1, adam.beta2, adam.epsilon]));
    state("weight_decay", json!(settings.weight_decay));
    state("warm_up", json!(schedule.warm_up));
    state("cosine", json!(schedule.floor));
    state(
        "kl",
        json!(
            settings
                .prior
                .as_ref()
                .map_or(0.0, |prior| prior.coefficient)
        ),
    );
    state("baseline", json!(settings.baseline));
    state("keep", json!(settings.keep));
    state("test_length", json!(evaluation.length));
    state("test_inputs", json!(evaluation.inputs));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_whole_numbers_from_1() {
        assert!(lengths("1,2").is_ok() && lengths("0").is_err() && lengths("a").is_err());
    }

    #[test]
    fn weights_of_lengths_are_exact_and_above_0() {
        let read = |text| length_weights(text).unwrap().0;
        assert_eq!(read("2,4"), [1, 2]);
        assert_eq!(read("0.5, 1/3,1"), [3, 2, 6]);
        for bad in ["0,1", "-1,2", "a", "", "1,,2", "1e-30,1"] {
            assert!(length_weights(bad).is_err(), "{bad}");
        }
    }
}
