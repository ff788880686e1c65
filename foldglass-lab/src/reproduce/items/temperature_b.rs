//! fig:temperature_untied (b): a transformer's greedy accuracy against the entropy coefficient.

use std::sync::Arc;

use foldglass::stats::Summary;
use kuva::prelude::{
    Layout, LegendEntry, LinePlot, MarkerShape, Plot, ScatterPlot, SvgBackend, TickFormat,
    render_multiple,
};
use kuva::render::render::TextAnchor;

use crate::report::figure::{GREY, LOOKS, Look, PLAIN, WIDTH, legend, styled, text};
use crate::reproduce::data::Data;
use crate::reproduce::fleets::{TRAINED, Trained};
use crate::reproduce::item::{Figure, Item, Quantity};
use crate::reproduce::measured::Measured;
use crate::reproduce::stated::{Entry, Stated, count, entry, greatest, mean, spread};
use crate::reproduce::studies::Scale;

/// The item.
pub static ITEM: Item = Item {
    label: "fig:temperature_untied_b",
    title: "transformers against the entropy coefficient, part (b) (committed records of an H200)",
    studies: &[],
    censuses: &[],
    certificates: false,
    work: None,
    fleets: &[TRAINED],
    measure,
    paper: || PAPER.to_vec(),
    shows_all: true,
    figure: Some(Figure {
        file: "fig-temperature-untied-b.svg",
        draw,
    }),
};

/// The length at which accuracy is read.
const LENGTH: usize = 8;

/// A seed succeeds above this.
const SUCCESS: f64 = 0.95;

/// The tasks: their names, and those in the records.
const TASKS: [(&str, &str); 3] = [(Z5, "z:5"), (QUASIGROUP, "quasigroup"), (PARITY, "parity")];
const Z5: &str = "Z_5, transformer";
const QUASIGROUP: &str = "quasigroup, transformer";
const PARITY: &str = "parity, transformer";

/// The coefficients: those of the records, and what is measured at each.
const COEFFICIENTS: [Coefficient; 6] = [
    coefficient(0.0, ["accuracy at c = 0", "seeds above 0.95 at c = 0"]),
    coefficient(
        0.01,
        ["accuracy at c = 0.01", "seeds above 0.95 at c = 0.01"],
    ),
    coefficient(
        0.03,
        ["accuracy at c = 0.03", "seeds above 0.95 at c = 0.03"],
    ),
    coefficient(0.1, ["accuracy at c = 0.1", "seeds above 0.95 at c = 0.1"]),
    coefficient(0.3, [ACCURACY_03, ABOVE_03]),
    coefficient(1.0, [ACCURACY_1, ABOVE_1]),
];
const ACCURACY_03: &str = "accuracy at c = 0.3";
const ABOVE_03: &str = "seeds above 0.95 at c = 0.3";
const ACCURACY_1: &str = "accuracy at c = 1";
const ABOVE_1: &str = "seeds above 0.95 at c = 1";
const HOLD_LITTLE: &str = "seeds that hold more than T = 2, c up to 0.1";
const LONGEST: &str = "longest T held at c = 0.3";
const HOLD_20: &str = "seeds that hold T = 20 at c = 0.3";
const ENTROPY: &str = "entropy over ln 5 at c = 0.3";

struct Coefficient {
    c: f64,
    accuracy: &'static str,
    above: &'static str,
}

const fn coefficient(c: f64, [accuracy, above]: [&'static str; 2]) -> Coefficient {
    Coefficient { c, accuracy, above }
}

/// The transformers of a task, at one coefficient or at several.
fn of<'a>(
    data: &'a Data,
    task: &'a str,
    is: impl Fn(f64) -> bool + 'a,
) -> impl Iterator<Item = &'a Trained> {
    let own = move |model: &&Trained| model.task == task && is(model.c);
    data.fleets.trained.iter().filter(own)
}

fn accuracies(data: &Data, task: &str, c: f64) -> Vec<f64> {
    let own = of(data, task, |other| other == c);
    own.filter_map(|model| model.accuracy(LENGTH)).collect()
}

fn measure(data: &Data) -> Vec<Quantity> {
    let mut list = Vec::new();
    for (name, task) in TASKS {
        for Coefficient { c, accuracy, above } in COEFFICIENTS {
            let values = accuracies(data, task, c);
            let successes = Measured::share(values.iter(), |value| *value > SUCCESS);
            list.push(Quantity::new(name, accuracy, Measured::Mean(values)));
            list.push(Quantity::new(name, above, successes));
        }
        let cold = of(data, task, |c| c <= 0.1);
        let little = Measured::share(cold, |model| model.holds() > 2);
        list.push(Quantity::new(name, HOLD_LITTLE, little));
        let warm = || of(data, task, |c| c == 0.3);
        let longest = warm().map(|model| model.holds() as f64).collect();
        list.push(Quantity::new(name, LONGEST, Measured::Greatest(longest)));
        let hold = Measured::share(warm(), |model| model.holds() >= 20);
        list.push(Quantity::new(name, HOLD_20, hold));
        if name != PARITY {
            let entropies = warm().map(|model| model.entropy / 5f64.ln()).collect();
            list.push(Quantity::new(name, ENTROPY, Measured::Mean(entropies)));
        }
    }
    list
}

const SEEDS: &str = "the paper has five or six seeds there; five are assumed";
const GRID: &str =
    "the paper has eight seeds at 0; five at each of our other coefficients are assumed";
const CHANCE: &str = "the paper: at chance";
const READING: &str = "the reading prefix-fixed, the best of those tried; the paper does not say how inputs are laid out";
const NO_READING: &str = "no reading tried ends so; with steps that see x_1..x_t alone it is learned and lost again (errata 17)";
const WHICH_TASK: &str = "the paper does not say of which task";

#[rustfmt::skip]
const PAPER: &[Entry] = &[
    entry(Z5, "seeds above 0.95 at c = 0", count(0, 8)).note(CHANCE),
    entry(Z5, "seeds above 0.95 at c = 0.1", count(0, 5)).note(SEEDS),
    entry(Z5, ACCURACY_03, spread("0.871", 0.266, 8)).reason(READING),
    entry(Z5, ABOVE_03, count(5, 8)).reason(READING),
    entry(Z5, ACCURACY_1, mean("0.992", 5)),
    entry(Z5, ABOVE_1, count(5, 5)),
    entry(Z5, HOLD_LITTLE, count(0, 23)).note(GRID).reason(READING),
    entry(Z5, LONGEST, greatest(18.0, 8)),
    entry(Z5, ENTROPY, mean("0.42", 8)).note(WHICH_TASK),
    entry(QUASIGROUP, "seeds above 0.95 at c = 0", count(0, 8)).note(CHANCE),
    entry(QUASIGROUP, "seeds above 0.95 at c = 0.1", count(0, 5)).note(SEEDS),
    entry(QUASIGROUP, ACCURACY_03, spread("0.770", 0.282, 8)).reason(NO_READING),
    entry(QUASIGROUP, ABOVE_03, count(3, 8)).reason(NO_READING),
    entry(QUASIGROUP, HOLD_20, count(3, 8)).reason(NO_READING),
    entry(QUASIGROUP, ACCURACY_1, mean("0.216", 5)).note(SEEDS),
    entry(QUASIGROUP, ABOVE_1, count(0, 5)).note(SEEDS),
    entry(QUASIGROUP, HOLD_LITTLE, count(0, 23)).note(GRID),
    entry(PARITY, "seeds above 0.95 at c = 0", count(0, 8)).note(CHANCE),
    entry(PARITY, "seeds above 0.95 at c = 0.1", count(0, 5)).note(SEEDS),
    entry(PARITY, ABOVE_03, count(0, 8)).note(CHANCE),
    entry(PARITY, ABOVE_1, count(2, 5)).reason(READING),
    entry(PARITY, HOLD_LITTLE, count(0, 23)).note(GRID),
];

/// The height of the axes with their margins.
const HEIGHT: f64 = 520.0;

/// What is added below for the caption.
const BELOW: f64 = 50.0;

/// Left, right, top and bottom of the axes.
const MARGINS: [f64; 4] = [75.0, 255.0, 60.0, 65.0];

/// Half of the width of a bar, and the distance of two tasks, where coefficients are 1 apart.
const BAR: f64 = 0.1;
const APART: f64 = 0.26;

/// The ends of the axes.
const X: [f64; 2] = [-0.5, 5.5];
const Y: [f64; 2] = [0.0, 1.05];

/// How the paper's means are drawn.
const PAPER_S: Look = Look {
    colour: GREY,
    marker: MarkerShape::Cross,
};

/// The figure as SVG: a point a seed, a bar at the mean over seeds, and the paper's means.
fn draw(data: &Data, _: Scale) -> String {
    let mut plots = Vec::new();
    for ((_, task), (number, look)) in TASKS.into_iter().zip(LOOKS.into_iter().enumerate()) {
        for (place, Coefficient { c, .. }) in COEFFICIENTS.into_iter().enumerate() {
            let x = at(place, number);
            let place = format!("{}, coefficient {c}", shown(task));
            plots.extend(seeds(x, &accuracies(data, task, c), look, &place));
        }
    }
    let stated = PAPER.iter().filter_map(stated_mean).collect::<Vec<_>>();
    let says = stated
        .iter()
        .map(|(_, mean)| format!("the paper's mean: {mean}"));
    let says = says.collect::<Vec<_>>();
    let marks = ScatterPlot::new()
        .with_data(stated)
        .with_tooltip_labels(says)
        .with_color(PAPER_S.colour);
    let marks = marks.with_marker(PAPER_S.marker).with_size(7.0);
    plots.push(Plot::Scatter(marks));
    let [left, right, top, bottom] = MARGINS;
    let tick = |place: f64| {
        let found = COEFFICIENTS.get(place.round() as usize);
        let whole = place.fract() == 0.0 && place >= 0.0;
        let shown = found.filter(|_| whole);
        shown.map_or(String::new(), |coefficient| coefficient.c.to_string())
    };
    let mut entries: Vec<LegendEntry> = (TASKS.into_iter().zip(LOOKS))
        .map(|((_, task), look)| legend(shown(task), look))
        .collect();
    entries.push(legend("the paper's mean", PAPER_S));
    let layout = styled(Layout::new((X[0], X[1]), (Y[0], Y[1])))
        .with_height(HEIGHT)
        .with_force_margins(left, right)
        .with_force_margins_y(top, bottom)
        .with_title("(b) One-block transformer, gated curriculum, REINFORCE")
        .with_x_label("entropy coefficient")
        .with_y_label("greedy accuracy at length 8")
        .with_x_axis_min(X[0])
        .with_x_axis_max(X[1])
        .with_x_tick_step(1.0)
        .with_x_tick_format(TickFormat::Custom(Arc::new(tick)))
        .with_y_axis_min(Y[0])
        .with_y_axis_max(Y[1])
        .with_y_tick_step(0.1)
        .with_y_tick_format(TickFormat::Fixed(1))
        .with_legend_entries(entries)
        .with_legend_at(WIDTH - 235.0, top)
        .with_legend_width(220.0);
    let mut scene = render_multiple(plots, layout);
    scene.height += BELOW;
    let said = [
        "A point a seed, at the last step; a bar the mean over seeds; a cross the paper's mean, where it states one.",
        "From the records in fleets/: those committed are of a run on an H200, 40,000 steps, reading prefix-fixed.",
    ];
    for (number, said) in said.into_iter().enumerate() {
        let place = [left, HEIGHT + 14.0 + 18.0 * number as f64];
        text(&mut scene, place, TextAnchor::Start, PLAIN, said);
    }
    SvgBackend.render_scene(&scene)
}

/// The task as the legend names it.
fn shown(task: &str) -> &str {
    if task == "z:5" { "Z_5" } else { task }
}

/// Where a task stands at a coefficient.
fn at(coefficient: usize, task: usize) -> f64 {
    coefficient as f64 + APART * (task as f64 - 1.0)
}

/// Where a stated mean accuracy stands.
fn stated_mean(stated: &Entry) -> Option<(f64, f64)> {
    let Stated::Mean { text, .. } = stated.paper else {
        return None;
    };
    let task = TASKS.iter().position(|(name, _)| *name == stated.class)?;
    let named = |c: &Coefficient| c.accuracy == stated.quantity;
    let coefficient = COEFFICIENTS.iter().position(named)?;
    Some((at(coefficient, task), text.parse().ok()?))
}

/// A point a seed, side by side in their order, and a bar at their mean.
fn seeds(x: f64, values: &[f64], look: Look, place: &str) -> Vec<Plot> {
    let Some(summary) = Summary::of(values) else {
        return Vec::new();
    };
    let step = 1.6 * BAR / values.len() as f64;
    let first = x - 0.8 * BAR + step / 2.0;
    let points = (values.iter().enumerate())
        .map(|(seed, &value)| (first + step * seed as f64, value))
        .collect::<Vec<_>>();
    let mean = summary.mean;
    let says = (values.iter().enumerate())
        .map(|(seed, value)| format!("{place}, seed {seed}: {value} (mean {mean:.3})"))
        .collect::<Vec<_>>();
    let marks = ScatterPlot::new()
        .with_data(points)
        .with_color(look.colour)
        .with_marker(look.marker)
        .with_size(3.0)
        .with_tooltip_labels(says);
    let bar = LinePlot::new()
        .with_data(vec![(x - BAR, summary.mean), (x + BAR, summary.mean)])
        .with_color(look.colour)
        .with_stroke_width(3.0);
    vec![Plot::Scatter(marks), Plot::Line(bar)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::judge::Verdict;
    use crate::reproduce::row::rows;

    #[test]
    fn the_committed_transformers_are_compared_task_by_task() {
        let rows = rows(&ITEM, &Data::committed());
        assert_eq!(rows.len(), 3 * (2 * 6 + 3) + 2);
        let verdict = |task: &str, quantity: &str| {
            let mut own = rows.iter().filter(|row| row.row == task);
            own.find(|row| row.quantity == quantity).unwrap().verdict
        };
        assert_eq!(verdict(Z5, ABOVE_1), Verdict::Agrees);
        assert_eq!(verdict(QUASIGROUP, ACCURACY_03), Verdict::Differs);
        let untold = verdict(Z5, "seeds above 0.95 at c = 0.01");
        assert_eq!(untold, Verdict::NotStated);
        for row in &rows {
            let seeds = if row.quantity == HOLD_LITTLE { 32 } else { 8 };
            assert_eq!(row.n, seeds, "{}, {}", row.row, row.quantity);
        }
    }

    #[test]
    fn the_figure_has_a_point_a_seed_and_a_bar_a_coefficient() {
        let svg = draw(&Data::committed(), Scale::Full);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for said in ["Z_5", "quasigroup", "parity", "0.03", "H200"] {
            assert!(svg.contains(said), "{said}");
        }
        let empty = draw(&Data::planned(&[], Scale::Full), Scale::Full);
        let marks = |look: Look| {
            let marks = |svg: &str| svg.matches(look.colour).count();
            marks(&svg) - marks(&empty)
        };
        // Eight seeds and a bar at six coefficients.
        for look in &LOOKS[1..3] {
            assert!(marks(*look) >= 6 * 9, "{look:?}: {}", marks(*look));
        }
    }
}
