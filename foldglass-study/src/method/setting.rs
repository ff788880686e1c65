//! Defines a setting of a method once: its name, what it accepts, its default and its doc line.
//!
//! Study files have the name as a key, Python as a keyword, JSON as a field, the command line, with
//! hyphens, as a flag. Values are checked here, whichever way they came.

use std::path::Path;

use foldglass::dynamics::cavi::HOTTEST;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use super::{Fields, Method, shown};
use crate::files::plain;

/// A setting of a method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// The one spelling: a key, a keyword, a field, and with hyphens a flag.
    pub name: &'static str,
    /// Earlier spellings, which are still accepted. Records, ids and hashes keep the first of them, so
    /// that directories of before are read.
    pub earlier: &'static [&'static str],
    /// The values that are accepted.
    pub accepts: Accepts,
    /// The value of a run that states none, as a person writes it.
    pub default: Option<&'static str>,
    /// What stands for the value in help.
    pub value_name: &'static str,
    /// The letter of the flag.
    pub short: Option<char>,
    /// What it does, in one line.
    pub doc: &'static str,
}

/// The values that a setting accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepts {
    /// A number of at least 0, up to the hottest that runs take.
    Temperature,
    /// A number from 0 to 1.
    Share,
    /// A number of at least 0.
    NotNegative,
    /// A number above 0.
    AboveZero,
    /// A whole number of at least 0.
    Natural,
    /// A whole number of at least 1.
    Count,
    /// A list of numbers.
    Numbers,
    /// True or false; a flag without a value.
    Switch,
    /// A word, a file or a table, which the method reads.
    Words,
}

impl Accepts {
    /// What is needed, for messages.
    pub fn needed(self) -> &'static str {
        match self {
            Accepts::Temperature => "a number of at least 0 and at most 1e300",
            Accepts::Share => "a number from 0 to 1",
            Accepts::NotNegative => "a number of at least 0",
            Accepts::AboveZero => "a number above 0",
            Accepts::Natural => "a whole number of at least 0",
            Accepts::Count => "a whole number of at least 1",
            Accepts::Numbers => "a list of numbers",
            Accepts::Switch => "true or false",
            Accepts::Words => "a text or a table",
        }
    }

    /// The value that a person wrote behind a flag. What is not a number where one is needed stays a
    /// text, which [`Accepts::met_by`] refuses.
    pub fn read(self, text: &str) -> Value {
        let number = |text: &str| {
            let text = text.trim();
            let whole = text.parse::<u64>().ok().map(Value::from);
            let real = || {
                let number = text.parse::<f64>().ok()?;
                serde_json::Number::from_f64(number).map(Value::Number)
            };
            whole.or_else(real)
        };
        let read = match self {
            Accepts::Words => None,
            Accepts::Switch => text.parse::<bool>().ok().map(Value::from),
            Accepts::Natural | Accepts::Count => {
                let digits = text.bytes().all(|byte| byte.is_ascii_digit());
                digits.then(|| number(text)).flatten()
            }
            Accepts::Numbers => {
                let list: Option<Vec<Value>> = text.split(',').map(number).collect();
                list.map(Value::Array)
            }
            _ => number(text),
        };
        read.unwrap_or_else(|| Value::from(text))
    }

    /// Whether a value is accepted.
    pub fn met_by(self, value: &Value) -> bool {
        let number = |met: fn(f64) -> bool| value.as_f64().is_some_and(met);
        match self {
            Accepts::Temperature => number(|tau| (0.0..=HOTTEST).contains(&tau)),
            Accepts::Share => number(|share| (0.0..=1.0).contains(&share)),
            Accepts::NotNegative => number(|x| x >= 0.0),
            Accepts::AboveZero => number(|x| x > 0.0),
            Accepts::Natural => value.is_u64(),
            Accepts::Count => value.as_u64().is_some_and(|n| n > 0),
            Accepts::Numbers => value
                .as_array()
                .is_some_and(|list| list.iter().all(Value::is_number)),
            Accepts::Switch => value.is_boolean(),
            Accepts::Words => true,
        }
    }
}

impl Setting {
    /// A setting without a default, a letter or earlier spellings.
    pub const fn new(name: &'static str, accepts: Accepts, doc: &'static str) -> Setting {
        let value_name = match accepts {
            Accepts::Temperature => "TAU",
            Accepts::Share => "SHARE",
            Accepts::NotNegative | Accepts::AboveZero => "X",
            Accepts::Natural | Accepts::Count => "N",
            Accepts::Numbers => "X,..",
            Accepts::Switch => "",
            Accepts::Words => "WORDS",
        };
        Setting {
            name,
            earlier: &[],
            accepts,
            default: None,
            value_name,
            short: None,
            doc,
        }
    }

    /// With earlier spellings.
    pub const fn earlier(self, earlier: &'static [&'static str]) -> Setting {
        Setting { earlier, ..self }
    }

    /// With a default.
    pub const fn default(self, default: &'static str) -> Setting {
        let default = Some(default);
        Setting { default, ..self }
    }

    /// With a word for its value in help.
    pub const fn value(self, value_name: &'static str) -> Setting {
        Setting { value_name, ..self }
    }

    /// With a letter.
    pub const fn short(self, short: char) -> Setting {
        let short = Some(short);
        Setting { short, ..self }
    }

    /// All spellings, that of today first.
    pub fn spellings(&self) -> impl Iterator<Item = &'static str> + use<> {
        [self.name].into_iter().chain(self.earlier.iter().copied())
    }

    /// The spelling of records, ids and hashes.
    pub fn recorded(&self) -> &'static str {
        self.earlier.first().unwrap_or(&self.name)
    }
}

/// A setting that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
#[non_exhaustive]
pub struct SettingError {
    /// The key at fault.
    pub key: String,
    /// What is wrong with it, the key and its value included.
    pub problem: String,
}

impl SettingError {
    /// A key whose value is not what is needed.
    pub fn needs(key: &str, value: impl std::fmt::Display, needed: &str) -> SettingError {
        SettingError {
            key: key.to_owned(),
            problem: format!("{key} = {value}: {needed} is needed"),
        }
    }

    /// A problem of a key, said in full.
    pub fn of(key: &str, problem: impl Into<String>) -> SettingError {
        SettingError {
            key: key.to_owned(),
            problem: problem.into(),
        }
    }

    /// The same with the key as it was typed, `trace_every` for `record_every`.
    pub fn typed(self, typed: &str) -> SettingError {
        let rest = self.problem.strip_prefix(&self.key[..]);
        let problem = match rest.filter(|rest| !rest.starts_with(|c: char| c.is_alphanumeric())) {
            Some(rest) => format!("{typed}{rest}"),
            None => self
                .problem
                .replace(&format!("`{}`", self.key), &format!("`{typed}`")),
        };
        SettingError::of(typed, problem)
    }
}

/// The settings of a method for one point, checked.
pub struct MethodSettings<'a> {
    table: &'static [Setting],
    fields: &'a Fields,
    base: &'a Path,
}

impl<'a> MethodSettings<'a> {
    /// Those of a method, in any spelling; files they name are found from `base`.
    pub fn new(
        method: &dyn Method,
        fields: &'a Fields,
        base: &'a Path,
    ) -> Result<MethodSettings<'a>, SettingError> {
        let table = method.settings();
        for (key, value) in fields {
            let setting = find(table, key).ok_or_else(|| {
                let own: Vec<&str> = table.iter().map(|setting| setting.name).collect();
                let (kind, own) = (method.kind(), own.join(", "));
                let problem =
                    format!("`{key}` is not a key of kind \"{kind}\", whose own are {own}");
                SettingError::of(key, problem)
            })?;
            let other = setting
                .spellings()
                .find(|s| s != key && fields.contains_key(*s));
            if let Some(other) = other {
                let problem =
                    format!("`{key}` and `{other}` are one setting: leave one of them out");
                return Err(SettingError::of(key, problem));
            }
            if !setting.accepts.met_by(value) {
                let needed = setting.accepts.needed();
                return Err(SettingError::needs(key, shown(value), needed));
            }
        }
        Ok(MethodSettings {
            table,
            fields,
            base,
        })
    }

    /// Where files are found from.
    pub fn base(&self) -> &'a Path {
        self.base
    }

    /// The value that is given, and the key that it is given under.
    fn given(&self, name: &str) -> Option<(&'static str, &'a Value)> {
        let setting = find(self.table, name);
        let setting = setting.unwrap_or_else(|| panic!("`{name}` is not in the method's table"));
        let spelled = setting.spellings();
        spelled
            .into_iter()
            .find_map(|key| Some((key, self.fields.get(key)?)))
    }

    /// Whether a setting is given, in any spelling.
    pub fn is_given(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// The value of a setting: the one given, or the default, if there is one.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, SettingError> {
        let default = || {
            let setting = find(self.table, name)?;
            Some((setting.name, setting.accepts.read(setting.default?)))
        };
        let given = self.given(name).map(|(key, value)| (key, value.clone()));
        let Some((key, value)) = given.or_else(default) else {
            return Ok(None);
        };
        let read = serde_json::from_value(value.clone());
        read.map(Some).map_err(|error| {
            SettingError::of(key, format!("{key} = {}: {}", shown(&value), plain(&error)))
        })
    }

    /// The value of a setting, or another where none is given.
    pub fn or<T: DeserializeOwned>(&self, name: &str, other: T) -> Result<T, SettingError> {
        Ok(self.get(name)?.unwrap_or(other))
    }

    /// The value of a setting that is given or has a default.
    pub fn need<T: DeserializeOwned>(&self, name: &str) -> Result<T, SettingError> {
        self.get(name)?.ok_or_else(|| {
            let doc = find(self.table, name)
                .map_or(String::new(), |setting| format!(": {}", setting.doc));
            SettingError::of(name, format!("the key `{name}` is missing{doc}"))
        })
    }

    /// Refuses a value that is not `met`.
    pub fn check(
        &self,
        met: bool,
        name: &str,
        value: impl std::fmt::Display,
        needed: &str,
    ) -> Result<(), SettingError> {
        if met {
            return Ok(());
        }
        Err(SettingError::needs(name, value, needed))
    }
}

/// The setting that a key spells.
pub fn find(table: &'static [Setting], key: &str) -> Option<&'static Setting> {
    table
        .iter()
        .find(|setting| setting.spellings().any(|s| s == key))
}

/// Takes the rule out of the settings of `cavi`, which names its kind: `rule = "gradient"` with a
/// `step`, or `rule = "gradient:STEP"`, is kind `gradient`.
pub fn kind_of(kind: &str, fields: &mut Fields) -> Result<String, SettingError> {
    if !["cavi", "gradient"].contains(&kind) {
        return Ok(kind.to_owned());
    }
    let Some(rule) = fields.remove("rule") else {
        return Ok(kind.to_owned());
    };
    let accepted = "cavi, gradient (with `step`) or gradient:STEP with STEP above 0";
    let refuse = || SettingError::needs("rule", shown(&rule), accepted);
    let (rule_kind, step) = match rule.as_str().ok_or_else(refuse)?.split_once(':') {
        Some((kind, step)) => (kind, Some(step)),
        None => (rule.as_str().unwrap_or_default(), None),
    };
    match (rule_kind, step) {
        ("cavi" | "damped", None) if kind == "cavi" => Ok("cavi".to_owned()),
        ("gradient", None) => Ok("gradient".to_owned()),
        ("gradient", Some(step)) => {
            let step = Accepts::AboveZero.read(step);
            if !Accepts::AboveZero.met_by(&step) {
                return Err(refuse());
            }
            if fields.insert("step".to_owned(), step).is_some() {
                let problem =
                    "rule = \"gradient:STEP\" and `step` state the step twice: leave one out";
                return Err(SettingError::of("rule", problem));
            }
            Ok("gradient".to_owned())
        }
        _ => Err(refuse()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_behind_a_flag_is_read_as_what_is_accepted() {
        assert_eq!(Accepts::Temperature.read("1e-3"), json!(1e-3));
        assert_eq!(Accepts::Count.read("12"), json!(12));
        assert_eq!(Accepts::Numbers.read("0, 1e-3"), json!([0, 1e-3]));
        assert_eq!(Accepts::Words.read("2,1e-3"), json!("2,1e-3"));
        for (accepts, bad) in [
            (Accepts::Temperature, "-1 nan inf 1/2 cold 1e308"),
            (Accepts::Share, "-0.1 1.1 nan 30%"),
            (Accepts::Count, "0 -1 +1 1.0 99999999999999999999 x"),
            (Accepts::Natural, "-1 1e3 x"),
            (Accepts::AboveZero, "0 -1 nan"),
            (Accepts::Numbers, "1,x"),
            (Accepts::Switch, "yes"),
        ] {
            for text in bad.split(' ') {
                assert!(!accepts.met_by(&accepts.read(text)), "{accepts:?} {text}");
            }
        }
    }

    #[test]
    fn a_rule_names_its_kind() {
        let kind = |kind: &str, fields: Value| {
            let Value::Object(mut fields) = fields else {
                unreachable!()
            };
            kind_of(kind, &mut fields).map(|kind| (kind, Value::Object(fields)))
        };
        let gradient = Ok(("gradient".to_owned(), json!({"step": 0.5})));
        assert_eq!(kind("cavi", json!({"rule": "gradient:0.5"})), gradient);
        assert_eq!(
            kind("cavi", json!({"rule": "gradient", "step": 0.5})),
            gradient
        );
        assert_eq!(kind("gradient", json!({"step": 0.5})), gradient);
        assert_eq!(
            kind("cavi", json!({"rule": "cavi"})),
            Ok(("cavi".to_owned(), json!({})))
        );
        for bad in [
            json!({"rule": "gradient:0"}),
            json!({"rule": "cavi:1"}),
            json!({"rule": "adam"}),
            json!({"rule": 1}),
            json!({"rule": "gradient:0.5", "step": 0.5}),
        ] {
            assert!(kind("cavi", bad.clone()).is_err(), "{bad}");
        }
        assert!(kind("gradient", json!({"rule": "cavi"})).is_err());
    }
}
