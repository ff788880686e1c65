//! Holds the files of the page, which are part of the program.

use std::borrow::Cow;

/// A file that is served.
#[derive(Debug, Clone)]
pub struct ServedFile {
    /// What it holds.
    pub content: Cow<'static, str>,
    /// Its media type.
    pub kind: &'static str,
}

/// The files by their names; index.html is the page itself, the others are under app/.
const FILES: &[(&str, &str)] = &[
    ("index.html", include_str!("page/index.html")),
    ("style.css", include_str!("page/style.css")),
    ("icon.svg", include_str!("page/icon.svg")),
    ("address.js", include_str!("page/address.js")),
    ("alive.js", include_str!("page/alive.js")),
    ("api.js", include_str!("page/api.js")),
    ("chooser.js", include_str!("page/chooser.js")),
    ("code.js", include_str!("page/code.js")),
    ("dom.js", include_str!("page/dom.js")),
    ("drawing.js", include_str!("page/drawing.js")),
    ("dynamics.js", include_str!("page/dynamics.js")),
    ("field.js", include_str!("page/field.js")),
    ("fraction.js", include_str!("page/fraction.js")),
    ("grid.js", include_str!("page/grid.js")),
    ("keys.js", include_str!("page/keys.js")),
    ("main.js", include_str!("page/main.js")),
    ("marks.js", include_str!("page/marks.js")),
    ("notice.js", include_str!("page/notice.js")),
    ("overview.js", include_str!("page/overview.js")),
    ("player.js", include_str!("page/player.js")),
    ("plot.js", include_str!("page/plot.js")),
    ("records.js", include_str!("page/records.js")),
    ("rollout.js", include_str!("page/rollout.js")),
    ("share.js", include_str!("page/share.js")),
    ("store.js", include_str!("page/store.js")),
    ("take.js", include_str!("page/take.js")),
    ("theme.js", include_str!("page/theme.js")),
    ("tour.js", include_str!("page/tour.js")),
    ("transport.js", include_str!("page/transport.js")),
    ("tree.js", include_str!("page/tree.js")),
    ("types.js", include_str!("page/types.js")),
    ("ways.js", include_str!("page/ways.js")),
    ("words.js", include_str!("page/words.js")),
];

/// The file of a path behind the token.
pub fn find(path: &str) -> Option<ServedFile> {
    let name = match path {
        "" => "index.html",
        path => path
            .strip_prefix("app/")
            .filter(|name| *name != "index.html")?,
    };
    let kind = kind(name)?;
    #[cfg(debug_assertions)]
    if let Some(directory) = std::env::var_os("FOLDGLASS_PAGE") {
        return from_disk(directory.as_ref(), name, kind);
    }
    let (_, content) = FILES.iter().find(|(known, _)| *known == name)?;
    Some(ServedFile {
        content: Cow::Borrowed(content),
        kind,
    })
}

fn kind(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}

/// A file as it is now, for who writes the page.
#[cfg(debug_assertions)]
fn from_disk(directory: &std::path::Path, name: &str, kind: &'static str) -> Option<ServedFile> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.chars().all(plain) || name.contains("..") {
        return None;
    }
    let content = std::fs::read_to_string(directory.join(name)).ok()?;
    Some(ServedFile {
        content: Cow::Owned(content),
        kind,
    })
}
