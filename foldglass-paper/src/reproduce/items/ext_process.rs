//! ext:process: traps under the outcome reward beside those under process rewards of equal, rising and falling
//! weights, counted over all codes of small classes.

use std::fmt;

use super::ext_traps::{ExtTrapsQuantity::ByReward, line, rewards};
use super::trapsexist::TrapsExistQuantity::{LocalMaxima, Traps};
use crate::reproduce::classes::ClassId;
use crate::reproduce::item::{Item, Number};
use crate::reproduce::maps::{self, Map, MapRecord};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::{Need, Step};
use crate::reproduce::records::Records;
use crate::reproduce::stated::{Entry, Stated, entry};

/// The item.
pub static ITEM: Item = Item {
    label: "ext:process",
    title: "traps under outcome and process rewards",
    about: None,
    needs: &[Need::Work(Step {
        name: "ext:process",
        seconds: 120,
        leaves: &[maps::MAPS],
        run: |work| maps::make(&CLASSES.concat(), work),
    })],
    measure,
    paper,
    shows_all: true,
    figure: None,
};

/// A class under the outcome reward, and under process rewards of equal, rising and falling weights.
macro_rules! rewarded {
    ($task:literal, $length:literal, ($p:literal, $f:literal), $inputs:literal, $rising:literal, $falling:literal, $smoke:literal) => {
        [
            rewarded!(@one $task, $length, $p, $f, $inputs, "final", $smoke),
            rewarded!(@one $task, $length, $p, $f, $inputs, "process", $smoke),
            rewarded!(@one $task, $length, $p, $f, $inputs, concat!("process:", $rising), $smoke),
            rewarded!(@one $task, $length, $p, $f, $inputs, concat!("process:", $falling), $smoke),
        ]
    };
    (@one $task:literal, $length:literal, $p:literal, $f:literal, $inputs:literal, $reward:expr, $smoke:literal) => {
        Map {
            task: $task,
            window: [$p, $f],
            inputs: $inputs,
            reward: $reward,
            smoke: $smoke,
            ..Map::parity(
                concat!($task, " (", $p, ",", $f, ") T=", $length, " ", $inputs, ", ", $reward),
                &[$length],
            )
        }
    };
}

/// The classes; those whose last word is `true` take less than a second of a processor.
#[rustfmt::skip]
const CLASSES: [[Map; 4]; 28] = [
    rewarded!("parity", 2, (0, 0), "uniform", "1,2", "2,1", true),
    rewarded!("parity", 3, (0, 0), "uniform", "1,2,4", "4,2,1", true),
    rewarded!("parity", 4, (0, 0), "uniform", "1,2,4,8", "8,4,2,1", true),
    rewarded!("parity", 5, (0, 0), "uniform", "1,2,4,8,16", "16,8,4,2,1", false),
    rewarded!("parity", 2, (0, 1), "uniform", "1,2", "2,1", true),
    rewarded!("parity", 3, (0, 1), "uniform", "1,2,4", "4,2,1", true),
    rewarded!("parity", 4, (0, 1), "uniform", "1,2,4,8", "8,4,2,1", false),
    rewarded!("parity", 3, (0, 2), "uniform", "1,2,4", "4,2,1", true),
    rewarded!("parity", 2, (1, 0), "uniform", "1,2", "2,1", true),
    rewarded!("parity", 3, (1, 0), "uniform", "1,2,4", "4,2,1", true),
    rewarded!("parity", 4, (1, 0), "uniform", "1,2,4,8", "8,4,2,1", false),
    rewarded!("parity", 3, (2, 0), "uniform", "1,2,4", "4,2,1", true),
    rewarded!("parity", 2, (1, 1), "uniform", "1,2", "2,1", true),
    rewarded!("parity", 3, (1, 1), "uniform", "1,2,4", "4,2,1", false),
    rewarded!("max:2", 3, (0, 0), "uniform", "1,2,4", "4,2,1", true),
    rewarded!("max:2", 4, (0, 0), "uniform", "1,2,4,8", "8,4,2,1", true),
    rewarded!("max:2", 3, (0, 1), "uniform", "1,2,4", "4,2,1", true),
    rewarded!("max:2", 3, (0, 2), "uniform", "1,2,4", "4,2,1", true),
    rewarded!("max:2", 3, (1, 0), "uniform", "1,2,4", "4,2,1", true),
    rewarded!("z:3", 2, (0, 0), "uniform", "1,2", "2,1", true),
    rewarded!("z:3", 3, (0, 0), "uniform", "1,2,4", "4,2,1", false),
    rewarded!("z:3", 2, (0, 1), "uniform", "1,2", "2,1", false),
    rewarded!("z:3", 2, (1, 0), "uniform", "1,2", "2,1", false),
    rewarded!("flipflop", 2, (0, 0), "uniform", "1,2", "2,1", true),
    rewarded!("flipflop", 3, (0, 0), "uniform", "1,2,4", "4,2,1", false),
    rewarded!("flipflop", 2, (0, 1), "uniform", "1,2", "2,1", false),
    rewarded!("parity", 4, (0, 0), "markov:9/10", "1,2,4,8", "8,4,2,1", true),
    rewarded!("parity", 5, (0, 0), "markov:9/10", "1,2,4,8,16", "16,8,4,2,1", false),
];

/// What is measured of a class, beside its traps and local maxima.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtProcessQuantity {
    /// Codes of reward 1.
    Optimal,
}

impl fmt::Display for ExtProcessQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExtProcessQuantity::Optimal => f.write_str("optimal codes"),
        }
    }
}

fn measure(records: &Records) -> Vec<Number> {
    CLASSES
        .iter()
        .flatten()
        .flat_map(|map| {
            let class = ClassId::named(map.name);
            let found = records.work.map(map.name);
            let text = |of: fn(&MapRecord) -> String| Measured::Exact(found.map(of));
            [
                Number::new(
                    class,
                    ExtProcessQuantity::Optimal,
                    text(|map| map.optimal.clone()),
                ),
                Number::new(class, LocalMaxima, text(|map| map.local_maxima.clone())),
                Number::new(class, Traps, text(|map| map.count().to_string())),
                Number::new(class, ByReward, text(|map| line(&rewards(map)))),
            ]
        })
        .collect()
}

/// The paper rewards the last token. It proves for uniform inputs and a Latin square that no code is a trap with window
/// (0,0), conjectures it for wider windows, and counts the traps of correlated parity.
fn paper() -> Vec<Entry> {
    let stated = |map: &Map| match (map.task, map.inputs, map.lengths) {
        ("parity" | "z:3", "uniform", _) => Some("0"),
        ("parity", "markov:9/10", [4]) => Some("8"),
        ("parity", "markov:9/10", [5]) => Some("32"),
        _ => None,
    };
    CLASSES
        .iter()
        .filter_map(|[outcome, ..]| {
            Some(entry(
                ClassId::named(outcome.name),
                Traps,
                Stated::Exact(stated(outcome)?),
            ))
        })
        .collect()
}
