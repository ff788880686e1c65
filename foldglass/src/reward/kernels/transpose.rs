//! Transposes rows of probabilities into vectors, checked and scaled to sums of 1 (paper, section 2.2).
//!
//! The rows of a panel lie far apart, and a processor does not foresee where the next one is: the rows that are read
//! next are fetched ahead, in their own order, while these are transposed.

use crate::reward::layout::PANEL;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// The outcome of transposing the rows of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transposed {
    /// The panel is as it was: this machine lacks the vectors, or a row is longer than one.
    Unsupported,
    /// The panel holds the rows, and each is a distribution.
    Distributions,
    /// A row is not a distribution.
    Refused,
}

/// The cells of a panel of eight lanes: the rows of a cell are those of number `lanes[lane] + vectors[vector]`.
#[derive(Clone, Copy)]
pub(crate) struct Transpose<'a> {
    pub lanes: &'a [usize; PANEL],
    pub vectors: &'a [usize],
    /// Entries of a row.
    pub each: usize,
    /// A row whose sum misses 1 by more is not a distribution.
    pub tolerance: f64,
    /// A row whose sum misses 1 by more is scaled.
    pub rounding: f64,
    /// Entries below this become zero.
    pub least: f64,
}

/// A type of the entries of rows: f64 or f32.
pub(crate) trait RowEntry: Copy + Into<f64> {
    /// The entries at `from` that the mask selects.
    ///
    /// # Safety
    /// The machine has AVX-512, and these entries can be read.
    #[cfg(target_arch = "x86_64")]
    unsafe fn load(mask: u8, from: *const Self) -> __m512d;
}

impl RowEntry for f64 {
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn load(mask: u8, from: *const f64) -> __m512d {
        // SAFETY: only selected entries are read, and the caller can read them.
        unsafe { _mm512_maskz_loadu_pd(mask, from) }
    }
}

impl RowEntry for f32 {
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn load(mask: u8, from: *const f32) -> __m512d {
        // SAFETY: only selected entries are read, and the caller can read them.
        _mm512_cvtps_pd(unsafe { _mm256_maskz_loadu_ps(mask, from) })
    }
}

/// Fetches rows to the near caches, in their order.
pub(crate) fn fetch<P: RowEntry>(rows: &[P]) {
    rows.chunks(line::<P>()).for_each(fetch_line);
}

/// Entries of a line of a cache.
fn line<P>() -> usize {
    64 / size_of::<P>()
}

#[inline(always)]
fn fetch_line<P>(entries: &[P]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: fetching ahead reads and writes nothing that a program sees, and every such machine has it.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(entries.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = entries;
}

impl Transpose<'_> {
    /// Writes the rows to the panel: for each vector of cells, one vector for each entry. A row whose sum misses 1 by
    /// more than `rounding` is multiplied by the inverse of the sum. Fetches `ahead` meanwhile.
    ///
    /// # Panics
    /// If a row is outside of `rows`, or the panel has not the size of the cells.
    pub fn run<P: RowEntry>(&self, rows: &[P], ahead: &[P], panel: &mut [f64]) -> Transposed {
        let last = |numbers: &[usize]| numbers.iter().max().map_or(0, |&number| number);
        let reach = (last(self.lanes) + last(self.vectors) + 1) * self.each;
        assert!(reach <= rows.len(), "a row for each cell");
        assert_eq!(panel.len(), self.vectors.len() * self.each * PANEL);
        #[cfg(target_arch = "x86_64")]
        if super::has_avx512() {
            // SAFETY: the machine has the vectors, and rows and panel are large enough.
            return unsafe {
                match self.each {
                    2 => self.on_avx512::<2, P>(rows, ahead, panel),
                    3 => self.on_avx512::<3, P>(rows, ahead, panel),
                    4 => self.on_avx512::<4, P>(rows, ahead, panel),
                    5 => self.on_avx512::<5, P>(rows, ahead, panel),
                    6 => self.on_avx512::<6, P>(rows, ahead, panel),
                    7 => self.on_avx512::<7, P>(rows, ahead, panel),
                    8 => self.on_avx512::<8, P>(rows, ahead, panel),
                    _ => Transposed::Unsupported,
                }
            };
        }
        Transposed::Unsupported
    }

    /// # Safety
    /// The machine has AVX-512, rows have Q entries, and `run` has compared the reach of the cells with the rows.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn on_avx512<const Q: usize, P: RowEntry>(
        &self,
        rows: &[P],
        ahead: &[P],
        panel: &mut [f64],
    ) -> Transposed {
        let mask = u8::MAX >> (PANEL - Q);
        let (zero, one) = (_mm512_setzero_pd(), _mm512_set1_pd(1.0));
        let tolerance = _mm512_set1_pd(self.tolerance);
        let rounding = _mm512_set1_pd(self.rounding);
        let small = _mm512_set1_pd(self.least);
        let (vectors, _) = panel.as_chunks_mut::<PANEL>();
        let (cells, _) = vectors.as_chunks_mut::<Q>();
        let mut lines = ahead.chunks(line::<P>());
        let lines_per_cell = lines.len().div_ceil(cells.len().max(1));
        let mut good = u8::MAX;
        for (to, &cell) in cells.iter_mut().zip(self.vectors) {
            lines.by_ref().take(lines_per_cell).for_each(fetch_line);
            // SAFETY: `run` found the row within the rows.
            let row =
                |&lane: &usize| unsafe { P::load(mask, rows.as_ptr().add((lane + cell) * Q)) };
            let mut columns = columns::<Q>(self.lanes.each_ref().map(row));
            let (mut sum, mut least) = (columns[0], columns[0]);
            for &column in &columns[1..] {
                sum = _mm512_add_pd(sum, column);
                least = _mm512_min_pd(least, column);
            }
            // A probability above 1 makes the sum exceed 1 and NaN makes it NaN, which is not near 1 either.
            let off = _mm512_abs_pd(_mm512_sub_pd(sum, one));
            good &= _mm512_cmp_pd_mask::<_CMP_LE_OQ>(off, tolerance);
            good &= _mm512_cmp_pd_mask::<_CMP_GE_OQ>(least, zero);
            let is_one = _mm512_cmp_pd_mask::<_CMP_LE_OQ>(off, rounding);
            let has_no_small = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(least, small);
            if is_one & has_no_small != u8::MAX {
                let scale = _mm512_mask_mov_pd(_mm512_div_pd(one, sum), is_one, one);
                for column in &mut columns {
                    let p = _mm512_mul_pd(*column, scale);
                    let is_held = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(p, small);
                    *column = _mm512_maskz_mov_pd(is_held, p);
                }
            }
            for (to, column) in to.iter_mut().zip(columns) {
                // SAFETY: a vector of eight lanes.
                unsafe { _mm512_storeu_pd(to.as_mut_ptr(), column) };
            }
        }
        match good {
            u8::MAX => Transposed::Distributions,
            _ => Transposed::Refused,
        }
    }
}

/// The first Q columns of eight rows.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn columns<const Q: usize>(rows: [__m512d; PANEL]) -> [__m512d; Q] {
    let [a, b, c, d, e, f, g, h] = rows;
    // Pairs of rows: the even columns, and the odd ones.
    let pairs = |odd: bool| match odd {
        false => [(a, b), (c, d), (e, f), (g, h)].map(|(a, b)| _mm512_unpacklo_pd(a, b)),
        true => [(a, b), (c, d), (e, f), (g, h)].map(|(a, b)| _mm512_unpackhi_pd(a, b)),
    };
    let first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    let second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    // Of pairs, columns 0, 2, 4, 6 or 1, 3, 5, 7: four rows of two columns lie in one vector.
    let four = |[ab, cd, ef, gh]: [__m512d; 4]| {
        let halves = |order| {
            let low = _mm512_permutex2var_pd(ab, order, cd);
            let high = _mm512_permutex2var_pd(ef, order, gh);
            (
                _mm512_shuffle_f64x2::<0x44>(low, high),
                _mm512_shuffle_f64x2::<0xee>(low, high),
            )
        };
        (halves(first), halves(second))
    };
    let ((c0, c2), (c4, c6)) = four(pairs(false));
    let ((c1, c3), (c5, c7)) = four(pairs(true));
    let all = [c0, c1, c2, c3, c4, c5, c6, c7];
    std::array::from_fn(|column| all[column])
}
