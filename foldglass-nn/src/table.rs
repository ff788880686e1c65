//! Rewrites the one-block transformer as tables, exactly (paper, app. G.4).
//!
//! With one block, queries, keys and values depend on the token alone, and rotary scores on the
//! tokens and their distance. So a score is an entry of S(head, query's token, key's token,
//! distance); what a head returns is given by V weights, one a token; with the one-hot of the
//! query's own token that makes f, V(1 + H) features of a step. The residual stream is z = f M with
//! M = [E; values through the output matrix, for every head and token], and the MLP's input is
//! f (M g2 U), divided by the norm of z afterwards. Input positions need no MLP at all.

use crate::layout::Layout;
use crate::matmul::{Output, View, dot, multiply};
use crate::shape::{BlockPlaces, NORM_EPSILON, NetworkShape, Norm, ROTARY_BASE, TensorPlaces};

/// The tables of one model. Letters as in [`NetworkShape`]; K is the number of features.
#[derive(Debug, Clone)]
pub(crate) struct Tables {
    pub shape: NetworkShape,
    pub places: TensorPlaces,
    /// The least distance; entry d of S is of distance `least + d`.
    pub least: i32,
    /// The number of distances.
    pub distances: usize,
    /// S: (H, V, V, distances).
    pub scores: Vec<f32>,
    /// M: (K, D).
    pub stream: Vec<f32>,
    /// M as the second norm sees it: without its rows' means under [`Norm::Layer`].
    pub centred: Vec<f32>,
    /// M g2 U beside M: (K, F + D).
    pub joint: Vec<f32>,
    turns: Vec<(f32, f32)>,
    normed: Vec<f32>,
    scales: Vec<f32>,
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    weighted: Vec<f32>,
}

/// Gradients in the tables, from which those in the weights follow.
#[derive(Debug, Clone)]
pub(crate) struct TableGradient {
    /// In S.
    pub scores: Vec<f32>,
    /// In M.
    pub stream: Vec<f32>,
    /// In M as the second norm sees it.
    pub centred: Vec<f32>,
    /// In M g2 U, (K, F).
    pub up: Vec<f32>,
}

impl Tables {
    /// Tables of a shape of one block, for a layout and the longest length; still empty.
    pub fn new(shape: NetworkShape, layout: Layout, cap: usize) -> Tables {
        let (least, largest) = layout.distances(cap);
        let distances = (largest - least + 1) as usize;
        let (d, v, k) = (shape.width, shape.vocabulary, shape.features());
        let pairs = shape.head_width() / 2;
        let turns = (least..=largest)
            .flat_map(|distance| {
                (0..pairs).map(move |m| {
                    let speed = ROTARY_BASE.powf(-(m as f64) / pairs as f64);
                    let (sin, cos) = (f64::from(distance) * speed).sin_cos();
                    (sin as f32, cos as f32)
                })
            })
            .collect();
        Tables {
            places: shape.places(),
            least,
            distances,
            scores: vec![0.0; shape.heads * v * v * distances],
            stream: vec![0.0; k * d],
            centred: vec![0.0; k * d],
            joint: vec![0.0; k * (shape.mlp + d)],
            turns,
            normed: vec![0.0; v * d],
            scales: vec![0.0; v],
            query: vec![0.0; v * d],
            key: vec![0.0; v * d],
            value: vec![0.0; v * d],
            weighted: vec![0.0; k * d],
            shape,
        }
    }

    fn block(&self) -> &BlockPlaces {
        &self.places.blocks[0]
    }

    /// Computes the tables of these weights.
    pub fn refresh(&mut self, weights: &[f32]) {
        let (d, f, v, k) = self.sizes();
        let block = self.block().clone();
        let norm1 = &weights[block.norm1.clone()];
        let embedding = &weights[self.places.embedding.clone()];
        for token in 0..v {
            let row = &mut self.normed[token * d..][..d];
            row.copy_from_slice(&embedding[token * d..][..d]);
            self.scales[token] = centre_and_scale(self.shape.norm, row);
            let scale = self.scales[token];
            (row.iter_mut().zip(norm1)).for_each(|(x, g)| *x *= scale * g);
        }
        for (out, place) in [
            (&mut self.query, &block.query),
            (&mut self.key, &block.key),
            (&mut self.value, &block.value),
        ] {
            let matrix = View::new(&weights[place.clone()], d, d, d);
            multiply(
                out,
                d,
                Output::Overwrite,
                View::new(&self.normed, v, d, d),
                matrix,
            );
        }
        self.refresh_scores();
        self.stream[..v * d].copy_from_slice(embedding);
        let w = self.shape.head_width();
        for head in 0..self.shape.heads {
            let values = View::new(&self.value[head * w..], v, w, d);
            let output = View::new(&weights[block.output.clone()][head * w * d..], w, d, d);
            let rows = &mut self.stream[(1 + head) * v * d..];
            multiply(rows, d, Output::Overwrite, values, output);
        }
        self.centred.copy_from_slice(&self.stream);
        if self.shape.norm == Norm::Layer {
            self.centred.chunks_exact_mut(d).for_each(centre);
        }
        let norm2 = &weights[block.norm2.clone()];
        for (row, from) in self
            .weighted
            .chunks_exact_mut(d)
            .zip(self.centred.chunks(d))
        {
            for ((to, x), g) in row.iter_mut().zip(from).zip(norm2) {
                *to = x * g;
            }
        }
        let up = View::new(&weights[block.up.clone()], d, f, f);
        let weighted = View::new(&self.weighted, k, d, d);
        multiply(&mut self.joint, f + d, Output::Overwrite, weighted, up);
        for (row, from) in self
            .joint
            .chunks_exact_mut(f + d)
            .zip(self.stream.chunks(d))
        {
            row[f..].copy_from_slice(from);
        }
    }

    fn refresh_scores(&mut self) {
        let (d, v, w) = (
            self.shape.width,
            self.shape.vocabulary,
            self.shape.head_width(),
        );
        let scale = 1.0 / (w as f32).sqrt();
        let mut turned = vec![0.0; w];
        for head in 0..self.shape.heads {
            for a in 0..v {
                let query = &self.query[a * d + head * w..][..w];
                for distance in 0..self.distances {
                    turn(query, self.turns(distance), 1.0, &mut turned);
                    for b in 0..v {
                        let key = &self.key[b * d + head * w..][..w];
                        let at = self.score_place(head, a, b) + distance;
                        self.scores[at] = scale * dot(&turned, key);
                    }
                }
            }
        }
    }

    /// Where the scores of a head, a query's token and a key's token start.
    pub fn score_place(&self, head: usize, a: usize, b: usize) -> usize {
        let v = self.shape.vocabulary;
        ((head * v + a) * v + b) * self.distances
    }

    fn turns(&self, distance: usize) -> &[(f32, f32)] {
        let pairs = self.shape.head_width() / 2;
        &self.turns[distance * pairs..][..pairs]
    }

    /// D, F, V and K.
    pub fn sizes(&self) -> (usize, usize, usize, usize) {
        let shape = &self.shape;
        (shape.width, shape.mlp, shape.vocabulary, shape.features())
    }

    /// No gradient yet.
    pub fn no_gradient(&self) -> TableGradient {
        let (d, f, _, k) = self.sizes();
        TableGradient {
            scores: vec![0.0; self.scores.len()],
            stream: vec![0.0; k * d],
            centred: vec![0.0; k * d],
            up: vec![0.0; k * f],
        }
    }

    /// Adds the gradients in the weights that follow from those in the tables: all tensors but
    /// `down`, the last norm and the head.
    pub fn backward(&self, weights: &[f32], tables: &TableGradient, gradient: &mut [f32]) {
        let (d, f, v, k) = self.sizes();
        let block = self.block();
        // M g2 U.
        let d_up = View::new(&tables.up, k, f, f);
        let weighted = View::new(&self.weighted, k, d, d);
        let to = &mut gradient[block.up.clone()];
        multiply(to, f, Output::Add, weighted.transposed(), d_up);
        let up = View::new(&weights[block.up.clone()], d, f, f);
        let mut d_weighted = vec![0.0; k * d];
        multiply(&mut d_weighted, d, Output::Overwrite, d_up, up.transposed());
        let mut d_centred = tables.centred.clone();
        let norm2 = &weights[block.norm2.clone()];
        let d_norm2 = &mut gradient[block.norm2.clone()];
        for (row, to) in d_centred.chunks_exact_mut(d).enumerate() {
            for (i, to) in to.iter_mut().enumerate() {
                let d_w = d_weighted[row * d + i];
                d_norm2[i] += d_w * self.centred[row * d + i];
                *to += d_w * norm2[i];
            }
            if self.shape.norm == Norm::Layer {
                centre(to);
            }
        }
        let mut d_stream = tables.stream.clone();
        (d_stream.iter_mut().zip(&d_centred)).for_each(|(to, d)| *to += d);
        // M: the embedding itself, and values through the output matrix.
        let (d_tokens, d_values_out) = d_stream.split_at(v * d);
        let d_embedding = &mut gradient[self.places.embedding.clone()];
        (d_embedding.iter_mut().zip(d_tokens)).for_each(|(to, d)| *to += d);
        let w = self.shape.head_width();
        let mut d_value = vec![0.0; v * d];
        for head in 0..self.shape.heads {
            let d_rows = View::new(&d_values_out[head * v * d..], v, d, d);
            let place = block.output.start + head * w * d..block.output.start + (head + 1) * w * d;
            let output = View::new(&weights[place.clone()], w, d, d);
            let values = View::new(&self.value[head * w..], v, w, d);
            multiply(
                &mut gradient[place],
                d,
                Output::Add,
                values.transposed(),
                d_rows,
            );
            let to = &mut d_value[head * w..];
            multiply(to, d, Output::Overwrite, d_rows, output.transposed());
        }
        let (d_query, d_key) = self.scores_backward(&tables.scores);
        let parts = [
            (&block.query, &d_query),
            (&block.key, &d_key),
            (&block.value, &d_value),
        ];
        let mut d_normed = vec![0.0; v * d];
        for (place, d_part) in parts {
            let d_part = View::new(d_part, v, d, d);
            let normed = View::new(&self.normed, v, d, d).transposed();
            multiply(&mut gradient[place.clone()], d, Output::Add, normed, d_part);
            let matrix = View::new(&weights[place.clone()], d, d, d).transposed();
            multiply(&mut d_normed, d, Output::Add, d_part, matrix);
        }
        self.embedding_backward(weights, &d_normed, gradient);
    }

    fn scores_backward(&self, d_scores: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let (d, v, w) = (
            self.shape.width,
            self.shape.vocabulary,
            self.shape.head_width(),
        );
        let scale = 1.0 / (w as f32).sqrt();
        let (mut d_query, mut d_key) = (vec![0.0; v * d], vec![0.0; v * d]);
        let mut turned = vec![0.0; w];
        for head in 0..self.shape.heads {
            for a in 0..v {
                let query = a * d + head * w..a * d + (head + 1) * w;
                for distance in 0..self.distances {
                    turn(
                        &self.query[query.clone()],
                        self.turns(distance),
                        1.0,
                        &mut turned,
                    );
                    let mut d_turned = vec![0.0; w];
                    for b in 0..v {
                        let d_score = scale * d_scores[self.score_place(head, a, b) + distance];
                        if d_score == 0.0 {
                            continue;
                        }
                        let key = b * d + head * w..b * d + (head + 1) * w;
                        for (i, at) in key.enumerate() {
                            d_turned[i] += d_score * self.key[at];
                            d_key[at] += d_score * turned[i];
                        }
                    }
                    turn(&d_turned, self.turns(distance), -1.0, &mut turned);
                    let to = d_query[query.clone()].iter_mut();
                    to.zip(&turned).for_each(|(to, d)| *to += d);
                }
            }
        }
        (d_query, d_key)
    }

    fn embedding_backward(&self, weights: &[f32], d_normed: &[f32], gradient: &mut [f32]) {
        let (d, _, v, _) = self.sizes();
        let block = self.block();
        let norm1 = &weights[block.norm1.clone()];
        for token in 0..v {
            let mut x = weights[self.places.embedding.start + token * d..][..d].to_vec();
            let scale = centre_and_scale(self.shape.norm, &mut x);
            let d_out = &d_normed[token * d..][..d];
            let d_norm1 = &mut gradient[block.norm1.clone()];
            for i in 0..d {
                d_norm1[i] += d_out[i] * x[i] * scale;
            }
            let d_scaled: Vec<f32> = d_out.iter().zip(norm1).map(|(d, g)| d * g).collect();
            let mut d_x = vec![0.0; d];
            norm_backward(self.shape.norm, &x, scale, &d_scaled, &mut d_x);
            let to = &mut gradient[self.places.embedding.start + token * d..][..d];
            to.iter_mut().zip(&d_x).for_each(|(to, d)| *to += d);
        }
    }
}

/// Takes the mean away under [`Norm::Layer`]; returns one over the root mean square.
pub(crate) fn centre_and_scale(norm: Norm, x: &mut [f32]) -> f32 {
    if norm == Norm::Layer {
        centre(x);
    }
    1.0 / (dot(x, x) / x.len() as f32 + NORM_EPSILON as f32).sqrt()
}

pub(crate) fn centre(x: &mut [f32]) {
    let mean = x.iter().sum::<f32>() / x.len() as f32;
    x.iter_mut().for_each(|x| *x -= mean);
}

/// The gradient in a norm's input from that in its output before the weights; `centred` and
/// `scale` as [`centre_and_scale`] gave them.
pub(crate) fn norm_backward(norm: Norm, centred: &[f32], scale: f32, d: &[f32], d_x: &mut [f32]) {
    let n = centred.len() as f32;
    let along = scale * scale * dot(centred, d) / n;
    for ((to, &x), &d) in d_x.iter_mut().zip(centred).zip(d) {
        *to = scale * (d - x * along);
    }
    if norm == Norm::Layer {
        centre(d_x);
    }
}

/// Turns a head's vector by a distance: pairs (m, m + w/2).
fn turn(from: &[f32], turns: &[(f32, f32)], direction: f32, to: &mut [f32]) {
    let pairs = turns.len();
    for (m, &(sin, cos)) in turns.iter().enumerate() {
        let (a, b, sin) = (from[m], from[m + pairs], direction * sin);
        to[m] = a * cos - b * sin;
        to[m + pairs] = a * sin + b * cos;
    }
}
