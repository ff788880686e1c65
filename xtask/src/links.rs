//! Checks the links of a folder of HTML pages: every relative one leads to a file in the folder, and to a place in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// What a page names.
#[derive(Debug, Default)]
struct Page {
    /// Links to pages and files, in their order.
    links: Vec<String>,
    /// The places that a link can lead to.
    places: BTreeSet<String>,
}

/// How many links of how many pages lead somewhere.
#[derive(Debug, PartialEq)]
pub struct Checked {
    pub pages: usize,
    pub links: usize,
}

/// A folder of pages.
struct Site {
    files: BTreeSet<PathBuf>,
    pages: BTreeMap<PathBuf, Page>,
}

/// A link that leads nowhere: to a file that is not there, or for another reason.
enum Wrong {
    Missing(PathBuf),
    Other(&'static str),
}

/// Checks all pages below a folder; the error lists what leads nowhere.
pub fn check(folder: &Path) -> Result<Checked, String> {
    let site = Site::read(folder)?;
    let mut wrong = Vec::new();
    let mut links = 0;
    for (file, link) in site.links() {
        links += 1;
        let why = match site.follow(file, link) {
            Ok(()) => continue,
            Err(Wrong::Missing(_)) => "there is no such file",
            Err(Wrong::Other(why)) => why,
        };
        wrong.push(format!("{}: {link}: {why}", file.display()));
    }
    match wrong.len() {
        0 => Ok(Checked {
            pages: site.pages.len(),
            links,
        }),
        n => {
            wrong.truncate(20);
            Err(format!("{n} links lead nowhere:\n{}", wrong.join("\n")))
        }
    }
}

/// The files that pages below a folder link to and that are not there, by their paths from the folder.
pub fn missing(folder: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let site = Site::read(folder)?;
    let missing = site
        .links()
        .filter_map(|(file, link)| match site.follow(file, link) {
            Err(Wrong::Missing(target)) => Some(target),
            _ => None,
        });
    Ok(missing.collect())
}

/// All files below a folder, by their paths from `root`.
fn list(root: &Path, folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            list(root, &path, files)?;
        } else if let Ok(file) = path.strip_prefix(root) {
            files.insert(file.to_owned());
        }
    }
    Ok(())
}

impl Site {
    fn read(folder: &Path) -> Result<Site, String> {
        let mut files = BTreeSet::new();
        list(folder, folder, &mut files)?;
        let mut pages = BTreeMap::new();
        for file in &files {
            if file.extension().is_some_and(|ending| ending == "html") {
                let path = folder.join(file);
                let text = fs::read_to_string(&path);
                let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
                pages.insert(file.clone(), read(&text));
            }
        }
        Ok(Site { files, pages })
    }

    /// All links, with the files that they are in.
    fn links(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.pages
            .iter()
            .flat_map(|(file, page)| page.links.iter().map(|link| (&**file, &**link)))
    }

    /// Whether a link of a file leads somewhere.
    fn follow(&self, from: &Path, link: &str) -> Result<(), Wrong> {
        let (path, place) = link.split_once('#').unwrap_or((link, ""));
        let path = path.split('?').next().unwrap_or_default();
        if path.starts_with('/') {
            let why = "it begins at the root of the host, and the site may lie in a subfolder";
            return Err(Wrong::Other(why));
        }
        let mut target = match path {
            "" => from.to_owned(),
            path => {
                let folder = from.parent().unwrap_or(Path::new(""));
                resolved(folder, Path::new(&decoded(path)))
                    .ok_or(Wrong::Other("it leaves the site"))?
            }
        };
        // Of a folder every host shows the page.
        if !self.files.contains(&target) {
            let page = target.join("index.html");
            if !self.files.contains(&page) {
                return Err(Wrong::Missing(target));
            }
            target = page;
        }
        let Some(page) = self.pages.get(&target) else {
            return Ok(());
        };
        // Lines of sources, as rustdoc numbers them, are found by its script.
        let lines = place
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-');
        // A name with signs may be written with escapes, in the page too.
        let has = |place: &str| page.places.contains(place);
        if place.is_empty() || lines || has(place) || has(&decoded(place)) {
            return Ok(());
        }
        Err(Wrong::Other("the page has no such place"))
    }
}

/// A path from a folder, without `.` and `..`; none where it leads out.
fn resolved(folder: &Path, path: &Path) -> Option<PathBuf> {
    let mut target = folder.to_owned();
    for part in path.components() {
        match part {
            Component::Normal(part) => target.push(part),
            Component::CurDir => {}
            Component::ParentDir if target.pop() => {}
            _ => return None,
        }
    }
    Some(target)
}

/// What an HTML page names: attributes of its tags, comments and scripts left out.
fn read(text: &str) -> Page {
    let mut page = Page::default();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let Some((name, attributes, after)) = tag(&rest[1..]) else {
            rest = &rest[1..];
            continue;
        };
        rest = after;
        for (key, value) in attributes {
            match &*key {
                "href" | "src" | "data" if !is_elsewhere(&value) => page.links.push(value),
                "id" => drop(page.places.insert(value)),
                "name" if name == "a" => drop(page.places.insert(value)),
                _ => {}
            }
        }
        if name == "script" || name == "style" {
            let end = rest.find(&format!("</{name}")).unwrap_or(rest.len());
            rest = &rest[end..];
        }
    }
    page
}

/// Whether a link leads to another host, or is not one that is followed: rustdoc writes no list of implementors where
/// there are none, and its pages ask for it all the same.
fn is_elsewhere(link: &str) -> bool {
    let scheme = link.split(['/', '?', '#']).next().unwrap_or_default();
    scheme.contains(':') || link.starts_with("//") || link.contains("/trait.impl/")
}

/// Names and values.
type Attributes = Vec<(String, String)>;

/// A tag after its `<`: its name, its attributes, and what follows it.
fn tag(text: &str) -> Option<(String, Attributes, &str)> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric())?;
    let (name, mut rest) = text.split_at(end);
    if name.is_empty() {
        return None;
    }
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return Some((name.to_ascii_lowercase(), attributes, after));
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace() || "=>/".contains(c))?;
        let (key, after) = rest.split_at(end.max(1));
        rest = after.trim_start();
        let Some(after) = rest.strip_prefix('=') else {
            attributes.push((key.to_ascii_lowercase(), String::new()));
            continue;
        };
        rest = after.trim_start();
        let quote = rest.chars().next().filter(|c| "\"'".contains(*c));
        let (value, after) = match quote {
            Some(quote) => rest[1..].split_once(quote)?,
            None => rest.split_at(rest.find(|c: char| c.is_ascii_whitespace() || c == '>')?),
        };
        rest = after;
        attributes.push((key.to_ascii_lowercase(), unescaped(value)));
    }
}

/// A value of an attribute without the escapes that links have.
fn unescaped(text: &str) -> String {
    let pairs = [
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
    ];
    let text = pairs
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    text.replace("&amp;", "&")
}

/// A path without `%41`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let hex = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match hex.filter(|_| byte == b'%') {
            Some(hex) => {
                bytes.push(hex);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files.
    fn checked(name: &str, files: &[(&str, &str)]) -> Result<Checked, String> {
        let folder = std::env::temp_dir().join(format!("foldglass-{name}-{}", std::process::id()));
        for (file, text) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = check(&folder);
        fs::remove_dir_all(&folder).unwrap();
        found
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let index = "<!-- <a href=none> --><A class=x HREF = 'sub/a b.html#one'>a</A> <img src=x.png /> <a href=#here>\
                     <p id=here><a href=\"https://example.org/none\"><a href='mailto:a@b'><a href=\"sub/?q=1&amp;r\">\
                     <script>\"<a href='none'>\"</script><a href=\"sub/a%20b.html#t%C3%A4st\"><a href=sub>";
        let sub = "<h1 id=one></h1><i id=a%3C></i><a href=#a%3C></a><a name=two><h2 id=\"täst\"></h2><a href=../index.html#here><a href=../src.html#1-20>";
        let files = [
            ("index.html", index),
            ("x.png", ""),
            ("src.html", ""),
            ("sub/a b.html", sub),
            ("sub/index.html", "<a href=\"a b.html#two\">"),
        ];
        let all = Checked {
            pages: 4,
            links: 10,
        };
        assert_eq!(checked("links", &files), Ok(all));
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        for (link, why) in [
            ("none.html", "no such file"),
            ("#none", "no such place"),
            ("b.html#none", "no such place"),
            ("../b.html", "leaves the site"),
            ("/b.html", "root of the host"),
            ("sub2", "no such file"),
        ] {
            let index = format!("<p><a href=\"{link}\">x</a>");
            let files = [
                ("index.html", &index[..]),
                ("b.html", ""),
                ("sub/index.html", ""),
            ];
            let wrong = checked("no-links", &files).unwrap_err();
            let named = format!("index.html: {link}: ");
            assert!(wrong.contains(&named) && wrong.contains(why), "{wrong}");
        }
    }
}
