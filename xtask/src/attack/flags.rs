//! Gives every command flags that nobody should: numbers at the ends of their types, no text, long
//! text, bytes that are no text.

use super::corpus::Corpus;
use super::mutate::NUMBERS;
use super::process::Call;
use super::stream::Stream;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// Longer work gets Ctrl-C, which it must hear.
const PATIENCE: Duration = Duration::from_secs(3);

/// A command line of every command that works, and is short.
const WORKS: [&str; 25] = [
    "task --task z:3",
    "cells --task z:3 --lengths 3",
    "eval --code code.json",
    "eval --policy policy.json",
    "chain --kernel heat-bath --task z:3 --lengths 3 --tau 1e-3 --sweeps 20 --chains 3",
    "chain --kernel heat-bath --task z:3 --lengths 3 --anneal geometric:1e-1,1e-6,50 --sweeps 50 --chains 3",
    "cavi --task z:3 --lengths 3 --tau 1e-3 --iterations 20 --runs 3",
    "enumerate --task parity --lengths 4 --inputs markov:9/10",
    "enumerate --task z:3 --lengths 3 --dry-run",
    "tree --task parity --lengths 3 --inputs markov:9/10",
    "certify --code code.json --cap 50",
    "escape --code code.json",
    "check bounded.json",
    "gauge --code code.json",
    "draw --code code.json --svg code.svg",
    "overlap --task z:3 --lengths 3 --tau 1e-3 --sweeps 20 --replicas 3",
    "parity --length 6 --tau 0.1",
    "parity --length 5 --tau 0.1,0.2 --density",
    "density --task z:3 --lengths 2",
    "man pages",
    "run study.toml --dry-run",
    "collect study --partial",
    "summary study",
    "reproduce tab:shortfall --dry-run",
    "completions bash",
];

/// Texts that are no numbers, or nearly.
const TEXTS: [&str; 30] = [
    "",
    " ",
    "-",
    "--",
    "=",
    "x",
    "/",
    ".",
    "..",
    "/dev/null",
    "/dev/full",
    "/dev/zero",
    "code.json",
    "code.json#99",
    "1/2",
    "1/0",
    "0/1",
    "2/1",
    "1,1",
    "0,0",
    "60,60",
    "1,2,3,4,5,6,7,8",
    "z:0",
    "z:2*z:2*z:2*z:2*z:2*z:2",
    "random:3",
    "random:200",
    "markov:1/3",
    "dirichlet:1e-300",
    "logit_normal:1e308",
    "geometric:1,1e-300,9",
];

/// The flags that commands have, as their help lists them.
static FLAGS: Mutex<BTreeMap<String, Vec<Flag>>> = Mutex::new(BTreeMap::new());

#[derive(Clone)]
struct Flag {
    name: String,
    takes_value: bool,
}

/// Adds flags to a command that works, or changes its values; gives 1.
pub fn attack(
    corpus: &Corpus,
    folder: &Path,
    number: u64,
    stream: &mut Stream,
) -> Result<u64, String> {
    let files = [
        "code.json",
        "policy.json",
        "bounded.json",
        "study.toml",
        "study",
    ];
    corpus.copy(&files, folder)?;
    let works: Vec<&str> = WORKS[number as usize % WORKS.len()].split(' ').collect();
    let flags = flags(corpus, folder, works[0])?;
    let mut args: Vec<OsString> = works.iter().map(OsString::from).collect();
    if args.len() > 2 && stream.below(3) == 0 {
        let place = 1 + stream.below(args.len() - 1);
        args[place] = extreme(stream);
    }
    for _ in 0..stream.below(4) {
        let flag = stream.pick(&flags);
        args.push((&flag.name).into());
        if flag.takes_value {
            args.push(extreme(stream));
        }
    }
    let call = args
        .iter()
        .fold(Call::new(&corpus.program, folder, ""), Call::arg);
    let end = call.run(PATIENCE);
    match end.fault() {
        Some(fault) => Err(format!("{fault}\n  {call}")),
        None => Ok(1),
    }
}

fn extreme(stream: &mut Stream) -> OsString {
    match stream.below(8) {
        0..=3 => stream.pick(&NUMBERS).into(),
        4 | 5 => stream.pick(&TEXTS).into(),
        6 => {
            let bytes = (0..=stream.below(12)).map(|_| stream.byte().max(1));
            OsString::from_vec(bytes.collect())
        }
        _ => {
            let unit = *stream.pick(&["9", "a", "1,", "z:2*", "é", "../"]);
            unit.repeat(stream.below(20_000)).into()
        }
    }
}

/// The flags of a command, read from its help once.
fn flags(corpus: &Corpus, folder: &Path, command: &str) -> Result<Vec<Flag>, String> {
    let mut known = FLAGS.lock().expect("no panic while it is held");
    if let Some(flags) = known.get(command) {
        return Ok(flags.clone());
    }
    let help = Call::new(&corpus.program, folder, command).arg("--help");
    let text = help.succeed(Duration::from_secs(60))?.stdout;
    let flags = listed(&String::from_utf8_lossy(&text));
    if flags.len() < 4 {
        return Err(format!("its help lists {} flags\n  {help}", flags.len()));
    }
    known.insert(command.into(), flags.clone());
    Ok(flags)
}

fn listed(help: &str) -> Vec<Flag> {
    let flag = |line: &str| {
        let (before, rest) = line.split_once("--")?;
        // `  -s, --seed <N>` or `      --json`; in the text of a flag it stands further right.
        let short = |c: char| c.is_whitespace() || c == '-' || c == ',' || c.is_alphanumeric();
        if before.len() != 6 || !before.chars().all(short) {
            return None;
        }
        let name: String = rest
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '-')
            .collect();
        let takes_value = rest[name.len()..].starts_with(" <");
        Some(Flag {
            name: format!("--{name}"),
            takes_value,
        })
    };
    help.lines().filter_map(flag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_found_in_a_help_text() {
        let help = "Usage: x --code <FILE>\n\n  -c, --code <FILE>  A file\n      --json  One\n  \
                            \n                     see --other\n";
        let flags = listed(help);
        let names: Vec<&str> = flags.iter().map(|flag| flag.name.as_str()).collect();
        assert_eq!(names, ["--code", "--json"]);
        assert!(flags[0].takes_value && !flags[1].takes_value);
    }
}
