//! tab:equilibration: how fast the chains become stationary, and where the slow ones are on the way.

use std::fmt;

use crate::reproduce::classes::{ClassId, PARITY, QG, QG03, TIED, Z5};
use crate::reproduce::item::{About, Item, Number};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::Need;
use crate::reproduce::records::Records;
use crate::reproduce::stated::{Entry, beside, count, entry, greatest, mean, quantile, spread};
use crate::reproduce::studies::{APPROACH, CHAINS_TIED, CHAINS_WIDE, STATIONARITY};

/// The item.
pub static ITEM: Item = Item {
    label: "tab:equilibration",
    title: "how fast Monte Carlo chains become stationary",
    about: Some(About {
        place: 8,
        number: "Table 1",
        section: "app. G.1",
        says: "The chains have settled, so that chains and RLVR may be compared.",
        stakes: "Speeds differ with the order of updates; that all untied chains arrive does not.",
    }),
    needs: &[
        Need::Study(APPROACH),
        Need::Study(STATIONARITY),
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
pub enum EquilibrationQuantity {
    /// The mean reward after a sweep.
    RewardAt(usize),
    /// Runs at 1 after a sweep.
    AtOneAt(usize),
    /// Runs at 1 after ten sweeps by steps.
    BySteps(ChainMove),
    /// The sweep at which the reward last changed.
    Stationarity(Statistic, ChainMove),
    /// Runs at 1 at the end.
    AtOneAtEnd,
}

use EquilibrationQuantity::{AtOneAt, AtOneAtEnd, BySteps, RewardAt, Stationarity};

impl fmt::Display for EquilibrationQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RewardAt(sweep) => write!(f, "J at sweep {sweep}"),
            AtOneAt(sweep) => write!(f, "at 1 at sweep {sweep}"),
            BySteps(kernel) => write!(f, "at 1 at sweep 10, {} by steps", kernel.name()),
            Stationarity(statistic, kernel) => {
                let (what, kernel) = (statistic.name(), kernel.name());
                write!(f, "sweeps to stationarity, {what}, {kernel}")
            }
            AtOneAtEnd => f.write_str("at 1 at the end"),
        }
    }
}

/// How a chain moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainMove {
    /// A draw from the conditional.
    HeatBath,
    /// A proposal, accepted or not.
    Metropolis,
}

use ChainMove::{HeatBath, Metropolis};

impl ChainMove {
    /// Both.
    pub const ALL: [ChainMove; 2] = [HeatBath, Metropolis];

    /// The beginning of the ids of its dynamics.
    pub fn id(self) -> &'static str {
        match self {
            HeatBath => "heat-bath",
            Metropolis => "metropolis",
        }
    }

    fn name(self) -> &'static str {
        match self {
            HeatBath => "heat bath",
            Metropolis => "Metropolis",
        }
    }
}

/// A number of several sweeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// The middle one.
    Median,
    /// That of nine in ten.
    P90,
    /// The last one.
    Max,
}

use Statistic::{Max, Median, P90};

impl Statistic {
    /// All of them.
    pub const ALL: [Statistic; 3] = [Median, P90, Max];

    fn name(self) -> &'static str {
        match self {
            Median => "median",
            P90 => "p90",
            Max => "max",
        }
    }
}

/// The classes of the middle block.
pub const MIDDLE_BLOCK: [ClassId; 3] = [PARITY, Z5, QG];

/// The sweeps of the upper and of the lower block.
pub const UPPER_SWEEPS: [usize; 5] = [10, 20, 40, 100, 1000];
/// Likewise.
pub const LOWER_SWEEPS: [usize; 3] = [1000, 5000, 20000];

fn measure(records: &Records) -> Vec<Number> {
    let mut list = approach(records);
    for class in MIDDLE_BLOCK {
        for kernel in ChainMove::ALL {
            list.extend(stationarity(records, class, kernel));
        }
    }
    for (class, source) in [(QG03, CHAINS_WIDE), (TIED, CHAINS_TIED)] {
        for sweep in LOWER_SWEEPS {
            let sample = records.after(source, class.id, "", sweep);
            list.push(Number::new(class, RewardAt(sweep), sample.mean()));
        }
        let sample = records.after(source, class.id, "", 20000);
        list.push(Number::new(class, AtOneAt(20000), sample.at_one()));
        if class == QG03 {
            let ends = records.ends(source, class.id, "", None);
            list.push(Number::new(class, AtOneAtEnd, ends.at_one()));
        }
    }
    list
}

/// The upper block: parity on its way, by cells, and at sweep 10 by steps.
fn approach(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    for sweep in UPPER_SWEEPS {
        let sample = records.after(APPROACH, PARITY.id, "heat-bath", sweep);
        list.push(Number::new(PARITY, RewardAt(sweep), sample.mean()));
        list.push(Number::new(PARITY, AtOneAt(sweep), sample.at_one()));
    }
    for kernel in ChainMove::ALL {
        let sample = records.after(STATIONARITY, PARITY.id, kernel.id(), 10);
        list.push(Number::new(PARITY, BySteps(kernel), sample.at_one()));
    }
    list
}

/// The middle block: the sweep at which the reward last changed.
fn stationarity(records: &Records, class: ClassId, kernel: ChainMove) -> [Number; 3] {
    let values = records.last_changes(STATIONARITY, class.id, kernel.id());
    Statistic::ALL.map(|statistic| {
        let values = values.clone();
        let measured = match statistic {
            Median => Measured::Quantile { level: 0.5, values },
            P90 => Measured::Quantile { level: 0.9, values },
            Max => Measured::Greatest(values),
        };
        Number::new(class, Stationarity(statistic, kernel), measured)
    })
}

const BY_SWEEP_100: &str =
    "erratum 6: all at the optimum by sweep 100 contradicts the table's own maxima";
const OTHER_CHAIN: &str = "erratum 6: the upper block is not the chain of the middle block";
const MIDDLE: &str = "the middle block's chain";
const TAU: &str = "tau = 1e-6, that of the paper's twelve tied traps";

/// The standard deviation of the rewards at which the tied chains freeze: the text of App. G.6.
pub const TIED_SPREAD: f64 = 0.044;

#[rustfmt::skip]
fn paper() -> Vec<Entry> { vec![
    entry(PARITY, RewardAt(10), spread("0.747", 0.241, 100)).reason(BY_SWEEP_100),
    entry(PARITY, RewardAt(20), spread("0.888", 0.204, 100)).reason(BY_SWEEP_100),
    entry(PARITY, RewardAt(40), spread("0.985", 0.083, 100)).reason(BY_SWEEP_100),
    entry(PARITY, RewardAt(100), spread("1.000", 0.0, 100)).reason(BY_SWEEP_100),
    entry(PARITY, RewardAt(1000), spread("1.000", 0.0, 100)).reason(BY_SWEEP_100),
    entry(PARITY, AtOneAt(10), count(46, 100)).reason(BY_SWEEP_100),
    entry(PARITY, AtOneAt(20), count(76, 100)).reason(BY_SWEEP_100),
    entry(PARITY, AtOneAt(40), count(97, 100)).reason(BY_SWEEP_100),
    entry(PARITY, AtOneAt(100), count(100, 100)).reason(BY_SWEEP_100),
    entry(PARITY, AtOneAt(1000), count(100, 100)).reason(BY_SWEEP_100),
    entry(PARITY, BySteps(HeatBath), count(46, 100)).note(MIDDLE).reason(OTHER_CHAIN).reading(),
    entry(PARITY, BySteps(Metropolis), count(46, 100)).note(MIDDLE).reason(OTHER_CHAIN).reading(),

    entry(PARITY, Stationarity(Median, HeatBath), quantile(16.0, 100)).reference(quantile(16.0, 100)),
    entry(PARITY, Stationarity(P90, HeatBath), quantile(50.0, 100)).reference(quantile(50.0, 100)),
    entry(PARITY, Stationarity(Max, HeatBath), greatest(116.0, 100)),
    entry(PARITY, Stationarity(Median, Metropolis), quantile(22.0, 100)).reference(quantile(25.0, 100)),
    entry(PARITY, Stationarity(P90, Metropolis), quantile(77.0, 100)).reference(quantile(71.0, 100)),
    entry(PARITY, Stationarity(Max, Metropolis), greatest(199.0, 100)),
    entry(Z5, Stationarity(Median, HeatBath), quantile(14.0, 60)).reference(quantile(13.0, 60)),
    entry(Z5, Stationarity(P90, HeatBath), quantile(30.0, 60)).reference(quantile(28.0, 60)),
    entry(Z5, Stationarity(Max, HeatBath), greatest(57.0, 60)),
    entry(Z5, Stationarity(Median, Metropolis), quantile(44.0, 60)).reference(quantile(47.0, 60)),
    entry(Z5, Stationarity(P90, Metropolis), quantile(64.0, 60)).reference(quantile(75.0, 60)),
    entry(Z5, Stationarity(Max, Metropolis), greatest(119.0, 60)),
    entry(QG, Stationarity(Median, HeatBath), quantile(13.0, 60)).reference(quantile(13.0, 60)),
    entry(QG, Stationarity(P90, HeatBath), quantile(23.0, 60)).reference(quantile(27.0, 60)),
    entry(QG, Stationarity(Max, HeatBath), greatest(40.0, 60)),
    entry(QG, Stationarity(Median, Metropolis), quantile(48.0, 60)).reference(quantile(48.0, 60)),
    entry(QG, Stationarity(P90, Metropolis), quantile(66.0, 60)).reference(quantile(73.0, 60)),
    entry(QG, Stationarity(Max, Metropolis), greatest(95.0, 60)),

    entry(QG03, RewardAt(1000), mean("0.7897", 12)),
    entry(QG03, RewardAt(5000), mean("0.9273", 12)),
    entry(QG03, RewardAt(20000), beside("0.9967", 11, 12)),
    entry(QG03, AtOneAt(20000), count(11, 12)),
    entry(QG03, AtOneAtEnd, count(12, 12)).note("the paper's last run arrives by sweep 50,000"),
    entry(TIED, RewardAt(1000), mean("0.8675", 12)).note(TAU),
    entry(TIED, RewardAt(5000), spread("0.8969", TIED_SPREAD, 12)).note(TAU),
    entry(TIED, RewardAt(20000), spread("0.8969", TIED_SPREAD, 12)).note(TAU),
    entry(TIED, AtOneAt(20000), count(0, 12)),
] }
