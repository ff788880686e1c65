//! Certifies codes, keeps the verdicts in a file, and checks what the file says (paper, App. G.6).
//!
//! The check is that of `foldglass check`: it shares nothing with the search but task, class and claim.

use foldglass::Context;
use std::fs;
use std::path::Path;

use foldglass::landscape::shelf::{Search, Workers};
use foldglass::proof::check::verdict::{Effort, VerdictError, check};
use foldglass::proof::claim::{Finding, Verdict};
use foldglass::{Allowance, Class, Code};
use foldglass_study::StudyError;
use foldglass_study::claims::{self, Claims, VerdictWriter};
use foldglass_study::files::Input;

use crate::error::Error;
use crate::progress::Terminal;

/// How the work is done; none of it shows in the results.
#[derive(Debug, Clone, Copy)]
pub struct Resources {
    /// Threads.
    pub threads: usize,
    /// The memory that may be taken.
    pub allowance: Allowance,
}

/// Searches the shelf of a code, up to `cap` codes of it.
pub fn verdict(
    workers: &mut Workers,
    code: &Code,
    cap: usize,
    observer: &Terminal,
) -> Result<Verdict, Error> {
    let mut search = Search::new(workers, code.clone(), cap);
    search.explore(workers, Context::default().with_observer(observer));
    if !search.is_over() {
        return Err(stopped());
    }
    let shelf = search.finish().expect("it is over");
    Ok(shelf.verdict)
}

/// What is said when the user stops it.
pub fn stopped() -> Error {
    Error::Stopped("stopped in the landscape; the same command resumes it".to_owned())
}

/// Certifies traps of a class, at least one, in a file, unless it has them; then checks every verdict
/// of the file. A code that is not a trap and a verdict that does not hold are errors.
pub fn certify(
    path: &Path,
    class: &Class,
    codes: &[Code],
    cap: usize,
    means: Resources,
    observer: &Terminal,
) -> Result<(), Error> {
    if !is_known(path, codes, means) {
        let mut workers = Workers::new(
            class,
            Context::default()
                .with_threads(means.threads)
                .with_memory(means.allowance),
        )?;
        write(path, class, codes, cap, &mut workers, observer)?;
    }
    let context = Context::default()
        .with_memory(means.allowance)
        .with_threads(means.threads)
        .with_observer(observer);
    for (number, verdict) in read(path, means.allowance)?.iter().enumerate() {
        let failed = |problem: String| {
            Error::Failed(format!("{}: verdict {number}: {problem}", path.display()))
        };
        if !matches!(verdict.finding, Finding::Certified { .. }) {
            let found = verdict.finding.name();
            return Err(failed(format!("it is {found}, and should be a trap")));
        }
        match check(verdict, Effort::All, context) {
            Ok(_) => {}
            Err(VerdictError::Stopped(_)) => return Err(stopped()),
            Err(error) => return Err(failed(error.to_string())),
        }
    }
    Ok(())
}

/// Certifies codes of a class in a file, whole or not at all.
pub fn write(
    path: &Path,
    class: &Class,
    codes: &[Code],
    cap: usize,
    workers: &mut Workers,
    observer: &Terminal,
) -> Result<(), Error> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(|source| StudyError::write(directory, source))?;
    }
    let mut writer = VerdictWriter::create(path, &class.spec())?;
    for code in codes {
        writer.write(&verdict(workers, code, cap, observer)?)?;
    }
    Ok(writer.finish()?)
}

/// The verdicts of a file.
pub fn read(path: &Path, allowance: Allowance) -> Result<Vec<Verdict>, Error> {
    match claims::read(&Input::read(path)?, allowance)? {
        Claims::Verdicts(verdicts) => Ok(verdicts),
        Claims::Path(_) => Err(Error::Failed(format!(
            "{} holds a path in place of verdicts",
            path.display()
        ))),
    }
}

/// Whether a file has verdicts on these codes.
fn is_known(path: &Path, codes: &[Code], means: Resources) -> bool {
    let Ok(verdicts) = read(path, means.allowance) else {
        return false;
    };
    verdicts.iter().map(|verdict| &verdict.start).eq(codes)
}
