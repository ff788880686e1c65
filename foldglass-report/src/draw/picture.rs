//! Lays codes out as the paper draws them: a column of cells a step, the token in each, ways between.

use std::collections::BTreeMap;

use foldglass::model::class::CellKey;
use foldglass::{Class, Symbol};
use kuva::prelude::SvgBackend;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor};
use schemars::JsonSchema;
use serde::Serialize;

use super::ways::Ways;
use super::{DrawnCode, DrawnRollout};
use crate::figure::{self, BLACK, BLUE, LOOKS, PLAIN, Style, TEXT, VERMILION, WIDTH, text};

/// Edges of all inputs, and cells that none reaches.
const EDGE: &str = "#a8a8a8";
const PALE: &str = "#cccccc";
/// Words that explain.
const SMALL: Style = Style {
    size: TEXT - 3,
    bold: false,
};

/// The rows up to which cells are far enough apart to be labelled one by one.
const LABELLED: f64 = 16.0;

/// The most that two rows are apart, and the height that many rows share.
const FAR: f64 = 62.0;
const HEIGHT: f64 = 900.0;
/// The radius of a cell, in distances of rows, and at most in pixels.
const RADIUS: f64 = 0.34;
const LARGEST: f64 = 17.0;

/// From the left edge to the cells of the first step, from the cells of the last to the right edge.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 58.0;
/// Above the cells, and a line of words below them.
const TOP: f64 = 76.0;
const LINE: f64 = 21.0;
const GAP: f64 = 26.0;

/// A code on the inputs of one length.
pub struct CodePanel<'a> {
    drawn: &'a DrawnCode,
    length: usize,
    ways: Ways,
    /// The chosen inputs of this length, with the colours they have in all panels.
    walks: Vec<(&'static str, &'a DrawnRollout)>,
    /// The rows between which its cells lie, and how far they are apart.
    rows: [f64; 2],
    spacing: f64,
}

impl CodePanel<'_> {
    /// A panel for each length.
    pub fn of(drawn: &DrawnCode) -> Vec<CodePanel<'_>> {
        let class = drawn.code.class();
        let lengths = class.task().lengths().iter().enumerate();
        lengths
            .map(|(which, &length)| CodePanel::new(drawn, which, length))
            .collect()
    }

    fn new(drawn: &DrawnCode, which: usize, length: usize) -> CodePanel<'_> {
        let class = drawn.code.class();
        let all = cells(class, which).into_iter().flatten();
        let rows = all.map(|cell| row(class, &class.key(cell)));
        let rows: Vec<f64> = rows.collect();
        let low = rows.iter().copied().fold(f64::INFINITY, f64::min);
        let high = rows.iter().copied().fold(0.0, f64::max);
        // The paper's two inputs are blue and red.
        let colours = [BLUE, VERMILION].into_iter().chain(
            LOOKS
                .iter()
                .map(|look| look.colour)
                .filter(|colour| ![BLUE, VERMILION].contains(colour)),
        );
        let walks = colours.zip(&drawn.inputs);
        CodePanel {
            ways: Ways::of(&drawn.code, which),
            walks: walks.filter(|(_, walk)| walk.x.len() == length).collect(),
            drawn,
            length,
            rows: [low, high],
            spacing: (HEIGHT / (high - low + 1.0)).min(FAR),
        }
    }

    fn radius(&self) -> f64 {
        (RADIUS * self.spacing).min(LARGEST)
    }

    /// How far steps are apart.
    fn step(&self) -> f64 {
        (5.5 * self.radius()).max(64.0)
    }

    fn is_labelled(&self) -> bool {
        self.rows[1] - self.rows[0] < LABELLED
    }

    fn width(&self) -> f64 {
        let steps = LEFT + self.step() * self.length as f64 + RIGHT;
        let marks = 20.0 * self.walks.len().saturating_sub(1) as f64;
        (steps + marks).max(if self.walks.is_empty() { 0.0 } else { 400.0 })
    }

    fn cells_height(&self) -> f64 {
        (self.rows[1] - self.rows[0]) * self.spacing
    }

    fn height(&self) -> f64 {
        TOP + self.cells_height() + 46.0 + LINE * self.walks.len() as f64
    }
}

/// By step, the cells that rollouts of a length may consult.
fn cells(class: &Class, which: usize) -> Vec<std::ops::Range<usize>> {
    let path = class.path(which).into_iter();
    path.map(|node| {
        let group = &class.groups()[class.nodes()[node].group];
        group.first_cell..group.first_cell + group.cells
    })
    .collect()
}

/// The row of a cell: window and tokens as one base-q number, SEP halfway between the symbols. Two
/// cells of one step and length have SEP in the same places, so their rows differ by 1 or more.
fn row(class: &Class, key: &CellKey) -> f64 {
    let q = class.q() as f64;
    let digit = |symbol: &Option<Symbol>| symbol.map_or((q - 1.0) / 2.0, f64::from);
    let digits = key.x.iter().chain(&key.y).map(digit);
    digits.fold(0.0, |n, digit| n * q + digit)
}

/// What a cell shows, SEP left out.
fn label(key: &CellKey) -> String {
    let seen = |list: &[Option<Symbol>]| {
        let symbols: Vec<String> = list.iter().flatten().map(Symbol::to_string).collect();
        symbols.join(" ")
    };
    let (x, y) = (seen(&key.x), seen(&key.y));
    if y.is_empty() { x } else { format!("{x}, {y}") }
}

/// Panels beside each other, as many as fit, in as many lines as it takes.
pub struct Picture<'a> {
    panels: Vec<CodePanel<'a>>,
}

impl<'a> Picture<'a> {
    /// Of these.
    pub fn new(panels: Vec<CodePanel<'a>>) -> Picture<'a> {
        Picture { panels }
    }

    /// The picture as SVG.
    pub fn draw(&self) -> String {
        self.sketch().svg
    }

    /// The picture, and where the cells are in it.
    pub fn sketch(&self) -> Sketch {
        let widest = self.panels.iter().map(CodePanel::width).fold(0.0, f64::max);
        let in_line = (((WIDTH + GAP) / (widest + GAP)) as usize).clamp(1, self.panels.len());
        let explained = self.explanation();
        let words = explained.iter().map(|line| line.chars().count()).max();
        let words = 6.0 * words.unwrap_or(0) as f64 + 2.0 * GAP;
        let width = in_line as f64 * (widest + GAP) + GAP;
        let lines = self.panels.chunks(in_line);
        let tallest =
            |line: &[CodePanel<'_>]| line.iter().map(CodePanel::height).fold(0.0, f64::max);
        let heights: Vec<f64> = lines.clone().map(tallest).collect();
        let bottom = 16.0 * explained.len() as f64 + 22.0;
        let height = heights.iter().sum::<f64>() + GAP * heights.len() as f64 + bottom;
        let mut scene = Scene::new(width.max(words), height);
        scene.background_color = Some("#ffffff".to_owned());
        let mut names: Vec<String> = self.panels.iter().map(|panel| panel.drawn.head()).collect();
        names.dedup();
        let mut cells = Vec::new();
        let (mut y, mut number) = (GAP, 0);
        for (line, height) in lines.zip(&heights) {
            for (place, panel) in line.iter().enumerate() {
                let at = [GAP + place as f64 * (widest + GAP), y];
                let letter = (b'a' + (number % 26) as u8) as char;
                let name = (self.panels.len() > 1).then_some(letter);
                let placed = Placed { panel, at };
                placed.write(&mut scene, name);
                cells.extend(placed.spots());
                number += 1;
            }
            y += height + GAP;
        }
        for (n, line) in explained.into_iter().enumerate() {
            let place = [GAP, y + 10.0 + 16.0 * n as f64];
            text(&mut scene, place, TextAnchor::Start, SMALL, line);
        }
        Sketch {
            svg: figure::named(&SvgBackend.render_scene(&scene), &names.join("; ")),
            size: [scene.width, scene.height],
            cells,
        }
    }

    fn explanation(&self) -> Vec<String> {
        let class = self.panels[0].drawn.code.class();
        let key = seen(class).join(", ");
        let token = if class.q() == 2 {
            "the arrow in it its token, up for 1, down for 0"
        } else {
            "the number in it its token"
        };
        vec![
            format!("A circle is a cell ({key}) of step t, {token}."),
            "Dashed lines: the paths of all inputs; no input reaches a pale cell. Squares: the answer.".to_owned(),
        ]
    }
}

/// A picture that is more than looked at.
pub struct Sketch {
    /// As SVG.
    pub svg: String,
    /// Its width and height.
    pub size: [f64; 2],
    /// Its cells.
    pub cells: Vec<Spot>,
}

/// Where a cell is drawn.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
pub struct Spot {
    cell: usize,
    /// The step, counted from 1.
    t: usize,
    x: f64,
    y: f64,
    r: f64,
}

/// What the cells of a class show: the symbols of the window, then the tokens before.
pub fn seen(class: &Class) -> Vec<String> {
    let shape = class.shape();
    let (past, future) = (shape.window.past as isize, shape.window.future as isize);
    let symbols = (-past..=future).map(|i| format!("x{}", offset(i)));
    let tokens = (-(shape.memory as isize)..=-1).map(|i| format!("y{}", offset(i)));
    symbols.chain(tokens).collect()
}

/// x or y at a distance from t, the distance below the line.
fn offset(i: isize) -> String {
    match i {
        0 => "ₜ".to_owned(),
        1.. => format!("ₜ₊{}", below(i as usize)),
        _ => format!("ₜ₋{}", below(-i as usize)),
    }
}

fn below(n: usize) -> String {
    let digit = |c: char| char::from_u32('₀' as u32 + c as u32 - '0' as u32).unwrap_or(c);
    n.to_string().chars().map(digit).collect()
}

/// A panel at its place.
struct Placed<'a> {
    panel: &'a CodePanel<'a>,
    at: [f64; 2],
}

impl Placed<'_> {
    fn class(&self) -> &Class {
        self.panel.drawn.code.class()
    }

    fn x(&self, step: usize) -> f64 {
        self.at[0] + LEFT + self.panel.step() * step as f64
    }

    fn y(&self, row: f64) -> f64 {
        self.at[1] + TOP + (row - self.panel.rows[0]) * self.panel.spacing
    }

    /// The middle of a cell of a step, counted from 0.
    fn cell(&self, step: usize, cell: usize) -> [f64; 2] {
        let row = row(self.class(), &self.class().key(cell));
        [self.x(step), self.y(row)]
    }

    /// The middle of an answer, behind the last step.
    fn answer(&self, token: Symbol) -> [f64; 2] {
        let (panel, q) = (self.panel, self.class().q() as f64);
        let middle = (panel.rows[0] + panel.rows[1]) / 2.0;
        let apart = ((panel.rows[1] - panel.rows[0]) / q).max(1.0);
        let row = middle + (f64::from(token) - (q - 1.0) / 2.0) * apart;
        [self.x(panel.length), self.y(row)]
    }

    fn write(&self, scene: &mut Scene, letter: Option<char>) {
        self.write_head(scene, letter);
        self.write_edges(scene);
        self.write_walks(scene);
        self.write_cells(scene);
        self.write_answers(scene);
        self.write_legend(scene);
    }

    fn write_head(&self, scene: &mut Scene, letter: Option<char>) {
        let (panel, [left, top]) = (self.panel, self.at);
        let letter = letter.map_or(String::new(), |letter| format!("({letter}) "));
        let several = self.class().task().lengths().len() > 1;
        let length = if several {
            format!(", T = {}", panel.length)
        } else {
            String::new()
        };
        let title = format!("{letter}{}", panel.drawn.head_at(&length));
        let style = Style {
            size: figure::LABEL,
            bold: true,
        };
        text(scene, [left, top + 12.0], TextAnchor::Start, style, title);
        let above = top + TOP - panel.radius() - 18.0;
        for t in 0..panel.length {
            let head = format!("t = {}", t + 1);
            text(scene, [self.x(t), above], TextAnchor::Middle, PLAIN, head);
        }
        let head = format!("y{}", below(panel.length));
        let place = [self.x(panel.length), above];
        text(scene, place, TextAnchor::Middle, PLAIN, head);
    }

    fn write_edges(&self, scene: &mut Scene) {
        let ways = &self.panel.ways;
        for (step, edges) in ways.edges.iter().enumerate() {
            for &(from, to) in edges {
                let ends = [self.cell(step, from), self.cell(step + 1, to)];
                self.edge(scene, ends, 0.0, Stroke::ALL);
            }
        }
        for &(cell, token) in &ways.answers {
            let ends = [self.cell(self.panel.length - 1, cell), self.answer(token)];
            self.edge(scene, ends, 0.0, Stroke::ALL);
        }
    }

    /// From the right of one circle to the left of another, moved down a little.
    fn edge(&self, scene: &mut Scene, [from, to]: [[f64; 2]; 2], down: f64, stroke: Stroke) {
        let radius = self.panel.radius();
        let (x1, y1) = (from[0] + radius * 0.9, from[1] + down);
        let (x2, y2) = (to[0] - radius * 0.9, to[1] + down);
        let bend = (x2 - x1) * 0.45;
        let d = format!(
            "M{x1:.1} {y1:.1} C{:.1} {y1:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}",
            x1 + bend,
            x2 - bend
        );
        path(scene, d, stroke);
    }

    /// The chosen inputs; where several go one way they lie side by side.
    fn write_walks(&self, scene: &mut Scene) {
        let mut shared: BTreeMap<(usize, usize, usize), Vec<usize>> = BTreeMap::new();
        let walks = &self.panel.walks;
        let ends = |walk: &DrawnRollout, step: usize| match walk.cells.get(step + 1) {
            Some(&to) => (step, walk.cells[step], to),
            None => (step, walk.cells[step], usize::from(walk.answer)),
        };
        for (number, (_, walk)) in walks.iter().enumerate() {
            for step in 0..self.panel.length {
                shared.entry(ends(walk, step)).or_default().push(number);
            }
        }
        for (number, (colour, walk)) in walks.iter().enumerate() {
            for step in 0..self.panel.length {
                let all = &shared[&ends(walk, step)];
                let place = all.iter().position(|&n| n == number).unwrap_or(0) as f64;
                let down = 4.0 * (place - (all.len() as f64 - 1.0) / 2.0);
                let to = match walk.cells.get(step + 1) {
                    Some(&cell) => self.cell(step + 1, cell),
                    None => self.answer(walk.answer),
                };
                let stroke = Stroke {
                    colour,
                    width: 2.6,
                    dashes: None,
                };
                self.edge(scene, [self.cell(step, walk.cells[step]), to], down, stroke);
            }
        }
    }

    /// By step, the cells of the panel.
    fn steps(&self) -> Vec<std::ops::Range<usize>> {
        let lengths = self.class().task().lengths();
        let which = lengths.iter().position(|&n| n == self.panel.length);
        cells(self.class(), which.unwrap_or(0))
    }

    fn spots(&self) -> Vec<Spot> {
        let steps = self.steps().into_iter().enumerate();
        let spot = |step: usize, cell: usize| {
            let [x, y] = self.cell(step, cell);
            let (t, r) = (step + 1, self.panel.radius());
            Spot { cell, t, x, y, r }
        };
        steps
            .flat_map(|(step, cells)| cells.map(move |cell| (step, cell)))
            .map(|(step, cell)| spot(step, cell))
            .collect()
    }

    fn write_cells(&self, scene: &mut Scene) {
        let (panel, class) = (self.panel, self.class());
        for (step, cells) in self.steps().into_iter().enumerate() {
            for cell in cells {
                let middle = self.cell(step, cell);
                let reached = panel.ways.reached[step].contains(&cell);
                let colour = if reached { BLACK } else { PALE };
                circle(scene, middle, panel.radius(), colour, 1.3);
                let passes = panel.walks.iter().filter(|(_, w)| w.cells[step] == cell);
                for (n, (colour, _)) in passes.enumerate() {
                    ring(scene, middle, panel.radius() + 2.8 * n as f64, colour);
                }
                self.mark(scene, middle, panel.drawn.code.action(cell), colour);
                if panel.is_labelled() {
                    let place = [middle[0], middle[1] + panel.radius() + 12.5];
                    let seen = label(&class.key(cell));
                    text(scene, place, TextAnchor::Middle, SMALL, seen);
                }
            }
        }
        if !panel.is_labelled() {
            self.write_rows(scene);
        }
    }

    /// The labels of rows, on the left, where there is no room at the cells.
    fn write_rows(&self, scene: &mut Scene) {
        let class = self.class();
        let size = (self.panel.spacing as u32).clamp(6, SMALL.size);
        let style = Style { size, bold: false };
        for cell in 0..class.cells() {
            let key = class.key(cell);
            let whole = key.x.iter().chain(&key.y).all(Option::is_some);
            let first = key
                .t
                .is_none_or(|t| t == 1 + class.shape().memory.max(class.shape().window.past));
            if whole && first {
                let y = self.y(row(class, &key)) + f64::from(size) / 3.0;
                text(
                    scene,
                    [self.at[0], y],
                    TextAnchor::Start,
                    style,
                    label(&key),
                );
            }
        }
    }

    /// The token: an arrow up for 1 and down for 0 where there are two, else its number.
    fn mark(&self, scene: &mut Scene, [x, y]: [f64; 2], token: Symbol, colour: &str) {
        let radius = self.panel.radius();
        if self.class().q() == 2 {
            let up = if token == 1 { -1.0 } else { 1.0 };
            let (long, wide) = (radius * 0.62, radius * 0.3);
            let (tip, tail) = (y + up * long, y - up * long);
            let neck = tip - up * wide * 1.2;
            let width = (radius / 9.0).max(1.0);
            let shaft = format!("M{x:.1} {tail:.1} L{x:.1} {tip:.1}");
            let head = format!(
                "M{:.1} {neck:.1} L{x:.1} {tip:.1} L{:.1} {neck:.1}",
                x - wide,
                x + wide
            );
            for d in [shaft, head] {
                let stroke = Stroke {
                    colour,
                    width,
                    dashes: None,
                };
                path(scene, d, stroke);
            }
        } else {
            let size = ((radius * 1.1) as u32).max(6);
            scene.add(Primitive::Text {
                x,
                y: y + f64::from(size) * 0.36,
                content: token.to_string(),
                size,
                anchor: TextAnchor::Middle,
                rotate: None,
                bold: false,
                color: Some(colour.into()),
            });
        }
    }

    /// The tokens that the verifier reads, and at those of chosen inputs whether they are right.
    fn write_answers(&self, scene: &mut Scene) {
        let radius = self.panel.radius();
        for token in 0..self.class().q() as Symbol {
            let [x, y] = self.answer(token);
            scene.add(Primitive::Rect {
                x: x - radius,
                y: y - radius,
                width: 2.0 * radius,
                height: 2.0 * radius,
                fill: "#ffffff".into(),
                stroke: Some(BLACK.into()),
                stroke_width: Some(1.3),
                opacity: None,
            });
            self.mark(scene, [x, y], token, BLACK);
            let here = self.panel.walks.iter().filter(|(_, w)| w.answer == token);
            for (n, (colour, walk)) in here.enumerate() {
                let place = [x + radius + 16.0 + 20.0 * n as f64, y];
                verdict(scene, place, walk.right, colour);
            }
        }
    }

    fn write_legend(&self, scene: &mut Scene) {
        let [left, top] = self.at;
        let spaced = |list: &[Symbol]| {
            let symbols: Vec<String> = list.iter().map(Symbol::to_string).collect();
            symbols.join(" ")
        };
        let first = top + TOP + self.panel.cells_height() + 58.0;
        for (n, (colour, walk)) in self.panel.walks.iter().enumerate() {
            let y = first + LINE * n as f64;
            figure::line(scene, [left, y - 4.5], [left + 28.0, y - 4.5], colour, 2.6);
            let length = below(walk.x.len());
            let said = format!(
                "x = {}:  y = {},  s{length} = {}, {}",
                spaced(&walk.x),
                spaced(&walk.y),
                walk.target,
                if walk.right { "right" } else { "wrong" }
            );
            text(scene, [left + 38.0, y], TextAnchor::Start, PLAIN, said);
        }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy)]
struct Stroke<'a> {
    colour: &'a str,
    width: f64,
    dashes: Option<&'a str>,
}

impl Stroke<'_> {
    /// The edges of all inputs.
    const ALL: Stroke<'static> = Stroke {
        colour: EDGE,
        width: 1.0,
        dashes: Some("4 3"),
    };
}

fn path(scene: &mut Scene, d: String, stroke: Stroke<'_>) {
    scene.add(Primitive::Path(Box::new(PathData {
        d,
        fill: Some("none".into()),
        stroke: stroke.colour.into(),
        stroke_width: stroke.width,
        opacity: None,
        stroke_dasharray: stroke.dashes.map(str::to_owned),
    })));
}

fn circle(scene: &mut Scene, [cx, cy]: [f64; 2], r: f64, colour: &str, width: f64) {
    scene.add(Primitive::Circle {
        cx,
        cy,
        r,
        fill: "#ffffff".into(),
        fill_opacity: None,
        stroke: Some(colour.into()),
        stroke_width: Some(width),
    });
}

/// A circle that covers nothing.
fn ring(scene: &mut Scene, [cx, cy]: [f64; 2], r: f64, colour: &str) {
    scene.add(Primitive::Circle {
        cx,
        cy,
        r,
        fill: "#ffffff".into(),
        fill_opacity: Some(0.0),
        stroke: Some(colour.into()),
        stroke_width: Some(2.2),
    });
}

/// A tick or a cross.
fn verdict(scene: &mut Scene, [x, y]: [f64; 2], right: bool, colour: &str) {
    let d = if right {
        format!(
            "M{:.1} {y:.1} L{:.1} {:.1} L{:.1} {:.1}",
            x - 6.0,
            x - 2.0,
            y + 5.0,
            x + 6.0,
            y - 6.0
        )
    } else {
        let (left, right, up, down) = (x - 5.0, x + 5.0, y - 5.0, y + 5.0);
        format!("M{left:.1} {up:.1} L{right:.1} {down:.1} M{left:.1} {down:.1} L{right:.1} {up:.1}")
    };
    let stroke = Stroke {
        colour,
        width: 2.6,
        dashes: None,
    };
    path(scene, d, stroke);
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::{ClassSpec, Operation, Shape, Window};

    #[test]
    fn cells_of_a_step_have_rows_of_their_own() {
        for q in [2, 3] {
            for (past, future, memory) in [(0, 0, 1), (1, 0, 1), (0, 2, 1), (1, 1, 1), (0, 0, 2)] {
                for tied in [false, true] {
                    let shape = Shape {
                        window: Window { past, future },
                        memory,
                        tied,
                    };
                    let square = Operation::cyclic(q).unwrap();
                    let spec = ClassSpec::uniform(square, &[2, 4], shape);
                    let class = spec.lay_out().unwrap();
                    for which in 0..2 {
                        for step in cells(&class, which) {
                            let mut rows: Vec<f64> =
                                step.map(|cell| row(&class, &class.key(cell))).collect();
                            rows.sort_by(f64::total_cmp);
                            assert!(rows.windows(2).all(|pair| pair[1] - pair[0] >= 1.0));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn distances_stand_below_the_line() {
        assert_eq!([offset(0), offset(-1), offset(12)], ["ₜ", "ₜ₋₁", "ₜ₊₁₂"]);
    }
}
