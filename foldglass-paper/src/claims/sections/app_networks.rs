//! States G.4: distilled networks and the lines between them (tab:containment, tab:escape).

use super::{Absent, Claim, Decided, Facts, Matters, basis, claim, exhaustive, numbers, ours};
use crate::reproduce::items::containment::{self, CLASSES, Quantity};
use crate::reproduce::items::escape::{self, STRETCHES};
use crate::reproduce::{Key, Row};

const SECTION: &str = "App. G.4";

/// The classes of teachers at T = 7, in the order of the table.
const NARROW: usize = 2;
const MIDDLE: usize = 4;
const TIED: usize = 5;
const WIDE: [usize; 3] = [TIED, 6, 7];

/// The updates until the networks of a class of teachers agree with their codes: the median, or the most.
fn updates<'a>(facts: &Facts<'a>, n: usize) -> Result<&'a Row, Absent> {
    let teachers = &CLASSES[n];
    facts.row(&containment::ITEM, teachers.class, teachers.updates())
}

/// Whether the median number of updates grows with the width of the window.
pub fn wider_takes_longer(facts: &Facts) -> Result<Decided, Absent> {
    let rows = [NARROW, MIDDLE, WIDE[0], WIDE[1], WIDE[2]].map(|n| updates(facts, n));
    let rows: Vec<&Row> = rows.into_iter().collect::<Result<_, _>>()?;
    let values: Vec<f64> = rows.iter().map(|row| ours(row)).collect::<Result<_, _>>()?;
    let (narrow, middle, wide) = (values[0], values[1], &values[2..]);
    basis(&containment::ITEM, &rows).parts(
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
            let cells = &facts.probes.visits()?.cells;
            exhaustive(cells.len() as u64).holds(
                *cells == [80, 130, 155, 180, 3275, 4525, 10775, 13775],
                format!("{cells:?}"),
            )
        },
    ),
    claim(
        "g4:containment",
        SECTION,
        "Updates to 0.999 agreement are as in the table.",
        "reproduce tab:containment",
        |facts| {
            let keys = CLASSES.map(|teachers| Key::new(teachers.class, teachers.updates()));
            numbers(facts, &containment::ITEM, keys)
        },
    ),
    claim(
        "g4:orders",
        SECTION,
        "Wider windows take one to two orders of magnitude longer.",
        "reproduce tab:containment",
        |facts| {
            let mut rows = vec![updates(facts, NARROW)?];
            let narrow = ours(rows[0])?;
            let mut ratios = Vec::new();
            for n in WIDE {
                let row = updates(facts, n)?;
                ratios.push(ours(row)? / narrow);
                rows.push(row);
            }
            let within = |ratio: &f64| (9.0..=200.0).contains(ratio);
            basis(&containment::ITEM, &rows).parts(
                &ratios.iter().map(within).collect::<Vec<_>>(),
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
            let cells = |n: usize| facts.row(&containment::ITEM, CLASSES[n].class, Quantity::Cells);
            let (tied, untied) = (cells(TIED)?, cells(TIED + 1)?);
            exhaustive(8).holds(
                tied.ours_cell == untied.ours_cell,
                format!(
                    "the sixth is tied: {} cells, where the untied class has {} (erratum 16)",
                    tied.ours_cell.text(),
                    untied.ours_cell.text()
                ),
            )
        },
    )
    .touching(Matters::Wording),
    claim(
        "g4:last-stretch",
        SECTION,
        "On the last stretch before the optimum no line has a barrier: 60 of 60.",
        "reproduce tab:escape",
        |facts| {
            let row = facts.row(&escape::ITEM, escape::LAST, escape::NONE)?;
            basis(&escape::ITEM, &[row]).holds(
                ours(row)? == 1.0,
                format!(
                    "{} at 65 points a line; the paper does not say at how many (erratum 19)",
                    row.ours_cell.text()
                ),
            )
        },
    )
    .touching(Matters::Protocol),
    claim(
        "g4:35-quanta",
        SECTION,
        "Barriers are at most 35 quanta.",
        "reproduce tab:escape",
        |facts| {
            let row = facts.row(&escape::ITEM, escape::ALL, escape::Quantity::LargestBarrier)?;
            basis(&escape::ITEM, &[row]).holds(
                ours(row)? <= 35.0,
                format!("ours: up to {} (erratum 19)", row.ours_cell.text()),
            )
        },
    )
    .touching(Matters::Protocol),
    claim(
        "g4:narrowest",
        SECTION,
        "Barriers are most frequent on the narrowest window.",
        "reproduce tab:escape",
        |facts| {
            let mut rows: Vec<&Row> = Vec::new();
            let mut free = [0.0; 3];
            for (stretches, free) in STRETCHES.iter().zip(&mut free) {
                for &stretch in stretches {
                    let row = facts.row(&escape::ITEM, stretch, escape::NONE)?;
                    *free += ours(row)? / 3.0;
                    rows.push(row);
                }
            }
            let [a, b, c] = free;
            basis(&escape::ITEM, &rows).holds(
                a < b && a < c,
                format!(
                    "mean share of lines without a barrier: (0,0) {a:.2}, (1,1) {b:.2}, (0,3) \
                     {c:.2}"
                ),
            )
        },
    ),
];
