//! Unrolls an untied class into its steps, cell by cell, for searches over codes (paper, App. A).
//!
//! A *rung* is a step t with its cells. Weight flows from the states after step t - 1 through the
//! cells of step t to the states after it; the action of a cell says to which of q neighbouring
//! places. With alpha the weight that arrives at a state and beta the weight with which it still
//! earns the reward, a cell earns, with action a, the sum over its flows of alpha * weight * beta.

use crate::model::class::Class;
use crate::model::quasigroup::Symbol;
use crate::reward::count::steps::Steps;
use crate::reward::count::weight::Whole;
use dashu_int::UBig;
use std::ops::Range;

/// What one state sends through one cell.
#[derive(Debug, Clone, Copy)]
struct Flow<W> {
    from: u32,
    /// The place that action 0 leads to.
    to: u32,
    weight: W,
}

/// One step.
#[derive(Debug)]
pub(super) struct Rung<W> {
    pub cells: Range<usize>,
    /// By cell of the rung: where its flows begin; one more entry ends the last.
    starts: Vec<u32>,
    flows: Vec<Flow<W>>,
    /// The distance between the places of two successive actions.
    stride: usize,
    /// The states it reads.
    sources: Vec<u32>,
    /// The places of right answers before this rung, each with its weight: what is settled by then.
    settled: Vec<(u32, W)>,
    /// Whether its tokens may be relabelled: no length ends here.
    pub relabels: bool,
    /// Its histories: q to the tokens remembered.
    pub histories: usize,
}

impl<W: Whole> Rung<W> {
    #[inline]
    fn flows(&self, cell: usize) -> &[Flow<W>] {
        let i = cell - self.cells.start;
        &self.flows[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// The places that a cell reads.
    pub fn reads(&self, cell: usize) -> impl Iterator<Item = u32> {
        self.flows(cell).iter().map(|flow| flow.from)
    }

    /// Lets alpha pass a cell.
    #[inline]
    pub fn send(&self, alpha: &mut [W], cell: usize, action: Symbol) {
        let shift = action as usize * self.stride;
        for flow in self.flows(cell) {
            let sent = alpha[flow.from as usize] * flow.weight;
            alpha[flow.to as usize + shift] += sent;
        }
    }

    /// Takes back what `send` did.
    #[inline]
    pub fn recall(&self, alpha: &mut [W], cell: usize, action: Symbol) {
        let shift = action as usize * self.stride;
        for flow in self.flows(cell) {
            let sent = alpha[flow.from as usize] * flow.weight;
            alpha[flow.to as usize + shift] -= sent;
        }
    }

    /// What the rollouts that consult a cell earn with an action.
    #[inline]
    pub fn earned(&self, alpha: &[W], beta: &[W], cell: usize, action: Symbol) -> W {
        let shift = action as usize * self.stride;
        let mut sum = W::zero();
        for flow in self.flows(cell) {
            sum += alpha[flow.from as usize] * flow.weight * beta[flow.to as usize + shift];
        }
        sum
    }

    /// Brings beta back to before the rung.
    #[inline]
    pub fn give_back(&self, beta: &mut [W], right: &[W], actions: &[Symbol]) {
        for &source in &self.sources {
            beta[source as usize] = right[source as usize];
        }
        for cell in self.cells.clone() {
            let shift = actions[cell] as usize * self.stride;
            for flow in self.flows(cell) {
                let back = flow.weight * beta[flow.to as usize + shift];
                beta[flow.from as usize] += back;
            }
        }
    }

    /// Adds what one cell gives back, to what `give_back` would start from.
    pub fn give_back_one(&self, beta: &mut [W], cell: usize, action: Symbol) {
        let shift = action as usize * self.stride;
        for flow in self.flows(cell) {
            let back = flow.weight * beta[flow.to as usize + shift];
            beta[flow.from as usize] += back;
        }
    }

    /// Takes back what `give_back_one` did.
    pub fn take_back_one(&self, beta: &mut [W], cell: usize, action: Symbol) {
        let shift = action as usize * self.stride;
        for flow in self.flows(cell) {
            let back = flow.weight * beta[flow.to as usize + shift];
            beta[flow.from as usize] -= back;
        }
    }

    /// The places that its tokens lead to: those of one successor together, by token.
    pub fn places(&self, q: usize) -> Vec<u32> {
        let mut first: Vec<u32> = self.flows.iter().map(|flow| flow.to).collect();
        first.sort_unstable();
        first.dedup();
        let tokens = |&to: &u32| (0..q).map(move |token| to + (token * self.stride) as u32);
        first.iter().flat_map(tokens).collect()
    }

    /// Whether no other action of a cell earns more than its own by more than `tolerance`; actions
    /// in `except` are not asked for.
    #[inline]
    pub fn is_unraised(
        &self,
        alpha: &[W],
        beta: &[W],
        actions: &[Symbol],
        tolerance: W,
        q: usize,
        except: &[Symbol],
    ) -> bool
    where
        W: Ord,
    {
        self.cells.clone().all(|cell| {
            let now = self.earned(alpha, beta, cell, actions[cell]) + tolerance;
            let others = (0..q as Symbol).filter(|&a| a != actions[cell] && !except.contains(&a));
            others
                .into_iter()
                .all(|action| self.earned(alpha, beta, cell, action) <= now)
        })
    }

    /// About how many codes its cells have, up to the names of tokens.
    pub fn codes(&self, q: usize) -> f64 {
        let all = (q as f64).powi(self.cells.len() as i32);
        let names: f64 = (1..=q).map(|n| n as f64).product();
        if self.relabels {
            (all / names).max(1.0)
        } else {
            all
        }
    }

    /// What rollouts that ended before the rung have earned.
    pub fn settled(&self, alpha: &[W]) -> W {
        let mut sum = W::zero();
        for &(place, weight) in &self.settled {
            sum += alpha[place as usize] * weight;
        }
        sum
    }

    /// Forgets what has arrived at its sources' successors: everything its cells write to.
    pub fn clear(&self, alpha: &mut [W], q: usize) {
        for flow in &self.flows {
            for a in 0..q {
                alpha[flow.to as usize + a * self.stride] = W::zero();
            }
        }
    }
}

/// All steps of an untied class.
#[derive(Debug)]
pub(super) struct Rungs<W> {
    pub q: usize,
    pub rungs: Vec<Rung<W>>,
    /// By place: the weight of a right answer, zero elsewhere.
    pub right: Vec<W>,
    /// The numerator of the reward 1.
    pub whole: W,
}

impl<W: Whole> Rungs<W> {
    /// # Panics
    /// If the class is tied, or its denominator does not fit into W.
    pub fn new(class: &Class) -> Rungs<W> {
        assert!(!class.shape().tied, "a tied class has no rungs");
        let steps = Steps::<W>::new(class);
        let (q, longest) = (class.q(), class.task().longest());
        let size = steps.messages.last().map_or(0, |message| message.end());
        let mut right = vec![W::zero(); size];
        let mut settled: Vec<Vec<(u32, W)>> = vec![Vec::new(); longest + 1];
        let mut ends = vec![false; longest + 1];
        for (n, step) in steps.steps.iter().enumerate() {
            let Some(lift) = step.lift else { continue };
            ends[step.t] = true;
            for place in steps.right_answers(class, n) {
                right[place] = lift;
                settled[step.t].push((place as u32, lift));
            }
        }
        let mut rungs: Vec<Rung<W>> = Vec::with_capacity(longest);
        for t in 1..=longest {
            let cells = class.step_cells(t).expect("an untied class");
            let mut by_cell: Vec<Vec<Flow<W>>> = vec![Vec::new(); cells.len()];
            let (mut stride, mut histories) = (1, 1);
            for &n in class.step_nodes(t) {
                let step = &steps.steps[n];
                let (read, written) = (&steps.messages[step.reads], steps.written(n));
                (stride, histories) = (written.width, step.histories.0);
                for passage in step.passages.iter().filter(|p| p.weight != W::zero()) {
                    for h in 0..step.histories.0 {
                        let from = read.place(passage.from as usize + h);
                        let to = written.place(step.target(passage, h)) + passage.offset as usize;
                        let flow = |(e, &to_e): (usize, &u16)| Flow {
                            from: (from + e) as u32,
                            to: (to + to_e as usize) as u32,
                            weight: passage.weight,
                        };
                        let moves = steps.moves(step, passage).iter().enumerate();
                        by_cell[passage.cell as usize + h - cells.start].extend(moves.map(flow));
                    }
                }
            }
            let mut starts = vec![0];
            for flows in &by_cell {
                starts.push(starts[starts.len() - 1] + flows.len() as u32);
            }
            let flows = by_cell.concat();
            let mut sources: Vec<u32> = flows.iter().map(|flow| flow.from).collect();
            sources.sort_unstable();
            sources.dedup();
            rungs.push(Rung {
                cells,
                starts,
                flows,
                stride,
                sources,
                settled: settled[..t].concat(),
                relabels: !ends[t],
                histories,
            });
        }
        Rungs {
            q,
            rungs,
            right,
            whole: W::of(&class.task().denominator()),
        }
    }

    /// The bytes that alpha and beta take, and about as much again for the rungs themselves.
    pub fn bytes(class: &Class) -> Option<u128> {
        let flows = class.cells() as u128 * 2 * class.q() as u128 * class.q() as u128;
        Steps::<W>::size(class)?
            .checked_mul(4 * size_of::<W>() as u128)?
            .checked_add(flows * size_of::<Flow<W>>() as u128)
    }

    /// Alpha before the first step, and nowhere else.
    pub fn alpha(&self) -> Vec<W> {
        let mut alpha = vec![W::zero(); self.right.len()];
        alpha[0] = W::of(&UBig::ONE);
        alpha
    }

    /// Beta after the last step.
    pub fn beta(&self) -> Vec<W> {
        self.right.clone()
    }

    /// Alpha at every state.
    pub fn pass_forward(&self, alpha: &mut [W], actions: &[Symbol], from: usize) {
        for rung in &self.rungs[from..] {
            rung.clear(alpha, self.q);
            for cell in rung.cells.clone() {
                rung.send(alpha, cell, actions[cell]);
            }
        }
    }

    /// The reward, alpha being complete.
    pub fn reward(&self, alpha: &[W]) -> W {
        let mut sum = W::zero();
        for (alpha, right) in alpha.iter().zip(&self.right) {
            sum += *alpha * *right;
        }
        sum
    }
}
