//! Renders tables as JSON: a list with an object a row, its keys those of the columns.
//!
//! Fractions are strings "num/den", counts that may pass 2^53 strings of digits, what is missing
//! null. A count of several is `{"count":k,"of":n}`, a mean `{"mean":m,"sd":s}`, an interval
//! `[low,high]`.

use std::io::{self, Write};

use foldglass::support::stats::{Interval, Proportion};
use serde_json::{Value, json};

use super::{Cell, Table};

/// Writes the list, one row per line.
pub fn write(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "[")?;
    for (n, row) in table.entries().iter().enumerate() {
        // By hand, since a map of serde_json would put the keys in another order than the columns.
        let pairs = table.columns().iter().zip(row);
        let pairs: Vec<String> = pairs
            .map(|(column, cell)| format!("{}:{}", json!(column.key), value(cell)))
            .collect();
        let before = if n == 0 { "\n" } else { ",\n" };
        write!(out, "{before}{{{}}}", pairs.join(","))?;
    }
    writeln!(out, "\n]")
}

/// The typed value of an entry.
pub fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Text(text) | Cell::Exact(text) => json!(text),
        Cell::Whole(value) => json!(value),
        Cell::Large(value) => json!(value.to_string()),
        Cell::Real(real) => json!(real.value),
        Cell::CountOf(Proportion { successes, trials }) => {
            json!({"count": successes, "of": trials})
        }
        Cell::Flag(flag) => json!(flag),
        Cell::MeanSd { mean, sd } => json!({"mean": mean.value, "sd": sd.map(|sd| sd.value)}),
        Cell::Interval { interval, .. } => {
            let Interval { low, high } = *interval;
            json!([low, high])
        }
        Cell::Missing => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;
    use foldglass::support::exact::UBig;

    #[test]
    fn every_row_is_an_object_of_typed_values() {
        let mut out = Vec::new();
        write(&example(), &mut out).unwrap();
        let read: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(
            read,
            json!([
                {
                    "class": "Z_5 | (0,0), \"T=8\"",
                    "mean": {"mean": 0.79812, "sd": 0.16},
                    "at_1": {"count": 17, "of": 60},
                    "interval": [0.75, 0.85],
                    "time": 1.5,
                    "exact": "9/10"
                },
                {
                    "class": "parity\n{k} & \\tau",
                    "mean": null,
                    "at_1": null,
                    "interval": null,
                    "time": 2.0,
                    "exact": null
                }
            ])
        );
    }

    #[test]
    fn keys_stand_in_the_order_of_the_columns() {
        let mut out = Vec::new();
        let row = [Cell::Whole(1), Cell::Whole(2)];
        let table = Table::of_numbers(["z", "a \"quoted\""]).rows([row]);
        write(&table, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "[\n{\"z\":1,\"a_quoted\":2}\n]\n");
    }

    #[test]
    fn a_table_without_rows_is_an_empty_list() {
        let mut out = Vec::new();
        write(&Table::of_numbers(["n"]), &mut out).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), json!([]));
    }

    #[test]
    fn a_large_count_keeps_all_its_digits() {
        let count = UBig::from(1u8) << 80;
        assert_eq!(
            value(&Cell::Large(count)),
            json!("1208925819614629174706176")
        );
    }
}
