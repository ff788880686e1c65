//! Reads the records of networks that were trained on a GPU (app. G.4, app:cures).
//!
//! They are committed in `results/`, which says how each was made; copies in `embedded/` are part of the program: no GPU
//! is needed. Records of one's own take their place where the directory of a reproduction has some, in
//! `fleets/`.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use foldglass_study::files::Input;
use foldglass_study::{Fields, StudyError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;

/// Records by their name, with the committed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// The name of the file, without its extension.
    pub name: &'static str,
    /// The fields that tell one network, or stretch of networks, from another.
    identity: &'static [&'static str],
    text: &'static str,
}

macro_rules! kept {
    ($name:literal, $identity:expr) => {
        Kept {
            name: $name,
            identity: $identity,
            text: include_str!(concat!("../../embedded/", $name, ".jsonl")),
        }
    };
}

/// Random codes distilled into networks.
pub const CONTAINMENT: Kept = kept!("containment", &["class", "seed"]);
/// Escape paths followed by networks, and the lines between neighbours.
pub const ESCAPE: Kept = kept!("escape", &["class", "place"]);
/// Transformers trained from scratch against the entropy coefficient.
pub const TRAINED: Kept = kept!("temperature-untied-b", &["task", "c", "seed"]);
/// Transformers whose tokens were relabelled.
pub const RELABELLING: Kept = kept!("relabelling", OF_STUDIES);
/// Transformers trained by other methods, without a strong regulator.
pub const CURES: Kept = kept!("cures", OF_STUDIES);

/// Transformers trained under other options, run by run: layouts, decaying coefficients, clipping and others.
pub const SCREENED: Kept = kept!("screen-options", &["records", "task", "c", "seed"]);

/// Transformers trained on parity with correlated inputs, run by run: with a curriculum and without.
pub const CORRELATED: Kept = kept!("correlated-parity", &["records", "task", "c", "seed"]);

/// What identifies a network of a study.
const OF_STUDIES: &[&str] = &["class", "dynamics", "parameters", "run"];

/// Their directory within that of a reproduction.
const FLEETS: &str = "fleets";

/// A line of a file: what was run, or a record of it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line<T> {
    Record(T),
    Run(RecordedRun),
}

/// How records were made; what else is said of it is for readers.
#[derive(Debug, Deserialize)]
struct RecordedRun {
    #[serde(rename = "kind")]
    _kind: RunKind,
}

#[derive(Debug, Deserialize)]
enum RunKind {
    #[serde(rename = "run")]
    Run,
}

/// The records of a file, how they were made, and how many of the committed ones are not among them.
struct Read<T> {
    records: Vec<T>,
    made: Made,
}

/// How records were made.
#[derive(Debug, Default)]
struct Made {
    name: &'static str,
    /// What the lines say that are of no network: one a run, most files have one.
    runs: Vec<Fields>,
    /// Networks of the committed records that these do not have.
    missing: usize,
}

impl Kept {
    fn path(&self, directory: &Path) -> PathBuf {
        directory.join(FLEETS).join(format!("{}.jsonl", self.name))
    }

    /// Those of a reproduction, or the committed ones where it has none of its own.
    fn read<T: DeserializeOwned>(&self, directory: &Path) -> Result<Read<T>, Error> {
        let path = self.path(directory);
        let file = match Input::read(&path) {
            Ok(file) => file,
            Err(StudyError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Ok(self.committed());
            }
            Err(error) => return Err(error.into()),
        };
        let found = self.records(file.text()?);
        found.map_err(|problem| StudyError::study(path, problem).into())
    }

    /// The committed ones.
    fn committed<T: DeserializeOwned>(&self) -> Read<T> {
        self.records(self.text)
            .expect("committed records are whole")
    }

    /// The records of a text; a line that is none of them, or stands twice, is named.
    fn records<T: DeserializeOwned>(&self, text: &str) -> Result<Read<T>, String> {
        let mut records = Vec::new();
        for (number, line) in text.lines().enumerate() {
            match serde_json::from_str(line) {
                Ok(Line::Record(record)) => records.push(record),
                Ok(Line::Run(_)) => {}
                Err(_) => return Err(format!("line {} is not a record of these", number + 1)),
            }
        }
        let own = self.identities(text)?;
        let all = self.identities(self.text)?;
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        Ok(Read {
            records,
            made: Made {
                name: self.name,
                runs: lines.filter(is_run).collect(),
                missing: all.difference(&own).count(),
            },
        })
    }

    /// What identifies the records of a text, each once.
    fn identities(&self, text: &str) -> Result<BTreeSet<String>, String> {
        let mut all = BTreeSet::new();
        for (number, line) in text.lines().enumerate() {
            let fields: Fields = serde_json::from_str(line).unwrap_or_default();
            if is_run(&fields) {
                continue;
            }
            let word = |key: &&str| format!("{key} {}", fields.get(*key).unwrap_or(&Value::Null));
            let words: Vec<String> = self.identity.iter().map(word).collect();
            let identity = words.join(", ");
            if all.contains(&identity) {
                return Err(format!("line {} repeats a network: {identity}", number + 1));
            }
            all.insert(identity);
        }
        Ok(all)
    }
}

/// Whether a line says how others were made.
fn is_run(fields: &Fields) -> bool {
    fields.get("kind") == Some(&Value::from("run"))
}

/// Whether the lengths of a run's settings are those of a curriculum.
fn is_curriculum(settings: &Value) -> Option<bool> {
    let kind = settings.get("lengths")?.get("kind")?;
    Some(kind.as_str()? == "curriculum")
}

/// A network that imitates a code.
#[derive(Debug, Clone, JsonSchema, Deserialize)]
pub struct PupilRecord {
    /// The class of the code.
    pub class: String,
    /// Updates until it agreed with its code, or until the run ended.
    pub updates: u64,
    /// Whether it agreed.
    pub reached: bool,
    /// The share of emitted tokens that agree at the end.
    pub agreement: f64,
    /// The same at every look, the last one's among them.
    pub agreements: Vec<f64>,
}

/// Consecutive codes of a chain, a network each, and the lines between neighbours.
#[derive(Debug, Clone, JsonSchema, Deserialize)]
pub struct Stretch {
    /// The class of the codes.
    pub class: String,
    /// Which of the chain's stretches.
    pub place: String,
    /// Networks that reproduce their code on every input.
    pub networks: u64,
    /// For every line, the inputs answered rightly at evenly spaced points, both ends included.
    pub right: Vec<Vec<u64>>,
}

impl Stretch {
    /// The barriers of its lines when only every n-th point is looked at.
    pub fn barriers(&self, every: usize) -> impl Iterator<Item = u64> {
        self.right.iter().map(move |right| barrier(right, every))
    }
}

/// What a line falls below its lower end.
fn barrier(right: &[u64], every: usize) -> u64 {
    let ends = right.first().min(right.last()).copied().unwrap_or(0);
    let least = right.iter().step_by(every).min().copied().unwrap_or(ends);
    ends.saturating_sub(least)
}

/// A transformer at the end of its training.
#[derive(Debug, Clone, JsonSchema, Deserialize)]
pub struct Trained {
    /// The task, as the commands name it.
    pub task: String,
    /// The entropy coefficient.
    pub c: f64,
    /// The longest length that the curriculum reached.
    pub length: usize,
    /// Greedy accuracy at the lengths from 1.
    pub accuracies: Vec<f64>,
    /// Entropy a token, in nats, of the last batch.
    pub entropy: f64,
}

/// A transformer of a run with options of its own, at the end of its training and at its best.
#[derive(Debug, Clone, JsonSchema, Deserialize)]
pub struct Screened {
    /// The name of the run.
    pub records: String,
    /// The seed.
    pub seed: u64,
    /// The end of its training.
    #[serde(flatten)]
    pub end: Trained,
    /// The step at which the gate's accuracy was the highest.
    pub best: BestRecord,
}

/// A transformer of a run on correlated inputs.
#[derive(Debug, Clone, JsonSchema, Deserialize)]
pub struct CorrelatedNetwork {
    /// The name of the run.
    pub records: String,
    /// The end of its training.
    #[serde(flatten)]
    pub end: Trained,
    /// Its reward over all inputs of the longest length, a fraction.
    pub network_reward: String,
    /// The (0,0) code read back from it.
    pub code: CodeReadBack,
}

/// A code that was read back from a network and certified.
#[derive(Debug, Clone, JsonSchema, Deserialize)]
pub struct CodeReadBack {
    /// The verdict.
    pub verdict: String,
}

/// A network at the step at which it was best.
#[derive(Debug, Clone, JsonSchema, Deserialize)]
pub struct BestRecord {
    /// The step.
    pub step: u64,
    /// Greedy accuracy at the lengths from 1.
    pub accuracies: Vec<f64>,
}

/// The options of a run of [`SCREENED`] that statements tell apart.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ScreenedOptions {
    /// How inputs and tokens are laid out.
    pub layout: String,
    /// Steps of training.
    pub steps: u64,
    /// How the entropy coefficient falls; none where it is constant.
    pub entropy_decay: Option<Decay>,
    /// All of them, as they are written.
    #[serde(flatten)]
    pub all: Fields,
}

/// A coefficient that falls.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Decay {
    /// The law of the fall.
    pub kind: String,
    /// Over how many steps.
    pub steps: u64,
    /// To which coefficient.
    pub to: f64,
}

impl Trained {
    /// Greedy accuracy at a length.
    pub fn accuracy(&self, length: usize) -> Option<f64> {
        self.accuracies.get(length.checked_sub(1)?).copied()
    }

    /// The longest length up to which greedy accuracy is above 0.9 at every length.
    pub fn holds(&self) -> usize {
        let above = |accuracy: &&f64| **accuracy > 0.9;
        self.accuracies.iter().take_while(above).count()
    }
}

/// A transformer of a study at the end of its training.
#[derive(Debug, Clone, JsonSchema, Deserialize)]
pub struct Network {
    /// The id of its class.
    pub class: String,
    /// The id of its dynamics.
    pub dynamics: String,
    /// Its point of the study's grids.
    pub parameters: Fields,
    /// Greedy accuracy at the lengths from 1.
    greedy: Vec<f64>,
}

impl Network {
    /// Greedy accuracy at a length.
    pub fn accuracy(&self, length: usize) -> Option<f64> {
        self.greedy.get(length.checked_sub(1)?).copied()
    }

    /// A parameter as it is written.
    pub fn word(&self, key: &str) -> String {
        match self.parameters.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        }
    }
}

/// A record of a network, in the form of the file that it stands in; for the schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "the files have one form each and are read as such"
)]
pub(super) enum FleetLine {
    Pupil(PupilRecord),
    Stretch(Stretch),
    Screened(Screened),
    Correlated(CorrelatedNetwork),
    Trained(Trained),
    Network(Network),
}

/// The records of networks.
#[derive(Debug, Default)]
pub struct Fleets {
    /// Distilled.
    pub pupils: Vec<PupilRecord>,
    /// Following escape paths.
    pub stretches: Vec<Stretch>,
    /// Trained from scratch.
    pub trained: Vec<Trained>,
    /// Trained with relabelled tokens.
    pub relabelled: Vec<Network>,
    /// Trained by other methods.
    pub cured: Vec<Network>,
    /// Trained under other options.
    pub screened: Vec<Screened>,
    /// Trained on correlated inputs.
    pub correlated: Vec<CorrelatedNetwork>,
    /// How each of these was made.
    made: Vec<Made>,
}

impl Fleets {
    /// Reads those of a reproduction.
    pub fn read(directory: &Path) -> Result<Fleets, Error> {
        Ok(Fleets::of(
            CONTAINMENT.read(directory)?,
            ESCAPE.read(directory)?,
            TRAINED.read(directory)?,
            RELABELLING.read(directory)?,
            CURES.read(directory)?,
            SCREENED.read(directory)?,
            CORRELATED.read(directory)?,
        ))
    }

    /// The committed ones, each file in turn without a network.
    #[cfg(test)]
    pub fn each_emptied() -> Vec<Fleets> {
        let mut all: Vec<Fleets> = (0..7).map(|_| Fleets::committed()).collect();
        all[0].pupils.clear();
        all[1].stretches.clear();
        all[2].trained.clear();
        all[3].relabelled.clear();
        all[4].cured.clear();
        all[5].screened.clear();
        all[6].correlated.clear();
        all
    }

    /// The committed ones.
    #[cfg(test)]
    pub fn committed() -> Fleets {
        Fleets::of(
            CONTAINMENT.committed(),
            ESCAPE.committed(),
            TRAINED.committed(),
            RELABELLING.committed(),
            CURES.committed(),
            SCREENED.committed(),
            CORRELATED.committed(),
        )
    }

    fn of(
        pupils: Read<PupilRecord>,
        stretches: Read<Stretch>,
        trained: Read<Trained>,
        relabelled: Read<Network>,
        cured: Read<Network>,
        screened: Read<Screened>,
        correlated: Read<CorrelatedNetwork>,
    ) -> Fleets {
        Fleets {
            pupils: pupils.records,
            stretches: stretches.records,
            trained: trained.records,
            relabelled: relabelled.records,
            cured: cured.records,
            screened: screened.records,
            correlated: correlated.records,
            made: vec![
                pupils.made,
                stretches.made,
                trained.made,
                relabelled.made,
                cured.made,
                screened.made,
                correlated.made,
            ],
        }
    }

    /// How records were made, as the first line that is not a network says.
    pub fn run(&self, kept: &Kept) -> Option<&Fields> {
        self.made(kept)?.runs.first()
    }

    /// The options of a run of [`SCREENED`].
    pub fn options(&self, records: &str) -> Option<ScreenedOptions> {
        serde_json::from_value(self.settings(&SCREENED, records)?.clone()).ok()
    }

    /// Whether a run of [`CORRELATED`] has a curriculum.
    pub fn has_curriculum(&self, records: &str) -> Option<bool> {
        is_curriculum(self.settings(&CORRELATED, records)?)
    }

    /// Whether the networks of [`TRAINED`] have one.
    pub fn trained_with_curriculum(&self) -> Option<bool> {
        is_curriculum(self.run(&TRAINED)?.get("settings")?)
    }

    /// The settings of a run of a file that has several.
    fn settings(&self, kept: &Kept, records: &str) -> Option<&Value> {
        let mut runs = self.made(kept)?.runs.iter();
        let own = runs.find(|run| run.get("records") == Some(&Value::from(records)))?;
        own.get("settings")
    }

    /// Networks of the committed records that these do not have.
    pub fn missing(&self, kept: &Kept) -> usize {
        self.made(kept).map_or(0, |made| made.missing)
    }

    fn made(&self, kept: &Kept) -> Option<&Made> {
        self.made.iter().find(|made| made.name == kept.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_records_are_those_of_the_paper_s_settings() {
        let Fleets {
            pupils,
            stretches,
            trained,
            ..
        } = Fleets::committed();
        assert_eq!((pupils.len(), stretches.len(), trained.len()), (24, 9, 144));
        for stretch in &stretches {
            assert_eq!((stretch.networks, stretch.right.len()), (21, 20));
            assert!(stretch.right.iter().all(|right| right.len() == 65));
            // A line begins where the one before ends.
            for pair in stretch.right.windows(2) {
                assert_eq!(pair[0].last(), pair[1].first());
            }
        }
        let last = stretches.iter().filter(|stretch| stretch.place == "last");
        assert!(last.clone().count() == 3);
        for stretch in last {
            assert_eq!(stretch.right[19][64], 5u64.pow(6));
        }
        assert!(trained.iter().all(|model| model.accuracies.len() == 21));
    }

    #[test]
    fn every_screened_network_is_of_a_run_with_options() {
        let fleets = Fleets::committed();
        assert!(!fleets.screened.is_empty());
        for model in &fleets.screened {
            let options = fleets.options(&model.records).expect(&model.records);
            assert!(options.steps > 0 && !options.layout.is_empty());
            assert_eq!(model.end.accuracies.len(), 21);
            assert_eq!(model.best.accuracies.len(), 21);
        }
        let decay = fleets.options("confirm-causal").unwrap().entropy_decay;
        assert_eq!(decay.map(|decay| decay.to), Some(0.03));
        assert_eq!(fleets.options("c-base").unwrap().entropy_decay, None);
        assert_eq!(fleets.options("of another file"), None);
    }

    #[test]
    fn half_of_the_correlated_networks_at_the_longest_length_have_a_curriculum() {
        let fleets = Fleets::committed();
        let longest = fleets
            .correlated
            .iter()
            .filter(|model| model.end.accuracies.len() == 8);
        let with = |model: &&CorrelatedNetwork| fleets.has_curriculum(&model.records).unwrap();
        assert_eq!(longest.clone().filter(with).count(), 96);
        assert_eq!(longest.count(), 192);
        assert_eq!(fleets.has_curriculum("of another file"), None);
        assert_eq!(fleets.trained_with_curriculum(), Some(true));
        let text = TRAINED.text.replace("\"curriculum\"", "\"fixed\"");
        let without = Fleets {
            made: vec![TRAINED.records::<Trained>(&text).unwrap().made],
            ..fleets
        };
        assert_eq!(without.trained_with_curriculum(), Some(false));
    }

    #[test]
    fn a_barrier_is_what_a_line_falls_below_its_lower_end() {
        assert_eq!(barrier(&[5, 7, 3, 9, 6], 1), 2);
        assert_eq!(barrier(&[5, 7, 3, 9, 6], 4), 0);
        assert_eq!(barrier(&[9, 4, 8], 1), 4);
        assert_eq!(barrier(&[5, 7, 6], 1), 0);
    }

    #[test]
    fn a_network_holds_a_length_when_it_holds_all_shorter_ones() {
        let model = |accuracies: &[f64]| Trained {
            task: String::new(),
            c: 0.0,
            length: 1,
            accuracies: accuracies.to_vec(),
            entropy: 0.0,
        };
        assert_eq!(model(&[1.0, 0.95, 0.9, 1.0]).holds(), 2);
        assert_eq!(model(&[0.5, 1.0]).holds(), 0);
        assert_eq!(model(&[0.5, 1.0]).accuracy(2), Some(1.0));
        assert_eq!(model(&[0.5]).accuracy(2), None);
    }

    #[test]
    fn a_line_that_is_not_a_record_is_named() {
        let text = "{\"kind\":\"run\",\"gpu\":\"any\"}\n{\"task\":\"z:5\"}\n";
        let refused = TRAINED.records::<Trained>(text).err().unwrap();
        assert!(refused.contains("line 2"), "{refused}");
    }

    #[test]
    fn a_network_counts_once_and_a_deleted_one_is_missing() {
        for kept in [
            CONTAINMENT,
            ESCAPE,
            TRAINED,
            RELABELLING,
            CURES,
            SCREENED,
            CORRELATED,
        ] {
            let lines: Vec<&str> = kept.text.lines().collect();
            let less = kept.records::<Fields>(&lines[..lines.len() - 2].join("\n"));
            assert_eq!(less.unwrap().made.missing, 2, "{}", kept.name);
            let twice = [&lines[..], &lines[1..2]].concat().join("\n");
            let refused = kept.records::<Fields>(&twice).err().unwrap();
            let place = format!("line {} repeats", lines.len() + 1);
            assert!(refused.contains(&place), "{refused}");
            assert!(refused.contains(kept.identity[0]), "{refused}");
        }
    }
}
