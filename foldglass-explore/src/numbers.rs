//! Writes numbers so that JavaScript reads them as they are, or as short as a picture needs them.

use foldglass::Reward;
use serde::Serialize;

/// An exact number with its value.
#[derive(Serialize)]
pub struct Exact {
    text: String,
    value: f64,
}

impl From<&Reward> for Exact {
    fn from(reward: &Reward) -> Exact {
        Exact {
            text: reward.to_string(),
            value: reward.to_f64(),
        }
    }
}

/// A whole number: as a number where JavaScript holds all of its kind exactly, else as text.
#[derive(Serialize)]
#[serde(untagged)]
pub enum WholeNumber {
    Number(i64),
    Text(String),
}

/// The bits up to which JavaScript's numbers are exact.
const EXACT_BITS: u32 = 53;

/// How whole numbers up to a size are written.
#[derive(Clone, Copy)]
pub struct Wholes {
    exact: bool,
}

impl Wholes {
    /// Up to `most` and down to minus that.
    pub fn up_to(most: u128) -> Wholes {
        Wholes {
            exact: most < 1 << EXACT_BITS,
        }
    }

    /// One of them.
    pub fn of(self, number: i128) -> WholeNumber {
        match i64::try_from(number) {
            Ok(number) if self.exact => WholeNumber::Number(number),
            _ => WholeNumber::Text(number.to_string()),
        }
    }
}

/// Numbers as they are, or with so many significant digits: a picture needs few, and they are sent sooner.
pub fn rounded(mut numbers: Vec<f64>, digits: Option<u8>) -> Vec<f64> {
    let Some(digits) = digits else {
        return numbers;
    };
    for number in numbers.iter_mut().filter(|number| **number != 0.0) {
        let places = i32::from(digits.clamp(1, 15)) - 1 - number.abs().log10().floor() as i32;
        let scale = 10f64.powi(places.abs());
        let short = if places < 0 {
            (*number / scale).round() * scale
        } else {
            (*number * scale).round() / scale
        };
        // Where the scale leaves the numbers there are, the number stays as it is.
        if short.is_finite() && scale.is_finite() {
            *number = short;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_where_that_is_asked_for() {
        let numbers = vec![0.0, 1.0 / 3.0, -123_456.789, 1e-320];
        assert_eq!(rounded(numbers.clone(), None), numbers);
        let three = rounded(numbers, Some(3));
        assert_eq!(three, [0.0, 0.333, -123_000.0, 1e-320]);
    }

    #[test]
    fn whole_numbers_are_texts_where_javascript_would_round_them() {
        let text = |most: u128, n: i128| serde_json::to_string(&Wholes::up_to(most).of(n)).unwrap();
        assert_eq!(text(1 << 52, -3), "-3");
        assert_eq!(text(1 << 53, -3), "\"-3\"");
        assert_eq!(text(u128::MAX, i128::MAX), format!("\"{}\"", i128::MAX));
    }
}
