//! Reads the flags of commands that train or read networks: sizes, layout, back end.

use std::cell::Cell;

use clap::Args;
use foldglass::Allowance;
use foldglass::memory::Bytes;
use foldglass_nn::backend::{Backend, BackendError};
use foldglass_nn::cpu::Cpu;
use foldglass_nn::cuda::{Cuda, Precision};
use foldglass_nn::fleet::FleetError;
use foldglass_nn::layout::Layout;
use foldglass_nn::settings::{ModelSettings, Settings, SettingsError};
use foldglass_nn::shape::{Norm, Shape};
use foldglass_nn::weights::InitialLaw;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{max_memory, positive};
use crate::error::Error;

/// Reads a word that settings have for a value; the message has all of them.
pub fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(text)).map_err(|error| error.to_string())
}

/// Reads a number above 0.
pub fn above_zero(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    let number = number.filter(|x: &f64| x.is_finite() && *x > 0.0);
    number.ok_or("a number above 0 is needed, such as 3e-4".to_owned())
}

/// The flags that say what network it is.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Network")]
pub struct NetworkArgs {
    /// The width D of the residual stream [default: 256]
    #[arg(long, value_name = "D", value_parser = positive, allow_negative_numbers = true)]
    width: Option<usize>,
    /// Attention heads; each has an even width [default: 4]
    #[arg(long, value_name = "H", value_parser = positive, allow_negative_numbers = true)]
    heads: Option<usize>,
    /// The width of the MLP [default: 1024]
    #[arg(long, value_name = "F", value_parser = positive, allow_negative_numbers = true)]
    mlp: Option<usize>,
    /// Tokens, the separator included: more than the task has symbols [default: 8]
    #[arg(long, value_name = "V", value_parser = positive, allow_negative_numbers = true)]
    vocabulary: Option<usize>,
    /// What norms divide by: rms, or layer (the mean subtracted) [default: rms]
    #[arg(long, value_name = "NORM", value_parser = word::<Norm>)]
    norm: Option<Norm>,
    /// Where inputs and tokens stand: prefix, prefix-fixed (inputs padded to the cap), causal (step t
    /// sees x_1..x_t), causal-fixed, interleaved, shared (x_t and y_t at one position) or
    /// shared-causal [default: prefix-fixed]
    #[arg(long, value_name = "LAYOUT", value_parser = word::<Layout>)]
    layout: Option<Layout>,
}

impl NetworkArgs {
    /// The sizes, where flags say nothing those of `shape`.
    pub fn shape(&self, shape: Shape) -> Shape {
        Shape {
            width: self.width.unwrap_or(shape.width),
            heads: self.heads.unwrap_or(shape.heads),
            mlp: self.mlp.unwrap_or(shape.mlp),
            vocabulary: self.vocabulary.unwrap_or(shape.vocabulary),
            norm: self.norm.unwrap_or(shape.norm),
            ..shape
        }
    }

    /// The layout, or another.
    pub fn layout(&self, layout: Layout) -> Layout {
        self.layout.unwrap_or(layout)
    }
}

/// The flag that says how weights are drawn.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Network")]
pub struct InitialArgs {
    /// The law of the first weights: pt (embedding N(0,1), matrices U(±1/sqrt(fan-in))), 02 (N(0,
    /// 0.02)) or fan (N(0, 1/fan-in)) [default: pt]
    #[arg(long, value_name = "LAW", value_parser = word::<InitialLaw>)]
    initial: Option<InitialLaw>,
}

impl InitialArgs {
    /// The law, or another.
    pub fn law(&self, law: InitialLaw) -> InitialLaw {
        self.initial.unwrap_or(law)
    }
}

/// The flags that say where it is computed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Machine")]
pub struct BackendArgs {
    /// Where to compute: cuda, cpu, or auto (a GPU where one can be used, else the CPU)
    #[arg(long, value_name = "BACKEND", default_value = "auto", value_parser = word::<Place>)]
    backend: Place,
    /// The GPU's arithmetic: bf16 (compute capability 9.0, width 256) or tf32 (8.0 or later)
    /// [default: bf16 where it can be]
    #[arg(long, value_name = "NUMBERS", value_parser = word::<Numbers>)]
    precision: Option<Numbers>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Place {
    Auto,
    Cpu,
    Cuda,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Numbers {
    Bf16,
    Tf32,
}

/// A back end that computes: what a run must be taken up on to go on as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Machine {
    /// The processor.
    Cpu,
    /// A GPU in bf16.
    Bf16,
    /// A GPU in TF32.
    Tf32,
}

impl Machine {
    fn make(
        self,
        settings: &Settings,
        models: &[ModelSettings],
    ) -> Result<Box<dyn Backend>, BackendError> {
        let precision = match self {
            Machine::Cpu => {
                check_memory(settings, models.len(), max_memory::available())?;
                return Ok(Box::new(Cpu::new(settings, models)));
            }
            Machine::Bf16 => Precision::Bf16,
            Machine::Tf32 => Precision::Tf32,
        };
        Ok(Box::new(Cuda::new(settings, models, precision)?))
    }
}

/// Refuses fleets whose weights, gradients and two means of Adam alone are more than there is.
fn check_memory(
    settings: &Settings,
    models: usize,
    allowance: Allowance,
) -> Result<(), BackendError> {
    let one = 4 * size_of::<f32>() as u128 * settings.shape.parameters() as u128;
    let needed = one.saturating_mul(models as u128);
    if needed <= allowance.0 {
        return Ok(());
    }
    Err(BackendError::Memory {
        needed: Bytes::of(needed),
        free: Bytes::of(allowance.0),
        models,
        fitting: usize::try_from(allowance.0 / one).unwrap_or(models),
    })
}

impl BackendArgs {
    /// Makes back ends; on `threads` threads, where they are the processor's.
    pub fn maker(&self, threads: Option<usize>) -> Result<Maker, Error> {
        if self.backend == Place::Cpu && self.precision.is_some() {
            return Err(Error::Usage(
                "--precision with --backend cpu: the CPU computes in single precision; it is \
                 accepted with --backend cuda or auto"
                    .to_owned(),
            ));
        }
        if let Some(threads) = threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            // Refused only where it was done before: one command makes one maker.
            let _ = pool.build_global();
        }
        let gpu = match self.precision {
            Some(Numbers::Bf16) => vec![Machine::Bf16],
            Some(Numbers::Tf32) => vec![Machine::Tf32],
            None => vec![Machine::Bf16, Machine::Tf32],
        };
        Ok(Maker {
            candidates: match self.backend {
                Place::Cpu => vec![Machine::Cpu],
                Place::Cuda => gpu,
                Place::Auto => [gpu, vec![Machine::Cpu]].concat(),
            },
            made: Cell::new(None),
        })
    }
}

/// Makes back ends, the first candidate that can be had, and from then on the same.
pub struct Maker {
    candidates: Vec<Machine>,
    made: Cell<Option<Machine>>,
}

impl Maker {
    /// A maker of one kind, such as a run was begun on.
    pub fn only(&self, machine: Machine) -> Result<Maker, Error> {
        if !self.candidates.contains(&machine) {
            let name = match machine {
                Machine::Cpu => "--backend cpu",
                Machine::Bf16 => "--backend cuda --precision bf16",
                Machine::Tf32 => "--backend cuda --precision tf32",
            };
            return Err(Error::Usage(format!(
                "the run was begun with {name}, and another back end would not go on to the last \
                 bit: accepted are {name} or --backend auto"
            )));
        }
        Ok(Maker {
            candidates: vec![machine],
            made: Cell::new(None),
        })
    }

    /// A back end for these models.
    pub fn make(
        &self,
        settings: &Settings,
        models: &[ModelSettings],
    ) -> Result<Box<dyn Backend>, BackendError> {
        if let Some(machine) = self.made.get() {
            return machine.make(settings, models);
        }
        let mut refused = None;
        for machine in &self.candidates {
            match machine.make(settings, models) {
                // The first says most: what comes after it is tried because it needs less.
                Err(error @ BackendError::Device(_)) => _ = refused.get_or_insert(error),
                Err(error) => return Err(error),
                Ok(backend) => {
                    self.made.set(Some(*machine));
                    return Ok(backend);
                }
            }
        }
        Err(refused.expect("there is a candidate"))
    }

    /// What was made.
    pub fn machine(&self) -> Option<Machine> {
        self.made.get()
    }
}

/// What a fleet says, with the flag that is meant.
pub fn named(error: FleetError) -> Error {
    match error {
        FleetError::Settings(error) => settings_named(&error),
        FleetError::Backend(error) => backend_named(&error),
        FleetError::Checkpoint(problem) => Error::Usage(format!("checkpoint: {problem}")),
    }
}

/// What a back end says, with the flag that is meant.
pub fn backend_named(error: &BackendError) -> Error {
    match error {
        BackendError::Device(_) => Error::Usage(format!("{error}: --backend cpu")),
        BackendError::Memory { .. } => Error::Usage(format!("--models: {error}")),
        BackendError::NotANumber { .. } => {
            Error::Failed(format!("{error}; a smaller --learning-rate may help"))
        }
        _ => Error::Failed(error.to_string()),
    }
}

fn settings_named(error: &SettingsError) -> Error {
    let flag = match error {
        SettingsError::Shape(_) => "--width, --heads, --mlp, --vocabulary",
        SettingsError::Range { what, .. } => match *what {
            "batch" => "--batch",
            "cap" => "--cap",
            "lengths" => "--lengths, --start",
            "gate period" => "--gate-every",
            "gate samples" => "--gate-samples",
            "gate above" => "--gate-above",
            "evaluation length" => "--test-length",
            "entropy" => "--entropy",
            "learning rate" => "--learning-rate",
            "exploration" => "--epsilon",
            "entropy form with grpo" => "--convention, --method",
            what if what.starts_with("adam") => "--adam",
            what if what.starts_with("grpo") => "--method",
            what if what.starts_with("relabelling") => "--noise",
            what if what.starts_with("adaptive") => "--adaptive",
            _ => return Error::Usage(error.to_string()),
        },
        _ => return Error::Usage(error.to_string()),
    };
    Error::Usage(format!("{flag}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_none_is_answered_with_those_that_are() {
        assert_eq!(word::<Layout>("causal-fixed"), Ok(Layout::CausalFixed));
        assert_eq!(word::<InitialLaw>("02"), Ok(InitialLaw::Small));
        let refused = word::<Layout>("suffix").unwrap_err();
        assert!(refused.contains("suffix") && refused.contains("`prefix-fixed`"));
    }

    #[test]
    fn a_fleet_that_does_not_fit_is_refused_with_one_that_does() {
        let settings = Settings::default();
        let room = Allowance(100_000_000);
        assert!(check_memory(&settings, 7, room).is_ok());
        let refused = check_memory(&settings, 8, room).unwrap_err().to_string();
        assert!(refused.contains("about 7 models fit"), "{refused}");
    }

    #[test]
    fn a_run_goes_on_only_where_it_was_begun() {
        let args = |backend, precision| BackendArgs { backend, precision };
        let auto = args(Place::Auto, None).maker(None).unwrap();
        assert_eq!(
            auto.only(Machine::Tf32).unwrap().candidates,
            [Machine::Tf32]
        );
        let cpu = args(Place::Cpu, None).maker(None).unwrap();
        let refused = cpu.only(Machine::Bf16).err().unwrap().to_string();
        assert!(refused.contains("--precision bf16"), "{refused}");
        let mixed = args(Place::Cpu, Some(Numbers::Tf32)).maker(None);
        assert!(mixed.err().unwrap().to_string().contains("--precision"));
    }
}
