//! Samples codes over the complete parameterisation with windows and tying as penalties
//! (paper, section 2.2, eq:family).

mod drawing;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass::gibbs::family::{
    Averages, Couplings, Energy, Family, FamilyError, FamilySettings, FamilyWalk, Limit,
    complete_reward,
};
use foldglass::support::parallel::in_order;
use foldglass::support::stats::Summary;
use foldglass::{ClassSpec, Stream, Task};
use foldglass_study::parallel::threads;
use foldglass_study::{ClassWords, StudyError, words};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::{TaskArg, count, max_memory, not_negative, one_length, warn_of_random, whole};
use crate::output::Report;
use crate::report::figure::named;
use crate::report::files::write_whole;
use crate::report::{Cell, Column, Digits, Format, Table};

/// The flags of `family`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass family --task parity --lengths 3 --gwin 0,1,10 --gtie 0 --tau 0.03
      Windows as a soft penalty of three strengths.
  foldglass family --task parity --lengths 3 --gwin 10 --gtie 0,10 --tau 0.03
      Tying as a penalty.")]
pub struct FamilyArgs {
    #[command(flatten)]
    task: TaskArg,
    /// The length T of the inputs: one
    #[arg(long, alias = "length", value_name = "T", value_parser = one_length)]
    #[arg(allow_negative_numbers = true)]
    lengths: usize,
    /// The window of the cells: input symbols before and after x_t
    #[arg(short, long, value_name = "P,F", value_parser = window, default_value = "0,0")]
    #[arg(allow_hyphen_values = true)]
    window: [usize; 2],
    /// The law of the inputs: uniform, markov:K or product:FILE
    #[arg(long, value_name = "LAW", default_value = "uniform")]
    inputs: String,
    /// The penalties g_win on histories that differ within a cell
    #[arg(long, value_name = "G,..", value_delimiter = ',', value_parser = not_negative)]
    #[arg(default_value = "0,0.03,0.1,0.3,1,3,10", allow_negative_numbers = true)]
    gwin: Vec<f64>,
    /// The penalties g_tie on cells that differ over t
    #[arg(long, value_name = "G,..", value_delimiter = ',', value_parser = not_negative)]
    #[arg(default_value = "0", allow_negative_numbers = true)]
    gtie: Vec<f64>,
    /// The temperature
    #[arg(short, long, value_name = "TAU", value_parser = warm, default_value = "0.01")]
    #[arg(allow_negative_numbers = true)]
    tau: f64,
    /// Sweeps averaged, after a burn-in of a quarter as many
    #[arg(short = 'n', long, value_name = "N", value_parser = count, default_value = "2000")]
    #[arg(allow_negative_numbers = true)]
    sweeps: u64,
    /// Runs at each point, from random codes; the error is of the differences between them
    #[arg(short, long, alias = "walks", value_name = "N", value_parser = runs, default_value = "8")]
    #[arg(allow_negative_numbers = true)]
    runs: u64,
    /// Draw reward and penalties against the longer list of couplings to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

fn window(text: &str) -> Result<[usize; 2], String> {
    let side = |part: &str| whole(part.trim());
    match text
        .split_once(',')
        .map(|(past, future)| (side(past), side(future)))
    {
        Some((Some(past), Some(future))) => Ok([past, future]),
        _ => Err("write P,F, the symbols read before and after x_t, such as 0,1".to_owned()),
    }
}

fn warm(text: &str) -> Result<f64, String> {
    let tau = not_negative(text).ok().filter(|tau| *tau > 0.0);
    tau.ok_or("a number above 0 is needed, such as 0.01".to_owned())
}

fn runs(text: &str) -> Result<u64, String> {
    let number = count(text).ok().filter(|&n| n > 1);
    number.ok_or("at least 2 walks are needed: one says nothing of its error".to_owned())
}

impl FamilyArgs {
    /// Samples every point of the grid.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Crossover, Error> {
        words::check_law(&self.inputs)?;
        warn_of_random(&self.task.task);
        let [past, future] = self.window;
        let words = ClassWords::new(&self.task.task, &[self.lengths]).window(past, future);
        let spec = words.inputs(&self.inputs).spec(Path::new(""))?;
        Family::check(spec.square.q(), self.lengths, max_memory::available())?;
        let task = Task::new(spec.square.clone(), &spec.inputs, &spec.lengths)
            .map_err(|error| Error::Usage(format!("--inputs: {error}")))?;
        let family = Family::within(task, spec.shape, max_memory::available()).map_err(refuse)?;
        let grid = self.grid();
        let jobs = (self.runs as u128).checked_mul(grid.len() as u128);
        let bytes = jobs.and_then(|jobs| jobs.checked_mul(size_of::<Averages>() as u128));
        let what = format!("--runs {} at {} couplings", self.runs, grid.len());
        max_memory::available().check(&what, bytes)?;
        let energies = family.energies();
        let sampled = self.sample(&family, settings)?;
        let points: Vec<FamilyPoint> = grid
            .iter()
            .zip(sampled.chunks(self.runs as usize))
            .map(|(&couplings, walks)| {
                FamilyPoint::new(&family, couplings, self.tau, walks, &energies)
            })
            .collect();
        let limit = |tied| Limit::of(&family, tied).map(|limit| limit.reward(&family, self.tau));
        let crossover = Crossover {
            histories: family.histories(),
            cells: family.cells(),
            rows: family.rows(),
            tau: self.tau,
            complete: complete_reward(&family, self.tau),
            windowed: limit(false),
            tied: limit(true),
            points,
            spec,
        };
        if let Some(path) = &self.svg {
            let title = format!(
                "{}, T = {}, window ({past},{future})",
                self.task.task, self.lengths
            );
            let drawn = drawing::draw(&crossover, &title);
            let name = format!("Mean reward and penalties against g_win: {title}");
            write_whole(path, named(&drawn, &name).as_bytes())?;
        }
        Ok(crossover)
    }

    /// The couplings, g_tie by g_tie.
    fn grid(&self) -> Vec<Couplings> {
        let of = |&tying: &f64| {
            let windows = self.gwin.iter();
            windows.map(move |&window| Couplings { window, tying })
        };
        self.gtie.iter().flat_map(of).collect()
    }

    /// The averages of all walks, point by point, each walk from a stream of its own.
    fn sample(&self, family: &Family, settings: &GlobalArgs) -> Result<Vec<Averages>, StudyError> {
        let grid = self.grid();
        let jobs = grid.len() * self.runs as usize;
        let mut list = Vec::with_capacity(jobs);
        let job = |number: usize| -> Result<_, StudyError> {
            let walk_settings = FamilySettings::new(grid[number / self.runs as usize], self.tau);
            let mut walk = FamilyWalk::new(family, Stream::new(settings.seed, number as u64));
            Ok(Some(walk.averages(
                &walk_settings,
                self.sweeps.div_ceil(4),
                self.sweeps,
            )))
        };
        let take = |averages| {
            list.push(averages);
            Ok(())
        };
        let threads = threads(settings.threads, jobs);
        in_order(vec![(); threads], jobs, |()| job, take)?;
        Ok(list)
    }
}

fn refuse(error: FamilyError) -> Error {
    match error {
        FamilyError::TooLarge(error) => error.into(),
        other => Error::Usage(format!("--lengths: {other}")),
    }
}

/// A mean over walks, with the standard error of what differs between them; none where nothing does:
/// walks that all stay where they began, or never meet what is rare, do not tell their error.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
struct Estimate {
    mean: f64,
    error: Option<f64>,
}

/// What was found at one pair of couplings.
#[derive(Debug, JsonSchema, Serialize)]
struct FamilyPoint {
    g_win: f64,
    g_tie: f64,
    reward: Estimate,
    e_win: Estimate,
    e_tie: Estimate,
    windowed: Estimate,
    tied: Estimate,
    /// The same by a visit of every complete code, where there are few.
    exact: Option<ExactFamily>,
}

#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
struct ExactFamily {
    reward: f64,
    e_win: f64,
    e_tie: f64,
    windowed: f64,
    tied: f64,
}

impl FamilyPoint {
    fn new(
        family: &Family,
        couplings: Couplings,
        tau: f64,
        walks: &[Averages],
        energies: &Option<Vec<Energy>>,
    ) -> FamilyPoint {
        let estimate = |of: fn(&Averages) -> f64| {
            let values: Vec<f64> = walks.iter().map(of).collect();
            let summary = Summary::of(&values).expect("at least two walks");
            Estimate {
                mean: summary.mean,
                error: summary.error.filter(|error| *error > 0.0),
            }
        };
        let exact = energies.as_ref().map(|energies| {
            let found = Averages::of(family, energies, couplings, tau);
            ExactFamily {
                reward: found.reward,
                e_win: found.window,
                e_tie: found.tying,
                windowed: found.windowed,
                tied: found.tied,
            }
        });
        FamilyPoint {
            g_win: couplings.window,
            g_tie: couplings.tying,
            reward: estimate(|walk| walk.reward),
            e_win: estimate(|walk| walk.window),
            e_tie: estimate(|walk| walk.tying),
            windowed: estimate(|walk| walk.windowed),
            tied: estimate(|walk| walk.tied),
            exact,
        }
    }
}

/// The way from complete codes to a windowed and tied class.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Crossover {
    histories: usize,
    cells: usize,
    /// Cells of the tied class.
    rows: usize,
    tau: f64,
    /// The mean reward without penalties, and in the classes they lead to; those are none where the
    /// class has too many codes to visit.
    complete: f64,
    windowed: Option<f64>,
    tied: Option<f64>,
    points: Vec<FamilyPoint>,
    #[serde(skip)]
    spec: ClassSpec,
}

impl Crossover {
    fn table(&self) -> Table {
        let with = |estimate: Estimate| Cell::MeanSd {
            mean: Digits::Decimals(5).of(estimate.mean),
            sd: estimate.error.map(|error| Digits::Decimals(5).of(error)),
        };
        let mut table = Table::new([
            Column::numbers("g_win"),
            Column::numbers("g_tie"),
            Column::numbers("reward"),
            Column::numbers("exact").key("reward_exact"),
            Column::numbers("E_win").key("e_win"),
            Column::numbers("E_tie").key("e_tie"),
            Column::numbers("windowed"),
            Column::numbers("tied"),
        ]);
        for point in &self.points {
            table.push([
                Cell::real(point.g_win),
                Cell::real(point.g_tie),
                with(point.reward),
                Cell::or_missing(
                    point
                        .exact
                        .map(|exact| Digits::Decimals(5).of(exact.reward))
                        .map(Cell::Real),
                ),
                with(point.e_win),
                with(point.e_tie),
                with(point.windowed),
                with(point.tied),
            ]);
        }
        table
    }
}

impl Report for Crossover {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.spec.clone())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{} histories, {} cells, {} when tied; tau = {}\n",
            self.histories, self.cells, self.rows, self.tau
        )?;
        self.table().write_text(out)?;
        let known = |reward: Option<f64>| {
            reward.map_or("not visited".to_owned(), |reward| format!("{reward:.5}"))
        };
        writeln!(
            out,
            "\nmean reward of all complete codes {:.5}, of the untied class {}, of the tied one {}\n\
             ± is the standard error over walks, not known where all walks have the same mean; windowed and\n\
             tied: the share of sweeps in the class",
            self.complete,
            known(self.windowed),
            known(self.tied)
        )
    }
}
