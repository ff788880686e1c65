//! Builds binary operations on q symbols, checks them and finds them by name (paper, section 2).
//!
//! `q` is the number of symbols, `B` the table: `B[s, x]` is the state that follows state `s` on
//! input `x`. Any entries below q will do. The paper's tables are Latin squares: every row and every
//! column holds each symbol once, which makes them the multiplication tables of quasigroups; the
//! associative ones are the groups.

mod facts;
mod groups;
mod monoids;
mod random;

use std::{fmt, str::FromStr};

use thiserror::Error;

pub use facts::Facts;

/// A symbol of the alphabet `0..q`: a state, an input or an emitted token.
pub type Symbol = u16;

/// The most symbols an operation may have.
pub const MAX_Q: usize = 2048;

const ACCEPTED_NAMES: &str = "parity, z:N, quasigroup (the paper's 5x5 square), s:N, a:N, d:N \
     (order 2N), q8, random:Q, random:Q:SEED (Latin squares), max:N, copy:N (the right argument), \
     flipflop, t:N (all maps of N points), and products of these joined by * or x, such as z:2*s:3";

/// The name that was meant by `Z_5` or `z5`, as a question; nothing for other names.
fn meant(name: &str) -> String {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &name[letters.len()..];
    let family = letters.trim_end_matches(['_', '-', ':']).to_lowercase();
    let known = ["z", "s", "a", "d", "max", "copy", "t", "random"];
    match !number.is_empty() && known.contains(&&family[..]) {
        true => format!(" (is {family}:{number} meant?)"),
        false => String::new(),
    }
}

/// A binary operation `B` on the symbols `0..q`, given by its table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    q: usize,
    /// Row-major: `B[s, x] = table[s * q + x]`.
    table: Vec<Symbol>,
}

/// Says why there is no such operation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OperationError {
    /// The name is none of the accepted forms.
    #[error("unknown name '{name}'{}; accepted: {ACCEPTED_NAMES}", meant(name))]
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
    /// The operation would have fewer than two symbols.
    #[error("{name} has order {order}; at least 2 symbols are needed")]
    TooSmall {
        /// What was asked for.
        name: String,
        /// Its number of symbols.
        order: u128,
    },
    /// The operation would have more than [`MAX_Q`] symbols.
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
}

impl Operation {
    /// Checks that `rows` is a table of q rows of q symbols and takes it over, `rows[s][x]` being `B[s, x]`.
    pub fn from_rows(rows: &[Vec<i64>]) -> Result<Operation, OperationError> {
        let what = match rows.len() {
            1 => "a table of row 0 alone",
            _ => "the table",
        };
        let q = accept_order(what, Some(rows.len() as u128))?;
        if let Some(row) = rows.iter().position(|entries| entries.len() != q) {
            let found = rows[row].len();
            return Err(OperationError::RowLength { row, found, q });
        }
        let mut table = Vec::with_capacity(q * q);
        for (row, entries) in rows.iter().enumerate() {
            for (column, &value) in entries.iter().enumerate() {
                let symbol = Symbol::try_from(value).ok().filter(|&a| usize::from(a) < q);
                table.push(symbol.ok_or(OperationError::OutOfRange {
                    row,
                    column,
                    value,
                    q,
                })?);
            }
        }
        Ok(Operation { q, table })
    }

    /// Builds the operation that `name` names.
    ///
    /// A name is `parity` (`z:2`), `z:N`, `quasigroup` ([`Operation::paper`]), `s:N`, `a:N`,
    /// `d:N`, `q8`, `random:Q:SEED` (`random:Q` is `random:Q:0`), `max:N`, `copy:N`, `flipflop`, `t:N`, or
    /// a product of these joined by `*` or `x`, spaces allowed, taken from the left. A product too large is
    /// refused before any factor is built.
    ///
    /// ```
    /// use foldglass::Operation;
    ///
    /// let square = Operation::named("z:2 x s:3")?;
    /// assert_eq!(square.q(), 12);
    /// # Ok::<(), foldglass::model::operation::OperationError>(())
    /// ```
    pub fn named(name: &str) -> Result<Operation, OperationError> {
        let (factors, _) = Construction::parse_all(name)?;
        let mut square = factors[0].build()?;
        for factor in &factors[1..] {
            square = square.product(&factor.build()?)?;
        }
        Ok(square)
    }

    /// The number of symbols of the operation that `name` names, which is not built.
    ///
    /// ```
    /// use foldglass::Operation;
    /// assert_eq!(Operation::order_of("t:2*max:3"), Ok(12));
    /// ```
    pub fn order_of(name: &str) -> Result<usize, OperationError> {
        Construction::parse_all(name).map(|(_, q)| q)
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

    /// Whether the table is a Latin square: every row and every column holds each symbol once.
    pub fn is_latin(&self) -> bool {
        let row = |s: usize| (0..self.q).map(move |x| self.entry(s, x));
        (0..self.q).all(|s| holds_each_once(row(s))) && self.permutes_states()
    }

    /// Whether every column holds each symbol once: x_t permutes the states, whatever it is.
    pub fn permutes_states(&self) -> bool {
        let column = |x: usize| (0..self.q).map(move |s| self.entry(s, x));
        (0..self.q).all(|x| holds_each_once(column(x)))
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

    fn tabulate(q: usize, product: impl Fn(usize, usize) -> usize) -> Operation {
        let cells = (0..q).flat_map(|s| (0..q).map(move |x| (s, x)));
        let table = cells.map(|(s, x)| product(s, x) as Symbol).collect();
        Operation { q, table }
    }
}

/// The factors of a name, split at `*` and at every `x` but that of `max` and one where a number should be.
pub fn factors(name: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    let separators = name.match_indices(['*', 'x']).map(|(at, _)| at);
    let ends = separators
        .filter(|&at| {
            name[at..].starts_with('*') || !name[..at].ends_with("ma") && !name[..at].ends_with(':')
        })
        .chain([name.len()]);
    ends.map(move |end| {
        let factor = &name[start..end];
        start = end + 1;
        factor
    })
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
    Max(usize),
    Copy(usize),
    FlipFlop,
    Maps(usize),
}

impl Construction {
    /// The factors of a name, and their common order.
    fn parse_all(name: &str) -> Result<(Vec<Construction>, usize), OperationError> {
        let factors = factors(name)
            .map(|factor| {
                Construction::parse(factor.trim())?.ok_or_else(|| OperationError::UnknownName {
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
        let q = accept_order(name, order)?;
        Ok((factors, q))
    }

    /// `None` where the form is unknown.
    fn parse(name: &str) -> Result<Option<Construction>, OperationError> {
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
            ["max", n] => Construction::Max(whole_number(n, name)?),
            ["copy", n] => Construction::Copy(whole_number(n, name)?),
            ["flipflop"] => Construction::FlipFlop,
            ["t", n] => Construction::Maps(whole_number(n, name)?),
            _ => return Ok(None),
        }))
    }

    /// `None` from 2^128 on.
    fn order(&self) -> Option<u128> {
        match *self {
            Construction::Cyclic(n) | Construction::Max(n) | Construction::Copy(n) => {
                Some(n as u128)
            }
            Construction::Paper => Some(5),
            Construction::Symmetric(n) => factorial(n),
            Construction::Alternating(n) => factorial(n).map(|order| order.div_ceil(2)),
            Construction::Dihedral(n) => Some(2 * n as u128),
            Construction::Quaternion => Some(8),
            Construction::Random { q, .. } => Some(q as u128),
            Construction::FlipFlop => Some(3),
            Construction::Maps(n) => u32::try_from(n)
                .ok()
                .and_then(|e| (n as u128).checked_pow(e)),
        }
    }

    fn accept_order(&self) -> Result<usize, OperationError> {
        accept_order(&self.to_string(), self.order())
    }

    fn build(&self) -> Result<Operation, OperationError> {
        match *self {
            Construction::Cyclic(n) => Operation::cyclic(n),
            Construction::Paper => Ok(Operation::paper()),
            Construction::Symmetric(n) => Operation::symmetric(n),
            Construction::Alternating(n) => Operation::alternating(n),
            Construction::Dihedral(n) => Operation::dihedral(n),
            Construction::Quaternion => Ok(Operation::quaternion()),
            Construction::Random { q, seed } => Operation::random(q, seed),
            Construction::Max(n) => Operation::maximum(n),
            Construction::Copy(n) => Operation::copy(n),
            Construction::FlipFlop => Ok(Operation::flip_flop()),
            Construction::Maps(n) => Operation::maps(n),
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
            Construction::Max(n) => write!(f, "max:{n}"),
            Construction::Copy(n) => write!(f, "copy:{n}"),
            Construction::FlipFlop => write!(f, "flipflop"),
            Construction::Maps(n) => write!(f, "t:{n}"),
        }
    }
}

fn whole_number<T: FromStr>(text: &str, name: &str) -> Result<T, OperationError> {
    let digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| digits_only)
        .ok_or_else(|| OperationError::BadNumber {
            name: name.to_string(),
            number: text.to_string(),
        })
}

fn accept_order(name: &str, order: Option<u128>) -> Result<usize, OperationError> {
    let name = name.to_string();
    match order {
        Some(order) if order < 2 => Err(OperationError::TooSmall { name, order }),
        Some(order) if order <= MAX_Q as u128 => Ok(order as usize),
        _ => Err(OperationError::TooLarge { name, order }),
    }
}

fn factorial(n: usize) -> Option<u128> {
    (1..=n as u128).try_fold(1, u128::checked_mul)
}

/// The digits of a base-q number, the highest first.
///
/// ```
/// use foldglass::model::operation::{digits, number};
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

/// Whether n symbols of `0..n` are all different.
fn holds_each_once(mut symbols: impl ExactSizeIterator<Item = Symbol>) -> bool {
    let mut seen = vec![false; symbols.len()];
    symbols.all(|symbol| !std::mem::replace(&mut seen[usize::from(symbol)], true))
}

#[cfg(feature = "serde")]
crate::schema_as!(Operation, Vec<Vec<Symbol>>);

#[cfg(feature = "serde")]
impl serde::Serialize for Operation {
    /// A list of rows.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Operation {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Operation, D::Error> {
        let rows = Vec::<Vec<i64>>::deserialize(deserializer)?;
        Operation::from_rows(&rows).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn integer_rows(square: &Operation) -> Vec<Vec<i64>> {
        square
            .rows()
            .map(|row| row.iter().map(|&symbol| symbol.into()).collect())
            .collect()
    }

    fn refusal(rows: &[&[i64]]) -> String {
        let rows: Vec<Vec<i64>> = rows.iter().map(|row| row.to_vec()).collect();
        Operation::from_rows(&rows).unwrap_err().to_string()
    }

    fn name_refusal(name: &str) -> String {
        Operation::named(name).unwrap_err().to_string()
    }

    #[test]
    fn a_table_is_read_with_the_state_as_its_row() {
        let square = Operation::from_rows(&[vec![1, 0, 2], vec![0, 2, 1], vec![2, 1, 0]]).unwrap();
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
            "max:4",
            "copy:3",
            "flipflop",
            "t:3",
        ];
        for name in names {
            let square = Operation::named(name).unwrap();
            assert_eq!(
                Operation::from_rows(&integer_rows(&square)),
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

    /// A row or column that holds a symbol twice makes the table another one, not a wrong one.
    #[test]
    fn any_table_is_taken_and_latin_is_a_fact_of_it() {
        for (rows, latin, permutes_states) in [
            ([[0, 1, 2], [1, 2, 0], [2, 0, 1]], true, true),
            ([[0, 1, 2], [1, 2, 0], [2, 0, 2]], false, false),
            ([[0, 1, 2], [0, 1, 2], [0, 1, 2]], false, false),
            ([[0, 0, 0], [1, 1, 1], [2, 2, 2]], false, true),
        ] {
            let table = Operation::from_rows(&rows.map(|row| row.to_vec())).unwrap();
            assert_eq!(table.is_latin(), latin, "{rows:?}");
            assert_eq!(table.permutes_states(), permutes_states, "{rows:?}");
        }
    }

    #[test]
    fn a_table_of_fewer_than_two_or_too_many_symbols_is_refused() {
        assert_eq!(
            refusal(&[]),
            "the table has order 0; at least 2 symbols are needed"
        );
        assert_eq!(
            refusal(&[&[0]]),
            "a table of row 0 alone has order 1; at least 2 symbols are needed"
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
            ("max:1", 1),
            ("copy:0", 0),
            ("t:0", 1),
            ("t:1", 1),
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
            ("max:4096", "4096"),
            ("t:5", "3125"),
            ("t:40", "2^128 or more"),
            ("t:18446744073709551615", "2^128 or more"),
        ] {
            assert_eq!(
                name_refusal(name),
                format!("{name} has order {order}; at most 2048 symbols are accepted")
            );
        }
        let (s6, z3) = (
            Operation::symmetric(6).unwrap(),
            Operation::cyclic(3).unwrap(),
        );
        assert_eq!(
            s6.product(&z3).unwrap_err().to_string(),
            "the product has order 2160; at most 2048 symbols are accepted"
        );
        assert_eq!(Operation::named("z:2048").unwrap().q(), 2048);
    }

    #[test]
    fn an_unknown_name_is_refused_with_all_accepted_forms() {
        for name in [
            "", "mod:3", "z", "z:2:3", "q8:1", "parity*", "z:2**z:3", "matrix", "max", "max*:3",
        ] {
            assert_eq!(
                name_refusal(name),
                format!(
                    "unknown name '{name}'; accepted: parity, z:N, quasigroup (the paper's 5x5 \
                     square), s:N, a:N, d:N (order 2N), q8, random:Q, random:Q:SEED (Latin \
                     squares), max:N, copy:N (the right argument), flipflop, t:N (all maps of N \
                     points), and products of these joined by * or x, such as z:2*s:3"
                )
            );
        }
        for (name, meant) in [("z5", "z:5"), ("Z_5", "z:5"), ("Z:3", "z:3"), ("s3", "s:3")] {
            let start = format!("unknown name '{name}' (is {meant} meant?); accepted: parity");
            assert!(name_refusal(name).starts_with(&start), "{name}");
        }
    }

    #[test]
    fn an_unreadable_number_in_a_name_is_quoted() {
        for (name, number) in [
            ("z:five", "five"),
            ("s:-3", "-3"),
            ("a:+4", "+4"),
            ("d:", ""),
            ("max:x", "x"),
            ("z:x", "x"),
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
        let named = |name| Operation::named(name).unwrap();
        assert_eq!(named("random:8"), Operation::random(8, 0).unwrap());
        assert_eq!(named("random:8:5"), Operation::random(8, 5).unwrap());
        assert_ne!(named("random:8"), named("random:8:5"));
    }
}
