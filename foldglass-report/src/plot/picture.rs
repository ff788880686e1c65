//! Draws curves of means with their intervals.

use foldglass::support::stats::Interval;
use foldglass_study::PointSummary;
use kuva::render::render::TextAnchor;

use crate::INTERVAL_LEVEL;
use crate::figure::panel::{Axis, Frame, Panel, svg};
use crate::figure::{LOOKS, PLAIN, PlotPoint, WIDTH, curve_named, legend, named, tau, text};
use crate::words::number;

/// The points of one class and method along the axis.
#[derive(Debug)]
pub struct Curve {
    /// The class, and what else tells it from the others.
    pub name: String,
    /// Where, and what was found there, ascending.
    pub points: Vec<(f64, PointSummary)>,
}

impl Curve {
    /// The result it is of.
    pub fn quantity(&self) -> String {
        let first = self.points.first();
        first.map_or(String::new(), |(_, point)| point.quantity.clone())
    }
}

/// What to draw.
#[derive(Debug)]
pub struct PlotPicture<'a> {
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

impl<'a> PlotPicture<'a> {
    /// Of curves; refused where there are more than looks.
    pub fn new(
        title: &'a str,
        quantity: &'a str,
        against: &'a str,
        curves: &'a [Curve],
    ) -> Result<PlotPicture<'a>, String> {
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
        // One value such as 1e-13 has no range: its power of ten says more than a line around it.
        let alone = places().all(|x| x == least) && least.fract() != 0.0;
        let wide = places().all(|x| x >= 0.0) && most >= WIDE_RANGE * least;
        let logarithmic = wide || alone;
        Ok(PlotPicture {
            title,
            quantity,
            against,
            curves,
            logarithmic,
        })
    }

    /// The points that the axis has a place for.
    fn points(&self, curve: &Curve) -> Vec<PlotPoint> {
        let shown = curve
            .points
            .iter()
            .filter(|(x, _)| !self.logarithmic || *x > 0.0);
        let point = |(x, found): &(f64, PointSummary)| PlotPoint {
            x: if self.logarithmic { x.log10() } else { *x },
            y: found.mean,
            interval: found
                .low
                .zip(found.high)
                .map(|(low, high)| Interval { low, high }),
        };
        shown.map(point).collect()
    }

    /// The ends of the axes. That of rewards stays between 0 and 1; one of logarithms has a power of ten.
    fn axes(&self) -> [[f64; 2]; 2] {
        let points = || self.curves.iter().flat_map(|curve| self.points(curve));
        let mut x = ends(points().map(|point| [point.x, point.x]), 0.04);
        if self.logarithmic && x[0].ceil() > x[1].floor() {
            x = [x[0].floor(), x[1].ceil()];
        }
        let mut y = ends(points().map(|point| height(&point)), 0.06);
        let mut found = self.curves.iter().flat_map(|curve| &curve.points);
        if found.all(|(_, point)| point.is_bounded()) {
            y = y.map(|end| end.clamp(0.0, 1.0));
        }
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
        let curves: Vec<Vec<PlotPoint>> =
            self.curves.iter().map(|curve| self.points(curve)).collect();
        let mixed = (self.curves.iter()).any(|curve| curve.quantity() != self.quantity);
        let mut plots = Vec::new();
        for ((points, curve), look) in curves.iter().zip(self.curves).zip(LOOKS) {
            let named = |point: &PlotPoint| {
                let place = if self.logarithmic {
                    tau(point.x)
                } else {
                    number(point.x)
                };
                // The names of curves of several quantities have theirs already.
                let quantity = match mixed {
                    true => String::new(),
                    false => format!(", {}", curve.quantity().replace('_', " ")),
                };
                format!("{}, {} = {place}{quantity}", curve.name, self.against)
            };
            plots.extend(curve_named(points, look, named));
        }
        let mut scene = self.panel().plots(plots).scene();
        scene.height += BELOW;
        let place = [FRAME.margins[0], HEIGHT + BELOW - 12.0];
        text(&mut scene, place, TextAnchor::Start, PLAIN, self.caption());
        let title = format!("{}: {} against {}", self.title, self.quantity, self.against);
        named(&svg(&scene), &title)
    }

    /// The axes and the legend.
    fn panel(&self) -> Panel {
        let [_, right, top, _] = FRAME.margins;
        let entries = self.curves.iter().zip(LOOKS);
        let entries = entries.map(|(curve, look)| legend(&curve.name, look));
        let [x, y] = self.axes();
        let against = match self.against {
            "tau" => "temperature tau",
            other => other,
        };
        let x = if self.logarithmic {
            Axis::of_powers(against, x)
        } else {
            Axis::new(against, x)
        };
        let quantity = match self.quantity {
            "solved" => "share of runs at reward 1".to_owned(),
            other => other.replace('_', " "),
        };
        let y = Axis::new(quantity, y);
        Panel::new(self.title, FRAME, x, y).legend(
            entries.collect(),
            [WIDTH - right + 20.0, top],
            right - 35.0,
        )
    }

    fn caption(&self) -> String {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let zero = points().any(|(x, _)| *x == 0.0);
        let sampled =
            points().any(|(_, point)| point.kind == "chain" && point.quantity == "reward");
        let sampled = match sampled {
            true => " The reward of a chain is that of its last code.",
            false => "",
        };
        let hidden = if self.logarithmic && zero {
            " 0 has no place on this axis."
        } else {
            ""
        };
        format!(
            "Points are means over independent runs, bars their {} % intervals.{sampled}{hidden}",
            100.0 * INTERVAL_LEVEL
        )
    }
}

fn height(point: &PlotPoint) -> [f64; 2] {
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
    let span = match [most - least, least.abs()] {
        [span, _] if span > 0.0 => span,
        [_, size] if size > 0.0 => size,
        _ => 1.0,
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

    /// A curve of points at 1, with an interval from 0.94, or of a number without bounds.
    fn curve(quantity: &str, places: &[f64]) -> Curve {
        let point = |x: &f64| {
            let summary = PointSummary {
                class: "p".to_owned(),
                method: "mc".to_owned(),
                kind: "chain".to_owned(),
                parameters: foldglass_study::Fields::new(),
                quantity: quantity.to_owned(),
                runs: 60,
                mean: 1.0,
                sd: Some(0.0),
                low: Some(0.94),
                high: Some(1.0),
                min: 1.0,
                q25: 1.0,
                median: 1.0,
                q75: 1.0,
                p90: 1.0,
                max: 1.0,
                at_one: Some(60),
                at_one_low: Some(0.94),
                at_one_high: Some(1.0),
            };
            (*x, summary)
        };
        Curve {
            name: "p".to_owned(),
            points: places.iter().map(point).collect(),
        }
    }

    fn axes(quantity: &str, places: &[f64]) -> ([[f64; 2]; 2], String) {
        let curves = [curve(quantity, places)];
        let picture = PlotPicture::new("title", quantity, "tau", &curves).unwrap();
        (picture.axes(), picture.draw())
    }

    #[test]
    fn an_axis_of_rewards_stays_within_0_and_1() {
        for quantity in ["reward", "greedy_reward", "mean_reward", "solved"] {
            let ([_, y], _) = axes(quantity, &[0.1, 0.2]);
            assert!(
                0.0 <= y[0] && y[0] < 0.94 && y[1] == 1.0,
                "{quantity}: {y:?}"
            );
        }
        let ([_, y], _) = axes("entropy", &[0.1, 0.2]);
        assert!(y[1] > 1.0, "{y:?}");
    }

    #[test]
    fn one_small_temperature_has_a_power_of_ten_and_no_negative_place() {
        for (tau, x, said) in [
            (1e-13, [-14.0, -12.0], "10⁻¹³"),
            (3e-5, [-5.0, -4.0], "10⁻⁵"),
            (0.3, [-1.0, 0.0], "10⁻¹"),
        ] {
            let ([found, _], svg) = axes("reward", &[tau]);
            let log = f64::log10(tau);
            assert!(x[0] <= found[0] && found[0] < log, "{tau}: {found:?}");
            assert!(log < found[1] && found[1] <= x[1], "{tau}: {found:?}");
            assert!(svg.contains(said), "{tau}: {svg}");
        }
        // Whole numbers, such as lengths and iterations, are on a line around them.
        let ([found, _], _) = axes("reward", &[500.0]);
        assert!(found[0] > 400.0 && found[1] < 600.0, "{found:?}");
        let ([found, _], _) = axes("reward", &[0.0]);
        assert!(found[0] < 0.0 && found[1] > 0.0, "{found:?}");
    }
}
