//! Puts curves between two axes, and several such panels into one picture.

use kuva::prelude::{Layout, LegendEntry, Plot, SvgBackend, TickFormat, render_multiple};
use kuva::render::annotations::ReferenceLine;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::{LABEL, TEXT, TITLE, powers_of_ten, round_step, settled, styled};

/// An axis.
pub struct Axis {
    label: String,
    ends: [f64; 2],
    step: f64,
    ticks: TickFormat,
}

impl Axis {
    /// Between two numbers, with up to eight round steps.
    pub fn new(label: impl Into<String>, ends: [f64; 2]) -> Axis {
        Axis {
            label: label.into(),
            ends,
            step: round_step((ends[1] - ends[0]) / 8.0),
            ticks: TickFormat::Auto,
        }
    }

    /// Between two logarithms, with a tick at every power of ten.
    pub fn of_powers(label: impl Into<String>, ends: [f64; 2]) -> Axis {
        Axis::new(label, ends).every(1.0).written(powers_of_ten())
    }

    /// With another step.
    pub fn every(self, step: f64) -> Axis {
        Axis { step, ..self }
    }

    /// With ticks in another form.
    pub fn written(self, ticks: TickFormat) -> Axis {
        Axis { ticks, ..self }
    }
}

/// The size of a panel and what is left free around its axes, in pixels.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// Width and height.
    pub size: [f64; 2],
    /// Left, right, top and bottom of the axes.
    pub margins: [f64; 4],
}

/// A panel that goes into one column of a paper as it is: 9.5 cm wide, text of 8 points.
pub const COLUMN: Frame = Frame {
    size: [360.0, 250.0],
    margins: [46.0, 12.0, 14.0, 42.0],
};

/// The same, a line higher, with a title.
pub const TITLED: Frame = Frame {
    size: [360.0, 270.0],
    margins: [46.0, 12.0, 34.0, 42.0],
};

/// Narrower panels have the sizes of text of one column.
const NARROW: f64 = 500.0;

impl Frame {
    /// The same with other room at the right, for names of curves beside their ends.
    pub const fn right(self, right: f64) -> Frame {
        let [left, _, top, bottom] = self.margins;
        Frame {
            margins: [left, right, top, bottom],
            ..self
        }
    }

    /// The same with other room at the left.
    pub const fn left(self, left: f64) -> Frame {
        let [_, right, top, bottom] = self.margins;
        Frame {
            margins: [left, right, top, bottom],
            ..self
        }
    }

    /// The sizes of text: ticks and labels of curves, names of axes, title.
    fn text(&self) -> [u32; 3] {
        if self.size[0] < NARROW {
            [10, 11, 12]
        } else {
            [TEXT, LABEL, TITLE]
        }
    }
}

/// Where numbers stand in a panel.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    frame: Frame,
    x: [f64; 2],
    y: [f64; 2],
}

impl Places {
    /// Between these ends of the axes.
    pub fn new(frame: Frame, x: [f64; 2], y: [f64; 2]) -> Places {
        Places { frame, x, y }
    }

    /// From the left edge of the panel.
    pub fn x(&self, value: f64) -> f64 {
        let [left, right, ..] = self.frame.margins;
        left + (self.frame.size[0] - left - right) * share(value, self.x)
    }

    /// From its top.
    pub fn y(&self, value: f64) -> f64 {
        let [.., top, bottom] = self.frame.margins;
        let height = self.frame.size[1];
        height - bottom - (height - top - bottom) * share(value, self.y)
    }
}

fn share(value: f64, [low, high]: [f64; 2]) -> f64 {
    (value - low) / (high - low)
}

/// Curves between two axes, with a legend beside them.
pub struct Panel {
    frame: Frame,
    layout: Layout,
    x: Axis,
    y: Axis,
    plots: Vec<Plot>,
    labels: Vec<DirectLabel>,
}

/// A text that stands in a panel, in the colour of what it names.
struct DirectLabel {
    content: String,
    place: [f64; 2],
    colour: &'static str,
    anchor: TextAnchor,
}

impl Panel {
    /// Axes without curves.
    pub fn new(title: impl Into<String>, frame: Frame, x: Axis, y: Axis) -> Panel {
        let [left, right, top, bottom] = frame.margins;
        let [text, label, headline] = frame.text();
        let layout = styled(Layout::new((x.ends[0], x.ends[1]), (y.ends[0], y.ends[1])))
            .with_width(frame.size[0])
            .with_tick_size(text)
            .with_body_size(text)
            .with_label_size(label)
            .with_title_size(headline)
            .with_height(frame.size[1])
            .with_force_margins(left, right)
            .with_force_margins_y(top, bottom)
            .with_title(title.into())
            .with_x_label(x.label.clone())
            .with_y_label(y.label.clone())
            .with_x_axis_min(x.ends[0])
            .with_x_axis_max(x.ends[1])
            .with_x_tick_step(x.step)
            .with_x_tick_format(x.ticks.clone())
            .with_y_axis_min(y.ends[0])
            .with_y_axis_max(y.ends[1])
            .with_y_tick_step(y.step)
            .with_y_tick_format(y.ticks.clone());
        Panel {
            frame,
            layout,
            x,
            y,
            plots: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// With curves, drawn in their order.
    pub fn plots(mut self, plots: impl IntoIterator<Item = Plot>) -> Panel {
        self.plots.extend(plots);
        self
    }

    /// With a legend at a place, so wide.
    pub fn legend(self, entries: Vec<LegendEntry>, [x, y]: [f64; 2], width: f64) -> Panel {
        let layout = self
            .layout
            .with_legend_entries(entries)
            .with_legend_at(x, y)
            .with_legend_width(width);
        Panel { layout, ..self }
    }

    /// With a text at a place between the axes, which ends there or begins there.
    pub fn label(
        self,
        content: impl Into<String>,
        [x, y]: [f64; 2],
        colour: &'static str,
        ends: bool,
    ) -> Panel {
        let places = self.places();
        let anchor = if ends {
            TextAnchor::End
        } else {
            TextAnchor::Start
        };
        self.text([places.x(x), places.y(y)], anchor, colour, content.into())
    }

    /// With the names of curves at the right of the axes, each at the height of the curve's end or as near to it as
    /// the others leave room.
    pub fn name_ends(mut self, names: Vec<(String, f64, &'static str)>) -> Panel {
        let places = self.places();
        let x = places.x(self.x.ends[1]) + 6.0;
        let wanted: Vec<f64> = names.iter().map(|(_, y, _)| places.y(*y)).collect();
        let line = 1.25 * f64::from(self.frame.text()[0]);
        for ((name, _, colour), y) in names.into_iter().zip(spread(&wanted, line)) {
            self = self.text([x, y], TextAnchor::Start, colour, name);
        }
        self
    }

    fn text(
        mut self,
        place: [f64; 2],
        anchor: TextAnchor,
        colour: &'static str,
        content: String,
    ) -> Panel {
        self.labels.push(DirectLabel {
            content,
            place,
            colour,
            anchor,
        });
        self
    }

    /// With a line across.
    pub fn line(self, line: ReferenceLine) -> Panel {
        let layout = self.layout.with_reference_line(line);
        Panel { layout, ..self }
    }

    /// Where its numbers stand.
    pub fn places(&self) -> Places {
        Places::new(self.frame, self.x.ends, self.y.ends)
    }

    /// The drawing, to which more can be added.
    pub fn scene(self) -> Scene {
        let [size, ..] = self.frame.text();
        let mut scene = render_multiple(self.plots, self.layout);
        for label in self.labels {
            let [x, y] = label.place;
            scene.add(Primitive::Text {
                x,
                // The middle of the letters stands at the height asked for.
                y: y + 0.35 * f64::from(size),
                content: label.content,
                size,
                anchor: label.anchor,
                rotate: None,
                bold: false,
                color: Some(label.colour.into()),
            });
        }
        scene
    }
}

/// Heights near those that are wanted, `line` apart at least, in the same order.
fn spread(wanted: &[f64], line: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    // Names that would overlap stand together, around the middle of what they want.
    let mut groups: Vec<(f64, Vec<usize>)> = Vec::new();
    for n in order {
        let mut group = (wanted[n], vec![n]);
        while let Some((middle, members)) = groups.last() {
            let room = line * (members.len() + group.1.len()) as f64 / 2.0;
            if group.0 - middle >= room {
                break;
            }
            let (middle, mut members) = groups.pop().expect("it is there");
            let (a, b) = (members.len() as f64, group.1.len() as f64);
            let middle = (a * middle + b * group.0) / (a + b);
            members.extend(group.1);
            group = (middle, members);
        }
        groups.push(group);
    }
    let mut places = wanted.to_vec();
    for (middle, members) in groups {
        let first = middle - line * (members.len() as f64 - 1.0) / 2.0;
        for (n, member) in members.into_iter().enumerate() {
            places[member] = first + line * n as f64;
        }
    }
    places
}

/// A drawing as SVG: the same bytes for the same drawing.
pub fn svg(scene: &Scene) -> String {
    settled(&SvgBackend.render_scene(scene))
}

/// Drawings of one size as one SVG, so many a row.
pub fn grid(scenes: &[Scene], columns: usize) -> String {
    let [width, height] = scenes
        .first()
        .map_or([0.0, 0.0], |scene| [scene.width, scene.height]);
    let (columns, rows) = (columns.min(scenes.len()), scenes.len().div_ceil(columns));
    let mut whole = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\">",
        width * columns as f64,
        height * rows as f64
    );
    for (number, scene) in scenes.iter().enumerate() {
        let (x, y) = (number % columns, number / columns);
        let (x, y) = (width * x as f64, height * y as f64);
        let inner = SvgBackend.render_scene(scene);
        // A document within another has no declaration of its own.
        let begin = inner.find("<svg").unwrap_or(0);
        whole += &inner[begin..].replacen("<svg", &format!("<svg x=\"{x}\" y=\"{y}\""), 1);
    }
    settled(&(whole + "</svg>\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame {
        size: [300.0, 200.0],
        margins: [50.0, 30.0, 20.0, 40.0],
    };

    #[test]
    fn ends_of_the_axes_stand_at_the_margins() {
        let places = Places::new(FRAME, [-1.0, 1.0], [0.0, 2.0]);
        assert_eq!([places.x(-1.0), places.x(1.0)], [50.0, 270.0]);
        assert_eq!([places.y(0.0), places.y(2.0)], [160.0, 20.0]);
        assert_eq!([places.x(0.0), places.y(1.0)], [160.0, 90.0]);
    }

    #[test]
    fn names_of_curves_keep_their_order_and_do_not_overlap() {
        assert_eq!(spread(&[100.0, 20.0], 10.0), [100.0, 20.0]);
        assert_eq!(spread(&[50.0, 50.0, 90.0], 10.0), [45.0, 55.0, 90.0]);
        let close = spread(&[50.0, 58.0, 62.0], 10.0);
        assert!(
            (close[1] - close[0] - 10.0).abs() < 1e-9 && (close[2] - close[1] - 10.0).abs() < 1e-9
        );
        assert!((close.iter().sum::<f64>() - 170.0).abs() < 1e-9);
    }

    #[test]
    fn a_label_stands_where_its_number_does_in_its_colour() {
        let axis = || Axis::new("x", [0.0, 1.0]);
        let panel =
            Panel::new("", FRAME, axis(), axis()).label("here", [1.0, 1.0], "#123456", true);
        let drawn = svg(&panel.scene());
        let label = drawn
            .split("<text")
            .find(|text| text.contains(">here<"))
            .unwrap();
        assert!(
            label.contains("#123456") && label.contains("270"),
            "{label}"
        );
    }

    #[test]
    fn panels_stand_in_rows_and_the_same_panels_are_the_same_bytes() {
        let panel = |title: &str| {
            Panel::new(
                title,
                FRAME,
                Axis::new("x", [0.0, 1.0]),
                Axis::new("y", [0.0, 1.0]),
            )
            .scene()
        };
        let draw = || grid(&["a", "b", "c"].map(panel), 2);
        let drawn = draw();
        assert!(drawn.starts_with(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"600\" height=\"400\">"
        ));
        for place in ["x=\"0\" y=\"0\"", "x=\"300\" y=\"0\"", "x=\"0\" y=\"200\""] {
            assert_eq!(
                drawn.matches(&format!("<svg {place}")).count(),
                1,
                "{place}"
            );
        }
        assert_eq!(drawn, draw());
        assert!(grid(&[], 2).ends_with("</svg>\n"));
    }
}
