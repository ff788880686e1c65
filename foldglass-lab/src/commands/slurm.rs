//! Writes a study as a job array of Slurm (DESIGN, "Beyond one machine").

mod limits;
mod script;

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use foldglass::Allowance;
use foldglass::memory::Bytes;
use foldglass_study::claims::LABEL;
use foldglass_study::disk::replace;
use foldglass_study::{
    Error as StudyError, Forecast, Options, Registry, SeriesForecast, Shard, Study, forecast,
};
use serde::Serialize;

use super::run::stopped_trial;
use crate::cli::Settings;
use crate::error::Error;
use crate::flags::{max_memory, positive};
use crate::output::{Report, counted};
use crate::progress::{Terminal, about, say, span};
use limits::{Mebibytes, TimeLimit};
use script::{Script, plain_path};

/// The flags of `slurm`.
#[derive(Debug, Args)]
pub struct SlurmArgs {
    /// The study, as for `run`
    #[arg(value_name = "STUDY.toml")]
    study: PathBuf,
    /// The directory of the records, seen from every node [default: the study's name]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The script, - for stdout [default: the study's name with .sbatch]
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Tasks of the array, each of which does its share [default: as many as make a share last about
    /// an hour]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    tasks: Option<usize>,
    /// Processors of a task, and so its threads
    #[arg(
        short,
        long,
        alias = "cpus-per-task",
        value_name = "N",
        default_value = "1"
    )]
    #[arg(value_parser = positive, allow_negative_numbers = true)]
    cpus: usize,
    /// Time limit of a task as sbatch reads it, such as 4:00:00; one that needs longer is requeued and
    /// goes on [default: twice what a share is thought to take]
    #[arg(long, value_name = "TIME", value_parser = limits::time, allow_hyphen_values = true)]
    time: Option<TimeLimit>,
    /// Memory of a task as sbatch reads it, such as 4G [default: what the cluster gives]
    #[arg(long, alias = "memory", value_name = "SIZE", value_parser = limits::memory)]
    #[arg(allow_negative_numbers = true)]
    mem: Option<Mebibytes>,
    /// The partition
    #[arg(short, long, value_name = "NAME", value_parser = name)]
    partition: Option<String>,
    /// The account
    #[arg(short = 'A', long, value_name = "NAME", value_parser = name)]
    account: Option<String>,
    /// Another flag of sbatch, such as --sbatch=--qos=long; may be given several times
    #[arg(long, value_name = "FLAG", value_parser = foreign_flag, allow_hyphen_values = true)]
    sbatch: Vec<String>,
}

/// Reads the name of a partition or an account, or several.
fn name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.,+@:".contains(c);
    if text.is_empty() || !text.chars().all(plain) || text.starts_with('-') {
        return Err(
            "a name of letters, digits and . _ + - @ : is needed, several with commas".into(),
        );
    }
    Ok(text.to_owned())
}

/// What the script states itself: another value would break it, or has a flag of its own.
const OWN: [&str; 14] = [
    "array",
    "ntasks",
    "cpus-per-task",
    "time",
    "mem",
    "partition",
    "account",
    "requeue",
    "no-requeue",
    "signal",
    "open-mode",
    "chdir",
    "output",
    "dependency",
];

/// Reads a flag that is handed on to sbatch.
fn foreign_flag(text: &str) -> Result<String, String> {
    let key = text.strip_prefix("--").unwrap_or_default();
    let key = key.split('=').next().unwrap_or_default();
    if key.is_empty() || text.chars().any(char::is_control) || text.contains('\\') {
        return Err("write a long flag with its value, such as --qos=long".to_owned());
    }
    if OWN.contains(&key) {
        return Err(format!(
            "the script states --{key} itself: use the flag of `foldglass slurm`, or change the script"
        ));
    }
    Ok(text.to_owned())
}

/// What a share should take where the user does not say how many there are.
const SHARE_SECONDS: f64 = 3600.0;

/// The largest index that Slurm accepts unless its MaxArraySize is raised.
const LARGEST_INDEX: usize = 1000;

/// The part of a job's memory that is planned with, as the script has it.
fn planned(memory: Mebibytes) -> Allowance {
    Allowance((u128::from(memory.0) << 20) * 9 / 10)
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

impl SlurmArgs {
    /// Writes the script.
    pub fn run(&self, settings: &Settings) -> Result<Written, Error> {
        let study = Study::read(&self.study, settings.seed)?;
        let out = self.out.clone();
        let out = out.unwrap_or_else(|| PathBuf::from(&study.name));
        let options = Options {
            out: out.clone(),
            base: self.study.parent().unwrap_or(Path::new("")).to_owned(),
            shard: Shard::WHOLE,
            threads: self.cpus,
            checkpoint_every: Duration::MAX,
            allowance: self.mem.map_or_else(max_memory::available, planned),
        };
        let found = forecast(&study, &Registry::default(), &options, &Terminal::new());
        let found = found.map_err(too_large)?.ok_or_else(stopped_trial)?;
        let tasks = self.checked_tasks(&found, &out)?;
        let seconds = share_seconds(&found.series, tasks, self.cpus);
        let time = self.time.unwrap_or(TimeLimit::for_forecast(seconds));
        let default = || PathBuf::from(format!("{}.sbatch", study.name));
        let file = self.script.clone().unwrap_or_else(default);
        let text = self.text(&study, settings.seed, &out, &file, tasks, time)?;
        let is_stdout = file.as_os_str() == "-";
        if !is_stdout {
            keep(&file, &text)?;
            // For the log of a task, which Slurm opens before the task begins.
            fs::create_dir_all(&out).map_err(|source| StudyError::write(&out, source))?;
        }
        Ok(Written {
            seed: study.seed,
            study: study.name,
            script: file,
            text: is_stdout.then_some(text),
            out,
            tasks,
            cpus: self.cpus,
            time_limit: time.to_string(),
            runs: found.runs,
            finished: found.finished,
            units: units(&found),
            share_seconds: seconds,
            seconds: found.series.iter().map(|series| series.seconds).sum(),
            memory_bytes: found.memory_bytes,
        })
    }

    /// How many shares there are to be.
    fn checked_tasks(&self, found: &Forecast, out: &Path) -> Result<usize, Error> {
        let units = units(found);
        if units == 0 {
            let out = out.display();
            return Err(Error::Usage(format!(
                "all {} are in {out}: `foldglass collect {out}` makes the table",
                counted(found.runs, "run")
            )));
        }
        let Some(tasks) = self.tasks else {
            let seconds: f64 = found.series.iter().map(|series| series.seconds).sum();
            let tasks = (seconds / self.cpus as f64 / SHARE_SECONDS).ceil() as usize;
            return Ok(tasks.clamp(1, units.min(LARGEST_INDEX)));
        };
        if tasks > units {
            return Err(Error::Usage(format!(
                "--tasks {tasks}: there are {} to do (runs that go together are one), so at most {units} \
                 have a share",
                counted(units, "unit")
            )));
        }
        if tasks > LARGEST_INDEX {
            say(&format!(
                "--tasks {tasks}: Slurm accepts indices up to {LARGEST_INDEX} unless its MaxArraySize is \
                 raised (scontrol show config)"
            ));
        }
        Ok(tasks)
    }

    fn text(
        &self,
        study: &Study,
        seed: u64,
        out: &Path,
        file: &Path,
        tasks: usize,
        time: TimeLimit,
    ) -> Result<String, Error> {
        let usage = |problem: String| Error::Usage(problem);
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: io::Error| Error::Failed(format!("{what} is not known: {error}"))
        };
        let here = std::env::current_dir().map_err(failed("the working directory"))?;
        let program = std::env::current_exe().map_err(failed("the path of this program"))?;
        let study_path = plain_path("the study", &self.study).map_err(usage)?;
        let mut command = vec!["run".to_owned(), study_path.to_owned()];
        if seed != 0 {
            command.extend(["--seed".to_owned(), seed.to_string()]);
        }
        let named = |flag: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("--{flag}={value}"))
        };
        let mut flags: Vec<String> = Vec::new();
        flags.extend(named("partition", &self.partition));
        flags.extend(named("account", &self.account));
        flags.extend(self.sbatch.iter().cloned());
        let shown = if file.as_os_str() == "-" {
            Path::new("SCRIPT")
        } else {
            file
        };
        Ok(Script {
            name: &study.name,
            file: plain_path("--script", shown).map_err(usage)?,
            command: &command,
            out: plain_path("--out", out).map_err(usage)?,
            program: plain_path("this program", &program).map_err(usage)?,
            directory: plain_path("the working directory", &here).map_err(usage)?,
            tasks,
            cpus: self.cpus,
            time,
            memory: self.mem,
            flags: &flags,
        }
        .text())
    }
}

/// Units that are left to do.
fn units(found: &Forecast) -> usize {
    found.series.iter().map(|series| series.units).sum()
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

/// Writes the script, unless another is there: its shares may be under way.
fn keep(file: &Path, text: &str) -> Result<(), Error> {
    match fs::read(file) {
        Ok(old) if old == text.as_bytes() => return Ok(()),
        Ok(_) => {
            return Err(Error::Usage(format!(
                "--script {} is there and says something else: the number of shares must not change while \
                 some are missing; change the script, remove it, or write another",
                file.display()
            )));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(source) => return Err(StudyError::read(file, source).into()),
    }
    let written = replace(file, LABEL, text.as_bytes());
    Ok(written.map_err(|source| StudyError::write(file, source))?)
}

/// A script, and what its tasks are thought to take.
#[derive(Serialize)]
pub struct Written {
    #[serde(skip)]
    seed: u64,
    study: String,
    script: PathBuf,
    /// The script itself, where it goes to stdout.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    out: PathBuf,
    tasks: usize,
    cpus: usize,
    time_limit: String,
    /// Runs of the study, those recorded, and what is left in units.
    runs: u64,
    finished: u64,
    units: usize,
    /// What the largest share takes here.
    share_seconds: f64,
    /// What all of it takes here on one processor.
    seconds: f64,
    /// What a task takes.
    memory_bytes: u64,
}

impl Report for Written {
    fn seed(&self) -> Option<u64> {
        Some(self.seed)
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(text) = &self.text {
            return out.write_all(text.as_bytes());
        }
        let script = self.script.display();
        writeln!(
            out,
            "{script}: {} of {}, {} at most",
            counted(self.tasks, "task"),
            counted(self.cpus, "processor"),
            self.time_limit
        )?;
        let done = match self.finished {
            0 => String::new(),
            done => format!(", {done} done"),
        };
        writeln!(
            out,
            "{}{done}; a share takes {} here and {} of memory, all of them {} of one processor\n",
            counted(self.runs, "run"),
            about(self.share_seconds),
            Bytes::of(u128::from(self.memory_bytes)),
            span(self.seconds)
        )?;
        let directory = self.out.display();
        writeln!(
            out,
            "bash {script}                submits it, and a job that makes the table in {directory}"
        )?;
        writeln!(
            out,
            "bash {script} --array=2,5    the same for some shares; finished runs are not done again"
        )
    }
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

    #[test]
    fn flags_of_the_script_itself_are_refused() {
        assert_eq!(foreign_flag("--qos=long"), Ok("--qos=long".to_owned()));
        assert_eq!(foreign_flag("--exclusive"), Ok("--exclusive".to_owned()));
        for bad in ["", "-q long", "--", "--array=1-3", "--signal=INT", "--a\nb"] {
            assert!(foreign_flag(bad).is_err(), "{bad}");
        }
        assert!(name("long,short").is_ok());
        assert!(name("").is_err() && name("a b").is_err() && name("--x").is_err());
    }
}
