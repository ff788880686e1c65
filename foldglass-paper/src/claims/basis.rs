//! Makes decisions: every one says what kind of evidence it rests on, and how much of it there is.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Absent, StatementVerdict};

/// The kind of what a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BasisKind {
    /// A proof, whose steps were carried out in cases.
    Proved,
    /// All cases there are.
    Exhaustive,
    /// Cases drawn at random.
    Sampled,
    /// Committed records of networks.
    Records,
}

impl BasisKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            BasisKind::Proved => "proved",
            BasisKind::Exhaustive => "exhaustive",
            BasisKind::Sampled => "sampled",
            BasisKind::Records => "records",
        }
    }
}

impl BasisKind {
    /// What is counted.
    fn cases(self) -> &'static str {
        match self {
            BasisKind::Proved | BasisKind::Exhaustive => "cases",
            BasisKind::Sampled => "runs",
            BasisKind::Records => "networks",
        }
    }
}

/// What a decision rests on: `n` cases, of which its test needs so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Basis {
    kind: BasisKind,
    n: u64,
    needs: u64,
}

/// A theorem, carried out in so many cases.
pub fn proved(n: u64) -> Basis {
    Basis {
        kind: BasisKind::Proved,
        n,
        needs: 1,
    }
}

/// All of so many cases. Nothing of it was left to chance: it needs no more.
pub fn exhaustive(n: u64) -> Basis {
    Basis {
        kind: BasisKind::Exhaustive,
        n,
        needs: 1,
    }
}

/// The same, where only a scale that has `needs` of them decides.
pub fn exhaustive_of(n: u64, needs: u64) -> Basis {
    Basis {
        needs,
        ..exhaustive(n)
    }
}

/// So many runs or cases with chance in them. With fewer than `needs` there is no verdict: a test of theirs
/// could come out either way.
pub fn sampled(n: u64, needs: u64) -> Basis {
    Basis {
        kind: BasisKind::Sampled,
        n,
        needs,
    }
}

/// Committed records of so many networks; with fewer than `needs` there is no verdict.
pub fn networks(n: u64, needs: u64) -> Basis {
    Basis {
        kind: BasisKind::Records,
        n,
        needs,
    }
}

/// A verdict and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The verdict.
    pub verdict: StatementVerdict,
    /// The kind of what it rests on.
    pub kind: BasisKind,
    /// How much of that there is.
    pub n: u64,
    /// The same in words.
    pub evidence: String,
}

impl Decided {
    /// Undecided: the records are missing.
    pub fn without_records(kind: BasisKind, absent: &Absent) -> Decided {
        Decided {
            verdict: StatementVerdict::Undecided,
            kind,
            n: 0,
            evidence: absent.to_string(),
        }
    }
}

/// The verdict on a statement of several parts: what is told of each, and none of a part that cannot be told.
/// It holds where all parts do, and is contradicted where none does. It holds in part where one does. Where no part
/// is known to hold and one cannot be told, it is undecided.
pub fn of_parts(parts: &[Option<bool>]) -> StatementVerdict {
    let count = |told| parts.iter().filter(|&&part| part == told).count();
    match (count(Some(true)), count(Some(false)), count(None)) {
        (0, 0, _) | (0, _, 1..) => StatementVerdict::Undecided,
        (_, 0, 0) => StatementVerdict::Holds,
        (0, _, 0) => StatementVerdict::Contradicted,
        _ => StatementVerdict::InPart,
    }
}

impl Basis {
    /// A verdict with its evidence.
    pub fn says(
        self,
        verdict: StatementVerdict,
        evidence: impl Into<String>,
    ) -> Result<Decided, Absent> {
        let Basis { kind, n, needs } = self;
        let evidence = evidence.into();
        let (verdict, evidence) = if n < needs {
            let what = kind.cases();
            let few =
                format!("too few {what}: {n} of the {needs} that its test needs ({evidence})");
            (StatementVerdict::Undecided, few)
        } else {
            (verdict, evidence)
        };
        Ok(Decided {
            verdict,
            kind,
            n,
            evidence,
        })
    }

    /// It holds, or it is contradicted.
    pub fn holds(self, is: bool, evidence: impl Into<String>) -> Result<Decided, Absent> {
        let verdict = if is {
            StatementVerdict::Holds
        } else {
            StatementVerdict::Contradicted
        };
        self.says(verdict, evidence)
    }

    /// It holds if all parts do, is contradicted if none does, else holds in part.
    pub fn parts(self, parts: &[bool], evidence: impl Into<String>) -> Result<Decided, Absent> {
        let parts: Vec<Option<bool>> = parts.iter().copied().map(Some).collect();
        self.told(&parts, evidence)
    }

    /// The same of parts of which some cannot be told.
    pub fn told(
        self,
        parts: &[Option<bool>],
        evidence: impl Into<String>,
    ) -> Result<Decided, Absent> {
        self.says(of_parts(parts), evidence)
    }

    /// However much there is of it, it decides nothing, for a reason.
    pub fn undecided(self, reason: impl Into<String>) -> Result<Decided, Absent> {
        Ok(Decided {
            verdict: StatementVerdict::Undecided,
            kind: self.kind,
            n: self.n,
            evidence: reason.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_runs_that_a_test_needs_there_is_no_verdict() {
        let few = sampled(2, 120).holds(false, "2/2").unwrap();
        assert_eq!(few.verdict, StatementVerdict::Undecided);
        assert!(few.evidence.contains("2 of the 120"), "{}", few.evidence);
        let enough = sampled(120, 120).holds(false, "60/120").unwrap();
        assert_eq!(
            (enough.verdict, enough.n),
            (StatementVerdict::Contradicted, 120)
        );
        let none = exhaustive(0).holds(true, "0 of 0").unwrap();
        assert_eq!(none.verdict, StatementVerdict::Undecided);
    }

    #[test]
    fn parts_hold_all_some_or_none() {
        let verdict = |parts: &[bool]| proved(1).parts(parts, "").unwrap().verdict;
        assert_eq!(verdict(&[true, true]), StatementVerdict::Holds);
        assert_eq!(verdict(&[true, false]), StatementVerdict::InPart);
        assert_eq!(verdict(&[false, false]), StatementVerdict::Contradicted);
        let told = |parts: &[Option<bool>]| proved(1).told(parts, "").unwrap().verdict;
        assert_eq!(told(&[Some(true), None]), StatementVerdict::InPart);
        assert_eq!(told(&[Some(false), None]), StatementVerdict::Undecided);
        assert_eq!(told(&[None, None]), StatementVerdict::Undecided);
        assert_eq!(told(&[]), StatementVerdict::Undecided);
    }

    #[test]
    fn what_decides_nothing_says_what_was_looked_at() {
        let whole = exhaustive(9).undecided("no trap").unwrap();
        assert_eq!(whole.verdict, StatementVerdict::Undecided);
        assert_eq!((whole.kind, whole.n), (BasisKind::Exhaustive, 9));
    }
}
