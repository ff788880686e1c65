//! No public type of the workspace shares its name with another: whoever reads a name knows the thing.
//!
//! The sources are read as text. A name counts once for each `pub struct`, `enum`, `trait`, `type` or `union`
//! of it; types that are `pub(crate)` or private do not count, nor do tests, examples and the tasks themselves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::modules::{code, members, sources, workspace};

/// Names that two types share on purpose, and why.
const SHARED: [(&str, &str); 5] = [
    ("Class", "Python's class of that name wraps the core's"),
    ("Evaluator", "Python's class of that name wraps the core's"),
    (
        "Handout",
        "Python's class of that name wraps the one of studies",
    ),
    ("Policy", "Python's class of that name wraps the core's"),
    (
        "Study",
        "Python's class of that name wraps the one of studies",
    ),
];

/// The kinds of types.
const KINDS: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

/// The public types that a source defines.
fn types(source: &str) -> Vec<&str> {
    let defined = source.lines().filter_map(|line| {
        let (kind, rest) = line.trim_start().strip_prefix("pub ")?.split_once(' ')?;
        let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric());
        KINDS
            .contains(&kind)
            .then(|| &rest[..end.unwrap_or(rest.len())])
    });
    defined.collect()
}

/// Where each public type of the workspace is defined.
fn public(root: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut defined = BTreeMap::<String, Vec<PathBuf>>::new();
    for member in members(root).iter().filter(|member| *member != "xtask") {
        let mut files = Vec::new();
        sources(&root.join(member).join("src"), &mut files);
        for file in files {
            for name in types(&code(&file)) {
                defined
                    .entry(name.to_owned())
                    .or_default()
                    .push(file.clone());
            }
        }
    }
    defined
}

#[test]
fn no_two_public_types_of_the_workspace_share_a_name() {
    let mut defined = public(&workspace());
    assert!(
        defined.len() > 100,
        "only {} types were found",
        defined.len()
    );
    defined.retain(|_, files| files.len() > 1);
    for (name, why) in SHARED {
        let files = defined.remove(name).unwrap_or_default();
        assert_eq!(
            files.len(),
            2,
            "{name} ({why}) is defined in {files:?}; mend the list"
        );
    }
    assert!(
        defined.is_empty(),
        "give each of these types a name of its own: {defined:#?}"
    );
}

#[test]
fn types_are_found_in_sources() {
    let source = "pub struct One<T>(T);\npub(crate) struct Two;\n    pub enum Three {\nstruct Four;\n\
                  pub type Five = u8;\npub fn struct_six() {}\npub trait Seven: Eight {\n";
    assert_eq!(types(source), ["One", "Three", "Five", "Seven"]);
}
