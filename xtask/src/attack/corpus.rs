//! Makes the files that attacks damage, by the program itself and undisturbed.

use super::process::Call;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What an undisturbed command may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A study of every kind of run, in units that take some tenths of a second.
pub const STUDY: &str = r#"name = "attacked"
seed = 5

[[class]]
id = "parity"
task = "parity"
lengths = 6
inputs = "markov:9/10"

[[class]]
id = "z3"
task = "z:3"
lengths = [2, 3]

[[dynamics]]
kind = "chain"
kernel = "metropolis"
tau = [1e-13, 1e-3]
sweeps = 9000
checkpoints = [10, 100]
runs = 5
keep_code = true

[[dynamics]]
kind = "cavi"
tau = { from = 1e-8, to = 1e-4, points = 2 }
iterations = 5000
quench = "50,1e-13"
runs = 4
keep_policy = true

[[dynamics]]
kind = "gradient"
classes = ["z3"]
tau = 1e-6
iterations = 4000
step = 0.1
runs = 3
trace_every = 1000
"#;

/// The class of the census, whose shelves and traps are certified.
pub const CENSUS: &str = "--task parity --lengths 8 --inputs markov:9/10";

/// The class of the small files.
pub const CLASS: &str = "--task z:3 --lengths 4";

/// Certifies many codes.
pub const CERTIFY: &str = "certify --code codes.json --cap 3000 --out verdicts.json";

/// The cells of [`CLASS`].
const CELLS: usize = 30;

/// The tables of a study.
pub const TABLES: [&str; 3] = ["table.jsonl", "table.csv", "table.parquet"];

/// The folder of undisturbed files, and what undisturbed commands take and print.
pub struct Corpus {
    pub program: PathBuf,
    pub folder: PathBuf,
    /// The seconds of the study, of the census and of its verdicts.
    pub seconds: Seconds,
    /// What `collect` prints of the census.
    pub census: Value,
    /// What `summary` prints of the study.
    pub summary: Value,
}

/// How long undisturbed commands took.
pub struct Seconds {
    pub study: f64,
    pub census: f64,
    pub verdicts: f64,
}

impl Corpus {
    /// Makes all files in a folder.
    pub fn new(program: &Path, folder: &Path) -> Result<Corpus, String> {
        let call = |args: &str| Call::new(program, folder, args);
        let run = |args: &str| call(args).succeed(PATIENCE);
        let seconds = |call: Call| call.succeed(PATIENCE).map(|end| end.time.as_secs_f64());
        let put = |name: &str, text: &str| put(folder, name, text);
        put("study.toml", STUDY)?;
        let study = seconds(call("run study.toml --out study -j 2"))?;
        run("collect study")?;
        let summary = run("summary study --json")?.found();
        save_a_checkpoint(program, folder)?;
        let census = call("enumerate --out census --traps traps.json").args(CENSUS);
        let census = seconds(census)?;
        let counted = run("collect census --json")?.found();
        put("bare.json", &format!("{{\"actions\":{:?}}}", [0; CELLS]))?;
        run(&format!(
            "gauge --code bare.json --relabel random --out code.json {CLASS}"
        ))?;
        run("escape --code code.json --out path.json")?;
        let many = "--kernel metropolis --chains 16 --tau 1e-13 --sweeps 30 --json";
        let chains = run(&format!("chain --task quasigroup --lengths 6 {many}"))?;
        put("codes.json", &String::from_utf8_lossy(&chains.stdout))?;
        let verdicts = seconds(call(CERTIFY))?;
        run("certify --code traps.json --out certified.json")?;
        run("certify --code code.json --cap 10 --out bounded.json")?;
        run("certify --code code.json --out escapes.json")?;
        let short = "--tau 1e-3 --iterations 3 --runs 1";
        run(&format!("cavi --policies policy.json {short} {CLASS}"))?;
        put("square.json", "[[0,1,2],[1,2,0],[2,0,1]]\n")?;
        put(
            "inputs.json",
            "[[\"1/2\",\"1/4\",\"1/4\"],[\"1/3\",\"1/3\",\"1/3\"],[1,0,0],[\"1/5\",\"2/5\",\"2/5\"]]\n",
        )?;
        put("relabel.json", "[[1,0,2],[0,2,1],[2,1,0],[0,1,2]]\n")?;
        Ok(Corpus {
            program: program.to_owned(),
            folder: folder.to_owned(),
            seconds: Seconds {
                study,
                census,
                verdicts,
            },
            census: counted,
            summary,
        })
    }

    /// The undisturbed file of a name.
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.join(name)).unwrap_or_default()
    }

    /// Puts copies of files and folders into a folder, without the tables.
    pub fn copy(&self, names: &[&str], to: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("the files of the attack: {error}");
        for name in names {
            let from = self.folder.join(name);
            if !from.is_dir() {
                fs::copy(&from, to.join(name)).map_err(failed)?;
                continue;
            }
            fs::create_dir_all(to.join(name)).map_err(failed)?;
            for entry in fs::read_dir(&from).map_err(failed)? {
                let inner = entry.map_err(failed)?.file_name();
                let inner = inner.to_string_lossy();
                // A command that writes none must not be taken for one that writes the right one.
                if !TABLES.contains(&&*inner) {
                    self.copy(&[&format!("{name}/{inner}")], to)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the tables in a folder are those of the undisturbed study.
    pub fn same_tables(&self, folder: &Path) -> Result<(), String> {
        for table in TABLES {
            let wanted = self.read(&format!("study/{table}"));
            if fs::read(folder.join(table)).ok().as_ref() != Some(&wanted) {
                return Err(format!("{table} is not that of an undisturbed run"));
            }
        }
        Ok(())
    }
}

fn put(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    fs::write(folder.join(name), text).map_err(|error| format!("{name}: {error}"))
}

/// Interrupts a run of the study until it leaves units in progress, in the folder `begun`.
fn save_a_checkpoint(program: &Path, folder: &Path) -> Result<(), String> {
    let begun = folder.join("begun");
    for wait in [100, 200, 400, 50, 800, 25, 1600] {
        let _ = fs::remove_dir_all(&begun);
        let args = "run study.toml --out begun --checkpoint-every 0.01 -j 2";
        let mut running = Call::new(program, folder, args).start();
        running.wait(Duration::from_millis(wait));
        running.interrupt();
        if fs::read_dir(begun.join("checkpoints")).is_ok_and(|mut files| files.next().is_some()) {
            return Ok(());
        }
    }
    Err("no interrupted run left a checkpoint".into())
}
