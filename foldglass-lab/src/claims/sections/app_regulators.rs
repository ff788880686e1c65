//! States G.5: temperatures, resets, transformers against the coefficient (tab:regulator).

use super::claim;
use crate::claims::decide::{holds, numbers, parts, say, such};
use crate::claims::{Claim, Decided, Facts, Verdict};
use crate::reproduce::studies::{PLAIN, RESETS, SCAN};

const SECTION: &str = "App. G.5";
const ITEM: &str = "tab:regulator";
const FIGURE: &str = "fig:temperature_untied_b";

/// The classes of several lengths.
const LENGTHS: [(&str, &str); 3] = [
    crate::reproduce::CLASSES[3],
    crate::reproduce::CLASSES[4],
    crate::reproduce::CLASSES[5],
];

/// The untied classes on which some temperature ends clearly above the coldest: by three standard
/// errors, since the best of many is looked at.
pub fn helped(facts: &Facts) -> Option<Vec<String>> {
    if !facts.data.has(SCAN) || !facts.data.has(PLAIN) {
        return None;
    }
    let mut list = Vec::new();
    for (id, name) in crate::reproduce::CLASSES.into_iter().take(7) {
        let taus = facts.data.temperatures(SCAN, id);
        let points: Vec<_> = taus
            .iter()
            .filter_map(|&tau| Some((tau, facts.summary(SCAN, id, Some(tau))?)))
            .collect();
        let cold = match id {
            "qg03" => facts.summary(PLAIN, id, None)?,
            _ => points.iter().min_by(|a, b| a.0.total_cmp(&b.0))?.1,
        };
        let (tau, best) = points
            .into_iter()
            .max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
        let square = |sd: Option<f64>, n: usize| sd.unwrap_or(0.0).powi(2) / n as f64;
        let error = (square(cold.sd, cold.n) + square(best.sd, best.n)).sqrt();
        if best.mean - cold.mean > 3.0 * error && best.mean > cold.mean + 1e-3 {
            list.push(format!(
                "{name} ({:.4} to {:.4} at {tau:e})",
                cold.mean, best.mean
            ));
        }
    }
    Some(list)
}

/// The standard deviations of a class over its scan, the most.
fn widest(facts: &Facts, id: &str) -> Option<f64> {
    let taus = facts
        .data
        .has(SCAN)
        .then(|| facts.data.temperatures(SCAN, id))?;
    let cold = taus.iter().copied().reduce(f64::min)?;
    let best = taus.iter().copied().max_by(|&a, &b| {
        let mean = |tau| {
            facts
                .summary(SCAN, id, Some(tau))
                .map_or(0.0, |summary| summary.mean)
        };
        mean(a).total_cmp(&mean(b))
    })?;
    let sd = |tau| facts.summary(SCAN, id, Some(tau))?.sd;
    Some(sd(cold)?.max(sd(best)?))
}

pub const CLAIMS: &[Claim] = &[
    claim(
        "g5:table",
        SECTION,
        "The rows of the table hold.",
        "reproduce tab:regulator",
        |facts| such(facts, ITEM, |_| true),
    ),
    claim(
        "g5:peaks",
        SECTION,
        "The classes of several lengths peak between 1.8e-5 and 5.6e-5.",
        "reproduce tab:regulator",
        |facts| {
            such(facts, ITEM, |row| {
                row.quantity == "best tau of the scan"
                    && row.row.contains("T=")
                    && row.row.contains(',')
                    && (row.row.contains("(2,1)") || row.row.contains("(1,1)"))
            })
        },
    ),
    claim(
        "g5:lost-again",
        SECTION,
        "They have lost the gain again by 1e-4.",
        "reproduce fig:temperature_untied",
        |facts| {
            let mut lost = Vec::new();
            let mut words = Vec::new();
            for (id, name) in LENGTHS {
                let taus = facts
                    .data
                    .has(SCAN)
                    .then(|| facts.data.temperatures(SCAN, id))?;
                let cold = taus.iter().copied().reduce(f64::min)?;
                let (cold, warm) = (
                    facts.summary(SCAN, id, Some(cold))?,
                    facts.summary(SCAN, id, Some(1e-4))?,
                );
                lost.push(warm.mean <= cold.mean);
                words.push(format!(
                    "{name} {:.4} (coldest {:.4})",
                    warm.mean, cold.mean
                ));
            }
            parts(&lost, format!("at 1e-4: {}", words.join(", ")))
        },
    ),
    claim(
        "g5:spreads",
        SECTION,
        "Standard deviations are at most 0.013 on the narrow windows, 0.024 on \
         (0,3) and 0.16 to 0.17 on the two (0,0) rows.",
        "reproduce tab:regulator",
        |facts| {
            let sd = |id| widest(facts, id);
            let narrow = sd("qg21-345")?.max(sd("qg11-3456")?).max(sd("qg21-456")?);
            let wide = facts.summary(PLAIN, "qg03", None)?.sd?;
            let (z5, qg) = (sd("z5")?, sd("qg")?);
            // Standard deviations of 12 runs are known to a fifth, of 240 to a twentieth.
            let close = |sd: f64| (0.15..=0.18).contains(&sd);
            parts(
                &[
                    narrow <= 0.013 * 1.4,
                    wide <= 0.024 * 1.4,
                    close(z5),
                    close(qg),
                ],
                format!(
                    "narrow windows {narrow:.4}, (0,3) {wide:.4}, Z_5 {z5:.4}, quasigroup \
                     {qg:.4}"
                ),
            )
        },
    ),
    claim(
        "g5:coarse",
        SECTION,
        "A grid of one point a decade puts the optimum of (2,1){3,4,5} at 1e-5 \
         and 0.9960.",
        "reproduce fig:temperature_untied",
        |facts| {
            numbers(
                facts,
                "fig:temperature_untied",
                &[("quasigroup (2,1) T=3,4,5", "J at tau = 1e-5")],
            )
        },
    ),
    claim(
        "g5:four-decimals",
        SECTION,
        "Without a regulator the narrow windows end as at the cold end of the \
         scan, to four decimals.",
        "reproduce tab:regulator",
        |facts| {
            let mut same = Vec::new();
            let mut words = Vec::new();
            for (id, name) in LENGTHS {
                let taus = facts
                    .data
                    .has(SCAN)
                    .then(|| facts.data.temperatures(SCAN, id))?;
                let cold = taus.iter().copied().reduce(f64::min)?;
                let (plain, scan) = (
                    facts.summary(PLAIN, id, None)?,
                    facts.summary(SCAN, id, Some(cold))?,
                );
                same.push((plain.mean - scan.mean).abs() < 5e-5);
                words.push(format!("{name} {:.4} and {:.4}", plain.mean, scan.mean));
            }
            let verdict = if same.iter().all(|&is| is) {
                Verdict::Shown
            } else {
                Verdict::Open
            };
            say(
                verdict,
                format!(
                    "{}: ours are other seeds, so that equality to four decimals is not \
                     expected",
                    words.join(", ")
                ),
            )
        },
    ),
    claim(
        "g5:resets",
        SECTION,
        "Resets take six of seven classes to the optimum in all seeds or all but \
         one, the regulator three.",
        "reproduce tab:regulator",
        |facts| {
            let mut solved = 0;
            let mut words = Vec::new();
            for (id, name) in crate::reproduce::CLASSES.into_iter().take(7) {
                let sample = facts
                    .data
                    .has(RESETS)
                    .then(|| facts.data.ends(RESETS, id, "", None))?;
                let runs = sample.rewards.len() as u64;
                solved += usize::from(sample.ones + 1 >= runs && runs > 1);
                words.push(format!("{name} {}/{runs}", sample.ones));
            }
            holds(solved == 6, format!("{solved} of 7: {}", words.join(", ")))
        },
    ),
    claim(
        "g5:three-classes",
        SECTION,
        "Among those that resets repair are the three on which no temperature \
         does anything.",
        "reproduce tab:regulator",
        |facts| {
            let wide = facts
                .data
                .has(RESETS)
                .then(|| facts.data.ends(RESETS, "qg03", "", None))?;
            holds(
                wide.ones > 0,
                format!(
                    "the table's three with no temperature are parity, Z_5 and (0,3), and \
                     resets take (0,3) to 1 in {} of {} runs (erratum 16)",
                    wide.ones,
                    wide.rewards.len()
                ),
            )
        },
    ),
    claim(
        "g5:two-thirds",
        SECTION,
        "On (0,3) resets recover about two thirds of the deficit.",
        "reproduce tab:regulator",
        |facts| {
            let (plain, resets) = (
                facts.summary(PLAIN, "qg03", None)?,
                facts.summary(RESETS, "qg03", None)?,
            );
            let share = (resets.mean - plain.mean) / (1.0 - plain.mean);
            holds(
                (share - 2.0 / 3.0).abs() < 0.04,
                format!(
                    "ours {:.4} to {:.4}, a share of {share:.3}; the paper's 0.764 to 0.940 \
                     is 0.746 (erratum 16)",
                    plain.mean, resets.mean
                ),
            )
        },
    ),
    claim(
        "g5:threshold",
        SECTION,
        "For Z_5 and the quasigroup the whole effect of the coefficient appears \
         between 0.1 and 0.3.",
        "reproduce fig:temperature_untied_b",
        |facts| {
            let above = |task: &str, c: &str| {
                facts
                    .row(FIGURE, task, &format!("seeds above 0.95 at c = {c}"))?
                    .ours
            };
            let z5 = [
                above("Z_5, transformer", "0.1")?,
                above("Z_5, transformer", "0.3")?,
            ];
            let quasigroup = [
                above("quasigroup, transformer", "0.1")?,
                above("quasigroup, transformer", "0.3")?,
            ];
            parts(
                &[
                    z5[0] == 0.0 && z5[1] > 0.0,
                    quasigroup[0] == 0.0 && quasigroup[1] > 0.0,
                ],
                format!(
                    "share of seeds above 0.95 at 0.1 and 0.3: Z_5 {z5:?}, quasigroup \
                     {quasigroup:?} (erratum 17)"
                ),
            )
        },
    ),
    claim(
        "g5:working-point",
        SECTION,
        "At 0.3 the mean accuracies are 0.871 on Z_5 and 0.770 on the quasigroup, \
         parity at chance.",
        "reproduce fig:temperature_untied_b",
        |facts| {
            numbers(
                facts,
                FIGURE,
                &[
                    ("Z_5, transformer", "accuracy at c = 0.3"),
                    ("quasigroup, transformer", "accuracy at c = 0.3"),
                    ("parity, transformer", "seeds above 0.95 at c = 0.3"),
                ],
            )
        },
    ),
    claim(
        "g5:at-one",
        SECTION,
        "At 1 Z_5 is at 0.992 in five of five seeds, parity succeeds in two of \
         five and the quasigroup collapses to 0.216.",
        "reproduce fig:temperature_untied_b",
        |facts| {
            numbers(
                facts,
                FIGURE,
                &[
                    ("Z_5, transformer", "accuracy at c = 1"),
                    ("Z_5, transformer", "seeds above 0.95 at c = 1"),
                    ("parity, transformer", "seeds above 0.95 at c = 1"),
                    ("quasigroup, transformer", "accuracy at c = 1"),
                ],
            )
        },
    ),
    claim(
        "g5:relabelling-noise",
        SECTION,
        "Relabelling the emitted token helps mildly: 0.542 against 0.417 at T = \
         2, and no seed solves the task.",
        "reproduce text:relabelling",
        relabelling,
    ),
];

/// Whether the paper's best setting is above the unperturbed run, under either initial law.
fn relabelling(facts: &Facts) -> Option<Decided> {
    let row = |quantity: &str| facts.row("text:relabelling", "quasigroup, T in {1, 2}", quantity);
    let (mut held, mut told) = (Vec::new(), Vec::new());
    for initial in ["pt", "02"] {
        let with = row(&format!("accuracy at T = 2, full:1,500, {initial}"))?;
        let without = row(&format!("accuracy at T = 2, none, {initial}"))?;
        held.push(with.ours? > without.ours?);
        let (with, without) = (with.ours_cell.text(), without.ours_cell.text());
        told.push(format!("{with} against {without} ({initial})"));
        let solved = row(&format!(
            "seeds above 0.95 at T = 2, all settings, {initial}"
        ))?;
        held.push(solved.ours? == 0.0);
    }
    let text = format!(
        "a full permutation every 500 steps has {} at T = 2, the reverse; no network of any of the \
         eighteen settings solves the task",
        told.join(" and ")
    );
    parts(&held, text)
}
