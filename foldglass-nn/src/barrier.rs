//! Measures barriers on straight lines between networks (paper, app. G.4, tab:escape).
//!
//! A Monte Carlo path of codes is followed by networks, each fine-tuned from its neighbour until its
//! greedy decoding reproduces its code on every input. Along the line between two neighbours the
//! greedy reward is counted on every input; the barrier is what it falls below the lower end, in
//! whole quanta of q^-T.

use crate::backend::{Backend, ModelState};
use crate::batch::Batch;
use crate::distill::{Distillation, Pupil};
use crate::fleet::{FleetError, MakeBackend};
use crate::lesson::{Lesson, all_inputs};
use crate::settings::ModelSettings;
use foldglass::quasigroup::LatinSquare;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Networks along stretches of codes.
#[derive(Debug, Clone)]
pub struct Trail {
    /// For every stretch, the weights of its networks so far.
    pub weights: Vec<Vec<Vec<f32>>>,
    /// For every stretch, the updates that each network took.
    pub steps: Vec<Vec<u64>>,
}

/// Follows stretches of lessons, all at once: a network for every lesson, fine-tuned from the one
/// before, exact on every input before it is kept. Exactness is asked every `every` updates, and
/// then the observer gets the trail and may stop the run. What is not exact after the distillation's
/// most steps ends the run, with the trail so far.
pub fn follow(
    distillation: &Distillation,
    square: &LatinSquare,
    stretches: &[Vec<Lesson>],
    seed: u64,
    make: MakeBackend,
    mut observer: impl FnMut(&Trail) -> ControlFlow<()>,
) -> Result<Trail, FleetError> {
    let pupils: Vec<Pupil> = (stretches.iter().enumerate())
        .map(|(number, lessons)| Pupil {
            lesson: lessons[0].clone(),
            square: square.clone(),
            seed: seed + number as u64,
        })
        .collect();
    let mut backend = distillation.start(&pupils, make)?;
    let mut trail = Trail {
        weights: vec![Vec::new(); stretches.len()],
        steps: vec![Vec::new(); stretches.len()],
    };
    let mut spent = vec![0; stretches.len()];
    let mut step = 0;
    loop {
        let open: Vec<bool> = (trail.weights.iter().zip(stretches))
            .map(|(kept, lessons)| kept.len() < lessons.len())
            .collect();
        let late = (spent.iter().zip(&open)).any(|(&n, open)| *open && n >= distillation.steps);
        if late || !open.contains(&true) {
            return Ok(trail);
        }
        backend.imitate(step, distillation.every, &open)?;
        step += distillation.every;
        let current: Vec<Lesson> = (trail.weights.iter().zip(stretches))
            .map(|(kept, lessons)| lessons[kept.len().min(lessons.len() - 1)].clone())
            .collect();
        let exact = exact(backend.as_mut(), square, &current, &open)?;
        let mut kept_one = false;
        for (number, &exact) in exact.iter().enumerate() {
            spent[number] += distillation.every;
            if open[number] && exact {
                trail.weights[number].push(backend.state(number)?.weights);
                trail.steps[number].push(spent[number]);
                spent[number] = 0;
                kept_one = true;
            }
        }
        if kept_one {
            let next: Vec<Lesson> = (trail.weights.iter().zip(stretches))
                .map(|(kept, lessons)| lessons[kept.len().min(lessons.len() - 1)].clone())
                .collect();
            backend.teach(&next)?;
        }
        if observer(&trail).is_break() {
            return Ok(trail);
        }
    }
}

/// Whether each network's greedy decoding is its lesson on every input.
fn exact(
    backend: &mut dyn Backend,
    square: &LatinSquare,
    lessons: &[Lesson],
    wanted: &[bool],
) -> Result<Vec<bool>, FleetError> {
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

    /// The line between two networks.
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
