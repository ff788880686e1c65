//! tab:trapsexist: all codes of correlated parity, and verdicts on the tied endpoints.

use std::fmt;

use super::equilibration::TIED_SPREAD;
use crate::reproduce::classes::{ClassId, TIED};
use crate::reproduce::item::{About, Item, Number};
use crate::reproduce::landscape::{CensusRecipe, CensusRecord, Endpoint, TrapsRecord};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::Need;
use crate::reproduce::records::Records;
use crate::reproduce::stated::{Entry, Stated, count, entry, greatest, spread};
use crate::reproduce::studies::CHAINS_TIED;

/// The item.
pub static ITEM: Item = Item {
    label: "tab:trapsexist",
    title: "traps of correlated parity, and of the tied class",
    about: Some(About {
        place: 13,
        number: "Table 6",
        section: "section 5, app. G.6",
        says: "Correlated inputs and tied cells do make traps, counted exactly and certified.",
        stakes: "It is the paper’s counterexample to benignity; a count that is off by a tolerance changes no \
                 conclusion, a trap more or less would.",
    }),
    needs: &[
        Need::Study(CHAINS_TIED),
        Need::Census(correlated(4)),
        Need::Census(correlated(5)),
        Need::Census(correlated(6)),
        Need::Census(correlated(7)),
        Need::Census(correlated(8)),
        Need::Census(TOLERANT),
        Need::Census(UNCORRELATED),
        Need::Certificates,
    ],
    measure,
    paper,
    shows_all: false,
    figure: None,
};

/// What is measured of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrapsExistQuantity {
    /// Cells of the class.
    Cells,
    /// Codes of the class.
    Codes,
    /// Codes below 1 that no single change raises.
    LocalMaxima,
    /// The same, with the paper's tolerance.
    LooseMaxima,
    /// Traps.
    Traps,
    /// Their rewards.
    Rewards,
    /// The largest single losses on the ways out of them.
    Losses,
    /// The drops below them on these ways.
    Drops,
    /// The mean reward of the endpoints of chains.
    EndReward,
    /// Endpoints at 1.
    EndsAtOne,
    /// Endpoints that are certified traps.
    Certified,
    /// Endpoints whose shelf was not exhausted.
    Bounded,
    /// Endpoints with a way out.
    Escapes,
    /// Certified endpoints that are alone on their shelf.
    Alone,
    /// The largest certified shelf.
    LargestShelf,
    /// The most changes from an endpoint to a code of its shelf.
    GreatestDepth,
}

use TrapsExistQuantity::{
    Alone, Bounded, Cells, Certified, Codes, Drops, EndReward, EndsAtOne, Escapes, GreatestDepth,
    LargestShelf, LocalMaxima, LooseMaxima, Losses, Rewards, Traps,
};

impl fmt::Display for TrapsExistQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cells => "cells",
            Codes => "codes",
            LocalMaxima => "local maxima",
            LooseMaxima => "local maxima, changes up to 1e-6 counted as none",
            Traps => "traps",
            Rewards => "rewards of traps",
            Losses => "barriers: largest single loss",
            Drops => "barriers: drop below the trap",
            EndReward => "J of the endpoints",
            EndsAtOne => "endpoints at 1",
            Certified => "certified",
            Bounded => "bounded",
            Escapes => "escapes",
            Alone => "certified, alone on the shelf",
            LargestShelf => "largest certified shelf",
            GreatestDepth => "greatest depth of one",
        })
    }
}

fn measure(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    for (class, length) in CORRELATED.into_iter().zip(4..) {
        list.extend(parity(records, class, correlated(length)));
    }
    let uncorrelated = records.landscape.census(&UNCORRELATED);
    let traps = uncorrelated.and_then(|found| Some(found.traps.as_ref()?.traps.clone()));
    list.push(Number::new(UNCORRELATED_8, Traps, Measured::Exact(traps)));
    list.extend(tied(records));
    list
}

/// What the census of a length found; at T = 8 also what the paper's tolerance finds.
fn parity(records: &Records, class: ClassId, recipe: CensusRecipe) -> Vec<Number> {
    let mut list = Vec::new();
    let mut exact = |quantity: TrapsExistQuantity, text: Option<String>| {
        list.push(Number::new(class, quantity, Measured::Exact(text)));
    };
    let found = records.landscape.census(&recipe);
    let of = |of: fn(&CensusRecord) -> String| found.map(of);
    exact(Cells, of(|found| found.cells.to_string()));
    exact(Codes, of(|found| found.codes.clone()));
    exact(LocalMaxima, of(|found| found.local_maxima.clone()));
    if recipe.length == TOLERANT.length {
        let tolerant = records.landscape.census(&TOLERANT);
        let maxima = tolerant.map(|found| found.local_maxima.clone());
        exact(LooseMaxima, maxima);
    }
    let traps = found.and_then(|found| found.traps.as_ref());
    let of = |of: fn(&TrapsRecord) -> String| traps.map(of);
    exact(Traps, of(|traps| traps.traps.clone()));
    exact(Rewards, of(|traps| traps.rewards.clone()));
    exact(Losses, of(|traps| traps.largest_losses.clone()));
    exact(Drops, of(|traps| traps.barriers.clone()));
    list
}

/// The lower block: where the tied chains ended, and what was said of it.
fn tied(records: &Records) -> Vec<Number> {
    let ends = records.ends(CHAINS_TIED, TIED.id, "", None);
    let endpoints = &records.landscape.endpoints;
    let share = |is: &dyn Fn(&Endpoint) -> bool| Measured::share(endpoints.iter(), is);
    let certified = || endpoints.iter().filter(|end| end.is_certified());
    let greatest = |of: fn(&Endpoint) -> usize| {
        Measured::Greatest(certified().map(|end| of(end) as f64).collect())
    };
    let numbers = [
        (EndReward, ends.mean()),
        (EndsAtOne, ends.at_one()),
        (Certified, share(&Endpoint::is_certified)),
        (Bounded, share(&|end| end.verdict == "bounded")),
        (Escapes, share(&|end| end.verdict == "escapes")),
        (Alone, share(&|end| end.is_certified() && end.shelf == 1)),
        (LargestShelf, greatest(|end| end.shelf)),
        (GreatestDepth, greatest(|end| end.depth)),
    ];
    let number = |(quantity, measured)| Number::new(TIED, quantity, measured);
    numbers.map(number).to_vec()
}

/// The classes of the upper block, T = 4 to 8.
pub const CORRELATED: [ClassId; 5] = [
    ClassId::named("parity k=9/10 T=4"),
    ClassId::named("parity k=9/10 T=5"),
    ClassId::named("parity k=9/10 T=6"),
    ClassId::named("parity k=9/10 T=7"),
    ClassId::named("parity k=9/10 T=8"),
];

/// Where the inputs are not correlated.
pub const UNCORRELATED_8: ClassId = ClassId::named("parity k=1/2 T=8");

/// The census of correlated parity at a length.
pub const fn correlated(length: usize) -> CensusRecipe {
    CensusRecipe {
        length,
        repeat: "9/10",
        tolerance: "0/1",
    }
}

/// Where changes up to 1e-6 count as none, as in the paper's number of local maxima.
const TOLERANT: CensusRecipe = CensusRecipe {
    tolerance: "1/1000000",
    ..correlated(8)
};

/// Where the inputs are not correlated.
pub const UNCORRELATED: CensusRecipe = CensusRecipe {
    repeat: "1/2",
    ..correlated(8)
};

fn exact(class: ClassId, quantity: TrapsExistQuantity, text: &'static str) -> Entry {
    entry(class, quantity, Stated::Exact(text))
}

const MAXIMA: &str = "erratum 1: the paper's number counts changes up to 1e-6 as none";
const REWARDS: &str = "erratum 2: there are traps of reward 0.756 at T = 8 as well";
const DROPS: &str =
    "erratum 10: the paper's are losses of single changes; some ways out take several in a row";

#[rustfmt::skip]
fn paper() -> Vec<Entry> { vec![
    exact(CORRELATED[0], Cells, "14"),
    exact(CORRELATED[0], Codes, "16384"),
    exact(CORRELATED[0], LocalMaxima, "648").reason(MAXIMA),
    exact(CORRELATED[0], Traps, "8"),
    exact(CORRELATED[0], Rewards, "9/10").reason(REWARDS),
    exact(CORRELATED[0], Losses, "1/25"),
    exact(CORRELATED[0], Drops, "1/25").reading().note(DROPS),
    exact(CORRELATED[1], Cells, "18"),
    exact(CORRELATED[1], Codes, "262144"),
    exact(CORRELATED[1], LocalMaxima, "14656").reason(MAXIMA),
    exact(CORRELATED[1], Traps, "32"),
    exact(CORRELATED[1], Rewards, "9/10").reason(REWARDS),
    exact(CORRELATED[1], Losses, "1/25"),
    exact(CORRELATED[1], Drops, "1/25").reading().note(DROPS),
    exact(CORRELATED[2], Cells, "22"),
    exact(CORRELATED[2], Codes, "4194304"),
    exact(CORRELATED[2], LocalMaxima, "141280").reason(MAXIMA),
    exact(CORRELATED[2], Traps, "160"),
    exact(CORRELATED[2], Rewards, "9/10, 41/50").reason(REWARDS),
    exact(CORRELATED[2], Losses, "1/25, 4/125"),
    exact(CORRELATED[2], Drops, "1/25, 4/125").reading().note(DROPS),
    exact(CORRELATED[3], Cells, "26"),
    exact(CORRELATED[3], Codes, "67108864"),
    exact(CORRELATED[3], LocalMaxima, "3622336").reason(MAXIMA),
    exact(CORRELATED[3], Traps, "576"),
    exact(CORRELATED[3], Rewards, "9/10, 41/50").reason(REWARDS),
    exact(CORRELATED[3], Losses, "1/25, 4/125"),
    exact(CORRELATED[3], Drops, "1/25, 4/125").reading().note(DROPS),
    exact(CORRELATED[4], Cells, "30"),
    exact(CORRELATED[4], Codes, "1073741824"),
    exact(CORRELATED[4], LocalMaxima, "35307392").reason(MAXIMA),
    exact(CORRELATED[4], LooseMaxima, "35307392").note(MAXIMA),
    exact(CORRELATED[4], Traps, "2432"),
    exact(CORRELATED[4], Rewards, "9/10, 41/50").reason(REWARDS),
    exact(CORRELATED[4], Losses, "1/25, 4/125, 16/625"),
    exact(CORRELATED[4], Drops, "1/25, 4/125, 16/625").reading().note(DROPS),
    exact(UNCORRELATED_8, Traps, "0"),

    entry(TIED, EndReward, spread("0.897", TIED_SPREAD, 12)),
    entry(TIED, EndsAtOne, count(0, 12)),
    entry(TIED, Certified, count(10, 12)),
    entry(TIED, Bounded, count(2, 12)),
    entry(TIED, Escapes, count(0, 12)),
    entry(TIED, Alone, count(2, 12)),
    entry(TIED, LargestShelf, greatest(768.0, 10))
        .note("erratum 4: another appendix has eleven shelves of up to 26,112"),
    entry(TIED, GreatestDepth, greatest(9.0, 10))
        .note("the paper's is a diameter: ours, from the endpoint, is at most that"),
] }
