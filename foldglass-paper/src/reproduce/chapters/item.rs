//! Makes the chapter of a table or figure: its verdict and figure, and folded every number and where it comes from.

use super::super::compare::{Compared, JudgementCounts};
use super::super::item::Item;
use super::super::items;
use super::super::records::Records;
use super::super::row::Row;
use super::super::tables::{self, Rows};
use super::{id_of, name_of, provenance};
use crate::report::page::{Block, Chapter, Figure, Range, Sheet};

/// Tables of fewer numbers stand open.
const FEW: usize = 6;

/// The chapter: the verdict and the figure, and folded what they rest on.
pub fn chapter(compared: &Compared, records: &Records) -> Chapter {
    let label = compared.item;
    let item = items::one(label).expect("what was compared is an item");
    let name = name_of(label);
    let mut chapter = Chapter::new(id_of(label), format!("{name}: {}", compared.title)).short(name);
    chapter = chapter.prose(lead(compared, item));
    if let (Some(svg), Some(drawn)) = (&compared.svg, &item.figure) {
        chapter = chapter.with(Block::Figure(figure(compared, svg, drawn.shows)));
    }
    let numbers = sheet(compared);
    chapter = match compared.rows.len() {
        few if few <= FEW => chapter.sheet(numbers),
        many => chapter.with(Block::Folded {
            summary: format!("All {many} numbers"),
            blocks: vec![Block::Sheet(numbers)],
        }),
    };
    let mut made = vec![Block::Facts(provenance::facts(item, compared, records))];
    made.extend(provenance::settings(item, records));
    chapter.with(Block::Folded {
        summary: "How these numbers were made: command, time, settings of every run".to_owned(),
        blocks: made,
    })
}

fn lead(compared: &Compared, item: &Item) -> String {
    let counts = &compared.counts;
    let words = item.about.as_ref().map_or(String::new(), |about| {
        format!(
            "*{}.* {} {}",
            capital(about.section),
            about.says,
            about.stakes
        )
    });
    let gpu = if item.fleets().next().is_none() {
        ""
    } else {
        " The networks were trained on a GPU; their records are committed and nothing was trained here."
    };
    format!("**{}**. {words}{gpu}", verdicts(counts))
}

/// `12 agree, 1 differs`; numbers that have no verdict last.
fn verdicts(counts: &JudgementCounts) -> String {
    let verb = |count: usize, one: &str, several: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {several}"),
    };
    let mut parts = vec![verb(counts.agree, "agrees", "agree")];
    for (count, one, several) in [
        (counts.differ, "differs", "differ"),
        (counts.cannot_tell, "cannot be told", "cannot be told"),
        (
            counts.repeated,
            "is counted elsewhere",
            "are counted elsewhere",
        ),
        (
            counts.not_stated,
            "is not in the paper",
            "are not in the paper",
        ),
    ] {
        if count > 0 {
            parts.push(verb(count, one, several));
        }
    }
    parts.join(", ")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn figure(compared: &Compared, svg: &str, shows: &str) -> Figure {
    Figure {
        id: format!("{}-figure", id_of(compared.item)),
        svg: svg.to_owned(),
        alternative: shows.to_owned(),
        caption: format!("{shows}. A point shows its numbers under the pointer."),
    }
}

/// All numbers, each with its range where it has one.
pub fn sheet(compared: &Compared) -> Sheet {
    let table = tables::of_item(compared, Rows::All);
    let ranges = Rows::All.of(compared).map(range).collect();
    let id = format!("{}-numbers", id_of(compared.item));
    let sheet = Sheet::new(id, table).keyed(["class", "quantity"]);
    sheet.judged("verdict").beneath("note").drawn(ranges)
}

fn range(row: &Row) -> Option<Range> {
    Some(Range {
        interval: row.interval?,
        ours: row.ours?,
        paper: row.paper?,
    })
}
