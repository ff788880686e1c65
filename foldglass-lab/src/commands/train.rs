//! Trains fleets of the paper's transformer by REINFORCE (paper, section 5, app. G.4 and G.5).
//!
//! Models are tasks x coefficients x rates x seeds, in lock step. With `--out` curves are on disk as
//! they come, and a run that was killed goes on to the same bytes.

mod directory;
mod flags;
mod pace;
mod report;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use foldglass::LatinSquare;
use foldglass::watch::{Observer, Progress};
use foldglass_nn::fleet::{CurvePoint, Fleet};
use foldglass_nn::origin::Origin;
use foldglass_nn::settings::{ModelSettings, Settings as FleetSettings};
use foldglass_study::claims::LABEL;
use foldglass_study::disk::replace;
use foldglass_study::{Error as StudyError, words};
use serde::Serialize;

use crate::cli::Settings;
use crate::error::Error;
use crate::flags::fleet::{BackendArgs, InitialArgs, Machine, Maker, NetworkArgs, named};
use crate::flags::{count, seconds, warn_of_random};
use crate::progress::Terminal;
use directory::Directory;
use flags::{List, MethodArgs, QUICK};
use pace::Pace;
use report::{Model, Trained};

/// The flags of `train`.
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// The multiplication table, as elsewhere (z:5, parity, quasigroup, ..); given several times,
    /// models of all of them [with --quick: z:5]
    #[arg(long, value_name = "TASK", required_unless_present = "quick")]
    task: Vec<String>,
    /// Models of every task, coefficient and rate; their seeds are --seed, --seed + 1, ..
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = count)]
    #[arg(allow_negative_numbers = true)]
    models: u64,
    /// The entropy coefficients c (the paper's 1/beta) [default: 0, with --quick 0.3]
    #[arg(short = 'c', long, value_name = "C,..", value_parser = flags::coefficients)]
    #[arg(allow_hyphen_values = true)]
    entropy: Option<List>,
    /// Adam's rates
    #[arg(long, value_name = "X,..", default_value = "3e-4", value_parser = flags::rates)]
    #[arg(allow_hyphen_values = true)]
    learning_rate: List,
    /// A small network (width 64, batch 128, lengths 1 and 2, 1,500 steps) that learns in
    /// seconds on a CPU; other flags still count
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    method: MethodArgs,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    initial: InitialArgs,
    #[command(flatten)]
    backend: BackendArgs,
    /// Keep the run here: curves.jsonl (a sealed line a model and point), the fleet's state, the
    /// accuracies at the end; the same command goes on with what was interrupted
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Record a point of every model's curve each time so many steps have passed; points are taken
    /// when the gate is asked
    #[arg(long, value_name = "STEPS", default_value = "100", value_parser = count)]
    #[arg(allow_negative_numbers = true)]
    record_every: u64,
    /// Save the whole fleet each time so many seconds have passed
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    #[arg(allow_negative_numbers = true)]
    checkpoint_every: Duration,
    /// Write the weights at the end to this directory, a safetensors file a model
    #[arg(long, value_name = "DIR")]
    weights: Option<PathBuf>,
}

/// A model as a person names it.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// The name of its weight file: `000_z-5_c0.3_s0.safetensors`.
    fn file(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let task: String = self.task.chars().map(plain).take(60).collect();
        let Name { model, c, seed, .. } = self;
        format!("{model:03}_{task}_c{c}_s{seed}.safetensors")
    }
}

/// A point of a curve as it is recorded.
#[derive(Serialize)]
struct CurveLine<'a> {
    task: &'a str,
    c: f64,
    learning_rate: f64,
    seed: u64,
    #[serde(flatten)]
    point: &'a CurvePoint,
}

/// A fleet to be trained, and what is recorded of it.
struct Training {
    settings: FleetSettings,
    models: Vec<ModelSettings>,
    names: Vec<Name>,
    record_every: u64,
}

/// A fleet under way.
struct UnderWay {
    fleet: Fleet,
    machine: Machine,
    directory: Option<Directory>,
    last: Vec<CurvePoint>,
}

impl TrainArgs {
    /// Trains the fleet, or goes on with it.
    pub fn run(&self, settings: &Settings) -> Result<Trained, Error> {
        let training = self.training(settings.seed)?;
        let maker = self.backend.maker(settings.threads)?;
        // Made before the long part, so that a wrong path is known at once.
        if let Some(path) = &self.weights {
            let made = std::fs::create_dir_all(path);
            made.map_err(|source| StudyError::write(path, source))?;
        }
        let observer = Terminal::new();
        let mut run = match &self.out {
            Some(path) => self.take_up(&training, path, &maker, &observer)?,
            None => training.begin(&maker)?,
        };
        let whole = self.advance(&training, &mut run, &observer)?;
        self.report(&training, run, whole)
    }

    fn training(&self, seed: u64) -> Result<Training, Error> {
        let settings = self.fleet_settings()?;
        let tasks = if self.task.is_empty() {
            vec![QUICK.task.to_owned()]
        } else {
            self.task.clone()
        };
        let default = if self.quick { QUICK.entropy } else { 0.0 };
        let coefficients = self
            .entropy
            .clone()
            .map_or(vec![default], |List(list)| list);
        let (mut models, mut names) = (Vec::new(), Vec::new());
        for task in &tasks {
            warn_of_random(task);
            let square: LatinSquare = words::square(task, Path::new(""), seed)?;
            for &c in &coefficients {
                for &learning_rate in &self.learning_rate.0 {
                    for number in 0..self.models {
                        let seed = seed.wrapping_add(number);
                        names.push(Name {
                            model: models.len(),
                            task: task.clone(),
                            c,
                            learning_rate,
                            seed,
                        });
                        models.push(ModelSettings {
                            seed,
                            square: square.clone(),
                            entropy: c,
                            learning_rate,
                        });
                    }
                }
            }
        }
        let checked = settings.check(&models);
        checked.map_err(|error| named(error.into()))?;
        Ok(Training {
            settings,
            models,
            names,
            record_every: self.record_every,
        })
    }

    /// Begins a run in a directory, or goes on with the one in it.
    fn take_up(
        &self,
        training: &Training,
        path: &Path,
        maker: &Maker,
        observer: &Terminal,
    ) -> Result<UnderWay, Error> {
        let mut directory = Directory::open(path)?;
        let begun = directory.begun(training)?;
        let Some(machine) = begun else {
            let run = training.begin(maker)?;
            directory.begin(training, run.machine)?;
            return Ok(UnderWay {
                directory: Some(directory),
                ..run
            });
        };
        let maker = maker.only(machine)?;
        let Some(fleet) = directory.saved(training, &maker, observer)? else {
            directory.cut(0)?;
            return Ok(UnderWay {
                directory: Some(directory),
                ..training.begin(&maker)?
            });
        };
        directory.cut(fleet.step())?;
        Ok(UnderWay {
            fleet,
            machine,
            directory: Some(directory),
            last: Vec::new(),
        })
    }

    /// Trains to the end; says whether it was reached.
    fn advance(
        &self,
        training: &Training,
        run: &mut UnderWay,
        observer: &Terminal,
    ) -> Result<bool, Error> {
        let steps = training.settings.steps;
        let begun = run.fleet.step();
        let mut saved = Instant::now();
        let mut pace = Pace::new();
        while run.fleet.step() < steps {
            let points = run.fleet.advance_in_pieces(|| pace.next(observer));
            if let Some(points) = points.map_err(named)? {
                training.record(&points, &mut run.directory)?;
                observer.remark(remark(&points));
                run.last = points;
            }
            let told = observer.hear(Progress {
                unit: "steps",
                done: run.fleet.step(),
                all: Some(steps),
                share: None,
            });
            let stopped = told.is_break() && run.fleet.step() < steps;
            if let Some(directory) = &mut run.directory
                && (stopped || saved.elapsed() >= self.checkpoint_every)
            {
                directory.save(&mut run.fleet)?;
                saved = Instant::now();
            }
            if stopped {
                return self.stopped(run);
            }
        }
        if let Some(directory) = &mut run.directory
            && begun < steps
        {
            directory.save(&mut run.fleet)?;
        }
        Ok(true)
    }

    /// With a directory, how to go on; without, what there is is reported.
    fn stopped(&self, run: &UnderWay) -> Result<bool, Error> {
        let Some(out) = &self.out else {
            return Ok(false);
        };
        Err(Error::Stopped(format!(
            "stopped: step {} of {} is saved in {}; the same command goes on from there",
            run.fleet.step(),
            run.fleet.settings().steps,
            out.display()
        )))
    }

    fn report(&self, training: &Training, run: UnderWay, whole: bool) -> Result<Trained, Error> {
        let UnderWay {
            mut fleet,
            machine,
            directory,
            last,
        } = run;
        let test = training.settings.evaluation;
        let greedy = (1..=training.settings.cap)
            .map(|length| fleet.accuracies(length, test.inputs))
            .collect::<Result<Vec<_>, _>>()
            .map_err(named)?;
        let (step, lengths) = (fleet.step(), fleet.lengths().to_vec());
        let mut models = Vec::new();
        for (name, length) in training.names.iter().zip(lengths) {
            let weights = self.write_weights(training, &mut fleet, name)?;
            let greedy = greedy.iter().map(|all| all[name.model]).collect();
            let last = last.get(name.model).map(|point| point.last);
            models.push(Model::new(
                name.clone(),
                step,
                length,
                greedy,
                last,
                weights,
            ));
        }
        let trained = Trained {
            back_end: machine,
            device: fleet.backend().name(),
            settings: training.settings.clone(),
            models,
            whole,
        };
        if let (Some(directory), true) = (&directory, whole) {
            directory.finish(&trained)?;
        }
        Ok(trained)
    }

    fn write_weights(
        &self,
        training: &Training,
        fleet: &mut Fleet,
        name: &Name,
    ) -> Result<Option<PathBuf>, Error> {
        let Some(directory) = &self.weights else {
            return Ok(None);
        };
        let origin = Origin {
            settings: training.settings.clone(),
            model: training.models[name.model].clone(),
            step: fleet.step(),
        };
        let weights = fleet.weights(name.model).map_err(named)?;
        let path = directory.join(name.file());
        let written = replace(&path, LABEL, &origin.write(&weights));
        written.map_err(|source| StudyError::write(&path, source))?;
        Ok(Some(path))
    }
}

/// How a fleet is doing, in a few words.
fn remark(points: &[CurvePoint]) -> String {
    let longest = points.iter().map(|point| point.length).max().unwrap_or(0);
    let mean = points.iter().map(|point| point.gate).sum::<f64>() / points.len().max(1) as f64;
    format!("lengths to {longest}, gate at {mean:.2}")
}

impl Training {
    fn begin(&self, maker: &Maker) -> Result<UnderWay, Error> {
        let make = |settings: &_, models: &_| maker.make(settings, models);
        let fleet = Fleet::new(self.settings.clone(), self.models.clone(), &make);
        Ok(UnderWay {
            fleet: fleet.map_err(named)?,
            machine: maker.machine().expect("a fleet has a back end"),
            directory: None,
            last: Vec::new(),
        })
    }

    /// Records points when enough steps have passed, and the last.
    fn record(
        &self,
        points: &[CurvePoint],
        directory: &mut Option<Directory>,
    ) -> Result<(), Error> {
        let Some(directory) = directory else {
            return Ok(());
        };
        let step = points[0].step;
        // The point before this one, whether this call made it or an earlier one did.
        let period = self.settings.gate.period;
        let before = (step - 1) / period * period;
        let due = step / self.record_every > before / self.record_every;
        if !due && step < self.settings.steps {
            return Ok(());
        }
        let lines: Vec<CurveLine> = (points.iter().zip(&self.names))
            .map(|(point, name)| CurveLine {
                task: &name.task,
                c: name.c,
                learning_rate: name.learning_rate,
                seed: name.seed,
                point,
            })
            .collect();
        directory.append(&lines)
    }
}
