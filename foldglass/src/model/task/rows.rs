//! Draws inputs of a task, folds them step by step, and finds how often the best constant guess is right.
//!
//! A trainer that reaches no more than the chance level has learned nothing of the input.

use super::Task;
use crate::model::inputs;
use crate::model::operation::Symbol;
use crate::support::exact::Reward;
use crate::support::stream::Stream;
use dashu_int::UBig;
use dashu_int::ops::BitTest;
use dashu_ratio::RBig;

impl Task {
    /// Draws a length and an input of it, each with exactly its probability.
    ///
    /// ```
    /// use foldglass::prelude::*;
    /// use foldglass::Stream;
    /// let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[3])?;
    /// assert_eq!(task.draw(&mut Stream::new(0, 0)).len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn draw(&self, stream: &mut Stream) -> Vec<Symbol> {
        let mut rest = below(&self.length_weights.total(), stream);
        let parts = self.length_weights.parts().iter();
        // The parts sum to the total, so that one of them holds the number.
        let which = parts.take_while(|&part| {
            let passed = rest >= *part;
            if passed {
                rest -= part;
            }
            passed
        });
        let length = self.lengths[which.count()];
        self.inputs.draw(length, stream)
    }

    /// The products s_1 .. s_T of an input; the last is its target.
    pub fn products(&self, x: &[Symbol]) -> Vec<Symbol> {
        let mut products: Vec<Symbol> = x.to_vec();
        for t in 1..x.len() {
            products[t] = self.square.multiply(products[t - 1], x[t]);
        }
        products
    }

    /// The probability that the best constant guess is the target, over inputs of one length.
    ///
    /// ```
    /// use foldglass::prelude::*;
    /// use foldglass::support::exact::parse;
    /// let law = InputLaw::Markov(parse("9/10")?);
    /// let task = Task::new(Operation::cyclic(2)?, &law, &[3, 4])?;
    /// assert_eq!(task.chance(3).to_string(), "1/2");
    /// // Of four symbols that mostly repeat, an even number is 1.
    /// assert_eq!(task.chance(4).to_string(), "41/50");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the length is 0 or above the longest of the task.
    pub fn chance(&self, length: usize) -> Reward {
        best(self.target_law(length))
    }

    /// The probability that the best constant guess is the target, over inputs of all lengths.
    pub fn overall_chance(&self) -> Reward {
        let mut law = vec![RBig::ZERO; self.q()];
        for (&length, share) in self.lengths.iter().zip(self.length_weights.shares()) {
            for (sum, p) in law.iter_mut().zip(self.target_law(length)) {
                *sum += p * &share;
            }
        }
        best(law)
    }

    /// The probability of each target, over inputs of one length.
    fn target_law(&self, length: usize) -> Vec<RBig> {
        let (q, inputs) = (self.q(), &self.inputs);
        assert!(
            (1..=self.longest()).contains(&length),
            "length {length}: lengths are 1 to {}",
            self.longest()
        );
        let same = |before: Symbol| {
            let first = inputs.weight(length, before, 0);
            (0..q as Symbol).all(|x| inputs.weight(length, before, x) == first)
        };
        let permutes = |row: &[Symbol]| {
            let mut hit = vec![false; q];
            row.iter()
                .for_each(|&product| hit[usize::from(product)] = true);
            hit.into_iter().all(|hit| hit)
        };
        // Whatever came before, a uniform last symbol makes the target uniform where s * x takes every value once.
        if (0..q as Symbol).all(same) && self.square.rows().all(permutes) {
            return vec![RBig::from_parts(1.into(), q.into()); q];
        }
        // Weights of beginnings by their product and their last symbol; the latter matters to a chain alone.
        let lasts = if inputs.is_correlated() { q } else { 1 };
        let mut weights = vec![UBig::ZERO; q * lasts];
        for x in 0..q {
            weights[x * lasts + x % lasts] += inputs.weight(1, 0, x as Symbol);
        }
        for t in 2..=length {
            let mut next = vec![UBig::ZERO; q * lasts];
            for (place, weight) in weights.iter().enumerate() {
                let (s, before) = (place / lasts, place % lasts);
                for x in 0..q {
                    let product = usize::from(self.square.multiply(s as Symbol, x as Symbol));
                    let factor = inputs.weight(t, before as Symbol, x as Symbol);
                    next[product * lasts + x % lasts] += weight * factor;
                }
            }
            weights = next;
        }
        let all: UBig = super::positions(inputs, 1..length + 1);
        weights
            .chunks(lasts)
            .map(|weights| {
                let weight = weights.iter().fold(UBig::ZERO, |sum, weight| sum + weight);
                RBig::from_parts(weight.into(), all.clone())
            })
            .collect()
    }
}

/// A whole number uniform on 0..n, without bias.
fn below(n: &UBig, stream: &mut Stream) -> UBig {
    if let Ok(narrow) = u64::try_from(n) {
        return inputs::below(narrow, stream).into();
    }
    // Numbers of as many bits as n has, until one is below it: at most two on average.
    let bits = n.bit_len();
    let mut bytes = vec![0; bits.div_ceil(8)];
    loop {
        stream.fill(&mut bytes);
        let number = UBig::from_le_bytes(&bytes) >> (8 * bytes.len() - bits);
        if number < *n {
            return number;
        }
    }
}

fn best(law: Vec<RBig>) -> Reward {
    law.into_iter().max().expect("a symbol").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::inputs::InputLaw;
    use crate::model::operation::Operation;
    use crate::model::rewarded::RewardRule;
    use crate::support::exact::parse;
    use crate::support::stats::chi_square_tail;

    fn tasks() -> Vec<Task> {
        let row = |row: &[&str]| row.iter().map(|p| parse(p).unwrap()).collect();
        let skewed = InputLaw::Product(vec![
            row(&["1/2", "1/3", "1/6"]),
            row(&["1/5", "4/5", "0"]),
            row(&["1/7", "2/7", "4/7"]),
        ]);
        let late = InputLaw::Product(vec![
            row(&["1", "0", "0"]),
            row(&["1", "0", "0"]),
            row(&["1/3", "1/3", "1/3"]),
        ]);
        let chain = |k: &str| InputLaw::Markov(parse(k).unwrap());
        let cyclic = Operation::cyclic(3).unwrap();
        let uneven = Operation::from_rows(&[vec![0, 0, 1], vec![1, 0, 2], vec![2, 0, 0]]).unwrap();
        let pose = |square: &Operation, law: &InputLaw, lengths: &[usize]| {
            Task::new(square.clone(), law, lengths).unwrap()
        };
        let weighted = |weights: &str| {
            let (weights, chain) = (weights.parse().unwrap(), chain("2/3"));
            let (lengths, reward) = (&[3, 1, 2], &RewardRule::Final);
            Task::weighted(cyclic.clone(), &chain, lengths, Some(&weights), reward).unwrap()
        };
        vec![
            pose(&Operation::paper(), &InputLaw::Uniform, &[1, 2, 3]),
            pose(&Operation::paper(), &chain("9/10"), &[1, 2, 4]),
            pose(&cyclic, &chain("0"), &[2, 3]),
            pose(&cyclic, &chain("1"), &[1, 3, 4]),
            pose(&cyclic, &skewed, &[1, 2, 3]),
            pose(&cyclic, &late, &[2, 3]),
            // Not Latin: a uniform last symbol does not make the target uniform.
            pose(&uneven, &InputLaw::Uniform, &[1, 2, 3]),
            pose(&uneven, &chain("1/2"), &[3]),
            weighted("1/7,2/7,4/7"),
            // Weights beyond 64 bits.
            weighted("1/3,123456789012345678901234567890,98765432109876543210987654321/2"),
        ]
    }

    #[test]
    fn the_chance_is_that_of_the_best_symbol_among_all_inputs() {
        for task in tasks() {
            let mut overall = vec![RBig::ZERO; task.q()];
            for (&length, share) in task.lengths().iter().zip(task.length_weights().shares()) {
                let mut law = vec![RBig::ZERO; task.q()];
                for x in task.all_inputs(length) {
                    let weight = task.weight(&x);
                    let probability = RBig::from_parts(weight.into(), task.denominator());
                    law[usize::from(task.fold(&x))] += probability;
                }
                overall.iter_mut().zip(&law).for_each(|(sum, p)| *sum += p);
                let most = law.into_iter().max().unwrap() / &share;
                assert_eq!(task.chance(length).ratio(), &most, "{task:?} at {length}");
            }
            assert_eq!(task.overall_chance(), best(overall), "{task:?}");
        }
    }

    #[test]
    fn products_end_on_the_fold_of_every_beginning() {
        for task in tasks() {
            for x in task.all_inputs(task.longest()) {
                let folds: Vec<Symbol> = (1..=x.len()).map(|t| task.fold(&x[..t])).collect();
                assert_eq!(task.products(&x), folds);
            }
        }
    }

    #[test]
    fn inputs_of_all_lengths_are_drawn_as_often_as_they_weigh() {
        const DRAWS: usize = 60_000;
        for task in tasks() {
            let mut counts = std::collections::BTreeMap::new();
            for number in 0..DRAWS {
                let x = task.draw(&mut Stream::new(3, number as u64));
                *counts.entry(x).or_insert(0usize) += 1;
            }
            let all = task.lengths().iter().flat_map(|&t| task.all_inputs(t));
            let (mut chi, mut kinds, mut drawn) = (0.0, 0, 0);
            for x in all {
                let p = Reward::new(task.weight(&x), task.denominator()).to_f64();
                let (count, expected) = (counts.get(&x).copied().unwrap_or(0), p * DRAWS as f64);
                chi += (count as f64 - expected).powi(2) / expected;
                kinds += 1;
                drawn += count;
            }
            assert_eq!(drawn, DRAWS, "an input that cannot occur was drawn");
            let tail = chi_square_tail(chi, kinds - 1);
            assert!(tail > 1e-6, "{task:?}: chi-square {chi}, tail {tail:e}");
        }
    }
}
