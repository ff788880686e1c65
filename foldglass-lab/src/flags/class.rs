//! Turns the class flags, common to all tabular commands, into a class.

use clap::Args;
use foldglass::class::{Allowance, Class, ClassError, Shape, Window};
use foldglass::task::{Task, TaskError};

use super::inputs::InputsFlag;
use super::shape::{self, Lengths};
use super::{SquareArgs, max_memory};
use crate::error::Error;

/// The flags that state a task and what a policy may depend on.
#[derive(Debug, Args)]
#[command(next_help_heading = "Class")]
pub struct ClassArgs {
    /// The multiplication table.
    #[command(flatten)]
    pub square: SquareArgs,
    /// The lengths T of the inputs, of equal weight: 8, or several as 3,4,5
    #[arg(long, value_name = "T,..", allow_negative_numbers = true)]
    pub lengths: Lengths,
    /// The input symbols read before and after x_t
    #[arg(long, value_name = "P,F", default_value = "0,0", value_parser = shape::window)]
    #[arg(allow_hyphen_values = true)]
    pub window: Window,
    /// One table for all steps: t is no part of a cell
    #[arg(long)]
    pub tied: bool,
    /// The emitted tokens remembered (n_y)
    #[arg(long, value_name = "N", default_value = "1", value_parser = shape::memory)]
    #[arg(allow_negative_numbers = true)]
    pub memory: usize,
    /// The law of the inputs: uniform, markov:K (a symbol repeats with probability K, such as 9/10
    /// or 0.9), or product:FILE (a JSON list with a row of q probabilities per position)
    #[arg(long, value_name = "LAW", default_value = "uniform")]
    pub inputs: InputsFlag,
    /// Refuse what needs more memory, such as 4GiB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = max_memory::allowance)]
    #[arg(allow_negative_numbers = true)]
    pub max_memory: Option<Allowance>,
}

impl ClassArgs {
    /// The memory that may be taken.
    pub fn allowance(&self) -> Allowance {
        self.max_memory.unwrap_or_else(max_memory::available)
    }

    /// Lays out the class; `seed` is that of a random square without its own.
    pub fn class(&self, seed: u64) -> Result<Class, Error> {
        let square = self.square.square(seed)?;
        let law = self.inputs.law()?;
        let allowance = self.allowance();
        check_lengths(&self.lengths.0, square.q(), allowance)?;
        let refuse = |source| {
            let flag = match source {
                TaskError::Inputs(_) => format!("--inputs {}", self.inputs),
                _ => "--lengths".to_owned(),
            };
            Error::Task { flag, source }
        };
        let task = Task::new(square, &law, &self.lengths.0).map_err(refuse)?;
        let shape = Shape {
            window: self.window,
            memory: self.memory,
            tied: self.tied,
        };
        Ok(Class::new(task, shape, allowance)?)
    }
}

/// Refuses lengths whose denominators q, q^2 .. q^T, which a task keeps, do not fit.
pub fn check_lengths(lengths: &[usize], q: usize, allowance: Allowance) -> Result<(), ClassError> {
    let longest = lengths.iter().max().map_or(0, |&t| t as u128);
    let bits = (longest * longest / 2).checked_mul(u128::from(q.ilog2()));
    let needed = bits.map(|bits| bits / 8);
    allowance.check(&format!("a task of length {longest}"), needed)
}
