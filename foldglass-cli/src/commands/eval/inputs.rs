//! Evaluates a policy input by input: successes, objectives of them, and exact statistics of sampled gradients.

use std::io::{self, Write};

use clap::Args;
use foldglass::reward::estimators::{self, Estimator, RESOLVED};
use foldglass::reward::per_input::{self, Utility};
use foldglass::{Context, Policy, Reward, Symbol};
use serde::Serialize;

use crate::error::Error;
use crate::output::number;

/// The most inputs that JSON lists.
const MOST_LISTED: u64 = 100_000;

/// The flags that ask for it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sampled gradients and single inputs")]
pub struct InputArgs {
    /// Add the exact bias and variance of a sampled policy gradient: reinforce, batch-mean, rloo:G,
    /// grpo:G or dr-grpo:G, with G rollouts per input
    #[arg(long, value_name = "NAME")]
    estimator: Option<Estimator>,
    /// The number of inputs in an update of --estimator [default: 512]
    #[arg(short, long, value_name = "B", requires = "estimator")]
    batch: Option<u32>,
    /// Add an objective of the success p(x) of each input, and its derivative by the policy's rows:
    /// pass@K, maxrl:K or grpo-std
    #[arg(long, value_name = "NAME")]
    objective: Option<Utility>,
    /// List the success p(x) of every input (to 100,000 inputs)
    #[arg(long)]
    per_input: bool,
}

/// What was asked for, computed.
#[derive(Serialize)]
pub struct ByInput {
    #[serde(skip_serializing_if = "Option::is_none")]
    estimator: Option<EstimatorStatistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective_name: Option<String>,
    /// Infinite derivatives are null.
    #[serde(skip_serializing_if = "Option::is_none")]
    objective_values: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_input: Option<Vec<InputSuccess>>,
}

/// The exact statistics of a sampled gradient, in the logits of all visited cells.
#[derive(Serialize)]
struct EstimatorStatistics {
    name: String,
    batch: u32,
    signal: f64,
    /// Whether doubles resolve the signal.
    signal_resolved: bool,
    bias: f64,
    cosine: Option<f64>,
    variance: f64,
    snr: Option<f64>,
}

/// One input and its success.
#[derive(Serialize)]
struct InputSuccess {
    x: Vec<Symbol>,
    probability: Reward,
    success: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    success_exact: Option<&'static str>,
}

impl InputArgs {
    /// Computes what the flags ask for.
    pub fn run(
        &self,
        policy: &Policy,
        is_code: bool,
        context: Context<'_>,
    ) -> Result<ByInput, Error> {
        let class = policy.class();
        let inputs = per_input::inputs(class);
        let count = inputs.map_or("2^64 or more".to_owned(), |n| n.to_string());
        let refuse = |flag: &str, most: u64| match inputs {
            Some(inputs) if inputs <= most => Ok(()),
            _ => Err(Error::Usage(format!(
                "{flag} takes every input on its own, and this class has {count}: at most {most} are accepted"
            ))),
        };
        let estimator = match self.estimator {
            None => None,
            Some(estimator) => {
                let batch = self.batch.unwrap_or(512);
                let found = estimators::moments(policy, estimator, batch, context)
                    .map_err(|error| Error::Usage(error.to_string()))?;
                let signal = found.signal();
                Some(EstimatorStatistics {
                    name: estimator.to_string(),
                    batch,
                    signal,
                    signal_resolved: signal == 0.0 || signal >= RESOLVED,
                    bias: found.bias(),
                    cosine: found.cosine(),
                    variance: found.trace(),
                    snr: found.snr(),
                })
            }
        };
        let objective = match self.objective {
            None => None,
            Some(utility) => {
                refuse("--objective", estimators::MOST_INPUTS)?;
                Some(per_input::objective(policy, utility, context))
            }
        };
        let per_input = match self.per_input {
            false => None,
            true => {
                refuse("--per-input", MOST_LISTED)?;
                Some(successes(policy, is_code))
            }
        };
        Ok(ByInput {
            estimator,
            objective: objective.as_ref().map(|found| found.value),
            objective_name: self.objective.map(|utility| utility.to_string()),
            objective_values: objective.map(|found| {
                found
                    .values
                    .chunks(class.q())
                    .map(<[f64]>::to_vec)
                    .collect()
            }),
            per_input,
        })
    }
}

fn successes(policy: &Policy, is_code: bool) -> Vec<InputSuccess> {
    let task = policy.class().task();
    let denominator = task.denominator();
    let mut list = Vec::new();
    per_input::for_each(policy, |x, _, success| {
        list.push(InputSuccess {
            x: x.to_vec(),
            probability: Reward::new(task.weight(x), denominator.clone()),
            success,
            success_exact: is_code.then_some(if success == 1.0 { "1/1" } else { "0/1" }),
        });
    });
    list
}

impl ByInput {
    /// What was found, for a person.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(found) = &self.estimator {
            let shown = |value: Option<f64>| value.map_or("none".to_owned(), number);
            let rounding = if found.signal_resolved {
                ""
            } else {
                " (below what doubles resolve)"
            };
            writeln!(
                out,
                "estimator       {}, {} inputs",
                found.name, found.batch
            )?;
            writeln!(out, "  signal        {}{rounding}", number(found.signal))?;
            writeln!(out, "  variance      {}", number(found.variance))?;
            writeln!(out, "  snr           {}", shown(found.snr))?;
            writeln!(out, "  bias          {}", number(found.bias))?;
            writeln!(out, "  cosine        {}", shown(found.cosine))?;
        }
        if let (Some(name), Some(value)) = (&self.objective_name, self.objective) {
            writeln!(out, "{name:<15} {}", number(value))?;
        }
        if let Some(list) = &self.per_input {
            writeln!(out, "\nsuccess     probability  input")?;
            for InputSuccess {
                x,
                probability,
                success,
                ..
            } in list
            {
                let x: Vec<String> = x.iter().map(Symbol::to_string).collect();
                let (success, probability) = (number(*success), probability.to_string());
                writeln!(out, "{success:<11} {probability:<12} {}", x.join(" "))?;
            }
        }
        Ok(())
    }
}
