//! Lays inputs and emitted tokens out as a sequence (paper, section 2 and app. G.4; SPEC's names).
//!
//! x_1..x_T are the inputs, y_1..y_T the emitted tokens, y_0 the separator. Only differences of
//! positions matter, since positions are rotary. In every layout x_j and y_s lie on two straight
//! lines of positions, which is all that the fast forms need ([`Geometry`]); [`Layout::sequence`]
//! is the sequence itself, which is what the dense reference reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where inputs and emitted tokens stand, and what a step sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// x_1..x_T SEP y_1..y_T.
    Prefix,
    /// The same with inputs right-padded to the cap, the pads masked: x_t stands at a constant
    /// distance from the step that emits y_t.
    #[default]
    PrefixFixed,
    /// As `prefix`, but step t sees x_1..x_t only.
    Causal,
    /// As `prefix-fixed`, but step t sees x_1..x_t only.
    CausalFixed,
    /// x_1 y_1 x_2 y_2 ..; y_t is emitted at x_t.
    Interleaved,
    /// x_t and y_t at position t, the separator at 0; every step sees all inputs.
    Shared,
    /// As `shared`, but step t sees x_1..x_t only.
    SharedCausal,
}

/// The token from which step t is emitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// y_{t-1}, the separator at t = 1.
    Emitted,
    /// x_t.
    Input,
}

/// The two lines of positions of one length, and what steps see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// The position of x_1.
    pub x_start: i32,
    /// From x_j to x_{j+1}.
    pub x_step: i32,
    /// The position of y_0, the separator (which may not be there).
    pub y_start: i32,
    /// From y_s to y_{s+1}.
    pub y_step: i32,
    /// 0 when there is a separator, 1 when not.
    pub first_y: usize,
    /// Where steps are emitted.
    pub query: Query,
    /// Whether step t sees x_1..x_t only.
    pub causal: bool,
}

impl Geometry {
    /// The position of x_j, j from 1.
    pub fn x(&self, j: usize) -> i32 {
        self.x_start + self.x_step * (j as i32 - 1)
    }

    /// The position of y_s; y_0 is the separator.
    pub fn y(&self, s: usize) -> i32 {
        self.y_start + self.y_step * s as i32
    }

    /// The position from which step t is emitted.
    pub fn query(&self, t: usize) -> i32 {
        match self.query {
            Query::Emitted => self.y(t - 1),
            Query::Input => self.x(t),
        }
    }

    /// How many inputs step t of `length` sees: the first so many.
    pub fn inputs_seen(&self, length: usize, t: usize) -> usize {
        if self.causal { t } else { length }
    }
}

/// A token at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The token.
    pub token: usize,
    /// Its rotary position.
    pub position: i32,
}

/// A sequence as a transformer of any depth reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// The slots in causal order.
    pub slots: Vec<Slot>,
    /// `seen[i][j]`: whether slot i attends to slot j.
    pub seen: Vec<Vec<bool>>,
    /// The slot that emits y_t, t = 1 first.
    pub emitting: Vec<usize>,
}

impl Layout {
    /// The positions of inputs of `length` under `cap`, the longest length of the run.
    pub fn geometry(self, length: usize, cap: usize) -> Geometry {
        let prefix = Geometry {
            x_start: 0,
            x_step: 1,
            y_start: length as i32,
            y_step: 1,
            first_y: 0,
            query: Query::Emitted,
            causal: false,
        };
        let fixed = Geometry {
            y_start: cap as i32,
            ..prefix
        };
        let shared = Geometry {
            x_start: 1,
            y_start: 0,
            ..prefix
        };
        let causal = true;
        match self {
            Layout::Prefix => prefix,
            Layout::PrefixFixed => fixed,
            Layout::Causal => Geometry { causal, ..prefix },
            Layout::CausalFixed => Geometry { causal, ..fixed },
            Layout::Shared => shared,
            Layout::SharedCausal => Geometry { causal, ..shared },
            Layout::Interleaved => Geometry {
                x_step: 2,
                y_start: -1,
                y_step: 2,
                first_y: 1,
                query: Query::Input,
                causal,
                ..prefix
            },
        }
    }

    /// The least and the largest distance from a query to a key it sees, over all lengths to `cap`.
    pub fn distances(self, cap: usize) -> (i32, i32) {
        let (mut least, mut largest) = (0, 0);
        for length in 1..=cap {
            let lines = self.geometry(length, cap);
            for t in 1..=length {
                let from = lines.query(t);
                let inputs = (1..=lines.inputs_seen(length, t)).map(|j| from - lines.x(j));
                let tokens = (lines.first_y..t).map(|s| from - lines.y(s));
                for distance in inputs.chain(tokens) {
                    least = least.min(distance);
                    largest = largest.max(distance);
                }
            }
        }
        (least, largest)
    }

    /// The sequence of inputs `x` and emitted tokens `y`, of which the last is not read.
    pub fn sequence(self, x: &[usize], y: &[usize], cap: usize, separator: usize) -> Sequence {
        let length = x.len();
        let lines = self.geometry(length, cap);
        // Each slot with the number of its input, if it is one, and the step it emits, if any.
        let mut slots: Vec<(Slot, Option<usize>, Option<usize>)> = Vec::new();
        let input = |j: usize| Slot {
            token: x[j - 1],
            position: lines.x(j),
        };
        let emitted = |s: usize| Slot {
            token: if s == 0 { separator } else { y[s - 1] },
            position: lines.y(s),
        };
        match lines.query {
            Query::Emitted => {
                slots.extend((1..=length).map(|j| (input(j), Some(j), None)));
                slots.extend((0..length).map(|s| (emitted(s), None, Some(s + 1))));
            }
            Query::Input => {
                for t in 1..=length {
                    slots.push((input(t), Some(t), Some(t)));
                    if t < length {
                        slots.push((emitted(t), None, None));
                    }
                }
            }
        }
        let hidden = |step: Option<usize>, key: Option<usize>| match (step, key) {
            (Some(t), Some(j)) => lines.causal && j > t,
            _ => false,
        };
        let seen = (0..slots.len())
            .map(|i| {
                (0..slots.len())
                    .map(|j| j <= i && !hidden(slots[i].2, slots[j].1))
                    .collect()
            })
            .collect();
        let emitting = (1..=length)
            .map(|t| slots.iter().position(|slot| slot.2 == Some(t)))
            .collect::<Option<Vec<_>>>()
            .expect("every step is emitted somewhere");
        Sequence {
            slots: slots.into_iter().map(|slot| slot.0).collect(),
            seen,
            emitting,
        }
    }
}

/// All layouts, for tests and messages.
pub const LAYOUTS: [Layout; 7] = [
    Layout::Prefix,
    Layout::PrefixFixed,
    Layout::Causal,
    Layout::CausalFixed,
    Layout::Interleaved,
    Layout::Shared,
    Layout::SharedCausal,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_positions_are_those_of_the_sequence() {
        let (x, y, cap, separator) = ([1, 0, 2], [2, 2, 0], 5, 7);
        for layout in LAYOUTS {
            let lines = layout.geometry(3, cap);
            let sequence = layout.sequence(&x, &y, cap, separator);
            let (least, largest) = layout.distances(cap);
            for t in 1..=3 {
                let slot = sequence.emitting[t - 1];
                let mut keys: Vec<(usize, i32)> = (0..sequence.slots.len())
                    .filter(|&j| sequence.seen[slot][j])
                    .map(|j| {
                        let from = sequence.slots[slot].position;
                        (sequence.slots[j].token, from - sequence.slots[j].position)
                    })
                    .collect();
                let from = lines.query(t);
                let token = |s: usize| if s == 0 { separator } else { y[s - 1] };
                let inputs = (1..=lines.inputs_seen(3, t)).map(|j| (x[j - 1], from - lines.x(j)));
                let tokens = (lines.first_y..t).map(|s| (token(s), from - lines.y(s)));
                let mut lined: Vec<(usize, i32)> = inputs.chain(tokens).collect();
                keys.sort_unstable();
                lined.sort_unstable();
                assert_eq!(keys, lined, "{layout:?}, step {t}");
                assert!(keys.iter().all(|&(_, d)| (least..=largest).contains(&d)));
            }
        }
    }

    #[test]
    fn under_fixed_positions_an_input_stands_at_one_distance_from_its_step() {
        for (layout, distance) in [(Layout::PrefixFixed, 21), (Layout::Shared, -1)] {
            for length in 1..=21 {
                let lines = layout.geometry(length, 21);
                for t in 1..=length {
                    assert_eq!(lines.query(t) - lines.x(t), distance);
                }
            }
        }
    }
}
