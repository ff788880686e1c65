//! Draws the RLVR loss above the free energy that bounds it (paper, section 3.2).

use std::sync::Arc;

use foldglass::support::stats::Interval;
use kuva::prelude::TickFormat;

use super::PointFields;
use crate::report::figure::panel::{Axis, Frame, Panel, svg};
use crate::report::figure::{LOOKS, Look, PlotPoint, WIDTH, curve_named, legend, named, tau};

const FRAME: Frame = Frame {
    size: [WIDTH, 520.0],
    margins: [80.0, 270.0, 60.0, 65.0],
};

/// A curve of the figure, along log10 tau.
struct Curve {
    label: &'static str,
    look: Look,
    points: Vec<PlotPoint>,
}

/// The figure as SVG.
pub fn draw(points: &[PointFields]) -> String {
    let curves = curves(points);
    let range = |of: fn(&PlotPoint) -> [f64; 2]| {
        let all = curves.iter().flat_map(|curve| &curve.points).map(of);
        let [low, high] = all.fold([f64::INFINITY, f64::NEG_INFINITY], |range, ends| {
            [range[0].min(ends[0]), range[1].max(ends[1])]
        });
        let margin = 0.06 * (high - low).max(0.1);
        [low - margin, high + margin]
    };
    let x = Axis::new("τ", range(|point| [point.x, point.x]))
        .written(TickFormat::Custom(Arc::new(tau)));
    let y = Axis::new(
        "L, F",
        range(|point| match point.interval {
            Some(Interval { low, high }) => [low, high],
            None => [point.y, point.y],
        }),
    );
    let entries = curves.iter().map(|curve| legend(curve.label, curve.look));
    let title = "The RLVR loss and the free energy that bounds it";
    let panel = Panel::new(title, FRAME, x, y).legend(
        entries.collect(),
        [WIDTH - 255.0, FRAME.margins[2]],
        245.0,
    );
    let plots = curves.iter().flat_map(|curve| {
        curve_named(&curve.points, curve.look, |point| {
            format!("{}, τ = {}", curve.label, tau(point.x))
        })
    });
    named(&svg(&panel.plots(plots).scene()), title)
}

fn curves(points: &[PointFields]) -> Vec<Curve> {
    let list = |of: &dyn Fn(&PointFields) -> Option<(f64, f64)>| -> Vec<PlotPoint> {
        let point = |point: &PointFields| {
            let (y, error) = of(point)?;
            Some(PlotPoint {
                x: point.tau.log10(),
                y,
                interval: (error > 0.0).then_some(Interval {
                    low: y - error,
                    high: y + error,
                }),
            })
        };
        let mut list: Vec<PlotPoint> = points.iter().filter_map(point).collect();
        list.sort_by(|a, b| a.x.total_cmp(&b.x));
        list
    };
    let mut curves = vec![
        Curve {
            label: "L, the lowest of CAVI",
            look: LOOKS[2],
            points: list(&|point| Some((point.rlvr_loss, 0.0))),
        },
        Curve {
            label: "F = -τ ln Z",
            look: LOOKS[1],
            points: list(&|point| point.free_energy.zip(point.free_energy_error)),
        },
    ];
    curves.push(Curve {
        label: "L, CAVI from the fold",
        look: LOOKS[4],
        points: list(&|point| Some((point.seeded_loss, 0.0))),
    });
    if points.iter().any(|point| point.reward_difference != 0.0) {
        curves.push(Curve {
            label: "L with J-tilde for J",
            look: LOOKS[3],
            points: list(&|point| {
                let error = point.annealed_reward_error.unwrap_or(0.0);
                Some((point.variational_loss, 1.96 * error))
            }),
        });
    }
    curves
}
