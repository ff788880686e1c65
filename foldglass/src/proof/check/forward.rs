//! Passes the weights of all inputs through a code, where they are too many to list (paper, App. A).
//!
//! Before step t acts a rollout is a state: the symbols that it or later windows see, those drawn ahead
//! included, the tokens remembered, s_{t-1}, and the symbol drawn last where the next one depends on it.
//! What it was before no longer matters.
//!
//! - Forward, the weight of the inputs that arrive in each state gives the reward.
//! - Backward, what a rollout earns from a state on gives, with those weights, the reward of every
//!   single-cell change of an untied class. In a tied class each change is counted forward anew.

use super::Earnings;
use crate::model::class::{Class, Group, Node};
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use dashu_int::UBig;
use dashu_int::ops::BitTest;
use std::collections::{HashMap, HashSet};

/// The symbols still seen and the tokens remembered, as base-q numbers, s, and the symbol drawn last.
type State = (usize, usize, Symbol, Symbol);

/// Weights of states.
type WeightByState = HashMap<State, UBig>;

/// What a code earns, and which cells it consults.
#[derive(Debug, Clone)]
pub(super) struct Forward {
    class: Class,
    code: Code,
    denominator: UBig,
    reward: UBig,
    consulted: Vec<bool>,
    /// By cell and action: what the rollouts that consult the cell earn. Of an untied class, where it was asked
    /// for since the last change; else empty.
    earned: Vec<UBig>,
}

/// One step of the inputs of a length.
struct ForwardStep<'a> {
    class: &'a Class,
    node: &'a Node,
    group: &'a Group,
    /// The position whose symbol is drawn before it acts.
    draws: Option<usize>,
    /// What a right token earns, symbols that are not drawn yet included.
    right: UBig,
    /// Windows that keep their oldest symbol out, and histories without their oldest token.
    kept: usize,
    remembered: usize,
}

impl<'a> ForwardStep<'a> {
    /// The steps of a length, from 0, and how many symbols the first of them has ahead.
    fn all(class: &'a Class, which: usize) -> (Vec<ForwardStep<'a>>, usize) {
        let (q, shape, task) = (class.q(), class.shape(), class.task());
        let length = task.lengths()[which];
        let ahead = shape.window.future.min(length - 1);
        let count = |digits: usize| q.pow(digits as u32);
        let step = |(t, number): (usize, usize)| {
            let node = &class.nodes()[number];
            let drawn = length.min(t + ahead);
            // Symbols after those drawn so far sum to their denominators.
            let rest = (drawn + 1..=length).map(|t| UBig::from(task.inputs().denominator(t)));
            let forgets = usize::from(node.before == shape.window.past);
            ForwardStep {
                class,
                node,
                group: &class.groups()[node.group],
                draws: (t + ahead <= length).then_some(t + ahead),
                right: match task.step_weight(which, t) {
                    weight if weight == UBig::ZERO => weight,
                    weight => weight * rest.product::<UBig>() * task.lift(length),
                },
                kept: count(node.before + 1 + node.after - forgets),
                remembered: count(node.tokens.min(shape.memory - 1)),
            }
        };
        ((1..).zip(class.path(which)).map(step).collect(), ahead)
    }

    fn cell(&self, (window, history, ..): State) -> usize {
        self.group.cell(window, history)
    }

    /// s_t.
    fn fold(&self, (window, _, s, _): State) -> Symbol {
        let q = self.class.q();
        let x = (window / q.pow(self.node.after as u32) % q) as Symbol;
        match self.node.t {
            1 => x,
            _ => self.class.task().square().multiply(s, x),
        }
    }

    /// The state after a token.
    fn after(&self, state: State, token: Symbol) -> State {
        let (window, history, _, last) = state;
        let history = history % self.remembered * self.class.q() + usize::from(token);
        (window % self.kept, history, self.fold(state), last)
    }

    /// The states that a state before its draw may become, each with the weight of the symbol.
    fn drawn(&self, state: State) -> Vec<(State, u64)> {
        match self.draws {
            Some(position) => draw(self.class, state, position),
            None => vec![(state, 1)],
        }
    }

    /// What a rollout with this token earns from a state on, by what it earns after the step.
    fn earned(
        &self,
        state: State,
        token: Symbol,
        next: Option<(&ForwardStep<'_>, &WeightByState)>,
    ) -> UBig {
        let mut sum = match token == self.fold(state) {
            true => self.right.clone(),
            false => UBig::ZERO,
        };
        if let Some((step, earned)) = next {
            for (state, weight) in step.drawn(self.after(state, token)) {
                sum += &earned[&state] * weight;
            }
        }
        sum
    }
}

/// Lets the symbol of a position follow: all that can, each with its weight.
fn draw(class: &Class, (window, history, s, last): State, position: usize) -> Vec<(State, u64)> {
    let (q, inputs) = (class.q(), class.task().inputs());
    let symbols = (0..q as Symbol).map(|x| (x, inputs.weight(position, last, x)));
    let follow = |(x, weight): (Symbol, u64)| {
        let last = if inputs.is_correlated() { x } else { 0 };
        ((window * q + usize::from(x), history, s, last), weight)
    };
    symbols
        .filter(|&(_, weight)| weight > 0)
        .map(follow)
        .collect()
}

/// The states before the first step draws, the symbols ahead drawn.
fn first_states(class: &Class, ahead: usize) -> WeightByState {
    let start = HashMap::from([((0, 0, 0, 0), UBig::ONE)]);
    (1..=ahead).fold(start, |states, position| {
        pass(states, |state| draw(class, state, position))
    })
}

/// Passes weights on.
fn pass(states: WeightByState, next: impl Fn(State) -> Vec<(State, u64)>) -> WeightByState {
    let mut passed = WeightByState::with_capacity(states.len());
    for (state, weight) in states {
        for (state, factor) in next(state) {
            *passed.entry(state).or_default() += &weight * factor;
        }
    }
    passed
}

/// About the bytes that it takes; none from 2^128 on.
pub(super) fn bytes(class: &Class) -> Option<u128> {
    let number = size_of::<UBig>() as u128 + class.task().denominator().bit_len() as u128 / 8 + 8;
    let last = if class.task().inputs().is_correlated() {
        class.q()
    } else {
        1
    };
    let states = (class.cells() as u128).checked_mul((class.q() * last) as u128)?;
    // By state: a weight and what is earned, each with its key, in tables that are half full.
    states.checked_mul(4 * (size_of::<State>() as u128 + number))
}

impl Forward {
    pub fn new(code: Code) -> Forward {
        let mut forward = Forward {
            class: code.class().clone(),
            denominator: code.class().task().denominator(),
            code,
            reward: UBig::ZERO,
            consulted: Vec::new(),
            earned: Vec::new(),
        };
        forward.count();
        forward
    }

    /// Whether an input that can occur consults a cell.
    pub fn is_consulted(&self, cell: usize) -> bool {
        self.consulted[cell]
    }

    fn count(&mut self) {
        let mut consulted = vec![false; self.class.cells()];
        self.reward = self.each_arrival(|_, _, cell, _, _| consulted[cell] = true);
        self.consulted = consulted;
    }

    /// Lets all inputs arrive at all steps: calls `see` with length, step (from 0), cell, state and weight; what
    /// all of them earn.
    fn each_arrival(&self, mut see: impl FnMut(usize, usize, usize, State, &UBig)) -> UBig {
        let mut total = UBig::ZERO;
        for which in 0..self.class.task().lengths().len() {
            let (steps, ahead) = ForwardStep::all(&self.class, which);
            let mut states = first_states(&self.class, ahead);
            for (t, step) in steps.iter().enumerate() {
                let (mut next, mut right) = (WeightByState::new(), UBig::ZERO);
                for (state, weight) in pass(states, |state| step.drawn(state)) {
                    let cell = step.cell(state);
                    see(which, t, cell, state, &weight);
                    let token = self.code.action(cell);
                    if token == step.fold(state) {
                        right += &weight;
                    }
                    *next.entry(step.after(state, token)).or_default() += weight;
                }
                states = next;
                total += right * &step.right;
            }
        }
        total
    }

    /// What a rollout earns from every state on that some code leads to, at the steps of a length.
    fn each_value(&self, which: usize) -> Vec<WeightByState> {
        let (steps, ahead) = ForwardStep::all(&self.class, which);
        let tokens = || 0..self.class.q() as Symbol;
        let mut before: HashSet<State> = first_states(&self.class, ahead).into_keys().collect();
        let mut possible = Vec::with_capacity(steps.len());
        for step in &steps {
            let drawn = before.into_iter().flat_map(|state| step.drawn(state));
            let drawn: HashSet<State> = drawn.map(|(state, _)| state).collect();
            let after = |&state: &State| tokens().map(move |token| step.after(state, token));
            before = drawn.iter().flat_map(after).collect();
            possible.push(drawn);
        }
        let mut values: Vec<WeightByState> = vec![WeightByState::new(); steps.len()];
        for t in (0..steps.len()).rev() {
            let next = steps.get(t + 1).zip(values.get(t + 1));
            let value = |state: State| {
                let token = self.code.action(steps[t].cell(state));
                (state, steps[t].earned(state, token, next))
            };
            values[t] = possible[t].iter().copied().map(value).collect();
        }
        values
    }

    /// What the rollouts that consult a cell earn with an action, by cell and action.
    fn each_earned(&self) -> Vec<UBig> {
        let q = self.class.q();
        let lengths = 0..self.class.task().lengths().len();
        let lengths: Vec<(Vec<ForwardStep<'_>>, Vec<WeightByState>)> = lengths
            .map(|which| {
                (
                    ForwardStep::all(&self.class, which).0,
                    self.each_value(which),
                )
            })
            .collect();
        let mut earned = vec![UBig::ZERO; self.class.cells() * q];
        self.each_arrival(|which, t, cell, state, weight| {
            let (steps, values) = &lengths[which];
            let next = steps.get(t + 1).zip(values.get(t + 1));
            for (token, earned) in (0..).zip(&mut earned[cell * q..][..q]) {
                *earned += steps[t].earned(state, token, next) * weight;
            }
        });
        earned
    }
}

impl Earnings for Forward {
    type Number = UBig;

    fn code(&self) -> &Code {
        &self.code
    }

    fn denominator(&self) -> UBig {
        self.denominator.clone()
    }

    fn reward(&self) -> UBig {
        self.reward.clone()
    }

    fn rewards(&mut self, cell: usize, rewards: &mut [UBig]) {
        let now = self.code.action(cell);
        if self.class.shape().tied {
            for (action, reward) in (0..).zip(rewards.iter_mut()) {
                self.set(cell, action);
                *reward = self.reward();
            }
            self.set(cell, now);
            return;
        }
        if self.earned.is_empty() {
            self.earned = self.each_earned();
        }
        let earned = &self.earned[cell * rewards.len()..][..rewards.len()];
        let rest = &self.reward - &earned[usize::from(now)];
        for (reward, earned) in rewards.iter_mut().zip(earned) {
            *reward = earned + &rest;
        }
    }

    fn set(&mut self, cell: usize, action: Symbol) {
        self.code.set(cell, action);
        self.earned = Vec::new();
        // A cell that no rollout consults earns nothing, whatever its action.
        if self.consulted[cell] {
            self.count();
        }
    }
}
