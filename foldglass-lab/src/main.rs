//! Runs the `foldglass` command: reads what was typed, computes a report, writes it.
//!
//! A command is a module of [`commands`]: its flags, and what it reports. A report goes to stdout
//! as a text for a person or, under `--json`, as one JSON object; everything else goes to stderr.

mod claims;
mod cli;
mod commands;
mod error;
mod flags;
mod output;
mod progress;
mod report;
mod reproduce;
mod summary;
mod terminal;

use std::process::ExitCode;

use cli::{Cli, Command};
use error::Error;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

fn run() -> Result<(), Error> {
    let Some((invocation, command)) = Cli::read(std::env::args_os())? else {
        return Ok(());
    };
    let settings = &invocation.settings;
    if settings.quiet {
        progress::be_quiet();
    }
    match command {
        Command::Task(args) => output::write(&args.run(settings)?, &invocation),
        Command::Cells(args) => output::write(&args.run(settings)?, &invocation),
        Command::Eval(args) => output::write(&args.run(settings)?, &invocation),
        Command::Chain(args) => output::write(&args.run(settings)?, &invocation),
        Command::Cavi(args) => output::write(&args.run(settings)?, &invocation),
        Command::Enumerate(args) => output::write(&args.run(settings)?, &invocation),
        Command::Certify(args) => output::write(&args.run(settings)?, &invocation),
        Command::Escape(args) => output::write(&args.run(settings)?, &invocation),
        Command::Check(args) => output::write(&args.run(settings)?, &invocation),
        Command::Inspect(args) => output::write(&args.run(settings)?, &invocation),
        Command::Gauge(args) => output::write(&args.run(settings)?, &invocation),
        Command::Family(args) => output::write(&args.run(settings)?, &invocation),
        Command::Tree(args) => output::write(&args.run(settings)?, &invocation),
        Command::Parity(args) => output::write(&args.run(settings)?, &invocation),
        Command::Density(args) => output::write(&args.run(settings)?, &invocation),
        Command::FreeEnergy(args) => output::write(&args.run(settings)?, &invocation),
        Command::Draw(args) => output::write(&args.run(settings)?, &invocation),
        Command::Overlap(args) => output::write(&args.run(settings)?, &invocation),
        Command::Train(args) => output::write(&args.run(settings)?, &invocation),
        Command::Distill(args) => output::write(&args.run(settings)?, &invocation),
        Command::Barrier(args) => output::write(&args.run(settings)?, &invocation),
        Command::ReadBack(args) => output::write(&args.run(settings)?, &invocation),
        Command::Run(args) => output::write(&args.run(settings)?, &invocation),
        Command::Collect(args) => output::write(&args.run(settings)?, &invocation),
        Command::Slurm(args) => output::write(&args.run(settings)?, &invocation),
        Command::Summary(args) => output::write(&args.run(settings)?, &invocation),
        Command::List(args) => output::write(&args.run(settings)?, &invocation),
        Command::Plot(args) => output::write(&args.run(settings)?, &invocation),
        Command::Reproduce(args) => output::write(&args.run(settings)?, &invocation),
        Command::Report(args) => output::write(&args.run(settings)?, &invocation),
        Command::Claims(args) => output::write(&args.run(settings)?, &invocation),
        Command::Completions(args) => output::write(&args.run(), &invocation),
        Command::Man(args) => output::write(&args.run()?, &invocation),
    }
}
