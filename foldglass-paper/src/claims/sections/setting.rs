//! States section 2: task, cells, updates, the figure's two codes, penalties.

use super::{BasisKind, Claim, claim, exhaustive, proved, sampled};

const SECTION: &str = "2 Setting";

pub const CLAIMS: &[Claim] = &[
    claim(
        "setting:single-visit",
        SECTION,
        BasisKind::Proved,
        "An untied policy consults no cell twice in a rollout.",
        "cells --task quasigroup --lengths 5 --window 2,1",
        |facts| {
            let found = facts.probes.visits()?;
            proved(found.rollouts).holds(
                found.twice == 0 && found.tied_twice > 0,
                format!(
                    "a cell of an untied class is of one step; of {} random inputs and tokens of \
                     four untied classes {} consult a cell twice (of two tied classes, {})",
                    found.rollouts, found.twice, found.tied_twice
                ),
            )
        },
    ),
    claim(
        "setting:optimum",
        SECTION,
        BasisKind::Exhaustive,
        "The window classes, tied or not, contain codes that always answer rightly.",
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
        BasisKind::Sampled,
        "Given all other cells, the best row of an untied cell is the softmax of \
         dQ over the temperature.",
        "cavi --task z:3 --lengths 3 --tau 0.05 --iterations 500 --runs 8",
        |facts| {
            let found = facts.probes.gradient()?;
            let better = found.rows_better_than_softmax;
            sampled(found.policies, 25).holds(
                better == 0,
                format!(
                    "loss evaluated at 30 other rows, near and far, of one cell of each of {} random \
                     policies: a row is better than the softmax in {better} of them (in {} where the \
                     class is tied)",
                    found.policies, found.tied_rows_better
                ),
            )
        },
    ),
    claim(
        "setting:figure",
        SECTION,
        BasisKind::Exhaustive,
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
        BasisKind::Sampled,
        "The model's interactions contain a gauge symmetry: the names of tokens.",
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
        BasisKind::Exhaustive,
        "With penalties on windows and tying, no coupling is the complete \
         parameterisation and strong couplings are the untied and tied classes.",
        "family --task parity --lengths 2 --gwin 0,10000 --gtie 0,10000 --tau 0.05",
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
