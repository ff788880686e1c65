//! Holds the tables of docs/process.md to `reproduce ext:process`, and the sentences beside them to the tables.
//!
//! `cargo xtask process` writes the tables anew by running the test of module `full` with FOLDGLASS_PROCESS=write.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::support::Scratch;
use crate::tables::split;

const BEGIN: &str = "<!-- census:begin: `cargo xtask process` writes what follows -->";
const END: &str = "<!-- census:end -->";

const TRAPS: &str = "| task | window | T | rising weights | outcome | equal | rising | falling |\n\
                     |---|---|---|---|---|---|---|---|\n";
const MAXIMA: &str = "| task | window | T | optimal codes, outcome | process | local maxima, outcome | equal | rising | falling |\n\
                      |---|---|---|---|---|---|---|---|---|\n";

/// What a census found under one reward.
#[derive(Debug, Default)]
struct Census {
    optimal: u128,
    local_maxima: u128,
    traps: u128,
    /// The rewards of the traps, the highest first.
    rewards: Vec<String>,
}

/// A class under the outcome reward, and under process rewards of equal, rising and falling weights.
#[derive(Debug, Default)]
struct Compared {
    task: String,
    window: String,
    length: String,
    rising: String,
    found: [Census; 4],
}

/// The classes of a reproduction, in the order of the item.
fn classes(scratch: &Scratch, flags: &[&str]) -> Vec<Compared> {
    let command = [
        &[
            "reproduce",
            "ext:process",
            "--show",
            "all",
            "--format",
            "csv",
        ],
        flags,
    ]
    .concat();
    let run = scratch.run(&command);
    let mut lines = run.success().lines().map(split);
    let heads = lines.next().unwrap();
    let column = |head: &str| {
        let place = heads.iter().position(|other| other == head);
        place.unwrap_or_else(|| panic!("{head}: {heads:?}"))
    };
    let [class, quantity, ours] = ["class", "quantity", "ours"].map(column);
    let mut numbers: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    for line in lines {
        if numbers.last().is_none_or(|(name, _)| *name != line[class]) {
            numbers.push((line[class].clone(), BTreeMap::new()));
        }
        let own = &mut numbers.last_mut().unwrap().1;
        own.insert(line[quantity].clone(), line[ours].clone());
    }
    // What the smoke scale leaves out has no numbers.
    numbers.retain(|(_, own)| own["traps"].parse::<u128>().is_ok());
    assert_eq!(numbers.len() % 4, 0);
    numbers.chunks(4).map(compared).collect()
}

fn compared(rows: &[(String, BTreeMap<String, String>)]) -> Compared {
    let (class, _) = rows[0].0.rsplit_once(", ").unwrap();
    let [task, window, length, inputs] = class.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{class}");
    };
    let reward = |n: usize| {
        rows[n]
            .0
            .strip_prefix(class)
            .unwrap()
            .strip_prefix(", ")
            .unwrap()
    };
    assert_eq!([reward(0), reward(1)], ["final", "process"]);
    let census = |(_, own): &(String, BTreeMap<String, String>)| {
        let count = |key: &str| {
            own[key]
                .parse::<u128>()
                .unwrap_or_else(|_| panic!("{own:?}"))
        };
        let rewards = &own["traps by reward"];
        Census {
            optimal: count("optimal codes"),
            local_maxima: count("local maxima"),
            traps: count("traps"),
            rewards: match &rewards[..] {
                "none" => Vec::new(),
                _ => rewards
                    .split(", ")
                    .map(|kind| kind.split_once(':').unwrap().0.to_owned())
                    .collect(),
            },
        }
    };
    Compared {
        task: match inputs {
            "uniform" => task.to_owned(),
            _ => format!("{task}, {inputs}"),
        },
        window: window.to_owned(),
        length: length.strip_prefix("T=").unwrap().to_owned(),
        rising: reward(2)
            .strip_prefix("process:")
            .unwrap()
            .replace(',', ", "),
        found: [0, 1, 2, 3].map(|n| census(&rows[n])),
    }
}

/// Digits in groups of three.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<&str> = groups
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join(",")
}

impl Compared {
    fn head(&self) -> String {
        format!("| {} | {} | {} |", self.task, self.window, self.length)
    }

    /// The row of the first table: traps, and between which rewards they lie.
    fn traps(&self) -> String {
        let traps = |census: &Census| match &census.rewards[..] {
            [] => "0".to_owned(),
            [only] => format!("{} ({only})", grouped(census.traps)),
            [highest, .., lowest] => format!("{} ({lowest} to {highest})", grouped(census.traps)),
        };
        let found = self.found.each_ref().map(traps).join(" | ");
        format!("{} {} | {found} |\n", self.head(), self.rising)
    }

    /// The row of the second table.
    fn maxima(&self) -> String {
        let optimal = self.found.each_ref().map(|census| grouped(census.optimal));
        assert!(optimal[1..].iter().all(|count| *count == optimal[1]));
        let maxima = self
            .found
            .each_ref()
            .map(|census| grouped(census.local_maxima));
        format!(
            "{} {} | {} | {} |\n",
            self.head(),
            optimal[0],
            optimal[1],
            maxima.join(" | ")
        )
    }

    /// Traps for each optimal code, under equal and under rising weights.
    fn for_each_optimum(&self) -> [u128; 2] {
        [1, 2].map(|n| {
            let Census { traps, optimal, .. } = self.found[n];
            assert_eq!(traps % optimal, 0, "{self:?}");
            traps / optimal
        })
    }
}

fn tables(classes: &[Compared]) -> String {
    let traps: String = classes.iter().map(Compared::traps).collect();
    let maxima: String = classes.iter().map(Compared::maxima).collect();
    format!(
        "Traps, and between which rewards they lie:\n\n{TRAPS}{traps}\nOptimal codes, and local maxima below 1:\n\n{MAXIMA}{maxima}"
    )
}

/// What the page says of the numbers in words.
fn sentences_hold(classes: &[Compared]) {
    let of = |task: &str, window: &str, length: &str| {
        let own = |class: &&Compared| {
            (&class.task[..], &class.window[..], &class.length[..]) == (task, window, length)
        };
        classes.iter().find(own).map(Compared::for_each_optimum)
    };
    for class in classes {
        let [outcome, equal, rising, falling] = class.found.each_ref();
        let without = if class.task.contains("markov") {
            falling
        } else {
            outcome
        };
        assert_eq!(
            [without.traps, falling.traps, falling.local_maxima],
            [0; 3],
            "{class:?}"
        );
        assert!(rising.traps >= equal.traps, "{class:?}");
        let [past, length] =
            [&class.window[1..2], &class.length[..]].map(|n| n.parse::<u32>().unwrap());
        let reaches_back = past + 1 >= length;
        if reaches_back {
            assert_eq!([equal.traps, rising.traps], [0; 2], "{class:?}");
        } else {
            let most = equal.local_maxima.max(rising.local_maxima);
            assert!(outcome.local_maxima > most, "{class:?}");
        }
        let latin = match &class.task[..] {
            "max:2" => "parity",
            "flipflop" => "z:3",
            _ => "",
        };
        if let Some([latin_equal, latin_rising]) = of(latin, &class.window, &class.length) {
            let [equal, rising] = class.for_each_optimum();
            assert!(equal <= latin_equal && rising < latin_rising, "{class:?}");
        }
        // A symbol ahead more has more traps under rising weights, and under equal ones where there are any.
        let wider = match &class.window[..] {
            "(0,0)" => "(0,1)",
            "(0,1)" => "(0,2)",
            "(1,0)" => "(1,1)",
            _ => continue,
        };
        let Some([wide_equal, wide_rising]) = of(&class.task, wider, &class.length) else {
            continue;
        };
        let [equal, rising] = class.for_each_optimum();
        assert!(wide_equal >= equal, "{class:?}");
        assert!(wide_rising > rising || reaches_back, "{class:?}");
    }
    for (window, numbers) in [
        ("(0,0)", [1, 3]),
        ("(0,1)", [3, 15]),
        ("(0,2)", [15, 63]),
        ("(1,0)", [0, 3]),
        ("(2,0)", [0, 0]),
    ] {
        assert_eq!(of("parity", window, "3"), Some(numbers));
    }
}

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/process.md")
}

#[test]
fn every_row_of_a_small_class_stands_on_the_page() {
    let scratch = Scratch::new();
    let classes = classes(&scratch, &["--smoke"]);
    assert!(classes.len() > 15, "{}", classes.len());
    let text = fs::read_to_string(page()).unwrap();
    for class in &classes {
        assert!(text.contains(&class.traps()), "{}", class.traps());
        assert!(text.contains(&class.maxima()), "{}", class.maxima());
    }
    sentences_hold(&classes);
    // One verdict for each shelf: the 48 traps of parity with a symbol behind are three shelves of 16 codes.
    let verdicts = scratch
        .read("reproduction-smoke/certificates/map-parity--1-0--T-3-uniform--process-1-2-4.json");
    assert_eq!(
        verdicts.matches("\"verdict\":\"certified\"").count(),
        3,
        "{verdicts}"
    );
}

/// Two minutes of a processor.
mod minutes {
    use super::*;

    #[test]
    #[ignore = "`cargo xtask test --all` runs it: it takes minutes"]
    fn the_tables_of_the_page_are_those_of_reproduce() {
        let classes = classes(&Scratch::new(), &[]);
        assert_eq!(classes.len(), 28);
        sentences_hold(&classes);
        for (window, numbers) in [("(0,0)", [2, 7]), ("(1,0)", [3, 15])] {
            let own = |class: &&Compared| class.head() == format!("| parity | {window} | 4 |");
            let class = classes.iter().find(own).unwrap();
            assert_eq!(class.for_each_optimum(), numbers);
        }
        let text = fs::read_to_string(page()).unwrap();
        let (head, rest) = text.split_once(BEGIN).unwrap();
        let (_, tail) = rest.split_once(END).unwrap();
        let made = format!("{head}{BEGIN}\n\n{}\n{END}{tail}", tables(&classes));
        if std::env::var("FOLDGLASS_PROCESS").is_ok_and(|value| value == "write") {
            fs::write(page(), made).unwrap();
            return;
        }
        assert!(
            made == text,
            "docs/process.md is not what `cargo xtask process` writes"
        );
    }
}
