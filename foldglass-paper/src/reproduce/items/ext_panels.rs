//! Draws the figures of the items beyond the paper: panels of one column's width side by side, each curve named at its end.

use kuva::prelude::{LinePlot, Plot, ScatterPlot, TickFormat};
use kuva::render::render::{Scene, TextAnchor};

use crate::report::figure::panel::{self, TITLED};
use crate::report::figure::{self, GREY, Look, PlotPoint};

/// The room of a character of a curve's name, and the most that all of a name have.
const CHARACTER: f64 = 5.6;
const WIDEST: f64 = 150.0;
/// The height of a note below the axes.
const LINE: f64 = 13.0;

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
    /// Its name, which stands at its last point; none leaves it out.
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
    /// What a reader should know, a line each, below the axes.
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
    /// The panel; all panels of a page have room for as many notes.
    fn scene(&self, notes: usize) -> Scene {
        let named: Vec<(String, f64, &'static str)> = (self.curves.iter())
            .filter_map(|curve| {
                let last = curve.points.last()?;
                let y = last.y.clamp(self.y.ends[0], self.y.ends[1]);
                Some((curve.label.clone()?, y, curve.look.colour))
            })
            .collect();
        let longest = named.iter().map(|(name, ..)| name.chars().count()).max();
        let room = 16.0 + CHARACTER * longest.unwrap_or(0) as f64;
        let frame = TITLED.right(room.min(WIDEST));
        let title = self.title.clone();
        let mut scene = panel::Panel::new(title, frame, self.x.drawn(), self.y.drawn())
            .plots(self.curves.iter().flat_map(PanelCurve::plots))
            .name_ends(named)
            .scene();
        for (number, note) in self.notes.iter().enumerate() {
            let place = [frame.margins[0], scene.height + LINE * (number + 1) as f64];
            figure::small(&mut scene, place, TextAnchor::Start, GREY, *note);
        }
        scene.height += LINE * (notes + 1) as f64;
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
    let notes = panels.iter().map(|panel| panel.notes.len()).max();
    let scene = |panel: &PanelSpec| panel.scene(notes.unwrap_or(0));
    let scenes: Vec<Scene> = panels.iter().map(scene).collect();
    panel::grid(&scenes, 2)
}
