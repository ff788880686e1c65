//! Steps a chain or a CAVI run at the temperature of the moment (paper, sections 2.1, 2.2 and G).
//!
//! A run at one temperature is run 0 of its seed: the trace of `foldglass chain` or `foldglass cavi`.

use std::time::Duration;

use foldglass::dynamics::cavi::{self, HOTTEST, Resets, Runs};
use foldglass::dynamics::chain::{self, Chains, Kernel, Order, random_code};
use foldglass::reward::count::Counter;
use foldglass::support::clock::Instant;
use foldglass::{Allowance, Code, Policy, Stream, Symbol};
use foldglass_report::error::Error;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::{Ask, code_of};
use crate::classes::KnownClass;
use crate::limits;
use crate::refusal::Refusal;
use crate::run::{CodeTable, Engine, Run};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewAsked {
    class: Vec<String>,
    /// The start; none is one drawn by the seed.
    code: Option<Vec<i64>>,
    kind: Kind,
    tau: f64,
    #[serde(default)]
    seed: u64,
    /// Of a chain.
    kernel: Option<Kernel>,
    /// Of a CAVI run.
    resets: Option<Resets>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Chain,
    Cavi,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepAsked {
    run: u64,
    #[serde(default = "one")]
    sweeps: u64,
    /// The temperature from now on. Left out, it is the one before; null is what JavaScript sends for a
    /// number that could not be read, and is refused.
    #[serde(default, deserialize_with = "number")]
    tau: Option<f64>,
    /// Whether the code or the policy is told too.
    #[serde(default = "yes")]
    table: bool,
    /// The significant digits of the policy; none are all.
    digits: Option<u8>,
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let missing = || D::Error::custom("tau: a number is needed, such as 0.01");
    Option::deserialize(deserializer)?
        .map(Some)
        .ok_or_else(missing)
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropAsked {
    run: u64,
}

fn check_tau(tau: f64) -> Result<(), Refusal> {
    if (0.0..=HOTTEST).contains(&tau) {
        return Ok(());
    }
    Err(Refusal::unable(format!(
        "tau {tau}: a number of at least 0 and at most {HOTTEST:e} is needed, such as 1e-10"
    )))
}

/// Begins a run.
pub fn begin(ask: &Ask<'_>, asked: &NewAsked) -> Result<Value, Refusal> {
    let known = ask.class(&asked.class)?;
    check_tau(asked.tau)?;
    let start = asked
        .code
        .as_ref()
        .map(|code| code_of(&known, code))
        .transpose()?;
    let allowance = ask.explorer.allowance;
    let (engine, bytes) = match asked.kind {
        Kind::Chain => chain(&known, start.as_ref(), asked, allowance)?,
        Kind::Cavi => {
            ask.check_sums(&known.class).map_err(Refusal::unable)?;
            cavi(&known, start.as_ref(), asked, allowance)?
        }
    };
    let mut run = Run::new(known, start, asked.seed, asked.tau, engine);
    let mut told = run.tell(Vec::new(), Some(CodeTable::default()), allowance)?;
    told["run"] = ask.explorer.runs.keep(ask.page, run, bytes)?.into();
    Ok(told)
}

fn chain(
    known: &KnownClass,
    start: Option<&Code>,
    asked: &NewAsked,
    allowance: Allowance,
) -> Result<(Engine, u128), Refusal> {
    if asked.resets.is_some() {
        return Err(Refusal::unable("resets: only a run of cavi has them"));
    }
    let kernel = asked.kernel.unwrap_or(Kernel::Metropolis);
    let settings = chain::ChainSettings::new(kernel, Order::of(&known.class));
    if settings.order == Order::Cell {
        check_sweep(known, allowance)?;
    }
    let chains = match start {
        None => Chains::builder(&known.class, settings)
            .seed(asked.seed)
            .within(allowance)
            .start(),
        Some(code) => Chains::builder(&known.class, settings)
            .seed(asked.seed)
            .within(allowance)
            .start_at(vec![code.clone()]),
    };
    let chains = chains.map_err(|error| Refusal::unable(error.to_string()))?;
    let (_, bytes) = Chains::needs(&known.class, settings.order);
    let chains = Box::new(chains);
    Ok((Engine::Chain { kernel, chains }, bytes.unwrap_or(u128::MAX)))
}

/// The longest sweep that a page may ask for, and the visits of cells by which it is foreseen.
const LONGEST_SWEEP: Duration = Duration::from_secs(5);
const VISITS: u32 = 8;

/// Refuses a class whose sweeps take long: a sweep is not stopped in its middle. Only sweeps by cells may.
fn check_sweep(known: &KnownClass, allowance: Allowance) -> Result<(), Refusal> {
    let (class, stream) = (&known.class, &mut Stream::new(0, 0));
    let code = random_code(class, stream);
    let mut counter = Counter::within(code, allowance).map_err(Error::from)?;
    let mut rewards = vec![0; class.q()];
    let begun = Instant::now();
    for _ in 0..VISITS {
        let cell = stream.below(class.cells() as u32) as usize;
        counter.rewards(cell, &mut rewards);
        counter.set(cell, stream.below(class.q() as u32) as Symbol);
    }
    let sweep = begun.elapsed().as_secs_f64() / f64::from(VISITS) * class.cells() as f64;
    if sweep <= LONGEST_SWEEP.as_secs_f64() {
        return Ok(());
    }
    Err(Refusal::unable(format!(
        "a sweep of this class takes about {sweep:.0} s: a page asks for up to {}",
        LONGEST_SWEEP.as_secs()
    ))
    .help("foldglass chain runs it"))
}

/// A page goes on for as long as it likes.
const NO_END: usize = usize::MAX / 2;

fn cavi(
    known: &KnownClass,
    start: Option<&Code>,
    asked: &NewAsked,
    allowance: Allowance,
) -> Result<(Engine, u128), Refusal> {
    if asked.kernel.is_some() {
        return Err(Refusal::unable("kernel: only a chain has one"));
    }
    if let Some(Resets { share, every, .. }) = asked.resets
        && !((0.0..=1.0).contains(&share) && every > 0)
    {
        return Err(Refusal::unable(
            "resets: a share from 0 to 1 and at least 1 iteration between two are needed",
        ));
    }
    let settings = cavi::CaviSettings::plain(asked.tau, NO_END).with_resets(asked.resets);
    let runs = match start {
        None => Runs::builder(&known.class, settings)
            .seed(asked.seed)
            .within(allowance)
            .start(),
        Some(code) => {
            let policy = Policy::deterministic(code);
            Runs::builder(policy.class(), settings)
                .seed(asked.seed)
                .within(allowance)
                .start_at(&policy)
        }
    };
    let runs = Box::new(runs.map_err(Error::from)?);
    let bytes = Runs::bytes(&known.class, settings.rule);
    Ok((Engine::Cavi { settings, runs }, bytes.unwrap_or(u128::MAX)))
}

/// Goes on with a run.
pub fn step(ask: &Ask<'_>, asked: &StepAsked) -> Result<Value, Refusal> {
    if !(1..=limits::SWEEPS).contains(&asked.sweeps) {
        return Err(Refusal::unable(format!(
            "sweeps {}: 1 to {} are made at once",
            asked.sweeps,
            limits::SWEEPS
        )));
    }
    asked.tau.map(check_tau).transpose()?;
    let found = ask.explorer.runs.find(ask.page, asked.run)?;
    let mut run = found
        .try_lock()
        .map_err(|_| Refusal::new(503, format!("run {} is still at its last step", asked.run)))?;
    let allowance = ask.explorer.allowance;
    if let Some(tau) = asked.tau {
        run.set_tau(tau, allowance)?;
    }
    let trace = run.advance(asked.sweeps, &ask.deadline.within(limits::STEPPING));
    let digits = asked.digits;
    let table = asked.table.then_some(CodeTable { digits });
    let mut told = run.tell(trace, table, allowance)?;
    told["run"] = asked.run.into();
    Ok(told)
}

/// Ends a run.
pub fn end(ask: &Ask<'_>, asked: &DropAsked) -> Result<Value, Refusal> {
    ask.explorer.runs.drop(ask.page, asked.run);
    Ok(json!({}))
}
