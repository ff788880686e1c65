//! Evaluates stochastic policies exactly, by forward and backward passes (paper, App. A).
//!
//! A rollout is a Markov chain on (s_{t-1}, window, y): alpha_t is its law under the policy, beta_t
//! the reward still to come. They give J, the visits d(c), the values d(c)Q(c,a) and V(c) at a cost
//! linear in T, for tied classes and several lengths alike: a cell collects every consultation.

mod lanes;
mod plan;

use crate::class::{Allowance, Class, ClassError};
use crate::policy::Policy;
use lanes::{Contraction, Isa, Lane, Portable, gather, spread};
pub(crate) use plan::Scale;
use plan::{Draw, Plan, Step, WIDEST};

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
pub struct Evaluator {
    class: Class,
    plan: Plan,
    isa: Isa,
    /// The message each node sends on, g, and the one returned to it, h.
    sent: Vec<f64>,
    returned: Vec<f64>,
    alpha: Vec<f64>,
    post: Vec<f64>,
    bbar: Vec<f64>,
    beta: Vec<f64>,
    values: Vec<f64>,
    visits: Vec<f64>,
    /// Sum of alpha times beta at the roots, or at every node when asked for.
    carried: Vec<f64>,
    carry_all: bool,
}

impl Evaluator {
    /// Takes the memory that evaluating policies of `class` needs, once.
    pub fn new(class: &Class, allowance: Allowance) -> Result<Evaluator, ClassError> {
        Evaluator::with_scale(class, Scale::Probability, allowance)
    }

    pub(crate) fn with_scale(class: &Class, scale: Scale, allowance: Allowance) -> Result<Evaluator, ClassError> {
        let entries = class.planes().entries as u128;
        // The policy, its values and visits; messages are never larger than the table times q.
        allowance.check(&format!("evaluating {} cells", class.cells()), entries.checked_mul(8 * 4))?;
        let plan = Plan::new(class, scale);
        Ok(Evaluator {
            class: class.clone(),
            isa: Isa::best(),
            sent: [vec![0.0; plan.messages], vec![1.0; ROOT]].concat(),
            returned: vec![0.0; plan.messages],
            alpha: vec![0.0; plan.alpha],
            post: vec![0.0; plan.post],
            bbar: vec![0.0; plan.bbar],
            beta: vec![0.0; plan.beta],
            values: vec![0.0; class.planes().entries],
            visits: vec![0.0; class.planes().cell_entries],
            carried: vec![0.0; plan.steps.len()],
            carry_all: false,
            plan,
        })
    }

    /// The class it evaluates policies of.
    pub fn class(&self) -> &Class {
        &self.class
    }

    /// Computes J, d, dQ and V of a policy and returns J. Allocates nothing.
    ///
    /// # Panics
    /// If the policy belongs to another class.
    pub fn evaluate(&mut self, policy: &Policy) -> f64 {
        assert!(policy.class() == &self.class, "a policy of another class");
        self.run(policy.entries());
        self.roots().map(|n| self.carried[n]).sum()
    }

    /// The expected number of times a rollout consults a cell, d(c).
    pub fn visits(&self, cell: usize) -> f64 {
        self.visits[self.class.planes().place(&self.class, cell).cell]
    }

    /// d(c)Q(c,a), the derivative of J by pi_c(a).
    pub fn value(&self, cell: usize, action: usize) -> f64 {
        self.values[self.class.planes().place(&self.class, cell).at(action)]
    }

    /// d(c)Q(c,a) for every action of a cell.
    pub fn values(&self, cell: usize) -> Vec<f64> {
        let place = self.class.planes().place(&self.class, cell);
        (0..self.class.q()).map(|action| self.values[place.at(action)]).collect()
    }

    /// V(c), the expected reward of a rollout when it consults the cell; none if it never does.
    pub fn state_value(&self, policy: &Policy, cell: usize) -> Option<f64> {
        let visits = self.visits(cell);
        let expected: f64 = self.values(cell).iter().zip(policy.row(cell)).map(|(v, p)| v * p).sum();
        (visits > 0.0).then(|| expected / visits)
    }

    /// The sum of alpha times beta over the states of each node: what the lengths that pass the
    /// node contribute to J. With one length it is J at every step.
    pub fn carried(&mut self, policy: &Policy) -> &[f64] {
        self.carry_all = true;
        self.evaluate(policy);
        self.carry_all = false;
        &self.carried
    }

    fn roots(&self) -> impl Iterator<Item = usize> {
        (0..self.plan.steps.len()).filter(|&n| self.plan.steps[n].parent.is_none())
    }

    fn run(&mut self, policy: &[f64]) {
        assert_eq!(policy.len(), self.values.len());
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
                fn go(evaluator: &mut Evaluator, policy: &[f64]) {
                    evaluator.passes::<lanes::x86::Avx512, lanes::x86::Avx2>(policy);
                }
                // SAFETY: the machine was asked for these instructions when `isa` was chosen.
                unsafe { go(self, policy) }
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                #[target_feature(enable = "avx2,fma")]
                fn go(evaluator: &mut Evaluator, policy: &[f64]) {
                    evaluator.passes::<lanes::x86::Avx2, lanes::x86::Avx2>(policy);
                }
                // SAFETY: as above.
                unsafe { go(self, policy) }
            }
            Isa::Portable => self.passes::<Portable, Portable>(policy),
        }
    }

    #[inline(always)]
    fn passes<Wide: Lane, Narrow: Lane>(&mut self, policy: &[f64]) {
        for n in 0..self.plan.steps.len() {
            self.forward::<Wide, Narrow>(n, policy);
        }
        for n in (0..self.plan.steps.len()).rev() {
            self.backward::<Wide, Narrow>(n, policy);
        }
    }

    /// The message that node `n` sends on, from the one it receives.
    #[inline(always)]
    fn forward<Wide: Lane, Narrow: Lane>(&mut self, n: usize, policy: &[f64]) {
        let step = &self.plan.steps[n];
        let (q, g) = (self.class.q(), step.geometry.as_ref());
        let Some(leave) = &g.leave else { return };
        let width = g.lanes.width;
        let (alpha_block, policy_block) = (g.alpha_block(), g.policy_block(q));
        let plane = g.post_slabs * g.row;
        let (before, length) = self.received(step);
        // States that no symbol leads to at t = 1 read the vector behind alpha.
        self.alpha[q * alpha_block..][..width].fill(0.0);
        for block in 0..g.lanes.blocks {
            for x in 0..q {
                let alpha = &mut self.alpha[x * alpha_block..][..alpha_block];
                draw::<Wide, Narrow>(step, &self.sent[before..], length, q, x, block, alpha);
            }
            // Either all x at once into one slab, or each into its own.
            let batch = if g.post_slabs == 1 { q } else { 1 };
            for x in (0..q).step_by(batch) {
                let from = step.base + (x * g.lanes.blocks + block) * policy_block;
                let to = if batch == 1 { x * g.row } else { 0 } + block * width;
                for k in 0..g.remembered {
                    let work = Contraction {
                        a_rows: &g.alpha_rows[x * q..][..batch * q],
                        a_terms: &g.alpha_tokens,
                        b_input: g.lanes.blocks * policy_block,
                        b_terms: &g.policy_tokens,
                        b_column: width,
                        c: (g.histories.1 * plane, plane),
                        size: (q, q),
                        add: false,
                    };
                    // SAFETY: the plan sized all scratch for its offsets.
                    unsafe {
                        let alpha = self.alpha.as_ptr().add(k * width);
                        let policy = policy.as_ptr().add(from + k * q * width);
                        let post = self.post.as_mut_ptr().add(to + k * q * plane);
                        work.run::<Wide, Narrow>(width, alpha, policy, post);
                    }
                }
            }
        }
        let (count, stride) = leave.dropped;
        let size = leave.from.len();
        let messages = self.sent[step.message..][..q * g.histories.1 * size].chunks_exact_mut(size);
        for (message, post) in messages.zip(self.post.chunks_exact(plane)) {
            for (to, &from) in message.iter_mut().zip(&leave.from) {
                // SAFETY: the plan places every element, and those dropped, within a post plane.
                let at = |d: usize| unsafe { *post.get_unchecked(from as usize + d * stride) };
                let sum = (1..count).fold(at(0), |sum, d| sum + at(d));
                *to = if sum < LEAST_MESSAGE { 0.0 } else { sum };
            }
        }
    }

    /// Where the message that a step receives starts, and its elements a state and history.
    #[inline(always)]
    fn received(&self, step: &Step) -> (usize, usize) {
        match step.parent {
            None => (self.sent.len() - ROOT, 1),
            Some(parent) => {
                let parent = &self.plan.steps[parent];
                (parent.message, parent.geometry.message())
            }
        }
    }

    /// bbar, the reward to come once y_t is out, from what the next steps returned.
    #[inline(always)]
    fn receive(&mut self, n: usize) {
        let step = &self.plan.steps[n];
        let (q, g) = (self.class.q(), step.geometry.as_ref());
        let width = g.lanes.width;
        let bbar = &mut self.bbar[..g.bbar(q)];
        match &g.leave {
            None => bbar.fill(0.0),
            Some(leave) => {
                let size = leave.from.len();
                let messages = self.returned[step.message..][..q * g.histories.1 * size].chunks_exact(size);
                for (n, message) in messages.enumerate() {
                    for &(to, from) in &leave.back {
                        // SAFETY: the plan places every element within the message and bbar.
                        unsafe {
                            let value = *message.get_unchecked(from as usize);
                            let value = if value < LEAST_MESSAGE { 0.0 } else { value };
                            *bbar.get_unchecked_mut(to as usize + n * width) = value;
                        }
                    }
                }
            }
        }
        let Some(reward) = step.reward else { return };
        for block in bbar.chunks_exact_mut(g.bbar_block(q)) {
            for s in 0..q {
                for k in 0..g.remembered {
                    let right = &mut block[(s * g.histories.1 + k * q + s) * width..][..width];
                    right.iter_mut().for_each(|value| *value += reward);
                }
            }
        }
    }

    /// dQ and d of the node's cells, and beta, returned to the step before.
    #[inline(always)]
    fn backward<Wide: Lane, Narrow: Lane>(&mut self, n: usize, policy: &[f64]) {
        self.receive(n);
        let step = &self.plan.steps[n];
        let (q, g, arrive) = (self.class.q(), step.geometry.as_ref(), step.arrive.as_ref());
        let width = g.lanes.width;
        let (alpha_block, policy_block) = (g.alpha_block(), g.policy_block(q));
        let (before, length) = self.received(step);
        let carries = step.parent.is_none() || self.carry_all;
        let mut carried = [0.0; WIDEST];
        for x in 0..q {
            let rows = &g.bbar_rows[x * g.states..][..g.states];
            for block in 0..g.lanes.blocks {
                let number = x * g.lanes.blocks + block;
                let alpha = &mut self.alpha[..alpha_block];
                draw::<Wide, Narrow>(step, &self.sent[before..], length, q, x, block, alpha);
                let here = step.base + number * policy_block;
                let bbar = if g.post_slabs == 1 { block } else { number } * g.bbar_block(q);
                for k in 0..g.remembered {
                    let values = Contraction {
                        a_rows: &g.alpha_tokens,
                        a_terms: &g.alpha_states,
                        b_input: 0,
                        b_terms: rows,
                        b_column: width,
                        c: (g.remembered * q * width, width),
                        size: (g.forgotten, q),
                        add: step.adds,
                    };
                    let beta = Contraction {
                        a_rows: rows,
                        a_terms: &g.actions,
                        b_input: 0,
                        b_terms: &g.actions,
                        b_column: g.remembered * q * width,
                        c: (g.histories.0 * g.row, g.remembered * g.row),
                        size: (g.states, g.forgotten),
                        add: false,
                    };
                    // SAFETY: the plan sized all scratch for its offsets.
                    unsafe {
                        let alpha = self.alpha.as_ptr().add(k * width);
                        let bbar = self.bbar.as_ptr().add(bbar + k * q * width);
                        let policy = policy.as_ptr().add(here + k * q * width);
                        let to = self.values.as_mut_ptr().add(here + k * q * width);
                        values.run::<Wide, Narrow>(width, alpha, bbar, to);
                        let to = self.beta.as_mut_ptr().add(block * width + k * g.row);
                        beta.run::<Wide, Narrow>(width, bbar, policy, to);
                    }
                }
                let alpha = &self.alpha[..alpha_block];
                let visits = &mut self.visits[step.cell_base + number * g.histories.0 * width..];
                count_visits(&mut visits[..g.histories.0 * width], alpha, step.visit, step.adds);
                if carries {
                    for (alpha, beta) in alpha.chunks_exact(width).zip(self.beta.chunks_exact(g.row)) {
                        let beta = &beta[block * width..][..width];
                        let terms = alpha.iter().zip(beta).zip(&mut carried);
                        terms.for_each(|((a, b), sum)| *sum = a.mul_add(*b, *sum));
                    }
                }
            }
            if step.parent.is_none() {
                continue;
            }
            let part = arrive.part(x, length, q);
            let overlaps = matches!(arrive.draw, Draw::Current | Draw::Mixing);
            let add = step.joins || (overlaps && x > 0);
            let (len, places) = match arrive.draw {
                Draw::Ahead => (g.lanes.count / q, q),
                _ => (g.lanes.count, 1),
            };
            let rows = self.beta.chunks_exact(g.row).take(g.states * g.histories.0);
            for (beta, message) in rows.zip(self.returned[before..].chunks_exact_mut(length)) {
                if arrive.draw == Draw::Mixing {
                    for (to, factor) in message.iter_mut().zip(&arrive.factors[x * q..]) {
                        *to = beta[0].mul_add(*factor, if add { *to } else { 0.0 });
                    }
                    continue;
                }
                let factors = &arrive.factors[x * g.lanes.padded()..];
                let message = &mut message[part..];
                // SAFETY: a part of the message, a row of beta and the factors of x are this long.
                unsafe {
                    gather::<Wide, Narrow>(len, places, beta.as_ptr(), factors.as_ptr(), message.as_mut_ptr(), add);
                }
            }
        }
        self.carried[n] = carried.iter().sum();
    }
}

/// Elements of the message before t = 1, kept behind all others: nothing has happened yet, with
/// certainty, whatever lane reads it.
const ROOT: usize = WIDEST;

/// One block of alpha for x_t = x: the message, spread over the symbol drawn now.
#[inline(always)]
fn draw<Wide: Lane, Narrow: Lane>(
    step: &Step,
    message: &[f64],
    length: usize,
    q: usize,
    x: usize,
    block: usize,
    alpha: &mut [f64],
) {
    let (g, arrive) = (step.geometry.as_ref(), step.arrive.as_ref());
    let width = g.lanes.width;
    if arrive.draw == Draw::Mixing {
        for (to, message) in alpha.iter_mut().zip(message.chunks_exact(length)) {
            let terms = message.iter().zip(&arrive.factors[x * q..]);
            *to = terms.fold(0.0, |sum, (m, f)| m.mul_add(*f, sum));
        }
        return;
    }
    let lane = block * width;
    let start = match arrive.draw {
        Draw::First => 0,
        Draw::Ahead => lane % (g.lanes.count / q),
        _ => lane,
    };
    let factors = &arrive.factors[x * g.lanes.padded() + lane..][..width];
    let from = &message[arrive.part(x, length, q) + start..];
    let count = g.states * g.histories.0;
    debug_assert!(from.len() >= (count - 1) * length + width);
    // SAFETY: the message, the factors and alpha hold this many vectors at these distances.
    unsafe { spread::<Wide, Narrow>(width, count, from.as_ptr(), length, factors.as_ptr(), alpha.as_mut_ptr()) }
}

/// d of the cells of a block: alpha summed over the states.
#[inline(always)]
fn count_visits(visits: &mut [f64], alpha: &[f64], weight: f64, add: bool) {
    if !add {
        visits.fill(0.0);
    }
    for state in alpha.chunks_exact(visits.len()) {
        visits.iter_mut().zip(state).for_each(|(to, from)| *to = from.mul_add(weight, *to));
    }
}
