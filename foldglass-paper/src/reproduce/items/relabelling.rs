//! app:cures, relabelling: transformers whose emitted tokens are permuted now and then, at c = 0.

use std::fmt;

use crate::reproduce::classes::ClassId;
use crate::reproduce::fleets::{Network, RELABELLING};
use crate::reproduce::item::{About, Item, Number};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::Need;
use crate::reproduce::records::Records;
use crate::reproduce::stated::{Entry, Stated, count, entry, spread};

/// The item.
pub static ITEM: Item = Item {
    label: "text:relabelling",
    title: "relabelled tokens in the transformer, eighteen settings at c = 0 (committed records of an H200)",
    about: Some(About {
        place: 7,
        number: "App. G.5",
        section: "app. G.5",
        says: "Relabelling emitted tokens, the networks’ counterpart of resets, helps mildly.",
        stakes: "How mildly depends on shares and periods that the paper does not name; it solves the task nowhere.",
    }),
    needs: &[Need::Fleet(RELABELLING)],
    measure,
    paper,
    shows_all: true,
    figure: None,
};

/// The classes: two lengths and three.
pub const TWO: ClassId = ClassId::new("two", "quasigroup, T in {1, 2}");
/// Likewise.
pub const THREE: ClassId = ClassId::new("three", "quasigroup, T in {1, 2, 3}");

/// What is measured of a class: noise and initial law as studies name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelabellingQuantity {
    /// Greedy accuracy at a length.
    Accuracy(usize, &'static str, &'static str),
    /// What the paper's best noise adds to the accuracy at T = 2.
    Effect(&'static str),
    /// Seeds that solve T = 2, all settings of an initial law.
    AllSolved(&'static str),
    /// Seeds that solve it under a noise.
    Solved(&'static str, &'static str),
}

use RelabellingQuantity::{Accuracy, AllSolved, Effect, Solved};

impl fmt::Display for RelabellingQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Accuracy(length, noise, initial) => {
                write!(f, "accuracy at T = {length}, {noise}, {initial}")
            }
            Effect(initial) => {
                write!(f, "accuracy at T = 2, {BEST_NOISE} over none, {initial}")
            }
            AllSolved(initial) => {
                write!(f, "seeds above 0.95 at T = 2, all settings, {initial}")
            }
            Solved(noise, initial) => {
                write!(f, "seeds above 0.95 at T = 2, {noise}, {initial}")
            }
        }
    }
}

/// A seed solves its task above this.
const SOLVED: f64 = 0.95;

/// The initial laws: the reading of the figures, and the one under which the unperturbed number fits.
pub const INITIAL: [&str; 2] = [PT, SMALL_LAW];
/// Likewise.
pub const PT: &str = "pt";
/// Likewise.
pub const SMALL_LAW: &str = "02";

/// Without noise, and the paper's best setting.
pub const NO_NOISE: &str = "none";
/// Likewise.
pub const BEST_NOISE: &str = "full:1,500";

/// Without noise, and the eighteen settings, as studies name them.
pub const NOISE: [&str; 19] = [
    "none",
    "transposition:0.25,1",
    "transposition:0.25,50",
    "transposition:0.25,500",
    "transposition:0.5,1",
    "transposition:0.5,50",
    "transposition:0.5,500",
    "transposition:1,1",
    "transposition:1,50",
    "transposition:1,500",
    "full:0.25,1",
    "full:0.25,50",
    "full:0.25,500",
    "full:0.5,1",
    "full:0.5,50",
    "full:0.5,500",
    "full:1,1",
    "full:1,50",
    "full:1,500",
];

/// Those that were also trained on three lengths.
pub const LONGER: [&str; 4] = ["none", "transposition:1,500", "full:0.5,500", "full:1,500"];

fn measure(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    for initial in INITIAL {
        for noise in NOISE {
            let values = of(records, TWO, initial, noise).filter_map(|model| model.accuracy(2));
            let mean = Measured::Mean(values.collect());
            list.push(Number::new(TWO, Accuracy(2, noise, initial), mean));
        }
        let [with, without] = [BEST_NOISE, NO_NOISE].map(|noise| {
            let own = of(records, TWO, initial, noise);
            own.filter_map(|model| model.accuracy(2)).collect()
        });
        let effect = Measured::Effect { with, without };
        list.push(Number::new(TWO, Effect(initial), effect));
        let own = NOISE
            .iter()
            .flat_map(|noise| of(records, TWO, initial, noise));
        let solved = Measured::share(own, is_solved);
        list.push(Number::new(TWO, AllSolved(initial), solved));
        let best = of(records, TWO, initial, BEST_NOISE);
        let solved = Measured::share(best, is_solved);
        list.push(Number::new(TWO, Solved(BEST_NOISE, initial), solved));
        for noise in LONGER {
            let values = of(records, THREE, initial, noise).filter_map(|model| model.accuracy(3));
            let mean = Measured::Mean(values.collect());
            list.push(Number::new(THREE, Accuracy(3, noise, initial), mean));
        }
    }
    list
}

fn is_solved(model: &Network) -> bool {
    model.accuracy(2) > Some(SOLVED)
}

/// The networks of a class and a setting.
pub fn of<'a>(
    records: &'a Records,
    class: ClassId,
    initial: &'a str,
    noise: &'a str,
) -> impl Iterator<Item = &'a Network> {
    let own = move |model: &&Network| {
        model.class == class.id && model.word("initial") == initial && model.word("noise") == noise
    };
    records.fleets.relabelled.iter().filter(own)
}

const LAW: &str = "the paper does not say how weights are drawn; pt is the reading of its figure";
const SMALL: &str = "N(0, 0.02), under which the specification finds the paper's number";
const SHARE: &str = "the paper does not say which share of the batch; all of it is assumed";

/// 0.542 over 0.417; the standard deviations 0.081 and 0.101 in quadrature.
const EFFECT: Stated = Stated::Effect {
    text: "0.125",
    sd: 0.1295,
    n: 8,
};

#[rustfmt::skip]
fn paper() -> Vec<Entry> { vec![
    entry(TWO, Accuracy(2, NO_NOISE, PT), spread("0.417", 0.101, 8)).note(LAW),
    entry(TWO, Accuracy(2, NO_NOISE, SMALL_LAW), spread("0.417", 0.101, 8)).note(SMALL),
    entry(TWO, Accuracy(2, BEST_NOISE, PT), spread("0.542", 0.081, 8)).note(SHARE),
    entry(TWO, Accuracy(2, BEST_NOISE, SMALL_LAW), spread("0.542", 0.081, 8)).note(SHARE),
    entry(TWO, Effect(PT), EFFECT).note(SHARE),
    entry(TWO, Effect(SMALL_LAW), EFFECT).note(SHARE),
    entry(TWO, Solved(BEST_NOISE, PT), count(0, 8)).note(SHARE),
    entry(TWO, Solved(BEST_NOISE, SMALL_LAW), count(0, 8)).note(SHARE),
] }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::row::rows;
    use crate::reproduce::studies::Scale;

    #[test]
    fn every_setting_has_its_eight_seeds() {
        let rows = rows(&ITEM, &Records::planned(Scale::Full));
        assert_eq!(rows.len(), 2 * (19 + 3 + 4));
        for row in &rows {
            let all = if row.quantity.contains("all settings") {
                19
            } else {
                1
            };
            assert_eq!(row.n, 8 * all, "{}", row.quantity);
        }
    }
}
