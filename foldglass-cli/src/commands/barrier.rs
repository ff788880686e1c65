//! Follows an escape path by networks and measures the barriers between them (paper, app. G.4,
//! tab:escape).

mod lines;
mod networks;
mod report;

use clap::Args;
use foldglass::Class;
use foldglass_nn::barrier::LineScan;
use foldglass_nn::distill::Distillation;
use foldglass_nn::lesson::Lesson;
use foldglass_nn::machine;
use foldglass_nn::path::{ChainPathError, EscapePath};
use foldglass_nn::settings::SettingsError;

use super::distill::lesson_named;
use super::kept;
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::distill::{DistillationArgs, pupils_named};
use crate::flags::fleet::{BackendArgs, above_zero};
use crate::flags::kept::KeptArgs;
use crate::flags::{ClassArgs, count, whole};
use crate::progress::Terminal;
use lines::Measuring;
use networks::CodeRoute;
pub use report::BarrierReport;

/// The flags of `barrier`.
#[derive(Debug, Args)]
#[command(mut_arg("steps", |arg| arg.help("The most updates of a network [default: 200000]")))]
#[command(mut_arg("compare_every", |arg| arg.help("Compare networks with their codes every N updates [default: 100]")))]
#[command(mut_arg("tied", |arg| arg.hide(true)))]
#[command(after_help = "Examples:
  foldglass barrier --task z:5 --lengths 2 --out runs/barrier
      Networks along an escape path, and the lines between them.
  foldglass barrier --task z:5 --lengths 2 --points 129
      More points on every line.")]
pub struct BarrierArgs {
    /// The temperature of the chain that leads a random code to reward 1
    #[arg(short, long, value_name = "TAU", default_value = "1e-6", value_parser = above_zero)]
    #[arg(allow_hyphen_values = true)]
    tau: f64,
    /// Consecutive codes of each of three stretches: the path's first, middle and last
    #[arg(long, value_name = "N", default_value = "21", value_parser = several)]
    #[arg(allow_negative_numbers = true)]
    codes: usize,
    /// Points on the line between two networks, ends included
    #[arg(long, value_name = "N", default_value = "65", value_parser = several)]
    #[arg(allow_negative_numbers = true)]
    points: usize,
    /// The most changes that a chain proposes [default: 40000 per cell]
    #[arg(long, alias = "proposals", value_name = "N", value_parser = count)]
    #[arg(allow_negative_numbers = true)]
    max_proposals: Option<u64>,
    /// The most chains that are tried, of seeds --seed, --seed + 1, .., until one arrives
    #[arg(long, alias = "chains", value_name = "N", default_value = "20", value_parser = count)]
    #[arg(allow_negative_numbers = true)]
    max_chains: u64,
    #[command(flatten)]
    kept: KeptArgs,
    #[command(flatten)]
    distillation: DistillationArgs,
    #[command(flatten)]
    backend: BackendArgs,
    #[command(flatten)]
    class: ClassArgs,
}

fn several(text: &str) -> Result<usize, String> {
    let number = whole(text).filter(|&n: &usize| n > 1);
    number.ok_or("a whole number of at least 2 is needed".to_owned())
}

impl BarrierArgs {
    /// Finds the path, follows it, and measures the lines.
    pub fn run(&self, settings: &GlobalArgs) -> Result<BarrierReport, Error> {
        let class = self.class.class()?;
        let mut distillation = Distillation::default();
        distillation.every = 100;
        distillation.steps = 200_000;
        let distillation = self.distillation.over(distillation);
        let shape = distillation.shape.check(class.q());
        shape.map_err(|error| pupils_named(SettingsError::from(error).into()))?;
        // Every point of a line is a network, and they are made at the end.
        let bytes = machine::bytes(&distillation.settings(class.task().longest()), self.points);
        let what = format!("--points {}", self.points);
        self.class.allowance().check(&what, Some(bytes))?;
        let observer = Terminal::new();
        let (seed, path) = self.path(&class, settings.seed, &observer)?;
        let parts = path.three_stretches(self.codes as u64, &observer);
        let parts = parts.map_err(|_| stopped())?.ok_or_else(|| {
            Error::Usage(format!(
                "--codes {}: the path of seed {seed} has {} codes; accepted: 2 to that",
                self.codes,
                path.codes()
            ))
        })?;
        let lessons = (parts.iter())
            .map(|part| part.iter().map(Lesson::new).collect())
            .collect::<Result<Vec<Vec<Lesson>>, _>>()
            .map_err(|error| path_named(error.into()))?;
        let maker = self.backend.maker(settings.threads)?;
        let route = CodeRoute {
            distillation,
            lessons,
            square: class.task().square().clone(),
            seed: settings.seed,
        };
        let (mut run, mut directory) = match &self.kept.out {
            Some(out) => {
                let (run, directory) =
                    route.take_up(self.points, &class, out, &maker, &observer)?;
                (run, Some(directory))
            }
            None => (route.begin(&maker)?, None),
        };
        let every = self.kept.checkpoint_every;
        let whole = kept::train(&mut run, directory.as_mut(), every, &observer)?;
        let length = class.task().longest();
        let make = |settings: &_, models: &_| maker.make(settings, models);
        let distillation = route.distillation;
        let lines = LineScan::new(&distillation, &route.square, length, self.points, &make);
        let mut measuring = Measuring {
            lines: lines.map_err(pupils_named)?,
            step: run.following.step(),
            directory,
        };
        let measured = measuring.all(run.following.trail(), &observer)?;
        let barriers = BarrierReport {
            class: class.spec(),
            cells: class.cells(),
            inputs: (class.q() as u64).pow(length as u32),
            chain_seed: seed,
            path_codes: path.codes(),
            codes: self.codes,
            points: self.points,
            back_end: run.machine,
            distillation,
            max_proposals: self.max_proposals(&class),
            stretches: measured.stretches,
            stopped: !whole || measured.stopped,
        };
        match &measuring.directory {
            Some(directory) if barriers.stopped => Err(Error::Stopped(format!(
                "stopped: the networks and the lines so far are saved in {}; the same command goes \
                 on from there",
                directory.path().display()
            ))),
            Some(directory) => {
                directory.finish(&barriers)?;
                Ok(barriers)
            }
            None => Ok(barriers),
        }
    }

    /// The most changes that a chain proposes.
    fn max_proposals(&self, class: &Class) -> u64 {
        self.max_proposals.unwrap_or(40_000 * class.cells() as u64)
    }

    /// The first chain that arrives.
    fn path(
        &self,
        class: &Class,
        first: u64,
        observer: &Terminal,
    ) -> Result<(u64, EscapePath), Error> {
        let most = self.max_proposals(class);
        let mut late = None;
        for number in 0..self.max_chains {
            let seed = first.wrapping_add(number);
            match EscapePath::new(class, self.tau, seed, most, observer) {
                Ok(path) => return Ok((seed, path)),
                Err(error @ ChainPathError::NotThere { .. }) => late = Some(error),
                Err(ChainPathError::Stopped(_)) => return Err(stopped()),
                Err(error) => return Err(path_named(error)),
            }
            if observer.go_on().is_break() {
                return Err(stopped());
            }
        }
        let late = late.expect("at least one chain was tried");
        Err(Error::Failed(format!(
            "none of {} chains reached reward 1; {late}: more --max-proposals or --max-chains may",
            self.max_chains
        )))
    }
}

fn stopped() -> Error {
    Error::Stopped("stopped before there was a path to follow".to_owned())
}

/// Says which flag makes a class whose paths are not followed.
fn path_named(error: ChainPathError) -> Error {
    match error {
        ChainPathError::Lesson(error) => lesson_named(error),
        ChainPathError::NotUniform => Error::Usage(format!("--inputs: {error}")),
        ChainPathError::NotUntied => Error::Usage(format!("--tied, --lengths: {error}")),
        _ => Error::Usage(error.to_string()),
    }
}
