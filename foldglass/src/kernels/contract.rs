//! Contracts small matrices over many windows at once, one window per vector lane.
//!
//! Every sum of App. A is C[i][j] = sum_k A[i][k] B[k][j] with q or fewer rows and columns, done
//! for each lane of a slab, block by block. A lane's arithmetic is one chain of fused multiply-adds
//! in a fixed order, so the result is the same to the last bit whatever the width of the vectors.

use super::vector::Lane;

/// One contraction: C[i][j] = sum over x and k of A[i][x, k] B[x, k][j], for every block of lanes.
///
/// All numbers are offsets into the three buffers.
#[derive(Clone, Copy)]
pub(crate) struct Contraction<'a> {
    /// For each block, where its lanes start in A.
    pub a_blocks: &'a [usize],
    /// For each x in turn, where row i of A starts.
    pub a_rows: &'a [usize],
    /// Where k lies within a row of A.
    pub a_terms: &'a [usize],
    /// How far a block and an x move B.
    pub b: (usize, usize),
    /// Where k lies in B.
    pub b_terms: &'a [usize],
    /// How far j moves B.
    pub b_column: usize,
    /// How far a block, i and j move C.
    pub c: (usize, usize, usize),
    /// How many x are summed.
    pub inputs: usize,
    /// Rows and columns of C.
    pub size: (usize, usize),
    /// Lanes of a block.
    pub width: usize,
    /// Whether C is added to or overwritten.
    pub add: bool,
}

impl Contraction<'_> {
    /// Runs it with the vectors that fit.
    ///
    /// # Safety
    /// Every offset plus a block lies within its buffer, and the machine has the instructions of
    /// `Wide` and `Narrow`.
    #[inline(always)]
    pub unsafe fn run<Wide: Lane, Narrow: Lane>(&self, a: *const f64, b: *const f64, c: *mut f64) {
        unsafe {
            match self.width {
                1 => self.blocks::<f64>(a, b, c),
                4 => self.blocks::<Narrow>(a, b, c),
                _ => self.blocks::<Wide>(a, b, c),
            }
        }
    }

    #[inline(always)]
    unsafe fn blocks<V: Lane>(&self, a: *const f64, b: *const f64, c: *mut f64) {
        let (rows, columns) = self.size;
        let (tall, wide) = (tile(rows, V::TILE.0), tile(columns, V::TILE.1));
        for (block, &start) in self.a_blocks.iter().enumerate() {
            let mut lane = 0;
            while lane < self.width {
                let (a, b, c) = unsafe {
                    (
                        a.add(start + lane),
                        b.add(block * self.b.0 + lane),
                        c.add(block * self.c.0 + lane),
                    )
                };
                let mut i = 0;
                while i < rows {
                    let mut j = 0;
                    while j < columns {
                        let part = (tall.min(rows - i), wide.min(columns - j));
                        macro_rules! tiles {
                            ($(($r:literal, $c:literal))*) => {
                                match part {
                                    $(($r, $c) => unsafe { self.tile::<V, $r, $c>(a, b, c, i, j) },)*
                                    _ => unreachable!("a tile of {part:?}"),
                                }
                            };
                        }
                        tiles! {
                            (1, 1) (1, 2) (1, 3) (1, 4) (1, 5) (2, 1) (2, 2) (2, 3) (2, 4) (2, 5)
                            (3, 1) (3, 2) (3, 3) (3, 4) (3, 5)
                        }
                        j += wide;
                    }
                    i += tall;
                }
                lane += V::WIDTH;
            }
        }
    }

    #[inline(always)]
    unsafe fn tile<V: Lane, const R: usize, const C: usize>(
        &self,
        a: *const f64,
        b: *const f64,
        c: *mut f64,
        i0: usize,
        j0: usize,
    ) {
        let rows = self.size.0;
        let (_, down, right) = self.c;
        unsafe {
            let out = c.add(i0 * down + j0 * right);
            let mut sum = [[V::zero(); C]; R];
            if self.add {
                for (i, row) in sum.iter_mut().enumerate() {
                    for (j, value) in row.iter_mut().enumerate() {
                        *value = V::load(out.add(i * down + j * right));
                    }
                }
            }
            for x in 0..self.inputs {
                let starts = self.a_rows.as_ptr().add(x * rows + i0);
                let mut from = [a; R];
                for (i, from) in from.iter_mut().enumerate() {
                    *from = from.add(*starts.add(i));
                }
                let b = b.add(x * self.b.1 + j0 * self.b_column);
                for (&at, &bt) in self.a_terms.iter().zip(self.b_terms) {
                    let mut right = [V::zero(); C];
                    for (j, right) in right.iter_mut().enumerate() {
                        *right = V::load(b.add(bt + j * self.b_column));
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

/// The size of equal parts of `n`, each at most `most`.
#[inline(always)]
fn tile(n: usize, most: usize) -> usize {
    match n {
        _ if n <= most => n,
        _ if n <= 2 * most => n.div_ceil(2),
        _ => n.div_ceil(n.div_ceil(most)),
    }
}
