//! Keeps a study beside its records, and knows every run by its id.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::disk::replace;
use crate::error::StudyError;
use crate::folder::Folder;
use crate::record::{Record, SCHEMA, VERSION, seal, unseal};
use crate::spec::{Parameters, Study};

/// A study and what its classes and methods are.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The form of the records.
    pub schema: u32,
    /// The version that writes them.
    pub foldglass: String,
    /// The study.
    pub study: Study,
    /// A hash of class, method and seed, for each pair of class and dynamics.
    pub recipes: Vec<String>,
}

/// A run, in the order of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey {
    /// The number of the pair of class and dynamics.
    pub series: usize,
    /// The number of the point.
    pub point: usize,
    /// The run.
    pub run: u64,
}

/// The runs of a study by their ids.
pub struct Index {
    /// By series: the part of an id that names it, and its points by name.
    series: Vec<(String, Vec<String>)>,
    runs: Vec<u64>,
    places: HashMap<String, (usize, usize)>,
}

impl Index {
    /// Of a study.
    pub fn new(study: &Study) -> Index {
        let mut series = Vec::new();
        let mut runs = Vec::new();
        let mut places = HashMap::new();
        for (number, (class, dynamics)) in study.pairs().into_iter().enumerate() {
            let dynamics = &study.dynamics[dynamics];
            let name = format!("{}/{}", study.classes[class].id, dynamics.id);
            let points: Vec<String> = dynamics.points().iter().map(Parameters::name).collect();
            for (point, parameters) in points.iter().enumerate() {
                places.insert(format!("{name}/{parameters}"), (number, point));
            }
            series.push((name, points));
            runs.push(dynamics.runs);
        }
        Index {
            series,
            runs,
            places,
        }
    }

    /// The id of a run.
    pub fn id(&self, key: RunKey) -> String {
        let (series, points) = &self.series[key.series];
        format!("{series}/{}/{}", points[key.point], key.run)
    }

    /// The run of an id.
    pub fn find(&self, id: &str) -> Option<RunKey> {
        let (place, run) = id.rsplit_once('/')?;
        let &(series, point) = self.places.get(place)?;
        let digits = run.bytes().all(|byte| byte.is_ascii_digit());
        let run = digits.then(|| run.parse().ok()).flatten()?;
        (run < self.runs[series]).then_some(RunKey { series, point, run })
    }

    /// How many runs there are.
    pub fn runs(&self) -> u128 {
        let all = self.series.iter().zip(&self.runs);
        all.map(|((_, points), &runs)| points.len() as u128 * u128::from(runs))
            .sum()
    }

    /// All runs, in order.
    pub fn keys(&self) -> impl Iterator<Item = RunKey> {
        let all = self.series.iter().zip(&self.runs).enumerate();
        all.flat_map(|(series, ((_, points), &runs))| {
            (0..points.len())
                .flat_map(move |point| (0..runs).map(move |run| RunKey { series, point, run }))
        })
    }
}

impl Manifest {
    /// Of a study that this version runs.
    pub fn new(study: Study, recipes: Vec<String>) -> Manifest {
        Manifest {
            schema: SCHEMA,
            foldglass: VERSION.to_owned(),
            study,
            recipes,
        }
    }

    /// The file's name in a directory.
    pub const FILE: &str = "study.json";

    /// Reads that of a directory.
    pub fn read(directory: &Folder) -> Result<Manifest, StudyError> {
        let failed = |problem: String| StudyError::study(directory.path(), problem);
        let file = Manifest::FILE;
        let text = directory.read(file).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => failed(format!(
                "there is no {file}: a directory that `foldglass run` or `foldglass enumerate` \
                 wrote is needed"
            )),
            _ => failed(format!("cannot read {file}: {error}")),
        })?;
        let Some(content) = unseal(text.trim_ascii_end()) else {
            return Err(failed(unsealed(&text, file)));
        };
        serde_json::from_slice(&content)
            .map_err(|error| failed(format!("{file} is not a study: {error}")))
    }

    /// Writes it, unless it is there already.
    pub fn write(&self, directory: &Path, label: &str) -> io::Result<()> {
        let path = directory.join(Manifest::FILE);
        let mut text = seal(self);
        text.push(b'\n');
        match fs::read(&path) {
            Ok(old) if old == text => Ok(()),
            _ => replace(&path, label, &text),
        }
    }

    /// The run of a record, or why it is not of this study and version.
    pub fn place(&self, index: &Index, record: &Record) -> Result<RunKey, String> {
        let Record {
            schema,
            foldglass,
            study,
            recipe,
            id,
            ..
        } = record;
        let name = &self.study.name;
        if (*schema, foldglass) != (self.schema, &self.foldglass) {
            return Err(format!(
                "the record of {id} was made by foldglass {foldglass} (form {schema}), and this is \
                 {} (form {})",
                self.foldglass, self.schema
            ));
        }
        if study != name {
            return Err(format!(
                "the record of {id} is of the study \"{study}\", not of \"{name}\""
            ));
        }
        let Some(key) = index.find(id) else {
            return Err(format!("the study \"{name}\" has no run {id}"));
        };
        if self.recipes.get(key.series) != Some(recipe) {
            return Err(format!(
                "the record of {id} was made with another class, method or seed than the study \
                 \"{name}\" now states"
            ));
        }
        if key.run != record.run {
            return Err(format!(
                "the record of {id} says that its run is {}",
                record.run
            ));
        }
        Ok(key)
    }
}

/// Why a file without its seal is refused: it is of an older form, or damaged.
pub(crate) fn unsealed(text: &[u8], file: &str) -> String {
    #[derive(Deserialize)]
    struct Old {
        foldglass: String,
    }
    match serde_json::from_slice::<Old>(text) {
        Ok(Old { foldglass }) if !text.windows(9).any(|part| part == b"\"check\":\"") => format!(
            "{file} is of an older form (foldglass {foldglass}): this version reads form {SCHEMA}; \
             run it again in another directory"
        ),
        _ => format!("{file} is damaged: its hash is not that of its content"),
    }
}
