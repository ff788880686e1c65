//! Takes the censuses of tab:trapsexist and certifies the tied endpoints, and reads what they gave.
//!
//! In the directory of a reproduction, `censuses/` has a file a census, `certificates/` a file an
//! endpoint, which `foldglass check` verifies, and `verdicts.json` what the certificates say. What
//! is there is not done again.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use foldglass::check::verdict::{Claim, Verdict};
use foldglass::class::{Allowance, Class, Shape};
use foldglass::exact::parse;
use foldglass::inputs::InputLaw;
use foldglass::landscape::census::Census;
use foldglass::landscape::shelf::{Search, Workers};
use foldglass::policy::Code;
use foldglass::quasigroup::LatinSquare;
use foldglass::task::Task;
use serde::{Deserialize, Serialize};

use super::files::{read_json, write_json};
use super::studies::Scale;
use crate::census::{self, Found};
use crate::certificate::{VerdictFile, VerdictWriter};
use crate::error::Error;
use crate::files::File;
use crate::progress::{Go, Progress};
use crate::study::Shard;

/// A census of parity with a window of (0,0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// T.
    pub length: usize,
    /// The probability k with which a symbol repeats.
    pub repeat: &'static str,
    /// Changes up to this count as none.
    pub tolerance: &'static str,
}

/// What a census found, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CensusRecord {
    version: String,
    length: usize,
    repeat: String,
    tolerance: String,
    /// Cells of the class.
    pub cells: usize,
    /// Codes of the class.
    pub codes: String,
    /// Codes of reward 1.
    pub optimal: String,
    /// Codes below that no single change raises.
    pub local_maxima: String,
    /// The traps; not sought where there is a tolerance.
    pub traps: Option<TrapsRecord>,
}

/// What was found of the traps; several fractions stand in a line, the highest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrapsRecord {
    /// How many.
    pub traps: String,
    /// Their rewards.
    pub rewards: String,
    /// The largest losses by a single change on the best ways out.
    pub largest_losses: String,
    /// The drops below the traps on them.
    pub barriers: String,
}

/// What was said of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The chain's number.
    pub run: usize,
    /// The verdict's name.
    pub verdict: String,
    /// Codes of the shelf.
    pub shelf: usize,
    /// The most changes from the endpoint to one of them.
    pub depth: usize,
}

/// What is recorded of the landscape.
#[derive(Debug, Default)]
pub struct Landscape {
    censuses: Vec<CensusRecord>,
    /// Verdicts on the endpoints of the tied chains.
    pub endpoints: Vec<Endpoint>,
}

/// The file of verdicts.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Verdicts {
    version: String,
    /// The most codes of a shelf that were visited.
    cap: usize,
    endpoints: Vec<Endpoint>,
}

const CENSUSES: &str = "censuses";
const CERTIFICATES: &str = "certificates";
const VERDICTS: &str = "verdicts.json";

const BARRIER_CAP: usize = 1_000_000;

/// The most codes of a shelf: the paper's, and that of the smoke scale.
const CAP: usize = 100_000;
const QUICK_CAP: usize = 300;

/// How the work is done; none of it shows in the results.
#[derive(Debug, Clone, Copy)]
pub struct Means {
    /// Threads.
    pub threads: usize,
    /// The memory that may be taken.
    pub allowance: Allowance,
}

impl Landscape {
    /// Reads what is recorded in the directory of a reproduction.
    pub fn read(directory: &Path) -> Result<Landscape, Error> {
        let mut censuses = Vec::new();
        let files = fs::read_dir(directory.join(CENSUSES)).into_iter().flatten();
        for file in files.flatten() {
            let path = file.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                censuses.extend(read_json(&path, "a record of a census")?);
            }
        }
        let path = directory.join(VERDICTS);
        let verdicts: Option<Verdicts> = read_json(&path, "a record of verdicts")?;
        Ok(Landscape {
            censuses,
            endpoints: verdicts.unwrap_or_default().endpoints,
        })
    }

    /// What a census found, if it was taken.
    pub fn census(&self, recipe: &Recipe) -> Option<&CensusRecord> {
        self.censuses.iter().find(|record| record.is_of(recipe))
    }
}

impl CensusRecord {
    fn is_of(&self, recipe: &Recipe) -> bool {
        let Recipe {
            length,
            repeat,
            tolerance,
        } = *recipe;
        (self.length, &self.repeat[..], &self.tolerance[..]) == (length, repeat, tolerance)
    }

    fn new(recipe: &Recipe, found: &Found) -> CensusRecord {
        CensusRecord {
            version: VERSION.to_owned(),
            length: recipe.length,
            repeat: recipe.repeat.to_owned(),
            tolerance: recipe.tolerance.to_owned(),
            cells: found.cells,
            codes: found.codes.clone(),
            optimal: found.optimal.clone(),
            local_maxima: found.local_maxima.clone(),
            traps: found.traps.as_ref().map(|traps| TrapsRecord {
                traps: traps.traps.clone(),
                rewards: traps.rewards(),
                largest_losses: traps.losses(),
                barriers: traps.depths(),
            }),
        }
    }
}

/// Records of another version are made anew.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Takes the censuses that are not recorded yet.
pub fn enumerate(recipes: &[Recipe], directory: &Path, means: Means) -> Result<(), Error> {
    let known = Landscape::read(directory)?;
    for recipe in recipes {
        let record = known.census(recipe);
        if record.is_some_and(|record| record.version == VERSION) {
            continue;
        }
        let record = CensusRecord::new(recipe, &take(recipe, means)?);
        let plain = |fraction: &str| fraction.replace('/', "-");
        let name = format!(
            "parity-T{}-k{}-tolerance{}.json",
            recipe.length,
            plain(recipe.repeat),
            plain(recipe.tolerance)
        );
        write_json(&directory.join(CENSUSES).join(name), &record)?;
    }
    Ok(())
}

fn take(recipe: &Recipe, means: Means) -> Result<Found, Error> {
    let number = |text| parse(text).expect("a number");
    let Means { threads, allowance } = means;
    let law = InputLaw::Markov(number(recipe.repeat));
    let square = LatinSquare::cyclic(2).expect("two symbols");
    let task = Task::new(square, &law, &[recipe.length]).expect("a task");
    let class = Class::new(task, Shape::untied(0, 0), allowance)?;
    let mut census = Census::new(&class, &number(recipe.tolerance), allowance)?;
    let options = census::Options {
        out: None,
        shard: Shard::WHOLE,
        threads,
        allowance,
        barrier_cap: BARRIER_CAP,
    };
    let all = census::execute(&mut census, recipe.tolerance, &options)?;
    let all = all.expect("the whole was counted");
    Found::new(&census, all, recipe.tolerance, threads, BARRIER_CAP)
}

/// Certifies endpoints, or reads their certificates, and records what they say.
pub fn certify(
    class: &Class,
    codes: &[Code],
    scale: Scale,
    directory: &Path,
    means: Means,
) -> Result<(), Error> {
    let cap = match scale {
        Scale::Full => CAP,
        Scale::Quick => QUICK_CAP,
    };
    let certificates = directory.join(CERTIFICATES);
    fs::create_dir_all(&certificates).map_err(|source| Error::Write {
        path: certificates.display().to_string(),
        source,
    })?;
    let progress = Progress::open();
    let mut workers = Workers::new(class, means.threads, means.allowance)
        .map_err(|error| Error::Failed(error.to_string()))?;
    let mut verdicts = Verdicts {
        version: VERSION.to_owned(),
        cap,
        endpoints: Vec::new(),
    };
    for (run, code) in codes.iter().enumerate() {
        let path = certificates.join(format!("tied-{run}.json"));
        let known = || known(&path, class, code, cap, means.allowance);
        let verdict = match known() {
            Some(verdict) => verdict,
            None => {
                let said = format!("endpoint {} of {}", run + 1, codes.len());
                let mut search = Search::new(&mut workers, code.clone(), cap);
                explore(&mut search, &mut workers, &progress, &said);
                if !search.is_over() {
                    return Err(Error::Stopped(format!(
                        "stopped: {run} of {} endpoints have verdicts in {}; the same command \
                         goes on from there",
                        codes.len(),
                        certificates.display()
                    )));
                }
                write(&path, class, code, search)?;
                known().ok_or_else(|| {
                    Error::Failed(format!("{} does not hold what was written", path.display()))
                })?
            }
        };
        verdicts.endpoints.push(endpoint(run, &verdict));
        write_json(&directory.join(VERDICTS), &verdicts)?;
    }
    Ok(())
}

/// Searches a shelf until it is over or the user stops it.
fn explore(search: &mut Search, workers: &mut Workers, progress: &Progress, said: &str) {
    search.explore(workers, |status| {
        let (found, explored) = (status.found, status.explored);
        match progress.say(format!(
            "{said}: {found} codes on its shelf, {explored} searched"
        )) {
            Go::On => ControlFlow::Continue(()),
            Go::Stop => ControlFlow::Break(()),
        }
    });
}

/// Writes a certificate; one that was not finished has another name.
fn write(path: &Path, class: &Class, code: &Code, search: Search) -> Result<(), Error> {
    let unfinished = path.with_extension("tmp");
    let mut writer = VerdictWriter::create(&unfinished, class)?;
    writer.write(code, &search.finish())?;
    writer.finish()?;
    fs::rename(&unfinished, path).map_err(|source| Error::Write {
        path: path.display().to_string(),
        source,
    })
}

/// A verdict that was written before, if it is one on this code with this cap.
fn known(
    path: &Path,
    class: &Class,
    code: &Code,
    cap: usize,
    allowance: Allowance,
) -> Option<Verdict> {
    let file = File::at(path).ok()?;
    let (of, verdicts) = VerdictFile::read(&file, allowance).ok()?;
    let [verdict] = <[Verdict; 1]>::try_from(verdicts).ok()?;
    let same = of == *class && verdict.start == *code;
    let capped = matches!(verdict.claim, Claim::Bounded { cap: other, .. } if other != cap);
    (same && !capped).then_some(verdict)
}

fn endpoint(run: usize, verdict: &Verdict) -> Endpoint {
    let (name, nodes) = match &verdict.claim {
        Claim::Optimal => ("optimal", &[][..]),
        Claim::Certified { nodes } => ("certified", &nodes[..]),
        Claim::Bounded { nodes, .. } => ("bounded", &nodes[..]),
        Claim::Escapes { .. } => ("escapes", &[][..]),
    };
    let mut depths = vec![0];
    for node in nodes {
        depths.push(depths[node.parent] + 1);
    }
    Endpoint {
        run,
        verdict: name.to_owned(),
        shelf: depths.len(),
        depth: depths.into_iter().max().unwrap_or(0),
    }
}
