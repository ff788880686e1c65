//! Transposes rows of probabilities into vectors, checked and scaled to sums of 1 (paper, section 2.2).
//!
//! The rows of a panel lie far apart, and a processor does not foresee where the next one is: the rows that are read
//! next are fetched ahead, in their own order, while these are transposed.

use crate::reward::layout::PANEL;
#[cfg(target_arch = "x86_64")]
use crate::support::vectors::columns;
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

/// The cells of a panel: the rows of a cell are those of number `lanes[lane] + vectors[vector]`.
#[derive(Clone, Copy)]
pub(crate) struct Transpose<'a> {
    /// At most eight, or one in a panel of its own.
    pub lanes: &'a [usize],
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
        #[cfg(target_arch = "x86_64")]
        if super::has_avx512() {
            let cells = self.vectors.len() * self.each;
            let wide = panel.len() == cells * PANEL && (1..=PANEL).contains(&self.lanes.len());
            let lone = panel.len() == cells && self.lanes.len() == 1;
            // SAFETY: the machine has the vectors, and rows and panel are large enough.
            return unsafe {
                match self.each {
                    _ if !(wide || lone) => Transposed::Unsupported,
                    2 => self.on_avx512::<2, P>(rows, ahead, panel, wide),
                    3 => self.on_avx512::<3, P>(rows, ahead, panel, wide),
                    4 => self.on_avx512::<4, P>(rows, ahead, panel, wide),
                    5 => self.on_avx512::<5, P>(rows, ahead, panel, wide),
                    6 => self.on_avx512::<6, P>(rows, ahead, panel, wide),
                    7 => self.on_avx512::<7, P>(rows, ahead, panel, wide),
                    8 => self.on_avx512::<8, P>(rows, ahead, panel, wide),
                    _ => Transposed::Unsupported,
                }
            };
        }
        Transposed::Unsupported
    }

    /// # Safety
    /// The machine has AVX-512, rows have Q entries, `run` has compared the reach of the cells with the rows, and the panel
    /// has eight lanes for each entry of a vector of cells where it is `wide`, else one.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn on_avx512<const Q: usize, P: RowEntry>(
        &self,
        rows: &[P],
        ahead: &[P],
        panel: &mut [f64],
        wide: bool,
    ) -> Transposed {
        let mut lines = ahead.chunks(line::<P>());
        let mut settle = Settle::new(self);
        // SAFETY: `run` found the rows of these numbers within the rows, and P has AVX-512.
        let row = |number: usize| unsafe {
            P::load(u8::MAX >> (PANEL - Q), rows.as_ptr().add(number * Q))
        };
        if wide {
            let in_use = u8::MAX >> (PANEL - self.lanes.len());
            let lanes = |lane: usize| self.lanes[lane.min(self.lanes.len() - 1)];
            let lanes: [usize; PANEL] = std::array::from_fn(lanes);
            let (vectors, _) = panel.as_chunks_mut::<PANEL>();
            let (cells, _) = vectors.as_chunks_mut::<Q>();
            let lines_per_cell = lines.len().div_ceil(cells.len().max(1));
            for (to, &cell) in cells.iter_mut().zip(self.vectors) {
                lines.by_ref().take(lines_per_cell).for_each(fetch_line);
                let mut columns = columns::<Q>(lanes.map(|lane| row(lane + cell)));
                settle.columns(&mut columns);
                for (to, column) in to.iter_mut().zip(columns) {
                    // SAFETY: a vector of eight lanes. Lanes of padding hold zeros.
                    unsafe {
                        _mm512_storeu_pd(to.as_mut_ptr(), _mm512_maskz_mov_pd(in_use, column));
                    }
                }
            }
        } else {
            // One lane alone: eight cells in the order of the panel are settled at once, and stay rows.
            let (cells, _) = panel.as_chunks_mut::<Q>();
            for (to, numbers) in cells.chunks_mut(PANEL).zip(self.vectors.chunks(PANEL)) {
                let number = |place: usize| numbers[place.min(numbers.len() - 1)] + self.lanes[0];
                let own: [__m512d; PANEL] = std::array::from_fn(|place| row(number(place)));
                let scales = settle.check(&columns::<Q>(own));
                let mut each = [1.0; PANEL];
                if let Some((scales, _)) = scales {
                    // SAFETY: eight numbers.
                    unsafe { _mm512_storeu_pd(each.as_mut_ptr(), scales) };
                }
                for ((to, row), scale) in to.iter_mut().zip(own).zip(each) {
                    let scaled = match scales {
                        Some(_) => settle.flushed(_mm512_mul_pd(row, _mm512_set1_pd(scale))),
                        None => row,
                    };
                    // SAFETY: the mask selects the Q entries of the cell.
                    unsafe {
                        _mm512_mask_storeu_pd(to.as_mut_ptr(), u8::MAX >> (PANEL - Q), scaled);
                    }
                }
            }
            lines.for_each(fetch_line);
        }
        match settle.good {
            u8::MAX => Transposed::Distributions,
            _ => Transposed::Refused,
        }
    }
}

/// Checks eight rows at a time, and scales those whose sums are not 1.
#[cfg(target_arch = "x86_64")]
struct Settle {
    one: __m512d,
    tolerance: __m512d,
    rounding: __m512d,
    small: __m512d,
    /// Whether the rows were distributions, by lane.
    good: u8,
}

#[cfg(target_arch = "x86_64")]
impl Settle {
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn new(limits: &Transpose<'_>) -> Settle {
        Settle {
            one: _mm512_set1_pd(1.0),
            tolerance: _mm512_set1_pd(limits.tolerance),
            rounding: _mm512_set1_pd(limits.rounding),
            small: _mm512_set1_pd(limits.least),
            good: u8::MAX,
        }
    }

    /// By what the rows are to be multiplied, if there is one to be changed, and whether an entry becomes zero.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn check(&mut self, columns: &[__m512d]) -> Option<(__m512d, bool)> {
        let (mut sum, mut least) = (columns[0], columns[0]);
        for &column in &columns[1..] {
            sum = _mm512_add_pd(sum, column);
            least = _mm512_min_pd(least, column);
        }
        // A probability above 1 makes the sum exceed 1 and NaN makes it NaN, which is not near 1 either.
        let off = _mm512_abs_pd(_mm512_sub_pd(sum, self.one));
        self.good &= _mm512_cmp_pd_mask::<_CMP_LE_OQ>(off, self.tolerance);
        self.good &= _mm512_cmp_pd_mask::<_CMP_GE_OQ>(least, _mm512_setzero_pd());
        let is_one = _mm512_cmp_pd_mask::<_CMP_LE_OQ>(off, self.rounding);
        if is_one & _mm512_cmp_pd_mask::<_CMP_GE_OQ>(least, self.small) == u8::MAX {
            return None;
        }
        let scales = _mm512_mask_mov_pd(_mm512_div_pd(self.one, sum), is_one, self.one);
        // Products keep the order of the entries: that of the least decides for all.
        let product = _mm512_mul_pd(least, scales);
        let flushes = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(product, self.small) != u8::MAX;
        Some((scales, flushes))
    }

    /// Entries below the least become zero.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn flushed(&self, entries: __m512d) -> __m512d {
        let is_held = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(entries, self.small);
        _mm512_maskz_mov_pd(is_held, entries)
    }

    /// Checks and scales rows given by their columns.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn columns<const Q: usize>(&mut self, columns: &mut [__m512d; Q]) {
        let Some((scales, flushes)) = self.check(columns) else {
            return;
        };
        for column in columns {
            *column = _mm512_mul_pd(*column, scales);
            if flushes {
                *column = self.flushed(*column);
            }
        }
    }
}
