//! Compares the numbers of records with the paper's. Nothing is run, and nothing is written.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::item::{Item, Key};
use super::judge::ComparisonVerdict;
use super::records::Records;
use super::row::{Row, rows};
use super::{Scale, items};
use crate::error::Error;
use crate::report::figure::settled;
use foldglass_study::StudyError;

/// An item, compared.
#[derive(Debug, JsonSchema, Serialize)]
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
    pub counts: JudgementCounts,
    /// Number by number.
    pub rows: Vec<Row>,
    /// The file of its figure, where one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<PathBuf>,
    /// The figure, where it was drawn.
    #[serde(skip)]
    pub svg: Option<String>,
}

/// How many numbers have each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct JudgementCounts {
    /// Agree with the paper.
    pub agree: usize,
    /// Differ from it.
    pub differ: usize,
    /// Rest on too little to tell.
    pub cannot_tell: usize,
    /// Have nothing to compare with.
    pub not_stated: usize,
    /// Are the same runs as a number of an item before: these are in none of the others.
    pub repeated: usize,
}

impl JudgementCounts {
    /// Of rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> JudgementCounts {
        let mut counts = JudgementCounts::default();
        for row in rows {
            *match row.verdict {
                ComparisonVerdict::NotStated => &mut counts.not_stated,
                _ if row.same_as.is_some() => &mut counts.repeated,
                ComparisonVerdict::Agrees => &mut counts.agree,
                ComparisonVerdict::Differs => &mut counts.differ,
                ComparisonVerdict::CannotTell => &mut counts.cannot_tell,
            } += 1;
        }
        counts
    }
}

/// A comparison of records with the paper.
#[derive(Debug)]
pub struct Comparison {
    /// The scale of the records.
    pub scale: Scale,
    /// Their seed.
    pub seed: u64,
    /// Item by item.
    pub items: Vec<Compared>,
}

impl Comparison {
    /// An item, where it was compared.
    pub fn item(&self, item: &Item) -> Option<&Compared> {
        let mut items = self.items.iter();
        items.find(|compared| compared.item == item.label)
    }

    /// All items, whether or not there are records of them.
    #[cfg(test)]
    pub fn planned(records: &Records) -> Comparison {
        let mut comparison = Comparison {
            scale: records.manifest.scale,
            seed: records.manifest.seed,
            items: items::all().map(|item| redo(item, records)).collect(),
        };
        comparison.count();
        comparison
    }

    /// The same of some items only.
    pub fn only(&mut self, is: impl Fn(&str) -> bool) {
        self.items.retain(|compared| is(compared.item));
        self.count();
    }

    /// The rows that differ, each once: those that touch a result first.
    pub fn differences(&self) -> Vec<(&Compared, &Row)> {
        let all = self.items.iter();
        let all = all.flat_map(|item| item.rows.iter().map(move |row| (item, row)));
        let differs = |(_, row): &(_, &Row)| {
            row.verdict == ComparisonVerdict::Differs && row.same_as.is_none()
        };
        let mut list: Vec<(&Compared, &Row)> = all.filter(differs).collect();
        list.sort_by_key(|(_, row)| row.touches);
        list
    }

    /// Marks the numbers that another item has before, and counts the rest.
    fn count(&mut self) {
        let mut seen: Vec<(Key, &'static str)> = Vec::new();
        for compared in &mut self.items {
            for row in &mut compared.rows {
                row.same_as = None;
                if row.verdict == ComparisonVerdict::NotStated {
                    continue;
                }
                let key = items::original(row.key);
                let first = seen.iter().find(|(other, _)| *other == key);
                match first {
                    Some((_, item)) => row.same_as = Some(item),
                    None => seen.push((key, compared.item)),
                }
            }
            compared.counts = JudgementCounts::of(&compared.rows);
        }
    }

    /// Draws the figures of its items from the same records.
    pub fn draw(&mut self, records: &Records) {
        for compared in &mut self.items {
            let figure = items::one(compared.item).and_then(|item| item.figure.as_ref());
            compared.svg = figure.map(|figure| settled(&(figure.draw)(records, self.scale)));
        }
    }
}

/// Compares the items asked for with the paper, or all that have records where none is named.
pub fn compare(records: &Records, named: &[&'static Item]) -> Result<Comparison, Error> {
    let asked: Vec<&'static Item> = if named.is_empty() {
        items::at(records.manifest.scale)
    } else {
        named.to_vec()
    };
    let mut compared = Vec::new();
    for &item in &asked {
        match item.lacking(records) {
            None => compared.push(redo(item, records)),
            Some(_) if named.is_empty() => {}
            Some(lacking) => return Err(lacks(records, item, &lacking)),
        }
    }
    let mut comparison = Comparison {
        scale: records.manifest.scale,
        seed: records.manifest.seed,
        items: compared,
    };
    comparison.count();
    Ok(comparison)
}

fn lacks(records: &Records, item: &Item, lacking: &str) -> Error {
    let label = item.label;
    let problem = format!(
        "it has no records of {lacking}, which {label} needs; `foldglass reproduce {label} --out` \
         makes them"
    );
    StudyError::study(&records.directory, problem).into()
}

fn redo(item: &Item, records: &Records) -> Compared {
    let rows = rows(item, records);
    let missing = item.needs.iter().map(|need| need.missing_runs(records));
    Compared {
        item: item.label,
        title: item.title,
        scale: records.manifest.scale,
        missing_runs: missing.sum(),
        counts: JudgementCounts::of(&rows),
        rows,
        figure: None,
        svg: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::items::{regulator, shortfall};

    #[test]
    fn the_same_runs_count_once() {
        let records = Records::planned(Scale::Full);
        let mut all = Comparison::planned(&records);
        let same = |comparison: &Comparison, item: &Item| {
            let rows = &comparison.item(item).unwrap().rows;
            rows.iter().filter(|row| row.same_as.is_some()).count()
        };
        // The plain columns of tab:regulator are the RLVR columns of tab:shortfall, and the coldest of
        // its (0,3) scan is the plain run of that class.
        assert_eq!(same(&all, &regulator::ITEM), 14 + 2);
        assert_eq!(
            all.item(&regulator::ITEM).unwrap().counts.repeated,
            same(&all, &regulator::ITEM)
        );
        // What is shown alone repeats only itself.
        all.only(|item| item == regulator::ITEM.label);
        assert_eq!(same(&all, &regulator::ITEM), 2);
        assert!(all.item(&shortfall::ITEM).is_none());
    }
}
