//! Keeps rows of whole numbers, each once, with how many codes they stand for.

use crate::reward::count::rows::{RowTable, grow_by_a_quarter};
use crate::reward::count::weight::Whole;
use dashu_int::UBig;

/// A number of codes.
pub(super) trait CodeTally: Clone + Send + Sync + 'static {
    fn of(n: usize) -> Self;
    fn add(&mut self, other: &Self);
    fn times(&self, other: &Self) -> Self;
    fn is_zero(&self) -> bool;
    fn to_ubig(&self) -> UBig;
}

macro_rules! machine_tally {
    ($int:ty) => {
        impl CodeTally for $int {
            fn of(n: usize) -> $int {
                n as $int
            }

            #[inline]
            fn add(&mut self, other: &$int) {
                *self += other;
            }

            #[inline]
            fn times(&self, other: &$int) -> $int {
                self * other
            }

            fn is_zero(&self) -> bool {
                *self == 0
            }

            fn to_ubig(&self) -> UBig {
                (*self).into()
            }
        }
    };
}

machine_tally!(u64);
machine_tally!(u128);

impl CodeTally for UBig {
    fn of(n: usize) -> UBig {
        n.into()
    }

    fn add(&mut self, other: &UBig) {
        *self += other;
    }

    fn times(&self, other: &UBig) -> UBig {
        self * other
    }

    fn is_zero(&self) -> bool {
        *self == UBig::ZERO
    }

    fn to_ubig(&self) -> UBig {
        self.clone()
    }
}

/// Rows of one width, and their tallies.
#[derive(Debug)]
pub(super) struct Table<W, C> {
    rows: RowTable<W>,
    tallies: Vec<C>,
}

impl<W: Whole, C: CodeTally> Table<W, C> {
    pub fn new(width: usize) -> Table<W, C> {
        Table {
            rows: RowTable::new(width),
            tallies: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[W], &C)> {
        self.rows.iter().zip(&self.tallies)
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.tallies.clear();
    }

    /// Adds to the tally of a row of this hash; says whether the row is new.
    pub fn add(&mut self, row: &[W], hash: u64, tally: &C) -> bool {
        let (number, is_new) = self.rows.number(row, hash);
        if is_new {
            grow_by_a_quarter(&mut self.tallies, 1);
            self.tallies.push(tally.clone());
        } else {
            self.tallies[number as usize].add(tally);
        }
        is_new
    }

    /// About the bytes that a row takes in a large table.
    pub fn bytes_per_row(width: usize) -> usize {
        RowTable::<W>::bytes_per_row(width, size_of::<C>())
    }
}
