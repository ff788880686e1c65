//! Relabels the tokens of random codes (paper, App. D).

use foldglass::chain::random_code;
use foldglass::exact::lowest_terms;
use foldglass::gauge::{Freedom, Relabelling, agreement, links};
use foldglass::{Allowance, InputLaw, Shape, Stream, count};
use serde::{Deserialize, Serialize};

use super::class;
use crate::claims::Bench;
use crate::error::Error;

/// What [`relabelling`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relabelled {
    /// Random codes, each with a random relabelling.
    pub codes: u64,
    /// Those that compute the same function after it.
    pub same_function: u64,
    /// That have the same reward.
    pub same_reward: u64,
    /// Whose links have the same ranks.
    pub same_ranks: u64,
    /// The least share of cells that are the same.
    pub least_shared: f64,
    /// The order of the group.
    pub group: String,
    /// The order that the paper states.
    pub stated: String,
    /// As many codes of a wider window that have the same reward.
    pub same_reward_wide: u64,
}

/// What relabelling leaves alone: the function, the reward; and what it does not: cells.
pub fn relabelling(bench: &Bench) -> Result<Option<Relabelled>, Error> {
    let mut stream = Stream::new(bench.seed, 5);
    let class = class("quasigroup", &InputLaw::Uniform, &[5], Shape::untied(0, 0));
    let runs = bench.scaled(100, 10);
    let (mut same_function, mut same_reward, mut same_classes) = (0, 0, 0);
    let mut least_shared = 1f64;
    for _ in 0..runs {
        let code = random_code(&class, &mut stream);
        let g = Relabelling::random(&class, &mut stream);
        let other = g.apply(&code);
        let found = agreement(&code, &other, Allowance::default())?;
        same_function += u64::from(lowest_terms(&found.overall) == "1/1");
        same_reward += u64::from(count::reward(&code) == count::reward(&other));
        let shared = code.actions().iter().zip(other.actions());
        let shared = shared.filter(|(a, b)| a == b).count() as f64;
        least_shared = least_shared.min(shared / class.cells() as f64);
        same_classes += u64::from(ranks(&code) == ranks(&other));
    }
    let wide = super::class("quasigroup", &InputLaw::Uniform, &[4], Shape::untied(1, 1));
    let mut same_wide = 0;
    for _ in 0..runs {
        let code = random_code(&wide, &mut stream);
        let other = Relabelling::random(&wide, &mut stream).apply(&code);
        same_wide += u64::from(count::reward(&code) == count::reward(&other));
    }
    let order = Freedom::of(&class).order(5);
    Ok(Some(Relabelled {
        codes: runs,
        same_function,
        same_reward,
        same_ranks: same_classes,
        least_shared,
        group: order.to_string(),
        stated: dashu_int::UBig::from(120u8).pow(4).to_string(),
        same_reward_wide: same_wide,
    }))
}

/// The ranks of all links.
fn ranks(code: &foldglass::Code) -> Vec<usize> {
    let links = links(code).unwrap_or_default();
    let maps = links.iter().flat_map(|step| &step.maps);
    maps.map(|map| foldglass::gauge::Links::rank(map)).collect()
}
