//! Draws codes of wide classes as a map: a square for each cell, its colour the token (paper, Fig. 1 II).
//!
//! A row is what is read first (the symbol, or the first symbols of a wide window), a column what is read after it, with the
//! token before: the tables of `foldglass explore` have the same orientation.

use foldglass::reward::count::Counter;
use foldglass::{Allowance, Class, Code, Evaluator, Policy, Symbol};
use kuva::prelude::SvgBackend;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::DrawnCode;
use super::picture::seen;
use crate::error::Error;
use crate::figure::{BLACK, LABEL, LOOKS, PLAIN, Style, WIDTH, named, text};

/// The most cells of a map.
const MOST_CELLS: usize = 20_000;
/// The height of a map for which squares are made as large as they can be, and their least and largest side.
const HEIGHT: f64 = 620.0;
const SIDES: [f64; 2] = [3.0, 22.0];
/// From this side on a square shows the number of its token.
const NUMBERED: f64 = 12.0;
const GAP: f64 = 22.0;
/// Above the squares: the step, the names of the axes, the values along the columns.
const TITLE: f64 = 44.0;
/// Left of the squares, per character of a row's value.
const CHARACTER: f64 = 7.5;
/// The least width of a block: its axes are named above it.
const NARROWEST: f64 = 100.0;
const SMALL: Style = Style {
    size: 10,
    bold: false,
};
/// A cell that no input reaches.
const UNREACHED: f64 = 0.18;

/// What the rows or the columns of a block stand for.
#[derive(Debug, Default, PartialEq)]
struct Side {
    /// What is seen there: `xₜ`.
    name: String,
    /// Its value, by row or column.
    values: Vec<String>,
}

/// The cells of one step.
struct StepBlock {
    name: String,
    first: usize,
    cells: usize,
    /// How many stand side by side.
    across: usize,
    rows: Side,
    columns: Side,
}

impl StepBlock {
    /// The room that the values of the rows take.
    fn indent(&self) -> f64 {
        let longest = self.rows.values.iter().map(String::len).max();
        CHARACTER * longest.unwrap_or(0) as f64 + 3.0
    }

    fn width(&self, side: f64) -> f64 {
        (self.indent() + self.across as f64 * side).max(NARROWEST)
    }
}

/// What the rows and the columns of a block stand for; nothing where lengths or window ends mix in it.
fn sides(class: &Class, first: usize, cells: usize, across: usize) -> [Side; 2] {
    let keys: Vec<Vec<Option<Symbol>>> = (first..first + cells)
        .map(|cell| {
            let key = class.key(cell);
            key.x.iter().chain(&key.y).copied().collect()
        })
        .collect();
    let all = 0..keys[0].len();
    let differs = |place: usize, other: usize| keys[other][place] != keys[0][place];
    let in_columns = |place: usize| (0..across).any(|cell| differs(place, cell));
    let in_rows = |place: usize| {
        !in_columns(place) && (0..cells).step_by(across).any(|cell| differs(place, cell))
    };
    let names = seen(class);
    let side = |places: Vec<usize>, cells: Vec<usize>| {
        let value = |cell: usize| -> String {
            let symbols = places.iter().map(|&place| keys[cell][place]);
            let symbols = symbols.map(|symbol| symbol.map_or("–".to_owned(), |s| s.to_string()));
            symbols
                .collect::<Vec<_>>()
                .join(if class.q() > 10 { "," } else { "" })
        };
        let name: Vec<&str> = places.iter().map(|&place| &names[place][..]).collect();
        let side = Side {
            name: name.join(" "),
            values: cells.into_iter().map(value).collect(),
        };
        if places.is_empty() {
            Side::default()
        } else {
            side
        }
    };
    let rows: Vec<usize> = all.clone().filter(|&place| in_rows(place)).collect();
    let columns: Vec<usize> = all.filter(|&place| in_columns(place)).collect();
    let is_regular = (0..cells).all(|cell| {
        let (row, column) = (cell / across * across, cell % across);
        rows.iter()
            .all(|&place| keys[cell][place] == keys[row][place])
            && columns
                .iter()
                .all(|&place| keys[cell][place] == keys[column][place])
    });
    if !is_regular {
        return [Side::default(), Side::default()];
    }
    [
        side(rows, (0..cells).step_by(across).collect()),
        side(columns, (0..across).collect()),
    ]
}

/// Where a block lies.
type Corner = [f64; 2];

/// What is known of the cells of a code.
struct Marks {
    /// Some input reaches it.
    reached: Vec<bool>,
    /// Another token there raises J.
    raised: Vec<bool>,
}

impl Marks {
    fn of(code: &Code) -> Result<Marks, Error> {
        let class = code.class();
        let mut evaluator = Evaluator::within(class, Allowance::default())?;
        evaluator.evaluate(&Policy::deterministic(code));
        let mut counter = Counter::within(code.clone(), Allowance::default())?;
        let now = counter.reward();
        let mut rewards = vec![0; class.q()];
        let raises = |cell: usize| {
            counter.rewards(cell, &mut rewards);
            rewards.iter().any(|&reward| reward > now)
        };
        Ok(Marks {
            raised: (0..class.cells()).map(raises).collect(),
            reached: (0..class.cells())
                .map(|cell| evaluator.visits(cell) > 0.0)
                .collect(),
        })
    }
}

/// The blocks of a class, each near to a square.
fn blocks(code: &Code) -> Vec<StepBlock> {
    let class = code.class();
    let block = |group: &foldglass::model::class::Group| {
        let mut across = group.histories;
        while across * across < group.cells && across * class.q() < group.cells {
            across *= class.q();
        }
        let across = across.min(group.cells);
        let [rows, columns] = sides(class, group.first_cell, group.cells, across);
        StepBlock {
            name: group
                .t
                .map_or("all steps".to_owned(), |t| format!("t = {t}")),
            first: group.first_cell,
            cells: group.cells,
            across,
            rows,
            columns,
        }
    };
    class.groups().iter().map(block).collect()
}

/// Puts blocks beside and below each other; their corners and the height of all.
fn flow(blocks: &[StepBlock], side: f64) -> (Vec<Corner>, f64) {
    let (mut left, mut top, mut tallest) = (0.0, 0.0, 0.0_f64);
    let mut corners = Vec::new();
    for block in blocks {
        let width = block.width(side);
        let height = block.cells.div_ceil(block.across) as f64 * side + TITLE;
        if left > 0.0 && left + width > WIDTH {
            (left, top, tallest) = (0.0, top + tallest + GAP, 0.0);
        }
        corners.push([left, top]);
        left += width + GAP;
        tallest = tallest.max(height);
    }
    (corners, top + tallest)
}

/// The largest side with which the blocks are at most `HEIGHT` high.
fn side(blocks: &[StepBlock]) -> f64 {
    let [least, largest] = SIDES;
    let mut side = largest;
    while side > least && flow(blocks, side).1 > HEIGHT {
        side -= 1.0;
    }
    side
}

/// The colour of a token: none is black or white.
fn colour(token: Symbol) -> &'static str {
    let looks = &LOOKS[1..];
    looks[usize::from(token) % looks.len()].colour
}

/// Draws a code as a map; refuses one of more cells than a picture can show.
pub fn map(drawn: &DrawnCode) -> Result<String, Error> {
    let code = &drawn.code;
    let class = code.class();
    if class.cells() > MOST_CELLS {
        return Err(Error::Usage(format!(
            "a map of {} has {} cells: up to {MOST_CELLS} are drawn",
            class.spec(),
            class.cells()
        )));
    }
    let marks = Marks::of(code)?;
    let blocks = blocks(code);
    let side = side(&blocks);
    let (corners, height) = flow(&blocks, side);
    let (top, bottom) = (46.0, 64.0);
    let mut scene = Scene::new(WIDTH + 2.0 * GAP, top + height + bottom);
    scene.background_color = Some("#ffffff".to_owned());
    let title = Style {
        size: LABEL,
        bold: true,
    };
    text(
        &mut scene,
        [GAP, 26.0],
        TextAnchor::Start,
        title,
        drawn.head(),
    );
    for (block, &[left, above]) in blocks.iter().zip(&corners) {
        let (left, above) = (GAP + left, top + above);
        let place = [left, above + 12.0];
        text(&mut scene, place, TextAnchor::Start, PLAIN, &block.name[..]);
        write_sides(&mut scene, block, [left, above], side);
        let left = left + block.indent();
        for number in 0..block.cells {
            let cell = block.first + number;
            let (row, column) = (number / block.across, number % block.across);
            let corner = [
                left + column as f64 * side,
                above + TITLE + row as f64 * side,
            ];
            write_cell(&mut scene, corner, side, code.action(cell), cell, &marks);
        }
    }
    let below = top + height + 24.0;
    write_legend(&mut scene, below, class.q());
    let name = format!("Map of {}, {} cells", drawn.head(), class.cells());
    Ok(named(&SvgBackend.render_scene(&scene), &name))
}

/// The names of the axes of a block, and the values along them where there is room.
fn write_sides(scene: &mut Scene, block: &StepBlock, [left, above]: Corner, side: f64) {
    let (rows, columns) = (&block.rows, &block.columns);
    let names = [(rows, "↓"), (columns, "→")].into_iter();
    let names = names.filter(|(side, _)| !side.name.is_empty());
    let names: Vec<String> = names
        .map(|(side, arrow)| format!("{arrow} {}", side.name))
        .collect();
    let place = [left, above + 26.0];
    text(scene, place, TextAnchor::Start, SMALL, names.join("  "));
    let corner = [left + block.indent(), above + TITLE];
    if side >= SMALL.size as f64 {
        for (row, value) in rows.values.iter().enumerate() {
            let y = corner[1] + (row as f64 + 0.5) * side + 3.5;
            text(
                scene,
                [corner[0] - 4.0, y],
                TextAnchor::End,
                SMALL,
                &value[..],
            );
        }
    }
    let longest = columns.values.iter().map(String::len).max();
    if side >= CHARACTER * longest.unwrap_or(0) as f64 + 2.0 {
        for (column, value) in columns.values.iter().enumerate() {
            let x = corner[0] + (column as f64 + 0.5) * side;
            text(
                scene,
                [x, corner[1] - 4.0],
                TextAnchor::Middle,
                SMALL,
                &value[..],
            );
        }
    }
}

fn write_cell(
    scene: &mut Scene,
    [x, y]: Corner,
    side: f64,
    token: Symbol,
    cell: usize,
    marks: &Marks,
) {
    square(
        scene,
        [x, y],
        side - 0.4,
        colour(token),
        (!marks.reached[cell]).then_some(UNREACHED),
    );
    if marks.raised[cell] {
        let dot = (side / 2.6).max(1.5);
        let corner = [x + (side - dot) / 2.0, y + (side - dot) / 2.0];
        let corner = match side >= NUMBERED {
            true => [x + side - dot - 1.0, y + 1.0],
            false => corner,
        };
        square(scene, corner, dot, BLACK, None);
    }
    if side >= NUMBERED {
        let style = Style {
            size: (side * 0.62) as u32,
            bold: false,
        };
        let place = [x + side * 0.42, y + side * 0.74];
        text(scene, place, TextAnchor::Middle, style, token.to_string());
    }
}

fn square(scene: &mut Scene, [x, y]: Corner, side: f64, fill: &str, opacity: Option<f64>) {
    scene.add(Primitive::Rect {
        x,
        y,
        width: side,
        height: side,
        fill: fill.into(),
        stroke: None,
        stroke_width: None,
        opacity,
    });
}

/// What colours and marks stand for.
fn write_legend(scene: &mut Scene, y: f64, q: usize) {
    let mut x = GAP;
    for token in 0..q.min(LOOKS.len() - 1) {
        square(scene, [x, y - 11.0], 13.0, colour(token as Symbol), None);
        let place = [x + 18.0, y];
        text(
            scene,
            place,
            TextAnchor::Start,
            PLAIN,
            format!("token {token}"),
        );
        x += 90.0;
    }
    if q > LOOKS.len() - 1 {
        text(
            scene,
            [x, y],
            TextAnchor::Start,
            PLAIN,
            "and so on, in turn",
        );
    }
    let words = "↓ rows, → columns: what a cell sees. Black mark: another token in this cell raises J; pale: no input reaches this cell";
    text(scene, [GAP, y + 22.0], TextAnchor::Start, PLAIN, words);
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::{ClassSpec, Operation, Shape};

    #[test]
    fn a_row_is_what_is_read_first_and_a_column_the_rest_with_the_token_before() {
        let spec = ClassSpec::uniform(Operation::cyclic(3).unwrap(), &[4], Shape::untied(0, 1));
        let class = spec.lay_out().unwrap();
        let block = |t: usize| {
            let group = &class.groups()[t - 1];
            sides(&class, group.first_cell, group.cells, group.cells / 3)
        };
        let [rows, columns] = block(2);
        assert_eq!(
            (&rows.name[..], rows.values.join(" ")),
            ("xₜ", "0 1 2".to_owned())
        );
        assert_eq!(columns.name, "xₜ₊₁ yₜ₋₁");
        assert_eq!(columns.values.join(" "), "00 01 02 10 11 12 20 21 22");
        let [rows, columns] = block(1);
        assert_eq!((&rows.name[..], &columns.name[..]), ("xₜ", "xₜ₊₁"));
    }
}
