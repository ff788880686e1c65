//! Lists where what a step has computed goes in the message it sends (paper, App. A); see the parent
//! module.

use super::geometry::Layout;
use crate::class::{Class, Node};
use crate::kernels::{Columns, Piece, Routes};
use crate::quasigroup::Symbol;
use std::collections::{BTreeMap, HashSet};

/// How a step's results become the message. Where nothing reaches it (at t = 1 the fold is x_1) it stays
/// zero.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Passage {
    pub routes: Routes,
    /// Where the next step mixes: for each piece x_t and x_{t+1}, whose weight it has.
    pub mixed: Vec<(Symbol, Symbol)>,
}

/// A symbol or a token: how far it moves a place in post and in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Digit {
    post: usize,
    message: usize,
    count: usize,
    /// The symbol's position relative to t, where the state depends on it or a sum goes over it.
    bound: Option<isize>,
}

/// One way to set all digits that are listed.
#[derive(Debug, Clone, Copy)]
struct Point {
    post: usize,
    message: usize,
    /// The digit that numbers the rows, x_t and x_{t+1}.
    row: usize,
    x: Symbol,
    next: Symbol,
}

impl Passage {
    pub fn new(class: &Class, node: &Node, layout: &Layout, next: &Layout) -> Passage {
        let mut digits = symbols(node, layout, next);
        digits.extend(tokens(class, node, layout, next));
        let mut run = layout.replicas;
        widen(&mut digits, &mut run);
        let columns = take_columns(&mut digits);
        let rows = digits
            .iter()
            .position(|digit| digit.message == run && run == layout.replicas);
        let passage = |rows: Option<usize>| {
            let points = points(class, layout, next, &digits, rows);
            pieces(&points, rows.map_or(1, |row| digits[row].count), run).map(
                |(pieces, post_rows)| {
                    let mixed = points.iter().map(|point| (point.x, point.next));
                    let routes = Routes::new(pieces, post_rows, columns, run);
                    Passage {
                        routes,
                        mixed: if next.mixes {
                            mixed.collect()
                        } else {
                            Vec::new()
                        },
                    }
                },
            )
        };
        let in_rows = if next.mixes { None } else { rows };
        let found = in_rows.and_then(|row| passage(Some(row)));
        found
            .or_else(|| passage(None))
            .expect("a row of one is whole")
    }
}

/// The symbols that post tells apart.
fn symbols(node: &Node, layout: &Layout, next: &Layout) -> Vec<Digit> {
    let window = -(node.before as isize)..=node.after as isize;
    let folds_now = layout.is_first || layout.roles.entering == Some(0);
    let mut digits: Vec<Digit> = window
        .filter_map(|offset| {
            let post = layout.post_symbol(offset)?;
            let message = next.alpha_symbol(offset - 1);
            // x_{t+1} moves the fold on the way to the next step.
            let is_bound = (offset == 0 && folds_now) || offset == 1 || message.is_none();
            Some(Digit {
                post,
                message: message.unwrap_or(0),
                count: layout.extent.actions,
                bound: is_bound.then_some(offset),
            })
        })
        .collect();
    if next.mixes {
        digits.push(Digit {
            post: 0,
            message: next.alpha_symbol(0).expect("a symbol of the middle"),
            count: layout.extent.actions,
            bound: Some(1),
        });
    }
    digits
}

/// The tokens remembered after the step, the newest being its action.
fn tokens(class: &Class, node: &Node, layout: &Layout, next: &Layout) -> Vec<Digit> {
    let (q, memory) = (class.q(), class.shape().memory);
    let oldest = node.tokens.min(memory - 1);
    let token = |age: usize| Digit {
        post: if age == 0 {
            layout.post_action()
        } else {
            layout.post_history() * q.pow(age as u32 - 1)
        },
        message: if age == oldest && oldest + 1 == memory {
            next.alpha_forgotten()
        } else {
            next.alpha_history() * q.pow(age as u32)
        },
        count: q,
        bound: None,
    };
    (0..=oldest).map(token).collect()
}

/// Joins digits that move alike to longer runs and to longer digits.
fn widen(digits: &mut Vec<Digit>, run: &mut usize) {
    let is_side_by_side = |digit: &Digit, run: usize| {
        digit.bound.is_none() && digit.post == run && digit.message == run
    };
    while let Some(n) = digits.iter().position(|digit| is_side_by_side(digit, *run)) {
        *run *= digits.remove(n).count;
    }
    let follows = |fast: &Digit, slow: &Digit| {
        let free = fast.bound.is_none() && slow.bound.is_none();
        free && slow.post == fast.count * fast.post && slow.message == fast.count * fast.message
    };
    while let Some((fast, slow)) = pair(digits, follows) {
        digits[fast].count *= digits[slow].count;
        digits.remove(slow);
    }
}

/// Two places of a list whose values are so related.
fn pair<T>(list: &[T], related: impl Fn(&T, &T) -> bool) -> Option<(usize, usize)> {
    let pairs = (0..list.len()).flat_map(|a| (0..list.len()).map(move |b| (a, b)));
    pairs
        .filter(|(a, b)| a != b)
        .find(|&(a, b)| related(&list[a], &list[b]))
}

/// Takes the digit that is fastest in post to be the columns of every piece.
fn take_columns(digits: &mut Vec<Digit>) -> Columns {
    let free = digits
        .iter()
        .enumerate()
        .filter(|(_, digit)| digit.bound.is_none());
    match free.min_by_key(|(_, digit)| digit.post).map(|(n, _)| n) {
        None => Columns {
            count: 1,
            post: 0,
            message: 0,
        },
        Some(n) => {
            let Digit {
                post,
                message,
                count,
                ..
            } = digits.remove(n);
            Columns {
                count,
                post,
                message,
            }
        }
    }
}

/// Goes through all states and all values of the digits; `rows` is the digit that numbers rows.
fn points(
    class: &Class,
    layout: &Layout,
    next: &Layout,
    digits: &[Digit],
    rows: Option<usize>,
) -> Vec<Point> {
    let all: usize = digits.iter().map(|digit| digit.count).product();
    let square = class.task().square();
    let point = |number: usize| {
        let mut point = Point {
            post: 0,
            message: 0,
            row: 0,
            x: 0,
            next: 0,
        };
        let mut rest = number;
        for (n, digit) in digits.iter().enumerate() {
            let value = rest % digit.count;
            rest /= digit.count;
            point.post += value * digit.post;
            point.message += value * digit.message;
            match digit.bound {
                Some(0) => point.x = value as Symbol,
                Some(1) => point.next = value as Symbol,
                _ => {}
            }
            if rows == Some(n) {
                point.row = value;
            }
        }
        let s = rest;
        let after = if layout.is_first {
            point.x
        } else if layout.roles.entering == Some(0) {
            square.multiply(s as Symbol, point.x)
        } else {
            s as Symbol
        };
        let state = if next.roles.entering == Some(0) {
            after
        } else {
            square.multiply(after, point.next)
        };
        point.post += s * layout.post_state();
        point.message += usize::from(state) * next.alpha_state();
        point
    };
    (0..layout.extent.states * all).map(point).collect()
}

/// The pieces and their rows in post; none if some piece would lack a row, or have two for one.
fn pieces(points: &[Point], rows: usize, run: usize) -> Option<(Vec<Piece>, Vec<usize>)> {
    if rows == 1 {
        let (mut in_post, mut in_message) = (HashSet::new(), HashSet::new());
        let piece = |point: &Point| Piece {
            message: point.message,
            first_in_message: in_message.insert(point.message),
            first_in_post: in_post.insert(point.post),
        };
        let pieces = points.iter().map(piece).collect();
        return Some((pieces, points.iter().map(|point| point.post).collect()));
    }
    let mut found: BTreeMap<usize, Vec<Option<usize>>> = BTreeMap::new();
    for point in points {
        let start = point.message - point.row * run;
        let row = &mut found.entry(start).or_insert(vec![None; rows])[point.row];
        if row.replace(point.post).is_some() {
            return None;
        }
    }
    let piece = |&message: &usize| Piece {
        message,
        first_in_message: true,
        first_in_post: true,
    };
    let pieces = found.keys().map(piece).collect();
    let post_rows: Option<Vec<usize>> = found.into_values().flatten().collect();
    let post_rows = post_rows?;
    let distinct = post_rows.iter().collect::<HashSet<_>>().len() == post_rows.len();
    distinct.then_some((pieces, post_rows))
}
