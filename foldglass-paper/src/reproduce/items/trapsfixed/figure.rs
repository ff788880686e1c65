//! Draws fig:trapsfixed: one column of panels per family, above reward, Bhattacharyya coefficient and null, below the
//! entropy.

use foldglass::support::stats::{Interval, Summary};
use kuva::prelude::{LinePlot, MarkerShape, Plot, TickFormat};
use kuva::render::render::{Primitive, Scene};

use super::{
    AveragedCurve, FAMILIES, Family, TrapRun, TrapsFixedQuantity, at, of_traps, runs, temperatures,
};
use crate::report::figure::panel::{Axis, Frame, Panel, Places, TITLED, grid};
use crate::report::figure::{
    BLACK, BLUE, GREY, Look, PlotPoint, VERMILION, curve_named, paper_marks, tau,
};
use crate::reproduce::records::Records;
use crate::reproduce::row::value;
use crate::reproduce::studies::Scale;

const FRAME: Frame = TITLED;

/// The axis of rewards and coefficients.
const Y: [f64; 2] = [0.0, 1.05];

const GREEN: &str = "#009e73";

const REWARD: Look = look(BLACK, MarkerShape::Circle);
const COEFFICIENT: Look = look(BLUE, MarkerShape::Square);
const NULL: Look = look(VERMILION, MarkerShape::Triangle);
const ENTROPY: Look = look(GREEN, MarkerShape::Diamond);

const fn look(colour: &'static str, marker: MarkerShape) -> Look {
    Look { colour, marker }
}

/// A point of a curve, open where fewer than half of the traps enter it.
struct CurveMark {
    point: PlotPoint,
    open: bool,
}

/// What a panel shows: a name, its look, its points.
type Curve = (&'static str, Look, Vec<CurveMark>);

/// The figure as SVG: families side by side.
pub fn draw(records: &Records, scale: Scale) -> String {
    let above = FAMILIES
        .iter()
        .map(|family| rewards_panel(records, family, scale));
    let below = FAMILIES.iter().map(|family| entropy_panel(records, family));
    grid(&above.chain(below).collect::<Vec<Scene>>(), FAMILIES.len())
}

/// log10 of tau at both ends of the axis.
fn ends(taus: &[f64]) -> [f64; 2] {
    let logs = taus.iter().map(|tau| tau.log10());
    [
        logs.clone().fold(f64::INFINITY, f64::min) - 0.15,
        logs.fold(f64::NEG_INFINITY, f64::max) + 0.15,
    ]
}

fn rewards_panel(records: &Records, family: &'static Family, scale: Scale) -> Scene {
    let (taus, runs) = (temperatures(records, family), runs(records, family));
    let ends = ends(&taus);
    let curves: [Curve; 3] = [
        ("MC reward", REWARD, rewards(&runs, &taus)),
        (
            "Bhattacharyya coefficient",
            COEFFICIENT,
            averages(&runs, &taus, "bhattacharyya", Bars::Drawn),
        ),
        (
            "its null",
            NULL,
            averages(&runs, &taus, "bhattacharyya_null", Bars::None),
        ),
    ];
    let smoke = if scale == Scale::Smoke {
        ", SMOKE SCALE"
    } else {
        ""
    };
    let y = Axis::new("reward, coefficient", Y)
        .every(0.2)
        .written(TickFormat::Fixed(1));
    let title = format!("{}{smoke}", family.title);
    let panel = Panel::new(title, FRAME, Axis::of_powers("τ", ends), y)
        .plots([paper_marks(stated(family), 6.0)]);
    // The curves leave this corner free.
    let corner = ends[0] + 0.04 * (ends[1] - ends[0]);
    let names = [
        "● MC reward",
        "■ Bhattacharyya coefficient",
        "▲ its null",
        "× the paper's reward",
    ];
    let colours = [BLACK, BLUE, VERMILION, GREY];
    let names = names.into_iter().zip(colours).enumerate();
    let panel = names.fold(panel, |panel, (n, (name, colour))| {
        panel.label(name, [corner, 0.29 - 0.075 * n as f64], colour, false)
    });
    scene(panel, &curves)
}

/// The rewards that the paper states of a family, at log10 of tau.
fn stated(family: &Family) -> Vec<(f64, f64)> {
    let own = |entry: &crate::reproduce::stated::Entry| match entry.key.quantity {
        _ if entry.key.class != family.class => None,
        crate::reproduce::items::Quantity::TrapsFixed(TrapsFixedQuantity::At(
            AveragedCurve::Reward,
            tau,
        )) => Some((tau.log10(), value(&entry.paper)?)),
        _ => None,
    };
    super::paper().iter().filter_map(own).collect()
}

fn entropy_panel(records: &Records, family: &'static Family) -> Scene {
    let (taus, runs) = (temperatures(records, family), runs(records, family));
    let ends = ends(&taus);
    let curves: [Curve; 1] = [(
        "entropy",
        ENTROPY,
        averages(&runs, &taus, "entropy", Bars::None),
    )];
    let uniform: Vec<f64> = family.classes.iter().map(|class| class.uniform()).collect();
    let most = 1.1 * uniform.iter().copied().fold(0.0, f64::max);
    let y = Axis::new("Σ H(π), nats", [0.0, most]).written(TickFormat::Fixed(0));
    let dotted = uniform.iter().map(|&value| {
        let line = LinePlot::new()
            .with_data(vec![(ends[0], value), (ends[1], value)])
            .with_color(GREEN)
            .with_stroke_width(1.0)
            .with_dotted();
        Plot::Line(line)
    });
    let corner = ends[0] + 0.04 * (ends[1] - ends[0]);
    let panel = Panel::new("", FRAME, Axis::of_powers("τ", ends), y)
        .plots(dotted)
        .label(
            "dotted: all cells uniform",
            [corner, 0.62 * most],
            GREEN,
            false,
        )
        .label(
            "open: fewer than half of the traps",
            [corner, 0.55 * most],
            GREY,
            false,
        );
    scene(panel, &curves)
}

/// The panel with its curves.
fn scene(panel: Panel, curves: &[Curve]) -> Scene {
    let places = panel.places();
    let plots = curves.iter().flat_map(|(name, look, marks)| {
        let points: Vec<PlotPoint> = marks.iter().map(|mark| mark.point).collect();
        curve_named(&points, *look, |point| {
            format!("{name}, τ = {}", tau(point.x))
        })
    });
    let mut scene = panel.plots(plots).scene();
    let marks = curves.iter().flat_map(|(_, _, marks)| marks);
    for mark in marks.filter(|mark| mark.open) {
        open(&mut scene, &places, mark);
    }
    scene
}

/// The mean reward of all traps and replicas.
fn rewards(runs: &[TrapRun<'_>], taus: &[f64]) -> Vec<CurveMark> {
    let mark = |&tau: &f64| {
        let replicas: Vec<f64> = at(runs, tau)
            .iter()
            .flat_map(|run| run.replicas())
            .collect();
        Some(CurveMark {
            point: PlotPoint {
                x: tau.log10(),
                y: Summary::of(&replicas)?.mean,
                interval: None,
            },
            open: false,
        })
    };
    taus.iter().filter_map(mark).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Bars {
    /// Of one standard deviation.
    Drawn,
    None,
}

/// The mean of a number over the finite-temperature traps.
fn averages(runs: &[TrapRun<'_>], taus: &[f64], key: &str, bars: Bars) -> Vec<CurveMark> {
    let mark = |&tau: &f64| {
        let all = at(runs, tau);
        let values = of_traps(&all, key);
        let summary = Summary::of(&values)?;
        let sd = summary.sd.filter(|_| bars == Bars::Drawn);
        Some(CurveMark {
            point: PlotPoint {
                x: tau.log10(),
                y: summary.mean,
                interval: sd.map(|sd| Interval {
                    low: summary.mean - sd,
                    high: (summary.mean + sd).min(Y[1]),
                }),
            },
            open: 2 * values.len() < all.len(),
        })
    };
    taus.iter().filter_map(mark).collect()
}

/// Opens a marker.
fn open(scene: &mut Scene, places: &Places, mark: &CurveMark) {
    scene.add(Primitive::Circle {
        cx: places.x(mark.point.x),
        cy: places.y(mark.point.y),
        r: 2.4,
        fill: "#ffffff".into(),
        fill_opacity: None,
        stroke: None,
        stroke_width: None,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_without_records_has_its_axes_names_and_the_paper_s_rewards() {
        let svg = draw(&Records::planned(Scale::Full), Scale::Full);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg.matches("Bhattacharyya coefficient").count(), 2);
        assert_eq!(svg.matches("nats").count(), 2);
        // 0.59 at the warmest of the correlated traps, chance of the tied ones.
        for said in ["the paper: 0.59", "the paper: 0.2"] {
            assert_eq!(svg.matches(said).count(), 1, "{said}");
        }
    }
}
