//! Numbers rows of integers, equal ones alike, in the order in which they come.

use super::weight::Whole;

/// The hash of a row.
#[inline]
pub(crate) fn hash<W: Whole>(row: &[W]) -> u64 {
    let hash = row.iter().fold(row.len() as u64, |hash, n| n.mix(hash));
    hash ^ (hash >> 32)
}

/// Rows of one width, each once.
#[derive(Debug)]
pub(crate) struct RowTable<W> {
    width: usize,
    len: usize,
    rows: Vec<W>,
    /// Numbers of rows by hash, [`EMPTY`] where there is none. A power of two, a quarter of it empty.
    slots: Vec<u32>,
}

const EMPTY: u32 = u32::MAX;

/// Slots of a table that holds little.
const FEW: usize = 64;

impl<W: Whole> RowTable<W> {
    /// # Panics
    /// If the width is 0.
    pub fn new(width: usize) -> RowTable<W> {
        assert!(width > 0, "rows have numbers");
        RowTable {
            width,
            len: 0,
            rows: Vec::new(),
            slots: vec![EMPTY; FEW],
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn iter(&self) -> impl Iterator<Item = &[W]> {
        self.rows.chunks_exact(self.width)
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.len = 0;
        self.rows.clear();
        self.slots.truncate(FEW);
        self.slots.fill(EMPTY);
    }

    /// The number of a row of this hash, and whether it is new.
    #[inline]
    pub fn number(&mut self, row: &[W], hash: u64) -> (u32, bool) {
        debug_assert_eq!(row.len(), self.width);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                EMPTY => break,
                n if self.row(n) == row => return (n, false),
                _ => slot = (slot + 1) & mask,
            }
        }
        let number = u32::try_from(self.len).expect("fewer than 2^32 rows in a table");
        self.slots[slot] = number;
        grow_by_a_quarter(&mut self.rows, self.width);
        self.rows.extend_from_slice(row);
        self.len += 1;
        if self.len * 4 > self.slots.len() * 3 {
            self.rehash();
        }
        (number, true)
    }

    #[inline]
    fn row(&self, n: u32) -> &[W] {
        &self.rows[n as usize * self.width..][..self.width]
    }

    fn rehash(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        self.slots.clear();
        self.slots.resize(mask + 1, EMPTY);
        for n in 0..self.len as u32 {
            let mut slot = hash(self.row(n)) as usize & mask;
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = n;
        }
    }

    /// About the bytes that a row takes in a large table together with `more` bytes beside it:
    /// a quarter may be unused, and a slot is between 3/8 and 3/4 full.
    pub fn bytes_per_row(width: usize, more: usize) -> usize {
        (width * size_of::<W>() + more) * 9 / 8 + 8
    }
}

/// Doubling would leave half of a large table unused.
pub(crate) fn grow_by_a_quarter<T>(list: &mut Vec<T>, more: usize) {
    if list.len() + more > list.capacity() && list.len() > 1024 {
        list.reserve_exact((list.len() / 4).max(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_have_one_number_and_others_the_next() {
        let mut table = RowTable::new(2);
        for round in 0..2 {
            for n in 0..5000i64 {
                let row = [n % 50 - 25, n / 50];
                assert_eq!(table.number(&row, hash(&row)), (n as u32, round == 0));
            }
        }
        assert_eq!((table.len(), table.iter().count()), (5000, 5000));
        table.clear();
        let row = [1, 2];
        assert_eq!(table.number(&row, hash(&row)), (0, true));
    }

    #[test]
    fn rows_of_equal_hashes_are_told_apart() {
        let mut table = RowTable::new(1);
        for n in 0..40i128 {
            assert_eq!(table.number(&[n << 64], 7), (n as u32, true));
        }
        assert_eq!(table.number(&[3 << 64], 7), (3, false));
    }
}
