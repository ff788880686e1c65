//! Puts numbers, counts, times and cells into words.

use foldglass::model::class::CellKey;
use foldglass::{Reward, Symbol};

/// So many of something: `1 run`, `12 runs`.
pub fn counted(count: impl TryInto<u128>, one: &str) -> String {
    match count.try_into() {
        Ok(1) => format!("1 {one}"),
        Ok(count) => format!("{count} {one}s"),
        Err(_) => format!("countless {one}s"),
    }
}

/// A cell as (t, x, y), without t where all steps share one table: `(3, 0, 1)`, `(1, 0 1, SEP)`.
pub fn cell_name(key: &CellKey) -> String {
    let parts = [symbols(&key.x), symbols(&key.y)];
    let step = key.t.map(|t| t.to_string());
    let parts: Vec<String> = step.into_iter().chain(parts).collect();
    format!("({})", parts.join(", "))
}

/// What lies outside the input.
pub const SEP: &str = "SEP";

/// Symbols, oldest first.
pub fn symbols(list: &[Option<Symbol>]) -> String {
    let one = |symbol: &Option<Symbol>| symbol.map_or(SEP.to_owned(), |a| a.to_string());
    list.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// A reward, exactly where that is short: `41/50 = 0.82`, `0.735203`.
pub fn reward(reward: &Reward) -> String {
    let (exact, rounded) = (reward.to_string(), number(reward.to_f64()));
    match exact.len() > 24 {
        true => rounded,
        false => format!("{exact} = {rounded}"),
    }
}

/// Six significant digits, trailing zeros dropped; powers of ten outside 0.0001 to 1,000,000.
pub fn number(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    match rounded.abs() {
        0.0 => "0".to_owned(),
        size if (1e-4..1e6).contains(&size) => rounded.to_string(),
        _ => format!("{rounded:e}"),
    }
}

/// The text with a link in place of every erratum that it names; `link` takes a name, such as `erratum 4`, and the id of
/// its entry.
pub fn link_errata(text: &str, link: impl Fn(&str, &str) -> String) -> String {
    let next = |rest: &str| {
        let words = ["errata ", "erratum "].into_iter();
        words
            .filter_map(|word| Some((rest.find(word)?, word)))
            .min()
    };
    let mut rest = text;
    let mut linked = String::new();
    while let Some((at, word)) = next(rest) {
        let (before, behind) = rest.split_at(at + word.len());
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = behind.split_at(digits);
        linked += &before[..at];
        linked += &match number {
            "" => word.to_owned(),
            number => link(&format!("{word}{number}"), &format!("erratum-{number}")),
        };
        rest = after;
    }
    linked + rest
}

/// An estimate in words: `about 50 s`, `less than a second`.
pub fn about(seconds: f64) -> String {
    match span(seconds) {
        little if little.starts_with("less") => little,
        time => format!("about {time}"),
    }
}

/// Seconds in words: `50 s`, `12 min`, `3 h 5 min`, `2 d 4 h`.
pub fn span(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    let (minutes, hours) = ((whole + 30) / 60, (whole + 1800) / 3600);
    match whole {
        0 => "less than a second".to_owned(),
        1..=90 => format!("{whole} s"),
        91..=5_400 => format!("{minutes} min"),
        5_401..=172_800 => format!("{} h {} min", minutes / 60, minutes % 60),
        _ => format!("{} d {} h", hours / 24, hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_a_person_have_six_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.1 + 0.2, "0.3"),
            (5f64.ln(), "1.60944"),
            (1.0 / 3.0, "0.333333"),
            (2.56e-6, "2.56e-6"),
            (-0.25, "-0.25"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn one_is_no_plural() {
        let said = [0usize, 1, 12].map(|n| counted(n, "damaged line"));
        assert_eq!(
            said,
            ["0 damaged lines", "1 damaged line", "12 damaged lines"]
        );
    }

    #[test]
    fn times_are_said_in_two_units_at_most() {
        for (seconds, said) in [
            (0.2, "less than a second"),
            (50.0, "50 s"),
            (725.0, "12 min"),
            (11_100.0, "3 h 5 min"),
            (187_200.0, "2 d 4 h"),
        ] {
            assert_eq!(span(seconds), said);
        }
        assert_eq!(about(0.2), "less than a second");
        assert_eq!(about(725.0), "about 12 min");
    }
}
