//! Answers the questions of pages with the numbers of the libraries and of the commands.

mod class;
mod drawing;
mod dynamics;
mod look;
#[cfg(feature = "records")]
mod records;
mod start;
#[cfg(feature = "ways")]
mod trap;
#[cfg(feature = "ways")]
mod ways_out;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldglass::{Class, Code};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::classes::KnownClass;
use crate::command;
use crate::deadline::{Deadline, Heard};
use crate::explorer::{DirectoryKind, Explorer};
use crate::numbers::{Exact, WholeNumber, Wholes, rounded};
use crate::refusal::Refusal;

/// A question, and who asks it.
struct Ask<'a> {
    explorer: &'a Explorer,
    page: &'a str,
    deadline: Deadline,
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

/// How long a question may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionTime {
    /// It is answered at once; so is one that is not known.
    Short,
    /// It is computed.
    Usual,
    /// It may take all the time that a computation may; its progress can be asked for.
    Long,
}

/// How long the question of a name may take.
pub fn effort(name: &str) -> QuestionTime {
    match name {
        "hello" | "alive" | "gone" | "progress" | "run/drop" => QuestionTime::Short,
        "certify" | "tree" | "start" | "wrong" => QuestionTime::Long,
        name if NAMES.contains(&name) => QuestionTime::Usual,
        _ => QuestionTime::Short,
    }
}

/// What a question is answered with.
#[derive(Debug)]
pub struct Answer {
    /// As in HTTP: 200, or why it is refused.
    pub status: u16,
    /// What was asked for, or `error` and `help`.
    pub json: Vec<u8>,
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Answer {
        Answer {
            status: refusal.status,
            json: serde_json::to_vec(&refusal).expect("plain data"),
        }
    }
}

impl Explorer {
    /// Answers the question of a name. `page` is what the page that asks calls itself: its runs are its own.
    /// `body` is JSON. What is not done at the [deadline](Explorer::deadline) is refused or cut short.
    pub fn ask(&self, page: &str, name: &str, body: &[u8], deadline: Deadline) -> Answer {
        if effort(name) == QuestionTime::Long {
            self.begin_work(page, name, deadline.heard());
        }
        let ask = Ask {
            explorer: self,
            page,
            deadline,
        };
        match answer(&ask, name, body) {
            Ok(json) => Answer { status: 200, json },
            Err(refusal) => refusal.into(),
        }
    }
}

/// The JSON that answers a question.
fn answer(ask: &Ask<'_>, name: &str, body: &[u8]) -> Result<Vec<u8>, Refusal> {
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
        #[cfg(feature = "ways")]
        "escape" => respond(body, |asked| ways_out::escape(ask, &asked)),
        #[cfg(feature = "ways")]
        "certify" => respond(body, |asked| ways_out::certify(ask, &asked)),
        #[cfg(feature = "ways")]
        "tree" => respond(body, |asked| ways_out::tree(ask, &asked)),
        #[cfg(feature = "records")]
        "records" => respond(body, |asked| records::list(ask, &asked)),
        #[cfg(feature = "records")]
        "records/plot" => respond(body, |asked| records::plot(ask, &asked)),
        #[cfg(feature = "records")]
        "records/point" => respond(body, |asked| records::point(ask, &asked)),
        #[cfg(feature = "records")]
        "records/run" => respond(body, |asked| records::run(ask, &asked)),
        known if NAMES.contains(&known) => Err(not_here(known)),
        other => Err(Refusal::new(404, format!("there is no question `{other}`"))
            .help(format!("one of {}", NAMES.join(", ")))),
    }
}

/// Refuses a question that this build was made without.
fn not_here(name: &str) -> Refusal {
    Refusal::unable(format!(
        "this part of the explorer does not answer `{name}`"
    ))
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
            DirectoryKind::Study => "study",
            DirectoryKind::Fleet => "fleet",
            DirectoryKind::Reproduction => "reproduction",
        };
        json!({ "name": directory.folder.name(), "kind": kind })
    });
    json!({
        "version": foldglass_study::VERSION,
        "class": explorer.class.as_ref().map(|known| &known.flags),
        "code": explorer.code.as_ref().map(Code::actions),
        "directory": directory,
    })
}

impl Ask<'_> {
    fn class(&self, flags: &[String]) -> Result<Arc<KnownClass>, Refusal> {
        self.explorer.classes.find(flags, self.explorer.allowance)
    }

    /// Refuses sums over all inputs that would take too long on this machine.
    fn check_sums(&self, class: &Class) -> Result<(), String> {
        let Some(most) = self.explorer.most_sums else {
            return Ok(());
        };
        // Every token of every cell, with every symbol that may come next.
        let needed = class.cells() as u64 * (class.q() as u64).pow(2);
        if needed <= most {
            return Ok(());
        }
        Err(format!(
            "not computed in a browser: an evaluation of this class takes about {needed} multiply-adds, each made by \
             software there, and this page makes up to {most}; the installed program has no such limit"
        ))
    }

    fn code(&self, asked: &CodeAsked) -> Result<(Arc<KnownClass>, Code), Refusal> {
        let known = self.class(&asked.class)?;
        let code = code_of(&known, &asked.code)?;
        Ok((known, code))
    }
}

fn code_of(known: &KnownClass, tokens: &[i64]) -> Result<Code, Refusal> {
    Code::new(&known.class, tokens).map_err(|error| Refusal::unable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::Given;
    use foldglass::Allowance;
    use std::time::Duration;

    fn ask(explorer: &Explorer, page: &str, name: &str, body: &Value) -> (u16, Value) {
        let deadline = explorer.deadline(Arc::default());
        let answer = explorer.ask(page, name, body.to_string().as_bytes(), deadline);
        (answer.status, serde_json::from_slice(&answer.json).unwrap())
    }

    fn explorer(computing: Duration) -> Explorer {
        Explorer::new(Given::default(), Allowance::default(), computing)
    }

    #[test]
    fn every_question_that_is_listed_is_answered_and_no_other() {
        let explorer = explorer(Duration::from_secs(60));
        for name in NAMES {
            let (status, told) = ask(&explorer, "", name, &json!(0));
            assert_eq!(status, 400, "{name}: {told}");
        }
        let (status, told) = ask(&explorer, "", "looks", &json!({}));
        let help = told["help"].as_str().unwrap();
        assert!(status == 404 && help.contains("look, wrong"), "{told}");
        assert_eq!(effort("looks"), QuestionTime::Short);
    }

    #[test]
    fn a_run_belongs_to_its_page_and_ends_with_it() {
        let explorer = explorer(Duration::from_secs(60));
        let class = ["--task", "parity", "--lengths", "3"];
        let new = json!({ "class": class, "kind": "chain", "tau": 0.01 });
        let (status, told) = ask(&explorer, "a", "run/new", &new);
        assert_eq!(status, 200, "{told}");
        let step = json!({ "run": told["run"], "sweeps": 3 });
        assert_eq!(ask(&explorer, "b", "run/step", &step).0, 404);
        let (status, told) = ask(&explorer, "a", "run/step", &step);
        assert!(status == 200 && told["sweep"] == 3, "{told}");
        assert_eq!(ask(&explorer, "b", "gone", &json!({ "page": "a" })).0, 200);
        assert_eq!(ask(&explorer, "a", "run/step", &step).0, 404);
    }

    /// A page without a server answers records in another worker than codes.
    #[test]
    fn a_class_of_a_file_is_known_to_another_explorer_that_it_is_handed_to() {
        let table = |last: u8| format!("[[0, 1, 2], [1, 1, 0], [2, 0, {last}]]");
        let handed = |last: u8, file: &str| {
            format!(
                r#"{{"file": "{file}", "class": {{"square": {}, "lengths": [3], "window": [0, 0], "memory": 1, "tied": false,
                "inputs": {{"product": [["1/2", "1/4", "1/4"], ["1/3", "1/3", "1/3"], ["1/3", "1/3", "1/3"]]}}}}}}"#,
                table(last)
            )
        };
        let explorer = explorer(Duration::from_secs(60));
        let flags = "--task file:a.json --lengths 3 --inputs product:a.json";
        let body = json!({ "class": flags.split(' ').collect::<Vec<_>>() });
        assert_eq!(ask(&explorer, "", "class", &body).0, 422);
        explorer.hand(handed(1, "a.json").as_bytes()).unwrap();
        let (status, told) = ask(&explorer, "", "class", &body);
        assert!(status == 200, "{told}");
        assert_eq!(told["square"][2], json!([2, 0, 1]));
        // Another table under the same name does not take its place.
        let other = serde_json::from_str(&handed(0, "a.json"))
            .map(|one: crate::classes::HandedClass| one.class);
        let class = other.unwrap().lay_out().unwrap();
        let (known, file) = explorer.classes.give_as(class, "a");
        assert_eq!(
            (known.class.task().square().rows().nth(2), &file[..]),
            (Some(&[2, 0, 0][..]), "a-2.json")
        );
        assert_eq!(
            ask(&explorer, "", "class", &body).1["square"][2],
            json!([2, 0, 1])
        );
        assert!(explorer.hand(b"{}").is_err());
    }

    #[test]
    fn a_question_without_time_left_is_refused() {
        let explorer = explorer(Duration::ZERO);
        let class = ["--task", "parity", "--lengths", "2"];
        let body = json!({ "class": class, "code": [0, 0, 0, 0, 0, 0] });
        let (status, told) = ask(&explorer, "", "look", &body);
        assert!(status == 503 && told["error"].is_string(), "{told}");
    }
}
