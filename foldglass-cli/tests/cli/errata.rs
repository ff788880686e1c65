//! Holds the numbers of docs/errata.md to commands, records and statements.
//!
//! The page is `docs/templates/errata.md` with numbers filled in: `[[name]]`, `[[name 2]]` for the second of a list,
//! `[[name .3]]` with three decimals, `[[name ~1]]` with one significant digit. `results/errata.json` has the numbers
//! and where each comes from. `cargo xtask errata` makes both files anew by running this test with
//! FOLDGLASS_ERRATA=write; without it every number but those of long commands is computed again and compared. Numbers of
//! long commands are made anew by `cargo xtask errata --long`, and where their command is another.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use foldglass::support::stats::{Proportion, Summary, fisher};
use serde_json::{Value, json};

use crate::support::{Scratch, words};

/// Where a list of numbers comes from.
enum Source {
    /// The report of a command.
    Command(&'static str, fn(&Value) -> Vec<f64>),
    /// The report of a command that takes more than some seconds of a processor.
    Long(&'static str, fn(&Value) -> Vec<f64>),
    /// The lines of a file in results/.
    Records(&'static str, fn(&[Value]) -> Vec<f64>),
    /// The evidence for a statement in results/claims.json; `{}` stands for a number.
    Statement(&'static str, &'static str),
    /// A slow computation of this file, in words.
    Here(&'static str, fn() -> Vec<f64>),
    /// Numbers of the list before.
    Numbers(fn(&Numbers) -> Vec<f64>),
}

type Numbers = BTreeMap<String, Vec<f64>>;

use Source::{Command, Here, Long, Records, Statement};

#[rustfmt::skip]
const NUMBERS: &[(&str, Source)] = &[
    ("cells-lengths", Command("cells --task quasigroup --lengths 3,4,5 --window 2,1", |r| vec![whole(&r["count"])])),
    ("cells-tied", Command("cells --task quasigroup --lengths 7 --window 0,3 --tied", |r| vec![whole(&r["count"])])),
    ("markov-5", Command("enumerate --task parity --lengths 5 --inputs markov:9/10",
        |r| vec![whole(&r["local_maxima"]), whole(&r["traps"])])),
    ("markov-5-doubles", Here("rewards as sums of doubles over inputs in lexicographic order, weights 0.9 and 0.1", in_doubles)),
    ("init-dirichlet", Command("cavi --task z:5 --lengths 8 --tau 1e-7 --iterations 2000 --runs 60 --init dirichlet:1", mean_reward)),
    ("init-u-norm", Command("cavi --task z:5 --lengths 8 --tau 1e-7 --iterations 2000 --runs 60 --init u_norm", mean_reward)),
    ("maxima-8", Command("enumerate --task parity --lengths 8 --inputs markov:9/10", |r| vec![whole(&r["local_maxima"])])),
    ("maxima-8-tolerance", Command("enumerate --task parity --lengths 8 --inputs markov:9/10 --tolerance 1e-6",
        |r| vec![whole(&r["local_maxima"])])),
    ("trap-rewards", Command("enumerate --task parity --lengths 8 --inputs markov:9/10",
        |r| list(&r["trap_rewards"]).iter().map(|kind| fraction(&kind["reward"])).collect())),
    ("orbits", Statement("g6:rewards", "{} of {} orbits of traps have it with m the summed gaps of the ignored positions paired in order, {} with m their number")),
    ("ignored", Statement("g6:positions", "traps ignore {}, {}, {} positions")),
    ("ignored-8", Statement("g6:positions", "at T = 8 and every k {} orbits ignore {}, {} orbits ignore {}, {} orbits ignore {}")),
    ("no-quench", Command("cavi --task quasigroup --lengths 3,4,5 --window 2,1 --tau 1e-2 --iterations 500 --runs 12", mean_reward)),
    ("quench", Command("cavi --task quasigroup --lengths 3,4,5 --window 2,1 --tau 1e-2 --iterations 500 --runs 12 --quench 50,1e-13", mean_reward)),
    ("by-cells 10", Command("chain --task parity --lengths 10 --kernel heat-bath --order cell --tau 1e-13 --runs 4000 --seed 1 --sweeps 10", optimal_chains)),
    ("by-cells 20", Command("chain --task parity --lengths 10 --kernel heat-bath --order cell --tau 1e-13 --runs 4000 --seed 1 --sweeps 20", optimal_chains)),
    ("by-cells 40", Command("chain --task parity --lengths 10 --kernel heat-bath --order cell --tau 1e-13 --runs 4000 --seed 1 --sweeps 40", optimal_chains)),
    ("by-cells", Source::Numbers(|n| sweeps(n, "by-cells"))),
    ("by-cells-p", Source::Numbers(|n| compared(&n["by-cells"]))),
    ("by-steps 10", Command("chain --task parity --lengths 10 --kernel heat-bath --order step --tau 1e-13 --runs 4000 --seed 1 --sweeps 10", optimal_chains)),
    ("by-steps 20", Command("chain --task parity --lengths 10 --kernel heat-bath --order step --tau 1e-13 --runs 4000 --seed 1 --sweeps 20", optimal_chains)),
    ("by-steps 40", Command("chain --task parity --lengths 10 --kernel heat-bath --order step --tau 1e-13 --runs 4000 --seed 1 --sweeps 40", optimal_chains)),
    ("by-steps", Source::Numbers(|n| sweeps(n, "by-steps"))),
    ("by-steps-p", Source::Numbers(|n| compared(&n["by-steps"]))),
    ("high-barriers-6", Command("enumerate --task parity --lengths 6 --inputs markov:9/10", high_barriers)),
    ("high-barriers-8", Command("enumerate --task parity --lengths 8 --inputs markov:9/10", high_barriers)),
    ("tied-shelves", Statement("g6:tied-shelves", "the largest {}, the deepest {} changes")),
    ("tied-unlock", Statement("g6:tied-unlock", "72 (32), {} (")),
    ("tied-unlock-prime", Source::Numbers(|n| vec![largest_prime(n["tied-unlock"][0])])),
    ("tied-enumerated", Statement("g2:shelves", "ours: {} of {} enumerated, of {} to {} codes")),
    ("lengths-traps", Command("enumerate --task parity --lengths 2,3,4 --window 1,0", |r| vec![whole(&r["traps"])])),
    ("two-thirds", Statement("g5:two-thirds", "the paper's two numbers make {} ")),
    ("quanta", Statement("transformers:small-drop", "the paper's own 35 quanta are {} ")),
    ("quasigroup-03", Statement("g5:working-point", "quasigroup, transformer, accuracy at c = 0.3: {} ± {} ")),
    ("quasigroup-above", Statement("transformers:often", "; quasigroup {} of {} at 0.3")),
    ("screen-layer-norm", Records("screen-layer-norm.jsonl", solved_quasigroups)),
    ("screen-gate", Records("screen-gate-every-step.jsonl", solved_quasigroups)),
    ("screen-shared", Records("screen-shared.jsonl", solved_quasigroups)),
    ("screen-causal", Records("screen-causal.jsonl", solved_quasigroups)),
    ("learned-fixed", Records("curves-screen-causal-fixed.jsonl", learned)),
    ("learned-shared", Records("curves-screen-shared-causal.jsonl", learned)),
    ("learned-first", Source::Numbers(|n| vec![n["learned-fixed"][1].min(n["learned-shared"][1])])),
    ("learned-last", Source::Numbers(|n| vec![n["learned-fixed"][2].max(n["learned-shared"][2])])),
    ("options-03", Records("screen-options.jsonl", screened)),
    ("schedule", Statement("g5:not-shared", "Z_5 2 of 8, quasigroup {} of {}, parity 0 of 8, S_3 {} of {}")),
    ("parity-at-one", Statement("g5:at-one", "parity, transformer, seeds above 0.95 at c = 1: {}/{} ({}/{} in")),
    ("z5-chance", Statement("transformers:chance", "Z_5 at 0.1 has {} ")),
    ("z5-holds", Statement("transformers:weak", "Z_5 at 0.1 holds T = {} ")),
    ("no-drop", Statement("transformers:no-drop",
        "{}/180 at 65 points a line (p = 0.002), {}/180 at 33 points a line (p = 0.005), {}/180 at 17 points a line (p = 0.136), {}/180 at 9 points")),
    ("last-stretch", Statement("g4:last-stretch", "{}/{} at 65 points")),
    ("last-stretch-barriers", Source::Numbers(|n| vec![n["last-stretch"][1] - n["last-stretch"][0], n["last-stretch"][1]])),
    ("largest-quanta", Statement("g4:35-quanta", "at 65 points, the largest {};")),
    ("largest-drop", Statement("transformers:small-drop", "largest drop {};")),
    ("every-500", Records("escape-every-500.jsonl", largest_barrier)),
    ("exact-networks", Statement("transformers:exact", "exact on all inputs: {}/")),
    ("containment", Statement("g4:containment", "(0,3) T=7 {} ({}), (2,1) T=7 {} ({})")),
    ("narrow-updates", Records("containment.jsonl", narrow_updates)),
    ("cures-expert", Records("cures.jsonl", experts)),
    ("cures", Statement("transformers:other-cures",
        "without exploration and {} of {} with it; GRPO 0 of 64 without exploration and {} of {} with it; expert iteration {} of {} without")),
    ("relabel-none", Records("relabelling.jsonl", |r| relabelled(r, "none"))),
    ("relabel-full", Records("relabelling.jsonl", |r| relabelled(r, "full:1,500"))),
    ("relabel-best", Records("relabelling.jsonl", |r| relabelled(r, "transposition:1,1"))),
    ("relabel-solved", Records("relabelling.jsonl", |r| {
        let two = || r.iter().filter(|line| line["class"] == "two");
        vec![count(two(), |line| line["greedy"][1].as_f64() > Some(0.95)), count(two(), |_| true)]
    })),
    ("exits", Statement("g6:exits", "T=4 {} %, T=5 {} %, T=6 {} %, T=7 {} %, T=8 {} %")),
    ("one-in-eight", Statement("g6:one-in-eight",
        "T=6 {} % (7.3 to 14.5), T=8 {} % (10.2 to 18.2); at 26 other T and k it is between {} % (T=5 k=3/5) and {} % (")),
    ("tied-losses-all", Statement("experiments:tied-microscopic",
        "lost on the way out: {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}")),
    ("tied-losses", Source::Numbers(|n| {
        let (one, mut more): (Vec<f64>, Vec<f64>) = n["tied-losses-all"].iter().partition(|&&lost| lost == 1.0);
        more.sort_by(f64::total_cmp);
        [vec![one.len() as f64], more].concat()
    })),
    ("defended", Statement("e:defended", "{} of 2000 random ascents on the quasigroup at T = 3 end at such codes; the construction begins at an unconsulted cell for 1486, and {} have none")),
    ("cavi", Long("cavi --task quasigroup --lengths 8 --tau 1e-10 --iterations 2000 --runs 16000", |r| {
        let [solved, all] = optimal_runs(r)[..] else { unreachable!("two numbers") };
        vec![solved, all, solved / all, mean_reward(r)[0]]
    })),
    ("cavi-p", Source::Numbers(|n| {
        let ours = proportion(n["cavi"][0], n["cavi"][1]);
        vec![fisher(&ours, &proportion(98.0, 300.0)), fisher(&ours, &proportion(67.0, 240.0))]
    })),
    ("cavi-dirichlet", Long("cavi --task quasigroup --lengths 8 --tau 1e-10 --iterations 2000 --runs 3000 --init dirichlet:1", optimal_runs)),
    ("cavi-longer", Long("cavi --task quasigroup --lengths 8 --tau 1e-10 --iterations 3000 --runs 3000", optimal_runs)),
    ("cavi-400", Command("cavi --task quasigroup --lengths 8 --tau 1e-10 --iterations 2000 --runs 400", |r| vec![optimal_runs(r)[0]])),
    ("not-latin", Statement("e:bijectivity", "all codes of {} untied classes whose tables are not Latin")),
    ("links", Statement("d:links", "T = 4: {} of {} codes have inverses of all links; 0 of these have holonomies that a relabelling changes, and 32 different contents tell 32 orbits apart. q = 3, T = 2: {} of {} codes")),
    ("residual-zero", Statement("a:residual", "below 1e-9, {} exactly 0")),
];

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// A count, which may be a text.
fn whole(value: &Value) -> f64 {
    let text = value.as_str().map(str::parse);
    text.map_or_else(
        || value.as_f64().expect("a count"),
        |text| text.expect("a count"),
    )
}

fn fraction(value: &Value) -> f64 {
    let (over, under) = value
        .as_str()
        .and_then(|text| text.split_once('/'))
        .expect("a fraction");
    over.parse::<f64>().unwrap() / under.parse::<f64>().unwrap()
}

fn count<'a>(lines: impl Iterator<Item = &'a Value>, which: impl Fn(&Value) -> bool) -> f64 {
    lines.filter(|line| which(line)).count() as f64
}

fn proportion(successes: f64, trials: f64) -> Proportion {
    Proportion {
        successes: successes as u64,
        trials: trials as u64,
    }
}

/// The local maxima and traps of parity at T = 5 and k = 9/10, where rewards are doubles: the order in which inputs are
/// summed makes rewards differ that are the same.
fn in_doubles() -> Vec<f64> {
    const T: usize = 5;
    const CELLS: usize = 4 * T - 2;
    // The first step has a cell per symbol, the others one per symbol and token.
    let cell = |t: usize, x: usize, y: usize| if t == 0 { x } else { 4 * t - 2 + 2 * x + y };
    let reward = |code: usize| {
        let mut sum = 0.0;
        for input in 0..1usize << T {
            let symbol = |t: usize| input >> (T - 1 - t) & 1;
            let (mut weight, mut token, mut target) = (0.5, 0, 0);
            for t in 0..T {
                if t > 0 {
                    weight *= [0.9, 0.1][symbol(t) ^ symbol(t - 1)];
                }
                token = code >> cell(t, symbol(t), token) & 1;
                target ^= symbol(t);
            }
            if token == target {
                sum += weight;
            }
        }
        sum
    };
    let rewards: Vec<f64> = (0..1 << CELLS).map(reward).collect();
    let best = rewards.iter().copied().fold(0.0, f64::max);
    let near = |code: usize| (0..CELLS).map(move |cell| code ^ 1 << cell);
    let rises = |code: usize| near(code).any(|other| rewards[other] > rewards[code]);
    let mut escapes: Vec<bool> = (0..rewards.len()).map(rises).collect();
    let stuck = |escapes: &[bool]| {
        let below = |code: &usize| rewards[*code] < best && !escapes[*code];
        (0..rewards.len()).filter(below).count() as f64
    };
    let maxima = stuck(&escapes);
    let mut found: Vec<usize> = (0..rewards.len()).filter(|&code| escapes[code]).collect();
    while let Some(code) = found.pop() {
        for other in near(code) {
            if !escapes[other] && rewards[other] == rewards[code] {
                escapes[other] = true;
                found.push(other);
            }
        }
    }
    vec![maxima, stuck(&escapes)]
}

/// The largest prime factor of a whole number.
fn largest_prime(number: f64) -> f64 {
    let (mut number, mut factor) = (number as u64, 2);
    while factor * factor <= number {
        if number.is_multiple_of(factor) {
            number /= factor;
        } else {
            factor += 1;
        }
    }
    number as f64
}

/// The mean greedy reward of the runs of `cavi`.
fn mean_reward(report: &Value) -> Vec<f64> {
    let runs = list(&report["runs"]);
    let rewards = runs
        .iter()
        .map(|run| run["greedy_reward"].as_f64().unwrap());
    vec![rewards.sum::<f64>() / runs.len() as f64]
}

/// The runs of `cavi` that end at reward 1, of how many.
fn optimal_runs(report: &Value) -> Vec<f64> {
    let runs = list(&report["runs"]);
    vec![
        count(runs.iter(), |run| run["greedy_exact"] == "1/1"),
        runs.len() as f64,
    ]
}

fn optimal_chains(report: &Value) -> Vec<f64> {
    vec![count(list(&report["chains"]).iter(), |chain| {
        chain["reward_exact"] == "1/1"
    })]
}

/// The counts after 10, 20 and 40 sweeps.
fn sweeps(numbers: &Numbers, order: &str) -> Vec<f64> {
    [10, 20, 40]
        .map(|sweeps| numbers[&format!("{order} {sweeps}")][0])
        .to_vec()
}

/// Compares counts of 4,000 after 10, 20 and 40 sweeps with the paper's of 100.
fn compared(ours: &[f64]) -> Vec<f64> {
    let paper = [46.0, 76.0, 97.0].map(|count| proportion(count, 100.0));
    let p = |(&count, paper): (&f64, &Proportion)| fisher(&proportion(count, 4000.0), paper);
    ours.iter().zip(&paper).map(p).collect()
}

/// The traps whose barrier is not one of the losses of single changes that the paper has, of how many.
fn high_barriers(report: &Value) -> Vec<f64> {
    let barriers = list(&report["barriers"]);
    let single = ["1/25", "4/125", "16/625"];
    let high = barriers
        .iter()
        .filter(|kind| !single.contains(&kind["barrier"].as_str().unwrap()));
    vec![
        high.map(|kind| whole(&kind["count"])).sum(),
        whole(&report["traps"]),
    ]
}

/// The networks on the quasigroup at coefficient 0.3 that end above 0.95 at T = 8, of how many.
fn solved_quasigroups(lines: &[Value]) -> Vec<f64> {
    let networks = || {
        lines
            .iter()
            .filter(|line| line["task"] == "quasigroup" && line["c"] == 0.3)
    };
    vec![count(networks(), is_solved), count(networks(), |_| true)]
}

fn is_solved(network: &Value) -> bool {
    network["accuracies"][7].as_f64() > Some(0.95)
}

/// The seeds whose gate saw 0.998 or more at the cap, and the first and last step at which one did.
fn learned(lines: &[Value]) -> Vec<f64> {
    let at_cap = |line: &&Value| {
        (&line["task"], &line["c"], &line["length"])
            == (&json!("quasigroup"), &json!(0.3), &json!(21))
            && line["gate"].as_f64() >= Some(0.998)
    };
    let points: Vec<&Value> = lines.iter().filter(at_cap).collect();
    let mut seeds: Vec<u64> = points
        .iter()
        .map(|line| line["seed"].as_u64().unwrap())
        .collect();
    seeds.sort_unstable();
    seeds.dedup();
    let steps = || points.iter().map(|line| whole(&line["step"]));
    vec![
        seeds.len() as f64,
        steps().fold(f64::INFINITY, f64::min),
        steps().fold(0.0, f64::max),
    ]
}

/// Of the settings that were screened at coefficient 0.3: networks on the quasigroup that end above 0.95, all of them,
/// and the settings.
fn screened(lines: &[Value]) -> Vec<f64> {
    let screen = |line: &&Value| {
        let name = line["records"].as_str().unwrap_or_default();
        (name.starts_with("c-") || name.starts_with("p-"))
            && (&line["task"], &line["c"]) == (&json!("quasigroup"), &json!(0.3))
    };
    let networks: Vec<&Value> = lines.iter().filter(screen).collect();
    let mut settings: Vec<&str> = networks
        .iter()
        .map(|line| line["records"].as_str().unwrap())
        .collect();
    settings.dedup();
    let solved = count(networks.iter().copied(), is_solved);
    vec![solved, networks.len() as f64, settings.len() as f64]
}

/// What a line between networks of the class (0,0) falls below its lower end, at most.
fn largest_barrier(lines: &[Value]) -> Vec<f64> {
    let narrow = lines.iter().filter(|line| line["class"] == "(0,0)");
    let barrier = |line: &Value| {
        let right: Vec<f64> = list(line).iter().map(whole).collect();
        right[0].min(right[right.len() - 1]) - right.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let barriers = narrow.flat_map(|line| list(&line["right"]).iter().map(barrier));
    vec![barriers.fold(0.0, f64::max)]
}

/// The networks of window (0,0) that took at most 500 updates, all of them, and the most updates.
fn narrow_updates(lines: &[Value]) -> Vec<f64> {
    let narrow = |line: &&Value| {
        line["class"]
            .as_str()
            .is_some_and(|class| class.starts_with("(0,0)"))
    };
    let updates: Vec<f64> = lines
        .iter()
        .filter(narrow)
        .map(|line| whole(&line["updates"]))
        .collect();
    let fast = updates.iter().filter(|&&updates| updates <= 500.0).count();
    vec![
        fast as f64,
        updates.len() as f64,
        updates.iter().copied().fold(0.0, f64::max),
    ]
}

/// Expert iteration with exploration: the networks above 0.95 at T = 4 and all of them, on Z_5 and on the quasigroup.
fn experts(lines: &[Value]) -> Vec<f64> {
    let of_class = |class: &str| {
        let expert = |line: &&Value| {
            let settings = &line["parameters"];
            line["class"] == class
                && settings["method"] == "expert"
                && settings["epsilon"].as_f64() > Some(0.0)
        };
        let networks = || lines.iter().filter(expert);
        [
            count(networks(), |line| line["greedy"][3].as_f64() > Some(0.95)),
            count(networks(), |_| true),
        ]
    };
    [of_class("z5"), of_class("quasigroup")].concat()
}

/// The mean and the deviation of the accuracy at T = 2 under a relabelling, with weights `pt` and `02`.
fn relabelled(lines: &[Value], noise: &str) -> Vec<f64> {
    let of_initial = |initial: &str| {
        let wanted = |line: &&Value| {
            let settings = &line["parameters"];
            line["class"] == "two" && settings["noise"] == noise && settings["initial"] == initial
        };
        let accuracies = lines
            .iter()
            .filter(wanted)
            .map(|line| line["greedy"][1].as_f64().unwrap());
        let summary = Summary::of(&accuracies.collect::<Vec<f64>>()).expect(noise);
        [summary.mean, summary.sd.expect(noise)]
    };
    [of_initial("pt"), of_initial("02")].concat()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn json(path: &str) -> Value {
    serde_json::from_str(&read(path)).unwrap()
}

/// The numbers at the `{}` of a pattern, at the first place of a text where it fits.
fn matched(text: &str, pattern: &str) -> Option<Vec<f64>> {
    let (first, rest) = pattern.split_once("{}")?;
    let starts = text.match_indices(first).map(|(at, _)| at + first.len());
    starts.into_iter().find_map(|start| {
        let mut text = &text[start..];
        let mut found = Vec::new();
        for piece in rest.split("{}") {
            let end = text.find(|c: char| !c.is_ascii_digit() && !".,e-".contains(c));
            let token = text[..end.unwrap_or(text.len())].trim_end_matches([',', '.']);
            found.push(token.replace(',', "").parse().ok()?);
            text = text[token.len()..].strip_prefix(piece)?;
        }
        Some(found)
    })
}

/// The numbers of a source, or those that were written before of a command that takes long.
fn numbers_of(
    name: &str,
    source: &Source,
    known: &Numbers,
    written: &Value,
    long: bool,
) -> Vec<f64> {
    let scratch = Scratch::new();
    match source {
        Long(..) if !long && written[name]["from"] == from(source) => {
            serde_json::from_value(written[name]["values"].clone()).unwrap()
        }
        Here(_, compute) => compute(),
        Command(command, take) | Long(command, take) => take(&scratch.json(&words(command))),
        Records(file, take) => {
            let lines = read(&format!("results/{file}"));
            let lines: Vec<Value> = lines
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            take(&lines)
        }
        Statement(id, pattern) => {
            let claims = json("results/claims.json");
            let claim = list(&claims["claims"])
                .iter()
                .find(|claim| claim["id"] == *id);
            let evidence = claim.expect(id)["evidence"].as_str().unwrap().to_owned();
            matched(&evidence, pattern)
                .unwrap_or_else(|| panic!("{id} has no {pattern:?}: {evidence}"))
        }
        Source::Numbers(take) => take(known),
    }
}

/// Where a number comes from, for readers of the file.
fn from(source: &Source) -> Value {
    match source {
        Command(command, _) | Long(command, _) => json!(format!("foldglass {command}")),
        Records(file, _) => json!(format!("results/{file}")),
        Statement(id, _) => json!(format!("results/claims.json, {id}")),
        Here(what, _) => json!(what),
        Source::Numbers(_) => json!("other numbers of this file"),
    }
}

/// Digits in groups of three.
fn grouped(number: f64) -> String {
    let digits = format!("{number}");
    let Some(whole) = (number.fract() == 0.0 && number >= 1e3).then_some(&digits) else {
        return digits;
    };
    let groups = whole.as_bytes().rchunks(3).rev();
    let groups: Vec<&str> = groups
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join(",")
}

/// A placeholder's number: `name`, which of the list, `.3` decimals or `~1` significant digits.
fn filled(place: &str, numbers: &Numbers) -> String {
    let mut parts = place.split(' ');
    let name = parts.next().unwrap();
    let (mut which, mut digits) = (1, "");
    for part in parts {
        match part.parse() {
            Ok(number) => which = number,
            Err(_) => digits = part,
        }
    }
    let list = numbers
        .get(name)
        .unwrap_or_else(|| panic!("{name} is not a number"));
    let number = list[which - 1];
    match digits.split_at(digits.len().min(1)) {
        (".", decimals) => format!("{number:.*}", decimals.parse().unwrap()),
        ("~", significant) => {
            let significant: usize = significant.parse().unwrap();
            let small = format!("{number:.*e}", significant - 1);
            let exponent: i32 = small.split_once('e').unwrap().1.parse().unwrap();
            match exponent {
                -2..=0 => format!("{number:.*}", (significant as i32 - 1 - exponent) as usize),
                _ => small,
            }
        }
        _ => grouped(number),
    }
}

/// The page, with every placeholder filled.
fn page(numbers: &Numbers) -> String {
    let template = read("docs/templates/errata.md");
    let mut pieces = template.split("[[");
    let mut page = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (place, rest) = piece.split_once("]]").expect("a placeholder ends");
        page += &filled(place, numbers);
        page += rest;
    }
    page
}

#[test]
fn a_pattern_finds_its_numbers() {
    let text = "at most 3 codes; 35,294,848 of 1.5e-3 (k = 2), 4.";
    assert_eq!(
        matched(text, "; {} of {} ("),
        Some(vec![35_294_848.0, 1.5e-3])
    );
    assert_eq!(matched(text, "), {}"), Some(vec![4.0]));
    assert_eq!(matched(text, "; {} or"), None);
    let numbers = Numbers::from([("a".to_owned(), vec![1234.0, 0.02639, 2e-5])]);
    let filled = ["a", "a 2 .3", "a 2 ~2", "a 3 ~1"].map(|place| filled(place, &numbers));
    assert_eq!(filled, ["1,234", "0.026", "0.026", "2e-5"]);
}

/// Ten seconds of a processor.
mod full {
    use super::*;

    #[test]
    fn the_numbers_of_the_errata_are_those_of_commands_records_and_statements() {
        let asked = std::env::var("FOLDGLASS_ERRATA").unwrap_or_default();
        let (write, long) = (asked == "write" || asked == "long", asked == "long");
        let written = json("results/errata.json");
        let mut numbers = Numbers::new();
        let mut list = serde_json::Map::new();
        for (name, source) in NUMBERS {
            let values = numbers_of(name, source, &numbers, &written, long);
            let entry = json!({"from": from(source), "values": values});
            assert!(
                write || written[name] == entry,
                "{name}: {entry}, not {}",
                written[name]
            );
            list.insert((*name).to_owned(), entry);
            numbers.insert((*name).to_owned(), values);
        }
        let page = page(&numbers);
        if write {
            let text = serde_json::to_string_pretty(&list).unwrap() + "\n";
            fs::write(root().join("results/errata.json"), text).unwrap();
            fs::write(root().join("docs/errata.md"), page).unwrap();
            return;
        }
        assert_eq!(
            list.len(),
            written.as_object().unwrap().len(),
            "results/errata.json has other numbers"
        );
        assert!(
            page == read("docs/errata.md"),
            "docs/errata.md is not what `cargo xtask errata` writes"
        );
    }
}
