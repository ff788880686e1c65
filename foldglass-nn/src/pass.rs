//! Runs batches through the table form on a CPU, forward and backward (paper, app. G.4).
//!
//! A token is a row; rows are numbered as [`Batch`] numbers them, step after step. What the
//! forward pass computed while sampling serves the backward pass.

use crate::activate::activate;
use crate::batch::Batch;
use crate::layout::{Layout, Query};
use crate::matmul::{Output, Undone, View, dot, multiply_unless};
use crate::shape::Norm;
use crate::table::{TableGradient, Tables, centre_and_scale, norm_backward};
use rayon::prelude::*;

/// What the rows of one batch computed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Activations {
    /// f: K a row.
    features: Vec<f32>,
    /// The MLP's input before its norm, and z: F + D a row.
    joint: Vec<f32>,
    hidden: Vec<f32>,
    slope: Vec<f32>,
    scale2: Vec<f32>,
    /// The residual stream after the MLP: D a row.
    out: Vec<f32>,
    scale3: Vec<f32>,
    /// The policy over the symbols, and zeros: V a row.
    pub policy: Vec<f32>,
    /// Whether passes are left undone; what they then computed is worth nothing.
    pub undone: Undone,
}

/// Where a step of a sample looks: the query's token and the keys.
struct AttentionKeys<'a> {
    tables: &'a Tables,
    layout: Layout,
    batch: &'a Batch,
}

impl AttentionKeys<'_> {
    fn query(&self, sample: usize, t: usize) -> usize {
        let lines = self
            .layout
            .geometry(self.batch.lengths()[sample], self.batch.cap());
        match lines.query {
            Query::Input => self.batch.x(sample)[t - 1].into(),
            Query::Emitted => self.emitted(sample, t - 1),
        }
    }

    /// y_s, the separator for s = 0.
    fn emitted(&self, sample: usize, s: usize) -> usize {
        if s == 0 {
            return self.tables.shape.separator();
        }
        self.batch.y(sample)[s - 1].into()
    }

    /// Every key that step t sees: its token and the index of its distance.
    fn keys(&self, sample: usize, t: usize, mut see: impl FnMut(usize, usize)) {
        let length = self.batch.lengths()[sample];
        let lines = self.layout.geometry(length, self.batch.cap());
        let from = lines.query(t) - self.tables.least;
        for j in 1..=lines.inputs_seen(length, t) {
            let token = self.batch.x(sample)[j - 1];
            see(token.into(), (from - lines.x(j)) as usize);
        }
        for s in lines.first_y..t {
            see(self.emitted(sample, s), (from - lines.y(s)) as usize);
        }
    }

    /// The attention weights of all keys for every head, H a key.
    fn attention(
        &self,
        sample: usize,
        t: usize,
        keys: &mut Vec<(usize, usize)>,
        weights: &mut Vec<f32>,
    ) {
        keys.clear();
        self.keys(sample, t, |token, distance| keys.push((token, distance)));
        let (a, heads) = (self.query(sample, t), self.tables.shape.heads);
        weights.clear();
        weights.resize(keys.len() * heads, 0.0);
        for head in 0..heads {
            let mut largest = f32::NEG_INFINITY;
            for (key, &(b, distance)) in keys.iter().enumerate() {
                let score = self.tables.scores[self.tables.score_place(head, a, b) + distance];
                weights[key * heads + head] = score;
                largest = largest.max(score);
            }
            let mut total = 0.0;
            for key in 0..keys.len() {
                let power = (weights[key * heads + head] - largest).exp();
                weights[key * heads + head] = power;
                total += power;
            }
            for key in 0..keys.len() {
                weights[key * heads + head] /= total;
            }
        }
    }
}

impl Activations {
    /// Makes room for the tokens of a batch.
    pub fn make_room(&mut self, tables: &Tables, tokens: usize) {
        let (d, f, v, k) = tables.sizes();
        self.features.resize(tokens * k, 0.0);
        self.joint.resize(tokens * (f + d), 0.0);
        self.hidden.resize(tokens * f, 0.0);
        self.slope.resize(tokens * f, 0.0);
        self.scale2.resize(tokens, 0.0);
        self.out.resize(tokens * d, 0.0);
        self.scale3.resize(tokens, 0.0);
        self.policy.resize(tokens * v, 0.0);
    }

    /// Computes the policy of step t of every sample that reaches it; `q` symbols.
    pub fn step(
        &mut self,
        tables: &Tables,
        weights: &[f32],
        layout: Layout,
        batch: &Batch,
        t: usize,
        q: usize,
    ) {
        let (first, count) = (batch.start(t), batch.live(t));
        let sight = AttentionKeys {
            tables,
            layout,
            batch,
        };
        let k = tables.shape.features();
        let rows = &mut self.features[first * k..(first + count) * k];
        rows.par_chunks_mut(16 * k)
            .enumerate()
            .for_each(|(part, rows)| {
                let (mut keys, mut attention) = (Vec::new(), Vec::new());
                for (i, row) in rows.chunks_exact_mut(k).enumerate() {
                    features(&sight, part * 16 + i, t, &mut keys, &mut attention, row);
                }
            });
        self.mlp(tables, weights, first, count, q);
    }

    fn mlp(&mut self, tables: &Tables, weights: &[f32], first: usize, count: usize, q: usize) {
        let (d, f, v, k) = tables.sizes();
        let all = first..first + count;
        let features = View::new(&self.features[first * k..], count, k, k);
        let joint = &mut self.joint[all.start * (f + d)..all.end * (f + d)];
        let table = View::new(&tables.joint, k, f + d, f + d);
        multiply_unless(
            &self.undone,
            joint,
            f + d,
            Output::Overwrite,
            features,
            table,
        );
        let norm = tables.shape.norm;
        let rows = (joint.par_chunks_mut(f + d))
            .zip(self.hidden[all.start * f..all.end * f].par_chunks_mut(f))
            .zip(self.slope[all.start * f..all.end * f].par_chunks_mut(f))
            .zip(self.scale2[all.clone()].par_iter_mut())
            .zip(self.out[all.start * d..all.end * d].par_chunks_mut(d));
        rows.with_min_len(8)
            .for_each(|((((joint, hidden), slope), scale), out)| {
                out.copy_from_slice(&joint[f..]);
                *scale = centre_and_scale(norm, out);
                activate(&joint[..f], *scale, hidden, slope);
                out.copy_from_slice(&joint[f..]);
            });
        let hidden = View::new(&self.hidden[first * f..], count, f, f);
        let down = View::new(&weights[tables.places.blocks[0].down.clone()], f, d, d);
        let out = &mut self.out[all.start * d..all.end * d];
        multiply_unless(&self.undone, out, d, Output::Add, hidden, down);
        let norm3 = &weights[tables.places.norm3.clone()];
        let head = &weights[tables.places.head.clone()];
        let rows = (out.par_chunks_mut(d))
            .zip(self.scale3[all.clone()].par_iter_mut())
            .zip(self.policy[all.start * v..all.end * v].par_chunks_mut(v));
        rows.with_min_len(16).for_each(|((out, scale), policy)| {
            // Kept without its mean where the norm takes it away: that is all the way back needs.
            *scale = centre_and_scale(norm, out);
            policy.fill(0.0);
            for ((x, g), head) in out.iter().zip(norm3).zip(head.chunks_exact(v)) {
                let normed = x * *scale * g;
                for (logit, h) in policy[..q].iter_mut().zip(head) {
                    *logit += normed * h;
                }
            }
            softmax(&mut policy[..q]);
        });
    }

    /// Adds the gradient of a loss whose gradient in the logits is `d_logits`, V a row.
    pub fn backward(
        &self,
        tables: &Tables,
        weights: &[f32],
        layout: Layout,
        batch: &Batch,
        d_logits: &[f32],
        gradient: &mut [f32],
    ) {
        let (d, f, _, k) = tables.sizes();
        let n = batch.tokens();
        let d_out = self.head_backward(tables, weights, d_logits, n, gradient);
        let block = &tables.places.blocks[0];
        let d_rows = View::new(&d_out, n, d, d);
        let hidden = View::new(&self.hidden, n, f, f);
        multiply_unless(
            &self.undone,
            &mut gradient[block.down.clone()],
            d,
            Output::Add,
            hidden.transposed(),
            d_rows,
        );
        let down = View::new(&weights[block.down.clone()], f, d, d);
        // To clear memory that nobody needs any more takes long, too.
        if self.undone.is() {
            return;
        }
        let d_up = self.activation_backward(d_rows, down, [n, f]);
        let mut tables_gradient = tables.no_gradient();
        let features = View::new(&self.features, n, k, k);
        let d_up = View::new(&d_up, n, f, f);
        let to = &mut tables_gradient.up;
        multiply_unless(
            &self.undone,
            to,
            f,
            Output::Overwrite,
            features.transposed(),
            d_up,
        );
        if self.undone.is() {
            return;
        }
        let mut d_features = vec![0.0; n * k];
        let up = View::new(&tables.joint, k, f, f + d);
        multiply_unless(
            &self.undone,
            &mut d_features,
            k,
            Output::Overwrite,
            d_up,
            up.transposed(),
        );
        let d_centred = self.centred_backward(tables, &d_features, n);
        let to = &mut tables_gradient.stream;
        multiply_unless(
            &self.undone,
            to,
            d,
            Output::Overwrite,
            features.transposed(),
            d_rows,
        );
        let d_z = View::new(&d_centred, n, d, d);
        let to = &mut tables_gradient.centred;
        multiply_unless(
            &self.undone,
            to,
            d,
            Output::Overwrite,
            features.transposed(),
            d_z,
        );
        for (rows, table) in [(d_rows, &tables.stream), (d_z, &tables.centred)] {
            let table = View::new(table, k, d, d).transposed();
            multiply_unless(&self.undone, &mut d_features, k, Output::Add, rows, table);
        }
        self.attention_backward(tables, layout, batch, &d_features, &mut tables_gradient);
        tables.backward(weights, &tables_gradient, gradient);
    }

    /// From the rows of the stream to the activations of the block, n rows of f numbers: through the matrix
    /// down and the slopes.
    fn activation_backward(
        &self,
        d_rows: View<'_>,
        down: View<'_>,
        [n, f]: [usize; 2],
    ) -> Vec<f32> {
        let mut d_up = vec![0.0; n * f];
        multiply_unless(
            &self.undone,
            &mut d_up,
            f,
            Output::Overwrite,
            d_rows,
            down.transposed(),
        );
        (d_up.par_chunks_mut(f))
            .zip(self.slope.par_chunks(f))
            .zip(self.scale2.par_iter())
            .with_min_len(8)
            .for_each(|((d_up, slope), scale)| {
                (d_up.iter_mut().zip(slope)).for_each(|(d, slope)| *d *= scale * slope);
            });
        d_up
    }

    /// The gradient in the centred rows that the norm of the block scales.
    fn centred_backward(&self, tables: &Tables, d_features: &[f32], n: usize) -> Vec<f32> {
        // The norm's scale r of a row: u = r f(M g2 U) is linear in f, so dr = f . d_features / r,
        // and d(centred z) = -r^3 dr / D times it.
        let (d, f, _, k) = tables.sizes();
        let mut d_centred = vec![0.0; n * d];
        for row in 0..n {
            let (f_row, d_f) = (&self.features[row * k..][..k], &d_features[row * k..][..k]);
            let along = -self.scale2[row] * self.scale2[row] * dot(f_row, d_f) / d as f32;
            let z = &mut d_centred[row * d..][..d];
            z.copy_from_slice(&self.joint[row * (f + d) + f..][..d]);
            if tables.shape.norm == Norm::Layer {
                crate::table::centre(z);
            }
            z.iter_mut().for_each(|z| *z *= along);
        }
        d_centred
    }

    /// From the logits to the stream: the gradients of the head and the last norm, and that in the
    /// stream, D a row.
    fn head_backward(
        &self,
        tables: &Tables,
        weights: &[f32],
        d_logits: &[f32],
        n: usize,
        gradient: &mut [f32],
    ) -> Vec<f32> {
        let (d, _, v, _) = tables.sizes();
        let norm3 = &weights[tables.places.norm3.clone()];
        let head = &weights[tables.places.head.clone()];
        // out^T (scale d_logits): both gradients follow from it.
        let mut scaled = d_logits[..n * v].to_vec();
        for (row, scale) in scaled.chunks_exact_mut(v).zip(&self.scale3) {
            row.iter_mut().for_each(|d| *d *= scale);
        }
        let mut product = vec![0.0; d * v];
        let out = View::new(&self.out, n, d, d).transposed();
        multiply_unless(
            &self.undone,
            &mut product,
            v,
            Output::Overwrite,
            out,
            View::new(&scaled, n, v, v),
        );
        for i in 0..d {
            for a in 0..v {
                gradient[tables.places.head.start + i * v + a] += norm3[i] * product[i * v + a];
                gradient[tables.places.norm3.start + i] += head[i * v + a] * product[i * v + a];
            }
        }
        let weighted: Vec<f32> = (head.chunks_exact(v).zip(norm3))
            .flat_map(|(row, g)| row.iter().map(move |h| h * g))
            .collect();
        let mut d_normed = vec![0.0; n * d];
        let logits = View::new(d_logits, n, v, v);
        let table = View::new(&weighted, d, v, v).transposed();
        multiply_unless(
            &self.undone,
            &mut d_normed,
            d,
            Output::Overwrite,
            logits,
            table,
        );
        let mut d_out = vec![0.0; n * d];
        (d_out.par_chunks_mut(d))
            .zip(d_normed.par_chunks(d))
            .zip(self.out.par_chunks(d))
            .zip(self.scale3.par_iter())
            .with_min_len(16)
            .for_each(|(((d_out, d_normed), out), &scale)| {
                norm_backward(tables.shape.norm, out, scale, d_normed, d_out);
            });
        d_out
    }

    fn attention_backward(
        &self,
        tables: &Tables,
        layout: Layout,
        batch: &Batch,
        d_features: &[f32],
        gradient: &mut TableGradient,
    ) {
        let sight = AttentionKeys {
            tables,
            layout,
            batch,
        };
        let (v, heads, k) = (
            tables.shape.vocabulary,
            tables.shape.heads,
            tables.shape.features(),
        );
        let (mut keys, mut attention) = (Vec::new(), Vec::new());
        for t in 1..=batch.longest() {
            if self.undone.ask() {
                return;
            }
            for sample in 0..batch.live(t) {
                let row = batch.start(t) + sample;
                let f_row = &self.features[row * k + v..][..heads * v];
                let d_row = &d_features[row * k + v..][..heads * v];
                sight.attention(sample, t, &mut keys, &mut attention);
                let a = sight.query(sample, t);
                for head in 0..heads {
                    let tokens = head * v..(head + 1) * v;
                    let pairs = f_row[tokens.clone()].iter().zip(&d_row[tokens]);
                    let mean: f32 = pairs.map(|(w, d)| w * d).sum();
                    for (key, &(b, distance)) in keys.iter().enumerate() {
                        let d_score = attention[key * heads + head] * (d_row[head * v + b] - mean);
                        gradient.scores[tables.score_place(head, a, b) + distance] += d_score;
                    }
                }
            }
        }
    }
}

/// f of one step of one sample.
fn features(
    sight: &AttentionKeys,
    sample: usize,
    t: usize,
    keys: &mut Vec<(usize, usize)>,
    attention: &mut Vec<f32>,
    row: &mut [f32],
) {
    let (v, heads) = (sight.tables.shape.vocabulary, sight.tables.shape.heads);
    sight.attention(sample, t, keys, attention);
    row.fill(0.0);
    row[sight.query(sample, t)] = 1.0;
    for (key, &(b, _)) in keys.iter().enumerate() {
        for head in 0..heads {
            row[(1 + head) * v + b] += attention[key * heads + head];
        }
    }
}

fn softmax(logits: &mut [f32]) {
    let largest = logits.iter().fold(f32::NEG_INFINITY, |m, &l| m.max(l));
    logits.iter_mut().for_each(|l| *l = (*l - largest).exp());
    let total: f32 = logits.iter().sum();
    logits.iter_mut().for_each(|p| *p /= total);
}
