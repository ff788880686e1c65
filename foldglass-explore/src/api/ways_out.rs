//! Leads codes out: escape paths, searches of shelves, the barrier tree (paper, thm. 4.1, App. E and G.6).

use foldglass::Context;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::Duration;

use foldglass::proof::claim::{self, MoveKind};
use foldglass::support::clock::Instant;
use foldglass::support::watch::{Observer, Progress};
use foldglass::{Code, Reward, landscape::escape as library};
use foldglass_report::certify as shelf;
use foldglass_report::error::Error;
use foldglass_report::tree::{LeafSpot, flood};
use foldglass_report::words::counted;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::class::check_codes;
use super::command::{self, CODE};
use super::{Ask, ClassAsked, CodeAsked, Exact, code_of};
use crate::deadline::Deadline;
use crate::refusal::Refusal;

/// A move of a path, with what it is for.
#[derive(Serialize)]
struct Move {
    cell: usize,
    from: u16,
    to: u16,
    reward: Exact,
    stage: Option<String>,
    #[serde(rename = "for")]
    purpose: &'static str,
}

/// What a move is for: what the theorem says, or what it does to the reward.
fn purpose(kind: Option<MoveKind>, change: Ordering) -> &'static str {
    match kind {
        Some(MoveKind::Consolidate) => {
            "the cell takes the token that is best for the state it leads to: one token for each state"
        }
        Some(MoveKind::Prepare) => {
            "no input consults this cell yet: it is set for a state that will be led here"
        }
        Some(MoveKind::Reroute) => {
            "a state leaves the token that it shares with another for one of its own"
        }
        Some(MoveKind::Finish) => "a cell of the last step takes the right answer",
        Some(MoveKind::Neutral) => "the reward stays what it is",
        Some(MoveKind::Raise) => "the reward rises",
        None => match change {
            Ordering::Less => "the reward falls: this is a part of the barrier",
            Ordering::Equal => "the reward stays what it is",
            Ordering::Greater => "the reward rises",
        },
    }
}

/// The moves of a path from a reward.
fn moves(start: &Reward, list: &[claim::Move]) -> Vec<Move> {
    let before = std::iter::once(start).chain(list.iter().map(|m| &m.reward));
    let one = |(m, before): (&claim::Move, &Reward)| Move {
        cell: m.cell,
        from: m.from,
        to: m.to,
        reward: Exact::from(&m.reward),
        stage: m.kind.map(|kind| kind.to_string()),
        purpose: purpose(m.kind, m.reward.cmp(before)),
    };
    list.iter().zip(before).map(one).collect()
}

/// Leads a code to reward 1.
pub fn escape(ask: &Ask<'_>, asked: &CodeAsked) -> Result<Value, Refusal> {
    let (_, code) = ask.code(asked)?;
    library::assumptions(code.class()).map_err(|error| {
        Refusal::unable(error.to_string()).help("certify searches the shelf of a code of any class")
    })?;
    let path = library::escape(
        &code,
        Context::default().with_memory(ask.explorer.allowance),
    );
    let path = path.map_err(|error| Refusal::unable(error.to_string()))?;
    Ok(json!({
        "start_reward": Exact::from(&path.start_reward),
        "reward": Exact::from(&path.reward),
        "moves": moves(&path.start_reward, &path.moves),
        "most_moves": library::most_moves(code.class()).to_string(),
        "command": command::line(["escape", "--code", CODE, "--list"]),
        "code_file": command::code_file(&code),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifyAsked {
    class: Vec<String>,
    code: Vec<i64>,
    /// The most codes of the shelf to search.
    #[serde(default = "cap")]
    cap: usize,
    /// Whether the way out over a barrier is searched too.
    #[serde(default)]
    barrier: bool,
}

fn cap() -> usize {
    100_000
}

/// The largest cap.
const MOST_CAP: usize = 1_000_000;

/// One thread within the explorer's memory, so that several questions are answered at once.
fn one_thread<'a>(ask: &Ask<'_>, observer: &'a dyn Observer) -> Context<'a> {
    Context::default()
        .with_threads(1)
        .with_memory(ask.explorer.allowance)
        .with_observer(observer)
}

/// Searches the shelf of a code.
pub fn certify(ask: &Ask<'_>, asked: &CertifyAsked) -> Result<Value, Refusal> {
    let known = ask.class(&asked.class)?;
    let code = code_of(&known, &asked.code)?;
    if !(1..=MOST_CAP).contains(&asked.cap) {
        return Err(Refusal::unable(format!(
            "cap {}: a whole number from 1 to {MOST_CAP} is needed",
            asked.cap
        )));
    }
    let context = one_thread(ask, &ask.deadline);
    let line = shelf::certify(&code, asked.cap, asked.barrier, context)?;
    let cap = asked.cap.to_string();
    let mut words = vec!["certify", "--code", CODE, "--max-codes", &cap];
    if asked.barrier {
        words.push("--barrier");
    }
    let mut told = serde_json::to_value(&line).map_err(|e| Refusal::new(500, e.to_string()))?;
    let over = asked.barrier && ask.deadline.is_over();
    told["stopped"] = (over || told.get("interrupted").is_some()).into();
    told["path"] = json!(line.path().map(|path| moves(line.reward(), path)));
    told["way_out"] = json!(line.way_out().map(|way| moves(line.reward(), way)));
    told["words"] = words_of(&told, asked.cap).into();
    told["command"] = command::line(words).into();
    told["code_file"] = json!(command::code_file(&code));
    Ok(told)
}

fn words_of(told: &Value, cap: usize) -> String {
    let (verdict, shelf) = (told["verdict"].as_str().unwrap_or(""), &told["shelf"]);
    let stopped = told["stopped"].as_bool().unwrap_or(false);
    let more = if stopped { "; its time was over" } else { "" };
    match verdict {
        "optimal" => "the reward is 1: there is nothing higher".to_owned(),
        "certified" if shelf == 1 => {
            "a trap: it is alone on its shelf, and every change of one cell lowers the reward"
                .to_owned()
        }
        "certified" => format!(
            "a trap: all {shelf} codes of its shelf were searched, and none has a neighbour that is higher"
        ),
        "escapes" => {
            "not a trap: a way of changes that keep the reward leads to one that raises it"
                .to_owned()
        }
        _ => format!(
            "not decided: no way up was found among {} of its shelf (at most {cap} are searched{more})",
            counted(shelf.as_u64().unwrap_or(0), "code")
        ),
    }
}

/// The most leaves that are drawn and told of.
const MOST_LEAVES: usize = 200;

/// Stops a flood that its time is over for, or that will not be done in time by far.
struct Forecast<'a> {
    deadline: &'a Deadline,
    begun: Instant,
    limit: Duration,
    /// About the time of the whole flood, where it was stopped.
    needed: OnceLock<Duration>,
}

/// How much longer than allowed a flood is foreseen to take before it is stopped for it: a forecast made
/// early is a rough one.
const MARGIN: u32 = 2;

impl Observer for Forecast<'_> {
    fn report(&self, progress: Progress<'_>) -> ControlFlow<()> {
        let over = self.deadline.report(progress);
        let (elapsed, all) = (self.begun.elapsed(), progress.all.unwrap_or(0));
        if elapsed < self.limit / 10 || progress.done == 0 {
            return over;
        }
        let needed = elapsed.mul_f64(all as f64 / progress.done as f64);
        if over.is_continue() && needed < MARGIN * self.limit {
            return over;
        }
        let _ = self.needed.set(needed);
        ControlFlow::Break(())
    }
}

/// Floods a small class.
pub fn tree(ask: &Ask<'_>, asked: &ClassAsked) -> Result<Value, Refusal> {
    let known = ask.class(&asked.class)?;
    check_codes(&known.class)
        .map_err(|error| Refusal::unable(error).help("such as --task parity --lengths 4"))?;
    let limit = ask.explorer.computing;
    let forecast = Forecast {
        deadline: &ask.deadline,
        begun: Instant::now(),
        limit,
        needed: OnceLock::new(),
    };
    let context = one_thread(ask, &forecast);
    let flooded = flood(&known.class, &known.words, MOST_LEAVES, context);
    let line = ["tree", "--svg", "tree.svg"].into_iter().map(str::to_owned);
    let line = command::line(line.chain(known.flags.iter().cloned()));
    let (tree, sketch) = flooded.map_err(|error| match error {
        Error::Stopped(_) => {
            let limit = limit.as_secs_f64();
            let why = match forecast.needed.get() {
                Some(needed) => format!(
                    "it would take about {:.1} s on this machine, as busy as it is; a page waits {limit} s",
                    needed.as_secs_f64()
                ),
                None => format!("it was not done after {limit} s, as long as a page waits"),
            };
            Refusal::new(503, format!("the tree was given up: {why}"))
            .help(format!(
                "{line} draws it; so does the page of `foldglass explore --time-limit 60`"
            ))
        }
        other => other.into(),
    })?;
    let [width, height] = sketch.size;
    let leaf = |spot: &LeafSpot| {
        let leaf = &tree.leaves[spot.leaf];
        json!({
            "id": spot.leaf,
            "reward": Exact::from(&tree.reward(leaf.reward)),
            "size": leaf.shelf.to_string(),
            "barrier": leaf.barrier.map(|barrier| Exact::from(&tree.reward(barrier))),
            "steepest": leaf.steepest.to_string(),
            "random": leaf.random,
            "code": Code::actions(&leaf.code),
            "x": spot.x,
            "y": spot.y,
        })
    };
    let saddles = (tree.leaves.len()..)
        .zip(&tree.saddles)
        .map(|(id, saddle)| {
            let reward = Exact::from(&tree.reward(saddle.reward));
            json!({ "id": id, "reward": reward, "children": saddle.children })
        });
    Ok(json!({
        "svg": sketch.svg,
        "width": width,
        "height": height,
        "codes": tree.codes.to_string(),
        "leaf_count": tree.leaves.len(),
        "leaves": sketch.leaves.iter().map(leaf).collect::<Vec<_>>(),
        "saddles": saddles.take(10 * MOST_LEAVES).collect::<Vec<_>>(),
        "command": line,
    }))
}
