//! Draws distributions of overlaps: a row of panels a temperature, sampled as bars, exact as dots.

use foldglass::gibbs::overlap::BINS;
use kuva::render::render::{Primitive, Scene};

use super::{Bin, Histogram, OverlapPoint, OverlapReport};
use crate::output::number;
use crate::report::figure::panel::{Axis, Frame, Panel, Places, grid};
use crate::report::figure::{BLUE, GREY, VERMILION, line, round_step};

/// The size of a panel, and what is left free around its axes.
const FRAME: Frame = Frame {
    size: [470.0, 220.0],
    margins: [76.0, 24.0, 34.0, 46.0],
};

/// What to draw.
pub struct OverlapPicture<'a> {
    pub found: &'a OverlapReport,
}

impl OverlapPicture<'_> {
    /// The drawing as SVG: for each temperature the overlap of answers, and beside it that of all steps.
    pub fn draw(&self) -> String {
        let rows = self.found.points.iter().flat_map(|point| {
            [
                self.panel(point, &point.answers, "same answer"),
                self.panel(point, &point.all_steps, "mean of all steps, tokens renamed"),
            ]
        });
        grid(&rows.collect::<Vec<Scene>>(), 2)
    }

    /// The distribution of one overlap at one temperature.
    fn panel(&self, point: &OverlapPoint, overlap: &Histogram, of: &str) -> Scene {
        let tops = |bin: &Bin| (bin.probability + bin.error).max(bin.exact.unwrap_or(0.0));
        let highest = overlap.bins.iter().map(tops).fold(0.0, f64::max);
        let most = round_step(highest.max(1e-6)).min(1.0);
        let agree = if point.replicas_agree {
            ""
        } else {
            ", replicas disagree"
        };
        let mut panel = Panel::new(
            format!("{}, tau = {}{agree}", self.found.class, number(point.tau)),
            FRAME,
            Axis::new("overlap q", [0.0, 1.0]).every(0.2),
            Axis::new(format!("P(q), {of}"), [0.0, most]).every(most / 2.0),
        )
        .label("bars: sampled", [0.02, 0.94 * most], BLUE, false);
        if self.found.functions.is_some() {
            panel = panel.label("dots: exact", [0.02, 0.82 * most], VERMILION, false);
        }
        let places = panel.places();
        let mut scene = panel.scene();
        write_bars(&mut scene, &places, &overlap.bins, most);
        write_dots(&mut scene, &places, &overlap.bins, most);
        scene
    }
}

fn write_bars(scene: &mut Scene, places: &Places, bins: &[Bin], most: f64) {
    for bin in bins.iter().filter(|bin| bin.probability > 0.0) {
        let (left, right) = (places.x(bin.from), places.x(bin.to));
        let top = places.y(bin.probability);
        scene.add(Primitive::Rect {
            x: left,
            y: top,
            width: right - left,
            height: places.y(0.0) - top,
            fill: BLUE.into(),
            stroke: Some("#ffffff".into()),
            stroke_width: Some(0.6),
            opacity: Some(0.75),
        });
        let x = (left + right) / 2.0;
        let high = places.y((bin.probability + bin.error).min(most));
        let low = places.y((bin.probability - bin.error).max(0.0));
        line(scene, [x, low], [x, high], GREY, 1.2);
    }
}

fn write_dots(scene: &mut Scene, places: &Places, bins: &[Bin], most: f64) {
    let visible = |exact: &f64| *exact >= 5e-4 * most;
    for (n, bin) in bins.iter().enumerate() {
        let Some(exact) = bin.exact.filter(visible) else {
            continue;
        };
        scene.add(Primitive::Circle {
            cx: places.x((n as f64 + 0.5) / BINS as f64),
            cy: places.y(exact),
            r: 3.4,
            fill: VERMILION.into(),
            fill_opacity: None,
            stroke: Some("#ffffff".into()),
            stroke_width: Some(0.8),
        });
    }
}
