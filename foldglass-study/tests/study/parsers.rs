//! Feeds the parsers of code, policy, verdict, path and study files with random bytes and with damaged
//! files: they refuse or they read, and never panic. `cargo xtask attack --files N` does the same to the
//! whole program, a process a case; here there are thousands in a second.

use std::fs;
use std::path::PathBuf;

use foldglass::Allowance;
use foldglass_study::files::Input;
use foldglass_study::tables::{Source, Tables};
use foldglass_study::{Study, claims};

/// Cases of each parser and each kind of damage.
const CASES: u64 = 600;

/// Classes that would take more are refused.
const ALLOWANCE: Allowance = Allowance(1 << 22);

const CODE: &str = r#"{"format":"foldglass-code/1","class":{"square":[[0,1],[1,0]],"lengths":[2],"window":[0,0],"tied":false,"memory":1,"inputs":"uniform"},"actions":[0,0,0,0,0,0]}"#;
const POLICY: &str = r#"{"format":"foldglass-policy/1","class":{"square":[[0,1],[1,0]],"lengths":[2],"window":[0,0],"tied":false,"memory":1,"inputs":"markov:9/10"},"rows":[[0.5,0.5],[1,0],[0.25,0.75],[0,1],[0.5,0.5],[1,0]]}"#;
const VERDICT: &str = r#"{"format":"foldglass-verdict/1","class":{"square":[[0,1],[1,0]],"lengths":[2],"window":[0,0],"tied":false,"memory":1,"inputs":"uniform"},"verdicts":[
{"actions":[0,0,0,0,0,0],"reward_exact":"1/2","verdict":"escapes","moves":[{"cell":0,"from":0,"to":1,"kind":"neutral","reward_exact":"1/2"},{"cell":2,"from":0,"to":1,"kind":"raise","reward_exact":"3/4"}]}
]}"#;
const PATH: &str = r#"{"format":"foldglass-path/1","class":{"square":[[0,1],[1,0]],"lengths":[2],"window":[0,0],"tied":false,"memory":1,"inputs":"uniform"},"actions":[0,0,0,0,0,0],"start_exact":"1/2","moves":[{"cell":1,"from":0,"to":1,"kind":"consolidate","reward_exact":"1/2"},{"cell":4,"from":0,"to":1,"kind":"finish","reward_exact":"3/4"},{"cell":3,"from":0,"to":1,"kind":"finish","reward_exact":"1/1"}],"reward_exact":"1/1"}"#;
const STUDY: &str = r#"name = "s"
seed = 3
[[class]]
id = "p"
task = "parity"
[class.grid]
lengths = [4, 6]
k = ["7/10", "9/10"]
[[dynamics]]
kind = "cavi"
iterations = 20
runs = 3
tau = { from = 1e-6, to = 1e-1, points = 3 }
quench = "5,1e-13"
[dynamics.grid]
damping = [0.1, 1.0]
"#;

/// Pieces that mean something to one of the parsers.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "null",
    "true",
    "-1",
    "0",
    "1e999",
    "18446744073709551616",
    "1/0",
    "0/1",
    "\\u0000",
    "\u{0}",
    "NaN",
    "[[",
    "\"class\":",
    "lengths = [",
    "= {",
    "points = 999999999999",
    "\n",
];

/// Random numbers, the same in every run (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// A file with one to four damages.
fn damaged(content: &str, random: &mut Random) -> Vec<u8> {
    let mut bytes = content.as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => {
                let end = (at + random.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let end = (at + random.below(60)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                let place = random.below(bytes.len());
                bytes.splice(place..place, again);
            }
            _ => {
                let piece = PIECES[random.below(PIECES.len())].bytes();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

fn random_bytes(random: &mut Random) -> Vec<u8> {
    let length = random.below(200);
    (0..length).map(|_| random.next() as u8).collect()
}

/// Every case, to a parser.
fn feed(content: &str, seed: u64, mut parse: impl FnMut(Vec<u8>)) {
    let mut random = Random(seed);
    parse(content.as_bytes().to_vec());
    for _ in 0..CASES {
        parse(random_bytes(&mut random));
        parse(damaged(content, &mut random));
    }
}

#[test]
fn no_bytes_make_the_parser_of_claims_panic() {
    let mut read = 0;
    for (seed, content) in [VERDICT, PATH].into_iter().enumerate() {
        feed(content, seed as u64, |bytes| {
            read += usize::from(claims::read(&Input::of("claim", bytes), ALLOWANCE).is_ok());
        });
    }
    // The files themselves are read, so that the damage falls on what matters.
    assert!(read >= 2, "{read}");
}

#[test]
fn no_bytes_make_the_parsers_of_codes_and_policies_panic() {
    let name = format!("foldglass-parsers-{}", std::process::id());
    let path: PathBuf = std::env::temp_dir().join(name);
    let source = Source {
        path: path.clone(),
        number: None,
    };
    let mut read = 0;
    for (seed, content) in [CODE, POLICY].into_iter().enumerate() {
        feed(content, seed as u64, |bytes| {
            fs::write(&path, bytes).unwrap();
            for tables in [Tables::codes(&source), Tables::policies(&source)]
                .into_iter()
                .flatten()
            {
                let Ok(Some(spec)) = tables.class() else {
                    continue;
                };
                let Ok(class) = spec.clone().lay_out_within(ALLOWANCE) else {
                    continue;
                };
                read += usize::from(
                    tables.as_codes(&class).is_ok() || tables.as_policies(&class).is_ok(),
                );
            }
        });
    }
    fs::remove_file(&path).unwrap();
    assert!(read >= 2, "{read}");
}

#[test]
fn no_bytes_make_the_parser_of_studies_panic() {
    let mut read = 0;
    feed(STUDY, 7, |bytes| {
        let Ok(text) = String::from_utf8(bytes) else {
            return;
        };
        if let Ok(study) = Study::parse(&text, 0) {
            read += usize::from(study.checked().is_ok());
        }
    });
    assert!(read >= 1, "{read}");
}
