//! ext:sampled: training by sampled gradients beside training by exact ones, and the signal-to-noise ratio of the
//! samples.

use std::fmt;

use foldglass::reward::estimators::Estimator;

use crate::reproduce::classes::ClassId;
use crate::reproduce::item::{Item, Number, RecordFigure};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::{Need, Step};
use crate::reproduce::records::{Records, Sample};
use crate::reproduce::sampled::{self, BATCH, SnrCurve, SnrPoint};
use crate::reproduce::stated::Entry;
use crate::reproduce::studies;

mod drawing;

/// The item.
pub static ITEM: Item = Item {
    label: "ext:sampled",
    title: "sampled gradients: batch size, learning rate, signal to noise",
    about: None,
    needs: &[
        Need::Study(studies::SAMPLED),
        Need::Work(Step {
            name: "ext:sampled",
            run: |work| sampled::make(&CURVES, work),
        }),
    ],
    measure,
    paper,
    shows_all: true,
    figure: Some(RecordFigure {
        file: "ext-sampled.svg",
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
    (ClassId::named("parity"), "lengths-parity"),
    (ClassId::named("Z_5"), "lengths-z5"),
    (ClassId::named("quasigroup"), "lengths-quasigroup"),
];

/// The batches along whose runs the ratio is computed, and their curves.
const RUN_BATCHES: [(u32, &str); 3] = [(32, "run-32"), (512, "run-512"), (8192, "run-8192")];

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

const CURVES: [SnrCurve; 6] = [
    lengths(TASKS[0].1, "parity"),
    lengths(TASKS[1].1, "z:5"),
    lengths(TASKS[2].1, "quasigroup"),
    run(RUN_BATCHES[0]),
    run(RUN_BATCHES[1]),
    run(RUN_BATCHES[2]),
];

/// Groups of GRPO.
const GROUPS: [u32; 6] = [2, 3, 4, 8, 16, 64];

/// What is not of a class.
const ANY_CLASS: ClassId = ClassId::named("any class");

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExtSampledQuantity {
    /// Runs at 1.
    AtOne(GradientSource, SampledScan),
    /// The mean greedy reward.
    Reward(GradientSource, SampledScan),
    /// The mean greedy reward of sampled runs minus that of exact ones.
    Noise(SampledScan),
    /// The ratio of a batch of 512 at random policies of a length.
    RatioAtLength(usize),
    /// The first length at which it is below 1.
    FirstBelowOne,
    /// The ratio of a batch along a run: at its first update, at its highest, at the end.
    RatioOfRun(u32, RunMoment),
    /// f'(1/2) over f'(0) of the objective that groups of GRPO have.
    GroupSlope(u32),
}

use ExtSampledQuantity::{
    AtOne, FirstBelowOne, GroupSlope, Noise, RatioAtLength, RatioOfRun, Reward,
};

/// The gradients of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GradientSource {
    /// Estimated from rollouts.
    Sampled,
    /// Exact.
    Exact,
}

impl GradientSource {
    const BOTH: [GradientSource; 2] = [GradientSource::Sampled, GradientSource::Exact];

    fn word(self) -> &'static str {
        match self {
            GradientSource::Sampled => "sampled",
            GradientSource::Exact => "exact",
        }
    }
}

/// A point of a scan of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampledScan {
    /// Inputs per update.
    Batch(u32),
    /// The learning rate.
    Rate(u32),
    /// All lengths of the class from the start.
    AllAtOnce,
    /// One length after another.
    Curriculum,
}

impl SampledScan {
    /// The id of its dynamics in the study.
    fn id(self, source: GradientSource) -> String {
        match self {
            SampledScan::Batch(batch) => format!("batch-{batch}-{}", source.word()),
            SampledScan::Rate(rate) => format!("rate-{rate}-{}", source.word()),
            SampledScan::AllAtOnce => "all-at-once".to_owned(),
            SampledScan::Curriculum => "curriculum".to_owned(),
        }
    }
}

impl fmt::Display for SampledScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SampledScan::Batch(batch) => write!(f, "batch {batch}"),
            SampledScan::Rate(rate) => write!(f, "learning rate {rate}"),
            SampledScan::AllAtOnce => f.write_str("no curriculum"),
            SampledScan::Curriculum => f.write_str("curriculum"),
        }
    }
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMoment {
    /// At its first update.
    First,
    /// Where the ratio is highest.
    Highest,
    /// After its last update.
    Last,
}

impl RunMoment {
    const ALL: [RunMoment; 3] = [RunMoment::First, RunMoment::Highest, RunMoment::Last];
}

impl fmt::Display for ExtSampledQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AtOne(source, point) => write!(f, "at 1, {}, {point}", source.word()),
            Reward(source, point) => write!(f, "J, {}, {point}", source.word()),
            Noise(point) => write!(f, "J, sampled minus exact, {point}"),
            RatioAtLength(length) => write!(f, "signal to noise, batch {BATCH}, T = {length}"),
            FirstBelowOne => write!(f, "first T with a ratio below 1, batch {BATCH}"),
            RatioOfRun(batch, moment) => {
                let moment = match moment {
                    RunMoment::First => "first",
                    RunMoment::Highest => "highest",
                    RunMoment::Last => "last",
                };
                write!(f, "signal to noise along a run, batch {batch}, {moment}")
            }
            GroupSlope(group) => write!(f, "f'(1/2) / f'(0), grpo:{group}"),
        }
    }
}

fn paper() -> Vec<Entry> {
    Vec::new()
}

fn measure(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    for class in BATCH_CLASSES {
        list.extend(scan(records, class, &BATCHES.map(SampledScan::Batch)));
    }
    list.extend(scan(records, RATE_CLASS, &RATES.map(SampledScan::Rate)));
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
