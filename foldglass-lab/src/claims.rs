//! Decides the paper's statements one by one, from records (all sections).
//!
//! - [`sections`]: a module a section of the paper: each statement in our words, the command that decides
//!   it, and a function from records to a verdict.
//! - [`probes`]: small computations whose records statements need beside those of `reproduce`.
//! - [`Bench`]: does what is not done yet, and leaves records in the directory of a reproduction.
//! - [`rows`]: the table of all statements from the records of a directory; nothing is run.

mod bench;
mod chapter;
mod decide;
mod facts;
mod probes;
mod sections;
pub mod table;

use std::path::Path;

use serde::Serialize;

use crate::error::Error;

pub use bench::Bench;
pub use chapter::chapter;
pub use facts::Facts;

/// What the records say of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds as far as it can be looked at here.
    Shown,
    /// A part of it holds, another does not, or was not looked at.
    InPart,
    /// It does not hold.
    Refuted,
    /// The records do not decide it.
    Open,
}

impl Verdict {
    /// All, in the order of tables.
    pub const ALL: [Verdict; 4] = [
        Verdict::Shown,
        Verdict::InPart,
        Verdict::Refuted,
        Verdict::Open,
    ];

    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Shown => "shown",
            Verdict::InPart => "shown in part",
            Verdict::Refuted => "refuted",
            Verdict::Open => "open",
        }
    }
}

/// A verdict and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    verdict: Verdict,
    evidence: String,
}

/// A statement of the paper.
pub struct Claim {
    /// Its id: the section, and a word.
    id: &'static str,
    /// Where the paper states it.
    section: &'static str,
    /// What it states, in our words.
    statement: &'static str,
    /// The command that decides it.
    command: &'static str,
    /// The verdict; none where the records it needs are not there.
    decide: fn(&Facts) -> Option<Decided>,
}

/// A statement, decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its id.
    pub id: &'static str,
    /// Where the paper states it.
    pub section: &'static str,
    /// What it states, in our words.
    pub statement: &'static str,
    /// The command that decides it.
    pub command: &'static str,
    /// What the records say.
    pub verdict: Verdict,
    /// What that rests on.
    pub evidence: String,
}

/// Every statement with its verdict, from the records of a directory that `reproduce` and `claims` left;
/// a statement without records is open. Nothing is run.
pub fn rows(directory: &Path) -> Result<Vec<Row>, Error> {
    let facts = Facts::read(directory)?;
    let row = |claim: &Claim| {
        let Decided { verdict, evidence } = (claim.decide)(&facts).unwrap_or_else(|| Decided {
            verdict: Verdict::Open,
            evidence: "its records are not there".to_owned(),
        });
        Row {
            id: claim.id,
            section: claim.section,
            statement: claim.statement,
            command: claim.command,
            verdict,
            evidence,
        }
    };
    Ok(sections::all().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_statement_has_an_id_of_its_own_and_a_command() {
        let mut ids = BTreeSet::new();
        for claim in sections::all() {
            assert!(ids.insert(claim.id), "{} stands twice", claim.id);
            assert!(claim.statement.ends_with('.'), "{}", claim.id);
            assert!(!claim.command.is_empty(), "{}", claim.id);
        }
        assert!(ids.len() >= 80, "{}", ids.len());
    }

    #[test]
    fn without_records_every_statement_is_open() {
        let directory = std::env::temp_dir().join("foldglass-claims-of-nothing");
        let rows = rows(&directory).unwrap();
        assert!(rows.iter().all(|row| row.verdict == Verdict::Open));
    }
}
