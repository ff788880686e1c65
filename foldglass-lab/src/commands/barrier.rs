//! Follows an escape path by networks and measures the barriers between them (paper, app. G.4,
//! tab:escape).

use std::io::{self, Write};

use clap::Args;
use foldglass::watch::{Observer, Progress};
use foldglass::{Class, ClassSpec};
use foldglass_nn::barrier::{Line, Lines, Trail, follow};
use foldglass_nn::distill::Distillation;
use foldglass_nn::lesson::{Lesson, LessonError};
use foldglass_nn::path::{EscapePath, PathError};
use foldglass_study::Fields;
use foldglass_study::method::put;
use serde::Serialize;

use crate::cli::Settings;
use crate::error::Error;
use crate::flags::distill::{DistillationArgs, pupils_named};
use crate::flags::fleet::{BackendArgs, Machine, above_zero};
use crate::flags::{ClassArgs, count, whole};
use crate::output::Report;
use crate::progress::Terminal;
use crate::report::{Cell, Column, Format, Table};

/// The flags of `barrier`.
#[derive(Debug, Args)]
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
    #[arg(long, value_name = "N", default_value = "33", value_parser = several)]
    #[arg(allow_negative_numbers = true)]
    points: usize,
    /// Changes that a chain proposes at most [default: 40000 a cell]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    proposals: Option<u64>,
    /// Chains that are tried, of seeds --seed, --seed + 1, .., until one arrives
    #[arg(long, value_name = "N", default_value = "20", value_parser = count)]
    #[arg(allow_negative_numbers = true)]
    chains: u64,
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

const PLACES: [&str; 3] = ["first", "middle", "last"];

impl BarrierArgs {
    /// Finds the path, follows it, and measures the lines.
    pub fn run(&self, settings: &Settings) -> Result<Barriers, Error> {
        let class = self.class.class(settings.seed)?;
        let observer = Terminal::new();
        let (seed, path) = self.path(&class, settings.seed, &observer)?;
        let parts = path.three_stretches(self.codes as u64).ok_or_else(|| {
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
        let distillation = self.distillation.over(Distillation {
            every: 100,
            steps: 200_000,
            ..Distillation::default()
        });
        let square = class.task().square();
        let maker = self.backend.maker(settings.threads)?;
        let make = |settings: &_, models: &_| maker.make(settings, models);
        let mut stopped = false;
        let all = (3 * self.codes) as u64;
        let trail = follow(
            &distillation,
            square,
            &lessons,
            settings.seed,
            &make,
            |trail| {
                let told = observer.hear(Progress {
                    unit: "networks",
                    done: trail.weights.iter().map(|kept| kept.len() as u64).sum(),
                    all: Some(all),
                    share: None,
                });
                stopped = told.is_break();
                told
            },
        );
        let trail = trail.map_err(pupils_named)?;
        let length = class.task().longest();
        let lines = Lines::new(&distillation, square, length, self.points, &make);
        let lines = lines.map_err(pupils_named)?;
        let stretches = self.measure(&trail, lines, &observer, &mut stopped)?;
        Ok(Barriers {
            class: class.spec(),
            cells: class.cells(),
            inputs: (class.q() as u64).pow(length as u32),
            chain_seed: seed,
            path_codes: path.codes(),
            codes: self.codes,
            points: self.points,
            back_end: maker.machine().expect("networks were trained"),
            distillation,
            stretches,
            stopped,
        })
    }

    /// The first chain that arrives.
    fn path(
        &self,
        class: &Class,
        first: u64,
        observer: &Terminal,
    ) -> Result<(u64, EscapePath), Error> {
        let most = self.proposals.unwrap_or(40_000 * class.cells() as u64);
        let mut late = None;
        for number in 0..self.chains {
            let seed = first.wrapping_add(number);
            match EscapePath::new(class, self.tau, seed, most) {
                Ok(path) => return Ok((seed, path)),
                Err(error @ PathError::NotThere { .. }) => late = Some(error),
                Err(error) => return Err(path_named(error)),
            }
            if observer.go_on().is_break() {
                return Err(Error::Stopped("stopped before a chain arrived".to_owned()));
            }
        }
        let late = late.expect("at least one chain was tried");
        Err(Error::Failed(format!(
            "none of {} chains reached reward 1; {late}: more --proposals or --chains may",
            self.chains
        )))
    }

    fn measure(
        &self,
        trail: &Trail,
        mut lines: Lines,
        observer: &Terminal,
        stopped: &mut bool,
    ) -> Result<Vec<Stretch>, Error> {
        let pairs = |kept: &Vec<Vec<f32>>| kept.len().saturating_sub(1) as u64;
        let all: u64 = trail.weights.iter().map(pairs).sum();
        let mut done = 0;
        let mut stretches = Vec::new();
        for ((place, kept), updates) in PLACES.iter().zip(&trail.weights).zip(&trail.steps) {
            let mut measured = Vec::new();
            for pair in kept.windows(2) {
                measured.push(lines.line(&pair[0], &pair[1]).map_err(pupils_named)?);
                done += 1;
                let told = observer.hear(Progress {
                    unit: "lines",
                    done,
                    all: Some(all),
                    share: None,
                });
                if told.is_break() && done < all {
                    *stopped = true;
                    break;
                }
            }
            stretches.push(Stretch {
                place,
                networks: kept.len(),
                updates: updates.clone(),
                lines: measured,
            });
        }
        Ok(stretches)
    }
}

/// Says which flag makes a class whose paths are not followed.
fn path_named(error: PathError) -> Error {
    match &error {
        PathError::Lesson(LessonError::Gaps) => Error::Usage(format!("--inputs: {error}")),
        PathError::NotUntied => Error::Usage(format!("--tied, --lengths: {error}")),
        _ => Error::Usage(error.to_string()),
    }
}

/// Consecutive codes, and what was measured between their networks.
#[derive(Serialize)]
struct Stretch {
    place: &'static str,
    /// Networks that reproduce their code on every input.
    networks: usize,
    /// The updates that each took.
    updates: Vec<u64>,
    /// The inputs answered rightly at every point, and the barrier in inputs: quanta of q^-T.
    lines: Vec<Line>,
}

/// What was measured.
#[derive(Serialize)]
pub struct Barriers {
    #[serde(skip)]
    class: ClassSpec,
    cells: usize,
    inputs: u64,
    /// The chain that arrived.
    chain_seed: u64,
    /// The codes of its path.
    path_codes: u64,
    /// Those of a stretch.
    codes: usize,
    points: usize,
    back_end: Machine,
    #[serde(skip)]
    distillation: Distillation,
    stretches: Vec<Stretch>,
    #[serde(skip)]
    stopped: bool,
}

impl Barriers {
    fn table(&self) -> Table {
        let columns = [
            Column::words("stretch"),
            Column::numbers("networks"),
            Column::numbers("lines"),
            Column::numbers("barrier 0"),
            Column::numbers("largest, in quanta").key("largest"),
            Column::numbers("as reward"),
            Column::numbers("updates of a network").key("updates"),
        ];
        let row = |stretch: &Stretch| {
            let barriers = || stretch.lines.iter().map(|line| line.barrier);
            let largest = barriers().max();
            let updates = &stretch.updates;
            let mean = updates.iter().sum::<u64>() as f64 / updates.len() as f64;
            [
                stretch.place.into(),
                stretch.networks.into(),
                stretch.lines.len().into(),
                barriers().filter(|&b| b == 0).count().into(),
                Cell::or_missing(largest),
                Cell::or_missing(largest.map(|b| b as f64 / self.inputs as f64)),
                Cell::or_missing((!updates.is_empty()).then_some(mean)),
            ]
        };
        Table::new(columns).rows(self.stretches.iter().map(row))
    }

    fn complete(&self) -> bool {
        (self.stretches.iter()).all(|s| s.networks == self.codes && s.lines.len() + 1 == self.codes)
    }
}

impl Report for Barriers {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.clone())
    }

    fn settings(&self) -> Option<Fields> {
        let mut fields = match serde_json::to_value(&self.distillation) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => Fields::new(),
        };
        put(&mut fields, "points", self.points);
        Some(fields)
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{}, {} cells: a path of {} codes to reward 1 (chain of seed {}), followed on three \
             stretches of {} codes",
            self.class, self.cells, self.path_codes, self.chain_seed, self.codes
        )?;
        writeln!(
            out,
            "greedy reward on all {} inputs at {} points of every line; a quantum is one input\n",
            self.inputs, self.points
        )?;
        self.table().write_text(out)
    }

    fn failure(&self) -> Option<String> {
        let late = !self.stopped && !self.complete();
        late.then(|| {
            format!(
                "a network was not exact on every input after {} updates: more --steps may do",
                self.distillation.steps
            )
        })
    }

    fn interrupted(&self) -> bool {
        self.stopped
    }
}
