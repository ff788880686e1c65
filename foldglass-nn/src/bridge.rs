//! Reads a network back as a table (what the paper suggests in section 5).
//!
//! A network's greedy decoding on all inputs consults cells of a class; in every cell the action it
//! most probably takes there makes a code. How much of its behaviour that code explains is the share of
//! steps at which the network takes its cell's action. Inputs weigh as the class's law has it, and lengths
//! alike, so that network and code are measured as J is.

use crate::backend::{Backend, BackendError};
use crate::batch::Batch;
use crate::lesson::{Lesson, LessonError, all_inputs};
use foldglass::model::class::Class;
use foldglass::model::policy::Code;
use foldglass::model::task::Task;
use foldglass::reward::count::reward;
use foldglass::support::exact::Reward;
use foldglass::support::exact::UBig;
use thiserror::Error;

/// A network as a code of a class.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadBack {
    /// The action of the greatest weight in every cell, the least of equals; 0 where none was taken.
    pub code: Code,
    /// Cells that the network consults on some input that occurs.
    pub consulted: usize,
    /// Cells among them in which it takes one action only.
    pub decided: usize,
    /// The expected number of steps at which it takes its cell's action, over that of all steps.
    pub agreement: Reward,
    /// J of the network: the probability of a right answer.
    pub network_reward: Reward,
    /// Inputs that occur.
    pub inputs: u64,
    /// The reward of the code.
    pub reward: Reward,
}

/// A network that cannot be read back.
#[derive(Debug, Error)]
#[non_exhaustive]
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
    let task = class.task();
    let square = task.square();
    // Only where cells are is needed: any code will do.
    let places = Lesson::new(&Code::from_fn(class, |_| 0))?;
    let q = class.q();
    let mut taken = vec![UBig::ZERO; class.cells() * q];
    let (mut right, mut steps, mut inputs) = (UBig::ZERO, UBig::ZERO, 0);
    for &length in task.lengths() {
        let occurring = |x: &Vec<u8>| weight(task, x) > UBig::ZERO;
        let all: Vec<Vec<u8>> = all_inputs(q, length).filter(occurring).collect();
        for part in all.chunks(backend.room()) {
            let mut batches = vec![Batch::new(square, &[], cap); backend.models()];
            batches[model] = Batch::new(square, part, cap);
            backend.decode(&mut batches)?;
            let batch = &batches[model];
            for sample in 0..batch.samples() {
                let (x, y) = (batch.x(sample), batch.y(sample));
                let weight = weight(task, x);
                for t in 1..=length {
                    taken[places.cell(x, y, t) * q + usize::from(y[t - 1])] += &weight;
                    steps += &weight;
                }
                if batch.right(sample) {
                    right += weight;
                }
            }
            inputs += part.len() as u64;
        }
    }
    let most = |cell: usize| {
        let row = &taken[cell * q..][..q];
        (1..q).fold(0, |best, a| if row[a] > row[best] { a } else { best })
    };
    let code = Code::from_fn(class, |cell| most(cell) as u16);
    let rows = || taken.chunks_exact(q);
    let actions = |row: &[UBig]| row.iter().filter(|&weight| *weight > UBig::ZERO).count();
    let explained: UBig = rows().filter_map(|row| row.iter().max()).sum();
    Ok(ReadBack {
        consulted: rows().filter(|row| actions(row) > 0).count(),
        decided: rows().filter(|row| actions(row) == 1).count(),
        agreement: Reward::new(explained, steps),
        network_reward: Reward::new(right, task.denominator()),
        inputs,
        reward: reward(&code),
        code,
    })
}

fn weight(task: &Task, x: &[u8]) -> UBig {
    let wide: Vec<u16> = x.iter().map(|&symbol| symbol.into()).collect();
    task.weight(&wide)
}
