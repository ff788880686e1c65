//! Chooses where a fleet is computed: a GPU where one can be used, else the processor.

pub use crate::backend::Precision;
use crate::backend::{Backend, BackendError};
use crate::cpu::Cpu;
#[cfg(feature = "cuda")]
use crate::cuda::Cuda;
use crate::settings::{FleetSettings, ModelSettings};
use foldglass::Allowance;
use foldglass::support::memory::Bytes;
use foldglass::support::watch::Stop;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use thiserror::Error;

/// The back end that a person asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A GPU where one can be used, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// A GPU.
    Cuda,
}

/// A back end that computes: what a run must be taken up on to go on as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
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
        settings: &FleetSettings,
        models: &[ModelSettings],
        allowance: Allowance,
    ) -> Result<Box<dyn Backend>, BackendError> {
        if self == Machine::Cpu {
            check_memory(settings, models.len(), allowance)?;
            return Ok(Box::new(Cpu::new(settings, models)));
        }
        self.on_gpu(settings, models)
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(
        self,
        settings: &FleetSettings,
        models: &[ModelSettings],
    ) -> Result<Box<dyn Backend>, BackendError> {
        let precision = match self {
            Machine::Bf16 => Precision::Bf16,
            _ => Precision::Tf32,
        };
        Ok(Box::new(Cuda::new(settings, models, precision)?))
    }

    #[cfg(not(feature = "cuda"))]
    fn on_gpu(
        self,
        _: &FleetSettings,
        _: &[ModelSettings],
    ) -> Result<Box<dyn Backend>, BackendError> {
        let problem = "this build has no CUDA (its feature `cuda` was left out)";
        Err(BackendError::Device(problem.to_owned()))
    }
}

/// The bytes of a fleet's weights, gradients, two means of Adam and, where there is one, prior.
pub fn bytes(settings: &FleetSettings, models: usize) -> u128 {
    let copies = 4 + usize::from(settings.prior.is_some());
    let one = (copies * size_of::<f32>()) as u128 * settings.shape.parameters() as u128;
    one.saturating_mul(models as u128)
}

/// Refuses fleets whose numbers alone are more than there is.
fn check_memory(
    settings: &FleetSettings,
    models: usize,
    allowance: Allowance,
) -> Result<(), BackendError> {
    let needed = bytes(settings, models);
    if needed <= allowance.0 {
        return Ok(());
    }
    Err(BackendError::Memory {
        needed: Bytes::of(needed),
        free: Bytes::of(allowance.0),
        models,
        fitting: usize::try_from(allowance.0 / bytes(settings, 1)).unwrap_or(models),
    })
}

/// A precision was asked of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the CPU computes in single precision; a precision is accepted with cuda or auto")]
pub struct PrecisionOfCpu;

/// Makes back ends, the first candidate that can be had, and from then on the same.
pub struct Maker {
    candidates: Vec<Machine>,
    allowance: Allowance,
    made: OnceLock<Machine>,
    stop: Option<Stop>,
}

impl Maker {
    /// Makers of the back end asked for, in a precision where one is asked for, in so much memory.
    pub fn new(
        place: Place,
        precision: Option<Precision>,
        allowance: Allowance,
    ) -> Result<Maker, PrecisionOfCpu> {
        let gpu = match precision {
            Some(_) if place == Place::Cpu => return Err(PrecisionOfCpu),
            Some(Precision::Bf16) => vec![Machine::Bf16],
            Some(Precision::Tf32) => vec![Machine::Tf32],
            None => vec![Machine::Bf16, Machine::Tf32],
        };
        Ok(Maker {
            candidates: match place {
                Place::Cpu => vec![Machine::Cpu],
                Place::Cuda => gpu,
                Place::Auto => [gpu, vec![Machine::Cpu]].concat(),
            },
            allowance,
            made: OnceLock::new(),
            stop: None,
        })
    }

    /// The same, its back ends asking this within steps that take long; see [`Backend::heed`].
    pub fn heeding(self, stop: Stop) -> Maker {
        Maker {
            stop: Some(stop),
            ..self
        }
    }

    /// A maker of one kind, such as a run was begun on; none where that was not asked for.
    pub fn only(&self, machine: Machine) -> Option<Maker> {
        self.candidates.contains(&machine).then(|| Maker {
            candidates: vec![machine],
            allowance: self.allowance,
            made: OnceLock::new(),
            stop: self.stop.clone(),
        })
    }

    /// A back end for these models.
    pub fn make(
        &self,
        settings: &FleetSettings,
        models: &[ModelSettings],
    ) -> Result<Box<dyn Backend>, BackendError> {
        let mut backend = self.first_of(settings, models)?;
        if let Some(stop) = &self.stop {
            backend.heed(stop.clone());
        }
        Ok(backend)
    }

    fn first_of(
        &self,
        settings: &FleetSettings,
        models: &[ModelSettings],
    ) -> Result<Box<dyn Backend>, BackendError> {
        if let Some(machine) = self.made.get() {
            return machine.make(settings, models, self.allowance);
        }
        let mut refused = None;
        for &machine in &self.candidates {
            match machine.make(settings, models, self.allowance) {
                // The first says most: what comes after it is tried because it needs less.
                Err(error @ BackendError::Device(_)) => _ = refused.get_or_insert(error),
                Err(error) => return Err(error),
                Ok(backend) => {
                    self.made.get_or_init(|| machine);
                    return Ok(backend);
                }
            }
        }
        Err(refused.expect("there is a candidate"))
    }

    /// What was made.
    pub fn machine(&self) -> Option<Machine> {
        self.made.get().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_that_does_not_fit_is_refused_with_one_that_does() {
        let settings = FleetSettings::default();
        let room = Allowance(100_000_000);
        assert!(check_memory(&settings, 7, room).is_ok());
        let refused = check_memory(&settings, 8, room).unwrap_err().to_string();
        assert!(refused.contains("about 7 models fit"), "{refused}");
    }

    #[test]
    fn a_run_goes_on_only_where_it_was_begun() {
        let maker = |place, numbers| Maker::new(place, numbers, Allowance::default());
        let auto = maker(Place::Auto, None).unwrap();
        let only = auto.only(Machine::Tf32).unwrap();
        assert_eq!(only.candidates, [Machine::Tf32]);
        let cpu = maker(Place::Cpu, None).unwrap();
        assert!(cpu.only(Machine::Bf16).is_none());
        let mixed = maker(Place::Cpu, Some(Precision::Tf32));
        assert_eq!(mixed.err(), Some(PrecisionOfCpu));
    }
}
