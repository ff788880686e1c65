//! Holds the `foldglass` command: reads what was typed, computes a report, writes it.
//!
//! A command is a module of `commands`: its flags, and what it reports. A report goes to stdout
//! as a text for a person or, under `--json`, as one JSON object; everything else goes to stderr.
//! [`run_program`] is the program. [`answer`] is the same for a host, such as Python: the JSON object comes
//! back, and a [`Host`] hears of progress and says whether to go on.

mod commands;
mod flags;
mod output;
mod program;
mod settings;
#[cfg(test)]
mod spelling;
mod summary;

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;

use foldglass::Allowance;
use foldglass_paper::{claims, reproduce};
use foldglass_report::{self as report, error, progress};
use program::{Cli, Command};
// Commands take their settings from here.
use settings as cli;

pub use foldglass_report::error::{Error, Fault};
pub use foldglass_report::progress::Host;

/// Runs the program: reads the arguments, its name first, and gives the exit code.
pub fn run_program(args: impl IntoIterator<Item = OsString>) -> u8 {
    match run(args, &mut io::stdout().lock()) {
        Ok(()) => 0,
        Err(error) => error.report(),
    }
}

/// The memory that may be taken: so much in words such as `4GiB`, or what the machine has free now.
pub fn allowance(text: Option<&str>) -> Result<Allowance, String> {
    match text {
        Some(text) => flags::max_memory::allowance(text),
        None => Ok(flags::max_memory::available()),
    }
}

/// Runs a command for a host and gives the JSON object that `--json` prints. Nothing is written to
/// the terminal, and no signal is taken. An error comes with what was reported before it, as
/// where a check failed or the host stopped it.
pub fn answer(
    args: impl IntoIterator<Item = OsString>,
    host: Arc<dyn Host>,
) -> (Vec<u8>, Result<(), Error>) {
    let program = OsString::from("foldglass");
    let args = [program].into_iter().chain(args);
    let args = args.chain([OsString::from("--json")]);
    let mut written = Vec::new();
    let end = progress::hosted(host, || run(args, &mut written));
    (written, end)
}

fn run(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write) -> Result<(), Error> {
    let Some((invocation, command)) = Cli::read(args)? else {
        return Ok(());
    };
    let settings = &invocation.settings;
    if settings.quiet {
        progress::be_quiet();
    }
    match command {
        Command::Task(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Cells(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Eval(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Chain(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Cavi(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Reinforce(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Enumerate(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Certify(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Escape(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Benign(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Law(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Check(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Inspect(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Gauge(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Family(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Tree(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Parity(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Density(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::FreeEnergy(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Draw(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Overlap(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Train(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Distill(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Barrier(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::ReadBack(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Dataset(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Run(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Collect(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Slurm(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Summary(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::List(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Plot(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Explore(args) => args.run(&invocation, out),
        Command::Reproduce(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Report(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Claims(args) => output::write(&args.run(settings)?, &invocation, out),
        Command::Completions(args) => {
            output::write(&args.run(program::definition()), &invocation, out)
        }
        Command::Man(args) => output::write(&args.run(program::definition())?, &invocation, out),
    }
}
