//! Drives Firefox without a window by Marionette: JSON behind its length, over a socket.
//!
//! The browser is the package `firefox-esr` of Debian.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::browser::{Browser, PATIENCE, middle};
use crate::tools::{need, runs};

/// The program's name, where there is this browser.
pub fn installed() -> Option<&'static str> {
    let found = ["firefox-esr", "firefox"]
        .into_iter()
        .find(|name| runs(name, "--version"));
    need(found, "firefox (install the package firefox-esr)")
}

/// Firefox with one page.
pub struct Firefox {
    child: Child,
    stream: BufReader<TcpStream>,
    last: u64,
}

impl Drop for Firefox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Firefox {
    /// Starts it, with its files in a directory of the test.
    pub fn start(browser: &str, scratch: &Path) -> Firefox {
        let profile = scratch.join("firefox");
        fs::create_dir_all(&profile).unwrap();
        // A free port, which it writes into a file.
        let preferences = "user_pref(\"marionette.port\", 0);\n";
        fs::write(profile.join("user.js"), preferences).unwrap();
        let child = Command::new(browser)
            .args(["--headless", "--marionette", "--no-remote", "--profile"])
            .arg(&profile)
            .env("HOME", scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let port = port(&profile.join("MarionetteActivePort"));
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE * 2)).unwrap();
        let mut firefox = Firefox {
            child,
            stream: BufReader::new(stream),
            last: 0,
        };
        firefox.read();
        firefox.call("WebDriver:NewSession", &json!({}));
        firefox
    }

    /// A message: its length in digits, a colon, and so many bytes of JSON.
    fn read(&mut self) -> Value {
        let mut length = Vec::new();
        self.stream.read_until(b':', &mut length).unwrap();
        let length = String::from_utf8_lossy(&length);
        let length = length.trim_end_matches(':').parse().unwrap();
        let mut text = vec![0; length];
        self.stream.read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// The value that a command gives.
    fn call(&mut self, command: &str, parameters: &Value) -> Value {
        self.last += 1;
        let text = json!([0, self.last, command, parameters]).to_string();
        let message = format!("{}:{text}", text.len());
        self.stream.get_mut().write_all(message.as_bytes()).unwrap();
        let mut answer = self.read();
        assert_eq!(answer[1], self.last, "{command}");
        assert!(answer[2].is_null(), "{command} {parameters}: {}", answer[2]);
        answer[3]["value"].take()
    }
}

/// The port in a file that is written soon.
fn port(file: &Path) -> u16 {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        if let Ok(port) = text.trim().parse() {
            return port;
        }
        assert!(begun.elapsed() < PATIENCE, "Firefox does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Browser for Firefox {
    fn open(&mut self, address: &str) {
        self.call("WebDriver:Navigate", &json!({ "url": address }));
    }

    fn evaluate(&mut self, expression: &str) -> Value {
        let script = format!("return {expression};");
        let asked = json!({ "script": script, "args": [] });
        self.call("WebDriver:ExecuteScript", &asked)
    }

    fn click(&mut self, selector: &str) {
        let place = self.evaluate(&middle(selector));
        assert!(!place.is_null(), "nothing to click at {selector}");
        let mouse = json!({
            "type": "pointer",
            "id": "mouse",
            "actions": [
                { "type": "pointerMove", "duration": 0, "x": place[0], "y": place[1] },
                { "type": "pointerDown", "button": 0 },
                { "type": "pointerUp", "button": 0 },
            ],
        });
        self.call("WebDriver:PerformActions", &json!({ "actions": [mouse] }));
    }
}
