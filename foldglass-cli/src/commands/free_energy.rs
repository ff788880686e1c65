//! Estimates free energies and sets the RLVR loss beside them (paper, section 3.2).

mod figure;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use foldglass::dynamics::cavi;
use foldglass::gibbs::free_energy::{self, EstimateError, FreeEnergyPoint};
use foldglass::gibbs::variational::{
    Annealed, LossError, Reached, annealed, loss_from, lowest_loss,
};
use foldglass::{Class, ClassSpec, Code, Policy, Stream};
use foldglass_study::StudyError;
use foldglass_study::claims::LABEL;
use foldglass_study::disk::replace;
use foldglass_study::parallel::threads;
use schemars::JsonSchema;
use serde::Serialize;

use super::parity::above_zero;
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::{ClassArgs, positive};
use crate::output::Report;
use crate::progress::Terminal;
use crate::report::{Cell, Column, Format, Table};

/// The flags of `free-energy`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass free-energy --task quasigroup --lengths 4 --tau 0.001,0.01
      ln Z and the mean reward with their errors.
  foldglass free-energy --task parity --lengths 3 --tied --tau 0.01
      A tied class, which no exact sum covers.")]
pub struct FreeEnergyArgs {
    /// Temperatures, above 0: 0.1, or several as 0.05,0.1,0.2
    #[arg(short, long, value_name = "TAU,..", value_delimiter = ',', value_parser = above_zero)]
    #[arg(allow_hyphen_values = true, required = true)]
    tau: Vec<f64>,
    /// Independent replicas, at least 4: half start at random codes, half at reward 1
    #[arg(long, value_name = "N", default_value = "8", value_parser = replicas)]
    #[arg(allow_negative_numbers = true)]
    replicas: usize,
    /// Sweeps in which a replica learns the weights of the rewards
    #[arg(long, value_name = "N", default_value = "50000", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    learning: usize,
    /// Sweeps of a replica with these weights
    #[arg(long, value_name = "N", default_value = "100000", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    sweeps: usize,
    /// Runs of CAVI at each temperature, of which the lowest loss counts
    #[arg(short, long, value_name = "N", default_value = "16", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    runs: usize,
    /// Iterations of each
    #[arg(long, value_name = "N", default_value = "2000", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    iterations: usize,
    /// Codes drawn for J-tilde where a tied class has too many to sum over
    #[arg(long, value_name = "N", default_value = "10000", value_parser = samples)]
    #[arg(allow_negative_numbers = true)]
    samples: usize,
    /// Draw the loss and the free energy against tau
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

fn replicas(text: &str) -> Result<usize, String> {
    let number = positive(text).ok().filter(|&n| n >= 4);
    number.ok_or("a whole number of at least 4 is needed".to_owned())
}

fn samples(text: &str) -> Result<usize, String> {
    let number = positive(text).ok().filter(|&n| n >= 2);
    number.ok_or("a whole number of at least 2 is needed".to_owned())
}

/// Streams of the codes drawn for J-tilde are numbered from here.
const DRAWN: u64 = 3 << 60;

impl FreeEnergyArgs {
    /// Samples codes and trains policies.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Estimated, Error> {
        let class = self.class.class()?;
        let work = free_energy::FreeEnergySettings::default()
            .with_seed(settings.seed)
            .with_replicas(self.replicas)
            .with_learning(self.learning as u64)
            .with_sweeps(self.sweeps as u64);
        let numbers = size_of::<f64>() as u128;
        for (flag, count) in [("--runs", self.runs), ("--samples", self.samples)] {
            let what = format!("{flag} {count}");
            self.class
                .allowance()
                .check(&what, Some(numbers * count as u128))?;
        }
        let observer = Terminal::new();
        let threads = threads(settings.threads, self.replicas);
        let context = self.class.context(&observer).with_threads(threads);
        let points = free_energy::estimate(&class, &self.tau, &work, context);
        let points = points.map_err(|error| match error {
            EstimateError::Count(error) => error.into(),
            _ => stopped(),
        })?;
        let mut all = Vec::with_capacity(points.len());
        for (number, point) in points.into_iter().enumerate() {
            observer.stage(format!("tau = {}", point.tau));
            all.push(self.beside(&class, settings.seed, number as u64, point, &observer)?);
        }
        let estimated = Estimated {
            class: class.spec(),
            points: all,
        };
        if let Some(path) = &self.svg {
            replace(path, LABEL, figure::draw(&estimated.points).as_bytes())
                .map_err(|source| StudyError::write(path, source))?;
        }
        Ok(estimated)
    }

    /// The RLVR loss beside a point.
    fn beside(
        &self,
        class: &Class,
        seed: u64,
        number: u64,
        point: FreeEnergyPoint,
        observer: &Terminal,
    ) -> Result<PointFields, Error> {
        let settings = cavi::CaviSettings::plain(point.tau, self.iterations);
        let runs = self.runs as u64;
        let context = self.class.context(observer);
        let failed = |error: LossError| match error {
            LossError::TooLarge(error) => error.into(),
            _ => stopped(),
        };
        let reached = lowest_loss(class, settings, seed, runs, context).map_err(failed)?;
        let fold = Policy::deterministic(&Code::fold(class));
        let seeded = loss_from(&fold, settings, seed, context).map_err(failed)?;
        let mut stream = Stream::new(seed, DRAWN + number);
        let annealed = annealed(&reached.policy, self.samples, &mut stream, context);
        let annealed = annealed.map_err(|_| stopped())?;
        Ok(PointFields::new(&point, &reached, &seeded, annealed))
    }
}

fn stopped() -> Error {
    Error::Stopped(
        "interrupted: nothing is reported before all replicas and runs are done".to_owned(),
    )
}

/// One temperature. Errors are halves of 95 % intervals; what is refused is left out, with the reason.
#[derive(JsonSchema, Serialize)]
pub struct PointFields {
    tau: f64,
    log_z: Option<f64>,
    log_z_error: Option<f64>,
    mean_reward: Option<f64>,
    mean_reward_error: Option<f64>,
    free_energy: Option<f64>,
    free_energy_error: Option<f64>,
    /// L = -J - tau sum H, the lowest that CAVI reached, and its parts.
    rlvr_loss: f64,
    rlvr_reward: f64,
    rlvr_entropy: f64,
    rlvr_residual: f64,
    /// L of the run of CAVI that starts at the code that tracks the fold, and its J.
    seeded_loss: f64,
    seeded_reward: f64,
    /// The lowest L with J-tilde in place of J, which bounds F in tied classes too.
    variational_loss: f64,
    annealed_reward: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    annealed_reward_error: Option<f64>,
    /// J - J-tilde; 0 in untied classes.
    reward_difference: f64,
    /// (L - F) / tau, in nats.
    gap: Option<f64>,
    /// The fewest round trips of a replica.
    trips: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl PointFields {
    fn new(
        point: &FreeEnergyPoint,
        reached: &Reached,
        seeded: &Reached,
        annealed: Annealed,
    ) -> PointFields {
        let held = point.outcome.as_ref().ok();
        let free_energy = held.map(|held| -point.tau * held.log_z.value);
        let (j_tilde, error) = match annealed {
            Annealed::Same => (reached.reward, None),
            Annealed::Exact(sum) => (sum, None),
            Annealed::Sampled { mean, error } => (mean, Some(error)),
        };
        PointFields {
            tau: point.tau,
            log_z: held.map(|held| held.log_z.value),
            log_z_error: held.map(|held| held.log_z.error),
            mean_reward: held.map(|held| held.mean_reward.value),
            mean_reward_error: held.map(|held| held.mean_reward.error),
            free_energy,
            free_energy_error: held.map(|held| point.tau * held.log_z.error),
            rlvr_loss: reached.loss,
            rlvr_reward: reached.reward,
            rlvr_entropy: reached.entropy,
            rlvr_residual: reached.residual,
            seeded_loss: seeded.loss,
            seeded_reward: seeded.reward,
            variational_loss: -j_tilde - point.tau * reached.entropy,
            annealed_reward: j_tilde,
            annealed_reward_error: error,
            reward_difference: reached.reward - j_tilde,
            gap: free_energy.map(|free_energy| (reached.loss - free_energy) / point.tau),
            trips: point.trips,
            refused: point.outcome.as_ref().err().map(ToString::to_string),
        }
    }
}

/// What the columns contain.
const LEGEND: &str = "\
ln Z, mean J     over all codes at tau, by replicas; +- is half a 95 % interval
F                the free energy, -tau ln Z
L (CAVI)         the lowest loss -J - tau H of RLVR, H the entropy of all cells; its J: the reward there
J-tilde          the mean reward of codes drawn from that policy cell by cell: J itself in untied classes
(L-F)/tau        how far L is above F, in nats; below 0 only in tied classes or by the errors of F
L from the fold  the loss of a run that starts at the code which multiplies step by step
trips            the fewest round trips of a replica between rewards at chance and high ones; below 4 nothing is estimated
";

/// What `free-energy` found.
#[derive(JsonSchema, Serialize)]
pub struct Estimated {
    #[serde(skip)]
    class: ClassSpec,
    points: Vec<PointFields>,
}

impl Estimated {
    fn table(&self) -> Table {
        let columns = [
            Column::numbers("tau"),
            Column::numbers("ln Z").key("log_z"),
            Column::numbers("+-").key("log_z_error"),
            Column::numbers("mean J").key("mean_reward"),
            Column::numbers("+-").key("mean_reward_error"),
            Column::numbers("F").key("free_energy"),
            Column::numbers("L (CAVI)").key("rlvr_loss"),
            Column::numbers("its J").key("rlvr_reward"),
            Column::numbers("J-tilde").key("annealed_reward"),
            Column::numbers("(L-F)/tau").key("gap"),
            Column::numbers("L from the fold").key("seeded_loss"),
            Column::numbers("trips"),
        ];
        let row = |point: &PointFields| {
            [
                point.tau.into(),
                Cell::or_missing(point.log_z),
                Cell::or_missing(point.log_z_error),
                Cell::or_missing(point.mean_reward),
                Cell::or_missing(point.mean_reward_error),
                Cell::or_missing(point.free_energy),
                point.rlvr_loss.into(),
                point.rlvr_reward.into(),
                point.annealed_reward.into(),
                Cell::or_missing(point.gap),
                point.seeded_loss.into(),
                point.trips.into(),
            ]
        };
        Table::new(columns).rows(self.points.iter().map(row))
    }
}

impl Report for Estimated {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.clone())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table().write_text(out)?;
        write!(out, "\n{LEGEND}")?;
        for point in &self.points {
            if let Some(reason) = &point.refused {
                writeln!(out, "\ntau = {} is refused: {reason}", point.tau)?;
            }
        }
        Ok(())
    }

    fn failure(&self) -> Option<String> {
        let refused = self.points.iter().filter(|point| point.refused.is_some());
        let count = refused.count();
        let of = self.points.len();
        (count > 0).then(|| format!("{count} of {of} temperatures are refused"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_four_replicas_and_two_samples_at_least() {
        assert_eq!((replicas("4"), samples("2")), (Ok(4), Ok(2)));
        for bad in ["3", "0", "-4", "x"] {
            assert!(replicas(bad).is_err(), "{bad}");
        }
        assert!(samples("1").is_err());
    }
}
