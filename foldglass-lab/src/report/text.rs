//! Renders tables for a terminal: aligned columns, two spaces between them.

use std::io::{self, Write};

use super::{Align, Cell, Column, Table};

/// Columns of known widths, so that the rows of a long list can be written as they come.
#[derive(Debug, Default)]
pub struct Lines {
    columns: Vec<(Column, usize)>,
}

impl Lines {
    /// Adds a column for entries of up to `width` characters.
    pub fn column(mut self, column: Column, width: usize) -> Lines {
        let width = width.max(column.heading().chars().count());
        self.columns.push((column, width));
        self
    }

    /// Writes the heads.
    pub fn write_head(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_texts(out, self.columns.iter().map(|(column, _)| column.heading()))
    }

    /// Writes one row.
    pub fn write_row(&self, out: &mut dyn Write, row: &[Cell]) -> io::Result<()> {
        self.write_texts(out, row.iter().map(entry))
    }

    fn write_texts(
        &self,
        out: &mut dyn Write,
        entries: impl Iterator<Item = String>,
    ) -> io::Result<()> {
        let mut line = String::new();
        for ((column, width), entry) in self.columns.iter().zip(entries) {
            line += &match column.align {
                Align::Left => format!("{entry:<width$}  "),
                Align::Right => format!("{entry:>width$}  "),
            };
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// A row is a line: breaks within an entry become spaces.
fn entry(cell: &Cell) -> String {
    cell.text().replace(['\n', '\r'], " ")
}

/// Writes a table whose rows are all known.
pub fn write(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    if !table.title.is_empty() {
        writeln!(out, "{}", table.title)?;
    }
    let mut lines = Lines::default();
    for (n, column) in table.columns().iter().enumerate() {
        let widths = table
            .entries()
            .iter()
            .map(|row| entry(&row[n]).chars().count());
        lines = lines.column(column.clone(), widths.max().unwrap_or(0));
    }
    lines.write_head(out)?;
    for row in table.entries() {
        lines.write_row(out, row)?;
    }
    let mut notes = table.notes.iter();
    notes.try_for_each(|note| writeln!(out, "{note}"))
}

#[cfg(test)]
mod tests {
    use super::super::table::example;
    use super::*;

    #[test]
    fn numbers_go_right_and_text_goes_left() {
        let lines = Lines::default()
            .column(Column::numbers("cells"), 1)
            .column(Column::words("x"), 3)
            .column(Column::words("y"), 3);
        let mut out = Vec::new();
        lines.write_head(&mut out).unwrap();
        let row = [Cell::Whole(12), "SEP".into(), Cell::Whole(4)];
        lines.write_row(&mut out, &row).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "cells  x    y\n   12  SEP  4\n"
        );
    }

    #[test]
    fn a_table_is_as_wide_as_its_entries_in_characters() {
        let mut out = Vec::new();
        write(&example(), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "What 100 % of the runs_gave\n\
             class                      mean J   at 1      interval  time [s]  exact\n\
             Z_5 | (0,0), \"T=8\"  0.798 ± 0.160  17/60  0.75 to 0.85       1.5  9/10\n\
             parity {k} & \\tau               -      -             -         2  -\n\
             one ± is a spread; 50% < all\n"
        );
    }
}
