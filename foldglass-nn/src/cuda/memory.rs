//! Lays a fleet out in a device's memory.

use super::device::{Address, Device};
use super::source::{ATTENTION_PARTS, FEATURE_PARTS, HEAD_PARTS, LESSON, Sizes, WEIGHTED_PARTS};
use crate::backend::BackendError;
use crate::backend::Precision;
use foldglass::support::memory::Bytes;

/// `Fleet` of common.cu: the same fields in the same order, each an address.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    pub seeds: Address,
    pub q: Address,
    pub square: Address,
    pub entropy: Address,
    pub rate: Address,
    pub choices: Address,
    pub choice_ends: Address,
    pub symbol_ends: Address,
    pub order: Address,
    pub turns: Address,
    pub weights: Address,
    pub mean: Address,
    pub second: Address,
    pub gradient: Address,
    pub gathered: Address,
    pub updates: Address,
    pub gathered_batches: Address,
    pub gathered_right: Address,
    pub samples: Address,
    pub lengths: Address,
    pub x: Address,
    pub y: Address,
    pub target: Address,
    pub starts: Address,
    pub advantage: Address,
    pub share: Address,
    pub token_weights: Address,
    pub old: Address,
    pub prior_policy: Address,
    pub record: Address,
    pub norm_parts: Address,
    pub adam: Address,
    pub right: Address,
    pub lesson_steps: Address,
    pub lesson_actions: Address,
    pub normed: Address,
    pub scale1: Address,
    pub qkv: Address,
    pub scores: Address,
    pub powers: Address,
    pub stream: Address,
    pub centred: Address,
    pub weighted: Address,
    pub up: Address,
    pub gram: Address,
    pub logit: Address,
    pub logit_sum: Address,
    pub down_tiles: Address,
    pub up_tiles: Address,
    pub stream_tiles: Address,
    pub logit_tiles: Address,
    pub features: Address,
    pub shares: Address,
    pub scale2: Address,
    pub scale3: Address,
    pub out: Address,
    pub policy: Address,
    pub d_logits: Address,
    pub d_out: Address,
    pub d_features: Address,
    pub d_attention: Address,
    pub joint: Address,
    pub hidden: Address,
    pub slope: Address,
    pub d_up: Address,
    pub d_stream_parts: Address,
    pub square_parts: Address,
    pub d_scores_parts: Address,
    pub head_parts: Address,
    pub d_weighted_parts: Address,
    pub d_weighted: Address,
    pub d_stream: Address,
    pub d_qkv: Address,
    pub d_normed: Address,
}

/// `Call` of common.cu: what one launch is about.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Call {
    pub t: i32,
    pub mode: i32,
    pub step: u32,
    pub purpose: u32,
    pub samples: i32,
    pub group: i32,
    pub drawn_once: i32,
    pub method: i32,
    pub form: i32,
    pub relabelling: i32,
    pub fraction: f32,
    pub exploration: f32,
    pub clip: f32,
    pub kl: f32,
    pub adaptive_right: i32,
    pub adaptive_most: i32,
    pub baseline: i32,
    pub standardise: i32,
    pub decay: i32,
    pub decay_past: f32,
    pub decay_to: f32,
    pub clip_norm: f32,
    pub measure: i32,
    pub adam_epsilon: f32,
    pub actions: i32,
    pub write_only: i32,
    pub m: i32,
    pub n: i32,
    pub k: i32,
    pub ragged: i32,
    pub accumulate: i32,
    pub a: Address,
    pub b: Address,
    pub c: Address,
    pub beta1: f64,
    pub beta2: f64,
    pub rate_share: f64,
    pub weight_decay: f64,
    pub a_model: i64,
    pub b_model: i64,
    pub c_model: i64,
    pub a_m: i32,
    pub a_k: i32,
    pub b_k: i32,
    pub b_n: i32,
    pub c_m: i32,
}

/// What a fleet may leave out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// The law of inputs that are not uniform.
    pub law: bool,
    /// Gradients gathered over batches.
    pub gathered: bool,
    /// Probabilities at the draw.
    pub old: bool,
    /// A network to which models are held.
    pub prior: bool,
}

/// Numbers of a model's record, as common.cu lists them.
pub(super) const RECORD: usize = 5;

impl Memory {
    /// Takes memory for `models` models, in one piece: theirs, and the same with what a pass of the prior
    /// reads and writes in place of theirs.
    pub fn allocate(
        sizes: &Sizes,
        models: usize,
        options: Options,
        device: &mut dyn Device,
    ) -> Result<(Memory, Memory), BackendError> {
        let mut measured = 0;
        Memory::place(sizes, models, options, &mut measured, 0);
        let mut one = 0;
        Memory::place(sizes, 1, options, &mut one, 0);
        // A little is left for the driver's own needs.
        let free = device.free()?.saturating_sub(1 << 28);
        if measured > free {
            return Err(BackendError::Memory {
                needed: Bytes::of(measured as u128),
                free: Bytes::of(free as u128),
                models,
                fitting: free / one,
            });
        }
        let start = device.allocate(measured)?;
        let mut end = 0;
        Ok(Memory::place(sizes, models, options, &mut end, start))
    }

    fn place(
        sizes: &Sizes,
        r: usize,
        options: Options,
        end: &mut usize,
        base: u64,
    ) -> (Memory, Memory) {
        let mut take = |bytes: usize| {
            let at = base + *end as u64;
            *end += bytes.next_multiple_of(1024);
            at
        };
        let mut memory = Memory::default();
        memory.place_training(sizes, r, options, &mut take);
        memory.place_pass(sizes, r, &mut take);
        let mut prior = memory;
        if options.prior {
            prior.place_pass(sizes, r, &mut take);
            memory.prior_policy = prior.policy;
        }
        (memory, prior)
    }

    /// Places what a pass forward reads of a network and writes: its weights, tables and activations.
    fn place_pass(&mut self, sizes: &Sizes, r: usize, take: &mut impl FnMut(usize) -> Address) {
        let shape = &sizes.shape;
        let (d, f, v, h) = (shape.width, shape.mlp, shape.vocabulary, shape.heads);
        let (k, p) = (shape.features(), shape.parameters());
        let (nt, (_, nd)) = (sizes.tokens(), sizes.distances());
        let single = sizes.precision == Precision::Tf32;
        let half = !single;
        // Bytes of an activation.
        let width = if single { 4 } else { 2 };
        let mut optional = |wanted: bool, bytes: usize| if wanted { take(bytes) } else { 0 };
        let mut take = |bytes: usize| optional(true, bytes);
        *self = Memory {
            weights: take(4 * r * p),
            normed: take(4 * r * v * d),
            scale1: take(4 * r * v),
            qkv: take(12 * r * v * d),
            scores: take(4 * r * h * v * v * nd),
            powers: take(4 * r * h * v * v * nd),
            stream: take(4 * r * k * d),
            centred: take(4 * r * k * d),
            weighted: take(4 * r * k * d),
            gram: take(4 * r * k * k),
            logit: take(4 * r * v * d),
            logit_sum: take(4 * r * v),
            features: take(r * nt * if single { 4 * k } else { 128 }),
            shares: take(4 * r * nt * h),
            scale2: take(4 * r * nt),
            scale3: take(4 * r * nt),
            out: take(width * r * nt * d),
            policy: take(4 * r * nt * v),
            ..*self
        };
        self.up = optional(single, 4 * r * k * f);
        self.joint = optional(single, 4 * r * nt * (f + d));
        self.hidden = optional(single, 4 * r * nt * f);
        self.slope = optional(single, 4 * r * nt * f);
        self.down_tiles = optional(half, 2 * r * f * d);
        self.up_tiles = optional(half, 2 * r * f * 64);
        self.stream_tiles = optional(half, 2 * r * d * 64);
        self.logit_tiles = optional(half, 2 * r * d * 8);
    }

    /// Places everything else: tasks, batches, gradients, Adam's means.
    fn place_training(
        &mut self,
        sizes: &Sizes,
        r: usize,
        options: Options,
        take: &mut impl FnMut(usize) -> Address,
    ) {
        let shape = &sizes.shape;
        let (d, f, v, h) = (shape.width, shape.mlp, shape.vocabulary, shape.heads);
        let (k, p) = (shape.features(), shape.parameters());
        let (s, nt, xs) = (sizes.samples, sizes.tokens(), sizes.input_stride());
        let (_, nd) = sizes.distances();
        let single = sizes.precision == Precision::Tf32;
        // Bytes of an activation.
        let width = if single { 4 } else { 2 };
        let mut optional = |wanted: bool, bytes: usize| if wanted { take(bytes) } else { 0 };
        let mut take = |bytes: usize| optional(true, bytes);
        *self = Memory {
            seeds: take(8 * r),
            q: take(4 * r),
            square: take(r * v * v),
            entropy: take(4 * r),
            rate: take(4 * r),
            choices: take(4 * r * (sizes.cap + 1)),
            choice_ends: take(8 * r * (sizes.cap + 1)),
            order: take(4 * r),
            turns: take(8 * nd * shape.head_width() / 2),
            mean: take(4 * r * p),
            second: take(4 * r * p),
            gradient: take(4 * r * p),
            updates: take(4 * r),
            gathered_batches: take(4 * r),
            gathered_right: take(4 * r),
            samples: take(4 * r),
            lengths: take(4 * r * s),
            x: take(r * s * xs),
            y: take(r * s * xs),
            target: take(r * s),
            starts: take(4 * r * (sizes.cap + 1)),
            advantage: take(4 * r * s),
            share: take(4 * r * s),
            record: take(4 * r * RECORD),
            norm_parts: take(4 * r * sizes.adam_blocks()),
            adam: take(24 * r),
            right: take(4 * r),
            lesson_steps: take(4 * r * (sizes.cap + 1) * sizes.cap * LESSON),
            d_logits: take(4 * r * nt * v),
            d_out: take(width * r * nt * d),
            d_features: take(r * nt * k * if single { 8 } else { 2 * (f / 64 + 1) }),
            d_attention: take(4 * r * nt * h * v),
            d_up: take(4 * r * f * k),
            d_stream_parts: take(4 * r * sizes.stream_parts() * k * d),
            square_parts: take(4 * r * FEATURE_PARTS * k * k),
            d_scores_parts: take(4 * r * ATTENTION_PARTS * h * v * v * nd),
            head_parts: take(4 * r * HEAD_PARTS * d * v),
            d_weighted_parts: take(4 * r * WEIGHTED_PARTS * k * d),
            d_weighted: take(4 * r * k * d),
            d_stream: take(4 * r * k * d),
            d_qkv: take(12 * r * v * d),
            d_normed: take(4 * r * v * d),
            ..*self
        };
        self.symbol_ends = optional(options.law, 8 * r * sizes.cap * v * v);
        self.gathered = optional(options.gathered, 4 * r * p);
        self.old = optional(options.old, 4 * r * nt);
    }
}
