//! ext:traps: the traps of correlated parity and of several lengths, by reward and by what they miss,
//! beside the laws.

use std::collections::BTreeMap;
use std::fmt;

use foldglass::Reward;
use foldglass::landscape::law::ballot;
use foldglass::landscape::law::words::{self, Counts, Law};
use foldglass::support::stats::Proportion;
use kuva::prelude::TickFormat;

use super::ext_lengths::PARITY as LENGTHS;
use super::ext_panels::{CurveStyle, PanelAxis, PanelCurve, PanelSpec, page};
use super::trapsexist::TrapsExistQuantity::Traps;
use crate::report::figure::{LOOKS, PlotPoint, powers_of_ten};
use crate::reproduce::classes::ClassId;
use crate::reproduce::item::{Item, Number, RecordFigure};
use crate::reproduce::maps::{self, Map, MapRecord};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::{Need, Step};
use crate::reproduce::records::Records;
use crate::reproduce::stated::{Entry, Stated, entry};
use crate::reproduce::studies::Scale;

/// The item.
pub static ITEM: Item = Item {
    label: "ext:traps",
    title: "traps of parity against the conjectured laws",
    about: None,
    needs: &[Need::Work(Step {
        name: "ext:traps",
        seconds: 200,
        leaves: &[maps::MAPS],
        run: |work| {
            maps::make(&CORRELATED.map(|class| class.map), work)?;
            maps::make(&UNCORRELATED, work)?;
            maps::make(LENGTHS, work)
        },
    })],
    measure,
    paper,
    shows_all: true,
    figure: Some(RecordFigure {
        file: "ext-traps.svg",
        shows: "Number of traps by reward, against T for correlated inputs and against the number of lengths: censuses lie on the lines of the law",
        draw,
    }),
};

/// A class of correlated parity, k being `repeats` of `of`.
#[derive(Clone, Copy)]
struct Correlated {
    map: Map,
    repeats: u32,
    of: u32,
}

macro_rules! correlated {
    ($repeats:literal / $of:literal, $length:literal) => {
        Correlated {
            map: Map {
                inputs: concat!("markov:", $repeats, "/", $of),
                smoke: $length <= 6,
                quick: $repeats == 9 && $of == 10 && 4 <= $length && $length <= 8,
                ..Map::parity(
                    concat!("parity k=", $repeats, "/", $of, " T=", $length),
                    &[$length],
                )
            },
            repeats: $repeats,
            of: $of,
        }
    };
}

/// The classes that the law of correlated inputs is checked on.
const CORRELATED: [Correlated; 31] = [
    correlated!(9 / 10, 3),
    correlated!(9 / 10, 4),
    correlated!(9 / 10, 5),
    correlated!(9 / 10, 6),
    correlated!(9 / 10, 7),
    correlated!(9 / 10, 8),
    correlated!(9 / 10, 9),
    correlated!(9 / 10, 10),
    correlated!(9 / 10, 11),
    correlated!(9 / 10, 12),
    correlated!(3 / 5, 4),
    correlated!(3 / 5, 5),
    correlated!(3 / 5, 6),
    correlated!(3 / 5, 7),
    correlated!(3 / 5, 8),
    correlated!(3 / 5, 9),
    correlated!(3 / 4, 4),
    correlated!(3 / 4, 5),
    correlated!(3 / 4, 6),
    correlated!(3 / 4, 7),
    correlated!(3 / 4, 8),
    correlated!(1 / 10, 4),
    correlated!(1 / 10, 5),
    correlated!(1 / 10, 6),
    correlated!(1 / 10, 7),
    correlated!(1 / 10, 8),
    correlated!(99 / 100, 4),
    correlated!(99 / 100, 5),
    correlated!(99 / 100, 6),
    correlated!(99 / 100, 7),
    correlated!(99 / 100, 8),
];

/// Where the inputs are not correlated, and there is none.
const UNCORRELATED: [Map; 1] = [correlated!(1 / 2, 8).map];

/// What is measured of a class, beside its traps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtTrapsQuantity {
    /// The traps that the law has.
    ByLaw,
    /// The traps by their reward.
    ByReward,
    /// Whether the law holds.
    Law,
    /// How many positions traps ignore.
    Ignored,
    /// Classes on which the law holds.
    Holding,
}

use ExtTrapsQuantity::{ByLaw, ByReward, Ignored};

impl fmt::Display for ExtTrapsQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ByLaw => "traps by the law",
            ByReward => "traps by reward",
            ExtTrapsQuantity::Law => "the law",
            Ignored => "numbers of positions ignored",
            ExtTrapsQuantity::Holding => "classes on which the law holds",
        })
    }
}

/// Ballot words of a census, which are few.
fn counted(letters: usize, downs: usize) -> u128 {
    u128::try_from(ballot(letters, downs)).expect("a census has few")
}

fn measure(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    let mut holding = Holding::default();
    for class in &CORRELATED {
        let law = words::correlated(class.map.lengths[0], class.repeats, class.of);
        let found = records.work.map(class.map.name);
        list.extend(rows(&class.map, found, &law, |misses| &misses.ignored));
        holding.add(found, &law, |misses| &misses.ignored);
        let sizes = Measured::Exact(found.map(numbers_ignored));
        list.push(Number::new(ClassId::named(class.map.name), Ignored, sizes));
    }
    let uncorrelated = UNCORRELATED[0].name;
    let none = records.work.map(uncorrelated);
    let none = Measured::Exact(none.map(|record| record.count().to_string()));
    list.push(Number::new(ClassId::named(uncorrelated), Traps, none));
    list.push(holding.number("correlated inputs"));
    let mut holding = Holding::default();
    for map in LENGTHS {
        let law = words::lengths(map.lengths);
        let found = records.work.map(map.name);
        list.extend(rows(map, found, &law, |misses| &misses.wrong));
        holding.add(found, &law, |misses| &misses.wrong);
    }
    list.push(holding.number("several lengths"));
    list
}

/// How many classes a law holds on.
#[derive(Default)]
struct Holding(u64, u64);

impl Holding {
    fn add(&mut self, found: Option<&MapRecord>, law: &Law, of: Missing) {
        if let Some(record) = found {
            self.0 += u64::from(differences(record, law, of).is_empty());
            self.1 += 1;
        }
    }

    fn number(&self, class: &'static str) -> Number {
        let share = Proportion {
            successes: self.0,
            trials: self.1,
        };
        let class = ClassId::named(class);
        Number::new(class, ExtTrapsQuantity::Holding, Measured::Count(share))
    }
}

/// What of a trap the law is about.
type Missing = fn(&maps::Misses) -> &Vec<usize>;

fn rows(map: &Map, found: Option<&MapRecord>, law: &Law, of: Missing) -> Vec<Number> {
    let says = |record: &MapRecord| {
        let unknown = TrapsByBarrier::of(record).unknown;
        match &differences(record, law, of)[..] {
            [] if unknown > 0 => format!("holds, {unknown} barriers not known"),
            [] => "holds".to_owned(),
            several => format!("fails: {}", several.join(", ")),
        }
    };
    let class = ClassId::named(map.name);
    let exact =
        |quantity: ExtTrapsQuantity, text| Number::new(class, quantity, Measured::Exact(text));
    let traps = Measured::Exact(found.map(|record| record.count().to_string()));
    vec![
        Number::new(class, Traps, traps),
        exact(ByLaw, found.map(|_| law.traps().to_string())),
        exact(ByReward, found.map(|record| line(&rewards(record)))),
        exact(ExtTrapsQuantity::Law, found.map(says)),
    ]
}

/// Rewards, the highest first, and how many traps have each.
pub(super) fn line(counts: &Counts<Reward>) -> String {
    let words: Vec<String> = counts
        .iter()
        .rev()
        .map(|(reward, count)| format!("{reward}: {count}"))
        .collect();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}

/// The traps of a map by their reward.
pub(super) fn rewards(record: &MapRecord) -> Counts<Reward> {
    let mut counts = Counts::new();
    for kind in &record.traps {
        *counts.entry(kind.reward.clone()).or_default() += kind.count;
    }
    counts
}

/// The traps by barrier.
#[derive(Default)]
struct TrapsByBarrier {
    known: Counts<Reward>,
    /// Traps whose barrier would have taken too many codes to find.
    unknown: u128,
}

impl TrapsByBarrier {
    fn of(record: &MapRecord) -> TrapsByBarrier {
        let mut barriers = TrapsByBarrier::default();
        for kind in &record.traps {
            match &kind.barrier {
                Some(barrier) => *barriers.known.entry(barrier.clone()).or_default() += kind.count,
                None => barriers.unknown += kind.count,
            }
        }
        barriers
    }

    /// Whether those that are known are among a law's, and the rest of the law's are as many as are
    /// not known.
    fn fit(&self, law: &Counts<Reward>) -> bool {
        let within = |(barrier, count): (&Reward, &u128)| law.get(barrier) >= Some(count);
        let known: u128 = self.known.values().sum();
        self.known.iter().all(within) && known + self.unknown == law.values().sum()
    }
}

/// In what a census and a law differ.
fn differences(record: &MapRecord, law: &Law, of: Missing) -> Vec<&'static str> {
    let mut sets: Counts<Vec<usize>> = BTreeMap::new();
    for misses in &record.misses {
        *sets.entry(of(misses).clone()).or_default() += misses.certified as u128;
    }
    let mut list = Vec::new();
    let mut compare = |what, equal: bool| {
        if !equal {
            list.push(what);
        }
    };
    compare("rewards", rewards(record) == law.rewards);
    compare("barriers", TrapsByBarrier::of(record).fit(&law.barriers));
    compare("what is missed", sets == law.sets);
    list
}

fn numbers_ignored(record: &MapRecord) -> String {
    let mut sizes: Vec<usize> = record.misses.iter().map(|m| m.ignored.len()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let words: Vec<String> = sizes.iter().map(usize::to_string).collect();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}

fn exact(class: &'static str, quantity: impl Into<super::Quantity>, text: &'static str) -> Entry {
    entry(ClassId::named(class), quantity, Stated::Exact(text))
}

const LAW: &str = "the law is ours; the paper has counted the traps";
const EVEN: &str = "erratum 2: always an even number of positions is ignored";

#[rustfmt::skip]
fn paper() -> Vec<Entry> { vec![
    exact("parity k=9/10 T=4", Traps, "8"),
    exact("parity k=9/10 T=5", Traps, "32"),
    exact("parity k=9/10 T=6", Traps, "160"),
    exact("parity k=9/10 T=7", Traps, "576"),
    exact("parity k=9/10 T=8", Traps, "2432"),
    exact("parity k=9/10 T=4", ByLaw, "8").note(LAW),
    exact("parity k=9/10 T=5", ByLaw, "32").note(LAW),
    exact("parity k=9/10 T=6", ByLaw, "160").note(LAW),
    exact("parity k=9/10 T=7", ByLaw, "576").note(LAW),
    exact("parity k=9/10 T=8", ByLaw, "2432").note(LAW),
    exact("parity k=9/10 T=8", Ignored, "1, 2").reason(EVEN),
    exact("parity k=1/2 T=8", Traps, "0"),
] }

/// How far the figure draws the law.
const FAR: usize = 16;

/// The most rewards that the figure tells apart.
const REWARDS: usize = 5;

fn draw(records: &Records, scale: Scale) -> String {
    let correlated: Vec<(usize, &MapRecord)> = CORRELATED
        .iter()
        .filter(|class| (class.repeats, class.of) == (9, 10))
        .filter_map(|class| Some((class.map.lengths[0], records.work.map(class.map.name)?)))
        .collect();
    let consecutive =
        |map: &&Map| map.lengths[0] == 1 && map.lengths.len() == map.lengths[map.lengths.len() - 1];
    let lengths: Vec<(usize, &MapRecord)> = LENGTHS
        .iter()
        .filter(consecutive)
        .filter_map(|map| Some((map.lengths.len(), records.work.map(map.name)?)))
        .collect();
    let smoke = if scale == Scale::Smoke {
        ", SMOKE SCALE"
    } else {
        ""
    };
    page(&[
        panel(
            format!("(a) correlated inputs, k = 9/10{smoke}"),
            "T",
            &correlated,
            |length, m| counted(length.saturating_sub(2), m) << (length - 1),
            8.0,
            &["marks: censuses", "lines: the law", "m: changes ignored"],
        ),
        panel(
            format!("(b) lengths 1 .. n, uniform inputs{smoke}"),
            "n",
            &lengths,
            |count, m| counted(count - 1, m),
            4.0,
            &[
                "marks: censuses",
                "lines: the law",
                "m: lengths answered",
                "wrongly",
            ],
        ),
    ])
}

/// Traps by reward, the m-th highest first, against a number; lines are the law.
fn panel(
    title: String,
    label: &'static str,
    found: &[(usize, &MapRecord)],
    law: impl Fn(usize, usize) -> u128,
    top: f64,
    notes: &'static [&'static str],
) -> PanelSpec {
    let point = |x: usize, y: u128| PlotPoint {
        x: x as f64,
        y: (y as f64).log10(),
        interval: None,
    };
    let mut curves = Vec::new();
    for (m, look) in (1..=REWARDS).zip(LOOKS) {
        let line = (2..=FAR)
            .filter(|&n| law(n, m) > 0)
            .map(|n| point(n, law(n, m)));
        curves.push(PanelCurve {
            label: Some(format!("m = {m}")),
            look,
            drawn: CurveStyle::Line,
            points: line.collect(),
        });
        let marks = found.iter().filter_map(|(n, record)| {
            let counts: Vec<u128> = rewards(record).into_values().rev().collect();
            Some(point(*n, *counts.get(m - 1)?))
        });
        curves.push(PanelCurve {
            label: None,
            look,
            drawn: CurveStyle::Marks,
            points: marks.collect(),
        });
    }
    PanelSpec {
        title,
        x: PanelAxis {
            label,
            ends: [2.0, FAR as f64],
            step: 2.0,
            ticks: TickFormat::Fixed(0),
        },
        y: PanelAxis {
            label: "traps",
            ends: [-0.4, top],
            step: 1.0,
            ticks: powers_of_ten(),
        },
        curves,
        notes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_fit_a_law_as_far_as_they_are_known() {
        let counts = |list: &[(&str, u128)]| -> Counts<Reward> {
            let count = |(text, count): &(&str, u128)| (text.parse().unwrap(), *count);
            list.iter().map(count).collect()
        };
        let law = counts(&[("1/6", 2), ("1/4", 1)]);
        let fit = |known: &[(&str, u128)], unknown| {
            let known = counts(known);
            TrapsByBarrier { known, unknown }.fit(&law)
        };
        assert!(fit(&[("1/6", 2), ("1/4", 1)], 0) && fit(&[("1/6", 1)], 2));
        assert!(!fit(&[("1/6", 3)], 0) && !fit(&[("1/6", 2)], 0) && !fit(&[("1/5", 1)], 2));
    }
}
