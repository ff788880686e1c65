//! Reads a pure state off replicas of a chain: equilibration, agreement, thinned draws (paper, G.2).
//!
//! Replicas start at one code and are swept alike. A [`PureState`] is what they say together: which
//! of them escaped, when the reward is in equilibrium, how slowly cells forget, and weakly correlated
//! [`Draws`], from which marginals are counted.
//!
//! **Letters.** S is the number of sweeps, t_eq the equilibration time, tau_c the integrated
//! autocorrelation time of a cell's one-hot action.

mod draws;
mod memory;

pub use draws::{Correlations, Draws, Halves};
pub use memory::one_hot_time;

use crate::model::policy::Code;
use crate::support::stats::{Autocorrelation, mean_with_error};
use crate::support::stream::Stream;

/// The most actions that a cell may have: draws are kept as bytes.
pub const MOST_ACTIONS: usize = 256;

/// The codes of all replicas of a chain, sweep by sweep.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(schemars::JsonSchema, serde::Serialize, serde::Deserialize)
)]
pub struct Trajectories {
    q: usize,
    cells: usize,
    /// By replica: J after each sweep.
    rewards: Vec<Vec<f64>>,
    /// By replica: the code after each sweep, one behind the other.
    actions: Vec<Vec<u8>>,
}

impl Trajectories {
    /// Empty trajectories of codes with this number of cells of q actions.
    ///
    /// # Panics
    /// If there are more actions than a byte tells apart.
    pub fn new(q: usize, cells: usize, replicas: usize) -> Trajectories {
        assert!(q <= MOST_ACTIONS, "{q} actions of at most {MOST_ACTIONS}");
        Trajectories {
            q,
            cells,
            rewards: vec![Vec::new(); replicas],
            actions: vec![Vec::new(); replicas],
        }
    }

    /// The bytes of this number of sweeps, and of the draws made from them.
    pub fn bytes(cells: usize, replicas: usize, sweeps: u64) -> Option<u128> {
        let all = u128::from(sweeps).checked_mul(replicas as u128)?;
        all.checked_mul(2 * cells as u128 + 8)
    }

    /// Adds where a replica is after a sweep.
    pub fn push(&mut self, replica: usize, reward: f64, code: &Code) {
        assert_eq!(code.actions().len(), self.cells, "a code of the class");
        self.rewards[replica].push(reward);
        let actions = code.actions().iter().map(|&action| action as u8);
        self.actions[replica].extend(actions);
    }

    /// The replicas.
    pub fn replicas(&self) -> usize {
        self.rewards.len()
    }

    /// S.
    pub fn sweeps(&self) -> usize {
        self.rewards.first().map_or(0, Vec::len)
    }

    /// The mean of J over some replicas, sweep by sweep.
    fn mean_rewards(&self, replicas: &[usize]) -> Vec<f64> {
        let mean = |sweep: usize| {
            let sum: f64 = replicas.iter().map(|&r| self.rewards[r][sweep]).sum();
            sum / replicas.len() as f64
        };
        (0..self.sweeps()).map(mean).collect()
    }

    /// The actions of a cell in some replicas, from a sweep on.
    fn series(&self, cell: usize, replicas: &[usize], from: usize) -> Vec<Vec<u8>> {
        let of = |&replica: &usize| {
            let codes = self.actions[replica].chunks_exact(self.cells);
            codes.skip(from).map(|code| code[cell]).collect()
        };
        replicas.iter().map(of).collect()
    }
}

/// When the mean of a series is that of its last quarter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equilibration {
    /// t_eq, the first number of values to leave out.
    pub time: usize,
    /// The mean of the values after them.
    pub mean: f64,
}

/// Rounding of means is not taken for a change.
const ROUNDING: f64 = 1e-12;

/// The first t such that the mean of the values after t agrees with that of the last quarter within
/// two standard errors of the latter, correlations included.
///
/// Where the last quarter is too short for its own memory, it counts as one draw: its standard
/// deviation is its error.
///
/// # Panics
/// If there are no values.
pub fn equilibration(series: &[f64]) -> Equilibration {
    let n = series.len();
    let last = &series[n - n.div_ceil(4)..];
    let estimate = mean_with_error(last);
    let error = match estimate.time {
        Autocorrelation::Frozen => 0.0,
        Autocorrelation::Time { .. } => estimate.error.unwrap_or(0.0),
        Autocorrelation::TooShort { .. } => {
            let square: f64 = last.iter().map(|x| (x - estimate.mean).powi(2)).sum();
            (square / last.len() as f64).sqrt()
        }
    };
    // Measured from the last value, so that the mean of a reward that is held is that reward.
    let held = series[n - 1];
    let mut sum: f64 = series.iter().map(|value| value - held).sum();
    for (time, value) in series.iter().enumerate() {
        let mean = held + sum / (n - time) as f64;
        if (mean - estimate.mean).abs() <= 2.0 * error + ROUNDING {
            return Equilibration { time, mean };
        }
        sum -= value - held;
    }
    unreachable!("the last quarter agrees with itself")
}

/// The conditions under which replicas are a finite-temperature trap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Replicas with a mean reward of at least this are discarded.
    pub escaped: f64,
    /// The reward is held for this many equilibration times.
    pub hold: usize,
    /// The overlap of two halves of the replicas is at most this below that of random halves.
    pub slack: f64,
    /// Random partitions of the draws into halves.
    pub partitions: usize,
}

impl Rules {
    /// The paper's.
    pub const PAPER: Rules = Rules {
        escaped: 0.99,
        hold: 3,
        slack: 0.02,
        partitions: 20,
    };
}

/// Whether replicas are a finite-temperature trap, and why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrapStanding {
    /// They are.
    Trap,
    /// All of them escaped.
    Escaped,
    /// All but one escaped, so that none is left to agree with it.
    Alone,
    /// The reward is not held for long enough.
    Unsettled,
    /// Their marginals differ.
    Disagree,
}

crate::named_enum!(TrapStanding {
    "trap" => Trap,
    "escaped" => Escaped,
    "alone" => Alone,
    "unsettled" => Unsettled,
    "disagree" => Disagree,
});

/// How alike the marginals of replicas are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplicaAgreement {
    /// The overlap coefficient between two halves of the replicas, averaged over moving cells.
    pub replicas: f64,
    /// The coefficient between random halves of the draws, averaged likewise.
    pub random: f64,
}

/// A pure state, as replicas of a chain show it.
#[derive(Debug, Clone, PartialEq)]
pub struct PureState {
    /// Whether it is a finite-temperature trap.
    pub standing: TrapStanding,
    /// By replica: its mean reward in equilibrium.
    pub rewards: Vec<f64>,
    /// The replicas that are kept.
    pub kept: Vec<usize>,
    /// t_eq of their mean reward.
    pub equilibration: usize,
    /// By cell: whether some kept replica changes it after t_eq.
    pub moving: Vec<bool>,
    /// The slowest tau_c; none where no cell moves.
    pub slowest: Option<f64>,
    /// Moving cells that remember too long for their tau_c to be known.
    pub unresolved: usize,
    /// The number of sweeps from one draw to the next.
    pub thinning: usize,
    /// How alike the replicas are; none where there is one.
    pub agreement: Option<ReplicaAgreement>,
    /// The draws.
    pub draws: Draws,
    /// Random partitions of them.
    pub halves: Vec<Halves>,
}

impl PureState {
    /// Reads the state off trajectories; partitions are drawn from `stream`.
    ///
    /// # Panics
    /// If there are no replicas or no sweeps.
    pub fn of(trajectories: &Trajectories, rules: &Rules, stream: &mut Stream) -> PureState {
        let all: Vec<usize> = (0..trajectories.replicas()).collect();
        let mean = |&replica: &usize| equilibration(&trajectories.rewards[replica]).mean;
        let rewards: Vec<f64> = all.iter().map(mean).collect();
        let stays = |&replica: &usize| rewards[replica] < rules.escaped;
        let kept: Vec<usize> = all.iter().copied().filter(stays).collect();
        // Of replicas that all escaped, the state they escaped to is described.
        let described = if kept.is_empty() { &all } else { &kept };
        let time = equilibration(&trajectories.mean_rewards(described)).time;
        let memory = memory::of_cells(trajectories, described, time);
        let draws = Draws::thinned(trajectories, described, time, memory.thinning);
        let halves: Vec<Halves> = (0..rules.partitions)
            .map(|_| Halves::random(draws.len(), stream))
            .collect();
        let agreement = (described.len() > 1).then(|| agreement(&draws, &halves, &memory.moving));
        let held = trajectories.sweeps() - time >= rules.hold * time;
        let standing = match agreement {
            _ if kept.is_empty() => TrapStanding::Escaped,
            None if all.len() > 1 => TrapStanding::Alone,
            _ if !held => TrapStanding::Unsettled,
            Some(found) if found.replicas < found.random - rules.slack => TrapStanding::Disagree,
            _ => TrapStanding::Trap,
        };
        PureState {
            standing,
            rewards,
            equilibration: time,
            moving: memory.moving,
            slowest: memory.slowest,
            unresolved: memory.unresolved,
            thinning: memory.thinning,
            agreement,
            draws,
            halves,
            kept,
        }
    }
}

/// The overlap of two halves of the replicas, and of random halves of the draws.
fn agreement(draws: &Draws, halves: &[Halves], moving: &[bool]) -> ReplicaAgreement {
    let cells: Vec<usize> = (0..moving.len()).filter(|&cell| moving[cell]).collect();
    let by_replica = Halves::by_replica(draws);
    let random = halves.iter().map(|half| draws.overlap(half, &cells));
    ReplicaAgreement {
        replicas: draws.overlap(&by_replica, &cells),
        random: random.sum::<f64>() / halves.len().max(1) as f64,
    }
}
