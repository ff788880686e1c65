//! Draws inputs from the law of a class, and rollouts of a policy on them, as arrays (paper, section 2).
//!
//! Inputs come in portions of [`PORTION`], each with a stream of its own, so that the arrays do not depend on the
//! number of threads. A portion draws its inputs first: [`sample_rollouts`] and [`sample_groups`] have the inputs of
//! [`sample_inputs`] with the same seed.
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
use thiserror::Error;

pub(super) use batch::{RolloutBatch, SideBySide};
pub(super) use table::DrawTable;

/// Inputs whose rollouts draw from one stream.
pub const PORTION: usize = 512;

/// Stands in places of a row behind the end of a shorter input.
pub const PADDING: i32 = -1;

/// The inputs of rollouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RolloutInputs<'a> {
    /// This number of inputs, drawn from the law of the class.
    Drawn(usize),
    /// These: a row for each, as wide as the longest length, shorter ones with [`PADDING`] behind their end.
    Given(&'a [i32]),
}

/// Rollouts that are not drawn.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RolloutError {
    /// They take too much memory.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// Groups of no rollouts.
    #[error("a group of 0 rollouts on each input: it needs at least 1")]
    NoGroup,
    /// Numbers that are not whole rows.
    #[error("{0} symbols of inputs are not rows of {1}, the longest length")]
    Width(usize, usize),
    /// A symbol that is not one of the class.
    #[error("input {row} has the symbol {symbol}: from 0 to {}, or -1 behind the end of a shorter input", q - 1)]
    Symbol {
        /// The row of the input.
        row: usize,
        /// The symbol.
        symbol: i32,
        /// The number of symbols.
        q: usize,
    },
    /// An input of another length.
    #[error("input {row} has length {length}: the class has {lengths:?}")]
    Length {
        /// The row of the input.
        row: usize,
        /// The length of the input.
        length: usize,
        /// The lengths of the class.
        lengths: Vec<usize>,
    },
}

impl RolloutInputs<'_> {
    /// How many there are, if they are inputs of the class.
    fn count(self, class: &Class) -> Result<usize, RolloutError> {
        let rows = match self {
            RolloutInputs::Drawn(count) => return Ok(count),
            RolloutInputs::Given(rows) => rows,
        };
        let (q, longest, lengths) = (class.q(), class.task().longest(), class.task().lengths());
        if !rows.len().is_multiple_of(longest) {
            return Err(RolloutError::Width(rows.len(), longest));
        }
        for (row, symbols) in rows.chunks_exact(longest).enumerate() {
            let length = symbols.iter().take_while(|&&s| s != PADDING).count();
            let (used, behind) = symbols.split_at(length);
            let of_class = |symbol: i32| usize::try_from(symbol).is_ok_and(|s| s < q);
            let wrong = used.iter().find(|&&symbol| !of_class(symbol));
            if let Some(&symbol) = wrong.or_else(|| behind.iter().find(|&&s| s != PADDING)) {
                return Err(RolloutError::Symbol { row, symbol, q });
            }
            if !lengths.contains(&length) {
                let lengths = lengths.to_vec();
                return Err(RolloutError::Length {
                    row,
                    length,
                    lengths,
                });
            }
        }
        Ok(rows.len() / longest)
    }
}

/// Rollouts of a policy, as tables with one row for each; those on one input follow each other.
///
/// A row has as many places as the longest length of the class. Behind the end of a shorter rollout inputs, tokens and
/// cells are [`PADDING`] and log-probabilities 0.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SampledRollouts {
    /// The longest length: the places of a row.
    pub longest: usize,
    /// Rollouts on each input.
    pub group: usize,
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
    by_portion(
        (class, 1),
        (seed, 0),
        context,
        portions,
        |batch, stream, rows| {
            batch.draw_inputs(rows.len() / longest, class.task().lengths().len(), stream);
            write_inputs(batch, longest, rows);
        },
    );
    Ok(rows)
}

/// Draws rollouts of a policy, one on each of `count` inputs from the law of its class.
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
    let mut found = SampledRollouts::empty(policy.class(), count, 1, context)?;
    found.redraw(policy, seed, context);
    Ok(found)
}

/// Draws a group of rollouts of a policy on each of some inputs, as trainers with baselines by group need them.
///
/// ```
/// use foldglass::dynamics::rollouts::{RolloutInputs, sample_groups};
/// use foldglass::prelude::*;
/// let class = ClassSpec::uniform(Operation::paper(), &[3], Shape::untied(0, 0)).lay_out()?;
/// let inputs = RolloutInputs::Given(&[0, 1, 2, 4, 4, 4]);
/// let found = sample_groups(&Policy::uniform(&class), inputs, 8, 0, Context::default())?;
/// let successes: Vec<f64> = found.rewards.chunks(8).map(|group| group.iter().sum()).collect();
/// assert_eq!(successes.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If the class has more than 2^31 - 1 cells.
pub fn sample_groups(
    policy: &Policy,
    inputs: RolloutInputs<'_>,
    group: usize,
    seed: u64,
    context: Context<'_>,
) -> Result<SampledRollouts, RolloutError> {
    if group == 0 {
        return Err(RolloutError::NoGroup);
    }
    let class = policy.class();
    let count = inputs.count(class)?;
    // How many rollouts lie side by side decides which draw is which symbol, so groups take their inputs as given.
    let drawn = match inputs {
        RolloutInputs::Drawn(_) if group > 1 => sample_inputs(class, count, seed, context)?,
        _ => Vec::new(),
    };
    let inputs = match drawn.is_empty() {
        true => inputs,
        false => RolloutInputs::Given(&drawn),
    };
    let mut found = SampledRollouts::empty(class, count, group, context)?;
    found.fill(policy, inputs, seed, context);
    Ok(found)
}

/// The number of the first stream of rollouts on given inputs: those inputs may come from the streams below it.
const ON_GIVEN: u64 = 1 << 40;

/// Does the portions on the threads of a context, each from the stream of its number, the first from `first`.
fn by_portion<T: Send>(
    (class, group): (&Class, usize),
    (seed, first): (u64, u64),
    context: Context<'_>,
    portions: impl Iterator<Item = T> + Send,
    work: impl Fn(&mut RolloutBatch, &mut Stream, T) + Sync,
) {
    let portions = Mutex::new((first..).zip(portions));
    on_each(0..context.threads, |_| {
        let mut batch = RolloutBatch::new(class, group);
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
    /// Space for `group` rollouts on each of `count` inputs.
    fn empty(
        class: &Class,
        count: usize,
        group: usize,
        context: Context<'_>,
    ) -> Result<SampledRollouts, TooLarge> {
        let (longest, entries) = (class.task().longest(), class.cells() * class.q());
        let rollouts = (count as u128).checked_mul(group as u128);
        let needed = rollouts.and_then(|n| n.checked_mul(20 * longest as u128 + 12));
        let table = DrawTable::bytes(class.q(), class.cells());
        let table = table.and_then(|bytes| bytes.checked_add(8 * entries as u128));
        let needed = needed.zip(table).and_then(|(a, b)| a.checked_add(b));
        let what = match group {
            1 => format!("{count} rollouts"),
            _ => format!("{group} rollouts on each of {count} inputs"),
        };
        context.memory.check(&what, needed)?;
        let rollouts = count * group;
        let places = rollouts * longest;
        Ok(SampledRollouts {
            longest,
            group,
            inputs: vec![0; places],
            tokens: vec![0; places],
            cells: vec![0; places],
            log_probs: vec![0.0; places],
            rewards: vec![0.0; rollouts],
            lengths: vec![0; rollouts],
        })
    }

    /// Draws as many rollouts as there are anew, of any policy of the class and on inputs from its law, into the same
    /// memory: fresh memory may cost more than the draws.
    ///
    /// # Panics
    /// If the class has another longest length, or more than 2^31 - 1 cells.
    pub fn redraw(&mut self, policy: &Policy, seed: u64, context: Context<'_>) {
        let count = self.rewards.len() / self.group;
        self.fill(policy, RolloutInputs::Drawn(count), seed, context);
    }

    fn fill(
        &mut self,
        policy: &Policy,
        inputs: RolloutInputs<'_>,
        seed: u64,
        context: Context<'_>,
    ) {
        let class = policy.class();
        let (longest, q, cells) = (self.longest, class.q(), class.cells());
        assert_eq!(longest, class.task().longest(), "the longest length");
        assert!(i32::try_from(cells).is_ok(), "{cells} cells of 2^31 - 1");
        let mut table = DrawTable::new(q, cells);
        table.set_rows(policy.rows());
        let logs: Vec<f64> = policy.rows().iter().map(|p| p.ln()).collect();
        let group = self.group;
        let streams = match inputs {
            RolloutInputs::Drawn(_) => 0,
            RolloutInputs::Given(_) => ON_GIVEN,
        };
        let portions = (0..).zip(self.portions());
        by_portion(
            (class, group),
            (seed, streams),
            context,
            portions,
            |batch, stream, (number, mut rows)| {
                match inputs {
                    RolloutInputs::Drawn(_) => {
                        let count = rows.rewards.len() / group;
                        batch.draw_inputs(count, class.task().lengths().len(), stream);
                    }
                    RolloutInputs::Given(given) => {
                        let mut portions = given.chunks(PORTION * longest);
                        batch.take_inputs(portions.nth(number).expect("inputs of each portion"));
                    }
                }
                batch.roll_out(&table, stream);
                rows.write(batch, longest, q, &logs);
            },
        );
    }

    fn portions(&mut self) -> impl Iterator<Item = RolloutRows<'_>> {
        let rollouts = PORTION * self.group;
        let places = rollouts * self.longest;
        let tables = self.inputs.chunks_mut(places);
        let tables = tables.zip(self.tokens.chunks_mut(places));
        let tables = tables.zip(self.cells.chunks_mut(places));
        let tables = tables.zip(self.log_probs.chunks_mut(places));
        let lists = self.rewards.chunks_mut(rollouts);
        let lists = lists.zip(self.lengths.chunks_mut(rollouts));
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
            let group = batch.group();
            let lanes = segment.inputs * group;
            let rewards = batch.rewards()[segment.first * group..][..lanes]
                .iter()
                .copied();
            write_column(batch, segment, (1, 0), rewards, self.rewards);
            let lengths = std::iter::repeat(segment.length as i32);
            write_column(batch, segment, (1, 0), lengths, self.lengths);
            let (tokens, cells) = batch.tokens_of(segment);
            let tokens = tokens.chunks_exact(lanes);
            let cells = cells.chunks_exact(lanes);
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
            match batch.group() {
                1 => write_column(batch, segment, (longest, t), symbols, rows),
                group => {
                    let each = symbols.flat_map(|symbol| std::iter::repeat_n(symbol, group));
                    write_column(batch, segment, (longest, t), each, rows);
                }
            }
        }
    }
}

/// Writes a number for each rollout of a segment into column `t` of a table with rows of a width, where the row of the
/// rollout lies.
#[inline(always)]
fn write_column<T>(
    batch: &RolloutBatch,
    segment: &SideBySide,
    (width, t): (usize, usize),
    values: impl Iterator<Item = T>,
    table: &mut [T],
) {
    let group = batch.group();
    if batch.order().is_empty() {
        let rows = table[segment.first * group * width..].chunks_exact_mut(width);
        let rows = rows.take(segment.inputs * group);
        rows.zip(values).for_each(|(row, value)| row[t] = value);
    } else {
        let inputs = &batch.order()[segment.first..][..segment.inputs];
        let rows = inputs
            .iter()
            .flat_map(|&input| (0..group).map(move |other| input as usize * group + other));
        let places = rows.map(|row| row * width + t);
        places
            .zip(values)
            .for_each(|(place, value)| table[place] = value);
    }
}

#[cfg(test)]
mod tests;
