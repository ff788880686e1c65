//! Relabels the tokens that a code emits, which changes no reward (paper, App. D).
//!
//! A relabelling g gives each step t a permutation g_t of the q tokens. The code sigma becomes
//! sigma'(t, window, g_{t-n}(y_{t-n}) .. g_{t-1}(y_{t-1})) = g_t(sigma(t, window, y_{t-n} .. y_{t-1})):
//! what is remembered is renamed as it was emitted.
//! - Where a length ends, the verifier reads the token (with a process reward at every step): g_t is
//!   the identity there.
//! - Steps that share cells share their permutations. If a tied class reads the same cell at steps t
//!   and u, then g_t = g_u and g_{t-k} = g_{u-k} for every token remembered. With window (0, 0) this
//!   leaves the identity alone; with a window into the future the last steps have cells of their own
//!   (SEP stands in them), so some freedom is left.
//!
//! The steps that share a permutation are a *class of steps*; the relabellings form the group
//! S_q^(free classes), (q!)^(T-1) elements in an untied class of one length. Where windows overlap,
//! a permutation may depend on the symbols that both steps see as well: the paper's group, and this
//! module, leave those relabellings out.

mod agreement;
mod canonical;
mod holonomy;
mod overlap;

use crate::model::class::{Class, Group};
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::support::stream::Stream;
use dashu_int::UBig;
use thiserror::Error;

pub use agreement::{Agreement, agreement};
pub use canonical::{Canonical, canonical, relabelling_between};
pub use holonomy::{Links, links};
pub use overlap::{Overlap, OverlapError, Overlaps, Part};

/// Why permutations do not relabel a class, or why the work is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GaugeError {
    /// A wrong number of permutations.
    #[error("there are {got} permutations: one is needed for each of the {want} steps")]
    WrongSize {
        /// Permutations given.
        got: usize,
        /// Steps of the longest input.
        want: usize,
    },
    /// A list that is not a permutation.
    #[error("step {step} has {got:?}: a permutation of 0 to {} is needed", .q - 1)]
    NoPermutation {
        /// The step, counted from 1.
        step: usize,
        /// The permutation that was given.
        got: Vec<i64>,
        /// The number of symbols.
        q: usize,
    },
    /// A token renamed that the verifier reads.
    #[error(
        "step {0} renames tokens that the verifier reads, there or at a step that shares its \
         permutation: they keep their names"
    )]
    Read(usize),
    /// Steps that share cells and are renamed differently.
    #[error(
        "steps {0} and {1} rename tokens differently: they share cells, or lead to cells shared"
    )]
    Shared(usize, usize),
    /// Too many relabellings remain indistinguishable before the end.
    #[error(
        "step {step} leaves {tokens} of {q} tokens unused: more than {MOST} relabellings would have \
         to be compared"
    )]
    TooMany {
        /// The step, counted from 1.
        step: usize,
        /// Tokens unused there.
        tokens: usize,
        /// The number of symbols.
        q: usize,
    },
}

/// Relabellings compared at a time, at most.
pub const MOST: usize = 1 << 18;

/// Which steps of a class share a permutation, and which may have any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freedom {
    /// The class of each step, t = 1 first: the first step in it, counted from 0.
    class_of: Vec<usize>,
    /// Whether the permutation of a step's class is the identity.
    fixed: Vec<bool>,
}

impl Freedom {
    /// Finds what the steps of a class may do.
    pub fn of(class: &Class) -> Freedom {
        let mut class_of: Vec<usize> = (0..class.task().longest()).collect();
        for group in 0..class.groups().len() {
            let mut members = class.nodes().iter().filter(|node| node.group == group);
            let Some(first) = members.next() else {
                continue;
            };
            for node in members {
                for back in 0..=first.tokens {
                    unite(&mut class_of, first.t - 1 - back, node.t - 1 - back);
                }
            }
        }
        let task = class.task();
        let read = (1..=task.longest()).filter(|&t| task.rewards_step(t));
        let read: Vec<usize> = read.map(|t| class_of[t - 1]).collect();
        Freedom {
            fixed: class_of.iter().map(|class| read.contains(class)).collect(),
            class_of,
        }
    }

    /// The number of classes of steps that may have any permutation.
    pub fn free(&self) -> usize {
        let steps = 0..self.class_of.len();
        steps
            .filter(|&t| self.class_of[t] == t && !self.fixed[t])
            .count()
    }

    /// The number of relabellings, (q!)^free.
    pub fn order(&self, q: usize) -> UBig {
        factorial(q).pow(self.free())
    }
}

fn unite(class_of: &mut [usize], a: usize, b: usize) {
    let (a, b) = (class_of[a], class_of[b]);
    let (first, second) = (a.min(b), a.max(b));
    for class in class_of.iter_mut().filter(|class| **class == second) {
        *class = first;
    }
}

fn factorial(n: usize) -> UBig {
    (2..=n).map(UBig::from).product()
}

/// A permutation of the tokens for each step, t = 1 first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Relabelling(Vec<Vec<Symbol>>);

impl Relabelling {
    /// The one that renames nothing.
    pub fn identity(class: &Class) -> Relabelling {
        Relabelling(vec![identity(class.q()); class.task().longest()])
    }

    /// Checks permutations, one a step, against the class.
    pub fn new(class: &Class, steps: &[Vec<i64>]) -> Result<Relabelling, GaugeError> {
        let (q, want) = (class.q(), class.task().longest());
        if steps.len() != want {
            let got = steps.len();
            return Err(GaugeError::WrongSize { got, want });
        }
        let mut permutations = Vec::with_capacity(want);
        for (step, given) in (1..).zip(steps) {
            let mut sorted = given.clone();
            sorted.sort_unstable();
            if sorted != (0..q as i64).collect::<Vec<_>>() {
                let got = given.clone();
                return Err(GaugeError::NoPermutation { step, got, q });
            }
            permutations.push(given.iter().map(|&a| a as Symbol).collect::<Vec<_>>());
        }
        let Freedom { class_of, fixed } = Freedom::of(class);
        let alike = |&t: &usize| permutations[t] == permutations[class_of[t]];
        if let Some(t) = (0..want).find(|t| !alike(t)) {
            return Err(GaugeError::Shared(class_of[t] + 1, t + 1));
        }
        let renames = |&t: &usize| fixed[t] && permutations[t] != identity(q);
        if let Some(t) = (0..want).find(renames) {
            return Err(GaugeError::Read(t + 1));
        }
        Ok(Relabelling(permutations))
    }

    /// A random one, all equally likely.
    pub fn random(class: &Class, stream: &mut Stream) -> Relabelling {
        let Freedom { class_of, fixed } = Freedom::of(class);
        let mut steps: Vec<Vec<Symbol>> = Vec::with_capacity(class_of.len());
        for (t, &first) in class_of.iter().enumerate() {
            let mut permutation = identity(class.q());
            if first < t {
                permutation.clone_from(&steps[first]);
            } else if !fixed[t] {
                stream.shuffle(&mut permutation);
            }
            steps.push(permutation);
        }
        Relabelling(steps)
    }

    /// The permutations, t = 1 first.
    pub fn steps(&self) -> &[Vec<Symbol>] {
        &self.0
    }

    /// The one that undoes it.
    pub fn inverse(&self) -> Relabelling {
        Relabelling(self.0.iter().map(|g| inverse(g)).collect())
    }

    /// This one after another.
    pub fn after(&self, other: &Relabelling) -> Relabelling {
        let both = self.0.iter().zip(&other.0);
        let compose = |g: &[Symbol], h: &[Symbol]| h.iter().map(|&a| g[a as usize]).collect();
        Relabelling(both.map(|(g, h)| compose(g, h)).collect())
    }

    /// Relabels a code.
    ///
    /// ```
    /// use foldglass::reward::count::reward;
    /// use foldglass::landscape::gauge::Relabelling;
    /// use foldglass::{ClassSpec, Code, Operation, Shape, Stream};
    /// let spec = ClassSpec::uniform(Operation::paper(), &[4], Shape::untied(0, 0));
    /// let class = spec.lay_out().unwrap();
    /// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
    /// let g = Relabelling::random(&class, &mut Stream::new(1, 0));
    /// let other = g.apply(&copy);
    /// assert_eq!(reward(&other), reward(&copy));
    /// assert_eq!(g.inverse().apply(&other), copy);
    /// ```
    ///
    /// # Panics
    /// If the relabelling belongs to another class.
    pub fn apply(&self, code: &Code) -> Code {
        let class = code.class();
        let mut relabelled = code.clone();
        for (number, group) in class.groups().iter().enumerate() {
            let t = step_of(class, number);
            let tokens: Vec<&[Symbol]> = (t - group.tokens..t).map(|s| &self.0[s][..]).collect();
            let to: Vec<usize> = (0..group.histories)
                .map(|h| renamed(class.q(), h, &tokens))
                .collect();
            for first in cells_by_window(group) {
                for (h, &to) in to.iter().enumerate() {
                    let action = code.action(first + h) as usize;
                    relabelled.set(first + to, self.0[t][action]);
                }
            }
        }
        relabelled
    }
}

/// A step that consults the cells of a group, counted from 0.
fn step_of(class: &Class, group: usize) -> usize {
    let node = class.nodes().iter().find(|node| node.group == group);
    node.expect("every group has a node").t - 1
}

/// The first cell of every window of a group.
fn cells_by_window(group: &Group) -> impl Iterator<Item = usize> + use<> {
    (group.first_cell..group.first_cell + group.cells).step_by(group.histories)
}

/// The history that `h` becomes when its tokens, oldest first, are renamed.
fn renamed(q: usize, mut h: usize, tokens: &[&[Symbol]]) -> usize {
    let (mut to, mut place) = (0, 1);
    for permutation in tokens.iter().rev() {
        to += permutation[h % q] as usize * place;
        (h, place) = (h / q, place * q);
    }
    to
}

fn identity(q: usize) -> Vec<Symbol> {
    (0..q as Symbol).collect()
}

fn inverse(permutation: &[Symbol]) -> Vec<Symbol> {
    let mut inverse = vec![0; permutation.len()];
    for (a, &b) in (0..).zip(permutation) {
        inverse[b as usize] = a;
    }
    inverse
}
