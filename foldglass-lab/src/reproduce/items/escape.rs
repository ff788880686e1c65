//! tab:escape: what networks lose on the straight lines along a chain's way to reward 1.

use foldglass::stats::Proportion;

use crate::reproduce::data::Data;
use crate::reproduce::fleets::{ESCAPE, Stretch};
use crate::reproduce::item::{Item, Quantity};
use crate::reproduce::measured::Measured;
use crate::reproduce::stated::{Entry, count, entry, greatest};

/// The item.
pub static ITEM: Item = Item {
    label: "tab:escape",
    title: "barriers on lines between networks along escape paths (committed records of an H200)",
    studies: &[],
    censuses: &[],
    certificates: false,
    work: None,
    fleets: &[ESCAPE],
    measure,
    paper: || PAPER.to_vec(),
    shows_all: true,
    figure: None,
};

/// The stretches: their names, the class and the place in the records.
const STRETCHES: [[&str; 3]; 9] = [
    ["(0,0) T=6, first", "(0,0)", "first"],
    ["(0,0) T=6, middle", "(0,0)", "middle"],
    ["(0,0) T=6, last", "(0,0)", "last"],
    ["(1,1) T=6, first", "(1,1)", "first"],
    ["(1,1) T=6, middle", "(1,1)", "middle"],
    ["(1,1) T=6, last", "(1,1)", "last"],
    ["(0,3) T=6, first", "(0,3)", "first"],
    ["(0,3) T=6, middle", "(0,3)", "middle"],
    ["(0,3) T=6, last", "(0,3)", "last"],
];

const ALL: &str = "all stretches";
const LAST: &str = "the last stretches";
const NONE: &str = "steps of barrier 0";
const LARGEST: &str = "largest barrier, quanta";
const EXACT: &str = "networks exact on all inputs";

/// Fewer points of the same lines: every so manieth of 65.
const COARSER: [(usize, &str); 3] = [
    (2, "steps of barrier 0, 33 points a line"),
    (4, "steps of barrier 0, 17 points a line"),
    (8, "steps of barrier 0, 9 points a line"),
];

/// Codes of a stretch.
const CODES: u64 = 21;

fn measure(data: &Data) -> Vec<Quantity> {
    let mut list = Vec::new();
    let all: Vec<&Stretch> = data.fleets.stretches.iter().collect();
    for [name, class, place] in STRETCHES {
        let is = |stretch: &&&Stretch| stretch.class == class && stretch.place == place;
        let own: Vec<&Stretch> = all.iter().filter(is).copied().collect();
        list.push(Quantity::new(name, NONE, none(&own, 1)));
        list.push(Quantity::new(name, LARGEST, largest(&own)));
    }
    let last = all.iter().filter(|stretch| stretch.place == "last");
    let last: Vec<&Stretch> = last.copied().collect();
    list.push(Quantity::new(LAST, NONE, none(&last, 1)));
    list.push(Quantity::new(ALL, NONE, none(&all, 1)));
    list.push(Quantity::new(ALL, LARGEST, largest(&all)));
    let exact = Proportion {
        successes: all.iter().map(|stretch| stretch.networks).sum(),
        trials: CODES * all.len() as u64,
    };
    list.push(Quantity::new(ALL, EXACT, Measured::Count(exact)));
    for (every, name) in COARSER {
        list.push(Quantity::new(ALL, name, none(&all, every)));
    }
    list
}

/// How many steps have no barrier, at every so manieth point.
fn none(stretches: &[&Stretch], every: usize) -> Measured {
    let barriers = || {
        stretches
            .iter()
            .flat_map(move |stretch| stretch.barriers(every))
    };
    Measured::Count(Proportion {
        successes: barriers().filter(|&barrier| barrier == 0).count() as u64,
        trials: barriers().count() as u64,
    })
}

fn largest(stretches: &[&Stretch]) -> Measured {
    let barriers = stretches.iter().flat_map(|stretch| stretch.barriers(1));
    Measured::Greatest(barriers.map(|barrier| barrier as f64).collect())
}

const POINTS: &str =
    "the paper does not say at how many points of a line; ours are 65, and fewer see less";
const QUANTA: &str = "35 quanta are 2.24e-3, which the text calls at most 2e-3";

#[rustfmt::skip]
const PAPER: &[Entry] = &[
    entry("(0,0) T=6, first", NONE, count(13, 20)), entry("(0,0) T=6, first", LARGEST, greatest(10.0, 20)),
    entry("(0,0) T=6, middle", NONE, count(15, 20)), entry("(0,0) T=6, middle", LARGEST, greatest(35.0, 20)).note(QUANTA),
    entry("(0,0) T=6, last", NONE, count(20, 20)), entry("(0,0) T=6, last", LARGEST, greatest(0.0, 20)),
    entry("(1,1) T=6, first", NONE, count(15, 20)), entry("(1,1) T=6, first", LARGEST, greatest(2.0, 20)),
    entry("(1,1) T=6, middle", NONE, count(17, 20)), entry("(1,1) T=6, middle", LARGEST, greatest(14.0, 20)),
    entry("(1,1) T=6, last", NONE, count(20, 20)), entry("(1,1) T=6, last", LARGEST, greatest(0.0, 20)),
    entry("(0,3) T=6, first", NONE, count(19, 20)), entry("(0,3) T=6, first", LARGEST, greatest(1.0, 20)),
    entry("(0,3) T=6, middle", NONE, count(20, 20)), entry("(0,3) T=6, middle", LARGEST, greatest(0.0, 20)),
    entry("(0,3) T=6, last", NONE, count(20, 20)), entry("(0,3) T=6, last", LARGEST, greatest(0.0, 20)),
    entry(LAST, NONE, count(60, 60)).reason(POINTS),
    entry(ALL, NONE, count(159, 180)).reason(POINTS),
    entry(ALL, LARGEST, greatest(35.0, 180)).reason(POINTS),
    entry(ALL, EXACT, count(189, 189)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::row::{Row, rows};

    #[test]
    fn the_committed_lines_are_compared_stretch_by_stretch() {
        let rows = rows(&ITEM, &Data::committed());
        assert_eq!(rows.len(), 9 * 2 + 4 + COARSER.len());
        let steps = |row: &&Row| row.quantity == NONE;
        let own: Vec<u64> = rows.iter().filter(steps).map(|row| row.n).collect();
        assert_eq!(own, [[20; 9].as_slice(), &[60, 180]].concat());
        // A point more can only find a barrier.
        let shares = rows.iter().filter(|row| row.row == ALL && row.n == 180);
        let shares: Vec<f64> = shares
            .filter(|row| row.quantity.starts_with(NONE))
            .map(|row| row.ours.unwrap())
            .collect();
        assert!(shares.len() == 4 && shares.is_sorted(), "{shares:?}");
    }
}
