//! Says which cells and nodes belong to a step, and which nodes a rollout passes (paper, section 2.1).

use super::{Class, Group, Node};
use std::ops::Range;

/// The cells and nodes of every step, and the nodes of every length.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StepTable {
    /// By step, its cells; empty in a tied class.
    cells: Vec<Range<usize>>,
    /// By step, its nodes.
    nodes: Vec<Vec<usize>>,
    /// By length of the task, the nodes its rollouts pass, t = 1 first.
    paths: Vec<Vec<usize>>,
}

impl StepTable {
    pub fn new(
        longest: usize,
        groups: &[Group],
        nodes: &[Node],
        last_nodes: &[usize],
    ) -> StepTable {
        let mut cells: Vec<Range<usize>> = Vec::new();
        for group in groups {
            // Groups come by t, so that those of a step lie one behind the other.
            let end = group.first_cell + group.cells;
            match group.t {
                Some(t) if t == cells.len() => cells[t - 1].end = end,
                Some(_) => cells.push(group.first_cell..end),
                None => {}
            }
        }
        let mut by_step = vec![Vec::new(); longest];
        for (n, node) in nodes.iter().enumerate() {
            by_step[node.t - 1].push(n);
        }
        let path = |&last: &usize| {
            let back = std::iter::successors(Some(last), |&n| nodes[n].parent);
            let mut path: Vec<usize> = back.collect();
            path.reverse();
            path
        };
        StepTable {
            cells,
            nodes: by_step,
            paths: last_nodes.iter().map(path).collect(),
        }
    }

    /// The nodes that rollouts of the `which`-th length pass, t = 1 first.
    pub fn path(&self, which: usize) -> &[usize] {
        &self.paths[which]
    }
}

impl Class {
    /// The cells of step `t`, counted from 1; none in a tied class, whose steps share cells.
    ///
    /// ```
    /// use foldglass::{ClassSpec, Operation, Shape};
    /// let spec = ClassSpec::uniform(Operation::paper(), &[3], Shape::untied(0, 0));
    /// let class = spec.lay_out().unwrap();
    /// assert_eq!(class.step_cells(2), Some(5..30));
    /// ```
    ///
    /// # Panics
    /// If there is no such step.
    pub fn step_cells(&self, t: usize) -> Option<Range<usize>> {
        let longest = self.task().longest();
        assert!((1..=longest).contains(&t), "step {t} of {longest}");
        self.0.steps.cells.get(t - 1).cloned()
    }

    /// The nodes of step `t`, counted from 1: one for each number of symbols seen ahead.
    ///
    /// # Panics
    /// If there is no such step.
    pub fn step_nodes(&self, t: usize) -> &[usize] {
        let longest = self.task().longest();
        assert!((1..=longest).contains(&t), "step {t} of {longest}");
        &self.0.steps.nodes[t - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::class::Shape;
    use crate::model::inputs::InputLaw;
    use crate::model::operation::Operation;
    use crate::model::task::Task;
    use crate::support::exact::parse;

    fn classes() -> Vec<Class> {
        let mut list = Vec::new();
        for law in [InputLaw::Uniform, InputLaw::Markov(parse("1").unwrap())] {
            for lengths in [&[4][..], &[1, 3], &[2, 3, 5]] {
                for (past, future) in [(0, 0), (1, 1), (0, 3), (2, 0)] {
                    for tied in [false, true] {
                        let task = Task::new(Operation::cyclic(2).unwrap(), &law, lengths);
                        let shape = Shape {
                            tied,
                            ..Shape::untied(past, future)
                        };
                        let class = Class::new(task.unwrap(), shape);
                        list.push(class.unwrap());
                    }
                }
            }
        }
        list
    }

    #[test]
    fn the_steps_of_an_untied_class_hold_the_cells_whose_keys_name_them() {
        for class in classes() {
            let mut listed = 0;
            for t in 1..=class.task().longest() {
                let cells = class.step_cells(t);
                assert_eq!(cells.is_none(), class.shape().tied);
                for cell in cells.into_iter().flatten() {
                    assert_eq!(cell, listed);
                    assert_eq!(class.key(cell).t, Some(t));
                    listed += 1;
                }
            }
            let all = if class.shape().tied { 0 } else { class.cells() };
            assert_eq!(listed, all);
        }
    }

    #[test]
    fn the_nodes_of_a_step_are_all_those_at_it() {
        for class in classes() {
            for t in 1..=class.task().longest() {
                let nodes = (0..class.nodes().len()).filter(|&n| class.nodes()[n].t == t);
                assert!(nodes.eq(class.step_nodes(t).iter().copied()));
            }
        }
    }

    #[test]
    fn a_path_leads_from_step_1_to_where_its_length_ends() {
        for class in classes() {
            for (which, &length) in class.task().lengths().iter().enumerate() {
                let path = class.path(which);
                assert_eq!(path.len(), length);
                for (t, &n) in (1..).zip(&path) {
                    assert_eq!(class.nodes()[n].t, t);
                    let ahead = class.shape().window.future.min(length - t);
                    assert_eq!(class.nodes()[n].after, ahead);
                }
                assert!(class.nodes()[path[length - 1]].ends);
            }
        }
    }
}
