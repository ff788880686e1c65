//! Reads a network back as a table (what the paper suggests in section 5).
//!
//! A network's greedy decoding on all inputs consults cells of a class; in every cell the action it
//! takes most often makes a code. How much of its behaviour that code explains is the fraction of
//! steps at which the network takes its cell's action. Inputs count by their probability at their
//! length: under uniform inputs each counts once.

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
    /// The likeliest action in every cell, the least of equals; 0 where none was taken.
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
    /// The fraction of steps that the code explains, inputs by their probability.
    pub agreement: f64,
    /// The probability that the network answers rightly, averaged over the lengths.
    pub network_reward: f64,
    /// The reward of the code.
    pub reward: Reward,
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
    let places = Lesson::places(class)?;
    let q = class.q();
    let mut taken = vec![Taken::default(); class.cells() * q];
    let (mut right, mut inputs, mut steps) = (0, 0, 0);
    let (mut network_reward, mut all_weight) = (0.0, 0.0);
    for &length in class.task().lengths() {
        let all: Vec<Vec<u8>> = all_inputs(q, length).collect();
        for part in all.chunks(backend.room()) {
            let mut batches = vec![Batch::new(square, &[], cap); backend.models()];
            batches[model] = Batch::new(square, part, cap);
            backend.decode(&mut batches)?;
            let batch = &batches[model];
            for sample in 0..batch.samples() {
                let (x, y) = (batch.x(sample), batch.y(sample));
                let weight = weight(class, x);
                for t in 1..=length {
                    let to = &mut taken[places.cell(x, y, t) * q + usize::from(y[t - 1])];
                    to.steps += 1;
                    to.weight += weight;
                }
                if batch.right(sample) {
                    right += 1;
                    network_reward += weight / (q as f64).powi(length as i32);
                }
                all_weight += weight * length as f64;
            }
            inputs += part.len() as u64;
            steps += (part.len() * length) as u64;
        }
    }
    let most = |cell: usize| {
        let row = &taken[cell * q..][..q];
        (1..q).fold(0, |best, a| match row[a].weight > row[best].weight {
            true => a,
            false => best,
        })
    };
    let code = Code::from_fn(class, |cell| most(cell) as u16);
    let actions = |row: &[Taken]| row.iter().filter(|taken| taken.steps > 0).count();
    let counts: Vec<usize> = taken.chunks_exact(q).map(actions).collect();
    let chosen = || (0..class.cells()).map(|cell| &taken[cell * q + most(cell)]);
    Ok(ReadBack {
        consulted: counts.iter().filter(|&&actions| actions > 0).count(),
        decided: counts.iter().filter(|&&actions| actions == 1).count(),
        explained: chosen().map(|taken| taken.steps).sum(),
        agreement: chosen().map(|taken| taken.weight).sum::<f64>() / all_weight,
        network_reward: network_reward / class.task().lengths().len() as f64,
        steps,
        right,
        inputs,
        reward: reward(&code),
        code,
    })
}

/// How often an action was taken in a cell.
#[derive(Clone, Copy, Default)]
struct Taken {
    steps: u64,
    weight: f64,
}

/// The probability of an input over that of a uniform one.
fn weight(class: &Class, x: &[u8]) -> f64 {
    let (inputs, q) = (class.task().inputs(), class.q() as f64);
    let mut before = 0;
    (x.iter().zip(1..))
        .map(|(&x, t)| {
            let own = inputs.weight(t, before, x.into()) as f64;
            before = x.into();
            own * q / inputs.denominator(t) as f64
        })
        .product()
}
