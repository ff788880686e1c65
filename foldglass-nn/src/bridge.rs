//! Reads a network back as a table (what the paper suggests in section 5).
//!
//! A network's greedy decoding on all inputs consults cells of a class; in every cell the action it
//! takes most often makes a code. How much of its behaviour that code explains is the fraction of
//! steps at which the network takes its cell's action.

use crate::backend::{Backend, BackendError};
use crate::batch::Batch;
use crate::lesson::{Lesson, LessonError, all_inputs};
use foldglass::class::Class;
use foldglass::count::reward;
use foldglass::exact::Reward;
use foldglass::policy::Code;
use thiserror::Error;

/// A network as a code of a class.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadBack {
    /// The action taken most often in every cell, the least of equals; 0 where none was taken.
    pub code: Code,
    /// Cells that the network consults on some input.
    pub consulted: usize,
    /// Cells among them in which it takes one action only.
    pub decided: usize,
    /// Steps at which it takes its cell's action.
    pub explained: u64,
    /// All steps.
    pub steps: u64,
    /// Inputs that the network answers rightly.
    pub right: u64,
    /// All inputs.
    pub inputs: u64,
    /// The reward of the code.
    pub reward: Reward,
}

impl ReadBack {
    /// The fraction of steps that the code explains.
    pub fn agreement(&self) -> f64 {
        self.explained as f64 / self.steps as f64
    }
}

/// A network that cannot be read back.
#[derive(Debug, Error)]
pub enum BridgeError {
    /// The class.
    #[error(transparent)]
    Lesson(#[from] LessonError),
    /// The back end.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// Reads model number `model` of a back end back as a code, on all inputs of the class's lengths.
/// The back end's `cap` is that of its settings.
pub fn read_back(
    backend: &mut dyn Backend,
    model: usize,
    class: &Class,
    cap: usize,
) -> Result<ReadBack, BridgeError> {
    let square = class.task().square();
    // Only where cells are is needed: any code will do.
    let places = Lesson::new(&Code::from_fn(class, |_| 0))?;
    let q = class.q();
    let mut taken = vec![0u64; class.cells() * q];
    let (mut right, mut inputs, mut steps) = (0, 0, 0);
    for &length in class.task().lengths() {
        let all: Vec<Vec<u8>> = all_inputs(q, length).collect();
        for part in all.chunks(backend.room()) {
            let mut batches = vec![Batch::new(square, &[], cap); backend.models()];
            batches[model] = Batch::new(square, part, cap);
            backend.decode(&mut batches)?;
            let batch = &batches[model];
            for sample in 0..batch.samples() {
                let (x, y) = (batch.x(sample), batch.y(sample));
                for t in 1..=length {
                    taken[places.cell(x, y, t) * q + usize::from(y[t - 1])] += 1;
                }
                right += u64::from(batch.right(sample));
            }
            inputs += part.len() as u64;
            steps += (part.len() * length) as u64;
        }
    }
    let most = |cell: usize| {
        let row = &taken[cell * q..][..q];
        (1..q).fold(0, |best, a| if row[a] > row[best] { a } else { best })
    };
    let code = Code::from_fn(class, |cell| most(cell) as u16);
    let rows = || taken.chunks_exact(q);
    Ok(ReadBack {
        consulted: rows().filter(|row| row.iter().any(|&n| n > 0)).count(),
        decided: rows()
            .filter(|row| row.iter().filter(|&&n| n > 0).count() == 1)
            .count(),
        explained: rows()
            .map(|row| row.iter().max().copied().unwrap_or(0))
            .sum(),
        steps,
        right,
        inputs,
        reward: reward(&code),
        code,
    })
}
