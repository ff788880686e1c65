//! Finds some way out of a shelf, so that a flood need not look lower (paper, App. G.6).
//!
//! - Held: one cell is changed at a loss and held there while others are set to what is best for
//!   them, one after the other. The height is that first loss, and small losses are tried first.
//! - Folded: cell by cell the code becomes the one that emits x_1, then B[y, x], which earns 1 in
//!   every class. This always leads out.

use super::Change;
use crate::class::Class;
use crate::count::Counter;
use crate::policy::Code;
use crate::quasigroup::Symbol;
use crate::watch::{Observer, Progress};

/// The most changes that are tried.
const MOST_HELD: usize = 1000;

/// The changes of a path from the counter's code, whose reward is `top`, to a higher reward, which
/// only its last code has. The counter is led back.
pub(super) fn find(counter: &mut Counter, top: u128, observer: &dyn Observer) -> Vec<Change> {
    let start = counter.code().clone();
    let losses = losses(counter, &start, top);
    for (number, &(_, change)) in losses.iter().take(MOST_HELD).enumerate() {
        let progress = Progress {
            unit: "ways out tried",
            done: number as u64,
            all: Some(losses.len().min(MOST_HELD) as u64),
            share: None,
        };
        if observer.hear(progress).is_break() {
            break;
        }
        let path = hold(counter, change, top);
        let is_out = counter.reward() > top;
        return_to(counter, &start, &path);
        if is_out {
            return path;
        }
    }
    let path = fold(counter, top);
    return_to(counter, &start, &path);
    path
}

fn return_to(counter: &mut Counter, start: &Code, path: &[Change]) {
    for &(cell, _) in path {
        counter.set(cell, start.action(cell));
    }
}

/// The changes that change J, the smallest loss first.
fn losses(counter: &mut Counter, start: &Code, top: u128) -> Vec<(u128, Change)> {
    let mut losses = Vec::new();
    let mut rewards = vec![0; start.class().q()];
    for cell in 0..start.actions().len() {
        counter.rewards(cell, &mut rewards);
        for (action, &reward) in rewards.iter().enumerate() {
            if reward != top {
                losses.push((top.saturating_sub(reward), (cell, action as Symbol)));
            }
        }
    }
    losses.sort_unstable();
    losses
}

/// Makes a change, then raises J by other cells as long as one can, or until it is above the top.
fn hold(counter: &mut Counter, held: Change, top: u128) -> Vec<Change> {
    let cells = counter.class().cells();
    let mut rewards = vec![0; counter.class().q()];
    let mut path = vec![held];
    counter.set(held.0, held.1);
    // Cells since the last one that was changed.
    let (mut cell, mut unchanged) = (held.0, 0);
    while unchanged < cells && counter.reward() <= top {
        cell = (cell + 1) % cells;
        unchanged += 1;
        if cell == held.0 {
            continue;
        }
        counter.rewards(cell, &mut rewards);
        let best = rewards.iter().copied().max().expect("q is at least 1");
        if best > counter.reward() {
            let action = rewards.iter().position(|&reward| reward == best);
            let action = action.expect("the best is one of them") as Symbol;
            counter.set(cell, action);
            path.push((cell, action));
            unchanged = 0;
        }
    }
    path
}

/// The code that emits x_1, then B[y, x].
fn folding(class: &Class) -> Code {
    let past = class.shape().window.past;
    Code::from_fn(class, |cell| {
        let key = class.key(cell);
        let x = key.x[past].expect("the step's own symbol");
        let y = key.y.last().copied().flatten();
        y.map_or(x, |y| class.task().square().multiply(y, x))
    })
}

/// Goes to the folding code: all changes that do not lower J, and where there is none the one that
/// lowers it least, until J is above the top.
fn fold(counter: &mut Counter, top: u128) -> Vec<Change> {
    let target = folding(counter.class());
    let mut rewards = vec![0; counter.class().q()];
    let mut path = Vec::new();
    let cells = 0..target.actions().len();
    let mut left: Vec<usize> = cells
        .filter(|&cell| counter.code().action(cell) != target.action(cell))
        .collect();
    while counter.reward() <= top {
        let mut least: Option<(u128, usize)> = None;
        let mut later = Vec::new();
        for &cell in &left {
            let action = target.action(cell);
            counter.rewards(cell, &mut rewards);
            let reward = rewards[action as usize];
            if reward >= counter.reward() {
                counter.set(cell, action);
                path.push((cell, action));
                if reward > top {
                    return path;
                }
                continue;
            }
            later.push(cell);
            if least.is_none_or(|(best, _)| reward > best) {
                least = Some((reward, cell));
            }
        }
        if later.len() == left.len() {
            let (_, cell) = least.expect("the folding code earns more");
            counter.set(cell, target.action(cell));
            path.push((cell, target.action(cell)));
            later.retain(|&other| other != cell);
        }
        left = later;
    }
    path
}
