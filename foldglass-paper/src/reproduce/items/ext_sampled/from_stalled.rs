//! Counts the runs that end above or below the stalled starts that they continue from.

use std::cmp::Ordering;

use foldglass::support::exact::Reward;

use super::ExtSampledQuantity::{StalledAbove, StalledAnswer, StalledBelow, StalledNoise};
use super::GradientSource;
use crate::reproduce::classes::ClassId;
use crate::reproduce::item::Number;
use crate::reproduce::measured::Measured;
use crate::reproduce::records::Records;
use crate::reproduce::stalled::{self, ExactWay, StalledClass, StalledRecord, StalledStart};

/// The classes whose stalled ends are continued from.
pub(super) const CLASSES: [(ClassId, StalledClass); 4] = [
    (
        super::BATCH_CLASSES[2],
        StalledClass {
            id: "qg-3",
            task: "quasigroup",
            length: 3,
            inputs: "uniform",
            by: ExactWay::Gradient,
        },
    ),
    (
        ClassId::new("qg-8", "quasigroup T=8"),
        StalledClass {
            id: "qg-8",
            task: "quasigroup",
            length: 8,
            inputs: "uniform",
            by: ExactWay::Cavi,
        },
    ),
    (
        ClassId::new("z5-8", "Z_5 T=8"),
        StalledClass {
            id: "z5-8",
            task: "z:5",
            length: 8,
            inputs: "uniform",
            by: ExactWay::Cavi,
        },
    ),
    (
        ClassId::new("parity-k9-6", "parity k=9/10 T=6"),
        StalledClass {
            id: "parity-k9-6",
            task: "parity",
            length: 6,
            inputs: "markov:9/10",
            by: ExactWay::Cavi,
        },
    ),
];

/// What came of the starts of all classes.
pub(super) fn measure(records: &Records) -> Vec<Number> {
    let of =
        |(class, stalled): (ClassId, StalledClass)| of_stalled(class, starts(records, stalled.id));
    CLASSES.into_iter().flat_map(of).collect()
}

/// The stalled starts of a class; none before they are followed.
pub(super) fn starts<'a>(records: &'a Records, id: &str) -> &'a [StalledStart] {
    let own = |record: &&StalledRecord| record.id == id;
    let record = records.work.stalled.iter().find(own);
    record.map(|record| &record.starts[..]).unwrap_or_default()
}

/// The rewards that a start led to, by its learning rates.
fn ends(start: &StalledStart, source: GradientSource) -> &[Reward] {
    match source {
        GradientSource::Sampled => &start.sampled,
        GradientSource::Exact => &start.exact,
    }
}

/// Of stalled starts, those whose run ended as the comparison with its start says.
pub(super) fn share_of(
    starts: &[StalledStart],
    source: GradientSource,
    which: usize,
    is: Ordering,
) -> Measured {
    Measured::share(starts.iter(), |start| {
        ends(start, source)[which].cmp(&start.reward) == is
    })
}

fn of_stalled(class: ClassId, starts: &[StalledStart]) -> Vec<Number> {
    let mut list = Vec::new();
    for (which, rate) in stalled::RATES.into_iter().enumerate() {
        for source in GradientSource::BOTH {
            let above = share_of(starts, source, which, Ordering::Greater);
            let below = share_of(starts, source, which, Ordering::Less);
            list.push(Number::new(class, StalledAbove(source, rate), above));
            list.push(Number::new(class, StalledBelow(source, rate), below));
        }
        let rewards = |source| {
            let end = |start: &StalledStart| ends(start, source)[which].to_f64();
            starts.iter().map(end).collect()
        };
        let effect = Measured::Effect {
            with: rewards(GradientSource::Sampled),
            without: rewards(GradientSource::Exact),
        };
        list.push(Number::new(class, StalledNoise(rate), effect));
    }
    list.push(Number::new(
        class,
        StalledAnswer,
        Measured::Exact(answer(starts)),
    ));
    list
}

/// Says how many runs end above their starts at each learning rate; none without starts.
fn answer(starts: &[StalledStart]) -> Option<String> {
    if starts.is_empty() {
        return None;
    }
    let above = |source| {
        let count = |which: usize| {
            let is_above =
                |start: &&StalledStart| ends(start, source)[which].cmp(&start.reward).is_gt();
            starts.iter().filter(is_above).count().to_string()
        };
        let counts: Vec<String> = (0..stalled::RATES.len()).map(count).collect();
        counts.join(", ")
    };
    let rates = stalled::RATES.map(|rate| rate.to_string()).join(", ");
    Some(format!(
        "above at rates {rates}: {} of {}, exact {}",
        above(GradientSource::Sampled),
        starts.len(),
        above(GradientSource::Exact)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_counts_runs_that_end_above_their_own_start() {
        let start = |reward: &str, sampled: [&str; 3], exact: [&str; 3]| {
            let own = serde_json::json!({
                "run": 0,
                "reward": reward,
                "sampled": sampled,
                "exact": exact,
            });
            serde_json::from_value::<StalledStart>(own).unwrap()
        };
        let starts = [
            start("4/5", ["4/5", "9/10", "1/5"], ["4/5", "4/5", "1/1"]),
            start("3/5", ["3/5", "4/5", "2/5"], ["3/5", "3/5", "3/5"]),
        ];
        let said = answer(&starts).unwrap();
        assert_eq!(
            said,
            "above at rates 5, 50, 500: 0, 2, 0 of 2, exact 0, 0, 1"
        );
        let below = share_of(&starts, GradientSource::Sampled, 2, Ordering::Less);
        assert_eq!((below.value(), below.runs()), (Some(1.0), 2));
        assert_eq!(answer(&[]), None);
    }
}
