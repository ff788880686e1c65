//! Derives the flags of a command from the settings of its method: name, letter, default and doc line stand
//! in the method's table alone.

use std::marker::PhantomData;

use clap::error::Error as ClapError;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use foldglass_study::Fields;
use foldglass_study::method::{Accepts, Setting, SettingError};
use serde_json::Value;

use crate::error::Error;

/// The settings of a method that are flags of a command.
pub trait MethodFlags {
    /// All settings of the method.
    const SETTINGS: &'static [Setting];
    /// Settings that are not flags of the command, each for a reason.
    const WITHOUT: &'static [&'static str];
    /// Earlier flags that are not earlier spellings of the setting itself: setting, flag.
    const EARLIER: &'static [(&'static str, &'static str)];
}

/// The flags of a method, as settings by name.
#[derive(Debug, Clone)]
pub struct MethodArgs<M> {
    fields: Fields,
    method: PhantomData<M>,
}

impl<M> MethodArgs<M> {
    /// The settings that were given.
    pub fn fields(&self) -> Fields {
        self.fields.clone()
    }

    /// A setting that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Value::as_str)
    }

    /// Whether a setting is given; of a switch, whether it is on.
    pub fn is_given(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }
}

/// The flag of a setting.
pub fn flag_of(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

fn flag(setting: &Setting, earlier: &[(&str, &'static str)]) -> Arg {
    let long = |name: &str| name.replace('_', "-");
    let other = earlier.iter().filter(|(name, _)| *name == setting.name);
    let aliases = setting.earlier.iter().map(|name| long(name));
    let aliases = aliases.chain(other.map(|(_, flag)| (*flag).to_owned()));
    let help = match setting.default {
        Some(default) => format!("{} [default: {default}]", setting.doc),
        None => setting.doc.to_owned(),
    };
    let arg = Arg::new(setting.name)
        .long(long(setting.name))
        .aliases(aliases.map(clap::builder::Str::from))
        .short(setting.short)
        .help(help);
    match setting.accepts {
        Accepts::Switch => arg.action(ArgAction::SetTrue),
        _ => arg.value_name(setting.value_name).allow_hyphen_values(true),
    }
}

impl<M: MethodFlags> Args for MethodArgs<M> {
    fn augment_args(command: Command) -> Command {
        let settings = M::SETTINGS.iter();
        let own = settings.filter(|setting| !M::WITHOUT.contains(&setting.name));
        command.args(own.map(|setting| flag(setting, M::EARLIER)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<M: MethodFlags> FromArgMatches for MethodArgs<M> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, ClapError> {
        let mut fields = Fields::new();
        for setting in M::SETTINGS {
            if M::WITHOUT.contains(&setting.name) {
                continue;
            }
            let value = match setting.accepts {
                Accepts::Switch => matches.get_flag(setting.name).then_some(Value::Bool(true)),
                accepts => {
                    let text = matches.get_one::<String>(setting.name);
                    text.map(|text| accepts.read(text))
                }
            };
            fields.extend(value.map(|value| (setting.name.to_owned(), value)));
        }
        let method = PhantomData;
        Ok(MethodArgs { fields, method })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), ClapError> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What is wrong with a setting, in the words of flags: `--tau -1` for `tau = -1`, `--tau` for `tau`.
pub fn named(error: &SettingError) -> Error {
    let flag = flag_of(&error.key);
    let problem = match error.problem.strip_prefix(&format!("{} = ", error.key)) {
        Some(rest) => format!("{flag} {rest}"),
        None if error.problem.contains(&format!("`{}`", error.key)) => error.problem.clone(),
        None => match error.problem.strip_prefix(&error.key[..]) {
            Some(rest) => format!("{flag}{rest}"),
            None => format!("{flag}: {}", error.problem),
        },
    };
    // Names of settings stand between backticks.
    let problem = problem.replace("the key `", "`");
    let parts: Vec<&str> = problem.split('`').collect();
    let worded = parts.iter().enumerate().map(|(n, part)| match n % 2 {
        // This one is a value.
        1 if parts[n + 1].starts_with(" is not accepted") => format!("'{part}'"),
        1 => flag_of(part),
        _ => (*part).to_owned(),
    });
    Error::Usage(worded.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_flags_for_keys() {
        let said = |key: &str, problem: &str| named(&SettingError::of(key, problem)).to_string();
        let value = said("record_every", "record_every = 0: a whole number is needed");
        assert!(value.contains("--record-every 0: a whole"), "{value}");
        let missing = said("tau", "the key `tau` is missing (or `anneal`)");
        assert!(
            missing.contains("--tau is missing (or --anneal)"),
            "{missing}"
        );
        let value = said(
            "kernel",
            "kernel = \"heatbath\": `heatbath` is not accepted: metropolis",
        );
        assert!(value.contains("'heatbath' is not accepted"), "{value}");
        let file = said("start", "start: there is no such file");
        assert!(file.contains("--start: there"), "{file}");
        assert!(said("order", "step blocks are not exact").contains("--order: step"));
    }
}
