//! Attacks `foldglass explore`: wrong tokens, foreign pages, paths, bodies, slow clients, absurd classes.
//! Each is refused with its status, and the server goes on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Server, read};

/// A class and a code of it.
fn small() -> Value {
    json!({"class": ["--task", "parity", "--lengths", "3"], "code": [0, 1, 1, 1, 0, 1, 0, 1, 0, 1]})
}

/// Holds that no more time has passed since then.
fn assert_within(begun: Instant, longest: Duration) {
    let passed = begun.elapsed();
    assert!(passed < longest, "{passed:?}, and not {longest:?}");
}

#[test]
fn only_the_address_that_was_printed_is_answered() {
    let server = Server::plain();
    let (port, token) = (server.port, &server.token);
    let host = format!("127.0.0.1:{port}");
    let page = server.get(&format!("/{token}/"), &host, "");
    assert_eq!(page.status, 200);
    let wrong = format!(
        "{}{}",
        &token[..31],
        if token.ends_with('0') { '1' } else { '0' }
    );
    for path in [
        "/".to_owned(),
        "/favicon.ico".to_owned(),
        format!("/{token}"),
        format!("/{wrong}/"),
        format!("/{wrong}/app/main.js"),
        format!(
            "/{}/",
            token
                .to_uppercase()
                .replace(|c: char| c.is_ascii_digit(), "A")
        ),
        format!("/{token}/../../../../etc/passwd"),
        format!("/{token}/app/../../Cargo.toml"),
        format!("/{token}/app/%2e%2e/%2e%2e/etc/passwd"),
        format!("/{token}/app/..%2f..%2fetc%2fpasswd"),
        format!("/{token}/app//etc/passwd"),
        format!("/{token}/app/%00"),
        format!("/{token}/app/"),
    ] {
        let answer = server.get(&path, &host, "");
        assert_eq!((answer.status, answer.body.len()), (404, 0), "{path}");
    }
    let unknown = server.ask("look/../hello", &json!({}));
    assert_eq!(unknown.status, 404);
    server.lives();
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let server = Server::plain();
    let (port, token) = (server.port, &server.token);
    let (path, own) = (format!("/{token}/"), format!("127.0.0.1:{port}"));
    let local = format!("localhost:{port}");
    for (host, more) in [
        (&own, String::new()),
        (&local, String::new()),
        (&own, format!("Origin: http://127.0.0.1:{port}\r\n")),
        (&local, format!("Origin: http://localhost:{port}\r\n")),
        (&own, "Sec-Fetch-Site: none\r\n".to_owned()),
        (&own, "Sec-Fetch-Site: same-origin\r\n".to_owned()),
    ] {
        assert_eq!(server.get(&path, host, &more).status, 200, "{host} {more}");
    }
    let foreign = |name: &str| format!("{name}:{port}");
    for (host, more) in [
        (foreign("example.org"), ""),
        (foreign("127.0.0.1.example.org"), ""),
        (foreign("0.0.0.0"), ""),
        (foreign("[::1]"), ""),
        ("127.0.0.1".to_owned(), ""),
        ("127.0.0.1:1".to_owned(), ""),
        (own.clone(), "Origin: http://example.org\r\n"),
        (own.clone(), "Origin: null\r\n"),
        (own.clone(), "Origin: http://127.0.0.1:1\r\n"),
        (own.clone(), "Host: example.org\r\n"),
        (own.clone(), "Sec-Fetch-Site: cross-site\r\n"),
        (own.clone(), "Sec-Fetch-Site: same-site\r\n"),
    ] {
        let answer = server.get(&path, &host, more);
        assert_eq!(
            (answer.status, answer.body.len()),
            (403, 0),
            "{host} {more}"
        );
    }
    let absolute = format!("http://example.org/{token}/");
    assert_eq!(server.get(&absolute, &own, "").status, 403);
    let none = server.send(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes());
    assert_eq!(none.status, 403);
    server.lives();
}

#[test]
fn every_answer_keeps_the_page_to_this_server() {
    let server = Server::plain();
    let host = format!("127.0.0.1:{}", server.port);
    let page = server.get(&format!("/{}/", server.token), &host, "");
    let lost = server.get("/", &host, "");
    let look = server.ask("look", &small());
    for answer in [page, lost, look] {
        let head = answer.head.to_lowercase();
        let policy = head
            .lines()
            .find(|line| line.starts_with("content-security-policy:"));
        let policy = policy.unwrap();
        assert!(policy.contains("default-src 'self'"), "{policy}");
        assert!(
            !policy.contains("unsafe") && !policy.contains("http"),
            "{policy}"
        );
        for header in [
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "x-frame-options: deny",
        ] {
            assert!(head.contains(header), "{header}: {head}");
        }
        assert!(!head.contains("access-control"), "{head}");
    }
}

#[test]
fn what_is_no_question_is_refused_in_words() {
    let server = Server::plain();
    let raw = |body: &[u8]| {
        let head = format!(
            "{}Content-Length: {}\r\n\r\n",
            server.head("look", "test"),
            body.len()
        );
        server.send(&[head.as_bytes(), body].concat())
    };
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in [
        &b""[..],
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"{\"class\": 1, \"code\": 2}",
        b"{\"class\": [\"--task\", 5], \"code\": []}",
        b"{\"class\": [\"--task\"], \"code\": [0.5]}",
        b"{\"class\": [\"--task\"], \"code\": [1e99]}",
        b"{\"class\": [], \"code\": [], \"more\": 1}",
        deep.as_bytes(),
    ] {
        let words = raw(body).refused(400);
        assert!(words.starts_with("the request cannot be read"), "{words}");
    }
    let kind = |kind: &str| {
        let head = server
            .head("hello", "test")
            .replace("application/json", kind);
        server
            .send(format!("{head}Content-Length: 2\r\n\r\n{{}}").as_bytes())
            .status
    };
    assert_eq!(kind("application/json; charset=utf-8"), 200);
    assert_eq!(
        (
            kind("text/plain"),
            kind("application/x-www-form-urlencoded")
        ),
        (415, 415)
    );
    for page in ["", "a b", "../x", &"x".repeat(65)] {
        assert_eq!(
            server.ask_as(page, "hello", &json!({})).status,
            400,
            "{page}"
        );
    }
    let head = server.head("hello", "test").replace("POST", "GET");
    assert_eq!(server.send(format!("{head}\r\n").as_bytes()).status, 405);
    let garbage = server.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n");
    assert_eq!(garbage.status, 400);
    server.lives();
}

#[test]
fn absurd_questions_are_refused_at_once() {
    let server = Server::plain();
    let begun = Instant::now();
    let ask = |name: &str, body: Value| server.ask(name, &body).refused(422);
    for class in [
        &["--task", "parity", "--lengths", "1000000000"][..],
        &["--task", "z:60000", "--lengths", "2"],
        &["--task", "s:20", "--lengths", "2"],
        &["--task", "random:4000", "--lengths", "2"],
        &["--task", "z:2", "--lengths", "30", "--window", "1000,1000"],
        &["--task", "z:2", "--lengths", "30", "--window", "20,0"],
        &["--task", "z:5", "--lengths", "20", "--memory", "20"],
        &[
            "--task",
            "z:2",
            "--lengths",
            "2",
            "--inputs",
            "markov:1e-999999999",
        ],
        &["--task", "file:/etc/passwd", "--lengths", "2"],
        &["--task", "/etc/shadow.json", "--lengths", "2"],
        &[
            "--task",
            "z:2",
            "--lengths",
            "2",
            "--inputs",
            "product:/etc/passwd",
        ],
        &["--task", "z:2", "--lengths", "2", "--max-memory", "1TB"],
        &["--task", "z:2"],
        &[],
    ] {
        let words = ask("class", json!({ "class": class }));
        assert!(
            !words.is_empty() && words.len() < 1000,
            "{class:?}: {words}"
        );
    }
    let class = json!(["--task", "parity", "--lengths", "3"]);
    let code = &small()["code"];
    for (name, more) in [
        ("look", json!({"code": []})),
        ("look", json!({"code": [0, 1, 1, 1, 0, 1, 0, 1, 0, 2]})),
        ("look", json!({"code": [0, 1, 1, 1, 0, 1, 0, 1, 0, -1]})),
        ("rollout", json!({"code": code, "input": []})),
        ("rollout", json!({"code": code, "input": [0, 1, 5]})),
        (
            "svg",
            json!({"code": code, "inputs": vec![[0, 1, 1]; 1000]}),
        ),
        ("certify", json!({"code": code, "cap": 0})),
        ("certify", json!({"code": code, "cap": 4_000_000_000u64})),
        ("run/new", json!({"code": code, "kind": "chain", "tau": -1})),
        (
            "run/new",
            json!({"code": code, "kind": "chain", "tau": 1e301}),
        ),
        (
            "run/new",
            json!({"code": code, "kind": "cavi", "tau": 0, "resets": {"share": 2, "every": 0, "cycles": 1}}),
        ),
    ] {
        let mut body = more;
        body["class"] = class.clone();
        ask(name, body);
    }
    let large = json!({"class": ["--task", "quasigroup", "--lengths", "8"]});
    assert!(ask("tree", large).contains("5^180"));
    for name in ["records/plot", "records/run"] {
        let body = if name == "records/run" {
            json!({"id": "../../etc/passwd"})
        } else {
            json!({})
        };
        ask(name, body);
    }
    assert_eq!(server.ask("run/step", &json!({"run": 99})).status, 404);
    assert_within(begun, Duration::from_secs(10));
    server.lives();
}

#[test]
fn huge_bodies_and_heads_are_refused() {
    let server = Server::plain();
    let head = server.head("look", "test");
    let declared = server.send(format!("{head}Content-Length: 2000000\r\n\r\n").as_bytes());
    assert_eq!(declared.refused(413), "a request has at most 1048576 bytes");
    let endless =
        server.send(format!("{head}Content-Length: 99999999999999999999\r\n\r\n").as_bytes());
    assert_eq!(endless.status, 400);
    let mut stream = server.connect();
    stream
        .write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes())
        .unwrap();
    let chunk = [b"10000\r\n", &[b' '; 0x10000][..], b"\r\n"].concat();
    for _ in 0..64 {
        // It hangs up when it has had enough.
        if stream.write_all(&chunk).is_err() {
            break;
        }
    }
    if let Some(answer) = read(&mut stream) {
        assert_eq!(answer.status, 413);
    }
    let long = format!("{head}X-Long: {}\r\n\r\n", "x".repeat(1 << 20));
    let mut stream = server.connect();
    let _ = stream.write_all(long.as_bytes());
    if let Some(answer) = read(&mut stream) {
        assert_eq!(answer.status, 431);
    }
    let many = format!("{head}{}\r\n", "X: y\r\n".repeat(500));
    let mut stream = server.connect();
    let _ = stream.write_all(many.as_bytes());
    assert_eq!(read(&mut stream).unwrap().status, 431);
    server.lives();
}

#[test]
fn slow_clients_are_hung_up_on_while_others_are_answered() {
    let directory = std::env::temp_dir();
    let server = Server::begin(&directory, &["--stay", "--patience", "0.5"]);
    let (head, body) = (server.head("look", "test"), small().to_string());
    let mut silent = server.connect();
    let mut slow_head = server.connect();
    let mut slow_body = server.connect();
    let mut resting = server.connect();
    let alive = server
        .head("alive", "test")
        .replace("Connection: close\r\n", "");
    resting
        .write_all(format!("{alive}Content-Length: 2\r\n\r\n{{}}").as_bytes())
        .unwrap();
    assert_eq!(read(&mut resting).unwrap().status, 200);
    let whole = format!("{head}Content-Length: {}\r\n\r\n", body.len());
    slow_body.write_all(whole.as_bytes()).unwrap();
    let begun = Instant::now();
    for byte in whole.bytes().take(30) {
        if slow_head.write_all(&[byte]).is_err() {
            break;
        }
        let _ = slow_body.write_all(b" ");
        thread::sleep(Duration::from_millis(30));
        server.lives();
    }
    assert_eq!(read(&mut slow_body).map(|answer| answer.status), Some(408));
    for stream in [&mut silent, &mut slow_head, &mut resting] {
        let answer = read(stream).map(|answer| answer.status);
        assert!(answer.is_none() || answer == Some(408), "{answer:?}");
    }
    assert_within(begun, Duration::from_secs(8));
    server.lives();
}

#[test]
fn too_many_connections_are_turned_away_and_let_in_again() {
    let directory = std::env::temp_dir();
    let server = Server::begin(&directory, &["--stay", "--patience", "3"]);
    let held: Vec<_> = (0..64).map(|_| server.connect()).collect();
    // One that comes too late is told so, or cut off.
    let mut late = server.connect();
    let head = server.head("hello", "test");
    let _ = late.write_all(format!("{head}Content-Length: 2\r\n\r\n{{}}").as_bytes());
    let answer = read(&mut late).map(|answer| answer.status);
    assert!(answer.is_none() || answer == Some(503), "{answer:?}");
    drop(held);
    thread::sleep(Duration::from_millis(300));
    server.lives();
}

#[test]
fn whoever_is_refused_keeps_no_connection() {
    let server = Server::plain();
    let ask = |stream: &mut TcpStream| {
        let head = format!(
            "GET /x/ HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
            server.port
        );
        stream.write_all(head.as_bytes()).unwrap();
        assert_eq!(read(stream).unwrap().status, 404);
    };
    // As many as there are places, each of which would go on asking.
    let mut held: Vec<TcpStream> = (0..64).map(|_| server.connect()).collect();
    held.iter_mut().for_each(ask);
    for stream in &mut held {
        assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0, "it stays open");
    }
    server.lives();
    // The owner's connections are kept.
    let mut own = server.connect();
    let head = server
        .head("hello", "test")
        .replace("Connection: close\r\n", "");
    for _ in 0..2 {
        own.write_all(format!("{head}Content-Length: 2\r\n\r\n{{}}").as_bytes())
            .unwrap();
        assert_eq!(read(&mut own).unwrap().status, 200);
    }
}

/// A class with so many long tied steps that the changes of one code take minutes to look at.
fn slow() -> Value {
    let class = "--task z:5 --lengths 40 --window 0,2 --memory 2 --tied";
    json!({"class": class.split(' ').collect::<Vec<_>>(), "how": "constant"})
}

#[test]
fn a_barrier_is_given_up_when_its_time_is_over() {
    let directory = std::env::temp_dir();
    let server = Server::begin(&directory, &["--stay", "--longest", "1"]);
    let mut body = slow();
    let code = server.ask("start", &body).good()["code"].clone();
    body = json!({"class": body["class"], "code": code, "cap": 1_000_000, "barrier": true});
    let begun = Instant::now();
    let answer = server.ask("certify", &body);
    assert_within(begun, Duration::from_secs(15));
    match answer.status {
        200 => assert_eq!(answer.json()["stopped"], true),
        503 => assert!(answer.refused(503).contains("stopped"), "{answer:?}"),
        _ => panic!("{answer:?}"),
    }
}

#[test]
fn barriers_that_nobody_waits_for_leave_their_places() {
    let directory = std::env::temp_dir();
    let server = Server::begin(&directory, &["--stay", "--longest", "300"]);
    let mut body = slow();
    let code = server.ask("start", &body).good()["code"].clone();
    body = json!({"class": body["class"], "code": code, "cap": 1_000_000, "barrier": true});
    let (head, body) = (server.head("certify", "test"), body.to_string());
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let mut four: Vec<TcpStream> = (0..4).map(|_| server.connect()).collect();
    for stream in &mut four {
        stream.write_all(request.as_bytes()).unwrap();
    }
    thread::sleep(Duration::from_secs(1));
    let other = || server.ask("certify", &small());
    assert!(other().refused(503).contains("4 long computations"));
    drop(four);
    let begun = Instant::now();
    while other().status == 503 {
        assert_within(begun, Duration::from_secs(15));
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_tree_tells_how_far_it_is_and_ends_with_its_client() {
    let directory = std::env::temp_dir();
    let server = Server::begin(&directory, &["--stay", "--longest", "300"]);
    let class = "--task parity --lengths 6 --inputs markov:9/10";
    let body = json!({"class": class.split(' ').collect::<Vec<_>>()}).to_string();
    let progress = |page: &str| {
        let told = server
            .ask_as(page, "progress", &json!({"of": "tree"}))
            .good();
        told["done"].as_u64().zip(told["all"].as_u64())
    };
    assert_eq!(progress("test"), None);
    let head = server.head("tree", "test");
    let mut stream = server.connect();
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).unwrap();
    let begun = Instant::now();
    let mut before = 0;
    for _ in 0..2 {
        // It moves on, towards three visits of each of 2^22 codes.
        loop {
            assert_within(begun, Duration::from_secs(60));
            if let Some((done, all)) = progress("test").filter(|&(done, _)| done > before) {
                assert_eq!(all, 3 << 22);
                before = done;
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
    assert_eq!(progress("other"), None, "it is of the page that asked");
    drop(stream);
    let begun = Instant::now();
    while progress("test").is_some() {
        assert_within(begun, Duration::from_secs(10));
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_tree_that_will_not_be_done_is_given_up_early_with_a_reason() {
    let directory = std::env::temp_dir();
    let server = Server::begin(&directory, &["--stay", "--longest", "0.2"]);
    let class = "--task parity --lengths 6 --inputs markov:9/10";
    let body = json!({"class": class.split(' ').collect::<Vec<_>>()});
    let answer = server.ask("tree", &body);
    let words = answer.refused(503);
    assert!(words.contains("it would take about"), "{words}");
    assert!(words.contains("a page waits 0.2 s"), "{words}");
    let help = answer.json()["help"].as_str().unwrap().to_owned();
    assert!(help.contains("foldglass tree --svg tree.svg"), "{help}");
}

#[test]
fn a_long_computation_is_stopped_and_stops_no_other() {
    let directory = std::env::temp_dir();
    let server = Server::begin(&directory, &["--stay", "--longest", "1"]);
    // No way up is found among so many codes in a second.
    let class = ["--task", "quasigroup", "--lengths", "6", "--window", "0,2"];
    let code = server
        .ask("start", &json!({"class": class, "how": "constant"}))
        .good();
    let body = json!({"class": class, "code": code["code"], "cap": 1_000_000, "barrier": true});
    let begun = Instant::now();
    thread::scope(|scope| {
        let certified = scope.spawn(|| server.ask("certify", &body));
        thread::sleep(Duration::from_millis(100));
        let asked = Instant::now();
        server.ask("look", &small()).good();
        assert_within(asked, Duration::from_millis(900));
        let certified = certified.join().unwrap().good();
        assert!(certified["verdict"].is_string(), "{certified}");
    });
    assert_within(begun, Duration::from_secs(8));
    server.lives();
}

#[test]
fn a_page_has_eight_runs_and_no_others() {
    let server = Server::plain();
    let mut body = small();
    body["kind"] = "chain".into();
    body["tau"] = 0.01.into();
    let begin = |page: &str| {
        server.ask_as(page, "run/new", &body).good()["run"]
            .as_u64()
            .unwrap()
    };
    let step = |page: &str, run: u64| server.ask_as(page, "run/step", &json!({"run": run})).status;
    let other = begin("other");
    let runs: Vec<u64> = (0..40).map(|_| begin("one")).collect();
    let kept: Vec<u64> = runs
        .iter()
        .copied()
        .filter(|&run| step("one", run) == 200)
        .collect();
    assert_eq!(kept, runs[32..]);
    assert_eq!((step("other", other), step("one", other)), (200, 404));
    assert_eq!(step("other", kept[0]), 404);
    server
        .ask_as("one", "run/drop", &json!({"run": kept[0]}))
        .good();
    assert_eq!(step("one", kept[0]), 404);
    server.ask_as("x", "gone", &json!({"page": "one"})).good();
    assert_eq!((step("one", kept[1]), step("other", other)), (404, 200));
    for sweeps in [0, 10_001] {
        let body = json!({"run": other, "sweeps": sweeps});
        server.ask_as("other", "run/step", &body).refused(422);
    }
    server.lives();
}

#[test]
fn a_computation_ends_with_the_client_that_asked_for_it() {
    let directory = std::env::temp_dir();
    let server = Server::begin(&directory, &["--stay", "--longest", "60"]);
    let class = ["--task", "quasigroup", "--lengths", "6", "--window", "0,2"];
    let start = json!({"class": class, "how": "constant"});
    let code = server.ask("start", &start).good();
    let body = json!({"class": class, "code": code["code"], "cap": 1_000_000, "barrier": true});
    let (head, body) = (server.head("certify", "test"), body.to_string());
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let begin = || {
        let mut stream = server.connect();
        stream.write_all(request.as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(150));
        stream
    };
    // Four go on at once, and no fifth.
    let mut four: Vec<_> = (0..4).map(|_| begin()).collect();
    let fifth = server.send(request.as_bytes());
    assert!(
        fifth.refused(503).contains("4 long computations"),
        "{fifth:?}"
    );
    server.lives();
    four.clear();
    let begun = Instant::now();
    while server.ask("start", &start).status == 503 {
        assert!(begun.elapsed() < Duration::from_secs(20), "they go on");
        thread::sleep(Duration::from_millis(50));
    }
}

mod full {
    use super::*;

    #[test]
    fn long_inputs_and_wide_classes_are_answered_in_time() {
        let directory = std::env::temp_dir();
        let server = Server::begin(&directory, &["--stay", "--longest", "1"]);
        for class in [
            &["--task", "parity", "--lengths", "120"][..],
            &["--task", "z:30", "--lengths", "20"],
            &[
                "--task",
                "z:5",
                "--lengths",
                "24",
                "--window",
                "0,2",
                "--tied",
            ],
        ] {
            let code = json!({"class": class, "how": "constant"});
            let code = server.ask("start", &code).good()["code"].clone();
            for name in ["look", "wrong", "escape", "certify"] {
                let begun = Instant::now();
                let status = server
                    .ask(name, &json!({"class": class, "code": code}))
                    .status;
                assert!(
                    [200, 422, 503].contains(&status),
                    "{class:?} {name}: {status}"
                );
                let longest = Duration::from_secs(20);
                assert!(
                    begun.elapsed() < longest,
                    "{class:?} {name}: {:?}",
                    begun.elapsed()
                );
            }
            for kind in ["chain", "cavi"] {
                let body = json!({"class": class, "code": code, "kind": kind, "tau": 0.1});
                let begun = server.ask("run/new", &body);
                if begun.status == 200 {
                    server
                        .ask("run/step", &json!({"run": begun.json()["run"]}))
                        .good();
                }
            }
        }
    }
}
