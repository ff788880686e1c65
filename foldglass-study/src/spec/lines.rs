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
    tables: HashMap<Table, String>,
    keys: HashMap<(Table, String), String>,
}

impl Lines {
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
