//! Hands commands the largest and smallest numbers there are: each is refused or does what it says.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::escape::code;
use crate::mistakes::refuses;
use crate::support::{Scratch, words};

/// The mean of a result over the runs of `cavi`.
fn mean(scratch: &Scratch, flags: &str, key: &str) -> f64 {
    let cavi = format!("cavi --task z:3 --lengths 3 --tau 1e-3 {flags}");
    let found = scratch.json(&words(&cavi));
    let runs = found["runs"].as_array().unwrap();
    let value = |run: &Value| run[key].as_f64().unwrap();
    let values: Vec<f64> = runs.iter().map(value).collect();
    assert!(values.iter().all(|v| v.is_finite() && *v >= 0.0), "{flags}");
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn a_small_dirichlet_parameter_draws_codes_and_no_nonsense() {
    let scratch = Scratch::new();
    let start = |init: &str| {
        mean(
            &scratch,
            &format!("--iterations 0 --runs 200 --init {init}"),
            "expected_reward",
        )
    };
    // Over all codes of z:3 the mean reward is 1/3; of 200 draws it has a standard error of 0.005.
    for init in [
        "dirichlet:0.003",
        "dirichlet:0.001",
        "dirichlet:1e-5",
        "dirichlet:1e-300",
    ] {
        let first = start(init);
        assert!((first - 1.0 / 3.0).abs() < 0.025, "{init}: {first}");
        let entropy = format!("--iterations 0 --runs 200 --init {init}");
        assert!(mean(&scratch, &entropy, "entropy") < 1.0, "{init}");
    }
    // An ascent raises it, from small parameters as from larger ones.
    let raised = |init: &str| {
        let flags = format!("--iterations 5 --runs 200 --init {init}");
        mean(&scratch, &flags, "expected_reward")
    };
    let (small, larger) = (raised("dirichlet:0.001"), raised("dirichlet:0.01"));
    assert!((small - larger).abs() < 0.02, "{small}, {larger}");
    assert!(small > 0.4, "{small}");
    let gradient = "--iterations 5 --runs 200 --rule gradient:1 --init dirichlet:0.001";
    assert!((mean(&scratch, gradient, "expected_reward") - 1.0 / 3.0).abs() < 0.025);
}

#[test]
fn extreme_laws_temperatures_and_steps_do_not_panic() {
    let scratch = Scratch::new();
    for flags in [
        "--init logit_normal:1e308",
        "--init logit_normal:1.7976931348623157e308",
        "--init logit_normal:0",
        "--init logit_normal:5e-324",
        "--init dirichlet:5e-324",
        "--init dirichlet:1e300",
        "--rule gradient:1e308",
        "--rule gradient:5e-324",
        "--rule gradient:1e308 --init logit_normal:1e308",
        "--quench 3,1e300",
        "--quench 3,0 --rule gradient:1e308",
        "--resets 1,1,18446744073709551615",
        "--stop-at-convergence 1e308",
    ] {
        let reward = mean(
            &scratch,
            &format!("--iterations 4 --runs 5 {flags}"),
            "expected_reward",
        );
        assert!((0.0..=1.0).contains(&reward), "{flags}: {reward}");
    }
    let cavi = "cavi --task z:3 --lengths 3 --iterations 3 --runs 2";
    for rule in ["cavi", "gradient:1"] {
        for tau in ["1e308", "1.7976931348623157e308"] {
            let said = [tau, "--tau", "at most 1e300"];
            refuses(
                &scratch,
                &format!("{cavi} --rule {rule} --tau {tau}"),
                &said,
            );
        }
        let flags = format!("{cavi} --rule {rule} --tau 1e300");
        scratch.run(&words(&flags)).success();
    }
    let most = u64::MAX;
    let said = ["--quench", &most.to_string()[..]];
    refuses(
        &scratch,
        &format!("{cavi} --tau 1 --quench {most},1"),
        &said,
    );
    let chain = "chain --kernel heat-bath --task z:3 --lengths 3 --sweeps 3 --chains 2";
    for tau in ["0", "5e-324", "1e300"] {
        scratch
            .run(&words(&format!("{chain} --tau {tau}")))
            .success();
    }
    let said = ["1e308", "--tau", "at most 1e300"];
    refuses(&scratch, &format!("{chain} --tau 1e308"), &said);
}

#[test]
fn a_tolerance_larger_than_any_change_makes_every_other_code_a_local_maximum() {
    let scratch = Scratch::new();
    let digits = "9".repeat(500);
    for tolerance in [
        "1",
        "7/2",
        "1e30",
        "340282366920938463463374607431768211456",
        &digits,
    ] {
        let flags = "enumerate --task parity --lengths 3 --inputs markov:9/10 --tolerance";
        let found = scratch.json(&[&words(flags)[..], &[tolerance]].concat());
        // 2^10 codes, of which 4 are optimal.
        assert_eq!(found["local_maxima"], "1020", "{tolerance}");
    }
}

/// A study of so many runs.
fn study(runs: &str) -> String {
    format!(
        "name = \"s\"\n[[class]]\ntask = \"parity\"\nlengths = 3\n\
         [[dynamics]]\nkind = \"cavi\"\ntau = 1e-3\niterations = 1\nruns = {runs}\n"
    )
}

#[test]
fn more_runs_than_memory_holds_are_refused_before_the_start() {
    let scratch = Scratch::new();
    scratch.file("s.toml", &study("18446744073709551615"));
    for command in ["run s.toml", "run s.toml --dry-run"] {
        let said = ["2305843009213693952 units", "128.0 EiB", "--max-memory"];
        refuses(&scratch, command, &said);
    }
    // A shard of as many has one unit.
    let plan = scratch.json(&words(
        "run s.toml --dry-run --shard 2/18446744073709551615",
    ));
    assert_eq!(plan["runs"], 8);
    scratch.file("s.toml", &study("18446744073709551616"));
    let said = ["line 9", "18446744073709551616 is too large"];
    refuses(&scratch, "run s.toml --dry-run", &said);
    scratch.file("s.toml", &study("100000000"));
    for command in ["run s.toml", "run s.toml --dry-run"] {
        let said = ["12500000 units", "64.0 MiB are allowed", "--max-memory"];
        refuses(&scratch, &format!("{command} --max-memory 64MiB"), &said);
    }
    let class = "--task parity --lengths 3 --tau 1";
    let most = u64::MAX;
    for command in [
        format!("chain --kernel metropolis --sweeps 1 --chains {most} {class}"),
        format!("chain --kernel metropolis --sweeps {most} --chains {most} {class}"),
        format!("cavi --iterations 1 --runs {most} {class}"),
    ] {
        let said = [&format!("{most} runs")[..], "--max-memory"];
        refuses(&scratch, &command, &said);
    }
    for length in [most, u64::MAX / 2, 1 << 45] {
        let said = [&format!("--lengths {length} needs ")[..], "are allowed"];
        refuses(&scratch, &format!("parity --length {length}"), &said);
    }
    let kept = format!("cavi --iterations 9000000 --runs 9 {class} --record r --max-memory 1GiB");
    refuses(&scratch, &kept, &["9 runs", "1.0 GiB", "--max-memory"]);
}

#[test]
fn more_threads_than_any_machine_has_are_capped() {
    let scratch = Scratch::new();
    scratch.file("code.json", &code(10, 2, 1));
    scratch.file("s.toml", &study("20"));
    let class = "--task parity --lengths 3";
    for command in [
        format!("certify --code code.json {class}"),
        format!("escape --code code.json {class} --out path.json"),
        "check path.json".to_owned(),
        format!("enumerate {class}"),
        format!("cavi --tau 1 --iterations 1 --runs 30 {class}"),
        format!("chain --kernel metropolis --tau 1 --sweeps 1 --chains 30 {class}"),
        "run s.toml --out out".to_owned(),
        "collect out".to_owned(),
    ] {
        let one = scratch.json(&words(&format!("{command} --threads 1")));
        if command.starts_with("run") {
            std::fs::remove_dir_all(scratch.path().join("out")).unwrap();
        }
        // Every command takes its threads from one place: all of them are given the most, one is given others.
        let several = ["18446744073709551615", "4097", "10000000"];
        let tried = if command.starts_with("check") { 3 } else { 1 };
        for threads in &several[..tried] {
            let many = scratch.json(&words(&format!("{command} --threads {threads}")));
            let same = |value: &Value| {
                let mut value = value.clone();
                for key in ["done_now", "done_before"] {
                    value.as_object_mut().unwrap().remove(key);
                }
                value
            };
            assert_eq!(same(&many), same(&one), "{command} --threads {threads}");
        }
    }
    let said = ["'18446744073709551616'", "--threads"];
    refuses(
        &scratch,
        "task --task z:3 --threads 18446744073709551616",
        &said,
    );
}

#[test]
fn counts_beyond_all_memory_are_refused_before_the_start() {
    let scratch = Scratch::new();
    scratch.file("code.json", &code(10, 2, 1));
    let class = "--task parity --lengths 3";
    let network = format!("{class} --backend cpu");
    for (command, said) in [
        (
            "family --task parity --length 3 --runs N".to_owned(),
            "--runs N",
        ),
        (
            "family --task parity --length N".to_owned(),
            "the complete codes",
        ),
        (format!("distill {network} --runs N"), "--runs N"),
        (
            format!("distill {network} --width N"),
            "width is N; at most",
        ),
        (format!("distill {network} --mlp N"), "mlp is N; at most"),
        (
            "train --task parity --backend cpu --runs N".to_owned(),
            "--runs N",
        ),
        (
            "train --task parity --backend cpu --mlp N".to_owned(),
            "mlp is N; at most",
        ),
        (
            "train --task parity --backend cpu --vocabulary N".to_owned(),
            "vocabulary is N; at most",
        ),
        (format!("barrier {network} --points N"), "--points N"),
        (format!("barrier {network} --mlp N"), "mlp is N; at most"),
        (
            format!("free-energy {class} --tau 0.1 --replicas N"),
            "N replicas",
        ),
        (
            format!("free-energy {class} --tau 0.1 --runs N"),
            "--runs N",
        ),
        (
            format!("free-energy {class} --tau 0.1 --samples N"),
            "--samples N",
        ),
        (format!("overlap {class} --tau 0.1 --sweeps N"), "N sweeps"),
        (
            format!("escape --code code.json {class} --search --cap N"),
            "N proposals",
        ),
        (
            format!("cavi {class} --tau 1 --iterations 3 --runs N"),
            "N runs",
        ),
    ] {
        for number in ["1000000000000", "18446744073709551615"] {
            let said = said.replace('N', number);
            refuses(&scratch, &command.replace('N', number), &[&said]);
        }
    }
}

#[cfg(unix)]
#[test]
fn many_short_runs_hear_ctrl_c() {
    let scratch = Scratch::new();
    scratch.file("s.toml", &study("900000000"));
    let class = "--task parity --lengths 3 --tau 1e-3 --max-memory 99GiB --json";
    for command in [
        format!("cavi --iterations 1 --runs 1500000 {class}"),
        format!("chain --kernel metropolis --sweeps 1 --chains 1500000 {class}"),
        "run s.toml --max-memory 99GiB".to_owned(),
        "run s.toml --max-memory 99GiB --dry-run".to_owned(),
        "enumerate --task z:3 --lengths 4".to_owned(),
    ] {
        let wait = Duration::from_millis(700);
        let begun = Instant::now();
        let run = scratch.run_and_interrupt(&words(&command), wait);
        let took = begun.elapsed() - wait;
        assert_eq!(run.code, Some(130), "{command}: {}", run.errors);
        // A second or two; a busy machine may need more to print a million runs.
        assert!(took < Duration::from_secs(8), "{command}: {took:?}");
        if command.contains("--json") {
            let found: Value = serde_json::from_str(&run.text).unwrap();
            assert_eq!(found["interrupted"], true);
        } else {
            assert_eq!(run.text, "");
        }
    }
}

#[test]
fn a_name_too_long_for_files_is_refused_at_once() {
    let scratch = Scratch::new();
    let long = "a".repeat(240);
    for (table, key) in [("[[class]]", "class"), ("[[dynamics]]", "dynamics")] {
        let id = format!("{table}\nid = \"{long}\"");
        scratch.file("s.toml", &study("3").replace(table, &id));
        let said = [key, "id = ", &long, "up to 100"];
        refuses(&scratch, "run s.toml", &said);
    }
    scratch.file(
        "s.toml",
        &study("3").replace("\"s\"", &format!("\"{long}\"")),
    );
    refuses(&scratch, "run s.toml", &["name = ", &long, "up to 100"]);
    // One of 100 is taken, checkpoints and all.
    let most = "b".repeat(100);
    let id = format!("[[class]]\nid = \"{most}\"");
    scratch.file("s.toml", &study("3").replace("[[class]]", &id));
    let run = ["run", "s.toml", "--checkpoint-every", "0.000001"];
    scratch.run(&run).success();
}

#[cfg(target_os = "linux")]
#[test]
fn an_endless_file_is_refused() {
    let scratch = Scratch::new();
    scratch.file("code.json", &code(10, 2, 1));
    let class = "--task parity --lengths 3";
    for command in [
        "task --task file:/dev/zero".to_owned(),
        "cells --task parity --lengths 3 --inputs product:/dev/zero".to_owned(),
        format!("eval --code /dev/zero {class}"),
        "run /dev/zero".to_owned(),
        "check /dev/zero".to_owned(),
        format!("gauge --code code.json --relabel /dev/zero {class}"),
    ] {
        let run = scratch.run(&words(&command));
        assert_eq!((run.code, &run.text[..]), (Some(2), ""), "{command}");
        // A study may be of 16 MiB, data of more.
        let most = if command.starts_with("run") {
            "larger than 16.0 MiB, or endless"
        } else {
            "larger than 1.0 GiB, or endless"
        };
        for part in ["/dev/zero", most] {
            assert!(run.errors.contains(part), "{command}: {}", run.errors);
        }
    }
}

#[test]
fn a_large_random_square_says_that_it_takes_a_while() {
    let scratch = Scratch::new();
    let mut command = scratch.command(&words("task --task random:300 --json"));
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = String::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    lines.read_line(&mut errors).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let said = "a uniform Latin square of 300 symbols takes a while";
    assert!(errors.contains(said), "{errors}");
}
