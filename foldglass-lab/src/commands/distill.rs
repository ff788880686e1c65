//! Distils codes into networks and measures how far they agree (paper, app. G.4, tab:containment).

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use foldglass::chain::random_code;
use foldglass::watch::{Observer, Progress};
use foldglass::{Class, ClassSpec, Code, Reward, Stream, count as counting};
use foldglass_nn::distill::{self, Distillation, Pupil};
use foldglass_nn::lesson::Lesson;
use foldglass_nn::origin::Origin;
use foldglass_nn::settings::ModelSettings;
use foldglass_nn::weights::Weights;
use foldglass_study::claims::LABEL;
use foldglass_study::disk::replace;
use foldglass_study::tables::Source;
use foldglass_study::{Error as StudyError, Fields};
use serde::Serialize;

use crate::cli::Settings;
use crate::error::Error;
use crate::flags::distill::{DistillationArgs, pupils_named};
use crate::flags::fleet::{BackendArgs, Machine};
use crate::flags::table::one_code;
use crate::flags::{ClassArgs, count, positive, share};
use crate::output::Report;
use crate::progress::Terminal;
use crate::report::{Cell, Column, Digits, Format, Table};

/// The flags of `distill`.
#[derive(Debug, Args)]
pub struct DistillArgs {
    /// Networks, each with a random code of the class as its teacher; their seeds are --seed,
    /// --seed + 1, ..
    #[arg(long, value_name = "N", default_value = "3", value_parser = count)]
    #[arg(allow_negative_numbers = true)]
    networks: u64,
    /// The teacher of all networks, in place of random codes: a code file, FILE#N for one of
    /// several, - for stdin
    #[arg(long, value_name = "FILE")]
    code: Option<Source>,
    /// A network is done when it emits at least this share of its code's tokens
    #[arg(long, value_name = "SHARE", default_value = "0.999", value_parser = share)]
    #[arg(allow_hyphen_values = true)]
    target: f64,
    /// Held-out inputs on which it is compared, the network generating from its own tokens
    #[arg(long, value_name = "N", default_value = "2000", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    held_out: usize,
    /// Write the weights at the end to this directory, a safetensors file a network
    #[arg(long, value_name = "DIR")]
    weights: Option<PathBuf>,
    #[command(flatten)]
    distillation: DistillationArgs,
    #[command(flatten)]
    backend: BackendArgs,
    #[command(flatten)]
    class: ClassArgs,
}

impl DistillArgs {
    /// Distils the codes.
    pub fn run(&self, settings: &Settings) -> Result<Distilled, Error> {
        let (class, teachers) = self.teachers(settings.seed)?;
        let distillation = self.distillation.over(Distillation {
            target: self.target,
            held_out: self.held_out,
            ..Distillation::default()
        });
        if let Some(path) = &self.weights {
            let made = std::fs::create_dir_all(path);
            made.map_err(|source| StudyError::write(path, source))?;
        }
        let pupils = (teachers.iter().zip(0..))
            .map(|(code, number)| pupil(code, settings.seed.wrapping_add(number)))
            .collect::<Result<Vec<_>, _>>()?;
        let maker = self.backend.maker(settings.threads)?;
        let make = |settings: &_, models: &_| maker.make(settings, models);
        let observer = Terminal::new();
        let mut curves = vec![Vec::new(); pupils.len()];
        let mut stopped = false;
        let ran = distillation.run(&pupils, &make, |points| {
            note(points, &mut curves);
            let told = observer.hear(news(points, &distillation, &observer));
            stopped = told.is_break();
            told
        });
        let (progress, weights) = ran.map_err(pupils_named)?;
        let mut networks = Vec::new();
        for ((last, curve), (pupil, code)) in progress
            .iter()
            .zip(curves)
            .zip(pupils.iter().zip(&teachers))
        {
            let trained = &weights[last.pupil];
            let file = self.write_weights(&distillation, pupil, last.steps, trained, &class)?;
            networks.push(Network {
                seed: pupil.seed,
                steps: last.steps,
                done: last.done,
                agreement: last.agreement,
                loss: last.loss,
                reward: counting::reward(code),
                curve,
                weights: file,
            });
        }
        Ok(Distilled {
            class: class.spec(),
            cells: class.cells(),
            back_end: maker.machine().expect("networks were trained"),
            distillation,
            networks,
            stopped,
        })
    }

    /// The class, and a code for every network.
    fn teachers(&self, seed: u64) -> Result<(Class, Vec<Code>), Error> {
        if let Some(source) = &self.code {
            let (class, code) = one_code(source, &self.class, seed)?;
            return Ok((class, vec![code; self.networks as usize]));
        }
        let class = self.class.class(seed)?;
        let random = |number| random_code(&class, &mut Stream::new(seed.wrapping_add(number), 1));
        let codes = (0..self.networks).map(random).collect();
        Ok((class, codes))
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
        let origin = Origin {
            settings: distillation.settings(class.task().longest()),
            model: ModelSettings {
                seed: pupil.seed,
                square: pupil.square.clone(),
                entropy: 0.0,
                learning_rate: distillation.learning_rate,
            },
            step,
        };
        let path = directory.join(format!("distilled_s{}.safetensors", pupil.seed));
        let written = replace(&path, LABEL, &origin.write(weights));
        written.map_err(|source| StudyError::write(&path, source))?;
        Ok(Some(path))
    }
}

fn pupil(code: &Code, seed: u64) -> Result<Pupil, Error> {
    let lesson = Lesson::new(code).map_err(|error| Error::Usage(format!("--inputs: {error}")))?;
    Ok(Pupil {
        lesson,
        square: code.class().task().square().clone(),
        seed,
    })
}

/// Adds a measurement to the curves of networks that were under way.
fn note(points: &[distill::Progress], curves: &mut [Vec<Point>]) {
    for (point, curve) in points.iter().zip(curves) {
        if curve.last().is_none_or(|last| last.steps < point.steps) {
            curve.push(Point {
                steps: point.steps,
                agreement: point.agreement,
                loss: point.loss,
            });
        }
    }
}

fn news<'a>(
    points: &[distill::Progress],
    distillation: &Distillation,
    observer: &Terminal,
) -> Progress<'a> {
    let least = points.iter().map(|p| p.agreement).fold(1.0, f64::min);
    let left = points.iter().filter(|p| !p.done).count();
    observer.remark(format!(
        "{left} of {} to go, agreement from {least:.4}",
        points.len()
    ));
    Progress {
        unit: "steps",
        done: points.iter().map(|p| p.steps).max().unwrap_or(0),
        all: Some(distillation.steps),
        share: None,
    }
}

/// A measurement.
#[derive(Debug, Clone, Serialize)]
struct Point {
    steps: u64,
    agreement: f64,
    /// Cross-entropy of the update before it, in nats a token.
    loss: f64,
}

/// A network at the end.
#[derive(Serialize)]
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
    curve: Vec<Point>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<PathBuf>,
}

/// What became of the networks.
#[derive(Serialize)]
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

    fn settings(&self) -> Option<Fields> {
        match serde_json::to_value(&self.distillation) {
            Ok(serde_json::Value::Object(fields)) => Some(fields),
            _ => None,
        }
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
