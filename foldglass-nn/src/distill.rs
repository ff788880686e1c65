//! Distils codes into networks (paper, app. G.4, tab:containment).
//!
//! Cross-entropy on the teacher's own emissions, fresh inputs at every step; agreement is the
//! fraction of emitted tokens that match the teacher's on held-out inputs, the network generating
//! from its own emissions.

use crate::backend::{Backend, BackendError, ModelState, Test};
use crate::fleet::{FleetError, MakeBackend};
use crate::layout::Layout;
use crate::lesson::Lesson;
use crate::philox::Purpose;
use crate::settings::{Decoding, Evaluation, Gate, Lengths, ModelSettings, Settings};
use crate::shape::Shape;
use crate::weights::{InitialLaw, Weights};
use foldglass::quasigroup::LatinSquare;
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
        let mut backend = self.start(pupils, make)?;
        let mut progress: Vec<Progress> = (0..pupils.len())
            .map(|pupil| Progress {
                pupil,
                steps: 0,
                loss: 0.0,
                agreement: 0.0,
                done: false,
            })
            .collect();
        let mut step = 0;
        while step < self.steps && progress.iter().any(|p| !p.done) {
            let count = self.every.min(self.steps - step);
            let active: Vec<bool> = progress.iter().map(|p| !p.done).collect();
            let losses = backend.imitate(step, count, &active)?;
            step += count;
            let agreements = agreements(backend.as_mut(), pupils, self.held_out, &active)?;
            for (p, (loss, agreement)) in progress.iter_mut().zip(losses.iter().zip(agreements)) {
                if !p.done {
                    p.steps = step;
                    p.loss = *loss;
                    p.agreement = agreement;
                    p.done = agreement >= self.target;
                }
            }
            if observer(&progress).is_break() {
                break;
            }
        }
        let weights = (0..pupils.len())
            .map(|pupil| {
                Ok(Weights {
                    shape: self.shape,
                    values: backend.state(pupil)?.weights,
                })
            })
            .collect::<Result<_, BackendError>>()?;
        Ok((progress, weights))
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
            if active {
                pupil.lesson.lengths().to_vec()
            } else {
                Vec::new()
            }
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
