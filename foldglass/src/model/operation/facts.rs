//! States the algebraic facts of an operation, among them the group its columns generate (paper,
//! section 2).
//!
//! Column x is the map s -> B[s, x] of the states. Those of a Latin square are permutations, and the group
//! that all q of them generate is transitive, because row s holds every symbol; for a group's table
//! it is the group itself.

use super::{Operation, Symbol};
use std::collections::HashSet;

/// The most images of points that are written down of a group's elements: all of S_8's are 322,560.
const MOST_IMAGES: usize = 1 << 20;

/// What [`Operation::facts`] finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whether the table is a Latin square.
    pub latin: bool,
    /// Whether (ab)c = a(bc) for all a, b, c; a Latin square is then a group's.
    pub associative: bool,
    /// Whether ab = ba for all a, b.
    pub commutative: bool,
    /// The first e with ex = x for all x.
    pub left_identity: Option<Symbol>,
    /// The first e with xe = x for all x.
    pub right_identity: Option<Symbol>,
    /// The e with ex = xe = x for all x.
    pub identity: Option<Symbol>,
    /// The number of a with aa = a.
    pub idempotents: usize,
    /// The order of the group that the permutations s -> B[s, x] generate; none where the table is not a
    /// Latin square, or where the group is too large to be listed and the square is not a group's.
    pub column_group_order: Option<usize>,
}

impl Operation {
    /// Computes the facts of the operation.
    pub fn facts(&self) -> Facts {
        let commutes = |a, b| self.multiply(a, b) == self.multiply(b, a);
        let left_identity = self
            .symbols()
            .find(|&e| self.symbols().all(|x| self.multiply(e, x) == x));
        let right_identity = self
            .symbols()
            .find(|&e| self.symbols().all(|x| self.multiply(x, e) == x));
        let (latin, associative) = (self.is_latin(), self.is_associative());
        Facts {
            latin,
            associative,
            commutative: self.symbols().all(|a| (0..a).all(|b| commutes(a, b))),
            left_identity,
            right_identity,
            identity: left_identity.filter(|_| left_identity == right_identity),
            idempotents: self.symbols().filter(|&a| self.multiply(a, a) == a).count(),
            column_group_order: match (latin, associative) {
                (false, _) => None,
                (true, true) => Some(self.q),
                (true, false) => self.column_group_order(),
            },
        }
    }

    fn symbols(&self) -> impl Iterator<Item = Symbol> + use<> {
        0..self.q as Symbol
    }

    /// Light's test: the g with (sg)x = s(gx) for all s and x are closed under products, so that
    /// generators settle it, at most log2 q of them when the square is a group's.
    fn is_associative(&self) -> bool {
        let associates = |g| {
            self.symbols().all(|s| {
                let sg = self.multiply(s, g);
                self.symbols()
                    .all(|x| self.multiply(sg, x) == self.multiply(s, self.multiply(g, x)))
            })
        };
        let mut generators = vec![];
        let mut products = vec![];
        let mut known = vec![false; self.q];
        for g in self.symbols() {
            if known[usize::from(g)] {
                continue;
            }
            if !associates(g) {
                return false;
            }
            known[usize::from(g)] = true;
            generators.push(g);
            products.push(g);
            let mut next = 0;
            while next < products.len() {
                for &h in &generators {
                    let product = self.multiply(products[next], h);
                    if !known[usize::from(product)] {
                        known[usize::from(product)] = true;
                        products.push(product);
                    }
                }
                next += 1;
            }
        }
        true
    }

    /// Multiplies columns until nothing new comes.
    fn column_group_order(&self) -> Option<usize> {
        let column = |x| self.symbols().map(|s| self.multiply(s, x)).collect();
        let mut group = HashSet::from([self.symbols().collect::<Vec<Symbol>>()]);
        let mut generators: Vec<Vec<Symbol>> = Vec::new();
        for generator in self.symbols().map(column) {
            if group.contains(&generator) {
                continue;
            }
            generators.push(generator);
            let mut left: Vec<_> = group.iter().cloned().collect();
            while let Some(element) = left.pop() {
                for next in &generators {
                    let product: Vec<_> = element.iter().map(|&s| next[usize::from(s)]).collect();
                    if group.insert(product.clone()) {
                        left.push(product);
                    }
                }
                if group.len() * self.q > MOST_IMAGES {
                    return None;
                }
            }
        }
        Some(group.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all_triples_associate(square: &Operation) -> bool {
        let multiply = |a, b| square.multiply(a, b);
        square.symbols().all(|a| {
            square.symbols().all(|b| {
                square
                    .symbols()
                    .all(|c| multiply(multiply(a, b), c) == multiply(a, multiply(b, c)))
            })
        })
    }

    #[test]
    fn the_paper_square_is_a_quasigroup_whose_columns_generate_s5() {
        let facts = Operation::paper().facts();
        assert_eq!(
            facts,
            Facts {
                latin: true,
                associative: false,
                commutative: false,
                left_identity: None,
                right_identity: None,
                identity: None,
                idempotents: 1,
                column_group_order: Some(120),
            }
        );
    }

    #[test]
    fn one_sided_identities_are_told_apart() {
        let subtraction = Operation::tabulate(5, |a, b| (a + 5 - b) % 5).facts();
        assert_eq!(subtraction.right_identity, Some(0));
        assert_eq!(subtraction.left_identity, None);
        assert_eq!(subtraction.identity, None);
        let reversed = Operation::tabulate(5, |a, b| (b + 5 - a) % 5).facts();
        assert_eq!(reversed.left_identity, Some(0));
        assert_eq!(reversed.right_identity, None);
        assert_eq!(reversed.identity, None);
        let shifted = Operation::tabulate(5, |a, b| (a + b + 2) % 5).facts();
        assert_eq!(shifted.identity, Some(3));
        assert!(shifted.associative && shifted.commutative);
    }

    #[test]
    fn subtraction_has_the_dihedral_columns() {
        for q in [3, 5, 12, 31] {
            let facts = Operation::tabulate(q, |a, b| (b + q - a) % q).facts();
            assert_eq!(facts.column_group_order, Some(2 * q), "q = {q}");
            assert!(!facts.associative && !facts.commutative);
        }
    }

    #[test]
    fn a_square_that_associates_up_to_its_last_generator_is_not_associative() {
        // Swapping an intercalate of Z_2 x Z_2 x Z_2 leaves most triples alone.
        let mut square = Operation::named("z:2*z:2*z:2").unwrap();
        for (s, x) in [(6, 6), (6, 7), (7, 6), (7, 7)] {
            square.table[s * 8 + x] ^= 1;
        }
        assert!(!all_triples_associate(&square));
        assert!(!square.facts().associative);
    }

    #[test]
    fn the_columns_of_a_groups_table_are_the_group() {
        for name in ["s:5", "a:5", "d:7", "q8", "z:2*s:3"] {
            let group = Operation::named(name).unwrap();
            assert_eq!(group.column_group_order(), Some(group.q()), "{name}");
            assert_eq!(group.facts().column_group_order, Some(group.q()), "{name}");
        }
    }

    #[test]
    fn known_orders_are_found() {
        let affine = Operation::tabulate(7, |a, b| (3 * a + b) % 7);
        assert_eq!(affine.facts().column_group_order, Some(42));
        let product = Operation::named("quasigroup x z:3").unwrap();
        assert_eq!(product.facts().column_group_order, Some(360));
    }

    #[test]
    fn an_order_too_large_to_list_is_left_open() {
        let of = |name: &str| Operation::named(name).unwrap().facts().column_group_order;
        assert_eq!(of("random:20"), None);
        assert_eq!(of("s:6"), Some(720), "a group's needs no list");
    }

    /// Over 16 of the 2 x 2 tables and 19,683 of the 3 x 3 ones: 8 and 113 are associative.
    #[test]
    fn the_semigroups_of_two_and_three_elements_are_counted() {
        for (q, expected) in [(2usize, 8), (3, 113)] {
            let places = q * q;
            let tables = (0..q.pow(places as u32)).map(|n| Operation {
                q,
                table: super::super::digits(n, q, places),
            });
            assert_eq!(
                tables.filter(Operation::is_associative).count(),
                expected,
                "q = {q}"
            );
        }
    }

    proptest! {
        #[test]
        fn associativity_agrees_with_all_triples(q in 2usize..=6, seed: u64) {
            let square = Operation::random(q, seed).unwrap();
            prop_assert_eq!(square.facts().associative, all_triples_associate(&square));
        }
    }
}
