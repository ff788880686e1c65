//! Types the entries of a table, and says how a person reads each.

use foldglass::support::exact::UBig;
use foldglass::support::stats::{Interval, Proportion};
use foldglass::{Reward, support::exact};

use crate::words::number;

/// How many digits of a real number a person reads. Programs get all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digits {
    /// Six significant ones, trailing zeros dropped.
    Short,
    /// So many significant ones, trailing zeros dropped.
    Significant(usize),
    /// So many after the point.
    Decimals(usize),
    /// As a power of ten, with as many as it takes: 3.2e-5.
    Power,
}

/// A real number and how it is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Real {
    /// The number.
    pub value: f64,
    /// Its digits.
    pub digits: Digits,
}

/// An entry of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A whole number below 2^53.
    Whole(i64),
    /// A count that may pass 2^53: programs get its digits as a string.
    Large(UBig),
    /// A real number.
    Real(Real),
    /// An exact fraction in lowest terms, "num/den".
    Exact(String),
    /// So many of so many.
    CountOf(Proportion),
    /// Yes or no.
    Flag(bool),
    /// A mean, and the standard deviation of what it is the mean of, where it is known.
    MeanSd {
        /// The mean.
        mean: Real,
        /// The standard deviation.
        sd: Option<Real>,
    },
    /// From one number to another.
    Interval {
        /// The two.
        interval: Interval,
        /// The digits of both.
        digits: Digits,
    },
    /// Nothing is known.
    Missing,
}

impl Digits {
    /// The number in a person's form.
    pub fn text(self, value: f64) -> String {
        match self {
            Digits::Short => number(value),
            Digits::Significant(count) => {
                let last = count.saturating_sub(1);
                number(format!("{value:.last$e}").parse().unwrap_or(value))
            }
            Digits::Decimals(count) => format!("{value:.count$}"),
            Digits::Power => format!("{value:e}"),
        }
    }

    /// The number with these digits.
    pub fn of(self, value: f64) -> Real {
        Real {
            value,
            digits: self,
        }
    }
}

impl Real {
    /// The number in a person's form.
    pub fn text(&self) -> String {
        self.digits.text(self.value)
    }
}

impl Cell {
    /// A real number of six significant digits.
    pub fn real(value: f64) -> Cell {
        Cell::Real(Digits::Short.of(value))
    }

    /// A whole number of the size of things that fit in memory.
    ///
    /// # Panics
    /// If it is not: counts of codes are [`Cell::Large`].
    pub fn whole(value: impl TryInto<i64>) -> Cell {
        match value.try_into() {
            Ok(value) => Cell::Whole(value),
            Err(_) => panic!("a whole number beyond 2^63 is a large one"),
        }
    }

    /// The cell of a value that may be missing.
    pub fn or_missing<T: Into<Cell>>(value: Option<T>) -> Cell {
        value.map_or(Cell::Missing, T::into)
    }

    /// As a person reads it.
    pub fn text(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Whole(value) => value.to_string(),
            Cell::Large(value) => large(&value.to_string()),
            Cell::Real(real) => real.text(),
            Cell::Exact(fraction) => short_fraction(fraction),
            Cell::CountOf(Proportion { successes, trials }) => format!("{successes}/{trials}"),
            Cell::Flag(true) => "yes".to_owned(),
            Cell::Flag(false) => "no".to_owned(),
            Cell::MeanSd { mean, sd: Some(sd) } => format!("{} ± {}", mean.text(), sd.text()),
            Cell::MeanSd { mean, sd: None } => mean.text(),
            Cell::Interval { interval, digits } => {
                let Interval { low, high } = *interval;
                format!("{} to {}", digits.text(low), digits.text(high))
            }
            Cell::Missing => "-".to_owned(),
        }
    }
}

/// Tables for people print whole numbers of more digits rounded. `--json` has all digits.
const DIGITS: usize = 30;

/// A whole number with its digits in groups, or rounded: `5.126e170`.
fn large(digits: &str) -> String {
    if digits.len() <= DIGITS {
        return grouped(digits);
    }
    let mantissa: f64 = format!("{}.{}", &digits[..1], &digits[1..DIGITS])
        .parse()
        .expect("digits");
    let rounded = format!("{mantissa:.3e}");
    // 9.9996 is rounded to 1.000e1.
    let (mantissa, carry) = rounded.split_once('e').expect("it has an exponent");
    let exponent = digits.len() - 1 + usize::from(carry == "1");
    format!("{mantissa}e{exponent}")
}

/// Longer fractions are no help in a line.
const LONGEST_FRACTION: usize = 24;

/// A fraction as a person reads it: rounded, and marked so, where it is long.
pub fn short_fraction(exact: &str) -> String {
    match exact::parse(exact) {
        Ok(value) if exact.len() > LONGEST_FRACTION => {
            format!("~{}", number(value.to_f64().value()))
        }
        _ => exact.to_owned(),
    }
}

/// Digits in groups of three.
pub(crate) fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Cell {
        Cell::real(value)
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Cell {
        Cell::whole(value)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Cell {
        Cell::whole(value)
    }
}

impl From<u8> for Cell {
    fn from(value: u8) -> Cell {
        Cell::Whole(value.into())
    }
}

impl From<u16> for Cell {
    fn from(value: u16) -> Cell {
        Cell::Whole(value.into())
    }
}

impl From<&Reward> for Cell {
    fn from(value: &Reward) -> Cell {
        Cell::Exact(value.to_string())
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Cell {
        Cell::Flag(value)
    }
}

impl From<Proportion> for Cell {
    fn from(value: Proportion) -> Cell {
        Cell::CountOf(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_own_form_for_a_person() {
        let interval = Interval {
            low: 0.25,
            high: 1.0,
        };
        for (cell, text) in [
            (Cell::from("a | b"), "a | b"),
            (Cell::Whole(-3), "-3"),
            (Cell::Large(UBig::from(35_294_848u64)), "35,294,848"),
            (Cell::Large(UBig::from(648u64)), "648"),
            (
                Cell::Large(UBig::from(2u64).pow(97)),
                "158,456,325,028,528,675,187,087,900,672",
            ),
            (Cell::Large(UBig::from(2u64).pow(100)), "1.268e30"),
            (
                Cell::Large(UBig::from(10u64).pow(200) - UBig::from(1u64)),
                "1.000e200",
            ),
            (Cell::real(1.0 / 3.0), "0.333333"),
            (Cell::Real(Digits::Decimals(4).of(0.25)), "0.2500"),
            (Cell::Real(Digits::Power.of(3.2e-5)), "3.2e-5"),
            (Cell::Real(Digits::Significant(2).of(0.01234)), "0.012"),
            (Cell::Real(Digits::Significant(2).of(1.26e-9)), "1.3e-9"),
            (Cell::Exact("9/10".to_owned()), "9/10"),
            (
                Cell::from(Proportion {
                    successes: 46,
                    trials: 100,
                }),
                "46/100",
            ),
            (Cell::from(true), "yes"),
            (
                Cell::MeanSd {
                    mean: Digits::Decimals(3).of(0.747),
                    sd: Some(Digits::Short.of(0.241)),
                },
                "0.747 ± 0.241",
            ),
            (
                Cell::Interval {
                    interval,
                    digits: Digits::Decimals(2),
                },
                "0.25 to 1.00",
            ),
            (Cell::Missing, "-"),
        ] {
            assert_eq!(cell.text(), text);
        }
    }

    #[test]
    fn a_fraction_too_long_for_a_line_is_rounded_and_marked() {
        assert_eq!(short_fraction("9/10"), "9/10");
        assert_eq!(short_fraction("1000000000000/3000000000001"), "~0.333333");
    }
}
