//! Draws tokens from the rows of a policy by integers (paper, section 2.1).
//!
//! A random number u of 31 bits is compared with the sums of the first probabilities of a row, each rounded to a
//! multiple of 2^-31: the token is the number of sums that are at most u. So every token has its probability but for
//! 2^-31, and one of probability 0 is never drawn.

use crate::model::operation::Symbol;
use crate::support::vectors::small;
use std::ops::Range;

/// 2^31: the number of values of u.
const VALUES: f64 = 2_147_483_648.0;

/// The rows of a policy, ready for draws.
#[derive(Debug, Clone)]
pub(in crate::dynamics) struct DrawTable {
    q: usize,
    /// The limits that a cell has: at least q - 1, the rest is padding that no number exceeds.
    stride: usize,
    /// By cell: action a is passed by every u above limit a.
    limits: Vec<i32>,
}

impl DrawTable {
    pub fn new(q: usize, cells: usize) -> DrawTable {
        let stride = match q - 1 {
            few @ 0..=16 => few.next_power_of_two(),
            many => many,
        };
        DrawTable {
            q,
            stride,
            limits: vec![i32::MAX; cells * stride],
        }
    }

    /// The bytes of a table.
    pub fn bytes(q: usize, cells: usize) -> Option<u128> {
        let stride = 2 * q as u128;
        stride.checked_mul(4)?.checked_mul(cells as u128)
    }

    /// Takes the rows of a policy, one behind the other.
    pub fn set_rows(&mut self, rows: &[f64]) {
        let limits = self.limits.chunks_exact_mut(self.stride);
        for (row, limits) in rows.chunks_exact(self.q).zip(limits) {
            set_limits(row, limits);
        }
    }

    /// Takes the row of a cell.
    #[inline]
    pub fn set_row(&mut self, cell: usize, row: &[f64]) {
        set_limits(row, &mut self.limits[cell * self.stride..][..self.stride]);
    }

    /// Draws a token at each of some cells of a range, by a word of four bytes each.
    #[inline(always)]
    pub fn draw(&self, of: Range<usize>, cells: &[u32], words: &[u8], tokens: &mut [Symbol]) {
        let (words, _) = words.as_chunks::<4>();
        let done = self.draw_among_few(of, cells, words, tokens);
        let (cells, words, tokens) = (&cells[done..], &words[done..], &mut tokens[done..]);
        match self.stride {
            1 => draw_among::<1>(&self.limits, cells, words, tokens),
            2 => draw_among::<2>(&self.limits, cells, words, tokens),
            4 => draw_among::<4>(&self.limits, cells, words, tokens),
            8 => draw_among::<8>(&self.limits, cells, words, tokens),
            16 => draw_among::<16>(&self.limits, cells, words, tokens),
            stride => {
                for ((&cell, &word), token) in cells.iter().zip(words).zip(tokens) {
                    let limits = &self.limits[cell as usize * stride..][..stride];
                    let u = number(word);
                    *token = limits.partition_point(|&limit| u > limit) as Symbol;
                }
            }
        }
    }
}

impl DrawTable {
    /// Draws the first tokens by small tables, one for each action, where the range has few cells, and returns how many.
    #[inline(always)]
    fn draw_among_few(
        &self,
        of: Range<usize>,
        cells: &[u32],
        words: &[[u8; 4]],
        tokens: &mut [Symbol],
    ) -> usize {
        const ACTIONS: usize = 8;
        if of.len() > small::MOST || self.q > ACTIONS {
            return 0;
        }
        let mut tables = [[0; small::MOST]; ACTIONS];
        let limits = &self.limits[of.start * self.stride..of.end * self.stride];
        for (number, limits) in limits.chunks_exact(self.stride).enumerate() {
            for (table, &limit) in tables.iter_mut().zip(limits) {
                table[number] = limit;
            }
        }
        let tables = &tables[..self.q - 1];
        small::count_below(tables, of.start as u32, words, cells, tokens)
    }
}

/// The random number of a word.
#[inline(always)]
fn number(word: [u8; 4]) -> i32 {
    (u32::from_le_bytes(word) >> 1) as i32
}

#[inline(always)]
fn draw_among<const LIMITS: usize>(
    limits: &[i32],
    cells: &[u32],
    words: &[[u8; 4]],
    tokens: &mut [Symbol],
) {
    let (limits, _) = limits.as_chunks::<LIMITS>();
    for ((&cell, &word), token) in cells.iter().zip(words).zip(tokens) {
        let u = number(word);
        let passed = limits[cell as usize].map(|limit| Symbol::from(u > limit));
        *token = passed.iter().sum();
    }
}

/// One less than each sum of first probabilities, of 2^31; at 1 from the last action on that can be drawn.
#[inline]
fn set_limits(row: &[f64], limits: &mut [i32]) {
    let last = row.iter().rposition(|&p| p > 0.0).unwrap_or(0);
    let mut sum = 0.0;
    for (action, (limit, &p)) in limits.iter_mut().zip(row).enumerate() {
        sum += p;
        // A conversion to i32 stops at the largest, which is 2^31 - 1: all numbers are at most this.
        let rounded = (sum * VALUES + 0.5) as i64 - 1;
        *limit = if action >= last {
            i32::MAX
        } else {
            rounded.min(i32::MAX.into()) as i32
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of 31 bits that draw each token, counted at the limits. Some are drawn in vectors, others one by one.
    fn counts(row: &[f64]) -> Vec<i64> {
        let mut table = DrawTable::new(row.len(), 2);
        table.set_rows(&[row, row].concat());
        let first = |token: usize| {
            // The least number that draws at least this token, by bisection.
            let (mut low, mut high) = (0i64, 1 << 31);
            while low < high {
                let middle = (low + high) / 2;
                let word = ((middle as u32) << 1).to_le_bytes();
                let mut drawn = [0; 17];
                table.draw(0..2, &[1; 17], word.repeat(17).as_slice(), &mut drawn);
                assert!(drawn.iter().all(|&token| token == drawn[0]));
                if usize::from(drawn[0]) >= token {
                    high = middle
                } else {
                    low = middle + 1
                }
            }
            low
        };
        let firsts: Vec<i64> = (0..=row.len()).map(first).collect();
        firsts.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn every_token_has_its_probability_and_one_of_probability_0_is_never_drawn() {
        let third = 1.0 / 3.0;
        let long: Vec<f64> = (1..=21).map(|a| f64::from(a) / 231.0).collect();
        for row in [
            &[0.5, 0.5][..],
            &[1.0, 0.0],
            &[0.0, 1.0],
            &[third, third, third],
            &[0.0, 0.3, 0.0, 0.7, 0.0],
            &[0.2; 5],
            &[1e-12, 1.0 - 2e-12, 1e-12],
            &[0.125; 8],
            &[1.0 / 17.0; 17],
            &long,
        ] {
            for (count, p) in counts(row).iter().zip(row) {
                assert!(
                    (*count as f64 - p * VALUES).abs() <= 1.0,
                    "{row:?}: {count}"
                );
                assert!(*p > 0.0 || *count == 0, "{row:?}: {count}");
            }
        }
    }
}
