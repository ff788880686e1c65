//! Chooses how sums over all inputs are computed: by replica passes, by the tree of inputs, or from drawn inputs.
//!
//! Replica passes are linear in T and take a factor of about q for each replica; the tree takes every input and no factor
//! for the degree of what is summed. The one with fewer multiplications is taken. Where both would take more than
//! 4 10^9 of them, or more memory than allowed, inputs are drawn; what an input contributes is still exact.

use super::per_input::{self, SingleInput};
use super::replicas::Replicas;
use crate::model::class::Class;
use crate::model::policy::Policy;
use crate::support::context::{Context, ONE_THREAD};
use crate::support::stream::Stream;
use crate::support::watch::{Stopped, Tally};
use rayon::prelude::*;

/// How sums over inputs were computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummedBy {
    /// One evaluation of the policy: no sum over single inputs was needed.
    Evaluation,
    /// Passes over several rollouts on one input.
    Replicas,
    /// The tree of all inputs.
    Tree,
    /// All inputs one by one.
    Inputs,
    /// Inputs drawn from their law; what each contributes is exact.
    Sampled,
}

crate::named_enum!(SummedBy {
    "evaluation" => Evaluation,
    "replicas" => Replicas,
    "tree" => Tree,
    "inputs" => Inputs,
    "sampled" => Sampled,
});

/// The most inputs that are taken one by one.
pub const MOST_INPUTS: u64 = 10_000_000;

/// The most multiplications of an exact sum.
const MOST_OPERATIONS: f64 = 4e9;

/// The cheaper of these passes and the tree with this number of tables, with or without squares; sampled where both are beyond
/// reach.
pub(crate) fn choose(
    class: &Class,
    passes: Option<&[Replicas]>,
    (tables, squares): (usize, bool),
    context: Context<'_>,
) -> SummedBy {
    let by_replicas = passes.map_or(f64::INFINITY, |passes| replica_cost(class, passes, context));
    let few = per_input::inputs(class).is_some_and(|inputs| inputs <= MOST_INPUTS);
    let by_tree = match few {
        true => per_input::operations(class, tables, squares),
        false => f64::INFINITY,
    };
    match by_replicas.min(by_tree) {
        least if least > MOST_OPERATIONS => SummedBy::Sampled,
        _ if by_replicas < by_tree => SummedBy::Replicas,
        _ => SummedBy::Tree,
    }
}

/// The multiplications of these passes; infinite where one needs more memory than allowed.
fn replica_cost(class: &Class, passes: &[Replicas], context: Context<'_>) -> f64 {
    let cost = |replicas: &Replicas| {
        let cost = replicas.cost(class);
        match cost.bytes <= context.memory.0 as f64 {
            true => cost.operations,
            false => f64::INFINITY,
        }
    };
    passes.iter().map(cost).sum()
}

/// Whether these passes alone are within reach.
pub(crate) fn affords(class: &Class, passes: &[Replicas], context: Context<'_>) -> bool {
    replica_cost(class, passes, context) <= MOST_OPERATIONS
}

/// How scores are summed in a tied class, whose steps share cells: input by input.
pub(crate) fn one_by_one(class: &Class) -> SummedBy {
    let each = SingleInput::operations(class);
    match per_input::inputs(class) {
        Some(n) if n <= MOST_INPUTS && n as f64 * each <= MOST_OPERATIONS => SummedBy::Inputs,
        _ => SummedBy::Sampled,
    }
}

/// Blocks of inputs that are drawn: enough for an interval from their means.
const BLOCKS: u64 = 32;

/// The most inputs of a block, and the multiplications that all blocks may take.
const MOST_PER_BLOCK: f64 = 4096.0;
const OPERATIONS_OF_DRAWS: f64 = 4e9;

/// Sums over drawn inputs, block by block.
pub(crate) struct Drawn<T> {
    /// The inputs of each block.
    pub per_block: u64,
    /// The sums.
    pub blocks: Vec<T>,
}

/// Draws inputs, and adds what `add` makes of each and of its success to the sum of its block. Block number b draws from
/// stream b of the seed.
pub(crate) fn draw<T: Send>(
    policy: &Policy,
    seed: u64,
    context: Context<'_>,
    start: impl Fn() -> T + Sync,
    add: impl Fn(&mut SingleInput<'_>, f64, &mut T) + Sync,
) -> Result<Drawn<T>, Stopped> {
    let class = policy.class();
    let affordable = OPERATIONS_OF_DRAWS / (BLOCKS as f64 * SingleInput::operations(class));
    let per_block = affordable.clamp(8.0, MOST_PER_BLOCK) as u64;
    let tally = Tally::new(context.observer, "inputs", Some(BLOCKS * per_block));
    let task = class.task();
    let block = |number: u64| {
        let mut stream = Stream::new(seed, number);
        let mut input = SingleInput::new(policy);
        let mut sum = start();
        for i in 0..per_block {
            let which = per_input::draw_length(task, &mut stream);
            let x = task.inputs().draw(task.lengths()[which], &mut stream);
            let success = input.follow(which, &x);
            add(&mut input, success, &mut sum);
            if i % 16 == 15 && tally.add(16).is_break() {
                return Err(Stopped);
            }
        }
        Ok(sum)
    };
    let blocks: Result<Vec<T>, Stopped> = match context.threads {
        threads if ONE_THREAD || threads == 1 => (0..BLOCKS).map(block).collect(),
        _ => context.install(|| (0..BLOCKS).into_par_iter().map(block).collect()),
    };
    Ok(Drawn {
        per_block,
        blocks: blocks?,
    })
}
