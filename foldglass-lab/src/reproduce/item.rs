//! Says what an item is: the records it needs, what it measures from them, what the paper states.

use super::data::Data;
use super::fleets::Kept;
use super::landscape::Recipe;
use super::measured::Measured;
use super::stated::Entry;
use super::studies::{Scale, Source};
use super::work::Does;

/// A table or figure of the paper, or beyond it.
pub struct Item {
    /// The LaTeX label; of what is not in the paper, `ext:` and a name.
    pub label: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The studies whose records it needs.
    pub studies: &'static [Source],
    /// The censuses it needs.
    pub censuses: &'static [Recipe],
    /// Whether it needs the verdicts on the tied endpoints.
    pub certificates: bool,
    /// What else it leaves records of, once its studies are done.
    pub work: Option<Does>,
    /// The records of networks it needs.
    pub fleets: &'static [Kept],
    /// What the records say, in the order of the table.
    pub measure: fn(&Data) -> Vec<Quantity>,
    /// What the paper states, in any order.
    pub paper: fn() -> Vec<Entry>,
    /// Whether numbers that the paper does not state are shown too.
    pub shows_all: bool,
    /// Its figure, where it is one.
    pub figure: Option<Figure>,
}

/// A figure drawn from records.
pub struct Figure {
    /// The name of its file.
    pub file: &'static str,
    /// The figure as SVG.
    pub draw: fn(&Data, Scale) -> String,
}

/// A measured number of a class.
#[derive(Debug, Clone)]
pub struct Quantity {
    /// The class, by its id in the studies.
    pub class: &'static str,
    /// What it is.
    pub name: String,
    /// What the runs say.
    pub measured: Measured,
}

impl Quantity {
    /// A measured number.
    pub fn new(class: &'static str, name: impl Into<String>, measured: Measured) -> Quantity {
        Quantity {
            class,
            name: name.into(),
            measured,
        }
    }
}
