//! Interrupts `run` in every way and holds what `collect` makes of it to an undisturbed run.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::support::{Run, Scratch};

/// Every kind of dynamics, on classes whose runs go together and on ones whose do not.
pub const STUDY: &str = r#"
name = "trial"
seed = 3

[[class]]
id = "z5"
task = "z:5"
lengths = [8]

[[class]]
id = "wide"
task = "z:3"
lengths = [4, 5]
window = [1, 1]

[[class]]
id = "tied"
task = "z:3"
lengths = [5]
tied = true
inputs = "markov:9/10"

[[dynamics]]
id = "rlvr"
kind = "cavi"
classes = ["z5", "wide"]
tau = [1e-10]
runs = 10
iterations = 2000
quench = { iterations = 50, tau = 1e-13 }
resets = { share = 0.02, every = 10, cycles = 20 }

[[dynamics]]
id = "mc"
kind = "chain"
kernel = "metropolis"
tau = [1e-13, 2e-3]
runs = 3
sweeps = 3000
checkpoints = [10, 3000]
stop_when_stationary = 2000

[[dynamics]]
id = "pg"
kind = "gradient"
classes = ["tied"]
step = 5
tau = [1e-3]
runs = 3
iterations = 1000
"#;

pub const RUNS: usize = 41;

/// A study of a moment.
pub const SMALL: &str = r#"
name = "small"
[[class]]
id = "p"
task = "parity"
lengths = [4]
[[dynamics]]
kind = "cavi"
tau = [1e-10]
runs = 3
iterations = 20
[[dynamics]]
kind = "chain"
kernel = "heat-bath"
tau = [0]
runs = 2
sweeps = 20
"#;

/// Without an end in sight.
pub const ENDLESS: &str = r#"
name = "endless"
[[class]]
task = "z:5"
lengths = [8]
[[dynamics]]
kind = "cavi"
tau = [1e-10]
runs = 1
iterations = 1000000000
"#;

/// The tables of a study.
#[derive(Debug, PartialEq)]
pub struct Tables {
    pub lines: Vec<u8>,
    pub csv: Vec<u8>,
    pub parquet: Vec<u8>,
}

/// Collects directories.
pub fn tables(scratch: &Scratch, directories: &[&str]) -> Tables {
    scratch
        .run(&[&["collect", "--out", "table"], directories].concat())
        .success();
    let read = |name: &str| fs::read(scratch.path().join(name)).unwrap();
    Tables {
        lines: read("table.jsonl"),
        csv: read("table.csv"),
        parquet: read("table.parquet"),
    }
}

/// Those of an undisturbed run on one thread.
pub fn undisturbed() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let scratch = Scratch::new();
        scratch.file("s.toml", STUDY);
        scratch.run(&["run", "s.toml", "--threads", "1"]).success();
        assert_eq!(scratch.files(), ["s.toml", "trial"]);
        let files = fs::read_dir(scratch.path().join("trial")).unwrap();
        assert_eq!(files.count(), 2, "no checkpoint is left");
        tables(&scratch, &["trial"])
    })
}

fn assert_undisturbed(tables: &Tables) {
    assert_eq!(tables.lines.split(|&b| b == b'\n').count(), RUNS + 1);
    assert!(tables.lines == undisturbed().lines, "the lines differ");
    assert!(tables.csv == undisturbed().csv, "the CSV differs");
    assert!(
        tables.parquet == undisturbed().parquet,
        "the Parquet differs"
    );
}

/// Begins a command.
pub fn spawn(scratch: &Scratch, args: &[&str]) -> Child {
    let mut command = scratch.command(args);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Sends a signal.
#[cfg(unix)]
pub fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    // It may have ended by an earlier one.
    let _ = Command::new("kill").args([signal, &id]).status();
}

/// Waits until something holds.
pub fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{what} never came"
        );
        sleep(Duration::from_millis(5));
    }
}

/// The saved states of units.
pub fn states(scratch: &Scratch, out: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(scratch.path().join(out).join("checkpoints"));
    let paths = files
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "state"))
        .collect()
}

/// When a unit was saved last.
fn newest(scratch: &Scratch) -> Option<SystemTime> {
    let saved = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    states(scratch, "trial").iter().filter_map(saved).max()
}

#[test]
fn a_study_killed_at_any_moment_ends_as_if_undisturbed() {
    let scratch = Scratch::new();
    scratch.file("s.toml", STUDY);
    let args = [
        "run",
        "s.toml",
        "--threads",
        "2",
        "--checkpoint-every",
        "0.02",
    ];
    let mut random = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .subsec_nanos();
    let (mut kills, mut saved) = (0, 0);
    loop {
        let mut child = spawn(&scratch, &args);
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let mut ended = || child.try_wait().unwrap().is_some();
        if kills < 3 {
            let before = newest(&scratch);
            wait("a checkpoint", || newest(&scratch) > before || ended());
        }
        // Longer each time, for machines that take their time to begin.
        let patience = Duration::from_millis(u64::from(random >> 25) + 10 * kills);
        let begun = Instant::now();
        while begun.elapsed() < patience && !ended() {
            sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            break;
        }
        assert_eq!(
            output.status.code(),
            None,
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        saved += usize::from(!states(&scratch, "trial").is_empty());
        kills += 1;
        assert!(kills < 100, "it never ends");
    }
    assert!(
        kills >= 3 && saved >= 1,
        "{kills} kills, {saved} in the middle of a unit"
    );
    assert_undisturbed(&tables(&scratch, &["trial"]));
}

#[test]
fn a_unit_longer_than_any_attempt_still_ends() {
    let scratch = Scratch::new();
    // Every kind of state, each in a single unit of its own.
    for (name, kind) in [
        ("cavi", "kind = \"cavi\"\niterations = 6000"),
        (
            "gradient",
            "kind = \"gradient\"\nstep = 5\niterations = 5000",
        ),
        (
            "step",
            "kind = \"chain\"\nkernel = \"metropolis\"\nsweeps = 15000",
        ),
        (
            "cell",
            "kind = \"chain\"\nkernel = \"heat-bath\"\norder = \"cell\"\nsweeps = 9000",
        ),
    ] {
        let study = format!(
            "name = \"trial\"\n[[class]]\ntask = \"z:5\"\nlengths = [8]\n\
             [[dynamics]]\ntau = [1e-4]\nruns = 1\n{kind}\n"
        );
        scratch.file("s.toml", &study);
        scratch.run(&["run", "s.toml", "--out", name]).success();
        let args = ["run", "s.toml", "--checkpoint-every", "0.02"];
        let mut kills = 0;
        loop {
            let before = newest(&scratch);
            let mut child = spawn(&scratch, &args);
            wait("a checkpoint or the end", || {
                newest(&scratch) > before || child.try_wait().unwrap().is_some()
            });
            child.kill().unwrap();
            if child.wait().unwrap().success() {
                break;
            }
            kills += 1;
            assert!(kills < 300, "{name}: it begins anew each time");
        }
        assert!(kills > 0, "{name} is too short to be killed");
        assert!(
            tables(&scratch, &["trial"]) == tables(&scratch, &[name]),
            "{name}"
        );
        fs::remove_dir_all(scratch.path().join("trial")).unwrap();
    }
}

#[test]
fn threads_and_shards_leave_the_table_as_it_is() {
    let scratch = Scratch::new();
    scratch.file("s.toml", STUDY);
    let shard = |shard: &str, out: &str| {
        let args = [
            "run",
            "s.toml",
            "--threads",
            "2",
            "--shard",
            shard,
            "--out",
            out,
        ];
        scratch.run(&args).success();
    };
    shard("2/3", "together");
    shard("3/3", "apart");
    // The shards of another number do what is left.
    shard("1/2", "together");
    shard("2/2", "together");
    assert_undisturbed(&tables(&scratch, &["together"]));
    assert_undisturbed(&tables(&scratch, &["apart", "together"]));
}

#[cfg(unix)]
#[test]
fn a_study_stopped_by_a_signal_says_how_to_go_on_and_does() {
    let scratch = Scratch::new();
    scratch.file("s.toml", STUDY);
    let args = ["run", "s.toml", "--checkpoint-every", "0.02"];
    // A terminal that closes sends a second one at once.
    for signals in [["-INT", "-HUP"], ["-TERM", "-TERM"]] {
        let before = newest(&scratch);
        let child = spawn(&scratch, &args);
        wait("a checkpoint", || newest(&scratch) > before);
        signals.iter().for_each(|signal| send(signal, &child));
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(130), "{}", run.errors);
        assert!(
            run.errors.contains("the same command resumes"),
            "{}",
            run.errors
        );
        assert_eq!(run.errors.lines().count(), 1);
        assert!(!states(&scratch, "trial").is_empty());
    }
    // What of a state is damaged is done again.
    let state = states(&scratch, "trial").swap_remove(0);
    let mut bytes = fs::read(&state).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(state, bytes).unwrap();
    let run = scratch.run(&["run", "s.toml"]);
    assert_eq!(run.code, Some(0));
    assert!(run.errors.contains("is damaged"), "{}", run.errors);
    assert_undisturbed(&tables(&scratch, &["trial"]));
}

#[cfg(unix)]
#[test]
fn a_hangup_that_is_ignored_does_not_stop_a_study() {
    let scratch = Scratch::new();
    scratch.file("s.toml", ENDLESS);
    let mut command = Command::new("sh");
    let line = "trap '' HUP; exec \"$0\" run s.toml --checkpoint-every 0.01";
    command
        .args(["-c", line, env!("CARGO_BIN_EXE_foldglass")])
        .current_dir(scratch.path());
    let child = command
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait("a checkpoint", || !states(&scratch, "endless").is_empty());
    send("-HUP", &child);
    let saved = || {
        fs::metadata(&states(&scratch, "endless")[0])
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = saved();
    sleep(Duration::from_millis(200));
    wait("another checkpoint", || saved() > before);
    send("-TERM", &child);
    assert_eq!(Run::from(child.wait_with_output().unwrap()).code, Some(130));
}

/// Runs the small study in a directory of its own.
pub fn small() -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    scratch.file("s.toml", SMALL);
    scratch.run(&["run", "s.toml"]).success();
    let records = scratch.path().join("small/records.jsonl");
    (scratch, records)
}

/// Requires a failure with this code, nothing on stdout and one line that holds all of `said`.
pub fn fails(run: &Run, code: i32, said: &[&str]) {
    assert_eq!(
        (run.code, &run.text[..]),
        (Some(code), ""),
        "{}",
        run.errors
    );
    assert!(
        run.errors.starts_with("foldglass: error: "),
        "{}",
        run.errors
    );
    assert_eq!(run.errors.lines().count(), 1, "{}", run.errors);
    for part in said {
        assert!(run.errors.contains(part), "no {part:?} in {}", run.errors);
    }
}
