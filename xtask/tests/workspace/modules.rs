//! No two top-level modules of a crate need each other, directly or through others, nor do two modules of one
//! folder of the core: a crate can be cut, and a change has one direction to look in.
//!
//! The sources are read as text: `crate::module::..`, `crate::{..}`, `super::..` that reaches the root or the
//! folder's own file, and names that either re-exports. Test modules are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Cycles that are known, by crate or `crate/folder`; each is to be broken, none is to be added.
const KNOWN: [(&str, &[&str]); 0] = [];

/// The crate whose folders are tested too.
const CORE: &str = "foldglass";

type Graph = BTreeMap<String, BTreeMap<String, PathBuf>>;

pub fn workspace() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("a member of the workspace").to_owned()
}

/// The members that Cargo.toml lists.
pub fn members(root: &Path) -> Vec<String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the workspace's manifest");
    let (_, list) = manifest.split_once("\nmembers = [").expect("members");
    let (list, _) = list.split_once(']').expect("the end of the members");
    let names = list.split('"').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// A source without comments and without its test module, which stands last where it is not a file of its own.
pub fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source file");
    let (text, _) = text
        .split_once("#[cfg(test)]\nmod tests {")
        .unwrap_or((&text, ""));
    let kept = text.lines().map(|line| match line.find("//") {
        Some(start) => &line[..start],
        None => line,
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// The sources of a folder, at any depth, but for files of tests.
pub fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs")
            && path.file_stem().is_some_and(|stem| stem != "tests")
        {
            found.push(path);
        }
    }
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| c != '_' && !c.is_alphanumeric());
    &text[..end.unwrap_or(text.len())]
}

/// The paths of a tree of `use`, such as `a::{b, c::{d as e}}`, each with the name it gets.
fn paths(tree: &str) -> Vec<(Vec<String>, String)> {
    let tree = tree.trim();
    if let Some(group) = tree.strip_prefix('{') {
        let inner = group.strip_suffix('}').unwrap_or(group);
        let mut parts = vec![String::new()];
        let mut depth = 0;
        for c in inner.chars() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if c == ',' && depth == 0 {
                parts.push(String::new());
            } else {
                parts.last_mut().expect("there is one").push(c);
            }
        }
        return parts.iter().flat_map(|part| paths(part)).collect();
    }
    let first = word(tree).to_owned();
    if first.is_empty() {
        return Vec::new();
    }
    match tree[first.len()..].trim_start().strip_prefix("::") {
        Some(rest) => {
            let named = |(mut path, name): (Vec<String>, String)| {
                path.insert(0, first.clone());
                let name = if name == "self" { first.clone() } else { name };
                (path, name)
            };
            paths(rest).into_iter().map(named).collect()
        }
        None => {
            let alias = tree[first.len()..].trim_start().strip_prefix("as ");
            let name = alias.map_or(first.clone(), |name| word(name.trim()).to_owned());
            vec![(vec![first], name)]
        }
    }
}

/// What follows a start such as `crate::`, as far as it belongs to a tree of `use` or is a path.
fn tree(text: &str) -> &str {
    let mut at = 0;
    loop {
        if text[at..].starts_with('{') {
            let mut depth = 0;
            let end = text[at..].find(|c: char| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                depth == 0
            });
            return &text[..end.map_or(text.len(), |end| at + end + 1)];
        }
        at += word(&text[at..]).len();
        match text[at..].strip_prefix("::") {
            Some(rest)
                if rest.starts_with(|c: char| c == '{' || c == '_' || c.is_alphanumeric()) =>
            {
                at += 2;
            }
            _ => return &text[..at],
        }
    }
}

/// Trees after a start, wherever it does not end another word or path.
fn after<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(start).filter_map(move |(at, _)| {
        let before = text[..at].chars().next_back();
        let is_word = before.is_some_and(|c| c == '_' || c == ':' || c.is_alphanumeric());
        (!is_word).then(|| tree(&text[at + start.len()..]))
    })
}

/// The modules that a file declares, and by name that it re-exports, the path of modules that leads there.
fn declared(text: &str) -> (Vec<String>, BTreeMap<String, Vec<String>>) {
    let mut modules: Vec<String> = Vec::new();
    for statement in text.split(';') {
        let statement = statement.rsplit(']').next().unwrap_or(statement);
        let words: Vec<&str> = statement.split_whitespace().collect();
        if let [.., "mod", name] = words[..] {
            modules.push(name.to_owned());
        }
    }
    let mut names = BTreeMap::new();
    for statement in text.split(';') {
        let Some((_, used)) = statement.split_once("use ") else {
            continue;
        };
        for (path, name) in paths(used) {
            let own = |part: &String| !["crate", "self"].contains(&&part[..]);
            let path: Vec<String> = path.into_iter().filter(own).collect();
            if path.first().is_some_and(|first| modules.contains(first)) {
                names.insert(name, path);
            }
        }
    }
    (modules, names)
}

/// Which modules of a crate need which others, and a file that shows it: its top-level modules, or with a
/// folder those within that one.
fn graph(source: &Path, folder: Option<&str>) -> Graph {
    let root = ["lib.rs", "main.rs"].map(|name| source.join(name));
    let root = root.iter().find(|path| path.is_file()).expect("a root");
    let (top, of_crate) = declared(&code(root));
    let (modules, of_folder) = match folder {
        Some(folder) => declared(&code(&source.join(format!("{folder}.rs")))),
        None => (top, BTreeMap::new()),
    };
    let home = source.join(folder.unwrap_or(""));
    // The module that a path leads to: from the root, or from the folder.
    let from_folder = |path: &[String]| -> Option<String> {
        let first = path.first()?;
        let first = of_folder.get(first).map_or(first, |path| &path[0]);
        modules.contains(first).then(|| first.clone())
    };
    let from_root = |path: &[String]| -> Option<String> {
        let path = path
            .first()
            .and_then(|first| of_crate.get(first))
            .map_or(path, |path| path);
        match folder {
            None => path
                .first()
                .filter(|first| modules.contains(first))
                .cloned(),
            Some(folder) if path.first().is_some_and(|first| first == folder) => {
                from_folder(&path[1..])
            }
            Some(_) => None,
        }
    };
    let mut graph: Graph = modules
        .iter()
        .map(|name| (name.clone(), BTreeMap::new()))
        .collect();
    for module in &modules {
        let mut files = vec![home.join(format!("{module}.rs"))];
        sources(&home.join(module), &mut files);
        for file in files.into_iter().filter(|file| file.is_file()) {
            let text = code(&file);
            let inside = file
                .strip_prefix(source)
                .expect("within")
                .with_extension("");
            let depth = inside.iter().filter(|part| *part != "mod").count();
            let climb = "super::".repeat(depth);
            let absolute = after(&text, "crate::").chain(after(&text, &climb));
            let mut needed: Vec<String> = absolute
                .flat_map(paths)
                .filter_map(|(path, _)| from_root(&path))
                .collect();
            if folder.is_some() {
                let climb = "super::".repeat(depth - 1);
                let relative = after(&text, &climb).flat_map(paths);
                needed.extend(relative.filter_map(|(path, _)| from_folder(&path)));
            }
            for other in needed.into_iter().filter(|other| other != module) {
                let edges = graph.get_mut(module).expect("a module");
                edges.entry(other).or_insert_with(|| file.clone());
            }
        }
    }
    graph
}

fn reached<'a>(graph: &'a Graph, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = graph[from].keys().map(|name| &name[..]).collect();
    while let Some(name) = next.pop() {
        if found.insert(name) {
            next.extend(graph[name].keys().map(|name| &name[..]));
        }
    }
    found
}

/// Groups of modules that need each other.
fn cycles(graph: &Graph) -> BTreeSet<Vec<&str>> {
    let all: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|name| (&name[..], reached(graph, name)))
        .collect();
    let group = |(name, own): (&&'_ str, &BTreeSet<&'_ str>)| -> Option<Vec<String>> {
        let mutual = own.iter().filter(|other| all[**other].contains(name));
        own.contains(name)
            .then(|| mutual.map(|name| (*name).to_owned()).collect())
    };
    let groups: BTreeSet<Vec<String>> = all.iter().filter_map(group).collect();
    let borrowed = |name: &String| graph.get_key_value(name).expect("a module").0.as_str();
    groups
        .iter()
        .map(|group| group.iter().map(borrowed).collect())
        .collect()
}

/// What is wrong with the cycles of a graph that has a name: those that are not known, and known ones that are
/// gone.
fn problems(root: &Path, name: &str, graph: &Graph) -> Vec<String> {
    let mut problems = Vec::new();
    let found = cycles(graph);
    let known = KNOWN.iter().filter(|(of, _)| *of == name);
    let known: BTreeSet<Vec<&str>> = known.map(|(_, group)| group.to_vec()).collect();
    for group in found.difference(&known) {
        problems.push(format!("{name}: {} need each other:", group.join(", ")));
        for module in group {
            let edges = graph[*module].iter();
            for (other, file) in edges.filter(|(other, _)| group.contains(&&other[..])) {
                let file = file.strip_prefix(root).expect("within").display();
                problems.push(format!("  {module} needs {other} ({file})"));
            }
        }
    }
    for group in known.difference(&found) {
        let names = group.join(", ");
        problems.push(format!(
            "{name}: {names} is not a cycle: take it from KNOWN"
        ));
    }
    problems
}

#[test]
fn top_level_modules_have_no_cycle_but_the_known_ones() {
    let root = workspace();
    let of = |member: String| {
        let graph = graph(&root.join(&member).join("src"), None);
        problems(&root, &member, &graph)
    };
    let problems: Vec<String> = members(&root).into_iter().flat_map(of).collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn modules_within_a_folder_of_the_core_have_no_cycle_but_the_known_ones() {
    let root = workspace();
    let source = root.join(CORE).join("src");
    let (folders, _) = declared(&code(&source.join("lib.rs")));
    let of = |folder: &String| {
        let graph = graph(&source, Some(folder));
        problems(&root, &format!("{CORE}/{folder}"), &graph)
    };
    let problems: Vec<String> = folders.iter().flat_map(of).collect();
    assert!(
        folders.len() >= 7 && problems.is_empty(),
        "\n{}",
        problems.join("\n")
    );
}

/// What verifies a claim shares nothing with what found it: an error of the search cannot hide itself.
#[test]
fn the_checker_needs_the_model_and_its_support_alone() {
    let graph = graph(&workspace().join(CORE).join("src"), None);
    let needed: Vec<&str> = graph["proof"].keys().map(|name| &name[..]).collect();
    assert_eq!(needed, ["model", "support"], "{:?}", graph["proof"]);
    let below: BTreeSet<&str> = reached(&graph, "proof");
    assert_eq!(below, BTreeSet::from(["model", "support"]));
}

/// The check sees what it has to: a cycle through a re-export of the root, through `super`, through a group,
/// and not one that only tests or comments have.
#[test]
fn a_cycle_is_seen_however_it_is_written() {
    let scratch = std::env::temp_dir().join(format!("foldglass-modules-{}", std::process::id()));
    let write = |name: &str, text: &str| {
        let path = scratch.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a scratch folder");
        fs::write(path, text).expect("a scratch file");
    };
    write(
        "lib.rs",
        "//! mod none;\nmod a;\npub mod b;\n#[cfg(x)]\nmod c;\nmod d;\nmod e;\npub use b::{One, two as Two};\nuse d as f;\n",
    );
    write("a.rs", "use crate::Two;\n// crate::e\n");
    write("b/deep.rs", "use super::super::c::X;\n");
    write(
        "b.rs",
        "mod deep;\n#[cfg(test)]\nmod tests {\n    use crate::e::Y;\n}\n",
    );
    write("c.rs", "use crate::{a::{P, Q}, other};\n");
    write("d.rs", "fn f() { crate::e::g() }\n");
    write("e.rs", "use crate::b::X;\n");
    let first = graph(&scratch, None);
    assert_eq!(cycles(&first), BTreeSet::from([vec!["a", "b", "c"]]));
    write("e.rs", "use crate::f::X;\n");
    let second = graph(&scratch, None);
    let expected = BTreeSet::from([vec!["a", "b", "c"], vec!["d", "e"]]);
    assert_eq!(cycles(&second), expected);
    // Within a folder: through its own re-export, through the root's, through `super`, through the root's path.
    write(
        "b.rs",
        "mod deep;\nmod low;\nmod near;\nmod other;\npub use near::Thing;\n",
    );
    write("lib.rs", "mod b;\npub use b::low::Low;\n");
    write(
        "b/deep.rs",
        "use crate::b::Thing;\nuse crate::Low as Under;\n",
    );
    write("b/near.rs", "use super::other::deep::Unrelated;\n");
    write("b/other.rs", "// super::near\n");
    write("b/low.rs", "mod inner;\n");
    write("b/low/inner.rs", "use super::super::other::X;\n");
    let third = graph(&scratch, Some("b"));
    assert_eq!(cycles(&third), BTreeSet::new());
    let needs = |module: &str| third[module].keys().cloned().collect::<Vec<_>>();
    assert_eq!(needs("deep"), ["low", "near"]);
    assert_eq!(
        (needs("near"), needs("low")),
        (needs("low"), vec!["other".to_owned()])
    );
    write("b/other.rs", "use crate::{b::{near::Y, Z}, Low};\n");
    let fourth = graph(&scratch, Some("b"));
    let expected = BTreeSet::from([vec!["low", "near", "other"]]);
    assert_eq!(cycles(&fourth), expected);
    fs::remove_dir_all(&scratch).expect("the scratch folder");
}
