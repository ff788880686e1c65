//! Numbers codes in the order of their actions, the first cell first (paper, App. D).
//!
//! Where tokens are named, a code counts only if the cells of a step first emit their tokens in the
//! order 0, 1, ..: its next action is one that was used, or the first that was not. The number of a
//! code is a sum over its cells: the action, times the number of completions after any smaller one.

use crate::model::operation::Symbol;
use std::ops::Range;

/// The cells of a step, or of all steps of a tied class.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub cells: Range<usize>,
    /// Whether its tokens are named in the order of their use.
    pub named: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Numbering {
    pub q: usize,
    pub cells: usize,
    pub spans: Vec<Span>,
    /// By cell, and by the tokens its span has used before it: what an action counts.
    units: Vec<u32>,
}

impl Numbering {
    /// How many codes there are; none if more than 128 bits can number.
    pub fn size(q: usize, spans: &[Span]) -> Option<u128> {
        spans.iter().try_fold(1u128, |all, span| {
            let cells = span.cells.len();
            let ways = match span.named {
                false => (q as u128).checked_pow(u32::try_from(cells).ok()?)?,
                // All but the first have two actions or more.
                true if cells > 128 => return None,
                true => ways(q, span)[cells][0]?,
            };
            all.checked_mul(ways)
        })
    }

    /// # Panics
    /// If 32 bits cannot number the codes.
    pub fn new(q: usize, spans: Vec<Span>) -> Numbering {
        let cells = spans.last().map_or(0, |span| span.cells.end);
        let mut units = vec![0; cells * (q + 1)];
        let mut after = 1u128;
        for span in spans.iter().rev() {
            let ways = ways(q, span);
            for (i, cell) in span.cells.clone().enumerate() {
                let rest = &ways[span.cells.len() - 1 - i];
                for used in 0..=q {
                    // Tokens that cannot have been used yet have no unit.
                    let unit = rest[used].and_then(|ways| ways.checked_mul(after));
                    units[cell * (q + 1) + used] =
                        unit.and_then(|unit| u32::try_from(unit).ok()).unwrap_or(0);
                }
            }
            let all = ways[span.cells.len()][if span.named { 0 } else { q }];
            after = all
                .and_then(|all| after.checked_mul(all))
                .expect("codes are numbered");
        }
        Numbering {
            q,
            cells,
            spans,
            units,
        }
    }

    /// What an action counts at a cell whose span has used some tokens before it: all of them where
    /// none are named.
    #[inline]
    pub fn unit(&self, cell: usize, used: usize) -> u32 {
        self.units[cell * (self.q + 1) + used]
    }

    /// How many codes have their first spans in common.
    pub fn after(&self, spans: usize) -> usize {
        let ways = Numbering::size(self.q, &self.spans[spans..]);
        ways.expect("codes are numbered") as usize
    }

    #[inline]
    fn used(&self, span: &Span) -> usize {
        if span.named { 0 } else { self.q }
    }

    /// What a span adds to the number; none if its tokens are not named in order.
    #[inline]
    pub fn part(&self, span: &Span, actions: &[Symbol]) -> Option<u32> {
        let (mut used, mut sum) = (self.used(span), 0);
        for cell in span.cells.clone() {
            let action = actions[cell] as usize;
            if action > used {
                return None;
            }
            sum += action as u32 * self.unit(cell, used);
            used += usize::from(action == used);
        }
        Some(sum)
    }

    /// Writes the code of a number, and says how many codes it stands for: those in which its
    /// tokens have other names.
    pub fn write(&self, number: u32, actions: &mut [Symbol]) -> u128 {
        let (mut rest, mut weight) = (number, 1);
        for span in &self.spans {
            let mut used = self.used(span);
            for cell in span.cells.clone() {
                let unit = self.unit(cell, used);
                // After the used actions comes the first unused one, which has more completions.
                let action = ((rest / unit) as usize).min(used);
                rest -= action as u32 * unit;
                actions[cell] = action as Symbol;
                if action == used {
                    weight *= (self.q - used) as u128;
                    used += 1;
                }
            }
        }
        weight
    }
}

/// By the cells still to come, none first, and by the tokens used before them: the number of completions.
/// None where there are more than 128 bits can number.
fn ways(q: usize, span: &Span) -> Vec<Vec<Option<u128>>> {
    let mut table = vec![vec![Some(1u128); q + 1]];
    for rest in 0..span.cells.len() {
        let last = &table[rest];
        let next = |used: usize| {
            let old = last[used]?.checked_mul(used as u128)?;
            let new = if used < q { last[used + 1]? } else { 0 };
            old.checked_add(new)
        };
        let next = (0..=q).map(next).collect();
        table.push(next);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(numbering: &Numbering, code: &[Symbol]) -> u32 {
        let parts = numbering
            .spans
            .iter()
            .map(|span| numbering.part(span, code));
        parts
            .map(|part| part.expect("tokens are named in order"))
            .sum()
    }

    fn spans(named: [bool; 3]) -> Vec<Span> {
        let cells = [0..2, 2..5, 5..8];
        let span = |(cells, named)| Span { cells, named };
        cells.into_iter().zip(named).map(span).collect()
    }

    #[test]
    fn numbers_and_codes_are_one_another_s_inverse_and_in_one_order() {
        for q in [2, 3, 5] {
            for named in [[false; 3], [true, true, false], [true; 3]] {
                let size = Numbering::size(q, &spans(named)).unwrap();
                let numbering = Numbering::new(q, spans(named));
                let (mut code, mut last, mut codes) = (vec![0; 8], Vec::new(), 0);
                for number in 0..size as u32 {
                    codes += numbering.write(number, &mut code);
                    assert_eq!(self::number(&numbering, &code), number);
                    assert!(code > last, "{q} {named:?}");
                    last.clone_from(&code);
                }
                assert_eq!(codes, (q as u128).pow(8), "{q} {named:?}");
            }
        }
    }

    #[test]
    fn a_code_whose_tokens_are_not_named_in_order_has_no_number() {
        let numbering = Numbering::new(3, spans([true; 3]));
        assert_eq!(numbering.part(&numbering.spans[0], &[1, 0]), None);
        assert_eq!(numbering.part(&numbering.spans[0], &[0, 2]), None);
        assert!(numbering.part(&numbering.spans[0], &[0, 1]).is_some());
    }

    #[test]
    fn more_codes_than_128_bits_can_number_have_no_size() {
        let span = |cells| Span {
            cells,
            named: false,
        };
        assert_eq!(Numbering::size(2, &[span(0..127)]), Some(1 << 127));
        assert_eq!(Numbering::size(2, &[span(0..100), span(100..128)]), None);
        assert_eq!(Numbering::size(3, &[span(0..10_000)]), None);
        let (cells, named) = (0..10_000, true);
        assert_eq!(Numbering::size(3, &[Span { cells, named }]), None);
    }
}
