//! app:cures, what failed at T = 4: methods, curricula, gathered batches, exploration, combined.

use std::fmt;

use foldglass::support::stats::Proportion;

use crate::reproduce::classes::ClassId;
use crate::reproduce::fleets::{CURES, Network};
use crate::reproduce::item::{About, Item, Number};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::Need;
use crate::reproduce::records::Records;
use crate::reproduce::stated::{Entry, count, entry};

/// The item.
pub static ITEM: Item = Item {
    label: "text:cures",
    title: "other methods without a strong regulator, T = 4 (committed records of an H200)",
    about: Some(About {
        place: 6,
        number: "App. G.5",
        section: "section 5.1, app. G.5",
        says: "Without a strong regulator no method that was tried learns T = 4.",
        stakes: "It is why the paper turns to entropy; here expert iteration with a little exploration learns it too, \
                 so a large coefficient is one way and not the only one.",
    }),
    needs: &[Need::Fleet(CURES)],
    measure,
    paper,
    shows_all: true,
    figure: None,
};

/// The tasks.
pub const TASKS: [ClassId; 2] = [Z5, QUASIGROUP];
/// The cyclic group of five, by its id in the records.
pub const Z5: ClassId = ClassId::new("z5", "Z_5, transformer");
/// The paper's quasigroup.
pub const QUASIGROUP: ClassId = ClassId::new("quasigroup", "quasigroup, transformer");

/// The length that is to be learned, and the accuracy above which it is.
const LENGTH: usize = 4;
const LEARNED: f64 = 0.95;

/// What is measured of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CuresQuantity {
    /// Networks that learn, of all settings.
    All,
    /// Those of expert iteration with exploration.
    Exploring,
    /// The accuracy of a method on an order of lengths.
    Accuracy(CureMethod, LengthOrder),
    /// Networks that learn by it.
    Above(CureMethod, LengthOrder),
    /// Networks that learn with an option.
    With(Choice),
}

use CuresQuantity::{Above, Accuracy, All, Exploring, With};

/// How networks are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CureMethod {
    /// REINFORCE.
    Reinforce,
    /// GRPO, eight rollouts each.
    Grpo,
    /// Expert iteration.
    Expert,
}

/// In which order lengths are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthOrder {
    /// One after the other.
    Curriculum,
    /// All from the beginning.
    AtOnce,
}

/// What may be added to a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// A tenth of the tokens is replaced.
    Exploration,
    /// Batches are gathered until they have enough rewards.
    Gathered,
    /// A small entropy coefficient.
    Entropy,
}

impl CureMethod {
    /// All of them.
    pub const ALL: [CureMethod; 3] = [CureMethod::Reinforce, CureMethod::Grpo, CureMethod::Expert];

    /// The word of the records.
    fn word(self) -> &'static str {
        match self {
            CureMethod::Reinforce => "reinforce",
            CureMethod::Grpo => "grpo:8,0.2,1",
            CureMethod::Expert => "expert",
        }
    }

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            CureMethod::Reinforce => "REINFORCE",
            CureMethod::Grpo => "GRPO",
            CureMethod::Expert => "expert iteration",
        }
    }
}

impl LengthOrder {
    /// Both.
    pub const ALL: [LengthOrder; 2] = [LengthOrder::Curriculum, LengthOrder::AtOnce];

    fn word(self) -> &'static str {
        match self {
            LengthOrder::Curriculum => "curriculum",
            LengthOrder::AtOnce => "at-once",
        }
    }

    fn name(self) -> &'static str {
        match self {
            LengthOrder::Curriculum => "curriculum",
            LengthOrder::AtOnce => "all lengths at once",
        }
    }
}

impl Choice {
    const ALL: [Choice; 3] = [Choice::Exploration, Choice::Gathered, Choice::Entropy];

    /// The parameter of the records, and its value.
    fn words(self) -> [&'static str; 2] {
        match self {
            Choice::Exploration => ["epsilon", "0.1"],
            Choice::Gathered => ["adaptive", "384,8"],
            Choice::Entropy => ["c", "0.01"],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Choice::Exploration => "exploration 0.1",
            Choice::Gathered => "gathered batches",
            Choice::Entropy => "c = 0.01",
        }
    }

    fn is_of(self, model: &Network) -> bool {
        let [key, value] = self.words();
        model.word(key) == value
    }
}

impl fmt::Display for CuresQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            All => f.write_str("seeds above 0.95 at T = 4, all settings"),
            Exploring => {
                f.write_str("seeds above 0.95 at T = 4, expert iteration with exploration")
            }
            Accuracy(method, order) => write!(f, "accuracy, {}, {}", method.name(), order.name()),
            Above(method, order) => {
                write!(f, "seeds above 0.95, {}, {}", method.name(), order.name())
            }
            With(choice) => write!(f, "seeds above 0.95, {}", choice.name()),
        }
    }
}

fn measure(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    for task in TASKS {
        let mut add = |quantity, measured| list.push(Number::new(task, quantity, measured));
        add(All, Measured::share(of(records, task, |_| true), learned));
        let exploring = |model: &Network| {
            model.word("method") == CureMethod::Expert.word() && Choice::Exploration.is_of(model)
        };
        let counted = Measured::share(of(records, task, exploring), learned);
        add(Exploring, counted);
        for method in CureMethod::ALL {
            for order in LengthOrder::ALL {
                let such = move |model: &Network| {
                    model.word("method") == method.word() && model.dynamics == order.word()
                };
                let values = of(records, task, such).filter_map(|model| model.accuracy(LENGTH));
                add(Accuracy(method, order), Measured::Mean(values.collect()));
                let counted = Measured::share(of(records, task, such), learned);
                add(Above(method, order), counted);
            }
        }
        for choice in Choice::ALL {
            let own = of(records, task, move |model| choice.is_of(model));
            add(With(choice), Measured::share(own, learned));
        }
    }
    list
}

/// The networks of a method that learn, of both tasks, with exploration or without.
pub fn learn(records: &Records, method: CureMethod, exploring: bool) -> Proportion {
    let such = move |model: &Network| {
        model.word("method") == method.word() && Choice::Exploration.is_of(model) == exploring
    };
    let own: Vec<&Network> = TASKS
        .into_iter()
        .flat_map(|task| of(records, task, such))
        .collect();
    Proportion {
        successes: own.iter().filter(|model| learned(model)).count() as u64,
        trials: own.len() as u64,
    }
}

/// Whether a network learned the length.
fn learned(model: &Network) -> bool {
    model.accuracy(LENGTH) > Some(LEARNED)
}

/// The networks of a task that are such.
fn of<'a>(
    records: &'a Records,
    task: ClassId,
    such: impl Fn(&Network) -> bool + 'a,
) -> impl Iterator<Item = &'a Network> {
    let own = move |model: &&Network| model.class == task.id && such(model);
    records.fleets.cured.iter().filter(own)
}

const LEARNS: &str = "erratum 21: with a tenth of the tokens replaced it learns";
const ASSUMED: &str = "the paper has no numbers: all failed to learn; eight runs are assumed";

#[rustfmt::skip]
fn paper() -> Vec<Entry> { vec![
    entry(Z5, All, count(0, 8)).note(ASSUMED).assumed(),
    entry(QUASIGROUP, All, count(0, 8)).note(ASSUMED).assumed(),
    entry(Z5, Exploring, count(0, 8)).note(ASSUMED).assumed().reason(LEARNS),
    entry(QUASIGROUP, Exploring, count(0, 8)).note(ASSUMED).assumed().reason(LEARNS),
] }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::item::Key;
    use crate::reproduce::judge::ComparisonVerdict;
    use crate::reproduce::row::rows;
    use crate::reproduce::studies::Scale;

    #[test]
    fn what_the_paper_says_failed_is_judged_task_by_task() {
        let rows = rows(&ITEM, &Records::planned(Scale::Full));
        for task in TASKS {
            let of = |quantity: CuresQuantity| {
                let key = Key::new(task, quantity);
                rows.iter().find(|row| row.key == key).unwrap()
            };
            assert_eq!(of(All).n, 192);
            let exploring = of(Exploring);
            assert_eq!(
                (exploring.n, exploring.verdict),
                (32, ComparisonVerdict::CannotTell)
            );
            for order in LengthOrder::ALL {
                let plain = of(Above(CureMethod::Reinforce, order));
                assert_eq!((plain.n, plain.ours), (32, Some(0.0)));
            }
        }
    }
}
