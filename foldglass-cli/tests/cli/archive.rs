//! `archive`: a reproduction in one file.

use std::fs;
use std::process::Command;

use crate::support::{Scratch, words};

/// A small reproduction.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    let made = "reproduce tab:trapsexist --smoke --out here";
    scratch.run(&words(made)).success();
    scratch
}

#[test]
fn an_archive_has_the_same_bytes_each_time_and_unpacks_to_what_was_archived() {
    let scratch = scratch();
    let written = scratch.json(&words("archive here --out one.tar"));
    scratch.run(&words("archive here --out two.tar")).success();
    let bytes = |name: &str| fs::read(scratch.path().join(name)).unwrap();
    assert!(bytes("one.tar") == bytes("two.tar"));
    let checked = scratch.json(&words("archive --check one.tar"));
    assert_eq!(
        (&checked["verified"], &checked["files"]),
        (&true.into(), &written["files"])
    );
    let unpacked = Command::new("tar")
        .args(["xf", "one.tar"])
        .current_dir(scratch.path())
        .status();
    if unpacked.is_ok_and(|status| status.success()) {
        let manifest = scratch.read("foldglass-reproduction/manifest.json");
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        let files = manifest["files"].as_array().unwrap();
        assert_eq!(written["files"], files.len());
        let paths: Vec<&str> = files
            .iter()
            .map(|file| file["path"].as_str().unwrap())
            .collect();
        for path in [
            "claims.json",
            "reproduce.json",
            "report/index.html",
            "report/report.md",
        ] {
            assert!(paths.contains(&path), "{path}: {paths:?}");
        }
        for path in paths.iter().filter(|path| **path != "claims.json") {
            let unpacked = bytes(&format!("foldglass-reproduction/{path}"));
            assert!(unpacked == bytes(&format!("here/{path}")), "{path}");
        }
    }
}

#[test]
fn one_flipped_byte_anywhere_is_found() {
    let scratch = scratch();
    scratch.run(&words("archive here --out one.tar")).success();
    let path = scratch.path().join("one.tar");
    let whole = fs::read(&path).unwrap();
    // In the first header, the manifest, a content, the filling behind the last and the end.
    let content = whole.len() / 2;
    for at in [0, 600, content, whole.len() - 1030, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 4;
        fs::write(&path, &damaged).unwrap();
        let run = scratch.run(&words("archive --check one.tar"));
        assert_eq!(run.code, Some(1), "{at}: {run:?}");
        assert!(run.errors.contains("one.tar: "), "{at}: {}", run.errors);
    }
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(scratch.run(&words("archive --check one.tar")).code, Some(1));
}

#[test]
fn mistakes_say_what_is_accepted() {
    let scratch = scratch();
    for (line, said) in [
        ("archive here", "--out"),
        ("archive here --out here/one.tar", "name a file elsewhere"),
        ("archive nothing --out one.tar", "reproduce.json is missing"),
        ("archive --check absent.tar", "absent.tar"),
        ("archive --check one.tar --out two.tar", "--out"),
    ] {
        let run = scratch.run(&words(line));
        assert_eq!(run.code, Some(2), "{line}: {run:?}");
        assert!(run.errors.contains(said), "{line}: {}", run.errors);
    }
}
