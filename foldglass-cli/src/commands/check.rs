//! Checks claims from their files alone (paper, thm. 4.1 and App. G.6).

mod verdicts;

use foldglass::Context;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass::proof::check::CheckError;
use foldglass::proof::check::path::{PathError, verify};
use foldglass::proof::check::verdict::Effort;
use foldglass::{Allowance, Reward};
use foldglass_study::claims::{self, Claims};
use foldglass_study::files::Input;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::{max_memory, positive};
use crate::output::Report;
use crate::progress::Terminal;
use crate::report::{Cell, Column, Format, Table};
use crate::summary::short;

/// The flags of `check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass law traps --lengths 8 --inputs markov:9/10 --out trap.json
  foldglass certify --code trap.json --out verdicts.json
  foldglass check verdicts.json
      Verify a verdict, by code that shares nothing with the search.
  foldglass cavi --task z:5 --lengths 4 --tau 1e-10 --runs 8 --keep-code --json > runs.json
  foldglass escape --code runs.json#0 --out path.json
  foldglass check path.json
      Verify that no move of a path lowers the reward.")]
pub struct CheckArgs {
    /// The files; - reads stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Codes of a bounded shelf whose single-cell changes are all looked at, evenly spaced, the first
    /// and the last among them
    #[arg(long, value_name = "N", default_value = "200", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    sample: usize,
    /// Look at all single-cell changes of every code of a bounded shelf
    #[arg(long, conflicts_with = "sample")]
    all: bool,
    /// Refuse to start what needs more memory than this, such as 4GiB [default: the available memory]
    #[arg(long, value_name = "SIZE", value_parser = max_memory::allowance)]
    #[arg(allow_negative_numbers = true)]
    max_memory: Option<Allowance>,
}

/// How claims are checked.
struct Means<'a> {
    allowance: Allowance,
    threads: Option<usize>,
    effort: Effort,
    observer: &'a Terminal,
}

impl CheckArgs {
    /// Reads and checks the files one by one; one that cannot be read does not keep the others from
    /// being checked.
    pub fn run(&self, settings: &GlobalArgs) -> Result<CheckReport, Error> {
        let observer = Terminal::new();
        let means = Means {
            allowance: self.max_memory.unwrap_or_else(max_memory::available),
            threads: settings.threads,
            effort: if self.all {
                Effort::All
            } else {
                Effort::Sample(self.sample)
            },
            observer: &observer,
        };
        let mut checked = Vec::new();
        let mut refused = None;
        for path in &self.files {
            match check(path, &means) {
                Ok(line) => checked.push(line),
                Err(error @ Error::Stopped(_)) => return Err(error),
                Err(error) => {
                    let found = Found::Unread {
                        error: error.to_string(),
                    };
                    checked.push(CheckedFile::new(path, found));
                    refused.get_or_insert(error);
                }
            }
        }
        match refused {
            Some(error) if self.files.len() == 1 => Err(error),
            refused => Ok(CheckReport {
                checked,
                refused: refused.is_some(),
            }),
        }
    }
}

fn check(path: &Path, means: &Means<'_>) -> Result<CheckedFile, Error> {
    let file = Input::read(path)?;
    let found = match claims::read(&file, means.allowance)? {
        Claims::Path(claim) => {
            match verify(&claim, Context::default().with_memory(means.allowance)) {
                Ok(()) => Found::Path {
                    moves: claim.moves.len(),
                    start_exact: claim.start_reward,
                    reward_exact: claim.reward,
                },
                Err(PathError::Unchecked(CheckError::TooLarge(error))) => return Err(error.into()),
                Err(error) => Found::Failure {
                    problem: error.to_string(),
                },
            }
        }
        Claims::Verdicts(list) => match verdicts::check(&list, &file.name, means)? {
            Ok(verdicts) => Found::Verdicts { verdicts },
            Err(problem) => Found::Failure { problem },
        },
    };
    let mut line = CheckedFile::new(path, found);
    line.file = file.name;
    Ok(line)
}

/// What was made of the files.
#[derive(JsonSchema, Serialize)]
pub struct CheckReport {
    checked: Vec<CheckedFile>,
    /// Whether some could not be read.
    #[serde(skip)]
    refused: bool,
}

#[derive(JsonSchema, Serialize)]
struct CheckedFile {
    file: String,
    holds: bool,
    #[serde(flatten)]
    found: Found,
}

impl CheckedFile {
    fn new(path: &Path, found: Found) -> CheckedFile {
        CheckedFile {
            file: path.display().to_string(),
            holds: matches!(found, Found::Path { .. } | Found::Verdicts { .. }),
            found,
        }
    }
}

/// What was claimed and is so, or what is not.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
enum Found {
    Failure {
        problem: String,
    },
    Unread {
        error: String,
    },
    Path {
        moves: usize,
        start_exact: Reward,
        reward_exact: Reward,
    },
    Verdicts {
        verdicts: Vec<verdicts::VerdictLine>,
    },
}

impl Report for CheckReport {
    fn failure(&self) -> Option<String> {
        let failed = |line: &CheckedFile| match &line.found {
            Found::Failure { problem } => Some(format!("{} does not hold: {problem}", line.file)),
            Found::Unread { error } => Some(format!("{} is not checked: {error}", line.file)),
            _ => None,
        };
        let failures: Vec<String> = self.checked.iter().filter_map(failed).collect();
        (self.refused || !failures.is_empty()).then(|| failures.join("; "))
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        let columns = ["file", "holds", "claims"].map(Column::words);
        let row = |line: &CheckedFile| -> [Cell; 3] {
            let claims = match &line.found {
                Found::Failure { problem } => problem.clone(),
                Found::Unread { error } => error.clone(),
                Found::Path { moves, .. } => format!("a path of {moves} moves"),
                Found::Verdicts { verdicts } => verdicts::text(verdicts),
            };
            let holds = if line.holds { "yes" } else { "no" };
            [line.file.clone().into(), holds.into(), claims.into()]
        };
        vec![Table::new(columns).rows(self.checked.iter().map(row))]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.checked
            .iter()
            .try_for_each(|CheckedFile { file, found, .. }| match found {
                // Said on stderr.
                Found::Failure { .. } | Found::Unread { .. } => Ok(()),
                Found::Path {
                    moves,
                    start_exact,
                    reward_exact,
                } => writeln!(
                    out,
                    "{file} holds: {moves} moves from {} to {}, none lowers J",
                    short(&start_exact.to_string()),
                    short(&reward_exact.to_string())
                ),
                Found::Verdicts { verdicts } => {
                    writeln!(out, "{file} holds: {}", verdicts::text(verdicts))
                }
            })
    }
}
