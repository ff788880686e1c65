//! Trains a fleet on a GPU: the table form of all models at once (paper, app. G.4).
//!
//! Every kernel covers all models; a block whose model has no rows left at a step returns at once,
//! so a model with short lengths does not pay for one with long ones, and those with most work go
//! first. Sums over rows are made by one block in order, or in parts that are added in order, so a
//! seed gives the same run twice on the same device.

mod backend;
mod device;
#[cfg(test)]
mod emulator;
mod memory;
mod passes;
mod shared;
mod source;
mod steps;

use crate::backend::BackendError;
pub use crate::backend::Precision;
use crate::settings::{FleetSettings, ModelSettings, TrainingMethod};
use crate::shape::ROTARY_BASE;
use device::{Address, Device, Driver, Launch};
use foldglass::model::inputs::InputLaw;
use memory::{Call, Memory, Options};
use source::Sizes;

/// A fleet on a GPU.
pub struct Cuda {
    settings: FleetSettings,
    sizes: Sizes,
    models: usize,
    device: Box<dyn Device>,
    memory: Memory,
    /// The same for passes of the prior; of use where the settings have one.
    prior: Memory,
    lessons: Lessons,
    /// Room for tokens' weights, taken when gradients are first asked for.
    token_weights: Address,
    /// Whether weights were put in place that the copies in bf16 do not know of.
    stale: bool,
    priors: Priors,
}

/// What is known of the prior.
#[derive(Default)]
struct Priors {
    /// Whether each model has its weights.
    given: Vec<bool>,
    /// Whether its tables are made of them.
    made: bool,
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
        settings: &FleetSettings,
        models: &[ModelSettings],
        precision: Precision,
    ) -> Result<Cuda, BackendError> {
        let sizes = sizes(settings, models, precision)?;
        let device = Box::new(Driver::open(&sizes)?);
        Cuda::on(settings, models, sizes, device)
    }

    fn on(
        settings: &FleetSettings,
        models: &[ModelSettings],
        sizes: Sizes,
        mut device: Box<dyn Device>,
    ) -> Result<Cuda, BackendError> {
        let options = Options {
            law: settings.inputs != InputLaw::Uniform,
            gathered: settings.adaptive.is_some(),
            old: matches!(settings.method, TrainingMethod::Grpo { epochs: 2.., .. }),
            prior: settings.prior.is_some(),
        };
        let (memory, prior) = Memory::allocate(&sizes, models.len(), options, device.as_mut())?;
        let mut cuda = Cuda {
            settings: settings.clone(),
            sizes,
            models: models.len(),
            device,
            memory,
            prior,
            lessons: Lessons::default(),
            token_weights: 0,
            stale: true,
            priors: Priors {
                given: vec![false; models.len()],
                made: false,
            },
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
        self.write_symbol_ends(models)?;
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

    /// Puts the law of the inputs in place, where it is not uniform.
    fn write_symbol_ends(&mut self, models: &[ModelSettings]) -> Result<(), BackendError> {
        if self.memory.symbol_ends == 0 {
            return Ok(());
        }
        let (v, cap) = (self.sizes.shape.vocabulary, self.sizes.cap);
        let mut all = vec![0; models.len() * cap * v * v];
        for (model, own) in models.iter().enumerate() {
            let q = own.square.q();
            let law = (self.settings.symbol_law(q))
                .map_err(|error| BackendError::Device(error.to_string()))?;
            for position in 0..cap {
                for before in 0..q {
                    let ends = law.ends(position, before);
                    let at = ((model * cap + position) * v + before) * v;
                    all[at..][..ends.len()].copy_from_slice(ends);
                }
            }
        }
        self.write_u64(self.memory.symbol_ends, &all)
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

    fn write_u64(&mut self, to: Address, values: &[u64]) -> Result<(), BackendError> {
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
}

/// The sizes that a fleet's kernels are made for, if they can be.
fn sizes(
    settings: &FleetSettings,
    models: &[ModelSettings],
    precision: Precision,
) -> Result<Sizes, BackendError> {
    let shape = settings.shape;
    let fits = matches!(shape.vocabulary, 8 | 16 | 32) && shape.heads == 4 && shape.blocks == 1;
    let even = shape.width.is_multiple_of(64) && shape.mlp.is_multiple_of(128);
    let paper = shape.width == 256 && shape.mlp.is_multiple_of(256);
    let wrong = |needed: &str| {
        let (d, f, v, h) = (shape.width, shape.mlp, shape.vocabulary, shape.heads);
        Err(BackendError::Device(format!(
            "CUDA: width {d}, mlp {f}, vocabulary {v}, {h} heads: {needed}"
        )))
    };
    if !(fits && even) {
        return wrong(
            "it needs vocabulary 8, 16 or 32 (more than the symbols of every task), 4 heads, one block, a width that \
             is a multiple of 64, an mlp that is a multiple of 128",
        );
    }
    if precision == Precision::Bf16 && !paper {
        return wrong("bf16 needs width 256 and an mlp that is a multiple of 256; tf32 takes any");
    }
    let sizes = Sizes {
        shape,
        layout: settings.layout,
        cap: settings.cap,
        samples: settings.batch.max(settings.gate.samples),
        symbols: models.iter().map(|m| m.square.q()).max().unwrap_or(1),
        precision,
    };
    if sizes.attention().warps == 0 || sizes.scores_shared() > shared::MOST {
        let cap = settings.cap;
        return wrong(&format!(
            "tables of scores for lengths up to {cap} are larger than a block's memory; take a smaller --longest"
        ));
    }
    Ok(sizes)
}
