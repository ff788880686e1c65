//! Computes numbers for every entry from the tables of an evaluation, in one pass through memory (paper, App. A).

use super::group::PanelCells;
use super::lanes::PANEL;
use super::{GroupLayout, Layout};
use crate::support::vectors::{VectorWork, on_vectors};

/// What an evaluation has found for the cells in the lanes of a vector, and their rows: q vectors of each, one of visits.
pub(crate) struct CellTables<'a, const W: usize> {
    pub rows: &'a [[f64; W]],
    pub values: &'a [[f64; W]],
    pub visits: &'a [f64; W],
}

/// Finds two numbers for each entry of some cells.
pub(crate) trait CellWork {
    /// Writes them. It has to be `#[inline(always)]`, as all of `VectorWork`.
    fn run<const W: usize>(&self, given: CellTables<'_, W>, found: [&mut [[f64; W]]; 2]);
}

/// Tables of an evaluation of one policy, as the kernels have them.
#[derive(Clone, Copy)]
pub(crate) struct EvaluatedTables<'a> {
    pub rows: &'a [f64],
    pub values: &'a [f64],
    pub visits: &'a [f64],
}

/// Vectors of cells that are done in a row: what is found for them stays in the innermost cache until it is written.
const TOGETHER: usize = 8;

impl Layout {
    /// Does the work for all cells, and writes what it finds in the order of the cells.
    pub fn gather_with(
        &self,
        given: EvaluatedTables<'_>,
        work: &impl CellWork,
        mut found: [&mut [f64]; 2],
    ) {
        let q = self.class.q();
        assert_eq!(self.replicas, 1, "one policy");
        for found in &found {
            assert_eq!(found.len(), self.class.cells() * q, "a row for each cell");
        }
        if !self.groups.iter().all(GroupLayout::is_whole) {
            return self.one_by_one(given, work, found);
        }
        let mut scratch = [(); 2].map(|()| vec![0.0; TOGETHER * q * PANEL]);
        for (own, group) in self.class.groups().iter().zip(&self.groups) {
            for panel in group.lane_panels() {
                let EvaluatedTables { rows, values, .. } = given;
                let [rows, values] =
                    [rows, values].map(|table| &table[group.entries.clone()][panel.part(group, q)]);
                let visits = &given.visits[group.cells.clone()][panel.part(group, 1)];
                let vector = TOGETHER * panel.width;
                let tables = rows.chunks(q * vector).zip(values.chunks(q * vector));
                let parts = tables.zip(visits.chunks(vector));
                for (((rows, values), visits), vectors) in
                    parts.zip(panel.cells.vectors.chunks(TOGETHER))
                {
                    let given = EvaluatedTables {
                        rows,
                        values,
                        visits,
                    };
                    on_vectors(CellBlock {
                        q,
                        width: panel.width,
                        given,
                        work,
                        found: &mut scratch,
                    });
                    let cells = PanelCells {
                        lanes: panel.cells.lanes,
                        vectors,
                    };
                    for (scratch, found) in scratch.iter().zip(&mut found) {
                        let rows = &mut found[own.first_cell * q..][..own.cells * q];
                        cells.gather(panel.width, q, &scratch[..given.rows.len()], rows);
                    }
                }
            }
        }
    }

    /// The same where rows do not lie in whole panels.
    fn one_by_one(
        &self,
        given: EvaluatedTables<'_>,
        work: &impl CellWork,
        mut found: [&mut [f64]; 2],
    ) {
        let q = self.class.q();
        for (cell, place) in self.places(0).enumerate() {
            let row = |table: &[f64]| -> Vec<[f64; 1]> {
                (0..q).map(|action| [table[place.at(action)]]).collect()
            };
            let tables = CellTables {
                rows: &row(given.rows),
                values: &row(given.values),
                visits: &[given.visits[place.cell]],
            };
            let row = |found| -> &mut [[f64; 1]] {
                let found: &mut [f64] = found;
                found[cell * q..][..q].as_chunks_mut().0
            };
            let [one, other] = &mut found;
            work.run(tables, [row(one), row(other)]);
        }
    }
}

/// Consecutive vectors of cells.
struct CellBlock<'a, K> {
    q: usize,
    width: usize,
    given: EvaluatedTables<'a>,
    work: &'a K,
    found: &'a mut [Vec<f64>; 2],
}

impl<K: CellWork> VectorWork for CellBlock<'_, K> {
    type Found = ();

    #[inline(always)]
    fn run(self) {
        match self.width {
            PANEL => self.by_actions::<PANEL>(),
            4 => self.by_actions::<4>(),
            _ => self.by_actions::<1>(),
        }
    }
}

impl<K: CellWork> CellBlock<'_, K> {
    #[inline(always)]
    fn by_actions<const W: usize>(self) {
        // With the number of actions known where it is compiled, the loops over them are unrolled.
        match self.q {
            2 => self.each_vector::<W>(2),
            3 => self.each_vector::<W>(3),
            5 => self.each_vector::<W>(5),
            q => self.each_vector::<W>(q),
        }
    }

    #[inline(always)]
    fn each_vector<const W: usize>(self, q: usize) {
        let (rows, _) = self.given.rows.as_chunks::<W>();
        let (values, _) = self.given.values.as_chunks::<W>();
        let (visits, _) = self.given.visits.as_chunks::<W>();
        let [one, other] = self.found;
        let (one, _) = one.as_chunks_mut::<W>();
        let (other, _) = other.as_chunks_mut::<W>();
        let given = rows.chunks_exact(q).zip(values.chunks_exact(q)).zip(visits);
        let found = one.chunks_exact_mut(q).zip(other.chunks_exact_mut(q));
        for (((rows, values), visits), (one, other)) in given.zip(found) {
            let given = CellTables {
                rows,
                values,
                visits,
            };
            self.work.run(given, [one, other]);
        }
    }
}
