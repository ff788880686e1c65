//! Walks the nodes of a class forwards and backwards (paper, App. A: alpha and beta); where its sums
//! read and write is worked out in `plan`.

use super::plan::{Draw, Plan, Scale, ScratchSizes, Source, Step, WIDEST};
use crate::class::{Class, Place, Planes};
use crate::kernels::{Aligned, Kernels, Run};
use crate::memory::{Allowance, TooLarge};
use std::sync::Arc;

/// Message entries below this are held as zero, so that no product is a subnormal number.
pub(super) const LEAST_MESSAGE: f64 = 1e-100;

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
    pub(super) class: Class,
    pub planes: Arc<Planes>,
    plan: Plan,
    pub(super) kernels: Kernels,
    pub(super) messages: Messages,
    scratch: Scratch,
    /// dQ of all (cell, action), and d of all cells.
    pub values: Aligned,
    pub visits: Aligned,
    /// Sum of alpha times beta at the roots, or at every node when asked for; replica by replica.
    pub(super) carried: Vec<f64>,
    pub(super) carry_all: bool,
}

/// The message each node sends on, g, and the one returned to it, h.
pub(super) struct Messages {
    pub(super) sent: Aligned,
    pub(super) returned: Aligned,
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
    ) -> Result<Passes, TooLarge> {
        let planes = class.planes(replicas);
        let needed = Passes::bytes(&planes);
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

    /// What the policies, their values and visits take; messages are never larger than the table
    /// times q.
    pub fn bytes(planes: &Planes) -> Option<u128> {
        (planes.entries as u128).checked_mul(8 * 4)
    }

    pub(super) fn place(&self, cell: usize) -> Place {
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
                    &g.sums.post,
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
        self.go_back(n, policy, wants, None);
    }

    /// The same where a rollout gains, beside the reward, a bonus at every cell it consults: what
    /// comes back is the mean of both. `bonus` is a table of cells without negative numbers.
    pub fn renew_back_with(&mut self, n: usize, policy: &[f64], wants: Wants, bonus: &[f64]) {
        assert_eq!(bonus.len(), self.visits.len());
        self.go_back(n, policy, wants, Some(bonus));
    }

    fn go_back(&mut self, n: usize, policy: &[f64], wants: Wants, bonus: Option<&[f64]>) {
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
                    kernels.contract(&g.sums.values, run(step.adds), alpha, bbar, values);
                }
                if wants.message {
                    let (policy, beta) = (&policy[entries + actions..], &mut scratch.beta);
                    kernels.contract(
                        &g.sums.beta,
                        run(false),
                        bbar,
                        policy,
                        &mut beta[k * sizes.row..],
                    );
                }
                if wants.visits {
                    let weights = &step.weights.visits[post_slab * sizes.lanes.padded()..];
                    let visits = &mut self.visits[cells + k * sizes.width()..];
                    kernels.contract(&g.sums.visits, run(step.adds), alpha, weights, visits);
                }
            }
            if wants.message {
                if let Some(bonus) = bonus {
                    add_bonus(step, slab, &bonus[cells..], &mut scratch.beta);
                }
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

/// Adds to beta of a slab what rollouts gain at its cells, from which on `bonus` is given, times the
/// weight of the symbol drawn.
fn add_bonus(step: &Step, slab: usize, bonus: &[f64], beta: &mut [f64]) {
    let sizes = &step.geometry.sizes;
    let (width, histories) = (sizes.width(), sizes.histories.before);
    let first = sizes.post_slab(slab) * sizes.lanes.padded();
    let weights = &step.weights.visits[first..][..sizes.lanes.count];
    let rows = beta.chunks_exact_mut(sizes.row).take(sizes.rows());
    for (n, beta) in rows.enumerate() {
        let history = n % histories;
        for (lane, (to, weight)) in beta.iter_mut().zip(weights).enumerate() {
            let vector = lane / width * histories + history;
            *to += weight * bonus[vector * width + lane % width];
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
