//! Runs tabular RLVR as a method of studies (paper, sections 2.1, G.4 and G.5).

mod unit;

use foldglass::dynamics::cavi::{
    CaviSettings, CaviState, Convention, Quench, Resets, Rule, Runs, RunsBuilder,
};
use foldglass::dynamics::schedule::Schedule;
use foldglass::model::policy::InitialLaw;
use foldglass::reward::objectives::{self, Utility};
use foldglass::reward::ways::SummedBy;
use foldglass::{Allowance, Class, Context, Policy};
use serde_json::Value;

use super::Worded;
use super::shared::{
    INIT, KEEP_CODE, KEEP_POLICY, PRIOR, START, check_temperature, policy, policy_digest, prior,
    utility,
};
use crate::method::{
    Accepts, Fields, Headline, Method, MethodSettings, Recipe, RunningUnit, Setting, SettingError,
    Streams, put, put_some, shown,
};
pub use unit::CaviResult;
use unit::{CaviUnit, KeptRun};

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
        "Rule cavi: how far a cell moves towards its target, softmax(dQ / tau)",
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
struct CaviPlan {
    class: Class,
    settings: CaviSettings,
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
        Ok(Box::new(CaviPlan {
            class: class.clone(),
            settings: CaviSettings::plain(0.0, iterations)
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
            "the key `tau` is missing: the temperature, such as 1e-10, near zero (or `anneal`)",
        )),
        (Some(_), Some(_)) => Err(SettingError::of(
            "anneal",
            "`tau` and `anneal` exclude each other: one of them says how hot runs are",
        )),
    }
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

impl Recipe for CaviPlan {
    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        let CaviSettings {
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
        put_some(&mut fields, "start", self.start.as_ref().map(policy_digest));
        // What runs had before there was a choice is not said, so that ids and seeds stay.
        if *convention != Convention::Uniform {
            put(&mut fields, "convention", convention);
        }
        put_some(&mut fields, "prior", self.prior.as_ref().map(policy_digest));
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
        let mut progress = CaviUnit {
            plan: self.clone(),
            runs: self.regulated(runs.map_err(|error| error.to_string())?)?,
            kept: vec![KeptRun::default(); count],
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
        let (state, kept): (CaviState, Vec<KeptRun>) =
            postcard::from_bytes(state).map_err(|error| error.to_string())?;
        let runs = self.builder(streams, allowance).resume(&state);
        Ok(Box::new(CaviUnit {
            plan: self.clone(),
            runs: self.regulated(runs.map_err(|error| error.to_string())?)?,
            kept,
        }))
    }
}

impl CaviPlan {
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
