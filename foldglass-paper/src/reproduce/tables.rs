//! Lays the comparison out as tables: one line per item, and one line per number.

use super::compare::{Compared, Comparison};
use super::headlines::JudgedHeadline;
use super::judge::ComparisonVerdict;
use super::row::Row;
use super::stated::Touches;
use crate::report::{Cell, Column, Digits, INTERVAL_LEVEL, Table};

/// Which numbers are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Those that differ from the paper's.
    Differing,
    /// All of them.
    All,
}

impl Rows {
    /// The rows of an item that are shown.
    pub fn of(self, item: &Compared) -> impl Iterator<Item = &Row> {
        let shown =
            move |row: &&Row| self == Rows::All || row.verdict == ComparisonVerdict::Differs;
        item.rows.iter().filter(shown)
    }
}

/// How many numbers of each item agree, differ, and so on, and of all.
pub fn summary(items: &[Compared]) -> Table {
    let columns = [
        Column::words("item"),
        Column::numbers("agree"),
        Column::numbers("differ"),
        Column::numbers("cannot tell"),
        Column::numbers("not in the paper").key("not_stated"),
        Column::numbers("same runs").key("repeated"),
        Column::words("shows").key("title"),
    ];
    let mut table = Table::new(columns);
    let mut sums = [0; 5];
    for item in items {
        let counts = &item.counts;
        let counts = [
            counts.agree,
            counts.differ,
            counts.cannot_tell,
            counts.not_stated,
            counts.repeated,
        ];
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
        table.push(line(item.item, counts, item.title));
    }
    if items.len() > 1 {
        table.push(line("all", sums, ""));
    }
    table
}

fn line(item: &str, counts: [usize; 5], title: &str) -> Vec<Cell> {
    let counts = counts.map(Cell::from);
    [vec![item.into()], counts.to_vec(), vec![title.into()]].concat()
}

/// The numbers that differ, those that touch a result of the paper first.
pub fn differences(comparison: &Comparison) -> Table {
    let columns = [
        Column::words("item"),
        Column::words("class"),
        Column::words("quantity"),
        Column::words("paper"),
        Column::words("ours"),
        Column::words("p"),
        Column::words("touches"),
        Column::words("note"),
    ];
    let mut table = Table::new(columns).titled("What differs from the paper");
    for (item, row) in comparison.differences() {
        let p = row.p.map(|p| Cell::Real(Digits::Significant(2).of(p)));
        let touches = match row.touches {
            Some(Touches::Protocol) => "a choice of ours",
            _ => "the paper's number",
        };
        table.push([
            item.item.into(),
            row.row.into(),
            row.quantity.clone().into(),
            row.paper_cell.clone(),
            row.ours_cell.clone(),
            p.unwrap_or(Cell::Missing),
            touches.into(),
            row.said().into(),
        ]);
    }
    table
}

/// The headline results, and below each its numbers.
pub fn headlines(results: &[JudgedHeadline<'_>]) -> Table {
    let interval = format!("{} % interval", 100.0 * INTERVAL_LEVEL);
    let columns = [
        Column::words("result, and its numbers").key("result"),
        Column::words("paper"),
        Column::words("ours"),
        Column::words(&interval).key("interval"),
        Column::words("verdict"),
    ];
    let mut table = Table::new(columns);
    for (number, result) in results.iter().enumerate() {
        let (claim, place) = (result.headline.item.title, result.about().number);
        table.push([
            format!("{} {claim} ({place})", number + 1).into(),
            Cell::from(""),
            Cell::from(""),
            Cell::from(""),
            result.verdict().words().to_uppercase().into(),
        ]);
        for (_, row) in &result.rows {
            let interval = match (&row.interval_cell, &row.exact) {
                (Cell::Missing, Some(_)) => Cell::from("exact"),
                (interval, _) => interval.clone(),
            };
            table.push([
                format!("    {}: {}", row.row, row.quantity).into(),
                row.paper_cell.clone(),
                row.ours_cell.clone(),
                interval,
                row.verdict.words().into(),
            ]);
        }
    }
    table
}

/// The numbers of one item, for a person.
pub fn of_item(item: &Compared, rows: Rows) -> Table {
    let columns = columns();
    let mut table = Table::new(columns).titled(format!("{}: {}", item.item, item.title));
    Rows::of(rows, item).for_each(|row| table.push(cells(row)));
    table
}

/// The numbers of all items in one list, for a program.
pub fn of_all(items: &[Compared], rows: Rows) -> Table {
    let columns = [Column::words("item")].into_iter().chain(columns());
    let mut table = Table::new(columns);
    for item in items {
        for row in rows.of(item) {
            table.push([vec![item.item.into()], cells(row)].concat());
        }
    }
    table
}

fn columns() -> Vec<Column> {
    let interval = format!("{} % interval", 100.0 * INTERVAL_LEVEL);
    vec![
        Column::words("class"),
        Column::words("quantity"),
        Column::words("paper"),
        Column::words("ours"),
        Column::words(&interval).key("interval"),
        Column::numbers("n"),
        Column::words("verdict"),
        Column::words("p"),
        Column::words("would differ").key("detectable"),
        Column::words("note"),
    ]
}

fn cells(row: &Row) -> Vec<Cell> {
    let p = row.p.map(|p| Cell::Real(Digits::Significant(2).of(p)));
    let detectable = match (row.detectable, row.verdict) {
        (Some(detectable), _) => Cell::from(detectable.text()),
        (None, ComparisonVerdict::NotStated) => Cell::Missing,
        (None, _) => Cell::from("nothing"),
    };
    vec![
        row.row.into(),
        row.quantity.clone().into(),
        row.paper_cell.clone(),
        row.ours_cell.clone(),
        row.interval_cell.clone(),
        row.n.into(),
        row.verdict.words().into(),
        p.unwrap_or(Cell::Missing),
        detectable,
        row.said().into(),
    ]
}
