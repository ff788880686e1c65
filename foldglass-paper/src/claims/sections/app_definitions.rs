//! States appendices A and B: gradients, damping, multilinearity, the theorem on local maxima.

use super::{Claim, claim, exhaustive, result, sampled};
use crate::reproduce::classes::TIED;
use crate::reproduce::studies::PLAIN;

const A: &str = "App. A";
const B: &str = "App. B";

pub const CLAIMS: &[Claim] = &[
    claim(
        "a:gradient",
        A,
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
        "A fixed point of the damped update is one at any damping.",
        "cavi --task z:3 --lengths 3 --tau 0.05 --iterations 2000 --runs 1 --json",
        |facts| {
            let residual = facts.probes.gradient()?.fixed_residual;
            sampled(1, 1).holds(
                residual < 1e-9,
                format!(
                    "where an iteration with damping 0.3 ends, the undamped one would move no \
                     probability by more than {residual:.1e}"
                ),
            )
        },
    ),
    claim(
        "a:residual",
        A,
        "Every tied endpoint has residual exactly zero.",
        "cavi --task quasigroup --lengths 7 --window 0,3 --tied --tau 1e-10 \
         --iterations 3000 --runs 12 --json",
        |facts| {
            let runs = facts.runs(PLAIN, TIED)?;
            let residuals: Vec<f64> = runs
                .iter()
                .filter_map(|run| result(run, "residual"))
                .collect();
            let zero = residuals
                .iter()
                .filter(|&&residual| residual == 0.0)
                .count();
            let most = residuals.iter().copied().fold(0.0, f64::max);
            sampled(residuals.len() as u64, 12).holds(
                zero == residuals.len(),
                format!(
                    "{zero} of {} tied endpoints after 3,000 iterations; the largest residual \
                     is {most:.2e}",
                    residuals.len()
                ),
            )
        },
    ),
    claim(
        "a:linear",
        A,
        "Evaluation costs time linear in T: the state has as many values at every \
         step.",
        "eval --task quasigroup --lengths 40 --window 1,1 --policy policy.json",
        |facts| {
            let steps = &facts.probes.visits()?.steps;
            exhaustive(steps.len() as u64).holds(
                *steps == [10, 20, 40],
                format!(
                    "passes go through {steps:?} nodes at T = 10, 20, 40, each of one size \
                     (BENCHMARKS.md has times)"
                ),
            )
        },
    ),
    claim(
        "b:multilinear",
        B,
        "J is linear in every row of an untied policy.",
        "eval --policy policy.json",
        |facts| {
            let found = facts.probes.gradient()?;
            let bend = found.bend;
            sampled(found.policies, 25)
                .holds(bend < 1e-12, format!("off linear by at most {bend:.1e}"))
        },
    ),
    claim(
        "b:single-visit",
        B,
        "The cells that a rollout of an untied policy consults are distinct.",
        "cells --task quasigroup --lengths 5 --window 1,1",
        |facts| {
            let found = facts.probes.visits()?;
            sampled(found.rollouts, 400).holds(
                found.twice == 0,
                format!("{} random rollouts consult a cell twice", found.twice),
            )
        },
    ),
    claim(
        "b:theorem",
        B,
        "At a local maximum every compatible code has the same reward, and cells \
         may be collapsed one at a time in any order.",
        "escape --policy policy.json",
        |facts| {
            let found = facts.probes.escape_policies()?;
            let deviation = found.deviation;
            sampled(found.maxima, 6).holds(
                deviation < 1e-9,
                format!(
                    "{} spread local maxima: J off by at most {deviation:.1e} while cells \
                     collapse",
                    found.maxima
                ),
            )
        },
    ),
];
