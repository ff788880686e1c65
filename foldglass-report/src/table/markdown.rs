//! Renders tables as Markdown, with pipes.

use std::io::{self, Write};

use super::{Align, Table};

/// Writes title, table and notes.
pub fn write(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    if !table.title.is_empty() {
        writeln!(out, "**{}**\n", escaped(&table.title))?;
    }
    let heads = table.columns().iter().map(|column| column.heading());
    write_line(out, heads.map(|head| escaped(&head)))?;
    let rule = table.columns().iter().map(|column| match column.align {
        Align::Left => "---".to_owned(),
        Align::Right => "--:".to_owned(),
    });
    write_line(out, rule)?;
    for row in table.entries() {
        write_line(out, row.iter().map(|cell| escaped(&cell.text())))?;
    }
    let mut notes = table.notes.iter();
    notes.try_for_each(|note| writeln!(out, "\n{}", escaped(note)))
}

fn write_line(out: &mut dyn Write, entries: impl Iterator<Item = String>) -> io::Result<()> {
    let entries: Vec<String> = entries.collect();
    writeln!(out, "| {} |", entries.join(" | "))
}

/// The text as it is: a backslash before what Markdown would take for markup, a space for a break.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' => escaped.push(' '),
            '|' | '\\' | '`' | '*' | '_' | '<' | '[' | ']' | '~' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn pipes_and_markup_are_escaped() {
        let mut out = Vec::new();
        write(&example(), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "**What 100 % of the runs\\_gave**\n\n\
             | class | mean J | at 1 | interval | time \\[s\\] | exact |\n\
             | --- | --: | --: | --: | --: | --- |\n\
             | Z\\_5 \\| (0,0), \"T=8\" | 0.798 ± 0.160 | 17/60 | 0.75 to 0.85 | 1.5 | 9/10 |\n\
             | parity {k} & \\\\tau | - | - | - | 2 | - |\n\n\
             one ± is a spread; 50% \\< all\n"
        );
    }
}
