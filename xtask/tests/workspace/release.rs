//! What a release states in several files is the same in all of them, and its workflows run only pinned actions.

use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The value of the first line `key VALUE`, without quotes.
fn value(text: &str, key: &str) -> String {
    let mut values = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix(key));
    let value = values.next().unwrap_or_else(|| panic!("no line {key}"));
    value.trim().trim_matches('"').to_owned()
}

/// The text on one line, without emphasis.
fn flat(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('*', "")
}

#[test]
fn the_citation_names_the_version_and_the_titles_of_the_readme() {
    let (citation, readme) = (text("CITATION.cff"), flat(&text("README.md")));
    let version = value(&text("Cargo.toml"), "version = ");
    assert_eq!(value(&citation, "version:"), version);
    let (software, paper) = citation.split_once("preferred-citation:").unwrap();
    let title = value(software, "title:");
    let subject = title.strip_prefix("foldglass: ").unwrap();
    assert!(readme.contains(subject), "README: {subject}");
    assert!(
        readme.contains(&value(paper, "title:")),
        "README: the paper"
    );
}

#[test]
fn the_changelog_opens_with_this_version_and_the_date_of_the_citation() {
    let version = value(&text("Cargo.toml"), "version = ");
    let date = value(&text("CITATION.cff"), "date-released:");
    let changelog = text("CHANGELOG.md");
    assert_eq!(value(&changelog, "## "), format!("{version} ({date})"));
    let parts: Vec<usize> = date.split('-').map(str::len).collect();
    assert_eq!(parts, [4, 2, 2], "{date}");
}

#[test]
fn a_tag_publishes_nothing_before_the_tests_have_passed() {
    let release = text(".github/workflows/release.yml");
    assert!(release.contains("uses: ./.github/workflows/ci.yml"));
    for job in ["pypi", "crates"] {
        let (_, rest) = release.split_once(&format!("\n  {job}:\n")).unwrap();
        let needs = rest.lines().find(|line| line.trim().starts_with("needs:"));
        assert_eq!(needs.map(str::trim), Some("needs: [ci, wheels]"), "{job}");
    }
}

#[test]
fn workflows_run_pinned_actions_with_no_permission_by_default() {
    let folder = root().join(".github/workflows");
    let mut pinned = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let name = path.display();
        assert!(text.lines().any(|line| line == "permissions: {}"), "{name}");
        for line in text.lines() {
            let line = line.trim().trim_start_matches("- ");
            let Some(action) = line.strip_prefix("uses: ") else {
                continue;
            };
            if action.starts_with("./.github/workflows/") {
                continue;
            }
            // A tag can be moved to other code, a commit cannot; the comment is for the reader.
            let (_, version) = action.split_once('@').unwrap();
            let (commit, tag) = version.split_once(" # v").unwrap_or((version, ""));
            let hash = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(hash && !tag.is_empty(), "{name}: {action}");
            pinned += 1;
        }
    }
    assert!(pinned >= 10, "{pinned}");
}

#[test]
fn the_oldest_rust_that_ci_builds_with_is_the_one_that_is_promised() {
    let oldest = value(&text("Cargo.toml"), "rust-version = ");
    let ci = text(".github/workflows/ci.yml");
    assert!(ci.contains(&format!("cargo +{oldest} check")), "{oldest}");
    for page in ["README.md", "docs/install.md"] {
        assert!(
            text(page).contains(&format!("{oldest} or newer")),
            "{page}: {oldest}"
        );
    }
}
