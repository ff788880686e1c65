//! States section 4: no defended minima, theorem 4.1 and its corollaries, parity.

use super::{Claim, Matters, claim, exhaustive, numbers, sampled};
use crate::reproduce::Key;
use crate::reproduce::items::shortfall;

const SECTION: &str = "4 Exact results";

pub const CLAIMS: &[Claim] = &[
    claim(
        "exact:window-behind",
        SECTION,
        "Cold Monte Carlo also arrives at reward 1 on the untied window (3,0), as \
         the section prints it (the table has (0,3)).",
        "chain --task quasigroup --lengths 5 --window 3,0 --kernel metropolis \
         --tau 1e-13 --sweeps 20000 --chains 12",
        |facts| {
            let found = facts.probes.behind()?;
            let arrivals: Vec<u64> = found.arrivals.iter().copied().flatten().collect();
            let last = arrivals
                .iter()
                .max()
                .map_or(String::new(), |last| format!(", the last at sweep {last}"));
            sampled(found.arrivals.len() as u64, 6).holds(
                arrivals.len() == found.arrivals.len(),
                format!(
                    "{} of {} chains of the quasigroup at T = {} arrive within {} sweeps{last}",
                    arrivals.len(),
                    found.arrivals.len(),
                    found.length,
                    found.cap
                ),
            )
        },
    ),
    claim(
        "exact:chains-solve",
        SECTION,
        "On the untied windows (0,0), (2,1), (1,1) and (0,3) with uncorrelated \
         inputs cold Monte Carlo always arrives at reward 1.",
        "reproduce tab:shortfall",
        |facts| {
            use shortfall::{ALL_UNTIED, ITEM, Quantity::AtOne, Runs::Chain};
            numbers(facts, &ITEM, [Key::new(ALL_UNTIED, AtOne(Chain))])
        },
    ),
    claim(
        "exact:several-lengths",
        SECTION,
        "Read over all untied classes, those of several lengths included, there \
         are no local minima.",
        "enumerate --task parity --lengths 2,3,4",
        |facts| {
            let several = facts.probes.lengths()?;
            let trapped = several.classes.iter().filter(|census| census.traps > 0);
            let named: Vec<String> = trapped
                .map(|census| format!("{}: {} traps", census.class, census.traps))
                .collect();
            exhaustive(several.codes()).holds(
                named.is_empty(),
                format!(
                    "{} classes counted whole; {}",
                    several.classes.len(),
                    if named.is_empty() {
                        "no trap".to_owned()
                    } else {
                        named.join("; ")
                    }
                ),
            )
        },
    ),
    claim(
        "exact:theorem",
        SECTION,
        "From every code of the untied (0,0) class with uniform inputs, changes \
         that never lower the reward lead to reward 1.",
        "escape --task z:5 --lengths 8 --code code.json --out path.json",
        |facts| {
            let found = facts.probes.escape()?;
            sampled(found.tried, 40).parts(
                &[found.arrived == found.tried, found.small == found.small_of],
                format!(
                    "{} of {} random codes of four tasks and {} of {} codes of parity at T = \
                     3, every path checked",
                    found.arrived, found.tried, found.small, found.small_of
                ),
            )
        },
    ),
    claim(
        "exact:one-unused",
        SECTION,
        "States left sharing a token leave exactly one token unused.",
        "escape --task z:5 --lengths 5 --code code.json",
        |facts| {
            let found = facts.probes.escape()?;
            let several = found.several_unused;
            sampled(found.tried, 40).holds(
                several == 0,
                format!(
                    "on {several} of {} random paths one step reroutes states to two tokens \
                     or more, all unused before (erratum 11)",
                    found.tried
                ),
            )
        },
    )
    .touching(Matters::Wording),
    claim(
        "exact:corollary-2",
        SECTION,
        "The path from a code is one of policies too, the reward linear on each \
         piece.",
        "escape --policy policy.json",
        |facts| {
            let found = facts.probes.gradient()?;
            let bend = found.bend;
            sampled(found.policies, 25).holds(
                bend < 1e-12,
                format!(
                    "J at the middle of a row's segment is off the mean of its ends by at \
                     most {bend:.1e}"
                ),
            )
        },
    ),
    claim(
        "exact:corollary-3",
        SECTION,
        "From every policy a path that never lowers the reward leads to reward 1.",
        "escape --policy policy.json",
        |facts| {
            let found = facts.probes.escape_policies()?;
            let drop = found.drop;
            sampled(found.policies, 6).holds(
                found.arrived == found.policies && drop < 1e-9,
                format!(
                    "{} of {} random policies, J falls by at most {drop:.1e} on the way to a \
                     code",
                    found.arrived, found.policies
                ),
            )
        },
    ),
    claim(
        "exact:saddles",
        SECTION,
        "A policy that is no maximum has, by definition, a direction in which the \
         reward rises.",
        "escape --policy uniform.json",
        |facts| {
            let saddle = facts.probes.escape_policies()?.uniform_is_saddle;
            exhaustive(1).parts(
                &[!saddle, true],
                if saddle {
                    "the uniform policy is stationary and no maximum: no change of one row \
                     raises J, only changes of several together (erratum 13)"
                } else {
                    "the uniform policy is no saddle"
                },
            )
        },
    )
    .touching(Matters::Wording),
    claim(
        "exact:dead",
        SECTION,
        "One dead step makes the reward of a parity code exactly 1/2, whatever \
         the other steps do.",
        "inspect --task parity --lengths 4 --code code.json",
        |facts| {
            let found = facts.probes.parity_codes()?;
            let (dead, off) = (
                found.sum(|codes| codes.dead),
                found.sum(|codes| codes.dead_not_half),
            );
            exhaustive(dead).holds(
                off == 0,
                format!(
                    "{dead} codes with a dead step at T = 2 to {}, {off} of them off 1/2",
                    found.longest()
                ),
            )
        },
    ),
    claim(
        "exact:no-resets",
        SECTION,
        "Of the live codes without half-resets 2^(T-1) have reward 1 and as many \
         reward 0.",
        "density --task parity --lengths 4",
        |facts| {
            let own = super::app_parity::by_resets(facts, 0)?;
            let right = |(length, rewards): &super::app_parity::Band| {
                let each = Some(&(1u64 << (length - 1)));
                rewards.len() == 2 && rewards.get("1/1") == each && rewards.get("0/1") == each
            };
            exhaustive(super::app_parity::codes(&own)).parts(
                &own.iter().map(right).collect::<Vec<_>>(),
                super::app_parity::said(&own),
            )
        },
    ),
    claim(
        "exact:one-reset",
        SECTION,
        "With one half-reset the reward is 3/4 or 1/4.",
        "density --task parity --lengths 4",
        |facts| {
            let own = super::app_parity::by_resets(facts, 1)?;
            let right = |(_, rewards): &super::app_parity::Band| rewards.keys().eq(["1/4", "3/4"]);
            exhaustive(super::app_parity::codes(&own)).parts(
                &own.iter().map(right).collect::<Vec<_>>(),
                super::app_parity::said(&own),
            )
        },
    ),
    claim(
        "exact:partition",
        SECTION,
        "The partition function of parity has the closed form that the paper \
         gives.",
        "parity --length 5 --tau 0.1 --density",
        |facts| {
            let apart = &facts.probes.parity_codes()?.log_z_apart;
            let worst = apart.values().copied().fold(0.0, f64::max);
            exhaustive(super::app_parity::all_codes(apart.keys())).holds(
                worst < 1e-12,
                format!(
                    "ln Z off that of all codes by at most {worst:.1e} (T from 3 on, {} \
                     lengths)",
                    apart.len()
                ),
            )
        },
    ),
    claim(
        "exact:mean-is-slope",
        SECTION,
        "The mean reward is the slope of ln Z in the inverse temperature.",
        "parity --length 40 --tau 0.006",
        |facts| {
            let far = facts.probes.parity_heat()?.t40.slope_off_mean;
            exhaustive(1).holds(
                far < 1e-6,
                format!("at T = 40 by differences: off by {far:.1e}"),
            )
        },
    ),
    claim(
        "exact:transition",
        SECTION,
        "At large T the mean reward jumps from 1 to 1/2 at the temperature 1/(6 T \
         ln 2).",
        "parity --length 200 --tau 0.0012",
        |facts| {
            let heat = &facts.probes.parity_heat()?.t200;
            let (hot, cold, middle) = (heat.hot, heat.cold, heat.at_leading);
            exhaustive(1).parts(
                &[
                    (hot - 0.5).abs() < 1e-3 && (cold - 1.0).abs() < 1e-3,
                    (middle - 0.75).abs() < 0.05,
                ],
                format!(
                    "T = 200: {hot:.4} a tenth above and {cold:.4} a tenth below; the bands \
                     cross at beta = {:.2} = (6T-2) ln 2, and at 6T ln 2 = {:.2} the mean is \
                     already {middle:.3} (erratum 3)",
                    heat.crossing, heat.leading
                ),
            )
        },
    ),
];
