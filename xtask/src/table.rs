//! Turns measured lines into medians and Markdown tables; pure, no clock and no process.

use serde_json::Value;
use std::fmt::Write;

/// A quantity over all rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

/// One measured quantity over all rounds.
#[derive(Debug, PartialEq)]
pub struct Row {
    pub name: String,
    pub measured: Spread,
    /// `s` for a time.
    pub unit: String,
    /// What was measured, where that is more than the name says.
    pub of: String,
    /// The time that it is held against.
    pub base: Option<Base>,
    /// What it should be, as the benchmark wrote it; empty where it named none.
    pub target: String,
}

/// A time that another is held against, of the same rounds.
#[derive(Debug, PartialEq)]
pub struct Base {
    pub of: String,
    pub measured: Spread,
}

/// A case's times in seconds: ours, then those of the peers that have it.
pub struct Comparison {
    pub case: String,
    pub ours: Spread,
    pub peers: Vec<PeerTime>,
}

/// What a peer took.
pub struct PeerTime {
    pub name: String,
    pub measured: Spread,
}

impl Spread {
    /// Of some values; the median is the mean of the middle two for an even count. None of nothing.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let (&least, &most) = (sorted.first()?, sorted.last()?);
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        };
        Some(Spread {
            median,
            least,
            most,
        })
    }

    /// Of one numeric field of the lines.
    pub fn of_lines(lines: &[Value], field: &str) -> Result<Spread, String> {
        let values: Option<Vec<f64>> = lines.iter().map(|line| line[field].as_f64()).collect();
        values
            .and_then(|values| Spread::of(&values))
            .ok_or_else(|| format!("a line has no number {field:?}: {lines:?}"))
    }
}

/// Whether two results agree to 1e-12 of the larger; NaN agrees with nothing.
pub fn agree(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// One row per name, in the order of first appearance: `value` with its `unit`, else `median_s`, with
/// `base_s` where a line has that.
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
        let same = lines.iter().filter(|line| line["name"] == name);
        row(name, &same.cloned().collect::<Vec<Value>>())
    };
    names.into_iter().map(row).collect()
}

fn row(name: &str, lines: &[Value]) -> Result<Row, String> {
    let first = &lines[0];
    let has = |field: &str| first.get(field).is_some();
    let base = || {
        Ok::<Base, String>(Base {
            of: words(&first["base"]),
            measured: Spread::of_lines(lines, "base_s")?,
        })
    };
    let (field, unit) = if has("value") {
        ("value", words(&first["unit"]))
    } else {
        ("median_s", "s".into())
    };
    Ok(Row {
        name: name.into(),
        measured: Spread::of_lines(lines, field)?,
        unit,
        of: words(&first["of"]),
        base: has("base_s").then(base).transpose()?,
        target: words(&first["target"]),
    })
}

/// The table of our own quantities. A ratio is that of the two medians printed beside it.
pub fn own_table(rows: &[Row]) -> String {
    let mut table =
        String::from("| benchmark | median (least to most) | held against | ratio | target |\n");
    table.push_str("|---|--:|--:|--:|---|\n");
    for row in rows {
        let measured = told(row.measured, &row.unit, &row.of);
        let (base, over) = match &row.base {
            Some(base) => (
                told(base.measured, "s", &base.of),
                ratio(row.measured, base.measured),
            ),
            None => Default::default(),
        };
        let (name, target) = (&row.name, &row.target);
        let _ = writeln!(
            table,
            "| `{name}` | {measured} | {base} | {over} | {target} |"
        );
    }
    table
}

/// The table of times and of their ratios to ours, one line per program.
pub fn peer_table(comparisons: &[Comparison]) -> String {
    let mut table = String::from(
        "| case | program | median (least to most) | / foldglass |\n|---|---|--:|--:|\n",
    );
    for comparison in comparisons {
        let (case, ours) = (&comparison.case, told(comparison.ours, "s", ""));
        let _ = writeln!(table, "| `{case}` | foldglass | {ours} | 1 × |");
        for PeerTime { name, measured } in &comparison.peers {
            let over = ratio(*measured, comparison.ours);
            let time = told(*measured, "s", "");
            let _ = writeln!(table, "| | {name} | {time} | {over} |");
        }
    }
    table
}

/// A median with the least and the most of the rounds, and what was measured.
fn told(spread: Spread, unit: &str, of: &str) -> String {
    let Spread {
        median,
        least,
        most,
    } = spread;
    let range = if least == most {
        String::new()
    } else {
        format!(" ({} to {})", quantity(least, unit), quantity(most, unit))
    };
    format!("{} {of}", quantity(median, unit))
        .trim_end()
        .to_owned()
        + &range
}

/// The ratio of two medians as they are printed, so that a reader who divides them gets the same.
fn ratio(a: Spread, b: Spread) -> String {
    let printed = |value: f64| format!("{value:.2e}").parse().unwrap_or(value);
    format!("{} ×", significant(printed(a.median) / printed(b.median)))
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

    fn alone(value: f64) -> Spread {
        Spread::of(&[value]).unwrap()
    }

    #[test]
    fn the_median_ignores_order_and_averages_the_middle_two() {
        assert_eq!(Spread::of(&[]), None);
        let spread = |values: &[f64]| {
            let Spread {
                median,
                least,
                most,
            } = Spread::of(values).unwrap();
            [median, least, most]
        };
        assert_eq!(spread(&[3.0, 1.0, 2.0]), [2.0, 1.0, 3.0]);
        assert_eq!(spread(&[4.0, 1.0, 3.0, 2.0]), [2.5, 1.0, 4.0]);
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
        let row = |name: &str, values: [f64; 2], unit: &str, target: &str| Row {
            name: name.into(),
            measured: Spread::of(&values).unwrap(),
            unit: unit.into(),
            of: String::new(),
            base: None,
            target: target.into(),
        };
        let expected = [
            row("b", [3.0e6, 5.0e6], "actions/s", ">= 3e6"),
            row("a", [0.25, 0.5], "s", ""),
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
    fn a_ratio_is_that_of_the_two_medians_beside_it() {
        let line = |time: f64, base: f64| {
            json!({"name": "step", "median_s": time, "of": "a step at T = 700", "base_s": base,
                   "base": "a step at T = 14", "target": "0.9 to 1.1"})
        };
        // The median of the ratios of the rounds would be 2.
        let lines = [line(2e-6, 1e-6), line(8e-6, 5e-6), line(9e-6, 3e-6)];
        let table = own_table(&rows(&lines).unwrap());
        let row = table.lines().last().unwrap();
        assert_eq!(
            row,
            "| `step` | 8.00 µs a step at T = 700 (2.00 µs to 9.00 µs) | 3.00 µs a step at T = 14 \
             (1.00 µs to 5.00 µs) | 2.67 × | 0.9 to 1.1 |"
        );
        assert_eq!(ratio(alone(1.0049), alone(3.0)), "0.333 ×");
    }

    #[test]
    fn the_tables_are_markdown() {
        let row = Row {
            name: "chain".into(),
            measured: alone(3.2e6),
            unit: "actions/s".into(),
            of: String::new(),
            base: None,
            target: ">= 3e6".into(),
        };
        assert_eq!(
            own_table(&[row]),
            "| benchmark | median (least to most) | held against | ratio | target |\n\
             |---|--:|--:|--:|---|\n| `chain` | 3.20e6 actions/s |  |  | >= 3e6 |\n"
        );
        let comparison = |case: &str, peers: &[(&str, f64)]| Comparison {
            case: case.into(),
            ours: alone(2e-5),
            peers: peers
                .iter()
                .map(|&(name, time)| PeerTime {
                    name: name.into(),
                    measured: alone(time),
                })
                .collect(),
        };
        let comparisons = [
            comparison("untied", &[("numpy 2", 1e-4), ("jax 1", 5e-5)]),
            comparison("census", &[("numpy 2", 2.0)]),
        ];
        assert_eq!(
            peer_table(&comparisons),
            "| case | program | median (least to most) | / foldglass |\n\
             |---|---|--:|--:|\n\
             | `untied` | foldglass | 20.0 µs | 1 × |\n\
             | | numpy 2 | 100 µs | 5.00 × |\n\
             | | jax 1 | 50.0 µs | 2.50 × |\n\
             | `census` | foldglass | 20.0 µs | 1 × |\n\
             | | numpy 2 | 2.00 s | 1.00e5 × |\n"
        );
    }
}
