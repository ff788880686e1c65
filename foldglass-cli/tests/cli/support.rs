//! Runs the built binary in a directory of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// A directory that vanishes with the test.
pub struct Scratch {
    path: PathBuf,
}

/// What a run left behind.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub text: String,
    pub errors: String,
}

impl Scratch {
    pub fn new() -> Scratch {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("foldglass-cli-{}-{number}", process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Scratch { path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file and returns its name.
    pub fn file<'a>(&self, name: &'a str, content: &str) -> &'a str {
        fs::write(self.path.join(name), content).unwrap();
        name
    }

    /// The names of all files.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldglass"));
        command
            .args(args)
            .current_dir(&self.path)
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Run {
        self.command(args).output().unwrap().into()
    }

    pub fn run_with_stdin(&self, args: &[&str], stdin: &str) -> Run {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(stdin.as_bytes())
            .unwrap();
        child.wait_with_output().unwrap().into()
    }

    /// Runs with stdout going to a file.
    pub fn run_into(&self, stdout: &str, args: &[&str]) -> Run {
        let stdout = fs::File::options().write(true).open(stdout).unwrap();
        self.command(args).stdout(stdout).output().unwrap().into()
    }

    /// Reads a little of stdout and closes it; gives the exit code and stderr.
    pub fn run_and_hang_up(&self, args: &[&str]) -> (Option<i32>, String) {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdout
            .take()
            .unwrap()
            .read_exact(&mut [0; 10])
            .unwrap();
        let run = Run::from(child.wait_with_output().unwrap());
        (run.code, run.errors)
    }

    /// Presses Ctrl-C after a while.
    #[cfg(unix)]
    pub fn run_and_interrupt(&self, args: &[&str], after: std::time::Duration) -> Run {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        std::thread::sleep(after);
        let pid = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &pid])
                .status()
                .unwrap()
                .success()
        );
        child.wait_with_output().unwrap().into()
    }

    /// The content of a file.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path.join(name)).unwrap()
    }

    /// Runs with `--json` and reads the one object on stdout.
    pub fn json(&self, args: &[&str]) -> Value {
        self.run(&[args, &["--json"]].concat()).json()
    }

    /// The same, without what every object carries.
    pub fn report(&self, args: &[&str]) -> Value {
        report(self.json(args))
    }
}

/// Words split at spaces.
pub fn words(text: &str) -> Vec<&str> {
    text.split(' ').filter(|word| !word.is_empty()).collect()
}

/// A JSON object without what every one carries, which must be there: version, command, seed,
/// settings, files that were read and, where it is about one, the class.
pub fn report(mut object: Value) -> Value {
    let fields = object.as_object_mut().unwrap();
    assert_eq!(fields.remove("version").unwrap(), env!("CARGO_PKG_VERSION"));
    assert!(fields.remove("command").unwrap().is_string());
    assert!(fields.remove("seed").unwrap().is_u64());
    assert!(fields.remove("settings").unwrap().is_object());
    assert!(fields.remove("files_read").unwrap().is_object());
    let class = fields.remove("class");
    assert!(class.is_none_or(|class| class["square"].is_array()));
    object
}

/// A line of records or parts with another content, sealed again: FNV-1a of 128 bits of all before
/// the seal.
pub fn seal(line: &str) -> String {
    let (content, _) = line.rsplit_once(",\"check\":\"").unwrap();
    let step = |hash: u128, &byte: &u8| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    };
    let start = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let hash = content.as_bytes().iter().fold(start, step);
    format!("{content},\"check\":\"{hash:032x}\"}}")
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        Run {
            code: output.status.code(),
            text: String::from_utf8(output.stdout).unwrap(),
            errors: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    /// What it printed, having succeeded and complained of nothing. On a busy machine it may have
    /// said how far it was.
    pub fn success(&self) -> &str {
        let told = |line: &&str| !line.ends_with(" so far)");
        let complaints: Vec<&str> = self.errors.lines().filter(told).collect();
        assert_eq!((self.code, &complaints[..]), (Some(0), &[][..]));
        &self.text
    }

    /// The one JSON object it printed.
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_str(self.success()).unwrap();
        assert!(value.is_object(), "{value}");
        value
    }
}

/// The content of every file under a directory, by its path in it.
pub fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let inner = contents(&path).into_iter();
            all.extend(inner.map(|(file, content)| (format!("{name}/{file}"), content)));
        } else {
            all.insert(name, fs::read(&path).unwrap());
        }
    }
    all
}
