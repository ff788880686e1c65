//! Compares the numbers of the page in a browser with those that the command line prints.

use std::time::Duration;

use serde_json::{Value, json};

use super::asked::{assert_same, flags, in_browser, native, of_class};
use crate::full::browser::Browser;
use crate::support::{Scratch, words};

/// What the page shows is what the commands beside it print, and its worker answers with the bits of this program.
pub fn numbers(browser: &mut impl Browser, address: &str, scratch: &Scratch) {
    for class in [
        "--task quasigroup --lengths 5",
        "--task z:3 --lengths 4 --inputs markov:9/10",
    ] {
        let named = class.replace(' ', "+");
        browser.open("about:blank");
        browser.open(&format!("{address}#class={named}&view=code"));
        rewards(browser, class, scratch);
        // A change of a cell, and the numbers of the code that it leads to.
        browser.click("[data-spot].raise, [data-spot].lower");
        browser.click("#tokens button[aria-pressed='false']");
        browser.wait_for("document.getElementById('undo').disabled === false");
        let code = rewards(browser, class, scratch);
        dynamics(browser, class, &code, scratch);
        let mut questions = Vec::new();
        of_class(class, 0, &mut questions);
        let theirs = in_browser(browser, &questions);
        assert_same(&questions, &native(&questions), &theirs);
    }
}

fn text(browser: &mut impl Browser, id: &str) -> String {
    let text = browser.evaluate(&format!("document.getElementById({id:?}).textContent"));
    text.as_str().unwrap_or("").to_owned()
}

/// The code on the page, whose reward is what `eval` prints.
fn rewards(browser: &mut impl Browser, class: &str, scratch: &Scratch) -> Vec<u8> {
    browser.wait_for("!document.querySelector('#reward-panel.waiting') && document.getElementById('status').textContent");
    // The address is written a little later than the page.
    std::thread::sleep(Duration::from_millis(600));
    let code = browser.evaluate("new URLSearchParams(location.hash.slice(1)).get('code')");
    let code = code.as_str().unwrap().bytes().map(|byte| byte - b'0');
    let code: Vec<u8> = code.collect();
    let asked = [("look", json!({ "class": flags(class), "code": code }))];
    let answer: Value = serde_json::from_str(&native(&asked)[0].1).unwrap();
    scratch.file("code.json", answer["code_file"]["text"].as_str().unwrap());
    let printed = printed(scratch, &["eval", "--code", "code.json"]);
    assert_eq!(printed["reward_exact"], text(browser, "reward"), "{code:?}");
    code
}

fn printed(scratch: &Scratch, words: &[&str]) -> Value {
    let run = scratch.run(&[words, &["--json"]].concat());
    serde_json::from_str(&run.text).unwrap_or_else(|_| panic!("{words:?}: {run:?}"))
}

/// Runs of both dynamics from this code come to the rewards that the commands on the page print.
fn dynamics(browser: &mut impl Browser, class: &str, code: &[u8], scratch: &Scratch) {
    let new = json!({ "class": flags(class), "code": code, "kind": "cavi", "tau": 0.01 });
    let answer: Value = serde_json::from_str(&native(&[("run/new", new)])[0].1).unwrap();
    scratch.file(
        "policy.json",
        answer["start_file"]["text"].as_str().unwrap(),
    );
    browser.click("#tab-dynamics");
    for sweep in 0..=3 {
        if sweep > 0 {
            browser.click("#step");
        }
        for kind in ["chain", "cavi"] {
            let words = format!("document.getElementById('{kind}-words').textContent");
            browser.wait_for(&format!("{words}.startsWith('sweep {sweep}:')"));
        }
    }
    let lines = browser.evaluate(
        "[...document.querySelectorAll('#commands code')].map((line) => line.textContent)",
    );
    let lines: Vec<String> = serde_json::from_value(lines).unwrap();
    let [chain, cavi] = [0, 1].map(|place| printed(scratch, &words(&lines[place])[1..]));
    let shown = "[...document.querySelectorAll('#chain-words b, #cavi-words b')].map((one) => one.textContent)";
    let shown: Vec<String> = serde_json::from_value(browser.evaluate(shown)).unwrap();
    let (chain, cavi) = (&chain["chains"][0], &cavi["runs"][0]);
    assert_eq!(chain["reward_exact"], shown[0], "{lines:?}");
    // The page writes a few digits; the bits are compared below.
    let expected = cavi["expected_reward"].as_f64().unwrap();
    let seen: f64 = shown[1].parse().unwrap();
    assert!(
        (seen - expected).abs() < 1e-3,
        "{seen} and {expected}: {lines:?}"
    );
    assert_eq!(cavi["greedy_exact"], shown[2], "{lines:?}");
}
