//! Draws a figure for each headline result that has none as an item, at the width of one column.

use foldglass::landscape::law::words;
use foldglass::support::stats::Summary;
use kuva::prelude::{LinePlot, MarkerShape, Plot, ScatterPlot, TickFormat};
use std::sync::Arc;

use super::super::classes::{ClassId, QG, QG21_345};
use super::super::item::Key;
use super::super::items::regulator::{self, RegulatorQuantity, RegulatorRuns};
use super::super::items::shortfall::{self, ComparedRuns, ShortfallQuantity};
use super::super::items::trapsexist::{self, TrapsExistQuantity};
use super::super::records::Records;
use super::super::row::value;
use super::super::stated::Entry;
use super::super::studies::{PLAIN, RESETS, SCAN, STATIONARITY, Scale};
use crate::report::figure::panel::{Axis, COLUMN, Panel, svg};
use crate::report::figure::{BLACK, BLUE, GREY, Look, VERMILION, curve_named, paper_marks, tau};

/// What the paper states of a number.
fn stated(entries: &[Entry], key: Key) -> Option<f64> {
    let entry = entries.iter().find(|entry| entry.key == key)?;
    value(&entry.paper)
}

/// Runs of one kind: a name, the rewards they ended at, the paper's mean.
struct Strip {
    name: &'static str,
    colour: &'static str,
    rewards: Vec<f64>,
    paper: Option<f64>,
}

/// A point per run, side by side where rewards are alike, and the mean of the paper.
fn strips(strips: &[Strip]) -> String {
    let names: Vec<&'static str> = strips.iter().map(|strip| strip.name).collect();
    let tick = move |place: f64| {
        let name = names.get(place.round() as usize);
        name.filter(|_| place.fract() == 0.0 && place >= 0.0)
            .map_or(String::new(), |name| (*name).to_owned())
    };
    let last = strips.len() as f64 - 0.5;
    let x = Axis::new("", [-0.5, last])
        .every(1.0)
        .written(TickFormat::Custom(Arc::new(tick)));
    let y = Axis::new("final reward", [0.35, 1.05])
        .every(0.1)
        .written(TickFormat::Fixed(1));
    let mut panel = Panel::new("", COLUMN, x, y);
    for (place, strip) in strips.iter().enumerate() {
        let marks = ScatterPlot::new()
            .with_data(side_by_side(place as f64, &strip.rewards))
            .with_color(strip.colour)
            .with_marker(MarkerShape::Circle)
            .with_size(2.2);
        panel = panel.plots([Plot::Scatter(marks)]);
        if let Some(summary) = Summary::of(&strip.rewards) {
            let (left, right) = (place as f64 - 0.42, place as f64 + 0.42);
            let mean = LinePlot::new()
                .with_data(vec![(left, summary.mean), (right, summary.mean)])
                .with_color(strip.colour)
                .with_stroke_width(1.2);
            let ones = strip.rewards.iter().filter(|&&reward| reward == 1.0);
            let said = format!("{} of {} at 1", ones.count(), strip.rewards.len());
            panel = panel.plots([Plot::Line(mean)]).label(
                said,
                [left + 0.06, 0.39],
                strip.colour,
                false,
            );
        }
        if let Some(paper) = strip.paper {
            panel = panel.plots([paper_marks(vec![(place as f64 + 0.34, paper)], 5.0)]);
        }
    }
    let said = "lines: our means, crosses: the paper's";
    svg(&panel.label(said, [last - 0.04, 0.44], GREY, true).scene())
}

/// Values in rows of 0.02, the points of a row around its middle.
fn side_by_side(middle: f64, values: &[f64]) -> Vec<(f64, f64)> {
    const ROW: f64 = 0.02;
    const STEP: f64 = 0.026;
    let row = |value: f64| (value / ROW).round() as i64;
    let mut points = Vec::new();
    for (n, &value) in values.iter().enumerate() {
        let alike = |others: &[f64]| {
            let own = others.iter().filter(|&&other| row(other) == row(value));
            own.count() as f64
        };
        let (before, all) = (alike(&values[..n]), alike(values));
        // A full row is as wide as there is room.
        let step = STEP.min(0.72 / all);
        points.push((middle + step * (before - (all - 1.0) / 2.0), value));
    }
    points
}

/// Chains beside RLVR.
pub fn gap(records: &Records, _: Scale) -> String {
    let paper = (shortfall::ITEM.paper)();
    let mean = |runs| stated(&paper, Key::new(QG, ShortfallQuantity::Reward(runs)));
    let chains = records.ends(STATIONARITY, QG.id, "metropolis", None);
    strips(&[
        Strip {
            name: "Monte Carlo",
            colour: BLUE,
            rewards: chains.rewards,
            paper: mean(ComparedRuns::Chain),
        },
        Strip {
            name: "RLVR",
            colour: VERMILION,
            rewards: records.ends(PLAIN, QG.id, "", None).rewards,
            paper: mean(ComparedRuns::Rlvr),
        },
    ])
}

/// RLVR with resets beside RLVR without.
pub fn resets(records: &Records, _: Scale) -> String {
    let paper = (regulator::ITEM.paper)();
    let mean = |runs| stated(&paper, Key::new(QG, RegulatorQuantity::Reward(runs)));
    strips(&[
        Strip {
            name: "RLVR",
            colour: VERMILION,
            rewards: records.ends(PLAIN, QG.id, "", None).rewards,
            paper: mean(RegulatorRuns::Plain),
        },
        Strip {
            name: "RLVR with resets",
            colour: BLUE,
            rewards: records.ends(RESETS, QG.id, "", None).rewards,
            paper: mean(RegulatorRuns::Resets),
        },
    ])
}

/// Reward against the temperature on one class of several lengths.
pub fn temperature(records: &Records, _: Scale) -> String {
    let class = QG21_345;
    let found: Vec<_> = (records.temperatures(SCAN, class.id).into_iter())
        .map(|tau| (tau, records.ends(SCAN, class.id, "", Some(tau))))
        .collect();
    let points = regulator::points(&found);
    let look = Look {
        colour: BLUE,
        marker: MarkerShape::Circle,
    };
    let named = |point: &crate::report::figure::PlotPoint| format!("τ = {}", tau(point.x));
    let x = Axis::of_powers("temperature τ", [-13.5, -1.5]).every(2.0);
    let y = Axis::new("greedy reward", [0.945, 1.005])
        .every(0.01)
        .written(TickFormat::Fixed(2));
    let panel = Panel::new("", COLUMN, x, y)
        .plots(curve_named(&points, look, named))
        .plots([paper_marks(regulator::stated_means(class), 6.0)])
        .label("crosses: the paper's means", [-13.2, 0.953], GREY, false)
        .label("ours, 12 runs each", [-13.2, 0.949], BLUE, false);
    svg(&panel.scene())
}

/// The lengths of the censuses.
const LENGTHS: [usize; 5] = [4, 5, 6, 7, 8];

fn log10(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    (value > 0.0).then(|| value.log10())
}

/// A number of the censuses against T, at its log10: ours, and the paper's.
fn counted(records: &Records, quantity: TrapsExistQuantity) -> [Vec<(f64, f64)>; 2] {
    let paper = (trapsexist::ITEM.paper)();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for (length, class) in LENGTHS.into_iter().zip(trapsexist::CORRELATED) {
        let stated = stated(&paper, Key::new(class, quantity));
        theirs.extend(stated.map(|value| (length as f64, value.log10())));
        let found = records.landscape.census(&trapsexist::correlated(length));
        let count = found.and_then(|found| match quantity {
            TrapsExistQuantity::Codes => log10(&found.codes),
            TrapsExistQuantity::LocalMaxima => log10(&found.local_maxima),
            _ => log10(&found.traps.as_ref()?.traps),
        });
        ours.extend(count.map(|count| (length as f64, count)));
    }
    [ours, theirs]
}

/// Codes, local maxima and traps against T.
pub fn traps(records: &Records, _: Scale) -> String {
    let x = Axis::new("T", [3.6, 8.4])
        .every(1.0)
        .written(TickFormat::Fixed(0));
    let y = Axis::of_powers("number of codes", [0.0, 9.6]);
    let mut panel = Panel::new("", COLUMN.right(92.0), x, y);
    let mut names = Vec::new();
    for (quantity, name, colour) in [
        (TrapsExistQuantity::Codes, "all codes", BLACK),
        (TrapsExistQuantity::LocalMaxima, "local maxima", BLUE),
        (TrapsExistQuantity::Traps, "traps", VERMILION),
    ] {
        let [ours, theirs] = counted(records, quantity);
        names.extend(ours.last().map(|(_, y)| (name.to_owned(), *y, colour)));
        let line = LinePlot::new()
            .with_data(ours.clone())
            .with_color(colour)
            .with_stroke_width(1.2);
        let marks = ScatterPlot::new()
            .with_data(ours)
            .with_color(colour)
            .with_marker(MarkerShape::Circle)
            .with_size(3.0);
        let plots = [
            Plot::Line(line),
            Plot::Scatter(marks),
            paper_marks(theirs, 6.0),
        ];
        panel = panel.plots(plots);
    }
    let panel =
        panel
            .name_ends(names)
            .label("crosses: the paper's numbers", [8.3, 0.4], GREY, true);
    svg(&panel.scene())
}

/// The furthest T of the law's line.
const FURTHEST: usize = 16;

/// The number of traps against T: the law, our censuses, the paper's counts.
pub fn law(records: &Records, _: Scale) -> String {
    let x = Axis::new("T", [3.0, 16.6])
        .every(2.0)
        .written(TickFormat::Fixed(0));
    let y = Axis::of_powers("traps", [0.0, 8.4]);
    let line = (LENGTHS[0]..=FURTHEST).map(|length| {
        let traps = words::correlated(length, 9, 10).traps();
        (length as f64, (traps as f64).log10())
    });
    let line = LinePlot::new()
        .with_data(line.collect::<Vec<_>>())
        .with_color(BLACK)
        .with_stroke_width(1.2);
    let counts = LENGTHS.into_iter().filter_map(|length| {
        let class: ClassId = trapsexist::CORRELATED[length - LENGTHS[0]];
        let found = records.work.map(class.name)?;
        Some((length as f64, (found.count() as f64).log10()))
    });
    let marks = ScatterPlot::new()
        .with_data(counts.collect::<Vec<_>>())
        .with_color(VERMILION)
        .with_marker(MarkerShape::Circle)
        .with_size(4.0);
    let [_, theirs] = counted(records, TrapsExistQuantity::Traps);
    let panel = Panel::new("", COLUMN, x, y)
        .plots([
            Plot::Line(line),
            Plot::Scatter(marks),
            paper_marks(theirs, 6.5),
        ])
        .label("the law", [12.0, 4.6], BLACK, false)
        .label("our censuses", [8.6, 2.6], VERMILION, false)
        .label("crosses: the paper's counts", [8.6, 2.1], GREY, false);
    svg(&panel.scene())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_one_reward_stand_side_by_side_around_their_place() {
        let points = side_by_side(1.0, &[0.5, 1.0, 1.0]);
        assert_eq!(points[0], (1.0, 0.5));
        let [a, b] = [points[1].0, points[2].0];
        assert!(a < 1.0 && b > 1.0 && (a + b - 2.0).abs() < 1e-12);
        let many = side_by_side(0.0, &[1.0; 200]);
        assert!(many.iter().all(|point| point.0.abs() < 0.4));
    }

    #[test]
    fn figures_without_records_have_the_paper_s_values() {
        let records = Records::planned(Scale::Quick);
        for draw in [gap, resets, temperature, traps, law] {
            let svg = draw(&records, Scale::Quick);
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            assert!(svg.contains("the paper: "), "{svg}");
        }
    }
}
