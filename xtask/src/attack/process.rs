//! Runs the built program within limits of time and memory, and says how it ended.

use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The address space that a process may take, in KiB: the program sees it as its limit.
const MEMORY_KIB: &str = "8388608";

/// A process ends within this after Ctrl-C.
pub const HEARS: Duration = Duration::from_secs(2);

/// How often a process is asked whether it has ended.
const POLL: Duration = Duration::from_millis(2);

/// The most that is kept of what a process writes.
const KEPT: u64 = 1 << 24;

/// A command line of the program, in a folder.
#[derive(Clone)]
pub struct Call {
    program: PathBuf,
    folder: PathBuf,
    args: Vec<OsString>,
}

/// How a process ended, and what it wrote.
pub struct End {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub time: Duration,
    /// The time it took to end after Ctrl-C, where it got one.
    pub heard: Option<Duration>,
}

/// A process under way.
pub struct Running {
    child: Child,
    begun: Instant,
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
}

impl Call {
    /// The program with these arguments, separated by spaces, in this folder.
    pub fn new(program: &Path, folder: &Path, args: &str) -> Call {
        Call {
            program: program.to_owned(),
            folder: folder.to_owned(),
            args: args.split_whitespace().map(OsString::from).collect(),
        }
    }

    /// With one more argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Call {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// With more arguments, separated by spaces.
    pub fn args(mut self, args: &str) -> Call {
        let more = args.split_whitespace().map(OsString::from);
        self.args.extend(more);
        self
    }

    /// Starts it; nothing is on its stdin.
    pub fn start(&self) -> Running {
        let limited = format!("ulimit -v {MEMORY_KIB}; exec \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &limited, "sh"])
            .arg(&self.program)
            .args(&self.args)
            .current_dir(&self.folder)
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("sh can be started");
        let stdout = reader(child.stdout.take().expect("it is piped"));
        let stderr = reader(child.stderr.take().expect("it is piped"));
        Running {
            child,
            begun: Instant::now(),
            stdout,
            stderr,
        }
    }

    /// Runs it to its end; one that takes longer than `patience` gets Ctrl-C.
    pub fn run(&self, patience: Duration) -> End {
        let mut running = self.start();
        running.wait(patience);
        running.interrupt()
    }

    /// Runs it to its end, which must come without a fault and with exit code 0.
    pub fn succeed(&self, patience: Duration) -> Result<End, String> {
        let end = self.run(patience);
        match end.fault() {
            Some(fault) => Err(format!("{fault}\n  {self}")),
            None if end.code() != Some(0) => Err(format!(
                "ended with {}: {}\n  {self}",
                end.status,
                end.stderr.trim()
            )),
            None => Ok(end),
        }
    }
}

impl fmt::Display for Call {
    /// As one would type it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cd {} && ", quoted(self.folder.as_os_str()))?;
        write!(f, "{}", quoted(self.program.as_os_str()))?;
        self.args
            .iter()
            .try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}

fn quoted(text: &OsStr) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:=,#+".contains(byte);
    let bytes = text.as_encoded_bytes();
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return text.to_string_lossy().into_owned();
    }
    let escaped = bytes.iter().map(|byte| match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
        0x20..0x7f => char::from(*byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    });
    format!("$'{}'", escaped.collect::<String>())
}

/// Reads what a process writes, on a thread of its own so that it never waits for us.
fn reader(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let _ = pipe.by_ref().take(KEPT).read_to_end(&mut kept);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        kept
    })
}

impl Running {
    /// Waits until it has ended or the time is over; says whether it has ended.
    pub fn wait(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            if self.child.try_wait().is_ok_and(|end| end.is_some()) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Ends it by SIGKILL.
    pub fn kill(mut self) -> End {
        let _ = self.child.kill();
        self.end(None)
    }

    /// Sends Ctrl-C to one that has not ended; where that goes unheard for long, it is killed.
    pub fn interrupt(mut self) -> End {
        if self.wait(Duration::ZERO) {
            return self.end(None);
        }
        let sent = Instant::now();
        let kill = format!("kill -INT {}", self.child.id());
        let _ = Command::new("sh").args(["-c", &kill]).status();
        self.wait(HEARS * 4);
        let heard = sent.elapsed();
        let _ = self.child.kill();
        self.end(Some(heard))
    }

    fn end(mut self, heard: Option<Duration>) -> End {
        let status = self.child.wait().expect("it was started here");
        End {
            status,
            time: self.begun.elapsed(),
            stdout: self.stdout.join().expect("no panic"),
            stderr: String::from_utf8_lossy(&self.stderr.join().expect("no panic")).into(),
            heard,
        }
    }
}

impl End {
    /// The exit code; none where a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// What was printed as JSON, without the sums of the files that were read: a file may say the same in other bytes.
    pub fn found(&self) -> Value {
        let mut found: Value = serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|_| String::from_utf8_lossy(&self.stdout).into());
        if let Some(keys) = found.as_object_mut() {
            keys.remove("files_read");
        }
        found
    }

    /// What no input may bring about: a panic, a signal, another exit code, a mistake that is not
    /// said in one line, Ctrl-C unheard.
    pub fn fault(&self) -> Option<String> {
        const INTERRUPT: i32 = 2;
        let said = || {
            let line = self.stderr.lines().find(|line| line.contains("panicked"));
            line.or(self.stderr.lines().last()).unwrap_or_default()
        };
        if self.stderr.contains("panicked") {
            return Some(format!("a panic ({}): {}", self.status, said()));
        }
        if self.heard.is_some_and(|time| time > HEARS) {
            let seconds = self.heard.unwrap_or_default().as_secs_f64();
            return Some(format!("ended {seconds:.1} s after Ctrl-C"));
        }
        match (self.status.code(), self.status.signal()) {
            // Before it listens, Ctrl-C ends it as it ends any program.
            (None, Some(INTERRUPT)) if self.heard.is_some() => None,
            (None, _) => Some(format!("{}: {}", self.status, said())),
            (Some(0), _) => None,
            (Some(1 | 2 | 3 | 130), _) => {
                let lines = || self.stderr.lines();
                let errors = lines().filter(|line| line.starts_with("foldglass: error: "));
                let strange = lines().find(|line| !line.starts_with("foldglass: "));
                match (errors.count(), strange) {
                    (1, None) => None,
                    (_, Some(line)) => Some(format!("{}, and on stderr: {line}", self.status)),
                    (n, None) => Some(format!("{}, and {n} errors on stderr", self.status)),
                }
            }
            (Some(code), _) => Some(format!("exit code {code}: {}", said())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str) -> End {
        Call::new(Path::new("sh"), Path::new("/"), "-c")
            .arg(script)
            .run(Duration::from_secs(10))
    }

    #[test]
    fn faults_are_told_from_mistakes() {
        for fine in [
            "exit 0",
            "echo foldglass: error: no >&2; exit 2",
            "echo foldglass: a word >&2; echo foldglass: error: no >&2; exit 1",
        ] {
            assert_eq!(ended(fine).fault(), None, "{fine}");
        }
        for fault in [
            "exit 1",
            "exit 101",
            "kill -ABRT $$",
            "echo thread main panicked at >&2; exit 0",
            "echo foldglass: error: a >&2; echo b >&2; exit 2",
        ] {
            assert!(ended(fault).fault().is_some(), "{fault}");
        }
    }

    #[test]
    fn one_that_takes_too_long_gets_an_interrupt() {
        let call = Call::new(Path::new("sleep"), Path::new("/"), "20");
        let end = call.run(Duration::from_millis(20));
        assert!(end.heard.is_some_and(|time| time < HEARS) && end.fault().is_none());
    }

    #[test]
    fn a_call_reads_as_one_would_type_it() {
        let call = Call::new(Path::new("fg"), Path::new("/a b"), "run");
        let call = call.arg("").arg("it's");
        assert_eq!(call.to_string(), r"cd $'/a b' && fg run $'' $'it\'s'");
    }
}
