//! `docs/reference.md` is the help of the program: `cargo xtask reference` writes it, a test compares it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::shell::commands;
use crate::support::Scratch;

/// What the program prints, as wide as in a page.
fn help(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_foldglass"))
        .args(words)
        .env("COLUMNS", "100")
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A help in parts: what comes before its headings, then each heading with its lines.
fn parts(help: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in help.lines() {
        if line.ends_with(':') && line.starts_with(char::is_uppercase) {
            parts.push(String::new());
        }
        *parts.last_mut().unwrap() += &format!("{line}\n");
    }
    parts
}

fn part(help: &str, heading: &str) -> String {
    let mut parts = parts(help).into_iter();
    let found = parts.find(|part| part.starts_with(&format!("{heading}:\n")));
    found.unwrap_or_else(|| panic!("{heading}: {help}"))
}

/// The commands of the help, as a table with their headings.
fn table(help: &str) -> String {
    let mut table = "| command | what it does |\n|---|---|\n".to_owned();
    let listed = parts(help).into_iter();
    let listed = listed.skip_while(|part| !part.starts_with("Look:"));
    for part in listed.take_while(|part| !part.starts_with("Every command:")) {
        let (heading, rows) = part.split_once(":\n").unwrap();
        table += &format!("| **{heading}** | |\n");
        for row in rows.lines().filter_map(|line| line.strip_prefix("  ")) {
            let (names, text) = row.split_at(row.find("  ").unwrap_or(13).max(13));
            let mut names = names.split(',').map(str::trim);
            let name = names.next().unwrap();
            let aliases: String = names.map(|alias| format!(", `{alias}`")).collect();
            if name != "help" {
                table += &format!("| [`{name}`](#{name}){aliases} | {} |\n", text.trim());
            }
        }
    }
    table
}

fn block(text: &str) -> String {
    format!("```text\n{}\n```\n", text.trim_end())
}

fn reference() -> String {
    let whole = help(&["--help"]);
    let (every, class) = (
        part(&whole, "Every command"),
        part(&help(&["cells", "--help"]), "Class"),
    );
    let mut page = format!(
        "# Command-line reference\n\n\
         This page is the output of `foldglass COMMAND --help`; `cargo xtask reference` writes it. [Commands](commands.md) explains \
         what the commands have in common. The references of the libraries are [Rust](rust.md#reference) and \
         [Python](python.md).\n\n\
         ## Commands\n\n{}\n\
         ## Flags of every command\n\n{}\n\
         ## Flags of a class\n\nMost commands take these; their own texts below leave them out.\n\n{}",
        table(&whole),
        block(&every),
        block(&class)
    );
    for name in commands(&Scratch::new()) {
        let kept = parts(&help(&[&name, "--help"])).into_iter();
        let kept = kept.filter(|part| !part.starts_with("Every command:") && *part != class);
        page += &format!("\n## {name}\n\n{}", block(&kept.collect::<String>()));
    }
    page
}

#[test]
fn the_reference_in_the_book_is_the_help_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let path = root.join("docs/reference.md");
    let page = reference();
    for name in ["enumerate", "reproduce", "law", "completions"] {
        assert!(page.contains(&format!("\n## {name}\n")), "{name}");
    }
    if std::env::var("FOLDGLASS_REFERENCE").is_ok_and(|value| value == "write") {
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/reference.md: run `cargo xtask reference`"
    );
}
