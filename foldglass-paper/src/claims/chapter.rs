//! Makes the report's chapter of every statement of the paper.

use super::{ReproductionFacts, StatementVerdict, rows, table};
use crate::error::Error;
use crate::report::page::{Block, Chapter, Sheet};

/// The chapter.
pub fn chapter(facts: &ReproductionFacts) -> Result<Chapter, Error> {
    let rows = rows(facts)?;
    let distinct = || rows.iter().filter(|row| row.same_as.is_none());
    let count = |verdict| distinct().filter(|row| row.verdict == verdict).count();
    let [holds, in_part, contradicted, undecided] = StatementVerdict::ALL.map(count);
    let lead = format!(
        "The {} statements of the paper's text, each in our words, with the command that decides it; {} of them rest on \
         the evidence of another and are not counted again.\n\n\
         **{holds} hold, {in_part} hold in part, {contradicted} are contradicted, {undecided} are undecided**. A \
         statement is undecided where nothing here decides it, where there are fewer runs than its test needs, or \
         where the records it needs are not there: `foldglass claims --from {}` makes those of its own computations.",
        rows.len(),
        rows.len() - distinct().count(),
        facts.records.directory.display()
    );
    let sheet = Sheet::new("claims-statements", table::of(&rows));
    Ok(Chapter::new("claims", "Every statement of the text")
        .short("statements")
        .prose(lead)
        .with(Block::Folded {
            summary: format!("All {} statements", rows.len()),
            blocks: vec![Block::Sheet(
                sheet.keyed(["id"]).judged("verdict").beneath("evidence"),
            )],
        }))
}
