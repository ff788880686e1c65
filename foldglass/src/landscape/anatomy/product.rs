//! Factors the reward of a parity code step by step (paper, App. F, eq:prodformula).

use crate::model::policy::Code;
use crate::support::exact::Reward;
use dashu_ratio::RBig;

/// The factor of one step: mu_t times 2, so that it is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factor {
    /// The step, counted from 1.
    pub t: usize,
    /// 2 mu_t: 2 or -2 for a step that tracks the state or its opposite, 1 or -1 for a half-reset, 0
    /// for a dead step.
    pub twice: i8,
}

/// The factors mu_t of J = 1/2 + 1/2 prod mu_t, and that J. None where the formula does not hold: it is
/// for the table of parity, one length, the reward of the last token, the untied window (0,0) with one
/// remembered token, and inputs that are independent and uniform.
///
/// ```
/// use foldglass::landscape::anatomy::product;
/// use foldglass::{ClassSpec, Code, Operation, Shape, reward::count};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let code = Code::new(&class, &[0, 1, 0, 1, 1, 0, 0, 1, 0, 0]).unwrap();
/// let (factors, reward) = product(&code).unwrap();
/// assert_eq!(factors.iter().map(|factor| factor.twice).collect::<Vec<_>>(), [2, 2, 1]);
/// assert_eq!(reward, count::reward(&code));
/// ```
pub fn product(code: &Code) -> Option<(Vec<Factor>, Reward)> {
    let class = code.class();
    let (task, shape) = (class.task(), class.shape());
    let window = shape.window;
    // The other Latin square of two symbols is parity with exchanged names; the formula is not for it.
    let is_parity = class.q() == 2 && task.square().is_latin() && task.square().multiply(0, 0) == 0;
    let holds = is_parity
        && task.rewards_one_step()
        && !shape.tied
        && shape.memory == 1
        && (window.past, window.future) == (0, 0)
        && is_uniform(task.inputs(), task.longest());
    if !holds {
        return None;
    }
    let sign = |cell: usize| 1 - 2 * code.action(cell) as i8;
    let factor = |(n, group): (usize, &crate::model::class::Group)| {
        let first = group.first_cell;
        let twice = match group.histories {
            1 => sign(first) - sign(first + 1),
            // chi is the sign of a permutation, 0 of a constant: half the difference of its ends.
            _ => (sign(first) - sign(first + 1) - sign(first + 2) + sign(first + 3)) / 2,
        };
        Factor { t: n + 1, twice }
    };
    let factors: Vec<Factor> = class.groups().iter().enumerate().map(factor).collect();
    let half = RBig::from_parts(1.into(), 2u8.into());
    let mu = factors.iter().fold(RBig::ONE, |product, factor| {
        product * RBig::from_parts(i32::from(factor.twice).into(), 2u8.into())
    });
    Some((factors, Reward::from(half.clone() + half * mu)))
}

fn is_uniform(inputs: &crate::model::inputs::Inputs, longest: usize) -> bool {
    (1..=longest).all(|t| {
        let weights = [0, 1].map(|last| [0, 1].map(|symbol| inputs.weight(t, last, symbol)));
        weights.as_flattened().iter().all(|&w| w == weights[0][0])
    })
}
