//! Reads the flags of commands that train or read networks: sizes, layout, back end.

use clap::Args;
use foldglass_nn::backend::BackendError;
use foldglass_nn::fleet::FleetError;
use foldglass_nn::layout::Layout;
pub use foldglass_nn::machine::{Machine, Maker};
use foldglass_nn::machine::{Place, Precision};
use foldglass_nn::settings::SettingsError;
use foldglass_nn::shape::{NetworkShape, Norm};
use foldglass_nn::weights::WeightLaw;
use foldglass_study::Fields;
use foldglass_study::method::put;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{max_memory, positive};
use crate::error::Error;
use crate::progress::stop;

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
    #[arg(long, value_name = "D", value_parser = positive, allow_negative_numbers = true)]
    width: Option<usize>,
    #[arg(long, value_name = "H", value_parser = positive, allow_negative_numbers = true)]
    heads: Option<usize>,
    #[arg(long, value_name = "F", value_parser = positive, allow_negative_numbers = true)]
    mlp: Option<usize>,
    #[arg(long, value_name = "V", value_parser = positive, allow_negative_numbers = true)]
    vocabulary: Option<usize>,
    #[arg(long, value_name = "NORM", value_parser = word::<Norm>)]
    norm: Option<Norm>,
    #[arg(long, value_name = "LAYOUT", value_parser = word::<Layout>)]
    layout: Option<Layout>,
}

impl NetworkArgs {
    /// The sizes, where flags say nothing those of `shape`.
    pub fn shape(&self, shape: NetworkShape) -> NetworkShape {
        NetworkShape {
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
    #[arg(long, alias = "initial", value_name = "LAW", value_parser = word::<WeightLaw>)]
    init: Option<WeightLaw>,
}

impl InitialArgs {
    /// The law, or another.
    pub fn law(&self, law: WeightLaw) -> WeightLaw {
        self.init.unwrap_or(law)
    }
}

/// What the flags of a network hold, by name.
pub fn network_settings(shape: &NetworkShape, layout: Layout, init: WeightLaw) -> Fields {
    let mut fields = Fields::new();
    put(&mut fields, "width", shape.width);
    put(&mut fields, "heads", shape.heads);
    put(&mut fields, "mlp", shape.mlp);
    put(&mut fields, "vocabulary", shape.vocabulary);
    put(&mut fields, "norm", shape.norm);
    put(&mut fields, "layout", layout);
    put(&mut fields, "init", init);
    fields
}

/// The flags that say where it is computed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Machine")]
pub struct BackendArgs {
    #[arg(long, value_name = "BACKEND", default_value = "auto", value_parser = word::<Place>)]
    backend: Place,
    #[arg(long, value_name = "NUMBERS", value_parser = word::<Precision>)]
    precision: Option<Precision>,
}

impl BackendArgs {
    /// Makes back ends; on `threads` threads, where they are the processor's.
    pub fn maker(&self, threads: Option<usize>) -> Result<Maker, Error> {
        if let Some(threads) = threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            // Refused only where it was done before: one command makes one maker.
            let _ = pool.build_global();
        }
        let made = Maker::new(self.backend, self.precision, max_memory::available());
        made.map(|maker| maker.heeding(stop()))
            .map_err(|error| Error::Usage(format!("--precision with --backend cpu: {error}")))
    }
}

/// A maker of the kind that a run was begun on, where that was asked for.
pub fn only(maker: &Maker, machine: Machine) -> Result<Maker, Error> {
    let name = match machine {
        Machine::Cpu => "--backend cpu",
        Machine::Bf16 => "--backend cuda --precision bf16",
        Machine::Tf32 => "--backend cuda --precision tf32",
    };
    maker.only(machine).ok_or_else(|| {
        Error::Usage(format!(
            "the run was begun with {name}, and another back end would not give the same bits: \
             accepted are {name} or --backend auto"
        ))
    })
}

/// What a fleet says, with the flag that is meant.
pub fn named(error: FleetError) -> Error {
    match error {
        FleetError::Settings(error) => settings_named(&error),
        FleetError::Backend(error) => backend_named(&error),
        FleetError::Checkpoint(problem) => Error::Usage(format!("checkpoint: {problem}")),
        _ => Error::Failed(error.to_string()),
    }
}

/// What a back end says, with the flag that is meant.
pub fn backend_named(error: &BackendError) -> Error {
    match error {
        BackendError::Device(_) => Error::Usage(format!("{error}: --backend cpu")),
        BackendError::Memory { .. } => Error::Usage(format!("--runs: {error}")),
        BackendError::NotANumber { .. } => {
            Error::Failed(format!("{error}; a smaller --learning-rate may help"))
        }
        BackendError::Stopped => Error::Stopped("stopped: nothing is reported".to_owned()),
        _ => Error::Failed(error.to_string()),
    }
}

fn settings_named(error: &SettingsError) -> Error {
    let flags: Vec<String> = (foldglass_study::words::of_setting(error).iter())
        .map(|word| format!("--{word}"))
        .collect();
    if flags.is_empty() {
        return Error::Usage(error.to_string());
    }
    Error::Usage(format!("{}: {error}", flags.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_none_is_answered_with_those_that_are() {
        assert_eq!(word::<Layout>("causal-fixed"), Ok(Layout::CausalFixed));
        assert_eq!(word::<WeightLaw>("02"), Ok(WeightLaw::Small));
        let refused = word::<Layout>("suffix").unwrap_err();
        assert!(refused.contains("suffix") && refused.contains("`prefix-fixed`"));
    }

    #[test]
    fn a_run_goes_on_only_where_it_was_begun() {
        let args = |backend, precision| BackendArgs { backend, precision };
        let cpu = args(Place::Cpu, None).maker(None).unwrap();
        let refused = only(&cpu, Machine::Bf16).err().unwrap().to_string();
        assert!(refused.contains("--precision bf16"), "{refused}");
        let mixed = args(Place::Cpu, Some(Precision::Tf32)).maker(None);
        assert!(mixed.err().unwrap().to_string().contains("--precision"));
    }
}
