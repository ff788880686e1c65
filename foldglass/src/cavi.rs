//! Runs tabular RLVR: damped coordinate ascent on J + tau sum H (paper, sections 2.1, G.4 and G.5).
//!
//! An iteration takes one exact gradient dQ at the old policy, draws a mask of the cells, and moves
//! the masked ones part of the way to softmax(dQ / tau). Several runs go side by side through the
//! same vectors where windows are narrow; each draws from its own stream, in the order of the
//! cells, so its result does not depend on its neighbours.

use crate::class::Class;
use crate::count;
use crate::evaluate::{Passes, Scale, Wants};
use crate::exact::Reward;
use crate::kernels::{Kernels, Soften};
use crate::memory::{Allowance, TooLarge};
use crate::policy::{Code, InitialLaw, LEAST_PROBABILITY, Policy, Table};
use crate::quasigroup::Symbol;
use crate::stream::{Coin, Stream};
use std::str::FromStr;
use thiserror::Error;

/// Values this close count as equal at tau = 0.
pub const VALUE_TIE: f64 = 1e-13;

/// Probabilities this close count as equal when the greedy action is read off.
pub const GREEDY_TIE: f64 = 1e-12;

/// The largest temperature: beyond it tau times an entropy is no number.
pub const HOTTEST: f64 = 1e300;

/// The most that a logit moves in one step of the gradient.
const LARGEST_STEP: f64 = 1e300;

/// How a cell moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Damped coordinate ascent: pi += damping (target - pi) on a random share of the cells.
    Cavi {
        /// How far a cell moves towards its target.
        damping: f64,
        /// The share of cells that move.
        share: f64,
    },
    /// Exact softmax policy gradient: the logits of every cell move by `step` times the gradient of
    /// J + tau sum H.
    Gradient {
        /// The step size.
        step: f64,
    },
}

impl Rule {
    /// The paper's: 30 % of the cells, 30 % of the way.
    pub const PAPER: Rule = Rule::Cavi {
        damping: 0.3,
        share: 0.3,
    };
}

/// Cells redrawn from the initial law now and then.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Resets {
    /// The share of the cells redrawn each time.
    pub share: f64,
    /// After how many iterations each time.
    pub every: usize,
    /// How many times.
    pub cycles: usize,
}

/// A last stretch at another temperature.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Quench {
    /// Its length, after the iterations at tau.
    pub iterations: usize,
    /// Its temperature.
    pub tau: f64,
}

/// A text that names no quench or resets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnknownSetting {
    /// No quench.
    #[error(
        "`{0}` is no quench: write N,TAU, a number of iterations and a temperature of at least 0, \
         such as 50,1e-13"
    )]
    Quench(String),
    /// No resets.
    #[error(
        "`{0}` is no series of resets: write SHARE,EVERY,TIMES, a share of the cells from 0 to 1, \
         iterations between two resets and how often, such as 0.02,10,100"
    )]
    Resets(String),
}

impl FromStr for Quench {
    type Err = UnknownSetting;

    fn from_str(text: &str) -> Result<Quench, UnknownSetting> {
        let read = || {
            let (iterations, tau) = text.split_once(',')?;
            Some(Quench {
                iterations: whole(iterations)?,
                tau: real(tau).filter(|tau| (0.0..=HOTTEST).contains(tau))?,
            })
        };
        read().ok_or_else(|| UnknownSetting::Quench(text.to_owned()))
    }
}

impl FromStr for Resets {
    type Err = UnknownSetting;

    fn from_str(text: &str) -> Result<Resets, UnknownSetting> {
        let read = || {
            let [share, every, cycles] = text.split(',').collect::<Vec<_>>().try_into().ok()?;
            Some(Resets {
                share: real(share).filter(|share| (0.0..=1.0).contains(share))?,
                every: whole(every).filter(|&every| every > 0)?,
                cycles: whole(cycles)?,
            })
        };
        read().ok_or_else(|| UnknownSetting::Resets(text.to_owned()))
    }
}

fn whole(text: &str) -> Option<usize> {
    let digits = text.trim();
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

fn real(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// What a run does, all choices explicit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The law of the first policy, and of what resets draw.
    pub initial: InitialLaw,
    /// How cells move.
    pub rule: Rule,
    /// The temperature, at least 0.
    pub tau: f64,
    /// Iterations at tau.
    pub iterations: usize,
    /// A last stretch.
    pub quench: Option<Quench>,
    /// Disturbances.
    pub resets: Option<Resets>,
}

impl Settings {
    /// The paper's update from `u_norm`, undisturbed (preset A of the specification).
    pub fn plain(tau: f64, iterations: usize) -> Settings {
        Settings {
            initial: InitialLaw::UNorm,
            rule: Rule::PAPER,
            tau,
            iterations,
            quench: None,
            resets: None,
        }
    }

    /// All iterations, the quench included.
    pub fn length(&self) -> usize {
        self.iterations + self.quench.map_or(0, |quench| quench.iterations)
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The code of the likeliest actions, ties drawn from the run's stream.
    pub greedy: Code,
    /// Its exact reward.
    pub greedy_reward: Reward,
    /// J of the policy.
    pub expected_reward: f64,
    /// The sum over cells of the entropy of their distributions, in nats.
    pub entropy: f64,
    /// The largest |target - pi| over all cells and actions.
    pub residual: f64,
}

/// All that runs need to go on later, with the settings and numbers they were started with.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State {
    /// Iterations done.
    pub done: usize,
    /// The policies, run by run, cell by cell.
    pub rows: Vec<Vec<f64>>,
    /// The logits likewise, under the gradient rule.
    pub logits: Option<Vec<Vec<f64>>>,
    /// How far each run's stream has come.
    pub positions: Vec<u128>,
}

/// Runs in progress, side by side.
///
/// ```
/// use foldglass::cavi::{Runs, Settings};
/// use foldglass::{Allowance, ClassSpec, LatinSquare, Shape};
/// let spec = ClassSpec::uniform(LatinSquare::cyclic(2).unwrap(), &[4], Shape::untied(0, 0));
/// let class = spec.lay_out(Allowance::default()).unwrap();
/// let mut runs = Runs::new(&class, Settings::plain(1e-13, 500), 7, 0..3, Allowance::default()).unwrap();
/// runs.advance(500);
/// assert_eq!(runs.outcomes().len(), 3);
/// ```
pub struct Runs {
    settings: Settings,
    passes: Passes,
    kernels: Kernels,
    table: Table,
    /// Logits, kept for the gradient rule alone.
    logits: Vec<f64>,
    streams: Vec<Stream>,
    /// Where each cell of replica 0 lies in a table of cells.
    places: Vec<u32>,
    /// By group: its first node, the last that the way back comes to.
    first_nodes: Vec<usize>,
    mask: Vec<u8>,
    bytes: Vec<u8>,
    done: usize,
}

impl Runs {
    /// The number of runs that share vectors on a class: 8 where windows are narrow, else 1.
    pub fn side_by_side(class: &Class) -> usize {
        let lanes = class
            .planes(1)
            .groups
            .iter()
            .map(|group| group.lanes.count)
            .max();
        if lanes == Some(1) { 8 } else { 1 }
    }

    /// Starts the runs numbered `numbers` of `seed`, at most `side_by_side` of them.
    ///
    /// # Panics
    /// If there are more runs than go side by side, or none.
    pub fn new(
        class: &Class,
        settings: Settings,
        seed: u64,
        numbers: std::ops::Range<u64>,
        allowance: Allowance,
    ) -> Result<Runs, TooLarge> {
        let mut runs = Runs::empty(class, settings, seed, numbers, allowance)?;
        for replica in 0..runs.streams.len() {
            for cell in 0..class.cells() {
                runs.redraw(cell, replica);
            }
        }
        Ok(runs)
    }

    /// Starts runs from a policy in place of random ones; resets still draw from the initial law.
    ///
    /// # Panics
    /// As for `new`.
    pub fn starting_at(
        policy: &Policy,
        settings: Settings,
        seed: u64,
        numbers: std::ops::Range<u64>,
        allowance: Allowance,
    ) -> Result<Runs, TooLarge> {
        let class = policy.class();
        let mut runs = Runs::empty(class, settings, seed, numbers, allowance)?;
        for replica in 0..runs.streams.len() {
            for cell in 0..class.cells() {
                runs.put(cell, replica, &policy.row(cell));
            }
        }
        Ok(runs)
    }

    /// The bytes that runs on a class take, those side by side together.
    pub fn bytes(class: &Class, rule: Rule) -> Option<u128> {
        let planes = class.planes(Runs::side_by_side(class));
        let logits = match rule {
            Rule::Cavi { .. } => 0,
            Rule::Gradient { .. } => 8 * planes.entries as u128,
        };
        Passes::bytes(&planes)?.checked_add(logits)
    }

    /// Takes runs up again where `state` left them.
    ///
    /// # Panics
    /// As for `new`, or if the state is of other runs.
    pub fn resume(
        class: &Class,
        settings: Settings,
        seed: u64,
        numbers: std::ops::Range<u64>,
        state: &State,
        allowance: Allowance,
    ) -> Result<Runs, TooLarge> {
        let mut runs = Runs::empty(class, settings, seed, numbers, allowance)?;
        let (cells, q) = (class.cells(), class.q());
        assert_eq!(state.rows.len(), runs.streams.len(), "a table for each run");
        for (replica, rows) in state.rows.iter().enumerate() {
            assert_eq!(rows.len(), cells * q, "a row for each cell");
            for (cell, row) in rows.chunks_exact(q).enumerate() {
                runs.table.write(cell, replica, row);
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

    /// What `resume` needs.
    pub fn state(&self) -> State {
        let (cells, q) = (0..self.table.class.cells(), self.table.class.q());
        let rows = |entries: &[f64], replica: usize| -> Vec<f64> {
            let places = cells.clone().map(|cell| self.table.place(cell, replica));
            places
                .flat_map(|place| (0..q).map(move |a| entries[place.at(a)]))
                .collect()
        };
        let all = |entries: &[f64]| (0..self.streams.len()).map(|r| rows(entries, r)).collect();
        State {
            done: self.done,
            rows: all(&self.table.entries),
            logits: (!self.logits.is_empty()).then(|| all(&self.logits)),
            positions: self.streams.iter().map(Stream::position).collect(),
        }
    }

    fn empty(
        class: &Class,
        settings: Settings,
        seed: u64,
        numbers: std::ops::Range<u64>,
        allowance: Allowance,
    ) -> Result<Runs, TooLarge> {
        let replicas = Runs::side_by_side(class);
        let streams: Vec<Stream> = numbers.map(|number| Stream::new(seed, number)).collect();
        assert!(
            (1..=replicas).contains(&streams.len()),
            "{} runs of {replicas}",
            streams.len()
        );
        let passes = Passes::new(class, replicas, Scale::Probability, allowance)?;
        let table = Table::zeros(class, passes.planes.clone());
        let places = (0..class.cells())
            .map(|cell| table.place(cell, 0).cell as u32)
            .collect();
        let mut first_nodes = vec![usize::MAX; class.groups().len()];
        for (n, node) in class.nodes().iter().enumerate() {
            first_nodes[node.group] = first_nodes[node.group].min(n);
        }
        let logits = match settings.rule {
            Rule::Gradient { .. } => vec![0.0; passes.planes.entries],
            Rule::Cavi { .. } => Vec::new(),
        };
        Ok(Runs {
            settings,
            kernels: Kernels::best(),
            mask: vec![0; passes.planes.cell_entries],
            bytes: vec![0; class.cells()],
            logits,
            places,
            first_nodes,
            table,
            passes,
            streams,
            done: 0,
        })
    }

    fn redraw(&mut self, cell: usize, replica: usize) {
        let mut row = vec![0.0; self.table.class.q()];
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
        self.passes.reward(run)
    }

    fn tau(&self) -> f64 {
        match self.settings.quench {
            Some(quench) if self.done >= self.settings.iterations => quench.tau,
            _ => self.settings.tau,
        }
    }

    fn iterate(&mut self) {
        self.disturb();
        match self.settings.rule {
            Rule::Cavi { damping, share } => {
                self.choose(Coin::new(share));
                self.ascend(damping);
            }
            Rule::Gradient { step } => {
                self.passes.run(&self.table.entries, Wants::GRADIENT);
                self.climb(step);
            }
        }
        self.done += 1;
    }

    /// Redraws some cells when it is time.
    fn disturb(&mut self) {
        let Some(Resets {
            share,
            every,
            cycles,
        }) = self.settings.resets
        else {
            return;
        };
        let due = self.done > 0 && self.done.is_multiple_of(every) && self.done / every <= cycles;
        if !due {
            return;
        }
        let coin = Coin::new(share);
        for replica in 0..self.streams.len() {
            let mut bytes = std::mem::take(&mut self.bytes);
            self.streams[replica].fill(&mut bytes);
            for (cell, &byte) in bytes.iter().enumerate() {
                if coin.toss(byte, &mut self.streams[replica]) {
                    self.redraw(cell, replica);
                }
            }
            self.bytes = bytes;
        }
    }

    /// Draws the mask, each run's from its own stream in the order of the cells.
    fn choose(&mut self, coin: Coin) {
        for (replica, stream) in self.streams.iter_mut().enumerate() {
            stream.fill(&mut self.bytes);
            coin.toss_all(&mut self.bytes, stream);
            for (&yes, &place) in self.bytes.iter().zip(&self.places) {
                self.mask[place as usize + replica] = yes;
            }
        }
    }

    /// Takes the gradient, from the last step to the first, and moves the masked cells of a group as
    /// soon as no step needs its old policy any more: its values are still close at hand then.
    fn ascend(&mut self, damping: f64) {
        let class = self.table.class.clone();
        for n in 0..class.nodes().len() {
            self.passes.renew_sent(n, &self.table.entries);
        }
        for (n, node) in class.nodes().iter().enumerate().rev() {
            self.passes
                .renew_back(n, &self.table.entries, Wants::GRADIENT);
            if self.first_nodes[node.group] == n {
                self.soften(node.group, damping);
            }
        }
    }

    /// Moves the masked cells of a group.
    fn soften(&mut self, number: usize, damping: f64) {
        let group = &self.passes.planes.groups[number];
        let work = Soften {
            q: self.table.class.q(),
            width: group.lanes.width,
            tau: self.tau(),
            damping,
            tie: VALUE_TIE,
            least: LEAST_PROBABILITY,
        };
        self.kernels.soften(
            &work,
            &self.passes.values[group.entries.clone()],
            &self.mask[group.cells.clone()],
            &mut self.table.entries[group.entries.clone()],
        );
    }

    /// One step of the exact softmax policy gradient on J + tau sum H, for every cell.
    fn climb(&mut self, step: f64) {
        let (q, tau) = (self.table.class.q(), self.tau());
        for replica in 0..self.streams.len() {
            for cell in 0..self.table.class.cells() {
                let place = self.table.place(cell, replica);
                let row: Vec<f64> = (0..q).map(|a| self.table.entries[place.at(a)]).collect();
                let slope = |a: usize| {
                    let entropy = if row[a] > 0.0 {
                        -tau * row[a].ln()
                    } else {
                        0.0
                    };
                    self.passes.values[place.at(a)] + entropy
                };
                let slopes: Vec<f64> = (0..q).map(slope).collect();
                let mean: f64 = row.iter().zip(&slopes).map(|(p, s)| p * s).sum();
                for a in 0..q {
                    // A step of any size leaves logits that can be compared.
                    let change = step * row[a] * (slopes[a] - mean);
                    self.logits[place.at(a)] += change.clamp(-LARGEST_STEP, LARGEST_STEP);
                }
                let best = (0..q)
                    .map(|a| self.logits[place.at(a)])
                    .fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = (0..q)
                    .map(|a| (self.logits[place.at(a)] - best).exp())
                    .collect();
                let sum: f64 = weights.iter().sum();
                for (a, weight) in weights.iter().enumerate() {
                    self.table.entries[place.at(a)] = weight / sum;
                }
            }
        }
    }

    /// The policy of a run.
    pub fn policy(&self, run: usize) -> Policy {
        let class = &self.table.class;
        Policy::from_table_rows(class, |cell| self.table.row(cell, run))
    }

    /// Takes the gradient at the present policies, which [`Runs::residual`] and [`Runs::outcome`]
    /// read. It changes nothing of the runs.
    pub fn measure(&mut self) {
        self.passes.run(&self.table.entries, Wants::GRADIENT);
    }

    /// How the runs stand now.
    pub fn outcomes(&mut self) -> Vec<Outcome> {
        self.measure();
        (0..self.streams.len())
            .map(|run| self.outcome(run))
            .collect()
    }

    /// The largest |target - pi| of a run, as last measured.
    pub fn residual(&self, run: usize) -> f64 {
        let cells = 0..self.table.class.cells();
        cells
            .map(|cell| self.distance(cell, run))
            .fold(0.0, f64::max)
    }

    /// The largest |target - pi| over the actions of a cell.
    fn distance(&self, cell: usize, run: usize) -> f64 {
        let place = self.table.place(cell, run);
        let values: Vec<f64> = (0..self.table.class.q())
            .map(|a| self.passes.values[place.at(a)])
            .collect();
        // Before the first iteration, that of the first.
        let tau = if self.done == 0 {
            self.settings.tau
        } else {
            self.tau()
        };
        let row = self.table.row(cell, run);
        let terms = row.iter().zip(target(&values, tau));
        terms.fold(0.0, |most, (p, target)| most.max((p - target).abs()))
    }

    /// How a run stands, as last measured. Ties in the greedy code draw from its stream.
    pub fn outcome(&mut self, run: usize) -> Outcome {
        let class = self.table.class.clone();
        let (mut residual, mut entropy) = (0.0f64, 0.0);
        let mut actions: Vec<Symbol> = Vec::with_capacity(class.cells());
        for cell in 0..class.cells() {
            let row = self.table.row(cell, run);
            residual = residual.max(self.distance(cell, run));
            for p in row.iter().filter(|p| **p > 0.0) {
                entropy -= p * p.ln();
            }
            actions.push(greedy(&row, &mut self.streams[run]));
        }
        let greedy = Code::from_fn(&class, |cell| actions[cell]);
        Outcome {
            greedy_reward: count::reward(&greedy),
            greedy,
            expected_reward: self.passes.reward(run),
            entropy,
            residual,
        }
    }
}

/// Where the update leads a cell: softmax(values / tau), at tau = 0 uniform over the best.
fn target(values: &[f64], tau: f64) -> Vec<f64> {
    let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weigh = |&value: &f64| match tau {
        0.0 => f64::from(value - best >= -VALUE_TIE),
        tau => ((value - best) / tau).exp(),
    };
    let weights: Vec<f64> = values.iter().map(weigh).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|w| w / sum).collect()
}

/// The likeliest action; among equals, one at random.
fn greedy(row: &[f64], stream: &mut Stream) -> Symbol {
    let best = row.iter().copied().fold(0.0, f64::max);
    let ties: Vec<usize> = (0..row.len())
        .filter(|&a| row[a] >= best - GREEDY_TIE)
        .collect();
    match ties[..] {
        [only] => only as Symbol,
        _ => ties[stream.below(ties.len() as u32) as usize] as Symbol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Shape;
    use crate::inputs::InputLaw;
    use crate::quasigroup::LatinSquare;
    use crate::task::Task;

    fn class(name: &str, lengths: &[usize], shape: Shape) -> Class {
        let square = LatinSquare::named(name, 0).unwrap();
        let task = Task::new(square, &InputLaw::Uniform, lengths).unwrap();
        Class::new(task, shape, Allowance::default()).unwrap()
    }

    fn start(class: &Class, settings: Settings, numbers: std::ops::Range<u64>) -> Runs {
        Runs::new(class, settings, 3, numbers, Allowance::default()).unwrap()
    }

    #[test]
    fn a_run_does_not_depend_on_its_neighbours() {
        let class = class("z:3", &[4], Shape::untied(0, 0));
        let resets = Resets {
            share: 0.1,
            every: 7,
            cycles: 5,
        };
        let settings = Settings {
            resets: Some(resets),
            ..Settings::plain(1e-5, 60)
        };
        let mut together = start(&class, settings, 0..8);
        together.advance(60);
        let (state, outcomes) = (together.state(), together.outcomes());
        for number in [0, 3, 7] {
            let mut alone = start(&class, settings, number..number + 1);
            alone.advance(60);
            assert_eq!(alone.state().rows[0], state.rows[number as usize]);
            assert_eq!(alone.outcomes()[0], outcomes[number as usize]);
        }
    }

    #[test]
    fn runs_taken_up_again_end_as_if_never_interrupted() {
        for rule in [Rule::PAPER, Rule::Gradient { step: 2.0 }] {
            for (shape, numbers) in [(Shape::untied(0, 0), 8..11), (Shape::tied(1, 1), 0..1)] {
                let class = class("z:3", &[2, 3], shape);
                let quench = Some(Quench {
                    iterations: 10,
                    tau: 1e-9,
                });
                let settings = Settings {
                    rule,
                    quench,
                    ..Settings::plain(1e-3, 30)
                };
                let mut whole = start(&class, settings, numbers.clone());
                assert!(whole.advance(1000));
                let mut first = start(&class, settings, numbers.clone());
                assert!(!first.advance(17));
                let state = first.state();
                let allowance = Allowance::default();
                let mut second =
                    Runs::resume(&class, settings, 3, numbers, &state, allowance).unwrap();
                assert!(second.advance(1000));
                assert_eq!(second.state(), whole.state());
                assert_eq!(second.outcomes(), whole.outcomes());
            }
        }
    }

    /// One iteration, cell by cell, as the specification writes it.
    #[test]
    fn an_iteration_moves_masked_cells_part_of_the_way_to_the_softmax() {
        for tau in [0.0, 1e-4, 0.3] {
            for shape in [Shape::untied(0, 0), Shape::untied(1, 1), Shape::tied(0, 1)] {
                let class = class("quasigroup", &[2, 3], shape);
                let mut runs = start(&class, Settings::plain(tau, 10), 5..6);
                for _ in 0..3 {
                    let before = runs.policy(0);
                    let mut evaluator =
                        crate::evaluate::Evaluator::new(&class, Allowance::default()).unwrap();
                    evaluator.evaluate(&before);
                    runs.advance(1);
                    let after = runs.policy(0);
                    let mut moved = 0;
                    for cell in 0..class.cells() {
                        let (old, new) = (before.row(cell), after.row(cell));
                        if old == new {
                            continue;
                        }
                        moved += 1;
                        for ((old, new), target) in old
                            .iter()
                            .zip(&new)
                            .zip(target(&evaluator.values(cell), tau))
                        {
                            assert!((new - (old + 0.3 * (target - old))).abs() < 1e-12);
                        }
                    }
                    let share = moved as f64 / class.cells() as f64;
                    let sd = (0.21 / class.cells() as f64).sqrt();
                    assert!((share - 0.3).abs() < 5.0 * sd, "{share} of the cells moved");
                }
            }
        }
    }

    #[test]
    fn a_run_started_at_a_policy_moves_from_there() {
        let class = class("z:3", &[3], Shape::untied(0, 0));
        let policy = start(&class, Settings::plain(0.1, 1), 0..1).policy(0);
        for rule in [Rule::PAPER, Rule::Gradient { step: 0.5 }] {
            let settings = Settings {
                rule,
                ..Settings::plain(0.1, 10)
            };
            let new = |numbers| {
                Runs::starting_at(&policy, settings, 3, numbers, Allowance::default()).unwrap()
            };
            let mut runs = new(0..3);
            assert!((0..3).all(|run| runs.policy(run) == policy), "{rule:?}");
            // Streams differ from the first draw on, and a logit that is left alone stays put.
            runs.advance(1);
            let mut alone = new(1..2);
            alone.advance(1);
            assert_eq!(runs.policy(1), alone.policy(0));
            let random = matches!(rule, Rule::Cavi { .. });
            assert_eq!(runs.policy(0) != runs.policy(1), random, "{rule:?}");
        }
    }

    #[test]
    fn a_residual_is_measured_without_a_draw() {
        let class = class("z:3", &[3], Shape::tied(0, 1));
        let mut runs = start(&class, Settings::plain(0.01, 50), 0..1);
        for _ in 0..3 {
            let before = runs.state();
            runs.measure();
            let residual = runs.residual(0);
            assert_eq!(runs.state(), before);
            let mut evaluator =
                crate::evaluate::Evaluator::new(&class, Allowance::default()).unwrap();
            let policy = runs.policy(0);
            evaluator.evaluate(&policy);
            let distance = |cell: usize| {
                let target = target(&evaluator.values(cell), 0.01);
                let row = policy.row(cell);
                let terms = row.iter().zip(target).map(|(p, t)| (p - t).abs());
                terms.fold(0.0, f64::max)
            };
            let slow = (0..class.cells()).map(distance).fold(0.0, f64::max);
            assert!((residual - slow).abs() < 1e-9, "{residual} {slow}");
            assert_eq!(runs.outcome(0).residual, residual);
            runs.advance(10);
        }
    }

    #[test]
    fn steps_and_temperatures_of_any_size_leave_distributions() {
        let class = class("z:3", &[3], Shape::untied(0, 0));
        for (tau, step) in [
            (0.0, 1e308),
            (HOTTEST, 1e308),
            (HOTTEST, 1.0),
            (1e-13, 1e300),
        ] {
            let gradient = Settings {
                rule: Rule::Gradient { step },
                ..Settings::plain(tau, 100)
            };
            for settings in [gradient, Settings::plain(tau, 100)] {
                let mut runs = start(&class, settings, 0..2);
                runs.advance(100);
                for run in 0..2 {
                    let policy = runs.policy(run);
                    for cell in 0..class.cells() {
                        let row = policy.row(cell);
                        let sum: f64 = row.iter().sum();
                        assert!((sum - 1.0).abs() < 1e-9, "{settings:?}: {row:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn runs_take_the_memory_they_state() {
        for shape in [Shape::untied(0, 0), Shape::tied(1, 1)] {
            let class = class("z:3", &[2, 3], shape);
            let settings = Settings::plain(0.1, 1);
            let bytes = Runs::bytes(&class, settings.rule).unwrap();
            let new = |bytes| Runs::new(&class, settings, 3, 0..1, Allowance(bytes)).is_ok();
            assert!(new(bytes) && !new(bytes - 1));
            let gradient = Runs::bytes(&class, Rule::Gradient { step: 1.0 }).unwrap();
            assert!(gradient > bytes, "logits are kept beside the policies");
        }
    }

    #[test]
    fn quenches_and_resets_are_read_or_refused_by_name() {
        let quench = Quench {
            iterations: 50,
            tau: 1e-13,
        };
        assert_eq!("50,1e-13".parse(), Ok(quench));
        let resets = Resets {
            share: 0.02,
            every: 10,
            cycles: 100,
        };
        assert_eq!("0.02, 10, 100".parse(), Ok(resets));
        for bad in [
            "", "50", "50,-1", "-50,0", "50,nan", "50,inf", "50,1e301", "5e1,0", "1,2,3",
        ] {
            let error = UnknownSetting::Quench(bad.to_owned());
            assert_eq!(bad.parse::<Quench>(), Err(error));
        }
        for bad in [
            "",
            "0.5,10",
            "1.5,10,1",
            "-0.1,10,1",
            "nan,10,1",
            "0.5,0,1",
            "0.5,1,1,1",
        ] {
            let error = UnknownSetting::Resets(bad.to_owned());
            assert_eq!(bad.parse::<Resets>(), Err(error));
        }
    }

    #[test]
    fn a_fixed_point_has_no_residual_and_satisfies_the_mean_field_equation() {
        let class = class("parity", &[3], Shape::untied(0, 0));
        let mut runs = start(&class, Settings::plain(0.05, 4000), 0..1);
        runs.advance(4000);
        assert!(runs.outcomes()[0].residual < 1e-12);
    }

    #[test]
    fn the_gradient_rule_and_coordinate_ascent_share_their_fixed_points() {
        let class = class("parity", &[3], Shape::untied(0, 0));
        let rule = Rule::Gradient { step: 5.0 };
        let mut runs = start(
            &class,
            Settings {
                rule,
                ..Settings::plain(0.05, 20_000)
            },
            0..1,
        );
        runs.advance(20_000);
        assert!(
            runs.outcomes()[0].residual < 1e-6,
            "{}",
            runs.outcomes()[0].residual
        );
    }
}
