//! Says what a census found: counts, the traps' rewards and barriers.

use std::collections::BTreeMap;
use std::io::{self, Write};

use foldglass::landscape::census::{Census, Count, Trap};
use serde::Serialize;

use crate::error::Error;
use crate::output::{Report, number};
use crate::progress::{Go, Progress, in_order, interrupted};
use crate::report::{Cell, Column, Table};

/// Traps that have something in common.
#[derive(Debug, Clone, Serialize)]
pub struct Kind<T: Serialize> {
    /// What they have in common.
    #[serde(flatten)]
    pub of: T,
    /// How many codes.
    pub count: String,
}

/// A reward.
#[derive(Debug, Clone, Serialize)]
pub struct Reward {
    /// Exact.
    pub reward: String,
}

/// A barrier; none where too many codes would have to be visited to know it.
#[derive(Debug, Clone, Serialize)]
pub struct Barrier {
    /// Exact.
    pub barrier: Option<String>,
}

/// A loss by a single change; none where too many codes would have to be visited to know it.
#[derive(Debug, Clone, Serialize)]
pub struct Loss {
    /// Exact.
    pub loss: Option<String>,
}

/// All that is measured of a trap.
#[derive(Debug, Clone, Serialize)]
pub struct AllThree {
    #[serde(flatten)]
    reward: Reward,
    #[serde(flatten)]
    barrier: Barrier,
    #[serde(flatten)]
    loss: Loss,
}

/// What a census found.
#[derive(Debug, Clone, Serialize)]
pub struct Found {
    /// Cells of the class.
    pub cells: usize,
    /// Codes of the class.
    pub codes: String,
    /// Codes of reward 1.
    pub optimal: String,
    /// Codes below that no single change raises by more than the tolerance.
    pub local_maxima: String,
    /// Changes up to this counted as none, where it is not zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<String>,
    /// Those of the local maxima that are traps; not sought where there is a tolerance.
    #[serde(flatten)]
    pub traps: Option<Traps>,
}

/// What was found of the traps.
#[derive(Debug, Clone, Serialize)]
pub struct Traps {
    /// How many.
    pub traps: String,
    /// By reward, the highest first.
    pub trap_rewards: Vec<Kind<Reward>>,
    /// By escape barrier, the highest first.
    pub barriers: Vec<Kind<Barrier>>,
    /// By the largest loss by a single change that the best way out takes, the largest first.
    pub largest_losses: Vec<Kind<Loss>>,
    /// Shelves, up to the names of tokens.
    pub shelves: usize,
    /// By all three, the highest first.
    pub kinds: Vec<Kind<AllThree>>,
    /// The same as numbers, for a person.
    #[serde(skip)]
    numbers: Vec<(u128, Option<u128>, Option<u128>, u128)>,
    /// A code of each, up to the names of tokens.
    #[serde(skip)]
    pub list: Vec<Trap>,
    #[serde(skip)]
    names: BTreeMap<u128, (String, f64)>,
}

impl Found {
    /// Measures the barriers on several threads, visiting up to `cap` codes for each, and puts all
    /// together.
    pub fn new(
        census: &Census,
        count: Count,
        tolerance: &str,
        threads: usize,
        cap: usize,
    ) -> Result<Found, Error> {
        let exact = tolerance == "0/1";
        Ok(Found {
            cells: census.class().cells(),
            codes: census.codes().to_string(),
            optimal: count.optimal.to_string(),
            local_maxima: count.local_maxima.to_string(),
            tolerance: (!exact).then(|| tolerance.to_owned()),
            traps: match exact {
                true => Some(Traps::new(census, count.traps, threads, cap)?),
                false => None,
            },
        })
    }
}

/// Adds the weights of equal keys, the highest key first.
fn grouped<K: Ord>(all: impl IntoIterator<Item = (K, u128)>) -> Vec<(K, u128)> {
    let mut sums: BTreeMap<K, u128> = BTreeMap::new();
    for (key, weight) in all {
        *sums.entry(key).or_default() += weight;
    }
    sums.into_iter().rev().collect()
}

impl Traps {
    fn new(
        census: &Census,
        mut list: Vec<Trap>,
        threads: usize,
        cap: usize,
    ) -> Result<Traps, Error> {
        list.sort();
        let shelves = grouped(
            list.iter()
                .map(|trap| ((trap.reward, trap.shelf), trap.weight)),
        );
        let progress = Progress::new(shelves.len() as u64, "barriers");
        let stopped = || {
            let said = "stopped while the barriers were measured: all parts are counted";
            Error::Stopped(said.to_owned())
        };
        let mut kinds = Vec::new();
        in_order(
            threads,
            shelves.len(),
            |n| {
                if progress.add(1) == Go::Stop {
                    return Err(stopped());
                }
                let ((reward, shelf), weight) = shelves[n];
                let barrier = census.barrier(shelf, cap, interrupted);
                let loss = census.largest_loss(shelf, cap, interrupted);
                match interrupted() {
                    true => Err(stopped()),
                    false => Ok(Some((reward, barrier, loss, weight))),
                }
            },
            |kind| {
                kinds.push(kind);
                Ok(())
            },
        )?;
        drop(progress);
        let name = |value: u128| census.fraction(value);
        let float = |value: u128| {
            let whole = u128::try_from(census.class().task().denominator());
            value as f64 / whole.map_or(f64::INFINITY, |whole| whole as f64)
        };
        let mut names = BTreeMap::new();
        for (reward, barrier, loss, _) in &kinds {
            for value in [Some(*reward), *barrier, *loss].into_iter().flatten() {
                names.insert(value, (name(value), float(value)));
            }
        }
        let rewards = grouped(kinds.iter().map(|kind| (kind.0, kind.3)));
        let barriers = grouped(kinds.iter().map(|kind| (kind.1, kind.3)));
        let losses = grouped(kinds.iter().map(|kind| (kind.2, kind.3)));
        let all = grouped(kinds.iter().map(|&(r, b, l, n)| ((r, b, l), n)));
        Ok(Traps {
            traps: list
                .iter()
                .map(|trap| trap.weight)
                .sum::<u128>()
                .to_string(),
            trap_rewards: kinds_of(rewards, |reward| Reward {
                reward: name(reward),
            }),
            barriers: kinds_of(barriers, |barrier| Barrier {
                barrier: barrier.map(name),
            }),
            largest_losses: kinds_of(losses, |loss| Loss {
                loss: loss.map(name),
            }),
            shelves: shelves.len(),
            kinds: kinds_of(all.clone(), |(r, b, l)| AllThree {
                reward: Reward { reward: name(r) },
                barrier: Barrier {
                    barrier: b.map(name),
                },
                loss: Loss { loss: l.map(name) },
            }),
            numbers: all.into_iter().map(|((r, b, l), n)| (r, b, l, n)).collect(),
            list,
            names,
        })
    }
}

impl Traps {
    /// The rewards, the highest first, in a line.
    pub fn rewards(&self) -> String {
        line(self.trap_rewards.iter().map(|kind| Some(&kind.of.reward)))
    }

    /// The escape barriers likewise.
    pub fn depths(&self) -> String {
        line(self.barriers.iter().map(|kind| kind.of.barrier.as_ref()))
    }

    /// The largest losses likewise.
    pub fn losses(&self) -> String {
        line(self.largest_losses.iter().map(|kind| kind.of.loss.as_ref()))
    }
}

fn line<'a>(values: impl Iterator<Item = Option<&'a String>>) -> String {
    let words: Vec<&str> = values.map(|value| value.map_or("unknown", |v| v)).collect();
    match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(", "),
    }
}

fn kinds_of<K, T: Serialize>(all: Vec<(K, u128)>, name: impl Fn(K) -> T) -> Vec<Kind<T>> {
    let kind = |(key, count): (K, u128)| Kind {
        of: name(key),
        count: count.to_string(),
    };
    all.into_iter().map(kind).collect()
}

/// Digits in groups of three; any other text as it is.
pub fn grouped_digits(digits: &str) -> String {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.to_owned();
    }
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl Report for Found {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "cells         {}", self.cells)?;
        writeln!(out, "codes         {}", grouped_digits(&self.codes))?;
        writeln!(out, "optimal       {}", grouped_digits(&self.optimal))?;
        let tolerance = self.tolerance.as_ref().map_or(String::new(), |tolerance| {
            format!(" (changes up to {tolerance} count as none)")
        });
        let maxima = grouped_digits(&self.local_maxima);
        writeln!(out, "local maxima  {maxima}{tolerance}")?;
        let Some(traps) = &self.traps else {
            return writeln!(out, "traps         not sought: a tolerance is set");
        };
        let shelves = match traps.shelves {
            0 => String::new(),
            1 => " (1 shelf, up to the names of tokens)".to_owned(),
            n => format!(" ({n} shelves, up to the names of tokens)"),
        };
        writeln!(
            out,
            "traps         {}{shelves}",
            grouped_digits(&traps.traps)
        )?;
        if traps.numbers.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        let value = |value: Option<u128>| match value.and_then(|value| traps.names.get(&value)) {
            Some((name, float)) => Cell::from(format!("{name} = {}", number(*float))),
            None => Cell::from("unknown: --barrier-cap reached"),
        };
        let row = |&(reward, barrier, loss, count): &(u128, Option<u128>, Option<u128>, u128)| {
            let count = Cell::Large(count.into());
            [count, value(Some(reward)), value(barrier), value(loss)]
        };
        let columns = [
            Column::numbers("traps"),
            Column::words("reward"),
            Column::words("barrier"),
            Column::words("largest single loss on the best way out").key("largest_loss"),
        ];
        let rows = traps.numbers.iter().map(row);
        Table::new(columns).rows(rows).write_text(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_from_the_right() {
        for (digits, text) in [("0", "0"), ("648", "648"), ("35294848", "35,294,848")] {
            assert_eq!(grouped_digits(digits), text);
        }
    }
}
