//! Keeps rows of whole numbers, each once, with how many codes they stand for.

use crate::reward::count::weight::Whole;
use dashu_int::UBig;

/// A whole number that can be part of a key.
pub(super) trait Number: Whole + Ord + Sync {
    fn mix(self, hash: u64) -> u64;
}

/// Odd, and without a pattern in its bits (the golden ratio).
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Number for i64 {
    #[inline]
    fn mix(self, hash: u64) -> u64 {
        (hash.rotate_left(23) ^ self as u64).wrapping_mul(MULTIPLIER)
    }
}

impl Number for i128 {
    #[inline]
    fn mix(self, hash: u64) -> u64 {
        ((self >> 64) as i64).mix((self as i64).mix(hash))
    }
}

/// A number of codes.
pub(super) trait Tally: Clone + Send + Sync + 'static {
    fn of(n: usize) -> Self;
    fn add(&mut self, other: &Self);
    fn times(&self, other: &Self) -> Self;
    fn is_zero(&self) -> bool;
    fn to_ubig(&self) -> UBig;
}

macro_rules! machine_tally {
    ($int:ty) => {
        impl Tally for $int {
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

impl Tally for UBig {
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

/// The hash of a row.
#[inline]
pub(super) fn hash<W: Number>(row: &[W]) -> u64 {
    let hash = row.iter().fold(row.len() as u64, |hash, n| n.mix(hash));
    hash ^ (hash >> 32)
}

/// Rows of one width, and their tallies.
#[derive(Debug)]
pub(super) struct Table<W, C> {
    width: usize,
    rows: Vec<W>,
    tallies: Vec<C>,
    /// Numbers of rows by hash, u32::MAX where there is none.
    slots: Vec<u32>,
}

const EMPTY: u32 = u32::MAX;

/// Slots of a table that holds little.
const FEW: usize = 64;

impl<W: Number, C: Tally> Table<W, C> {
    pub fn new(width: usize) -> Table<W, C> {
        Table {
            width,
            rows: Vec::new(),
            tallies: Vec::new(),
            slots: vec![EMPTY; FEW],
        }
    }

    pub fn len(&self) -> usize {
        self.tallies.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[W], &C)> {
        self.rows.chunks_exact(self.width).zip(&self.tallies)
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.tallies.clear();
        self.slots.truncate(FEW);
        self.slots.fill(EMPTY);
    }

    /// Adds to the tally of a row; says whether the row is new.
    pub fn add(&mut self, row: &[W], hash: u64, tally: &C) -> bool {
        debug_assert_eq!(row.len(), self.width);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                EMPTY => break,
                n if self.row(n) == row => {
                    self.tallies[n as usize].add(tally);
                    return false;
                }
                _ => slot = (slot + 1) & mask,
            }
        }
        self.slots[slot] = u32::try_from(self.len()).expect("fewer than 2^32 rows in a table");
        grow_by_a_quarter(&mut self.rows, self.width);
        grow_by_a_quarter(&mut self.tallies, 1);
        self.rows.extend_from_slice(row);
        self.tallies.push(tally.clone());
        if self.len() * 4 > self.slots.len() * 3 {
            self.rehash();
        }
        true
    }

    fn row(&self, n: u32) -> &[W] {
        &self.rows[n as usize * self.width..][..self.width]
    }

    fn rehash(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        self.slots.clear();
        self.slots.resize(mask + 1, EMPTY);
        for n in 0..self.len() as u32 {
            let mut slot = hash(self.row(n)) as usize & mask;
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = n;
        }
    }

    /// About the bytes that a row takes in a large table: a quarter may be unused, and a slot is
    /// between 3/8 and 3/4 full.
    pub fn bytes_per_row(width: usize) -> usize {
        (width * size_of::<W>() + size_of::<C>()) * 9 / 8 + 8
    }
}

/// Doubling would leave half of a large table unused.
fn grow_by_a_quarter<T>(list: &mut Vec<T>, more: usize) {
    if list.len() + more > list.capacity() && list.len() > 1024 {
        list.reserve_exact((list.len() / 4).max(more));
    }
}
