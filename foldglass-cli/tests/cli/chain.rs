//! Holds `chain` to its form, its refusals and outcomes that are known.

use serde_json::{Value, json};

use crate::mistakes::refuses;
use crate::support::{Scratch, words};

/// Runs words split at spaces, with `--json`.
fn chain(scratch: &Scratch, words: &str) -> Value {
    let args: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    scratch.report(&[&["chain"], &args[..]].concat())
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(|k| &k[..]).collect()
}

fn list(object: &Value) -> &Vec<Value> {
    object.as_array().unwrap()
}

const COLD: &str = "--kernel heat-bath --tau 1e-13 --task parity --lengths 10";

#[test]
fn the_json_has_the_form_of_the_contract() {
    let scratch = Scratch::new();
    let found = chain(&scratch, &format!("{COLD} --sweeps 3 --chains 10"));
    assert_eq!(keys(&found), ["chains", "convergence"]);
    let chains = list(&found["chains"]);
    assert_eq!(chains.len(), 10);
    for (number, chain) in (0..).zip(chains) {
        let mut keys = keys(chain);
        keys.sort_unstable();
        assert_eq!(
            keys,
            [
                "actions",
                "autocorrelation_time",
                "chain",
                "effective_size",
                "last_change",
                "mean_reward",
                "reward",
                "reward_exact",
                "sweeps_done",
                "sweeps_to_optimum",
                "sweeps_to_stationary"
            ]
        );
        assert_eq!(
            (&chain["chain"], &chain["sweeps_done"]),
            (&json!(number), &json!(3))
        );
        assert_eq!(list(&chain["actions"]).len(), 4 * 10 - 2);
        assert_eq!(chain["sweeps_to_stationary"], Value::Null);
        assert!(chain["reward"].is_f64() && chain["reward_exact"].is_string());
    }
    assert_ne!(chains[0]["actions"], chains[1]["actions"]);
    assert_ne!(chains[0]["actions"], chains[8]["actions"]);
}

#[test]
fn warm_chains_say_what_their_draws_are_worth() {
    let scratch = Scratch::new();
    let warm = "--kernel heat-bath --tau 0.05 --task parity --lengths 4 --sweeps 4000 --chains 4";
    let found = chain(&scratch, warm);
    let convergence = &found["convergence"];
    let value = |key: &str| convergence[key].as_f64().unwrap();
    assert_eq!((value("every"), value("draws")), (1.0, 2000.0));
    assert!((0.99..1.05).contains(&value("r_hat")), "{convergence}");
    for key in ["ess_bulk", "ess_tail", "ess_mean"] {
        assert!((50.0..8000.0 * 4.0).contains(&value(key)), "{convergence}");
    }
    // Sokal's window on each chain, Geyer's rule on all of them: two ways to the same size.
    let sizes = list(&found["chains"]).iter().map(|chain| {
        let (time, size) = (&chain["autocorrelation_time"], &chain["effective_size"]);
        let (time, size) = (time.as_f64().unwrap(), size.as_f64().unwrap());
        assert!((size - 2000.0 / (2.0 * time)).abs() < 1e-9);
        size
    });
    let ratio = sizes.sum::<f64>() / value("ess_mean");
    assert!((0.7..1.4).contains(&ratio), "{ratio}");
    // Recording J changes nothing; recording less of it, only what is made of it.
    assert_eq!(found, chain(&scratch, &format!("{warm} --record r")));
    let thinned = chain(&scratch, &format!("{warm} --record r --record-every 4"));
    assert_eq!(thinned["convergence"]["draws"], 500);
    assert_eq!(
        thinned["chains"][0]["actions"],
        found["chains"][0]["actions"]
    );
    let said = scratch.run(&words(&format!("chain {warm}")));
    let said = said.success();
    for part in [
        "\nR-hat 1.0",
        "8000 draws of the second half are worth ",
        "autocorrelation time ",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn chains_that_do_not_move_say_nothing_of_convergence_nor_those_whose_temperature_does() {
    let scratch = Scratch::new();
    let frozen = chain(&scratch, &format!("{COLD} --sweeps 400 --chains 3"));
    for key in ["r_hat", "ess_bulk", "ess_tail", "ess_mean"] {
        assert_eq!(frozen["convergence"][key], Value::Null);
    }
    assert_eq!(frozen["chains"][1]["autocorrelation_time"], Value::Null);
    let cooled = "--kernel heat-bath --anneal linear:1,0,50 --task parity --lengths 3 --sweeps 90 --chains 3";
    let cooled = chain(&scratch, cooled);
    assert_eq!(keys(&cooled), ["chains"]);
    assert!(cooled["chains"][0].get("effective_size").is_none());
}

#[test]
fn cold_parity_chains_all_reach_the_optimum() {
    let scratch = Scratch::new();
    let found = chain(&scratch, &format!("{COLD} --sweeps 300 --chains 16"));
    for chain in list(&found["chains"]) {
        assert_eq!(chain["reward_exact"], "1/1");
        assert_eq!(chain["reward"], json!(1.0));
    }
}

#[test]
fn a_reward_that_stays_is_stationary_since_its_last_change() {
    let scratch = Scratch::new();
    let flags = format!("{COLD} --chains 8 --record j.jsonl --sweeps");
    let found = chain(&scratch, &format!("{flags} 5300"));
    let record = scratch.read("j.jsonl");
    let lines: Vec<Value> = record
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 8);
    for ((number, line), chain) in (0..).zip(&lines).zip(list(&found["chains"])) {
        assert_eq!(
            (&line["chain"], &line["denominator"]),
            (&json!(number), &json!("1024"))
        );
        let rewards: Vec<u32> = list(&line["rewards"])
            .iter()
            .map(|reward| reward.as_str().unwrap().parse().unwrap())
            .collect();
        assert_eq!(rewards.len(), 5300);
        // Sweeps are counted from 1, and the first differs from the random start.
        let before = rewards
            .iter()
            .rposition(|reward| reward != rewards.last().unwrap());
        let changed = before.map_or(1, |before| before + 2);
        assert_eq!(chain["sweeps_to_stationary"], json!(changed));
        let late = rewards[2650..].iter().sum::<u32>() as f64;
        let mean = chain["mean_reward"].as_f64().unwrap();
        assert!((mean - late / 2650.0 / 1024.0).abs() < 1e-15);
    }
    let short = chain(&scratch, &format!("{flags} 5000"));
    for chain in list(&short["chains"]) {
        assert_eq!(chain["sweeps_to_stationary"], Value::Null);
    }
}

#[test]
fn the_output_does_not_depend_on_the_number_of_threads() {
    let scratch = Scratch::new();
    for flags in [
        "--tau 1e-3",
        "--tau 1e-3 --order cell",
        "--tau 1e-3 --tied --window 0,1",
        "--anneal geometric:1e-1,1e-4,20",
        "--ladder 0,1e-3,1e-2",
    ] {
        let words = format!(
            "chain --kernel metropolis {flags} --sweeps 25 --chains 37 --task z:3 --lengths 4 \
             --json --record r --threads"
        );
        let output = |threads: &str| {
            let args: Vec<&str> = words.split(' ').chain([threads]).collect();
            (scratch.run(&args).success().to_owned(), scratch.read("r"))
        };
        assert_eq!(output("1"), output("2"), "{flags}");
        assert_eq!(output("1"), output("5"), "{flags}");
    }
}

#[test]
fn a_seed_gives_its_chains_again_and_another_seed_gives_others() {
    let scratch = Scratch::new();
    let words = "--kernel heat-bath --tau 0.01 --sweeps 9 --chains 3 --task z:3 --lengths 4 --seed";
    let [one, again, other] =
        ["1", "1", "2"].map(|seed| chain(&scratch, &format!("{words} {seed}")));
    assert_eq!(one, again);
    assert_ne!(one, other);
    // A chain is the same however many run beside it.
    let more = words.replace("--chains 3", "--chains 11");
    let more = chain(&scratch, &format!("{more} 1"));
    assert_eq!(list(&one["chains"])[..], list(&more["chains"])[..3]);
}

#[test]
fn a_given_code_is_where_every_chain_starts() {
    let scratch = Scratch::new();
    let words = "--kernel heat-bath --tau 0 --sweeps 6000 --chains 9 --task parity --lengths 4";
    let best = chain(&scratch, &words.replace("6000", "200"));
    let code = json!({"actions": best["chains"][0]["actions"]});
    assert_eq!(best["chains"][0]["reward_exact"], "1/1");
    scratch.file("code.json", &code.to_string());
    let found = chain(&scratch, &format!("{words} --start code.json"));
    for chain in list(&found["chains"]) {
        assert_eq!(chain["reward_exact"], "1/1");
        assert_eq!(chain["sweeps_to_stationary"], json!(0));
        assert_eq!(chain["mean_reward"], json!(1.0));
    }
}

#[test]
fn a_schedule_of_one_temperature_is_that_temperature() {
    let scratch = Scratch::new();
    let words = "--kernel heat-bath --sweeps 20 --chains 9 --task z:3 --lengths 4";
    // Of a schedule nothing is said of convergence.
    let chains = |heat: &str| -> Vec<Value> {
        let mut found = chain(&scratch, &format!("{words} {heat}"));
        let chains = found["chains"].as_array_mut().unwrap();
        for chain in chains.iter_mut() {
            let chain = chain.as_object_mut().unwrap();
            chain.retain(|key, _| key != "autocorrelation_time" && key != "effective_size");
        }
        chains.clone()
    };
    let tau = chains("--tau 0.01");
    assert_eq!(tau, chains("--anneal 0.01"));
    assert_ne!(tau, chains("--anneal geometric:1,0.01,20"));
}

#[test]
fn a_ladder_reports_its_swaps_and_round_trips() {
    let scratch = Scratch::new();
    let words = "--kernel heat-bath --ladder 0,0.02,0.04,0.08 --sweeps 500 --chains 3 \
                 --task parity --lengths 4";
    let found = chain(&scratch, words);
    assert_eq!(keys(&found), ["chains", "convergence", "tempering"]);
    let tempering = &found["tempering"];
    assert_eq!(tempering["ladder"], json!([0.0, 0.02, 0.04, 0.08]));
    assert_eq!(list(&tempering["runs"]).len(), 3);
    for (chain, run) in list(&found["chains"]).iter().zip(list(&tempering["runs"])) {
        assert_eq!(chain["reward_exact"], "1/1");
        let number = |value: &Value| value.as_f64().unwrap();
        let rates = list(&run["swap_rates"]);
        assert_eq!(rates.len(), 3);
        assert!(
            rates
                .iter()
                .all(|rate| (0.05..=1.0).contains(&number(rate)))
        );
        assert!(run["round_trips"].as_u64().unwrap() > 0);
        let means: Vec<f64> = list(&run["mean_rewards"]).iter().map(number).collect();
        assert_eq!((means.len(), means[0]), (4, number(&chain["mean_reward"])));
        assert!(
            means.is_sorted_by(|cold, hot| cold >= hot) && means[3] < 0.9,
            "{means:?}"
        );
    }
    let args: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    let text = scratch.run(&[&["chain"], &args[..]].concat());
    assert!(text.success().contains("round trips: "), "{}", text.text);
}

#[test]
fn a_person_reads_a_summary_and_a_line_for_each_of_the_first_chains() {
    let scratch = Scratch::new();
    let words = format!("chain {COLD} --sweeps 300 --chains 30");
    let run = scratch.run(&words.split(' ').collect::<Vec<_>>());
    let text = run.success();
    for part in [
        "reward J             30     1   0",
        "J exactly 1: 30/30",
        "\n   19  1    1/1 ",
        "\nand 10 more; --json has all\n",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!text.contains("\n   20 "), "{text}");
}

#[test]
fn what_no_chain_can_do_is_refused() {
    let scratch = Scratch::new();
    let class = "--task parity --lengths 4";
    let words = |kernel: &str, tau: &str, sweeps: &str, chains: &str| {
        format!("chain --kernel {kernel} --tau {tau} --sweeps {sweeps} --chains {chains} {class}")
    };
    for tau in ["-1", "nan", "inf", "cold", "-0.001"] {
        let said = [tau, "--tau", "at least 0"];
        refuses(&scratch, &words("metropolis", tau, "5", "5"), &said);
    }
    for (sweeps, chains, flag) in [
        ("5", "0", "--runs"),
        ("0", "5", "--sweeps"),
        ("-5", "5", "-5"),
    ] {
        let said = [flag, "at least 1"];
        refuses(&scratch, &words("metropolis", "1", sweeps, chains), &said);
    }
    let said = ["gibbs", "--kernel", "metropolis", "heat-bath"];
    refuses(&scratch, &words("gibbs", "1", "5", "5"), &said);
    let good = words("heat-bath", "1", "5", "5");
    let said = ["random", "--order", "step", "forward", "cell"];
    refuses(&scratch, &format!("{good} --order random"), &said);
    for order in ["step", "forward"] {
        let said = ["--order", order, "tied", "cell is needed"];
        refuses(&scratch, &format!("{good} --tied --order {order}"), &said);
    }
    let untempered = good.replace(" --tau 1", "");
    refuses(&scratch, &untempered, &["--tau", "--anneal", "--ladder"]);
    refuses(
        &scratch,
        &format!("{good} --anneal 1"),
        &["--tau", "--anneal"],
    );
    let said = ["log:1,2,3", "--anneal", "geometric:FROM,TO,SWEEPS"];
    refuses(&scratch, &format!("{untempered} --anneal log:1,2,3"), &said);
    for ladder in ["1,0.5", "-1,2", "1,,2", "hot"] {
        let said = ["--ladder", "needed"];
        refuses(&scratch, &format!("{untempered} --ladder {ladder}"), &said);
    }
    scratch.file("code.json", &format!("{{\"actions\":{:?}}}", [0; 14]));
    refuses(
        &scratch,
        &format!("{untempered} --ladder 0,1 --start code.json"),
        &["--start", "--ladder"],
    );
}

#[test]
fn files_that_cannot_be_used_are_refused() {
    let scratch = Scratch::new();
    let good = "chain --kernel heat-bath --tau 1 --sweeps 5 --chains 5 --task parity --lengths 1";
    refuses(
        &scratch,
        &format!("{good} --start none"),
        &["cannot read none"],
    );
    scratch.file("code.json", "{\"actions\":[0]}");
    let said = ["code.json", "1 entries", "2 cells"];
    refuses(&scratch, &format!("{good} --start code.json"), &said);
    let said = ["cannot write no/such/place"];
    refuses(&scratch, &format!("{good} --record no/such/place"), &said);
}

#[test]
fn rewards_too_fine_for_blocks_are_refused_with_what_is_exact() {
    let scratch = Scratch::new();
    let good = "chain --kernel heat-bath --tau 1 --sweeps 2 --chains 2 --task parity";
    let said = ["--order step:", "61 bits", "cell is needed"];
    refuses(
        &scratch,
        &format!("{good} --lengths 60 --order step"),
        &said,
    );
    let by_cells = scratch.run(&words(&format!("{good} --lengths 60 --order cell")));
    assert!(by_cells.success().contains("reward J"));
    // Where nobody asked for blocks, cells it is, with a word.
    let unasked = scratch.run(&words(&format!("{good} --lengths 60")));
    assert_eq!((unasked.code, &unasked.text), (Some(0), &by_cells.text));
    assert!(
        unasked.errors.contains("--order cell"),
        "{}",
        unasked.errors
    );
    assert_eq!(unasked.errors.lines().count(), 1, "{}", unasked.errors);
    let said = ["130 bits", "integers of at most"];
    refuses(
        &scratch,
        &format!("{good} --lengths 129 --order cell"),
        &said,
    );
}

#[test]
fn a_class_too_large_for_its_chains_is_refused_with_the_size_it_needs() {
    let scratch = Scratch::new();
    let good = "chain --kernel heat-bath --sweeps 2 --chains 9 --task quasigroup --lengths 7 \
                --window 0,3 --max-memory 500KiB";
    let good = good.replace("                ", "");
    let said = ["10775 cells needs 1.", " MiB: 500.0 KiB", "--max-memory"];
    refuses(&scratch, &format!("{good} --tau 1"), &said);
    let said = ["10775 cells needs 3.", " MiB: 500.0 KiB", "--max-memory"];
    refuses(&scratch, &format!("{good} --ladder 0,1"), &said);
}

#[cfg(unix)]
#[test]
fn interrupted_it_reports_the_chains_that_finished() {
    let scratch = Scratch::new();
    let flags = "chain --kernel heat-bath --tau 1e-3 --sweeps 20 --chains 900000 --task parity \
                 --lengths 10 --threads 2 --record r --json --max-memory 99GiB";
    let run = scratch.run_and_interrupt(&words(flags), std::time::Duration::from_millis(3000));
    assert_eq!(run.code, Some(130), "{}", run.errors);
    assert!(run.errors.contains("interrupted"), "{}", run.errors);
    let found: Value = serde_json::from_str(&run.text).unwrap();
    assert_eq!(found["interrupted"], json!(true));
    let finished = list(&found["chains"]).len();
    assert!((1..900_000).contains(&finished));
    assert_eq!(scratch.read("r").lines().count(), finished);
}

/// J of all 64 codes of parity with lengths 1 and 2, in the order of `cells`: two cells of the first
/// step, four of the second, by x and by y.
fn rewards_of_all_codes() -> Vec<([usize; 6], f64)> {
    let code = |n: usize| std::array::from_fn(|cell| n >> cell & 1);
    let reward = |code: &[usize; 6]| {
        let ones = (0..2).filter(|&x| code[x] == x).count() as f64 / 2.0;
        let pairs = (0..4).map(|n| (n & 1, n >> 1));
        let right = pairs.filter(|&(a, b)| code[2 + 2 * b + code[a]] == a ^ b);
        (ones + right.count() as f64 / 4.0) / 2.0
    };
    let codes = (0..64).map(code);
    codes.map(|code| (code, reward(&code))).collect()
}

#[test]
fn marginals_are_those_of_the_gibbs_measure() {
    let scratch = Scratch::new();
    let tau = 0.25;
    let all = rewards_of_all_codes();
    let z: f64 = all.iter().map(|(_, reward)| (reward / tau).exp()).sum();
    let exact = |cell: usize| {
        let ones = all.iter().filter(|(code, _)| code[cell] == 1);
        ones.map(|(_, reward)| (reward / tau).exp()).sum::<f64>() / z
    };
    // They are far from even, or the test could not fail.
    assert!(
        exact(0) < 0.3 && exact(1) > 0.7 && exact(3) > 0.55,
        "{}",
        exact(3)
    );
    let class = "--task parity --lengths 1,2 --sweeps 20000 --chains 8 --marginals m.json";
    for flags in [
        "--kernel heat-bath --tau 0.25",
        "--kernel metropolis --tau 0.25 --order cell",
        "--kernel metropolis --ladder 0.25,1",
    ] {
        chain(&scratch, &format!("{flags} {class}"));
        let policy: Value = serde_json::from_str(&scratch.read("m.json")).unwrap();
        assert_eq!(policy["format"], "foldglass-policy/1");
        let rows = list(&policy["rows"]);
        assert_eq!(rows.len(), 6);
        for (cell, row) in rows.iter().enumerate() {
            let [zero, one] = [0, 1].map(|action: usize| row[action].as_f64().unwrap());
            assert!((zero + one - 1.0).abs() < 1e-12);
            // 80,000 draws, correlated over a few sweeps: three standard errors are about 0.01.
            let gap = one - exact(cell);
            assert!(
                gap.abs() < 0.015,
                "{flags}: cell {cell}: {one}, not {}",
                exact(cell)
            );
        }
        // It is a policy like any other.
        scratch.run(&["eval", "--policy", "m.json"]).success();
    }
    let chain = "chain --kernel heat-bath --tau 1 --sweeps 5 --chains 5 --task parity --lengths 1";
    let said = ["cannot write no/such/file"];
    refuses(
        &scratch,
        &format!("{chain} --marginals no/such/file"),
        &said,
    );
}

#[test]
fn a_prior_weighs_codes_and_forbids_no_action() {
    let scratch = Scratch::new();
    let rows = |p: f64| json!({ "rows": vec![[p, 1.0 - p]; 6] }).to_string();
    scratch.file("prior.json", &rows(1e-6));
    scratch.file("forbids.json", &rows(0.0));
    let flags = "chain --task parity --lengths 2 --tau 1e3 --sweeps 50 --runs 8";
    let flags: Vec<&str> = flags.split(' ').collect();
    let held = scratch.json(&[&flags[..], &["--prior", "prior.json"]].concat());
    // So hot a chain is its prior, which has action 1 nearly always.
    for chain in held["chains"].as_array().unwrap() {
        assert_eq!(chain["actions"], json!([1, 1, 1, 1, 1, 1]));
    }
    let error = scratch.run(&[&flags[..], &["--prior", "forbids.json"]].concat());
    assert_eq!(error.code, Some(2));
    assert!(
        error.errors.contains("action 0 of cell 0"),
        "{}",
        error.errors
    );
}
