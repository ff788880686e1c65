//! Writes the line of the shell that gives the numbers of an answer, and the file it needs.

use foldglass::model::policy::{CodeForm, PolicyForm};
use foldglass::{Code, Policy};
use serde::Serialize;

/// A file that a command line names.
#[derive(Serialize)]
pub struct NamedFile {
    name: &'static str,
    text: String,
}

/// The name of a code's file.
pub const CODE: &str = "code.json";
/// That of a policy.
pub const POLICY: &str = "policy.json";

/// The file of a code.
pub fn code_file(code: &Code) -> NamedFile {
    NamedFile {
        name: CODE,
        text: text(&CodeForm::from(code)),
    }
}

/// The file of a policy.
pub fn policy_file(policy: &Policy) -> NamedFile {
    NamedFile {
        name: POLICY,
        text: text(&PolicyForm::from(policy)),
    }
}

fn text(form: &impl Serialize) -> String {
    let mut text = serde_json::to_string(form).expect("plain data");
    text.push('\n');
    text
}

/// The line of a command.
pub fn line<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    let words = words.into_iter().map(|word| quoted(word.as_ref()));
    let words: Vec<String> = std::iter::once("foldglass".to_owned())
        .chain(words)
        .collect();
    words.join(" ")
}

/// A word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        assert_eq!(
            line(["tree", "--task", "z:2*z:3", "it's"]),
            r"foldglass tree --task 'z:2*z:3' 'it'\''s'"
        );
    }
}
