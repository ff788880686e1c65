//! Begins, shares and ends the server: files and flags, two pages, Ctrl-C, no page any more, no leak.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::server::Server;
use crate::support::Scratch;

fn interrupt(server: &Server) {
    let pid = server.pid().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn it_begins_with_what_it_was_given() {
    let scratch = Scratch::new();
    let plain = Server::begin(scratch.path(), &["--stay"]);
    let hello = plain.ask("hello", &json!({})).good();
    assert_eq!(
        (&hello["class"], &hello["code"], &hello["directory"]),
        (&json!(null), &json!(null), &json!(null))
    );
    let class = Server::begin(
        scratch.path(),
        &["--task", "z:3", "--lengths", "3", "--window", "0,1"],
    );
    let hello = class.ask("hello", &json!({})).good();
    assert_eq!(
        hello["class"],
        json!(["--task", "z:3", "--lengths", "3", "--window", "0,1"])
    );
    // A square without a name is known by the file it came in, and to no other page.
    scratch.file("square.json", "[[1,0,2],[0,2,1],[2,1,0]]");
    let flags = json!(["--task", "file:square.json", "--lengths", "3"]);
    let body = json!({"class": flags, "how": "ground"});
    let own = Server::begin(
        scratch.path(),
        &["--task", "file:square.json", "--lengths", "3"],
    );
    let code = own.ask("start", &body).good();
    let look = own
        .ask("look", &json!({"class": flags, "code": code["code"]}))
        .good();
    assert_eq!(look["reward"]["text"], "1/1");
    assert!(
        plain
            .ask("start", &body)
            .refused(422)
            .contains("reads no file")
    );
    scratch.file("code.json", code["code_file"]["text"].as_str().unwrap());
    let coded = Server::begin(scratch.path(), &["--code", "code.json"]);
    let hello = coded.ask("hello", &json!({})).good();
    assert_eq!(hello["code"], code["code"]);
    let body = json!({"class": hello["class"], "code": hello["code"]});
    assert_eq!(coded.ask("look", &body).good()["reward"]["text"], "1/1");
}

#[test]
fn mistakes_are_told_before_it_begins() {
    let scratch = Scratch::new();
    for (flags, said) in [
        (&["explore", "nowhere"][..], "nowhere"),
        (&["explore", "--port", "0"], "port"),
        (&["explore", "--task", "z:3"], "--lengths"),
        (&["explore", "--code", "none.json"], "none.json"),
        (&["explore", "--idle", "0"], "seconds"),
        (
            &["explore", "--task", "z:40", "--lengths", "2"],
            "36 symbols",
        ),
        (
            &[
                "explore",
                "--task",
                "z:5",
                "--lengths",
                "9",
                "--window",
                "3,3",
            ],
            "cells",
        ),
    ] {
        let run = scratch.run(flags);
        assert_eq!(run.code, Some(2), "{flags:?}: {}", run.errors);
        assert!(run.errors.contains(said), "{flags:?}: {}", run.errors);
    }
    let server = Server::plain();
    let port = server.port.to_string();
    let run = scratch.run(&["explore", "--no-open", "--port", &port]);
    assert_eq!(run.code, Some(2), "{}", run.errors);
    assert!(run.errors.contains(&port), "{}", run.errors);
}

#[test]
fn ctrl_c_ends_it_with_a_line() {
    let server = Server::plain();
    server.ask("alive", &json!({})).good();
    interrupt(&server);
    let (code, errors) = server.wait(Duration::from_secs(10));
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(errors, "foldglass: explore ended: stopped by Ctrl-C\n");
}

#[test]
fn ctrl_c_ends_it_in_the_middle_of_a_computation() {
    let server = Server::begin(&std::env::temp_dir(), &["--stay", "--longest", "60"]);
    let class = ["--task", "quasigroup", "--lengths", "6", "--window", "0,2"];
    let code = server
        .ask("start", &json!({"class": class, "how": "constant"}))
        .good();
    let body = json!({"class": class, "code": code["code"], "cap": 1_000_000, "barrier": true});
    let body = body.to_string();
    let head = server.head("certify", "test");
    let mut stream = server.connect();
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&server);
    let begun = Instant::now();
    let (code, errors) = server.wait(Duration::from_secs(10));
    assert_eq!(code, Some(0), "{errors}");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn it_ends_when_no_page_is_open_any_more() {
    let begin = || Server::begin(&std::env::temp_dir(), &["--idle", "0.4"]);
    // It waits for a first page, and for as long as one is open.
    let server = begin();
    std::thread::sleep(Duration::from_millis(800));
    server.ask_as("a", "alive", &json!({})).good();
    server.ask_as("b", "alive", &json!({})).good();
    server.ask_as("a", "gone", &json!({"page": "a"})).good();
    std::thread::sleep(Duration::from_millis(800));
    server.ask_as("b", "gone", &json!({"page": "b"})).good();
    let begun = Instant::now();
    let (code, errors) = server.wait(Duration::from_secs(10));
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("no page was open any more"), "{errors}");
    assert!(
        begun.elapsed() >= Duration::from_millis(300),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn two_pages_do_not_disturb_each_other() {
    let server = Server::plain();
    let class = ["--task", "quasigroup", "--lengths", "5"];
    let body = json!({"class": class, "code": null, "kind": "chain", "tau": 0.01, "seed": 4});
    let alone = |page: &str| {
        let run = server.ask_as(page, "run/new", &body).good()["run"].clone();
        let step = json!({"run": run, "sweeps": 20});
        let mut told = Vec::new();
        for _ in 0..5 {
            told.push(server.ask_as(page, "run/step", &step).good()["numerators"].clone());
        }
        told
    };
    let one = alone("one");
    let both = std::thread::scope(|scope| {
        let pages = ["two", "three"].map(|page| scope.spawn(move || alone(page)));
        pages.map(|page| page.join().unwrap())
    });
    assert_eq!(both, [one.clone(), one]);
}

/// The kilobytes of memory that a process holds.
#[cfg(target_os = "linux")]
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim()
        .strip_suffix("kB")
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn playing_takes_no_more_memory_with_time() {
    use std::io::Write;
    let server = Server::plain();
    let class = ["--task", "parity", "--lengths", "4"];
    let new = |kind: &str| {
        let body = json!({"class": class, "code": null, "kind": kind, "tau": 0.01, "seed": 4});
        server.ask("run/new", &body).good()["run"].clone()
    };
    let runs = ["chain", "cavi"].map(new);
    let mut stream = server.connect();
    let head = server
        .head("run/step", "test")
        .replace("Connection: close\r\n", "");
    let mut play = |steps: usize| {
        for number in 0..steps {
            let body =
                json!({"run": runs[number % 2], "sweeps": 50, "tau": 0.01 + (number % 3) as f64});
            let body = body.to_string();
            let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(request.as_bytes()).unwrap();
            assert_eq!(super::server::read(&mut stream).unwrap().status, 200);
        }
        resident(server.pid())
    };
    // The threads that compute come one by one, each with memory of its own.
    let warm = play(2000);
    let later = play(8000);
    // A trace of 400,000 sweeps, were it kept, would take more.
    assert!(
        later < warm + 3000,
        "{warm} kB after 2,000 calls, {later} kB after 10,000"
    );
}
