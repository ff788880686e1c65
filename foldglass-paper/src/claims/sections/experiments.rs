//! States section 5: the gap, resets and regulators, barriers.

use super::{Claim, basis, claim, exhaustive, numbers, ours, sampled};
use crate::claims::Verdict;
use crate::reproduce::classes::{QG03, TIED, UNTIED};
use crate::reproduce::items::equilibration::{self, Kernel, MIDDLE_BLOCK, Statistic};
use crate::reproduce::items::shortfall;
use crate::reproduce::items::trapsexist::{self, CORRELATED};
use crate::reproduce::studies::{PLAIN, RESETS};
use crate::reproduce::{Key, Row};

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
            use shortfall::{ITEM, Quantity::Reward, Runs::Rlvr};
            numbers(
                facts,
                &ITEM,
                UNTIED.map(|class| Key::new(class, Reward(Rlvr))),
            )
        },
    ),
    claim(
        "experiments:mild",
        SECTION,
        "Diffusive barriers are mild for Monte Carlo.",
        "reproduce tab:equilibration",
        |facts| {
            use equilibration::{ITEM, Quantity::AtOneAtEnd, Quantity::Stationarity};
            let mut rows: Vec<&Row> = Vec::new();
            let mut most = 0f64;
            for class in MIDDLE_BLOCK {
                for kernel in Kernel::ALL {
                    let row = facts.row(&ITEM, class, Stationarity(Statistic::Median, kernel))?;
                    most = most.max(ours(row)?);
                    rows.push(row);
                }
            }
            let wide = facts.row(&ITEM, QG03, AtOneAtEnd)?;
            rows.push(wide);
            basis(&ITEM, &rows).parts(
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
            let verdict = match helped.classes.len() {
                3 | 4 => Verdict::Holds,
                1..=6 => Verdict::InPart,
                _ => Verdict::Contradicted,
            };
            helped.basis.says(
                verdict,
                format!(
                    "{} of 7: {}",
                    helped.classes.len(),
                    helped.classes.join(", ")
                ),
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
            let mut runs = u64::MAX;
            for class in UNTIED {
                let (plain, resets) = (
                    facts.summary(PLAIN, class, None)?,
                    facts.summary(RESETS, class, None)?,
                );
                runs = runs.min(plain.n.min(resets.n) as u64);
                better.push(resets.mean >= plain.mean - 1e-3);
            }
            let helped = super::app_regulators::helped(facts)?.classes.len();
            let gained = better.iter().filter(|&&is| is).count();
            sampled(runs, 12).parts(
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
            use trapsexist::{ITEM, Quantity};
            let traps = facts.row(&ITEM, CORRELATED[4], Quantity::Traps)?;
            let ends = facts.endpoints()?;
            let certified = ends.iter().filter(|end| end.is_certified()).count();
            sampled(ends.len() as u64, 12).parts(
                &[ours(traps)? > 0.0, certified > 0],
                format!(
                    "correlated parity at T = 8: {} traps; tied: {certified} of {} endpoints \
                     certified",
                    traps.ours_cell.text(),
                    ends.len()
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
            let ends = &facts.probes.tied_barriers()?.endpoints;
            let exact = ends.iter().filter(|end| end.exact).count();
            let list = ends.iter().map(|end| {
                let bound = if end.exact { "" } else { "at most " };
                format!("{bound}{}", end.quanta)
            });
            let list: Vec<String> = list.collect();
            let mut sorted: Vec<u64> = ends.iter().map(|end| end.quanta).collect();
            sorted.sort_unstable();
            let (median, most) = (sorted.get(sorted.len() / 2), sorted.last());
            sampled(ends.len() as u64, 12).parts(
                &[median <= Some(&FEW), most <= Some(&FEW)],
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
            use trapsexist::{ITEM, Quantity};
            let ones = facts.row(&ITEM, TIED, Quantity::EndsAtOne)?;
            basis(&ITEM, &[ones]).holds(
                ours(ones)? < 0.5,
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
            use trapsexist::{ITEM, Quantity};
            let row = facts.row(&ITEM, CORRELATED[4], Quantity::Drops)?;
            let drops = row.ours_cell.text();
            let least = drops
                .split(", ")
                .filter_map(|text| text.parse::<foldglass::Reward>().ok())
                .map(|reward| reward.to_f64())
                .fold(1.0, f64::min);
            exhaustive(1 << 30).holds(
                least > 0.01,
                format!(
                    "drops at T = 8: {drops}, at least {:.1} % of the weight",
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
