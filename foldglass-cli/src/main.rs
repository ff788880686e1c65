//! Runs the `foldglass` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(foldglass_cli::run_program(std::env::args_os()))
}
