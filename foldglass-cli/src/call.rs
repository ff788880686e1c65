//! Writes a call as data, all flags of a command by name, and makes the words of a call from that data.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command};
use foldglass_study::method::setting::find;
use foldglass_study::words::full_name;
use foldglass_study::{Fields, Registry};
use serde_json::{Value, json};

/// Flags that are not settings: they say how a report is written and how fast it is made; the seed stands
/// elsewhere in it.
const NO_SETTINGS: [&str; 5] = ["json", "quiet", "format", "seed", "threads"];

/// Flags that name files and directories to write, in every command but those of [`NOT_WRITTEN`].
pub const WRITTEN: [&str; 12] = [
    "components",
    "marginals",
    "out",
    "policies",
    "record",
    "script",
    "svg",
    "table",
    "tensorboard",
    "traps",
    "vienna",
    "weights",
];

/// Commands that only read what such a flag names.
pub const NOT_WRITTEN: [(&str, &str); 2] = [("read-back", "weights"), ("slurm", "out")];

/// Whether a flag of a command names a file or directory to write.
pub fn is_written(command: &str, flag: &str) -> bool {
    WRITTEN.contains(&flag) && !NOT_WRITTEN.contains(&(command, flag))
}

/// The files and directories that a call with these settings writes, by the name of the flag.
pub fn written<'a>(
    command: &'a str,
    settings: &'a Fields,
) -> impl Iterator<Item = (&'a str, PathBuf)> {
    let named = settings
        .iter()
        .filter(move |(flag, _)| is_written(command, flag));
    // `-` is stdout, and devices are written to as they are.
    let is_kept = |path: &Path| {
        path.metadata()
            .map_or(true, |there| there.is_file() || there.is_dir())
    };
    named
        .filter(|(_, value)| !value.is_null())
        .map(|(flag, value)| (&flag[..], PathBuf::from(text(value))))
        .filter(move |(_, path)| path != Path::new("-") && is_kept(path))
}

/// The settings among the flags of a command.
fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    // By the definition: matches also have ids of groups of flags, which are not settings.
    let all = command.get_arguments();
    all.filter(|flag| !NO_SETTINGS.contains(&flag.get_id().as_str()) && !is_help(flag))
}

fn is_help(flag: &Arg) -> bool {
    ["help", "version"].contains(&flag.get_id().as_str())
}

/// Whether each value of a flag stands behind a flag of its own.
fn is_repeated(flag: &Arg) -> bool {
    matches!(flag.get_action(), ArgAction::Append)
}

/// All settings of a call by name: switches are true or false, what was not given has its default, or null
/// where it has none.
pub fn settings(program: &Command, command: &str, matches: &ArgMatches) -> Fields {
    let own = program.find_subcommand(command).expect("it was just read");
    let setting = |flag: &Arg| {
        let name = flag.get_id().as_str();
        let value = if flag.get_action().takes_values() {
            let texts = matches.get_raw(name).into_iter().flatten();
            held(flag, texts.map(|text| text.to_string_lossy().into_owned()))
        } else {
            Value::Bool(matches.get_flag(name))
        };
        (name.to_owned(), value)
    };
    flags(own).map(setting).collect()
}

/// The schema of the settings of a command: every flag is there, and nothing else.
pub fn settings_schema(program: &Command, command: &str) -> Value {
    let own = program.find_subcommand(command).expect("a command");
    let names: Vec<&str> = flags(own).map(|flag| flag.get_id().as_str()).collect();
    let described = |flag: &Arg| {
        let help = flag.get_help().map(ToString::to_string);
        let mut schema = json!({ "description": help.unwrap_or_default() });
        if !flag.get_action().takes_values() {
            schema["type"] = "boolean".into();
        }
        (flag.get_id().to_string(), schema)
    };
    json!({
        "description": "All settings by the names of the flags, with their defaults; null where there is none.",
        "type": "object",
        "properties": flags(own).map(described).collect::<Fields>(),
        "required": names,
        "additionalProperties": false,
    })
}

/// What a flag holds: nothing, one value or several.
fn held(flag: &Arg, texts: impl Iterator<Item = String>) -> Value {
    let one = |text: String| match flag.get_id().as_str() {
        "task" => Value::from(full_name(&text)),
        // The step of `gradient:STEP` is the setting `step`.
        "rule" => Value::from(text.split(':').next()),
        _ if is_repeated(flag) => number(&text).unwrap_or(Value::from(text)),
        _ => value(&text),
    };
    let mut values: Vec<Value> = texts.map(one).collect();
    match values.len() {
        0 => Value::Null,
        1 => values.swap_remove(0),
        _ => Value::Array(values),
    }
}

/// A number, a list of numbers (`0.1,0.2`), or the text itself.
fn value(text: &str) -> Value {
    let parts: Option<Vec<Value>> = text.split(',').map(|part| number(part.trim())).collect();
    match parts {
        Some(mut one) if one.len() == 1 => one.swap_remove(0),
        Some(several) => Value::Array(several),
        None => Value::from(text),
    }
}

/// Decimals with more digits have no double of their own.
const EXACT_DIGITS: usize = 15;

/// The number that a text is; none where a text would come back that means something else, as of `02`.
fn number(text: &str) -> Option<Value> {
    let whole = text.parse::<i64>().ok().map(Value::from);
    let whole = whole.or_else(|| text.parse::<u64>().ok().map(Value::from));
    if let Some(whole) = whole {
        let written = whole.to_string();
        return (written == text).then_some(whole);
    }
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let number = text.parse::<f64>().ok().filter(|n| n.is_finite())?;
    let number = serde_json::Number::from_f64(number).map(Value::Number);
    number.filter(|_| digits <= EXACT_DIGITS)
}

/// The words of a call with these settings, the command's name first. What has the default of this version is
/// left out.
pub fn words(program: &Command, command: &str, settings: &Fields) -> Result<Vec<String>, String> {
    let own = program
        .find_subcommand(command)
        .ok_or_else(|| format!("there is no command `{command}`"))?;
    if let Some(unknown) =
        (settings.keys()).find(|key| !flags(own).any(|flag| flag.get_id() == key.as_str()))
    {
        return Err(format!(
            "`{command}` has no setting `{unknown}` in this version"
        ));
    }
    let (mut words, mut last) = (vec![command.to_owned()], Vec::new());
    for flag in flags(own) {
        let value = settings.get(flag.get_id().as_str());
        let default = default(command, flag);
        let texts = match value {
            None | Some(Value::Null | Value::Bool(false)) => continue,
            Some(value) if *value == default => continue,
            Some(Value::Bool(true)) if !flag.get_action().takes_values() => {
                words.push(long(flag));
                continue;
            }
            Some(Value::Array(list)) if is_repeated(flag) || flag.is_positional() => {
                list.iter().map(text).collect()
            }
            Some(value) => vec![text(value)],
        };
        if flag.is_last_set() {
            last.push("--".to_owned());
            last.extend(texts);
        } else if flag.is_positional() {
            words.extend(texts);
        } else {
            words.extend(texts.iter().map(|text| format!("{}={text}", long(flag))));
        }
    }
    words.extend(last);
    Ok(words)
}

/// What a flag holds where it is not given: by its definition, or by the table of its method. Some flags are refused where
/// they mean nothing, even with their default.
fn default(command: &str, flag: &Arg) -> Value {
    let defined = flag.get_default_values().iter();
    let mut texts: Vec<String> = defined
        .map(|text| text.to_string_lossy().into_owned())
        .collect();
    if texts.is_empty()
        && let Ok(method) = Registry::default().find(command)
        && let Some(setting) = find(method.settings(), flag.get_id().as_str())
    {
        texts.extend(setting.default.map(str::to_owned));
    }
    held(flag, texts.into_iter())
}

fn long(flag: &Arg) -> String {
    format!("--{}", flag.get_long().unwrap_or_default())
}

/// A value as it stands behind its flag.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(text).collect::<Vec<_>>().join(","),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::definition;

    /// The settings of a command line.
    fn of(line: &str) -> Fields {
        let program = definition();
        let matches = program.clone().get_matches_from(line.split(' '));
        let (name, own) = matches.subcommand().unwrap();
        settings(&program, name, own)
    }

    #[test]
    fn the_words_of_a_call_have_its_settings() {
        for line in [
            "foldglass chain --task random:4 --lengths 3,4 --window 1,0 --tau 1e-3 --kernel heat-bath --tied",
            "foldglass cavi --task z:5 --lengths 4 --rule gradient --step 0.5 --quench 2,1e-3 --start -",
            "foldglass train --task z:5 --task parity --init 02 --adam 0.9,0.99,1e-8 --entropy 0,0.3",
            "foldglass certify --code a.json --code b.json#2 --max-codes 7 --barrier",
            "foldglass draw --code a.json --input 0,1 1,0 --svg a.svg",
            "foldglass law lengths --lengths 2,3 --length-weights 0.10000000000000000000001,2",
            "foldglass slurm --tasks 8 --out census -- enumerate --task parity --lengths 12",
            "foldglass parity --length 4 --tau 0.1,0.2 --density",
        ] {
            let settings = of(line);
            let command = line.split(' ').nth(1).unwrap();
            let again = words(&definition(), command, &settings).unwrap();
            assert_eq!(
                of(&format!("foldglass {}", again.join(" "))),
                settings,
                "{line}"
            );
        }
    }

    #[test]
    fn all_settings_are_there_with_their_defaults() {
        let settings = of("foldglass certify --code a.json");
        assert_eq!(settings["max_codes"], 100_000);
        assert_eq!(settings["barrier"], false);
        assert!(settings["out"].is_null() && settings.contains_key("window"));
        assert!(!settings.contains_key("seed") && !settings.contains_key("json"));
    }

    #[test]
    fn a_text_that_a_number_would_not_give_back_stays_a_text() {
        assert_eq!(value("02"), "02");
        assert_eq!(value("0.1000000000000000055"), "0.1000000000000000055");
        assert_eq!(value("1e-10"), 1e-10);
        assert_eq!(value("18446744073709551615"), u64::MAX);
        assert_eq!(value("1/2,1/3"), "1/2,1/3");
    }

    #[test]
    fn a_setting_of_another_version_is_named() {
        let mut settings = of("foldglass task --task z:3");
        settings.insert("colour".to_owned(), Value::from("red"));
        let refused = words(&definition(), "task", &settings).unwrap_err();
        assert!(refused.contains("`colour`"), "{refused}");
        assert!(words(&definition(), "dance", &settings).is_err());
    }
}
