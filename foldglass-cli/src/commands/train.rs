//! Trains fleets of the paper's transformer by REINFORCE (paper, section 5, app. G.4 and G.5).
//!
//! Models are tasks x coefficients x rates x seeds, in lock step. With `--out` curves are on disk as
//! they come, and a run that was killed resumes to the same bytes.

mod flags;
mod report;
mod tensorboard;

use std::path::{Path, PathBuf};

use clap::Args;
use foldglass::Operation;
use foldglass::support::watch::Progress;
use foldglass_nn::backend::BackendError;
use foldglass_nn::fleet::{CurvePoint, Fleet, FleetError};
use foldglass_nn::origin::Origin;
use foldglass_nn::settings::{FleetSettings, ModelSettings};
use foldglass_nn::weights::Weights;
use foldglass_study::claims::LABEL;
use foldglass_study::disk::replace;
use foldglass_study::{StudyError, VERSION, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kept::{self, Names, RunDirectory, Trains};
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::fleet::{BackendArgs, InitialArgs, Machine, Maker, NetworkArgs, named};
use crate::flags::kept::KeptArgs;
use crate::flags::{count, max_memory, task, warn_of_random};
use crate::progress::Terminal;
use flags::{NumberList, QUICK, TrainingArgs};
use report::{AtBest, FleetReport, Model};
use tensorboard::{Events, Unwritten};

/// The flags of `train`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass train --quick --runs 4 --weights nets
      Four networks that learn products of two symbols, within a minute on a CPU.
  foldglass train --task z:5 --task quasigroup --task parity --entropy 0,0.01,0.03,0.1,0.3,1 --runs 8 --out runs/temperature
      The paper's 144 networks; rerun the command to resume.")]
pub struct TrainArgs {
    /// The multiplication table (z:5, parity, quasigroup, ..); may be repeated: models are
    /// trained on each [with --quick: z:5]
    #[arg(long, value_name = "TASK", required_unless_present = "quick", value_parser = task)]
    task: Vec<String>,
    /// Models per task, coefficient and rate; their seeds are --seed, --seed + 1, ..
    #[arg(short, long, alias = "models", value_name = "N", default_value = "1", value_parser = count)]
    #[arg(allow_negative_numbers = true)]
    runs: u64,
    #[arg(long, value_name = "C,..", value_parser = flags::coefficients)]
    #[arg(allow_hyphen_values = true)]
    entropy: Option<NumberList>,
    #[arg(long, value_name = "X,..", default_value = "3e-4", value_parser = flags::rates)]
    #[arg(allow_hyphen_values = true)]
    learning_rate: NumberList,
    /// A small network (width 64, batch 128, lengths 1 and 2, 1,500 steps) that learns in
    /// seconds on a CPU; other flags still count
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    method: TrainingArgs,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    initial: InitialArgs,
    #[command(flatten)]
    backend: BackendArgs,
    #[command(flatten)]
    kept: KeptArgs,
    #[arg(long, value_name = "STEPS", default_value = "100", value_parser = count)]
    #[arg(allow_negative_numbers = true)]
    record_every: u64,
    /// Also write curves here as event files for TensorBoard, one directory per model; points as often as
    /// --record-every says
    #[arg(long, value_name = "DIR")]
    tensorboard: Option<PathBuf>,
    /// Write the weights at the end to this directory, one safetensors file per model; with
    /// --keep best also those of the best gate
    #[arg(long, value_name = "DIR")]
    weights: Option<PathBuf>,
}

/// A model as a person names it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
struct Name {
    /// Its number in the fleet.
    model: usize,
    task: String,
    /// The entropy coefficient.
    c: f64,
    learning_rate: f64,
    seed: u64,
}

impl Name {
    /// The name of its files, without what they end in: `000_z-5_c0.3_s0`.
    fn file(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let task: String = self.task.chars().map(plain).take(60).collect();
        let Name { model, c, seed, .. } = self;
        format!("{model:03}_{task}_c{c}_s{seed}")
    }
}

/// A point of a curve as it is recorded.
#[derive(JsonSchema, Serialize, Deserialize)]
struct TrainLine {
    task: String,
    c: f64,
    learning_rate: f64,
    seed: u64,
    #[serde(flatten)]
    point: CurvePoint,
}

const NAMES: Names = Names {
    run: "train.json",
    lines: "curves.jsonl",
    result: "models.json",
};

const FORMAT: &str = "foldglass-train/1";

/// What a run is, as its file has it.
#[derive(JsonSchema, Serialize)]
struct TrainedAs<'a> {
    format: &'static str,
    version: &'static str,
    record_every: u64,
    settings: &'a FleetSettings,
    models: Vec<RunModel<'a>>,
}

#[derive(JsonSchema, Serialize)]
struct RunModel<'a> {
    #[serde(flatten)]
    name: &'a Name,
    square: &'a Operation,
}

/// A fleet to be trained, and what is recorded of it.
struct Training {
    settings: FleetSettings,
    /// The weights of a given prior.
    prior: Option<Weights>,
    models: Vec<ModelSettings>,
    names: Vec<Name>,
    record_every: u64,
}

/// A fleet under way.
struct TrainRun<'a> {
    training: &'a Training,
    fleet: Fleet,
    machine: Machine,
    last: Vec<CurvePoint>,
    events: Option<Events>,
}

impl TrainArgs {
    /// Trains the fleet, or resumes its training.
    pub fn run(&self, settings: &GlobalArgs) -> Result<FleetReport, Error> {
        let training = self.training(settings.seed)?;
        let maker = self.backend.maker(settings.threads)?;
        // Made before the long part, so that a wrong path is known at once.
        if let Some(path) = &self.weights {
            let made = std::fs::create_dir_all(path);
            made.map_err(|source| StudyError::write(path, source))?;
        }
        let observer = Terminal::new();
        let (mut run, mut directory) = match &self.kept.out {
            Some(path) => {
                let (run, directory) = training.take_up(path, &maker, &observer)?;
                (run, Some(directory))
            }
            None => (training.begin(&maker)?, None),
        };
        if let Some(path) = &self.tensorboard {
            let names: Vec<String> = training.names.iter().map(Name::file).collect();
            let events = Events::begin(path, &names, run.fleet.step());
            run.events = Some(events.map_err(unwritten)?);
        }
        let every = self.kept.checkpoint_every;
        let whole = kept::train(&mut run, directory.as_mut(), every, &observer)?;
        let trained = self.report(run, whole)?;
        if let Some(directory) = &directory
            && !trained.is_tested()
        {
            return Err(Error::Stopped(format!(
                "stopped: all steps are made and saved in {}; the same command tests the models",
                directory.path().display()
            )));
        }
        if let Some(directory) = &directory {
            directory.finish(&trained)?;
        }
        Ok(trained)
    }

    fn training(&self, seed: u64) -> Result<Training, Error> {
        let (settings, prior) = self.fleet_settings()?;
        let tasks = if self.task.is_empty() {
            vec![QUICK.task.to_owned()]
        } else {
            self.task.clone()
        };
        let default = if self.quick { QUICK.entropy } else { 0.0 };
        let coefficients = self
            .entropy
            .clone()
            .map_or(vec![default], |NumberList(list)| list);
        // The list of models alone; whether their weights fit, the back end decides.
        let lists = tasks.len() * coefficients.len() * self.learning_rate.0.len();
        let each = size_of::<Name>() + size_of::<ModelSettings>();
        let bytes = u128::from(self.runs).checked_mul((lists * each) as u128);
        max_memory::available().check(&format!("--runs {}", self.runs), bytes)?;
        let (mut models, mut names) = (Vec::new(), Vec::new());
        for task in &tasks {
            warn_of_random(task);
            let square: Operation = words::square(task, Path::new(""))?;
            for &c in &coefficients {
                for &learning_rate in &self.learning_rate.0 {
                    for number in 0..self.runs {
                        let seed = seed.wrapping_add(number);
                        names.push(Name {
                            model: models.len(),
                            task: task.clone(),
                            c,
                            learning_rate,
                            seed,
                        });
                        let mut model = ModelSettings::new(seed, square.clone());
                        model.entropy = c;
                        model.learning_rate = learning_rate;
                        models.push(model);
                    }
                }
            }
        }
        let checked = settings.check(&models);
        checked.map_err(|error| named(error.into()))?;
        Ok(Training {
            settings,
            prior,
            models,
            names,
            record_every: self.record_every,
        })
    }

    fn report(&self, run: TrainRun, whole: bool) -> Result<FleetReport, Error> {
        let TrainRun {
            training,
            mut fleet,
            machine,
            last,
            ..
        } = run;
        // A test takes long on a processor: who stopped it does not wait for it.
        let tested = |greedy: Result<Vec<Vec<f64>>, FleetError>| match greedy {
            Err(FleetError::Backend(BackendError::Stopped)) => Ok(None),
            greedy => greedy.map(Some).map_err(named),
        };
        let greedy = tested(training.greedy(&mut fleet))?;
        let at_best = match fleet.best() {
            [] => None,
            _ => tested(fleet.look_at_best(|fleet| training.greedy(fleet)).flatten())?,
        };
        let (step, lengths) = (fleet.step(), fleet.lengths().to_vec());
        let mut models = Vec::new();
        for (name, length) in training.names.iter().zip(lengths) {
            let of_model = |list: &Vec<Vec<f64>>| list.iter().map(|all| all[name.model]).collect();
            let own = || fleet.weights(name.model);
            let weights = self.write_weights(training, name, "", step, own)?;
            let best = match fleet.best().get(name.model) {
                Some(best) => {
                    let kept = || {
                        Ok(Weights {
                            shape: training.settings.shape,
                            values: best.weights.clone(),
                        })
                    };
                    let path = self.write_weights(training, name, ".best", best.step, kept)?;
                    Some(AtBest::new(best, at_best.as_ref().map(of_model), path))
                }
                None => None,
            };
            let greedy = greedy.as_ref().map(of_model);
            let last = last.get(name.model).map(|point| point.last);
            models.push(Model::new(
                name.clone(),
                step,
                length,
                greedy,
                last,
                weights,
                best,
            ));
        }
        Ok(FleetReport {
            back_end: machine,
            device: fleet.backend().name(),
            settings: training.settings.clone(),
            models,
            whole,
        })
    }

    fn write_weights(
        &self,
        training: &Training,
        name: &Name,
        which: &str,
        step: u64,
        weights: impl FnOnce() -> Result<Weights, FleetError>,
    ) -> Result<Option<PathBuf>, Error> {
        let Some(directory) = &self.weights else {
            return Ok(None);
        };
        let origin = Origin {
            settings: training.settings.clone(),
            model: training.models[name.model].clone(),
            step,
        };
        let path = directory.join(format!("{}{which}.safetensors", name.file()));
        let bytes = origin.write(&weights().map_err(named)?);
        let written = replace(&path, LABEL, &bytes);
        written.map_err(|source| StudyError::write(&path, source))?;
        Ok(Some(path))
    }
}

impl Trains for TrainRun<'_> {
    type Line = TrainLine;

    fn step(&self) -> u64 {
        self.fleet.step()
    }

    fn steps(&self) -> u64 {
        self.training.settings.steps
    }

    fn is_finished(&self) -> bool {
        self.step() >= self.steps()
    }

    fn advance(&mut self, steps: u64) -> Result<Vec<TrainLine>, Error> {
        let Some(points) = self.fleet.advance_by(steps).map_err(named)? else {
            return Ok(Vec::new());
        };
        self.last = points;
        let lines = self.training.recorded(&self.last);
        if let Some(events) = &mut self.events
            && !lines.is_empty()
        {
            events.add(&self.last).map_err(unwritten)?;
        }
        Ok(lines)
    }

    fn save(&mut self) -> Result<Vec<u8>, Error> {
        self.fleet.save().map_err(named)
    }

    fn take_up(&mut self, state: &[u8]) -> Result<(), FleetError> {
        self.fleet.take_up(state)
    }

    fn machine(&self) -> Machine {
        self.machine
    }

    fn news(&self) -> (Progress<'static>, String) {
        let progress = Progress {
            unit: "steps",
            done: self.step(),
            all: Some(self.steps()),
            share: None,
        };
        (progress, remark(&self.last))
    }
}

fn unwritten(Unwritten { path, source }: Unwritten) -> Error {
    StudyError::write(&path, source).into()
}

/// How a fleet is doing, in a few words.
fn remark(points: &[CurvePoint]) -> String {
    let longest = points.iter().map(|point| point.length).max().unwrap_or(0);
    let mean = points.iter().map(|point| point.gate).sum::<f64>() / points.len().max(1) as f64;
    format!("lengths to {longest}, gate at {mean:.2}")
}

impl Training {
    /// Greedy accuracy at lengths 1, 2, .. to the cap, of every model.
    fn greedy(&self, fleet: &mut Fleet) -> Result<Vec<Vec<f64>>, FleetError> {
        let inputs = self.settings.evaluation.inputs;
        let lengths = 1..=self.settings.cap;
        lengths.map(|t| fleet.accuracies(t, inputs)).collect()
    }

    /// What the run is, as its file has it.
    fn description(&self) -> Value {
        let model = |name| RunModel {
            name,
            square: &self.models[name.model].square,
        };
        let run = TrainedAs {
            format: FORMAT,
            version: VERSION,
            record_every: self.record_every,
            settings: &self.settings,
            models: self.names.iter().map(model).collect(),
        };
        serde_json::to_value(run).expect("plain data")
    }

    /// Begins in a directory, or resumes what is in it.
    fn take_up(
        &self,
        path: &Path,
        maker: &Maker,
        observer: &Terminal,
    ) -> Result<(TrainRun<'_>, RunDirectory), Error> {
        let begin = |maker: &Maker| self.begin(maker);
        let description = self.description();
        let begun = kept::begin_in(path, &NAMES, description, maker, observer, begin);
        let (mut run, mut directory) = begun?;
        // What the report says of the last step, where no more is made.
        let step = run.fleet.step();
        let recorded: Vec<TrainLine> = directory.read()?;
        let last = recorded.into_iter().filter(|line| line.point.step == step);
        run.last = last.map(|line| line.point).collect();
        Ok((run, directory))
    }

    fn begin(&self, maker: &Maker) -> Result<TrainRun<'_>, Error> {
        let make = |settings: &_, models: &_| maker.make(settings, models);
        let (settings, models) = (self.settings.clone(), self.models.clone());
        let fleet = match &self.prior {
            Some(prior) => Fleet::with_prior(settings, models, prior, &make),
            None => Fleet::new(settings, models, &make),
        };
        Ok(TrainRun {
            training: self,
            fleet: fleet.map_err(named)?,
            machine: maker.machine().expect("a fleet has a back end"),
            last: Vec::new(),
            events: None,
        })
    }

    /// The points that are recorded: those at which enough steps have passed, and the last.
    fn recorded(&self, points: &[CurvePoint]) -> Vec<TrainLine> {
        let step = points[0].step;
        // The point before this one, whether this call made it or an earlier one did.
        let period = self.settings.gate.period;
        let before = (step - 1) / period * period;
        let due = step / self.record_every > before / self.record_every;
        if !due && step < self.settings.steps {
            return Vec::new();
        }
        let line = |(point, name): (&CurvePoint, &Name)| TrainLine {
            task: name.task.clone(),
            c: name.c,
            learning_rate: name.learning_rate,
            seed: name.seed,
            point: point.clone(),
        };
        points.iter().zip(&self.names).map(line).collect()
    }
}
