//! Cuts a census into parts that can be counted in any order.
//!
//! A part is some classes of prefixes with all that follows, or with what begins with some actions, or
//! every n-th of it. Behind prefixes that know little many actions are equally good, so that a single
//! class may be long.

use super::descent::{Descent, Stretch};
use super::{Frame, Merged};
use crate::landscape::packed::Packed;
use crate::reward::count::flow::FlowTable;
use crate::reward::count::weight::Whole;
use std::ops::{ControlFlow, Range};

/// What is done with the codes of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim {
    /// Behind classes of prefixes and with the last step solved, they are counted.
    Codes,
    /// With the last step solved, they are endings, among which traps are sought.
    Endings,
}

/// Some codes of a stretch.
#[derive(Debug, Clone)]
pub(super) struct CensusPart {
    pub aim: Aim,
    pub stretch: Stretch,
    /// The classes of prefixes before the stretch.
    pub classes: Range<u32>,
    /// The steps of the stretch before this one are set.
    pub begun: usize,
    pub code: Packed,
    /// Of the codes of the other steps, those whose number has this rest when it is divided.
    rest: usize,
    divisor: usize,
}

impl CensusPart {
    /// Whether the next code of its steps is its own.
    pub fn has(&self, number: &mut usize) -> bool {
        *number += 1;
        *number % self.divisor == self.rest
    }
}

/// About how many parts there are where there are enough codes, and the most codes of one, should no
/// action of the last step be better than another.
const PARTS: f64 = 16_384.0;
const PART: f64 = 2_097_152.0;

/// The most parts of a stretch, about; each takes some bytes.
const MOST_PARTS: f64 = 262_144.0;

/// The most codes of which each part of a class counts some.
const MOST_DIVIDED: f64 = 10_000.0;

impl Frame {
    /// Cuts the work into parts.
    pub(super) fn plan<W: Whole>(&self, tables: &Merged<W>) -> Vec<CensusPart> {
        let Merged { flows, prefixes } = tables;
        let (first, last) = (prefixes.steps(), flows.steps.len() - 1);
        let mut parts = Vec::new();
        let seeks = self.splits && self.tolerance == 0;
        for r in (first.max(1)..=last).filter(|_| seeks) {
            // The last step is solved, unless it is the one that forgets.
            let stretch = Stretch {
                first: r,
                end: if r == last { r + 1 } else { last },
                ending: true,
            };
            self.cut(flows, Aim::Endings, stretch, 1, &mut parts);
        }
        let stretch = Stretch {
            first,
            end: last,
            ending: false,
        };
        let classes = prefixes.last().classes() as u32;
        self.cut(flows, Aim::Codes, stretch, classes, &mut parts);
        parts
    }

    /// Cuts the codes of a stretch, behind any of some classes.
    fn cut<W: Whole>(
        &self,
        flows: &FlowTable<W>,
        aim: Aim,
        stretch: Stretch,
        classes: u32,
        parts: &mut Vec<CensusPart>,
    ) {
        let size = |range: Range<usize>| -> f64 {
            let flows = flows.steps[range].iter();
            flows.map(|step| step.codes(self.class.q())).product()
        };
        let last = flows.steps.len() - 1;
        let most = (PART / size(last..last + 1)).max(16.0);
        let all = f64::from(classes) * size(stretch.first..stretch.end);
        let part = (all / PARTS).clamp((most / 512.0).max(16.0), most);
        let mut begun = stretch.first;
        let mut codes: Vec<Packed> = vec![0];
        while begun < stretch.end && size(begun..stretch.end) > part.max(MOST_DIVIDED) {
            let longer = f64::from(classes) * codes.len() as f64 * size(begun..begun + 1);
            if longer >= MOST_PARTS {
                break;
            }
            codes = self.longer(flows, stretch, begun, &codes);
            begun += 1;
        }
        let left = size(begun..stretch.end);
        let together = (part / left).clamp(1.0, f64::from(u32::MAX)) as u32;
        // All codes are gone through for each rest, so that there must not be too many.
        let divisor = if left <= MOST_DIVIDED {
            (left / part).ceil().max(1.0) as usize
        } else {
            1
        };
        for first in (0..classes).step_by(together as usize) {
            let part = |(&code, rest): (&Packed, usize)| CensusPart {
                aim,
                stretch,
                classes: first..classes.min(first.saturating_add(together)),
                begun,
                code,
                rest,
                divisor,
            };
            let each = codes
                .iter()
                .flat_map(|code| (0..divisor).map(move |rest| (code, rest)));
            parts.extend(each.map(part));
        }
    }

    /// Codes of a stretch with one more step.
    fn longer<W: Whole>(
        &self,
        flows: &FlowTable<W>,
        stretch: Stretch,
        begun: usize,
        codes: &[Packed],
    ) -> Vec<Packed> {
        let mut longer = Vec::new();
        let short = Stretch {
            end: begun + 1,
            ..stretch
        };
        let nothing = flows.alpha();
        let mut actions = vec![0; self.class.cells()];
        for &code in codes {
            self.packing.unpack(code, &mut actions);
            let mut descent = Descent::new(self, flows, short, &actions, &nothing);
            let _ = descent.descend(begun, 1, &mut |descent, _| {
                longer.push(self.packing.pack(&descent.actions));
                ControlFlow::Continue(())
            });
        }
        longer
    }

    /// The descent of a part of endings where it begins, and the number of codes this stands for.
    /// What is before its stretch tracks the fold.
    pub(super) fn ending<'a, W: Whole>(
        &self,
        flows: &'a FlowTable<W>,
        part: &CensusPart,
    ) -> (Descent<'a, W>, u128) {
        let mut alpha = flows.alpha();
        flows.pass_forward(&mut alpha, &self.tracker, 0);
        let first = flows.steps[part.stretch.first].cells.start;
        let begun = flows.steps[part.begun - 1].cells.end;
        let mut actions = vec![0; self.class.cells()];
        self.packing.unpack(part.code, &mut actions);
        let mut code = self.tracker.clone();
        if begun > first {
            code[first..begun].copy_from_slice(&actions[first..begun]);
        }
        let mut descent = Descent::new(self, flows, part.stretch, &code, &alpha);
        let weight = descent.begin(part.begun);
        (descent, weight)
    }
}
