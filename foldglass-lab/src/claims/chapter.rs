//! Makes the report's chapter of every statement of the paper.

use std::path::Path;

use super::{Verdict, rows, table};
use crate::error::Error;
use crate::report::page::{Chapter, Sheet};

/// The chapter, from the records of a directory.
pub fn chapter(directory: &Path) -> Result<Chapter, Error> {
    let rows = rows(directory)?;
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let [shown, in_part, refuted, open] = Verdict::ALL.map(count);
    let lead = format!(
        "The {} statements of the paper's text, each in our words, with the command that decides it.\n\n\
         **{shown} are shown, {in_part} shown in part, {refuted} refuted, {open} open**. A statement is open \
         where nothing here decides it, or where the records it needs are not there: `foldglass claims --from {}` makes \
         those.",
        rows.len(),
        directory.display()
    );
    let sheet = Sheet::new("claims-statements", table::of(&rows));
    Ok(Chapter::new("claims", "Every statement of the text")
        .short("statements")
        .prose(lead)
        .sheet(sheet.keyed(["id"]).judged("verdict").beneath("evidence")))
}
