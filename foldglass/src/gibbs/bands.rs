//! Computes the thermodynamics of a density of states (paper, section 2.2 and App. F).
//!
//! A *band* is all codes of one reward J; n is their number, beta = 1 / tau.
//! Z = sum of n exp(beta J) over the bands, and p = n exp(beta J) / Z is the weight of a band.
//!
//! All sums are taken relative to the heaviest band, in differences of rewards and of logarithms:
//! nothing overflows, and what is left after the leading term of ln Z, of the mean or of the entropy
//! keeps its digits at any temperature.

use dashu_int::UBig;
use dashu_int::ops::BitTest;

/// The bands of a class: rewards, and logarithms of the numbers of codes.
#[derive(Debug, Clone, PartialEq)]
pub struct Bands {
    origin: f64,
    offsets: Vec<f64>,
    log_counts: Vec<f64>,
}

/// The thermodynamics at one temperature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandsPoint {
    /// beta = 1 / tau.
    pub beta: f64,
    /// ln Z.
    pub log_z: f64,
    /// The mean of J, d ln Z / d beta.
    pub mean_reward: f64,
    /// F = -tau ln Z; none at beta = 0, where it has no bound.
    pub free_energy: Option<f64>,
    /// The entropy of the Gibbs measure over codes, ln Z - beta times the mean of J.
    pub entropy: f64,
    /// The variance of J, d^2 ln Z / d beta^2.
    pub variance: f64,
    /// The third cumulant of J, d^3 ln Z / d beta^3.
    pub third_cumulant: f64,
    /// The heat capacity, the derivative of the mean energy -J by tau: beta^2 times the variance.
    pub heat_capacity: f64,
}

impl Bands {
    /// Bands of rewards `origin` + offset, each with the natural logarithm of its number of codes.
    ///
    /// # Panics
    /// If there are no bands.
    pub fn new(origin: f64, bands: impl IntoIterator<Item = (f64, f64)>) -> Bands {
        let (offsets, log_counts): (Vec<f64>, Vec<f64>) = bands.into_iter().unzip();
        assert!(!offsets.is_empty(), "a class has at least one band");
        Bands {
            origin,
            offsets,
            log_counts,
        }
    }

    /// The thermodynamics at inverse temperature `beta`, of any sign.
    ///
    /// ```
    /// use foldglass::gibbs::bands::Bands;
    /// // Two codes of reward 0 and one of reward 1.
    /// let point = Bands::new(0.0, [(0.0, 2f64.ln()), (1.0, 0.0)]).at(2f64.ln());
    /// assert!((point.log_z - 4f64.ln()).abs() < 1e-15);
    /// assert!((point.mean_reward - 0.5).abs() < 1e-15);
    /// assert!((point.variance - 0.25).abs() < 1e-15);
    /// ```
    pub fn at(&self, beta: f64) -> BandsPoint {
        let heaviest = self.heaviest(beta);
        let (centre, log_count) = (self.offsets[heaviest], self.log_counts[heaviest]);
        let mut sums = [CompensatedSum::default(); 4];
        for (offset, log) in self.offsets.iter().zip(&self.log_counts) {
            let d = offset - centre;
            let weight = ((log - log_count) + beta * d).exp();
            let mut term = weight;
            for sum in &mut sums {
                sum.add(term);
                term *= d;
            }
        }
        let [whole, first, second, third] = sums.map(|sum| sum.value());
        let [m1, m2, m3] = [first / whole, second / whole, third / whole];
        // ln Z = beta (reward of the heaviest band) + rest.
        let (reward, rest) = (self.origin + centre, log_count + whole.ln());
        let variance = (m2 - m1 * m1).max(0.0);
        BandsPoint {
            beta,
            log_z: beta * reward + rest,
            mean_reward: reward + m1,
            free_energy: (beta != 0.0).then(|| -reward - rest / beta),
            entropy: rest - beta * m1,
            variance,
            third_cumulant: m3 - 3.0 * m2 * m1 + 2.0 * m1 * m1 * m1,
            heat_capacity: beta * beta * variance,
        }
    }

    /// The band of the largest n exp(beta J), up to rounding.
    fn heaviest(&self, beta: f64) -> usize {
        let weight = |i: usize| self.log_counts[i] + beta * self.offsets[i];
        let bands = 0..self.offsets.len();
        bands
            .max_by(|&i, &j| weight(i).total_cmp(&weight(j)))
            .expect("there are bands")
    }
}

/// A sum that remembers what rounding took from it (Neumaier).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CompensatedSum {
    total: f64,
    lost: f64,
}

impl CompensatedSum {
    pub fn add(&mut self, term: f64) {
        let total = self.total + term;
        self.lost += if self.total.abs() >= term.abs() {
            (self.total - total) + term
        } else {
            (term - total) + self.total
        };
        self.total = total;
    }

    pub fn value(&self) -> f64 {
        self.total + self.lost
    }
}

/// The natural logarithm of a whole number of any size; minus infinity for 0.
///
/// ```
/// use dashu_int::UBig;
/// use foldglass::gibbs::bands::log;
/// let n = UBig::from(3u8).pow(5000);
/// assert!((log(&n) - 5000.0 * 3f64.ln()).abs() < 1e-11);
/// ```
pub fn log(n: &UBig) -> f64 {
    let drop = n.bit_len().saturating_sub(64);
    let leading = u64::try_from(n >> drop).expect("64 bits are left");
    (leading as f64).ln() + drop as f64 * std::f64::consts::LN_2
}
