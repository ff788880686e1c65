//! Reads the flags of commands that distil codes into networks.

use clap::Args;
use foldglass_nn::distill::Distillation;
use foldglass_nn::fleet::FleetError;
use foldglass_nn::settings::SettingsError;
use foldglass_study::Fields;
use foldglass_study::method::put;

use super::fleet::{InitialArgs, NetworkArgs, above_zero, named, network_settings};
use super::{count, positive};
use crate::error::Error;

/// How networks are distilled.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Distillation")]
pub struct DistillationArgs {
    /// Inputs of an update, 1 to 4096 [default: 1024]
    #[arg(short, long, value_name = "B", value_parser = positive, allow_negative_numbers = true)]
    batch: Option<usize>,
    /// Adam's rate [default: 3e-4]
    #[arg(long, value_name = "X", value_parser = above_zero, allow_hyphen_values = true)]
    learning_rate: Option<f64>,
    /// The most updates of a network [default: 60000]
    #[arg(short = 'n', long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    steps: Option<u64>,
    /// Compare networks with their codes every N updates [default: 500]
    #[arg(long, alias = "every", value_name = "N", value_parser = count)]
    #[arg(allow_negative_numbers = true)]
    compare_every: Option<u64>,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    initial: InitialArgs,
}

impl DistillationArgs {
    /// The distillation, where flags say nothing as in `base`.
    pub fn over(&self, mut base: Distillation) -> Distillation {
        base.shape = self.network.shape(base.shape);
        base.initial = self.initial.law(base.initial);
        base.layout = self.network.layout(base.layout);
        base.batch = self.batch.unwrap_or(base.batch);
        base.learning_rate = self.learning_rate.unwrap_or(base.learning_rate);
        base.steps = self.steps.unwrap_or(base.steps);
        base.every = self.compare_every.unwrap_or(base.every);
        base
    }
}

/// What the flags of a distillation hold, by name.
pub fn distillation_settings(distillation: &Distillation) -> Fields {
    let Distillation {
        shape,
        layout,
        initial,
        batch,
        learning_rate,
        steps,
        every,
        ..
    } = distillation;
    let mut fields = network_settings(shape, *layout, *initial);
    put(&mut fields, "batch", batch);
    put(&mut fields, "learning_rate", learning_rate);
    put(&mut fields, "steps", steps);
    put(&mut fields, "compare_every", every);
    fields
}

/// What a fleet of pupils says, with the flag that is meant: the cap is their longest length.
pub fn pupils_named(error: FleetError) -> Error {
    match &error {
        FleetError::Settings(SettingsError::Range {
            what: "cap",
            found,
            accepted,
        }) => Error::Usage(format!(
            "--lengths: {found} is too long; accepted: {accepted}"
        )),
        _ => named(error),
    }
}
