//! States appendix F: the product formula, the density of states, the transition.

use std::collections::BTreeMap;

use super::{Absent, Claim, Facts, claim, exhaustive, exhaustive_of, undecided};

const SECTION: &str = "App. F";

/// The live codes of one length with so many half-resets, by reward.
pub type Band = (usize, BTreeMap<String, u64>);

/// Those of every length that has some.
pub fn by_resets(facts: &Facts, resets: usize) -> Result<Vec<Band>, Absent> {
    let found = facts.probes.parity_codes()?;
    let own = |(length, codes): (&usize, &crate::claims::probes::parity::CodesOf)| {
        Some((*length, codes.by_resets.get(&resets)?.clone()))
    };
    Ok(found.lengths.iter().filter_map(own).collect())
}

/// The codes of bands.
pub fn codes(bands: &[Band]) -> u64 {
    bands.iter().flat_map(|(_, rewards)| rewards.values()).sum()
}

/// Bands in words.
pub fn said(bands: &[Band]) -> String {
    format!("{bands:?} by T and reward")
}

/// All codes of parity at some lengths.
pub fn all_codes<'a>(lengths: impl Iterator<Item = &'a usize>) -> u64 {
    lengths.map(|length| 1u64 << (4 * length - 2)).sum()
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
            let found = facts.probes.parity_codes()?;
            let codes = found.sum(|codes| codes.codes);
            let right = found.sum(|codes| codes.formula_holds);
            exhaustive(codes).holds(
                codes == right,
                format!("{right} of {codes} codes, T = 2 to {}", found.longest()),
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
            let found = facts.probes.parity_codes()?;
            let pairs: Vec<[u64; 3]> = found.lengths.values().map(|codes| codes.pairs).collect();
            exhaustive(16).holds(
                pairs.iter().all(|pairs| *pairs == [2, 8, 6]),
                format!("{:?}", pairs[0]),
            )
        },
    ),
    claim(
        "f:density",
        SECTION,
        "C(T-1,k) 8^k 2^(T-1-k) codes have each of the rewards 1/2 + 2^-(k+1) and \
         1/2 - 2^-(k+1), the others 1/2.",
        "density --task parity --lengths 4",
        |facts| {
            let (mut checked, mut right, mut all) = (0u64, 0, 0);
            for k in 0..2u64 {
                let bands = by_resets(facts, k as usize)?;
                all += codes(&bands);
                for (length, rewards) in bands {
                    let n = length as u64 - 1;
                    let expected = binomial(n, k) * 8u64.pow(k as u32) * 2u64.pow((n - k) as u32);
                    checked += 1;
                    right += u64::from(
                        rewards.len() == 2 && rewards.values().all(|&count| count == expected),
                    );
                }
            }
            exhaustive(all).holds(
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
            let apart = &facts.probes.parity_codes()?.log_z_apart;
            let worst = apart.values().copied().fold(0.0, f64::max);
            let needs = all_codes([3, 4, 5].iter());
            exhaustive_of(all_codes(apart.keys()), needs).parts(
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
            let heat = &facts.probes.parity_heat()?.t200;
            let (half, leading) = (heat.three_quarters, heat.leading);
            exhaustive(1).parts(
                &[
                    (half / leading - 1.0).abs() < 0.01,
                    (half - leading).abs() < 0.1,
                ],
                format!(
                    "T = 200: the mean is 3/4 at {half:.3}, the bands cross at (6T-2) ln 2 = \
                     {:.3}, 6T ln 2 = {leading:.3} is the leading term (erratum 3)",
                    heat.crossing
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
            let heat = &facts.probes.parity_heat()?.t100;
            let (hot, cold) = (heat.hot, heat.cold);
            exhaustive(1).parts(
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
            let far = facts.probes.parity_heat()?.t40.two_level_apart;
            exhaustive(1).holds(
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
            let heat = &facts.probes.parity_heat()?.t100;
            let (drop, stated) = (heat.entropy_drop, heat.entropy_stated);
            exhaustive(1).holds(
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
            let heats = facts.probes.parity_heat()?;
            let (width, other) = (heats.t40.climb, heats.t200.climb);
            let exact = 4.0 * 4f64.ln();
            exhaustive(2).parts(
                &[(width - exact).abs() < 0.01, (other - exact).abs() < 0.01],
                format!(
                    "{width:.4} at T = 40 ({:.4} of 6T ln 2), {other:.4} at T = 200; \
                     4 ln 4 = {exact:.4}",
                    heats.t40.relative_climb
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
        |_| undecided("a reading, not a number: reward is intensive, entropy is not"),
    ),
];
