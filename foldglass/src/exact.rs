//! Reads and writes exact rational numbers (paper, section 2.2: the reward of a code is one).

use dashu_int::ops::Gcd;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use thiserror::Error;

/// A text that is not a rational number.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a number: write a fraction such as 9/10 or a decimal such as 0.9")]
pub struct NotANumber(pub String);

/// Reads `9/10`, `0.9`, `1`, `2.5e-3` as the exact number they denote.
///
/// ```
/// use foldglass::exact::parse;
/// assert_eq!(parse("0.9").unwrap(), parse("9/10").unwrap());
/// assert!(parse("nine tenths").is_err());
/// ```
pub fn parse(text: &str) -> Result<RBig, NotANumber> {
    let wrong = || NotANumber(text.to_owned());
    let trimmed = text.trim();
    match trimmed.split_once('/') {
        Some((num, den)) => {
            let num: IBig = digits(num.trim()).ok_or_else(wrong)?;
            let den: IBig = digits(den.trim()).ok_or_else(wrong)?;
            match den.try_into() {
                Ok(den) if den != UBig::ZERO => Ok(RBig::from_parts(num, den)),
                _ => Err(wrong()),
            }
        }
        None => decimal(trimmed).ok_or_else(wrong),
    }
}

/// Writes `num/den` in lowest terms, the denominator always present: `9/10`, `1/1`, `0/1`.
///
/// # Panics
/// If `den` is zero.
pub fn fraction(num: &UBig, den: &UBig) -> String {
    assert!(
        *den != UBig::ZERO,
        "a fraction needs a non-zero denominator"
    );
    let g = num.gcd(den);
    format!("{}/{}", num / &g, den / &g)
}

/// Writes a number as [`fraction`] does.
///
/// ```
/// use foldglass::exact::{lowest_terms, parse};
/// assert_eq!(lowest_terms(&parse("0.50").unwrap()), "1/2");
/// assert_eq!(lowest_terms(&parse("1").unwrap()), "1/1");
/// ```
pub fn lowest_terms(number: &RBig) -> String {
    format!("{}/{}", number.numerator(), number.denominator())
}

/// The nearest f64 of `num / den`, also where both are far beyond the range of f64.
pub fn to_f64(num: &UBig, den: &UBig) -> f64 {
    RBig::from_parts(num.clone().into(), den.clone())
        .to_f64()
        .value()
}

fn digits(text: &str) -> Option<IBig> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let plain = !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit());
    plain
        .then(|| text.strip_prefix('+').unwrap_or(text).parse().ok())
        .flatten()
}

/// An exponent beyond this is a typing mistake, and would take its own size in memory.
const LARGEST_EXPONENT: i64 = 4096;

fn decimal(text: &str) -> Option<RBig> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (
            m,
            e.parse::<i64>()
                .ok()
                .filter(|e| e.abs() <= LARGEST_EXPONENT)?,
        ),
        None => (text, 0),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = digits(&format!("{whole}{part}"))?;
    let shift = exponent - part.len() as i64;
    let power = UBig::from(10u8).pow(shift.unsigned_abs() as usize);
    Some(if shift < 0 {
        RBig::from_parts(all, power)
    } else {
        RBig::from(all * IBig::from(power))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_and_a_fraction_of_the_same_value_are_equal() {
        for (a, b) in [
            ("0.9", "9/10"),
            ("1e-3", "1/1000"),
            ("25E1", "250"),
            (".5", "2/4"),
            ("1.", "1"),
        ] {
            assert_eq!(parse(a).unwrap(), parse(b).unwrap(), "{a} against {b}");
        }
    }

    #[test]
    fn text_that_is_no_number_is_refused_by_name() {
        for bad in [
            "", "x", "1/0", "1/-2", "0x10", "1e99999", "nan", "inf", "1/2/3", "--1", ".",
        ] {
            assert_eq!(parse(bad), Err(NotANumber(bad.to_owned())), "{bad}");
        }
    }

    #[test]
    fn fractions_are_written_in_lowest_terms() {
        let write = |n: u32, d: u32| fraction(&UBig::from(n), &UBig::from(d));
        assert_eq!(
            [write(0, 7), write(7, 7), write(18, 20)],
            ["0/1", "1/1", "9/10"]
        );
    }

    #[test]
    fn a_ratio_of_huge_numbers_is_still_a_float() {
        let den = UBig::from(5u8).pow(2000);
        assert_eq!(to_f64(&(&den / UBig::from(5u8)), &den), 0.2);
    }
}
