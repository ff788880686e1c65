//! Holds claims in files that stand alone: format, class, codes, exact numbers.
//!
//! A reader knows all of a file or refuses it.

use super::{CodeNode, Finding, Move, Path, Standing, Verdict, WayOut};
use crate::model::class::{Class, ClassSpec, SpecError};
use crate::model::operation::Symbol;
use crate::model::policy::{Code, TableError};
use crate::support::exact::Reward;
use crate::support::memory::Allowance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What the `format` of a path file says.
pub const PATH_FORMAT: &str = "foldglass-path/1";

/// What the `format` of a verdict file says.
pub const VERDICT_FORMAT: &str = "foldglass-verdict/1";

/// Why the content of a file is not a claim.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// An unknown format.
    #[error("its format is `{0}`: accepted: {PATH_FORMAT}, {VERDICT_FORMAT}")]
    Format(String),
    /// No class.
    #[error("its class: {0}")]
    Class(#[from] SpecError),
    /// No code of the class.
    #[error("{place}actions: {problem}")]
    Table {
        /// Which verdict.
        place: String,
        /// What is wrong.
        problem: TableError,
    },
    /// A cell that the class does not have.
    #[error("{place}: there is no cell {cell}: cells are 0 to {last}")]
    NoCell {
        /// Where it is named.
        place: String,
        /// The cell.
        cell: usize,
        /// The last there is.
        last: usize,
    },
    /// An action that is not a symbol.
    #[error("{place}: there is no action {action}: actions are 0 to {last}")]
    NoAction {
        /// Where it is named.
        place: String,
        /// The action.
        action: Symbol,
        /// The last there is.
        last: usize,
    },
    /// A verdict with the keys of another.
    #[error("verdict {0}: {1}")]
    Keys(usize, &'static str),
    /// A file without a claim.
    #[error("it holds no verdict")]
    Empty,
}

/// The content of a path file.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathForm {
    #[schemars(extend("const" = PATH_FORMAT))]
    format: String,
    class: ClassSpec,
    actions: Vec<i64>,
    start_exact: Reward,
    moves: Vec<Move>,
    reward_exact: Reward,
}

/// A verdict in a file, with the keys of its kind: certified has nodes, bounded has cap, nodes and
/// beyond, escapes has moves. A node is [parent, cell, action]. Any but optimal may have a barrier:
/// then barrier_is says how it is known, way_out is its path, and an exact one has flooded codes.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictForm {
    actions: Vec<i64>,
    reward_exact: Reward,
    verdict: FindingWord,
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<CodeNode>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beyond: Option<CodeNode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moves: Option<Vec<Move>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    barrier: Option<Reward>,
    #[serde(skip_serializing_if = "Option::is_none")]
    barrier_is: Option<BarrierForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flooded: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    way_out: Option<Vec<Move>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FindingWord {
    Optimal,
    Certified,
    Bounded,
    Escapes,
}

/// How a barrier is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BarrierForm {
    Exact,
    Bound,
}

/// The content of a verdict file: verdicts on codes of one class, at least one.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictsForm {
    #[schemars(extend("const" = VERDICT_FORMAT))]
    format: String,
    class: ClassSpec,
    verdicts: Vec<VerdictForm>,
}

/// Refuses a cell or an action that the class does not have.
fn check_place(
    class: &Class,
    place: impl Fn() -> String,
    cell: usize,
    actions: &[Symbol],
) -> Result<(), ClaimError> {
    if cell >= class.cells() {
        return Err(ClaimError::NoCell {
            place: place(),
            cell,
            last: class.cells() - 1,
        });
    }
    match actions
        .iter()
        .find(|&&action| usize::from(action) >= class.q())
    {
        None => Ok(()),
        Some(&action) => Err(ClaimError::NoAction {
            place: place(),
            action,
            last: class.q() - 1,
        }),
    }
}

fn check_moves(class: &Class, place: &str, moves: &[Move]) -> Result<(), ClaimError> {
    (1..).zip(moves).try_for_each(|(n, m)| {
        let place = || format!("{place}move {n}");
        check_place(class, place, m.cell, &[m.from, m.to])
    })
}

fn code(class: &Class, place: &str, actions: &[i64]) -> Result<Code, ClaimError> {
    Code::new(class, actions).map_err(|problem| ClaimError::Table {
        place: place.to_owned(),
        problem,
    })
}

fn actions(code: &Code) -> Vec<i64> {
    code.actions().iter().map(|&action| action.into()).collect()
}

impl From<&Path> for PathForm {
    fn from(path: &Path) -> PathForm {
        PathForm {
            format: PATH_FORMAT.to_owned(),
            class: path.start.class().spec(),
            actions: actions(&path.start),
            start_exact: path.start_reward.clone(),
            moves: path.moves.clone(),
            reward_exact: path.reward.clone(),
        }
    }
}

impl PathForm {
    /// The path; whether it is true is not checked here.
    pub fn path(self, memory: Allowance) -> Result<Path, ClaimError> {
        check_format(&self.format, PATH_FORMAT)?;
        let class = self.class.lay_out_within(memory)?;
        check_moves(&class, "", &self.moves)?;
        Ok(Path {
            start: code(&class, "", &self.actions)?,
            start_reward: self.start_exact,
            moves: self.moves,
            reward: self.reward_exact,
        })
    }
}

impl From<&Verdict> for VerdictForm {
    fn from(verdict: &Verdict) -> VerdictForm {
        let mut form = VerdictForm {
            actions: actions(&verdict.start),
            reward_exact: verdict.reward.clone(),
            verdict: FindingWord::Optimal,
            cap: None,
            nodes: None,
            beyond: None,
            moves: None,
            barrier: None,
            barrier_is: None,
            flooded: None,
            way_out: None,
        };
        if let Some(way) = &verdict.way_out {
            form.barrier = Some(way.height.clone());
            form.way_out = Some(way.moves.clone());
            (form.barrier_is, form.flooded) = match way.standing {
                Standing::Exact { codes } => (Some(BarrierForm::Exact), Some(codes)),
                Standing::Bound => (Some(BarrierForm::Bound), None),
            };
        }
        match &verdict.finding {
            Finding::Optimal => {}
            Finding::Certified { nodes } => {
                form.verdict = FindingWord::Certified;
                form.nodes = Some(nodes.clone());
            }
            Finding::Bounded { cap, nodes, beyond } => {
                form.verdict = FindingWord::Bounded;
                (form.cap, form.nodes) = (Some(*cap), Some(nodes.clone()));
                form.beyond = Some(*beyond);
            }
            Finding::Escapes { moves } => {
                form.verdict = FindingWord::Escapes;
                form.moves = Some(moves.clone());
            }
        }
        form
    }
}

impl VerdictForm {
    /// What is claimed, if it is a claim about the class; whether it is true is not checked here.
    fn verdict(self, class: &Class, number: usize) -> Result<Verdict, ClaimError> {
        let place = format!("verdict {number}: ");
        let way_out = self.way_out(class, number, &place)?;
        let parts = (self.cap, self.nodes, self.beyond, self.moves);
        let finding = match (self.verdict, parts) {
            (FindingWord::Optimal, (None, None, None, None)) => Finding::Optimal,
            (FindingWord::Certified, (None, Some(nodes), None, None)) => {
                Finding::Certified { nodes }
            }
            (FindingWord::Bounded, (Some(cap), Some(nodes), Some(beyond), None)) => {
                let at = || format!("{place}beyond");
                check_place(class, at, beyond.cell as usize, &[beyond.action])?;
                Finding::Bounded { cap, nodes, beyond }
            }
            (FindingWord::Escapes, (None, None, None, Some(moves))) => Finding::Escapes { moves },
            (word, _) => return Err(ClaimError::Keys(number, word.keys())),
        };
        for (n, node) in (1..).zip(finding.nodes()) {
            let at = || format!("{place}node {n}");
            check_place(class, at, node.cell as usize, &[node.action])?;
        }
        if let Finding::Escapes { moves } = &finding {
            check_moves(class, &place, moves)?;
        }
        Ok(Verdict {
            start: code(class, &place, &self.actions)?,
            reward: self.reward_exact,
            finding,
            way_out,
        })
    }

    /// What is said of the barrier, if it is complete.
    fn way_out(
        &self,
        class: &Class,
        number: usize,
        place: &str,
    ) -> Result<Option<WayOut>, ClaimError> {
        let parts = (&self.barrier, self.barrier_is, self.flooded, &self.way_out);
        let (height, standing, moves) = match parts {
            (None, None, None, None) => return Ok(None),
            _ if self.verdict == FindingWord::Optimal => {
                return Err(ClaimError::Keys(
                    number,
                    "an optimal verdict has no barrier",
                ));
            }
            (Some(height), Some(BarrierForm::Exact), Some(codes), Some(moves)) => {
                (height, Standing::Exact { codes }, moves)
            }
            (Some(height), Some(BarrierForm::Bound), None, Some(moves)) => {
                (height, Standing::Bound, moves)
            }
            _ => return Err(ClaimError::Keys(number, BARRIER_KEYS)),
        };
        check_moves(class, &format!("{place}way_out: "), moves)?;
        Ok(Some(WayOut {
            height: height.clone(),
            standing,
            moves: moves.clone(),
        }))
    }
}

const BARRIER_KEYS: &str =
    "a barrier has barrier, barrier_is and way_out, and if it is exact flooded";

impl FindingWord {
    fn keys(self) -> &'static str {
        match self {
            FindingWord::Optimal => "an optimal verdict has no cap, nodes, beyond or moves",
            FindingWord::Certified => "a certified verdict has nodes, and no cap, beyond or moves",
            FindingWord::Bounded => "a bounded verdict has cap, nodes and beyond, and no moves",
            FindingWord::Escapes => "an escapes verdict has moves, and no cap, nodes or beyond",
        }
    }
}

impl VerdictsForm {
    /// The verdicts; whether they are true is not checked here.
    pub fn verdicts(self, memory: Allowance) -> Result<Vec<Verdict>, ClaimError> {
        check_format(&self.format, VERDICT_FORMAT)?;
        if self.verdicts.is_empty() {
            return Err(ClaimError::Empty);
        }
        let class = self.class.lay_out_within(memory)?;
        let forms = self.verdicts.into_iter().enumerate();
        forms
            .map(|(number, form)| form.verdict(&class, number))
            .collect()
    }
}

fn check_format(format: &str, wanted: &str) -> Result<(), ClaimError> {
    if format == wanted {
        return Ok(());
    }
    Err(ClaimError::Format(format.to_owned()))
}
