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
mod discussion;
mod exact;
mod experiments;
mod mapping;
mod setting;
mod transformers;

use super::basis::{exhaustive, exhaustive_of, networks, proved, sampled};
use super::decide::{INTERVAL, SCORE, all_numbers, basis, beside, listed, numbers, told};
use super::facts::{count, ours, reward_at};
use super::{Absent, Basis, BasisKind, Claim, Decided, Matters, ReproductionFacts};

/// All statements, in the order of the paper.
pub fn all() -> impl Iterator<Item = &'static Claim> {
    let sections: [&'static [Claim]; 18] = [
        abstract_::CLAIMS,
        setting::CLAIMS,
        mapping::CLAIMS,
        exact::CLAIMS,
        experiments::CLAIMS,
        transformers::CLAIMS,
        discussion::CLAIMS,
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

/// A statement. It touches a result where it does not hold; [`Claim::touching`] says otherwise.
const fn claim(
    id: &'static str,
    section: &'static str,
    kind: BasisKind,
    statement: &'static str,
    command: &'static str,
    decide: fn(&ReproductionFacts) -> Result<Decided, Absent>,
) -> Claim {
    Claim {
        id,
        section,
        kind,
        statement,
        command,
        matters: Matters::Result,
        same_as: None,
        decide,
    }
}
