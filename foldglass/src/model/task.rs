//! Joins a table, an input law and the lengths into a task (paper, section 2).
//!
//! s_1 = x_1, s_t = B[s_{t-1}, x_t]; the reward is 1 when the last token y_T equals s_T. With weights of lengths and with
//! process rewards ([`super::rewarded`]) every length and step at which a token is compared with the state has a whole
//! number as its weight, over one total.

mod rows;

use crate::model::inputs::{InputError, InputLaw, Inputs};
use crate::model::operation::{Operation, Symbol};
use crate::model::rewarded::{ExactWeights, RewardRule};
use dashu_int::UBig;
use thiserror::Error;

/// A task that cannot be posed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TaskError {
    /// No length was given.
    #[error("no length was given: at least one is needed")]
    NoLength,
    /// A length of zero.
    #[error("length 0 is refused: lengths start at 1")]
    ZeroLength,
    /// A length given twice.
    #[error("length {0} is given twice: every length counts once (its weight may be larger)")]
    RepeatedLength(usize),
    /// As many weights as lengths are needed.
    #[error("there are {weights} weights for {lengths} lengths: one for each is needed")]
    LengthWeights {
        /// Weights given.
        weights: usize,
        /// Lengths given.
        lengths: usize,
    },
    /// A process reward of several lengths.
    #[error(
        "a process reward needs inputs of one length: here there are {0} lengths. Write one length, or the reward final"
    )]
    ProcessLengths(usize),
    /// As many weights as steps are needed.
    #[error(
        "the process reward has {weights} weights: one for each of the {steps} steps is needed"
    )]
    StepWeights {
        /// Weights given.
        weights: usize,
        /// Steps of an input.
        steps: usize,
    },
    /// The law of the inputs is not one.
    #[error(transparent)]
    Inputs(#[from] InputError),
}

/// A table, a law of the inputs, lengths with weights, and the tokens that are rewarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    square: Operation,
    inputs: Inputs,
    lengths: Vec<usize>,
    length_weights: ExactWeights,
    reward: RewardRule,
    common: UBig,
}

impl Task {
    /// Poses the task; the lengths may come in any order and are kept ascending.
    ///
    /// ```
    /// use foldglass::{InputLaw, Operation, Task};
    /// let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[3]).unwrap();
    /// assert_eq!(task.fold(&[0, 1, 2]), 1); // B[0,1] = 3, B[3,2] = 1
    /// assert_eq!(task.denominator(), 125u32.into());
    /// ```
    pub fn new(square: Operation, law: &InputLaw, lengths: &[usize]) -> Result<Task, TaskError> {
        Task::weighted(square, law, lengths, None, &RewardRule::Final)
    }

    /// Poses the task with weights, in the order in which the lengths are given (equal if there are none), and a
    /// reward.
    ///
    /// ```
    /// use foldglass::{InputLaw, Operation, RewardRule, Task};
    /// let (square, law) = (Operation::cyclic(2).unwrap(), InputLaw::Uniform);
    /// let weights = "3,1".parse().unwrap();
    /// let task = Task::weighted(square, &law, &[2, 1], Some(&weights), &RewardRule::Final).unwrap();
    /// assert_eq!(task.length_weights().to_string(), "1/4,3/4"); // of the lengths 1 and 2
    /// assert_eq!(task.denominator(), 16u32.into());
    /// ```
    pub fn weighted(
        square: Operation,
        law: &InputLaw,
        lengths: &[usize],
        weights: Option<&ExactWeights>,
        reward: &RewardRule,
    ) -> Result<Task, TaskError> {
        let (lengths, length_weights) = sorted(lengths, weights)?;
        let longest = *lengths.last().ok_or(TaskError::NoLength)?;
        if lengths[0] == 0 {
            return Err(TaskError::ZeroLength);
        }
        if let Some(pair) = lengths.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(TaskError::RepeatedLength(pair[0]));
        }
        if let RewardRule::Process(weights) = reward {
            if lengths.len() > 1 {
                return Err(TaskError::ProcessLengths(lengths.len()));
            }
            let weights = weights.as_ref().map_or(longest, |w| w.parts().len());
            if weights != longest {
                let steps = longest;
                return Err(TaskError::StepWeights { weights, steps });
            }
        }
        let inputs = Inputs::new(law, square.q(), longest)?;
        // The product over a length's positions divides that over a longer one's.
        let common = positions(&inputs, 1..longest + 1);
        Ok(Task {
            square,
            inputs,
            lengths,
            length_weights,
            reward: reward.clone().canonical(),
            common,
        })
    }

    /// The number of symbols.
    pub fn q(&self) -> usize {
        self.square.q()
    }

    /// The multiplication table B.
    pub fn square(&self) -> &Operation {
        &self.square
    }

    /// The law of the inputs.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// The lengths, ascending.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// The longest length.
    pub fn longest(&self) -> usize {
        self.lengths[self.lengths.len() - 1]
    }

    /// The weights of the lengths, in their order.
    pub fn length_weights(&self) -> &ExactWeights {
        &self.length_weights
    }

    /// Which tokens are rewarded.
    pub fn reward(&self) -> &RewardRule {
        &self.reward
    }

    /// Whether the last token is rewarded alone, and has one place: one length, and no process reward.
    pub fn rewards_one_step(&self) -> bool {
        self.lengths.len() == 1 && self.reward == RewardRule::Final
    }

    /// What all weights of lengths and steps are over: their sum.
    pub fn total_weight(&self) -> UBig {
        match &self.reward {
            RewardRule::Final => self.length_weights.total(),
            RewardRule::Process(None) => self.longest().into(),
            RewardRule::Process(Some(weights)) => weights.total(),
        }
    }

    /// What an input of a length weighs, over [`Task::total_weight`]; the lengths are counted from 0.
    ///
    /// # Panics
    /// If there is no such length.
    pub fn length_weight(&self, which: usize) -> UBig {
        match &self.reward {
            RewardRule::Final => self.length_weights.parts()[which].clone(),
            RewardRule::Process(_) => self.total_weight(),
        }
    }

    /// What a right token at step `t` of an input of a length counts, over [`Task::total_weight`]; 0 where it is not
    /// compared with the state.
    ///
    /// # Panics
    /// If there is no such length.
    pub fn step_weight(&self, which: usize, t: usize) -> UBig {
        match &self.reward {
            RewardRule::Final if t == self.lengths[which] => self.length_weight(which),
            RewardRule::Final => UBig::ZERO,
            RewardRule::Process(None) => UBig::ONE,
            RewardRule::Process(Some(weights)) => weights.parts()[t - 1].clone(),
        }
    }

    /// Whether the token of step `t` is compared with the state, at some length.
    pub fn rewards_step(&self, t: usize) -> bool {
        match &self.reward {
            RewardRule::Final => self.lengths.binary_search(&t).is_ok(),
            RewardRule::Process(_) => true,
        }
    }

    /// The target s_T of an input.
    ///
    /// # Panics
    /// On an empty input.
    pub fn fold(&self, x: &[Symbol]) -> Symbol {
        let (&first, rest) = x.split_first().expect("an input has at least one symbol");
        rest.iter().fold(first, |s, &x| self.square.multiply(s, x))
    }

    /// Every input of a length that has a positive probability, in the order of the symbols.
    ///
    /// ```
    /// use foldglass::prelude::*;
    /// let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[3])?;
    /// assert_eq!(task.all_inputs(3).count(), 125);
    /// let right = task.all_inputs(3).filter(|x| task.fold(x) == 0);
    /// assert_eq!(right.count(), 25);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the length is 0 or above the longest of the task.
    pub fn all_inputs(&self, length: usize) -> impl Iterator<Item = Vec<Symbol>> + '_ {
        assert!(
            (1..=self.longest()).contains(&length),
            "length {length}: lengths are 1 to {}",
            self.longest()
        );
        let mut next = Some(vec![0; length]);
        let all = std::iter::from_fn(move || {
            let x = next.take()?;
            let last = Symbol::try_from(self.q() - 1).expect("symbols are numbered by it");
            if let Some(place) = x.iter().rposition(|&symbol| symbol < last) {
                let mut following = x.clone();
                following[place] += 1;
                following[place + 1..].fill(0);
                next = Some(following);
            }
            Some(x)
        });
        all.filter(|x| {
            let weight = |i: usize| self.inputs.weight(i + 1, x[i.max(1) - 1], x[i]);
            (0..x.len()).all(|i| weight(i) > 0)
        })
    }

    /// The denominator of every code's reward: the sum of all weights (with equal ones the number of lengths) times
    /// the least common multiple of the lengths' own denominators, which is that of the longest.
    pub fn denominator(&self) -> UBig {
        &self.common * self.total_weight()
    }

    /// The probability of an input, that of its length included, times [`Task::denominator`].
    ///
    /// ```
    /// use foldglass::{InputLaw, Operation, Task};
    /// let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[2, 3]).unwrap();
    /// // 5 of 250 = 1/2 * 1/25.
    /// assert_eq!((task.weight(&[0, 1]), task.denominator()), (5u32.into(), 250u32.into()));
    /// ```
    ///
    /// # Panics
    /// If its length is not one of the task's.
    pub fn weight(&self, x: &[Symbol]) -> UBig {
        let own: UBig = self.inputs.weights(x).map(UBig::from).product();
        let which = self.lengths.binary_search(&x.len());
        let which = which.unwrap_or_else(|_| panic!("{} is not a length of the task", x.len()));
        own * self.lift(x.len()) * self.length_weight(which)
    }

    /// What a prefix weight of positions 1..=`n` must be multiplied by to be over the common
    /// denominator (before the weights of lengths and steps). Whole for every length of the task.
    pub fn lift(&self, n: usize) -> UBig {
        positions(&self.inputs, n + 1..self.longest() + 1)
    }
}

/// Lengths, ascending, with their weights; equal ones where none are given.
pub(crate) fn sorted(
    lengths: &[usize],
    weights: Option<&ExactWeights>,
) -> Result<(Vec<usize>, ExactWeights), TaskError> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&place| lengths[place]);
    let sorted = order.iter().map(|&place| lengths[place]).collect();
    let count = weights.map_or(lengths.len(), |weights| weights.parts().len());
    if count != lengths.len() {
        let (weights, lengths) = (count, lengths.len());
        return Err(TaskError::LengthWeights { weights, lengths });
    }
    let equal = ExactWeights::equal(lengths.len());
    Ok((sorted, weights.unwrap_or(&equal).reordered(&order)))
}

/// The product of the denominators of some positions, halved again and again: the factors of a
/// product stay about equally long, which is what fast multiplication needs.
fn positions(inputs: &Inputs, range: std::ops::Range<usize>) -> UBig {
    match range.len() {
        0 => UBig::ONE,
        1 => UBig::from(inputs.denominator(range.start)),
        n => {
            let middle = range.start + n / 2;
            positions(inputs, range.start..middle) * positions(inputs, middle..range.end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::exact::parse;

    fn pose(lengths: &[usize]) -> Result<Task, TaskError> {
        Task::new(Operation::paper(), &InputLaw::Uniform, lengths)
    }

    #[test]
    fn lengths_zero_repeated_or_missing_are_refused() {
        assert_eq!(pose(&[]), Err(TaskError::NoLength));
        assert_eq!(pose(&[3, 0]), Err(TaskError::ZeroLength));
        assert_eq!(pose(&[3, 4, 3]), Err(TaskError::RepeatedLength(3)));
    }

    #[test]
    fn weights_that_do_not_fit_the_lengths_or_steps_are_refused() {
        let pose = |lengths: &[usize], weights: Option<&str>, reward: &str| {
            let weights = weights.map(|text| text.parse().unwrap());
            let (square, reward) = (Operation::paper(), reward.parse().unwrap());
            Task::weighted(
                square,
                &InputLaw::Uniform,
                lengths,
                weights.as_ref(),
                &reward,
            )
        };
        let error = |lengths, weights, reward| pose(lengths, weights, reward).unwrap_err();
        let [weights, lengths] = [3, 2];
        assert_eq!(
            error(&[3, 4], Some("1,2,3"), "final"),
            TaskError::LengthWeights { weights, lengths }
        );
        assert_eq!(
            error(&[3, 4], None, "process"),
            TaskError::ProcessLengths(2)
        );
        let [weights, steps] = [2, 3];
        assert_eq!(
            error(&[3], None, "process:1,2"),
            TaskError::StepWeights { weights, steps }
        );
        let task = pose(&[3], None, "process:1,2,1").unwrap();
        assert_eq!(task.denominator(), (4 * 125u32).into());
        assert_eq!(task.weight(&[0, 1, 2]), 4u32.into());
        assert_eq!(task.step_weight(0, 2), 2u32.into());
    }

    #[test]
    fn denominators_are_those_of_the_specification() {
        assert_eq!(pose(&[8]).unwrap().denominator(), 390_625u32.into());
        assert_eq!(
            pose(&[5, 3, 4]).unwrap().denominator(),
            (3 * 3125u32).into()
        );
        let law = InputLaw::Markov(parse("9/10").unwrap());
        let parity = Task::new(Operation::cyclic(2).unwrap(), &law, &[8]).unwrap();
        assert_eq!(parity.denominator(), 20_000_000u32.into());
    }
}
