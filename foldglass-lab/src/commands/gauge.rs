//! Relabels the tokens of a code and compares codes by what they compute (paper, App. D).

use std::convert::Infallible;
use std::io::{self, Write};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use foldglass::class::Class;
use foldglass::count;
use foldglass::exact::lowest_terms;
use foldglass::gauge::{
    Canonical, Freedom, Links, Relabelling, agreement, canonical, links, relabelling_between,
};
use foldglass::policy::Code;
use foldglass::quasigroup::Symbol;
use foldglass::stream::Stream;
use serde::Serialize;

use crate::certificate;
use crate::cli::Settings;
use crate::error::Error;
use crate::files::{self, File};
use crate::flags::ClassArgs;
use crate::output::Report;
use crate::report::{Cell, Table};
use crate::summary::short;

/// The flags of `gauge`.
#[derive(Debug, Args)]
pub struct GaugeArgs {
    /// A code: {"actions":[..]}, in the order of `cells`; - reads stdin
    #[arg(long, value_name = "FILE")]
    code: PathBuf,
    /// A code to compare it with
    #[arg(long, value_name = "FILE")]
    other: Option<PathBuf>,
    /// Relabel the code: random (by --seed), or a file [[..]] with a permutation of the tokens for
    /// each step
    #[arg(long, value_name = "FILE|random")]
    relabel: Option<Relabel>,
    /// Write the relabelled code to a file, or the canonical one without --relabel
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

/// What `--relabel` holds.
#[derive(Debug, Clone)]
enum Relabel {
    Random,
    File(PathBuf),
}

impl FromStr for Relabel {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Relabel, Infallible> {
        Ok(match text {
            "random" => Relabel::Random,
            path => Relabel::File(path.into()),
        })
    }
}

const EXPECTED: &str = "a relabelling ([[..]], a permutation of the tokens for each step)";

impl Relabel {
    fn read(&self, class: &Class, seed: u64) -> Result<Relabelling, Error> {
        let path = match self {
            Relabel::Random => return Ok(Relabelling::random(class, &mut Stream::new(seed, 0))),
            Relabel::File(path) => path,
        };
        let file = File::at(path)?;
        let steps: Vec<Vec<i64>> = file.json(EXPECTED)?;
        Relabelling::new(class, &steps).map_err(|source| Error::Relabelling {
            path: file.name,
            source,
        })
    }
}

impl GaugeArgs {
    /// Reads the codes and says how they are related.
    pub fn run(&self, settings: &Settings) -> Result<Gauged, Error> {
        let class = self.class.class(settings.seed)?;
        let code = files::code(&self.code, &class)?;
        let refuse = |source| Error::Relabelling {
            path: self.code.display().to_string(),
            source,
        };
        let least = canonical(&class, &code).map_err(refuse)?;
        let relabelled = match &self.relabel {
            None => None,
            Some(relabel) => {
                let g = relabel.read(&class, settings.seed)?;
                Some(Renamed::new(g.apply(&class, &code), &g))
            }
        };
        let other = match &self.other {
            None => None,
            Some(path) => Some(self.compare(&class, &code, &files::code(path, &class)?)?),
        };
        if let Some(out) = &self.out {
            let code = relabelled.as_ref().map_or(&least.code, |r| &r.code);
            certificate::write(out, &files::of_code(code))?;
        }
        let freedom = Freedom::of(&class);
        Ok(Gauged {
            reward_exact: count::reward(&class, &code).to_string(),
            free_steps: freedom.free(),
            relabellings: freedom.order(class.q()).to_string(),
            canonical: CanonicalForm::new(least),
            links: links(&class, &code)
                .map(|links| links.into_iter().map(LinksForm::new).collect()),
            relabelled,
            other,
        })
    }

    /// How often another code gives the same answer, and whether it is a relabelling.
    fn compare(&self, class: &Class, code: &Code, other: &Code) -> Result<Compared, Error> {
        let found = agreement(class, code, other, self.class.allowance())?;
        let between = relabelling_between(class, code, other);
        let between = between.map_err(|source| Error::Relabelling {
            path: "--other".to_owned(),
            source,
        })?;
        let lengths = class.task().lengths().iter().zip(&found.by_length);
        let cells = code.actions().iter().zip(other.actions());
        Ok(Compared {
            agreement_exact: lowest_terms(&found.overall),
            by_length: lengths
                .map(|(&length, agreement)| ByLength {
                    length,
                    agreement_exact: lowest_terms(agreement),
                })
                .collect(),
            cells_alike: cells.filter(|(a, b)| a == b).count(),
            relabelling: between.map(|g| g.steps().to_vec()),
        })
    }
}

/// A code, its orbit, and what it is compared with.
#[derive(Serialize)]
pub struct Gauged {
    reward_exact: String,
    free_steps: usize,
    relabellings: String,
    #[serde(flatten)]
    canonical: CanonicalForm,
    links: Option<Vec<LinksForm>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relabelled: Option<Renamed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<Compared>,
}

#[derive(Serialize)]
struct CanonicalForm {
    orbit: String,
    stabiliser: String,
    canonical: Vec<Symbol>,
    to_canonical: Vec<Vec<Symbol>>,
}

impl CanonicalForm {
    fn new(found: Canonical) -> CanonicalForm {
        CanonicalForm {
            orbit: found.orbit.to_string(),
            stabiliser: found.stabiliser.to_string(),
            canonical: found.code.actions().to_vec(),
            to_canonical: found.relabelling.steps().to_vec(),
        }
    }
}

/// The links of a step; `holonomies` is null where no link of it is invertible.
#[derive(Serialize)]
struct LinksForm {
    t: Option<usize>,
    windows: Vec<usize>,
    maps: Vec<Vec<Symbol>>,
    reference: Option<usize>,
    holonomies: Option<Vec<Vec<Symbol>>>,
}

impl LinksForm {
    fn new(links: Links) -> LinksForm {
        LinksForm {
            t: links.t,
            reference: links.reference.map(|v| links.windows[v]),
            windows: links.windows,
            maps: links.maps,
            holonomies: links.reference.map(|_| links.holonomies),
        }
    }

    fn row(&self) -> [Cell; 4] {
        let full = self.maps.first().map_or(0, Vec::len);
        let invertible = self.maps.iter().filter(|map| Links::rank(map) == full);
        let mut distinct = self.holonomies.clone().unwrap_or_default();
        distinct.sort_unstable();
        distinct.dedup();
        let reads = full > 1;
        [
            Cell::or_missing(self.t),
            self.maps.len().into(),
            match reads {
                true => invertible.count().into(),
                false => Cell::Missing,
            },
            match (reads, &self.holonomies) {
                (false, _) => "boundary".into(),
                (true, None) => "none".into(),
                (true, Some(_)) => distinct.len().into(),
            },
        ]
    }
}

#[derive(Serialize)]
struct Renamed {
    #[serde(skip)]
    code: Code,
    actions: Vec<Symbol>,
    relabelling: Vec<Vec<Symbol>>,
}

impl Renamed {
    fn new(code: Code, by: &Relabelling) -> Renamed {
        Renamed {
            actions: code.actions().to_vec(),
            relabelling: by.steps().to_vec(),
            code,
        }
    }
}

#[derive(Serialize)]
struct Compared {
    agreement_exact: String,
    by_length: Vec<ByLength>,
    cells_alike: usize,
    relabelling: Option<Vec<Vec<Symbol>>>,
}

#[derive(Serialize)]
struct ByLength {
    length: usize,
    agreement_exact: String,
}

impl Report for Gauged {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let CanonicalForm {
            orbit, stabiliser, ..
        } = &self.canonical;
        writeln!(out, "reward J      {}", short(&self.reward_exact))?;
        writeln!(
            out,
            "relabellings  {}, free at {} steps",
            self.relabellings, self.free_steps
        )?;
        writeln!(
            out,
            "orbit         {orbit} codes; {stabiliser} of the relabellings change nothing"
        )?;
        if let Some(renamed) = &self.relabelled {
            writeln!(out, "relabelled    {}", permutations(&renamed.relabelling))?;
        }
        if let Some(other) = &self.other {
            other.write_text(out, self.canonical.canonical.len())?;
        }
        let Some(links) = &self.links else {
            return writeln!(out, "links         none: more than one token is remembered");
        };
        writeln!(out)?;
        let table = Table::of_numbers(["t", "links", "invertible", "holonomies"]);
        table.rows(links.iter().map(LinksForm::row)).write_text(out)
    }
}

impl Compared {
    fn write_text(&self, out: &mut dyn Write, cells: usize) -> io::Result<()> {
        let agreement = short(&self.agreement_exact);
        writeln!(out, "agreement     {agreement} of the answers")?;
        if self.by_length.len() > 1 {
            for one in &self.by_length {
                let agreement = short(&one.agreement_exact);
                writeln!(out, "  length {:<4} {agreement}", one.length)?;
            }
        }
        writeln!(out, "cells alike   {} of {cells}", self.cells_alike)?;
        match &self.relabelling {
            Some(g) => writeln!(out, "the other is a relabelling: {}", permutations(g)),
            None => writeln!(out, "the other is no relabelling"),
        }
    }
}

/// Permutations, a step each.
fn permutations(steps: &[Vec<Symbol>]) -> String {
    let one = |g: &Vec<Symbol>| {
        g.iter()
            .map(Symbol::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    steps.iter().map(one).collect::<Vec<_>>().join(" | ")
}
