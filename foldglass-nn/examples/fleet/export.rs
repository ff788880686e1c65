//! Writes weights, tokens, logits and a gradient for another program to compare.

use crate::{Outcome, weights};
use foldglass_nn::dense::{Dense, Matrix};
use foldglass_nn::layout::Layout;
use foldglass_nn::shape::NetworkShape;
use foldglass_nn::weights::{WeightLaw, Weights};

/// What the exported gradient weighs logits with: ((5 i mod 7) - 3) / 10 for the i-th number.
fn coefficients(rows: usize, shape: NetworkShape) -> Matrix {
    let columns = shape.vocabulary;
    Matrix {
        rows,
        columns,
        values: (0..rows * columns)
            .map(|i| ((i * 5 % 7) as f64 - 3.0) / 10.0)
            .collect(),
    }
}

/// Weights, token lists with positions, the reference's logits, and the gradient of a weighted sum
/// of the first list's.
pub fn export(folder: &str) -> Outcome<()> {
    std::fs::create_dir_all(folder)?;
    let shape = NetworkShape::default();
    let values = weights(shape, WeightLaw::Pt, 6);
    let model = Dense::from_f32(shape, &values);
    std::fs::write(
        format!("{folder}/model.safetensors"),
        Weights { shape, values }.to_safetensors(),
    )?;
    let mut lines = Vec::new();
    for (x, y) in [
        (vec![1, 4, 2], vec![3, 0, 1]),
        (vec![0, 0, 3, 2, 1], vec![1, 2, 3, 4, 0]),
    ] {
        for layout in [Layout::Prefix, Layout::PrefixFixed] {
            let sequence = layout.sequence(&x, &y, 8, shape.separator());
            let trace = model.forward(&sequence);
            let tokens: Vec<usize> = sequence.slots.iter().map(|s| s.token).collect();
            let positions: Vec<i32> = sequence.slots.iter().map(|s| s.position).collect();
            let logits: Vec<&[f64]> = (0..x.len()).map(|t| trace.logits.row(t)).collect();
            if lines.is_empty() {
                let gradient = model.backward(&trace, &sequence, &coefficients(x.len(), shape));
                let values = gradient.iter().map(|&g| g as f32).collect();
                let file = format!("{folder}/gradient.safetensors");
                std::fs::write(file, Weights { shape, values }.to_safetensors())?;
            }
            lines.push(serde_json::json!({"tokens": tokens, "positions": positions, "steps": x.len(), "logits": logits}).to_string());
        }
    }
    std::fs::write(format!("{folder}/logits.jsonl"), lines.join("\n"))?;
    Ok(())
}
