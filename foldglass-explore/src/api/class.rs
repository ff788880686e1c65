//! Describes a class: its cells as grids, and what can be done with it (paper, section 2.1).

use foldglass::model::class::{CellKey, Group, Shape};
use foldglass::reward::count::Counter;
use foldglass::support::exact::UBig;
use foldglass::{Class, Code, Symbol, landscape::escape};
use foldglass_report::draw::check_size;
use serde::Serialize;

use super::{Ask, ClassAsked, command};
use crate::classes::KnownClass;
use crate::refusal::Refusal;

/// Names of more cells are not listed.
const NAMED: usize = 20_000;

#[derive(Serialize)]
pub struct Described {
    flags: Vec<String>,
    q: usize,
    actions: usize,
    /// The longest length.
    steps: usize,
    lengths: Vec<usize>,
    window: [usize; 2],
    tied: bool,
    memory: usize,
    words: String,
    /// The multiplication table.
    square: Vec<Vec<Symbol>>,
    cells: usize,
    /// How many inputs there are of all lengths.
    inputs: String,
    /// What rewards are over.
    denominator: String,
    codes: Codes,
    fits_drawing: bool,
    can: Can,
    grid: Vec<Grid>,
    cell_names: Option<Vec<String>>,
    command: String,
}

/// How many codes there are.
#[derive(Serialize)]
struct Codes {
    base: usize,
    exponent: usize,
}

#[derive(Serialize)]
struct Can {
    tree: Able,
    certify: Able,
    escape: Able,
    chain: Able,
    cavi: Able,
}

#[derive(Serialize)]
struct Able {
    able: bool,
    why_not: Option<String>,
}

impl<E: ToString> From<Result<(), E>> for Able {
    fn from(result: Result<(), E>) -> Able {
        Able {
            able: result.is_ok(),
            why_not: result.err().map(|error| error.to_string()),
        }
    }
}

/// Cells with SEP in the same places: cell `first_cell + row * columns + column`.
#[derive(Serialize)]
struct Grid {
    t: Option<usize>,
    first_cell: usize,
    /// The windows.
    rows: Vec<String>,
    /// The tokens remembered.
    columns: Vec<String>,
}

/// Describes the class that flags name.
pub fn describe(ask: &Ask<'_>, asked: &ClassAsked) -> Result<Described, Refusal> {
    let known = ask.class(&asked.class)?;
    let class = &known.class;
    let (q, cells) = (class.q(), class.cells());
    let Shape {
        window,
        memory,
        tied,
    } = class.shape();
    let lengths = class.task().lengths();
    let inputs: UBig = lengths.iter().map(|&t| UBig::from(q).pow(t)).sum();
    let names = (0..cells).map(|cell| name(&class.key(cell)));
    let line = ["cells", "--list"].into_iter().map(str::to_owned);
    Ok(Described {
        flags: known.flags.clone(),
        q,
        actions: q,
        steps: class.task().longest(),
        lengths: lengths.to_vec(),
        window: [window.past, window.future],
        tied,
        memory,
        words: sentence(&known),
        square: class
            .task()
            .square()
            .rows()
            .map(<[Symbol]>::to_vec)
            .collect(),
        cells,
        inputs: inputs.to_string(),
        denominator: class.task().denominator().to_string(),
        codes: Codes {
            base: q,
            exponent: cells,
        },
        fits_drawing: check_size(class).is_ok(),
        can: can(ask, class),
        grid: class
            .groups()
            .iter()
            .map(|group| grid(class, group))
            .collect(),
        cell_names: (cells <= NAMED).then(|| names.collect()),
        command: command::line(line.chain(known.flags.iter().cloned())),
    })
}

fn can(ask: &Ask<'_>, class: &Class) -> Can {
    let allowance = ask.explorer.allowance;
    let zero = Code::from_fn(class, |_| 0);
    let counted = Counter::within(zero, allowance).map(drop);
    let counted = counted.map_err(|error| error.to_string());
    Can {
        tree: check_codes(class).into(),
        certify: counted.clone().into(),
        escape: escape::assumptions(class).into(),
        chain: counted.into(),
        cavi: ask.check_sums(class).into(),
    }
}

/// The most codes that are flooded.
const MOST_CODES: u128 = 1 << 22;

/// Refuses a class of too many codes for a tree.
pub fn check_codes(class: &Class) -> Result<(), String> {
    let exponent = u32::try_from(class.cells()).ok();
    let codes = exponent.and_then(|cells| (class.q() as u128).checked_pow(cells));
    if codes.is_some_and(|codes| codes <= MOST_CODES) {
        return Ok(());
    }
    Err(format!(
        "a tree is made of all codes, here {}^{}: a page floods up to {MOST_CODES}",
        class.q(),
        class.cells()
    ))
}

/// One sentence for someone who has not seen a class before.
fn sentence(known: &KnownClass) -> String {
    let class = &known.class;
    let Shape {
        window,
        memory,
        tied,
    } = class.shape();
    let lengths: Vec<String> = class
        .task()
        .lengths()
        .iter()
        .map(usize::to_string)
        .collect();
    let seen = match (window.past, window.future) {
        (0, 0) => "x_t".to_owned(),
        (past, future) => {
            let side = |n: usize, sign: &str| match n {
                0 => "x_t".to_owned(),
                n => format!("x_t{sign}{n}"),
            };
            format!("{} to {}", side(past, "-"), side(future, "+"))
        }
    };
    let tokens = match memory {
        1 => "the last token".to_owned(),
        n => format!("the last {n} tokens"),
    };
    let time = if tied {
        "one table for all steps"
    } else {
        "a table of its own for every step"
    };
    let weights = match &known.words.length_weights {
        None => String::new(),
        Some(weights) => format!(" with the weights {weights}"),
    };
    let rewarded = match known.words.reward.is_final() {
        true => String::new(),
        false => format!(" The reward is {}.", known.words.reward),
    };
    format!(
        "Inputs of length {}{weights} over {} symbols ({}, {}); at step t the policy sees {seen} and {tokens}, \
         with {time}: {} cells.{rewarded}",
        lengths.join(" or "),
        class.q(),
        known.words.task,
        known.words.inputs,
        class.cells()
    )
}

fn grid(class: &Class, group: &Group) -> Grid {
    let key =
        |row: usize, column: usize| class.key(group.first_cell + row * group.histories + column);
    Grid {
        t: group.t,
        first_cell: group.first_cell,
        rows: (0..group.windows())
            .map(|row| symbols(&key(row, 0).x))
            .collect(),
        columns: (0..group.histories)
            .map(|column| symbols(&key(0, column).y))
            .collect(),
    }
}

/// Symbols with commas, oldest first.
fn symbols(list: &[Option<Symbol>]) -> String {
    let one = |symbol: &Option<Symbol>| symbol.map_or("SEP".to_owned(), |s| s.to_string());
    list.iter().map(one).collect::<Vec<_>>().join(",")
}

/// `t=2 x=0,1 y=3`.
fn name(key: &CellKey) -> String {
    let t = key.t.map_or(String::new(), |t| format!("t={t} "));
    format!("{t}x={} y={}", symbols(&key.x), symbols(&key.y))
}
