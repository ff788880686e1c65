//! Takes rows of probabilities into panels, checked and scaled to sums of 1 (paper, section 2.2).
//!
//! A table that is evaluated once is read once. A row whose sum misses 1 by more than `SUM_ROUNDING` is multiplied by
//! the inverse of the sum, and what is then below `LEAST_PROBABILITY` becomes zero.

use super::Place;
use super::group::{PanelCells, scatter};
use crate::model::policy::{LEAST_PROBABILITY, SUM_ROUNDING, flushed, scale};
use crate::reward::kernels::{RowEntry, Transpose, Transposed, fetch, on_vectors};

/// Rows of probabilities, one behind the other, and which of them are taken.
#[derive(Clone, Copy)]
pub(super) struct Taken<'a, P> {
    pub rows: &'a [P],
    /// The rows that are taken after these, or some of them.
    pub ahead: &'a [P],
    /// The sum of a row may miss 1 by this.
    pub tolerance: f64,
}

/// Copies the rows of a panel's cells, `each` probabilities in the order of the cells. Returns whether every row is a
/// distribution within the tolerance.
#[inline(always)]
pub(super) fn take<const W: usize, P: RowEntry>(
    each: usize,
    taken: Taken<'_, P>,
    cells: PanelCells<'_>,
    panel: &mut [f64],
) -> bool {
    if let Ok(lanes) = cells.lanes.try_into() {
        let transpose = Transpose {
            lanes,
            vectors: cells.vectors,
            each,
            tolerance: taken.tolerance,
            rounding: SUM_ROUNDING,
            least: LEAST_PROBABILITY,
        };
        match transpose.run(taken.rows, taken.ahead, panel) {
            Transposed::Distributions => return true,
            Transposed::Refused => return false,
            Transposed::Unsupported => {}
        }
    }
    fetch(taken.ahead);
    scatter::<W, P>(each, taken.rows, cells, panel);
    on_vectors(|| settle::<W>(each, cells.lanes.len(), taken.tolerance, panel))
}

/// Scales the rows of a panel. A probability above 1 makes the sum exceed 1 and NaN makes it NaN, so that the test of
/// the sum finds both.
#[inline(always)]
fn settle<const W: usize>(each: usize, in_use: usize, tolerance: f64, panel: &mut [f64]) -> bool {
    let (vectors, _) = panel.as_chunks_mut::<W>();
    // A lane of padding holds zeros: its sum is 1 from the start.
    let nothing: [f64; W] = std::array::from_fn(|lane| if lane < in_use { 0.0 } else { 1.0 });
    let mut good = true;
    for cell in vectors.chunks_exact_mut(each) {
        let (mut sum, mut least) = (nothing, [0.0; W]);
        for vector in &*cell {
            for lane in 0..W {
                let p = vector[lane];
                sum[lane] += p;
                least[lane] = if p < least[lane] { p } else { least[lane] };
            }
        }
        for lane in 0..W {
            good &= ((sum[lane] - 1.0).abs() <= tolerance) & (least[lane] >= 0.0);
        }
        let scales = sum.map(scale);
        for vector in cell {
            for lane in 0..W {
                vector[lane] = flushed(vector[lane] * scales[lane]);
            }
        }
    }
    good
}

/// The same for one cell, where rows do not lie in whole panels.
pub(super) fn take_one<P: RowEntry>(
    row: &[P],
    place: Place,
    tolerance: f64,
    table: &mut [f64],
) -> bool {
    let entries = || row.iter().map(|&p| -> f64 { p.into() });
    let sum: f64 = entries().sum();
    for (action, p) in entries().enumerate() {
        table[place.at(action)] = flushed(p * scale(sum));
    }
    (sum - 1.0).abs() <= tolerance && entries().all(|p| p >= 0.0)
}
