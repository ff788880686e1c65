//! Follows the rollouts on one input: its success, its gradient and the squares of its scores, tied classes included.
//!
//! In a tied class a rollout may consult a cell at several steps, and the score of an entry (c, a) is a sum over them:
//! S = sum_t X_t, X_t = 1{y_t = a} - pi(a) where c is consulted. E[r S^2] has products X_t X_t' with t < t'. They come
//! from one more forward pass for each entry, which carries the mean of the score so far.

use super::tree::{InputStep, steps};
use crate::model::class::Class;
use crate::model::operation::{Symbol, number};
use crate::model::policy::Policy;

/// The rollouts on one input at a time.
pub(crate) struct SingleInput<'a> {
    class: &'a Class,
    rows: &'a [f64],
    q: usize,
    /// By length.
    steps: Vec<Vec<InputStep<'a>>>,
    which: usize,
    /// By step, the cell of the first history.
    first_cells: Vec<usize>,
    /// By step, the distribution of the histories before it.
    forward: Vec<Vec<f64>>,
    /// By step, the chance of success given the history before it; behind the last, given the last token.
    success: Vec<Vec<f64>>,
    gradient: Vec<f64>,
    /// E[r S^2] and E[(1 - r) S^2].
    squares: [Vec<f64>; 2],
    is_touched: Vec<bool>,
    touched: Vec<usize>,
}

/// The contribution of one input to an entry (cell, action).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scores {
    /// Cell times q plus action.
    pub entry: usize,
    /// The derivative of p(x) by the logit.
    pub gradient: f64,
    /// The mean square of the score over rollouts that succeed, E[r S^2].
    pub successes: f64,
    /// The mean square of the score over rollouts that fail.
    pub failures: f64,
}

impl<'a> SingleInput<'a> {
    pub fn new(policy: &'a Policy) -> SingleInput<'a> {
        let class = policy.class();
        let (entries, longest) = (policy.rows().len(), class.task().longest());
        SingleInput {
            class,
            rows: policy.rows(),
            q: class.q(),
            steps: (0..class.task().lengths().len())
                .map(|which| steps(class, which))
                .collect(),
            which: 0,
            first_cells: vec![0; longest],
            forward: vec![Vec::new(); longest],
            success: vec![Vec::new(); longest + 1],
            gradient: vec![0.0; entries],
            squares: [vec![0.0; entries], vec![0.0; entries]],
            is_touched: vec![false; class.cells()],
            touched: Vec::new(),
        }
    }

    /// The multiplications that an input takes with [`SingleInput::scores`], on average over the lengths.
    pub fn operations(class: &Class) -> f64 {
        let lengths = class.task().lengths().len();
        let q = class.q() as f64;
        let one = |which: usize| {
            let steps = steps(class, which);
            let once: f64 = steps.iter().map(|step| step.histories as f64 * q).sum();
            // Every entry of a tied class may need a pass of its own.
            let entries = if class.shape().tied { once } else { 0.0 };
            once * (8.0 + entries)
        };
        (0..lengths).map(one).sum::<f64>() / lengths as f64
    }

    /// Passes forward and backward on an input of the length number `which`, and gives its success.
    pub fn follow(&mut self, which: usize, x: &[Symbol]) -> f64 {
        let q = self.q;
        self.which = which;
        let steps = &self.steps[which];
        for (t, step) in steps.iter().enumerate() {
            let end = step.known;
            let size = step.symbols;
            self.first_cells[t] = step.group.cell(number(&x[end - size..end], q), 0);
        }
        self.forward[0] = vec![1.0];
        for (t, step) in steps.iter().enumerate().take(steps.len() - 1) {
            let (before, after) = self.forward.split_at_mut(t + 1);
            let after = &mut after[0];
            after.clear();
            after.resize(steps[t + 1].histories, 0.0);
            for (h, mass) in before[t].iter().enumerate() {
                let row = &self.rows[(self.first_cells[t] + h) * q..][..q];
                let to = &mut after[h % step.kept * q..][..q];
                to.iter_mut().zip(row).for_each(|(to, p)| *to += mass * p);
            }
        }
        let target = usize::from(self.class.task().fold(x));
        let last = &mut self.success[steps.len()];
        last.clear();
        last.extend((0..q).map(|a| f64::from(u8::from(a == target))));
        for (t, step) in steps.iter().enumerate().rev() {
            let kept = if t + 1 == steps.len() { 1 } else { step.kept };
            let (before, after) = self.success.split_at_mut(t + 1);
            let before = &mut before[t];
            before.clear();
            before.extend((0..step.histories).map(|h| {
                let row = &self.rows[(self.first_cells[t] + h) * q..][..q];
                let next = &after[0][h % kept * q..][..q];
                row.iter().zip(next).map(|(p, n)| p * n).sum::<f64>()
            }));
        }
        self.success[0][0]
    }

    /// Calls `visit` with every cell that may be consulted, the chance of that, and the chances of success after each
    /// action there. A cell of a tied class may come more than once.
    pub fn visits(&self, mut visit: impl FnMut(usize, f64, &[f64])) {
        let steps = &self.steps[self.which];
        for (t, step) in steps.iter().enumerate() {
            let kept = if t + 1 == steps.len() { 1 } else { step.kept };
            for (h, mass) in self.forward[t].iter().enumerate() {
                let next = &self.success[t + 1][h % kept * self.q..][..self.q];
                visit(self.first_cells[t] + h, *mass, next);
            }
        }
    }

    /// Calls `each` with what the input contributes to every entry that rollouts on it can touch.
    pub fn scores(&mut self, mut each: impl FnMut(Scores)) {
        let q = self.q;
        let rows = self.rows;
        let mut gradient = std::mem::take(&mut self.gradient);
        let mut squares = std::mem::take(&mut self.squares);
        let mut touched = std::mem::take(&mut self.touched);
        let mut is_touched = std::mem::take(&mut self.is_touched);
        self.visits(|cell, mass, next| {
            if !is_touched[cell] {
                is_touched[cell] = true;
                touched.push(cell);
            }
            let row = &rows[cell * q..][..q];
            let mean: f64 = row.iter().zip(next).map(|(p, n)| p * n).sum();
            for (a, (p, next)) in row.iter().zip(next).enumerate() {
                let entry = cell * q + a;
                gradient[entry] += mass * p * (next - mean);
                let line = |value: f64, mean: f64| p * (1.0 - 2.0 * p) * value + p * p * mean;
                squares[0][entry] += mass * line(*next, mean);
                squares[1][entry] += mass * line(1.0 - next, 1.0 - mean);
            }
        });
        if self.class.shape().tied {
            for &cell in touched.iter().filter(|&&cell| self.consulted_again(cell)) {
                for a in 0..q {
                    let cross = 2.0 * self.products(cell, a);
                    squares[0][cell * q + a] += cross;
                    squares[1][cell * q + a] -= cross;
                }
            }
        }
        for cell in touched.drain(..) {
            is_touched[cell] = false;
            for entry in cell * q..(cell + 1) * q {
                each(Scores {
                    entry,
                    gradient: gradient[entry],
                    successes: squares[0][entry],
                    failures: squares[1][entry],
                });
                gradient[entry] = 0.0;
                squares[0][entry] = 0.0;
                squares[1][entry] = 0.0;
            }
        }
        self.gradient = gradient;
        self.squares = squares;
        self.touched = touched;
        self.is_touched = is_touched;
    }

    /// Whether two steps can consult the cell.
    fn consulted_again(&self, cell: usize) -> bool {
        let steps = self.steps[self.which].iter().zip(&self.first_cells);
        let holds = |(step, first): &(&InputStep<'_>, &usize)| {
            (**first..**first + step.histories).contains(&cell)
        };
        steps.filter(holds).nth(1).is_some()
    }

    /// The sum over t < t' of E[r X_t X_t'] for one entry.
    fn products(&self, cell: usize, action: usize) -> f64 {
        let q = self.q;
        let steps = &self.steps[self.which];
        let row = &self.rows[cell * q..][..q];
        let p = row[action];
        let mut sum = 0.0;
        // By history, its mass times the mean of the score so far.
        let mut carried = vec![0.0; 1];
        for (t, step) in steps.iter().enumerate() {
            let first_cell = self.first_cells[t];
            let here = cell.checked_sub(first_cell).filter(|h| *h < step.histories);
            if let Some(h) = here {
                let kept = if t + 1 == steps.len() { 1 } else { step.kept };
                let next = self.success[t + 1][h % kept * q + action];
                sum += carried[h] * p * (next - self.success[t][h]);
            }
            let Some(following) = steps.get(t + 1) else {
                break;
            };
            let mut moved = vec![0.0; following.histories];
            for (h, score) in carried.iter().enumerate() {
                let row = &self.rows[(first_cell + h) * q..][..q];
                let to = &mut moved[h % step.kept * q..][..q];
                let new = if here == Some(h) {
                    self.forward[t][h]
                } else {
                    0.0
                };
                for (b, (to, chance)) in to.iter_mut().zip(row).enumerate() {
                    let x = f64::from(u8::from(b == action)) - p;
                    *to += chance * (score + new * x);
                }
            }
            carried = moved;
        }
        sum
    }
}
