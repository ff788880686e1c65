//! ext:objectives: gradient ascents of J, pass@K, MaxRL and grpo-std from policies near traps.

use std::fmt;

use foldglass::reward::objectives::Utility::{self, GrpoStd, MaxRl, PassAt};

use crate::reproduce::classes::ClassId;
use crate::reproduce::item::{Item, Number};
use crate::reproduce::measured::Measured;
use crate::reproduce::near_traps::{
    self, NearTrapAscents, NearTrapRecipe, NearTrapRecord, WEIGHTS,
};
use crate::reproduce::need::{Need, Step};
use crate::reproduce::records::Records;
use ExtObjectivesQuantity::{AtOne, Expected, LeastRatio, Stays};

/// The item.
pub static ITEM: Item = Item {
    label: "ext:objectives",
    title: "which objective leaves which trap",
    about: None,
    needs: &[Need::Work(Step {
        name: "ext:objectives",
        seconds: 200,
        leaves: &[near_traps::NEAR_TRAPS],
        run: |work| near_traps::make(&TRAPS.map(|(_, recipe)| recipe), &OBJECTIVES, work),
    })],
    measure,
    paper: Vec::new,
    shows_all: true,
    figure: None,
};

/// The objectives; none is J.
const OBJECTIVES: [Option<Utility>; 8] = [
    None,
    Some(PassAt(2)),
    Some(PassAt(8)),
    Some(MaxRl(2)),
    Some(MaxRl(4)),
    Some(MaxRl(8)),
    Some(MaxRl(16)),
    Some(GrpoStd),
];

const fn correlated(
    id: &'static str,
    lengths: &'static [usize],
    ignores: &'static [usize],
) -> NearTrapRecipe {
    NearTrapRecipe {
        id,
        lengths,
        inputs: "markov:9/10",
        ignores,
    }
}

/// The traps.
#[rustfmt::skip]
const TRAPS: [(ClassId, NearTrapRecipe); 4] = [
    (
        ClassId::named("parity T=2,3,4"),
        NearTrapRecipe { id: "lengths-2-3-4", lengths: &[2, 3, 4], inputs: "uniform", ignores: &[] },
    ),
    (ClassId::named("parity k=9/10 T=4, ignores 3 4"), correlated("correlated-4", &[4], &[3, 4])),
    (ClassId::named("parity k=9/10 T=5, ignores 3 4"), correlated("correlated-5-middle", &[5], &[3, 4])),
    (ClassId::named("parity k=9/10 T=5, ignores 4 5"), correlated("correlated-5-end", &[5], &[4, 5])),
];

/// What is measured of a trap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExtObjectivesQuantity {
    /// The least loss over gain of a change of one cell.
    LeastRatio,
    /// Ascents of an objective, from a weight, that end with the trap's reward as their greedy reward.
    Stays(Option<Utility>, u32),
    /// Those that end at reward 1.
    AtOne(Option<Utility>, u32),
    /// The mean of J at the end.
    Expected(Option<Utility>, u32),
}

/// The name of an objective.
fn word(objective: Option<Utility>) -> String {
    objective.map_or_else(|| "J".to_owned(), |utility| utility.to_string())
}

impl fmt::Display for ExtObjectivesQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            LeastRatio => f.write_str("least loss over gain of a change"),
            Stays(objective, weight) => {
                write!(
                    f,
                    "greedy reward of the trap, {} from {weight} %",
                    word(objective)
                )
            }
            AtOne(objective, weight) => write!(f, "at 1, {} from {weight} %", word(objective)),
            Expected(objective, weight) => write!(f, "J, {} from {weight} %", word(objective)),
        }
    }
}

fn measure(records: &Records) -> Vec<Number> {
    let of = |(class, recipe): (ClassId, NearTrapRecipe)| {
        let found = records.work.near_traps.iter();
        of_trap(class, found.clone().find(|record| record.id == recipe.id))
    };
    TRAPS.into_iter().flat_map(of).collect()
}

fn of_trap(class: ClassId, found: Option<&NearTrapRecord>) -> Vec<Number> {
    let ratio = found.and_then(|record| record.least_ratio);
    let ratio = Measured::Exact(ratio.map(|ratio| format!("{ratio:.2}")));
    let mut list = vec![Number::new(class, LeastRatio, ratio)];
    for objective in OBJECTIVES {
        for weight in WEIGHTS {
            let own = |ascents: &&NearTrapAscents| {
                (ascents.objective, ascents.weight) == (objective, weight)
            };
            let ascents = found.and_then(|record| record.ascents.iter().find(own));
            let greedy = ascents.map_or(&[][..], |ascents| &ascents.greedy);
            let stays = Measured::share(greedy.iter(), |end| {
                found.is_some_and(|record| *end == record.reward)
            });
            let at_one = Measured::share(greedy.iter(), |end| end.is_one());
            let expected = ascents.map(|ascents| ascents.expected.clone());
            let expected = Measured::Mean(expected.unwrap_or_default());
            list.extend([
                Number::new(class, Stays(objective, weight), stays),
                Number::new(class, AtOne(objective, weight), at_one),
                Number::new(class, Expected(objective, weight), expected),
            ]);
        }
    }
    list
}
