//! Builds the explorer as a static page: the page's files, with WebAssembly in place of the server.

use crate::venv::succeed;
use crate::{Failure, page, root, skip, target_dir, wasm};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What makes one small script of the page's modules.
const BUNDLER: (&str, &str) = ("esbuild", "0.28.2");

/// What carries the questions of a page without a server.
const TRANSPORT: &str = "export * from \"./local/transport.js\";\n";

/// The first script of a page without a server.
const ENTRY: &str = "import \"./main.js\";\nimport \"./local/drop.js\";\n";

/// The files that the page loads, and the sources that each is made of.
const BUNDLES: [(&str, &str); 4] = [
    ("main", "entry.js"),
    ("worker", "local/worker.js"),
    ("file", "local/file.js"),
    ("style", "style.css"),
];

/// Nothing is loaded from another host, and nothing in the page runs but its own files.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data: blob:; \
                      object-src 'none'; base-uri 'none'; form-action 'none'";

/// Where the page is built.
pub fn folder() -> PathBuf {
    target_dir().join("explorer")
}

/// Runs `cargo xtask explorer`: the folder, or none where a tool is missing.
pub fn run() -> Result<Option<PathBuf>, Failure> {
    let (package, version) = BUNDLER;
    let bundler = match page::npm(package, version, "bin/esbuild") {
        Ok(bundler) => bundler,
        Err(why) => return skip("explorer", &format!("{package}: {why}")).map(|()| None),
    };
    let Some(modules) = wasm::build()? else {
        return Ok(None);
    };
    let folder = folder();
    write(&modules, &bundler, &folder)
        .map_err(|why| Failure::Failed(format!("explorer: {why}")))?;
    eprintln!("== explorer: {}/index.html", folder.display());
    Ok(Some(folder))
}

/// Writes the page into a folder, which is emptied before.
fn write(modules: &[PathBuf], bundler: &Path, folder: &Path) -> Result<(), String> {
    let page = root().join("foldglass-explore/src/page");
    let (app, sources) = (folder.join("app"), target_dir().join("explorer-sources"));
    let of = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    for folder in [folder, &sources] {
        let _ = fs::remove_dir_all(folder);
    }
    fs::create_dir_all(&app).map_err(|error| of(&app, error))?;
    copy(&page, &sources)?;
    copy(&page.join("local"), &sources.join("local"))?;
    for (name, text) in [("transport.js", TRANSPORT), ("entry.js", ENTRY)] {
        let file = sources.join(name);
        fs::write(&file, text).map_err(|error| of(&file, error))?;
    }
    let mut bundle = Command::new(bundler);
    for (name, source) in BUNDLES {
        bundle.arg(format!("{name}={source}"));
    }
    bundle.args(["--bundle", "--minify", "--format=esm", "--target=es2022"]);
    bundle.args(["--charset=utf8", "--log-level=warning"]);
    bundle.arg(format!("--outdir={}", app.display()));
    succeed(BUNDLER.0, bundle.current_dir(&sources))?;
    for file in modules.iter().chain([&page.join("icon.svg")]) {
        let to = app.join(file.file_name().unwrap_or_default());
        fs::copy(file, to).map_err(|error| of(file, error))?;
    }
    let file = page.join("index.html");
    let text = fs::read_to_string(&file).map_err(|error| of(&file, error))?;
    let file = folder.join("index.html");
    fs::write(&file, local(&text)?).map_err(|error| of(&file, error))
}

/// Copies the files of a folder.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let of = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(to).map_err(|error| of(to, error))?;
    for entry in fs::read_dir(from).map_err(|error| of(from, error))? {
        let path = entry.map_err(|error| of(from, error))?.path();
        if path.is_file() {
            let to = to.join(path.file_name().unwrap_or_default());
            fs::copy(&path, to).map_err(|error| of(&path, error))?;
        }
    }
    Ok(())
}

/// The page as it is without a server. The module is asked for at once, not when the scripts have been read.
fn local(page: &str) -> Result<String, String> {
    let style = "<link rel=\"stylesheet\" href=\"app/style.css\">\n";
    let head = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n{style}\
         <script src=\"app/file.js\"></script>\n\
         <link rel=\"preload\" href=\"app/foldglass.wasm\" as=\"fetch\" type=\"application/wasm\" crossorigin>\n"
    );
    let mut text = page.to_owned();
    for (served, local) in [(style, &head[..]), ("<body ", "<body data-local ")] {
        if text.matches(served).count() != 1 {
            return Err(format!("index.html does not have {served:?} once"));
        }
        text = text.replace(served, local);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_asks_for_its_module_at_once_and_for_nothing_elsewhere() {
        let page =
            fs::read_to_string(root().join("foldglass-explore/src/page/index.html")).unwrap();
        let page = local(&page).unwrap();
        for part in [
            "Content-Security-Policy",
            "foldglass.wasm\" as=\"fetch",
            "<body data-local ",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(local("<body>").is_err());
    }
}
