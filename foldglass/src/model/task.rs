//! Joins a Latin square, an input law and the lengths into a task (paper, section 2).
//!
//! s_1 = x_1, s_t = B[s_{t-1}, x_t]; the reward is 1 when the last token y_T equals s_T.

use crate::model::inputs::{InputError, InputLaw, Inputs};
use crate::model::quasigroup::{LatinSquare, Symbol};
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
    #[error("length {0} is given twice: every length counts once, with equal weight")]
    RepeatedLength(usize),
    /// The law of the inputs is not one.
    #[error(transparent)]
    Inputs(#[from] InputError),
}

/// A Latin square, a law of the inputs, and lengths of equal weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    square: LatinSquare,
    inputs: Inputs,
    lengths: Vec<usize>,
    common: UBig,
}

impl Task {
    /// Poses the task; the lengths may come in any order and are kept ascending.
    ///
    /// ```
    /// use foldglass::{InputLaw, LatinSquare, Task};
    /// let task = Task::new(LatinSquare::paper(), &InputLaw::Uniform, &[3]).unwrap();
    /// assert_eq!(task.fold(&[0, 1, 2]), 1); // B[0,1] = 3, B[3,2] = 1
    /// assert_eq!(task.denominator(), 125u32.into());
    /// ```
    pub fn new(square: LatinSquare, law: &InputLaw, lengths: &[usize]) -> Result<Task, TaskError> {
        let mut lengths = lengths.to_vec();
        lengths.sort_unstable();
        let longest = *lengths.last().ok_or(TaskError::NoLength)?;
        if lengths[0] == 0 {
            return Err(TaskError::ZeroLength);
        }
        if let Some(pair) = lengths.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(TaskError::RepeatedLength(pair[0]));
        }
        let inputs = Inputs::new(law, square.q(), longest)?;
        // The product over a length's positions divides that over a longer one's.
        let common = positions(&inputs, 1..longest + 1);
        Ok(Task {
            square,
            inputs,
            lengths,
            common,
        })
    }

    /// The number of symbols.
    pub fn q(&self) -> usize {
        self.square.q()
    }

    /// The multiplication table B.
    pub fn square(&self) -> &LatinSquare {
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
    /// let task = Task::new(LatinSquare::paper(), &InputLaw::Uniform, &[3])?;
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

    /// The denominator of every code's reward: the number of lengths times the least common
    /// multiple of the lengths' own denominators, which is that of the longest.
    pub fn denominator(&self) -> UBig {
        &self.common * UBig::from(self.lengths.len())
    }

    /// The probability of an input, that of its length included, times [`Task::denominator`].
    ///
    /// ```
    /// use foldglass::{InputLaw, LatinSquare, Task};
    /// let task = Task::new(LatinSquare::paper(), &InputLaw::Uniform, &[2, 3]).unwrap();
    /// // 5 of 250 = 1/2 * 1/25.
    /// assert_eq!((task.weight(&[0, 1]), task.denominator()), (5u32.into(), 250u32.into()));
    /// ```
    ///
    /// # Panics
    /// If it is longer than the longest of the task.
    pub fn weight(&self, x: &[Symbol]) -> UBig {
        let own: UBig = self.inputs.weights(x).map(UBig::from).product();
        own * self.lift(x.len())
    }

    /// What a prefix weight of positions 1..=`n` must be multiplied by to be over the common
    /// denominator (before the number of lengths). Whole for every length of the task.
    pub fn lift(&self, n: usize) -> UBig {
        positions(&self.inputs, n + 1..self.longest() + 1)
    }
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
        Task::new(LatinSquare::paper(), &InputLaw::Uniform, lengths)
    }

    #[test]
    fn lengths_zero_repeated_or_missing_are_refused() {
        assert_eq!(pose(&[]), Err(TaskError::NoLength));
        assert_eq!(pose(&[3, 0]), Err(TaskError::ZeroLength));
        assert_eq!(pose(&[3, 4, 3]), Err(TaskError::RepeatedLength(3)));
    }

    #[test]
    fn denominators_are_those_of_the_specification() {
        assert_eq!(pose(&[8]).unwrap().denominator(), 390_625u32.into());
        assert_eq!(
            pose(&[5, 3, 4]).unwrap().denominator(),
            (3 * 3125u32).into()
        );
        let law = InputLaw::Markov(parse("9/10").unwrap());
        let parity = Task::new(LatinSquare::cyclic(2).unwrap(), &law, &[8]).unwrap();
        assert_eq!(parity.denominator(), 20_000_000u32.into());
    }
}
