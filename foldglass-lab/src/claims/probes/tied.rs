//! Measures the barriers of the tied endpoints that `reproduce` left (paper, section 5, App. G.6).

use foldglass::claim::Standing;
use foldglass::landscape::barrier;
use foldglass::landscape::shelf::Workers;
use serde_json::{Value, json};

use crate::claims::Bench;
use crate::error::Error;
use crate::reproduce::data::Data;
use crate::reproduce::studies::CHAINS_TIED;

/// How high the ways out of the shelves of the endpoints are; nothing without endpoints.
pub fn barriers(bench: &Bench) -> Result<Value, Error> {
    let data = Data::read(&bench.directory, &[CHAINS_TIED], bench.scale, bench.seed)?;
    if !data.has(CHAINS_TIED) {
        return Ok(Value::Null);
    }
    let Some((class, codes)) = data.endpoints(bench.allowance)? else {
        return Ok(Value::Null);
    };
    let cap = bench.scaled(150_000, 2_000);
    let mut workers = Workers::new(&class, bench.threads, bench.allowance)?;
    let denominator = class.task().denominator();
    let mut lines = Vec::new();
    for (run, code) in codes.iter().enumerate() {
        bench.observer.stage(format!(
            "barrier of endpoint {} of {}",
            run + 1,
            codes.len()
        ));
        let way = barrier::way_out(&mut workers, code, cap, &bench.observer);
        bench.go_on()?;
        let Ok(Some(way)) = way else {
            continue;
        };
        let flooded = match way.standing {
            Standing::Exact { codes } => Some(codes),
            Standing::Bound => None,
        };
        lines.push(json!({
            "run": run, "barrier": way.height.to_string(),
            "quanta": way.height.over(&denominator).to_string().parse::<u64>().ok(),
            "is": way.standing.word(), "flooded": flooded, "moves": way.moves.len(),
        }));
    }
    Ok(json!({"cap": cap, "endpoints": lines}))
}
