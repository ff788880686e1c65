//! Fixes the look of all figures: sizes, colours, markers, and how curves and texts are drawn.

use std::sync::Arc;

use foldglass::stats::Interval;
use kuva::prelude::{
    Layout, LegendEntry, LegendShape, LinePlot, MarkerShape, Plot, ScatterPlot, TickFormat,
};
use kuva::render::render::{Primitive, Scene, TextAnchor};

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
pub struct Point {
    /// Along the axis, as it is drawn: the logarithm on a logarithmic one.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// What is not ruled out.
    pub interval: Option<Interval>,
}

/// A line with markers, and bars over the intervals.
pub fn curve(points: &[Point], look: Look) -> [Plot; 2] {
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
        .with_size(MARK);
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
    fn exponents_stand_above_the_line() {
        assert_eq!(power_of_ten(-13.0), "10⁻¹³");
        assert_eq!(power_of_ten(4.0), "10⁴");
    }
}
