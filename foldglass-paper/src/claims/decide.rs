//! Makes decisions of numbers that `reproduce` compares with the paper's.

use super::basis::{networks, of_parts, sampled};
use super::{Absent, Basis, Decided, ReproductionFacts};
use crate::reproduce::{self, Item, Key, Row, Why};

/// The standard errors at the level of comparisons, 1 %: statements are judged at the same level as numbers.
pub const SCORE: f64 = 2.576;

/// Intervals of statements contain the true value as often.
pub const INTERVAL: f64 = 1.0 - reproduce::LEVEL;

/// Differences that evidence names one by one.
const NAMED: usize = 3;

/// The decision on numbers of an item.
pub fn numbers(
    facts: &ReproductionFacts,
    item: &'static Item,
    keys: impl IntoIterator<Item = Key>,
) -> Result<Decided, Absent> {
    let rows = keys.into_iter().map(|key| facts.at(item, key));
    let rows: Vec<&Row> = rows.collect::<Result<_, _>>()?;
    compared(item, &rows)
}

/// The decision on all numbers of an item that the paper states.
pub fn all_numbers(facts: &ReproductionFacts, item: &'static Item) -> Result<Decided, Absent> {
    let stated = |row: &&Row| row.verdict != reproduce::ComparisonVerdict::NotStated;
    let rows: Vec<&Row> = facts.rows(item)?.iter().filter(stated).collect();
    compared(item, &rows)
}

/// What rows of an item rest on: the fewest runs of one, of as many as the comparison needs.
pub fn basis(item: &Item, rows: &[&Row]) -> Basis {
    let fewest = rows.iter().min_by_key(|row| {
        let enough = row.n >= row.needs;
        (enough, row.n)
    });
    let (n, needs) = fewest.map_or((0, 1), |row| (row.n, row.needs));
    if item.fleets().next().is_some() {
        networks(n, needs)
    } else {
        sampled(n, needs)
    }
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

/// What follows a count of these, where there are some.
pub fn listed(before: &str, words: &[String]) -> String {
    match words.is_empty() {
        true => String::new(),
        false => format!("{before}{}", words.join(", ")),
    }
}

/// Whether a number agrees with the paper's; none where that cannot be told.
pub fn told(row: &Row) -> Option<bool> {
    match row.verdict {
        reproduce::ComparisonVerdict::Agrees => Some(true),
        reproduce::ComparisonVerdict::Differs => Some(false),
        _ => None,
    }
}

/// Every number is a part; undecided where one rests on too few runs.
fn compared(item: &Item, rows: &[&Row]) -> Result<Decided, Absent> {
    let stated = |verdict| move |row: &&&Row| row.verdict == verdict;
    let agree = rows
        .iter()
        .filter(stated(reproduce::ComparisonVerdict::Agrees));
    let differ: Vec<&&Row> = rows
        .iter()
        .filter(stated(reproduce::ComparisonVerdict::Differs))
        .collect();
    let untold = rows
        .iter()
        .filter(stated(reproduce::ComparisonVerdict::CannotTell));
    let (agree, untold) = (agree.count(), untold.count());
    let parts: Vec<Option<bool>> = rows.iter().map(|row| told(row)).collect();
    let verdict = of_parts(&parts);
    let text = match rows {
        [row] => beside(row),
        _ => {
            let label = item.label;
            let mut text = format!("{agree} of {} numbers of {label} agree", rows.len());
            if untold > 0 {
                text += &format!(", {untold} cannot be told");
            }
            if !differ.is_empty() {
                let named: Vec<String> = differ.iter().take(NAMED).map(|row| beside(row)).collect();
                text += &format!(", {} differ: {}", differ.len(), named.join("; "));
            } else if rows.len() <= NAMED {
                let named: Vec<String> = rows.iter().map(|row| beside(row)).collect();
                text += &format!(": {}", named.join("; "));
            }
            text
        }
    };
    // A row without runs is as good as none; one whose test could not have told is not short of runs.
    let short = |row: &&&Row| matches!(row.why, Some(Why::NoRuns | Why::FewRuns));
    let short: Vec<&Row> = rows.iter().filter(short).copied().collect();
    let rests_on = if short.is_empty() { rows } else { &short[..] };
    basis(item, rests_on).says(verdict, text)
}
