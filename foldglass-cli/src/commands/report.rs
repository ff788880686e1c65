//! Makes the report of a reproduction from its records alone: a page, a text, tables and figures.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass_study::Fields;
use foldglass_study::method::put;
use schemars::JsonSchema;
use serde::Serialize;

use crate::claims::{self, Probes, ReproductionFacts};
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::output::Report;
use crate::report::figure::named;
use crate::report::page::Page;
use crate::report::{Format, html, page_markdown};
use crate::reproduce::{
    Comparison, JudgementCounts, Records, ReproductionManifest, Scale, chapters, compare, items,
    write_whole,
};

/// The flags of `report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass report reproduction
      The report again, from its records alone.
  foldglass report reproduction --out report
      The same files in another directory.")]
pub struct ReportArgs {
    /// The directory that `reproduce` wrote [default: reproduction, or where there is none
    /// reproduction-quick or reproduction-smoke]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// The directory of the report [default: report/ in DIR]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The name of the page.
const PAGE: &str = "index.html";

/// What was written.
#[derive(Debug, JsonSchema, Serialize)]
pub struct WrittenReport {
    /// The page.
    pub page: PathBuf,
    /// All files, the page among them.
    pub files: usize,
    #[serde(flatten)]
    counts: JudgementCounts,
    #[serde(skip)]
    seed: u64,
}

impl ReportArgs {
    /// Compares the records and writes the report.
    pub fn run(&self, _: &GlobalArgs) -> Result<WrittenReport, Error> {
        let directory = self
            .directory
            .clone()
            .unwrap_or_else(ReproductionManifest::default_directory);
        let records = Records::read(&directory, items::all())?;
        let mut comparison = compare(&records, &[])?;
        comparison.draw(&records);
        write(&comparison, &records, self.out.as_deref())
    }
}

/// Writes the report of a comparison and the records that it was made of.
pub fn write(
    comparison: &Comparison,
    records: &Records,
    out: Option<&Path>,
) -> Result<WrittenReport, Error> {
    let out = out.map_or_else(|| records.directory.join("report"), Path::to_owned);
    let probes = Probes::read(&records.directory)?;
    let facts = ReproductionFacts {
        records,
        comparison,
        probes: &probes,
    };
    // Statements rest on records of all items.
    let statements = match comparison.scale {
        Scale::Quick => Vec::new(),
        Scale::Smoke | Scale::Short | Scale::Full => vec![claims::chapter(&facts)?],
    };
    let page = chapters::page(comparison, records, statements)?;
    let mut files = 0;
    let mut keep = |name: String, content: &[u8]| {
        files += 1;
        write_whole(&out.join(name), content)
    };
    keep(
        "report.md".to_owned(),
        page_markdown::write(&page).as_bytes(),
    )?;
    write_parts(&page, &mut keep)?;
    // Last: who finds it finds the rest.
    keep(PAGE.to_owned(), html::write(&page).as_bytes())?;
    Ok(WrittenReport {
        page: out.join(PAGE),
        files,
        counts: JudgementCounts::of(comparison.items.iter().flat_map(|item| &item.rows)),
        seed: comparison.seed,
    })
}

/// Every table as CSV and LaTeX, every figure as SVG.
fn write_parts(
    page: &Page,
    keep: &mut impl FnMut(String, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    for chapter in &page.chapters {
        for sheet in chapter.sheets() {
            for format in [Format::Csv, Format::Latex] {
                let mut content = Vec::new();
                let written = sheet.table.write(format, &mut content);
                written.map_err(Error::Output)?;
                keep(
                    format!("tables/{}.{}", sheet.id, format.extension()),
                    &content,
                )?;
            }
        }
        for figure in chapter.figures() {
            let svg = named(&figure.svg, &figure.alternative);
            keep(format!("figures/{}.svg", figure.id), svg.as_bytes())?;
        }
    }
    Ok(())
}

impl Report for WrittenReport {
    fn seed(&self) -> Option<u64> {
        Some(self.seed)
    }

    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        put(&mut fields, "out", self.page.parent());
        fields
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let JudgementCounts {
            agree,
            differ,
            cannot_tell,
            ..
        } = self.counts;
        writeln!(
            out,
            "{agree} agree, {differ} differ, {cannot_tell} cannot tell"
        )?;
        let others = self.files - 1;
        writeln!(out, "{}, and {others} files beside it", self.page.display())
    }
}
