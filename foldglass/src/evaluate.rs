//! Evaluates stochastic policies exactly, by forward and backward passes (paper, App. A).
//!
//! A rollout is a Markov chain on (s_{t-1}, window, y): alpha_t is its law under the policy, beta_t
//! the reward still to come. They give J, the visits d(c), the values d(c)Q(c,a) and V(c) at a cost
//! linear in T, for tied classes and several lengths alike: a cell collects every consultation.

mod lanes;
mod plan;

use crate::class::{Allowance, Class, ClassError};
use crate::policy::Policy;
use lanes::{Contraction, Isa, Lane, Portable};
pub(crate) use plan::Scale;
use plan::{Plan, Step};

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
    /// g and h of every node.
    forward: Vec<f64>,
    backward: Vec<f64>,
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
        let (alpha, post, beta) = plan.scratch;
        Ok(Evaluator {
            class: class.clone(),
            isa: Isa::best(),
            forward: vec![0.0; plan.messages],
            backward: vec![0.0; plan.messages],
            alpha: vec![0.0; alpha],
            post: vec![0.0; post],
            bbar: vec![0.0; post],
            beta: vec![0.0; beta],
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
            self.arrive::<Wide, Narrow>(n);
            self.act::<Wide, Narrow>(n, policy);
            self.send(n);
        }
        for n in (0..self.plan.steps.len()).rev() {
            self.arrive::<Wide, Narrow>(n);
            self.receive(n);
            self.weigh::<Wide, Narrow>(n, policy);
            self.count_visits::<Wide, Narrow>(n);
        }
    }

    /// alpha from the message of the step before and the symbol drawn now.
    #[inline(always)]
    fn arrive<Wide: Lane, Narrow: Lane>(&mut self, n: usize) {
        let step = &self.plan.steps[n];
        let (q, g) = (self.class.q(), step.geometry.as_ref());
        let (plane, size) = (q * g.slab, g.alpha(q));
        // The slab behind alpha stays zero: states that no symbol leads to read it.
        self.alpha[size..size + g.slab].fill(0.0);
        let message = step.parent.map_or(&ROOT[..], |p| &self.forward[self.plan.steps[p].message..]);
        let length = step.parent.map_or(1, |p| self.plan.steps[p].geometry.message());
        let planes = self.alpha[..size].chunks_exact_mut(plane);
        for (alpha, message) in planes.zip(message.chunks_exact(length)) {
            draw::<Wide, Narrow>(step, message, alpha);
        }
    }

    /// post(s', history with y_t, window) from alpha and the policy.
    #[inline(always)]
    fn act<Wide: Lane, Narrow: Lane>(&mut self, n: usize, policy: &[f64]) {
        let step = &self.plan.steps[n];
        let (q, g) = (self.class.q(), step.geometry.as_ref());
        let (plane, post_plane) = (q * g.slab, g.post_slabs * g.slab);
        let (alpha, policy, post) = (self.alpha.as_ptr(), policy.as_ptr(), self.post.as_mut_ptr());
        // Either all x at once into one slab, or each into its own.
        let batch = if g.post_slabs == 1 { q } else { 1 };
        for x in (0..q).step_by(batch) {
            for k in 0..g.remembered {
                let work = Contraction {
                    a_rows: &g.alpha_rows[x * q..][..batch * q],
                    a_terms: &g.alpha_terms,
                    b: (step.base + k * q * plane + x * g.slab, g.slab),
                    b_terms: &g.policy_terms,
                    b_column: plane,
                    c: (k * q * post_plane + if batch == 1 { x * g.slab } else { 0 }, g.histories.1 * post_plane, post_plane),
                    size: (q, q),
                    slab: g.slab,
                    add: false,
                };
                // The zero slab has no histories and no slabs of its own.
                debug_assert!(k == 0 || g.states == q || g.remembered == 1);
                // SAFETY: the plan's offsets lie within the scratch it sized.
                unsafe { contract::<Wide, Narrow>(&work, alpha.add(k * plane), policy, post) }
            }
        }
    }

    /// The message to the next step.
    #[inline(always)]
    fn send(&mut self, n: usize) {
        let step = &self.plan.steps[n];
        let (q, g) = (self.class.q(), step.geometry.as_ref());
        let Some(leave) = &g.leave else { return };
        let size = leave.from.len();
        let messages = self.forward[step.message..][..q * g.histories.1 * size].chunks_exact_mut(size);
        let planes = self.post.chunks_exact(g.post_slabs * g.slab);
        let (count, stride) = leave.dropped;
        for (message, post) in messages.zip(planes) {
            for (to, &from) in message.iter_mut().zip(&leave.from) {
                // SAFETY: the plan places every element, and those dropped, within a post plane.
                let at = |d: usize| unsafe { *post.get_unchecked(from as usize + d * stride) };
                let sum = (1..count).fold(at(0), |sum, d| sum + at(d));
                *to = if sum < LEAST_MESSAGE { 0.0 } else { sum };
            }
        }
    }

    /// bbar, the reward to come once y_t is out, from what the next steps sent back.
    #[inline(always)]
    fn receive(&mut self, n: usize) {
        let step = &self.plan.steps[n];
        let (q, g) = (self.class.q(), step.geometry.as_ref());
        let post_plane = g.post_slabs * g.slab;
        let bbar = &mut self.bbar[..g.post(q)];
        match &g.leave {
            None => bbar.fill(0.0),
            Some(leave) => {
                let size = leave.from.len();
                let messages = self.backward[step.message..][..q * g.histories.1 * size].chunks_exact(size);
                let (count, stride) = leave.dropped;
                for (bbar, message) in bbar.chunks_exact_mut(post_plane).zip(messages) {
                    for (&value, &to) in message.iter().zip(&leave.from) {
                        let value = if value < LEAST_MESSAGE { 0.0 } else { value };
                        for d in 0..count {
                            // SAFETY: as in `send`.
                            unsafe { *bbar.get_unchecked_mut(to as usize + d * stride) = value };
                        }
                    }
                }
            }
        }
        let Some(reward) = step.reward else { return };
        for s in 0..q {
            for k in 0..g.remembered {
                let right = (s * g.histories.1 + k * q + s) * post_plane;
                bbar[right..][..post_plane].iter_mut().for_each(|value| *value += reward);
            }
        }
    }

    /// dQ of the node's cells, and beta, sent back to the step before.
    #[inline(always)]
    fn weigh<Wide: Lane, Narrow: Lane>(&mut self, n: usize, policy: &[f64]) {
        let step = &self.plan.steps[n];
        let (q, g, arrive) = (self.class.q(), step.geometry.as_ref(), step.arrive.as_ref());
        let (plane, post_plane) = (q * g.slab, g.post_slabs * g.slab);
        let (alpha, bbar) = (self.alpha.as_ptr(), self.bbar.as_ptr());
        let (beta, values) = (self.beta.as_mut_ptr(), self.values.as_mut_ptr());
        let parent = step.parent.map(|parent| &self.plan.steps[parent]);
        let mut carried = 0.0;
        for x in 0..q {
            let rows = &g.bbar_rows[x * g.states..][..g.states];
            for k in 0..g.remembered {
                let values_work = Contraction {
                    a_rows: &g.alpha_tokens,
                    a_terms: &g.alpha_states,
                    b: (k * q * post_plane, 0),
                    b_terms: rows,
                    b_column: post_plane,
                    c: (step.base + k * q * plane + x * g.slab, g.remembered * q * plane, plane),
                    size: (g.forgotten, q),
                    slab: g.slab,
                    add: step.adds,
                };
                let beta_work = Contraction {
                    a_rows: rows,
                    a_terms: &g.bbar_actions,
                    b: (step.base + k * q * plane + x * g.slab, 0),
                    b_terms: &g.policy_actions,
                    b_column: g.remembered * q * plane,
                    c: (k * g.slab, g.histories.0 * g.slab, g.remembered * g.slab),
                    size: (g.states, g.forgotten),
                    slab: g.slab,
                    add: false,
                };
                // SAFETY: the plan's offsets lie within the scratch it sized.
                unsafe {
                    contract::<Wide, Narrow>(&values_work, alpha.add(k * plane + x * g.slab), bbar, values);
                    contract::<Wide, Narrow>(&beta_work, bbar.add(k * q * post_plane), policy.as_ptr(), beta);
                }
            }
            let beta = self.beta.chunks_exact(g.slab).take(g.states * g.histories.0);
            if parent.is_none() || self.carry_all {
                carried += carried_sum(&self.alpha, beta.clone(), plane, x * g.slab);
            }
            let Some(parent) = parent else { continue };
            let messages = self.backward[parent.message..].chunks_exact_mut(parent.geometry.message());
            let (fan, factors) = (&arrive.fans[x], arrive.factors.as_ptr());
            let add = step.joins || (arrive.overlap && x > 0);
            for (beta, message) in beta.zip(messages) {
                if g.mixes {
                    for e in 0..q {
                        let before = if add { message[e] } else { 0.0 };
                        message[e] = beta[0].mul_add(arrive.factors[fan.factor + e], before);
                    }
                } else {
                    // SAFETY: the plan's fans lie within the message, a slab and the factors.
                    unsafe { fan.gather::<Wide, Narrow>(message.as_mut_ptr(), factors, beta.as_ptr(), add) }
                }
            }
        }
        self.carried[n] = carried;
    }

    /// d of the node's cells: the message summed over the states, with the symbol drawn now.
    #[inline(always)]
    fn count_visits<Wide: Lane, Narrow: Lane>(&mut self, n: usize) {
        let step = &self.plan.steps[n];
        let (q, g) = (self.class.q(), step.geometry.as_ref());
        let plane = q * g.slab;
        let (message, length) = match step.parent {
            None => (&ROOT[..], 1),
            Some(p) => (&self.forward[self.plan.steps[p].message..], self.plan.steps[p].geometry.message()),
        };
        let visits = &mut self.visits[step.cell_base..][..g.histories.0 * plane];
        for (h, visits) in visits.chunks_exact_mut(plane).enumerate() {
            let total = &mut self.post[..length];
            total.fill(0.0);
            for s in 0..g.states {
                let part = &message[(s * g.histories.0 + h) * length..][..length];
                total.iter_mut().zip(part).for_each(|(to, from)| *to = from.mul_add(step.visit, *to));
            }
            if step.adds {
                let here = &mut self.alpha[..plane];
                draw::<Wide, Narrow>(step, total, here);
                visits.iter_mut().zip(here).for_each(|(to, from)| *to += *from);
            } else {
                draw::<Wide, Narrow>(step, total, visits);
            }
        }
    }
}

/// The message before t = 1: nothing has happened, with certainty.
const ROOT: [f64; 1] = [1.0];

/// Spreads one plane of a message over the symbol drawn now.
#[inline(always)]
fn draw<Wide: Lane, Narrow: Lane>(step: &Step, message: &[f64], plane: &mut [f64]) {
    let arrive = step.arrive.as_ref();
    for (fan, slab) in arrive.fans.iter().zip(plane.chunks_exact_mut(step.geometry.slab)) {
        let factors = arrive.factors.as_slice();
        if step.parent.is_none() {
            let factors = &factors[fan.factor..][..fan.len];
            slab.iter_mut().zip(factors).for_each(|(to, factor)| *to = message[0] * factor);
        } else if step.geometry.mixes {
            let terms = message.iter().zip(&factors[fan.factor..]);
            slab[0] = terms.fold(0.0, |sum, (m, f)| m.mul_add(*f, sum));
        } else {
            // SAFETY: the plan's fans lie within the message, a slab and the factors.
            unsafe { fan.spread::<Wide, Narrow>(message.as_ptr(), factors.as_ptr(), slab.as_mut_ptr()) }
        }
    }
}

/// The sum of alpha times beta over one slab, lane by lane in a fixed order.
#[inline(always)]
fn carried_sum<'a>(alpha: &[f64], beta: impl Iterator<Item = &'a [f64]>, plane: usize, slab_of_x: usize) -> f64 {
    const WAYS: usize = 8;
    let mut sum = [0.0; WAYS];
    for (alpha, beta) in alpha.chunks_exact(plane).zip(beta) {
        let alpha = &alpha[slab_of_x..][..beta.len()];
        for (alpha, beta) in alpha.chunks(WAYS).zip(beta.chunks(WAYS)) {
            for i in 0..alpha.len() {
                sum[i] = alpha[i].mul_add(beta[i], sum[i]);
            }
        }
    }
    sum.iter().sum()
}

#[inline(always)]
unsafe fn contract<Wide: Lane, Narrow: Lane>(
    work: &Contraction,
    a: *const f64,
    b: *const f64,
    c: *mut f64,
) {
    // SAFETY: as promised by the caller; padding makes the width divide the slab.
    unsafe {
        if work.slab % Wide::WIDTH == 0 {
            work.run::<Wide>(a, b, c);
        } else if work.slab % Narrow::WIDTH == 0 {
            work.run::<Narrow>(a, b, c);
        } else {
            work.run::<f64>(a, b, c);
        }
    }
}
