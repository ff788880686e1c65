//! Finds the codes and policies that files hold, whatever else they hold, with their classes.
//!
//! A code stands as `actions`, or as `greedy` in what `cavi --json --keep-code` prints; a policy as
//! `rows`. Around it may be a `class` (the object of [`ClassSpec`]), and lists: `codes`, `chains`,
//! `runs`, `verdicts`, `leaves`, `policies`, a record's `result`. A file may hold several values, one
//! after the other, as JSON Lines do.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use foldglass::model::class::ClassSpec;
use foldglass::{Class, Code, Policy};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::StudyError;
use crate::files::{Input, plain};
use crate::method::Fields;

/// A file, or one of several tables in it: `FILE`, `FILE#3`, `-` for stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Which of its tables, from 0; none is all.
    pub number: Option<usize>,
}

impl From<&str> for Source {
    fn from(text: &str) -> Source {
        let numbered = text.rsplit_once('#').and_then(|(path, number)| {
            let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            let number = digits.then(|| number.parse().ok()).flatten()?;
            Some((path, number))
        });
        match numbered {
            // A file whose own name ends so is that file.
            Some((path, number)) if !Path::new(text).exists() => Source {
                path: path.into(),
                number: Some(number),
            },
            _ => Source {
                path: text.into(),
                number: None,
            },
        }
    }
}

impl Source {
    /// An error of reading it; where a `#` was typed, with how one of several tables is written.
    fn explained(&self, error: StudyError) -> StudyError {
        let typed = match self.number {
            Some(number) => format!("{}#{number}", self.path.display()),
            None => self.path.display().to_string(),
        };
        match error {
            StudyError::Read { source, .. } if typed.contains('#') => StudyError::Read {
                path: format!(
                    "{typed} (FILE#N is the N-th table of a file, N a whole number from 0)"
                ),
                source,
            },
            other => other,
        }
    }
}

/// The run that a table is of, as its file states it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct TableOrigin {
    /// The id of a study's run: class/dynamics/parameters/run; none of a run without a study.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The number of the run.
    pub run: Option<u64>,
    /// The id of the dynamics.
    pub method: String,
    /// The kind of its method.
    pub kind: String,
    /// The temperature; none where it changes, or the method has none.
    pub tau: Option<f64>,
    /// What differs from point to point of the study.
    pub parameters: Fields,
    /// Whether the table is the greedy code of a policy, in which ties are drawn from the run's stream.
    pub is_greedy: bool,
    /// The number of its cells whose action was drawn among equals, where the file states it.
    pub greedy_ties: Option<u64>,
}

impl TableOrigin {
    /// Whether both are runs of one point.
    pub fn is_beside(&self, other: &TableOrigin) -> bool {
        (&self.method, &self.kind, &self.parameters, self.tau)
            == (&other.method, &other.kind, &other.parameters, other.tau)
    }

    /// The origin that a record, or what `cavi --json` or `chain --json` printed, gives its tables.
    fn stated(object: &Map<String, Value>) -> Option<TableOrigin> {
        let text = |key: &str| Some(object.get(key)?.as_str()?.to_owned());
        let settings = object.get("settings")?.as_object()?;
        let (kind, method) = match text("kind").zip(text("dynamics")) {
            Some(names) => names,
            None => {
                let command = text("command")
                    .filter(|name| ["cavi", "chain", "reinforce"].contains(&&name[..]))?;
                let kind = match settings.get("step").is_some_and(|step| !step.is_null()) {
                    true => "gradient".to_owned(),
                    false => command,
                };
                (kind.clone(), kind)
            }
        };
        let parameters = object.get("parameters").and_then(Value::as_object);
        Some(TableOrigin {
            id: text("id"),
            run: None,
            method,
            kind,
            tau: settings.get("tau").and_then(Value::as_f64),
            parameters: parameters.cloned().unwrap_or_default(),
            is_greedy: false,
            greedy_ties: None,
        })
    }
}

/// What objects around a table state of it.
#[derive(Debug, Clone, Default)]
struct Context {
    class: Option<ClassSpec>,
    origin: Option<TableOrigin>,
}

impl Context {
    /// The same, with what one more object states; a record's words beside its class do not count.
    fn within(&self, object: &Map<String, Value>) -> Result<Context, String> {
        let mut inner = self.clone();
        if let Some(class) = own_class(object)? {
            inner.class = Some(class);
        }
        inner.origin = TableOrigin::stated(object).or(inner.origin);
        if let Some(origin) = &mut inner.origin {
            let number = |key: &str| object.get(key).and_then(Value::as_u64);
            origin.run = number("run").or(number("chain")).or(origin.run);
            // Beside `actions` it is another number of the run.
            origin.is_greedy |= object.contains_key("greedy") && !object.contains_key("actions");
            origin.greedy_ties = number("greedy_ties").or(origin.greedy_ties);
        }
        Ok(inner)
    }
}

/// A table that was found, with what its file states of it.
#[derive(Debug, Clone)]
struct Found {
    context: Context,
    table: Value,
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Policy,
}

impl Kind {
    /// The error of a file that is not there also names the commands that write such files.
    fn say_where_they_are_from(self, error: StudyError) -> StudyError {
        let written = match self {
            Kind::Code => "`law --out`, `chain --json` and `cavi --keep-code --json` write codes",
            Kind::Policy => "`cavi --policies` writes policies",
        };
        match error {
            StudyError::Read { path, source } if source.kind() == ErrorKind::NotFound => {
                let source =
                    io::Error::new(source.kind(), format!("there is no such file ({written})"));
                StudyError::Read { path, source }
            }
            error => error,
        }
    }

    fn keys(self) -> &'static [&'static str] {
        match self {
            Kind::Code => &["actions", "greedy"],
            Kind::Policy => &["rows"],
        }
    }

    fn one_of_several(self) -> &'static str {
        match self {
            Kind::Code => "a code of a file (FILE#N is the N-th that it holds, from 0)",
            Kind::Policy => "a policy of a file (FILE#N is the N-th that it holds, from 0)",
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Kind::Code => {
                "a file of codes ({\"format\":\"foldglass-code/1\",\"class\":{..},\"actions\":[..]}, \
                 {\"actions\":[..]}, {\"codes\":[..]}, what `chain --json`, `cavi --json --keep-code` \
                 or `certify --out` writes, records that keep codes, or lines of these)"
            }
            Kind::Policy => {
                "a file of policies ({\"format\":\"foldglass-policy/1\",\"class\":{..},\
                 \"rows\":[[..]]}, {\"rows\":[[..]]}, what `cavi --policies` or `chain --marginals` \
                 writes, records that keep policies, or lines of these)"
            }
        }
    }
}

/// What may hold tables, and objects that hold them.
const HOLDERS: [&str; 8] = [
    "codes", "chains", "runs", "verdicts", "leaves", "policies", "result", "policy",
];

/// The formats that may stand in `format`.
const FORMATS: [&str; 4] = [
    foldglass::model::policy::CODE_FORMAT,
    foldglass::model::policy::POLICY_FORMAT,
    foldglass::proof::claim::PATH_FORMAT,
    foldglass::proof::claim::VERDICT_FORMAT,
];

/// The tables of a file, and the class that it gives all of them; none where it gives none.
#[derive(Debug, Clone)]
pub struct Tables {
    name: String,
    kind: Kind,
    found: Vec<Found>,
}

impl Tables {
    /// The codes of a file.
    pub fn codes(source: &Source) -> Result<Tables, StudyError> {
        Tables::read(source, Kind::Code)
    }

    /// The policies of a file.
    pub fn policies(source: &Source) -> Result<Tables, StudyError> {
        Tables::read(source, Kind::Policy)
    }

    fn read(source: &Source, kind: Kind) -> Result<Tables, StudyError> {
        let file = Input::read(&source.path)
            .map_err(|error| source.explained(kind.say_where_they_are_from(error)))?;
        Tables::of(&file, source.number, kind)
    }

    fn of(file: &Input, number: Option<usize>, kind: Kind) -> Result<Tables, StudyError> {
        let refuse = |problem: String| file.is_not(kind.expected(), problem);
        if file.is_list() {
            return Err(refuse("it is a list".to_owned()));
        }
        let mut found = Vec::new();
        let mut empty = None;
        for value in file.values(kind.expected())? {
            if !value.is_object() {
                return Err(refuse(format!("`{value}` stands beside what it holds")));
            }
            search(&value, kind, &Context::default(), &mut found).map_err(refuse)?;
            empty = empty.or_else(|| empty_list(&value));
        }
        if let (true, Some(key)) = (found.is_empty(), empty) {
            let one = match kind {
                Kind::Code => "code",
                Kind::Policy => "policy",
            };
            return Err(refuse(format!(
                "it holds no {one}: its `{key}` is an empty list"
            )));
        }
        if found.is_empty() {
            return Err(refuse(match kind {
                Kind::Code => "it holds no code (`cavi --json` has codes with --keep-code, the \
                               records of a study with keep_code = true)"
                    .to_owned(),
                Kind::Policy => "it holds no policy (the records of a study have some with \
                                 keep_policy = true)"
                    .to_owned(),
            }));
        }
        if let Some(number) = number {
            if number >= found.len() {
                let there = match found.len() {
                    1 => "it holds one, #0".to_owned(),
                    several => format!("they are #0 to #{}", several - 1),
                };
                return Err(StudyError::Content {
                    path: format!("{}#{number}", file.name),
                    expected: kind.one_of_several(),
                    problem: format!("there is no #{number}: {there}"),
                });
            }
            found = vec![found.swap_remove(number)];
        }
        Ok(Tables {
            name: file.name.clone(),
            kind,
            found,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether there are none; a file without any is refused.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The class that the file gives its tables; none where it gives none. Tables of several classes
    /// are refused.
    pub fn class(&self) -> Result<Option<&ClassSpec>, StudyError> {
        let mut classes = self.found.iter().map(|found| found.context.class.as_ref());
        let first = classes.next().flatten();
        match classes.all(|class| class == first) {
            true => Ok(first),
            false => Err(StudyError::Content {
                path: self.name.clone(),
                expected: "a file of tables of one class",
                problem: "it holds tables of several: FILE#N takes one of them".to_owned(),
            }),
        }
    }

    /// The runs that the tables are of, in their order; none where the file states none.
    pub fn origins(&self) -> impl Iterator<Item = Option<&TableOrigin>> {
        self.found.iter().map(|found| found.context.origin.as_ref())
    }

    /// Refuses several tables where one is needed.
    pub fn check_single(&self) -> Result<(), StudyError> {
        match self.len() {
            1 => Ok(()),
            count => Err(StudyError::Several {
                path: self.name.clone(),
                count,
            }),
        }
    }

    /// Refuses tables of another class than this one.
    pub fn check_class(&self, class: &Class) -> Result<(), StudyError> {
        match self.class()? {
            Some(own) if *own != class.spec() => Err(StudyError::OtherClass {
                path: self.name.clone(),
                own: Box::new(own.clone()),
                needed: Box::new(class.spec()),
            }),
            _ => Ok(()),
        }
    }

    /// The codes, as codes of a class.
    pub fn as_codes(&self, class: &Class) -> Result<Vec<Code>, StudyError> {
        let one = |found: &Found| {
            let actions: Vec<i64> = self.table(&found.table)?;
            Code::new(class, &actions).map_err(|source| StudyError::Table {
                path: self.name.clone(),
                source,
            })
        };
        self.found.iter().map(one).collect()
    }

    /// The policies, as policies of a class.
    pub fn as_policies(&self, class: &Class) -> Result<Vec<Policy>, StudyError> {
        let one = |found: &Found| {
            let rows: Vec<Vec<f64>> = self.table(&found.table)?;
            Policy::from_rows(class, &rows).map_err(|source| StudyError::Table {
                path: self.name.clone(),
                source,
            })
        };
        self.found.iter().map(one).collect()
    }

    fn table<T: serde::de::DeserializeOwned>(&self, value: &Value) -> Result<T, StudyError> {
        serde_json::from_value(value.clone()).map_err(|error| StudyError::Content {
            path: self.name.clone(),
            expected: self.kind.expected(),
            problem: plain(&error),
        })
    }
}

/// The list of an object that would hold tables, and holds nothing: the traps of a class without any.
fn empty_list(object: &Value) -> Option<&'static str> {
    let is_empty = |key: &&str| object[*key].as_array().is_some_and(Vec::is_empty);
    HOLDERS.into_iter().find(is_empty)
}

/// Looks for tables in a value; `around` is what the objects around it state.
fn search(
    value: &Value,
    kind: Kind,
    around: &Context,
    found: &mut Vec<Found>,
) -> Result<(), String> {
    let object = match value {
        Value::Object(object) => object,
        Value::Array(list) => {
            return list
                .iter()
                .try_for_each(|value| search(value, kind, around, found));
        }
        _ => return Ok(()),
    };
    check_format(object)?;
    let context = around.within(object)?;
    let table = kind.keys().iter().find_map(|key| object.get(*key));
    if let Some(table @ Value::Array(_)) = table {
        found.push(Found {
            context,
            table: table.clone(),
        });
        return Ok(());
    }
    for key in HOLDERS {
        match object.get(key) {
            Some(inner @ Value::Object(_)) => search(inner, kind, &context, found)?,
            Some(Value::Array(list)) => search_all(key, list, kind, &context, found)?,
            _ => {}
        }
    }
    Ok(())
}

/// Looks in the entries of a list: where one holds a table, all have to, or their numbers would not be
/// those of the list.
fn search_all(
    key: &str,
    list: &[Value],
    kind: Kind,
    around: &Context,
    found: &mut Vec<Found>,
) -> Result<(), String> {
    let before = found.len();
    let mut without = None;
    for (number, value) in list.iter().enumerate() {
        let known = found.len();
        search(value, kind, around, found)?;
        if found.len() == known {
            without.get_or_insert(number);
        }
    }
    match without {
        Some(number) if found.len() > before => Err(format!(
            "entry {number} of `{key}`, counting from 0, holds none, and others do"
        )),
        _ => Ok(()),
    }
}

fn check_format(object: &Map<String, Value>) -> Result<(), String> {
    match object.get("format") {
        Some(Value::String(format)) if !FORMATS.contains(&&format[..]) => Err(format!(
            "its format is `{format}`: accepted: {}",
            FORMATS.join(", ")
        )),
        _ => Ok(()),
    }
}

/// The class that an object states; a record's words beside it do not count.
fn own_class(object: &Map<String, Value>) -> Result<Option<ClassSpec>, String> {
    match object.get("class") {
        Some(class @ Value::Object(_)) => serde_json::from_value(class.clone())
            .map(Some)
            .map_err(|error| format!("its class: {}", plain(&error))),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::model::policy::CodeForm;
    use foldglass::{Operation, Shape};

    fn class() -> Class {
        let square = Operation::cyclic(2).unwrap();
        let spec = ClassSpec::uniform(square, &[2], Shape::untied(0, 0));
        spec.lay_out().unwrap()
    }

    fn tables(text: &str, number: Option<usize>) -> Result<Tables, StudyError> {
        let file = Input::of("codes.json", text.as_bytes().to_vec());
        Tables::of(&file, number, Kind::Code)
    }

    #[test]
    fn codes_are_found_wherever_they_stand() {
        let code = Code::from_fn(&class(), |cell| (cell % 2) as u16);
        let own = serde_json::to_string(&CodeForm::from(&code)).unwrap();
        let spec = serde_json::to_string(&class().spec()).unwrap();
        let actions = "[0,1,0,1,0,1]";
        for (text, count, classed) in [
            (own.clone(), 1, true),
            (format!("{{\"actions\":{actions}}}"), 1, false),
            (
                format!("{{\"codes\":[{{\"actions\":{actions}}},{{\"actions\":{actions}}}]}}"),
                2,
                false,
            ),
            (
                format!("{{\"class\":{spec},\"chains\":[{{\"actions\":{actions}}}]}}"),
                1,
                true,
            ),
            (
                format!("{{\"class\":{spec},\"runs\":[{{\"greedy\":{actions}}}]}}"),
                1,
                true,
            ),
            (
                format!("{{\"class\":{spec},\"result\":{{\"actions\":{actions}}}}}\n{own}\n"),
                2,
                true,
            ),
        ] {
            let found = tables(&text, None).unwrap();
            assert_eq!(found.len(), count, "{text}");
            assert_eq!(found.class().unwrap().is_some(), classed, "{text}");
            assert_eq!(found.as_codes(&class()).unwrap()[0], code);
        }
    }

    #[test]
    fn a_code_is_found_with_the_run_it_is_of() {
        let actions = "[0,1,0,1,0,1]";
        let record = format!(
            "{{\"id\":\"p/rl/tau=0.1/7\",\"dynamics\":\"rl\",\"kind\":\"cavi\",\"parameters\":{{\"tau\":0.1}},\
             \"settings\":{{\"tau\":0.1}},\"run\":7,\"result\":{{\"greedy\":{actions},\"greedy_ties\":2}}}}"
        );
        let printed = |command: &str, settings: &str, list: &str, entry: &str| {
            format!(
                "{{\"command\":\"{command}\",\"settings\":{{{settings}}},\"{list}\":[{{{entry}}}]}}"
            )
        };
        let chain = format!("\"chain\":3,\"actions\":{actions}");
        let run = format!("\"run\":4,\"greedy\":{actions}");
        for (text, id, number, kind, tau, ties) in [
            (
                record,
                Some("p/rl/tau=0.1/7"),
                7,
                "cavi",
                Some(0.1),
                Some(2),
            ),
            (
                printed("chain", "\"tau\":0.5", "chains", &chain),
                None,
                3,
                "chain",
                Some(0.5),
                None,
            ),
            (
                printed("cavi", "\"step\":1,\"anneal\":{}", "runs", &run),
                None,
                4,
                "gradient",
                None,
                None,
            ),
        ] {
            let found = tables(&text, None).unwrap();
            let origin = found.origins().next().unwrap().unwrap();
            assert_eq!(origin.id.as_deref(), id);
            assert_eq!((origin.run, &origin.kind[..]), (Some(number), kind));
            assert_eq!((origin.tau, origin.greedy_ties), (tau, ties));
            assert_eq!(origin.is_greedy, kind != "chain");
        }
        let bare = tables(&format!("{{\"actions\":{actions}}}"), None).unwrap();
        assert_eq!(bare.origins().collect::<Vec<_>>(), [None]);
    }

    #[test]
    fn one_of_several_is_taken_by_its_number() {
        let two = "{\"actions\":[0,0,0,0,0,0]}\n{\"actions\":[1,1,1,1,1,1]}";
        let second = tables(two, Some(1)).unwrap();
        assert_eq!(second.as_codes(&class()).unwrap()[0].actions()[0], 1);
        let problem = tables(two, Some(2)).unwrap_err().to_string();
        assert!(problem.contains("#0 to #1"), "{problem}");
        let source = Source::from("no-such-file.json#3");
        assert_eq!(
            (&source.path, source.number),
            (&"no-such-file.json".into(), Some(3))
        );
        let problem = Tables::codes(&source).unwrap_err().to_string();
        assert!(
            problem.contains("no such file") && problem.contains("`law --out`"),
            "{problem}"
        );
    }

    #[test]
    fn what_holds_no_code_is_refused_with_the_reason() {
        for (text, said) in [
            ("{\"runs\":[{\"greedy_reward\":1}]}", "--keep-code"),
            ("[1]", "it is a list"),
            (
                "{\"format\":\"foldglass-code/9\",\"actions\":[]}",
                "foldglass-code/9",
            ),
            (
                "{\"class\":{\"square\":[[0]]},\"actions\":[0]}",
                "its class",
            ),
            (
                "{\"codes\":[{\"actions\":[0]},{\"action\":[0]}]}",
                "entry 1 of `codes`",
            ),
            (
                "{\"actions\":[0],\"actions\":[1]}",
                "duplicate field `actions`",
            ),
            ("{\"actions\":", "EOF"),
        ] {
            let problem = tables(text, None).unwrap_err().to_string();
            assert!(problem.contains(said), "{problem}");
        }
    }
}
