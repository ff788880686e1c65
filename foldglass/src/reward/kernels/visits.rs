//! Sums visits over the states (paper, App. A); see `sums`.

use super::sums::Sums;
use super::vector::{Has, Lane};

/// Some visits of one vector of lanes: visits(k, entering symbol) = share times weight times the sum over
/// rows of alpha, for terms k one behind the other.
#[derive(Clone, Copy)]
pub(super) struct VisitSum {
    /// Lanes of the panel, and the distance between rows of alpha and of weights.
    pub width: usize,
    pub row: usize,
    /// States to sum over.
    pub rows: usize,
    pub terms: usize,
    pub alpha: *const f64,
    /// By entering symbol.
    pub weights: *const f64,
    pub visits: *mut f64,
    /// The weight of a visit.
    pub share: f64,
    /// Whether to add to visits or to overwrite them.
    pub add: bool,
}

impl Sums {
    /// # Safety
    /// Rows, terms and symbols lie within the buffers.
    #[inline(always)]
    pub(super) unsafe fn visit<V: Lane>(&self, has: Has<V>, at: VisitSum) {
        let (row, entering) = (at.row, self.extent.entering);
        for k in 0..at.terms {
            // SAFETY: rows, terms and symbols lie within the buffers, as this function asks, and they are all that
            // the sums and places below go through.
            unsafe {
                let alpha = at.alpha.add(k * self.extent.states * row);
                let mut sum = has.load_at(alpha);
                for r in 1..at.rows {
                    sum = sum.plus(has.load_at(alpha.add(r * row)));
                }
                let sum = sum.times(has.splat(at.share));
                for n in 0..entering {
                    let weighed = sum.times(has.load_at(at.weights.add(n * row)));
                    let place = at.visits.add((k * entering + n) * at.width);
                    if at.add {
                        weighed.plus(has.load_at(place)).store_at(place);
                    } else {
                        weighed.store_at(place);
                    }
                }
            }
        }
    }
}
