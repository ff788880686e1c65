//! Holds a table: columns with a key for programs and a head for people, typed rows, notes.

mod cell;
mod csv;
mod format;
mod json;
mod latex;
mod markdown;
mod text;

use std::io::{self, Write};

use crate::screen::Screen;

pub(crate) use cell::grouped;
pub use cell::{Cell, Digits, short_fraction};
pub use format::Format;
pub use text::StreamedTable;

/// Which way the entries of a column are pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name for programs.
    pub key: String,
    /// Its name for people, without the unit.
    pub head: String,
    /// The side of its entries.
    pub align: Align,
    /// What its numbers count, where they have a unit.
    pub unit: Option<&'static str>,
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it shows; empty where what stands around it says so.
    pub title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// What a reader should know, a line each.
    pub notes: Vec<String>,
}

impl Column {
    /// A column of words, whose key is its head in small letters.
    pub fn words(head: &str) -> Column {
        Column {
            key: key(head),
            head: head.to_owned(),
            align: Align::Left,
            unit: None,
        }
    }

    /// A column of numbers likewise.
    pub fn numbers(head: &str) -> Column {
        Column {
            align: Align::Right,
            ..Column::words(head)
        }
    }

    /// The column with another key.
    pub fn key(self, key: &str) -> Column {
        Column {
            key: key.to_owned(),
            ..self
        }
    }

    /// The column with a unit.
    pub fn unit(self, unit: &'static str) -> Column {
        Column {
            unit: Some(unit),
            ..self
        }
    }

    /// The head with the unit.
    pub fn heading(&self) -> String {
        match self.unit {
            Some(unit) => format!("{} [{unit}]", self.head),
            None => self.head.clone(),
        }
    }
}

/// Small letters and digits, an underscore for each run of others.
fn key(head: &str) -> String {
    let words = head.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("_")
}

impl Table {
    /// A table without rows.
    ///
    /// # Panics
    /// If two columns have the same key.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Table {
        let columns: Vec<Column> = columns.into_iter().collect();
        for (n, column) in columns.iter().enumerate() {
            let again = columns[..n].iter().any(|other| other.key == column.key);
            assert!(!again, "two columns have the key {:?}", column.key);
        }
        Table {
            title: String::new(),
            columns,
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A table of numbers under these heads.
    pub fn of_numbers<const N: usize>(heads: [&str; N]) -> Table {
        Table::new(heads.map(Column::numbers))
    }

    /// The table with a title.
    pub fn titled(self, title: impl Into<String>) -> Table {
        Table {
            title: title.into(),
            ..self
        }
    }

    /// The table with these rows as well.
    pub fn rows<R: Into<Vec<Cell>>>(mut self, rows: impl IntoIterator<Item = R>) -> Table {
        rows.into_iter().for_each(|row| self.push(row));
        self
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has not an entry for each column.
    pub fn push(&mut self, row: impl Into<Vec<Cell>>) {
        let row = row.into();
        assert_eq!(row.len(), self.columns.len(), "the entries of a row");
        self.rows.push(row);
    }

    /// Notes how many of `all` rows are not in it, and which flag shows them.
    pub fn cut(mut self, all: usize, flag: &str) -> Table {
        let more = all - self.rows.len();
        if more > 0 {
            self.notes.push(format!("and {more} more; {flag} has all"));
        }
        self
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows, an entry a column.
    pub fn entries(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Writes it for a person: cut to the width of the terminal where stdout is one.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        text::write(self, Screen::of_stdout(), out)
    }

    /// Writes it in a format.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Text => text::write(self, Screen::PLAIN, out),
            Format::Json => json::write(self, out),
            Format::Csv => csv::write(self, out),
            Format::Markdown => markdown::write(self, out),
            Format::Latex => latex::write(self, out),
        }
    }
}

/// The columns and rows that the tests of all renderers share.
#[cfg(test)]
pub fn example() -> Table {
    use foldglass::support::stats::{Interval, Proportion};

    let columns = [
        Column::words("class"),
        Column::numbers("mean J").key("mean"),
        Column::numbers("at 1"),
        Column::numbers("interval"),
        Column::numbers("time").unit("s"),
        Column::words("exact"),
    ];
    let mut table = Table::new(columns).titled("What 100 % of the runs_gave");
    table.push([
        Cell::from("Z_5 | (0,0), \"T=8\""),
        Cell::MeanSd {
            mean: Digits::Decimals(3).of(0.79812),
            sd: Some(Digits::Decimals(3).of(0.16)),
        },
        Cell::from(Proportion {
            successes: 17,
            trials: 60,
        }),
        Cell::Interval {
            interval: Interval {
                low: 0.75,
                high: 0.85,
            },
            digits: Digits::Decimals(2),
        },
        Cell::real(1.5),
        Cell::Exact("9/10".to_owned()),
    ]);
    table.push([
        Cell::from("parity\n{k} & \\tau"),
        Cell::Missing,
        Cell::Missing,
        Cell::Missing,
        Cell::real(2.0),
        Cell::Missing,
    ]);
    table.notes.push("one ± is a spread; 50% < all".to_owned());
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_of_the_head() {
        assert_eq!(
            Column::words("mean J, second half").key,
            "mean_j_second_half"
        );
        assert_eq!(Column::words("J then").key("reward").key, "reward");
        let timed = Column::numbers("time").unit("s");
        assert_eq!((&timed.key[..], &timed.heading()[..]), ("time", "time [s]"));
    }

    #[test]
    fn a_list_that_is_cut_says_how_much_it_leaves_out() {
        let table = || Table::of_numbers(["run"]).rows([[Cell::Whole(0)]]);
        assert_eq!(
            table().cut(3, "--json").notes,
            ["and 2 more; --json has all"]
        );
        assert!(table().cut(1, "--json").notes.is_empty());
    }

    #[test]
    #[should_panic(expected = "two columns have the key")]
    fn a_key_names_one_column() {
        Table::of_numbers(["a b", "a-b"]);
    }

    #[test]
    #[should_panic(expected = "the entries of a row")]
    fn a_row_has_an_entry_for_each_column() {
        Table::of_numbers(["a", "b"]).push([Cell::Missing]);
    }
}
