//! Shows the multiplication table of a task and the facts of its algebra (paper, section 2).

use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use foldglass::quasigroup::{Facts, LatinSquare, Symbol};
use foldglass_study::words;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::cli::Settings;
use crate::error::Error;
use crate::flags::{TaskArg, warn_of_random};
use crate::output::{Report, Stream};
use crate::report::{Cell, Column, Table};

/// The flags of `task`.
#[derive(Debug, Args)]
pub struct TaskArgs {
    #[command(flatten)]
    task: TaskArg,
}

impl TaskArgs {
    /// Finds the square and its facts.
    pub fn run(&self, _: &Settings) -> Result<Algebra, Error> {
        let name = self.task.task.clone();
        warn_of_random(&name);
        let square = words::square(&name, Path::new(""))?;
        let facts = square.facts();
        Ok(Algebra {
            name,
            square,
            facts,
        })
    }
}

/// A square and its facts.
pub struct Algebra {
    name: String,
    square: LatinSquare,
    facts: Facts,
}

impl Serialize for Algebra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Algebra {
            name,
            square,
            facts,
        } = self;
        let mut object = serializer.serialize_struct("Algebra", 10)?;
        object.serialize_field("task", name)?;
        object.serialize_field("q", &square.q())?;
        object.serialize_field("table", &Stream(|| square.rows()))?;
        object.serialize_field("associative", &facts.associative)?;
        object.serialize_field("commutative", &facts.commutative)?;
        object.serialize_field("identity", &facts.identity)?;
        object.serialize_field("left_identity", &facts.left_identity)?;
        object.serialize_field("right_identity", &facts.right_identity)?;
        object.serialize_field("idempotents", &facts.idempotents)?;
        object.serialize_field("column_group_order", &facts.column_group_order.to_string())?;
        object.end()
    }
}

/// Tables of more symbols are too wide for a terminal.
const LARGEST_SHOWN: usize = 40;

impl Report for Algebra {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Algebra {
            name,
            square,
            facts,
        } = self;
        if square.q() <= LARGEST_SHOWN {
            table(square).write_text(out)?;
        } else {
            writeln!(out, "B[s, x] is too wide to show; --json has it")?;
        }
        let yes = |fact: bool| if fact { "yes" } else { "no" }.to_owned();
        let facts = [
            ("task", name.clone()),
            ("symbols q", square.q().to_string()),
            ("associative", yes(facts.associative)),
            ("commutative", yes(facts.commutative)),
            ("identity", identity(facts)),
            ("a group", yes(facts.associative)),
            ("idempotents", facts.idempotents.to_string()),
            (
                "order of the column group",
                facts.column_group_order.to_string(),
            ),
        ];
        writeln!(out)?;
        facts
            .iter()
            .try_for_each(|(fact, value)| writeln!(out, "{fact:<27}{value}"))
    }
}

/// The multiplication table, a row for each s.
fn table(square: &LatinSquare) -> Table {
    let symbols = 0..square.q() as Symbol;
    let columns = symbols.clone().map(|x| Column::numbers(&x.to_string()));
    let mut table = Table::new(
        [Column::numbers("B[s, x]").key("s")]
            .into_iter()
            .chain(columns),
    );
    for (s, row) in symbols.zip(square.rows()) {
        let entries: Vec<Cell> = [&[s], row].concat().into_iter().map(Cell::from).collect();
        table.push(entries);
    }
    table
}

fn identity(facts: &Facts) -> String {
    match (facts.left_identity, facts.right_identity) {
        (None, None) => "none".to_owned(),
        (Some(e), None) => format!("{e}, left only"),
        (None, Some(e)) => format!("{e}, right only"),
        // A left and a right identity are the same symbol: e = ef = f.
        (Some(e), Some(_)) => format!("{e}, two-sided"),
    }
}
