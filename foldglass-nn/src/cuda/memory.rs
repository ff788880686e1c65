//! Lays a fleet out in a device's memory.

use super::device::{Address, Device};
use super::source::{ATTENTION_PARTS, FEATURE_PARTS, HEAD_PARTS, LESSON, Sizes, WEIGHTED_PARTS};
use crate::backend::BackendError;
use crate::backend::Precision;
use foldglass::support::memory::Bytes;

/// A structure that Rust and CUDA C share, from one list of fields: name, type here, type there.
macro_rules! shared_structure {
    ($(#[$about:meta])* $name:ident, $there:literal {
        $($(#[$of:meta])* $field:ident: $type:ty = $c:literal,)*
    }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, Default)]
        pub(super) struct $name {
            $($(#[$of])* pub $field: $type,)*
        }

        impl $name {
            /// The same structure in CUDA C.
            pub fn source() -> String {
                $(const _: () = assert!(size_of::<$type>() == size_in_c($c));)*
                concat!("struct ", $there, " {\n", $($c, " ", stringify!($field), ";\n",)* "};\n").to_owned()
            }
        }
    };
}

/// Bytes of a type of CUDA C.
const fn size_in_c(name: &str) -> usize {
    let bytes = name.as_bytes();
    match bytes {
        [.., b'*'] | b"double" | b"long long" => 8,
        b"int" | b"u32" | b"float" => 4,
        _ => panic!("a type that no field has yet"),
    }
}

shared_structure! {
    /// Everything a kernel may read or write (`Fleet` in CUDA), each an address. Letters as in common.cu.
    Memory, "Fleet" {
        seeds: Address = "const u64 *",
        q: Address = "const int *",
        /// [R][V][V]
        square: Address = "const u8 *",
        /// [R]
        entropy: Address = "const float *",
        rate: Address = "const float *",
        /// [R][CAP + 1]: how many lengths, and which
        choices: Address = "const int *",
        /// [R][CAP + 1]: how many ends, 0 for equal parts, and the ends (law.rs)
        choice_ends: Address = "const u64 *",
        /// [R][CAP][V][V]: by position and symbol before; or none, for equal parts
        symbol_ends: Address = "const u64 *",
        /// [R]: the models with most work first
        order: Address = "const int *",
        /// [ND][W / 2]: sine and cosine
        turns: Address = "const float2 *",
        /// [R][P]
        weights: Address = "float *",
        mean: Address = "float *",
        second: Address = "float *",
        gradient: Address = "float *",
        gathered: Address = "float *",
        /// [R]
        updates: Address = "int *",
        gathered_batches: Address = "int *",
        gathered_right: Address = "int *",
        /// [R]: samples of the batch at hand
        samples: Address = "int *",
        /// [R][S], the longest first
        lengths: Address = "int *",
        /// [R][S][XS]
        x: Address = "u8 *",
        y: Address = "u8 *",
        /// [R][S]
        target: Address = "u8 *",
        /// [R][CAP + 1]: tokens of the steps up to t
        starts: Address = "int *",
        /// [R][S]: what multiplies log pi and the entropy
        advantage: Address = "float *",
        share: Address = "float *",
        /// [R][NT][3]: of log pi, entropy and divergence, or none
        token_weights: Address = "float *",
        /// [R][NT]: probabilities at the draw, or none
        old: Address = "float *",
        /// [R][NT][V]: of the network to which models are held, or none
        prior_policy: Address = "const float *",
        /// [R][RECORD]
        record: Address = "float *",
        /// [R][NORM_PARTS]
        norm_parts: Address = "float *",
        /// [R][ADAM]
        adam: Address = "float *",
        /// [R]
        right: Address = "int *",
        /// [R][CAP + 1][CAP][LESSON]: before, after, tokens, first, histories
        lesson_steps: Address = "const int *",
        /// [R][actions]
        lesson_actions: Address = "const u8 *",
        // Tables.
        /// [R][V][D]
        normed: Address = "float *",
        /// [R][V]
        scale1: Address = "float *",
        /// [R][3][V][D]
        qkv: Address = "float *",
        /// [R][H][V][V][ND]: relative to the largest, and e to that
        scores: Address = "float *",
        powers: Address = "float *",
        /// [R][K][D]
        stream: Address = "float *",
        centred: Address = "float *",
        weighted: Address = "float *",
        /// [R][K][FF] (single precision)
        up: Address = "float *",
        /// [R][K][K]
        gram: Address = "float *",
        /// [R][V][D]: last norm times head, transposed
        logit: Address = "float *",
        /// [R][V]
        logit_sum: Address = "float *",
        /// [R][FF/64][D/64][64][64], tiles as in hopper.cu
        down_tiles: Address = "u16 *",
        /// [R][FF/64][TILES][64][64]: hidden units by features
        up_tiles: Address = "u16 *",
        /// [R][TILES][D/64][64][64]: features by width
        stream_tiles: Address = "u16 *",
        /// [R][D/64][V][64]
        logit_tiles: Address = "u16 *",
        // Activations.
        /// [R][NT/64][TILES][64][64] bf16 in tiles, or [R][NT][K]
        features: Address = "void *",
        /// [R][NT][H]: one over the sum of powers, or less than 0 (attend)
        shares: Address = "float *",
        /// [R][NT]
        scale2: Address = "float *",
        scale3: Address = "float *",
        /// [R][NT][D], bf16 or single
        out: Address = "void *",
        /// [R][NT][V]
        policy: Address = "float *",
        /// [R][NT][V], times scale3
        d_logits: Address = "float *",
        /// [R][NT][D], bf16 in tiles or single
        d_out: Address = "void *",
        /// [R][SHARES + 1][NT][K] bf16, or [R][2][NT][K]
        d_features: Address = "void *",
        /// [R][NT/64][FF/64][64][64]: hidden units by rows; none where the backward pass is fused
        d_hidden: Address = "u16 *",
        /// [R][NT][H][V]
        d_attention: Address = "float *",
        /// single precision: [R][NT][FF + D], [R][NT][FF] twice
        joint: Address = "float *",
        hidden: Address = "float *",
        slope: Address = "float *",
        // Gradients in the tables.
        /// [R][UP_PARTS][FF][K]
        d_up: Address = "float *",
        /// [R][STREAM_PARTS][K][D]
        d_stream_parts: Address = "float *",
        /// [R][FEATURE_PARTS][K][K]
        square_parts: Address = "float *",
        /// [R][ATTENTION_PARTS][H][V][V][ND]
        d_scores_parts: Address = "float *",
        /// [R][HEAD_PARTS][D][V]
        head_parts: Address = "float *",
        /// [R][WEIGHTED_PARTS][K][D]
        d_weighted_parts: Address = "float *",
        /// [R][K][D]
        d_weighted: Address = "float *",
        d_stream: Address = "float *",
        /// [R][3][V][D]
        d_qkv: Address = "float *",
        /// [R][V][D]
        d_normed: Address = "float *",
    }
}

shared_structure! {
    /// What one launch is about.
    Call, "Call" {
        /// the step, from 1; 0 for all tokens at once
        t: i32 = "int",
        /// how tokens are chosen: 0 drawn, 1 likeliest, 2 as they are
        mode: i32 = "int",
        step: u32 = "u32",
        purpose: u32 = "u32",
        samples: i32 = "int",
        group: i32 = "int",
        drawn_once: i32 = "int",
        /// 0 reinforce, 1 grpo, 2 expert, 3 imitation
        method: i32 = "int",
        /// of the entropy: 0 token mean, 1 sequence mean, 2 summed, 3 return
        form: i32 = "int",
        /// 0 none, 1 transposition, 2 full
        relabelling: i32 = "int",
        fraction: f32 = "float",
        exploration: f32 = "float",
        clip: f32 = "float",
        /// what multiplies the divergence from the prior, or 0
        kl: f32 = "float",
        /// most 0: no gathering
        adaptive_right: i32 = "int",
        adaptive_most: i32 = "int",
        /// of reinforce: 0 the batch's mean, 1 that of the samples of equal length
        baseline: i32 = "int",
        /// whether reinforce divides advantages by their deviation
        standardise: i32 = "int",
        /// of the coefficient: 0 none, 1 linear, 2 geometric
        decay: i32 = "int",
        /// the share of the way made, and where it leads
        decay_past: f32 = "float",
        decay_to: f32 = "float",
        /// the largest norm of a gradient, or 0
        clip_norm: f32 = "float",
        /// the gradient's norm is taken for clipping, nothing is updated
        measure: i32 = "int",
        adam_epsilon: f32 = "float",
        /// bytes between two models' lessons
        actions: i32 = "int",
        /// gradients are written down, nothing is updated
        write_only: i32 = "int",
        // A product of matrices, C = A B.
        m: i32 = "int",
        n: i32 = "int",
        k: i32 = "int",
        ragged: i32 = "int",
        accumulate: i32 = "int",
        a: Address = "const float *",
        b: Address = "const float *",
        c: Address = "float *",
        beta1: f64 = "double",
        beta2: f64 = "double",
        /// of the rate that the step has; AdamW's
        rate_share: f64 = "double",
        weight_decay: f64 = "double",
        a_model: i64 = "long long",
        b_model: i64 = "long long",
        c_model: i64 = "long long",
        a_m: i32 = "int",
        a_k: i32 = "int",
        b_k: i32 = "int",
        b_n: i32 = "int",
        c_m: i32 = "int",
    }
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
        let tiles = sizes.feature_tiles();
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
            features: take(r * nt * if single { 4 * k } else { 128 * tiles }),
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
        self.up_tiles = optional(half, 2 * r * f * 64 * tiles);
        self.stream_tiles = optional(half, 2 * r * d * 64 * tiles);
        self.logit_tiles = optional(half, 2 * r * d * v);
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
            d_features: take(
                r * nt
                    * k
                    * if single {
                        8
                    } else {
                        2 * (sizes.feature_shares() + 1)
                    },
            ),
            d_attention: take(4 * r * nt * h * v),
            d_up: take(4 * r * sizes.up_parts() * f * k),
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
        self.d_hidden = optional(!single && !sizes.fused(), 2 * r * nt * f);
    }
}
