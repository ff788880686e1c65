//! Reads what a study says of a training: the words of the command `train`, with underscores.

use foldglass::{Allowance, Class};
use foldglass_nn::layout::Layout;
use foldglass_nn::machine::{Maker, Place, Precision, bytes};
use foldglass_nn::schedule::{EntropyDecay, RateSchedule};
use foldglass_nn::settings::{
    Adam, Adaptive, Baseline, BatchLengths, Decoding, EntropyForm, Evaluation, FleetSettings, Gate,
    GateLengths, Keep, LengthDraw, ModelSettings, SettingsError, TokenRelabelling, TrainingMethod,
};
use foldglass_nn::shape::{NetworkShape, Norm};
use foldglass_nn::weights::{WeightLaw, Weights};
use serde_json::Value;

use super::super::Worded;
use super::TrainUnit;
use super::prior::set_prior;
use super::settings::SETTINGS;
use crate::method::{
    Fields, Headline, Method, MethodSettings, Recipe, RunningUnit, Setting, SettingError, Streams,
    fields, put, put_some,
};

/// Kind `train`.
pub struct Train;

/// What the networks of a point share.
#[derive(Clone)]
pub(super) struct TrainPlan {
    pub class: Class,
    pub settings: FleetSettings,
    /// The weights of a given prior.
    pub prior: Option<Weights>,
    /// Record a point of the curve each time this number of steps has passed.
    pub record_every: Option<u64>,
    /// Read networks back as codes of the class.
    pub read_back: bool,
    entropy: f64,
    learning_rate: f64,
    /// Networks of a fleet.
    fleet: u64,
    place: Place,
    precision: Option<Precision>,
}

/// Networks that are trained together where the study says no other.
const FLEET: u64 = 8;

impl Method for Train {
    fn kind(&self) -> &'static str {
        "train"
    }

    fn headline(&self) -> Headline {
        Headline {
            value: "reward",
            exact: None,
        }
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn recipe(
        &self,
        class: &Class,
        settings: MethodSettings<'_>,
    ) -> Result<Box<dyn Recipe>, SettingError> {
        let mut fleet = fleet_settings(class, &settings)?;
        let plan = TrainPlan {
            class: class.clone(),
            prior: prior(&mut fleet, &settings)?,
            settings: fleet,
            record_every: settings.get("record_every")?,
            read_back: settings.or("read_back", false)?,
            entropy: settings.or("entropy", 0.0)?,
            learning_rate: settings.or("learning_rate", 3e-4)?,
            fleet: settings.or("fleet", FLEET)?,
            place: settings.or("backend", Place::Auto)?,
            precision: settings.get("precision")?,
        };
        plan.check()?;
        Ok(Box::new(plan))
    }
}

/// The most inputs on which networks are read back.
const READ: f64 = 1e7;

/// A network is read back on every input.
fn check_inputs_to_read(class: &Class) -> Result<(), SettingError> {
    let (q, lengths) = (class.q() as f64, class.task().lengths());
    let inputs: f64 = lengths.iter().map(|&length| q.powi(length as i32)).sum();
    if !class.task().inputs().has_full_support() {
        let needed = "a class whose inputs all have a probability above 0";
        return Err(SettingError::needs("read_back", "true", needed));
    }
    if inputs <= READ {
        return Ok(());
    }
    let needed = format!("a class of at most {READ:e} inputs (this one has {inputs:.1e})");
    Err(SettingError::needs("read_back", "true", &needed))
}

fn fleet_settings(
    class: &Class,
    settings: &MethodSettings<'_>,
) -> Result<FleetSettings, SettingError> {
    let cap = class.task().longest();
    let mut fleet = FleetSettings::default();
    fleet.shape = shape(settings, fleet.shape)?;
    fleet.initial = settings.or::<WeightLaw>("init", fleet.initial)?;
    fleet.layout = settings.or::<Layout>("layout", fleet.layout)?;
    fleet.batch = settings.or("batch", fleet.batch)?;
    fleet.steps = settings.need("steps")?;
    fleet.cap = cap;
    fleet.lengths = lengths(class, settings)?;
    fleet.gate = gate(settings, fleet.gate)?;
    fleet.entropy = settings.or::<EntropyForm>("convention", fleet.entropy)?;
    fleet.method = worded::<TrainingMethod>(settings, "method")?.unwrap_or(fleet.method);
    fleet.exploration = settings.or("epsilon", fleet.exploration)?;
    fleet.relabelling = worded_or_none::<TokenRelabelling>(settings, "noise")?;
    fleet.adaptive = worded_or_none::<Adaptive>(settings, "adaptive")?;
    fleet.adam = worded::<Adam>(settings, "adam")?.unwrap_or(fleet.adam);
    fleet.evaluation = Evaluation {
        length: cap,
        inputs: settings.or("test_inputs", fleet.evaluation.inputs)?,
    };
    fleet.clip_norm = worded_or_none::<f64>(settings, "clip_norm")?;
    fleet.weight_decay = settings.or("weight_decay", fleet.weight_decay)?;
    fleet.schedule = RateSchedule {
        warm_up: settings.or("warm_up", fleet.schedule.warm_up)?,
        floor: settings.or("cosine", fleet.schedule.floor)?,
    };
    fleet.entropy_decay = worded_or_none::<EntropyDecay>(settings, "entropy_decay")?;
    fleet.baseline = settings.or::<Baseline>("baseline", fleet.baseline)?;
    fleet.standardise = settings.or("standardise", fleet.standardise)?;
    fleet.keep = settings.or::<Keep>("keep", fleet.keep)?;
    fleet.inputs = class.task().inputs().law().clone();
    Ok(fleet)
}

/// Puts the prior into the settings of a fleet; its weights, where they are given.
fn prior(
    fleet: &mut FleetSettings,
    settings: &MethodSettings<'_>,
) -> Result<Option<Weights>, SettingError> {
    let (kl, which): (Option<f64>, Option<String>) = (settings.get("kl")?, settings.get("prior")?);
    if let (None, Some(which)) = (kl, &which) {
        let needed = "`kl`, the coefficient of the divergence from it, beside it";
        settings.check(false, "prior", which, needed)?;
    }
    let set = set_prior(fleet, kl.unwrap_or(0.0), which.as_deref(), settings.base());
    set.map_err(|error| SettingError::of("prior", format!("prior: {error}")))
}

fn worded<T>(settings: &MethodSettings<'_>, key: &str) -> Result<Option<T>, SettingError>
where
    T: serde::de::DeserializeOwned + std::str::FromStr<Err: std::fmt::Display>,
{
    Ok(settings.get::<Worded<T>>(key)?.map(|Worded(value)| value))
}

/// The same, or `none`, so that a grid may hold runs without it.
fn worded_or_none<T>(settings: &MethodSettings<'_>, key: &str) -> Result<Option<T>, SettingError>
where
    T: serde::de::DeserializeOwned + std::str::FromStr<Err: std::fmt::Display>,
{
    let given: Option<Value> = settings.get(key)?;
    if given.is_some_and(|value| value == "none") {
        return Ok(None);
    }
    worded(settings, key)
}

fn shape(settings: &MethodSettings<'_>, base: NetworkShape) -> Result<NetworkShape, SettingError> {
    Ok(NetworkShape {
        width: settings.or("width", base.width)?,
        heads: settings.or("heads", base.heads)?,
        mlp: settings.or("mlp", base.mlp)?,
        vocabulary: settings.or("vocabulary", base.vocabulary)?,
        norm: settings.or::<Norm>("norm", base.norm)?,
        ..base
    })
}

/// The class's lengths, all from the start, or opened one after another by the gate.
fn lengths(class: &Class, settings: &MethodSettings<'_>) -> Result<BatchLengths, SettingError> {
    let drawn: LengthDraw = settings.or("drawn", LengthDraw::default())?;
    let start: Option<usize> = settings.get("start_length")?;
    let list = class.task().lengths().to_vec();
    if !settings.or("curriculum", false)? {
        settings.check(
            start.is_none(),
            "start_length",
            start.unwrap_or(0),
            "curriculum = true beside it",
        )?;
        return Ok(BatchLengths::Fixed {
            lengths: list,
            weights: weights(class)?,
            drawn,
        });
    }
    let consecutive = list.iter().copied().eq(1..=class.task().longest());
    let needed = "a class of lengths 1, 2, .. to the longest";
    settings.check(consecutive, "curriculum", "true", needed)?;
    Ok(BatchLengths::Curriculum {
        start: start.unwrap_or(1),
        drawn,
    })
}

/// The weights of a class's lengths; none where they are equal.
fn weights(class: &Class) -> Result<Vec<u64>, SettingError> {
    let task = class.task();
    let refused = |key: &str, problem: &str| SettingError {
        key: key.to_owned(),
        problem: problem.to_owned(),
    };
    if !task.reward().is_final() {
        return Err(refused(
            "reward",
            "networks are rewarded for the last token: reward = \"final\" is needed",
        ));
    }
    if task.length_weights().is_equal() {
        return Ok(Vec::new());
    }
    let parts = task.length_weights().parts().iter();
    let parts: Result<_, _> = parts.map(u64::try_from).collect();
    parts.map_err(|_| refused("length_weights", "as whole numbers they pass 64 bits"))
}

fn gate(settings: &MethodSettings<'_>, base: Gate) -> Result<Gate, SettingError> {
    Ok(Gate {
        period: settings.or("gate_every", base.period)?,
        above: settings.or("gate_above", base.above)?,
        decoding: settings.or::<Decoding>("gate", base.decoding)?,
        samples: settings.or("gate_samples", base.samples)?,
        lengths: settings.or::<GateLengths>("gate_lengths", base.lengths)?,
    })
}

impl TrainPlan {
    /// Refuses what a fleet would refuse, before any run is done.
    fn check(&self) -> Result<(), SettingError> {
        if self.read_back {
            check_inputs_to_read(&self.class)?;
        }
        let models = self.models(&Streams {
            seed: 0,
            numbers: 0..1,
        });
        self.settings.check(&models).map_err(setting_named)?;
        let made = Maker::new(self.place, self.precision, Allowance::default());
        made.map(drop).map_err(|error| {
            let problem = format!("precision with backend = \"cpu\": {error}");
            SettingError::of("precision", problem)
        })
    }

    /// The networks with the numbers of a unit.
    pub fn models(&self, streams: &Streams) -> Vec<ModelSettings> {
        let model = |number: u64| {
            // The seeds of `train --runs`, where points share random numbers.
            let seed = streams.seed.wrapping_add(number);
            let mut model = ModelSettings::new(seed, self.class.task().square().clone());
            model.entropy = self.entropy;
            model.learning_rate = self.learning_rate;
            model
        };
        streams.numbers.clone().map(model).collect()
    }

    /// Makes back ends within this memory.
    fn maker(&self, allowance: Allowance) -> Maker {
        Maker::new(self.place, self.precision, allowance).expect("it was checked")
    }
}

/// What a fleet says, with the key that is meant.
fn setting_named(error: SettingsError) -> SettingError {
    let keys: Vec<String> = (crate::words::of_setting(&error).iter())
        .map(|word| match *word {
            // They are the class's.
            "longest" | "test-length" => "lengths".to_owned(),
            word => word.replace('-', "_"),
        })
        .collect();
    let key = keys.first().map_or("kind", String::as_str);
    let problem = match keys.is_empty() {
        true => error.to_string(),
        false => format!("{}: {error}", keys.join(", ")),
    };
    SettingError::of(key, problem)
}

impl Recipe for TrainPlan {
    fn settings(&self) -> Fields {
        let mut fields = fields(&self.settings);
        put(&mut fields, "c", self.entropy);
        put(&mut fields, "learning_rate", self.learning_rate);
        put(&mut fields, "fleet", self.fleet);
        put(&mut fields, "backend", self.place);
        put_some(&mut fields, "precision", self.precision);
        fields
    }

    fn together(&self) -> u64 {
        self.fleet
    }

    fn steps(&self) -> u64 {
        self.settings.steps
    }

    fn bytes(&self) -> Option<u128> {
        let fleet = usize::try_from(self.fleet).unwrap_or(usize::MAX);
        Some(bytes(&self.settings, fleet))
    }

    fn kept(&self, cells: u128, _: u128) -> u128 {
        let points = self.record_every.map_or(0, |n| self.settings.steps / n);
        let code = if self.read_back { cells } else { 0 };
        let looks = match self.settings.keep {
            Keep::Last => 1,
            Keep::Best => 2,
        };
        7 * u128::from(points) + looks * (code + self.settings.cap as u128)
    }

    fn begin(
        &self,
        streams: Streams,
        allowance: Allowance,
    ) -> Result<Box<dyn RunningUnit>, String> {
        let begun = TrainUnit::begin(self, &streams, &self.maker(allowance))?;
        Ok(Box::new(begun))
    }

    fn resume(
        &self,
        streams: Streams,
        state: &[u8],
        allowance: Allowance,
    ) -> Result<Box<dyn RunningUnit>, String> {
        let resumed = TrainUnit::resume(self, &streams, state, &self.maker(allowance))?;
        Ok(Box::new(resumed))
    }
}
