//! Follows several rollouts on one input together, as one Markov chain (beyond the paper).
//!
//! Rollouts on one input x, its replicas, are independent given x, and share the fold s and the window. So (s, window,
//! histories of the k replicas) is a Markov chain in which the law of the inputs enters once, and
//! E_x[p(x)^i (1 - p(x))^j ..] is the mean of a product of ends over i + j replicas: linear in T, whatever the number of
//! inputs. Replicas move one at a time.
//!
//! One or two replicas are *tagged*. With A the mass of the chain before a step, after which only the others have moved,
//! and B the mean end given the histories after the step, the sum of A B over s and over the others is
//!
//! - one tagged: E_x[F(x) dQ_x(c, b)], F the mean end of the others;
//! - two tagged, both in cell c: K(b, b') = E_x[F(x) dQ_x(c, b) dQ_x(c, b')], from which the squared gradient in the
//!   logits follows. In an untied class rollouts on one input that consult the same cell do so at the same step.
//!
//! A step costs about (k + 1) / 2 q^(k-1) times that of an evaluation.

use crate::model::class::{Class, Group};
use crate::model::operation::Symbol;
use crate::model::policy::Policy;
use crate::support::watch::{Observer, Stopped, Tally};

/// Replicas on one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Replicas {
    /// How many have their actions looked at: none, one or two.
    pub tagged: usize,
    /// The others.
    pub others: usize,
}

/// The time and memory of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    /// Multiplications.
    pub operations: f64,
    /// Bytes of the messages that are kept.
    pub bytes: f64,
}

/// The result of a pass.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Passed {
    /// The mean end.
    pub mean: f64,
    /// One tagged: E_x[F dQ_x], an entry for each cell and action. Two: E_x[F g_x^2], g_x the gradient in the logits.
    pub values: Vec<f64>,
}

impl Replicas {
    fn count(self) -> usize {
        self.tagged + self.others
    }

    /// The time and memory that [`Replicas::pass`] takes.
    pub fn cost(self, class: &Class) -> Cost {
        let mut cost = Cost {
            operations: 0.0,
            bytes: 0.0,
        };
        let k = self.count() as i32;
        let q = class.q() as f64;
        for which in 0..class.task().lengths().len() {
            for step in steps(class, which) {
                let blocks = step.group.windows() as f64 * q;
                let (h, after) = (step.histories as f64, step.outcomes as f64);
                // Replica j moves after those behind it.
                let moves: f64 = (0..k)
                    .map(|j| h.powi(j + 1) * step.choices as f64 * after.powi(k - 1 - j))
                    .sum();
                let routes = if step.next.is_some() {
                    q * after.powi(k)
                } else {
                    0.0
                };
                let looks = h * q.powi(self.tagged as i32) * after.powi(self.others as i32);
                cost.operations += blocks * (2.0 * (moves + routes) + looks);
                let kept = h.powi(self.tagged as i32) * after.powi(self.others as i32);
                cost.bytes += 8.0 * blocks * (kept + h.powi(k));
            }
        }
        cost
    }

    /// Passes forward and backward through all lengths. `end` weighs the successes among the tagged and among the
    /// others; with two tagged it must be 0 unless both succeed.
    pub fn pass(
        self,
        policy: &Policy,
        end: &dyn Fn(usize, usize) -> f64,
        observer: &dyn Observer,
    ) -> Result<Passed, Stopped> {
        let class = policy.class();
        let entries = policy.rows().len();
        let q = class.q();
        let mut looked = vec![0.0; entries * if self.tagged == 2 { q } else { 1 }];
        let mut mean = 0.0;
        let all: usize = class.task().lengths().iter().sum();
        let tally = Tally::new(observer, "steps", Some(2 * all as u64));
        for which in 0..class.task().lengths().len() {
            let chain = Chain {
                class,
                rows: policy.rows(),
                q,
                replicas: self,
                steps: steps(class, which),
            };
            let start = chain.start(which);
            let kept = chain.forward(start.clone(), &tally)?;
            mean += chain.backward(&start, &kept, end, &mut looked, &tally)?;
        }
        let values = match self.tagged {
            2 => squares(policy.rows(), q, &looked),
            _ => looked,
        };
        Ok(Passed { mean, values })
    }
}

/// g(a)^2 = pi(a)^2 (dQ(a) - dV)^2 from the products dQ(b) dQ(b').
fn squares(rows: &[f64], q: usize, products: &[f64]) -> Vec<f64> {
    let cell = |(row, products): (&[f64], &[f64])| {
        let with_mean: Vec<f64> = products
            .chunks(q)
            .map(|line| line.iter().zip(row).map(|(k, p)| k * p).sum())
            .collect();
        let both: f64 = with_mean.iter().zip(row).map(|(k, p)| k * p).sum();
        let entry = |a: usize| {
            let square = products[a * q + a] - 2.0 * with_mean[a] + both;
            row[a] * row[a] * square.max(0.0)
        };
        (0..q).map(entry).collect::<Vec<f64>>()
    };
    let cells = rows.chunks(q).zip(products.chunks(q * q));
    cells.flat_map(cell).collect()
}

/// One step of the rollouts of a length.
struct ReplicaStep<'a> {
    group: &'a Group,
    /// q to the number of symbols in the window.
    span: usize,
    /// Histories of a replica before the step.
    histories: usize,
    /// Histories after it; behind the last step, failure and success.
    outcomes: usize,
    /// The outcomes that an action leads to: one for each action, or failure and success.
    choices: usize,
    /// Histories that are kept beside the new token.
    kept: usize,
    /// How its window becomes the next; none at the last step.
    next: Option<WindowShift>,
}

/// How a window becomes that of the next step.
struct WindowShift {
    /// q to the number of symbols that stay.
    stay: usize,
    /// The position of the symbol that enters, where one does.
    enters: Option<usize>,
    /// q to the number of symbols after x_{t+1} in the next window.
    after: usize,
}

fn steps(class: &Class, which: usize) -> Vec<ReplicaStep<'_>> {
    let q = class.q();
    let count = |digits: usize| q.pow(digits as u32);
    let path = class.path(which);
    let node = |i: usize| &class.nodes()[path[i]];
    let step = |i: usize| {
        let here = node(i);
        let size = here.before + 1 + here.after;
        let next = (i + 1 < path.len()).then(|| {
            let next = node(i + 1);
            let leaves = here.before + 1 - next.before;
            WindowShift {
                stay: count(size - leaves),
                enters: (next.after + 1 > here.after).then_some(next.t + next.after),
                after: count(next.after),
            }
        });
        ReplicaStep {
            group: &class.groups()[here.group],
            span: count(size),
            histories: count(here.tokens),
            outcomes: next
                .as_ref()
                .map_or(2, |_| count(here.tokens.min(class.shape().memory - 1) + 1)),
            choices: if next.is_some() { q } else { 2 },
            kept: match next {
                Some(_) => count(here.tokens.min(class.shape().memory - 1)),
                None => 1,
            },
            next,
        }
    };
    (0..path.len()).map(step).collect()
}

/// The chain of the replicas on the inputs of one length. A message has a block for each (window, s), and a block an
/// entry for each tuple of histories, that of the first replica in the place that counts most.
struct Chain<'a> {
    class: &'a Class,
    rows: &'a [f64],
    q: usize,
    replicas: Replicas,
    steps: Vec<ReplicaStep<'a>>,
}

/// The chances of a replica's outcomes, by history.
struct OutcomeChances<'a> {
    chances: &'a [f64],
    histories: usize,
    outcomes: usize,
    choices: usize,
    kept: usize,
}

impl OutcomeChances<'_> {
    fn first(&self, history: usize) -> usize {
        history % self.kept * self.choices
    }

    /// Moves the replica behind which `post` entries lie: histories in, outcomes out.
    fn forward(&self, from: &[f64], post: usize, to: &mut Vec<f64>) {
        let blocks = from.len() / (self.histories * post);
        to.clear();
        to.resize(blocks * self.outcomes * post, 0.0);
        for (from, to) in from
            .chunks_exact(self.histories * post)
            .zip(to.chunks_exact_mut(self.outcomes * post))
        {
            for (h, from) in from.chunks_exact(post).enumerate() {
                let chances = &self.chances[h * self.choices..][..self.choices];
                let to = &mut to[self.first(h) * post..][..self.choices * post];
                for (to, chance) in to.chunks_exact_mut(post).zip(chances) {
                    to.iter_mut().zip(from).for_each(|(t, f)| *t += chance * f);
                }
            }
        }
    }

    /// The mean over the outcomes of a replica: outcomes in, histories out.
    fn backward(&self, from: &[f64], post: usize, to: &mut Vec<f64>) {
        let blocks = from.len() / (self.outcomes * post);
        to.clear();
        to.resize(blocks * self.histories * post, 0.0);
        for (from, to) in from
            .chunks_exact(self.outcomes * post)
            .zip(to.chunks_exact_mut(self.histories * post))
        {
            for (h, to) in to.chunks_exact_mut(post).enumerate() {
                let chances = &self.chances[h * self.choices..][..self.choices];
                let from = &from[self.first(h) * post..][..self.choices * post];
                for (from, chance) in from.chunks_exact(post).zip(chances) {
                    to.iter_mut().zip(from).for_each(|(t, f)| *t += chance * f);
                }
            }
        }
    }
}

impl Chain<'_> {
    /// The chances of the outcomes in a window whose first cell this is; s decides which last token succeeds.
    fn moves<'b>(
        &'b self,
        step: &ReplicaStep<'_>,
        first_cell: usize,
        s: usize,
        ends: &'b mut Vec<f64>,
    ) -> OutcomeChances<'b> {
        let rows = &self.rows[first_cell * self.q..][..step.histories * self.q];
        let chances = match step.next {
            Some(_) => rows,
            None => {
                ends.clear();
                let right = rows.chunks_exact(self.q).map(|row| row[s]);
                ends.extend(right.flat_map(|p| [1.0 - p, p]));
                &ends[..]
            }
        };
        OutcomeChances {
            chances,
            histories: step.histories,
            outcomes: step.outcomes,
            choices: step.choices,
            kept: step.kept,
        }
    }

    /// Calls `each` with every window that may occur at a step and with its first cell.
    fn windows(&self, step: &ReplicaStep<'_>, mut each: impl FnMut(usize, usize)) {
        for n in 0..step.group.windows() {
            each(
                step.group.window(n),
                step.group.first_cell + n * step.histories,
            );
        }
    }

    /// Calls `each` with the blocks that follow (window, s) at the next step, and with their chances.
    fn routes(
        &self,
        shift: &WindowShift,
        window: usize,
        s: usize,
        mut each: impl FnMut(usize, f64),
    ) {
        let task = self.class.task();
        let mut route = |next: usize, chance: f64| {
            let x = (next / shift.after % self.q) as Symbol;
            let s = usize::from(task.square().multiply(s as Symbol, x));
            each(next * self.q + s, chance);
        };
        let stays = window % shift.stay;
        let Some(position) = shift.enters else {
            return route(stays, 1.0);
        };
        let (inputs, before) = (task.inputs(), (window % self.q) as Symbol);
        let denominator = inputs.denominator(position) as f64;
        for x in 0..self.q {
            let weight = inputs.weight(position, before, x as Symbol);
            if weight > 0 {
                route(stays * self.q + x, weight as f64 / denominator);
            }
        }
    }

    /// The message before the first step, in which no replica has a history.
    fn start(&self, which: usize) -> Vec<f64> {
        let (q, task) = (self.q, self.class.task());
        let node = &self.class.nodes()[self.class.path(which)[0]];
        let mut chances = vec![super::per_input::length_probability(task, which)];
        let mut message = Vec::new();
        for i in 0..=node.after {
            // By window so far.
            let denominator = task.inputs().denominator(i + 1) as f64;
            let longer = |(window, chance): (usize, &f64)| {
                let before = (window % q) as Symbol;
                let weight = |x: usize| task.inputs().weight(i + 1, before, x as Symbol) as f64;
                (0..q)
                    .map(|x| chance * (weight(x) / denominator))
                    .collect::<Vec<f64>>()
            };
            chances = chances.iter().enumerate().flat_map(longer).collect();
        }
        let first = q.pow(node.after as u32);
        for (window, chance) in chances.iter().enumerate() {
            let s = window / first;
            message.extend((0..q).map(|other| if other == s { *chance } else { 0.0 }));
        }
        message
    }

    /// Moves all replicas step by step; keeps, for each step, the message after the others have moved.
    fn forward(&self, start: Vec<f64>, tally: &Tally<'_>) -> Result<Vec<Vec<f64>>, Stopped> {
        let Replicas { tagged, others } = self.replicas;
        let k = self.replicas.count();
        let mut message = start;
        let mut all_kept = Vec::with_capacity(self.steps.len());
        let (mut from, mut to, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for (i, step) in self.steps.iter().enumerate() {
            let size = step.histories.pow(k as u32);
            let after = step.outcomes.pow(k as u32);
            let kept_size = step.histories.pow(tagged as u32) * step.outcomes.pow(others as u32);
            let mut kept = vec![0.0; step.span * self.q * kept_size];
            let next_span = self.steps.get(i + 1).map_or(0, |next| next.span);
            let mut next = vec![0.0; next_span * self.q * after];
            self.windows(step, |window, first_cell| {
                for s in 0..self.q {
                    let block = window * self.q + s;
                    let here = &message[block * size..][..size];
                    if here.iter().all(|&mass| mass == 0.0) {
                        continue;
                    }
                    let moves = self.moves(step, first_cell, s, &mut ends);
                    from.clear();
                    from.extend_from_slice(here);
                    for j in (0..k).rev() {
                        if j + 1 == tagged {
                            kept[block * kept_size..][..kept_size].copy_from_slice(&from);
                        }
                        moves.forward(&from, step.outcomes.pow((k - 1 - j) as u32), &mut to);
                        std::mem::swap(&mut from, &mut to);
                    }
                    if tagged == 0 {
                        kept[block * kept_size..][..kept_size].copy_from_slice(&from);
                    }
                    if let Some(shift) = &step.next {
                        self.routes(shift, window, s, |block, chance| {
                            let to = &mut next[block * after..][..after];
                            to.iter_mut().zip(&from).for_each(|(t, f)| *t += chance * f);
                        });
                    }
                }
            });
            all_kept.push(kept);
            message = next;
            if tally.add(1).is_break() {
                return Err(Stopped);
            }
        }
        Ok(all_kept)
    }

    /// Takes the mean end back through the steps, looks at the actions of the tagged, and gives the mean at the start.
    fn backward(
        &self,
        start: &[f64],
        all_kept: &[Vec<f64>],
        end: &dyn Fn(usize, usize) -> f64,
        looked: &mut [f64],
        tally: &Tally<'_>,
    ) -> Result<f64, Stopped> {
        let Replicas { tagged, others } = self.replicas;
        let k = self.replicas.count();
        let ends: Vec<f64> = (0..1usize << k)
            .map(|outcomes| {
                let of_others = outcomes & ((1 << others) - 1);
                end(
                    (outcomes >> others).count_ones() as usize,
                    of_others.count_ones() as usize,
                )
            })
            .collect();
        let mut mean = 0.0;
        let mut message: Vec<f64> = Vec::new();
        let (mut from, mut to, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for (i, (step, kept)) in self.steps.iter().zip(all_kept).enumerate().rev() {
            let size = step.histories.pow(k as u32);
            let after = step.outcomes.pow(k as u32);
            let kept_size = step.histories.pow(tagged as u32) * step.outcomes.pow(others as u32);
            let mut before = vec![0.0; step.span * self.q * size];
            self.windows(step, |window, first_cell| {
                for s in 0..self.q {
                    let block = window * self.q + s;
                    let mass = &kept[block * kept_size..][..kept_size];
                    // Whether (window, s) occurs is up to the inputs, so an action that the policy excludes is looked at.
                    if mass.iter().all(|&mass| mass == 0.0) {
                        continue;
                    }
                    from.clear();
                    match &step.next {
                        None => from.extend_from_slice(&ends),
                        Some(shift) => {
                            from.resize(after, 0.0);
                            self.routes(shift, window, s, |block, chance| {
                                let next = &message[block * after..][..after];
                                from.iter_mut()
                                    .zip(next)
                                    .for_each(|(f, n)| *f += chance * n);
                            });
                        }
                    }
                    let moves = self.moves(step, first_cell, s, &mut last);
                    let outcome = |h: usize, b: usize| match step.next {
                        Some(_) => moves.first(h) + b,
                        None => usize::from(b == s),
                    };
                    self.look(step, first_cell, mass, &from, &outcome, looked);
                    for j in (0..k).rev() {
                        moves.backward(&from, step.histories.pow((k - 1 - j) as u32), &mut to);
                        std::mem::swap(&mut from, &mut to);
                    }
                    if i == 0 {
                        mean += start[block] * from[0];
                    }
                    before[block * size..][..size].copy_from_slice(&from);
                }
            });
            message = before;
            if tally.add(1).is_break() {
                return Err(Stopped);
            }
        }
        Ok(mean)
    }

    /// Adds the products of mass and mean end, by cell and action of the tagged.
    fn look(
        &self,
        step: &ReplicaStep<'_>,
        first_cell: usize,
        mass: &[f64],
        ends: &[f64],
        outcome: &dyn Fn(usize, usize) -> usize,
        looked: &mut [f64],
    ) {
        let (q, rest) = (self.q, step.outcomes.pow(self.replicas.others as u32));
        let product = |mass: &[f64], place: usize| -> f64 {
            let ends = &ends[place * rest..][..rest];
            mass.iter().zip(ends).map(|(m, e)| m * e).sum()
        };
        for h in 0..step.histories {
            match self.replicas.tagged {
                0 => {}
                1 => {
                    let mass = &mass[h * rest..][..rest];
                    let entries = &mut looked[(first_cell + h) * q..][..q];
                    for (b, entry) in entries.iter_mut().enumerate() {
                        *entry += product(mass, outcome(h, b));
                    }
                }
                _ => {
                    let mass = &mass[(h * step.histories + h) * rest..][..rest];
                    let entries = &mut looked[(first_cell + h) * q * q..][..q * q];
                    for (place, entry) in entries.iter_mut().enumerate() {
                        let (a, b) = (outcome(h, place / q), outcome(h, place % q));
                        *entry += product(mass, a * step.outcomes + b);
                    }
                }
            }
        }
    }
}
