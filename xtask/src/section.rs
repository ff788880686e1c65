//! Replaces the generated section of a Markdown file.

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// `text` with `body` between the two markers, which stay.
pub fn replace(text: &str, body: &str) -> Result<String, String> {
    let begin = only(text, BEGIN)? + BEGIN.len();
    let end = only(text, END)?;
    if end < begin {
        return Err(format!("{END} comes before {BEGIN}"));
    }
    Ok(format!(
        "{}\n\n{}\n\n{}",
        &text[..begin],
        body.trim(),
        &text[end..]
    ))
}

/// Where the marker stands; it must stand exactly once.
fn only(text: &str, marker: &str) -> Result<usize, String> {
    let mut places = text.match_indices(marker).map(|(place, _)| place);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (None, _) => Err(format!("the marker {marker} is missing")),
        (Some(_), Some(_)) => Err(format!("the marker {marker} stands more than once")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_between_the_markers_changes() {
        let text = "# Title\n<!-- bench:begin -->\nold\n<!-- bench:end -->\ntail\n";
        let new = replace(text, "| new |\n").unwrap();
        assert_eq!(
            new,
            "# Title\n<!-- bench:begin -->\n\n| new |\n\n<!-- bench:end -->\ntail\n"
        );
        assert_eq!(replace(&new, "| new |").unwrap(), new);
    }

    #[test]
    fn a_missing_doubled_or_misplaced_marker_is_refused() {
        assert_eq!(
            replace("<!-- bench:end -->", "").unwrap_err(),
            format!("the marker {BEGIN} is missing")
        );
        assert_eq!(
            replace(&format!("{BEGIN} {BEGIN}"), "").unwrap_err(),
            format!("the marker {BEGIN} stands more than once")
        );
        assert_eq!(
            replace(&format!("{END} {BEGIN}"), "").unwrap_err(),
            format!("{END} comes before {BEGIN}")
        );
    }
}
