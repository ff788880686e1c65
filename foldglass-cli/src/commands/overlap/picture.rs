//! Draws distributions of overlaps: a row of panels a temperature, sampled as bars, exact as dots.

use foldglass::gibbs::overlap::BINS;
use kuva::prelude::SvgBackend;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::{Bin, Histogram, OverlapPoint, OverlapReport};
use crate::output::number;
use crate::report::figure::{
    BLACK, BLUE, BOLD, GREY, LABEL, PLAIN, Style, VERMILION, line, round_step, text,
};

/// The axes of a panel, and what is around them.
const WIDE: f64 = 380.0;
const HIGH: f64 = 130.0;
const LEFT: f64 = 76.0;
const GAP: f64 = 70.0;
const TOP: f64 = 74.0;
const BELOW: f64 = 46.0;

/// What to draw.
pub struct OverlapPicture<'a> {
    pub found: &'a OverlapReport,
}

/// One pair of axes.
struct Axes {
    left: f64,
    top: f64,
    /// The probability at the top.
    most: f64,
}

impl Axes {
    fn x(&self, overlap: f64) -> f64 {
        self.left + overlap * WIDE
    }

    fn y(&self, probability: f64) -> f64 {
        self.top + HIGH * (1.0 - probability / self.most)
    }

    fn write(&self, scene: &mut Scene) {
        let bottom = self.top + HIGH;
        line(
            scene,
            [self.left, bottom],
            [self.left + WIDE, bottom],
            BLACK,
            1.0,
        );
        line(
            scene,
            [self.left, self.top],
            [self.left, bottom],
            BLACK,
            1.0,
        );
        for tenth in (0..=10).step_by(2) {
            let x = self.x(f64::from(tenth) / 10.0);
            line(scene, [x, bottom], [x, bottom + 5.0], BLACK, 1.0);
            let label = format!("{:.1}", f64::from(tenth) / 10.0);
            text(scene, [x, bottom + 19.0], TextAnchor::Middle, PLAIN, label);
        }
        for part in [0.0, 0.5, 1.0] {
            let y = self.y(part * self.most);
            line(scene, [self.left - 5.0, y], [self.left, y], BLACK, 1.0);
            let label = number(part * self.most);
            text(
                scene,
                [self.left - 9.0, y + 4.5],
                TextAnchor::End,
                PLAIN,
                label,
            );
        }
    }

    fn write_bars(&self, scene: &mut Scene, bins: &[Bin]) {
        for bin in bins.iter().filter(|bin| bin.probability > 0.0) {
            let (left, width) = (self.x(bin.from), WIDE / BINS as f64);
            let top = self.y(bin.probability);
            scene.add(Primitive::Rect {
                x: left,
                y: top,
                width,
                height: self.top + HIGH - top,
                fill: BLUE.into(),
                stroke: Some("#ffffff".into()),
                stroke_width: Some(0.6),
                opacity: Some(0.75),
            });
            let x = left + width / 2.0;
            let high = self.y((bin.probability + bin.error).min(self.most));
            let low = self.y((bin.probability - bin.error).max(0.0));
            line(scene, [x, low], [x, high], GREY, 1.2);
        }
    }

    fn write_dots(&self, scene: &mut Scene, bins: &[Bin]) {
        let visible = |exact: &f64| *exact >= 5e-4 * self.most;
        for (n, bin) in bins.iter().enumerate() {
            let Some(exact) = bin.exact.filter(visible) else {
                continue;
            };
            scene.add(Primitive::Circle {
                cx: self.x((n as f64 + 0.5) / BINS as f64),
                cy: self.y(exact),
                r: 3.4,
                fill: VERMILION.into(),
                fill_opacity: None,
                stroke: Some("#ffffff".into()),
                stroke_width: Some(0.8),
            });
        }
    }
}

impl OverlapPicture<'_> {
    /// The drawing as SVG.
    pub fn draw(&self) -> String {
        let points = &self.found.points;
        let width = LEFT + 2.0 * WIDE + GAP + 30.0;
        let height = TOP + points.len() as f64 * (HIGH + BELOW) + 26.0;
        let mut scene = Scene::new(width, height);
        self.write_head(&mut scene);
        for (n, point) in points.iter().enumerate() {
            let top = TOP + n as f64 * (HIGH + BELOW);
            write_panel(&mut scene, point, &point.answers, LEFT, top);
            let left = LEFT + WIDE + GAP;
            write_panel(&mut scene, point, &point.all_steps, left, top);
        }
        for panel in 0..2 {
            let middle = LEFT + WIDE / 2.0 + f64::from(panel) * (WIDE + GAP);
            let style = Style {
                size: LABEL,
                bold: false,
            };
            let place = [middle, height - 12.0];
            text(&mut scene, place, TextAnchor::Middle, style, "overlap q");
        }
        SvgBackend.render_scene(&scene)
    }

    fn write_head(&self, scene: &mut Scene) {
        let title = format!("P(q) of {}", self.found.class);
        let style = Style {
            size: LABEL,
            bold: true,
        };
        text(scene, [LEFT, 24.0], TextAnchor::Start, style, title);
        let heads = ["same answer", "mean of all steps, tokens renamed"];
        for (panel, head) in heads.into_iter().enumerate() {
            let x = LEFT + panel as f64 * (WIDE + GAP);
            text(scene, [x, 52.0], TextAnchor::Start, PLAIN, head);
        }
        let right = LEFT + 2.0 * WIDE + GAP;
        let mut legend = vec![(BLUE, "sampled")];
        if self.found.functions.is_some() {
            legend.push((VERMILION, "exact"));
        }
        for (n, (colour, what)) in legend.into_iter().rev().enumerate() {
            let x = right - 90.0 * n as f64;
            scene.add(Primitive::Circle {
                cx: x - 66.0,
                cy: 20.0,
                r: 5.0,
                fill: colour.into(),
                fill_opacity: None,
                stroke: None,
                stroke_width: None,
            });
            text(scene, [x - 56.0, 24.5], TextAnchor::Start, PLAIN, what);
        }
    }
}

/// The distribution of one overlap at one temperature.
fn write_panel(scene: &mut Scene, point: &OverlapPoint, overlap: &Histogram, left: f64, top: f64) {
    let tops = |bin: &Bin| (bin.probability + bin.error).max(bin.exact.unwrap_or(0.0));
    let highest = overlap.bins.iter().map(tops).fold(0.0, f64::max);
    let axes = Axes {
        left,
        top,
        most: round_step(highest.max(1e-6)).min(1.0),
    };
    axes.write_bars(scene, &overlap.bins);
    axes.write(scene);
    axes.write_dots(scene, &overlap.bins);
    let agree = if point.replicas_agree {
        ""
    } else {
        ", replicas disagree"
    };
    let label = format!("tau = {}{agree}", number(point.tau));
    let place = [left + 10.0, top + 14.0];
    text(scene, place, TextAnchor::Start, BOLD, label);
}
