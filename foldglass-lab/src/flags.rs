//! Reads the flags that several commands share: each flag's text, meaning and test in one module.

mod class;
mod inputs;
mod max_memory;
mod shape;
mod square;

use std::str::FromStr;

pub use class::ClassArgs;
pub use square::SquareArgs;

/// Reads a whole number written in digits alone.
fn whole<T: FromStr>(text: &str) -> Option<T> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Reads a whole number of at least 1.
pub fn positive(text: &str) -> Result<usize, String> {
    let number = whole(text).filter(|&n: &usize| n > 0);
    number.ok_or("a whole number of at least 1 is needed".to_owned())
}

/// Reads a seed.
pub fn seed(text: &str) -> Result<u64, String> {
    whole(text).ok_or(format!("a whole number from 0 to {} is needed", u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_positive_number_has_digits_only() {
        assert_eq!(positive("12"), Ok(12));
        for bad in ["0", "", "-1", "+1", "1.0", "99999999999999999999", "x"] {
            assert!(positive(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_seed_is_any_number_of_64_bits() {
        assert_eq!(seed("0"), Ok(0));
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        assert!(seed("18446744073709551616").is_err() && seed("-1").is_err());
    }
}
