//! Computes sixteen blocks of ChaCha8 at once, one in each lane of vectors of 512 bits.
//!
//! `rand_chacha` does four at once. The bytes are the same; a test of `support::stream` compares them.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// The bytes of sixteen blocks.
pub(crate) const PORTION: usize = 16 * 64;

/// Writes what a stream of a key gives from this block on. Returns false, and writes nothing, where the machine lacks
/// the vectors.
pub(crate) fn fill_portions(
    key: &[u8; 32],
    stream: u64,
    block: u64,
    portions: &mut [[u8; PORTION]],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx512() {
        // SAFETY: the machine has the vectors.
        unsafe { on_avx512(key, stream, block, portions) };
        return true;
    }
    let _ = (key, stream, block, portions);
    false
}

/// The sixteen words of a state, each in the lanes of all blocks.
#[cfg(target_arch = "x86_64")]
type Words = [__m512i; 16];

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn on_avx512(key: &[u8; 32], stream: u64, block: u64, portions: &mut [[u8; PORTION]]) {
    let (key, _) = key.as_chunks::<4>();
    let constants = b"expand 32-byte k".as_chunks::<4>().0;
    let mut start = [_mm512_setzero_si512(); 16];
    for (words, &word) in start.iter_mut().zip(constants.iter().chain(key)) {
        *words = _mm512_set1_epi32(i32::from_le_bytes(word));
    }
    start[14] = _mm512_set1_epi32(stream as i32);
    start[15] = _mm512_set1_epi32((stream >> 32) as i32);
    for (n, portion) in portions.iter_mut().enumerate() {
        // After the last block of a stream comes its first.
        let number = |lane: usize| block.wrapping_add((16 * n + lane) as u64);
        let low: [u32; 16] = std::array::from_fn(|lane| number(lane) as u32);
        let high: [u32; 16] = std::array::from_fn(|lane| (number(lane) >> 32) as u32);
        // SAFETY: sixteen numbers of 32 bits each.
        unsafe {
            start[12] = _mm512_loadu_si512(low.as_ptr().cast());
            start[13] = _mm512_loadu_si512(high.as_ptr().cast());
        }
        let mut words = start;
        for _ in 0..4 {
            for i in 0..4 {
                quarter_round(&mut words, [i, 4 + i, 8 + i, 12 + i]);
            }
            for i in 0..4 {
                let diagonal = [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4];
                quarter_round(&mut words, diagonal);
            }
        }
        for (words, start) in words.iter_mut().zip(start) {
            *words = _mm512_add_epi32(*words, start);
        }
        let (places, _) = portion.as_chunks_mut::<64>();
        for (place, block) in places.iter_mut().zip(blocks(words)) {
            // SAFETY: 64 bytes.
            unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), block) };
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn quarter_round(x: &mut Words, [a, b, c, d]: [usize; 4]) {
    x[a] = _mm512_add_epi32(x[a], x[b]);
    x[d] = _mm512_rol_epi32::<16>(_mm512_xor_si512(x[d], x[a]));
    x[c] = _mm512_add_epi32(x[c], x[d]);
    x[b] = _mm512_rol_epi32::<12>(_mm512_xor_si512(x[b], x[c]));
    x[a] = _mm512_add_epi32(x[a], x[b]);
    x[d] = _mm512_rol_epi32::<8>(_mm512_xor_si512(x[d], x[a]));
    x[c] = _mm512_add_epi32(x[c], x[d]);
    x[b] = _mm512_rol_epi32::<7>(_mm512_xor_si512(x[b], x[c]));
}

/// The sixteen blocks, their words one behind the other: the transpose.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn blocks(words: Words) -> Words {
    // Vector 4 i + l: words 4 i to 4 i + 3 of the blocks l, l + 4, l + 8 and l + 12.
    let mut fours = words;
    for four in fours.chunks_exact_mut(4) {
        let low = [
            _mm512_unpacklo_epi32(four[0], four[1]),
            _mm512_unpacklo_epi32(four[2], four[3]),
        ];
        let high = [
            _mm512_unpackhi_epi32(four[0], four[1]),
            _mm512_unpackhi_epi32(four[2], four[3]),
        ];
        four[0] = _mm512_unpacklo_epi64(low[0], low[1]);
        four[1] = _mm512_unpackhi_epi64(low[0], low[1]);
        four[2] = _mm512_unpacklo_epi64(high[0], high[1]);
        four[3] = _mm512_unpackhi_epi64(high[0], high[1]);
    }
    let mut blocks = words;
    for l in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|four| fours[4 * four + l]);
        let first = [
            _mm512_shuffle_i32x4::<0x44>(a, b),
            _mm512_shuffle_i32x4::<0x44>(c, d),
        ];
        let last = [
            _mm512_shuffle_i32x4::<0xee>(a, b),
            _mm512_shuffle_i32x4::<0xee>(c, d),
        ];
        blocks[l] = _mm512_shuffle_i32x4::<0x88>(first[0], first[1]);
        blocks[l + 4] = _mm512_shuffle_i32x4::<0xdd>(first[0], first[1]);
        blocks[l + 8] = _mm512_shuffle_i32x4::<0x88>(last[0], last[1]);
        blocks[l + 12] = _mm512_shuffle_i32x4::<0xdd>(last[0], last[1]);
    }
    blocks
}
