//! Draws the mean reward of parity against tau / tau_c for growing T (paper, App. F).

use foldglass::gibbs::parity::Parity;
use kuva::prelude::{
    LegendEntry, LegendShape, LinePlot, LineStyle, MarkerShape, Plot, ScatterPlot, TickFormat,
};
use kuva::render::annotations::ReferenceLine;

use crate::report::figure::panel::{Axis, Frame, Panel, svg};
use crate::report::figure::{GREY, LOOKS, named};

/// The lengths that are drawn beside the one asked for.
const LENGTHS: [usize; 4] = [4, 8, 16, 40];

/// The looks of the curves, from the shortest length to the longest: black is the last.
const ORDER: [usize; 5] = [6, 1, 3, 2, 0];

const FRAME: Frame = Frame {
    size: [920.0, 560.0],
    margins: [75.0, 20.0, 60.0, 65.0],
};

/// Where no curve is: below the rewards near 1, left of where RLVR melts.
const LEGEND: [f64; 2] = [85.0, 200.0];

/// The range of tau / tau_c.
const RANGE: (f64, f64) = (0.5, 1.5);

const POINTS: usize = 500;

/// The figure as SVG.
pub fn draw(length: usize) -> String {
    let mut lengths = LENGTHS.to_vec();
    if !lengths.contains(&length) {
        lengths.push(length);
        lengths.sort_unstable();
    }
    let mut plots = Vec::new();
    let mut legend = Vec::new();
    let mut entry = |label: String, colour: &str, shape: LegendShape, dash: Option<&str>| {
        legend.push(LegendEntry {
            label,
            color: colour.to_owned(),
            shape,
            dasharray: dash.map(str::to_owned),
        });
    };
    for (length, place) in lengths.into_iter().zip(ORDER) {
        let colour = LOOKS[place].colour;
        plots.extend(curves(&Parity::new(length), colour));
        entry(format!("T = {length}"), colour, LegendShape::Line, None);
    }
    entry(
        "all codes (Gibbs)".to_owned(),
        GREY,
        LegendShape::Line,
        None,
    );
    entry(
        "best factorised policy".to_owned(),
        GREY,
        LegendShape::Line,
        Some("6 4"),
    );
    let circle = LegendShape::Marker(MarkerShape::Circle);
    entry("where the bands cross".to_owned(), GREY, circle, None);
    let diamond = LegendShape::Marker(MarkerShape::Diamond);
    entry("where RLVR melts".to_owned(), GREY, diamond, None);
    let ratio = Axis::new("τ / τ_c,  τ_c = 1 / ((6T - 2) ln 2)", RANGE.into())
        .every(0.1)
        .written(TickFormat::Fixed(1));
    let reward = Axis::new("mean reward", [0.45, 1.05])
        .every(0.1)
        .written(TickFormat::Fixed(1));
    let title = "Parity: the transition of the codes, and that of RLVR";
    let panel = Panel::new(title, FRAME, ratio, reward)
        .line(marker_line(1.0))
        .line(marker_line(0.75))
        .legend(legend, LEGEND, 185.0);
    named(&svg(&panel.plots(plots).scene()), title)
}

/// Where a transition is at large T.
fn marker_line(ratio: f64) -> ReferenceLine {
    ReferenceLine::vertical(ratio)
        .with_color("#bbbbbb")
        .with_dasharray("2 3")
}

/// The mean reward of the codes, that of the best factorised policy, and both transitions.
fn curves(parity: &Parity, colour: &str) -> Vec<Plot> {
    let transition = parity.transition();
    let beta = |ratio: f64| transition.asymptotic / ratio;
    let ratio = |i: usize| RANGE.0 + (RANGE.1 - RANGE.0) * i as f64 / POINTS as f64;
    let line = |reward: &dyn Fn(f64) -> f64, style: LineStyle| {
        let points = (0..=POINTS).map(|i| (ratio(i), reward(beta(ratio(i)))));
        Plot::Line(
            LinePlot::new()
                .with_data(points.collect::<Vec<_>>())
                .with_color(colour)
                .with_stroke_width(1.6)
                .with_line_style(style),
        )
    };
    let mark = |beta: f64, reward: f64, marker: MarkerShape| {
        Plot::Scatter(
            ScatterPlot::new()
                .with_data(vec![(transition.asymptotic / beta, reward)])
                .with_color(colour)
                .with_marker(marker)
                .with_size(6.0),
        )
    };
    let melting = parity.melting();
    let mut plots = vec![
        line(&|beta| parity.at(beta).mean_reward, LineStyle::Solid),
        line(
            &|beta| parity.mean_field(beta).reward,
            LineStyle::Custom("6 4".to_owned()),
        ),
        mark(
            transition.crossing,
            parity.at(transition.crossing).mean_reward,
            MarkerShape::Circle,
        ),
    ];
    // Lengths 1 and 2 melt without a jump, far to the right.
    if transition.asymptotic / RANGE.1 < melting.beta {
        plots.push(mark(melting.beta, melting.reward, MarkerShape::Diamond));
    }
    plots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_asked_for_is_drawn_once() {
        for (length, curves) in [(8, 4), (5, 5)] {
            let svg = draw(length);
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            assert!(svg.contains("<title>Parity: the transition"), "{length}");
            assert_eq!(svg.matches("T = ").count(), curves, "{length}");
        }
    }
}
