//! Runs tabular RLVR as a method of studies (paper, sections 2.1, G.4 and G.5).

use foldglass::dynamics::cavi::{
    self, Convention, PriorError, Quench, Resets, Rule, Runs, RunsBuilder,
};
use foldglass::dynamics::schedule::Schedule;
use foldglass::model::policy::InitialLaw;
use foldglass::reward::objectives::{self, Utility};
use foldglass::reward::ways::SummedBy;
use foldglass::{Allowance, Class, Code, Context, Policy};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Worded;
use crate::error::StudyError;
use crate::hash::digest;
use crate::method::{
    Accepts, Fields, Headline, Method, MethodSettings, Recipe, RunOutcome, RunningUnit, Setting,
    SettingError, Streams, number_name, put, put_some, shown,
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

// Settings that sampled training has too.

/// The law of the first policies.
pub(super) const INIT: Setting = Setting::new(
        "init",
        Accepts::Words,
        "The distribution of each cell's first row: u_norm (u_a / sum u, u uniform on (0,1)), dirichlet:A \
         or logit_normal:S (softmax of normals of sd S)",
    )
    .value("LAW")
    .default("u_norm");

/// The first policy.
pub(super) const START: Setting = Setting::new(
    "start",
    Accepts::Words,
    "Start every run from this policy: a policy file, FILE#N for one of several, - for stdin",
)
.value("FILE");

/// What divergences are from.
pub(super) const PRIOR: Setting = Setting::new(
        "prior",
        Accepts::Words,
        "Divergences KL(pi || prior) from this policy count in place of entropies: a policy file, FILE#N for \
         one of several",
    )
    .value("FILE");

/// Whether greedy codes are kept.
pub(super) const KEEP_CODE: Setting = Setting::new(
    "keep_code",
    Accepts::Switch,
    "Keep the greedy codes, with the number of cells whose action was drawn among equals",
);

/// Whether policies are kept.
pub(super) const KEEP_POLICY: Setting = Setting::new(
    "keep_policy",
    Accepts::Switch,
    "Keep the policies at the end",
);

/// The settings of both rules.
pub const SETTINGS: &[Setting] = &[
    Setting::new(
        "tau",
        Accepts::Temperature,
        "The temperature of the entropy bonus, at least 0: per cell, or per emitted token under the \
         convention occupancy",
    )
    .short('t'),
    Setting::new(
        "anneal",
        Accepts::Words,
        "In place of tau, another temperature each iteration: geometric:FROM,TO,ITERATIONS or \
         linear:FROM,TO,ITERATIONS, then TO",
    )
    .value("SCHEDULE"),
    Setting::new(
        "iterations",
        Accepts::Natural,
        "Iterations; 0 leaves the first policy as it is",
    )
    .default("2000")
    .short('n'),
    INIT,
    START,
    Setting::new(
        "rule",
        Accepts::Words,
        "How cells move: cavi, or gradient, the exact gradient of J + tau sum H by the logits, with its \
         step (gradient:X is gradient with step X)",
    )
    .value("RULE")
    .default("cavi"),
    Setting::new(
        "damping",
        Accepts::Share,
        "Rule cavi: how far a cell moves towards its target",
    )
    .default("0.3"),
    Setting::new(
        "share",
        Accepts::Share,
        "Rule cavi: the share of the cells that move in an iteration",
    )
    .default("0.3"),
    Setting::new(
        "step",
        Accepts::AboveZero,
        "Rule gradient: the step along the gradient, above 0",
    ),
    Setting::new(
        "objective",
        Accepts::Words,
        "Rule gradient: the mean over inputs of a function of their success p(x) in the place of J: pass@K, \
         maxrl:K or grpo-std",
    )
    .value("NAME"),
    Setting::new(
        "convention",
        Accepts::Words,
        "Which entropies count: uniform (every cell alike, as in the paper's tables) or occupancy (cells by \
         their visits d(c), per emitted token, as RLVR of models has it)",
    )
    .value("CONVENTION")
    .default("uniform"),
    PRIOR,
    Setting::new(
        "quench",
        Accepts::Words,
        "N more iterations at another temperature",
    )
    .value("N,TAU"),
    Setting::new(
        "resets",
        Accepts::Words,
        "Redraw a share of the cells every EVERY iterations, TIMES times, such as 0.02,10,100",
    )
    .value("SHARE,EVERY,TIMES"),
    Setting::new(
        "stop_at_convergence",
        Accepts::NotNegative,
        "Stop a run once its residual, the largest |target - pi|, is at most this",
    ),
    Setting::new(
        "record_every",
        Accepts::Count,
        "Record J before every N-th iteration",
    )
    .earlier(&["trace_every"]),
    KEEP_CODE,
    KEEP_POLICY,
];

/// What a run does and keeps.
#[derive(Clone)]
struct Plan {
    class: Class,
    settings: cavi::CaviSettings,
    start: Option<Policy>,
    prior: Option<Policy>,
    /// The residual at which a run stops.
    stop_at_convergence: Option<f64>,
    record_every: Option<u64>,
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

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn recipe(
        &self,
        class: &Class,
        settings: MethodSettings<'_>,
    ) -> Result<Box<dyn Recipe>, SettingError> {
        let settings = &settings;
        let tau = schedule(settings)?;
        let iterations: usize = settings.need("iterations")?;
        let rule = rule(self.kind, settings)?;
        let initial: InitialLaw = settings.need("init")?;
        let quench = settings.get::<Worded<Quench>>("quench")?.map(|q| q.0);
        if let Some(quench) = quench {
            check_temperature(settings, "quench.tau", quench.tau)?;
            let met = iterations.checked_add(quench.iterations).is_some();
            let needed = "a length that a run can count";
            settings.check(met, "quench.iterations", quench.iterations, needed)?;
        }
        let resets = settings.get::<Worded<Resets>>("resets")?.map(|r| r.0);
        if let Some(resets) = resets {
            check(settings, Accepts::Share, "resets.share", resets.share)?;
            check(settings, Accepts::Count, "resets.every", resets.every)?;
        }
        Ok(Box::new(Plan {
            class: class.clone(),
            settings: cavi::CaviSettings::plain(0.0, iterations)
                .with_tau(tau)
                .with_initial(initial)
                .with_rule(rule)
                .with_convention(settings.need::<Convention>("convention")?)
                .with_quench(quench)
                .with_resets(resets)
                .with_objective(objective(class, settings)?),
            start: policy(class, settings, "start")?,
            prior: prior(class, settings)?,
            stop_at_convergence: settings.get("stop_at_convergence")?,
            record_every: settings.get("record_every")?,
            keep_code: settings.or("keep_code", false)?,
            keep_policy: settings.or("keep_policy", false)?,
        }))
    }
}

fn rule(kind: &str, settings: &MethodSettings<'_>) -> Result<Rule, SettingError> {
    if settings.is_given("rule") {
        let problem = "rule: a dynamics has one rule; write another [[dynamics]] for another";
        return Err(SettingError::of("rule", problem));
    }
    let gradient = kind == "gradient";
    let foreign: &[&str] = if gradient {
        &["damping", "share"]
    } else {
        &["step", "objective"]
    };
    if let Some(name) = foreign.iter().find(|name| settings.is_given(name)) {
        let problem = match gradient {
            true => format!(
                "`{name}` with rule gradient: the gradient moves every cell by its step; `{name}` is \
                 accepted with rule cavi"
            ),
            false if *name == "objective" => {
                "`objective` with rule cavi: its update assumes that the objective is linear in the row of each \
                 cell, which J alone is; write rule gradient"
                    .to_owned()
            }
            false => format!(
                "`{name}` with rule cavi: cells move by damping and share; `{name}` is accepted with \
                 rule gradient"
            ),
        };
        return Err(SettingError::of(name, problem));
    }
    if gradient {
        let step = settings.need("step")?;
        return Ok(Rule::Gradient { step });
    }
    Ok(Rule::Cavi {
        damping: settings.need("damping")?,
        share: settings.need("share")?,
    })
}

/// The setting `objective`, for rewards of the last token alone.
pub(super) fn utility(
    class: &Class,
    settings: &MethodSettings<'_>,
) -> Result<Option<Utility>, SettingError> {
    let utility = settings.get::<Utility>("objective")?;
    let reward = class.task().reward();
    match utility {
        Some(utility) if !reward.is_final() => {
            let problem = format!(
                "objective = {utility}: it is about the last token of each input, and the reward is {reward}"
            );
            Err(SettingError::of("objective", problem))
        }
        utility => Ok(utility),
    }
}

/// The objective, where it is not J.
fn objective(
    class: &Class,
    settings: &MethodSettings<'_>,
) -> Result<Option<Utility>, SettingError> {
    let Some(utility) = utility(class, settings)? else {
        return Ok(None);
    };
    let refuse = |problem: String| Err(SettingError::of("objective", problem));
    if settings.need::<Convention>("convention")? != Convention::Uniform {
        return refuse(
            "`objective` with convention occupancy: soft values are those of J; write convention uniform"
                .to_owned(),
        );
    }
    if objectives::way(class, utility, Context::default()) == SummedBy::Sampled {
        return refuse(format!(
            "objective = {utility}: its exact gradient takes every input, and this class has too many; shorter \
             inputs are accepted"
        ));
    }
    Ok(Some(utility))
}

/// The temperature of every iteration: one of tau and anneal.
fn schedule(settings: &MethodSettings<'_>) -> Result<Schedule, SettingError> {
    let anneal: Option<Schedule> = settings.get("anneal")?;
    let tau: Option<f64> = settings.get("tau")?;
    match (anneal, tau) {
        (None, Some(tau)) => Ok(Schedule::Constant(tau)),
        (Some(schedule), None) => {
            if let Schedule::Geometric { from, to, .. } | Schedule::Linear { from, to, .. } =
                schedule
            {
                check_temperature(settings, "anneal", from)?;
                check_temperature(settings, "anneal", to)?;
            }
            Ok(schedule)
        }
        (None, None) => Err(SettingError::of(
            "tau",
            "the key `tau` is missing (or `anneal`)",
        )),
        (Some(_), Some(_)) => Err(SettingError::of(
            "anneal",
            "`tau` and `anneal` exclude each other: one of them says how hot runs are",
        )),
    }
}

/// The prior, which forbids no action.
pub(super) fn prior(
    class: &Class,
    settings: &MethodSettings<'_>,
) -> Result<Option<Policy>, SettingError> {
    let prior = policy(class, settings, "prior")?;
    let met = prior.as_ref().map_or(Ok(()), PriorError::check);
    met.map_err(|error| SettingError::of("prior", error.to_string()))?;
    Ok(prior)
}

/// A policy of a key: a table in place, or a file.
pub(super) fn policy(
    class: &Class,
    settings: &MethodSettings<'_>,
    key: &'static str,
) -> Result<Option<Policy>, SettingError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        File(String),
        Rows { rows: Vec<Vec<f64>> },
    }
    let refuse = |problem: String| SettingError::of(key, format!("{key}: {problem}"));
    let policy = match settings.get(key)? {
        None => return Ok(None),
        Some(Given::Rows { rows }) => {
            Policy::from_rows(class, &rows).map_err(|error| refuse(error.to_string()))?
        }
        Some(Given::File(name)) => {
            let mut source = Source::from(&name[..]);
            source.path = settings.base().join(source.path);
            one(&source, class).map_err(|error| refuse(error.to_string()))?
        }
    };
    Ok(Some(policy))
}

/// The one policy of a file, of this class.
fn one(source: &Source, class: &Class) -> Result<Policy, StudyError> {
    let tables = Tables::policies(source)?;
    tables.check_single()?;
    tables.check_class(class)?;
    Ok(tables.as_policies(class)?.swap_remove(0))
}

/// Refuses what is not a temperature.
pub(super) fn check_temperature(
    settings: &MethodSettings<'_>,
    key: &str,
    tau: f64,
) -> Result<(), SettingError> {
    let met = Accepts::Temperature.met_by(&tau.into());
    settings.check(met, key, number_name(tau), Accepts::Temperature.needed())
}

/// Refuses a part of a setting that is not accepted.
fn check(
    settings: &MethodSettings<'_>,
    accepts: Accepts,
    key: &str,
    value: impl Into<Value>,
) -> Result<(), SettingError> {
    let value = value.into();
    settings.check(accepts.met_by(&value), key, shown(&value), accepts.needed())
}

impl Recipe for Plan {
    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        let cavi::CaviSettings {
            initial,
            rule,
            convention,
            tau,
            iterations,
            quench,
            resets,
            objective,
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
        put_some(&mut fields, "objective", *objective);
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
        let trace = self.record_every.map_or(0, |every| self.steps() / every);
        let code = if self.keep_code { cells } else { 0 };
        let policy = if self.keep_policy { cells * q } else { 0 };
        u128::from(trace) + code + policy
    }

    fn begin(
        &self,
        streams: Streams,
        allowance: Allowance,
    ) -> Result<Box<dyn RunningUnit>, String> {
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
    ) -> Result<Box<dyn RunningUnit>, String> {
        let (state, kept): (cavi::CaviState, Vec<Kept>) =
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

/// What records have in place of a policy.
pub(super) fn digest_of(policy: &Policy) -> String {
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
    objective: Option<f64>,
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
            objective,
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
            objective,
        }
    }

    /// Notes J of the policies before the iteration that was just done.
    fn trace(&mut self) {
        let Some(every) = self.plan.record_every else {
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

impl RunningUnit for InProgress {
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

    fn outcomes(&mut self) -> Result<Vec<RunOutcome>, String> {
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

fn outcome(plan: &Plan, end: End, trace: &[f64]) -> RunOutcome {
    let mut fields = Fields::new();
    put(&mut fields, "greedy_reward", end.greedy_exact.to_f64());
    put(&mut fields, "greedy_exact", &end.greedy_exact);
    put(&mut fields, "expected_reward", end.expected_reward);
    put(&mut fields, "entropy", end.entropy);
    if plan.is_regulated_otherwise() {
        put(&mut fields, "regulator", end.regulator);
    }
    put_some(&mut fields, "objective", end.objective);
    put(&mut fields, "residual", end.residual);
    if plan.stop_at_convergence.is_some() {
        put(&mut fields, "iterations_done", end.iterations);
    }
    if plan.keep_code {
        put(&mut fields, "greedy", &end.greedy);
        put(&mut fields, "greedy_ties", end.greedy_ties);
    }
    put_some(&mut fields, "rows", end.policy);
    if plan.record_every.is_some() {
        put(&mut fields, "trace", trace);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::setting::find;

    #[test]
    fn the_defaults_are_those_of_the_paper() {
        let default = |name: &str| {
            let setting = find(SETTINGS, name).expect("a setting");
            let text = setting.default.expect("a default");
            setting.accepts.read(text).as_f64().expect("a number")
        };
        let (damping, share) = (default("damping"), default("share"));
        assert_eq!(Rule::PAPER, Rule::Cavi { damping, share });
    }
}
