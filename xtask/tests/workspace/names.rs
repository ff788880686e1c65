//! No public type of the workspace shares its name with another, and no type that modules of a crate share
//! has the name of another type of that crate: whoever reads a name knows the thing.
//!
//! The sources are read as text. A name counts once for each `struct`, `enum`, `trait`, `type` or `union`
//! of it in a file; associated types do not count, nor do tests, examples and the tasks themselves.

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

/// Who may name a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// Its own module.
    Module,
    /// Other modules of its crate.
    Crate,
    /// Everybody, as far as its module is public.
    Public,
}

/// The types that a source defines. Associated types stand indented and are left out.
fn types(source: &str) -> Vec<(&str, Reach)> {
    let defined = source.lines().filter_map(|line| {
        let text = line.trim_start();
        let (reach, rest) = if let Some(rest) = text.strip_prefix("pub ") {
            (Reach::Public, rest)
        } else if let Some(rest) = text.strip_prefix("pub(") {
            (Reach::Crate, rest.split_once(") ")?.1)
        } else {
            (Reach::Module, text)
        };
        let (kind, rest) = rest.split_once(' ')?;
        let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric());
        let name = &rest[..end.unwrap_or(rest.len())];
        let own = KINDS.contains(&kind) && (kind != "type" || text.len() == line.len());
        (own && !name.is_empty()).then_some((name, reach))
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
            for (name, reach) in types(&code(&file)) {
                if reach != Reach::Public {
                    continue;
                }
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
fn no_type_that_modules_share_has_the_name_of_another_of_its_crate() {
    let root = workspace();
    for member in members(&root) {
        let mut files = Vec::new();
        sources(&root.join(&member).join("src"), &mut files);
        let mut defined = BTreeMap::<String, BTreeMap<&Path, Reach>>::new();
        for file in &files {
            for (name, reach) in types(&code(file)) {
                let found = defined.entry(name.to_owned()).or_default();
                let known = found.entry(file).or_insert(reach);
                *known = reach.max(*known);
            }
        }
        defined.retain(|_, files| {
            files.len() > 1 && files.values().any(|reach| *reach > Reach::Module)
        });
        assert!(
            defined.is_empty(),
            "give each of these types of {member} a name of its own: {defined:#?}"
        );
    }
}

#[test]
fn types_are_found_in_sources() {
    let source = "pub struct One<T>(T);\npub(crate) struct Two;\n    pub enum Three {\nstruct Four;\n\
                  pub type Five = u8;\npub fn struct_six() {}\npub trait Seven: Eight {\n    type Nine = u8;\n";
    let names = [
        ("One", Reach::Public),
        ("Two", Reach::Crate),
        ("Three", Reach::Public),
        ("Four", Reach::Module),
        ("Five", Reach::Public),
        ("Seven", Reach::Public),
    ];
    assert_eq!(types(source), names);
}
