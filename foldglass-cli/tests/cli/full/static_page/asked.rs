//! Asks questions of the page's module, in Node or in a browser, and of this program, and compares the answers.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use foldglass::Allowance;
use foldglass_explore::{Explorer, Given, MEMORY};
use serde_json::{Value, json};

use crate::full::browser::Browser;
use crate::support::Scratch;

pub type Question = (&'static str, Value);

/// What a module of the page answers: status and text of each.
pub type Answers = Vec<(u64, String)>;

/// The module that the page asks such a question.
fn module_of((name, body): &Question) -> &'static str {
    match *name {
        "escape" | "certify" | "tree" => "foldglass-ways.wasm",
        "start" if body["how"] == "trap" => "foldglass-ways.wasm",
        _ => "foldglass.wasm",
    }
}

/// Asks each module its questions, and gives the answers in the order of all.
fn by_module(questions: &[Question], mut ask: impl FnMut(&str, &[Question]) -> Answers) -> Answers {
    let mut answers = vec![(0, String::new()); questions.len()];
    for module in ["foldglass.wasm", "foldglass-ways.wasm"] {
        let own = (0..questions.len()).filter(|&place| module_of(&questions[place]) == module);
        let own: Vec<usize> = own.collect();
        let asked: Vec<Question> = own.iter().map(|&place| questions[place].clone()).collect();
        for (place, answer) in own.into_iter().zip(ask(module, &asked)) {
            answers[place] = answer;
        }
    }
    answers
}

/// What Node answers with the modules of the page.
pub fn in_node(folder: &Path, questions: &[Question]) -> Answers {
    by_module(questions, |module, asked| {
        in_node_with(folder, module, None, asked)
    })
}

/// What Node answers with a module of the page, and with the files of a directory of records.
pub fn in_node_with(
    folder: &Path,
    module: &str,
    records: Option<&Path>,
    questions: &[Question],
) -> Answers {
    const SCRIPT: &str = r#"
        import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
        import { basename, join } from "node:path";
        const [wasm, module, asked, told, records] = process.argv.slice(1);
        const { start } = await import("data:text/javascript," + encodeURIComponent(readFileSync(module, "utf8")));
        const paths = records ? readdirSync(records, { recursive: true }).filter((path) => statSync(join(records, path)).isFile()) : [];
        const files = paths.map((path) => ({ path: join(basename(records), path), content: new Uint8Array(readFileSync(join(records, path))).buffer }));
        const answers = await start(await WebAssembly.compile(readFileSync(wasm)), () => {}, files);
        const answer = ([name, body]) => { const begun = performance.now(); const { status, text } = answers(name, JSON.stringify(body)); console.error(name, performance.now() - begun); return [status, text]; };
        writeFileSync(told, JSON.stringify(JSON.parse(readFileSync(asked, "utf8")).map(answer)));
    "#;
    let scratch = Scratch::new();
    let [asked, told] = ["asked", "told"].map(|name| scratch.path().join(name));
    fs::write(&asked, json!(questions).to_string()).unwrap();
    // The page has it within a larger script.
    let caller =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../foldglass-explore/src/page/local/module.js");
    let mut node = Command::new("node");
    node.args(["--input-type=module", "--eval", SCRIPT]);
    node.args([folder.join("app").join(module), caller, asked, told.clone()]);
    let done = node.args(records).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    if std::env::var_os("FOLDGLASS_TIMES").is_some() {
        eprint!("{}", String::from_utf8_lossy(&done.stderr));
    }
    serde_json::from_slice(&fs::read(told).unwrap()).unwrap()
}

/// What workers of the page that is open in a browser answer.
pub fn in_browser(browser: &mut impl Browser, questions: &[Question]) -> Answers {
    by_module(questions, |module, asked| {
        let answers = browser.evaluate(&format!(
            "(async () => {{ \
             const module = await WebAssembly.compile(await (await fetch('app/{module}')).arrayBuffer()); \
             const worker = new Worker('app/worker.js', {{ type: 'module' }}); \
             const next = () => new Promise((resolve) => {{ worker.onmessage = ({{ data }}) => {{ \
             if (data.failed !== undefined) resolve([0, data.failed]); else if (data.status !== undefined) resolve([data.status, data.text]); }}; }}); \
             worker.postMessage({{ module, files: [] }}); \
             const told = []; \
             for (const [name, body] of {}) {{ const answer = next(); worker.postMessage({{ name, body: JSON.stringify(body) }}); told.push(await answer); }} \
             worker.terminate(); return told; }})()",
            json!(asked)
        ));
        serde_json::from_value(answers).unwrap()
    })
}

/// What this program answers.
pub fn native(questions: &[Question]) -> Answers {
    native_with(Given::default(), questions)
}

/// The same of an explorer that was started with something.
pub fn native_with(given: Given, questions: &[Question]) -> Answers {
    let minute = Duration::from_secs(60);
    let explorer = Explorer::new(given, Allowance(MEMORY), minute);
    let answer = |(name, body): &Question| {
        let deadline = explorer.deadline(Arc::default());
        let answer = explorer.ask("page", name, body.to_string().as_bytes(), deadline);
        (
            u64::from(answer.status),
            String::from_utf8(answer.json).unwrap(),
        )
    };
    questions.iter().map(answer).collect()
}

/// Takes out the entropies, whose logarithms are those of the system's library: two libraries differ in the last bit.
fn take_entropies(answer: &mut Value, found: &mut Vec<f64>) {
    let Some(answer) = answer.as_object_mut() else {
        return;
    };
    for key in ["entropy", "most_entropy"] {
        found.extend(answer.remove(key).and_then(|value| value.as_f64()));
    }
}

/// Both gave the same answers: statuses and texts to the last bit, but for entropies.
pub fn assert_same(questions: &[Question], ours: &Answers, theirs: &Answers) {
    assert_eq!(ours.len(), theirs.len());
    for (((name, body), ours), theirs) in questions.iter().zip(ours).zip(theirs) {
        let [(same, ours), (also, theirs)] = [ours, theirs].map(|(status, text)| {
            let mut answer: Value = serde_json::from_str(text).unwrap();
            let mut entropies = Vec::new();
            take_entropies(&mut answer, &mut entropies);
            ((status, answer.to_string()), entropies)
        });
        assert_eq!(same, also, "{name} {body}");
        assert_eq!(ours.len(), theirs.len(), "{name} {body}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!((ours - theirs).abs() <= 1e-12 * ours.abs(), "{name} {body}");
        }
    }
}

pub fn flags(class: &str) -> Value {
    class.split(' ').collect::<Vec<_>>().into()
}

/// The code that `start` gives.
pub fn begun(class: &str, how: &str, seed: u64) -> Vec<u16> {
    let asked = json!({ "class": flags(class), "how": how, "seed": seed });
    let answer = native(&[("start", asked)]).remove(0).1;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    serde_json::from_value(answer["code"].clone()).unwrap()
}

/// Every question of a page about one class, for two codes of it. Runs are numbered from `run`.
pub fn of_class(class: &str, run: u64, questions: &mut Vec<Question>) -> u64 {
    let class_flags = flags(class);
    questions.push(("class", json!({ "class": class_flags })));
    let mut run = run;
    for (how, seed) in [("random", 3), ("constant", 1), ("ground", 0)] {
        let asked = json!({ "class": class_flags, "how": how, "seed": seed });
        questions.push(("start", asked));
        let code = begun(class, how, seed);
        let asked = json!({ "class": class_flags, "code": code });
        for name in ["look", "wrong", "escape", "svg"] {
            questions.push((name, asked.clone()));
        }
        let certify = json!({ "class": class_flags, "code": code, "cap": 2000, "barrier": true });
        questions.push(("certify", certify));
        for (kind, tau) in [("chain", 0.01), ("cavi", 1e-3)] {
            let new = json!({ "class": class_flags, "code": code, "kind": kind, "tau": tau, "seed": seed });
            questions.push(("run/new", new));
            run += 1;
            let step = json!({ "run": run, "sweeps": 8, "tau": 0.003 });
            questions.push(("run/step", step));
        }
    }
    let trap = json!({ "class": class_flags, "how": "trap", "seed": 1 });
    questions.push(("start", trap));
    run
}
