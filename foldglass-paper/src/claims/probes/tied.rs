//! Measures the barriers and shelves of the tied endpoints that `reproduce` left (paper, section 5, App. G.6).

use foldglass::Context;
use foldglass::landscape::barrier;
use foldglass::landscape::shelf::Workers;
use foldglass::proof::claim::Standing;
use foldglass::reward::count::Counter;
use serde::{Deserialize, Serialize};

use crate::claims::Bench;
use crate::error::Error;
use crate::reproduce::Recorded;
use crate::reproduce::studies::CHAINS_TIED;

/// What [`barriers`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Barriers {
    /// The most codes that were visited for one.
    pub cap: u64,
    /// Endpoint by endpoint; an optimum has none.
    pub endpoints: Vec<Barrier>,
}

/// The barrier of an endpoint.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Barrier {
    /// The chain's number.
    pub run: usize,
    /// The drop on the best way out, exact.
    pub barrier: String,
    /// The same in inputs.
    pub quanta: u64,
    /// Whether no lower way exists; else it is the lowest that was found.
    pub exact: bool,
    /// Changes of the way out.
    pub moves: usize,
}

/// How high the ways out of the shelves of the endpoints are; nothing without endpoints. It catches endpoints
/// that are not traps: their way out would cost nothing.
pub fn barriers(bench: &Bench) -> Result<Option<Barriers>, Error> {
    let chains = Recorded::read(&bench.directory, CHAINS_TIED, bench.scale, bench.seed)?;
    let ends = chains.map(|chains| chains.endpoints(bench.allowance));
    let Some((class, codes)) = ends.transpose()?.flatten() else {
        return Ok(None);
    };
    let cap = bench.scaled(150_000, 2_000);
    let mut workers = Workers::new(
        &class,
        Context::default()
            .with_threads(bench.threads)
            .with_memory(bench.allowance),
    )?;
    let denominator = class.task().denominator();
    let mut lines = Vec::new();
    for (run, code) in codes.iter().enumerate() {
        bench.observer.stage(format!(
            "barrier of endpoint {} of {}",
            run + 1,
            codes.len()
        ));
        let way = barrier::way_out(
            &mut workers,
            code,
            cap,
            Context::default().with_observer(&bench.observer),
        );
        bench.go_on()?;
        let Ok(Some(way)) = way else {
            continue;
        };
        let quanta = way.height.over(&denominator).to_string();
        let quanta = quanta.parse();
        lines.push(Barrier {
            run,
            barrier: way.height.to_string(),
            quanta: quanta.map_err(|_| Error::Failed("a barrier is not whole".to_owned()))?,
            exact: matches!(way.standing, Standing::Exact { .. }),
            moves: way.moves.len(),
        });
    }
    Ok(Some(Barriers {
        cap: cap as u64,
        endpoints: lines,
    }))
}

/// What [`neutral`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neutral {
    /// Endpoint by endpoint.
    pub endpoints: Vec<Choices>,
}

/// The neutral changes of an endpoint.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choices {
    /// The chain's number.
    pub run: usize,
    /// How many actions of a cell leave J as it is, its own included; of cells with two or more.
    pub cells: Vec<u64>,
}

impl Choices {
    /// The codes of its shelf if neutral changes were independent of each other.
    pub fn product(&self) -> u128 {
        self.cells
            .iter()
            .map(|&actions| u128::from(actions))
            .product()
    }
}

/// The neutral changes at each tied endpoint, cell by cell; nothing without endpoints. Were they independent, its
/// shelf would have the product of them: a shelf that has more has changes that are neutral only after others.
/// It catches a search of shelves that loses or doubles codes wherever changes are independent.
pub fn neutral(bench: &Bench) -> Result<Option<Neutral>, Error> {
    let chains = Recorded::read(&bench.directory, CHAINS_TIED, bench.scale, bench.seed)?;
    let ends = chains.map(|chains| chains.endpoints(bench.allowance));
    let Some((class, codes)) = ends.transpose()?.flatten() else {
        return Ok(None);
    };
    let mut endpoints = Vec::new();
    for (run, code) in codes.into_iter().enumerate() {
        bench.go_on()?;
        let mut counter = Counter::within(code, bench.allowance)?;
        let own = counter.reward();
        let mut rewards = vec![0; class.q()];
        let mut cells = Vec::new();
        for cell in 0..class.cells() {
            counter.rewards(cell, &mut rewards);
            let actions = rewards.iter().filter(|&&reward| reward == own).count() as u64;
            if actions > 1 {
                cells.push(actions);
            }
        }
        endpoints.push(Choices { run, cells });
    }
    Ok(Some(Neutral { endpoints }))
}
