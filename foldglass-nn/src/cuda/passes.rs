//! Launches the kernels of one pass: tables, forward, backward.

use super::device::Address;
use super::memory::Call;
use super::source::{ATTENTION_PARTS, FEATURE_PARTS, HEAD_PARTS, WEIGHTED_PARTS};
use super::{Choice, Cuda};
use crate::backend::BackendError;
use crate::backend::Precision;

impl Cuda {
    /// Computes all tables from the weights.
    pub(super) fn tables(&mut self, call: &Call) -> Result<(), BackendError> {
        let shape = self.sizes.shape;
        let (d, f, v, h) = (shape.width, shape.mlp, shape.vocabulary, shape.heads);
        let (k, r) = (shape.features(), self.models);
        let rows = 4 * k * d;
        if self.stale && self.sizes.precision == Precision::Bf16 {
            self.launch("table_down", (64, r, 1), 256, 0, call)?;
        }
        self.stale = false;
        self.launch("table_normed", (v, r, 1), 128, 0, call)?;
        self.launch("table_qkv", (d / 64, 3 * v / 8, r), 256, 0, call)?;
        let table = 4 * 8 * v * self.sizes.distances().1;
        self.launch("table_scores", (h, r, v / 8), 256, table, call)?;
        self.launch("table_stream", (d / 64, h, r), 256, 0, call)?;
        self.launch("table_rows", (k / v, r, 1), 256, rows, call)?;
        self.launch("table_up", (f / 128, r, 1), 256, rows, call)
    }

    /// Computes the policies of step `call.t` and chooses its tokens; of all tokens for t = 0.
    /// `rows` bounds the rows of a model.
    pub(super) fn forward(&mut self, call: &Call, rows: usize) -> Result<(), BackendError> {
        let (h, r) = (self.sizes.shape.heads, self.models);
        self.launch("attend", ((rows * h).div_ceil(256), r, 1), 256, 0, call)?;
        match self.sizes.precision {
            Precision::Bf16 => {
                let shared = self.sizes.forward_shared().bytes;
                let grid = (rows.div_ceil(128), r, 1);
                self.launch("hopper_forward", grid, 256, shared, call)
            }
            Precision::Tf32 => self.forward_single(call, rows),
        }
    }

    /// Computes the prior's policies of all tokens, where the settings have a prior.
    pub(super) fn follow_prior(&mut self, call: &Call, rows: usize) -> Result<(), BackendError> {
        if self.settings.prior.is_none() {
            return Ok(());
        }
        let call = &Call {
            t: 0,
            mode: Choice::Given as i32,
            ..*call
        };
        std::mem::swap(&mut self.memory, &mut self.prior);
        let done = self.pass_of_prior(call, rows);
        std::mem::swap(&mut self.memory, &mut self.prior);
        done
    }

    /// The pass itself; the prior's memory is in place of the models'.
    fn pass_of_prior(&mut self, call: &Call, rows: usize) -> Result<(), BackendError> {
        if !self.priors.made {
            let stale = std::mem::replace(&mut self.stale, true);
            let made = self.tables(call);
            self.stale = stale;
            made?;
            self.priors.made = true;
        }
        self.forward(call, rows)
    }

    pub(super) fn forward_single(&mut self, call: &Call, rows: usize) -> Result<(), BackendError> {
        let shape = self.sizes.shape;
        let (d, f, k, nt) = (
            shape.width,
            shape.mlp,
            shape.features(),
            self.sizes.tokens(),
        );
        let memory = self.memory;
        let joint = f + d;
        let up = MatrixProduct {
            left: MatrixView::new(memory.features, nt * k, k, 1),
            right: MatrixView::new(memory.up, k * f, f, 1),
            to: MatrixView::new(memory.joint, nt * joint, joint, 1),
            sizes: (rows, f, k),
            ragged: Ragged::Rows,
            accumulate: false,
        };
        self.product(call, up)?;
        let stream = MatrixProduct {
            right: MatrixView::new(memory.stream, k * d, d, 1),
            to: MatrixView::new(memory.joint + 4 * f as u64, nt * joint, joint, 1),
            sizes: (rows, d, k),
            ..up
        };
        self.product(call, stream)?;
        let grid = (rows.div_ceil(8), self.models, 1);
        self.launch("activate_rows", grid, 256, 0, call)?;
        let down = MatrixProduct {
            left: MatrixView::new(memory.hidden, nt * f, f, 1),
            right: self.down(),
            to: MatrixView::new(memory.out, nt * d, d, 1),
            sizes: (rows, d, f),
            ragged: Ragged::Rows,
            accumulate: true,
        };
        self.product(call, down)?;
        self.launch("head_rows", grid, 256, 0, call)
    }

    /// The down-projection's weights.
    pub(super) fn down(&self) -> MatrixView {
        let shape = self.sizes.shape;
        let place = shape.places().blocks[0].down.start as u64;
        let at = self.memory.weights + 4 * place;
        MatrixView::new(at, shape.parameters(), shape.width, 1)
    }

    /// Gradients of all weights from the tokens' weights, and the update.
    pub(super) fn backward(&mut self, call: &Call) -> Result<(), BackendError> {
        let shape = self.sizes.shape;
        let (d, f, v, h) = (shape.width, shape.mlp, shape.vocabulary, shape.heads);
        let (k, r) = (shape.features(), self.models);
        let table = self.sizes.scores_table();
        self.launch("head_backward", (16, r, 1), 256, 4 * v * d, call)?;
        self.launch("head_product", (HEAD_PARTS, r, 1), d / 2, 0, call)?;
        match self.sizes.precision {
            Precision::Bf16 => {
                let shared = self.sizes.backward_shared().bytes;
                self.launch("hopper_backward", (f / 128, r, 1), 256, shared, call)?;
                let shared = self.sizes.stream_shared().bytes;
                let blocks = if self.sizes.fused() { 1 } else { 1 + f / 256 };
                let grid = (
                    self.sizes.stream_parts(),
                    r,
                    blocks * self.sizes.feature_tiles(),
                );
                self.launch("hopper_stream", grid, 128, shared, call)?;
            }
            Precision::Tf32 => self.backward_single(call)?,
        }
        let shared = 4 * 3 * 64 * (k + 4);
        let grid = (FEATURE_PARTS, r, v / 8);
        self.launch("features_backward", grid, 256, shared, call)?;
        let share = self.sizes.attention();
        let grid = (ATTENTION_PARTS, h / share.heads, r);
        let shared = share.shared();
        self.launch("attention_backward", grid, 32 * share.warps, shared, call)?;
        self.launch("scores_backward", (h, r, 1), 256, table, call)?;
        self.launch(
            "weighted_backward",
            (d / 64, WEIGHTED_PARTS, r),
            128,
            0,
            call,
        )?;
        self.launch("stream_total", (k / 8, r, 1), 256, 0, call)?;
        self.launch("value_backward", (4 * h, r, 1), 256, 0, call)?;
        let shared = 12 * v * d;
        self.launch("normed_backward", (d / 16, r, 1), 256, shared, call)?;
        self.launch("small_backward", (r, 1, 1), 256, 0, call)?;
        if call.clip_norm > 0.0 && call.write_only == 0 {
            self.update(&Call {
                measure: 1,
                ..*call
            })?;
        }
        self.update(call)
    }

    /// Updates all weights, or measures the gradient's norm.
    fn update(&mut self, call: &Call) -> Result<(), BackendError> {
        let (blocks, r) = (self.sizes.adam_blocks(), self.models);
        let n = blocks as i32;
        self.launch("adam", (blocks, r, 1), 256, 0, call)?;
        self.launch("gradient_norm", (r, 1, 1), 256, 0, &Call { n, ..*call })
    }

    pub(super) fn backward_single(&mut self, call: &Call) -> Result<(), BackendError> {
        let shape = self.sizes.shape;
        let (d, f, k, nt) = (
            shape.width,
            shape.mlp,
            shape.features(),
            self.sizes.tokens(),
        );
        let memory = self.memory;
        let joint = f + d;
        let call = &Call { t: 0, ..*call };
        let rows = nt;
        let d_out = MatrixView::new(memory.d_out, nt * d, d, 1);
        let d_up = MatrixView::new(memory.joint, nt * joint, joint, 1);
        let features = MatrixView::new(memory.features, nt * k, k, 1);
        let by_rows = |left, right, to, columns, inner| MatrixProduct {
            left,
            right,
            to,
            sizes: (rows, columns, inner),
            ragged: Ragged::Rows,
            accumulate: false,
        };
        let over_rows = |left: MatrixView, right, to, m, n| MatrixProduct {
            left: left.transposed(),
            right,
            to,
            sizes: (m, n, rows),
            ragged: Ragged::Inner,
            accumulate: false,
        };
        self.product(call, by_rows(d_out, self.down().transposed(), d_up, f, d))?;
        self.launch("slope_rows", (256, self.models, 1), 256, 0, call)?;
        let place = shape.places().blocks[0].down.start as u64;
        let to = MatrixView::new(memory.gradient + 4 * place, shape.parameters(), d, 1);
        let hidden = MatrixView::new(memory.hidden, nt * f, f, 1);
        self.product(call, over_rows(hidden, d_out, to, f, d))?;
        let to = MatrixView::new(memory.d_up, f * k, k, 1);
        self.product(call, over_rows(d_up, features, to, f, k))?;
        let to = MatrixView::new(memory.d_stream_parts, k * d, d, 1);
        self.product(call, over_rows(features, d_out, to, k, d))?;
        let up = MatrixView::new(memory.up, k * f, f, 1).transposed();
        let to = MatrixView::new(memory.d_features, 2 * nt * k, k, 1);
        self.product(call, by_rows(d_up, up, to, k, f))?;
        let stream = MatrixView::new(memory.stream, k * d, d, 1).transposed();
        let direct = memory.d_features + 4 * (nt * k) as u64;
        let to = MatrixView::new(direct, 2 * nt * k, k, 1);
        self.product(call, by_rows(d_out, stream, to, k, d))
    }

    pub(super) fn product(
        &mut self,
        call: &Call,
        product: MatrixProduct,
    ) -> Result<(), BackendError> {
        let (m, n, k) = product.sizes;
        let call = Call {
            m: m as i32,
            n: n as i32,
            k: k as i32,
            ragged: product.ragged as i32,
            accumulate: product.accumulate.into(),
            a: product.left.at,
            b: product.right.at,
            c: product.to.at,
            a_model: product.left.model as i64,
            b_model: product.right.model as i64,
            c_model: product.to.model as i64,
            a_m: product.left.row as i32,
            a_k: product.left.column as i32,
            b_k: product.right.row as i32,
            b_n: product.right.column as i32,
            c_m: product.to.row as i32,
            ..*call
        };
        let grid = (n.div_ceil(64), m.div_ceil(64), self.models);
        self.launch("product", grid, 128, 0, &call)
    }
}

/// A matrix of every model: where the first starts, and how far it is to the next model, row and
/// column.
#[derive(Clone, Copy)]
pub(super) struct MatrixView {
    at: Address,
    model: usize,
    row: usize,
    column: usize,
}

impl MatrixView {
    fn new(at: Address, model: usize, row: usize, column: usize) -> MatrixView {
        MatrixView {
            at,
            model,
            row,
            column,
        }
    }

    fn transposed(self) -> MatrixView {
        MatrixView {
            row: self.column,
            column: self.row,
            ..self
        }
    }
}

/// Which index of a product runs over a model's tokens (`Call::ragged`).
#[derive(Clone, Copy)]
pub(super) enum Ragged {
    Rows = 1,
    Inner = 2,
}

/// `to = left right`.
#[derive(Clone, Copy)]
pub(super) struct MatrixProduct {
    left: MatrixView,
    right: MatrixView,
    to: MatrixView,
    /// Rows, columns, inner; a bound where an index runs over tokens.
    sizes: (usize, usize, usize),
    ragged: Ragged,
    accumulate: bool,
}
