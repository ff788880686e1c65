//! Checks the verdicts of a file one after the other.

use foldglass::Context;
use std::collections::BTreeMap;

use foldglass::proof::check::verdict::{self, Effort, VerdictError};
use foldglass::proof::check::{self, CheckError};
use foldglass::proof::claim::Verdict;
use foldglass::support::memory::TooLarge;
use foldglass_study::parallel::{fitting, threads};
use schemars::JsonSchema;
use serde::Serialize;

use super::Means;
use crate::error::Error;

/// What was gone through for a verdict.
#[derive(JsonSchema, Serialize)]
pub struct VerdictLine {
    verdict: &'static str,
    /// Codes whose rewards were counted.
    codes: usize,
    /// Codes of which every single-cell change was looked at.
    looked_at: usize,
    /// Whether some codes of the shelf were not looked at: the claim holds as far as they go.
    sampled: bool,
    /// How the barrier is known, where one is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    barrier_is: Option<&'static str>,
    /// Codes that were flooded again for it.
    #[serde(skip_serializing_if = "is_zero")]
    flooded: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Checks the verdicts of `file`: what holds, or what does not.
pub fn check(
    list: &[Verdict],
    file: &str,
    means: &Means<'_>,
) -> Result<Result<Vec<VerdictLine>, String>, Error> {
    let class = list[0].start.class();
    let what = "checking a verdict";
    let asked = threads(means.threads, usize::MAX);
    let fit = fitting(asked, what, check::bytes(class), means.allowance);
    let threads = fit.map_err(|error| too_large(file, error))?;
    let context = Context::default()
        .with_memory(means.allowance)
        .with_threads(threads)
        .with_observer(means.observer);
    let mut lines = Vec::with_capacity(list.len());
    let codes = |verdict: &Verdict| verdict.finding.nodes().len() + 1;
    let costs = list.iter().map(|verdict| codes(verdict) as f64);
    means.observer.parts(costs.collect());
    for (number, verdict) in list.iter().enumerate() {
        means
            .observer
            .part(number, format!("{file}: verdict {number}"));
        match verdict::check(verdict, means.effort, context) {
            Ok(verdict::Checked {
                codes: counted,
                looked_at,
                flooded,
            }) => {
                lines.push(VerdictLine {
                    verdict: verdict.finding.name(),
                    codes: counted,
                    looked_at,
                    sampled: means.effort != Effort::All
                        && verdict.finding.name() == "bounded"
                        && looked_at < codes(verdict),
                    barrier_is: verdict.way_out.as_ref().map(|way| way.standing.name()),
                    flooded,
                });
            }
            Err(VerdictError::Stopped(_)) => {
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
fn too_large(file: &str, error: TooLarge) -> Error {
    let problem = Error::from(error).to_string();
    let error = foldglass_study::StudyError::Content {
        path: file.to_owned(),
        expected: "a verdict file that can be checked in this memory",
        problem,
    };
    error.into()
}

/// Verdicts, codes and codes looked at of one kind.
#[derive(Default)]
struct Sums {
    verdicts: usize,
    codes: usize,
    looked_at: usize,
}

/// How many verdicts of each kind hold, and how much of bounded shelves was looked at.
pub fn text(lines: &[VerdictLine]) -> String {
    let mut kinds: BTreeMap<&str, Sums> = BTreeMap::new();
    for line in lines {
        let sums = kinds.entry(line.verdict).or_default();
        sums.verdicts += 1;
        sums.codes += line.codes;
        sums.looked_at += line.looked_at;
    }
    let part = |(kind, sums): (&str, Sums)| {
        let Sums {
            verdicts,
            codes,
            looked_at,
        } = sums;
        match kind {
            "certified" => {
                format!("{verdicts} certified, every single-cell change of {codes} codes looked at")
            }
            "bounded" => {
                // Each has one code beyond its cap, which is on the shelf and no more is said of.
                let codes = codes - verdicts;
                let more = if looked_at < codes {
                    " (sampled: --all looks at every one)"
                } else {
                    ""
                };
                format!(
                    "{verdicts} bounded, every single-cell change looked at for {looked_at} of \
                     {codes} codes{more}"
                )
            }
            _ => format!("{verdicts} {kind}"),
        }
    };
    let mut parts: Vec<String> = kinds.into_iter().map(part).collect();
    parts.extend(barriers(lines));
    parts.join("; ")
}

/// How many barriers hold, and how.
fn barriers(lines: &[VerdictLine]) -> Option<String> {
    let known = |word| {
        let own = lines.iter().filter(|line| line.barrier_is == Some(word));
        own.count()
    };
    let (exact, bounds) = (known("exact"), known("bound"));
    let flooded: usize = lines.iter().map(|line| line.flooded).sum();
    (exact + bounds > 0).then(|| {
        format!(
            "barriers: {exact} exact ({flooded} codes searched again), {bounds} bounds; every way out followed"
        )
    })
}
