//! Holds `eval` to its form, and its numbers to the definition, walked input by input.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::support::Scratch;

/// A cyclic task, as flags and as what they mean: an input x has the probability
/// weight(x) / denominator(length), every length being equally likely.
struct Case {
    flags: Vec<&'static str>,
    q: usize,
    lengths: Vec<usize>,
    window: (usize, usize),
    tied: bool,
    weight: fn(&[usize]) -> u64,
    denominator: fn(usize) -> u64,
}

fn cases() -> Vec<Case> {
    let words = |text: &'static str| text.split(' ').collect();
    vec![
        Case {
            flags: words("--task parity --lengths 4 --inputs markov:9/10"),
            q: 2,
            lengths: vec![4],
            window: (0, 0),
            tied: false,
            weight: |x| {
                x.windows(2)
                    .map(|pair| if pair[0] == pair[1] { 9 } else { 1 })
                    .product()
            },
            denominator: |length| 2 * 10u64.pow(length as u32 - 1),
        },
        Case {
            flags: words("--task z:3 --lengths 2,3 --window 1,1"),
            q: 3,
            lengths: vec![2, 3],
            window: (1, 1),
            tied: false,
            weight: |_| 1,
            denominator: |length| 3u64.pow(length as u32),
        },
        Case {
            flags: words("--task z:3 --lengths 4 --window 0,1 --tied"),
            q: 3,
            lengths: vec![4],
            window: (0, 1),
            tied: true,
            weight: |_| 1,
            denominator: |length| 3u64.pow(length as u32),
        },
    ]
}

impl Case {
    fn cells(&self, scratch: &Scratch) -> Vec<Value> {
        let class = scratch.json(&[&["cells"], &self.flags[..]].concat());
        class["cells"].as_array().unwrap().clone()
    }

    fn evaluate(&self, scratch: &Scratch, table: &[&str]) -> Value {
        scratch.json(&[&["eval"], &self.flags[..], table].concat())
    }

    /// Every input with its probability.
    fn inputs(&self) -> Vec<(Vec<usize>, f64)> {
        let digits = |n: usize, length: usize| -> Vec<usize> {
            let powers = (0..length as u32).map(|i| self.q.pow(i));
            powers.map(|power| n / power % self.q).collect()
        };
        let mut list = Vec::new();
        for &length in &self.lengths {
            for x in (0..self.q.pow(length as u32)).map(|n| digits(n, length)) {
                let all = (self.denominator)(length) * self.lengths.len() as u64;
                let probability = (self.weight)(&x) as f64 / all as f64;
                list.push((x, probability));
            }
        }
        list
    }

    /// The cells a rollout consults and whether it earns the reward; `change` replaces the action
    /// taken at one step.
    fn rollout(
        &self,
        number: &HashMap<String, usize>,
        actions: &[usize],
        x: &[usize],
        change: Option<(usize, usize)>,
    ) -> (Vec<usize>, bool) {
        let (mut y, mut visited) = (Vec::new(), Vec::new());
        for t in 1..=x.len() as isize {
            let at = |i: isize| (i >= 1).then(|| x.get(i as usize - 1)).flatten();
            let window = t - self.window.0 as isize..=t + self.window.1 as isize;
            let x: Vec<Option<&usize>> = window.map(at).collect();
            let step = (!self.tied).then_some(t);
            let cell = number[&json!({"t": step, "x": x, "y": y.last()}).to_string()];
            visited.push(cell);
            y.push(match change {
                Some((changed, action)) if changed == visited.len() => action,
                _ => actions[cell],
            });
        }
        let target = x.iter().sum::<usize>() % self.q;
        (visited, y.last() == Some(&target))
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-14
}

#[test]
fn rewards_visits_and_values_of_codes_are_those_of_the_definition() {
    let scratch = Scratch::new();
    for case in cases() {
        let cells = case.cells(&scratch);
        let number = (0..)
            .zip(&cells)
            .map(|(n, key)| (key.to_string(), n))
            .collect();
        for salt in 0..4 {
            let actions: Vec<usize> = (0..cells.len())
                .map(|c| (c * c + c * salt + c / 3 + salt) % case.q)
                .collect();
            scratch.file("code.json", &json!({ "actions": actions }).to_string());
            let found = case.evaluate(&scratch, &["--code", "code.json"]);
            let (mut reward, mut visits) = (0.0, vec![0.0; cells.len()]);
            let mut values = vec![vec![0.0; case.q]; cells.len()];
            for (x, p) in case.inputs() {
                let (visited, right) = case.rollout(&number, &actions, &x, None);
                reward += if right { p } else { 0.0 };
                for (t, &cell) in (1..).zip(&visited) {
                    visits[cell] += p;
                    // Of one visit only: under tying dQ is not what changing the cell gives.
                    for (action, value) in values[cell].iter_mut().enumerate() {
                        let change = Some((t, action));
                        let (_, right) = case.rollout(&number, &actions, &x, change);
                        *value += if right { p } else { 0.0 };
                    }
                }
            }
            assert!(
                close(found["reward"].as_f64().unwrap(), reward),
                "{:?}",
                case.flags
            );
            for (cell, key) in cells.iter().enumerate() {
                let here = format!("{:?} {key}", case.flags);
                assert!(
                    close(found["visits"][cell].as_f64().unwrap(), visits[cell]),
                    "{here}"
                );
                for action in 0..case.q {
                    let value = found["values"][cell][action].as_f64().unwrap();
                    assert!(close(value, values[cell][action]), "{here}");
                }
            }
            let exact = found["reward_exact"].as_str().unwrap();
            let (num, den) = exact.split_once('/').unwrap();
            let ratio = num.parse::<f64>().unwrap() / den.parse::<f64>().unwrap();
            assert_eq!(found["reward"], json!(ratio), "{exact}");
        }
    }
}

/// The action B[y, x_t] at every cell, x_t where nothing was emitted yet.
fn solving_code(scratch: &Scratch, task: &str, class: &[&str], past: usize) -> String {
    let table = scratch.json(&["task", "--task", task])["table"].clone();
    let cells = scratch.json(&[&["cells", "--task", task], class].concat());
    let symbol = |value: &Value| value.as_u64().map(|symbol| symbol as usize);
    let action = |cell: &Value| {
        let x = symbol(&cell["x"][past]).unwrap();
        let y = cell["y"]
            .as_array()
            .map_or(&cell["y"], |tokens| tokens.last().unwrap());
        symbol(y).map_or(json!(x), |y| table[y][x].clone())
    };
    let actions: Vec<Value> = cells["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(action)
        .collect();
    json!({ "actions": actions }).to_string()
}

#[test]
fn a_code_that_folds_earns_exactly_one_in_every_class() {
    let scratch = Scratch::new();
    scratch.file(
        "law.json",
        "[[0.1, 0.2, 0.3, \"1/5\", 0.2], [0, 0, 1, 0, 0], [\"1/3\", \"1/3\", \"1/3\", 0, 0.0]]",
    );
    let classes: [(&str, &[&str], usize); 7] = [
        ("quasigroup", &["--lengths", "8"], 0),
        ("quasigroup", &["--lengths", "5", "--window", "1,1"], 1),
        (
            "quasigroup",
            &["--lengths", "5", "--window", "0,2", "--tied"],
            0,
        ),
        ("quasigroup", &["--lengths", "3,4,5", "--window", "2,1"], 2),
        ("quasigroup", &["--lengths", "4", "--memory", "2"], 0),
        (
            "quasigroup",
            &["--lengths", "3", "--inputs", "product:law.json"],
            0,
        ),
        ("parity", &["--lengths", "150", "--inputs", "markov:0.9"], 0),
    ];
    for (task, class, past) in classes {
        scratch.file("code.json", &solving_code(&scratch, task, class, past));
        let flags = [&["eval", "--task", task, "--code", "code.json"], class].concat();
        let found = scratch.json(&flags);
        assert_eq!(found["reward_exact"], "1/1", "{class:?}");
        assert_eq!(found["reward"], json!(1.0));
    }
}

#[test]
fn the_json_of_a_code_has_the_form_of_the_contract() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[0,1,0,1,1,1]}");
    let flags = ["--lengths", "2", "--code", "code.json"];
    let found = scratch.report(&[&["eval", "--task", "parity"], &flags[..]].concat());
    assert_eq!(
        found,
        json!({
            "reward": 0.75,
            "reward_exact": "3/4",
            "visits": [0.5, 0.5, 0.25, 0.25, 0.25, 0.25],
            "values": [[0.5, 0.25], [0.0, 0.25], [0.25, 0.0], [0.0, 0.25], [0.0, 0.25], [0.25, 0.0]],
        })
    );
}

/// The policy file with the same row in each of `cells` cells.
fn constant_policy(cells: usize, row: &str) -> String {
    format!("{{\"rows\":[{}]}}", vec![row; cells].join(","))
}

#[test]
fn the_uniform_policy_earns_a_fifth_and_has_no_exact_reward() {
    let scratch = Scratch::new();
    scratch.file("policy.json", &constant_policy(80, "[0.2,0.2,0.2,0.2,0.2]"));
    let flags = ["--lengths", "4", "--policy", "policy.json"];
    let found = scratch.json(&[&["eval", "--task", "quasigroup"], &flags[..]].concat());
    assert!(
        close(found["reward"].as_f64().unwrap(), 0.2),
        "{}",
        found["reward"]
    );
    assert!(found.get("reward_exact").is_none());
    assert_eq!(found["visits"].as_array().unwrap().len(), 80);
    assert_eq!(found["values"][79].as_array().unwrap().len(), 5);
}

#[test]
fn the_policy_of_a_code_has_the_visits_and_values_of_the_code() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[0,1,0,0,1,0]}");
    scratch.file(
        "policy.json",
        "{\"rows\":[[1,0],[0,1],[1,0],[1,0],[0,1],[1,0.0]]}",
    );
    let flags = [
        "eval",
        "--task",
        "parity",
        "--lengths",
        "2",
        "--inputs",
        "markov:1/3",
    ];
    let code = scratch.json(&[&flags[..], &["--code", "code.json"]].concat());
    let policy = scratch.json(&[&flags[..], &["--policy", "policy.json"]].concat());
    assert_eq!(code["visits"], policy["visits"]);
    assert_eq!(code["values"], policy["values"]);
    assert_eq!(code["reward_exact"], "2/3");
    let [a, b] = [&code, &policy].map(|found| found["reward"].as_f64().unwrap());
    assert!(close(a, b) && close(a, 2.0 / 3.0));
}

#[test]
fn decimals_of_a_product_law_are_read_exactly() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[0,0]}");
    let flags = ["eval", "--task", "parity", "--lengths", "1"];
    let files = ["--code", "code.json", "--inputs", "product:law.json"];
    for (law, exact) in [
        ("[[\"1/3\",\"2/3\"]]", "1/3"),
        ("[[0.1,0.9]]", "1/10"),
        ("[[1e-3,\"0.999\"]]", "1/1000"),
        (
            "[[0.100000000000000001,0.899999999999999999]]",
            "100000000000000001/1000000000000000000",
        ),
    ] {
        scratch.file("law.json", law);
        let found = scratch.json(&[&flags[..], &files].concat());
        assert_eq!(found["reward_exact"], exact, "{law}");
    }
}

#[test]
fn a_dash_reads_stdin() {
    let scratch = Scratch::new();
    let flags = ["eval", "--task", "parity", "--lengths", "1", "--json"];
    let code = scratch.run_with_stdin(
        &[&flags[..], &["--code", "-"]].concat(),
        "{\"actions\":[0,1]}",
    );
    assert_eq!(code.json()["reward_exact"], "1/1");
    let rows = "{\"rows\":[[1,0],[0.5,0.5]]}\n";
    let policy = scratch.run_with_stdin(&[&flags[..], &["--policy", "-"]].concat(), rows);
    assert_eq!(policy.json()["reward"], json!(0.75));
}

#[test]
fn numbers_are_written_so_that_they_read_back_the_same() {
    let scratch = Scratch::new();
    let p = 0.1 + 0.2;
    scratch.file(
        "policy.json",
        &json!({"rows": [[p, 1.0 - p], [1.0 / 3.0, 2.0 / 3.0]]}).to_string(),
    );
    let found = scratch.json(&[
        "eval",
        "--task",
        "parity",
        "--lengths",
        "1",
        "--policy",
        "policy.json",
    ]);
    assert_eq!(found["reward"].as_f64(), Some(0.5 * p + 0.5 * (2.0 / 3.0)));
}

#[test]
fn a_person_sees_the_reward_and_on_demand_every_cell() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[0,0,0,1,1,0]}");
    let flags = [
        "eval",
        "--task",
        "parity",
        "--lengths",
        "2",
        "--code",
        "code.json",
    ];
    let summary = "\
reward J        0.5 = 1/2
cells           6, 2 never visited
largest visits  0.5
entropy         0 nats a cell = 0 ln q
";
    assert_eq!(scratch.run(&flags).success(), summary);
    let list = "
cell  t  x    y    action  d            dQ
   0  1  0    SEP  0       0.5          0.5         0
   1  1  1    SEP  0       0.5          0           0.5
   2  2  0    0    0       0.5          0.25        0.25
   3  2  0    1    1       0            0           0
   4  2  1    0    1       0.5          0.25        0.25
   5  2  1    1    0       0            0           0
";
    let run = scratch.run(&[&flags[..], &["--list"]].concat());
    assert_eq!(run.success(), format!("{summary}{list}"));
    scratch.file("policy.json", &constant_policy(2, "[0.25,0.75]"));
    let run = scratch.run(&[
        "eval",
        "--task",
        "parity",
        "--lengths",
        "1",
        "--policy",
        "policy.json",
        "--list",
    ]);
    assert!(
        run.success().starts_with("reward J        0.5\n"),
        "{}",
        run.text
    );
    assert!(run.text.contains("0.25        0.75"), "{}", run.text);
}

#[test]
fn estimators_objectives_and_single_inputs_have_their_keys_and_their_numbers() {
    let scratch = Scratch::new();
    scratch.file("policy.json", &constant_policy(2, "[0.5,0.5]"));
    let flags = "eval --task parity --lengths 1 --policy policy.json";
    let flags: Vec<&str> = flags.split(' ').collect();
    let more = "--estimator reinforce --batch 4 --objective pass@2 --per-input";
    let more: Vec<&str> = more.split(' ').collect();
    let found = scratch.json(&[&flags[..], &more].concat());
    // The gradient is 1/8 or -1/8 in four components, the variance of one sample 3/64 in each.
    let expected = json!({
        "name": "reinforce", "batch": 4, "signal": 0.0625, "signal_resolved": true, "bias": 0.0,
        "cosine": 1.0, "variance": 3.0 / 64.0, "snr": 4.0 / 3.0,
    });
    assert_eq!(found["estimator"], expected);
    assert_eq!(found["objective"], json!(0.75));
    // The slope 2 (1 - p) = 1 times the probability 1/2 of the input, for its right answer.
    assert_eq!(found["objective_values"], json!([[0.5, 0.0], [0.0, 0.5]]));
    let listed = json!([
        {"x": [0], "probability": "1/2", "success": 0.5},
        {"x": [1], "probability": "1/2", "success": 0.5},
    ]);
    assert_eq!(found["per_input"], listed);
    let error = scratch.run(&[&flags[..], &["--estimator", "rloo:1"]].concat());
    assert_eq!(error.code, Some(2));
    assert!(
        error.errors.contains("write rloo:2 or more"),
        "{}",
        error.errors
    );
    let tied = [&flags[..], &["--tied", "--estimator", "rloo:2"]].concat();
    let error = scratch.run(&tied);
    assert_eq!(error.code, Some(2));
    assert!(
        error.errors.contains("untied classes only"),
        "{}",
        error.errors
    );
    let run = scratch.run(&[&flags[..], &more].concat());
    let text = run.success();
    assert!(text.contains("snr           1.33333"), "{text}");
}
