//! Makes the report from a comparison and the records behind it: what a reviewer reads in a minute,
//! every table and figure in the paper's order, the errata and readings.

mod dictionary;
mod item;
pub mod provenance;
mod summary;
mod words;

use std::path::Path;

use super::compare::{Compared, Comparison};
use super::manifest::Manifest;
use super::studies::Scale;
use super::times::Times;
use crate::error::Error;
use crate::report::page::{Chapter, Page, slug};

/// Where the paper and its text differ, and how it is read.
const ERRATA: &str = include_str!("../../../docs/errata.md");

/// What all chapters are made from.
pub struct Made<'a> {
    /// The directory of the records.
    pub directory: &'a Path,
    /// Their scale and seed.
    pub manifest: Manifest,
    /// What they took.
    pub times: Times,
}

/// The report of the records in a directory; `more` are chapters that others make, which stand before
/// the errata. The same records make the same page.
pub fn page(comparison: &Comparison, directory: &Path, more: Vec<Chapter>) -> Result<Page, Error> {
    let made = Made {
        directory,
        manifest: Manifest::read(directory)?,
        times: Times::read(directory)?,
    };
    let mut items: Vec<&Compared> = comparison.items.iter().collect();
    items.sort_by_key(|compared| words::place(compared.item));
    let mut chapters = vec![summary::chapter(&items, &made), dictionary::chapter()?];
    for compared in &items {
        chapters.push(item::chapter(compared, &made)?);
    }
    chapters.extend(more);
    chapters.push(summary::how_judged());
    chapters.push(errata());
    let Manifest {
        version,
        scale,
        seed,
        ..
    } = &made.manifest;
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

/// Where links to an item lead.
fn id_of(label: &str) -> String {
    slug(label)
}
