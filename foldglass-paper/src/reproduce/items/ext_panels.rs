//! Draws the figures of the items beyond the paper: panels side by side, a legend in each.

use kuva::prelude::{LegendEntry, LinePlot, Plot, ScatterPlot, TickFormat};
use kuva::render::render::{Scene, TextAnchor};

use crate::report::figure::panel::{self, Frame};
use crate::report::figure::{self, Look, PLAIN, PlotPoint, legend, text};

const FRAME: Frame = Frame {
    size: [600.0, 400.0],
    margins: [75.0, 195.0, 45.0, 60.0],
};

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CurveStyle {
    /// A line with markers.
    Both,
    /// Markers alone: what was found.
    Marks,
    /// A line alone: what a law says.
    Line,
    /// A dashed line: what another curve is compared with.
    Dashes,
}

/// A curve of a panel.
pub struct PanelCurve {
    /// Its name in the legend; none leaves it out.
    pub label: Option<String>,
    /// Its colour and marker.
    pub look: Look,
    /// How it is drawn.
    pub drawn: CurveStyle,
    /// Its points, from left to right.
    pub points: Vec<PlotPoint>,
}

impl PanelCurve {
    fn plots(&self) -> Vec<Plot> {
        let places: Vec<(f64, f64)> = self.points.iter().map(|p| (p.x, p.y)).collect();
        match self.drawn {
            CurveStyle::Both => figure::curve(&self.points, self.look).into(),
            CurveStyle::Line => vec![Plot::Line(
                LinePlot::new()
                    .with_data(places)
                    .with_color(self.look.colour)
                    .with_stroke_width(1.2),
            )],
            CurveStyle::Dashes => vec![Plot::Line(
                LinePlot::new()
                    .with_data(places)
                    .with_color(self.look.colour)
                    .with_dashed()
                    .with_stroke_width(1.2),
            )],
            CurveStyle::Marks => vec![Plot::Scatter(
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
pub struct PanelAxis {
    /// The text beside it.
    pub label: &'static str,
    /// Its ends.
    pub ends: [f64; 2],
    /// From tick to tick.
    pub step: f64,
    /// How ticks are written.
    pub ticks: TickFormat,
}

/// A panel.
pub struct PanelSpec {
    /// What stands above it.
    pub title: String,
    /// The axis from left to right.
    pub x: PanelAxis,
    /// The axis from below.
    pub y: PanelAxis,
    /// What is drawn.
    pub curves: Vec<PanelCurve>,
    /// What a reader should know, a line each, below the legend.
    pub notes: &'static [&'static str],
}

impl PanelAxis {
    fn drawn(&self) -> panel::Axis {
        panel::Axis::new(self.label, self.ends)
            .every(self.step)
            .written(self.ticks.clone())
    }
}

impl PanelSpec {
    fn scene(&self) -> Scene {
        let ([width, _], [_, right, top, _]) = (FRAME.size, FRAME.margins);
        let named = self.curves.iter().filter_map(|curve| {
            let label = curve.label.as_deref()?;
            Some(legend(label, curve.look))
        });
        let named: Vec<LegendEntry> = named.collect();
        let below = top + 20.0 * named.len() as f64 + 35.0;
        let place = [width - right + 12.0, top];
        let title = self.title.clone();
        let mut scene = panel::Panel::new(title, FRAME, self.x.drawn(), self.y.drawn())
            .plots(self.curves.iter().flat_map(PanelCurve::plots))
            .legend(named, place, right - 20.0)
            .scene();
        for (number, note) in self.notes.iter().enumerate() {
            let place = [width - right + 14.0, below + 17.0 * number as f64];
            text(&mut scene, place, TextAnchor::Start, PLAIN, *note);
        }
        scene
    }
}

/// Curves moved apart sideways, by `step` from one to the next, so that their bars do not hide each other.
pub fn apart(mut curves: Vec<PanelCurve>, step: f64) -> Vec<PanelCurve> {
    let middle = (curves.len() as f64 - 1.0) / 2.0;
    for (number, curve) in curves.iter_mut().enumerate() {
        let shift = (number as f64 - middle) * step;
        curve.points.iter_mut().for_each(|point| point.x += shift);
    }
    curves
}

/// The panels, two per row, as SVG.
pub fn page(panels: &[PanelSpec]) -> String {
    let scenes: Vec<Scene> = panels.iter().map(PanelSpec::scene).collect();
    panel::grid(&scenes, 2)
}
