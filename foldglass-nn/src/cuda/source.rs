//! Writes the CUDA source of a fleet: sizes as constants, then the kernels.

use super::memory::{Call, Memory};
use crate::backend::Precision;
use crate::layout::{Layout, Query};
use crate::shape::{NetworkShape, Norm};
use std::fmt::Write;

/// The sizes that the kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub shape: NetworkShape,
    pub layout: Layout,
    pub cap: usize,
    /// Samples a model may have at once.
    pub samples: usize,
    /// The most symbols of a model's task.
    pub symbols: usize,
    pub precision: Precision,
}

/// Parts into which sums over rows are cut; each part is added up by one block, in order.
pub(super) const HEAD_PARTS: usize = 8;
pub(super) const FEATURE_PARTS: usize = 6;
pub(super) const ATTENTION_PARTS: usize = 4;
pub(super) const WEIGHTED_PARTS: usize = 4;

/// Numbers that say where a step of a lesson finds its cell.
pub(super) const LESSON: usize = 5;

impl Sizes {
    /// Distances that scores are kept for: the least, and how many.
    pub fn distances(&self) -> (i32, usize) {
        let (least, largest) = self.layout.distances(self.cap);
        (least, (largest - least + 1) as usize)
    }

    /// Tokens a model may have at once, in whole tiles.
    pub fn tokens(&self) -> usize {
        (self.samples * self.cap).next_multiple_of(128)
    }

    /// Bytes between the inputs of two samples.
    pub fn input_stride(&self) -> usize {
        self.cap.next_multiple_of(32)
    }

    /// Tiles of 64 that a token's features take in bf16.
    pub fn feature_tiles(&self) -> usize {
        self.shape.features().div_ceil(64)
    }

    /// Whether the backward pass of the MLP computes everything in one kernel (hopper.cu).
    pub fn fused(&self) -> bool {
        self.feature_tiles() == 1
    }

    /// Parts in which what the MLP returns to the features is written in bf16.
    pub fn feature_shares(&self) -> usize {
        self.shape.mlp / if self.fused() { 64 } else { 256 }
    }

    /// Parts in which the gradient of the up-projection's table is written.
    pub fn up_parts(&self) -> usize {
        match self.precision {
            Precision::Bf16 if !self.fused() => self.stream_parts(),
            _ => 1,
        }
    }

    pub fn stream_parts(&self) -> usize {
        match self.precision {
            Precision::Bf16 => 4,
            Precision::Tf32 => 1,
        }
    }

    /// Blocks of the update of one model.
    pub fn adam_blocks(&self) -> usize {
        let (d, f, v) = (self.shape.width, self.shape.mlp, self.shape.vocabulary);
        let small = 2 * v * d + 3 * d;
        d / 64 * (f / 64) + 4 * (d / 64) * (d / 64) + f * d / 4096 + small.div_ceil(4096)
    }

    /// How the attention's backward pass shares its work: as many heads at once as a warp has lanes for and
    /// leave room for some warps.
    pub fn attention(&self) -> AttentionShare {
        let used = self.symbols + 1;
        let table = 4 * used * used * self.distances().1;
        let share = |heads: usize| AttentionShare {
            heads,
            warps: (224 * 1024 / (heads * table)).saturating_sub(1).min(8),
            table,
        };
        let fits = |s: &AttentionShare| s.warps >= 4 && s.heads * self.shape.vocabulary <= 32;
        let roomy = [4, 2].map(share).into_iter().find(fits);
        roomy.unwrap_or_else(|| share(1))
    }

    /// Bytes of a head's scores, of every pair of tokens at every distance.
    pub fn scores_table(&self) -> usize {
        4 * self.shape.vocabulary.pow(2) * self.distances().1
    }

    /// Bytes that the scores' backward pass has in shared memory: the table, queries and keys.
    pub fn scores_shared(&self) -> usize {
        self.scores_table() + 8 * self.shape.vocabulary * self.shape.head_width()
    }

    /// Whether an input and a token can stand at one distance from a step.
    fn keys_collide(&self) -> bool {
        (1..=self.cap).any(|length| {
            let lines = self.layout.geometry(length, self.cap);
            (1..=length).any(|t| {
                let inputs = 1..=lines.inputs_seen(length, t);
                inputs
                    .map(|j| lines.x(j))
                    .any(|x| (lines.first_y..t).any(|s| lines.y(s) == x))
            })
        })
    }

    fn defines(&self) -> String {
        let shape = &self.shape;
        let places = shape.places();
        let block = &places.blocks[0];
        let (least, distances) = self.distances();
        // Two lengths tell whether the separator's position moves with the length.
        let lines = self.layout.geometry(1, self.cap.max(2));
        let moves = self.layout.geometry(2, self.cap.max(2)).y_start != lines.y_start;
        let y_start = self.layout.geometry(1, self.cap).y_start;
        let features = shape.features();
        let numbers: &[(&str, i64)] = &[
            ("V", shape.vocabulary as i64),
            ("H", shape.heads as i64),
            ("D", shape.width as i64),
            ("FF", shape.mlp as i64),
            ("K", features as i64),
            ("W", shape.head_width() as i64),
            ("P", shape.parameters() as i64),
            ("LAYER", (shape.norm == Norm::Layer).into()),
            ("BF16", (self.precision == Precision::Bf16).into()),
            ("ND", distances as i64),
            ("LEAST", least.into()),
            ("CAP", self.cap as i64),
            ("S", self.samples as i64),
            ("NT", self.tokens() as i64),
            ("XS", self.input_stride() as i64),
            ("X_START", lines.x_start.into()),
            ("X_STEP", lines.x_step.into()),
            ("Y_START", y_start.into()),
            ("Y_STEP", lines.y_step.into()),
            ("Y_IS_LENGTH", moves.into()),
            ("FIRST_Y", lines.first_y as i64),
            ("QUERY_INPUT", (lines.query == Query::Input).into()),
            ("CAUSAL", lines.causal.into()),
            ("HEAD_PARTS", HEAD_PARTS as i64),
            ("FEATURE_PARTS", FEATURE_PARTS as i64),
            ("ATTENTION_PARTS", ATTENTION_PARTS as i64),
            ("ATTENTION_HEADS", self.attention().heads as i64),
            ("ATTENTION_WARPS", self.attention().warps as i64),
            ("USED", (self.symbols + 1) as i64),
            ("STREAM_PARTS", self.stream_parts() as i64),
            ("TILES", self.feature_tiles() as i64),
            ("SHARES", self.feature_shares() as i64),
            ("UP_PARTS", self.up_parts() as i64),
            ("WEIGHTED_PARTS", WEIGHTED_PARTS as i64),
            ("LESSON", LESSON as i64),
            ("COLLIDE", self.keys_collide().into()),
            ("O_EMBEDDING", places.embedding.start as i64),
            ("O_NORM1", block.norm1.start as i64),
            ("O_QUERY", block.query.start as i64),
            ("O_KEY", block.key.start as i64),
            ("O_VALUE", block.value.start as i64),
            ("O_OUTPUT", block.output.start as i64),
            ("O_NORM2", block.norm2.start as i64),
            ("O_UP", block.up.start as i64),
            ("O_DOWN", block.down.start as i64),
            ("O_NORM3", places.norm3.start as i64),
            ("O_HEAD", places.head.start as i64),
        ];
        let mut text: String = (numbers.iter())
            .map(|(name, value)| format!("#define {name} ({value})\n"))
            .collect();
        if self.precision == Precision::Bf16 {
            let layouts = [
                self.forward_shared(),
                self.backward_shared(),
                self.stream_shared(),
            ];
            for (name, value) in layouts.iter().flat_map(|layout| &layout.numbers) {
                _ = writeln!(text, "#define {name} {value}");
            }
            _ = writeln!(text, "#define FUSED {}", i32::from(self.fused()));
            _ = writeln!(text, "#define wgmma_logits wgmma_{}_rs_0", shape.vocabulary);
        }
        text
    }

    /// The whole source; `instructions` says how the matrix instructions are written.
    pub fn source(&self, instructions: Instructions) -> String {
        let mut text = self.defines();
        text += "typedef unsigned char u8;\ntypedef unsigned short u16;\ntypedef unsigned int u32;\n\
                 typedef unsigned long long u64;\n";
        text += &Memory::source();
        text += &Call::source();
        text += include_str!("kernels/common.cu");
        match instructions {
            Instructions::Ptx => text += include_str!("kernels/ptx.cu"),
            #[cfg(test)]
            Instructions::Emulated => text += include_str!("emulator/device.cpp"),
        }
        // Tiles and instructions come before what uses them; the first part ends with helpers that
        // need neither.
        if self.precision == Precision::Bf16 {
            let logits = product(self.shape.vocabulary, true, false, false);
            for product in PRODUCTS.iter().chain([&logits]) {
                text += &product.source(instructions);
            }
        }
        text += include_str!("kernels/tables.cu");
        text += include_str!("kernels/rollout.cu");
        text += include_str!("kernels/backward.cu");
        text += include_str!("kernels/weights.cu");
        text += match self.precision {
            Precision::Bf16 => include_str!("kernels/hopper.cu"),
            Precision::Tf32 => include_str!("kernels/single.cu"),
        };
        text
    }
}

/// How the attention's backward pass shares its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttentionShare {
    /// Heads of a block.
    pub heads: usize,
    /// Warps of a block, each with a table of every head.
    pub warps: usize,
    /// Bytes of a table.
    pub table: usize,
}

impl AttentionShare {
    /// Shared memory of a block: the scores, and a gradient for every warp.
    pub fn shared(&self) -> usize {
        (1 + self.warps) * self.heads * self.table
    }
}

/// How matrix instructions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instructions {
    /// For a GPU.
    Ptx,
    /// As functions of a test.
    #[cfg(test)]
    Emulated,
}

/// One form of wgmma: 64 rows by `columns`, 16 deep.
struct Product {
    columns: usize,
    left_in_registers: bool,
    /// Whether the inner index of the left and right operand runs from row to row.
    transposed: (bool, bool),
}

const fn product(columns: usize, left_in_registers: bool, left: bool, right: bool) -> Product {
    Product {
        columns,
        left_in_registers,
        transposed: (left, right),
    }
}

/// The forms that hopper.cu uses, besides that of the head.
const PRODUCTS: [Product; 9] = [
    product(256, false, false, true),
    product(256, true, false, true),
    product(256, false, true, true),
    product(64, false, false, false),
    product(48, true, false, true),
    product(48, false, true, true),
    product(48, false, false, false),
    product(64, false, true, true),
    product(256, false, true, false),
];

impl Product {
    fn source(&self, instructions: Instructions) -> String {
        let (n, sums) = (self.columns, self.columns / 2);
        let bit = |flag: bool| if flag { 1 } else { 0 };
        let (left, right) = (bit(self.transposed.0), bit(self.transposed.1));
        let (name, parameters) = if self.left_in_registers {
            let parameters = "u32 a0, u32 a1, u32 a2, u32 a3, u64 b";
            (format!("wgmma_{n}_rs_{right}"), parameters)
        } else {
            (format!("wgmma_{n}_ss_{left}{right}"), "u64 a, u64 b")
        };
        let mut text = format!(
            "__device__ __forceinline__ void {name}(float (&d)[{sums}], {parameters}, int add) {{\n"
        );
        match instructions {
            Instructions::Ptx => self.write_ptx(&mut text),
            #[cfg(test)]
            Instructions::Emulated if self.left_in_registers => {
                _ = writeln!(
                    text,
                    "emulated_rs<{n}>(d, a0, a1, a2, a3, b, {right}, add);"
                );
            }
            #[cfg(test)]
            Instructions::Emulated => {
                _ = writeln!(text, "emulated_ss<{n}>(d, a, b, {left}, {right}, add);");
            }
        }
        text + "}\n"
    }

    fn write_ptx(&self, text: &mut String) {
        let (n, sums) = (self.columns, self.columns / 2);
        let numbered = |range: std::ops::Range<usize>| {
            let list: Vec<String> = range.map(|i| format!("%{i}")).collect();
            list.join(",")
        };
        let bit = |flag: bool| if flag { 1 } else { 0 };
        let (left, inputs, flags) = if self.left_in_registers {
            let left = format!("{{{}}}", numbered(sums..sums + 4));
            let inputs = r#""r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"(add)"#;
            (left, inputs, format!("{}", bit(self.transposed.1)))
        } else {
            let flags = format!("{}, {}", bit(self.transposed.0), bit(self.transposed.1));
            (format!("%{sums}"), r#""l"(a), "l"(b), "r"(add)"#, flags)
        };
        let next = sums + if self.left_in_registers { 4 } else { 1 };
        let outputs: Vec<String> = (0..sums).map(|i| format!("\"+f\"(d[{i}])")).collect();
        _ = write!(
            text,
            "asm volatile(\"{{\\n.reg .pred add;\\nsetp.ne.b32 add, %{}, 0;\\n\"\n\
             \"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16 {{{}}}, {left}, %{next}, add, 1, 1, {flags};\\n}}\\n\"\n\
             : {} : {inputs} : \"memory\");\n",
            next + 1,
            numbered(0..sums),
            outputs.join(", "),
        );
    }
}
