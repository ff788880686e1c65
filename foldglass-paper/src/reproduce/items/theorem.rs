//! thm:escape: from where RLVR stops, a path that never lowers the reward leads to 1 (section 4.1, app. E).

use std::fmt;
use std::path::Path;

use foldglass::landscape::escape::{escape, most_moves};
use foldglass::proof::check::path::verify;
use foldglass::{Code, Context, Reward};
use kuva::prelude::{LinePlot, Plot, TickFormat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::report::figure::panel::{Axis, COLUMN, Panel, svg};
use crate::report::figure::{BLUE, GREY, VERMILION};
use crate::reproduce::classes::QG;
use crate::reproduce::files::{read_json, write_json};
use crate::reproduce::item::{About, Item, Number, RecordFigure};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::{Need, Step};
use crate::reproduce::records::{Recorded, Records};
use crate::reproduce::stated::{Entry, Stated, entry};
use crate::reproduce::studies::{PLAIN, Scale};
use crate::reproduce::work::{VERSION, Work};

/// The item.
pub static ITEM: Item = Item {
    label: "thm:escape",
    title: "paths from the codes at which RLVR stops to reward 1",
    about: Some(About {
        place: 2,
        number: "Theorem 4.1",
        section: "section 4.1, app. E",
        says: "From every code, changes of one cell that never lower the reward lead to reward 1.",
        stakes: "It is the paper’s theorem that the landscape is benign; one code without such a path would refute it.",
    }),
    needs: &[
        Need::Study(PLAIN),
        Need::Work(Step {
            name: "thm:escape",
            seconds: 5,
            leaves: &[FILE],
            run: make,
        }),
    ],
    measure,
    paper,
    shows_all: true,
    figure: Some(RecordFigure {
        file: "thm-escape.svg",
        shows: SHOWS,
        draw,
    }),
};

/// What the figure shows.
pub const SHOWS: &str = "Reward against the number of changes, along a path from each code at which RLVR stopped on the \
                quasigroup: every path climbs to reward 1 and none ever falls";

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TheoremQuantity {
    /// Codes at which RLVR stopped below reward 1.
    Stopped,
    /// Those from which no path leads to 1.
    Without,
    /// Changes that lower the reward, on all paths.
    Losses,
    /// The changes of the longest path.
    Longest,
    /// The most changes that the proof allows.
    Bound,
}

use TheoremQuantity::{Bound, Longest, Losses, Stopped, Without};

impl fmt::Display for TheoremQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stopped => "RLVR ends below reward 1",
            Without => "RLVR ends without a path to reward 1",
            Losses => "changes that lower the reward, on all paths",
            Longest => "changes on the longest path",
            Bound => "changes that the proof allows",
        })
    }
}

/// What is recorded.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathsRecord {
    version: String,
    /// The most changes that the proof allows.
    bound: String,
    /// A path of each run that stopped below 1.
    paths: Vec<PathRecord>,
}

/// A path.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PathRecord {
    /// The run whose end it starts from.
    run: u64,
    /// Whether the checker, which shares nothing with the search, accepts it.
    verified: bool,
    /// J at the start and after each change.
    rewards: Vec<Reward>,
}

impl PathRecord {
    fn arrives(&self) -> bool {
        self.verified && self.rewards.last().is_some_and(Reward::is_one)
    }

    fn losses(&self) -> usize {
        let pairs = self.rewards.windows(2);
        pairs.filter(|pair| pair[1] < pair[0]).count()
    }

    fn moves(&self) -> usize {
        self.rewards.len() - 1
    }
}

const FILE: &str = "paths.json";

/// Reads the record of a directory.
pub fn read(directory: &Path) -> Result<Option<PathsRecord>, Error> {
    read_json(&directory.join(FILE), "escape paths")
}

fn make(work: &Work<'_>) -> Result<(), Error> {
    if read(work.out)?.is_some_and(|record| record.version == VERSION) {
        return Ok(());
    }
    let Some(plain) = Recorded::read(work.out, PLAIN, work.scale, work.seed)? else {
        return Ok(());
    };
    let failed = |problem: String| Error::Failed(format!("escape paths: {problem}"));
    let runs = plain.runs(QG.id);
    let Some(first) = runs.first() else {
        return Ok(());
    };
    let class = first.class.lay_out_within(work.means.allowance)?;
    let context = || Context::default().with_memory(work.means.allowance);
    let mut paths = Vec::new();
    for record in runs {
        let actions = record.actions();
        let actions = actions.ok_or_else(|| failed(format!("{} has no code", record.id)))?;
        let code = Code::new(&class, &actions).map_err(|error| failed(error.to_string()))?;
        let path = escape(&code, context()).map_err(|error| failed(error.to_string()))?;
        if path.start_reward.is_one() {
            continue;
        }
        let rewards = path.moves.iter().map(|change| change.reward.clone());
        paths.push(PathRecord {
            run: record.run,
            verified: verify(&path, context()).is_ok(),
            rewards: std::iter::once(path.start_reward.clone())
                .chain(rewards)
                .collect(),
        });
    }
    let record = PathsRecord {
        version: VERSION.to_owned(),
        bound: most_moves(&class).to_string(),
        paths,
    };
    write_json(&work.out.join(FILE), &record)
}

fn measure(records: &Records) -> Vec<Number> {
    let found = records.work.paths.as_ref();
    let number = |quantity: TheoremQuantity, of: fn(&PathsRecord) -> String| {
        Number::new(QG, quantity, Measured::Exact(found.map(of)))
    };
    vec![
        number(Stopped, |found| found.paths.len().to_string()),
        number(Without, |found| {
            let without = found.paths.iter().filter(|path| !path.arrives());
            without.count().to_string()
        }),
        number(Losses, |found| {
            let losses = found.paths.iter().map(PathRecord::losses);
            losses.sum::<usize>().to_string()
        }),
        number(Longest, |found| {
            let longest = found.paths.iter().map(PathRecord::moves).max();
            longest.unwrap_or(0).to_string()
        }),
        number(Bound, |found| found.bound.clone()),
    ]
}

const EVERY: &str = "the theorem is about every code; these are where training ends";

#[rustfmt::skip]
fn paper() -> Vec<Entry> { vec![
    entry(QG, Without, Stated::Exact("0")).note(EVERY),
    entry(QG, Losses, Stated::Exact("0")).note(EVERY),
] }

/// The reward along each path.
pub fn draw(records: &Records, _: Scale) -> String {
    let found = records.work.paths.as_ref();
    let paths: Vec<&PathRecord> = found.iter().flat_map(|found| &found.paths).collect();
    let longest = paths.iter().map(|path| path.moves()).max().unwrap_or(1);
    let ends = [0.0, (longest as f64 / 10.0).ceil() * 10.0];
    let x = Axis::new("changes of one cell", ends).written(TickFormat::Fixed(0));
    let y = Axis::new("reward", [0.35, 1.05])
        .every(0.1)
        .written(TickFormat::Fixed(1));
    let line = |path: &PathRecord, colour: &str, width: f64| {
        let points = path.rewards.iter().enumerate();
        let points = points.map(|(n, reward)| (n as f64, reward.to_f64()));
        let line = LinePlot::new()
            .with_data(points.collect::<Vec<_>>())
            .with_color(colour)
            .with_stroke_width(width);
        Plot::Line(line)
    };
    // The one that starts lowest stands for the others.
    let lowest = paths.iter().min_by(|a, b| a.rewards[0].cmp(&b.rewards[0]));
    let others = paths.iter().map(|path| line(path, BLUE, 0.6));
    let lead = lowest.map(|path| line(path, VERMILION, 2.0));
    let theorem = LinePlot::new()
        .with_data(vec![(ends[0], 1.0), (ends[1], 1.0)])
        .with_color(GREY)
        .with_stroke_width(1.0)
        .with_dashed();
    let middle = (ends[0] + ends[1]) / 2.0;
    let panel = Panel::new("", COLUMN, x, y)
        .plots([Plot::Line(theorem)])
        .plots(others)
        .plots(lead)
        .label(
            "the theorem: every path ends at 1",
            [ends[1], 1.025],
            GREY,
            true,
        )
        .label(
            format!("{} ends of RLVR, a path each", paths.len()),
            [middle, 0.43],
            BLUE,
            false,
        )
        .label("the lowest of them", [middle, 0.38], VERMILION, false);
    svg(&panel.scene())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(rewards: &[&str], verified: bool) -> PathRecord {
        PathRecord {
            run: 0,
            verified,
            rewards: rewards.iter().map(|text| text.parse().unwrap()).collect(),
        }
    }

    /// Catches a path that the checker refuses, or that stops below 1, being counted as one that arrives.
    #[test]
    fn only_a_verified_path_to_one_arrives() {
        let good = path(&["1/2", "1/2", "1/1"], true);
        assert!(good.arrives() && good.losses() == 0 && good.moves() == 2);
        assert!(!path(&["1/2", "1/1"], false).arrives());
        let falling = path(&["1/2", "2/5", "3/4"], true);
        assert!(!falling.arrives() && falling.losses() == 1);
    }
}
