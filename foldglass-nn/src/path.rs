//! Follows one Metropolis chain from a random code to reward 1 (paper, app. G.4, tab:escape).
//!
//! The rollout of every input is kept, and a change of one cell is tried on the inputs that
//! consult it alone: those whose window is the cell's.

use crate::lesson::{Lesson, LessonError, all_inputs};
use foldglass::dynamics::chain::random_code;
use foldglass::model::class::Class;
use foldglass::model::policy::Code;
use foldglass::support::stream::Stream;
use foldglass::support::watch::{Asking, Observer, Progress, Stopped};
use std::ops::Range;
use thiserror::Error;

/// A chain's codes, each but the first different from the one before on a cell that is consulted.
///
/// A chain may pass millions of codes: it is run once to count them, and again for some of them.
#[derive(Debug, Clone)]
pub struct EscapePath {
    class: Class,
    tau: f64,
    seed: u64,
    codes: u64,
}

/// A chain that cannot be run or does not arrive.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChainPathError {
    /// The class.
    #[error(transparent)]
    Lesson(#[from] LessonError),
    /// A tied class, or several lengths.
    #[error("escape paths are followed in untied classes of one length")]
    NotUntied,
    /// Inputs of different probability: a change is judged by how many inputs it loses.
    #[error("escape paths are followed under uniform inputs")]
    NotUniform,
    /// It was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Not enough proposals.
    #[error(
        "the chain of seed {seed} earns {right} of {inputs} inputs after {proposals} proposals"
    )]
    NotThere {
        /// The chain's seed.
        seed: u64,
        /// Inputs answered rightly.
        right: u64,
        /// All inputs.
        inputs: u64,
        /// Proposals made.
        proposals: u64,
    },
}

impl EscapePath {
    /// Runs one Metropolis chain by single cells at temperature `tau` until it has reward 1, for at
    /// most `most` proposals.
    pub fn new(
        class: &Class,
        tau: f64,
        seed: u64,
        most: u64,
        observer: &dyn Observer,
    ) -> Result<EscapePath, ChainPathError> {
        if class.shape().tied || class.task().lengths().len() != 1 {
            return Err(ChainPathError::NotUntied);
        }
        if !class.task().inputs().is_uniform() {
            return Err(ChainPathError::NotUniform);
        }
        let mut walk = Walk::new(class, tau, seed)?;
        let question = || observer.report(proposals(most));
        let mut asking = Asking::new(&question);
        for _ in 0..most {
            asking.go_on()?;
            if walk.arrived() {
                break;
            }
            walk.propose();
        }
        if !walk.arrived() {
            return Err(ChainPathError::NotThere {
                seed,
                right: walk.rollouts.right,
                inputs: walk.rollouts.targets.len() as u64,
                proposals: most,
            });
        }
        Ok(EscapePath {
            class: class.clone(),
            tau,
            seed,
            codes: walk.codes,
        })
    }

    /// The number of codes.
    pub fn codes(&self) -> u64 {
        self.codes
    }

    /// The codes of several ranges, in order; the chain is run again, to the last of them.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn stretches(
        &self,
        ranges: &[Range<u64>],
        observer: &dyn Observer,
    ) -> Result<Vec<Vec<Code>>, Stopped> {
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        assert!(end <= self.codes, "code {end} of {}", self.codes);
        let mut walk = Walk::new(&self.class, self.tau, self.seed).expect("it was run before");
        let mut stretches = vec![Vec::new(); ranges.len()];
        let mut written = 0;
        let question = || observer.report(proposals(self.codes));
        let mut asking = Asking::new(&question);
        while written < end {
            asking.go_on()?;
            if walk.codes > written {
                for (range, stretch) in ranges.iter().zip(&mut stretches) {
                    if range.contains(&written) {
                        let actions = walk.rollouts.lesson.actions();
                        stretch.push(Code::from_fn(&self.class, |cell| actions[cell].into()));
                    }
                }
                written += 1;
            } else {
                walk.propose();
            }
        }
        Ok(stretches)
    }

    /// The first, the middle and the last stretch of `length` consecutive codes; none if the path
    /// is shorter.
    pub fn three_stretches(
        &self,
        length: u64,
        observer: &dyn Observer,
    ) -> Result<Option<Vec<Vec<Code>>>, Stopped> {
        let Some(last) = self.codes.checked_sub(length) else {
            return Ok(None);
        };
        let ranges = [0, last / 2, last].map(|start| start..start + length);
        self.stretches(&ranges, observer).map(Some)
    }
}

fn proposals(most: u64) -> Progress<'static> {
    Progress {
        unit: "changes of a chain",
        done: 0,
        all: Some(most),
        share: None,
    }
}

/// A chain on its way.
struct Walk {
    class: Class,
    stream: Stream,
    /// The chance that a change is accepted which loses so many inputs.
    chances: Vec<f64>,
    rollouts: Rollouts,
    trial: Trial,
    codes: u64,
}

impl Walk {
    fn new(class: &Class, tau: f64, seed: u64) -> Result<Walk, LessonError> {
        let mut stream = Stream::new(seed, 0);
        let rollouts = Rollouts::new(&random_code(class, &mut stream))?;
        let inputs = rollouts.targets.len();
        let chance = |lost: usize| (-(lost as f64) / inputs as f64 / tau).exp();
        Ok(Walk {
            class: class.clone(),
            stream,
            chances: (0..=inputs).map(chance).collect(),
            rollouts,
            trial: Trial::default(),
            codes: 1,
        })
    }

    fn arrived(&self) -> bool {
        self.rollouts.right == self.rollouts.targets.len() as u64
    }

    fn propose(&mut self) {
        let cell = self.stream.below(self.class.cells() as u32) as usize;
        let action = self.stream.below(self.class.q() as u32) as u8;
        if self.rollouts.lesson.actions()[cell] == action {
            return;
        }
        let step = self.class.group_of(cell).t.expect("an untied class");
        self.rollouts.try_on(cell, action, step, &mut self.trial);
        let lost = self.trial.right_before.saturating_sub(self.trial.right);
        if lost > 0 && self.stream.uniform() >= self.chances[lost as usize] {
            return;
        }
        self.rollouts.accept(cell, action, &self.trial);
        self.codes += u64::from(!self.trial.inputs.is_empty());
    }
}

/// What every input's rollout under a code is.
struct Rollouts {
    lesson: Lesson,
    length: usize,
    /// The symbols of every input, one input behind the other.
    symbols: Vec<u8>,
    targets: Vec<u8>,
    /// The tokens of every input, one input behind the other.
    tokens: Vec<u8>,
    right: u64,
}

/// What a change of one cell does to the inputs that consult it.
#[derive(Default)]
struct Trial {
    inputs: Vec<usize>,
    /// All their tokens, one input behind the other.
    tokens: Vec<u8>,
    right_before: u64,
    right: u64,
}

impl Rollouts {
    fn new(code: &Code) -> Result<Rollouts, LessonError> {
        let lesson = Lesson::new(code)?;
        let task = code.class().task();
        let length = lesson.lengths()[0];
        let symbols: Vec<u8> = all_inputs(lesson.q(), length).flatten().collect();
        let fold = |x: &[u8]| {
            let rest = x[1..].iter();
            rest.fold(u16::from(x[0]), |s, &x| task.square().multiply(s, x.into())) as u8
        };
        let targets: Vec<u8> = symbols.chunks_exact(length).map(fold).collect();
        let mut tokens = vec![0; symbols.len()];
        let inputs = symbols.chunks_exact(length);
        for (x, y) in inputs.zip(tokens.chunks_exact_mut(length)) {
            lesson.emit(x, y);
        }
        let answers = tokens.chunks_exact(length).map(|y| y[length - 1]);
        let right = answers.zip(&targets).filter(|(y, target)| y == *target);
        Ok(Rollouts {
            right: right.count() as u64,
            lesson,
            length,
            symbols,
            targets,
            tokens,
        })
    }

    /// Tries another action in a cell. The inputs that can consult it have its window; as base-q
    /// numbers they are any number before the window, the window, and any number after it.
    fn try_on(&self, cell: usize, action: u8, step: usize, trial: &mut Trial) {
        let place = self.lesson.steps(0)[step - 1];
        let (q, n) = (self.lesson.q(), self.length);
        let windows = q.pow((place.before + 1 + place.after) as u32);
        let before = q.pow((step - 1 - place.before) as u32);
        let after = q.pow((n - step - place.after) as u32);
        let inner = cell - place.first;
        let (window, history) = (inner / place.histories, inner % place.histories);
        let remembered = self.lesson.steps(0)[n - 1].tokens;
        trial.inputs.clear();
        trial.tokens.clear();
        (trial.right_before, trial.right) = (0, 0);
        let number = |part: &[u8]| part.iter().fold(0, |n, &d| n * q + usize::from(d));
        for input in (0..before).flat_map(|b| {
            let first = (b * windows + window) * after;
            first..first + after
        }) {
            let now = &self.tokens[input * n..][..n];
            if number(&now[step - 1 - place.tokens..step - 1]) != history {
                continue;
            }
            let x = &self.symbols[input * n..][..n];
            let start = trial.tokens.len();
            trial.tokens.extend_from_slice(now);
            let y = &mut trial.tokens[start..];
            y[step - 1] = action;
            for t in step + 1..=n {
                let token = self.lesson.actions()[self.lesson.cell(x, y, t)];
                // Where one token is remembered, the rest of the rollout is as it was.
                if token == y[t - 1] && remembered <= 1 {
                    break;
                }
                y[t - 1] = token;
            }
            trial.right_before += u64::from(now[n - 1] == self.targets[input]);
            trial.right += u64::from(y[n - 1] == self.targets[input]);
            trial.inputs.push(input);
        }
    }

    fn accept(&mut self, cell: usize, action: u8, trial: &Trial) {
        self.lesson.set(cell, action);
        let n = self.length;
        for (&input, tokens) in trial.inputs.iter().zip(trial.tokens.chunks_exact(n)) {
            self.tokens[input * n..][..n].copy_from_slice(tokens);
        }
        self.right = self.right + trial.right - trial.right_before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::model::class::{ClassSpec, Shape};
    use foldglass::model::operation::Operation;
    use foldglass::reward::count::reward;
    use foldglass::support::watch::Unwatched;

    fn class(square: Operation, length: usize, shape: Shape) -> Class {
        let spec = ClassSpec::uniform(square, &[length], shape);
        spec.lay_out().unwrap()
    }

    fn with_memory(memory: usize) -> Shape {
        Shape {
            memory,
            ..Shape::untied(0, 0)
        }
    }

    fn all(path: &EscapePath) -> Vec<Code> {
        let whole = std::slice::from_ref(&(0..path.codes())).to_vec();
        path.stretches(&whole, &Unwatched).unwrap().remove(0)
    }

    /// Whether some input makes the code consult a cell, by all rollouts.
    fn consulted(code: &Code, cell: usize) -> bool {
        let lesson = Lesson::new(code).unwrap();
        let length = lesson.lengths()[0];
        all_inputs(lesson.q(), length).any(|x| {
            let mut y = vec![0; length];
            lesson.emit(&x, &mut y);
            (1..=length).any(|t| lesson.cell(&x, &y, t) == cell)
        })
    }

    #[test]
    fn a_path_rises_to_reward_1_by_changes_of_consulted_cells() {
        for (square, length, shape) in [
            (Operation::cyclic(2).unwrap(), 4, Shape::untied(1, 1)),
            (Operation::cyclic(3).unwrap(), 3, Shape::untied(0, 1)),
            (Operation::cyclic(2).unwrap(), 4, with_memory(2)),
        ] {
            let class = class(square, length, shape);
            let path = EscapePath::new(&class, 1e-6, 3, 1_000_000, &Unwatched).unwrap();
            let codes = all(&path);
            assert_eq!(codes.len() as u64, path.codes());
            let rewards: Vec<f64> = codes.iter().map(|code| reward(code).to_f64()).collect();
            assert!(rewards.is_sorted() && reward(&codes[codes.len() - 1]).is_one());
            for pair in codes.windows(2) {
                let changed = (0..class.cells())
                    .filter(|&c| pair[0].action(c) != pair[1].action(c))
                    .filter(|&c| consulted(&pair[0], c));
                assert_eq!(changed.count(), 1, "one consulted cell differs");
            }
            let parts = path.three_stretches(3, &Unwatched).unwrap().unwrap();
            let last = codes.len() - 3;
            for (part, start) in parts.iter().zip([0, last / 2, last]) {
                assert_eq!(part[..], codes[start..start + 3]);
            }
            assert_eq!(path.three_stretches(path.codes() + 1, &Unwatched), Ok(None));
        }
    }

    #[test]
    fn a_warm_chain_may_fall_and_what_cannot_be_followed_is_refused() {
        let square = Operation::cyclic(2).unwrap();
        let untied = class(square.clone(), 3, Shape::untied(0, 0));
        let warm = EscapePath::new(&untied, 10.0, 1, 1_000_000, &Unwatched).unwrap();
        let rewards: Vec<f64> = all(&warm)
            .iter()
            .map(|code| reward(code).to_f64())
            .collect();
        assert!(!rewards.is_sorted(), "{rewards:?}");
        let tied = class(square, 3, Shape::tied(0, 0));
        let refused = EscapePath::new(&tied, 1.0, 1, 10, &Unwatched).unwrap_err();
        assert_eq!(refused, ChainPathError::NotUntied);
        let late = EscapePath::new(&untied, 1e-6, 1, 0, &Unwatched).unwrap_err();
        assert!(late.to_string().contains("after 0 proposals"), "{late}");
    }
}
