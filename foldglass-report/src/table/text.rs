//! Renders tables for a terminal: aligned columns, two spaces between them, words cut where the table
//! would be wider than the terminal.

use std::io::{self, Write};

use super::{Align, Cell, Column, Table};
use crate::screen::Screen;
use crate::tone::Tone;

/// Columns of known widths, so that the rows of a long list can be written as they come.
#[derive(Debug, Default)]
pub struct StreamedTable {
    columns: Vec<(Column, usize)>,
    colour: bool,
    /// Whether longer entries are cut to the widths.
    cuts: bool,
}

impl StreamedTable {
    /// Adds a column for entries of up to `width` characters.
    pub fn column(mut self, column: Column, width: usize) -> StreamedTable {
        let width = width.max(column.heading().chars().count());
        self.columns.push((column, width));
        self
    }

    /// Writes the heads.
    pub fn write_head(&self, out: &mut dyn Write) -> io::Result<()> {
        let heads = self.columns.iter().map(|(column, _)| column.heading());
        let heads: String = self.line(heads);
        writeln!(out, "{}", painted(&heads, BOLD, self.colour))
    }

    /// Writes one row.
    pub fn write_row(&self, out: &mut dyn Write, row: &[Cell]) -> io::Result<()> {
        let line = self.line(row.iter().map(entry));
        let judged = |column: &Column, cell: &Cell| -> Option<&'static str> {
            let sgr = Tone::of(&cell.text()).sgr()?;
            (column.key == "verdict").then_some(sgr)
        };
        let of_row = self.columns.iter().zip(row);
        let mut sgr = of_row.filter_map(|((column, _), cell)| judged(column, cell));
        match sgr.next().filter(|_| self.colour) {
            Some(sgr) => writeln!(out, "{}", painted(&line, sgr, true)),
            None => writeln!(out, "{line}"),
        }
    }

    fn line(&self, entries: impl Iterator<Item = String>) -> String {
        let mut line = String::new();
        for ((column, width), entry) in self.columns.iter().zip(entries) {
            let entry = if self.cuts {
                cut(&entry, *width)
            } else {
                entry
            };
            line += &match column.align {
                Align::Left => format!("{entry:<width$}  "),
                Align::Right => format!("{entry:>width$}  "),
            };
        }
        line.trim_end().to_owned()
    }
}

/// Bold type.
const BOLD: &str = "1";

fn painted(text: &str, sgr: &str, colour: bool) -> String {
    if colour {
        format!("\x1b[{sgr}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// The first characters of a text that is too long, and a sign that there are more.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A row is a line: breaks within an entry become spaces.
fn entry(cell: &Cell) -> String {
    cell.text().replace(['\n', '\r'], " ")
}

/// Writes a table whose rows are all known.
pub fn write(table: &Table, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    if !table.title.is_empty() {
        writeln!(out, "{}", table.title)?;
    }
    let widths = table.columns().iter().enumerate().map(|(n, column)| {
        let entries = table.entries().iter();
        let widths = entries.map(|row| entry(&row[n]).chars().count());
        let head = column.heading().chars().count();
        widths.max().unwrap_or(0).max(head)
    });
    let widths: Vec<usize> = widths.collect();
    let fitting = fit(table.columns(), &widths, screen.width);
    let mut lines = StreamedTable {
        colour: screen.colour,
        cuts: true,
        columns: Vec::new(),
    };
    for (column, width) in table.columns().iter().zip(&fitting) {
        lines = lines.column(column.clone(), *width);
    }
    lines.write_head(out)?;
    for row in table.entries() {
        lines.write_row(out, row)?;
    }
    if fitting != widths {
        let columns = screen.width.unwrap_or(0);
        writeln!(
            out,
            "… cut to {columns} columns; --format text has all of it"
        )?;
    }
    let mut notes = table.notes.iter();
    notes.try_for_each(|note| writeln!(out, "{note}"))
}

/// Columns of words are cut to this at most.
const LEAST: usize = 12;

/// The widths at which the columns fit: the widest words give way first. Numbers and heads are never
/// cut, so that a table may stay too wide.
fn fit(columns: &[Column], widths: &[usize], room: Option<usize>) -> Vec<usize> {
    let mut widths = widths.to_vec();
    let Some(room) = room else {
        return widths;
    };
    let gaps = 2 * columns.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > room {
        let least = |n: usize| columns[n].heading().chars().count().max(LEAST);
        let gives = |&n: &usize| columns[n].align == Align::Left && widths[n] > least(n);
        let Some(widest) = (0..columns.len()).filter(gives).max_by_key(|&n| widths[n]) else {
            break;
        };
        widths[widest] -= 1;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn numbers_go_right_and_text_goes_left() {
        let lines = StreamedTable::default()
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
        write(&example(), Screen::PLAIN, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "What 100 % of the runs_gave\n\
             class                      mean J   at 1      interval  time [s]  exact\n\
             Z_5 | (0,0), \"T=8\"  0.798 ± 0.160  17/60  0.75 to 0.85       1.5  9/10\n\
             parity {k} & \\tau               -      -             -         2  -\n\
             one ± is a spread; 50% < all\n"
        );
    }

    fn written(table: &Table, width: usize, colour: bool) -> String {
        let mut out = Vec::new();
        let screen = Screen {
            width: Some(width),
            colour,
        };
        write(table, screen, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn words_are_cut_to_the_width_of_the_terminal_and_numbers_are_not() {
        let columns = [
            Column::words("item"),
            Column::numbers("n"),
            Column::words("note"),
        ];
        let long = "a note that is much longer than there is room for";
        let rows = [[
            Cell::from("tab:one"),
            Cell::Whole(1_234_567),
            Cell::from(long),
        ]];
        let table = Table::new(columns).rows(rows);
        assert_eq!(
            written(&table, 38, false),
            "item           n  note\n\
             tab:one  1234567  a note that is much…\n\
             … cut to 38 columns; --format text has all of it\n"
        );
        assert!(written(&table, 80, false).ends_with("room for\n"));
        // Where nothing gives way, it stays too wide.
        let least = written(&table, 20, false);
        assert!(least.contains("1234567  a note that…"), "{least}");
    }

    #[test]
    fn colour_marks_heads_and_what_differs() {
        let columns = [Column::words("verdict"), Column::words("x")];
        let rows = [["agrees", "differs"], ["differs", "-"]];
        let table = Table::new(columns).rows(rows.map(|row| row.map(Cell::from)));
        assert_eq!(
            written(&table, 80, true),
            "\x1b[1mverdict  x\x1b[0m\nagrees   differs\n\x1b[31mdiffers  -\x1b[0m\n"
        );
    }
}
