//! Times the library beside its Python peers, in turns so that they share the machine's noise.

use crate::peers::{self, Peer, PeerEnvironment};
use crate::table::{self, Comparison, PeerTime, Spread};
use crate::{Failure, cargo, machine, root, section};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is timed on both sides.
struct Case {
    /// Our benchmark's name.
    ours: &'static str,
    /// The scripts that have it, as `bench/peers/TOPIC_PEER.py`.
    topic: &'static str,
    /// The peers' name of it.
    theirs: &'static str,
    /// The peers that have it.
    peers: &'static [Peer],
    /// Results that every program must share, so that equal work is timed. Dynamics share none: every
    /// program draws its own random numbers, and the scripts' `--check` checks them.
    results: &'static [&'static str],
}

const CASES: [Case; 6] = [
    Case {
        ours: "evaluate_untied_0_3_T7",
        topic: "evaluate",
        theirs: "untied_0_3_T7",
        peers: peers::ALL,
        results: &["J", "checksum_dq"],
    },
    Case {
        ours: "cavi_untied_0_3_T7",
        topic: "dynamics",
        theirs: "cavi_0_3_T7",
        peers: peers::ALL,
        results: &[],
    },
    Case {
        ours: "cavi_runs_0_0_T8",
        topic: "dynamics",
        theirs: "runs_0_0_T8",
        peers: peers::JAX,
        results: &[],
    },
    Case {
        ours: "chain_untied_0_3_T7",
        topic: "dynamics",
        theirs: "chain_0_3_T7",
        peers: peers::ALL,
        results: &[],
    },
    Case {
        ours: "reinforce_untied_0_0_T8",
        topic: "sampled",
        theirs: "reinforce_0_0_T8",
        peers: peers::ALL,
        results: &[],
    },
    Case {
        ours: "census_T6",
        topic: "landscape",
        theirs: "census_T6",
        peers: peers::NUMPY,
        results: &["local_maxima", "traps"],
    },
];

/// Benchmarks of ours that take a minute: each is run once, after all rounds.
const ONCE: [&str; 1] = ["census_T12"];

/// How to read the peers' table.
const PEERS_NOTE: &str = "Peers on one thread each: plain is App. A as a user first writes it, \
                          expert the fastest formulation found. cavi is one iteration, runs an iteration \
                          of one of 400 runs side by side (target: the fastest JAX takes at least 4 \
                          times as long), chain one zero-temperature Metropolis sweep in step blocks, reinforce one update of \
                          sampled training with 512 inputs (target: the fastest JAX takes at least \
                          2.5 times as long, the fastest NumPy 8 times). census is that of \
                          correlated parity at T = 6, all on one thread: plain visits every code, \
                          expert one of those that differ only in the names of tokens; \
                          foldglass alone measures the traps' barriers too.";

/// What was typed after `cargo xtask bench`.
#[derive(Debug, PartialEq)]
pub struct BenchOptions {
    rounds: usize,
    write: bool,
}

impl BenchOptions {
    /// Reads `[--rounds N] [--write]`.
    pub fn parse(args: &[String]) -> Result<Self, Failure> {
        let mut options = Self {
            rounds: 5,
            write: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--write" => options.write = true,
                "--rounds" => {
                    let value = args.next().map_or("", String::as_str);
                    let rounds = value.parse().ok().filter(|&rounds| rounds > 0);
                    options.rounds = rounds.ok_or_else(|| {
                        Failure::Usage(format!(
                            "--rounds takes a number of at least 1, got {value:?}"
                        ))
                    })?;
                }
                other => return Err(Failure::Usage(format!("bench does not know {other:?}"))),
            }
        }
        Ok(options)
    }
}

/// Runs `cargo xtask bench`.
pub fn run(options: &BenchOptions) -> Result<(), Failure> {
    let benchmark = build()?;
    let peers = PeerEnvironment::prepare();
    if let Err(why) = &peers {
        eprintln!("== NO PEERS, foldglass runs alone: {why}");
    }
    let measured = Measured::take(options.rounds, &benchmark, peers.as_ref().ok())?;
    measured.check_agreement().map_err(Failure::Failed)?;
    let report = measured.report(options.rounds).map_err(Failure::Failed)?;
    println!("{report}");
    if options.write {
        write(&report)
    } else {
        Ok(())
    }
}

/// All lines of all rounds.
struct Measured {
    ours: Vec<Value>,
    /// Per case of `CASES`, per peer that has it; None where there are no peers.
    peers: Option<Vec<Vec<Vec<Value>>>>,
}

impl Measured {
    fn take(
        rounds: usize,
        benchmark: &Path,
        environment: Option<&PeerEnvironment>,
    ) -> Result<Self, Failure> {
        let mut ours = Vec::new();
        let mut peers: Vec<_> = CASES
            .iter()
            .map(|case| vec![Vec::new(); case.peers.len()])
            .collect();
        for round in 1..=rounds {
            eprintln!("== round {round} of {rounds}");
            ours.extend(run_ours(benchmark, None)?);
            let Some(environment) = environment else {
                continue;
            };
            for (case, lines) in CASES.iter().zip(&mut peers) {
                for (peer, lines) in case.peers.iter().zip(lines) {
                    lines.push(environment.run(peer, case.topic, case.theirs)?);
                }
            }
        }
        for name in ONCE {
            eprintln!("== {name}, once");
            let lines = run_ours(benchmark, Some(name))?;
            if !lines.iter().any(|line| line["name"] == name) {
                return Err(Failure::Failed(no_line(name)));
            }
            ours.extend(lines);
        }
        Ok(Self {
            ours,
            peers: environment.map(|_| peers),
        })
    }

    /// Our lines of one benchmark.
    fn ours_of(&self, name: &str) -> Vec<Value> {
        self.ours
            .iter()
            .filter(|line| line["name"] == name)
            .cloned()
            .collect()
    }

    /// Every line of a case must report the same results.
    fn check_agreement(&self) -> Result<(), String> {
        let Some(peers) = &self.peers else {
            return Ok(());
        };
        for (case, peers) in CASES.iter().zip(peers) {
            let ours = self.ours_of(case.ours);
            let first = ours.first().ok_or_else(|| no_line(case.ours))?;
            for line in ours.iter().chain(peers.iter().flatten()) {
                for &field in case.results {
                    let pair = first[field].as_f64().zip(line[field].as_f64());
                    if !pair.is_some_and(|(ours, theirs)| table::agree(ours, theirs)) {
                        return Err(format!(
                            "{}: {field} differs by more than 1e-12: {first} against {line}",
                            case.theirs
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// The machine's line and the tables, as Markdown.
    fn report(&self, rounds: usize) -> Result<String, String> {
        let own = table::own_table(&table::rows(&self.ours)?);
        let head = format!(
            "{}, {}; medians of {rounds} interleaved round(s) with the least and the most of them, `{}` \
             once; a ratio is that of the two medians beside it.",
            machine::describe(),
            machine::today(),
            ONCE.join("`, `"),
        );
        let Some(peers) = &self.peers else {
            return Ok(format!(
                "{head} The Python peers could not run on this machine.\n\n{own}"
            ));
        };
        let mut comparisons = Vec::new();
        for (case, lines) in CASES.iter().zip(peers) {
            let timed = |(peer, lines): (&Peer, &Vec<Value>)| {
                let version = lines[0]["version"].as_str().unwrap_or("of unknown version");
                let name = format!("{} {version}, {}", peer.name, peer.style);
                let measured = Spread::of_lines(lines, "median_s")?;
                Ok(PeerTime { name, measured })
            };
            comparisons.push(Comparison {
                case: case.theirs.into(),
                ours: Spread::of_lines(&self.ours_of(case.ours), "median_s")?,
                peers: case
                    .peers
                    .iter()
                    .zip(lines)
                    .map(timed)
                    .collect::<Result<_, String>>()?,
            });
        }
        let compared = table::peer_table(&comparisons);
        Ok(format!(
            "{head} {PEERS_NOTE}\n\n{compared}\n<details>\n<summary>All benchmarks against their targets</summary>\n\n{own}\n</details>"
        ))
    }
}

fn no_line(name: &str) -> String {
    format!("the benchmark printed no line named {name:?}")
}

/// Builds our benchmark and returns its program, so that every round runs the same one.
fn build() -> Result<PathBuf, Failure> {
    let failed =
        |why: String| Failure::Failed(format!("foldglass/benches/core did not build: {why}"));
    let args = [
        "bench",
        "--package",
        "foldglass",
        "--bench",
        "core",
        "--no-run",
    ];
    let output = cargo(&args)
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    executable(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| failed("cargo named no program".into()))
}

/// The program of the benchmark among cargo's messages.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let is_ours = |message: &Value| {
        message["target"]["kind"][0] == "bench" && message["target"]["name"] == "core"
    };
    messages
        .filter(is_ours)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

/// Runs our benchmark, or one case of it, as `cargo bench -- --json` does, and returns its lines.
fn run_ours(benchmark: &Path, only: Option<&str>) -> Result<Vec<Value>, Failure> {
    let failed = |why: String| Failure::Failed(format!("the benchmark of foldglass {why}"));
    let output = Command::new(benchmark)
        .args(["--json", "--bench"])
        .args(only)
        .current_dir(root().join("foldglass"))
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(format!("could not start: {error}")))?;
    if !output.status.success() {
        return Err(failed(format!("failed: {}", output.status)));
    }
    parse_lines(&String::from_utf8_lossy(&output.stdout)).map_err(failed)
}

/// One JSON object per line; blank lines are passed over.
fn parse_lines(text: &str) -> Result<Vec<Value>, String> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| match serde_json::from_str(line) {
            Ok(value @ Value::Object(_)) => Ok(value),
            _ => Err(format!("printed {line:?}, not a JSON object")),
        })
        .collect()
}

/// Puts the report into BENCHMARKS.md.
fn write(report: &str) -> Result<(), Failure> {
    let failed = |why: String| Failure::Failed(format!("BENCHMARKS.md was not written: {why}"));
    let path = root().join("BENCHMARKS.md");
    let text = std::fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
    let text = section::replace(&text, "bench", report).map_err(failed)?;
    std::fs::write(&path, text).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(args: &[&str]) -> Result<BenchOptions, Failure> {
        BenchOptions::parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    /// One round in which ours and the peers report these checksums, where a case has them.
    fn measured(ours: f64, peers: [f64; peers::ALL.len()]) -> Measured {
        let line = |case: &Case, time: f64, checksum: f64| {
            let mut line = json!({"name": case.ours, "version": "1.0", "median_s": time});
            for &field in case.results {
                line[field] = json!(if field == "J" { 0.2 } else { checksum });
            }
            line
        };
        let times = [8e-5, 4e-5, 3e-5, 2e-5].into_iter().zip(peers);
        let of_peers = |case: &Case| {
            let lines = case.peers.iter().zip(times.clone());
            lines
                .map(|(_, (time, checksum))| vec![line(case, time, checksum)])
                .collect()
        };
        Measured {
            ours: CASES.iter().map(|case| line(case, 1e-5, ours)).collect(),
            peers: Some(CASES.iter().map(of_peers).collect()),
        }
    }

    #[test]
    fn options_default_to_five_rounds_and_no_write() {
        assert_eq!(
            parse(&[]),
            Ok(BenchOptions {
                rounds: 5,
                write: false
            })
        );
        assert_eq!(
            parse(&["--write", "--rounds", "3"]),
            Ok(BenchOptions {
                rounds: 3,
                write: true
            })
        );
    }

    #[test]
    fn a_wrong_option_is_named() {
        for (args, named) in [
            (vec!["--rounds", "0"], "\"0\""),
            (vec!["--rounds"], "\"\""),
            (vec!["--fast"], "\"--fast\""),
        ] {
            assert!(
                matches!(parse(&args), Err(Failure::Usage(message)) if message.contains(named))
            );
        }
    }

    #[test]
    fn every_peer_must_agree_with_us() {
        assert_eq!(measured(0.5, [0.5 + 1e-14; 4]).check_agreement(), Ok(()));
        for wrong in 0..peers::ALL.len() {
            let mut checksums = [0.5; peers::ALL.len()];
            checksums[wrong] += 1e-11;
            let refusal = measured(0.5, checksums).check_agreement().unwrap_err();
            assert!(refusal.contains("checksum_dq"));
        }
        let mut silent = measured(0.5, [0.5; 4]);
        silent.ours[0]["J"] = Value::Null;
        assert!(silent.check_agreement().unwrap_err().contains("J differs"));
        silent.ours.clear();
        assert!(
            silent
                .check_agreement()
                .unwrap_err()
                .contains(CASES[0].ours)
        );
    }

    #[test]
    fn a_peer_that_counts_other_traps_is_refused() {
        let census = CASES.iter().position(|case| case.ours == "census_T6");
        for peer in 0..peers::NUMPY.len() {
            let mut measured = measured(0.5, [0.5; 4]);
            measured.peers.as_mut().unwrap()[census.unwrap()][peer][0]["traps"] = json!(159);
            let refusal = measured.check_agreement().unwrap_err();
            assert!(refusal.contains("census_T6: traps differs"), "{refusal}");
        }
    }

    #[test]
    fn a_case_is_compared_with_the_peers_that_have_it() {
        let report = measured(0.5, [0.5; 4]).report(1).unwrap();
        let (_, census) = report.split_once("| `census_T6` | foldglass |").unwrap();
        let (census, _) = census.split_once("\n\n").unwrap();
        let rows: Vec<&str> = census.lines().skip(1).collect();
        assert_eq!(
            rows,
            [
                "| | numpy 1.0, plain | 80.0 µs | 8.00 × |",
                "| | numpy 1.0, expert | 40.0 µs | 4.00 × |"
            ]
        );
    }

    #[test]
    fn the_report_compares_with_peers_and_says_when_there_are_none() {
        let mut measured = measured(0.5, [0.5; 4]);
        let report = measured.report(1).unwrap();
        for row in [
            "| `untied_0_3_T7` | foldglass | 10.0 µs | 1 × |",
            "| | numpy 1.0, plain | 80.0 µs | 8.00 × |",
            "| | numpy 1.0, expert | 40.0 µs | 4.00 × |",
            "| | jax 1.0, plain | 30.0 µs | 3.00 × |",
            "| | jax 1.0, expert | 20.0 µs | 2.00 × |",
            "| `cavi_0_3_T7` | foldglass | 10.0 µs | 1 × |",
            "| `chain_0_3_T7` | foldglass | 10.0 µs | 1 × |",
        ] {
            assert!(report.contains(row), "{row} is not in\n{report}");
        }
        measured.peers = None;
        assert!(measured.report(1).unwrap().contains("could not run"));
    }

    #[test]
    fn the_program_is_the_benchmarks_own_not_another_targets() {
        let messages = [
            json!({"target": {"kind": ["lib"], "name": "core"}, "executable": null}),
            json!({"target": {"kind": ["bench"], "name": "core"}, "executable": "deps/core-1"}),
            json!({"reason": "build-finished"}),
        ];
        let text = messages.map(|message| message.to_string()).join("\n");
        assert_eq!(executable(&text), Some(PathBuf::from("deps/core-1")));
        assert_eq!(executable("{}"), None);
    }

    #[test]
    fn a_line_that_is_no_object_is_refused() {
        assert_eq!(
            parse_lines("{\"name\":\"a\"}\n\n").unwrap(),
            [json!({"name": "a"})]
        );
        assert!(
            parse_lines("Running\n")
                .unwrap_err()
                .contains("\"Running\"")
        );
        assert!(parse_lines("3\n").is_err());
    }
}
