//! Computes GELU and its slope for whole rows, exact to single precision.
//!
//! gelu(u) = u Phi(u), slope Phi(u) + u phi(u); one exponential serves both.

/// `hidden` and `slope` of `scale` times every entry of `up`.
pub(crate) fn activate(up: &[f32], scale: f32, hidden: &mut [f32], slope: &mut [f32]) {
    assert!(up.len() == hidden.len() && up.len() == slope.len());
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { wide(up, scale, hidden, slope) };
    }
    every(up, scale, hidden, slope);
}

/// The same loop compiled for eight lanes; without fused operations, so with the same results.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn wide(up: &[f32], scale: f32, hidden: &mut [f32], slope: &mut [f32]) {
    every(up, scale, hidden, slope);
}

#[inline(always)]
fn every(up: &[f32], scale: f32, hidden: &mut [f32], slope: &mut [f32]) {
    for ((&u, hidden), slope) in up.iter().zip(hidden).zip(slope) {
        let u = u * scale;
        let power = exp2(u * u * -0.721_347_5); // e^(-u^2/2): half of log2 e
        let below = below(u, power);
        *hidden = u * below;
        *slope = below + u * power * 0.398_942_3; // 1/sqrt(2 pi)
    }
}

/// The normal distribution function, given e^(-u^2/2): Abramowitz and Stegun, 7.1.26, whose error
/// is at most 1e-7.
#[inline(always)]
fn below(u: f32, power: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * std::f32::consts::FRAC_1_SQRT_2 * u.abs());
    let series = t
        * (0.254_829_6
            + t * (-0.284_496_74 + t * (1.421_413_7 + t * (-1.453_152 + t * 1.061_405_4))));
    let tail = 0.5 * series * power;
    if u < 0.0 { tail } else { 1.0 - tail }
}

/// The series of 2^x on -1/2..1/2, error below 2e-8.
const SERIES: [f32; 7] = [
    1.0,
    std::f32::consts::LN_2,
    0.240_226_5,
    0.055_504_11,
    0.009_618_129,
    0.001_333_355_8,
    0.000_154_035_3,
];

/// 2^x for x <= 0, zero below -126.
#[inline(always)]
fn exp2(x: f32) -> f32 {
    let x = if x < -126.0 { -126.0 } else { x };
    // Adding and taking 1.5 * 2^23 rounds to a whole number without a call.
    let whole = (x + 12_582_912.0) - 12_582_912.0;
    let part = x - whole;
    let value = SERIES.iter().rev().fold(0.0, |sum, c| sum * part + c);
    value * f32::from_bits(((whole as i32 + 127) << 23) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense;

    #[test]
    fn values_and_slopes_are_those_of_the_reference() {
        let up: Vec<f32> = (-4000..=4000).map(|i| i as f32 * 0.005).collect();
        let (mut hidden, mut slope) = (vec![0.0; up.len()], vec![0.0; up.len()]);
        activate(&up, 0.75, &mut hidden, &mut slope);
        let (mut same_hidden, mut same_slope) = (hidden.clone(), slope.clone());
        every(&up, 0.75, &mut same_hidden, &mut same_slope);
        assert_eq!((&same_hidden, &same_slope), (&hidden, &slope));
        for (i, &u) in up.iter().enumerate() {
            let u = f64::from(u) * 0.75;
            let (h, s) = (dense::gelu(u), dense::gelu_slope(u));
            assert!(
                (f64::from(hidden[i]) - h).abs() < 3e-7 * (1.0 + u.abs()),
                "{u}"
            );
            assert!((f64::from(slope[i]) - s).abs() < 6e-7, "{u}");
        }
    }
}
