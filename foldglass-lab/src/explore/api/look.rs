//! Looks at a code: its exact reward, what every change of one cell does to it, visits, values, wrong
//! answers (paper, sections 2.2 and 4, App. A).

use foldglass::count::Counter;
use foldglass::{Code, Evaluator, InputLaw, Policy, Reward};
use serde::Serialize;
use serde_json::{Value, json};

use super::command::{self, CODE, File};
use super::{Ask, CodeAsked, Exact, Whole, Wholes, rounded};
use crate::commands::inspect::inspect;
use crate::error::Error;
use crate::explore::refusal::Refusal;

#[derive(Serialize)]
pub struct Looked {
    reward: Exact,
    /// 1 less the reward.
    shortfall: Exact,
    numerator: Whole,
    denominator: String,
    status: Status,
    /// How many changes of one cell do what.
    changes: Changes,
    /// By cell and token, q a cell: the numerator after the change less the one now.
    delta: Vec<Whole>,
    visits: Vec<f64>,
    /// d(c)Q(c,a), q a cell.
    values: Vec<f64>,
    unvisited: Vec<usize>,
    wrong: Option<WrongCount>,
    command: String,
    code_file: File,
}

#[derive(Debug, Default, Clone, Copy, Serialize)]
struct Changes {
    raise: usize,
    keep: usize,
    lower: usize,
}

#[derive(Serialize)]
struct Status {
    kind: &'static str,
    words: String,
}

/// How many inputs are answered wrongly, where all are equally likely.
#[derive(Serialize)]
struct WrongCount {
    count: String,
    of: String,
}

/// Looks at a code.
pub fn look(ask: &Ask<'_>, asked: &CodeAsked) -> Result<Looked, Refusal> {
    let (_, code) = ask.code(asked)?;
    let class = code.class();
    let (q, cells) = (class.q(), class.cells());
    let counter = Counter::new(code.clone(), ask.explorer.allowance);
    let mut counter = counter.map_err(Error::from)?;
    let (now, denominator) = (counter.reward(), counter.denominator());
    let wholes = Wholes::up_to(denominator);
    let mut changes = Changes::default();
    let mut delta = Vec::with_capacity(cells * q);
    let mut rewards = vec![0; q];
    for cell in 0..cells {
        if cell % 256 == 0 {
            ask.deadline.check("counting all changes")?;
        }
        counter.rewards(cell, &mut rewards);
        for (action, &reward) in rewards.iter().enumerate() {
            if action != usize::from(code.action(cell)) {
                match reward.cmp(&now) {
                    std::cmp::Ordering::Greater => changes.raise += 1,
                    std::cmp::Ordering::Equal => changes.keep += 1,
                    std::cmp::Ordering::Less => changes.lower += 1,
                }
            }
            delta.push(wholes.of(reward as i128 - now as i128));
        }
    }
    let mut evaluator = Evaluator::new(class, ask.explorer.allowance).map_err(Error::from)?;
    evaluator.evaluate(&Policy::deterministic(&code));
    let (mut visits, mut values) = (vec![0.0; cells], vec![0.0; cells * q]);
    evaluator.visits_into(&mut visits);
    evaluator.values_into(&mut values);
    let reward = Reward::new(now, denominator);
    Ok(Looked {
        shortfall: Exact::from(&Reward::new(denominator - now, denominator)),
        numerator: wholes.of(now as i128),
        denominator: denominator.to_string(),
        status: status(&reward, changes),
        reward: Exact::from(&reward),
        changes,
        delta,
        unvisited: (0..cells).filter(|&cell| visits[cell] == 0.0).collect(),
        visits: rounded(visits, asked.digits),
        values: rounded(values, asked.digits),
        wrong: wrong_count(&code, now, denominator),
        command: command::line(["eval", "--code", CODE, "--list"]),
        code_file: command::code_file(&code),
    })
}

fn status(reward: &Reward, changes: Changes) -> Status {
    let Changes { raise, keep, .. } = changes;
    let (kind, words) = match (raise, keep) {
        _ if reward.is_one() => (
            "global maximum",
            "every input is answered rightly".to_owned(),
        ),
        (0, 0) => (
            "trap",
            "a strict local maximum below 1: every change of one cell lowers the reward".to_owned(),
        ),
        (0, keep) => (
            "on a shelf",
            format!(
                "a local maximum below 1: no change of one cell raises the reward, {keep} keep it; certify \
                 says whether a way along them leads up"
            ),
        ),
        (raise, _) => (
            "not a maximum",
            format!("changes of one cell that raise the reward: {raise}"),
        ),
    };
    Status { kind, words }
}

fn wrong_count(code: &Code, now: u128, denominator: u128) -> Option<WrongCount> {
    let task = code.class().task();
    let counted = task.lengths().len() == 1 && *task.inputs().law() == InputLaw::Uniform;
    counted.then(|| WrongCount {
        count: (denominator - now).to_string(),
        of: denominator.to_string(),
    })
}

/// The inputs that are looked at, and those that are listed.
const MOST_INPUTS: usize = 200_000;
const LISTED: usize = 64;

/// Takes a code apart, as `inspect` does.
pub fn wrong(ask: &Ask<'_>, asked: &CodeAsked) -> Result<Value, Refusal> {
    let (_, code) = ask.code(asked)?;
    let inspected = inspect(code.clone(), MOST_INPUTS, 0, ask.explorer.allowance)?;
    let mut found = inspected.json();
    let list = found["wrong_inputs"].as_array_mut().map(|list| {
        list.truncate(LISTED);
        std::mem::take(list)
    });
    let part = |key: &str| found[key].clone();
    Ok(json!({
        "count": part("wrong"),
        "of": part("inputs"),
        "sampled": part("sampled"),
        "list": list,
        "causes": part("causes"),
        "ignored": part("ignored"),
        "steps": part("steps"),
        "aliasing": part("aliasing"),
        "command": command::line(["inspect", "--code", CODE]),
        "code_file": command::code_file(&code),
    }))
}
