//! tab:containment: updates until a network imitates a random code, eight classes.

use std::fmt;

use foldglass::{ClassSpec, Operation, Shape, Window};

use crate::reproduce::classes::ClassId;
use crate::reproduce::fleets::{CONTAINMENT, PupilRecord};
use crate::reproduce::item::{About, Item, Number};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::Need;
use crate::reproduce::records::Records;
use crate::reproduce::stated::{Entry, Stated, count, entry, greatest, quantile};

/// The item.
pub static ITEM: Item = Item {
    label: "tab:containment",
    title: "updates until a network imitates a random code (committed records of an H200)",
    about: Some(About {
        place: 10,
        number: "Table 3",
        section: "section 5.1, app. G.4",
        says: "A modest transformer can be taught random codes, wider windows taking longer.",
        stakes: "It supports that networks can express tabular policies.",
    }),
    needs: &[Need::Fleet(CONTAINMENT)],
    measure,
    paper,
    shows_all: true,
    figure: None,
};

/// What is measured of a class of teachers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainmentQuantity {
    /// Cells of the class.
    Cells,
    /// Updates until a network agrees with its code: the median.
    MedianUpdates,
    /// The most.
    MostUpdates,
    /// The share of tokens that agree at the end.
    Agreement,
    /// Networks that agree at the first look.
    AtOnce,
    /// Networks that agree at all.
    Reached,
}

use ContainmentQuantity::{Agreement, AtOnce, Cells, MedianUpdates, MostUpdates, Reached};

impl fmt::Display for ContainmentQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cells => "cells",
            MedianUpdates => "updates to 0.999, median",
            MostUpdates => "updates to 0.999, most",
            Agreement => "agreement at the end",
            AtOnce => "networks at 0.999 by update 500",
            Reached => "networks at 0.999",
        })
    }
}

/// A class of teachers.
pub struct Teachers {
    /// The class, by its name in the records.
    pub class: ClassId,
    /// What its cells see.
    pub shape: Shape,
    /// T.
    pub length: usize,
}

impl Teachers {
    /// Whether its cells see the step's own symbol alone, and no step shares them.
    pub fn is_narrow(&self) -> bool {
        self.shape == Shape::untied(0, 0)
    }

    /// How the updates of its networks are summed up: the paper has a bound for the narrowest window.
    pub fn updates(&self) -> ContainmentQuantity {
        if self.is_narrow() {
            MostUpdates
        } else {
            MedianUpdates
        }
    }
}

const fn teachers(
    class: &'static str,
    [past, future]: [usize; 2],
    tied: bool,
    length: usize,
) -> Teachers {
    Teachers {
        class: ClassId::named(class),
        shape: Shape {
            window: Window { past, future },
            memory: 1,
            tied,
        },
        length,
    }
}

/// The classes, in the order of the table.
#[rustfmt::skip]
pub const CLASSES: [Teachers; 8] = [
    teachers("(0,0) T=4", [0, 0], false, 4),
    teachers("(0,0) T=6", [0, 0], false, 6),
    teachers("(0,0) T=7", [0, 0], false, 7),
    teachers("(0,0) T=8", [0, 0], false, 8),
    teachers("(1,1) T=7", [1, 1], false, 7),
    teachers("(0,3) tied T=7", [0, 3], true, 7),
    teachers("(0,3) T=7", [0, 3], false, 7),
    teachers("(2,1) T=7", [2, 1], false, 7),
];

/// The narrowest window at all lengths together.
pub const NARROW: ClassId = ClassId::named("(0,0), all lengths");
/// All classes together.
pub const ALL: ClassId = ClassId::named("all classes");

/// The paper's bound where agreement is there at the first look.
const FIRST_LOOK: u64 = 500;

fn measure(records: &Records) -> Vec<Number> {
    let pupils = &records.fleets.pupils;
    let mut list = Vec::new();
    for teachers in CLASSES {
        let Teachers {
            class,
            shape,
            length,
        } = teachers;
        let own = || pupils.iter().filter(move |pupil| pupil.class == class.name);
        // What did not agree has no number of updates.
        let reached = own().filter(|pupil| pupil.reached);
        let values = reached.map(|pupil| pupil.updates as f64).collect();
        let updates = match teachers.updates() {
            MostUpdates => Measured::Greatest(values),
            _ => Measured::Quantile { level: 0.5, values },
        };
        let agreements = own().map(|pupil| pupil.agreement).collect();
        list.push(Number::new(class, Cells, cells(shape, length)));
        list.push(Number::new(class, teachers.updates(), updates));
        list.push(Number::new(class, Agreement, Measured::Mean(agreements)));
    }
    let own = pupils.iter().filter(|pupil| is_narrow(pupil));
    let narrow = Measured::share(own, |pupil| pupil.reached && pupil.updates <= FIRST_LOOK);
    list.push(Number::new(NARROW, AtOnce, narrow));
    let reached = Measured::share(pupils.iter(), |pupil| pupil.reached);
    list.push(Number::new(ALL, Reached, reached));
    list
}

/// Whether a network's teacher is of the narrowest window.
pub fn is_narrow(pupil: &PupilRecord) -> bool {
    let mut narrow = CLASSES.iter().filter(|teachers| teachers.is_narrow());
    narrow.any(|teachers| teachers.class.name == pupil.class)
}

fn cells(shape: Shape, length: usize) -> Measured {
    let spec = ClassSpec::uniform(Operation::paper(), &[length], shape);
    let class = spec.lay_out().expect("the classes of the table are small");
    Measured::Exact(Some(class.cells().to_string()))
}

const BOUND: &str = "the paper's 500 is a bound for its three seeds, ours the most of three";
const UNSAID: &str = "the paper does not say which of its three seeds' numbers it gives";
const TIED: &str =
    "the caption calls the class untied; the paper does not say which of three seeds";

fn most(n: usize) -> Entry {
    entry(CLASSES[n].class, MostUpdates, greatest(500.0, 3)).note(BOUND)
}

fn median(n: usize, updates: f64) -> Entry {
    entry(CLASSES[n].class, MedianUpdates, quantile(updates, 3)).note(UNSAID)
}

fn has(n: usize, cells: &'static str) -> Entry {
    entry(CLASSES[n].class, Cells, Stated::Exact(cells))
}

#[rustfmt::skip]
fn paper() -> Vec<Entry> { vec![
    has(0, "80"), most(0),
    has(1, "130"), most(1),
    has(2, "155"), most(2),
    has(3, "180"), most(3),
    has(4, "3275"), median(4, 2500.0),
    has(5, "4525"), median(5, 12_500.0).note(TIED),
    has(6, "10775"), median(6, 47_000.0),
    has(7, "13775"), median(7, 37_000.0),
    entry(NARROW, AtOnce, count(12, 12)).note("the paper's bound, its four rows together"),
    entry(ALL, Reached, count(24, 24)),
] }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::judge::ComparisonVerdict;
    use crate::reproduce::row::rows;
    use crate::reproduce::studies::Scale;

    #[test]
    fn the_committed_networks_are_compared_class_by_class() {
        let rows = rows(&ITEM, &Records::planned(Scale::Full));
        assert_eq!(rows.len(), 8 * 3 + 2);
        for row in rows.iter().filter(|row| row.quantity == "cells") {
            assert_eq!(row.verdict, ComparisonVerdict::Agrees, "{}", row.row);
        }
        let last = rows.last().unwrap();
        assert_eq!((last.n, last.verdict), (24, ComparisonVerdict::Agrees));
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
