//! Measures barriers on straight lines between networks (paper, app. G.4, tab:escape).
//!
//! A Monte Carlo path of codes is followed by networks, each fine-tuned from its neighbour until its
//! greedy decoding reproduces its code on every input. Along the line between two neighbours the
//! greedy reward is counted on every input; the barrier is what it falls below the lower end, in
//! whole quanta of q^-T.

use crate::backend::{Backend, BackendError, ModelState};
use crate::batch::Batch;
use crate::distill::{Distillation, Pupil};
use crate::fleet::{FleetError, MakeBackend};
use crate::lesson::{Lesson, all_inputs};
use crate::session::{Course, Session, other_networks};
use crate::settings::ModelSettings;
use foldglass::model::operation::Operation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Networks along stretches of codes.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Trail {
    /// For every stretch, the weights of its networks so far.
    pub weights: Vec<Vec<Vec<f32>>>,
    /// For every stretch, the updates that each network took.
    pub steps: Vec<Vec<u64>>,
}

impl Trail {
    /// Networks that are exact so far.
    pub fn networks(&self) -> usize {
        self.weights.iter().map(Vec::len).sum()
    }
}

/// Follows stretches of lessons, all at once: a network for every lesson, fine-tuned from the one
/// before, exact on every input before it is kept. Exactness is asked every `every` updates of the
/// distillation. What is not exact after its most steps ends the run, with the trail so far.
pub type Following = Session<Route>;

/// Imitation of consecutive codes, looked at whenever exactness is asked.
pub struct Route {
    distillation: Distillation,
    square: Operation,
    stretches: Vec<Vec<Lesson>>,
    trail: Trail,
    /// Updates since the last network of each stretch was kept.
    spent: Vec<u64>,
}

impl Following {
    /// Draws the first weights of a network for every stretch.
    pub fn new(
        distillation: Distillation,
        square: &Operation,
        stretches: Vec<Vec<Lesson>>,
        seed: u64,
        make: MakeBackend,
    ) -> Result<Following, FleetError> {
        let pupils: Vec<Pupil> = (stretches.iter().zip(0..))
            .map(|(lessons, number)| Pupil {
                lesson: lessons[0].clone(),
                square: square.clone(),
                seed: seed.wrapping_add(number),
            })
            .collect();
        let backend = distillation.start(&pupils, make)?;
        let course = Route {
            distillation,
            square: square.clone(),
            trail: Trail {
                weights: vec![Vec::new(); stretches.len()],
                steps: vec![Vec::new(); stretches.len()],
            },
            spent: vec![0; stretches.len()],
            stretches,
        };
        Ok(Session::begin(course, backend))
    }

    /// The networks so far.
    pub fn trail(&self) -> &Trail {
        &self.course.trail
    }

    /// Whether every lesson has its network, or one took too long.
    pub fn is_finished(&self) -> bool {
        let (open, course) = (self.course.open(), &self.course);
        let most = course.distillation.steps;
        let late = (course.spent.iter().zip(&open)).any(|(&spent, open)| *open && spent >= most);
        late || !open.contains(&true)
    }
}

impl Route {
    /// Which stretches have lessons left.
    fn open(&self) -> Vec<bool> {
        (self.trail.weights.iter().zip(&self.stretches))
            .map(|(kept, lessons)| kept.len() < lessons.len())
            .collect()
    }

    /// The lesson that each stretch is at.
    fn current(&self) -> Vec<Lesson> {
        (self.trail.weights.iter().zip(&self.stretches))
            .map(|(kept, lessons)| lessons[kept.len().min(lessons.len() - 1)].clone())
            .collect()
    }
}

impl Course for Route {
    const FORMAT: &'static str = "foldglass-following/2";
    type Saved = (Trail, Vec<u64>);
    type Trained = ();
    type News = ();

    fn next_look(&self, step: u64) -> u64 {
        let every = self.distillation.every;
        (step / every + 1) * every
    }

    fn train(
        &mut self,
        backend: &mut dyn Backend,
        step: u64,
        count: u64,
    ) -> Result<(), BackendError> {
        backend.imitate(step, count, &self.open()).map(drop)
    }

    /// Keeps the networks that are exact.
    fn look(&mut self, backend: &mut dyn Backend, _: u64, (): ()) -> Result<(), FleetError> {
        let open = self.open();
        let exact = exact(backend, &self.square, &self.current(), &open)?;
        for (number, &exact) in exact.iter().enumerate() {
            self.spent[number] += self.distillation.every;
            if open[number] && exact {
                let weights = backend.state(number)?.weights;
                self.trail.weights[number].push(weights);
                self.trail.steps[number].push(self.spent[number]);
                self.spent[number] = 0;
            }
        }
        if exact.contains(&true) {
            backend.teach(&self.current())?;
        }
        Ok(())
    }

    fn saved(&self) -> Self::Saved {
        (self.trail.clone(), self.spent.clone())
    }

    fn resume(
        &mut self,
        backend: &mut dyn Backend,
        _: u64,
        (trail, spent): Self::Saved,
    ) -> Result<(), FleetError> {
        let parameters = self.distillation.shape.parameters();
        let kept = trail.weights.iter().zip(&trail.steps);
        let mut kept = kept.zip(&self.stretches);
        let stretches = self.stretches.len();
        let fits = trail.weights.len() == stretches
            && spent.len() == stretches
            && kept.all(|((weights, steps), lessons)| {
                weights.len() == steps.len()
                    && weights.len() <= lessons.len()
                    && weights.iter().all(|list| list.len() == parameters)
            });
        if !fits {
            return Err(other_networks());
        }
        (self.trail, self.spent) = (trail, spent);
        Ok(backend.teach(&self.current())?)
    }
}

/// Whether each network's greedy decoding is its lesson on every input.
fn exact(
    backend: &mut dyn Backend,
    square: &Operation,
    lessons: &[Lesson],
    wanted: &[bool],
) -> Result<Vec<bool>, BackendError> {
    let mut exact = wanted.to_vec();
    let cap = lessons
        .iter()
        .flat_map(|l| l.lengths())
        .copied()
        .max()
        .unwrap_or(1);
    for length in 1..=cap {
        let inputs: Vec<Vec<u8>> = all_inputs(square.q(), length).collect();
        let has = |lesson: &Lesson| lesson.lengths().contains(&length);
        if !lessons.iter().any(has) {
            continue;
        }
        for inputs in inputs.chunks(backend.room()) {
            let whole = Batch::new(square, inputs, cap);
            let none = Batch::new(square, &[], cap);
            let mut batches: Vec<Batch> = (lessons.iter().zip(&exact))
                .map(|(lesson, &still)| if still && has(lesson) { &whole } else { &none })
                .cloned()
                .collect();
            backend.decode(&mut batches)?;
            let mut y = vec![0; length];
            for ((batch, lesson), exact) in batches.iter().zip(lessons).zip(&mut exact) {
                *exact &= (0..batch.samples()).all(|sample| {
                    lesson.emit(batch.x(sample), &mut y);
                    batch.y(sample) == y
                });
            }
        }
    }
    Ok(exact)
}

/// The reward along a straight line between two networks.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LineReward {
    /// The inputs answered rightly at every point, both ends included, of q^T.
    pub right: Vec<u64>,
    /// What the line falls below its lower end.
    pub barrier: u64,
}

impl LineReward {
    /// The line of given counts.
    pub fn new(right: Vec<u64>) -> LineReward {
        let ends = right.first().copied().min(right.last().copied());
        let least = right.iter().copied().min();
        let barrier = match (ends, least) {
            (Some(end), Some(least)) => end - least,
            _ => 0,
        };
        LineReward { right, barrier }
    }
}

/// Counts the greedy reward at evenly spaced points of straight lines between neighbours of a
/// trail, on every input of one length. A back end has a model for every point.
pub struct LineScan {
    backend: Box<dyn Backend>,
    square: Operation,
    length: usize,
    points: usize,
}

impl LineScan {
    /// Lines of so many points, at least 2, ends included.
    pub fn new(
        distillation: &Distillation,
        square: &Operation,
        length: usize,
        points: usize,
        make: MakeBackend,
    ) -> Result<LineScan, FleetError> {
        assert!(points >= 2, "a line has two ends");
        let settings = distillation.settings(length);
        let model = ModelSettings {
            seed: 0,
            square: square.clone(),
            entropy: 0.0,
            learning_rate: distillation.learning_rate,
        };
        let models = vec![model; points];
        settings.check(&models)?;
        Ok(LineScan {
            backend: make(&settings, &models)?,
            square: square.clone(),
            length,
            points,
        })
    }

    /// The line between two networks. A back end that is told to stop fails.
    pub fn line(&mut self, from: &[f32], to: &[f32]) -> Result<LineReward, FleetError> {
        for point in 0..self.points {
            let share = point as f32 / (self.points - 1) as f32;
            let weights = (from.iter().zip(to))
                .map(|(a, b)| a + share * (b - a))
                .collect();
            self.backend.restore(point, &ModelState::new(weights))?;
        }
        let inputs: Vec<Vec<u8>> = all_inputs(self.square.q(), self.length).collect();
        let mut right = vec![0; self.points];
        for inputs in inputs.chunks(self.backend.room()) {
            let mut batches = vec![Batch::new(&self.square, inputs, self.length); self.points];
            self.backend.decode(&mut batches)?;
            for (right, batch) in right.iter_mut().zip(&batches) {
                *right += (0..batch.samples()).filter(|&s| batch.right(s)).count() as u64;
            }
        }
        Ok(LineReward::new(right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_is_what_a_line_falls_below_its_lower_end() {
        assert_eq!(LineReward::new(vec![5, 7, 3, 9]).barrier, 2);
        assert_eq!(LineReward::new(vec![5, 7, 6, 9]).barrier, 0);
        assert_eq!(LineReward::new(vec![9, 4, 6, 8]).barrier, 4);
    }
}
