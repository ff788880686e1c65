//! Studies of transformers: the same records in any fleet, after any stop; settings refused by name.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foldglass::{Progress, Unwatched};
use foldglass_nn::shape::NetworkShape;
use foldglass_nn::weights::{WeightLaw, Weights};
use foldglass_study::{
    End, Form, Options, Record, Registry, Study, execute, execute_in_memory, gather, write_table,
};

/// A tiny network on lengths 1 and 2, with and without noise.
const STUDY: &str = "\
name = \"networks\"
[[class]]
id = \"z3\"
task = \"z:3\"
lengths = [1, 2]
[[dynamics]]
kind = \"train\"
backend = \"cpu\"
steps = 60
batch = 16
width = 8
heads = 2
mlp = 12
gate_every = 7
gate_samples = 16
test_inputs = 40
c = 0.1
trace_every = 14
read_back = true
keep = \"best\"
runs = 3
fleet = 2
[dynamics.grid]
noise = [\"none\", \"full:0.5,2\"]
";

fn options(out: &Path) -> Options {
    let mut options = Options::new(out);
    options.threads = 2;
    options.checkpoint_every = Duration::from_millis(1);
    options
}

fn in_memory(text: &str) -> Vec<Record> {
    let study = Study::parse(text, 3).unwrap();
    let registry = Registry::default();
    let done = execute_in_memory(&study, &registry, &options(Path::new("")), &Unwatched);
    let (records, end) = done.unwrap();
    assert_eq!(end, End::Finished);
    records
}

#[test]
fn networks_come_out_the_same_in_any_fleet() {
    let pairs = in_memory(STUDY);
    let alone = in_memory(&STUDY.replace("fleet = 2", "fleet = 1"));
    assert_eq!(pairs.len(), 6);
    for (one, other) in pairs.iter().zip(&alone) {
        assert_eq!(one.result, other.result, "{}", one.id);
    }
    assert_ne!(pairs[0].result, pairs[1].result);
    assert_ne!(pairs[0].result, pairs[3].result);
    let result = &pairs[0].result;
    assert_eq!(result["curve_step"], serde_json::json!([14, 28, 42, 56]));
    assert_eq!(result["greedy"].as_array().unwrap().len(), 2);
    assert_eq!(result["actions"].as_array().unwrap().len(), pairs[0].cells);
    // Of gates at one length the best is the first with the highest accuracy, recorded or not.
    let gates = result["curve_gate"].as_array().unwrap().iter();
    let highest = gates.map(|gate| gate.as_f64().unwrap()).fold(0.0, f64::max);
    assert!(result["best_gate"].as_f64().unwrap() >= highest);
    let step = result["best_step"].as_u64().unwrap();
    assert!(step.is_multiple_of(7) || step == 60, "{step}");
    for key in ["greedy", "actions"] {
        let entries = |key: &str| result[key].as_array().unwrap().len();
        assert_eq!(entries(&format!("best_{key}")), entries(key));
    }
    let last = in_memory(&STUDY.replace("keep = \"best\"\n", ""));
    for (record, last) in pairs.iter().zip(&last) {
        let mut result = record.result.clone();
        result.retain(|key, _| !key.starts_with("best_"));
        assert_eq!(result, last.result, "keeping the best changes nothing else");
    }
    let reward = result["reward"].as_f64().unwrap();
    let mean = |greedy: &serde_json::Value| {
        let of = |n: usize| greedy[n].as_f64().unwrap();
        (of(0) + of(1)) / 2.0
    };
    assert!((reward - mean(&result["greedy"])).abs() < 1e-12);
}

#[test]
fn networks_are_trained_and_read_back_under_the_law_of_their_class() {
    let uniform = in_memory(STUDY);
    let correlated =
        in_memory(&STUDY.replace("lengths = [1, 2]", "lengths = [1, 2]\nk = \"9/10\""));
    assert_ne!(uniform[0].result["loss"], correlated[0].result["loss"]);
    assert_eq!(correlated[0].settings["inputs"]["markov"], "9/10");
    assert!(!uniform[0].settings.contains_key("inputs"));
    // Rewards of codes are over 2 (lengths) times 3 times the law's denominator 20.
    let exact = correlated[0].result["code_exact"].as_str().unwrap();
    let (_, below) = exact.split_once('/').unwrap();
    assert_eq!(120 % below.parse::<u64>().unwrap(), 0, "{exact}");
}

#[test]
fn every_key_of_the_optimiser_makes_another_run() {
    let one = |more: &str| {
        let text = STUDY.replace("runs = 3", &format!("{more}\nruns = 1"));
        in_memory(&text)[0].result["loss"].clone()
    };
    let plain = one("");
    for more in [
        "clip_norm = 0.01",
        "weight_decay = 1.0",
        "warm_up = 30",
        "cosine = 0.1",
        "entropy_decay = \"linear:0.01,30\"",
        "baseline = \"length\"",
        "standardise = true",
        "kl = 0.5",
    ] {
        assert_ne!(one(more), plain, "{more}");
    }
    assert_eq!(one("kl = 0\nprior = \"initial\""), plain);
    assert_eq!(one("clip_norm = \"none\"\nentropy_decay = \"none\""), plain);
}

#[test]
fn a_study_holds_networks_to_those_of_a_file() {
    let folder = std::env::temp_dir().join(format!("foldglass-prior-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let shape = NetworkShape {
        width: 8,
        heads: 2,
        mlp: 12,
        ..NetworkShape::default()
    };
    let file = folder.join("net.safetensors");
    let weights = Weights::draw(shape, WeightLaw::Pt, 5);
    std::fs::write(&file, weights.to_safetensors()).unwrap();
    let records = |kl: f64| {
        let more = format!("kl = {kl}\nprior = {:?}\nruns = 1", file.to_str().unwrap());
        in_memory(&STUDY.replace("runs = 3", &more)).swap_remove(0)
    };
    let (loose, tight) = (records(1e-9), records(30.0));
    let kl = |record: &Record| record.result["kl"].as_f64().unwrap();
    assert!(kl(&tight) < kl(&loose), "{} {}", kl(&tight), kl(&loose));
    assert_eq!(tight.result["curve_kl"].as_array().unwrap().len(), 4);
    let prior = &tight.settings["prior"];
    assert_eq!(prior["coefficient"], 30.0);
    assert_eq!(prior["network"]["given"].as_str().unwrap().len(), 32);
    assert!(!in_memory(STUDY)[0].result.contains_key("kl"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_study_of_networks_that_is_stopped_goes_on_to_the_same_bytes() {
    let study = Study::parse(STUDY, 3).unwrap();
    let registry = Registry::default();
    let directory = |name: &str| {
        let name = format!("foldglass-train-{name}-{}", std::process::id());
        std::env::temp_dir().join(name)
    };
    let table = |out: &Path| {
        let found = gather(&[out.to_owned()]).unwrap();
        assert_eq!((found.missing, found.damaged), (0, 0));
        let path = out.join("all.jsonl");
        write_table(&found.records, Form::Lines, &path).unwrap();
        write_table(&found.records, Form::Parquet, &out.join("all.parquet")).unwrap();
        std::fs::read(path).unwrap()
    };
    let (whole, broken) = (directory("whole"), directory("broken"));
    execute(&study, &registry, &options(&whole), &Unwatched).unwrap();
    let mut tries = 0;
    loop {
        let heard = AtomicU64::new(0);
        let stop = |_: Progress<'_>| match heard.fetch_add(1, Ordering::Relaxed) {
            0..3 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        let done = execute(&study, &registry, &options(&broken), &stop).unwrap();
        tries += 1;
        if done.end == End::Finished {
            break;
        }
        assert!(tries < 1000, "it gets on");
    }
    assert!(tries > 3, "it was stopped {tries} times");
    assert_eq!(table(&whole), table(&broken));
    for path in [whole, broken] {
        std::fs::remove_dir_all(path).unwrap();
    }
}

#[test]
fn what_cannot_be_trained_is_refused_with_the_key() {
    for (from, to, said) in [
        ("batch = 16", "batch = 0", "batch = 0: a whole number"),
        ("heads = 2", "heads = 3", "heads"),
        ("c = 0.1", "c = -1.0", "c = -1: a number of at least 0"),
        (
            "steps = 60",
            "steps = 60\nwarm_up = 60",
            "warm_up: warm-up is 60",
        ),
        (
            "steps = 60",
            "steps = 60\nclip_norm = 0.0",
            "clip_norm: clip norm is 0",
        ),
        ("keep = \"best\"", "keep = \"first\"", "best"),
        (
            "steps = 60",
            "steps = 60\nkl = -1",
            "kl = -1: a number of at least 0",
        ),
        (
            "steps = 60",
            "steps = 60\nprior = \"initial\"",
            "prior = initial: `kl`",
        ),
        (
            "steps = 60",
            "steps = 60\nkl = 1\nprior = \"nowhere.safetensors\"",
            "cannot read nowhere.safetensors",
        ),
        ("full:0.5,2", "full:2,2", "transposition:SHARE,PERIOD"),
        ("steps = 60", "steps = 60\nmethod = \"ppo\"", "grpo:GROUP"),
        (
            "steps = 60",
            "steps = 60\ncurriculum = true\nstart = 3",
            "start",
        ),
        ("lengths = [1, 2]", "lengths = [2]\n", "read_back"),
        ("steps = 60", "", "the key `steps` is missing"),
        ("fleet = 2", "fleet = 0", "fleet = 0"),
        ("fleet = 2", "precision = \"tf32\"", "precision"),
        (
            "lengths = [1, 2]",
            "lengths = 2\nk = 1",
            "inputs all have a probability above 0",
        ),
        ("z:3", "z:9", "vocabulary"),
    ] {
        let text = STUDY.replace(from, to);
        // Lengths 2 alone are fine; a curriculum over them is not.
        let text = match said {
            "read_back" => text.replace("lengths = [2]", "lengths = 16"),
            _ => text,
        };
        let study = Study::parse(&text, 3).unwrap();
        let refused = execute_in_memory(
            &study,
            &Registry::default(),
            &options(Path::new("")),
            &Unwatched,
        );
        let refused = refused.err().unwrap_or_else(|| panic!("{to}: accepted"));
        assert!(refused.to_string().contains(said), "{to}: {refused}");
    }
}
