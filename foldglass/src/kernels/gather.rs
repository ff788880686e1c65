//! Sums stretches of a row, as a step does with the symbol it has drawn (paper, App. A).

use super::vector::Lane;

/// Sums of stretches, flushed: to[i] = sum over p < `places` of from[p * len + i], added to what is
/// there or overwriting it, for each of several rows.
#[derive(Clone, Copy)]
pub(crate) struct Gather {
    pub len: usize,
    pub places: usize,
    /// How many rows, and how far each moves `from` and `to`.
    pub rows: (usize, usize, usize),
    pub add: bool,
    /// Sums below this become zero.
    pub least: f64,
}

impl Gather {
    /// Runs it with the vectors that fit.
    ///
    /// # Safety
    /// The stretches lie within their buffers, and the machine has the instructions of `Wide` and
    /// `Narrow`.
    #[inline(always)]
    pub unsafe fn run<Wide: Lane, Narrow: Lane>(&self, from: *const f64, to: *mut f64) {
        // The last vector overlaps the one before if it must; adding never does.
        let fits = |width: usize| {
            if self.add {
                self.len.is_multiple_of(width)
            } else {
                self.len >= width
            }
        };
        unsafe {
            if fits(Wide::WIDTH) {
                self.stretches::<Wide>(from, to);
            } else if fits(Narrow::WIDTH) {
                self.stretches::<Narrow>(from, to);
            } else {
                self.stretches::<f64>(from, to);
            }
        }
    }

    #[inline(always)]
    unsafe fn stretches<V: Lane>(&self, from: *const f64, to: *mut f64) {
        let (rows, from_row, to_row) = self.rows;
        for row in 0..rows {
            for n in 0..self.len.div_ceil(V::WIDTH) {
                let i = (n * V::WIDTH).min(self.len - V::WIDTH);
                unsafe {
                    let (from, to) = (from.add(row * from_row + i), to.add(row * to_row + i));
                    let mut sum = V::load(from);
                    for p in 1..self.places {
                        sum = sum.plus(V::load(from.add(p * self.len)));
                    }
                    if self.add {
                        sum = sum.plus(V::load(to));
                    }
                    sum.flush(self.least).store(to);
                }
            }
        }
    }
}
