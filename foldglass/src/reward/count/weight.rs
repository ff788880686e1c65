//! Chooses the integers that weights are counted in (paper, section 2.2).
//!
//! The denominator bounds every number that a count meets. Let D(n) be the product of the
//! denominators of positions 1 to n, M the least common multiple of D(T) over the lengths T, and w the
//! sum of the weights of all rewarded steps (the number of lengths, where they weigh alike and the last
//! token alone is rewarded); the denominator is w M. At a step that has seen n symbols
//! - alpha, the weight of the rollouts in a state, is a sum of weights of prefixes: all states
//!   together have D(n), which divides M;
//! - beta, the weight of what is drawn later and earns the reward, is at most the sum, over the
//!   rewarded steps to come, of their weight times D(T) / D(n) * M / D(T) = M / D(n);
//! - so alpha times beta, for any two states, and its sum over states, is at most w M;
//! - while changes travel, a sum may have old and new terms: it is at most twice the bound;
//! - a difference of two such numbers, or the sum of some of its terms, is no larger than either.
//!
//! An integer type that holds twice the denominator therefore holds them all. Tests run with
//! overflow checks.

use dashu_int::UBig;
use std::hash::Hash;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// A number in which the weights of a task are counted.
pub(crate) trait Weight: Clone + PartialEq {
    fn zero() -> Self;

    /// # Panics
    /// If it does not fit.
    fn of(n: &UBig) -> Self;

    fn to_ubig(&self) -> UBig;

    /// # Panics
    /// On overflow, in every build.
    fn add_product(&mut self, a: &Self, b: &Self);
}

impl Weight for UBig {
    fn zero() -> UBig {
        UBig::ZERO
    }

    fn of(n: &UBig) -> UBig {
        n.clone()
    }

    fn to_ubig(&self) -> UBig {
        self.clone()
    }

    fn add_product(&mut self, a: &UBig, b: &UBig) {
        *self += a * b;
    }
}

/// A machine integer; signed, for differences.
pub(crate) trait Whole:
    Weight
    + Copy
    + Ord
    + Hash
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + AddAssign
    + SubAssign
{
    /// # Panics
    /// If it is negative.
    fn to_u128(self) -> u128;

    fn to_i128(self) -> i128;

    /// # Panics
    /// If it does not fit.
    fn of_i128(n: i128) -> Self;

    /// Adds it to the hash of a row of numbers.
    fn mix(self, hash: u64) -> u64;
}

/// Evaluates an expression with a name for the machine integers that hold the weights under a
/// denominator, i64 or i128: `Ok` of it, or `Err` of the denominator's bits where neither does.
macro_rules! at_width {
    ($denominator:expr, $Int:ident => -> $Out:ty { $body:expr }) => {
        at_width!($denominator, $Int => { let out: $Out = $body; out })
    };
    ($denominator:expr, $Int:ident => $body:expr) => {
        match dashu_int::ops::BitTest::bit_len($denominator) {
            0..=62 => {
                type $Int = i64;
                Ok($body)
            }
            63..=126 => {
                type $Int = i128;
                Ok($body)
            }
            bits => Err(bits),
        }
    };
}

pub(crate) use at_width;

macro_rules! machine_integer {
    ($int:ty, $mix:expr) => {
        impl Weight for $int {
            fn zero() -> $int {
                0
            }

            fn of(n: &UBig) -> $int {
                n.try_into()
                    .expect("the width was chosen by the denominator")
            }

            fn to_ubig(&self) -> UBig {
                UBig::try_from(*self).expect("a weight is not negative")
            }

            fn add_product(&mut self, a: &$int, b: &$int) {
                let sum = a
                    .checked_mul(*b)
                    .and_then(|product| self.checked_add(product));
                *self = sum.expect("no sum of weights passes the denominator");
            }
        }

        impl Whole for $int {
            #[inline]
            fn to_u128(self) -> u128 {
                u128::try_from(self).expect("a weight is not negative")
            }

            fn to_i128(self) -> i128 {
                self.into()
            }

            fn of_i128(n: i128) -> $int {
                n.try_into().expect("it was a weight of this width")
            }

            #[inline]
            fn mix(self, hash: u64) -> u64 {
                let mix: fn($int, u64) -> u64 = $mix;
                mix(self, hash)
            }
        }
    };
}

/// Adds 64 bits to a hash, by an odd number without a pattern in its bits (the golden ratio).
#[inline]
fn mix(bits: u64, hash: u64) -> u64 {
    (hash.rotate_left(23) ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

machine_integer!(i64, |n, hash| mix(n as u64, hash));
machine_integer!(i128, |n, hash| mix((n >> 64) as u64, mix(n as u64, hash)));
