//! fig:temperature_untied (a): greedy reward against tau, seven classes, and beside it the table of
//! resets.

use foldglass::support::stats::{Proportion, Summary};
use kuva::prelude::TickFormat;
use kuva::render::render::{Scene, TextAnchor};

use super::regulator::{self, RegulatorQuantity, RegulatorRuns, points, scan, scan_numbers};
use crate::report::figure::panel::{Axis, Frame, Panel, svg};
use crate::report::figure::{
    self, BLACK, BOLD, LOOKS, PLAIN, PlotPoint, WIDTH, legend, power_of_ten, text,
};
use crate::report::{Cell, INTERVAL_LEVEL};
use crate::reproduce::classes::{ClassId, UNTIED};
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

const FRAME: Frame = Frame {
    size: [WIDTH, 570.0],
    margins: [75.0, 395.0, 60.0, 65.0],
};

/// What is added below for the caption.
const BELOW: f64 = 30.0;

/// Where what stands beside the axes begins.
const BESIDE: f64 = WIDTH - 375.0;

/// The figure as SVG.
fn draw(records: &Records, scale: Scale) -> String {
    let curves = UNTIED.into_iter().zip(LOOKS);
    let mut plots = Vec::new();
    for (class, look) in curves.clone() {
        let named = |point: &PlotPoint| format!("{}, τ = {}", class.name, figure::tau(point.x));
        plots.extend(figure::curve_named(
            &points(&scan(records, class)),
            look,
            named,
        ));
        plots.push(figure::paper_marks(regulator::stated_means(class), 6.0));
    }
    let smoke = if scale == Scale::Smoke {
        ", SMOKE SCALE"
    } else {
        ""
    };
    let title = format!("(a) Tabular RLVR on the untied classes{smoke}");
    let reward = Axis::new("greedy reward", [0.1, 1.05])
        .every(0.1)
        .written(TickFormat::Fixed(1));
    let entries = curves
        .map(|(class, look)| legend(class.name, look))
        .chain([legend("the paper’s means", figure::PAPER)]);
    let [left, _, top, _] = FRAME.margins;
    let mut scene = Panel::new(title, FRAME, Axis::of_powers("τ", [-15.5, -1.5]), reward)
        .plots(plots)
        .legend(entries.collect(), [BESIDE, top], WIDTH - BESIDE - 15.0)
        .scene();
    scene.height += BELOW;
    table(&mut scene, records);
    let said = format!(
        "Points are means over independent runs, bars their {} % intervals.",
        100.0 * INTERVAL_LEVEL
    );
    let place = [left, scene.height - 12.0];
    text(&mut scene, place, TextAnchor::Start, PLAIN, said);
    svg(&scene)
}

/// The height of a row of the table.
const ROW: f64 = 21.0;

/// The table of resets, below the legend.
fn table(scene: &mut Scene, records: &Records) {
    let top = FRAME.margins[2] + 235.0;
    let ends = [BESIDE, BESIDE + 240.0, BESIDE + 308.0, BESIDE + 360.0];
    let mut line = |number: usize, style, entries: [String; 4]| {
        let y = top + ROW * number as f64;
        for (column, entry) in entries.into_iter().enumerate() {
            let anchor = if column == 0 {
                TextAnchor::Start
            } else {
                TextAnchor::End
            };
            text(scene, [ends[column], y], anchor, style, entry);
        }
    };
    line(
        0,
        BOLD,
        ["with resets", "reward", "at 1", "τ"].map(str::to_owned),
    );
    for (number, class) in UNTIED.into_iter().enumerate() {
        line(number + 1, PLAIN, resets_row(records, class));
    }
    let rule = top + 6.0;
    figure::line(scene, [ends[0], rule], [ends[3], rule], BLACK, 1.0);
    let said = [
        "2 % of the cells redrawn every 10 iterations,",
        "100 times, then undisturbed",
    ];
    for (number, said) in said.into_iter().enumerate() {
        let y = top + ROW * 8.0 + 4.0 + 17.0 * number as f64;
        text(scene, [ends[0], y], TextAnchor::Start, PLAIN, said);
    }
}

/// The class, its mean with resets, the runs at 1 and the temperatures.
fn resets_row(records: &Records, class: ClassId) -> [String; 4] {
    let sample = records.ends(RESETS, class.id, "", None);
    let mean = Summary::of(&sample.rewards).map_or("-".to_owned(), |s| format!("{:.4}", s.mean));
    let at_one = Cell::CountOf(Proportion {
        successes: sample.ones,
        trials: sample.rewards.len() as u64,
    });
    let taus = records.temperatures(RESETS, class.id);
    let taus: Vec<String> = taus.into_iter().map(tau_text).collect();
    [class.name.to_owned(), mean, at_one.text(), taus.join(", ")]
}

fn tau_text(tau: f64) -> String {
    if tau == 0.0 {
        "0".to_owned()
    } else {
        power_of_ten(tau.log10())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_power_of_ten() {
        assert_eq!(
            (tau_text(1e-10), tau_text(0.0)),
            ("10⁻¹⁰".to_owned(), "0".to_owned())
        );
    }

    #[test]
    fn a_figure_without_records_has_its_axes_and_legend() {
        let svg = draw(&Records::planned(Scale::Full), Scale::Full);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for class in UNTIED {
            assert!(svg.matches(class.name).count() >= 2, "{class}");
        }
        // Eighteen numbers of tab:regulator, and two of its caption.
        assert_eq!(svg.matches("the paper: ").count(), 20);
    }
}
