//! Holds the commands, a module each: its flags, and what it reports. The table at the end lists them.

pub mod archive;
pub mod barrier;
pub mod benign;
pub mod cavi;
pub mod cells;
pub mod certify;
pub mod chain;
pub mod check;
pub mod claims;
pub mod collect;
pub mod dataset;
pub mod density;
pub mod distill;
pub mod draw;
pub mod enumerate;
pub mod escape;
pub mod eval;
pub mod explore;
pub mod family;
pub mod free_energy;
pub mod gauge;
pub mod inspect;
mod kept;
pub mod law;
pub mod list;
pub mod overlap;
pub mod parity;
pub mod plot;
pub mod read_back;
pub mod reinforce;
pub mod report;
pub mod reproduce;
pub mod rerun;
pub mod run;
mod series;
pub mod shell;
pub mod slurm;
pub mod summary;
pub mod task;
pub mod train;
pub mod tree;

use std::io::Write;

use clap::Subcommand;
use schemars::Schema;

use crate::cli::Invocation;
use crate::error::Error;
use crate::output;

/// Makes the commands of the table below: their variants with the help of each, their headings, and what
/// runs each. A row without `=>` computes a report by `run`, which is then written; a row with `=>` names a
/// function that writes by itself.
macro_rules! commands {
    ($($heading:literal {
        $($(#[$line:meta])* $name:ident($args:ty) $(=> $run:path)?,)+
    })+) => {
        /// The commands, in the order of `--help`.
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $($($(#[$line])* $name($args),)+)+
        }

        /// The headings of `--help`, each with the number of commands under it, in the order of the commands.
        pub const HEADINGS: &[(&str, usize)] = &[
            $(($heading, [$(stringify!($name)),+].len()),)+
        ];

        impl Command {
            /// The schema of what commands print under `--json`; those that write by themselves are not among them.
            pub fn schemas() -> Vec<(&'static str, Schema)> {
                let all = [$($((stringify!($name), commands!(@schema $args $(, $run)?)),)+)+];
                all.into_iter().filter_map(|(name, schema)| Some((name, schema?))).collect()
            }

            /// Does what was asked and writes its report.
            pub fn run(&self, invocation: &Invocation, out: &mut dyn Write) -> Result<(), Error> {
                match self {
                    $($(Command::$name(args) => commands!(@run args, invocation, out $(, $run)?),)+)+
                }
            }
        }
    };
    (@schema $args:ty) => {
        Some(output::schema_by(|args: &$args, settings| args.run(settings)))
    };
    (@schema $args:ty, $run:path) => {
        None
    };
    (@run $args:ident, $invocation:ident, $out:ident) => {
        output::write(&$args.run(&$invocation.settings)?, $invocation, $out)
    };
    (@run $args:ident, $invocation:ident, $out:ident, $run:path) => {
        $run($args, $invocation, $out)
    };
}

commands! {
    "Look" {
        /// Open the landscape in a browser: run Monte Carlo and RLVR, change a code, find ways up, see records
        Explore(explore::ExploreArgs) => explore::ExploreArgs::run,
        /// Answer whether a class has traps: by a theorem, a count of all codes, or Monte Carlo at temperature 0
        Benign(benign::BenignArgs),
        /// Show a task's multiplication table and its algebra
        Task(task::TaskArgs),
        /// List the cells of a class (what steps can see), in the order of code and policy files
        Cells(cells::CellsArgs),
        /// Evaluate a code or a policy exactly: expected reward, visits of cells, gradient
        Eval(eval::EvalArgs),
        /// Show what a code does wrong: steps that ignore their input, ambiguous tokens, cells to blame
        Inspect(inspect::InspectArgs),
        /// Draw codes as the paper does: cells, tokens, the paths of inputs
        Draw(draw::DrawArgs),
        /// Relabel a code's tokens: canonical form, number of relabellings, agreement with another code
        Gauge(gauge::GaugeArgs),
    }
    "Dynamics" {
        /// Train policies by exact updates (tabular RLVR), and show where each run stops
        #[command(visible_alias = "rlvr")]
        Cavi(cavi::CaviArgs),
        /// Sample codes by Monte Carlo at a temperature
        #[command(visible_alias = "mc")]
        Chain(chain::ChainArgs),
        /// Train policies by sampled policy gradients (REINFORCE, RLOO, GRPO), and score them exactly
        Reinforce(reinforce::ReinforceArgs),
    }
    "Landscape" {
        /// Count every code of an untied class: optima, local maxima, traps, barriers
        Enumerate(enumerate::EnumerateArgs),
        /// Draw the barrier tree of a small class: traps, where they meet, barriers, basins
        Tree(tree::TreeArgs),
        /// Decide whether codes are traps, with certificates: certified (a trap), escapes, optimal or bounded
        Certify(certify::CertifyArgs),
        /// Find a path from a code, or a policy, to reward 1 that never lowers the reward
        Escape(escape::EscapeArgs),
        /// Verify files that `certify --out` and `escape --out` wrote, from the files alone
        Check(check::CheckArgs),
        /// Count the traps of parity by theorems, and write one: correlated inputs, several lengths
        Law(law::LawArgs),
    }
    "Temperature" {
        /// Solve parity at any temperature: ln Z, mean reward, entropy, heat capacity, transition
        Parity(parity::ParityArgs),
        /// Count how many codes of an untied class have which reward
        Density(density::DensityArgs),
        /// Estimate ln Z (Z sums exp(J / tau) over all codes) and the mean reward, and compare with RLVR
        FreeEnergy(free_energy::FreeEnergyArgs),
        /// Compare independent codes at a temperature: the distribution of their overlaps, P(q)
        Overlap(overlap::OverlapArgs),
        /// Sample codes that see the whole input, with windows and tying as penalties
        Family(family::FamilyArgs),
    }
    "Networks" {
        /// Train the paper's transformer, many networks at once: curves, greedy accuracy by length
        Train(Box<train::TrainArgs>),
        /// Train networks to imitate codes: how far they agree, after how many steps
        Distill(distill::DistillArgs),
        /// Train networks along a path of codes, and measure the loss of reward on the lines between them
        Barrier(barrier::BarrierArgs),
        /// Read a trained network back as a code of a class: agreement, reward, a code file
        ReadBack(read_back::ReadBackArgs),
        /// Write inputs with their targets as rows for trainers of language models: TRL, verl, OpenRLHF
        Dataset(dataset::DatasetArgs),
    }
    "Studies" {
        /// Make the runs of a study (a TOML file), on one machine or in shares; the same command resumes
        Run(run::RunArgs),
        /// Merge the records of a study, or the shares of an enumeration, into one table
        Collect(collect::CollectArgs),
        /// Summarise the records of a study: means with intervals, runs at 1, quantiles
        Summary(summary::SummaryArgs),
        /// Draw what `summary` prints: a quantity against a parameter, with intervals, by class
        Plot(plot::PlotArgs),
        /// Write a study or an enumeration as a job array of Slurm
        Slurm(slurm::SlurmArgs),
        /// Repeat the command that wrote a file by --json, and compare what comes out
        Rerun(rerun::RerunArgs) => rerun::RerunArgs::run,
    }
    "The paper" {
        /// Repeat the tables and figures of the paper, and compare them number by number
        Reproduce(reproduce::ReproduceArgs),
        /// Write the report of a reproduction from its records: a page, a text, tables, figures
        Report(report::ReportArgs),
        /// Put a reproduction into one file, with its report and SHA-256 sums, or verify such a file
        Archive(archive::ArchiveArgs),
        /// Decide the paper's statements one by one, from records and small computations
        Claims(claims::ClaimsArgs),
        /// List the tables and figures of the paper: what each needs, how long it takes here
        List(list::ListArgs),
    }
    "Shell" {
        /// Write completions for a shell to stdout
        Completions(shell::CompletionsArgs) => shell::CompletionsArgs::run,
        /// Write man pages, one per command
        Man(shell::ManArgs) => shell::ManArgs::run,
    }
}
