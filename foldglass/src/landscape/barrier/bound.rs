//! Finds some way out of a shelf, so that a flood need not look lower (paper, App. G.6).
//!
//! - Held: one cell is changed at a loss and held there while others are set to what is best for
//!   them, one after the other. The height is that first loss, and small losses are tried first.
//! - Folded: cell by cell the code becomes the one that emits x_1, then B[y, x], which earns 1 in
//!   every class. This always leads out.

use super::{Change, Stepped};
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::reward::count::{Numerator, RewardCounter};
use crate::support::watch::{Asking, Observer, Progress, Stopped};

/// The most changes that are tried.
const MOST_HELD: usize = 1000;

/// The changes of a path from the counter's code, whose reward is `top`, to a higher reward, which
/// only its last code has, and the numerator of J after each. Told to stop between two tries, it takes
/// the path of the folding code; told so later, or where a single try takes long, it has none.
pub(super) fn find<C: RewardCounter>(
    counter: &mut C,
    top: &C::Numerator,
    observer: &dyn Observer,
) -> Result<Vec<Stepped<C::Numerator>>, Stopped> {
    if let Some(path) = hold_any(counter, top, observer)? {
        return Ok(path);
    }
    let progress = Progress {
        unit: "ways out by the folding code",
        done: 0,
        all: None,
        share: None,
    };
    let question = || observer.report(progress);
    let mut asking = Asking::new(&question);
    fold(counter, top, &mut asking)
}

fn progress(tried: usize, of: usize) -> Progress<'static> {
    Progress {
        unit: "ways out tried",
        done: tried as u64,
        all: Some(of as u64),
        share: None,
    }
}

/// A path that begins with the change of the smallest loss that leads out when it is held. Where there
/// is none, the counter is led back.
fn hold_any<C: RewardCounter>(
    counter: &mut C,
    top: &C::Numerator,
    observer: &dyn Observer,
) -> Result<Option<Vec<Stepped<C::Numerator>>>, Stopped> {
    let start = counter.code().clone();
    let question = || observer.report(progress(0, MOST_HELD));
    let mut asking = Asking::new(&question);
    let losses = losses(counter, top, &mut asking)?;
    let all = losses.len().min(MOST_HELD);
    for (number, &(_, change)) in losses.iter().take(MOST_HELD).enumerate() {
        if observer.report(progress(number, all)).is_break() {
            break;
        }
        let question = || observer.report(progress(number, all));
        let mut asking = Asking::new(&question);
        let path = hold(counter, change, top, &mut asking)?;
        if counter.reward() > *top {
            return Ok(Some(path));
        }
        for ((cell, _), _) in path {
            counter.set(cell, start.action(cell));
        }
    }
    Ok(None)
}

/// The changes that change J, the smallest loss first.
fn losses<C: RewardCounter>(
    counter: &mut C,
    top: &C::Numerator,
    asking: &mut Asking<'_>,
) -> Result<Vec<(C::Numerator, Change)>, Stopped> {
    let mut losses = Vec::new();
    let mut rewards = vec![C::Numerator::default(); counter.class().q()];
    for cell in 0..counter.class().cells() {
        asking.go_on()?;
        counter.rewards(cell, &mut rewards);
        for (action, reward) in rewards.iter().enumerate() {
            if reward != top {
                let loss = top.checked_sub(reward).unwrap_or_default();
                losses.push((loss, (cell, action as Symbol)));
            }
        }
    }
    losses.sort_unstable();
    Ok(losses)
}

/// Makes a change, then raises J by other cells as long as one can, or until it is above the top.
fn hold<C: RewardCounter>(
    counter: &mut C,
    held: Change,
    top: &C::Numerator,
    asking: &mut Asking<'_>,
) -> Result<Vec<Stepped<C::Numerator>>, Stopped> {
    let cells = counter.class().cells();
    let mut rewards = vec![C::Numerator::default(); counter.class().q()];
    counter.set(held.0, held.1);
    let mut path = vec![(held, counter.reward())];
    // Cells since the last one that was changed.
    let (mut cell, mut unchanged) = (held.0, 0);
    while unchanged < cells && counter.reward() <= *top {
        asking.go_on()?;
        cell = (cell + 1) % cells;
        unchanged += 1;
        if cell == held.0 {
            continue;
        }
        counter.rewards(cell, &mut rewards);
        let best = rewards.iter().max().expect("q is at least 1").clone();
        if best > counter.reward() {
            let action = rewards.iter().position(|reward| *reward == best);
            let action = action.expect("the best is one of them") as Symbol;
            counter.set(cell, action);
            path.push(((cell, action), best));
            unchanged = 0;
        }
    }
    Ok(path)
}

/// Goes to the folding code: all changes that do not lower J, and where there is none the one that
/// lowers it least, until J is above the top.
fn fold<C: RewardCounter>(
    counter: &mut C,
    top: &C::Numerator,
    asking: &mut Asking<'_>,
) -> Result<Vec<Stepped<C::Numerator>>, Stopped> {
    let target = Code::fold(counter.class());
    let mut rewards = vec![C::Numerator::default(); counter.class().q()];
    let mut path = Vec::new();
    let cells = 0..target.actions().len();
    let mut left: Vec<usize> = cells
        .filter(|&cell| counter.code().action(cell) != target.action(cell))
        .collect();
    while counter.reward() <= *top {
        let mut least: Option<(C::Numerator, usize)> = None;
        let mut later = Vec::new();
        for &cell in &left {
            asking.go_on()?;
            let action = target.action(cell);
            counter.rewards(cell, &mut rewards);
            let reward = rewards[action as usize].clone();
            if reward >= counter.reward() {
                counter.set(cell, action);
                let leads_out = reward > *top;
                path.push(((cell, action), reward));
                if leads_out {
                    return Ok(path);
                }
                continue;
            }
            later.push(cell);
            if least.as_ref().is_none_or(|(best, _)| reward > *best) {
                least = Some((reward, cell));
            }
        }
        if later.len() == left.len() {
            let (reward, cell) = least.expect("the folding code earns more");
            counter.set(cell, target.action(cell));
            path.push(((cell, target.action(cell)), reward));
            later.retain(|&other| other != cell);
        }
        left = later;
    }
    Ok(path)
}
