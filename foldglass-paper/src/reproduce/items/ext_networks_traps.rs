//! ext:networks-traps: whether transformers on correlated parity end at the reward of a trap of its tables.
//!
//! The rewards are counted over all inputs; those of traps and of the best constant answer come from theorem A and from
//! codes, so that a network is at one of them exactly or not at all.

use std::fmt;

use foldglass::landscape::law::Correlated as Law;
use foldglass::reward::count;
use foldglass::{Class, Code, Reward, Symbol};

use crate::reproduce::classes::ClassId;
use crate::reproduce::fleets::{CORRELATED, CorrelatedNetwork};
use crate::reproduce::item::{Item, Number};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::Need;
use crate::reproduce::records::Records;
use crate::reproduce::stated::Entry;

/// The item.
pub static ITEM: Item = Item {
    label: "ext:networks-traps",
    title: "transformers on correlated parity: at the reward of a trap? (committed records of an H200)",
    about: None,
    needs: &[Need::Fleet(CORRELATED)],
    measure,
    paper,
    shows_all: true,
    figure: None,
};

/// The runs, by their names in the records.
pub const RUNS: [ClassId; 6] = [
    ClassId::new("prefix-6", "parity k=9/10 T=6, prefix-fixed"),
    ClassId::new("causal-6", "parity k=9/10 T=6, causal-fixed"),
    ClassId::new("prefix-8", "parity k=9/10 T=8, prefix-fixed"),
    ClassId::new("causal-8", "parity k=9/10 T=8, causal-fixed"),
    ClassId::new("curriculum-prefix-8", "parity k=9/10 T=1..8, prefix-fixed"),
    ClassId::new("curriculum-causal-8", "parity k=9/10 T=1..8, causal-fixed"),
];

/// The entropy coefficients.
const COEFFICIENTS: [&str; 3] = ["0", "0.03", "0.3"];

/// What is measured of the networks of a run with one coefficient, by its place in the list of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtNetworksTrapsQuantity {
    /// The mean reward.
    Reward(usize),
    /// Networks at exactly the reward of a trap.
    Trapped(usize),
    /// Networks at exactly the reward of the best constant answer.
    Constant(usize),
    /// Networks at reward 1.
    Solved(usize),
    /// Codes read back that a path which never lowers the reward leaves.
    Escapes(usize),
}

use ExtNetworksTrapsQuantity::{Constant, Escapes, Reward as MeanReward, Solved, Trapped};

impl fmt::Display for ExtNetworksTrapsQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, c) = match *self {
            MeanReward(c) => ("J", c),
            Trapped(c) => ("networks at the reward of a trap", c),
            Constant(c) => ("networks at the best constant answer", c),
            Solved(c) => ("networks at 1", c),
            Escapes(c) => ("codes read back that escape", c),
        };
        write!(f, "{what}, c = {}", COEFFICIENTS[c])
    }
}

/// The rewards that a network on correlated parity of a length may be stuck at.
struct Marks {
    traps: Vec<Reward>,
    constant: Reward,
}

impl Marks {
    fn of(length: usize) -> Marks {
        let repeat = foldglass::support::exact::parse("9/10").expect("a fraction");
        let law = Law::new(length, &repeat).expect("theorem A covers it");
        let class: Class = law.spec().lay_out().expect("a small class");
        let constant = |answer: Symbol| count::reward(&Code::from_fn(&class, |_| answer));
        Marks {
            traps: law.rewards().into_iter().map(|kind| kind.reward).collect(),
            constant: constant(0).max(constant(1)),
        }
    }
}

fn measure(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    for run in RUNS {
        for (number, c) in COEFFICIENTS.iter().enumerate() {
            let c: f64 = c.parse().expect("a number");
            let own = || {
                let all = records.fleets.correlated.iter();
                all.filter(|model| model.records == run.id && model.end.c == c)
            };
            let Some(longest) = own().map(|model| model.end.accuracies.len()).max() else {
                continue;
            };
            let marks = Marks::of(longest);
            let reward = |model: &CorrelatedNetwork| -> Reward {
                let exact = model.network_reward.parse();
                exact.expect("records have fractions")
            };
            let mut add = |quantity, measured| list.push(Number::new(run, quantity, measured));
            let rewards = own().map(|model| reward(model).to_f64()).collect();
            add(MeanReward(number), Measured::Mean(rewards));
            let trapped = Measured::share(own(), |model| marks.traps.contains(&reward(model)));
            add(Trapped(number), trapped);
            let constant = Measured::share(own(), |model| reward(model) == marks.constant);
            add(Constant(number), constant);
            let solved = Measured::share(own(), |model| reward(model).is_one());
            add(Solved(number), solved);
            let escapes = Measured::share(own(), |model| model.code.verdict == "escapes");
            add(Escapes(number), escapes);
        }
    }
    list
}

/// The paper trains no network on correlated inputs.
fn paper() -> Vec<Entry> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::row::rows;
    use crate::reproduce::studies::Scale;

    #[test]
    fn the_marks_are_the_known_rewards() {
        let marks = Marks::of(6);
        let known = |text: &str| text.parse::<Reward>().unwrap();
        assert_eq!(marks.constant, known("189/250"));
        for reward in ["9/10", "41/50"] {
            assert!(marks.traps.contains(&known(reward)), "{reward}");
        }
        assert_eq!(Marks::of(8).constant, known("881/1250"));
    }

    #[test]
    fn every_network_of_the_records_is_in_one_row_of_each_kind() {
        let rows = rows(&ITEM, &Records::planned(Scale::Full));
        let trapped = rows
            .iter()
            .filter(|row| row.key.quantity.to_string().contains("of a trap"));
        let counts: Vec<(u64, f64)> = trapped.map(|row| (row.n, row.ours.unwrap())).collect();
        assert_eq!(counts.len(), RUNS.len() * COEFFICIENTS.len());
        assert_eq!(counts.iter().map(|(n, _)| n).sum::<u64>(), 288);
        assert!(counts.iter().all(|&(_, ours)| ours == 0.0), "{counts:?}");
    }
}
