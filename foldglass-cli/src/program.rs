//! Defines the command line with its help, and reads it.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory, FromArgMatches, Parser};
use foldglass_study::method::setting::find;
use foldglass_study::methods::train;

use crate::call;
use crate::commands::{Command, HEADINGS};
use crate::error::Error;
use crate::report::nearest::nearest;
use crate::settings::{GlobalArgs, Invocation, one_line};

/// What the program says of itself, with three examples that work as they stand.
const EXAMPLES: &str = "\
The task is to multiply symbols one after the other by a table. A policy emits one token per step and is
rewarded if the last one is the product: reinforcement learning with verifiable rewards (RLVR) in its
smallest form. A *cell* is what a step sees, a *code* puts one token into each cell, and a *trap* is a code
below the best from which every way up loses reward first. The task, the lengths of the inputs and what a
step sees are together a *class*. For physicists, codes are the configurations of a spin glass: the energy
is minus the expected reward J, and the coefficient of the entropy bonus is the temperature, --tau.
Three things to try:

  foldglass explore
      the landscape in a browser: Monte Carlo and RLVR side by side, traps, ways out

  foldglass enumerate --task parity --lengths 6 --inputs markov:9/10
      all 4,194,304 codes of a small class: optima, local maxima, traps, barriers

  foldglass rlvr --task quasigroup --lengths 8 --tau 1e-10 --iterations 500 --runs 8
      tabular RLVR from eight random policies: where each one stops";

/// How the program ends.
const EXIT_CODES: &str = "\
Exit codes:
    0  done
    1  a check failed, or an I/O or device error occurred
    2  a mistake in the command line or in a file it names
    3  another foldglass has been working in the directory for ten seconds
  130  stopped by Ctrl-C or SIGTERM; rerun the same command to resume

`foldglass COMMAND --help` lists the flags of a command, their defaults and two examples.";

/// Exact reward landscapes of reinforcement learning with verifiable rewards on iterated multiplication.
#[derive(Debug, Parser)]
#[command(name = "foldglass", version)]
pub struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub settings: GlobalArgs,
    /// The command, with its own flags.
    #[command(subcommand)]
    pub command: Command,
}

/// The definition of the command line. Flags of networks without a doc line of their own have that of the
/// setting they state.
pub fn definition() -> clap::Command {
    let documented = |arg: Arg| match find(train::SETTINGS, arg.get_id().as_str()) {
        Some(setting) if arg.get_help().is_none() => {
            // The doc line has the default.
            let takes_values = arg.get_action().takes_values();
            arg.help(setting.doc).hide_default_value(takes_values)
        }
        _ => arg,
    };
    let whole = Cli::command().mut_subcommands(|command| command.mut_args(documented));
    let listed = grouped(&whole);
    whole.help_template(format!(
        "{{about}}\n\n{EXAMPLES}\n\n{{usage-heading}} {{usage}}\n\n{listed}\nEvery command:\n{{options}}\n\n{EXIT_CODES}"
    ))
}

/// The commands under their headings, with their first lines, as `--help` prints them.
fn grouped(whole: &clap::Command) -> String {
    let line = |name: &str, about: &str| format!("  {name:<13} {about}\n");
    let mut commands = whole.get_subcommands().map(|command| {
        let about = command.get_about().map(ToString::to_string);
        let name = match command.get_visible_aliases().next() {
            Some(alias) => format!("{}, {alias}", command.get_name()),
            None => command.get_name().to_owned(),
        };
        line(&name, &about.unwrap_or_default())
    });
    let mut listed = String::new();
    for (heading, count) in HEADINGS {
        listed += &format!("{heading}:\n");
        listed.extend(commands.by_ref().take(*count));
        listed.push('\n');
    }
    // clap adds `help` to the commands, so it stands last.
    listed.pop();
    listed + &line("help", "Print this message or the help of a command")
}

impl Cli {
    /// Reads the arguments, program name first. None when they only asked for help or the version,
    /// which are then printed.
    pub fn read(
        args: impl IntoIterator<Item = OsString>,
    ) -> Result<Option<(Invocation, Command)>, Error> {
        let args: Vec<OsString> = args.into_iter().collect();
        if args.len() <= 1 {
            return print(definition().print_help());
        }
        let read = definition()
            .try_get_matches_from(args)
            .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
        match read {
            Ok((Cli { settings, command }, matches)) => {
                let (name, own) = matches.subcommand().expect("a command is required");
                let program = definition();
                let invocation = Invocation {
                    settings,
                    name: name.to_owned(),
                    typed: call::settings(&program, name, own),
                    program,
                };
                Ok(Some((invocation, command)))
            }
            Err(error) => match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => print(error.print()),
                _ => Err(Error::Usage(mistake(&error))),
            },
        }
    }
}

/// What is wrong with the command line, and what was meant.
fn mistake(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let program = definition();
    let names = || {
        program
            .get_subcommands()
            .flat_map(|command| command.get_name_and_visible_aliases())
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let typed = text(ContextKind::InvalidSubcommand);
            let meant = nearest(&typed, names()).map(|name| format!(" (is {name} meant?)"));
            let meant = meant.unwrap_or_default();
            format!("there is no command '{typed}'{meant}: `foldglass help` lists the commands")
        }
        ErrorKind::UnknownArgument => {
            let said = one_line(&error.to_string());
            let said = said.split("; tip: '").next().unwrap_or_default();
            let typed = text(ContextKind::InvalidArg);
            // The usage is that of the command: `Usage: foldglass certify [OPTIONS] --code <FILE>`.
            let shown = error.to_string();
            let command = shown
                .split_once("Usage: foldglass ")
                .and_then(|(_, usage)| usage.split(' ').next());
            let known = command.and_then(|name| program.find_subcommand(name));
            let takes = |flag: &str| {
                known.is_some_and(|known| known.get_arguments().any(|arg| arg.get_id() == flag))
            };
            let hint = match typed.strip_prefix("--") {
                Some("temperature" | "entropy" | "beta") if takes("tau") => {
                    "; the temperature, which is the coefficient of the entropy bonus, is --tau"
                        .to_owned()
                }
                Some("temperature" | "tau" | "beta") if takes("entropy") => {
                    "; the coefficient of the entropy bonus is --entropy".to_owned()
                }
                None if typed == "-T" && takes("lengths") => {
                    "; the length of the inputs, the paper's T, is --lengths, such as --lengths 6"
                        .to_owned()
                }
                None if !typed.starts_with('-') && takes("code") => {
                    format!("; --code {typed} states a file of codes")
                }
                None if !typed.starts_with('-') && takes("task") => {
                    "; flags state a class, such as --task parity --lengths 6".to_owned()
                }
                _ if said.contains("tip:") => String::new(),
                _ => format!(
                    "; `foldglass {}` lists what there is",
                    match known {
                        Some(known) => format!("help {}", known.get_name()),
                        None => "help".to_owned(),
                    }
                ),
            };
            format!("{said}{hint}")
        }
        ErrorKind::MissingSubcommand => {
            "a command is missing, such as `foldglass explore`: `foldglass help` lists the commands"
                .to_owned()
        }
        _ => one_line(&error.to_string()),
    }
}

fn print<T>(printed: std::io::Result<()>) -> Result<Option<T>, Error> {
    printed.map(|()| None).map_err(Error::Output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        definition().debug_assert();
    }

    #[test]
    fn every_command_has_two_examples_that_are_read_without_an_error() {
        for command in definition().get_subcommands() {
            let name = command.get_name();
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_else(|| panic!("{name} has no examples"));
            let call = format!("foldglass {name}");
            let lines: Vec<&str> = help.lines().filter(|line| line.contains(&call)).collect();
            assert!(lines.len() >= 2 || name == "man", "{name}: {help}");
            for line in lines {
                let words = line[line.find(&call).expect("it was filtered")..].split_whitespace();
                let words = words.take_while(|word| *word != ">");
                let read = definition().try_get_matches_from(words);
                assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
            }
        }
    }
}
