//! Draws fig:temperature_untied (a): greedy reward against tau, seven classes, and beside it the
//! table of resets.

use std::sync::Arc;

use foldglass::stats::Summary;
use kuva::prelude::{
    Layout, LegendEntry, LegendShape, LinePlot, MarkerShape, Plot, ScatterPlot, SvgBackend,
    TickFormat, render_multiple,
};
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::data::{Data, Sample};
use super::items::{name, scan, untied};
use super::studies::{RESETS, Scale};

const WIDTH: f64 = 1120.0;
const HEIGHT: f64 = 570.0;

/// What is added below for the caption.
const CAPTION: f64 = 30.0;

/// Left, right, top and bottom of the axes.
const MARGINS: [f64; 4] = [75.0, 395.0, 60.0, 65.0];

/// Where what stands beside the axes begins.
const BESIDE: f64 = WIDTH - 375.0;

/// The level of the error bars.
const BARS: f64 = 0.95;

const SIZE: u32 = 13;

/// A colour and a marker for each class, told apart without colours too (Okabe and Ito's palette).
const LOOKS: [(&str, MarkerShape); 7] = [
    ("#000000", MarkerShape::Circle),
    ("#0072b2", MarkerShape::Square),
    ("#d55e00", MarkerShape::Triangle),
    ("#009e73", MarkerShape::Diamond),
    ("#cc79a7", MarkerShape::TriangleDown),
    ("#e69f00", MarkerShape::Pentagon),
    ("#56b4e9", MarkerShape::Star),
];

/// The figure as SVG.
pub fn draw(data: &Data, scale: Scale) -> String {
    let mut plots = Vec::new();
    for (class, (colour, marker)) in untied().zip(LOOKS) {
        plots.extend(curve(&scan(data, class), colour, marker));
    }
    let legend = |(class, (colour, marker)): (&'static str, (&str, MarkerShape))| LegendEntry {
        label: name(class).to_owned(),
        color: colour.to_owned(),
        shape: LegendShape::Marker(marker),
        dasharray: None,
    };
    let [left, right, top, bottom] = MARGINS;
    let smoke = if scale == Scale::Quick {
        ", SMOKE SCALE"
    } else {
        ""
    };
    let layout = Layout::new((-15.0, -2.0), (0.0, 1.0))
        .with_width(WIDTH)
        .with_height(HEIGHT)
        .with_force_margins(left, right)
        .with_force_margins_y(top, bottom)
        .with_title(format!("(a) Tabular RLVR on the untied classes{smoke}"))
        .with_title_size(17)
        .with_x_label("τ")
        .with_y_label("greedy reward")
        .with_x_axis_min(-15.5)
        .with_x_axis_max(-1.5)
        .with_x_tick_step(1.0)
        .with_x_tick_format(TickFormat::Custom(Arc::new(power_of_ten)))
        .with_y_axis_min(0.1)
        .with_y_axis_max(1.05)
        .with_y_tick_step(0.1)
        .with_y_tick_format(TickFormat::Fixed(1))
        .with_tick_size(SIZE)
        .with_body_size(SIZE)
        .with_label_size(15)
        .with_legend_entries(untied().zip(LOOKS).map(legend).collect())
        .with_legend_at(BESIDE, top)
        .with_legend_width(WIDTH - BESIDE - 15.0);
    let mut scene = render_multiple(plots, layout);
    scene.height += CAPTION;
    table(&mut scene, data);
    let said = "Points are means over independent runs, bars their 95 % intervals.";
    text(
        &mut scene,
        left,
        HEIGHT + CAPTION - 12.0,
        TextAnchor::Start,
        false,
        said.to_owned(),
    );
    SvgBackend.render_scene(&scene)
}

/// A line with markers and error bars; the axis is log10 of tau.
fn curve(points: &[(f64, Sample)], colour: &str, marker: MarkerShape) -> Vec<Plot> {
    let mut means = Vec::new();
    let mut bars = Vec::new();
    for (tau, sample) in points {
        let Some(summary) = Summary::of(&sample.rewards) else {
            continue;
        };
        means.push((tau.log10(), summary.mean));
        // No reward is outside 0 to 1.
        let bar = summary.interval(BARS).map_or((0.0, 0.0), |interval| {
            (
                summary.mean - interval.low.max(0.0),
                interval.high.min(1.0) - summary.mean,
            )
        });
        bars.push(bar);
    }
    let line = LinePlot::new()
        .with_data(means.clone())
        .with_color(colour)
        .with_stroke_width(1.5);
    let marks = ScatterPlot::new()
        .with_data(means)
        .with_y_err_asymmetric(bars)
        .with_color(colour)
        .with_marker(marker)
        .with_size(5.0);
    vec![Plot::Line(line), Plot::Scatter(marks)]
}

/// 10 to the n, n above the line.
fn power_of_ten(exponent: f64) -> String {
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

/// The table of resets, below the legend.
fn table(scene: &mut Scene, data: &Data) {
    let row_height = 21.0;
    let top = MARGINS[2] + 215.0;
    let ends = [BESIDE, BESIDE + 240.0, BESIDE + 308.0, BESIDE + 360.0];
    let mut line = |number: usize, bold: bool, entries: [String; 4]| {
        let y = top + row_height * number as f64;
        for (column, entry) in entries.into_iter().enumerate() {
            let anchor = if column == 0 {
                TextAnchor::Start
            } else {
                TextAnchor::End
            };
            text(scene, ends[column], y, anchor, bold, entry);
        }
    };
    let heads = ["with resets", "reward", "at 1", "τ"].map(str::to_owned);
    line(0, true, heads);
    for (number, class) in untied().enumerate() {
        let sample = data.ends(RESETS, class, "", None);
        let mean =
            Summary::of(&sample.rewards).map_or("-".to_owned(), |s| format!("{:.4}", s.mean));
        let taus = data.temperatures(RESETS, class);
        let taus: Vec<String> = taus.into_iter().map(tau_text).collect();
        let at_one = format!("{}/{}", sample.ones, sample.rewards.len());
        line(
            number + 1,
            false,
            [name(class).to_owned(), mean, at_one, taus.join(", ")],
        );
    }
    let rule = top + 6.0;
    scene.add(Primitive::Line {
        x1: ends[0],
        y1: rule,
        x2: ends[3],
        y2: rule,
        stroke: "#000000".into(),
        stroke_width: 1.0,
        stroke_dasharray: None,
    });
    let y = top + row_height * 8.0 + 4.0;
    text(
        scene,
        ends[0],
        y,
        TextAnchor::Start,
        false,
        "2 % of the cells redrawn every 10 iterations,".to_owned(),
    );
    text(
        scene,
        ends[0],
        y + 17.0,
        TextAnchor::Start,
        false,
        "100 times, then undisturbed".to_owned(),
    );
}

fn tau_text(tau: f64) -> String {
    match tau {
        0.0 => "0".to_owned(),
        _ => power_of_ten(tau.log10()),
    }
}

fn text(scene: &mut Scene, x: f64, y: f64, anchor: TextAnchor, bold: bool, content: String) {
    scene.add(Primitive::Text {
        x,
        y,
        content,
        size: SIZE,
        anchor,
        rotate: None,
        bold,
        color: None,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_stand_above_the_line() {
        assert_eq!(power_of_ten(-13.0), "10⁻¹³");
        assert_eq!(
            (tau_text(1e-10), tau_text(0.0)),
            ("10⁻¹⁰".to_owned(), "0".to_owned())
        );
    }

    #[test]
    fn a_figure_without_records_has_its_axes_and_legend() {
        let mut data = Data::default();
        for source in super::super::items::Item::Temperature.studies() {
            data.add(*source, source.study(Scale::Full, 0), None)
                .unwrap();
        }
        let svg = draw(&data, Scale::Full);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for class in untied() {
            assert!(svg.matches(name(class)).count() >= 2, "{class}");
        }
    }
}
