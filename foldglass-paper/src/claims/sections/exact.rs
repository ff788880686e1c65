//! States section 4: no defended minima, theorem 4.1 and its corollaries, parity.

use super::{Absent, BasisKind, Claim, Matters, claim, exhaustive, numbers, proved, sampled};
use crate::reproduce::Key;
use crate::reproduce::items::shortfall;

const SECTION: &str = "4 Exact results";

pub const CLAIMS: &[Claim] = &[
    claim(
        "exact:chains-solve",
        SECTION,
        BasisKind::Sampled,
        "On the untied windows (0,0), (2,1) and (1,1), and (0,3) in the table, with \
         uncorrelated inputs, Monte Carlo at vanishing temperature always arrives at \
         reward 1: all 268 chains of the table.",
        "reproduce tab:shortfall",
        |facts| {
            use shortfall::{ALL_UNTIED, ComparedRuns::Chain, ITEM, ShortfallQuantity::AtOne};
            numbers(facts, &ITEM, [Key::new(ALL_UNTIED, AtOne(Chain))])
        },
    ),
    claim(
        "exact:printed-window",
        SECTION,
        BasisKind::Sampled,
        "So it does on the untied window (3,0).",
        "chain --task quasigroup --lengths 5 --window 3,0 --kernel metropolis --tau 1e-13 \
         --sweeps 400 --runs 12",
        |facts| {
            let found = facts.probes.printed_window()?;
            sampled(found.chains, 12).holds(
                found.at_one == found.chains,
                format!(
                    "quasigroup at T = 5: {} of {} chains at 1 within {} sweeps; the paper's tables \
                     have the window (0,3) (erratum 9)",
                    found.at_one, found.chains, found.sweeps
                ),
            )
        },
    ),
    claim(
        "exact:theorem",
        SECTION,
        BasisKind::Proved,
        "From every code of the untied (0,0) class with uniform inputs, changes \
         that never lower the reward lead to reward 1.",
        "escape --task z:5 --lengths 8 --code code.json --out path.json",
        |facts| {
            let found = facts.probes.escape()?;
            let all = [found.arrived == found.tried, found.small == found.small_of];
            proved(found.tried + found.small_of).holds(
                all == [true; 2],
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
        BasisKind::Sampled,
        "Any two states left sharing a token leave exactly one token unused.",
        "escape --task z:5 --lengths 5 --code code.json",
        |facts| {
            let found = facts.probes.escape()?;
            let several = found.several_unused;
            sampled(found.tried, 40).holds(
                several == 0,
                format!(
                    "on {several} of {} random paths one step reroutes states to two tokens or more that no \
                     input emitted there before (erratum 11)",
                    found.tried
                ),
            )
        },
    )
    .touching(Matters::Wording),
    claim(
        "exact:corollary-2",
        SECTION,
        BasisKind::Proved,
        "The path from a code is one of policies too, the reward linear, and never \
         falling, on each piece.",
        "escape --policy policy.json",
        |facts| {
            let found = facts.probes.gradient()?;
            let bend = found.bend;
            let codes = facts.probes.escape()?;
            proved(codes.tried).holds(
                bend < 1e-12 && codes.arrived == codes.tried,
                format!(
                    "no change lowers J on {} of {} paths, and between two policies that differ in one \
                     row J is off linear by at most {bend:.1e}",
                    codes.arrived, codes.tried
                ),
            )
        },
    ),
    claim(
        "exact:corollary-3",
        SECTION,
        BasisKind::Proved,
        "From every policy a path that never lowers the reward leads to reward 1.",
        "escape --policy policy.json",
        |facts| {
            let found = facts.probes.escape_policies()?;
            let drop = found.drop;
            proved(found.policies).holds(
                found.arrived == found.policies && drop < 1e-9,
                format!(
                    "{} of {} random policies arrive by a path from their code that was checked, rows collapsing \
                     onto their best actions one after the other; J falls by at most {drop:.1e} on the way to \
                     the code",
                    found.arrived, found.policies
                ),
            )
        },
    ),
    claim(
        "exact:saddles",
        SECTION,
        BasisKind::Proved,
        "From a policy that is not a maximum a path of improving rewards exists.",
        "escape --policy uniform.json",
        |facts| {
            let found = facts.probes.escape_policies()?;
            let line = &found.uniform_line;
            let rises = line.windows(2).all(|pair| pair[1] > pair[0]);
            let [start, next, ..] = line[..] else {
                return Err(Absent::Runs("the line from the uniform policy to a code".to_owned()));
            };
            let climb = if rises {
                "yet J rises all along the line to a code that folds"
            } else {
                "and J does not rise all along the line to a code that folds"
            };
            let remark = if rises && found.uniform_is_saddle {
                ": a path need not be a change of one row (erratum 13)"
            } else {
                ""
            };
            proved(found.policies + 1).holds(
                rises && found.arrived == found.policies,
                format!(
                    "the uniform policy of the quasigroup is {}: no change of one row gains more than \
                     {:.1e}, {climb} (from {start:.5} to {next:.5} in its first tenth){remark}",
                    if found.uniform_is_saddle {
                        "stationary and not a maximum"
                    } else {
                        "not a saddle"
                    },
                    found.uniform_row_gain
                ),
            )
        },
    ),
    claim(
        "exact:dead",
        SECTION,
        BasisKind::Exhaustive,
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
        BasisKind::Exhaustive,
        "Of the live codes without half-resets 2^(T-1) have reward 1 and as many \
         reward 0.",
        "density --task parity --lengths 4",
        |facts| {
            let own = super::app_parity::by_resets(facts, 0)?;
            let right = |(length, rewards): &super::app_parity::HalfResetBand| {
                let each = Some(&(1u64 << (length - 1)));
                rewards.len() == 2 && rewards.get("1/1") == each && rewards.get("0/1") == each
            };
            exhaustive(super::app_parity::codes(&own))
                .holds(own.iter().all(right), super::app_parity::said(&own))
        },
    ),
    claim(
        "exact:one-reset",
        SECTION,
        BasisKind::Exhaustive,
        "With one half-reset the reward is 3/4 or 1/4.",
        "density --task parity --lengths 4",
        |facts| {
            let own = super::app_parity::by_resets(facts, 1)?;
            let right =
                |(_, rewards): &super::app_parity::HalfResetBand| rewards.keys().eq(["1/4", "3/4"]);
            exhaustive(super::app_parity::codes(&own))
                .holds(own.iter().all(right), super::app_parity::said(&own))
        },
    ),
    claim(
        "exact:partition",
        SECTION,
        BasisKind::Exhaustive,
        "The partition function of parity has the closed form that the paper \
         gives.",
        "parity --lengths 5 --tau 0.1 --density",
        |facts| {
            let apart = &facts.probes.parity_codes()?.log_z_apart;
            let worst = apart.values().copied().fold(0.0, f64::max);
            exhaustive(super::app_parity::all_codes(apart.keys())).holds(
                worst < 1e-12,
                format!(
                    "ln Z is off that of all codes by at most {worst:.1e} at five temperatures, T = 3 to \
                     {}",
                    apart.keys().max().unwrap_or(&3)
                ),
            )
        },
    ),
    claim(
        "exact:mean-is-slope",
        SECTION,
        BasisKind::Exhaustive,
        "The mean reward is the slope of ln Z in the inverse temperature.",
        "parity --lengths 40 --tau 0.006",
        |facts| {
            let heat = facts.probes.parity_heat()?;
            let all = [&heat.t10, &heat.t40, &heat.t100, &heat.t200];
            let far = all.map(|heat| heat.slope_off_mean);
            let far = far.into_iter().fold(0.0, f64::max);
            exhaustive(all.len() as u64).holds(
                far < 1e-6,
                format!(
                    "T = 10, 40, 100 and 200, at the transition, by differences of ln Z: off by at most \
                     {far:.1e}"
                ),
            )
        },
    ),
    claim(
        "exact:transition",
        SECTION,
        BasisKind::Exhaustive,
        "In the limit of large T the mean reward has a first-order transition from 1 to \
         1/2 at the temperature 1/(6 T ln 2).",
        "parity --lengths 200 --tau 0.0012",
        |facts| {
            let heat = facts.probes.parity_heat()?;
            let all = [&heat.t10, &heat.t40, &heat.t100, &heat.t200];
            let last = all[3];
            let sharper = all
                .windows(2)
                .all(|pair| pair[1].relative_climb < pair[0].relative_climb);
            let apart = all.map(|heat| (heat.leading - heat.crossing).abs() / heat.climb);
            let apart = apart.into_iter().fold(0.0, f64::max);
            exhaustive(all.len() as u64).parts(
                &[
                    (last.hot - 0.5).abs() < 1e-3 && (last.cold - 1.0).abs() < 1e-3,
                    sharper,
                    apart < 1.0,
                ],
                format!(
                    "T = 200: {:.4} a tenth above and {:.4} a tenth below; the climb from 0.6 to 0.9 is \
                     {:.1} % of 6T ln 2 wide at T = 10 and {:.1} % at T = 200; at finite T the bands cross \
                     at (6T-2) ln 2 (erratum 3), off 6T ln 2 by at most {apart:.2} of that width",
                    last.hot,
                    last.cold,
                    100.0 * all[0].relative_climb,
                    100.0 * last.relative_climb
                ),
            )
        },
    ),
];
