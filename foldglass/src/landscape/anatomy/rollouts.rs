//! Rolls out inputs, all or a sample of their law, and says which a code answers wrongly, and why (paper,
//! section 4.2, App. E and G.6).

use super::{Aliased, aliasing};
use crate::model::inputs::Inputs;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::support::exact::Reward;
use crate::support::stats::Proportion;
use crate::support::stream::Stream;
use dashu_int::UBig;
use std::collections::{BTreeMap, BTreeSet};

/// The answers of a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// Whether these are all inputs that occur; else equally many of each length were drawn from their law.
    pub all: bool,
    /// Inputs looked at.
    pub inputs: usize,
    /// The number of inputs answered wrongly. Inputs are not equally likely: see [`Share`].
    pub wrong: usize,
    /// Why, with how likely it is.
    pub causes: BTreeMap<Cause, Share>,
    /// The cells that emit the tokens with which they go wrong, with how likely it is.
    pub blame: BTreeMap<Blame, Share>,
    /// The first of them.
    pub listed: Vec<Wrong>,
}

/// The inputs that are answered wrongly for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Share {
    /// The probability of the inputs, where all were followed.
    Exact(Reward),
    /// The share of inputs drawn from their law, with its interval.
    Drawn(Proportion),
}

impl Share {
    /// The probability, or its estimate.
    pub fn probability(&self) -> f64 {
        match self {
            Share::Exact(probability) => probability.to_f64(),
            Share::Drawn(drawn) => drawn.rate().unwrap_or(0.0),
        }
    }
}

/// Why an input is answered wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// At this step its token first stands for other states too: what tells them apart is lost.
    Aliased {
        /// The step.
        t: usize,
    },
    /// Every token stands for one state, and the last step gives another answer.
    Misread,
}

/// A cell with which inputs go wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Blame {
    /// The cell.
    pub cell: usize,
    /// The state that it leads to: the right answer, at the last step.
    pub state: Symbol,
    /// The token that it emits.
    pub token: Symbol,
    /// The other states of its step that this token stands for; none at the last step.
    pub others: BTreeSet<Symbol>,
    /// The tokens that would be right: they stand for no other state of the step, or are the right answer.
    pub right: BTreeSet<Symbol>,
}

/// An input that is answered wrongly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The input.
    pub x: Vec<Symbol>,
    /// The tokens that are emitted.
    pub y: Vec<Symbol>,
    /// The right answer.
    pub target: Symbol,
    /// Why.
    pub cause: Cause,
    /// The cell to blame.
    pub cell: usize,
    /// The probability of the input, that of its length included.
    pub probability: Reward,
}

/// Wrong inputs that are kept.
const LISTED: usize = 1000;

/// The symbols that may follow at position t (from 1).
fn following(inputs: &Inputs, q: usize, x: &[Symbol]) -> impl Iterator<Item = Symbol> {
    let (t, before) = (x.len() + 1, x.last().copied().unwrap_or(0));
    (0..q as Symbol).filter(move |&symbol| inputs.weight(t, before, symbol) > 0)
}

/// The number of inputs of a length that occur.
fn occurring(inputs: &Inputs, q: usize, length: usize) -> u128 {
    let mut ends: Vec<u128> = vec![0; q];
    following(inputs, q, &[]).for_each(|first| ends[usize::from(first)] = 1);
    for t in 2..=length {
        let ending = |last: Symbol| {
            let before = (0..q as Symbol).zip(&ends);
            let before = before.filter(|&(before, _)| inputs.weight(t, before, last) > 0);
            before.fold(0u128, |sum, (_, &count)| sum.saturating_add(count))
        };
        ends = (0..q as Symbol).map(ending).collect();
    }
    ends.into_iter().fold(0, u128::saturating_add)
}

/// Goes through the inputs of a length that occur, in the order of their symbols.
fn each_input(inputs: &Inputs, q: usize, length: usize, mut work: impl FnMut(&[Symbol])) {
    let mut x: Vec<Symbol> = Vec::with_capacity(length);
    loop {
        while x.len() < length {
            let first = following(inputs, q, &x).next();
            x.push(first.expect("the weights of a position sum to its denominator"));
        }
        work(&x);
        // The last symbol that another can follow in place of, and that one.
        loop {
            let Some(last) = x.pop() else {
                return;
            };
            let next = following(inputs, q, &x).find(|&symbol| symbol > last);
            if let Some(next) = next {
                x.push(next);
                break;
            }
        }
    }
}

/// Rolls out all inputs that occur where there are at most `most`, else that many of each length, drawn
/// from their law by the stream.
///
/// ```
/// use foldglass::landscape::anatomy::{Share, answers};
/// use foldglass::{ClassSpec, Code, Operation, Reward, Shape, Stream};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// let found = answers(&copy, 100, &mut Stream::new(0, 0));
/// let shares: Vec<&Share> = found.causes.values().collect();
/// assert_eq!(shares, [&Share::Exact(Reward::new(1u8, 2u8))]);
/// ```
pub fn answers(code: &Code, most: usize, stream: &mut Stream) -> Answers {
    let class = code.class();
    let (q, inputs, lengths) = (class.q(), class.task().inputs(), class.task().lengths());
    let numbers = lengths.iter().map(|&length| occurring(inputs, q, length));
    let all = numbers.fold(0, u128::saturating_add) <= most as u128;
    let aliasing = aliasing(code);
    let mut looked = Looked {
        code,
        inputs: 0,
        wrong: 0,
        causes: BTreeMap::new(),
        blame: BTreeMap::new(),
        listed: Vec::new(),
    };
    for &length in lengths {
        let own: Vec<&Aliased> = aliasing.iter().filter(|a| a.length == length).collect();
        if all {
            each_input(inputs, q, length, |x| looked.look(x, &own, true));
        } else {
            (0..most).for_each(|_| looked.look(&inputs.draw(length, stream), &own, false));
        }
    }
    let denominator = class.task().denominator();
    let share = |SeenInputs { inputs, weight }| match all {
        true => Share::Exact(Reward::new(weight, denominator.clone())),
        false => Share::Drawn(Proportion {
            successes: inputs,
            trials: looked.inputs as u64,
        }),
    };
    Answers {
        all,
        inputs: looked.inputs,
        wrong: looked.wrong,
        causes: (looked.causes.into_iter())
            .map(|(cause, seen)| (cause, share(seen)))
            .collect(),
        blame: (looked.blame.into_iter())
            .map(|(blame, seen)| (blame, share(seen)))
            .collect(),
        listed: looked.listed,
    }
}

/// Inputs looked at so far.
struct Looked<'a> {
    code: &'a Code,
    inputs: usize,
    wrong: usize,
    causes: BTreeMap<Cause, SeenInputs>,
    blame: BTreeMap<Blame, SeenInputs>,
    listed: Vec<Wrong>,
}

/// How many inputs, and what they weigh over the denominator of the task (if all are looked at).
#[derive(Default)]
struct SeenInputs {
    inputs: u64,
    weight: UBig,
}

impl Looked<'_> {
    fn look(&mut self, x: &[Symbol], aliasing: &[&Aliased], weigh: bool) {
        let class = self.code.class();
        let y = self.code.roll_out(x);
        let target = class.task().fold(x);
        self.inputs += 1;
        if y[x.len() - 1] == target {
            return;
        }
        let shared = |step: &&&Aliased| {
            let states = step.states.get(&y[step.t - 1]);
            step.t < x.len() && states.is_some_and(|states| states.len() > 1)
        };
        let first = aliasing.iter().find(shared);
        let cause = match first {
            Some(step) => Cause::Aliased { t: step.t },
            None => Cause::Misread,
        };
        let blame = self.blame_of(x, &y, first);
        let cell = blame.cell;
        let is_listed = self.listed.len() < LISTED;
        let weight = (weigh || is_listed).then(|| class.task().weight(x));
        self.wrong += 1;
        let (causes, blamed) = (&mut self.causes, &mut self.blame);
        for seen in [
            causes.entry(cause).or_default(),
            blamed.entry(blame).or_default(),
        ] {
            seen.inputs += 1;
            if let Some(weight) = &weight {
                seen.weight += weight;
            }
        }
        if let Some(weight) = weight.filter(|_| is_listed) {
            self.listed.push(Wrong {
                x: x.to_vec(),
                y,
                target,
                cause,
                cell,
                probability: Reward::new(weight, class.task().denominator()),
            });
        }
    }

    /// The cell with which an input goes wrong: where its token is first shared, or else at the last step.
    fn blame_of(&self, x: &[Symbol], y: &[Symbol], shared: Option<&&Aliased>) -> Blame {
        let class = self.code.class();
        let t = shared.map_or(x.len(), |step| step.t);
        let (state, token) = (class.task().fold(&x[..t]), y[t - 1]);
        let others = |token: Symbol| {
            let states = shared.and_then(|step| step.states.get(&token));
            let others = states.into_iter().flatten().copied();
            others.filter(|&other| other != state).collect()
        };
        let right = |&token: &Symbol| match shared {
            Some(_) => BTreeSet::is_empty(&others(token)),
            None => token == state,
        };
        Blame {
            cell: class.route(x, t, &y[..t - 1]),
            state,
            token,
            right: (0..class.q() as Symbol).filter(right).collect(),
            others: others(token),
        }
    }
}
