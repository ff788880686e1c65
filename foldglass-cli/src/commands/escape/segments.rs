//! Reports how a policy became a code (paper, App. B and cor. 4.2 and 4.3).

use std::io::{self, Write};

use foldglass::landscape::escape::{Collapse, PolicyStanding, Segment};
use foldglass::{Class, Symbol};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::cells::{key_entries, key_lines};
use crate::output::number;
use crate::report::words::cell_name;
use crate::report::{Cell, Column};

/// A policy's way to a code.
#[derive(JsonSchema, Serialize)]
pub struct CollapseReport {
    start_reward: f64,
    standing: &'static str,
    ascent: Option<Rise>,
    deviation: f64,
    segments: Vec<SegmentLine>,
    #[serde(skip)]
    found: PolicyStanding,
    /// The cell of the ascent in words.
    #[serde(skip)]
    rise: String,
}

/// Where J rises most.
#[derive(JsonSchema, Serialize)]
struct Rise {
    cell: usize,
    action: Symbol,
    gain: f64,
}

/// A straight line in the space of policies: one row moves to another.
#[derive(JsonSchema, Serialize)]
struct SegmentLine {
    cell: usize,
    from: Vec<f64>,
    to: Vec<f64>,
    reward: f64,
}

impl From<Segment> for SegmentLine {
    fn from(segment: Segment) -> SegmentLine {
        let mut to = vec![0.0; segment.from.len()];
        to[usize::from(segment.to)] = 1.0;
        SegmentLine {
            cell: segment.cell,
            from: segment.from,
            to,
            reward: segment.reward,
        }
    }
}

impl From<Collapse> for CollapseReport {
    fn from(found: Collapse) -> CollapseReport {
        let (standing, ascent) = match found.standing {
            PolicyStanding::Ascends(ascent) => ("ascends", Some(ascent)),
            PolicyStanding::Saddle(_) => ("saddle", None),
            PolicyStanding::Level => ("level", None),
        };
        let rise = ascent.map(|ascent| cell_name(&found.code.class().key(ascent.cell)));
        CollapseReport {
            rise: rise.unwrap_or_default(),
            start_reward: found.start,
            standing,
            ascent: ascent.map(|ascent| Rise {
                cell: ascent.cell,
                action: ascent.action,
                gain: ascent.gain,
            }),
            deviation: found.deviation,
            segments: found.segments.into_iter().map(SegmentLine::from).collect(),
            found: found.standing,
        }
    }
}

impl CollapseReport {
    /// Says whether the policy was a local maximum, and what its collapse did to J.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let start = self.start_reward;
        let end = self.segments.last().map_or(start, |line| line.reward);
        writeln!(out, "policy    J {}", number(start))?;
        match &self.found {
            PolicyStanding::Level => {
                writeln!(out, "          level: so are the codes drawn from it")?
            }
            PolicyStanding::Saddle(reward) => writeln!(
                out,
                "          a saddle: no cell alone raises it, but it mixes a code of {}",
                number(*reward)
            )?,
            PolicyStanding::Ascends(ascent) => writeln!(
                out,
                "          no local maximum: cell {} gains {} on action {}",
                self.rise,
                number(ascent.gain),
                ascent.action
            )?,
        }
        writeln!(
            out,
            "segments  {} cells to one action each, J {} at the end, {} from the start at most",
            self.segments.len(),
            number(end),
            number(self.deviation)
        )
    }

    /// Lists the segments: each moves the row of a cell to one token.
    pub fn write_list(&self, out: &mut dyn Write, class: &Class) -> io::Result<()> {
        let row = |line: &SegmentLine| -> String {
            let numbers: Vec<String> = line.from.iter().map(|&p| number(p)).collect();
            numbers.join(" ")
        };
        let width = self.segments.iter().map(|line| row(line).len()).max();
        let lines = key_lines(class)
            .column(Column::words("row before"), width.unwrap_or(0))
            .column(Column::numbers("to"), 2)
            .column(Column::words("J"), 0);
        lines.write_head(out)?;
        for line in &self.segments {
            let to = line.to.iter().position(|&p| p == 1.0);
            let mut entries = key_entries(line.cell, &class.key(line.cell)).to_vec();
            entries.extend([
                row(line).into(),
                Cell::or_missing(to),
                number(line.reward).into(),
            ]);
            lines.write_row(out, &entries)?;
        }
        writeln!(out)
    }
}
