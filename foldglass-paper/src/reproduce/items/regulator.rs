//! tab:regulator: what temperature and resets do to RLVR on the untied classes.

use std::fmt;

use foldglass::support::stats::{Interval, Summary};

use crate::report::INTERVAL_LEVEL;
use crate::report::figure::PlotPoint;
use crate::reproduce::classes::{
    ClassId, PARITY, QG, QG03, QG11_3456, QG21_345, QG21_456, UNTIED, Z5,
};
use crate::reproduce::item::{About, Item, Number};
use crate::reproduce::measured::{Measured, ScanPoint};
use crate::reproduce::need::Need;
use crate::reproduce::records::{Records, Sample};
use crate::reproduce::row::value;
use crate::reproduce::stated::{Entry, beside, count, entry, mean, peak, spread};
use crate::reproduce::studies::{PLAIN, RESETS, SCAN, StudyText};

/// The item.
pub static ITEM: Item = Item {
    label: "tab:regulator",
    title: "temperature and resets on the untied classes",
    about: Some(About {
        place: 12,
        number: "Table 5",
        section: "app. G.5",
        says: "Which temperature, and whether resets, bring RLVR to reward 1, class by class.",
        stakes: "It gives the figure’s numbers.",
    }),
    needs: &[Need::Study(PLAIN), Need::Study(RESETS), Need::Study(SCAN)],
    measure,
    paper: || {
        [
            scan_rewards(),
            scan_counts(),
            plain_runs(),
            reset_rewards(),
            reset_counts(),
        ]
        .concat()
    },
    shows_all: false,
    figure: None,
};

/// What is measured of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RegulatorQuantity {
    /// The mean reward at a temperature of the scan.
    RewardAt(f64),
    /// Runs at 1 there.
    AtOneAt(f64),
    /// The temperature with the best mean.
    BestTau,
    /// The mean reward.
    Reward(RegulatorRuns),
    /// Runs at 1.
    AtOne(RegulatorRuns),
}

use RegulatorQuantity::{AtOne, AtOneAt, BestTau, Reward, RewardAt};

/// Runs of tabular RLVR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegulatorRuns {
    /// Undisturbed.
    Plain,
    /// With resets.
    Resets,
}

use RegulatorRuns::{Plain, Resets};

impl RegulatorRuns {
    /// Both.
    pub const ALL: [RegulatorRuns; 2] = [Plain, Resets];

    /// Their study.
    pub fn source(self) -> StudyText {
        match self {
            Plain => PLAIN,
            Resets => RESETS,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Plain => "plain",
            Resets => "resets",
        }
    }
}

impl fmt::Display for RegulatorQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RewardAt(tau) => write!(f, "J at tau = {tau:e}"),
            AtOneAt(tau) => write!(f, "at 1 at tau = {tau:e}"),
            BestTau => f.write_str("best tau of the scan"),
            Reward(runs) => write!(f, "J, {}", runs.name()),
            AtOne(runs) => write!(f, "at 1, {}", runs.name()),
        }
    }
}

fn measure(records: &Records) -> Vec<Number> {
    let scans = UNTIED.into_iter();
    let mut list: Vec<Number> = scans
        .flat_map(|class| scan_numbers(records, class))
        .collect();
    for class in UNTIED {
        for runs in RegulatorRuns::ALL {
            let ends = records.ends(runs.source(), class.id, "", None);
            list.push(Number::new(class, Reward(runs), ends.mean()));
            list.push(Number::new(class, AtOne(runs), ends.at_one()));
        }
    }
    list
}

/// The scan of a class: every temperature, then the best.
pub fn scan_numbers(records: &Records, class: ClassId) -> Vec<Number> {
    let mut list = Vec::new();
    let points = scan(records, class);
    for (tau, sample) in &points {
        list.push(Number::new(class, RewardAt(*tau), sample.mean()));
        list.push(Number::new(class, AtOneAt(*tau), sample.at_one()));
    }
    let points = points.into_iter().map(|(tau, sample)| ScanPoint {
        tau,
        values: sample.rewards,
    });
    let best = Measured::Peak(points.collect());
    list.push(Number::new(class, BestTau, best));
    list
}

/// The rewards of a class at each temperature of its scan, the coldest first. That of the (0,3)
/// class begins with its plain runs.
pub fn scan(records: &Records, class: ClassId) -> Vec<(f64, Sample)> {
    let sources: &[StudyText] = if class == QG03 {
        &[PLAIN, SCAN]
    } else {
        &[SCAN]
    };
    let mut points: Vec<(f64, Sample)> = Vec::new();
    for &source in sources {
        for tau in records.temperatures(source, class.id) {
            points.push((tau, records.ends(source, class.id, "", Some(tau))));
        }
    }
    points
}

/// Why the scans of several lengths may differ.
pub const QUENCH: &str = "erratum 5: the paper says no quench, ours has 50 iterations at 1e-13";

/// The upper block, rewards: the coldest, the best and the warmest temperature.
#[rustfmt::skip]
pub fn scan_rewards() -> Vec<Entry> { vec![
    entry(PARITY, RewardAt(1e-15), beside("1.0000", 100, 100)),
    entry(PARITY, BestTau, peak(None, 100)),
    entry(PARITY, RewardAt(1e-2), mean("0.5000", 100)),
    entry(Z5, RewardAt(1e-12), beside("0.7995", 84, 240)),
    entry(Z5, BestTau, peak(None, 240)),
    entry(Z5, RewardAt(1e-7), mean("0.2061", 240)),
    entry(QG, RewardAt(1e-12), beside("0.7858", 67, 240)),
    entry(QG, BestTau, peak(Some(1e-10), 240)),
    entry(QG, RewardAt(1e-10), beside("0.7992", 75, 240)).reference(spread("0.793", 0.153, 1000)),
    entry(QG, RewardAt(1e-7), mean("0.2000", 240)),
    entry(QG21_345, RewardAt(1e-13), beside("0.9837", 0, 12)).reference(mean("0.9836", 12)).reason(QUENCH),
    entry(QG21_345, BestTau, peak(Some(3.2e-5), 12)).reason(QUENCH),
    entry(QG21_345, RewardAt(3.2e-5), beside("1.0000", 12, 12)).reference(beside("1.0000", 12, 12)).reason(QUENCH),
    entry(QG21_345, RewardAt(1e-2), mean("0.9539", 12)).reason(QUENCH),
    entry(QG11_3456, RewardAt(1e-13), beside("0.9493", 0, 12)).reference(mean("0.9493", 12)).reason(QUENCH),
    entry(QG11_3456, BestTau, peak(Some(5.6e-5), 12)).reason(QUENCH),
    entry(QG11_3456, RewardAt(5.6e-5), beside("0.9993", 11, 12)).reference(beside("0.997", 26, 36)).reason(QUENCH),
    entry(QG11_3456, RewardAt(1e-2), mean("0.8851", 12)).reason(QUENCH),
    entry(QG21_456, RewardAt(1e-13), beside("0.9626", 0, 12)).reference(mean("0.962", 12)).reason(QUENCH),
    entry(QG21_456, BestTau, peak(Some(1.8e-5), 12)).reason(QUENCH),
    entry(QG21_456, RewardAt(1.8e-5), beside("0.9998", 9, 12)).reference(mean("0.999", 12)).reason(QUENCH),
    entry(QG21_456, RewardAt(1e-2), mean("0.9001", 12)).reason(QUENCH),
    entry(QG03, RewardAt(1e-13), beside("0.7636", 0, 12)).reference(mean("0.763", 12)),
    entry(QG03, BestTau, peak(None, 12)),
    entry(QG03, RewardAt(1e-7), mean("0.1999", 12)),
] }

const IN_CAPTION: &str = "the caption of tab:regulator";

/// The figure prints no numbers: they stand in tab:regulator, and these in its caption.
#[rustfmt::skip]
pub fn caption() -> Vec<Entry> { vec![
    entry(Z5, RewardAt(1e-8), beside("0.8030", 82, 240)).note(IN_CAPTION),
    entry(QG21_345, RewardAt(1e-5), mean("0.9960", 12)).note(IN_CAPTION).reason(QUENCH),
] }

/// The means that the paper states of the scan of a class, at log10 of tau, the coldest first.
pub fn stated_means(class: ClassId) -> Vec<(f64, f64)> {
    let all = [scan_rewards(), caption()].concat();
    let own = all.iter().filter(|entry| entry.key.class == class);
    let mut points: Vec<(f64, f64)> = own
        .filter_map(|entry| match entry.key.quantity {
            super::Quantity::Regulator(RewardAt(tau)) => Some((tau.log10(), value(&entry.paper)?)),
            _ => None,
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The means at log10 of tau; no reward is outside 0 to 1.
pub fn points(scan: &[(f64, Sample)]) -> Vec<PlotPoint> {
    let point = |(tau, sample): &(f64, Sample)| {
        let summary = Summary::of(&sample.rewards)?;
        let interval = summary.interval(INTERVAL_LEVEL);
        Some(PlotPoint {
            x: tau.log10(),
            y: summary.mean,
            interval: interval.map(|Interval { low, high }| Interval {
                low: low.max(0.0),
                high: high.min(1.0),
            }),
        })
    };
    scan.iter().filter_map(point).collect()
}

/// The same, runs at 1.
#[rustfmt::skip]
fn scan_counts() -> Vec<Entry> { vec![
    entry(PARITY, AtOneAt(1e-15), count(100, 100)),
    entry(Z5, AtOneAt(1e-12), count(84, 240)),
    entry(QG, AtOneAt(1e-12), count(67, 240)),
    entry(QG, AtOneAt(1e-10), count(75, 240)).reference(count(275, 1000)),
    entry(QG21_345, AtOneAt(1e-13), count(0, 12)).reason(QUENCH),
    entry(QG21_345, AtOneAt(3.2e-5), count(12, 12)).reason(QUENCH),
    entry(QG11_3456, AtOneAt(1e-13), count(0, 12)).reason(QUENCH),
    entry(QG11_3456, AtOneAt(5.6e-5), count(11, 12)).reference(count(26, 36)).reason(QUENCH),
    entry(QG21_456, AtOneAt(1e-13), count(0, 12)).reason(QUENCH),
    entry(QG21_456, AtOneAt(1.8e-5), count(9, 12)).reason(QUENCH),
    entry(QG03, AtOneAt(1e-13), count(0, 12)),
] }

/// The plain columns of the lower block; tab:shortfall has them too.
#[rustfmt::skip]
pub fn plain_runs() -> Vec<Entry> { vec![
    entry(PARITY, Reward(Plain), spread("1.0000", 0.0, 100)),
    entry(PARITY, AtOne(Plain), count(100, 100)).reference(count(2988, 3000)),
    entry(Z5, Reward(Plain), spread("0.7770", 0.1697, 60)).reference(spread("0.798", 0.160, 1000)),
    entry(Z5, AtOne(Plain), count(17, 60)).reference(count(305, 1000)),
    entry(QG, Reward(Plain), spread("0.8190", 0.1662, 60)).reference(spread("0.793", 0.153, 1000)),
    entry(QG, AtOne(Plain), count(23, 60)).reference(count(275, 1000)),
    entry(QG21_345, Reward(Plain), spread("0.9837", 0.0055, 12)).reference(mean("0.9836", 12)),
    entry(QG21_345, AtOne(Plain), count(0, 12)),
    entry(QG11_3456, Reward(Plain), spread("0.9493", 0.0129, 12)).reference(mean("0.9493", 12)),
    entry(QG11_3456, AtOne(Plain), count(0, 12)),
    entry(QG21_456, Reward(Plain), spread("0.9626", 0.0062, 12)).reference(mean("0.962", 12)),
    entry(QG21_456, AtOne(Plain), count(0, 12)),
    entry(QG03, Reward(Plain), spread("0.7636", 0.0237, 12)).reference(mean("0.763", 12)),
    entry(QG03, AtOne(Plain), count(0, 12)),
] }

/// The other columns of the lower block.
#[rustfmt::skip]
pub fn reset_rewards() -> Vec<Entry> { vec![
    entry(PARITY, Reward(Resets), beside("1.0000", 100, 100)),
    entry(Z5, Reward(Resets), beside("0.9967", 59, 60)),
    entry(QG, Reward(Resets), beside("1.0000", 60, 60)),
    entry(QG21_345, Reward(Resets), beside("1.0000", 12, 12)),
    entry(QG11_3456, Reward(Resets), beside("1.0000", 12, 12)),
    entry(QG21_456, Reward(Resets), beside("1.0000", 12, 12)),
    entry(QG03, Reward(Resets), beside("0.9400", 0, 12)).reference(mean("0.937", 6)),
] }

#[rustfmt::skip]
fn reset_counts() -> Vec<Entry> { vec![
    entry(PARITY, AtOne(Resets), count(100, 100)),
    entry(Z5, AtOne(Resets), count(59, 60)).reference(count(120, 120)),
    entry(QG, AtOne(Resets), count(60, 60)).reference(count(120, 120)),
    entry(QG21_345, AtOne(Resets), count(12, 12)),
    entry(QG11_3456, AtOne(Resets), count(12, 12)),
    entry(QG21_456, AtOne(Resets), count(12, 12)),
    entry(QG03, AtOne(Resets), count(0, 12)).reference(count(0, 6)),
] }
