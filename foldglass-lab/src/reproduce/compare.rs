//! Makes the comparison, and the figures, from records alone.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::data::Data;
use super::files::write_whole;
use super::item::Item;
use super::judge::Verdict;
use super::manifest::Manifest;
use super::row::{Row, rows};
use super::{Scale, items, work};
use crate::error::Error;
use crate::report::figure::settled;
use foldglass_study::Error as StudyError;

/// What an item came to.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// The LaTeX label.
    pub item: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The scale.
    pub scale: Scale,
    /// Runs that have no record yet.
    pub missing_runs: usize,
    /// How many numbers agree and so on.
    #[serde(flatten)]
    pub counts: Counts,
    /// Number by number.
    pub rows: Vec<Row>,
    /// The figure that was drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<PathBuf>,
    /// It, drawn.
    #[serde(skip)]
    pub svg: Option<String>,
}

/// How many numbers have each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Agree with the paper.
    pub agree: usize,
    /// Differ from it.
    pub differ: usize,
    /// Rest on too little to tell.
    pub cannot_tell: usize,
    /// Have nothing to compare with.
    pub not_stated: usize,
}

impl Counts {
    /// Of rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Counts {
        let mut counts = Counts::default();
        for row in rows {
            *match row.verdict {
                Verdict::Agrees => &mut counts.agree,
                Verdict::Differs => &mut counts.differ,
                Verdict::CannotTell => &mut counts.cannot_tell,
                Verdict::NotStated => &mut counts.not_stated,
            } += 1;
        }
        counts
    }
}

/// A comparison from the records in a directory.
#[derive(Debug)]
pub struct Comparison {
    /// The scale of the records.
    pub scale: Scale,
    /// Their seed.
    pub seed: u64,
    /// Item by item.
    pub items: Vec<Compared>,
}

/// Compares the items asked for with the paper, or all that have records where none is named, and
/// draws their figures beside the records. Nothing is run.
pub fn compare(named: &[&'static Item], directory: &Path) -> Result<Comparison, Error> {
    let Manifest { scale, seed, .. } = Manifest::read(directory)?;
    let asked: Vec<&'static Item> = if named.is_empty() {
        items::ALL.into_iter().chain(items::BEYOND).collect()
    } else {
        named.to_vec()
    };
    let data = Data::read(directory, &super::studies_of(&asked), scale, seed)?;
    let mut compared = Vec::new();
    for &item in &asked {
        match lacking(item, &data, directory) {
            None => compared.push(redo(item, &data, scale, directory)?),
            Some(_) if named.is_empty() => {}
            Some(name) => return Err(lacks(directory, item, name)),
        }
    }
    if compared.is_empty() {
        return Err(lacks(directory, asked[0], asked[0].studies[0].name));
    }
    Ok(Comparison {
        scale,
        seed,
        items: compared,
    })
}

/// Records that the item needs and the directory has not.
fn lacking(item: &Item, data: &Data, directory: &Path) -> Option<&'static str> {
    let study = item.studies.iter().find(|source| !data.has(**source));
    let fleet = item.fleets.iter().find(|kept| !kept.is_in(directory));
    let work = item.work.filter(|_| !work::is_done(item, directory));
    study
        .map(|source| source.name)
        .or(fleet.map(|kept| kept.name))
        .or(work.map(|_| "its work"))
}

fn lacks(directory: &Path, item: &Item, records: &str) -> Error {
    let problem = format!(
        "it has no records of {}, which {} needs; `foldglass reproduce {} --out` \
             makes them",
        records, item.label, item.label
    );
    StudyError::study(directory, problem).into()
}

fn redo(item: &Item, data: &Data, scale: Scale, directory: &Path) -> Result<Compared, Error> {
    let (mut figure, mut svg) = (None, None);
    if let Some(drawing) = &item.figure {
        let path = directory.join(drawing.file);
        let drawn = settled(&(drawing.draw)(data, scale));
        write_whole(&path, drawn.as_bytes())?;
        (figure, svg) = (Some(path), Some(drawn));
    }
    let rows = rows(item, data);
    let missing = item.studies.iter().map(|source| data.missing(*source));
    Ok(Compared {
        item: item.label,
        title: item.title,
        scale,
        missing_runs: missing.sum(),
        counts: Counts::of(&rows),
        rows,
        figure,
        svg,
    })
}
