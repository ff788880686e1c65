//! Lists the commands, and reads the command line.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use foldglass_study::Fields;
use foldglass_study::method::setting::find;
use foldglass_study::methods::train;
use foldglass_study::words::full_name;
use serde_json::Value;

use crate::commands;
use crate::error::Error;
use crate::settings::{GlobalArgs, Invocation, one_line};

/// What the program says of itself, with three examples that work as they stand.
const EXAMPLES: &str = "\
In reinforcement learning with verifiable rewards (RLVR) a policy multiplies symbols one after the
other by a table and emits one token per step; only the last token is rewarded, unless --reward says
otherwise. A deterministic policy is a *code*. Codes are the configurations of a spin glass: the energy
of a code is minus its expected reward, and the entropy coefficient is the temperature.
Three things to try:

  foldglass explore
      the landscape in a browser: Monte Carlo and RLVR side by side, traps, ways out

  foldglass enumerate --task parity --lengths 6 --inputs markov:9/10
      all 4,194,304 codes of a small class: optima, local maxima, traps, barriers

  foldglass cavi --task quasigroup --lengths 8 --tau 1e-10 --iterations 500 --runs 8
      tabular RLVR from eight random policies: where each one stops";

/// The commands under headings, in the order of `--help`. A test holds this list to [`Command`].
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Look",
        &[
            "explore", "benign", "task", "cells", "eval", "inspect", "draw", "gauge",
        ],
    ),
    ("Dynamics", &["cavi", "chain", "reinforce"]),
    (
        "Landscape",
        &["enumerate", "tree", "certify", "escape", "check", "law"],
    ),
    (
        "Temperature",
        &["parity", "density", "free-energy", "overlap", "family"],
    ),
    (
        "Networks",
        &["train", "distill", "barrier", "read-back", "dataset"],
    ),
    ("Studies", &["run", "collect", "summary", "plot", "slurm"]),
    ("The paper", &["reproduce", "report", "claims", "list"]),
    ("Shell", &["completions", "man", "help"]),
];

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

/// The commands, in the order of a study.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show a task's multiplication table and its algebra
    Task(commands::task::TaskArgs),
    /// List the cells of a class, in the order of code and policy files
    Cells(commands::cells::CellsArgs),
    /// Evaluate a code or a policy: reward, visits d, values dQ
    Eval(commands::eval::EvalArgs),
    /// Sample codes by Monte Carlo at a temperature
    #[command(visible_alias = "mc")]
    Chain(commands::chain::ChainArgs),
    /// Train policies by exact updates (tabular RLVR): where each run stops
    #[command(visible_alias = "rlvr")]
    Cavi(commands::cavi::CaviArgs),
    /// Train policies by sampled policy gradients (REINFORCE, RLOO, GRPO): exact rewards of what they reach
    Reinforce(commands::reinforce::ReinforceArgs),
    /// Visit every code of an untied class: optima, local maxima, traps, barriers
    Enumerate(commands::enumerate::EnumerateArgs),
    /// Flood a small class: maxima, the saddles that join them, barriers, basins
    Tree(commands::tree::TreeArgs),
    /// Search the shelves of codes for an exit: optimal, certified, bounded or escapes
    Certify(commands::certify::CertifyArgs),
    /// Lead a code, or a policy, to reward one by changes that never lower the reward
    Escape(commands::escape::EscapeArgs),
    /// Answer whether a class has traps: by a theorem, a census, or 500 quenches with their bound
    Benign(commands::benign::BenignArgs),
    /// Count the traps of parity by the theorems, with an example: correlated inputs, several lengths
    Law(commands::law::LawArgs),
    /// Check files that `certify --out` and `escape --out` wrote, from the files alone
    Check(commands::check::CheckArgs),
    /// Take a code apart: dead steps, aliasing, ignored positions, wrong answers, defended cells
    Inspect(commands::inspect::InspectArgs),
    /// Relabel a code's tokens: canonical form, orbit, holonomies, agreement with another code
    Gauge(commands::gauge::GaugeArgs),
    /// Solve parity: ln Z, mean reward, entropy, heat, and the transition by every definition
    Parity(commands::parity::ParityArgs),
    /// Count how many codes of an untied class have which reward
    Density(commands::density::DensityArgs),
    /// Estimate ln Z and the mean reward of any class, and set the RLVR loss beside the free energy
    FreeEnergy(commands::free_energy::FreeEnergyArgs),
    /// Draw codes of small classes as the paper does: cells, tokens, the ways of inputs
    Draw(commands::draw::DrawArgs),
    /// Compare independent codes at a temperature: the distribution of their overlaps, P(q)
    Overlap(commands::overlap::OverlapArgs),
    /// Sample codes of the complete parameterisation, windows and tying as penalties
    Family(commands::family::FamilyArgs),
    /// Train fleets of the paper's transformer by REINFORCE: curves, greedy accuracy by length
    Train(Box<commands::train::TrainArgs>),
    /// Distil codes into networks: how far they agree, after how many steps
    Distill(commands::distill::DistillArgs),
    /// Follow an escape path by networks: barriers of the greedy reward on the lines between them
    Barrier(commands::barrier::BarrierArgs),
    /// Read a trained network back as a code of a class: agreement, reward, a code file
    ReadBack(commands::read_back::ReadBackArgs),
    /// Write inputs with their targets as rows for trainers of language models: TRL, verl, OpenRLHF
    Dataset(commands::dataset::DatasetArgs),
    /// Run a study of many runs, on one machine or in shards; resumes what was interrupted
    Run(commands::run::RunArgs),
    /// Merge the records of a study into one table, or the shards of an enumeration
    Collect(commands::collect::CollectArgs),
    /// Write a study or an enumeration as a job array of Slurm: shares, requeues, a job that collects
    Slurm(commands::slurm::SlurmArgs),
    /// Sum up the records of a study: means with intervals, runs at 1, quantiles
    Summary(commands::summary::SummaryArgs),
    /// Draw what `summary` prints: a quantity against a parameter, with intervals, by class
    Plot(commands::plot::PlotArgs),
    /// Open the landscape in a browser: change a code, run dynamics, find ways out, see records
    Explore(commands::explore::ExploreArgs),
    /// List the tables and figures of the paper: what each needs, how long it takes here
    List(commands::list::ListArgs),
    /// Redo tables and figures of the paper, and compare them number by number
    Reproduce(commands::reproduce::ReproduceArgs),
    /// Make the report of a reproduction from its records: a page, a text, tables, figures
    Report(commands::report::ReportArgs),
    /// Decide the paper's statements one by one, from records and small computations
    Claims(commands::claims::ClaimsArgs),
    /// Write completions for a shell to stdout
    Completions(commands::shell::CompletionsArgs),
    /// Write man pages, one per command
    Man(commands::shell::ManArgs),
}

/// Commands that count codes of untied classes: `--tied` is read, to be refused with the reason, and not
/// offered.
const UNTIED: [&str; 2] = ["enumerate", "density"];

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
    let hidden = |arg: Arg| match arg.get_id() == "tied" {
        true => arg.hide(true),
        false => arg,
    };
    let whole = Cli::command().mut_subcommands(|command| {
        let command = command.mut_args(documented);
        match UNTIED.contains(&command.get_name()) {
            true => command.mut_args(hidden),
            false => command,
        }
    });
    let listed = grouped(&whole);
    whole.help_template(format!(
        "{{about}}\n\n{EXAMPLES}\n\n{{usage-heading}} {{usage}}\n\n{listed}\nEvery command:\n{{options}}\n\n{EXIT_CODES}"
    ))
}

/// The commands under their headings, with their first lines, as `--help` prints them.
fn grouped(whole: &clap::Command) -> String {
    let line = |name: &str| {
        let command = whole.find_subcommand(name);
        let about = command.and_then(clap::Command::get_about);
        let about = about.map_or(
            "Print this message or the help of a command".into(),
            |about| about.to_string(),
        );
        let names = command.and_then(|command| command.get_visible_aliases().next());
        let name = match names {
            Some(alias) => format!("{name}, {alias}"),
            None => name.to_owned(),
        };
        format!("  {name:<13} {about}\n")
    };
    let group = |(heading, names): &(&str, &[&str])| {
        let lines: String = names.iter().map(|name| line(name)).collect();
        format!("{heading}:\n{lines}")
    };
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n")
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
                let invocation = Invocation {
                    settings,
                    name: name.to_owned(),
                    typed: typed(name, own),
                };
                Ok(Some((invocation, command)))
            }
            Err(error) => match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => print(error.print()),
                _ => Err(Error::Usage(one_line(&error.to_string()))),
            },
        }
    }
}

/// Flags that are not settings: they say how, or stand elsewhere in a report.
const NO_SETTINGS: [&str; 11] = [
    "json",
    "quiet",
    "format",
    "seed",
    "threads",
    "max_memory",
    "lengths",
    "window",
    "tied",
    "memory",
    "inputs",
];

/// The flags of a command by name, numbers as numbers.
fn typed(command: &str, matches: &ArgMatches) -> Fields {
    let whole = definition();
    let own = whole.find_subcommand(command).expect("it was just read");
    let mut fields = Fields::new();
    // By the definition: the matches also have ids of groups of flags, which are not settings.
    for flag in own.get_arguments() {
        let name = flag.get_id().as_str();
        if NO_SETTINGS.contains(&name) {
            continue;
        }
        if !flag.get_action().takes_values() {
            if matches.get_flag(name) {
                fields.insert(name.to_owned(), Value::Bool(true));
            }
            continue;
        }
        let raw = matches.get_raw(name).into_iter().flatten();
        let mut values: Vec<Value> = raw
            .map(|text| match (name, text.to_string_lossy()) {
                ("task", text) => Value::from(full_name(&text)),
                (_, text) => value(&text),
            })
            .collect();
        let value = match values.len() {
            0 => continue,
            1 => values.swap_remove(0),
            _ => Value::Array(values),
        };
        fields.insert(name.to_owned(), value);
    }
    fields
}

/// A number, a list of numbers (`0.1,0.2`), or the text itself.
fn value(text: &str) -> Value {
    let parts: Option<Vec<Value>> = text.split(',').map(|part| number(part.trim())).collect();
    match parts {
        Some(mut one) if one.len() == 1 => one.swap_remove(0),
        Some(several) => Value::Array(several),
        None => Value::from(text),
    }
}

fn number(text: &str) -> Option<Value> {
    let whole = text.parse::<i64>().ok().map(Value::from);
    let real = || {
        let number = text.parse::<f64>().ok().filter(|n| n.is_finite())?;
        serde_json::Number::from_f64(number).map(Value::Number)
    };
    whole.or_else(real)
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
    fn every_command_stands_under_one_heading() {
        let whole = definition();
        let mut commands: Vec<&str> = whole
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        listed.retain(|name| *name != "help");
        commands.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, commands);
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
