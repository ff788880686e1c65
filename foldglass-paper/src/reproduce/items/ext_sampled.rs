//! ext:sampled: training by sampled gradients beside training by exact ones, and the signal-to-noise ratio of the
//! samples.
//!
//! - `quantity`: names what is measured.
//! - `drawing`: draws the figure.

use std::cmp::Ordering;

use foldglass::reward::estimators::Estimator;

use crate::reproduce::classes::ClassId;
use crate::reproduce::item::{Item, Number, RecordFigure};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::{Need, Step};
use crate::reproduce::records::{Records, Sample};
use crate::reproduce::sampled::{self, SnrCurve, SnrPoint};
use crate::reproduce::stalled::{self, ExactWay, StalledClass, StalledRecord, StalledStart};
use crate::reproduce::stated::Entry;
use crate::reproduce::studies;

mod drawing;
mod quantity;

use ExtSampledQuantity::{
    AtOne, FirstBelowOne, GroupSlope, Noise, RatioAtLength, RatioOfGroup, RatioOfRun, Reward,
    StalledAbove, StalledAnswer, StalledBelow, StalledNoise,
};
pub use quantity::{ExtSampledQuantity, GradientSource, GroupMoment, RunMoment, SampledScan};

/// The item.
pub static ITEM: Item = Item {
    label: "ext:sampled",
    title: "sampled gradients: batch size, learning rate, signal to noise",
    about: None,
    needs: &[
        Need::Study(studies::SAMPLED),
        Need::Work(Step {
            name: "ext:sampled",
            seconds: 400,
            leaves: &[sampled::RATIOS, stalled::STALLED],
            run: |work| {
                sampled::make(&CURVES, work)?;
                stalled::make(&STALLED.map(|(_, class)| class), work)
            },
        }),
    ],
    measure,
    paper,
    shows_all: true,
    figure: Some(RecordFigure {
        file: "ext-sampled.svg",
        shows: "Reward reached by sampled policy gradients against the number of rollouts of an update, and the signal-to-noise ratio of the gradient",
        draw: drawing::draw,
    }),
};

/// The classes of the scan of batches.
const BATCH_CLASSES: [ClassId; 3] = [
    ClassId::new("parity-6", "parity T=6"),
    ClassId::new("z5-2", "Z_5 T=2"),
    ClassId::new("qg-3", "quasigroup T=3"),
];

/// The class of the scan of learning rates.
pub const RATE_CLASS: ClassId = ClassId::new("qg-4", "quasigroup T=4");

/// Length 6 alone, and all lengths up to it.
pub const LAST_LENGTH: ClassId = ClassId::new("qg-6", "quasigroup T=6");
/// All lengths up to 6.
pub const SIX_LENGTHS: ClassId = ClassId::new("qg-1to6", "quasigroup T=1..6");

/// Inputs per update, at a fixed number of rollouts.
const BATCHES: [u32; 5] = [32, 128, 512, 2048, 8192];

/// Learning rates.
pub const RATES: [u32; 5] = [5, 50, 500, 5_000, 50_000];

/// Lengths at whose random policies the ratio is computed.
const LONGEST: usize = 8;

/// The tasks of these lengths, and their curves.
const TASKS: [(ClassId, &str); 3] = [
    (ClassId::named("parity"), "random-parity"),
    (ClassId::named("Z_5"), "random-z5"),
    (ClassId::named("quasigroup"), "random-quasigroup"),
];

/// The batches along whose runs the ratio is computed, and their curves.
const RUN_BATCHES: [(u32, &str); 3] = [(32, "runs-32"), (512, "runs-512"), (8192, "runs-8192")];

const fn lengths(id: &'static str, task: &'static str) -> SnrCurve {
    SnrCurve::Lengths {
        id,
        task,
        longest: LONGEST,
    }
}

const fn run((batch, id): (u32, &'static str)) -> SnrCurve {
    SnrCurve::Run {
        id,
        task: "quasigroup",
        length: 3,
        batch,
    }
}

const fn groups((id, moment, estimator): GroupCurve) -> SnrCurve {
    SnrCurve::Groups {
        id,
        task: "quasigroup",
        length: 3,
        updates: moment.updates(),
        estimator,
    }
}

/// The name of a curve of ratios against the size of groups, where it is computed, and its estimators.
type GroupCurve = (&'static str, GroupMoment, fn(u32) -> Estimator);

const GROUP_CURVES: [GroupCurve; 4] = [
    ("groups-rloo-random", GroupMoment::Random, Estimator::Rloo),
    ("groups-grpo-random", GroupMoment::Random, Estimator::Grpo),
    ("groups-rloo-trained", GroupMoment::Trained, Estimator::Rloo),
    ("groups-grpo-trained", GroupMoment::Trained, Estimator::Grpo),
];

const CURVES: [SnrCurve; 10] = [
    lengths(TASKS[0].1, "parity"),
    lengths(TASKS[1].1, "z:5"),
    lengths(TASKS[2].1, "quasigroup"),
    run(RUN_BATCHES[0]),
    run(RUN_BATCHES[1]),
    run(RUN_BATCHES[2]),
    groups(GROUP_CURVES[0]),
    groups(GROUP_CURVES[1]),
    groups(GROUP_CURVES[2]),
    groups(GROUP_CURVES[3]),
];

/// Estimators with groups that are trained by, all with 512 rollouts per update.
const TRAINED_GROUPS: [Estimator; 5] = [
    Estimator::Rloo(2),
    Estimator::Rloo(8),
    Estimator::Grpo(2),
    Estimator::Grpo(8),
    Estimator::DrGrpo(8),
];

/// The classes whose stalled ends are continued from.
const STALLED: [(ClassId, StalledClass); 4] = [
    (
        BATCH_CLASSES[2],
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

/// Groups of GRPO.
const GROUPS: [u32; 6] = [2, 3, 4, 8, 16, 64];

/// What is not of a class.
const ANY_CLASS: ClassId = ClassId::named("any class");

fn paper() -> Vec<Entry> {
    Vec::new()
}

fn measure(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    for class in BATCH_CLASSES {
        list.extend(scan(records, class, &BATCHES.map(SampledScan::Batch)));
    }
    list.extend(scan(records, RATE_CLASS, &RATES.map(SampledScan::Rate)));
    for estimator in TRAINED_GROUPS {
        let way = SampledScan::Groups(estimator);
        list.extend(ends_of(
            records,
            BATCH_CLASSES[2],
            GradientSource::Sampled,
            way,
        ));
    }
    let ways = [
        (LAST_LENGTH, SampledScan::AllAtOnce),
        (SIX_LENGTHS, SampledScan::AllAtOnce),
        (SIX_LENGTHS, SampledScan::Curriculum),
    ];
    for (class, way) in ways {
        list.extend(ends_of(records, class, GradientSource::Sampled, way));
    }
    for (task, id) in TASKS {
        let ratios = curve(records, id);
        for length in 1..=LONGEST {
            let at = ratios.iter().find(|point| point.at == length as u64);
            let ratio = exact(at.and_then(|point| point.snr));
            list.push(Number::new(task, RatioAtLength(length), ratio));
        }
        let below = |point: &&SnrPoint| point.snr.is_some_and(|ratio| ratio < 1.0);
        let first = ratios.iter().find(below).map(|point| point.at.to_string());
        list.push(Number::new(task, FirstBelowOne, Measured::Exact(first)));
    }
    for (batch, id) in RUN_BATCHES {
        let ratios: Vec<f64> = curve(records, id)
            .iter()
            .filter_map(|point| point.snr)
            .collect();
        for moment in RunMoment::ALL {
            let ratio = match moment {
                RunMoment::First => ratios.first().copied(),
                RunMoment::Highest => ratios.iter().copied().reduce(f64::max),
                RunMoment::Last => ratios.last().copied(),
            };
            let class = BATCH_CLASSES[2];
            list.push(Number::new(class, RatioOfRun(batch, moment), exact(ratio)));
        }
    }
    let class = BATCH_CLASSES[2];
    for (id, moment, estimator) in GROUP_CURVES {
        for point in curve(records, id) {
            let kind = match point.at {
                1 => Estimator::BatchMean,
                group => estimator(group as u32),
            };
            let number = Number::new(class, RatioOfGroup(kind, moment), exact(point.snr));
            // Both curves of a moment begin with the estimator without groups.
            if list.iter().all(|other| other.key != number.key) {
                list.push(number);
            }
        }
    }
    for (class, stalled) in STALLED {
        list.extend(of_stalled(class, starts(records, stalled.id)));
    }
    for group in GROUPS {
        let estimator = Estimator::Grpo(group);
        let ratio = estimator.slope(0.5) / estimator.slope(0.0);
        let text = Some(format!("{ratio:.4}"));
        list.push(Number::new(
            ANY_CLASS,
            GroupSlope(group),
            Measured::Exact(text),
        ));
    }
    list
}

fn exact(number: Option<f64>) -> Measured {
    Measured::Exact(number.map(|number| format!("{number:.2e}")))
}

/// The points of a curve; none before it is computed.
fn curve<'a>(records: &'a Records, id: &str) -> &'a [SnrPoint] {
    let own = records.work.ratios.iter().find(|record| record.id == id);
    own.map(|record| &record.points[..]).unwrap_or_default()
}

/// The stalled starts of a class; none before they are followed.
fn starts<'a>(records: &'a Records, id: &str) -> &'a [StalledStart] {
    let own = |record: &&StalledRecord| record.id == id;
    let record = records.work.stalled.iter().find(own);
    record.map(|record| &record.starts[..]).unwrap_or_default()
}

/// The rewards that a start led to, by its learning rates.
fn ends(start: &StalledStart, source: GradientSource) -> &[foldglass::support::exact::Reward] {
    match source {
        GradientSource::Sampled => &start.sampled,
        GradientSource::Exact => &start.exact,
    }
}

/// Of stalled starts, those whose run ended as the comparison with its start says.
fn share_of(
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

fn sample(records: &Records, class: ClassId, source: GradientSource, point: SampledScan) -> Sample {
    records.ends(studies::SAMPLED, class.id, &point.id(source), None)
}

fn ends_of(
    records: &Records,
    class: ClassId,
    source: GradientSource,
    point: SampledScan,
) -> [Number; 2] {
    let sample = sample(records, class, source, point);
    [
        Number::new(class, Reward(source, point), sample.mean()),
        Number::new(class, AtOne(source, point), sample.at_one()),
    ]
}

fn scan(records: &Records, class: ClassId, points: &[SampledScan]) -> Vec<Number> {
    let mut list = Vec::new();
    for &point in points {
        for source in GradientSource::BOTH {
            list.extend(ends_of(records, class, source, point));
        }
        let rewards = |source| sample(records, class, source, point).rewards;
        let effect = Measured::Effect {
            with: rewards(GradientSource::Sampled),
            without: rewards(GradientSource::Exact),
        };
        list.push(Number::new(class, Noise(point), effect));
    }
    list
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
