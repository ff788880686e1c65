//! Renders Markdown as HTML, for the prose of reports.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// Text as HTML; its headings stand below those of chapters.
pub fn html(markdown: &str) -> String {
    let mut rendered = String::new();
    let mut place = Place::default();
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES);
    html::push_html(&mut rendered, events.flat_map(|event| place.adapt(event)));
    rendered
}

/// The same for a line within another element.
pub fn inline(markdown: &str) -> String {
    let whole = html(markdown);
    let whole = whole.trim();
    let inner = whole.strip_prefix("<p>");
    let inner = inner.and_then(|rest| rest.strip_suffix("</p>"));
    inner
        .filter(|inner| !inner.contains("<p>"))
        .unwrap_or(whole)
        .to_owned()
}

/// `text` as HTML shows it.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Where in a text the next event is.
#[derive(Default)]
struct Place {
    /// The number of the entry that comes next, in a numbered list.
    entry: Option<u64>,
    /// Links that lead to other files, which a page of its own has not beside it.
    outward: bool,
}

impl Place {
    fn adapt<'a>(&mut self, event: Event<'a>) -> Vec<Event<'a>> {
        let raw = |text: String| Event::Html(CowStr::from(text));
        match event {
            Event::Start(Tag::Heading {
                level,
                id,
                classes,
                attrs,
            }) => {
                let level = lower(level);
                vec![Event::Start(Tag::Heading {
                    level,
                    id,
                    classes,
                    attrs,
                })]
            }
            Event::End(TagEnd::Heading(level)) => vec![Event::End(TagEnd::Heading(lower(level)))],
            Event::Start(Tag::Table(sides)) => {
                let open =
                    "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"table\">";
                vec![raw(open.to_owned()), Event::Start(Tag::Table(sides))]
            }
            Event::End(TagEnd::Table) => vec![Event::End(TagEnd::Table), raw("</div>".to_owned())],
            Event::Start(Tag::List(start)) => {
                self.entry = start;
                vec![Event::Start(Tag::List(start))]
            }
            Event::Start(Tag::Item) => match self.entry {
                Some(number) => {
                    self.entry = Some(number + 1);
                    vec![raw(format!("<li id=\"erratum-{number}\">"))]
                }
                None => vec![Event::Start(Tag::Item)],
            },
            Event::Start(Tag::Link { ref dest_url, .. }) => {
                self.outward = !dest_url.starts_with('#') && !dest_url.contains("://");
                if self.outward {
                    Vec::new()
                } else {
                    vec![event]
                }
            }
            Event::End(TagEnd::Link) if self.outward => Vec::new(),
            other => vec![other],
        }
    }
}

fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => HeadingLevel::H3,
        HeadingLevel::H3 => HeadingLevel::H4,
        _ => HeadingLevel::H5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_rendered_and_text_is_escaped() {
        assert_eq!(
            inline("a < b, `x & y`, *so*"),
            "a &lt; b, <code>x &amp; y</code>, <em>so</em>"
        );
        assert_eq!(escaped("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
    }

    #[test]
    fn headings_stand_below_those_of_chapters() {
        assert_eq!(html("## The paper").trim(), "<h3>The paper</h3>");
    }

    #[test]
    fn entries_of_numbered_lists_are_linked_to_by_their_numbers() {
        let rendered = html("9. nine\n10. ten\n\ntext\n\n14. fourteen\n");
        for number in [9, 10, 14] {
            assert!(
                rendered.contains(&format!("id=\"erratum-{number}\"")),
                "{rendered}"
            );
        }
    }

    #[test]
    fn links_to_files_beside_the_text_are_left_out_and_others_are_not() {
        let rendered = html("[this](other.md), [that](#here)");
        assert!(
            rendered.contains("<p>this, <a href=\"#here\">that</a></p>"),
            "{rendered}"
        );
    }

    #[test]
    fn tables_scroll_within_the_page() {
        let rendered = html("| a |\n|---|\n| 1 |\n");
        assert!(rendered.contains("tabindex=\"0\""), "{rendered}");
        assert!(
            rendered.trim_end().ends_with("</table>\n</div>"),
            "{rendered}"
        );
    }
}
