//! Distils codes into networks and measures how far they agree (paper, app. G.4, tab:containment).

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass::dynamics::chain::random_code;
use foldglass::support::watch::Progress;
use foldglass::{Class, ClassSpec, Code, Reward, Stream, reward::count as counting};
use foldglass_nn::distill::{self, Distillation, Distilling, Pupil};
use foldglass_nn::fleet::FleetError;
use foldglass_nn::lesson::{Lesson, LessonError};
use foldglass_nn::machine;
use foldglass_nn::origin::Origin;
use foldglass_nn::settings::{ModelSettings, SettingsError};
use foldglass_nn::weights::Weights;
use foldglass_study::claims::LABEL;
use foldglass_study::disk::replace;
use foldglass_study::tables::Source;
use foldglass_study::{Fields, StudyError, VERSION};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::kept::{self, Names, RunDirectory, Trains};
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::distill::{DistillationArgs, distillation_settings, pupils_named};
use crate::flags::fleet::{BackendArgs, Machine, Maker};
use crate::flags::kept::KeptArgs;
use crate::flags::table::one_code;
use crate::flags::{ClassArgs, count, positive, share};
use crate::output::Report;
use crate::progress::Terminal;
use crate::report::{Cell, Column, Digits, Format, Table};

/// The flags of `distill`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass distill --task z:5 --lengths 4 --runs 2 --out runs/distill
      Teach two networks a code of a class.
  foldglass distill --code runs.json#0 --runs 2
      Teach networks the code of a file.")]
pub struct DistillArgs {
    /// Networks, each with a random code of the class as its teacher; their seeds are --seed,
    /// --seed + 1, ..
    #[arg(short, long, alias = "networks", value_name = "N", default_value = "3")]
    #[arg(value_parser = count, allow_negative_numbers = true)]
    runs: u64,
    /// The teacher of all networks, in place of random codes: a code file, FILE#N for one of
    /// several, - for stdin
    #[arg(short, long, value_name = "FILE")]
    code: Option<Source>,
    /// A network is done when it emits at least this share of its code's tokens
    #[arg(long, value_name = "SHARE", default_value = "0.999", value_parser = share)]
    #[arg(allow_hyphen_values = true)]
    target: f64,
    /// Held-out inputs on which it is compared, the network generating from its own tokens
    #[arg(long, value_name = "N", default_value = "2000", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    held_out: usize,
    /// Write the weights at the end to this directory, one safetensors file per network
    #[arg(long, value_name = "DIR")]
    weights: Option<PathBuf>,
    #[command(flatten)]
    kept: KeptArgs,
    #[command(flatten)]
    distillation: DistillationArgs,
    #[command(flatten)]
    backend: BackendArgs,
    #[command(flatten)]
    class: ClassArgs,
}

impl DistillArgs {
    /// Distils the codes.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Distilled, Error> {
        let mut distillation = self.distillation.over(Distillation::default());
        distillation.target = self.target;
        distillation.held_out = self.held_out;
        let (class, teachers) = self.teachers(&distillation, settings.seed)?;
        if let Some(path) = &self.weights {
            let made = std::fs::create_dir_all(path);
            made.map_err(|source| StudyError::write(path, source))?;
        }
        let pupils = (teachers.iter().zip(0..))
            .map(|(code, number)| pupil(code, settings.seed.wrapping_add(number)))
            .collect::<Result<Vec<_>, _>>()?;
        let maker = self.backend.maker(settings.threads)?;
        let observer = Terminal::new();
        let lesson = Lessons {
            distillation,
            pupils,
        };
        let (mut run, mut directory) = match &self.kept.out {
            Some(path) => {
                let (run, directory) =
                    lesson.take_up(&class, &teachers, path, &maker, &observer)?;
                (run, Some(directory))
            }
            None => (lesson.begin(&maker)?, None),
        };
        let every = self.kept.checkpoint_every;
        let whole = kept::train(&mut run, directory.as_mut(), every, &observer)?;
        let Lessons {
            distillation,
            pupils,
        } = lesson;
        let mut networks = Vec::new();
        for (number, (pupil, code)) in pupils.iter().zip(&teachers).enumerate() {
            let last = run.distilling.progress()[number];
            let trained = run.distilling.weights(number).map_err(pupils_named)?;
            let file = self.write_weights(&distillation, pupil, last.steps, &trained, &class)?;
            networks.push(Network {
                seed: pupil.seed,
                steps: last.steps,
                done: last.done,
                agreement: last.agreement,
                loss: last.loss,
                reward: counting::reward(code),
                curve: run.distilling.curve(number).to_vec(),
                weights: file,
            });
        }
        let distilled = Distilled {
            class: class.spec(),
            cells: class.cells(),
            back_end: run.machine,
            distillation,
            networks,
            stopped: !whole,
        };
        if let Some(directory) = &directory {
            directory.finish(&distilled)?;
        }
        Ok(distilled)
    }

    /// The class, and a code for every network.
    fn teachers(
        &self,
        distillation: &Distillation,
        seed: u64,
    ) -> Result<(Class, Vec<Code>), Error> {
        if let Some(source) = &self.code {
            let (class, code) = one_code(source, &self.class)?;
            self.check_networks(&class, distillation)?;
            return Ok((class, vec![code; self.runs as usize]));
        }
        let class = self.class.class()?;
        self.check_networks(&class, distillation)?;
        let random = |number| random_code(&class, &mut Stream::new(seed.wrapping_add(number), 1));
        let codes = (0..self.runs).map(random).collect();
        Ok((class, codes))
    }

    /// Refuses more networks than there is memory for.
    fn check_networks(&self, class: &Class, distillation: &Distillation) -> Result<(), Error> {
        let shape = distillation.shape.check(class.q());
        shape.map_err(|error| pupils_named(SettingsError::from(error).into()))?;
        let settings = distillation.settings(class.task().longest());
        let codes = class.cells() as u128 * CODE_BYTES;
        let each = machine::bytes(&settings, 1).checked_add(codes);
        let bytes = each.and_then(|each| each.checked_mul(u128::from(self.runs)));
        let what = format!("--runs {} with their codes", self.runs);
        Ok(self.class.allowance().check(&what, bytes)?)
    }

    fn write_weights(
        &self,
        distillation: &Distillation,
        pupil: &Pupil,
        step: u64,
        weights: &Weights,
        class: &Class,
    ) -> Result<Option<PathBuf>, Error> {
        let Some(directory) = &self.weights else {
            return Ok(None);
        };
        let mut model = ModelSettings::new(pupil.seed, pupil.square.clone());
        model.learning_rate = distillation.learning_rate;
        let origin = Origin {
            settings: distillation.settings(class.task().longest()),
            model,
            step,
        };
        let path = directory.join(format!("distilled_s{}.safetensors", pupil.seed));
        let written = replace(&path, LABEL, &origin.write(weights));
        written.map_err(|source| StudyError::write(&path, source))?;
        Ok(Some(path))
    }
}

/// The bytes of a cell in a code, and in the lesson that is made of it.
const CODE_BYTES: u128 = 4;

fn pupil(code: &Code, seed: u64) -> Result<Pupil, Error> {
    let lesson = Lesson::new(code).map_err(lesson_named)?;
    Ok(Pupil {
        lesson,
        square: code.class().task().square().clone(),
        seed,
    })
}

/// Says which flag makes a class whose codes are not taught.
pub(super) fn lesson_named(error: LessonError) -> Error {
    let flag = match error {
        LessonError::Gap { .. } => "--inputs",
        LessonError::Weighted(_) => "--length-weights, --reward",
        _ => "--task",
    };
    Error::Usage(format!("{flag}: {error}"))
}

const NAMES: Names = Names {
    run: "distill.json",
    lines: "curves.jsonl",
    result: "networks.json",
};

const FORMAT: &str = "foldglass-distill/1";

/// What is to be learned, and how.
struct Lessons {
    distillation: Distillation,
    pupils: Vec<Pupil>,
}

/// Networks under way.
struct DistillRun {
    distilling: Distilling,
    distillation: Distillation,
    machine: Machine,
}

/// A measurement as it is recorded.
#[derive(JsonSchema, Serialize)]
struct DistillLine {
    step: u64,
    seed: u64,
    agreement: f64,
    loss: f64,
}

impl Lessons {
    fn begin(&self, maker: &Maker) -> Result<DistillRun, Error> {
        let make = |settings: &_, models: &_| maker.make(settings, models);
        let begun = Distilling::new(self.distillation.clone(), self.pupils.clone(), &make);
        Ok(DistillRun {
            distilling: begun.map_err(pupils_named)?,
            distillation: self.distillation.clone(),
            machine: maker.machine().expect("networks have a back end"),
        })
    }

    /// Begins in a directory, or resumes what is in it.
    fn take_up(
        &self,
        class: &Class,
        teachers: &[Code],
        path: &Path,
        maker: &Maker,
        observer: &Terminal,
    ) -> Result<(DistillRun, RunDirectory), Error> {
        let seeds: Vec<u64> = self.pupils.iter().map(|pupil| pupil.seed).collect();
        let actions: Vec<&[u16]> = teachers.iter().map(|code| code.actions()).collect();
        let description = json!({
            "format": FORMAT,
            "version": VERSION,
            "class": class.spec(),
            "settings": self.distillation,
            "seeds": seeds,
            "codes": actions,
        });
        let begin = |maker: &Maker| self.begin(maker);
        kept::begin_in(path, &NAMES, description, maker, observer, begin)
    }
}

impl Trains for DistillRun {
    type Line = DistillLine;

    fn step(&self) -> u64 {
        self.distilling.step()
    }

    fn steps(&self) -> u64 {
        self.distillation.steps
    }

    fn is_finished(&self) -> bool {
        self.distilling.is_finished()
    }

    fn advance(&mut self, steps: u64) -> Result<Vec<DistillLine>, Error> {
        let measured = self.distilling.advance_by(steps);
        if measured.map_err(pupils_named)?.is_none() {
            return Ok(Vec::new());
        }
        let step = self.step();
        let seeds = self.distilling.pupils().iter().map(|pupil| pupil.seed);
        let line = |(seed, point): (u64, &distill::PupilProgress)| DistillLine {
            step,
            seed,
            agreement: point.agreement,
            loss: point.loss,
        };
        let points = seeds.zip(self.distilling.progress());
        Ok(points
            .filter(|(_, point)| point.steps == step)
            .map(line)
            .collect())
    }

    fn save(&mut self) -> Result<Vec<u8>, Error> {
        self.distilling.save().map_err(pupils_named)
    }

    fn take_up(&mut self, state: &[u8]) -> Result<(), FleetError> {
        self.distilling.take_up(state)
    }

    fn machine(&self) -> Machine {
        self.machine
    }

    fn news(&self) -> (Progress<'static>, String) {
        let points = self.distilling.progress();
        let least = points.iter().map(|p| p.agreement).fold(1.0, f64::min);
        let left = points.iter().filter(|p| !p.done).count();
        let remark = format!(
            "{left} of {} to go, agreement from {least:.4}",
            points.len()
        );
        let progress = Progress {
            unit: "steps",
            done: self.step(),
            all: Some(self.steps()),
            share: None,
        };
        (progress, remark)
    }
}

/// A network at the end.
#[derive(JsonSchema, Serialize)]
struct Network {
    seed: u64,
    /// Updates until it was done, or all.
    steps: u64,
    done: bool,
    agreement: f64,
    loss: f64,
    /// That of its code.
    #[serde(rename = "reward_exact")]
    reward: Reward,
    curve: Vec<distill::PupilMeasurement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<PathBuf>,
}

/// What became of the networks.
#[derive(JsonSchema, Serialize)]
pub struct Distilled {
    #[serde(skip)]
    class: ClassSpec,
    cells: usize,
    back_end: Machine,
    #[serde(skip)]
    distillation: Distillation,
    networks: Vec<Network>,
    #[serde(skip)]
    stopped: bool,
}

impl Distilled {
    fn table(&self) -> Table {
        let columns = [
            Column::numbers("seed"),
            Column::numbers("steps"),
            Column::words("done"),
            Column::numbers("agreement"),
            Column::numbers("loss"),
            Column::words("reward of the code").key("reward_exact"),
        ];
        let row = |network: &Network| {
            [
                Cell::Text(network.seed.to_string()),
                network.steps.into(),
                network.done.into(),
                Cell::Real(Digits::Decimals(5).of(network.agreement)),
                network.loss.into(),
                (&network.reward).into(),
            ]
        };
        Table::new(columns).rows(self.networks.iter().map(row))
    }
}

impl Report for Distilled {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.clone())
    }

    fn settings(&self) -> Fields {
        distillation_settings(&self.distillation)
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Distillation {
            target,
            every,
            held_out,
            ..
        } = self.distillation;
        writeln!(
            out,
            "{}, {} cells: agreement with the code on {held_out} held-out inputs, every {every} \
             steps, until {target}\n",
            self.class, self.cells
        )?;
        self.table().write_text(out)
    }

    fn interrupted(&self) -> bool {
        self.stopped
    }
}
