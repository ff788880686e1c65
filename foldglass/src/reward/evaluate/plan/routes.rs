//! Says where what a step has computed goes in the message it sends (paper, App. A); see the parent
//! module.

use super::geometry::StepArrays;
use crate::model::class::{Class, Node};
use crate::model::operation::Symbol;
use crate::reward::kernels::{Landing, Moves, Origin, Routes};

/// The routes from a step to the next. Where nothing reaches the message (at t = 1 the fold is x_1) it
/// stays zero.
pub(super) fn routes(class: &Class, node: &Node, arrays: &StepArrays, next: &StepArrays) -> Routes {
    let square = class.task().square();
    let window = -(node.before as isize)..=node.after as isize;
    let place = |from: Origin| {
        let symbol = |offset: isize| match offset {
            1 if next.mixes => from.draw as Symbol,
            _ => arrays.symbol(from.entering, from.lane, offset),
        };
        let after = arrays.fold(class, from.state, from.entering, from.lane);
        // x_{t+1} moves the fold on the way to the next step, unless it enters there.
        let state = if next.roles.entering == Some(0) {
            after
        } else {
            square.multiply(after as Symbol, symbol(1)).into()
        };
        let mut landing = Landing {
            row: state,
            lane: from.lane % arrays.replicas,
        };
        let known = window
            .clone()
            .filter(|&offset| arrays.post_knows(offset))
            .chain(next.mixes.then_some(1));
        for offset in known {
            let step =
                |step: Option<usize>| step.map_or(0, |step| step * usize::from(symbol(offset)));
            landing.row += step(next.leaving_step(offset - 1));
            landing.lane += step(next.lane_step(offset - 1));
        }
        landing
    };
    let draws = if next.mixes { class.q() } else { 1 };
    let moves = moves(class, node, arrays, next);
    Routes::new((&arrays.extent, &next.extent), draws, moves, place)
}

/// How far the tokens remembered after a step move a row of the message, the newest being its action.
fn moves(class: &Class, node: &Node, arrays: &StepArrays, next: &StepArrays) -> Moves {
    let (q, memory) = (class.q(), class.shape().memory);
    let oldest = node.tokens.min(memory - 1);
    let token = |age: usize| {
        if age == oldest && oldest + 1 == memory {
            next.forgotten_step()
        } else {
            next.history_step() * q.pow(age as u32)
        }
    };
    let history = |number: usize| {
        let digit = |age: usize| number / q.pow(age as u32 - 1) % q;
        (1..=oldest).map(|age| digit(age) * token(age)).sum()
    };
    Moves {
        action: token(0),
        histories: (0..arrays.extent.histories).map(history).collect(),
    }
}
