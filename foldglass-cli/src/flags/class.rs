//! Turns the class flags, common to all tabular commands, into a class.
//!
//! Where a file brings its class, the flags may be left out; those that are given must not
//! contradict it.

use std::path::Path;

use clap::Args;
use foldglass::RewardRule;
use foldglass::model::class::SpecError;
use foldglass::model::operation::Symbol;
use foldglass::model::task::TaskError;
use foldglass::{Allowance, Class, ClassSpec, Context, ExactWeights, Observer, Operation};
use foldglass_study::tables::Tables;
use foldglass_study::{ClassWords, words};

use super::{max_memory, whole};
use crate::error::Error;
use crate::progress::say;

/// The flag that names the multiplication table.
#[derive(Debug, Clone, Args)]
pub struct TaskArg {
    /// The multiplication table: parity, z:N, quasigroup, s:N, a:N, d:N, q8, random:Q:SEED
    /// (random:Q is random:Q:0, whatever --seed is), max:N, copy:N, flipflop, t:N (all maps of N
    /// points), products such as z:2*s:3, or a JSON file of q rows of q symbols, as file:PATH or
    /// PATH.json
    #[arg(long, value_name = "TASK", value_parser = task)]
    pub task: String,
}

/// The flags that state a task and what a policy may depend on.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Class")]
pub struct ClassArgs {
    /// The multiplication table: parity, z:N, quasigroup, s:N, a:N, d:N, q8, random:Q:SEED
    /// (random:Q is random:Q:0, whatever --seed is), max:N, copy:N, flipflop, t:N (all maps of N
    /// points), products such as z:2*s:3, or a JSON file of q rows of q symbols, as file:PATH or
    /// PATH.json
    #[arg(long, value_name = "TASK", value_parser = task)]
    task: Option<String>,
    /// The lengths T of the inputs: 8, or several as 3,4,5
    #[arg(long, value_name = "T,..", allow_negative_numbers = true, value_parser = lengths)]
    lengths: Option<Lengths>,
    /// An exact weight above 0 for each of --lengths, such as 1,2,4 or 1/2,1/3 [default: equal]
    #[arg(long, value_name = "W,..", allow_hyphen_values = true)]
    #[arg(value_parser = words::length_weights)]
    length_weights: Option<ExactWeights>,
    /// Which tokens are rewarded: final (the last one), process (all, equally) or process:W1,W2,..
    /// (all, with one exact weight above 0 for each step) [default: final]
    #[arg(long, value_name = "RULE", value_parser = reward)]
    reward: Option<RewardRule>,
    /// How many symbols a step sees before and after its own, x_t [default: 0,0]
    #[arg(short, long, value_name = "P,F", value_parser = words::window, allow_hyphen_values = true)]
    window: Option<[usize; 2]>,
    /// Use one table for all steps: the step number t is not part of a cell
    #[arg(long)]
    tied: bool,
    /// How many emitted tokens a step sees (n_y) [default: 1]
    #[arg(long, value_name = "N", value_parser = words::memory, allow_negative_numbers = true)]
    memory: Option<usize>,
    /// The law of the inputs: uniform, markov:K (a symbol repeats with probability K, such as 9/10
    /// or 0.9), or product:FILE (a JSON list with a row of q probabilities per position)
    /// [default: uniform]
    #[arg(long, value_name = "LAW", value_parser = law)]
    inputs: Option<String>,
    /// Refuse to start what needs more memory than this, such as 4GiB [default: the available memory]
    #[arg(long, value_name = "SIZE", value_parser = max_memory::allowance)]
    #[arg(allow_negative_numbers = true)]
    max_memory: Option<Allowance>,
}

/// The task with its full name.
pub fn task(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(words::full_name(text))
}

fn reward(text: &str) -> Result<RewardRule, String> {
    text.parse()
}

/// What `--lengths` holds: one value of the flag, as clap sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lengths(Vec<usize>);

fn lengths(text: &str) -> Result<Lengths, String> {
    words::lengths(text).map(Lengths)
}

/// Reads the words of a law of the inputs.
pub fn law(text: &str) -> Result<String, String> {
    match words::check_law(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(foldglass_study::StudyError::Inputs { problem, .. }) => Err(problem),
        Err(error) => Err(error.to_string()),
    }
}

/// Uniform random squares of more symbols take seconds.
const SLOW_SQUARE: usize = 300;

/// Says that a random square takes its time.
pub fn warn_of_random(task: &str) {
    let symbols = task
        .strip_prefix("random:")
        .and_then(|rest| rest.split(':').next());
    let symbols: Option<usize> = symbols.and_then(whole);
    if let Some(q) = symbols.filter(|&q| q >= SLOW_SQUARE) {
        say(&format!(
            "drawing a uniform Latin square of {q} symbols takes a while (q^3 steps; `task --json` \
             writes it, file:PATH reads it back)"
        ));
    }
}

/// Where files that flags name are found from.
fn here() -> &'static Path {
    Path::new("")
}

/// Tables of more symbols are not written out in messages.
const LARGEST_NAMED: usize = 6;

/// The rows of a table: `012 120 201`.
fn table(square: &Operation) -> String {
    let row = |row: &[Symbol]| row.iter().map(Symbol::to_string).collect::<String>();
    square.rows().map(row).collect::<Vec<_>>().join(" ")
}

impl ClassArgs {
    /// The memory that may be taken.
    pub fn allowance(&self) -> Allowance {
        self.max_memory.unwrap_or_else(max_memory::available)
    }

    /// What a computation may take, watched by this observer.
    pub fn context<'a>(&self, observer: &'a dyn Observer) -> Context<'a> {
        let context = Context::default().with_memory(self.allowance());
        context.with_observer(observer)
    }

    /// The memory that `--max-memory` allows, where it is given.
    pub fn most_memory(&self) -> Option<Allowance> {
        self.max_memory
    }

    /// Whether any flag states a class.
    pub fn is_given(&self) -> bool {
        let Self {
            task,
            lengths,
            length_weights,
            reward,
            window,
            tied,
            memory,
            inputs,
            max_memory: _,
        } = self;
        let values = task.is_some() || lengths.is_some() || window.is_some();
        let weights = length_weights.is_some() || reward.is_some();
        values || weights || *tied || memory.is_some() || inputs.is_some()
    }

    /// The name of the task, where it is given.
    pub fn task_name(&self) -> Option<&str> {
        self.task.as_deref()
    }

    /// The class in words.
    pub fn words(&self) -> Result<ClassWords, Error> {
        let (Some(task), Some(Lengths(lengths))) = (&self.task, &self.lengths) else {
            let missing = match (&self.task, &self.lengths) {
                (None, None) => "--task and --lengths are",
                (None, Some(_)) => "--task is",
                _ => "--lengths is",
            };
            return Err(Error::Usage(format!(
                "{missing} needed to state a class, such as --task quasigroup --lengths 8"
            )));
        };
        let [past, future] = self.window.unwrap_or([0, 0]);
        let words = ClassWords::new(task, lengths)
            .window(past, future)
            .tied(self.tied);
        Ok(ClassWords {
            memory: self.memory.unwrap_or(1),
            inputs: self.inputs.clone().unwrap_or(words.inputs.clone()),
            length_weights: self.length_weights.clone(),
            reward: self.reward.clone().unwrap_or_default(),
            ..words
        })
    }

    /// What the flags describe.
    pub fn spec(&self) -> Result<ClassSpec, Error> {
        let words = self.words()?;
        warn_of_random(&words.task);
        Ok(words.spec(here())?)
    }

    /// Lays out the class that the flags state.
    pub fn class(&self) -> Result<Class, Error> {
        let laid = self.spec()?.lay_out_within(self.allowance());
        laid.map_err(|error| match (&error, &self.inputs) {
            (SpecError::Task(TaskError::Inputs(error)), Some(law)) => {
                Error::Usage(format!("--inputs {law}: {error}"))
            }
            _ => error.into(),
        })
    }

    /// Lays out the class of a file's tables, or where it has none that of the flags.
    pub fn class_of(&self, tables: &Tables) -> Result<Class, Error> {
        let Some(own) = tables.class()? else {
            return self.class().map_err(|error| match error {
                Error::Usage(message) => Error::Usage(format!(
                    "{} does not state its class: {message}",
                    tables.name()
                )),
                other => other,
            });
        };
        let contradicted = self.contradicted(own)?;
        if !contradicted.is_empty() {
            return Err(Error::Usage(format!(
                "{} is of {own}, against {}: leave that out, the file has its class",
                tables.name(),
                contradicted.join(", ")
            )));
        }
        Ok(own.lay_out_within(self.allowance())?)
    }

    /// The flags that are given and do not fit a class.
    fn contradicted(&self, own: &ClassSpec) -> Result<Vec<String>, Error> {
        let mut flags = Vec::new();
        let mut compare = |same: bool, flag: String| {
            if !same {
                flags.push(flag);
            }
        };
        if let Some(task) = &self.task {
            let square = words::square(task, here())?;
            let there = match own.square.q() <= LARGEST_NAMED {
                true => format!(" (the file's table is {})", table(&own.square)),
                false => String::new(),
            };
            compare(square == own.square, format!("--task {task}{there}"));
        }
        if let Some(Lengths(lengths)) = &self.lengths {
            let mut sorted = lengths.clone();
            sorted.sort_unstable();
            let texts: Vec<String> = lengths.iter().map(usize::to_string).collect();
            compare(
                sorted == own.lengths,
                format!("--lengths {}", texts.join(",")),
            );
        }
        if let Some(weights) = &self.length_weights {
            // In the order of --lengths; without them in that of the file.
            let lengths = self.lengths.as_ref().map_or(&own.lengths, |given| &given.0);
            let stated = ClassSpec {
                lengths: lengths.clone(),
                length_weights: Some(weights.clone()),
                ..own.clone()
            };
            let stated = stated.canonical().map_err(SpecError::from)?;
            let same = stated.length_weights == own.length_weights;
            compare(same, format!("--length-weights {weights}"));
        }
        if let Some(reward) = &self.reward {
            let stated = ClassSpec {
                reward: reward.clone(),
                ..own.clone()
            };
            let stated = stated.canonical().map_err(SpecError::from)?;
            compare(stated.reward == own.reward, format!("--reward {reward}"));
        }
        let shape = own.shape;
        if let Some([past, future]) = self.window {
            let same = [past, future] == [shape.window.past, shape.window.future];
            compare(same, format!("--window {past},{future}"));
        }
        compare(!self.tied || shape.tied, "--tied".to_owned());
        if let Some(memory) = self.memory {
            compare(memory == shape.memory, format!("--memory {memory}"));
        }
        if let Some(inputs) = &self.inputs {
            let law = words::law(inputs, here())?;
            compare(law == own.inputs, format!("--inputs {inputs}"));
        }
        Ok(flags)
    }
}
