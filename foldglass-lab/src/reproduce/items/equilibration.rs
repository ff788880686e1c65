//! tab:equilibration: how fast the chains become stationary, and where the slow ones are on the way.

use crate::reproduce::data::Data;
use crate::reproduce::item::{Item, Quantity};
use crate::reproduce::measured::Measured;
use crate::reproduce::stated::{Entry, beside, count, entry, greatest, mean, quantile, spread};
use crate::reproduce::studies::{APPROACH, CHAINS_TIED, CHAINS_WIDE, STATIONARITY};

/// The item.
pub static ITEM: Item = Item {
    label: "tab:equilibration",
    title: "how fast Monte Carlo chains become stationary",
    studies: &[APPROACH, STATIONARITY, CHAINS_WIDE, CHAINS_TIED],
    censuses: &[],
    certificates: false,
    work: None,
    fleets: &[],
    measure,
    paper: || PAPER.to_vec(),
    shows_all: false,
    figure: None,
};

/// The kernels: the beginning of the names of their dynamics, and their names in tables.
const KERNELS: [(&str, &str); 2] = [("heat-bath", "heat bath"), ("metropolis", "Metropolis")];

fn measure(data: &Data) -> Vec<Quantity> {
    let mut list = approach(data);
    for class in ["parity", "z5", "qg"] {
        for (dynamics, kernel) in KERNELS {
            list.extend(stationarity(data, class, dynamics, kernel));
        }
    }
    for (class, source) in [("qg03", CHAINS_WIDE), ("qg03-tied", CHAINS_TIED)] {
        for sweep in [1000, 5000, 20000] {
            let sample = data.after(source, class, "", sweep);
            let name = format!("J at sweep {sweep}");
            list.push(Quantity::new(class, name, sample.mean()));
        }
        let sample = data.after(source, class, "", 20000);
        list.push(Quantity::new(class, "at 1 at sweep 20000", sample.at_one()));
        if class == "qg03" {
            let ends = data.ends(source, class, "", None);
            list.push(Quantity::new(class, "at 1 at the end", ends.at_one()));
        }
    }
    list
}

/// The upper block: parity on its way, by cells, and at sweep 10 by steps.
fn approach(data: &Data) -> Vec<Quantity> {
    let mut list = Vec::new();
    let mut add = |name: String, measured| list.push(Quantity::new("parity", name, measured));
    for sweep in [10, 20, 40, 100, 1000] {
        let sample = data.after(APPROACH, "parity", "heat-bath", sweep);
        add(format!("J at sweep {sweep}"), sample.mean());
        add(format!("at 1 at sweep {sweep}"), sample.at_one());
    }
    for (dynamics, kernel) in KERNELS {
        let sample = data.after(STATIONARITY, "parity", dynamics, 10);
        let name = format!("at 1 at sweep 10, {kernel} by steps");
        add(name, sample.at_one());
    }
    list
}

/// The middle block: the sweep at which the reward last changed.
fn stationarity(data: &Data, class: &'static str, dynamics: &str, kernel: &str) -> [Quantity; 3] {
    let values = data.last_changes(STATIONARITY, class, dynamics);
    let name = |what| format!("sweeps to stationarity, {what}, {kernel}");
    let quantile = |level| Measured::Quantile {
        level,
        values: values.clone(),
    };
    [
        Quantity::new(class, name("median"), quantile(0.5)),
        Quantity::new(class, name("p90"), quantile(0.9)),
        Quantity::new(class, name("max"), Measured::Greatest(values.clone())),
    ]
}

const BY_SWEEP_100: &str =
    "erratum 6: all at the optimum by sweep 100 contradicts the table's own maxima";
const OTHER_CHAIN: &str = "erratum 6: the upper block is not the chain of the middle block";
const MIDDLE: &str = "the middle block's chain";
const TAU: &str = "tau = 1e-6, that of the paper's twelve tied traps";

/// The standard deviation of the rewards at which the tied chains freeze: the text of App. G.6.
pub const TIED_SPREAD: f64 = 0.044;

#[rustfmt::skip]
const PAPER: &[Entry] = &[
    entry("parity", "J at sweep 10", spread("0.747", 0.241, 100)).reason(BY_SWEEP_100),
    entry("parity", "J at sweep 20", spread("0.888", 0.204, 100)).reason(BY_SWEEP_100),
    entry("parity", "J at sweep 40", spread("0.985", 0.083, 100)).reason(BY_SWEEP_100),
    entry("parity", "J at sweep 100", spread("1.000", 0.0, 100)).reason(BY_SWEEP_100),
    entry("parity", "J at sweep 1000", spread("1.000", 0.0, 100)).reason(BY_SWEEP_100),
    entry("parity", "at 1 at sweep 10", count(46, 100)).reason(BY_SWEEP_100),
    entry("parity", "at 1 at sweep 20", count(76, 100)).reason(BY_SWEEP_100),
    entry("parity", "at 1 at sweep 40", count(97, 100)).reason(BY_SWEEP_100),
    entry("parity", "at 1 at sweep 100", count(100, 100)).reason(BY_SWEEP_100),
    entry("parity", "at 1 at sweep 1000", count(100, 100)).reason(BY_SWEEP_100),
    entry("parity", "at 1 at sweep 10, heat bath by steps", count(46, 100)).note(MIDDLE).reason(OTHER_CHAIN),
    entry("parity", "at 1 at sweep 10, Metropolis by steps", count(46, 100)).note(MIDDLE).reason(OTHER_CHAIN),

    entry("parity", "sweeps to stationarity, median, heat bath", quantile(16.0, 100)).reference(quantile(16.0, 100)),
    entry("parity", "sweeps to stationarity, p90, heat bath", quantile(50.0, 100)).reference(quantile(50.0, 100)),
    entry("parity", "sweeps to stationarity, max, heat bath", greatest(116.0, 100)),
    entry("parity", "sweeps to stationarity, median, Metropolis", quantile(22.0, 100)).reference(quantile(25.0, 100)),
    entry("parity", "sweeps to stationarity, p90, Metropolis", quantile(77.0, 100)).reference(quantile(71.0, 100)),
    entry("parity", "sweeps to stationarity, max, Metropolis", greatest(199.0, 100)),
    entry("z5", "sweeps to stationarity, median, heat bath", quantile(14.0, 60)).reference(quantile(13.0, 60)),
    entry("z5", "sweeps to stationarity, p90, heat bath", quantile(30.0, 60)).reference(quantile(28.0, 60)),
    entry("z5", "sweeps to stationarity, max, heat bath", greatest(57.0, 60)),
    entry("z5", "sweeps to stationarity, median, Metropolis", quantile(44.0, 60)).reference(quantile(47.0, 60)),
    entry("z5", "sweeps to stationarity, p90, Metropolis", quantile(64.0, 60)).reference(quantile(75.0, 60)),
    entry("z5", "sweeps to stationarity, max, Metropolis", greatest(119.0, 60)),
    entry("qg", "sweeps to stationarity, median, heat bath", quantile(13.0, 60)).reference(quantile(13.0, 60)),
    entry("qg", "sweeps to stationarity, p90, heat bath", quantile(23.0, 60)).reference(quantile(27.0, 60)),
    entry("qg", "sweeps to stationarity, max, heat bath", greatest(40.0, 60)),
    entry("qg", "sweeps to stationarity, median, Metropolis", quantile(48.0, 60)).reference(quantile(48.0, 60)),
    entry("qg", "sweeps to stationarity, p90, Metropolis", quantile(66.0, 60)).reference(quantile(73.0, 60)),
    entry("qg", "sweeps to stationarity, max, Metropolis", greatest(95.0, 60)),

    entry("qg03", "J at sweep 1000", mean("0.7897", 12)),
    entry("qg03", "J at sweep 5000", mean("0.9273", 12)),
    entry("qg03", "J at sweep 20000", beside("0.9967", 11, 12)),
    entry("qg03", "at 1 at sweep 20000", count(11, 12)),
    entry("qg03", "at 1 at the end", count(12, 12)).note("the paper's last run arrives by sweep 50,000"),
    entry("qg03-tied", "J at sweep 1000", mean("0.8675", 12)).note(TAU),
    entry("qg03-tied", "J at sweep 5000", spread("0.8969", TIED_SPREAD, 12)).note(TAU),
    entry("qg03-tied", "J at sweep 20000", spread("0.8969", TIED_SPREAD, 12)).note(TAU),
    entry("qg03-tied", "at 1 at sweep 20000", count(0, 12)),
];
