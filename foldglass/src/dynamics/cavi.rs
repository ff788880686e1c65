//! Runs tabular RLVR: damped coordinate ascent on J + tau sum H (paper, sections 2.1, G.4 and G.5).
//!
//! An iteration takes one exact gradient dQ at the old policy, draws a mask of the cells, and moves
//! the masked ones part of the way to softmax(dQ / tau). Several runs go side by side through the
//! same vectors where windows are narrow; each draws from its own stream, in the order of the
//! cells, so its result does not depend on its neighbours.
//!
//! - `settings`: what a run does, as data.
//! - `regulator`: whose entropies count how much, and priors in their place.
//! - `rule`: one iteration.
//! - `builder`: begins and resumes runs.
//! - `outcome`: how a run stands.

mod builder;
mod outcome;
mod regulator;
mod rule;
mod settings;
#[cfg(test)]
mod tests;

use crate::model::class::Class;
use crate::model::policy::Policy;
use crate::reward::evaluate::{Passes, PolicyTable, Scale};
use crate::reward::kernels::Kernels;
use crate::reward::layout;
use crate::support::memory::{Allowance, TooLarge};
use crate::support::stream::Stream;
use regulator::Regulator;

pub use builder::RunsBuilder;
pub use outcome::Outcome;
pub(super) use outcome::{likeliest, one_of};
pub use regulator::{Convention, PriorError};
pub use settings::{CaviSettings, Quench, Resets, Rule, UnknownSetting};

/// Values this close count as equal at tau = 0.
pub const VALUE_TIE: f64 = 1e-13;

/// Probabilities this close count as equal when the greedy action is read off.
pub const GREEDY_TIE: f64 = 1e-12;

/// The largest temperature: beyond it tau times an entropy overflows.
pub const HOTTEST: f64 = 1e300;

/// All that runs need to resume, together with the settings and numbers they were started with.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CaviState {
    /// Iterations done.
    pub done: usize,
    /// The policies, run by run, cell by cell.
    pub rows: Vec<Vec<f64>>,
    /// The logits likewise, under the gradient rule.
    pub logits: Option<Vec<Vec<f64>>>,
    /// The position of each run's stream.
    pub positions: Vec<u128>,
}

/// Runs in progress, side by side.
///
/// ```
/// use foldglass::prelude::*;
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[4], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let settings = cavi::CaviSettings::plain(1e-13, 500);
/// let mut runs = Runs::builder(&class, settings).seed(7).numbers(0..3).start().unwrap();
/// runs.advance(500);
/// assert_eq!(runs.outcomes().len(), 3);
/// ```
pub struct Runs {
    settings: CaviSettings,
    /// The memory that a prior may take.
    memory: Allowance,
    passes: Passes,
    kernels: Kernels,
    table: PolicyTable,
    regulator: Regulator,
    /// J of each run's policy at its last gradient.
    rewards: Vec<f64>,
    /// The objective of each run's policy likewise, where it is not J.
    objectives: Vec<f64>,
    /// Logits, kept for the gradient rule alone.
    logits: Vec<f64>,
    streams: Vec<Stream>,
    /// By cell, its place in a table of cells for the first run; the other runs lie behind it.
    cell_places: Vec<u32>,
    /// By group: its first node, the last that the way back comes to.
    first_nodes: Vec<usize>,
    /// By place in a table of cells, whether a cell moves: 1 or 0. Padding and runs that are not there stay 0.
    mask: Vec<u8>,
    /// Random bytes of one run after the other, and tosses made of them: `toss_row(cells)` bytes each.
    bytes: Vec<u8>,
    done: usize,
}

impl Runs {
    /// The number of runs that share vectors on a class: 8 where windows show no symbol but x_t and
    /// one that leaves, else 1.
    pub fn side_by_side(class: &Class) -> usize {
        layout::side_by_side(class)
    }

    /// Holds the runs to a prior: in place of entropies, divergences from it count. Before the first
    /// iteration, or where runs that had it are resumed.
    ///
    /// # Panics
    /// If the prior is of another class.
    pub fn with_prior(mut self, prior: &Policy) -> Result<Runs, PriorError> {
        let layout = &self.table.layout;
        assert!(prior.class() == &layout.class, "a prior of another class");
        self.regulator.set_prior(prior, layout, self.memory)?;
        Ok(self)
    }

    /// The bytes that a convention takes beside [`Runs::bytes`], and a prior where there is one.
    pub fn regulator_bytes(class: &Class, convention: Convention, prior: bool) -> u128 {
        let sizes = Passes::sizes(class, Runs::side_by_side(class));
        Regulator::bytes(sizes, convention, prior)
    }

    /// The bytes that runs on a class take, those side by side together.
    pub fn bytes(class: &Class, rule: Rule) -> Option<u128> {
        let sizes = Passes::sizes(class, Runs::side_by_side(class));
        let logits = match rule {
            Rule::Cavi { .. } => 0,
            Rule::Gradient { .. } => 8 * sizes.entries as u128,
        };
        Passes::bytes(sizes)?.checked_add(logits)
    }

    /// The state from which `resume` continues.
    pub fn state(&self) -> CaviState {
        let layout = &self.table.layout;
        let rows = |entries: &[f64], replica: usize| -> Vec<f64> {
            let mut rows = vec![0.0; layout.class.cells() * layout.class.q()];
            layout.gather_rows(entries, replica, &mut rows);
            rows
        };
        let all = |entries: &[f64]| (0..self.streams.len()).map(|r| rows(entries, r)).collect();
        CaviState {
            done: self.done,
            rows: all(&self.table.entries),
            logits: (!self.logits.is_empty()).then(|| all(&self.logits)),
            positions: self.streams.iter().map(Stream::position).collect(),
        }
    }

    fn empty(builder: RunsBuilder<'_>) -> Result<Runs, TooLarge> {
        let RunsBuilder {
            class,
            settings,
            seed,
            numbers,
            memory,
        } = builder;
        assert!(
            settings.objective.is_none()
                || (matches!(settings.rule, Rule::Gradient { .. })
                    && settings.convention == Convention::Uniform),
            "an objective other than J has the gradient rule and the uniform convention"
        );
        let replicas = Runs::side_by_side(class);
        let streams: Vec<Stream> = numbers.map(|number| Stream::new(seed, number)).collect();
        assert!(
            (1..=replicas).contains(&streams.len()),
            "{} runs of {replicas}",
            streams.len()
        );
        let passes = Passes::new(class, replicas, Scale::Probability, memory)?;
        let layout = passes.layout.clone();
        let cell_places = layout.places(0).map(|place| place.cell as u32).collect();
        let mut first_nodes = vec![usize::MAX; class.groups().len()];
        for (n, node) in class.nodes().iter().enumerate() {
            first_nodes[node.group] = first_nodes[node.group].min(n);
        }
        let logits = match settings.rule {
            Rule::Gradient { .. } => vec![0.0; layout.sizes.entries],
            Rule::Cavi { .. } => Vec::new(),
        };
        Ok(Runs {
            settings,
            memory,
            kernels: Kernels::best(),
            regulator: Regulator::new(class, &settings, layout.sizes),
            rewards: vec![0.0; streams.len()],
            objectives: vec![0.0; settings.objective.map_or(0, |_| streams.len())],
            mask: vec![0; layout.sizes.cells],
            bytes: vec![0; replicas * rule::toss_row(class.cells())],
            logits,
            cell_places,
            first_nodes,
            table: PolicyTable::zeros(layout),
            passes,
            streams,
            done: 0,
        })
    }

    fn redraw(&mut self, cell: usize, replica: usize) {
        let mut row = vec![0.0; self.table.layout.class.q()];
        self.settings
            .initial
            .draw(&mut self.streams[replica], &mut row);
        self.put(cell, replica, &row);
    }

    /// Gives a cell a distribution.
    fn put(&mut self, cell: usize, replica: usize, row: &[f64]) {
        self.table.write(cell, replica, row);
        if !self.logits.is_empty() {
            let place = self.table.place(cell, replica);
            row.iter()
                .enumerate()
                .for_each(|(a, p)| self.logits[place.at(a)] = p.ln());
        }
    }

    /// Iterations done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Does up to `iterations` more, not past the end; returns whether the runs are at their end.
    pub fn advance(&mut self, iterations: usize) -> bool {
        let end = self.settings.length();
        for _ in 0..iterations.min(end - self.done) {
            self.iterate();
        }
        self.done == end
    }

    /// J of a run's policy at its last gradient.
    pub fn expected_reward(&self, run: usize) -> f64 {
        self.rewards[run]
    }

    fn tau(&self) -> f64 {
        self.settings.tau_at(self.done)
    }
}
