//! Lists the small computations of statements, and keeps what each finds in a file of its own.
//!
//! In the directory of a reproduction, `claims/` has one file per probe, written when it is finished. A
//! file of the same version and form is not made again.

pub mod census;
pub mod chains;
pub mod escape;
pub mod gauge;
pub mod gradient;
pub mod mapping;
pub mod parity;
pub mod proof;
pub mod regulators;
pub mod rollouts;
pub mod small;
pub mod tied;

use std::path::{Path, PathBuf};

use foldglass::model::policy::InitialLaw;
use foldglass::support::parallel::in_order;
use foldglass::{Class, InputLaw, Operation, Policy, Shape, Stream, Task};
use foldglass_study::StudyError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Absent, Bench};
use crate::error::Error;
use crate::reproduce::files::{read_json, say_unsealed, write_json};

macro_rules! probes {
    ($($(#[$doc:meta])* $name:ident: $found:ty = $id:literal, form $form:literal, $run:path;)*) => {
        /// What the probes of a directory found.
        #[derive(Debug, Default)]
        pub struct Probes {
            $($name: Option<$found>,)*
        }

        impl Probes {
            /// These alone, by their ids.
            #[cfg(test)]
            pub fn made_up(found: &[(&str, Value)]) -> Probes {
                let of = |id: &str| found.iter().find(|(other, _)| *other == id);
                Probes {
                    $($name: of($id).map(|(_, found)| serde_json::from_value(found.clone()).unwrap()),)*
                }
            }

            /// Reads what is in the directory of a reproduction.
            pub fn read(directory: &Path) -> Result<Probes, Error> {
                let probes = Probes {
                    $($name: kept(directory, $id, $form)?,)*
                };
                say_unsealed(directory);
                Ok(probes)
            }

            $($(#[$doc])*
            pub fn $name(&self) -> Result<&$found, Absent> {
                self.$name.as_ref().ok_or_else(|| Absent::Records {
                    of: concat!("the probe ", $id).to_owned(),
                    made_by: "claims".to_owned(),
                })
            })*
        }

        /// What each probe is called, and what runs it unless it has a record.
        const ALL: &[(&str, fn(&Bench) -> Result<(), Error>)] =
            &[$(($id, |bench| keep(bench, $id, $form, $run))),*];
    };
}

/// The probes that divide their own work among all threads.
const THREADED: [&str; 7] = [
    "windows",
    "lengths",
    "correlated",
    "decade",
    "quench",
    "deterministic-resets",
    "tied-barriers",
];

/// Runs the probes that have no record yet: side by side those that have one thread each, then the others one by one.
pub fn run(bench: &Bench) -> Result<(), Error> {
    let is_threaded = |&number: &usize| THREADED.contains(&ALL[number].0);
    let (threaded, single): (Vec<usize>, Vec<usize>) = (0..ALL.len()).partition(is_threaded);
    let run = |number: usize| {
        let (id, run) = ALL[number];
        let stage = format!("probe {} of {}, {id}", number + 1, ALL.len());
        bench.observer.stage(stage);
        run(bench)
    };
    in_order(
        vec![(); bench.threads],
        single.len(),
        |()| |place: usize| run(single[place]).map(Some),
        |()| Ok(()),
    )?;
    threaded.into_iter().try_for_each(run)
}

// A probe that finds something else than before has a higher form: older records are made anew.
probes! {
    /// J against its average over codes, the loss against the free energy.
    identity: mapping::Identity = "identity", form 4, mapping::identity;
    /// The gradient, J along rows, the best row of a cell.
    gradient: gradient::Gradient = "gradient", form 3, gradient::gradient;
    /// Single changes of codes.
    moves: rollouts::Moves = "moves", form 2, rollouts::moves;
    /// Cells that rollouts consult, folding codes, counts of cells.
    visits: rollouts::Visits = "visits", form 3, rollouts::visits;
    /// The best factorised policy of parity beside the ensemble of codes.
    mean_field: mapping::MeanFields = "mean-field", form 1, mapping::mean_field;
    /// States of a pass.
    states: rollouts::States = "states", form 1, rollouts::states;
    /// The family of penalties.
    family: mapping::FamilyLimits = "family", form 2, mapping::family;
    /// All codes of parity at small lengths.
    parity_codes: parity::Codes = "parity-codes", form 2, parity::codes;
    /// The transition of parity.
    parity_heat: parity::Heats = "parity-heat", form 3, parity::heat;
    /// The codes and inputs of fig:joint_dictionary.
    dictionary: parity::Dictionary = "dictionary", form 2, parity::dictionary;
    /// Relabelled codes.
    relabelling: gauge::Relabelled = "relabelling", form 3, gauge::relabelling;
    /// Codes with a step that forgets.
    resets: gauge::ResetFindings = "resets", form 1, gauge::resets;
    /// Escape paths of codes.
    escape: escape::Escapes = "escape", form 3, escape::codes;
    /// Escape paths under product laws.
    escape_product: escape::Products = "escape-product", form 2, escape::product_laws;
    /// Policies that collapse to codes.
    escape_policies: escape::CollapsedPolicies = "escape-policies", form 3, escape::policies;
    /// Cold chains with the window that section 4.1 prints.
    printed_window: escape::Printed = "printed-window", form 1, escape::printed_window;
    /// The steps of the proof of App. E.
    proof: proof::Steps = "proof", form 1, proof::steps;
    /// What tying and repeating inputs break of it.
    breaks: proof::Breaks = "breaks", form 1, proof::breaks;
    /// The traps of classes over any table.
    tables: small::TableFindings = "tables", form 1, small::tables;
    /// Where ascent ends below 1.
    defended: escape::Defended = "defended", form 2, escape::defended;
    /// Censuses of one length, wider windows and longer memory.
    windows: census::Censuses = "windows", form 2, census::windows;
    /// Censuses of several lengths.
    lengths: census::Censuses = "lengths", form 2, census::lengths;
    /// The traps of correlated parity.
    correlated: census::CorrelatedCensus = "correlated", form 2, census::correlated;
    /// Heat bath by cells and by steps.
    orders: chains::Orders = "orders", form 1, chains::orders;
    /// Chains far below the quantum.
    cold: chains::Cold = "cold", form 5, chains::cold;
    /// Pairs of RLVR runs, a decade of temperature apart.
    decade: chains::Decade = "decade", form 1, chains::decade;
    /// Quenches of correlated parity.
    quench: chains::Quenches = "quench", form 2, chains::quench;
    /// Plain runs and cold ones from the same seeds.
    paired: regulators::Pairs = "paired", form 1, regulators::paired;
    /// Runs with resets to nearly deterministic rows, and without.
    deterministic_resets: regulators::DeterministicResets = "deterministic-resets", form 1,
        regulators::deterministic_resets;
    /// Neutral changes of the tied endpoints.
    tied_neutral: tied::Neutral = "tied-neutral", form 1, tied::neutral;
    /// Barriers of the tied endpoints.
    tied_barriers: tied::Barriers = "tied-barriers", form 2, tied::barriers;
}

/// A record of a probe.
#[derive(Serialize, Deserialize)]
struct ProbeRecord<T> {
    version: String,
    #[serde(default)]
    form: u32,
    found: T,
}

const VERSION: &str = foldglass_study::VERSION;

fn path(directory: &Path, id: &str) -> PathBuf {
    directory.join("claims").join(format!("{id}.json"))
}

/// What a probe found, read once; none where its record is of another version or form.
fn kept<T: DeserializeOwned>(directory: &Path, id: &str, form: u32) -> Result<Option<T>, Error> {
    let path = path(directory, id);
    let expected = "a record of `foldglass claims`";
    let kept: Option<ProbeRecord<Value>> = read_json(&path, expected)?;
    let own = |kept: &ProbeRecord<Value>| (&kept.version[..], kept.form) == (VERSION, form);
    let Some(kept) = kept.filter(own) else {
        return Ok(None);
    };
    let found = serde_json::from_value(kept.found)
        .map_err(|error| StudyError::study(&path, format!("it is not {expected}: {error}")))?;
    Ok(Some(found))
}

/// Runs a probe, unless its record is there. One that has nothing to look at leaves none.
fn keep<T: Serialize + DeserializeOwned>(
    bench: &Bench,
    id: &str,
    form: u32,
    run: fn(&Bench) -> Result<Option<T>, Error>,
) -> Result<(), Error> {
    bench.go_on()?;
    if kept::<T>(&bench.directory, id, form)?.is_some() {
        return Ok(());
    }
    let found = run(bench)?;
    bench.go_on()?;
    let Some(found) = found else {
        return Ok(());
    };
    let version = VERSION.to_owned();
    let kept = ProbeRecord {
        version,
        form,
        found,
    };
    write_json(&path(&bench.directory, id), &kept)
}

/// A class of a named task.
fn class(task: &str, law: &InputLaw, lengths: &[usize], shape: Shape) -> Class {
    let square = Operation::named(task).expect("a named task");
    let task = Task::new(square, law, lengths).expect("a task");
    Class::new(task, shape).expect("a small class")
}

/// A policy whose rows are drawn from the law `u_norm`.
fn random_policy(class: &Class, stream: &mut Stream) -> Policy {
    let mut policy = Policy::uniform(class);
    let mut row = vec![0.0; class.q()];
    for cell in 0..class.cells() {
        InitialLaw::UNorm.draw(stream, &mut row);
        policy.set_row(cell, &row).expect("a row of probabilities");
    }
    policy
}
