//! Trains policies by tabular RLVR: CAVI or exact gradients (paper, sections 2.1, G.4 and G.5).
//!
//! A run is scored by the exact reward of its greedy code; J is the reward of its policy.

use std::io::{self, Write};
use std::ops::Not;
use std::path::PathBuf;

use clap::Args;
use foldglass::dynamics::cavi::{Convention, Quench, Resets};
use foldglass::dynamics::schedule::Schedule;
use foldglass::model::policy::{InitialLaw, POLICY_FORMAT};
use foldglass::{Class, ClassSpec};
use foldglass_study::method::{put, put_some};
use foldglass_study::tables::Source;
use foldglass_study::{Fields, Record};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::series::{self, Lines, Reported, Series, real, reported, text};
use crate::cli::Settings;
use crate::error::Error;
use crate::flags::table::one_policy;
use crate::flags::{ClassArgs, count, natural, not_negative, share, temperature};
use crate::output::Report;
use crate::report::{Cell, Format, Table};
use crate::summary;

/// The flags of `cavi`.
#[derive(Debug, Args)]
pub struct CaviArgs {
    #[command(flatten)]
    heat: HeatArgs,
    /// Iterations; 0 leaves the first policy as it is
    #[arg(short = 'n', long, value_name = "N", value_parser = natural, allow_negative_numbers = true)]
    iterations: u64,
    /// Independent runs
    #[arg(short, long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    runs: u64,
    /// The law of each cell's first distribution: u_norm (u_a / sum u, u uniform on (0,1)),
    /// dirichlet:A or logit_normal:S (softmax of normals of sd S)
    #[arg(long, value_name = "LAW", default_value = "u_norm")]
    init: InitialLaw,
    /// Whose entropies count: uniform (every cell alike, as in the paper's tables) or occupancy (cells
    /// by their visits d(c), per emitted token, as RLVR of models has it)
    #[arg(long, value_name = "CONVENTION", default_value = "uniform")]
    convention: Convention,
    /// Hold runs to this policy: divergences KL(pi || prior) count in place of entropies; a policy
    /// file, FILE#N for one of several
    #[arg(long, value_name = "FILE")]
    prior: Option<Source>,
    /// Start every run from this policy: a policy file, FILE#N for one of several, - for stdin
    #[arg(long, value_name = "FILE")]
    start: Option<Source>,
    /// N more iterations at another temperature
    #[arg(long, value_name = "N,TAU", allow_hyphen_values = true)]
    quench: Option<Quench>,
    /// Redraw a share of the cells every so many iterations, so many times, such as 0.02,10,100
    #[arg(long, value_name = "SHARE,EVERY,TIMES", allow_hyphen_values = true)]
    resets: Option<Resets>,
    /// Stop a run once its residual, the largest |target - pi|, is at most this
    #[arg(long, value_name = "X", value_parser = not_negative, allow_hyphen_values = true)]
    stop_at_convergence: Option<f64>,
    /// How cells move: cavi, or gradient:STEP, the exact gradient of J + tau sum H by the logits
    #[arg(long, value_name = "RULE", default_value = "cavi", value_parser = rule)]
    rule: RuleFlag,
    /// How far a cell moves towards its target under --rule cavi [default: 0.3]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    damping: Option<f64>,
    /// The share of the cells that move each time under --rule cavi [default: 0.3]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    share: Option<f64>,
    /// Report the greedy codes too, as "greedy" in the JSON, with the number of cells whose action was
    /// drawn among equals as "greedy_ties"
    #[arg(long)]
    actions: bool,
    /// Write the policies at the end to this file, a policy file a line
    #[arg(long, value_name = "FILE")]
    policies: Option<PathBuf>,
    /// Write J of the policy before every iteration, and at the end, to this file as JSON Lines, a
    /// run a line: {"run":..,"every":..,"rewards":[..]}
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Record every N-th iteration only
    #[arg(long, value_name = "N", default_value = "1", value_parser = count, requires = "record")]
    #[arg(allow_negative_numbers = true)]
    record_every: u64,
    #[command(flatten)]
    class: ClassArgs,
}

/// Exactly one of them says how hot the runs are.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct HeatArgs {
    /// The temperature of the entropy bonus, at least 0: per cell, or per emitted token under
    /// --convention occupancy
    #[arg(short, long, value_name = "TAU", value_parser = temperature, allow_hyphen_values = true)]
    tau: Option<f64>,
    /// Another temperature each iteration: geometric:FROM,TO,ITERATIONS or
    /// linear:FROM,TO,ITERATIONS, then TO
    #[arg(long, value_name = "SCHEDULE", allow_hyphen_values = true)]
    anneal: Option<Schedule>,
}

/// What `--rule` holds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum RuleFlag {
    Cavi,
    Gradient { step: f64 },
}

fn rule(text: &str) -> Result<RuleFlag, String> {
    let step = |text: &str| {
        let step = text.parse().ok();
        step.filter(|s: &f64| s.is_finite() && *s > 0.0)
    };
    match text.split_once(':') {
        None if text == "cavi" => Some(RuleFlag::Cavi),
        Some(("gradient", size)) => step(size).map(|step| RuleFlag::Gradient { step }),
        _ => None,
    }
    .ok_or("accepted: cavi, gradient:STEP with STEP > 0".to_owned())
}

impl CaviArgs {
    /// Does the runs.
    pub fn run(&self, settings: &Settings) -> Result<Trained, Error> {
        let (kind, mut fields) = self.fields()?;
        // Made before the long part, so that a wrong path is known at once.
        let policies = self.policies.as_deref().map(Lines::create).transpose()?;
        let record = self.record.as_deref().map(Lines::create).transpose()?;
        let given = [("start", &self.start), ("prior", &self.prior)];
        let class = self.read_policies(given, &mut fields)?;
        let flag = |key: &str| format!("--{}", key.replace('_', "-"));
        let series = series::run(kind, fields, self.runs, &class, &self.class, settings, flag);
        let series = series.map_err(series::without_place)?;
        if let Some(file) = policies {
            write_policies(file, &series)?;
        }
        if let Some(file) = record {
            self.write_record(file, &series)?;
        }
        Ok(Trained {
            interrupted: series.interrupted,
            class,
            series,
            actions: self.actions,
        })
    }

    /// Puts the policies of files among the settings; the class is theirs, or that of the flags.
    fn read_policies(
        &self,
        given: [(&str, &Option<Source>); 2],
        fields: &mut Fields,
    ) -> Result<Class, Error> {
        let mut known: Option<Class> = None;
        for (key, source) in given {
            let Some(source) = source else { continue };
            let (class, policy) = one_policy(source, &self.class)?;
            if let Some(known) = known.as_ref().filter(|known| **known != class) {
                return Err(Error::Usage(format!(
                    "--{key} is of {}, --start of {}: both are of one class",
                    class.spec(),
                    known.spec()
                )));
            }
            let rows: Vec<&[f64]> = (0..class.cells()).map(|c| policy.row(c)).collect();
            put(fields, key, json!({ "rows": rows }));
            known = Some(class);
        }
        known.map_or_else(|| self.class.class(), Ok)
    }

    /// The settings of the method.
    fn fields(&self) -> Result<(&'static str, Fields), Error> {
        let mut fields = Fields::new();
        put_some(&mut fields, "tau", self.heat.tau);
        put_some(&mut fields, "anneal", self.heat.anneal);
        put(&mut fields, "convention", self.convention);
        put(&mut fields, "iterations", self.iterations);
        put(&mut fields, "init", self.init);
        put_some(&mut fields, "quench", self.quench);
        put_some(&mut fields, "resets", self.resets);
        put_some(&mut fields, "stop_at_convergence", self.stop_at_convergence);
        put(&mut fields, "keep_code", self.actions);
        put(&mut fields, "keep_policy", self.policies.is_some());
        put_some(
            &mut fields,
            "trace_every",
            self.record.as_ref().map(|_| self.record_every),
        );
        let kind = match self.rule {
            RuleFlag::Cavi => {
                put_some(&mut fields, "damping", self.damping);
                put_some(&mut fields, "share", self.share);
                "cavi"
            }
            RuleFlag::Gradient { step } => {
                put(&mut fields, "step", step);
                for (flag, given) in [("--damping", self.damping), ("--share", self.share)] {
                    if given.is_some() {
                        return Err(Error::Usage(format!(
                            "{flag} with --rule gradient:{step}: the gradient moves every cell by \
                             its step; {flag} is accepted with --rule cavi"
                        )));
                    }
                }
                "gradient"
            }
        };
        Ok((kind, fields))
    }

    fn write_record(&self, file: Lines, series: &Series) -> Result<(), Error> {
        let line = |record: &Record| {
            let mut rewards = record.result.get("trace").cloned().unwrap_or(json!([]));
            if let Value::Array(list) = &mut rewards {
                list.push(json!(real(record, "expected_reward")));
            }
            json!({ "run": record.run, "every": self.record_every, "rewards": rewards })
        };
        file.write(series.records.iter().map(line))
    }
}

fn write_policies(file: Lines, series: &Series) -> Result<(), Error> {
    let line = |record: &Record| {
        json!({
            "format": POLICY_FORMAT,
            "class": series.class,
            "rows": record.result.get("rows"),
        })
    };
    file.write(series.records.iter().map(line))
}

/// What the runs came to.
#[derive(Serialize)]
pub struct Trained {
    #[serde(rename = "runs", serialize_with = "runs")]
    series: Series,
    #[serde(skip_serializing_if = "Not::not")]
    interrupted: bool,
    #[serde(skip)]
    class: Class,
    #[serde(skip)]
    actions: bool,
}

/// A run in the JSON: the contract's keys.
#[derive(Serialize)]
struct Run<'a> {
    run: u64,
    #[serde(flatten)]
    result: Reported<'a>,
}

/// The runs one by one: there may be many.
fn runs<S: Serializer>(series: &Series, serializer: S) -> Result<S::Ok, S::Error> {
    let runs = series.records.iter().map(|record| Run {
        run: record.run,
        // These have files or flags of their own.
        result: reported(record, &["rows", "trace"]),
    });
    serializer.collect_seq(runs)
}

impl Trained {
    fn table<'a>(&self, runs: impl Iterator<Item = &'a Record>) -> Table {
        let heads = [
            "run",
            "greedy",
            "exact",
            "expected J",
            "entropy",
            "residual",
        ];
        let row = |record: &Record| {
            [
                record.run.into(),
                real(record, "greedy_reward").into(),
                Cell::Exact(text(record, "greedy_exact")),
                real(record, "expected_reward").into(),
                real(record, "entropy").into(),
                real(record, "residual").into(),
            ]
        };
        Table::of_numbers(heads).rows(runs.map(row))
    }
}

impl Report for Trained {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.series.class.clone())
    }

    fn settings(&self) -> Option<Fields> {
        Some(self.series.settings.clone())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table(self.series.records.iter())]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let series = &self.series;
        let mut quantities = vec![
            ("greedy reward", series.numbers("greedy_reward")),
            ("expected reward J", series.numbers("expected_reward")),
            ("entropy of all cells, nats", series.numbers("entropy")),
            ("residual", series.numbers("residual")),
        ];
        let regulator = series.numbers("regulator");
        if !regulator.is_empty() {
            quantities.insert(3, ("regulator, times tau beside J", regulator));
        }
        summary::write(out, &quantities)?;
        let (best, count) = (series.at_one("greedy_exact"), series.records.len());
        writeln!(out, "greedy reward exactly 1: {best}/{count}")?;
        let most = self.class.cells() as f64 * (self.class.q() as f64).ln();
        writeln!(
            out,
            "entropy is summed over {} cells (at most {:.1}); the residual is the largest |target - pi|\n",
            self.class.cells(),
            most
        )?;
        let shown = series.records.iter().take(summary::LISTED);
        self.table(shown).cut(count, "--json").write_text(out)?;
        if !self.actions {
            return Ok(());
        }
        series.records.iter().try_for_each(|record| {
            let code = record.result.get("greedy").and_then(Value::as_array);
            let actions: Vec<String> = code.into_iter().flatten().map(Value::to_string).collect();
            writeln!(out, "\nrun {}: {}", record.run, actions.join(" "))
        })
    }

    fn interrupted(&self) -> bool {
        self.interrupted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gradient_needs_a_step() {
        assert_eq!(rule("gradient:0.5"), Ok(RuleFlag::Gradient { step: 0.5 }));
        for bad in ["gradient", "gradient:0", "gradient:nan", "cavi:1", "adam"] {
            assert!(rule(bad).is_err(), "{bad}");
        }
    }
}
