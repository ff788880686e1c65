//! tab:shortfall: chains solve every untied class, plain RLVR ends below that.

use std::fmt;

use super::equilibration::TIED_SPREAD;
use super::regulator;
use crate::reproduce::classes::{
    CLASSES, ClassId, PARITY, QG, QG03, QG11_3456, QG21_345, QG21_456, TIED, Z5,
};
use crate::reproduce::item::{About, Item, Key, Number};
use crate::reproduce::need::Need;
use crate::reproduce::records::{Records, Sample};
use crate::reproduce::stated::{Entry, beside, count, entry, mean, spread};
use crate::reproduce::studies::{CHAINS_LENGTHS, CHAINS_TIED, CHAINS_WIDE, PLAIN, STATIONARITY};

/// The item.
pub static ITEM: Item = Item {
    label: "tab:shortfall",
    title: "where chains and plain RLVR end",
    about: Some(About {
        place: 9,
        number: "Table 2",
        section: "section 5, app. G.3",
        says: "Monte Carlo reaches reward 1 on every untied class where plain RLVR mostly does not.",
        stakes: "This is the gap that the paper explains; it would close if RLVR reached 1 here.",
    }),
    needs: &[
        Need::Study(STATIONARITY),
        Need::Study(CHAINS_LENGTHS),
        Need::Study(PLAIN),
        Need::Study(CHAINS_WIDE),
        Need::Study(CHAINS_TIED),
    ],
    measure,
    paper,
    shows_all: false,
    figure: None,
};

/// What is measured of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShortfallQuantity {
    /// The mean reward.
    Reward(ComparedRuns),
    /// Runs at 1.
    AtOne(ComparedRuns),
}

use ShortfallQuantity::{AtOne, Reward};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedRuns {
    /// Monte Carlo chains.
    Chain,
    /// Tabular RLVR, undisturbed.
    Rlvr,
}

use ComparedRuns::{Chain, Rlvr};

impl ComparedRuns {
    fn name(self) -> &'static str {
        match self {
            Chain => "chain",
            Rlvr => "RLVR",
        }
    }
}

impl fmt::Display for ShortfallQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reward(runs) => write!(f, "J, {}", runs.name()),
            AtOne(runs) => write!(f, "at 1, {}", runs.name()),
        }
    }
}

/// All untied classes, and those but parity.
pub const ALL_UNTIED: ClassId = ClassId::named("untied");
/// Likewise.
pub const BUT_PARITY: ClassId = ClassId::named("untied but parity");

fn measure(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    let (mut all_chains, mut most_rlvr) = (Sample::default(), Sample::default());
    for class in CLASSES {
        let samples = [
            (Chain, chains(records, class)),
            (Rlvr, records.ends(PLAIN, class.id, "", None)),
        ];
        for (runs, sample) in &samples {
            list.push(Number::new(class, Reward(*runs), sample.mean()));
            list.push(Number::new(class, AtOne(*runs), sample.at_one()));
        }
        let [(_, chains), (_, rlvr)] = samples;
        if class != TIED {
            all_chains.extend(&chains);
            if class != PARITY {
                most_rlvr.extend(&rlvr);
            }
        }
    }
    list.push(Number::new(ALL_UNTIED, AtOne(Chain), all_chains.at_one()));
    list.push(Number::new(BUT_PARITY, AtOne(Rlvr), most_rlvr.at_one()));
    list
}

/// How the Metropolis chains of a class ended.
fn chains(records: &Records, class: ClassId) -> Sample {
    let (source, dynamics) = match class.id {
        "parity" | "z5" | "qg" => (STATIONARITY, "metropolis"),
        "qg03" => (CHAINS_WIDE, ""),
        "qg03-tied" => (CHAINS_TIED, ""),
        _ => (CHAINS_LENGTHS, "metropolis"),
    };
    records.ends(source, class.id, dynamics, None)
}

/// The RLVR columns of the untied rows are the plain block of tab:regulator.
fn paper() -> Vec<Entry> {
    let rlvr = regulator::plain_runs().into_iter().map(|entry| {
        let quantity = match entry.key.quantity {
            super::Quantity::Regulator(regulator::RegulatorQuantity::Reward(_)) => Reward(Rlvr),
            _ => AtOne(Rlvr),
        };
        Entry {
            key: Key::new(entry.key.class, quantity),
            ..entry
        }
    });
    rlvr.chain(others()).collect()
}

const TIED_TAU: &str = "the paper states no tau for the tied class; ours is 1e-10";

#[rustfmt::skip]
fn others() -> Vec<Entry> { vec![
    entry(PARITY, Reward(Chain), beside("1.0000", 100, 100)),
    entry(PARITY, AtOne(Chain), count(100, 100)),
    entry(Z5, Reward(Chain), beside("1.0000", 60, 60)),
    entry(Z5, AtOne(Chain), count(60, 60)),
    entry(QG, Reward(Chain), beside("1.0000", 60, 60)),
    entry(QG, AtOne(Chain), count(60, 60)),
    entry(QG21_345, Reward(Chain), beside("1.0000", 12, 12)),
    entry(QG21_345, AtOne(Chain), count(12, 12)),
    entry(QG11_3456, Reward(Chain), beside("1.0000", 12, 12)),
    entry(QG11_3456, AtOne(Chain), count(12, 12)),
    entry(QG21_456, Reward(Chain), beside("1.0000", 12, 12)),
    entry(QG21_456, AtOne(Chain), count(12, 12)),
    entry(QG03, Reward(Chain), beside("1.0000", 12, 12)),
    entry(QG03, AtOne(Chain), count(12, 12)),
    entry(TIED, Reward(Chain), spread("0.8969", TIED_SPREAD, 12)),
    entry(TIED, Reward(Rlvr), spread("0.6541", 0.0298, 12)).reference(mean("0.644", 12)).note(TIED_TAU).reason(TIED_TAU),
    entry(TIED, AtOne(Rlvr), count(0, 12)).reason(TIED_TAU),
    entry(ALL_UNTIED, AtOne(Chain), count(268, 268)),
    entry(BUT_PARITY, AtOne(Rlvr), count(40, 168)),
] }
