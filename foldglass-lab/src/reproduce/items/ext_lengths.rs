//! ext:lengths: several lengths that share cells: traps, and who reaches reward 1, over sets of
//! lengths, windows and memory.

use foldglass::stats::{Interval, Proportion, fisher};
use kuva::prelude::TickFormat;

use super::ext_panels::{Axis, Curve, Drawn, Panel, apart, page};
use crate::report::INTERVAL_LEVEL;
use crate::report::figure::{LOOKS, Point};
use crate::reproduce::data::Data;
use crate::reproduce::ends::{self, Fates};
use crate::reproduce::item::{Figure, Item, Quantity};
use crate::reproduce::judge::LEVEL;
use crate::reproduce::maps::{self, Map};
use crate::reproduce::measured::Measured;
use crate::reproduce::stated::{Entry, Stated, entry};
use crate::reproduce::studies::{self, Scale};

/// The item.
pub static ITEM: Item = Item {
    label: "ext:lengths",
    title: "several lengths that share cells: traps, chains, RLVR",
    studies: &[studies::LENGTHS],
    censuses: &[],
    certificates: false,
    work: Some(|work| {
        maps::make(PARITY, work)?;
        maps::make(&SHAPES, work)?;
        ends::make(studies::LENGTHS, CAP, work)
    }),
    fleets: &[],
    measure,
    paper: || PAPER.to_vec(),
    shows_all: true,
    figure: Some(Figure {
        file: "ext-lengths.svg",
        draw,
    }),
};

/// The most codes of a shelf that are visited.
const CAP: usize = 2_000;

/// Parity with window (0,0), mapped whole.
pub const PARITY: &[Map] = &[
    Map::parity("parity T=5", &[5]).quick(),
    Map::parity("parity T=1,2", &[1, 2]).quick(),
    Map::parity("parity T=2,3", &[2, 3]).quick(),
    Map::parity("parity T=3,4", &[3, 4]).quick(),
    Map::parity("parity T=2,5", &[2, 5]),
    Map::parity("parity T=4,5", &[4, 5]),
    Map::parity("parity T=1,2,3", &[1, 2, 3]).quick(),
    Map::parity("parity T=2,3,4", &[2, 3, 4]).quick(),
    Map::parity("parity T=3,4,5", &[3, 4, 5]),
    Map::parity("parity T=1,3,5", &[1, 3, 5]),
    Map::parity("parity T=2,3,5", &[2, 3, 5]),
    Map::parity("parity T=2,4,5", &[2, 4, 5]),
    Map::parity("parity T=4,5,6", &[4, 5, 6]),
    Map::parity("parity T=1..4", &[1, 2, 3, 4]).quick(),
    Map::parity("parity T=2..5", &[2, 3, 4, 5]),
    Map::parity("parity T=3..6", &[3, 4, 5, 6]),
    Map::parity("parity T=1..5", &[1, 2, 3, 4, 5]).quick(),
    Map::parity("parity T=2..6", &[2, 3, 4, 5, 6]),
    Map::parity("parity T=1..6", &[1, 2, 3, 4, 5, 6]),
    Map::parity("parity T=1..7", &[1, 2, 3, 4, 5, 6, 7]),
];

/// Other windows and memories, and three symbols, as far as a census reaches.
const SHAPES: [Map; 6] = [
    Map {
        window: [1, 0],
        ..Map::parity("parity (1,0) T=1,2,3", &[1, 2, 3]).quick()
    },
    Map {
        window: [1, 0],
        ..Map::parity("parity (1,0) T=2,3,4", &[2, 3, 4])
    },
    Map {
        window: [0, 1],
        ..Map::parity("parity (0,1) T=1,2,3", &[1, 2, 3])
    },
    Map {
        memory: 2,
        ..Map::parity("parity memory 2 T=1,2,3", &[1, 2, 3]).quick()
    },
    Map {
        memory: 2,
        ..Map::parity("parity memory 2 T=2,3,4", &[2, 3, 4])
    },
    Map {
        task: "z:3",
        ..Map::parity("Z_3 T=1,2", &[1, 2]).quick()
    },
];

/// The classes of the study: id and name.
const CLASSES: [(&str, &str); 29] = [
    ("qg-1to2", "quasigroup T=1..2"),
    ("qg-1to3", "quasigroup T=1..3"),
    ("qg-1to4", "quasigroup T=1..4"),
    ("qg-1to6", "quasigroup T=1..6"),
    ("qg-1to8", "quasigroup T=1..8"),
    ("qg-1to2-w10", "quasigroup (1,0) T=1..2"),
    ("qg-1to3-w10", "quasigroup (1,0) T=1..3"),
    ("qg-1to4-w10", "quasigroup (1,0) T=1..4"),
    ("qg-1to6-w10", "quasigroup (1,0) T=1..6"),
    ("qg-1to8-w10", "quasigroup (1,0) T=1..8"),
    ("qg-1to2-w01", "quasigroup (0,1) T=1..2"),
    ("qg-1to3-w01", "quasigroup (0,1) T=1..3"),
    ("qg-1to4-w01", "quasigroup (0,1) T=1..4"),
    ("qg-1to6-w01", "quasigroup (0,1) T=1..6"),
    ("qg-1to8-w01", "quasigroup (0,1) T=1..8"),
    ("qg-1to2-m2", "quasigroup memory 2 T=1..2"),
    ("qg-1to3-m2", "quasigroup memory 2 T=1..3"),
    ("qg-1to4-m2", "quasigroup memory 2 T=1..4"),
    ("qg-1to6-m2", "quasigroup memory 2 T=1..6"),
    ("qg-1to8-m2", "quasigroup memory 2 T=1..8"),
    ("qg-8", "quasigroup T=8"),
    ("qg-3to5", "quasigroup T=3..5"),
    ("qg-5to8", "quasigroup T=5..8"),
    ("qg-2468", "quasigroup T=2,4,6,8"),
    ("z5-1to8", "Z_5 T=1..8"),
    ("z5-1to8-w01", "Z_5 (0,1) T=1..8"),
    ("parity-2to4", "parity T=2..4"),
    ("parity-1to8", "parity T=1..8"),
    ("parity-1to8-w01", "parity (0,1) T=1..8"),
];

/// The dynamics of the study, as they are called.
const DYNAMICS: [(&str, &str, f64); 2] = [("chain", "chain", 1e-13), ("rlvr", "RLVR", 1e-10)];

fn measure(data: &Data) -> Vec<Quantity> {
    let mut list = Vec::new();
    for map in PARITY.iter().chain(&SHAPES) {
        let found = data.work.maps.iter().find(|record| record.name == map.name);
        let mut exact = |name, text| {
            list.push(Quantity::new(map.name, name, Measured::Exact(text)));
        };
        exact("traps", found.map(|record| record.count().to_string()));
        let maxima = found.map(|record| record.local_maxima.clone());
        exact("local maxima", maxima);
    }
    for (id, name) in CLASSES {
        for (dynamics, called, tau) in DYNAMICS {
            let ends = data.ends(studies::LENGTHS, id, dynamics, None);
            list.push(Quantity::new(
                name,
                format!("at 1, {called}"),
                ends.at_one(),
            ));
            list.push(Quantity::new(name, format!("J, {called}"), ends.mean()));
            let fates = fates(data, id, dynamics, tau);
            let share = |of: fn(&Fates) -> u64| {
                Measured::Count(Proportion {
                    successes: of(&fates),
                    trials: fates.runs(),
                })
            };
            let trapped = share(|fates| fates.trapped);
            list.push(Quantity::new(
                name,
                format!("certified traps, {called}"),
                trapped,
            ));
            let bounded = share(|fates| fates.bounded);
            let what = format!("shelves beyond {CAP} codes, {called}");
            list.push(Quantity::new(name, what, bounded));
        }
        let better = Measured::Exact(better(data, id));
        list.push(Quantity::new(name, "reaches 1 more often", better));
    }
    list
}

fn fates(data: &Data, class: &str, dynamics: &str, tau: f64) -> Fates {
    let own = data
        .work
        .ends
        .iter()
        .find(|ends| ends.study == studies::LENGTHS.name);
    let point = own.and_then(|ends| ends.point(class, dynamics, Some(tau)));
    point.map(|point| point.are).unwrap_or_default()
}

/// Which of the two reaches 1 more often, by Fisher's test; none where no outcome would have told.
fn better(data: &Data, class: &str) -> Option<String> {
    let [chain, rlvr] = DYNAMICS.map(|(dynamics, ..)| at_one(data, class, dynamics));
    let (chain, rlvr) = (chain?, rlvr?);
    let [none, all] = [(0, chain.trials), (rlvr.trials, rlvr.trials)]
        .map(|(successes, trials)| Proportion { successes, trials });
    if fisher(&none, &all) >= LEVEL {
        return None;
    }
    Some(
        if fisher(&chain, &rlvr) >= LEVEL {
            "neither"
        } else if chain.rate() > rlvr.rate() {
            "chain"
        } else {
            "RLVR"
        }
        .to_owned(),
    )
}

fn at_one(data: &Data, class: &str, dynamics: &str) -> Option<Proportion> {
    let ends = data.ends(studies::LENGTHS, class, dynamics, None);
    let share = Proportion {
        successes: ends.ones,
        trials: ends.rewards.len() as u64,
    };
    (share.trials > 0).then_some(share)
}

const fn exact(class: &'static str, quantity: &'static str, text: &'static str) -> Entry {
    entry(class, quantity, Stated::Exact(text))
}

const SHARED: &str =
    "erratum 15: where lengths share cells, the tokens of a step that one ends at are its answers";
const REVERSED: &str =
    "erratum 15: without a symbol ahead the gap between chains and RLVR reverses";

/// The paper's text: untied classes with uncorrelated inputs have no traps, and chains do better.
#[rustfmt::skip]
const PAPER: &[Entry] = &[
    exact("parity T=5", "traps", "0"),
    exact("parity T=1,2,3", "traps", "0").reason(SHARED),
    exact("parity T=2,3,4", "traps", "0").reason(SHARED),
    exact("parity T=1..6", "traps", "0").reason(SHARED),
    exact("parity (0,1) T=1,2,3", "traps", "0"),
    exact("quasigroup T=8", "reaches 1 more often", "chain"),
    exact("quasigroup T=1..8", "reaches 1 more often", "chain").reason(REVERSED),
    exact("quasigroup (0,1) T=1..8", "reaches 1 more often", "chain"),
];

/// The shapes of the figure, and how their ids end.
const PANELS: [(&str, &str); 4] = [
    ("(a) window (0,0)", ""),
    ("(b) window (1,0)", "-w10"),
    ("(c) window (0,1)", "-w01"),
    ("(d) memory 2", "-m2"),
];

fn draw(data: &Data, scale: Scale) -> String {
    let smoke = if scale == Scale::Quick {
        ", SMOKE SCALE"
    } else {
        ""
    };
    page(&PANELS.map(|(title, ending)| Panel {
        title: format!("{title}, quasigroup{smoke}"),
        x: Axis {
            label: "n, of lengths 1 .. n",
            ends: [1.5, 8.5],
            step: 1.0,
            ticks: TickFormat::Fixed(0),
        },
        y: Axis {
            label: "share of runs at reward 1",
            ends: [-0.03, 1.05],
            step: 0.2,
            ticks: TickFormat::Fixed(1),
        },
        curves: apart(curves(data, ending), 0.08),
        notes: &["bars: 95 % intervals"],
    }))
}

fn curves(data: &Data, ending: &str) -> Vec<Curve> {
    let point = |n: usize, dynamics: &str| {
        let share = at_one(data, &format!("qg-1to{n}{ending}"), dynamics)?;
        let Interval { low, high } = share.interval(INTERVAL_LEVEL);
        Some(Point {
            x: n as f64,
            y: share.rate()?,
            interval: Some(Interval { low, high }),
        })
    };
    let curve = |((dynamics, called, _), look)| Curve {
        label: Some(match called {
            "chain" => "Monte Carlo".to_owned(),
            _ => "tabular RLVR".to_owned(),
        }),
        look,
        drawn: Drawn::Both,
        points: [2, 3, 4, 6, 8]
            .iter()
            .filter_map(|&n| point(n, dynamics))
            .collect(),
    };
    DYNAMICS.into_iter().zip(LOOKS).map(curve).collect()
}
