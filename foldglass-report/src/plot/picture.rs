//! Draws curves of means with their intervals.

use foldglass::stats::Interval;
use foldglass_study::PointSummary;
use kuva::render::render::TextAnchor;

use crate::INTERVAL_LEVEL;
use crate::figure::panel::{Axis, Frame, Panel, svg};
use crate::figure::{LOOKS, PLAIN, Point, WIDTH, curve_named, legend, tau, text};
use crate::words::number;

/// The points of one class and method along the axis.
#[derive(Debug)]
pub struct Curve {
    /// The class, and what else tells it from the others.
    pub name: String,
    /// Where, and what was found there, ascending.
    pub points: Vec<(f64, PointSummary)>,
}

/// What to draw.
#[derive(Debug)]
pub struct Picture<'a> {
    title: &'a str,
    quantity: &'a str,
    against: &'a str,
    curves: &'a [Curve],
    /// Whether the axis is one of logarithms.
    logarithmic: bool,
}

/// From this ratio of the largest to the smallest value on, the axis is one of logarithms.
const WIDE_RANGE: f64 = 50.0;

const HEIGHT: f64 = 540.0;
/// What is added below for the caption.
const BELOW: f64 = 30.0;
const FRAME: Frame = Frame {
    size: [WIDTH, HEIGHT],
    margins: [90.0, 335.0, 60.0, 65.0],
};

impl<'a> Picture<'a> {
    /// Of curves; refused where there are more than looks.
    pub fn new(
        title: &'a str,
        quantity: &'a str,
        against: &'a str,
        curves: &'a [Curve],
    ) -> Result<Picture<'a>, String> {
        if curves.len() > LOOKS.len() {
            return Err(format!(
                "there are {} curves, and looks for {}: choose some by --class, or another parameter by \
                 --against",
                curves.len(),
                LOOKS.len()
            ));
        }
        let places = || {
            curves
                .iter()
                .flat_map(|curve| curve.points.iter().map(|point| point.0))
        };
        let positive = || places().filter(|x| *x > 0.0);
        let (least, most) = (
            positive().fold(f64::INFINITY, f64::min),
            positive().fold(0.0, f64::max),
        );
        let logarithmic = places().all(|x| x >= 0.0) && most >= WIDE_RANGE * least;
        Ok(Picture {
            title,
            quantity,
            against,
            curves,
            logarithmic,
        })
    }

    /// The points that the axis has a place for.
    fn points(&self, curve: &Curve) -> Vec<Point> {
        let shown = curve
            .points
            .iter()
            .filter(|(x, _)| !self.logarithmic || *x > 0.0);
        let point = |(x, found): &(f64, PointSummary)| Point {
            x: if self.logarithmic { x.log10() } else { *x },
            y: found.mean,
            interval: found
                .low
                .zip(found.high)
                .map(|(low, high)| Interval { low, high }),
        };
        shown.map(point).collect()
    }

    /// The ends of the axes.
    fn axes(&self) -> [[f64; 2]; 2] {
        let points = || self.curves.iter().flat_map(|curve| self.points(curve));
        let x = ends(points().map(|point| [point.x, point.x]), 0.04);
        let y = ends(points().map(|point| height(&point)), 0.06);
        [x, y]
    }

    /// Its width and height.
    pub fn size(&self) -> [f64; 2] {
        [WIDTH, HEIGHT + BELOW]
    }

    /// By curve and point: where it is; none where the axis has no place for it.
    pub fn places(&self) -> Vec<Vec<Option<[f64; 2]>>> {
        let places = self.panel().places();
        let place = |(at, found): &(f64, PointSummary)| {
            let shown = !self.logarithmic || *at > 0.0;
            let at = if self.logarithmic { at.log10() } else { *at };
            shown.then(|| [places.x(at), places.y(found.mean)])
        };
        let curves = self.curves.iter();
        curves
            .map(|curve| curve.points.iter().map(place).collect())
            .collect()
    }

    /// The drawing as SVG.
    pub fn draw(&self) -> String {
        let curves: Vec<Vec<Point>> = self.curves.iter().map(|curve| self.points(curve)).collect();
        let mut plots = Vec::new();
        for ((points, curve), look) in curves.iter().zip(self.curves).zip(LOOKS) {
            let named = |point: &Point| {
                let place = if self.logarithmic {
                    tau(point.x)
                } else {
                    number(point.x)
                };
                format!("{}, {} = {place}", curve.name, self.against)
            };
            plots.extend(curve_named(points, look, named));
        }
        let mut scene = self.panel().plots(plots).scene();
        scene.height += BELOW;
        let place = [FRAME.margins[0], HEIGHT + BELOW - 12.0];
        text(&mut scene, place, TextAnchor::Start, PLAIN, self.caption());
        svg(&scene)
    }

    /// The axes and the legend.
    fn panel(&self) -> Panel {
        let [_, right, top, _] = FRAME.margins;
        let entries = self.curves.iter().zip(LOOKS);
        let entries = entries.map(|(curve, look)| legend(&curve.name, look));
        let [x, y] = self.axes();
        let x = if self.logarithmic {
            Axis::of_powers(self.against, x)
        } else {
            Axis::new(self.against, x)
        };
        let y = Axis::new(self.quantity.replace('_', " "), y);
        Panel::new(self.title, FRAME, x, y).legend(
            entries.collect(),
            [WIDTH - right + 20.0, top],
            right - 35.0,
        )
    }

    fn caption(&self) -> String {
        let zero = self
            .curves
            .iter()
            .flat_map(|curve| &curve.points)
            .any(|(x, _)| *x == 0.0);
        let hidden = if self.logarithmic && zero {
            " 0 has no place on this axis."
        } else {
            ""
        };
        format!(
            "Points are means over independent runs, bars their {} % intervals.{hidden}",
            100.0 * INTERVAL_LEVEL
        )
    }
}

fn height(point: &Point) -> [f64; 2] {
    match point.interval {
        Some(Interval { low, high }) => [low.min(point.y), high.max(point.y)],
        None => [point.y, point.y],
    }
}

/// The ends of an axis that holds all of these, and a little more.
fn ends(ranges: impl Iterator<Item = [f64; 2]>, more: f64) -> [f64; 2] {
    let whole = ranges.fold(
        [f64::INFINITY, f64::NEG_INFINITY],
        |[least, most], [low, high]| [least.min(low), most.max(high)],
    );
    let [least, most] = if whole[0] <= whole[1] {
        whole
    } else {
        [0.0, 1.0]
    };
    let span = if most > least {
        most - least
    } else {
        least.abs().max(1.0)
    };
    [least - more * span, most + more * span]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_holds_all_intervals_and_one_point_has_room() {
        assert_eq!(
            ends([[0.0, 2.0], [1.0, 4.0]].into_iter(), 0.25),
            [-1.0, 5.0]
        );
        assert_eq!(ends([[2.0, 2.0]].into_iter(), 0.5), [1.0, 3.0]);
        assert_eq!(ends(std::iter::empty(), 0.0), [0.0, 1.0]);
    }
}
