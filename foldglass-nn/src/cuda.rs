//! Trains a fleet on a GPU: the table form of all models at once (paper, app. G.4).
//!
//! Every kernel covers all models; a block whose model has no rows left at a step returns at once,
//! so a model with short lengths does not pay for one with long ones, and those with most work go
//! first. Sums over rows are made by one block in order, or in parts that are added in order, so a
//! seed gives the same run twice on the same device.

mod device;
#[cfg(test)]
mod emulator;
mod memory;
mod source;

use crate::backend::{Agreement, Backend, BackendError, ModelState, StepRecord, Test};
use crate::batch::Batch;
use crate::lesson::Lesson;
use crate::objective::TokenWeight;
use crate::philox::Purpose;
use crate::settings::{Decoding, Drawn, EntropyForm, Method, ModelSettings, Permutation, Settings};
use crate::shape::ROTARY_BASE;
use device::{Address, Device, Driver, Launch};
use memory::{Call, Memory, Options};
pub use source::Precision;
use source::{
    ATTENTION_PARTS, ATTENTION_WARPS, FEATURE_PARTS, HEAD_PARTS, LESSON, Sizes, WEIGHTED_PARTS,
};

/// A fleet on a GPU.
pub struct Cuda {
    settings: Settings,
    sizes: Sizes,
    models: usize,
    /// The most symbols of a model's task.
    symbols: usize,
    device: Box<dyn Device>,
    memory: Memory,
    lessons: Lessons,
    /// Whether weights were put in place that the copies in bf16 do not know of.
    stale: bool,
}

/// What models imitate.
#[derive(Default)]
struct Lessons {
    /// The lengths of every model's lesson.
    lengths: Vec<Vec<usize>>,
    /// Bytes that each model's actions may take, and take.
    room: usize,
    stride: usize,
}

/// How tokens are chosen (`Call::mode`).
#[derive(Clone, Copy)]
enum Choice {
    Drawn = 0,
    Likeliest = 1,
    Given = 2,
}

impl Cuda {
    /// A back end on the first GPU; the weights are still to be restored.
    pub fn new(
        settings: &Settings,
        models: &[ModelSettings],
        precision: Precision,
    ) -> Result<Cuda, BackendError> {
        let sizes = sizes(settings, precision)?;
        let device = Box::new(Driver::open(&sizes)?);
        Cuda::on(settings, models, sizes, device)
    }

    fn on(
        settings: &Settings,
        models: &[ModelSettings],
        sizes: Sizes,
        mut device: Box<dyn Device>,
    ) -> Result<Cuda, BackendError> {
        let options = Options {
            gathered: settings.adaptive.is_some(),
            old: matches!(settings.method, Method::Grpo { epochs: 2.., .. }),
        };
        let memory = Memory::allocate(&sizes, models.len(), options, device.as_mut())?;
        let mut cuda = Cuda {
            settings: settings.clone(),
            sizes,
            models: models.len(),
            symbols: models.iter().map(|m| m.square.q()).max().unwrap_or(1),
            device,
            memory,
            lessons: Lessons::default(),
            stale: true,
        };
        cuda.write_constants(models)?;
        Ok(cuda)
    }

    fn write_constants(&mut self, models: &[ModelSettings]) -> Result<(), BackendError> {
        let v = self.sizes.shape.vocabulary;
        let mut squares = vec![0u8; models.len() * v * v];
        for (square, model) in squares.chunks_exact_mut(v * v).zip(models) {
            for (s, row) in model.square.rows().enumerate() {
                for (x, &symbol) in row.iter().enumerate() {
                    square[s * v + x] = symbol as u8;
                }
            }
        }
        let pairs = self.sizes.shape.head_width() / 2;
        let (least, distances) = self.sizes.distances();
        let turns: Vec<f32> = (0..distances)
            .flat_map(|distance| {
                (0..pairs).flat_map(move |m| {
                    let speed = ROTARY_BASE.powf(-(m as f64) / pairs as f64);
                    let (sin, cos) = ((distance as i32 + least) as f64 * speed).sin_cos();
                    [sin as f32, cos as f32]
                })
            })
            .collect();
        let seeds: Vec<u8> = models.iter().flat_map(|m| m.seed.to_le_bytes()).collect();
        let q: Vec<i32> = models.iter().map(|m| m.square.q() as i32).collect();
        let entropy: Vec<f32> = models.iter().map(|m| m.entropy as f32).collect();
        let rate: Vec<f32> = models.iter().map(|m| m.learning_rate as f32).collect();
        self.device.write(self.memory.square, &squares)?;
        self.device.write(self.memory.seeds, &seeds)?;
        self.write_f32(self.memory.turns, &turns)?;
        self.write_i32(self.memory.q, &q)?;
        self.write_f32(self.memory.entropy, &entropy)?;
        self.write_f32(self.memory.rate, &rate)
    }

    /// Measures every kernel of the next `train` or ends that: kernels, launches, milliseconds.
    pub fn profile(
        &mut self,
        start: bool,
    ) -> Result<Vec<(&'static str, usize, f64)>, BackendError> {
        self.device.profile(start)
    }

    fn write_f32(&mut self, to: Address, values: &[f32]) -> Result<(), BackendError> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.device.write(to, &bytes)
    }

    fn write_i32(&mut self, to: Address, values: &[i32]) -> Result<(), BackendError> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.device.write(to, &bytes)
    }

    fn read_f32(&mut self, from: Address, count: usize) -> Result<Vec<f32>, BackendError> {
        let mut bytes = vec![0; 4 * count];
        self.device.read(from, &mut bytes)?;
        let four = bytes.chunks_exact(4);
        Ok(four
            .map(|b| f32::from_le_bytes(b.try_into().expect("four")))
            .collect())
    }

    fn read_i32(&mut self, from: Address, count: usize) -> Result<Vec<i32>, BackendError> {
        let mut bytes = vec![0; 4 * count];
        self.device.read(from, &mut bytes)?;
        let four = bytes.chunks_exact(4);
        Ok(four
            .map(|b| i32::from_le_bytes(b.try_into().expect("four")))
            .collect())
    }

    fn launch(
        &mut self,
        kernel: &'static str,
        grid: (usize, usize, usize),
        threads: usize,
        shared: usize,
        call: &Call,
    ) -> Result<(), BackendError> {
        let launch = Launch {
            kernel,
            grid,
            threads,
            shared,
        };
        self.device.launch(launch, &self.memory, call)
    }

    /// Computes all tables from the weights.
    fn tables(&mut self, call: &Call) -> Result<(), BackendError> {
        let shape = self.sizes.shape;
        let (d, f, v, h) = (shape.width, shape.mlp, shape.vocabulary, shape.heads);
        let (k, r) = (shape.features(), self.models);
        let rows = 4 * k * d;
        if self.stale && self.sizes.precision == Precision::Bf16 {
            self.launch("table_down", (64, r, 1), 256, 0, call)?;
        }
        self.stale = false;
        self.launch("table_normed", (v, r, 1), 128, 0, call)?;
        self.launch("table_qkv", (d / 64, 3, r), 256, 0, call)?;
        let table = 4 * v * v * self.sizes.distances().1;
        self.launch("table_scores", (h, r, 1), 256, table, call)?;
        self.launch("table_stream", (d / 64, h, r), 256, 0, call)?;
        self.launch("table_rows", (k / v, r, 1), 256, rows, call)?;
        self.launch("table_up", (f / 128, r, 1), 256, rows, call)
    }

    /// Computes the policies of step `call.t` and chooses its tokens; of all tokens for t = 0.
    /// `rows` bounds the rows of a model.
    fn forward(&mut self, call: &Call, rows: usize) -> Result<(), BackendError> {
        let (h, r) = (self.sizes.shape.heads, self.models);
        self.launch("attend", ((rows * h).div_ceil(256), r, 1), 256, 0, call)?;
        match self.sizes.precision {
            Precision::Bf16 => {
                let shared = 4 * 40960 + 32768 + 16384 + 4096 + 128;
                let grid = (rows.div_ceil(128), r, 1);
                self.launch("hopper_forward", grid, 256, shared, call)
            }
            Precision::Tf32 => self.forward_single(call, rows),
        }
    }

    fn forward_single(&mut self, call: &Call, rows: usize) -> Result<(), BackendError> {
        let shape = self.sizes.shape;
        let (d, f, k, nt) = (
            shape.width,
            shape.mlp,
            shape.features(),
            self.sizes.tokens(),
        );
        let memory = self.memory;
        let joint = f + d;
        let up = Product {
            left: Matrix::new(memory.features, nt * k, k, 1),
            right: Matrix::new(memory.up, k * f, f, 1),
            to: Matrix::new(memory.joint, nt * joint, joint, 1),
            sizes: (rows, f, k),
            ragged: Ragged::Rows,
            accumulate: false,
        };
        self.product(call, up)?;
        let stream = Product {
            right: Matrix::new(memory.stream, k * d, d, 1),
            to: Matrix::new(memory.joint + 4 * f as u64, nt * joint, joint, 1),
            sizes: (rows, d, k),
            ..up
        };
        self.product(call, stream)?;
        let grid = (rows.div_ceil(8), self.models, 1);
        self.launch("activate_rows", grid, 256, 0, call)?;
        let down = Product {
            left: Matrix::new(memory.hidden, nt * f, f, 1),
            right: self.down(),
            to: Matrix::new(memory.out, nt * d, d, 1),
            sizes: (rows, d, f),
            ragged: Ragged::Rows,
            accumulate: true,
        };
        self.product(call, down)?;
        self.launch("head_rows", grid, 256, 0, call)
    }

    /// The down-projection's weights.
    fn down(&self) -> Matrix {
        let shape = self.sizes.shape;
        let place = shape.places().blocks[0].down.start as u64;
        let at = self.memory.weights + 4 * place;
        Matrix::new(at, shape.parameters(), shape.width, 1)
    }

    /// Gradients of all weights from the tokens' weights, and the update.
    fn backward(&mut self, call: &Call) -> Result<(), BackendError> {
        let shape = self.sizes.shape;
        let (d, f, v, h) = (shape.width, shape.mlp, shape.vocabulary, shape.heads);
        let (k, r) = (shape.features(), self.models);
        let table = 4 * v * v * self.sizes.distances().1;
        self.launch("head_backward", (16, r, 1), 256, 0, call)?;
        self.launch("head_product", (HEAD_PARTS, r, 1), d / 2, 0, call)?;
        match self.sizes.precision {
            Precision::Bf16 => {
                let shared = 65536 + 16384 + 3 * 41984 + 16384 + 64;
                self.launch("hopper_backward", (f / 128, r, 1), 256, shared, call)?;
                let shared = 32768 + 2 * 40960 + 64;
                let grid = (self.sizes.stream_parts(), r, 1);
                self.launch("hopper_stream", grid, 128, shared, call)?;
            }
            Precision::Tf32 => self.backward_single(call)?,
        }
        self.launch("features_backward", (FEATURE_PARTS, r, 1), 256, 0, call)?;
        let (parts, warps) = (ATTENTION_PARTS, ATTENTION_WARPS);
        let used = self.symbols + 1;
        let shared = (1 + warps) * 4 * used * used * self.sizes.distances().1;
        let n = used as i32;
        self.launch(
            "attention_backward",
            (parts, h, r),
            32 * warps,
            shared,
            &Call { n, ..*call },
        )?;
        self.launch("scores_backward", (h, r, 1), 256, table, call)?;
        self.launch(
            "weighted_backward",
            (d / 64, WEIGHTED_PARTS, r),
            128,
            0,
            call,
        )?;
        self.launch("stream_total", (k / 8, r, 1), 256, 0, call)?;
        self.launch("value_backward", (h, r, 1), 256, 0, call)?;
        let shared = 12 * v * d;
        self.launch("normed_backward", (d / 32, r, 1), 256, shared, call)?;
        self.launch("small_backward", (r, 1, 1), 256, 0, call)?;
        let blocks = self.sizes.adam_blocks();
        self.launch("adam", (blocks, r, 1), 256, 0, call)?;
        let n = blocks as i32;
        self.launch("gradient_norm", (r, 1, 1), 256, 0, &Call { n, ..*call })
    }

    fn backward_single(&mut self, call: &Call) -> Result<(), BackendError> {
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
        let d_out = Matrix::new(memory.d_out, nt * d, d, 1);
        let d_up = Matrix::new(memory.joint, nt * joint, joint, 1);
        let features = Matrix::new(memory.features, nt * k, k, 1);
        let by_rows = |left, right, to, columns, inner| Product {
            left,
            right,
            to,
            sizes: (rows, columns, inner),
            ragged: Ragged::Rows,
            accumulate: false,
        };
        let over_rows = |left: Matrix, right, to, m, n| Product {
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
        let to = Matrix::new(memory.gradient + 4 * place, shape.parameters(), d, 1);
        let hidden = Matrix::new(memory.hidden, nt * f, f, 1);
        self.product(call, over_rows(hidden, d_out, to, f, d))?;
        let to = Matrix::new(memory.d_up, f * k, k, 1);
        self.product(call, over_rows(d_up, features, to, f, k))?;
        let to = Matrix::new(memory.d_stream_parts, k * d, d, 1);
        self.product(call, over_rows(features, d_out, to, k, d))?;
        let up = Matrix::new(memory.up, k * f, f, 1).transposed();
        let to = Matrix::new(memory.d_features, 2 * nt * k, k, 1);
        self.product(call, by_rows(d_up, up, to, k, f))?;
        let stream = Matrix::new(memory.stream, k * d, d, 1).transposed();
        let direct = memory.d_features + 4 * (nt * k) as u64;
        let to = Matrix::new(direct, 2 * nt * k, k, 1);
        self.product(call, by_rows(d_out, stream, to, k, d))
    }

    fn product(&mut self, call: &Call, product: Product) -> Result<(), BackendError> {
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

    /// What all launches of training or imitation have in common.
    fn call(&self) -> Call {
        let settings = &self.settings;
        let (method, clip) = match settings.method {
            Method::Reinforce {} => (0, 0.0),
            Method::Grpo { clip, .. } => (1, clip),
            Method::Expert {} => (2, 0.0),
        };
        let adaptive = settings.adaptive;
        Call {
            group: 1,
            method,
            clip: clip as f32,
            form: match settings.entropy {
                EntropyForm::TokenMean => 0,
                EntropyForm::SequenceMean => 1,
                EntropyForm::Summed => 2,
                EntropyForm::Return => 3,
            },
            drawn_once: (settings.lengths.drawn() == Drawn::Batch).into(),
            adaptive_right: adaptive.map_or(0, |a| a.right.min(i32::MAX as u32) as i32),
            adaptive_most: adaptive.map_or(0, |a| a.most as i32),
            beta1: settings.adam.beta1,
            beta2: settings.adam.beta2,
            adam_epsilon: settings.adam.epsilon as f32,
            ..Call::default()
        }
    }

    /// Tells the device which lengths are drawn, and which models have most work.
    fn write_lengths(&mut self, lengths: &[Vec<usize>]) -> Result<usize, BackendError> {
        let stride = self.sizes.cap + 1;
        let mut choices = vec![0; self.models * stride];
        for (list, row) in lengths.iter().zip(choices.chunks_exact_mut(stride)) {
            row[0] = list.len() as i32;
            let to = row[1..].iter_mut();
            to.zip(list).for_each(|(to, &t)| *to = t as i32);
        }
        let addresses = (self.memory.choices, self.memory.order);
        self.write_i32(addresses.0, &choices)?;
        let work = |list: &Vec<usize>| list.iter().sum::<usize>() / list.len().max(1);
        let mut order: Vec<i32> = (0..self.models as i32).collect();
        order.sort_by_key(|&m| std::cmp::Reverse(work(&lengths[m as usize])));
        self.write_i32(addresses.1, &order)?;
        Ok(lengths.iter().flatten().copied().max().unwrap_or(0))
    }

    fn train_step(&mut self, step: u64, longest: usize) -> Result<(), BackendError> {
        let settings = &self.settings;
        let relabelling = (settings.relabelling).filter(|r| step.is_multiple_of(r.period));
        let call = Call {
            mode: Choice::Drawn as i32,
            step: step as u32,
            purpose: Purpose::Training as u32,
            samples: settings.batch as i32,
            group: settings.group() as i32,
            relabelling: relabelling.map_or(0, |r| match r.kind {
                Permutation::Transposition => 1,
                Permutation::Full => 2,
            }),
            fraction: relabelling.map_or(0.0, |r| r.fraction as f32),
            exploration: settings.exploration as f32,
            ..self.call()
        };
        let (r, batch) = (self.models, settings.batch);
        let epochs = match settings.method {
            Method::Grpo { epochs, .. } => epochs,
            _ => 1,
        };
        self.tables(&call)?;
        self.launch("draw_batch", (r, 1, 1), 256, 0, &call)?;
        for t in 1..=longest as i32 {
            self.forward(&Call { t, ..call }, batch)?;
        }
        self.launch("weigh", (r, 1, 1), 256, 0, &call)?;
        self.backward(&call)?;
        let again = Call {
            mode: Choice::Given as i32,
            ..call
        };
        for _ in 1..epochs {
            self.tables(&again)?;
            self.forward(&again, batch * longest)?;
            self.launch("weigh", (r, 1, 1), 256, 0, &again)?;
            self.backward(&again)?;
        }
        Ok(())
    }

    /// Draws a test's batches and answers them.
    fn answer(&mut self, test: &Test) -> Result<Call, BackendError> {
        self.check_room(test.samples)?;
        let longest = self.write_lengths(&test.lengths)?;
        let call = Call {
            mode: match test.decoding {
                Decoding::Greedy => Choice::Likeliest,
                Decoding::Sampled => Choice::Drawn,
            } as i32,
            step: test.step as u32,
            purpose: test.purpose as u32,
            samples: test.samples as i32,
            ..self.call()
        };
        self.tables(&call)?;
        self.launch("draw_batch", (self.models, 1, 1), 256, 0, &call)?;
        for t in 1..=longest as i32 {
            self.forward(&Call { t, ..call }, test.samples)?;
        }
        Ok(call)
    }

    fn check_room(&self, samples: usize) -> Result<(), BackendError> {
        let room = self.sizes.samples;
        if samples > room {
            return Err(BackendError::TooMany { samples, room });
        }
        Ok(())
    }

    /// Puts batches into the device's memory; returns their longest length and most tokens.
    fn upload(&mut self, batches: &[Batch]) -> Result<(usize, usize), BackendError> {
        let (s, xs, cap) = (
            self.sizes.samples,
            self.sizes.input_stride(),
            self.sizes.cap,
        );
        let r = self.models;
        let mut lengths = vec![0; r * s];
        let mut starts = vec![0; r * (cap + 1)];
        let mut samples = vec![0; r];
        let (mut x, mut y, mut target) = (vec![0; r * s * xs], vec![0; r * s * xs], vec![0; r * s]);
        for (model, batch) in batches.iter().enumerate() {
            self.check_room(batch.samples())?;
            samples[model] = batch.samples() as i32;
            for t in 1..=cap {
                starts[model * (cap + 1) + t] = match t <= batch.longest() {
                    true => batch.start(t) + batch.live(t),
                    false => batch.tokens(),
                } as i32;
            }
            for sample in 0..batch.samples() {
                let row = model * s + sample;
                lengths[row] = batch.lengths()[sample] as i32;
                target[row] = batch.targets()[sample];
                let length = batch.lengths()[sample];
                x[row * xs..][..length].copy_from_slice(batch.x(sample));
                y[row * xs..][..length].copy_from_slice(batch.y(sample));
            }
        }
        let memory = self.memory;
        self.write_i32(memory.lengths, &lengths)?;
        self.write_i32(memory.starts, &starts)?;
        self.write_i32(memory.samples, &samples)?;
        self.device.write(memory.x, &x)?;
        self.device.write(memory.y, &y)?;
        self.device.write(memory.target, &target)?;
        let order: Vec<i32> = (0..r as i32).collect();
        self.write_i32(memory.order, &order)?;
        let longest = batches.iter().map(Batch::longest).max().unwrap_or(0);
        let tokens = batches.iter().map(Batch::tokens).max().unwrap_or(0);
        Ok((longest, tokens))
    }

    fn records(&mut self) -> Result<Vec<StepRecord>, BackendError> {
        let numbers = self.read_f32(self.memory.record, 4 * self.models)?;
        Ok((numbers.chunks_exact(4))
            .map(|n| StepRecord {
                loss: n[0].into(),
                sampled: n[1].into(),
                entropy: n[2].into(),
                gradient_norm: n[3].into(),
            })
            .collect())
    }

    fn model_place(&self, start: Address, model: usize) -> Address {
        start + 4 * (model * self.sizes.shape.parameters()) as u64
    }
}

/// The sizes that a fleet's kernels are made for, if they can be.
fn sizes(settings: &Settings, precision: Precision) -> Result<Sizes, BackendError> {
    let shape = settings.shape;
    let fits = shape.vocabulary == 8 && shape.heads == 4 && shape.blocks == 1;
    let even = shape.width.is_multiple_of(64) && shape.mlp.is_multiple_of(128);
    let paper = shape.width == 256;
    let wrong = |needed: &str| {
        let (d, f, v, h) = (shape.width, shape.mlp, shape.vocabulary, shape.heads);
        Err(BackendError::Device(format!(
            "CUDA: width {d}, mlp {f}, vocabulary {v}, {h} heads: {needed}"
        )))
    };
    if !(fits && even) {
        return wrong(
            "it needs 4 heads, vocabulary 8, a width that is a multiple of 64, an mlp of 128",
        );
    }
    if precision == Precision::Bf16 && !paper {
        return wrong("bf16 needs width 256; tf32 takes any");
    }
    Ok(Sizes {
        shape,
        layout: settings.layout,
        cap: settings.cap,
        samples: settings.batch.max(settings.gate.samples),
        precision,
    })
}

/// A matrix of every model: where the first starts, and how far it is to the next model, row and
/// column.
#[derive(Clone, Copy)]
struct Matrix {
    at: Address,
    model: usize,
    row: usize,
    column: usize,
}

impl Matrix {
    fn new(at: Address, model: usize, row: usize, column: usize) -> Matrix {
        Matrix {
            at,
            model,
            row,
            column,
        }
    }

    fn transposed(self) -> Matrix {
        Matrix {
            row: self.column,
            column: self.row,
            ..self
        }
    }
}

/// Which index of a product runs over a model's tokens (`Call::ragged`).
#[derive(Clone, Copy)]
enum Ragged {
    Rows = 1,
    Inner = 2,
}

/// `to = left right`.
#[derive(Clone, Copy)]
struct Product {
    left: Matrix,
    right: Matrix,
    to: Matrix,
    /// Rows, columns, inner; a bound where an index runs over tokens.
    sizes: (usize, usize, usize),
    ragged: Ragged,
    accumulate: bool,
}

impl Backend for Cuda {
    fn name(&self) -> String {
        let precision = match self.sizes.precision {
            Precision::Bf16 => "bf16",
            Precision::Tf32 => "tf32",
        };
        format!("CUDA, {}, {precision}", self.device.name())
    }

    fn models(&self) -> usize {
        self.models
    }

    fn room(&self) -> usize {
        self.sizes.samples
    }

    fn state(&mut self, model: usize) -> Result<ModelState, BackendError> {
        let (memory, n) = (self.memory, self.sizes.shape.parameters());
        let place = |start| self.model_place(start, model);
        let places = [
            place(memory.weights),
            place(memory.mean),
            place(memory.second),
        ];
        let gathered = place(memory.gathered);
        let [weights, mean, square] = [
            self.read_f32(places[0], n)?,
            self.read_f32(places[1], n)?,
            self.read_f32(places[2], n)?,
        ];
        let gathers = self.settings.adaptive.is_some();
        let gathered = if gathers {
            self.read_f32(gathered, n)?
        } else {
            Vec::new()
        };
        let number = |this: &mut Cuda, start: Address| {
            let value = this.read_i32(start + 4 * model as u64, 1)?[0];
            Ok::<u32, BackendError>(value as u32)
        };
        Ok(ModelState {
            weights,
            mean,
            square,
            updates: number(self, memory.updates)?.into(),
            gathered,
            gathered_batches: number(self, memory.gathered_batches)?,
            gathered_right: number(self, memory.gathered_right)?,
        })
    }

    fn restore(&mut self, model: usize, state: &ModelState) -> Result<(), BackendError> {
        let memory = self.memory;
        self.stale = true;
        self.write_f32(self.model_place(memory.weights, model), &state.weights)?;
        self.write_f32(self.model_place(memory.mean, model), &state.mean)?;
        self.write_f32(self.model_place(memory.second, model), &state.square)?;
        if self.settings.adaptive.is_some() {
            let mut gathered = state.gathered.clone();
            gathered.resize(state.weights.len(), 0.0);
            self.write_f32(self.model_place(memory.gathered, model), &gathered)?;
        }
        let at = 4 * model as u64;
        self.write_i32(memory.updates + at, &[state.updates as i32])?;
        self.write_i32(
            memory.gathered_batches + at,
            &[state.gathered_batches as i32],
        )?;
        self.write_i32(memory.gathered_right + at, &[state.gathered_right as i32])
    }

    fn train(
        &mut self,
        first: u64,
        count: u64,
        lengths: &[usize],
    ) -> Result<Vec<StepRecord>, BackendError> {
        let lists: Vec<_> = lengths
            .iter()
            .map(|&n| self.settings.lengths.list(n))
            .collect();
        let longest = self.write_lengths(&lists)?;
        for step in first + 1..=first + count {
            self.train_step(step, longest)?;
        }
        let records = self.records()?;
        let broken = |r: &StepRecord| !(r.loss.is_finite() && r.gradient_norm.is_finite());
        if let Some(model) = records.iter().position(broken) {
            let step = first + count;
            return Err(BackendError::NotANumber { model, step });
        }
        Ok(records)
    }

    fn right(&mut self, test: &Test) -> Result<Vec<u32>, BackendError> {
        let call = self.answer(test)?;
        self.launch("count_right", (self.models, 1, 1), 256, 0, &call)?;
        let right = self.read_i32(self.memory.right, self.models)?;
        Ok(right.into_iter().map(|n| n as u32).collect())
    }

    fn teach(&mut self, lessons: &[Lesson]) -> Result<(), BackendError> {
        let (cap, r) = (self.sizes.cap, self.models);
        if lessons.len() != r {
            return Err(BackendError::NoLesson);
        }
        let most = lessons.iter().map(|l| l.actions().len()).max().unwrap_or(0);
        if most > self.lessons.room {
            self.memory.lesson_actions = self.device.allocate(r * most)?;
            self.lessons.room = most;
        }
        self.lessons.stride = most;
        let mut actions = vec![0; r * most];
        let mut steps = vec![0; r * (cap + 1) * cap * LESSON];
        for (model, lesson) in lessons.iter().enumerate() {
            let to = &mut actions[model * most..][..lesson.actions().len()];
            to.copy_from_slice(lesson.actions());
            for (which, &length) in lesson.lengths().iter().enumerate() {
                for (t, step) in lesson.steps(which).iter().enumerate() {
                    let at = ((model * (cap + 1) + length) * cap + t) * LESSON;
                    let numbers = [
                        step.before,
                        step.after,
                        step.tokens,
                        step.first,
                        step.histories,
                    ];
                    (steps[at..].iter_mut().zip(numbers)).for_each(|(to, n)| *to = n as i32);
                }
            }
        }
        let memory = self.memory;
        self.device.write(memory.lesson_actions, &actions)?;
        self.write_i32(memory.lesson_steps, &steps)?;
        self.lessons.lengths = lessons.iter().map(|l| l.lengths().to_vec()).collect();
        Ok(())
    }

    fn imitate(
        &mut self,
        first: u64,
        count: u64,
        active: &[bool],
    ) -> Result<Vec<f64>, BackendError> {
        if self.lessons.lengths.len() != self.models {
            return Err(BackendError::NoLesson);
        }
        let lengths: Vec<Vec<usize>> = (self.lessons.lengths.iter().zip(active))
            .map(|(list, &active)| if active { list.clone() } else { Vec::new() })
            .collect();
        let longest = self.write_lengths(&lengths)?;
        let (r, batch) = (self.models, self.settings.batch);
        for step in first + 1..=first + count {
            let call = Call {
                mode: Choice::Given as i32,
                step: step as u32,
                purpose: Purpose::Imitation as u32,
                samples: batch as i32,
                method: 3,
                form: 2,
                drawn_once: 0,
                adaptive_most: 0,
                actions: self.lessons.stride as i32,
                ..self.call()
            };
            self.tables(&call)?;
            self.launch("draw_batch", (r, 1, 1), 256, 0, &call)?;
            self.launch("teach", (batch.div_ceil(256), r, 1), 256, 0, &call)?;
            self.forward(&call, batch * longest)?;
            self.launch("weigh", (r, 1, 1), 256, 0, &call)?;
            self.backward(&call)?;
        }
        let losses: Vec<f64> = self.records()?.into_iter().map(|r| r.loss).collect();
        let broken = (losses.iter().zip(active)).position(|(l, &on)| on && !l.is_finite());
        if let Some(model) = broken {
            let step = first + count;
            return Err(BackendError::NotANumber { model, step });
        }
        Ok(losses)
    }

    fn agree(&mut self, test: &Test) -> Result<Vec<Agreement>, BackendError> {
        if self.lessons.lengths.len() != self.models {
            return Err(BackendError::NoLesson);
        }
        let call = Call {
            actions: self.lessons.stride as i32,
            ..self.answer(test)?
        };
        self.launch("count_agreement", (self.models, 1, 1), 256, 0, &call)?;
        let matching = self.read_i32(self.memory.right, self.models)?;
        let stride = self.sizes.cap + 1;
        let starts = self.read_i32(self.memory.starts, self.models * stride)?;
        Ok((matching.iter().zip(starts.chunks_exact(stride)))
            .map(|(&matching, starts)| Agreement {
                matching: matching as u32,
                tokens: starts[stride - 1] as u32,
            })
            .collect())
    }

    fn decode(&mut self, batches: &mut [Batch]) -> Result<(), BackendError> {
        let (longest, _) = self.upload(batches)?;
        let rows = batches.iter().map(Batch::samples).max().unwrap_or(0);
        let call = Call {
            mode: Choice::Likeliest as i32,
            ..self.call()
        };
        self.tables(&call)?;
        for t in 1..=longest as i32 {
            self.forward(&Call { t, ..call }, rows)?;
        }
        let (s, xs) = (self.sizes.samples, self.sizes.input_stride());
        let mut y = vec![0; self.models * s * xs];
        self.device.read(self.memory.y, &mut y)?;
        for (model, batch) in batches.iter_mut().enumerate() {
            for sample in 0..batch.samples() {
                let to = batch.y_mut(sample);
                to.copy_from_slice(&y[(model * s + sample) * xs..][..to.len()]);
            }
        }
        Ok(())
    }

    fn gradients(
        &mut self,
        batches: &[Batch],
        weights: &[Vec<TokenWeight>],
    ) -> Result<Vec<Vec<f32>>, BackendError> {
        let (_, tokens) = self.upload(batches)?;
        let nt = self.sizes.tokens();
        let mut pairs = vec![0.0; 2 * self.models * nt];
        for (model, list) in weights.iter().enumerate() {
            for (token, weight) in list.iter().enumerate() {
                let at = 2 * (model * nt + token);
                (pairs[at], pairs[at + 1]) = (weight.policy, weight.entropy);
            }
        }
        let call = Call {
            mode: Choice::Given as i32,
            write_only: 1,
            ..self.call()
        };
        // The gradients of the products use this memory last; the pairs only need it before.
        let room = self.device.allocate(4 * pairs.len())?;
        self.write_f32(room, &pairs)?;
        self.tables(&call)?;
        self.forward(&call, tokens)?;
        self.memory.token_weights = room;
        let done = self.backward(&call);
        self.memory.token_weights = 0;
        done?;
        let (at, n) = (self.memory.gradient, self.sizes.shape.parameters());
        (0..self.models)
            .map(|model| self.read_f32(self.model_place(at, model), n))
            .collect()
    }
}
