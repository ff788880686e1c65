//! Fixes the look of all figures: sizes, colours, markers, and how curves and texts are drawn.

pub mod panel;

use std::sync::Arc;

use foldglass::support::stats::Interval;
use kuva::prelude::{
    Layout, LegendEntry, LegendShape, LinePlot, MarkerShape, Plot, ScatterPlot, TickFormat,
};
use kuva::render::render::{Primitive, Scene, TextAnchor};

use crate::prose::escaped;
use crate::table::Digits;
use crate::words::number;

/// The width of a figure, in pixels.
pub const WIDTH: f64 = 1120.0;

/// The size of text, in pixels: ticks, legends and tables beside the axes.
pub const TEXT: u32 = 13;
/// That of the names of axes.
pub const LABEL: u32 = 15;
/// That of a title.
pub const TITLE: u32 = 17;

/// The width of the lines of curves.
const LINE: f64 = 1.5;
/// The size of markers.
const MARK: f64 = 5.0;

/// Colours that are told apart in print and by most of the colour-blind (Okabe and Ito's).
pub const BLACK: &str = "#000000";
/// The blue of them.
pub const BLUE: &str = "#0072b2";
/// The red.
pub const VERMILION: &str = "#d55e00";
/// For lines that only join others.
pub const GREY: &str = "#444444";

/// A colour and a marker, told apart without the colour too.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// The colour.
    pub colour: &'static str,
    /// The marker.
    pub marker: MarkerShape,
}

const fn look(colour: &'static str, marker: MarkerShape) -> Look {
    Look { colour, marker }
}

/// The looks of the curves of a figure, in their order.
pub const LOOKS: [Look; 7] = [
    look(BLACK, MarkerShape::Circle),
    look(BLUE, MarkerShape::Square),
    look(VERMILION, MarkerShape::Triangle),
    look("#009e73", MarkerShape::Diamond),
    look("#cc79a7", MarkerShape::TriangleDown),
    look("#e69f00", MarkerShape::Pentagon),
    look("#56b4e9", MarkerShape::Star),
];

/// How the paper's values are drawn in every figure.
pub const PAPER: Look = look(GREY, MarkerShape::Cross);

/// The paper's values, a cross each.
pub fn paper_marks(points: Vec<(f64, f64)>, size: f64) -> Plot {
    let says = points
        .iter()
        .map(|(_, y)| format!("the paper: {}", number(*y)));
    let says: Vec<String> = says.collect();
    let marks = ScatterPlot::new()
        .with_data(points)
        .with_color(PAPER.colour)
        .with_marker(PAPER.marker)
        .with_size(size)
        .with_tooltip_labels(says);
    Plot::Scatter(marks)
}

/// A layout with the sizes of all figures.
pub fn styled(layout: Layout) -> Layout {
    layout
        .with_width(WIDTH)
        .with_title_size(TITLE)
        .with_tick_size(TEXT)
        .with_body_size(TEXT)
        .with_label_size(LABEL)
}

/// A point of a curve, with its interval where it has one.
#[derive(Debug, Clone, Copy)]
pub struct PlotPoint {
    /// Along the axis, as it is drawn: the logarithm on a logarithmic one.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// What is not ruled out.
    pub interval: Option<Interval>,
}

impl PlotPoint {
    /// Its numbers: `0.798 (0.75 to 0.85)`.
    fn says(&self) -> String {
        let value = number(self.y);
        match self.interval {
            Some(Interval { low, high }) => {
                format!("{value} ({} to {})", number(low), number(high))
            }
            None => value,
        }
    }
}

/// A line with markers, and bars over the intervals. A marker says its numbers on hover.
pub fn curve(points: &[PlotPoint], look: Look) -> [Plot; 2] {
    curve_named(points, look, |_| String::new())
}

/// The same; a marker says its name before its numbers.
pub fn curve_named(
    points: &[PlotPoint],
    look: Look,
    name: impl Fn(&PlotPoint) -> String,
) -> [Plot; 2] {
    let says = points.iter().map(|point| {
        let name = name(point);
        let colon = if name.is_empty() { "" } else { ": " };
        format!("{name}{colon}{}", point.says())
    });
    let places: Vec<(f64, f64)> = points.iter().map(|point| (point.x, point.y)).collect();
    let bars = points.iter().map(|point| {
        point.interval.map_or((0.0, 0.0), |Interval { low, high }| {
            (point.y - low, high - point.y)
        })
    });
    let marks = ScatterPlot::new()
        .with_data(places.clone())
        .with_y_err_asymmetric(bars.collect::<Vec<_>>())
        .with_color(look.colour)
        .with_marker(look.marker)
        .with_size(MARK)
        .with_tooltip_labels(says.collect::<Vec<_>>());
    let line = LinePlot::new()
        .with_data(places)
        .with_color(look.colour)
        .with_stroke_width(LINE);
    [Plot::Line(line), Plot::Scatter(marks)]
}

/// The line of a legend for a curve.
pub fn legend(label: &str, look: Look) -> LegendEntry {
    LegendEntry {
        label: label.to_owned(),
        color: look.colour.to_owned(),
        shape: LegendShape::Marker(look.marker),
        dasharray: None,
    }
}

/// How a text is written.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// The size, in pixels.
    pub size: u32,
    /// Whether it is bold.
    pub bold: bool,
}

/// The style of text.
pub const PLAIN: Style = Style {
    size: TEXT,
    bold: false,
};
/// That of the heads of tables.
pub const BOLD: Style = Style {
    size: TEXT,
    bold: true,
};

/// Writes at a place; `anchor` says which end of the text stands there.
pub fn text(
    scene: &mut Scene,
    [x, y]: [f64; 2],
    anchor: TextAnchor,
    style: Style,
    content: impl Into<String>,
) {
    scene.add(Primitive::Text {
        x,
        y,
        content: content.into(),
        size: style.size,
        anchor,
        rotate: None,
        bold: style.bold,
        color: None,
    });
}

/// Writes in the smallest size, that of ticks in one column.
pub fn small(
    scene: &mut Scene,
    [x, y]: [f64; 2],
    anchor: TextAnchor,
    colour: &str,
    content: impl Into<String>,
) {
    scene.add(Primitive::Text {
        x,
        y,
        content: content.into(),
        size: 10,
        anchor,
        rotate: None,
        bold: false,
        color: Some(colour.into()),
    });
}

/// A straight line.
pub fn line(scene: &mut Scene, from: [f64; 2], to: [f64; 2], colour: &str, width: f64) {
    scene.add(Primitive::Line {
        x1: from[0],
        y1: from[1],
        x2: to[0],
        y2: to[1],
        stroke: colour.into(),
        stroke_width: width,
        stroke_dasharray: None,
    });
}

/// Ticks of an axis of logarithms.
pub fn powers_of_ten() -> TickFormat {
    TickFormat::Custom(Arc::new(power_of_ten))
}

/// What kuva calls the frames of axes, before a number.
const FRAME: &str = "kuva-clip-";

/// What kuva writes where points have titles; nothing in a drawing is of this class.
const UNUSED: &str = "<style>g.tt{cursor:pointer;}g.tt:hover>*{opacity:0.75;}</style>";

/// A drawing whose frames are numbered from 0. kuva goes on counting from one drawing of a process to the
/// next, so that the same figure would not be the same bytes.
pub fn settled(svg: &str) -> String {
    let mut numbers: Vec<&str> = Vec::new();
    let svg = svg.replace(UNUSED, "");
    let mut parts = svg.split(FRAME);
    let mut settled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(part.len());
        let (number, rest) = part.split_at(end);
        let known = numbers.iter().position(|other| *other == number);
        let place = known.unwrap_or_else(|| {
            numbers.push(number);
            numbers.len() - 1
        });
        settled += &format!("{FRAME}{place}{rest}");
    }
    settled
}

/// A drawing with a name, for readers who do not see it, and a view box, so that it scales.
pub fn named(svg: &str, name: &str) -> String {
    let begin = svg.find("<svg").unwrap_or(0) + "<svg".len();
    let Some(end) = svg[begin..].find('>').map(|end| begin + end) else {
        return svg.to_owned();
    };
    let head = &svg[begin..end];
    if head.contains("role=") {
        return svg.to_owned();
    }
    let size = |key: &str| {
        let value = head.split(&format!(" {key}=\"")).nth(1)?;
        value.split('"').next()
    };
    let view = match size("width").zip(size("height")) {
        Some((width, height)) if !head.contains("viewBox") => {
            format!(" viewBox=\"0 0 {width} {height}\"")
        }
        _ => String::new(),
    };
    format!(
        "{} role=\"img\"{view}{head}><title>{}</title>{}",
        &svg[..begin],
        escaped(name),
        &svg[end + 1..]
    )
}

/// A round number near another, at least as large: 1, 2 or 5 times a power of ten.
pub fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|n| n * power >= step);
    round.unwrap_or(10.0) * power
}

/// Round numbers between two, with up to so many steps, and the decimals that they need.
pub fn ticks([low, high]: [f64; 2], steps: f64) -> (Vec<f64>, usize) {
    let step = round_step((high - low) / steps);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    // An end that is a round number has a tick, whatever the last bit of the quotient.
    let (first, last) = (low / step - 1e-9, high / step + 1e-9);
    let (first, last) = (first.ceil() as i64, last.floor() as i64);
    ((first..=last).map(|n| n as f64 * step).collect(), decimals)
}

/// A number by its logarithm, in few digits: `3.2e-5`.
pub fn tau(log10: f64) -> String {
    Digits::Significant(2).text(10f64.powf(log10))
}

/// 10 to the n, n above the line.
pub fn power_of_ten(exponent: f64) -> String {
    let raised = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + digit as u32 - '0' as u32).unwrap_or(digit),
    };
    let exponent = format!("{exponent:.0}");
    format!("10{}", exponent.chars().map(raised).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_says_its_numbers() {
        let interval = Some(Interval {
            low: 0.75,
            high: 0.85,
        });
        let point = |interval| PlotPoint {
            x: -10.0,
            y: 0.798,
            interval,
        };
        assert_eq!(point(interval).says(), "0.798 (0.75 to 0.85)");
        assert_eq!(point(None).says(), "0.798");
    }

    #[test]
    fn frames_are_numbered_from_0_whatever_was_drawn_before() {
        let drawn = |a: usize, b: usize| {
            format!(
                "<a id=\"kuva-clip-{a}\"/><b id=\"kuva-clip-{b}\"/><c x=\"url(#kuva-clip-{a})\"/>"
            )
        };
        assert_eq!(settled(&drawn(17, 9)), drawn(0, 1));
        assert_eq!(settled(&drawn(0, 1)), drawn(0, 1));
        assert_eq!(settled(&format!("<svg>{UNUSED}</svg>")), "<svg></svg>");
    }

    #[test]
    fn a_drawing_has_its_name_and_scales() {
        assert_eq!(
            named("<svg width=\"20\" height=\"10\"><rect/></svg>", "a < b"),
            "<svg role=\"img\" viewBox=\"0 0 20 10\" width=\"20\" height=\"10\"><title>a &lt; b</title><rect/></svg>"
        );
    }

    #[test]
    fn steps_are_round() {
        let steps = [5.2, 1821.0, 0.3].map(round_step);
        assert_eq!(steps, [10.0, 2000.0, 0.5]);
        for (least, step) in [(0.03, 0.05), (0.5, 0.5), (0.51, 1.0), (0.0012, 0.002)] {
            assert!((round_step(least) - step).abs() < 1e-12, "{least}");
        }
    }

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        assert_eq!(
            ticks([0.1, 0.3], 2.0).0.len(),
            3,
            "0.3 / 0.1 is less than 3"
        );
        for (low, high) in [(0.78, 1.01), (0.0, 1.0), (0.4, 0.41)] {
            let (ticks, decimals) = ticks([low, high], 8.0);
            assert!((4..=12).contains(&ticks.len()), "{ticks:?}");
            assert!(
                ticks
                    .iter()
                    .all(|&tick| low <= tick && tick <= high + 1e-12)
            );
            let written = |tick: &f64| format!("{tick:.decimals$}").parse::<f64>().unwrap();
            assert!(ticks.iter().all(|tick| (written(tick) - tick).abs() < 1e-9));
        }
    }

    #[test]
    fn exponents_stand_above_the_line() {
        assert_eq!(power_of_ten(-13.0), "10⁻¹³");
        assert_eq!(power_of_ten(4.0), "10⁴");
    }
}
