//! Compares the explorer as a static page with the library and in a real browser. The page must have been built.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foldglass::Allowance;
use foldglass_explore::{Explorer, Given, MEMORY};
use serde_json::{Value, json};

use super::chromium;
use super::explore_page::computed;
use super::explore_page::walk::Walk;
use crate::support::Scratch;
use crate::tools::{need, runs};

/// The folder that `cargo xtask explorer` has built.
fn built() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../explorer");
    let folder = fs::canonicalize(folder)
        .ok()
        .filter(|folder| folder.join("app/foldglass.wasm").exists());
    need(folder, "static explorer (`cargo xtask explorer` builds it)")
}

type Question = (&'static str, Value);

/// What Node answers with the module of the page: status and text of each.
fn in_node(folder: &Path, questions: &[Question]) -> Vec<(u64, String)> {
    const SCRIPT: &str = r#"
        import { readFileSync, writeFileSync } from "node:fs";
        const [wasm, module, asked, told] = process.argv.slice(1);
        const { start } = await import("data:text/javascript," + encodeURIComponent(readFileSync(module, "utf8")));
        const answers = await start(await WebAssembly.compile(readFileSync(wasm)), () => {});
        const answer = ([name, body]) => { const begun = performance.now(); const { status, text } = answers(name, JSON.stringify(body)); console.error(name, performance.now() - begun); return [status, text]; };
        writeFileSync(told, JSON.stringify(JSON.parse(readFileSync(asked, "utf8")).map(answer)));
    "#;
    let scratch = Scratch::new();
    let [asked, told] = ["asked", "told"].map(|name| scratch.path().join(name));
    fs::write(&asked, json!(questions).to_string()).unwrap();
    let app = folder.join("app");
    let mut node = Command::new("node");
    node.args(["--input-type=module", "--eval", SCRIPT]);
    node.args([app.join("foldglass.wasm"), app.join("module.js")]);
    let done = node.args([&asked, &told]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    if std::env::var_os("FOLDGLASS_TIMES").is_some() {
        eprint!("{}", String::from_utf8_lossy(&done.stderr));
    }
    serde_json::from_slice(&fs::read(told).unwrap()).unwrap()
}

/// What this program answers.
fn native(questions: &[Question]) -> Vec<(u64, String)> {
    let minute = Duration::from_secs(60);
    let explorer = Explorer::new(Given::default(), Allowance(MEMORY), minute);
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

fn flags(class: &str) -> Value {
    class.split(' ').collect::<Vec<_>>().into()
}

/// The code that `start` gives.
fn begun(class: &str, how: &str, seed: u64) -> Vec<u16> {
    let asked = json!({ "class": flags(class), "how": how, "seed": seed });
    let answer = native(&[("start", asked)]).remove(0).1;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    serde_json::from_value(answer["code"].clone()).unwrap()
}

/// Every question of a page about one class, for two codes of it. Runs are numbered from `run`.
fn of_class(class: &str, run: u64, questions: &mut Vec<Question>) -> u64 {
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
    for (((name, body), ours), theirs) in questions.iter().zip(&ours).zip(&theirs) {
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

/// The bytes of the page as a host sends them.
fn compressed(path: &Path) -> Vec<u8> {
    let mut gzip = Command::new("gzip");
    let output = gzip
        .args(["-9", "-c"])
        .arg(path)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    output.stdout
}

/// A static host with the page in a subfolder, which sends compressed files and takes note of what it is asked.
struct Host {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Host {
    fn start(folder: &Path) -> Host {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/some/folder/", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (folder, noted) = (folder.to_owned(), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, noted) = (folder.clone(), noted.clone());
                std::thread::spawn(move || converse(stream, &folder, &noted));
            }
        });
        Host { address, asked }
    }
}

/// Answers the requests of one connection.
fn converse(stream: TcpStream, folder: &Path, asked: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut head = String::new();
        while reader.read_line(&mut head).is_ok_and(|n| n > 2) {}
        let Some(path) = head.split(' ').nth(1).map(str::to_owned) else {
            return;
        };
        asked.lock().unwrap().push(path.clone());
        let file = path.strip_prefix("/some/folder/").map(|path| match path {
            "" => folder.join("index.html"),
            path => folder.join(path),
        });
        let file = file.filter(|file| file.is_file());
        let (status, content) = match &file {
            Some(file) => ("200 OK", compressed(file)),
            None => ("404 Not Found", Vec::new()),
        };
        let ending = file
            .as_deref()
            .and_then(Path::extension)
            .unwrap_or_default();
        let kind = match ending.to_str().unwrap_or("") {
            "html" => "text/html",
            "js" => "text/javascript",
            "css" => "text/css",
            "svg" => "image/svg+xml",
            "wasm" => "application/wasm",
            _ => "application/octet-stream",
        };
        let encoding = if file.is_some() {
            "Content-Encoding: gzip\r\n"
        } else {
            ""
        };
        let length = content.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{encoding}Content-Length: {length}\r\n\r\n"
        );
        if stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&content))
            .is_err()
        {
            return;
        }
    }
}

/// The most kilobytes of a first visit, as gzip sends them: 501 now; the aim is 400.
const MOST_KILOBYTES: usize = 520;

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
    // The command line says the same of a code that the page says.
    let class = "--task quasigroup --lengths 5";
    walk.class(class, "code");
    let code: Vec<u8> = walk.code();
    assert_eq!(code.len(), 105);
    let file = scratch.path().join("code.json");
    let words: Vec<String> = class.split(' ').map(str::to_owned).collect();
    let answer = native(&[("look", json!({ "class": words, "code": code }))])
        .remove(0)
        .1;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    fs::write(&file, answer["code_file"]["text"].as_str().unwrap()).unwrap();
    let printed = scratch.run(&["eval", "--code", "code.json", "--json"]);
    let printed: Value = serde_json::from_str(&printed.text).unwrap();
    assert_eq!(printed["reward_exact"], walk.text("reward"), "{code:?}");
    assert_eq!(walk.browser.complaints, Vec::<String>::new());
    let own = |address: &&String| {
        address.starts_with(&host.address)
            || address.starts_with(&format!("blob:{}", &host.address[..17]))
            || *address == "about:blank"
    };
    let foreign: Vec<&String> = walk
        .browser
        .requests
        .iter()
        .filter(|one| !own(one))
        .collect();
    assert_eq!(foreign, Vec::<&String>::new());
    let asked = host.asked.lock().unwrap().clone();
    assert!(
        asked.iter().all(|path| path.starts_with("/some/folder/")),
        "{asked:?}"
    );
    assert!(
        asked.iter().any(|path| path.ends_with("worker.js")),
        "{asked:?}"
    );
}

#[test]
#[ignore = "`cargo xtask test --full` runs it once the static explorer is built"]
fn a_first_visit_is_small_and_answers_soon_on_a_slow_device() {
    let Some(folder) = built() else { return };
    let Some(browser) = chromium::installed() else {
        return;
    };
    let files = fs::read_dir(folder.join("app"))
        .unwrap()
        .flatten()
        .map(|file| file.path());
    let files = files.chain([folder.join("index.html")]);
    let bytes: usize = files.map(|file| compressed(&file).len()).sum();
    eprintln!("a first visit takes {bytes} bytes");
    assert!(bytes <= MOST_KILOBYTES * 1000, "{bytes}");
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
    eprintln!(
        "loaded after {loaded:.1?}, drawn after {drawn:.1?}, a flip answered in {answered:.0} ms"
    );
    assert!(answered <= MOST_MILLISECONDS, "{answered}");
}
