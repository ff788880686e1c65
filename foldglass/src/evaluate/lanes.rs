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

/// One contraction: C[i][j] = sum over x and k of A[i][x, k] B[x, k][j], for every lane of a slab.
///
/// All numbers are offsets into the three buffers.
#[derive(Clone, Copy)]
pub(crate) struct Contraction<'a> {
    /// For each x in turn, where row i of A starts.
    pub a_rows: &'a [usize],
    /// Where k lies within a row of A.
    pub a_terms: &'a [usize],
    /// Where B starts, and how far x moves it.
    pub b: (usize, usize),
    /// Where k lies in B.
    pub b_terms: &'a [usize],
    /// How far j moves B.
    pub b_column: usize,
    /// Where C starts, how far i moves it, how far j does.
    pub c: (usize, usize, usize),
    /// Rows and columns of C.
    pub size: (usize, usize),
    /// Lanes, padded.
    pub slab: usize,
    /// Whether C is added to or overwritten.
    pub add: bool,
}

impl Contraction<'_> {
    /// Runs it with vectors `V`.
    ///
    /// # Safety
    /// Every offset plus a slab lies within its buffer, `V::WIDTH` divides the slab, and the
    /// machine has the instructions of `V`.
    #[inline(always)]
    pub unsafe fn run<V: Lane>(&self, a: *const f64, b: *const f64, c: *mut f64) {
        let (rows, columns) = self.size;
        let (tall, wide) = (tile(rows, V::TILE.0), tile(columns, V::TILE.1));
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
        unsafe {
            let out = c.add(self.c.0 + i0 * self.c.1 + j0 * self.c.2);
            for lane in (0..self.slab).step_by(V::WIDTH) {
                let mut sum = [[V::zero(); C]; R];
                if self.add {
                    for (i, row) in sum.iter_mut().enumerate() {
                        for (j, value) in row.iter_mut().enumerate() {
                            *value = V::load(out.add(i * self.c.1 + j * self.c.2 + lane));
                        }
                    }
                }
                for x in 0..inputs {
                    let starts = self.a_rows.as_ptr().add(x * rows + i0);
                    let mut from = [a; R];
                    for (i, from) in from.iter_mut().enumerate() {
                        *from = from.add(*starts.add(i) + lane);
                    }
                    let b = b.add(self.b.0 + x * self.b.1 + j0 * self.b_column + lane);
                    for k in 0..self.a_terms.len() {
                        let (at, bt) = (*self.a_terms.get_unchecked(k), *self.b_terms.get_unchecked(k));
                        let mut left = [V::zero(); R];
                        for i in 0..R {
                            left[i] = V::load(from[i].add(at));
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
                        value.store(out.add(i * self.c.1 + j * self.c.2 + lane));
                    }
                }
            }
        }
    }
}

/// A stretch of a message and the places in a slab that it spreads to, one for each symbol drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fan {
    /// Where the stretch starts in the message, and its length.
    pub from: usize,
    pub len: usize,
    /// How many places, and how far apart; the first is lane 0.
    pub count: usize,
    pub stride: usize,
    /// Where its factors start: a stretch for each place.
    pub factor: usize,
}

impl Fan {
    /// slab[place][i] = message[i] * factor[place][i].
    ///
    /// # Safety
    /// The stretch, its places and its factors lie within the buffers, and the machine has the
    /// instructions of `Wide` and `Narrow`.
    #[inline(always)]
    pub unsafe fn spread<Wide: Lane, Narrow: Lane>(&self, message: *const f64, factors: *const f64, slab: *mut f64) {
        unsafe {
            if self.len >= Wide::WIDTH {
                self.spread_by::<Wide>(message, factors, slab);
            } else if self.len >= Narrow::WIDTH {
                self.spread_by::<Narrow>(message, factors, slab);
            } else {
                self.spread_by::<f64>(message, factors, slab);
            }
        }
    }

    /// message[i] = sum over places of slab[place][i] * factor[place][i], added to or overwritten.
    ///
    /// # Safety
    /// As for `spread`.
    #[inline(always)]
    pub unsafe fn gather<Wide: Lane, Narrow: Lane>(&self, message: *mut f64, factors: *const f64, slab: *const f64, add: bool) {
        unsafe {
            // Adding must touch each element once, so the last vector may not overlap.
            let fits = |width: usize| if add { self.len % width == 0 } else { self.len >= width };
            if fits(Wide::WIDTH) {
                self.gather_by::<Wide>(message, factors, slab, add);
            } else if fits(Narrow::WIDTH) {
                self.gather_by::<Narrow>(message, factors, slab, add);
            } else {
                self.gather_by::<f64>(message, factors, slab, add);
            }
        }
    }

    #[inline(always)]
    unsafe fn spread_by<V: Lane>(&self, message: *const f64, factors: *const f64, slab: *mut f64) {
        unsafe {
            let (message, factors) = (message.add(self.from), factors.add(self.factor));
            for i in starts::<V>(self.len) {
                let value = V::load(message.add(i));
                for place in 0..self.count {
                    let factor = V::load(factors.add(place * self.len + i));
                    value.fma(factor, V::zero()).store(slab.add(place * self.stride + i));
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn gather_by<V: Lane>(&self, message: *mut f64, factors: *const f64, slab: *const f64, add: bool) {
        unsafe {
            let (message, factors) = (message.add(self.from), factors.add(self.factor));
            for i in starts::<V>(self.len) {
                let mut sum = if add { V::load(message.add(i)) } else { V::zero() };
                for place in 0..self.count {
                    let factor = V::load(factors.add(place * self.len + i));
                    sum = V::load(slab.add(place * self.stride + i)).fma(factor, sum);
                }
                sum.store(message.add(i));
            }
        }
    }
}

/// Where vectors start that cover 0..len; the last one overlaps the one before if it must.
#[inline(always)]
fn starts<V: Lane>(len: usize) -> impl Iterator<Item = usize> {
    (0..len.div_ceil(V::WIDTH)).map(move |n| (n * V::WIDTH).min(len - V::WIDTH))
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
