//! Sums stretches of a row, as a step does with the symbol it has drawn (paper, App. A).

use super::vector::Lane;

/// Sums of stretches, flushed: `to[i]` = sum over p < `places` of `from[p * len + i]`, added to what
/// is there or overwriting it, for each of several rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stretches {
    /// The length of a stretch, and how many lie one behind the other.
    pub len: usize,
    pub places: usize,
    /// How many rows there are, and how far each moves `from` and `to`.
    pub rows: usize,
    pub from_row: usize,
    pub to_row: usize,
    /// Sums below this become zero.
    pub least: f64,
}

impl Stretches {
    /// Refuses buffers that it would leave.
    #[inline(always)]
    pub fn check(&self, from: &[f64], to: &[f64]) {
        assert!(
            self.len > 0 && self.places > 0 && self.rows > 0,
            "nothing to sum: {self:?}"
        );
        let last = self.rows - 1;
        let ends = |row: usize, stretch: usize| last.checked_mul(row)?.checked_add(stretch);
        let read = self.places.checked_mul(self.len);
        let read = read.and_then(|stretches| ends(self.from_row, stretches));
        let written = ends(self.to_row, self.len);
        assert!(
            read.is_some_and(|n| n <= from.len()) && written.is_some_and(|n| n <= to.len()),
            "{self:?} leaves buffers of {} and {} entries",
            from.len(),
            to.len()
        );
    }

    /// Runs it with the vectors that fit.
    ///
    /// # Safety
    /// `check` accepts the buffers, and the machine has the instructions of `Wide` and `Narrow`.
    #[inline(always)]
    pub unsafe fn run<Wide: Lane, Narrow: Lane>(&self, add: bool, from: &[f64], to: &mut [f64]) {
        // The last vector overlaps the one before if it must; adding never does.
        let fits = |width: usize| {
            if add {
                self.len.is_multiple_of(width)
            } else {
                self.len >= width
            }
        };
        let (from, to) = (from.as_ptr(), to.as_mut_ptr());
        // SAFETY: the caller's, and a stretch holds at least one of the vectors chosen.
        unsafe {
            if fits(Wide::WIDTH) {
                self.vectors::<Wide>(add, from, to);
            } else if fits(Narrow::WIDTH) {
                self.vectors::<Narrow>(add, from, to);
            } else {
                self.vectors::<f64>(add, from, to);
            }
        }
    }

    /// # Safety
    /// As for `run`, and a stretch holds at least one `V`.
    #[inline(always)]
    unsafe fn vectors<V: Lane>(&self, add: bool, from: *const f64, to: *mut f64) {
        for row in 0..self.rows {
            for n in 0..self.len.div_ceil(V::WIDTH) {
                let i = (n * V::WIDTH).min(self.len - V::WIDTH);
                // SAFETY: a vector from `i` on lies within its stretch, and all stretches of all
                // rows within the buffers.
                unsafe {
                    let from = from.add(row * self.from_row + i);
                    let to = to.add(row * self.to_row + i);
                    let mut sum = V::load(from);
                    for p in 1..self.places {
                        sum = sum.plus(V::load(from.add(p * self.len)));
                    }
                    if add {
                        sum = sum.plus(V::load(to));
                    }
                    sum.flush(self.least).store(to);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Kernels;

    fn shapes() -> impl Iterator<Item = Stretches> {
        let lengths = [1, 3, 4, 5, 8, 11, 16, 24];
        lengths.into_iter().flat_map(|len| {
            [(1, 1), (3, 1), (2, 4)].map(|(places, rows)| Stretches {
                len,
                places,
                rows,
                from_row: places * len + 2,
                to_row: len + 1,
                least: 0.25,
            })
        })
    }

    fn read(work: &Stretches) -> usize {
        (work.rows - 1) * work.from_row + work.places * work.len
    }

    fn written(work: &Stretches) -> usize {
        (work.rows - 1) * work.to_row + work.len
    }

    #[test]
    fn every_kernel_sums_stretches_as_written_down() {
        for work in shapes() {
            // Sums of these are exact in any order.
            let from: Vec<f64> = (0..read(&work))
                .map(|i| (i * 7 % 16) as f64 / 16.0)
                .collect();
            let before: Vec<f64> = (0..written(&work)).map(|i| (i % 5) as f64).collect();
            for add in [false, true] {
                let mut slow = before.clone();
                for row in 0..work.rows {
                    for i in 0..work.len {
                        let place = |p: usize| from[row * work.from_row + p * work.len + i];
                        let sum: f64 = (0..work.places).map(place).sum();
                        let to = &mut slow[row * work.to_row + i];
                        let sum = if add { sum + *to } else { sum };
                        *to = if sum < work.least { 0.0 } else { sum };
                    }
                }
                for kernels in Kernels::available() {
                    let mut fast = before.clone();
                    kernels.stretches(&work, add, &from, &mut fast);
                    assert_eq!(fast, slow, "{work:?}, add: {add}");
                }
            }
        }
    }

    #[test]
    fn a_buffer_one_entry_short_is_refused() {
        for work in shapes() {
            let accepts = |from: usize, to: usize| {
                std::panic::catch_unwind(|| work.check(&vec![0.0; from], &vec![0.0; to])).is_ok()
            };
            let (from, to) = (read(&work), written(&work));
            assert!(accepts(from, to), "{work:?}");
            assert!(!accepts(from - 1, to) && !accepts(from, to - 1), "{work:?}");
        }
    }
}
