//! Puts curves between two axes, and several such panels into one picture.

use kuva::prelude::{Layout, LegendEntry, Plot, SvgBackend, TickFormat, render_multiple};
use kuva::render::annotations::ReferenceLine;
use kuva::render::render::Scene;

use super::{powers_of_ten, round_step, settled, styled};

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
}

impl Panel {
    /// Axes without curves.
    pub fn new(title: impl Into<String>, frame: Frame, x: Axis, y: Axis) -> Panel {
        let [left, right, top, bottom] = frame.margins;
        let layout = styled(Layout::new((x.ends[0], x.ends[1]), (y.ends[0], y.ends[1])))
            .with_width(frame.size[0])
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
        render_multiple(self.plots, self.layout)
    }
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
