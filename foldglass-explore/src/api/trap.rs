//! Finds a trap of a class to begin with (paper, sections 2.2 and G.6).

use std::sync::Arc;
use std::time::Duration;

use foldglass::dynamics::chain::{ChainSettings, Chains, Kernel, Order};
use foldglass::landscape::escape;
use foldglass::landscape::shelf::{Search, Workers};
use foldglass::proof::claim::Finding;
use foldglass::{Code, Context};

use super::Ask;
use crate::classes::KnownClass;
use crate::refusal::Refusal;

/// Walks that are made at most, their sweeps, and the codes of a shelf that are searched at most.
const WALKS: u64 = 400;
const SWEEPS: usize = 60;
const SHELF: usize = 2000;
/// How long it is looked for.
const LOOKING: Duration = Duration::from_secs(3);

/// A code from which no way of neutral changes leads up: where walks at zero temperature end, searched.
pub fn trap(ask: &Ask<'_>, known: &Arc<KnownClass>, seed: u64) -> Result<Code, Refusal> {
    let (class, allowance) = (&known.class, ask.explorer.allowance);
    if escape::assumptions(class).is_ok() {
        return Err(Refusal::unable(
            "this class has no traps: from every code a way leads up that never lowers the reward (theorem \
             4.1, and theorem C of the documentation for wider windows)",
        )
        .help(
            "parity of length 4 has traps with --inputs markov:9/10, and with --tied --window 1,0",
        ));
    }
    let failed = |error: &dyn std::fmt::Display| Refusal::unable(error.to_string());
    let settings = ChainSettings::new(Kernel::HeatBath, Order::of(class));
    let deadline = ask.deadline.within(LOOKING);
    let mut workers = Workers::new(
        class,
        Context::default().with_threads(1).with_memory(allowance),
    )
    .map_err(|error| failed(&error))?;
    for number in 0..WALKS {
        let mut walk = Chains::builder(class, settings)
            .seed(seed)
            .numbers(number..number + 1)
            .within(allowance)
            .start()
            .map_err(|error| failed(&error))?;
        for _ in 0..SWEEPS {
            deadline.check("looking for a trap")?;
            walk.sweep(&[0.0]);
        }
        if walk.reward(0) == walk.denominator() {
            continue;
        }
        let mut search = Search::new(&mut workers, walk.code(0).clone(), SHELF);
        search.explore(&mut workers, Context::default().with_observer(&deadline));
        if !search.is_over() {
            continue;
        }
        let verdict = search.finish().expect("it is over").verdict;
        if matches!(verdict.finding, Finding::Certified { .. }) {
            return Ok(verdict.start);
        }
    }
    Err(Refusal::unable(format!(
        "none of {WALKS} walks at zero temperature ended in a trap whose shelf has up to {SHELF} codes"
    ))
    .help("another seed, or another class"))
}
