//! Minimises the RLVR loss of parity over all factorised policies (paper, section 3.2 and App. F).
//!
//! Let m_c = pi_c(0) - pi_c(1) be the magnetisation of a cell and h(m) the entropy of (1 +- m) / 2.
//! Cells act independently and a rollout consults each once, so J(pi) = 1/2 + 1/2 prod_t mu_t as for
//! codes, where mu_t is the mean of the m_c of step t (2 cells at t = 1, 4 later), each with the
//! sign of the code that tracks the state.
//!
//! **Reduction.** h is concave, so for given mu_t all cells of a step have m_c = mu_t up to sign.
//! The cost of a step, c_t g(mu) with g = ln 2 - h and c_t its cells, is convex in ln mu (its
//! derivative mu atanh mu rises), so for a given product P = prod mu_t the later steps share one mu
//! and the first has the mu_1 of equal slope, 2 mu_1 atanh mu_1 = 4 mu atanh mu. One number is left,
//! the field a = atanh mu:
//!
//! L = -1/2 - P(a) / 2 - tau (4T-2) ln 2 + tau E(a),  E = 2 g(mu_1) + 4 (T-1) g(mu).

use super::Parity;
use crate::support::stats::crossing;
use std::f64::consts::LN_2;

/// The best factorised policy at a temperature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanField {
    /// beta = 1 / tau.
    pub beta: f64,
    /// The loss L = -J - tau sum H: the least of all factorised policies.
    pub loss: f64,
    /// The expected reward J.
    pub reward: f64,
    /// The magnetisation of the cells of step 1, and of those of later steps; 0 is uniform.
    pub magnetisations: [f64; 2],
}

/// The temperature at which the best factorised policy stops beating the uniform one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Melting {
    /// The inverse temperature: the least at which a policy has as low a loss as the uniform one.
    pub beta: f64,
    /// J of that policy there, the height from which RLVR falls to 1/2; 1/2 where it melts
    /// continuously (T = 1 and 2).
    pub reward: f64,
}

/// A factorised policy of the one-parameter family.
#[derive(Debug, Clone, Copy)]
struct Member {
    /// The field of the later steps and of the first.
    field: f64,
    first_field: f64,
}

impl Member {
    fn new(field: f64) -> Member {
        // mu atanh mu = 2 f rises from 0 with atanh mu; where mu is near 1 that is atanh mu itself.
        let slope = 2.0 * field * field.tanh();
        let first_field = crossing(field, 2.0 * field + 1.0, |a| a * a.tanh() < slope);
        Member { field, first_field }
    }

    /// ln P.
    fn log_product(&self, length: usize) -> f64 {
        log_tanh(self.first_field) + (length - 1) as f64 * log_tanh(self.field)
    }

    /// E, the entropy it lacks against the uniform policy.
    fn lack(&self, length: usize) -> f64 {
        2.0 * lack(self.first_field) + 4.0 * (length - 1) as f64 * lack(self.field)
    }

    /// dE / d ln P at the best members of a given P.
    fn slope(&self) -> f64 {
        4.0 * self.field * self.field.tanh()
    }
}

/// ln tanh a.
fn log_tanh(a: f64) -> f64 {
    let e = (-2.0 * a).exp();
    if e < 0.5 {
        (-e).ln_1p() - e.ln_1p()
    } else {
        a.tanh().ln()
    }
}

/// g = ln 2 - h(tanh a) = a tanh a - ln cosh a.
fn lack(a: f64) -> f64 {
    if a < 0.02 {
        // The terms below cancel: a^2 / 2 - a^4 / 4 + a^6 / 9 - 17 a^8 / 360 + ..
        let s = a * a;
        return s * (0.5 + s * (-0.25 + s * (1.0 / 9.0 - s * 17.0 / 360.0)));
    }
    // h = ln(1 + e^-2a) + 2a / (e^2a + 1).
    LN_2 - (-2.0 * a).exp().ln_1p() - 2.0 * a / ((2.0 * a).exp() + 1.0)
}

impl Parity {
    /// Finds where the best factorised policy stops beating the uniform one:
    /// the least beta = 2 E / P over all policies, which has dE / d ln P = E.
    ///
    /// ```
    /// use foldglass::gibbs::parity::Parity;
    /// let parity = Parity::new(40);
    /// let melting = parity.melting();
    /// assert!((melting.beta / ((8 * 40 - 4) as f64 * 2f64.ln()) - 1.0).abs() < 1e-9);
    /// // RLVR falls where it is a third colder than the transition of the codes.
    /// assert!((melting.beta / parity.transition().crossing - 4.0 / 3.0).abs() < 0.01);
    /// ```
    pub fn melting(&self) -> Melting {
        let length = self.length();
        if length == 1 {
            // J is linear in the policy: some policy beats the uniform one at every temperature.
            return Melting {
                beta: 0.0,
                reward: 0.5,
            };
        }
        if length == 2 {
            // 2 E / P falls with mu to its limit 2 (mu_1^2 + 2 mu^2) / (mu_1 mu), mu_1 = sqrt 2 mu.
            return Melting {
                beta: 4.0 * 2f64.sqrt(),
                reward: 0.5,
            };
        }
        // E < (4T-2) ln 2 while the slope has no bound, and 2 E / P falls while E is above it.
        let above = 2.0 * length as f64;
        let field = crossing(1e-9, above, |a| {
            let member = Member::new(a);
            member.lack(length) > member.slope()
        });
        let member = Member::new(field);
        let log_product = member.log_product(length);
        Melting {
            beta: 2.0 * member.lack(length) * (-log_product).exp(),
            reward: 0.5 + 0.5 * log_product.exp(),
        }
    }

    /// The best factorised policy at `beta`, by exact minimisation.
    ///
    /// # Panics
    /// If `beta` is not positive.
    pub fn mean_field(&self, beta: f64) -> MeanField {
        assert!(
            beta > 0.0,
            "beta = {beta} is refused: temperatures are positive"
        );
        let length = self.length();
        let uniform = MeanField {
            beta,
            loss: -0.5 - (4 * length - 2) as f64 * LN_2 / beta,
            reward: 0.5,
            magnetisations: [0.0; 2],
        };
        // A stationary policy has beta P / 2 = dE / d ln P. The logarithm of their ratio rises and
        // then falls with the field (for T <= 2 it only falls); the minimum of L is where it falls
        // through 0.
        let excess = |a: f64| {
            let member = Member::new(a);
            (beta / 2.0).ln() + member.log_product(length) - member.slope().ln()
        };
        let highest = highest(1e-9, beta.max(1.0), excess);
        if excess(highest) <= 0.0 {
            return uniform;
        }
        let field = crossing(highest, beta.max(1.0), |a| excess(a) > 0.0);
        let member = Member::new(field);
        let product = member.log_product(length).exp();
        let loss = uniform.loss - product / 2.0 + member.lack(length) / beta;
        if loss >= uniform.loss {
            return uniform;
        }
        MeanField {
            beta,
            loss,
            reward: 0.5 + 0.5 * product,
            magnetisations: [member.first_field.tanh(), field.tanh()],
        }
    }
}

/// Finds the maximum of a function that rises and then falls, by ternary search.
fn highest(mut low: f64, mut high: f64, height: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..300 {
        let third = (high - low) / 3.0;
        if height(low + third) < height(high - third) {
            low += third;
        } else {
            high -= third;
        }
    }
    low + (high - low) / 2.0
}
