//! Holds the tables of docs/sampled.md to the numbers that `reproduce ext:sampled ext:objectives` left in
//! results/sampled.json, the sentences beside them to the tables, and those numbers to the program.
//!
//! `cargo xtask sampled DIR` writes both files; it runs the test of the page with FOLDGLASS_SAMPLED=write.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The numbers of a reproduction: those of results/sampled.json.
struct Numbers(Vec<Value>);

impl Numbers {
    fn committed() -> Numbers {
        let text = fs::read_to_string(root("results/sampled.json")).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(file["scale"], "short");
        Numbers(file["rows"].as_array().unwrap().clone())
    }

    fn row(&self, class: &str, quantity: &str) -> &Value {
        let own = |row: &&Value| row["row"] == class && row["quantity"] == quantity;
        let row = self.0.iter().find(own);
        row.unwrap_or_else(|| panic!("{class}: {quantity}"))
    }

    fn ours(&self, class: &str, quantity: &str) -> f64 {
        let row = self.row(class, quantity);
        row["ours"].as_f64().unwrap_or_else(|| panic!("{row}"))
    }

    /// How many runs are of a kind, which a row says as a share.
    fn count(&self, class: &str, quantity: &str) -> u64 {
        let row = self.row(class, quantity);
        (self.ours(class, quantity) * row["n"].as_f64().unwrap()).round() as u64
    }

    /// A number with its 95 % interval.
    fn with_interval(&self, class: &str, quantity: &str, show: fn(f64) -> String) -> String {
        let row = self.row(class, quantity);
        let end = |n: usize| {
            show(
                row["interval"][n]
                    .as_f64()
                    .unwrap_or_else(|| panic!("{row}")),
            )
        };
        let ours = self.ours(class, quantity);
        format!("{} ({} to {})", show(ours), end(0), end(1))
    }

    fn mean(&self, class: &str, quantity: &str) -> String {
        self.with_interval(class, quantity, |mean| format!("{mean:.3}"))
    }

    fn ratio(&self, class: &str, quantity: &str) -> String {
        self.with_interval(class, quantity, significant)
    }

    /// A mean with its interval, and the runs at 1.
    fn ends(&self, class: &str, source: &str, point: &str) -> String {
        let mean = self.mean(class, &format!("J, {source}, {point}"));
        let at_one = self.count(class, &format!("at 1, {source}, {point}"));
        format!("{mean} | {at_one}")
    }
}

/// Two significant digits, with a power of ten where the number is small.
fn significant(number: f64) -> String {
    match number {
        n if n >= 10.0 => format!("{n:.0}"),
        n if n >= 1.0 => format!("{n:.1}"),
        n if n >= 0.1 => format!("{n:.2}"),
        n if n >= 0.01 => format!("{n:.3}"),
        n if n >= 0.001 => format!("{n:.4}"),
        n => format!("{n:.1e}"),
    }
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    match number {
        n if n < 1000 => n.to_string(),
        n => format!("{},{:03}", grouped(n / 1000), n % 1000),
    }
}

const BATCH_CLASSES: [&str; 3] = ["parity T=6", "Z_5 T=2", "quasigroup T=3"];
const BATCHES: [u64; 5] = [32, 128, 512, 2048, 8192];
const RATES: [u64; 5] = [5, 50, 500, 5_000, 50_000];

fn batches(numbers: &Numbers) -> String {
    let mut text = "| class | inputs per update | updates | sampled | at 1 | exact | at 1 | sampled minus exact |\n\
                    |---|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for class in BATCH_CLASSES {
        for batch in BATCHES {
            let (inputs, updates) = (grouped(batch), grouped((1 << 19) / batch));
            let point = format!("batch {batch}");
            let [sampled, exact] = ["sampled", "exact"].map(|of| numbers.ends(class, of, &point));
            let noise = numbers.mean(class, &format!("J, sampled minus exact, {point}"));
            writeln!(
                text,
                "| {class} | {inputs} | {updates} | {sampled} | {exact} | {noise} |"
            )
            .unwrap();
        }
    }
    text
}

fn rates(numbers: &Numbers) -> String {
    let class = "quasigroup T=4";
    let mut text = "| learning rate | sampled | at 1 | exact | at 1 | sampled minus exact |\n|--:|--:|--:|--:|--:|--:|\n".to_owned();
    for rate in RATES {
        let point = format!("learning rate {rate}");
        let [sampled, exact] = ["sampled", "exact"].map(|of| numbers.ends(class, of, &point));
        let noise = numbers.mean(class, &format!("J, sampled minus exact, {point}"));
        writeln!(
            text,
            "| {} | {sampled} | {exact} | {noise} |",
            grouped(rate)
        )
        .unwrap();
    }
    text
}

fn groups(numbers: &Numbers) -> String {
    let class = "quasigroup T=3";
    let mut text = "| estimator | mean greedy reward | at 1 |\n|---|--:|--:|\n".to_owned();
    writeln!(
        text,
        "| `batch-mean` | {} |",
        numbers.ends(class, "sampled", "batch 512")
    )
    .unwrap();
    for name in ["rloo:2", "rloo:8", "grpo:2", "grpo:8", "dr-grpo:8"] {
        let ends = numbers.ends(class, "sampled", &format!("{name}, 512 rollouts"));
        writeln!(text, "| `{name}` | {ends} |").unwrap();
    }
    text
}

fn curricula(numbers: &Numbers) -> String {
    let mut text =
        "| lengths | gradients | opened | mean greedy reward | at 1 |\n|---|---|---|--:|--:|\n"
            .to_owned();
    let mut line = |class: &str, source: &str, point: &str| {
        let opened = match point {
            "curriculum" => "one after another",
            _ => "from the start",
        };
        let ends = numbers.ends(class, source, point);
        writeln!(text, "| {class} | {source} | {opened} | {ends} |").unwrap();
    };
    line("quasigroup T=6", "sampled", "no curriculum");
    for point in ["no curriculum", "curriculum"] {
        line("quasigroup T=1..6", "sampled", point);
    }
    for class in ["parity T=1..8", "Z_5 T=1..8", "quasigroup T=1..8"] {
        line(class, "exact", "no curriculum");
        line(class, "sampled", "no curriculum");
        line(class, "sampled", "curriculum");
    }
    text
}

const TASKS: [&str; 3] = ["parity", "Z_5", "quasigroup"];

fn by_length(numbers: &Numbers) -> String {
    let mut text = "| T | parity | Z_5 | quasigroup |\n|--:|--:|--:|--:|\n".to_owned();
    for length in 1..=8 {
        let quantity = format!("signal to noise, batch 512, T = {length}");
        let ratios = TASKS.map(|task| numbers.ratio(task, &quantity)).join(" | ");
        writeln!(text, "| {length} | {ratios} |").unwrap();
    }
    let first = "first T with a ratio below 1, batch 512";
    let first = TASKS
        .map(|task| numbers.ours(task, first).to_string())
        .join(" | ");
    writeln!(text, "| first below 1 | {first} |").unwrap();
    text
}

fn by_group(numbers: &Numbers) -> String {
    let mut text = "| rollouts per input | `rloo`, random | `grpo`, random | `rloo`, after 200 updates | `grpo`, after 200 updates |\n\
                    |--:|--:|--:|--:|--:|\n"
        .to_owned();
    for group in [1, 2, 4, 8, 16, 32] {
        let mut cells = Vec::new();
        for moment in ["random policies", "after 200 updates"] {
            for name in ["rloo", "grpo"] {
                let estimator = match group {
                    1 => "batch-mean".to_owned(),
                    _ => format!("{name}:{group}"),
                };
                let quantity = format!("signal to noise, 512 rollouts, {estimator}, {moment}");
                cells.push(numbers.ratio("quasigroup T=3", &quantity));
            }
        }
        writeln!(text, "| {group} | {} |", cells.join(" | ")).unwrap();
    }
    text
}

fn stalled(numbers: &Numbers) -> String {
    let mut text =
        "| class | starts | rate | sampled: above, below | exact: above, below |\n|---|--:|--:|--:|--:|\n".to_owned();
    for class in [
        "quasigroup T=3",
        "quasigroup T=8",
        "Z_5 T=8",
        "parity k=9/10 T=6",
    ] {
        for rate in [5, 50, 500] {
            let pair = |source: &str| {
                let count = |side: &str| {
                    let quantity =
                        format!("end {side} a stalled start, {source}, learning rate {rate}");
                    numbers.count(class, &quantity)
                };
                format!("{}, {}", count("above"), count("below"))
            };
            let quantity = format!("end above a stalled start, sampled, learning rate {rate}");
            let starts = &numbers.row(class, &quantity)["n"];
            let pairs = ["sampled", "exact"].map(pair).join(" | ");
            writeln!(text, "| {class} | {starts} | {rate} | {pairs} |").unwrap();
        }
    }
    text
}

fn slopes(numbers: &Numbers) -> String {
    let mut text =
        "| G | 2 | 3 | 4 | 8 | 16 | 64 | limit |\n|---|--:|--:|--:|--:|--:|--:|--:|\n".to_owned();
    let slope = |group: u32| {
        let quantity = format!("f'(1/2) / f'(0), grpo:{group}");
        format!("{:.3}", numbers.ours("any class", &quantity))
    };
    let cells = [2, 3, 4, 8, 16, 64].map(slope).join(" | ");
    writeln!(text, "| f'(1/2) / f'(0) | {cells} | 0 |").unwrap();
    text
}

const TRAPS: [&str; 4] = [
    "parity T=2,3,4",
    "parity k=9/10 T=4, ignores 3 4",
    "parity k=9/10 T=5, ignores 3 4",
    "parity k=9/10 T=5, ignores 4 5",
];
const OBJECTIVES: [&str; 8] = [
    "J", "pass@2", "pass@8", "maxrl:2", "maxrl:4", "maxrl:8", "maxrl:16", "grpo-std",
];

fn objectives(numbers: &Numbers) -> String {
    let mut text = "| trap | K* | objective | 98 %: stay, at 1 | J | 70 %: stay, at 1 | J |\n|---|--:|---|--:|--:|--:|--:|\n".to_owned();
    for trap in TRAPS {
        let ratio = numbers.ours(trap, "least loss over gain of a change");
        for objective in OBJECTIVES {
            let mut cells = Vec::new();
            for weight in [98, 70] {
                let from = format!("{objective} from {weight} %");
                let stay = numbers.count(trap, &format!("greedy reward of the trap, {from}"));
                let at_one = numbers.count(trap, &format!("at 1, {from}"));
                cells.push(format!("{stay}, {at_one}"));
                cells.push(numbers.mean(trap, &format!("J, {from}")));
            }
            let cells = cells.join(" | ");
            writeln!(text, "| {trap} | {ratio:.2} | {objective} | {cells} |").unwrap();
        }
    }
    text
}

/// The name of a table, and what writes it.
type Table = (&'static str, fn(&Numbers) -> String);

/// The tables by the names of their places on the page.
const TABLES: [Table; 9] = [
    ("batches", batches),
    ("rates", rates),
    ("groups", groups),
    ("curricula", curricula),
    ("by-length", by_length),
    ("by-group", by_group),
    ("stalled", stalled),
    ("slopes", slopes),
    ("objectives", objectives),
];

/// The page with its tables made anew.
fn filled(page: &str, numbers: &Numbers) -> String {
    let mut text = page.to_owned();
    for (name, table) in TABLES {
        let begin = format!("<!-- {name}:begin: `cargo xtask sampled` writes what follows -->\n");
        let end = format!("<!-- {name}:end -->");
        let (head, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{begin}"));
        let (_, tail) = rest.split_once(&end).unwrap_or_else(|| panic!("{end}"));
        text = format!("{head}{begin}\n{}\n{end}{tail}", table(numbers));
    }
    text
}

/// Catches a table that was edited by hand, and one of other numbers than those committed.
#[test]
fn the_tables_of_the_page_on_sampled_training_are_the_committed_numbers() {
    let page = root("docs/sampled.md");
    let text = fs::read_to_string(&page).unwrap();
    let made = filled(&text, &Numbers::committed());
    if std::env::var("FOLDGLASS_SAMPLED").is_ok_and(|value| value == "write") {
        fs::write(page, made).unwrap();
        return;
    }
    assert!(
        made == text,
        "docs/sampled.md is not what `cargo xtask sampled` writes"
    );
}

/// Catches a sentence of the page that its tables contradict.
#[test]
fn the_sentences_of_the_page_on_sampled_training_are_those_of_its_tables() {
    let numbers = Numbers::committed();
    let end = |class: &str, quantity: &str, n: usize| {
        let row = numbers.row(class, quantity);
        row["interval"][n].as_f64().unwrap()
    };
    let ours = |class: &str, quantity: &str| numbers.ours(class, quantity);
    // Batches: more than 0.08 apart in one pair.
    let pairs = BATCH_CLASSES
        .into_iter()
        .flat_map(|class| BATCHES.map(|batch| (class, batch)));
    let far = pairs.filter(|(class, batch)| {
        ours(class, &format!("J, sampled minus exact, batch {batch}")).abs() > 0.08
    });
    assert_eq!(far.collect::<Vec<_>>(), [("parity T=6", 32)]);
    let pairs = BATCH_CLASSES
        .into_iter()
        .flat_map(|class| BATCHES.map(|batch| (class, batch)));
    let told = pairs.filter(|(class, batch)| {
        let quantity = format!("J, sampled minus exact, batch {batch}");
        end(class, &quantity, 0) > 0.0 || end(class, &quantity, 1) < 0.0
    });
    assert_eq!(told.count(), 2);
    // Learning rates: the best of sampled runs is lower, and so is the reward at it.
    let best = |source: &str| {
        let at = |rate: u64| {
            ours(
                "quasigroup T=4",
                &format!("J, {source}, learning rate {rate}"),
            )
        };
        let rate = RATES
            .into_iter()
            .max_by(|a, b| at(*a).total_cmp(&at(*b)))
            .unwrap();
        (rate, at(rate))
    };
    assert!(best("sampled").0 < best("exact").0 && best("sampled").1 < best("exact").1);
    // Groups: all but grpo:8 overlap batch-mean.
    let class = "quasigroup T=3";
    for name in ["rloo:2", "rloo:8", "grpo:2", "grpo:8", "dr-grpo:8"] {
        let quantity = format!("J, sampled, {name}, 512 rollouts");
        let apart = end(class, &quantity, 0) > end(class, "J, sampled, batch 512", 1);
        assert_eq!(apart, name == "grpo:8", "{name}");
    }
    // The curriculum adds something at the paper's length on the tasks of five symbols.
    for class in ["quasigroup T=1..6", "Z_5 T=1..8", "quasigroup T=1..8"] {
        let overlaps =
            end(class, "J, sampled, no curriculum", 1) >= end(class, "J, sampled, curriculum", 0);
        assert_eq!(overlaps, class == "quasigroup T=1..6", "{class}");
    }
    for point in ["no curriculum", "curriculum"] {
        let quantity = format!("at 1, sampled, {point}");
        assert_eq!(numbers.count("parity T=1..8", &quantity), 23);
    }
    // No ratio is estimated.
    assert_eq!(
        ours(
            "any class",
            "points of signal to noise estimated from drawn inputs"
        ),
        0.0
    );
    // Objectives near traps.
    let count = |trap: &str, what: &str| numbers.count(trap, what);
    let (mut grpo, mut of_j, mut solved) = (0, 0, 0);
    for trap in TRAPS {
        let ratio = ours(trap, "least loss over gain of a change");
        let rest = ours(trap, "J, J from 98 %");
        for order in [2, 4, 8, 16] {
            let left = ours(trap, &format!("J, maxrl:{order} from 98 %"));
            if f64::from(order) < ratio {
                assert!((left - rest).abs() < 1e-3, "{trap}: {left}");
            }
        }
        for weight in [98, 70] {
            if ratio > 8.0 {
                solved += count(trap, &format!("at 1, maxrl:16 from {weight} %"));
            } else {
                assert!(ours(trap, &format!("J, maxrl:16 from {weight} %")) < rest - 0.02);
                assert_eq!(
                    count(
                        trap,
                        &format!("greedy reward of the trap, maxrl:16 from {weight} %")
                    ),
                    20
                );
            }
            assert_eq!(
                count(
                    trap,
                    &format!("greedy reward of the trap, pass@2 from {weight} %")
                ),
                20
            );
            assert!(ours(trap, &format!("J, pass@2 from {weight} %")) < rest - 0.02);
        }
        for objective in ["J", "grpo-std"] {
            assert_eq!(
                count(
                    trap,
                    &format!("greedy reward of the trap, {objective} from 98 %")
                ),
                20
            );
            let [stay, left] = ["greedy reward of the trap", "at 1"]
                .map(|what| count(trap, &format!("{what}, {objective} from 70 %")));
            assert_eq!(stay + left, 20);
        }
        grpo += count(trap, "at 1, grpo-std from 70 %");
        of_j += count(trap, "at 1, J from 70 %");
    }
    assert_eq!((grpo, of_j, solved), (16, 5, 78));
}

/// Four minutes of a processor.
mod minutes {
    use super::*;
    use crate::support::Scratch;

    /// Catches committed numbers that another program made: ascents near traps are run again, all else would take longer.
    #[test]
    #[ignore = "`cargo xtask test --all` runs it: it takes minutes"]
    fn the_committed_numbers_of_objectives_are_those_of_the_program() {
        let scratch = Scratch::new();
        let report = scratch.json(&["reproduce", "ext:objectives", "--quiet"]);
        let items = report["items"].as_array().unwrap();
        let own = items.iter().find(|item| item["item"] == "ext:objectives");
        let committed = Numbers::committed();
        let rows = own.unwrap()["rows"].as_array().unwrap();
        assert_eq!(rows.len(), TRAPS.len() * (1 + OBJECTIVES.len() * 2 * 3));
        for row in rows {
            let [class, quantity] = ["row", "quantity"].map(|key| row[key].as_str().unwrap());
            assert_eq!(committed.row(class, quantity)["ours"], row["ours"], "{row}");
        }
    }
}
