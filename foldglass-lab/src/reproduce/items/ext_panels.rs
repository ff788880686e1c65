//! Draws the figures of the items beyond the paper: panels side by side, a legend in each.

use kuva::prelude::{Layout, LinePlot, Plot, ScatterPlot, SvgBackend, TickFormat, render_multiple};
use kuva::render::render::TextAnchor;

use crate::report::figure::{self, Look, PLAIN, Point, legend, styled, text};

/// The width and height of a panel.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 400.0;

/// Left, right, top and bottom of the axes.
const MARGINS: [f64; 4] = [75.0, 195.0, 45.0, 60.0];

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// A line with markers.
    Both,
    /// Markers alone: what was found.
    Marks,
    /// A line alone: what a law says.
    Line,
}

/// A curve of a panel.
pub struct Curve {
    /// Its name in the legend; none leaves it out.
    pub label: Option<String>,
    /// Its colour and marker.
    pub look: Look,
    /// How it is drawn.
    pub drawn: Drawn,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

impl Curve {
    fn plots(&self) -> Vec<Plot> {
        let places: Vec<(f64, f64)> = self.points.iter().map(|p| (p.x, p.y)).collect();
        match self.drawn {
            Drawn::Both => figure::curve(&self.points, self.look).into(),
            Drawn::Line => vec![Plot::Line(
                LinePlot::new()
                    .with_data(places)
                    .with_color(self.look.colour)
                    .with_stroke_width(1.2),
            )],
            Drawn::Marks => vec![Plot::Scatter(
                ScatterPlot::new()
                    .with_data(places)
                    .with_color(self.look.colour)
                    .with_marker(self.look.marker)
                    .with_size(5.0),
            )],
        }
    }
}

/// An axis.
pub struct Axis {
    /// What it says.
    pub label: &'static str,
    /// Its ends.
    pub ends: [f64; 2],
    /// From tick to tick.
    pub step: f64,
    /// How ticks are written.
    pub ticks: TickFormat,
}

/// A panel.
pub struct Panel {
    /// What stands above it.
    pub title: String,
    /// The axis from left to right.
    pub x: Axis,
    /// The axis from below.
    pub y: Axis,
    /// What is drawn.
    pub curves: Vec<Curve>,
    /// What a reader should know, a line each, below the legend.
    pub notes: &'static [&'static str],
}

impl Panel {
    fn svg(&self) -> String {
        let [left, right, top, bottom] = MARGINS;
        let named = self.curves.iter().filter_map(|curve| {
            let label = curve.label.as_deref()?;
            Some(legend(label, curve.look))
        });
        let [x, y] = [&self.x, &self.y];
        let layout = styled(Layout::new((x.ends[0], x.ends[1]), (y.ends[0], y.ends[1])))
            .with_width(WIDTH)
            .with_height(HEIGHT)
            .with_force_margins(left, right)
            .with_force_margins_y(top, bottom)
            .with_title(self.title.clone())
            .with_x_label(x.label)
            .with_y_label(y.label)
            .with_x_axis_min(x.ends[0])
            .with_x_axis_max(x.ends[1])
            .with_x_tick_step(x.step)
            .with_x_tick_format(x.ticks.clone())
            .with_y_axis_min(y.ends[0])
            .with_y_axis_max(y.ends[1])
            .with_y_tick_step(y.step)
            .with_y_tick_format(y.ticks.clone())
            .with_legend_entries(named.collect())
            .with_legend_at(WIDTH - right + 12.0, top)
            .with_legend_width(right - 20.0);
        let plots = self.curves.iter().flat_map(Curve::plots).collect();
        let mut scene = render_multiple(plots, layout);
        let named = self.curves.iter().filter(|curve| curve.label.is_some());
        let below = top + 20.0 * named.count() as f64 + 35.0;
        for (number, note) in self.notes.iter().enumerate() {
            let place = [WIDTH - right + 14.0, below + 17.0 * number as f64];
            text(&mut scene, place, TextAnchor::Start, PLAIN, *note);
        }
        SvgBackend.render_scene(&scene)
    }
}

/// Curves moved apart sideways, by `step` from one to the next, so that their bars do not hide each other.
pub fn apart(mut curves: Vec<Curve>, step: f64) -> Vec<Curve> {
    let middle = (curves.len() as f64 - 1.0) / 2.0;
    for (number, curve) in curves.iter_mut().enumerate() {
        let shift = (number as f64 - middle) * step;
        curve.points.iter_mut().for_each(|point| point.x += shift);
    }
    curves
}

/// The panels, two a row, as SVG.
pub fn page(panels: &[Panel]) -> String {
    let rows = panels.len().div_ceil(2);
    let columns = panels.len().min(2);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\">",
        WIDTH * columns as f64,
        HEIGHT * rows as f64
    );
    for (number, panel) in panels.iter().enumerate() {
        let (row, column) = (number / 2, number % 2);
        let inner = panel.svg();
        let (x, y) = (WIDTH * column as f64, HEIGHT * row as f64);
        // A document within another has no declaration of its own.
        let begin = inner.find("<svg").unwrap_or(0);
        svg += &inner[begin..].replacen("<svg", &format!("<svg x=\"{x}\" y=\"{y}\""), 1);
    }
    svg + "</svg>\n"
}
