//! Measures the floating-point rate that one core reaches on nothing but fused multiply-adds.

use std::hint::black_box;
use std::time::Instant;

/// Double-precision operations a second, two for each fused multiply-add.
pub fn flops_per_second() -> f64 {
    const ROUNDS: usize = 20_000;
    let start = Instant::now();
    let per_round = run(ROUNDS);
    (ROUNDS * per_round) as f64 / start.elapsed().as_secs_f64()
}

#[cfg(target_arch = "x86_64")]
fn run(rounds: usize) -> usize {
    use std::arch::x86_64::*;

    macro_rules! rate {
        ($name:ident, $features:literal, $raw:ty, $set:ident, $fma:ident, $width:literal) => {
            #[target_feature(enable = $features)]
            fn $name(rounds: usize) -> usize {
                let (a, b) = ($set(black_box(0.999_999)), $set(black_box(1e-9)));
                let mut sums = [$set(1.0); 12];
                for _ in 0..rounds {
                    for _ in 0..8 {
                        for sum in &mut sums {
                            *sum = $fma(*sum, a, b);
                        }
                    }
                }
                black_box(sums);
                12 * 8 * $width * 2
            }
        };
    }
    rate!(
        avx512,
        "avx512f",
        __m512d,
        _mm512_set1_pd,
        _mm512_fmadd_pd,
        8
    );
    rate!(
        avx2,
        "avx2,fma",
        __m256d,
        _mm256_set1_pd,
        _mm256_fmadd_pd,
        4
    );
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: just asked for.
        unsafe { avx512(rounds) }
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: just asked for.
        unsafe { avx2(rounds) }
    } else {
        scalar(rounds)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn run(rounds: usize) -> usize {
    scalar(rounds)
}

fn scalar(rounds: usize) -> usize {
    let (a, b) = (black_box(0.999_999), black_box(1e-9));
    let mut sums = [1.0f64; 16];
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = sum.mul_add(a, b);
        }
    }
    black_box(sums);
    16 * 2
}
