//! Draws the RLVR loss above the free energy that bounds it (paper, section 3.2).

use std::sync::Arc;

use kuva::prelude::{
    Layout, LegendEntry, LegendShape, LinePlot, MarkerShape, Plot, ScatterPlot, SvgBackend,
    TickFormat, render_multiple,
};

use super::PointFields;

const SIZE: u32 = 13;
const CODES: &str = "#0072b2";
const RLVR: &str = "#d55e00";
const SEEDED: &str = "#cc79a7";
const VARIATIONAL: &str = "#009e73";

/// A curve of the figure: points (log10 tau, value, error).
struct Curve {
    label: &'static str,
    colour: &'static str,
    marker: MarkerShape,
    points: Vec<(f64, f64, f64)>,
}

/// The figure as SVG.
pub fn draw(points: &[PointFields]) -> String {
    let curves = curves(points);
    let values = || curves.iter().flat_map(|curve| &curve.points);
    let range = |of: fn(&(f64, f64, f64)) -> (f64, f64)| {
        let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |range, point| {
            let (low, high) = of(point);
            (range.0.min(low), range.1.max(high))
        });
        let margin = 0.06 * (high - low).max(0.1);
        (low - margin, high + margin)
    };
    let x = range(|&(x, ..)| (x, x));
    let y = range(|&(_, y, error)| (y - error, y + error));
    let legend = |curve: &Curve| LegendEntry {
        label: curve.label.to_owned(),
        color: curve.colour.to_owned(),
        shape: LegendShape::Marker(curve.marker),
        dasharray: None,
    };
    let layout = Layout::new(x, y)
        .with_width(1000.0)
        .with_height(520.0)
        .with_force_margins(80.0, 270.0)
        .with_force_margins_y(60.0, 65.0)
        .with_title("The RLVR loss and the free energy that bounds it")
        .with_title_size(17)
        .with_x_label("τ")
        .with_y_label("L, F")
        .with_x_axis_min(x.0)
        .with_x_axis_max(x.1)
        .with_y_axis_min(y.0)
        .with_y_axis_max(y.1)
        .with_x_tick_format(TickFormat::Custom(Arc::new(tau_text)))
        .with_tick_size(SIZE)
        .with_body_size(SIZE)
        .with_label_size(15)
        .with_legend_entries(curves.iter().map(legend).collect())
        .with_legend_at(745.0, 60.0)
        .with_legend_width(245.0);
    let plots = curves.iter().flat_map(plots).collect();
    SvgBackend.render_scene(&render_multiple(plots, layout))
}

fn curves(points: &[PointFields]) -> Vec<Curve> {
    let list = |of: &dyn Fn(&PointFields) -> Option<(f64, f64)>| -> Vec<(f64, f64, f64)> {
        let mut list: Vec<_> = points
            .iter()
            .filter_map(|point| of(point).map(|(y, error)| (point.tau.log10(), y, error)))
            .collect();
        list.sort_by(|a, b| a.0.total_cmp(&b.0));
        list
    };
    let mut curves = vec![
        Curve {
            label: "L, the lowest of CAVI",
            colour: RLVR,
            marker: MarkerShape::Square,
            points: list(&|point| Some((point.rlvr_loss, 0.0))),
        },
        Curve {
            label: "F = -τ ln Z",
            colour: CODES,
            marker: MarkerShape::Circle,
            points: list(&|point| point.free_energy.zip(point.free_energy_error)),
        },
    ];
    curves.push(Curve {
        label: "L, CAVI from the fold",
        colour: SEEDED,
        marker: MarkerShape::Triangle,
        points: list(&|point| Some((point.seeded_loss, 0.0))),
    });
    if points.iter().any(|point| point.reward_difference != 0.0) {
        curves.push(Curve {
            label: "L with J-tilde for J",
            colour: VARIATIONAL,
            marker: MarkerShape::Diamond,
            points: list(&|point| {
                let error = point.annealed_reward_error.unwrap_or(0.0);
                Some((point.variational_loss, 1.96 * error))
            }),
        });
    }
    curves
}

/// A line, and markers with bars.
fn plots(curve: &Curve) -> Vec<Plot> {
    let means: Vec<(f64, f64)> = curve.points.iter().map(|&(x, y, _)| (x, y)).collect();
    let bars: Vec<(f64, f64)> = curve.points.iter().map(|&(.., e)| (e, e)).collect();
    let line = LinePlot::new()
        .with_data(means.clone())
        .with_color(curve.colour)
        .with_stroke_width(1.5);
    let marks = ScatterPlot::new()
        .with_data(means)
        .with_y_err_asymmetric(bars)
        .with_color(curve.colour)
        .with_marker(curve.marker)
        .with_size(5.0);
    vec![Plot::Line(line), Plot::Scatter(marks)]
}

/// A temperature, from its logarithm.
fn tau_text(exponent: f64) -> String {
    let rounded: f64 = format!("{:.1e}", 10f64.powf(exponent))
        .parse()
        .unwrap_or(0.0);
    crate::output::number(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_temperatures() {
        assert_eq!(tau_text(-2.0), "0.01");
        assert_eq!(tau_text(-1.5), "0.032");
    }
}
