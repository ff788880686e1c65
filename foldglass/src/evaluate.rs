//! Evaluates stochastic policies exactly, by forward and backward passes (paper, App. A).
//!
//! A rollout is a Markov chain on (s_{t-1}, window, y): alpha_t is its law under the policy, beta_t
//! the reward still to come. They give J, the visits d(c), the values d(c)Q(c,a) and V(c) at a cost
//! linear in T, for tied classes and several lengths alike: a cell collects every consultation.

mod plan;
#[cfg(test)]
mod tests;

use crate::class::{Allowance, Class, ClassError, Place, Planes};
use crate::kernels::{Aligned, Kernels, Run};
use crate::policy::Policy;
pub(crate) use plan::Scale;
use plan::{Draw, Plan, ScratchSizes, Source, Step, WIDEST};
use std::sync::Arc;

/// Message entries below this are held as zero, so that no product is a subnormal number.
const LEAST_MESSAGE: f64 = 1e-100;

/// What a policy does, over all inputs.
///
/// ```
/// use foldglass::class::{Allowance, Class, Shape};
/// use foldglass::evaluate::Evaluator;
/// use foldglass::policy::Policy;
/// use foldglass::{inputs::InputLaw, quasigroup::LatinSquare, task::Task};
/// let task = Task::new(LatinSquare::paper(), &InputLaw::Uniform, &[4]).unwrap();
/// let class = Class::new(task, Shape::untied(0, 0), Allowance::default()).unwrap();
/// let mut evaluator = Evaluator::new(&class, Allowance::default()).unwrap();
/// let reward = evaluator.evaluate(&Policy::uniform(&class));
/// assert!((reward - 0.2).abs() < 1e-15);
/// ```
pub struct Evaluator(pub(crate) Passes);

impl Evaluator {
    /// Takes the memory that evaluating policies of `class` needs, once.
    pub fn new(class: &Class, allowance: Allowance) -> Result<Evaluator, ClassError> {
        Ok(Evaluator(Passes::new(
            class,
            1,
            Scale::Probability,
            allowance,
        )?))
    }

    /// The class it evaluates policies of.
    pub fn class(&self) -> &Class {
        &self.0.class
    }

    /// Computes J, d, dQ and V of a policy and returns J. Allocates nothing.
    ///
    /// # Panics
    /// If the policy belongs to another class.
    pub fn evaluate(&mut self, policy: &Policy) -> f64 {
        assert!(policy.class() == self.class(), "a policy of another class");
        self.0.run(&policy.0.entries, Wants::ALL);
        self.0.reward(0)
    }

    /// The expected number of times a rollout consults a cell, d(c).
    pub fn visits(&self, cell: usize) -> f64 {
        self.0.visits[self.0.place(cell).cell]
    }

    /// d(c)Q(c,a), the derivative of J by pi_c(a).
    pub fn value(&self, cell: usize, action: usize) -> f64 {
        self.0.values[self.0.place(cell).at(action)]
    }

    /// d(c)Q(c,a) for every action of a cell.
    pub fn values(&self, cell: usize) -> Vec<f64> {
        let place = self.0.place(cell);
        (0..self.class().q())
            .map(|action| self.0.values[place.at(action)])
            .collect()
    }

    /// Writes d(c) of every cell, in the order of the cells; far faster than one by one.
    ///
    /// # Panics
    /// If `visits` does not hold one number a cell.
    pub fn visits_into(&self, visits: &mut [f64]) {
        let planes = &self.0.planes;
        planes.read_cells(self.class(), &self.0.visits, 0, visits);
    }

    /// Writes d(c)Q(c,a) of every cell and action, q numbers a cell in the order of the cells; far
    /// faster than one by one.
    ///
    /// # Panics
    /// If `values` does not hold q numbers a cell.
    pub fn values_into(&self, values: &mut [f64]) {
        let planes = &self.0.planes;
        planes.read_rows(self.class(), &self.0.values, 0, values);
    }

    /// V(c), the expected reward of a rollout when it consults the cell; none if it never does.
    pub fn state_value(&self, policy: &Policy, cell: usize) -> Option<f64> {
        let visits = self.visits(cell);
        let row = policy.row(cell);
        let expected: f64 = self.values(cell).iter().zip(row).map(|(v, p)| v * p).sum();
        (visits > 0.0).then(|| expected / visits)
    }

    /// The sum of alpha times beta over the states of each node: what the lengths that pass the
    /// node contribute to J. With one length it is J at every step.
    pub fn carried(&mut self, policy: &Policy) -> &[f64] {
        self.0.carry_all = true;
        self.evaluate(policy);
        self.0.carry_all = false;
        &self.0.carried
    }
}

/// What the way back through a node is to leave behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wants {
    /// dQ of its cells.
    pub values: bool,
    /// d of its cells.
    pub visits: bool,
    /// The message returned to the step before (at t = 1, the reward).
    pub message: bool,
}

impl Wants {
    pub const ALL: Wants = Wants {
        values: true,
        visits: true,
        message: true,
    };
    pub const GRADIENT: Wants = Wants {
        values: true,
        visits: false,
        message: true,
    };
    pub const VALUES: Wants = Wants {
        values: true,
        visits: false,
        message: false,
    };
    pub const MESSAGE: Wants = Wants {
        values: false,
        visits: false,
        message: true,
    };
}

/// The passes over all nodes, for one or several policies side by side.
pub(crate) struct Passes {
    class: Class,
    pub planes: Arc<Planes>,
    plan: Plan,
    kernels: Kernels,
    messages: Messages,
    scratch: Scratch,
    /// dQ of all (cell, action), and d of all cells.
    pub values: Aligned,
    pub visits: Aligned,
    /// Sum of alpha times beta at the roots, or at every node when asked for; replica by replica.
    carried: Vec<f64>,
    carry_all: bool,
}

/// The message each node sends on, g, and the one returned to it, h.
struct Messages {
    sent: Aligned,
    returned: Aligned,
}

impl Messages {
    /// Room for all messages. Behind those sent stands the message before t = 1 (nothing has
    /// happened yet, with certainty, whatever lane reads it) and zeros.
    fn new(size: usize) -> Messages {
        let mut sent = Aligned::zeros(size + 3 * WIDEST);
        sent[size..size + WIDEST].fill(1.0);
        Messages {
            sent,
            returned: Aligned::zeros(size),
        }
    }
}

/// The arrays that steps use in turn; see `plan`.
struct Scratch {
    alpha: Aligned,
    post: Aligned,
    bbar: Aligned,
    beta: Aligned,
}

impl Scratch {
    fn new(sizes: ScratchSizes) -> Scratch {
        Scratch {
            alpha: Aligned::zeros(sizes.alpha),
            post: Aligned::zeros(sizes.post),
            bbar: Aligned::zeros(sizes.bbar),
            beta: Aligned::zeros(sizes.beta),
        }
    }
}

impl Passes {
    pub fn new(
        class: &Class,
        replicas: usize,
        scale: Scale,
        allowance: Allowance,
    ) -> Result<Passes, ClassError> {
        let planes = class.planes(replicas);
        // The policy, its values and visits; messages are never larger than the table times q.
        let needed = (planes.entries as u128).checked_mul(8 * 4);
        allowance.check(&format!("evaluating {} cells", class.cells()), needed)?;
        let plan = Plan::new(class, &planes, scale);
        Ok(Passes {
            class: class.clone(),
            kernels: Kernels::best(),
            messages: Messages::new(plan.messages),
            scratch: Scratch::new(plan.scratch),
            values: Aligned::zeros(planes.entries),
            visits: Aligned::zeros(planes.cell_entries),
            carried: vec![0.0; plan.steps.len() * replicas],
            carry_all: false,
            plan,
            planes,
        })
    }

    fn place(&self, cell: usize) -> Place {
        self.planes.place(&self.class, cell, 0)
    }

    /// J of a replica.
    pub fn reward(&self, replica: usize) -> f64 {
        let steps = self.plan.steps.iter();
        let carried = steps.zip(self.carried.chunks_exact(self.planes.replicas));
        carried
            .filter(|(step, _)| step.is_first)
            .map(|(_, carried)| carried[replica])
            .sum()
    }

    /// Computes the rewards of a table, and what is wanted beside them.
    pub fn run(&mut self, policy: &[f64], wants: Wants) {
        assert_eq!(policy.len(), self.values.len());
        for n in 0..self.plan.steps.len() {
            self.renew_sent(n, policy);
        }
        for n in (0..self.plan.steps.len()).rev() {
            self.renew_back(n, policy, wants);
        }
    }

    /// Renews the message that a node sends on, from the one it receives.
    pub fn renew_sent(&mut self, n: usize, policy: &[f64]) {
        let step = &self.plan.steps[n];
        let (g, sizes) = (&*step.geometry, &step.geometry.sizes);
        let Some(sending) = &g.sending else { return };
        let (sent, scratch) = (&mut self.messages.sent, &mut self.scratch);
        let alpha = alpha(step, &sent[step.received..], &mut scratch.alpha);
        let policy = &policy[step.entries..];
        for slab in 0..sizes.post_slabs {
            let first = slab * sizes.summed_slabs() * sizes.policy_slab();
            for k in 0..sizes.histories.remembered {
                let to = slab * sizes.row + k * sizes.q * sizes.plane();
                let run = Run {
                    set: slab,
                    add: false,
                };
                self.kernels.contract(
                    &g.post,
                    run,
                    &alpha[k * sizes.alpha_history..],
                    &policy[first + k * sizes.actions()..],
                    &mut scratch.post[to..],
                );
            }
        }
        let messages = sent[step.sent..].chunks_exact_mut(sending.len());
        let planes = scratch.post.chunks_exact(sizes.plane());
        for (message, post) in messages.zip(planes.take(sizes.planes())) {
            let weights = &step.weights.sent;
            sending.collect.run(weights, post, message, LEAST_MESSAGE);
        }
    }

    /// Renews what is wanted of the way back through a node: dQ and d of its cells, and the message
    /// returned to the step before.
    pub fn renew_back(&mut self, n: usize, policy: &[f64], wants: Wants) {
        let step = &self.plan.steps[n];
        let (g, sizes) = (&*step.geometry, &step.geometry.sizes);
        let Messages { sent, returned } = &mut self.messages;
        let (scratch, kernels) = (&mut self.scratch, &self.kernels);
        bbar(step, returned, &mut scratch.bbar);
        let alpha = alpha(step, &sent[step.received..], &mut scratch.alpha);
        let replicas = self.planes.replicas;
        let carried = &mut self.carried[n * replicas..][..replicas];
        carried.fill(0.0);
        for slab in 0..sizes.slabs {
            let post_slab = sizes.post_slab(slab);
            let alpha = &alpha[g.alpha.slabs[slab]..];
            let bbar = &scratch.bbar[post_slab * sizes.bbar_slab()..];
            let entries = step.entries + slab * sizes.policy_slab();
            let cells = step.cells + slab * sizes.visits_slab();
            for k in 0..sizes.histories.remembered {
                let (alpha, actions) = (&alpha[k * sizes.alpha_history..], k * sizes.actions());
                let bbar = &bbar[actions..];
                let run = |add: bool| Run { set: slab, add };
                if wants.values {
                    let values = &mut self.values[entries + actions..];
                    kernels.contract(&g.values, run(step.adds), alpha, bbar, values);
                }
                if wants.message {
                    let (policy, beta) = (&policy[entries + actions..], &mut scratch.beta);
                    kernels.contract(
                        &g.beta,
                        run(false),
                        bbar,
                        policy,
                        &mut beta[k * sizes.row..],
                    );
                }
                if wants.visits {
                    let weights = &step.weights.visits[post_slab * sizes.lanes.padded()..];
                    let visits = &mut self.visits[cells + k * sizes.width()..];
                    kernels.contract(&g.visits, run(step.adds), alpha, weights, visits);
                }
            }
            if wants.message {
                if step.is_first || self.carry_all {
                    carry(step, alpha, &scratch.beta, carried);
                }
                return_message(step, slab, kernels, &scratch.beta, returned);
            }
        }
    }
}

/// alpha of a step, but for the weight of the symbol it draws: the message it receives, or in
/// `scratch` what is made of it.
fn alpha<'a>(step: &Step, received: &'a [f64], scratch: &'a mut [f64]) -> &'a [f64] {
    let (g, sizes) = (&*step.geometry, &step.geometry.sizes);
    let messages = received.chunks_exact(sizes.received).take(sizes.rows());
    let slabs = scratch.chunks_exact_mut(sizes.rows() * sizes.alpha_history);
    let slabs = slabs.take(sizes.slabs);
    match g.source {
        Source::InPlace => return received,
        Source::Repeated => {
            let part = sizes.lanes.count / sizes.q;
            for (slab, &start) in slabs.zip(&g.parts) {
                let rows = slab.chunks_exact_mut(sizes.alpha_history);
                for (row, message) in rows.zip(messages.clone()) {
                    repeat(&message[start..][..part], row);
                }
            }
        }
        Source::Mixed => {
            let by_x = step.weights.mixing.chunks_exact(sizes.q);
            for (slab, weights) in slabs.zip(by_x) {
                let rows = slab.chunks_exact_mut(sizes.alpha_history);
                for (row, message) in rows.zip(messages.clone()) {
                    mix(message.chunks_exact(sizes.lanes.count), weights, row);
                }
            }
        }
    }
    scratch
}

/// Fills a row with repetitions of a part.
fn repeat(part: &[f64], row: &mut [f64]) {
    if let [value] = *part {
        row.fill(value);
    } else {
        let values = part.iter().cycle();
        row.iter_mut()
            .zip(values)
            .for_each(|(to, &from)| *to = from);
    }
}

/// Fills a row with the weighted sum of the parts of a message.
fn mix<'a>(parts: impl Iterator<Item = &'a [f64]>, weights: &[f64], row: &mut [f64]) {
    row.fill(0.0);
    for (part, weight) in parts.zip(weights) {
        let terms = row.iter_mut().zip(part);
        terms.for_each(|(to, from)| *to += from * weight);
    }
}

/// bbar of a step, the reward to come once y_t is out, times the weight of the symbol drawn.
fn bbar(step: &Step, returned: &[f64], bbar: &mut [f64]) {
    let (g, sizes) = (&*step.geometry, &step.geometry.sizes);
    let (q, width, histories) = (sizes.q, sizes.width(), sizes.histories);
    let bbar = &mut bbar[..sizes.post_slabs * sizes.bbar_slab()];
    match &g.sending {
        None => bbar.fill(0.0),
        Some(sending) => {
            let messages = returned[step.sent..].chunks_exact(sending.len());
            for (n, message) in messages.take(sizes.planes()).enumerate() {
                let weights = &step.weights.returned;
                sending.spread.run(weights, message, &mut bbar[n * width..]);
            }
        }
    }
    let Some(reward) = step.reward else { return };
    let weights = step.weights.lanes.chunks_exact(width);
    for (block, weights) in bbar.chunks_exact_mut(sizes.bbar_block()).zip(weights) {
        for s in 0..q {
            for k in 0..histories.remembered {
                // The reward is for y_t = s_t.
                let right = &mut block[(s * histories.after + k * q + s) * width..][..width];
                let terms = right.iter_mut().zip(weights);
                terms.for_each(|(to, weight)| *to += reward * weight);
            }
        }
    }
}

/// Adds the sum of alpha times beta over a slab, from which on `alpha` is given.
fn carry(step: &Step, alpha: &[f64], beta: &[f64], carried: &mut [f64]) {
    let (g, sizes) = (&*step.geometry, &step.geometry.sizes);
    let rows = beta.chunks_exact(sizes.row).take(sizes.rows());
    for (n, beta) in rows.enumerate() {
        let alpha = &alpha[n * sizes.alpha_history..];
        for (lane, beta) in beta[..sizes.lanes.count].iter().enumerate() {
            let place = g.alpha.blocks[lane / sizes.width()] + lane % sizes.width();
            carried[lane % carried.len()] += beta * alpha[place];
        }
    }
}

/// Sums beta of a slab over the symbol drawn, into the message returned.
fn return_message(step: &Step, slab: usize, kernels: &Kernels, beta: &[f64], returned: &mut [f64]) {
    let (g, sizes) = (&*step.geometry, &step.geometry.sizes);
    let add = step.joins
        || match g.draw {
            Draw::First | Draw::Nothing | Draw::Ahead => false,
            Draw::Current => slab >= sizes.slabs / sizes.q,
            Draw::Mixing => slab > 0,
        };
    if let Some(work) = &g.returned {
        let to = &mut returned[step.received + g.parts[slab]..];
        kernels.stretches(work, add, beta, to);
    } else if g.draw == Draw::Mixing {
        let rows = beta.chunks_exact(sizes.row).take(sizes.rows());
        let messages = returned[step.received..].chunks_exact_mut(sizes.received);
        for (beta, message) in rows.zip(messages) {
            let weights = &step.weights.mixing[slab * sizes.q..];
            let parts = message.chunks_exact_mut(sizes.lanes.count);
            for (message, weight) in parts.zip(weights) {
                for (to, from) in message.iter_mut().zip(beta) {
                    *to = from * weight + if add { *to } else { 0.0 };
                }
            }
        }
    }
}
