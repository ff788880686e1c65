//! Trains tables by sampled policy gradients as a method of studies (beyond the paper, whose tables are trained exactly).

use foldglass::dynamics::reinforce::{
    LengthGate, ReinforceOutcome, ReinforceSettings, ReinforceState, SampledTraining,
};
use foldglass::reward::count;
use foldglass::reward::estimators::Estimator;
use foldglass::{Allowance, Class, Code, Policy, Reward, Stream, Symbol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shared::{
    INIT, KEEP_CODE, KEEP_POLICY, PRIOR, START, policy, policy_digest, prior, utility,
};
use crate::method::{
    Accepts, Fields, Headline, Method, MethodSettings, Recipe, RunOutcome, RunningUnit, Setting,
    SettingError, Streams, fields, put, put_some,
};

/// Kind `reinforce`.
pub struct Reinforce;

/// The settings of sampled training.
pub const SETTINGS: &[Setting] = &[
    Setting::new(
        "estimator",
        Accepts::Words,
        "How rewards become advantages: reinforce (the reward itself), batch-mean (minus the mean of the batch), \
         rloo:G, grpo:G or dr-grpo:G (G rollouts on each input, minus the mean of the others, or of the group)",
    )
    .value("NAME"),
    Setting::new(
        "objective",
        Accepts::Words,
        "The mean over inputs of a function of their success p(x) in the place of J: pass@K or maxrl:K with rloo:G \
         or dr-grpo:G of K rollouts or more, or grpo-std with grpo:G (its limit of large groups)",
    )
    .value("NAME"),
    Setting::new("batch", Accepts::Count, "Inputs per update")
        .value("B")
        .default("512")
        .short('b'),
    Setting::new(
        "updates",
        Accepts::Natural,
        "Updates; 0 leaves the first policy as it is",
    )
    .default("2000")
    .short('n'),
    Setting::new(
        "learning_rate",
        Accepts::AboveZero,
        "The step along the gradient by the logits: terms of a rollout's tokens are summed, rollouts averaged",
    ),
    Setting::new(
        "optimizer",
        Accepts::Words,
        "How logits move: sgd, or adam (0.9, 0.999, 1e-8)",
    )
    .value("NAME")
    .default("sgd"),
    Setting::new(
        "epochs",
        Accepts::Count,
        "Steps of the optimizer on each batch; from the second on tokens count by the ratio of their \
         probabilities, now to when they were drawn",
    )
    .default("1"),
    Setting::new(
        "clip",
        Accepts::AboveZero,
        "Leave tokens out whose ratio has passed 1 + X (advantage above 0) or 1 - X (below 0), as PPO does; the \
         first epoch has none, so `epochs` is 2 or more",
    ),
    Setting::new(
        "tau",
        Accepts::Temperature,
        "The coefficient of the entropy bonus, at least 0: per cell, or per emitted token under the convention \
         occupancy",
    )
    .default("0")
    .short('t'),
    Setting::new(
        "convention",
        Accepts::Words,
        "Which entropies count: uniform (every cell alike, exactly) or occupancy (the mean over the tokens of the \
         batch, those before each taken as given)",
    )
    .value("CONVENTION")
    .default("uniform"),
    PRIOR,
    INIT,
    START,
    Setting::new(
        "curriculum",
        Accepts::Switch,
        "Open the lengths of the class one after another by the gate",
    ),
    Setting::new(
        "gate_every",
        Accepts::Count,
        "Curriculum: test the greedy code every N updates [default: 20]",
    ),
    Setting::new(
        "gate_above",
        Accepts::Share,
        "Curriculum: the greedy accuracy on a fresh batch above which the next length is opened [default: 0.9]",
    ),
    Setting::new(
        "record_every",
        Accepts::Count,
        "Record the exact J, and that of the greedy code, before every N-th update",
    ),
    KEEP_CODE,
    KEEP_POLICY,
];

/// What a run does and keeps.
#[derive(Clone)]
struct SampledPlan {
    class: Class,
    settings: ReinforceSettings,
    updates: u64,
    start: Option<Policy>,
    prior: Option<Policy>,
    record_every: Option<u64>,
    keep_code: bool,
    keep_policy: bool,
}

impl Method for Reinforce {
    fn kind(&self) -> &'static str {
        "reinforce"
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
        given: MethodSettings<'_>,
    ) -> Result<Box<dyn Recipe>, SettingError> {
        let given = &given;
        let batch: u32 = given.need("batch")?;
        let estimator = given.need("estimator")?;
        let rate = given.get("learning_rate")?.ok_or_else(|| {
            SettingError::of(
                "learning_rate",
                "the key `learning_rate` is missing: a number above 0, such as 5 with sgd or 0.1 with adam",
            )
        })?;
        let mut settings = ReinforceSettings::new(estimator, batch as usize, rate);
        settings.objective = utility(class, given)?;
        settings
            .check()
            .map_err(|refused| SettingError::of("objective", format!("objective = {refused}")))?;
        settings.optimizer = given.need("optimizer")?;
        settings.epochs = given.need("epochs")?;
        settings.clip = given.get("clip")?;
        settings.tau = given.need("tau")?;
        settings.convention = given.need("convention")?;
        settings.initial = given.need("init")?;
        settings.curriculum = curriculum(class, given)?;
        let prior = prior(class, given)?;
        refuse_idle(&settings, given, prior.is_some())?;
        Ok(Box::new(SampledPlan {
            class: class.clone(),
            settings,
            updates: given.need("updates")?,
            start: policy(class, given, "start")?,
            prior,
            record_every: given.get("record_every")?,
            keep_code: given.or("keep_code", false)?,
            keep_policy: given.or("keep_policy", false)?,
        }))
    }
}

/// Refuses what would change nothing, or train nothing.
fn refuse_idle(
    settings: &ReinforceSettings,
    given: &MethodSettings<'_>,
    prior: bool,
) -> Result<(), SettingError> {
    let cold = settings.tau == 0.0;
    let idle = [
        (
            settings.clip.is_some() && settings.epochs == 1,
            "clip",
            "`clip` with `epochs` 1: in the first epoch every ratio is 1, so nothing is clipped; make `epochs` 2 or more, \
             or leave `clip` out",
        ),
        (
            prior && cold,
            "prior",
            "`prior` with `tau` 0: tau is the coefficient of the divergence from it, so the prior has no part; make `tau` \
             larger than 0, or leave `prior` out",
        ),
        (
            given.is_given("convention") && cold,
            "convention",
            "`convention` with `tau` 0: it says whose entropies tau multiplies, and none count; make `tau` larger than 0, \
             or leave `convention` out",
        ),
        (
            given.is_given("init") && given.is_given("start"),
            "init",
            "`init` with `start`: every run starts from the given policy, so nothing is drawn; leave one of them out",
        ),
        (
            settings.estimator == Estimator::BatchMean && settings.batch == 1,
            "batch",
            "`batch` 1 with batch-mean: the one reward is the mean, so every advantage is 0 and nothing is learned; make \
             `batch` 2 or more, or use the estimator reinforce",
        ),
    ];
    match idle.into_iter().find(|(is_idle, ..)| *is_idle) {
        Some((_, name, problem)) => Err(SettingError::of(name, problem)),
        None => Ok(()),
    }
}

fn curriculum(
    class: &Class,
    given: &MethodSettings<'_>,
) -> Result<Option<LengthGate>, SettingError> {
    if !given.or("curriculum", false)? {
        let gates = ["gate_every", "gate_above"];
        return match gates.into_iter().find(|name| given.is_given(name)) {
            None => Ok(None),
            Some(name) => Err(SettingError::of(
                name,
                format!("`{name}` without `curriculum`: all lengths are open from the start"),
            )),
        };
    }
    if class.task().lengths().len() == 1 {
        let problem = "`curriculum` with one length: it opens the lengths of a class one after another, and needs \
                       several (such as 1,2,3)";
        return Err(SettingError::of("curriculum", problem));
    }
    Ok(Some(LengthGate {
        gate: given.or("gate_above", 0.9)?,
        every: given.or("gate_every", 20)?,
    }))
}

impl Recipe for SampledPlan {
    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        let settings = &self.settings;
        put(&mut fields, "estimator", settings.estimator);
        put_some(&mut fields, "objective", settings.objective);
        put(&mut fields, "batch", settings.batch);
        put(&mut fields, "updates", self.updates);
        put(&mut fields, "learning_rate", settings.learning_rate);
        put(&mut fields, "optimizer", settings.optimizer);
        put(&mut fields, "epochs", settings.epochs);
        put_some(&mut fields, "clip", settings.clip);
        put(&mut fields, "tau", settings.tau);
        put(&mut fields, "convention", settings.convention);
        put(&mut fields, "init", settings.initial);
        if let Some(LengthGate { gate, every }) = settings.curriculum {
            put(&mut fields, "curriculum", true);
            put(&mut fields, "gate_every", every);
            put(&mut fields, "gate_above", gate);
        }
        put_some(&mut fields, "start", self.start.as_ref().map(policy_digest));
        put_some(&mut fields, "prior", self.prior.as_ref().map(policy_digest));
        fields
    }

    fn together(&self) -> u64 {
        1
    }

    fn steps(&self) -> u64 {
        self.updates
    }

    fn bytes(&self) -> Option<u128> {
        SampledTraining::bytes(&self.class, &self.settings)
    }

    fn kept(&self, cells: u128, q: u128) -> u128 {
        let traces = self
            .record_every
            .map_or(0, |every| 2 * (self.updates / every));
        let code = if self.keep_code { cells } else { 0 };
        let policy = if self.keep_policy { cells * q } else { 0 };
        u128::from(traces) + code + policy
    }

    fn begin(
        &self,
        streams: Streams,
        allowance: Allowance,
    ) -> Result<Box<dyn RunningUnit>, String> {
        Ok(Box::new(SampledUnit {
            run: self.training(streams, allowance)?,
            plan: self.clone(),
            traces: Traces::default(),
        }))
    }

    fn resume(
        &self,
        streams: Streams,
        state: &[u8],
        allowance: Allowance,
    ) -> Result<Box<dyn RunningUnit>, String> {
        let (state, traces): (ReinforceState, Traces) =
            postcard::from_bytes(state).map_err(|error| error.to_string())?;
        Ok(Box::new(SampledUnit {
            run: self.training(streams, allowance)?.resume(&state),
            plan: self.clone(),
            traces,
        }))
    }
}

impl SampledPlan {
    /// A run from its start.
    fn training(&self, streams: Streams, allowance: Allowance) -> Result<SampledTraining, String> {
        let stream = Stream::new(streams.seed, streams.numbers.start);
        let start = self.start.as_ref();
        let run = SampledTraining::new(&self.class, self.settings, stream, start, allowance);
        let run = run.map_err(|error| error.to_string())?;
        match &self.prior {
            None => Ok(run),
            Some(prior) => run.with_prior(prior).map_err(|error| error.to_string()),
        }
    }
}

/// Exact rewards, at the updates that are recorded.
#[derive(Debug, Clone, Default, JsonSchema, Serialize, Deserialize)]
struct Traces {
    expected: Vec<f64>,
    greedy: Vec<f64>,
}

struct SampledUnit {
    plan: SampledPlan,
    run: SampledTraining,
    traces: Traces,
}

/// What a run came to: the keys of `result` in its record.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ReinforceResult {
    expected_reward: f64,
    greedy_reward: f64,
    greedy_exact: Reward,
    entropy: f64,
    /// Null where exact sums over the inputs are out of reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lengths_open: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    greedy: Option<Vec<Symbol>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    greedy_ties: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    greedy_trace: Option<Vec<f64>>,
}

impl RunningUnit for SampledUnit {
    fn done(&self) -> u64 {
        self.run.done()
    }

    fn is_finished(&self) -> bool {
        self.run.done() == self.plan.updates
    }

    fn advance(&mut self, steps: u64) -> Result<(), String> {
        let end = self.plan.updates.min(self.run.done().saturating_add(steps));
        while self.run.done() < end {
            let every = self.plan.record_every;
            if every.is_some_and(|every| self.run.done().is_multiple_of(every)) {
                self.traces.expected.push(self.run.expected_reward());
                let greedy = count::reward(&self.run.greedy()).to_f64();
                self.traces.greedy.push(greedy);
            }
            self.run.advance(1);
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, String> {
        Ok(postcard::to_stdvec(&(self.run.state(), &self.traces)).expect("plain data"))
    }

    fn outcomes(&mut self) -> Result<Vec<RunOutcome>, String> {
        let ReinforceOutcome {
            expected_reward,
            greedy,
            greedy_ties,
            greedy_reward,
            entropy,
            lengths,
            objective,
            ..
        } = self.run.outcome();
        let plan = &self.plan;
        let rows = || {
            let policy = self.run.policy();
            let rows = policy.rows().chunks_exact(policy.class().q());
            rows.map(<[f64]>::to_vec).collect()
        };
        Ok(vec![fields(&ReinforceResult {
            expected_reward,
            greedy_reward: greedy_reward.to_f64(),
            greedy_exact: greedy_reward,
            entropy,
            objective: plan.settings.objective.as_ref().map(|_| objective),
            lengths_open: plan.settings.curriculum.as_ref().map(|_| lengths),
            greedy: plan.keep_code.then(|| greedy.actions().to_vec()),
            greedy_ties: plan.keep_code.then_some(greedy_ties),
            rows: plan.keep_policy.then(rows),
            trace: plan.record_every.map(|_| self.traces.expected.clone()),
            greedy_trace: plan.record_every.map(|_| self.traces.greedy.clone()),
        })])
    }

    fn codes(&mut self) -> Vec<Code> {
        vec![self.run.outcome().greedy]
    }

    fn policies(&mut self) -> Vec<Policy> {
        vec![self.run.policy()]
    }
}
