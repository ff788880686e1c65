//! Evaluates a code or a policy over all inputs (paper, section 2.2 and App. A).
//!
//! J is the reward, d(c) the expected number of times a rollout consults cell c, d(c)Q(c,a) the
//! derivative of J by pi_c(a). J of a code is an exact fraction.

mod inputs;

use std::io::{self, Write};

use clap::Args;
use foldglass::{ClassSpec, Code, Context, Evaluator, Policy, Reward, reward::count};
use foldglass_study::parallel::threads;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::cells::{key_columns, key_entries, key_lines};
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::ClassArgs;
use crate::flags::table::{CodeOrPolicy, TableArgs};
use crate::output::{Report, number};
use crate::progress::Terminal;
use crate::report::{Cell, Column, Format, Table};

/// The flags of `eval`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  echo '{\"actions\":[0,1,0,1,1,0]}' | foldglass eval --task parity --lengths 2 --code -
      The exact reward of a code from standard input.
  foldglass cavi --task z:5 --lengths 4 --tau 1e-10 --runs 8 --keep-code --json > runs.json
  foldglass eval --code runs.json#3 --list
      The fourth code of a file, with visits and values of every cell.")]
pub struct EvalArgs {
    #[command(flatten)]
    table: TableArgs,
    /// Print every cell: its key, its action or row, d (how often it is visited) and dQ (the derivative of J by the probability of each action)
    #[arg(short, long)]
    list: bool,
    #[command(flatten)]
    inputs: inputs::InputArgs,
    #[command(flatten)]
    class: ClassArgs,
}

impl EvalArgs {
    /// Reads the table and evaluates it.
    pub fn run(&self, settings: &GlobalArgs) -> Result<EvaluationReport, Error> {
        let (class, table) = self.table.read(&self.class)?;
        let mut evaluator = Evaluator::within(&class, self.class.allowance())?;
        let (policy, code) = match table {
            CodeOrPolicy::Code(code) => (Policy::deterministic(&code), Some(code)),
            CodeOrPolicy::Policy(policy) => (policy, None),
        };
        let most = if evaluator.uses_threads() {
            usize::MAX
        } else {
            1
        };
        let context = Context::default().with_threads(threads(settings.threads, most));
        let expected = context.install(|| evaluator.evaluate(&policy));
        let exact = code.as_ref().map(count::reward);
        let observer = Terminal::new();
        let all = self.class.context(&observer);
        let all = all.with_threads(threads(settings.threads, usize::MAX));
        let by_input = self
            .inputs
            .run(&policy, code.is_some(), settings.seed, all)?;
        Ok(EvaluationReport {
            reward: exact.as_ref().map_or(expected, Reward::to_f64),
            exact,
            visits: (0..class.cells())
                .map(|cell| evaluator.visits(cell))
                .collect(),
            code,
            policy,
            evaluator,
            list: self.list,
            by_input,
        })
    }
}

/// A policy and all that its evaluation gives.
#[derive(JsonSchema, Serialize)]
pub struct EvaluationReport {
    reward: f64,
    #[serde(rename = "reward_exact", skip_serializing_if = "Option::is_none")]
    exact: Option<Reward>,
    visits: Vec<f64>,
    #[serde(rename = "values", serialize_with = "values")]
    #[schemars(with = "Vec<Vec<f64>>")]
    evaluator: Evaluator,
    #[serde(skip)]
    code: Option<Code>,
    #[serde(skip)]
    policy: Policy,
    #[serde(skip)]
    list: bool,
    #[serde(flatten)]
    by_input: inputs::ByInput,
}

/// The values cell by cell: there may be many.
fn values<S: Serializer>(evaluator: &Evaluator, serializer: S) -> Result<S::Ok, S::Error> {
    let cells = 0..evaluator.class().cells();
    serializer.collect_seq(cells.map(|cell| evaluator.values(cell)))
}

/// Longer fractions are no help to a person.
const LONGEST_SHOWN: usize = 60;

impl Report for EvaluationReport {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.policy.class().spec())
    }

    /// A row per cell, a column per entry of its row and of dQ.
    fn tables(&self, _: Format) -> Vec<Table> {
        let class = self.policy.class();
        let each = |name: &str| -> Vec<Column> {
            let actions = 0..class.q();
            let columns = actions.map(|a| Column::numbers(&format!("{name} {a}")));
            columns.collect()
        };
        let chosen = match self.code {
            Some(_) => vec![Column::numbers("action")],
            None => each("pi"),
        };
        let columns = key_columns().into_iter().chain(chosen);
        let columns = columns.chain([Column::numbers("d")]).chain(each("dQ"));
        let row = |cell: usize| -> Vec<Cell> {
            let mut entries = key_entries(cell, &class.key(cell)).to_vec();
            match &self.code {
                Some(code) => entries.push(code.action(cell).into()),
                None => entries.extend(self.policy.row(cell).iter().map(|&p| Cell::real(p))),
            }
            entries.push(Cell::real(self.visits[cell]));
            entries.extend(self.evaluator.values(cell).into_iter().map(Cell::real));
            entries
        };
        vec![Table::new(columns).rows((0..class.cells()).map(row))]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let class = self.policy.class();
        let (cells, q) = (class.cells(), class.q());
        let exact = match self.exact.as_ref().map(Reward::to_string) {
            Some(fraction) if fraction.len() <= LONGEST_SHOWN => format!(" = {fraction}"),
            Some(_) => " (--json has the exact fraction)".to_owned(),
            None => String::new(),
        };
        let never = self.visits.iter().filter(|&&visits| visits == 0.0).count();
        let most = self.visits.iter().copied().fold(0.0, f64::max);
        let entropy = self.policy.entropy() / cells as f64;
        let share = entropy / (q as f64).ln();
        writeln!(out, "reward J        {}{exact}", number(self.reward))?;
        writeln!(out, "cells           {cells}, {never} never visited")?;
        writeln!(out, "largest visits  {}", number(most))?;
        writeln!(
            out,
            "entropy         {} nats a cell = {} ln q",
            number(entropy),
            number(share)
        )?;
        self.by_input.write_text(out)?;
        if self.list {
            writeln!(out)?;
            self.write_list(out)?;
            writeln!(
                out,
                "\nd: how often the cell is visited; dQ: d times the expected reward after each token; SEP: nothing stands there"
            )?;
        }
        Ok(())
    }
}

/// The characters of a long `number`, such as 0.000123456.
const NUMBER: usize = 11;

impl EvaluationReport {
    fn write_list(&self, out: &mut dyn Write) -> io::Result<()> {
        let class = self.policy.class();
        let q = class.q();
        let (head, width) = match self.code {
            Some(_) => ("action", (q - 1).to_string().len()),
            None => ("row", q * (NUMBER + 1) - 1),
        };
        let lines = key_lines(class)
            .column(Column::words(head), width)
            .column(Column::words("d"), NUMBER)
            .column(Column::words("dQ"), 0);
        lines.write_head(out)?;
        (0..class.cells()).try_for_each(|cell| {
            let chosen = match &self.code {
                Some(code) => code.action(cell).into(),
                None => numbers(self.policy.row(cell)).into(),
            };
            let mut entries = key_entries(cell, &class.key(cell)).to_vec();
            entries.push(chosen);
            entries.push(Cell::real(self.visits[cell]));
            entries.push(numbers(&self.evaluator.values(cell)).into());
            lines.write_row(out, &entries)
        })
    }
}

/// Numbers in columns of one width.
fn numbers(list: &[f64]) -> String {
    let one = |&value: &f64| format!("{:<NUMBER$}", number(value));
    list.iter().map(one).collect::<Vec<_>>().join(" ")
}
