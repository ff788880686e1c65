//! Solves parity exactly: untied, window (0,0), uniform inputs, any length (paper, App. F).
//!
//! J = 1/2 + 1/2 prod_t mu_t, where a step has mu_t = +-1 (it tracks the state, or its opposite),
//! +-1/2 (a half-reset) or 0 (dead). With n = T - 1 the density of states is
//! - C(n, k) 8^k 2^(n-k) codes at each of J = 1/2 + 2^-(k+1) and J = 1/2 - 2^-(k+1), k = 0..n,
//! - 2^(4T-2) - 2 * 10^n dead codes at J = 1/2.

mod mean_field;
mod transition;

use super::bands::{Bands, BandsPoint, CompensatedSum};
use dashu_int::UBig;
use std::f64::consts::LN_2;

pub use mean_field::{MeanField, Melting};
pub use transition::{Climb, Transition};

/// The codes of one reward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParityBand {
    /// J times [`ParityBand::denominator`].
    pub numerator: UBig,
    /// 2^T.
    pub denominator: UBig,
    /// The number of codes.
    pub count: UBig,
}

/// Parity at one length.
///
/// ```
/// use foldglass::gibbs::parity::Parity;
/// let parity = Parity::new(4);
/// let point = parity.at(15.326);
/// assert!((point.mean_reward - 0.75).abs() < 1e-4);
/// assert_eq!(parity.density().map(|band| band.count).sum::<dashu_int::UBig>(), 16384u32.into());
/// // No length is too long: at T = 10,000 nothing overflows.
/// let long = Parity::new(10_000).at(1.0);
/// assert!((long.log_z - (39_998.0 * 2f64.ln() + 0.5)).abs() < 1e-9);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Parity {
    length: usize,
    bands: Bands,
}

impl Parity {
    /// Parity of `length` symbols.
    ///
    /// # Panics
    /// If the length is 0.
    pub fn new(length: usize) -> Parity {
        assert!(length > 0, "length 0 is refused: lengths start at 1");
        let n = (length - 1) as f64;
        let mut bands = vec![(0.0, log_dead(length))];
        let mut binomial = CompensatedSum::default();
        for k in 0..length {
            if k > 0 {
                binomial.add(((length - k) as f64 / k as f64).ln());
            }
            let count = binomial.value() + (n + 2.0 * k as f64) * LN_2;
            // Beyond the range of f64 the offset is 0: the band joins that of J = 1/2.
            let offset = (-(k as f64) - 1.0).exp2();
            bands.extend([(offset, count), (-offset, count)]);
        }
        Parity {
            length,
            bands: Bands::new(0.5, bands),
        }
    }

    /// T.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The thermodynamics at inverse temperature `beta`; takes a time linear in T.
    pub fn at(&self, beta: f64) -> BandsPoint {
        self.bands.at(beta)
    }

    /// The density of states, rewards ascending, computed as it is read: at T = 10,000 the numbers
    /// have 12,000 digits. Bands without codes are left out.
    pub fn density(&self) -> impl Iterator<Item = ParityBand> + use<> {
        let n = self.length - 1;
        let half = UBig::ONE << n;
        let band = move |numerator: UBig, count: UBig| ParityBand {
            numerator,
            denominator: UBig::ONE << (n + 1),
            count,
        };
        let counts = |ks: Binomials| ks.map(move |(k, c)| (k, c << (n + 2 * k)));
        let dead = (UBig::ONE << (4 * n + 2)) - UBig::from(2u8) * UBig::from(10u8).pow(n);
        let middle = half.clone();
        let (below, above) = (half.clone(), half);
        // The band of k half-resets is 2^(n-k) over 2^T away from 1/2: from 0 up, then from n down.
        let low = counts(Binomials::ascending(n))
            .map(move |(k, count)| band(&below - (UBig::ONE << (n - k)), count));
        let high = counts(Binomials::descending(n))
            .map(move |(k, count)| band(&above + (UBig::ONE << (n - k)), count));
        let dead = std::iter::once(band(middle, dead));
        low.chain(dead.filter(|band| band.count != UBig::ZERO))
            .chain(high)
    }
}

/// ln of the number of dead codes, 2^(4T-2) (1 - (5/8)^(T-1) / 2).
fn log_dead(length: usize) -> f64 {
    let n = (length - 1) as f64;
    (4.0 * n + 2.0) * LN_2 + (-0.5 * (n * (5f64 / 8.0).ln()).exp()).ln_1p()
}

/// (k, C(n, k)) for k from 0 to n, or from n to 0.
struct Binomials {
    n: usize,
    done: usize,
    value: UBig,
    ascending: bool,
}

impl Binomials {
    fn ascending(n: usize) -> Binomials {
        Binomials {
            n,
            done: 0,
            value: UBig::ONE,
            ascending: true,
        }
    }

    fn descending(n: usize) -> Binomials {
        Binomials {
            ascending: false,
            ..Binomials::ascending(n)
        }
    }
}

impl Iterator for Binomials {
    type Item = (usize, UBig);

    fn next(&mut self) -> Option<(usize, UBig)> {
        let done = self.done;
        if done > self.n {
            return None;
        }
        self.done += 1;
        let value = self.value.clone();
        // C(n, i + 1) = C(n, i) (n - i) / (i + 1), and C(n, i) = C(n, n - i).
        self.value = &self.value * UBig::from(self.n - done) / UBig::from(done + 1);
        let k = if self.ascending { done } else { self.n - done };
        Some((k, value))
    }
}
