//! States section 5.1: transformers on the same task.

use super::claim;
use crate::claims::decide::{numbers, parts, say};
use crate::claims::{Claim, Decided, Facts, Verdict};
use crate::reproduce::Row;

const SECTION: &str = "5.1 Transformers";
const FIGURE: &str = "fig:temperature_untied_b";

pub const CLAIMS: &[Claim] = &[
    claim(
        "transformers:express",
        SECTION,
        "A transformer of 791 thousand weights can be brought to express random \
         untied tables.",
        "reproduce tab:containment",
        |facts| {
            numbers(
                facts,
                "tab:containment",
                &[("all classes", "networks at 0.999")],
            )
        },
    ),
    claim(
        "transformers:narrow-bias",
        SECTION,
        "Wider windows take longer, so narrow tables are favoured.",
        "reproduce tab:containment",
        super::app_networks::wider_takes_longer,
    ),
    claim(
        "transformers:exact",
        SECTION,
        "Fine-tuning along a path never fails: all 189 networks reproduce their \
         code on every input.",
        "reproduce tab:escape",
        |facts| {
            numbers(
                facts,
                "tab:escape",
                &[("all stretches", "networks exact on all inputs")],
            )
        },
    ),
    claim(
        "transformers:no-drop",
        SECTION,
        "On 159 of 180 lines between neighbouring networks the reward does not \
         drop.",
        "reproduce tab:escape",
        |facts| {
            let at = |quantity: &str| facts.row("tab:escape", "all stretches", quantity);
            let (fine, coarse) = (
                at("steps of barrier 0")?,
                at("steps of barrier 0, 9 points a line")?,
            );
            let agrees = |row: &Row| row.ours.is_some_and(|share| share >= 150.0 / 180.0);
            parts(
                &[agrees(fine), agrees(coarse)],
                format!(
                    "{} at 65 points a line, {} at 9; the paper does not say at how many \
                     (erratum 19)",
                    fine.ours_cell.text(),
                    coarse.ours_cell.text()
                ),
            )
        },
    ),
    claim(
        "transformers:small-drop",
        SECTION,
        "Where it drops, it does by at most 0.002.",
        "reproduce tab:escape",
        |facts| {
            let row = facts.row("tab:escape", "all stretches", "largest barrier, quanta")?;
            let largest = row.ours? / 15625.0;
            crate::claims::decide::holds(
                largest <= 2e-3,
                format!(
                    "largest {largest:.4} ({} of 15,625 inputs); the paper's own 35 quanta \
                     are 0.00224 (erratum 16)",
                    row.ours_cell.text()
                ),
            )
        },
    ),
    claim(
        "transformers:weak",
        SECTION,
        "Up to a coefficient of 0.1 no seed of any task holds more than T = 2.",
        "reproduce fig:temperature_untied_b",
        |facts| {
            let of = |task: &str| {
                let quantity = "seeds that hold more than T = 2, c up to 0.1";
                facts.row(FIGURE, &format!("{task}, transformer"), quantity)
            };
            let rows = [of("Z_5")?, of("quasigroup")?, of("parity")?];
            let words = rows.map(|row| row.ours_cell.text());
            parts(
                &rows.map(|row| row.ours == Some(0.0)),
                format!(
                    "seeds that do on Z_5, the quasigroup and parity: {} (erratum 18)",
                    words.join(", ")
                ),
            )
        },
    ),
    claim(
        "transformers:strong",
        SECTION,
        "At 0.3 five of eight seeds on Z_5 and three of eight on the quasigroup \
         pass 0.95 at length 8.",
        "reproduce fig:temperature_untied_b",
        |facts| {
            numbers(
                facts,
                FIGURE,
                &[
                    ("Z_5, transformer", "seeds above 0.95 at c = 0.3"),
                    ("quasigroup, transformer", "seeds above 0.95 at c = 0.3"),
                ],
            )
        },
    ),
    claim(
        "transformers:far",
        SECTION,
        "They carry the curriculum to T = 18 on Z_5 and to T = 20 on three seeds \
         of the quasigroup.",
        "reproduce fig:temperature_untied_b",
        |facts| {
            numbers(
                facts,
                FIGURE,
                &[
                    ("Z_5, transformer", "longest T held at c = 0.3"),
                    (
                        "quasigroup, transformer",
                        "seeds that hold T = 20 at c = 0.3",
                    ),
                ],
            )
        },
    ),
    claim(
        "transformers:entropy",
        SECTION,
        "Around 0.3 the policy keeps 42 % of the greatest entropy.",
        "reproduce fig:temperature_untied_b",
        |facts| {
            numbers(
                facts,
                FIGURE,
                &[("Z_5, transformer", "entropy over ln 5 at c = 0.3")],
            )
        },
    ),
    claim(
        "transformers:beyond-practice",
        SECTION,
        "The coefficients that work exceed standard practice by one to two orders \
         of magnitude.",
        "train --task z:5 --entropy 0.3",
        |_| {
            say(
                Verdict::Open,
                "it compares with other papers' settings, which no record here holds",
            )
        },
    ),
    claim(
        "transformers:other-cures",
        SECTION,
        "Other objectives, curricula, batches and exploration all failed at T = 4 \
         before.",
        "reproduce text:cures",
        other_cures,
    ),
];

/// Of the networks of every method, on both tasks, how many learn.
fn other_cures(facts: &Facts) -> Option<Decided> {
    let mut failed = Vec::new();
    let mut told = Vec::new();
    for method in ["REINFORCE", "GRPO", "expert iteration"] {
        let (mut learn, mut all) = (0.0, 0);
        for class in ["Z_5, transformer", "quasigroup, transformer"] {
            for order in ["curriculum", "all lengths at once"] {
                let quantity = format!("seeds above 0.95, {method}, {order}");
                let row = facts.row("text:cures", class, &quantity)?;
                learn += row.ours? * row.n as f64;
                all += row.n;
            }
        }
        failed.push(learn < 0.5);
        told.push(format!("{method} {learn:.0} of {all}"));
    }
    let text = format!(
        "networks above 0.95 at T = 4, half of them with exploration: {}; expert iteration learns with \
         exploration, and without it never",
        told.join(", ")
    );
    parts(&failed, text)
}
