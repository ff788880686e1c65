//! Distils codes into networks (paper, app. G.4, tab:containment).
//!
//! Cross-entropy on the teacher's own emissions, fresh inputs at every step; agreement is the
//! fraction of emitted tokens that match the teacher's on held-out inputs, the network generating
//! from its own emissions.

use crate::backend::{Backend, BackendError, ModelState, Test, unless_stopped};
use crate::checkpoint::{other_networks, read, restore, states};
use crate::fleet::{FleetError, MakeBackend, Piece};
use crate::law::LengthLaw;
use crate::layout::Layout;
use crate::lesson::Lesson;
use crate::philox::Purpose;
use crate::settings::{Decoding, Evaluation, Gate, Lengths, ModelSettings, Settings};
use crate::shape::Shape;
use crate::weights::{InitialLaw, Weights};
use foldglass::model::quasigroup::LatinSquare;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// How networks are distilled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Distillation {
    /// The sizes of the transformer.
    pub shape: Shape,
    /// How its weights are drawn.
    pub initial: InitialLaw,
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
            shape: Shape::default(),
            initial: InitialLaw::Pt,
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
    pub square: LatinSquare,
    /// The seed of its weights and inputs.
    pub seed: u64,
}

/// What became of a network so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Progress {
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
    pub fn settings(&self, cap: usize) -> Settings {
        Settings {
            shape: self.shape,
            initial: self.initial,
            layout: self.layout,
            batch: self.batch,
            steps: self.steps,
            cap,
            lengths: Lengths::Fixed {
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
            ..Settings::default()
        }
    }

    /// Distils all pupils at once, until each is done or the steps are over; the observer gets all
    /// of them at every measurement and may stop the run.
    pub fn run(
        &self,
        pupils: &[Pupil],
        make: MakeBackend,
        mut observer: impl FnMut(&[Progress]) -> ControlFlow<()>,
    ) -> Result<(Vec<Progress>, Vec<Weights>), FleetError> {
        let mut distilling = Distilling::new(self.clone(), pupils.to_vec(), make)?;
        while !distilling.is_finished() {
            distilling.advance_in_pieces(|| Piece::Steps(u64::MAX))?;
            if observer(distilling.progress()).is_break() {
                break;
            }
        }
        let weights = (0..pupils.len())
            .map(|pupil| distilling.weights(pupil))
            .collect::<Result<_, _>>()?;
        Ok((distilling.progress, weights))
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
pub struct Distilling {
    distillation: Distillation,
    pupils: Vec<Pupil>,
    backend: Box<dyn Backend>,
    progress: Vec<Progress>,
    curves: Vec<Vec<Measured>>,
    step: u64,
}

/// A measurement of a network under way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Updates it was given.
    pub steps: u64,
    /// Agreement with its teacher.
    pub agreement: f64,
    /// Cross-entropy of the update before it, in nats a token.
    pub loss: f64,
}

#[derive(Serialize, Deserialize)]
struct Checkpoint {
    format: String,
    progress: Vec<Progress>,
    curves: Vec<Vec<Measured>>,
    step: u64,
    states: Vec<ModelState>,
}

const FORMAT: &str = "foldglass-distilling/1";

impl Distilling {
    /// Draws the pupils' first weights.
    pub fn new(
        distillation: Distillation,
        pupils: Vec<Pupil>,
        make: MakeBackend,
    ) -> Result<Distilling, FleetError> {
        let backend = distillation.start(&pupils, make)?;
        let begun = |pupil| Progress {
            pupil,
            steps: 0,
            loss: 0.0,
            agreement: 0.0,
            done: false,
        };
        Ok(Distilling {
            distillation,
            backend,
            progress: (0..pupils.len()).map(begun).collect(),
            curves: vec![Vec::new(); pupils.len()],
            pupils,
            step: 0,
        })
    }

    /// Updates made so far, of those that were not done before.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Whether all are done, or the steps over.
    pub fn is_finished(&self) -> bool {
        self.step >= self.distillation.steps || self.progress.iter().all(|p| p.done)
    }

    /// The networks and what they imitate.
    pub fn pupils(&self) -> &[Pupil] {
        &self.pupils
    }

    /// What became of the networks so far.
    pub fn progress(&self) -> &[Progress] {
        &self.progress
    }

    /// All measurements of a network.
    pub fn curve(&self, pupil: usize) -> &[Measured] {
        &self.curves[pupil]
    }

    /// The weights of a network.
    pub fn weights(&mut self, pupil: usize) -> Result<Weights, FleetError> {
        Ok(Weights {
            shape: self.distillation.shape,
            values: self.backend.state(pupil)?.weights,
        })
    }

    /// Goes on to the next measurement, in pieces as long as `next_piece` says before each; false
    /// when that stops it, perhaps between two measurements, or the back end was told to stop: then the
    /// last piece is not done. Neither shows in what is learned.
    pub fn advance_in_pieces(
        &mut self,
        mut next_piece: impl FnMut() -> Piece,
    ) -> Result<bool, FleetError> {
        let every = self.distillation.every;
        let end = ((self.step / every + 1) * every).min(self.distillation.steps);
        let active: Vec<bool> = self.progress.iter().map(|p| !p.done).collect();
        let mut losses = Vec::new();
        let mut before = self.step;
        while self.step < end {
            let Piece::Steps(most) = next_piece() else {
                return Ok(false);
            };
            let count = most.clamp(1, end - self.step);
            let learned = self.backend.imitate(self.step, count, &active);
            let Some(learned) = unless_stopped(learned)? else {
                return Ok(false);
            };
            losses = learned;
            before = self.step;
            self.step += count;
        }
        let held_out = self.distillation.held_out;
        let agreements = agreements(self.backend.as_mut(), &self.pupils, held_out, &active);
        let Some(agreements) = unless_stopped(agreements)? else {
            self.backend.take_back();
            self.step = before;
            return Ok(false);
        };
        for (number, (&loss, agreement)) in losses.iter().zip(agreements).enumerate() {
            let progress = &mut self.progress[number];
            if !progress.done {
                *progress = Progress {
                    pupil: number,
                    steps: self.step,
                    loss,
                    agreement,
                    done: agreement >= self.distillation.target,
                };
                self.curves[number].push(Measured {
                    steps: self.step,
                    agreement,
                    loss,
                });
            }
        }
        Ok(true)
    }

    /// Writes everything that a later run needs to go on as if nothing had happened.
    pub fn save(&mut self) -> Result<Vec<u8>, FleetError> {
        let checkpoint = Checkpoint {
            format: FORMAT.into(),
            progress: self.progress.clone(),
            curves: self.curves.clone(),
            step: self.step,
            states: states(self.backend.as_mut())?,
        };
        Ok(postcard::to_stdvec(&checkpoint).expect("plain data"))
    }

    /// Takes up what [`Distilling::save`] left of the same pupils.
    pub fn take_up(&mut self, bytes: &[u8]) -> Result<(), FleetError> {
        let (saved, _): (Checkpoint, _) = read(bytes)?;
        let pupils = self.pupils.len();
        let fits = saved.format == FORMAT
            && saved.progress.len() == pupils
            && saved.curves.len() == pupils;
        if !fits {
            return Err(other_networks());
        }
        restore(self.backend.as_mut(), &saved.states)?;
        self.progress = saved.progress;
        self.curves = saved.curves;
        self.step = saved.step;
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
