//! tab:trapsexist: all codes of correlated parity, and verdicts on the tied endpoints.

use foldglass::stats::Proportion;

use super::equilibration::TIED_SPREAD;
use crate::reproduce::data::Data;
use crate::reproduce::item::{Item, Quantity};
use crate::reproduce::landscape::{CensusRecord, Endpoint, Recipe, TrapsRecord};
use crate::reproduce::measured::Measured;
use crate::reproduce::stated::{Entry, Stated, count, entry, greatest, spread};
use crate::reproduce::studies::CHAINS_TIED;

/// The item.
pub static ITEM: Item = Item {
    label: "tab:trapsexist",
    title: "traps of correlated parity, and of the tied class",
    studies: &[CHAINS_TIED],
    censuses: &CENSUSES,
    certificates: true,
    work: None,
    fleets: &[],
    measure,
    paper: || PAPER.to_vec(),
    shows_all: false,
    figure: None,
};

const TIED: &str = "qg03-tied";

fn measure(data: &Data) -> Vec<Quantity> {
    let mut list = Vec::new();
    for (class, recipe) in PARITIES {
        list.extend(parity(data, class, recipe));
    }
    let uncorrelated = data.landscape.census(&UNCORRELATED);
    let traps = uncorrelated.and_then(|found| Some(found.traps.as_ref()?.traps.clone()));
    let exact = Measured::Exact(traps);
    list.push(Quantity::new("parity k=1/2 T=8", "traps", exact));
    list.extend(tied(data));
    list
}

/// What the census of a length found; at T = 8 also what the paper's tolerance finds.
fn parity(data: &Data, class: &'static str, recipe: Recipe) -> Vec<Quantity> {
    let mut list = Vec::new();
    let mut exact = |name: &str, text: Option<String>| {
        list.push(Quantity::new(class, name, Measured::Exact(text)));
    };
    let found = data.landscape.census(&recipe);
    let of = |of: fn(&CensusRecord) -> String| found.map(of);
    exact("cells", of(|found| found.cells.to_string()));
    exact("codes", of(|found| found.codes.clone()));
    exact("local maxima", of(|found| found.local_maxima.clone()));
    if recipe.length == TOLERANT.length {
        let tolerant = data.landscape.census(&TOLERANT);
        exact(LOOSE, tolerant.map(|found| found.local_maxima.clone()));
    }
    let traps = found.and_then(|found| found.traps.as_ref());
    let of = |of: fn(&TrapsRecord) -> String| traps.map(of);
    exact("traps", of(|traps| traps.traps.clone()));
    exact("rewards of traps", of(|traps| traps.rewards.clone()));
    exact(
        "barriers: largest single loss",
        of(|traps| traps.largest_losses.clone()),
    );
    exact(
        "barriers: drop below the trap",
        of(|traps| traps.barriers.clone()),
    );
    list
}

/// The lower block: where the tied chains ended, and what was said of it.
fn tied(data: &Data) -> Vec<Quantity> {
    let ends = data.ends(CHAINS_TIED, TIED, "", None);
    let mut list = vec![
        Quantity::new(TIED, "J of the endpoints", ends.mean()),
        Quantity::new(TIED, "endpoints at 1", ends.at_one()),
    ];
    let endpoints = &data.landscape.endpoints;
    let share = |is: &dyn Fn(&Endpoint) -> bool| {
        Measured::Count(Proportion {
            successes: endpoints.iter().filter(|end| is(end)).count() as u64,
            trials: endpoints.len() as u64,
        })
    };
    for kind in ["certified", "bounded", "escapes"] {
        let measured = share(&|end| end.verdict == kind);
        list.push(Quantity::new(TIED, kind, measured));
    }
    let alone = share(&|end| end.verdict == "certified" && end.shelf == 1);
    list.push(Quantity::new(TIED, "certified, alone on the shelf", alone));
    let certified = || endpoints.iter().filter(|end| end.verdict == "certified");
    let shelves = Measured::Greatest(certified().map(|end| end.shelf as f64).collect());
    list.push(Quantity::new(TIED, "largest certified shelf", shelves));
    let depths = Measured::Greatest(certified().map(|end| end.depth as f64).collect());
    list.push(Quantity::new(TIED, "greatest depth of one", depths));
    list
}

/// The censuses of the upper block, with the names of their classes.
const PARITIES: [(&str, Recipe); 5] = [
    ("parity k=9/10 T=4", correlated(4)),
    ("parity k=9/10 T=5", correlated(5)),
    ("parity k=9/10 T=6", correlated(6)),
    ("parity k=9/10 T=7", correlated(7)),
    ("parity k=9/10 T=8", correlated(8)),
];

const fn correlated(length: usize) -> Recipe {
    Recipe {
        length,
        repeat: "9/10",
        tolerance: "0/1",
    }
}

/// Where changes up to 1e-6 count as none, as in the paper's number of local maxima.
const TOLERANT: Recipe = Recipe {
    tolerance: "1/1000000",
    ..correlated(8)
};
const LOOSE: &str = "local maxima, changes up to 1e-6 counted as none";

/// Where the inputs are not correlated.
const UNCORRELATED: Recipe = Recipe {
    repeat: "1/2",
    ..correlated(8)
};

/// All censuses that the item needs.
const CENSUSES: [Recipe; 7] = [
    correlated(4),
    correlated(5),
    correlated(6),
    correlated(7),
    correlated(8),
    TOLERANT,
    UNCORRELATED,
];

const fn exact(class: &'static str, quantity: &'static str, text: &'static str) -> Entry {
    entry(class, quantity, Stated::Exact(text))
}

const MAXIMA: &str = "erratum 1: the paper's number counts changes up to 1e-6 as none";
const REWARDS: &str = "erratum 2: there are traps of reward 0.756 at T = 8 as well";
const DROPS: &str =
    "erratum 10: the paper's are losses of single changes; some ways out take several in a row";

#[rustfmt::skip]
const PAPER: &[Entry] = &[
    exact("parity k=9/10 T=4", "cells", "14"),
    exact("parity k=9/10 T=4", "codes", "16384"),
    exact("parity k=9/10 T=4", "local maxima", "648").reason(MAXIMA),
    exact("parity k=9/10 T=4", "traps", "8"),
    exact("parity k=9/10 T=4", "rewards of traps", "9/10").reason(REWARDS),
    exact("parity k=9/10 T=4", "barriers: largest single loss", "1/25"),
    exact("parity k=9/10 T=4", "barriers: drop below the trap", "1/25").reason(DROPS),
    exact("parity k=9/10 T=5", "cells", "18"),
    exact("parity k=9/10 T=5", "codes", "262144"),
    exact("parity k=9/10 T=5", "local maxima", "14656").reason(MAXIMA),
    exact("parity k=9/10 T=5", "traps", "32"),
    exact("parity k=9/10 T=5", "rewards of traps", "9/10").reason(REWARDS),
    exact("parity k=9/10 T=5", "barriers: largest single loss", "1/25"),
    exact("parity k=9/10 T=5", "barriers: drop below the trap", "1/25").reason(DROPS),
    exact("parity k=9/10 T=6", "cells", "22"),
    exact("parity k=9/10 T=6", "codes", "4194304"),
    exact("parity k=9/10 T=6", "local maxima", "141280").reason(MAXIMA),
    exact("parity k=9/10 T=6", "traps", "160"),
    exact("parity k=9/10 T=6", "rewards of traps", "9/10, 41/50").reason(REWARDS),
    exact("parity k=9/10 T=6", "barriers: largest single loss", "1/25, 4/125"),
    exact("parity k=9/10 T=6", "barriers: drop below the trap", "1/25, 4/125").reason(DROPS),
    exact("parity k=9/10 T=7", "cells", "26"),
    exact("parity k=9/10 T=7", "codes", "67108864"),
    exact("parity k=9/10 T=7", "local maxima", "3622336").reason(MAXIMA),
    exact("parity k=9/10 T=7", "traps", "576"),
    exact("parity k=9/10 T=7", "rewards of traps", "9/10, 41/50").reason(REWARDS),
    exact("parity k=9/10 T=7", "barriers: largest single loss", "1/25, 4/125"),
    exact("parity k=9/10 T=7", "barriers: drop below the trap", "1/25, 4/125").reason(DROPS),
    exact("parity k=9/10 T=8", "cells", "30"),
    exact("parity k=9/10 T=8", "codes", "1073741824"),
    exact("parity k=9/10 T=8", "local maxima", "35307392").reason(MAXIMA),
    exact("parity k=9/10 T=8", LOOSE, "35307392").note(MAXIMA),
    exact("parity k=9/10 T=8", "traps", "2432"),
    exact("parity k=9/10 T=8", "rewards of traps", "9/10, 41/50").reason(REWARDS),
    exact("parity k=9/10 T=8", "barriers: largest single loss", "1/25, 4/125, 16/625"),
    exact("parity k=9/10 T=8", "barriers: drop below the trap", "1/25, 4/125, 16/625").reason(DROPS),
    exact("parity k=1/2 T=8", "traps", "0"),

    entry(TIED, "J of the endpoints", spread("0.897", TIED_SPREAD, 12)),
    entry(TIED, "endpoints at 1", count(0, 12)),
    entry(TIED, "certified", count(10, 12)),
    entry(TIED, "bounded", count(2, 12)),
    entry(TIED, "escapes", count(0, 12)),
    entry(TIED, "certified, alone on the shelf", count(2, 12)),
    entry(TIED, "largest certified shelf", greatest(768.0, 10))
        .note("erratum 4: another appendix has eleven shelves of up to 26,112"),
    entry(TIED, "greatest depth of one", greatest(9.0, 10))
        .note("the paper's is a diameter: ours, from the endpoint, is at most that"),
];
