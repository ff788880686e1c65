//! Updates the weights of a model (Adam; paper, app. G.4).

use crate::backend::ModelState;
use crate::settings::Adam;
use rayon::prelude::*;

/// Weights that one thread updates at a time.
const PART: usize = 16_384;

/// How far an update goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    /// The learning rate.
    pub rate: f64,
    /// AdamW's decay.
    pub decay: f64,
}

/// One update with the given gradient: m and v are running means of it and its square, both
/// corrected for their start at zero. The weights decay apart from them: w (1 - rate decay).
pub(crate) fn update(
    adam: Adam,
    Step { rate, decay }: Step,
    gradient: &[f32],
    state: &mut ModelState,
) {
    state.updates += 1;
    let n = state.updates as i32;
    let (beta1, beta2) = (adam.beta1 as f32, adam.beta2 as f32);
    let step = (rate / (1.0 - adam.beta1.powi(n))) as f32;
    let root = (1.0 / (1.0 - adam.beta2.powi(n)).sqrt()) as f32;
    let epsilon = adam.epsilon as f32;
    let kept = (1.0 - rate * decay) as f32;
    (state.weights.par_chunks_mut(PART))
        .zip(state.mean.par_chunks_mut(PART))
        .zip(state.square.par_chunks_mut(PART))
        .zip(gradient.par_chunks(PART))
        .for_each(|(((weights, mean), square), gradient)| {
            for (((w, m), v), &g) in weights.iter_mut().zip(mean).zip(square).zip(gradient) {
                *m = beta1 * *m + (1.0 - beta1) * g;
                *v = beta2 * *v + (1.0 - beta2) * g * g;
                *w = kept * *w - step * *m / (v.sqrt() * root + epsilon);
            }
        });
}

/// Scales a gradient down to a norm where it is longer.
pub(crate) fn clip(gradient: &mut [f32], most: f64) {
    let norm = norm(gradient);
    if norm > most {
        let scale = (most / norm) as f32;
        gradient.par_iter_mut().for_each(|g| *g *= scale);
    }
}

/// The norm of a gradient, summed in a fixed order.
pub(crate) fn norm(gradient: &[f32]) -> f64 {
    let parts: Vec<f64> = gradient
        .par_chunks(PART)
        .map(|part| part.iter().map(|&g| f64::from(g) * f64::from(g)).sum())
        .collect();
    parts.iter().sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_update_moves_every_weight_by_the_rate() {
        let mut state = ModelState::new(vec![1.0, 1.0, 1.0]);
        let step = Step {
            rate: 0.01,
            decay: 0.0,
        };
        update(Adam::default(), step, &[5.0, -0.001, 0.0], &mut state);
        for (found, expected) in state.weights.iter().zip([0.99, 1.01, 1.0]) {
            assert!((found - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn updates_follow_the_definition() {
        let (adam, rate, decay) = (Adam::default(), 0.02, 0.5);
        let mut state = ModelState::new(vec![0.3]);
        let (mut m, mut v, mut w) = (0.0, 0.0, 0.3f64);
        for n in 1..=30 {
            let g = (f64::from(n) * 0.7).sin();
            update(adam, Step { rate, decay }, &[g as f32], &mut state);
            m = 0.9 * m + 0.1 * g;
            v = 0.999 * v + 0.001 * g * g;
            let corrected = (m / (1.0 - 0.9f64.powi(n)), v / (1.0 - 0.999f64.powi(n)));
            w -= rate * decay * w;
            w -= rate * corrected.0 / (corrected.1.sqrt() + 1e-8);
        }
        assert!((f64::from(state.weights[0]) - w).abs() < 1e-5);
    }

    #[test]
    fn a_long_gradient_is_scaled_to_the_norm_and_a_short_one_is_kept() {
        let mut gradient = [3.0, -4.0];
        clip(&mut gradient, 5.5);
        assert_eq!(gradient, [3.0, -4.0]);
        clip(&mut gradient, 2.5);
        assert_eq!(gradient, [1.5, -2.0]);
    }
}
