//! Selects the eight results that a reader of the paper came for, from the numbers of the items.
//!
//! Every report opens with them, and `reproduce --quick` runs what they need and nothing else, with as many runs as the
//! paper has.

mod drawing;

use foldglass_study::Study;
use serde_json::Value;

use super::classes::{ClassId, QG, QG21_345};
use super::compare::{Compared, Comparison};
use super::fleets::TRAINED;
use super::item::{About, Item, Key, Number, RecordFigure};
use super::items::regulator::{RegulatorQuantity, RegulatorRuns};
use super::items::shortfall::{ComparedRuns, ShortfallQuantity};
use super::items::temperature_b::{self, TemperatureBQuantity};
use super::items::theorem::{self, TheoremQuantity};
use super::items::transition::{self, TransitionQuantity};
use super::items::trapsexist::{self, TrapsExistQuantity};
use super::items::{ext_traps, regulator, shortfall};
use super::judge::ComparisonVerdict;
use super::need::Need;
use super::records::Records;
use super::row::Row;
use super::stated::Entry;
use super::studies::{PLAIN, RESETS, SCAN, STATIONARITY};
use crate::report::page::slug;

/// A result.
pub struct HeadlineResult {
    /// It as an item: its label is a name, its title the claim.
    pub item: Item,
    /// The items whose numbers it has.
    pub of: &'static [&'static Item],
    /// Its numbers, of which the first state it: with one of them the claim falls.
    keys: fn() -> Vec<Key>,
    /// How many of them do.
    stating: usize,
}

/// A part of a study that a result needs.
struct HeadlineRuns {
    study: &'static str,
    dynamics: &'static str,
    class: ClassId,
    /// The temperatures; none is all of the study.
    taus: Option<&'static [f64]>,
}

const fn runs(study: &'static str, dynamics: &'static str, class: ClassId) -> HeadlineRuns {
    HeadlineRuns {
        study,
        dynamics,
        class,
        taus: None,
    }
}

const RUNS: [HeadlineRuns; 4] = [
    runs(STATIONARITY.name, "metropolis", QG),
    runs(PLAIN.name, "one-length", QG),
    runs(RESETS.name, "one-length", QG),
    HeadlineRuns {
        taus: Some(&[1e-13, 1e-6, 1e-5, 3.2e-5, 1e-4, 1e-3, 1e-2]),
        ..runs(SCAN.name, "lengths", QG21_345)
    },
];

/// Leaves of a study what the results need.
pub fn pick(study: &mut Study) {
    let own = |id: &str| {
        RUNS.iter()
            .find(|of| of.study == study.name && of.dynamics == id)
    };
    let mut classes = Vec::new();
    let mut dynamics = Vec::new();
    for mut one in std::mem::take(&mut study.dynamics) {
        let Some(needed) = own(&one.id) else {
            continue;
        };
        one.classes = Some(vec![needed.class.id.to_owned()]);
        classes.push(needed.class.id);
        for axis in one.axes.iter_mut().filter(|axis| axis.name == "tau") {
            let is_needed = |value: &Value| {
                needed
                    .taus
                    .is_none_or(|taus| taus.iter().any(|tau| value.as_f64() == Some(*tau)))
            };
            axis.values.retain(is_needed);
        }
        dynamics.push(one);
    }
    study.dynamics = dynamics;
    study
        .classes
        .retain(|class| classes.contains(&&class.id[..]));
}

/// The results, in the paper's order of argument.
pub static HEADLINES: [HeadlineResult; 8] = [
    HeadlineResult {
        of: &[&shortfall::ITEM],
        stating: 3,
        keys: || {
            vec![
                Key::new(QG, ShortfallQuantity::AtOne(ComparedRuns::Rlvr)),
                Key::new(QG, ShortfallQuantity::Reward(ComparedRuns::Rlvr)),
                Key::new(QG, ShortfallQuantity::AtOne(ComparedRuns::Chain)),
            ]
        },
        item: Item {
            label: "gap",
            title: "Monte Carlo solves the quasigroup, RLVR stops short of it",
            about: Some(About {
                place: 1,
                number: "Table 2",
                section: "section 5, app. G.3",
                says: "Every Monte Carlo chain reaches reward 1; most runs of tabular RLVR stop below.",
                stakes: "This is the gap that the paper explains.",
            }),
            needs: &[Need::Study(STATIONARITY), Need::Study(PLAIN)],
            measure: |records| measure(0, records),
            paper: || paper(0),
            shows_all: false,
            figure: Some(RecordFigure {
                file: "gap.svg",
                shows: "Final reward of each run on the quasigroup: all 60 chains stand at 1, the runs of RLVR \
                        spread between 0.5 and 1, and the paper’s means are crosses",
                draw: drawing::gap,
            }),
        },
    },
    HeadlineResult {
        of: &[&theorem::ITEM],
        stating: 2,
        keys: || {
            vec![
                Key::new(QG, TheoremQuantity::Without),
                Key::new(QG, TheoremQuantity::Losses),
            ]
        },
        item: Item {
            label: "escape",
            title: "No trap holds it there: from every code a path climbs to reward 1",
            about: Some(About {
                place: 2,
                number: "Theorem 4.1",
                section: "section 4.1, app. E",
                says: "From each code at which RLVR stopped, changes of one cell that never lower the reward lead \
                       to reward 1; a checker that shares nothing with the search has verified every path.",
                stakes: "It is the theorem that this landscape is benign.",
            }),
            needs: theorem::ITEM.needs,
            measure: |records| measure(1, records),
            paper: || paper(1),
            shows_all: false,
            figure: Some(RecordFigure {
                file: "escape.svg",
                shows: theorem::SHOWS,
                draw: theorem::draw,
            }),
        },
    },
    HeadlineResult {
        of: &[&regulator::ITEM],
        stating: 2,
        keys: || {
            let resets = RegulatorRuns::Resets;
            vec![
                Key::new(QG, RegulatorQuantity::AtOne(resets)),
                Key::new(QG, RegulatorQuantity::Reward(resets)),
            ]
        },
        item: Item {
            label: "resets",
            title: "Resets of a few cells close the gap",
            about: Some(About {
                place: 3,
                number: "Table 5",
                section: "section 5, app. G.5",
                says: "With 2 % of the cells redrawn every 10 iterations, RLVR reaches reward 1 as Monte Carlo does.",
                stakes: "It shows that what RLVR lacks is motion between codes of equal reward.",
            }),
            needs: &[Need::Study(PLAIN), Need::Study(RESETS)],
            measure: |records| measure(2, records),
            paper: || paper(2),
            shows_all: false,
            figure: Some(RecordFigure {
                file: "resets.svg",
                shows: "Final reward of each run of RLVR on the quasigroup: plain runs spread between 0.5 and 1, \
                        those with resets stand at 1, and the paper’s means are crosses",
                draw: drawing::resets,
            }),
        },
    },
    HeadlineResult {
        of: &[&regulator::ITEM],
        stating: 4,
        keys: || {
            vec![
                Key::new(QG21_345, RegulatorQuantity::RewardAt(3.2e-5)),
                Key::new(QG21_345, RegulatorQuantity::AtOneAt(3.2e-5)),
                Key::new(QG21_345, RegulatorQuantity::RewardAt(1e-13)),
                Key::new(QG21_345, RegulatorQuantity::RewardAt(1e-2)),
            ]
        },
        item: Item {
            label: "temperature",
            title: "The right temperature solves a class of several lengths",
            about: Some(About {
                place: 4,
                number: "Fig. 3a, Table 5",
                section: "section 5, app. G.5",
                says: "On lengths 3, 4 and 5 with window (2,1), RLVR reaches reward 1 at τ = 3.2e-5 and neither \
                       colder nor warmer.",
                stakes: "It is the paper’s case for a strong entropy bonus.",
            }),
            needs: &[Need::Study(SCAN)],
            measure: |records| measure(3, records),
            paper: || paper(3),
            shows_all: false,
            figure: Some(RecordFigure {
                file: "temperature.svg",
                shows: "Greedy reward of RLVR against the temperature on lengths 3, 4 and 5: 0.98 when cold, 1 \
                        near 3e-5, less when warm; the paper’s three means are crosses on the curve",
                draw: drawing::temperature,
            }),
        },
    },
    HeadlineResult {
        of: &[&transition::ITEM],
        stating: 3,
        keys: || {
            vec![
                Key::new(transition::LONGEST, TransitionQuantity::Middle),
                Key::new(transition::WIDTH, TransitionQuantity::Climb),
                Key::new(transition::COUNTED, TransitionQuantity::Dead),
            ]
        },
        item: Item {
            label: "transition",
            title: "Parity jumps from chance to the solution at one temperature",
            about: Some(About {
                place: 5,
                number: "Eq. 10",
                section: "section 4.2, app. F",
                says: "The mean reward of parity jumps from 1/2 to 1 near β = 6T ln 2, ever more steeply as T grows.",
                stakes: "It is the paper’s exactly solved case.",
            }),
            needs: transition::ITEM.needs,
            measure: |records| measure(4, records),
            paper: || paper(4),
            shows_all: false,
            figure: Some(RecordFigure {
                file: "transition.svg",
                shows: transition::SHOWS,
                draw: transition::draw,
            }),
        },
    },
    HeadlineResult {
        of: &[&trapsexist::ITEM],
        stating: 2,
        keys: || {
            vec![
                Key::new(trapsexist::CORRELATED[4], TrapsExistQuantity::Traps),
                Key::new(trapsexist::UNCORRELATED_8, TrapsExistQuantity::Traps),
                Key::new(trapsexist::CORRELATED[4], TrapsExistQuantity::LocalMaxima),
            ]
        },
        item: Item {
            label: "traps",
            title: "Correlated inputs make traps, all of them counted",
            about: Some(About {
                place: 6,
                number: "Table 6",
                section: "section 5, app. G.6",
                says: "Of the 1,073,741,824 codes of parity at T = 8, 2,432 are traps when symbols repeat with \
                       probability 9/10; without correlation none is.",
                stakes: "It is the paper’s counterexample to benignity.",
            }),
            needs: &[
                Need::Census(trapsexist::correlated(4)),
                Need::Census(trapsexist::correlated(5)),
                Need::Census(trapsexist::correlated(6)),
                Need::Census(trapsexist::correlated(7)),
                Need::Census(trapsexist::correlated(8)),
                Need::Census(trapsexist::UNCORRELATED),
            ],
            measure: |records| measure(5, records),
            paper: || paper(5),
            shows_all: false,
            figure: Some(RecordFigure {
                file: "traps.svg",
                shows: "Codes, local maxima and traps of correlated parity against T from 4 to 8, on a logarithmic \
                        axis, with the paper’s numbers as crosses on each",
                draw: drawing::traps,
            }),
        },
    },
    HeadlineResult {
        of: &[&ext_traps::ITEM],
        stating: 3,
        keys: || {
            let by_law = |length: usize| {
                let class = trapsexist::CORRELATED[length - 4];
                Key::new(class, ext_traps::ExtTrapsQuantity::ByLaw)
            };
            vec![by_law(8), by_law(7), by_law(6)]
        },
        item: Item {
            label: "law",
            title: "A law gives the number of these traps at every length",
            about: Some(About {
                place: 7,
                number: "Table 6",
                section: "beyond the paper",
                says: "The law, a theorem here, has the paper’s counts of T = 4 to 8 and goes on from there.",
                stakes: "The paper has counts; the law says why they are what they are.",
            }),
            needs: ext_traps::ITEM.needs,
            measure: |records| measure(6, records),
            paper: || paper(6),
            shows_all: false,
            figure: Some(RecordFigure {
                file: "law.svg",
                shows: "Number of traps of correlated parity against T on a logarithmic axis: the line of the law \
                        from T = 4 to 16, our censuses of T = 4 to 8 on it, and the paper’s counts as crosses",
                draw: drawing::law,
            }),
        },
    },
    HeadlineResult {
        of: &[&temperature_b::ITEM],
        stating: 1,
        keys: || {
            vec![
                Key::new(
                    temperature_b::QUASIGROUP,
                    TemperatureBQuantity::Accuracy(0.3),
                ),
                Key::new(temperature_b::Z5, TemperatureBQuantity::Accuracy(0.3)),
                Key::new(temperature_b::Z5, TemperatureBQuantity::Accuracy(1.0)),
            ]
        },
        item: Item {
            label: "transformers",
            title: "A transformer learns the quasigroup at entropy coefficient 0.3",
            about: Some(About {
                place: 8,
                number: "Fig. 3b",
                section: "section 5.1, app. G.5",
                says: "Z_5 is learned as in the paper; the quasigroup stays at chance, whichever of the readings of \
                       the paper we tried.",
                stakes: "It is the abstract’s last sentence. The networks were trained on a GPU before; their records \
                         are part of the program.",
            }),
            needs: &[Need::Fleet(TRAINED)],
            measure: |records| measure(7, records),
            paper: || paper(7),
            shows_all: false,
            figure: Some(RecordFigure {
                file: "transformers.svg",
                shows: "Greedy accuracy at length 8 of each transformer against the entropy coefficient, with the \
                        paper’s means as crosses: Z_5 agrees at 0.3 and 1, the quasigroup at 0.3 does not",
                draw: temperature_b::draw,
            }),
        },
    },
];

fn measure(place: usize, records: &Records) -> Vec<Number> {
    let headline = &HEADLINES[place];
    let all = headline.of.iter().flat_map(|item| (item.measure)(records));
    let all: Vec<Number> = all.collect();
    let own = |key: Key| all.iter().find(|number| number.key == key).cloned();
    (headline.keys)().into_iter().filter_map(own).collect()
}

fn paper(place: usize) -> Vec<Entry> {
    let headline = &HEADLINES[place];
    let keys = (headline.keys)();
    let all = headline.of.iter().flat_map(|item| (item.paper)());
    all.filter(|entry| keys.contains(&entry.key)).collect()
}

/// Whether a result holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadlineVerdict {
    /// All its numbers agree.
    Holds,
    /// Those that state it agree; another differs.
    InPart,
    /// A number that states it differs.
    NotReproduced,
    /// A number has no verdict.
    CannotTell,
    /// Its records are missing.
    NotRun,
}

impl HeadlineVerdict {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            HeadlineVerdict::Holds => "holds",
            HeadlineVerdict::InPart => "holds in part",
            HeadlineVerdict::NotReproduced => "not reproduced",
            HeadlineVerdict::CannotTell => "cannot tell",
            HeadlineVerdict::NotRun => "not run",
        }
    }
}

/// A result with its numbers, each beside the item that shows it.
pub struct JudgedHeadline<'a> {
    /// The result.
    pub headline: &'static HeadlineResult,
    /// Its numbers: first those that state it.
    pub rows: Vec<(&'a Compared, &'a Row)>,
}

impl JudgedHeadline<'_> {
    /// What its numbers say.
    pub fn verdict(&self) -> HeadlineVerdict {
        let any = |is: &dyn Fn(&Row) -> bool| self.rows.iter().any(|(_, row)| is(row));
        let differs = |row: &Row| row.verdict == ComparisonVerdict::Differs;
        let agrees = |row: &Row| row.verdict == ComparisonVerdict::Agrees;
        if self.rows.is_empty() {
            HeadlineVerdict::NotRun
        } else if any(&|row| differs(row) && self.states(row)) {
            HeadlineVerdict::NotReproduced
        } else if self.rows.len() < (self.headline.keys)().len()
            || any(&|row| !differs(row) && !agrees(row))
        {
            HeadlineVerdict::CannotTell
        } else if any(&differs) {
            HeadlineVerdict::InPart
        } else {
            HeadlineVerdict::Holds
        }
    }

    /// Whether a number states the result.
    fn states(&self, row: &Row) -> bool {
        let keys = (self.headline.keys)();
        keys[..self.headline.stating].contains(&row.key)
    }

    /// A number that decides: one that does not agree, where there is one.
    pub fn deciding(&self) -> Option<&Row> {
        let mut rows = self.rows.iter().map(|(_, row)| *row);
        let apart = rows.find(|row| row.verdict != ComparisonVerdict::Agrees);
        apart.or(self.rows.first().map(|(_, row)| *row))
    }

    /// Where the paper has it.
    pub fn about(&self) -> &'static About {
        self.headline
            .item
            .about
            .as_ref()
            .expect("every result has one")
    }
}

/// The results with what a comparison says of each.
pub fn judged(comparison: &Comparison) -> Vec<JudgedHeadline<'_>> {
    let all = || {
        let items = comparison.items.iter();
        items.flat_map(|item| item.rows.iter().map(move |row| (item, row)))
    };
    let judged = |headline: &'static HeadlineResult| {
        let keys = (headline.keys)();
        let mut rows = Vec::new();
        for key in keys {
            let found = all().find(|(_, row)| row.key == key);
            rows.extend(found.filter(|(_, row)| row.n > 0));
        }
        JudgedHeadline { headline, rows }
    };
    HEADLINES.iter().map(judged).collect()
}

/// The name of an anchor of a result in a page.
pub fn anchor(headline: &HeadlineResult) -> String {
    format!("result-{}", slug(headline.item.label))
}

#[cfg(test)]
mod tests {
    use super::super::studies::Scale;
    use super::*;

    /// Catches a result whose number the items no longer measure or the paper no longer states: it would vanish
    /// from the first screen in silence.
    #[test]
    fn every_number_of_every_result_is_measured_and_stated() {
        let records = Records::planned(Scale::Full);
        for (place, headline) in HEADLINES.iter().enumerate() {
            let keys = (headline.keys)();
            let measured: Vec<Key> = measure(place, &records).iter().map(|n| n.key).collect();
            assert_eq!(measured, keys, "{}", headline.item.label);
            assert_eq!(paper(place).len(), keys.len(), "{}", headline.item.label);
            assert_eq!(headline.item.about.as_ref().unwrap().place, place + 1);
        }
    }

    /// Catches a result that stands whatever its other numbers say: Monte Carlo solves the quasigroup only if its
    /// chains do.
    #[test]
    fn every_number_of_a_result_decides() {
        let records = Records::planned(Scale::Full);
        let mut comparison = Comparison::planned(&records);
        let all = comparison.items.iter_mut().flat_map(|item| &mut item.rows);
        for row in all {
            (row.n, row.verdict) = (60, ComparisonVerdict::Agrees);
        }
        for (place, headline) in HEADLINES.iter().enumerate() {
            assert_eq!(judged(&comparison)[place].verdict(), HeadlineVerdict::Holds);
            for (number, key) in (headline.keys)().into_iter().enumerate() {
                let mut with = |verdict| {
                    let all = comparison.items.iter_mut().flat_map(|item| &mut item.rows);
                    for row in all.filter(|row| row.key == key) {
                        row.verdict = verdict;
                    }
                    let judged = &judged(&comparison)[place];
                    (judged.verdict(), judged.deciding().unwrap().key)
                };
                let expected = match number < headline.stating {
                    true => HeadlineVerdict::NotReproduced,
                    false => HeadlineVerdict::InPart,
                };
                let label = headline.item.label;
                assert_eq!(with(ComparisonVerdict::Differs), (expected, key), "{label}");
                let (verdict, _) = with(ComparisonVerdict::CannotTell);
                assert_eq!(verdict, HeadlineVerdict::CannotTell, "{label}");
                with(ComparisonVerdict::Agrees);
            }
        }
    }

    /// Catches a part of a study that no study has, under a name that was changed.
    #[test]
    fn every_run_that_a_result_needs_is_in_its_study() {
        for needed in &RUNS {
            let source = [PLAIN, RESETS, SCAN, STATIONARITY]
                .into_iter()
                .find(|source| source.name == needed.study)
                .unwrap();
            let study = source.study(Scale::Quick, 0);
            assert_eq!((study.dynamics.len(), study.classes.len()), (1, 1));
            assert_eq!(study.classes[0].id, needed.class.id);
            let full = source.study(Scale::Full, 0);
            let own = full.dynamics.iter().find(|of| of.id == needed.dynamics);
            assert_eq!(own.unwrap().runs, study.dynamics[0].runs);
            if let Some(taus) = needed.taus {
                assert_eq!(study.dynamics[0].axes[0].values.len(), taus.len());
            }
        }
    }
}
