//! Builds the named operations that are not Latin squares (beyond the paper).
//!
//! All of them are associative. Each constructor states the order of its elements.

use super::{Construction, Operation, OperationError, digits, number};

impl Operation {
    /// The larger of two symbols, `max:N`.
    pub fn maximum(n: usize) -> Result<Operation, OperationError> {
        let q = Construction::Max(n).accept_order()?;
        Ok(Operation::tabulate(q, usize::max))
    }

    /// The right argument, `copy:N`: `B[s, x] = x`, so that the target is the last symbol.
    pub fn copy(n: usize) -> Result<Operation, OperationError> {
        let q = Construction::Copy(n).accept_order()?;
        Ok(Operation::tabulate(q, |_, x| x))
    }

    /// The flip-flop monoid, `flipflop`: hold is 0, set is 1, reset is 2. A state is the last symbol other
    /// than hold.
    pub fn flip_flop() -> Operation {
        Operation::tabulate(3, |s, x| if x == 0 { s } else { x })
    }

    /// All maps of n points to themselves, `t:N`: a map a is the base-n number with the digits
    /// a(0) a(1) .. a(n - 1). `B[a, b]` is first a, then b, as in [`Operation::symmetric`].
    ///
    /// ```
    /// use foldglass::Operation;
    /// let t2 = Operation::maps(2)?; // 00, 01, 10, 11
    /// assert_eq!(t2.multiply(2, 2), 1, "exchanging twice is the identity");
    /// assert_eq!(t2.multiply(0, 2), 3, "0 for both points, then exchanged");
    /// # Ok::<(), foldglass::model::operation::OperationError>(())
    /// ```
    pub fn maps(n: usize) -> Result<Operation, OperationError> {
        let q = Construction::Maps(n).accept_order()?;
        Ok(Operation::tabulate(q, |a, b| {
            let (first, then) = (digits(a, n, n), digits(b, n, n));
            let both: Vec<_> = first.iter().map(|&i| then[usize::from(i)]).collect();
            number(&both, n)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Operation {
        Operation::named(name).unwrap()
    }

    #[test]
    fn every_named_monoid_is_associative_and_not_latin() {
        for (name, order, idempotents, identity) in [
            ("max:2", 2, 2, Some(0)),
            ("max:7", 7, 7, Some(0)),
            ("copy:2", 2, 2, None),
            ("copy:5", 5, 5, None),
            ("flipflop", 3, 3, Some(0)),
            // n choose k images that are fixed, all other points anywhere on them: 3 and 10.
            ("t:2", 4, 3, Some(1)),
            ("t:3", 27, 10, Some(5)),
            ("max:2*z:3", 6, 2, Some(0)),
        ] {
            let facts = named(name).facts();
            assert_eq!(named(name).q(), order, "{name}");
            assert!(facts.associative && !facts.latin, "{name}");
            assert_eq!(facts.idempotents, idempotents, "{name}");
            assert_eq!(facts.identity, identity, "{name}");
            assert_eq!(facts.column_group_order, None, "{name}");
        }
    }

    #[test]
    fn a_flip_flop_holds_what_was_last_written() {
        let flip_flop = Operation::flip_flop();
        let (hold, set, reset) = (0, 1, 2);
        assert_eq!(flip_flop.multiply(set, hold), set);
        assert_eq!(flip_flop.multiply(set, reset), reset);
        assert_eq!(flip_flop.multiply(hold, set), set);
        assert_eq!(flip_flop.multiply(hold, hold), hold);
    }

    /// The permutations of three points, among all maps of them, multiply as in `s:3`.
    #[test]
    fn the_maps_contain_the_permutations() {
        let (maps, group) = (
            Operation::maps(3).unwrap(),
            Operation::symmetric(3).unwrap(),
        );
        let permutations = [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ];
        let place = |i: usize| number(&permutations[i], 3) as u16;
        for a in 0..6 {
            for b in 0..6 {
                let product = usize::from(group.multiply(a as u16, b as u16));
                assert_eq!(maps.multiply(place(a), place(b)), place(product));
            }
        }
    }

    #[test]
    fn the_x_of_max_is_not_a_product_sign() {
        let product = named("max:2").product(&named("max:3")).unwrap();
        for spelling in ["max:2*max:3", "max:2xmax:3", "max:2 x max:3"] {
            assert_eq!(named(spelling), product, "{spelling}");
        }
        let other = named("z:2").product(&named("max:3")).unwrap();
        assert_eq!(named("z:2xmax:3"), other);
    }
}
