//! Finds the name that a mistyped one may have been meant for.

use strsim::levenshtein;

/// The name that is fewest changes away, where it is near enough to be meant.
pub fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = names
        .into_iter()
        .map(|name| (levenshtein(typed, name), name));
    let (changes, name) = near.min()?;
    // A third of the letters, and never nothing in common.
    (3 * changes <= name.chars().count().max(3)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_from_all_names_is_meant_for_none() {
        let names = ["tab:shortfall", "tab:escape"];
        assert_eq!(nearest("tab:escap", names), Some("tab:escape"));
        assert_eq!(nearest("shortfall", names), Some("tab:shortfall"));
        assert_eq!(nearest("everything", names), None);
        assert_eq!(nearest("x", []), None);
    }
}
