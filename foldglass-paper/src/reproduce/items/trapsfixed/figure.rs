//! Draws fig:trapsfixed: reward, Bhattacharyya coefficient and null on the left axis, entropy on the
//! right, one panel per family.

use foldglass::support::stats::{Interval, Summary};
use kuva::prelude::{MarkerShape, TickFormat};
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::{FAMILIES, Family, Run, at, of_traps, runs, temperatures};
use crate::report::figure::panel::{Axis, Frame, Panel, Places, grid};
use crate::report::figure::{
    BLACK, BLUE, Look, PLAIN, PlotPoint, VERMILION, WIDTH, curve_named, legend, line, round_step,
    tau, text,
};
use crate::reproduce::records::Records;
use crate::reproduce::studies::Scale;

const FRAME: Frame = Frame {
    size: [WIDTH, 430.0],
    margins: [75.0, 330.0, 50.0, 60.0],
};

/// The left axis.
const LOW: f64 = 0.0;
const HIGH: f64 = 1.05;

const GREEN: &str = "#009e73";

const REWARD: Look = look(BLACK, MarkerShape::Circle);
const COEFFICIENT: Look = look(BLUE, MarkerShape::Square);
const NULL: Look = look(VERMILION, MarkerShape::Triangle);
const ENTROPY: Look = look(GREEN, MarkerShape::Diamond);

const fn look(colour: &'static str, marker: MarkerShape) -> Look {
    Look { colour, marker }
}

/// A point of a curve, open where fewer than half of the traps enter it.
struct Mark {
    point: PlotPoint,
    open: bool,
}

/// Where numbers stand in a panel.
struct Axes {
    /// log10 of tau at both ends.
    ends: [f64; 2],
    /// The entropy that stands at 1 of the left axis.
    entropy: f64,
    places: Places,
}

/// The figure as SVG: a panel below the other.
pub fn draw(records: &Records, scale: Scale) -> String {
    let scenes = FAMILIES.iter().map(|family| scene(records, family, scale));
    grid(&scenes.collect::<Vec<Scene>>(), 1)
}

fn scene(records: &Records, family: &'static Family, scale: Scale) -> Scene {
    let (taus, runs) = (temperatures(records, family), runs(records, family));
    let uniform = family.classes.iter().map(|class| class.uniform());
    let logs = taus.iter().map(|tau| tau.log10());
    let ends = [
        logs.clone().fold(f64::INFINITY, f64::min) - 0.15,
        logs.fold(f64::NEG_INFINITY, f64::max) + 0.15,
    ];
    let axes = Axes {
        ends,
        places: Places::new(FRAME, ends, [LOW, HIGH]),
        entropy: uniform.clone().fold(0.0, f64::max),
    };
    let names = [
        "MC reward",
        "Bhattacharyya coefficient",
        "its null",
        "entropy over that of uniform cells",
    ];
    let curves = [
        (REWARD, rewards(&runs, &taus)),
        (
            COEFFICIENT,
            averages(&runs, &taus, "bhattacharyya", 1.0, Bars::Drawn),
        ),
        (
            NULL,
            averages(&runs, &taus, "bhattacharyya_null", 1.0, Bars::None),
        ),
        (
            ENTROPY,
            averages(&runs, &taus, "entropy", axes.entropy, Bars::None),
        ),
    ];
    let plots = curves.iter().zip(names).flat_map(|((look, marks), name)| {
        let points: Vec<PlotPoint> = marks.iter().map(|mark| mark.point).collect();
        curve_named(&points, *look, |point| {
            format!("{name}, τ = {}", tau(point.x))
        })
    });
    let mut scene = panel(family, &axes, scale).plots(plots).scene();
    for (_, marks) in &curves {
        marks
            .iter()
            .filter(|mark| mark.open)
            .for_each(|mark| open(&mut scene, &axes, mark));
    }
    for value in uniform {
        let y = axes.places.y(value / axes.entropy);
        scene.add(Primitive::Line {
            x1: axes.places.x(axes.ends[0]),
            y1: y,
            x2: axes.places.x(axes.ends[1]),
            y2: y,
            stroke: GREEN.into(),
            stroke_width: 1.0,
            stroke_dasharray: Some("2 4".to_owned()),
        });
    }
    right_axis(&mut scene, &axes);
    said(&mut scene);
    scene
}

fn panel(family: &Family, axes: &Axes, scale: Scale) -> Panel {
    let smoke = if scale == Scale::Quick {
        ", SMOKE SCALE"
    } else {
        ""
    };
    let y = Axis::new("reward, coefficient", [LOW, HIGH])
        .every(0.2)
        .written(TickFormat::Fixed(1));
    let entries = vec![
        legend("MC reward", REWARD),
        legend("Bhattacharyya coefficient", COEFFICIENT),
        legend("its null", NULL),
        legend("entropy (right axis)", ENTROPY),
    ];
    let title = format!("{}{smoke}", family.title);
    let place = [WIDTH - 235.0, FRAME.margins[2]];
    Panel::new(title, FRAME, Axis::of_powers("τ", axes.ends), y).legend(entries, place, 220.0)
}

/// The mean reward of all traps and replicas.
fn rewards(runs: &[Run<'_>], taus: &[f64]) -> Vec<Mark> {
    let mark = |&tau: &f64| {
        let replicas: Vec<f64> = at(runs, tau)
            .iter()
            .flat_map(|run| run.replicas())
            .collect();
        Some(Mark {
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

/// The mean of a number over the finite-temperature traps, in units.
fn averages(runs: &[Run<'_>], taus: &[f64], key: &str, unit: f64, bars: Bars) -> Vec<Mark> {
    let mark = |&tau: &f64| {
        let all = at(runs, tau);
        let values: Vec<f64> = of_traps(&all, key)
            .iter()
            .map(|value| value / unit)
            .collect();
        let summary = Summary::of(&values)?;
        let sd = summary.sd.filter(|_| bars == Bars::Drawn);
        Some(Mark {
            point: PlotPoint {
                x: tau.log10(),
                y: summary.mean,
                interval: sd.map(|sd| Interval {
                    low: summary.mean - sd,
                    high: (summary.mean + sd).min(HIGH),
                }),
            },
            open: 2 * values.len() < all.len(),
        })
    };
    taus.iter().filter_map(mark).collect()
}

/// Opens a marker.
fn open(scene: &mut Scene, axes: &Axes, mark: &Mark) {
    scene.add(Primitive::Circle {
        cx: axes.places.x(mark.point.x),
        cy: axes.places.y(mark.point.y),
        r: 2.4,
        fill: "#ffffff".into(),
        fill_opacity: None,
        stroke: None,
        stroke_width: None,
    });
}

/// The entropy in nats, five ticks up to that of uniform cells.
fn right_axis(scene: &mut Scene, axes: &Axes) {
    let right = axes.places.x(axes.ends[1]);
    line(
        scene,
        [right, axes.places.y(LOW)],
        [right, axes.places.y(HIGH)],
        GREEN,
        1.0,
    );
    let step = round_step(axes.entropy / 4.0);
    let mut value = 0.0;
    while value <= axes.entropy * HIGH {
        let y = axes.places.y(value / axes.entropy);
        line(scene, [right, y], [right + 5.0, y], GREEN, 1.0);
        let place = [right + 8.0, y + 4.0];
        text(scene, place, TextAnchor::Start, PLAIN, format!("{value}"));
        value += step;
    }
    let place = [right + 8.0, axes.places.y(HIGH) - 12.0];
    text(scene, place, TextAnchor::Start, PLAIN, "Σ H(π), nats");
}

/// What the marks mean, below the legend.
fn said(scene: &mut Scene) {
    let lines = [
        "bars: one standard deviation",
        "over the traps",
        "dotted: all cells uniform",
        "open: fewer than half of the",
        "traps enter; missing: none",
    ];
    for (number, said) in lines.into_iter().enumerate() {
        let place = [
            WIDTH - 225.0,
            FRAME.margins[2] + 140.0 + 18.0 * number as f64,
        ];
        text(scene, place, TextAnchor::Start, PLAIN, said);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_without_records_has_its_axes_and_legends() {
        let svg = draw(&Records::planned(Scale::Full), Scale::Full);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg.matches("Bhattacharyya coefficient").count(), 2);
    }
}
