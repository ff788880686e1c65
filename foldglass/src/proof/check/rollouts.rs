//! Rolls out every input of a code and keeps the cells each consults (paper, section 2.2).
//!
//! When a cell changes, only the inputs that consult it are rolled out again: those whose window
//! is the cell's, and of them those whose rollout has the cell in its row. Weights are integers.

use super::{CheckError, Earnings};
use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::support::memory::Allowance;
use dashu_int::UBig;
use dashu_int::ops::BitTest;

/// Where the row of an input that cannot occur leads.
const NO_CELL: u32 = u32::MAX;

/// One step of the inputs of a length.
#[derive(Debug, Clone)]
struct RolloutStep {
    group: usize,
    /// Windows there are, and inputs that differ only after the window.
    windows: usize,
    after: usize,
    /// Histories there are of the remembered tokens but for the one emitted.
    kept: u32,
    /// What a right token counts; 0 where it is not compared with the state.
    reward: u128,
}

/// The inputs of one length: numbered as base-q numbers, a row of `steps.len()` places each, and a row of
/// targets from the first step on that is rewarded.
#[derive(Debug, Clone)]
struct Length {
    steps: Vec<RolloutStep>,
    inputs: usize,
    first_input: usize,
    first_place: usize,
    /// The first step that is rewarded, from 0; all later ones are.
    rewarded: usize,
    first_target: usize,
}

impl Length {
    /// Where the target of a rewarded step is.
    fn target(&self, input: usize, step: usize) -> usize {
        let row = self.steps.len() - self.rewarded;
        self.first_target + input * row + (step - self.rewarded)
    }
}

/// The rollouts of all inputs of a code, and its exact reward.
///
/// ```
/// use foldglass::proof::check::Rollouts;
/// use foldglass::{Allowance, ClassSpec, Code, Operation, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// let mut rollouts = Rollouts::new(copy).unwrap();
/// assert_eq!((rollouts.reward(), rollouts.denominator()), (4, 8));
/// let mut rewards = [0; 2];
/// rollouts.rewards(9, &mut rewards);
/// assert_eq!(rewards, [4, 4]);
/// ```
#[derive(Debug, Clone)]
pub struct Rollouts {
    class: Class,
    code: Code,
    denominator: u128,
    reward: u128,
    lengths: Vec<Length>,
    /// By place: the cell of its window without a history, and the cell consulted.
    bases: Vec<u32>,
    cells: Vec<u32>,
    /// By input: the weight, without that of its length and steps.
    weights: Vec<u128>,
    /// By target: the right token, and whether the rollout emits it.
    targets: Vec<Symbol>,
    right: Vec<bool>,
    /// Inputs that consult a cell: the number and the step (from 0) of the first consultation.
    consulting: Vec<(usize, usize)>,
}

/// The bytes that the rollouts of a class take; none from 2^128 on.
pub fn bytes(class: &Class) -> Option<u128> {
    let input = size_of::<u128>() + size_of::<(usize, usize)>();
    let target = size_of::<Symbol>() + size_of::<bool>();
    let mut needed = 0u128;
    for (which, &length) in class.task().lengths().iter().enumerate() {
        let inputs = (class.q() as u128).checked_pow(u32::try_from(length).ok()?)?;
        let row = (2 * size_of::<u32>()).checked_mul(length)?;
        let targets = target.checked_mul(length - first_rewarded(class, which))?;
        needed = needed.checked_add(inputs.checked_mul((row + input + targets) as u128)?)?;
    }
    Some(needed)
}

/// The first step, from 0, whose token is compared with the state at a length.
fn first_rewarded(class: &Class, which: usize) -> usize {
    let task = class.task();
    let first = (1..=task.lengths()[which]).find(|&t| task.step_weight(which, t) != UBig::ZERO);
    first.expect("the last step is rewarded") - 1
}

impl Rollouts {
    /// Rolls out every input of a code, if the memory that takes is allowed.
    pub fn new(code: Code) -> Result<Rollouts, CheckError> {
        Rollouts::within(code, Allowance::default())
    }

    /// Lists them within this memory.
    pub fn within(code: Code, memory: Allowance) -> Result<Rollouts, CheckError> {
        let class = &code.class().clone();
        let what = format!(
            "rolling out every input of a class of {} cells",
            class.cells()
        );
        memory.check(&what, bytes(class))?;
        let denominator = class.task().denominator();
        let bits = denominator.bit_len();
        let denominator = u128::try_from(denominator).map_err(|_| CheckError::TooFine { bits })?;
        let mut rollouts = Rollouts {
            class: class.clone(),
            code,
            denominator,
            reward: 0,
            lengths: Vec::new(),
            bases: Vec::new(),
            cells: Vec::new(),
            targets: Vec::new(),
            weights: Vec::new(),
            right: Vec::new(),
            consulting: Vec::new(),
        };
        for which in 0..class.task().lengths().len() {
            rollouts.add_length(which);
        }
        rollouts.bases.shrink_to_fit();
        for length in 0..rollouts.lengths.len() {
            for input in 0..rollouts.lengths[length].inputs {
                rollouts.roll_out(length, input, 0);
            }
        }
        Ok(rollouts)
    }

    /// Lays out the inputs of a length.
    fn add_length(&mut self, which: usize) {
        let class = self.class.clone();
        let (q, t) = (class.q(), class.task().lengths()[which]);
        let count = |symbols: usize| q.pow(symbols as u32);
        let path = class.path(which);
        let nodes = path.iter().map(|&node| &class.nodes()[node]);
        let steps: Vec<RolloutStep> = nodes
            .map(|node| RolloutStep {
                group: node.group,
                windows: count(node.before + 1 + node.after),
                after: count(t - node.t - node.after),
                kept: count(node.tokens.min(class.shape().memory - 1)) as u32,
                reward: u128::try_from(class.task().step_weight(which, node.t))
                    .expect("no weight passes the denominator"),
            })
            .collect();
        let (inputs, lift) = (count(t), class.task().lift(t));
        let rewarded = first_rewarded(&class, which);
        self.bases.reserve_exact(inputs * t);
        self.lengths.push(Length {
            inputs,
            first_input: self.weights.len(),
            first_place: self.bases.len(),
            rewarded,
            first_target: self.targets.len(),
            steps: steps.clone(),
        });
        for input in 0..inputs {
            let x: Vec<Symbol> = (0..t)
                .map(|i| (input / count(t - 1 - i) % q) as Symbol)
                .collect();
            let weight = weight(&class, &x, &lift);
            self.bases.extend(steps.iter().map(|step| match weight {
                0 => NO_CELL,
                _ => class.groups()[step.group].cell(input / step.after % step.windows, 0) as u32,
            }));
            let targets = (rewarded..t).map(|step| class.task().fold(&x[..step + 1]));
            self.targets.extend(targets);
            self.weights.push(weight);
        }
        self.cells.resize(self.bases.len(), NO_CELL);
        self.right.resize(self.targets.len(), false);
    }

    /// Rolls out an input from a step (from 0) on, the steps before being right, and keeps it.
    fn roll_out(&mut self, length: usize, input: usize, step: usize) {
        let length = &self.lengths[length];
        let n = length.first_input + input;
        if self.weights[n] == 0 {
            return;
        }
        let row = length.first_place + input * length.steps.len();
        let mut history = match step {
            0 => 0,
            _ => self.cells[row + step] - self.bases[row + step],
        };
        let q = self.class.q() as u32;
        for (t, step) in length.steps.iter().enumerate().skip(step) {
            let cell = self.bases[row + t] + history;
            self.cells[row + t] = cell;
            let token = self.code.action(cell as usize);
            history = history % step.kept * q + u32::from(token);
            if step.reward == 0 {
                continue;
            }
            let target = length.target(input, t);
            let (right, earned) = (token == self.targets[target], self.weights[n] * step.reward);
            match (self.right[target], right) {
                (false, true) => self.reward += earned,
                (true, false) => self.reward -= earned,
                _ => (),
            }
            self.right[target] = right;
        }
    }

    /// The code.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// What all rewards are over.
    pub fn denominator(&self) -> u128 {
        self.denominator
    }

    /// The numerator of J.
    pub fn reward(&self) -> u128 {
        self.reward
    }

    /// Finds the inputs of a length that consult a cell.
    fn find_consulting(&mut self, length: usize, cell: usize) {
        self.consulting.clear();
        let class = &self.class;
        let group = class.groups().partition_point(|g| g.first_cell <= cell) - 1;
        let first = &class.groups()[group];
        let window = first.window((cell - first.first_cell) / first.histories);
        let cell = cell as u32;
        let length = &self.lengths[length];
        let rows = &self.cells[length.first_place..][..length.inputs * length.steps.len()];
        let tied = class.shape().tied;
        for (t, step) in length.steps.iter().enumerate() {
            if step.group != group {
                continue;
            }
            for first in (window * step.after..length.inputs).step_by(step.windows * step.after) {
                for input in first..first + step.after {
                    let row = &rows[input * length.steps.len()..][..t + 1];
                    if row[t] == cell && !(tied && row[..t].contains(&cell)) {
                        self.consulting.push((input, t));
                    }
                }
            }
        }
    }

    /// How many inputs consult a cell.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn consulted(&mut self, cell: usize) -> usize {
        assert!(
            cell < self.class.cells(),
            "cell {cell} of {}",
            self.class.cells()
        );
        let mut count = 0;
        for length in 0..self.lengths.len() {
            self.find_consulting(length, cell);
            count += self.consulting.len();
        }
        count
    }

    /// Writes the numerator of J for every action at a cell, the rest of the code unchanged.
    ///
    /// # Panics
    /// If there is no such cell, or `rewards` does not hold q numbers.
    pub fn rewards(&mut self, cell: usize, rewards: &mut [u128]) {
        assert!(
            cell < self.class.cells(),
            "cell {cell} of {}",
            self.class.cells()
        );
        assert_eq!(rewards.len(), self.class.q(), "a reward for each action");
        rewards.fill(0);
        for length in 0..self.lengths.len() {
            self.find_consulting(length, cell);
            match self.class.shape().memory {
                1 => self.add_earned::<true>(length, cell, rewards),
                _ => self.add_earned::<false>(length, cell, rewards),
            }
        }
        let earned = rewards[self.code.action(cell) as usize];
        let rest = self.reward - earned;
        rewards.iter_mut().for_each(|reward| *reward += rest);
    }

    /// Adds what the inputs of a length that consult the cell earn from there on, action by action.
    fn add_earned<const ONE: bool>(&self, length: usize, cell: usize, earned: &mut [u128]) {
        let length = &self.lengths[length];
        let (q, now) = (self.class.q() as u32, self.code.action(cell));
        let actions = self.code.actions();
        for &(input, t) in &self.consulting {
            let n = length.first_input + input;
            let row = length.first_place + input * length.steps.len() + t;
            let bases = &self.bases[row..][..length.steps.len() - t];
            let history = cell as u32 - bases[0];
            let first = t.max(length.rewarded);
            let rewards = length.steps[first..].iter().map(|step| step.reward);
            let targets = length.target(input, first)..length.target(input, length.steps.len());
            for (action, earned) in earned.iter_mut().enumerate() {
                let action = action as Symbol;
                if action == now {
                    let right = self.right[targets.clone()].iter().zip(rewards.clone());
                    let sum: u128 = right.map(|(&right, w)| u128::from(right) * w).sum();
                    *earned += self.weights[n] * sum;
                    continue;
                }
                let (mut history, mut token, mut sum) = (history, action, 0);
                for (i, &base) in bases.iter().enumerate() {
                    let step = &length.steps[t + i];
                    if i > 0 {
                        let next = (base + history) as usize;
                        // A tied cell may be consulted again.
                        token = if next == cell { action } else { actions[next] };
                    }
                    if step.reward > 0 && token == self.targets[length.target(input, t + i)] {
                        sum += step.reward;
                    }
                    history = match ONE {
                        true => u32::from(token),
                        false => history % step.kept * q + u32::from(token),
                    };
                }
                *earned += self.weights[n] * sum;
            }
        }
    }

    /// Gives a cell an action.
    ///
    /// # Panics
    /// If there is no such cell or action.
    pub fn set(&mut self, cell: usize, action: Symbol) {
        assert!(
            cell < self.class.cells(),
            "cell {cell} of {}",
            self.class.cells()
        );
        assert!(
            usize::from(action) < self.class.q(),
            "action {action} of {}",
            self.class.q()
        );
        self.code.set(cell, action);
        for length in 0..self.lengths.len() {
            self.find_consulting(length, cell);
            for i in 0..self.consulting.len() {
                let (input, t) = self.consulting[i];
                self.roll_out(length, input, t);
            }
        }
    }
}

impl Earnings for Rollouts {
    type Number = u128;

    fn code(&self) -> &Code {
        Rollouts::code(self)
    }

    fn denominator(&self) -> u128 {
        Rollouts::denominator(self)
    }

    fn reward(&self) -> u128 {
        Rollouts::reward(self)
    }

    fn rewards(&mut self, cell: usize, rewards: &mut [u128]) {
        Rollouts::rewards(self, cell, rewards);
    }

    fn set(&mut self, cell: usize, action: Symbol) {
        Rollouts::set(self, cell, action);
    }
}

/// The weight of an input over the task's denominator, without that of its length and steps.
fn weight(class: &Class, x: &[Symbol], lift: &UBig) -> u128 {
    let inputs = class.task().inputs();
    let position = |i: usize| UBig::from(inputs.weight(i + 1, x[i.max(1) - 1], x[i]));
    let weight: UBig = (0..x.len()).map(position).product();
    u128::try_from(weight * lift).expect("no weight passes the denominator")
}
