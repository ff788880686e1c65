//! Draws batches of inputs, longest first (paper, section 2).
//!
//! Rows are sorted by length, so that the rows still running at step t are the first `live(t)`.
//! A row's step is numbered step by step: first all rows of step 1, then those of step 2.

use crate::law::{LengthLaw, SymbolLaw};
use crate::philox::{Draw, Numbers};
use crate::settings::LengthDraw;
use foldglass::model::operation::Operation;

/// Inputs, their targets and what was emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    cap: usize,
    lengths: Vec<usize>,
    x: Vec<u8>,
    y: Vec<u8>,
    targets: Vec<u8>,
    /// Where the rows of each step start; one more than there are steps.
    starts: Vec<usize>,
}

/// How a batch is drawn.
#[derive(Debug, Clone)]
pub struct BatchLaw<'a> {
    /// The task.
    pub square: &'a Operation,
    /// The law of the inputs.
    pub inputs: &'a SymbolLaw,
    /// The lengths.
    pub lengths: &'a LengthLaw,
    /// For what a length is drawn.
    pub drawn: LengthDraw,
    /// The number of rows.
    pub rows: usize,
    /// So many rows share an input; divides the rows.
    pub group: usize,
    /// The longest length of the run.
    pub cap: usize,
}

impl Batch {
    /// The batch of given inputs, in this order.
    ///
    /// # Panics
    /// If an input is longer than the one before it, empty, or longer than `cap`.
    pub fn new(square: &Operation, inputs: &[Vec<u8>], cap: usize) -> Batch {
        let lengths: Vec<usize> = inputs.iter().map(Vec::len).collect();
        assert!(lengths.is_sorted_by(|a, b| a >= b), "the longest first");
        assert!(lengths.iter().all(|t| (1..=cap).contains(t)));
        let mut x = vec![0; lengths.len() * cap];
        for (row, input) in x.chunks_exact_mut(cap).zip(inputs) {
            row[..input.len()].copy_from_slice(input);
        }
        let targets = inputs.iter().map(|input| fold(square, input)).collect();
        Batch::of_parts(cap, lengths, x, targets)
    }

    fn of_parts(cap: usize, lengths: Vec<usize>, x: Vec<u8>, targets: Vec<u8>) -> Batch {
        let longest = lengths.first().copied().unwrap_or(0);
        let mut starts = vec![0];
        for t in 1..=longest {
            let live = lengths.partition_point(|&length| length >= t);
            starts.push(starts[t - 1] + live);
        }
        Batch {
            cap,
            y: vec![0; x.len()],
            lengths,
            x,
            targets,
            starts,
        }
    }

    /// Draws a batch.
    pub fn draw(law: &BatchLaw, numbers: Numbers) -> Batch {
        let choose = |row: usize| {
            let row = match law.drawn {
                LengthDraw::Sample => row as u32,
                LengthDraw::Batch => 0,
            };
            law.lengths.draw(numbers.words(Draw::Length, row, 0)[0])
        };
        let mut order: Vec<(usize, usize)> = (0..law.rows)
            .map(|row| (choose(row / law.group), row / law.group))
            .collect();
        // Stable, so the members of a group stay side by side.
        order.sort_by_key(|drawn| std::cmp::Reverse(drawn.0));
        let mut x = vec![0; law.rows * law.cap];
        let mut targets = Vec::with_capacity(law.rows);
        for (row, &(length, from)) in x.chunks_exact_mut(law.cap).zip(&order) {
            let mut before = 0;
            for (j, x) in row[..length].iter_mut().enumerate() {
                let words = numbers.words(Draw::Input, from as u32, j as u32 / 4);
                *x = law.inputs.draw(j, before, words[j % 4]);
                before = *x;
            }
            targets.push(fold(law.square, &row[..length]));
        }
        let lengths = order.into_iter().map(|(length, _)| length).collect();
        Batch::of_parts(law.cap, lengths, x, targets)
    }

    /// The longest length that a row may have.
    pub fn cap(&self) -> usize {
        self.cap
    }

    /// The number of samples.
    pub fn samples(&self) -> usize {
        self.lengths.len()
    }

    /// The steps of the longest row.
    pub fn longest(&self) -> usize {
        self.starts.len() - 1
    }

    /// The lengths, the longest first.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// All tokens to emit: the sum of the lengths.
    pub fn tokens(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    /// How many samples reach step t, t from 1.
    pub fn live(&self, t: usize) -> usize {
        self.starts[t] - self.starts[t - 1]
    }

    /// The number of the first token of step t, t from 1.
    pub fn start(&self, t: usize) -> usize {
        self.starts[t - 1]
    }

    /// The inputs of a sample.
    pub fn x(&self, sample: usize) -> &[u8] {
        &self.x[sample * self.cap..][..self.lengths[sample]]
    }

    /// The tokens of a sample.
    pub fn y(&self, sample: usize) -> &[u8] {
        &self.y[sample * self.cap..][..self.lengths[sample]]
    }

    /// The tokens of a sample, to be written.
    pub fn y_mut(&mut self, sample: usize) -> &mut [u8] {
        &mut self.y[sample * self.cap..][..self.lengths[sample]]
    }

    /// The targets.
    pub fn targets(&self) -> &[u8] {
        &self.targets
    }

    /// Whether a sample's last token is its target.
    pub fn right(&self, sample: usize) -> bool {
        self.y(sample)[self.lengths[sample] - 1] == self.targets[sample]
    }
}

fn fold(square: &Operation, x: &[u8]) -> u8 {
    let first = u16::from(x[0]);
    let last = (x[1..].iter()).fold(first, |s, &x| square.multiply(s, u16::from(x)));
    last as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::philox::Purpose;
    use foldglass::model::inputs::{InputLaw, Inputs};
    use foldglass::support::exact::parse;
    use std::collections::HashMap;

    fn draw(rows: usize, group: usize, drawn: LengthDraw) -> Batch {
        let square = Operation::paper();
        let law = BatchLaw {
            square: &square,
            inputs: &SymbolLaw::uniform(5),
            lengths: &LengthLaw::equal(vec![1, 2, 3, 4]),
            drawn,
            rows,
            group,
            cap: 6,
        };
        Batch::draw(&law, Numbers::new(3, Purpose::Training, 7))
    }

    #[test]
    fn lengths_and_inputs_are_equally_frequent_and_sorted() {
        let batch = draw(4000, 1, LengthDraw::Sample);
        assert!(batch.lengths().is_sorted_by(|a, b| a >= b));
        let chi = |counts: &[f64], expected: f64| -> f64 {
            (counts.iter().map(|c| (c - expected).powi(2) / expected)).sum()
        };
        let mut lengths = [0.0; 4];
        batch.lengths().iter().for_each(|t| lengths[t - 1] += 1.0);
        assert!(chi(&lengths, 1000.0) < 30.7, "3 degrees, tail 1e-6");
        let mut symbols = [0.0; 5];
        for sample in 0..batch.samples() {
            (batch.x(sample).iter()).for_each(|&x| symbols[usize::from(x)] += 1.0);
        }
        let expected = batch.tokens() as f64 / 5.0;
        assert!(chi(&symbols, expected) < 33.4, "4 degrees, tail 1e-6");
        let live: usize = (1..=4).map(|t| batch.live(t)).sum();
        assert_eq!(live, batch.tokens());
        assert_eq!(batch.start(3), batch.live(1) + batch.live(2));
    }

    /// Draws of lengths and inputs together, against the probabilities of the law.
    fn compare_with_law(law: &InputLaw, q: usize, lengths: &[usize], weights: &[u64], tail: f64) {
        let (cap, rows) = (4, 40_000);
        let square = Operation::cyclic(q).unwrap();
        let batch_law = BatchLaw {
            square: &square,
            inputs: &SymbolLaw::new(law, q, cap).unwrap(),
            lengths: &LengthLaw::weighted(lengths.to_vec(), weights),
            drawn: LengthDraw::Sample,
            rows,
            group: 1,
            cap,
        };
        let batch = Batch::draw(&batch_law, Numbers::new(11, Purpose::Training, 2));
        let mut counts = HashMap::new();
        for sample in 0..rows {
            *counts.entry(batch.x(sample).to_vec()).or_insert(0.0) += 1.0;
        }
        let exact = Inputs::new(law, q, cap).unwrap();
        let all: u64 = weights.iter().sum();
        let (mut chi, mut degrees) = (0.0, -1.0);
        for (&length, &weight) in lengths.iter().zip(weights) {
            for number in 0..q.pow(length as u32) {
                let digit = |j: usize| (number / q.pow(j as u32) % q) as u8;
                let x: Vec<u8> = (0..length).map(digit).collect();
                let factor = |t: usize| {
                    let before = if t == 1 { 0 } else { x[t - 2] };
                    let own = exact.weight(t, before.into(), x[t - 1].into());
                    own as f64 / exact.denominator(t) as f64
                };
                let probability: f64 = (1..=length).map(factor).product();
                let expected = rows as f64 * probability * weight as f64 / all as f64;
                let found = counts.remove(&x).unwrap_or(0.0);
                if expected == 0.0 {
                    assert_eq!(found, 0.0, "{law}: {x:?} cannot occur");
                    continue;
                }
                chi += (found - expected).powi(2) / expected;
                degrees += 1.0;
            }
        }
        assert!(counts.is_empty());
        assert!(chi < tail, "{law}, {degrees} degrees, tail 1e-6: {chi}");
    }

    #[test]
    fn inputs_and_lengths_have_the_probabilities_of_their_law() {
        let number = |text: &str| parse(text).unwrap();
        let markov = |k: &str| InputLaw::Markov(number(k));
        // 7, 3, 11, 29 and 26 degrees of freedom, each with its tail of 1e-6.
        compare_with_law(&markov("9/10"), 2, &[3], &[1], 40.6);
        compare_with_law(&markov("1"), 2, &[1, 4], &[1, 2], 30.7);
        compare_with_law(&markov("1/5"), 3, &[1, 2], &[1, 5], 48.9);
        let row = |row: [&str; 3]| row.map(number).to_vec();
        let rows = [
            row(["1/2", "0", "1/2"]),
            row(["1/7", "2/7", "4/7"]),
            row(["0", "0", "1"]),
            row(["1/3", "1/3", "1/3"]),
        ];
        compare_with_law(
            &InputLaw::Product(rows.to_vec()),
            3,
            &[2, 3, 4],
            &[3, 1, 4],
            80.5,
        );
        compare_with_law(&InputLaw::Uniform, 3, &[3], &[1], 75.6);
    }

    #[test]
    fn a_group_shares_its_input_and_a_batch_can_share_its_length() {
        let batch = draw(40, 8, LengthDraw::Sample);
        for group in 0..5 {
            for sample in group * 8..group * 8 + 8 {
                assert_eq!(batch.x(sample), batch.x(group * 8));
            }
        }
        assert!((0..5).any(|group| batch.x(group * 8) != batch.x(0)));
        let batch = draw(40, 1, LengthDraw::Batch);
        assert!(batch.lengths().iter().all(|&t| t == batch.lengths()[0]));
    }

    #[test]
    fn targets_are_folds() {
        let square = Operation::paper();
        let mut batch = Batch::new(&square, &[vec![0, 1, 2], vec![4]], 5);
        assert_eq!(batch.targets(), [1, 4]);
        assert!(!batch.right(0));
        batch.y_mut(0)[2] = 1;
        assert!(batch.right(0));
        assert_eq!((batch.live(1), batch.live(3), batch.tokens()), (2, 1, 4));
    }
}
