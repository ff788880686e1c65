//! Replaces a generated section of a Markdown file.

/// `text` with `body` between the markers `<!-- NAME:begin -->` and `<!-- NAME:end -->`, which stay.
pub fn replace(text: &str, name: &str, body: &str) -> Result<String, String> {
    let (begin_marker, end_marker) = markers(name);
    let begin = only(text, &begin_marker)? + begin_marker.len();
    let end = only(text, &end_marker)?;
    if end < begin {
        return Err(format!("{end_marker} comes before {begin_marker}"));
    }
    Ok(format!(
        "{}\n\n{}\n\n{}",
        &text[..begin],
        body.trim(),
        &text[end..]
    ))
}

fn markers(name: &str) -> (String, String) {
    (
        format!("<!-- {name}:begin -->"),
        format!("<!-- {name}:end -->"),
    )
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
        let new = replace(text, "bench", "| new |\n").unwrap();
        assert_eq!(
            new,
            "# Title\n<!-- bench:begin -->\n\n| new |\n\n<!-- bench:end -->\ntail\n"
        );
        assert_eq!(replace(&new, "bench", "| new |").unwrap(), new);
    }

    #[test]
    fn a_missing_doubled_or_misplaced_marker_is_refused() {
        let (begin, end) = markers("bench");
        let error = |text: &str| replace(text, "bench", "").unwrap_err();
        assert_eq!(error(&end), format!("the marker {begin} is missing"));
        assert_eq!(
            error(&format!("{begin} {begin}")),
            format!("the marker {begin} stands more than once")
        );
        assert_eq!(
            error(&format!("{end} {begin}")),
            format!("{end} comes before {begin}")
        );
    }
}
