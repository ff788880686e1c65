//! Compiles `foldglass-web` to WebAssembly, with the Rust of rustup or of Debian. Nothing is installed for it.

use crate::venv::succeed;
use crate::{Failure, cargo, root, skip, target_dir};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const TARGET: &str = "wasm32-unknown-unknown";

/// A library that is compiled here can be made small, and does not format what no one would read: a panic is a trap.
const SMALL_LIBRARY: &str = "-Zbuild-std-features=optimize_for_size";
const NO_WORDS_OF_PANICS: [&str; 2] = ["-Zunstable-options", "-Cpanic=immediate-abort"];

/// What can compile it.
enum Toolchain {
    /// A Rust that has the standard library of the target, as `rustup target add` gives it. The module is larger.
    Ready,
    /// A Rust whose library lies in sources beside it, so that it is compiled too: rustup's `rust-src`, or `rustc-web` and
    /// `rust-web-src` of Debian, which need a linker (`lld`).
    Sources {
        rustc: PathBuf,
        linker: Option<PathBuf>,
    },
}

/// The modules by the names of their files, and the features of each: what a first visit loads, and what is loaded
/// when it is asked for.
const MODULES: [(&str, &str); 3] = [
    ("foldglass.wasm", ""),
    ("foldglass-ways.wasm", "ways"),
    ("foldglass-records.wasm", "records"),
];

/// The modules, compiled if need be; none, and that is listed, where nothing can compile them.
pub fn build() -> Result<Option<Vec<PathBuf>>, Failure> {
    let failed = |why: String| Failure::Failed(format!("explorer: {why}"));
    let start = Instant::now();
    let Some(toolchain) = toolchain() else {
        let lacking = "Rust 1.91 or newer for wasm32-unknown-unknown (rustup component add rust-src, or Debian's \
                       rustc-web, rust-web-src and lld after apt-get update)";
        return skip("explorer", lacking).map(|()| None);
    };
    let out = target_dir().join("web");
    let mut modules = Vec::new();
    for (name, features) in MODULES {
        eprintln!(
            "== explorer: cargo build --package foldglass-web --target {TARGET} --features={features:?}"
        );
        compile(&toolchain, features, &out).map_err(failed)?;
        let (module, kept) = (
            out.join(TARGET).join("web/foldglass_web.wasm"),
            out.join(name),
        );
        // All are compiled into the same file.
        std::fs::copy(&module, &kept)
            .map_err(|error| failed(format!("{}: {error}", module.display())))?;
        modules.push(kept);
    }
    eprintln!(
        "== explorer: compiled in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    Ok(Some(modules))
}

/// Compiles the module with these features.
fn compile(toolchain: &Toolchain, features: &str, out: &Path) -> Result<(), String> {
    let mut build = cargo(&["build", "--quiet", "--package", "foldglass-web"]);
    build.args(["--profile", "web", "--target", TARGET]);
    build.args(["--features", features, "--target-dir"]);
    build.arg(out);
    // Options of a build for this machine are not options of that target.
    build.env_remove("RUSTFLAGS");
    if let Toolchain::Sources { rustc, linker } = toolchain {
        build.args(["-Zbuild-std=std,panic_abort", SMALL_LIBRARY]);
        // The library is compiled with the compiler that it belongs to, which must be told that this is meant.
        build.env("RUSTC", rustc).env("RUSTC_BOOTSTRAP", "1");
        build.env("RUSTFLAGS", NO_WORDS_OF_PANICS.join(" "));
        if let Some(linker) = linker {
            build.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
    }
    succeed("cargo build", &mut build).map(drop)
}

fn toolchain() -> Option<Toolchain> {
    let print = |rustc: &Path, words: &[&str]| {
        let mut command = Command::new(rustc);
        command.args(words).current_dir(root());
        let output = command.env("RUSTC_BOOTSTRAP", "1").output();
        let output = output.ok().filter(|output| output.status.success())?;
        let text = String::from_utf8_lossy(&output.stdout);
        Some(PathBuf::from(text.trim()))
    };
    let has_sources = |rustc: &Path| {
        // An older Rust does not know the options, and is as good as none.
        let [unstable, panics] = NO_WORDS_OF_PANICS;
        let sysroot = print(rustc, &[unstable, panics, "--print", "sysroot"]);
        sysroot.is_some_and(|folder| folder.join("lib/rustlib/src/rust/library/std").is_dir())
    };
    let own = std::env::var_os("RUSTC").map_or_else(|| "rustc".into(), PathBuf::from);
    if has_sources(&own) {
        return Some(Toolchain::Sources {
            rustc: own,
            linker: None,
        });
    }
    let library = print(&own, &["--print", "target-libdir", "--target", TARGET]);
    if library.is_some_and(|library| has_library(&library)) {
        return Some(Toolchain::Ready);
    }
    let rustc = PathBuf::from("/usr/bin/rustc");
    let linker = linker().filter(|_| has_sources(&rustc))?;
    Some(Toolchain::Sources {
        rustc,
        linker: Some(linker),
    })
}

fn has_library(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .filter_map(|file| file.file_name().into_string().ok())
        .any(|name| name.starts_with("libstd-"))
}

/// A linker for WebAssembly; Debian's bear the version of LLVM, of which the newest is taken.
fn linker() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/bin")
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.strip_prefix("wasm-ld")
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
        .collect();
    found.sort();
    found.pop()
}
