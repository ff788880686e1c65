//! Weighs the symbols that a step draws (paper, App. A); see the parent module.

use super::Scale;
use super::geometry::{Geometry, StepArrays};
use crate::model::class::{Class, Node};
use crate::model::operation::Symbol;
use crate::reward::kernels::Origin;

/// How a node weighs the symbol it draws. Alpha leaves this weight out; post and bbar have it.
#[derive(Debug, PartialEq)]
pub(crate) struct NodeWeights {
    /// For each entering symbol and each lane (zero on padding), the weight.
    pub entering: Vec<f64>,
    /// The weight of x_{t+1} for each x_{t+1}, entering symbol and lane, where the next step mixes.
    pub mixing: Vec<f64>,
}

impl NodeWeights {
    pub fn new(class: &Class, node: &Node, g: &Geometry, scale: Scale) -> NodeWeights {
        let (extent, law) = (&g.arrays.extent, ScaledLaw { class, scale });
        let mut entering = vec![0.0; extent.weights()];
        for symbol in 0..extent.entering {
            for lane in 0..extent.lanes.count {
                let place = extent.lanes.place(extent.entering, symbol, lane);
                entering[place] = law.weight(node, &g.arrays, symbol, lane);
            }
        }
        let mixing = |from: Origin| {
            let x = g.arrays.symbol(from.entering, from.lane, 0);
            law.share(node.t + 1, x, from.draw as Symbol)
        };
        let routes = g.routes.as_ref();
        NodeWeights {
            entering,
            mixing: routes.map_or(Vec::new(), |routes| routes.weights(mixing)),
        }
    }
}

/// The input law on a scale.
struct ScaledLaw<'a> {
    class: &'a Class,
    scale: Scale,
}

impl ScaledLaw<'_> {
    /// The probability, or integer weight, of `x` at position `t` after `before`.
    fn share(&self, t: usize, before: Symbol, x: Symbol) -> f64 {
        let inputs = self.class.task().inputs();
        let weight = inputs.weight(t, before, x) as f64;
        match self.scale {
            Scale::Probability => weight / inputs.denominator(t) as f64,
            Scale::Integer => weight,
        }
    }

    /// The weight of what the node draws, in a lane: one symbol, or at t = 1 all of them.
    fn weight(&self, node: &Node, arrays: &StepArrays, entering: usize, lane: usize) -> f64 {
        let Some(newest) = arrays.roles.entering else {
            return 1.0;
        };
        let symbol = |offset: isize| arrays.symbol(entering, lane, offset);
        let correlated = self.class.task().inputs().is_correlated();
        let oldest = if arrays.is_first { 0 } else { newest };
        let drawn = (oldest..=newest).map(|offset| {
            let is_known = correlated && node.t as isize + offset > 1;
            let before = if is_known { symbol(offset - 1) } else { 0 };
            self.share((node.t as isize + offset) as usize, before, symbol(offset))
        });
        drawn.product()
    }
}
