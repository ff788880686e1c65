//! States G.6: correlations and tying make traps (tab:trapsexist).

use std::collections::BTreeSet;

use super::{
    Absent, Basis, Claim, Decided, INTERVAL, Matters, ReproductionFacts, claim, exhaustive_of,
    numbers, ours, reward_at, sampled,
};
use crate::claims::probes::census::{CorrelatedCensus, TrapCensus};
use crate::claims::probes::chains::QuenchGroup;
use crate::claims::probes::tied::Choices;
use crate::claims::{BasisKind, StatementVerdict};
use crate::reproduce::Key;
use crate::reproduce::classes::TIED;
use crate::reproduce::items::trapsexist::{CORRELATED, ITEM, TrapsExistQuantity, UNCORRELATED_8};
use crate::reproduce::landscape::Endpoint;
use crate::reproduce::studies::CHAINS_TIED;

const SECTION: &str = "App. G.6";

/// Fewer quenches cannot tell an eighth from a twelfth.
const ENOUGH: u64 = 256;

/// Among so many shelves there is, in 99 of 100 cases, one of a kind to which one in ten belongs.
const ONE_IN_TEN: u64 = 44;

/// The share of quenches that end in a trap at the T and k that the paper quenched: one in eight where both
/// intervals contain it. Other T and k are a remark. It catches a kernel or a law of inputs that changes the
/// share by a third.
fn one_in_eight(facts: &ReproductionFacts) -> Result<Decided, Absent> {
    let points = &facts.probes.quench()?.points;
    let is_paper_s =
        |point: &&QuenchGroup| point.repeat == "9/10" && [6, 8].contains(&point.length);
    let (paper, others): (Vec<&QuenchGroup>, Vec<&QuenchGroup>) = points
        .iter()
        .filter(|point| point.tau == 2e-3)
        .partition(is_paper_s);
    let percent = |point: &QuenchGroup| 100.0 * point.share().rate().unwrap_or(0.0);
    let (mut holds, mut words) = (Vec::new(), Vec::new());
    for point in &paper {
        let interval = point.share().interval(INTERVAL);
        holds.push((interval.low..=interval.high).contains(&0.125));
        words.push(format!(
            "T={} {:.1} % ({:.1} to {:.1})",
            point.length,
            percent(point),
            100.0 * interval.low,
            100.0 * interval.high
        ));
    }
    let mut text = format!(
        "share of quenches at 2e-3 that end below 0.99, k = 9/10, with 99 % intervals: {}",
        words.join(", ")
    );
    let trapped = |point: &&&QuenchGroup| point.trapped;
    let ends = [
        others.iter().min_by_key(trapped),
        others.iter().max_by_key(trapped),
    ];
    if let [Some(low), Some(high)] = ends {
        text += &format!(
            "; at {} other T and k it is between {:.1} % (T={} k={}) and {:.1} % (T={} k={})",
            others.len(),
            percent(low),
            low.length,
            low.repeat,
            percent(high),
            high.length,
            high.repeat
        );
    }
    let fewest = paper.iter().map(|point| point.runs).min().unwrap_or(0);
    sampled(fewest, ENOUGH).parts(&holds, text)
}

/// The values of T and k that a full run counts.
const COUNTED: [usize; 5] = [4, 5, 6, 7, 8];
const REPEATS: u64 = 4;

/// What the censuses of correlated parity rest on: all codes at all T and k of a full run.
pub fn whole(found: &CorrelatedCensus) -> Basis {
    let all = super::app_parity::all_codes(COUNTED.iter());
    let codes = found.classes.iter().map(|census| census.codes).sum();
    exhaustive_of(codes, REPEATS * all)
}

/// A decision on counts of the table that leave nothing to chance: all codes of the classes that were counted.
fn counted(decided: Decided, lengths: &[usize]) -> Decided {
    if decided.verdict == StatementVerdict::Undecided {
        return decided;
    }
    Decided {
        kind: BasisKind::Exhaustive,
        n: super::app_parity::all_codes(lengths.iter()),
        ..decided
    }
}

/// How many changes of the input a trap discards: m of its reward (1 + (2k-1)^m) / 2.
fn discarded(census: &TrapCensus) -> BTreeSet<u32> {
    let base = (2.0 * census.repeat.to_f64() - 1.0).ln();
    let rewards = census.rewards.iter().map(|reward| reward.to_f64());
    rewards
        .map(|reward| ((2.0 * reward - 1.0).ln() / base).round() as u32)
        .collect()
}

/// The largest prime factor.
fn largest_factor(mut number: usize) -> usize {
    let (mut largest, mut factor) = (1, 2);
    while number > 1 {
        if number.is_multiple_of(factor) {
            number /= factor;
            largest = factor;
        } else {
            factor += 1;
        }
    }
    largest
}

fn listed<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    let words: Vec<String> = numbers.into_iter().map(|n| n.to_string()).collect();
    words.join(", ")
}

pub const CLAIMS: &[Claim] = &[
    claim(
        "g6:counts",
        SECTION,
        BasisKind::Exhaustive,
        "The table counts the local maxima and traps of correlated parity at T = \
         4 to 8.",
        "enumerate --task parity --lengths 8 --inputs markov:9/10",
        |facts| {
            let quantities = [
                TrapsExistQuantity::Cells,
                TrapsExistQuantity::Codes,
                TrapsExistQuantity::LocalMaxima,
                TrapsExistQuantity::Traps,
            ];
            let keys = CORRELATED
                .into_iter()
                .flat_map(|class| quantities.map(|quantity| Key::new(class, quantity)));
            Ok(counted(numbers(facts, &ITEM, keys)?, &COUNTED))
        },
    ),
    claim(
        "g6:exits",
        SECTION,
        BasisKind::Exhaustive,
        "Above 99.99 % of the local maxima have an exit at no cost.",
        "enumerate --task parity --lengths 8 --inputs markov:9/10",
        |facts| {
            let found = facts.probes.correlated()?;
            let own = found
                .classes
                .iter()
                .filter(|census| census.repeats("9/10"));
            let (mut traps, mut maxima, mut words) = (0, 0, Vec::new());
            let exits = |traps: u64, maxima: u64| 1.0 - traps as f64 / maxima as f64;
            for census in own {
                traps += census.traps;
                maxima += census.local_maxima;
                let share = exits(census.traps, census.local_maxima);
                words.push(format!("T={} {:.4} %", census.length, 100.0 * share));
            }
            // Of all local maxima that were counted: the table itself has fewer at the small T.
            let all = exits(traps, maxima);
            whole(found).holds(
                all > 0.9999,
                format!(
                    "{:.4} % of the {maxima} local maxima at k = 9/10, all T together; by T: {}",
                    100.0 * all,
                    words.join(", ")
                ),
            )
        },
    ),
    claim(
        "g6:one-in-eight",
        SECTION,
        BasisKind::Sampled,
        "A chain ends in a trap about once in eight runs (12 % of seeds in section 5).",
        "chain --task parity --lengths 8 --inputs markov:9/10 --kernel metropolis \
         --tau 2e-3 --sweeps 3000 --runs 512",
        one_in_eight,
    ),
    claim(
        "g6:basins",
        SECTION,
        BasisKind::Sampled,
        "Rare as they are, traps carry large basins.",
        "chain --task parity --lengths 8 --inputs markov:9/10 --kernel metropolis \
         --tau 2e-3 --sweeps 3000 --runs 512",
        |facts| {
            let points = &facts.probes.quench()?.points;
            let censuses = &facts.probes.correlated()?.classes;
            let (mut large, mut words, mut fewest) = (Vec::new(), Vec::new(), u64::MAX);
            for point in points.iter().filter(|point| point.tau == 2e-3) {
                let own = |census: &&TrapCensus| {
                    census.length == point.length && census.repeats("9/10")
                };
                let census = censuses.iter().find(own);
                let Some(census) = census.filter(|_| point.repeat == "9/10") else {
                    continue;
                };
                // Quenches that end in a trap against the share of traps among local maxima and codes.
                let low = point.share().interval(INTERVAL).low;
                let among = census.traps as f64 / census.local_maxima as f64;
                large.push(low > among);
                fewest = fewest.min(point.runs);
                words.push(format!(
                    "T={} {:.1} % of quenches, {:.1e} of local maxima, {:.1e} of codes",
                    point.length,
                    100.0 * point.share().rate().unwrap_or(0.0),
                    among,
                    census.traps as f64 / census.codes as f64
                ));
            }
            let fewest = if large.is_empty() { 0 } else { fewest };
            let text = format!("traps at k = 9/10: {}", words.join("; "));
            sampled(fewest, ENOUGH).parts(&large, text)
        },
    ),
    claim(
        "g6:positions",
        SECTION,
        BasisKind::Exhaustive,
        "Every trap discards one or two positions of the input.",
        "inspect --code traps.json#0",
        |facts| {
            let found = facts.probes.correlated()?;
            let mut sizes = BTreeSet::new();
            let (mut changes, mut beyond) = (BTreeSet::new(), BTreeSet::new());
            for census in &found.classes {
                sizes.extend(census.ignored_sizes.keys().copied());
                let own = discarded(census);
                if own.iter().any(|m| ![1, 2].contains(m)) {
                    beyond.insert(census.length);
                }
                changes.extend(own);
            }
            let few = |n: usize| [1, 2].contains(&n);
            let reading = if beyond.is_empty() {
                String::new()
            } else {
                format!(", others than one or two at T = {}", listed(&beyond))
            };
            // At the longest T, where the orbits by what they ignore are the same at every k.
            let longest = found.classes.iter().map(|census| census.length).max();
            let mut at_longest = found
                .classes
                .iter()
                .filter(|census| Some(census.length) == longest)
                .map(|census| &census.ignored_sizes);
            let by_size = at_longest.next().filter(|first| at_longest.all(|own| own == *first));
            let by_size = by_size.zip(longest).map_or(String::new(), |(sizes, length)| {
                let words = sizes.iter().map(|(size, orbits)| format!("{orbits} orbits ignore {size}"));
                format!("at T = {length} and every k {}; ", listed(words))
            });
            // Every trap: positions as the paper says, or changes of the input as its formula counts.
            whole(found).holds(
                sizes.iter().all(|&size| few(size)) || beyond.is_empty(),
                format!(
                    "traps ignore {} positions over {} values of T and k; {by_size}counted as changes from \
                     one symbol to the next, the m of the reward, they ignore {}{reading} (erratum \
                     2)",
                    listed(&sizes),
                    found.classes.len(),
                    listed(&changes)
                ),
            )
        },
    ),
    claim(
        "g6:rewards",
        SECTION,
        BasisKind::Exhaustive,
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
        BasisKind::Exhaustive,
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
                    "largest losses of one change on the way out are (1-k)(2k-1)^(j+1)/2 in {right} of \
                     {losses} cases over all T and k; drops below the trap are all among these losses \
                     at {plain} of {} values of T and k (erratum 10)",
                    list.len()
                ),
            )
        },
    ),
    claim(
        "g6:removes",
        SECTION,
        BasisKind::Exhaustive,
        "Removing the correlation removes the traps.",
        "enumerate --task parity --lengths 8",
        |facts| {
            let traps = Key::new(UNCORRELATED_8, TrapsExistQuantity::Traps);
            Ok(counted(numbers(facts, &ITEM, [traps])?, &[8]))
        },
    ),
    claim(
        "g6:tied-endpoints",
        SECTION,
        BasisKind::Sampled,
        "None of twelve tied chains reaches the optimum; their mean is 0.897 with \
         a spread of 0.044.",
        "reproduce tab:trapsexist",
        |facts| {
            let keys = [TrapsExistQuantity::EndReward, TrapsExistQuantity::EndsAtOne].map(|of| Key::new(TIED, of));
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g6:tied-distinct",
        SECTION,
        BasisKind::Sampled,
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
        BasisKind::Sampled,
        "From 5,000 to 20,000 sweeps their rewards do not change at all.",
        "reproduce tab:trapsexist",
        |facts| {
            let runs = facts.runs(CHAINS_TIED, TIED)?;
            let mut marks: Vec<(&str, &str)> = Vec::new();
            for run in runs {
                marks.extend(reward_at(run, 5_000)?.zip(reward_at(run, 20_000)?));
            }
            let same = marks
                .iter()
                .filter(|(before, after)| before == after)
                .count();
            // Of every one: a chain that changes contradicts it.
            sampled(marks.len() as u64, 12).holds(
                same == marks.len(),
                format!("{same} of {} exactly the same", marks.len()),
            )
        },
    ),
    claim(
        "g6:tied-certified",
        SECTION,
        BasisKind::Sampled,
        "Ten of twelve are certified traps, two are bounded.",
        "certify --code ends.json --out verdicts.json",
        |facts| {
            let ends = facts.endpoints()?;
            let certified = ends.iter().filter(|end| end.is_certified()).count();
            let row = |of| facts.row(&ITEM, TIED, of);
            let (bounded, escapes) = (row(TrapsExistQuantity::Bounded)?, row(TrapsExistQuantity::Escapes)?);
            // That none has a way out is what twelve seeds can tell; how many of them have a small shelf is
            // a number of its own seeds.
            sampled(ends.len() as u64, 12).told(
                &[Some(ours(escapes)? == 0.0), (certified == 10).then_some(true)],
                format!(
                    "ours: {certified} of {} certified, {} bounded, {} have a way out; the paper's ten \
                     are of its own seeds, and G.2 has eleven (erratum 4)",
                    ends.len(),
                    bounded.ours_cell.text(),
                    escapes.ours_cell.text()
                ),
            )
        },
    ),
    claim(
        "g6:tied-shelves",
        SECTION,
        BasisKind::Sampled,
        "The certified shelves have between 1 and 768 codes, a diameter of at most \
         9, and sizes that are products of small integers.",
        "certify --code ends.json",
        |facts| {
            let ends = facts.endpoints()?;
            let certified: Vec<_> = ends.iter().filter(|end| end.is_certified()).collect();
            let small = |end: &&&Endpoint| end.shelf <= 768 && end.depth <= 9;
            let few = certified.iter().filter(small).count();
            let shelf = certified.iter().map(|end| end.shelf).max().unwrap_or(0);
            let depth = certified.iter().map(|end| end.depth).max().unwrap_or(0);
            let factor = certified.iter().map(|end| largest_factor(end.shelf)).max();
            let factor = factor.unwrap_or(1);
            // It describes the paper's own ten. One of ours beyond them says that the class has others; that there is
            // none among a dozen says little.
            sampled(ends.len() as u64, 12).told(
                &[
                    Some(2 * few > certified.len()),
                    (few < certified.len()).then_some(false),
                    (factor >= 10).then_some(false),
                ],
                format!(
                    "of the paper's own seeds; ours: {few} of {} certified shelves have at most 768 \
                     codes within 9 changes of the endpoint, the largest {shelf}, the deepest \
                     {depth} changes; no size has a prime factor above {factor} (errata 4, 14)",
                    certified.len()
                ),
            )
        },
    ),
    claim(
        "g6:tied-unlock",
        SECTION,
        BasisKind::Sampled,
        "Neutral moves on these shelves do not unlock further ones.",
        "certify --code ends.json",
        |facts| {
            let ends = facts.endpoints()?;
            let choices = &facts.probes.tied_neutral()?.endpoints;
            let (mut compared, mut words) = (0, Vec::new());
            for end in ends.iter().filter(|end| end.is_certified()) {
                let own = choices.iter().find(|own| own.run == end.run);
                let Some(product) = own.map(Choices::product) else {
                    continue;
                };
                compared += 1;
                if end.shelf as u128 > product {
                    words.push(format!("{} ({product})", end.shelf));
                }
            }
            let named = if words.is_empty() {
                String::new()
            } else {
                format!(": {}", words.join(", "))
            };
            // Neutral moves that unlock none are those of the endpoint, in all combinations at most. One shelf that has
            // more contradicts it; where none has, a dozen shelves are too few to say that none does.
            let needs = if words.is_empty() { ONE_IN_TEN } else { 10 };
            sampled(compared, needs).holds(
                words.is_empty(),
                format!(
                    "{} of {compared} certified shelves of ours have more codes than the endpoint's \
                     neutral changes have combinations{named}",
                    words.len()
                ),
            )
        },
    )
    .touching(Matters::Wording),
    claim(
        "g6:tied-alone",
        SECTION,
        BasisKind::Sampled,
        "Two certified endpoints are alone on their shelf.",
        "certify --code ends.json",
        |facts| numbers(facts, &ITEM, [Key::new(TIED, TrapsExistQuantity::Alone)]),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changes_that_traps_discard_come_of_their_rewards() {
        // T = 8, k = 9/10: rewards 0.9, 0.82 and 0.756 are m = 1, 2 and 3.
        let mut census: TrapCensus = serde_json::from_str(
            r#"{"length":8,"repeat":"9/10","codes":1,"local_maxima":1,"traps":1,"orbits":1,
                "ignored_sizes":{"2":1},"reward_formula":1,"reward_by_number":0,"rewards":
                ["9/10","41/50","189/250"],"losses":[],"losses_of_formula":0,"barriers":[]}"#,
        )
        .unwrap();
        assert_eq!(discarded(&census), BTreeSet::from([1, 2, 3]));
        census.rewards = vec!["41/50".to_owned().try_into().unwrap()];
        assert_eq!(discarded(&census), BTreeSet::from([2]));
    }

    #[test]
    fn independent_neutral_changes_multiply() {
        let choices = |cells: &[u64]| Choices {
            run: 0,
            cells: cells.to_vec(),
        };
        assert_eq!(choices(&[]).product(), 1);
        assert_eq!(choices(&[2, 3, 5]).product(), 30);
        assert_eq!(
            [1, 2, 324, 1120, 52_224].map(largest_factor),
            [1, 2, 3, 7, 17]
        );
    }
}
