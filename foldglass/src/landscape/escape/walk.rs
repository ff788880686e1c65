//! Walks from a code to J = 1, step by step (paper, App. E, in every context of a window).
//!
//! Windows and contexts ([`Kept`]) are base-q numbers, oldest symbol first. The context of a window is its last
//! digits; the window of the next step is the context, with the next symbol behind it where there is
//! one.

use crate::model::class::{Class, Node};
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::proof::claim::{Move, MoveKind, Path};
use crate::support::exact::Reward;
use dashu_int::{IBig, UBig};

/// The symbols that a node sees.
#[derive(Debug, Clone, Copy)]
struct SeenSymbols(usize);

/// The part of a window that the next step still sees.
#[derive(Debug, Clone, Copy)]
struct Kept(usize);

/// Cells that lead to one state in one context, each with the weight of the inputs that consult it.
type Cells = Vec<(usize, UBig)>;

/// A code on its way.
pub struct Walk<'a> {
    class: &'a Class,
    start: &'a Code,
    code: Code,
    denominator: UBig,
    first_reward: IBig,
    reward: IBig,
    moves: Vec<Move>,
    children: Vec<Vec<usize>>,
    /// W_t(v, y, s) of each node, at \[(v q + y) q + s\].
    to_come: Vec<Vec<UBig>>,
    /// The state that each token stands for in each context of a node that is done, and the weight
    /// of the inputs that get there, at \[v q + y\].
    states: Vec<Vec<Option<(Symbol, UBig)>>>,
}

impl<'a> Walk<'a> {
    pub fn new(code: &'a Code) -> Walk<'a> {
        let class = code.class();
        let (q, nodes) = (class.q(), class.nodes());
        let mut children = vec![Vec::new(); nodes.len()];
        for (n, node) in nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                children[parent].push(n);
            }
        }
        let mut walk = Walk {
            class,
            start: code,
            code: code.clone(),
            denominator: class.task().denominator(),
            first_reward: IBig::ZERO,
            reward: IBig::ZERO,
            moves: Vec::new(),
            children,
            to_come: vec![Vec::new(); nodes.len()],
            states: vec![Vec::new(); nodes.len()],
        };
        for n in (0..nodes.len()).rev() {
            let lift = class.lift(&nodes[n]);
            let entry = |i: usize| match &lift {
                Some(lift) if i / q % q == i % q => lift.clone(),
                Some(_) => UBig::ZERO,
                None => walk.value(n, Kept(i / q / q), (i / q % q) as Symbol, (i % q) as Symbol),
            };
            walk.to_come[n] = (0..walk.contexts(n) * q * q).map(entry).collect();
        }
        for n in (0..nodes.len()).filter(|&n| nodes[n].parent.is_none()) {
            for (i, cells) in walk.leading(n).iter().enumerate() {
                for (cell, weight) in cells {
                    let token = walk.code.action(*cell);
                    let earned = weight * walk.best(n, Kept(i / q), token, (i % q) as Symbol);
                    walk.first_reward += IBig::from(earned);
                }
            }
        }
        walk.reward = walk.first_reward.clone();
        walk
    }

    /// Makes all moves.
    pub fn lead_to_one(mut self) -> Path {
        let q = self.class.q();
        for n in 0..self.class.nodes().len() {
            let leading = self.leading(n);
            for (v, leading) in (0..).map(Kept).zip(leading.chunks(q)) {
                if self.class.nodes()[n].ends {
                    self.finish(n, leading);
                } else if self.collides(leading) {
                    self.consolidate(n, v, leading);
                    self.separate(n, v, leading);
                }
            }
            self.advance(n, &leading);
        }
        Path {
            start: self.start.clone(),
            start_reward: self.fraction(&self.first_reward),
            reward: self.fraction(&self.reward),
            moves: self.moves,
        }
    }

    fn node(&self, n: usize) -> &'a Node {
        &self.class.nodes()[n]
    }

    fn symbols(&self) -> impl Iterator<Item = Symbol> + use<> {
        0..self.class.q() as Symbol
    }

    fn power(&self, digits: usize) -> usize {
        self.class.q().pow(digits as u32)
    }

    /// How many contexts a node has: one where the input ends.
    fn contexts(&self, n: usize) -> usize {
        let node = self.node(n);
        let past = self.class.shape().window.past;
        match node.ends {
            true => 1,
            false => self.power(past.min(node.t) + node.after),
        }
    }

    /// The context of a window of a node.
    fn context(&self, n: usize, SeenSymbols(w): SeenSymbols) -> Kept {
        Kept(w % self.contexts(n))
    }

    /// x_t of a window of a node.
    fn symbol(&self, n: usize, SeenSymbols(w): SeenSymbols) -> Symbol {
        (w / self.power(self.node(n).after) % self.class.q()) as Symbol
    }

    /// The weight of the symbols `digits` places from the end of a window of a node, all that it
    /// shows beyond the context of the node before.
    fn weight(&self, n: usize, SeenSymbols(w): SeenSymbols, digits: usize) -> UBig {
        let node = self.node(n);
        let weight = |i: usize| {
            let x = (w / self.power(i) % self.class.q()) as Symbol;
            self.class
                .task()
                .inputs()
                .weight(node.t + node.after - i, 0, x)
        };
        (0..digits).map(|i| UBig::from(weight(i))).product()
    }

    /// How many symbols a node shows for the first time, and the context of the node before, of a
    /// window.
    fn news(&self, n: usize, SeenSymbols(w): SeenSymbols) -> (usize, Kept) {
        let node = self.node(n);
        match node.parent.map(|parent| self.node(parent).after) {
            None => (1 + node.after, Kept(0)),
            Some(after) if after == node.after => (1, Kept(w / self.class.q())),
            Some(_) => (0, Kept(w)),
        }
    }

    /// Whether the law of the inputs lets a window stand at a node.
    fn occurs(&self, n: usize, SeenSymbols(w): SeenSymbols) -> bool {
        let (node, inputs) = (self.node(n), self.class.task().inputs());
        let can = |i: usize| {
            let x = (w / self.power(i) % self.class.q()) as Symbol;
            inputs.can_occur(node.t + node.after - i, x)
        };
        inputs.has_full_support() || (0..node.before + 1 + node.after).all(can)
    }

    /// The windows of the next step after a context of a node: which child, and which window.
    fn next(&self, n: usize, Kept(v): Kept) -> Vec<(usize, SeenSymbols)> {
        let q = self.class.q();
        let windows = |&child: &usize| {
            let list = match self.node(child).after == self.node(n).after {
                true => v * q..(v + 1) * q,
                false => v..v + 1,
            };
            list.map(move |w| (child, SeenSymbols(w)))
        };
        let all = self.children[n].iter().flat_map(windows);
        all.filter(|&(child, w)| self.occurs(child, w)).collect()
    }

    fn cell(&self, n: usize, SeenSymbols(w): SeenSymbols, y: Symbol) -> usize {
        self.class.groups()[self.node(n).group].cell(w, y.into())
    }

    /// The state after symbol x of step t in state s (any at t = 1).
    fn fold(&self, t: usize, s: Symbol, x: Symbol) -> Symbol {
        match t {
            1 => x,
            _ => self.class.task().square().multiply(s, x),
        }
    }

    /// W_t(v, y, s) of a node.
    fn best(&self, n: usize, Kept(v): Kept, y: Symbol, s: Symbol) -> &UBig {
        let q = self.class.q();
        &self.to_come[n][(v * q + y as usize) * q + s as usize]
    }

    /// W_t(v, y, s) from W_{t+1} and the code.
    fn value(&self, n: usize, v: Kept, y: Symbol, s: Symbol) -> UBig {
        let one = |(child, w): (usize, SeenSymbols)| {
            let token = self.code.action(self.cell(child, w, y));
            let s = self.fold(self.node(child).t, s, self.symbol(child, w));
            let news = self.news(child, w).0;
            self.best(child, self.context(child, w), token, s) * self.weight(child, w, news)
        };
        self.next(n, v).into_iter().map(one).sum()
    }

    /// The consulted cells of a node by the context and the state they lead to, at \[v q + s\].
    fn leading(&self, n: usize) -> Vec<Cells> {
        let (q, node) = (self.class.q(), self.node(n));
        let group = &self.class.groups()[node.group];
        let mut cells = vec![Vec::new(); self.contexts(n) * q];
        for y in 0..group.histories {
            for w in (0..group.windows()).map(|i| SeenSymbols(group.window(i))) {
                let (news, Kept(before)) = self.news(n, w);
                let weight = self.weight(n, w, news);
                let (s, weight) = match node
                    .parent
                    .map(|parent| &self.states[parent][before * q + y])
                {
                    None => (0, weight),
                    Some(None) => continue,
                    Some(Some((s, reached))) => (*s, reached * weight),
                };
                let to = self.fold(node.t, s, self.symbol(n, w)) as usize;
                let Kept(v) = self.context(n, w);
                cells[v * q + to].push((group.cell(w.0, y), weight));
            }
        }
        cells
    }

    /// Gives a cell an action, by which the numerator of J grows by `gain`.
    fn make(&mut self, cell: usize, to: Symbol, kind: MoveKind, gain: IBig) {
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

    /// Lets the cells that lead to state s in context v emit a token.
    fn lead(
        &mut self,
        n: usize,
        (v, s): (Kept, Symbol),
        cells: &Cells,
        token: Symbol,
        kind: MoveKind,
    ) {
        for (cell, weight) in cells {
            let now = self.code.action(*cell);
            let gain = IBig::from(self.best(n, v, token, s).clone()) - self.best(n, v, now, s);
            self.make(*cell, token, kind, gain * weight);
        }
    }

    /// The tokens with the largest W_t(v, ., s).
    fn best_tokens(&self, n: usize, v: Kept, s: Symbol) -> Vec<Symbol> {
        let most = self.symbols().map(|a| self.best(n, v, a, s)).max();
        self.symbols()
            .filter(|&a| Some(self.best(n, v, a, s)) == most)
            .collect()
    }

    /// Whether two states of a context have a token in common.
    fn collides(&self, leading: &[Cells]) -> bool {
        let mut state_of = vec![None; self.class.q()];
        (0..).zip(leading).any(|(s, cells)| {
            cells.iter().any(|(cell, _)| {
                let token = self.code.action(*cell) as usize;
                *state_of[token].get_or_insert(s) != s
            })
        })
    }

    /// Gives each state of a context one token, of the best for it: one that no state has yet, if it
    /// can be, and that most of its cells emit already.
    fn consolidate(&mut self, n: usize, v: Kept, leading: &[Cells]) {
        let mut taken = vec![false; self.class.q()];
        for (s, cells) in (0..).zip(leading).filter(|(_, cells)| !cells.is_empty()) {
            let merit = |&token: &Symbol| {
                let emit = cells
                    .iter()
                    .filter(|(cell, _)| self.code.action(*cell) == token);
                (!taken[token as usize], emit.count())
            };
            let tokens = self.best_tokens(n, v, s);
            let token = tokens.into_iter().rev().max_by_key(merit);
            let token = token.expect("a largest among q");
            taken[token as usize] = true;
            self.lead(n, (v, s), cells, token, MoveKind::Consolidate);
        }
    }

    /// Gives each state of a context that shares its token one of its own.
    fn separate(&mut self, n: usize, v: Kept, leading: &[Cells]) {
        let states = (0..).zip(leading).filter(|(_, cells)| !cells.is_empty());
        let mut users = vec![0; self.class.q()];
        for (_, cells) in states.clone() {
            users[self.code.action(cells[0].0) as usize] += 1;
        }
        for (s, cells) in states {
            let shared = self.code.action(cells[0].0) as usize;
            if users[shared] == 1 {
                continue;
            }
            let unused = users.iter().position(|&n| n == 0);
            let unused = unused.expect("at most q states with fewer tokens") as Symbol;
            self.prepare(n, (v, s), unused);
            self.lead(n, (v, s), cells, unused, MoveKind::Reroute);
            users[shared] -= 1;
            users[unused as usize] = 1;
        }
    }

    /// Sets the cells that read a token that is never emitted in context v to what is best for state s.
    fn prepare(&mut self, n: usize, (v, s): (Kept, Symbol), unused: Symbol) {
        let q = self.class.q();
        for (child, w) in self.next(n, v) {
            let cell = self.cell(child, w, unused);
            let to = self.fold(self.node(child).t, s, self.symbol(child, w));
            let tokens = self.best_tokens(child, self.context(child, w), to);
            if !tokens.contains(&self.code.action(cell)) {
                self.make(cell, tokens[0], MoveKind::Prepare, IBig::ZERO);
            }
        }
        for state in self.symbols() {
            let value = self.value(n, v, unused, state);
            self.to_come[n][(v.0 * q + unused as usize) * q + state as usize] = value;
        }
    }

    /// Notes the state that each token stands for, now that no two states share one.
    fn advance(&mut self, n: usize, leading: &[Cells]) {
        let q = self.class.q();
        let mut states: Vec<Option<(Symbol, UBig)>> = vec![None; leading.len()];
        for (i, cells) in leading.iter().enumerate() {
            for (cell, weight) in cells {
                let token = self.code.action(*cell) as usize;
                let entry =
                    states[i / q * q + token].get_or_insert(((i % q) as Symbol, UBig::ZERO));
                entry.1 += weight;
            }
        }
        self.states[n] = states;
    }

    /// Gives every consulted cell of a last step the right answer.
    fn finish(&mut self, n: usize, leading: &[Cells]) {
        for (s, cells) in (0..).zip(leading) {
            self.lead(n, (Kept(0), s), cells, s, MoveKind::Finish);
        }
    }
}
