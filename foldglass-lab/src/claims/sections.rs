//! Lists the statements of the paper, a module a section.

mod abstract_;
mod app_correspondence;
mod app_definitions;
mod app_equilibration;
mod app_escape;
mod app_gauge;
mod app_networks;
mod app_parity;
mod app_regulators;
mod app_shortfall;
mod app_traps;
mod app_trapsfixed;
mod exact;
mod experiments;
mod mapping;
mod setting;
mod transformers;

use super::{Claim, Decided, Facts};

/// All statements, in the order of the paper.
pub fn all() -> impl Iterator<Item = &'static Claim> {
    let sections: [&'static [Claim]; 17] = [
        abstract_::CLAIMS,
        setting::CLAIMS,
        mapping::CLAIMS,
        exact::CLAIMS,
        experiments::CLAIMS,
        transformers::CLAIMS,
        app_definitions::CLAIMS,
        app_correspondence::CLAIMS,
        app_gauge::CLAIMS,
        app_escape::CLAIMS,
        app_parity::CLAIMS,
        app_equilibration::CLAIMS,
        app_trapsfixed::CLAIMS,
        app_shortfall::CLAIMS,
        app_networks::CLAIMS,
        app_regulators::CLAIMS,
        app_traps::CLAIMS,
    ];
    sections.into_iter().flatten()
}

/// A statement.
const fn claim(
    id: &'static str,
    section: &'static str,
    statement: &'static str,
    command: &'static str,
    decide: fn(&Facts) -> Option<Decided>,
) -> Claim {
    Claim {
        id,
        section,
        statement,
        command,
        decide,
    }
}

/// The classes that a census probe found, with their traps and local maxima.
fn census(facts: &Facts, probe: &str) -> Option<Vec<(String, u64, u64)>> {
    let list = facts.probe(probe)?.get("classes")?.as_array()?;
    let number = |value: Option<&serde_json::Value>| value?.as_str()?.parse::<u64>().ok();
    let line = |line: &serde_json::Value| {
        let name = line.get("class")?.as_str()?.to_owned();
        Some((
            name,
            number(line.get("traps"))?,
            number(line.get("local_maxima"))?,
        ))
    };
    list.iter().map(line).collect()
}
