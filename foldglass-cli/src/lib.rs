//! Holds the `foldglass` command: reads what was typed, computes a report, writes it.
//!
//! A command is a module of `commands`: its flags, and what it reports. A report goes to stdout
//! as a text for a person or, under `--json`, as one JSON object; everything else goes to stderr.
//! [`run_program`] is the program. [`answer`] is the same for a host, such as Python: the JSON object comes
//! back, and a [`Host`] hears of progress and says whether to go on.

mod call;
mod commands;
mod flags;
mod output;
mod program;
mod schema;
mod settings;
#[cfg(test)]
mod spelling;
mod summary;
mod sums;

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;

use foldglass::Allowance;
use foldglass_paper::{claims, reproduce};
use foldglass_report::{self as report, error, progress};
use foldglass_study::files::listing;
use program::Cli;
// Commands take their settings from here.
use settings as cli;

pub use foldglass_report::error::{Error, Fault};
pub use foldglass_report::progress::Host;
pub use schema::schemas;

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
    if invocation.settings.quiet {
        progress::be_quiet();
    }
    if !invocation.settings.json {
        return command.run(&invocation, out);
    }
    listing(sums::sum, || command.run(&invocation, out))
}
