//! Builds the explorer as a static page: the page's files, with WebAssembly in place of the server.

use crate::{Failure, root, target_dir, wasm};
use std::fs;
use std::path::{Path, PathBuf};

/// What only a page with a server has: it carries questions, keeps the server awake, and is for the type checker.
const SERVED: [&str; 3] = ["transport.js", "alive.js", "types.js"];

/// Nothing is loaded from another host, and nothing in the page runs but its own files.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data: blob:; \
                      object-src 'none'; base-uri 'none'; form-action 'none'";

/// Where the page is built.
pub fn folder() -> PathBuf {
    target_dir().join("explorer")
}

/// Runs `cargo xtask explorer`: the folder, or none where nothing compiles WebAssembly.
pub fn run() -> Result<Option<PathBuf>, Failure> {
    let Some(module) = wasm::build()? else {
        return Ok(None);
    };
    let folder = folder();
    write(&module, &folder).map_err(|why| Failure::Failed(format!("explorer: {why}")))?;
    eprintln!("== explorer: {}/index.html", folder.display());
    Ok(Some(folder))
}

/// Writes the page into a folder, which is emptied before.
fn write(module: &Path, folder: &Path) -> Result<(), String> {
    let source = root().join("foldglass-explore/src/page");
    let app = folder.join("app");
    let of = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(&app).map_err(|error| of(&app, error))?;
    let mut scripts = Vec::new();
    for source in [source.clone(), source.join("local")] {
        for entry in fs::read_dir(&source).map_err(|error| of(&source, error))? {
            let path = entry.map_err(|error| of(&source, error))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let kind = path.extension().unwrap_or_default();
            let served = SERVED.contains(&&*name) && !source.ends_with("local");
            if !["js", "css", "svg"].iter().any(|known| kind == *known) || served {
                continue;
            }
            let text = fs::read_to_string(&path).map_err(|error| of(&path, error))?;
            let text = if kind == "js" { bare(&text) } else { text };
            fs::write(app.join(&*name), text).map_err(|error| of(&path, error))?;
            // A worker loads the other two itself.
            if kind == "js" && !["worker.js", "module.js", "file.js"].contains(&&*name) {
                scripts.push(name.into_owned());
            }
        }
    }
    scripts.sort();
    let wasm = app.join("foldglass.wasm");
    fs::copy(module, &wasm).map_err(|error| of(module, error))?;
    let page = source.join("index.html");
    let text = fs::read_to_string(&page).map_err(|error| of(&page, error))?;
    let text = local(&text, &scripts)?;
    let page = folder.join("index.html");
    fs::write(&page, text).map_err(|error| of(&page, error))
}

/// A script without its comments, which would be a third of what a first visit loads: lines of `//`, and what stands
/// between `/**` and `*/`.
fn bare(script: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for line in script.lines() {
        let mut line = line.to_owned();
        if inside {
            let Some((_, after)) = line.split_once("*/") else {
                continue;
            };
            (line, inside) = (after.to_owned(), false);
        }
        while let Some((before, after)) = line.split_once("/**") {
            line = match after.split_once("*/") {
                Some((_, after)) => format!("{before}{}", after.strip_prefix(' ').unwrap_or(after)),
                None => {
                    inside = true;
                    before.to_owned()
                }
            };
        }
        let kept = line.trim_end();
        if !kept.is_empty() && !kept.trim_start().starts_with("//") {
            text += kept;
            text.push('\n');
        }
    }
    text
}

/// The page as it is without a server. All it needs is asked for at once, not file by file as modules name each other.
fn local(page: &str, scripts: &[String]) -> Result<String, String> {
    let style = "<link rel=\"stylesheet\" href=\"app/style.css\">\n";
    let mut head = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n{style}\
         <script src=\"app/file.js\"></script>\n\
         <link rel=\"preload\" href=\"app/foldglass.wasm\" as=\"fetch\" type=\"application/wasm\" crossorigin>\n"
    );
    for script in scripts {
        head += &format!("<link rel=\"modulepreload\" href=\"app/{script}\">\n");
    }
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
    fn scripts_lose_their_comments_and_nothing_else() {
        let script = "// One.\nconst a = /** @type {B} */ (b); // two\n\n/**\n * Three.\n */\nexport function f() {\n  \
                      // Four.\n  return \"http://x\"; /** five */\n}\n/** Six. */ let c;\n";
        let bare_script =
            "const a = (b); // two\nexport function f() {\n  return \"http://x\";\n}\nlet c;\n";
        assert_eq!(bare(script), bare_script);
    }

    #[test]
    fn the_page_asks_for_all_it_needs_at_once() {
        let page =
            fs::read_to_string(root().join("foldglass-explore/src/page/index.html")).unwrap();
        let page = local(&page, &["api.js".to_owned(), "main.js".to_owned()]).unwrap();
        for part in [
            "Content-Security-Policy",
            "modulepreload\" href=\"app/api.js",
            "foldglass.wasm\" as=\"fetch",
            "<body data-local ",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(local("<body>", &[]).is_err());
    }
}
