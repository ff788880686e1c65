//! Contracts small matrices over many windows at once, one window per vector lane (paper, App. A).
//!
//! Every sum of App. A is C(i, j) = sum over k of A(i, k) B(k, j) with q or fewer rows and columns,
//! done for each lane of a slab, block by block. A lane's arithmetic is one chain of fused
//! multiply-adds in a fixed order, so the result is the same to the last bit whatever the width of
//! the vectors.

use super::vector::{Lane, Tile};
use std::sync::Arc;

/// A list of offsets that knows the furthest of them. Clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offsets {
    list: Arc<[usize]>,
    furthest: usize,
}

impl Offsets {
    /// The multiples 0, `step`, 2 `step`, .. of a distance.
    pub fn multiples(count: usize, step: usize) -> Offsets {
        (0..count).map(|n| n * step).collect()
    }
}

impl FromIterator<usize> for Offsets {
    fn from_iter<I: IntoIterator<Item = usize>>(offsets: I) -> Offsets {
        let list: Arc<[usize]> = offsets.into_iter().collect();
        let furthest = list.iter().copied().max();
        Offsets {
            furthest: furthest.expect("a list of offsets is not empty"),
            list,
        }
    }
}

impl std::ops::Deref for Offsets {
    type Target = [usize];

    #[inline(always)]
    fn deref(&self) -> &[usize] {
        &self.list
    }
}

/// Where A(i; x, k) lies: at `blocks[block] + rows[x, i] + terms[k]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Left {
    pub blocks: Offsets,
    /// For each x in turn, one for each i; one set of them, or several that runs choose from.
    pub rows: Offsets,
    pub terms: Offsets,
}

/// Where B(x, k; j) lies: at `block * b + input * x + terms[k] + column * j` in block b.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Right {
    pub block: usize,
    pub input: usize,
    /// One for each k; one set of them, or several that runs choose from.
    pub terms: Offsets,
    pub column: usize,
}

/// Where C(i, j) lies: at `block * b + row * i + column * j` in block b.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strides {
    pub block: usize,
    pub row: usize,
    pub column: usize,
}

/// How large a contraction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// How many x are summed.
    pub inputs: usize,
    /// Rows and columns of C.
    pub rows: usize,
    pub columns: usize,
    /// Lanes of a block: 1, 4 or 8.
    pub width: usize,
}

/// How many entries of A, B and C a contraction reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reach {
    a: usize,
    b: usize,
    c: usize,
}

/// One contraction: C(i, j) = sum over x and k of A(i; x, k) B(x, k; j), for every block of lanes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contraction {
    left: Left,
    right: Right,
    out: Strides,
    size: Size,
    reach: Reach,
}

/// What differs from run to run of one contraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// Which set of rows of A and terms of B it takes, where there are several.
    pub set: usize,
    /// Whether C is added to or overwritten.
    pub add: bool,
}

impl Contraction {
    /// Puts a contraction together, and finds how far it reaches.
    ///
    /// # Panics
    /// If the offsets do not fit the size.
    pub fn new(left: Left, right: Right, out: Strides, size: Size) -> Contraction {
        assert!(
            matches!(size.width, 1 | 4 | 8),
            "blocks of {} lanes",
            size.width
        );
        let whole_sets = left.rows.len().is_multiple_of(size.inputs * size.rows)
            && right.terms.len().is_multiple_of(left.terms.len());
        assert!(whole_sets, "offsets for every row and term");
        let reach = reach(&left, &right, out, size);
        Contraction {
            left,
            right,
            out,
            size,
            reach,
        }
    }

    /// Refuses buffers that it would leave.
    #[inline(always)]
    pub fn check(&self, a: &[f64], b: &[f64], c: &[f64]) {
        let Reach {
            a: in_a,
            b: in_b,
            c: in_c,
        } = self.reach;
        if (in_a > a.len()) | (in_b > b.len()) | (in_c > c.len()) {
            self.refuse(a.len(), b.len(), c.len());
        }
    }

    #[cold]
    fn refuse(&self, a: usize, b: usize, c: usize) -> ! {
        panic!(
            "{:?} leaves buffers of {a}, {b} and {c} entries",
            self.reach
        )
    }

    /// The rows of A that a run takes.
    #[inline(always)]
    fn rows(&self, set: usize) -> &[usize] {
        one_of(&self.left.rows, self.size.inputs * self.size.rows, set)
    }

    /// The terms of B that a run takes.
    #[inline(always)]
    fn right_terms(&self, set: usize) -> &[usize] {
        one_of(&self.right.terms, self.left.terms.len(), set)
    }

    /// Runs it with the vectors that fit.
    ///
    /// # Safety
    /// `check` accepts the buffers, and the machine has the instructions of `Wide` and `Narrow`,
    /// whose widths are 4 or 8, and 4.
    #[inline(always)]
    pub unsafe fn run<Wide: Lane, Narrow: Lane>(
        &self,
        run: Run,
        a: &[f64],
        b: &[f64],
        c: &mut [f64],
    ) {
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        // SAFETY: the caller's; the width of the vectors divides that of the blocks.
        unsafe {
            match self.size.width {
                1 => self.blocks::<f64>(run, a, b, c),
                4 => self.blocks::<Narrow>(run, a, b, c),
                _ => self.blocks::<Wide>(run, a, b, c),
            }
        }
    }

    /// # Safety
    /// As for `run`, and the width of `V` divides that of the blocks.
    #[inline(always)]
    unsafe fn blocks<V: Lane>(&self, run: Run, a: *const f64, b: *const f64, c: *mut f64) {
        let Size { rows, columns, .. } = self.size;
        let (tall, wide) = (tile(rows, V::TILE.rows), tile(columns, V::TILE.columns));
        let (a_rows, b_terms) = (self.rows(run.set), self.right_terms(run.set));
        for (block, &start) in self.left.blocks.iter().enumerate() {
            let mut lane = 0;
            while lane < self.size.width {
                // SAFETY: the reach has room for each block and, vectors dividing it, for a vector
                // from this lane on.
                let vectors = unsafe {
                    Vectors {
                        a: a.add(start + lane),
                        b: b.add(block * self.right.block + lane),
                        c: c.add(block * self.out.block + lane),
                        a_rows,
                        b_terms,
                        add: run.add,
                    }
                };
                let mut i = 0;
                while i < rows {
                    let mut j = 0;
                    while j < columns {
                        let part = Tile {
                            rows: tall.min(rows - i),
                            columns: wide.min(columns - j),
                        };
                        // SAFETY: the tile lies within the rows and columns of C.
                        unsafe { self.tile_of::<V>(part, vectors, i, j) };
                        j += wide;
                    }
                    i += tall;
                }
                lane += V::WIDTH;
            }
        }
    }

    /// # Safety
    /// As for `tile`.
    #[inline(always)]
    unsafe fn tile_of<V: Lane>(&self, part: Tile, vectors: Vectors, i: usize, j: usize) {
        macro_rules! tiles {
            ($(($r:literal, $c:literal))*) => {
                match (part.rows, part.columns) {
                    // SAFETY: the caller's.
                    $(($r, $c) => unsafe { self.tile::<V, $r, $c>(vectors, i, j) },)*
                    _ => unreachable!("a tile of {part:?}"),
                }
            };
        }
        tiles! {
            (1, 1) (1, 2) (1, 3) (1, 4) (1, 5) (2, 1) (2, 2) (2, 3) (2, 4) (2, 5)
            (3, 1) (3, 2) (3, 3) (3, 4) (3, 5)
        }
    }

    /// Computes R rows of C from `i0` on and C columns from `j0` on.
    ///
    /// # Safety
    /// The tile lies within the rows and columns, `vectors` are those of a block within the reach,
    /// and the machine has the instructions of `V`.
    #[inline(always)]
    unsafe fn tile<V: Lane, const R: usize, const C: usize>(
        &self,
        vectors: Vectors,
        i0: usize,
        j0: usize,
    ) {
        let Strides {
            row: down,
            column: right,
            ..
        } = self.out;
        let Vectors {
            a,
            b,
            c,
            a_rows,
            b_terms,
            add,
        } = vectors;
        // SAFETY: every offset is one that `reach` has gone through, and rows has one for each i of
        // each x.
        unsafe {
            let out = c.add(i0 * down + j0 * right);
            let mut sum = [[V::splat(0.0); C]; R];
            if add {
                for (i, row) in sum.iter_mut().enumerate() {
                    for (j, value) in row.iter_mut().enumerate() {
                        *value = V::load(out.add(i * down + j * right));
                    }
                }
            }
            for x in 0..self.size.inputs {
                let starts = a_rows.as_ptr().add(x * self.size.rows + i0);
                let mut from = [a; R];
                for (i, from) in from.iter_mut().enumerate() {
                    *from = from.add(*starts.add(i));
                }
                let b = b.add(x * self.right.input + j0 * self.right.column);
                for (&at, &bt) in self.left.terms.iter().zip(b_terms) {
                    let mut right = [V::splat(0.0); C];
                    for (j, right) in right.iter_mut().enumerate() {
                        *right = V::load(b.add(bt + j * self.right.column));
                    }
                    for i in 0..R {
                        let left = V::load(from[i].add(at));
                        for j in 0..C {
                            sum[i][j] = left.fma(right[j], sum[i][j]);
                        }
                    }
                }
            }
            for (i, row) in sum.iter().enumerate() {
                for (j, value) in row.iter().enumerate() {
                    value.store(out.add(i * down + j * right));
                }
            }
        }
    }
}

/// One vector of lanes in each buffer, and the offsets that the run has chosen.
#[derive(Clone, Copy)]
struct Vectors<'a> {
    a: *const f64,
    b: *const f64,
    c: *mut f64,
    a_rows: &'a [usize],
    b_terms: &'a [usize],
    add: bool,
}

/// The entries a contraction reaches: one more than the furthest, the last lane included. No
/// overflow can make it small.
fn reach(left: &Left, right: &Right, out: Strides, size: Size) -> Reach {
    let steps = |count: usize, step: usize| (count as u128 - 1) * step as u128;
    let ends = |furthest: u128| {
        usize::try_from(furthest + size.width as u128).expect("offsets within the address space")
    };
    let blocks = left.blocks.len();
    let furthest = |offsets: &Offsets| offsets.furthest as u128;
    Reach {
        a: ends(furthest(&left.blocks) + furthest(&left.rows) + furthest(&left.terms)),
        b: ends(
            steps(blocks, right.block)
                + steps(size.inputs, right.input)
                + furthest(&right.terms)
                + steps(size.columns, right.column),
        ),
        c: ends(
            steps(blocks, out.block) + steps(size.rows, out.row) + steps(size.columns, out.column),
        ),
    }
}

/// The set of a run, of `len` offsets; the only one where there is one.
#[inline(always)]
fn one_of(offsets: &Offsets, len: usize, set: usize) -> &[usize] {
    if offsets.len() == len {
        offsets
    } else {
        &offsets[set * len..][..len]
    }
}

/// The size of equal parts of `n`, each at most `most`.
#[inline(always)]
fn tile(n: usize, most: usize) -> usize {
    match n {
        _ if n <= most => n,
        _ if n <= 2 * most => n.div_ceil(2),
        _ => n.div_ceil(n.div_ceil(most)),
    }
}

#[cfg(test)]
mod tests;
