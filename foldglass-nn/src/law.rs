//! Draws lengths and input symbols by 32-bit numbers, with the probabilities of a task.
//!
//! Of numbers from 0 to 2^32, the first part belongs to the first choice, the next to the second, and so
//! on; the parts end at whole numbers, so a probability is off by less than 2^-32.

use crate::philox::below;
use foldglass::model::inputs::{InputError, InputLaw, Inputs};

/// Where the parts of choices with these weights end, the last left out.
fn ends(weights: &[u64]) -> Vec<u64> {
    let total: u128 = weights.iter().map(|&w| u128::from(w)).sum();
    let (_, but_last) = weights.split_last().expect("a choice");
    (but_last.iter())
        .scan(0, |sum, &weight| {
            *sum += u128::from(weight);
            // Weights are below 2^64: the product has at most 96 bits and some of their number.
            Some(((*sum << 32) / total) as u64)
        })
        .collect()
}

/// The choice to which a number belongs.
fn choice(ends: &[u64], word: u32) -> usize {
    ends.iter().filter(|&&end| u64::from(word) >= end).count()
}

/// Lengths, and how likely each is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LengthLaw {
    lengths: Vec<usize>,
    /// Empty where all are equally likely.
    ends: Vec<u64>,
}

impl LengthLaw {
    /// Lengths that are equally likely.
    pub fn equal(lengths: Vec<usize>) -> LengthLaw {
        let ends = Vec::new();
        LengthLaw { lengths, ends }
    }

    /// Lengths with weights, one each; none are equal ones.
    ///
    /// # Panics
    /// If there are weights, but not one for each length.
    pub fn weighted(lengths: Vec<usize>, weights: &[u64]) -> LengthLaw {
        if weights.is_empty() {
            return LengthLaw::equal(lengths);
        }
        assert_eq!(lengths.len(), weights.len(), "a weight for each length");
        let ends = ends(weights);
        LengthLaw { lengths, ends }
    }

    /// The lengths.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Where the parts of the lengths end, the last left out; empty where all are equally likely.
    pub fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// The length to which a number belongs.
    pub fn draw(&self, word: u32) -> usize {
        let which = match self.ends[..] {
            [] => below(word, self.lengths.len() as u32) as usize,
            _ => choice(&self.ends, word),
        };
        self.lengths[which]
    }
}

/// The law of a symbol, given its position and the symbol before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolLaw {
    q: usize,
    /// q - 1 for each position and symbol before it; empty for uniform inputs.
    ends: Vec<u64>,
}

impl SymbolLaw {
    /// The law of positions 1 to `longest`.
    pub fn new(law: &InputLaw, q: usize, longest: usize) -> Result<SymbolLaw, InputError> {
        if *law == InputLaw::Uniform {
            return Ok(SymbolLaw::uniform(q));
        }
        let inputs = Inputs::new(law, q, longest)?;
        let row = |t: usize, before: u16| {
            let weights: Vec<u64> = (0..q as u16).map(|x| inputs.weight(t, before, x)).collect();
            ends(&weights)
        };
        let rows = (1..=longest).flat_map(|t| (0..q as u16).map(move |before| (t, before)));
        let ends = rows.flat_map(|(t, before)| row(t, before)).collect();
        Ok(SymbolLaw { q, ends })
    }

    /// All symbols equally likely.
    pub fn uniform(q: usize) -> SymbolLaw {
        let ends = Vec::new();
        SymbolLaw { q, ends }
    }

    /// Where the parts of the symbols end, the last left out, at a position from 0 after a symbol; none
    /// for uniform inputs.
    pub fn ends(&self, position: usize, before: usize) -> &[u64] {
        if self.ends.is_empty() {
            return &[];
        }
        &self.ends[(position * self.q + before) * (self.q - 1)..][..self.q - 1]
    }

    /// The symbol to which a number belongs at a position from 0, after the symbol `before`, which is
    /// ignored at position 0.
    pub fn draw(&self, position: usize, before: u8, word: u32) -> u8 {
        match self.ends(position, before.into()) {
            [] => below(word, self.q as u32) as u8,
            ends => choice(ends, word) as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_long_as_their_weights() {
        assert_eq!(ends(&[1, 1]), [1 << 31]);
        assert_eq!(ends(&[3, 0, 1]), [3 << 30, 3 << 30]);
        assert_eq!(ends(&[0, 0, 1]), [0, 0]);
        assert_eq!(ends(&[1, 0, 0]), [1 << 32, 1 << 32]);
        // The last number of the first part, and the first of the last: the middle has none.
        let ends = ends(&[3, 0, 1]);
        assert_eq!(choice(&ends, (3 << 30) - 1), 0);
        assert_eq!(choice(&ends, 3 << 30), 2);
        let largest = super::ends(&[u64::MAX, u64::MAX, u64::MAX, u64::MAX]);
        assert_eq!(largest, [1 << 30, 2 << 30, 3 << 30]);
        assert_eq!(LengthLaw::weighted(vec![4, 7], &[1, 3]).draw(1 << 30), 7);
    }
}
