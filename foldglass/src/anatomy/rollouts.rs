//! Rolls out inputs, all or a sample, and says which a code answers wrongly, and why (paper, section
//! 4.2, App. E and G.6).

use super::{Aliased, aliasing};
use crate::class::Class;
use crate::policy::Code;
use crate::quasigroup::Symbol;
use crate::stream::Stream;
use std::collections::{BTreeMap, BTreeSet};

/// What a code makes of inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// Whether these are all inputs that occur; else so many of each length were drawn.
    pub all: bool,
    /// Inputs looked at.
    pub inputs: usize,
    /// Those answered wrongly.
    pub wrong: usize,
    /// Why, with how many of them.
    pub causes: BTreeMap<Cause, usize>,
    /// The first of them.
    pub listed: Vec<Wrong>,
    /// By length: the positions, counted from 1, whose symbol never changes the answer when it alone
    /// is changed, on any input looked at.
    pub ignored: Vec<(usize, Vec<usize>)>,
}

/// Why an input is answered wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// At this step its token first stands for other states too: what tells them apart is lost.
    Aliased {
        /// The step.
        t: usize,
    },
    /// Its tokens stand for its states alone, and the last step gives another answer.
    Misread,
}

/// An input that is answered wrongly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// It.
    pub x: Vec<Symbol>,
    /// The tokens that are emitted.
    pub y: Vec<Symbol>,
    /// The right answer.
    pub target: Symbol,
    /// Why.
    pub cause: Cause,
}

/// Wrong inputs that are kept.
const LISTED: usize = 1000;

/// The tokens that a code emits.
fn roll_out(code: &Code, x: &[Symbol]) -> Vec<Symbol> {
    let class = code.class();
    let mut y = Vec::with_capacity(x.len());
    for t in 1..=x.len() {
        y.push(code.action(class.route(x, t, &y)));
    }
    y
}

/// Whether an input has positive probability.
fn occurs(class: &Class, x: &[Symbol]) -> bool {
    let inputs = class.task().inputs();
    (0..x.len()).all(|i| inputs.weight(i + 1, x[i.max(1) - 1], x[i]) > 0)
}

/// Rolls out all inputs where there are at most `most`, else that many of each length, drawn from the
/// stream with all symbols equally likely.
pub fn answers(code: &Code, most: usize, stream: &mut Stream) -> Answers {
    let class = code.class();
    let q = class.q();
    let lengths = class.task().lengths();
    let number = |length: usize| q.checked_pow(u32::try_from(length).ok()?);
    let total = lengths
        .iter()
        .try_fold(0usize, |sum, &length| sum.checked_add(number(length)?));
    let all = total.is_some_and(|total| total <= most);
    let aliasing = aliasing(code);
    let mut found = Answers {
        all,
        inputs: 0,
        wrong: 0,
        causes: BTreeMap::new(),
        listed: Vec::new(),
        ignored: Vec::new(),
    };
    for &length in lengths {
        let own: Vec<&Aliased> = aliasing.iter().filter(|a| a.length == length).collect();
        let mut matters = BTreeSet::new();
        let inputs = if all {
            number(length).unwrap_or(0)
        } else {
            most
        };
        for n in 0..inputs {
            let mut x: Vec<Symbol> = (0..length)
                .map(|i| match all {
                    true => (n / q.pow(i as u32) % q) as Symbol,
                    false => stream.below(q as u32) as Symbol,
                })
                .collect();
            if !occurs(class, &x) {
                continue;
            }
            found.look(code, &x, &own);
            let answer = roll_out(code, &x)[length - 1];
            for i in 0..length {
                if !matters.contains(&i) && changes(code, &mut x, i, answer) {
                    matters.insert(i);
                }
            }
        }
        let ignored = (0..length).filter(|i| !matters.contains(i)).map(|i| i + 1);
        found.ignored.push((length, ignored.collect()));
    }
    found
}

/// Whether another symbol at a place changes the answer.
fn changes(code: &Code, x: &mut [Symbol], i: usize, answer: Symbol) -> bool {
    let (class, own) = (code.class(), x[i]);
    let mut changed = false;
    for symbol in (0..class.q() as Symbol).filter(|&symbol| symbol != own) {
        x[i] = symbol;
        changed |= occurs(class, x) && roll_out(code, x)[x.len() - 1] != answer;
    }
    x[i] = own;
    changed
}

impl Answers {
    fn look(&mut self, code: &Code, x: &[Symbol], aliasing: &[&Aliased]) {
        let y = roll_out(code, x);
        let target = code.class().task().fold(x);
        self.inputs += 1;
        if y[x.len() - 1] == target {
            return;
        }
        let shared = |step: &&&Aliased| {
            let states = step.states.get(&y[step.t - 1]);
            step.t < x.len() && states.is_some_and(|states| states.len() > 1)
        };
        let cause = match aliasing.iter().find(shared) {
            Some(step) => Cause::Aliased { t: step.t },
            None => Cause::Misread,
        };
        self.wrong += 1;
        *self.causes.entry(cause).or_default() += 1;
        if self.listed.len() < LISTED {
            let x = x.to_vec();
            self.listed.push(Wrong {
                x,
                y,
                target,
                cause,
            });
        }
    }
}
