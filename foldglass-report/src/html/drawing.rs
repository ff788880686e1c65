//! Draws what stands between the lines of a page: bars of verdicts, ranges, and figures made to fit.

use crate::page::{Range, Tone};
use crate::prose::escaped;
use crate::words::number;

/// The classes of style and the words of what is tallied.
pub const VERDICTS: [(&str, &str); 3] = [
    ("good", "agree"),
    ("bad", "differ"),
    ("unsure", "cannot tell"),
];

/// What tells a difference without its colour.
pub const PATTERNS: &str = "<svg width=\"0\" height=\"0\" aria-hidden=\"true\" class=\"patterns\"><defs>\
    <pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" \
    patternTransform=\"rotate(45)\"><rect width=\"5\" height=\"5\" class=\"ground\"/>\
    <rect width=\"2\" height=\"5\" class=\"stripe\"/></pattern></defs></svg>\n";

/// The class of style of what a verdict says.
pub fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Unsure => "unsure",
        Tone::Silent => "silent",
    }
}

/// The sign of a class of style, told apart in grey.
pub fn sign(class: &str) -> &'static str {
    match class {
        "good" => "<i aria-hidden=\"true\">✓</i>",
        "bad" => "<i aria-hidden=\"true\">≠</i>",
        "unsure" => "<i aria-hidden=\"true\">?</i>",
        _ => "<i aria-hidden=\"true\">–</i>",
    }
}

/// A bar whose parts are as long as the counts.
pub fn bar(counts: [usize; 3], of: &str) -> String {
    let all: usize = counts.iter().sum();
    let said = VERDICTS.iter().zip(counts);
    let said: Vec<String> = said
        .map(|((_, word), count)| format!("{count} {word}"))
        .collect();
    let said = format!("{}: {}", escaped(of), said.join(", "));
    let mut parts = String::new();
    let mut before = 0;
    for ((class, _), count) in VERDICTS
        .into_iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0)
    {
        let percent = |count: usize| 100.0 * count as f64 / all as f64;
        let (x, width) = (percent(before), percent(count));
        parts += &format!(
            "<rect class=\"{class}\" x=\"{x:.2}%\" width=\"{width:.2}%\" height=\"100%\"/>"
        );
        before += count;
    }
    format!(
        "<svg class=\"bar\" role=\"img\" aria-label=\"{said}\"><title>{said}</title>{parts}</svg>"
    )
}

/// The width and the height of a range.
const WIDE: f64 = 110.0;
const HIGH: f64 = 18.0;

/// A range shows at least this share of its largest number.
const LEAST_SPAN: f64 = 0.04;

/// Our interval as a line, our number as a dot on it, the paper's as a stroke across.
pub fn range(range: &Range) -> String {
    let Range {
        interval: [low, high],
        ours,
        paper,
    } = *range;
    let (least, most) = (low.min(paper).min(ours), high.max(paper).max(ours));
    // Two numbers that differ by little are drawn side by side, not at the ends.
    let span = (most - least).max(LEAST_SPAN * most.abs().max(least.abs()));
    let first = (least + most - span) / 2.0;
    let x = |value: f64| {
        let share = if span > 0.0 {
            (value - first) / span
        } else {
            0.5
        };
        6.0 + share * (WIDE - 12.0)
    };
    let y = HIGH / 2.0;
    let said = format!(
        "ours {} ({} to {}), the paper's {}",
        number(ours),
        number(low),
        number(high),
        number(paper)
    );
    format!(
        "<svg class=\"range\" viewBox=\"0 0 {WIDE} {HIGH}\" width=\"{WIDE}\" height=\"{HIGH}\" \
         role=\"img\" aria-label=\"{said}\"><title>{said}</title><line class=\"interval\" x1=\"{:.1}\" \
         x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/><line class=\"stated\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"2\" \
         y2=\"{}\"/><circle cx=\"{:.1}\" cy=\"{y}\" r=\"3.5\"/></svg>",
        x(low),
        x(high),
        x(paper),
        x(paper),
        HIGH - 2.0,
        x(ours)
    )
}

/// Narrower drawings are figures for one column of a paper.
const COLUMN: f64 = 500.0;

/// A drawing within a page: named for who does not see it, as wide as there is room, its ids its own.
pub fn embedded(svg: &str, id: &str, alternative: &str) -> String {
    let begin = svg.find("<svg").unwrap_or(0);
    // The page names it in its own words.
    let mut drawn = svg[begin..].trim_end().replacen(" role=\"img\"", "", 1);
    let head = drawn.find('>').unwrap_or(0);
    let size = |name: &str| {
        let key = format!(" {name}=\"");
        let from = drawn[..head].find(&key)? + key.len();
        let text = drawn[from..].split('"').next()?;
        text.parse::<f64>().ok()
    };
    let mut more = format!(" role=\"img\" aria-label=\"{}\"", escaped(alternative));
    if let (Some(width), Some(height)) = (size("width"), size("height")) {
        if !drawn[..head].contains("viewBox") {
            more += &format!(" viewBox=\"0 0 {width} {height}\"");
        }
        more += &format!(" style=\"min-width:min({width}px,44rem)\"");
        if width < COLUMN {
            more += " class=\"column\"";
        }
    }
    drawn.insert_str("<svg".len(), &more);
    // Ids are the page's, and a figure's own are found again by its name.
    drawn
        .replace(" id=\"", &format!(" id=\"{id}-"))
        .replace("url(#", &format!("url(#{id}-"))
        .replace("href=\"#", &format!("href=\"#{id}-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_counts() {
        let drawn = bar([3, 1, 0], "x");
        assert!(
            drawn.contains("width=\"75.00%\"") && drawn.contains("x=\"75.00%\""),
            "{drawn}"
        );
        assert_eq!(drawn.matches("<rect").count(), 2);
        assert!(!bar([0; 3], "none").contains("NaN"));
    }

    #[test]
    fn a_range_holds_all_of_its_numbers() {
        let drawn = range(&Range {
            interval: [0.25, 0.75],
            ours: 0.5,
            paper: 1.0,
        });
        // From 0.25 to 1 over 98 pixels.
        assert!(drawn.contains("x1=\"6.0\" x2=\"71.3\""), "{drawn}");
        assert!(drawn.contains("x1=\"104.0\" x2=\"104.0\""), "{drawn}");
        let point = Range {
            interval: [1.0, 1.0],
            ours: 1.0,
            paper: 1.0,
        };
        assert!(range(&point).contains("cx=\"55.0\""));
        let near = Range {
            interval: [1.0, 1.0],
            ours: 1.0,
            paper: 0.98,
        };
        assert!(range(&near).contains("cx=\"79.5\""), "{}", range(&near));
    }

    #[test]
    fn ids_of_two_figures_do_not_meet() {
        let svg = "<?xml?><svg width=\"20\" height=\"10\"><clipPath id=\"c\"/><g clip-path=\"url(#c)\"/></svg>\n";
        let drawn = embedded(svg, "one", "a \"b\"");
        assert!(
            drawn.starts_with(
                "<svg role=\"img\" aria-label=\"a &quot;b&quot;\" viewBox=\"0 0 20 10\""
            )
        );
        assert!(
            drawn.contains("id=\"one-c\"") && drawn.contains("url(#one-c)"),
            "{drawn}"
        );
    }
}
