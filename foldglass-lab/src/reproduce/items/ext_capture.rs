//! ext:capture: how often quenches of correlated parity end in a trap, beside the traps' share of
//! codes and of basins.

use foldglass::stats::Proportion;
use kuva::prelude::TickFormat;

use super::ext_panels::{Axis, Curve, Drawn, Panel, apart, page};
use crate::report::INTERVAL_LEVEL;
use crate::report::figure::{LOOKS, Look, Point, powers_of_ten};
use crate::reproduce::basins::{self, BasinRecord, Flood};
use crate::reproduce::data::Data;
use crate::reproduce::ends::{self, Fates};
use crate::reproduce::item::{Figure, Item, Quantity};
use crate::reproduce::measured::Measured;
use crate::reproduce::stated::{Entry, count, entry};
use crate::reproduce::studies::{self, Scale};

/// The item.
pub static ITEM: Item = Item {
    label: "ext:capture",
    title: "quenches of correlated parity that end in traps",
    studies: &[studies::CAPTURE],
    censuses: &[],
    certificates: false,
    work: Some(|work| {
        basins::make(&CLASSES.map(|class| class.flood), work)?;
        ends::make(studies::CAPTURE, CAP, work)
    }),
    fleets: &[],
    measure,
    paper: || PAPER.to_vec(),
    shows_all: true,
    figure: Some(Figure {
        file: "ext-capture.svg",
        draw,
    }),
};

/// The most codes of a shelf that are visited.
const CAP: usize = 20_000;

/// A class of the study.
#[derive(Clone, Copy)]
struct Class {
    name: &'static str,
    flood: Flood,
}

const fn class(name: &'static str, id: &'static str, length: usize, repeat: &'static str) -> Class {
    Class {
        name,
        flood: Flood { id, length, repeat },
    }
}

const CLASSES: [Class; 12] = [
    class("parity k=9/10 T=4", "T4-k9-10", 4, "9/10"),
    class("parity k=9/10 T=5", "T5-k9-10", 5, "9/10"),
    class("parity k=9/10 T=6", "T6-k9-10", 6, "9/10"),
    class("parity k=9/10 T=7", "T7-k9-10", 7, "9/10"),
    class("parity k=9/10 T=8", "T8-k9-10", 8, "9/10"),
    class("parity k=9/10 T=10", "T10-k9-10", 10, "9/10"),
    class("parity k=3/5 T=6", "T6-k3-5", 6, "3/5"),
    class("parity k=3/5 T=8", "T8-k3-5", 8, "3/5"),
    class("parity k=3/4 T=6", "T6-k3-4", 6, "3/4"),
    class("parity k=3/4 T=8", "T8-k3-4", 8, "3/4"),
    class("parity k=99/100 T=6", "T6-k99-100", 6, "99/100"),
    class("parity k=99/100 T=8", "T8-k99-100", 8, "99/100"),
];

/// The dynamics: id, name, and whether they are run at each temperature.
const DYNAMICS: [(&str, &str, bool); 6] = [
    ("metropolis", "Metropolis", true),
    ("heat-bath", "heat bath", true),
    ("cavi", "CAVI", true),
    ("gradient", "gradient", true),
    ("annealed", "Metropolis annealed", false),
    ("cavi-annealed", "CAVI annealed", false),
];

const TAUS: [f64; 5] = [1e-4, 2e-3, 5e-3, 1e-2, 2e-2];

/// The paper's temperature.
const QUENCH: f64 = 2e-3;

fn measure(data: &Data) -> Vec<Quantity> {
    CLASSES
        .iter()
        .flat_map(|class| of_class(data, class))
        .collect()
}

fn of_class(data: &Data, class: &Class) -> Vec<Quantity> {
    let mut list = Vec::new();
    let found = basin(data, class);
    let mut exact = |name: &str, of: fn(&BasinRecord) -> f64| {
        let text = found.map(|found| format!("{:.3e}", of(found)));
        list.push(Quantity::new(class.name, name, Measured::Exact(text)));
    };
    exact("traps, of all codes", |found| found.traps);
    exact("basins of traps, random ascent", |found| found.random.trap);
    exact("basins of optima, random ascent", |found| {
        found.random.optimum
    });
    exact("basins of traps, steepest ascent", |found| {
        found.steepest.trap
    });
    exact("basins of optima, steepest ascent", |found| {
        found.steepest.optimum
    });
    for (id, called, scanned) in DYNAMICS {
        let taus: Vec<Option<f64>> = if scanned {
            TAUS.map(Some).to_vec()
        } else {
            vec![None]
        };
        for tau in taus {
            let at = tau.map_or(String::new(), |tau| format!(", tau = {tau}"));
            let (are, lead) = fates(data, class, id, tau);
            let mut row = |what: &str, fates: &Fates, of: fn(&Fates) -> u64| {
                let share = Measured::Count(proportion(fates, of));
                list.push(Quantity::new(
                    class.name,
                    format!("{what}, {called}{at}"),
                    share,
                ));
            };
            row("at 1", &are, |fates| fates.optimal);
            row("in a trap", &are, |fates| fates.trapped);
            row("leads to a trap", &lead, |fates| fates.trapped);
        }
    }
    list
}

fn proportion(fates: &Fates, of: fn(&Fates) -> u64) -> Proportion {
    Proportion {
        successes: of(fates),
        trials: fates.runs(),
    }
}

fn basin<'a>(data: &'a Data, class: &Class) -> Option<&'a BasinRecord> {
    let mut basins = data.work.basins.iter();
    basins.find(|record| record.id == class.flood.id)
}

/// Where runs are, and where they lead.
fn fates(data: &Data, class: &Class, dynamics: &str, tau: Option<f64>) -> (Fates, Fates) {
    let own = data
        .work
        .ends
        .iter()
        .find(|ends| ends.study == studies::CAPTURE.name);
    let point = own.and_then(|ends| ends.point(class.flood.id, dynamics, tau));
    point
        .map(|point| (point.are, point.lead))
        .unwrap_or_default()
}

const FOUND: &str = "fig:trapsfixed (a): 13 and 14 of 128 chains; the text says one in eight";

#[rustfmt::skip]
const PAPER: &[Entry] = &[
    entry("parity k=9/10 T=6", "leads to a trap, Metropolis, tau = 0.002", count(13, 128)).reference(count(12, 128)).note(FOUND),
    entry("parity k=9/10 T=8", "leads to a trap, Metropolis, tau = 0.002", count(14, 128)).reference(count(19, 128)).note(FOUND),
];

fn draw(data: &Data, scale: Scale) -> String {
    let smoke = if scale == Scale::Quick {
        ", SMOKE SCALE"
    } else {
        ""
    };
    let correlated = |class: &&Class| class.flood.repeat == "9/10";
    let lengths: Vec<&Class> = CLASSES.iter().filter(correlated).collect();
    page(&[
        against_length(data, &lengths, smoke),
        against_tau(data, "parity k=9/10 T=8", "(b)", smoke),
        against_repeat(data, smoke),
        against_tau(data, "parity k=3/5 T=8", "(d)", smoke),
    ])
}

/// A point of a curve.
fn point(data: &Data, class: &Class, dynamics: &str, tau: Option<f64>, x: f64) -> Option<Point> {
    let share = proportion(&fates(data, class, dynamics, tau).1, |fates| fates.trapped);
    Some(Point {
        x,
        y: share.rate()?,
        interval: Some(share.interval(INTERVAL_LEVEL)),
    })
}

fn share_axis() -> Axis {
    Axis {
        label: "share that leads to a trap",
        ends: [-0.015, 0.45],
        step: 0.1,
        ticks: TickFormat::Fixed(1),
    }
}

/// A curve a dynamics, at the paper's temperature or annealed.
fn quenches(data: &Data, classes: &[&Class], x: impl Fn(&Class) -> f64) -> Vec<Curve> {
    let mut curves = Vec::new();
    for ((id, called, scanned), look) in DYNAMICS.into_iter().zip(LOOKS) {
        let tau = scanned.then_some(QUENCH);
        let points = classes
            .iter()
            .filter_map(|class| point(data, class, id, tau, x(class)));
        curves.push(curve(called, look, points.collect()));
    }
    let random = |class: &&Class| {
        Some(Point {
            x: x(class),
            y: basin(data, class)?.random.trapped(),
            interval: None,
        })
    };
    let points = classes.iter().filter_map(random).collect();
    curves.push(curve("basins of ascent", LOOKS[6], points));
    curves
}

fn curve(label: &str, look: Look, points: Vec<Point>) -> Curve {
    Curve {
        label: Some(label.to_owned()),
        look,
        drawn: Drawn::Both,
        points,
    }
}

const NOTES: &[&str] = &[
    "bars: 95 % intervals",
    "basins: of the codes",
    "that random ascent",
    "brings to an optimum",
    "or a trap",
];

fn against_length(data: &Data, classes: &[&Class], smoke: &str) -> Panel {
    Panel {
        title: format!("(a) k = 9/10, τ = 0.002{smoke}"),
        x: Axis {
            label: "T",
            ends: [3.5, 10.5],
            step: 1.0,
            ticks: TickFormat::Fixed(0),
        },
        y: share_axis(),
        curves: apart(
            quenches(data, classes, |class| class.flood.length as f64),
            0.07,
        ),
        notes: NOTES,
    }
}

fn against_repeat(data: &Data, smoke: &str) -> Panel {
    let k = |class: &Class| {
        let (repeats, of) = class.flood.repeat.split_once('/').expect("a fraction");
        let number = |text: &str| text.parse::<f64>().expect("a whole number");
        number(repeats) / number(of)
    };
    let mut classes: Vec<&Class> = CLASSES
        .iter()
        .filter(|class| class.flood.length == 8)
        .collect();
    classes.sort_by(|a, b| k(a).total_cmp(&k(b)));
    Panel {
        title: format!("(c) T = 8, τ = 0.002{smoke}"),
        x: Axis {
            label: "k",
            ends: [0.55, 1.05],
            step: 0.1,
            ticks: TickFormat::Fixed(1),
        },
        y: share_axis(),
        curves: apart(quenches(data, &classes, k), 0.005),
        notes: NOTES,
    }
}

fn against_tau(data: &Data, name: &str, letter: &str, smoke: &str) -> Panel {
    let class = CLASSES
        .iter()
        .find(|class| class.name == name)
        .expect("a class");
    let mut curves = Vec::new();
    for ((id, called, scanned), look) in DYNAMICS.into_iter().zip(LOOKS) {
        if scanned {
            let points = TAUS
                .iter()
                .filter_map(|&tau| point(data, class, id, Some(tau), tau.log10()));
            curves.push(curve(called, look, points.collect()));
        }
    }
    let Flood { length, repeat, .. } = class.flood;
    Panel {
        title: format!("{letter} k = {repeat}, T = {length}{smoke}"),
        x: Axis {
            label: "τ",
            ends: [-4.2, -1.5],
            step: 1.0,
            ticks: powers_of_ten(),
        },
        y: share_axis(),
        curves: apart(curves, 0.03),
        notes: &["bars: 95 % intervals"],
    }
}
