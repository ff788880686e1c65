//! Measures barriers on straight lines between networks (paper, app. G.4, tab:escape).
//!
//! A Monte Carlo path of codes is followed by networks, each fine-tuned from its neighbour until its
//! greedy decoding reproduces its code on every input. Along the line between two neighbours the
//! greedy reward is counted on every input; the barrier is what it falls below the lower end, in
//! whole quanta of q^-T.

use crate::backend::{Backend, BackendError, ModelState, unless_stopped};
use crate::batch::Batch;
use crate::checkpoint::{other_networks, read, restore, states};
use crate::distill::{Distillation, Pupil};
use crate::fleet::{FleetError, MakeBackend, Piece};
use crate::lesson::{Lesson, all_inputs};
use crate::settings::ModelSettings;
use foldglass::model::quasigroup::LatinSquare;
use serde::{Deserialize, Serialize};

/// Networks along stretches of codes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
pub struct Following {
    distillation: Distillation,
    square: LatinSquare,
    stretches: Vec<Vec<Lesson>>,
    backend: Box<dyn Backend>,
    trail: Trail,
    /// Updates since the last network of each stretch was kept.
    spent: Vec<u64>,
    step: u64,
}

#[derive(Serialize, Deserialize)]
struct Checkpoint {
    format: String,
    trail: Trail,
    spent: Vec<u64>,
    step: u64,
    states: Vec<ModelState>,
}

const FORMAT: &str = "foldglass-following/1";

impl Following {
    /// Draws the first weights of a network for every stretch.
    pub fn new(
        distillation: Distillation,
        square: &LatinSquare,
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
        Ok(Following {
            backend: distillation.start(&pupils, make)?,
            distillation,
            square: square.clone(),
            trail: Trail {
                weights: vec![Vec::new(); stretches.len()],
                steps: vec![Vec::new(); stretches.len()],
            },
            spent: vec![0; stretches.len()],
            stretches,
            step: 0,
        })
    }

    /// The networks so far.
    pub fn trail(&self) -> &Trail {
        &self.trail
    }

    /// Updates made so far.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Whether every lesson has its network, or one took too long.
    pub fn is_finished(&self) -> bool {
        let open = self.open();
        let most = self.distillation.steps;
        let late = (self.spent.iter().zip(&open)).any(|(&spent, open)| *open && spent >= most);
        late || !open.contains(&true)
    }

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

    /// Goes on until exactness is asked again, in pieces as long as `next_piece` says before each;
    /// false when that stops it, or the back end was told to stop: then the last piece is not done.
    /// Neither shows in what is learned.
    pub fn advance_in_pieces(
        &mut self,
        mut next_piece: impl FnMut() -> Piece,
    ) -> Result<bool, FleetError> {
        let every = self.distillation.every;
        let end = (self.step / every + 1) * every;
        let open = self.open();
        let mut before = self.step;
        while self.step < end {
            let Piece::Steps(most) = next_piece() else {
                return Ok(false);
            };
            let count = most.clamp(1, end - self.step);
            let learned = self.backend.imitate(self.step, count, &open);
            if unless_stopped(learned)?.is_none() {
                return Ok(false);
            }
            before = self.step;
            self.step += count;
        }
        let current = self.current();
        let exact = exact(self.backend.as_mut(), &self.square, &current, &open);
        let Some(exact) = unless_stopped(exact)? else {
            self.backend.take_back();
            self.step = before;
            return Ok(false);
        };
        for (number, &exact) in exact.iter().enumerate() {
            self.spent[number] += every;
            if open[number] && exact {
                let weights = self.backend.state(number)?.weights;
                self.trail.weights[number].push(weights);
                self.trail.steps[number].push(self.spent[number]);
                self.spent[number] = 0;
            }
        }
        if exact.contains(&true) {
            self.backend.teach(&self.current())?;
        }
        Ok(true)
    }

    /// Writes everything that a later run needs to go on as if nothing had happened.
    pub fn save(&mut self) -> Result<Vec<u8>, FleetError> {
        let checkpoint = Checkpoint {
            format: FORMAT.into(),
            trail: self.trail.clone(),
            spent: self.spent.clone(),
            step: self.step,
            states: states(self.backend.as_mut())?,
        };
        Ok(postcard::to_stdvec(&checkpoint).expect("plain data"))
    }

    /// Takes up what [`Following::save`] left of the same stretches.
    pub fn take_up(&mut self, bytes: &[u8]) -> Result<(), FleetError> {
        let (saved, _): (Checkpoint, _) = read(bytes)?;
        let parameters = self.distillation.shape.parameters();
        let kept = saved.trail.weights.iter().zip(&saved.trail.steps);
        let mut kept = kept.zip(&self.stretches);
        let stretches = self.stretches.len();
        let fits = saved.format == FORMAT
            && saved.trail.weights.len() == stretches
            && saved.spent.len() == stretches
            && kept.all(|((weights, steps), lessons)| {
                weights.len() == steps.len()
                    && weights.len() <= lessons.len()
                    && weights.iter().all(|list| list.len() == parameters)
            });
        if !fits {
            return Err(other_networks());
        }
        restore(self.backend.as_mut(), &saved.states)?;
        self.trail = saved.trail;
        self.spent = saved.spent;
        self.step = saved.step;
        Ok(self.backend.teach(&self.current())?)
    }
}

/// Whether each network's greedy decoding is its lesson on every input.
fn exact(
    backend: &mut dyn Backend,
    square: &LatinSquare,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The inputs answered rightly at every point, both ends included, of q^T.
    pub right: Vec<u64>,
    /// What the line falls below its lower end.
    pub barrier: u64,
}

impl Line {
    /// The line of given counts.
    pub fn new(right: Vec<u64>) -> Line {
        let ends = right.first().copied().min(right.last().copied());
        let least = right.iter().copied().min();
        let barrier = match (ends, least) {
            (Some(end), Some(least)) => end - least,
            _ => 0,
        };
        Line { right, barrier }
    }
}

/// Counts the greedy reward at evenly spaced points of straight lines between neighbours of a
/// trail, on every input of one length. A back end has a model for every point.
pub struct Lines {
    backend: Box<dyn Backend>,
    square: LatinSquare,
    length: usize,
    points: usize,
}

impl Lines {
    /// Lines of so many points, at least 2, ends included.
    pub fn new(
        distillation: &Distillation,
        square: &LatinSquare,
        length: usize,
        points: usize,
        make: MakeBackend,
    ) -> Result<Lines, FleetError> {
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
        Ok(Lines {
            backend: make(&settings, &models)?,
            square: square.clone(),
            length,
            points,
        })
    }

    /// The line between two networks. A back end that is told to stop fails.
    pub fn line(&mut self, from: &[f32], to: &[f32]) -> Result<Line, FleetError> {
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
        Ok(Line::new(right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_is_what_a_line_falls_below_its_lower_end() {
        assert_eq!(Line::new(vec![5, 7, 3, 9]).barrier, 2);
        assert_eq!(Line::new(vec![5, 7, 6, 9]).barrier, 0);
        assert_eq!(Line::new(vec![9, 4, 6, 8]).barrier, 4);
    }
}
