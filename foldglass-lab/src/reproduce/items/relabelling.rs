//! app:cures, relabelling: transformers whose emitted tokens are permuted now and then, at c = 0.

use crate::reproduce::data::Data;
use crate::reproduce::fleets::{Network, RELABELLING};
use crate::reproduce::item::{Item, Quantity};
use crate::reproduce::measured::Measured;
use crate::reproduce::stated::{Entry, count, entry, spread};

/// The item.
pub static ITEM: Item = Item {
    label: "text:relabelling",
    title: "relabelled tokens in the transformer, eighteen settings at c = 0 (committed records of an H200)",
    studies: &[],
    censuses: &[],
    certificates: false,
    work: None,
    fleets: &[RELABELLING],
    measure,
    paper: || PAPER.to_vec(),
    shows_all: true,
    figure: None,
};

const TWO: &str = "quasigroup, T in {1, 2}";
const THREE: &str = "quasigroup, T in {1, 2, 3}";

/// A seed solves its task above this.
const SOLVED: f64 = 0.95;

/// The initial laws: the reading of the figures, and the one under which the unperturbed number fits.
const INITIAL: [&str; 2] = ["pt", "02"];

/// Without noise, and the eighteen settings, as studies name them.
const NOISE: [&str; 19] = [
    "none",
    "transposition:0.25,1",
    "transposition:0.25,50",
    "transposition:0.25,500",
    "transposition:0.5,1",
    "transposition:0.5,50",
    "transposition:0.5,500",
    "transposition:1,1",
    "transposition:1,50",
    "transposition:1,500",
    "full:0.25,1",
    "full:0.25,50",
    "full:0.25,500",
    "full:0.5,1",
    "full:0.5,50",
    "full:0.5,500",
    "full:1,1",
    "full:1,50",
    "full:1,500",
];

/// Those that were also trained on three lengths.
const LONGER: [&str; 4] = ["none", "transposition:1,500", "full:0.5,500", "full:1,500"];

fn measure(data: &Data) -> Vec<Quantity> {
    let mut list = Vec::new();
    for initial in INITIAL {
        for noise in NOISE {
            let name = format!("accuracy at T = 2, {noise}, {initial}");
            let values = of(data, "two", initial, noise).filter_map(|model| model.accuracy(2));
            list.push(Quantity::new(TWO, name, Measured::Mean(values.collect())));
        }
        let own = NOISE
            .iter()
            .flat_map(|noise| of(data, "two", initial, noise));
        let solved = Measured::share(own, |model| model.accuracy(2) > Some(SOLVED));
        let name = format!("seeds above 0.95 at T = 2, all settings, {initial}");
        list.push(Quantity::new(TWO, name, solved));
        let best = of(data, "two", initial, "full:1,500");
        let solved = Measured::share(best, |model| model.accuracy(2) > Some(SOLVED));
        let name = format!("seeds above 0.95 at T = 2, full:1,500, {initial}");
        list.push(Quantity::new(TWO, name, solved));
        for noise in LONGER {
            let name = format!("accuracy at T = 3, {noise}, {initial}");
            let values = of(data, "three", initial, noise).filter_map(|model| model.accuracy(3));
            list.push(Quantity::new(THREE, name, Measured::Mean(values.collect())));
        }
    }
    list
}

/// The networks of a class and a setting.
fn of<'a>(
    data: &'a Data,
    class: &'a str,
    initial: &'a str,
    noise: &'a str,
) -> impl Iterator<Item = &'a Network> {
    let own = move |model: &&Network| {
        model.class == class && model.word("initial") == initial && model.word("noise") == noise
    };
    data.fleets.relabelled.iter().filter(own)
}

const LAW: &str = "the paper does not say how weights are drawn; pt is the reading of its figure";
const SMALL: &str = "N(0, 0.02), under which the specification finds the paper's number";
const SHARE: &str = "the paper does not say which share of the batch; all of it is assumed";

#[rustfmt::skip]
const PAPER: &[Entry] = &[
    entry(TWO, "accuracy at T = 2, none, pt", spread("0.417", 0.101, 8)).note(LAW),
    entry(TWO, "accuracy at T = 2, none, 02", spread("0.417", 0.101, 8)).note(SMALL),
    entry(TWO, "accuracy at T = 2, full:1,500, pt", spread("0.542", 0.081, 8)).note(SHARE),
    entry(TWO, "accuracy at T = 2, full:1,500, 02", spread("0.542", 0.081, 8)).note(SHARE),
    entry(TWO, "seeds above 0.95 at T = 2, full:1,500, pt", count(0, 8)).note(SHARE),
    entry(TWO, "seeds above 0.95 at T = 2, full:1,500, 02", count(0, 8)).note(SHARE),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::row::rows;

    #[test]
    fn every_setting_has_its_eight_seeds() {
        let rows = rows(&ITEM, &Data::committed());
        assert_eq!(rows.len(), 2 * (19 + 2 + 4));
        for row in &rows {
            let all = if row.quantity.contains("all settings") {
                19
            } else {
                1
            };
            assert_eq!(row.n, 8 * all, "{}", row.quantity);
        }
    }
}
