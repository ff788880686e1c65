//! Walks the nodes of a class forwards and backwards (paper, App. A: alpha and beta); where its sums
//! read and write is worked out in `plan`.

use super::plan::{Plan, PreparedNode, Scale};
use crate::model::class::Class;
use crate::reward::kernels::{self, Aligned, Coming, Kernels, PassInputs, Results, StepReward};
use crate::reward::layout::{Layout, Sizes};
use crate::support::memory::{Allowance, TooLarge};
use std::sync::Arc;

/// The tables that the way back through a node fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wants {
    /// dQ of its cells.
    pub values: bool,
    /// d of its cells; with values alone.
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
    pub layout: Arc<Layout>,
    plan: Plan,
    pub(super) kernels: Kernels,
    pub(super) messages: Messages,
    /// The scratch memory of the sums of a step.
    scratch: Aligned,
    /// dQ of all (cell, action), and d of all cells.
    pub values: Aligned,
    pub visits: Aligned,
    /// Sum of alpha times beta at the roots, or at every node when asked for; replica by replica.
    pub(super) carried: Vec<f64>,
    pub(super) carry_all: bool,
    /// Whether the values of every group are written from the start of `values` on, each over those before, so that they
    /// stay in a near cache until they are used. Where every group has one node.
    pub values_in_turn: bool,
}

/// The messages of every node: alpha, which it receives, and the one it returns.
pub(super) struct Messages {
    pub(super) sent: Aligned,
    pub(super) returned: Aligned,
}

impl Passes {
    pub fn new(
        class: &Class,
        replicas: usize,
        scale: Scale,
        memory: Allowance,
    ) -> Result<Passes, TooLarge> {
        let needed = Passes::bytes(Passes::sizes(class, replicas));
        memory.check(&format!("evaluating {} cells", class.cells()), needed)?;
        let layout = Layout::new(class, replicas, kernels::width());
        let plan = Plan::new(&layout, scale);
        let mut sent = Aligned::zeros(plan.sent_size);
        for step in plan.steps.iter().filter(|step| step.is_first) {
            // Nothing has happened yet, with certainty, whatever lane reads it.
            sent[step.alpha..][..step.geometry.arrays.extent.alpha()].fill(1.0);
        }
        Ok(Passes {
            kernels: Kernels::best(),
            messages: Messages {
                sent,
                returned: Aligned::zeros(plan.returned_size),
            },
            scratch: Aligned::zeros(plan.scratch),
            values: Aligned::apart(layout.sizes.entries),
            visits: Aligned::zeros(layout.sizes.cells),
            carried: vec![0.0; plan.steps.len() * replicas],
            carry_all: false,
            values_in_turn: false,
            plan,
            layout: Arc::new(layout),
        })
    }

    /// The sizes of the tables of this number of policies side by side, on this machine.
    pub fn sizes(class: &Class, replicas: usize) -> Sizes {
        Sizes::new(class, replicas, kernels::width())
    }

    /// The bytes of the policies, their values and visits, and the messages.
    pub fn bytes(sizes: Sizes) -> Option<u128> {
        (sizes.entries as u128).checked_mul(8 * 4)
    }

    /// Whether some step is done on several threads, where there are any.
    pub fn is_wide(&self) -> bool {
        let mut steps = self.plan.steps.iter();
        steps.any(|step| step.geometry.sums.is_wide())
    }

    /// J of a replica.
    pub fn reward(&self, replica: usize) -> f64 {
        let steps = self.plan.steps.iter();
        let carried = steps.zip(self.carried.chunks_exact(self.layout.replicas));
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
        let Some(routes) = &step.geometry.routes else {
            return;
        };
        let message = self.plan.sent[n].clone();
        let (before, behind) = self.messages.sent.split_at_mut(message.start);
        let given = PassInputs {
            policy: &policy[step.entries..],
            alpha: &before[step.alpha..],
            weights: &step.weights.entering,
        };
        self.kernels.forward(
            (&step.geometry.sums, routes),
            given,
            &step.weights.mixing,
            &mut self.scratch,
            &mut behind[..message.len()],
        );
    }

    /// Renews what is wanted of the way back through a node: dQ and d of its cells, and the message
    /// returned to the step before.
    pub fn renew_back(&mut self, n: usize, policy: &[f64], wants: Wants) {
        self.go_back(n, policy, wants, None);
    }

    /// Goes back where a rollout gains, beside the reward, a bonus at every cell it consults: what
    /// comes back is the mean of both. `bonus` is a table of cells without negative numbers.
    pub fn renew_back_with(&mut self, n: usize, policy: &[f64], wants: Wants, bonus: &[f64]) {
        assert_eq!(bonus.len(), self.visits.len());
        self.go_back(n, policy, wants, Some(bonus));
    }

    fn go_back(&mut self, n: usize, policy: &[f64], wants: Wants, bonus: Option<&[f64]>) {
        let step = &self.plan.steps[n];
        let (g, extent) = (&*step.geometry, &step.geometry.arrays.extent);
        let Messages { sent, returned } = &mut self.messages;
        let (alpha, weights) = (&sent[step.alpha..], &step.weights.entering);
        // The messages returned to this node lie behind its own.
        let end = step.returned + extent.alpha();
        let (message, behind) = returned.split_at_mut(end);
        let message = &mut message[step.returned..];
        let given = PassInputs {
            policy: &policy[step.entries..],
            alpha,
            weights,
        };
        let coming = Coming {
            routes: g.routes.as_ref(),
            mixing: &step.weights.mixing,
            starts: &step.children,
            skipped: end,
            returned: behind,
            reward: step.reward.map(|amount| StepReward {
                amount,
                right: &g.right,
            }),
        };
        let none: &mut [f64] = &mut [];
        let first_value = if self.values_in_turn { 0 } else { step.entries };
        let results = Results {
            values: if wants.values {
                &mut self.values[first_value..]
            } else {
                none
            },
            message: if wants.message {
                &mut *message
            } else {
                &mut []
            },
            visits: if wants.visits {
                &mut self.visits[step.cells..]
            } else {
                &mut []
            },
            share: step.share,
            add: step.adds,
        };
        self.kernels
            .backward(&g.sums, given, coming, &mut self.scratch, results);
        if !wants.message {
            return;
        }
        if let Some(bonus) = bonus {
            add_bonus(step, &bonus[step.cells..], message);
        }
        if step.is_first || self.carry_all {
            let replicas = self.layout.replicas;
            let carried = &mut self.carried[n * replicas..][..replicas];
            carry(step, alpha, message, carried);
        }
    }
}

/// Adds to the message returned what rollouts gain at the cells of a step, from which on `bonus` is
/// given, times the weight of the symbol drawn and what a visit counts.
fn add_bonus(step: &PreparedNode, bonus: &[f64], message: &mut [f64]) {
    let extent = step.extent();
    let (lanes, states, rows) = (&extent.lanes, extent.states, extent.rows());
    for lane in 0..extent.lanes.count {
        let cells = extent.lanes.seat(lane, extent.vectors());
        for term in 0..extent.histories * extent.terms {
            let gain = |n: usize| {
                let cell = cells.at(term * extent.entering + n);
                step.share
                    * step.weights.entering[lanes.place(extent.entering, n, lane)]
                    * bonus[cell]
            };
            let gained: f64 = (0..extent.entering).map(gain).sum();
            for s in 0..states {
                message[lanes.place(rows, term * states + s, lane)] += gained;
            }
        }
    }
}

/// Sums alpha times beta over a step, replica by replica.
fn carry(step: &PreparedNode, alpha: &[f64], message: &[f64], carried: &mut [f64]) {
    let extent = step.extent();
    carried.fill(0.0);
    let (rows, mut replica) = (extent.rows(), 0);
    for lane in 0..extent.lanes.count {
        let places = (0..rows).map(|row| extent.lanes.place(rows, row, lane));
        let sum: f64 = places.map(|place| alpha[place] * message[place]).sum();
        carried[replica] += sum;
        replica += 1;
        if replica == carried.len() {
            replica = 0;
        }
    }
}
