//! What a person meets first: the bare command, its examples, a narrow terminal, quiet and colour.

use std::process::Command;

use crate::support::Scratch;
use crate::tools::{assert_needed, need, runs};

/// The examples that the bare command shows.
fn examples(scratch: &Scratch) -> Vec<String> {
    let run = scratch.run(&[]);
    let lines = run.success().lines();
    let examples = lines.filter_map(|line| line.strip_prefix("  foldglass "));
    examples.map(str::to_owned).collect()
}

#[test]
fn the_three_examples_of_the_bare_command_work_as_they_stand() {
    let scratch = Scratch::new();
    let examples = examples(&scratch);
    assert_eq!(examples.len(), 3, "{examples:?}");
    for example in &examples {
        let words: Vec<&str> = example.split(' ').collect();
        // A server, which tests of its own start.
        if words != ["explore"] {
            assert!(!scratch.run(&words).success().is_empty(), "{example}");
        }
    }
}

#[test]
fn exit_codes_are_documented() {
    let help = Scratch::new().run(&["--help"]);
    for code in [
        "0  done",
        "1  a check",
        "2  a mistake",
        "3  another foldglass",
        "130  stopped",
    ] {
        assert!(help.success().contains(code), "{code}");
    }
}

#[test]
fn a_mistyped_item_is_answered_with_the_one_that_is_near() {
    let run = Scratch::new().run(&["reproduce", "tab:shortfal"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.errors.contains("is tab:shortfall meant?"),
        "{}",
        run.errors
    );
}

/// Runs in a terminal of so many columns, which `script` makes.
fn in_terminal(scratch: &Scratch, columns: usize, args: &str, no_colour: bool) -> String {
    let binary = env!("CARGO_BIN_EXE_foldglass");
    let line = format!("stty cols {columns} rows 50; {binary} {args}");
    let mut command = Command::new("script");
    command
        .args(["-qec", &line, "/dev/null"])
        .current_dir(scratch.path());
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    if no_colour {
        command.env("NO_COLOR", "1");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

/// The text without what colours it.
fn uncoloured(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| {
        line + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}

#[test]
fn tables_are_cut_to_the_width_of_the_terminal_and_coloured_only_there() {
    let script = runs("script", "--version").then_some(());
    if need(script, "script (install the package bsdutils)").is_none() {
        return;
    }
    let scratch = Scratch::new();
    scratch
        .run(&["reproduce", "tab:escape", "--smoke", "--out", "here"])
        .success();
    let args = "reproduce tab:escape --from here --rows all";
    let narrow = in_terminal(&scratch, 90, args, false);
    let table = |text: &str| -> Vec<String> {
        let lines = text.lines().map(uncoloured);
        lines
            .filter(|line| line.starts_with("all stretches") || line.starts_with("class "))
            .collect()
    };
    assert!(!table(&narrow).is_empty(), "{narrow}");
    assert!(
        narrow.contains("… cut to 90 columns; --format text has all of it"),
        "{narrow}"
    );
    let wide = in_terminal(&scratch, 400, args, false);
    assert!(!wide.contains('…'), "{wide}");
    for line in table(&narrow) {
        assert!(line.chars().count() <= 140, "{line}");
        assert!(
            line.chars().count()
                < table(&wide)
                    .iter()
                    .map(|line| line.chars().count())
                    .max()
                    .unwrap()
        );
    }
    assert!(narrow.contains("\x1b[1mclass"), "{narrow}");
    let plain = in_terminal(&scratch, 90, args, true);
    assert!(!plain.contains("\x1b["), "{plain}");
    // A pipe is no terminal.
    let piped = scratch.run(&["reproduce", "tab:escape", "--from", "here", "--rows", "all"]);
    assert!(!piped.success().contains('…') && !piped.text.contains('\x1b'));
}

#[test]
fn a_mistake_in_a_study_is_shown_with_its_line_on_a_terminal() {
    let script = runs("script", "--version").then_some(());
    if need(script, "script (install the package bsdutils)").is_none() {
        return;
    }
    let scratch = Scratch::new();
    let study = "name = \"s\"\n[[class]]\ntask = \"parity\"\nlengths = 3\n[[dynamics]]\nkind = \"cavi\"\n\
                 itertions = 3\nruns = 2\ntau = 0.1\n";
    scratch.file("s.toml", study);
    let seen = in_terminal(&scratch, 90, "run s.toml; true", false);
    let shown = "  7 | itertions = 3\n    | ^\n";
    assert!(seen.ends_with(shown), "{seen}");
    let piped = scratch.run(&["run", "s.toml"]);
    assert_eq!(piped.code, Some(2));
    assert_eq!(piped.errors.lines().count(), 1, "{}", piped.errors);
}

#[test]
fn quiet_says_nothing_but_errors() {
    let scratch = Scratch::new();
    let study = "name = \"s\"\n[[class]]\nid = \"p\"\ntask = \"parity\"\nlengths = 3\n[[dynamics]]\n\
                 kind = \"chain\"\nkernel = \"heat-bath\"\ntau = [0.0, 0.1]\nruns = 3\nsweeps = 9\n";
    scratch.file("s.toml", study);
    scratch.run(&["run", "s.toml", "--shard", "1/2"]).success();
    let spoken = scratch.run(&["summary", "s"]);
    let quiet = scratch.run(&["summary", "s", "--quiet"]);
    assert_eq!((quiet.code, &quiet.errors[..]), (Some(0), ""));
    assert_eq!(quiet.text, spoken.text);
    assert!(spoken.errors.contains("not done yet"), "{}", spoken.errors);
    let refused = scratch.run(&["summary", "nowhere", "-q"]);
    assert!(
        refused.code == Some(2) && refused.errors.contains("nowhere"),
        "{}",
        refused.errors
    );
}

#[test]
fn without_a_terminal_the_test_fails_in_ci_and_is_listed_elsewhere() {
    let test = "terminal::tables_are_cut_to_the_width_of_the_terminal_and_coloured_only_there";
    assert_needed(test, "script");
}
