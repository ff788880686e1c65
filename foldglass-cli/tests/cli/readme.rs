//! Runs the commands of the recipes, of the tutorial and of all helps as they stand, in a directory of their own, compares the outputs
//! that README.md shows, and reads the studies of all pages with `--dry-run`. A command that takes long is stopped as by Ctrl-C,
//! which is not a failure; a mistake is.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::support::Scratch;

/// The commands of all `sh` blocks of a text; a command may go on over lines, and hold a document.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for block in text.split("```sh\n").skip(1) {
        let block = block.split("\n```").next().unwrap();
        let mut lines = block.lines();
        while let Some(line) = lines.next() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let mut command = line.to_owned();
            if line.contains("<<'EOF'") {
                for line in lines.by_ref() {
                    command += &format!("\n{line}");
                    if line == "EOF" {
                        break;
                    }
                }
            }
            while command.ends_with('\\') || command.ends_with('|') {
                command += &format!("\n{}", lines.next().expect("the command goes on"));
            }
            commands.push(command);
        }
    }
    commands
}

/// Seconds after which a command is stopped: what takes minutes shows that it runs, a mistake ends it at once.
fn limit(command: &str) -> u32 {
    let long = [
        "reproduce",
        "claims",
        "train --task",
        "run foldglass-cli/",
        "--lengths 8 --tau",
        "chain --task quasigroup",
    ];
    if long.iter().any(|word| command.contains(word)) {
        1
    } else {
        120
    }
}

fn run_all(file: &str, scratch: &Scratch) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    // Files of the repository that commands name.
    fs::create_dir_all(scratch.path().join("foldglass-paper")).unwrap();
    std::os::unix::fs::symlink(
        root.join("foldglass-paper/studies"),
        scratch.path().join("foldglass-paper/studies"),
    )
    .unwrap();
    let text = fs::read_to_string(root.join(file)).unwrap();
    let commands = commands(&text);
    assert!(commands.len() > 5, "{commands:?}");
    for command in commands {
        if command.contains("cargo xtask") || command.contains("cargo install") {
            continue;
        }
        let binary = env!("CARGO_BIN_EXE_foldglass");
        let stopped = format!(
            "timeout --preserve-status -s INT {} {binary}",
            limit(&command)
        );
        // The figure's 144 models are a GPU's work, and much memory on a processor: 18 stand for them.
        run_line(&command.replace("--runs 8", "--runs 1"), &stopped, scratch);
    }
}

/// Runs a line of a shell with a program in the place of `foldglass`; Ctrl-C is not a failure.
fn run_line(command: &str, program: &str, scratch: &Scratch) {
    let line = format!("\n{command}")
        .replace("cargo run --release --", program)
        .replace("\nfoldglass ", &format!("\n{program} "))
        .replace("| foldglass ", &format!("| {program} "));
    let begun = Instant::now();
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", &line])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    eprintln!("{:.1} s: {command}", begun.elapsed().as_secs_f64());
    let errors = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(
        matches!(code, Some(0 | 130)),
        "{command}\nends with {code:?}: {errors}"
    );
}

/// The commands of all `console` blocks of a text, each with the output printed below it.
fn sessions(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for block in text.split("```console\n").skip(1) {
        for line in block.split("\n```").next().unwrap().lines() {
            match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => found.push((command.to_owned(), String::new())),
                (None, Some((_, output))) => *output += &format!("{line}\n"),
                (None, None) => panic!("{line} stands before a command"),
            }
        }
    }
    found
}

#[test]
fn the_outputs_that_the_first_pages_show_are_those_of_their_commands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let pages = [
        "README.md",
        "foldglass-cli/README.md",
        "docs/introduction.md",
    ];
    let shown = pages.map(|file| sessions(&fs::read_to_string(root.join(file)).unwrap()));
    assert!(
        shown.iter().all(|sessions| !sessions.is_empty()),
        "{shown:?}"
    );
    for (command, shown) in shown.into_iter().flatten() {
        let words = command.split_whitespace().skip(1);
        let output = Command::new(env!("CARGO_BIN_EXE_foldglass"))
            .args(words)
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed, shown, "{command}");
    }
}

#[test]
fn the_commands_of_the_tutorial_work() {
    let scratch = Scratch::new();
    run_all("docs/tutorial.md", &scratch);
    for made in ["warm.svg", "warm/table.parquet", "verdicts.json"] {
        assert!(scratch.path().join(made).exists(), "{made}");
    }
}

/// Every study that a text prints, with where it is printed.
fn studies() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let pages = fs::read_dir(root.join("docs")).unwrap();
    let pages = pages.map(|entry| entry.unwrap().path());
    let crates = ["foldglass-py", "foldglass-nn", "results", "."];
    let readmes = crates.map(|name| root.join(name).join("README.md"));
    let texts = pages.filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    let mut found = Vec::new();
    for path in texts.chain(readmes) {
        let text = fs::read_to_string(&path).unwrap();
        for (number, block) in text.split("```toml\n").skip(1).enumerate() {
            let study = block.split("\n```").next().unwrap().to_owned();
            found.push((format!("study {number} of {}", path.display()), study));
        }
    }
    found
}

#[test]
fn every_study_that_a_text_prints_is_accepted() {
    let scratch = Scratch::new();
    // The files that they name: policies and codes of 180 cells of five actions, and of 22 of two.
    let policy = format!("{{\"rows\":{:?}}}", [[0.2; 5]; 180]);
    let codes = |count: usize, cells: usize| {
        format!("{{\"actions\":{:?}}}\n", vec![0; cells]).repeat(count)
    };
    for (name, text) in [
        ("policy.json", policy.clone()),
        ("prior.json", policy),
        ("codes.json", codes(4, 180)),
        ("traps.json", codes(13, 22)),
    ] {
        fs::write(scratch.path().join(name), text).unwrap();
    }
    let studies = studies();
    assert!(studies.len() >= 4, "{studies:?}");
    for (place, study) in studies {
        fs::write(scratch.path().join("study.toml"), study).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_foldglass"))
            .args(["run", "study.toml", "--dry-run"])
            .current_dir(scratch.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}: {errors}");
    }
}

/// Every page of the book is in its list, and every link leads to a file.
#[test]
fn the_book_lists_its_pages_and_links_to_what_is_there() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    for entry in fs::read_dir(&docs).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.ends_with(".md") {
            continue;
        }
        if name != "SUMMARY.md" {
            assert!(
                summary.contains(&format!("]({name})")),
                "SUMMARY.md lists no {name}"
            );
        }
        let text = fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            assert!(docs.join(target).exists(), "{name} links to {target}");
        }
    }
}

/// A minute of a processor.
mod full {
    use super::*;
    use crate::shell::{commands, examples};
    use crate::support::words;

    /// What examples take for granted: studies and a network are a user's own.
    const PREPARED: [&str; 3] = [
        "run study.toml --out runs/a --shard 1/2",
        "run study.toml --out runs/b --shard 2/2",
        "train --task z:5 --entropy 0.3 --backend cpu --width 16 --heads 2 --mlp 16 --vocabulary 6 --longest 2 \
         --gate-samples 32 --test-inputs 50 --batch 32 --steps 40 --weights nets",
    ];

    const STUDY: &str = "name = \"mine\"\n[[class]]\ntask = \"parity\"\nlengths = 3\n\
        [[dynamics]]\nkind = \"chain\"\nsweeps = 20\nruns = 200\ntau = [0.1, 1.0]\n";

    /// Those of these names compute for long: they are stopped as soon as they run.
    const LONG: [&str; 9] = [
        "barrier",
        "cavi",
        "chain",
        "claims",
        "distill",
        "free-energy",
        "overlap",
        "reproduce",
        "train",
    ];

    #[test]
    fn the_examples_of_every_help_work() {
        let scratch = Scratch::new();
        scratch.file("study.toml", STUDY);
        for call in PREPARED {
            scratch.run(&words(call)).success();
        }
        for command in commands(&scratch) {
            let seconds = if LONG.contains(&&command[..]) { 1 } else { 60 };
            let binary = env!("CARGO_BIN_EXE_foldglass");
            let stopped = format!("timeout --preserve-status -s INT {seconds} {binary}");
            let calls = examples(&scratch, &command).into_iter();
            // `explore` serves until it is closed, and `man -l` is another program.
            let calls = calls.filter(|call| command != "explore" && !call.starts_with("man "));
            // Networks of the paper's size take memory; codes are taken by number up to 3.
            let runs = if command == "train" {
                "--runs 1"
            } else {
                "--runs 4"
            };
            for call in calls {
                run_line(&call.replace("--runs 8", runs), &stopped, &scratch);
            }
        }
    }

    #[test]
    fn the_pictures_of_the_book_are_those_that_its_commands_draw() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let committed = root.join("docs/pictures");
        let scratch = Scratch::new();
        let binary = Path::new(env!("CARGO_BIN_EXE_foldglass")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let output = Command::new("bash")
            .arg(committed.join("make.sh"))
            .env("PATH", format!("{}:{path}", binary.display()))
            .current_dir(scratch.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let mut pictures = 0;
        for entry in fs::read_dir(scratch.path()).unwrap() {
            let drawn = entry.unwrap().path();
            let name = drawn.file_name().unwrap();
            assert!(
                fs::read(&drawn).unwrap() == fs::read(committed.join(name)).unwrap(),
                "{name:?} differs: run docs/pictures/make.sh in docs/pictures"
            );
            pictures += 1;
        }
        assert!(pictures >= 4, "{pictures}");
    }

    #[test]
    fn the_commands_of_the_recipes_work() {
        run_all("docs/recipes.md", &Scratch::new());
    }
}
