//! States section 5: the gap, resets and regulators, barriers.

use super::claim;
use crate::claims::decide::{holds, parts, say, such};
use crate::claims::{Claim, Verdict};
use crate::reproduce::studies::{PLAIN, RESETS};

const SECTION: &str = "5 Experiments";

/// So many inputs are a few.
const FEW: u64 = 10;

pub const CLAIMS: &[Claim] = &[
    claim(
        "experiments:gap",
        SECTION,
        "At negligible temperature RLVR falls much below Monte Carlo on many \
         untied tasks.",
        "reproduce tab:shortfall",
        |facts| {
            such(facts, "tab:shortfall", |row| {
                row.quantity == "J, RLVR" && !row.row.contains("tied")
            })
        },
    ),
    claim(
        "experiments:mild",
        SECTION,
        "Diffusive barriers are mild for Monte Carlo.",
        "reproduce tab:equilibration",
        |facts| {
            let rows = facts.item("tab:equilibration")?;
            let medians: Vec<f64> = rows
                .iter()
                .filter(|row| row.quantity.starts_with("sweeps to stationarity, median"))
                .filter_map(|row| row.ours)
                .collect();
            let most = medians.iter().copied().fold(0.0, f64::max);
            let wide = facts.row(
                "tab:equilibration",
                "quasigroup (0,3) T=7",
                "at 1 at the end",
            )?;
            parts(
                &[most < 100.0, wide.ours == Some(1.0)],
                format!(
                    "median sweeps to stationarity of the (0,0) classes at most {most}; (0,3) \
                     at 1 within 50,000 sweeps: {}",
                    wide.ours_cell.text()
                ),
            )
        },
    ),
    claim(
        "experiments:half",
        SECTION,
        "About half of the untied classes respond well to a strong entropy \
         regulator.",
        "reproduce fig:temperature_untied",
        |facts| {
            let helped = super::app_regulators::helped(facts)?;
            let verdict = match helped.len() {
                3 | 4 => Verdict::Shown,
                1..=6 => Verdict::InPart,
                _ => Verdict::Refuted,
            };
            say(
                verdict,
                format!("{} of 7: {}", helped.len(), helped.join(", ")),
            )
        },
    ),
    claim(
        "experiments:resets",
        SECTION,
        "Resets work better than the regulator.",
        "reproduce tab:regulator",
        |facts| {
            let mut better = Vec::new();
            for (id, _) in crate::reproduce::CLASSES.iter().take(7) {
                let (plain, resets) = (
                    facts.summary(PLAIN, id, None)?,
                    facts.summary(RESETS, id, None)?,
                );
                better.push(resets.mean >= plain.mean - 1e-3);
            }
            let helped = super::app_regulators::helped(facts)?.len();
            let gained = better.iter().filter(|&&is| is).count();
            parts(
                &better,
                format!(
                    "resets end no lower than plain runs on {gained} of 7 classes; a \
                     temperature beats the coldest on {helped}"
                ),
            )
        },
    ),
    claim(
        "experiments:barriers-exist",
        SECTION,
        "Tied tables and correlated inputs, which violate lemmas of the proof, \
         have true barriers.",
        "reproduce tab:trapsexist",
        |facts| {
            let traps = facts.row("tab:trapsexist", "parity k=9/10 T=8", "traps")?;
            let certified = facts
                .data
                .landscape
                .endpoints
                .iter()
                .filter(|end| end.verdict == "certified")
                .count();
            parts(
                &[
                    traps.exact.as_ref().is_some_and(|[_, ours]| ours != "0"),
                    certified > 0,
                ],
                format!(
                    "correlated parity at T = 8: {} traps; tied: {certified} of {} endpoints \
                     certified",
                    traps.ours_cell.text(),
                    facts.data.landscape.endpoints.len()
                ),
            )
        },
    ),
    claim(
        "experiments:tied-microscopic",
        SECTION,
        "The barriers of tied traps amount to failing on a few inputs.",
        "certify --code ends.json --barrier --out verdicts.json",
        |facts| {
            let ends = facts.probe("tied-barriers")?["endpoints"].as_array()?;
            let quanta: Vec<u64> = ends
                .iter()
                .filter_map(|end| end["quanta"].as_u64())
                .collect();
            let exact = ends.iter().filter(|end| end["is"] == "exact").count();
            let most = quanta.iter().copied().max()?;
            let list: Vec<String> = ends
                .iter()
                .map(|end| {
                    format!(
                        "{}{}",
                        if end["is"] == "exact" { "" } else { "at most " },
                        end["quanta"]
                    )
                })
                .collect();
            let mut sorted = quanta.clone();
            sorted.sort_unstable();
            parts(
                &[sorted[sorted.len() / 2] <= FEW, most <= FEW],
                format!(
                    "{} endpoints, {exact} exact; inputs of 78,125 lost on the way out: {}",
                    ends.len(),
                    list.join(", ")
                ),
            )
        },
    ),
    claim(
        "experiments:tied-common",
        SECTION,
        "Tied traps catch most seeds.",
        "reproduce tab:trapsexist",
        |facts| {
            let ones = facts.row(
                "tab:trapsexist",
                "quasigroup (0,3) T=7 tied",
                "endpoints at 1",
            )?;
            holds(
                ones.ours? < 0.5,
                format!("chains at reward 1: {}", ones.ours_cell.text()),
            )
        },
    ),
    claim(
        "experiments:correlated-macroscopic",
        SECTION,
        "The barriers of correlated traps involve a finite share of the inputs.",
        "enumerate --task parity --lengths 8 --inputs markov:9/10",
        |facts| {
            let row = facts.row(
                "tab:trapsexist",
                "parity k=9/10 T=8",
                "barriers: drop below the trap",
            )?;
            let [_, ours] = row.exact.as_ref()?;
            let least = ours
                .split(", ")
                .filter_map(|text| text.parse::<foldglass::Reward>().ok())
                .map(|reward| reward.to_f64())
                .fold(1.0, f64::min);
            holds(
                least > 0.01,
                format!(
                    "drops at T = 8: {ours}, at least {:.1} % of the weight",
                    100.0 * least
                ),
            )
        },
    ),
    claim(
        "experiments:correlated-rare",
        SECTION,
        "Correlated traps catch about 12 % of seeds.",
        "reproduce fig:trapsfixed",
        super::app_traps::one_in_eight,
    ),
];
