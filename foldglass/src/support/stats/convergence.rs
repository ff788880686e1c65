//! Judges several chains of one quantity by each other: R-hat, and what their draws are worth (paper, G.2).
//!
//! As Vehtari, Gelman, Simpson, Carpenter and Bürkner have it (Rank-normalization, folding, and
//! localization: an improved R-hat for assessing convergence of MCMC, Bayesian Analysis 16, 2021): every
//! chain is split into halves, so that one that drifts disagrees with itself, and values are replaced by
//! the normal scores of their ranks, so that no moment has to exist. The autocorrelations are summed up to
//! where they are noise by Geyer's rule (Practical Markov chain Monte Carlo, 1992).
//!
//! **Letters.** m is the number of half chains, n the length of one, rho(t) the autocorrelation at lag t
//! over all of them.

use super::special::normal_score;
use super::{check_finite, fourier, mean, quantile};

/// The fewest draws of a chain: its halves have two each.
const FEWEST: usize = 4;

/// The quantiles whose draws are counted by [`effective_size_tail`].
const TAILS: [f64; 2] = [0.05, 0.95];

/// R-hat of chains of equal length, rank-normalised and split: how much wider all draws lie than those
/// of one chain. 1 where the chains agree; above 1.01 they had better be run longer. The larger of that of
/// the draws and that of their distances from the median, which sees chains that agree in place and
/// differ in width. None where no chain moves, or with fewer than four draws.
///
/// ```
/// use foldglass::support::stats::r_hat;
/// let chain = |shift: f64| -> Vec<f64> { (0..200).map(|i| f64::from(i * i % 101) + shift).collect() };
/// assert!(r_hat(&[chain(0.0), chain(1.0)]).unwrap() < 1.01);
/// assert!(r_hat(&[chain(0.0), chain(90.0)]).unwrap() > 1.5);
/// ```
///
/// # Panics
/// If chains differ in length, or a value is not finite.
pub fn r_hat<C: AsRef<[f64]>>(chains: &[C]) -> Option<f64> {
    let halves = HalfChains::of(chains)?;
    let median = quantile(&halves.values, 0.5)?;
    let distances = halves.map(|x| (x - median).abs());
    let of_draws = halves.normal_scores().shrinkage();
    let of_distances = distances.normal_scores().shrinkage();
    of_draws.into_iter().chain(of_distances).reduce(f64::max)
}

/// How many independent draws those of several chains are worth for the bulk of the law: of the normal
/// scores of their ranks. None where no chain moves, or with fewer than four draws.
///
/// # Panics
/// If chains differ in length, or a value is not finite.
pub fn effective_size_bulk<C: AsRef<[f64]>>(chains: &[C]) -> Option<f64> {
    HalfChains::of(chains)?.normal_scores().effective_size()
}

/// The effective size for the tails: the smaller of those for the 5 % and the 95 % quantile.
///
/// # Panics
/// If chains differ in length, or a value is not finite.
pub fn effective_size_tail<C: AsRef<[f64]>>(chains: &[C]) -> Option<f64> {
    let halves = HalfChains::of(chains)?;
    let whole: Vec<f64> = chains.iter().flat_map(|c| c.as_ref()).copied().collect();
    let of_tail = |p| {
        let limit = quantile(&whole, p)?;
        let below = halves.map(|x| if x <= limit { 1.0 } else { 0.0 });
        below.effective_size()
    };
    TAILS.into_iter().filter_map(of_tail).reduce(f64::min)
}

/// The effective size for the mean of the values as they are.
///
/// # Panics
/// If chains differ in length, or a value is not finite.
pub fn effective_size_mean<C: AsRef<[f64]>>(chains: &[C]) -> Option<f64> {
    HalfChains::of(chains)?.effective_size()
}

/// The halves of chains, one after the other. Of an odd number of draws the middle one is left out.
struct HalfChains {
    values: Vec<f64>,
    /// n.
    length: usize,
}

impl HalfChains {
    fn of<C: AsRef<[f64]>>(chains: &[C]) -> Option<HalfChains> {
        let draws = chains.first()?.as_ref().len();
        let mut values = Vec::new();
        for chain in chains.iter().map(AsRef::as_ref) {
            assert!(
                chain.len() == draws,
                "chains of {draws} and {} draws: all need the same number",
                chain.len()
            );
            check_finite(chain);
            values.extend(&chain[..draws / 2]);
            values.extend(&chain[draws - draws / 2..]);
        }
        (draws >= FEWEST).then_some(HalfChains {
            values,
            length: draws / 2,
        })
    }

    fn map(&self, of: impl Fn(f64) -> f64) -> HalfChains {
        HalfChains {
            values: self.values.iter().map(|&x| of(x)).collect(),
            length: self.length,
        }
    }

    fn chains(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.length)
    }

    /// Every value replaced by the normal quantile at (r - 3/8) / (N + 1/4), where r is its rank among all
    /// N, equal ones sharing the mean of theirs (Blom, 1958).
    fn normal_scores(&self) -> HalfChains {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by(|&a, &b| self.values[a].total_cmp(&self.values[b]));
        let mut scores = vec![0.0; self.values.len()];
        let count = self.values.len() as f64;
        let mut before = 0;
        for equal in order.chunk_by(|&a, &b| self.values[a] == self.values[b]) {
            let rank = before as f64 + (equal.len() + 1) as f64 / 2.0;
            let score = normal_score((rank - 0.375) / (count + 0.25));
            equal.iter().for_each(|&place| scores[place] = score);
            before += equal.len();
        }
        HalfChains {
            values: scores,
            length: self.length,
        }
    }

    fn means(&self) -> Vec<f64> {
        self.chains().map(mean).collect()
    }

    /// R-hat of these values: sqrt((n - 1) / n + B / W), B the variance of the chains' means and W the mean of
    /// their variances; none where no chain moves.
    fn shrinkage(&self) -> Option<f64> {
        let within = mean(&self.chains().map(variance).collect::<Vec<_>>());
        let between = variance(&self.means());
        let n = self.length as f64;
        (within > 0.0).then(|| ((n - 1.0) / n + between / within).sqrt())
    }

    /// m n / (1 + 2 (rho(1) + rho(2) + ..)), where rho(t) = 1 - (W - C(t)) / V: C(t) is the mean of the
    /// chains' autocovariances, W of their variances, and V = (n - 1) W / n + B the variance of all.
    fn effective_size(&self) -> Option<f64> {
        let n = self.length as f64;
        let mut sums = vec![0.0; self.length];
        for (chain, mean) in self.chains().zip(self.means()) {
            let deviations: Vec<f64> = chain.iter().map(|x| x - mean).collect();
            let own = fourier::lagged_sums(&deviations, self.length - 1);
            sums.iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
        }
        let m = self.chains().len() as f64;
        let moves = self
            .chains()
            .any(|chain| chain.iter().any(|x| *x != chain[0]));
        if !moves {
            return None;
        }
        let covariance = |t: usize| sums[t] / (m * n);
        let within = covariance(0) * n / (n - 1.0);
        let all = covariance(0) + variance(&self.means());
        let rho = |t: usize| match t {
            0 => 1.0,
            t => 1.0 - (within - covariance(t)) / all,
        };
        let time = geyer(rho, self.length);
        // Draws that repel each other are worth more than independent ones; how much more is noise soon.
        let least = 1.0 / (m * n).log10();
        Some(m * n / time.max(least))
    }
}

/// 1 + 2 (rho(1) + rho(2) + ..) up to where it is noise: of a reversible chain the sums of the pairs
/// rho(2k) + rho(2k + 1) are positive and fall with k. Taken are the pairs before the first that is not
/// positive, each no larger than the one before, and of that first one rho(2k) if it is positive.
fn geyer(rho: impl Fn(usize) -> f64, length: usize) -> f64 {
    let (mut sum, mut smallest) = (0.0, f64::INFINITY);
    let mut even = 0;
    // The last lags of a series have hardly any pairs of draws.
    while even + 4 < length {
        let pair = rho(even) + rho(even + 1);
        if pair <= 0.0 {
            break;
        }
        smallest = pair.min(smallest);
        sum += smallest;
        even += 2;
    }
    2.0 * sum - 1.0 + rho(even).max(0.0)
}

/// The variance, of one value less; 0 of a single one.
fn variance(values: &[f64]) -> f64 {
    let center = mean(values);
    let squares: f64 = values.iter().map(|x| (x - center).powi(2)).sum();
    squares / (values.len() - 1).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The high bits of a linear congruential generator: a series that any program can redo to the bit.
    struct Congruential(u64);

    impl Congruential {
        fn next(&mut self) -> u64 {
            let product = self.0.wrapping_mul(6_364_136_223_846_793_005);
            self.0 = product.wrapping_add(1_442_695_040_888_963_407);
            self.0
        }
    }

    /// x' = keep x + u with u uniform on (0,1), chain c shifted by c times a number.
    fn autoregressive(chains: u64, draws: usize, keep: f64, shift: f64) -> Vec<Vec<f64>> {
        let chain = |c: u64| {
            let (mut rng, mut x) = (Congruential(c + 1), 0.0);
            let draw = |_| {
                x = keep * x + (rng.next() >> 33) as f64 / (1u64 << 31) as f64;
                x + shift * c as f64
            };
            (0..draws).map(draw).collect()
        };
        (0..chains).map(chain).collect()
    }

    /// A walk on sixteen levels, as rewards of codes have few: most ranks are shared.
    fn levels(chains: u64, draws: usize) -> Vec<Vec<f64>> {
        let chain = |c: u64| {
            let (mut rng, mut level) = (Congruential(c + 11), 8u32);
            let draw = |_| {
                match rng.next() >> 61 {
                    0..3 => level = level.saturating_sub(1),
                    3..5 => level = (level + 1).min(15),
                    _ => {}
                }
                f64::from(level) / 16.0
            };
            (0..draws).map(draw).collect()
        };
        (0..chains).map(chain).collect()
    }

    /// The values of ArviZ 0.23.4 (`rhat`, `ess` with the methods bulk, tail and mean) on the same series.
    #[test]
    fn all_four_are_those_of_arviz() {
        for (chains, [hat, bulk, tail, of_mean]) in [
            (
                autoregressive(4, 500, 0.5, 0.0),
                [
                    1.001375728446018,
                    558.1250979593727,
                    946.8101885625629,
                    568.9468574032209,
                ],
            ),
            (
                autoregressive(4, 501, 0.9, 0.0),
                [
                    1.0171407617016823,
                    110.03105909501767,
                    156.96724261110444,
                    109.81607450491916,
                ],
            ),
            (
                autoregressive(3, 400, 0.9, 1.0),
                [
                    1.5187740924413604,
                    5.6020728463769185,
                    76.84577613421432,
                    5.472417216231941,
                ],
            ),
            (
                autoregressive(4, 500, -0.6, 0.0),
                [
                    1.0002290627015802,
                    6602.059991327962,
                    1978.9980135090827,
                    6602.059991327962,
                ],
            ),
            (
                levels(4, 2000),
                [
                    1.0216502877775062,
                    229.67166042076283,
                    228.2582497637667,
                    189.4507107058029,
                ],
            ),
            (
                levels(2, 1000),
                [
                    1.0354255649843853,
                    41.094853059579734,
                    49.51120059790219,
                    36.39639556281898,
                ],
            ),
            (
                autoregressive(2, 7, 0.5, 0.0),
                [
                    1.3715858382397423,
                    12.9501749525715,
                    12.9501749525715,
                    12.9501749525715,
                ],
            ),
        ] {
            for (found, expected) in [
                (r_hat(&chains), hat),
                (effective_size_bulk(&chains), bulk),
                (effective_size_tail(&chains), tail),
                (effective_size_mean(&chains), of_mean),
            ] {
                let found = found.unwrap();
                assert!(
                    (found / expected - 1.0).abs() < 1e-9,
                    "{found}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn one_chain_is_held_against_its_own_halves() {
        let steady = autoregressive(1, 4000, 0.3, 0.0);
        assert!(r_hat(&steady).unwrap() < 1.01);
        let drifting: Vec<f64> = (0..4000).map(|i| steady[0][i] + i as f64 / 500.0).collect();
        assert!(r_hat(&[drifting]).unwrap() > 1.5);
    }

    #[test]
    fn chains_that_agree_in_place_and_differ_in_width_are_told_apart() {
        let mut chains = autoregressive(2, 2000, 0.0, 0.0);
        chains[1]
            .iter_mut()
            .for_each(|x| *x = 0.5 + 8.0 * (*x - 0.5));
        let halves = HalfChains::of(&chains).unwrap();
        assert!(halves.normal_scores().shrinkage().unwrap() < 1.01);
        assert!(r_hat(&chains).unwrap() > 1.1);
    }

    #[test]
    fn what_does_not_move_or_is_too_short_says_nothing() {
        let frozen = [vec![0.5; 100], vec![0.75; 100]];
        for chains in [&frozen[..], &[vec![0.0, 1.0, 0.0]], &[]] {
            assert_eq!(r_hat(chains), None);
            assert_eq!(effective_size_bulk(chains), None);
            assert_eq!(effective_size_tail(chains), None);
            assert_eq!(effective_size_mean(chains), None);
        }
    }

    #[test]
    #[should_panic(expected = "chains of 10 and 9 draws")]
    fn chains_of_different_lengths_are_refused() {
        r_hat(&[vec![0.0; 10], vec![0.0; 9]]);
    }
}
