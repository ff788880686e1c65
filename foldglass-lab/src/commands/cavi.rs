//! Trains policies by tabular RLVR: CAVI or exact gradients (paper, sections 2.1, G.4 and G.5).
//!
//! A run is scored by the exact reward of its greedy code; J is the reward of its policy.

use std::io::{self, Write};
use std::ops::{Not, Range};

use clap::Args;
use foldglass::cavi::{self, Quench, Resets, Rule, Runs};
use foldglass::class::{Allowance, Class, ClassError};
use foldglass::policy::InitialLaw;
use foldglass::quasigroup::Symbol;
use serde::Serialize;

use crate::cli::Settings;
use crate::error::Error;
use crate::flags::{ClassArgs, positive, share, temperature, whole};
use crate::output::Report;
use crate::progress::{self, Go, Progress};
use crate::report::{Cell, Table};
use crate::summary;

/// The flags of `cavi`.
#[derive(Debug, Args)]
pub struct CaviArgs {
    /// The temperature of the entropy bonus per cell, at least 0
    #[arg(long, value_name = "TAU", value_parser = temperature, allow_hyphen_values = true)]
    tau: f64,
    /// Iterations at this temperature; 0 leaves the first policy as it is
    #[arg(long, value_name = "N", value_parser = iterations, allow_negative_numbers = true)]
    iterations: usize,
    /// Independent runs
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    runs: usize,
    /// The law of each cell's first distribution: u_norm, dirichlet:A or logit_normal:S
    #[arg(long, value_name = "LAW", default_value = "u_norm")]
    init: InitialLaw,
    /// N more iterations at another temperature
    #[arg(long, value_name = "N,TAU", value_parser = quench, allow_hyphen_values = true)]
    quench: Option<Quench>,
    /// Redraw a share of the cells every so many iterations, so many times, such as 0.02,10,100
    #[arg(long, value_name = "SHARE,EVERY,TIMES", value_parser = resets)]
    #[arg(allow_hyphen_values = true)]
    resets: Option<Resets>,
    /// How cells move: cavi, or gradient:STEP, the exact gradient of J + tau sum H by the logits
    #[arg(long, value_name = "RULE", default_value = "cavi", value_parser = rule)]
    rule: RuleFlag,
    /// How far a cell moves towards its target under --rule cavi [default: 0.3]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    damping: Option<f64>,
    /// The share of the cells that move each time under --rule cavi [default: 0.3]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    share: Option<f64>,
    /// Report the greedy codes too, as "greedy" in the JSON
    #[arg(long)]
    actions: bool,
    #[command(flatten)]
    class: ClassArgs,
}

/// What `--rule` holds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum RuleFlag {
    Cavi,
    Gradient { step: f64 },
}

fn rule(text: &str) -> Result<RuleFlag, String> {
    let step = |text: &str| {
        text.parse()
            .ok()
            .filter(|s: &f64| s.is_finite() && *s > 0.0)
    };
    match text.split_once(':') {
        None if text == "cavi" => Some(RuleFlag::Cavi),
        Some(("gradient", size)) => step(size).map(|step| RuleFlag::Gradient { step }),
        _ => None,
    }
    .ok_or("accepted: cavi, gradient:STEP with STEP > 0".to_owned())
}

fn iterations(text: &str) -> Result<usize, String> {
    whole(text).ok_or("a whole number of at least 0 is needed".to_owned())
}

fn quench(text: &str) -> Result<Quench, String> {
    let parts = text.split_once(',');
    let parts = parts.map(|(n, tau)| (whole(n.trim()), temperature(tau).ok()));
    match parts {
        Some((Some(iterations), Some(tau))) => Ok(Quench { iterations, tau }),
        _ => Err(
            "write N,TAU, a number of iterations and a temperature of at least 0, \
                  such as 50,1e-13"
                .to_owned(),
        ),
    }
}

fn resets(text: &str) -> Result<Resets, String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let read = match parts[..] {
        [part, every, cycles] => (share(part).ok(), positive(every).ok(), whole(cycles)),
        _ => (None, None, None),
    };
    match read {
        (Some(share), Some(every), Some(cycles)) => Ok(Resets {
            share,
            every,
            cycles,
        }),
        _ => Err(
            "write SHARE,EVERY,TIMES, a share of the cells from 0 to 1, iterations \
                  between two resets and how often, such as 0.02,10,100"
                .to_owned(),
        ),
    }
}

impl CaviArgs {
    /// Does the runs.
    pub fn run(&self, settings: &Settings) -> Result<Trained, Error> {
        let plan = Plan {
            settings: self.settings()?,
            class: &self.class.class(settings.seed)?,
            seed: settings.seed,
            actions: self.actions,
        };
        let groups = plan.groups(self.runs);
        let threads = progress::threads(settings.threads, groups.len());
        let probe = |each| plan.begin(groups[0].clone(), each).map(drop);
        let allowance = self.class.allowance();
        let (threads, each) = progress::fitting(threads, allowance, probe, progress::is_too_large)?;
        let steps = self.runs as u64 * plan.settings.length() as u64;
        let progress = Progress::new(steps, "iterations");
        let mut runs = Vec::with_capacity(self.runs);
        let job = |number: usize| {
            let numbers = groups[number].clone();
            let runs = plan.begin(numbers.clone(), each)?;
            Ok(plan.finish(runs, numbers, &progress))
        };
        let take = |group: Vec<Outcome>| {
            runs.extend(group);
            Ok(())
        };
        progress::in_order(threads, groups.len(), job, take)?;
        Ok(Trained {
            interrupted: runs.len() < self.runs,
            runs,
        })
    }

    fn settings(&self) -> Result<cavi::Settings, Error> {
        let mut settings = cavi::Settings::plain(self.tau, self.iterations);
        settings.rule = self.rule()?;
        settings.initial = self.init;
        settings.quench = self.quench;
        settings.resets = self.resets;
        Ok(settings)
    }

    fn rule(&self) -> Result<Rule, Error> {
        let Rule::Cavi { damping, share } = Rule::PAPER else {
            unreachable!("the paper's rule is CAVI")
        };
        match (self.rule, self.damping, self.share) {
            (RuleFlag::Cavi, d, s) => Ok(Rule::Cavi {
                damping: d.unwrap_or(damping),
                share: s.unwrap_or(share),
            }),
            (RuleFlag::Gradient { step }, None, None) => Ok(Rule::Gradient { step }),
            (RuleFlag::Gradient { step }, damping, _) => {
                let flag = if damping.is_some() {
                    "--damping"
                } else {
                    "--share"
                };
                Err(Error::Usage(format!(
                    "{flag} with --rule gradient:{step}: the gradient moves every cell by its \
                     step; {flag} is accepted with --rule cavi"
                )))
            }
        }
    }
}

/// What every group of runs does.
struct Plan<'a> {
    class: &'a Class,
    settings: cavi::Settings,
    seed: u64,
    actions: bool,
}

impl Plan<'_> {
    /// The runs that go together.
    fn groups(&self, runs: usize) -> Vec<Range<u64>> {
        let together = Runs::side_by_side(self.class);
        let starts = (0..runs as u64).step_by(together);
        let end = |start: u64| (start + together as u64).min(runs as u64);
        starts.map(|start| start..end(start)).collect()
    }

    fn begin(&self, numbers: Range<u64>, allowance: Allowance) -> Result<Runs, ClassError> {
        Runs::new(self.class, self.settings, self.seed, numbers, allowance)
    }

    /// Iterates to the end; none when the user stops it before.
    fn finish(
        &self,
        mut runs: Runs,
        numbers: Range<u64>,
        progress: &Progress,
    ) -> Option<Vec<Outcome>> {
        let count = numbers.end - numbers.start;
        while !runs.advance(1) {
            if progress.add(count) == Go::Stop {
                return None;
            }
        }
        progress.add(count);
        let outcome = |(number, run): (u64, cavi::Outcome)| Outcome {
            number,
            greedy_reward: run.greedy_reward.to_f64(),
            greedy_exact: run.greedy_reward.to_string(),
            expected_reward: run.expected_reward,
            entropy: run.entropy,
            residual: run.residual,
            greedy: self.actions.then(|| run.greedy.actions().to_vec()),
        };
        Some(numbers.zip(runs.outcomes()).map(outcome).collect())
    }
}

/// What the runs came to.
#[derive(Serialize)]
pub struct Trained {
    runs: Vec<Outcome>,
    #[serde(skip_serializing_if = "Not::not")]
    interrupted: bool,
}

/// How a run ended.
#[derive(Serialize)]
struct Outcome {
    /// The run's number; where some were interrupted it is not its place in the list.
    #[serde(skip)]
    number: u64,
    greedy_reward: f64,
    greedy_exact: String,
    expected_reward: f64,
    entropy: f64,
    residual: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    greedy: Option<Vec<Symbol>>,
}

impl Report for Trained {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let all = |of: fn(&Outcome) -> f64| self.runs.iter().map(of).collect::<Vec<f64>>();
        let quantities = [
            ("greedy reward", all(|run| run.greedy_reward)),
            ("expected reward J", all(|run| run.expected_reward)),
            ("entropy, nats", all(|run| run.entropy)),
            ("residual", all(|run| run.residual)),
        ];
        summary::write(out, &quantities)?;
        let best = self.runs.iter().filter(|run| run.greedy_exact == "1/1");
        let (best, count) = (best.count(), self.runs.len());
        writeln!(out, "greedy reward exactly 1: {best}/{count}\n")?;
        let shown = self.runs.iter().take(summary::LISTED);
        let heads = [
            "run",
            "greedy",
            "exact",
            "expected J",
            "entropy",
            "residual",
        ];
        let table = Table::of_numbers(heads).rows(shown.map(Outcome::row));
        table.cut(count, "--json").write_text(out)?;
        let mut codes = self
            .runs
            .iter()
            .filter_map(|run| Some((run.number, run.greedy.as_ref()?)));
        codes.try_for_each(|(run, code)| {
            let actions: Vec<String> = code.iter().map(Symbol::to_string).collect();
            writeln!(out, "\nrun {run}: {}", actions.join(" "))
        })
    }

    fn interrupted(&self) -> bool {
        self.interrupted
    }
}

impl Outcome {
    fn row(&self) -> [Cell; 6] {
        [
            self.number.into(),
            self.greedy_reward.into(),
            Cell::Exact(self.greedy_exact.clone()),
            self.expected_reward.into(),
            self.entropy.into(),
            self.residual.into(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quench_is_a_length_and_a_temperature() {
        let read = quench("50, 1e-13").unwrap();
        assert_eq!((read.iterations, read.tau), (50, 1e-13));
        for bad in [
            "", "50", "50,", "-1,0.1", "50,-1", "50,nan", "1,2,3", "0.5,1",
        ] {
            assert!(quench(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn resets_are_a_share_a_period_and_a_number() {
        let read = resets("0.02,10,100").unwrap();
        assert_eq!((read.share, read.every, read.cycles), (0.02, 10, 100));
        for bad in [
            "", "0.02", "0.02,10", "2,10,100", "0.1,0,5", "0.1,1,-5", "0,1,2,3",
        ] {
            assert!(resets(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_gradient_needs_a_step() {
        assert_eq!(rule("gradient:0.5"), Ok(RuleFlag::Gradient { step: 0.5 }));
        for bad in ["gradient", "gradient:0", "gradient:nan", "cavi:1", "adam"] {
            assert!(rule(bad).is_err(), "{bad}");
        }
    }
}
