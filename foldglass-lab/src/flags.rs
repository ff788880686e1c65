//! Reads the flags that several commands share: each flag's text, meaning and test in one module.

mod class;
mod inputs;
mod max_memory;
mod shape;
mod square;

pub use class::ClassArgs;
pub use square::SquareArgs;

/// Reads a whole number written in digits alone.
fn whole(text: &str) -> Option<usize> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Reads a whole number of at least 1.
pub fn positive(text: &str) -> Result<usize, String> {
    let number = whole(text).filter(|&n| n > 0);
    number.ok_or("a whole number of at least 1 is needed".to_owned())
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
}
