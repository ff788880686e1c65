//! Holds the codes that a verdict lists, and tells them apart by all cells that differ from the
//! start.

use super::VerdictError;
use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::proof::check::Earnings;
use crate::proof::claim::CodeNode;
use std::collections::HashMap;
use std::sync::Arc;

/// The cells that differ from the start, ascending, with their actions.
type Differences = Arc<[(usize, Symbol)]>;

pub(super) struct Codes {
    start: Code,
    /// By number; that of the start is empty.
    differences: Vec<Differences>,
    /// Code i is `nodes[i - 1]`.
    nodes: Vec<CodeNode>,
    numbers: HashMap<Differences, usize>,
}

impl Codes {
    /// Follows the nodes from the start, and one more that lies beyond them; refuses a code that
    /// is not a single-cell change of an earlier one, a code that was there before, or out of order.
    pub fn new(
        class: &Class,
        start: &Code,
        nodes: &[CodeNode],
        beyond: Option<CodeNode>,
    ) -> Result<Codes, VerdictError> {
        let none: Differences = Arc::new([]);
        let mut codes = Codes {
            start: start.clone(),
            differences: vec![none.clone()],
            nodes: Vec::with_capacity(nodes.len() + 1),
            numbers: HashMap::from([(none, 0)]),
        };
        for node in nodes.iter().copied().chain(beyond) {
            codes.add(class, node)?;
        }
        Ok(codes)
    }

    fn add(&mut self, class: &Class, node: CodeNode) -> Result<(), VerdictError> {
        let (parent, cell, action) = (node.parent as usize, node.cell as usize, node.action);
        let number = self.len();
        let refuse = |problem: String| VerdictError::NoNode {
            number,
            cell,
            parent,
            action,
            problem,
        };
        if parent >= number {
            return Err(refuse("a code is made from an earlier one".to_owned()));
        }
        if cell >= class.cells() || usize::from(action) >= class.q() {
            return Err(refuse(format!(
                "cells are 0 to {}, actions 0 to {}",
                class.cells() - 1,
                class.q() - 1
            )));
        }
        if self.nodes.last().is_some_and(|&last| node <= last) {
            let order = "codes are listed by the code they are made from, cell and action";
            return Err(refuse(order.to_owned()));
        }
        if self.action(parent, cell) == action {
            return Err(refuse("it has this action there".to_owned()));
        }
        let own = self.changed(parent, cell, action);
        if let Some(twin) = self.numbers.insert(own.clone(), number) {
            return Err(refuse(format!("that is code {twin}")));
        }
        self.differences.push(own);
        self.nodes.push(node);
        Ok(())
    }

    /// The number of codes, the start included.
    pub fn len(&self) -> usize {
        self.differences.len()
    }

    fn action(&self, number: usize, cell: usize) -> Symbol {
        let list = &self.differences[number];
        match list.binary_search_by_key(&cell, |&(cell, _)| cell) {
            Ok(place) => list[place].1,
            Err(_) => self.start.action(cell),
        }
    }

    /// The differences of a code with one cell changed.
    fn changed(&self, number: usize, cell: usize, action: Symbol) -> Differences {
        let list = &self.differences[number];
        let before = list.iter().copied().filter(|&(other, _)| other < cell);
        let after = list.iter().copied().filter(|&(other, _)| other > cell);
        let own = (action != self.start.action(cell)).then_some((cell, action));
        before.chain(own).chain(after).collect()
    }

    /// The number of a code and how it is listed, if it is there.
    pub fn find(&self, node: CodeNode) -> Option<(usize, Option<CodeNode>)> {
        let own = self.changed(node.parent as usize, node.cell as usize, node.action);
        let number = *self.numbers.get(&own)?;
        let place = number.checked_sub(1);
        Some((number, place.map(|place| self.nodes[place])))
    }

    /// Gives the rollouts this code. They may have any other of them.
    pub fn go_to(&self, rollouts: &mut impl Earnings, number: usize) {
        let mut target = self.start.clone();
        for &(cell, action) in self.differences[number].iter() {
            target.set(cell, action);
        }
        for cell in 0..target.actions().len() {
            if rollouts.code().action(cell) != target.action(cell) {
                rollouts.set(cell, target.action(cell));
            }
        }
    }
}
