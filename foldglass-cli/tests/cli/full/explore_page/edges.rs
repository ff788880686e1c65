//! Goes where a page easily says what is not so any more: another code beside a verdict, Back, wrong entries, markers
//! on each other, a server that is gone.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::walk::{Server, Walk, foldglass};
use crate::full::chromium;
use crate::support::Scratch;

/// Two classes whose chains end at reward 1 at both temperatures: their markers lie on each other.
const STUDY: &str = "name = \"both\"\nseed = 3\n\
                     [[class]]\nid = \"one\"\ntask = \"parity\"\nlengths = 3\n\
                     [[class]]\nid = \"other\"\ntask = \"parity\"\nlengths = 4\n\
                     [[dynamics]]\nkind = \"chain\"\nkernel = \"heat-bath\"\ntau = [1e-6, 1e-4]\nruns = 3\n\
                     sweeps = 500\nkeep_code = true\n";

#[test]
fn what_the_page_says_stays_true_when_things_change() {
    let Some(browser) = chromium::installed() else {
        return;
    };
    let scratch = Scratch::new();
    fs::write(scratch.path().join("study.toml"), STUDY).unwrap();
    fs::create_dir_all(scratch.path().join("again")).unwrap();
    let manifest =
        r#"{"format":"foldglass-reproduce/1","version":"0.1.0","scale":"smoke","seed":0}"#;
    fs::write(scratch.path().join("again/reproduce.json"), manifest).unwrap();
    for name in ["first", "second"] {
        let out = format!("again/{name}");
        foldglass(
            &["run", "study.toml", "--out", &out, "--quiet"],
            scratch.path(),
        );
    }
    let server = Server::start(&["again"], scratch.path());
    let mut walk = Walk::begin(browser, &server, &scratch);
    walk.browser.size(1280, 800);
    reproduction(&mut walk);
    verdicts(&mut walk);
    paths(&mut walk);
    history(&mut walk);
    entries(&mut walk);
    tree(&mut walk);
    classes(&mut walk);
    messages(&mut walk);
    phone(&mut walk);
    assert_eq!(walk.browser.complaints.len(), walk.refused);
    drop(server);
    gone(&mut walk);
}

impl Walk {
    fn back(&mut self) {
        self.browser.evaluate("history.back()");
    }

    fn wait_for_view(&mut self, view: &str) {
        self.browser
            .wait_for(&format!("document.body.dataset.view === {view:?}"));
    }
}

/// The records of a reproduction are opened at once; its studies are there to choose from.
fn reproduction(walk: &mut Walk) {
    let address = walk.address.clone();
    walk.browser.open(&address);
    walk.wait_for_view("records");
    walk.browser
        .wait_for("document.querySelectorAll('#records-plot .point').length === 4");
    assert!(
        walk.is("document.getElementById('tour').hidden"),
        "who opens records is not led away from them"
    );
    assert!(walk.text("commands").contains("again/first"));
    walk.browser.evaluate("(() => { const one = document.getElementById('study'); one.value = 'second'; one.dispatchEvent(new Event('change')); })()");
    walk.wait_for_text("commands", "again/second");
    walk.browser
        .wait_for("document.querySelectorAll('#records-plot .point').length === 4");
    // One marker is seen; both curves can be opened.
    walk.browser.click("#records-plot .point:last-of-type");
    walk.wait_for_text("runs-title", "other");
    assert_eq!(walk.count("#runs-choice button"), 2);
    walk.browser.click("#runs-choice button");
    walk.wait_for_text("runs-title", "one");
    walk.browser
        .wait_for("document.querySelectorAll('#runs tbody tr').length === 3");
    walk.screenshot("reproduction");
}

/// A verdict, and "nothing to do", are of one code: beside another one they are not left standing.
fn verdicts(walk: &mut Walk) {
    walk.class("--task parity --lengths 4 --inputs markov:9/10", "ways");
    walk.browser.click("#start-trap");
    walk.wait_for_text("stage-reward", "9/10");
    walk.browser.click("#certify-barrier");
    walk.browser.click("#certify-find");
    walk.wait_for_text("certify-words", "certified");
    assert!(!walk.text("certify-words").contains("all 1 codes"));
    assert!(!walk.text("certify-body").contains("1 moves"));
    // On the way out it is said whose verdict it is.
    walk.browser.evaluate("document.activeElement.blur()");
    walk.browser.key("n");
    walk.wait_for_text("certify-body", "Move 1 of");
    assert!(walk.text("certify-words").contains("certified"));
    assert!(walk.is("!document.getElementById('certify-of').hidden"));
    walk.browser.key("p");
    walk.browser
        .wait_for("document.getElementById('certify-of').hidden");
    walk.browser.click(".spot[data-cell='0']");
    walk.wait_for_text("certify-words", "its verdict is not known");
    assert!(!walk.text("certify-words").contains("certified"));
    assert!(walk.is("document.querySelector('#certify-body .player').hidden"));
    walk.class("--task parity --lengths 5", "ways");
    walk.browser.click("#start-ground");
    walk.wait_for_text("ways-now", "global maximum");
    walk.browser.click("#escape-find");
    walk.wait_for_text("escape-words", "nothing to do");
    walk.browser.click(".spot[data-cell='0']");
    walk.wait_for_text("escape-words", "another one now");
}

/// A path does not overrule a hand, and does not play on in another view.
fn paths(walk: &mut Walk) {
    walk.browser.click("#start-random");
    walk.settle();
    walk.browser.click("#escape-find");
    walk.wait_for_text("escape-words", "by the theorem");
    walk.browser.evaluate("document.activeElement.blur()");
    walk.browser.key("n");
    walk.wait_for_text("escape-body", "Move 1 of");
    // Undone and redone, the code is on the path still.
    walk.browser.key("u");
    walk.wait_for_text("escape-body", "none is made yet");
    walk.browser.key("r");
    walk.wait_for_text("escape-body", "Move 1 of");
    walk.settle();
    // A cell that neither this move nor the next one changes.
    let cell = walk.browser.evaluate(
        "(async () => { const { store, cellName } = await import(new URL('app/store.js', document.baseURI)); \
         const next = document.querySelectorAll('#escape-body .move')[1]?.textContent ?? ''; \
         return [...store.code.keys()].find((cell) => cell !== store.selected && !next.includes(`${cellName(store.info, cell)}:`)); })()",
    );
    walk.browser.click(&format!(".spot[data-cell='{cell}']"));
    walk.settle();
    let edited = walk.code();
    walk.browser.evaluate("document.activeElement.blur()");
    walk.browser.key("n");
    walk.browser.key(" ");
    walk.settle();
    assert_eq!(walk.code(), edited, "the change by hand stays");
    walk.browser.click("#escape-find");
    walk.wait_for_text("escape-words", "by the theorem");
    walk.browser.evaluate("document.activeElement.blur()");
    walk.browser.key(" ");
    walk.wait_for_text("escape-body", "Pause");
    walk.browser.click("#tab-code");
    walk.settle();
    let left = walk.code();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(walk.code(), left, "it plays on in another view");
    walk.browser.click("#tab-ways");
    walk.wait_for_text("escape-body", "Play");
}

/// Back leads to the view, the class and the run before; a changed cell is not a page of its own.
fn history(walk: &mut Walk) {
    walk.class("--task parity --lengths 5", "code");
    let entries = |walk: &mut Walk| walk.browser.evaluate("history.length").as_u64().unwrap();
    let before = entries(walk);
    for cell in [3, 5, 7] {
        walk.browser.click(&format!(".spot[data-cell='{cell}']"));
        walk.settle();
    }
    assert_eq!(entries(walk), before);
    walk.browser.click("#tab-dynamics");
    walk.wait_for_view("dynamics");
    std::thread::sleep(Duration::from_millis(500));
    walk.browser.click("#tab-ways");
    walk.wait_for_view("ways");
    std::thread::sleep(Duration::from_millis(500));
    walk.back();
    walk.wait_for_view("dynamics");
    walk.back();
    walk.wait_for_view("code");
    // A cell is changed, and at once another class is chosen: the entry left behind has the change.
    walk.settle();
    let before = walk.code();
    walk.browser.click(".spot[data-cell='9']");
    walk.browser.evaluate("document.activeElement.blur()");
    walk.browser.key("c");
    walk.browser.write("#class-lengths", "3");
    walk.browser.key("Enter");
    walk.wait_for_text("class-words", "T = 3");
    walk.settle();
    walk.back();
    walk.wait_for_text("class-words", "T = 5");
    walk.settle();
    let mut changed = before;
    changed[9] = 1 - changed[9];
    assert_eq!(walk.code(), changed);
    walk.browser.evaluate("history.forward()");
    walk.wait_for_text("class-words", "T = 3");
    // A run that is opened from records.
    walk.browser.click("#tab-records");
    walk.browser.click("#runs button.link");
    walk.wait_for_view("code");
    walk.settle();
    walk.back();
    walk.wait_for_view("records");
}

/// What cannot be read is refused where it was written, and nothing runs on as if nothing was wrong.
fn entries(walk: &mut Walk) {
    walk.class("--task parity --lengths 5", "dynamics");
    walk.wait_for_text("chain-words", "sweep 0");
    walk.wait_for_text("cavi-words", "sweep 0");
    for wrong in ["abc", "", "-1", "1e999"] {
        walk.browser.write("#tau", wrong);
        if wrong.is_empty() {
            walk.browser.evaluate("(() => { const one = document.getElementById('tau'); one.value = ''; one.dispatchEvent(new Event('input')); })()");
        }
        walk.wait_for_text("tau-error", "is not a temperature");
        assert!(walk.is("document.getElementById('play').disabled"));
        walk.browser.evaluate("document.activeElement.blur()");
        walk.browser.key(".");
        walk.browser.key(" ");
        std::thread::sleep(Duration::from_millis(300));
        assert!(walk.text("chain-words").contains("sweep 0"), "τ = {wrong}");
    }
    walk.browser.write("#tau", "0.02");
    walk.browser
        .wait_for("document.getElementById('tau-error').textContent === ''");
    walk.browser.evaluate("document.activeElement.blur()");
    walk.browser.key(".");
    walk.wait_for_text("chain-words", "sweep 1:");
    let commands = walk.text("commands");
    for name in ["chain-trace.jsonl", "cavi-trace.jsonl"] {
        assert!(commands.contains(name), "{commands}");
    }
    walk.browser.click("#tab-code");
    for (wrong, said) in [("abc", "\"abc\" is not a symbol"), ("0 1 2 0 1", "\"2\"")] {
        walk.browser.write("#input", wrong);
        walk.browser.key("Enter");
        walk.wait_for_text("input-error", said);
        assert!(walk.text("input-error").contains("0 to 1"));
    }
}

/// A tree comes into sight; one that takes long tells how far it is, and can be cancelled.
fn tree(walk: &mut Walk) {
    walk.class("--task parity --lengths 4 --inputs markov:9/10", "ways");
    walk.browser.click("#tree-find");
    walk.browser
        .wait_for("document.querySelectorAll('#tree-picture .leaf').length > 1");
    let seen = "(() => { const { top, bottom } = document.getElementById('tree-picture').getBoundingClientRect(); return Math.min(bottom, innerHeight) - Math.max(top, 0); })()";
    let seen = walk.browser.evaluate(seen).as_f64().unwrap();
    assert!(seen > 400.0, "{seen} px of the tree are in sight");
    walk.class("--task parity --lengths 6 --inputs markov:9/10", "ways");
    walk.browser.click("#tree-find");
    walk.browser
        .wait_for("!document.getElementById('tree-progress').hidden");
    walk.wait_for_text("tree-share", "%");
    walk.screenshot("tree-progress");
    walk.browser.click("#tree-cancel");
    walk.browser.wait_for(
        "document.getElementById('tree-progress').hidden && document.getElementById('tree-cancel').hidden && !document.getElementById('tree-find').disabled",
    );
    assert!(walk.is(
        "document.getElementById('tree-figure').hidden && document.getElementById('notice').hidden"
    ));
}

/// Classes that are offered for their traps open with one, and no two buttons have one name.
fn classes(walk: &mut Walk) {
    let traps = "[...document.querySelectorAll('.preset')].filter((one) => one.textContent.includes('traps'))";
    assert_eq!(walk.browser.evaluate(&format!("{traps}.length")), 2);
    for number in 0..2 {
        walk.browser.evaluate(&format!(
            "document.getElementById('class-open').click(), {traps}[{number}].click()"
        ));
        walk.browser
            .wait_for("!document.getElementById('class-dialog').open");
        walk.settle();
        assert!(
            ["trap", "on a shelf"].contains(&&walk.text("status")[..]),
            "{}",
            walk.text("status")
        );
    }
    walk.class("--task quasigroup --lengths 7 --window 0,3 --tied", "code");
    walk.browser
        .wait_for("document.querySelectorAll('.choices button').length > 2");
    let names =
        "[...document.querySelectorAll('#stage .choices button')].map((one) => one.textContent)";
    let names = walk.browser.evaluate(names);
    let mut names: Vec<&str> = names
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "{names:?}");
}

/// A message can be dismissed, and is over when the next thing succeeds.
fn messages(walk: &mut Walk) {
    walk.class("--task parity --lengths 5", "code");
    let refuse = |walk: &mut Walk| {
        walk.browser.click("#start-trap");
        walk.wait_for_text("notice", "no traps");
        walk.browser
            .wait_for("!document.getElementById('notice').hidden");
        walk.refused += 1;
    };
    refuse(walk);
    walk.browser.click("#notice .close");
    walk.browser
        .wait_for("document.getElementById('notice').hidden");
    refuse(walk);
    // At once: by itself it would go after a quarter of a minute.
    let before = walk.browser.evaluate("location.hash");
    walk.browser.click("#start-random");
    walk.browser
        .wait_for(&format!("location.hash !== {before}"));
    walk.settle();
    assert!(walk.is("document.getElementById('notice').hidden"));
}

/// On a phone a plot of records is whole, with the names of its curves below it.
fn phone(walk: &mut Walk) {
    walk.browser.click("#tab-records");
    walk.browser.size(390, 844);
    walk.browser
        .wait_for("document.querySelectorAll('#records-legend li').length === 2");
    let whole = "(() => { const plot = document.getElementById('records-plot'); return [plot.scrollWidth <= plot.clientWidth, [...document.querySelectorAll('#records-legend li')].every((one) => one.offsetParent && one.getBoundingClientRect().right <= innerWidth)]; })()";
    assert_eq!(walk.browser.evaluate(whole), json!([true, true]));
    // The room of the names that stood beside it is its own.
    let last = "(() => { const { left, width } = document.getElementById('records-plot').getBoundingClientRect(); return Math.max(...[...document.querySelectorAll('#records-plot .point')].map((one) => (one.getBoundingClientRect().right - left) / width)); })()";
    walk.browser.wait_for(&format!("{last} > 0.85"));
    walk.screenshot("records-phone");
    walk.browser.size(1280, 800);
}

/// That the server is gone is said for as long as it is.
fn gone(walk: &mut Walk) {
    walk.browser.click("#tab-code");
    assert!(walk.is("document.getElementById('gone').hidden"));
    walk.browser.click(".spot[data-cell='1']");
    walk.browser
        .wait_for("!document.getElementById('gone').hidden");
    // Other messages go after a quarter of a minute.
    std::thread::sleep(Duration::from_secs(16));
    assert!(walk.is("!document.getElementById('gone').hidden"));
    walk.screenshot("gone");
    walk.browser.click("#gone-copy");
    walk.browser
        .wait_for("!document.getElementById('notice').hidden");
}
