//! States appendices A and B: gradients, damping, multilinearity, the theorem on local maxima.

use super::{Absent, BasisKind, Claim, claim, exhaustive, proved, sampled};
use crate::claims::facts::RunField;
use crate::reproduce::classes::TIED;
use crate::reproduce::studies::PLAIN;

const A: &str = "App. A";
const B: &str = "App. B";

/// A residual up to here is that of a stationary point, to rounding or on its way there.
const STATIONARY: f64 = 1e-9;

/// What BENCHMARKS.md has measured; a test of the command line compares the two.
const TIME_GROWTH: &str = "2.20 on untied (1,1)";

pub const CLAIMS: &[Claim] = &[
    claim(
        "a:gradient",
        A,
        BasisKind::Sampled,
        "The derivative of J by a probability is dQ, tied or not.",
        "eval --policy policy.json --json",
        |facts| {
            let found = facts.probes.gradient()?;
            let (untied, tied) = (found.untied, found.tied);
            sampled(found.policies, 25).parts(
                &[untied < 1e-7, tied < 1e-7],
                format!(
                    "differences of J against dQ: off by at most {untied:.1e} untied, \
                     {tied:.1e} tied"
                ),
            )
        },
    ),
    claim(
        "a:tied-gradient",
        A,
        BasisKind::Sampled,
        "Untied, a cell's dQ does not depend on its own row; tied, it does.",
        "eval --policy policy.json --json",
        |facts| {
            let found = facts.probes.gradient()?;
            let (bend, tied) = (found.bend, found.tied_bend);
            sampled(found.policies, 25).parts(
                &[bend < 1e-12, tied > 1e-6],
                format!("J bends along a row by at most {bend:.1e} untied and {tied:.1e} tied"),
            )
        },
    ),
    claim(
        "a:damping",
        A,
        BasisKind::Proved,
        "A fixed point of the damped update is one at any damping.",
        "cavi --task z:3 --lengths 3 --tau 0.05 --iterations 2000 --runs 8 --json",
        |facts| {
            let found = facts.probes.gradient()?;
            let (residual, runs) = (found.fixed_residual, found.fixed_runs);
            proved(runs).holds(
                residual < 1e-9,
                format!(
                    "where {runs} runs that move 0.3 of the way end, the whole way would move no \
                     probability by more than {residual:.1e}"
                ),
            )
        },
    ),
    claim(
        "a:residual",
        A,
        BasisKind::Sampled,
        "Every tied endpoint has residual exactly zero.",
        "cavi --task quasigroup --lengths 7 --window 0,3 --tied --tau 1e-10 \
         --iterations 3000 --runs 12 --json",
        |facts| {
            let runs = facts.runs(PLAIN, TIED)?;
            let residuals = runs.iter().map(|run| RunField::Residual.number(run));
            let residuals: Vec<f64> = residuals.collect::<Result<_, Absent>>()?;
            let below = |limit: f64| residuals.iter().filter(|&&own| own <= limit).count();
            let (zero, stationary) = (below(0.0), below(STATIONARY));
            let most = residuals.iter().copied().fold(0.0, f64::max);
            sampled(residuals.len() as u64, 12).holds(
                stationary == residuals.len(),
                format!(
                    "of {} tied endpoints after 3,000 iterations {} are not stationary, their residuals \
                     up to {most:.2e}; {stationary} are below {STATIONARY:.0e}, {zero} exactly 0",
                    residuals.len(),
                    residuals.len() - stationary
                ),
            )
        },
    ),
    claim(
        "a:linear",
        A,
        BasisKind::Exhaustive,
        "The state of the passes has as many values whatever the length, so that the cost is \
         linear in T.",
        "eval --task quasigroup --lengths 40 --window 1,1 --policy policy.json",
        |facts| {
            let found = facts.probes.visits()?;
            let listed = |numbers: &[usize]| {
                let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
                numbers.join(", ")
            };
            let states = found.states.first().copied().unwrap_or(0);
            exhaustive(found.steps.len() as u64).holds(
                found.steps == [10, 20, 40] && found.states.iter().all(|&own| own == states),
                format!(
                    "quasigroup (1,1) at T = 10, 20, 40: passes of {} steps, each of at most {} states. These are \
                     counts: the time per step that was measured grows from T = 14 to 700 by a factor of \
                     {TIME_GROWTH} (BENCHMARKS.md)",
                    listed(&found.steps),
                    listed(&found.states)
                ),
            )
        },
    ),
    claim(
        "a:states",
        A,
        BasisKind::Exhaustive,
        "The state has q^(p+f+3) values, and the cost is proportional to T q^(p+f+5).",
        "eval --task quasigroup --lengths 40 --window 1,1 --policy policy.json",
        |facts| {
            let found = facts.probes.states()?;
            exhaustive(found.steps).parts(
                &[
                    found.states_right == found.steps,
                    found.transitions_right == found.steps,
                ],
                format!(
                    "parity and Z_3, {} windows, all inputs and tokens: {} of {} steps reach q^(p+f+3) \
                     states, {} have q^(p+f+5) transitions",
                    found.windows.len(),
                    found.states_right,
                    found.steps,
                    found.transitions_right
                ),
            )
        },
    ),
    claim(
        "a:every-step",
        A,
        BasisKind::Proved,
        "J is the sum over states of the forward times the backward weight, at every \
         step.",
        "eval --policy policy.json --json",
        |facts| {
            let found = facts.probes.gradient()?;
            let (untied, tied) = (found.steps_apart, found.tied_steps_apart);
            proved(found.policies).parts(
                &[untied < 1e-12, tied < 1e-12],
                format!(
                    "Z_3 (0,1) at T = 4: pi dQ summed over the cells of a step is off J by at most \
                     {untied:.1e}; tied, summed over all cells, off T J by at most {tied:.1e}"
                ),
            )
        },
    ),
    claim(
        "a:tied-damped",
        A,
        BasisKind::Sampled,
        "For tied models gradient descent amounts to CAVI with a strong damping \
         factor.",
        "cavi --task z:3 --lengths 4 --window 0,1 --tied --tau 1e-3 --iterations 500 \
         --runs 8",
        |facts| {
            let found = facts.probes.gradient()?;
            let (falls, rises) = (found.damped_falls, found.undamped_rises);
            sampled(found.policies, 25).parts(
                &[found.tied < 1e-7, falls == found.policies],
                format!(
                    "dQ is the gradient of J to {:.1e} there; a step of a thousandth of the way to the \
                     target of CAVI lowers the loss of {falls} of {} random tied policies, the whole way \
                     raises that of {rises}",
                    found.tied, found.policies
                ),
            )
        },
    ),
    claim(
        "b:multilinear",
        B,
        BasisKind::Proved,
        "J is linear in every row of an untied policy.",
        "eval --policy policy.json",
        |facts| {
            let found = facts.probes.gradient()?;
            let bend = found.bend;
            proved(found.policies).holds(
                bend < 1e-12 && found.tied_bend > 1e-6,
                format!(
                    "along a segment of one row of random policies J is off linear by at most \
                     {bend:.1e} (by up to {:.1e} where the class is tied)",
                    found.tied_bend
                ),
            )
        },
    ),
    claim(
        "b:single-visit",
        B,
        BasisKind::Proved,
        "The cells that a rollout of an untied policy consults are distinct.",
        "cells --task quasigroup --lengths 5 --window 1,1",
        |facts| {
            let found = facts.probes.visits()?;
            proved(found.rollouts).holds(
                found.twice == 0,
                format!(
                    "of {} random inputs and tokens {} consult a cell twice",
                    found.rollouts, found.twice
                ),
            )
        },
    )
    .same_as("setting:single-visit"),
    claim(
        "b:theorem",
        B,
        BasisKind::Proved,
        "At a local maximum every compatible code has the same reward, and cells \
         may be collapsed one at a time in any order without a change of J.",
        "escape --policy policy.json --search",
        |facts| {
            let found = facts.probes.escape_policies()?;
            let deviation = found.any_order;
            proved(found.maxima).parts(
                &[
                    found.compatible_same == found.compatible,
                    deviation < 1e-9 && found.is_told(),
                ],
                format!(
                    "{} local maxima that mix at least {} consulted cells: {} of {} codes drawn from them \
                     have their reward exactly, and J is off by at most {deviation:.1e} at the middle and \
                     the end of every segment, cells in a random order",
                    found.maxima, found.mixed, found.compatible_same, found.compatible
                ),
            )
        },
    ),
];
