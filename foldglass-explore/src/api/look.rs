//! Looks at a code: its exact reward, what every change of one cell does to it, visits, values, wrong
//! answers (paper, sections 2.2 and 4, App. A).

use std::cmp::Ordering;

use foldglass::landscape::anatomy::Defence;
use foldglass::reward::count::Counter;
use foldglass::{Allowance, Code, Evaluator, InputLaw, Policy, Reward};
use foldglass_report::error::Error;
use foldglass_report::inspect::{RolloutLimits, inspect};
use serde::Serialize;
use serde_json::{Value, json};

use super::command::{self, CODE, NamedFile};
use super::{Ask, CodeAsked, Exact, WholeNumber, Wholes, rounded};
use crate::deadline::Deadline;
use crate::refusal::Refusal;

#[derive(Serialize)]
pub struct Looked {
    reward: Exact,
    /// 1 less the reward.
    shortfall: Exact,
    numerator: WholeNumber,
    denominator: String,
    status: Status,
    /// How many changes of one cell do what.
    changes: Changes,
    /// By cell and token, q a cell: the numerator after the change less the one now.
    delta: Vec<WholeNumber>,
    visits: Option<Vec<f64>>,
    /// d(c)Q(c,a), q a cell.
    values: Option<Vec<f64>>,
    /// Why there are neither visits nor values.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_sums: Option<String>,
    unvisited: Vec<usize>,
    wrong: Option<WrongCount>,
    command: String,
    code_file: NamedFile,
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

/// What every change of one cell does to the numerator, and how many do what.
fn changes(
    counter: &mut Counter,
    code: &Code,
    deadline: &Deadline,
) -> Result<(Changes, Vec<WholeNumber>), Refusal> {
    let (q, cells) = (code.class().q(), code.class().cells());
    let (now, wholes) = (counter.reward(), Wholes::up_to(counter.denominator()));
    let mut changes = Changes::default();
    let mut delta = Vec::with_capacity(cells * q);
    let mut rewards = vec![0; q];
    for cell in 0..cells {
        deadline.check("counting all changes")?;
        counter.rewards(cell, &mut rewards);
        for (action, &reward) in rewards.iter().enumerate() {
            delta.push(wholes.of(reward as i128 - now as i128));
            if action == usize::from(code.action(cell)) {
                continue;
            }
            match reward.cmp(&now) {
                Ordering::Greater => changes.raise += 1,
                Ordering::Equal => changes.keep += 1,
                Ordering::Less => changes.lower += 1,
            }
        }
    }
    Ok((changes, delta))
}

/// The visits of every cell, and d(c)Q(c,a), q a cell.
fn sums(code: &Code, allowance: Allowance) -> Result<(Vec<f64>, Vec<f64>), Refusal> {
    let class = code.class();
    let mut evaluator = Evaluator::within(class, allowance).map_err(Error::from)?;
    evaluator.evaluate(&Policy::deterministic(code));
    let (mut visits, mut values) = (
        vec![0.0; class.cells()],
        vec![0.0; class.cells() * class.q()],
    );
    evaluator.visits_into(&mut visits);
    evaluator.values_into(&mut values);
    Ok((visits, values))
}

/// Looks at a code.
pub fn look(ask: &Ask<'_>, asked: &CodeAsked) -> Result<Looked, Refusal> {
    let (_, code) = ask.code(asked)?;
    let class = code.class();
    let counter = Counter::within(code.clone(), ask.explorer.allowance);
    let mut counter = counter.map_err(Error::from)?;
    let (now, denominator) = (counter.reward(), counter.denominator());
    let (changes, delta) = changes(&mut counter, &code, &ask.deadline)?;
    let no_sums = ask.check_sums(class).err();
    let sums = match no_sums {
        None => Some(sums(&code, ask.explorer.allowance)?),
        Some(_) => None,
    };
    let (visits, values) = sums.unzip();
    let unvisited = |visits: &Vec<f64>| {
        (0..visits.len())
            .filter(|&cell| visits[cell] == 0.0)
            .collect()
    };
    let reward = Reward::new(now, denominator);
    Ok(Looked {
        shortfall: Exact::from(&Reward::new(denominator - now, denominator)),
        numerator: Wholes::up_to(denominator).of(now as i128),
        denominator: denominator.to_string(),
        status: status(&reward, changes),
        reward: Exact::from(&reward),
        changes,
        delta,
        unvisited: visits.as_ref().map_or_else(Vec::new, unvisited),
        visits: visits.map(|visits| rounded(visits, asked.digits)),
        values: values.map(|values| rounded(values, asked.digits)),
        no_sums,
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
                "a local maximum below 1: no change of one cell raises the reward, {keep} {}; certify decides \
                 whether a way along them leads up",
                if keep == 1 { "keeps it" } else { "keep it" }
            ),
        ),
        (raise, _) => (
            "not a maximum",
            match raise {
                1 => "1 change of one cell raises the reward".to_owned(),
                raise => format!("{raise} changes of one cell raise the reward"),
            },
        ),
    };
    Status { kind, words }
}

fn wrong_count(code: &Code, now: u128, denominator: u128) -> Option<WrongCount> {
    let task = code.class().task();
    let counted = task.rewards_one_step() && *task.inputs().law() == InputLaw::Uniform;
    counted.then(|| WrongCount {
        count: (denominator - now).to_string(),
        of: denominator.to_string(),
    })
}

/// The wrong inputs that are listed.
const LISTED: usize = 64;

/// The inputs that are rolled out, as `inspect` has it where nothing else is said, and the steps of rollouts
/// that a page may ask for.
const MOST_INPUTS: usize = 200_000;
const MOST_STEPS: usize = 20_000_000;

/// The pairs of rollouts that are followed for ignored positions: up to four seconds.
const MOST_PAIRS: u128 = 10_000_000;

/// The states of rollouts, as cells times symbols squared, that a page may ask for.
const MOST_STATES: usize = 10_000_000;

/// Takes a code apart, as `inspect` does; of long inputs, fewer are rolled out.
pub fn wrong(ask: &Ask<'_>, asked: &CodeAsked) -> Result<Value, Refusal> {
    let (_, code) = ask.code(asked)?;
    let class = code.class();
    if class.cells() * class.q() * class.q() > MOST_STATES {
        return Err(Refusal::unable(format!(
            "{} is too large to be taken apart in a page",
            class.spec()
        ))
        .help("foldglass inspect --code code.json"));
    }
    let steps: usize = class.task().lengths().iter().sum();
    let most_inputs = (MOST_STEPS / steps).clamp(1, MOST_INPUTS);
    let limits = RolloutLimits {
        inputs: most_inputs,
        pairs: MOST_PAIRS,
    };
    let mut found = inspect(code.clone(), limits, 0, Defence::default()).json();
    let list = found["wrong_inputs"].as_array_mut().map(|list| {
        list.truncate(LISTED);
        std::mem::take(list)
    });
    let most = most_inputs.to_string();
    let mut words = vec!["inspect", "--code", CODE];
    if most_inputs != MOST_INPUTS {
        words.extend(["--max-inputs", &most]);
    }
    let part = |key: &str| found[key].clone();
    Ok(json!({
        "count": part("wrong"),
        "of": part("inputs"),
        "sampled": part("sampled"),
        "probability": part("wrong_probability"),
        "probability_exact": part("wrong_probability_exact"),
        "list": list,
        "causes": part("causes"),
        "ignored": part("ignored"),
        "steps": part("steps"),
        "aliasing": part("aliasing"),
        "command": command::line(words),
        "code_file": command::code_file(&code),
    }))
}
