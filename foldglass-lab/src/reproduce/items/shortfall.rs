//! tab:shortfall: chains solve every untied class, plain RLVR ends below that.

use super::equilibration::TIED_SPREAD;
use super::regulator;
use crate::reproduce::classes::CLASSES;
use crate::reproduce::data::{Data, Sample};
use crate::reproduce::item::{Item, Quantity};
use crate::reproduce::stated::{Entry, beside, count, entry, mean, spread};
use crate::reproduce::studies::{CHAINS_LENGTHS, CHAINS_TIED, CHAINS_WIDE, PLAIN, STATIONARITY};

/// The item.
pub static ITEM: Item = Item {
    label: "tab:shortfall",
    title: "where chains and plain RLVR end",
    studies: &[
        STATIONARITY,
        CHAINS_LENGTHS,
        PLAIN,
        CHAINS_WIDE,
        CHAINS_TIED,
    ],
    censuses: &[],
    certificates: false,
    work: None,
    fleets: &[],
    measure,
    paper,
    shows_all: false,
    figure: None,
};

fn measure(data: &Data) -> Vec<Quantity> {
    let mut list = Vec::new();
    let (mut all_chains, mut most_rlvr) = (Sample::default(), Sample::default());
    for (class, _) in CLASSES {
        let (chains, rlvr) = (chains(data, class), data.ends(PLAIN, class, "", None));
        list.extend(chains.quantities(class, "chain"));
        list.extend(rlvr.quantities(class, "RLVR"));
        if class != "qg03-tied" {
            all_chains.extend(&chains);
            if class != "parity" {
                most_rlvr.extend(&rlvr);
            }
        }
    }
    list.push(Quantity::new("untied", "at 1, chain", all_chains.at_one()));
    let rlvr = most_rlvr.at_one();
    list.push(Quantity::new("untied but parity", "at 1, RLVR", rlvr));
    list
}

/// How the Metropolis chains of a class ended.
fn chains(data: &Data, class: &str) -> Sample {
    match class {
        "parity" | "z5" | "qg" => data.ends(STATIONARITY, class, "metropolis", None),
        "qg03" => data.ends(CHAINS_WIDE, class, "", None),
        "qg03-tied" => data.ends(CHAINS_TIED, class, "", None),
        _ => data.ends(CHAINS_LENGTHS, class, "metropolis", None),
    }
}

/// The RLVR columns of the untied rows are the plain block of tab:regulator.
fn paper() -> Vec<Entry> {
    let plain = |entry: &Entry| match entry.quantity {
        "J, plain" => entry.named("J, RLVR"),
        _ => entry.named("at 1, RLVR"),
    };
    let rlvr = regulator::PLAIN_RUNS.iter().map(plain);
    rlvr.chain(PAPER.iter().copied()).collect()
}

const TIED_TAU: &str = "the paper states no tau for the tied class; ours is 1e-10";

#[rustfmt::skip]
const PAPER: &[Entry] = &[
    entry("parity", "J, chain", beside("1.0000", 100, 100)),
    entry("parity", "at 1, chain", count(100, 100)),
    entry("z5", "J, chain", beside("1.0000", 60, 60)),
    entry("z5", "at 1, chain", count(60, 60)),
    entry("qg", "J, chain", beside("1.0000", 60, 60)),
    entry("qg", "at 1, chain", count(60, 60)),
    entry("qg21-345", "J, chain", beside("1.0000", 12, 12)),
    entry("qg21-345", "at 1, chain", count(12, 12)),
    entry("qg11-3456", "J, chain", beside("1.0000", 12, 12)),
    entry("qg11-3456", "at 1, chain", count(12, 12)),
    entry("qg21-456", "J, chain", beside("1.0000", 12, 12)),
    entry("qg21-456", "at 1, chain", count(12, 12)),
    entry("qg03", "J, chain", beside("1.0000", 12, 12)),
    entry("qg03", "at 1, chain", count(12, 12)),
    entry("qg03-tied", "J, chain", spread("0.8969", TIED_SPREAD, 12)),
    entry("qg03-tied", "J, RLVR", spread("0.6541", 0.0298, 12)).reference(mean("0.644", 12)).note(TIED_TAU).reason(TIED_TAU),
    entry("qg03-tied", "at 1, RLVR", count(0, 12)).reason(TIED_TAU),
    entry("untied", "at 1, chain", count(268, 268)),
    entry("untied but parity", "at 1, RLVR", count(40, 168)),
];
