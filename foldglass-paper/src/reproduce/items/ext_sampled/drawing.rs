//! Draws the figure of ext:sampled.

use std::cmp::Ordering;
use std::sync::Arc;

use foldglass::reward::estimators::Estimator;
use foldglass::support::stats::Interval;
use kuva::prelude::TickFormat;

use super::from_stalled::{self, share_of, starts};
use super::{
    BATCH_CLASSES, BATCHES, GROUP_CURVES, GradientSource, GroupMoment, LONGEST, RATE_CLASS, RATES,
    RUN_BATCHES, SampledScan, TASKS, curve, sample,
};
use crate::report::figure::{LOOKS, Look, PlotPoint, powers_of_ten};
use crate::reproduce::classes::ClassId;
use crate::reproduce::items::ext_panels::{
    CurveStyle, PanelAxis, PanelCurve, PanelSpec, apart, page,
};
use crate::reproduce::records::Records;
use crate::reproduce::sampled::{ROLLOUTS, SnrPoint};
use crate::reproduce::stalled;
use crate::reproduce::studies::Scale;

/// The groups that are drawn, where all of a size below four are alike.
const DRAWN_GROUPS: [u32; 4] = [3, 4, 8, 64];

/// The figure.
pub fn draw(records: &Records, scale: Scale) -> String {
    let smoke = if scale == Scale::Smoke {
        ", SMOKE SCALE"
    } else {
        ""
    };
    page(&[
        against_batch(records, smoke),
        against_rate(records, smoke),
        against_length(records, smoke),
        along_runs(records, smoke),
        slopes(),
        against_group(records, smoke),
        beside_starts(
            records,
            Ordering::Greater,
            "(g) end above a stalled start",
            smoke,
        ),
        beside_starts(records, Ordering::Less, "(h) end below it", smoke),
    ])
}

fn named(label: String, look: Look, drawn: CurveStyle, points: Vec<PlotPoint>) -> PanelCurve {
    PanelCurve {
        label: Some(label),
        look,
        drawn,
        points,
    }
}

/// Mean greedy rewards of the points of a scan.
fn rewards(
    records: &Records,
    class: ClassId,
    source: GradientSource,
    points: impl Iterator<Item = (f64, SampledScan)>,
) -> Vec<PlotPoint> {
    let point = |(x, point): (f64, SampledScan)| {
        let mean = sample(records, class, source, point).mean();
        Some(PlotPoint {
            x,
            y: mean.value()?,
            interval: mean.interval(),
        })
    };
    points.filter_map(point).collect()
}

fn reward_axis() -> PanelAxis {
    PanelAxis {
        label: "mean greedy reward",
        ends: [0.0, 1.05],
        step: 0.2,
        ticks: TickFormat::Fixed(1),
    }
}

const BARS: &[&str] = &["bars: 95 % intervals"];
const RANGES: &[&str] = &["medians over policies;", "bars: least and largest"];

fn against_batch(records: &Records, smoke: &str) -> PanelSpec {
    let mut curves = Vec::new();
    let mut looks = LOOKS.into_iter();
    for class in BATCH_CLASSES {
        for source in GradientSource::BOTH {
            let points = BATCHES.map(|batch| (f64::from(batch).log10(), SampledScan::Batch(batch)));
            let points = rewards(records, class, source, points.into_iter());
            let look = looks.next().expect("six looks");
            let label = match source {
                GradientSource::Sampled => class.name.to_owned(),
                GradientSource::Exact => "  exact gradients".to_owned(),
            };
            curves.push(named(label, look, CurveStyle::Both, points));
        }
    }
    PanelSpec {
        title: format!("(a) 2^{} rollouts, rate 5{smoke}", ROLLOUTS.ilog2()),
        x: PanelAxis {
            label: "inputs per update",
            ends: [1.3, 4.1],
            step: 1.0,
            ticks: powers_of_ten(),
        },
        y: reward_axis(),
        curves: apart(curves, 0.02),
        notes: BARS,
    }
}

fn against_rate(records: &Records, smoke: &str) -> PanelSpec {
    let curves = GradientSource::BOTH.into_iter().zip(LOOKS);
    let curves = curves.map(|(source, look)| {
        let points = RATES.map(|rate| (f64::from(rate).log10(), SampledScan::Rate(rate)));
        let points = rewards(records, RATE_CLASS, source, points.into_iter());
        named(source.word().to_owned(), look, CurveStyle::Both, points)
    });
    PanelSpec {
        title: format!("(b) {}, 1,000 updates of 512{smoke}", RATE_CLASS.name),
        x: PanelAxis {
            label: "learning rate",
            ends: [0.5, 5.0],
            step: 1.0,
            ticks: powers_of_ten(),
        },
        y: reward_axis(),
        curves: apart(curves.collect(), 0.03),
        notes: BARS,
    }
}

/// Powers of ten from the lowest to the highest point, and 1 among them.
fn ratio_axis(curves: &[PanelCurve]) -> PanelAxis {
    let points = curves.iter().flat_map(|curve| &curve.points);
    let (low, high) = points.fold((-1.0, 1.0), |(low, high): (f64, f64), point| {
        let ends = point.interval.unwrap_or(Interval {
            low: point.y,
            high: point.y,
        });
        (low.min(ends.low), high.max(ends.high))
    });
    let (low, high) = (low.floor(), high.ceil());
    PanelAxis {
        label: "signal to noise",
        ends: [low, high],
        step: ((high - low) / 8.0).ceil(),
        ticks: powers_of_ten(),
    }
}

/// The line above which the signal is larger.
fn one(ends: [f64; 2]) -> PanelCurve {
    let points = ends.map(|x| PlotPoint {
        x,
        y: 0.0,
        interval: None,
    });
    named(
        "ratio 1".to_owned(),
        LOOKS[6],
        CurveStyle::Line,
        points.into(),
    )
}

/// The positive ratios of a curve, as powers of ten.
fn ratios(records: &Records, id: &str, unit: f64) -> Vec<PlotPoint> {
    let points = curve(records, id).iter();
    let point = |point: &SnrPoint| {
        let ratio = point.median().filter(|ratio| *ratio > 0.0)?;
        let range = point.range().filter(|range| range[0] > 0.0);
        Some(PlotPoint {
            x: point.at as f64 / unit,
            y: ratio.log10(),
            interval: range.map(|[low, high]| Interval {
                low: low.log10(),
                high: high.log10(),
            }),
        })
    };
    points.filter_map(point).collect()
}

fn against_length(records: &Records, smoke: &str) -> PanelSpec {
    let ends = [0.5, LONGEST as f64 + 0.5];
    let mut curves = vec![one(ends)];
    for ((task, id), look) in TASKS.into_iter().zip(LOOKS) {
        let points = ratios(records, id, 1.0);
        curves.push(named(task.name.to_owned(), look, CurveStyle::Both, points));
    }
    PanelSpec {
        title: format!("(c) random policies, batches of 512{smoke}"),
        x: PanelAxis {
            label: "T",
            ends,
            step: 1.0,
            ticks: TickFormat::Fixed(0),
        },
        y: ratio_axis(&curves),
        curves,
        notes: RANGES,
    }
}

fn along_runs(records: &Records, smoke: &str) -> PanelSpec {
    let unit = 1e3;
    let ends = [-10.0, ROLLOUTS as f64 / unit + 10.0];
    let mut curves = vec![one(ends)];
    for ((batch, id), look) in RUN_BATCHES.into_iter().zip(LOOKS) {
        let points = ratios(records, id, unit);
        curves.push(named(
            format!("batch {batch}"),
            look,
            CurveStyle::Both,
            points,
        ));
    }
    PanelSpec {
        title: format!("(d) along runs, quasigroup T = 3{smoke}"),
        x: PanelAxis {
            label: "rollouts / 1,000",
            ends,
            step: 100.0,
            ticks: TickFormat::Fixed(0),
        },
        y: ratio_axis(&curves),
        curves: apart(curves, 2.0),
        notes: RANGES,
    }
}

fn slopes() -> PanelSpec {
    let on_grid = |slope: &dyn Fn(f64) -> f64| -> Vec<PlotPoint> {
        let points = (1..100).map(|n| {
            let p = f64::from(n) / 100.0;
            PlotPoint {
                x: p,
                y: slope(p) / slope(0.5),
                interval: None,
            }
        });
        points.filter(|point| point.y <= 5.0).collect()
    };
    let mut curves = Vec::new();
    for (group, look) in DRAWN_GROUPS.into_iter().zip(LOOKS) {
        let points = on_grid(&|p| Estimator::Grpo(group).slope(p));
        curves.push(named(
            format!("grpo:{group}"),
            look,
            CurveStyle::Line,
            points,
        ));
    }
    let limit = on_grid(&|p| (p * (1.0 - p)).sqrt().recip());
    curves.push(named("limit".to_owned(), LOOKS[6], CurveStyle::Line, limit));
    PanelSpec {
        title: "(e) weight of an input by its success".to_owned(),
        x: PanelAxis {
            label: "p(x)",
            ends: [0.0, 1.0],
            step: 0.2,
            ticks: TickFormat::Fixed(1),
        },
        y: PanelAxis {
            label: "f'(p) / f'(1/2)",
            ends: [0.0, 5.0],
            step: 1.0,
            ticks: TickFormat::Fixed(0),
        },
        curves,
        notes: &["the objective that groups", "of GRPO have"],
    }
}

fn against_group(records: &Records, smoke: &str) -> PanelSpec {
    let ends = [-0.2, 5.2];
    let mut curves = vec![one(ends)];
    for ((id, moment, estimator), look) in GROUP_CURVES.into_iter().zip(LOOKS) {
        let mut points = ratios(records, id, 1.0);
        points.iter_mut().for_each(|point| point.x = point.x.log2());
        let name = estimator(2).to_string().replace(":2", "");
        let label = match moment {
            GroupMoment::Random => format!("{name}, random"),
            GroupMoment::Trained => format!("{name}, trained"),
        };
        curves.push(named(label, look, CurveStyle::Both, points));
    }
    PanelSpec {
        title: format!("(f) 512 rollouts in groups, quasigroup T = 3{smoke}"),
        x: PanelAxis {
            label: "rollouts per input (1: batch-mean)",
            ends,
            step: 1.0,
            ticks: TickFormat::Custom(Arc::new(|power: f64| power.exp2().round().to_string())),
        },
        y: ratio_axis(&curves),
        curves: apart(curves, 0.03),
        notes: RANGES,
    }
}

/// Of the runs from stalled starts, the share that ends as `is` says: above the start, or below.
fn beside_starts(records: &Records, is: Ordering, title: &str, smoke: &str) -> PanelSpec {
    let mut curves = Vec::new();
    for ((class, stalled), look) in from_stalled::CLASSES.into_iter().zip(LOOKS) {
        for source in GradientSource::BOTH {
            let points = stalled::RATES.into_iter().enumerate().map(|(which, rate)| {
                let share = share_of(starts(records, stalled.id), source, which, is);
                Some(PlotPoint {
                    x: f64::from(rate).log10(),
                    y: share.value()?,
                    interval: match source {
                        GradientSource::Sampled => share.interval(),
                        GradientSource::Exact => None,
                    },
                })
            });
            let points = points.flatten().collect();
            curves.push(match source {
                GradientSource::Sampled => {
                    named(class.name.to_owned(), look, CurveStyle::Both, points)
                }
                GradientSource::Exact => PanelCurve {
                    label: None,
                    look,
                    drawn: CurveStyle::Dashes,
                    points,
                },
            });
        }
    }
    PanelSpec {
        title: format!("{title}{smoke}"),
        x: PanelAxis {
            label: "learning rate",
            ends: [0.5, 3.0],
            step: 1.0,
            ticks: powers_of_ten(),
        },
        y: PanelAxis {
            label: "share of runs",
            ends: [-0.02, 1.02],
            step: 0.2,
            ticks: TickFormat::Fixed(1),
        },
        curves: apart(curves, 0.012),
        notes: &[
            "batches of 32;",
            "dashes: exact gradients;",
            "bars: 95 % intervals",
        ],
    }
}
