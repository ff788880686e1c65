//! Leads a code or a policy to reward one, never lowering it (paper, thm. 4.1, App. B and E).

use foldglass::Context;
use foldglass::Unwatched;
use std::io::{self, Write};
use std::ops::Not;
use std::path::PathBuf;

use clap::Args;
use foldglass::landscape::escape::{self, EscapeError, SearchOutcome, most_moves};
use foldglass::proof::claim::{Move, MoveKind, Path, PathForm};
use foldglass::reward::count::{self, CountError, Counter};
use foldglass::{Class, ClassSpec, Code, Reward, Stream};
use foldglass_study::claims;
use schemars::JsonSchema;
use serde::Serialize;

use self::segments::CollapseReport;
use super::cells::{key_entries, key_lines};
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::table::{CodeOrPolicy, TableArgs};
use crate::flags::{ClassArgs, natural, not_negative};
use crate::output::Report;
use crate::progress::Terminal;
use crate::report::{Cell, Column};
use crate::summary::{LISTED, short};

mod segments;

/// The flags of `escape`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass cavi --task z:5 --lengths 4 --tau 1e-10 --runs 8 --keep-code --json > runs.json
  foldglass escape --code runs.json#0 --out path.json
      From where a run stopped to reward 1, without a loss on the way.
  foldglass cavi --task z:5 --lengths 4 --tau 0.1 --policies policies.jsonl
  foldglass escape --policy policies.jsonl
      From a stochastic policy to a code of at least its reward, and on to reward 1.")]
pub struct EscapeArgs {
    #[command(flatten)]
    table: TableArgs,
    /// Write the path to a file that `check` reads
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Search at random at zero temperature if the theorem does not apply
    #[arg(long)]
    search: bool,
    /// The most changes that --search proposes
    #[arg(long, alias = "cap", value_name = "N", default_value = "1000000", value_parser = natural)]
    #[arg(allow_negative_numbers = true, requires = "search")]
    max_proposals: u64,
    /// Differences of dQ that count as none in the test for a local maximum, for --policy
    #[arg(long, value_name = "X", default_value = "1e-12", value_parser = not_negative)]
    #[arg(allow_hyphen_values = true)]
    tolerance: f64,
    /// Print every move, and with --policy every segment
    #[arg(short, long)]
    list: bool,
    #[command(flatten)]
    class: ClassArgs,
}

impl EscapeArgs {
    /// Reads the code, or makes one of the policy, and leads it on.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Escaped, Error> {
        let (class, table) = self.table.read(&self.class)?;
        let holds = escape::assumptions(&class);
        let (code, collapsed) = match table {
            CodeOrPolicy::Code(_) if holds.is_err() && !self.search => {
                return Err(holds.map_err(refuse).unwrap_err());
            }
            CodeOrPolicy::Code(code) => (code, None),
            CodeOrPolicy::Policy(policy) => {
                let found =
                    escape::collapse(&policy, self.tolerance, self.class.context(&Unwatched));
                let found = found.map_err(refuse)?;
                (found.code.clone(), Some(CollapseReport::from(found)))
            }
        };
        let (path, search) = if self.search {
            let (path, search) = self.walk(code, settings.seed)?;
            (path, Some(search))
        } else if holds.is_err() {
            (stay(code), None)
        } else {
            let path = escape::escape(&code, self.class.context(&Unwatched));
            (path.map_err(refuse)?, None)
        };
        if let Some(out) = &self.out {
            claims::write(out, &PathForm::from(&path))?;
        }
        Ok(Escaped {
            collapsed,
            stops: holds
                .err()
                .filter(|_| !self.search && !path.reward.is_one())
                .map(|why| why.to_string()),
            interrupted: search.as_ref().is_some_and(|search| search.stopped),
            search,
            moves: path.moves,
            reward_exact: path.reward,
            start_reward: path.start_reward,
            class,
            list: self.list,
        })
    }

    /// Searches at random.
    fn walk(&self, code: Code, seed: u64) -> Result<(Path, Searched), Error> {
        let counter = Counter::within(code, self.class.allowance());
        let counter = counter.map_err(|error| match error {
            CountError::TooLarge(error) => error.into(),
            error => Error::Usage(format!("--search: {error}")),
        })?;
        escape::check_cap(self.max_proposals, self.class.allowance())?;
        let observer = Terminal::new();
        let found = escape::search(
            counter,
            self.max_proposals,
            &mut Stream::new(seed, 0),
            Context::default().with_observer(&observer),
        );
        let searched = Searched {
            outcome: match found.outcome {
                SearchOutcome::Optimum => "optimum",
                SearchOutcome::Raised => "raised",
                SearchOutcome::Stuck => "stuck",
            },
            proposals: found.proposals,
            stopped: found.proposals < self.max_proposals
                && found.outcome != SearchOutcome::Optimum,
        };
        Ok((found.path, searched))
    }
}

/// The path of no move, where a policy became a code that the theorem does not lead on.
fn stay(code: Code) -> Path {
    let reward = count::reward(&code);
    Path {
        start: code,
        start_reward: reward.clone(),
        moves: Vec::new(),
        reward,
    }
}

/// Says why the theorem gives no path, and what may.
fn refuse(error: EscapeError) -> Error {
    match error {
        EscapeError::TooLarge(error) => error.into(),
        error => Error::Usage(format!(
            "{error}. For this class use --code FILE --search, a random search"
        )),
    }
}

/// How a search went.
#[derive(JsonSchema, Serialize)]
struct Searched {
    outcome: &'static str,
    proposals: u64,
    /// Whether the user stopped it.
    #[serde(skip)]
    stopped: bool,
}

/// A path, and how it was come by.
#[derive(JsonSchema, Serialize)]
pub struct Escaped {
    #[serde(flatten)]
    collapsed: Option<CollapseReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<Searched>,
    /// Why the path ends at the code that a policy became.
    #[serde(skip_serializing_if = "Option::is_none")]
    stops: Option<String>,
    moves: Vec<Move>,
    reward_exact: Reward,
    #[serde(skip_serializing_if = "Not::not")]
    interrupted: bool,
    #[serde(skip)]
    start_reward: Reward,
    #[serde(skip)]
    class: Class,
    #[serde(skip)]
    list: bool,
}

impl Report for Escaped {
    fn interrupted(&self) -> bool {
        self.interrupted
    }

    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.spec())
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(collapsed) = &self.collapsed {
            collapsed.write_text(out)?;
            if self.list {
                writeln!(out)?;
                collapsed.write_list(out, &self.class)?;
            }
        }
        if let Some(why) = &self.stops {
            let reward = short(&self.reward_exact.to_string());
            return writeln!(out, "reward J  {reward}. No path leads on: {why}");
        }
        let from = short(&self.start_reward.to_string());
        let to = short(&self.reward_exact.to_string());
        writeln!(out, "reward J  {from} to {to}, never lowered")?;
        write!(out, "moves     {}", self.moves.len())?;
        match &self.search {
            Some(search) => write!(out, " kept of {} proposed", search.proposals)?,
            None if self.moves.is_empty() => {}
            None => write!(out, " of at most {}", most_moves(&self.class))?,
        }
        writeln!(out, "{}", self.kinds())?;
        if let Some(Searched { outcome, .. }) = &self.search {
            writeln!(out, "search    {}", said(outcome))?;
        }
        if !self.moves.is_empty() {
            writeln!(out)?;
            self.write_list(out)?;
        }
        Ok(())
    }
}

fn said(outcome: &str) -> &'static str {
    match outcome {
        "optimum" => "Reached J = 1",
        "raised" => "Raised J, and did not reach 1. With more --max-proposals it may",
        _ => {
            "Found no change that raises J. `certify --code FILE --barrier` decides whether the code is a trap, and \
             how far J must fall before it can rise"
        }
    }
}

impl Escaped {
    /// How many moves there are of each kind.
    fn kinds(&self) -> String {
        let all = [
            MoveKind::Consolidate,
            MoveKind::Prepare,
            MoveKind::Reroute,
            MoveKind::Finish,
            MoveKind::Neutral,
            MoveKind::Raise,
        ];
        let moves = &self.moves;
        let count = |kind: &MoveKind| {
            (
                *kind,
                moves.iter().filter(|m| m.kind == Some(*kind)).count(),
            )
        };
        let counts = all.iter().map(count).filter(|(_, n)| *n > 0);
        let texts: Vec<String> = counts.map(|(kind, n)| format!("{n} {kind}")).collect();
        match texts.is_empty() {
            true => String::new(),
            false => format!(": {}", texts.join(", ")),
        }
    }

    fn write_list(&self, out: &mut dyn Write) -> io::Result<()> {
        let moves = &self.moves;
        let shown = if self.list { moves.len() } else { LISTED };
        let kinds = MoveKind::Consolidate.to_string().len();
        let lines = key_lines(&self.class)
            .column(Column::numbers("from"), 0)
            .column(Column::numbers("to"), 2)
            .column(Column::words("kind"), kinds)
            .column(Column::words("J"), 0);
        lines.write_head(out)?;
        for m in moves.iter().take(shown) {
            let mut entries = key_entries(m.cell, &self.class.key(m.cell)).to_vec();
            entries.extend([
                m.from.into(),
                m.to.into(),
                m.kind.map_or(Cell::Missing, |kind| kind.to_string().into()),
                Cell::Exact(m.reward.to_string()),
            ]);
            lines.write_row(out, &entries)?;
        }
        match moves.len().saturating_sub(shown) {
            0 => {}
            more => writeln!(out, "and {more} more; --list has all")?,
        }
        let meanings = [
            (
                MoveKind::Consolidate,
                "a cell takes the best token for the state it leads to",
            ),
            (
                MoveKind::Prepare,
                "a cell that no input consults is set for a state that will come there",
            ),
            (
                MoveKind::Reroute,
                "a state leaves a token it shares for one of its own",
            ),
            (MoveKind::Finish, "a cell takes the right answer"),
        ];
        for (kind, meaning) in meanings {
            if moves.iter().any(|m| m.kind == Some(kind)) {
                writeln!(out, "{kind}: {meaning}")?;
            }
        }
        Ok(())
    }
}
