//! Wraps the vectors of f64 that a machine may have behind one trait.

use std::marker::PhantomData;

/// Proof that the machine has the instructions of the vectors `V`: everything that makes a vector takes it,
/// or takes another vector, and is safe to call.
pub(crate) struct Has<V>(PhantomData<V>);

impl<V> Clone for Has<V> {
    #[inline(always)]
    fn clone(&self) -> Has<V> {
        *self
    }
}

impl<V> Copy for Has<V> {}

impl Has<f64> {
    /// Every machine has numbers.
    pub const NUMBERS: Has<f64> = Has(PhantomData);
}

impl<V: Lane> Has<V> {
    /// # Safety
    /// The machine has the instructions of `V`.
    #[inline(always)]
    pub unsafe fn assume() -> Has<V> {
        Has(PhantomData)
    }

    /// Fills a vector with one number.
    #[inline(always)]
    pub fn splat(self, value: f64) -> V {
        V::splat(self, value)
    }

    /// The first `WIDTH` numbers.
    #[inline(always)]
    pub fn load(self, from: &[f64]) -> V {
        // SAFETY: the slice has that many, or taking them panics.
        unsafe { self.load_at(from[..V::WIDTH].as_ptr()) }
    }

    /// The first `WIDTH` bytes as numbers.
    #[inline(always)]
    pub fn bytes(self, from: &[u8]) -> V {
        // SAFETY: `Bytes` is `WIDTH` bytes, and the slice has that many, or taking them panics.
        V::bytes(self, unsafe { &*from[..V::WIDTH].as_ptr().cast() })
    }

    /// `WIDTH` numbers from a place on.
    ///
    /// # Safety
    /// They lie there, and nothing writes to them meanwhile.
    #[inline(always)]
    pub unsafe fn load_at(self, from: *const f64) -> V {
        // SAFETY: `Array` is `WIDTH` f64 and aligned like one; the caller has them there.
        V::read(self, unsafe { &*from.cast() })
    }
}

/// A vector of f64.
pub(crate) trait Lane: Copy {
    /// An array of `WIDTH` numbers, as large as the vector.
    type Array;
    type Bytes;
    /// How many f64 it holds.
    const WIDTH: usize;
    /// How many registers there are for it: 32, 16, or none that are worth counting on.
    const REGISTERS: usize;

    /// Fills a vector with one number.
    fn splat(has: Has<Self>, value: f64) -> Self;

    /// Consecutive numbers.
    fn read(has: Has<Self>, from: &Self::Array) -> Self;

    /// Consecutive bytes as numbers.
    fn bytes(has: Has<Self>, from: &Self::Bytes) -> Self;

    /// Writes all lanes, consecutively.
    fn write(self, to: &mut Self::Array);

    /// Writes all lanes from a place on.
    ///
    /// # Safety
    /// `WIDTH` numbers lie there, which nothing else reads or writes meanwhile.
    #[inline(always)]
    unsafe fn store_at(self, to: *mut f64) {
        // SAFETY: `Array` is `WIDTH` f64 and aligned like one; the caller has them there.
        self.write(unsafe { &mut *to.cast() });
    }

    /// Writes all lanes to the first `WIDTH` numbers.
    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        // SAFETY: the slice has that many, or taking them panics.
        unsafe { self.store_at(to[..Self::WIDTH].as_mut_ptr()) }
    }

    /// `self * b + c`, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
    fn plus(self, b: Self) -> Self;
    fn minus(self, b: Self) -> Self;
    fn times(self, b: Self) -> Self;
    fn over(self, b: Self) -> Self;
    fn most(self, b: Self) -> Self;
    /// `self` where `a >= b`, else zero.
    fn keep_if_ge(self, a: Self, b: Self) -> Self;
    /// Whether a lane is at least that of `b`.
    fn any_from(self, b: Self) -> bool;
    /// 2 to the power of whole numbers from -1022 to 1023, each given as MAGIC plus the number.
    fn power_of_two(magic: Self) -> Self;

    /// Fills a vector like this one with one number.
    #[inline(always)]
    fn like(self, value: f64) -> Self {
        self.has().splat(value)
    }

    /// A vector is a proof too: only one makes it.
    #[inline(always)]
    fn has(self) -> Has<Self> {
        Has(PhantomData)
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
    /// Transposes four rows.
    fn transposed(rows: [Self; 4]) -> [Self; 4];

    /// Four numbers.
    fn of(has: Has<Self>, numbers: [f64; 4]) -> Self;
}

/// 1.5 * 2^52: added to a number, it leaves the nearest whole number in the lowest bits.
pub(crate) const MAGIC: f64 = 6_755_399_441_055_744.0;

impl Lane for f64 {
    type Array = [f64; 1];
    type Bytes = [u8; 1];
    const WIDTH: usize = 1;
    const REGISTERS: usize = 0;
    #[inline(always)]
    fn splat(_: Has<f64>, value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn read(_: Has<f64>, &[number]: &[f64; 1]) -> f64 {
        number
    }
    #[inline(always)]
    fn bytes(_: Has<f64>, &[byte]: &[u8; 1]) -> f64 {
        byte.into()
    }
    #[inline(always)]
    fn write(self, to: &mut [f64; 1]) {
        *to = [self];
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
    fn any_from(self, b: f64) -> bool {
        self >= b
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
    type Array = [f64; 4];
    type Bytes = [u8; 4];
    const WIDTH: usize = 4;
    const REGISTERS: usize = 0;
    #[inline(always)]
    fn splat(_: Has<Portable>, value: f64) -> Portable {
        Portable([value; 4])
    }
    #[inline(always)]
    fn read(_: Has<Portable>, from: &[f64; 4]) -> Portable {
        Portable(*from)
    }
    #[inline(always)]
    fn bytes(_: Has<Portable>, from: &[u8; 4]) -> Portable {
        Portable(from.map(f64::from))
    }
    #[inline(always)]
    fn write(self, to: &mut [f64; 4]) {
        *to = self.0;
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
    fn any_from(self, b: Portable) -> bool {
        self.0.iter().zip(b.0).any(|(a, b)| *a >= b)
    }
    #[inline(always)]
    fn power_of_two(magic: Portable) -> Portable {
        Portable(magic.0.map(f64::power_of_two))
    }
}

impl Narrow for Portable {
    #[inline(always)]
    fn transposed(rows: [Portable; 4]) -> [Portable; 4] {
        std::array::from_fn(|column| Portable::lanes(|row| rows[row].0[column]))
    }
    #[inline(always)]
    fn of(_: Has<Portable>, numbers: [f64; 4]) -> Portable {
        Portable(numbers)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Has, Lane, Narrow};
    use std::arch::x86_64::*;

    /// Runs intrinsics in a method that takes a vector or the proof for one. Pointers that they read or write
    /// are references to whole arrays.
    macro_rules! intrinsics {
        ($($body:tt)*) => {
            // SAFETY: the vector or the proof shows that the machine has the instructions.
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
        type Array = [f64; 8];
        type Bytes = [u8; 8];
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
        fn splat(_: Has<Self>, value: f64) -> Self {
            intrinsics! { Self(_mm512_set1_pd(value)) }
        }
        #[inline(always)]
        fn read(_: Has<Self>, from: &[f64; 8]) -> Self {
            intrinsics! { Self(_mm512_loadu_pd(from.as_ptr())) }
        }
        #[inline(always)]
        fn bytes(_: Has<Self>, from: &[u8; 8]) -> Self {
            let eight = i64::from_ne_bytes(*from);
            intrinsics! { Self(_mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(eight)))) }
        }
        #[inline(always)]
        fn write(self, to: &mut [f64; 8]) {
            intrinsics! { _mm512_storeu_pd(to.as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        fn keep_if_ge(self, a: Self, b: Self) -> Self {
            intrinsics! {
                let keep = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(a.0, b.0);
                Self(_mm512_maskz_mov_pd(keep, self.0))
            }
        }
        #[inline(always)]
        fn any_from(self, b: Self) -> bool {
            intrinsics! { _mm512_cmp_pd_mask::<_CMP_GE_OQ>(self.0, b.0) != 0 }
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
        type Array = [f64; 4];
        type Bytes = [u8; 4];
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
        fn splat(_: Has<Self>, value: f64) -> Self {
            intrinsics! { Self(_mm256_set1_pd(value)) }
        }
        #[inline(always)]
        fn read(_: Has<Self>, from: &[f64; 4]) -> Self {
            intrinsics! { Self(_mm256_loadu_pd(from.as_ptr())) }
        }
        #[inline(always)]
        fn bytes(_: Has<Self>, from: &[u8; 4]) -> Self {
            let four = i32::from_ne_bytes(*from);
            intrinsics! { Self(_mm256_cvtepi32_pd(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(four)))) }
        }
        #[inline(always)]
        fn write(self, to: &mut [f64; 4]) {
            intrinsics! { _mm256_storeu_pd(to.as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        fn keep_if_ge(self, a: Self, b: Self) -> Self {
            intrinsics! { Self(_mm256_and_pd(_mm256_cmp_pd::<_CMP_GE_OQ>(a.0, b.0), self.0)) }
        }
        #[inline(always)]
        fn any_from(self, b: Self) -> bool {
            intrinsics! { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GE_OQ>(self.0, b.0)) != 0 }
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
        fn transposed(rows: [Self; 4]) -> [Self; 4] {
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
        fn of(_: Has<Self>, [a, b, c, d]: [f64; 4]) -> Self {
            intrinsics!(Self(_mm256_set_pd(d, c, b, a)))
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};
