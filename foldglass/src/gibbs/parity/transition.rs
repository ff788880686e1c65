//! Finds the transition of parity by every definition in use (paper, App. F).

use super::{Parity, log_dead};
use crate::support::stats::crossing;
use std::f64::consts::LN_2;

/// The inverse temperature of the transition, by each definition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transition {
    /// (6T - 2) ln 2: where 2^(4T-2) exp(beta / 2), all codes taken as dead, is as heavy as
    /// 2^(T-1) exp(beta), the optimal ones.
    pub asymptotic: f64,
    /// The beta at which the bands of J = 1/2 and J = 1 have equal weight: 2 ln(dead / 2^(T-1)).
    pub crossing: f64,
    /// The beta at which the mean reward is 3/4.
    pub three_quarters: f64,
    /// The beta at which the variance of J is largest.
    pub variance_peak: f64,
    /// The beta at which the heat capacity, beta^2 times the variance, is largest.
    pub heat_peak: f64,
}

/// Between which inverse temperatures the mean reward climbs from one value to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Climb {
    /// The end at which it has the lower value.
    pub from: f64,
    /// The end at which it has the higher one.
    pub to: f64,
}

impl Climb {
    /// How much of beta it takes.
    pub fn width(&self) -> f64 {
        self.to - self.from
    }
}

/// Beyond this distance from the asymptotic transition one band outweighs the other by e^20.
const REACH: f64 = 40.0;

/// Cuts of the reach on which peaks are looked for before they are refined.
const CUTS: usize = 320;

impl Parity {
    /// The transition by every definition; `mean_field` gives that of RLVR beside it.
    ///
    /// ```
    /// use foldglass::gibbs::parity::Parity;
    /// let transition = Parity::new(4).transition();
    /// assert!((transition.crossing - 14.989).abs() < 5e-4);
    /// assert!((transition.heat_peak - 16.7).abs() < 0.05);
    /// ```
    pub fn transition(&self) -> Transition {
        Transition {
            asymptotic: self.asymptotic(),
            crossing: 2.0 * (log_dead(self.length()) - (self.length() - 1) as f64 * LN_2),
            three_quarters: self.beta_of_mean(0.75),
            // A peak of the variance is where its derivative, the third cumulant, vanishes.
            variance_peak: self.peak(|point| point.variance, |point| point.third_cumulant),
            heat_peak: self.peak(
                |point| point.heat_capacity,
                |point| 2.0 * point.variance + point.beta * point.third_cumulant,
            ),
        }
    }

    fn asymptotic(&self) -> f64 {
        (6 * self.length() - 2) as f64 * LN_2
    }

    /// The mean reward of the two leading bands alone, crossing at `beta_c`:
    /// 1/2 + 1/2 [1 + exp(-(beta - beta_c) / 2)]^-1 (eq:twolevel).
    pub fn two_level(beta: f64, beta_c: f64) -> f64 {
        0.5 + 0.5 / (1.0 + (-(beta - beta_c) / 2.0).exp())
    }

    /// The inverse temperature at which the mean reward, which rises from 1/2 to 1, is `mean`.
    ///
    /// # Panics
    /// If `mean` is not strictly between 1/2 and 1.
    pub fn beta_of_mean(&self, mean: f64) -> f64 {
        assert!(
            0.5 < mean && mean < 1.0,
            "a mean of {mean} is refused: it lies strictly between 1/2 and 1"
        );
        let short = |beta: f64| self.at(beta).mean_reward < mean;
        let mut above = self.asymptotic() + REACH;
        while short(above) {
            above *= 2.0;
        }
        crossing(0.0, above, short)
    }

    /// Between which inverse temperatures the mean reward climbs from `low` to `high`.
    ///
    /// # Panics
    /// As `beta_of_mean`.
    pub fn climb(&self, low: f64, high: f64) -> Climb {
        Climb {
            from: self.beta_of_mean(low),
            to: self.beta_of_mean(high),
        }
    }

    /// Finds where `height` is largest; `slope` has the sign of its derivative by beta.
    fn peak(
        &self,
        height: impl Fn(&super::BandsPoint) -> f64,
        slope: impl Fn(&super::BandsPoint) -> f64,
    ) -> f64 {
        let low = (self.asymptotic() - REACH).max(0.0);
        let step = (self.asymptotic() + REACH - low) / CUTS as f64;
        let cut = |i: usize| low + step * i as f64;
        let heights: Vec<f64> = (0..=CUTS).map(|i| height(&self.at(cut(i)))).collect();
        let highest = (0..=CUTS)
            .max_by(|&i, &j| heights[i].total_cmp(&heights[j]))
            .expect("there are cuts");
        crossing(cut(highest.saturating_sub(1)), cut(highest + 1), |beta| {
            slope(&self.at(beta)) > 0.0
        })
    }
}
