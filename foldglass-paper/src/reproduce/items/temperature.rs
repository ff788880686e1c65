//! fig:temperature_untied (a): greedy reward against tau on seven classes.

use kuva::prelude::TickFormat;
use kuva::render::render::Scene;

use super::regulator::{self, RegulatorQuantity, RegulatorRuns, points, scan, scan_numbers};
use crate::report::figure::panel::{Axis, Frame, Panel, TITLED, grid};
use crate::report::figure::{self, GREY, LOOKS, PlotPoint};
use crate::reproduce::classes::{
    ClassId, PARITY, QG, QG03, QG11_3456, QG21_345, QG21_456, UNTIED, Z5,
};
use crate::reproduce::item::{About, Item, Number, RecordFigure};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::Need;
use crate::reproduce::records::Records;
use crate::reproduce::studies::{self, RESETS, SCAN, Scale};

/// The item.
pub static ITEM: Item = Item {
    label: "fig:temperature_untied",
    title: "greedy reward against tau on the untied classes, part (a)",
    about: Some(About {
        place: 4,
        number: "Fig. 3a",
        section: "section 5, app. G.5",
        says: "An entropy bonus far above common practice, or resets, lift RLVR towards reward 1.",
        stakes: "It decides which classes a temperature helps, and how far.",
    }),
    needs: &[
        Need::Study(studies::PLAIN),
        Need::Study(RESETS),
        Need::Study(SCAN),
    ],
    measure,
    paper: || {
        [
            regulator::scan_rewards(),
            regulator::reset_rewards(),
            regulator::caption(),
        ]
        .concat()
    },
    shows_all: true,
    figure: Some(RecordFigure {
        file: "fig-temperature-untied-a.svg",
        shows: "Greedy reward of tabular RLVR against the temperature on seven classes: the classes of several lengths rise to 1 near 3e-5 before they fall, parity stays at 1 until it melts, the others only fall",
        draw,
    }),
};

fn measure(records: &Records) -> Vec<Number> {
    let scans = UNTIED.into_iter();
    let mut list: Vec<Number> = scans
        .flat_map(|class| scan_numbers(records, class))
        .collect();
    list.retain(|number| !matches!(number.measured, Measured::Count(_)));
    for class in UNTIED {
        let resets = records.ends(RESETS, class.id, "", None);
        list.push(Number::new(
            class,
            RegulatorQuantity::Reward(RegulatorRuns::Resets),
            resets.mean(),
        ));
    }
    list
}

/// Room for the names of the classes.
const FRAME: Frame = TITLED.right(108.0);

/// Classes, each with its name in the figure.
type NamedClasses = &'static [(ClassId, &'static str)];

/// The panels: a title, the ends and the step of the axis of rewards, and the classes drawn there.
const PANELS: [(&str, [f64; 3], NamedClasses); 2] = [
    (
        "one length",
        [0.1, 1.05, 0.1],
        &[
            (PARITY, "parity T = 10"),
            (Z5, "Z_5 T = 8"),
            (QG, "quasigroup T = 8"),
            (QG03, "same, (0,3) T = 7"),
        ],
    ),
    (
        "quasigroup, several lengths",
        [0.83, 1.01, 0.02],
        &[
            (QG21_345, "(2,1) T = 3,4,5"),
            (QG11_3456, "(1,1) T = 3,4,5,6"),
            (QG21_456, "(2,1) T = 4,5,6"),
        ],
    ),
];

/// The figure as SVG: classes of one length beside those of several.
fn draw(records: &Records, scale: Scale) -> String {
    let panels = PANELS.map(|(title, axis, classes)| panel(records, scale, title, axis, classes));
    grid(&panels, 2)
}

fn panel(
    records: &Records,
    scale: Scale,
    title: &str,
    [low, high, step]: [f64; 3],
    classes: NamedClasses,
) -> Scene {
    let (mut plots, mut names) = (Vec::new(), Vec::new());
    for (&(class, short), look) in classes.iter().zip(LOOKS) {
        let points = points(&scan(records, class));
        names.extend(
            points
                .last()
                .map(|point| (short.to_owned(), point.y, look.colour)),
        );
        let named = |point: &PlotPoint| format!("{}, τ = {}", class.name, figure::tau(point.x));
        plots.extend(figure::curve_named(&points, look, named));
        plots.push(figure::paper_marks(regulator::stated_means(class), 6.0));
    }
    let smoke = if scale == Scale::Smoke {
        ", SMOKE SCALE"
    } else {
        ""
    };
    let tau = Axis::of_powers("temperature τ", [-15.5, -1.5]).every(3.0);
    let reward = Axis::new("greedy reward", [low, high])
        .every(step)
        .written(TickFormat::Fixed(2));
    Panel::new(format!("{title}{smoke}"), FRAME, tau, reward)
        .plots(plots)
        .name_ends(names)
        .label(
            "crosses: the paper’s means",
            [-15.2, low + 0.04 * (high - low)],
            GREY,
            false,
        )
        .scene()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_without_records_has_its_axes_and_the_paper_s_values() {
        let svg = draw(&Records::planned(Scale::Full), Scale::Full);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        // Eighteen numbers of tab:regulator, and two of its caption.
        assert_eq!(svg.matches("the paper: ").count(), 20);
    }

    #[test]
    fn every_untied_class_is_in_a_panel() {
        let drawn: Vec<ClassId> = (PANELS.iter().flat_map(|(.., classes)| *classes))
            .map(|(class, _)| *class)
            .collect();
        assert_eq!(drawn.len(), UNTIED.len());
        assert!(UNTIED.iter().all(|class| drawn.contains(class)));
    }
}
