//! Renders tables as CSV (RFC 4180): keys in the first line, fields quoted where they must be.
//!
//! A field is one number or one text, so that a spreadsheet or pandas reads it: a column that holds
//! means has a second one for their standard deviations (`KEY_sd`), one of counts a second for what
//! they are counts of (`KEY_of`), one of intervals two for the ends (`KEY_low`, `KEY_high`). What is
//! missing is empty; numbers have all their digits.

use std::io::{self, Write};

use super::{Cell, Column, Table};

/// The part of an entry that stands in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The number or text itself.
    Itself,
    Sd,
    Of,
    Low,
    High,
}

impl Part {
    fn suffix(self) -> &'static str {
        match self {
            Part::Itself => "",
            Part::Sd => "_sd",
            Part::Of => "_of",
            Part::Low => "_low",
            Part::High => "_high",
        }
    }

    /// The field; empty where the entry has no such part.
    fn field(self, cell: &Cell) -> String {
        match (self, cell) {
            (Part::Itself, Cell::Text(text) | Cell::Exact(text)) => text.clone(),
            (Part::Itself, Cell::Whole(value)) => value.to_string(),
            (Part::Itself, Cell::Large(value)) => value.to_string(),
            (Part::Itself, Cell::Real(real)) => real.value.to_string(),
            (Part::Itself, Cell::CountOf(count)) => count.successes.to_string(),
            (Part::Itself, Cell::Flag(flag)) => flag.to_string(),
            (Part::Itself, Cell::MeanSd { mean, .. }) => mean.value.to_string(),
            (Part::Sd, Cell::MeanSd { sd: Some(sd), .. }) => sd.value.to_string(),
            (Part::Of, Cell::CountOf(count)) => count.trials.to_string(),
            (Part::Low, Cell::Interval { interval, .. }) => interval.low.to_string(),
            (Part::High, Cell::Interval { interval, .. }) => interval.high.to_string(),
            _ => String::new(),
        }
    }
}

/// The parts that a column needs, by the entries in it.
fn parts(table: &Table, n: usize) -> Vec<Part> {
    let cells = || table.entries().iter().map(|row| &row[n]);
    let (mut itself, mut sd, mut of, mut ends) = (false, false, false, false);
    for cell in cells() {
        match cell {
            Cell::Interval { .. } => ends = true,
            Cell::Missing => {}
            cell => {
                itself = true;
                sd |= matches!(cell, Cell::MeanSd { .. });
                of |= matches!(cell, Cell::CountOf(_));
            }
        }
    }
    let wanted = [
        (Part::Itself, itself || !ends),
        (Part::Sd, sd),
        (Part::Of, of),
        (Part::Low, ends),
        (Part::High, ends),
    ];
    let wanted = wanted.into_iter().filter(|(_, wanted)| *wanted);
    wanted.map(|(part, _)| part).collect()
}

/// Writes the keys and the rows.
pub fn write(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let mut fields: Vec<(usize, &Column, Part)> = Vec::new();
    for (n, column) in table.columns().iter().enumerate() {
        fields.extend(parts(table, n).into_iter().map(|part| (n, column, part)));
    }
    let keys = fields
        .iter()
        .map(|(_, column, part)| format!("{}{}", column.key, part.suffix()));
    write_line(out, keys)?;
    for row in table.entries() {
        write_line(out, fields.iter().map(|(n, _, part)| part.field(&row[*n])))?;
    }
    Ok(())
}

fn write_line(out: &mut dyn Write, fields: impl Iterator<Item = String>) -> io::Result<()> {
    let fields: Vec<String> = fields.map(|field| quoted(&field)).collect();
    write!(out, "{}\r\n", fields.join(","))
}

/// Quotes around what holds a comma, a quote or a break, quotes in it doubled.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn a_field_is_one_number_and_quoted_where_it_must_be() {
        let mut out = Vec::new();
        write(&example(), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "class,mean,mean_sd,at_1,at_1_of,interval_low,interval_high,time,exact\r\n\
             \"Z_5 | (0,0), \"\"T=8\"\"\",0.79812,0.16,17,60,0.75,0.85,1.5,9/10\r\n\
             \"parity\n{k} & \\tau\",,,,,,,2,\r\n"
        );
    }

    #[test]
    fn a_column_without_entries_stays_one() {
        let table = Table::of_numbers(["n", "m"]).rows([[Cell::Missing, Cell::Missing]]);
        let mut out = Vec::new();
        write(&table, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "n,m\r\n,\r\n");
    }
}
