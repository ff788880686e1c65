//! Trains small fleets from the command line, kills them, and takes them up again.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Run, Scratch, words};

/// A network of a moment.
const TINY: &str = "train --task parity --backend cpu --width 16 --heads 2 --mlp 16 --vocabulary 3 \
                    --longest 2 --gate-samples 32 --test-inputs 50";

fn tiny(more: &str) -> Vec<&str> {
    [words(TINY), words("--batch 32 --steps 40"), words(more)].concat()
}

fn models(report: &Value) -> &Vec<Value> {
    report["models"].as_array().unwrap()
}

#[test]
fn every_option_of_training_makes_another_run() {
    let scratch = Scratch::new();
    let plain = scratch.json(&tiny("--start 2"));
    assert_eq!(models(&plain)[0]["greedy"].as_array().unwrap().len(), 2);
    assert_eq!(plain["back_end"], "cpu");
    assert_eq!(plain["settings"]["batch"], 32);
    assert_eq!(plain, scratch.json(&tiny("--start 2 --threads 1")));
    for more in [
        "--seed 1",
        "--entropy 0.5",
        "--learning-rate 1e-2",
        "--lengths 2",
        "--start 1",
        "--drawn batch",
        "--layout prefix",
        "--layout causal",
        "--layout causal-fixed",
        "--layout interleaved",
        "--layout shared",
        "--layout shared-causal",
        "--init 02",
        "--init fan",
        "--norm layer",
        "--entropy 0.5 --convention sequence-mean",
        "--entropy 0.5 --convention summed",
        "--entropy 0.5 --convention return",
        "--method grpo:4,0.2,2",
        "--method expert",
        "--epsilon 0.2",
        "--noise transposition:0.5,1",
        "--noise full:0.5,2",
        "--adaptive 64,4",
        "--adam 0.5,0.9,1e-6",
        "--clip-norm 0.01",
        "--weight-decay 1",
        "--warm-up 20",
        "--cosine 0.1",
        "--entropy 0.5 --entropy-decay linear:0,20",
        "--entropy 0.5 --entropy-decay geometric:0.1,20",
        "--inputs markov:9/10",
        "--lengths 1,2 --length-weights 1,9",
        "--baseline length",
        "--standardise",
        "--kl 0.5",
    ] {
        let longer = format!("--start 2 {more}");
        let own = more.starts_with("--start") || more.starts_with("--lengths");
        let other = scratch.json(&tiny(if own { more } else { &longer }));
        assert_ne!(
            models(&plain)[0]["last"],
            models(&other)[0]["last"],
            "{more}"
        );
    }
    // These decide when the curriculum goes on, which a short run shows in its lengths.
    let length = |more: &str| models(&scratch.json(&tiny(more)))[0]["length"].clone();
    assert_eq!(length("--gate-above 0 --gate-every 40"), 2);
    assert_eq!(length("--gate-above 1 --gate sampled"), 1);
    assert_eq!(length("--gate-above 0 --gate-lengths current"), 2);
}

#[test]
fn networks_are_held_to_a_network_of_a_file() {
    let scratch = Scratch::new();
    // Decided about its tokens, unlike a network at its start.
    let first = scratch.json(&tiny("--lengths 1 --learning-rate 1e-2 --weights nets"));
    assert!(models(&first)[0]["last"].get("kl").is_none());
    let file = models(&first)[0]["weights"].as_str().unwrap();
    let run = |more: &str| {
        let flags = format!("--lengths 2 --learning-rate 3e-3 --seed 3 {more}");
        scratch.run(&[&tiny(&flags)[..], &["--json"]].concat())
    };
    let kl = |more: &str| models(&run(more).json())[0]["last"]["kl"].as_f64().unwrap();
    let held = kl(&format!("--kl 10 --prior {file} --out held"));
    let free = kl(&format!("--kl 1e-9 --prior {file}"));
    assert!(held < 0.2 * free, "{held} {free}");
    let (held, free) = (kl("--kl 10 --prior initial"), kl("--kl 1e-9"));
    assert!(held < 0.2 * free, "the first weights: {held} {free}");
    let curves = fs::read_to_string(scratch.path().join("held/curves.jsonl")).unwrap();
    assert!(curves.contains("\"kl\":"), "{curves}");
    let file = format!("--kl 1 --prior {file}");
    for (more, said) in [
        // A directory has the runs with one prior.
        ("--kl 10 --out held", "prior"),
        // Networks that read their inputs in another way cannot be held to it.
        (&format!("{file} --layout causal"), "layout"),
        (&format!("{file} --norm layer"), "norm layer"),
    ] {
        let refused = run(more);
        assert_eq!(refused.code, Some(2), "{more}: {}", refused.errors);
        assert!(refused.errors.contains(said), "{more}: {}", refused.errors);
    }
}

#[test]
fn models_are_tasks_coefficients_rates_and_seeds() {
    let scratch = Scratch::new();
    let flags = tiny("--task z:2 --entropy 0,0.3 --learning-rate 1e-3,1e-2 --runs 2 --seed 5");
    let report = scratch.json(&flags);
    let models = models(&report);
    assert_eq!(models.len(), 16);
    assert_eq!(
        (&models[15]["task"], &models[15]["seed"]),
        (&"z:2".into(), &6.into())
    );
    // Parity is z:2: the same seed, coefficient and rate are the same run, wherever it stands.
    assert_eq!(models[3]["last"], models[11]["last"]);
    assert_ne!(models[3]["last"], models[2]["last"]);
    let alone = scratch.json(&tiny("--learning-rate 1e-2 --seed 6"));
    assert_eq!(alone["models"][0]["last"], models[3]["last"]);
    let table = scratch.run(&[&flags[..], &["--format", "csv"]].concat());
    assert_eq!(table.success().lines().count(), 17);
}

#[test]
fn quick_learns_products_of_two_symbols() {
    let report = Scratch::new().json(&["train", "--quick", "--backend", "cpu"]);
    let model = &models(&report)[0];
    assert_eq!((&model["task"], &model["c"]), (&"z:5".into(), &0.3.into()));
    assert!(model["greedy"][1].as_f64().unwrap() > 0.95, "{model}");
    assert_eq!(model["holds"], 2);
}

/// The flags of a run that is kept.
fn kept(more: &'static str) -> Vec<&'static str> {
    let kept = "--record-every 40 --runs 2 --checkpoint-every 0.001 --out run";
    [words(TINY), words(kept), words(more)].concat()
}

#[test]
fn a_killed_run_goes_on_to_the_same_bytes() {
    let whole = Scratch::new();
    let flags = kept("--batch 32 --steps 400");
    let expected = whole.json(&flags);
    let curves = whole.read("run/curves.jsonl");
    assert_eq!(curves.lines().count(), 20);
    let scratch = Scratch::new();
    let mut kills = 0;
    for pause in [30, 60, 90, 120, 150] {
        let mut child = scratch
            .command(&flags)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let saved = scratch.path().join("run/fleet.state");
        while !saved.exists() && begun.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(2));
        }
        sleep(Duration::from_millis(pause));
        kills += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        // What a kill leaves of a line is dropped as well.
        let path = scratch.path().join("run/curves.jsonl");
        let mut content = fs::read(&path).unwrap();
        content.extend(b"{\"task\":\"par");
        fs::write(&path, content).unwrap();
    }
    let report = scratch.json(&flags);
    assert!(kills > 0, "a run was killed before its end");
    assert_eq!(scratch.read("run/curves.jsonl"), curves);
    assert_eq!(
        scratch.read("run/models.json"),
        whole.read("run/models.json")
    );
    for (model, expected) in models(&report).iter().zip(models(&expected)) {
        assert_eq!(model["greedy"], expected["greedy"]);
    }
    assert_eq!(
        scratch.read(
            "run/fleet.state"
                .replace("fleet.state", "train.json")
                .as_str()
        ),
        whole.read("run/train.json")
    );
}

#[cfg(unix)]
#[test]
fn best_networks_are_kept_beside_the_last_through_a_stop() {
    // A gate that is always open: the curriculum is at its cap by the second gate, and the best gate
    // is the one with the highest accuracy from then on.
    let flags = kept("--batch 32 --steps 2000 --gate-above 0 --keep best --weights files");
    let whole = Scratch::new();
    let report = whole.json(&flags);
    for model in models(&report) {
        let best = &model["best"];
        let curves = whole.read("run/curves.jsonl");
        let lines = curves
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).unwrap());
        let own = lines.filter(|l| l["model"] == model["model"] && l["length"] == 2);
        let highest = own.map(|l| l["gate"].as_f64().unwrap()).fold(0.0, f64::max);
        assert_eq!(best["length"], 2);
        assert!(best["gate"].as_f64().unwrap() >= highest, "{model}");
        assert!(best["entropy"].as_f64().unwrap() > 0.0, "{model}");
        assert_eq!(best["greedy"].as_array().unwrap().len(), 2);
        let path = best["weights"].as_str().unwrap();
        assert!(path.ends_with(".best.safetensors"), "{path}");
        let file = |path: &Value| fs::read(whole.path().join(path.as_str().unwrap())).unwrap();
        assert_ne!(file(&best["weights"]), file(&model["weights"]));
    }
    let scratch = Scratch::new();
    let mut stops = 0;
    for pause in [150, 250, 350] {
        let run = scratch.run_and_interrupt(&flags, Duration::from_millis(pause));
        stops += usize::from(run.code == Some(130));
    }
    assert!(stops > 0, "a run was stopped before its end");
    scratch.json(&flags);
    for file in ["run/curves.jsonl", "run/models.json"] {
        assert_eq!(scratch.read(file), whole.read(file), "{file}");
    }
    for file in ["run/fleet.state", "files/000_parity_c0_s0.best.safetensors"] {
        let bytes = |of: &Scratch| fs::read(of.path().join(file)).unwrap();
        assert!(bytes(&scratch) == bytes(&whole), "{file}");
    }
}

#[cfg(unix)]
#[test]
fn a_run_stopped_anywhere_goes_on_to_the_same_bytes() {
    // Gates far apart, so that stops fall between them.
    let flags = kept("--batch 64 --steps 3000 --gate-every 700");
    let whole = Scratch::new();
    whole.json(&flags);
    let scratch = Scratch::new();
    let mut stops = 0;
    for pause in [150, 250, 350] {
        let run = scratch.run_and_interrupt(&flags, Duration::from_millis(pause));
        stops += usize::from(run.code == Some(130));
    }
    assert!(stops > 0, "a run was stopped before its end");
    scratch.json(&flags);
    let read = |scratch: &Scratch| scratch.read("run/curves.jsonl");
    assert_eq!(read(&scratch).lines().count(), 10);
    assert_eq!(read(&scratch), read(&whole));
}

#[test]
fn damage_to_what_is_kept_is_seen() {
    let scratch = Scratch::new();
    let flags = kept("--batch 32 --steps 80");
    scratch.json(&flags);
    let curves = scratch.read("run/curves.jsonl");
    // A state that is damaged costs time, no more: the run is done again.
    let state = scratch.path().join("run/fleet.state");
    let mut bytes = fs::read(&state).unwrap();
    bytes[1000] ^= 1;
    fs::write(&state, bytes).unwrap();
    let again = scratch.run(&flags);
    assert_eq!(again.code, Some(0));
    assert!(again.errors.contains("damaged"), "{}", again.errors);
    assert_eq!(scratch.read("run/curves.jsonl"), curves);
    // A point that is damaged cannot be told from the others of its step.
    scratch.file(
        "run/curves.jsonl",
        &curves.replacen("\"step\":40", "\"step\":41", 1),
    );
    let refused = scratch.run(&flags);
    assert_eq!(refused.code, Some(2));
    assert!(refused.errors.contains("line 1"), "{}", refused.errors);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let scratch = Scratch::new();
    let flags = kept("--batch 32 --steps 100000000");
    let Run { code, errors, .. } = scratch.run_and_interrupt(&flags, Duration::from_secs(2));
    assert_eq!(code, Some(130));
    assert!(errors.contains("the same command resumes"), "{errors}");
    let other = kept("--batch 16 --steps 100000000");
    let refused = scratch.run(&other);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.errors.contains("batch 32 (asked for: 16)"),
        "{}",
        refused.errors
    );
}

#[test]
fn mistakes_name_the_value_and_what_is_accepted() {
    let scratch = Scratch::new();
    for (more, said) in [
        ("--layout suffix", "`prefix-fixed`"),
        ("--method ppo", "grpo:GROUP,CLIP,EPOCHS"),
        ("--method grpo:7,0.2,1", "grpo group is 7"),
        ("--noise swap:1,1", "transposition:SHARE,PERIOD"),
        ("--entropy -1", "at least 0"),
        ("--epsilon 2", "from 0 to 1"),
        ("--start 3", "--start"),
        ("--inputs markov:2", "markov:2"),
        ("--inputs sorted", "markov:K"),
        ("--length-weights 1,2", "--lengths"),
        (
            "--lengths 1,2 --length-weights 1",
            "length weights is [1] for 2 lengths",
        ),
        ("--lengths 1,2 --length-weights 1,0", "above 0"),
        ("--clip-norm 0", "above 0"),
        ("--warm-up 40000", "--warm-up: warm-up is 40000"),
        ("--cosine 2", "from 0 to 1"),
        ("--entropy-decay linear:1", "linear:FINAL,STEPS"),
        (
            "--entropy-decay geometric:0.1,5",
            "coefficients and a final value above 0",
        ),
        ("--method expert --standardise", "with the method reinforce"),
        ("--keep first", "`best`"),
        ("--kl -1", "at least 0"),
        ("--prior initial", "--kl"),
        (
            "--kl 1 --prior nowhere.safetensors",
            "cannot read nowhere.safetensors",
        ),
        ("--test-length 3", "evaluation length is 3"),
        ("--backend tpu", "`cuda`"),
        ("--backend cpu --precision tf32", "--precision"),
        ("--task nothing", "nothing"),
    ] {
        let own = more.starts_with("--backend");
        let without = TINY.replace("--backend cpu", "");
        let flags = [words(if own { &without } else { TINY }), words(more)].concat();
        let run = scratch.run(&flags);
        assert_eq!(run.code, Some(2), "{more}: {}", run.errors);
        assert!(run.errors.contains(said), "{more}: {}", run.errors);
    }
    let bare = scratch.run(&["train"]);
    assert!(
        bare.code == Some(2) && bare.errors.contains("--task"),
        "{}",
        bare.errors
    );
}

#[test]
fn a_machine_without_a_gpu_is_told_what_works() {
    let run = Scratch::new().run(&words("train --task parity --backend cuda --steps 1"));
    // Where there is one it trains; elsewhere the message has the way out.
    if run.code != Some(0) {
        assert_eq!(run.code, Some(2));
        assert!(run.errors.contains("--backend cpu"), "{}", run.errors);
    }
}
