//! A method as a user would write it, in one file: a random walk of codes that keeps its best. It
//! joins studies by one registration, with checkpoints, shards, resumption, tables and summaries.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foldglass::{Allowance, Class, Code, Progress, Reward, Stream, Unwatched, reward::count};
use foldglass_study::method::{
    Accepts, Headline, MethodSettings, Recipe, RunningUnit, Setting, SettingError, Streams, put,
};
use foldglass_study::{
    End, Fields, Form, Method, Options, Registry, RunOutcome, Shard, Study, execute, gather,
    summarize, write_table,
};
use serde::{Deserialize, Serialize};

/// Kind `walk`: every step gives a random cell a random action.
#[derive(Default)]
struct RandomWalk {
    /// How often its recipes were asked for their bytes.
    asked: Arc<AtomicU64>,
}

const SETTINGS: &[Setting] = &[
    Setting::new("steps", Accepts::Count, "Steps of a walk"),
    Setting::new(
        "restart",
        Accepts::Share,
        "The share of steps that start anew",
    )
    .default("0"),
];

#[derive(Clone)]
struct Walk {
    class: Class,
    steps: u64,
    /// The share of steps that start anew from a random code.
    restart: f64,
    asked: Arc<AtomicU64>,
}

impl Method for RandomWalk {
    fn kind(&self) -> &'static str {
        "walk"
    }

    fn headline(&self) -> Headline {
        Headline {
            value: "best",
            exact: Some("best_exact"),
        }
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn recipe(
        &self,
        class: &Class,
        settings: MethodSettings<'_>,
    ) -> Result<Box<dyn Recipe>, SettingError> {
        let steps = settings.need("steps")?;
        let restart = settings.need("restart")?;
        let class = class.clone();
        Ok(Box::new(Walk {
            class,
            steps,
            restart,
            asked: self.asked.clone(),
        }))
    }
}

impl Recipe for Walk {
    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        put(&mut fields, "steps", self.steps);
        put(&mut fields, "restart", self.restart);
        fields
    }

    fn together(&self) -> u64 {
        1
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn bytes(&self) -> Option<u128> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Some(4 * self.class.cells() as u128)
    }

    fn begin(&self, streams: Streams, _: Allowance) -> Result<Box<dyn RunningUnit>, String> {
        let mut stream = Stream::new(streams.seed, streams.numbers.start);
        let code = random(&self.class, &mut stream);
        let best = count::reward(&code);
        Ok(Box::new(Walking {
            walk: self.clone(),
            stream,
            code,
            best,
            done: 0,
        }))
    }

    fn resume(
        &self,
        streams: Streams,
        state: &[u8],
        _: Allowance,
    ) -> Result<Box<dyn RunningUnit>, String> {
        let saved: Saved = serde_json::from_slice(state).map_err(|error| error.to_string())?;
        let stream = Stream::new(streams.seed, streams.numbers.start);
        Ok(Box::new(Walking {
            walk: self.clone(),
            stream: stream.at(saved.position.into()),
            code: Code::new(&self.class, &saved.actions).map_err(|error| error.to_string())?,
            best: saved.best,
            done: saved.done,
        }))
    }
}

fn random(class: &Class, stream: &mut Stream) -> Code {
    Code::from_fn(class, |_| stream.below(class.q() as u32) as u16)
}

struct Walking {
    walk: Walk,
    stream: Stream,
    code: Code,
    best: Reward,
    done: u64,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    position: u64,
    actions: Vec<u16>,
    best: Reward,
    done: u64,
}

impl RunningUnit for Walking {
    fn done(&self) -> u64 {
        self.done
    }

    fn is_finished(&self) -> bool {
        self.done == self.walk.steps
    }

    fn advance(&mut self, steps: u64) -> Result<(), String> {
        let class = self.walk.class.clone();
        for _ in 0..steps.min(self.walk.steps - self.done) {
            if self.stream.uniform() < self.walk.restart {
                self.code = random(&class, &mut self.stream);
            } else {
                let cell = self.stream.below(class.cells() as u32) as usize;
                let action = self.stream.below(class.q() as u32) as u16;
                self.code.set(cell, action);
            }
            self.best = self.best.clone().max(count::reward(&self.code));
            self.done += 1;
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, String> {
        let saved = Saved {
            position: self.stream.position() as u64,
            actions: self.code.actions().to_vec(),
            best: self.best.clone(),
            done: self.done,
        };
        Ok(serde_json::to_vec(&saved).expect("plain data"))
    }

    fn outcomes(&mut self) -> Result<Vec<RunOutcome>, String> {
        let mut fields = Fields::new();
        put(&mut fields, "best", self.best.to_f64());
        put(&mut fields, "best_exact", &self.best);
        put(&mut fields, "actions", self.code.actions());
        Ok(vec![fields])
    }
}

const STUDY: &str = "\
name = \"walks\"
[[class]]
id = \"p\"
task = \"parity\"
[class.grid]
lengths = [2, 3]
[[dynamics]]
kind = \"walk\"
steps = 400
runs = 5
[dynamics.grid]
restart = [0.0, 0.1]
";

fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.register(RandomWalk::default());
    registry
}

fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("foldglass-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn options(out: &Path, shard: Shard) -> Options {
    let mut options = Options::new(out);
    options.shard = shard;
    options.threads = 2;
    options.checkpoint_every = Duration::from_millis(5);
    options
}

fn table(directories: &[PathBuf]) -> Vec<u8> {
    let found = gather(directories).unwrap();
    assert_eq!((found.missing, found.damaged), (0, 0));
    let path = directories[0].join("all.jsonl");
    write_table(&found.records, Form::Lines, &path).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn a_method_of_a_user_joins_studies_by_one_registration() {
    let (study, out) = (Study::parse(STUDY, 3).unwrap(), directory("whole"));
    let done = execute(
        &study,
        &registry(),
        &options(&out, Shard::WHOLE),
        &Unwatched,
    )
    .unwrap();
    assert_eq!(
        (done.runs, done.done_now, done.end),
        (20, 20, End::Finished)
    );
    let whole = table(std::slice::from_ref(&out));
    let records = gather(std::slice::from_ref(&out)).unwrap().records;
    let points = summarize(&records, &registry(), None);
    assert_eq!(points.len(), 4);
    let short = points
        .iter()
        .find(|point| point.class.contains("2"))
        .unwrap();
    assert!(
        short.at_one.unwrap() > 0,
        "parity of length 2 is found at random: {short:?}"
    );
    let forms = [Form::Csv, Form::Parquet];
    for form in &forms[..1 + usize::from(cfg!(feature = "parquet"))] {
        write_table(&records, *form, &out.join("table")).unwrap();
    }

    // In three shards, one after the other.
    let shards: Vec<PathBuf> = (1..=3)
        .map(|number| {
            let (out, shard) = (
                directory(&format!("shard-{number}")),
                Shard { number, of: 3 },
            );
            execute(&study, &registry(), &options(&out, shard), &Unwatched).unwrap();
            out
        })
        .collect();
    assert_eq!(table(&shards), whole);

    // Stopped again and again, and taken up from its checkpoints.
    let broken = directory("broken");
    let mut tries = 0;
    loop {
        let heard = AtomicU64::new(0);
        let stop = |_: Progress<'_>| {
            if heard.fetch_add(1, Ordering::Relaxed) < 3 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let done = execute(&study, &registry(), &options(&broken, Shard::WHOLE), &stop).unwrap();
        tries += 1;
        if done.end == End::Finished {
            break;
        }
        assert!(tries < 10_000, "it gets on");
    }
    assert!(tries > 3, "it was stopped {tries} times");
    assert_eq!(table(std::slice::from_ref(&broken)), whole);
    for path in shards.iter().chain([&out, &broken]) {
        std::fs::remove_dir_all(path).unwrap();
    }
}

#[test]
fn what_all_runs_of_a_point_share_is_asked_once_whatever_their_number() {
    let asked = |runs: &str| {
        let walk = RandomWalk::default();
        let asked = walk.asked.clone();
        let mut registry = Registry::default();
        registry.register(walk);
        let study = STUDY
            .replace("steps = 400", "steps = 1")
            .replace("runs = 5", runs);
        let (study, out) = (Study::parse(&study, 3).unwrap(), directory(runs));
        let options = options(&out, Shard::WHOLE);
        let done = execute(&study, &registry, &options, &Unwatched).unwrap();
        assert_eq!(done.end, End::Finished);
        std::fs::remove_dir_all(out).unwrap();
        asked.load(Ordering::Relaxed)
    };
    // Between the list of millions of runs and the first of them nobody would hear Ctrl-C.
    assert_eq!(asked("runs = 100"), asked("runs = 2"));
}

#[test]
fn what_its_settings_cannot_mean_is_refused_with_the_line() {
    for (from, to, said) in [
        (
            "[0.0, 0.1]",
            "[0.0, 2.0]",
            "restart = 2: a number from 0 to 1 is needed",
        ),
        ("steps = 400", "paces = 400", "`paces` is not a key"),
        ("steps = 400", "", "the key `steps` is missing"),
        (
            "runs = 5",
            "runs = 5\nfast = true",
            "line 11, column 1: dynamics \"walk\": `fast` is not a key",
        ),
        (
            "\"walk\"",
            "\"stroll\"",
            if cfg!(feature = "networks") {
                "one of \"cavi\", \"gradient\", \"chain\", \"pure-state\", \"reinforce\", \"train\", \"walk\""
            } else {
                "one of \"cavi\", \"gradient\", \"chain\", \"pure-state\", \"reinforce\", \"walk\""
            },
        ),
    ] {
        let study = Study::parse(&STUDY.replace(from, to), 0).unwrap();
        let options = options(&directory("refused"), Shard::WHOLE);
        let error = execute(&study, &registry(), &options, &Unwatched).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}
