//! Takes rows of probabilities into panels, checked and scaled to sums of 1 (paper, section 2.2).
//!
//! A table that is evaluated once is read once. A row whose sum misses 1 by more than `SUM_ROUNDING` is multiplied by
//! the inverse of the sum, and what is then below `LEAST_PROBABILITY` becomes zero.

use crate::model::policy::{LEAST_PROBABILITY, SUM_ROUNDING, flushed, scale};
use crate::reward::kernels::{RowEntry, Transpose, Transposed, fetch};
use crate::reward::layout::{CellPlace, GroupLayout, LanePanel, Layout, PANEL};
use crate::support::vectors::{VectorWork, on_vectors};

/// Copies `rows`, cell by cell, q probabilities each, to the table of the only replica. Returns whether every row is a
/// distribution within `tolerance`.
pub fn take_rows<P: RowEntry>(
    layout: &Layout,
    rows: &[P],
    tolerance: f64,
    table: &mut [f64],
) -> bool {
    let q = layout.class.q();
    assert_eq!(layout.replicas, 1, "one policy");
    assert_eq!(rows.len(), layout.class.cells() * q, "a row for each cell");
    if !layout.groups.iter().all(GroupLayout::is_whole) {
        let mut cells = rows.chunks_exact(q).zip(layout.places(0));
        return cells.all(|(row, place)| take_one(row, place, tolerance, table));
    }
    let groups = layout.class.groups();
    let rows_of = |number: usize| match groups.get(number) {
        Some(group) => &rows[group.first_cell * q..][..group.cells * q],
        None => &[],
    };
    fetch(rows_of(0));
    layout.groups.iter().enumerate().all(|(number, group)| {
        let (rows, next) = (rows_of(number), rows_of(number + 1));
        let table = &mut table[group.entries.clone()];
        let share = next.len().div_ceil(group.lane_panels().count()).max(1);
        let mut ahead = next.chunks(share);
        group.lane_panels().all(|panel| {
            let part = &mut table[panel.part(group, q)];
            let ahead = ahead.next().unwrap_or_default();
            take_panel(q, rows, ahead, &panel, tolerance, part)
        })
    })
}

/// Takes the cells of a panel. Meanwhile it prefetches `ahead`, rows that are taken later.
fn take_panel<P: RowEntry>(
    q: usize,
    rows: &[P],
    ahead: &[P],
    panel: &LanePanel<'_>,
    tolerance: f64,
    part: &mut [f64],
) -> bool {
    let lanes = panel.cells.lanes;
    let transpose = Transpose {
        lanes,
        vectors: panel.cells.vectors,
        each: q,
        tolerance,
        rounding: SUM_ROUNDING,
        least: LEAST_PROBABILITY,
    };
    match transpose.run(rows, ahead, part) {
        Transposed::Distributions => return true,
        Transposed::Refused => return false,
        Transposed::Unsupported => {}
    }
    fetch(ahead);
    panel.scatter(q, rows, part);
    on_vectors(Settle {
        each: q,
        in_use: lanes.len(),
        width: panel.width,
        tolerance,
        part,
    })
}

/// Scales the rows of a panel, and finds whether all were distributions.
struct Settle<'a> {
    each: usize,
    in_use: usize,
    width: usize,
    tolerance: f64,
    part: &'a mut [f64],
}

impl VectorWork for Settle<'_> {
    type Found = bool;

    #[inline(always)]
    fn run(self) -> bool {
        match self.width {
            PANEL => settle::<PANEL>(self.each, self.in_use, self.tolerance, self.part),
            4 => settle::<4>(self.each, self.in_use, self.tolerance, self.part),
            _ => settle::<1>(self.each, self.in_use, self.tolerance, self.part),
        }
    }
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

/// Takes one cell, where rows do not lie in whole panels.
fn take_one<P: RowEntry>(row: &[P], place: CellPlace, tolerance: f64, table: &mut [f64]) -> bool {
    let entries = || row.iter().map(|&p| -> f64 { p.into() });
    let sum: f64 = entries().sum();
    for (action, p) in entries().enumerate() {
        table[place.at(action)] = flushed(p * scale(sum));
    }
    (sum - 1.0).abs() <= tolerance && entries().all(|p| p >= 0.0)
}
