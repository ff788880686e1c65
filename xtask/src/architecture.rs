//! Writes the tables of modules in `docs/architecture.md` from the first sentences of the modules.

use crate::{Failure, root, section};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates, in the order of the page, and whether their modules lie in folders with a table each.
const CRATES: [(&str, bool); 10] = [
    ("foldglass", true),
    ("foldglass-nn", false),
    ("foldglass-study", false),
    ("foldglass-report", false),
    ("foldglass-explore", false),
    ("foldglass-web", false),
    ("foldglass-paper", false),
    ("foldglass-cli", false),
    ("foldglass-py", false),
    ("xtask", false),
];

/// Runs `cargo xtask architecture`.
pub fn run() -> Result<(), Failure> {
    let page = page();
    let text = fs::read_to_string(&page).map_err(|error| failed(&page, &error))?;
    let text = generated(&text, root()).map_err(Failure::Failed)?;
    fs::write(&page, text).map_err(|error| failed(&page, &error))
}

fn page() -> PathBuf {
    root().join("docs/architecture.md")
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

/// The page with the tables of all crates as their sources are now.
fn generated(page: &str, root: &Path) -> Result<String, String> {
    let mut page = page.to_owned();
    for (name, folders) in CRATES {
        let source = root.join(name).join("src");
        let table = if folders {
            by_folder(&source)?
        } else {
            let files = modules(&source)?;
            table(&source, &files)?
        };
        page = section::replace(&page, &format!("modules of {name}"), &table)?;
    }
    Ok(page)
}

/// One table for each folder of a crate, headed by the folder's own sentence.
fn by_folder(source: &Path) -> Result<String, String> {
    let mut text = String::new();
    for file in modules(source)? {
        let folder = file.with_extension("");
        let (what, paper) = first_sentence(&file)?;
        let paper = match &paper[..] {
            "" => String::new(),
            paper => format!(" ({paper})"),
        };
        let name = name(source, &file);
        let rows = table(source, &modules(&folder)?)?;
        text += &format!("**`{name}`**: {what}{paper}\n\n{rows}\n\n");
    }
    Ok(text)
}

/// The modules of a folder in alphabetical order, without roots and files of tests.
fn modules(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| {
        let stem = file.file_stem().and_then(|stem| stem.to_str());
        let is_source = file.extension().is_some_and(|end| end == "rs");
        is_source && !matches!(stem, Some("lib" | "main" | "tests"))
    });
    files.sort();
    Ok(files)
}

fn table(source: &Path, files: &[PathBuf]) -> Result<String, String> {
    let mut rows = String::from("| module | what it does | paper |\n|---|---|---|");
    for file in files {
        let (what, paper) = first_sentence(file)?;
        let name = name(source, file);
        rows += &format!("\n| `{name}` | {what} | {paper} |");
    }
    Ok(rows)
}

/// A module's path within its crate, such as `model::class`.
fn name(source: &Path, file: &Path) -> String {
    let inside = file.strip_prefix(source).expect("a file of this source");
    let inside = inside.with_extension("");
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("::")
}

/// The first paragraph of a module's documentation, and the place in the paper that it names at its end.
fn first_sentence(file: &Path) -> Result<(String, String), String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let paragraph: Vec<&str> = lines
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let paragraph = paragraph.join(" ").replace('|', "\\|");
    if paragraph.is_empty() {
        return Err(format!("{} does not say what it does", file.display()));
    }
    let cited = paragraph
        .rsplit_once(" (paper, ")
        .and_then(|(what, paper)| {
            let (paper, end) = paper.split_once(')')?;
            (end == ".").then(|| (format!("{what}."), paper.to_owned()))
        });
    Ok(cited.unwrap_or((paragraph, String::new())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_modules_as_they_are() {
        let text = fs::read_to_string(page()).unwrap();
        let now = generated(&text, root()).unwrap();
        assert!(
            text == now,
            "docs/architecture.md is not up to date: run `cargo xtask architecture`"
        );
    }

    #[test]
    fn the_place_in_the_paper_stands_apart() {
        let file = root().join("foldglass/src/reward/count.rs");
        let (what, paper) = first_sentence(&file).unwrap();
        assert_eq!(what, "Counts the rewards of codes as integers.");
        assert_eq!(paper, "section 2.2");
    }
}
