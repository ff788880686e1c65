//! Draws uniform Latin squares by the walk of Jacobson and Matthews (paper, section 2).
//!
//! A square is a cube of zeros and ones, 1 at (row, column, symbol) where the square holds that
//! symbol there; every line of the cube sums to 1. A move adds 1 to a cell that holds 0 and
//! repairs the sums on a 2x2x2 subcube, which may leave one cell at -1: the cube is then improper,
//! and moves start at that cell until it is proper again. Watched only when proper, the walk is
//! symmetric and connected, so its law tends to the uniform one (J. Combin. Designs 4, 405, 1996).

use std::{array, mem};

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Construction, Operation, OperationError, Symbol};

impl Operation {
    /// A uniform Latin square, `random:Q`, a function of `q` and `seed` alone.
    ///
    /// The walk starts at the cyclic square and ends at the `q^2 + 100`-th proper square it meets
    /// (or, on a fair coin, the next), after about `q^3 + 100 q` moves of constant cost:
    /// milliseconds at q = 100, seconds at 500.
    pub fn random(q: usize, seed: u64) -> Result<Operation, OperationError> {
        Construction::Random { q, seed }.accept_order()?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut cube = IncidenceCube::cyclic(q);
        // The end is counted in proper squares: after a fixed number of moves the next proper
        // square would favour those that end long excursions. The coin is for q = 2, where the
        // walk alternates between the two squares.
        let visits = q * q + 100 + usize::from(rng.random::<bool>());
        for _ in 0..visits {
            cube.walk_to_next_proper(&mut rng);
        }
        let [_, _, table] = cube.ones;
        Ok(Operation { q, table })
    }
}

/// A (row, column, symbol).
type Cell = [Symbol; 3];

struct IncidenceCube {
    q: usize,
    /// For each axis, the coordinate of a 1 on every line along it, at [`IncidenceCube::line`].
    ones: [Vec<Symbol>; 3],
    improper: Option<Improper>,
}

/// The cell that holds -1, and the second 1 of each of the three lines through it.
struct Improper {
    cell: Cell,
    second_ones: Cell,
}

impl IncidenceCube {
    fn cyclic(q: usize) -> IncidenceCube {
        let pairs = || (0..q).flat_map(|a| (0..q).map(move |b| (a, b)));
        let difference: Vec<Symbol> = pairs().map(|(a, b)| ((b + q - a) % q) as Symbol).collect();
        let sum = pairs().map(|(a, b)| ((a + b) % q) as Symbol).collect();
        IncidenceCube {
            q,
            ones: [difference.clone(), difference, sum],
            improper: None,
        }
    }

    fn walk_to_next_proper(&mut self, rng: &mut impl Rng) {
        self.step(rng);
        while self.improper.is_some() {
            self.step(rng);
        }
    }

    fn step(&mut self, rng: &mut impl Rng) {
        // `opposite` picks a 1 on each line through `cell`; `kept` is the 1 that line has after.
        let (cell, opposite, kept) = match self.improper.take() {
            None => {
                let cell = self.random_zero(rng);
                (cell, self.ones_through(cell), cell)
            }
            Some(Improper {
                cell,
                second_ones: mut kept,
            }) => {
                let mut opposite = self.ones_through(cell);
                for axis in 0..3 {
                    if rng.random::<bool>() {
                        mem::swap(&mut opposite[axis], &mut kept[axis]);
                    }
                }
                (cell, opposite, kept)
            }
        };
        let proper = self.ones_through(opposite)[2] == opposite[2];
        for axis in 0..3 {
            self.set_one(axis, cell, kept[axis]);
            for other in [(axis + 1) % 3, (axis + 2) % 3] {
                let mut corner = opposite;
                corner[other] = cell[other];
                self.set_one(axis, corner, opposite[axis]);
            }
            if proper {
                self.set_one(axis, opposite, cell[axis]);
            }
        }
        if !proper {
            self.improper = Some(Improper {
                cell: opposite,
                second_ones: cell,
            });
        }
    }

    fn random_zero(&self, rng: &mut impl Rng) -> Cell {
        let q = self.q as Symbol;
        let (row, column) = (rng.random_range(0..q), rng.random_range(0..q));
        let [_, _, present] = self.ones_through([row, column, 0]);
        [row, column, (present + rng.random_range(1..q)) % q]
    }

    fn ones_through(&self, cell: Cell) -> Cell {
        array::from_fn(|axis| self.ones[axis][self.line(axis, cell)])
    }

    fn set_one(&mut self, axis: usize, cell: Cell, coordinate: Symbol) {
        let line = self.line(axis, cell);
        self.ones[axis][line] = coordinate;
    }

    /// The index of the line along `axis` through `cell`, whatever the cell's own coordinate there.
    fn line(&self, axis: usize, cell: Cell) -> usize {
        let [row, column, symbol] = cell.map(usize::from);
        match axis {
            0 => column * self.q + symbol,
            1 => row * self.q + symbol,
            _ => row * self.q + column,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::model::operation::tests::integer_rows;

    /// The chi-square statistic of `draws` seeds against the uniform law on `squares` squares, and
    /// its quantile at a tail of 1e-6 (Wilson and Hilferty's cube of a normal, z = 4.753).
    fn chi_square(q: usize, squares: usize, draws: u64) -> (f64, f64) {
        let mut counts = HashMap::new();
        for seed in 0..draws {
            *counts
                .entry(Operation::random(q, seed).unwrap())
                .or_insert(0u64) += 1;
        }
        assert_eq!(counts.len(), squares, "squares met at q = {q}");
        let expected = draws as f64 / squares as f64;
        let statistic = counts
            .values()
            .map(|&n| (n as f64 - expected).powi(2) / expected)
            .sum();
        let freedom = (squares - 1) as f64;
        let spread = 2.0 / (9.0 * freedom);
        (
            statistic,
            freedom * (1.0 - spread + 4.753 * spread.sqrt()).powi(3),
        )
    }

    #[test]
    fn all_squares_of_2_3_and_4_symbols_are_equally_likely() {
        for (q, squares, draws) in [(2, 2, 2_000), (3, 12, 24_000), (4, 576, 23_040)] {
            let (statistic, bound) = chi_square(q, squares, draws);
            assert!(
                statistic < bound,
                "q = {q}: chi-square {statistic} above {bound}"
            );
        }
    }

    #[test]
    fn a_seed_gives_one_square_and_another_seed_another() {
        let draw = |seed| Operation::random(10, seed).unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn a_square_of_100_symbols_is_latin() {
        let square = Operation::random(100, 0).unwrap();
        assert_eq!(Operation::from_rows(&integer_rows(&square)), Ok(square));
    }

    #[test]
    fn the_three_tables_stay_one_cube() {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        for q in 2..8 {
            let mut cube = IncidenceCube::cyclic(q);
            for _ in 0..200 {
                cube.walk_to_next_proper(&mut rng);
                for row in 0..q as Symbol {
                    for column in 0..q as Symbol {
                        let symbol = cube.ones_through([row, column, 0])[2];
                        let cell = [row, column, symbol];
                        assert_eq!(cube.ones_through(cell), cell);
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn random_squares_are_latin(q in 2usize..=12, seed: u64) {
            let square = Operation::random(q, seed).unwrap();
            prop_assert_eq!(Operation::from_rows(&integer_rows(&square)), Ok(square));
        }
    }
}
