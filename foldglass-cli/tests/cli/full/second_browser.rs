//! Compares the static explorer in Firefox with the command line. The page must have been built.

use super::firefox::{self, Firefox};
use super::static_page::{Host, built, numbers};
use crate::support::Scratch;

#[test]
#[ignore = "`cargo xtask test --all` runs it once the static explorer is built"]
fn the_page_computes_in_firefox_what_the_command_line_prints() {
    let Some(folder) = built() else { return };
    let Some(browser) = firefox::installed() else {
        return;
    };
    let (host, scratch) = (Host::start(&folder), Scratch::new());
    let mut firefox = Firefox::start(browser, scratch.path());
    numbers(&mut firefox, &host.address, &scratch);
}
