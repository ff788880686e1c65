//! Writes a study, or an enumeration, as a job array of Slurm (DESIGN, "Beyond one machine").

mod limits;
mod script;
mod work;

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass::Allowance;
use foldglass::support::memory::Bytes;
use foldglass_study::claims::LABEL;
use foldglass_study::disk::replace;
use foldglass_study::method::put;
use foldglass_study::{Fields, StudyError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::{max_memory, positive};
use crate::output::{Report, counted};
use crate::progress::{about, say, span};
use limits::{Mebibytes, TimeLimit};
use script::{Script, plain_path};
use work::{JobLimits, SharedWork};

/// The flags of `slurm`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass slurm study.toml --tasks 16 --cpus 4 --time 4:00:00
      A job array of 16 tasks.
  foldglass slurm --tasks 8 --out runs/census -- enumerate --task parity --lengths 12 --inputs markov:9/10
      A count of all codes as a job array.")]
pub struct SlurmArgs {
    /// The study, as for `run`
    #[arg(value_name = "STUDY.toml", required_unless_present = "enumeration")]
    #[arg(conflicts_with = "enumeration")]
    study: Option<PathBuf>,
    /// The directory of the records, seen from every node [default: the study's name]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The script, - for stdout [default: the name of the study, or of --out, with .sbatch]
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Tasks of the array, each with a share of the work [default: shares of about an hour]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    tasks: Option<usize>,
    /// Processors of a task, and so its threads
    #[arg(long, alias = "cpus-per-task", value_name = "N", default_value = "1")]
    #[arg(value_parser = positive, allow_negative_numbers = true)]
    cpus: usize,
    /// Time limit of a task as sbatch reads it, such as 4:00:00; a task that needs longer is requeued
    /// and resumes [default: twice the forecast of a share]
    #[arg(long, value_name = "TIME", value_parser = limits::time, allow_hyphen_values = true)]
    time: Option<TimeLimit>,
    /// Memory of a task as sbatch reads it, such as 4G [default: the cluster's]
    #[arg(long, alias = "memory", value_name = "SIZE", value_parser = limits::memory)]
    #[arg(allow_negative_numbers = true)]
    mem: Option<Mebibytes>,
    /// The partition
    #[arg(long, value_name = "NAME", value_parser = name)]
    partition: Option<String>,
    /// The account
    #[arg(long, value_name = "NAME", value_parser = name)]
    account: Option<String>,
    /// Another flag of sbatch, such as --sbatch=--qos=long; may be given several times
    #[arg(long, value_name = "FLAG", value_parser = foreign_flag, allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// In place of a study, an enumeration: -- enumerate --task parity --lengths 12, and its other flags
    #[arg(last = true, value_name = "enumerate FLAGS")]
    enumeration: Vec<String>,
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

impl SlurmArgs {
    /// Writes the script.
    pub fn run(&self, settings: &GlobalArgs) -> Result<WrittenScript, Error> {
        let limits = JobLimits {
            cpus: self.cpus,
            allowance: self.mem.map_or_else(max_memory::available, planned),
        };
        let out = self.out.as_deref();
        let work = match &self.study {
            Some(study) => SharedWork::of_study(study, out, settings.seed, limits)?,
            None => SharedWork::of_enumeration(&self.enumeration, out, settings.seed, limits)?,
        };
        let tasks = self.checked_tasks(&work)?;
        let seconds = work.share_seconds(tasks, limits)?;
        let time = self.time.unwrap_or(TimeLimit::for_forecast(seconds));
        let default = || PathBuf::from(format!("{}.sbatch", work.name));
        let file = self.script.clone().unwrap_or_else(default);
        let text = self.text(&work, &file, tasks, time)?;
        let is_stdout = file.as_os_str() == "-";
        if !is_stdout {
            keep(&file, &text)?;
            // For the log of a task, which Slurm opens before the task begins.
            let out = &work.out;
            fs::create_dir_all(out).map_err(|source| StudyError::write(out, source))?;
        }
        Ok(WrittenScript {
            script: file,
            text: is_stdout.then_some(text),
            tasks,
            cpus: self.cpus,
            time_limit: time.to_string(),
            pieces: work.pieces(),
            share_seconds: seconds,
            seconds: work.seconds(),
            memory_bytes: work.memory_bytes,
            described: work.described(),
            seed: work.seed,
            name: work.name,
            out: work.out,
        })
    }

    /// How many shares there are to be.
    fn checked_tasks(&self, work: &SharedWork) -> Result<usize, Error> {
        let pieces = work.pieces();
        if pieces == 0 {
            let out = work.out.display();
            return Err(Error::Usage(format!(
                "{}: all are in {out}, and `foldglass collect {out}` makes the table",
                work.described()
            )));
        }
        let Some(tasks) = self.tasks else {
            let tasks = (work.seconds() / self.cpus as f64 / SHARE_SECONDS).ceil() as usize;
            return Ok(tasks.clamp(1, pieces.min(LARGEST_INDEX)));
        };
        if tasks > pieces {
            return Err(Error::Usage(format!(
                "--tasks {tasks}: there are {} to do{}, so at most {pieces} have a share",
                counted(pieces, work.piece()),
                work.explained()
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
        work: &SharedWork,
        file: &Path,
        tasks: usize,
        time: TimeLimit,
    ) -> Result<String, Error> {
        let unknown = |what: &'static str| {
            move |error: io::Error| Error::Failed(format!("{what} is not known: {error}"))
        };
        let plain = |what: &str, path| plain_path(what, path).map_err(Error::Usage);
        let here = std::env::current_dir().map_err(unknown("the working directory"))?;
        let program = std::env::current_exe().map_err(unknown("the path of this program"))?;
        let named = |flag: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("--{flag}={value}"))
        };
        let mut flags: Vec<String> = Vec::new();
        flags.extend(named("partition", &self.partition));
        flags.extend(named("account", &self.account));
        flags.extend(self.sbatch.iter().cloned());
        let shown = if file.as_os_str() == "-" {
            "SCRIPT"
        } else {
            plain("--script", file)?
        };
        Ok(Script {
            name: &work.name,
            file: shown,
            command: &work.command,
            out: plain("--out", &work.out)?,
            program: plain("this program", &program)?,
            directory: plain("the working directory", &here)?,
            tasks,
            cpus: self.cpus,
            time,
            memory: self.mem,
            flags: &flags,
        }
        .text())
    }
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
#[derive(JsonSchema, Serialize)]
pub struct WrittenScript {
    #[serde(skip)]
    seed: u64,
    name: String,
    script: PathBuf,
    /// The script itself, where it goes to stdout.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    out: PathBuf,
    tasks: usize,
    cpus: usize,
    time_limit: String,
    /// Units of runs, or parts of an enumeration, that are left to do.
    pieces: usize,
    /// What the largest share takes here.
    share_seconds: f64,
    /// What all of it takes here on one processor.
    seconds: f64,
    /// What a task takes.
    memory_bytes: u64,
    #[serde(skip)]
    described: String,
}

impl Report for WrittenScript {
    fn seed(&self) -> Option<u64> {
        Some(self.seed)
    }

    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        put(&mut fields, "script", &self.script);
        put(&mut fields, "out", &self.out);
        fields
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
        writeln!(
            out,
            "{}; a share takes {} here and {} of memory, all of them {} of one processor\n",
            self.described,
            about(self.share_seconds),
            Bytes::of(u128::from(self.memory_bytes)),
            span(self.seconds)
        )?;
        let directory = self.out.display();
        writeln!(
            out,
            "bash {script}                submits it, and a job that collects what is in {directory}"
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
