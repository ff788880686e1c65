//! Contracts small matrices over many windows at once, one window per vector lane.
//!
//! Every sum of App. A is C[i][j] = sum_k A[i][k] B[k][j] with q or fewer rows and columns, done
//! for each lane of a slab. A lane's arithmetic is one chain of fused multiply-adds in a fixed
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
}

impl Lane for f64 {
    const WIDTH: usize = 1;
    const TILE: (usize, usize) = (5, 3);
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
}

/// Four lanes for any machine.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f64; 4]);

impl Lane for Portable {
    const WIDTH: usize = 4;
    const TILE: (usize, usize) = (4, 2);
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
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    use super::Lane;
    use std::arch::x86_64::*;

    macro_rules! lane {
        ($name:ident, $raw:ty, $width:literal, $tile:expr, $zero:ident, $load:ident, $store:ident, $fma:ident) => {
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
            }
        };
    }

    // 32 registers hold a tile of 15 with its five of A and three of B; 16 hold 8 with four and two.
    lane!(Avx512, __m512d, 8, (5, 3), _mm512_setzero_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd);
    lane!(Avx2, __m256d, 4, (4, 2), _mm256_setzero_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd);
}

/// One contraction: C[i][j] = sum over x and k of A[i][x, k] B[x, k][j], for one block of lanes.
///
/// All numbers are offsets into the three buffers.
#[derive(Clone, Copy)]
pub(crate) struct Contraction<'a> {
    /// For each x in turn, where row i of A starts.
    pub a_rows: &'a [usize],
    /// Where k lies within a row of A.
    pub a_terms: &'a [usize],
    /// How far x moves B.
    pub b_input: usize,
    /// Where k lies in B.
    pub b_terms: &'a [usize],
    /// How far j moves B.
    pub b_column: usize,
    /// How far i and j move C.
    pub c: (usize, usize),
    /// Rows and columns of C.
    pub size: (usize, usize),
    /// Whether C is added to or overwritten.
    pub add: bool,
}

impl Contraction<'_> {
    /// Runs it for `width` lanes with the vectors that fit.
    ///
    /// # Safety
    /// Every offset plus `width` lies within its buffer, and the machine has the instructions of
    /// `Wide` and `Narrow`.
    #[inline(always)]
    pub unsafe fn run<Wide: Lane, Narrow: Lane>(&self, width: usize, a: *const f64, b: *const f64, c: *mut f64) {
        unsafe {
            match width {
                1 => self.lanes::<f64>(1, a, b, c),
                4 => self.lanes::<Narrow>(4, a, b, c),
                _ => self.lanes::<Wide>(8, a, b, c),
            }
        }
    }

    #[inline(always)]
    unsafe fn lanes<V: Lane>(&self, width: usize, a: *const f64, b: *const f64, c: *mut f64) {
        let (rows, columns) = self.size;
        let (tall, wide) = (tile(rows, V::TILE.0), tile(columns, V::TILE.1));
        for lane in (0..width).step_by(V::WIDTH) {
            let (a, b, c) = unsafe { (a.add(lane), b.add(lane), c.add(lane)) };
            for i in (0..rows).step_by(tall) {
                for j in (0..columns).step_by(wide) {
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
                        (1, 1) (1, 2) (1, 3) (2, 1) (2, 2) (2, 3) (3, 1) (3, 2) (3, 3)
                        (4, 1) (4, 2) (4, 3) (5, 1) (5, 2) (5, 3)
                    }
                }
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
        let inputs = self.a_rows.len() / rows;
        let (down, right) = self.c;
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
            for x in 0..inputs {
                let starts = self.a_rows.as_ptr().add(x * rows + i0);
                let mut from = [a; R];
                for (i, from) in from.iter_mut().enumerate() {
                    *from = from.add(*starts.add(i));
                }
                let b = b.add(x * self.b_input + j0 * self.b_column);
                for (&at, &bt) in self.a_terms.iter().zip(self.b_terms) {
                    let mut left = [V::zero(); R];
                    for (left, from) in left.iter_mut().zip(from) {
                        *left = V::load(from.add(at));
                    }
                    for j in 0..C {
                        let right = V::load(b.add(bt + j * self.b_column));
                        for i in 0..R {
                            sum[i][j] = left[i].fma(right, sum[i][j]);
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

/// to[n] = from[n * stride] * factor, for `count` vectors of one block of lanes.
///
/// # Safety
/// As for a contraction.
#[inline(always)]
pub(crate) unsafe fn spread<Wide: Lane, Narrow: Lane>(
    width: usize,
    count: usize,
    from: *const f64,
    stride: usize,
    factor: *const f64,
    to: *mut f64,
) {
    #[inline(always)]
    unsafe fn by<V: Lane>(width: usize, count: usize, from: *const f64, stride: usize, factor: *const f64, to: *mut f64) {
        for lane in (0..width).step_by(V::WIDTH) {
            unsafe {
                let factor = V::load(factor.add(lane));
                for n in 0..count {
                    let value = V::load(from.add(n * stride + lane));
                    value.fma(factor, V::zero()).store(to.add(n * width + lane));
                }
            }
        }
    }
    unsafe {
        match width {
            1 => by::<f64>(1, count, from, stride, factor, to),
            4 => by::<Narrow>(4, count, from, stride, factor, to),
            _ => by::<Wide>(8, count, from, stride, factor, to),
        }
    }
}

/// to[i] = sum over p < places of from[p * len + i] * factor[p * len + i], added to or overwritten.
///
/// # Safety
/// As for a contraction.
#[inline(always)]
pub(crate) unsafe fn gather<Wide: Lane, Narrow: Lane>(
    len: usize,
    places: usize,
    from: *const f64,
    factor: *const f64,
    to: *mut f64,
    add: bool,
) {
    #[inline(always)]
    unsafe fn by<V: Lane>(len: usize, places: usize, from: *const f64, factor: *const f64, to: *mut f64, add: bool) {
        for n in 0..len.div_ceil(V::WIDTH) {
            // The last vector overlaps the one before if it must; adding never does.
            let i = (n * V::WIDTH).min(len - V::WIDTH);
            unsafe {
                let mut sum = if add { V::load(to.add(i)) } else { V::zero() };
                for p in 0..places {
                    sum = V::load(from.add(p * len + i)).fma(V::load(factor.add(p * len + i)), sum);
                }
                sum.store(to.add(i));
            }
        }
    }
    let fits = |width: usize| if add { len.is_multiple_of(width) } else { len >= width };
    unsafe {
        if fits(Wide::WIDTH) {
            by::<Wide>(len, places, from, factor, to, add);
        } else if fits(Narrow::WIDTH) {
            by::<Narrow>(len, places, from, factor, to, add);
        } else {
            by::<f64>(len, places, from, factor, to, add);
        }
    }
}

/// The size of equal parts of `n`, each at most `most`.
fn tile(n: usize, most: usize) -> usize {
    n.div_ceil(n.div_ceil(most))
}

/// Instructions a machine may have; each runs whole passes compiled for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isa {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Isa {
    /// The widest this machine has.
    pub fn best() -> Isa {
        Isa::available()[0]
    }

    /// All this machine has, the widest first.
    pub fn available() -> Vec<Isa> {
        let mut list = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                list.push(Isa::Avx512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                list.push(Isa::Avx2);
            }
        }
        list.push(Isa::Portable);
        list
    }
}
