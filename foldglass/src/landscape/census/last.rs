//! Solves the last step, given all others.
//!
//! A code that no change of the last step raises takes a best action at each of its cells. Cells
//! whose token no cell of the step before emits (*spare* tokens) matter only to a change of that step
//! to the token: the ways to fill them are counted.

use super::descent::forgets;
use crate::model::operation::Symbol;
use crate::reward::count::flow::{FlowTable, StepFlows};
use crate::reward::count::weight::Whole;

/// An action, and what it earns.
#[derive(Debug, Clone, Copy)]
struct Allowed<W> {
    action: Symbol,
    earned: W,
}

/// Actions of all cells of one token that earn the same at every state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Column<W> {
    /// By place of the column: beta.
    beta: Vec<W>,
    /// What the cells earn.
    pub earned: W,
    /// The choices of actions that are like it.
    pub ways: u128,
}

/// What is known of the last step, given all others.
pub(super) struct LastStep<'a, W> {
    flows: &'a FlowTable<W>,
    /// By token: the places before the step of states that have it.
    places: Vec<Vec<u32>>,
    tolerance: W,
    /// By cell.
    allowed: Vec<Vec<Allowed<W>>>,
    pub spare: Vec<Symbol>,
}

/// Ways to fill the cells of spare tokens.
pub(super) struct Fills {
    /// So that no change of the step before to one of them raises the reward.
    pub good: u128,
    /// Those of them that make the step forget.
    pub forgetting: u128,
    /// Whether no way at all raises it.
    pub all_are_good: bool,
}

/// The weights and the actions of the steps before the last.
#[derive(Clone, Copy)]
pub(super) struct BeforeLast<'a, W> {
    pub alpha: &'a [W],
    pub beta: &'a [W],
    pub actions: &'a [Symbol],
}

/// The last token that a cell remembers.
fn newest<W: Whole>(step: &StepFlows<W>, cell: usize, q: usize) -> Symbol {
    ((cell - step.cells.start) % step.histories % q) as Symbol
}

impl<'a, W: Whole> LastStep<'a, W> {
    pub fn new(flows: &'a FlowTable<W>, tolerance: W) -> LastStep<'a, W> {
        let step = &flows.steps[flows.steps.len() - 1];
        let mut places = vec![Vec::new(); flows.q];
        for cell in step.cells.clone() {
            places[newest(step, cell, flows.q) as usize].extend(step.reads(cell));
        }
        for places in &mut places {
            places.sort_unstable();
            places.dedup();
        }
        LastStep {
            flows,
            places,
            tolerance,
            allowed: vec![Vec::new(); step.cells.len()],
            spare: Vec::new(),
        }
    }

    fn step(&self) -> &'a StepFlows<W> {
        &self.flows.steps[self.flows.steps.len() - 1]
    }

    /// The number of the step before.
    fn before(&self) -> &'a StepFlows<W> {
        &self.flows.steps[self.flows.steps.len() - 2]
    }

    /// Finds the allowed actions of every cell. Tokens are spared only if `spares`.
    pub fn solve(&mut self, alpha: &[W], actions: &[Symbol], spares: bool) {
        self.spare.clear();
        let (step, q) = (self.step(), self.flows.q);
        if spares && self.flows.steps.len() > 1 {
            let emitted = &actions[self.before().cells.clone()];
            let tokens = 0..q as Symbol;
            self.spare
                .extend(tokens.filter(|token| !emitted.contains(token)));
        }
        for (cell, allowed) in step.cells.clone().zip(&mut self.allowed) {
            allowed.clear();
            if !self.spare.is_empty() && self.spare.contains(&newest(step, cell, q)) {
                let earned = W::zero();
                allowed.push(Allowed { action: 0, earned });
                continue;
            }
            let mut best = W::zero();
            for action in 0..q as Symbol {
                let earned = step.earned(alpha, &self.flows.right, cell, action);
                if earned > best {
                    best = earned;
                    allowed.retain(|less| less.earned + self.tolerance >= best);
                }
                if earned + self.tolerance >= best {
                    allowed.push(Allowed { action, earned });
                }
            }
        }
    }

    /// Whether every cell has one action only.
    pub fn is_single(&self) -> bool {
        self.allowed.iter().all(|allowed| allowed.len() == 1)
    }

    /// Gives every cell its first action; says what they earn.
    pub fn take_first(&self, actions: &mut [Symbol]) -> W {
        let mut sum = W::zero();
        for (cell, allowed) in self.step().cells.clone().zip(&self.allowed) {
            actions[cell] = allowed[0].action;
            sum += allowed[0].earned;
        }
        sum
    }

    /// Goes on to the next choice of actions; none after the last one.
    pub fn take_next(&self, actions: &mut [Symbol]) -> Option<W> {
        let mut cells = self.step().cells.clone().zip(&self.allowed);
        loop {
            let (cell, allowed) = cells.next()?;
            let now = allowed.iter().position(|a| a.action == actions[cell]);
            let next = now.expect("one of the allowed") + 1;
            actions[cell] = allowed[next % allowed.len()].action;
            if next < allowed.len() {
                break;
            }
        }
        let mut sum = W::zero();
        for (cell, allowed) in self.step().cells.clone().zip(&self.allowed) {
            let now = allowed.iter().find(|a| a.action == actions[cell]);
            sum += now.expect("one of the allowed").earned;
        }
        Some(sum)
    }

    /// By token that is not spare: the columns that the allowed actions make.
    pub fn columns(&self) -> Vec<(Symbol, Vec<Column<W>>)> {
        let tokens = (0..self.flows.q as Symbol).filter(|token| !self.spare.contains(token));
        tokens.map(|token| (token, self.column(token))).collect()
    }

    fn column(&self, token: Symbol) -> Vec<Column<W>> {
        let (step, q) = (self.step(), self.flows.q);
        let places = &self.places[token as usize];
        let at = |beta: &[W]| places.iter().map(|&p| beta[p as usize]).collect::<Vec<W>>();
        let mut beta = self.flows.right.clone();
        let right = at(&beta);
        let mut columns = vec![Column {
            beta: right.clone(),
            earned: W::zero(),
            ways: 1,
        }];
        let cells = step.cells.clone().zip(&self.allowed);
        for (cell, allowed) in cells.filter(|(cell, _)| newest(step, *cell, q) == token) {
            let mut longer = Vec::with_capacity(columns.len() * allowed.len());
            for one in allowed {
                step.give_back_one(&mut beta, cell, one.action);
                let given = at(&beta);
                step.take_back_one(&mut beta, cell, one.action);
                longer.extend(columns.iter().map(|column| {
                    let added = column.beta.iter().zip(&given).zip(&right);
                    Column {
                        beta: added
                            .map(|((&b, &given), &right)| b + given - right)
                            .collect(),
                        earned: column.earned + one.earned,
                        ways: column.ways,
                    }
                }));
            }
            longer.sort_unstable();
            longer.dedup_by(|from, into| {
                let alike = (&from.beta, from.earned) == (&into.beta, into.earned);
                into.ways += if alike { from.ways } else { 0 };
                alike
            });
            columns = longer;
        }
        columns
    }

    /// Writes beta at the places of a token.
    pub fn write(&self, token: Symbol, column: &Column<W>, beta: &mut [W]) {
        for (&place, &value) in self.places[token as usize].iter().zip(&column.beta) {
            beta[place as usize] = value;
        }
    }

    /// Whether a choice of allowed actions, spare cells filled in any way, lets a change of the step
    /// before raise the reward. All such choices are on one shelf.
    pub fn can_be_raised(&self, alpha: &[W], actions: &[Symbol]) -> bool {
        if self.flows.steps.len() < 2 {
            return false;
        }
        let (q, step, before) = (self.flows.q, self.step(), self.before());
        let mut beta = self.flows.right.clone();
        let all: Vec<Symbol> = (0..q as Symbol).collect();
        // By cell of the step before and token: the least and the most that it can earn.
        let settled = |beta: &[W]| -> Vec<W> {
            let cells = before.cells.clone();
            let earned = cells.flat_map(|cell| {
                let earned = |&token: &Symbol| before.earned(alpha, beta, cell, token);
                all.iter().map(earned).collect::<Vec<W>>()
            });
            earned.collect()
        };
        let (mut least, mut most) = (settled(&beta), settled(&beta));
        for (cell, allowed) in step.cells.clone().zip(&self.allowed) {
            let token = newest(step, cell, q);
            let choices: Vec<Symbol> = if self.spare.contains(&token) {
                all.clone()
            } else {
                allowed.iter().map(|one| one.action).collect()
            };
            for (n, from) in before.cells.clone().enumerate() {
                let settled = before.earned(alpha, &beta, from, token);
                let earned = choices.iter().map(|&action| {
                    step.give_back_one(&mut beta, cell, action);
                    let earned = before.earned(alpha, &beta, from, token) - settled;
                    step.take_back_one(&mut beta, cell, action);
                    earned
                });
                let earned: Vec<W> = earned.collect();
                least[n * q + token as usize] += *earned.iter().min().expect("an action");
                most[n * q + token as usize] += *earned.iter().max().expect("an action");
            }
        }
        let mut cells = before.cells.clone().enumerate();
        cells.any(|(n, cell)| {
            let now = least[n * q + actions[cell] as usize];
            let others = (0..q).filter(|&token| token != actions[cell] as usize);
            others.into_iter().any(|token| most[n * q + token] > now)
        })
    }

    /// Allowed actions that do not depend on the token, if there are some: spare cells take them too.
    pub fn forget(&self, actions: &mut [Symbol]) -> bool {
        let (step, q) = (self.step(), self.flows.q);
        for window in 0..step.cells.len() / step.histories {
            let cells = window * step.histories..(window + 1) * step.histories;
            let kept = |&i: &usize| !self.spare.contains(&newest(step, step.cells.start + i, q));
            let allows = |i: usize, action| self.allowed[i].iter().any(|one| one.action == action);
            let common = (0..q as Symbol)
                .find(|&action| cells.clone().filter(kept).all(|i| allows(i, action)));
            let Some(action) = common else {
                return false;
            };
            for i in cells {
                actions[step.cells.start + i] = action;
            }
        }
        true
    }

    /// Counts the ways to fill the cells of the spare tokens so that no change of the step before
    /// to one of them raises the reward; any way, where it is 1 already.
    pub fn fills(&self, given: BeforeLast<'_, W>, optimal: bool) -> Fills {
        let (q, step, spare) = (self.flows.q, self.step(), &self.spare);
        if spare.is_empty() {
            return Fills {
                good: 1,
                forgetting: forgets(step, given.actions).into(),
                all_are_good: true,
            };
        }
        let kept = |cell: &usize| !spare.contains(&newest(step, *cell, q));
        // Whether the cells of all other tokens forget, and what they emit by window.
        let mut column: Vec<Symbol> = Vec::new();
        let mut forgetting = true;
        for window in 0..step.cells.len() / step.histories {
            let first = step.cells.start + window * step.histories;
            let mut cells = (first..first + step.histories).filter(kept);
            let action = given.actions[cells.next().expect("the step before emits a token")];
            forgetting &= cells.all(|cell| given.actions[cell] == action);
            column.push(action);
        }
        let mut fills = Fills {
            good: 1,
            forgetting: forgetting.into(),
            all_are_good: true,
        };
        // Where the step before is rewarded, spare tokens are not alike: one may be right.
        for &token in spare {
            let filled = self.filled(given, token, optimal, &column);
            fills.good *= filled.good;
            fills.forgetting *= u128::from(filled.column_is_good);
            fills.all_are_good &= filled.good == filled.all;
        }
        fills
    }

    /// The ways to fill the cells of one spare token.
    fn filled(
        &self,
        given: BeforeLast<'_, W>,
        token: Symbol,
        optimal: bool,
        column: &[Symbol],
    ) -> Filled {
        let (q, step, before) = (self.flows.q, self.step(), self.before());
        let cells = step.cells.clone().filter(|&c| newest(step, c, q) == token);
        let cells: Vec<usize> = cells.collect();
        let all = (q as u128).pow(cells.len() as u32);
        if optimal {
            return Filled {
                all,
                good: all,
                column_is_good: true,
            };
        }
        let BeforeLast {
            alpha,
            beta: now,
            actions,
        } = given;
        let gain = |cell, beta: &[W]| {
            let now = before.earned(alpha, now, cell, actions[cell]) + self.tolerance;
            before.earned(alpha, beta, cell, token) - now
        };
        // By cell of the step before: what it gains with no cell of the token filled, which is what
        // is rewarded there; and by filled cell and action, how much more.
        let mut beta = self.flows.right.clone();
        let base: Vec<W> = before.cells.clone().map(|cell| gain(cell, &beta)).collect();
        let mut more: Vec<Vec<Vec<W>>> = Vec::new();
        for &cell in &cells {
            let mut by_action = Vec::new();
            for action in 0..q as Symbol {
                step.give_back_one(&mut beta, cell, action);
                let gains = before.cells.clone().map(|cell| gain(cell, &beta));
                by_action.push(gains.zip(&base).map(|(gain, &base)| gain - base).collect());
                step.take_back_one(&mut beta, cell, action);
            }
            more.push(by_action);
        }
        let windows = cells.len() / column.len();
        let column_is_good = base.iter().enumerate().all(|(n, &base)| {
            let sum = more.iter().enumerate().fold(base, |sum, (i, by_action)| {
                sum + by_action[column[i / windows] as usize][n]
            });
            sum <= W::zero()
        });
        Filled {
            all,
            good: good_ways(&more, base),
            column_is_good,
        }
    }
}

/// Ways to fill the cells of one token.
struct Filled {
    all: u128,
    good: u128,
    /// Whether the actions of the other tokens, where these forget, are a good way.
    column_is_good: bool,
}

/// In how many ways one row of each list can be added to `sums` so that none of them is above zero.
/// No number in a row is negative.
fn good_ways<W: Whole>(lists: &[Vec<Vec<W>>], sums: Vec<W>) -> u128 {
    if sums.iter().any(|sum| *sum > W::zero()) {
        return 0;
    }
    let Some((rows, rest)) = lists.split_first() else {
        return 1;
    };
    let with = |row: &Vec<W>| {
        sums.iter()
            .zip(row)
            .map(|(&sum, &more)| sum + more)
            .collect()
    };
    rows.iter().map(|row| good_ways(rest, with(row))).sum()
}
