//! Decides the paper's statements one by one, from records (all sections).
//!
//! - `sections`: a module a section of the paper: each statement in our words, the command that decides
//!   it, and a function from facts to a decision.
//! - `probes`: small computations whose records statements need beside those of `reproduce`.
//! - [`Bench`]: does what is not done yet, and leaves records in the directory of a reproduction.
//! - [`ReproductionFacts`]: records, the comparison made of them and what probes found, read before.
//! - [`Basis`]: what a decision rests on. It makes the decision, so that none is without: below the runs
//!   that a test needs there is no verdict.
//! - [`rows`]: the table of all statements; nothing is run, read or written.

mod basis;
mod bench;
mod chapter;
mod decide;
mod facts;
mod probes;
mod sections;
pub mod table;

use serde::Serialize;

use crate::error::Error;

pub use basis::{Basis, BasisKind, Decided};
pub use bench::Bench;
pub use chapter::chapter;
pub use facts::{Absent, ReproductionFacts};
pub use probes::Probes;

/// What the records say of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatementVerdict {
    /// It holds as far as it can be looked at here.
    Holds,
    /// A part of it holds, another does not, or was not looked at.
    InPart,
    /// It does not hold.
    Contradicted,
    /// Nothing here decides it, or not yet.
    Undecided,
}

impl StatementVerdict {
    /// All, in the order of tables.
    pub const ALL: [StatementVerdict; 4] = [
        StatementVerdict::Holds,
        StatementVerdict::InPart,
        StatementVerdict::Contradicted,
        StatementVerdict::Undecided,
    ];

    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            StatementVerdict::Holds => "holds",
            StatementVerdict::InPart => "holds in part",
            StatementVerdict::Contradicted => "contradicted",
            StatementVerdict::Undecided => "undecided",
        }
    }

    /// The word that flags and JSON have.
    pub fn word(self) -> &'static str {
        match self {
            StatementVerdict::InPart => "in-part",
            other => other.words(),
        }
    }

    /// The verdict of a word; those of earlier versions are taken too.
    pub fn of(word: &str) -> Option<StatementVerdict> {
        match word {
            "holds" | "shown" => Some(StatementVerdict::Holds),
            "in-part" | "holds-in-part" | "shown-in-part" => Some(StatementVerdict::InPart),
            "contradicted" | "refuted" => Some(StatementVerdict::Contradicted),
            "undecided" | "open" => Some(StatementVerdict::Undecided),
            _ => None,
        }
    }
}

/// What a statement that does not hold touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matters {
    /// A result of the paper.
    Result,
    /// A protocol that the paper leaves open, and that we chose.
    Protocol,
    /// A wording, or an arithmetic slip.
    Wording,
}

impl Matters {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Matters::Result => "result",
            Matters::Protocol => "protocol",
            Matters::Wording => "wording",
        }
    }
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
    /// What it would touch if it did not hold.
    matters: Matters,
    /// The decision; without it where facts are absent.
    decide: fn(&ReproductionFacts) -> Result<Decided, Absent>,
}

impl Claim {
    /// The same, touching something else.
    const fn touching(self, matters: Matters) -> Claim {
        Claim { matters, ..self }
    }
}

/// A statement, decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecidedStatement {
    /// Its id.
    pub id: &'static str,
    /// Where the paper states it.
    pub section: &'static str,
    /// What it states, in our words.
    pub statement: &'static str,
    /// The verdict.
    pub verdict: StatementVerdict,
    /// The kind of what it rests on.
    pub evidence_kind: BasisKind,
    /// How much of that there is.
    pub n: u64,
    /// What it touches, where it is contradicted.
    pub matters: Option<Matters>,
    /// What the verdict rests on.
    pub evidence: String,
    /// The command that decides it.
    pub command: &'static str,
    /// The command that makes records that are missing.
    #[serde(skip)]
    pub made_by: Option<String>,
}

/// Every statement with its verdict. A statement whose records are not there is undecided; one that asks
/// for a number that no item measures is an error.
pub fn rows(facts: &ReproductionFacts) -> Result<Vec<DecidedStatement>, Error> {
    sections::all().map(|claim| claim.row(facts)).collect()
}

impl Claim {
    fn row(&self, facts: &ReproductionFacts) -> Result<DecidedStatement, Error> {
        let (decided, made_by) = match (self.decide)(facts) {
            Ok(decided) => (decided, None),
            Err(absent @ Absent::NotMeasured { .. }) => {
                return Err(Error::Failed(format!("{}: {absent}", self.id)));
            }
            Err(absent) => (
                Decided::without_records(&absent),
                match absent {
                    Absent::Records { made_by, .. } => Some(made_by),
                    _ => None,
                },
            ),
        };
        Ok(DecidedStatement {
            id: self.id,
            section: self.section,
            statement: self.statement,
            verdict: decided.verdict,
            evidence_kind: decided.kind,
            n: decided.n,
            matters: (decided.verdict == StatementVerdict::Contradicted).then_some(self.matters),
            evidence: decided.evidence,
            command: self.command,
            made_by,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::{Comparison, Records, Scale, compare};
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

    /// What is decided without records rests on the committed networks, or on counts of cells and parameters.
    #[test]
    fn without_records_only_networks_decide() {
        let records = Records::committed();
        let comparison = compare(&records, &[]).unwrap();
        let probes = Probes::default();
        let facts = ReproductionFacts {
            records: &records,
            comparison: &comparison,
            probes: &probes,
        };
        let rows = rows(&facts).unwrap();
        for row in rows {
            let counted = ["g4:caption", "g4:parameters"].contains(&row.id);
            if row.verdict != StatementVerdict::Undecided && !counted {
                assert_eq!(row.evidence_kind, BasisKind::Records, "{}", row.id);
            }
        }
    }

    /// Every number that a statement asks for is one that its item measures: of every study at hand, without
    /// a run.
    #[test]
    fn every_number_that_statements_ask_for_is_measured() {
        let records = Records::planned(Scale::Full);
        let mut comparison = Comparison::planned(&records);
        for row in comparison.items.iter_mut().flat_map(|item| &mut item.rows) {
            (row.ours, row.n) = (Some(0.5), 1_000);
        }
        let probes = Probes::default();
        let facts = ReproductionFacts {
            records: &records,
            comparison: &comparison,
            probes: &probes,
        };
        rows(&facts).unwrap();
    }

    #[test]
    fn words_of_earlier_versions_are_taken() {
        for verdict in StatementVerdict::ALL {
            assert_eq!(StatementVerdict::of(verdict.word()), Some(verdict));
        }
        let old = ["shown", "in-part", "refuted", "open"];
        assert_eq!(
            old.map(StatementVerdict::of),
            StatementVerdict::ALL.map(Some)
        );
        assert_eq!(StatementVerdict::of("maybe"), None);
    }
}
