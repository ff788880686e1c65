//! Chooses the integers that weights are counted in (paper, section 2.2).

use dashu_int::UBig;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// A number that holds every weight of a task whose denominator it holds.
pub(super) trait Weight: Clone + PartialEq {
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

/// A machine integer. It is signed, for differences; a denominator fits it with a bit to spare.
pub(super) trait Whole:
    Weight
    + Copy
    + Send
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
}

/// The integer type in which all weights below a denominator are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Narrow,
    Wide,
    Unbounded,
}

impl Width {
    pub fn of(denominator: &UBig) -> Width {
        match (i64::try_from(denominator), i128::try_from(denominator)) {
            (Ok(_), _) => Width::Narrow,
            (_, Ok(_)) => Width::Wide,
            _ => Width::Unbounded,
        }
    }
}

macro_rules! machine_integer {
    ($int:ty) => {
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
        }
    };
}

machine_integer!(i64);
machine_integer!(i128);
