//! Summarizes what independent runs gave, in a small table.

use std::io::{self, Write};

use foldglass::support::stats::Summary;

use crate::report::{Cell, Column, Table};

pub use crate::report::short_fraction as short;

/// Runs listed one a line.
pub const LISTED: usize = 20;

/// Writes a line of mean, spread and quantiles for each quantity.
pub fn write(out: &mut dyn Write, quantities: &[(&str, Vec<f64>)]) -> io::Result<()> {
    table(quantities).write_text(out)
}

/// The number of runs, mean, standard deviation and quantiles of each quantity.
pub fn table(quantities: &[(&str, Vec<f64>)]) -> Table {
    let heads = ["n", "mean", "sd", "min", "median", "p90", "max"];
    let columns = [Column::words("").key("quantity")]
        .into_iter()
        .chain(heads.map(Column::numbers));
    Table::new(columns).rows(quantities.iter().map(|(name, values)| row(name, values)))
}

fn row(name: &str, values: &[f64]) -> [Cell; 8] {
    let summary = Summary::of(values);
    let entry = |of: fn(&Summary) -> f64| Cell::or_missing(summary.as_ref().map(of));
    let sd = summary.as_ref().and_then(|summary| summary.sd);
    [
        name.into(),
        values.len().into(),
        entry(|s| s.mean),
        Cell::or_missing(sd),
        entry(|s| s.min),
        entry(|s| s.median),
        entry(|s| s.p90),
        entry(|s| s.max),
    ]
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
}
