//! Lists the cells of a class in their one order (paper, section 2.1).

use std::io::{self, Write};

use clap::Args;
use foldglass::ClassSpec;
use foldglass::model::class::{CellKey, Class, Group, Shape};
use foldglass::model::operation::Symbol;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::ClassArgs;
use crate::output::Report;
use crate::report::words::{SEP, symbols};
use crate::report::{Cell, Column, Format, StreamedTable, Table};

/// The flags of `cells`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass cells --task quasigroup --lengths 7 --window 0,3 --tied
      How many cells the paper's tied class has: 4,525.
  foldglass cells --task parity --lengths 3 --list
      The cells one by one, in the order of code files.")]
pub struct CellsArgs {
    /// Print every cell, one per line, in place of the summary
    #[arg(short, long)]
    list: bool,
    #[command(flatten)]
    class: ClassArgs,
}

impl CellsArgs {
    /// Lays out the class.
    pub fn run(&self, _: &GlobalArgs) -> Result<Cells, Error> {
        let class = self.class.class()?;
        Ok(Cells {
            q: class.q(),
            count: class.cells(),
            class,
            list: self.list,
        })
    }
}

/// All cells of a class.
#[derive(JsonSchema, Serialize)]
pub struct Cells {
    q: usize,
    count: usize,
    #[serde(rename = "cells", serialize_with = "keys")]
    #[schemars(with = "Vec<Key>")]
    class: Class,
    #[serde(skip)]
    list: bool,
}

/// A cell as the contract writes it: SEP is null, and one remembered token needs no list.
#[derive(JsonSchema, Serialize)]
struct Key {
    t: Option<usize>,
    x: Vec<Option<Symbol>>,
    y: Remembered,
}

#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
enum Remembered {
    One(Option<Symbol>),
    Several(Vec<Option<Symbol>>),
}

impl From<CellKey> for Key {
    fn from(CellKey { t, x, y }: CellKey) -> Key {
        let y = match y[..] {
            [token] => Remembered::One(token),
            _ => Remembered::Several(y),
        };
        Key { t, x, y }
    }
}

/// The cells one by one: there may be many.
fn keys<S: Serializer>(class: &Class, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq((0..class.cells()).map(|cell| Key::from(class.key(cell))))
}

impl Report for Cells {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.spec())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        if self.list {
            let cells = 0..self.class.cells();
            let rows = cells.map(|cell| key_entries(cell, &self.class.key(cell)));
            vec![Table::new(key_columns()).rows(rows)]
        } else {
            vec![self.groups()]
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.list {
            self.write_list(out)
        } else {
            self.write_summary(out)
        }
    }
}

impl Cells {
    fn write_list(&self, out: &mut dyn Write) -> io::Result<()> {
        let lines = key_lines(&self.class);
        lines.write_head(out)?;
        (0..self.class.cells()).try_for_each(|cell| {
            let entries = key_entries(cell, &self.class.key(cell));
            lines.write_row(out, &entries)
        })
    }

    /// The cells that read alike, in one row.
    fn groups(&self) -> Table {
        let shape = self.class.shape();
        let columns = [
            Column::numbers("t"),
            Column::words("x"),
            Column::words("y"),
            Column::numbers("cells"),
        ];
        let rows = self.class.groups().iter().map(|g| summary(g, shape));
        Table::new(columns).rows(rows)
    }

    fn write_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        self.groups().write_text(out)?;
        writeln!(
            out,
            "\n{} cells of {} symbols; *: any symbol or token, SEP: nothing stands there",
            self.class.cells(),
            self.class.q()
        )
    }
}

/// t, the window and the remembered tokens of a group, `*` where a symbol stands, and its cells.
fn summary(group: &Group, shape: Shape) -> [Cell; 4] {
    let pattern = |sep: usize, symbols: usize, after: usize| {
        let runs = [run(SEP, sep), run("*", symbols), run(SEP, after)];
        runs.concat().join(" ")
    };
    let (before, after) = (group.before, group.after);
    [
        Cell::or_missing(group.t),
        pattern(
            shape.window.past - before,
            before + 1 + after,
            shape.window.future - after,
        )
        .into(),
        pattern(shape.memory - group.tokens, group.tokens, 0).into(),
        group.cells.into(),
    ]
}

/// A mark repeated, as a product where it would be long.
fn run(mark: &str, times: usize) -> Vec<String> {
    match times {
        0..=3 => vec![mark.to_owned(); times],
        _ => vec![format!("{mark}×{times}")],
    }
}

/// The columns of a list of cells: number, t, window, remembered tokens.
pub fn key_columns() -> [Column; 4] {
    [
        Column::numbers("cell"),
        Column::numbers("t"),
        Column::words("x"),
        Column::words("y"),
    ]
}

/// [`key_columns`], as wide as a class needs them.
pub fn key_lines(class: &Class) -> StreamedTable {
    let Shape { window, memory, .. } = class.shape();
    let symbol = SEP.len().max((class.q() - 1).to_string().len());
    let list = |symbols: usize| symbols * (symbol + 1) - 1;
    let digits = |most: usize| most.to_string().len();
    let widths = [
        digits(class.cells()),
        digits(class.task().longest()),
        list(window.past + 1 + window.future),
        list(memory),
    ];
    let columns = key_columns().into_iter().zip(widths);
    columns.fold(StreamedTable::default(), |lines, (column, width)| {
        lines.column(column, width)
    })
}

/// The entries of [`key_lines`] for one cell; t is missing where all steps share one table.
pub fn key_entries(cell: usize, key: &CellKey) -> [Cell; 4] {
    [
        cell.into(),
        Cell::or_missing(key.t),
        symbols(&key.x).into(),
        symbols(&key.y).into(),
    ]
}
