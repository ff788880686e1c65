//! Finds the cells that a code's rollouts reach, and the ways between them, over all inputs.

use std::collections::BTreeSet;

use foldglass::model::operation::number;
use foldglass::{Code, Symbol};

/// The ways of the rollouts of one length.
pub struct Ways {
    /// By step, the cells that some input reaches.
    pub reached: Vec<BTreeSet<usize>>,
    /// By step but the last, the pairs of cells that some input passes one after the other.
    pub edges: Vec<BTreeSet<(usize, usize)>>,
    /// The last cells with the answers they give.
    pub answers: BTreeSet<(usize, Symbol)>,
}

impl Ways {
    /// Follows a code through the steps of the `which`-th length. A cell shows all that the next
    /// symbol depends on, so cells are followed, not inputs.
    pub fn of(code: &Code, which: usize) -> Ways {
        let class = code.class();
        let path = class.path(which);
        let first = &class.groups()[class.nodes()[path[0]].group];
        let mut reached = vec![BTreeSet::from_iter(
            first.first_cell..first.first_cell + first.cells,
        )];
        let mut edges = Vec::new();
        for (n, nodes) in path.windows(2).enumerate() {
            let mut here = BTreeSet::new();
            for &cell in &reached[n] {
                here.extend(next(code, cell, nodes[0], nodes[1]).map(|to| (cell, to)));
            }
            reached.push(here.iter().map(|&(_, to)| to).collect());
            edges.push(here);
        }
        let last = reached[path.len() - 1].iter();
        Ways {
            answers: last.map(|&cell| (cell, code.action(cell))).collect(),
            reached,
            edges,
        }
    }
}

/// The cells that can follow a cell, from the node of its step to the next.
fn next(code: &Code, cell: usize, from: usize, to: usize) -> impl Iterator<Item = usize> {
    let class = code.class();
    let (from, to) = (&class.nodes()[from], &class.nodes()[to]);
    let key = class.key(cell);
    let window: Vec<Symbol> = key.x.into_iter().flatten().collect();
    let mut tokens: Vec<Symbol> = key.y.into_iter().flatten().collect();
    tokens.push(code.action(cell));
    let tokens = number(&tokens[tokens.len() - to.tokens..], class.q());
    let draws = to.t + to.after > from.t + from.after;
    let last = *window.last().expect("a window shows x_t");
    let inputs = class.task().inputs();
    let follows = move |x: &Symbol| inputs.weight(to.t + to.after, last, *x) > 0;
    let drawn: Vec<Vec<Symbol>> = if draws {
        let symbols = (0..class.q() as Symbol).filter(follows);
        symbols.map(|x| [&window[..], &[x]].concat()).collect()
    } else {
        vec![window]
    };
    let group = &class.groups()[to.group];
    let seen = to.before + 1 + to.after;
    let cells = drawn
        .into_iter()
        .map(move |window| group.cell(number(&window[window.len() - seen..], class.q()), tokens));
    cells.collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::dynamics::chain::random_code;
    use foldglass::model::operation::digits;
    use foldglass::{ClassSpec, InputLaw, Operation, Shape, Stream, support::exact};

    /// Every input, one by one.
    #[test]
    fn the_ways_are_those_of_all_inputs() {
        let shapes = [
            (0, 0, 1),
            (1, 0, 1),
            (0, 1, 1),
            (1, 1, 1),
            (0, 0, 2),
            (1, 2, 2),
        ];
        for (q, law) in [
            (2, InputLaw::Uniform),
            (2, InputLaw::Markov(exact::parse("1").unwrap())),
            (3, InputLaw::Markov(exact::parse("0").unwrap())),
        ] {
            for (past, future, memory) in shapes {
                for tied in [false, true] {
                    let shape = Shape {
                        memory,
                        tied,
                        ..Shape::untied(past, future)
                    };
                    let spec = ClassSpec {
                        inputs: law.clone(),
                        ..ClassSpec::uniform(Operation::cyclic(q).unwrap(), &[2, 4], shape)
                    };
                    let class = spec.lay_out().unwrap();
                    let code = random_code(&class, &mut Stream::new(1, 0));
                    for which in 0..2 {
                        check(&code, which);
                    }
                }
            }
        }
    }

    fn check(code: &Code, which: usize) {
        let class = code.class();
        let (q, length) = (class.q(), class.task().lengths()[which]);
        let mut slow = Ways {
            reached: vec![BTreeSet::new(); length],
            edges: vec![BTreeSet::new(); length - 1],
            answers: BTreeSet::new(),
        };
        for n in 0..q.pow(length as u32) {
            let x = digits(n, q, length);
            if !class.task().inputs().occurs(&x) {
                continue;
            }
            let mut y: Vec<Symbol> = Vec::new();
            let mut last = None;
            for t in 1..=length {
                let cell = class.route(&x, t, &y);
                y.push(code.action(cell));
                slow.reached[t - 1].insert(cell);
                if let Some(last) = last.replace(cell) {
                    slow.edges[t - 2].insert((last, cell));
                }
            }
            slow.answers.insert((last.unwrap(), y[length - 1]));
        }
        let fast = Ways::of(code, which);
        assert_eq!(fast.reached, slow.reached);
        assert_eq!(fast.edges, slow.edges);
        assert_eq!(fast.answers, slow.answers);
    }
}
