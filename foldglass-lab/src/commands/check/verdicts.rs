//! Checks the verdicts of a file one after the other.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use foldglass::check::verdict::{self, Claim, Settings, Verdict, VerdictError};
use foldglass::check::{CheckError, Rollouts};
use foldglass::class::{Class, ClassError};
use foldglass::policy::Code;
use serde::Serialize;

use super::Means;
use crate::error::Error;
use crate::progress::{self, Go, Progress};

/// What was gone through for a verdict.
#[derive(Serialize)]
pub struct Line {
    verdict: &'static str,
    /// Codes whose rewards were counted.
    codes: usize,
    /// Codes of which every single-cell change was looked at.
    looked_at: usize,
}

/// Checks the verdicts of `file`: what holds, or what does not.
pub fn check(
    class: &Class,
    list: &[Verdict],
    file: &str,
    means: &Means,
) -> Result<Result<Vec<Line>, String>, Error> {
    let threads = progress::threads(means.threads, usize::MAX);
    let zeros = || Code::from_fn(class, |_| 0);
    let probe = |each| Rollouts::new(class, zeros(), each).map(drop);
    let lacks_memory = |error: &CheckError| matches!(error, CheckError::TooLarge(_));
    let fit = progress::fitting(threads, means.allowance, probe, lacks_memory);
    let (threads, each) = match fit {
        Ok(fit) => fit,
        Err(CheckError::TooLarge(error)) => return Err(too_large(file, error)),
        Err(error) => return Ok(Err(error.to_string())),
    };
    let settings = Settings {
        effort: means.effort,
        threads,
        each,
    };
    let progress = Progress::open();
    let mut lines = Vec::with_capacity(list.len());
    for (number, verdict) in list.iter().enumerate() {
        let say = |done: usize, all: usize| {
            let count = list.len();
            let text = format!("{file}: verdict {number} of {count}, {done} of {all} codes");
            match progress.say(text) {
                Go::On => ControlFlow::Continue(()),
                Go::Stop => ControlFlow::Break(()),
            }
        };
        match verdict::check(class, verdict, settings, say) {
            Ok(verdict::Checked { codes, looked_at }) => lines.push(Line {
                verdict: name(&verdict.claim),
                codes,
                looked_at,
            }),
            Err(VerdictError::Stopped) => {
                return Err(Error::Stopped(format!(
                    "interrupted at verdict {number} of {}: {file} is not checked",
                    list.len()
                )));
            }
            Err(VerdictError::Check(CheckError::TooLarge(error))) => {
                return Err(too_large(file, error));
            }
            Err(error) => return Ok(Err(format!("verdict {number}: {error}"))),
        }
    }
    Ok(Ok(lines))
}

/// Names the file: the class that is too large is described in it.
fn too_large(file: &str, error: ClassError) -> Error {
    Error::Content {
        path: file.to_owned(),
        expected: "a verdict file that can be checked in this memory",
        problem: Error::from(error).to_string(),
    }
}

fn name(claim: &Claim) -> &'static str {
    match claim {
        Claim::Optimal => "optimal",
        Claim::Certified { .. } => "certified",
        Claim::Bounded { .. } => "bounded",
        Claim::Escapes { .. } => "escapes",
    }
}

/// How many verdicts of each kind hold, and how much of bounded shelves was looked at.
pub fn text(lines: &[Line]) -> String {
    // By kind: verdicts, codes, codes looked at.
    let mut kinds: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for line in lines {
        let sums = kinds.entry(line.verdict).or_default();
        let parts = [1, line.codes, line.looked_at];
        sums.iter_mut().zip(parts).for_each(|(sum, n)| *sum += n);
    }
    let part = |(kind, [count, codes, looked_at]): (&str, [usize; 3])| match kind {
        "certified" => {
            format!("{count} certified, every single-cell change of {codes} codes looked at")
        }
        "bounded" => {
            // Each has one code beyond its cap, which is on the shelf and no more is said of.
            let codes = codes - count;
            let more = match looked_at < codes {
                true => " (--all looks at every one)",
                false => "",
            };
            format!(
                "{count} bounded, every single-cell change looked at for {looked_at} of {codes} \
                 codes{more}"
            )
        }
        _ => format!("{count} {kind}"),
    };
    kinds.into_iter().map(part).collect::<Vec<_>>().join("; ")
}
