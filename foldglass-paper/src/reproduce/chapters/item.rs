//! Makes the chapter of a table or figure: what it says, where its numbers come from, every number.

use super::super::compare::Compared;
use super::super::item::Item;
use super::super::items;
use super::super::records::Records;
use super::super::row::Row;
use super::super::tables::{self, Rows};
use super::{id_of, provenance};
use crate::report::page::{Block, Chapter, Figure, Range, Sheet};

/// The chapter.
pub fn chapter(compared: &Compared, records: &Records) -> Chapter {
    let label = compared.item;
    let item = items::one(label).expect("what was compared is an item");
    let mut chapter =
        Chapter::new(id_of(label), format!("{label}: {}", compared.title)).short(label);
    chapter = chapter.prose(lead(compared, item));
    chapter = chapter.with(Block::Facts(provenance::facts(item, compared, records)));
    if let Some(svg) = &compared.svg {
        chapter = chapter.with(Block::Figure(figure(compared, svg)));
    }
    chapter = chapter.sheet(sheet(compared));
    if let Some(settings) = provenance::settings(item, records) {
        chapter = chapter.with(settings);
    }
    chapter
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
    format!(
        "{words}{gpu}\n\n**{} agree, {} differ, {} cannot tell**; {} more are not in the paper.",
        counts.agree, counts.differ, counts.cannot_tell, counts.not_stated
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn figure(compared: &Compared, svg: &str) -> Figure {
    Figure {
        id: format!("{}-figure", id_of(compared.item)),
        svg: svg.to_owned(),
        alternative: format!("{}: {}", compared.item, compared.title),
        caption: "Drawn from the records; a point says its numbers when the pointer rests on it."
            .to_owned(),
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
