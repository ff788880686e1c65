//! Trains many models at once by REINFORCE under a gated curriculum (paper, section 5, app. G.5).

use crate::backend::{Backend, BackendError, ModelState, StepRecord, Test, unless_stopped};
use crate::checkpoint::{other_networks, read, restore, states};
use crate::law::LengthLaw;
use crate::origin::StoredModel;
use crate::philox::Purpose;
use crate::settings::{Decoding, GateLengths, Keep, Lengths, ModelSettings, Settings};
use crate::weights::Weights;
use foldglass::support::watch::Stop;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

pub use crate::error::FleetError;

/// A point of a model's curve, taken when the gate is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
pub struct Fleet {
    settings: Settings,
    models: Vec<ModelSettings>,
    backend: Box<dyn Backend>,
    step: u64,
    lengths: Vec<usize>,
    /// By model; empty before the first gate, and where the last weights alone are kept.
    best: Vec<Best>,
}

/// How far a fleet trains before it asks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// At most so many steps.
    Steps(u64),
    /// No further.
    Stop,
}

/// Makes a back end for settings and models.
pub type MakeBackend<'a> =
    &'a dyn Fn(&Settings, &[ModelSettings]) -> Result<Box<dyn Backend>, BackendError>;

impl Fleet {
    /// Draws the weights of every model and hands them to a back end.
    pub fn new(
        settings: Settings,
        models: Vec<ModelSettings>,
        make: MakeBackend,
    ) -> Result<Fleet, FleetError> {
        settings.check(&models)?;
        let mut backend = make(&settings, &models)?;
        for (number, model) in models.iter().enumerate() {
            let weights = Weights::draw(settings.shape, settings.initial, model.seed);
            backend.restore(number, &ModelState::new(weights.values))?;
        }
        let lengths = vec![settings.lengths.start(); models.len()];
        Ok(Fleet {
            settings,
            models,
            backend,
            step: 0,
            lengths,
            best: Vec::new(),
        })
    }

    /// The settings that all models share.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is the models' own.
    pub fn models(&self) -> &[ModelSettings] {
        &self.models
    }

    /// Steps made so far.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The curriculum's lengths.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// The back end.
    pub fn backend(&mut self) -> &mut dyn Backend {
        self.backend.as_mut()
    }

    /// The weights of a model.
    pub fn weights(&mut self, model: usize) -> Result<Weights, FleetError> {
        Ok(Weights {
            shape: self.settings.shape,
            values: self.backend.weights(model)?,
        })
    }

    /// Every model at its best gate; empty before the first gate, and under [`Keep::Last`].
    pub fn best(&self) -> &[Best] {
        &self.best
    }

    /// Looks at the models with their best weights in place, which [`Fleet::best`] has; training goes on
    /// from the last ones.
    pub fn look_at_best<T>(&mut self, look: impl FnOnce(&mut Fleet) -> T) -> Result<T, FleetError> {
        let last = states(self.backend.as_mut())?;
        for (model, best) in self.best.iter().enumerate() {
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
        while self.step < self.settings.steps {
            let points = self.advance()?;
            if observer(&points).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Trains to the next gate, or to the end, and asks the gate.
    pub fn advance(&mut self) -> Result<Vec<CurvePoint>, FleetError> {
        let points = self.advance_in_pieces(|| Piece::Steps(u64::MAX))?;
        Ok(points.expect("it was not stopped"))
    }

    /// From now on a back end whose single steps may take long asks this within them; see
    /// [`Fleet::advance_in_pieces`].
    pub fn heed(&mut self, stop: Stop) {
        self.backend.heed(stop);
    }

    /// The same in pieces, each as long as `next_piece` says before it; none when that stops it,
    /// perhaps between two gates, or the back end was told to stop: then the last piece is not done.
    /// Neither shows in what is trained.
    pub fn advance_in_pieces(
        &mut self,
        mut next_piece: impl FnMut() -> Piece,
    ) -> Result<Option<Vec<CurvePoint>>, FleetError> {
        let period = self.settings.gate.period;
        let next = (self.step / period + 1) * period;
        let end = next.min(self.settings.steps);
        let mut records = Vec::new();
        let mut before = self.step;
        while self.step < end {
            let Piece::Steps(most) = next_piece() else {
                return Ok(None);
            };
            let count = most.clamp(1, end - self.step);
            let trained = self.backend.train(self.step, count, &self.lengths);
            let Some(trained) = unless_stopped(trained)? else {
                return Ok(None);
            };
            records = trained;
            before = self.step;
            self.step += count;
        }
        let Some(accuracies) = unless_stopped(self.ask_gate())? else {
            // A step at which the gate is due is saved only when it was asked.
            self.backend.take_back();
            self.step = before;
            return Ok(None);
        };
        self.pass_gate(next, records, accuracies).map(Some)
    }

    /// Passes the gate after the step of these records.
    fn pass_gate(
        &mut self,
        next: u64,
        records: Vec<StepRecord>,
        accuracies: Vec<f64>,
    ) -> Result<Vec<CurvePoint>, FleetError> {
        let trained = self.lengths.clone();
        if let Lengths::Curriculum { .. } = self.settings.lengths
            && self.step == next
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
                step: self.step,
                length,
                gate,
                last,
            })
            .collect();
        if self.settings.keep == Keep::Best {
            self.keep_best(&points)?;
        }
        Ok(points)
    }

    fn keep_best(&mut self, points: &[CurvePoint]) -> Result<(), FleetError> {
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
                weights: self.backend.weights(point.model)?,
            };
            match self.best.get_mut(point.model) {
                Some(before) => *before = best,
                None => self.best.push(best),
            }
        }
        Ok(())
    }

    fn ask_gate(&mut self) -> Result<Vec<f64>, BackendError> {
        let gate = &self.settings.gate;
        let lengths = |&n: &usize| match gate.lengths {
            GateLengths::Training => self.settings.lengths.law(n),
            GateLengths::Current => LengthLaw::equal(vec![n]),
        };
        let test = Test {
            purpose: Purpose::Gate,
            step: self.step,
            samples: gate.samples,
            decoding: gate.decoding,
            lengths: self.lengths.iter().map(lengths).collect(),
        };
        let right = self.backend.right(&test)?;
        let share = 1.0 / gate.samples as f64;
        Ok(right.into_iter().map(|n| f64::from(n) * share).collect())
    }

    /// Greedy accuracy of every model on fresh inputs of one length.
    pub fn accuracies(&mut self, length: usize, inputs: usize) -> Result<Vec<f64>, FleetError> {
        let mut right = vec![0; self.models.len()];
        let most = self.backend.room().min(self.settings.batch.max(64));
        for (part, first) in (0..inputs).step_by(most).enumerate() {
            let test = Test {
                purpose: Purpose::Evaluation,
                // Every length and part of a test has numbers of its own.
                step: (length as u64) << 16 | part as u64,
                samples: most.min(inputs - first),
                decoding: Decoding::Greedy,
                lengths: vec![LengthLaw::equal(vec![length]); self.models.len()],
            };
            let more = self.backend.right(&test)?;
            right.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
        }
        let share = 1.0 / inputs as f64;
        Ok(right.into_iter().map(|n| f64::from(n) * share).collect())
    }

    /// Writes everything that a later run needs to go on as if nothing had happened.
    pub fn save(&mut self) -> Result<Vec<u8>, FleetError> {
        let checkpoint = Checkpoint {
            format: FORMAT.into(),
            settings: toml::to_string(&self.settings).expect("settings can be written"),
            models: self.models.iter().map(StoredModel::from).collect(),
            step: self.step,
            lengths: self.lengths.clone(),
            states: states(self.backend.as_mut())?,
        };
        let mut bytes = postcard::to_stdvec(&checkpoint).expect("plain data");
        if self.settings.keep == Keep::Best {
            bytes = postcard::to_extend(&self.best, bytes).expect("plain data");
        }
        Ok(bytes)
    }

    /// Takes up what [`Fleet::save`] left of the same models under the same settings.
    pub fn take_up(&mut self, bytes: &[u8]) -> Result<(), FleetError> {
        let (saved, rest): (Checkpoint, &[u8]) = read(bytes)?;
        if saved.format != FORMAT {
            return Err(FleetError::Checkpoint(format!(
                "format '{}'; this version reads '{FORMAT}'",
                saved.format
            )));
        }
        let settings: Option<Settings> = toml::from_str(&saved.settings).ok();
        let models = saved.models.iter().map(StoredModel::take);
        let models: Vec<ModelSettings> = models.collect::<Result<_, _>>()?;
        let fits = settings.as_ref() == Some(&self.settings)
            && models == self.models
            && saved.lengths.len() == models.len()
            && saved.step <= self.settings.steps;
        if !fits {
            return Err(other_networks());
        }
        let best: Vec<Best> = match self.settings.keep {
            Keep::Last => Vec::new(),
            Keep::Best => read(rest)?.0,
        };
        let parameters = self.settings.shape.parameters();
        let fits = (best.is_empty() || best.len() == self.models.len())
            && best.iter().all(|b| b.weights.len() == parameters);
        if !fits {
            return Err(other_networks());
        }
        restore(self.backend.as_mut(), &saved.states)?;
        self.best = best;
        self.step = saved.step;
        self.lengths = saved.lengths;
        Ok(())
    }
}

const FORMAT: &str = "foldglass-fleet/1";

#[derive(Serialize, Deserialize)]
struct Checkpoint {
    format: String,
    /// As TOML: tagged settings need a format that names its fields.
    settings: String,
    models: Vec<StoredModel>,
    step: u64,
    lengths: Vec<usize>,
    states: Vec<ModelState>,
    // Where the best weights are kept they follow, as a list of `Best`.
}
