//! Reports how a policy became a code (paper, App. B and cor. 4.2 and 4.3).

use std::io::{self, Write};

use foldglass::escape::{Collapse, Segment, Standing};
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::output::{Stream, number};

/// A policy's way to a code.
pub struct Collapsed(pub Collapse);

#[derive(Serialize)]
struct AscentForm {
    cell: usize,
    action: u16,
    gain: f64,
}

/// A straight line in the space of policies: one row moves to another.
#[derive(Serialize)]
struct SegmentForm<'a> {
    cell: usize,
    from: &'a [f64],
    to: Vec<f64>,
    reward: f64,
}

impl<'a> SegmentForm<'a> {
    fn new(segment: &'a Segment) -> SegmentForm<'a> {
        let mut to = vec![0.0; segment.from.len()];
        to[segment.to as usize] = 1.0;
        SegmentForm {
            cell: segment.cell,
            from: &segment.from,
            to,
            reward: segment.reward,
        }
    }
}

impl Serialize for Collapsed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Collapsed(found) = self;
        let (standing, ascent) = match found.standing {
            Standing::Ascends(ascent) => ("ascends", Some(ascent)),
            Standing::Saddle(_) => ("saddle", None),
            Standing::Level => ("level", None),
        };
        let ascent = ascent.map(|ascent| AscentForm {
            cell: ascent.cell,
            action: ascent.action,
            gain: ascent.gain,
        });
        let segments = Stream(|| found.segments.iter().map(SegmentForm::new));
        let mut object = serializer.serialize_struct("Collapsed", 5)?;
        object.serialize_field("start_reward", &found.start)?;
        object.serialize_field("standing", standing)?;
        object.serialize_field("ascent", &ascent)?;
        object.serialize_field("deviation", &found.deviation)?;
        object.serialize_field("segments", &segments)?;
        object.end()
    }
}

impl Collapsed {
    /// Says whether the policy was a local maximum, and what its collapse did to J.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Collapsed(found) = self;
        let end = found.segments.last().map_or(found.start, |s| s.reward);
        writeln!(out, "policy    J {}", number(found.start))?;
        match &found.standing {
            Standing::Level => writeln!(out, "          level: so are the codes drawn from it")?,
            Standing::Saddle(reward) => writeln!(
                out,
                "          a saddle: no cell alone raises it, but it mixes a code of {}",
                number(*reward)
            )?,
            Standing::Ascends(ascent) => writeln!(
                out,
                "          no local maximum: cell {} gains {} on action {}",
                ascent.cell,
                number(ascent.gain),
                ascent.action
            )?,
        }
        writeln!(
            out,
            "segments  {} cells to one action each, J {} at the end, {} from the start at most",
            found.segments.len(),
            number(end),
            number(found.deviation)
        )
    }
}
