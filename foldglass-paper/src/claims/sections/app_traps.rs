//! States G.6: correlations and tying make traps (tab:trapsexist).

use std::collections::BTreeSet;

use super::{
    Absent, Basis, Claim, Decided, Facts, Matters, claim, exhaustive_of, numbers, reward_at,
    sampled,
};
use crate::claims::probes::census::{Correlated, TrapCensus};
use crate::claims::probes::chains::Quench;
use crate::reproduce::Key;
use crate::reproduce::classes::TIED;
use crate::reproduce::items::trapsexist::{CORRELATED, ITEM, Quantity, UNCORRELATED_8};
use crate::reproduce::studies::CHAINS_TIED;

const SECTION: &str = "App. G.6";

/// Fewer quenches cannot tell an eighth from a twelfth.
const ENOUGH: u64 = 256;

/// The share of quenches that end in a trap, by T and k: one in eight where the interval holds it.
pub fn one_in_eight(facts: &Facts) -> Result<Decided, Absent> {
    let points = &facts.probes.quench()?.points;
    let within = |point: &Quench| {
        let interval = point.share().interval(0.95);
        (interval.low..=interval.high).contains(&0.125)
    };
    let is_paper_s = |point: &&Quench| point.repeat == "9/10" && [6, 8].contains(&point.length);
    let (paper, others): (Vec<&Quench>, Vec<&Quench>) = points
        .iter()
        .filter(|point| point.tau == 2e-3)
        .partition(is_paper_s);
    let word = |point: &&Quench| {
        let (share, interval) = (point.share(), point.share().interval(0.95));
        format!(
            "T={} k={} {:.1} % ({:.1} to {:.1})",
            point.length,
            point.repeat,
            100.0 * share.rate().unwrap_or(0.0),
            100.0 * interval.low,
            100.0 * interval.high
        )
    };
    let mut holds: Vec<bool> = paper.iter().map(|point| within(point)).collect();
    let elsewhere = others.iter().filter(|point| within(point)).count();
    if !others.is_empty() {
        holds.push(elsewhere == others.len());
    }
    let words: Vec<String> = paper.iter().map(word).collect();
    let trapped = |point: &&&Quench| point.trapped;
    let ends = [
        others.iter().min_by_key(trapped),
        others.iter().max_by_key(trapped),
    ];
    let ends: Vec<String> = ends.into_iter().flatten().map(word).collect();
    let text = format!(
        "share trapped at 2e-3 with 95 % intervals: {}; of {} other T and k {elsewhere} hold one in \
         eight, from {}",
        words.join(", "),
        others.len(),
        ends.join(" to ")
    );
    let fewest = paper.iter().map(|point| point.runs).min().unwrap_or(0);
    sampled(fewest, ENOUGH).parts(&holds, text)
}

/// The values of T and k that a full run counts.
const COUNTED: [usize; 5] = [4, 5, 6, 7, 8];
const REPEATS: u64 = 4;

/// What the censuses of correlated parity rest on: all codes at all T and k of a full run.
fn whole(found: &Correlated) -> Basis {
    let all = super::app_parity::all_codes(COUNTED.iter());
    let codes = found.classes.iter().map(|census| census.codes).sum();
    exhaustive_of(codes, REPEATS * all)
}

pub const CLAIMS: &[Claim] = &[
    claim(
        "g6:counts",
        SECTION,
        "The table counts the local maxima and traps of correlated parity at T = \
         4 to 8.",
        "enumerate --task parity --lengths 8 --inputs markov:9/10",
        |facts| {
            let quantities = [
                Quantity::Cells,
                Quantity::Codes,
                Quantity::LocalMaxima,
                Quantity::Traps,
            ];
            let keys = CORRELATED
                .into_iter()
                .flat_map(|class| quantities.map(|quantity| Key::new(class, quantity)));
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g6:exits",
        SECTION,
        "Above 99.99 % of the local maxima have an exit at no cost.",
        "enumerate --task parity --lengths 8 --inputs markov:9/10",
        |facts| {
            let found = facts.probes.correlated()?;
            let own = found
                .classes
                .iter()
                .filter(|census| census.repeat == "9/10");
            let (mut many, mut words) = (Vec::new(), Vec::new());
            for census in own {
                let share = 1.0 - census.traps as f64 / census.local_maxima as f64;
                many.push(share > 0.9999);
                words.push(format!("T={} {:.4} %", census.length, 100.0 * share));
            }
            whole(found).parts(&many, words.join(", "))
        },
    ),
    claim(
        "g6:one-in-eight",
        SECTION,
        "A chain ends in a trap about once in eight runs.",
        "chain --task parity --lengths 8 --inputs markov:9/10 --kernel metropolis \
         --tau 2e-3 --sweeps 3000 --chains 512",
        one_in_eight,
    ),
    claim(
        "g6:positions",
        SECTION,
        "Every trap discards one or two positions of the input.",
        "inspect --code traps.json#0",
        |facts| {
            let found = facts.probes.correlated()?;
            let sizes = found
                .classes
                .iter()
                .flat_map(|census| census.ignored_sizes.keys());
            let sizes: BTreeSet<usize> = sizes.copied().collect();
            let odd = |census: &TrapCensus| {
                let sizes = census.ignored_sizes.iter();
                sizes
                    .filter(|(size, _)| *size % 2 == 1)
                    .map(|(_, orbits)| orbits)
                    .sum::<u64>()
            };
            let odd: u64 = found.classes.iter().map(odd).sum();
            let words: Vec<String> = sizes.iter().map(usize::to_string).collect();
            whole(found).holds(
                sizes.iter().all(|size| [1, 2].contains(size)),
                format!(
                    "traps ignore {} positions, never an odd number ({odd} orbits do), over \
                     {} values of T and k (erratum 2)",
                    words.join(", "),
                    found.classes.len()
                ),
            )
        },
    ),
    claim(
        "g6:rewards",
        SECTION,
        "A trap that discards m positions has reward (1 + (2k-1)^m) / 2.",
        "inspect --code traps.json#0",
        |facts| {
            let found = facts.probes.correlated()?;
            let sum = |of: fn(&TrapCensus) -> u64| found.classes.iter().map(of).sum::<u64>();
            let (right, all) = (
                sum(|census| census.reward_formula),
                sum(|census| census.orbits),
            );
            let literal = sum(|census| census.reward_by_number);
            whole(found).parts(
                &[right == all, literal == all],
                format!(
                    "{right} of {all} orbits of traps have it with m the summed gaps of the \
                     ignored positions paired in order, {literal} with m their number (erratum 2)"
                ),
            )
        },
    ),
    claim(
        "g6:barriers",
        SECTION,
        "Escape barriers are 0.04 (2k-1)^j at k = 0.9.",
        "enumerate --task parity --lengths 8 --inputs markov:9/10",
        |facts| {
            let found = facts.probes.correlated()?;
            let list = &found.classes;
            let losses: usize = list.iter().map(|census| census.losses.len()).sum();
            let right: u64 = list.iter().map(|census| census.losses_of_formula).sum();
            let of_loss = |census: &&TrapCensus| {
                let mut barriers = census.barriers.iter();
                barriers.all(|barrier| census.losses.contains(barrier))
            };
            let plain = list.iter().filter(of_loss).count();
            whole(found).parts(
                &[right as usize == losses, plain == list.len()],
                format!(
                    "largest single losses are (1-k)(2k-1)^(j+1)/2 in {right} of {losses} \
                     cases over all T and k; as drops below the trap only {plain} of {} \
                     values of T and k have no others (erratum 10)",
                    list.len()
                ),
            )
        },
    ),
    claim(
        "g6:removes",
        SECTION,
        "Removing the correlation removes the traps.",
        "enumerate --task parity --lengths 8",
        |facts| numbers(facts, &ITEM, [Key::new(UNCORRELATED_8, Quantity::Traps)]),
    ),
    claim(
        "g6:tied-endpoints",
        SECTION,
        "None of twelve tied chains reaches the optimum; their mean is 0.897 with \
         a spread of 0.044.",
        "reproduce tab:trapsexist",
        |facts| {
            let keys = [Quantity::EndReward, Quantity::EndsAtOne].map(|of| Key::new(TIED, of));
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g6:tied-distinct",
        SECTION,
        "They freeze at twelve distinct rewards between 0.830 and 0.976.",
        "reproduce tab:trapsexist",
        |facts| {
            let rewards = facts.ends(CHAINS_TIED, TIED, None)?.rewards;
            let distinct: BTreeSet<u64> = rewards.iter().map(|reward| reward.to_bits()).collect();
            let (low, high) = (
                rewards.iter().copied().fold(1.0, f64::min),
                rewards.iter().copied().fold(0.0, f64::max),
            );
            sampled(rewards.len() as u64, 12).holds(
                distinct.len() == rewards.len(),
                format!(
                    "ours: {} of {} distinct, between {low:.3} and {high:.3}",
                    distinct.len(),
                    rewards.len()
                ),
            )
        },
    ),
    claim(
        "g6:tied-frozen",
        SECTION,
        "From 5,000 to 20,000 sweeps their rewards do not change at all.",
        "reproduce tab:trapsexist",
        |facts| {
            let runs = facts.runs(CHAINS_TIED, TIED)?;
            let marks = runs
                .iter()
                .filter_map(|run| Some((reward_at(run, 5_000)?, reward_at(run, 20_000)?)));
            let marks: Vec<(&str, &str)> = marks.collect();
            let same = marks
                .iter()
                .filter(|(before, after)| before == after)
                .count();
            sampled(marks.len() as u64, 12).parts(
                &[same == marks.len(), same > 0],
                format!("{same} of {} exactly the same", marks.len()),
            )
        },
    ),
    claim(
        "g6:tied-certified",
        SECTION,
        "Ten of twelve are certified traps, two are bounded.",
        "certify --code ends.json --out verdicts.json",
        |facts| {
            let quantities = [Quantity::Certified, Quantity::Bounded, Quantity::Escapes];
            numbers(facts, &ITEM, quantities.map(|of| Key::new(TIED, of)))
        },
    ),
    claim(
        "g6:tied-shelves",
        SECTION,
        "Certified shelves have at most 768 codes and a diameter of at most 9, so \
         neutral moves unlock no further ones.",
        "certify --code ends.json",
        |facts| {
            let ends = facts.endpoints()?;
            let certified = || ends.iter().filter(|end| end.is_certified());
            let shelf = certified().map(|end| end.shelf).max().unwrap_or(0);
            let depth = certified().map(|end| end.depth).max().unwrap_or(0);
            sampled(ends.len() as u64, 12).parts(
                &[shelf <= 768, depth <= 9],
                format!(
                    "{} certified, the largest shelf {shelf} codes, the deepest {depth} \
                     changes from its endpoint (errata 4, 14)",
                    certified().count()
                ),
            )
        },
    )
    .touching(Matters::Protocol),
    claim(
        "g6:tied-alone",
        SECTION,
        "Two certified endpoints are alone on their shelf.",
        "certify --code ends.json",
        |facts| numbers(facts, &ITEM, [Key::new(TIED, Quantity::Alone)]),
    ),
];
