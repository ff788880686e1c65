//! Runs `foldglass explore` and speaks HTTP with it, byte by byte where that matters.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A server that ends with the test.
pub struct Server {
    child: Child,
    pub port: u16,
    pub token: String,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The answer, which is no refusal.
    pub fn good(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, 200, "{text}");
        self.json()
    }

    /// The words of a refusal.
    pub fn refused(&self, status: u16) -> String {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{text}");
        self.json()["error"].as_str().unwrap().to_owned()
    }
}

impl Server {
    /// In a directory, with more flags.
    pub fn begin(directory: &Path, flags: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_foldglass"))
            .args(["explore", "--no-open", "--json"])
            .args(flags)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let begun: Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            let mut errors = String::new();
            child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut errors)
                .unwrap();
            panic!("{flags:?}: {errors}")
        });
        let address = begun["address"].as_str().unwrap();
        let port = begun["port"].as_u64().unwrap() as u16;
        let begin = format!("http://127.0.0.1:{port}/");
        let token = address
            .strip_prefix(&begin)
            .unwrap()
            .strip_suffix('/')
            .unwrap();
        Server {
            child,
            port,
            token: token.to_owned(),
        }
    }

    /// Anywhere, with the class and code of each request.
    pub fn plain() -> Server {
        Server::begin(&std::env::temp_dir(), &["--stay"])
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }

    /// Sends bytes and reads what comes back.
    pub fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        read(&mut stream).unwrap()
    }

    /// The head of a question, but for its length.
    pub fn head(&self, name: &str, page: &str) -> String {
        let Server { port, token, .. } = self;
        format!(
            "POST /{token}/api/{name} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Page: {page}\r\n\
             Content-Type: application/json\r\nConnection: close\r\n"
        )
    }

    pub fn ask_as(&self, page: &str, name: &str, body: &Value) -> Answer {
        let (head, body) = (self.head(name, page), body.to_string());
        let length = body.len();
        self.send(format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes())
    }

    pub fn ask(&self, name: &str, body: &Value) -> Answer {
        self.ask_as("test", name, body)
    }

    /// Asks for a file of the page, with more headers.
    pub fn get(&self, path: &str, host: &str, more: &str) -> Answer {
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n");
        self.send(head.as_bytes())
    }

    /// Whether it still answers.
    pub fn lives(&self) {
        let hello = self.ask("hello", &serde_json::json!({})).good();
        assert_eq!(hello["version"], env!("CARGO_PKG_VERSION"));
    }

    /// Waits until it has ended; its exit code and last words.
    pub fn wait(mut self, longest: Duration) -> (Option<i32>, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < longest, "it goes on");
            std::thread::sleep(Duration::from_millis(20));
        };
        let mut errors = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut errors)
            .unwrap();
        (status.code(), errors)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads one answer; none where the connection ends without one.
pub fn read(stream: &mut TcpStream) -> Option<Answer> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is = name.eq_ignore_ascii_case("content-length");
        is.then(|| value.trim().parse::<usize>().ok()).flatten()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Answer { status, head, body })
}
