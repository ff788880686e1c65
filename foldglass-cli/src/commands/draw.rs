//! Draws codes of small classes: cells, tokens, and the ways of inputs through them (paper, Fig. 1 II).

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use foldglass::Symbol;
use foldglass_study::StudyError;
use foldglass_study::claims::LABEL;
use foldglass_study::disk::Whole;
use foldglass_study::tables::Source;

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::table::one_code;
use crate::flags::{ClassArgs, whole};
use crate::report::draw::{DrawnCode, DrawnCodes, check_colours, map, needs_map, side_by_side};

/// The flags of `draw`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass law traps --lengths 8 --inputs markov:9/10 --out trap.json
  foldglass draw --code trap.json --svg trap.svg
      A code as the paper's figure draws it.
  foldglass draw --code trap.json --grid --svg map.svg
      The same code as a map, a square for each cell.")]
pub struct DrawArgs {
    /// The code to draw: a code file, FILE#N for one of several, - for stdin; given several times,
    /// the codes stand side by side
    #[arg(short, long, value_name = "FILE", required = true)]
    code: Vec<Source>,
    /// Inputs whose paths are drawn in colour, such as 0,1,0,1,1
    #[arg(short, long, value_name = "X,..", num_args = 1.., value_parser = input)]
    #[arg(allow_negative_numbers = true)]
    input: Vec<Input>,
    /// Draw a map in place of cells and paths: a square for each cell, its colour the token, with a
    /// mark where another token raises J. A code of more than 50 cells is drawn so without this flag,
    /// unless inputs are given
    #[arg(long, conflicts_with = "input")]
    grid: bool,
    /// Draw to this file
    #[arg(long, value_name = "FILE")]
    svg: PathBuf,
    #[command(flatten)]
    class: ClassArgs,
}

/// What `--input` holds.
#[derive(Debug, Clone)]
struct Input(Vec<Symbol>);

fn input(text: &str) -> Result<Input, String> {
    let symbol = |part: &str| {
        let refusal = || format!("'{part}' is not a symbol: write an input such as 0,1,0,1,1");
        whole(part.trim()).ok_or_else(refusal)
    };
    text.split(',')
        .map(symbol)
        .collect::<Result<_, _>>()
        .map(Input)
}

impl DrawArgs {
    /// Draws the codes.
    pub fn run(&self, _: &GlobalArgs) -> Result<DrawnCodes, Error> {
        check_colours(self.input.len())?;
        let inputs: Vec<Vec<Symbol>> = self.input.iter().map(|Input(x)| x.clone()).collect();
        let (mut codes, mut is_map) = (Vec::new(), self.grid);
        for source in &self.code {
            let (_, code) = one_code(source, &self.class)?;
            let name = source
                .path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy();
            let name = if name == "-" { "code".into() } else { name };
            let number = source.number.map_or(String::new(), |n| format!("#{n}"));
            let name = format!("{name}{number}");
            let is_alone = self.code.len() == 1;
            is_map |= inputs.is_empty() && needs_map(code.class(), is_alone);
            codes.push(match is_map {
                true => DrawnCode::for_map(&name, &code),
                false => DrawnCode::checked(&name, &code, &inputs)?,
            });
        }
        let drawing = match &codes[..] {
            [code] if is_map => map(code)?,
            codes if is_map => {
                return Err(Error::Usage(format!(
                    "--code: {} codes are given, and a map shows one: draw each to a file of its own",
                    codes.len()
                )));
            }
            codes => side_by_side(codes),
        };
        let written = Whole::create(&self.svg, LABEL).and_then(|mut file| {
            file.write_all(drawing.as_bytes())?;
            file.finish()
        });
        written.map_err(|source| StudyError::write(&self.svg, source))?;
        Ok(DrawnCodes {
            codes,
            svg: self.svg.display().to_string(),
        })
    }
}
