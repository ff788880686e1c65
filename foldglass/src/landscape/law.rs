//! States the laws of the traps of parity, counts by them, and builds a trap of each.
//!
//! Both laws are theorems; the page *Theorems* of the documentation has the proofs. They are about
//! the untied class of parity with window (0,0) and one remembered token.
//!
//! **A, correlated inputs** (one length T, a symbol repeats with probability k, 0 < |2k-1| < 1).
//! Between positions j and j+1 the input changes or does not. A trap answers as if it did not change
//! at the places of a set D, 2 <= j < T; written as letters, D at these places and U at the others
//! are a ballot word of T-2 letters with m > 0 letters D. A word of n letters U and D is a *ballot
//! word* when no beginning has more D than U; C(n, m) - C(n, m-1) of them have m letters D, and
//! C(n, n/2 rounded down) have any number. The trap has the reward (1 + |2k-1|^m) / 2, and 2^(T-1)
//! codes are this trap, with other names for the tokens.
//!
//! **B, several lengths** (uniform inputs, lengths with positive weights w). A trap answers some
//! lengths wrongly on every input and the others rightly, such that from every length on the right
//! ones weigh more than the wrong ones. Its reward is the weight of the right ones. Each step at which
//! no length ends doubles the codes by names of tokens. Equal weights: read from the longest down,
//! without the longest, the lengths are a ballot word. A process reward with weights w of the steps is
//! the same landscape as the lengths 1 to T with these weights.

pub mod words;

use crate::model::class::{Class, ClassSpec, Shape};
use crate::model::inputs::InputLaw;
use crate::model::operation::{Operation, Symbol};
use crate::model::policy::Code;
use crate::model::rewarded::{ExactWeights, RewardRule};
use crate::model::task::{TaskError, sorted};
use crate::support::exact::Reward;
use dashu_int::ops::UnsignedAbs;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::collections::BTreeMap;
use thiserror::Error;

/// A class that a law is not about.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LawError {
    /// The first symbol tells the others.
    #[error("the law needs a repeat probability above 0 and below 1: here it is {0}")]
    NotRandom(String),
    /// Lengths and weights that are not those of a task.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Different sums of weights beyond what is counted.
    #[error(
        "the weights of {0} lengths have more than {MOST_SUMS} different sums: equal weights have a \
         closed form for any number of lengths"
    )]
    TooManySums(usize),
}

/// The most sums of weights that are kept apart.
const MOST_SUMS: usize = 1 << 20;

/// Traps of one reward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrapReward {
    /// Their reward.
    pub reward: Reward,
    /// How many codes are such a trap.
    pub count: UBig,
    /// Positions of the input that they ignore, or lengths that they answer wrongly.
    pub ignored: usize,
    /// Changes of the input between successive positions that they ignore; none for the law of lengths.
    pub changes: Option<usize>,
}

/// How many ballot words of n letters have m letters D: C(n, m) - C(n, m-1).
///
/// ```
/// use foldglass::landscape::law::ballot;
/// assert_eq!([0, 1, 2, 3].map(|m| u32::try_from(ballot(6, m)).unwrap()), [1, 5, 9, 5]);
/// ```
pub fn ballot(n: usize, m: usize) -> UBig {
    match m {
        _ if 2 * m > n => UBig::ZERO,
        0 => UBig::ONE,
        _ => binomial(n, m) - binomial(n, m - 1),
    }
}

/// How many ballot words of n letters have m letters D in r runs.
///
/// Before and after its k-th run such a word has i_k letters U and j_k, then j_{k+1}, letters D. No beginning has
/// more D than U if j_{k+1} <= i_k for k = 0 .. r, with i_0 = 0 and j_{r+1} = m. The subsets {i} of 1 .. n-m and
/// {j} of 0 .. m-1 are two lattice paths, and the condition says that they do not meet: the number of such pairs
/// is a determinant (Lindström, Gessel and Viennot).
///
/// ```
/// use foldglass::landscape::law::{ballot, ballot_runs};
/// use foldglass::support::exact::UBig;
/// assert_eq!((1..=3).map(|r| ballot_runs(6, 3, r)).sum::<UBig>(), ballot(6, 3));
/// ```
pub fn ballot_runs(n: usize, m: usize, r: usize) -> UBig {
    if m == 0 || r == 0 || 2 * m > n {
        return UBig::from(u8::from(m == 0 && r == 0));
    }
    let ups = n - m;
    binomial(ups, r) * binomial(m, r) - binomial(ups + 1, r) * binomial(m - 1, r)
}

/// The numbers of ballot words of n letters with m letters D in 1, 2, .. runs, one after the other.
fn each_ballot_runs(n: usize, m: usize) -> impl Iterator<Item = (usize, UBig)> {
    let mut factors = [n - m, m, n - m + 1, m - 1].map(|of| (of, UBig::ONE));
    (1..=m).map(move |r| {
        for (of, chosen) in &mut factors {
            *chosen *= UBig::from((*of + 1).saturating_sub(r));
            *chosen /= UBig::from(r);
        }
        let [a, b, c, d] = &factors;
        (r, &a.1 * &b.1 - &c.1 * &d.1)
    })
}

fn binomial(n: usize, m: usize) -> UBig {
    if m > n {
        return UBig::ZERO;
    }
    (0..m).fold(UBig::ONE, |product, i| {
        product * UBig::from(n - i) / UBig::from(i + 1)
    })
}

/// The ballot numbers of n letters with 1, 2, .. letters D, one after the other.
fn ballots(n: usize) -> impl Iterator<Item = (usize, UBig)> {
    let mut before = UBig::ONE;
    (1..=n / 2).map(move |m| {
        let here = &before * UBig::from(n + 1 - m) / UBig::from(m);
        let own = &here - &before;
        before = here;
        (m, own)
    })
}

/// All ballot words of n letters but the one without D.
fn all_ballots(n: usize) -> UBig {
    binomial(n, n / 2) - UBig::ONE
}

/// Law A: correlated parity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correlated {
    length: usize,
    repeat: RBig,
}

impl Correlated {
    /// The law of a length, of at least 1, where a symbol repeats with probability `repeat`.
    ///
    /// ```
    /// use foldglass::landscape::law::Correlated;
    /// use foldglass::support::exact::parse;
    /// let law = Correlated::new(8, &parse("9/10").unwrap()).unwrap();
    /// assert_eq!(law.traps(), 2432u32.into());
    /// ```
    pub fn new(length: usize, repeat: &RBig) -> Result<Correlated, LawError> {
        if *repeat <= RBig::ZERO || *repeat >= RBig::ONE {
            return Err(LawError::NotRandom(repeat.to_string()));
        }
        let repeat = repeat.clone();
        Ok(Correlated { length, repeat })
    }

    /// 2k - 1.
    fn correlation(&self) -> RBig {
        &self.repeat + &self.repeat - RBig::ONE
    }

    /// Letters of a word: none at k = 1/2, where inputs are independent and there are no traps.
    fn letters(&self) -> usize {
        match self.correlation() == RBig::ZERO {
            true => 0,
            false => self.length.saturating_sub(2),
        }
    }

    /// How many codes are traps.
    pub fn traps(&self) -> UBig {
        all_ballots(self.letters()) << (self.length - 1)
    }

    /// Traps by reward and positions ignored, the largest reward and the fewest positions first.
    pub fn rewards(&self) -> Vec<TrapReward> {
        let r = self.correlation();
        let (num, den) = (r.numerator().unsigned_abs(), r.denominator());
        let (mut up, mut down) = (UBig::ONE, UBig::from(2u8));
        let n = self.letters();
        let mut list = Vec::new();
        for m in 1..=n / 2 {
            up *= &num;
            down *= den;
            let half = &down >> 1;
            let reward = Reward::new(half + &up, down.clone());
            let runs = each_ballot_runs(n, m).filter(|(_, words)| *words > UBig::ZERO);
            list.extend(runs.map(|(r, words)| TrapReward {
                reward: reward.clone(),
                count: words << (self.length - 1),
                ignored: 2 * r,
                changes: Some(m),
            }));
        }
        list
    }

    /// A trap: the code that adds up all symbols but the last two, and turns the answer where
    /// symbols rather change than repeat. None where there is no trap.
    pub fn example(&self) -> Option<Code> {
        if self.letters() < 2 {
            return None;
        }
        let class = self.spec().lay_out().ok()?;
        let turns = Symbol::from(self.correlation() < RBig::ZERO);
        Some(add_up(&class, |t| {
            (
                t + 1 < self.length,
                if t == self.length { turns } else { 0 },
            )
        }))
    }

    /// The class that the law is about.
    pub fn spec(&self) -> ClassSpec {
        ClassSpec {
            inputs: InputLaw::Markov(self.repeat.clone()),
            ..parity(&[self.length])
        }
    }
}

fn parity(lengths: &[usize]) -> ClassSpec {
    let square = Operation::cyclic(2).expect("parity is a group");
    ClassSpec::uniform(square, lengths, Shape::untied(0, 0))
}

/// The code of parity whose step t adds its symbol to the token before, or does not, and then adds
/// something else.
fn add_up(class: &Class, step: impl Fn(usize) -> (bool, Symbol)) -> Code {
    // The other Latin square of order 2 is parity with the names of the symbols exchanged.
    let name = class.task().square().multiply(0, 0);
    Code::from_fn(class, |cell| {
        let key = class.key(cell);
        let (adds, more) = step(key.t.expect("an untied class"));
        let x = key.x[0].expect("a symbol of the input") ^ name;
        let y = key.y[0].map_or(0, |y| y ^ name);
        (if adds { x } else { 0 }) ^ y ^ more ^ name
    })
}

/// Law B: several lengths of parity, with weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lengths {
    /// Ascending.
    lengths: Vec<usize>,
    weights: ExactWeights,
}

impl Lengths {
    /// The law of some different lengths with their weights; equal ones when none are given.
    ///
    /// ```
    /// use foldglass::landscape::law::Lengths;
    /// let law = Lengths::new(&[2, 3, 4], None).unwrap();
    /// assert_eq!(law.traps().unwrap(), 2u32.into());
    /// ```
    pub fn new(lengths: &[usize], weights: Option<&ExactWeights>) -> Result<Lengths, LawError> {
        let (lengths, weights) = sorted(lengths, weights)?;
        Ok(Lengths { lengths, weights })
    }

    fn longest(&self) -> usize {
        self.lengths[self.lengths.len() - 1]
    }

    /// How many names the tokens of steps have at which no length ends.
    fn names(&self, count: UBig) -> UBig {
        count << (self.longest() - self.lengths.len())
    }

    /// How many codes are traps.
    pub fn traps(&self) -> Result<UBig, LawError> {
        if self.weights.is_equal() {
            return Ok(self.names(all_ballots(self.lengths.len() - 1)));
        }
        let sums = self.sums()?;
        Ok(self.names(sums.values().sum()))
    }

    /// Traps by reward, the largest reward first.
    pub fn rewards(&self) -> Result<Vec<TrapReward>, LawError> {
        let count = self.lengths.len();
        if self.weights.is_equal() {
            let of = |(m, words): (usize, UBig)| TrapReward {
                reward: Reward::new(count - m, count),
                count: self.names(words),
                ignored: m,
                changes: None,
            };
            return Ok(ballots(count - 1).map(of).collect());
        }
        let all = self.weights.total();
        let of = |((excess, ignored), count): ((IBig, usize), UBig)| {
            let right = UBig::try_from(excess).expect("it is positive") + &all;
            TrapReward {
                reward: Reward::new(right, &all * UBig::from(2u8)),
                count: self.names(count),
                ignored,
                changes: None,
            }
        };
        Ok(self.sums()?.into_iter().rev().map(of).collect())
    }

    /// How many ways there are to answer some lengths wrongly, by the excess of the right over the
    /// wrong ones and the number of the wrong ones, such that it is positive from every length on.
    fn sums(&self) -> Result<BTreeMap<(IBig, usize), UBig>, LawError> {
        let mut sums = BTreeMap::from([((IBig::ZERO, 0), UBig::ONE)]);
        for weight in self.weights.parts().iter().rev() {
            let mut next = BTreeMap::new();
            for ((excess, wrong), count) in sums {
                let (up, down) = (
                    &excess + IBig::from(weight.clone()),
                    excess - IBig::from(weight.clone()),
                );
                for (excess, wrong) in [(up, wrong), (down, wrong + 1)] {
                    if excess > IBig::ZERO {
                        *next.entry((excess, wrong)).or_insert(UBig::ZERO) += &count;
                    }
                }
            }
            if next.len() > MOST_SUMS {
                return Err(LawError::TooManySums(self.lengths.len()));
            }
            sums = next;
        }
        sums.retain(|(_, wrong), _| *wrong > 0);
        Ok(sums)
    }

    /// A length that weighs less than all longer ones together, the shortest: a code that is wrong
    /// there alone is a trap. None where every length weighs at least as much: then there is no trap.
    pub fn weak_length(&self) -> Option<usize> {
        let weights = self.weights.parts();
        let longer = |i: usize| weights[i + 1..].iter().sum::<UBig>();
        let weak = (0..self.lengths.len()).find(|&i| weights[i] < longer(i));
        weak.map(|i| self.lengths[i])
    }

    /// A trap: the code that is wrong at the weak length alone. None where there is no trap.
    pub fn example(&self) -> Option<Code> {
        let class = self.spec().lay_out().ok()?;
        self.example_of(&class)
    }

    fn example_of(&self, class: &Class) -> Option<Code> {
        let weak = self.weak_length()?;
        Some(add_up(class, |t| {
            (true, Symbol::from(t == weak || t == weak + 1))
        }))
    }

    /// The class that the law is about.
    pub fn spec(&self) -> ClassSpec {
        ClassSpec {
            length_weights: Some(self.weights.clone()).filter(|weights| !weights.is_equal()),
            ..parity(&self.lengths)
        }
    }
}

/// The facts that the theorems give of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Which theorem: A, B or C; none for a process reward that falls (the page *Process rewards*).
    pub theorem: Option<&'static str>,
    /// How many codes are traps; none where the weights of lengths have too many sums to count them.
    pub traps: Option<UBig>,
    /// A trap, where there is one.
    pub code: Option<Code>,
}

/// Says how many traps a class has, where a theorem does.
///
/// ```
/// use foldglass::landscape::law::known;
/// use foldglass::{ClassSpec, Operation, Shape};
/// let wide = ClassSpec::uniform(Operation::paper(), &[7], Shape::untied(0, 3));
/// let found = known(&wide.lay_out().unwrap()).unwrap();
/// assert_eq!((found.theorem, found.code), (Some("C"), None));
/// ```
pub fn known(class: &Class) -> Option<Known> {
    let (task, escapes) = (class.task(), super::escape::assumptions(class).is_ok());
    let free = |theorem| Known {
        theorem,
        traps: Some(UBig::ZERO),
        code: None,
    };
    if escapes && task.reward().is_final() {
        return Some(free(Some("C")));
    }
    by_parity(class).or_else(|| escapes.then(|| free(None)))
}

/// Applies the laws of parity to a class.
fn by_parity(class: &Class) -> Option<Known> {
    let task = class.task();
    let table = task.square();
    let is_parity = class.q() == 2
        && table.multiply(0, 0) == table.multiply(1, 1)
        && table.multiply(0, 1) == table.multiply(1, 0)
        && table.multiply(0, 0) != table.multiply(0, 1);
    if !is_parity || class.shape() != Shape::untied(0, 0) {
        return None;
    }
    if let ([length], RewardRule::Final, InputLaw::Markov(repeat)) =
        (task.lengths(), task.reward(), task.inputs().law())
    {
        let law = Correlated::new(*length, repeat).ok()?;
        let turns = Symbol::from(law.correlation() < RBig::ZERO);
        let step = |t: usize| (t + 1 < *length, if t == *length { turns } else { 0 });
        return Some(Known {
            theorem: Some("A"),
            traps: Some(law.traps()),
            code: (law.letters() >= 2).then(|| add_up(class, step)),
        });
    }
    if !task.inputs().is_uniform() {
        return None;
    }
    // A process reward is the landscape of the lengths 1 to T with the weights of the steps.
    let steps: Vec<usize> = (1..=task.longest()).collect();
    let law = match task.reward() {
        RewardRule::Final => Lengths::new(task.lengths(), Some(task.length_weights())),
        RewardRule::Process(weights) => Lengths::new(&steps, weights.as_ref()),
    };
    let law = law.ok()?;
    Some(Known {
        theorem: Some("B"),
        traps: law.traps().ok(),
        code: law.example_of(class),
    })
}
