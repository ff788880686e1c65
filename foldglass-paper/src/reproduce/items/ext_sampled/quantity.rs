//! Names what ext:sampled measures.

use std::fmt;

use ExtSampledQuantity::{
    AtOne, FirstBelowOne, GroupSlope, Noise, RatioAtLength, RatioOfGroup, RatioOfRun, RatiosDrawn,
    Reward, StalledAbove, StalledAnswer, StalledBelow, StalledNoise,
};
use foldglass::reward::estimators::Estimator;

use crate::reproduce::sampled::BATCH;

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
    /// The ratio of a batch along runs: at their first update, at its highest, at the end.
    RatioOfRun(u32, RunMoment),
    /// The ratio of 512 rollouts in groups, at random policies or after updates; a group of 1 is batch-mean.
    RatioOfGroup(Estimator, GroupMoment),
    /// Of all points of all curves of ratios, how many were estimated from drawn inputs.
    RatiosDrawn,
    /// f'(1/2) over f'(0) of the objective that groups of GRPO have.
    GroupSlope(u32),
    /// Of stalled starts, how many runs end above them, at a learning rate.
    StalledAbove(GradientSource, u32),
    /// How many end below them.
    StalledBelow(GradientSource, u32),
    /// The mean reward of the sampled runs minus that of the exact ones.
    StalledNoise(u32),
    /// How many end above at each learning rate, sampled and exact.
    StalledAnswer,
}

/// The gradients of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GradientSource {
    /// Estimated from rollouts.
    Sampled,
    /// Exact.
    Exact,
}

impl GradientSource {
    pub(super) const BOTH: [GradientSource; 2] = [GradientSource::Sampled, GradientSource::Exact];

    pub(super) fn word(self) -> &'static str {
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
    /// An estimator with groups, at 512 rollouts per update.
    Groups(Estimator),
    /// All lengths of the class from the start.
    AllAtOnce,
    /// One length after another.
    Curriculum,
    /// All lengths up to the paper's from the start.
    PaperAtOnce,
    /// Those one after another.
    PaperCurriculum,
}

impl SampledScan {
    /// The id of its dynamics in the study.
    pub(super) fn id(self, source: GradientSource) -> String {
        match self {
            SampledScan::Batch(batch) => format!("batch-{batch}-{}", source.word()),
            SampledScan::Rate(rate) => format!("rate-{rate}-{}", source.word()),
            SampledScan::Groups(estimator) => estimator.to_string().replace(':', "-"),
            SampledScan::AllAtOnce => "all-at-once".to_owned(),
            SampledScan::Curriculum => "curriculum".to_owned(),
            SampledScan::PaperAtOnce => format!("paper-{}", source.word()),
            SampledScan::PaperCurriculum => "paper-curriculum".to_owned(),
        }
    }
}

impl fmt::Display for SampledScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SampledScan::Batch(batch) => write!(f, "batch {batch}"),
            SampledScan::Rate(rate) => write!(f, "learning rate {rate}"),
            SampledScan::Groups(estimator) => write!(f, "{estimator}, 512 rollouts"),
            SampledScan::AllAtOnce | SampledScan::PaperAtOnce => f.write_str("no curriculum"),
            SampledScan::Curriculum | SampledScan::PaperCurriculum => f.write_str("curriculum"),
        }
    }
}

/// Where the ratios of groups are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupMoment {
    /// At random policies.
    Random,
    /// After 200 updates.
    Trained,
}

impl GroupMoment {
    /// The updates before.
    pub(super) const fn updates(self) -> u64 {
        match self {
            GroupMoment::Random => 0,
            GroupMoment::Trained => 200,
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
    pub(super) const ALL: [RunMoment; 3] = [RunMoment::First, RunMoment::Highest, RunMoment::Last];
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
                write!(f, "signal to noise along runs, batch {batch}, {moment}")
            }
            RatioOfGroup(estimator, moment) => {
                let moment = match moment {
                    GroupMoment::Random => "random policies".to_owned(),
                    GroupMoment::Trained => format!("after {} updates", moment.updates()),
                };
                write!(f, "signal to noise, 512 rollouts, {estimator}, {moment}")
            }
            RatiosDrawn => f.write_str("points of signal to noise estimated from drawn inputs"),
            StalledAbove(source, rate) => {
                write!(
                    f,
                    "end above a stalled start, {}, learning rate {rate}",
                    source.word()
                )
            }
            StalledBelow(source, rate) => {
                write!(
                    f,
                    "end below a stalled start, {}, learning rate {rate}",
                    source.word()
                )
            }
            StalledNoise(rate) => write!(
                f,
                "J from stalled starts, sampled minus exact, learning rate {rate}"
            ),
            StalledAnswer => f.write_str("does noise lead past where exact RLVR stalls?"),
            GroupSlope(group) => write!(f, "f'(1/2) / f'(0), grpo:{group}"),
        }
    }
}
