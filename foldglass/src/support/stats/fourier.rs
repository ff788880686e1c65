//! Correlates a series with itself at all lags at once, by the fast Fourier transform.

use std::f64::consts::TAU;

#[derive(Clone, Copy)]
struct Complex {
    re: f64,
    im: f64,
}

/// The sum over i of x_i x_{i+t}, for every lag t in 0..=max_lag, in O(n log n).
///
/// With the series padded by zeros to a power of two N, long enough that no lag wraps around, it is
/// the transform of |X_k|^2 divided by N (Wiener-Khinchin); |X_k|^2 is even in k, so that the
/// forward transform serves both ways.
pub(super) fn lagged_sums(series: &[f64], max_lag: usize) -> Vec<f64> {
    let size = (series.len() + max_lag).next_power_of_two();
    let mut data = vec![Complex { re: 0.0, im: 0.0 }; size];
    for (z, &x) in data.iter_mut().zip(series) {
        z.re = x;
    }
    transform(&mut data);
    for z in &mut data {
        *z = Complex {
            re: z.re * z.re + z.im * z.im,
            im: 0.0,
        };
    }
    transform(&mut data);
    data[..=max_lag]
        .iter()
        .map(|z| z.re / size as f64)
        .collect()
}

/// X_k, the sum over j of x_j exp(-2 pi i j k / N), in place; N is a power of two.
fn transform(data: &mut [Complex]) {
    let size = data.len();
    if size < 2 {
        return;
    }
    let shift = usize::BITS - size.trailing_zeros();
    for i in 0..size {
        let j = i.reverse_bits() >> shift;
        if i < j {
            data.swap(i, j);
        }
    }
    let roots: Vec<Complex> = (0..size / 2)
        .map(|k| {
            let (sin, cos) = (-TAU * k as f64 / size as f64).sin_cos();
            Complex { re: cos, im: sin }
        })
        .collect();
    let mut half = 1;
    while half < size {
        let stride = size / (2 * half);
        for block in data.chunks_exact_mut(2 * half) {
            let (even, odd) = block.split_at_mut(half);
            for (k, (e, o)) in even.iter_mut().zip(odd).enumerate() {
                let root = roots[k * stride];
                let (re, im) = (
                    o.re * root.re - o.im * root.im,
                    o.re * root.im + o.im * root.re,
                );
                *o = Complex {
                    re: e.re - re,
                    im: e.im - im,
                };
                *e = Complex {
                    re: e.re + re,
                    im: e.im + im,
                };
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_gives_the_same_sums_as_the_definition() {
        for n in [1, 2, 3, 7, 64, 100, 257] {
            let series: Vec<f64> = (0..n)
                .map(|i| ((i * i * 37 + i * 11) % 101) as f64 / 101.0 - 0.4)
                .collect();
            for max_lag in [0, n / 2, n - 1] {
                for (t, fast) in lagged_sums(&series, max_lag).into_iter().enumerate() {
                    let slow: f64 = (0..n - t).map(|i| series[i] * series[i + t]).sum();
                    assert!((fast - slow).abs() < 1e-12, "n {n}, lag {t}");
                }
            }
        }
    }
}
