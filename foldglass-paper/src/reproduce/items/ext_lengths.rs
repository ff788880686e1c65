//! ext:lengths: several lengths that share cells: traps, and who reaches reward 1, over sets of
//! lengths, windows and memory.

use std::fmt;

use foldglass::support::stats::{Interval, Proportion, fisher};
use kuva::prelude::TickFormat;

use super::ext_panels::{CurveStyle, PanelAxis, PanelCurve, PanelSpec, apart, page};
use super::trapsexist;
use crate::report::INTERVAL_LEVEL;
use crate::report::figure::{LOOKS, PlotPoint};
use crate::reproduce::classes::ClassId;
use crate::reproduce::ends::{self, Fates};
use crate::reproduce::item::{Item, Number, RecordFigure};
use crate::reproduce::judge::LEVEL;
use crate::reproduce::maps::{self, Map};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::{Need, Step};
use crate::reproduce::records::Records;
use crate::reproduce::stated::{Entry, Stated, entry};
use crate::reproduce::studies::{self, Scale};

/// The item.
pub static ITEM: Item = Item {
    label: "ext:lengths",
    title: "several lengths that share cells: traps, chains, RLVR",
    about: None,
    needs: &[
        Need::Study(studies::LENGTHS),
        Need::Work(Step {
            name: "ext:lengths",
            seconds: 200,
            leaves: &[maps::MAPS, "ends-lengths.json"],
            run: |work| {
                maps::make(PARITY, work)?;
                maps::make(&SHAPES, work)?;
                ends::make(studies::LENGTHS, CAP, work)
            },
        }),
    ],
    measure,
    paper,
    shows_all: true,
    figure: Some(RecordFigure {
        file: "ext-lengths.svg",
        shows: "Mean reward and runs at 1 against the temperature, for chains and RLVR on classes of several lengths",
        draw,
    }),
};

/// The most codes of a shelf that are visited.
const CAP: usize = 2_000;

/// Parity with window (0,0), mapped whole.
pub const PARITY: &[Map] = &[
    Map::parity("parity T=5", &[5]).smoke(),
    Map::parity("parity T=1,2", &[1, 2]).smoke(),
    Map::parity("parity T=2,3", &[2, 3]).smoke(),
    Map::parity("parity T=3,4", &[3, 4]).smoke(),
    Map::parity("parity T=2,5", &[2, 5]),
    Map::parity("parity T=4,5", &[4, 5]),
    Map::parity("parity T=1,2,3", &[1, 2, 3]).smoke(),
    Map::parity("parity T=2,3,4", &[2, 3, 4]).smoke(),
    Map::parity("parity T=3,4,5", &[3, 4, 5]),
    Map::parity("parity T=1,3,5", &[1, 3, 5]),
    Map::parity("parity T=2,3,5", &[2, 3, 5]),
    Map::parity("parity T=2,4,5", &[2, 4, 5]),
    Map::parity("parity T=4,5,6", &[4, 5, 6]),
    Map::parity("parity T=1..4", &[1, 2, 3, 4]).smoke(),
    Map::parity("parity T=2..5", &[2, 3, 4, 5]),
    Map::parity("parity T=3..6", &[3, 4, 5, 6]),
    Map::parity("parity T=1..5", &[1, 2, 3, 4, 5]).smoke(),
    Map::parity("parity T=2..6", &[2, 3, 4, 5, 6]),
    Map::parity("parity T=1..6", &[1, 2, 3, 4, 5, 6]),
    Map::parity("parity T=1..7", &[1, 2, 3, 4, 5, 6, 7]),
];

/// Other windows and memories, and three symbols, as far as a census reaches.
const SHAPES: [Map; 6] = [
    Map {
        window: [1, 0],
        ..Map::parity("parity (1,0) T=1,2,3", &[1, 2, 3]).smoke()
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
        ..Map::parity("parity memory 2 T=1,2,3", &[1, 2, 3]).smoke()
    },
    Map {
        memory: 2,
        ..Map::parity("parity memory 2 T=2,3,4", &[2, 3, 4])
    },
    Map {
        task: "z:3",
        ..Map::parity("Z_3 T=1,2", &[1, 2]).smoke()
    },
];

/// The classes of the study.
const CLASSES: [ClassId; 29] = [
    ClassId::new("qg-1to2", "quasigroup T=1..2"),
    ClassId::new("qg-1to3", "quasigroup T=1..3"),
    ClassId::new("qg-1to4", "quasigroup T=1..4"),
    ClassId::new("qg-1to6", "quasigroup T=1..6"),
    ClassId::new("qg-1to8", "quasigroup T=1..8"),
    ClassId::new("qg-1to2-w10", "quasigroup (1,0) T=1..2"),
    ClassId::new("qg-1to3-w10", "quasigroup (1,0) T=1..3"),
    ClassId::new("qg-1to4-w10", "quasigroup (1,0) T=1..4"),
    ClassId::new("qg-1to6-w10", "quasigroup (1,0) T=1..6"),
    ClassId::new("qg-1to8-w10", "quasigroup (1,0) T=1..8"),
    ClassId::new("qg-1to2-w01", "quasigroup (0,1) T=1..2"),
    ClassId::new("qg-1to3-w01", "quasigroup (0,1) T=1..3"),
    ClassId::new("qg-1to4-w01", "quasigroup (0,1) T=1..4"),
    ClassId::new("qg-1to6-w01", "quasigroup (0,1) T=1..6"),
    ClassId::new("qg-1to8-w01", "quasigroup (0,1) T=1..8"),
    ClassId::new("qg-1to2-m2", "quasigroup memory 2 T=1..2"),
    ClassId::new("qg-1to3-m2", "quasigroup memory 2 T=1..3"),
    ClassId::new("qg-1to4-m2", "quasigroup memory 2 T=1..4"),
    ClassId::new("qg-1to6-m2", "quasigroup memory 2 T=1..6"),
    ClassId::new("qg-1to8-m2", "quasigroup memory 2 T=1..8"),
    ClassId::new("qg-8", "quasigroup T=8"),
    ClassId::new("qg-3to5", "quasigroup T=3..5"),
    ClassId::new("qg-5to8", "quasigroup T=5..8"),
    ClassId::new("qg-2468", "quasigroup T=2,4,6,8"),
    ClassId::new("z5-1to8", "Z_5 T=1..8"),
    ClassId::new("z5-1to8-w01", "Z_5 (0,1) T=1..8"),
    ClassId::new("parity-2to4", "parity T=2..4"),
    ClassId::new("parity-1to8", "parity T=1..8"),
    ClassId::new("parity-1to8-w01", "parity (0,1) T=1..8"),
];

/// What is measured of a class, beside its traps and local maxima.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtLengthsQuantity {
    /// Runs at 1.
    AtOne(LengthsDynamics),
    /// The mean reward.
    Reward(LengthsDynamics),
    /// Runs in a certified trap.
    Trapped(LengthsDynamics),
    /// Runs on a shelf that was not exhausted.
    Bounded(LengthsDynamics),
    /// Which of the two reaches 1 more often.
    Better,
}

use ExtLengthsQuantity::{AtOne, Better, Bounded, Reward, Trapped};

/// The dynamics of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthsDynamics {
    /// Monte Carlo.
    Chain,
    /// Tabular RLVR.
    Rlvr,
}

impl LengthsDynamics {
    const ALL: [LengthsDynamics; 2] = [LengthsDynamics::Chain, LengthsDynamics::Rlvr];

    fn id(self) -> &'static str {
        match self {
            LengthsDynamics::Chain => "chain",
            LengthsDynamics::Rlvr => "rlvr",
        }
    }

    fn name(self) -> &'static str {
        match self {
            LengthsDynamics::Chain => "chain",
            LengthsDynamics::Rlvr => "RLVR",
        }
    }

    fn tau(self) -> f64 {
        match self {
            LengthsDynamics::Chain => 1e-13,
            LengthsDynamics::Rlvr => 1e-10,
        }
    }
}

impl fmt::Display for ExtLengthsQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AtOne(dynamics) => write!(f, "at 1, {}", dynamics.name()),
            Reward(dynamics) => write!(f, "J, {}", dynamics.name()),
            Trapped(dynamics) => write!(f, "certified traps, {}", dynamics.name()),
            Bounded(dynamics) => {
                write!(f, "shelves beyond {CAP} codes, {}", dynamics.name())
            }
            Better => f.write_str("reaches 1 more often"),
        }
    }
}

fn measure(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    for map in PARITY.iter().chain(&SHAPES) {
        let class = ClassId::named(map.name);
        let found = records.work.map(map.name);
        let traps = Measured::Exact(found.map(|record| record.count().to_string()));
        list.push(Number::new(
            class,
            trapsexist::TrapsExistQuantity::Traps,
            traps,
        ));
        let maxima = Measured::Exact(found.map(|record| record.local_maxima.clone()));
        list.push(Number::new(
            class,
            trapsexist::TrapsExistQuantity::LocalMaxima,
            maxima,
        ));
    }
    for class in CLASSES {
        for dynamics in LengthsDynamics::ALL {
            let mut add = |quantity, measured| list.push(Number::new(class, quantity, measured));
            let ends = records.ends(studies::LENGTHS, class.id, dynamics.id(), None);
            add(AtOne(dynamics), ends.at_one());
            add(Reward(dynamics), ends.mean());
            let fates = fates(records, class.id, dynamics);
            let share = |of: fn(&Fates) -> u64| {
                Measured::Count(Proportion {
                    successes: of(&fates),
                    trials: fates.runs(),
                })
            };
            add(Trapped(dynamics), share(|fates| fates.trapped));
            add(Bounded(dynamics), share(|fates| fates.bounded));
        }
        let better = Measured::Exact(better(records, class.id));
        list.push(Number::new(class, Better, better));
    }
    list
}

fn fates(records: &Records, class: &str, dynamics: LengthsDynamics) -> Fates {
    let own = records.work.ends(studies::LENGTHS);
    let point = own.and_then(|ends| ends.point(class, dynamics.id(), Some(dynamics.tau())));
    point.map(|point| point.are).unwrap_or_default()
}

/// Which of the two reaches 1 more often, by Fisher's test; none where no outcome would have told.
fn better(records: &Records, class: &str) -> Option<String> {
    let [chain, rlvr] = LengthsDynamics::ALL.map(|dynamics| at_one(records, class, dynamics));
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

fn at_one(records: &Records, class: &str, dynamics: LengthsDynamics) -> Option<Proportion> {
    let ends = records.ends(studies::LENGTHS, class, dynamics.id(), None);
    let share = Proportion {
        successes: ends.ones,
        trials: ends.rewards.len() as u64,
    };
    (share.trials > 0).then_some(share)
}

fn traps(class: &'static str, text: &'static str) -> Entry {
    let quantity = trapsexist::TrapsExistQuantity::Traps;
    entry(ClassId::named(class), quantity, Stated::Exact(text))
}

fn better_is(class: &'static str, text: &'static str) -> Entry {
    entry(ClassId::named(class), Better, Stated::Exact(text))
}

const SHARED: &str =
    "erratum 15: where lengths share cells, the tokens of a step that one ends at are its answers";
const REVERSED: &str =
    "erratum 15: without a symbol ahead the gap between chains and RLVR reverses";

/// The paper's text: untied classes with uncorrelated inputs have no traps, and chains do better.
#[rustfmt::skip]
fn paper() -> Vec<Entry> { vec![
    traps("parity T=5", "0"),
    traps("parity T=1,2,3", "0").reason(SHARED),
    traps("parity T=2,3,4", "0").reason(SHARED),
    traps("parity T=1..6", "0").reason(SHARED),
    traps("parity (0,1) T=1,2,3", "0"),
    better_is("quasigroup T=8", "chain"),
    better_is("quasigroup T=1..8", "chain").reason(REVERSED),
    better_is("quasigroup (0,1) T=1..8", "chain"),
] }

/// The shapes of the figure, and how their ids end.
const PANELS: [(&str, &str); 4] = [
    ("(a) window (0,0)", ""),
    ("(b) window (1,0)", "-w10"),
    ("(c) window (0,1)", "-w01"),
    ("(d) memory 2", "-m2"),
];

fn draw(records: &Records, scale: Scale) -> String {
    let smoke = if scale == Scale::Smoke {
        ", SMOKE SCALE"
    } else {
        ""
    };
    page(&PANELS.map(|(title, ending)| PanelSpec {
        title: format!("{title}, quasigroup{smoke}"),
        x: PanelAxis {
            label: "n, of lengths 1 .. n",
            ends: [1.5, 8.5],
            step: 1.0,
            ticks: TickFormat::Fixed(0),
        },
        y: PanelAxis {
            label: "share of runs at reward 1",
            ends: [-0.03, 1.05],
            step: 0.2,
            ticks: TickFormat::Fixed(1),
        },
        curves: apart(curves(records, ending), 0.08),
        notes: &["bars: 95 % intervals"],
    }))
}

fn curves(records: &Records, ending: &str) -> Vec<PanelCurve> {
    let point = |n: usize, dynamics: LengthsDynamics| {
        let share = at_one(records, &format!("qg-1to{n}{ending}"), dynamics)?;
        let Interval { low, high } = share.interval(INTERVAL_LEVEL);
        Some(PlotPoint {
            x: n as f64,
            y: share.rate()?,
            interval: Some(Interval { low, high }),
        })
    };
    let curve = |(dynamics, look)| PanelCurve {
        label: Some(match dynamics {
            LengthsDynamics::Chain => "Monte Carlo".to_owned(),
            LengthsDynamics::Rlvr => "tabular RLVR".to_owned(),
        }),
        look,
        drawn: CurveStyle::Both,
        points: [2, 3, 4, 6, 8]
            .iter()
            .filter_map(|&n| point(n, dynamics))
            .collect(),
    };
    LengthsDynamics::ALL
        .into_iter()
        .zip(LOOKS)
        .map(curve)
        .collect()
}
