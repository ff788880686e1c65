//! Walks through every feature of `foldglass explore` in a real browser, with mouse and keys.
//!
//! What the page says of a code is compared with a slow evaluation of its own. With
//! `FOLDGLASS_SCREENSHOTS=DIR` a picture of every view at every width is written there.

mod edges;
mod play;
mod slow;
mod story;
pub(super) mod walk;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::chromium;
use crate::support::Scratch;
use serde_json::{Value, json};
use walk::{Ending, STILL, Server, Walk, foldglass};

#[test]
fn every_feature_of_the_page_works_in_a_real_browser() {
    let Some(browser) = chromium::installed() else {
        return;
    };
    let scratch = Scratch::new();
    let study = "name = \"mine\"\nseed = 3\n[[class]]\nid = \"p\"\ntask = \"parity\"\nlengths = 4\n\
                 [[dynamics]]\nkind = \"cavi\"\ntau = [1e-6, 1e-3, 1e-2]\nruns = 4\niterations = 30\nkeep_code = true\n";
    fs::write(scratch.path().join("study.toml"), study).unwrap();
    foldglass(&["run", "study.toml", "--quiet"], scratch.path());
    let server = Server::start(&["mine"], scratch.path());
    let mut walk = Walk::begin(browser, &server, &scratch);
    computed(&mut walk);
    few_points(&mut walk);
    ticks(&mut walk);
    records(&mut walk);
    address(&mut walk);
    large(&mut walk);
    latency(&mut walk, "--task z:5 --lengths 8", 50.0);
    latency(
        &mut walk,
        "--task quasigroup --lengths 7 --window 0,3",
        50.0,
    );
    names(&mut walk);
    looks(&mut walk);
    fleet(&mut walk, scratch.path());
    quiet(&walk);
}

/// What a page with a server and one without can do alike.
pub(super) fn computed(walk: &mut Walk) {
    named(walk);
    code(walk);
    chooser(walk);
    ways_out(walk);
    dynamics(walk);
}

/// Who names a class has come for it: the tour waits for its button, and an input is worked at once.
fn named(walk: &mut Walk) {
    let address = format!("{}#class=--task+parity+--lengths+5&view=code", walk.address);
    walk.browser.open(&address);
    walk.wait_for_text("rollout", "answers");
    assert!(walk.is("document.getElementById('tour').hidden"));
    assert_eq!(walk.count(".spot.path"), 5);
    walk.wait_for_text("task", "0 · 1 · 1 · 0 · 0 = 0");
    for (part, said) in [("reading", "token 1, token 0"), ("reading", "said before")] {
        walk.wait_for_text(part, said);
    }
    // The frame of the drawing is the same with an input and without.
    let frame = "document.querySelector('#stage .cells').getAttribute('viewBox')";
    let before = walk.browser.evaluate(frame);
    walk.browser.click("#input-none");
    walk.browser
        .wait_for("document.querySelectorAll('.spot.path').length === 0");
    walk.browser
        .wait_for("!document.querySelector('#stage .picture [stroke-width=\"2.6\"]')");
    assert_eq!(walk.browser.evaluate(frame), before);
}

/// The code: changes, undo and redo, keys, an input's rollout, wrong answers, drawing and grid.
fn code(walk: &mut Walk) {
    walk.browser
        .wait_for("document.querySelectorAll('.spot').length === 18");
    walk.compare();
    let before = walk.code();
    walk.browser.click(".spot[data-cell='9']");
    walk.compare();
    let changed = walk.code();
    assert_eq!(
        changed.iter().zip(&before).filter(|(a, b)| a != b).count(),
        1
    );
    assert_ne!(changed[9], before[9]);
    walk.browser.evaluate("document.activeElement.blur()");
    walk.browser.key(&before[9].to_string());
    walk.compare();
    assert_eq!(walk.code(), before, "a digit is for the chosen cell");
    walk.browser.key("u");
    walk.compare();
    walk.browser.key("e");
    walk.browser.key("ArrowRight");
    let here = "Number(document.activeElement.dataset.cell)";
    let right = walk.browser.evaluate(here).as_u64().unwrap() as usize;
    assert_eq!(right, 13, "the cell of the next step");
    let other = 1 - changed[right];
    walk.browser.key(&other.to_string());
    walk.compare();
    assert_eq!(walk.code()[right], other);
    walk.browser.key("u");
    walk.compare();
    assert_eq!(walk.code(), changed);
    walk.browser.chord("z", 2);
    walk.compare();
    assert_eq!(walk.code(), before);
    walk.browser.key("r");
    walk.browser.chord("Z", 2 | 8);
    walk.compare();
    assert_eq!(walk.code()[right], other);
    rollouts(walk);
    walk.browser.evaluate("(() => { const one = document.getElementById('shade'); one.value = 'visits'; one.dispatchEvent(new Event('change')); })()");
    walk.browser
        .wait_for("document.querySelectorAll('#stage .spot.shaded').length === 18");
    walk.browser.evaluate("(() => { const one = document.getElementById('shade'); one.value = ''; one.dispatchEvent(new Event('change')); })()");
    walk.browser.key("d");
    walk.browser
        .wait_for("document.querySelectorAll('.c').length === 18");
    walk.compare();
    walk.screenshot("code-grid");
    walk.browser.key("d");
    walk.browser.write("#input", "1 0 0 1 1");
    walk.browser.key("Enter");
    walk.browser
        .wait_for("document.querySelector('#rollout .verdict')");
    walk.take_all(&["code.svg", "code.json", "rollout.json", "wrong.json"]);
    walk.browser.click("#start-ground");
    walk.wait_for_text("status", "global maximum");
    walk.compare();
    assert_eq!(walk.text("reward"), "1");
    walk.browser.click("#start-trap");
    walk.wait_for_text("notice", "no traps");
    walk.refused += 1;
    let before = walk.browser.evaluate("location.hash");
    walk.browser.click("#start-random");
    walk.browser
        .wait_for(&format!("location.hash !== {before}"));
    walk.compare();
}

fn rollouts(walk: &mut Walk) {
    let code = walk.code();
    walk.browser.key("i");
    walk.browser.write("#input", "01011");
    walk.browser.key("Enter");
    walk.browser
        .wait_for("document.querySelectorAll('#rollout tbody tr').length === 5");
    let steps: Vec<usize> = slow::cells(&code, 0b11010);
    for cell in &steps {
        walk.browser.wait_for(&format!(
            "document.querySelector('.spot.path[data-cell=\"{cell}\"]')"
        ));
    }
    assert_eq!(walk.count(".spot.path"), 5);
    let said = if slow::is_right(&code, 0b11010) {
        "right"
    } else {
        "right would be"
    };
    walk.wait_for_text("rollout", said);
    walk.screenshot("code-input");
    walk.browser.click("#wrong button.input");
    walk.wait_for_text("rollout", "right would be");
    walk.browser.write("#input", "0101");
    walk.browser.key("Enter");
    walk.browser
        .wait_for("document.getElementById('input-error').textContent.length > 10");
    walk.refused += 1;
    walk.browser.click("#input-none");
    walk.browser
        .wait_for("document.querySelectorAll('.spot.path').length === 0");
    walk.browser.evaluate("document.activeElement.blur()");
}

/// A class chosen by hand; what is wrong is said in the server's words.
fn chooser(walk: &mut Walk) {
    walk.browser.key("c");
    walk.browser
        .wait_for("document.getElementById('class-dialog').open");
    walk.browser.write("#class-lengths", "4");
    walk.browser.write("#class-inputs", "markov:11/10");
    walk.browser.key("Enter");
    walk.wait_for_text("class-error", "11/10");
    walk.refused += 1;
    walk.screenshot("class");
    walk.browser.write("#class-inputs", "markov:9/10");
    walk.browser
        .evaluate("document.getElementById('class-how').value = 'trap'");
    walk.browser.click("#class-form button[type=submit]");
    walk.wait_for_text("class-words", "markov:9/10");
    walk.settle();
    assert_eq!(walk.text("reward"), "9/10");
}

/// A trap certified with its barrier, the tree, the escape of a code that is none.
fn ways_out(walk: &mut Walk) {
    walk.browser.key("]");
    walk.browser.key("]");
    walk.browser
        .wait_for("document.body.dataset.view === 'ways'");
    walk.browser.click("#certify-barrier");
    walk.browser.click("#certify-find");
    walk.wait_for_text("certify-words", "certified");
    walk.wait_for_text("certify-words", "1/25");
    assert!(
        walk.text("commands").contains("foldglass certify"),
        "{}",
        walk.text("commands")
    );
    walk.browser.click("#tree-find");
    walk.browser
        .wait_for("document.querySelectorAll('#tree-picture .leaf').length > 1");
    walk.take_all(&["certify.json", "tree.svg", "tree.json"]);
    walk.browser
        .evaluate("document.querySelector('.leaf').focus()");
    walk.browser.key("ArrowRight");
    walk.browser.key("Enter");
    walk.wait_for_text("notice", "Leaf");
    walk.browser.click(".leaf");
    walk.wait_for_text("stage-reward", "J = 1");
    walk.screenshot("ways-tree");
    for scheme in ["light", "dark"] {
        walk.browser
            .prefer(&[STILL, ("prefers-color-scheme", scheme)]);
        walk.legible("#tree-picture", "text");
        walk.screenshot(&format!("ways-tree-{scheme}"));
    }
    walk.browser
        .prefer(&[STILL, ("prefers-color-scheme", "light")]);
    walk.class("--task parity --lengths 5", "ways");
    walk.browser.click("#escape-find");
    walk.browser
        .wait_for("document.querySelectorAll('#escape-body .move').length > 0");
    walk.browser.evaluate("document.activeElement.blur()");
    walk.browser.key("n");
    walk.wait_for_text("escape-body", "Move 1 of");
    walk.browser.key("n");
    walk.browser.key("p");
    walk.wait_for_text("escape-body", "Move 1 of");
    walk.screenshot("ways-escape");
    walk.browser.key(" ");
    let last = "[...document.querySelectorAll('#escape-body .move')].every((one) => one.parentElement.classList.contains('done'))";
    walk.browser.wait_for(last);
    walk.wait_for_text("stage-reward", "J = 1");
    walk.take_all(&["escape.json"]);
    walk.browser.key("u");
    walk.wait_for_text("ways-now", "not a maximum");
}

/// A chain and CAVI side by side.
fn dynamics(walk: &mut Walk) {
    walk.browser.click("#tab-dynamics");
    walk.wait_for_text("chain-words", "sweep 0");
    walk.wait_for_text("cavi-words", "sweep 0");
    walk.browser.key(".");
    walk.wait_for_text("chain-words", "sweep 1:");
    walk.wait_for_text("cavi-words", "sweep 1:");
    walk.browser.write("#tau", "0.05");
    let slider = walk
        .browser
        .evaluate("Number(document.getElementById('tau-slider').value)");
    assert!(
        (slider.as_f64().unwrap() - 0.05_f64.log10()).abs() < 0.06,
        "{slider}"
    );
    walk.browser.evaluate("document.activeElement.blur()");
    walk.browser.key(" ");
    walk.browser.wait_for(
        "Number(document.getElementById('chain-words').textContent.match(/[0-9]+/)[0]) > 20",
    );
    walk.browser.evaluate("(() => { const one = document.getElementById('tau-slider'); one.value = -1; one.dispatchEvent(new Event('input')); })()");
    assert_eq!(
        walk.browser
            .evaluate("document.getElementById('tau').value"),
        "0.1"
    );
    walk.wait_for_text("dynamics-note", "tau was changed");
    walk.browser.key(" ");
    walk.wait_for_text("play", "Play");
    assert_eq!(walk.count("#dynamics-plot .curve"), 2);
    assert!(
        walk.count("#cavi-field .shaded") == 18,
        "the policy as shades"
    );
    assert_eq!(walk.count("#commands code"), 2);
    assert_eq!(walk.count("#command-files button"), 2);
    walk.screenshot("dynamics");
    walk.take_all(&[
        "reward-against-sweeps.svg",
        "reward-against-sweeps.json",
        "chain.svg",
        "chain.json",
        "cavi.svg",
        "cavi.json",
    ]);
    walk.browser.click("#reset");
    walk.wait_for_text("chain-words", "sweep 0");
    walk.browser.click("#resets");
    walk.wait_for_text("commands", "--resets 0.02,10,100");
    walk.browser.evaluate("(() => { const one = document.getElementById('kernel'); one.value = 'heat-bath'; one.dispatchEvent(new Event('change')); })()");
    walk.wait_for_text("commands", "--kernel heat-bath");
    small_for_ever(walk);
}

/// an hour of playing leaves no nodes behind.
fn small_for_ever(walk: &mut Walk) {
    let count = "document.getElementsByTagName('*').length";
    walk.browser.evaluate("document.activeElement.blur()");
    walk.browser
        .evaluate("document.getElementById('sweeps').value = '500'");
    let before = walk.browser.evaluate(count).as_u64().unwrap();
    walk.browser.key(" ");
    walk.browser.wait_for("Number(document.getElementById('chain-words').textContent.replace(',', '').match(/[0-9]+/)[0]) > 4000");
    walk.browser.key(" ");
    let after = walk.browser.evaluate(count).as_u64().unwrap();
    assert!(after < before + 60, "{before} nodes became {after}");
}

/// The ticks of the page's plots are those of all figures.
fn ticks(walk: &mut Walk) {
    let ranges = [
        (0.0, 1.0),
        (0.1, 0.3),
        (0.78, 1.01),
        (-0.5, 0.5),
        (0.0, 137.0),
        (0.4, 0.41),
        (3.0, 99_999.0),
    ];
    for (low, high) in ranges {
        for steps in [3.0, 5.0, 6.0, 8.0] {
            let (places, decimals) = foldglass_report::figure::ticks([low, high], steps);
            let ours = places
                .iter()
                .map(|place| format!("{:.decimals$}", place + 0.0));
            let ours: Vec<String> = ours.collect();
            let theirs = walk.browser.evaluate(&format!(
                "(async () => {{ const {{ ticks }} = await import(new URL('app/plot.js', document.baseURI)); \
                 const {{ places, written }} = ticks({low}, {high}, {steps}); return places.map(written); }})()"
            ));
            assert_eq!(theirs, json!(ours), "{low} to {high}, {steps} steps");
        }
    }
}

/// A plot keeps as many points as a screen has. A page without a server has its scripts in one file, without this name.
fn few_points(walk: &mut Walk) {
    let points = walk.browser.evaluate(
        "(async () => { const { Plot } = await import(new URL('app/plot.js', document.baseURI)); \
         const plot = new Plot(document.createElement('div'), { x: '', y: '', label: '', unit: true }); \
         plot.setLines(['a']); \
         for (let n = 0; n < 33000; n += 1) { plot.extend(0, [[5 * n, 0], [5 * n + 1, 1], [5 * n + 2, 0.5]]); } \
         const { points } = plot.lines[0]; return [points.length, points[0][0], points[points.length - 1][0]]; })()",
    );
    assert!(points[0].as_u64().unwrap() <= 1600, "{points}");
    assert_eq!(points[1], 0);
    assert_eq!(points[2], 5 * 32999 + 2, "{points}");
}

/// A study: a point opens its runs, a run its code.
pub(super) fn records(walk: &mut Walk) {
    walk.browser.click("#tab-records");
    walk.browser
        .wait_for("document.querySelectorAll('#records-plot .point').length === 3");
    assert!(
        walk.text("commands").contains("foldglass plot"),
        "{}",
        walk.text("commands")
    );
    walk.browser
        .evaluate("document.querySelector('.point').focus()");
    walk.browser.key("Enter");
    walk.browser
        .wait_for("document.querySelectorAll('#runs tbody tr').length === 4");
    walk.screenshot("records");
    walk.take_all(&["records.svg", "records.json", "runs.json"]);
    walk.browser.click("#runs button");
    walk.browser
        .wait_for("document.body.dataset.view === 'code'");
    walk.wait_for_text("class-words", "T = 4");
    walk.settle();
}

/// A fleet in training: its curves grow while one looks.
fn fleet(walk: &mut Walk, directory: &Path) {
    let flags = "train --task parity --backend cpu --width 16 --heads 2 --mlp 16 --vocabulary 3 --cap 2 \
                 --gate-samples 32 --test-inputs 50 --batch 32 --steps 100000000 --record-every 50 --runs 7 \
                 --checkpoint-every 1 --out fleet --quiet --threads 1";
    let _training = Ending::start(flags, directory);
    let start = Instant::now();
    let begun = ["fleet/train.json", "fleet/curves.jsonl"].map(|name| directory.join(name));
    while !begun.iter().all(|file| file.exists()) {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "nothing is trained"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let server = Server::start(&["fleet"], directory);
    let before = std::mem::replace(&mut walk.address, server.address.clone());
    walk.visited.push(before);
    walk.browser.open(&server.address);
    walk.browser
        .wait_for("document.body.dataset.view === 'records'");
    walk.wait_for_text("fleet-state", "in training");
    assert!(
        walk.is("document.getElementById('tour').hidden"),
        "who opens records is not led away from them"
    );
    assert_eq!(walk.text("commands"), "cat fleet/curves.jsonl");
    assert_eq!(walk.count("#records-plot .curve"), 7);
    let first = walk.text("records-words");
    let other = format!("document.getElementById('records-words').textContent !== {first:?}");
    walk.browser.wait_for(&other);
    walk.screenshot("fleet");
    for scheme in ["light", "dark"] {
        walk.browser
            .prefer(&[STILL, ("prefers-color-scheme", scheme)]);
        walk.legible("#records-plot", "text");
        walk.screenshot(&format!("fleet-{scheme}"));
    }
    walk.take_all(&["records.svg", "records.json"]);
}

/// The address brings class, code and view back.
fn address(walk: &mut Walk) {
    walk.class("--task parity --lengths 5", "code");
    walk.browser.click(".spot[data-cell='4']");
    walk.compare();
    let code = walk.code();
    walk.browser.click("#tab-ways");
    std::thread::sleep(Duration::from_millis(500));
    let address = walk.browser.evaluate("location.href");
    walk.browser.click("#share");
    walk.browser
        .wait_for("!document.getElementById('notice').hidden");
    walk.browser.open("about:blank");
    walk.browser.open(address.as_str().unwrap());
    walk.browser
        .wait_for("document.body.dataset.view === 'ways'");
    walk.settle();
    assert_eq!(walk.code(), code);
    assert!(
        walk.is("document.getElementById('tour').hidden"),
        "an address that names a class opens without the tour"
    );
    walk.browser.click("#tab-code");
    walk.compare();
}

/// A class too large to draw is a grid, a step at a time, below a map of all cells; tied classes and several lengths are drawn.
fn large(walk: &mut Walk) {
    walk.class("--task quasigroup --lengths 7 --window 0,3", "code");
    walk.browser
        .wait_for("document.querySelectorAll('.c').length === 3125");
    walk.browser.click(".grid-bar button:last-of-type");
    walk.browser
        .wait_for("document.querySelectorAll('.c').length < 3125");
    walk.screenshot("large");
    let map = "document.querySelector('#stage .overview canvas').getAttribute('aria-label')";
    let map = walk.browser.evaluate(map);
    assert!(map.as_str().unwrap().contains("10,775 cells"), "{map}");
    walk.browser.click("#stage .overview canvas");
    walk.browser
        .wait_for("document.activeElement.classList.contains('c') && document.getElementById('cell').textContent.includes('visits')");
    walk.class("--task parity --lengths 3,4 --tied", "code");
    walk.browser
        .wait_for("document.querySelectorAll('.spot').length > 18");
}

/// Prints how long the server takes to answer a change, and the page to show everything about it: medians of seven.
/// A busy machine has times of its own, so none is a failure.
fn latency(walk: &mut Walk, flags: &str, target: f64) {
    walk.class(flags, "code");
    let cell = "document.querySelector('[data-spot].raise, [data-spot].keep')";
    walk.browser.wait_for(cell);
    walk.browser.evaluate(&format!("{cell}.focus()"));
    let (mut answered, mut shown) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        walk.browser
            .evaluate("performance.clearMeasures(), performance.clearResourceTimings()");
        let token = walk
            .browser
            .evaluate("Number(document.activeElement.textContent.slice(0, 1))");
        let next = (token.as_u64().unwrap() + 1) % 5;
        walk.browser.key(&next.to_string());
        walk.browser
            .wait_for("performance.getEntriesByName('cell-change').length");
        let times = walk.browser.evaluate(
            "[performance.getEntriesByType('resource').find((one) => one.name.endsWith('/api/look')).duration, \
             performance.getEntriesByName('cell-change')[0].duration]",
        );
        answered.push(times[0].as_f64().unwrap());
        shown.push(times[1].as_f64().unwrap());
        std::thread::sleep(Duration::from_millis(100));
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let [answered, shown] = [&mut answered, &mut shown].map(median);
    eprintln!(
        "{flags}: a change is answered in {answered:.0} ms and shown whole after {shown:.0} ms (medians of 7; \
         target {target} ms in a release build)"
    );
}

/// Everything that can be used has a name.
fn names(walk: &mut Walk) {
    walk.class("--task parity --lengths 5", "code");
    walk.browser.call("Accessibility.enable", json!({}));
    for view in ["code", "ways", "dynamics", "records"] {
        walk.browser.click(&format!("#tab-{view}"));
        let tree = walk.browser.call("Accessibility.getFullAXTree", json!({}));
        let roles = [
            "button",
            "textbox",
            "slider",
            "checkbox",
            "combobox",
            "tab",
            "spinbutton",
            "link",
        ];
        let unnamed = tree["nodes"].as_array().unwrap().iter().filter(|node| {
            let role = node["role"]["value"].as_str().unwrap_or("");
            node["ignored"] == false
                && roles.contains(&role)
                && node["name"]["value"]
                    .as_str()
                    .unwrap_or("")
                    .trim()
                    .is_empty()
        });
        let unnamed: Vec<String> = unnamed.map(Value::to_string).collect();
        assert!(unnamed.is_empty(), "{view}: {unnamed:?}");
    }
    walk.browser.call("Accessibility.disable", json!({}));
    walk.browser.key("?");
    walk.browser
        .wait_for("document.getElementById('help').open");
    walk.screenshot("help");
    walk.browser.key("Escape");
}

/// Nothing is wider than the page at any width, dark and light.
fn looks(walk: &mut Walk) {
    for width in [390, 1280, 2560] {
        walk.browser
            .size(width, if width == 390 { 844 } else { 1200 });
        for scheme in ["light", "dark"] {
            walk.browser
                .prefer(&[STILL, ("prefers-color-scheme", scheme)]);
            for view in ["code", "dynamics", "ways", "records"] {
                walk.browser.click(&format!("#tab-{view}"));
                std::thread::sleep(Duration::from_millis(60));
                let wide = walk.browser.evaluate(
                    "[document.documentElement.scrollWidth, [...document.querySelectorAll('body *')].filter((element) => { \
                     const box = element.getBoundingClientRect(); \
                     return box.width > 0 && box.right > innerWidth + 1 && !element.closest('.field, .scroll, .paper, .commands, .skip'); \
                     }).slice(0, 4).map((element) => element.outerHTML.slice(0, 120))]",
                );
                assert!(
                    wide[0].as_u64().unwrap() <= u64::from(width),
                    "{view} at {width}: {wide}"
                );
                assert_eq!(wide[1], json!([]), "{view} at {width}");
                if view == "records" {
                    walk.legible("#records-plot", "text");
                }
                walk.screenshot(&format!("{view}-{width}-{scheme}"));
            }
            let ground = walk
                .browser
                .evaluate("getComputedStyle(document.body).backgroundColor");
            let dark = ground == "rgb(20, 24, 28)";
            assert_eq!(dark, scheme == "dark", "{ground}");
        }
    }
    walk.browser
        .prefer(&[STILL, ("prefers-color-scheme", "light")]);
    walk.browser.key("t");
    let ground = walk
        .browser
        .evaluate("getComputedStyle(document.body).backgroundColor");
    assert_eq!(ground, "rgb(20, 24, 28)", "the switch goes over the system");
    walk.browser.click("#tab-code");
    let moving = "parseFloat(getComputedStyle(document.querySelector('.disc')).transitionDuration)";
    assert_eq!(walk.browser.evaluate(moving), 0);
    walk.browser.prefer(&[]);
    assert!(walk.browser.evaluate(moving).as_f64() > Some(0.0));
}

/// The console said nothing but what was refused on purpose, and nobody else was asked.
fn quiet(walk: &Walk) {
    let is_refusal = |line: &&String| line.contains("422") && line.contains("/api/");
    let (refusals, others): (Vec<&String>, Vec<&String>) =
        walk.browser.complaints.iter().partition(is_refusal);
    assert_eq!(others, Vec::<&String>::new());
    assert_eq!(refusals.len(), walk.refused, "{refusals:?}");
    let own = |address: &&String| {
        let known = walk.visited.iter().chain([&walk.address]);
        known.into_iter().any(|known| address.starts_with(known))
            || address.starts_with("blob:http://127.0.0.1")
            || *address == "about:blank"
    };
    let foreign: Vec<&String> = walk
        .browser
        .requests
        .iter()
        .filter(|one| !own(one))
        .collect();
    assert_eq!(foreign, Vec::<&String>::new());
}
