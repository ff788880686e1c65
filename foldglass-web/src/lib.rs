//! Answers the explorer's questions in a browser: a module of WebAssembly with a few functions and no other interface.
//!
//! A caller asks for room, writes the name of a question and its body there, one behind the other, calls `ask` with
//! both lengths, and reads the answer where `answer` says. With the feature `records`, the files of a directory are
//! handed over by `hold` before the first question. The module imports the clock and reports progress; it
//! cannot reach anything else. Other targets have no such interface, and there this crate is empty.

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod interface;
