//! States appendices A and B: gradients, damping, multilinearity, the theorem on local maxima.

use super::claim;
use crate::claims::Claim;
use crate::claims::decide::{holds, parts};
use crate::claims::facts::result;
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
            let (untied, tied) = (
                facts.number("gradient", "/untied")?,
                facts.number("gradient", "/tied")?,
            );
            parts(
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
            let (bend, tied) = (
                facts.number("gradient", "/bend")?,
                facts.number("gradient", "/tied_bend")?,
            );
            parts(
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
            let residual = facts.number("gradient", "/fixed_residual")?;
            holds(
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
            let runs = facts.runs(PLAIN, "qg03-tied")?;
            let residuals: Vec<f64> = runs
                .iter()
                .filter_map(|run| result(run, "residual"))
                .collect();
            let zero = residuals
                .iter()
                .filter(|&&residual| residual == 0.0)
                .count();
            let most = residuals.iter().copied().fold(0.0, f64::max);
            holds(
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
            let steps = &facts.probe("visits")?["steps"];
            holds(
                *steps == serde_json::json!([10, 20, 40]),
                format!(
                    "passes go through {steps} nodes at T = 10, 20, 40, each of one size \
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
            let bend = facts.number("gradient", "/bend")?;
            holds(bend < 1e-12, format!("off linear by at most {bend:.1e}"))
        },
    ),
    claim(
        "b:single-visit",
        B,
        "The cells that a rollout of an untied policy consults are distinct.",
        "cells --task quasigroup --lengths 5 --window 1,1",
        |facts| {
            let twice = facts.number("visits", "/twice")?;
            holds(
                twice == 0.0,
                format!("{twice} random rollouts consult a cell twice"),
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
            let found = facts.probe("escape-policies")?;
            let deviation = found["deviation"].as_f64()?;
            holds(
                deviation < 1e-9,
                format!(
                    "{} spread local maxima: J off by at most {deviation:.1e} while cells \
                     collapse",
                    found["maxima"]
                ),
            )
        },
    ),
];
