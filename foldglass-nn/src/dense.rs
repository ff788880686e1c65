//! Runs the transformer as it is written down, in float64: the reference for everything fast.
//!
//! x <- x + attention(norm1(x)); x <- x + gelu(norm2(x) U) W, block after block; the logits are
//! norm3(x) P at the slots that emit. Attention has rotary positions: pair (m, m + w/2) of a head of
//! width w, at position p, turns by p * 10000^(-2m/w).

use crate::layout::Sequence;
use crate::shape::{BlockPlaces, NORM_EPSILON, NetworkShape, Norm, ROTARY_BASE, TensorPlaces};

/// A row-major matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Row after row.
    pub values: Vec<f64>,
}

impl Matrix {
    fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix {
            rows,
            columns,
            values: vec![0.0; rows * columns],
        }
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.columns..][..self.columns]
    }

    fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.values[i * self.columns..][..self.columns]
    }

    fn add(&mut self, other: &Matrix) {
        for (value, more) in self.values.iter_mut().zip(&other.values) {
            *value += more;
        }
    }
}

/// What one block computed on the way forward.
struct BlockTrace {
    normed1: Matrix,
    query: Matrix,
    key: Matrix,
    value: Matrix,
    /// Attention weights: one matrix a head.
    attention: Vec<Matrix>,
    heads: Matrix,
    middle: Matrix,
    normed2: Matrix,
    up: Matrix,
    hidden: Matrix,
    input: Matrix,
}

/// What a forward pass computed; [`Dense::backward`] takes it up.
pub struct Trace {
    blocks: Vec<BlockTrace>,
    last: Matrix,
    normed3: Matrix,
    /// The logits of all V tokens at every step, t = 1 first.
    pub logits: Matrix,
}

/// A transformer with its weights in float64.
pub struct Dense {
    shape: NetworkShape,
    places: TensorPlaces,
    weights: Vec<f64>,
}

impl Dense {
    /// The transformer of these weights, flat as [`NetworkShape::tensors`] lists them.
    ///
    /// # Panics
    /// If there are not as many as the shape has.
    pub fn new(shape: NetworkShape, weights: Vec<f64>) -> Dense {
        assert_eq!(weights.len(), shape.parameters(), "weights of the shape");
        let places = shape.places();
        Dense {
            shape,
            places,
            weights,
        }
    }

    /// The same from single precision.
    pub fn from_f32(shape: NetworkShape, weights: &[f32]) -> Dense {
        Dense::new(shape, weights.iter().map(|&w| f64::from(w)).collect())
    }

    /// The logits of every step, and what the backward pass needs.
    pub fn forward(&self, sequence: &Sequence) -> Trace {
        let mut x = Matrix::zeros(sequence.slots.len(), self.shape.width);
        let embedding = &self.weights[self.places.embedding.clone()];
        for (i, slot) in sequence.slots.iter().enumerate() {
            let row = &embedding[slot.token * self.shape.width..][..self.shape.width];
            x.row_mut(i).copy_from_slice(row);
        }
        let mut blocks = Vec::with_capacity(self.shape.blocks);
        for places in &self.places.blocks {
            let trace = self.block_forward(places, sequence, &x);
            x = trace.middle.clone();
            x.add(&times(&trace.hidden, &self.weights[places.down.clone()]));
            blocks.push(trace);
        }
        let mut last = Matrix::zeros(sequence.emitting.len(), self.shape.width);
        for (t, &slot) in sequence.emitting.iter().enumerate() {
            last.row_mut(t).copy_from_slice(x.row(slot));
        }
        let normed3 = self.norm(&last, &self.weights[self.places.norm3.clone()]);
        let logits = times(&normed3, &self.weights[self.places.head.clone()]);
        Trace {
            blocks,
            last,
            normed3,
            logits,
        }
    }

    fn block_forward(&self, places: &BlockPlaces, sequence: &Sequence, x: &Matrix) -> BlockTrace {
        let weights = |place: &std::ops::Range<usize>| &self.weights[place.clone()];
        let normed1 = self.norm(x, weights(&places.norm1));
        let mut query = times(&normed1, weights(&places.query));
        let mut key = times(&normed1, weights(&places.key));
        let value = times(&normed1, weights(&places.value));
        self.rotate(&mut query, sequence, 1.0);
        self.rotate(&mut key, sequence, 1.0);
        let attention: Vec<Matrix> = (0..self.shape.heads)
            .map(|head| self.attention(head, &query, &key, sequence))
            .collect();
        let mut heads = Matrix::zeros(x.rows, self.shape.width);
        let width = self.shape.head_width();
        for (head, weights) in attention.iter().enumerate() {
            let columns = head * width..(head + 1) * width;
            for i in 0..x.rows {
                for j in 0..x.rows {
                    let weight = weights.row(i)[j];
                    let from = &value.row(j)[columns.clone()];
                    for (to, v) in heads.row_mut(i)[columns.clone()].iter_mut().zip(from) {
                        *to += weight * v;
                    }
                }
            }
        }
        let mut middle = x.clone();
        middle.add(&times(&heads, weights(&places.output)));
        let normed2 = self.norm(&middle, weights(&places.norm2));
        let up = times(&normed2, weights(&places.up));
        let mut hidden = up.clone();
        hidden.values.iter_mut().for_each(|u| *u = gelu(*u));
        BlockTrace {
            normed1,
            query,
            key,
            value,
            attention,
            heads,
            middle,
            normed2,
            up,
            hidden,
            input: x.clone(),
        }
    }

    /// The gradient of a loss whose gradient in the logits of every step is `d_logits`.
    ///
    /// # Panics
    /// If `d_logits` is not of the sizes of the logits.
    pub fn backward(&self, trace: &Trace, sequence: &Sequence, d_logits: &Matrix) -> Vec<f64> {
        assert_eq!(
            (d_logits.rows, d_logits.columns),
            (trace.logits.rows, trace.logits.columns)
        );
        let mut gradient = vec![0.0; self.weights.len()];
        let (norm3, head) = (&self.places.norm3, &self.places.head);
        add_outer(&mut gradient[head.clone()], &trace.normed3, d_logits);
        let d_normed3 = times_transposed(d_logits, &self.weights[head.clone()]);
        let weights = &self.weights[norm3.clone()];
        let d_weights = &mut gradient[norm3.clone()];
        let d_last = self.norm_backward(&trace.last, weights, &d_normed3, d_weights);
        let mut d_x = Matrix::zeros(sequence.slots.len(), self.shape.width);
        for (t, &slot) in sequence.emitting.iter().enumerate() {
            d_x.row_mut(slot).copy_from_slice(d_last.row(t));
        }
        for (places, block) in self.places.blocks.iter().zip(&trace.blocks).rev() {
            d_x = self.block_backward(places, block, sequence, &d_x, &mut gradient);
        }
        for (i, slot) in sequence.slots.iter().enumerate() {
            let start = self.places.embedding.start + slot.token * self.shape.width;
            for (to, d) in gradient[start..].iter_mut().zip(d_x.row(i)) {
                *to += d;
            }
        }
        gradient
    }

    fn block_backward(
        &self,
        places: &BlockPlaces,
        trace: &BlockTrace,
        sequence: &Sequence,
        d_out: &Matrix,
        gradient: &mut [f64],
    ) -> Matrix {
        let weights = |place: &std::ops::Range<usize>| &self.weights[place.clone()];
        // The MLP.
        add_outer(&mut gradient[places.down.clone()], &trace.hidden, d_out);
        let mut d_up = times_transposed(d_out, weights(&places.down));
        for (d, &u) in d_up.values.iter_mut().zip(&trace.up.values) {
            *d *= gelu_slope(u);
        }
        add_outer(&mut gradient[places.up.clone()], &trace.normed2, &d_up);
        let d_normed2 = times_transposed(&d_up, weights(&places.up));
        let d_norm2 = &mut gradient[places.norm2.clone()];
        let mut d_middle = d_out.clone();
        let weights2 = weights(&places.norm2);
        d_middle.add(&self.norm_backward(&trace.middle, weights2, &d_normed2, d_norm2));
        // Attention.
        add_outer(
            &mut gradient[places.output.clone()],
            &trace.heads,
            &d_middle,
        );
        let d_heads = times_transposed(&d_middle, weights(&places.output));
        let [mut d_query, mut d_key, d_value] = self.attention_backward(trace, &d_heads);
        self.rotate(&mut d_query, sequence, -1.0);
        self.rotate(&mut d_key, sequence, -1.0);
        let mut d_normed1 = Matrix::zeros(d_out.rows, d_out.columns);
        for (place, d) in [
            (&places.query, &d_query),
            (&places.key, &d_key),
            (&places.value, &d_value),
        ] {
            add_outer(&mut gradient[place.clone()], &trace.normed1, d);
            d_normed1.add(&times_transposed(d, weights(place)));
        }
        let d_norm1 = &mut gradient[places.norm1.clone()];
        let weights1 = weights(&places.norm1);
        let mut d_x = d_middle;
        d_x.add(&self.norm_backward(&trace.input, weights1, &d_normed1, d_norm1));
        d_x
    }

    fn attention(&self, head: usize, query: &Matrix, key: &Matrix, sequence: &Sequence) -> Matrix {
        let width = self.shape.head_width();
        let columns = head * width..(head + 1) * width;
        let scale = 1.0 / (width as f64).sqrt();
        let mut weights = Matrix::zeros(query.rows, query.rows);
        for i in 0..query.rows {
            let q = &query.row(i)[columns.clone()];
            let score = |j: usize| scale * dot(q, &key.row(j)[columns.clone()]);
            let scores: Vec<Option<f64>> = (0..query.rows)
                .map(|j| sequence.seen[i][j].then(|| score(j)))
                .collect();
            let largest = scores
                .iter()
                .flatten()
                .fold(f64::NEG_INFINITY, |m, &s| m.max(s));
            let powers = scores
                .iter()
                .map(|s| s.map_or(0.0, |s| (s - largest).exp()));
            let row = weights.row_mut(i);
            row.iter_mut().zip(powers).for_each(|(w, p)| *w = p);
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|w| *w /= total);
        }
        weights
    }

    fn attention_backward(&self, trace: &BlockTrace, d_heads: &Matrix) -> [Matrix; 3] {
        let (rows, width) = (d_heads.rows, self.shape.head_width());
        let scale = 1.0 / (width as f64).sqrt();
        let mut d_query = Matrix::zeros(rows, self.shape.width);
        let mut d_key = d_query.clone();
        let mut d_value = d_query.clone();
        for (head, weights) in trace.attention.iter().enumerate() {
            let columns = head * width..(head + 1) * width;
            for i in 0..rows {
                let d_out = &d_heads.row(i)[columns.clone()];
                let w = weights.row(i);
                let d_weight: Vec<f64> = (0..rows)
                    .map(|j| dot(d_out, &trace.value.row(j)[columns.clone()]))
                    .collect();
                let mean = dot(w, &d_weight);
                for j in 0..rows {
                    let d_score = scale * w[j] * (d_weight[j] - mean);
                    for (offset, column) in columns.clone().enumerate() {
                        d_value.row_mut(j)[column] += w[j] * d_out[offset];
                        d_query.row_mut(i)[column] += d_score * trace.key.row(j)[column];
                        d_key.row_mut(j)[column] += d_score * trace.query.row(i)[column];
                    }
                }
            }
        }
        [d_query, d_key, d_value]
    }

    /// Turns every row by its slot's position, `direction` times.
    fn rotate(&self, rows: &mut Matrix, sequence: &Sequence, direction: f64) {
        let width = self.shape.head_width();
        for (i, slot) in sequence.slots.iter().enumerate() {
            for head in rows.row_mut(i).chunks_exact_mut(width) {
                let (first, second) = head.split_at_mut(width / 2);
                for (m, (a, b)) in first.iter_mut().zip(second).enumerate() {
                    let speed = ROTARY_BASE.powf(-2.0 * m as f64 / width as f64);
                    let (sin, cos) = (direction * f64::from(slot.position) * speed).sin_cos();
                    (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
                }
            }
        }
    }

    /// x without its mean (for [`Norm::Layer`]) and one over its root mean square.
    fn normalised(&self, x: &[f64]) -> (Vec<f64>, f64) {
        let n = x.len() as f64;
        let mean = match self.shape.norm {
            Norm::Rms => 0.0,
            Norm::Layer => x.iter().sum::<f64>() / n,
        };
        let centred: Vec<f64> = x.iter().map(|x| x - mean).collect();
        let square = dot(&centred, &centred) / n;
        (centred, 1.0 / (square + NORM_EPSILON).sqrt())
    }

    fn norm(&self, x: &Matrix, weights: &[f64]) -> Matrix {
        let mut out = Matrix::zeros(x.rows, x.columns);
        for i in 0..x.rows {
            let (centred, scale) = self.normalised(x.row(i));
            for (to, (c, w)) in out.row_mut(i).iter_mut().zip(centred.iter().zip(weights)) {
                *to = c * scale * w;
            }
        }
        out
    }

    fn norm_backward(
        &self,
        x: &Matrix,
        weights: &[f64],
        d_out: &Matrix,
        d_weights: &mut [f64],
    ) -> Matrix {
        let mut d_x = Matrix::zeros(x.rows, x.columns);
        let n = x.columns as f64;
        for i in 0..x.rows {
            let (centred, scale) = self.normalised(x.row(i));
            let d: Vec<f64> = d_out
                .row(i)
                .iter()
                .zip(weights)
                .map(|(d, w)| d * w)
                .collect();
            let along = scale * scale * dot(&centred, &d) / n;
            for (k, to) in d_x.row_mut(i).iter_mut().enumerate() {
                d_weights[k] += d_out.row(i)[k] * centred[k] * scale;
                *to = scale * (d[k] - centred[k] * along);
            }
            if self.shape.norm == Norm::Layer {
                let mean = d_x.row(i).iter().sum::<f64>() / n;
                d_x.row_mut(i).iter_mut().for_each(|d| *d -= mean);
            }
        }
        d_x
    }
}

/// Greedy decoding: the likeliest of the `q` symbols at every step, the least of equals.
pub fn greedy(
    model: &Dense,
    layout: crate::layout::Layout,
    x: &[usize],
    q: usize,
    cap: usize,
) -> Vec<usize> {
    let mut y = vec![0; x.len()];
    for t in 0..x.len() {
        let sequence = layout.sequence(x, &y, cap, model.shape.separator());
        let logits = model.forward(&sequence).logits;
        let row = &logits.row(t)[..q];
        y[t] = (0..q).fold(0, |best, a| if row[a] > row[best] { a } else { best });
    }
    y
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// a W, the columns of W following from its size.
fn times(a: &Matrix, w: &[f64]) -> Matrix {
    let columns = w.len() / a.columns;
    let mut out = Matrix::zeros(a.rows, columns);
    for i in 0..a.rows {
        for (k, &value) in a.row(i).iter().enumerate() {
            let from = &w[k * columns..][..columns];
            for (to, w) in out.row_mut(i).iter_mut().zip(from) {
                *to += value * w;
            }
        }
    }
    out
}

/// a W^T.
fn times_transposed(a: &Matrix, w: &[f64]) -> Matrix {
    let columns = w.len() / a.columns;
    let mut out = Matrix::zeros(a.rows, columns);
    for i in 0..a.rows {
        for (j, to) in out.row_mut(i).iter_mut().enumerate() {
            *to = dot(a.row(i), &w[j * a.columns..][..a.columns]);
        }
    }
    out
}

/// w += a^T b.
fn add_outer(w: &mut [f64], a: &Matrix, b: &Matrix) {
    for i in 0..a.rows {
        for (k, &value) in a.row(i).iter().enumerate() {
            let to = &mut w[k * b.columns..][..b.columns];
            for (to, b) in to.iter_mut().zip(b.row(i)) {
                *to += value * b;
            }
        }
    }
}

/// u times the probability that a standard normal number is below u.
pub fn gelu(u: f64) -> f64 {
    u * below(u)
}

/// The derivative of [`gelu`].
pub fn gelu_slope(u: f64) -> f64 {
    let density = (-0.5 * u * u).exp() / std::f64::consts::TAU.sqrt();
    below(u) + u * density
}

/// The normal distribution function, by the series of Marsaglia: 1/2 + phi(u) (u + u^3/3 +
/// u^5/(3*5) + ..), every term of one sign.
fn below(u: f64) -> f64 {
    if u.abs() > 9.0 {
        return if u > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum, mut n) = (u, u, 1.0);
    while term.abs() > 1e-18 * sum.abs() {
        n += 2.0;
        term *= u * u / n;
        sum += term;
    }
    0.5 + sum * (-0.5 * u * u).exp() / std::f64::consts::TAU.sqrt()
}
