//! Begins and resumes runs.

use super::{CaviSettings, CaviState, Runs};
use crate::model::class::Class;
use crate::model::policy::Policy;
use crate::support::memory::{Allowance, TooLarge};
use std::ops::Range;

/// Everything that runs start or resume with. Made by [`Runs::builder`].
#[derive(Debug, Clone)]
#[must_use = "runs begin with `start`, `start_at` or `resume`"]
pub struct RunsBuilder<'a> {
    pub(super) class: &'a Class,
    pub(super) settings: CaviSettings,
    pub(super) seed: u64,
    pub(super) numbers: Range<u64>,
    pub(super) memory: Allowance,
}

impl Runs {
    /// Runs of these settings on a class: run 0 of seed 0, within 8 GiB, by default.
    pub fn builder(class: &Class, settings: CaviSettings) -> RunsBuilder<'_> {
        RunsBuilder {
            class,
            settings,
            seed: 0,
            numbers: 0..1,
            memory: Allowance::default(),
        }
    }
}

impl<'a> RunsBuilder<'a> {
    /// The seed of all runs. Each draws from the stream of its number.
    pub fn seed(self, seed: u64) -> Self {
        RunsBuilder { seed, ..self }
    }

    /// The numbers of the runs. At most [`Runs::side_by_side`] of them are started together: see
    /// [`RunsBuilder::groups`].
    pub fn numbers(self, numbers: Range<u64>) -> Self {
        RunsBuilder { numbers, ..self }
    }

    /// The memory that the runs may take.
    pub fn within(self, memory: Allowance) -> Self {
        RunsBuilder { memory, ..self }
    }

    /// Splits the runs into groups that are computed side by side.
    pub fn groups(self) -> impl Iterator<Item = RunsBuilder<'a>> {
        let together = Runs::side_by_side(self.class) as u64;
        let end = self.numbers.end;
        let firsts = self.numbers.clone().step_by(together as usize);
        firsts.map(move |first| {
            let numbers = first..end.min(first.saturating_add(together));
            self.clone().numbers(numbers)
        })
    }

    /// Starts the runs from policies drawn from the initial law of the settings.
    ///
    /// # Panics
    /// If there are more runs than go side by side, or none.
    pub fn start(self) -> Result<Runs, TooLarge> {
        let class = self.class;
        let mut runs = Runs::empty(self)?;
        for replica in 0..runs.streams.len() {
            for cell in 0..class.cells() {
                runs.redraw(cell, replica);
            }
        }
        Ok(runs)
    }

    /// Starts them from a policy in place of random ones; resets still draw from the initial law.
    ///
    /// # Panics
    /// As for `start`, or if the policy is of another class.
    pub fn start_at(self, policy: &Policy) -> Result<Runs, TooLarge> {
        let class = self.class;
        assert!(policy.class() == class, "a policy of another class");
        let mut runs = Runs::empty(self)?;
        for replica in 0..runs.streams.len() {
            for cell in 0..class.cells() {
                runs.put(cell, replica, policy.row(cell));
            }
        }
        Ok(runs)
    }

    /// Resumes them where `state` left them. A state without logits under the gradient rule gives them those of its
    /// policies.
    ///
    /// # Panics
    /// As for `start`, or if the state is of other runs.
    pub fn resume(self, state: &CaviState) -> Result<Runs, TooLarge> {
        let (cells, q) = (self.class.cells(), self.class.q());
        let mut runs = Runs::empty(self)?;
        assert_eq!(state.rows.len(), runs.streams.len(), "a table for each run");
        for (replica, rows) in state.rows.iter().enumerate() {
            assert_eq!(rows.len(), cells * q, "a row for each cell");
            for (cell, row) in rows.chunks_exact(q).enumerate() {
                runs.put(cell, replica, row);
            }
        }
        for (replica, logits) in state.logits.iter().flatten().enumerate() {
            for (cell, row) in logits.chunks_exact(q).enumerate() {
                let place = runs.table.place(cell, replica);
                (0..q).for_each(|a| runs.logits[place.at(a)] = row[a]);
            }
        }
        for (stream, &position) in runs.streams.iter_mut().zip(&state.positions) {
            *stream = stream.clone().at(position);
        }
        runs.done = state.done;
        Ok(runs)
    }
}
