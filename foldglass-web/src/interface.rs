//! Holds the functions that JavaScript calls, and those that it lends.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use foldglass::Allowance;
use foldglass::support::clock::set_clock;
use foldglass_explore::{Explorer, Given, MEMORY};

/// The longest that one question may take; a page can cancel it before.
const COMPUTING: Duration = Duration::from_secs(60);

/// The most multiply-adds of one evaluation: a tenth of a second on a common machine.
const MOST_SUMS: u64 = 1_000_000;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// The milliseconds since some beginning.
    safe fn now() -> f64;
    /// Takes note of how far the question is that is being answered; `all` is 0 where that is not known.
    safe fn hear(done: f64, all: f64);
}

/// What was asked, and what was answered.
static QUESTION: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn explorer() -> &'static Explorer {
    static EXPLORER: OnceLock<Explorer> = OnceLock::new();
    EXPLORER.get_or_init(|| {
        set_clock(|| Duration::from_secs_f64(now().max(0.0) / 1e3));
        Explorer::new(given(), Allowance(MEMORY), COMPUTING).with_most_sums(MOST_SUMS)
    })
}

#[cfg(not(feature = "records"))]
fn given() -> Given {
    Given::default()
}

/// What was handed over before the first question.
#[cfg(feature = "records")]
fn given() -> Given {
    Given {
        directory: records::directory(),
        ..Given::default()
    }
}

#[cfg(feature = "records")]
mod records {
    use super::{QUESTION, held};
    use foldglass_explore::Directory;
    use foldglass_study::Folder;
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::sync::Mutex;

    static FILES: Mutex<BTreeMap<PathBuf, Vec<u8>>> = Mutex::new(BTreeMap::new());

    /// Keeps a file of the directory that is shown: its path has so many bytes, and its content is the rest. All paths
    /// begin with the name of the directory.
    #[unsafe(no_mangle)]
    pub extern "C" fn hold(path: usize) {
        let mut path_and_content = std::mem::take(&mut *held(&QUESTION));
        let content = path_and_content.split_off(path.min(path_and_content.len()));
        let path = String::from_utf8_lossy(&path_and_content).into_owned();
        let mut files = FILES.lock().expect("there is one thread");
        files.insert(path.into(), content);
    }

    /// The directory of all files; none where they are not those of records.
    pub fn directory() -> Option<Directory> {
        let files = std::mem::take(&mut *FILES.lock().expect("there is one thread"));
        let name = files.keys().next()?.iter().next()?.to_owned();
        Directory::of(&Folder::handed(name, files))
    }
}

fn held(bytes: &'static Mutex<Vec<u8>>) -> MutexGuard<'static, Vec<u8>> {
    bytes.lock().expect("there is one thread")
}

/// Room for the bytes of a question; it holds until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    let mut question = held(&QUESTION);
    question.clear();
    question.resize(bytes, 0);
    question.as_mut_ptr()
}

/// Makes a class known that flags cannot name; the bytes are its JSON. A class that is refused stays unknown, and the questions
/// about it say so.
#[unsafe(no_mangle)]
pub extern "C" fn hand() {
    let json = std::mem::take(&mut *held(&QUESTION));
    let _ = explorer().hand(&json);
}

/// Answers the question whose name has so many bytes, and whose body is the rest; gives the status, as in HTTP.
#[unsafe(no_mangle)]
pub extern "C" fn ask(name: usize) -> u32 {
    let question = std::mem::take(&mut *held(&QUESTION));
    let (name, body) = question.split_at(name.min(question.len()));
    let explorer = explorer();
    let deadline = explorer.deadline(Arc::default());
    let deadline = deadline.heard_by(|done, all| hear(done as f64, all as f64));
    let answer = explorer.ask("page", &String::from_utf8_lossy(name), body, deadline);
    *held(&ANSWER) = answer.json;
    answer.status.into()
}

/// Where the answer is, in JSON; it holds until the next question.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    held(&ANSWER).as_ptr()
}

/// The bytes of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer_length() -> usize {
    held(&ANSWER).len()
}
