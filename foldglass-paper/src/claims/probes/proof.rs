//! Carries out the steps of the proof of App. E on codes, and what breaks them (paper, App. E).

use foldglass::Context;
use std::collections::BTreeSet;

use foldglass::dynamics::chain::random_code;
use foldglass::landscape::escape::escape;
use foldglass::model::policy::InitialLaw;
use foldglass::proof::claim::{MoveKind, Path};
use foldglass::{Code, Evaluator, InputLaw, Operation, Policy, Shape, Stream, Symbol};
use serde::{Deserialize, Serialize};

use super::class;
use super::small::{Rollout, Small};
use crate::claims::Bench;
use crate::error::Error;

/// What [`steps`] finds.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// Codes of parity, all of some lengths, and optimal codes of the quasigroup.
    pub codes: u64,
    /// Steps of theirs up to which no two states share a token.
    pub collision_free: u64,
    /// Those of them at which tokens and states do not match one to one.
    pub not_bijective: u64,
    /// Codes with a collision.
    pub colliding: u64,
    /// Those of them of reward 1.
    pub colliding_optimal: u64,
    /// Pairs of inputs that collide and go on with the same symbols.
    pub pairs: u64,
    /// Those that are both answered.
    pub pairs_repaired: u64,
    /// Codes of parity below 1 without an improving change of a consulted cell.
    pub defended: u64,
    /// Those without an unconsulted cell.
    pub defended_full: u64,
    /// Those of `defended` whose every change of a consulted cell lowers the reward.
    pub strict: u64,
    /// Those of `strict` whose escape begins at an unconsulted cell.
    pub strict_unconsulted_first: u64,
    /// Random codes of the quasigroup whose steps but the last are free of collisions.
    pub finished: u64,
    /// Those that as many improving changes of the last step as it has wrong cells lead to reward 1.
    pub finished_improving: u64,
    /// The most such changes.
    pub finish_moves: u64,
    /// Cells that no input consults, of random codes of the quasigroup.
    pub unconsulted: u64,
    /// Those with a slope of J that is not 0, or a random row that moves J.
    pub unconsulted_moved: u64,
}

/// The statements of the proof, on every code of parity at small lengths and on codes of the quasigroup.
///
/// Catches a fold or a table that is not the task's (states would not all occur), a path that repairs a
/// collision it cannot repair, finishing moves that are neutral, and a gradient without the factor d(c).
pub fn steps(bench: &Bench) -> Result<Option<Steps>, Error> {
    let mut found = Steps::default();
    for length in 2..=bench.scaled(4, 3) {
        bench.go_on()?;
        let small = Small::new(2, vec![0, 1, 1, 0], length, false);
        for number in 0..small.codes() {
            found.look(&small, &small.code(number));
        }
        found.defences(&small)?;
    }
    let mut stream = Stream::new(bench.seed, 11);
    for _ in 0..bench.scaled(100, 10) {
        bench.go_on()?;
        found.finishes(&mut stream)?;
        found.gradients(&mut stream)?;
    }
    Ok(Some(found))
}

/// The tokens that inputs emit at a step, each with the state that they are in, each pair once.
fn pairs_at(rollouts: &[Rollout], t: usize) -> BTreeSet<(usize, usize)> {
    let pair = |rollout: &Rollout| (rollout.tokens[t], rollout.states[t]);
    rollouts.iter().map(pair).collect()
}

/// Whether two states share a token.
fn collides(pairs: &BTreeSet<(usize, usize)>) -> bool {
    let tokens: BTreeSet<usize> = pairs.iter().map(|&(token, _)| token).collect();
    tokens.len() < pairs.len()
}

fn path_of(code: &Code) -> Result<Path, Error> {
    escape(code, Context::default()).map_err(|error| Error::Failed(error.to_string()))
}

impl Steps {
    /// Forced bijections up to the first collision, and what becomes of inputs that collide.
    fn look(&mut self, small: &Small, code: &[usize]) {
        self.codes += 1;
        let rollouts = small.rollouts(code);
        let pairs: Vec<_> = (0..small.length).map(|t| pairs_at(&rollouts, t)).collect();
        for pairs in pairs.iter().take_while(|pairs| !collides(pairs)) {
            self.collision_free += 1;
            let tokens: BTreeSet<usize> = pairs.iter().map(|&(token, _)| token).collect();
            let states: BTreeSet<usize> = pairs.iter().map(|&(_, state)| state).collect();
            let all = [pairs.len(), tokens.len(), states.len()];
            self.not_bijective += u64::from(all != [small.q; 3]);
        }
        if !pairs.iter().any(collides) {
            return;
        }
        self.colliding += 1;
        self.colliding_optimal += u64::from(rollouts.iter().all(Rollout::is_right));
        for (n, (x, one)) in small.inputs.iter().zip(&rollouts).enumerate() {
            for ((other_x, _), other) in small.inputs.iter().zip(&rollouts).take(n) {
                let collide = |&t: &usize| {
                    one.tokens[t] == other.tokens[t]
                        && one.states[t] != other.states[t]
                        && x.0[t + 1..] == other_x[t + 1..]
                };
                let collide = (0..small.length).any(|t| collide(&t));
                self.pairs += u64::from(collide);
                let both = one.is_right() && other.is_right();
                self.pairs_repaired += u64::from(collide && both);
            }
        }
    }

    /// Codes of parity that no change of a consulted cell improves, and where their escape begins.
    fn defences(&mut self, small: &Small) -> Result<(), Error> {
        let rewards = small.rewards();
        let best = rewards.iter().max().copied().unwrap_or(0);
        let class = class(
            "parity",
            &InputLaw::Uniform,
            &[small.length],
            Shape::untied(0, 0),
        );
        for (number, &reward) in rewards.iter().enumerate() {
            let code = small.code(number);
            let consulted = consulted(small, &code);
            let at_consulted = |&(cell, _): &(usize, usize)| consulted.contains(&cell);
            let changes = small.neighbours(number).filter(at_consulted);
            let most = changes.map(|(_, other)| rewards[other]).max();
            if reward == best || most.is_none_or(|most| most > reward) {
                continue;
            }
            self.defended += 1;
            self.defended_full += u64::from(consulted.len() == small.cells());
            if most == Some(reward) {
                continue;
            }
            self.strict += 1;
            let actions = Code::from_fn(&class, |cell| code[place(small, &class, cell)] as Symbol);
            let path = path_of(&actions)?;
            let first = path.moves.first();
            let first = first.map(|first| place(small, &class, first.cell));
            let unconsulted = first.is_some_and(|cell| !consulted.contains(&cell));
            self.strict_unconsulted_first += u64::from(unconsulted);
        }
        Ok(())
    }

    /// A code of the quasigroup led to 1, its last step drawn anew: the path back to 1.
    fn finishes(&mut self, stream: &mut Stream) -> Result<(), Error> {
        let length = 4;
        let class = class(
            "quasigroup",
            &InputLaw::Uniform,
            &[length],
            Shape::untied(0, 0),
        );
        let mut code = random_code(&class, stream);
        for m in path_of(&code)?.moves {
            code.set(m.cell, m.to);
        }
        let small = quasigroup(length, false);
        self.look(&small, &small.read(&code));
        let mut wrong = 0;
        for cell in 0..class.cells() {
            if class.key(cell).t == Some(length) {
                let action = stream.below(5) as Symbol;
                wrong += usize::from(action != code.action(cell));
                code.set(cell, action);
            }
        }
        let path = path_of(&code)?;
        let mut before = &path.start_reward;
        let mut improving = path.reward.is_one() && path.moves.len() == wrong;
        for m in &path.moves {
            let at_last = class.key(m.cell).t == Some(length);
            improving &= at_last && m.kind == Some(MoveKind::Finish) && m.reward > *before;
            before = &m.reward;
        }
        self.finished += 1;
        self.finished_improving += u64::from(improving);
        self.finish_moves = self.finish_moves.max(path.moves.len() as u64);
        Ok(())
    }

    /// The slopes of J at cells that no input of a random code consults, and J where their rows are mixed.
    fn gradients(&mut self, stream: &mut Stream) -> Result<(), Error> {
        let class = class("quasigroup", &InputLaw::Uniform, &[4], Shape::untied(0, 0));
        let code = random_code(&class, stream);
        let consulted = foldglass::landscape::anatomy::consulted(&code);
        let mut evaluator = Evaluator::new(&class)?;
        let mut policy = Policy::deterministic(&code);
        let before = evaluator.evaluate(&policy);
        let unconsulted: Vec<usize> = (0..class.cells())
            .filter(|&cell| !consulted[cell])
            .collect();
        let flat = |&cell: &usize| evaluator.values(cell).iter().all(|&value| value == 0.0);
        let flat = unconsulted.iter().map(flat).collect::<Vec<bool>>();
        let mut row = vec![0.0; class.q()];
        for (&cell, flat) in unconsulted.iter().zip(flat) {
            InitialLaw::UNorm.draw(stream, &mut row);
            policy.set_row(cell, &row).expect("a row of probabilities");
            let moved = evaluator.evaluate(&policy) != before;
            self.unconsulted += 1;
            self.unconsulted_moved += u64::from(!flat || moved);
        }
        Ok(())
    }
}

/// The paper's square.
fn quasigroup(length: usize, tied: bool) -> Small {
    let square = Operation::paper();
    let product = |n: Symbol| square.multiply(n / 5, n % 5) as usize;
    Small::new(5, (0..25).map(product).collect(), length, tied)
}

/// The cells that some input consults.
fn consulted(small: &Small, code: &[usize]) -> BTreeSet<usize> {
    let mut cells = BTreeSet::new();
    for ((x, _), rollout) in small.inputs.iter().zip(small.rollouts(code)) {
        let read = [0].iter().chain(&rollout.tokens);
        for (t, (&symbol, &y)) in x.iter().zip(read).enumerate() {
            cells.insert(small.cell(t, symbol, y));
        }
    }
    cells
}

/// The place in a small class of a cell of the library's.
fn place(small: &Small, class: &foldglass::Class, cell: usize) -> usize {
    let key = class.key(cell);
    let x = key.x[0].expect("the step's own symbol") as usize;
    let t = key.t.expect("an untied class") - 1;
    small.cell(t, x, key.y[0].unwrap_or(0) as usize)
}

/// What [`breaks`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breaks {
    /// Random codes of the quasigroup, as many tied as untied.
    pub codes: u64,
    /// Steps of the untied ones at which states share a token and another token is emitted by none.
    pub untied: u64,
    /// Those without a token whose cells no input consults.
    pub untied_none_free: u64,
    /// Such steps of the tied codes.
    pub tied: u64,
    /// Those without a token whose cells no input consults.
    pub tied_none_free: u64,
    /// All codes of parity at some lengths, under either law of inputs.
    pub parity: u64,
    /// Codes some state of which is worth more with a token for each symbol than with one for all, independent
    /// inputs.
    pub uniform_gap: u64,
    /// The same, inputs that repeat nine times in ten.
    pub markov_gap: u64,
    /// Traps of these.
    pub traps: u64,
    /// Traps with a state whose tokens realise the average of the maxima, above every common token.
    pub traps_above_common: u64,
}

/// Free tokens where steps share their cells, and the worth of tokens where inputs repeat.
///
/// Catches cells that are shared between steps of an untied class, or not between those of a tied one, and
/// inputs that are called independent and are not.
pub fn breaks(bench: &Bench) -> Result<Option<Breaks>, Error> {
    let mut stream = Stream::new(bench.seed, 12);
    let codes = bench.scaled(500, 50);
    let mut free = [(0, 0); 2];
    for (n, tied) in [false, true].into_iter().enumerate() {
        let small = quasigroup(4, tied);
        for _ in 0..codes {
            bench.go_on()?;
            let code: Vec<usize> = (0..small.cells())
                .map(|_| stream.below(5) as usize)
                .collect();
            let (steps, none) = free_tokens(&small, &code);
            free[n].0 += steps;
            free[n].1 += none;
        }
    }
    let [(untied, untied_none_free), (tied, tied_none_free)] = free;
    let mut found = Breaks {
        codes,
        untied,
        untied_none_free,
        tied,
        tied_none_free,
        parity: 0,
        uniform_gap: 0,
        markov_gap: 0,
        traps: 0,
        traps_above_common: 0,
    };
    for length in 2..=4 {
        bench.go_on()?;
        let parity = || Small::new(2, vec![0, 1, 1, 0], length, false);
        let (uniform, markov) = (parity(), parity().repeating());
        found.parity += uniform.codes() as u64;
        for number in 0..uniform.codes() {
            let code = uniform.code(number);
            let gap = |small| worths(small, &code).iter().any(Worth::has_gap);
            found.uniform_gap += u64::from(gap(&uniform));
            found.markov_gap += u64::from(gap(&markov));
        }
        for trap in markov.traps(&markov.rewards()) {
            let worths = worths(&markov, &markov.code(trap));
            let above = |worth: &Worth| worth.has_gap() && worth.incumbent == worth.by_symbol;
            found.traps += 1;
            found.traps_above_common += u64::from(worths.iter().any(above));
        }
    }
    Ok(Some(found))
}

/// The steps but the last of a code at which states share a token, and those of them without a free token:
/// one that no input emits there, and whose cells no input consults at any step.
fn free_tokens(small: &Small, code: &[usize]) -> (u64, u64) {
    let rollouts = small.rollouts(code);
    let consulted = consulted(small, code);
    let (mut steps, mut none) = (0, 0);
    for t in 0..small.length - 1 {
        let pairs = pairs_at(&rollouts, t);
        let emitted = |u: usize| pairs.iter().any(|&(token, _)| token == u);
        let unused: Vec<usize> = (0..small.q).filter(|&u| !emitted(u)).collect();
        if !collides(&pairs) || unused.is_empty() {
            continue;
        }
        let is_free =
            |&&u: &&usize| (0..small.q).all(|x| !consulted.contains(&small.cell(t + 1, x, u)));
        steps += 1;
        none += u64::from(unused.iter().find(is_free).is_none());
    }
    (steps, none)
}

/// What tokens are worth at a step and a true state: weights of inputs, whole numbers.
struct Worth {
    /// The tokens that the code emits.
    incumbent: u64,
    /// The best token for each symbol: the average of the maxima.
    by_symbol: u64,
    /// The best token for all symbols: the maximum of the average.
    common: u64,
}

impl Worth {
    fn has_gap(&self) -> bool {
        self.by_symbol > self.common
    }
}

/// The worths of a code at all steps but the last, and all states.
fn worths(small: &Small, code: &[usize]) -> Vec<Worth> {
    let q = small.q;
    let mut worths = Vec::new();
    let rollouts = small.rollouts(code);
    for t in 0..small.length - 1 {
        // By state, symbol and token: the weight of inputs that are right if this token is emitted at t.
        let mut right = vec![vec![vec![0u64; q]; q]; q];
        let mut incumbent = vec![0u64; q];
        for ((x, weight), rollout) in small.inputs.iter().zip(&rollouts) {
            let state = rollout.states[t];
            incumbent[state] += weight * u64::from(rollout.is_right());
            for (token, right) in right[state][x[t]].iter_mut().enumerate() {
                let mut y = token;
                for later in t + 1..small.length {
                    y = code[small.cell(later, x[later], y)];
                }
                let is_right = Some(&y) == rollout.states.last();
                *right += weight * u64::from(is_right);
            }
        }
        for (right, incumbent) in right.iter().zip(incumbent) {
            let most = |tokens: &Vec<u64>| tokens.iter().max().copied().unwrap_or(0);
            let of_all = |token: usize| right.iter().map(|tokens| tokens[token]).sum();
            worths.push(Worth {
                incumbent,
                by_symbol: right.iter().map(most).sum(),
                common: (0..q).map(of_all).max().unwrap_or(0),
            });
        }
    }
    worths
}
