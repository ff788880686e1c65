//! Holds all commands to one spelling: one flag for a notion, one notion for a letter, the name of a flag
//! as the key of its JSON, and the settings of methods as the flags of their commands.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, Command};
use foldglass_study::method::Setting;
use foldglass_study::methods::{cavi, chain, reinforce, train};

use crate::call::{NOT_WRITTEN, is_written, settings_schema};
use crate::program::definition;

/// Spellings of before, which are still accepted: commands, old flag, flag.
const RETIRED: [(&str, &str, &str); 24] = [
    ("chain", "chains", "runs"),
    ("train", "models", "runs"),
    ("distill", "networks", "runs"),
    ("family", "walks", "runs"),
    ("overlap", "replicas", "runs"),
    ("parity family law", "length", "lengths"),
    ("certify", "cap", "max-codes"),
    ("enumerate", "barrier-cap", "max-codes"),
    ("escape", "cap", "max-proposals"),
    ("barrier", "proposals", "max-proposals"),
    ("barrier", "chains", "max-chains"),
    ("train read-back", "cap", "longest"),
    ("train", "start", "start-length"),
    ("train distill barrier", "initial", "init"),
    ("cavi", "actions", "keep-code"),
    ("cavi chain", "trace-every", "record-every"),
    ("inspect", "most-inputs", "max-inputs"),
    ("plot", "out", "svg"),
    ("summary", "out", "table"),
    ("collect", "out", "table"),
    ("explore", "longest", "time-limit"),
    ("slurm", "cpus-per-task", "cpus"),
    ("distill barrier", "every", "compare-every"),
    ("reproduce", "rows", "show"),
];

/// Retired spellings that are flags elsewhere, with another meaning.
const ELSEWHERE: [(&str, &str); 5] = [
    (
        "replicas",
        "`free-energy` repeats both chains (replicas) and CAVI (runs)",
    ),
    ("start", "of `chain`, `cavi` and `reinforce` a file"),
    ("longest", "of `train` and `read-back` a length"),
    ("rows", "of `dataset` a number of rows"),
    ("out", "a directory, or a file that other commands read"),
];

/// The flags that a letter stands for, where there are several.
const LETTERS: [(char, &[&str], &str); 1] = [(
    'n',
    &["iterations", "steps", "sweeps", "updates"],
    "how long a run is, in its own steps",
)];

/// Flags without the letter that they have elsewhere.
const WITHOUT_LETTER: [(&str, &str, &str); 2] = [
    ("free-energy", "sweeps", "-n would be its iterations too"),
    ("free-energy", "iterations", "-n would be its sweeps too"),
];

/// Flags that name files and directories to read.
const READ: [&str; 11] = [
    "check",
    "code",
    "directories",
    "directory",
    "file",
    "files",
    "from",
    "other",
    "policy",
    "prior",
    "start",
];

/// Settings of studies that are not flags of the command: the reason stands where the command leaves them
/// out. Flags of the command that are not settings: the class, the machine, and files.
struct Front {
    command: &'static str,
    settings: &'static [Setting],
    not_flags: &'static [&'static str],
    not_settings: &'static [&'static str],
}

const FRONTS: [Front; 4] = [
    Front {
        command: "cavi",
        settings: cavi::SETTINGS,
        // By --policies FILE.
        not_flags: &["keep_policy"],
        not_settings: &["runs", "policies", "record"],
    },
    Front {
        command: "reinforce",
        settings: reinforce::SETTINGS,
        // By --policies FILE.
        not_flags: &["keep_policy"],
        not_settings: &["runs", "policies", "record"],
    },
    Front {
        command: "chain",
        settings: chain::SETTINGS,
        // Codes are always reported, marginals by --marginals FILE; draws of chains of several lengths are
        // not compared.
        not_flags: &[
            "keep_code",
            "keep_marginals",
            "stop_when_stationary",
            "stop_at_optimum",
            "checkpoints",
        ],
        not_settings: &["runs", "marginals", "record"],
    },
    Front {
        command: "train",
        settings: train::SETTINGS,
        // Of studies: how the lengths of a class are used, what is kept, how runs are grouped.
        not_flags: &["curriculum", "read_back", "fleet"],
        not_settings: &[
            "runs",
            "quick",
            "longest",
            "length_weights",
            "test_length",
            "out",
            "checkpoint_every",
            "tensorboard",
            "weights",
        ],
    },
];

/// Flags of the class and of every command.
const COMMON: [&str; 14] = [
    "task",
    "lengths",
    "length_weights",
    "reward",
    "window",
    "tied",
    "memory",
    "inputs",
    "max_memory",
    "json",
    "format",
    "seed",
    "threads",
    "quiet",
];

fn commands() -> Vec<Command> {
    let mut whole = definition();
    whole.build();
    let named = |command: &&Command| command.get_name() != "help";
    whole.get_subcommands().filter(named).cloned().collect()
}

/// The flags of a command, those of the commands below it included.
fn flags(command: &Command) -> Vec<Arg> {
    let own = command
        .get_arguments()
        .filter(|arg| arg.get_long().is_some());
    let own = own.filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()));
    let below = command.get_subcommands().filter(|c| c.get_name() != "help");
    own.cloned().chain(below.flat_map(flags)).collect()
}

fn long(flag: &Arg) -> &str {
    flag.get_long().expect("flags have names")
}

#[test]
fn the_key_of_a_flag_in_json_is_its_name_with_underscores() {
    for command in commands() {
        for flag in flags(&command) {
            let key = long(&flag).replace('-', "_");
            assert_eq!(flag.get_id().as_str(), key, "{}", command.get_name());
        }
    }
}

#[test]
fn a_letter_means_one_thing_in_all_commands() {
    let mut names: BTreeMap<char, BTreeSet<String>> = BTreeMap::new();
    let mut letters: BTreeMap<String, BTreeSet<char>> = BTreeMap::new();
    for command in commands() {
        for flag in flags(&command) {
            if let Some(letter) = flag.get_short() {
                names
                    .entry(letter)
                    .or_default()
                    .insert(long(&flag).to_owned());
                letters
                    .entry(long(&flag).to_owned())
                    .or_default()
                    .insert(letter);
            }
        }
    }
    for (letter, names) in names {
        let several = LETTERS.iter().find(|(own, ..)| *own == letter);
        let expected = several.map_or(1, |(_, names, _)| names.len());
        assert_eq!(names.len(), expected, "-{letter} is {names:?}");
    }
    for command in commands() {
        for flag in flags(&command) {
            let name = long(&flag);
            let has = flag.get_short().is_some();
            let explained = WITHOUT_LETTER
                .iter()
                .any(|(c, f, _)| *c == command.get_name() && *f == name);
            let expected = letters.contains_key(name) && !explained;
            assert_eq!(
                has,
                expected,
                "{} --{name}: {:?}",
                command.get_name(),
                letters.get(name)
            );
        }
    }
}

#[test]
fn retired_spellings_are_read_and_not_shown() {
    let all = commands();
    for (of, old, new) in RETIRED {
        for name in of.split(' ') {
            let command = all.iter().find(|c| c.get_name() == name).expect(name);
            let flag = flags(command).into_iter().find(|flag| long(flag) == new);
            let flag = flag.unwrap_or_else(|| panic!("{name} has no --{new}"));
            let aliases = flag.get_all_aliases().unwrap_or_default();
            assert!(aliases.contains(&old), "{name} --{new}: {aliases:?}");
            let shown = flag.get_visible_aliases().unwrap_or_default();
            assert!(shown.is_empty(), "{name} --{new}");
        }
        if ELSEWHERE.iter().any(|(name, _)| *name == old) {
            continue;
        }
        for command in &all {
            let shown = flags(command).into_iter().any(|flag| long(&flag) == old);
            assert!(
                !shown,
                "{} has --{old}, which is --{new}",
                command.get_name()
            );
        }
    }
}

#[test]
fn the_commands_that_decide_statements_have_no_retired_spelling() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/claims.json");
    let written = std::fs::read_to_string(file).expect("the statements");
    let all: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    let claims = all["claims"].as_array().expect("a list");
    assert!(claims.len() > 100);
    for claim in claims {
        let line = claim["command"].as_str().expect("a command");
        let name = line.split(' ').next().unwrap_or_default();
        for (of, old, new) in RETIRED {
            let retired = of.split(' ').any(|of| of == name)
                && line
                    .split(' ')
                    .any(|word| word.strip_prefix("--") == Some(old));
            assert!(!retired, "`{line}`: --{old} is --{new}");
        }
    }
}

#[test]
fn the_settings_of_a_method_are_the_flags_of_its_command() {
    for front in FRONTS {
        let all = commands();
        let command = all.iter().find(|c| c.get_name() == front.command);
        let flags = flags(command.expect(front.command));
        let flags: BTreeSet<&str> = flags.iter().map(|flag| flag.get_id().as_str()).collect();
        let settings: BTreeSet<&str> = front.settings.iter().map(|s| s.name).collect();
        let missing: Vec<_> = settings.difference(&flags).copied().collect();
        let mut explained = front.not_flags.to_vec();
        explained.sort_unstable();
        assert_eq!(missing, explained, "{}", front.command);
        let own = flags
            .difference(&settings)
            .filter(|name| !COMMON.contains(name));
        let foreign: Vec<_> = own
            .filter(|name| !front.not_settings.contains(name))
            .collect();
        assert!(foreign.is_empty(), "{}: {foreign:?}", front.command);
    }
}

/// `rerun` writes elsewhere what the command writes: a new flag for a file belongs to one of the two lists.
#[test]
fn a_flag_with_a_file_is_known_as_read_or_written() {
    for command in commands() {
        let name = command.get_name();
        for flag in command.get_arguments() {
            let id = flag.get_id().as_str();
            let values = flag.get_value_names().unwrap_or_default();
            let is_file = values.iter().any(|value| {
                let value: Vec<&str> = value.split(['.', '|']).collect();
                value.contains(&"FILE") || value.contains(&"DIR")
            });
            let is_read = READ.contains(&id) || NOT_WRITTEN.contains(&(name, id));
            let known = is_read || is_written(name, id) || (name, id) == ("gauge", "relabel");
            assert!(!is_file || known, "{name} {id}");
            assert!(!(is_read && is_written(name, id)), "{name} {id}");
        }
    }
}

/// A file of the repository.
fn file(path: &str) -> String {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    std::fs::read_to_string(root.join(path)).expect(path)
}

/// The keywords of a function in the source of the Python package.
fn keywords(function: &str) -> BTreeSet<String> {
    let sources = ["_runs.py", "_networks.py"]
        .map(|name| file(&format!("foldglass-py/python/foldglass/{name}")));
    let start = format!("\ndef {function}(\n");
    let source = sources.iter().find_map(|source| source.split_once(&start));
    let (_, signature) = source.unwrap_or_else(|| panic!("no function {function}"));
    let (signature, _) = signature.split_once("\n)").expect("its end");
    let names = signature.lines().filter_map(|line| line.split_once(':'));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

/// Flags, keys of study files, keywords of Python and keys of JSON are compared with the one table.
#[test]
fn a_setting_has_one_name_in_all_four_places() {
    let study: serde_json::Value =
        serde_json::from_str(&file("docs/schemas/formats/study.json")).expect("JSON");
    let kinds = study["properties"]["dynamics"]["items"]["oneOf"].as_array();
    let kinds = kinds.expect("the kinds of dynamics");
    for Front {
        command,
        settings,
        not_flags,
        ..
    } in FRONTS
    {
        let keys = kinds.iter().map(|kind| &kind["properties"]);
        let keys = keys.filter(|keys| keys["kind"].to_string().contains(&format!("\"{command}\"")));
        let keys: Vec<_> = keys.collect();
        let json = settings_schema(&definition(), command);
        let python = keywords(command);
        assert!(!keys.is_empty() && python.len() > 5, "{command}");
        for setting in settings {
            let name = setting.name;
            assert!(
                keys.iter().all(|keys| keys[name].is_object()),
                "{command}: no key {name} of studies"
            );
            let is_flag = !not_flags.contains(&name);
            assert_eq!(
                json["properties"][name].is_object(),
                is_flag,
                "{command} {name}"
            );
            // `cavi`, `chain` and `reinforce` take all settings as keywords, `train` those of the command.
            let is_always = name == "keep_code" && command != "chain";
            let is_keyword = !is_always && (command != "train" || is_flag);
            assert_eq!(python.contains(name), is_keyword, "{command} {name}");
        }
    }
}

#[test]
fn every_flag_has_a_doc_line_and_tied_is_offered_where_it_is_accepted() {
    for command in commands() {
        for flag in flags(&command) {
            assert!(
                flag.get_help().is_some(),
                "{} --{}",
                command.get_name(),
                long(&flag)
            );
            let untied = ["barrier", "density", "enumerate"].contains(&command.get_name());
            if flag.get_id() == "tied" {
                assert_eq!(flag.is_hide_set(), untied, "{}", command.get_name());
            }
        }
    }
}
