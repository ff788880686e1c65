//! Looks for what keeps people out of the book, in a real browser. The book must have been built.

use std::fs;
use std::path::{Path, PathBuf};

use super::axe;
use super::chromium::{self, Chromium};
use crate::support::Scratch;
use crate::tools::need;

/// The pages of the book that `cargo xtask book` has built.
fn pages() -> Option<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../book");
    let entries = fs::read_dir(folder).ok()?.flatten();
    let mut pages: Vec<PathBuf> = entries
        .map(|entry| fs::canonicalize(entry.path()).expect("it was listed"))
        .filter(|path| path.extension().is_some_and(|ending| ending == "html"))
        // One is for paper, one is the list of chapters in a frame, and one finds its style only on a server.
        .filter(|path| {
            ["print.html", "toc.html", "404.html"]
                .iter()
                .all(|name| !path.ends_with(name))
        })
        .collect();
    pages.sort();
    (!pages.is_empty()).then_some(pages)
}

#[test]
#[ignore = "`cargo xtask test --full` runs it once the book is built"]
fn the_pages_of_the_book_keep_nobody_out() {
    let Some(pages) = need(pages(), "the book (`cargo xtask book` builds it)") else {
        return;
    };
    let (Some(browser), Some(script)) = (chromium::installed(), axe::script()) else {
        return;
    };
    let scratch = Scratch::new();
    let mut chromium = Chromium::start(browser, scratch.path());
    for (width, scheme) in [(1280, "light"), (390, "dark")] {
        chromium.size(width, 900);
        chromium.prefer(&[("prefers-color-scheme", scheme)]);
        for page in &pages {
            chromium.open(&format!("file://{}", page.display()));
            let state = format!("{} at {width}, {scheme}", page.display());
            axe::check(&mut chromium, &script, &state);
        }
    }
}
