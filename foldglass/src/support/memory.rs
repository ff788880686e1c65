//! States what computations need before they take it, and refuses what is not allowed.

use std::fmt;
use thiserror::Error;

/// Memory a caller allows, checked before it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance(pub u128);

impl Default for Allowance {
    /// 8 GiB.
    fn default() -> Allowance {
        Allowance(8 << 30)
    }
}

/// More bytes than allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} needs {needed}: {} are allowed", Bytes::of(.allowed.0))]
#[non_exhaustive]
pub struct TooLarge {
    /// The computation that would take them.
    pub what: String,
    /// The bytes it needs.
    pub needed: Bytes,
    /// The bytes allowed.
    pub allowed: Allowance,
}

/// A number of bytes, written for a person; none when it passes 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub Option<u128>);

impl Bytes {
    /// A known number of bytes.
    pub fn of(number: u128) -> Bytes {
        Bytes(Some(number))
    }
}

impl fmt::Display for Bytes {
    /// `512 bytes`, `1.5 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let Some(number) = self.0 else {
            return f.write_str("more than 10^38 bytes");
        };
        let last = UNITS.len() - 1;
        let fits = |unit: &usize| number >> (10 * (unit + 1)) == 0;
        let unit = (0..last).find(fits).unwrap_or(last);
        if unit == 0 {
            return write!(f, "{number} bytes");
        }
        let size = number as f64 / (1u128 << (10 * unit)) as f64;
        write!(f, "{size:.1} {}", UNITS[unit])
    }
}

impl Allowance {
    /// Refuses `what` if it needs more than this.
    ///
    /// ```
    /// use foldglass::Allowance;
    /// let error = Allowance(1 << 20).check("a table", Some(3 << 29)).unwrap_err();
    /// assert_eq!(error.to_string(), "a table needs 1.5 GiB: 1.0 MiB are allowed");
    /// ```
    pub fn check(self, what: &str, needed: Option<u128>) -> Result<(), TooLarge> {
        match needed {
            Some(bytes) if bytes <= self.0 => Ok(()),
            _ => Err(TooLarge {
                what: what.to_owned(),
                needed: Bytes(needed),
                allowed: self,
            }),
        }
    }

    /// An equal share of it for each of several.
    pub fn shared(self, among: usize) -> Allowance {
        Allowance(self.0 / among.max(1) as u128)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_the_largest_unit_that_they_fill() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1 << 20, "1.0 MiB"),
            (8 << 30, "8.0 GiB"),
            (1 << 60, "1.0 EiB"),
            (1 << 70, "1024.0 EiB"),
        ] {
            assert_eq!(Bytes::of(bytes).to_string(), text);
        }
        assert_eq!(Bytes(None).to_string(), "more than 10^38 bytes");
    }

    #[test]
    fn what_is_allowed_is_allowed_to_the_byte() {
        let allowance = Allowance(100);
        assert_eq!(allowance.check("a table", Some(100)), Ok(()));
        for needed in [Some(101), Some(u128::MAX), None] {
            let error = allowance.check("a table", needed).unwrap_err();
            assert_eq!((error.needed, error.allowed), (Bytes(needed), allowance));
        }
        assert_eq!(allowance.shared(3), Allowance(33));
        assert_eq!(allowance.shared(0), allowance);
    }
}
