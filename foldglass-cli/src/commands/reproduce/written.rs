//! Writes a reproduction: a summary an item with the numbers that differ, or a table of all.

use std::io::{self, Write};
use std::path::PathBuf;

use foldglass_study::method::put;
use foldglass_study::{Fields, Forecast};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{Report, counted};
use crate::progress::span;
use crate::report::{Cell, Column, Digits, Format, INTERVAL_LEVEL, Table};
use crate::reproduce::headlines;
use crate::reproduce::tables::{self, Rows};
use crate::reproduce::{
    Compared, Comparison, ComparisonVerdict, JudgementCounts, LEVEL, Planned, Request, Row, Scale,
    Why,
};

/// What `reproduce` did.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub enum ReproduceReport {
    /// It compared.
    Compared(Box<Reproduced>),
    /// It only looked at what would be run.
    Planned(ReproducePlan),
}

/// What would be run.
#[derive(JsonSchema, Serialize)]
pub struct ReproducePlan {
    scale: Scale,
    out: PathBuf,
    runs: u64,
    finished: u64,
    seconds: f64,
    #[serde(skip)]
    table: Table,
}

/// All items, compared.
#[derive(JsonSchema, Serialize)]
pub struct Reproduced {
    scale: Scale,
    out: PathBuf,
    #[serde(skip)]
    seed: u64,
    /// Differences with a p-value below this are told.
    level: f64,
    /// The probability with which an interval covers the truth.
    interval_level: f64,
    /// Comparisons with the paper that have a verdict.
    comparisons: usize,
    #[serde(flatten)]
    counts: JudgementCounts,
    /// Those of `cannot_tell` that rest on fewer than half of the paper's runs.
    not_enough_seeds: usize,
    items: Vec<Compared>,
    /// The numbers that differ, those that touch a result first, for a person.
    #[serde(skip)]
    differences: Table,
    /// The headline results, for a person; shown at their own scale.
    #[serde(skip)]
    headlines: Table,
    /// The page of the report, where one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<PathBuf>,
    #[serde(skip)]
    rows: Rows,
}

impl ReproduceReport {
    /// What would be run.
    pub fn planned(request: &Request, planned: &[Planned]) -> ReproduceReport {
        let columns = [
            Column::words("part"),
            Column::numbers("runs"),
            Column::numbers("done"),
            Column::numbers("at most about").key("seconds").unit("s"),
        ];
        let row = |planned: &Planned| -> [Cell; 4] {
            let runs = planned.work.runs();
            let count = |of: fn(&Forecast) -> u64| runs.map_or(Cell::Missing, |own| of(own).into());
            [
                planned.part.into(),
                count(|forecast| forecast.runs),
                count(|forecast| forecast.finished),
                Cell::Real(Digits::Significant(2).of(planned.work.seconds())),
            ]
        };
        let runs = || planned.iter().filter_map(|planned| planned.work.runs());
        ReproduceReport::Planned(ReproducePlan {
            scale: request.scale,
            out: request.out.clone(),
            runs: runs().map(|forecast| forecast.runs).sum(),
            finished: runs().map(|forecast| forecast.finished).sum(),
            seconds: planned.iter().map(|planned| planned.work.seconds()).sum(),
            table: Table::new(columns).rows(planned.iter().map(row)),
        })
    }
}

impl Report for ReproduceReport {
    fn seed(&self) -> Option<u64> {
        match self {
            ReproduceReport::Compared(reproduced) => Some(reproduced.seed),
            ReproduceReport::Planned(_) => None,
        }
    }

    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        // The report is written where the items were run, into the directory of their records.
        if let ReproduceReport::Compared(reproduced) = self
            && reproduced.report.is_some()
        {
            put(&mut fields, "out", &reproduced.out);
        }
        fields
    }

    fn tables(&self, format: Format) -> Vec<Table> {
        match self {
            ReproduceReport::Compared(reproduced) => reproduced.tables(format),
            ReproduceReport::Planned(plan) => vec![plan.table.clone()],
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            ReproduceReport::Compared(reproduced) => reproduced.write_text(out),
            ReproduceReport::Planned(plan) => plan.write_text(out),
        }
    }
}

impl ReproducePlan {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table.write_text(out)?;
        writeln!(
            out,
            "\n{} at the {} scale, {} of them done; the rest takes at most about {} here, and \
             can be stopped and gone on with",
            counted(self.runs, "run"),
            self.scale.name(),
            self.finished,
            span(self.seconds)
        )
    }
}

impl Reproduced {
    /// The comparison of the records in a directory.
    pub fn new(comparison: Comparison, out: PathBuf, rows: Rows) -> Reproduced {
        let differences = tables::differences(&comparison);
        let headlines = tables::headlines(&headlines::judged(&comparison));
        let Comparison { scale, seed, items } = comparison;
        let all = || items.iter().flat_map(|item| &item.rows);
        let counts = JudgementCounts::of(all());
        let few = |row: &&Row| row.why == Some(Why::FewRuns) && row.same_as.is_none();
        Reproduced {
            scale,
            out,
            seed,
            level: LEVEL,
            interval_level: INTERVAL_LEVEL,
            comparisons: counts.agree + counts.differ,
            counts,
            not_enough_seeds: all().filter(few).count(),
            items,
            differences,
            headlines,
            report: None,
            rows,
        }
    }

    /// The same with the page of its report.
    pub fn reported(self, report: Option<PathBuf>) -> Reproduced {
        Reproduced { report, ..self }
    }

    /// Writes the numbers and nothing else: for a program in one list, for a person item by item.
    pub fn write_rows(&self, format: Format, rows: Rows, out: &mut dyn Write) -> io::Result<()> {
        if format.is_data() {
            return tables::of_all(&self.items, rows).write(format, out);
        }
        let tables = self.items.iter().map(|item| tables::of_item(item, rows));
        let tables = tables.filter(|table| !table.entries().is_empty());
        for (number, table) in tables.enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            table.write(format, out)?;
        }
        Ok(())
    }

    /// The numbers: for a program in one list, for a person item by item.
    fn tables(&self, format: Format) -> Vec<Table> {
        if format.is_data() {
            return vec![tables::of_all(&self.items, self.rows)];
        }
        let tables = self
            .items
            .iter()
            .map(|item| tables::of_item(item, self.rows));
        tables.filter(|table| !table.entries().is_empty()).collect()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.scale == Scale::Quick {
            return self.write_headlines(out);
        }
        if self.scale == Scale::Smoke {
            writeln!(out, "{SMOKE}\n")?;
        }
        if !self.differences.entries().is_empty() {
            self.differences.write_text(out)?;
            writeln!(out)?;
        }
        tables::summary(&self.items).write_text(out)?;
        for item in &self.items {
            self.write_item(item, out)?;
        }
        writeln!(out)?;
        self.write_rule(out)?;
        match &self.report {
            Some(page) => writeln!(out, "\nReport: {}", page.display()),
            None => Ok(()),
        }
    }

    /// The headline results, each with its numbers.
    fn write_headlines(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.rows == Rows::All {
            for item in &self.items {
                tables::of_item(item, self.rows).write_text(out)?;
                writeln!(out)?;
            }
        } else {
            self.headlines.write_text(out)?;
            writeln!(out)?;
        }
        writeln!(out, "{HEADLINES}")?;
        match &self.report {
            Some(page) => writeln!(
                out,
                "\nReport, a figure for each result: {}",
                page.display()
            ),
            None => Ok(()),
        }
    }

    /// The numbers of an item, and what else is to be said of it; nothing where all agree.
    fn write_item(&self, item: &Compared, out: &mut dyn Write) -> io::Result<()> {
        if self.rows == Rows::All {
            writeln!(out)?;
            tables::of_item(item, self.rows).write_text(out)?;
        }
        let label = item.item;
        if item.missing_runs > 0 {
            let missing = counted(item.missing_runs, "run");
            writeln!(out, "\n{label}: no record yet of {missing}")?;
        }
        for why in Why::ALL {
            let own = |row: &&Row| row.why == Some(why) && row.same_as.is_none();
            let rows = item.rows.iter().filter(own);
            let names: Vec<&str> = rows.map(|row| &row.quantity[..]).collect();
            if !names.is_empty() {
                let (count, words) = (names.len(), why.words());
                writeln!(
                    out,
                    "\n{label}: {count} cannot tell, {words}: {}",
                    several(&names)
                )?;
            }
        }
        match &item.figure {
            Some(figure) => writeln!(out, "\n{label}: drawn in {}", figure.display()),
            None => Ok(()),
        }
    }

    fn write_rule(&self, out: &mut dyn Write) -> io::Result<()> {
        let JudgementCounts {
            agree,
            differ,
            cannot_tell,
            repeated,
            ..
        } = self.counts;
        let comparisons = self.comparisons;
        writeln!(
            out,
            "{comparisons} distinct comparisons with the paper: {agree} agree, {differ} differ; {cannot_tell} more cannot tell, \
             {repeated} are the same runs again."
        )?;
        let rows = self.items.iter().flat_map(|item| &item.rows);
        let judged = |row: &&Row| {
            row.same_as.is_none()
                && matches!(
                    row.verdict,
                    ComparisonVerdict::Agrees | ComparisonVerdict::Differs
                )
        };
        let tested = rows.filter(judged).filter(|row| row.p.is_some()).count();
        let chance = tested as f64 * LEVEL;
        writeln!(
            out,
            "Rule: we test whether both samples come from one distribution (means: Welch; runs at 1, quantiles, maxima:\n\
             Fisher); p < {LEVEL} differs, which chance gives in {chance:.1} of the {tested} tests. Exact numbers agree\n\
             if they are equal. Cannot tell: fewer than half of the paper's runs, nothing of ours would have\n\
             differed, our largest is above the paper's on a few runs, or the number is not the paper's own;\n\
             --show all says what would have differed. Intervals are at {} %. A chance difference should\n\
             vanish with another --seed (and --out). reference: an independent prototype, often with more seeds.\n\
             {CHOICES}",
            100.0 * INTERVAL_LEVEL
        )
    }
}

/// What was chosen so that numbers come out.
const CHOICES: &str = "Agreement comes after choices that the paper leaves open, made so that its numbers come out: the initial\n\
     law, the quench and the order of updates by block, the temperature of the tied class, the layout and\n\
     the gate of transformers (docs/errata.md).";

const HEADLINES: &str = "A result holds where its first number agrees with the paper's. Numbers of runs agree unless a test that both samples\n\
     come from one distribution has p < 0.01 (docs/reproduce.md); exact numbers agree where they are equal. Every table and figure\n\
     of the paper: foldglass reproduce";

const SMOKE: &str = "SMOKE SCALE: few seeds and short chains. It shows that everything runs; it judges only numbers \
     without chance. Without --smoke the runs are those of the paper.";

/// The first few of the names, each once.
fn several(names: &[&str]) -> String {
    const NAMED: usize = 4;
    let mut distinct: Vec<&str> = Vec::new();
    for name in names {
        if !distinct.contains(name) {
            distinct.push(name);
        }
    }
    let named = distinct[..distinct.len().min(NAMED)].join("; ");
    if distinct.len() > NAMED {
        format!("{named}; ..")
    } else {
        named
    }
}
