//! Runs the kernels on the processor, for tests: the CUDA source compiled as C++, a fiber a thread.

use super::device::{Address, Device, Launch};
use super::memory::{Call, Memory};
use super::source::{Instructions, Sizes};
use super::{Cuda, sizes};
use crate::backend::Precision;
use crate::backend::{Backend, BackendError, ModelState, Test};
use crate::batch::{Batch, BatchLaw};
use crate::cpu::Cpu;
use crate::law::{LengthLaw, SymbolLaw};
use crate::layout::{LAYOUTS, Layout};
use crate::lesson::Lesson;
use crate::objective::TokenWeight;
use crate::philox::{Numbers, Purpose};
use crate::schedule::{DecayKind, EntropyDecay};
use crate::settings::{
    Adam, Adaptive, Baseline, BatchLengths, Decoding, EntropyForm, FleetSettings, Gate, LengthDraw,
    ModelSettings, Permutation, Prior, TokenRelabelling, TrainingMethod,
};
use crate::shape::{NetworkShape, Norm};
use crate::weights::{WeightLaw, Weights};
use foldglass::dynamics::chain::random_code;
use foldglass::model::class::{self, Class};
use foldglass::model::inputs::InputLaw;
use foldglass::model::operation::Operation;
use foldglass::model::task::Task;
use foldglass::support::exact::parse;
use foldglass::support::stream::Stream;
use std::ffi::{CString, c_char, c_int, c_void};
use std::fs::File;
use std::process::Command;
use std::sync::Mutex;

#[path = "../../../xtask/src/tools.rs"]
mod tools;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

type Emulate = unsafe extern "C" fn(
    *const c_char,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
) -> c_int;

/// Returns something where kernels can be compiled; else the test is skipped, and in CI it fails.
fn compiler() -> Option<()> {
    let found = tools::runs("c++", "--version").then_some(());
    tools::need(found, "c++ (install the package g++)")
}

struct Emulator {
    emulate: Emulate,
    memory: Vec<Vec<u8>>,
}

/// The emulator keeps its state in globals: one launch at a time.
static ONE: Mutex<()> = Mutex::new(());

impl Emulator {
    fn new(sizes: &Sizes) -> Emulator {
        let text = sizes.source(Instructions::Emulated);
        let names: Vec<String> = text
            .split("extern \"C\" __global__ void ")
            .skip(1)
            .map(|rest| {
                let bounded = rest.strip_prefix("__launch_bounds__(");
                let rest = bounded.map_or(rest, |rest| rest.split_once(") ").unwrap().1);
                let name = &rest[..rest.find('(').unwrap()];
                format!("{{\"{name}\", {name}}}")
            })
            .collect();
        let source = [
            include_str!("emulator/prelude.cpp"),
            &text,
            &format!("#define KERNELS {}\n", names.join(", ")),
            include_str!("emulator/launch.cpp"),
        ]
        .concat();
        let mut hash = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(&source, &mut hash);
        let number = std::hash::Hasher::finish(&hash);
        let folder = std::env::temp_dir().join("foldglass-emulator");
        std::fs::create_dir_all(&folder).unwrap();
        let library = folder.join(format!("{number:x}.so"));
        let file = folder.join(format!("{number:x}.cpp"));
        // Tests that run at once in processes of their own share what is compiled: one compiles, the others wait.
        let lock = File::create(file.with_extension("lock")).unwrap();
        lock.lock().unwrap();
        if !library.exists() {
            std::fs::write(&file, source).unwrap();
            // A compiler that is killed must not leave a part of a library under its name.
            let made = library.with_extension("part");
            let done = Command::new("c++")
                .args(["-O2", "-w", "-shared", "-fPIC", "-std=c++17", "-o"])
                .arg(&made)
                .arg(&file)
                .status()
                .unwrap();
            assert!(done.success(), "the kernels compile as C++");
            std::fs::rename(made, &library).unwrap();
        }
        drop(lock);
        let path = CString::new(library.to_str().unwrap()).unwrap();
        // SAFETY: the library was just made, and `emulate` has this type in launch.cpp.
        let emulate = unsafe {
            let library = dlopen(path.as_ptr(), 2);
            assert!(!library.is_null());
            let found = dlsym(library, c"emulate".as_ptr());
            assert!(!found.is_null());
            std::mem::transmute::<*mut c_void, Emulate>(found)
        };
        Emulator {
            emulate,
            memory: Vec::new(),
        }
    }
}

impl Device for Emulator {
    fn name(&self) -> String {
        "emulated".into()
    }

    fn free(&self) -> Result<usize, BackendError> {
        Ok(1 << 33)
    }

    fn allocate(&mut self, bytes: usize) -> Result<Address, BackendError> {
        self.memory.push(vec![0; bytes + 2048]);
        let start = self.memory.last().unwrap().as_ptr() as u64;
        Ok(start.next_multiple_of(1024))
    }

    fn write(&mut self, to: Address, bytes: &[u8]) -> Result<(), BackendError> {
        // SAFETY: an address inside what was allocated.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
        Ok(())
    }

    fn read(&mut self, from: Address, bytes: &mut [u8]) -> Result<(), BackendError> {
        // SAFETY: an address inside what was allocated.
        unsafe {
            std::ptr::copy_nonoverlapping(from as *const u8, bytes.as_mut_ptr(), bytes.len())
        };
        Ok(())
    }

    fn launch(&mut self, launch: Launch, memory: &Memory, call: &Call) -> Result<(), BackendError> {
        let name = CString::new(launch.kernel).unwrap();
        let (x, y, z) = launch.grid;
        let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: as on a device.
        let found = unsafe {
            (self.emulate)(
                name.as_ptr(),
                x as c_int,
                y as c_int,
                z as c_int,
                launch.threads as c_int,
                launch.shared as c_int,
                std::ptr::from_ref(memory).cast(),
                std::ptr::from_ref(call).cast(),
            )
        };
        assert_eq!(found, 0, "kernel {}", launch.kernel);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    fn profile(&mut self, _: bool) -> Result<Vec<(&'static str, usize, f64)>, BackendError> {
        Ok(Vec::new())
    }
}

/// Two models whose tasks differ in size.
fn models(shape: NetworkShape) -> Vec<ModelSettings> {
    let model = |seed, square| ModelSettings {
        seed,
        square,
        entropy: 0.2,
        learning_rate: 1e-3,
    };
    let [first, second] = match shape.vocabulary {
        8 => [Operation::paper(), Operation::cyclic(2).unwrap()],
        v => [v * 3 / 4, v / 2].map(|q| Operation::cyclic(q).unwrap()),
    };
    vec![model(3, first), model(4, second)]
}

/// A back end of the kernels and one of the CPU, on the same weights.
fn both(
    settings: &FleetSettings,
    precision: Precision,
    change: &dyn Fn(&mut [f32]),
) -> (Cuda, Cpu) {
    let models = models(settings.shape);
    let sizes = sizes(settings, &models, precision).unwrap();
    let device = Box::new(Emulator::new(&sizes));
    let mut cuda = Cuda::on(settings, &models, sizes, device).unwrap();
    let mut cpu = on_cpu(settings, change);
    for model in 0..models.len() {
        cuda.restore(model, &cpu.state(model).unwrap()).unwrap();
        cuda.set_prior(model, &prior(settings, model)).unwrap();
    }
    (cuda, cpu)
}

/// The same on the CPU alone.
fn on_cpu(settings: &FleetSettings, change: &dyn Fn(&mut [f32])) -> Cpu {
    let models = models(settings.shape);
    let mut cpu = Cpu::new(settings, &models);
    for (number, model) in models.iter().enumerate() {
        let mut weights = Weights::draw(settings.shape, settings.initial, model.seed).values;
        for tensor in settings
            .shape
            .tensors()
            .iter()
            .filter(|t| t.sizes.len() == 1)
        {
            (tensor.place.clone()).for_each(|i| weights[i] += ((i * 7 % 11) as f32 - 5.0) / 40.0);
        }
        change(&mut weights);
        cpu.restore(number, &ModelState::new(weights)).unwrap();
        if settings.prior.is_some() {
            cpu.set_prior(number, &prior(settings, number)).unwrap();
        }
    }
    cpu
}

/// The weights to which a model is held, where the settings hold it.
fn prior(settings: &FleetSettings, model: usize) -> Vec<f32> {
    Weights::draw(settings.shape, WeightLaw::Pt, 20 + model as u64).values
}

fn compare_gradients(settings: &FleetSettings, precision: Precision, rows: usize, tolerance: f64) {
    compare_changed(settings, precision, rows, tolerance, &|_| ());
}

fn compare_changed(
    settings: &FleetSettings,
    precision: Precision,
    rows: usize,
    tolerance: f64,
    change: &dyn Fn(&mut [f32]),
) {
    let settings = &FleetSettings {
        prior: Some(Prior::initial(1.0)),
        ..settings.clone()
    };
    let (mut cuda, mut cpu) = both(settings, precision, change);
    let (mut batches, mut weights) = (Vec::new(), Vec::new());
    for model in models(settings.shape) {
        let q = model.square.q();
        let law = BatchLaw {
            square: &model.square,
            inputs: &SymbolLaw::uniform(q),
            lengths: &LengthLaw::equal((1..=settings.cap).collect()),
            drawn: LengthDraw::Sample,
            rows,
            group: 1,
            cap: settings.cap,
        };
        let mut batch = Batch::draw(&law, Numbers::new(5, Purpose::Training, 1));
        for sample in 0..rows {
            for (t, y) in batch.y_mut(sample).iter_mut().enumerate() {
                *y = ((sample * 7 + t * 3) % q) as u8;
            }
        }
        weights.push(
            (0..batch.tokens())
                .map(|i| TokenWeight {
                    policy: ((i * 5 % 7) as f32 - 3.0) / 50.0,
                    entropy: (i % 3) as f32 / 60.0,
                    divergence: (i % 4) as f32 / 40.0,
                })
                .collect::<Vec<_>>(),
        );
        batches.push(batch);
    }
    let found = cuda.gradients(&batches, &weights).unwrap();
    let expected = cpu.gradients(&batches, &weights).unwrap();
    for (model, (found, expected)) in found.iter().zip(&expected).enumerate() {
        for tensor in settings.shape.tensors() {
            let pairs = tensor
                .place
                .clone()
                .map(|i| (f64::from(found[i]), f64::from(expected[i])));
            let difference: f64 = pairs.clone().map(|(a, b)| (a - b).powi(2)).sum();
            let size: f64 = pairs.map(|(_, b)| b * b).sum();
            let relative = (difference / size).sqrt();
            let layout = settings.layout;
            assert!(
                relative < tolerance,
                "{layout:?} model {model} {}: {relative:e}",
                tensor.name
            );
        }
    }
}

fn small(norm: Norm) -> NetworkShape {
    NetworkShape {
        width: 64,
        mlp: 128,
        norm,
        ..NetworkShape::default()
    }
}

fn settings(shape: NetworkShape, layout: Layout) -> FleetSettings {
    FleetSettings {
        shape,
        layout,
        cap: 3,
        batch: 24,
        gate: Gate {
            samples: 24,
            ..Gate::default()
        },
        ..FleetSettings::default()
    }
}

#[test]
fn single_precision_gradients_are_those_of_the_cpu() {
    if compiler().is_none() {
        return;
    }
    for layout in LAYOUTS {
        for norm in [Norm::Rms, Norm::Layer] {
            compare_gradients(&settings(small(norm), layout), Precision::Tf32, 20, 2e-3);
        }
    }
}

#[test]
fn scores_far_below_the_best_keep_their_gradients() {
    if compiler().is_none() {
        return;
    }
    // Keys so long that scores differ by hundreds: most powers vanish.
    let settings = settings(small(Norm::Rms), Layout::PrefixFixed);
    let place = settings.shape.places().blocks[0].key.clone();
    compare_changed(&settings, Precision::Tf32, 20, 2e-3, &|weights| {
        weights[place.clone()].iter_mut().for_each(|w| *w *= 300.0);
    });
}

#[test]
fn bf16_gradients_are_those_of_the_cpu() {
    if compiler().is_none() {
        return;
    }
    for (layout, norm) in [
        (Layout::PrefixFixed, Norm::Rms),
        (Layout::Interleaved, Norm::Layer),
    ] {
        let shape = NetworkShape {
            norm,
            ..NetworkShape::default()
        };
        // Rows that fill one tile of 64 and a part of the next, and blocks of both halves.
        let settings = FleetSettings {
            batch: 80,
            ..settings(shape, layout)
        };
        compare_gradients(&settings, Precision::Bf16, 80, 1e-2);
    }
}

#[test]
fn larger_vocabularies_have_the_cpus_gradients() {
    if compiler().is_none() {
        return;
    }
    for vocabulary in [16, 32] {
        let shape = NetworkShape {
            vocabulary,
            ..NetworkShape::default()
        };
        let mut settings = FleetSettings {
            batch: 80,
            cap: 2,
            ..settings(shape, Layout::PrefixFixed)
        };
        compare_gradients(&settings, Precision::Bf16, 80, 1e-2);
        settings.shape.width = 64;
        settings.shape.mlp = 128;
        compare_gradients(&settings, Precision::Tf32, 20, 2e-3);
    }
}

#[test]
fn training_takes_the_cpus_steps() {
    if compiler().is_none() {
        return;
    }
    let grpo = TrainingMethod::Grpo {
        group: 8,
        clip: 0.2,
        epochs: 2,
    };
    let relabelling = TokenRelabelling {
        kind: Permutation::Full,
        fraction: 0.5,
        period: 1,
    };
    type Change = Box<dyn Fn(&mut FleetSettings)>;
    let changes: Vec<Change> = vec![
        Box::new(|_| ()),
        Box::new(|s| s.entropy = EntropyForm::SequenceMean),
        Box::new(|s| s.entropy = EntropyForm::Summed),
        Box::new(|s| s.entropy = EntropyForm::Return),
        Box::new(|s| s.method = TrainingMethod::Expert {}),
        Box::new(move |s| s.method = grpo),
        Box::new(move |s| s.relabelling = Some(relabelling)),
        Box::new(move |s| {
            let kind = Permutation::Transposition;
            s.relabelling = Some(TokenRelabelling {
                kind,
                ..relabelling
            });
        }),
        Box::new(|s| s.exploration = 0.3),
        Box::new(|s| s.prior = Some(Prior::initial(0.5))),
        Box::new(|s| {
            s.prior = Some(Prior::initial(0.5));
            s.entropy = EntropyForm::SequenceMean;
        }),
        Box::new(|s| {
            s.prior = Some(Prior::initial(0.5));
            s.entropy = EntropyForm::Return;
        }),
        Box::new(move |s| {
            s.prior = Some(Prior::initial(0.5));
            s.method = grpo;
        }),
        Box::new(|s| {
            s.adaptive = Some(Adaptive {
                right: 1000,
                most: 2,
            })
        }),
        Box::new(|s| {
            s.lengths = BatchLengths::Fixed {
                lengths: vec![1, 3],
                weights: Vec::new(),
                drawn: LengthDraw::Batch,
            };
        }),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut settings = FleetSettings {
            initial: WeightLaw::Fan,
            ..settings(small(Norm::Rms), Layout::PrefixFixed)
        };
        change(&mut settings);
        let (mut cuda, mut cpu) = both(&settings, Precision::Tf32, &|_| ());
        for first in 0..2 {
            let found = cuda.train(first, 1, &[2, 3]).unwrap();
            let expected = cpu.train(first, 1, &[2, 3]).unwrap();
            for (a, b) in found.iter().zip(&expected) {
                let near = |a: f64, b: f64| (a - b).abs() < 3e-3 * (0.1 + b.abs());
                assert_eq!(a.sampled as f32, b.sampled as f32, "change {number}");
                assert!(near(a.loss, b.loss), "change {number}: {a:?} {b:?}");
                assert!(near(a.entropy, b.entropy), "change {number}: {a:?} {b:?}");
                assert_eq!(a.kl.is_some(), b.kl.is_some());
                let [found, expected] = [a, b].map(|record| record.kl.unwrap_or(0.0));
                assert!(near(found, expected), "change {number}: {a:?} {b:?}");
                assert!(
                    near(a.gradient_norm, b.gradient_norm),
                    "{number}: {a:?} {b:?}"
                );
            }
        }
        for model in 0..2 {
            let (a, b) = (cuda.state(model).unwrap(), cpu.state(model).unwrap());
            assert_eq!(a.updates, b.updates, "change {number}");
            assert_eq!(a.gathered_batches, b.gathered_batches);
            let far = a.weights.iter().zip(&b.weights);
            let far = far.filter(|(a, b)| (*a - *b).abs() > 5e-4).count();
            assert!(far < a.weights.len() / 50, "change {number}: {far} weights");
        }
    }
}

/// Options of the optimiser in groups that are tried together, each as a change of settings.
fn optimiser_options() -> [Vec<fn(&mut FleetSettings)>; 4] {
    // Coefficients rise to 3, so that the entropy's part of the gradient is seen.
    let steps: [fn(&mut FleetSettings); 5] = [
        |s| s.clip_norm = Some(0.05),
        |s| s.weight_decay = 1.0,
        |s| s.schedule.warm_up = 2,
        |s| s.schedule.floor = 0.1,
        |s| {
            s.entropy_decay = Some(EntropyDecay {
                kind: DecayKind::Linear,
                to: 3.0,
                steps: 3,
            });
        },
    ];
    let advantages: [fn(&mut FleetSettings); 2] =
        [|s| s.baseline = Baseline::Length, |s| s.standardise = true];
    let gathered: [fn(&mut FleetSettings); 3] = [
        |s| s.clip_norm = Some(0.05),
        |s| {
            s.entropy_decay = Some(EntropyDecay {
                kind: DecayKind::Geometric,
                to: 3.0,
                steps: 2,
            });
        },
        |s| {
            s.adaptive = Some(Adaptive {
                right: 1000,
                most: 2,
            });
        },
    ];
    let held: [fn(&mut FleetSettings); 1] = [|s| s.prior = Some(Prior::initial(2.0))];
    [
        steps.to_vec(),
        advantages.to_vec(),
        gathered.to_vec(),
        held.to_vec(),
    ]
}

#[test]
fn options_of_the_optimiser_take_the_cpus_steps() {
    if compiler().is_none() {
        return;
    }
    let plain = FleetSettings {
        steps: 3,
        // Tokens that no policy decides are the same on both, however their last bits differ.
        exploration: 1.0,
        // So large that the length of a gradient shows in the step, which Adam else divides out.
        adam: Adam {
            epsilon: 1e-2,
            ..Adam::default()
        },
        ..settings(small(Norm::Rms), Layout::PrefixFixed)
    };
    let moves = |backend: &mut dyn Backend, start: &[Vec<f32>]| -> Vec<f64> {
        let of_model = |(model, start): (usize, &Vec<f32>)| {
            let now = backend.weights(model).unwrap().into_iter();
            now.zip(start)
                .map(|(w, s)| f64::from(w) - f64::from(*s))
                .collect::<Vec<f64>>()
        };
        start.iter().enumerate().flat_map(of_model).collect()
    };
    let relative = |one: &[f64], other: &[f64]| {
        let apart: f64 = one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum();
        (apart / other.iter().map(|b| b * b).sum::<f64>()).sqrt()
    };
    let compare = |settings: &FleetSettings| {
        let (mut cuda, mut cpu) = both(settings, Precision::Tf32, &|_| ());
        let start = [0, 1].map(|model| cpu.weights(model).unwrap());
        for first in 0..settings.steps {
            let found = cuda.train(first, 1, &[2, 3]).unwrap();
            let expected = cpu.train(first, 1, &[2, 3]).unwrap();
            for (model, (a, b)) in found.iter().zip(&expected).enumerate() {
                let near = |a: f64, b: f64| (a - b).abs() < 3e-3 * (0.1 + b.abs());
                let both = format!("after step {first}, model {model}: {a:?} {b:?}");
                assert_eq!(a.sampled as f32, b.sampled as f32, "{both}");
                assert!(near(a.loss, b.loss), "{both}");
                assert!(near(a.gradient_norm, b.gradient_norm), "{both}");
            }
        }
        let expected = moves(&mut cpu, &start);
        let apart = relative(&moves(&mut cuda, &start), &expected);
        assert!(apart < 1e-2, "{settings:?}: {apart:e}");
        expected
    };
    for group in optimiser_options() {
        let with = |left_out: Option<usize>| {
            let mut settings = plain.clone();
            let others = group
                .iter()
                .enumerate()
                .filter(|(i, _)| Some(*i) != left_out);
            others.for_each(|(_, change)| change(&mut settings));
            settings
        };
        let expected = compare(&with(None));
        // A kernel that left one of them out would be farther off than that.
        for left_out in 0..group.len() {
            let settings = with(Some(left_out));
            let mut cpu = on_cpu(&settings, &|_| ());
            let start = [0, 1].map(|model| cpu.weights(model).unwrap());
            cpu.train(0, settings.steps, &[2, 3]).unwrap();
            let effect = relative(&moves(&mut cpu, &start), &expected);
            assert!(effect > 3e-2, "option {left_out}: {effect:e}");
        }
    }
}

#[test]
fn batches_are_those_of_the_cpu() {
    if compiler().is_none() {
        return;
    }
    let number = |text: &str| parse(text).unwrap();
    let row = |row: [&str; 5]| row.map(number).to_vec();
    let product = [
        row(["1/2", "0", "1/4", "1/4", "0"]),
        row(["0", "0", "0", "0", "1"]),
        row(["1/5", "1/5", "1/5", "1/5", "1/5"]),
    ];
    let fixed = |weights: &[u64]| BatchLengths::Fixed {
        lengths: vec![1, 2, 3],
        weights: weights.to_vec(),
        drawn: LengthDraw::Sample,
    };
    let model = |seed| ModelSettings {
        seed,
        square: Operation::paper(),
        entropy: 0.0,
        learning_rate: 1e-3,
    };
    let models = [model(8), model(9)];
    for (inputs, lengths) in [
        (InputLaw::Uniform, fixed(&[])),
        (InputLaw::Uniform, fixed(&[1, 5, 2])),
        (InputLaw::Markov(number("9/10")), fixed(&[])),
        (InputLaw::Product(product.to_vec()), fixed(&[7, 1, 9])),
    ] {
        let settings = FleetSettings {
            inputs,
            lengths,
            ..settings(small(Norm::Rms), Layout::PrefixFixed)
        };
        let sizes = sizes(&settings, &models, Precision::Tf32).unwrap();
        let (samples, stride) = (sizes.samples, sizes.input_stride());
        let device = Box::new(Emulator::new(&sizes));
        let mut cuda = Cuda::on(&settings, &models, sizes, device).unwrap();
        let law = settings.lengths.law(3);
        cuda.write_lengths(&vec![law.clone(); 2]).unwrap();
        let call = Call {
            step: 5,
            samples: 24,
            ..cuda.call()
        };
        cuda.launch("draw_batch", (2, 1, 1), 256, 0, &call).unwrap();
        let mut x = vec![0; 2 * samples * stride];
        cuda.device.read(cuda.memory.x, &mut x).unwrap();
        let lengths = cuda.read_i32(cuda.memory.lengths, 2 * samples).unwrap();
        for (number, own) in models.iter().enumerate() {
            let batch_law = BatchLaw {
                square: &own.square,
                inputs: &settings.symbol_law(5).unwrap(),
                lengths: &law,
                drawn: LengthDraw::Sample,
                rows: 24,
                group: 1,
                cap: settings.cap,
            };
            let batch = Batch::draw(&batch_law, Numbers::new(own.seed, Purpose::Training, 5));
            for sample in 0..24 {
                let at = number * samples + sample;
                let length = batch.lengths()[sample];
                assert_eq!(lengths[at] as usize, length, "{:?}", settings.inputs);
                assert_eq!(
                    x[at * stride..][..length],
                    *batch.x(sample),
                    "{:?}",
                    settings.inputs
                );
            }
        }
    }
}

#[test]
fn imitation_takes_the_cpus_steps() {
    if compiler().is_none() {
        return;
    }
    let settings = settings(small(Norm::Rms), Layout::PrefixFixed);
    let (mut cuda, mut cpu) = both(&settings, Precision::Tf32, &|_| ());
    let lessons: Vec<Lesson> = (models(settings.shape)
        .into_iter()
        .zip([vec![3], vec![2, 3]]))
    .map(|(model, lengths)| {
        let task = Task::new(model.square, &InputLaw::Uniform, &lengths).unwrap();
        let class = Class::new(task, class::Shape::untied(1, 1)).unwrap();
        let code = random_code(&class, &mut Stream::new(model.seed, 1));
        Lesson::new(&code).unwrap()
    })
    .collect();
    let test = Test {
        purpose: Purpose::HeldOut,
        step: 0,
        samples: 24,
        decoding: Decoding::Greedy,
        lengths: (lessons.iter())
            .map(|l| LengthLaw::equal(l.lengths().to_vec()))
            .collect(),
    };
    let on: [&mut dyn Backend; 2] = [&mut cuda, &mut cpu];
    let [one, other] = on.map(|backend| {
        backend.teach(&lessons).unwrap();
        let losses = backend.imitate(0, 3, &[true, true]).unwrap();
        let alone = backend.imitate(3, 1, &[true, false]).unwrap();
        let updates = [0, 1].map(|m| backend.state(m).unwrap().updates);
        assert_eq!(updates, [4, 3]);
        (losses, alone[0], backend.agree(&test).unwrap())
    });
    let near = |a: f64, b: f64| (a - b).abs() < 2e-3 * b;
    assert!(near(one.0[0], other.0[0]) && near(one.0[1], other.0[1]));
    assert!(near(one.1, other.1), "{one:?} {other:?}");
    assert_eq!(one.2, other.2);
}

#[test]
fn without_a_compiler_the_tests_fail_in_ci_and_are_listed_elsewhere() {
    let test = concat!(module_path!(), "::imitation_takes_the_cpus_steps");
    let (_, test) = test.split_once("::").unwrap();
    tools::assert_needed(test, "c++");
}

#[test]
#[ignore = "writes the CUDA sources into the temporary folder, for a compiler's report"]
fn sources_are_written() {
    let folder = std::env::temp_dir().join("foldglass-sources");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, precision) in [("bf16", Precision::Bf16), ("tf32", Precision::Tf32)] {
        let sizes = sizes(
            &FleetSettings::default(),
            &models(NetworkShape::default()),
            precision,
        )
        .unwrap();
        let text = sizes.source(Instructions::Ptx);
        std::fs::write(folder.join(format!("{name}.cu")), text).unwrap();
    }
}
