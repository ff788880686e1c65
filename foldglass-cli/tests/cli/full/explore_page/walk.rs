//! Holds a server and a browser that walks through its page.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::slow;
use crate::full::chromium::Chromium;
use crate::support::Scratch;

/// A process that ends with the test.
pub struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Ending {
    /// Starts `foldglass`, which says nothing.
    pub fn start(words: &str, directory: &Path) -> Ending {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldglass"));
        command
            .args(words.split_whitespace())
            .current_dir(directory);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ending(command.stderr(Stdio::null()).spawn().unwrap())
    }
}

/// A server that ends with the test.
pub struct Server {
    process: Ending,
    pub address: String,
}

impl Server {
    pub fn pid(&self) -> u32 {
        self.process.0.id()
    }

    pub fn start(args: &[&str], directory: &Path) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_foldglass"))
            .args(["explore", "--no-open", "--stay"])
            .args(args)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{address:?}");
        Server {
            process: Ending(child),
            address,
        }
    }
}

/// Runs a command to its end.
pub fn foldglass(args: &[&str], directory: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foldglass"));
    let done = command.args(args).current_dir(directory).output().unwrap();
    assert!(done.status.success(), "{args:?}: {done:?}");
}

/// A walk through the page.
pub struct Walk {
    pub browser: Chromium,
    pub address: String,
    /// The addresses of servers before.
    pub visited: Vec<String>,
    pub downloads: PathBuf,
    pub screenshots: Option<PathBuf>,
    /// What the server refused on purpose; the browser's log tells of each.
    pub refused: usize,
}

/// What a reader asks for who wants nothing to move.
pub const STILL: (&str, &str) = ("prefers-reduced-motion", "reduce");

impl Walk {
    /// A browser of a common size, in which a click finds its place: nothing glides.
    pub fn begin(browser: &str, server: &Server, scratch: &Scratch) -> Walk {
        Walk::at(browser, &server.address, scratch)
    }

    /// The same of a page at any address.
    pub fn at(browser: &str, address: &str, scratch: &Scratch) -> Walk {
        let mut walk = Walk {
            browser: Chromium::start(browser, scratch.path()),
            address: address.to_owned(),
            visited: Vec::new(),
            downloads: scratch.path().join("downloads"),
            screenshots: std::env::var_os("FOLDGLASS_SCREENSHOTS").map(PathBuf::from),
            refused: 0,
        };
        walk.browser.download_to(&walk.downloads);
        walk.browser.size(1280, 900);
        walk.browser.prefer(&[STILL]);
        walk
    }

    /// The words of a picture stand out from what is behind them, which is the page's own ground: contrast 3 at
    /// least.
    pub fn legible(&mut self, picture: &str, words: &str) {
        let dim = self.browser.evaluate(&format!(
            "(() => {{ \
             const bytes = (colour) => {{ const ink = document.createElement('canvas').getContext('2d'); ink.fillStyle = colour; ink.fillRect(0, 0, 1, 1); return [...ink.getImageData(0, 0, 1, 1).data]; }}; \
             const light = (colour) => {{ const [r, g, b] = bytes(colour).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; }}; \
             const ground = getComputedStyle(document.querySelector({picture:?})).backgroundColor; \
             const card = getComputedStyle(document.querySelector('.card')).backgroundColor; \
             if (ground !== card) return ['the ground is ' + ground + ', the page is ' + card]; \
             const below = light(ground); \
             return [...document.querySelectorAll({picture:?} + ' ' + {words:?})].filter((one) => one.textContent).map((one) => {{ \
             const above = light(getComputedStyle(one).fill); \
             const contrast = (Math.max(above, below) + 0.05) / (Math.min(above, below) + 0.05); \
             return contrast < 3 ? one.textContent + ': ' + contrast : null; }}).filter(Boolean); }})()"
        ));
        assert_eq!(dim, serde_json::json!([]), "{picture}");
    }

    pub fn text(&mut self, id: &str) -> String {
        let text = self
            .browser
            .evaluate(&format!("document.getElementById({id:?}).textContent"));
        text.as_str().unwrap_or("").to_owned()
    }

    pub fn is(&mut self, expression: &str) -> bool {
        self.browser.evaluate(&format!("Boolean({expression})")) == true
    }

    pub fn wait_for_text(&mut self, id: &str, part: &str) {
        let expression = format!("document.getElementById({id:?}).textContent.includes({part:?})");
        self.browser.wait_for(&expression);
    }

    /// Waits until the server has told everything about the code at hand.
    pub fn settle(&mut self) {
        self.browser.wait_for("!document.querySelector('#reward-panel.waiting') && document.getElementById('status').textContent");
        // The address is written a moment later.
        std::thread::sleep(Duration::from_millis(450));
    }

    /// Opens a class by its address.
    pub fn class(&mut self, flags: &str, view: &str) {
        let first = flags.split(' ').nth(1).unwrap_or("").to_owned();
        let set = "location.hash = new URLSearchParams";
        self.browser
            .evaluate(&format!("{set}({{ class: {flags:?}, view: {view:?} }})"));
        self.wait_for_text("class-words", &first);
        self.browser
            .wait_for(&format!("document.body.dataset.view === {view:?}"));
        self.settle();
    }

    /// The code in the address.
    pub fn code(&mut self) -> Vec<u8> {
        let code = self
            .browser
            .evaluate("new URLSearchParams(location.hash.slice(1)).get('code')");
        code.as_str()
            .unwrap_or("")
            .bytes()
            .map(|byte| byte - b'0')
            .collect()
    }

    pub fn count(&mut self, selector: &str) -> u64 {
        let count = format!("document.querySelectorAll({selector:?}).length");
        self.browser.evaluate(&count).as_u64().unwrap_or(0)
    }

    pub fn screenshot(&mut self, name: &str) {
        if let Some(directory) = &self.screenshots {
            self.browser
                .screenshot(&directory.join(format!("{name}.png")));
        }
    }

    /// Takes everything of the view away, and looks whether it is what it says.
    pub fn take_all(&mut self, names: &[&str]) {
        self.browser.evaluate(
            "document.querySelectorAll('details').forEach((one) => { one.open = true; })",
        );
        let seen =
            "[...document.querySelectorAll('.take button')].filter((one) => one.offsetParent)";
        self.browser
            .evaluate(&format!("{seen}.forEach((one) => one.click())"));
        for name in names {
            let file = self.downloads.join(name);
            let start = Instant::now();
            // A browser names the file before it has written it.
            while fs::metadata(&file).map_or(0, |data| data.len()) == 0 {
                assert!(
                    start.elapsed() < Duration::from_secs(10),
                    "{name} was not taken"
                );
                std::thread::sleep(Duration::from_millis(20));
            }
            let text = fs::read_to_string(&file).unwrap();
            if name.ends_with(".svg") {
                assert!(
                    text.starts_with("<svg") && text.trim_end().ends_with("</svg>"),
                    "{name}"
                );
            } else {
                serde_json::from_str::<Value>(&text)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            fs::remove_file(file).unwrap();
        }
    }

    /// The page says of the code what a slow evaluation says.
    pub fn compare(&mut self) {
        self.settle();
        let code = self.code();
        assert_eq!(self.text("reward"), slow::reward(&code), "{code:?}");
        for (cell, token) in code.iter().enumerate() {
            let class = self.browser.evaluate(&format!(
                "document.querySelector('[data-cell=\"{cell}\"]').getAttribute('class')"
            ));
            let mark = slow::mark(&code, cell);
            let class = class.as_str().unwrap_or("").to_owned();
            assert!(
                class.split(' ').any(|word| word == mark),
                "cell {cell}: {mark}, not {class}; {code:?}"
            );
            assert!(*token < 2);
        }
        let wrong = format!("{} of 32", 32 - slow::right(&code));
        self.wait_for_text("wrong-count", &wrong);
    }
}
