//! States appendix F: the product formula, the density of states, the transition.

use std::collections::BTreeMap;

use super::claim;
use crate::claims::decide::{holds, parts, say};
use crate::claims::{Claim, Facts, Verdict};

const SECTION: &str = "App. F";

/// By length: how many live codes with so many half-resets have which reward.
pub fn by_resets(facts: &Facts, resets: usize) -> Option<Vec<(usize, BTreeMap<String, u64>)>> {
    let all = facts.probe("parity-codes")?.as_object()?;
    let mut list = Vec::new();
    for (key, value) in all {
        let Some(length) = key.strip_prefix('T').and_then(|text| text.parse().ok()) else {
            continue;
        };
        let own = value["by_resets"].get(resets.to_string())?;
        list.push((length, serde_json::from_value(own.clone()).ok()?));
    }
    list.sort_by_key(|(length, _)| *length);
    Some(list)
}

fn binomial(n: u64, k: u64) -> u64 {
    (0..k).fold(1, |product, i| product * (n - i) / (i + 1))
}

pub const CLAIMS: &[Claim] = &[
    claim(
        "f:product",
        SECTION,
        "The reward of every parity code is 1/2 + 1/2 times a product of one \
         factor a step.",
        "inspect --task parity --lengths 4 --code code.json",
        |facts| {
            let all = facts.probe("parity-codes")?.as_object()?;
            let own: Vec<&serde_json::Value> = all
                .iter()
                .filter(|(key, _)| key.starts_with('T'))
                .map(|(_, value)| value)
                .collect();
            let codes: u64 = own.iter().filter_map(|value| value["codes"].as_u64()).sum();
            let right: u64 = own
                .iter()
                .filter_map(|value| value["formula_holds"].as_u64())
                .sum();
            holds(
                codes == right,
                format!("{right} of {codes} codes, T = 2 to {}", own.len() + 1),
            )
        },
    ),
    claim(
        "f:link-pairs",
        SECTION,
        "Of the 16 pairs of links of a step two track the state or its opposite, \
         eight are half-resets, six are dead.",
        "inspect --task parity --lengths 3 --code code.json",
        |facts| {
            let pairs = &facts.probe("parity-codes")?["T3"]["pairs"];
            holds(*pairs == serde_json::json!([2, 8, 6]), format!("{pairs}"))
        },
    ),
    claim(
        "f:density",
        SECTION,
        "C(T-1,k) 8^k 2^(T-1-k) codes have each of the rewards 1/2 + 2^-(k+1) and \
         1/2 - 2^-(k+1), the others 1/2.",
        "density --task parity --lengths 4",
        |facts| {
            let (mut checked, mut right) = (0, 0);
            for k in 0..4u64 {
                for (length, rewards) in by_resets(facts, k as usize).unwrap_or_default() {
                    let n = length as u64 - 1;
                    let expected = binomial(n, k) * 8u64.pow(k as u32) * 2u64.pow((n - k) as u32);
                    checked += 1;
                    right += usize::from(
                        rewards.len() == 2 && rewards.values().all(|&count| count == expected),
                    );
                }
            }
            (checked > 0).then_some(())?;
            holds(
                checked == right,
                format!("{right} of {checked} bands, counted code by code"),
            )
        },
    ),
    claim(
        "f:log-z",
        SECTION,
        "ln Z agrees with that of all codes at T = 3 to 5 to 7e-15.",
        "parity --length 5 --tau 0.1",
        |facts| {
            let apart = facts.probe("parity-codes")?["log_z_apart"].as_array()?;
            let worst = apart
                .iter()
                .filter_map(serde_json::Value::as_f64)
                .fold(0.0, f64::max);
            parts(
                &[worst < 1e-12, worst <= 7e-15],
                format!(
                    "off by at most {worst:.1e} over five temperatures; the last digits are \
                     those of the summation"
                ),
            )
        },
    ),
    claim(
        "f:beta-c",
        SECTION,
        "The transition is at beta = 6 T ln 2.",
        "parity --length 200 --tau 0.0012",
        |facts| {
            let at = |path: &str| facts.number("parity-heat", path);
            let (crossing, half, leading) = (
                at("/T200/crossing")?,
                at("/T200/three_quarters")?,
                at("/T200/leading")?,
            );
            parts(
                &[
                    (half / leading - 1.0).abs() < 0.01,
                    (half - leading).abs() < 0.1,
                ],
                format!(
                    "T = 200: the mean is 3/4 at {half:.3}, the bands cross at (6T-2) ln 2 = \
                     {crossing:.3}, 6T ln 2 = {leading:.3} is the leading term (erratum 3)"
                ),
            )
        },
    ),
    claim(
        "f:two-phases",
        SECTION,
        "There are two phases only: the dead codes above the transition, the \
         solution's orbit below.",
        "parity --length 100 --tau 0.002",
        |facts| {
            let at = |path: &str| facts.number("parity-heat", path);
            let (hot, cold) = (at("/T100/hot")?, at("/T100/cold")?);
            parts(
                &[(hot - 0.5).abs() < 1e-3, (cold - 1.0).abs() < 1e-3],
                format!("T = 100, a tenth off the transition: {hot:.6} and {cold:.6}"),
            )
        },
    ),
    claim(
        "f:two-level",
        SECTION,
        "Near the transition the mean reward has a two-level form.",
        "parity --length 40 --tau 0.006",
        |facts| {
            let far = facts.number("parity-heat", "/T40/two_level_apart")?;
            holds(
                far < 1e-3,
                format!("T = 40, within 10 of beta_c = (6T-2) ln 2: off by at most {far:.1e}"),
            )
        },
    ),
    claim(
        "f:entropy",
        SECTION,
        "The entropy drops by (3T-1) ln 2, which is beta_c times the latent heat \
         1/2.",
        "parity --length 100 --tau 0.002",
        |facts| {
            let at = |path: &str| facts.number("parity-heat", path);
            let (drop, stated) = (at("/T100/entropy_drop")?, at("/T100/entropy_stated")?);
            holds(
                (drop / stated - 1.0).abs() < 0.01,
                format!(
                    "T = 100: {drop:.3}, stated {stated:.3}; beta_c / 2 is this with beta_c = \
                     (6T-2) ln 2, not 6T ln 2"
                ),
            )
        },
    ),
    claim(
        "f:width",
        SECTION,
        "The mean climbs from 0.6 to 0.9 over 4 ln 4 = 5.55 in beta at every \
         depth, 5.54 measured at T = 40.",
        "parity --length 40 --tau 0.006",
        |facts| {
            let at = |path: &str| facts.number("parity-heat", path);
            let (width, other, relative) = (
                at("/T40/climb")?,
                at("/T200/climb")?,
                at("/T40/relative_climb")?,
            );
            let exact = 4.0 * 4f64.ln();
            parts(
                &[(width - exact).abs() < 0.01, (other - exact).abs() < 0.01],
                format!(
                    "{width:.4} at T = 40 ({relative:.4} of 6T ln 2), {other:.4} at T = 200; \
                     4 ln 4 = {exact:.4}"
                ),
            )
        },
    ),
    claim(
        "f:artefact",
        SECTION,
        "That the transition temperature vanishes at large T is an artefact of \
         how temperature is measured.",
        "parity --length 200 --tau 0.0012",
        |_| {
            say(
                Verdict::Open,
                "a reading, not a number: reward is intensive, entropy is not",
            )
        },
    ),
];
