//! Transposes eight vectors of eight numbers, and writes vectors as rows.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Lanes of a vector.
#[cfg(target_arch = "x86_64")]
const LANES: usize = 8;

/// Writes a panel of eight lanes as rows: row `lanes[lane] + vectors[n]` gets, of each of the `each` vectors from
/// `n * each` on, the number in that lane. Returns false, and writes nothing, where the machine lacks the vectors or a
/// row is longer than one.
///
/// # Panics
/// If a row is outside of `rows`, or there are more than eight lanes.
pub(crate) fn write_rows(
    each: usize,
    panel: &[f64],
    (lanes, vectors): (&[usize], &[usize]),
    rows: &mut [f64],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx512() {
        let last = |numbers: &[usize]| numbers.iter().max().map_or(0, |&number| number);
        let reach = (last(lanes) + last(vectors) + 1) * each;
        assert!(
            reach <= rows.len() && lanes.len() <= LANES,
            "a row for each lane"
        );
        // SAFETY: the machine has the vectors, and `rows` has these rows.
        unsafe {
            match each {
                2 => on_avx512::<2>(panel, lanes, vectors, rows),
                3 => on_avx512::<3>(panel, lanes, vectors, rows),
                4 => on_avx512::<4>(panel, lanes, vectors, rows),
                5 => on_avx512::<5>(panel, lanes, vectors, rows),
                6 => on_avx512::<6>(panel, lanes, vectors, rows),
                7 => on_avx512::<7>(panel, lanes, vectors, rows),
                8 => on_avx512::<8>(panel, lanes, vectors, rows),
                _ => return false,
            }
        }
        return true;
    }
    let _ = (each, panel, lanes, vectors, rows);
    false
}

/// Rows are fetched into the cache this many vectors before they are written. The rows of neighbouring lanes lie far
/// apart, so the processor does not fetch them ahead by itself.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 16;

/// # Safety
/// `write_rows` has compared the reach of the rows with `rows`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
unsafe fn on_avx512<const Q: usize>(
    panel: &[f64],
    lanes: &[usize],
    vectors: &[usize],
    rows: &mut [f64],
) {
    let rows = rows.as_mut_ptr();
    let fetch = |vector: usize| {
        for &lane in lanes {
            // SAFETY: fetching ahead reads and writes nothing that a program sees; the row is within the rows.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(rows.add((lane + vector) * Q).cast()) };
        }
    };
    vectors.iter().take(AHEAD).for_each(|&vector| fetch(vector));
    let (cells, _) = panel.as_chunks::<LANES>().0.as_chunks::<Q>();
    for (n, (cell, &vector)) in cells.iter().zip(vectors).enumerate() {
        vectors
            .get(n + AHEAD)
            .into_iter()
            .for_each(|&vector| fetch(vector));
        let mut own = [_mm512_setzero_pd(); LANES];
        for (own, numbers) in own.iter_mut().zip(cell) {
            // SAFETY: eight numbers.
            *own = unsafe { _mm512_loadu_pd(numbers.as_ptr()) };
        }
        for (row, &lane) in columns::<LANES>(own).into_iter().zip(lanes) {
            // SAFETY: the mask selects the Q entries of a row that is within the rows.
            unsafe {
                let place = rows.add((lane + vector) * Q);
                _mm512_mask_storeu_pd(place, u8::MAX >> (LANES - Q), row);
            }
        }
    }
}

/// The first Q columns of eight rows.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(crate) fn columns<const Q: usize>(rows: [__m512d; LANES]) -> [__m512d; Q] {
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
