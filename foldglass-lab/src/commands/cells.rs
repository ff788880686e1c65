//! Lists the cells of a class in their one order (paper, section 2.1).

use std::io::{self, Write};

use clap::Args;
use foldglass::class::{CellKey, Class, Group, Shape};
use foldglass::quasigroup::Symbol;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::cli::Settings;
use crate::columns::{Align, Columns, widest};
use crate::error::Error;
use crate::flags::ClassArgs;
use crate::output::{Report, Stream};

/// The flags of `cells`.
#[derive(Debug, Args)]
pub struct CellsArgs {
    #[command(flatten)]
    class: ClassArgs,
    /// Print every cell, one a line, in place of the summary
    #[arg(long)]
    list: bool,
}

impl CellsArgs {
    /// Lays out the class.
    pub fn run(&self, settings: &Settings) -> Result<Cells, Error> {
        let class = self.class.class(settings.seed)?;
        Ok(Cells {
            class,
            list: self.list,
        })
    }
}

/// All cells of a class.
pub struct Cells {
    class: Class,
    list: bool,
}

impl Serialize for Cells {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = self.class.cells();
        let cells = Stream(|| (0..count).map(|cell| Key(self.class.key(cell))));
        let mut object = serializer.serialize_struct("Cells", 3)?;
        object.serialize_field("q", &self.class.q())?;
        object.serialize_field("count", &count)?;
        object.serialize_field("cells", &cells)?;
        object.end()
    }
}

/// A cell as the contract writes it: SEP is null, and one remembered token needs no list.
struct Key(CellKey);

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Key(CellKey { t, x, y }) = self;
        let mut object = serializer.serialize_struct("Key", 3)?;
        object.serialize_field("t", t)?;
        object.serialize_field("x", x)?;
        match &y[..] {
            [token] => object.serialize_field("y", token)?,
            tokens => object.serialize_field("y", tokens)?,
        }
        object.end()
    }
}

impl Report for Cells {
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
        let columns = key_columns(&self.class);
        columns.write_head(out)?;
        (0..self.class.cells()).try_for_each(|cell| {
            let entries = key_entries(cell, &self.class.key(cell));
            columns.write_row(out, &entries)
        })
    }

    fn write_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        let shape = self.class.shape();
        let rows: Vec<[String; 4]> = self
            .class
            .groups()
            .iter()
            .map(|g| summary(g, shape))
            .collect();
        let width = |column: usize| widest(rows.iter().map(|row| &row[column]));
        let columns = Columns::default()
            .add("t", Align::Right, width(0))
            .add("x", Align::Left, width(1))
            .add("y", Align::Left, width(2))
            .add("cells", Align::Right, width(3));
        columns.write_head(out)?;
        rows.iter()
            .try_for_each(|row| columns.write_row(out, row))?;
        writeln!(
            out,
            "\n{} cells of {} symbols",
            self.class.cells(),
            self.class.q()
        )
    }
}

/// t, the window and the remembered tokens of a group, `*` where a symbol stands, and its cells.
fn summary(group: &Group, shape: Shape) -> [String; 4] {
    let pattern = |sep: usize, symbols: usize, after: usize| {
        let runs = [run(SEP, sep), run("*", symbols), run(SEP, after)];
        runs.concat().join(" ")
    };
    let (before, after) = (group.before, group.after);
    [
        step(group.t),
        pattern(
            shape.window.past - before,
            before + 1 + after,
            shape.window.future - after,
        ),
        pattern(shape.memory - group.tokens, group.tokens, 0),
        group.cells.to_string(),
    ]
}

const SEP: &str = "SEP";

/// A mark repeated, as a product where it would be long.
fn run(mark: &str, times: usize) -> Vec<String> {
    match times {
        0..=3 => vec![mark.to_owned(); times],
        _ => vec![format!("{mark}×{times}")],
    }
}

/// The columns of a list of cells: number, t, window, remembered tokens.
pub fn key_columns(class: &Class) -> Columns {
    let Shape { window, memory, .. } = class.shape();
    let symbol = SEP.len().max((class.q() - 1).to_string().len());
    let list = |symbols: usize| symbols * (symbol + 1) - 1;
    Columns::default()
        .add("cell", Align::Right, class.cells().to_string().len())
        .add("t", Align::Right, class.task().longest().to_string().len())
        .add("x", Align::Left, list(window.past + 1 + window.future))
        .add("y", Align::Left, list(memory))
}

/// The entries of [`key_columns`] for one cell.
pub fn key_entries(cell: usize, key: &CellKey) -> [String; 4] {
    [
        cell.to_string(),
        step(key.t),
        symbols(&key.x),
        symbols(&key.y),
    ]
}

/// The step, or a dash where all share one table.
fn step(t: Option<usize>) -> String {
    t.map_or("-".to_owned(), |t| t.to_string())
}

/// Symbols, oldest first.
fn symbols(list: &[Option<Symbol>]) -> String {
    let one = |symbol: &Option<Symbol>| symbol.map_or(SEP.to_owned(), |a| a.to_string());
    list.iter().map(one).collect::<Vec<_>>().join(" ")
}
