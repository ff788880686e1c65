//! Says what an item is: the records it needs, what it measures from them, what the paper states.

use super::classes::ClassId;
use super::fleets::Kept;
use super::items::Quantity;
use super::measured::Measured;
use super::need::Need;
use super::records::Records;
use super::stated::Entry;
use super::studies::{Scale, StudyText};

/// A table or figure of the paper, or beyond it.
pub struct Item {
    /// The LaTeX label; of what is not in the paper, `ext:` and a name.
    pub label: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// What it is for; none beyond the paper.
    pub about: Option<About>,
    /// The records it needs, in any order.
    pub needs: &'static [Need],
    /// What the records say, in the order of the table.
    pub measure: fn(&Records) -> Vec<Number>,
    /// What the paper states, in any order.
    pub paper: fn() -> Vec<Entry>,
    /// Whether numbers that the paper does not state are shown too.
    pub shows_all: bool,
    /// Its figure, where it is one.
    pub figure: Option<RecordFigure>,
}

/// What a table or figure of the paper is for.
pub struct About {
    /// Its place in the report: first what the text has, then the tables of app. G.
    pub place: usize,
    /// The number that it has in the paper, whose figures, tables and equations are numbered in the order of their
    /// environments: where it has none, the section.
    pub number: &'static str,
    /// Where the paper has it.
    pub section: &'static str,
    /// What the paper draws from it.
    pub says: &'static str,
    /// What would fall with it.
    pub stakes: &'static str,
}

/// A figure drawn from records.
pub struct RecordFigure {
    /// The name of its file.
    pub file: &'static str,
    /// What it shows, in words for a reader who does not see it.
    pub shows: &'static str,
    /// The figure as SVG.
    pub draw: fn(&Records, Scale) -> String,
}

impl Item {
    /// The studies it needs.
    pub fn studies(&self) -> impl Iterator<Item = StudyText> {
        self.needs.iter().filter_map(Need::study)
    }

    /// The records of networks it needs.
    pub fn fleets(&self) -> impl Iterator<Item = Kept> {
        self.needs.iter().filter_map(Need::fleet)
    }

    /// What it needs and a directory does not have.
    pub fn lacking(&self, records: &Records) -> Option<String> {
        self.needs.iter().find_map(|need| need.lacking(records))
    }
}

/// Says which number it is: of which class, and what of it. Items that show the same number share its
/// key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// The class.
    pub class: ClassId,
    /// What of it.
    pub quantity: Quantity,
}

impl Key {
    /// A number of a class.
    pub fn new(class: ClassId, quantity: impl Into<Quantity>) -> Key {
        Key {
            class,
            quantity: quantity.into(),
        }
    }
}

/// A measured number.
#[derive(Debug, Clone)]
pub struct Number {
    /// Which.
    pub key: Key,
    /// What the runs say.
    pub measured: Measured,
}

impl Number {
    /// A measured number of a class.
    pub fn new(class: ClassId, quantity: impl Into<Quantity>, measured: Measured) -> Number {
        Number {
            key: Key::new(class, quantity),
            measured,
        }
    }
}
