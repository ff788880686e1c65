//! Says how the learning rate and the entropy coefficient change over a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// The share of the learning rate that a step has: a linear rise, then half a cosine.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RateSchedule {
    /// Steps over which the rate rises linearly from 0 to its full value.
    pub warm_up: u64,
    /// The share of the rate that is left at the last step; 1 keeps the rate constant.
    pub floor: f64,
}

impl Default for RateSchedule {
    fn default() -> RateSchedule {
        RateSchedule {
            warm_up: 0,
            floor: 1.0,
        }
    }
}

impl RateSchedule {
    /// The share at a step, from 1, of a run of `steps`: n / warm-up to the end of the warm-up,
    /// then floor + (1 - floor) (1 + cos(pi s)) / 2 with s the share of the later steps made.
    pub fn share(&self, step: u64, steps: u64) -> f64 {
        if step < self.warm_up {
            return step as f64 / self.warm_up as f64;
        }
        let later = steps.saturating_sub(self.warm_up).max(1) as f64;
        let made = (step - self.warm_up) as f64 / later;
        self.floor + (1.0 - self.floor) * 0.5 * (1.0 + (PI * made).cos())
    }
}

/// A coefficient that falls, or rises, from a model's own to a final value.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntropyDecay {
    /// How it gets there.
    pub kind: DecayKind,
    /// The final value, the same for all models.
    pub to: f64,
    /// The step from which on the coefficient has the final value.
    pub steps: u64,
}

/// How a coefficient gets from one value to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecayKind {
    /// By equal differences.
    Linear,
    /// By equal ratios.
    Geometric,
}

impl EntropyDecay {
    /// The share of the way that is made at a step.
    pub fn past(&self, step: u64) -> f64 {
        (step as f64 / self.steps as f64).min(1.0)
    }

    /// The coefficient at a step of a model that starts at `own`: (1 - s) own + s to, or
    /// own^(1 - s) to^s, with s the share of the way.
    pub fn coefficient(&self, own: f64, step: u64) -> f64 {
        let s = self.past(step);
        match self.kind {
            DecayKind::Linear => (1.0 - s) * own + s * self.to,
            DecayKind::Geometric => own.powf(1.0 - s) * self.to.powf(s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn the_rate_rises_and_falls_to_its_floor() {
        let plain = RateSchedule::default();
        assert!((1..=50).all(|step| plain.share(step, 50) == 1.0));
        let both = RateSchedule {
            warm_up: 10,
            floor: 0.2,
        };
        let share = |step| both.share(step, 50);
        assert!(close(share(1), 0.1) && close(share(9), 0.9) && close(share(10), 1.0));
        assert!(close(share(30), 0.6), "half way between 1 and the floor");
        assert!(close(share(20), 0.6 + 0.4 * 0.5f64.sqrt()), "a cosine");
        assert!(close(share(50), 0.2));
    }

    #[test]
    fn coefficients_go_to_their_final_value_and_stay() {
        let decay = |kind| EntropyDecay {
            kind,
            to: 0.01,
            steps: 100,
        };
        let linear = |step| decay(DecayKind::Linear).coefficient(0.25, step);
        assert!(close(linear(25), 0.19) && close(linear(50), 0.13));
        let geometric = |step| decay(DecayKind::Geometric).coefficient(0.25, step);
        assert!(close(geometric(50), 0.05), "the geometric mean");
        for end in [100, 101, 100_000] {
            assert_eq!((linear(end), geometric(end)), (0.01, 0.01));
        }
    }
}
