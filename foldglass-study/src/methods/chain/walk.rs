//! Keeps what a record needs of a chain's path: J after every sweep, and where it stops.

use foldglass::support::exact::UBig;
use foldglass::{Code, Reward};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Keeping;

/// A chain's J so far, as numerators.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Walk {
    reward: u128,
    /// Sweeps done.
    pub sweeps: u64,
    pub last_change: u64,
    pub optimum: Option<u64>,
    stopped: bool,
    /// The sum over the sweeps of the second half, in bytes from the least on: numerators of up to
    /// 127 bits leave a machine integer no room for it.
    late: Vec<u8>,
    /// J after the checkpoints that are past.
    marks: Vec<u128>,
    /// J at the recorded sweeps, where it is recorded.
    pub trace: Vec<u128>,
    /// By cell and action, how often the second half had it, where that is kept.
    pub counts: Vec<u64>,
    /// The last code, kept where it is asked for.
    pub code: Option<Vec<u16>>,
}

impl Walk {
    /// At a chain's first code.
    pub fn new(keeping: &Keeping, reward: u128, denominator: u128) -> Walk {
        let mut walk = Walk {
            reward,
            sweeps: 0,
            last_change: 0,
            optimum: None,
            stopped: false,
            late: Vec::new(),
            marks: Vec::new(),
            trace: Vec::new(),
            counts: Vec::new(),
            code: None,
        };
        walk.look(keeping, denominator);
        walk
    }

    /// Goes on with a chain, of which more sweeps may be asked for than when it was saved.
    pub fn take_up(&mut self, keeping: &Keeping, denominator: u128) {
        self.look(keeping, denominator);
        if !self.stopped {
            self.code = None;
        }
    }

    /// Whether the chain has stopped: its later sweeps, beside chains that continue, are not its
    /// own.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// Notes J and the code after one more sweep.
    pub fn note(&mut self, keeping: &Keeping, reward: u128, denominator: u128, code: &Code) {
        if self.stopped {
            return;
        }
        self.sweeps += 1;
        if reward != self.reward {
            (self.reward, self.last_change) = (reward, self.sweeps);
        }
        if self.sweeps > keeping.sweeps / 2 {
            self.late = (UBig::from_le_bytes(&self.late) + reward)
                .to_le_bytes()
                .into();
            self.count(keeping, code);
        }
        if keeping.checkpoints.contains(&self.sweeps) {
            self.marks.push(reward);
        }
        if keeping
            .record_every
            .is_some_and(|every| self.sweeps.is_multiple_of(every))
        {
            self.trace.push(reward);
        }
        self.look(keeping, denominator);
    }

    fn count(&mut self, keeping: &Keeping, code: &Code) {
        if !keeping.marginals {
            return;
        }
        let q = code.class().q();
        self.counts.resize(code.actions().len() * q, 0);
        for (cell, &action) in code.actions().iter().enumerate() {
            self.counts[cell * q + action as usize] += 1;
        }
    }

    fn look(&mut self, keeping: &Keeping, denominator: u128) {
        let optimal = self.reward == denominator;
        if optimal && self.optimum.is_none() {
            self.optimum = Some(self.sweeps);
        }
        let unchanged = self.sweeps - self.last_change;
        let stationary = |sweeps: u64| unchanged >= sweeps;
        self.stopped = self.sweeps == keeping.sweeps
            || keeping.stop_when_stationary.is_some_and(stationary)
            || keeping.stop_at_optimum && optimal;
    }

    /// J of the last code.
    pub fn reward(&self, denominator: u128) -> Reward {
        Reward::new(self.reward, denominator)
    }

    /// The mean of J over the second half of the sweeps. A chain that stopped keeps its last J for
    /// those it did not do.
    pub fn mean(&self, keeping: &Keeping, denominator: u128) -> f64 {
        let half = keeping.sweeps / 2;
        let undone = keeping.sweeps - self.sweeps.max(half);
        let sum = UBig::from_le_bytes(&self.late) + UBig::from(self.reward) * UBig::from(undone);
        let weight = UBig::from(denominator) * UBig::from(keeping.sweeps - half);
        Reward::new(sum, weight).to_f64()
    }

    /// The sweep that changed J last, where J then was stationary.
    pub fn stationary(&self, keeping: &Keeping) -> Option<u64> {
        let stationary = self.sweeps - self.last_change >= keeping.stationary();
        stationary.then_some(self.last_change)
    }

    /// J after each checkpoint; a chain that stopped before keeps its last.
    pub fn marks(&self, keeping: &Keeping, denominator: u128) -> Vec<Checkpoint> {
        let last = std::iter::repeat(self.reward);
        let marks = self.marks.iter().copied().chain(last);
        let one = |(&sweep, mark): (&u64, u128)| {
            let reward = Reward::new(mark, denominator);
            Checkpoint {
                sweep,
                reward: reward.to_f64(),
                reward_exact: reward,
            }
        };
        keeping.checkpoints.iter().zip(marks).map(one).collect()
    }
}

/// J after a sweep.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Checkpoint {
    sweep: u64,
    reward: f64,
    reward_exact: Reward,
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::{ClassSpec, Operation, Shape};

    fn keeping(sweeps: u64) -> Keeping {
        Keeping {
            sweeps,
            checkpoints: vec![2, 5],
            ..Keeping::default()
        }
    }

    /// What a path of numerators over 10 comes to, its first the one before all sweeps.
    fn walk(keeping: &Keeping, path: &[u128]) -> Walk {
        let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[1], Shape::untied(0, 0));
        let class = spec.lay_out().unwrap();
        let code = Code::from_fn(&class, |_| 0);
        let mut walk = Walk::new(keeping, path[0], 10);
        path[1..]
            .iter()
            .for_each(|&reward| walk.note(keeping, reward, 10, &code));
        assert!(walk.stopped());
        walk
    }

    fn marks(walk: &Walk, keeping: &Keeping) -> Vec<(u64, String)> {
        let marks = walk.marks(keeping, 10);
        marks
            .iter()
            .map(|m| (m.sweep, m.reward_exact.to_string()))
            .collect()
    }

    #[test]
    fn a_whole_path_is_summed_up() {
        let keeping = keeping(6);
        let end = walk(&keeping, &[1, 2, 3, 3, 10, 9, 9]);
        assert_eq!(end.reward(10).to_string(), "9/10");
        assert_eq!(end.mean(&keeping, 10), 28.0 / 30.0);
        assert_eq!((end.sweeps, end.last_change, end.optimum), (6, 5, Some(4)));
        assert_eq!(end.stationary(&keeping), None);
        assert_eq!(
            marks(&end, &keeping),
            [(2, "3/10".into()), (5, "9/10".into())]
        );
    }

    #[test]
    fn a_chain_that_stops_keeps_its_last_reward() {
        let stationary = Keeping {
            stop_when_stationary: Some(2),
            ..keeping(8)
        };
        let end = walk(&stationary, &[1, 4, 4, 4, 7, 7]);
        assert_eq!((end.sweeps, end.last_change), (3, 1));
        assert_eq!(end.stationary(&stationary), Some(1));
        assert_eq!(
            (end.reward(10).to_f64(), end.mean(&stationary, 10)),
            (0.4, 0.4)
        );
        assert_eq!(marks(&end, &stationary)[1].1, "2/5");
        let optimum = Keeping {
            stop_at_optimum: true,
            ..keeping(8)
        };
        let end = walk(&optimum, &[1, 4, 4, 4, 4, 4, 10, 3]);
        assert_eq!((end.sweeps, end.optimum), (6, Some(6)));
        assert_eq!(end.mean(&optimum, 10), (4.0 + 10.0 + 10.0 + 10.0) / 40.0);
        assert_eq!(walk(&optimum, &[10, 3]).sweeps, 0);
    }
}
