//! Finds values by the names that users type, and names by values.

use thiserror::Error;

/// A name of nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{given}` is not accepted: {}", .accepted.join(", "))]
pub struct UnknownName {
    /// What was given.
    pub given: String,
    /// What is accepted.
    pub accepted: Vec<&'static str>,
}

/// The value of a name, or what is accepted.
///
/// ```
/// let names = [("one", 1), ("two", 2)];
/// assert_eq!(foldglass::support::names::find(&names, "two"), Ok(2));
/// let error = foldglass::support::names::find(&names, "tow").unwrap_err();
/// assert_eq!(error.to_string(), "`tow` is not accepted: one, two");
/// ```
pub fn find<T: Copy>(names: &[(&'static str, T)], text: &str) -> Result<T, UnknownName> {
    let found = names.iter().find(|(name, _)| *name == text);
    found.map(|&(_, value)| value).ok_or_else(|| UnknownName {
        given: text.to_owned(),
        accepted: names.iter().map(|&(name, _)| name).collect(),
    })
}

/// The name of a value.
///
/// # Panics
/// If it has none.
pub fn of<T: PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    let found = names.iter().find(|(_, named)| *named == value);
    found.expect("every value has a name").0
}
