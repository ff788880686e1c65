//! Reads the flags that several commands share: each flag's text, meaning and test in one module.

mod class;
pub mod distill;
pub mod fleet;
pub mod kept;
pub mod max_memory;
pub mod method;
pub mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

use foldglass::dynamics::cavi::HOTTEST;
use foldglass_study::Shard;

pub use crate::report::nearest::nearest;
pub use class::{ClassArgs, TaskArg, law, task, warn_of_random};
pub use foldglass_study::words::whole;

/// Says what is needed in place of a text, with the upper end of the range where the text is beyond it.
pub fn whole_needed(text: &str, least: u64, most: u64) -> String {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match digits && whole(text).is_none_or(|number: u64| number > most) {
        true => format!("a whole number from {least} to {most} is needed"),
        false => format!("a whole number of at least {least} is needed"),
    }
}

/// Reads a whole number of at least 1.
pub fn positive(text: &str) -> Result<usize, String> {
    let number = whole(text).filter(|&n: &usize| n > 0);
    number.ok_or_else(|| whole_needed(text, 1, usize::MAX as u64))
}

/// Reads the name of a table of results.
pub fn data_path(text: &str) -> Result<PathBuf, String> {
    foldglass_study::data_form(Path::new(text)).map(|_| PathBuf::from(text))
}

/// Reads a number of runs.
pub fn count(text: &str) -> Result<u64, String> {
    let number = whole(text).filter(|&n: &u64| n > 0);
    number.ok_or_else(|| whole_needed(text, 1, u64::MAX))
}

/// Reads a whole number that may be 0.
pub fn natural(text: &str) -> Result<u64, String> {
    whole(text).ok_or_else(|| whole_needed(text, 0, u64::MAX))
}

/// Reads one length.
pub fn one_length(text: &str) -> Result<usize, String> {
    positive(text).map_err(|_| "one length is needed, a whole number of at least 1".to_owned())
}

/// Reads which part of several is to be done.
pub fn shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/');
    match parts.map(|(number, of)| (whole(number), whole(of))) {
        Some((Some(number), Some(of))) if (1..=of).contains(&number) => Ok(Shard { number, of }),
        _ => Err("write I/N, part I of N, such as 1/8 to 8/8".to_owned()),
    }
}

/// Reads a temperature.
pub fn temperature(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    let number = number.filter(|tau: &f64| (0.0..=HOTTEST).contains(tau));
    number.ok_or(format!(
        "a number of at least 0 and at most {HOTTEST:e} is needed, such as 1e-10"
    ))
}

/// Reads a number that is not negative.
pub fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    let number = number.filter(|x: &f64| x.is_finite() && *x >= 0.0);
    number.ok_or("a number of at least 0 is needed, such as 1e-12".to_owned())
}

/// Reads a share of a whole.
pub fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    let number = number.filter(|share| (0.0..=1.0).contains(share));
    number.ok_or("a number from 0 to 1 is needed, such as 0.3".to_owned())
}

/// Reads a time.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|&s: &f64| s > 0.0);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or("a number of seconds above 0 is needed".to_owned())
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
            assert!(positive(bad).is_err() && count(bad).is_err(), "{bad}");
        }
        assert_eq!(natural("0"), Ok(0));
        let beyond = count("18446744073709551616").unwrap_err();
        assert!(
            beyond.contains("from 1 to 18446744073709551615"),
            "{beyond}"
        );
        assert!(!count("0").unwrap_err().contains("18446744073709551615"));
    }

    #[test]
    fn a_shard_is_one_of_several() {
        assert_eq!(shard("2/8"), Ok(Shard { number: 2, of: 8 }));
        for bad in ["", "2", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "a/b"] {
            assert!(shard(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_temperature_is_finite_and_not_negative() {
        assert_eq!(temperature("1e-13"), Ok(1e-13));
        assert_eq!(temperature("0"), Ok(0.0));
        for bad in ["-1", "nan", "inf", "", "1/2", "cold", "1e308"] {
            assert!(temperature(bad).is_err(), "{bad}");
        }
        assert!(not_negative("-0.5").is_err() && not_negative("nan").is_err());
    }

    #[test]
    fn a_share_lies_between_0_and_1() {
        assert_eq!((share("0"), share("1")), (Ok(0.0), Ok(1.0)));
        for bad in ["-0.1", "1.1", "nan", "30%"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_time_is_above_zero() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["", "0", "-1", "nan", "inf", "1e30", "soon"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_seed_is_any_number_of_64_bits() {
        assert_eq!(seed("0"), Ok(0));
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        assert!(seed("18446744073709551616").is_err() && seed("-1").is_err());
    }
}
