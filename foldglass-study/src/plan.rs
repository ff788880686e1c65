//! Lays out the classes of a study and splits its runs into units.
//!
//! Runs of one point whose numbers lie in one group of those that go together make a unit. What a
//! run comes to does not depend on its unit.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use foldglass::model::class::{ClassSpec, SpecError};
use foldglass::model::task::TaskError;
use foldglass::{Allowance, Class};
use serde_json::json;

use crate::error::StudyError;
use crate::hash::{digest, fnv};
use crate::manifest::{Index, Manifest, RunKey};
use crate::method::{Fields, MethodSettings, Recipe, Registry, RunOutcome, SettingError, Streams};
use crate::record::Record;
use crate::spec::{Parameters, Problem, Study, Table};
use crate::words::ClassWords;

/// A study whose classes are laid out.
pub struct Plan {
    /// The study, as it is kept beside its records.
    pub manifest: Manifest,
    /// Its runs by their ids.
    pub index: Index,
    /// Its pairs of class and dynamics.
    pub series: Vec<RunSeries>,
}

/// All runs of one dynamics on one class.
pub struct RunSeries {
    /// The class as the study names it.
    pub class_id: String,
    /// Its task in the study's words.
    pub task: String,
    /// The class.
    pub class: Class,
    /// What it is made of.
    pub spec: ClassSpec,
    /// The id of the dynamics.
    pub dynamics: String,
    /// The kind of its method.
    pub kind: &'static str,
    /// Runs at each point.
    pub runs: u64,
    /// The points.
    pub points: Vec<Point>,
}

/// Runs with one value of each parameter.
pub struct Point {
    /// The values.
    pub parameters: Parameters,
    /// The seed of its streams.
    pub seed: u64,
    /// What a run does.
    pub recipe: Box<dyn Recipe>,
}

/// Runs that go together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Their pair of class and dynamics.
    pub series: usize,
    /// The number of their point.
    pub point: usize,
    /// Their numbers.
    pub numbers: Range<u64>,
}

/// One of several parts of a study, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which.
    pub number: usize,
    /// Of how many.
    pub of: usize,
}

impl Shard {
    /// All.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Its name in those of files.
    pub fn label(self) -> String {
        format!("{}-of-{}", self.number, self.of)
    }

    /// The name of its file of lines.
    pub(crate) fn file(self, begin: &str) -> String {
        match self {
            Shard::WHOLE => format!("{begin}.jsonl"),
            _ => format!("{begin}-{}.jsonl", self.label()),
        }
    }

    /// The index of the shard's first thing in a list of which every `of`-th belongs to it, where `before`
    /// things come before the list.
    fn first_after(self, before: u128) -> u128 {
        let (first, of) = (self.number as u128 - 1, self.of as u128);
        (first + of - before % of) % of
    }
}

impl Plan {
    /// Lays out the classes; files are found from `base`.
    pub fn new(
        study: &Study,
        registry: &Registry,
        base: &Path,
        allowance: Allowance,
    ) -> Result<Plan, StudyError> {
        let place = format!("study \"{}\"", study.name);
        let refuse = |problem: String| StudyError::Study {
            place: place.clone(),
            excerpt: study.lines.excerpt(&problem),
            problem,
        };
        study.checked().map_err(refuse)?;
        let explain = |problem: Problem| match problem.lacks.clone() {
            Some(source) => {
                let place = [vec![place.clone()], study.place(&problem)]
                    .concat()
                    .join(": ");
                StudyError::PartTooLarge {
                    place,
                    source: *source,
                }
            }
            None => refuse(study.explain(&problem)),
        };
        let recorded = study.in_recorded_spelling(registry).map_err(explain)?;
        let pairs = study.pairs();
        let mut classes: Vec<Option<(ClassSpec, Class)>> = vec![None; study.classes.len()];
        for &(n, _) in &pairs {
            if classes[n].is_none() {
                let class = lay_out(study, n, base, allowance).map_err(explain)?;
                classes[n] = Some(class);
            }
        }
        let mut series = Vec::with_capacity(pairs.len());
        for &(class, dynamics) in &pairs {
            let (spec, laid) = classes[class].clone().expect("laid out above");
            let planning = Planning {
                study: &recorded,
                typed: study,
                registry,
                base,
                allowance,
            };
            series.push(
                planning
                    .series(class, dynamics, spec, laid)
                    .map_err(explain)?,
            );
        }
        let recipes = pairs
            .iter()
            .zip(&series)
            .map(|(&(_, dynamics), series)| recipe(&recorded, dynamics, series))
            .collect();
        Ok(Plan {
            index: Index::new(&recorded),
            manifest: Manifest::new(recorded, recipes),
            series,
        })
    }

    /// The units of a shard, in the order of the study. Those of others are not gone through: there
    /// may be more than anybody can count.
    pub fn units(&self, shard: Shard) -> impl Iterator<Item = Unit> {
        let mut before = 0;
        let points = self.series.iter().enumerate().flat_map(|(series, own)| {
            let points = own.points.iter().enumerate();
            points.map(move |(point, at)| (series, point, own.runs, at.recipe.together()))
        });
        points.flat_map(move |(series, point, runs, together)| {
            let units = runs.div_ceil(together);
            let first = u64::try_from(shard.first_after(before)).unwrap_or(u64::MAX);
            before += u128::from(units);
            (first..units).step_by(shard.of).map(move |unit| Unit {
                series,
                point,
                numbers: unit * together..((unit + 1).saturating_mul(together)).min(runs),
            })
        })
    }

    /// How many units there are.
    pub fn unit_count(&self) -> u128 {
        let of = |series: &RunSeries| -> u128 {
            let points = series.points.iter();
            points
                .map(|point| u128::from(series.runs.div_ceil(point.recipe.together())))
                .sum()
        };
        self.series.iter().map(of).sum()
    }

    /// The series of a unit, and its point.
    pub fn of(&self, unit: &Unit) -> (&RunSeries, &Point) {
        let series = &self.series[unit.series];
        (series, &series.points[unit.point])
    }

    /// What goes wrong with a unit, and where in the study it stands.
    pub fn problem(&self, unit: &Unit, problem: String) -> StudyError {
        let series = self.of(unit).0;
        StudyError::Study {
            place: format!(
                "dynamics \"{}\" on class \"{}\"",
                series.dynamics, series.class_id
            ),
            problem,
            excerpt: None,
        }
    }

    /// The random streams of a unit.
    pub fn streams(&self, unit: &Unit) -> Streams {
        Streams {
            seed: self.of(unit).1.seed,
            numbers: unit.numbers.clone(),
        }
    }

    /// The records of a unit's runs.
    pub fn records(&self, unit: &Unit, outcomes: Vec<RunOutcome>) -> Vec<Record> {
        let (series, point) = self.of(unit);
        let record = |(key, result): (RunKey, RunOutcome)| Record {
            schema: self.manifest.schema,
            foldglass: self.manifest.foldglass.clone(),
            study: self.manifest.study.name.clone(),
            recipe: self.manifest.recipes[unit.series].clone(),
            id: self.index.id(key),
            class_id: series.class_id.clone(),
            task: series.task.clone(),
            class: series.spec.clone(),
            cells: series.class.cells(),
            dynamics: series.dynamics.clone(),
            kind: series.kind.to_owned(),
            parameters: point.parameters.fields(),
            settings: point.recipe.settings(),
            seed: point.seed,
            run: key.run,
            result,
        };
        unit.keys().zip(outcomes).map(record).collect()
    }
}

fn lay_out(
    study: &Study,
    number: usize,
    base: &Path,
    allowance: Allowance,
) -> Result<(ClassSpec, Class), Problem> {
    let class = &study.classes[number];
    let table = Table::Class(class.table);
    let spec = match &class.spec {
        Some(spec) => spec.clone(),
        None => {
            let spec = class.words.spec(base);
            spec.map_err(|error| match &error {
                StudyError::Spec(error) => misfit(table, &class.words, error),
                _ => Problem::new(table, key_of(&error), error.to_string()),
            })?
        }
    };
    match spec.lay_out_within(allowance) {
        Ok(laid) => Ok((spec, laid)),
        Err(SpecError::TooLarge(source)) => Err(Problem::lacking(table, source)),
        Err(error) => Err(misfit(table, &class.words, &error)),
    }
}

/// The key of a class that an error is about.
fn key_of(error: &StudyError) -> Option<&'static str> {
    match error {
        StudyError::Square { .. } => Some("task"),
        StudyError::Inputs { .. } => Some("inputs"),
        _ => None,
    }
}

/// A class whose parts are what they should be, and do not fit together.
fn misfit(table: Table, words: &ClassWords, error: &SpecError) -> Problem {
    let (key, text) = match error {
        SpecError::Task(TaskError::Inputs(error)) => {
            ("inputs", format!("inputs {}: {error}", words.inputs))
        }
        SpecError::Task(error @ TaskError::LengthWeights { .. }) => {
            ("length_weights", format!("length_weights: {error}"))
        }
        SpecError::Task(error @ (TaskError::ProcessLengths(_) | TaskError::StepWeights { .. })) => {
            ("reward", format!("reward: {error}"))
        }
        SpecError::Task(error) => ("lengths", format!("lengths: {error}")),
        error => ("window", format!("window, memory: {error}")),
    };
    Problem::new(table, Some(key), text)
}

/// What a series is planned from.
struct Planning<'a> {
    /// The study in the spelling of records.
    study: &'a Study,
    /// The same as it was typed, for messages.
    typed: &'a Study,
    registry: &'a Registry,
    base: &'a Path,
    allowance: Allowance,
}

impl Planning<'_> {
    fn series(
        &self,
        class: usize,
        number: usize,
        spec: ClassSpec,
        laid: Class,
    ) -> Result<RunSeries, Problem> {
        let dynamics = &self.study.dynamics[number];
        let table = Table::Dynamics(number);
        let method = self.registry.find(&dynamics.kind);
        let method = method.map_err(|error| Problem::of(table, error))?;
        let refuse = |error: SettingError| {
            let dynamics = &self.typed.dynamics[number];
            let typed = dynamics.typed(method.settings(), &error.key).to_owned();
            Problem::of(table, error.typed(&typed))
        };
        let mut points = Vec::new();
        for parameters in dynamics.points() {
            let mut fields: Fields = dynamics.settings.clone();
            fields.extend(parameters.fields());
            let settings = MethodSettings::new(method, &fields, self.base).map_err(refuse)?;
            let recipe = method.recipe(&laid, settings).map_err(refuse)?;
            let together = recipe.together();
            let what = format!("a unit of {together} runs on {} cells", laid.cells());
            let fits = self.allowance.check(&what, recipe.bytes());
            fits.map_err(|source| Problem::lacking(table, source))?;
            let seed = dynamics.seed.unwrap_or(self.study.seed);
            let seed = match dynamics.common_random_numbers {
                true => seed,
                false => point_seed(seed, &spec, &dynamics.id, &parameters),
            };
            points.push(Point {
                parameters,
                seed,
                recipe,
            });
        }
        let class = &self.study.classes[class];
        Ok(RunSeries {
            class_id: class.id.clone(),
            task: class.words.task.clone(),
            class: laid,
            spec,
            dynamics: dynamics.id.clone(),
            kind: method.kind(),
            runs: dynamics.runs,
            points,
        })
    }
}

/// The seed of a point: another for every class, dynamics and value of the parameters, and the same
/// whatever else a study holds.
fn point_seed(seed: u64, class: &ClassSpec, dynamics: &str, parameters: &Parameters) -> u64 {
    let text = json!([seed, class, dynamics, parameters.name()]).to_string();
    fnv(text.as_bytes()) as u64
}

/// What a run comes to depends on this, its point and its number.
fn recipe(study: &Study, dynamics: usize, series: &RunSeries) -> String {
    let dynamics = &study.dynamics[dynamics];
    let seed = dynamics.seed.unwrap_or(study.seed);
    let starts: Vec<_> = series
        .points
        .iter()
        .map(|point| point.recipe.settings().get("start").cloned())
        .collect();
    // The class as it was read: a file may have changed behind its name. Runs and points may be
    // added to a study without making its records those of another.
    let start = starts.first().cloned().flatten();
    let text = json!([
        seed,
        dynamics.common_random_numbers,
        dynamics.id,
        dynamics.kind,
        dynamics.settings,
        start,
        series.spec
    ]);
    digest(text.to_string().as_bytes())
}

impl Unit {
    /// Its runs.
    pub fn keys(&self) -> impl Iterator<Item = RunKey> {
        let (series, point) = (self.series, self.point);
        self.numbers
            .clone()
            .map(move |run| RunKey { series, point, run })
    }

    /// The part of it, from the first run that is not done to the last; none when all are.
    pub fn left(&self, done: &HashSet<RunKey>) -> Option<Unit> {
        let mut left = self
            .keys()
            .filter(|key| !done.contains(key))
            .map(|key| key.run);
        let first = left.next()?;
        let last = left.last().unwrap_or(first);
        Some(Unit {
            numbers: first..last + 1,
            ..self.clone()
        })
    }
}

/// The units of each point: what all of a point share is asked once, since there may be millions.
pub(crate) fn points(units: &[Unit]) -> impl Iterator<Item = &[Unit]> {
    units.chunk_by(|a, b| (a.series, a.point) == (b.series, b.point))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(runs: u64, tau: &str) -> Plan {
        let text = format!(
            "name = \"s\"\nseed = 1\n[[class]]\nid = \"z\"\ntask = \"z:3\"\nlengths = [3]\n\
             [[dynamics]]\nid = \"d\"\nkind = \"cavi\"\ntau = {tau}\nruns = {runs}\niterations = 3\n"
        );
        let study = Study::parse(&text, 0).unwrap();
        let registry = Registry::default();
        Plan::new(&study, &registry, Path::new(""), Allowance::default()).unwrap()
    }

    #[test]
    fn units_cover_every_run_once_in_order() {
        let plan = plan(20, "[1e-10, 0]");
        let keys: Vec<RunKey> = plan
            .units(Shard::WHOLE)
            .flat_map(|unit| unit.keys().collect::<Vec<_>>())
            .collect();
        assert_eq!(keys, plan.index.keys().collect::<Vec<_>>());
        assert_eq!(
            (plan.units(Shard::WHOLE).count(), plan.unit_count()),
            (6, 6)
        );
        assert!(keys.is_sorted());
    }

    #[test]
    fn ids_are_read_back() {
        let plan = plan(9, "[1e-10, 0]");
        for key in plan.index.keys() {
            assert_eq!(plan.index.find(&plan.index.id(key)), Some(key));
        }
        assert_eq!(
            plan.index.id(plan.index.keys().next().unwrap()),
            "z/d/tau=1e-10/0"
        );
        for bad in [
            "",
            "z/d/tau=1e-10/9",
            "z/d/tau=1e-9/0",
            "z/e/tau=0/0",
            "z/d/0/0",
            "z/d/tau=0/+1",
        ] {
            assert_eq!(plan.index.find(bad), None, "{bad}");
        }
    }

    #[test]
    fn more_runs_and_points_leave_recipes_and_streams_as_they_are() {
        let (few, many) = (plan(3, "[1e-10]"), plan(30, "[0, 1e-10]"));
        assert_eq!(few.manifest.recipes, many.manifest.recipes);
        let seeds = |plan: &Plan| -> Vec<u64> {
            let points = plan.series[0].points.iter();
            points.map(|point| point.seed).collect()
        };
        assert_eq!(seeds(&few)[0], seeds(&many)[1]);
        assert_ne!(seeds(&many)[0], seeds(&many)[1]);
    }

    #[test]
    fn what_is_left_of_a_unit_reaches_from_the_first_run_not_done_to_the_last() {
        let unit = plan(8, "0").units(Shard::WHOLE).next().unwrap();
        let done = |runs: &[usize]| -> HashSet<RunKey> {
            let keys: Vec<RunKey> = unit.keys().collect();
            runs.iter().map(|&run| keys[run]).collect()
        };
        let left = |runs: &[usize]| unit.left(&done(runs)).map(|unit| unit.numbers);
        assert_eq!(left(&[]), Some(0..8));
        assert_eq!(left(&[0, 1, 4, 7]), Some(2..7));
        assert_eq!(left(&[0, 1, 2, 3, 4, 5, 6]), Some(7..8));
        assert_eq!(left(&[0, 1, 2, 3, 4, 5, 6, 7]), None);
    }

    #[test]
    fn more_runs_than_memory_holds_are_counted_without_listing_them() {
        let plan = plan(u64::MAX, "0");
        assert_eq!(plan.unit_count(), u128::from(u64::MAX).div_ceil(8));
        assert_eq!(plan.index.runs(), u128::from(u64::MAX));
        let first = plan.units(Shard::WHOLE).next().unwrap();
        assert_eq!(first.numbers, 0..8);
        let of = usize::MAX;
        let shard = |number| {
            let units = plan.units(Shard { number, of });
            units.map(|unit| unit.numbers).collect::<Vec<_>>()
        };
        let alone = |range: std::ops::Range<u64>| std::iter::once(range).collect::<Vec<_>>();
        assert_eq!((shard(1), shard(3)), (alone(0..8), alone(16..24)));
        assert_eq!(shard(of), []);
    }

    #[test]
    fn a_shard_has_every_nth_unit() {
        let plan = plan(50, "[0, 1e-3, 1e-2]");
        let all: Vec<Unit> = plan.units(Shard::WHOLE).collect();
        assert_eq!(all.len(), 21);
        for of in 1..=25 {
            for number in 1..=of {
                let every = all.iter().skip(number - 1).step_by(of).cloned();
                let own = plan.units(Shard { number, of });
                assert_eq!(
                    own.collect::<Vec<_>>(),
                    every.collect::<Vec<_>>(),
                    "{number}/{of}"
                );
            }
        }
    }
}
