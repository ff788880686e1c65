//! Trains many models at once by REINFORCE under a gated curriculum (paper, section 5, app. G.5).

use crate::backend::{Backend, BackendError, ModelState, StepRecord, Test};
use crate::law::LengthLaw;
use crate::origin::StoredModel;
use crate::philox::Purpose;
use crate::session::{Course, Session, other_networks, restore, states};
use crate::settings::{BatchLengths, Decoding, FleetSettings, GateLengths, Keep, ModelSettings};
use crate::weights::Weights;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

pub use crate::error::FleetError;

/// A point of a model's curve, taken when the gate is asked.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The model's number in the fleet.
    pub model: usize,
    /// Steps made so far.
    pub step: u64,
    /// The longest length it was trained on at this step.
    pub length: usize,
    /// The accuracy that the gate saw.
    pub gate: f64,
    /// What the last step came to.
    #[serde(flatten)]
    pub last: StepRecord,
}

/// A model at its best gate: the longest length of the curriculum, there the highest accuracy that the
/// gate saw, the first of equals.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Best {
    /// Steps made so far.
    pub step: u64,
    /// The longest length it was trained on at this step.
    pub length: usize,
    /// The accuracy that the gate saw.
    pub gate: f64,
    /// What the last step came to.
    pub last: StepRecord,
    /// The weights.
    pub weights: Vec<f32>,
}

/// R models, their back end and how far they have come.
pub type Fleet = Session<Curriculum>;

/// Training by REINFORCE, looked at whenever the gate is asked.
pub struct Curriculum {
    settings: FleetSettings,
    models: Vec<ModelSettings>,
    lengths: Vec<usize>,
    /// By model; empty before the first gate, and where the last weights alone are kept.
    best: Vec<Best>,
}

/// What is saved of a fleet.
#[derive(JsonSchema, Serialize, Deserialize)]
pub struct SavedCurriculum {
    /// As TOML: tagged settings need a format that names its fields.
    settings: String,
    models: Vec<StoredModel>,
    lengths: Vec<usize>,
    best: Vec<Best>,
}

/// Makes a back end for settings and models.
pub type MakeBackend<'a> =
    &'a dyn Fn(&FleetSettings, &[ModelSettings]) -> Result<Box<dyn Backend>, BackendError>;

impl Fleet {
    /// Draws the weights of every model and hands them to a back end.
    pub fn new(
        settings: FleetSettings,
        models: Vec<ModelSettings>,
        make: MakeBackend,
    ) -> Result<Fleet, FleetError> {
        Fleet::begin_with(settings, models, None, make)
    }

    /// The same with the network of [`Given`](crate::settings::PriorNetwork::Given), to which all models are held.
    pub fn with_prior(
        settings: FleetSettings,
        models: Vec<ModelSettings>,
        prior: &Weights,
        make: MakeBackend,
    ) -> Result<Fleet, FleetError> {
        Fleet::begin_with(settings, models, Some(prior), make)
    }

    fn begin_with(
        settings: FleetSettings,
        models: Vec<ModelSettings>,
        given: Option<&Weights>,
        make: MakeBackend,
    ) -> Result<Fleet, FleetError> {
        settings.check(&models)?;
        settings.check_prior(given)?;
        let mut backend = make(&settings, &models)?;
        for (number, model) in models.iter().enumerate() {
            let weights = Weights::draw(settings.shape, settings.initial, model.seed);
            if settings.prior.is_some() {
                backend.set_prior(number, &given.unwrap_or(&weights).values)?;
            }
            backend.restore(number, &ModelState::new(weights.values))?;
        }
        let course = Curriculum {
            lengths: vec![settings.lengths.start(); models.len()],
            settings,
            models,
            best: Vec::new(),
        };
        Ok(Session::begin(course, backend))
    }

    /// The settings that all models share.
    pub fn settings(&self) -> &FleetSettings {
        &self.course.settings
    }

    /// What is the models' own.
    pub fn models(&self) -> &[ModelSettings] {
        &self.course.models
    }

    /// The curriculum's lengths.
    pub fn lengths(&self) -> &[usize] {
        &self.course.lengths
    }

    /// The weights of a model.
    pub fn weights(&mut self, model: usize) -> Result<Weights, FleetError> {
        Ok(Weights {
            shape: self.course.settings.shape,
            values: self.backend.weights(model)?,
        })
    }

    /// Every model at its best gate; empty before the first gate, and under [`Keep::Last`].
    pub fn best(&self) -> &[Best] {
        &self.course.best
    }

    /// Looks at the models with their best weights in place, which [`Fleet::best`] has; training goes on
    /// from the last ones.
    pub fn look_at_best<T>(&mut self, look: impl FnOnce(&mut Fleet) -> T) -> Result<T, FleetError> {
        let last = states(self.backend.as_mut())?;
        for (model, best) in self.course.best.iter().enumerate() {
            let state = ModelState::new(best.weights.clone());
            self.backend.restore(model, &state)?;
        }
        let seen = look(self);
        restore(self.backend.as_mut(), &last)?;
        Ok(seen)
    }

    /// Trains to the last step; the observer gets a point of every model whenever the gate is
    /// asked, and may stop the run there.
    pub fn run(
        &mut self,
        mut observer: impl FnMut(&[CurvePoint]) -> ControlFlow<()>,
    ) -> Result<(), FleetError> {
        while self.step() < self.course.settings.steps {
            let points = self.advance()?;
            if observer(&points).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Trains to the next gate, or to the end, and asks the gate; no points where the back end was told to stop.
    pub fn advance(&mut self) -> Result<Vec<CurvePoint>, FleetError> {
        Ok(self.advance_by(u64::MAX)?.unwrap_or_default())
    }

    /// Greedy accuracy of every model on fresh inputs of one length.
    pub fn accuracies(&mut self, length: usize, inputs: usize) -> Result<Vec<f64>, FleetError> {
        let mut right = vec![0; self.course.models.len()];
        let most = self.backend.room().min(self.course.settings.batch.max(64));
        for (part, first) in (0..inputs).step_by(most).enumerate() {
            let test = Test {
                purpose: Purpose::Evaluation,
                // Every length and part of a test has numbers of its own.
                step: (length as u64) << 16 | part as u64,
                samples: most.min(inputs - first),
                decoding: Decoding::Greedy,
                lengths: vec![LengthLaw::equal(vec![length]); self.course.models.len()],
            };
            let more = self.backend.right(&test)?;
            right.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
        }
        let share = 1.0 / inputs as f64;
        Ok(right.into_iter().map(|n| f64::from(n) * share).collect())
    }
}

impl Course for Curriculum {
    const FORMAT: &'static str = "foldglass-fleet/3";
    type Saved = SavedCurriculum;
    type Trained = Vec<StepRecord>;
    type News = Vec<CurvePoint>;

    fn next_look(&self, step: u64) -> u64 {
        let period = self.settings.gate.period;
        ((step / period + 1) * period).min(self.settings.steps)
    }

    fn train(
        &mut self,
        backend: &mut dyn Backend,
        step: u64,
        count: u64,
    ) -> Result<Vec<StepRecord>, BackendError> {
        backend.train(step, count, &self.lengths)
    }

    /// Asks the gate, and passes it.
    fn look(
        &mut self,
        backend: &mut dyn Backend,
        step: u64,
        records: Vec<StepRecord>,
    ) -> Result<Vec<CurvePoint>, FleetError> {
        let accuracies = self.gate(backend, step)?;
        let trained = self.lengths.clone();
        if let BatchLengths::Curriculum { .. } = self.settings.lengths
            && step.is_multiple_of(self.settings.gate.period)
        {
            for (length, &accuracy) in self.lengths.iter_mut().zip(&accuracies) {
                if accuracy > self.settings.gate.above && *length < self.settings.cap {
                    *length += 1;
                }
            }
        }
        let points = records.into_iter().zip(trained).zip(accuracies).enumerate();
        let points: Vec<CurvePoint> = points
            .map(|(model, ((last, length), gate))| CurvePoint {
                model,
                step,
                length,
                gate,
                last,
            })
            .collect();
        if self.settings.keep == Keep::Best {
            self.keep_best(backend, &points)?;
        }
        Ok(points)
    }

    fn saved(&self) -> SavedCurriculum {
        SavedCurriculum {
            settings: toml::to_string(&self.settings).expect("settings can be written"),
            models: self.models.iter().map(StoredModel::from).collect(),
            lengths: self.lengths.clone(),
            best: self.best.clone(),
        }
    }

    fn resume(
        &mut self,
        _: &mut dyn Backend,
        step: u64,
        saved: SavedCurriculum,
    ) -> Result<(), FleetError> {
        let settings: Option<FleetSettings> = toml::from_str(&saved.settings).ok();
        let models = saved.models.iter().map(StoredModel::take);
        let models: Vec<ModelSettings> = models.collect::<Result<_, _>>()?;
        let (parameters, best) = (self.settings.shape.parameters(), &saved.best);
        let fits = settings.as_ref() == Some(&self.settings)
            && models == self.models
            && saved.lengths.len() == models.len()
            && step <= self.settings.steps
            && (best.is_empty() || best.len() == models.len())
            && best.iter().all(|best| best.weights.len() == parameters);
        if !fits {
            return Err(other_networks());
        }
        self.lengths = saved.lengths;
        self.best = saved.best;
        Ok(())
    }
}

impl Curriculum {
    /// The accuracy of every model at the gate.
    fn gate(&self, backend: &mut dyn Backend, step: u64) -> Result<Vec<f64>, BackendError> {
        let gate = &self.settings.gate;
        let lengths = |&n: &usize| match gate.lengths {
            GateLengths::Training => self.settings.lengths.law(n),
            GateLengths::Current => LengthLaw::equal(vec![n]),
        };
        let test = Test {
            purpose: Purpose::Gate,
            step,
            samples: gate.samples,
            decoding: gate.decoding,
            lengths: self.lengths.iter().map(lengths).collect(),
        };
        let right = backend.right(&test)?;
        let share = 1.0 / gate.samples as f64;
        Ok(right.into_iter().map(|n| f64::from(n) * share).collect())
    }

    fn keep_best(
        &mut self,
        backend: &mut dyn Backend,
        points: &[CurvePoint],
    ) -> Result<(), FleetError> {
        for point in points {
            let before = self.best.get(point.model);
            if before.is_some_and(|b| (b.length, b.gate) >= (point.length, point.gate)) {
                continue;
            }
            let best = Best {
                step: point.step,
                length: point.length,
                gate: point.gate,
                last: point.last,
                weights: backend.weights(point.model)?,
            };
            match self.best.get_mut(point.model) {
                Some(before) => *before = best,
                None => self.best.push(best),
            }
        }
        Ok(())
    }
}
