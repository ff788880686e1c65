//! Evaluates batches of policies on all threads: J, or another objective, with derivatives (paper, App. A).

use foldglass::Context;
use foldglass::model::policy::Entries;
use foldglass::reward::objectives::{self, Utility};
use foldglass::reward::per_input;
use foldglass::reward::ways::MOST_INPUTS;
use numpy::{PyReadwriteArray1, PyReadwriteArray2, PyReadwriteArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::sync::Mutex;

use crate::class::Class;
use crate::error;
use crate::evaluate::{check_shape, pool};
use crate::rows::{self, Probabilities};
use crate::watch::watched;

/// From so many entries on, a batch takes long enough for a signal to be looked for.
const LONG: usize = 1 << 22;

/// From so many inputs on, a tree of inputs is divided among threads even where there are several policies.
const MANY_INPUTS: u64 = 1 << 17;

/// A batch of policies, and where what they come to is written.
struct Batch<'a> {
    class: &'a Class,
    entries: Entries<'a>,
    count: usize,
    rewards: &'a mut [f64],
    /// Empty where they are not wanted.
    visits: &'a mut [f64],
    values: &'a mut [f64],
}

/// One policy of a batch.
struct Job<'a> {
    number: usize,
    rows: Entries<'a>,
    reward: &'a mut f64,
    visits: &'a mut [f64],
    values: &'a mut [f64],
}

impl Batch<'_> {
    /// Does all policies, in turn or on all threads, until a signal or an error. `each` does those of one thread.
    fn run(
        self,
        py: Python<'_>,
        in_turn: bool,
        each: impl Fn(&mut dyn Iterator<Item = Job<'_>>) -> PyResult<()> + Sync,
    ) -> PyResult<()> {
        let (cells, one) = (
            self.class.class.cells(),
            self.class.class.cells() * self.class.class.q(),
        );
        let mut visits = self.visits.chunks_exact_mut(cells);
        let mut values = self.values.chunks_exact_mut(one);
        let rewards = self.rewards.iter_mut().enumerate();
        let jobs = rewards.map(|(number, reward)| Job {
            number,
            rows: self.entries.part(number * one..(number + 1) * one),
            reward,
            visits: visits.next().unwrap_or_default(),
            values: values.next().unwrap_or_default(),
        });
        let threads = match self.count {
            0 | 1 => 1,
            _ if in_turn => 1,
            count => pool()?.current_num_threads().min(count),
        };
        let jobs = Mutex::new(jobs);
        let work = |stopped: &(dyn Fn() -> bool + Sync)| {
            let failed = Mutex::new(None);
            let thread = || {
                let next = || jobs.lock().expect("no panic while it is held").next();
                let is_over = || stopped() || failed.lock().is_ok_and(|failed| failed.is_some());
                let mut own = std::iter::from_fn(|| if is_over() { None } else { next() });
                if let Err(error) = each(&mut own) {
                    failed.lock().expect("no panic").get_or_insert(error);
                }
            };
            if threads < 2 {
                thread();
            } else {
                // This thread works too: it need not be woken.
                pool()?.in_place_scope(|scope| {
                    (1..threads).for_each(|_| scope.spawn(|_| thread()));
                    thread();
                });
            }
            failed.into_inner().expect("no panic").map_or(Ok(()), Err)
        };
        if self.count * one < LONG && !in_turn {
            return py.detach(|| work(&|| false));
        }
        let (done, stopped) = watched(py, None, |watch| work(&|| watch.is_stopped()));
        stopped.map_or(done, Err)
    }
}

/// Says which policy of a batch is refused.
fn of_batch<T>(number: usize, found: Result<T, String>) -> PyResult<T> {
    found.map_err(|error| error::refused(format!("policy {number} of the batch: {error}")))
}

fn check_batch(class: &foldglass::Class, shape: &[usize]) -> PyResult<()> {
    let (cells, q) = (class.cells(), class.q());
    match shape {
        [_, rest @ ..] if *rest == [cells, q] => Ok(()),
        _ => Err(error::refused(format!(
            "a batch of shape {shape:?}: this class needs (policies, {cells}, {q})"
        ))),
    }
}

/// J of every policy of a batch, of shape (policies, cells, q), on all threads; visits and values where there is room
/// for them. Sums of rows may miss 1 by `tolerance`.
#[pyfunction]
#[pyo3(signature = (class_, batch, tolerance, rewards, visits=None, values=None))]
pub fn evaluate_batch(
    py: Python<'_>,
    class_: &Class,
    batch: Probabilities<'_>,
    tolerance: f64,
    mut rewards: PyReadwriteArray1<'_, f64>,
    mut visits: Option<PyReadwriteArray2<'_, f64>>,
    mut values: Option<PyReadwriteArray3<'_, f64>>,
) -> PyResult<()> {
    let class = &class_.class;
    check_batch(class, batch.shape())?;
    let count = batch.shape()[0];
    check_shape("rewards", rewards.shape(), &[count])?;
    if let Some(visits) = &visits {
        check_shape("visits", visits.shape(), &[count, class.cells()])?;
    }
    if let Some(values) = &values {
        check_shape("values", values.shape(), &[count, class.cells(), class.q()])?;
    }
    let batch = Batch {
        class: class_,
        entries: batch.entries()?,
        count,
        rewards: rewards.as_slice_mut()?,
        visits: match &mut visits {
            Some(visits) => visits.as_slice_mut()?,
            None => &mut [],
        },
        values: match &mut values {
            Some(values) => values.as_slice_mut()?,
            None => &mut [],
        },
    };
    batch.run(py, false, |jobs| {
        class_.with_evaluator(|evaluator| {
            for job in jobs {
                let reward = rows::evaluate(job.rows, evaluator, tolerance);
                *job.reward = of_batch(job.number, reward)?;
                if !job.visits.is_empty() {
                    evaluator.visits_into(job.visits);
                }
                if !job.values.is_empty() {
                    evaluator.values_into(job.values);
                }
            }
            Ok(())
        })
    })
}

/// An objective of every policy of a batch, and its derivative by every probability.
#[pyfunction]
pub fn objective_batch(
    py: Python<'_>,
    class_: &Class,
    batch: Probabilities<'_>,
    tolerance: f64,
    objective: &str,
    mut found: PyReadwriteArray1<'_, f64>,
    mut values: PyReadwriteArray3<'_, f64>,
) -> PyResult<()> {
    let class = &class_.class;
    let utility: Utility = objective
        .parse()
        .map_err(|error: String| error::refused(error))?;
    check_batch(class, batch.shape())?;
    let count = batch.shape()[0];
    check_shape("objectives", found.shape(), &[count])?;
    check_shape("values", values.shape(), &[count, class.cells(), class.q()])?;
    let inputs = match per_input::inputs(class) {
        Some(inputs) if inputs <= MOST_INPUTS => inputs,
        inputs => {
            let inputs = inputs.map_or("2^64 or more".to_owned(), |n| n.to_string());
            return Err(error::refused(format!(
                "{objective} takes every input on its own, and this class has {inputs}: at most {MOST_INPUTS} are accepted"
            )));
        }
    };
    let in_turn = inputs >= MANY_INPUTS;
    let context = match in_turn {
        true => Context::default(),
        false => Context::default().with_threads(1),
    };
    let batch = Batch {
        class: class_,
        entries: batch.entries()?,
        count,
        rewards: found.as_slice_mut()?,
        visits: &mut [],
        values: values.as_slice_mut()?,
    };
    batch.run(py, in_turn, |jobs| {
        for job in jobs {
            let policy = of_batch(job.number, rows::policy(job.rows, class, tolerance))?;
            let found =
                objectives::objective(&policy, utility, 0, context).map_err(error::refused)?;
            *job.reward = found.value;
            job.values.copy_from_slice(&found.values);
        }
        Ok(())
    })
}
