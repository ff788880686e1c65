//! Counts the rewards of codes whose denominator passes 126 bits, in integers of any size (paper, App. A).
//!
//! alpha and beta of all steps are computed anew when a reward is asked for after a change. In an untied
//! class they give the reward of every single-cell change; in a tied one each change takes a forward pass.

use super::places::{GroupPlace, places};
use super::steps::{Passage, Step, Steps};
use super::{CountError, RewardCounter, forward};
use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::support::memory::Allowance;
use dashu_int::UBig;
use dashu_int::ops::BitTest;

/// A code and its exact reward, at any denominator.
///
/// ```
/// use foldglass::reward::count::{RewardCounter, WideCounter};
/// use foldglass::{Allowance, ClassSpec, Code, Operation, Reward, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[200], Shape::untied(0, 0));
/// let fold = Code::fold(&spec.lay_out().unwrap());
/// let mut counter = WideCounter::within(fold, Allowance::default()).unwrap();
/// let mut rewards = vec![Default::default(); 2];
/// counter.rewards(0, &mut rewards);
/// let denominator = counter.denominator();
/// let share = |n: usize| Reward::new(rewards[n].clone(), denominator.clone()).to_string();
/// assert_eq!((share(0), share(1)), ("1/1".to_owned(), "1/2".to_owned()));
/// ```
pub struct WideCounter {
    code: Code,
    denominator: UBig,
    steps: Steps<UBig>,
    places: Vec<GroupPlace>,
    /// By node: the places of right tokens, where they are rewarded.
    right: Vec<Vec<usize>>,
    /// By place: the weight of the rollouts that reach it, and what those from there on earn. Empty while
    /// they are not those of the code.
    alpha: Vec<UBig>,
    beta: Vec<UBig>,
    /// The numerator of J, where it is that of the code.
    reward: Option<UBig>,
}

/// The bytes it takes; none from 2^128 on.
pub(super) fn bytes(class: &Class) -> Option<u128> {
    let number = size_of::<UBig>() as u128 + class.task().denominator().bit_len() as u128 / 8 + 8;
    let numbers = Steps::<UBig>::size(class)?.checked_mul(2 * number)?;
    let passages =
        Steps::<UBig>::windows(class).checked_mul(size_of::<Passage<UBig>>() as u128 + number)?;
    let cells = class.cells() as u128 * (size_of::<GroupPlace>() + size_of::<Symbol>()) as u128;
    numbers.checked_add(passages)?.checked_add(cells)
}

impl WideCounter {
    /// Where the rollouts of a passage come from, and where they go with token 0.
    fn ends(
        &self,
        n: usize,
        step: &Step<UBig>,
        passage: &Passage<UBig>,
        h: usize,
    ) -> (usize, usize) {
        let (read, written) = (&self.steps.messages[step.reads], self.steps.written(n));
        let to = written.place(step.target(passage, h)) + passage.offset as usize;
        (read.place(passage.from as usize + h), to)
    }

    /// Calls `take` with every place of node `n` that leads somewhere, the place it leads to, and the weight.
    fn each_flow(&self, n: usize, mut take: impl FnMut(usize, usize, &UBig)) {
        let (step, width) = (&self.steps.steps[n], self.steps.written(n).width);
        for passage in step.passages.iter().filter(|p| p.weight != UBig::ZERO) {
            for h in 0..step.histories.0 {
                let (from, to) = self.ends(n, step, passage, h);
                let token = self.code.action(passage.cell as usize + h) as usize;
                for (i, &e) in self.steps.moves(step, passage).iter().enumerate() {
                    take(from + i, to + token * width + e as usize, &passage.weight);
                }
            }
        }
    }

    /// Computes alpha and beta of the code, where they are not there.
    fn refresh(&mut self) {
        if !self.alpha.is_empty() {
            return;
        }
        let size = self
            .steps
            .messages
            .last()
            .map_or(0, |message| message.end());
        let (mut alpha, mut beta) = (vec![UBig::ZERO; size], vec![UBig::ZERO; size]);
        alpha[0] = UBig::ONE;
        let nodes = self.steps.steps.len();
        for n in 0..nodes {
            self.each_flow(n, |from, to, weight| {
                let sent = &alpha[from] * weight;
                alpha[to] += sent;
            });
        }
        for n in (0..nodes).rev() {
            if let Some(lift) = &self.steps.steps[n].lift {
                self.right[n].iter().for_each(|&place| beta[place] += lift);
            }
            self.each_flow(n, |from, to, weight| {
                let back = &beta[to] * weight;
                beta[from] += back;
            });
        }
        self.reward = Some(beta[0].clone());
        (self.alpha, self.beta) = (alpha, beta);
    }

    /// What the rollouts that consult a cell earn with each action, in an untied class.
    fn earned(&self, cell: usize, earned: &mut [UBig]) {
        let GroupPlace {
            group,
            window,
            history,
            ..
        } = self.places[cell];
        earned.fill(UBig::ZERO);
        for &n in &self.steps.members[group as usize] {
            let (step, width) = (&self.steps.steps[n], self.steps.written(n).width);
            for passage in step.through(window) {
                let (from, to) = self.ends(n, step, passage, history as usize);
                for (i, &e) in self.steps.moves(step, passage).iter().enumerate() {
                    let sent = &self.alpha[from + i] * &passage.weight;
                    for (a, earned) in earned.iter_mut().enumerate() {
                        *earned += &sent * &self.beta[to + a * width + e as usize];
                    }
                }
            }
        }
    }
}

impl RewardCounter for WideCounter {
    type Numerator = UBig;

    fn within(code: Code, memory: Allowance) -> Result<WideCounter, CountError> {
        let class = code.class();
        let denominator = class.task().denominator();
        let what = format!(
            "counting the rewards of {} cells in integers of {} bits",
            class.cells(),
            denominator.bit_len()
        );
        memory.check(&what, bytes(class))?;
        let steps = Steps::new(class);
        let right = |n: usize| match &steps.steps[n].lift {
            Some(_) => steps.right_answers(class, n),
            None => Vec::new(),
        };
        Ok(WideCounter {
            denominator,
            places: places(class, &steps.members),
            right: (0..steps.steps.len()).map(right).collect(),
            steps,
            alpha: Vec::new(),
            beta: Vec::new(),
            reward: None,
            code,
        })
    }

    fn class(&self) -> &Class {
        self.code.class()
    }

    fn code(&self) -> &Code {
        &self.code
    }

    fn denominator(&self) -> UBig {
        self.denominator.clone()
    }

    fn reward(&mut self) -> UBig {
        let count = || forward::by_steps(&self.steps, &self.code);
        self.reward.get_or_insert_with(count).clone()
    }

    fn rewards(&mut self, cell: usize, rewards: &mut [UBig]) {
        let (total, now) = (self.reward(), self.code.action(cell));
        if self.class().shape().tied {
            for (action, reward) in (0..).zip(rewards.iter_mut()) {
                let mut changed = self.code.clone();
                changed.set(cell, action);
                *reward = match action == now {
                    true => total.clone(),
                    false => forward::by_steps(&self.steps, &changed),
                };
            }
            return;
        }
        self.refresh();
        self.earned(cell, rewards);
        let own = rewards[now as usize].clone();
        let rest = total - own;
        rewards.iter_mut().for_each(|reward| *reward += &rest);
    }

    fn set(&mut self, cell: usize, action: Symbol) {
        if self.code.action(cell) != action {
            self.code.set(cell, action);
            self.reward = None;
            (self.alpha, self.beta) = (Vec::new(), Vec::new());
        }
    }
}
