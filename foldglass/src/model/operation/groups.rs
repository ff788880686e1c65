//! Builds the paper's square, the named groups and products of operations (paper, section 2).
//!
//! Each constructor states the order of its elements and what `B[a, b]` means.

use super::{Construction, Operation, OperationError, Symbol, accept_order};

const PAPER: [[Symbol; 5]; 5] = [
    [1, 3, 4, 0, 2],
    [3, 1, 0, 2, 4],
    [4, 2, 3, 1, 0],
    [2, 0, 1, 4, 3],
    [0, 4, 2, 3, 1],
];

impl Operation {
    /// The paper's 5x5 quasigroup (eq:tableA), entries as printed.
    pub fn paper() -> Operation {
        Operation {
            q: 5,
            table: PAPER.concat(),
        }
    }

    /// The cyclic group Z_n, `z:N`: `B[a, b] = a + b mod n`.
    pub fn cyclic(n: usize) -> Result<Operation, OperationError> {
        let q = Construction::Cyclic(n).accept_order()?;
        Ok(Operation::tabulate(q, |a, b| (a + b) % q))
    }

    /// The symmetric group S_n, `s:N`: all permutations of `0..n` in lexicographic order of their
    /// one-line notation, the identity being 0. `B[a, b]` is first a, then b: `(ab)(i) = b(a(i))`.
    pub fn symmetric(n: usize) -> Result<Operation, OperationError> {
        Construction::Symmetric(n).accept_order()?;
        Ok(permutation_group(&permutations(n)))
    }

    /// The alternating group A_n, `a:N`: the even permutations, ordered and composed as in
    /// [`Operation::symmetric`].
    pub fn alternating(n: usize) -> Result<Operation, OperationError> {
        Construction::Alternating(n).accept_order()?;
        let even: Vec<_> = permutations(n).into_iter().filter(|p| is_even(p)).collect();
        Ok(permutation_group(&even))
    }

    /// The dihedral group of order 2n, `d:N`: the rotation `r^k` is element k, the reflection
    /// `r^k f` is element n + k, and `f r = r^-1 f`.
    pub fn dihedral(n: usize) -> Result<Operation, OperationError> {
        let q = Construction::Dihedral(n).accept_order()?;
        Ok(Operation::tabulate(q, |a, b| {
            let turn = if a < n { a + b % n } else { a + n - b % n };
            let reflects = (a < n) != (b < n);
            turn % n + if reflects { n } else { 0 }
        }))
    }

    /// The quaternion group, `q8`: 1, -1, i, -i, j, -j, k, -k in this order, with ij = k.
    pub fn quaternion() -> Operation {
        // Whether the product of units u and v, both in the order 1, i, j, k, has a minus sign.
        const MINUS: [[usize; 4]; 4] = [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1]];
        Operation::tabulate(8, |a, b| {
            let (u, v) = (a / 2, b / 2);
            2 * (u ^ v) + (a + b + MINUS[u][v]) % 2
        })
    }

    /// The direct product: the pair (a, b) of a symbol of `self` and one of `other` is element
    /// `a * other.q() + b`, and pairs multiply componentwise.
    pub fn product(&self, other: &Operation) -> Result<Operation, OperationError> {
        let q = accept_order("the product", Some(self.q as u128 * other.q as u128))?;
        let m = other.q;
        Ok(Operation::tabulate(q, |s, x| {
            usize::from(self.entry(s / m, x / m)) * m + usize::from(other.entry(s % m, x % m))
        }))
    }
}

/// All permutations of `0..n` in lexicographic order.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut prefixes = vec![vec![]];
    for _ in 0..n {
        prefixes = prefixes
            .iter()
            .flat_map(|prefix: &Vec<usize>| {
                let unused = (0..n).filter(|i| !prefix.contains(i));
                unused.map(|i| [&prefix[..], &[i]].concat())
            })
            .collect();
    }
    prefixes
}

fn is_even(permutation: &[usize]) -> bool {
    let inversions = permutation.iter().enumerate().map(|(i, image)| {
        permutation[i..]
            .iter()
            .filter(|&later| later < image)
            .count()
    });
    inversions.sum::<usize>().is_multiple_of(2)
}

/// The multiplication table of a group of permutations, given in lexicographic order.
fn permutation_group(elements: &[Vec<usize>]) -> Operation {
    Operation::tabulate(elements.len(), |a, b| {
        let product: Vec<usize> = elements[a]
            .iter()
            .map(|&image| elements[b][image])
            .collect();
        elements
            .binary_search(&product)
            .expect("a group holds its products")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Operation {
        Operation::named(name).unwrap()
    }

    fn involutions(group: &Operation) -> usize {
        (1..group.q() as Symbol)
            .filter(|&a| group.multiply(a, a) == 0)
            .count()
    }

    #[test]
    fn every_named_group_is_a_group_with_identity_0_and_the_right_order() {
        for (name, order, abelian) in [
            ("parity", 2, true),
            ("z:2", 2, true),
            ("z:5", 5, true),
            ("z:12", 12, true),
            ("s:2", 2, true),
            ("s:3", 6, false),
            ("s:4", 24, false),
            ("s:5", 120, false),
            ("a:3", 3, true),
            ("a:4", 12, false),
            ("a:5", 60, false),
            ("d:1", 2, true),
            ("d:2", 4, true),
            ("d:3", 6, false),
            ("d:4", 8, false),
            ("d:7", 14, false),
            ("q8", 8, false),
            ("z:2*s:3", 12, false),
            ("z:2 x z:2 x z:3", 12, true),
            ("q8xz:2", 16, false),
        ] {
            let group = named(name);
            let facts = group.facts();
            assert_eq!(group.q(), order, "{name}");
            assert!(facts.associative, "{name}");
            assert_eq!(facts.commutative, abelian, "{name}");
            assert_eq!(facts.identity, Some(0), "{name}");
            assert_eq!(facts.idempotents, 1, "{name}");
            assert_eq!(facts.column_group_order, Some(order), "{name}");
        }
    }

    #[test]
    fn groups_of_one_order_are_told_apart_by_their_involutions() {
        for (name, count) in [
            ("q8", 1),
            ("d:4", 5),
            ("z:8", 1),
            ("z:2*z:4", 3),
            ("z:2*z:2*z:2", 7),
            ("s:3", 3),
            ("d:3", 3),
            ("z:6", 1),
            ("a:4", 3),
            ("d:6", 7),
            ("z:2*s:3", 7),
            ("s:4", 9),
            ("a:5", 15),
        ] {
            assert_eq!(involutions(&named(name)), count, "{name}");
        }
    }

    #[test]
    fn the_symmetric_group_lists_permutations_in_order_and_composes_from_the_left() {
        // 012, 021, 102, 120, 201, 210.
        let s3 = Operation::symmetric(3).unwrap();
        assert_eq!(
            s3.multiply(1, 2),
            3,
            "0 -> 0 -> 1, 1 -> 2 -> 2, 2 -> 1 -> 0"
        );
        assert_eq!(
            s3.multiply(2, 1),
            4,
            "0 -> 1 -> 2, 1 -> 0 -> 0, 2 -> 2 -> 1"
        );
    }

    #[test]
    fn the_alternating_group_is_the_even_half_of_the_symmetric_one() {
        // 012, 120, 201: a 3-cycle, its square, and back.
        let a3 = Operation::alternating(3).unwrap();
        assert_eq!(a3, Operation::cyclic(3).unwrap());
    }

    #[test]
    fn dihedral_relations_hold() {
        for n in 1..8 {
            let group = Operation::dihedral(n).unwrap();
            let (r, f) = ((1 % n) as Symbol, n as Symbol);
            let inverse_r = ((n - 1) % n) as Symbol;
            for k in 0..n as Symbol {
                assert_eq!(group.multiply(k, f), f + k, "r^k f is element n + k");
            }
            assert_eq!(group.multiply(f, f), 0);
            assert_eq!(group.multiply(r, inverse_r), 0);
            assert_eq!(
                group.multiply(f, r),
                group.multiply(inverse_r, f),
                "n = {n}"
            );
        }
    }

    #[test]
    fn quaternion_units_multiply_as_hamilton_wrote() {
        let q8 = Operation::quaternion();
        let (minus_one, i, j, k) = (1, 2, 4, 6);
        for unit in [i, j, k] {
            assert_eq!(q8.multiply(unit, unit), minus_one);
            assert_eq!(q8.multiply(minus_one, unit), unit + 1);
        }
        assert_eq!(q8.multiply(i, j), k);
        assert_eq!(q8.multiply(j, k), i);
        assert_eq!(q8.multiply(k, i), j);
        assert_eq!(q8.multiply(j, i), k + 1);
    }

    #[test]
    fn products_multiply_componentwise_and_associate_from_the_left() {
        let (paper, s3) = (Operation::paper(), Operation::symmetric(3).unwrap());
        let product = paper.product(&s3).unwrap();
        for (a, b) in [(0, 0), (3, 5), (4, 1)] {
            for (c, d) in [(0, 2), (1, 4), (4, 5)] {
                assert_eq!(
                    product.multiply(a * 6 + b, c * 6 + d),
                    paper.multiply(a, c) * 6 + s3.multiply(b, d)
                );
            }
        }
        for spelling in ["quasigroup*s:3", "quasigroup x s:3", " quasigroupxs:3 "] {
            assert_eq!(named(spelling), product, "{spelling}");
        }
        let z2 = Operation::cyclic(2).unwrap();
        assert_eq!(
            named("quasigroup*s:3*parity"),
            product.product(&z2).unwrap()
        );
    }

    #[test]
    fn the_square_named_quasigroup_is_the_printed_one() {
        let paper = named("quasigroup");
        assert_eq!(paper, Operation::paper());
        assert_eq!(paper.multiply(0, 2), 4);
        assert_eq!(paper.multiply(2, 0), 4);
        assert_eq!(paper.multiply(4, 1), 4);
        assert_eq!(paper.multiply(1, 4), 4);
        assert_eq!(paper.multiply(3, 2), 1);
    }
}
