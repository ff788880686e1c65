//! Renders inputs of a task as rows for trainers of language models, and writes them.
//!
//! A row has an input, its products, its target and the chance level of its length. Two renderings make a prompt of
//! it: *symbols* (`2 0 1 <sep>`, for a tokenizer whose vocabulary is the symbols) and *words* (a question in English).
//! Trainers differ only in the names of the columns.

mod render;
#[cfg(feature = "parquet")]
mod verl;

use std::path::{Path, PathBuf};

use foldglass::{Code, Reward, Stream, Symbol, Task};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::disk::replace;
use crate::error::StudyError;
pub use render::{Rendering, tokenizer, tokenizer_config};

/// The trainer that a file is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trainer {
    /// None: every field of the row.
    Any,
    /// TRL: JSON Lines with `prompt` and the columns of the reward function.
    Trl,
    /// verl: Parquet with `data_source`, `prompt`, `ability`, `reward_model` and `extra_info`.
    Verl,
    /// OpenRLHF: JSON Lines with `prompt` and `label`.
    OpenRlhf,
    /// reasoning-gym: JSON Lines with `question`, `answer` and `metadata`.
    ReasoningGym,
}

foldglass::named_enum!(Trainer {
    "any" => Any,
    "trl" => Trl,
    "verl" => Verl,
    "openrlhf" => OpenRlhf,
    "reasoning-gym" => ReasoningGym,
});

impl Trainer {
    /// How the names of its files end.
    pub fn file_kind(self) -> &'static str {
        match self {
            Trainer::Verl => "parquet",
            _ => "jsonl",
        }
    }
}

/// The part of a dataset that a row belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// For training.
    Train,
    /// For tests: drawn from the same law, independently.
    Test,
}

foldglass::named_enum!(Split { "train" => Train, "test" => Test });

impl Split {
    /// Where its streams of random numbers begin: a split never shares one with the other.
    fn first_stream(self) -> u64 {
        match self {
            Split::Train => 0,
            Split::Test => 1 << 63,
        }
    }
}

/// One input of a task, with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DatasetRow {
    /// The number of the row in its split.
    pub index: u64,
    /// The split.
    pub split: Split,
    /// The length T.
    pub length: usize,
    /// The symbols x_1 .. x_T.
    pub input: Vec<Symbol>,
    /// The products s_1 .. s_T.
    pub products: Vec<Symbol>,
    /// The last product, which is the answer.
    pub target: Symbol,
    /// The probability that the best constant guess is right on inputs of this length.
    pub chance: Reward,
    /// The question.
    pub prompt: String,
    /// The last token that the code emits, where a code was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_answer: Option<Symbol>,
    /// Whether that is the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_correct: Option<bool>,
}

/// Makes the rows of a task, each from a stream of its own: a row depends on the seed and its number alone.
pub struct RowMaker<'a> {
    task: &'a Task,
    code: Option<&'a Code>,
    seed: u64,
    rendering: Rendering,
    chances: Vec<(usize, Reward)>,
}

impl<'a> RowMaker<'a> {
    /// Rows of the task, tagged by what the code answers where one is given. The code's class is of the task.
    pub fn new(
        task: &'a Task,
        code: Option<&'a Code>,
        seed: u64,
        rendering: Rendering,
    ) -> RowMaker<'a> {
        let chance = |&length: &usize| (length, task.chance(length));
        RowMaker {
            task,
            code,
            seed,
            rendering,
            chances: task.lengths().iter().map(chance).collect(),
        }
    }

    /// Row number `index` of a split.
    pub fn row(&self, split: Split, index: u64) -> DatasetRow {
        let mut stream = Stream::new(self.seed, split.first_stream() + index);
        let input = self.task.draw(&mut stream);
        let products = self.task.products(&input);
        let target = *products.last().expect("an input has a symbol");
        let own = self
            .chances
            .iter()
            .find(|(length, _)| *length == input.len());
        let code_answer = self
            .code
            .and_then(|code| code.roll_out(&input).last().copied());
        DatasetRow {
            index,
            split,
            length: input.len(),
            target,
            chance: own.expect("a length of the task").1.clone(),
            prompt: self.rendering.prompt(self.task.square(), &input),
            code_correct: code_answer.map(|answer| answer == target),
            code_answer,
            input,
            products,
        }
    }
}

/// What all rows of a dataset share.
pub struct RowWriter<'a> {
    /// The task.
    pub task: &'a Task,
    /// Its name.
    pub name: String,
    /// The rendering of the prompts.
    pub rendering: Rendering,
}

impl RowWriter<'_> {
    /// A row in the columns of a trainer that reads JSON Lines.
    fn line(&self, row: &DatasetRow, trainer: Trainer) -> Value {
        let plain = serde_json::to_value(row).expect("plain data");
        let with = |mut value: Value, added: Value| {
            if let (Value::Object(to), Value::Object(from)) = (&mut value, added) {
                to.extend(from);
            }
            value
        };
        let shared = || {
            json!({
                "table": self.task.square().rows().collect::<Vec<_>>(),
                "inputs": self.task.inputs().law().to_string(),
            })
        };
        match trainer {
            Trainer::Any => with(plain, shared()),
            Trainer::Trl => match self.rendering {
                // One turn of symbols needs no roles.
                Rendering::Symbols => plain,
                _ => with(plain, json!({ "prompt": messages(row) })),
            },
            Trainer::OpenRlhf => with(plain, json!({ "label": row.target.to_string() })),
            Trainer::ReasoningGym => {
                // As the datasets of reasoning-gym have it: the least and the greatest that the settings allow.
                let lengths = self.task.lengths();
                let (shortest, longest) = (lengths.iter().min(), lengths.iter().max());
                let mut plain = plain;
                if let Value::Object(fields) = &mut plain {
                    fields.remove("prompt");
                }
                let metadata = with(
                    with(plain, shared()),
                    json!({
                        "source_dataset": "foldglass",
                        "source_index": row.index,
                        "difficulty": { "length": [shortest, longest] },
                    }),
                );
                json!({
                    "question": row.prompt,
                    "answer": row.target.to_string(),
                    "metadata": metadata,
                })
            }
            Trainer::Verl => unreachable!("verl reads Parquet"),
        }
    }

    /// Writes the rows of a split for a trainer to a file of a directory, and gives its path.
    pub fn write(
        &self,
        rows: &[DatasetRow],
        split: Split,
        trainer: Trainer,
        directory: &Path,
    ) -> Result<PathBuf, StudyError> {
        let content = match trainer {
            Trainer::Verl => self.verl(rows)?,
            _ => {
                let lines = rows.iter().flat_map(|row| {
                    let line = self.line(row, trainer).to_string();
                    line.into_bytes().into_iter().chain([b'\n'])
                });
                lines.collect()
            }
        };
        let path = directory.join(format!("{split}.{}", trainer.file_kind()));
        replace(&path, "dataset", &content).map_err(|source| StudyError::write(&path, source))?;
        Ok(path)
    }

    #[cfg(feature = "parquet")]
    fn verl(&self, rows: &[DatasetRow]) -> Result<Vec<u8>, StudyError> {
        verl::write(rows, &self.name).map_err(|error| StudyError::Failed(error.to_string()))
    }

    #[cfg(not(feature = "parquet"))]
    fn verl(&self, _: &[DatasetRow]) -> Result<Vec<u8>, StudyError> {
        Err(StudyError::Failed(
            "rows as Parquet: foldglass-study was built without its feature `parquet`".to_owned(),
        ))
    }
}

fn messages(row: &DatasetRow) -> Value {
    json!([{ "role": "user", "content": row.prompt }])
}
