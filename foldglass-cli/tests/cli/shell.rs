//! Holds completions, man pages and the forms of tables to the definition of the command line.

use crate::mistakes::refuses;
use crate::support::{Scratch, words};
use crate::tools::{need, runs};

/// The commands that the help lists.
pub fn commands(scratch: &Scratch) -> Vec<String> {
    let run = scratch.run(&["--help"]);
    let (_, listed) = run.success().split_once("\nLook:\n").unwrap();
    let (listed, _) = listed.split_once("\nEvery command:\n").unwrap();
    // Commands are indented by two; `cavi, rlvr` is one command with two names.
    let named = listed.lines().filter_map(|line| line.strip_prefix("  "));
    let names = named.map(|line| line.split([' ', ',']).next().unwrap().to_owned());
    let names: Vec<String> = names.filter(|name| name != "help").collect();
    for known in ["task", "chain", "cavi", "enumerate", "check", "run", "man"] {
        assert!(names.iter().any(|name| name == known), "{names:?}");
    }
    names
}

/// The calls in the examples of a command's help, as they are typed into a shell.
pub fn examples(scratch: &Scratch, command: &str) -> Vec<String> {
    let mut help = scratch.command(&[command, "--help"]);
    // Wide enough that no example is broken into lines.
    let output = help.env("COLUMNS", "400").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let (_, listed) = help.split_once("\nExamples:\n").unwrap();
    let (listed, _) = listed.split_once("\n\n").unwrap_or((listed, ""));
    let calls = listed.lines().filter_map(|line| line.strip_prefix("  "));
    let calls = calls.filter(|line| !line.starts_with(' '));
    calls.map(str::to_owned).collect()
}

#[test]
fn completions_know_every_command_and_flag() {
    let scratch = Scratch::new();
    let commands = commands(&scratch);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = scratch.run(&["completions", shell]);
        let script = run.success();
        let flags = ["stop-at-convergence", "marginals", "lengths"].map(str::to_owned);
        for word in commands.iter().chain(&flags) {
            assert!(script.contains(word), "{shell}: {word}");
        }
        let json = scratch.json(&["completions", shell]);
        assert_eq!(json["script"], script);
    }
    let said = ["'tcsh'", "bash, elvish, fish, powershell, zsh"];
    refuses(&scratch, "completions tcsh", &said);
    refuses(&scratch, "completions", &["<SHELL>"]);
}

#[test]
fn a_completion_script_is_bash() {
    if need(runs("bash", "--version").then_some(()), "bash").is_none() {
        return;
    }
    let scratch = Scratch::new();
    let script = scratch.run(&["completions", "bash"]).success().to_owned();
    scratch.file("script", &script);
    let checked = std::process::Command::new("bash")
        .args(["-n", "script"])
        .current_dir(scratch.path())
        .status();
    assert!(checked.unwrap().success());
}

#[test]
fn there_is_a_man_page_for_every_command() {
    let scratch = Scratch::new();
    let commands = commands(&scratch);
    let run = scratch.run(&["man", "pages"]);
    assert_eq!(run.success().lines().count(), 1 + commands.len());
    let whole = scratch.read("pages/foldglass.1");
    for command in commands {
        let page = scratch.read(&format!("pages/foldglass-{command}.1"));
        assert!(
            page.contains(".TH ") && page.contains(".SH SYNOPSIS"),
            "{command}"
        );
        // In a man page a hyphen is written with a backslash.
        let written = command.replace('-', "\\-");
        assert!(page.contains(&format!("foldglass {written}")), "{page}");
        assert!(whole.contains(&written), "{command}");
    }
    assert!(
        scratch
            .read("pages/foldglass-cavi.1")
            .contains("\\-\\-quench")
    );
    scratch.file("taken", "");
    refuses(&scratch, "man taken", &["cannot write taken"]);
}

#[test]
fn tables_have_every_format() {
    let scratch = Scratch::new();
    let chain = "chain --kernel heat-bath --tau 0 --sweeps 9 --chains 3 --task parity --lengths 2";
    let found = scratch.json(&words(chain));
    let form = |format: &str| {
        let run = scratch.run(&[&words(chain)[..], &["--format", format]].concat());
        run.success().to_owned()
    };
    let csv = form("csv");
    let lines: Vec<&str> = csv.split_terminator("\r\n").collect();
    assert_eq!(
        lines[0],
        "chain,j,exact,mean_j,stationary_after,autocorrelation,effective"
    );
    assert_eq!(lines.len(), 4);
    for (number, line) in lines[1..].iter().enumerate() {
        let chain = &found["chains"][number];
        let entries: Vec<&str> = line.split(',').collect();
        assert_eq!(entries[0], number.to_string());
        assert_eq!(entries[1].parse::<f64>().ok(), chain["reward"].as_f64());
        assert_eq!(entries[2], chain["reward_exact"]);
        assert_eq!(
            entries[3].parse::<f64>().ok(),
            chain["mean_reward"].as_f64()
        );
        assert_eq!(entries[4], "");
        // Of the second half of nine sweeps at most a time is known, no more than nine.
        let time = chain["autocorrelation_time"].as_f64();
        assert_eq!(entries[5].parse::<f64>().ok(), time);
    }
    let json: serde_json::Value = serde_json::from_str(&form("json")).unwrap();
    assert_eq!(json[2]["exact"], found["chains"][2]["reward_exact"]);
    assert!(
        form("markdown").starts_with("| chain | "),
        "{}",
        form("markdown")
    );
    assert!(form("latex").contains("\\toprule"));
    assert!(form("text").starts_with("chain "));
    // What has no table says so; two forms at once are refused.
    let said = ["--format csv", "--json"];
    refuses_form(&scratch, "completions bash --format csv", &said);
    let said = ["--format", "--json"];
    refuses_form(&scratch, &format!("{chain} --format csv --json"), &said);
}

/// The tables of looks at one object have the numbers of its JSON, a row for each.
#[test]
fn tables_of_single_objects_have_a_row_for_each_part() {
    let scratch = Scratch::new();
    scratch.file("code.json", r#"{"actions":[0,1,0,1,1,0]}"#);
    let code = "--task parity --lengths 2 --code code.json";
    for (command, head, rows) in [
        ("task --task z:3".to_owned(), "s,0,1,2", 3),
        (
            "cells --task parity --lengths 2 --list".to_owned(),
            "cell,t,x,y",
            6,
        ),
        (
            "cells --task parity --lengths 2".to_owned(),
            "t,x,y,cells",
            2,
        ),
        (format!("gauge {code}"), "t,links,invertible,holonomies", 2),
        (format!("eval {code}"), "cell,t,x,y,action,d,dq_0,dq_1", 6),
        (
            "tree --task parity --lengths 2".to_owned(),
            // Leaves, those stuck on none, a gap, and the table of saddles.
            "leaves,reward,barrier,shelf,steepest,random",
            5,
        ),
    ] {
        let csv = scratch.run(&words(&format!("{command} --format csv")));
        let csv = csv.success().to_owned();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(
            (lines[0], lines.len()),
            (head, 1 + rows),
            "{command}: {csv}"
        );
    }
}

/// Requires exit 2 and a line that holds all of `said`.
fn refuses_form(scratch: &Scratch, command: &str, said: &[&str]) {
    let run = scratch.run(&words(command));
    assert_eq!((run.code, &run.text[..]), (Some(2), ""), "{}", run.errors);
    for part in said {
        assert!(run.errors.contains(part), "{}", run.errors);
    }
}
