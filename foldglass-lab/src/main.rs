//! Runs the `foldglass` command: reads what was typed, computes a report, writes it.
//!
//! A command is a module of [`commands`]: its flags, and what it reports. A report goes to stdout
//! as a text for a person or, under `--json`, as one JSON object; everything else goes to stderr.

mod census;
mod certificate;
mod cli;
mod columns;
mod commands;
mod error;
mod files;
mod flags;
mod output;
mod progress;
mod reproduce;
mod study;
mod summary;

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
    let Some(Cli { settings, command }) = Cli::read(std::env::args_os())? else {
        return Ok(());
    };
    match command {
        Command::Task(args) => output::write(&args.run(&settings)?, &settings),
        Command::Cells(args) => output::write(&args.run(&settings)?, &settings),
        Command::Eval(args) => output::write(&args.run(&settings)?, &settings),
        Command::Chain(args) => output::write(&args.run(&settings)?, &settings),
        Command::Cavi(args) => output::write(&args.run(&settings)?, &settings),
        Command::Enumerate(args) => output::write(&args.run(&settings)?, &settings),
        Command::Certify(args) => output::write(&args.run(&settings)?, &settings),
        Command::Escape(args) => output::write(&args.run(&settings)?, &settings),
        Command::Check(args) => output::write(&args.run(&settings)?, &settings),
        Command::Gauge(args) => output::write(&args.run(&settings)?, &settings),
        Command::Tree(args) => output::write(&args.run(&settings)?, &settings),
        Command::Parity(args) => output::write(&args.run(&settings)?, &settings),
        Command::Density(args) => output::write(&args.run(&settings)?, &settings),
        Command::FreeEnergy(args) => output::write(&args.run(&settings)?, &settings),
        Command::Run(args) => output::write(&args.run(&settings)?, &settings),
        Command::Collect(args) => output::write(&args.run(&settings)?, &settings),
        Command::Reproduce(args) => output::write(&args.run(&settings)?, &settings),
    }
}
