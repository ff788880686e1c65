//! Lays out the classes of a study and splits its runs into units.
//!
//! Runs of one temperature whose numbers lie in one group of those that share vectors make a unit.
//! What a run comes to does not depend on its unit.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use foldglass::chain::Order;
use foldglass::class::{Allowance, Class};

use super::hash::fnv;
use super::job::{self, Job};
use super::manifest::{Key, Manifest, pairs};
use super::method::Method;
use super::record::{Outcome, Record};
use super::spec::{ClassSpec, Study};
use crate::error::Error;

/// A study whose classes are laid out.
pub struct Plan {
    /// The study, as it is kept beside its records.
    pub manifest: Manifest,
    /// Its pairs of class and dynamics, in the order of [`pairs`].
    pub series: Vec<Series>,
}

/// All runs of one dynamics on one class.
pub struct Series {
    /// The class as the study states it.
    pub spec: ClassSpec,
    /// The class.
    pub class: Class,
    /// The id of the dynamics.
    pub dynamics: String,
    /// What a run does.
    pub method: Method,
    /// The temperatures.
    pub tau: Vec<f64>,
    /// Runs at each.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
    /// How many runs share vectors.
    pub together: u64,
    /// The bytes that a unit takes, about.
    pub memory: u128,
}

/// Runs that go together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Their pair of class and dynamics.
    pub series: usize,
    /// The number of their temperature.
    pub tau: usize,
    /// Their numbers.
    pub numbers: Range<u64>,
}

impl Plan {
    /// Lays out the classes; files are found from `base`.
    pub fn new(study: &Study, base: &Path, allowance: Allowance) -> Result<Plan, Error> {
        let refuse = |problem: String| Error::Study {
            place: format!("study \"{}\"", study.name),
            problem,
        };
        study.checked().map_err(refuse)?;
        let pairs = pairs(study);
        let mut classes: Vec<Option<Class>> = vec![None; study.classes.len()];
        for &(n, _) in &pairs {
            let spec = &study.classes[n];
            if classes[n].is_none() {
                let class = spec.class(base, study.seed, allowance);
                let class =
                    class.map_err(|error| refuse(format!("class \"{}\": {error}", spec.id)))?;
                classes[n] = Some(class);
            }
        }
        let series = pairs.iter().map(|&(class, dynamics)| {
            let laid = classes[class].clone().expect("laid out above");
            let series = Series::new(study, class, laid, dynamics, allowance);
            let (class, dynamics) = (&study.classes[class].id, &study.dynamics[dynamics].id);
            series.map_err(|error| {
                refuse(format!(
                    "dynamics \"{dynamics}\" on class \"{class}\": {error}"
                ))
            })
        });
        let series: Vec<Series> = series.collect::<Result<_, Error>>()?;
        let recipes = series.iter().map(Series::recipe).collect();
        Ok(Plan {
            manifest: Manifest::new(study.clone(), recipes),
            series,
        })
    }

    /// All units, in the order of the study.
    pub fn units(&self) -> impl Iterator<Item = Unit> {
        self.series.iter().enumerate().flat_map(|(number, series)| {
            let starts = (0..series.runs).step_by(series.together as usize);
            (0..series.tau.len()).flat_map(move |tau| {
                starts.clone().map(move |start| Unit {
                    series: number,
                    tau,
                    numbers: start..(start + series.together).min(series.runs),
                })
            })
        })
    }

    /// The series of a unit, and its temperature.
    pub fn of(&self, unit: &Unit) -> (&Series, f64) {
        let series = &self.series[unit.series];
        (series, series.tau[unit.tau])
    }

    /// The records of a unit's runs.
    pub fn records(&self, unit: &Unit, outcomes: Vec<Outcome>) -> Vec<Record> {
        let (series, tau) = self.of(unit);
        let record = |(key, result): (Key, Outcome)| Record {
            schema: self.manifest.schema,
            foldglass: self.manifest.foldglass.clone(),
            study: self.manifest.study.name.clone(),
            recipe: self.manifest.recipes[unit.series].clone(),
            id: self.manifest.id(key),
            class: series.spec.clone(),
            q: series.class.q(),
            cells: series.class.cells(),
            dynamics: series.dynamics.clone(),
            method: series.method.clone(),
            tau,
            seed: series.seed,
            run: key.run,
            result,
        };
        unit.keys().zip(outcomes).map(record).collect()
    }
}

impl Unit {
    /// Its runs.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        let (series, tau) = (self.series, self.tau);
        self.numbers
            .clone()
            .map(move |run| Key { series, tau, run })
    }

    /// The part of it, from the first run that is not done to the last; none when all are.
    pub fn left(&self, done: &HashSet<Key>) -> Option<Unit> {
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

impl Series {
    fn new(
        study: &Study,
        spec: usize,
        class: Class,
        dynamics: usize,
        allowance: Allowance,
    ) -> Result<Series, String> {
        let dynamics = &study.dynamics[dynamics];
        let method = dynamics.method.resolved(class.shape().tied);
        let by_cells = matches!(&method, Method::Chain(chain) if chain.order == Some(Order::Cell));
        let together = if by_cells {
            1
        } else {
            foldglass::cavi::Runs::side_by_side(&class)
        };
        let mut series = Series {
            spec: study.classes[spec].clone(),
            class,
            dynamics: dynamics.id.clone(),
            method,
            tau: dynamics.tau.clone(),
            runs: dynamics.runs,
            seed: dynamics.seed.unwrap_or(study.seed),
            together: together as u64,
            memory: 0,
        };
        series.memory = series.needed(allowance)?;
        Ok(series)
    }

    /// The bytes of a unit: what the library says it lacks when it may take none.
    fn needed(&self, allowance: Allowance) -> Result<u128, String> {
        let needed = match Job::begin(self, self.tau[0], 0..1, Allowance(0)) {
            Ok(_) => 0,
            Err(error) => job::lacking(&error).ok_or(error.to_string())?,
        };
        let what = format!("a unit of {} cells", self.class.cells());
        allowance
            .check(&what, Some(needed))
            .map_err(|error| error.to_string())?;
        Ok(needed)
    }

    /// What a run comes to depends on this, its temperature and its number.
    fn recipe(&self) -> String {
        let method = serde_json::to_string(&self.method).expect("plain data");
        // The task as it was read: a file may have changed behind its name.
        let (task, shape, seed) = (self.class.task(), self.class.shape(), self.seed);
        format!(
            "{:032x}",
            fnv(format!("{seed} {method} {shape:?} {task:?}").as_bytes())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(runs: u64) -> Plan {
        let text = format!(
            "name = \"s\"\nseed = 1\n[[class]]\nid = \"z\"\ntask = \"z:3\"\nlengths = [3]\n\
             [[dynamics]]\nid = \"d\"\nkind = \"cavi\"\ntau = [1e-10, 0]\nruns = {runs}\niterations = 3\n"
        );
        let study = Study::parse(&text, 0).unwrap();
        Plan::new(&study, Path::new(""), Allowance::default()).unwrap()
    }

    #[test]
    fn units_cover_every_run_once_in_order() {
        let plan = plan(20);
        let keys: Vec<Key> = plan
            .units()
            .flat_map(|unit| unit.keys().collect::<Vec<_>>())
            .collect();
        assert_eq!(keys, plan.manifest.keys().collect::<Vec<_>>());
        assert_eq!(plan.units().count(), 6);
        assert!(keys.is_sorted());
    }

    #[test]
    fn ids_are_read_back() {
        let plan = plan(9);
        for key in plan.manifest.keys() {
            assert_eq!(plan.manifest.find(&plan.manifest.id(key)), Some(key));
        }
        assert_eq!(
            plan.manifest.id(plan.manifest.keys().next().unwrap()),
            "z/d/tau=1e-10/0"
        );
        for bad in [
            "",
            "z/d/tau=1e-10/9",
            "z/d/tau=1e-9/0",
            "z/e/tau=0/0",
            "z/d/0/0",
        ] {
            assert_eq!(plan.manifest.find(bad), None, "{bad}");
        }
    }

    #[test]
    fn more_runs_leave_the_recipe_as_it_is() {
        assert_eq!(plan(3).manifest.recipes, plan(30).manifest.recipes);
    }

    #[test]
    fn what_is_left_of_a_unit_reaches_from_the_first_run_not_done_to_the_last() {
        let unit = plan(8).units().next().unwrap();
        let done = |runs: &[usize]| -> HashSet<Key> {
            let keys: Vec<Key> = unit.keys().collect();
            runs.iter().map(|&run| keys[run]).collect()
        };
        let left = |runs: &[usize]| unit.left(&done(runs)).map(|unit| unit.numbers);
        assert_eq!(left(&[]), Some(0..8));
        assert_eq!(left(&[0, 1, 4, 7]), Some(2..7));
        assert_eq!(left(&[0, 1, 2, 3, 4, 5, 6]), Some(7..8));
        assert_eq!(left(&[0, 1, 2, 3, 4, 5, 6, 7]), None);
    }
}
