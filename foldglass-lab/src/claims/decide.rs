//! Makes verdicts of numbers that are compared with the paper's, and of conditions.

use super::{Decided, Facts, Verdict};
use crate::reproduce::{self, Row};

/// Differences that evidence names one by one.
const NAMED: usize = 3;

/// A verdict with its evidence.
pub fn say(verdict: Verdict, evidence: impl Into<String>) -> Option<Decided> {
    Some(Decided {
        verdict,
        evidence: evidence.into(),
    })
}

/// Shown if it holds, else refuted.
pub fn holds(is: bool, evidence: impl Into<String>) -> Option<Decided> {
    let verdict = if is { Verdict::Shown } else { Verdict::Refuted };
    say(verdict, evidence)
}

/// Shown if all of it holds, refuted if nothing does, else shown in part.
pub fn parts(parts: &[bool], evidence: impl Into<String>) -> Option<Decided> {
    let true_ones = parts.iter().filter(|&&part| part).count();
    let verdict = match true_ones {
        all if all == parts.len() => Verdict::Shown,
        0 => Verdict::Refuted,
        _ => Verdict::InPart,
    };
    say(verdict, evidence)
}

/// The verdict on numbers of an item, named by class and quantity.
pub fn numbers(facts: &Facts, item: &str, named: &[(&str, &str)]) -> Option<Decided> {
    let row = |&(class, quantity): &(&str, &str)| facts.row(item, class, quantity);
    let rows: Option<Vec<&Row>> = named.iter().map(row).collect();
    compared(item, &rows?)
}

/// The verdict on all numbers of an item that are such.
pub fn such(facts: &Facts, item: &str, is: impl Fn(&Row) -> bool) -> Option<Decided> {
    let rows: Vec<&Row> = facts.item(item)?.iter().filter(|row| is(row)).collect();
    compared(item, &rows)
}

/// A number beside the paper's, in words.
pub fn beside(row: &Row) -> String {
    format!(
        "{}, {}: {} ({} in the paper)",
        row.row,
        row.quantity,
        row.ours_cell.text(),
        row.paper_cell.text()
    )
}

/// Shown where all agree, refuted where all that can be told differ, open where none can be told.
fn compared(item: &str, rows: &[&Row]) -> Option<Decided> {
    let stated = |verdict| move |row: &&&Row| row.verdict == verdict;
    let agree = rows.iter().filter(stated(reproduce::Verdict::Agrees));
    let differ: Vec<&&Row> = rows
        .iter()
        .filter(stated(reproduce::Verdict::Differs))
        .collect();
    let untold = rows.iter().filter(stated(reproduce::Verdict::CannotTell));
    let (agree, untold) = (agree.count(), untold.count());
    let verdict = match (agree, differ.len(), untold) {
        (0, 0, _) => Verdict::Open,
        (_, 0, 0) => Verdict::Shown,
        (0, _, 0) => Verdict::Refuted,
        _ => Verdict::InPart,
    };
    let told = |row: &&&Row| beside(row);
    let text = match rows {
        [] => return None,
        [row] => beside(row),
        _ => {
            let mut text = format!("{agree} of {} numbers of {item} agree", rows.len());
            if untold > 0 {
                text += &format!(", {untold} cannot be told");
            }
            if !differ.is_empty() {
                let named: Vec<String> = differ.iter().take(NAMED).map(told).collect();
                text += &format!(", {} differ: {}", differ.len(), named.join("; "));
            } else if rows.len() <= NAMED {
                let named: Vec<String> = rows.iter().map(|row| beside(row)).collect();
                text += &format!(": {}", named.join("; "));
            }
            text
        }
    };
    say(verdict, text)
}
