//! States G.4: distilled networks and the lines between them (tab:containment, tab:escape).

use super::claim;
use crate::claims::decide::{holds, parts, such};
use crate::claims::{Claim, Decided, Facts};
use crate::reproduce::Row;

const SECTION: &str = "App. G.4";

/// The updates until the networks of a class agree with their codes: the median, or the most.
fn updates(facts: &Facts, class: &str) -> Option<f64> {
    let own = |row: &&Row| row.row == class && row.quantity.starts_with("updates to 0.999");
    facts.item("tab:containment")?.iter().find(own)?.ours
}

/// Whether the median number of updates grows with the width of the window.
pub fn wider_takes_longer(facts: &Facts) -> Option<Decided> {
    let updates = |class: &str| updates(facts, class);
    let (narrow, middle) = (updates("(0,0) T=7")?, updates("(1,1) T=7")?);
    let wide = [
        updates("(0,3) tied T=7")?,
        updates("(0,3) T=7")?,
        updates("(2,1) T=7")?,
    ];
    parts(
        &[narrow < middle, wide.iter().all(|&wide| wide > middle)],
        format!(
            "median updates at T = 7: (0,0) {narrow}, (1,1) {middle}, (0,3) tied, \
             (0,3), (2,1) {wide:?}"
        ),
    )
}

pub const CLAIMS: &[Claim] = &[
    claim(
        "g4:cells",
        SECTION,
        "The classes have the cells that the table states.",
        "cells --task quasigroup --lengths 7 --window 0,3 --tied",
        |facts| {
            let cells = &facts.probe("visits")?["cells"];
            holds(
                *cells == serde_json::json!([80, 130, 155, 180, 3275, 4525, 10775, 13775]),
                format!("{cells}"),
            )
        },
    ),
    claim(
        "g4:containment",
        SECTION,
        "Updates to 0.999 agreement are as in the table.",
        "reproduce tab:containment",
        |facts| {
            such(facts, "tab:containment", |row| {
                row.quantity.starts_with("updates")
            })
        },
    ),
    claim(
        "g4:orders",
        SECTION,
        "Wider windows take one to two orders of magnitude longer.",
        "reproduce tab:containment",
        |facts| {
            let updates = |class: &str| updates(facts, class);
            let narrow = updates("(0,0) T=7")?;
            let ratios: Vec<f64> = ["(0,3) tied T=7", "(0,3) T=7", "(2,1) T=7"]
                .iter()
                .filter_map(|class| Some(updates(class)? / narrow))
                .collect();
            parts(
                &ratios
                    .iter()
                    .map(|ratio| (9.0..=200.0).contains(ratio))
                    .collect::<Vec<_>>(),
                format!("median updates over those of (0,0) at T = 7: {ratios:.1?}"),
            )
        },
    ),
    claim(
        "g4:caption",
        SECTION,
        "The eight teachers are untied.",
        "cells --task quasigroup --lengths 7 --window 0,3 --tied",
        |facts| {
            let tied = facts.row("tab:containment", "(0,3) tied T=7", "cells")?;
            let untied = facts.row("tab:containment", "(0,3) T=7", "cells")?;
            holds(
                tied.ours_cell == untied.ours_cell,
                format!(
                    "the sixth is tied: {} cells, where the untied class has {} (erratum 16)",
                    tied.ours_cell.text(),
                    untied.ours_cell.text()
                ),
            )
        },
    ),
    claim(
        "g4:last-stretch",
        SECTION,
        "On the last stretch before the optimum no line has a barrier: 60 of 60.",
        "reproduce tab:escape",
        |facts| {
            let row = facts.row("tab:escape", "the last stretches", "steps of barrier 0")?;
            holds(
                row.ours == Some(1.0),
                format!(
                    "{} at 65 points a line; the paper does not say at how many (erratum 19)",
                    row.ours_cell.text()
                ),
            )
        },
    ),
    claim(
        "g4:35-quanta",
        SECTION,
        "Barriers are at most 35 quanta.",
        "reproduce tab:escape",
        |facts| {
            let row = facts.row("tab:escape", "all stretches", "largest barrier, quanta")?;
            holds(
                row.ours? <= 35.0,
                format!("ours: up to {} (erratum 19)", row.ours_cell.text()),
            )
        },
    ),
    claim(
        "g4:narrowest",
        SECTION,
        "Barriers are most frequent on the narrowest window.",
        "reproduce tab:escape",
        |facts| {
            let free = |class: &str| -> Option<f64> {
                let own = |place: &str| {
                    facts
                        .row(
                            "tab:escape",
                            &format!("{class} T=6, {place}"),
                            "steps of barrier 0",
                        )?
                        .ours
                };
                Some(own("first")? + own("middle")? + own("last")?)
            };
            let (a, b, c) = (free("(0,0)")?, free("(1,1)")?, free("(0,3)")?);
            holds(
                a < b && a < c,
                format!(
                    "mean share of lines without a barrier: (0,0) {:.2}, (1,1) {:.2}, (0,3) \
                     {:.2}",
                    a / 3.0,
                    b / 3.0,
                    c / 3.0
                ),
            )
        },
    ),
];
