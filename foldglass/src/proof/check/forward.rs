//! Passes the weights of all inputs through a code, where they are too many to list (paper, App. A).
//!
//! After step t a rollout is a state: the symbols that later windows still see, those drawn ahead
//! included, the tokens remembered, s_t, and the symbol drawn last where the next one depends on it.
//! What it was before no longer matters.

use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use dashu_int::UBig;
use std::collections::HashMap;

/// The symbols still seen and the tokens remembered, as base-q numbers, s, and the symbol drawn last.
type State = (usize, usize, Symbol, Symbol);

/// What a code earns, and which cells it consults.
#[derive(Debug, Clone)]
pub(super) struct Forward {
    class: Class,
    code: Code,
    reward: UBig,
    consulted: Vec<bool>,
}

impl Forward {
    pub fn new(code: Code) -> Forward {
        let mut forward = Forward {
            class: code.class().clone(),
            code,
            reward: UBig::ZERO,
            consulted: Vec::new(),
        };
        forward.count();
        forward
    }

    /// The numerator of J over the task's denominator.
    pub fn reward(&self) -> &UBig {
        &self.reward
    }

    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Whether an input that can occur consults a cell.
    pub fn is_consulted(&self, cell: usize) -> bool {
        self.consulted[cell]
    }

    pub fn set(&mut self, cell: usize, action: Symbol) {
        self.code.set(cell, action);
        // What nobody consults earns nothing, whatever it says.
        if self.consulted[cell] {
            self.count();
        }
    }

    fn count(&mut self) {
        self.reward = UBig::ZERO;
        self.consulted = vec![false; self.class.cells()];
        let class = self.class.clone();
        for (which, &length) in class.task().lengths().iter().enumerate() {
            let earned = self.count_length(&class, which, length);
            self.reward += earned * class.task().lift(length);
        }
    }

    /// What the inputs of one length earn, by the weights of their symbols.
    fn count_length(&mut self, class: &Class, which: usize, length: usize) -> UBig {
        let (q, shape, square) = (class.q(), class.shape(), class.task().square());
        let count = |digits: usize| q.pow(digits as u32);
        let mut states = HashMap::from([((0, 0, 0, 0), UBig::ONE)]);
        let ahead = shape.window.future.min(length - 1);
        for position in 1..=ahead {
            states = draw(class, states, position);
        }
        let (path, mut earned) = (class.path(which), UBig::ZERO);
        for (t, node) in (1..).zip(path.into_iter().map(|node| &class.nodes()[node])) {
            if t + ahead <= length {
                states = draw(class, states, t + ahead);
            }
            let (mut next, mut right) = (HashMap::new(), UBig::ZERO);
            let group = &class.groups()[node.group];
            let forgets = usize::from(node.before == shape.window.past);
            let kept = count(node.before + 1 + node.after - forgets);
            let remembered = count(node.tokens.min(shape.memory - 1));
            for ((window, history, s, last), weight) in states {
                let cell = group.cell(window, history);
                self.consulted[cell] = true;
                let token = self.code.action(cell);
                let x = (window / count(node.after) % q) as Symbol;
                let s = if t == 1 { x } else { square.multiply(s, x) };
                if token == s {
                    right += &weight;
                }
                let history = history % remembered * q + token as usize;
                let state: State = (window % kept, history, s, last);
                let sum: &mut UBig = next.entry(state).or_default();
                *sum += weight;
            }
            states = next;
            let reward = class.task().step_weight(which, t);
            if reward != UBig::ZERO {
                // Symbols after those drawn so far sum to their denominators.
                let drawn = length.min(t + ahead);
                let rest = (drawn + 1..=length).map(|t| class.task().inputs().denominator(t));
                earned += right * reward * rest.map(UBig::from).product::<UBig>();
            }
        }
        earned
    }
}

/// Lets the symbol of a position follow in every state.
fn draw(class: &Class, states: HashMap<State, UBig>, position: usize) -> HashMap<State, UBig> {
    let (q, inputs) = (class.q(), class.task().inputs());
    let mut drawn = HashMap::with_capacity(states.len() * q);
    for ((window, history, s, last), weight) in states {
        for symbol in 0..q as Symbol {
            let chance = inputs.weight(position, last, symbol);
            if chance == 0 {
                continue;
            }
            let last = if inputs.is_correlated() { symbol } else { 0 };
            let state: State = (window * q + symbol as usize, history, s, last);
            let sum: &mut UBig = drawn.entry(state).or_default();
            *sum += &weight * chance;
        }
    }
    drawn
}
