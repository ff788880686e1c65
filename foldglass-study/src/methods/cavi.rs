//! Runs tabular RLVR as a method of studies (paper, sections 2.1, G.4 and G.5).

use foldglass::dynamics::cavi::{
    self, Convention, HOTTEST, PriorError, Quench, Resets, Rule, Runs, RunsBuilder,
};
use foldglass::dynamics::schedule::Schedule;
use foldglass::model::policy::InitialLaw;
use foldglass::{Allowance, Class, Code, Policy};
use serde::{Deserialize, Serialize};

use super::Worded;
use crate::error::Error;
use crate::hash::digest;
use crate::method::{
    Fields, Headline, Method, Outcome, Recipe, SettingError, Settings, Streams, Unit, number_name,
    put, put_some,
};
use crate::tables::{Source, Tables};

/// Damped coordinate ascent (`cavi`), or the exact softmax policy gradient (`gradient`).
pub struct Cavi {
    kind: &'static str,
}

impl Cavi {
    /// Kind `cavi`.
    pub fn damped() -> Cavi {
        Cavi { kind: "cavi" }
    }

    /// Kind `gradient`.
    pub fn gradient() -> Cavi {
        Cavi { kind: "gradient" }
    }
}

/// What a run does and keeps.
#[derive(Clone)]
struct Plan {
    class: Class,
    settings: cavi::Settings,
    start: Option<Policy>,
    prior: Option<Policy>,
    /// The residual at which a run stops.
    stop_at_convergence: Option<f64>,
    trace_every: Option<u64>,
    keep_code: bool,
    keep_policy: bool,
}

impl Method for Cavi {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn headline(&self) -> Headline {
        Headline {
            value: "greedy_reward",
            exact: Some("greedy_exact"),
        }
    }

    fn recipe(
        &self,
        class: &Class,
        mut settings: Settings<'_>,
    ) -> Result<Box<dyn Recipe>, SettingError> {
        let tau = schedule(&mut settings)?;
        let iterations: usize = settings.need("iterations")?;
        let rule = rule(self.kind, &mut settings)?;
        let initial = settings.or("init", InitialLaw::UNorm)?;
        let quench = settings.get::<Worded<Quench>>("quench")?.map(|q| q.0);
        if let Some(quench) = quench {
            check_temperature(&settings, "quench.tau", quench.tau)?;
            let met = iterations.checked_add(quench.iterations).is_some();
            let needed = "a length that a run can count";
            settings.check(met, "quench.iterations", quench.iterations, needed)?;
        }
        let resets = settings.get::<Worded<Resets>>("resets")?.map(|r| r.0);
        if let Some(resets) = resets {
            check_share(&settings, "resets.share", resets.share)?;
            check_positive(&settings, "resets.every", resets.every as u64)?;
        }
        let plan = Plan {
            class: class.clone(),
            settings: cavi::Settings::plain(0.0, iterations)
                .with_tau(tau)
                .with_initial(initial)
                .with_rule(rule)
                .with_convention(settings.or("convention", Convention::Uniform)?)
                .with_quench(quench)
                .with_resets(resets),
            start: policy(class, &mut settings, "start")?,
            prior: prior(class, &mut settings)?,
            stop_at_convergence: settings.get("stop_at_convergence")?,
            trace_every: settings.get("trace_every")?,
            keep_code: settings.or("keep_code", false)?,
            keep_policy: settings.or("keep_policy", false)?,
        };
        if let Some(residual) = plan.stop_at_convergence {
            let met = residual.is_finite() && residual >= 0.0;
            let needed = "a residual of at least 0";
            settings.check(met, "stop_at_convergence", residual, needed)?;
        }
        if let Some(every) = plan.trace_every {
            check_positive(&settings, "trace_every", every)?;
        }
        settings.finish()?;
        Ok(Box::new(plan))
    }
}

fn rule(kind: &str, settings: &mut Settings<'_>) -> Result<Rule, SettingError> {
    if kind == "gradient" {
        let step: f64 = settings.need("step")?;
        let met = step.is_finite() && step > 0.0;
        settings.check(met, "step", step, "a number above 0")?;
        return Ok(Rule::Gradient { step });
    }
    let Rule::Cavi { damping, share } = Rule::PAPER else {
        unreachable!("the paper's rule is CAVI")
    };
    let damping = settings.or("damping", damping)?;
    let share = settings.or("share", share)?;
    check_share(settings, "damping", damping)?;
    check_share(settings, "share", share)?;
    Ok(Rule::Cavi { damping, share })
}

/// The temperature of every iteration: one of tau and anneal.
fn schedule(settings: &mut Settings<'_>) -> Result<Schedule, SettingError> {
    let anneal: Option<Schedule> = settings.get("anneal")?;
    let tau: Option<f64> = settings.get("tau")?;
    let refuse = |key: &str, problem: &str| SettingError {
        key: key.to_owned(),
        problem: problem.to_owned(),
    };
    match (anneal, tau) {
        (None, Some(_)) => Ok(Schedule::Constant(temperature(settings, "tau")?)),
        (Some(schedule), None) => {
            if let Schedule::Geometric { from, to, .. } | Schedule::Linear { from, to, .. } =
                schedule
            {
                check_temperature(settings, "anneal", from)?;
                check_temperature(settings, "anneal", to)?;
            }
            Ok(schedule)
        }
        (None, None) => Err(refuse("tau", "the key `tau` is missing (or `anneal`)")),
        (Some(_), Some(_)) => Err(refuse(
            "anneal",
            "tau and anneal exclude each other: one of them says how hot runs are",
        )),
    }
}

/// The prior, which forbids no action.
fn prior(class: &Class, settings: &mut Settings<'_>) -> Result<Option<Policy>, SettingError> {
    let prior = policy(class, settings, "prior")?;
    let Some(policy) = &prior else {
        return Ok(None);
    };
    let forbidden = (0..class.cells()).find_map(|cell| {
        let action = policy.row(cell).iter().position(|p| *p == 0.0)?;
        Some(PriorError::Forbids { cell, action })
    });
    match forbidden {
        None => Ok(prior),
        Some(error) => Err(SettingError {
            key: "prior".to_owned(),
            problem: error.to_string(),
        }),
    }
}

/// A policy of a key: a table in place, or a file.
fn policy(
    class: &Class,
    settings: &mut Settings<'_>,
    key: &'static str,
) -> Result<Option<Policy>, SettingError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        File(String),
        Rows { rows: Vec<Vec<f64>> },
    }
    let refuse = |problem: String| SettingError {
        key: key.to_owned(),
        problem: format!("{key}: {problem}"),
    };
    let policy = match settings.get(key)? {
        None => return Ok(None),
        Some(Given::Rows { rows }) => {
            Policy::from_rows(class, &rows).map_err(|error| refuse(error.to_string()))?
        }
        Some(Given::File(name)) => {
            let mut source: Source = name.parse().unwrap_or_else(|never| match never {});
            source.path = settings.base().join(source.path);
            one(&source, class).map_err(|error| refuse(error.to_string()))?
        }
    };
    Ok(Some(policy))
}

/// The one policy of a file, of this class.
fn one(source: &Source, class: &Class) -> Result<Policy, Error> {
    let tables = Tables::policies(source)?;
    tables.check_single()?;
    tables.check_class(class)?;
    Ok(tables.as_policies(class)?.swap_remove(0))
}

/// The temperature of a key that must be given.
pub(super) fn temperature(
    settings: &mut Settings<'_>,
    key: &'static str,
) -> Result<f64, SettingError> {
    let tau = settings.need(key)?;
    check_temperature(settings, key, tau)?;
    Ok(tau)
}

/// Refuses what is no temperature.
pub(super) fn check_temperature(
    settings: &Settings<'_>,
    key: &str,
    tau: f64,
) -> Result<(), SettingError> {
    let met = (0.0..=HOTTEST).contains(&tau);
    let needed = "a number of at least 0 and at most 1e300";
    settings.check(met, key, number_name(tau), needed)
}

fn check_share(settings: &Settings<'_>, key: &str, share: f64) -> Result<(), SettingError> {
    let met = (0.0..=1.0).contains(&share);
    settings.check(met, key, share, "a number from 0 to 1")
}

/// Refuses 0.
pub(super) fn check_positive(
    settings: &Settings<'_>,
    key: &str,
    number: u64,
) -> Result<(), SettingError> {
    settings.check(number > 0, key, number, "a whole number of at least 1")
}

impl Recipe for Plan {
    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        let cavi::Settings {
            initial,
            rule,
            convention,
            tau,
            iterations,
            quench,
            resets,
            ..
        } = &self.settings;
        match tau {
            Schedule::Constant(tau) => put(&mut fields, "tau", tau),
            schedule => put(&mut fields, "anneal", schedule),
        }
        put(&mut fields, "iterations", iterations);
        put(&mut fields, "init", initial);
        match rule {
            Rule::Cavi { damping, share } => {
                put(&mut fields, "damping", damping);
                put(&mut fields, "share", share);
            }
            Rule::Gradient { step } => put(&mut fields, "step", step),
        }
        put_some(&mut fields, "quench", *quench);
        put_some(&mut fields, "resets", *resets);
        put_some(&mut fields, "stop_at_convergence", self.stop_at_convergence);
        put_some(&mut fields, "start", self.start.as_ref().map(digest_of));
        // What runs had before there was a choice is not said, so that ids and seeds stay.
        if *convention != Convention::Uniform {
            put(&mut fields, "convention", convention);
        }
        put_some(&mut fields, "prior", self.prior.as_ref().map(digest_of));
        fields
    }

    fn together(&self) -> u64 {
        Runs::side_by_side(&self.class) as u64
    }

    fn steps(&self) -> u64 {
        self.settings.length() as u64
    }

    fn bytes(&self) -> Option<u128> {
        let convention = self.settings.convention;
        let regulator = Runs::regulator_bytes(&self.class, convention, self.prior.is_some());
        Runs::bytes(&self.class, self.settings.rule)?.checked_add(regulator)
    }

    fn kept(&self, cells: u128, q: u128) -> u128 {
        let trace = self.trace_every.map_or(0, |every| self.steps() / every);
        let code = if self.keep_code { cells } else { 0 };
        let policy = if self.keep_policy { cells * q } else { 0 };
        u128::from(trace) + code + policy
    }

    fn begin(&self, streams: Streams, allowance: Allowance) -> Result<Box<dyn Unit>, String> {
        let count = (streams.numbers.end - streams.numbers.start) as usize;
        let runs = self.builder(streams, allowance);
        let runs = match &self.start {
            None => runs.start(),
            Some(policy) => runs.start_at(policy),
        };
        let mut progress = InProgress {
            plan: self.clone(),
            runs: self.regulated(runs.map_err(|error| error.to_string())?)?,
            kept: vec![Kept::default(); count],
        };
        progress.look();
        Ok(Box::new(progress))
    }

    fn resume(
        &self,
        streams: Streams,
        state: &[u8],
        allowance: Allowance,
    ) -> Result<Box<dyn Unit>, String> {
        let (state, kept): (cavi::State, Vec<Kept>) =
            postcard::from_bytes(state).map_err(|error| error.to_string())?;
        let runs = self.builder(streams, allowance).resume(&state);
        Ok(Box::new(InProgress {
            plan: self.clone(),
            runs: self.regulated(runs.map_err(|error| error.to_string())?)?,
            kept,
        }))
    }
}

impl Plan {
    fn builder(&self, streams: Streams, allowance: Allowance) -> RunsBuilder<'_> {
        Runs::builder(&self.class, self.settings)
            .seed(streams.seed)
            .numbers(streams.numbers)
            .within(allowance)
    }

    /// Runs held to the prior, where there is one.
    fn regulated(&self, runs: Runs) -> Result<Runs, String> {
        match &self.prior {
            None => Ok(runs),
            Some(prior) => {
                let runs = runs.with_prior(prior);
                runs.map_err(|error| error.to_string())
            }
        }
    }

    /// Whether what tau multiplies is not the entropy of all cells.
    fn is_regulated_otherwise(&self) -> bool {
        self.settings.convention != Convention::Uniform || self.prior.is_some()
    }
}

fn digest_of(policy: &Policy) -> String {
    let rows = policy.rows().iter();
    let bytes: Vec<u8> = rows.flat_map(|p| p.to_le_bytes()).collect();
    digest(&bytes)
}

/// What is kept of a run while those beside it go on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Kept {
    /// J of the policies so far, each before its iteration.
    trace: Vec<f64>,
    /// How it ended, where it converged before its last iteration.
    end: Option<End>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct End {
    iterations: u64,
    greedy: Vec<u16>,
    greedy_ties: u64,
    greedy_exact: foldglass::Reward,
    expected_reward: f64,
    entropy: f64,
    regulator: f64,
    residual: f64,
    policy: Option<Vec<Vec<f64>>>,
}

/// Runs look whether they have converged this often.
const LOOK_EVERY: u64 = 10;

struct InProgress {
    plan: Plan,
    runs: Runs,
    kept: Vec<Kept>,
}

impl InProgress {
    /// Keeps how the runs stand that have just converged: those beside them go on, and they with
    /// them.
    fn look(&mut self) {
        let Some(residual) = self.plan.stop_at_convergence else {
            return;
        };
        if !self.done().is_multiple_of(LOOK_EVERY) {
            return;
        }
        self.runs.measure();
        for run in 0..self.kept.len() {
            if self.kept[run].end.is_none() && self.runs.residual(run) <= residual {
                self.kept[run].end = Some(self.end(run));
            }
        }
    }

    /// How a run stands, as last measured.
    fn end(&mut self, run: usize) -> End {
        let cavi::Outcome {
            greedy,
            greedy_ties,
            greedy_reward,
            expected_reward,
            entropy,
            regulator,
            residual,
            ..
        } = self.runs.outcome(run);
        let policy = || {
            let policy = self.runs.policy(run);
            let rows = policy.rows().chunks_exact(policy.class().q());
            rows.map(<[f64]>::to_vec).collect()
        };
        End {
            iterations: self.runs.done() as u64,
            greedy: greedy.actions().to_vec(),
            greedy_ties: greedy_ties as u64,
            greedy_exact: greedy_reward,
            expected_reward,
            entropy,
            regulator,
            residual,
            policy: self.plan.keep_policy.then(policy),
        }
    }

    /// Notes J of the policies before the iteration that was just done.
    fn trace(&mut self) {
        let Some(every) = self.plan.trace_every else {
            return;
        };
        let before = self.runs.done() as u64 - 1;
        if !before.is_multiple_of(every) {
            return;
        }
        for (run, kept) in self.kept.iter_mut().enumerate() {
            if kept.end.is_none() {
                kept.trace.push(self.runs.expected_reward(run));
            }
        }
    }
}

impl Unit for InProgress {
    fn done(&self) -> u64 {
        self.runs.done() as u64
    }

    fn is_finished(&self) -> bool {
        self.done() == self.plan.steps() || self.kept.iter().all(|kept| kept.end.is_some())
    }

    fn advance(&mut self, steps: u64) -> Result<(), String> {
        for _ in 0..steps {
            if self.is_finished() {
                break;
            }
            self.runs.advance(1);
            self.trace();
            self.look();
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, String> {
        Ok(postcard::to_stdvec(&(self.runs.state(), &self.kept)).expect("plain data"))
    }

    fn outcomes(&mut self) -> Result<Vec<Outcome>, String> {
        self.runs.measure();
        let count = self.kept.len();
        let one = |run: usize| {
            let end = match self.kept[run].end.clone() {
                Some(end) => end,
                None => self.end(run),
            };
            outcome(&self.plan, end, &self.kept[run].trace)
        };
        Ok((0..count).map(one).collect())
    }

    fn codes(&mut self) -> Vec<Code> {
        self.runs.measure();
        let code = |run: usize| match &self.kept[run].end {
            Some(end) => Code::from_fn(&self.plan.class, |cell| end.greedy[cell]),
            None => self.runs.outcome(run).greedy,
        };
        (0..self.kept.len()).map(code).collect()
    }

    fn policies(&mut self) -> Vec<Policy> {
        let policy = |run: usize| {
            let kept = self.kept[run]
                .end
                .as_ref()
                .and_then(|end| end.policy.as_ref());
            match kept {
                Some(rows) => Policy::from_rows(&self.plan.class, rows)
                    .expect("rows of a policy of the class"),
                None => self.runs.policy(run),
            }
        };
        (0..self.kept.len()).map(policy).collect()
    }
}

fn outcome(plan: &Plan, end: End, trace: &[f64]) -> Outcome {
    let mut fields = Fields::new();
    put(&mut fields, "greedy_reward", end.greedy_exact.to_f64());
    put(&mut fields, "greedy_exact", &end.greedy_exact);
    put(&mut fields, "expected_reward", end.expected_reward);
    put(&mut fields, "entropy", end.entropy);
    if plan.is_regulated_otherwise() {
        put(&mut fields, "regulator", end.regulator);
    }
    put(&mut fields, "residual", end.residual);
    if plan.stop_at_convergence.is_some() {
        put(&mut fields, "iterations_done", end.iterations);
    }
    if plan.keep_code {
        put(&mut fields, "greedy", &end.greedy);
        put(&mut fields, "greedy_ties", end.greedy_ties);
    }
    put_some(&mut fields, "rows", end.policy);
    if plan.trace_every.is_some() {
        put(&mut fields, "trace", trace);
    }
    fields
}
