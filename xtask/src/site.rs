//! Builds the site: one folder with the landing page, the explorer, the book, both references and a report, for any
//! static host.

use crate::venv::succeed;
use crate::{Failure, book, cargo, explorer, links, root, target_dir};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const STYLE: &str = include_str!("site/style.css");

/// The picture of the README in whose place the explorer itself stands.
const PICTURE: &str = "docs/pictures/first.svg";

/// Runs `cargo xtask site`, with the directory of a reproduction whose report is shown, or without.
pub fn run(reproduction: Option<&str>) -> Result<(), Failure> {
    let start = Instant::now();
    let Some(explorer) = explorer::run()? else {
        return Ok(());
    };
    book::run()?;
    let failed = |why: String| Failure::Failed(format!("site: {why}"));
    let site = target_dir().join("site");
    eprintln!("== site: cargo doc, the Python reference, the landing page");
    let _ = fs::remove_dir_all(&site);
    copy(&explorer, &site.join("explorer")).map_err(failed)?;
    copy(&target_dir().join("book"), &site.join("book")).map_err(failed)?;
    // It is for the root of a host.
    let _ = fs::remove_file(site.join("book/404.html"));
    rust(&site.join("rust")).map_err(failed)?;
    let mut python = Command::new(std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into()));
    python.arg(root().join("foldglass-py/reference.py"));
    succeed("foldglass-py/reference.py", python.arg(site.join("python"))).map_err(failed)?;
    if let Some(directory) = reproduction {
        report(directory, &site.join("report")).map_err(failed)?;
    }
    landing(&site, reproduction.is_some()).map_err(failed)?;
    lend(&site).map_err(failed)?;
    let found = links::check(&site).map_err(failed)?;
    eprintln!(
        "== site: {}/index.html, {} pages, {} links followed, in {:.1} s",
        site.display(),
        found.pages,
        found.links,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

/// The reference of the libraries, made as `cargo xtask test --full` makes it, so that it is not made twice.
fn rust(to: &Path) -> Result<(), String> {
    let mut build = cargo(&["doc", "--quiet", "--workspace", "--no-deps"]);
    succeed("cargo doc", build.env("RUSTDOCFLAGS", "-D warnings"))?;
    copy(&target_dir().join("doc"), to)?;
    // Its pages link to a first one, which rustdoc does not write for several crates.
    list(to, |path| path.join("index.html").is_file())
}

/// The report of a reproduction, from its records.
fn report(directory: &str, to: &Path) -> Result<(), String> {
    let mut report = cargo(&["run", "--quiet", "--package", "foldglass-cli", "--"]);
    // A path is meant from where the command was typed.
    let directory = fs::canonicalize(directory).map_err(|error| format!("{directory}: {error}"))?;
    report.arg("report").arg(directory).arg("--out").arg(to);
    succeed("foldglass report", &mut report).map(drop)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    for entry in fs::read_dir(from).map_err(|error| failed(from, error))? {
        let entry = entry.map_err(|error| failed(from, error))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        // What starts with a dot is cargo's.
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}

/// The README as the first page, with the explorer in the place of its picture.
fn landing(site: &Path, report: bool) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let readme = root().join("README.md");
    let text = fs::read_to_string(&readme).map_err(|error| failed(&readme, error))?;
    let page = page(&text, report);
    for (name, text) in [("index.html", &page[..]), ("style.css", STYLE)] {
        let path = site.join(name);
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// Puts files of the repository that pages link to where these expect them: the site is laid
/// out as the repository is.
fn lend(site: &Path) -> Result<(), String> {
    for path in links::missing(site)? {
        let (from, to) = (root().join(&path), site.join(&path));
        if from.is_dir() {
            copy(&from, &to)?;
            list(&to, Path::is_file)?;
        } else if from.is_file() {
            let done = fs::create_dir_all(to.parent().unwrap_or(site));
            let done = done.and_then(|()| fs::copy(&from, &to));
            done.map_err(|error| format!("{}: {error}", from.display()))?;
        }
    }
    Ok(())
}

/// A page that lists what a folder holds, of a kind.
fn list(folder: &Path, is_listed: impl Fn(&Path) -> bool) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if is_listed(&entry.path()) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let items = names
        .iter()
        .map(|name| format!("<li><a href=\"{name}\">{name}</a></li>\n"));
    let title = folder.file_name().unwrap_or_default().to_string_lossy();
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<h1>{title}</h1>\n<ul>\n{}</ul>\n</html>\n",
        items.collect::<String>()
    );
    fs::write(folder.join("index.html"), page).map_err(failed)
}

/// The landing page.
fn page(readme: &str, report: bool) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_HEADING_ATTRIBUTES;
    let mut in_picture = false;
    let events = Parser::new_ext(readme, options).filter_map(|event| match event {
        Event::Start(Tag::Image { dest_url, .. }) if *dest_url == *PICTURE => {
            in_picture = true;
            Some(Event::InlineHtml(EXPLORER.into()))
        }
        Event::End(TagEnd::Image) if in_picture => {
            in_picture = false;
            None
        }
        _ if in_picture => None,
        Event::Start(Tag::Image {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let dest_url = place(&dest_url);
            Some(Event::Start(Tag::Image {
                link_type,
                dest_url,
                title,
                id,
            }))
        }
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let dest_url = place(&dest_url);
            Some(Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }))
        }
        other => Some(other),
    });
    let mut body = String::new();
    html::push_html(&mut body, events);
    let mut parts = vec![
        ("explorer/index.html", "Explorer"),
        ("book/index.html", "Book"),
        ("book/theorems.html", "Theorems"),
        ("book/benchmarks.html", "Benchmarks"),
        ("rust/index.html", "Rust"),
        ("python/index.html", "Python"),
    ];
    if report {
        parts.push(("report/index.html", "Report"));
    }
    let parts = parts
        .iter()
        .map(|(place, name)| format!("<a href=\"{place}\">{name}</a>"));
    let parts: Vec<String> = parts.collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>foldglass</title>\n\
         <link rel=\"icon\" type=\"image/svg+xml\" href=\"explorer/app/icon.svg\">\n\
         <link rel=\"stylesheet\" href=\"style.css\">\n</head>\n<body>\n<nav aria-label=\"Site\">{}</nav>\n<main>\n{body}</main>\n</body>\n</html>\n",
        parts.join(" ")
    )
}

/// The explorer in a frame, which is loaded when it comes into view.
const EXPLORER: &str = "<iframe src=\"explorer/index.html\" title=\"The explorer: the landscape of codes, computed in this page\" \
                        loading=\"lazy\"></iframe><br><a href=\"explorer/index.html\">The explorer on a page of its own</a>: \
                        it computes in your browser and needs no installation.";

/// Where on the site something of the repository is: pages of `docs/` in the book, other files
/// where they are.
fn place<'a>(link: &str) -> CowStr<'a> {
    let (path, place) = link.split_once('#').unwrap_or((link, ""));
    if path.contains(':') || path.is_empty() {
        return link.to_owned().into();
    }
    let place = if place.is_empty() {
        String::new()
    } else {
        format!("#{place}")
    };
    let page = match path {
        "BENCHMARKS.md" => Some("benchmarks"),
        "docs/SUMMARY.md" => Some("index"),
        path => path
            .strip_prefix("docs/")
            .and_then(|page| page.strip_suffix(".md")),
    };
    if let Some(page) = page {
        return format!("book/{page}.html{place}").into();
    }
    if let Some(file) = path.strip_prefix("docs/") {
        return format!("book/{file}").into();
    }
    link.to_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_readme_lead_to_pages_of_the_site() {
        let readme = "![x](docs/pictures/first.svg)\n![tree](docs/pictures/tree.svg) [a](docs/a.md#b) [c](BENCHMARKS.md) \
                      [d](LICENSE-MIT) [e](https://example.org/docs/e.md)";
        let page = page(readme, false);
        for part in [
            "<iframe src=\"explorer/index.html\"",
            "src=\"book/pictures/tree.svg\"",
            "href=\"book/a.html#b\"",
            "href=\"book/benchmarks.html\"",
            "href=\"LICENSE-MIT\"",
            "href=\"https://example.org/docs/e.md\"",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(
            !page.contains("first.svg") && !page.contains("report/"),
            "{page}"
        );
    }
}
