//! Keeps where the keys of a study stand in its file.

use std::collections::HashMap;

/// A table of a study's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    /// The file itself.
    Study,
    /// The n-th `[[class]]`.
    Class(usize),
    /// The n-th `[[dynamics]]`.
    Dynamics(usize),
}

/// Lines and columns of tables and keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    text: String,
    tables: HashMap<Table, String>,
    keys: HashMap<(Table, String), String>,
}

impl Lines {
    /// Of a file with this text, before its tables are read.
    pub fn of(text: &str) -> Lines {
        Lines {
            text: text.to_owned(),
            ..Lines::default()
        }
    }

    /// The line that a problem names, for a person to see.
    pub fn excerpt(&self, problem: &str) -> Option<String> {
        excerpt(&self.text, problem)
    }

    pub fn add_table(&mut self, table: Table, line: String) {
        self.tables.insert(table, line);
    }

    pub fn add_key(&mut self, table: Table, key: &str, line: String) {
        self.keys.insert((table, key.to_owned()), line);
    }

    /// The line of a key, or of its table where the key is not given. Of `quench.tau` it is that of
    /// `quench`.
    pub fn find(&self, table: Table, key: Option<&str>) -> Option<&str> {
        let first = key.map(|key| key.split('.').next().unwrap_or(key));
        let of_key = first.and_then(|key| self.keys.get(&(table, key.to_owned())));
        of_key
            .or_else(|| self.tables.get(&table))
            .map(|line| &line[..])
    }
}

/// Line and column of a place in a text.
pub(crate) fn position(text: &str, at: usize) -> String {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    format!("line {line}, column {column}")
}

/// The line of a text that a problem begins with, as [`position`] writes it, with a caret below the column.
pub(crate) fn excerpt(text: &str, problem: &str) -> Option<String> {
    let (line, rest) = problem.strip_prefix("line ")?.split_once(", column ")?;
    let column = rest.split(':').next()?.parse::<usize>().ok()?;
    let shown = text
        .lines()
        .nth(line.parse::<usize>().ok()?.checked_sub(1)?)?;
    let shown: String = shown
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let (margin, before) = (" ".repeat(line.len()), " ".repeat(column.checked_sub(1)?));
    Some(format!("  {line} | {shown}\n  {margin} | {before}^"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_shown_with_its_line_and_a_caret() {
        let text = "name = \"s\"\n\ttau = x\n";
        let at = text.find('x').expect("it is there");
        let problem = format!("{}: no number", position(text, at));
        let shown = excerpt(text, &problem).expect("a line");
        assert_eq!(shown, "  2 |  tau = x\n    |        ^");
        assert_eq!(excerpt(text, "line 9, column 1: no such line"), None);
        assert_eq!(excerpt(text, "the key `name` is missing"), None);
    }
}
