//! States appendix F: the product formula, the density of states, the transition.

use std::collections::BTreeMap;

use foldglass::Reward;

use super::{
    Absent, BasisKind, Claim, Decided, ReproductionFacts, claim, exhaustive, exhaustive_of, proved,
};
use crate::claims::probes::parity::{Codes, Heat};

const SECTION: &str = "App. F";

/// The live codes of one length with so many half-resets, by reward.
pub type HalfResetBand = (usize, BTreeMap<String, u64>);

/// Those of every length that has some.
pub fn by_resets(facts: &ReproductionFacts, resets: usize) -> Result<Vec<HalfResetBand>, Absent> {
    let found = facts.probes.parity_codes()?;
    let own = |(length, codes): (&usize, &crate::claims::probes::parity::CodesOf)| {
        Some((*length, codes.by_resets.get(&resets)?.clone()))
    };
    Ok(found.lengths.iter().filter_map(own).collect())
}

/// The codes of bands.
pub fn codes(bands: &[HalfResetBand]) -> u64 {
    bands.iter().flat_map(|(_, rewards)| rewards.values()).sum()
}

/// Bands in words.
pub fn said(bands: &[HalfResetBand]) -> String {
    let band = |(length, rewards): &HalfResetBand| {
        let counts = rewards
            .iter()
            .map(|(reward, count)| format!("{count} of reward {reward}"));
        let counts: Vec<String> = counts.collect();
        format!("T = {length}: {}", counts.join(", "))
    };
    bands.iter().map(band).collect::<Vec<String>>().join("; ")
}

/// The rewards 1/2 - 2^-(k+1) and 1/2 + 2^-(k+1), as they are written in records.
fn rewards_of(k: usize) -> [String; 2] {
    let half = 1u64 << k;
    let [low, high] = [half - 1, half + 1].map(|part| Reward::new(part, 2 * half).to_string());
    [low, high]
}

/// All codes of parity at some lengths.
pub fn all_codes<'a>(lengths: impl Iterator<Item = &'a usize>) -> u64 {
    lengths.map(|length| 1u64 << (4 * length - 2)).sum()
}

/// The codes of each of the two rewards with k half-resets that the paper states, T = n + 1.
fn stated(n: u64, k: u64) -> u64 {
    binomial(n, k) * 8u64.pow(k as u32) * 2u64.pow((n - k) as u32)
}

fn binomial(n: u64, k: u64) -> u64 {
    (0..k).fold(1, |product, i| product * (n - i) / (i + 1))
}

/// Every band of every length, and the codes at 1/2, against the paper's counts.
fn density(found: &Codes) -> Result<Decided, Absent> {
    let (mut bands, mut right, mut halves) = (0u64, 0u64, 0u64);
    for (&length, codes) in &found.lengths {
        let n = length as u64 - 1;
        for k in 0..length {
            let expected = rewards_of(k).map(|reward| (reward, stated(n, k as u64)));
            bands += 1;
            right += u64::from(codes.by_resets.get(&k) == Some(&expected.into()));
        }
        let dead = (1u64 << (4 * length - 2)) - 2 * 10u64.pow(n as u32);
        let beyond = codes.by_resets.keys().any(|&k| k >= length);
        let is_right = codes.dead == dead && codes.dead_not_half == 0 && !beyond;
        halves += u64::from(is_right);
    }
    let lengths = found.lengths.len();
    exhaustive(found.sum(|codes| codes.codes)).holds(
        bands == right && halves == lengths as u64,
        format!(
            "T = 2 to {}, counted code by code: {right} of {bands} values of T and k have both \
             counts and both rewards, {halves} of {lengths} lengths the count at 1/2",
            found.longest()
        ),
    )
}

pub const CLAIMS: &[Claim] = &[
    // Catches a factor of the wrong sign or size, and a reward that is not the formula's at one code.
    claim(
        "f:product",
        SECTION,
        BasisKind::Proved,
        "The reward of every parity code is 1/2 + 1/2 times a product of one \
         factor for each step.",
        "inspect --task parity --lengths 4 --code code.json",
        |facts| {
            let found = facts.probes.parity_codes()?;
            let codes = found.sum(|codes| codes.codes);
            let right = found.sum(|codes| codes.formula_holds);
            proved(codes).holds(
                codes == right,
                format!(
                    "derived in the paper; {right} of {codes} codes, all of T = 2 to {}",
                    found.longest()
                ),
            )
        },
    ),
    // Catches a taxonomy that counts by what steps are called: these are the factors of the formula above.
    claim(
        "f:link-pairs",
        SECTION,
        BasisKind::Exhaustive,
        "Of the 16 pairs of links of a step two have a factor of 1 or -1, eight \
         of 1/2 or -1/2 (half-resets), six of 0 (dead).",
        "inspect --task parity --lengths 3 --code code.json",
        |facts| {
            let found = facts.probes.parity_codes()?;
            let pairs: Vec<[u64; 3]> = found.lengths.values().map(|codes| codes.pairs).collect();
            let [whole, half, dead] = pairs[0];
            exhaustive(16).holds(
                pairs.iter().all(|pairs| *pairs == [2, 8, 6]),
                format!(
                    "at the second step of all codes of T = 2: {whole}, {half} and {dead}; the same \
                     for {} of {} lengths",
                    pairs.iter().filter(|pairs| **pairs == [2, 8, 6]).count(),
                    pairs.len()
                ),
            )
        },
    ),
    // Catches a band of any k with a wrong count or reward, and dead codes that are too many or off 1/2.
    claim(
        "f:density",
        SECTION,
        BasisKind::Exhaustive,
        "C(T-1,k) 8^k 2^(T-1-k) codes have each of the rewards 1/2 + 2^-(k+1) and \
         1/2 - 2^-(k+1), and 2^(4T-2) - 2 10^(T-1) the reward 1/2.",
        "density --task parity --lengths 4",
        |facts| density(facts.probes.parity_codes()?),
    ),
    // Catches a closed form whose bands are off: the sum over codes does not use it.
    claim(
        "f:log-z",
        SECTION,
        BasisKind::Exhaustive,
        "ln Z agrees with that of all codes at T = 3 to 5 to 7e-15.",
        "parity --lengths 5 --tau 0.1",
        |facts| {
            let apart = &facts.probes.parity_codes()?.log_z_apart;
            let worst = apart.values().copied().fold(0.0, f64::max);
            let needs = all_codes([3, 4, 5].iter());
            exhaustive_of(all_codes(apart.keys()), needs).holds(
                worst <= 7e-15,
                format!("off by at most {worst:.1e} at five temperatures"),
            )
        },
    )
    .same_as("exact:partition"),
    // Catches a transition that is elsewhere to leading order, or that moves off 6T ln 2 as T grows.
    claim(
        "f:beta-c",
        SECTION,
        BasisKind::Exhaustive,
        "At large T the transition is at beta = 6 T ln 2.",
        "parity --lengths 200 --tau 0.0012",
        |facts| {
            let heats = facts.probes.parity_heat()?.all();
            // 6T ln 2 less the middle of the jump, in units of the climb from 0.6 to 0.9, and relative.
            let off = |heat: &Heat| (heat.leading - heat.three_quarters) / heat.climb;
            let relative = |heat: &Heat| heat.leading / heat.three_quarters - 1.0;
            let within = heats.iter().all(|(_, heat)| off(heat).abs() < 0.5);
            let falls = heats.windows(2).all(|pair| {
                let [(short, one), (long, other)] = [pair[0], pair[1]];
                relative(other) * long as f64 <= 1.1 * relative(one) * short as f64
            });
            let word = |(length, heat): &(usize, &Heat)| {
                format!("{:.2} % at T = {length}", 100.0 * relative(heat))
            };
            let words: Vec<String> = heats.iter().map(word).collect();
            let (_, last) = heats[heats.len() - 1];
            exhaustive(heats.len() as u64).holds(
                within && falls,
                format!(
                    "6T ln 2 is above the beta of mean reward 3/4 by {}. At T = 200 these are {:.3} \
                     and {:.3}; the difference, {:.3}, is {:.2} of the climb from 0.6 to 0.9. The \
                     two leading bands cross at (6T-2) ln 2 = {:.3} (erratum 3)",
                    words.join(", "),
                    last.leading,
                    last.three_quarters,
                    last.leading - last.three_quarters,
                    off(last),
                    last.crossing
                ),
            )
        },
    ),
    // Catches a third band that has the greatest weight somewhere: a third phase.
    claim(
        "f:dominance",
        SECTION,
        BasisKind::Exhaustive,
        "At every beta the codes of reward 1 or the dead codes outweigh every \
         other band.",
        "parity --lengths 200 --tau 0.0012 --density",
        |facts| {
            let found = &facts.probes.parity_heat()?.dominance;
            exhaustive(found.bands).holds(
                found.outweigh == 0,
                format!(
                    "of {} other bands at {} lengths from T = 2 on {} outweigh both at some beta from \
                     0 on; where the two cross all others together have {:.3} of Z at T = 10, \
                     1e{:.0} at T = 200",
                    found.bands,
                    found.lengths,
                    found.outweigh,
                    found.rest_at_10,
                    found.rest_log10
                ),
            )
        },
    ),
    // Catches a mean reward that stays between 1/2 and 1 on either side: a band that leads there.
    claim(
        "f:two-phases",
        SECTION,
        BasisKind::Exhaustive,
        "There are two phases only: the dead codes above the transition, the \
         solution's orbit below.",
        "parity --lengths 100 --tau 0.002",
        |facts| {
            let heats = facts.probes.parity_heat()?;
            let (hot, cold) = (heats.t100.hot, heats.t100.cold);
            let third = heats.dominance.outweigh;
            exhaustive(heats.dominance.bands).holds(
                (hot - 0.5).abs() < 1e-3 && (cold - 1.0).abs() < 1e-3 && third == 0,
                format!(
                    "mean rewards at T = 100, a tenth off the transition in beta: {hot:.6} and \
                     {cold:.6}; {third} bands other than these two lead at some beta"
                ),
            )
        },
    ),
    // Catches a third band with weight near the transition; the form has no free number but the crossing.
    claim(
        "f:two-level",
        SECTION,
        BasisKind::Exhaustive,
        "Near the transition the mean reward has a two-level form.",
        "parity --lengths 40 --tau 0.006",
        |facts| {
            let far = facts.probes.parity_heat()?.t40.two_level_apart;
            exhaustive(1).holds(
                far < 1e-3,
                format!("T = 40, within 10 of beta_c = (6T-2) ln 2: off by at most {far:.1e}"),
            )
        },
    ),
    // Catches an entropy that is off by a single ln 2: (3T-1) ln 2 against 3T ln 2.
    claim(
        "f:entropy",
        SECTION,
        BasisKind::Exhaustive,
        "The entropy drops by (3T-1) ln 2, which is beta_c times the latent heat \
         1/2.",
        "parity --lengths 100 --tau 0.002",
        |facts| {
            let heat = &facts.probes.parity_heat()?.t100;
            let (drop, stated) = (heat.entropy_drop, heat.entropy_stated);
            let (crossing, leading) = (heat.crossing / 2.0, heat.leading / 2.0);
            exhaustive(1).holds(
                (drop - stated).abs() < 0.01 && (crossing - stated).abs() < 0.01,
                format!(
                    "T = 100: {drop:.3}, stated {stated:.3}; beta_c / 2 is {crossing:.3} where the \
                     bands cross, {leading:.3} with 6T ln 2"
                ),
            )
        },
    ),
    // Catches a width that grows with T, and one in other units than beta.
    claim(
        "f:width",
        SECTION,
        BasisKind::Exhaustive,
        "The mean climbs from 0.6 to 0.9 over 4 ln 4 = 5.55 in beta at every \
         depth, 5.54 measured at T = 40, 4/119 of beta_c.",
        "parity --lengths 40 --tau 0.006",
        |facts| {
            let heats = facts.probes.parity_heat()?;
            let widths = [&heats.t40, &heats.t100, &heats.t200].map(|heat| heat.climb);
            let exact = 4.0 * 4f64.ln();
            let relative = widths[0] / heats.t40.crossing;
            exhaustive(3).holds(
                widths.iter().all(|width| (width - exact).abs() < 0.01)
                    && (relative - 4.0 / 119.0).abs() < 1e-4,
                format!(
                    "{:.4} at T = 40, {:.4} at T = 100, {:.4} at T = 200, {:.4} at T = 10; 4 ln 4 = \
                     {exact:.4}; at T = 40 this is {relative:.4} of (6T-2) ln 2 and {:.4} of \
                     6T ln 2, 4/119 = {:.4}",
                    widths[0],
                    widths[1],
                    widths[2],
                    heats.t10.climb,
                    heats.t40.relative_climb,
                    4.0 / 119.0
                ),
            )
        },
    ),
    // Catches a transition temperature that falls faster or slower than the number of cells grows.
    claim(
        "f:artefact",
        SECTION,
        BasisKind::Exhaustive,
        "That the transition temperature vanishes at large T is an artefact of \
         how temperature is measured: reward is intensive, entropy extensive.",
        "parity --lengths 200 --tau 0.0012",
        |facts| {
            let heats = facts.probes.parity_heat()?.all();
            let limit = 2.0 / (3.0 * std::f64::consts::LN_2);
            let far = |heat: &Heat| (heat.cells_over_beta / limit - 1.0).abs();
            let nears = heats.windows(2).all(|pair| far(pair[1].1) < far(pair[0].1));
            let word = |(length, heat): &(usize, &Heat)| {
                format!("{:.4} at T = {length}", heat.cells_over_beta)
            };
            let words: Vec<String> = heats.iter().map(word).collect();
            exhaustive(heats.len() as u64).holds(
                nears && far(heats[heats.len() - 1].1) < 0.01,
                format!(
                    "the transition's temperature per cell, (4T-2) tau_c, is {}; 2/(3 ln 2) = {limit:.4}",
                    words.join(", ")
                ),
            )
        },
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::StatementVerdict;
    use crate::claims::probes::parity::CodesOf;

    /// T = 4 as the paper counts it.
    fn counted() -> Codes {
        let band =
            |(k, count): (usize, u64)| (k, rewards_of(k).map(|reward| (reward, count)).into());
        let codes = CodesOf {
            codes: 16_384,
            formula_holds: 16_384,
            dead: 14_384,
            dead_not_half: 0,
            by_resets: [(0, 8), (1, 96), (2, 384), (3, 512)].map(band).into(),
            pairs: [2, 8, 6],
        };
        Codes {
            lengths: [(4, codes)].into(),
            log_z_apart: BTreeMap::new(),
        }
    }

    #[test]
    fn the_density_of_states_is_compared_band_by_band() {
        assert_eq!(
            density(&counted()).unwrap().verdict,
            StatementVerdict::Holds
        );
        let change: [fn(&mut CodesOf); 4] = [
            |codes| *codes.by_resets.get_mut(&2).unwrap().get_mut("5/8").unwrap() += 1,
            |codes| {
                let band = codes.by_resets.get_mut(&3).unwrap();
                let count = band.remove("9/16").unwrap();
                band.insert("5/8".to_owned(), count);
            },
            |codes| codes.dead -= 1,
            |codes| codes.dead_not_half = 1,
        ];
        for change in change {
            let mut found = counted();
            change(found.lengths.get_mut(&4).unwrap());
            assert_eq!(
                density(&found).unwrap().verdict,
                StatementVerdict::Contradicted
            );
        }
    }
}
