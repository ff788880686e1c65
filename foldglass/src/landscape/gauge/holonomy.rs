//! Reads the links of a code and their holonomies (paper, App. D).
//!
//! With one remembered token, the cells of one step and one window w map the token read to the token
//! emitted: the link matrix Sigma_{t,w}. A relabelling makes it g_t Sigma_{t,w} g_{t-1}^{-1}. Between
//! two windows of a step, Sigma_{t,w} Sigma_{t,v}^{-1} becomes g_t (..) g_t^{-1}: the tokens read are
//! gone from it. It exists where Sigma_{t,v} is invertible, that is, merges no two tokens.
//!
//! At t = 1 nothing is read: what is emitted there is the boundary term.

use super::{cells_by_window, inverse};
use crate::model::operation::Symbol;
use crate::model::policy::Code;

/// The links of one step, window by window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    /// The step, counted from 1; none where steps share the cells.
    pub t: Option<usize>,
    /// The windows, as base-q numbers.
    pub windows: Vec<usize>,
    /// For each window, the token emitted after each token read; at t = 1 the token emitted.
    pub maps: Vec<Vec<Symbol>>,
    /// The first window whose link is invertible, as a place in `windows`; none at t = 1.
    pub reference: Option<usize>,
    /// Sigma_{t,w} Sigma_{t,v}^{-1} for each window w, v the reference; empty where there is none.
    pub holonomies: Vec<Vec<Symbol>>,
}

impl Links {
    /// The number of tokens that a link emits.
    pub fn rank(map: &[Symbol]) -> usize {
        let mut tokens = map.to_vec();
        tokens.sort_unstable();
        tokens.dedup();
        tokens.len()
    }
}

/// The links of a code of a class with one remembered token; none where more are remembered.
///
/// ```
/// use foldglass::landscape::gauge::links;
/// use foldglass::{ClassSpec, Code, Operation, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(3).unwrap(), &[2], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let fold = Code::from_fn(&class, |cell| {
///     let key = class.key(cell);
///     key.y[0].map_or(key.x[0].unwrap(), |y| (y + key.x[0].unwrap()) % 3)
/// });
/// let links = links(&fold).unwrap();
/// // Adding 2 and taking 0 away again: a cycle of the tokens.
/// assert_eq!(links[1].holonomies[2], [2, 0, 1]);
/// ```
pub fn links(code: &Code) -> Option<Vec<Links>> {
    let class = code.class();
    if class.shape().memory > 1 {
        return None;
    }
    let of_group = |group: &crate::model::class::Group| {
        let map = |first: usize| code.actions()[first..][..group.histories].to_vec();
        let maps: Vec<Vec<Symbol>> = cells_by_window(group).map(map).collect();
        let invertible = |map: &Vec<Symbol>| Links::rank(map) == class.q();
        let reference = maps.iter().position(invertible);
        let holonomies = reference.map_or(Vec::new(), |v| {
            let back = inverse(&maps[v]);
            let one = |map: &Vec<Symbol>| back.iter().map(|&y| map[y as usize]).collect();
            maps.iter().map(one).collect()
        });
        Links {
            t: group.t,
            windows: (0..group.windows()).map(|n| group.window(n)).collect(),
            maps,
            reference,
            holonomies,
        }
    };
    Some(class.groups().iter().map(of_group).collect())
}
