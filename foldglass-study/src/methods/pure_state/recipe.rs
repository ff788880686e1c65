//! Reads the settings of kind `pure-state`, and says where its runs start.

use std::ops::Range;

use foldglass::dynamics::cavi::{Rule, Runs};
use foldglass::dynamics::chain::{self, Chains, Kernel, Order, random_code};
use foldglass::gibbs::fixed_points::Activity;
use foldglass::gibbs::marginals::{MOST_ACTIONS, Trajectories};
use foldglass::{Allowance, Class, Code, Stream};

use super::super::shared::{code_digest, source};
use super::PureStateUnit;
use crate::method::{
    Accepts, Fields, Headline, Method, MethodSettings, Recipe, RunningUnit, Setting, SettingError,
    Streams, number_name, put, put_some,
};
use crate::tables::Tables;

/// Kind `pure-state`.
pub struct PureStates;

/// The settings of pure states.
pub const SETTINGS: &[Setting] = &[
    Setting::new("tau", Accepts::Temperature, "The temperature, above 0"),
    Setting::new("sweeps", Accepts::Count, "Sweeps of each replica"),
    Setting::new(
        "replicas",
        Accepts::Count,
        "Chains from the start of a run, of which its state is read off",
    )
    .default("1"),
    Setting::new(
        "iterations",
        Accepts::Natural,
        "Iterations of CAVI from the marginals",
    ),
    Setting::new(
        "kernel",
        Accepts::Words,
        "How a cell is resampled: metropolis or heat-bath",
    )
    .default("metropolis"),
    Setting::new(
        "order",
        Accepts::Words,
        "The order of a sweep: step, forward or cell [default: the one that is exact]",
    ),
    Setting::new(
        "active",
        Accepts::Words,
        "Which cells count as active: those whose marginals are mixed, or those that are reached",
    ),
    Setting::new(
        "start",
        Accepts::Words,
        "A file of codes: run n starts at the n-th [default: random codes]",
    )
    .earlier(&["starts"]),
];

/// What runs of one point do.
#[derive(Clone)]
pub(super) struct PureStatePlan {
    pub class: Class,
    pub chain: chain::ChainSettings,
    pub tau: f64,
    pub sweeps: u64,
    pub replicas: usize,
    pub iterations: usize,
    pub activity: Activity,
    /// The codes that runs start at, by their numbers; random ones where there are none.
    starts: Option<Vec<Code>>,
}

/// Streams that random starts are drawn from are numbered from here.
const START_STREAMS: u64 = 1 << 60;

impl Method for PureStates {
    fn kind(&self) -> &'static str {
        "pure-state"
    }

    fn headline(&self) -> Headline {
        Headline {
            value: "mean_reward",
            exact: None,
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
        let kernel: Kernel = settings.need("kernel")?;
        let order = settings.or("order", Order::of(class))?;
        let tau: f64 = settings.need("tau")?;
        settings.check(tau > 0.0, "tau", number_name(tau), "a number above 0")?;
        let plan = PureStatePlan {
            class: class.clone(),
            chain: chain::ChainSettings::new(kernel, order),
            tau,
            sweeps: settings.need("sweeps")?,
            replicas: settings.need("replicas")?,
            iterations: settings.need("iterations")?,
            activity: settings.or("active", Activity::Mixed)?,
            starts: starts(class, &settings)?,
        };
        if class.q() > MOST_ACTIONS {
            let needed = format!("a class of at most {MOST_ACTIONS} symbols");
            return Err(SettingError::needs("kind", "\"pure-state\"", &needed));
        }
        Ok(Box::new(plan))
    }
}

/// The codes of a file: run n starts at the n-th.
fn starts(class: &Class, settings: &MethodSettings<'_>) -> Result<Option<Vec<Code>>, SettingError> {
    let Some(name) = settings.get::<String>("start")? else {
        return Ok(None);
    };
    let read = Tables::codes(&source(settings, &name)).and_then(|tables| tables.as_codes(class));
    read.map(Some)
        .map_err(|error| SettingError::of("start", format!("start: {error}")))
}

impl PureStatePlan {
    /// Where a run starts.
    pub fn start(&self, seed: u64, number: u64) -> Result<Code, String> {
        let Some(codes) = &self.starts else {
            let mut stream = Stream::new(seed, START_STREAMS + number);
            return Ok(random_code(&self.class, &mut stream));
        };
        let code = usize::try_from(number).ok().and_then(|n| codes.get(n));
        code.cloned().ok_or_else(|| {
            let last = codes.len() - 1;
            format!("run {number} has no start: `start` holds the codes #0 to #{last}")
        })
    }

    /// The streams of a run's replicas, those that share vectors together.
    pub fn groups(&self, number: u64) -> impl Iterator<Item = Range<u64>> {
        let together = self.together_in_chains() as u64;
        let replicas = self.replicas as u64;
        let first = number * replicas.next_multiple_of(together);
        let starts = (first..first + replicas).step_by(together as usize);
        starts.map(move |start| start..(start + together).min(first + replicas))
    }

    fn together_in_chains(&self) -> usize {
        Chains::needs(&self.class, self.chain.order).0
    }
}

impl Recipe for PureStatePlan {
    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        put(&mut fields, "kernel", self.chain.kernel);
        put(&mut fields, "order", self.chain.order);
        put(&mut fields, "tau", self.tau);
        put(&mut fields, "sweeps", self.sweeps);
        put(&mut fields, "replicas", self.replicas);
        put(&mut fields, "iterations", self.iterations);
        put(&mut fields, "active", self.activity);
        put_some(
            &mut fields,
            "start",
            self.starts.as_deref().map(code_digest),
        );
        fields
    }

    fn together(&self) -> u64 {
        1
    }

    fn steps(&self) -> u64 {
        self.sweeps + self.iterations as u64
    }

    fn bytes(&self) -> Option<u128> {
        let (together, each) = Chains::needs(&self.class, self.chain.order);
        let chains = each?.checked_mul(self.replicas.div_ceil(together) as u128)?;
        let kept = Trajectories::bytes(self.class.cells(), self.replicas, self.sweeps)?;
        let cavi = Runs::bytes(&self.class, Rule::PAPER)?.checked_mul(2)?;
        chains.checked_add(kept)?.checked_add(cavi)
    }

    fn kept(&self, _: u128, _: u128) -> u128 {
        self.replicas as u128
    }

    fn begin(
        &self,
        streams: Streams,
        allowance: Allowance,
    ) -> Result<Box<dyn RunningUnit>, String> {
        Ok(Box::new(PureStateUnit::begin(self, streams, allowance)?))
    }

    fn resume(
        &self,
        streams: Streams,
        state: &[u8],
        allowance: Allowance,
    ) -> Result<Box<dyn RunningUnit>, String> {
        Ok(Box::new(PureStateUnit::resume(
            self, streams, state, allowance,
        )?))
    }
}
