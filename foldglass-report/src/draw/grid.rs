//! Draws codes of wide classes as a map: a square for each cell, its colour the token (paper, Fig. 1 II).
//!
//! The cells of a step stand in their documented order, so that those of one window are neighbours.

use foldglass::reward::count::Counter;
use foldglass::{Allowance, Code, Evaluator, Policy, Symbol};
use kuva::prelude::SvgBackend;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::DrawnCode;
use crate::error::Error;
use crate::figure::{BLACK, LABEL, LOOKS, PLAIN, Style, WIDTH, text};

/// The most cells of a map.
const MOST_CELLS: usize = 20_000;
/// The height of a map for which squares are made as large as they can be, and their least and largest side.
const HEIGHT: f64 = 620.0;
const SIDES: [f64; 2] = [3.0, 22.0];
/// From this side on a square shows the number of its token.
const NUMBERED: f64 = 12.0;
const GAP: f64 = 22.0;
const TITLE: f64 = 18.0;
/// A cell that no input reaches.
const UNREACHED: f64 = 0.18;

/// The cells of one step.
struct StepBlock {
    name: String,
    first: usize,
    cells: usize,
    /// How many stand side by side.
    across: usize,
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
        while across * across < group.cells && across * class.q() <= group.cells {
            across *= class.q();
        }
        StepBlock {
            name: group
                .t
                .map_or("all steps".to_owned(), |t| format!("t = {t}")),
            first: group.first_cell,
            cells: group.cells,
            across: across.min(group.cells),
        }
    };
    class.groups().iter().map(block).collect()
}

/// Puts blocks beside and below each other; their corners and the height of all.
fn flow(blocks: &[StepBlock], side: f64) -> (Vec<Corner>, f64) {
    let (mut left, mut top, mut tallest) = (0.0, 0.0, 0.0_f64);
    let mut corners = Vec::new();
    for block in blocks {
        let width = (block.across as f64 * side).max(60.0);
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
    let reward = drawn.reward.to_string();
    let reward = reward.strip_suffix("/1").unwrap_or(&reward);
    let head = format!("{}: J = {reward}", drawn.name);
    text(&mut scene, [GAP, 26.0], TextAnchor::Start, title, head);
    for (block, &[left, above]) in blocks.iter().zip(&corners) {
        let (left, above) = (GAP + left, top + above);
        let place = [left, above + 12.0];
        text(&mut scene, place, TextAnchor::Start, PLAIN, &block.name[..]);
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
    Ok(SvgBackend.render_scene(&scene))
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
    let words = "black mark: another token in this cell raises J; pale: no input reaches this cell";
    text(scene, [GAP, y + 22.0], TextAnchor::Start, PLAIN, words);
}
