//! Lists the public items of the libraries, so that a change of them is seen in review.
//!
//! Read off the pages of rustdoc: every item of a crate, and under each type or trait its own methods. The
//! list is committed in `docs/api/`; `cargo xtask api --write` brings it up to date.

use crate::{Failure, cargo, root, target_dir};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const CRATES: [&str; 3] = ["foldglass", "foldglass_nn", "foldglass_study"];

/// Runs `cargo xtask api [--write]`.
pub fn run(args: &[String]) -> Result<(), Failure> {
    let write = match args {
        [] => false,
        [flag] if flag == "--write" => true,
        [other, ..] => return Err(Failure::Usage(format!("api takes --write, got {other:?}"))),
    };
    let status = cargo(&["doc", "--workspace", "--no-deps"]).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(Failure::Failed(
            "api: the documentation cannot be made".into(),
        ));
    }
    compare(write)
}

/// Compares the committed lists with the pages that rustdoc left, or writes them.
pub fn compare(write: bool) -> Result<(), Failure> {
    for name in CRATES {
        let listed = list(&target_dir().join("doc").join(name))?;
        let path = path(name);
        if write {
            let written = fs::create_dir_all(path.parent().expect("docs/api"))
                .and_then(|()| fs::write(&path, &listed));
            written.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
            continue;
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        if committed != listed {
            let changes = changes(&committed, &listed);
            return Err(Failure::Failed(format!(
                "the public items of {name} are not those of {}: {changes}; `cargo xtask api --write` brings it up to date",
                path.display()
            )));
        }
    }
    Ok(())
}

fn path(name: &str) -> PathBuf {
    root().join("docs/api").join(format!("{name}.txt"))
}

/// The first few lines that one list has and the other has not.
fn changes(before: &str, after: &str) -> String {
    let (before, after): (BTreeSet<&str>, BTreeSet<&str>) =
        (before.lines().collect(), after.lines().collect());
    let gone = before.difference(&after).map(|line| format!("-{line}"));
    let new = after.difference(&before).map(|line| format!("+{line}"));
    let all: Vec<String> = gone.chain(new).collect();
    let shown = all.iter().take(6).cloned().collect::<Vec<_>>().join(", ");
    if all.len() > 6 {
        format!("{shown}, and {} more", all.len() - 6)
    } else {
        shown
    }
}

/// The items of a crate, a line each, in order.
fn list(pages: &Path) -> Result<String, Failure> {
    let index = pages.join("all.html");
    let failed = |error| Failure::Failed(format!("{}: {error}", index.display()));
    let text = fs::read_to_string(&index).map_err(failed)?;
    let mut lines = BTreeSet::new();
    for (page, kind, name) in items(&text) {
        lines.insert(format!("{kind} {name}"));
        let page = fs::read_to_string(pages.join(&page)).unwrap_or_default();
        for method in methods(&page) {
            lines.insert(format!("{kind} {name}::{method}"));
        }
    }
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}

/// The pages, kinds and paths of all items of `all.html`.
fn items(text: &str) -> Vec<(String, String, String)> {
    let mut items = Vec::new();
    for part in text.split("<li><a href=\"").skip(1) {
        let Some((page, rest)) = part.split_once("\">") else {
            continue;
        };
        let name = rest.split('<').next().unwrap_or_default();
        let file = page.rsplit('/').next().unwrap_or_default();
        let kind = file.split('.').next().unwrap_or_default();
        if page.ends_with(".html") && !name.is_empty() {
            items.push((page.to_owned(), kind.to_owned(), name.to_owned()));
        }
    }
    items
}

/// The methods of a type's page, without those of the traits that it implements.
fn methods(page: &str) -> BTreeSet<String> {
    let foreign = [
        "id=\"trait-implementations\"",
        "id=\"synthetic-implementations\"",
        "id=\"blanket-implementations\"",
        "id=\"deref-methods",
    ];
    let ends = foreign.iter().filter_map(|part| page.find(part));
    let own = &page[..ends.min().unwrap_or(page.len())];
    let mut methods = BTreeSet::new();
    for key in [
        "id=\"method.",
        "id=\"tymethod.",
        "id=\"variant.",
        "id=\"structfield.",
    ] {
        for part in own.split(key).skip(1) {
            let name = part.split('"').next().unwrap_or_default();
            // A variant's fields have ids of their own, below the variant's.
            if !name.contains('.') {
                methods.insert(name.to_owned());
            }
        }
    }
    methods
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_off_the_index() {
        let text = "<ul><li><a href=\"class/struct.Class.html\">class::Class</a></li><li><a href=\"fn.go.html\">go</a></li></ul>";
        let found = items(text);
        assert_eq!(
            found[0],
            (
                "class/struct.Class.html".into(),
                "struct".into(),
                "class::Class".into()
            )
        );
        assert_eq!((&found[1].1[..], &found[1].2[..]), ("fn", "go"));
    }

    #[test]
    fn methods_of_traits_are_not_a_type_s_own() {
        let page = "<section id=\"method.new\"><section id=\"variant.A\"><span id=\"variant.A.field.x\">\
                    <h2 id=\"trait-implementations\"><section id=\"method.clone\">";
        assert_eq!(methods(page).into_iter().collect::<Vec<_>>(), ["A", "new"]);
    }

    #[test]
    fn changes_are_named() {
        assert_eq!(changes("a\nb\n", "b\nc\n"), "-a, +c");
    }
}
