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

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;

pub use basis::{Basis, BasisKind, Decided};
pub use bench::Bench;
pub use chapter::chapter;
pub use facts::{Absent, ReproductionFacts};
pub use probes::Probes;

/// What the records say of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
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
    /// The kind of what decides it.
    kind: BasisKind,
    /// What it states, in our words.
    statement: &'static str,
    /// The command that decides it.
    command: &'static str,
    /// The statement that has been decided by the same evidence before.
    same_as: Option<&'static str>,
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

    /// The same, on the evidence of a statement before it: tallies count the two once.
    const fn same_as(self, id: &'static str) -> Claim {
        Claim {
            same_as: Some(id),
            ..self
        }
    }
}

/// A statement, decided.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
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
    /// The statement before it that the same evidence decides; tallies count the two once.
    pub same_as: Option<&'static str>,
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
                Decided::without_records(self.kind, &absent),
                match absent {
                    Absent::Records { made_by, .. } => Some(made_by),
                    _ => None,
                },
            ),
        };
        let undecided = decided.verdict == StatementVerdict::Undecided;
        debug_assert!(undecided || decided.kind == self.kind, "{}", self.id);
        Ok(DecidedStatement {
            id: self.id,
            section: self.section,
            statement: self.statement,
            verdict: decided.verdict,
            evidence_kind: self.kind,
            n: decided.n,
            matters: (decided.verdict == StatementVerdict::Contradicted).then_some(self.matters),
            same_as: self.same_as,
            evidence: decided.evidence,
            command: self.command,
            made_by,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::fleets::Fleets;
    use crate::reproduce::{Comparison, Records, Scale, compare};
    use std::collections::BTreeSet;

    #[test]
    fn every_statement_has_an_id_of_its_own_and_a_command() {
        let (mut ids, mut originals) = (BTreeSet::new(), BTreeSet::new());
        for claim in sections::all() {
            assert!(ids.insert(claim.id), "{} stands twice", claim.id);
            assert!(claim.statement.ends_with('.'), "{}", claim.id);
            assert!(!claim.command.is_empty(), "{}", claim.id);
            if let Some(first) = claim.same_as {
                assert!(originals.contains(first), "{} repeats {first}", claim.id);
            } else {
                originals.insert(claim.id);
            }
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

    /// The statements of records, in texts that say nothing of a number that is none.
    fn decided(records: &Records, comparison: &Comparison) -> Vec<DecidedStatement> {
        let probes = Probes::default();
        let rows = rows(&ReproductionFacts {
            records,
            comparison,
            probes: &probes,
        });
        let rows = rows.unwrap();
        let mut wrong = Vec::new();
        for row in &rows {
            let evidence = &row.evidence;
            let never = [
                "NaN",
                "18446744073709551615",
                "()",
                ": ;",
                ": ,",
                ":  ",
                ": )",
                "  ",
            ];
            let open = evidence.is_empty() || evidence.ends_with([':', ';', ',', ' ']);
            if open || never.iter().any(|never| evidence.contains(never)) {
                wrong.push(format!("{}: {evidence}", row.id));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        rows
    }

    /// Catches a statement that takes a class, a temperature or a second run for granted: the quick scale runs some
    /// classes only, and the smoke scale has one run at a temperature of a scan.
    #[test]
    fn every_statement_is_made_of_the_runs_of_the_small_scales() {
        for scale in [Scale::Smoke, Scale::Quick] {
            for reward in [0.5, 1.0] {
                let exact = if reward == 1.0 { "1/1" } else { "1/2" };
                let found = |run: u64, tau: Option<f64>| {
                    let reward = reward - 1e-3 * run as f64 - tau.unwrap_or(0.0);
                    let marks = [10, 20, 40, 100, 200, 1_000, 5_000, 10_000, 20_000, 50_000];
                    let marks = marks.map(|sweep| {
                        serde_json::json!({"sweep": sweep, "reward": reward, "reward_exact": exact})
                    });
                    serde_json::json!({
                        "greedy_reward": reward, "greedy_exact": exact, "residual": 1e-9, "entropy": 0.5,
                        "sweeps_to_optimum": null, "checkpoints": marks, "last_change": 3, "standing": "trapped",
                        "start_reward": reward, "mean_reward": reward, "mean_rewards": [reward],
                        "correlation": null, "correlation_noise": null, "draws": 20,
                    })
                };
                let records = Records::made_up(scale, &found);
                let mut comparison = match scale {
                    Scale::Quick => compare(&records, &[]).unwrap(),
                    _ => Comparison::planned(&records),
                };
                let rows = decided(&records, &comparison);
                let spreads = rows.iter().find(|row| row.id == "g5:spreads").unwrap();
                assert_eq!(
                    spreads.verdict,
                    StatementVerdict::Undecided,
                    "{}",
                    spreads.evidence
                );
                // As much of it as an interrupted reproduction has compared.
                comparison.items.clear();
                decided(&records, &comparison);
            }
        }
    }

    /// Catches a text about networks of which there are none.
    #[test]
    fn every_statement_is_made_without_the_networks_of_a_file() {
        for without in Fleets::each_emptied() {
            let mut records = Records::planned(Scale::Full);
            records.fleets = without;
            for comparison in [
                Comparison::planned(&records),
                compare(&records, &[]).unwrap(),
            ] {
                decided(&records, &comparison);
            }
        }
    }

    /// A statement, decided by what a probe found.
    fn decided_by(id: &str, probe: &str, found: &serde_json::Value) -> DecidedStatement {
        let records = Records::default();
        let comparison = Comparison::planned(&Records::planned(Scale::Smoke));
        let probes = Probes::made_up(&[(probe, found.clone())]);
        let claim = sections::all().find(|claim| claim.id == id).unwrap();
        let row = claim.row(&ReproductionFacts {
            records: &records,
            comparison: &comparison,
            probes: &probes,
        });
        row.unwrap()
    }

    /// Catches a sentence that asserts what its data do not decide: the opposite outcome would not have it.
    #[test]
    fn the_opposite_outcome_has_other_words() {
        let census = |memory: usize, traps: u64| {
            serde_json::json!({"classes": [{
                "class": "parity (1,0) T=3", "window": [1, 0], "memory": memory, "codes": 256,
                "local_maxima": traps, "traps": traps, "rewards": [],
            }]})
        };
        let counts = |traps: u64| serde_json::json!({"classes": 2, "codes": 64, "traps": traps, "trapped": traps});
        let tables = |traps: u64| serde_json::json!({"latin": counts(0), "other": counts(traps), "tied": counts(1)});
        let policies = |last: f64, arrived: u64| {
            serde_json::json!({
                "policies": 6, "arrived": arrived, "drop": 0.0, "maxima": 1, "mixed": 1, "deviation": 0.0,
                "any_order": 0.0, "compatible": 1, "compatible_same": 1, "read_deviation": 0.5,
                "uniform_is_saddle": true, "uniform_row_gain": 0.0, "uniform_line": [0.2, 0.3, last],
            })
        };
        for (id, probe, found, opposite, words) in [
            ("e:wide", "windows", census(1, 0), census(1, 2), "it does"),
            (
                "e:wide-memory",
                "windows",
                census(2, 0),
                census(2, 2),
                "neither",
            ),
            ("e:bijectivity", "tables", tables(0), tables(2), "it can:"),
            (
                "exact:saddles",
                "escape-policies",
                policies(1.0, 6),
                policies(0.1, 5),
                "yet J rises",
            ),
        ] {
            let (found, opposite) = (
                decided_by(id, probe, &found),
                decided_by(id, probe, &opposite),
            );
            assert_ne!(found.verdict, opposite.verdict, "{id}");
            assert!(found.evidence.contains(words), "{id}: {}", found.evidence);
            assert!(
                !opposite.evidence.contains(words),
                "{id}: {}",
                opposite.evidence
            );
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
