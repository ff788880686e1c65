//! Finds values by the names that users type, and names by values.

/// The value of a name, or what is accepted.
pub fn find<T: Copy>(names: &[(&str, T)], text: &str) -> Result<T, String> {
    let found = names.iter().find(|(name, _)| *name == text);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let all: Vec<&str> = names.iter().map(|&(name, _)| name).collect();
        format!("`{text}` is not accepted: {}", all.join(", "))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_both_ways() {
        let names = [("one", 1), ("two", 2)];
        assert_eq!((find(&names, "two"), of(&names, 1)), (Ok(2), "one"));
        assert_eq!(
            find(&names, "tow"),
            Err("`tow` is not accepted: one, two".to_owned())
        );
    }
}
