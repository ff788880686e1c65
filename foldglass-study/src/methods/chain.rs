//! Runs Monte Carlo chains as a method of studies: at a temperature, annealed, or on a ladder
//! (paper, section 2.2 and G).

mod unit;
mod walk;

use foldglass::dynamics::chain::{
    ChainSettings, Chains, ChainsBuilder, Kernel, Order, Tempering, TemperingBuilder,
};
use foldglass::dynamics::schedule::Schedule;
use foldglass::{Allowance, Class, Code, Policy};

use super::shared::{check_temperature, code_digest, policy_digest, prior, start_code};
use crate::method::{
    Accepts, Fields, Headline, Method, MethodSettings, Recipe, RunningUnit, Setting, SettingError,
    Streams, put, put_some,
};
pub use unit::ChainResult;
use unit::{ChainUnit, SavedChains, WalkerState, Walkers};
use walk::Walk;

/// Kind `chain`.
pub struct Chain;

/// J that has not changed for this many sweeps is stationary, where the study says no other.
const STATIONARY: u64 = 5_000;

/// The settings of chains.
pub const SETTINGS: &[Setting] = &[
    Setting::new(
        "kernel",
        Accepts::Words,
        "How a cell is resampled: metropolis (a proposal uniform over all actions) or heat-bath (a draw from \
         the conditional)",
    )
    .value("KERNEL")
    .default("metropolis")
    .short('k'),
    Setting::new(
        "tau",
        Accepts::Temperature,
        "The temperature, at least 0; at 0 no loss is accepted",
    )
    .short('t'),
    Setting::new(
        "anneal",
        Accepts::Words,
        "In place of tau, another temperature each sweep: geometric:FROM,TO,SWEEPS or linear:FROM,TO,SWEEPS, \
         then TO",
    )
    .value("SCHEDULE"),
    Setting::new(
        "ladder",
        Accepts::Numbers,
        "In place of tau, parallel tempering: each chain is a ladder of temperatures, the coldest first, \
         between which replicas swap; the coldest is reported",
    )
    .value("T1,T2,.."),
    Setting::new("sweeps", Accepts::Count, "Sweeps of each chain")
        .default("1000")
        .short('n'),
    Setting::new(
        "order",
        Accepts::Words,
        "The order of a sweep: step (random steps, each as a block), forward (first step to last) or cell (a \
         random permutation of the cells) [default: step; cell in tied classes and where step blocks are \
         not exact]",
    )
    .value("ORDER"),
    Setting::new(
        "start",
        Accepts::Words,
        "Start from this code in place of random ones: a code file, FILE#N for one of several, - for stdin",
    )
    .value("FILE"),
    Setting::new(
        "prior",
        Accepts::Words,
        "A code weighs exp(J / tau) times its probability under this policy: a policy file, FILE#N for one of \
         several",
    )
    .value("FILE"),
    Setting::new(
        "stop_when_stationary",
        Accepts::Count,
        "Stop a chain once J has not changed for N sweeps",
    ),
    Setting::new(
        "stop_at_optimum",
        Accepts::Switch,
        "Stop a chain once J is 1",
    ),
    Setting::new(
        "checkpoints",
        Accepts::Numbers,
        "Sweeps, ascending, after which J is reported",
    ),
    Setting::new(
        "record_every",
        Accepts::Count,
        "Record J after every N-th sweep",
    )
    .earlier(&["trace_every"]),
    Setting::new("keep_code", Accepts::Switch, "Keep the last codes"),
    Setting::new(
        "keep_marginals",
        Accepts::Switch,
        "Keep how often each cell had each action over the second half of the sweeps",
    ),
];

/// How long a chain goes, and what is kept of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Keeping {
    /// The most sweeps.
    pub sweeps: u64,
    /// The sweeps, ascending, after which J is recorded.
    pub checkpoints: Vec<u64>,
    /// Stop once J has not changed for this many sweeps.
    pub stop_when_stationary: Option<u64>,
    /// Stop once J is 1.
    pub stop_at_optimum: bool,
    /// Record J each time this number of sweeps has passed.
    pub record_every: Option<u64>,
    /// Record how often the second half had each action of each cell.
    pub marginals: bool,
    /// Record the last code.
    pub code: bool,
}

impl Keeping {
    /// The sweeps for which J must not change to be stationary.
    pub fn stationary(&self) -> u64 {
        self.stop_when_stationary.unwrap_or(STATIONARY)
    }
}

/// The temperatures of a chain.
#[derive(Debug, Clone, PartialEq)]
enum Heat {
    /// One a sweep.
    Schedule(Schedule),
    /// Several at a time, the coldest first, with swaps between them: parallel tempering.
    Ladder(Vec<f64>),
}

#[derive(Clone)]
struct ChainPlan {
    class: Class,
    settings: ChainSettings,
    heat: Heat,
    start: Option<Code>,
    prior: Option<Policy>,
    keeping: Keeping,
}

impl Method for Chain {
    fn kind(&self) -> &'static str {
        "chain"
    }

    fn headline(&self) -> Headline {
        Headline {
            value: "reward",
            exact: Some("reward_exact"),
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
        let kernel: Kernel = settings.need("kernel")?;
        let order: Option<Order> = settings.get("order")?;
        let plan = ChainPlan {
            class: class.clone(),
            settings: ChainSettings::new(kernel, order.unwrap_or_else(|| Order::of(class))),
            heat: heat(settings)?,
            start: start_code(class, settings)?,
            prior: prior(class, settings)?,
            keeping: keeping(settings)?,
        };
        check_order(class, plan.settings, order)?;
        if plan.start.is_some() && matches!(plan.heat, Heat::Ladder(_)) {
            let problem = "`start` with `ladder`: the replicas of a ladder start at random";
            return Err(SettingError::of("start", problem));
        }
        Ok(Box::new(plan))
    }
}

/// Refuses what chains would refuse, before any run is done.
fn check_order(
    class: &Class,
    settings: ChainSettings,
    given: Option<Order>,
) -> Result<(), SettingError> {
    // Elsewhere every order is exact.
    if Order::of(class) == Order::Step {
        return Ok(());
    }
    let chains = Chains::builder(class, settings).within(Allowance(u128::MAX));
    let refusal = chains.start().err();
    let Some(error) = refusal else {
        return Ok(());
    };
    let (key, problem) = match given.filter(|order| *order != Order::Cell) {
        Some(order) => ("order", format!("order = {order}: {error}: cell is needed")),
        None => ("lengths", error.to_string()),
    };
    Err(SettingError {
        key: key.to_owned(),
        problem,
    })
}

/// Exactly one of tau, anneal and ladder says how hot the chains are.
fn heat(settings: &MethodSettings<'_>) -> Result<Heat, SettingError> {
    let anneal: Option<Schedule> = settings.get("anneal")?;
    let ladder: Option<Vec<f64>> = settings.get("ladder")?;
    let tau: Option<f64> = settings.get("tau")?;
    match (anneal, ladder, tau) {
        (None, None, Some(tau)) => Ok(Heat::Schedule(Schedule::Constant(tau))),
        (Some(schedule), None, None) => Ok(Heat::Schedule(schedule)),
        (None, Some(ladder), None) => {
            for &tau in &ladder {
                check_temperature(settings, "ladder", tau)?;
            }
            let met = !ladder.is_empty() && ladder.is_sorted();
            let given = format!("{ladder:?}");
            settings.check(met, "ladder", given, "temperatures, the coldest first,")?;
            Ok(Heat::Ladder(ladder))
        }
        (None, None, None) => Err(SettingError::of(
            "tau",
            "the key `tau` is missing: the temperature, such as 1e-10, near zero (or `anneal`, or `ladder`)",
        )),
        (anneal, ..) => Err(SettingError::of(
            if anneal.is_some() { "anneal" } else { "ladder" },
            "`tau`, `anneal` and `ladder` exclude each other: one of them says how hot chains are",
        )),
    }
}

fn keeping(settings: &MethodSettings<'_>) -> Result<Keeping, SettingError> {
    let keeping = Keeping {
        sweeps: settings.need("sweeps")?,
        checkpoints: settings.or("checkpoints", Vec::new())?,
        stop_when_stationary: settings.get("stop_when_stationary")?,
        stop_at_optimum: settings.or("stop_at_optimum", false)?,
        record_every: settings.get("record_every")?,
        marginals: settings.or("keep_marginals", false)?,
        code: settings.or("keep_code", false)?,
    };
    let list = &keeping.checkpoints;
    let ascending = list.windows(2).all(|pair| pair[0] < pair[1]);
    let within = list.iter().all(|s| (1..=keeping.sweeps).contains(s));
    let needed = format!(
        "sweeps in ascending order, each from 1 to {}",
        keeping.sweeps
    );
    let given = format!("{list:?}");
    settings.check(ascending && within, "checkpoints", given, &needed)?;
    Ok(keeping)
}

impl Recipe for ChainPlan {
    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        put(&mut fields, "kernel", self.settings.kernel);
        put(&mut fields, "order", self.settings.order);
        match &self.heat {
            Heat::Schedule(Schedule::Constant(tau)) => put(&mut fields, "tau", tau),
            Heat::Schedule(schedule) => put(&mut fields, "anneal", schedule),
            Heat::Ladder(ladder) => put(&mut fields, "ladder", ladder),
        }
        let keeping = &self.keeping;
        put(&mut fields, "sweeps", keeping.sweeps);
        put(&mut fields, "stationary_after", keeping.stationary());
        put_some(
            &mut fields,
            "stop_when_stationary",
            keeping.stop_when_stationary,
        );
        put(&mut fields, "stop_at_optimum", keeping.stop_at_optimum);
        let start = self.start.as_ref().map(std::slice::from_ref);
        put_some(&mut fields, "start", start.map(code_digest));
        put_some(&mut fields, "prior", self.prior.as_ref().map(policy_digest));
        fields
    }

    fn together(&self) -> u64 {
        match self.heat {
            Heat::Schedule(_) => Chains::needs(&self.class, self.settings.order).0 as u64,
            Heat::Ladder(_) => 1,
        }
    }

    fn steps(&self) -> u64 {
        self.keeping.sweeps
    }

    fn bytes(&self) -> Option<u128> {
        match &self.heat {
            Heat::Schedule(_) => Chains::needs(&self.class, self.settings.order).1,
            Heat::Ladder(ladder) => {
                Tempering::bytes(&self.class, self.settings.order, ladder.len())
            }
        }
    }

    fn kept(&self, cells: u128, q: u128) -> u128 {
        let keeping = &self.keeping;
        let trace = keeping
            .record_every
            .map_or(0, |every| keeping.sweeps / every);
        let code = if keeping.code { cells } else { 0 };
        let marginals = if keeping.marginals { cells * q } else { 0 };
        u128::from(trace) + code + marginals
    }

    fn begin(
        &self,
        streams: Streams,
        allowance: Allowance,
    ) -> Result<Box<dyn RunningUnit>, String> {
        let count = (streams.numbers.end - streams.numbers.start) as usize;
        let walkers = match (&self.heat, &self.start) {
            (Heat::Ladder(ladder), _) => {
                let ladder = self.tempering(ladder, &streams, allowance)?.start();
                Walkers::Ladder(Box::new(ladder.map_err(|error| error.to_string())?))
            }
            (Heat::Schedule(_), start) => {
                let chains = self.chains(&streams, allowance)?;
                let chains = match start {
                    None => chains.start(),
                    Some(code) => chains.start_at(vec![code.clone(); count]),
                };
                Walkers::Chains(Box::new(chains.map_err(|error| error.to_string())?))
            }
        };
        let places = match &self.heat {
            Heat::Schedule(_) => count,
            Heat::Ladder(ladder) => ladder.len(),
        };
        let denominator = walkers.denominator();
        let walk = |place| Walk::new(&self.keeping, walkers.reward(place), denominator);
        let mut progress = ChainUnit {
            plan: self.clone(),
            walks: (0..places).map(walk).collect(),
            walkers,
            done: 0,
        };
        progress.keep_codes();
        Ok(Box::new(progress))
    }

    fn resume(
        &self,
        streams: Streams,
        state: &[u8],
        allowance: Allowance,
    ) -> Result<Box<dyn RunningUnit>, String> {
        let saved: SavedChains = postcard::from_bytes(state).map_err(|error| error.to_string())?;
        let walkers = match (&self.heat, saved.state) {
            (Heat::Ladder(ladder), WalkerState::Ladder(state)) => {
                let ladder = self.tempering(ladder, &streams, allowance)?;
                let ladder = ladder.resume(&state);
                Walkers::Ladder(Box::new(ladder.map_err(|error| error.to_string())?))
            }
            (Heat::Schedule(_), WalkerState::Chains(state)) => {
                let chains = self.chains(&streams, allowance)?.resume(&state);
                Walkers::Chains(Box::new(chains.map_err(|error| error.to_string())?))
            }
            _ => return Err("the state is of another kind of chain".to_owned()),
        };
        let mut walks = saved.walks;
        // More sweeps may be asked for now than were when it was saved.
        for walk in &mut walks {
            walk.take_up(&self.keeping, walkers.denominator());
        }
        Ok(Box::new(ChainUnit {
            plan: self.clone(),
            walkers,
            walks,
            done: saved.done,
        }))
    }
}

impl ChainPlan {
    fn chains(&self, streams: &Streams, allowance: Allowance) -> Result<ChainsBuilder<'_>, String> {
        let chains = Chains::builder(&self.class, self.settings)
            .seed(streams.seed)
            .numbers(streams.numbers.clone())
            .within(allowance);
        match &self.prior {
            None => Ok(chains),
            Some(prior) => chains.prior(prior).map_err(|error| error.to_string()),
        }
    }

    fn tempering<'a>(
        &'a self,
        ladder: &'a [f64],
        streams: &Streams,
        allowance: Allowance,
    ) -> Result<TemperingBuilder<'a>, String> {
        let tempering = Tempering::builder(&self.class, self.settings, ladder)
            .seed(streams.seed)
            .number(streams.numbers.start)
            .within(allowance);
        match &self.prior {
            None => Ok(tempering),
            Some(prior) => tempering.prior(prior).map_err(|error| error.to_string()),
        }
    }
}
