//! Finds out what an array would share: the runs of a study, or the parts of an enumeration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use foldglass::Allowance;
use foldglass_study::{Forecast, Options, Registry, SeriesForecast, Study, StudyError, forecast};

use super::script::plain_path;
use crate::cli::{GlobalArgs, one_line};
use crate::commands::enumerate::EnumerateArgs;
use crate::error::{Error, stopped_trial};
use crate::output::counted;
use crate::progress::Terminal;

/// What there is to share.
pub struct SharedWork {
    /// Its name.
    pub name: String,
    /// The seed that makes it.
    pub seed: u64,
    /// The command and its flags.
    pub command: Vec<String>,
    /// The directory it is kept in.
    pub out: PathBuf,
    /// What a task takes.
    pub memory_bytes: u64,
    kind: Kind,
}

enum Kind {
    Study(Forecast),
    Enumeration {
        args: Box<EnumerateArgs>,
        parts: usize,
        seconds: f64,
    },
}

/// Within what it is done.
#[derive(Clone, Copy)]
pub struct JobLimits {
    /// Processors of a task.
    pub cpus: usize,
    /// Memory of a task.
    pub allowance: Allowance,
}

/// What may stand after `--`.
#[derive(Parser)]
#[command(name = "foldglass")]
struct Typed {
    #[command(flatten)]
    settings: GlobalArgs,
    #[command(subcommand)]
    command: Typable,
}

#[derive(Subcommand)]
enum Typable {
    Enumerate(Box<EnumerateArgs>),
}

impl SharedWork {
    /// The runs of a study.
    pub fn of_study(
        path: &Path,
        out: Option<&Path>,
        seed: u64,
        limits: JobLimits,
    ) -> Result<SharedWork, Error> {
        let study = Study::read(path, seed)?;
        let out = out.map_or_else(|| PathBuf::from(&study.name), Path::to_owned);
        let mut options = Options::new(out.clone());
        options.base = path.parent().unwrap_or(Path::new("")).to_owned();
        options.threads = limits.cpus;
        options.checkpoint_every = Duration::MAX;
        options.allowance = limits.allowance;
        let found = forecast(&study, &Registry::default(), &options, &Terminal::new());
        let found = found.map_err(too_large)?.ok_or_else(stopped_trial)?;
        let path = plain_path("the study", path).map_err(Error::Usage)?;
        Ok(SharedWork {
            name: study.name,
            seed: study.seed,
            command: seeded(vec!["run".to_owned(), path.to_owned()], seed),
            out,
            memory_bytes: found.memory_bytes,
            kind: Kind::Study(found),
        })
    }

    /// The parts of an enumeration, in the words of its command.
    pub fn of_enumeration(
        words: &[String],
        out: Option<&Path>,
        seed: u64,
        limits: JobLimits,
    ) -> Result<SharedWork, Error> {
        let usage = |problem: &str| Error::Usage(problem.to_owned());
        if let Some(word) = words.iter().find(|word| is_own(word)) {
            return Err(Error::Usage(format!(
                "{word} after --: the script states it itself"
            )));
        }
        let out = out.ok_or_else(|| usage("--out DIR is needed for an enumeration"))?;
        let command = seeded(words.to_vec(), seed);
        let typed = ["foldglass".to_owned()].into_iter().chain(command.clone());
        let Typed {
            settings,
            command: Typable::Enumerate(args),
        } = Typed::try_parse_from(typed).map_err(|error| match error.kind() {
            ErrorKind::InvalidSubcommand
            | ErrorKind::MissingSubcommand
            | ErrorKind::DisplayHelp
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                usage("after -- stands enumerate with its flags")
            }
            _ => Error::Usage(one_line(&error.to_string())),
        })?;
        let parts = args.shares(limits.cpus, limits.allowance, 1);
        let parts = parts.map_err(|error| match error {
            Error::Study(error) => too_large(*error),
            other => other,
        })?;
        Ok(SharedWork {
            name: out.file_name().and_then(|name| name.to_str()).map_or_else(
                || "enumerate".to_owned(),
                |name| name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"),
            ),
            seed: settings.seed,
            command,
            out: out.to_owned(),
            memory_bytes: parts.memory_bytes,
            kind: Kind::Enumeration {
                args,
                parts: parts.parts,
                seconds: parts.seconds * limits.cpus as f64,
            },
        })
    }

    /// How many pieces there are that can be shared.
    pub fn pieces(&self) -> usize {
        match &self.kind {
            Kind::Study(found) => found.series.iter().map(|series| series.units).sum(),
            Kind::Enumeration { parts, .. } => *parts,
        }
    }

    /// What a piece is called.
    pub fn piece(&self) -> &'static str {
        match &self.kind {
            Kind::Study(_) => "unit",
            Kind::Enumeration { .. } => "part",
        }
    }

    /// What a piece is, where its name does not say so.
    pub fn explained(&self) -> &'static str {
        match &self.kind {
            Kind::Study(_) => " (runs that go together are one)",
            Kind::Enumeration { .. } => "",
        }
    }

    /// All of it in words.
    pub fn described(&self) -> String {
        match &self.kind {
            Kind::Study(found) if found.finished > 0 => {
                format!("{}, {} done", counted(found.runs, "run"), found.finished)
            }
            Kind::Study(found) => counted(found.runs, "run"),
            Kind::Enumeration { parts, .. } => counted(*parts, "part"),
        }
    }

    /// What all of it takes on one processor.
    pub fn seconds(&self) -> f64 {
        match &self.kind {
            Kind::Study(found) => found.series.iter().map(|series| series.seconds).sum(),
            Kind::Enumeration { seconds, .. } => *seconds,
        }
    }

    /// What the largest of so many shares takes.
    pub fn share_seconds(&self, tasks: usize, limits: JobLimits) -> Result<f64, Error> {
        match &self.kind {
            Kind::Study(found) => Ok(share_seconds(&found.series, tasks, limits.cpus)),
            Kind::Enumeration { args, .. } => {
                let shares = args.shares(limits.cpus, limits.allowance, tasks)?;
                Ok(shares.seconds)
            }
        }
    }
}

/// Flags that the script gives the command.
const OWN: [&str; 9] = [
    "--out",
    "--shard",
    "--threads",
    "-j",
    "--max-memory",
    "--traps",
    "--dry-run",
    "--json",
    "--format",
];

fn is_own(word: &str) -> bool {
    let flag = word.split('=').next().unwrap_or_default();
    OWN.contains(&flag)
}

/// A command with its seed, unless that is the usual one.
fn seeded(mut command: Vec<String>, seed: u64) -> Vec<String> {
    if seed != 0 {
        command.extend(["--seed".to_owned(), seed.to_string()]);
    }
    command
}

/// Names the flag that sets the limit here.
fn too_large(error: StudyError) -> Error {
    match error {
        error @ (StudyError::PartTooLarge { .. } | StudyError::TooLarge(_)) => Error::Usage(
            format!("{error} (--mem sets the limit, of which nine tenths are planned with)"),
        ),
        other => other.into(),
    }
}

/// What the largest share takes on so many processors: units go to shares in turn, so that of each series a
/// share has all alike but one.
fn share_seconds(series: &[SeriesForecast], tasks: usize, cpus: usize) -> f64 {
    let left = || series.iter().filter(|series| series.units > 0);
    let each = |series: &SeriesForecast| series.seconds / series.units as f64;
    let all: f64 = left()
        .map(|series| each(series) * series.units.div_ceil(tasks) as f64)
        .sum();
    let longest = left().map(each).fold(0.0, f64::max);
    (all / cpus as f64).max(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(units: usize, each: f64) -> SeriesForecast {
        SeriesForecast {
            class: "c".to_owned(),
            cells: 1,
            dynamics: "d".to_owned(),
            kind: "cavi",
            points: 1,
            runs: units as u128,
            units,
            seconds: each * units as f64,
        }
    }

    #[test]
    fn a_share_takes_what_its_units_take_and_no_less_than_the_longest() {
        let all = [series(10, 3.0), series(0, 0.0), series(4, 1.0)];
        assert_eq!(share_seconds(&all, 1, 1), 34.0);
        assert_eq!(share_seconds(&all, 4, 1), 3.0 * 3.0 + 1.0);
        assert_eq!(share_seconds(&all, 4, 2), 5.0);
        assert_eq!(share_seconds(&all, 14, 8), 3.0);
    }
}
