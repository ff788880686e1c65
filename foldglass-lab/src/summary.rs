//! Summarizes what independent runs gave, in a small table.

use std::io::{self, Write};

use foldglass::exact;
use foldglass::stats::Summary;

use crate::columns::{Align, write_table};
use crate::output::number;

/// Runs listed one a line.
pub const LISTED: usize = 20;

/// Longer fractions are no help in a column.
const LONGEST_FRACTION: usize = 24;

/// Writes a line of mean, spread and quantiles for each quantity.
pub fn write(out: &mut dyn Write, quantities: &[(&str, Vec<f64>)]) -> io::Result<()> {
    let rows: Vec<[String; 8]> = quantities
        .iter()
        .map(|(name, values)| row(name, values))
        .collect();
    let heads = ["", "n", "mean", "sd", "min", "median", "p90", "max"];
    let mut columns = heads.map(|head| (head, Align::Right));
    columns[0].1 = Align::Left;
    write_table(out, columns, &rows)
}

fn row(name: &str, values: &[f64]) -> [String; 8] {
    let none = || "-".to_owned();
    let summary = Summary::of(values);
    let entry = |of: fn(&Summary) -> f64| summary.as_ref().map_or_else(none, |s| number(of(s)));
    let sd = summary.as_ref().and_then(|summary| summary.sd);
    [
        name.to_owned(),
        values.len().to_string(),
        entry(|s| s.mean),
        sd.map_or_else(none, number),
        entry(|s| s.min),
        entry(|s| s.median),
        entry(|s| s.p90),
        entry(|s| s.max),
    ]
}

/// A fraction for a column, a dash where it is too long for one.
pub fn fraction(exact: String) -> String {
    match exact.len() <= LONGEST_FRACTION {
        true => exact,
        false => "-".to_owned(),
    }
}

/// A fraction for a line, rounded where it is too long for one.
pub fn short(exact: &str) -> String {
    match exact::parse(exact) {
        Ok(value) if exact.len() > LONGEST_FRACTION => number(value.to_f64().value()),
        _ => exact.to_owned(),
    }
}

/// Writes a table of runs, and how many more there are.
pub fn write_list<const N: usize>(
    out: &mut dyn Write,
    heads: [&str; N],
    rows: &[[String; N]],
    all: usize,
) -> io::Result<()> {
    write_table(out, heads.map(|head| (head, Align::Right)), rows)?;
    match all - rows.len() {
        0 => Ok(()),
        more => writeln!(out, "and {more} more; --json has all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_said_is_a_dash() {
        let mut out = Vec::new();
        write(&mut out, &[("one", vec![2.0]), ("none", vec![])]).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "      n  mean  sd  min  median  p90  max\n\
             one   1     2   -    2       2    2    2\n\
             none  0     -   -    -       -    -    -\n"
        );
    }

    #[test]
    fn a_fraction_too_long_for_a_line_is_rounded() {
        assert_eq!(short("9/10"), "9/10");
        assert_eq!(short("1000000000000/3000000000001"), "0.333333");
    }

    #[test]
    fn a_long_list_says_how_much_it_leaves_out() {
        let mut out = Vec::new();
        write_list(&mut out, ["run", "J"], &[["0".into(), "0.5".into()]], 3).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "run    J\n  0  0.5\nand 2 more; --json has all\n"
        );
    }
}
