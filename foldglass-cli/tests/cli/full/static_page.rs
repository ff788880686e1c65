//! Compares the explorer as a static page with the library, with the command line and in a real browser. The page must
//! have been built.

mod asked;
mod host;
mod numbers;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use foldglass_explore::{Directory, Given};
use foldglass_study::Folder;
use serde_json::{Value, json};

use super::chromium;
use super::explore_page::walk::{Walk, foldglass};
use super::explore_page::{computed, records};
use crate::support::Scratch;
use crate::tools::{need, runs};
use asked::{
    Question, assert_same, begun, flags, in_node, in_node_with, native, native_with, of_class,
};
pub use host::Host;
use host::{PLACE, sent};
pub use numbers::numbers;

/// The folder that `cargo xtask explorer` has built.
pub fn built() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../explorer");
    let folder = fs::canonicalize(folder)
        .ok()
        .filter(|folder| folder.join("app/foldglass.wasm").exists());
    need(folder, "static explorer (`cargo xtask explorer` builds it)")
}

#[test]
#[ignore = "`cargo xtask test --full` runs it once the static explorer is built"]
fn webassembly_answers_every_question_with_the_bits_of_this_program() {
    let Some(folder) = built() else { return };
    let node = runs("node", "--version").then_some(());
    let Some(()) = need(node, "node (install the package nodejs)") else {
        return;
    };
    let (mut questions, mut run) = (vec![("hello", json!({}))], 0);
    for class in [
        "--task parity --lengths 4",
        "--task parity --lengths 4 --inputs markov:9/10",
        "--task quasigroup --lengths 3,5 --window 0,1 --tied",
        "--task z:3 --lengths 4 --memory 2 --reward process",
        "--task s:3 --lengths 3 --window 1,0",
    ] {
        run = of_class(class, run, &mut questions);
    }
    let heat_bath = json!({ "class": flags("--task z:5 --lengths 6"), "kind": "chain", "kernel": "heat-bath", "tau": 0.002, "seed": 7 });
    questions.push(("run/new", heat_bath));
    questions.push(("run/step", json!({ "run": run + 1, "sweeps": 200 })));
    for class in ["--task parity --lengths 4", "--task z:3 --lengths 2"] {
        questions.push(("tree", json!({ "class": flags(class) })));
    }
    // What is refused is refused in the same words.
    for (name, body) in [
        (
            "look",
            json!({ "class": flags("--task parity --lengths 4"), "code": [0, 1] }),
        ),
        (
            "class",
            json!({ "class": flags("--task file:x --lengths 4") }),
        ),
        (
            "class",
            json!({ "class": flags("--task z:5 --lengths 900 --memory 3") }),
        ),
        ("run/step", json!({ "run": 10_000 })),
        ("looks", json!({})),
        ("tree", json!({ "class": flags("--task z:5 --lengths 6") })),
    ] {
        questions.push((name, body));
    }
    let (ours, theirs) = (native(&questions), in_node(&folder, &questions));
    assert_same(&questions, &ours, &theirs);
    assert!(ours.iter().filter(|(status, _)| *status == 200).count() > 100);
}

/// Where sums would take too long counts are still exact, and it is said why there are no sums.
#[test]
#[ignore = "`cargo xtask test --full` runs it once the static explorer is built"]
fn counts_of_large_classes_are_exact_and_their_sums_are_refused() {
    let Some(folder) = built() else { return };
    let node = runs("node", "--version").then_some(());
    let Some(()) = need(node, "node (install the package nodejs)") else {
        return;
    };
    let class = "--task z:13 --lengths 6 --window 0,1";
    let code = begun(class, "random", 5);
    let questions = [
        ("class", json!({ "class": flags(class) })),
        ("look", json!({ "class": flags(class), "code": code })),
        (
            "run/new",
            json!({ "class": flags(class), "kind": "cavi", "tau": 0.01 }),
        ),
        (
            "run/new",
            json!({ "class": flags(class), "kind": "chain", "tau": 0.01 }),
        ),
    ];
    let ours = native(&questions);
    let theirs: Vec<(u64, Value)> = in_node(&folder, &questions)
        .into_iter()
        .map(|(status, text)| (status, serde_json::from_str(&text).unwrap()))
        .collect();
    let why = "multiply-adds";
    assert!(
        theirs[0].1["can"]["cavi"]["why_not"]
            .as_str()
            .unwrap()
            .contains(why)
    );
    let ours: Value = serde_json::from_str(&ours[1].1).unwrap();
    let look = &theirs[1].1;
    for exact in [
        "reward",
        "numerator",
        "denominator",
        "delta",
        "changes",
        "status",
    ] {
        assert_eq!(look[exact], ours[exact], "{exact}");
    }
    assert!(ours["visits"].is_array() && look["visits"].is_null() && look["values"].is_null());
    assert!(look["no_sums"].as_str().unwrap().contains(why));
    assert_eq!(theirs[2].0, 422, "{}", theirs[2].1);
    assert!(theirs[2].1["error"].as_str().unwrap().contains(why));
    assert_eq!(theirs[3].0, 200, "{}", theirs[3].1);
}

/// The most bytes of a first visit, as gzip sends them.
const MOST_BYTES: usize = 400_000;

/// The most milliseconds from a click on a cell to the answer, on a slow device that has just loaded the page.
const MOST_MILLISECONDS: f64 = 1500.0;

#[test]
#[ignore = "`cargo xtask test --full` runs it once the static explorer is built"]
fn the_page_computes_in_the_browser_what_the_command_line_prints() {
    let Some(folder) = built() else { return };
    let Some(browser) = chromium::installed() else {
        return;
    };
    let (host, scratch) = (Host::start(&folder), Scratch::new());
    let mut walk = Walk::at(browser, &host.address, &scratch);
    computed(&mut walk);
    walk.class("--task z:13 --lengths 6 --window 0,1", "dynamics");
    walk.wait_for_text("cavi-words", "multiply-adds");
    numbers(&mut walk.browser, &host.address, &scratch);
    assert_eq!(walk.browser.complaints, Vec::<String>::new());
    assert_own_requests(&walk, &host);
    assert!(host.asked().contains(&format!("{PLACE}app/worker.js")));
}

/// No other host was asked, and nothing outside the page's own folder.
fn assert_own_requests(walk: &Walk, host: &Host) {
    let own = |address: &&String| {
        address.starts_with(&host.address)
            || address.starts_with(&format!("blob:{}", &host.address[..17]))
            || *address == "about:blank"
    };
    let requests = walk.browser.requests.iter();
    let foreign: Vec<&String> = requests.filter(|one| !own(one)).collect();
    assert_eq!(foreign, Vec::<&String>::new());
    let asked = host.asked();
    assert!(
        asked.iter().all(|path| path.starts_with(PLACE)),
        "{asked:?}"
    );
}

/// A study whose runs keep their codes, in the directory `mine`.
fn study(scratch: &Scratch) -> PathBuf {
    let study = "name = \"mine\"\nseed = 3\n[[class]]\nid = \"p\"\ntask = \"parity\"\nlengths = 4\n\
                 [[dynamics]]\nkind = \"cavi\"\ntau = [1e-6, 1e-3, 1e-2]\nruns = 4\niterations = 30\nkeep_code = true\n";
    scratch.file("study.toml", study);
    foldglass(&["run", "study.toml", "--quiet"], scratch.path());
    scratch.path().join("mine")
}

/// A reproduction with that study, and a fleet of one network.
fn reproduction_and_fleet(scratch: &Scratch, study: &Path) -> [PathBuf; 2] {
    let reproduction = scratch.path().join("again");
    fs::create_dir_all(reproduction.join("mine")).unwrap();
    fs::write(reproduction.join("reproduce.json"), "{}").unwrap();
    for file in ["study.json", "records.jsonl"] {
        fs::copy(study.join(file), reproduction.join("mine").join(file)).unwrap();
    }
    let flags = "train --task parity --backend cpu --width 16 --heads 2 --mlp 16 --vocabulary 3 --cap 2 \
                 --gate-samples 32 --test-inputs 50 --batch 32 --steps 100 --record-every 20 --runs 1 \
                 --out fleet --quiet --threads 1";
    foldglass(
        &flags.split_whitespace().collect::<Vec<_>>(),
        scratch.path(),
    );
    [reproduction, scratch.path().join("fleet")]
}

#[test]
#[ignore = "`cargo xtask test --full` runs it once the static explorer is built"]
fn records_that_are_handed_to_webassembly_are_told_like_those_of_a_directory() {
    let Some(folder) = built() else { return };
    let node = runs("node", "--version").then_some(());
    let Some(()) = need(node, "node (install the package nodejs)") else {
        return;
    };
    let scratch = Scratch::new();
    let study = study(&scratch);
    let [reproduction, fleet] = reproduction_and_fleet(&scratch, &study);
    let point = json!({ "class": "p", "method": "cavi", "parameters": { "tau": 1e-3 } });
    let id = "p/cavi/tau=0.001/2";
    let mut in_study = point.clone();
    in_study["study"] = "mine".into();
    let of_study: Vec<Question> = vec![
        ("records/plot", json!({})),
        (
            "records/plot",
            json!({ "quantity": "greedy_reward", "against": "tau" }),
        ),
        ("records/plot", json!({ "quantity": "none" })),
        ("records/point", point),
        ("records/run", json!({ "id": id })),
    ];
    let of_reproduction: Vec<Question> = vec![
        ("records", json!({ "study": "mine" })),
        ("records", json!({ "study": "other" })),
        ("records/plot", json!({ "study": "mine" })),
        ("records/point", in_study),
        ("records/run", json!({ "id": id, "study": "mine" })),
    ];
    for (directory, more) in [
        (study, of_study),
        (reproduction, of_reproduction),
        (fleet, vec![]),
    ] {
        let mut questions: Vec<Question> = vec![("hello", json!({})), ("records", json!({}))];
        questions.extend(more);
        let given = Given {
            directory: Directory::of(&Folder::on_disk(&directory)),
            ..Given::default()
        };
        let mut ours = native_with(given, &questions);
        // A page does not learn where on a disk the directory is: its commands name it as it is called.
        let above = format!("{}/", scratch.path().display());
        for (_, text) in &mut ours {
            *text = text.replace(&above, "");
        }
        let module = "foldglass-records.wasm";
        let theirs = in_node_with(&folder, module, Some(&directory), &questions);
        assert_same(&questions, &ours, &theirs);
        assert!(
            ours.iter().filter(|(status, _)| *status == 200).count() >= 2,
            "{ours:?}"
        );
    }
}

#[test]
#[ignore = "`cargo xtask test --full` runs it once the static explorer is built"]
fn a_directory_of_records_is_shown_when_it_is_dropped_on_the_page_or_chosen() {
    let Some(folder) = built() else { return };
    let Some(browser) = chromium::installed() else {
        return;
    };
    let (host, scratch) = (Host::start(&folder), Scratch::new());
    let study = study(&scratch);
    let [reproduction, fleet] = reproduction_and_fleet(&scratch, &study);
    let mut walk = Walk::at(browser, &host.address, &scratch);
    walk.browser.open(&host.address);
    walk.settle();
    let module = format!("{PLACE}app/foldglass-records.wasm");
    assert!(
        !host.asked().contains(&module),
        "a first visit does without"
    );
    walk.browser.drop_file(&study);
    walk.wait_for_text("records-words", "12 runs");
    assert_eq!(walk.text("records-name"), "mine");
    assert!(host.asked().contains(&module));
    records(&mut walk);
    walk.browser.drop_file(&scratch.path().join("study.toml"));
    walk.wait_for_text("notice", "study.toml holds no records");
    walk.browser.drop_file(&reproduction);
    walk.wait_for_text("records-name", "again");
    walk.browser
        .wait_for("document.querySelectorAll('#study option').length === 1");
    walk.browser
        .wait_for("document.querySelectorAll('#records-plot .point').length === 3");
    // The button leads to the same; what a reader chooses in the dialog of the system is put in its place.
    walk.browser.choose("#directory", &fleet);
    walk.wait_for_text("fleet-state", "trained");
    assert_eq!(walk.count("#records-plot .curve"), 1);
    assert!(walk.is("document.getElementById('runs-card').hidden"));
    assert_eq!(walk.browser.complaints, Vec::<String>::new());
    assert_own_requests(&walk, &host);
}

/// The workers that answer about codes do not have the records: they are handed the table.
#[test]
#[ignore = "`cargo xtask test --full` runs it once the static explorer is built"]
fn a_code_of_records_opens_although_its_table_is_from_a_file() {
    let Some(folder) = built() else { return };
    let Some(browser) = chromium::installed() else {
        return;
    };
    let (host, scratch) = (Host::start(&folder), Scratch::new());
    scratch.file("square.json", "[[0, 1, 2], [1, 1, 0], [2, 0, 1]]");
    let study = "name = \"own\"\n[[class]]\nid = \"own\"\ntask = \"file:square.json\"\nlengths = 3\n\
                 [[dynamics]]\nkind = \"cavi\"\ntau = [1e-6, 1e-2]\nruns = 2\niterations = 30\nkeep_code = true\n";
    scratch.file("study.toml", study);
    foldglass(&["run", "study.toml", "--quiet"], scratch.path());
    let records = fs::read_to_string(scratch.path().join("own/records.jsonl")).unwrap();
    let mut walk = Walk::at(browser, &host.address, &scratch);
    walk.browser.open(&host.address);
    walk.settle();
    walk.browser.drop_file(&scratch.path().join("own"));
    walk.wait_for_text("records-words", "4 runs");
    walk.browser
        .wait_for("document.querySelectorAll('#records-plot .point').length === 2");
    walk.browser.click("#records-plot .point");
    walk.browser
        .wait_for("document.querySelectorAll('#runs tbody tr').length === 2");
    walk.browser.click("#runs button");
    walk.wait_for_text("class-words", "file:own.json");
    walk.settle();
    let code: Vec<Value> = walk.code().into_iter().map(Value::from).collect();
    let of_code = |line: &&str| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["result"]["greedy"].as_array() == Some(&code)
    };
    let record: Value = serde_json::from_str(records.lines().find(of_code).unwrap()).unwrap();
    let exact = record["result"]["greedy_exact"].as_str().unwrap();
    assert_eq!(walk.text("reward"), exact.trim_end_matches("/1"));
    // Paths out are found by another module.
    walk.browser.click("#tab-ways");
    walk.browser.click("#certify-find");
    walk.browser.wait_for(
        "/optimal|certified|escapes/.test(document.getElementById('certify-words').textContent)",
    );
    assert_eq!(walk.browser.complaints, Vec::<String>::new());
    assert_own_requests(&walk, &host);
}

#[test]
#[ignore = "`cargo xtask test --full` runs it once the static explorer is built"]
fn a_first_visit_is_small_and_answers_soon_on_a_slow_device() {
    let Some(folder) = built() else { return };
    let Some(browser) = chromium::installed() else {
        return;
    };
    let (host, scratch) = (Host::start(&folder), Scratch::new());
    let mut walk = Walk::at(browser, &host.address, &scratch);
    let slow = json!({ "offline": false, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 94_000 });
    walk.browser.call("Network.emulateNetworkConditions", slow);
    walk.browser
        .call("Emulation.setCPUThrottlingRate", json!({ "rate": 4 }));
    let begun = Instant::now();
    let address = format!(
        "{}#class=--task+quasigroup+--lengths+8&view=code",
        host.address
    );
    walk.browser.open(&address);
    let loaded = begun.elapsed();
    walk.browser
        .wait_for("document.querySelector('.spot, [data-spot]')");
    let drawn = begun.elapsed();
    walk.settle();
    let cell = "document.querySelector('[data-spot].raise, [data-spot].keep')";
    walk.browser
        .evaluate(&format!("{cell}.focus(), performance.clearMeasures()"));
    let token = walk
        .browser
        .evaluate("Number(document.activeElement.textContent.slice(0, 1))");
    let next = (token.as_u64().unwrap() + 1) % 5;
    walk.browser.key(&next.to_string());
    walk.browser
        .wait_for("performance.getEntriesByName('cell-change').length");
    let answered = walk
        .browser
        .evaluate("performance.getEntriesByName('cell-change')[0].duration");
    let answered = answered.as_f64().unwrap();
    let asked = host.asked();
    let parts = asked.iter().map(|path| (sent(&folder, path), path));
    let parts: Vec<(usize, &String)> = parts.collect();
    let bytes: usize = parts.iter().map(|(bytes, _)| bytes).sum();
    eprintln!("a first visit takes {bytes} bytes: {parts:?}");
    eprintln!(
        "loaded after {loaded:.1?}, drawn after {drawn:.1?}, a flip answered in {answered:.0} ms"
    );
    assert!(asked.contains(&format!("{PLACE}app/foldglass.wasm")));
    assert!(bytes <= MOST_BYTES, "{parts:?}");
    assert!(answered <= MOST_MILLISECONDS, "{answered}");
}
