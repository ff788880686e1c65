//! tab:escape: what networks lose on the straight lines along a chain's way to reward 1.

use std::fmt;

use foldglass::support::stats::Proportion;

use crate::reproduce::classes::ClassId;
use crate::reproduce::fleets::{ESCAPE, Stretch};
use crate::reproduce::item::{About, Item, Number};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::Need;
use crate::reproduce::records::Records;
use crate::reproduce::stated::{Entry, count, entry, greatest};

/// The item.
pub static ITEM: Item = Item {
    label: "tab:escape",
    title: "barriers on lines between networks along escape paths (committed records of an H200)",
    about: Some(About {
        place: 11,
        number: "Table 4",
        section: "section 5.1, app. G.4",
        says: "Networks follow an escape path nearly without barriers between neighbours.",
        stakes: "It supports that networks inherit the benign landscape; how many steps are free of barriers depends \
                 on how finely a line is looked at.",
    }),
    needs: &[Need::Fleet(ESCAPE)],
    measure,
    paper,
    shows_all: true,
    figure: None,
};

/// What is measured of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscapeQuantity {
    /// Steps whose line has no barrier, at so many points of it.
    NoBarrier {
        /// Points of a line, both ends included.
        points: usize,
    },
    /// The largest barrier, in inputs.
    LargestBarrier,
    /// Networks that reproduce their code on every input.
    Exact,
}

use EscapeQuantity::{Exact, LargestBarrier, NoBarrier};

/// Points of a line in the records.
pub const POINTS: usize = 65;

/// Fewer points of the same lines.
pub const FEWER: [usize; 3] = [33, 17, 9];

/// No barrier at any point of the records.
pub const NONE: EscapeQuantity = NoBarrier { points: POINTS };

impl fmt::Display for EscapeQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoBarrier { points: POINTS } => f.write_str("steps of barrier 0"),
            NoBarrier { points } => write!(f, "steps of barrier 0, {points} points a line"),
            LargestBarrier => f.write_str("largest barrier, quanta"),
            Exact => f.write_str("networks exact on all inputs"),
        }
    }
}

/// The windows of the codes, by their names in the records, and the stretches of each chain.
pub const WINDOWS: [&str; 3] = ["(0,0)", "(1,1)", "(0,3)"];
/// Likewise.
pub const PLACES: [&str; 3] = ["first", "middle", "last"];

/// The stretches, window by window and place by place.
#[rustfmt::skip]
pub const STRETCHES: [[ClassId; 3]; 3] = [
    [ClassId::named("(0,0) T=6, first"), ClassId::named("(0,0) T=6, middle"), ClassId::named("(0,0) T=6, last")],
    [ClassId::named("(1,1) T=6, first"), ClassId::named("(1,1) T=6, middle"), ClassId::named("(1,1) T=6, last")],
    [ClassId::named("(0,3) T=6, first"), ClassId::named("(0,3) T=6, middle"), ClassId::named("(0,3) T=6, last")],
];

/// All stretches together.
pub const ALL: ClassId = ClassId::named("all stretches");
/// The last ones of the three windows.
pub const LAST: ClassId = ClassId::named("the last stretches");

/// Codes of a stretch.
const CODES: u64 = 21;

fn measure(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    let all: Vec<&Stretch> = records.fleets.stretches.iter().collect();
    for (window, stretches) in WINDOWS.into_iter().zip(STRETCHES) {
        for (place, class) in PLACES.into_iter().zip(stretches) {
            let is = |stretch: &&&Stretch| stretch.class == window && stretch.place == place;
            let own: Vec<&Stretch> = all.iter().filter(is).copied().collect();
            list.push(Number::new(class, NONE, none(&own, POINTS)));
            list.push(Number::new(class, LargestBarrier, largest(&own)));
        }
    }
    let last = all.iter().filter(|stretch| stretch.place == "last");
    let last: Vec<&Stretch> = last.copied().collect();
    list.push(Number::new(LAST, NONE, none(&last, POINTS)));
    list.push(Number::new(ALL, NONE, none(&all, POINTS)));
    list.push(Number::new(ALL, LargestBarrier, largest(&all)));
    let exact = Proportion {
        successes: all.iter().map(|stretch| stretch.networks).sum(),
        trials: CODES * all.len() as u64,
    };
    list.push(Number::new(ALL, Exact, Measured::Count(exact)));
    for points in FEWER {
        list.push(Number::new(ALL, NoBarrier { points }, none(&all, points)));
    }
    list
}

/// How many steps have no barrier, at so many points of a line.
fn none(stretches: &[&Stretch], points: usize) -> Measured {
    let every = (POINTS - 1) / (points - 1);
    let barriers = stretches.iter().flat_map(|stretch| stretch.barriers(every));
    Measured::share(barriers, |barrier| barrier == 0)
}

fn largest(stretches: &[&Stretch]) -> Measured {
    let barriers = stretches.iter().flat_map(|stretch| stretch.barriers(1));
    Measured::Greatest(barriers.map(|barrier| barrier as f64).collect())
}

const UNSAID: &str =
    "the paper does not say at how many points of a line; ours are 65, and fewer see less";
const EVERY: &str = "compared as samples of lines; the text says it of every line, which one barrier contradicts (g4:last-stretch)";
const QUANTA: &str = "35 quanta are 2.24e-3, which the text calls at most 2e-3";

#[rustfmt::skip]
fn paper() -> Vec<Entry> { vec![
    entry(STRETCHES[0][0], NONE, count(13, 20)), entry(STRETCHES[0][0], LargestBarrier, greatest(10.0, 20)),
    entry(STRETCHES[0][1], NONE, count(15, 20)), entry(STRETCHES[0][1], LargestBarrier, greatest(35.0, 20)).note(QUANTA),
    entry(STRETCHES[0][2], NONE, count(20, 20)), entry(STRETCHES[0][2], LargestBarrier, greatest(0.0, 20)),
    entry(STRETCHES[1][0], NONE, count(15, 20)), entry(STRETCHES[1][0], LargestBarrier, greatest(2.0, 20)),
    entry(STRETCHES[1][1], NONE, count(17, 20)), entry(STRETCHES[1][1], LargestBarrier, greatest(14.0, 20)),
    entry(STRETCHES[1][2], NONE, count(20, 20)), entry(STRETCHES[1][2], LargestBarrier, greatest(0.0, 20)),
    entry(STRETCHES[2][0], NONE, count(19, 20)), entry(STRETCHES[2][0], LargestBarrier, greatest(1.0, 20)),
    entry(STRETCHES[2][1], NONE, count(20, 20)), entry(STRETCHES[2][1], LargestBarrier, greatest(0.0, 20)),
    entry(STRETCHES[2][2], NONE, count(20, 20)), entry(STRETCHES[2][2], LargestBarrier, greatest(0.0, 20)),
    entry(LAST, NONE, count(60, 60)).reason(UNSAID).note(EVERY).protocol(),
    entry(ALL, NONE, count(159, 180)).reason(UNSAID).protocol(),
    entry(ALL, LargestBarrier, greatest(35.0, 180)).reason(UNSAID).protocol(),
    entry(ALL, Exact, count(189, 189)),
] }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::row::{Row, rows};
    use crate::reproduce::studies::Scale;

    #[test]
    fn the_committed_lines_are_compared_stretch_by_stretch() {
        let rows = rows(&ITEM, &Records::planned(Scale::Full));
        assert_eq!(rows.len(), 9 * 2 + 4 + FEWER.len());
        let steps = |row: &&Row| row.key.quantity == NONE.into();
        let own: Vec<u64> = rows.iter().filter(steps).map(|row| row.n).collect();
        assert_eq!(own, [[20; 9].as_slice(), &[60, 180]].concat());
        // A point more can only find a barrier.
        let shares = rows
            .iter()
            .filter(|row| row.key.class == ALL && row.n == 180);
        let shares: Vec<f64> = shares
            .filter(|row| row.quantity.starts_with("steps of barrier 0"))
            .map(|row| row.ours.unwrap())
            .collect();
        assert!(shares.len() == 4 && shares.is_sorted(), "{shares:?}");
    }
}
