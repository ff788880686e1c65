//! Drives Chromium without a window, over the pipe of its debugging protocol: real clicks, real keys.
//!
//! The browser is the package `chromium` of Debian, which `.ci/run` installs. Two named pipes stand in for
//! the file descriptors 3 and 4 that it speaks on.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use super::browser::{Browser, PATIENCE, middle};
use crate::tools::{need, runs};

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The program's name, where there is a browser; else the test is skipped, and in CI it fails.
pub fn installed() -> Option<&'static str> {
    let found = NAMES.into_iter().find(|name| runs(name, "--version"));
    need(found, "chromium (install the package chromium)")
}

/// A browser with one page.
pub struct Chromium {
    child: Child,
    commands: File,
    messages: Receiver<Value>,
    session: Option<String>,
    last: u64,
    /// What its console said, errors and warnings.
    pub complaints: Vec<String>,
    /// The addresses it asked for.
    pub requests: Vec<String>,
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Chromium {
    /// Starts it, with its files in a directory of the test.
    pub fn start(browser: &str, scratch: &Path) -> Chromium {
        let [to, from] = ["commands", "messages"].map(|name| scratch.join(name));
        let made = Command::new("mkfifo").arg(&to).arg(&from).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo failed");
        let child = Command::new("sh")
            .args([
                "-c",
                "to=$1 from=$2; shift 2; exec \"$@\" 3<\"$to\" 4>\"$from\"",
                "sh",
            ])
            .args([&to, &from])
            .arg(browser)
            .args([
                "--headless",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
            ])
            .args(["--disable-quic", "--no-first-run", "--hide-scrollbars"])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .arg(format!(
                "--user-data-dir={}",
                scratch.join("profile").display()
            ))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = File::options().write(true).open(&to).unwrap();
        let messages = listen(File::open(&from).unwrap());
        let mut chromium = Chromium {
            child,
            commands,
            messages,
            session: None,
            last: 0,
            complaints: Vec::new(),
            requests: Vec::new(),
        };
        chromium.attach();
        chromium
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", attached);
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// A call of the protocol; what happens meanwhile is kept.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).unwrap();
        loop {
            let message = self.messages.recv_timeout(PATIENCE);
            let message = message.unwrap_or_else(|error| panic!("{method}: no answer: {error}"));
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str().unwrap_or("") {
            "Runtime.consoleAPICalled" if params["type"] != "log" => {
                self.complaints.push(params["args"].to_string());
            }
            "Runtime.exceptionThrown" => {
                self.complaints.push(params["exceptionDetails"].to_string());
            }
            "Log.entryAdded" => {
                let entry = &params["entry"];
                self.complaints
                    .push(format!("{} {}", entry["text"], entry["url"]));
            }
            "Network.requestWillBeSent" => {
                let address = params["request"]["url"].as_str().unwrap_or("");
                self.requests.push(address.to_owned());
            }
            _ => {}
        }
    }

    /// The processes that draw pages.
    pub fn renderers(&mut self) -> Vec<u32> {
        let session = self.session.take();
        let told = self.call("SystemInfo.getProcessInfo", json!({}));
        self.session = session;
        let all = told["processInfo"].as_array().unwrap().iter();
        let drawing = all.filter(|one| one["type"] == "renderer");
        drawing
            .map(|one| one["id"].as_u64().unwrap() as u32)
            .collect()
    }

    /// Where files go that are taken from pages.
    pub fn download_to(&mut self, directory: &Path) {
        let session = self.session.take();
        let asked = json!({ "behavior": "allow", "downloadPath": directory });
        self.call("Browser.setDownloadBehavior", asked);
        self.session = session;
    }

    /// Goes to an address and waits until it is loaded.
    pub fn open(&mut self, address: &str) {
        let gone = self.call("Page.navigate", json!({ "url": address }));
        assert!(gone["errorText"].is_null(), "{address}: {gone}");
        self.wait_for("document.readyState === 'complete'");
    }

    /// The width and height of the window.
    pub fn size(&mut self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// What the reader prefers: `prefers-color-scheme`, `prefers-reduced-motion`.
    pub fn prefer(&mut self, preferences: &[(&str, &str)]) {
        let features = preferences
            .iter()
            .map(|(name, value)| json!({ "name": name, "value": value }));
        let features: Vec<Value> = features.collect();
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": features }),
        );
    }

    /// The value of an expression, awaited if it is a promise.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", asked);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn wait_for(&mut self, expression: &str) {
        Browser::wait_for(self, expression);
    }

    /// Drops a file or a directory of the disk in the middle of the window.
    pub fn drop_file(&mut self, path: &Path) {
        let data = json!({ "items": [], "files": [path], "dragOperationsMask": 1 });
        self.evaluate(
            "dragged = false, addEventListener('dragover', () => setTimeout(() => { dragged = true; }, 50), { once: true })",
        );
        for kind in ["dragEnter", "dragOver", "drop"] {
            // What is dropped before the page has said that it takes it is lost.
            if kind == "drop" {
                self.wait_for("dragged");
            }
            let event = json!({ "type": kind, "x": 300, "y": 300, "data": data });
            self.call("Input.dispatchDragEvent", event);
        }
    }

    /// Puts a file or a directory of the disk in an entry for files.
    pub fn choose(&mut self, selector: &str, path: &Path) {
        let document = self.call("DOM.getDocument", json!({}));
        let asked = json!({ "nodeId": document["root"]["nodeId"], "selector": selector });
        let found = self.call("DOM.querySelector", asked);
        let chosen = json!({ "nodeId": found["nodeId"], "files": [path] });
        self.call("DOM.setFileInputFiles", chosen);
    }

    /// Clicks the middle of the first element that a selector finds, with a mouse.
    pub fn click(&mut self, selector: &str) {
        let place = self.evaluate(&middle(selector));
        assert!(!place.is_null(), "nothing to click at {selector}");
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses a key: a letter, or a name such as `ArrowDown`.
    pub fn key(&mut self, key: &str) {
        self.chord(key, 0);
    }

    /// Presses a key with others held: 2 is Ctrl, 8 is Shift.
    pub fn chord(&mut self, key: &str, modifiers: u32) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            " " => 32,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            "Tab" => 9,
            letter => letter
                .to_ascii_uppercase()
                .bytes()
                .next()
                .map_or(0, u32::from),
        };
        let mut event = json!({ "type": "keyDown", "key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code });
        if modifiers & 2 == 0 && (key.chars().count() == 1 || key == "Enter") {
            event["text"] = if key == "Enter" {
                "\r".into()
            } else {
                key.into()
            };
        }
        self.call("Input.dispatchKeyEvent", event.clone());
        event["type"] = "keyUp".into();
        self.call("Input.dispatchKeyEvent", event);
    }

    /// Replaces what stands in an entry, and leaves it.
    pub fn write(&mut self, selector: &str, text: &str) {
        self.evaluate(&format!("document.querySelector({selector:?}).select()"));
        self.evaluate(&format!("document.querySelector({selector:?}).focus()"));
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// A picture of the window.
    pub fn screenshot(&mut self, file: &Path) {
        let taken = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        fs::write(file, decoded(taken["data"].as_str().unwrap_or(""))).unwrap();
    }
}

impl Browser for Chromium {
    fn open(&mut self, address: &str) {
        Chromium::open(self, address);
    }

    fn evaluate(&mut self, expression: &str) -> Value {
        Chromium::evaluate(self, expression)
    }

    fn click(&mut self, selector: &str) {
        Chromium::click(self, selector);
    }

    fn complaints(&self) -> Vec<String> {
        self.complaints.clone()
    }
}

/// Messages as they come, on a thread of their own.
fn listen(pipe: File) -> Receiver<Value> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while pipe.read_until(0, &mut bytes).is_ok_and(|n| n > 0) {
            bytes.pop();
            let message = serde_json::from_slice(&bytes);
            bytes.clear();
            if message.is_ok_and(|message| sender.send(message).is_err()) {
                return;
            }
        }
    });
    receiver
}

/// Bytes from base 64.
fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |byte: u8| DIGITS.iter().position(|&d| d == byte).unwrap_or(0) as u32;
    let text = text.trim_end_matches('=').as_bytes();
    let group = |group: &[u8]| {
        let bits = group.iter().fold(0, |bits, &byte| bits << 6 | digit(byte));
        let bits = bits << (6 * (4 - group.len()));
        bits.to_be_bytes()[1..group.len()].to_vec()
    };
    text.chunks(4).flat_map(group).collect()
}
