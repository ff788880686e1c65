//! States section 5: the gap, resets and regulators, barriers.

use super::{BasisKind, Claim, INTERVAL, SCORE, basis, claim, count, listed, ours, sampled};
use crate::claims::StatementVerdict;
use crate::reproduce::Row;
use crate::reproduce::classes::{QG03, TIED, UNTIED};
use crate::reproduce::items::equilibration::{self, ChainMove, MIDDLE_BLOCK, Statistic};
use crate::reproduce::items::shortfall;
use crate::reproduce::items::trapsexist::{self, CORRELATED};
use crate::reproduce::studies::{PLAIN, RESETS};

const SECTION: &str = "5 Experiments";

/// So many inputs are a few.
const FEW: u64 = 10;

/// So much reward is much, so many classes are many, and from here on reward is near perfect.
const MUCH: f64 = 0.1;
const MANY: usize = 3;
const NEARLY: f64 = 0.99;

pub const CLAIMS: &[Claim] = &[
    claim(
        "experiments:gap",
        SECTION,
        BasisKind::Sampled,
        "At negligible temperature RLVR falls much below Monte Carlo, which \
         obtains near perfect reward, on many untied tasks.",
        "reproduce tab:shortfall",
        |facts| {
            use shortfall::{ComparedRuns, ITEM, ShortfallQuantity::Reward};
            let (mut rows, mut below, mut much) = (Vec::new(), 0, Vec::new());
            let mut lowest = f64::INFINITY;
            for class in UNTIED {
                let chain = facts.row(&ITEM, class, Reward(ComparedRuns::Chain))?;
                let rlvr = facts.row(&ITEM, class, Reward(ComparedRuns::Rlvr))?;
                rows.extend([chain, rlvr]);
                lowest = lowest.min(ours(chain)?);
                let gap = ours(chain)? - ours(rlvr)?;
                let error = rlvr.sd.unwrap_or(0.0) / (rlvr.n.max(1) as f64).sqrt();
                below += usize::from(gap > 3.0 * error && gap > 0.0);
                if gap > MUCH {
                    much.push(format!("{class} by {gap:.3}"));
                }
            }
            basis(&ITEM, &rows).parts(
                &[lowest > NEARLY, much.len() >= MANY],
                format!(
                    "the chains' mean is at least {lowest:.4} on all 7 untied classes; RLVR's is \
                     below it by three standard errors on {below}, by more than {MUCH} on {}{}",
                    much.len(),
                    listed(": ", &much)
                ),
            )
        },
    ),
    claim(
        "experiments:mild",
        SECTION,
        BasisKind::Sampled,
        "Diffusive barriers are mild for Monte Carlo.",
        "reproduce tab:equilibration",
        |facts| {
            use equilibration::{
                EquilibrationQuantity::AtOneAtEnd, EquilibrationQuantity::Stationarity, ITEM,
            };
            let mut rows: Vec<&Row> = Vec::new();
            let mut most = 0f64;
            for class in MIDDLE_BLOCK {
                for kernel in ChainMove::ALL {
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
        BasisKind::Sampled,
        "About half of the untied classes respond well to a strong entropy \
         regulator.",
        "reproduce fig:temperature_untied",
        |facts| {
            let helped = super::app_regulators::helped(facts)?;
            let verdict = match helped.classes.len() {
                3 | 4 => StatementVerdict::Holds,
                1..=6 => StatementVerdict::InPart,
                _ => StatementVerdict::Contradicted,
            };
            helped.basis.says(
                verdict,
                format!(
                    "{} of 7{}",
                    helped.classes.len(),
                    listed(": ", &helped.classes)
                ),
            )
        },
    ),
    claim(
        "experiments:resets",
        SECTION,
        BasisKind::Sampled,
        "Resets work better than the regulator.",
        "reproduce tab:regulator",
        |facts| {
            let (mut higher, mut lower, mut words) = (0, 0, Vec::new());
            let mut runs = u64::MAX;
            for class in UNTIED {
                let resets = facts.summary(RESETS, class, None)?;
                // The best of all temperatures: chance favours it.
                let mut all = super::app_regulators::scan(facts, class)?;
                all.push((0.0, facts.summary(PLAIN, class, None)?));
                let best = all.iter().map(|(_, summary)| summary);
                let best = best.max_by(|a, b| a.mean.total_cmp(&b.mean));
                let best = best.expect("a scan has temperatures");
                runs = runs.min(resets.n.min(best.n) as u64);
                let errors = [resets.error, best.error].map(|error| error.unwrap_or(0.0));
                let error = errors[0].hypot(errors[1]);
                let apart = resets.mean - best.mean;
                higher += usize::from(apart > SCORE * error);
                lower += usize::from(apart < -SCORE * error);
                words.push(format!("{class} {:.4} and {:.4}", resets.mean, best.mean));
            }
            sampled(runs, 12).parts(
                &[higher > 0, lower == 0],
                format!(
                    "resets end above the best temperature on {higher} of 7 classes, below it on \
                     {lower}, by {SCORE} standard errors; means of both: {}",
                    words.join(", ")
                ),
            )
        },
    ),
    claim(
        "experiments:barriers-exist",
        SECTION,
        BasisKind::Sampled,
        "Tied tables and correlated inputs, which violate lemmas of the proof, \
         have true barriers.",
        "reproduce tab:trapsexist",
        |facts| {
            use trapsexist::{ITEM, TrapsExistQuantity};
            let traps = facts.row(&ITEM, CORRELATED[4], TrapsExistQuantity::Traps)?;
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
        BasisKind::Sampled,
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
        BasisKind::Sampled,
        "Tied traps catch most seeds.",
        "reproduce tab:trapsexist",
        |facts| {
            use trapsexist::{ITEM, TrapsExistQuantity};
            let ones = facts.row(&ITEM, TIED, TrapsExistQuantity::EndsAtOne)?;
            // Most seeds: more than half of all there are, by what ours do not rule out.
            let solved = count(ones)?.interval(INTERVAL);
            let most = match (solved.high < 0.5, solved.low > 0.5) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            };
            basis(&ITEM, &[ones]).told(
                &[most],
                format!(
                    "chains at reward 1: {}, which is consistent with a share of up to {:.2} (99 %)",
                    ones.ours_cell.text(),
                    solved.high
                ),
            )
        },
    ),
    claim(
        "experiments:correlated-macroscopic",
        SECTION,
        BasisKind::Exhaustive,
        "The barriers of correlated traps involve a finite share of the inputs.",
        "enumerate --task parity --lengths 8 --inputs markov:9/10",
        |facts| {
            let found = facts.probes.correlated()?;
            let own = found.classes.iter();
            let (mut least, mut words) = (f64::INFINITY, Vec::new());
            for census in own.filter(|census| census.repeats("9/10")) {
                let drops: Vec<f64> = census.barriers.iter().map(|drop| drop.to_f64()).collect();
                let low = drops.iter().copied().fold(f64::INFINITY, f64::min);
                let high = drops.iter().copied().fold(0.0, f64::max);
                least = least.min(low);
                words.push(format!("T={} {low:.4} to {high:.4}", census.length));
            }
            super::app_traps::whole(found).holds(
                least > 0.01,
                format!(
                    "drops of J on the best ways out, k = 9/10: {}",
                    words.join(", ")
                ),
            )
        },
    ),
];
