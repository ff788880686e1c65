//! Passes the weights of all rollouts of a code forward, at any length (paper, App. A).

use super::steps::Steps;
use super::weight::Weight;
use crate::model::class::Class;
use crate::model::policy::Code;
use dashu_int::UBig;

/// The numerator of J over the task's denominator, counted in `W`.
pub(super) fn numerator<W: Weight>(class: &Class, code: &Code) -> UBig {
    by_steps(&Steps::<W>::new(class), code).to_ubig()
}

/// The numerator of J over the task's denominator, by steps that are laid out.
pub(super) fn by_steps<W: Weight>(steps: &Steps<W>, code: &Code) -> W {
    let class = code.class();
    let mut sent: Vec<Vec<W>> = vec![Vec::new(); steps.messages.len()];
    sent[0] = vec![W::of(&UBig::ONE)];
    let mut total = W::zero();
    for (n, step) in steps.steps.iter().enumerate() {
        let message = steps.written(n);
        let mut own = vec![W::zero(); message.end() - message.start];
        for passage in step
            .passages
            .iter()
            .filter(|passage| passage.weight != W::zero())
        {
            let moves = steps.moves(step, passage);
            for h in 0..step.histories.0 {
                let token = code.action(passage.cell as usize + h) as usize;
                let to = (step.target(passage, h) + token) * message.width;
                let from = (passage.from as usize + h) * step.width;
                let row = &mut own[to + passage.offset as usize..];
                for (weight, &e) in sent[step.reads][from..].iter().zip(moves) {
                    row[e as usize].add_product(weight, &passage.weight);
                }
            }
        }
        if let Some(lift) = &step.lift {
            for place in steps.right_answers(class, n) {
                total.add_product(&own[place - message.start], lift);
            }
        }
        sent[n + 1] = own;
        if steps.readers[step.reads].last() == Some(&n) {
            sent[step.reads] = Vec::new();
        }
    }
    total
}
