//! States G.6: correlations and tying make traps (tab:trapsexist).

use std::collections::BTreeSet;

use serde_json::Value;

use super::claim;
use crate::claims::decide::{holds, numbers, parts, say, such};
use crate::claims::facts::checkpoints;
use crate::claims::{Claim, Decided, Facts, Verdict};
use crate::reproduce::studies::CHAINS_TIED;

const SECTION: &str = "App. G.6";
const ITEM: &str = "tab:trapsexist";
const TIED: &str = "quasigroup (0,3) T=7 tied";

/// Fewer quenches cannot tell an eighth from a twelfth.
const ENOUGH: u64 = 256;

/// The share of quenches that end in a trap, by T and k: one in eight where the interval holds it.
pub fn one_in_eight(facts: &Facts) -> Option<Decided> {
    let points = facts.probe("quench")?["points"].as_array()?;
    let own = |point: &&Value| point["tau"] == 2e-3;
    let within =
        |point: &Value| Some((point["low"].as_f64()?..=point["high"].as_f64()?).contains(&0.125));
    let paper: Vec<&Value> = points
        .iter()
        .filter(own)
        .filter(|point| point["k"] == "9/10" && (point["T"] == 6 || point["T"] == 8))
        .collect();
    let others: Vec<&Value> = points
        .iter()
        .filter(own)
        .filter(|point| !paper.contains(point))
        .collect();
    let word = |point: &&Value| {
        let share = 100.0 * point["trapped"].as_f64().unwrap_or(0.0)
            / point["runs"].as_f64().unwrap_or(1.0);
        let end = |key: &str| 100.0 * point[key].as_f64().unwrap_or(0.0);
        format!(
            "T={} k={} {share:.1} % ({:.1} to {:.1})",
            point["T"],
            point["k"].as_str().unwrap_or(""),
            end("low"),
            end("high")
        )
    };
    let mut holds: Vec<bool> = paper.iter().filter_map(|point| within(point)).collect();
    let elsewhere = others
        .iter()
        .filter(|point| within(point) == Some(true))
        .count();
    if !others.is_empty() {
        holds.push(elsewhere == others.len());
    }
    let words: Vec<String> = paper.iter().map(word).collect();
    let trapped = |point: &&&Value| point["trapped"].as_u64();
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
    let few = |point: &&Value| point["runs"].as_u64().is_some_and(|runs| runs < ENOUGH);
    if paper.is_empty() || paper.iter().any(few) {
        say(Verdict::Open, text)
    } else {
        parts(&holds, text)
    }
}

/// The censuses of correlated parity.
fn censuses(facts: &Facts) -> Option<&Vec<Value>> {
    facts.probe("correlated")?["classes"].as_array()
}

fn whole(value: &Value) -> f64 {
    value
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or(f64::NAN)
}

pub const CLAIMS: &[Claim] = &[
    claim(
        "g6:counts",
        SECTION,
        "The table counts the local maxima and traps of correlated parity at T = \
         4 to 8.",
        "enumerate --task parity --lengths 8 --inputs markov:9/10",
        |facts| {
            such(facts, ITEM, |row| {
                row.row.starts_with("parity k=9/10")
                    && matches!(
                        &row.quantity[..],
                        "cells" | "codes" | "local maxima" | "traps"
                    )
            })
        },
    ),
    claim(
        "g6:exits",
        SECTION,
        "Above 99.99 % of the local maxima have an exit at no cost.",
        "enumerate --task parity --lengths 8 --inputs markov:9/10",
        |facts| {
            let own = censuses(facts)?.iter().filter(|line| line["k"] == "9/10");
            let shares: Vec<(u64, f64)> = own
                .filter_map(|line| {
                    Some((
                        line["T"].as_u64()?,
                        1.0 - whole(&line["traps"]) / whole(&line["local_maxima"]),
                    ))
                })
                .collect();
            let words: Vec<String> = shares
                .iter()
                .map(|(length, share)| format!("T={length} {:.4} %", 100.0 * share))
                .collect();
            parts(
                &shares
                    .iter()
                    .map(|(_, share)| *share > 0.9999)
                    .collect::<Vec<_>>(),
                words.join(", "),
            )
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
            let list = censuses(facts)?;
            let mut sizes: BTreeSet<String> = BTreeSet::new();
            let mut odd = 0;
            for line in list {
                sizes.extend(line["ignored_sizes"].as_object()?.keys().cloned());
                odd += line["odd"].as_u64()?;
            }
            let sizes: Vec<String> = sizes.into_iter().collect();
            holds(
                sizes.iter().all(|size| size == "1" || size == "2"),
                format!(
                    "traps ignore {} positions, never an odd number ({odd} orbits do), over \
                     {} values of T and k (erratum 2)",
                    sizes.join(", "),
                    list.len()
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
            let list = censuses(facts)?;
            let sum = |key: &str| {
                list.iter()
                    .filter_map(|line| line[key].as_u64())
                    .sum::<u64>()
            };
            let (right, all) = (sum("reward_formula"), sum("orbits"));
            let literal = sum("reward_by_number");
            parts(
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
            let list = censuses(facts)?;
            let losses: usize = list
                .iter()
                .filter_map(|line| line["losses"].as_array())
                .map(Vec::len)
                .sum();
            let right: u64 = list
                .iter()
                .filter_map(|line| line["losses_of_formula"].as_u64())
                .sum();
            let of_loss = |line: &Value| {
                line["barriers"].as_array().is_some_and(|barriers| {
                    barriers.iter().all(|barrier| {
                        line["losses"]
                            .as_array()
                            .is_some_and(|losses| losses.contains(barrier))
                    })
                })
            };
            let plain = list.iter().filter(|line| of_loss(line)).count();
            parts(
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
        |facts| numbers(facts, ITEM, &[("parity k=1/2 T=8", "traps")]),
    ),
    claim(
        "g6:tied-endpoints",
        SECTION,
        "None of twelve tied chains reaches the optimum; their mean is 0.897 with \
         a spread of 0.044.",
        "reproduce tab:trapsexist",
        |facts| {
            numbers(
                facts,
                ITEM,
                &[(TIED, "J of the endpoints"), (TIED, "endpoints at 1")],
            )
        },
    ),
    claim(
        "g6:tied-distinct",
        SECTION,
        "They freeze at twelve distinct rewards between 0.830 and 0.976.",
        "reproduce tab:trapsexist",
        |facts| {
            let rewards = facts
                .data
                .has(CHAINS_TIED)
                .then(|| facts.data.ends(CHAINS_TIED, "qg03-tied", "", None).rewards)?;
            let distinct: BTreeSet<u64> = rewards.iter().map(|reward| reward.to_bits()).collect();
            let (low, high) = (
                rewards.iter().copied().fold(1.0, f64::min),
                rewards.iter().copied().fold(0.0, f64::max),
            );
            holds(
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
            let runs = facts.runs(CHAINS_TIED, "qg03-tied")?;
            let marks: Vec<_> = runs.iter().map(|run| checkpoints(run)).collect();
            let known = marks
                .iter()
                .filter(|marks| marks.contains_key(&5000) && marks.contains_key(&20000))
                .count();
            let same = marks
                .iter()
                .filter(|marks| marks.get(&5000).is_some() && marks.get(&5000) == marks.get(&20000))
                .count();
            if known == 0 {
                return say(
                    Verdict::Open,
                    "the records at this scale end before sweep 20,000",
                );
            }
            parts(
                &[same == known, same > 0],
                format!("{same} of {known} exactly the same"),
            )
        },
    ),
    claim(
        "g6:tied-certified",
        SECTION,
        "Ten of twelve are certified traps, two are bounded.",
        "certify --code ends.json --out verdicts.json",
        |facts| {
            numbers(
                facts,
                ITEM,
                &[(TIED, "certified"), (TIED, "bounded"), (TIED, "escapes")],
            )
        },
    ),
    claim(
        "g6:tied-shelves",
        SECTION,
        "Certified shelves have at most 768 codes and a diameter of at most 9, so \
         neutral moves unlock no further ones.",
        "certify --code ends.json",
        |facts| {
            let ends = &facts.data.landscape.endpoints;
            let certified: Vec<_> = ends
                .iter()
                .filter(|end| end.verdict == "certified")
                .collect();
            let (shelf, depth) = (
                certified.iter().map(|end| end.shelf).max()?,
                certified.iter().map(|end| end.depth).max()?,
            );
            parts(
                &[shelf <= 768, depth <= 9],
                format!(
                    "{} certified, the largest shelf {shelf} codes, the deepest {depth} \
                     changes from its endpoint (errata 4, 14)",
                    certified.len()
                ),
            )
        },
    ),
    claim(
        "g6:tied-alone",
        SECTION,
        "Two certified endpoints are alone on their shelf.",
        "certify --code ends.json",
        |facts| numbers(facts, ITEM, &[(TIED, "certified, alone on the shelf")]),
    ),
];
