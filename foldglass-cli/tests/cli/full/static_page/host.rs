//! Serves the static explorer as a host does, in a subfolder and compressed, and takes note of what is asked.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// The folder of the host in which the page is.
pub const PLACE: &str = "/some/folder/";

/// A file as a host sends it.
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
pub struct Host {
    pub address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Host {
    pub fn start(folder: &Path) -> Host {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}{PLACE}", listener.local_addr().unwrap());
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

    /// The paths it was asked for, each once.
    pub fn asked(&self) -> BTreeSet<String> {
        self.asked.lock().unwrap().iter().cloned().collect()
    }
}

/// The file of a path.
fn file(folder: &Path, path: &str) -> Option<PathBuf> {
    let file = match path.strip_prefix(PLACE)? {
        "" => folder.join("index.html"),
        path => folder.join(path),
    };
    file.is_file().then_some(file)
}

/// The bytes that it sends for a path.
pub fn sent(folder: &Path, path: &str) -> usize {
    file(folder, path).map_or(0, |file| compressed(&file).len())
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
        let file = file(folder, &path);
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
