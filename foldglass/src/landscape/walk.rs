//! Follows the rollouts of several codes on one input together, for all inputs of a length at once (paper, App. A).
//!
//! What the rest of a rollout depends on is the symbols that later windows still see, the tokens remembered, and
//! the last symbol drawn where the law of the next depends on it. Inputs that agree in these are one place, so the
//! work is linear in T. A weight is summed for every place: the number of inputs over a denominator, or whether
//! there is one.

use crate::model::class::{Class, Group};
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use dashu_int::UBig;

/// What happens to rollouts of one length, in this order.
pub(super) enum Event<'a> {
    /// The symbol of a position, counted from 1, comes into sight.
    Draw(usize),
    /// A token is emitted.
    Emit(WalkStep<'a>),
}

/// One step of the rollouts of a length.
pub(super) struct WalkStep<'a> {
    /// The step, counted from 1.
    pub t: usize,
    /// Symbols drawn by now.
    pub drawn: usize,
    /// The cells that it consults.
    pub group: &'a Group,
    q: usize,
    /// q to the number of symbols in sight after x_t.
    after: usize,
    /// The number of windows without the symbol that the next step does not see.
    windows: usize,
    /// The number of histories without the token that the next step does not remember.
    histories: usize,
}

impl WalkStep<'_> {
    /// The symbol x_t in a window.
    pub fn own_symbol(&self, window: usize) -> Symbol {
        (window / self.after % self.q) as Symbol
    }

    /// What the next step sees of a window.
    pub fn next_window(&self, window: usize) -> usize {
        window % self.windows
    }

    /// What the next step remembers of a history and the token emitted.
    pub fn next_history(&self, history: usize, token: Symbol) -> usize {
        history % self.histories * self.q + usize::from(token)
    }
}

/// The events of the rollouts of length `task().lengths()[which]`.
pub(super) fn events(class: &Class, which: usize) -> impl Iterator<Item = Event<'_>> {
    let (q, length, shape) = (class.q(), class.task().lengths()[which], class.shape());
    let count = move |digits: usize| q.pow(digits as u32);
    let ahead = shape.window.future.min(length - 1);
    let steps = (1..).zip(class.path(which)).flat_map(move |(t, node)| {
        let node = &class.nodes()[node];
        let forgotten = usize::from(node.before == shape.window.past);
        let step = WalkStep {
            t,
            drawn: (t + ahead).min(length),
            group: &class.groups()[node.group],
            q,
            after: count(node.after),
            windows: count(node.before + 1 + node.after - forgotten),
            histories: count(node.tokens.min(shape.memory - 1)),
        };
        let draw = (t + ahead <= length).then_some(Event::Draw(t + ahead));
        draw.into_iter().chain([Event::Emit(step)])
    });
    (1..=ahead).map(Event::Draw).chain(steps)
}

/// What is summed over inputs.
pub(super) trait WalkWeight: Clone {
    const ZERO: Self;
    const ONE: Self;
    fn is_zero(&self) -> bool;
    fn add(&mut self, other: &Self);
    /// The weight times that of a symbol.
    fn times(&self, chance: u64) -> Self;
}

impl WalkWeight for u128 {
    const ZERO: u128 = 0;
    const ONE: u128 = 1;

    fn is_zero(&self) -> bool {
        *self == 0
    }

    fn add(&mut self, other: &u128) {
        *self += other;
    }

    fn times(&self, chance: u64) -> u128 {
        self * u128::from(chance)
    }
}

impl WalkWeight for UBig {
    const ZERO: UBig = UBig::ZERO;
    const ONE: UBig = UBig::ONE;

    fn is_zero(&self) -> bool {
        UBig::is_zero(self)
    }

    fn add(&mut self, other: &UBig) {
        *self += other;
    }

    fn times(&self, chance: u64) -> UBig {
        self * chance
    }
}

/// Whether there is an input.
impl WalkWeight for bool {
    const ZERO: bool = false;
    const ONE: bool = true;

    fn is_zero(&self) -> bool {
        !self
    }

    fn add(&mut self, other: &bool) {
        *self |= other;
    }

    fn times(&self, chance: u64) -> bool {
        *self && chance > 0
    }
}

/// Inputs on which N codes consult these cells at a step.
pub(super) struct CellVisit<'a, const N: usize, W> {
    /// The step, counted from 1.
    pub t: usize,
    /// Symbols drawn by now: the weight is over their denominators.
    pub drawn: usize,
    /// The cell that each code consults.
    pub cells: [usize; N],
    /// The token that each emits.
    pub tokens: [Symbol; N],
    /// The task's state s_t, or 0 where states are not followed.
    pub state: Symbol,
    /// The weight of these inputs.
    pub weight: &'a W,
}

/// Visits every place of the rollouts of N codes of one class on inputs of length `task().lengths()[which]`, step by
/// step. Weights with different `state` are kept apart if states are followed.
pub(super) fn walk<const N: usize, W: WalkWeight>(
    codes: [&Code; N],
    which: usize,
    follow_states: bool,
    mut visit: impl FnMut(CellVisit<'_, N, W>),
) {
    let class = codes[0].class();
    let square = class.task().square();
    let mut places = StateWeights::<N, W>::start(class, follow_states);
    for event in events(class, which) {
        let step = match event {
            Event::Draw(position) => {
                places = places.draw(class, position);
                continue;
            }
            Event::Emit(step) => step,
        };
        let mut next = places.empty(step.windows, step.histories * step.q);
        for (place, weight) in places.iter() {
            let cells = place.histories.map(|h| step.group.cell(place.window, h));
            let tokens: [Symbol; N] = std::array::from_fn(|n| codes[n].action(cells[n]));
            let own = step.own_symbol(place.window);
            let state = match (follow_states, step.t) {
                (false, _) => 0,
                (true, 1) => own,
                (true, _) => square.multiply(place.state as Symbol, own),
            };
            let to = JointState {
                window: step.next_window(place.window),
                histories: std::array::from_fn(|n| {
                    step.next_history(place.histories[n], tokens[n])
                }),
                state: usize::from(state),
                last: place.last,
            };
            next.add(to, weight);
            visit(CellVisit {
                t: step.t,
                drawn: step.drawn,
                cells,
                tokens,
                state,
                weight,
            });
        }
        places = next;
    }
}

/// The symbols in sight and the tokens that each code remembers as base-q numbers, the task's state, and the last
/// symbol drawn.
#[derive(Clone, Copy)]
struct JointState<const N: usize> {
    window: usize,
    histories: [usize; N],
    state: usize,
    last: usize,
}

/// The weights of all places, dense.
struct StateWeights<const N: usize, W> {
    weights: Vec<W>,
    histories: usize,
    /// q where states are followed, else 1.
    states: usize,
    /// q where the law of a symbol depends on the one before it, else 1.
    lasts: usize,
}

impl<const N: usize, W: WalkWeight> StateWeights<N, W> {
    /// Before anything is drawn.
    fn start(class: &Class, follow_states: bool) -> StateWeights<N, W> {
        let or_one = |follow: bool| if follow { class.q() } else { 1 };
        let mut places = StateWeights {
            weights: vec![W::ZERO],
            histories: 1,
            states: or_one(follow_states),
            lasts: or_one(class.task().inputs().is_correlated()),
        };
        places.weights.resize(places.states * places.lasts, W::ZERO);
        places.weights[0] = W::ONE;
        places
    }

    /// Empty weights, for this number of windows and histories.
    fn empty(&self, windows: usize, histories: usize) -> StateWeights<N, W> {
        let size = windows * histories.pow(N as u32) * self.states * self.lasts;
        StateWeights {
            weights: vec![W::ZERO; size],
            histories,
            ..*self
        }
    }

    fn add(&mut self, place: JointState<N>, weight: &W) {
        let join = |number, history| number * self.histories + history;
        let number = place.histories.into_iter().fold(place.window, join);
        let number = (number * self.states + place.state) * self.lasts + place.last;
        self.weights[number].add(weight);
    }

    /// The places that some input leads to.
    fn iter(&self) -> impl Iterator<Item = (JointState<N>, &W)> {
        let weights = self.weights.iter().enumerate();
        let present = weights.filter(|(_, weight)| !weight.is_zero());
        present.map(|(number, weight)| {
            let (mut number, last) = (number / self.lasts, number % self.lasts);
            let state = number % self.states;
            number /= self.states;
            let mut histories = [0; N];
            for history in histories.iter_mut().rev() {
                (number, *history) = (number / self.histories, number % self.histories);
            }
            let place = JointState {
                window: number,
                histories,
                state,
                last,
            };
            (place, weight)
        })
    }

    /// Lets the symbol of a position follow at every place.
    fn draw(&self, class: &Class, position: usize) -> StateWeights<N, W> {
        let (q, inputs) = (class.q(), class.task().inputs());
        let others = self.histories.pow(N as u32) * self.states * self.lasts;
        let mut drawn = self.empty(self.weights.len() / others * q, self.histories);
        for (place, weight) in self.iter() {
            for symbol in 0..q {
                let chance = inputs.weight(position, place.last as Symbol, symbol as Symbol);
                let to = JointState {
                    window: place.window * q + symbol,
                    last: symbol % self.lasts,
                    ..place
                };
                drawn.add(to, &weight.times(chance));
            }
        }
        drawn
    }
}
