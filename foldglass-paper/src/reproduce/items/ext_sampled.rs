//! ext:sampled: training by sampled gradients beside training by exact ones, and the signal-to-noise ratio of the
//! samples.
//!
//! - `quantity`: names what is measured.
//! - `from_stalled`: counts runs that end above or below the stalled starts that they continue from.
//! - `drawing`: draws the figure.

use foldglass::reward::estimators::Estimator;

use crate::reproduce::classes::ClassId;
use crate::reproduce::item::{Item, Number, RecordFigure};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::{Need, Step};
use crate::reproduce::records::{Records, Sample};
use crate::reproduce::sampled::{self, SnrCurve, SnrPoint};
use crate::reproduce::stalled;
use crate::reproduce::stated::Entry;
use crate::reproduce::studies;

mod drawing;
mod from_stalled;
mod quantity;

use ExtSampledQuantity::{
    AtOne, FirstBelowOne, GroupSlope, Noise, RatioAtLength, RatioOfGroup, RatioOfRun, RatiosDrawn,
    Reward,
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
            seconds: 100,
            leaves: &[sampled::RATIOS, stalled::STALLED],
            run: |work| {
                sampled::make(&CURVES, work)?;
                stalled::make(&from_stalled::CLASSES.map(|(_, class)| class), work)
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

/// The tasks of the paper at its length, with all shorter ones.
const PAPER_LENGTHS: [ClassId; 3] = [
    ClassId::new("parity-1to8", "parity T=1..8"),
    ClassId::new("z5-1to8", "Z_5 T=1..8"),
    ClassId::new("qg-1to8", "quasigroup T=1..8"),
];

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
    for class in PAPER_LENGTHS {
        for way in [SampledScan::PaperAtOnce, SampledScan::PaperCurriculum] {
            list.extend(ends_of(records, class, GradientSource::Sampled, way));
        }
        let exact = SampledScan::PaperAtOnce;
        list.extend(ends_of(records, class, GradientSource::Exact, exact));
    }
    list.extend(ratios(records));
    list.extend(from_stalled::measure(records));
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

/// The median over the policies of a point.
fn median(point: Option<&SnrPoint>) -> Measured {
    Measured::Quantile {
        level: 0.5,
        values: point.map(|point| point.ratios.clone()).unwrap_or_default(),
    }
}

/// Signal-to-noise ratios by length, along runs and by the size of groups.
fn ratios(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    for (task, id) in TASKS {
        let points = curve(records, id);
        for length in 1..=LONGEST {
            let at = points.iter().find(|point| point.at == length as u64);
            list.push(Number::new(task, RatioAtLength(length), median(at)));
        }
        let below = |point: &&SnrPoint| point.median().is_some_and(|ratio| ratio < 1.0);
        let first = points.iter().find(below).map(|point| point.at.to_string());
        list.push(Number::new(task, FirstBelowOne, Measured::Exact(first)));
    }
    let class = BATCH_CLASSES[2];
    for (batch, id) in RUN_BATCHES {
        let points = curve(records, id);
        for moment in RunMoment::ALL {
            let point = match moment {
                RunMoment::First => points.first(),
                RunMoment::Highest => points.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b))),
                RunMoment::Last => points.last(),
            };
            list.push(Number::new(class, RatioOfRun(batch, moment), median(point)));
        }
    }
    for (id, moment, estimator) in GROUP_CURVES {
        for point in curve(records, id) {
            let kind = match point.at {
                1 => Estimator::BatchMean,
                group => estimator(group as u32),
            };
            let number = Number::new(class, RatioOfGroup(kind, moment), median(Some(point)));
            // Both curves of a moment begin with the estimator without groups.
            if list.iter().all(|other: &Number| other.key != number.key) {
                list.push(number);
            }
        }
    }
    let all = CURVES.iter().flat_map(|own| curve(records, own.id()));
    let drawn = all.clone().filter(|point| point.drawn).count();
    let text = all.clone().next().map(|_| drawn.to_string());
    list.push(Number::new(ANY_CLASS, RatiosDrawn, Measured::Exact(text)));
    list
}

fn ratio(point: &SnrPoint) -> f64 {
    point.median().unwrap_or(f64::NEG_INFINITY)
}

/// The points of a curve; none before it is computed.
fn curve<'a>(records: &'a Records, id: &str) -> &'a [SnrPoint] {
    let own = records.work.ratios.iter().find(|record| record.id == id);
    own.map(|record| &record.points[..]).unwrap_or_default()
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
