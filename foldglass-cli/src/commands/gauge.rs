//! Relabels the tokens of a code and compares codes by what they compute (paper, App. D).

use std::convert::Infallible;
use std::io::{self, Write};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use foldglass::landscape::gauge::{
    Canonical, Freedom, Links, Relabelling, agreement, canonical, links, relabelling_between,
};
use foldglass::model::policy::CodeForm;
use foldglass::support::exact::lowest_terms;
use foldglass::{Class, ClassSpec, Code, Context, Reward, Stream, Symbol, reward::count};
use foldglass_study::claims;
use foldglass_study::files::Input;
use foldglass_study::tables::Source;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::ClassArgs;
use crate::flags::table::one_code;
use crate::output::Report;
use crate::report::{Cell, Format, Table};
use crate::summary::short;

/// The flags of `gauge`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass cavi --task z:5 --lengths 4 --tau 1e-10 --runs 8 --keep-code --json > runs.json
  foldglass gauge --code runs.json#0
      The code with its tokens in standard order, and the size of its orbit.
  foldglass gauge --code runs.json#0 --other runs.json#1
      How far two codes agree once their tokens are relabelled.")]
pub struct GaugeArgs {
    /// A code file, or any file that holds codes: FILE, FILE#N for one of several, - for stdin; a
    /// bare {"actions":[..]}, in the order of `cells`, needs the class flags
    #[arg(short, long, value_name = "FILE")]
    code: Source,
    /// A code to compare it with, likewise
    #[arg(long, value_name = "FILE")]
    other: Option<Source>,
    /// Relabel the code: random (by --seed), or a file [[..]] with a permutation of the tokens for
    /// each step
    #[arg(long, value_name = "FILE|random")]
    relabel: Option<Relabel>,
    /// Write the relabelled code to a file, or the canonical one without --relabel
    #[arg(short, long, value_name = "FILE")]
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
        let file = Input::read(path)?;
        let steps: Vec<Vec<i64>> = file.json(EXPECTED)?;
        Relabelling::new(class, &steps).map_err(|source| Error::Relabelling {
            path: file.name,
            source,
        })
    }
}

impl GaugeArgs {
    /// Reads the codes and says how they are related.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Gauged, Error> {
        let (class, code) = one_code(&self.code, &self.class)?;
        let refuse = |source| Error::Relabelling {
            path: self.code.path.display().to_string(),
            source,
        };
        let least = canonical(&code).map_err(refuse)?;
        let relabelled = match &self.relabel {
            None => None,
            Some(relabel) => {
                let g = relabel.read(&class, settings.seed)?;
                Some(Renamed::new(g.apply(&code), &g))
            }
        };
        let other = match &self.other {
            None => None,
            Some(source) => Some(self.compare(&code, source)?),
        };
        if let Some(out) = &self.out {
            let code = relabelled.as_ref().map_or(&least.code, |r| &r.code);
            claims::write(out, &CodeForm::from(code))?;
        }
        let freedom = Freedom::of(&class);
        Ok(Gauged {
            class: class.spec(),
            reward_exact: count::reward(&code),
            free_steps: freedom.free(),
            relabellings: freedom.order(class.q()).to_string(),
            canonical: CanonicalForm::new(least),
            links: links(&code).map(|links| links.into_iter().map(LinksForm::new).collect()),
            relabelled,
            other,
        })
    }

    /// How often another code gives the same answer, and whether it is a relabelling.
    fn compare(&self, code: &Code, source: &Source) -> Result<Compared, Error> {
        let (class, other) = one_code(source, &self.class)?;
        if class != *code.class() {
            return Err(Error::Usage(format!(
                "--other {}: it is of {}, and --code of {}",
                source.path.display(),
                class.spec(),
                code.class().spec()
            )));
        }
        let context = Context::default().with_memory(self.class.allowance());
        let found = agreement(code, &other, context)?;
        let between = relabelling_between(code, &other);
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
#[derive(JsonSchema, Serialize)]
pub struct Gauged {
    #[serde(skip)]
    class: ClassSpec,
    reward_exact: Reward,
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

#[derive(JsonSchema, Serialize)]
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
#[derive(JsonSchema, Serialize)]
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

#[derive(JsonSchema, Serialize)]
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

#[derive(JsonSchema, Serialize)]
struct Compared {
    agreement_exact: String,
    by_length: Vec<ByLength>,
    cells_alike: usize,
    relabelling: Option<Vec<Vec<Symbol>>>,
}

#[derive(JsonSchema, Serialize)]
struct ByLength {
    length: usize,
    agreement_exact: String,
}

impl Report for Gauged {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.clone())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        let rows = self.links.iter().flatten().map(LinksForm::row);
        vec![Table::of_numbers(["t", "links", "invertible", "holonomies"]).rows(rows)]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let CanonicalForm {
            orbit, stabiliser, ..
        } = &self.canonical;
        writeln!(
            out,
            "reward J      {}",
            short(&self.reward_exact.to_string())
        )?;
        writeln!(
            out,
            "relabellings  {}, free at {} steps",
            self.relabellings, self.free_steps
        )?;
        writeln!(
            out,
            "orbit         {orbit} codes; {stabiliser} of the relabellings change nothing"
        )?;
        let canonical = &self.canonical;
        let shown: Vec<String> = canonical
            .canonical
            .iter()
            .take(SHOWN)
            .map(Symbol::to_string)
            .collect();
        let more = match canonical.canonical.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more (--out and --json have all)"),
        };
        writeln!(out, "canonical     {}{more}", shown.join(" "))?;
        writeln!(
            out,
            "reached by    {}",
            permutations(&canonical.to_canonical)
        )?;
        if let Some(renamed) = &self.relabelled {
            writeln!(out, "relabelled    {}", permutations(&renamed.relabelling))?;
        }
        if let Some(other) = &self.other {
            other.write_text(out, self.canonical.canonical.len())?;
        }
        if self.links.is_none() {
            return writeln!(out, "links         none: more than one token is remembered");
        }
        writeln!(out)?;
        for table in self.tables(Format::Text) {
            table.write_text(out)?;
        }
        writeln!(
            out,
            "a link is what a step does to the token before it, under one window; its holonomy is \
             that link\nafter the inverse of the first invertible one: 1 distinct holonomy is a \
             step that relabelling\nmakes trivial, more are what no renaming of tokens removes"
        )
    }
}

/// Actions of the canonical code that are printed.
const SHOWN: usize = 60;

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
            None => writeln!(out, "the other is not a relabelling"),
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
