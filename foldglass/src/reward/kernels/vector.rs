//! Wraps the vectors of f64 that a machine may have behind one trait.

/// A vector of f64.
///
/// A vector is also the proof that the machine has its instructions: `splat`, `load` and `bytes`,
/// which make one out of nothing, are unsafe to call without them, and everything that takes a
/// vector is safe.
pub(crate) trait Lane: Copy {
    /// How many f64 it holds.
    const WIDTH: usize;
    /// How many registers there are for it: 32, 16, or none that are worth counting on.
    const REGISTERS: usize;

    /// The same number in every lane.
    ///
    /// # Safety
    /// The machine has the instructions of this vector.
    unsafe fn splat(value: f64) -> Self;

    /// `WIDTH` numbers, one behind the other.
    ///
    /// # Safety
    /// The machine has the instructions of this vector, and `WIDTH` numbers lie at `from`.
    unsafe fn load(from: *const f64) -> Self;

    /// `WIDTH` bytes as numbers.
    ///
    /// # Safety
    /// The machine has the instructions of this vector, and `WIDTH` bytes lie at `from`.
    unsafe fn bytes(from: *const u8) -> Self;

    /// Writes all lanes, one behind the other.
    ///
    /// # Safety
    /// There is room for `WIDTH` numbers at `to`.
    unsafe fn store(self, to: *mut f64);

    /// `self * b + c`, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
    fn plus(self, b: Self) -> Self;
    fn minus(self, b: Self) -> Self;
    fn times(self, b: Self) -> Self;
    fn over(self, b: Self) -> Self;
    fn most(self, b: Self) -> Self;
    /// `self` where `a >= b`, else zero.
    fn keep_if_ge(self, a: Self, b: Self) -> Self;
    /// Whether a lane is above that of `b`.
    fn any_above(self, b: Self) -> bool;
    /// 2 to the power of whole numbers from -1022 to 1023, each given as MAGIC plus the number.
    fn power_of_two(magic: Self) -> Self;

    /// The same number in every lane of a vector like this one.
    #[inline(always)]
    fn like(self, value: f64) -> Self {
        // SAFETY: `self` shows that the machine has the instructions.
        unsafe { Self::splat(value) }
    }

    /// Zero where below `least`.
    #[inline(always)]
    fn flush(self, least: f64) -> Self {
        self.keep_if_ge(self, self.like(least))
    }
}

/// The f64 of a line of the cache.
pub(crate) const LINE: usize = 8;

/// Asks for the line of a place before it is read; any place will do.
#[inline(always)]
pub(crate) fn ask_for(place: *const f64) {
    // SAFETY: a hint, which reads nothing and cannot fail; all machines of this kind have it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// A vector of four f64.
pub(crate) trait Narrow: Lane {
    /// Four rows as four columns.
    fn turned(rows: [Self; 4]) -> [Self; 4];

    /// Numbers from four places.
    ///
    /// # Safety
    /// The machine has the instructions of this vector, and a number lies at each place.
    unsafe fn gather(from: [*const f64; 4]) -> Self;
}

/// 1.5 * 2^52: added to a number, it leaves the nearest whole number in the lowest bits.
pub(crate) const MAGIC: f64 = 6_755_399_441_055_744.0;

impl Lane for f64 {
    const WIDTH: usize = 1;
    const REGISTERS: usize = 0;
    #[inline(always)]
    unsafe fn splat(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    unsafe fn load(from: *const f64) -> f64 {
        // SAFETY: the caller has one number there.
        unsafe { *from }
    }
    #[inline(always)]
    unsafe fn bytes(from: *const u8) -> f64 {
        // SAFETY: the caller has one byte there.
        f64::from(unsafe { *from })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller has room for one number there.
        unsafe { *to = self }
    }
    #[inline(always)]
    fn fma(self, b: f64, c: f64) -> f64 {
        self.mul_add(b, c)
    }
    #[inline(always)]
    fn plus(self, b: f64) -> f64 {
        self + b
    }
    #[inline(always)]
    fn minus(self, b: f64) -> f64 {
        self - b
    }
    #[inline(always)]
    fn times(self, b: f64) -> f64 {
        self * b
    }
    #[inline(always)]
    fn over(self, b: f64) -> f64 {
        self / b
    }
    #[inline(always)]
    fn most(self, b: f64) -> f64 {
        if self > b { self } else { b }
    }
    #[inline(always)]
    fn keep_if_ge(self, a: f64, b: f64) -> f64 {
        if a >= b { self } else { 0.0 }
    }
    #[inline(always)]
    fn any_above(self, b: f64) -> bool {
        self > b
    }
    #[inline(always)]
    fn power_of_two(magic: f64) -> f64 {
        f64::from_bits(magic.to_bits().wrapping_add(1023) << 52)
    }
}

/// Four lanes for any machine.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f64; 4]);

impl Portable {
    #[inline(always)]
    fn lanes(lane: impl FnMut(usize) -> f64) -> Portable {
        Portable(std::array::from_fn(lane))
    }
}

impl Lane for Portable {
    const WIDTH: usize = 4;
    const REGISTERS: usize = 0;
    #[inline(always)]
    unsafe fn splat(value: f64) -> Portable {
        Portable([value; 4])
    }
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Portable {
        // SAFETY: the caller has four numbers there; an array of f64 is aligned like an f64.
        Portable(unsafe { *from.cast() })
    }
    #[inline(always)]
    unsafe fn bytes(from: *const u8) -> Portable {
        // SAFETY: the caller has four bytes there.
        let bytes: [u8; 4] = unsafe { *from.cast() };
        Portable(bytes.map(f64::from))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller has room for four numbers there, aligned as in `load`.
        unsafe { *to.cast() = self.0 }
    }
    #[inline(always)]
    fn fma(self, b: Portable, c: Portable) -> Portable {
        Portable::lanes(|i| self.0[i].mul_add(b.0[i], c.0[i]))
    }
    #[inline(always)]
    fn plus(self, b: Portable) -> Portable {
        Portable::lanes(|i| self.0[i] + b.0[i])
    }
    #[inline(always)]
    fn minus(self, b: Portable) -> Portable {
        Portable::lanes(|i| self.0[i] - b.0[i])
    }
    #[inline(always)]
    fn times(self, b: Portable) -> Portable {
        Portable::lanes(|i| self.0[i] * b.0[i])
    }
    #[inline(always)]
    fn over(self, b: Portable) -> Portable {
        Portable::lanes(|i| self.0[i] / b.0[i])
    }
    #[inline(always)]
    fn most(self, b: Portable) -> Portable {
        Portable::lanes(|i| self.0[i].most(b.0[i]))
    }
    #[inline(always)]
    fn keep_if_ge(self, a: Portable, b: Portable) -> Portable {
        Portable::lanes(|i| self.0[i].keep_if_ge(a.0[i], b.0[i]))
    }
    #[inline(always)]
    fn any_above(self, b: Portable) -> bool {
        self.0.iter().zip(b.0).any(|(a, b)| *a > b)
    }
    #[inline(always)]
    fn power_of_two(magic: Portable) -> Portable {
        Portable(magic.0.map(f64::power_of_two))
    }
}

impl Narrow for Portable {
    #[inline(always)]
    fn turned(rows: [Portable; 4]) -> [Portable; 4] {
        std::array::from_fn(|column| Portable::lanes(|row| rows[row].0[column]))
    }
    #[inline(always)]
    unsafe fn gather(from: [*const f64; 4]) -> Portable {
        // SAFETY: the caller has a number at each.
        Portable::lanes(|lane| unsafe { *from[lane] })
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Lane, Narrow};
    use std::arch::x86_64::*;

    /// Runs intrinsics in a method that takes or, unsafe to call, makes a vector.
    macro_rules! intrinsics {
        ($($body:tt)*) => {
            // SAFETY: the vector taken, or the caller that has one made, shows that the machine
            // has the instructions.
            unsafe { $($body)* }
        };
    }

    /// Writes a method as one intrinsic on the raw vectors.
    macro_rules! methods {
        ($($method:ident($($argument:ident),*) = $call:ident;)*) => {
            $(#[inline(always)]
            fn $method(self, $($argument: Self),*) -> Self {
                intrinsics! { Self($call(self.0, $($argument.0),*)) }
            })*
        };
    }

    /// Eight lanes. Only the methods of `Lane` make one.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(__m512d);

    impl Lane for Avx512 {
        const WIDTH: usize = 8;
        const REGISTERS: usize = 32;
        methods! {
            fma(b, c) = _mm512_fmadd_pd;
            plus(b) = _mm512_add_pd;
            minus(b) = _mm512_sub_pd;
            times(b) = _mm512_mul_pd;
            over(b) = _mm512_div_pd;
            most(b) = _mm512_max_pd;
        }
        #[inline(always)]
        unsafe fn splat(value: f64) -> Self {
            intrinsics! { Self(_mm512_set1_pd(value)) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            // SAFETY: the caller has the instructions, and eight numbers there.
            unsafe { Self(_mm512_loadu_pd(from)) }
        }
        #[inline(always)]
        unsafe fn bytes(from: *const u8) -> Self {
            // SAFETY: the caller has the instructions, and eight bytes there.
            let eight = unsafe { _mm_loadl_epi64(from.cast()) };
            intrinsics! { Self(_mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(eight))) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            // SAFETY: `self` shows the instructions; the caller has room for eight numbers there.
            unsafe { _mm512_storeu_pd(to, self.0) }
        }
        #[inline(always)]
        fn keep_if_ge(self, a: Self, b: Self) -> Self {
            intrinsics! {
                let keep = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(a.0, b.0);
                Self(_mm512_maskz_mov_pd(keep, self.0))
            }
        }
        #[inline(always)]
        fn any_above(self, b: Self) -> bool {
            intrinsics! { _mm512_cmp_pd_mask::<_CMP_GT_OQ>(self.0, b.0) != 0 }
        }
        #[inline(always)]
        fn power_of_two(magic: Self) -> Self {
            intrinsics! {
                let biased =
                    _mm512_add_epi64(_mm512_castpd_si512(magic.0), _mm512_set1_epi64(1023));
                Self(_mm512_castsi512_pd(_mm512_slli_epi64::<52>(biased)))
            }
        }
    }

    /// Four lanes. Only the methods of `Lane` make one.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256d);

    impl Lane for Avx2 {
        const WIDTH: usize = 4;
        const REGISTERS: usize = 16;
        methods! {
            fma(b, c) = _mm256_fmadd_pd;
            plus(b) = _mm256_add_pd;
            minus(b) = _mm256_sub_pd;
            times(b) = _mm256_mul_pd;
            over(b) = _mm256_div_pd;
            most(b) = _mm256_max_pd;
        }
        #[inline(always)]
        unsafe fn splat(value: f64) -> Self {
            intrinsics! { Self(_mm256_set1_pd(value)) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            // SAFETY: the caller has the instructions, and four numbers there.
            unsafe { Self(_mm256_loadu_pd(from)) }
        }
        #[inline(always)]
        unsafe fn bytes(from: *const u8) -> Self {
            // SAFETY: the caller has four bytes there, aligned or not.
            let four = unsafe { from.cast::<i32>().read_unaligned() };
            intrinsics! { Self(_mm256_cvtepi32_pd(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(four)))) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            // SAFETY: `self` shows the instructions; the caller has room for four numbers there.
            unsafe { _mm256_storeu_pd(to, self.0) }
        }
        #[inline(always)]
        fn keep_if_ge(self, a: Self, b: Self) -> Self {
            intrinsics! { Self(_mm256_and_pd(_mm256_cmp_pd::<_CMP_GE_OQ>(a.0, b.0), self.0)) }
        }
        #[inline(always)]
        fn any_above(self, b: Self) -> bool {
            intrinsics! { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(self.0, b.0)) != 0 }
        }
        #[inline(always)]
        fn power_of_two(magic: Self) -> Self {
            intrinsics! {
                let biased =
                    _mm256_add_epi64(_mm256_castpd_si256(magic.0), _mm256_set1_epi64x(1023));
                Self(_mm256_castsi256_pd(_mm256_slli_epi64::<52>(biased)))
            }
        }
    }

    impl Narrow for Avx2 {
        #[inline(always)]
        fn turned(rows: [Self; 4]) -> [Self; 4] {
            let [Avx2(a), Avx2(b), Avx2(c), Avx2(d)] = rows;
            intrinsics! {
                let (low_ab, high_ab) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
                let (low_cd, high_cd) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
                [
                    Self(_mm256_permute2f128_pd::<0x20>(low_ab, low_cd)),
                    Self(_mm256_permute2f128_pd::<0x20>(high_ab, high_cd)),
                    Self(_mm256_permute2f128_pd::<0x31>(low_ab, low_cd)),
                    Self(_mm256_permute2f128_pd::<0x31>(high_ab, high_cd)),
                ]
            }
        }
        #[inline(always)]
        unsafe fn gather(from: [*const f64; 4]) -> Self {
            let [a, b, c, d] = from;
            intrinsics!(Self(_mm256_set_pd(*d, *c, *b, *a)))
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};
