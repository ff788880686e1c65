//! Leads any code to J = 1 by changes of single cells, none of which lowers J (paper, thm. 4.1 and
//! App. E), and any policy to a code (App. B, cor. 4.2 and 4.3).
//!
//! The theorem holds for the untied class with window (0, 0) and one remembered token, on inputs of
//! one length whose symbols are independent and can all occur. There
//! - s_t is the fold after t symbols, p_t(s) the weight of the inputs in state s;
//! - W_t(y, s) is the weight of what follows step t and earns the reward, after token y in state s:
//!   W_T(y, s) = \[y = s\], W_t(y, s) = sum_x w_{t+1}(x) W_{t+1}(sigma_{t+1}(x, y), B\[s, x\]);
//! - a cell (t, x, y) that is consulted in one state s only, its weight p_{t-1}(s) w_t(x), adds
//!   p_{t-1}(s) w_t(x) W_t(a, B\[s, x\]) to the numerator of J when its action is a.
//!
//! [`escape`] goes through the steps. Before step t, every token stands for one state. Where two
//! states of step t have a token in common (a collision)
//! 1. each state s_t gets one token, among those with the largest W_t(., s_t) (*consolidate*);
//! 2. a state that shares its token gets one that no cell emits. The cells that will read the new
//!    token are consulted by nobody: they are set to what is best for the state (*prepare*), then
//!    the cells that lead to the state emit it (*reroute*).
//!
//! At step T every cell takes the right answer (*finish*).
//!
//! W_t depends on the steps after t alone, and round t changes steps t and t + 1: so W_t, computed
//! once for the first code, is still that of the current code when round t begins.

mod collapse;
mod search;

use crate::model::class::{Class, Window};
use crate::model::policy::Code;
use crate::model::quasigroup::Symbol;
use crate::proof::claim::{Kind, Move, Path};
use crate::support::context::Context;
use crate::support::exact::Reward;
use crate::support::memory::TooLarge;
use dashu_int::ops::BitTest;
use dashu_int::{IBig, UBig};
use thiserror::Error;

pub use collapse::{Ascent, Collapse, Segment, Standing, collapse};
pub use search::{Outcome, Search, check_cap, search};

/// An assumption of the theorem that a class does not meet.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EscapeError {
    /// All steps share one table.
    #[error("the theorem needs an untied class: here all steps share one table")]
    Tied,
    /// A wider window.
    #[error("the theorem needs the window 0,0: here it is {},{}", .0.past, .0.future)]
    Window(Window),
    /// A longer memory.
    #[error("the theorem needs a memory of 1 token: here it is {0}")]
    Memory(usize),
    /// Several lengths.
    #[error("the theorem needs inputs of one length: here there are {0}")]
    Lengths(usize),
    /// Symbols that depend on those before.
    #[error("the theorem needs independent symbols: here each depends on the one before")]
    Correlated,
    /// A symbol that cannot occur.
    #[error(
        "the theorem needs every symbol to occur at every position: here symbol {symbol} cannot \
         stand at position {position}"
    )]
    NeverOccurs {
        /// The position, counted from 1.
        position: usize,
        /// The symbol.
        symbol: Symbol,
    },
    /// More memory than allowed.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// Says which assumption of the theorem a class does not meet, if any.
pub fn assumptions(class: &Class) -> Result<(), EscapeError> {
    let (shape, task) = (class.shape(), class.task());
    if shape.tied {
        return Err(EscapeError::Tied);
    }
    if shape.window != (Window { past: 0, future: 0 }) {
        return Err(EscapeError::Window(shape.window));
    }
    if shape.memory != 1 {
        return Err(EscapeError::Memory(shape.memory));
    }
    if task.lengths().len() != 1 {
        return Err(EscapeError::Lengths(task.lengths().len()));
    }
    if task.inputs().is_correlated() {
        return Err(EscapeError::Correlated);
    }
    for position in 1..=task.longest() {
        for symbol in 0..class.q() as Symbol {
            if !task.inputs().can_occur(position, symbol) {
                return Err(EscapeError::NeverOccurs { position, symbol });
            }
        }
    }
    Ok(())
}

/// The most moves that a path of the theorem makes for q symbols at length T.
///
/// Step 1 has q cells, one for each state; a later step has q^2, q for each state. In the round of
/// step t < T
/// - every cell is consolidated at most once: q moves at t = 1, q^2 later;
/// - at most q - 1 states share the token of another; each prepares the q cells that read its new
///   token, and reroutes its own cells: 1 at t = 1, q later.
///
/// So the first round has at most q + (q - 1)(q + 1) = q^2 + q - 1 moves, each of the other T - 2
/// at most q^2 + (q - 1) 2q = 3q^2 - 2q, and the last step at most q^2 (q if T = 1).
///
/// ```
/// use foldglass::landscape::escape::most_moves;
/// assert_eq!(most_moves(5, 8), 29 + 6 * 65 + 25);
/// assert_eq!(most_moves(2, 1), 2);
/// ```
pub fn most_moves(q: usize, length: usize) -> u128 {
    let (q, length) = (q as u128, length as u128);
    match length {
        0 | 1 => q,
        _ => (q * q + q - 1) + (length - 2) * (3 * q * q - 2 * q) + q * q,
    }
}

/// Finds a path from a code to J = 1 that never lowers J.
///
/// ```
/// use foldglass::landscape::escape::escape;
/// use foldglass::{Allowance, ClassSpec, Code, LatinSquare, Shape};
/// let spec = ClassSpec::uniform(LatinSquare::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let zero = Code::from_fn(&class, |_| 0);
/// let path = escape(&zero, Context::default()).unwrap();
/// assert_eq!(path.start_reward.to_string(), "1/2");
/// assert!(path.reward.is_one());
/// ```
pub fn escape(code: &Code, context: Context<'_>) -> Result<Path, EscapeError> {
    let class = code.class();
    assumptions(class)?;
    let (q, length) = (class.q(), class.task().longest());
    let number = class.task().denominator().bit_len() as u128 / 8 + 32;
    let numbers = (q * q * length) as u128 + 2 * most_moves(q, length);
    context.memory.check(
        &format!("a path of up to {} moves", most_moves(q, length)),
        numbers.checked_mul(number),
    )?;
    let mut walk = Walk::new(code);
    for t in 1..length {
        if walk.collides(t) {
            walk.consolidate(t);
            walk.separate(t);
        }
        walk.advance(t);
    }
    walk.finish(length);
    Ok(walk.path(code))
}

/// A code on its way, the steps before t done.
struct Walk<'a> {
    class: &'a Class,
    code: Code,
    denominator: UBig,
    first_reward: IBig,
    reward: IBig,
    moves: Vec<Move>,
    /// W_t(y, s) at \[t - 1\]\[y q + s\].
    to_come: Vec<Vec<UBig>>,
    /// The state that each token of step t - 1 stands for, and p_{t-1} of it; at t = 1 there is
    /// one state, before any symbol.
    states: Vec<(Symbol, UBig)>,
}

impl<'a> Walk<'a> {
    fn new(code: &'a Code) -> Walk<'a> {
        let class = code.class();
        let (q, length) = (class.q(), class.task().longest());
        let mut walk = Walk {
            class,
            code: code.clone(),
            denominator: class.task().denominator(),
            first_reward: IBig::ZERO,
            reward: IBig::ZERO,
            moves: Vec::new(),
            to_come: vec![Vec::new(); length],
            states: vec![(0, UBig::ONE)],
        };
        let right = |i: usize| UBig::from(u8::from(i / q == i % q));
        walk.to_come[length - 1] = (0..q * q).map(right).collect();
        for t in (1..length).rev() {
            walk.to_come[t - 1] = (0..q * q)
                .map(|i| walk.value(t, (i / q) as Symbol, (i % q) as Symbol))
                .collect();
        }
        let earned =
            |x: Symbol| walk.weight(1, x) * walk.best(1, code.action(walk.cell(1, x, 0)), x);
        walk.first_reward = walk.symbols().map(earned).sum::<UBig>().into();
        walk.reward = walk.first_reward.clone();
        walk
    }

    fn symbols(&self) -> impl Iterator<Item = Symbol> + use<> {
        0..self.class.q() as Symbol
    }

    /// The cell of step t for symbol x after token y (any at t = 1).
    fn cell(&self, t: usize, x: Symbol, y: Symbol) -> usize {
        let q = self.class.q();
        let first = if t == 1 { 0 } else { q + (t - 2) * q * q };
        match t {
            1 => first + x as usize,
            _ => first + x as usize * q + y as usize,
        }
    }

    fn weight(&self, t: usize, x: Symbol) -> u64 {
        self.class.task().inputs().weight(t, 0, x)
    }

    /// The state after symbol x of step t in state s (any at t = 1).
    fn fold(&self, t: usize, s: Symbol, x: Symbol) -> Symbol {
        match t {
            1 => x,
            _ => self.class.task().square().multiply(s, x),
        }
    }

    /// W_t(y, s).
    fn best(&self, t: usize, y: Symbol, s: Symbol) -> &UBig {
        &self.to_come[t - 1][y as usize * self.class.q() + s as usize]
    }

    /// W_t(y, s) from W_{t+1} and the code.
    fn value(&self, t: usize, y: Symbol, s: Symbol) -> UBig {
        let one = |x: Symbol| {
            let token = self.code.action(self.cell(t + 1, x, y));
            self.best(t + 1, token, self.fold(t + 1, s, x)) * self.weight(t + 1, x)
        };
        self.symbols().map(one).sum()
    }

    /// The cells of step t by the state they lead to: the symbol, the token and the weight.
    fn leading(&self, t: usize) -> Vec<Vec<(usize, UBig)>> {
        let mut cells = vec![Vec::new(); self.class.q()];
        for (y, (s, weight)) in (0..).zip(&self.states) {
            for x in self.symbols() {
                let to = self.fold(t, *s, x) as usize;
                cells[to].push((self.cell(t, x, y), weight * self.weight(t, x)));
            }
        }
        cells
    }

    /// Gives a cell an action, by which the numerator of J grows by `gain`.
    fn make(&mut self, cell: usize, to: Symbol, kind: Kind, gain: IBig) {
        let from = self.code.action(cell);
        if from == to {
            return;
        }
        debug_assert!(gain >= IBig::ZERO, "no move of the theorem lowers J");
        self.code.set(cell, to);
        self.reward += gain;
        let reward = self.fraction(&self.reward);
        self.moves.push(Move {
            cell,
            from,
            to,
            kind: Some(kind),
            reward,
        });
    }

    fn fraction(&self, num: &IBig) -> Reward {
        let num = UBig::try_from(num.clone()).expect("rewards are not negative");
        Reward::new(num, self.denominator.clone())
    }

    /// Lets the cells that lead to state s at step t emit a token.
    fn lead(&mut self, t: usize, s: Symbol, cells: &[(usize, UBig)], token: Symbol, kind: Kind) {
        for (cell, weight) in cells {
            let now = self.code.action(*cell);
            let gain = IBig::from(self.best(t, token, s).clone()) - self.best(t, now, s);
            self.make(*cell, token, kind, gain * weight);
        }
    }

    /// The tokens with the largest W_t(., s).
    fn best_tokens(&self, t: usize, s: Symbol) -> Vec<Symbol> {
        let most = self.symbols().map(|a| self.best(t, a, s)).max();
        self.symbols()
            .filter(|&a| Some(self.best(t, a, s)) == most)
            .collect()
    }

    /// Whether two states of step t have a token in common.
    fn collides(&self, t: usize) -> bool {
        let mut state_of = vec![None; self.class.q()];
        (0..).zip(self.leading(t)).any(|(s, cells)| {
            cells.iter().any(|(cell, _)| {
                let token = self.code.action(*cell) as usize;
                *state_of[token].get_or_insert(s) != s
            })
        })
    }

    /// Gives each state of step t one token, of the best for it: one that no state has yet, if it
    /// can be, and that most of its cells emit already.
    fn consolidate(&mut self, t: usize) {
        let mut taken = vec![false; self.class.q()];
        for (s, cells) in (0..).zip(self.leading(t)) {
            let merit = |&token: &Symbol| {
                let emit = cells
                    .iter()
                    .filter(|(cell, _)| self.code.action(*cell) == token);
                (!taken[token as usize], emit.count())
            };
            let tokens = self.best_tokens(t, s);
            let token = tokens.into_iter().rev().max_by_key(merit);
            let token = token.expect("a largest among q");
            taken[token as usize] = true;
            self.lead(t, s, &cells, token, Kind::Consolidate);
        }
    }

    /// Gives each state of step t that shares its token one of its own.
    fn separate(&mut self, t: usize) {
        let q = self.class.q();
        let leading = self.leading(t);
        let emitted = |walk: &Walk, s: Symbol| walk.code.action(leading[s as usize][0].0);
        let mut users = vec![0; q];
        for s in self.symbols() {
            users[emitted(self, s) as usize] += 1;
        }
        for s in self.symbols() {
            let shared = emitted(self, s) as usize;
            if users[shared] == 1 {
                continue;
            }
            let unused = users.iter().position(|&n| n == 0);
            let unused = unused.expect("q states with fewer than q tokens") as Symbol;
            self.prepare(t, s, unused);
            self.lead(t, s, &leading[s as usize], unused, Kind::Reroute);
            users[shared] -= 1;
            users[unused as usize] = 1;
        }
    }

    /// Sets the cells that read a token nobody emits at step t to what is best for state s.
    fn prepare(&mut self, t: usize, s: Symbol, unused: Symbol) {
        for x in self.symbols() {
            let cell = self.cell(t + 1, x, unused);
            let tokens = self.best_tokens(t + 1, self.fold(t + 1, s, x));
            if !tokens.contains(&self.code.action(cell)) {
                self.make(cell, tokens[0], Kind::Prepare, IBig::ZERO);
            }
        }
        for state in self.symbols() {
            let value = self.value(t, unused, state);
            self.to_come[t - 1][unused as usize * self.class.q() + state as usize] = value;
        }
    }

    /// Notes the state that each token of step t stands for, now that every state has its own.
    fn advance(&mut self, t: usize) {
        let mut states = vec![(0, UBig::ZERO); self.class.q()];
        for (s, cells) in (0..).zip(self.leading(t)) {
            let token = self.code.action(cells[0].0);
            let weight = cells.iter().map(|(_, weight)| weight).sum();
            states[token as usize] = (s, weight);
        }
        self.states = states;
    }

    /// Gives every cell of the last step the right answer.
    fn finish(&mut self, t: usize) {
        for (s, cells) in (0..).zip(self.leading(t)) {
            self.lead(t, s, &cells, s, Kind::Finish);
        }
    }

    fn path(self, start: &Code) -> Path {
        Path {
            start: start.clone(),
            start_reward: self.fraction(&self.first_reward),
            reward: self.fraction(&self.reward),
            moves: self.moves,
        }
    }
}
