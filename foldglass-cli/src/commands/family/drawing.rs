//! Draws the crossover: reward and penalties against a coupling, a curve for each value of the other.

use std::sync::Arc;

use foldglass::support::stats::Interval;
use kuva::prelude::TickFormat;
use kuva::render::render::{Primitive, Scene};

use super::{Crossover, Estimate, FamilyPoint};
use crate::report::figure::panel::{Axis, Frame, Panel, Places, grid};
use crate::report::figure::{self, GREY, LOOKS, curve, power_of_ten};

const FRAME: Frame = Frame {
    size: [900.0, 300.0],
    margins: [85.0, 110.0, 40.0, 55.0],
};

/// What is drawn in a panel.
struct Shown {
    name: &'static str,
    of: fn(&FamilyPoint) -> Estimate,
    /// Rewards that strong or no penalties lead to.
    limits: Vec<(String, f64)>,
    /// Whether the axis begins at 0.
    from_zero: bool,
}

/// The ends of a vertical axis with room for all of these, and some around them.
fn range(values: &[f64], from_zero: bool) -> [f64; 2] {
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let low = if from_zero {
        0.0
    } else {
        values.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let room = match high - low {
        span if span > 0.0 => 0.1 * span,
        _ => 0.1,
    };
    [if from_zero { 0.0 } else { low - room }, high + room]
}

/// The figure as SVG, a panel below the other.
pub fn draw(crossover: &Crossover, title: &str) -> String {
    let ends = [
        ("complete", Some(crossover.complete)),
        ("untied class", crossover.windowed),
        ("tied class", crossover.tied),
    ];
    let limits = ends
        .into_iter()
        .filter_map(|(name, reward)| Some((name.to_owned(), reward?)));
    let panels = [
        Shown {
            name: "mean reward",
            of: |point| point.reward,
            limits: limits.collect(),
            from_zero: false,
        },
        Shown {
            name: "E_win",
            of: |point| point.e_win,
            limits: Vec::new(),
            from_zero: true,
        },
        Shown {
            name: "E_tie",
            of: |point| point.e_tie,
            limits: Vec::new(),
            from_zero: true,
        },
    ];
    let along = Along::of(&crossover.points);
    let scene = |(number, shown): (usize, &Shown)| {
        along.scene(crossover, shown, if number == 0 { title } else { "" })
    };
    let scenes: Vec<Scene> = panels.iter().enumerate().map(scene).collect();
    grid(&scenes, 1)
}

/// Which coupling runs along the axis: the one with more values.
struct Along {
    by_window: bool,
    /// Where 0 stands on an axis of logarithms: a decade below the least.
    zero: f64,
    /// The end of the axis.
    end: f64,
}

impl Along {
    fn of(points: &[FamilyPoint]) -> Along {
        let distinct = |of: fn(&FamilyPoint) -> f64| {
            let mut values: Vec<f64> = points.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values.len()
        };
        let by_window = distinct(|point| point.g_win) >= distinct(|point| point.g_tie);
        let of = |point: &FamilyPoint| if by_window { point.g_win } else { point.g_tie };
        let logs = points.iter().map(of).filter(|g| *g > 0.0).map(f64::log10);
        let least = logs.clone().fold(f64::INFINITY, f64::min);
        let least = if least.is_finite() { least } else { 0.0 };
        Along {
            by_window,
            zero: least.floor() - 1.0,
            end: logs.fold(least, f64::max) + 0.1,
        }
    }

    fn x(&self, point: &FamilyPoint) -> f64 {
        let g = if self.by_window {
            point.g_win
        } else {
            point.g_tie
        };
        if g > 0.0 { g.log10() } else { self.zero }
    }

    fn other(&self, point: &FamilyPoint) -> f64 {
        if self.by_window {
            point.g_tie
        } else {
            point.g_win
        }
    }

    fn scene(&self, crossover: &Crossover, shown: &Shown, title: &str) -> Scene {
        let mut others: Vec<f64> = crossover.points.iter().map(|p| self.other(p)).collect();
        others.sort_by(f64::total_cmp);
        others.dedup();
        let own = if self.by_window { "g_tie" } else { "g_win" };
        let mut plots = Vec::new();
        let mut names: Vec<(String, f64, &'static str)> = Vec::new();
        let mut seen: Vec<f64> = shown.limits.iter().map(|(_, y)| *y).collect();
        for (&other, &look) in others.iter().zip(LOOKS.iter().cycle()) {
            let points = crossover.points.iter().filter(|p| self.other(p) == other);
            let mut places: Vec<figure::PlotPoint> = points.map(|p| self.place(p, shown)).collect();
            places.sort_by(|a, b| a.x.total_cmp(&b.x));
            seen.extend(
                places
                    .iter()
                    .filter_map(|place| place.interval)
                    .flat_map(|Interval { low, high }| [low, high]),
            );
            plots.extend(curve(&places, look));
            let last = places.last().expect("each curve has a point");
            names.push((format!("{own} = {other}"), last.y, look.colour));
        }
        let x = [self.zero - 0.1, self.end];
        let zero = self.zero;
        let tick = move |x: f64| {
            if x <= zero + 0.5 {
                "0".to_owned()
            } else {
                power_of_ten(x)
            }
        };
        let x = Axis::of_powers(if self.by_window { "g_win" } else { "g_tie" }, x)
            .written(TickFormat::Custom(Arc::new(tick)));
        let y = Axis::new(shown.name, range(&seen, shown.from_zero));
        names.extend(
            shown
                .limits
                .iter()
                .map(|(name, y)| (name.clone(), *y, GREY)),
        );
        let panel = Panel::new(title, FRAME, x, y).plots(plots).name_ends(names);
        let places = panel.places();
        let mut scene = panel.scene();
        limits(&mut scene, &shown.limits, places);
        scene
    }

    fn place(&self, point: &FamilyPoint, shown: &Shown) -> figure::PlotPoint {
        let Estimate { mean, error } = (shown.of)(point);
        figure::PlotPoint {
            x: self.x(point),
            y: mean,
            interval: error.map(|error| Interval {
                low: mean - error,
                high: mean + error,
            }),
        }
    }
}

/// Dashed lines where the classes stand.
fn limits(scene: &mut Scene, limits: &[(String, f64)], places: Places) {
    let [left, right, ..] = FRAME.margins;
    for (_, reward) in limits {
        let y = places.y(*reward);
        scene.add(Primitive::Line {
            x1: left,
            y1: y,
            x2: FRAME.size[0] - right,
            y2: y,
            stroke: GREY.into(),
            stroke_width: 1.0,
            stroke_dasharray: Some("6 4".to_owned()),
        });
    }
}
