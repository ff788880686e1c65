//! Contracts small matrices over many windows at once, one window per vector lane.
//!
//! Every sum of App. A is C[i][j] = sum_k A[i][k] B[k][j] with q or fewer rows and columns, done
//! for each lane of a slab, block by block. A lane's arithmetic is one chain of fused multiply-adds in a fixed
//! order, so the result is the same to the last bit whatever the width of the vectors.

/// A vector of f64.
pub(crate) trait Lane: Copy {
    /// How many f64 it holds.
    const WIDTH: usize;
    /// Rows and columns of C kept in registers at once.
    const TILE: (usize, usize);
    unsafe fn zero() -> Self;
    unsafe fn load(from: *const f64) -> Self;
    unsafe fn store(self, to: *mut f64);
    /// `self * b + c`, rounded once.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    unsafe fn plus(self, b: Self) -> Self;
    /// Zero where below `least`.
    unsafe fn flush(self, least: f64) -> Self;
}

impl Lane for f64 {
    const WIDTH: usize = 1;
    const TILE: (usize, usize) = (3, 5);
    #[inline(always)]
    unsafe fn zero() -> f64 {
        0.0
    }
    #[inline(always)]
    unsafe fn load(from: *const f64) -> f64 {
        unsafe { *from }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        unsafe { *to = self }
    }
    #[inline(always)]
    unsafe fn fma(self, b: f64, c: f64) -> f64 {
        self.mul_add(b, c)
    }
    #[inline(always)]
    unsafe fn plus(self, b: f64) -> f64 {
        self + b
    }
    #[inline(always)]
    unsafe fn flush(self, least: f64) -> f64 {
        if self < least { 0.0 } else { self }
    }
}

/// Four lanes for any machine.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f64; 4]);

impl Lane for Portable {
    const WIDTH: usize = 4;
    const TILE: (usize, usize) = (2, 4);
    #[inline(always)]
    unsafe fn zero() -> Portable {
        Portable([0.0; 4])
    }
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Portable {
        unsafe { Portable(*from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        unsafe { *to.cast() = self.0 }
    }
    #[inline(always)]
    unsafe fn fma(self, b: Portable, c: Portable) -> Portable {
        Portable(std::array::from_fn(|i| self.0[i].mul_add(b.0[i], c.0[i])))
    }
    #[inline(always)]
    unsafe fn plus(self, b: Portable) -> Portable {
        Portable(std::array::from_fn(|i| self.0[i] + b.0[i]))
    }
    #[inline(always)]
    unsafe fn flush(self, least: f64) -> Portable {
        Portable(self.0.map(|value| if value < least { 0.0 } else { value }))
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    use super::{Contraction, Gather, Kernels, Lane};
    use std::arch::x86_64::*;

    macro_rules! lane {
        ($name:ident, $raw:ty, $width:literal, $tile:expr, $zero:ident, $load:ident, $store:ident, $fma:ident, $add:ident, $flush:expr) => {
            #[derive(Clone, Copy)]
            pub(crate) struct $name($raw);

            impl Lane for $name {
                const WIDTH: usize = $width;
                const TILE: (usize, usize) = $tile;
                #[inline(always)]
                unsafe fn zero() -> Self {
                    unsafe { $name($zero()) }
                }
                #[inline(always)]
                unsafe fn load(from: *const f64) -> Self {
                    unsafe { $name($load(from)) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut f64) {
                    unsafe { $store(to, self.0) }
                }
                #[inline(always)]
                unsafe fn fma(self, b: Self, c: Self) -> Self {
                    unsafe { $name($fma(self.0, b.0, c.0)) }
                }
                #[inline(always)]
                unsafe fn plus(self, b: Self) -> Self {
                    unsafe { $name($add(self.0, b.0)) }
                }
                #[inline(always)]
                unsafe fn flush(self, least: f64) -> Self {
                    unsafe { $name($flush(self.0, least)) }
                }
            }
        };
    }

    #[inline(always)]
    unsafe fn flush512(value: __m512d, least: f64) -> __m512d {
        unsafe {
            let keep = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(value, _mm512_set1_pd(least));
            _mm512_maskz_mov_pd(keep, value)
        }
    }

    #[inline(always)]
    unsafe fn flush256(value: __m256d, least: f64) -> __m256d {
        unsafe {
            let keep = _mm256_cmp_pd::<_CMP_GE_OQ>(value, _mm256_set1_pd(least));
            _mm256_and_pd(keep, value)
        }
    }

    macro_rules! kernels {
        ($name:ident, $wide:ty, $features:literal) => {
            pub(super) fn $name() -> Kernels {
                #[target_feature(enable = $features)]
                unsafe fn contract(work: &Contraction, a: *const f64, b: *const f64, c: *mut f64) {
                    unsafe { work.run::<$wide, Avx2>(a, b, c) }
                }
                #[target_feature(enable = $features)]
                unsafe fn gather(work: &Gather, from: *const f64, to: *mut f64) {
                    unsafe { work.run::<$wide, Avx2>(from, to) }
                }
                Kernels { contract, gather }
            }
        };
    }

    kernels!(avx512, Avx512, "avx512f,avx512vl,avx2,fma");
    kernels!(avx2, Avx2, "avx2,fma");

    // 32 registers hold a tile of 15 with its three of A and five of B; 16 hold 8 with two and four.
    lane!(
        Avx512,
        __m512d,
        8,
        (3, 5),
        _mm512_setzero_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        flush512
    );
    lane!(
        Avx2,
        __m256d,
        4,
        (2, 4),
        _mm256_setzero_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        flush256
    );
}

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
    #[inline(always)]
    unsafe fn run<Wide: Lane, Narrow: Lane>(&self, a: *const f64, b: *const f64, c: *mut f64) {
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
    #[inline(always)]
    unsafe fn run<Wide: Lane, Narrow: Lane>(&self, from: *const f64, to: *mut f64) {
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

/// The loops compiled for one kind of machine.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    /// Runs a contraction on A, B and C.
    ///
    /// # Safety
    /// Every offset plus a block lies within its buffer.
    pub contract: unsafe fn(&Contraction, *const f64, *const f64, *mut f64),
    /// Runs a gather.
    ///
    /// # Safety
    /// The stretches lie within their buffers.
    pub gather: unsafe fn(&Gather, *const f64, *mut f64),
}

impl Kernels {
    /// The fastest that this machine runs.
    pub fn best() -> Kernels {
        Kernels::available()[0]
    }

    /// All that this machine runs, the fastest first.
    pub fn available() -> Vec<Kernels> {
        let mut list = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                list.push(x86::avx512());
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                list.push(x86::avx2());
            }
        }
        list.push(Kernels {
            contract: |work, a, b, c| unsafe { work.run::<Portable, Portable>(a, b, c) },
            gather: |work, from, to| unsafe { work.run::<Portable, Portable>(from, to) },
        });
        list
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
