//! Draws inputs from the law of a class, and rollouts of a policy on them, as arrays (paper, section 2).
//!
//! Rollouts come in portions of [`PORTION`], each from a stream of its own, so that the arrays do not depend on the
//! number of threads. A portion draws its inputs first: [`sample_rollouts`] has the inputs of [`sample_inputs`] with the
//! same seed.
//!
//! - `batch`: rolls out on many inputs side by side.
//! - `table`: draws tokens from the rows of a policy by integers.

mod batch;
mod table;

use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Policy;
use crate::support::context::Context;
use crate::support::memory::TooLarge;
use crate::support::parallel::on_each;
use crate::support::stream::Stream;
use std::sync::Mutex;

pub(super) use batch::{RolloutBatch, Segment};
pub(super) use table::DrawTable;

/// Rollouts that draw from one stream.
pub const PORTION: usize = 512;

/// Stands in places of a row behind the end of a shorter input.
pub const PADDING: i32 = -1;

/// Rollouts of a policy, as tables with one row for each.
///
/// A row has as many places as the longest length of the class. Behind the end of a shorter rollout inputs, tokens and
/// cells are [`PADDING`] and log-probabilities 0.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SampledRollouts {
    /// The longest length: the places of a row.
    pub longest: usize,
    /// x_1, x_2, ..
    pub inputs: Vec<i32>,
    /// y_1, y_2, ..
    pub tokens: Vec<i32>,
    /// The cell that each token was drawn at.
    pub cells: Vec<i32>,
    /// ln pi(y_t | c_t).
    pub log_probs: Vec<f64>,
    /// The reward of each rollout.
    pub rewards: Vec<f64>,
    /// The length of each rollout.
    pub lengths: Vec<i32>,
}

/// Draws inputs from the law of a class: a row for each, as wide as the longest length, shorter ones with [`PADDING`].
///
/// ```
/// use foldglass::dynamics::rollouts::{PADDING, sample_inputs};
/// use foldglass::prelude::*;
/// let class = ClassSpec::uniform(Operation::paper(), &[2, 3], Shape::untied(0, 0)).lay_out()?;
/// let rows = sample_inputs(&class, 10, 0, Context::default())?;
/// let inputs: Vec<&[i32]> = rows.chunks(3).map(|row| row.strip_suffix(&[PADDING]).unwrap_or(row)).collect();
/// assert!(inputs.iter().any(|x| x.len() == 2) && inputs.iter().any(|x| x.len() == 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sample_inputs(
    class: &Class,
    count: usize,
    seed: u64,
    context: Context<'_>,
) -> Result<Vec<i32>, TooLarge> {
    let longest = class.task().longest();
    let needed = (count as u128).checked_mul(4 * longest as u128);
    context.memory.check(&format!("{count} inputs"), needed)?;
    let mut rows = vec![0; count * longest];
    let portions = rows.chunks_mut(PORTION * longest);
    by_portion(class, seed, context, portions, |batch, stream, rows| {
        batch.draw_inputs(rows.len() / longest, class.task().lengths().len(), stream);
        write_inputs(batch, longest, rows);
    });
    Ok(rows)
}

/// Draws rollouts of a policy on inputs from the law of its class.
///
/// ```
/// use foldglass::dynamics::rollouts::sample_rollouts;
/// use foldglass::prelude::*;
/// let class = ClassSpec::uniform(Operation::paper(), &[8], Shape::untied(0, 0)).lay_out()?;
/// let found = sample_rollouts(&Policy::deterministic(&Code::fold(&class)), 1000, 7, Context::default())?;
/// assert!(found.rewards.iter().all(|&reward| reward == 1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If the class has more than 2^31 - 1 cells.
pub fn sample_rollouts(
    policy: &Policy,
    count: usize,
    seed: u64,
    context: Context<'_>,
) -> Result<SampledRollouts, TooLarge> {
    let class = policy.class();
    let (longest, entries) = (class.task().longest(), class.cells() * class.q());
    let needed = (count as u128).checked_mul(20 * longest as u128 + 12);
    let table = DrawTable::bytes(class.q(), class.cells());
    let table = table.and_then(|bytes| bytes.checked_add(8 * entries as u128));
    let needed = needed.zip(table).and_then(|(a, b)| a.checked_add(b));
    context.memory.check(&format!("{count} rollouts"), needed)?;
    let places = count * longest;
    let mut found = SampledRollouts {
        longest,
        inputs: vec![0; places],
        tokens: vec![0; places],
        cells: vec![0; places],
        log_probs: vec![0.0; places],
        rewards: vec![0.0; count],
        lengths: vec![0; count],
    };
    found.redraw(policy, seed, context);
    Ok(found)
}

/// Does the portions on the threads of a context, each from the stream of its number.
fn by_portion<T: Send>(
    class: &Class,
    seed: u64,
    context: Context<'_>,
    portions: impl Iterator<Item = T> + Send,
    work: impl Fn(&mut RolloutBatch, &mut Stream, T) + Sync,
) {
    let portions = Mutex::new((0..).zip(portions));
    on_each(0..context.threads, |_| {
        let mut batch = RolloutBatch::new(class, 1);
        loop {
            let next = portions.lock().expect("no panic while it is held").next();
            let Some((number, portion)) = next else {
                return;
            };
            work(&mut batch, &mut Stream::new(seed, number), portion);
        }
    });
}

/// Rows of consecutive rollouts.
struct RolloutRows<'a> {
    inputs: &'a mut [i32],
    tokens: &'a mut [i32],
    cells: &'a mut [i32],
    log_probs: &'a mut [f64],
    rewards: &'a mut [f64],
    lengths: &'a mut [i32],
}

impl SampledRollouts {
    /// Draws as many rollouts as there are anew, of any policy of the class, into the same memory: fresh memory may cost
    /// more than the draws.
    ///
    /// # Panics
    /// If the class has another longest length, or more than 2^31 - 1 cells.
    pub fn redraw(&mut self, policy: &Policy, seed: u64, context: Context<'_>) {
        let class = policy.class();
        let (longest, q, cells) = (self.longest, class.q(), class.cells());
        assert_eq!(longest, class.task().longest(), "the longest length");
        assert!(i32::try_from(cells).is_ok(), "{cells} cells of 2^31 - 1");
        let mut table = DrawTable::new(q, cells);
        table.set_rows(policy.rows());
        let logs: Vec<f64> = policy.rows().iter().map(|p| p.ln()).collect();
        let portions = self.portions();
        by_portion(class, seed, context, portions, |batch, stream, mut rows| {
            batch.draw_inputs(rows.rewards.len(), class.task().lengths().len(), stream);
            batch.roll_out(&table, stream);
            rows.write(batch, longest, q, &logs);
        });
    }

    fn portions(&mut self) -> impl Iterator<Item = RolloutRows<'_>> {
        let places = PORTION * self.longest;
        let tables = self.inputs.chunks_mut(places);
        let tables = tables.zip(self.tokens.chunks_mut(places));
        let tables = tables.zip(self.cells.chunks_mut(places));
        let tables = tables.zip(self.log_probs.chunks_mut(places));
        let lists = self.rewards.chunks_mut(PORTION);
        let lists = lists.zip(self.lengths.chunks_mut(PORTION));
        let both = tables.zip(lists);
        both.map(
            |((((inputs, tokens), cells), log_probs), (rewards, lengths))| RolloutRows {
                inputs,
                tokens,
                cells,
                log_probs,
                rewards,
                lengths,
            },
        )
    }
}

impl RolloutRows<'_> {
    /// Writes the rollouts of a batch, in the order in which their inputs were drawn.
    fn write(&mut self, batch: &RolloutBatch, longest: usize, q: usize, logs: &[f64]) {
        write_inputs(batch, longest, self.inputs);
        if !batch.order().is_empty() {
            self.tokens.fill(PADDING);
            self.cells.fill(PADDING);
            self.log_probs.fill(0.0);
        }
        for segment in batch.segments() {
            let places = segment.first..segment.first + segment.inputs;
            let rewards = batch.rewards()[places].iter().copied();
            write_column(batch, segment, (1, 0), rewards, self.rewards);
            let lengths = std::iter::repeat(segment.length as i32);
            write_column(batch, segment, (1, 0), lengths, self.lengths);
            let (tokens, cells) = batch.tokens_of(segment);
            let tokens = tokens.chunks_exact(segment.inputs);
            let cells = cells.chunks_exact(segment.inputs);
            for (t, (tokens, cells)) in tokens.zip(cells).enumerate() {
                let of = |&token: &Symbol| i32::from(token);
                write_column(
                    batch,
                    segment,
                    (longest, t),
                    tokens.iter().map(of),
                    self.tokens,
                );
                let of = |&cell: &u32| cell as i32;
                write_column(
                    batch,
                    segment,
                    (longest, t),
                    cells.iter().map(of),
                    self.cells,
                );
                let pairs = tokens.iter().zip(cells);
                let found = pairs.map(|(&a, &cell)| logs[cell as usize * q + usize::from(a)]);
                write_column(batch, segment, (longest, t), found, self.log_probs);
            }
        }
    }
}

fn write_inputs(batch: &RolloutBatch, longest: usize, rows: &mut [i32]) {
    if !batch.order().is_empty() {
        rows.fill(PADDING);
    }
    for segment in batch.segments() {
        let steps = batch.inputs_of(segment).chunks_exact(segment.inputs);
        for (t, symbols) in steps.enumerate() {
            let symbols = symbols.iter().map(|&symbol| i32::from(symbol));
            write_column(batch, segment, (longest, t), symbols, rows);
        }
    }
}

/// Writes a number for each input of a segment into column `t` of a table with rows of a width, where the row of the
/// input lies.
#[inline(always)]
fn write_column<T>(
    batch: &RolloutBatch,
    segment: &Segment,
    (width, t): (usize, usize),
    values: impl Iterator<Item = T>,
    table: &mut [T],
) {
    if batch.order().is_empty() {
        let rows = table[segment.first * width..].chunks_exact_mut(width);
        let rows = rows.take(segment.inputs);
        rows.zip(values).for_each(|(row, value)| row[t] = value);
    } else {
        let rows = &batch.order()[segment.first..][..segment.inputs];
        let places = rows.iter().map(|&row| row as usize * width + t);
        places
            .zip(values)
            .for_each(|(place, value)| table[place] = value);
    }
}

#[cfg(test)]
mod tests;
