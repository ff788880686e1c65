//! Takes a code apart: steps, aliasing, ignored positions, wrong answers, defended cells (paper, section
//! 4.2, App. D to G.6).

use foldglass::Unwatched;
use std::path::PathBuf;

use clap::Args;
use foldglass::landscape::anatomy;
use foldglass_study::StudyError;
use foldglass_study::claims::LABEL;
use foldglass_study::disk::replace;
use foldglass_study::tables::Source;

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::table::one_code;
use crate::flags::{ClassArgs, positive};
use crate::report::draw::drawing;
use crate::report::inspect::{Inspected, RolloutLimits, inspect};

/// The most pairs of rollouts that are followed for the positions that a code ignores: up to a minute.
const MOST_PAIRS: u128 = 100_000_000;

/// The flags of `inspect`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass law traps --lengths 8 --inputs markov:9/10 --out trap.json
  foldglass inspect --code trap.json
      The wrong answers of a trap, and their causes.
  foldglass inspect --code trap.json --json
      The same as one JSON object.")]
pub struct InspectArgs {
    /// The code: a code file, or any that holds codes, FILE#N for one of several, - for stdin; a bare
    /// {"actions":[..]} needs the class flags
    #[arg(short, long, value_name = "FILE")]
    code: Source,
    /// Roll out all inputs if there are at most N, else N of each length, drawn from their
    /// law
    #[arg(
        long,
        alias = "most-inputs",
        value_name = "N",
        default_value = "200000"
    )]
    #[arg(value_parser = positive, allow_negative_numbers = true)]
    max_inputs: usize,
    /// Cells to blame and wrong answers to print
    #[arg(long, value_name = "N", default_value = "8", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    wrong: usize,
    /// Draw the code to this file, as `draw` does
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

impl InspectArgs {
    /// Reads the code and takes it apart.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Inspected, Error> {
        let (_, code) = one_code(&self.code, &self.class)?;
        if let Some(path) = &self.svg {
            let name = self.code.path.file_stem().unwrap_or_default();
            let drawing = drawing(&name.to_string_lossy(), &code)?;
            let written = replace(path, LABEL, drawing.as_bytes());
            written.map_err(|source| StudyError::write(path, source))?;
        }
        let defence = anatomy::defence(&code, self.class.context(&Unwatched))?;
        let limits = RolloutLimits {
            inputs: self.max_inputs,
            pairs: MOST_PAIRS,
        };
        let mut inspected = inspect(code, limits, settings.seed, defence);
        inspected.shown = self.wrong;
        inspected.svg = self.svg.as_ref().map(|path| path.display().to_string());
        Ok(inspected)
    }
}
