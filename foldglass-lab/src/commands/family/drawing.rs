//! Draws the crossover: reward and penalties against a coupling, a curve for each value of the other.

use std::sync::Arc;

use foldglass::stats::Interval;
use kuva::prelude::{Layout, SvgBackend, TickFormat, render_multiple};
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::{Crossover, Estimate, Point};
use crate::report::figure::{
    self, GREY, LOOKS, PLAIN, WIDTH, curve, legend, power_of_ten, styled, text,
};

/// The height of a panel.
const HEIGHT: f64 = 300.0;

/// Left, right, top and bottom of the axes.
const MARGINS: [f64; 4] = [85.0, 260.0, 40.0, 55.0];

/// A panel: what is drawn in it.
struct Panel {
    name: &'static str,
    of: fn(&Point) -> Estimate,
    /// Rewards that strong or no penalties lead to.
    limits: Vec<(String, f64)>,
    /// Whether the axis begins at 0.
    from_zero: bool,
}

/// The ends of a panel's vertical axis.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    /// Room for all of these, and some around them.
    fn around(values: impl Iterator<Item = f64> + Clone, from_zero: bool) -> Range {
        let high = values.clone().fold(f64::NEG_INFINITY, f64::max);
        let low = if from_zero {
            0.0
        } else {
            values.fold(f64::INFINITY, f64::min)
        };
        let room = match high - low {
            span if span > 0.0 => 0.1 * span,
            _ => 0.1,
        };
        Range {
            low: if from_zero { 0.0 } else { low - room },
            high: high + room,
        }
    }

    /// How high a value stands in the picture of a panel.
    fn y(self, value: f64) -> f64 {
        let [_, _, top, bottom] = MARGINS;
        let share = (value - self.low) / (self.high - self.low);
        HEIGHT - bottom - share * (HEIGHT - top - bottom)
    }
}

/// Names beside the axes are at least this far apart.
const LINE: f64 = 15.0;

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
        Panel {
            name: "mean reward",
            of: |point| point.reward,
            limits: limits.collect(),
            from_zero: false,
        },
        Panel {
            name: "E_win",
            of: |point| point.e_win,
            limits: Vec::new(),
            from_zero: true,
        },
        Panel {
            name: "E_tie",
            of: |point| point.e_tie,
            limits: Vec::new(),
            from_zero: true,
        },
    ];
    let along = Along::of(&crossover.points);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{}\">",
        HEIGHT * panels.len() as f64
    );
    for (number, panel) in panels.iter().enumerate() {
        let title = if number == 0 { title } else { "" };
        let inner = SvgBackend.render_scene(&along.panel(crossover, panel, title));
        let place = format!("<svg y=\"{}\"", HEIGHT * number as f64);
        let begin = inner.find("<svg").unwrap_or(0);
        svg += &inner[begin..].replacen("<svg", &place, 1);
    }
    svg + "</svg>\n"
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
    fn of(points: &[Point]) -> Along {
        let distinct = |of: fn(&Point) -> f64| {
            let mut values: Vec<f64> = points.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values.len()
        };
        let by_window = distinct(|point| point.g_win) >= distinct(|point| point.g_tie);
        let of = |point: &Point| if by_window { point.g_win } else { point.g_tie };
        let logs = points.iter().map(of).filter(|g| *g > 0.0).map(f64::log10);
        let least = logs.clone().fold(f64::INFINITY, f64::min);
        let least = if least.is_finite() { least } else { 0.0 };
        Along {
            by_window,
            zero: least.floor() - 1.0,
            end: logs.fold(least, f64::max) + 0.1,
        }
    }

    fn x(&self, point: &Point) -> f64 {
        let g = if self.by_window {
            point.g_win
        } else {
            point.g_tie
        };
        if g > 0.0 { g.log10() } else { self.zero }
    }

    fn other(&self, point: &Point) -> f64 {
        if self.by_window {
            point.g_tie
        } else {
            point.g_win
        }
    }

    fn panel(&self, crossover: &Crossover, panel: &Panel, title: &str) -> Scene {
        let mut others: Vec<f64> = crossover.points.iter().map(|p| self.other(p)).collect();
        others.sort_by(f64::total_cmp);
        others.dedup();
        let own = if self.by_window { "g_tie" } else { "g_win" };
        let (mut plots, mut entries) = (Vec::new(), Vec::new());
        let mut seen: Vec<f64> = panel.limits.iter().map(|(_, y)| *y).collect();
        for (&other, &look) in others.iter().zip(LOOKS.iter().cycle()) {
            let points = crossover.points.iter().filter(|p| self.other(p) == other);
            let mut places: Vec<figure::Point> = points.map(|p| self.place(p, panel)).collect();
            places.sort_by(|a, b| a.x.total_cmp(&b.x));
            seen.extend(
                places
                    .iter()
                    .filter_map(|place| place.interval)
                    .flat_map(|Interval { low, high }| [low, high]),
            );
            plots.extend(curve(&places, look));
            entries.push(legend(&format!("{own} = {other}"), look));
        }
        let range = Range::around(seen.into_iter(), panel.from_zero);
        let layout = self
            .layout(panel.name, title, range)
            .with_legend_entries(entries);
        let mut scene = render_multiple(plots, layout);
        limits(&mut scene, &panel.limits, range);
        scene
    }

    fn place(&self, point: &Point, panel: &Panel) -> figure::Point {
        let Estimate { mean, error } = (panel.of)(point);
        figure::Point {
            x: self.x(point),
            y: mean,
            interval: error.map(|error| Interval {
                low: mean - error,
                high: mean + error,
            }),
        }
    }

    fn layout(&self, name: &str, title: &str, range: Range) -> Layout {
        let [left, right, top, bottom] = MARGINS;
        let zero = self.zero;
        let tick = move |x: f64| {
            if x <= zero + 0.5 {
                "0".to_owned()
            } else {
                power_of_ten(x)
            }
        };
        styled(Layout::new((zero - 0.1, self.end), (range.low, range.high)))
            .with_height(HEIGHT)
            .with_force_margins(left, right)
            .with_force_margins_y(top, bottom)
            .with_title(title.to_owned())
            .with_x_label(if self.by_window { "g_win" } else { "g_tie" })
            .with_y_label(name)
            .with_x_axis_min(zero - 0.1)
            .with_x_axis_max(self.end)
            .with_x_tick_step(1.0)
            .with_x_tick_format(TickFormat::Custom(Arc::new(tick)))
            .with_y_axis_min(range.low)
            .with_y_axis_max(range.high)
            .with_legend_at(WIDTH - 150.0, top + 60.0)
            .with_legend_width(130.0)
    }
}

/// Dashed lines where the classes stand, their names beside the axes from the top down.
fn limits(scene: &mut Scene, limits: &[(String, f64)], range: Range) {
    let [left, right, ..] = MARGINS;
    let mut limits: Vec<&(String, f64)> = limits.iter().collect();
    limits.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut free = f64::NEG_INFINITY;
    for (name, reward) in limits {
        let y = range.y(*reward);
        scene.add(Primitive::Line {
            x1: left,
            y1: y,
            x2: WIDTH - right,
            y2: y,
            stroke: GREY.into(),
            stroke_width: 1.0,
            stroke_dasharray: Some("6 4".to_owned()),
        });
        let place = [WIDTH - right + 6.0, (y + 4.0).max(free)];
        free = place[1] + LINE;
        text(scene, place, TextAnchor::Start, PLAIN, name);
    }
}
