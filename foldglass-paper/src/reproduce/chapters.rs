//! Makes the report from a comparison and the records behind it: what a reviewer reads in a minute,
//! every table and figure in the paper's order, the errata and readings.

mod dictionary;
mod item;
pub mod provenance;
mod summary;

use super::compare::{Compared, Comparison};
use super::item::About;
use super::items;
use super::manifest::ReproductionManifest;
use super::records::Records;
use super::studies::Scale;
use crate::error::Error;
use crate::report::page::{Block, Chapter, Page, slug};

/// Where the paper and its text differ, and how it is read.
const ERRATA: &str = include_str!("../../embedded/errata.md");

/// The report of a comparison and the records behind it; `more` are chapters that others make, which
/// stand before the errata. The same records make the same page.
pub fn page(comparison: &Comparison, records: &Records, more: Vec<Chapter>) -> Result<Page, Error> {
    let scale = records.manifest.scale;
    let mut items: Vec<&Compared> = comparison.items.iter().collect();
    // What the paper has not comes last.
    items.sort_by_key(|compared| about(compared.item).map_or(usize::MAX, |about| about.place));
    let mut chapters = vec![summary::chapter(comparison, &items, records)];
    if scale != Scale::Quick {
        chapters.push(dictionary::chapter()?);
    }
    let of = |compared: &&Compared| item::chapter(compared, records);
    chapters.extend(items.iter().map(of));
    chapters.extend(more);
    chapters.push(summary::how_judged());
    chapters.push(errata());
    let ReproductionManifest {
        version,
        scale,
        seed,
        ..
    } = &records.manifest;
    Ok(Page {
        title: "RLVR landscapes, reproduced".to_owned(),
        subtitle: format!(
            "{} of *RLVR landscapes for iterated multiplications can be benign: insights from spin-glass theory* \
             (Noa Rubin, Zohar Ringel), redone by foldglass and compared number by number.",
            match scale {
                Scale::Quick => "Eight results",
                Scale::Smoke | Scale::Short | Scale::Full => "Every table and figure",
            }
        ),
        marks: vec![
            format!("foldglass {version}"),
            format!("seed {seed}"),
            scale_mark(*scale).to_owned(),
            "made from records alone".to_owned(),
        ],
        chapters,
    })
}

fn scale_mark(scale: Scale) -> &'static str {
    match scale {
        Scale::Smoke => "smoke scale: too little to judge by",
        Scale::Quick => "the headline results, at the paper’s scale",
        Scale::Short => "the paper’s scale, half of the traps of Fig. 2",
        Scale::Full => "the paper’s scale",
    }
}

fn errata() -> Chapter {
    // The chapter has its own title.
    let text = ERRATA
        .trim_start()
        .trim_start_matches("# Errata and readings");
    let entries = Block::Folded {
        summary: "All entries".to_owned(),
        blocks: vec![Block::Prose(text.to_owned())],
    };
    Chapter::new("errata", "Errata and readings")
        .prose("Where the paper and its own numbers differ, what it leaves open, and how it is read here.")
        .with(entries)
}

/// What an item is for; none where the paper does not have it.
fn about(label: &str) -> Option<&'static About> {
    items::one(label)?.about.as_ref()
}

/// What a reader of the paper calls an item: its figure or table, else its section and label.
fn name_of(label: &str) -> String {
    match (about(label), label.split_once(':')) {
        (Some(about), Some(("text", name))) => format!("{}, {name}", about.number),
        (Some(about), _) => about.number.to_owned(),
        (None, _) => label.to_owned(),
    }
}

/// Where links to an item lead.
fn id_of(label: &str) -> String {
    slug(label)
}
