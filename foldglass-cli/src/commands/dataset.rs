//! Writes inputs of a task with their targets as rows for trainers of language models.
//!
//! Rows are drawn from the law of the task, and each has the exact chance level of its length: the probability that
//! the best constant guess is right. With a code, each row says what the code answers.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass::support::watch::{Observer, Progress};
use foldglass::{ClassSpec, Reward, Symbol, Task};
use foldglass_study::StudyError;
use foldglass_study::dataset::{
    DatasetRow, Rendering, RowMaker, RowWriter, Split, Trainer, tokenizer, tokenizer_config,
};
use foldglass_study::disk::replace;
use foldglass_study::tables::Source;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::table::one_code;
use crate::flags::{ClassArgs, natural};
use crate::output::{Report, number};
use crate::progress::Terminal;
use crate::report::{Cell, Column, Format, Table};

/// The most rows of a split: all of them are held in memory.
const MOST_ROWS: u64 = 10_000_000;

/// Rows made between two questions whether to go on.
const BETWEEN: usize = 1 << 12;

/// The flags of `dataset`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass dataset --task z:3 --lengths 1,2,3 --rows 1000 --trainer trl --out data
      A thousand rows for TRL, with a tokenizer of the three symbols.
  foldglass dataset --code trap.json --rows 100
      Rows tagged with what a code answers, and whether that is right.")]
pub struct DatasetArgs {
    /// Rows for training
    #[arg(long, value_name = "N", default_value = "1000", value_parser = rows)]
    #[arg(allow_negative_numbers = true)]
    rows: u64,
    /// Rows for tests, drawn from the same law independently of the others
    #[arg(long, value_name = "N", default_value = "0", value_parser = rows)]
    #[arg(allow_negative_numbers = true)]
    test_rows: u64,
    /// The number of the first row: row N is the same in every call with one seed
    #[arg(long, value_name = "N", default_value = "0", value_parser = natural)]
    #[arg(allow_negative_numbers = true)]
    first: u64,
    /// The trainer whose columns are written: trl, openrlhf, reasoning-gym (JSON Lines), verl (Parquet), or any
    /// (JSON Lines with every field)
    #[arg(long, value_name = "NAME", default_value = "any", requires = "out")]
    trainer: Trainer,
    /// The prompts: symbols (with a tokenizer of the q symbols), words (a question that shows the table), or
    /// words-hidden (without the table)
    #[arg(long, value_name = "NAME", default_value = "symbols")]
    rendering: Rendering,
    /// Directory for train.jsonl or train.parquet, test.jsonl or test.parquet, and tokenizer/; without it the rows
    /// are printed
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Tag each row with the answer of a code and whether it is right: a code file, FILE#N for one of several, -
    /// for stdin; the class is the file's
    #[arg(short, long, value_name = "FILE")]
    code: Option<Source>,
    #[command(flatten)]
    class: ClassArgs,
}

fn rows(text: &str) -> Result<u64, String> {
    let number = natural(text)?;
    match number <= MOST_ROWS {
        true => Ok(number),
        false => Err(format!("at most {MOST_ROWS} rows are accepted")),
    }
}

impl DatasetArgs {
    /// Draws the rows and writes them.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Dataset, Error> {
        let (spec, code) = match &self.code {
            Some(source) => {
                let (class, code) = one_code(source, &self.class)?;
                (class.spec(), Some(code))
            }
            None => (self.class.spec()?, None),
        };
        if !spec.reward.is_final() {
            return Err(Error::Usage(format!(
                "--reward {} rewards single steps: a row has one target, the last product; final is accepted",
                spec.reward
            )));
        }
        if let Some(out) = &self.out {
            self.refuse_leftovers(out)?;
        }
        let weights = spec.length_weights.as_ref();
        let (square, lengths) = (spec.square.clone(), &spec.lengths);
        let task = Task::weighted(square, &spec.inputs, lengths, weights, &spec.reward)
            .map_err(|error| Error::Usage(error.to_string()))?;
        if self
            .first
            .checked_add(self.rows.max(self.test_rows))
            .is_none_or(|end| end > 1 << 63)
        {
            return Err(Error::Usage(format!(
                "--first {}: rows are numbered to 2^63",
                self.first
            )));
        }
        let maker = RowMaker::new(&task, code.as_ref(), settings.seed, self.rendering);
        let observer = Terminal::new();
        let all = self.rows + self.test_rows;
        let mut rows: Vec<DatasetRow> = Vec::new();
        for (split, count) in [(Split::Train, self.rows), (Split::Test, self.test_rows)] {
            for index in self.first..self.first + count {
                if rows.len().is_multiple_of(BETWEEN) {
                    let progress = Progress {
                        unit: "rows",
                        done: rows.len() as u64,
                        all: Some(all),
                        share: None,
                    };
                    if observer.report(progress).is_break() {
                        return Err(Error::Stopped(
                            "interrupted: a dataset is written whole, so nothing is".to_owned(),
                        ));
                    }
                }
                rows.push(maker.row(split, index));
            }
        }
        let files = match &self.out {
            Some(out) => self.write(&task, &rows, out)?,
            None => Vec::new(),
        };
        let listed = self.out.is_none();
        Ok(Dataset::new(spec, &task, rows, files, listed))
    }

    /// Refuses a directory with files of another dataset that this one would not replace: a trainer would read both.
    fn refuse_leftovers(&self, out: &Path) -> Result<(), Error> {
        let mut names = Vec::new();
        for (split, rows) in [(Split::Train, self.rows), (Split::Test, self.test_rows)] {
            for kind in ["jsonl", "parquet"] {
                if rows == 0 || kind != self.trainer.file_kind() {
                    names.push(format!("{split}.{kind}"));
                }
            }
        }
        if self.rendering != Rendering::Symbols {
            names.push("tokenizer".to_owned());
        }
        names.retain(|name| out.join(name).exists());
        match names.is_empty() {
            true => Ok(()),
            false => Err(Error::Usage(format!(
                "--out {}: it has {} of an earlier dataset, which this one would not replace; remove that, or name \
                 another directory",
                out.display(),
                names.join(", ")
            ))),
        }
    }

    /// Writes the splits, and the tokenizer where prompts are symbols.
    fn write(&self, task: &Task, rows: &[DatasetRow], out: &Path) -> Result<Vec<String>, Error> {
        let writer = RowWriter {
            task,
            name: self.class.task_name().unwrap_or("table").to_owned(),
            rendering: self.rendering,
        };
        let make = |path: &Path| {
            fs::create_dir_all(path).map_err(|source| StudyError::write(path, source))
        };
        make(out)?;
        let mut files = Vec::new();
        let (train, test) = rows.split_at(self.rows as usize);
        for (split, rows) in [(Split::Train, train), (Split::Test, test)] {
            if !rows.is_empty() {
                files.push(writer.write(rows, split, self.trainer, out)?);
            }
        }
        if self.rendering == Rendering::Symbols {
            let place = out.join("tokenizer");
            make(&place)?;
            for (name, value) in [
                ("tokenizer.json", tokenizer(task.q())),
                ("tokenizer_config.json", tokenizer_config()),
            ] {
                let path = place.join(name);
                let text = format!("{value:#}\n");
                replace(&path, "dataset", text.as_bytes())
                    .map_err(|source| StudyError::write(&path, source))?;
                files.push(path);
            }
        }
        Ok(files
            .iter()
            .map(|path| path.display().to_string())
            .collect())
    }
}

/// The rows that were made, and what is known of all of them.
#[derive(JsonSchema, Serialize)]
pub struct Dataset {
    /// The best constant guess over all lengths.
    chance: Reward,
    train_rows: usize,
    test_rows: usize,
    /// Rows for tests whose input is also one for training.
    test_rows_seen: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    code_correct_rows: Option<usize>,
    /// The files that were written.
    paths: Vec<String>,
    /// The rows themselves, where they are not in files.
    #[serde(skip_serializing_if = "Option::is_none")]
    dataset: Option<Vec<DatasetRow>>,
    #[serde(skip)]
    lengths: Vec<LengthSummary>,
    #[serde(skip)]
    spec: ClassSpec,
}

/// The rows of one length.
struct LengthSummary {
    length: usize,
    chance: Reward,
    rows: usize,
    correct: Option<usize>,
}

impl Dataset {
    fn new(
        spec: ClassSpec,
        task: &Task,
        rows: Vec<DatasetRow>,
        files: Vec<String>,
        listed: bool,
    ) -> Dataset {
        let of = |split| rows.iter().filter(move |row| row.split == split);
        let known: HashSet<&[Symbol]> = of(Split::Train).map(|row| &row.input[..]).collect();
        let correct = |rows: &mut dyn Iterator<Item = &DatasetRow>| {
            rows.fold(None, |sum: Option<usize>, row| match row.code_correct {
                None => sum,
                Some(correct) => Some(sum.unwrap_or(0) + usize::from(correct)),
            })
        };
        let lengths = task.lengths().iter().map(|&length| {
            let own = || rows.iter().filter(move |row| row.length == length);
            LengthSummary {
                length,
                chance: task.chance(length),
                rows: own().count(),
                correct: correct(&mut own()),
            }
        });
        Dataset {
            chance: task.overall_chance(),
            train_rows: of(Split::Train).count(),
            test_rows: of(Split::Test).count(),
            test_rows_seen: of(Split::Test)
                .filter(|row| known.contains(&row.input[..]))
                .count(),
            code_correct_rows: correct(&mut rows.iter()),
            lengths: lengths.collect(),
            paths: files,
            spec,
            dataset: listed.then_some(rows),
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::numbers("length"),
            Column::numbers("rows"),
            Column::words("chance"),
            Column::numbers("code correct").key("code_correct_rows"),
        ]);
        for one in &self.lengths {
            table.push([
                Cell::from(one.length),
                one.rows.into(),
                one.chance.to_string().into(),
                Cell::or_missing(one.correct),
            ]);
        }
        table
    }
}

/// Rows that a person is shown.
const SHOWN: usize = 10;

impl Report for Dataset {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.spec.clone())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table().write_text(out)?;
        let chance = (self.chance.to_string(), number(self.chance.to_f64()));
        writeln!(out, "\nbest constant guess  {} = {}", chance.0, chance.1)?;
        if self.test_rows > 0 {
            let (seen, all) = (self.test_rows_seen, self.test_rows);
            writeln!(out, "test inputs that occur in training  {seen} of {all}")?;
        }
        for file in &self.paths {
            writeln!(out, "wrote {file}")?;
        }
        let rows = self.dataset.as_deref().unwrap_or_default();
        if !rows.is_empty() {
            writeln!(out)?;
        }
        for row in rows.iter().take(SHOWN) {
            let prompt = row.prompt.replace('\n', "\n    ");
            writeln!(out, "{:>4}  {prompt}  ->  {}", row.index, row.target)?;
        }
        match rows.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(out, "and {more} more: --json prints all, --out writes them"),
        }
    }
}
