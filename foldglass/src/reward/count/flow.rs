//! Lists what flows through the cells of an untied class, step by step (paper, App. A).
//!
//! Weight flows from the states after step t - 1 through the cells of step t to the states after it;
//! the action of a cell says to which of q neighbouring places. With alpha the weight that arrives
//! at a state and beta the weight with which it still earns the reward, a cell earns, with action a,
//! the sum over its flows of alpha * weight * beta.
//!
//! All states of all steps have one numbering: a *place* is that of a number in the messages of
//! [`Steps`].

use super::steps::Steps;
use super::weight::Whole;
use crate::model::class::Class;
use crate::model::operation::Symbol;
use dashu_int::UBig;
use std::ops::Range;

/// What one state sends through one cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CellFlow<W> {
    pub from: u32,
    /// The place that action 0 leads to.
    pub to: u32,
    pub weight: W,
}

/// The flows of some cells in a row.
#[derive(Debug)]
pub(crate) struct CellFlows<W> {
    first_cell: usize,
    /// By cell: where its flows begin; one more entry ends the last.
    starts: Vec<u32>,
    flows: Vec<CellFlow<W>>,
    /// By flow: the action that is right, where tokens are rewarded; else 0.
    right: Vec<Symbol>,
}

impl<W: Whole> CellFlows<W> {
    /// Takes the flows of each cell from `first_cell` on, with the actions that are right.
    fn new(first_cell: usize, by_cell: &[Vec<(CellFlow<W>, Symbol)>]) -> CellFlows<W> {
        let mut starts = vec![0];
        for flows in by_cell {
            starts.push(starts[starts.len() - 1] + flows.len() as u32);
        }
        let (flows, right) = by_cell.iter().flatten().copied().unzip();
        CellFlows {
            first_cell,
            starts,
            flows,
            right,
        }
    }

    #[inline]
    fn range(&self, cell: usize) -> Range<usize> {
        let i = cell - self.first_cell;
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    /// The flows of a cell.
    #[inline]
    pub fn of(&self, cell: usize) -> &[CellFlow<W>] {
        &self.flows[self.range(cell)]
    }

    /// By flow of a cell: the action that is right, where tokens are rewarded.
    #[inline]
    pub fn right(&self, cell: usize) -> &[Symbol] {
        &self.right[self.range(cell)]
    }

    /// The same flows between places of other numbers.
    pub fn renumbered(mut self, numbers: &[u32]) -> CellFlows<W> {
        for flow in &mut self.flows {
            flow.from = numbers[flow.from as usize];
            flow.to = numbers[flow.to as usize];
        }
        self
    }
}

/// A node of a step.
#[derive(Debug)]
pub(crate) struct NodeFlows<W> {
    /// Its cells, which no other node has.
    pub cells: Range<usize>,
    /// The places of the states after it. The newest token is the lowest digit of a block.
    pub places: Range<usize>,
    /// The places in a block, one for each fold of the symbols that left the window.
    pub width: usize,
    /// Whether the next step reads these places.
    pub is_read: bool,
    /// The weight of a right token, where it is compared with the state.
    pub lift: Option<W>,
}

/// One step.
#[derive(Debug)]
pub(crate) struct StepFlows<W> {
    pub cells: Range<usize>,
    pub nodes: Vec<NodeFlows<W>>,
    pub flows: CellFlows<W>,
    /// The distance between the places of two successive actions.
    stride: usize,
    /// The states it reads.
    sources: Vec<u32>,
    /// The places of right tokens before this step, each with its weight: what is settled by then.
    settled: Vec<(u32, W)>,
    /// Whether its tokens may be relabelled: none is compared with the state.
    pub relabels: bool,
    /// Its histories: q to the tokens remembered.
    pub histories: usize,
    /// By cell: whether no later step reads its token.
    ends: Vec<bool>,
}

impl<W: Whole> StepFlows<W> {
    /// The places that a cell reads.
    pub fn reads(&self, cell: usize) -> impl Iterator<Item = u32> {
        self.flows.of(cell).iter().map(|flow| flow.from)
    }

    /// Whether the rollouts that consult a cell end with it: no later step reads its token.
    #[inline]
    pub fn is_end(&self, cell: usize) -> bool {
        self.ends[cell - self.cells.start]
    }

    /// Lets alpha pass a cell.
    #[inline]
    pub fn send(&self, alpha: &mut [W], cell: usize, action: Symbol) {
        let shift = action as usize * self.stride;
        for flow in self.flows.of(cell) {
            let sent = alpha[flow.from as usize] * flow.weight;
            alpha[flow.to as usize + shift] += sent;
        }
    }

    /// Takes back what `send` did.
    #[inline]
    pub fn recall(&self, alpha: &mut [W], cell: usize, action: Symbol) {
        let shift = action as usize * self.stride;
        for flow in self.flows.of(cell) {
            let sent = alpha[flow.from as usize] * flow.weight;
            alpha[flow.to as usize + shift] -= sent;
        }
    }

    /// What the rollouts that consult a cell earn with an action.
    #[inline]
    pub fn earned(&self, alpha: &[W], beta: &[W], cell: usize, action: Symbol) -> W {
        let shift = action as usize * self.stride;
        let mut sum = W::zero();
        for flow in self.flows.of(cell) {
            sum += alpha[flow.from as usize] * flow.weight * beta[flow.to as usize + shift];
        }
        sum
    }

    /// Brings beta back to before the step.
    #[inline]
    pub fn give_back(&self, beta: &mut [W], right: &[W], actions: &[Symbol]) {
        for &source in &self.sources {
            beta[source as usize] = right[source as usize];
        }
        for cell in self.cells.clone() {
            let shift = actions[cell] as usize * self.stride;
            for flow in self.flows.of(cell) {
                let back = flow.weight * beta[flow.to as usize + shift];
                beta[flow.from as usize] += back;
            }
        }
    }

    /// Adds what one cell gives back, to what `give_back` would start from.
    pub fn give_back_one(&self, beta: &mut [W], cell: usize, action: Symbol) {
        let shift = action as usize * self.stride;
        for flow in self.flows.of(cell) {
            let back = flow.weight * beta[flow.to as usize + shift];
            beta[flow.from as usize] += back;
        }
    }

    /// Takes back what `give_back_one` did.
    pub fn take_back_one(&self, beta: &mut [W], cell: usize, action: Symbol) {
        let shift = action as usize * self.stride;
        for flow in self.flows.of(cell) {
            let back = flow.weight * beta[flow.to as usize + shift];
            beta[flow.from as usize] -= back;
        }
    }

    /// The places that its tokens lead to: those of one successor together, by token.
    pub fn places(&self, q: usize) -> Vec<u32> {
        let mut first: Vec<u32> = self.flows.flows.iter().map(|flow| flow.to).collect();
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
    ) -> bool {
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

    /// What has been earned before the step.
    pub fn settled(&self, alpha: &[W]) -> W {
        let mut sum = W::zero();
        for &(place, weight) in &self.settled {
            sum += alpha[place as usize] * weight;
        }
        sum
    }

    /// Forgets what has arrived at its sources' successors: everything its cells write to.
    pub fn clear(&self, alpha: &mut [W], q: usize) {
        for flow in &self.flows.flows {
            for a in 0..q {
                alpha[flow.to as usize + a * self.stride] = W::zero();
            }
        }
    }
}

/// All steps of an untied class.
#[derive(Debug)]
pub(crate) struct FlowTable<W> {
    pub q: usize,
    pub steps: Vec<StepFlows<W>>,
    /// By place: the weight of a right token, zero elsewhere.
    pub right: Vec<W>,
    /// The numerator of the reward 1.
    pub whole: W,
}

impl<W: Whole> FlowTable<W> {
    /// # Panics
    /// If the class is tied, or its denominator does not fit into W.
    pub fn new(class: &Class) -> FlowTable<W> {
        assert!(!class.shape().tied, "a tied class has no table of flows");
        let steps = Steps::<W>::new(class);
        let longest = class.task().longest();
        let size = steps.messages.last().map_or(0, |message| message.end());
        let mut table = FlowTable {
            q: class.q(),
            steps: Vec::with_capacity(longest),
            right: vec![W::zero(); size],
            whole: W::of(&class.task().denominator()),
        };
        let mut settled: Vec<(u32, W)> = Vec::new();
        for t in 1..=longest {
            let before = settled.clone();
            for &n in class.step_nodes(t) {
                let Some(lift) = steps.steps[n].lift else {
                    continue;
                };
                for place in steps.right_answers(class, n) {
                    table.right[place] = lift;
                    settled.push((place as u32, lift));
                }
            }
            let relabels = settled.len() == before.len();
            table.push(class, &steps, t, (before, relabels));
        }
        table
    }

    /// Adds step `t`, with what is settled before it and whether its tokens may be relabelled.
    fn push(
        &mut self,
        class: &Class,
        all: &Steps<W>,
        t: usize,
        (settled, relabels): (Vec<(u32, W)>, bool),
    ) {
        let cells = class.step_cells(t).expect("an untied class");
        let mut by_cell: Vec<Vec<(CellFlow<W>, Symbol)>> = vec![Vec::new(); cells.len()];
        let (mut stride, mut histories, mut nodes) = (1, 1, Vec::new());
        let mut ends = vec![true; cells.len()];
        for &n in class.step_nodes(t) {
            let (step, group) = (&all.steps[n], &class.groups()[class.nodes()[n].group]);
            let (read, written) = (&all.messages[step.reads], all.written(n));
            (stride, histories) = (written.width, step.histories.0);
            let of_node = group.first_cell..group.first_cell + group.cells;
            if step.is_read {
                ends[of_node.start - cells.start..of_node.end - cells.start].fill(false);
            }
            nodes.push(NodeFlows {
                cells: of_node,
                places: written.start..written.end(),
                width: written.width,
                is_read: step.is_read,
                lift: step.lift,
            });
            for passage in step.passages.iter().filter(|p| p.weight != W::zero()) {
                for h in 0..step.histories.0 {
                    let from = read.place(passage.from as usize + h);
                    let to = written.place(step.target(passage, h)) + passage.offset as usize;
                    let flow = |(e, &to_e): (usize, &u16)| {
                        let to = to + to_e as usize;
                        let is_right = |&a: &usize| self.right[to + a * stride] != W::zero();
                        let right = (0..self.q).find(is_right).unwrap_or(0);
                        let flow = CellFlow {
                            from: (from + e) as u32,
                            to: to as u32,
                            weight: passage.weight,
                        };
                        (flow, right as Symbol)
                    };
                    let moves = all.moves(step, passage).iter().enumerate();
                    by_cell[passage.cell as usize + h - cells.start].extend(moves.map(flow));
                }
            }
        }
        let flows = CellFlows::new(cells.start, &by_cell);
        let mut sources: Vec<u32> = flows.flows.iter().map(|flow| flow.from).collect();
        sources.sort_unstable();
        sources.dedup();
        self.steps.push(StepFlows {
            cells,
            nodes,
            flows,
            stride,
            sources,
            settled,
            relabels,
            histories,
            ends,
        });
    }

    /// The bytes that alpha and beta take, and about as much again for the flows themselves.
    pub fn bytes(class: &Class) -> Option<u128> {
        let flows = class.cells() as u128 * 2 * class.q() as u128 * class.q() as u128;
        Steps::<W>::size(class)?
            .checked_mul(4 * size_of::<W>() as u128)?
            .checked_add(flows * size_of::<CellFlow<W>>() as u128)
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
        for step in &self.steps[from..] {
            step.clear(alpha, self.q);
            for cell in step.cells.clone() {
                step.send(alpha, cell, actions[cell]);
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
