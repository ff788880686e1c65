//! Writes polynomials of the success of an input as means over binomial laws (beyond the paper).
//!
//! If one rollout succeeds with probability p, then E[b_k] with k the successes of m independent rollouts is a
//! polynomial of p of degree m at most, and every polynomial of that degree has one such form: its Bernstein
//! coefficients b_0 .. b_m. The tree of inputs evaluates it at p(x); replica passes follow m rollouts and weigh them by
//! b_k.

/// A polynomial of p by the values b_0 .. b_m whose mean over k successes of m trials it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Polynomial {
    values: Vec<f64>,
    /// b_k times the number of ways to have k successes.
    terms: Vec<f64>,
}

impl Polynomial {
    /// The mean of these values.
    ///
    /// # Panics
    /// If there is none.
    pub fn new(values: Vec<f64>) -> Polynomial {
        assert!(!values.is_empty(), "a polynomial has a degree");
        let trials = values.len() - 1;
        let mut ways = 1.0;
        let mut terms = Vec::with_capacity(values.len());
        for (k, value) in values.iter().enumerate() {
            terms.push(ways * value);
            ways *= (trials - k) as f64 / (k + 1) as f64;
        }
        Polynomial { values, terms }
    }

    /// The number of trials.
    pub fn degree(&self) -> usize {
        self.values.len() - 1
    }

    /// b_k.
    pub fn value(&self, successes: usize) -> f64 {
        self.values[successes]
    }

    /// Its value at p: Horner's rule in the smaller of p / (1 - p) and its inverse, so that no power overflows.
    #[inline]
    pub fn at(&self, p: f64) -> f64 {
        let (failure, trials) = (1.0 - p, self.degree() as i32);
        if p <= 0.5 {
            let odds = p / failure;
            let sum = self.terms.iter().rev();
            sum.fold(0.0, |sum, term| sum * odds + term) * failure.powi(trials)
        } else {
            let odds = failure / p;
            let sum = self.terms.iter();
            sum.fold(0.0, |sum, term| sum * odds + term) * p.powi(trials)
        }
    }

    /// The same polynomial with the fewest trials. Above 16 trials it is left as it is: the differences that tell its
    /// degree would be rounding.
    pub fn reduced(mut self) -> Polynomial {
        while (1..=16).contains(&self.degree()) {
            let m = self.degree();
            let mut ways = 1.0;
            let (mut difference, mut scale) = (0.0, 0.0);
            for (k, value) in self.values.iter().enumerate() {
                let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
                difference += sign * ways * value;
                scale += ways * value.abs();
                ways *= (m - k) as f64 / (k + 1) as f64;
            }
            if f64::abs(difference) > 1e-13 * scale {
                break;
            }
            // b_k = (k c_{k-1} + (m - k) c_k) / m, solved from both ends, where the factors are large.
            let mut fewer = vec![0.0; m];
            for k in 0..m.div_ceil(2) {
                let before = if k == 0 { 0.0 } else { fewer[k - 1] };
                fewer[k] = (m as f64 * self.values[k] - k as f64 * before) / (m - k) as f64;
            }
            for k in (m.div_ceil(2) + 1..=m).rev() {
                let after = if k == m { 0.0 } else { fewer[k] };
                fewer[k - 1] = (m as f64 * self.values[k] - (m - k) as f64 * after) / k as f64;
            }
            self = Polynomial::new(fewer);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_trials_have_the_same_polynomial() {
        // 1 - p + 3 p^2, with two to nine trials.
        let quadratic = |p: f64| 1.0 - p + 3.0 * p * p;
        for trials in 2..=9usize {
            let n = trials as f64;
            let value = |k: f64| 1.0 - k / n + 3.0 * k * (k - 1.0) / (n * (n - 1.0));
            let long = Polynomial::new((0..=trials).map(|k| value(k as f64)).collect());
            let short = long.clone().reduced();
            assert_eq!(short.degree(), 2);
            for p in [0.0, 0.1, 0.5, 0.97, 1.0] {
                assert!((long.at(p) - quadratic(p)).abs() < 1e-12);
                assert!((short.at(p) - quadratic(p)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_constant_has_no_trials_and_a_power_keeps_its_own() {
        assert_eq!(Polynomial::new(vec![2.5; 8]).reduced().degree(), 0);
        let power = Polynomial::new(vec![0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(power.clone().reduced(), power);
    }
}
