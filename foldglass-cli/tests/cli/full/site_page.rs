//! Opens the site from a folder, without a server. `cargo xtask site` must have built it.

use std::fs;
use std::path::Path;

use super::chromium::{self, Chromium};
use crate::support::Scratch;
use crate::tools::need;

#[test]
#[ignore = "`cargo xtask test --all` runs it once the site is built"]
fn the_site_opens_from_a_folder_and_the_explorer_says_there_that_it_needs_a_server() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../site");
    let site = fs::canonicalize(folder).ok();
    let Some(site) = need(site, "the site (`cargo xtask site` builds it)") else {
        return;
    };
    let Some(browser) = chromium::installed() else {
        return;
    };
    let scratch = Scratch::new();
    let mut chromium = Chromium::start(browser, scratch.path());
    for (page, said) in [
        ("index.html", "foldglass"),
        ("book/index.html", "foldglass"),
        ("book/tutorial.html", "foldglass"),
        ("explorer/index.html", "needs a web server"),
    ] {
        chromium.open(&format!("file://{}/{page}", site.display()));
        let told = format!("document.body.innerText.toLowerCase().includes({said:?})");
        chromium.wait_for(&told);
    }
}
