//! Checks claims from their files alone (paper, thm. 4.1 and App. G.6).

mod verdicts;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use foldglass::check::CheckError;
use foldglass::check::path::{self, Path, PathError};
use foldglass::check::verdict::{Effort, Verdict};
use foldglass::class::{Allowance, Class};
use foldglass::exact::lowest_terms;
use serde::Serialize;

use crate::certificate::{Format, PathFile, VerdictFile};
use crate::cli::Settings;
use crate::error::Error;
use crate::files::File;
use crate::flags::{max_memory, positive};
use crate::output::Report;
use crate::summary::short;

/// The flags of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The files; - reads stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Codes of a bounded shelf whose single-cell changes are all looked at, evenly spaced
    #[arg(long, value_name = "N", default_value = "200", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    sample: usize,
    /// Look at all single-cell changes of every code of a bounded shelf
    #[arg(long, conflicts_with = "sample")]
    all: bool,
    /// Refuse what needs more memory, such as 4GiB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = max_memory::allowance)]
    #[arg(allow_negative_numbers = true)]
    max_memory: Option<Allowance>,
}

/// A claim that was read.
enum Claim {
    Path(Class, Path),
    Verdicts(Class, Vec<Verdict>),
}

/// How claims are checked.
struct Means {
    allowance: Allowance,
    threads: Option<usize>,
    effort: Effort,
}

impl Claim {
    fn read(file: &File, allowance: Allowance) -> Result<Claim, Error> {
        match Format::of(file)? {
            Format::Path => {
                PathFile::read(file, allowance).map(|(class, path)| Claim::Path(class, path))
            }
            Format::Verdict => {
                let read = VerdictFile::read(file, allowance);
                read.map(|(class, verdicts)| Claim::Verdicts(class, verdicts))
            }
        }
    }

    /// What holds, or what does not.
    fn check(&self, file: &str, means: &Means) -> Result<Result<Found, String>, Error> {
        match self {
            Claim::Path(class, path) => match path::verify(class, path, means.allowance) {
                Ok(()) => Ok(Ok(Found::Path {
                    moves: path.moves.len(),
                    start_exact: lowest_terms(&path.start_reward),
                    reward_exact: lowest_terms(&path.reward),
                })),
                Err(PathError::Unchecked(CheckError::TooLarge(error))) => Err(error.into()),
                Err(error) => Ok(Err(error.to_string())),
            },
            Claim::Verdicts(class, list) => {
                let checked = verdicts::check(class, list, file, means)?;
                Ok(checked.map(|verdicts| Found::Verdicts { verdicts }))
            }
        }
    }
}

impl CheckArgs {
    /// Reads all files, then checks them one by one.
    pub fn run(&self, settings: &Settings) -> Result<Checked, Error> {
        let allowance = self.max_memory.unwrap_or_else(max_memory::available);
        let mut claims = Vec::with_capacity(self.files.len());
        for path in &self.files {
            let file = File::at_or_stdin(path)?;
            let claim = Claim::read(&file, allowance)?;
            claims.push((file.name, claim));
        }
        let means = Means {
            allowance,
            threads: settings.threads,
            effort: match self.all {
                true => Effort::All,
                false => Effort::Sample(self.sample),
            },
        };
        let mut checked = Vec::new();
        for (file, claim) in claims {
            let found = match claim.check(&file, &means)? {
                Ok(found) => found,
                Err(problem) => Found::Failure { problem },
            };
            let holds = !matches!(found, Found::Failure { .. });
            checked.push(Line { file, holds, found });
        }
        Ok(Checked { checked })
    }
}

/// What was made of the files.
#[derive(Serialize)]
pub struct Checked {
    checked: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    file: String,
    holds: bool,
    #[serde(flatten)]
    found: Found,
}

/// What was claimed and is so, or what is not.
#[derive(Serialize)]
#[serde(untagged)]
enum Found {
    Failure {
        problem: String,
    },
    Path {
        moves: usize,
        start_exact: String,
        reward_exact: String,
    },
    Verdicts {
        verdicts: Vec<verdicts::Line>,
    },
}

impl Report for Checked {
    fn failure(&self) -> Option<String> {
        let failed = |line: &Line| match &line.found {
            Found::Failure { problem } => Some(format!("{} does not hold: {problem}", line.file)),
            _ => None,
        };
        let failures: Vec<String> = self.checked.iter().filter_map(failed).collect();
        (!failures.is_empty()).then(|| failures.join("; "))
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.checked
            .iter()
            .try_for_each(|Line { file, found, .. }| match found {
                // Said on stderr.
                Found::Failure { .. } => Ok(()),
                Found::Path {
                    moves,
                    start_exact,
                    reward_exact,
                } => writeln!(
                    out,
                    "{file} holds: {moves} moves from {} to {}, none lowers J",
                    short(start_exact),
                    short(reward_exact)
                ),
                Found::Verdicts { verdicts } => {
                    writeln!(out, "{file} holds: {}", verdicts::text(verdicts))
                }
            })
    }
}
