//! Renders a report as Markdown, its figures as files beside it.

use crate::page::{AgreementTally, Block, Chapter, Fact, Figure, Page};
use crate::table::{Cell, Column, Format, Table};

/// The page.
pub fn write(page: &Page) -> String {
    let mut out = format!("# {}\n\n{}\n\n", page.title, page.subtitle);
    out += &format!("{}\n", page.marks.join(" · "));
    for chapter in &page.chapters {
        write_chapter(&mut out, chapter);
    }
    out
}

fn write_chapter(out: &mut String, chapter: &Chapter) {
    *out += &format!("\n<a id=\"{}\"></a>\n\n## {}\n", chapter.id, chapter.title);
    write_blocks(out, &chapter.blocks);
}

fn write_blocks(out: &mut String, blocks: &[Block]) {
    for block in blocks {
        out.push('\n');
        match block {
            Block::Prose(text) => *out += &format!("{}\n", lowered(text).trim()),
            Block::Facts(facts) => {
                for Fact { name, value } in facts {
                    *out += &format!("- {name}: {value}\n");
                }
            }
            Block::Tallies(tallies) => *out += &table(&tallied(tallies)),
            Block::Sheet(sheet) => *out += &table(&sheet.table),
            Block::Figure(Figure {
                id,
                alternative,
                caption,
                ..
            }) => {
                let alternative = alternative.replace(['[', ']'], "");
                *out += &format!("![{alternative}](figures/{id}.svg)\n\n{caption}\n");
            }
            Block::Folded { summary, blocks } => {
                *out += &format!("**{summary}**\n");
                write_blocks(out, blocks);
            }
        }
    }
}

/// Text whose headings stand below those of chapters.
fn lowered(text: &str) -> String {
    let lower = |line: &str| {
        if line.starts_with("## ") || line.starts_with("### ") {
            format!("#{line}\n")
        } else {
            format!("{line}\n")
        }
    };
    text.lines().map(lower).collect()
}

fn table(table: &Table) -> String {
    let mut bytes = Vec::new();
    let written = table.write(Format::Markdown, &mut bytes);
    written.expect("memory takes all that is written");
    String::from_utf8(bytes).expect("text")
}

fn tallied(tallies: &[AgreementTally]) -> Table {
    let columns = [
        Column::words("item"),
        Column::numbers("agree"),
        Column::numbers("differ"),
        Column::numbers("cannot tell"),
        Column::words("says"),
    ];
    let row = |tally: &AgreementTally| {
        let [agree, differ, cannot_tell] = tally.counts.map(Cell::from);
        let says = tally.says.replace(['*', '`'], "");
        [
            tally.name.clone().into(),
            agree,
            differ,
            cannot_tell,
            says.into(),
        ]
    };
    Table::new(columns).rows(tallies.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Sheet;
    use crate::table::example;

    #[test]
    fn a_page_is_one_text_with_its_figures_beside_it() {
        let figure = Figure {
            id: "fig-one".into(),
            svg: "<svg/>".into(),
            alternative: "what [it] shows".into(),
            caption: "below".into(),
        };
        let page = Page {
            title: "T".into(),
            subtitle: "s".into(),
            marks: vec!["a".into(), "b".into()],
            chapters: vec![
                Chapter::new("c", "C")
                    .prose("## Part\n\ntext")
                    .with(Block::Figure(figure))
                    .sheet(Sheet::new("sheet", example())),
            ],
        };
        let text = write(&page);
        for part in [
            "# T\n\ns\n\na · b\n",
            "## C\n\n### Part\n\ntext\n",
            "![what it shows](figures/fig-one.svg)\n\nbelow\n",
            "| class | mean J |",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
