//! Reads and writes exact rational numbers (paper, section 2.2: the reward of a code is one).

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Whole numbers and fractions of any size, of the crates `dashu-int` and `dashu-ratio`.
pub use dashu_int::{IBig, UBig};
pub use dashu_ratio::RBig;

/// A text that is not a rational number.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a number: write a fraction such as 9/10 or a decimal such as 0.9")]
pub struct NotANumber(pub String);

/// Reads `9/10`, `0.9`, `1`, `2.5e-3` as the exact number they denote.
///
/// ```
/// use foldglass::support::exact::parse;
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

/// Writes a number as `num/den` in lowest terms, the denominator always present: `9/10`, `1/1`.
///
/// ```
/// use foldglass::support::exact::{lowest_terms, parse};
/// assert_eq!(lowest_terms(&parse("0.50").unwrap()), "1/2");
/// assert_eq!(lowest_terms(&parse("1").unwrap()), "1/1");
/// ```
pub fn lowest_terms(number: &RBig) -> String {
    format!("{}/{}", number.numerator(), number.denominator())
}

/// An exact reward, or a difference of two: ordered, and written as `num/den` in lowest terms.
///
/// ```
/// use foldglass::Reward;
/// let reward = Reward::new(18u8, 20u8);
/// assert_eq!(reward.to_string(), "9/10");
/// assert_eq!("0.9".parse(), Ok(reward.clone()));
/// assert!(reward < Reward::ONE && !reward.is_one());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reward(RBig);

impl Reward {
    /// 0.
    pub const ZERO: Reward = Reward(RBig::ZERO);
    /// 1: every input earns it.
    pub const ONE: Reward = Reward(RBig::ONE);

    /// The reward of inputs of weight `num`, when all weigh `den`.
    ///
    /// # Panics
    /// If `den` is zero.
    pub fn new(num: impl Into<UBig>, den: impl Into<UBig>) -> Reward {
        Reward(RBig::from_parts(num.into().into(), den.into()))
    }

    /// Whether it is 1.
    pub fn is_one(&self) -> bool {
        self.0 == RBig::ONE
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.0 == RBig::ZERO
    }

    /// The nearest f64, also where numerator and denominator are far beyond its range.
    pub fn to_f64(&self) -> f64 {
        self.0.to_f64().value()
    }

    /// The number itself.
    pub fn ratio(&self) -> &RBig {
        &self.0
    }

    /// The numerator over the denominator `den`, rounded down.
    pub fn over(&self, den: &UBig) -> UBig {
        let scaled = (&self.0 * RBig::from(den.clone())).floor();
        UBig::try_from(scaled).unwrap_or(UBig::ZERO)
    }
}

impl From<RBig> for Reward {
    fn from(number: RBig) -> Reward {
        Reward(number)
    }
}

impl fmt::Display for Reward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0.numerator(), self.0.denominator())
    }
}

impl FromStr for Reward {
    type Err = NotANumber;

    /// Reads what [`parse`] reads, if it is not negative.
    fn from_str(text: &str) -> Result<Reward, NotANumber> {
        let number = parse(text)?;
        if number < RBig::ZERO {
            return Err(NotANumber(text.to_owned()));
        }
        Ok(Reward(number))
    }
}

#[cfg(feature = "serde")]
crate::serde_as_text!(Reward);

/// The greatest common divisor; that of 0 and a number is the number.
pub fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
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
        let write = |n: u32, d: u32| Reward::new(n, d).to_string();
        assert_eq!(
            [write(0, 7), write(7, 7), write(18, 20)],
            ["0/1", "1/1", "9/10"]
        );
    }

    #[test]
    fn a_ratio_of_huge_numbers_is_still_a_float() {
        let den = UBig::from(5u8).pow(2000);
        assert_eq!(Reward::new(&den / UBig::from(5u8), den).to_f64(), 0.2);
    }

    #[test]
    fn rewards_are_ordered_by_value_and_never_negative() {
        let (a, b) = (Reward::new(2u8, 3u8), Reward::new(3u8, 4u8));
        assert!(a < b && b < Reward::ONE && a > Reward::ZERO);
        assert_eq!(Reward::new(4u8, 6u8), a);
        assert!("-1/2".parse::<Reward>().is_err());
        assert_eq!(a.over(&UBig::from(9u8)), 6u8.into());
    }
}
