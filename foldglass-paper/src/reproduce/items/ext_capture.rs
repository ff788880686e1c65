//! ext:capture: how often quenches of correlated parity end in a trap, beside the traps' share of
//! codes and of basins.

use std::fmt;

use foldglass::support::stats::Proportion;
use kuva::prelude::TickFormat;

use super::ext_panels::{CurveStyle, PanelAxis, PanelCurve, PanelSpec, apart, page};
use crate::report::INTERVAL_LEVEL;
use crate::report::figure::{LOOKS, Look, PlotPoint, powers_of_ten};
use crate::reproduce::basins::{self, BasinRecord, Flood};
use crate::reproduce::classes::ClassId;
use crate::reproduce::ends::{self, Fates};
use crate::reproduce::item::{Item, Number, RecordFigure};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::{Need, Step};
use crate::reproduce::records::Records;
use crate::reproduce::stated::{Entry, count, entry};
use crate::reproduce::studies::{self, Scale};

/// The item.
pub static ITEM: Item = Item {
    label: "ext:capture",
    title: "quenches of correlated parity that end in traps",
    about: None,
    needs: &[
        Need::Study(studies::CAPTURE),
        Need::Work(Step {
            name: "ext:capture",
            seconds: 200,
            leaves: &[basins::BASINS, "ends-capture.json"],
            run: |work| {
                basins::make(&CLASSES.map(|class| class.flood), work)?;
                ends::make(studies::CAPTURE, CAP, work)
            },
        }),
    ],
    measure,
    paper,
    shows_all: true,
    figure: Some(RecordFigure {
        file: "ext-capture.svg",
        shows: "How often quenches of correlated parity end in a trap, by length, correlation and temperature, with 95 % intervals",
        draw,
    }),
};

/// The most codes of a shelf that are visited.
const CAP: usize = 20_000;

/// A class of the study.
#[derive(Clone, Copy)]
struct Class {
    class: ClassId,
    flood: Flood,
}

const fn class(name: &'static str, id: &'static str, length: usize, repeat: &'static str) -> Class {
    Class {
        class: ClassId::named(name),
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

/// What is measured of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExtCaptureQuantity {
    /// The traps' share of all codes.
    TrapShare,
    /// The share of codes that an ascent brings to an end.
    Basin(AscentEnd, CodeAscent),
    /// Runs of a dynamics, at a temperature or annealed, that are or lead somewhere.
    Runs(Fate, CaptureDynamics, Option<f64>),
}

use ExtCaptureQuantity::{Basin, Runs, TrapShare};

/// Where an ascent ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AscentEnd {
    /// In a trap.
    Trap,
    /// At an optimum.
    Optimum,
}

/// How codes climb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeAscent {
    /// By any raising change.
    Random,
    /// By the best one.
    Steepest,
}

/// What becomes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is at 1.
    AtOne,
    /// It is in a trap.
    InTrap,
    /// It is in a trap or a way without loss leads to one.
    LeadsToTrap,
}

/// The dynamics of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureDynamics {
    /// Metropolis at a temperature.
    Metropolis,
    /// Heat bath at a temperature.
    HeatBath,
    /// CAVI at a temperature.
    Cavi,
    /// Gradient ascent at a temperature.
    Gradient,
    /// Metropolis, annealed.
    MetropolisAnnealed,
    /// CAVI, annealed.
    CaviAnnealed,
}

impl CaptureDynamics {
    const ALL: [CaptureDynamics; 6] = [
        CaptureDynamics::Metropolis,
        CaptureDynamics::HeatBath,
        CaptureDynamics::Cavi,
        CaptureDynamics::Gradient,
        CaptureDynamics::MetropolisAnnealed,
        CaptureDynamics::CaviAnnealed,
    ];

    fn id(self) -> &'static str {
        match self {
            CaptureDynamics::Metropolis => "metropolis",
            CaptureDynamics::HeatBath => "heat-bath",
            CaptureDynamics::Cavi => "cavi",
            CaptureDynamics::Gradient => "gradient",
            CaptureDynamics::MetropolisAnnealed => "annealed",
            CaptureDynamics::CaviAnnealed => "cavi-annealed",
        }
    }

    fn name(self) -> &'static str {
        match self {
            CaptureDynamics::Metropolis => "Metropolis",
            CaptureDynamics::HeatBath => "heat bath",
            CaptureDynamics::Cavi => "CAVI",
            CaptureDynamics::Gradient => "gradient",
            CaptureDynamics::MetropolisAnnealed => "Metropolis annealed",
            CaptureDynamics::CaviAnnealed => "CAVI annealed",
        }
    }

    /// Whether it is run at each temperature.
    fn is_scanned(self) -> bool {
        !matches!(
            self,
            CaptureDynamics::MetropolisAnnealed | CaptureDynamics::CaviAnnealed
        )
    }
}

impl fmt::Display for ExtCaptureQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrapShare => f.write_str("traps, of all codes"),
            Basin(end, ascent) => {
                let end = match end {
                    AscentEnd::Trap => "traps",
                    AscentEnd::Optimum => "optima",
                };
                let ascent = match ascent {
                    CodeAscent::Random => "random",
                    CodeAscent::Steepest => "steepest",
                };
                write!(f, "basins of {end}, {ascent} ascent")
            }
            Runs(fate, dynamics, tau) => {
                let what = match fate {
                    Fate::AtOne => "at 1",
                    Fate::InTrap => "in a trap",
                    Fate::LeadsToTrap => "leads to a trap",
                };
                write!(f, "{what}, {}", dynamics.name())?;
                match tau {
                    Some(tau) => write!(f, ", tau = {tau}"),
                    None => Ok(()),
                }
            }
        }
    }
}

const TAUS: [f64; 5] = [1e-4, 2e-3, 5e-3, 1e-2, 2e-2];

/// The paper's temperature.
const QUENCH: f64 = 2e-3;

fn measure(records: &Records) -> Vec<Number> {
    let of = |class: &Class| of_class(records, class);
    CLASSES.iter().flat_map(of).collect()
}

fn of_class(records: &Records, class: &Class) -> Vec<Number> {
    let mut list = Vec::new();
    let found = basin(records, class);
    let mut exact = |quantity: ExtCaptureQuantity, of: fn(&BasinRecord) -> f64| {
        let text = found.map(|found| format!("{:.3e}", of(found)));
        list.push(Number::new(class.class, quantity, Measured::Exact(text)));
    };
    exact(TrapShare, |found| found.traps);
    exact(Basin(AscentEnd::Trap, CodeAscent::Random), |found| {
        found.random.trap
    });
    exact(Basin(AscentEnd::Optimum, CodeAscent::Random), |found| {
        found.random.optimum
    });
    exact(Basin(AscentEnd::Trap, CodeAscent::Steepest), |found| {
        found.steepest.trap
    });
    exact(Basin(AscentEnd::Optimum, CodeAscent::Steepest), |found| {
        found.steepest.optimum
    });
    for dynamics in CaptureDynamics::ALL {
        let taus: Vec<Option<f64>> = if dynamics.is_scanned() {
            TAUS.map(Some).to_vec()
        } else {
            vec![None]
        };
        for tau in taus {
            let (are, lead) = fates(records, class, dynamics, tau);
            let mut row = |fate, fates: &Fates, of: fn(&Fates) -> u64| {
                let share = Measured::Count(proportion(fates, of));
                list.push(Number::new(class.class, Runs(fate, dynamics, tau), share));
            };
            row(Fate::AtOne, &are, |fates| fates.optimal);
            row(Fate::InTrap, &are, |fates| fates.trapped);
            row(Fate::LeadsToTrap, &lead, |fates| fates.trapped);
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

fn basin<'a>(records: &'a Records, class: &Class) -> Option<&'a BasinRecord> {
    let mut basins = records.work.basins.iter();
    basins.find(|record| record.id == class.flood.id)
}

/// Where runs are, and where they lead.
fn fates(
    records: &Records,
    class: &Class,
    dynamics: CaptureDynamics,
    tau: Option<f64>,
) -> (Fates, Fates) {
    let own = records.work.ends(studies::CAPTURE);
    let point = own.and_then(|ends| ends.point(class.flood.id, dynamics.id(), tau));
    point
        .map(|point| (point.are, point.lead))
        .unwrap_or_default()
}

const FOUND: &str = "fig:trapsfixed (a): 13 and 14 of 128 chains; the text says one in eight";

/// Quenches as in the paper.
const LED: ExtCaptureQuantity = Runs(Fate::LeadsToTrap, CaptureDynamics::Metropolis, Some(QUENCH));

#[rustfmt::skip]
fn paper() -> Vec<Entry> { vec![
    entry(ClassId::named("parity k=9/10 T=6"), LED, count(13, 128)).reference(count(12, 128)).note(FOUND),
    entry(ClassId::named("parity k=9/10 T=8"), LED, count(14, 128)).reference(count(19, 128)).note(FOUND),
] }

fn draw(records: &Records, scale: Scale) -> String {
    let smoke = if scale == Scale::Smoke {
        ", SMOKE SCALE"
    } else {
        ""
    };
    let correlated = |class: &&Class| class.flood.repeat == "9/10";
    let lengths: Vec<&Class> = CLASSES.iter().filter(correlated).collect();
    let mut panels = [
        against_length(records, &lengths, smoke),
        against_tau(records, "parity k=9/10 T=8", "(b)", smoke),
        against_repeat(records, smoke),
        against_tau(records, "parity k=3/5 T=8", "(d)", smoke),
    ];
    // One scale for all panels, which no bar leaves: those of a few runs reach far.
    let points = panels.iter().flat_map(|panel| &panel.curves);
    let points = points.flat_map(|curve| &curve.points);
    let ends = points.map(|point| point.interval.map_or(point.y, |interval| interval.high));
    let highest = ends.fold(0.45, f64::max).min(1.0);
    for panel in &mut panels {
        panel.y.ends[1] = highest;
        panel.y.step = if highest > 0.6 { 0.2 } else { 0.1 };
    }
    page(&panels)
}

/// A point of a curve.
fn point(
    records: &Records,
    class: &Class,
    dynamics: CaptureDynamics,
    tau: Option<f64>,
    x: f64,
) -> Option<PlotPoint> {
    let share = proportion(&fates(records, class, dynamics, tau).1, |fates| {
        fates.trapped
    });
    Some(PlotPoint {
        x,
        y: share.rate()?,
        interval: Some(share.interval(INTERVAL_LEVEL)),
    })
}

fn share_axis() -> PanelAxis {
    PanelAxis {
        label: "share that leads to a trap",
        ends: [-0.015, 0.45],
        step: 0.1,
        ticks: TickFormat::Fixed(1),
    }
}

/// One curve per dynamics, at the paper's temperature or annealed.
fn quenches(records: &Records, classes: &[&Class], x: impl Fn(&Class) -> f64) -> Vec<PanelCurve> {
    let mut curves = Vec::new();
    for (dynamics, look) in CaptureDynamics::ALL.into_iter().zip(LOOKS) {
        let tau = dynamics.is_scanned().then_some(QUENCH);
        let points = classes
            .iter()
            .filter_map(|class| point(records, class, dynamics, tau, x(class)));
        curves.push(curve(dynamics.name(), look, points.collect()));
    }
    let random = |class: &&Class| {
        Some(PlotPoint {
            x: x(class),
            y: basin(records, class)?.random.trapped(),
            interval: None,
        })
    };
    let points = classes.iter().filter_map(random).collect();
    curves.push(curve("basins of ascent", LOOKS[6], points));
    curves
}

fn curve(label: &str, look: Look, points: Vec<PlotPoint>) -> PanelCurve {
    PanelCurve {
        label: Some(label.to_owned()),
        look,
        drawn: CurveStyle::Both,
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

fn against_length(records: &Records, classes: &[&Class], smoke: &str) -> PanelSpec {
    PanelSpec {
        title: format!("(a) k = 9/10, τ = 0.002{smoke}"),
        x: PanelAxis {
            label: "T",
            ends: [3.5, 10.5],
            step: 1.0,
            ticks: TickFormat::Fixed(0),
        },
        y: share_axis(),
        curves: apart(
            quenches(records, classes, |class| class.flood.length as f64),
            0.07,
        ),
        notes: NOTES,
    }
}

fn against_repeat(records: &Records, smoke: &str) -> PanelSpec {
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
    PanelSpec {
        title: format!("(c) T = 8, τ = 0.002{smoke}"),
        x: PanelAxis {
            label: "k",
            ends: [0.55, 1.05],
            step: 0.1,
            ticks: TickFormat::Fixed(1),
        },
        y: share_axis(),
        curves: apart(quenches(records, &classes, k), 0.005),
        notes: NOTES,
    }
}

fn against_tau(records: &Records, name: &str, letter: &str, smoke: &str) -> PanelSpec {
    let class = CLASSES
        .iter()
        .find(|class| class.class.name == name)
        .expect("a class");
    let mut curves = Vec::new();
    for (dynamics, look) in CaptureDynamics::ALL.into_iter().zip(LOOKS) {
        if dynamics.is_scanned() {
            let points = TAUS
                .iter()
                .filter_map(|&tau| point(records, class, dynamics, Some(tau), tau.log10()));
            curves.push(curve(dynamics.name(), look, points.collect()));
        }
    }
    let Flood { length, repeat, .. } = class.flood;
    PanelSpec {
        title: format!("{letter} k = {repeat}, T = {length}{smoke}"),
        x: PanelAxis {
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
