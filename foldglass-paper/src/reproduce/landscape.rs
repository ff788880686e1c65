//! Takes the censuses of tab:trapsexist and certifies the tied endpoints, and reads what they gave.
//!
//! In the directory of a reproduction, `censuses/` has one file per census, `certificates/` one per endpoint,
//! which `foldglass check` verifies, and `verdicts.json` what the certificates say. Files that are there are not made again.

use foldglass::Context;
use std::fmt;
use std::path::{Path, PathBuf};

use foldglass::landscape::shelf::Workers;
use foldglass::proof::claim::{Finding, Verdict};
use foldglass::{Allowance, Class, Code, Reward};
use foldglass_study::ClassWords;
use foldglass_study::census::{CensusFindings, CensusOptions, CensusPlan, Counted, Traps, count};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::certified::{self, Resources};
use super::files::{read_all, read_json, write_json};
use super::run::Done;
use super::studies::Scale;
use crate::error::Error;
use crate::progress::Terminal;

/// A census of parity with a window of (0,0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CensusRecipe {
    /// T.
    pub length: usize,
    /// The probability k with which a symbol repeats.
    pub repeat: &'static str,
    /// Changes up to this count as none.
    pub tolerance: &'static str,
}

impl fmt::Display for CensusRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CensusRecipe {
            length,
            repeat,
            tolerance,
        } = self;
        write!(
            f,
            "parity at T = {length} (k = {repeat}, tolerance {tolerance})"
        )
    }
}

/// What a census found, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
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

impl Endpoint {
    /// Whether it is a certified trap.
    pub fn is_certified(&self) -> bool {
        self.verdict == "certified"
    }
}

/// What is recorded of the landscape.
#[derive(Debug, Default)]
pub struct Landscape {
    censuses: Vec<CensusRecord>,
    /// Verdicts on the endpoints of the tied chains.
    pub endpoints: Vec<Endpoint>,
}

/// The file of verdicts.
#[derive(Debug, Default, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Verdicts {
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
const SMOKE_CAP: usize = 300;

impl Landscape {
    /// Reads what is recorded in the directory of a reproduction.
    pub fn read(directory: &Path) -> Result<Landscape, Error> {
        let censuses = read_all(&directory.join(CENSUSES), "a record of a census")?;
        let path = directory.join(VERDICTS);
        let verdicts: Option<Verdicts> = read_json(&path, "a record of verdicts")?;
        Ok(Landscape {
            censuses,
            endpoints: verdicts.unwrap_or_default().endpoints,
        })
    }

    /// What a census found, if it was taken.
    pub fn census(&self, recipe: &CensusRecipe) -> Option<&CensusRecord> {
        self.censuses.iter().find(|record| record.is_of(recipe))
    }
}

impl CensusRecord {
    fn is_of(&self, recipe: &CensusRecipe) -> bool {
        let CensusRecipe {
            length,
            repeat,
            tolerance,
        } = *recipe;
        (self.length, &self.repeat[..], &self.tolerance[..]) == (length, repeat, tolerance)
    }

    fn new(recipe: &CensusRecipe, found: &CensusFindings) -> CensusRecord {
        CensusRecord {
            version: VERSION.to_owned(),
            length: recipe.length,
            repeat: recipe.repeat.to_owned(),
            tolerance: recipe.tolerance.to_owned(),
            cells: found.cells,
            codes: found.codes.clone(),
            optimal: found.optimal.to_string(),
            local_maxima: found.local_maxima.to_string(),
            traps: found.traps.as_ref().map(TrapsRecord::new),
        }
    }
}

impl TrapsRecord {
    fn new(traps: &Traps) -> TrapsRecord {
        let line = |values: Vec<(Option<Reward>, u128)>| {
            let words = values
                .into_iter()
                .map(|(value, _)| value.map_or("unknown".to_owned(), |value| value.to_string()));
            let words: Vec<String> = words.collect();
            match words.is_empty() {
                true => "none".to_owned(),
                false => words.join(", "),
            }
        };
        TrapsRecord {
            traps: traps.count().to_string(),
            rewards: line(traps.by(|kind| Some(kind.reward.clone()))),
            largest_losses: line(traps.by(|kind| kind.loss.clone())),
            barriers: line(traps.by(|kind| kind.barrier.clone())),
        }
    }
}

/// Records of another version are made anew.
const VERSION: &str = foldglass_study::VERSION;

/// Takes the censuses that are not recorded yet.
pub fn enumerate(
    recipes: &[CensusRecipe],
    directory: &Path,
    means: Resources,
    observer: &Terminal,
) -> Result<Done, Error> {
    let known = Landscape::read(directory)?;
    let mut worked = Done::Nothing;
    for (number, recipe) in recipes.iter().enumerate() {
        let record = known.census(recipe);
        if record.is_some_and(|record| record.version == VERSION) {
            continue;
        }
        worked = Done::Something;
        observer.step(number, recipes.len(), format!("T = {}", recipe.length));
        let record = CensusRecord::new(recipe, &take(recipe, means, observer)?);
        let plain = |fraction: &str| fraction.replace('/', "-");
        let name = format!(
            "parity-T{}-k{}-tolerance{}.json",
            recipe.length,
            plain(recipe.repeat),
            plain(recipe.tolerance)
        );
        write_json(&directory.join(CENSUSES).join(name), &record)?;
    }
    Ok(worked)
}

fn take(
    recipe: &CensusRecipe,
    means: Resources,
    observer: &Terminal,
) -> Result<CensusFindings, Error> {
    let words = ClassWords::new("parity", &[recipe.length]);
    let words = words.inputs(&format!("markov:{}", recipe.repeat));
    let class = words.spec(Path::new(""))?.lay_out_within(means.allowance)?;
    let tolerance: Reward = recipe.tolerance.parse().expect("a number");
    census(&class, &tolerance, None, means, observer)
}

/// Takes the census of a class; parts that are done are kept in `parts`, where it names a directory.
pub fn census(
    class: &Class,
    tolerance: &Reward,
    parts: Option<PathBuf>,
    means: Resources,
    observer: &Terminal,
) -> Result<CensusFindings, Error> {
    let Resources { threads, allowance } = means;
    let mut options = CensusOptions::default();
    options.out = parts;
    options.threads = threads;
    options.allowance = allowance;
    let plan = CensusPlan::new(class, tolerance, &options)?;
    let stopped = || Error::Stopped("stopped in a census; the same command resumes it".to_owned());
    let Counted::Whole(census, all) = count(plan, &options, observer)? else {
        return Err(stopped());
    };
    let found = CensusFindings::new(&census, all, tolerance, threads, BARRIER_CAP, observer)?;
    found.ok_or_else(stopped)
}

/// Certifies endpoints, or reads their certificates, and records what they say.
pub fn certify(
    class: &Class,
    codes: &[Code],
    scale: Scale,
    directory: &Path,
    means: Resources,
    observer: &Terminal,
) -> Result<Done, Error> {
    let mut worked = Done::Nothing;
    let cap = match scale {
        Scale::Quick | Scale::Short | Scale::Full => CAP,
        Scale::Smoke => SMOKE_CAP,
    };
    let certificates = directory.join(CERTIFICATES);
    let mut workers = Workers::new(
        class,
        Context::default()
            .with_threads(means.threads)
            .with_memory(means.allowance),
    )?;
    let mut verdicts = Verdicts {
        version: VERSION.to_owned(),
        cap,
        endpoints: Vec::new(),
    };
    for (run, code) in codes.iter().enumerate() {
        let path = certificates.join(format!("tied-{run}.json"));
        if known(&path, code, cap, means.allowance).is_none() {
            worked = Done::Something;
            let place = format!("endpoint {} of {}", run + 1, codes.len());
            observer.step(run, codes.len(), place);
            let own = std::slice::from_ref(code);
            certified::write(&path, class, own, cap, &mut workers, observer)?;
        }
        let verdict = known(&path, code, cap, means.allowance).ok_or_else(|| {
            Error::Failed(format!("{} does not hold what was written", path.display()))
        })?;
        verdicts.endpoints.push(endpoint(run, &verdict));
        write_json(&directory.join(VERDICTS), &verdicts)?;
    }
    Ok(worked)
}

/// A verdict that was written before, if it is one on this code with this cap.
fn known(path: &Path, code: &Code, cap: usize, allowance: Allowance) -> Option<Verdict> {
    let verdicts = certified::read(path, allowance).ok()?;
    let [verdict] = <[Verdict; 1]>::try_from(verdicts).ok()?;
    let capped = matches!(verdict.finding, Finding::Bounded { cap: other, .. } if other != cap);
    (verdict.start == *code && !capped).then_some(verdict)
}

fn endpoint(run: usize, verdict: &Verdict) -> Endpoint {
    Endpoint {
        run,
        verdict: verdict.finding.name().to_owned(),
        shelf: verdict.finding.nodes().len() + 1,
        depth: verdict.depth(),
    }
}
