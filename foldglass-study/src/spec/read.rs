//! Turns the tables of a TOML file into a study.

use std::ops::Range;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::lines::{Lines, Table, position};
use super::{Dynamics, MOST_POINTS, ParameterAxis, Study, StudyClass, spaced, text_of};
use crate::files::plain as plain_error;
use crate::method::setting::kind_of;
use crate::method::{Fields, SettingError, shown};
use crate::words::{ClassWords, plain};

/// A key of a table, its value and where they stand.
struct Entry {
    key: String,
    value: Value,
    key_at: usize,
}

/// A table being read; keys that were not asked for are refused.
struct Reader<'a> {
    text: &'a str,
    table: Table,
    /// Where the table begins.
    at: usize,
    entries: Vec<Entry>,
    /// All keys of the table, for messages.
    keys: String,
}

/// Reads a study and the seed that it states.
pub fn study(text: &str) -> Result<(Study, Option<u64>), String> {
    let document = DeTable::parse(text).map_err(|error| {
        let message = error.message().to_owned();
        match error.span() {
            Some(span) => format!("{}: {message}", position(text, span.start)),
            None => message,
        }
    })?;
    let mut lines = Lines::of(text);
    let (mut classes, mut dynamics) = (Vec::new(), Vec::new());
    let (mut class_tables, mut dynamics_tables) = (0, 0);
    let mut rest = DeTable::new();
    for (key, value) in document.into_inner() {
        match (&key.get_ref()[..], value.get_ref()) {
            ("class", DeValue::Array(list)) => {
                for item in list.iter() {
                    let table = Table::Class(class_tables);
                    let reader = Reader::new(text, table, item.get_ref(), item.span(), &mut lines)?;
                    classes.extend(reader.classes(class_tables)?);
                    class_tables += 1;
                }
            }
            ("dynamics", DeValue::Array(list)) => {
                for item in list.iter() {
                    let table = Table::Dynamics(dynamics_tables);
                    let reader = Reader::new(text, table, item.get_ref(), item.span(), &mut lines)?;
                    dynamics.push(reader.dynamics()?);
                    dynamics_tables += 1;
                }
            }
            _ => {
                rest.insert(key, value);
            }
        }
    }
    let value = DeValue::Table(rest);
    let mut reader = Reader::new(text, Table::Study, &value, 0..0, &mut lines)?;
    let name = reader.need::<String>("name")?;
    let seed = reader.get::<u64>("seed")?;
    reader.finish("name, seed, [[class]], [[dynamics]]")?;
    let study = Study {
        name,
        seed: 0,
        classes,
        dynamics,
        lines,
    };
    Ok((study, seed))
}

impl<'a> Reader<'a> {
    fn new(
        text: &'a str,
        table: Table,
        value: &DeValue<'_>,
        span: Range<usize>,
        lines: &mut Lines,
    ) -> Result<Reader<'a>, String> {
        let DeValue::Table(fields) = value else {
            let line = position(text, span.start);
            return Err(format!("{line}: a table is needed, such as [[class]]"));
        };
        lines.add_table(table, position(text, span.start));
        let mut entries = Vec::new();
        for (key, value) in fields.iter() {
            let key_at = key.span().start;
            let key = key.get_ref().to_string();
            let read = json(value.get_ref());
            let value = read.map_err(|error| {
                format!("{}: {key}: {error}", position(text, value.span().start))
            })?;
            lines.add_key(table, &key, position(text, key_at));
            entries.push(Entry { key, value, key_at });
        }
        entries.sort_by_key(|entry| entry.key_at);
        let keys: Vec<&str> = entries.iter().map(|entry| &entry.key[..]).collect();
        Ok(Reader {
            text,
            table,
            at: span.start,
            keys: keys.join(", "),
            entries,
        })
    }

    /// Takes a key out, if it is given.
    fn take(&mut self, key: &str) -> Option<Entry> {
        let place = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(place))
    }

    fn get<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>, String> {
        let Some(entry) = self.take(key) else {
            return Ok(None);
        };
        let read = serde_json::from_value(entry.value.clone());
        read.map(Some).map_err(|error| {
            let (line, value) = (position(self.text, entry.key_at), shown(&entry.value));
            format!("{line}: {key} = {value}: {}", plain_error(&error))
        })
    }

    fn need<T: DeserializeOwned>(&mut self, key: &str) -> Result<T, String> {
        let missing = self.missing(key);
        self.get(key)?.ok_or(missing)
    }

    fn missing(&self, key: &str) -> String {
        let place = match self.table {
            Table::Study => String::new(),
            _ => format!("{}: ", position(self.text, self.at)),
        };
        // One of them may be the one that is missing, misspelt.
        format!("{place}the key `{key}` is missing: there are {}", self.keys)
    }

    fn finish(self, known: &str) -> Result<(), String> {
        match self.entries.first() {
            None => Ok(()),
            Some(entry) => {
                let line = position(self.text, entry.key_at);
                let key = &entry.key;
                Err(format!(
                    "{line}: unknown key `{key}`, expected one of {known}"
                ))
            }
        }
    }

    /// The axes of the table `grid`, in the order of the file.
    fn grid(&mut self) -> Result<Vec<ParameterAxis>, String> {
        let Some(entry) = self.take("grid") else {
            return Ok(Vec::new());
        };
        let line = position(self.text, entry.key_at);
        let Value::Object(fields) = entry.value else {
            return Err(format!("{line}: grid: a table of lists is needed"));
        };
        let axis = |(name, value): (String, Value)| {
            let values = values(&name, &value).map_err(|error| format!("{line}: grid.{error}"))?;
            Ok(ParameterAxis { name, values })
        };
        fields.into_iter().map(axis).collect()
    }

    /// The class of the table, or those of its grid.
    fn classes(mut self, table: usize) -> Result<Vec<StudyClass>, String> {
        let id: Option<String> = self.get("id")?;
        let axes = self.grid()?;
        let base: Fields = self
            .entries
            .iter()
            .map(|entry| (entry.key.clone(), entry.value.clone()))
            .collect();
        let count: u128 = axes.iter().map(|axis| axis.values.len() as u128).product();
        if count > MOST_POINTS as u128 {
            return Err(format!(
                "a grid of {count} classes: at most {MOST_POINTS} are accepted"
            ));
        }
        let all = Dynamics {
            axes,
            ..Dynamics::new("", "", Fields::new(), 1)
        };
        let mut classes = Vec::new();
        for point in all.points() {
            let mut fields = base.clone();
            fields.extend(point.fields());
            let words = words(&fields).map_err(|error| match error.key.is_empty() {
                true => error.problem.clone(),
                false => self.place(&error),
            })?;
            let of = id.clone().unwrap_or_else(|| words.id());
            let id = match (&id, point.0.is_empty()) {
                (Some(id), false) => format!("{id}_{}", plain(&point.name())),
                _ => of.clone(),
            };
            classes.push(StudyClass {
                id,
                of,
                words,
                spec: None,
                table,
            });
        }
        Ok(classes)
    }

    /// A problem with its line: that of the key, or where it is missing of the table.
    fn place(&self, error: &SettingError) -> String {
        let entry = self.entries.iter().find(|entry| entry.key == error.key);
        let at = entry.map_or(self.at, |entry| entry.key_at);
        format!("{}: {}", position(self.text, at), error.problem)
    }

    fn dynamics(mut self) -> Result<Dynamics, String> {
        let kind: String = self.need("kind")?;
        let rule = self.take("rule");
        let id: Option<String> = self.get("id")?;
        let classes = self.get("classes")?;
        let runs = self.need("runs")?;
        let seed = self.get("seed")?;
        let common_random_numbers = self.get("common_random_numbers")?.unwrap_or(false);
        let mut axes = self.grid()?;
        if let Some(entry) = self.take("tau") {
            let line = position(self.text, entry.key_at);
            if axes.iter().any(|axis| axis.name == "tau") {
                return Err(format!(
                    "{line}: tau stands in the grid too: leave one of them out"
                ));
            }
            let values = match &entry.value {
                value @ (Value::Array(_) | Value::Object(_)) => values("tau", value),
                value => Ok(vec![value.clone()]),
            };
            let values = values.map_err(|error| format!("{line}: {error}"))?;
            axes.push(ParameterAxis {
                name: "tau".to_owned(),
                values,
            });
        }
        let rule_at = rule.as_ref().map_or(self.at, |rule| rule.key_at);
        let all = self.entries.into_iter().chain(rule);
        let mut settings: Fields = all.map(|entry| (entry.key, entry.value)).collect();
        let kind = kind_of(&kind, &mut settings)
            .map_err(|error| format!("{}: {}", position(self.text, rule_at), error.problem))?;
        Ok(Dynamics {
            id: id.unwrap_or_else(|| kind.clone()),
            kind,
            classes,
            runs,
            seed,
            common_random_numbers,
            settings,
            axes,
        })
    }
}

impl Dynamics {
    /// So many runs of a kind with these settings, at one point.
    pub fn new(id: &str, kind: &str, settings: Fields, runs: u64) -> Dynamics {
        Dynamics {
            id: id.to_owned(),
            kind: kind.to_owned(),
            classes: None,
            runs,
            seed: None,
            common_random_numbers: false,
            settings,
            axes: Vec::new(),
        }
    }
}

/// `{ from, to, points }`, on a logarithmic scale where none is named.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spacing {
    from: f64,
    to: f64,
    points: usize,
    #[serde(default)]
    scale: Scale,
}

#[derive(Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Scale {
    #[default]
    Log,
    Linear,
}

/// The values of an axis: a list, or a range of numbers.
fn values(name: &str, value: &Value) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(list) => Ok(list.clone()),
        Value::Object(_) => {
            let read: Result<Spacing, _> = serde_json::from_value(value.clone());
            let Spacing {
                from,
                to,
                points,
                scale,
            } = read.map_err(|error| format!("{name}: {}", plain_error(&error)))?;
            let log = scale == Scale::Log;
            if points == 0 || points > MOST_POINTS {
                return Err(format!(
                    "{name}: points = {points}: a whole number from 1 to {MOST_POINTS} is needed"
                ));
            }
            if log && !(from > 0.0 && to > 0.0) {
                let (from, to) = (text_of(from), text_of(to));
                return Err(format!(
                    "{name}: from = {from}, to = {to}: a logarithmic scale needs both above 0 \
                     (or scale = \"linear\")"
                ));
            }
            Ok(spaced(from, to, points, log))
        }
        other => Err(format!(
            "{name} = {}: a list, or {{ from, to, points }} is needed",
            shown(other)
        )),
    }
}

/// Reads a class in its words.
fn words(fields: &Fields) -> Result<ClassWords, SettingError> {
    const KEYS: &str =
        "id, task, lengths, length_weights, reward, window, tied, memory, inputs, k, grid";
    let mut words = ClassWords::new("", &[]);
    let refused = |key: &str, value: &Value, problem: &str| SettingError {
        key: key.to_owned(),
        problem: format!("{key} = {}: {problem}", shown(value)),
    };
    let wrong = |key: &str, value: &Value, error: &serde_json::Error| {
        refused(key, value, &plain_error(error))
    };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => shown(other),
    };
    macro_rules! field {
        ($key:literal, $value:expr) => {
            serde_json::from_value($value.clone()).map_err(|error| wrong($key, $value, &error))?
        };
    }
    for (key, value) in fields {
        match &key[..] {
            "task" => {
                let task: String = field!("task", value);
                words.task = crate::words::full_name(&task);
            }
            "lengths" => {
                words.lengths = match value {
                    Value::Number(_) => vec![field!("lengths", value)],
                    _ => field!("lengths", value),
                }
            }
            "length_weights" => {
                let list = match value {
                    Value::Array(list) => list.iter().map(text).collect::<Vec<_>>().join(","),
                    other => text(other),
                };
                let read = crate::words::length_weights(&list);
                words.length_weights = Some(read.map_err(|error| refused(key, value, &error))?);
            }
            "reward" => {
                let rule: String = field!("reward", value);
                let rule = rule.parse();
                words.reward = rule.map_err(|error: String| refused(key, value, &error))?;
            }
            "window" => words.window = field!("window", value),
            "tied" => words.tied = field!("tied", value),
            "memory" => words.memory = field!("memory", value),
            "inputs" => words.inputs = field!("inputs", value),
            "k" => {
                words.inputs = format!("markov:{}", text(value));
            }
            _ => {
                return Err(SettingError {
                    key: key.clone(),
                    problem: format!("unknown key `{key}`, expected one of {KEYS}"),
                });
            }
        }
    }
    check_together(fields)?;
    crate::words::check_law(&words.inputs).map_err(|error| SettingError {
        key: "inputs".to_owned(),
        problem: error.to_string(),
    })?;
    Ok(words)
}

/// Refuses keys of a class that exclude each other, and a class without one that it needs.
fn check_together(fields: &Fields) -> Result<(), SettingError> {
    let refuse = |key: &str, problem: String| {
        Err(SettingError {
            key: key.to_owned(),
            problem,
        })
    };
    if fields.contains_key("k") && fields.contains_key("inputs") {
        let problem = "k and inputs exclude each other: k = 0.9 is inputs = \"markov:0.9\"";
        return refuse("k", problem.to_owned());
    }
    for key in ["task", "lengths"] {
        if !fields.contains_key(key) {
            return refuse(key, format!("the key `{key}` is missing"));
        }
    }
    Ok(())
}

/// A value of TOML as JSON; what JSON cannot hold is refused.
fn json(value: &DeValue<'_>) -> Result<Value, String> {
    Ok(match value {
        DeValue::String(text) => Value::from(&text[..]),
        DeValue::Integer(number) => {
            let (digits, radix) = (number.as_str(), number.radix());
            let signed = i64::from_str_radix(digits, radix).ok().map(Value::from);
            let unsigned = || u64::from_str_radix(digits, radix).ok().map(Value::from);
            signed
                .or_else(unsigned)
                .ok_or_else(|| format!("{digits} is too large"))?
        }
        DeValue::Float(number) => {
            let float: f64 = number
                .as_str()
                .parse()
                .map_err(|_| format!("{} is not a number", number.as_str()))?;
            let finite = serde_json::Number::from_f64(float);
            Value::Number(
                finite.ok_or_else(|| format!("{} is not a finite number", number.as_str()))?,
            )
        }
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(date) => Value::from(date.to_string()),
        DeValue::Array(list) => {
            let items = list.iter().map(|item| json(item.get_ref()));
            Value::Array(items.collect::<Result<_, String>>()?)
        }
        DeValue::Table(table) => {
            let fields = table
                .iter()
                .map(|(key, value)| Ok((key.get_ref().to_string(), json(value.get_ref())?)));
            Value::Object(fields.collect::<Result<_, String>>()?)
        }
    })
}
