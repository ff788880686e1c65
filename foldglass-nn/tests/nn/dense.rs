//! The dense reference against finite differences and against itself.

use foldglass_nn::dense::{Dense, Matrix, gelu, gelu_slope};
use foldglass_nn::layout::{LAYOUTS, Layout};
use foldglass_nn::shape::{NetworkShape, Norm};
use foldglass_nn::weights::{WeightLaw, Weights};

fn small(blocks: usize, norm: Norm) -> NetworkShape {
    NetworkShape {
        width: 12,
        heads: 3,
        mlp: 10,
        vocabulary: 5,
        blocks,
        norm,
    }
}

/// Sum over steps and tokens of coefficients times logits: any loss, to first order.
fn loss(weights: &[f64], shape: NetworkShape, layout: Layout, coefficients: &Matrix) -> f64 {
    let sequence = layout.sequence(&[1, 0, 2, 2], &[0, 3, 1, 2], 6, shape.separator());
    let logits = Dense::new(shape, weights.to_vec())
        .forward(&sequence)
        .logits;
    let pairs = logits.values.iter().zip(&coefficients.values);
    pairs.map(|(l, c)| l * c).sum()
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for (blocks, norm) in [(1, Norm::Rms), (2, Norm::Rms), (1, Norm::Layer)] {
        let shape = small(blocks, norm);
        let mut weights: Vec<f64> = Weights::draw(shape, WeightLaw::Pt, 5)
            .values
            .iter()
            .map(|&w| f64::from(w))
            .collect();
        for tensor in shape.tensors().iter().filter(|t| t.sizes.len() == 1) {
            let place = tensor.place.clone();
            (place.clone()).for_each(|i| weights[i] += 0.1 * ((i * 7 % 11) as f64 - 5.0) / 5.0);
        }
        for layout in LAYOUTS {
            let coefficients = Matrix {
                rows: 4,
                columns: 5,
                values: (0..20).map(|i| (i * 7 % 11) as f64 - 5.0).collect(),
            };
            let sequence = layout.sequence(&[1, 0, 2, 2], &[0, 3, 1, 2], 6, 4);
            let model = Dense::new(shape, weights.clone());
            let trace = model.forward(&sequence);
            let gradient = model.backward(&trace, &sequence, &coefficients);
            // Every seventeenth weight: some of every tensor, all rows and columns over time.
            for i in (0..weights.len()).step_by(17) {
                let step = 1e-5;
                let mut moved = weights.clone();
                moved[i] += step;
                let above = loss(&moved, shape, layout, &coefficients);
                moved[i] -= 2.0 * step;
                let below = loss(&moved, shape, layout, &coefficients);
                let slope = (above - below) / (2.0 * step);
                assert!(
                    (slope - gradient[i]).abs() < 1e-6 * (1.0 + slope.abs()),
                    "{layout:?}, {blocks} blocks, {norm:?}, weight {i}: {slope} against {}",
                    gradient[i]
                );
            }
        }
    }
}

#[test]
fn every_tensor_has_a_gradient() {
    let shape = small(1, Norm::Rms);
    let model = Dense::from_f32(shape, &Weights::draw(shape, WeightLaw::Pt, 2).values);
    let sequence = Layout::Prefix.sequence(&[1, 0, 2], &[0, 3, 1], 3, 4);
    let trace = model.forward(&sequence);
    let d_logits = Matrix {
        rows: 3,
        columns: 5,
        values: (0..15).map(|i| f64::from(i % 4) - 1.5).collect(),
    };
    let gradient = model.backward(&trace, &sequence, &d_logits);
    for tensor in shape.tensors() {
        let square: f64 = gradient[tensor.place].iter().map(|g| g * g).sum();
        assert!(square > 1e-6, "{}: {square}", tensor.name);
    }
}

#[test]
fn gelu_has_known_values() {
    // Phi(1) and phi(1) from tables of the normal law.
    let (below, density) = (0.841_344_746_068_542_9, 0.241_970_724_519_143_37);
    assert!((gelu(1.0) - below).abs() < 1e-15);
    assert!((gelu(-1.0) + (1.0 - below)).abs() < 1e-15);
    assert!((gelu_slope(1.0) - (below + density)).abs() < 1e-15);
    assert_eq!((gelu(0.0), gelu_slope(0.0)), (0.0, 0.5));
    assert!((gelu(8.9) - 8.9).abs() < 1e-14 && gelu(-40.0) == 0.0);
}

#[test]
fn a_later_token_changes_no_earlier_step() {
    let shape = small(2, Norm::Rms);
    let model = Dense::from_f32(shape, &Weights::draw(shape, WeightLaw::Pt, 9).values);
    for layout in LAYOUTS {
        let forward = |y: &[usize]| {
            let sequence = layout.sequence(&[1, 0, 2], y, 4, 4);
            model.forward(&sequence).logits
        };
        let (one, other) = (forward(&[2, 0, 1]), forward(&[2, 1, 1]));
        assert_eq!(one.row(0), other.row(0));
        assert_eq!(one.row(1), other.row(1));
        assert_ne!(one.row(2), other.row(2), "{layout:?}");
    }
}
