//! Holds a report: chapters of prose, facts, tables and figures, whatever form it is written in.
//!
//! A chapter is made by whoever knows its matter and handed over: `Chapter::new("claims", "Every claim")
//! .sheet(Sheet::new("claims", table).keyed(["id"]).judged("verdict"))` is all that a table of claims
//! needs to stand in the page, sorted and filtered, a link to each of its rows.

use crate::table::{Cell, Table};
pub use crate::tone::Tone;

/// A report.
#[derive(Debug, Clone)]
pub struct Page {
    /// Its name.
    pub title: String,
    /// What it is about, in Markdown.
    pub subtitle: String,
    /// What made it, in a few words each.
    pub marks: Vec<String>,
    /// Its chapters, the first of them on the first screen.
    pub chapters: Vec<Chapter>,
}

/// A chapter.
#[derive(Debug, Clone)]
pub struct Chapter {
    /// Where links to it lead.
    pub id: String,
    /// Its name.
    pub title: String,
    /// How the list of chapters names it.
    pub short: String,
    /// What it holds, in order.
    pub blocks: Vec<Block>,
}

/// A piece of a chapter.
#[derive(Debug, Clone)]
pub enum Block {
    /// Text in Markdown.
    Prose(String),
    /// A few things by name.
    Facts(Vec<Fact>),
    /// How many numbers agree, and so on, part by part.
    Tallies(Vec<AgreementTally>),
    /// A table.
    Sheet(Sheet),
    /// A figure.
    Figure(Figure),
    /// Something that a reader opens.
    Folded {
        /// What it is.
        summary: String,
        /// What it holds.
        blocks: Vec<Block>,
    },
}

/// Something by name.
#[derive(Debug, Clone)]
pub struct Fact {
    /// The name.
    pub name: &'static str,
    /// What it is, in Markdown.
    pub value: String,
}

/// How many numbers of something agree, differ, or cannot be told.
#[derive(Debug, Clone)]
pub struct AgreementTally {
    /// The chapter it is of.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it says, in Markdown.
    pub says: String,
    /// How many agree, differ, cannot tell.
    pub counts: [usize; 3],
}

/// A figure.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Where links to it lead, and the name of its file.
    pub id: String,
    /// It, drawn.
    pub svg: String,
    /// What it shows, in words for who does not see it.
    pub alternative: String,
    /// What stands below it, in Markdown.
    pub caption: String,
}

/// A table with links to its rows.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// Where links to it lead, and the name of its files.
    pub id: String,
    /// The table itself.
    pub table: Table,
    /// Where links to the rows lead.
    pub anchors: Vec<String>,
    /// The column of verdicts, where it has one.
    pub verdicts: Option<usize>,
    /// The column that stands beneath the second one, in small type, where there is one.
    pub beneath: Option<usize>,
    /// Beside each row what is drawn in it; empty where nothing is.
    pub ranges: Vec<Option<Range>>,
}

/// Our number with its interval, beside the paper's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The interval's ends.
    pub interval: [f64; 2],
    /// Ours.
    pub ours: f64,
    /// The paper's.
    pub paper: f64,
}

impl Chapter {
    /// A chapter without content.
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Chapter {
        let title = title.into();
        Chapter {
            id: id.into(),
            short: title.clone(),
            title,
            blocks: Vec::new(),
        }
    }

    /// The chapter under another name in the list of chapters.
    pub fn short(self, short: impl Into<String>) -> Chapter {
        let short = short.into();
        Chapter { short, ..self }
    }

    /// The chapter with another piece.
    pub fn with(mut self, block: Block) -> Chapter {
        self.blocks.push(block);
        self
    }

    /// The chapter with text in Markdown.
    pub fn prose(self, text: impl Into<String>) -> Chapter {
        self.with(Block::Prose(text.into()))
    }

    /// The chapter with a table.
    pub fn sheet(self, sheet: Sheet) -> Chapter {
        self.with(Block::Sheet(sheet))
    }

    /// All tables of it, those that are folded too.
    pub fn sheets(&self) -> Vec<&Sheet> {
        sheets(&self.blocks)
    }

    /// All figures of it.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Figure(figure) => Some(figure),
            _ => None,
        })
    }
}

fn sheets(blocks: &[Block]) -> Vec<&Sheet> {
    let mut found = Vec::new();
    for block in blocks {
        match block {
            Block::Sheet(sheet) => found.push(sheet),
            Block::Folded { blocks, .. } => found.extend(sheets(blocks)),
            _ => {}
        }
    }
    found
}

impl Sheet {
    /// A table whose rows are known by their numbers.
    pub fn new(id: impl Into<String>, table: Table) -> Sheet {
        let id = id.into();
        let rows = 1..=table.entries().len();
        Sheet {
            anchors: rows.map(|row| format!("{id}--{row}")).collect(),
            id,
            table,
            verdicts: None,
            beneath: None,
            ranges: Vec::new(),
        }
    }

    /// The table whose rows are known by what stands in these columns.
    ///
    /// # Panics
    /// If it has no such column.
    pub fn keyed<const N: usize>(mut self, keys: [&str; N]) -> Sheet {
        let places = keys.map(|key| self.place(key));
        let mut anchors: Vec<String> = Vec::new();
        for row in self.table.entries() {
            let words = places.map(|place| row[place].text());
            let name = format!("{}--{}", self.id, slug(&words.join(" ")));
            let again = |name: &String| anchors.contains(name);
            let others = (2..).map(|number| format!("{name}-{number}"));
            let mut names = std::iter::once(name.clone()).chain(others);
            anchors.push(names.find(|name| !again(name)).expect("numbers go on"));
        }
        self.anchors = anchors;
        self
    }

    /// The table whose verdicts stand in this column.
    ///
    /// # Panics
    /// If it has no such column.
    pub fn judged(mut self, key: &str) -> Sheet {
        self.verdicts = Some(self.place(key));
        self
    }

    /// The table with this column, of longer texts, beneath the second one.
    ///
    /// # Panics
    /// If it has no such column.
    pub fn beneath(mut self, key: &str) -> Sheet {
        self.beneath = Some(self.place(key));
        self
    }

    /// The table with a drawing in each row.
    pub fn drawn(self, ranges: Vec<Option<Range>>) -> Sheet {
        Sheet { ranges, ..self }
    }

    /// What the verdict of a row says.
    pub fn tone(&self, row: &[Cell]) -> Option<Tone> {
        Some(Tone::of(&row[self.verdicts?].text()))
    }

    fn place(&self, key: &str) -> usize {
        let mut columns = self.table.columns().iter();
        let place = columns.position(|column| column.key == key);
        place.unwrap_or_else(|| panic!("there is no column {key:?}"))
    }
}

/// Small letters and digits, a hyphen for each run of others.
pub fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    #[test]
    fn rows_are_known_by_their_words_and_none_by_those_of_another() {
        let columns = [Column::words("class"), Column::words("quantity")];
        let rows = [["Z_5 (0,0) T=8", "J"], ["Z_5 (0,0) T=8", "J!"], ["q", "J"]];
        let table = Table::new(columns).rows(rows.map(|row| row.map(Cell::from)));
        let sheet = Sheet::new("t", table).keyed(["class", "quantity"]);
        assert_eq!(
            sheet.anchors,
            ["t--z-5-0-0-t-8-j", "t--z-5-0-0-t-8-j-2", "t--q-j"]
        );
    }

    #[test]
    fn a_chapter_knows_its_tables_those_that_are_folded_too() {
        let sheet = |id: &str| Sheet::new(id, Table::of_numbers(["n"]));
        let folded = Block::Folded {
            summary: String::new(),
            blocks: vec![Block::Sheet(sheet("b"))],
        };
        let chapter = Chapter::new("c", "C").sheet(sheet("a")).with(folded);
        let ids: Vec<&str> = chapter.sheets().iter().map(|sheet| &sheet.id[..]).collect();
        assert_eq!(ids, ["a", "b"]);
    }
}
