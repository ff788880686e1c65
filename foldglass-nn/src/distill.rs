//! Distils codes into networks (paper, app. G.4, tab:containment).
//!
//! Cross-entropy on the teacher's own emissions, fresh inputs at every step; agreement is the
//! fraction of emitted tokens that match the teacher's on held-out inputs, the network generating
//! from its own emissions.

use crate::backend::{Backend, BackendError, ModelState, Test};
use crate::fleet::{FleetError, MakeBackend};
use crate::law::LengthLaw;
use crate::layout::Layout;
use crate::lesson::Lesson;
use crate::philox::Purpose;
use crate::session::{Course, Session, other_networks};
use crate::settings::{BatchLengths, Decoding, Evaluation, FleetSettings, Gate, ModelSettings};
use crate::shape::NetworkShape;
use crate::weights::{WeightLaw, Weights};
use foldglass::model::operation::Operation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// How networks are distilled.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Distillation {
    /// The sizes of the transformer.
    pub shape: NetworkShape,
    /// How its weights are drawn.
    pub initial: WeightLaw,
    /// How inputs and tokens are laid out.
    pub layout: Layout,
    /// Inputs of an update.
    pub batch: usize,
    /// Adam's rate.
    pub learning_rate: f64,
    /// The most updates.
    pub steps: u64,
    /// Agreement is measured every so many updates.
    pub every: u64,
    /// A network is done when it agrees at least so far.
    pub target: f64,
    /// Held-out inputs.
    pub held_out: usize,
}

impl Default for Distillation {
    fn default() -> Distillation {
        Distillation {
            shape: NetworkShape::default(),
            initial: WeightLaw::Pt,
            layout: Layout::PrefixFixed,
            batch: 1024,
            learning_rate: 3e-4,
            steps: 60_000,
            every: 500,
            target: 0.999,
            held_out: 2000,
        }
    }
}

/// A network to be distilled.
#[derive(Debug, Clone)]
pub struct Pupil {
    /// What it imitates.
    pub lesson: Lesson,
    /// The square of the lesson's task.
    pub square: Operation,
    /// The seed of its weights and inputs.
    pub seed: u64,
}

/// What became of a network so far.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PupilProgress {
    /// The network's number.
    pub pupil: usize,
    /// Updates it was given.
    pub steps: u64,
    /// Cross-entropy of its last update, in nats a token.
    pub loss: f64,
    /// Agreement with its teacher.
    pub agreement: f64,
    /// Whether it has reached the target, after `steps` updates.
    pub done: bool,
}

impl Distillation {
    /// The settings that a back end is made with.
    pub fn settings(&self, cap: usize) -> FleetSettings {
        FleetSettings {
            shape: self.shape,
            initial: self.initial,
            layout: self.layout,
            batch: self.batch,
            steps: self.steps,
            cap,
            lengths: BatchLengths::Fixed {
                lengths: vec![cap],
                weights: Vec::new(),
                drawn: Default::default(),
            },
            gate: Gate {
                samples: self.batch,
                ..Gate::default()
            },
            evaluation: Evaluation {
                length: cap,
                inputs: self.held_out,
            },
            ..FleetSettings::default()
        }
    }

    /// Distils all pupils at once, until each is done or the steps are over; the observer gets all
    /// of them at every measurement and may stop the run.
    pub fn run(
        &self,
        pupils: &[Pupil],
        make: MakeBackend,
        mut observer: impl FnMut(&[PupilProgress]) -> ControlFlow<()>,
    ) -> Result<(Vec<PupilProgress>, Vec<Weights>), FleetError> {
        let mut distilling = Distilling::new(self.clone(), pupils.to_vec(), make)?;
        while !distilling.is_finished() {
            distilling.advance_by(u64::MAX)?;
            if observer(distilling.progress()).is_break() {
                break;
            }
        }
        let weights = (0..pupils.len())
            .map(|pupil| distilling.weights(pupil))
            .collect::<Result<_, _>>()?;
        Ok((distilling.course.progress, weights))
    }

    /// A back end with the pupils' first weights and their lessons.
    pub(crate) fn start(
        &self,
        pupils: &[Pupil],
        make: MakeBackend,
    ) -> Result<Box<dyn Backend>, FleetError> {
        let lengths = pupils.iter().flat_map(|p| p.lesson.lengths());
        let settings = self.settings(lengths.copied().max().unwrap_or(1));
        let models: Vec<ModelSettings> = pupils
            .iter()
            .map(|pupil| ModelSettings {
                seed: pupil.seed,
                square: pupil.square.clone(),
                entropy: 0.0,
                learning_rate: self.learning_rate,
            })
            .collect();
        settings.check(&models)?;
        let mut backend = make(&settings, &models)?;
        for (number, pupil) in pupils.iter().enumerate() {
            let weights = Weights::draw(self.shape, self.initial, pupil.seed);
            backend.restore(number, &ModelState::new(weights.values))?;
        }
        let lessons: Vec<Lesson> = pupils.iter().map(|p| p.lesson.clone()).collect();
        backend.teach(&lessons)?;
        Ok(backend)
    }
}

/// Networks that are being distilled.
pub type Distilling = Session<Pupils>;

/// Imitation of codes, looked at whenever agreement is measured.
pub struct Pupils {
    distillation: Distillation,
    pupils: Vec<Pupil>,
    progress: Vec<PupilProgress>,
    curves: Vec<Vec<PupilMeasurement>>,
}

/// A measurement of a network under way.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PupilMeasurement {
    /// Updates it was given.
    pub steps: u64,
    /// Agreement with its teacher.
    pub agreement: f64,
    /// Cross-entropy of the update before it, in nats a token.
    pub loss: f64,
}

impl Distilling {
    /// Draws the pupils' first weights.
    pub fn new(
        distillation: Distillation,
        pupils: Vec<Pupil>,
        make: MakeBackend,
    ) -> Result<Distilling, FleetError> {
        let backend = distillation.start(&pupils, make)?;
        let begun = |pupil| PupilProgress {
            pupil,
            steps: 0,
            loss: 0.0,
            agreement: 0.0,
            done: false,
        };
        let course = Pupils {
            distillation,
            progress: (0..pupils.len()).map(begun).collect(),
            curves: vec![Vec::new(); pupils.len()],
            pupils,
        };
        Ok(Session::begin(course, backend))
    }

    /// Whether all are done, or the steps over.
    pub fn is_finished(&self) -> bool {
        self.step() >= self.course.distillation.steps || self.course.is_done()
    }

    /// The networks and what they imitate.
    pub fn pupils(&self) -> &[Pupil] {
        &self.course.pupils
    }

    /// What became of the networks so far.
    pub fn progress(&self) -> &[PupilProgress] {
        &self.course.progress
    }

    /// All measurements of a network.
    pub fn curve(&self, pupil: usize) -> &[PupilMeasurement] {
        &self.course.curves[pupil]
    }

    /// The weights of a network.
    pub fn weights(&mut self, pupil: usize) -> Result<Weights, FleetError> {
        Ok(Weights {
            shape: self.course.distillation.shape,
            values: self.backend.state(pupil)?.weights,
        })
    }
}

impl Pupils {
    fn is_done(&self) -> bool {
        self.progress.iter().all(|progress| progress.done)
    }

    /// The networks that have not reached the target.
    fn active(&self) -> Vec<bool> {
        self.progress
            .iter()
            .map(|progress| !progress.done)
            .collect()
    }
}

impl Course for Pupils {
    const FORMAT: &'static str = "foldglass-distilling/2";
    type Saved = (Vec<PupilProgress>, Vec<Vec<PupilMeasurement>>);
    type Trained = Vec<f64>;
    type News = ();

    fn next_look(&self, step: u64) -> u64 {
        let every = self.distillation.every;
        ((step / every + 1) * every).min(self.distillation.steps)
    }

    fn train(
        &mut self,
        backend: &mut dyn Backend,
        step: u64,
        count: u64,
    ) -> Result<Vec<f64>, BackendError> {
        backend.imitate(step, count, &self.active())
    }

    fn look(
        &mut self,
        backend: &mut dyn Backend,
        step: u64,
        losses: Vec<f64>,
    ) -> Result<(), FleetError> {
        let inputs = self.distillation.held_out;
        let agreements = agreements(backend, &self.pupils, inputs, &self.active())?;
        for (pupil, (loss, agreement)) in losses.into_iter().zip(agreements).enumerate() {
            let progress = &mut self.progress[pupil];
            if progress.done {
                continue;
            }
            *progress = PupilProgress {
                pupil,
                steps: step,
                loss,
                agreement,
                done: agreement >= self.distillation.target,
            };
            self.curves[pupil].push(PupilMeasurement {
                steps: step,
                agreement,
                loss,
            });
        }
        Ok(())
    }

    fn saved(&self) -> Self::Saved {
        (self.progress.clone(), self.curves.clone())
    }

    fn resume(
        &mut self,
        _: &mut dyn Backend,
        _: u64,
        (progress, curves): Self::Saved,
    ) -> Result<(), FleetError> {
        let pupils = self.pupils.len();
        if progress.len() != pupils || curves.len() != pupils {
            return Err(other_networks());
        }
        (self.progress, self.curves) = (progress, curves);
        Ok(())
    }
}

/// Agreement of every active pupil on so many held-out inputs.
fn agreements(
    backend: &mut dyn Backend,
    pupils: &[Pupil],
    inputs: usize,
    active: &[bool],
) -> Result<Vec<f64>, BackendError> {
    let mut counts = vec![(0u64, 0u64); pupils.len()];
    let room = backend.room();
    for (part, first) in (0..inputs).step_by(room).enumerate() {
        let lengths = pupils.iter().zip(active).map(|(pupil, &active)| {
            LengthLaw::equal(if active {
                pupil.lesson.lengths().to_vec()
            } else {
                Vec::new()
            })
        });
        let test = Test {
            purpose: Purpose::HeldOut,
            step: part as u64,
            samples: room.min(inputs - first),
            decoding: Decoding::Greedy,
            lengths: lengths.collect(),
        };
        for (sum, more) in counts.iter_mut().zip(backend.agree(&test)?) {
            sum.0 += u64::from(more.matching);
            sum.1 += u64::from(more.tokens);
        }
    }
    Ok((counts.iter())
        .map(|&(matching, tokens)| matching as f64 / tokens.max(1) as f64)
        .collect())
}
