//! Renders a report as one HTML page that needs nothing beside it: no network, no other file.

mod drawing;
mod sheet;

use std::fmt::Write;

use crate::page::{AgreementTally, Block, Chapter, Fact, Figure, Page};
use crate::prose::{escaped, html, inline};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// The page.
pub fn write(page: &Page) -> String {
    let mut out = String::new();
    let title = escaped(&page.title);
    out += "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    out += "<meta name=\"color-scheme\" content=\"light dark\">\n";
    // An icon of nothing, or a browser would ask for one.
    out += "<link rel=\"icon\" href=\"data:,\">\n";
    push(
        &mut out,
        format_args!("<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"),
    );
    out += drawing::PATTERNS;
    out += "<a class=\"skip\" href=\"#main\">Skip to the report</a>\n";
    write_head(&mut out, page);
    out += "<div class=\"columns\">\n";
    write_contents(&mut out, &page.chapters);
    out += "<main id=\"main\">\n";
    page.chapters
        .iter()
        .for_each(|chapter| write_chapter(&mut out, chapter));
    out += "</main>\n</div>\n";
    let marks = page.marks.join(" · ");
    push(
        &mut out,
        format_args!("<footer><p>{}</p></footer>\n", inline(&marks)),
    );
    push(
        &mut out,
        format_args!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n"),
    );
    out
}

/// Writing to a string cannot fail.
fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn write_head(out: &mut String, page: &Page) {
    out.push_str("<header class=\"masthead\">\n<div>\n");
    push(out, format_args!("<h1>{}</h1>\n", escaped(&page.title)));
    push(
        out,
        format_args!("<p class=\"lead\">{}</p>\n", inline(&page.subtitle)),
    );
    out.push_str("<ul class=\"marks\" aria-label=\"What made this report\">");
    for mark in &page.marks {
        push(out, format_args!("<li>{}</li>", inline(mark)));
    }
    out.push_str("</ul>\n</div>\n");
    out.push_str("<button type=\"button\" id=\"theme\" hidden>Dark</button>\n</header>\n");
}

fn write_contents(out: &mut String, chapters: &[Chapter]) {
    out.push_str("<nav aria-label=\"Chapters\">\n<ol>\n");
    for chapter in chapters {
        let (id, name) = (&chapter.id, escaped(&chapter.short));
        push(out, format_args!("<li><a href=\"#{id}\">{name}</a></li>\n"));
    }
    out.push_str("</ol>\n</nav>\n");
}

fn write_chapter(out: &mut String, chapter: &Chapter) {
    let Chapter {
        id, title, blocks, ..
    } = chapter;
    push(
        out,
        format_args!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{} <a \
             class=\"anchor\" href=\"#{id}\" aria-label=\"Link to this chapter\">#</a></h2>\n",
            escaped(title)
        ),
    );
    write_blocks(out, blocks);
    out.push_str("</section>\n");
}

fn write_blocks(out: &mut String, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Prose(text) => out.push_str(&html(text)),
            Block::Facts(facts) => write_facts(out, facts),
            Block::Tallies(tallies) => write_tallies(out, tallies),
            Block::Sheet(sheet) => sheet::write(out, sheet),
            Block::Figure(figure) => write_figure(out, figure),
            Block::Folded { summary, blocks } => {
                push(
                    out,
                    format_args!("<details>\n<summary>{}</summary>\n", inline(summary)),
                );
                write_blocks(out, blocks);
                out.push_str("</details>\n");
            }
        }
    }
}

fn write_facts(out: &mut String, facts: &[Fact]) {
    out.push_str("<dl class=\"facts\">\n");
    for Fact { name, value } in facts {
        let (name, value) = (escaped(name), inline(value));
        push(
            out,
            format_args!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"),
        );
    }
    out.push_str("</dl>\n");
}

/// The sum in large numbers; folded, a line each.
fn write_tallies(out: &mut String, tallies: &[AgreementTally]) {
    let mut sums = [0; 3];
    for tally in tallies {
        for (sum, count) in sums.iter_mut().zip(tally.counts) {
            *sum += count;
        }
    }
    out.push_str("<ul class=\"sums\">\n");
    for ((class, word), sum) in drawing::VERDICTS.into_iter().zip(sums) {
        let sign = drawing::sign(class);
        push(
            out,
            format_args!("<li class=\"{class}\"><b>{sum}</b> <span>{sign}{word}</span></li>\n"),
        );
    }
    out.push_str("</ul>\n");
    out.push_str(&drawing::bar(sums, "all comparisons"));
    out.push_str("<details>\n<summary>Item by item</summary>\n<ul class=\"tallies\">\n");
    for tally in tallies {
        let (id, name) = (&tally.id, escaped(&tally.name));
        push(out, format_args!("<li><a href=\"#{id}\">{name}</a>"));
        push(out, format_args!("<p>{}</p>", inline(&tally.says)));
        let words = (drawing::VERDICTS.into_iter().zip(tally.counts))
            .filter(|(_, count)| *count > 0)
            .map(|((class, word), count)| format!("<span class=\"{class}\">{count} {word}</span>"));
        let words: Vec<String> = words.collect();
        let bar = drawing::bar(tally.counts, &tally.name);
        push(
            out,
            format_args!("<div>{bar}<small>{}</small></div></li>\n", words.join(", ")),
        );
    }
    out.push_str("</ul>\n</details>\n");
}

fn write_figure(out: &mut String, figure: &Figure) {
    let Figure {
        id,
        svg,
        alternative,
        caption,
    } = figure;
    let drawn = drawing::embedded(svg, id, alternative);
    push(
        out,
        format_args!(
            "<figure id=\"{id}\">\n<div class=\"paper scroll\" role=\"region\" tabindex=\"0\" \
             aria-label=\"{}\">{drawn}</div>\n<figcaption>{} <a href=\"figures/{id}.svg\" \
             download>SVG</a></figcaption>\n</figure>\n",
            escaped(alternative),
            inline(caption)
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Sheet;
    use crate::table::example;

    fn page() -> Page {
        let tally = AgreementTally {
            id: "one".into(),
            name: "tab:one".into(),
            says: "what it *says*".into(),
            counts: [3, 1, 0],
        };
        let figure = Figure {
            id: "fig-one".into(),
            svg: "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"20\" height=\"10\"><text>a</text></svg>"
                .into(),
            alternative: "a < b".into(),
            caption: "`caption`".into(),
        };
        Page {
            title: "A & B".into(),
            subtitle: "what".into(),
            marks: vec!["version 1".into()],
            chapters: vec![
                Chapter::new("first", "First").with(Block::Tallies(vec![tally])),
                Chapter::new("one", "One")
                    .with(Block::Figure(figure))
                    .sheet(Sheet::new("sheet", example()).keyed(["class"])),
            ],
        }
    }

    #[test]
    fn a_page_has_landmarks_and_links_that_lead_somewhere() {
        let text = write(&page());
        for part in [
            "<header",
            "<nav aria-label",
            "<main id=\"main\"",
            "<footer",
            "lang=\"en\"",
        ] {
            assert_eq!(text.matches(part).count(), 1, "{part}");
        }
        for link in text.split("href=\"#").skip(1) {
            let (id, _) = link.split_once('"').unwrap();
            assert_eq!(text.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
        }
    }

    #[test]
    fn a_page_asks_for_nothing_from_elsewhere() {
        let text = write(&page());
        for word in [
            "src=",
            "@import",
            "url(http",
            "<link rel=\"stylesheet\"",
            "fetch(",
        ] {
            assert!(!text.contains(word), "{word}");
        }
    }

    #[test]
    fn what_is_text_is_escaped() {
        let text = write(&page());
        assert!(text.contains("<title>A &amp; B</title>") && text.contains("a &lt; b"));
        assert!(text.contains("parity {k} &amp; \\tau"));
    }
}
