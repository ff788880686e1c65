//! Takes gradients of whole batches by the dense transformer: what every back end is checked against.

use crate::batch::Batch;
use crate::dense::{Dense, Matrix};
use crate::objective::{TokenWeight, logit_gradient};
use crate::settings::FleetSettings;

/// The gradient of the weighed tokens of a batch, tokens as given: [`crate::backend::Backend::gradients`]
/// of one model over q symbols, in float64; `prior` has the weights of its prior.
pub fn gradient(
    settings: &FleetSettings,
    weights: &[f32],
    q: usize,
    batch: &Batch,
    tokens: &[TokenWeight],
    prior: Option<&[f32]>,
) -> Vec<f64> {
    let shape = settings.shape;
    let model = Dense::from_f32(shape, weights);
    let prior = prior.map(|weights| Dense::from_f32(shape, weights));
    let softmax = |logits: &[f64]| {
        let total: f64 = logits.iter().map(|l| l.exp()).sum();
        (logits.iter().map(|l| (l.exp() / total) as f32)).collect::<Vec<f32>>()
    };
    let mut sum = vec![0.0; weights.len()];
    let list = |symbols: &[u8]| symbols.iter().map(|&s| s.into()).collect::<Vec<usize>>();
    for sample in 0..batch.samples() {
        let (x, y) = (list(batch.x(sample)), list(batch.y(sample)));
        let sequence = settings
            .layout
            .sequence(&x, &y, settings.cap, shape.separator());
        let trace = model.forward(&sequence);
        let of_prior = prior.as_ref().map(|prior| prior.forward(&sequence));
        let mut d_logits = Matrix {
            rows: x.len(),
            columns: shape.vocabulary,
            values: vec![0.0; x.len() * shape.vocabulary],
        };
        for t in 1..=x.len() {
            let policy = softmax(&trace.logits.row(t - 1)[..q]);
            let prior = (of_prior.as_ref()).map(|prior| softmax(&prior.logits.row(t - 1)[..q]));
            let mut d = vec![0.0; q];
            let token = tokens[batch.start(t) + sample];
            logit_gradient(&policy, y[t - 1] as u8, token, prior.as_deref(), &mut d);
            let row = &mut d_logits.values[(t - 1) * shape.vocabulary..][..q];
            row.iter_mut().zip(d).for_each(|(to, d)| *to = d.into());
        }
        let gradient = model.backward(&trace, &sequence, &d_logits);
        sum.iter_mut().zip(gradient).for_each(|(sum, g)| *sum += g);
    }
    sum
}
