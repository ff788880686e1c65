//! Weighs the entropies, or the divergences from a prior, that RLVR adds to J (paper, section 2.1).
//!
//! **Objective.** With p_c the prior of cell c and w_c its weight, a policy is trained on
//!
//! > J(pi) - tau sum_c w_c KL(pi_c || p_c),
//!
//! and without a prior on J + tau sum_c w_c H(pi_c): the same but for a constant, p_c being uniform.
//!
//! - *uniform* (the paper's tables): w_c = 1, every cell counts alike, visited or not.
//! - *occupancy* (what users of RLVR have, and the paper's transformers): w_c = d(c) / Tbar, where
//!   Tbar = sum_c d(c) is the mean length. That is the mean entropy of an emitted token: each visited
//!   decision counts by its visits, and tau is the coefficient per token.
//!
//! **Uniform.** J is linear in the row of an untied cell, with slopes d(c)Q(c,a), so the best row
//! given all others is pi_c(a) ~ p_c(a) exp(d(c)Q(c,a) / tau).
//!
//! **Occupancy.** Let lambda = tau / Tbar. The objective is the mean over rollouts of the reward plus
//! lambda times the sum of G(c_t) over the cells consulted, G(c) = -KL(pi_c || p_c). Of a rollout that
//! consults an untied cell c, its row changes neither what came before nor d(c), but it does change
//! *which cells come after, and so their entropies*. Given all others the objective is
//!
//! > sum_a pi_c(a) d(c)Q~(c,a) + lambda d(c) G(c) + a constant,
//!
//! where Q~(c,a) is the soft value: the reward to come plus lambda times the sum of G over the cells
//! still to be consulted after action a. Its maximiser is pi_c(a) ~ p_c(a) exp(Q~(c,a) / lambda): d(c)
//! cancels, so that rarely visited cells are as sharp as others. The soft values come from the same
//! passes as dQ, beta_t gaining lambda G(c) in every state. A cell that is never visited (d = 0) has
//! no part in the objective and stays as it is.
//!
//! **Tied cells** are consulted several times in a rollout. The gradient of the objective by pi_c(a) is
//! d(c)Q(c,a) or d(c)Q~(c,a), each consultation counted, less tau w_c (ln(pi_c(a) / p_c(a)) + 1), up to a
//! number that is the same for all actions: the targets above still vanish with it, and the damped
//! update is an ascent by small steps as it is for J (App. A).
//!
//! At tau = 0 nothing is regulated: neither convention nor prior has a part.

use super::settings::CaviSettings;
use crate::model::class::Class;
use crate::model::policy::Policy;
use crate::reward::evaluate::{PolicyTable, Wants};
use crate::reward::layout::{CellPlace, Layout, Sizes};
use crate::support::exact::Reward;
use crate::support::memory::{Allowance, TooLarge};
use dashu_int::UBig;
use thiserror::Error;

/// How much the entropy of each cell counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Convention {
    /// Every cell counts alike, as in the paper's tables.
    #[default]
    Uniform,
    /// A cell counts by its visits d(c), per emitted token.
    Occupancy,
}

crate::named_enum!(Convention { "uniform" => Uniform, "occupancy" => Occupancy });

#[cfg(feature = "serde")]
crate::serde_as_text!(Convention);

/// Why a policy cannot be a prior.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PriorError {
    /// An action that the prior forbids: no policy that takes it is at a finite divergence.
    #[error(
        "the prior gives action {action} of cell {cell} the probability 0: every action needs one \
         above 0 (mix the prior with the uniform policy)"
    )]
    Forbids {
        /// The cell.
        cell: usize,
        /// The action.
        action: usize,
    },
    /// Too much memory.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

impl PriorError {
    /// Refuses a prior that forbids an action.
    pub fn check(prior: &Policy) -> Result<(), PriorError> {
        let q = prior.class().q();
        match prior.rows().iter().position(|p| *p == 0.0) {
            None => Ok(()),
            Some(entry) => Err(PriorError::Forbids {
                cell: entry / q,
                action: entry % q,
            }),
        }
    }
}

/// The term added to J, for one or several policies side by side.
pub(super) struct Regulator {
    convention: Convention,
    /// Tbar, the mean length.
    tokens: f64,
    prior: Option<LogPrior>,
    /// By cell, lambda G(c) of the last policies, each raised by the same number, so that none is
    /// negative; only in the occupancy convention.
    pub bonus: Vec<f64>,
}

/// A prior as its logarithms.
struct LogPrior {
    /// By (cell, action), as tables lie.
    entries: Vec<f64>,
    /// The least of them, times -1.
    lowest: f64,
}

/// The fields of a cell's update: its target is the softmax of `fields` over `temperature`.
pub(super) struct Fields {
    pub fields: Vec<f64>,
    pub temperature: f64,
}

impl Regulator {
    pub fn new(class: &Class, settings: &CaviSettings, sizes: Sizes) -> Regulator {
        let nodes = class.nodes().iter();
        let passing: UBig = nodes.map(|node| &node.passing).sum();
        let bonus = match settings.convention {
            Convention::Uniform => 0,
            Convention::Occupancy => sizes.cells,
        };
        Regulator {
            convention: settings.convention,
            tokens: Reward::new(passing, class.task().total_weight()).to_f64(),
            prior: None,
            bonus: vec![0.0; bonus],
        }
    }

    /// The bytes that a convention takes beside the runs, and those of a prior where there is one.
    pub fn bytes(sizes: Sizes, convention: Convention, prior: bool) -> u128 {
        let bonus = match convention {
            Convention::Uniform => 0,
            Convention::Occupancy => sizes.cells,
        };
        let prior = if prior { sizes.entries } else { 0 };
        8 * (bonus + prior) as u128
    }

    /// Sets the prior of all policies.
    pub fn set_prior(
        &mut self,
        prior: &Policy,
        layout: &Layout,
        memory: Allowance,
    ) -> Result<(), PriorError> {
        let bytes = Regulator::bytes(layout.sizes, Convention::Uniform, true);
        memory.check("a prior", Some(bytes))?;
        let class = prior.class();
        let (mut entries, mut lowest) = (vec![0.0; layout.sizes.entries], 0.0f64);
        for cell in 0..class.cells() {
            for (action, p) in prior.row(cell).iter().enumerate() {
                if *p == 0.0 {
                    return Err(PriorError::Forbids { cell, action });
                }
                lowest = lowest.max(-p.ln());
                for replica in 0..layout.replicas {
                    entries[layout.place(cell, replica).at(action)] = p.ln();
                }
            }
        }
        self.prior = Some(LogPrior { entries, lowest });
        Ok(())
    }

    /// Whether the values of J alone decide where cells move at this temperature.
    pub fn is_plain(&self, tau: f64) -> bool {
        tau == 0.0 || (self.convention == Convention::Uniform && self.prior.is_none())
    }

    /// Whether the passes have to carry entropies at this temperature.
    pub fn is_soft(&self, tau: f64) -> bool {
        tau > 0.0 && self.convention == Convention::Occupancy
    }

    /// The tables that the gradient needs beside the message.
    pub fn wants(&self) -> Wants {
        match self.convention {
            Convention::Uniform => Wants::GRADIENT,
            Convention::Occupancy => Wants::ALL,
        }
    }

    /// The temperature that fields are divided by: tau, or lambda.
    pub fn temperature(&self, tau: f64) -> f64 {
        match self.convention {
            Convention::Uniform => tau,
            Convention::Occupancy => tau / self.tokens,
        }
    }

    /// tau w_c, where a cell has these visits.
    pub fn weight(&self, tau: f64, visits: f64) -> f64 {
        match self.convention {
            Convention::Uniform => tau,
            Convention::Occupancy => self.temperature(tau) * visits,
        }
    }

    /// Computes the bonus of every cell for the passes: lambda (G(c) + the highest -ln p). A rollout
    /// of one length consults the same number of cells whatever it does, so raising all of them alike
    /// moves no target; messages below zero would be taken for zeros.
    pub fn renew_bonus(&mut self, tau: f64, table: &PolicyTable) {
        let (q, lambda) = (table.layout.class.q(), self.temperature(tau));
        let raise = self.prior.as_ref().map_or(0.0, |prior| prior.lowest);
        let mut bonus = std::mem::take(&mut self.bonus);
        let groups = table.layout.groups.iter();
        for panels in groups.flat_map(|group| group.panels(q)) {
            let width = panels.width;
            let cells = bonus[panels.cells].chunks_exact_mut(width);
            for (vector, cells) in cells.enumerate() {
                let first = panels.entries.start + vector * q * width;
                for (lane, bonus) in cells.iter_mut().enumerate() {
                    let terms = (0..q).map(|action| {
                        let entry = first + action * width + lane;
                        let p = table.entries[entry];
                        if p > 0.0 {
                            p * (raise + self.log_prior(entry) - p.ln())
                        } else {
                            0.0
                        }
                    });
                    *bonus = (lambda * terms.sum::<f64>()).max(0.0);
                }
            }
        }
        self.bonus = bonus;
    }

    /// ln p of a table entry; 0 without a prior.
    pub fn log_prior(&self, entry: usize) -> f64 {
        self.prior
            .as_ref()
            .map_or(0.0, |prior| prior.entries[entry])
    }

    /// Makes fields of the values of a group, in place; cells that nothing is known of are not chosen.
    pub fn make_fields(&self, tau: f64, q: usize, lanes: PanelLanes<'_>) {
        let (temperature, width) = (self.temperature(tau), lanes.width);
        let vectors = lanes.values.chunks_exact_mut(q * width);
        for (vector, values) in vectors.enumerate() {
            for lane in 0..width {
                let cell = vector * width + lane;
                let share = self.share(lanes.visits[cell]);
                lanes.mask[cell] &= u8::from(share.is_some());
                for action in 0..q {
                    let value = &mut values[action * width + lane];
                    let entry = lanes.first_entry + vector * q * width + action * width + lane;
                    *value = *value / share.unwrap_or(1.0) + temperature * self.log_prior(entry);
                }
            }
        }
    }

    /// The fields of one cell from its values and visits; none where nothing is known of it.
    pub fn fields(
        &self,
        tau: f64,
        place: CellPlace,
        values: &[f64],
        visits: f64,
    ) -> Option<Fields> {
        let temperature = self.temperature(tau);
        if self.is_plain(tau) {
            return Some(Fields {
                fields: values.to_vec(),
                temperature,
            });
        }
        let share = self.share(visits)?;
        let field = |(action, value): (usize, &f64)| {
            value / share + temperature * self.log_prior(place.at(action))
        };
        Some(Fields {
            fields: values.iter().enumerate().map(field).collect(),
            temperature,
        })
    }

    /// The divisor of the values; none for a cell that is never visited.
    fn share(&self, visits: f64) -> Option<f64> {
        match self.convention {
            Convention::Uniform => Some(1.0),
            Convention::Occupancy => (visits > 0.0).then_some(visits),
        }
    }

    /// w_c H(pi_c), or -w_c KL(pi_c || p_c) where there is a prior.
    pub fn term(&self, place: CellPlace, row: &[f64], visits: f64) -> f64 {
        let terms = row.iter().enumerate().filter(|(_, p)| **p > 0.0);
        let sum: f64 = terms
            .map(|(action, p)| p * (self.log_prior(place.at(action)) - p.ln()))
            .sum();
        match self.convention {
            Convention::Uniform => sum,
            Convention::Occupancy => sum * visits / self.tokens,
        }
    }
}

/// The lanes of panels of one width.
pub(super) struct PanelLanes<'a> {
    pub width: usize,
    /// The start of their entries in a table.
    pub first_entry: usize,
    pub values: &'a mut [f64],
    pub visits: &'a [f64],
    pub mask: &'a mut [u8],
}
