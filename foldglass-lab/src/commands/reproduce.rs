//! Redoes the paper's tables and figures, and says number by number whether they agree.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::cli::Settings;
use crate::columns::{Align, write_table};
use crate::error::Error;
use crate::flags::max_memory;
use crate::output::Report;
use crate::progress;
use crate::reproduce::{Item, LEVEL, Redone, Request, Row, Scale, Verdict};
use crate::study::{Options, Shard, say, span};

/// The flags of `reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// What to redo, by its LaTeX label: tab:equilibration, tab:shortfall, tab:regulator,
    /// fig:temperature_untied, tab:trapsexist [default: all]
    #[arg(value_name = "ITEM", value_parser = item)]
    items: Vec<Item>,
    /// A smoke test: few seeds, short chains, about a minute; too little to judge the paper by
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The paper's own seeds, sweeps and iterations
    #[arg(long)]
    full: bool,
    /// The directory of records and figures; finished runs in it are not done again [default:
    /// reproduce-quick or reproduce-full]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn item(text: &str) -> Result<Item, String> {
    let labels: Vec<&str> = Item::ALL.into_iter().map(Item::label).collect();
    let found = Item::ALL.into_iter().find(|item| item.label() == text);
    found.ok_or_else(|| format!("accepted: {}", labels.join(", ")))
}

/// Units that take longer are saved this often.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(30);

impl ReproduceArgs {
    /// Redoes the items.
    pub fn run(&self, settings: &Settings) -> Result<Reproduced, Error> {
        let options = Options {
            out: PathBuf::new(),
            base: PathBuf::new(),
            shard: Shard::WHOLE,
            threads: progress::threads(settings.threads, usize::MAX),
            checkpoint_every: CHECKPOINT_EVERY,
            allowance: max_memory::available(),
            stop: progress::interrupted,
        };
        let scale = match (self.quick, self.full) {
            (true, _) => Scale::Quick,
            (_, true) => Scale::Full,
            (false, false) => return Err(self.choose(settings, &options)),
        };
        progress::hear_interrupts();
        let terminal = io::stderr().is_terminal();
        let said = |text: String| {
            if terminal {
                say(&text);
            }
        };
        let request = self.request(scale, settings);
        Ok(Reproduced::new(&request, request.execute(&options, said)?))
    }

    fn request(&self, scale: Scale, settings: &Settings) -> Request {
        let mut items: Vec<Item> = Vec::new();
        for &item in &self.items {
            if !items.contains(&item) {
                items.push(item);
            }
        }
        Request {
            items: if items.is_empty() {
                Item::ALL.to_vec()
            } else {
                items
            },
            scale,
            out: self
                .out
                .clone()
                .unwrap_or_else(|| format!("reproduce-{}", scale.name()).into()),
            seed: settings.seed,
        }
    }

    /// What each scale would do.
    fn choose(&self, settings: &Settings, options: &Options) -> Error {
        let said = |scale| -> Result<String, Error> {
            let forecasts = self.request(scale, settings).forecasts(options)?;
            let runs: u64 = forecasts.iter().map(|forecast| forecast.runs).sum();
            let done: u64 = forecasts.iter().map(|forecast| forecast.finished).sum();
            let seconds: f64 = forecasts.iter().map(|forecast| forecast.seconds).sum();
            let time = span(seconds);
            Ok(format!(
                "{runs} runs, {done} of them done, at most about {time} here"
            ))
        };
        let both = said(Scale::Quick).and_then(|quick| Ok((quick, said(Scale::Full)?)));
        match both {
            Ok((quick, full)) => Error::Usage(format!(
                "choose a scale: --quick is a smoke test that judges nothing ({quick}); --full is what the paper \
                 ran ({full}); both can be stopped and go on later"
            )),
            Err(error) => error,
        }
    }
}

/// All items, compared.
#[derive(Serialize)]
pub struct Reproduced {
    scale: &'static str,
    out: PathBuf,
    seed: u64,
    level: f64,
    /// Comparisons with the paper that have a verdict.
    comparisons: usize,
    agree: usize,
    differ: usize,
    not_enough_seeds: usize,
    items: Vec<Redone>,
}

impl Reproduced {
    fn new(request: &Request, items: Vec<Redone>) -> Reproduced {
        let rows = || items.iter().flat_map(|item| &item.rows);
        let count = |verdict: Verdict| rows().filter(|row| row.verdict == verdict).count();
        let (agree, differ) = (count(Verdict::Agrees), count(Verdict::Differs));
        Reproduced {
            scale: request.scale.name(),
            out: request.out.clone(),
            seed: request.seed,
            level: LEVEL,
            comparisons: agree + differ,
            agree,
            differ,
            not_enough_seeds: count(Verdict::NotEnough),
            items,
        }
    }

    fn is_quick(&self) -> bool {
        self.scale == Scale::Quick.name()
    }
}

const SMOKE: &str = "SMOKE SCALE: few seeds and short chains. It shows that everything runs; it judges only what has no \
     chance in it.";

impl Report for Reproduced {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_quick() {
            writeln!(out, "{SMOKE}\n")?;
        }
        for item in &self.items {
            writeln!(out, "{} ({})", item.item, item.scale)?;
            write_rows(&item.rows, out)?;
            if let Some(figure) = &item.figure {
                writeln!(out, "drawn: {}", figure.display())?;
            }
            writeln!(out)?;
        }
        self.write_rule(out)?;
        if self.is_quick() {
            writeln!(out, "\n{SMOKE} --full does what the paper did.")?;
        }
        Ok(())
    }
}

impl Reproduced {
    fn write_rule(&self, out: &mut dyn Write) -> io::Result<()> {
        let Reproduced {
            comparisons,
            agree,
            differ,
            not_enough_seeds,
            ..
        } = self;
        writeln!(
            out,
            "{comparisons} comparisons with the paper: {agree} agree, {differ} differ; {not_enough_seeds} more have \
             not enough seeds."
        )?;
        let rows = self.items.iter().flat_map(|item| &item.rows);
        let tested = rows.filter(|row| row.exact.is_none() && row.p.is_some());
        let tested = tested
            .filter(|row| row.verdict != Verdict::NotEnough)
            .count();
        let chance = tested as f64 * LEVEL;
        writeln!(
            out,
            "Rule: a test of both samples having one law (means: Welch; runs at 1, quantiles, maxima: Fisher),\n\
             differs where p < {LEVEL}; by chance that is {chance:.1} of the {tested} tests; what has no chance in it agrees where it is equal. Not enough seeds: fewer than \
             half of the paper's.\nItems that share runs repeat comparisons; what differs by chance does not under another --seed (and --out).\n\
             Intervals are at 99 %. reference: an independent prototype, often with more seeds."
        )
    }
}

fn write_rows(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let entries = |row: &Row| {
        [
            row.row.to_owned(),
            row.quantity.clone(),
            row.paper_text.clone(),
            row.ours_text.clone(),
            row.interval_text.clone(),
            row.n.to_string(),
            row.verdict.words().to_owned(),
            row.note.clone(),
        ]
    };
    let rows: Vec<[String; 8]> = rows.iter().map(entries).collect();
    let heads = [
        ("class", Align::Left),
        ("quantity", Align::Left),
        ("paper", Align::Left),
        ("ours", Align::Left),
        ("interval", Align::Left),
        ("n", Align::Right),
        ("verdict", Align::Left),
        ("note", Align::Left),
    ];
    write_table(out, heads, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_named_by_its_label() {
        for expected in Item::ALL {
            assert_eq!(item(expected.label()), Ok(expected));
        }
        assert!(item("tab:all").unwrap_err().contains("tab:shortfall"));
    }
}
