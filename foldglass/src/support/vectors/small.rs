//! Looks numbers up in tables of at most 32 entries, sixteen at a time.
//!
//! Such a table lies in two vectors of 512 bits, and one instruction looks sixteen numbers up in it. Each function does
//! whole vectors of places, from the first on, and returns how many places it has done: none where the machine lacks
//! the vectors. The caller does the rest.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// The most entries.
pub(crate) const MOST: usize = 32;

#[cfg(target_arch = "x86_64")]
const LANES: usize = 16;

/// Writes for each place how many of the tables have, at `index - first`, an entry below half of the word.
pub(crate) fn count_below(
    tables: &[[i32; MOST]],
    first: u32,
    words: &[[u8; 4]],
    indices: &[u32],
    counts: &mut [u16],
) -> usize {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx512() {
        // SAFETY: the machine has the vectors.
        return unsafe { on_avx512::count_below(tables, first, words, indices, counts) };
    }
    let _ = (tables, first, words, indices, counts);
    0
}

/// Writes for each place the entry at `row * each + column`.
pub(crate) fn look_up(
    table: &[i32; MOST],
    each: usize,
    rows: &[u16],
    columns: &[u16],
    found: &mut [u16],
) -> usize {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx512() {
        // SAFETY: the machine has the vectors.
        return unsafe { on_avx512::look_up(table, each, rows, columns, found) };
    }
    let _ = (table, each, rows, columns, found);
    0
}

#[cfg(target_arch = "x86_64")]
mod on_avx512 {
    use super::*;

    #[target_feature(enable = "avx512f,avx512vl")]
    pub fn count_below(
        tables: &[[i32; MOST]],
        first: u32,
        words: &[[u8; 4]],
        indices: &[u32],
        counts: &mut [u16],
    ) -> usize {
        let (first, one) = (_mm512_set1_epi32(first as i32), _mm512_set1_epi32(1));
        let (words, indices) = (words.as_chunks::<LANES>().0, indices.as_chunks::<LANES>().0);
        let (counts, _) = counts.as_chunks_mut::<LANES>();
        let mut done = 0;
        for ((words, indices), counts) in words.iter().zip(indices).zip(counts) {
            // SAFETY: sixteen numbers of 32 bits each.
            let (words, indices) = unsafe {
                (
                    _mm512_loadu_si512(words.as_ptr().cast()),
                    _mm512_loadu_si512(indices.as_ptr().cast()),
                )
            };
            let (half, index) = (
                _mm512_srli_epi32::<1>(words),
                _mm512_sub_epi32(indices, first),
            );
            let mut count = _mm512_setzero_si512();
            for table in tables {
                let below = _mm512_cmpgt_epi32_mask(half, entries(table, index));
                count = _mm512_mask_add_epi32(count, below, count, one);
            }
            store(count, counts);
            done += LANES;
        }
        done
    }

    #[target_feature(enable = "avx512f,avx512vl")]
    pub fn look_up(
        table: &[i32; MOST],
        each: usize,
        rows: &[u16],
        columns: &[u16],
        found: &mut [u16],
    ) -> usize {
        let each = _mm512_set1_epi32(each as i32);
        let (rows, columns) = (rows.as_chunks::<LANES>().0, columns.as_chunks::<LANES>().0);
        let (found, _) = found.as_chunks_mut::<LANES>();
        let mut done = 0;
        for ((row, column), found) in rows.iter().zip(columns).zip(found) {
            let index = _mm512_add_epi32(_mm512_mullo_epi32(load(row), each), load(column));
            store(entries(table, index), found);
            done += LANES;
        }
        done
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn entries(table: &[i32; MOST], index: __m512i) -> __m512i {
        // SAFETY: each half has sixteen numbers of 32 bits.
        let [low, high] =
            unsafe { [0, LANES].map(|at| _mm512_loadu_si512(table.as_ptr().add(at).cast())) };
        _mm512_permutex2var_epi32(low, index, high)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn load(numbers: &[u16; LANES]) -> __m512i {
        // SAFETY: sixteen numbers of 16 bits.
        _mm512_cvtepu16_epi32(unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) })
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn store(numbers: __m512i, to: &mut [u16; LANES]) {
        // SAFETY: sixteen numbers of 16 bits.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm512_cvtepi32_epi16(numbers)) };
    }
}
