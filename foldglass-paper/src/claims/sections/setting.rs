//! States section 2: task, cells, updates, the figure's two codes, penalties.

use super::{Claim, claim, exhaustive, sampled};

const SECTION: &str = "2 Setting";

pub const CLAIMS: &[Claim] = &[
    claim(
        "setting:single-visit",
        SECTION,
        "An untied policy consults no cell twice in a rollout.",
        "cells --task quasigroup --lengths 5 --window 2,1",
        |facts| {
            let found = facts.probes.visits()?;
            sampled(found.rollouts, 400).holds(
                found.twice == 0,
                format!(
                    "random inputs and tokens of four untied classes: {} rollouts with a \
                     cell twice ({} of two tied ones)",
                    found.twice, found.tied_twice
                ),
            )
        },
    ),
    claim(
        "setting:optimum",
        SECTION,
        "Every class contains a policy that always answers rightly.",
        "eval --task quasigroup --lengths 5 --code fold.json",
        |facts| {
            let found = facts.probes.visits()?;
            exhaustive(found.folds_of).holds(
                found.folds == found.folds_of,
                format!(
                    "the code that emits x_1, then B[y, x], has reward exactly 1 in {} of {} \
                     classes, tied ones among them",
                    found.folds, found.folds_of
                ),
            )
        },
    ),
    claim(
        "setting:update",
        SECTION,
        "Given all other cells, the best row of an untied cell is the softmax of \
         dQ over the temperature.",
        "cavi --task z:3 --lengths 3 --tau 0.05 --iterations 500 --runs 8",
        |facts| {
            let found = facts.probes.gradient()?;
            let better = found.rows_better_than_softmax;
            sampled(found.policies, 25).holds(
                better == 0,
                format!("{better} cells have a random row with a lower loss"),
            )
        },
    ),
    claim(
        "setting:figure",
        SECTION,
        "Of the figure's two inputs the parity code answers both, the copy code \
         one, and it is right as often as chance.",
        "draw --task parity --lengths 5 --code parity.json --input 0,1,0,1,1 \
         1,1,0,1,1 --svg codes.svg",
        |facts| {
            let found = facts.probes.dictionary()?;
            exhaustive(2).parts(
                &[
                    found.parity_right == 2,
                    found.copy_right == 1,
                    found.copy_reward == "1/2",
                ],
                format!(
                    "right: {} and {} of 2; rewards {} and {}",
                    found.parity_right, found.copy_right, found.parity_reward, found.copy_reward
                ),
            )
        },
    ),
    claim(
        "setting:gauge-symmetry",
        SECTION,
        "The model has a symmetry of names that ordinary spin glasses have not.",
        "gauge --task z:5 --lengths 8 --code A.json --relabel random",
        |facts| {
            let found = facts.probes.relabelling()?;
            sampled(found.codes, 10).holds(
                found.same_function == found.codes,
                format!(
                    "{} of {} random codes compute the same function after a random \
                     relabelling",
                    found.same_function, found.codes
                ),
            )
        },
    ),
    claim(
        "setting:family",
        SECTION,
        "With penalties on windows and tying, no coupling is the complete \
         parameterisation and strong couplings are the untied and tied classes.",
        "family --task parity --length 2 --gwin 0,10000 --gtie 0,10000 --tau 0.05",
        |facts| {
            let found = facts.probes.family()?;
            let far = [found.complete, found.untied, found.tied];
            exhaustive(found.codes).parts(
                &far.map(|far| far < 1e-9),
                format!(
                    "mean rewards at three temperatures, all codes at T = 2, are off by at \
                     most {:.1e}, {:.1e} and {:.1e}",
                    found.complete, found.untied, found.tied
                ),
            )
        },
    ),
];
