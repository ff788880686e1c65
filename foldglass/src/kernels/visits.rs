//! Sums visits over the states, and copies rows of lanes into panels and out of them (paper, App. A); see
//! `sums`.

use super::panel::Panel;
use super::sums::{Extent, Seen, Sums};
use super::vector::Lane;

impl Sums {
    /// Computes visits of a panel.
    ///
    /// # Safety
    /// As for `Sums::visits`; W is the width of the panel, and that of `V` divides it.
    #[inline(always)]
    pub(super) unsafe fn visit_panel<V: Lane, const W: usize>(
        &self,
        at: Panel,
        given: Seen<'_>,
        visits: *mut f64,
    ) {
        let Extent {
            histories,
            states,
            terms,
            entering,
            ..
        } = self.extent;
        let row = self.extent.lanes.row;
        let mut alpha = given.alpha.as_ptr().wrapping_add(at.states);
        let mut visits = visits.wrapping_add(at.cells);
        for _ in 0..histories * terms {
            for lane in (0..W).step_by(V::WIDTH) {
                // SAFETY: states, terms, symbols and lanes lie within the buffers.
                unsafe {
                    let mut sum = V::load(alpha.add(lane));
                    for state in 1..states {
                        sum = sum.plus(V::load(alpha.add(state * W + lane)));
                    }
                    let sum = sum.times(V::splat(given.share));
                    let weights = given.weights.as_ptr().add(at.lane + lane);
                    for n in 0..entering {
                        let weighed = sum.times(V::load(weights.add(n * row)));
                        let place = visits.add(n * W + lane);
                        if given.add {
                            weighed.plus(V::load(place)).store(place);
                        } else {
                            weighed.store(place);
                        }
                    }
                }
            }
            alpha = alpha.wrapping_add(states * W);
            visits = visits.wrapping_add(entering * W);
        }
    }

    /// Copies rows of lanes, each `from_row` and `to_row` from the last: into a panel or out of it.
    ///
    /// # Safety
    /// The rows lie within the buffers, and the machine has the instructions.
    #[inline(always)]
    pub(super) unsafe fn copy_rows<V: Lane, const W: usize>(
        &self,
        (from, from_row): (*const f64, usize),
        (to, to_row): (*mut f64, usize),
    ) {
        for n in 0..self.extent.rows() {
            for lane in (0..W).step_by(V::WIDTH) {
                // SAFETY: the caller's.
                unsafe {
                    let vector = V::load(from.add(n * from_row + lane));
                    vector.store(to.add(n * to_row + lane));
                }
            }
        }
    }
}
