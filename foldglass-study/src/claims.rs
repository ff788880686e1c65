//! Reads and writes the files of claims: paths, and verdicts as they come.

use std::io::Write;
use std::path::Path;

use foldglass::Allowance;
use foldglass::model::class::{ClassSpec, SpecError};
use foldglass::proof::claim::{
    self, ClaimError, PATH_FORMAT, PathForm, VERDICT_FORMAT, Verdict, VerdictForm, VerdictsForm,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::disk::{Whole, replace};
use crate::error::StudyError;
use crate::files::{Input, plain};

/// The claims of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claims {
    /// A path that never lowers J.
    Path(claim::Path),
    /// Verdicts on codes of one class, at least one.
    Verdicts(Vec<Verdict>),
}

#[derive(Deserialize)]
struct Opening {
    format: String,
    #[serde(default)]
    class: Value,
}

const EXPECTED: &str = "a claim file ({\"format\":\"foldglass-path/1\",..} or \
                        {\"format\":\"foldglass-verdict/1\",..})";

/// Reads the claims of a file; whether they are true is not checked here.
pub fn read(file: &Input, allowance: Allowance) -> Result<Claims, StudyError> {
    let refuse = |problem| match problem {
        ClaimError::Class(SpecError::TooLarge(source)) => StudyError::PartTooLarge {
            place: file.name.clone(),
            source,
        },
        problem => StudyError::Claim {
            path: file.name.clone(),
            source: Box::new(problem),
        },
    };
    let Opening { format, class } = file.object(EXPECTED)?;
    // By itself, so that what is wrong with a square is said of the class.
    if class.is_object() {
        serde_json::from_value::<ClassSpec>(class)
            .map_err(|error| file.is_not(EXPECTED, format!("its class: {}", plain(&error))))?;
    }
    match &format[..] {
        PATH_FORMAT => {
            let form: PathForm = file.object(EXPECTED)?;
            form.path(allowance).map(Claims::Path).map_err(refuse)
        }
        VERDICT_FORMAT => {
            let form: VerdictsForm = file.object(EXPECTED)?;
            form.verdicts(allowance)
                .map(Claims::Verdicts)
                .map_err(refuse)
        }
        _ => Err(refuse(ClaimError::Format(format))),
    }
}

/// Tells the processes apart that write files of their own.
pub const LABEL: &str = "out";

/// Writes a value to a file as JSON, whole or not at all.
pub fn write(path: &Path, content: &impl Serialize) -> Result<(), StudyError> {
    let mut text =
        serde_json::to_vec(content).map_err(|error| StudyError::write(path, error.into()))?;
    text.push(b'\n');
    replace(path, LABEL, &text).map_err(|source| StudyError::write(path, source))
}

/// A file of verdicts, written as they come; it takes its name when it is finished.
pub struct VerdictWriter {
    path: std::path::PathBuf,
    file: Whole,
    count: usize,
}

impl VerdictWriter {
    /// Begins a file for verdicts on codes of a class.
    pub fn create(path: &Path, class: &ClassSpec) -> Result<VerdictWriter, StudyError> {
        let file = Whole::create(path, LABEL).map_err(|source| StudyError::write(path, source))?;
        let mut writer = VerdictWriter {
            path: path.to_owned(),
            file,
            count: 0,
        };
        let class = serde_json::to_string(class).expect("plain data");
        let opening = format!("{{\"format\":\"{VERDICT_FORMAT}\",\"class\":{class},\"verdicts\":[");
        writer.put(opening.as_bytes())?;
        Ok(writer)
    }

    /// Writes a verdict.
    pub fn write(&mut self, verdict: &Verdict) -> Result<(), StudyError> {
        let mut text = if self.count == 0 { "\n" } else { ",\n" }
            .as_bytes()
            .to_vec();
        self.count += 1;
        serde_json::to_writer(&mut text, &VerdictForm::from(verdict)).expect("plain data");
        self.put(&text)
    }

    /// Closes the file and gives it its name.
    pub fn finish(mut self) -> Result<(), StudyError> {
        self.put(b"\n]}\n")?;
        let path = self.path;
        self.file
            .finish()
            .map_err(|source| StudyError::write(&path, source))
    }

    fn put(&mut self, text: &[u8]) -> Result<(), StudyError> {
        let path = &self.path;
        self.file
            .write_all(text)
            .map_err(|source| StudyError::write(path, source))
    }
}
