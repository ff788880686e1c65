//! States G.4: distilled networks and the lines between them (tab:containment, tab:escape).

use foldglass::support::stats::{Proportion, fisher};

use super::transformers::{chance, of};
use super::{
    Absent, Claim, Decided, Matters, ReproductionFacts, basis, claim, exhaustive, networks,
    numbers, ours,
};
use crate::reproduce::fleets::PupilRecord;
use crate::reproduce::items::containment::{self, CLASSES, ContainmentQuantity};
use crate::reproduce::items::escape::{self, STRETCHES};
use crate::reproduce::{Key, LEVEL, Row};

const SECTION: &str = "App. G.4";

/// The classes of teachers at T = 7, in the order of the table.
const NARROW: usize = 2;
const MIDDLE: usize = 4;
const TIED: usize = 5;
const WIDE: [usize; 3] = [TIED, 6, 7];

/// The updates until the networks of a class of teachers agree with their codes: the median, or the most.
fn updates<'a>(facts: &ReproductionFacts<'a>, n: usize) -> Result<&'a Row, Absent> {
    let teachers = &CLASSES[n];
    facts.row(&containment::ITEM, teachers.class, teachers.updates())
}

/// The networks of a class of teachers that came to agree: their updates, the fewest and the most.
fn range(facts: &ReproductionFacts, n: usize) -> Option<(u64, u64)> {
    let pupils = facts.records.fleets.pupils.iter();
    let own = pupils.filter(|pupil| pupil.class == CLASSES[n].class.name && pupil.reached);
    let updates: Vec<u64> = own.map(|pupil| pupil.updates).collect();
    Some((*updates.iter().min()?, *updates.iter().max()?))
}

/// Whether every network of a wider window takes more updates than every one of a narrower window, at T = 7.
/// The three widest stand side by side: none of their windows contains another's.
pub fn wider_takes_longer(facts: &ReproductionFacts) -> Result<Decided, Absent> {
    let order = [NARROW, MIDDLE, WIDE[0], WIDE[1], WIDE[2]];
    let rows: Vec<&Row> = order
        .map(|n| updates(facts, n))
        .into_iter()
        .collect::<Result<_, _>>()?;
    let mut words = Vec::new();
    let mut ranges = Vec::new();
    for n in order {
        let name = CLASSES[n].class;
        let none = || Absent::Runs(format!("{name} in tab:containment"));
        let (least, most) = range(facts, n).ok_or_else(none)?;
        words.push(format!("{name} {least} to {most}"));
        ranges.push((least, most));
    }
    let (narrow, middle, wide) = (ranges[0], ranges[1], &ranges[2..]);
    basis(&containment::ITEM, &rows).parts(
        &[
            narrow.1 < middle.0,
            wide.iter().all(|wide| middle.1 < wide.0),
        ],
        format!(
            "updates of the networks of each class: {}",
            words.join(", ")
        ),
    )
}

/// The lines whose barrier is above the paper's largest, at all points and at few, in words.
pub fn large_barriers(facts: &ReproductionFacts) -> String {
    let stretches = &facts.records.fleets.stretches;
    let at = |points: usize| {
        let every = (escape::POINTS - 1) / (points - 1);
        let barriers: Vec<u64> = stretches
            .iter()
            .flat_map(|stretch| stretch.barriers(every))
            .collect();
        let above = barriers.iter().filter(|&&barrier| barrier > MOST_QUANTA);
        format!(
            "{} of {} lines above {MOST_QUANTA} quanta at {points} points, the largest {}",
            above.count(),
            barriers.len(),
            barriers.iter().max().copied().unwrap_or(0)
        )
    };
    format!("{}; {}", at(escape::POINTS), at(FEW_POINTS))
}

/// The paper's largest barrier, in quanta.
const MOST_QUANTA: u64 = 35;

/// The fewest points of a line at which barriers are looked at.
const FEW_POINTS: usize = escape::FEWER[escape::FEWER.len() - 1];

/// The cells that the table states, in its order.
const CELLS: [usize; 8] = [80, 130, 155, 180, 3275, 4525, 10775, 13775];

/// The parameters that the paper states.
const PARAMETERS: usize = 791_296;

/// Agreement at which training stops.
const AGREED: f64 = 0.999;

pub const CLAIMS: &[Claim] = &[
    // Would catch a shape with a bias, a tied head or another width of the MLP.
    claim(
        "g4:parameters",
        SECTION,
        "One block, four heads, width 256 and a vocabulary of 8 have 791,296 \
         parameters.",
        "train --task z:5",
        |_| {
            let parameters = foldglass_nn::shape::NetworkShape::default().parameters();
            exhaustive(1).holds(
                parameters == PARAMETERS,
                format!(
                    "{parameters} in our reading: an MLP of width 1,024, three norms without bias and an untied \
                     head, which the paper does not state"
                ),
            )
        },
    ),
    // Would catch cells that miss the ends of an input, where windows are cut, or tied steps counted apart.
    claim(
        "g4:cells",
        SECTION,
        "The classes have the cells that the table states.",
        "cells --task quasigroup --lengths 7 --window 0,3 --tied",
        |facts| {
            let cells = &facts.probes.visits()?.cells;
            let words: Vec<String> = cells.iter().map(usize::to_string).collect();
            exhaustive(cells.len() as u64).holds(*cells == CELLS, words.join(", "))
        },
    ),
    claim(
        "g4:containment",
        SECTION,
        "Updates to 0.999 agreement are as in the table.",
        "reproduce tab:containment",
        |facts| {
            let keys = CLASSES.map(|teachers| Key::new(teachers.class, teachers.updates()));
            let mut words = Vec::new();
            for key in keys {
                let row = facts.at(&containment::ITEM, key)?;
                words.push(format!(
                    "{} {} ({})",
                    row.row,
                    row.ours_cell.text(),
                    row.paper_cell.text()
                ));
            }
            let compared = numbers(facts, &containment::ITEM, keys)?;
            Ok(Decided {
                evidence: format!(
                    "{}; ours (the paper's): {}",
                    compared.evidence,
                    words.join(", ")
                ),
                ..compared
            })
        },
    ),
    // Would catch a run that goes on after its look at 0.999, or one that is stopped before.
    claim(
        "g4:agreement",
        SECTION,
        "Training stops where agreement reaches 0.999, so that the agreement at the \
         end is not the highest that it could reach; narrow windows are fully expressed.",
        "reproduce tab:containment",
        |facts| {
            let pupils = &facts.records.fleets.pupils;
            let stopped = pupils
                .iter()
                .all(|pupil| pupil.reached && pupil.agreement >= AGREED);
            let (narrow, wide): (Vec<&PupilRecord>, Vec<&PupilRecord>) = pupils
                .iter()
                .partition(|pupil| pupil.class.starts_with("(0,0)"));
            let least = |pupils: &[&PupilRecord]| {
                let agreements = pupils.iter().map(|pupil| pupil.agreement);
                agreements.fold(1.0, f64::min)
            };
            let full = least(&narrow) == 1.0;
            networks(pupils.len() as u64, 12).parts(
                &[stopped, full],
                format!(
                    "least agreement at the end {:.4} of {} networks on (0,0), {:.4} of {} on wider \
                     windows; the paper's table has no column for it",
                    least(&narrow),
                    narrow.len(),
                    least(&wide),
                    wide.len()
                ),
            )
        },
    ),
    // Would catch pupils that need as long for (0,0) as for a window of four symbols.
    claim(
        "g4:orders",
        SECTION,
        "The wide windows take one to two orders of magnitude longer.",
        "reproduce tab:containment",
        |facts| {
            let mut rows = vec![updates(facts, NARROW)?];
            let narrow = ours(rows[0])?;
            let (mut within, mut words) = (Vec::new(), Vec::new());
            for n in WIDE {
                let row = updates(facts, n)?;
                let ratio = ours(row)? / narrow;
                within.push((10.0..=100.0).contains(&ratio));
                words.push(format!("{} {ratio:.0}", row.row));
                rows.push(row);
            }
            basis(&containment::ITEM, &rows).parts(
                &within,
                format!(
                    "median updates over the most of (0,0) at T = 7: {}",
                    words.join(", ")
                ),
            )
        },
    ),
    // Would catch a count of cells that does not tell tied from untied classes.
    claim(
        "g4:caption",
        SECTION,
        "The eight teachers are untied.",
        "cells --task quasigroup --lengths 7 --window 0,3 --tied",
        |facts| {
            let cells = |n: usize| facts.row(&containment::ITEM, CLASSES[n].class, ContainmentQuantity::Cells);
            let (tied, untied) = (cells(TIED)?, cells(TIED + 1)?);
            let stated = tied.paper_cell.text();
            exhaustive(8).holds(
                stated != tied.ours_cell.text(),
                format!(
                    "the sixth row states {stated} cells: the tied class has {}, the untied one {} \
                     (erratum 16)",
                    tied.ours_cell.text(),
                    untied.ours_cell.text()
                ),
            )
        },
    )
    .touching(Matters::Wording),
    // A universal statement: one line with a barrier contradicts it.
    claim(
        "g4:last-stretch",
        SECTION,
        "On the last stretch before the optimum no line has a barrier: 60 of 60.",
        "reproduce tab:escape",
        |facts| {
            let row = facts.row(&escape::ITEM, escape::LAST, escape::NONE)?;
            let p = row.p.unwrap_or(f64::NAN);
            basis(&escape::ITEM, &[row]).holds(
                ours(row)? == 1.0,
                format!(
                    "{} at {} points a line; the paper does not say at how many, nor how often a network \
                     is tried for exactness (erratum 19). Compared as samples of lines: {}",
                    row.ours_cell.text(),
                    escape::POINTS,
                    chance(p)
                ),
            )
        },
    )
    .touching(Matters::Protocol),
    // Likewise: one barrier above it contradicts it.
    claim(
        "g4:35-quanta",
        SECTION,
        "Barriers are early and small, at most 35 quanta.",
        "reproduce tab:escape",
        |facts| {
            let row = facts.row(&escape::ITEM, escape::ALL, escape::EscapeQuantity::LargestBarrier)?;
            basis(&escape::ITEM, &[row]).holds(
                ours(row)? <= MOST_QUANTA as f64,
                format!("{} (erratum 19)", large_barriers(facts)),
            )
        },
    )
    .touching(Matters::Protocol),
    // Would catch lines whose barriers do not depend on the class of the path.
    claim(
        "g4:narrowest",
        SECTION,
        "Barriers are most frequent on the narrowest window.",
        "reproduce tab:escape",
        |facts| {
            let mut barriers = Vec::new();
            for stretches in STRETCHES {
                let (mut successes, mut trials) = (0.0, 0);
                for stretch in stretches {
                    let row = facts.row(&escape::ITEM, stretch, escape::NONE)?;
                    successes += (1.0 - ours(row)?) * row.n as f64;
                    trials += row.n;
                }
                barriers.push(Proportion {
                    successes: successes.round() as u64,
                    trials,
                });
            }
            let narrow = barriers[0];
            let (mut most, mut clearly, mut words) = (true, true, Vec::new());
            for (window, wider) in escape::WINDOWS.into_iter().zip(&barriers).skip(1) {
                let p = fisher(&narrow, wider);
                most &= narrow.rate() > wider.rate();
                clearly &= p < LEVEL;
                words.push(format!(
                    "{window} {} ({})",
                    of(*wider),
                    chance(p)
                ));
            }
            networks(narrow.trials, 30).parts(
                &[most, clearly],
                format!(
                    "lines with a barrier: (0,0) {}, {}",
                    of(narrow),
                    words.join(", ")
                ),
            )
        },
    ),
];
