//! Turns measured lines into medians and Markdown tables; pure, no clock and no process.

use serde_json::Value;
use std::fmt::Write;

/// One measured quantity over all rounds.
#[derive(Debug, PartialEq)]
pub struct Row {
    pub name: String,
    pub value: f64,
    /// `s` for a time.
    pub unit: String,
    /// What it should be, as the benchmark wrote it; empty where it named none.
    pub target: String,
}

/// A case's times in seconds: ours, then those of the peers that have it, by their names.
pub struct Comparison {
    pub case: String,
    pub ours: f64,
    pub peers: Vec<(String, f64)>,
}

/// The median; the mean of the middle two for an even count; None of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The median over the lines of one numeric field.
pub fn median_of(lines: &[Value], field: &str) -> Result<f64, String> {
    let values: Option<Vec<f64>> = lines.iter().map(|line| line[field].as_f64()).collect();
    values
        .and_then(|values| median(&values))
        .ok_or_else(|| format!("a line has no number {field:?}: {lines:?}"))
}

/// Whether two results agree to 1e-12 of the larger; NaN agrees with nothing.
pub fn agree(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// One row per name, in the order of first appearance: `value` with its `unit`, else `median_s`.
pub fn rows(lines: &[Value]) -> Result<Vec<Row>, String> {
    let mut names: Vec<&str> = Vec::new();
    for line in lines {
        let name = line["name"]
            .as_str()
            .ok_or_else(|| format!("a line has no \"name\": {line}"))?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let row = |name: &str| {
        let same: Vec<Value> = lines
            .iter()
            .filter(|line| line["name"] == name)
            .cloned()
            .collect();
        let has_value = same[0].get("value").is_some();
        Ok(Row {
            name: name.into(),
            value: median_of(&same, if has_value { "value" } else { "median_s" })?,
            unit: if has_value {
                words(&same[0]["unit"])
            } else {
                "s".into()
            },
            target: words(&same[0]["target"]),
        })
    };
    names.into_iter().map(row).collect()
}

/// The table of our own quantities.
pub fn own_table(rows: &[Row]) -> String {
    let mut table = String::from("| benchmark | value | target |\n|---|--:|---|\n");
    for Row {
        name,
        value,
        unit,
        target,
    } in rows
    {
        let _ = writeln!(
            table,
            "| `{name}` | {} | {target} |",
            quantity(*value, unit)
        );
    }
    table
}

/// The table of times and of their ratios to ours, one line per program.
pub fn peer_table(comparisons: &[Comparison]) -> String {
    let mut table = String::from("| case | program | time | / foldglass |\n|---|---|--:|--:|\n");
    for comparison in comparisons {
        let ours = quantity(comparison.ours, "s");
        let _ = writeln!(
            table,
            "| `{}` | foldglass | {ours} | 1 × |",
            comparison.case
        );
        for (peer, time) in &comparison.peers {
            let ratio = significant(time / comparison.ours);
            let _ = writeln!(table, "| | {peer} | {} | {ratio} × |", quantity(*time, "s"));
        }
    }
    table
}

/// A value with its unit; seconds get the prefix that suits them.
fn quantity(value: f64, unit: &str) -> String {
    let (value, unit) = match (unit, value.abs()) {
        ("s", size) if size < 1e-6 => (value * 1e9, "ns"),
        ("s", size) if size < 1e-3 => (value * 1e6, "µs"),
        ("s", size) if size < 1.0 => (value * 1e3, "ms"),
        _ => (value, unit),
    };
    format!("{} {unit}", significant(value)).trim_end().into()
}

/// Three significant digits; powers of ten outside 0.001 to 100,000.
fn significant(value: f64) -> String {
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    match rounded.abs() {
        0.0 => "0".into(),
        size if (1e-3..1e5).contains(&size) => {
            let decimals = (2 - size.log10().floor() as i32).max(0) as usize;
            format!("{rounded:.decimals$}")
        }
        _ => format!("{value:.2e}"),
    }
}

/// A string as it is, a number as JSON writes it, nothing for what is absent.
fn words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_median_ignores_order_and_averages_the_middle_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    #[test]
    fn agreement_is_relative_and_never_holds_for_nan() {
        assert!(agree(1e6, 1e6 * (1.0 + 5e-13)));
        assert!(!agree(1e-6, 1e-6 * (1.0 + 5e-12)));
        assert!(agree(0.0, 0.0));
        assert!(!agree(f64::NAN, f64::NAN));
    }

    #[test]
    fn rows_take_medians_over_rounds_in_the_order_of_appearance() {
        let lines = [
            json!({"name": "b", "value": 3.0e6, "unit": "actions/s", "target": ">= 3e6", "chains": 8}),
            json!({"name": "a", "median_s": 0.25, "J": 0.2}),
            json!({"name": "b", "value": 5.0e6, "unit": "actions/s", "target": ">= 3e6", "chains": 8}),
            json!({"name": "a", "median_s": 0.5, "J": 0.2}),
        ];
        let expected = [
            Row {
                name: "b".into(),
                value: 4.0e6,
                unit: "actions/s".into(),
                target: ">= 3e6".into(),
            },
            Row {
                name: "a".into(),
                value: 0.375,
                unit: "s".into(),
                target: String::new(),
            },
        ];
        assert_eq!(rows(&lines).unwrap(), expected);
    }

    #[test]
    fn a_line_without_a_name_or_a_number_is_refused() {
        assert!(
            rows(&[json!({"median_s": 1.0})])
                .unwrap_err()
                .contains("\"name\"")
        );
        assert!(
            rows(&[json!({"name": "a"})])
                .unwrap_err()
                .contains("\"median_s\"")
        );
        assert!(
            rows(&[json!({"name": "a", "value": "fast"})])
                .unwrap_err()
                .contains("\"value\"")
        );
    }

    #[test]
    fn numbers_have_three_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1.00"),
            (9.999, "10.0"),
            (123.4, "123"),
            (12_345.0, "12300"),
            (0.01234, "0.0123"),
            (-2.5, "-2.50"),
            (3.2e6, "3.20e6"),
            (1.5e-7, "1.50e-7"),
        ] {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn seconds_get_a_prefix_and_other_units_none() {
        assert_eq!(quantity(1.325e-4, "s"), "132 µs");
        assert_eq!(quantity(2.0, "s"), "2.00 s");
        assert_eq!(quantity(5e-9, "s"), "5.00 ns");
        assert_eq!(quantity(3.2e6, "actions/s"), "3.20e6 actions/s");
        assert_eq!(quantity(7.0, ""), "7.00");
    }

    #[test]
    fn the_tables_are_markdown() {
        let row = Row {
            name: "chain".into(),
            value: 3.2e6,
            unit: "actions/s".into(),
            target: ">= 3e6".into(),
        };
        assert_eq!(
            own_table(&[row]),
            "| benchmark | value | target |\n|---|--:|---|\n| `chain` | 3.20e6 actions/s | >= 3e6 |\n"
        );
        let comparison = |case: &str, peers: &[(&str, f64)]| Comparison {
            case: case.into(),
            ours: 2e-5,
            peers: peers
                .iter()
                .map(|&(name, time)| (name.into(), time))
                .collect(),
        };
        let comparisons = [
            comparison("untied", &[("numpy 2", 1e-4), ("jax 1", 5e-5)]),
            comparison("census", &[("numpy 2", 2.0)]),
        ];
        assert_eq!(
            peer_table(&comparisons),
            "| case | program | time | / foldglass |\n\
             |---|---|--:|--:|\n\
             | `untied` | foldglass | 20.0 µs | 1 × |\n\
             | | numpy 2 | 100 µs | 5.00 × |\n\
             | | jax 1 | 50.0 µs | 2.50 × |\n\
             | `census` | foldglass | 20.0 µs | 1 × |\n\
             | | numpy 2 | 2.00 s | 1.00e5 × |\n"
        );
    }
}
