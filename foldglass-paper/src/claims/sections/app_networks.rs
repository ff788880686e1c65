//! States G.4: distilled networks and the lines between them (tab:containment, tab:escape).

use foldglass::support::stats::{Proportion, fisher};

use super::transformers::{chance, chance_of, of};
use super::{
    Absent, BasisKind, Claim, Decided, Matters, ReproductionFacts, basis, claim, count, exhaustive,
    networks, numbers, ours,
};
use crate::reproduce::fleets::PupilRecord;
use crate::reproduce::items::containment::{self, CLASSES, ContainmentQuantity, Teachers};
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

/// The updates of the networks of a class of teachers that came to agree, ascending; at least one.
fn all_updates(facts: &ReproductionFacts, n: usize) -> Result<Vec<u64>, Absent> {
    let class = CLASSES[n].class;
    let pupils = facts.records.fleets.pupils.iter();
    let own = pupils.filter(|pupil| pupil.class == class.name && pupil.reached);
    let mut updates: Vec<u64> = own.map(|pupil| pupil.updates).collect();
    updates.sort_unstable();
    if updates.is_empty() {
        return Err(Absent::Runs(format!("{class} in tab:containment")));
    }
    Ok(updates)
}

/// Whether all of some numbers, ascending, are above all of others; none where the two overlap.
fn is_above(these: &[u64], others: &[u64]) -> Option<bool> {
    let (low, high) = (these.first()?, these.last()?);
    let (below, above) = (others.first()?, others.last()?);
    match (low > above, high < below) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// How likely groups of these sizes stand one above the other, in this order, by chance.
fn chance_of_order(sizes: &[usize]) -> f64 {
    let mut placed = 0;
    let mut orders = 1.0;
    for &size in sizes {
        for n in 1..=size {
            placed += 1;
            orders *= placed as f64 / n as f64;
        }
    }
    1.0 / orders
}

/// Whether every network of a wider window takes more updates than every one of a narrower window, at T = 7.
/// The three widest stand side by side: none of their windows contains another's.
pub fn wider_takes_longer(facts: &ReproductionFacts) -> Result<Decided, Absent> {
    let order = [NARROW, MIDDLE, WIDE[0], WIDE[1], WIDE[2]];
    let (mut rows, mut words, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    for n in order {
        rows.push(updates(facts, n)?);
        let own = all_updates(facts, n)?;
        words.push(format!(
            "{} {} to {}",
            CLASSES[n].class,
            own[0],
            own[own.len() - 1]
        ));
        groups.push(own);
    }
    let mut wide = groups[2..].concat();
    wide.sort_unstable();
    let p = chance_of_order(&[groups[0].len(), groups[1].len(), wide.len()]);
    let parts = [
        is_above(&groups[1], &groups[0]),
        is_above(&wide, &groups[1]),
    ];
    basis(&containment::ITEM, &rows).told(
        &parts.map(|part| part.filter(|_| p < LEVEL)),
        format!(
            "updates of the networks of each class: {}; groups of these sizes stand in such an order by chance with {}",
            words.join(", "),
            chance(p)
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
        BasisKind::Exhaustive,
        "One block, four heads, width 256 and a vocabulary of 8 have 791,296 \
         parameters.",
        "train --task z:5",
        |_| {
            let shape = foldglass_nn::shape::NetworkShape::default();
            let parameters = shape.parameters();
            let stated = [shape.blocks, shape.heads, shape.width, shape.vocabulary] == [1, 4, 256, 8];
            exhaustive(1).holds(
                stated && parameters == PARAMETERS,
                format!(
                    "{parameters} in our reading: an MLP of width {}, three norms without bias and an untied head, \
                     which the paper does not state",
                    shape.mlp
                ),
            )
        },
    ),
    // Would catch cells that miss the ends of an input, where windows are cut, or tied steps counted apart.
    claim(
        "g4:cells",
        SECTION,
        BasisKind::Exhaustive,
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
        BasisKind::Records,
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
    // The agreement at every look. Would catch a run that goes on after its look at 0.999, or one that is stopped before.
    claim(
        "g4:agreement",
        SECTION,
        BasisKind::Records,
        "Training stops where agreement reaches 0.999, so that the agreement at the \
         end is not the highest that it could reach; narrow windows are fully expressed.",
        "reproduce tab:containment",
        |facts| {
            let pupils = &facts.records.fleets.pupils;
            let at_first = |pupil: &&PupilRecord| {
                let looks = pupil.agreements.split_last();
                let first = looks.is_some_and(|(last, before)| {
                    *last >= AGREED && before.iter().all(|&at| at < AGREED)
                });
                pupil.reached && first
            };
            let stopped = pupils.iter().filter(at_first).count();
            let (narrow, wide): (Vec<&PupilRecord>, Vec<&PupilRecord>) =
                pupils.iter().partition(|pupil| containment::is_narrow(pupil));
            let least = |pupils: &[&PupilRecord]| {
                let agreements = pupils.iter().map(|pupil| pupil.agreement);
                agreements.reduce(f64::min)
            };
            let (Some(of_narrow), Some(of_wide)) = (least(&narrow), least(&wide)) else {
                let what = "networks on (0,0) and on wider windows in tab:containment";
                return Err(Absent::Runs(what.to_owned()));
            };
            networks(pupils.len() as u64, 12).told(
                &[
                    Some(stopped == pupils.len()),
                    Some(of_wide < 1.0),
                    Some(of_narrow == 1.0),
                ],
                format!(
                    "{stopped} of {} networks stop at their first look at {AGREED} or more; least agreement at the \
                     end {of_narrow:.4} of {} networks on (0,0), {of_wide:.4} of {} on wider windows; the paper's table has no \
                     column for it",
                    pupils.len(),
                    narrow.len(),
                    wide.len()
                ),
            )
        },
    ),
    // Would catch pupils that need as long for (0,0) as for a window of four symbols.
    claim(
        "g4:orders",
        SECTION,
        BasisKind::Records,
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
        BasisKind::Exhaustive,
        "The eight teachers are untied.",
        "cells --task quasigroup --lengths 7 --window 0,3 --tied",
        |facts| {
            let cells = |n: usize| facts.row(&containment::ITEM, CLASSES[n].class, ContainmentQuantity::Cells);
            let (mut tied, mut words) = (0, Vec::new());
            for (n, teachers) in CLASSES.iter().enumerate() {
                let own = cells(n)?;
                // The same window and length, untied.
                let sees = |of: &Teachers| (of.shape.window, of.length);
                let alike = |other: &Teachers| !other.shape.tied && sees(other) == sees(teachers);
                let untied = CLASSES.iter().position(alike);
                let untied = cells(untied.expect("every window is there untied"))?;
                if own.paper != untied.ours {
                    tied += 1;
                    words.push(format!(
                        "row {} states {} cells, as the tied class {} has; untied it has {}",
                        n + 1,
                        own.paper_cell.text(),
                        own.row,
                        untied.ours_cell.text()
                    ));
                }
            }
            exhaustive(CLASSES.len() as u64).holds(
                tied == 0,
                format!(
                    "{} of {} rows state the cells of an untied class; {} (erratum 16)",
                    CLASSES.len() - tied,
                    CLASSES.len(),
                    words.join("; ")
                ),
            )
        },
    )
    .touching(Matters::Wording),
    // A universal statement: one line with a barrier contradicts it.
    claim(
        "g4:last-stretch",
        SECTION,
        BasisKind::Records,
        "On the last stretch before the optimum no line has a barrier: 60 of 60.",
        "reproduce tab:escape",
        |facts| {
            let row = facts.row(&escape::ITEM, escape::LAST, escape::NONE)?;
            basis(&escape::ITEM, &[row]).holds(
                ours(row)? == 1.0,
                format!(
                    "{} at {} points a line; the paper does not say at how many, nor how often a network \
                     is tried for exactness (erratum 19). Compared as samples of lines: {}",
                    row.ours_cell.text(),
                    escape::POINTS,
                    chance_of(row)
                ),
            )
        },
    )
    .touching(Matters::Protocol),
    // Likewise: one barrier above it contradicts it.
    claim(
        "g4:35-quanta",
        SECTION,
        BasisKind::Records,
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
        BasisKind::Records,
        "Barriers are most frequent on the narrowest window.",
        "reproduce tab:escape",
        |facts| {
            let mut barriers = Vec::new();
            for stretches in STRETCHES {
                let mut barrier = Proportion {
                    successes: 0,
                    trials: 0,
                };
                for stretch in stretches {
                    let free = count(facts.row(&escape::ITEM, stretch, escape::NONE)?)?;
                    barrier.successes += free.trials - free.successes;
                    barrier.trials += free.trials;
                }
                barriers.push(barrier);
            }
            let narrow = barriers[0];
            let (mut more, mut words) = (Vec::new(), Vec::new());
            for (window, wider) in escape::WINDOWS.into_iter().zip(&barriers).skip(1) {
                let p = fisher(&narrow, wider);
                more.push((p < LEVEL).then_some(narrow.rate() > wider.rate()));
                words.push(format!(
                    "{window} {} ({})",
                    of(*wider),
                    chance(p)
                ));
            }
            networks(narrow.trials, 30).told(
                &more,
                format!(
                    "lines with a barrier: (0,0) {}, {}",
                    of(narrow),
                    words.join(", ")
                ),
            )
        },
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// 15! / (3! 3! 9!) orders of fifteen networks, all alike.
    #[test]
    fn an_order_of_groups_is_one_of_all_orders() {
        assert!((chance_of_order(&[3, 3, 9]) * 100_100.0 - 1.0).abs() < 1e-12);
        assert_eq!(is_above(&[3, 4], &[1, 2]), Some(true));
        assert_eq!(is_above(&[1, 2], &[3, 4]), Some(false));
        assert_eq!(is_above(&[1, 3], &[2, 4]), None);
        assert_eq!(is_above(&[2, 3], &[1, 2]), None);
    }
}
