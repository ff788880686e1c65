//! Does the runs of one series in memory: what `cavi`, `reinforce` and `chain` are.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use foldglass::model::policy::POLICY_FORMAT;
use foldglass::{Class, ClassSpec};
use foldglass_study::claims::LABEL;
use foldglass_study::disk::Whole;
use foldglass_study::method::{MethodSettings, put};
use foldglass_study::parallel::threads;
use foldglass_study::tables::Source;
use foldglass_study::{
    Dynamics, End, Fields, Options, Record, Registry, Study, StudyError, execute_in_memory,
};
use serde_json::{Value, json};

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::ClassArgs;
use crate::flags::method::{MethodArgs, named};
use crate::flags::table::one_policy;
use crate::progress::Terminal;

/// Finished runs of one series.
pub struct FinishedSeries {
    /// The class.
    pub class: ClassSpec,
    /// All settings of the runs.
    pub settings: Fields,
    /// The runs, in the order of their numbers.
    pub records: Vec<Record>,
    /// Whether the user stopped it, so that some are missing.
    pub interrupted: bool,
}

/// Results of a run that are reported as they are, by their keys.
pub type Reported<'a> = BTreeMap<&'a str, &'a Value>;

/// The results of a run but for some.
pub fn reported<'a>(record: &'a Record, without: &[&str]) -> Reported<'a> {
    let all = record.result.iter().map(|(key, value)| (&key[..], value));
    all.filter(|(key, _)| !without.contains(key)).collect()
}

/// Does `runs` runs of a kind; what is wrong with a setting is said of its flag.
pub fn run(
    kind: &str,
    fields: Fields,
    runs: u64,
    class: &Class,
    args: &ClassArgs,
    settings: &GlobalArgs,
) -> Result<FinishedSeries, Error> {
    let registry = Registry::default();
    let method = registry.find(kind).expect("a method of this program");
    let given = MethodSettings::new(method, &fields, Path::new(""));
    let recipe = given.and_then(|given| method.recipe(class, given));
    let resolved = recipe.map_err(|error| named(&error))?.settings();
    // Runs of one point: the streams are those of the seed.
    let dynamics = Dynamics {
        common_random_numbers: true,
        ..Dynamics::new(kind, kind, fields, runs)
    };
    let spec = class.spec();
    let study = Study::of(kind, spec.clone(), dynamics, settings.seed);
    let mut options = Options::new("");
    options.threads = threads(settings.threads, usize::MAX);
    options.checkpoint_every = Duration::MAX;
    options.allowance = args.allowance();
    let observer = Terminal::new();
    let (records, end) = execute_in_memory(&study, &registry, &options, &observer)?;
    Ok(FinishedSeries {
        class: spec,
        settings: resolved,
        records,
        interrupted: end == End::Stopped,
    })
}

/// Every how many steps J is recorded, where a file takes it; put among the settings.
pub fn record_every(fields: &mut Fields, recorded: bool) -> Result<u64, Error> {
    if !recorded && fields.contains_key("record_every") {
        return Err(Error::Usage(
            "--record-every without a file: --record FILE takes what is recorded".to_owned(),
        ));
    }
    let every = fields.get("record_every").map_or(Some(1), Value::as_u64);
    if recorded && !fields.contains_key("record_every") {
        fields.insert("record_every".to_owned(), Value::from(1));
    }
    // One that is not a whole number is refused with the other settings.
    Ok(every.unwrap_or(1))
}

/// Puts the policies of `--start` and `--prior` among the settings; the class is theirs, or that of the flags.
pub fn read_policies<M>(
    method: &MethodArgs<M>,
    args: &ClassArgs,
    fields: &mut Fields,
) -> Result<Class, Error> {
    let mut known: Option<Class> = None;
    for key in ["start", "prior"] {
        let Some(source) = method.text(key).map(Source::from) else {
            continue;
        };
        let (class, policy) = one_policy(&source, args)?;
        if let Some(known) = known.as_ref().filter(|known| **known != class) {
            return Err(Error::Usage(format!(
                "--{key} is of {}, --start of {}: both are of one class",
                class.spec(),
                known.spec()
            )));
        }
        let rows: Vec<&[f64]> = (0..class.cells()).map(|c| policy.row(c)).collect();
        put(fields, key, json!({ "rows": rows }));
        known = Some(class);
    }
    known.map_or_else(|| args.class(), Ok)
}

/// Writes the policies that the runs kept, one policy file per line.
pub fn write_policies(file: JsonLines, series: &FinishedSeries) -> Result<(), Error> {
    let line = |record: &Record| {
        json!({
            "format": POLICY_FORMAT,
            "class": series.class,
            "rows": record.result.get("rows"),
        })
    };
    file.write(series.records.iter().map(line))
}

/// Prints the greedy code of every run.
pub fn write_codes(out: &mut dyn Write, series: &FinishedSeries) -> io::Result<()> {
    series.records.iter().try_for_each(|record| {
        let code = record.result.get("greedy").and_then(Value::as_array);
        let actions: Vec<String> = code.into_iter().flatten().map(Value::to_string).collect();
        writeln!(out, "\nrun {}: {}", record.run, actions.join(" "))
    })
}

/// Leaves the place out: there is one class and one dynamics, which the user did not name.
pub fn without_place(error: Error) -> Error {
    let Error::Study(inner) = error else {
        return error;
    };
    match *inner {
        StudyError::PartTooLarge { source, .. } => source.into(),
        StudyError::Study { problem, .. } => Error::Usage(problem),
        other => other.into(),
    }
}

impl FinishedSeries {
    /// A result of every run.
    pub fn numbers(&self, key: &str) -> Vec<f64> {
        let of = |record: &Record| record.result.get(key).and_then(Value::as_f64);
        self.records.iter().filter_map(of).collect()
    }

    /// How many runs have an exact result of 1.
    pub fn at_one(&self, key: &str) -> usize {
        let one = Value::from("1/1");
        let is = |record: &&Record| record.result.get(key) == Some(&one);
        self.records.iter().filter(is).count()
    }
}

/// A file of JSON values, a line each, that takes its name when all of them are written.
pub struct JsonLines {
    path: PathBuf,
    file: Whole,
}

impl JsonLines {
    /// Begins it.
    pub fn create(path: &Path) -> Result<JsonLines, Error> {
        let file = Whole::create(path, LABEL).map_err(|source| StudyError::write(path, source))?;
        let path = path.to_owned();
        Ok(JsonLines { path, file })
    }

    /// Writes it.
    pub fn write(mut self, lines: impl IntoIterator<Item = Value>) -> Result<(), Error> {
        let refuse = |source| StudyError::write(&self.path, source);
        for line in lines {
            writeln!(self.file, "{line}").map_err(refuse)?;
        }
        Ok(self.file.finish().map_err(refuse)?)
    }
}

/// A result of a run.
pub fn real(record: &Record, key: &str) -> f64 {
    record
        .result
        .get(key)
        .and_then(Value::as_f64)
        .unwrap_or(f64::NAN)
}

/// A result of a run as text.
pub fn text(record: &Record, key: &str) -> String {
    let value = record.result.get(key).and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}
