//! Plays in two pages at once, and for as long as one likes.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use super::walk::Server;
use crate::full::chromium::{self, Chromium};
use crate::support::Scratch;

const PAGE: &str = "#class=--task+parity+--lengths+6&view=dynamics";

/// A server, its page in one browser and in another; none where there is no browser.
fn two_pages(scratch: &Scratch) -> Option<(Server, [Chromium; 2])> {
    let browser = chromium::installed()?;
    let server = Server::start(&[], scratch.path());
    let pages = ["first", "second"].map(|name| {
        let directory = scratch.path().join(name);
        fs::create_dir_all(&directory).unwrap();
        let mut page = Chromium::start(browser, &directory);
        page.open(&format!("{}{PAGE}", server.address));
        page.wait_for("document.getElementById('chain-words').textContent.includes('sweep 0')");
        page.evaluate("document.activeElement.blur()");
        page
    });
    Some((server, pages))
}

/// The sweeps that a page has made.
fn sweeps(page: &mut Chromium) -> u64 {
    let words = "document.getElementById('chain-words').textContent.replaceAll(',', '')";
    let number = format!("Number({words}.match(/sweep ([0-9]+)/)[1])");
    page.evaluate(&number).as_u64().unwrap()
}

/// What both runs of a page are at, in its words.
fn words(page: &mut Chromium) -> String {
    let both = "['chain-words', 'cavi-words'].map((id) => document.getElementById(id).textContent).join('; ')";
    page.evaluate(both).as_str().unwrap().to_owned()
}

fn sweep_seven_times(page: &mut Chromium) {
    for sweep in 1..=7 {
        page.key(".");
        page.wait_for(&format!(
            "['chain-words', 'cavi-words'].every((id) => document.getElementById(id).textContent.includes('sweep {sweep}:'))"
        ));
    }
}

#[test]
fn two_pages_at_once_do_not_disturb_each_other() {
    let scratch = Scratch::new();
    let Some((_server, [mut first, mut second])) = two_pages(&scratch) else {
        return;
    };
    first.key(" ");
    first.wait_for(
        "Number(document.getElementById('chain-words').textContent.match(/[0-9]+/)[0]) > 20",
    );
    sweep_seven_times(&mut second);
    let beside = words(&mut second);
    assert!(sweeps(&mut first) > 20, "it plays on");
    first.key(" ");
    first.wait_for("document.getElementById('play').textContent.includes('Play')");
    first.click("#reset");
    first.wait_for("document.getElementById('chain-words').textContent.includes('sweep 0')");
    first.evaluate("document.activeElement.blur()");
    sweep_seven_times(&mut first);
    assert_eq!(
        words(&mut first),
        beside,
        "one seed, one run, whoever plays beside it"
    );
}

/// The bytes that a page's scripts hold after their garbage was collected, those of the process that draws
/// it, and those of the server.
fn bytes(page: &mut Chromium, server: &Server) -> [u64; 3] {
    page.call("HeapProfiler.collectGarbage", json!({}));
    let usage = page.call("Runtime.getHeapUsage", json!({}));
    let scripts = usage["usedSize"].as_f64().unwrap() as u64;
    let drawing = page.renderers().into_iter().map(resident).max();
    [scripts, drawing.unwrap(), resident(server.pid())]
}

fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let held = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = held.unwrap().trim().trim_end_matches(" kB").trim();
    kilobytes.parse::<u64>().unwrap() << 10
}

/// `FOLDGLASS_PLAY_MINUTES=60 cargo test --release -p foldglass-cli --test explore_page -- --ignored --nocapture`
#[test]
#[ignore = "it plays for an hour"]
fn an_hour_of_playing_in_two_pages_takes_no_more_memory_than_a_minute() {
    let minutes = std::env::var("FOLDGLASS_PLAY_MINUTES");
    let minutes: u64 = minutes.map_or(60, |minutes| minutes.parse().unwrap());
    let scratch = Scratch::new();
    let Some((server, mut pages)) = two_pages(&scratch) else {
        return;
    };
    for page in &mut pages {
        // What an inspector keeps of every request is not the page's.
        page.call("Network.disable", json!({}));
        page.key(" ");
    }
    let mut seen = Vec::new();
    for minute in 1..=minutes {
        let until = Instant::now() + Duration::from_secs(60);
        std::thread::sleep(until - Instant::now());
        let both = pages
            .each_mut()
            .map(|page| (sweeps(page), bytes(page, &server)));
        println!("minute {minute}: sweeps, and bytes of scripts, page and server, {both:?}");
        seen.push(both.map(|(_, bytes)| bytes));
    }
    let most = |minutes: &[[[u64; 3]; 2]], page: usize, what: usize| {
        minutes.iter().map(|seen| seen[page][what]).max().unwrap()
    };
    let (early, late) = seen.split_at(seen.len() / 4 + 1);
    for (page, what) in [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)] {
        let (before, after) = (most(early, page, what), most(late, page, what));
        assert!(
            after <= before + before / 4 + (1 << 20),
            "{before} bytes became {after}"
        );
    }
}
