//! Shows the multiplication table of a task and the facts of its algebra (paper, section 2).

use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use foldglass::model::operation::{Operation, Symbol};
use foldglass_study::words;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::{TaskArg, warn_of_random};
use crate::output::Report;
use crate::report::{Cell, Column, Format, Table};

/// The flags of `task`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass task --task quasigroup
      The paper's table of five symbols, and its algebra.
  echo '[[0,1,2],[1,1,2],[2,2,2]]' > own.json
  foldglass task --task own.json
      A table of your own, here the larger of two symbols: a JSON list of q rows of q symbols.")]
pub struct TaskArgs {
    #[command(flatten)]
    task: TaskArg,
}

impl TaskArgs {
    /// Finds the table and its facts.
    pub fn run(&self, _: &GlobalArgs) -> Result<Algebra, Error> {
        let task = self.task.task.clone();
        warn_of_random(&task);
        let square = words::square(&task, Path::new(""))?;
        let facts = square.facts();
        Ok(Algebra {
            task,
            q: square.q(),
            square,
            latin: facts.latin,
            associative: facts.associative,
            commutative: facts.commutative,
            identity: facts.identity,
            left_identity: facts.left_identity,
            right_identity: facts.right_identity,
            idempotents: facts.idempotents,
            column_group_order: facts.column_group_order.map(|order| order.to_string()),
        })
    }
}

/// A table and its facts.
#[derive(JsonSchema, Serialize)]
pub struct Algebra {
    task: String,
    q: usize,
    #[serde(rename = "table", serialize_with = "rows")]
    square: Operation,
    latin: bool,
    associative: bool,
    commutative: bool,
    identity: Option<Symbol>,
    left_identity: Option<Symbol>,
    right_identity: Option<Symbol>,
    idempotents: usize,
    /// As digits; null where the group is too large to be listed, and where there is none because the
    /// table is not a Latin square.
    column_group_order: Option<String>,
}

fn rows<S: Serializer>(square: &Operation, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(square.rows())
}

/// Tables of more symbols are too wide for a terminal.
const LARGEST_SHOWN: usize = 40;

impl Report for Algebra {
    fn tables(&self, _: Format) -> Vec<Table> {
        vec![table(&self.square)]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.q <= LARGEST_SHOWN {
            table(&self.square).write_text(out)?;
        } else {
            writeln!(out, "B[s, x] is too wide to show; --json has it")?;
        }
        let yes = |fact: bool| if fact { "yes" } else { "no" }.to_owned();
        let order = self.column_group_order.clone();
        let unknown = match self.latin {
            true => "not known: too large to list",
            false => "none: the table is not a Latin square",
        };
        let order = order.unwrap_or_else(|| unknown.to_owned());
        let facts = [
            ("task", self.task.clone()),
            ("symbols q", self.q.to_string()),
            ("Latin square", yes(self.latin)),
            ("associative", yes(self.associative)),
            ("commutative", yes(self.commutative)),
            ("identity", self.identity()),
            ("a group", yes(self.latin && self.associative)),
            ("idempotents", self.idempotents.to_string()),
            ("order of the column group", order),
        ];
        writeln!(out)?;
        facts
            .iter()
            .try_for_each(|(fact, value)| writeln!(out, "{fact:<27}{value}"))
    }
}

/// The multiplication table, a row for each s.
fn table(square: &Operation) -> Table {
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

impl Algebra {
    fn identity(&self) -> String {
        match (self.left_identity, self.right_identity) {
            (None, None) => "none".to_owned(),
            (Some(e), None) => format!("{e}, left only"),
            (None, Some(e)) => format!("{e}, right only"),
            // A left and a right identity are the same symbol: e = ef = f.
            (Some(e), Some(_)) => format!("{e}, two-sided"),
        }
    }
}
