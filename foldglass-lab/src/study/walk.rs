//! Keeps what a record needs of a chain's path: J after every sweep, and where it stops.

use dashu_int::UBig;
use foldglass::count::Exact;
use foldglass::quasigroup::Symbol;
use serde::{Deserialize, Serialize};

use super::method::Chain;
use super::record::{ChainOutcome, Checkpoint};

/// A chain's J so far, as numerators.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Walk {
    reward: u128,
    /// Sweeps done.
    sweeps: usize,
    last_change: usize,
    optimum: Option<usize>,
    stopped: bool,
    /// The sum over the sweeps of the second half, in bytes from the least on: numerators of up to
    /// 127 bits leave a machine integer no room for it.
    late: Vec<u8>,
    /// J after the checkpoints that are past.
    marks: Vec<u128>,
    /// The last code, kept where it is asked for.
    code: Option<Vec<Symbol>>,
}

impl Walk {
    /// At a chain's first code.
    pub fn new(method: &Chain, reward: u128, denominator: u128) -> Walk {
        let mut walk = Walk {
            reward,
            sweeps: 0,
            last_change: 0,
            optimum: None,
            stopped: false,
            late: Vec::new(),
            marks: Vec::new(),
            code: None,
        };
        walk.look(method, denominator);
        walk
    }

    /// Whether the chain has stopped: what it does afterwards, beside chains that go on, is not its
    /// own.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// Keeps the chain's code once it has stopped.
    pub fn keep(&mut self, code: impl FnOnce() -> Vec<Symbol>) {
        if self.stopped && self.code.is_none() {
            self.code = Some(code());
        }
    }

    /// Notes J after one more sweep.
    pub fn note(&mut self, method: &Chain, reward: u128, denominator: u128) {
        if self.stopped {
            return;
        }
        self.sweeps += 1;
        if reward != self.reward {
            (self.reward, self.last_change) = (reward, self.sweeps);
        }
        if self.sweeps > method.sweeps / 2 {
            self.late = (UBig::from_le_bytes(&self.late) + reward)
                .to_le_bytes()
                .into();
        }
        if method.checkpoints.contains(&self.sweeps) {
            self.marks.push(reward);
        }
        self.look(method, denominator);
    }

    fn look(&mut self, method: &Chain, denominator: u128) {
        let optimal = self.reward == denominator;
        if optimal && self.optimum.is_none() {
            self.optimum = Some(self.sweeps);
        }
        let unchanged = self.sweeps - self.last_change;
        self.stopped = self.sweeps == method.sweeps
            || method
                .stop_when_stationary
                .is_some_and(|sweeps| unchanged >= sweeps)
            || method.stop_at_optimum && optimal;
    }

    /// What the chain came to.
    pub fn outcome(&self, method: &Chain, denominator: u128) -> ChainOutcome {
        let exact = |num: UBig, den: UBig| Exact { num, den };
        let reward = |num: u128| exact(num.into(), denominator.into());
        let half = method.sweeps / 2;
        let undone = method.sweeps - self.sweeps.max(half);
        let sum = UBig::from_le_bytes(&self.late) + UBig::from(self.reward) * UBig::from(undone);
        let mean = exact(
            sum,
            UBig::from(denominator) * UBig::from(method.sweeps - half),
        );
        let marks = self
            .marks
            .iter()
            .copied()
            .chain(std::iter::repeat(self.reward));
        let checkpoint = |(&sweep, mark): (&usize, u128)| Checkpoint {
            sweep,
            reward_exact: reward(mark).to_string(),
            reward: reward(mark).to_f64(),
        };
        let stationary = self.sweeps - self.last_change >= method.stationary();
        ChainOutcome {
            reward_exact: reward(self.reward).to_string(),
            reward: reward(self.reward).to_f64(),
            mean_reward: mean.to_f64(),
            sweeps: self.sweeps,
            last_change: self.last_change,
            sweeps_to_stationary: stationary.then_some(self.last_change),
            sweeps_to_optimum: self.optimum,
            checkpoints: method
                .checkpoints
                .iter()
                .zip(marks)
                .map(checkpoint)
                .collect(),
            actions: self.code.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::chain::Kernel;

    fn method(sweeps: usize) -> Chain {
        Chain {
            kernel: Kernel::Metropolis,
            order: None,
            sweeps,
            checkpoints: vec![2, 5],
            stop_when_stationary: None,
            stop_at_optimum: false,
            keep_code: false,
        }
    }

    /// What a path of numerators over 10 comes to, its first the one before all sweeps.
    fn outcome(method: &Chain, path: &[u128]) -> ChainOutcome {
        let mut walk = Walk::new(method, path[0], 10);
        path[1..]
            .iter()
            .for_each(|&reward| walk.note(method, reward, 10));
        assert!(walk.stopped());
        walk.outcome(method, 10)
    }

    #[test]
    fn a_whole_path_is_summed_up() {
        let end = outcome(&method(6), &[1, 2, 3, 3, 10, 9, 9]);
        assert_eq!((&end.reward_exact[..], end.reward), ("9/10", 0.9));
        assert_eq!(end.mean_reward, 28.0 / 30.0);
        assert_eq!((end.sweeps, end.last_change), (6, 5));
        assert_eq!(
            (end.sweeps_to_optimum, end.sweeps_to_stationary),
            (Some(4), None)
        );
        let marks: Vec<(usize, &str)> = end
            .checkpoints
            .iter()
            .map(|c| (c.sweep, &c.reward_exact[..]))
            .collect();
        assert_eq!(marks, [(2, "3/10"), (5, "9/10")]);
    }

    #[test]
    fn a_chain_that_stops_keeps_its_last_reward() {
        let stationary = Chain {
            stop_when_stationary: Some(2),
            ..method(8)
        };
        let end = outcome(&stationary, &[1, 4, 4, 4, 7, 7]);
        assert_eq!(
            (end.sweeps, end.last_change, end.sweeps_to_stationary),
            (3, 1, Some(1))
        );
        assert_eq!((end.reward, end.mean_reward), (0.4, 0.4));
        assert_eq!(end.checkpoints[1].reward_exact, "2/5");
        let optimum = Chain {
            stop_at_optimum: true,
            ..method(8)
        };
        let end = outcome(&optimum, &[1, 4, 4, 4, 4, 4, 10, 3]);
        assert_eq!(
            (end.sweeps, end.sweeps_to_optimum, end.sweeps_to_stationary),
            (6, Some(6), None)
        );
        assert_eq!(end.mean_reward, (4.0 + 10.0 + 10.0 + 10.0) / 40.0);
        assert_eq!(outcome(&optimum, &[10, 3]).sweeps, 0);
    }
}
