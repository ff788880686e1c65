//! tab:regulator: what temperature and resets do to RLVR on the untied classes.

use crate::reproduce::classes::untied;
use crate::reproduce::data::{Data, Sample};
use crate::reproduce::item::{Item, Quantity};
use crate::reproduce::measured::{Measured, Point};
use crate::reproduce::stated::{Entry, beside, count, entry, mean, peak, spread};
use crate::reproduce::studies::{PLAIN, RESETS, SCAN, Source};

/// The item.
pub static ITEM: Item = Item {
    label: "tab:regulator",
    title: "temperature and resets on the untied classes",
    studies: &[PLAIN, RESETS, SCAN],
    censuses: &[],
    certificates: false,
    work: None,
    fleets: &[],
    measure,
    paper: || {
        [
            SCAN_REWARDS,
            SCAN_COUNTS,
            PLAIN_RUNS,
            RESET_REWARDS,
            RESET_COUNTS,
        ]
        .concat()
    },
    shows_all: false,
    figure: None,
};

fn measure(data: &Data) -> Vec<Quantity> {
    let mut list: Vec<Quantity> = untied()
        .flat_map(|class| scan_quantities(data, class))
        .collect();
    for class in untied() {
        list.extend(data.ends(PLAIN, class, "", None).quantities(class, "plain"));
        list.extend(
            data.ends(RESETS, class, "", None)
                .quantities(class, "resets"),
        );
    }
    list
}

/// The scan of a class: every temperature, then the best.
pub fn scan_quantities(data: &Data, class: &'static str) -> Vec<Quantity> {
    let mut list = Vec::new();
    let points = scan(data, class);
    for (tau, sample) in &points {
        let at = |what| format!("{what} at tau = {tau:e}");
        list.push(Quantity::new(class, at("J"), sample.mean()));
        list.push(Quantity::new(class, at("at 1"), sample.at_one()));
    }
    let points = points.into_iter().map(|(tau, sample)| Point {
        tau,
        values: sample.rewards,
    });
    let best = Measured::Peak(points.collect());
    list.push(Quantity::new(class, "best tau of the scan", best));
    list
}

/// The rewards of a class at each temperature of its scan, the coldest first. That of the (0,3)
/// class begins with its plain runs.
pub fn scan(data: &Data, class: &str) -> Vec<(f64, Sample)> {
    let sources: &[Source] = if class == "qg03" {
        &[PLAIN, SCAN]
    } else {
        &[SCAN]
    };
    let mut points: Vec<(f64, Sample)> = Vec::new();
    for &source in sources {
        for tau in data.temperatures(source, class) {
            points.push((tau, data.ends(source, class, "", Some(tau))));
        }
    }
    points
}

/// Why the scans of several lengths may differ.
pub const QUENCH: &str = "erratum 5: the paper says no quench, ours has 50 iterations at 1e-13";

/// The upper block, rewards: the coldest, the best and the warmest temperature.
#[rustfmt::skip]
pub const SCAN_REWARDS: &[Entry] = &[
    entry("parity", "J at tau = 1e-15", beside("1.0000", 100, 100)),
    entry("parity", "best tau of the scan", peak(None, 100)),
    entry("parity", "J at tau = 1e-2", mean("0.5000", 100)),
    entry("z5", "J at tau = 1e-12", beside("0.7995", 84, 240)),
    entry("z5", "best tau of the scan", peak(None, 240)),
    entry("z5", "J at tau = 1e-7", mean("0.2061", 240)),
    entry("qg", "J at tau = 1e-12", beside("0.7858", 67, 240)),
    entry("qg", "best tau of the scan", peak(Some(1e-10), 240)),
    entry("qg", "J at tau = 1e-10", beside("0.7992", 75, 240)).reference(spread("0.793", 0.153, 1000)),
    entry("qg", "J at tau = 1e-7", mean("0.2000", 240)),
    entry("qg21-345", "J at tau = 1e-13", beside("0.9837", 0, 12)).reference(mean("0.9836", 12)).reason(QUENCH),
    entry("qg21-345", "best tau of the scan", peak(Some(3.2e-5), 12)).reason(QUENCH),
    entry("qg21-345", "J at tau = 3.2e-5", beside("1.0000", 12, 12)).reference(beside("1.0000", 12, 12)).reason(QUENCH),
    entry("qg21-345", "J at tau = 1e-2", mean("0.9539", 12)).reason(QUENCH),
    entry("qg11-3456", "J at tau = 1e-13", beside("0.9493", 0, 12)).reference(mean("0.9493", 12)).reason(QUENCH),
    entry("qg11-3456", "best tau of the scan", peak(Some(5.6e-5), 12)).reason(QUENCH),
    entry("qg11-3456", "J at tau = 5.6e-5", beside("0.9993", 11, 12)).reference(beside("0.997", 26, 36)).reason(QUENCH),
    entry("qg11-3456", "J at tau = 1e-2", mean("0.8851", 12)).reason(QUENCH),
    entry("qg21-456", "J at tau = 1e-13", beside("0.9626", 0, 12)).reference(mean("0.962", 12)).reason(QUENCH),
    entry("qg21-456", "best tau of the scan", peak(Some(1.8e-5), 12)).reason(QUENCH),
    entry("qg21-456", "J at tau = 1.8e-5", beside("0.9998", 9, 12)).reference(mean("0.999", 12)).reason(QUENCH),
    entry("qg21-456", "J at tau = 1e-2", mean("0.9001", 12)).reason(QUENCH),
    entry("qg03", "J at tau = 1e-13", beside("0.7636", 0, 12)).reference(mean("0.763", 12)),
    entry("qg03", "best tau of the scan", peak(None, 12)),
    entry("qg03", "J at tau = 1e-7", mean("0.1999", 12)),
];

/// The same, runs at 1.
#[rustfmt::skip]
const SCAN_COUNTS: &[Entry] = &[
    entry("parity", "at 1 at tau = 1e-15", count(100, 100)),
    entry("z5", "at 1 at tau = 1e-12", count(84, 240)),
    entry("qg", "at 1 at tau = 1e-12", count(67, 240)),
    entry("qg", "at 1 at tau = 1e-10", count(75, 240)).reference(count(275, 1000)),
    entry("qg21-345", "at 1 at tau = 1e-13", count(0, 12)).reason(QUENCH),
    entry("qg21-345", "at 1 at tau = 3.2e-5", count(12, 12)).reason(QUENCH),
    entry("qg11-3456", "at 1 at tau = 1e-13", count(0, 12)).reason(QUENCH),
    entry("qg11-3456", "at 1 at tau = 5.6e-5", count(11, 12)).reference(count(26, 36)).reason(QUENCH),
    entry("qg21-456", "at 1 at tau = 1e-13", count(0, 12)).reason(QUENCH),
    entry("qg21-456", "at 1 at tau = 1.8e-5", count(9, 12)).reason(QUENCH),
    entry("qg03", "at 1 at tau = 1e-13", count(0, 12)),
];

/// The plain columns of the lower block; tab:shortfall has them too.
#[rustfmt::skip]
pub const PLAIN_RUNS: &[Entry] = &[
    entry("parity", "J, plain", spread("1.0000", 0.0, 100)),
    entry("parity", "at 1, plain", count(100, 100)).reference(count(2988, 3000)),
    entry("z5", "J, plain", spread("0.7770", 0.1697, 60)).reference(spread("0.798", 0.160, 1000)),
    entry("z5", "at 1, plain", count(17, 60)).reference(count(305, 1000)),
    entry("qg", "J, plain", spread("0.8190", 0.1662, 60)).reference(spread("0.793", 0.153, 1000)),
    entry("qg", "at 1, plain", count(23, 60)).reference(count(275, 1000)),
    entry("qg21-345", "J, plain", spread("0.9837", 0.0055, 12)).reference(mean("0.9836", 12)),
    entry("qg21-345", "at 1, plain", count(0, 12)),
    entry("qg11-3456", "J, plain", spread("0.9493", 0.0129, 12)).reference(mean("0.9493", 12)),
    entry("qg11-3456", "at 1, plain", count(0, 12)),
    entry("qg21-456", "J, plain", spread("0.9626", 0.0062, 12)).reference(mean("0.962", 12)),
    entry("qg21-456", "at 1, plain", count(0, 12)),
    entry("qg03", "J, plain", spread("0.7636", 0.0237, 12)).reference(mean("0.763", 12)),
    entry("qg03", "at 1, plain", count(0, 12)),
];

/// The other columns of the lower block.
#[rustfmt::skip]
pub const RESET_REWARDS: &[Entry] = &[
    entry("parity", "J, resets", beside("1.0000", 100, 100)),
    entry("z5", "J, resets", beside("0.9967", 59, 60)),
    entry("qg", "J, resets", beside("1.0000", 60, 60)),
    entry("qg21-345", "J, resets", beside("1.0000", 12, 12)),
    entry("qg11-3456", "J, resets", beside("1.0000", 12, 12)),
    entry("qg21-456", "J, resets", beside("1.0000", 12, 12)),
    entry("qg03", "J, resets", beside("0.9400", 0, 12)).reference(mean("0.937", 6)),
];

#[rustfmt::skip]
const RESET_COUNTS: &[Entry] = &[
    entry("parity", "at 1, resets", count(100, 100)),
    entry("z5", "at 1, resets", count(59, 60)).reference(count(120, 120)),
    entry("qg", "at 1, resets", count(60, 60)).reference(count(120, 120)),
    entry("qg21-345", "at 1, resets", count(12, 12)),
    entry("qg11-3456", "at 1, resets", count(12, 12)),
    entry("qg21-456", "at 1, resets", count(12, 12)),
    entry("qg03", "at 1, resets", count(0, 12)).reference(count(0, 6)),
];
