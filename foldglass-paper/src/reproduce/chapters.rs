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
use crate::report::page::{Chapter, Page, slug};

/// Where the paper and its text differ, and how it is read.
const ERRATA: &str = include_str!("../../embedded/errata.md");

/// The report of a comparison and the records behind it; `more` are chapters that others make, which
/// stand before the errata. The same records make the same page.
pub fn page(comparison: &Comparison, records: &Records, more: Vec<Chapter>) -> Result<Page, Error> {
    let scale = records.manifest.scale;
    let mut items: Vec<&Compared> = comparison.items.iter().collect();
    // What the paper has not comes last.
    items.sort_by_key(|compared| about(compared.item).map_or(usize::MAX, |about| about.place));
    let mut chapters = vec![
        summary::chapter(comparison, &items, scale),
        dictionary::chapter()?,
    ];
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
        subtitle: "Every table and figure of *RLVR landscapes for iterated multiplications can be benign: \
                   insights from spin-glass theory* (Noa Rubin, Zohar Ringel), redone by foldglass and \
                   compared number by number."
            .to_owned(),
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
        Scale::Quick => "smoke scale: too little to judge by",
        Scale::Short => "the paper’s scale, half of the traps of fig:trapsfixed",
        Scale::Full => "the paper’s scale",
    }
}

fn errata() -> Chapter {
    // The chapter has its own title.
    let text = ERRATA
        .trim_start()
        .trim_start_matches("# Errata and readings");
    Chapter::new("errata", "Errata and readings").prose(text)
}

/// What an item is for; none where the paper does not have it.
fn about(label: &str) -> Option<&'static About> {
    items::one(label)?.about.as_ref()
}

/// Where links to an item lead.
fn id_of(label: &str) -> String {
    slug(label)
}
