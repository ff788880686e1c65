//! Answers the questions of pages with the numbers of the libraries and of the commands.

mod class;
mod command;
mod drawing;
mod dynamics;
mod look;
mod records;
mod start;
mod ways_out;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldglass::{Code, Reward};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::classes::Known;
use super::deadline::{Deadline, Heard};
use super::explorer::{Explorer, Kind};
use super::refusal::Refusal;

pub use dynamics::Run;

/// A question, and who asks it.
pub struct Ask<'a> {
    pub explorer: &'a Explorer,
    pub page: &'a str,
    pub deadline: Deadline,
}

/// The names of all questions.
const NAMES: [&str; 20] = [
    "hello",
    "alive",
    "gone",
    "progress",
    "class",
    "start",
    "look",
    "wrong",
    "rollout",
    "svg",
    "run/new",
    "run/step",
    "run/drop",
    "escape",
    "certify",
    "tree",
    "records",
    "records/plot",
    "records/point",
    "records/run",
];

/// Whether a question is answered at once, without a thread.
pub fn is_short(name: &str) -> bool {
    ["hello", "alive", "gone", "progress", "run/drop"].contains(&name) || !NAMES.contains(&name)
}

/// Whether a question may take as long as one may.
pub fn is_long(name: &str) -> bool {
    ["certify", "tree", "start", "wrong"].contains(&name)
}

/// The JSON that answers a question.
pub fn answer(ask: &Ask<'_>, name: &str, body: &[u8]) -> Result<Vec<u8>, Refusal> {
    match name {
        "hello" => respond(body, |_: Nothing| Ok(hello(ask))),
        "alive" => respond(body, |_: Nothing| Ok(json!({}))),
        "gone" => respond(body, |gone: Gone| {
            ask.explorer.leave(&gone.page);
            Ok(json!({}))
        }),
        "progress" => respond(body, |asked| Ok(progress(ask, &asked))),
        "class" => respond(body, |asked| class::describe(ask, &asked)),
        "start" => respond(body, |asked| start::start(ask, &asked)),
        "look" => respond(body, |asked| look::look(ask, &asked)),
        "wrong" => respond(body, |asked| look::wrong(ask, &asked)),
        "rollout" => respond(body, |asked| drawing::rollout(ask, &asked)),
        "svg" => respond(body, |asked| drawing::svg(ask, &asked)),
        "run/new" => respond(body, |asked| dynamics::begin(ask, &asked)),
        "run/step" => respond(body, |asked| dynamics::step(ask, &asked)),
        "run/drop" => respond(body, |asked| dynamics::end(ask, &asked)),
        "escape" => respond(body, |asked| ways_out::escape(ask, &asked)),
        "certify" => respond(body, |asked| ways_out::certify(ask, &asked)),
        "tree" => respond(body, |asked| ways_out::tree(ask, &asked)),
        "records" => respond(body, |asked| records::list(ask, &asked)),
        "records/plot" => respond(body, |asked| records::plot(ask, &asked)),
        "records/point" => respond(body, |asked| records::point(ask, &asked)),
        "records/run" => respond(body, |asked| records::run(ask, &asked)),
        other => Err(Refusal::new(404, format!("there is no question `{other}`"))
            .help(format!("one of {}", NAMES.join(", ")))),
    }
}

fn respond<Q: DeserializeOwned, A: Serialize>(
    body: &[u8],
    answer: impl FnOnce(Q) -> Result<A, Refusal>,
) -> Result<Vec<u8>, Refusal> {
    let asked = serde_json::from_slice(body)
        .map_err(|error| Refusal::new(400, format!("the request cannot be read: {error}")))?;
    let answered = answer(asked)?;
    serde_json::to_vec(&answered).map_err(|error| Refusal::new(500, error.to_string()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gone {
    page: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgressAsked {
    /// The name of a long question.
    of: String,
}

/// How far a long computation of the page has come; nulls where none goes on.
fn progress(ask: &Ask<'_>, asked: &ProgressAsked) -> Value {
    let heard = ask.explorer.work(ask.page, &asked.of);
    let number = |part: fn(&Heard) -> &AtomicU64| {
        let number = part(heard.as_deref()?).load(Ordering::Relaxed);
        Some(number)
    };
    json!({ "done": number(|heard| &heard.done), "all": number(|heard| &heard.all) })
}

/// A class by its flags.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassAsked {
    class: Vec<String>,
}

/// A code by the flags of its class and its tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeAsked {
    class: Vec<String>,
    code: Vec<i64>,
    /// The significant digits of visits and values; none are all.
    digits: Option<u8>,
}

/// What the program was started with.
fn hello(ask: &Ask<'_>) -> Value {
    let explorer = ask.explorer;
    let directory = explorer.directory.as_ref().map(|directory| {
        let kind = match directory.kind {
            Kind::Study => "study",
            Kind::Fleet => "fleet",
            Kind::Reproduction => "reproduction",
        };
        let name = directory
            .path
            .file_name()
            .unwrap_or(directory.path.as_os_str());
        json!({ "name": name.to_string_lossy(), "kind": kind })
    });
    json!({
        "version": foldglass_study::VERSION,
        "class": explorer.class.as_ref().map(|known| &known.flags),
        "code": explorer.code.as_ref().map(Code::actions),
        "directory": directory,
    })
}

impl Ask<'_> {
    fn class(&self, flags: &[String]) -> Result<Arc<Known>, Refusal> {
        self.explorer.classes.find(flags, self.explorer.allowance)
    }

    fn code(&self, asked: &CodeAsked) -> Result<(Arc<Known>, Code), Refusal> {
        let known = self.class(&asked.class)?;
        let code = code_of(&known, &asked.code)?;
        Ok((known, code))
    }
}

fn code_of(known: &Known, tokens: &[i64]) -> Result<Code, Refusal> {
    Code::new(&known.class, tokens).map_err(|error| Refusal::unable(error.to_string()))
}

/// An exact number with its value.
#[derive(Serialize)]
struct Exact {
    text: String,
    value: f64,
}

impl From<&Reward> for Exact {
    fn from(reward: &Reward) -> Exact {
        Exact {
            text: reward.to_string(),
            value: reward.to_f64(),
        }
    }
}

/// A whole number: as a number where JavaScript holds all of its kind exactly, else as text.
#[derive(Serialize)]
#[serde(untagged)]
enum Whole {
    Number(i64),
    Text(String),
}

/// The bits up to which JavaScript's numbers are exact.
const EXACT_BITS: u32 = 53;

/// How whole numbers up to a size are written.
#[derive(Clone, Copy)]
struct Wholes {
    exact: bool,
}

impl Wholes {
    fn up_to(most: u128) -> Wholes {
        Wholes {
            exact: most < 1 << EXACT_BITS,
        }
    }

    fn of(self, number: i128) -> Whole {
        match i64::try_from(number) {
            Ok(number) if self.exact => Whole::Number(number),
            _ => Whole::Text(number.to_string()),
        }
    }
}

/// Numbers as they are, or with so many significant digits: a picture needs few, and they are sent sooner.
fn rounded(mut numbers: Vec<f64>, digits: Option<u8>) -> Vec<f64> {
    let Some(digits) = digits else {
        return numbers;
    };
    for number in numbers.iter_mut().filter(|number| **number != 0.0) {
        let places = i32::from(digits.clamp(1, 15)) - 1 - number.abs().log10().floor() as i32;
        let scale = 10f64.powi(places.abs());
        let short = if places < 0 {
            (*number / scale).round() * scale
        } else {
            (*number * scale).round() / scale
        };
        // Where the scale leaves the numbers there are, the number stays as it is.
        if short.is_finite() && scale.is_finite() {
            *number = short;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_where_that_is_asked_for() {
        let numbers = vec![0.0, 1.0 / 3.0, -123_456.789, 1e-320];
        assert_eq!(rounded(numbers.clone(), None), numbers);
        let three = rounded(numbers, Some(3));
        assert_eq!(three, [0.0, 0.333, -123_000.0, 1e-320]);
    }

    #[test]
    fn whole_numbers_are_texts_where_javascript_would_round_them() {
        let text = |most: u128, n: i128| serde_json::to_string(&Wholes::up_to(most).of(n)).unwrap();
        assert_eq!(text(1 << 52, -3), "-3");
        assert_eq!(text(1 << 53, -3), "\"-3\"");
        assert_eq!(text(u128::MAX, i128::MAX), format!("\"{}\"", i128::MAX));
    }
}
