//! Wraps the vectors of f64 that a machine may have behind one trait.

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
    unsafe fn minus(self, b: Self) -> Self;
    unsafe fn times(self, b: Self) -> Self;
    unsafe fn over(self, b: Self) -> Self;
    unsafe fn most(self, b: Self) -> Self;
    unsafe fn splat(value: f64) -> Self;
    /// `self` where `a >= b`, else zero.
    unsafe fn keep_if_ge(self, a: Self, b: Self) -> Self;
    /// Whether a lane is at least `low` and below `high`.
    unsafe fn any_between(self, low: f64, high: f64) -> bool;
    /// 2 to the power of whole numbers from -1022 to 1023, each given as MAGIC plus the number.
    unsafe fn power_of_two(magic: Self) -> Self;
    /// Bytes as numbers.
    unsafe fn bytes(from: *const u8) -> Self;
    /// Zero where below `least`.
    #[inline(always)]
    unsafe fn flush(self, least: f64) -> Self {
        unsafe { self.keep_if_ge(self, Self::splat(least)) }
    }
}

/// 1.5 * 2^52: added to a number, it leaves the nearest whole number in the lowest bits.
pub(crate) const MAGIC: f64 = 6_755_399_441_055_744.0;

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
    unsafe fn minus(self, b: f64) -> f64 {
        self - b
    }
    #[inline(always)]
    unsafe fn times(self, b: f64) -> f64 {
        self * b
    }
    #[inline(always)]
    unsafe fn over(self, b: f64) -> f64 {
        self / b
    }
    #[inline(always)]
    unsafe fn most(self, b: f64) -> f64 {
        if self > b { self } else { b }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    unsafe fn keep_if_ge(self, a: f64, b: f64) -> f64 {
        if a >= b { self } else { 0.0 }
    }
    #[inline(always)]
    unsafe fn any_between(self, low: f64, high: f64) -> bool {
        (low..high).contains(&self)
    }
    #[inline(always)]
    unsafe fn power_of_two(magic: f64) -> f64 {
        f64::from_bits(magic.to_bits().wrapping_add(1023) << 52)
    }
    #[inline(always)]
    unsafe fn bytes(from: *const u8) -> f64 {
        unsafe { f64::from(*from) }
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
    unsafe fn minus(self, b: Portable) -> Portable {
        Portable(std::array::from_fn(|i| self.0[i] - b.0[i]))
    }
    #[inline(always)]
    unsafe fn times(self, b: Portable) -> Portable {
        Portable(std::array::from_fn(|i| self.0[i] * b.0[i]))
    }
    #[inline(always)]
    unsafe fn over(self, b: Portable) -> Portable {
        Portable(std::array::from_fn(|i| self.0[i] / b.0[i]))
    }
    #[inline(always)]
    unsafe fn most(self, b: Portable) -> Portable {
        Portable(std::array::from_fn(|i| unsafe { self.0[i].most(b.0[i]) }))
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Portable {
        Portable([value; 4])
    }
    #[inline(always)]
    unsafe fn keep_if_ge(self, a: Portable, b: Portable) -> Portable {
        Portable(std::array::from_fn(|i| {
            if a.0[i] >= b.0[i] { self.0[i] } else { 0.0 }
        }))
    }
    #[inline(always)]
    unsafe fn any_between(self, low: f64, high: f64) -> bool {
        self.0.iter().any(|lane| (low..high).contains(lane))
    }
    #[inline(always)]
    unsafe fn power_of_two(magic: Portable) -> Portable {
        Portable(magic.0.map(|m| unsafe { f64::power_of_two(m) }))
    }
    #[inline(always)]
    unsafe fn bytes(from: *const u8) -> Portable {
        Portable(std::array::from_fn(|i| unsafe { f64::from(*from.add(i)) }))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lane;
    use std::arch::x86_64::*;

    /// Writes a method as one intrinsic on the raw vectors.
    macro_rules! intrinsic {
        ($($method:ident($($argument:ident),*) = $call:ident;)*) => {
            $(#[inline(always)]
            unsafe fn $method(self, $($argument: Self),*) -> Self {
                unsafe { Self($call(self.0, $($argument.0),*)) }
            })*
        };
    }

    /// Eight lanes.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(__m512d);

    impl Lane for Avx512 {
        const WIDTH: usize = 8;
        // 32 registers hold a tile of 15 with its three of A and five of B.
        const TILE: (usize, usize) = (3, 5);
        intrinsic! {
            fma(b, c) = _mm512_fmadd_pd;
            plus(b) = _mm512_add_pd;
            minus(b) = _mm512_sub_pd;
            times(b) = _mm512_mul_pd;
            over(b) = _mm512_div_pd;
            most(b) = _mm512_max_pd;
        }
        #[inline(always)]
        unsafe fn zero() -> Self {
            unsafe { Self(_mm512_setzero_pd()) }
        }
        #[inline(always)]
        unsafe fn splat(value: f64) -> Self {
            unsafe { Self(_mm512_set1_pd(value)) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            unsafe { Self(_mm512_loadu_pd(from)) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            unsafe { _mm512_storeu_pd(to, self.0) }
        }
        #[inline(always)]
        unsafe fn keep_if_ge(self, a: Self, b: Self) -> Self {
            unsafe {
                let keep = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(a.0, b.0);
                Self(_mm512_maskz_mov_pd(keep, self.0))
            }
        }
        #[inline(always)]
        unsafe fn any_between(self, low: f64, high: f64) -> bool {
            unsafe {
                let above = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(self.0, _mm512_set1_pd(low));
                let high = _mm512_set1_pd(high);
                _mm512_mask_cmp_pd_mask::<_CMP_LT_OQ>(above, self.0, high) != 0
            }
        }
        #[inline(always)]
        unsafe fn power_of_two(magic: Self) -> Self {
            unsafe {
                let biased =
                    _mm512_add_epi64(_mm512_castpd_si512(magic.0), _mm512_set1_epi64(1023));
                Self(_mm512_castsi512_pd(_mm512_slli_epi64::<52>(biased)))
            }
        }
        #[inline(always)]
        unsafe fn bytes(from: *const u8) -> Self {
            unsafe {
                Self(_mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(_mm_loadl_epi64(
                    from.cast(),
                ))))
            }
        }
    }

    /// Four lanes.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256d);

    impl Lane for Avx2 {
        const WIDTH: usize = 4;
        // 16 registers hold a tile of 8 with its two of A and four of B.
        const TILE: (usize, usize) = (2, 4);
        intrinsic! {
            fma(b, c) = _mm256_fmadd_pd;
            plus(b) = _mm256_add_pd;
            minus(b) = _mm256_sub_pd;
            times(b) = _mm256_mul_pd;
            over(b) = _mm256_div_pd;
            most(b) = _mm256_max_pd;
        }
        #[inline(always)]
        unsafe fn zero() -> Self {
            unsafe { Self(_mm256_setzero_pd()) }
        }
        #[inline(always)]
        unsafe fn splat(value: f64) -> Self {
            unsafe { Self(_mm256_set1_pd(value)) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            unsafe { Self(_mm256_loadu_pd(from)) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            unsafe { _mm256_storeu_pd(to, self.0) }
        }
        #[inline(always)]
        unsafe fn keep_if_ge(self, a: Self, b: Self) -> Self {
            unsafe { Self(_mm256_and_pd(_mm256_cmp_pd::<_CMP_GE_OQ>(a.0, b.0), self.0)) }
        }
        #[inline(always)]
        unsafe fn any_between(self, low: f64, high: f64) -> bool {
            unsafe {
                let above = _mm256_cmp_pd::<_CMP_GE_OQ>(self.0, _mm256_set1_pd(low));
                let below = _mm256_cmp_pd::<_CMP_LT_OQ>(self.0, _mm256_set1_pd(high));
                _mm256_movemask_pd(_mm256_and_pd(above, below)) != 0
            }
        }
        #[inline(always)]
        unsafe fn power_of_two(magic: Self) -> Self {
            unsafe {
                let biased =
                    _mm256_add_epi64(_mm256_castpd_si256(magic.0), _mm256_set1_epi64x(1023));
                Self(_mm256_castsi256_pd(_mm256_slli_epi64::<52>(biased)))
            }
        }
        #[inline(always)]
        unsafe fn bytes(from: *const u8) -> Self {
            unsafe {
                let four = _mm_cvtsi32_si128(from.cast::<i32>().read_unaligned());
                Self(_mm256_cvtepi32_pd(_mm_cvtepu8_epi32(four)))
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};
