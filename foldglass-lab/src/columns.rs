//! Aligns the columns of small tables and of long lists.

use std::fmt::Display;
use std::io::{self, Write};

/// Which way the entries of a column are pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Columns of known widths, so that rows can be written as they come.
#[derive(Debug, Default)]
pub struct Columns {
    columns: Vec<(String, Align, usize)>,
}

impl Columns {
    /// Adds a column for entries of up to `width` characters.
    pub fn add(mut self, head: &str, align: Align, width: usize) -> Columns {
        let width = width.max(head.chars().count());
        self.columns.push((head.to_owned(), align, width));
        self
    }

    /// Writes the heads.
    pub fn write_head(&self, out: &mut dyn Write) -> io::Result<()> {
        let heads: Vec<&str> = self.columns.iter().map(|(head, ..)| &head[..]).collect();
        self.write_row(out, &heads)
    }

    /// Writes one row.
    pub fn write_row(&self, out: &mut dyn Write, entries: &[impl Display]) -> io::Result<()> {
        let mut line = String::new();
        for ((_, align, width), entry) in self.columns.iter().zip(entries) {
            let entry = entry.to_string();
            line += &match align {
                Align::Left => format!("{entry:<width$}  "),
                Align::Right => format!("{entry:>width$}  "),
            };
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// Writes a table whose rows are all known.
pub fn write_table<const N: usize>(
    out: &mut dyn Write,
    heads: [(&str, Align); N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let columns = (0..)
        .zip(heads)
        .fold(Columns::default(), |columns, (i, (head, align))| {
            columns.add(head, align, widest(rows.iter().map(|row| &row[i])))
        });
    columns.write_head(out)?;
    rows.iter().try_for_each(|row| columns.write_row(out, row))
}

/// The number of characters of the longest entry.
pub fn widest<T: AsRef<str>>(entries: impl IntoIterator<Item = T>) -> usize {
    let widths = entries.into_iter().map(|e| e.as_ref().chars().count());
    widths.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_right_and_text_goes_left() {
        let columns = Columns::default()
            .add("cells", Align::Right, 1)
            .add("x", Align::Left, 3)
            .add("y", Align::Left, 3);
        let mut out = Vec::new();
        columns.write_head(&mut out).unwrap();
        columns.write_row(&mut out, &["12", "SEP", "4"]).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "cells  x    y\n   12  SEP  4\n"
        );
    }

    #[test]
    fn the_widest_entry_is_measured_in_characters() {
        assert_eq!(widest(["ab", "τττ", ""]), 3);
        assert_eq!(widest([""; 0]), 0);
    }
}
