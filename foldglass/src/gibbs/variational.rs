//! Sets the RLVR loss beside the free energy that bounds it (paper, section 3.2 and App. C).
//!
//! L(pi) = -J(pi) - tau sum_c H(pi_c). With J-tilde, the mean reward of codes whose cells are drawn
//! from pi once and for all, in place of J it is the variational free energy F_var >= F. In an untied
//! class a rollout consults a cell at most once, J-tilde is J, and L >= F; in a tied class both are
//! given.

use crate::dynamics::cavi::{self, Runs};
use crate::model::class::Class;
use crate::model::policy::{Code, Policy};
use crate::reward::count;
use crate::support::context::Context;
use crate::support::memory::TooLarge;
use crate::support::stats::Summary;
use crate::support::stream::Stream;
use crate::support::watch::{Asking, Progress, Stopped};
use std::ops::ControlFlow;
use thiserror::Error;

/// The policies that runs of CAVI at one temperature reached.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reached {
    /// The lowest L of all runs.
    pub loss: f64,
    /// J of that run's policy.
    pub reward: f64,
    /// The sum of the entropies of its cells, in nats.
    pub entropy: f64,
    /// How far it is from a fixed point: the largest |target - pi|.
    pub residual: f64,
    /// The policy.
    pub policy: Policy,
    /// L of every run.
    pub losses: Vec<f64>,
}

/// A loss that was not computed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LossError {
    /// More memory than allowed.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The observer stopped it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The lowest RLVR loss of `runs` runs of CAVI from its initial law.
///
/// # Panics
/// If there are no runs.
pub fn lowest_loss(
    class: &Class,
    settings: cavi::CaviSettings,
    seed: u64,
    runs: u64,
    context: Context<'_>,
) -> Result<Reached, LossError> {
    assert!(runs > 0, "at least one run");
    let builder = Runs::builder(class, settings)
        .seed(seed)
        .numbers(0..runs)
        .within(context.memory);
    let (mut reached, mut done) = (None, 0);
    for group in builder.groups() {
        let ask = || context.observer.report(runs_done(done, runs));
        if ask().is_break() {
            return Err(Stopped.into());
        }
        let mut group = group.start()?;
        let lowest = finish(&mut group, settings.tau.tau(u64::MAX), reached, &ask)?;
        done = lowest.losses.len() as u64;
        reached = Some(lowest);
    }
    Ok(reached.expect("there are runs"))
}

fn runs_done(done: u64, all: u64) -> Progress<'static> {
    Progress {
        unit: "runs of CAVI",
        done,
        all: Some(all),
        share: None,
    }
}

/// The RLVR loss of a run that starts at `policy`, whatever its rule: of the fixed point that holds it,
/// where one does.
pub fn loss_from(
    policy: &Policy,
    settings: cavi::CaviSettings,
    seed: u64,
    context: Context<'_>,
) -> Result<Reached, LossError> {
    let run = Runs::builder(policy.class(), settings).seed(seed);
    let mut run = run.within(context.memory).start_at(policy)?;
    let ask = || context.observer.report(runs_done(0, 1));
    Ok(finish(&mut run, settings.tau.tau(u64::MAX), None, &ask)?)
}

/// Takes runs to their end, and keeps the lowest of these and those before.
fn finish(
    runs: &mut Runs,
    tau: f64,
    before: Option<Reached>,
    ask: &dyn Fn() -> ControlFlow<()>,
) -> Result<Reached, Stopped> {
    let mut asking = Asking::new(ask);
    while !runs.advance(1) {
        asking.go_on()?;
    }
    let mut best = before;
    let losses = best.as_mut().map(|best| std::mem::take(&mut best.losses));
    let mut losses = losses.unwrap_or_default();
    for (run, outcome) in runs.outcomes().into_iter().enumerate() {
        let loss = -outcome.expected_reward - tau * outcome.entropy;
        losses.push(loss);
        if best.as_ref().is_none_or(|best| loss < best.loss) {
            best = Some(Reached {
                loss,
                reward: outcome.expected_reward,
                entropy: outcome.entropy,
                residual: outcome.residual,
                policy: runs.policy(run),
                losses: Vec::new(),
            });
        }
    }
    let best = best.expect("there is a run");
    Ok(Reached { losses, ..best })
}

/// J-tilde of a policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Annealed {
    /// It is J: no rollout consults a cell twice.
    Same,
    /// Summed over all codes.
    Exact(f64),
    /// From codes drawn at random.
    Sampled {
        /// Their mean.
        mean: f64,
        /// The standard error of it.
        error: f64,
    },
}

/// Classes of up to this many codes are summed over.
const FEW_CODES: f64 = 65_536.0;

/// J-tilde, the mean reward of codes drawn from a policy: summed where there are few codes, else from
/// `samples` of them.
///
/// # Panics
/// If there are fewer than 2 samples where they are needed.
pub fn annealed(
    policy: &Policy,
    samples: usize,
    stream: &mut Stream,
    context: Context<'_>,
) -> Result<Annealed, Stopped> {
    let class = policy.class();
    if !class.shape().tied {
        return Ok(Annealed::Same);
    }
    let progress = Progress {
        unit: "codes drawn",
        done: 0,
        all: Some(samples as u64),
        share: None,
    };
    let question = || context.observer.report(progress);
    let mut asking = Asking::new(&question);
    if (class.q() as f64).powi(class.cells() as i32) <= FEW_CODES {
        return sum(policy, &mut asking).map(Annealed::Exact);
    }
    let reward = |_| {
        asking.go_on()?;
        Ok(count::reward(&policy.draw(stream)).to_f64())
    };
    let rewards: Vec<f64> = (0..samples).map(reward).collect::<Result<_, Stopped>>()?;
    let summary = Summary::of(&rewards).expect("there are samples");
    Ok(Annealed::Sampled {
        mean: summary.mean,
        error: summary.error.expect("there are several samples"),
    })
}

/// The sum over all codes of their probability times their reward.
fn sum(policy: &Policy, asking: &mut Asking<'_>) -> Result<f64, Stopped> {
    let class = policy.class();
    let mut code = Code::from_fn(class, |_| 0);
    let mut whole = 0.0;
    loop {
        asking.go_on()?;
        let rows = policy.rows().chunks_exact(class.q());
        let cells = code.actions().iter().zip(rows);
        let weight: f64 = cells.map(|(&action, row)| row[action as usize]).product();
        if weight > 0.0 {
            whole += weight * count::reward(&code).to_f64();
        }
        // The next code, as a number with the first cell as its lowest digit.
        let carries = |&cell: &usize| code.action(cell) as usize + 1 == class.q();
        let Some(raised) = (0..class.cells()).find(|cell| !carries(cell)) else {
            return Ok(whole);
        };
        (0..raised).for_each(|cell| code.set(cell, 0));
        code.set(raised, code.action(raised) + 1);
    }
}
