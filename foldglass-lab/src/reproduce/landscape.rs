//! Takes the censuses of tab:trapsexist and certifies the tied endpoints.
//!
//! The censuses take a moment and are taken anew each time. A certificate may take minutes: each is
//! kept in a file, which `foldglass check` verifies, and read back the next time.

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

use super::studies::Scale;
use crate::census::{self, Found};
use crate::certificate::{VerdictFile, VerdictWriter};
use crate::error::Error;
use crate::files::File;
use crate::progress::{Go, Progress};
use crate::study::Shard;

/// The lengths of correlated parity, with the names of their classes.
pub const PARITIES: [(&str, usize); 5] = [
    ("parity k=9/10 T=4", 4),
    ("parity k=9/10 T=5", 5),
    ("parity k=9/10 T=6", 6),
    ("parity k=9/10 T=7", 7),
    ("parity k=9/10 T=8", 8),
];

/// The length at which the paper's number of local maxima is another.
pub const LOOSE_LENGTH: usize = 8;

/// What is counted there beside.
pub const LOOSE: &str = "local maxima, changes up to 1e-6 counted as none";

const BARRIER_CAP: usize = 1_000_000;

/// The most codes of a shelf: the paper's, and that of the smoke scale.
const CAP: usize = 100_000;
const QUICK_CAP: usize = 300;

/// What tab:trapsexist measures.
#[derive(Debug, Default)]
pub struct Landscape {
    found: Vec<(usize, Found)>,
    /// Local maxima at [`LOOSE_LENGTH`], with a tolerance.
    pub loose: Option<String>,
    /// Traps at that length, the inputs not correlated.
    pub uncorrelated: Option<String>,
    /// Verdicts on the endpoints of the tied chains.
    pub verdicts: Vec<Endpoint>,
}

/// What was said of an endpoint.
#[derive(Debug)]
pub struct Endpoint {
    /// The verdict's name.
    pub verdict: &'static str,
    /// Codes of the shelf.
    pub shelf: usize,
    /// The most changes from the endpoint to one of them.
    pub depth: usize,
}

impl Landscape {
    /// What the census of a length found.
    pub fn of(&self, length: usize) -> Option<&Found> {
        let found = self.found.iter().find(|(other, _)| *other == length);
        found.map(|(_, found)| found)
    }

    /// Takes the censuses.
    pub fn enumerate(&mut self, threads: usize, allowance: Allowance) -> Result<(), Error> {
        let count = |length, repeat: &str, tolerance: &str| -> Result<Found, Error> {
            let number = |text| parse(text).expect("a number");
            let law = InputLaw::Markov(number(repeat));
            let square = LatinSquare::cyclic(2).expect("two symbols");
            let task = Task::new(square, &law, &[length]).expect("a task");
            let class = Class::new(task, Shape::untied(0, 0), allowance)?;
            let mut census = Census::new(&class, &number(tolerance), allowance)?;
            let options = census::Options {
                out: None,
                shard: Shard::WHOLE,
                threads,
                allowance,
                barrier_cap: BARRIER_CAP,
            };
            let all = census::execute(&mut census, tolerance, &options)?;
            let all = all.expect("the whole was counted");
            Found::new(&census, all, tolerance, threads, BARRIER_CAP)
        };
        for (_, length) in PARITIES {
            self.found.push((length, count(length, "9/10", "0/1")?));
        }
        self.loose = Some(count(LOOSE_LENGTH, "9/10", "1/1000000")?.local_maxima);
        let uncorrelated = count(LOOSE_LENGTH, "1/2", "0/1")?;
        self.uncorrelated = uncorrelated.traps.map(|traps| traps.traps);
        Ok(())
    }

    /// Certifies endpoints, or reads what was said of them before.
    pub fn certify(
        &mut self,
        class: &Class,
        endpoints: &[Code],
        scale: Scale,
        directory: &Path,
        (threads, allowance): (usize, Allowance),
    ) -> Result<(), Error> {
        fs::create_dir_all(directory).map_err(|source| Error::Write {
            path: directory.display().to_string(),
            source,
        })?;
        let cap = match scale {
            Scale::Full => CAP,
            Scale::Quick => QUICK_CAP,
        };
        let progress = Progress::open();
        let mut workers = Workers::new(class, threads, allowance)
            .map_err(|error| Error::Failed(error.to_string()))?;
        for (run, endpoint) in endpoints.iter().enumerate() {
            let path = directory.join(format!("tied-{run}.json"));
            if let Some(known) = read(&path, class, endpoint, cap, allowance) {
                self.verdicts.push(known);
                continue;
            }
            let mut search = Search::new(&mut workers, endpoint.clone(), cap);
            search.explore(&mut workers, |status| {
                let said = format!(
                    "endpoint {} of {}: {} codes on its shelf, {} searched",
                    run + 1,
                    endpoints.len(),
                    status.found,
                    status.explored
                );
                match progress.say(said) {
                    Go::On => ControlFlow::Continue(()),
                    Go::Stop => ControlFlow::Break(()),
                }
            });
            if !search.is_over() {
                return Err(Error::Stopped(format!(
                    "stopped: {run} of {} endpoints have verdicts in {}; the same command goes on \
                     from there",
                    endpoints.len(),
                    directory.display()
                )));
            }
            let shelf = search.finish();
            // A file that was not finished has another name.
            let unfinished = path.with_extension("tmp");
            let mut writer = VerdictWriter::create(&unfinished, class)?;
            writer.write(endpoint, &shelf)?;
            writer.finish()?;
            fs::rename(&unfinished, &path).map_err(|source| Error::Write {
                path: path.display().to_string(),
                source,
            })?;
            let known = read(&path, class, endpoint, cap, allowance);
            self.verdicts.push(known.ok_or_else(|| {
                Error::Failed(format!("{} does not hold what was written", path.display()))
            })?);
        }
        Ok(())
    }
}

/// A verdict that was written before, if it is one on this code with this cap.
fn read(
    path: &Path,
    class: &Class,
    endpoint: &Code,
    cap: usize,
    allowance: Allowance,
) -> Option<Endpoint> {
    let file = File::at(path).ok()?;
    let (of, verdicts) = VerdictFile::read(&file, allowance).ok()?;
    let [verdict] = &verdicts[..] else {
        return None;
    };
    let same = of == *class && verdict.start == *endpoint;
    let capped = matches!(verdict.claim, Claim::Bounded { cap: other, .. } if other != cap);
    (same && !capped).then(|| summary(verdict))
}

fn summary(verdict: &Verdict) -> Endpoint {
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
        verdict: name,
        shelf: depths.len(),
        depth: depths.into_iter().max().unwrap_or(0),
    }
}
