//! States section 6: what the framework may bring, and its limits.

use super::{BasisKind, Claim, claim, exhaustive, networks};

const SECTION: &str = "6 Discussion";

pub const CLAIMS: &[Claim] = &[
    claim(
        "discussion:tractable",
        SECTION,
        BasisKind::Exhaustive,
        "The spin models appear to be more tractable than the RLVR problem that they \
         come from.",
        "parity --lengths 40 --tau 0.006",
        |_| {
            exhaustive(0).undecided(
                "no measure of tractability is given; what could be one is in exact:partition (a closed form) and \
                 in intro:gap (chains beside RLVR)",
            )
        },
    ),
    claim(
        "discussion:priors",
        SECTION,
        BasisKind::Records,
        "Prior terms, KL penalties among them, can close some of the gaps to pretrained \
         models qualitatively.",
        "cavi --task z:5 --lengths 8 --tau 1e-7 --iterations 2000 --runs 60 --prior \
         prior.json",
        |_| {
            networks(0, 1).undecided(
                "tables and networks can be held to a prior (`cavi --prior`, `train --kl`), and no pretrained \
                 model has records here",
            )
        },
    ),
    claim(
        "discussion:damage",
        SECTION,
        BasisKind::Records,
        "The strong regulators that made learning possible here are likely damaging for \
         pretrained models.",
        "train --task z:5 --entropy 0.3 --runs 8",
        |_| {
            networks(0, 1).undecided(
                "every network was trained from scratch: no pretrained one has records here",
            )
        },
    ),
    claim(
        "discussion:replicas",
        SECTION,
        BasisKind::Exhaustive,
        "Whether replica symmetry breaking carries over to these models is not \
         determined.",
        "overlap --task parity --lengths 5 --inputs markov:9/10 --tau 0.05",
        |_| {
            exhaustive(0).undecided(
                "the paper leaves it open, and so do exact overlap distributions, which reach T = 5 \
                 (`overlap`)",
            )
        },
    ),
];
