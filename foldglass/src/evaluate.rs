//! Evaluates stochastic policies exactly, by forward and backward passes (paper, App. A).
//!
//! A rollout is a Markov chain on (s_{t-1}, window, y): alpha_t is its law under the policy, beta_t
//! the reward still to come. They give J, the visits d(c), the values d(c)Q(c,a) and V(c) at a cost
//! linear in T, for tied classes and several lengths alike: a cell collects every consultation.

mod plan;
#[cfg(test)]
mod tests;

use crate::aligned::Aligned;
use crate::class::{Class, Place, Planes};
use crate::kernels::{Contraction, Gather, Kernels};
use crate::memory::{Allowance, TooLarge};
use crate::policy::Policy;
pub(crate) use plan::Scale;
use plan::{Draw, Plan, Source, Step, WIDEST};
use std::sync::Arc;

/// Message entries below this are held as zero, so that no product is a subnormal number.
const LEAST_MESSAGE: f64 = 1e-100;

/// What a policy does, over all inputs.
///
/// ```
/// use foldglass::{Allowance, ClassSpec, Evaluator, LatinSquare, Policy, Shape};
/// let spec = ClassSpec::uniform(LatinSquare::paper(), &[4], Shape::untied(0, 0));
/// let class = spec.lay_out(Allowance::default()).unwrap();
/// let mut evaluator = Evaluator::new(&class, Allowance::default()).unwrap();
/// let reward = evaluator.evaluate(&Policy::uniform(&class));
/// assert!((reward - 0.2).abs() < 1e-15);
/// ```
pub struct Evaluator(pub(crate) Passes);

impl Evaluator {
    /// Takes the memory that evaluating policies of `class` needs, once.
    pub fn new(class: &Class, allowance: Allowance) -> Result<Evaluator, TooLarge> {
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
    plan: Arc<Plan>,
    kernels: Kernels,
    /// The message each node sends on, g, and the one returned to it, h.
    sent: Aligned,
    returned: Aligned,
    alpha: Aligned,
    post: Aligned,
    bbar: Aligned,
    beta: Aligned,
    pub values: Aligned,
    pub visits: Aligned,
    /// Sum of alpha times beta at the roots, or at every node when asked for; replica by replica.
    carried: Vec<f64>,
    carry_all: bool,
}

impl Passes {
    pub fn new(
        class: &Class,
        replicas: usize,
        scale: Scale,
        allowance: Allowance,
    ) -> Result<Passes, TooLarge> {
        let planes = class.planes(replicas);
        let needed = Passes::bytes(&planes);
        allowance.check(&format!("evaluating {} cells", class.cells()), needed)?;
        let plan = Plan::new(class, &planes, scale);
        Ok(Passes {
            class: class.clone(),
            kernels: Kernels::best(),
            sent: messages(plan.messages),
            returned: Aligned::zeros(plan.messages),
            alpha: Aligned::zeros(plan.alpha),
            post: Aligned::zeros(plan.post),
            bbar: Aligned::zeros(plan.bbar),
            beta: Aligned::zeros(plan.beta),
            values: Aligned::zeros(planes.entries),
            visits: Aligned::zeros(planes.cell_entries),
            carried: vec![0.0; plan.steps.len() * replicas],
            carry_all: false,
            plan: Arc::new(plan),
            planes,
        })
    }

    /// What the policies, their values and visits take; messages are never larger than the table
    /// times q.
    pub fn bytes(planes: &Planes) -> Option<u128> {
        (planes.entries as u128).checked_mul(8 * 4)
    }

    fn place(&self, cell: usize) -> Place {
        self.planes.place(&self.class, cell, 0)
    }

    /// J of a replica.
    pub fn reward(&self, replica: usize) -> f64 {
        let roots = (0..self.plan.steps.len()).filter(|&n| self.plan.steps[n].parent.is_none());
        roots
            .map(|n| self.carried[n * self.planes.replicas + replica])
            .sum()
    }

    /// Computes the rewards of a table, and what is wanted beside them.
    pub fn run(&mut self, policy: &[f64], wants: Wants) {
        assert_eq!(policy.len(), self.values.len());
        let plan = self.plan.clone();
        for n in 0..plan.steps.len() {
            self.forward(&plan, n, policy);
        }
        for n in (0..plan.steps.len()).rev() {
            self.backward(&plan, n, policy, wants);
        }
    }

    /// Renews the message that a node sends on.
    pub fn renew_sent(&mut self, n: usize, policy: &[f64]) {
        let plan = self.plan.clone();
        self.forward(&plan, n, policy);
    }

    /// Renews what is wanted of the way back through a node.
    pub fn renew_back(&mut self, n: usize, policy: &[f64], wants: Wants) {
        let plan = self.plan.clone();
        self.backward(&plan, n, policy, wants);
    }

    /// Where the message that a step receives starts.
    fn received(plan: &Plan, step: &Step) -> usize {
        step.parent
            .map_or(plan.messages, |parent| plan.steps[parent].message)
    }

    /// alpha of a step, but for the weight of the symbol it draws.
    fn alpha(&mut self, plan: &Plan, n: usize) -> *const f64 {
        let step = &plan.steps[n];
        let start = Self::received(plan, step);
        let (q, g) = (self.class.q(), step.geometry.as_ref());
        let vectors = g.states * g.histories.0;
        let messages = self.sent[start..].chunks_exact(g.received).take(vectors);
        let slabs = self.alpha.chunks_exact_mut(vectors * g.unit).take(g.slabs);
        match g.source {
            Source::InPlace => return self.sent[start..].as_ptr(),
            Source::Repeated => {
                let part = g.lanes.count / q;
                for (alpha, &from) in slabs.zip(&g.parts) {
                    for (alpha, message) in alpha.chunks_exact_mut(g.unit).zip(messages.clone()) {
                        let part = &message[from..][..part];
                        if let [value] = *part {
                            alpha.fill(value);
                        } else {
                            alpha
                                .iter_mut()
                                .zip(part.iter().cycle())
                                .for_each(|(to, &from)| *to = from);
                        }
                    }
                }
            }
            Source::Mixed => {
                for (alpha, weights) in slabs.zip(step.weights.mixing.chunks_exact(q)) {
                    for (alpha, message) in alpha.chunks_exact_mut(g.unit).zip(messages.clone()) {
                        alpha.fill(0.0);
                        for (message, weight) in message.chunks_exact(g.lanes.count).zip(weights) {
                            let terms = alpha.iter_mut().zip(message);
                            terms.for_each(|(to, from)| *to += from * weight);
                        }
                    }
                }
            }
        }
        self.alpha.as_ptr()
    }

    /// The message that node `n` sends on, from the one it receives.
    fn forward(&mut self, plan: &Plan, n: usize, policy: &[f64]) {
        let alpha = self.alpha(plan, n);
        let step = &plan.steps[n];
        let (q, g) = (self.class.q(), step.geometry.as_ref());
        let Some(leave) = &g.leave else { return };
        let (width, plane) = (g.lanes.width, g.post_slabs * g.row);
        let slab = g.lanes.blocks * g.policy_block(q);
        // What leaves the window is summed here, a batch of slabs into one.
        let batch = g.slabs / g.post_slabs;
        for first in (0..g.slabs).step_by(batch) {
            for k in 0..g.remembered {
                let work = Contraction {
                    a_blocks: &g.alpha_blocks,
                    a_rows: &g.alpha_rows[first * q..][..batch * q],
                    a_terms: &g.alpha_tokens,
                    b: (g.policy_block(q), slab),
                    b_terms: &g.policy_tokens,
                    b_column: width,
                    c: (width, g.histories.1 * plane, plane),
                    inputs: batch,
                    size: (q, q),
                    width,
                    add: false,
                };
                let to = first / batch * g.row + k * q * plane;
                // SAFETY: the plan sized all buffers for its offsets.
                unsafe {
                    let policy = policy
                        .as_ptr()
                        .add(step.base + first * slab + k * q * width);
                    let post = self.post.as_mut_ptr().add(to);
                    (self.kernels.contract)(&work, alpha.add(k * g.unit), policy, post);
                }
            }
        }
        let size = leave.from.len();
        let messages = self.sent[step.message..][..q * g.histories.1 * size].chunks_exact_mut(size);
        let (count, stride) = leave.dropped;
        for (message, post) in messages.zip(self.post.chunks_exact(plane)) {
            let terms = leave.from.iter().zip(step.weights.sent.chunks_exact(count));
            for (to, (&from, weights)) in message.iter_mut().zip(terms) {
                // SAFETY: the plan places every element, and those dropped, within a post plane.
                let at = |d: usize| unsafe { *post.get_unchecked(from as usize + d * stride) };
                let mut sum = at(0) * weights[0];
                for (d, weight) in weights.iter().enumerate().skip(1) {
                    sum += at(d) * weight;
                }
                *to = if sum < LEAST_MESSAGE { 0.0 } else { sum };
            }
        }
    }

    /// bbar, the reward to come once y_t is out, times the weight of the symbol drawn.
    fn receive(&mut self, plan: &Plan, n: usize) {
        let step = &plan.steps[n];
        let (q, g) = (self.class.q(), step.geometry.as_ref());
        let width = g.lanes.width;
        let bbar = &mut self.bbar[..g.bbar(q)];
        match &g.leave {
            None => bbar.fill(0.0),
            Some(leave) => {
                let size = leave.from.len();
                let messages =
                    self.returned[step.message..][..q * g.histories.1 * size].chunks_exact(size);
                for (n, message) in messages.enumerate() {
                    for (&(to, from), weight) in leave.back.iter().zip(&step.weights.returned) {
                        // SAFETY: the plan places every element within the message and bbar.
                        unsafe {
                            let value = *message.get_unchecked(from as usize) * weight;
                            *bbar.get_unchecked_mut(to as usize + n * width) = value;
                        }
                    }
                }
            }
        }
        let Some(reward) = step.reward else { return };
        let weights = step.weights.lanes.chunks_exact(width);
        for (block, weights) in bbar.chunks_exact_mut(g.bbar_block(q)).zip(weights) {
            for s in 0..q {
                for k in 0..g.remembered {
                    let right = &mut block[(s * g.histories.1 + k * q + s) * width..][..width];
                    right
                        .iter_mut()
                        .zip(weights)
                        .for_each(|(to, weight)| *to += reward * weight);
                }
            }
        }
    }

    /// dQ and d of the node's cells, and beta, returned to the step before.
    fn backward(&mut self, plan: &Plan, n: usize, policy: &[f64], wants: Wants) {
        self.receive(plan, n);
        let alpha = self.alpha(plan, n);
        let step = &plan.steps[n];
        let (q, g) = (self.class.q(), step.geometry.as_ref());
        let width = g.lanes.width;
        let (policy_block, bbar_block) = (g.policy_block(q), g.bbar_block(q));
        let replicas = self.planes.replicas;
        self.carried[n * replicas..][..replicas].fill(0.0);
        for slab in 0..g.slabs {
            let rows = &g.bbar_rows[slab * g.states..][..g.states];
            let table = step.base + slab * g.lanes.blocks * policy_block;
            let post_slab = slab * g.post_slabs / g.slabs;
            let bbar = post_slab * g.lanes.blocks * bbar_block;
            for k in 0..g.remembered {
                let values = Contraction {
                    a_blocks: &g.alpha_blocks,
                    a_rows: &g.alpha_tokens,
                    a_terms: &g.alpha_states,
                    b: (bbar_block, 0),
                    b_terms: rows,
                    b_column: width,
                    c: (policy_block, g.remembered * q * width, width),
                    inputs: 1,
                    size: (g.forgotten, q),
                    width,
                    add: step.adds,
                };
                let beta = Contraction {
                    a_blocks: &g.bbar_blocks,
                    a_rows: rows,
                    a_terms: &g.actions,
                    b: (policy_block, 0),
                    b_terms: &g.actions,
                    b_column: g.remembered * q * width,
                    c: (width, g.histories.0 * g.row, g.remembered * g.row),
                    inputs: 1,
                    size: (g.states, g.forgotten),
                    width,
                    add: false,
                };
                let visits = Contraction {
                    b: (width, 0),
                    b_terms: &g.zeros,
                    c: (g.histories.0 * width, g.remembered * width, 0),
                    size: (g.forgotten, 1),
                    ..values
                };
                // SAFETY: the plan sized all buffers for its offsets.
                unsafe {
                    let alpha = alpha.add(g.alpha_slabs[slab] + k * g.unit);
                    let bbar = self.bbar.as_ptr().add(bbar + k * q * width);
                    let policy = policy.as_ptr().add(table + k * q * width);
                    let to = self.values.as_mut_ptr().add(table + k * q * width);
                    if wants.values {
                        (self.kernels.contract)(&values, alpha, bbar, to);
                    }
                    if wants.message {
                        let to = self.beta.as_mut_ptr().add(k * g.row);
                        (self.kernels.contract)(&beta, bbar, policy, to);
                    }
                    if wants.visits {
                        let weights = step.weights.visits[post_slab * g.lanes.padded()..].as_ptr();
                        let to =
                            step.cell_base + (slab * g.lanes.blocks * g.histories.0 + k) * width;
                        let to = self.visits.as_mut_ptr().add(to);
                        (self.kernels.contract)(&visits, alpha, weights, to);
                    }
                }
            }
            if !wants.message {
                continue;
            }
            if step.parent.is_none() || self.carry_all {
                // SAFETY: as above.
                unsafe { self.carry(plan, n, alpha.add(g.alpha_slabs[slab])) };
            }
            self.give_back(plan, n, slab);
        }
    }

    /// Adds the sum of alpha times beta over the slab that beta holds now.
    ///
    /// # Safety
    /// `alpha` is that of the node, from the same slab on.
    unsafe fn carry(&mut self, plan: &Plan, n: usize, alpha: *const f64) {
        let g = plan.steps[n].geometry.as_ref();
        let replicas = self.planes.replicas;
        let carried = &mut self.carried[n * replicas..][..replicas];
        let rows = self.beta.chunks_exact(g.row).take(g.states * g.histories.0);
        for (vector, beta) in rows.enumerate() {
            for lane in 0..g.lanes.count {
                let place = g.alpha_blocks[lane / g.lanes.width] + lane % g.lanes.width;
                let alpha = unsafe { *alpha.add(vector * g.unit + place) };
                carried[lane % replicas] += beta[lane] * alpha;
            }
        }
    }

    /// Sums beta of a slab over the symbol drawn, into the message returned.
    fn give_back(&mut self, plan: &Plan, n: usize, slab: usize) {
        let step = &plan.steps[n];
        let (q, g, start) = (
            self.class.q(),
            step.geometry.as_ref(),
            Self::received(plan, step),
        );
        let (part, add, work) = match g.draw {
            Draw::First => return,
            Draw::Nothing => (g.parts[slab], step.joins, (g.lanes.count, 1)),
            Draw::Ahead => (g.parts[slab], step.joins, (g.lanes.count / q, q)),
            Draw::Current => (
                g.parts[slab],
                step.joins || slab >= g.slabs / q,
                (g.lanes.count, 1),
            ),
            Draw::Mixing => (0, step.joins || slab > 0, (g.lanes.count, 1)),
        };
        if g.draw == Draw::Mixing {
            let rows = self.beta.chunks_exact(g.row).take(g.states * g.histories.0);
            for (beta, message) in rows.zip(self.returned[start..].chunks_exact_mut(g.received)) {
                let weights = &step.weights.mixing[slab * q..];
                for (message, weight) in message.chunks_exact_mut(g.lanes.count).zip(weights) {
                    for (to, from) in message.iter_mut().zip(beta) {
                        *to = from * weight + if add { *to } else { 0.0 };
                    }
                }
            }
            return;
        }
        let work = Gather {
            len: work.0,
            places: work.1,
            rows: (g.states * g.histories.0, g.row, g.received),
            add,
            least: LEAST_MESSAGE,
        };
        // SAFETY: a part of the message and a row of beta are this long.
        unsafe {
            (self.kernels.gather)(
                &work,
                self.beta.as_ptr(),
                self.returned.as_mut_ptr().add(start + part),
            )
        }
    }
}

/// Room for all messages, and behind them the message before t = 1 (nothing has happened yet, with
/// certainty, whatever lane reads it) and zeros.
fn messages(size: usize) -> Aligned {
    let mut sent = Aligned::zeros(size + 3 * WIDEST);
    sent[size..size + WIDEST].fill(1.0);
    sent
}
