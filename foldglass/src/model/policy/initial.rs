//! Draws initial policies from named laws (paper, G.4 and G.5: the results depend on them).

use crate::support::stream::Stream;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The law of each cell's first distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InitialLaw {
    /// u_a / sum u, with u uniform on (0, 1).
    UNorm,
    /// Dirichlet with all parameters equal to this.
    Dirichlet(f64),
    /// Softmax of independent normals of this standard deviation.
    LogitNormal(f64),
}

/// A text that names no initial law.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` names no initial law: u_norm, dirichlet:A with A > 0, or logit_normal:S with S >= 0"
)]
pub struct UnknownLaw(pub String);

impl FromStr for InitialLaw {
    type Err = UnknownLaw;

    fn from_str(text: &str) -> Result<InitialLaw, UnknownLaw> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
        match text.split_once(':') {
            None if text == "u_norm" => Some(InitialLaw::UNorm),
            Some(("dirichlet", a)) => number(a).filter(|&a| a > 0.0).map(InitialLaw::Dirichlet),
            Some(("logit_normal", s)) => {
                number(s).filter(|&s| s >= 0.0).map(InitialLaw::LogitNormal)
            }
            _ => None,
        }
        .ok_or_else(|| UnknownLaw(text.to_owned()))
    }
}

impl fmt::Display for InitialLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InitialLaw::UNorm => write!(f, "u_norm"),
            InitialLaw::Dirichlet(a) => write!(f, "dirichlet:{a}"),
            InitialLaw::LogitNormal(s) => write!(f, "logit_normal:{s}"),
        }
    }
}

#[cfg(feature = "serde")]
crate::serde_as_text!(InitialLaw);

impl InitialLaw {
    /// Draws one distribution.
    pub fn draw(self, stream: &mut Stream, row: &mut [f64]) {
        match self {
            InitialLaw::UNorm => row.iter_mut().for_each(|p| *p = stream.uniform()),
            InitialLaw::Dirichlet(a) => return dirichlet(stream, a, row),
            InitialLaw::LogitNormal(s) => {
                row.iter_mut().for_each(|p| *p = normal(stream));
                soften(row, s);
            }
        }
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }
}

/// exp(scale z), up to a common factor that makes the largest 1. Where the scale is too large for
/// scale z to be a number, all but the largest are 0.
fn soften(row: &mut [f64], scale: f64) {
    let largest = |row: &[f64]| row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let most = largest(row);
    let scaled = |z: f64| scale * z - scale * most;
    let safe = |z: f64| scale * (z - most);
    let finite = row.iter().all(|z| (scale * z).is_finite());
    row.iter_mut()
        .for_each(|z| *z = if finite { scaled(*z) } else { safe(*z) }.exp());
}

/// Gamma variates, normalised. For a small parameter they are far below the range of f64: then
/// their logarithms are.
fn dirichlet(stream: &mut Stream, a: f64, row: &mut [f64]) {
    let mut logs = vec![0.0; row.len()];
    for (p, log) in row.iter_mut().zip(&mut logs) {
        (*p, *log) = gamma(stream, a);
    }
    let sum: f64 = row.iter().sum();
    if sum >= LEAST_SUM {
        row.iter_mut().for_each(|p| *p /= sum);
        return;
    }
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut()
        .zip(logs)
        .for_each(|(p, log)| *p = (log - most).exp());
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|p| *p /= sum);
}

/// Sums of gamma variates below this may have lost digits.
const LEAST_SUM: f64 = 1e-250;

/// A standard normal, by Box and Muller's transform (its first half, so that a draw has no memory).
fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * stream.uniform().ln()).sqrt();
    radius * (std::f64::consts::TAU * stream.uniform()).cos()
}

/// A gamma variate of shape `a` and scale 1, and its logarithm, by Marsaglia and Tsang's method;
/// below 1, by the product of one of shape a + 1 with a power of a uniform.
fn gamma(stream: &mut Stream, a: f64) -> (f64, f64) {
    if a < 1.0 {
        let (above, log) = gamma(stream, a + 1.0);
        let uniform = stream.uniform();
        return (above * uniform.powf(1.0 / a), log + uniform.ln() / a);
    }
    let d = a - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(stream);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && stream.uniform().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return (d * v, (d * v).ln());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(law: InitialLaw) -> Vec<[f64; 3]> {
        let mut stream = Stream::new(4, 0);
        (0..40_000)
            .map(|_| {
                let mut row = [0.0; 3];
                law.draw(&mut stream, &mut row);
                assert!(
                    (row.iter().sum::<f64>() - 1.0).abs() < 1e-12 && row.iter().all(|&p| p >= 0.0)
                );
                row
            })
            .collect()
    }

    fn variance_of_first(law: InitialLaw) -> f64 {
        let list = draws(law);
        let n = list.len() as f64;
        let mean = list.iter().map(|row| row[0]).sum::<f64>() / n;
        assert!((mean - 1.0 / 3.0).abs() < 0.01, "{law}: mean {mean}");
        list.iter().map(|row| (row[0] - mean).powi(2)).sum::<f64>() / n
    }

    #[test]
    fn dirichlet_draws_have_the_variance_of_their_law() {
        for a in [0.3, 1.0, 5.0] {
            let want = (1.0 / 3.0) * (2.0 / 3.0) / (3.0 * a + 1.0);
            let got = variance_of_first(InitialLaw::Dirichlet(a));
            assert!(
                (got / want - 1.0).abs() < 0.05,
                "a = {a}: {got} against {want}"
            );
        }
    }

    /// With a parameter near 0 nearly all of a row's weight is on one action, each as often.
    #[test]
    fn small_parameters_still_draw_distributions() {
        for law in ["dirichlet:0.003", "dirichlet:0.001", "dirichlet:1e-300"] {
            let list = draws(law.parse().unwrap());
            for action in 0..3 {
                let mean = list.iter().map(|row| row[action]).sum::<f64>() / list.len() as f64;
                assert!((mean - 1.0 / 3.0).abs() < 0.012, "{law}: mean {mean}");
            }
        }
        for row in draws(InitialLaw::LogitNormal(1e308)) {
            assert_eq!(row.iter().filter(|p| **p == 1.0).count(), 1);
        }
    }

    #[test]
    fn a_narrow_logit_normal_is_nearly_uniform_and_to_first_order_normal() {
        // p = 1/q + (z - mean z)/q to first order: variance s^2 (1 - 1/q) / q^2.
        let want = 0.01 * (2.0 / 3.0) / 9.0;
        let got = variance_of_first(InitialLaw::LogitNormal(0.1));
        assert!((got / want - 1.0).abs() < 0.05, "{got} against {want}");
    }

    #[test]
    fn u_norm_is_narrower_than_the_uniform_law_of_the_simplex() {
        assert!(
            variance_of_first(InitialLaw::UNorm) < variance_of_first(InitialLaw::Dirichlet(1.0))
        );
    }

    #[test]
    fn names_are_read_back_as_they_are_written() {
        for name in ["u_norm", "dirichlet:0.5", "logit_normal:0.1"] {
            assert_eq!(name.parse::<InitialLaw>().unwrap().to_string(), name);
        }
        for bad in [
            "uniform",
            "dirichlet:0",
            "dirichlet",
            "logit_normal:x",
            "logit_normal:-1",
        ] {
            assert!(bad.parse::<InitialLaw>().is_err(), "{bad}");
        }
    }
}
