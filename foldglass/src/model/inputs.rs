//! Defines the laws of the input sequence as exact integer weights (paper, section 2 and G.6).
//!
//! The weight of x_1 .. x_n is a product of one integer per position; dividing it by the product
//! of the positions' denominators gives its probability.

use crate::model::operation::Symbol;
use crate::support::exact::lowest_terms;
use crate::support::stream::Stream;
use dashu_int::UBig;
use dashu_int::ops::{Gcd, UnsignedAbs};
use dashu_ratio::RBig;
use std::fmt;
use thiserror::Error;

/// The law of the inputs, as a user states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputLaw {
    /// Every symbol equally likely at every position.
    Uniform,
    /// Independent positions, one row of q probabilities each.
    Product(Vec<Vec<RBig>>),
    /// x_1 uniform; the next symbol repeats with this probability, else is uniform over the others.
    Markov(RBig),
}

impl fmt::Display for InputLaw {
    /// `uniform`, `markov:9/10`, and `product` without its rows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InputLaw::Uniform => f.write_str("uniform"),
            InputLaw::Markov(k) => write!(f, "markov:{}", lowest_terms(k)),
            InputLaw::Product(_) => f.write_str("product"),
        }
    }
}

/// A law that is not one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InputError {
    /// A repeat probability outside [0, 1].
    #[error("markov:{0} is refused: the probability of a repeat must lie in [0, 1]")]
    RepeatOutsideUnitInterval(String),
    /// A product law with the wrong number of rows.
    #[error(
        "the product law has {got} rows: it needs one for each of the {want} positions of the longest input"
    )]
    WrongRowCount {
        /// Rows given.
        got: usize,
        /// Rows needed.
        want: usize,
    },
    /// A row with the wrong number of probabilities.
    #[error("position {position} of the product law has {got} probabilities: it needs q = {q}")]
    WrongRowLength {
        /// The position, counted from 1.
        position: usize,
        /// Probabilities given.
        got: usize,
        /// Probabilities needed.
        q: usize,
    },
    /// A negative probability.
    #[error(
        "position {position} of the product law gives symbol {symbol} the probability {value}: it must lie in [0, 1]"
    )]
    Negative {
        /// The position, counted from 1.
        position: usize,
        /// The symbol.
        symbol: usize,
        /// What was given.
        value: String,
    },
    /// A row that does not sum to one.
    #[error(
        "position {position} of the product law sums to {sum}: it must sum to exactly 1 (thirds are written \"1/3\")"
    )]
    RowSum {
        /// The position, counted from 1.
        position: usize,
        /// What it sums to.
        sum: String,
    },
    /// Probabilities whose common denominator is beyond 64 bits.
    #[error(
        "the probabilities of position {position} have a common denominator of {bits} bits: 63 are accepted"
    )]
    TooFine {
        /// The position, counted from 1.
        position: usize,
        /// The denominator's size.
        bits: usize,
    },
}

/// The integer weights of one position given the symbol before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    den: u64,
    /// q weights, or q rows of q when they depend on the symbol before.
    weights: Vec<u64>,
}

impl Position {
    /// What the weights of this position sum to, whatever came before.
    pub fn denominator(&self) -> u64 {
        self.den
    }
}

/// A law made ready for an alphabet and a longest length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    law: InputLaw,
    q: usize,
    /// Distinct positions, and which of them each t = 1.. uses.
    kinds: Vec<Position>,
    kind_of: Vec<usize>,
}

impl Inputs {
    /// Turns `law` into integer weights for `q` symbols and positions 1..=`longest`.
    pub fn new(law: &InputLaw, q: usize, longest: usize) -> Result<Inputs, InputError> {
        let uniform = || Position {
            den: q as u64,
            weights: vec![1; q],
        };
        let (kinds, kind_of) = match law {
            InputLaw::Uniform => (vec![uniform()], vec![0; longest]),
            InputLaw::Markov(k) => {
                let mut kind_of = vec![1; longest];
                kind_of[0] = 0;
                (vec![uniform(), markov(k, q)?], kind_of)
            }
            InputLaw::Product(rows) => {
                if rows.len() != longest {
                    return Err(InputError::WrongRowCount {
                        got: rows.len(),
                        want: longest,
                    });
                }
                let kinds: Result<_, _> =
                    (1..).zip(rows).map(|(t, row)| product(row, q, t)).collect();
                (kinds?, (0..longest).collect())
            }
        };
        Ok(Inputs {
            law: law.clone(),
            q,
            kinds,
            kind_of,
        })
    }

    /// The law as it was stated.
    pub fn law(&self) -> &InputLaw {
        &self.law
    }

    /// The weight of `x` at position `t` (from 1) after `before` (ignored at t = 1).
    #[inline]
    pub fn weight(&self, t: usize, before: Symbol, x: Symbol) -> u64 {
        let w = &self.kinds[self.kind_of[t - 1]].weights;
        if w.len() == self.q {
            w[x as usize]
        } else {
            w[before as usize * self.q + x as usize]
        }
    }

    /// The weights of the symbols of an input, position by position. Their product is its weight.
    pub fn weights(&self, x: &[Symbol]) -> impl Iterator<Item = u64> {
        (0..x.len()).map(|i| self.weight(i + 1, x[i.max(1) - 1], x[i]))
    }

    /// Whether an input has positive probability.
    pub fn occurs(&self, x: &[Symbol]) -> bool {
        self.weights(x).all(|weight| weight > 0)
    }

    /// What the weights of position `t` sum to.
    pub fn denominator(&self, t: usize) -> u64 {
        self.kinds[self.kind_of[t - 1]].den
    }

    /// A number equal for positions with the same weights.
    pub fn kind(&self, t: usize) -> usize {
        self.kind_of[t - 1]
    }

    /// Whether some position depends on the symbol before it.
    pub fn is_correlated(&self) -> bool {
        self.kinds.iter().any(|p| p.weights.len() != self.q)
    }

    /// Whether every sequence has positive probability.
    pub fn has_full_support(&self) -> bool {
        self.kinds.iter().all(|p| p.weights.iter().all(|&w| w > 0))
    }

    /// Whether every sequence of a length has the same probability.
    pub fn is_uniform(&self) -> bool {
        self.kinds.iter().all(|p| p.weights.iter().all(|&w| w == 1))
    }

    /// Draws an input of a length, each with exactly its probability: a whole number uniform below
    /// the denominator of a position falls into the weight of one symbol.
    ///
    /// ```
    /// use foldglass::model::inputs::Inputs;
    /// use foldglass::{InputLaw, Stream};
    /// let inputs = Inputs::new(&InputLaw::Uniform, 5, 7).unwrap();
    /// assert_eq!(inputs.draw(7, &mut Stream::new(1, 0)).len(), 7);
    /// ```
    ///
    /// # Panics
    /// If the law has no such length.
    pub fn draw(&self, length: usize, stream: &mut Stream) -> Vec<Symbol> {
        let longest = self.kind_of.len();
        assert!(
            length <= longest,
            "an input of length {length} of {longest}"
        );
        let mut input = Vec::with_capacity(length);
        let mut before = 0;
        for t in 1..=length {
            before = self.draw_next(t, before, stream);
            input.push(before);
        }
        input
    }

    /// Draws the symbol at position `t` (from 1) after `before` (ignored at t = 1).
    #[inline]
    pub fn draw_next(&self, t: usize, before: Symbol, stream: &mut Stream) -> Symbol {
        let mut rest = below(self.denominator(t), stream);
        let weights = (0..self.q as Symbol).map(|x| self.weight(t, before, x));
        // The weights sum to the denominator, so that one of them holds the number.
        let drawn = weights.take_while(|&weight| {
            let passed = rest >= weight;
            rest -= if passed { weight } else { 0 };
            passed
        });
        drawn.count() as Symbol
    }

    /// Whether `x` can stand at position `t` at all.
    pub fn can_occur(&self, t: usize, x: Symbol) -> bool {
        // The chain starts uniform, and its law treats all symbols alike: each occurs everywhere.
        self.is_correlated() || self.weight(t, 0, x) > 0
    }
}

/// A whole number uniform on 0..n, without bias.
pub(crate) fn below(n: u64, stream: &mut Stream) -> u64 {
    if let Ok(narrow) = u32::try_from(n) {
        return stream.below(narrow).into();
    }
    // Numbers of as many bits as n has, until one is below it: at most two on average.
    let spare = (n - 1).leading_zeros();
    loop {
        let mut bytes = [0; 8];
        stream.fill(&mut bytes);
        let number = u64::from_le_bytes(bytes) >> spare;
        if number < n {
            return number;
        }
    }
}

fn markov(k: &RBig, q: usize) -> Result<Position, InputError> {
    if *k < RBig::ZERO || *k > RBig::ONE {
        return Err(InputError::RepeatOutsideUnitInterval(k.to_string()));
    }
    let a = k.numerator().unsigned_abs();
    let b = k.denominator().clone();
    let others = UBig::from(q - 1);
    let (repeat, other, den) = (&a * &others, &b - &a, &b * &others);
    let g = (&den).gcd(&repeat).gcd(&other);
    let repeat = (repeat / &g, other / &g, den / &g);
    let narrow = |n: &UBig| u64::try_from(n.clone()).ok().filter(|&n| n < 1 << 63);
    let (Some(same), Some(other), Some(den)) =
        (narrow(&repeat.0), narrow(&repeat.1), narrow(&repeat.2))
    else {
        return Err(InputError::TooFine {
            position: 2,
            bits: bits(&repeat.2),
        });
    };
    if same == other {
        return Ok(Position {
            den,
            weights: vec![same; q],
        });
    }
    let weights = (0..q * q)
        .map(|i| if i / q == i % q { same } else { other })
        .collect();
    Ok(Position { den, weights })
}

fn product(row: &[RBig], q: usize, position: usize) -> Result<Position, InputError> {
    if row.len() != q {
        return Err(InputError::WrongRowLength {
            position,
            got: row.len(),
            q,
        });
    }
    if let Some(symbol) = row.iter().position(|p| *p < RBig::ZERO) {
        return Err(InputError::Negative {
            position,
            symbol,
            value: row[symbol].to_string(),
        });
    }
    let sum = row.iter().fold(RBig::ZERO, |sum, p| sum + p);
    if sum != RBig::ONE {
        return Err(InputError::RowSum {
            position,
            sum: sum.to_string(),
        });
    }
    let den = row
        .iter()
        .fold(UBig::ONE, |den, p| lcm(&den, p.denominator()));
    let narrow = u64::try_from(den.clone()).ok().filter(|&d| d < 1 << 63);
    let Some(narrow) = narrow else {
        return Err(InputError::TooFine {
            position,
            bits: bits(&den),
        });
    };
    let weight = |p: &RBig| {
        let n = p.numerator().unsigned_abs() * (&den / p.denominator());
        u64::try_from(n).expect("a weight is at most its denominator")
    };
    Ok(Position {
        den: narrow,
        weights: row.iter().map(weight).collect(),
    })
}

/// The least common multiple of two positive integers.
fn lcm(a: &UBig, b: &UBig) -> UBig {
    a / a.gcd(b) * b
}

fn bits(n: &UBig) -> usize {
    use dashu_int::ops::BitTest;
    n.bit_len()
}

#[cfg(feature = "serde")]
mod form;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::operation::{digits, number};
    use crate::support::exact::parse;
    use crate::support::stats::chi_square_tail;

    fn markov_inputs(k: &str, q: usize) -> Inputs {
        Inputs::new(&InputLaw::Markov(parse(k).unwrap()), q, 4).unwrap()
    }

    #[test]
    fn parity_at_nine_tenths_has_weights_nine_and_one_over_ten() {
        let inputs = markov_inputs("0.9", 2);
        assert_eq!(
            (
                inputs.weight(2, 1, 1),
                inputs.weight(2, 1, 0),
                inputs.denominator(2)
            ),
            (9, 1, 10)
        );
        assert_eq!((inputs.weight(1, 0, 1), inputs.denominator(1)), (1, 2));
    }

    #[test]
    fn weights_of_every_position_sum_to_its_denominator() {
        for k in ["0", "1/7", "0.35", "1"] {
            let inputs = markov_inputs(k, 5);
            for before in 0..5 {
                let sum: u64 = (0..5).map(|x| inputs.weight(3, before, x)).sum();
                assert_eq!(sum, inputs.denominator(3), "k = {k}");
            }
        }
    }

    #[test]
    fn a_chain_that_repeats_as_often_as_chance_is_the_uniform_law() {
        assert!(markov_inputs("1/5", 5).is_uniform());
        assert!(!markov_inputs("1/5", 5).is_correlated());
    }

    #[test]
    fn a_repeat_probability_outside_the_unit_interval_is_refused() {
        for k in ["-0.1", "1.0001", "10/9"] {
            let law = InputLaw::Markov(parse(k).unwrap());
            let error = Inputs::new(&law, 2, 3).unwrap_err();
            assert!(
                matches!(error, InputError::RepeatOutsideUnitInterval(_)),
                "{error}"
            );
        }
    }

    #[test]
    fn product_rows_are_checked_one_by_one() {
        let rows = |text: &[&[&str]]| {
            InputLaw::Product(
                text.iter()
                    .map(|r| r.iter().map(|p| parse(p).unwrap()).collect())
                    .collect(),
            )
        };
        let refuse = |text: &[&[&str]]| Inputs::new(&rows(text), 2, 2).unwrap_err().to_string();
        assert!(refuse(&[&["1/2", "1/2"]]).contains("1 rows"));
        assert!(refuse(&[&["1/2", "1/2"], &["1"]]).contains("position 2"));
        assert!(refuse(&[&["1/2", "1/3"], &["0", "1"]]).contains("5/6"));
        assert!(refuse(&[&["3/2", "-1/2"], &["0", "1"]]).contains("symbol 1"));
        let good = Inputs::new(&rows(&[&["1/2", "1/2"], &["1/3", "2/3"]]), 2, 2).unwrap();
        assert_eq!((good.weight(2, 0, 1), good.denominator(2)), (2, 3));
    }

    fn product_of(text: &[&[&str]]) -> InputLaw {
        let row = |row: &&[&str]| row.iter().map(|p| parse(p).unwrap()).collect();
        InputLaw::Product(text.iter().map(row).collect())
    }

    /// Pearson's statistic of drawn inputs of length 3 against all that can occur.
    fn assert_drawn_as_weighed(law: &InputLaw, q: usize) {
        const DRAWS: usize = 100_000;
        let inputs = Inputs::new(law, q, 3).unwrap();
        let mut counts = vec![0usize; q.pow(3)];
        let mut stream = Stream::new(12, 0);
        for _ in 0..DRAWS {
            let input = inputs.draw(3, &mut stream);
            counts[number(&input, q)] += 1;
        }
        let (mut chi, mut occurring) = (0.0, 0);
        for (n, &count) in counts.iter().enumerate() {
            let x = digits(n, q, 3);
            let share = |(t, weight)| weight as f64 / inputs.denominator(t) as f64;
            let expected = DRAWS as f64 * (1..).zip(inputs.weights(&x)).map(share).product::<f64>();
            if expected == 0.0 {
                assert_eq!(count, 0, "{x:?} cannot occur under {law:?}");
                continue;
            }
            chi += (count as f64 - expected).powi(2) / expected;
            occurring += 1;
        }
        let tail = chi_square_tail(chi, occurring - 1);
        assert!(tail > 1e-6, "{law:?}: chi-square {chi}, tail {tail:e}");
    }

    #[test]
    fn inputs_are_drawn_as_often_as_they_weigh() {
        assert_drawn_as_weighed(&InputLaw::Uniform, 5);
        for k in ["9/10", "1/3", "1", "0"] {
            assert_drawn_as_weighed(&InputLaw::Markov(parse(k).unwrap()), 3);
        }
        // Denominators of 2, 3 and 63 bits; symbols that do not occur.
        let fine = [
            "3074457345618258603/9223372036854775807",
            "6148914691236517204/9223372036854775807",
        ];
        let law = product_of(&[&["1/2", "1/2"], &["2/3", "1/3"], &fine]);
        assert_drawn_as_weighed(&law, 2);
        let holes = product_of(&[&["1/2", "0", "1/2"], &["0", "1", "0"], &["0", "1/7", "6/7"]]);
        assert_drawn_as_weighed(&holes, 3);
    }

    #[test]
    fn a_shorter_input_is_the_beginning_of_a_longer_one_from_the_same_stream() {
        let inputs = markov_inputs("0.9", 2);
        let drawn = |length| inputs.draw(length, &mut Stream::new(4, 2));
        assert_eq!(drawn(2), drawn(4)[..2]);
        assert!(drawn(0).is_empty());
    }
}
