//! Finds the name that a mistyped one may have been meant for.

/// The name that is fewest changes away, where it is near enough to be meant.
pub fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = names.into_iter().map(|name| (changes(typed, name), name));
    let (changes, name) = near.min()?;
    // A third of the letters, and never nothing in common.
    (3 * changes <= name.chars().count().max(3)).then_some(name)
}

/// The fewest letters to put in, take out or replace (Levenshtein's distance).
fn changes(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted() {
        for (from, to, count) in [
            ("", "abc", 3),
            ("tab", "tab", 0),
            ("kitten", "sitting", 3),
            ("ab", "ba", 2),
        ] {
            assert_eq!((changes(from, to), changes(to, from)), (count, count));
        }
    }

    #[test]
    fn what_is_far_from_all_names_is_meant_for_none() {
        let names = ["tab:shortfall", "tab:escape"];
        assert_eq!(nearest("tab:escap", names), Some("tab:escape"));
        assert_eq!(nearest("shortfall", names), Some("tab:shortfall"));
        assert_eq!(nearest("everything", names), None);
        assert_eq!(nearest("x", []), None);
    }
}
