//! Draws codes of small classes: cells, tokens, and the ways of inputs through them (paper, Fig. 1 II).

mod grid;
mod picture;
mod ways;

use std::io::{self, Write};

use foldglass::{Class, ClassSpec, Code, Reward, Symbol, reward::count};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::figure::LOOKS;
use crate::report::Report;
use crate::table::{Cell, Column, Format, Table};
pub use picture::Sketch;
use picture::{CodePanel, Picture};

/// The most steps of a drawing.
const MOST_STEPS: usize = 16;
/// The most cells that stand below each other: readings of the window and the remembered tokens.
const MOST_ROWS: usize = 64;

/// Draws codes side by side, with the ways of the same inputs through each, and counts their rewards.
pub fn picture(codes: &[(&str, Code)], inputs: &[[Symbol; 5]]) -> (String, Vec<Reward>) {
    let drawn = |(name, code): &(&str, Code)| {
        let inputs = inputs.iter().map(|x| DrawnRollout::new(code, x)).collect();
        DrawnCode::new(name, code, inputs)
    };
    let codes: Vec<DrawnCode> = codes.iter().map(drawn).collect();
    let rewards = codes.iter().map(|code| code.reward.clone()).collect();
    (side_by_side(&codes), rewards)
}

/// Draws codes side by side.
pub fn side_by_side(codes: &[DrawnCode]) -> String {
    Picture::new(codes.iter().flat_map(CodePanel::of).collect()).draw()
}

/// A single code of more cells than this is drawn as a map: its paths would hide each other.
const MOST_READABLE: usize = 50;

/// Whether a code, alone or one of several, is too large for a drawing of cells and paths, so
/// that a map is drawn in
/// its place.
pub fn needs_map(class: &Class, is_alone: bool) -> bool {
    (is_alone && class.cells() > MOST_READABLE) || check_size(class).is_err()
}

/// Draws a code as a map of its cells.
pub fn map(code: &DrawnCode) -> Result<String, Error> {
    grid::map(code)
}

/// A code as it is drawn, without inputs of one's own; refuses one that is too large for a drawing.
pub fn drawing(name: &str, code: &Code) -> Result<String, Error> {
    Ok(sketch(name, code, &[])?.svg)
}

/// A code as it is drawn, with the ways of inputs; refuses one that is too large for a drawing.
pub fn sketch(name: &str, code: &Code, inputs: &[Vec<Symbol>]) -> Result<Sketch, Error> {
    let drawn = DrawnCode::checked(name, code, inputs)?;
    Ok(Picture::new(CodePanel::of(&drawn)).sketch())
}

/// What a code does on an input of its class.
pub fn walk(code: &Code, x: &[Symbol]) -> Result<DrawnRollout, Error> {
    check_input(code.class(), x)?;
    Ok(DrawnRollout::new(code, x))
}

/// Refuses more inputs than there are colours.
pub fn check_colours(inputs: usize) -> Result<(), Error> {
    if inputs <= LOOKS.len() {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "--input: {inputs} inputs are given, and there are colours for {}",
        LOOKS.len()
    )))
}

/// Refuses a class that is too large for a drawing.
pub fn check_size(class: &Class) -> Result<(), Error> {
    let shape = class.shape();
    let seen = shape.window.past + 1 + shape.window.future + shape.memory;
    let rows = (class.q() as u128).checked_pow(seen as u32);
    let rows_fit = rows.is_some_and(|rows| rows <= MOST_ROWS as u128);
    let longest = class.task().longest();
    if rows_fit && longest <= MOST_STEPS {
        return Ok(());
    }
    let rows = rows.map_or("more than 10^38".to_owned(), |rows| rows.to_string());
    Err(Error::Usage(format!(
        "a drawing of {} has {rows} rows of cells (q to the symbols and tokens that a cell shows) and \
         {longest} steps: up to {MOST_ROWS} rows and {MOST_STEPS} steps are drawn, such as q=2 with \
         6 symbols and tokens, q=4 with 3, q=8 with 2",
        class.spec()
    )))
}

fn check_input(class: &Class, x: &[Symbol]) -> Result<(), Error> {
    let (q, lengths) = (class.q(), class.task().lengths());
    let text = || comma(x);
    if let Some(symbol) = x.iter().find(|&&symbol| usize::from(symbol) >= q) {
        let message = format!(
            "--input {}: {symbol} is not a symbol of the task: 0 to {}",
            text(),
            q - 1
        );
        return Err(Error::Usage(message));
    }
    if !lengths.contains(&x.len()) {
        let known: Vec<String> = lengths.iter().map(usize::to_string).collect();
        return Err(Error::Usage(format!(
            "--input {} has length {}: inputs of this class have length {}",
            text(),
            x.len(),
            known.join(" or ")
        )));
    }
    let inputs = class.task().inputs();
    if inputs.occurs(x) {
        Ok(())
    } else {
        Err(Error::Usage(format!(
            "--input {} has probability 0 under the inputs of this class",
            text()
        )))
    }
}

fn comma(symbols: &[Symbol]) -> String {
    let texts: Vec<String> = symbols.iter().map(Symbol::to_string).collect();
    texts.join(",")
}

/// What a code does on one input.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct DrawnRollout {
    /// The input.
    pub x: Vec<Symbol>,
    /// The cells it consults, and the tokens it emits there.
    pub cells: Vec<usize>,
    /// See `cells`.
    pub y: Vec<Symbol>,
    /// The last token.
    pub answer: Symbol,
    /// The fold.
    pub target: Symbol,
    /// Whether they are the same.
    pub right: bool,
}

impl DrawnRollout {
    fn new(code: &Code, x: &[Symbol]) -> DrawnRollout {
        let class = code.class();
        let (mut cells, mut y) = (Vec::new(), Vec::new());
        for t in 1..=x.len() {
            let cell = class.route(x, t, &y);
            cells.push(cell);
            y.push(code.action(cell));
        }
        let (answer, target) = (y[x.len() - 1], class.task().fold(x));
        DrawnRollout {
            x: x.to_vec(),
            cells,
            y,
            answer,
            target,
            right: answer == target,
        }
    }
}

/// A code that was drawn.
#[derive(JsonSchema, Serialize)]
pub struct DrawnCode {
    name: String,
    class: ClassSpec,
    #[serde(rename = "reward_exact")]
    reward: Reward,
    inputs: Vec<DrawnRollout>,
    #[serde(skip)]
    code: Code,
}

impl DrawnCode {
    /// A code with the ways of inputs; refuses a code that is too large for a drawing, more inputs than
    /// there are colours, and inputs that are not of the code's class.
    pub fn checked(name: &str, code: &Code, inputs: &[Vec<Symbol>]) -> Result<DrawnCode, Error> {
        check_size(code.class())?;
        check_colours(inputs.len())?;
        let walks: Result<Vec<DrawnRollout>, Error> =
            inputs.iter().map(|x| walk(code, x)).collect();
        Ok(DrawnCode::new(name, code, walks?))
    }

    /// A code for a map, which shows no inputs.
    pub fn for_map(name: &str, code: &Code) -> DrawnCode {
        DrawnCode::new(name, code, Vec::new())
    }

    /// Its name and its reward.
    fn head(&self) -> String {
        self.head_at("")
    }

    /// The same of one length, `, T = 4`.
    fn head_at(&self, length: &str) -> String {
        let reward = self.reward.to_string();
        let reward = reward.strip_suffix("/1").unwrap_or(&reward);
        format!("{}{length}: J = {reward}", self.name)
    }

    fn new(name: &str, code: &Code, inputs: Vec<DrawnRollout>) -> DrawnCode {
        DrawnCode {
            name: name.to_owned(),
            class: code.class().spec(),
            reward: count::reward(code),
            inputs,
            code: code.clone(),
        }
    }
}

/// What was drawn.
#[derive(JsonSchema, Serialize)]
pub struct DrawnCodes {
    /// The codes.
    pub codes: Vec<DrawnCode>,
    /// The file.
    pub svg: String,
}

impl DrawnCodes {
    fn table(&self) -> Table {
        let columns = [
            Column::words("code"),
            Column::words("reward"),
            Column::words("input"),
            Column::words("tokens"),
            Column::numbers("answer"),
            Column::numbers("target"),
            Column::words("right"),
        ];
        let mut table = Table::new(columns);
        for code in &self.codes {
            let (name, reward) = (Cell::from(&code.name[..]), Cell::from(&code.reward));
            for walk in &code.inputs {
                table.push([
                    name.clone(),
                    reward.clone(),
                    comma(&walk.x).into(),
                    comma(&walk.y).into(),
                    walk.answer.into(),
                    walk.target.into(),
                    walk.right.into(),
                ]);
            }
            if code.inputs.is_empty() {
                let mut row = vec![Cell::Missing; 7];
                (row[0], row[1]) = (name, reward);
                table.push(row);
            }
        }
        table
    }
}

impl Report for DrawnCodes {
    fn class(&self) -> Option<ClassSpec> {
        match &self.codes[..] {
            [one] => Some(one.class.clone()),
            _ => None,
        }
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table().write_text(out)?;
        writeln!(out, "\ndrawn to {}", self.svg)
    }
}
