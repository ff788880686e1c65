//! tab:containment: updates until a network imitates a random code, eight classes.

use foldglass::{Allowance, ClassSpec, LatinSquare, Shape};

use crate::reproduce::data::Data;
use crate::reproduce::fleets::CONTAINMENT;
use crate::reproduce::item::{Item, Quantity};
use crate::reproduce::measured::Measured;
use crate::reproduce::stated::{Entry, Stated, count, entry, greatest, quantile};

/// The item.
pub static ITEM: Item = Item {
    label: "tab:containment",
    title: "updates until a network imitates a random code (committed records of an H200)",
    studies: &[],
    censuses: &[],
    certificates: false,
    work: None,
    fleets: &[CONTAINMENT],
    measure,
    paper: || PAPER.to_vec(),
    shows_all: true,
    figure: None,
};

/// A class of teachers.
struct Teachers {
    class: &'static str,
    shape: Shape,
    length: usize,
}

const fn teachers(class: &'static str, shape: Shape, length: usize) -> Teachers {
    Teachers {
        class,
        shape,
        length,
    }
}

/// The classes, by their names in the records.
#[rustfmt::skip]
fn classes() -> [Teachers; 8] { [
    teachers("(0,0) T=4", Shape::untied(0, 0), 4),
    teachers("(0,0) T=6", Shape::untied(0, 0), 6),
    teachers("(0,0) T=7", Shape::untied(0, 0), 7),
    teachers("(0,0) T=8", Shape::untied(0, 0), 8),
    teachers("(1,1) T=7", Shape::untied(1, 1), 7),
    teachers("(0,3) tied T=7", Shape::tied(0, 3), 7),
    teachers("(0,3) T=7", Shape::untied(0, 3), 7),
    teachers("(2,1) T=7", Shape::untied(2, 1), 7),
] }

/// The paper's bound where agreement is there at the first look.
const FIRST_LOOK: u64 = 500;

const UPDATES: &str = "updates to 0.999, median";
const MOST_UPDATES: &str = "updates to 0.999, most";
const AGREEMENT: &str = "agreement at the end";
const AT_ONCE: &str = "networks at 0.999 by update 500";
const REACHED: &str = "networks at 0.999";

fn measure(data: &Data) -> Vec<Quantity> {
    let mut list = Vec::new();
    for Teachers {
        class,
        shape,
        length,
    } in classes()
    {
        let own = || {
            let all = data.fleets.pupils.iter();
            all.filter(move |pupil| pupil.class == class)
        };
        // What did not agree has no number of updates.
        let updates = || {
            let reached = own().filter(|pupil| pupil.reached);
            reached.map(|pupil| pupil.updates as f64).collect()
        };
        list.push(Quantity::new(class, "cells", cells(shape, length)));
        list.push(if class.starts_with("(0,0)") {
            Quantity::new(class, MOST_UPDATES, Measured::Greatest(updates()))
        } else {
            let median = Measured::Quantile {
                level: 0.5,
                values: updates(),
            };
            Quantity::new(class, UPDATES, median)
        });
        let agreements = own().map(|pupil| pupil.agreement).collect();
        list.push(Quantity::new(class, AGREEMENT, Measured::Mean(agreements)));
    }
    let narrow = Measured::share(
        data.fleets
            .pupils
            .iter()
            .filter(|pupil| pupil.class.starts_with("(0,0)")),
        |pupil| pupil.reached && pupil.updates <= FIRST_LOOK,
    );
    list.push(Quantity::new("(0,0), all lengths", AT_ONCE, narrow));
    let reached = Measured::share(data.fleets.pupils.iter(), |pupil| pupil.reached);
    list.push(Quantity::new("all classes", REACHED, reached));
    list
}

fn cells(shape: Shape, length: usize) -> Measured {
    let spec = ClassSpec::uniform(LatinSquare::paper(), &[length], shape);
    let class = spec.lay_out(Allowance::default());
    Measured::Exact(class.ok().map(|class| class.cells().to_string()))
}

const BOUND: &str = "the paper's 500 is a bound for its three seeds, ours the most of three";
const UNSAID: &str = "the paper does not say which of its three seeds' numbers it gives";
const TIED: &str =
    "the caption calls the class untied; the paper does not say which of three seeds";

const fn most(class: &'static str) -> Entry {
    entry(class, MOST_UPDATES, greatest(500.0, 3)).note(BOUND)
}

const fn median(class: &'static str, updates: f64) -> Entry {
    entry(class, UPDATES, quantile(updates, 3)).note(UNSAID)
}

const fn has(class: &'static str, cells: &'static str) -> Entry {
    entry(class, "cells", Stated::Exact(cells))
}

#[rustfmt::skip]
const PAPER: &[Entry] = &[
    has("(0,0) T=4", "80"), most("(0,0) T=4"),
    has("(0,0) T=6", "130"), most("(0,0) T=6"),
    has("(0,0) T=7", "155"), most("(0,0) T=7"),
    has("(0,0) T=8", "180"), most("(0,0) T=8"),
    has("(1,1) T=7", "3275"), median("(1,1) T=7", 2500.0),
    has("(0,3) tied T=7", "4525"), median("(0,3) tied T=7", 12_500.0).note(TIED),
    has("(0,3) T=7", "10775"), median("(0,3) T=7", 47_000.0),
    has("(2,1) T=7", "13775"), median("(2,1) T=7", 37_000.0),
    entry("(0,0), all lengths", AT_ONCE, count(12, 12)).note("the paper's bound, its four rows together"),
    entry("all classes", REACHED, count(24, 24)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::judge::Verdict;
    use crate::reproduce::row::rows;

    #[test]
    fn the_committed_networks_are_compared_class_by_class() {
        let rows = rows(&ITEM, &Data::committed());
        assert_eq!(rows.len(), 8 * 3 + 2);
        for row in rows.iter().filter(|row| row.quantity == "cells") {
            assert_eq!(row.verdict, Verdict::Agrees, "{}", row.row);
        }
        let last = rows.last().unwrap();
        assert_eq!((last.n, last.verdict), (24, Verdict::Agrees));
        let updates = |class: &str| {
            let mut own = rows.iter().filter(|row| row.row == class);
            let row = own.find(|row| row.quantity.starts_with("updates"));
            row.unwrap().ours.unwrap()
        };
        // Wider windows take longer.
        assert!(updates("(0,0) T=7") < updates("(1,1) T=7"));
        assert!(updates("(1,1) T=7") < updates("(2,1) T=7"));
    }
}
