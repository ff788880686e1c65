//! Numbers rows of integers, equal ones alike, in the order in which they come.

use crate::reward::count::weight::Whole;

/// Rows of one length, each once.
pub(super) struct Table<W> {
    width: usize,
    rows: Vec<W>,
    /// By hash: the number of a row and one more, or zero. A power of two, at least half of it zero.
    slots: Vec<u32>,
}

impl<W: Whole> Table<W> {
    pub fn new(width: usize) -> Table<W> {
        Table {
            width,
            rows: Vec::new(),
            slots: vec![0; 1 << 10],
        }
    }

    /// The most bytes that a row takes: with two to four slots, and half as much again as it grows.
    pub fn bytes_each(width: usize) -> f64 {
        16.0 + 1.5 * (width * size_of::<W>()) as f64
    }

    fn len(&self) -> usize {
        self.rows.len() / self.width
    }

    /// The number of a row, and whether it is new.
    pub fn number(&mut self, row: &[W]) -> (u32, bool) {
        let slot = self.slot(row);
        if self.slots[slot] > 0 {
            return (self.slots[slot] - 1, false);
        }
        let number = self.len() as u32;
        self.rows.extend_from_slice(row);
        self.slots[slot] = number + 1;
        if self.len() * 2 > self.slots.len() {
            self.grow();
        }
        (number, true)
    }

    /// Where a row is, or would be.
    #[inline]
    fn slot(&self, row: &[W]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash(row) as usize & mask;
        loop {
            let Some(number) = (self.slots[slot] as usize).checked_sub(1) else {
                return slot;
            };
            if &self.rows[number * self.width..(number + 1) * self.width] == row {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 2];
        for number in 0..self.len() {
            let row = &self.rows[number * self.width..(number + 1) * self.width];
            let slot = self.slot(row);
            self.slots[slot] = number as u32 + 1;
        }
    }
}

/// Mixes all bits of a row.
#[inline]
fn hash<W: Whole>(row: &[W]) -> u64 {
    let mut mixed = 0x9e37_79b9_7f4a_7c15u64;
    for number in row {
        let number = number.to_i128();
        for half in [number as u64, (number >> 64) as u64] {
            mixed = (mixed.rotate_left(26) ^ half).wrapping_mul(0xff51_afd7_ed55_8ccd);
        }
    }
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_have_one_number_and_others_the_next() {
        let mut table = Table::new(2);
        for round in 0..2 {
            for n in 0..5000i64 {
                let expected = (n as u32, round == 0);
                assert_eq!(table.number(&[n % 50 - 25, n / 50]), expected);
            }
        }
    }
}
