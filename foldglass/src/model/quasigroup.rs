//! Builds Latin squares, checks them and finds them by name (paper, section 2).
//!
//! `q` is the number of symbols, `B` the square: `B[s, x]` is the state that follows state `s` on
//! input `x`. Every row and every column of `B` holds each symbol once, which makes it the
//! multiplication table of a quasigroup; the associative ones are the groups.

mod facts;
mod groups;
mod random;

use std::{fmt, str::FromStr};

use thiserror::Error;

pub use facts::Facts;

/// A symbol of the alphabet `0..q`: a state, an input or an emitted token.
pub type Symbol = u16;

/// The most symbols a square may have.
pub const MAX_Q: usize = 2048;

const ACCEPTED_NAMES: &str = "parity, z:N, quasigroup (the paper's 5x5 square), s:N, a:N, d:N \
     (order 2N), q8, random:Q, random:Q:SEED, and products of these joined by * or x, such as \
     z:2*s:3";

/// A Latin square `B` on the symbols `0..q`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LatinSquare {
    q: usize,
    /// Row-major: `B[s, x] = table[s * q + x]`.
    table: Vec<Symbol>,
}

/// Says why there is no such square.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SquareError {
    /// The name is none of the accepted forms.
    #[error("unknown name '{name}'; accepted: {ACCEPTED_NAMES}")]
    UnknownName {
        /// The name as given, all factors included.
        name: String,
    },
    /// A number inside a name cannot be read.
    #[error("'{number}' in '{name}' is not a whole number in 0..={max}", max = u64::MAX)]
    BadNumber {
        /// The factor the number stands in.
        name: String,
        /// The number as given.
        number: String,
    },
    /// The square would have fewer than two symbols.
    #[error("{name} has order {order}; at least 2 symbols are needed")]
    TooSmall {
        /// What was asked for.
        name: String,
        /// Its number of symbols.
        order: u128,
    },
    /// The square would have more than [`MAX_Q`] symbols.
    #[error(
        "{name} has order {}; at most {MAX_Q} symbols are accepted",
        order.map_or("2^128 or more".to_string(), |order| order.to_string())
    )]
    TooLarge {
        /// What was asked for.
        name: String,
        /// Its number of symbols, `None` from 2^128 on.
        order: Option<u128>,
    },
    /// A row is longer or shorter than the number of rows.
    #[error(
        "row {row} (counting from 0) has {found} entries; a table of {q} rows needs {q} in each"
    )]
    RowLength {
        /// The row, counting from 0.
        row: usize,
        /// Its number of entries.
        found: usize,
        /// The number of rows.
        q: usize,
    },
    /// An entry is not one of the symbols.
    #[error(
        "row {row} (counting from 0) holds {value} in column {column}; \
         a table of {q} rows holds symbols in 0..={}", q - 1
    )]
    OutOfRange {
        /// The row, counting from 0.
        row: usize,
        /// The column, counting from 0.
        column: usize,
        /// The entry as given.
        value: i64,
        /// The number of rows.
        q: usize,
    },
    /// A row holds a symbol twice.
    #[error(
        "row {row} (counting from 0) holds symbol {symbol} more than once; \
         a row of a Latin square holds every symbol exactly once"
    )]
    RepeatedInRow {
        /// The row, counting from 0.
        row: usize,
        /// The repeated symbol.
        symbol: Symbol,
    },
    /// A column holds a symbol twice.
    #[error(
        "column {column} (counting from 0) holds symbol {symbol} more than once; \
         a column of a Latin square holds every symbol exactly once"
    )]
    RepeatedInColumn {
        /// The column, counting from 0.
        column: usize,
        /// The repeated symbol.
        symbol: Symbol,
    },
}

impl LatinSquare {
    /// Checks that `rows` is a Latin square and takes it over, `rows[s][x]` being `B[s, x]`.
    pub fn from_rows(rows: &[Vec<i64>]) -> Result<LatinSquare, SquareError> {
        let q = accept_order("the table", Some(rows.len() as u128))?;
        if let Some(row) = rows.iter().position(|entries| entries.len() != q) {
            let found = rows[row].len();
            return Err(SquareError::RowLength { row, found, q });
        }
        let mut table = Vec::with_capacity(q * q);
        for (row, entries) in rows.iter().enumerate() {
            for (column, &value) in entries.iter().enumerate() {
                let symbol = Symbol::try_from(value).ok().filter(|&a| usize::from(a) < q);
                table.push(symbol.ok_or(SquareError::OutOfRange {
                    row,
                    column,
                    value,
                    q,
                })?);
            }
        }
        let square = LatinSquare { q, table };
        for row in 0..q {
            if let Some(symbol) = first_repeat((0..q).map(|column| square.entry(row, column))) {
                return Err(SquareError::RepeatedInRow { row, symbol });
            }
        }
        for column in 0..q {
            if let Some(symbol) = first_repeat((0..q).map(|row| square.entry(row, column))) {
                return Err(SquareError::RepeatedInColumn { column, symbol });
            }
        }
        Ok(square)
    }

    /// Builds the square that `name` names.
    ///
    /// A name is `parity` (`z:2`), `z:N`, `quasigroup` ([`LatinSquare::paper`]), `s:N`, `a:N`,
    /// `d:N`, `q8`, `random:Q:SEED` (`random:Q` is `random:Q:0`), or a product of these joined by `*` or
    /// `x`, spaces allowed, taken from the left. A product too large is refused before any factor is
    /// built.
    ///
    /// ```
    /// use foldglass::LatinSquare;
    ///
    /// let square = LatinSquare::named("z:2 x s:3")?;
    /// assert_eq!(square.q(), 12);
    /// # Ok::<(), foldglass::model::quasigroup::SquareError>(())
    /// ```
    pub fn named(name: &str) -> Result<LatinSquare, SquareError> {
        let factors = name
            .split(['*', 'x'])
            .map(|factor| {
                Construction::parse(factor.trim())?.ok_or_else(|| SquareError::UnknownName {
                    name: name.to_string(),
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let order = factors
            .iter()
            .try_fold(1, |order: u128, factor| order.checked_mul(factor.order()?));
        for factor in &factors {
            factor.accept_order()?;
        }
        accept_order(name, order)?;

        let mut square = factors[0].build()?;
        for factor in &factors[1..] {
            square = square.product(&factor.build()?)?;
        }
        Ok(square)
    }

    /// The number of symbols.
    pub fn q(&self) -> usize {
        self.q
    }

    /// `B[s, x]`, the state after state `s` on input `x`.
    #[inline]
    pub fn multiply(&self, s: Symbol, x: Symbol) -> Symbol {
        self.entry(s.into(), x.into())
    }

    /// All entries, row by row: `B[s, x]` stands at `s * q + x`.
    pub fn table(&self) -> &[Symbol] {
        &self.table
    }

    /// The rows `B[s, ..]` for s = 0, 1, ...
    pub fn rows(&self) -> impl Iterator<Item = &[Symbol]> {
        self.table.chunks_exact(self.q)
    }

    #[inline]
    fn entry(&self, s: usize, x: usize) -> Symbol {
        debug_assert!(s < self.q && x < self.q, "B[{s}, {x}] with q = {}", self.q);
        self.table[s * self.q + x]
    }

    fn tabulate(q: usize, product: impl Fn(usize, usize) -> usize) -> LatinSquare {
        let cells = (0..q).flat_map(|s| (0..q).map(move |x| (s, x)));
        let table = cells.map(|(s, x)| product(s, x) as Symbol).collect();
        LatinSquare { q, table }
    }
}

/// One factor of a name, read but not yet built.
enum Construction {
    Cyclic(usize),
    Paper,
    Symmetric(usize),
    Alternating(usize),
    Dihedral(usize),
    Quaternion,
    Random { q: usize, seed: u64 },
}

impl Construction {
    /// `None` where the form is unknown.
    fn parse(name: &str) -> Result<Option<Construction>, SquareError> {
        let parts: Vec<&str> = name.split(':').collect();
        Ok(Some(match parts[..] {
            ["parity"] => Construction::Cyclic(2),
            ["z", n] => Construction::Cyclic(whole_number(n, name)?),
            ["quasigroup"] => Construction::Paper,
            ["s", n] => Construction::Symmetric(whole_number(n, name)?),
            ["a", n] => Construction::Alternating(whole_number(n, name)?),
            ["d", n] => Construction::Dihedral(whole_number(n, name)?),
            ["q8"] => Construction::Quaternion,
            ["random", q] => Construction::Random {
                q: whole_number(q, name)?,
                seed: 0,
            },
            ["random", q, seed] => Construction::Random {
                q: whole_number(q, name)?,
                seed: whole_number(seed, name)?,
            },
            _ => return Ok(None),
        }))
    }

    /// `None` from 2^128 on.
    fn order(&self) -> Option<u128> {
        match *self {
            Construction::Cyclic(n) => Some(n as u128),
            Construction::Paper => Some(5),
            Construction::Symmetric(n) => factorial(n),
            Construction::Alternating(n) => factorial(n).map(|order| order.div_ceil(2)),
            Construction::Dihedral(n) => Some(2 * n as u128),
            Construction::Quaternion => Some(8),
            Construction::Random { q, .. } => Some(q as u128),
        }
    }

    fn accept_order(&self) -> Result<usize, SquareError> {
        accept_order(&self.to_string(), self.order())
    }

    fn build(&self) -> Result<LatinSquare, SquareError> {
        match *self {
            Construction::Cyclic(n) => LatinSquare::cyclic(n),
            Construction::Paper => Ok(LatinSquare::paper()),
            Construction::Symmetric(n) => LatinSquare::symmetric(n),
            Construction::Alternating(n) => LatinSquare::alternating(n),
            Construction::Dihedral(n) => LatinSquare::dihedral(n),
            Construction::Quaternion => Ok(LatinSquare::quaternion()),
            Construction::Random { q, seed } => LatinSquare::random(q, seed),
        }
    }
}

impl fmt::Display for Construction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Construction::Cyclic(n) => write!(f, "z:{n}"),
            Construction::Paper => write!(f, "quasigroup"),
            Construction::Symmetric(n) => write!(f, "s:{n}"),
            Construction::Alternating(n) => write!(f, "a:{n}"),
            Construction::Dihedral(n) => write!(f, "d:{n}"),
            Construction::Quaternion => write!(f, "q8"),
            Construction::Random { q, .. } => write!(f, "random:{q}"),
        }
    }
}

fn whole_number<T: FromStr>(text: &str, name: &str) -> Result<T, SquareError> {
    let digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| digits_only)
        .ok_or_else(|| SquareError::BadNumber {
            name: name.to_string(),
            number: text.to_string(),
        })
}

fn accept_order(name: &str, order: Option<u128>) -> Result<usize, SquareError> {
    let name = name.to_string();
    match order {
        Some(order) if order < 2 => Err(SquareError::TooSmall { name, order }),
        Some(order) if order <= MAX_Q as u128 => Ok(order as usize),
        _ => Err(SquareError::TooLarge { name, order }),
    }
}

fn factorial(n: usize) -> Option<u128> {
    (1..=n as u128).try_fold(1, u128::checked_mul)
}

/// The digits of a base-q number, the highest first.
///
/// ```
/// use foldglass::model::quasigroup::{digits, number};
/// assert_eq!(digits(7, 5, 3), [0, 1, 2]);
/// assert_eq!(number(&[0, 1, 2], 5), 7);
/// ```
pub fn digits(mut n: usize, q: usize, count: usize) -> Vec<Symbol> {
    let mut list = vec![0; count];
    for digit in list.iter_mut().rev() {
        *digit = (n % q) as Symbol;
        n /= q;
    }
    list
}

/// The base-q number with these digits, the highest first.
pub fn number(digits: &[Symbol], q: usize) -> usize {
    digits.iter().fold(0, |n, &d| n * q + usize::from(d))
}

fn first_repeat(mut symbols: impl ExactSizeIterator<Item = Symbol>) -> Option<Symbol> {
    let mut seen = vec![false; symbols.len()];
    symbols.find(|&symbol| std::mem::replace(&mut seen[usize::from(symbol)], true))
}

#[cfg(feature = "serde")]
impl serde::Serialize for LatinSquare {
    /// A list of rows.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for LatinSquare {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<LatinSquare, D::Error> {
        let rows = Vec::<Vec<i64>>::deserialize(deserializer)?;
        LatinSquare::from_rows(&rows).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn integer_rows(square: &LatinSquare) -> Vec<Vec<i64>> {
        square
            .rows()
            .map(|row| row.iter().map(|&symbol| symbol.into()).collect())
            .collect()
    }

    fn refusal(rows: &[&[i64]]) -> String {
        let rows: Vec<Vec<i64>> = rows.iter().map(|row| row.to_vec()).collect();
        LatinSquare::from_rows(&rows).unwrap_err().to_string()
    }

    fn name_refusal(name: &str) -> String {
        LatinSquare::named(name).unwrap_err().to_string()
    }

    #[test]
    fn a_table_is_read_with_the_state_as_its_row() {
        let square =
            LatinSquare::from_rows(&[vec![1, 0, 2], vec![0, 2, 1], vec![2, 1, 0]]).unwrap();
        assert_eq!(square.q(), 3);
        assert_eq!(square.multiply(0, 2), 2);
        assert_eq!(square.multiply(1, 2), 1);
        assert_eq!(square.table(), [1, 0, 2, 0, 2, 1, 2, 1, 0]);
        assert_eq!(square.rows().nth(1).unwrap(), [0, 2, 1]);
        assert_eq!(square.rows().count(), 3);
    }

    #[test]
    fn every_constructed_square_passes_the_check_of_a_table() {
        let names = [
            "parity",
            "z:7",
            "quasigroup",
            "s:4",
            "a:5",
            "d:1",
            "d:2",
            "d:9",
            "q8",
            "random:9",
            "quasigroup x random:4:11",
        ];
        for name in names {
            let square = LatinSquare::named(name).unwrap();
            assert_eq!(
                LatinSquare::from_rows(&integer_rows(&square)),
                Ok(square),
                "{name}"
            );
        }
    }

    #[test]
    fn a_row_of_the_wrong_length_is_refused_by_number() {
        assert_eq!(
            refusal(&[&[0, 1, 2], &[1, 2, 0], &[2, 0]]),
            "row 2 (counting from 0) has 2 entries; a table of 3 rows needs 3 in each"
        );
    }

    #[test]
    fn an_entry_out_of_range_is_refused_with_its_place() {
        let expected = |value: &str| {
            format!(
                "row 1 (counting from 0) holds {value} in column 2; \
                 a table of 3 rows holds symbols in 0..=2"
            )
        };
        assert_eq!(
            refusal(&[&[0, 1, 2], &[1, 2, 3], &[2, 0, 1]]),
            expected("3")
        );
        assert_eq!(
            refusal(&[&[0, 1, 2], &[1, 2, -1], &[2, 0, 1]]),
            expected("-1")
        );
        assert_eq!(
            refusal(&[&[0, 1, 2], &[1, 2, 65536], &[2, 0, 1]]),
            expected("65536")
        );
    }

    #[test]
    fn a_repeated_symbol_is_refused_with_its_row_or_column() {
        assert_eq!(
            refusal(&[&[0, 1, 2], &[1, 2, 0], &[2, 0, 2]]),
            "row 2 (counting from 0) holds symbol 2 more than once; \
             a row of a Latin square holds every symbol exactly once"
        );
        assert_eq!(
            refusal(&[&[0, 1, 2], &[1, 2, 0], &[2, 1, 0]]),
            "column 1 (counting from 0) holds symbol 1 more than once; \
             a column of a Latin square holds every symbol exactly once"
        );
    }

    #[test]
    fn a_table_of_fewer_than_two_or_too_many_symbols_is_refused() {
        assert_eq!(
            refusal(&[]),
            "the table has order 0; at least 2 symbols are needed"
        );
        assert_eq!(
            refusal(&[&[0]]),
            "the table has order 1; at least 2 symbols are needed"
        );
        assert_eq!(
            refusal(&vec![&[][..]; 2049]),
            "the table has order 2049; at most 2048 symbols are accepted"
        );
    }

    #[test]
    fn the_empty_group_and_the_trivial_one_are_refused() {
        for (name, order) in [
            ("z:0", 0),
            ("z:1", 1),
            ("s:0", 1),
            ("s:1", 1),
            ("a:0", 1),
            ("a:1", 1),
            ("a:2", 1),
            ("d:0", 0),
            ("random:1", 1),
        ] {
            let expected = format!("{name} has order {order}; at least 2 symbols are needed");
            assert_eq!(name_refusal(name), expected);
            assert_eq!(name_refusal(&format!("s:3 x {name}")), expected);
        }
    }

    #[test]
    fn a_group_or_product_too_large_is_refused_with_the_order_it_would_need() {
        for (name, order) in [
            ("s:7", "5040"),
            ("a:7", "2520"),
            ("d:1025", "2050"),
            ("z:2049", "2049"),
            ("s:6*z:3", "2160"),
            ("s:35", "2^128 or more"),
            ("s:18446744073709551615", "2^128 or more"),
            ("random:4000000000", "4000000000"),
        ] {
            assert_eq!(
                name_refusal(name),
                format!("{name} has order {order}; at most 2048 symbols are accepted")
            );
        }
        let (s6, z3) = (
            LatinSquare::symmetric(6).unwrap(),
            LatinSquare::cyclic(3).unwrap(),
        );
        assert_eq!(
            s6.product(&z3).unwrap_err().to_string(),
            "the product has order 2160; at most 2048 symbols are accepted"
        );
        assert_eq!(LatinSquare::named("z:2048").unwrap().q(), 2048);
    }

    #[test]
    fn an_unknown_name_is_refused_with_all_accepted_forms() {
        for name in [
            "", "mod:3", "z", "z:2:3", "q8:1", "parity*", "z:2**z:3", "Z:3", "matrix",
        ] {
            assert_eq!(
                name_refusal(name),
                format!(
                    "unknown name '{name}'; accepted: parity, z:N, quasigroup (the paper's 5x5 \
                     square), s:N, a:N, d:N (order 2N), q8, random:Q, random:Q:SEED, and products \
                     of these joined by * or x, such as z:2*s:3"
                )
            );
        }
    }

    #[test]
    fn an_unreadable_number_in_a_name_is_quoted() {
        for (name, number) in [
            ("z:five", "five"),
            ("s:-3", "-3"),
            ("a:+4", "+4"),
            ("d:", ""),
            ("random:5:1.5", "1.5"),
            ("z:18446744073709551616", "18446744073709551616"),
        ] {
            assert_eq!(
                name_refusal(&format!("parity * {name}")),
                format!("'{number}' in '{name}' is not a whole number in 0..=18446744073709551615")
            );
        }
    }

    #[test]
    fn a_random_name_without_a_seed_has_the_seed_0() {
        let named = |name| LatinSquare::named(name).unwrap();
        assert_eq!(named("random:8"), LatinSquare::random(8, 0).unwrap());
        assert_eq!(named("random:8:5"), LatinSquare::random(8, 5).unwrap());
        assert_ne!(named("random:8"), named("random:8:5"));
    }
}
