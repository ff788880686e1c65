//! Follows the story that the page opens on, act by act, on a desk and on a phone, and looks at each act with axe.

use super::walk::{STILL, Server, Walk, foldglass};
use crate::full::{axe, chromium};
use crate::support::Scratch;

#[test]
fn the_page_opens_on_the_story_and_every_act_waits_for_the_visitor() {
    let Some(browser) = chromium::installed() else {
        return;
    };
    let Some(script) = axe::script() else {
        return;
    };
    let scratch = Scratch::new();
    let server = Server::start(&[], scratch.path());
    let mut walk = Walk::begin(browser, &server, &scratch);
    for (width, height, scheme) in [(1280, 800, "light"), (390, 844, "dark")] {
        walk.browser.size(width, height);
        walk.browser
            .prefer(&[STILL, ("prefers-color-scheme", scheme)]);
        walk.browser.open("about:blank");
        let address = server.address.clone();
        walk.browser.open(&address);
        story(&mut walk, &script, width);
    }
    let none: [String; 0] = [];
    assert_eq!(walk.browser.complaints, none);
}

#[test]
fn records_and_dialogs_have_nothing_serious_for_axe() {
    let Some(browser) = chromium::installed() else {
        return;
    };
    let Some(script) = axe::script() else {
        return;
    };
    let scratch = Scratch::new();
    let study = "name = \"mine\"\n[[class]]\nid = \"p\"\ntask = \"parity\"\nlengths = 3\n\
                 [[dynamics]]\nkind = \"cavi\"\ntau = [1e-6, 1e-2]\nruns = 3\niterations = 30\nkeep_code = true\n";
    std::fs::write(scratch.path().join("study.toml"), study).unwrap();
    foldglass(&["run", "study.toml", "--quiet"], scratch.path());
    let server = Server::start(&["mine"], scratch.path());
    let mut walk = Walk::begin(browser, &server, &scratch);
    for (width, height, scheme) in [(1280, 800, "light"), (390, 844, "dark")] {
        walk.browser.size(width, height);
        walk.browser
            .prefer(&[STILL, ("prefers-color-scheme", scheme)]);
        walk.browser.open("about:blank");
        let address = server.address.clone();
        walk.browser.open(&address);
        walk.browser
            .wait_for("document.querySelectorAll('#records-plot .point').length === 2");
        walk.browser.click("#records-plot .point");
        walk.browser
            .wait_for("document.querySelectorAll('#runs tbody tr').length === 3");
        walk.act("records", &script, width);
        for dialog in ["class", "help"] {
            walk.browser
                .evaluate(&format!("document.getElementById('{dialog}-open').click()"));
            walk.browser
                .wait_for("document.querySelector('dialog[open]') !== null");
            walk.act(dialog, &script, width);
            walk.browser
                .evaluate("document.querySelector('dialog[open]').close()");
        }
    }
}

impl Walk {
    /// Presses the tour's button once it offers this.
    fn next(&mut self, label: &str) {
        self.wait_for_text("tour-do", label);
        self.browser.click("#tour-do");
    }

    /// Looks at an act: nothing serious for axe, and on a phone nothing too small for a finger.
    fn act(&mut self, name: &str, script: &str, width: u32) {
        self.screenshot(&format!("story-{name}-{width}"));
        axe::check(&mut self.browser, script, &format!("{name} at {width}"));
        if width < 600 {
            let small = self.browser.evaluate(
                "[...document.querySelectorAll('button, select, summary, .grid:not(.small) .c, .spot .hit')].filter((one) => { \
                 const { width, height } = one.getBoundingClientRect(); \
                 return one.checkVisibility() && !one.closest('.desk-dynamics .field') && width > 0 && Math.min(width, height) < 43.9; }) \
                 .slice(0, 4).map((one) => one.outerHTML.slice(0, 90))",
            );
            assert_eq!(small, serde_json::json!([]), "{name} at {width}");
        }
    }
}

/// The four acts. The numbers are those of seed 0.
fn story(walk: &mut Walk, script: &str, width: u32) {
    // Who wants little motion starts the runs; to others they are shown running.
    walk.next("Run both");
    walk.wait_for_text("tour-news", "RLVR has stopped at 1801/3125");
    walk.wait_for_text("tour-news", "Monte Carlo reached J = 1 after 74 sweeps");
    assert!(walk.is("document.body.dataset.view === 'dynamics'"));
    walk.wait_for_text("play", "Play");
    walk.wait_for_text("cavi-words", "stopped");
    walk.act("learners", script, width);
    walk.next("Find out");
    walk.wait_for_text("stage-reward", "1801/3125");
    walk.wait_for_text("tour-words", "single changes none raises J");
    walk.next("Search");
    walk.wait_for_text("tour-news", "not a trap");
    walk.wait_for_text("certify-words", "escapes");
    walk.act("verdict", script, width);
    walk.next("Show the way");
    walk.wait_for_text("tour-do", "Play the");
    let moves = walk.count("#escape-body .move");
    assert_eq!(moves, 28, "the picture of README.md has this number");
    walk.wait_for_text("tour-do", &format!("the {moves} changes"));
    walk.browser.click("#tour-do");
    // Played to its end by the visitor's own hand, which is faster.
    walk.next("Pause");
    walk.browser.click("#escape-body li:last-child .move");
    walk.wait_for_text("tour-news", "later J = 1.");
    assert!(walk.is("document.body.classList.contains('solved')"));
    walk.act("way", script, width);
    // Who wanders off is brought back.
    walk.browser.click("#tab-code");
    walk.next("Back to the tour");
    walk.wait_for_text("tour-do", "Play the");
    walk.browser.click("#tour-acts li:last-child button");
    walk.wait_for_text("tour-news", "single changes lowers it");
    walk.wait_for_text("class-words", "markov:9/10");
    walk.act("trap", script, width);
    let before = walk.text("stage-reward");
    walk.browser.click("#stage .c[data-cell='40']");
    walk.browser.click("#tokens button[aria-pressed='false']");
    walk.wait_for_text("tour-news", "In the trap it was");
    assert_ne!(walk.text("stage-reward"), before);
    walk.next("whole landscape");
    walk.wait_for_text("tour-news", "a trap at J = 9/10");
    assert_eq!(walk.count("#tree-picture .leaf.chosen"), 1);
    walk.wait_for_text("tree-picture", "you are here");
    walk.act("tree", script, width);
    // Another code has another place.
    walk.browser.click(".spot[data-cell='3'] .hit");
    walk.wait_for_text("tree-picture", "this code: J =");
    walk.next("End the tour");
    assert!(walk.is("document.getElementById('tour').hidden"));
}
