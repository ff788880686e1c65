//! States the algebraic facts of a square, among them the group its columns generate (paper,
//! section 2).
//!
//! Column x is the permutation s -> B[s, x] of the states. The group that all q columns generate
//! is transitive, because row s holds every symbol; for a group's table it is the group itself.

use dashu_int::UBig;

use super::{LatinSquare, Symbol};

/// What [`LatinSquare::facts`] finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whether (ab)c = a(bc) for all a, b, c; the square is then a group's.
    pub associative: bool,
    /// Whether ab = ba for all a, b.
    pub commutative: bool,
    /// The e with ex = x for all x.
    pub left_identity: Option<Symbol>,
    /// The e with xe = x for all x.
    pub right_identity: Option<Symbol>,
    /// The e with ex = xe = x for all x.
    pub identity: Option<Symbol>,
    /// The number of a with aa = a.
    pub idempotents: usize,
    /// The order of the group that the permutations s -> B[s, x] generate.
    pub column_group_order: UBig,
}

impl LatinSquare {
    /// Computes the facts of the square.
    pub fn facts(&self) -> Facts {
        let commutes = |a, b| self.multiply(a, b) == self.multiply(b, a);
        let left_identity = self
            .symbols()
            .find(|&e| self.symbols().all(|x| self.multiply(e, x) == x));
        let right_identity = self
            .symbols()
            .find(|&e| self.symbols().all(|x| self.multiply(x, e) == x));
        Facts {
            associative: self.is_associative(),
            commutative: self.symbols().all(|a| (0..a).all(|b| commutes(a, b))),
            left_identity,
            right_identity,
            identity: left_identity.filter(|_| left_identity == right_identity),
            idempotents: self.symbols().filter(|&a| self.multiply(a, a) == a).count(),
            column_group_order: self.column_group_order(),
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

    fn column_group_order(&self) -> UBig {
        let columns = self.columns();
        giant_order(&columns).unwrap_or_else(|| group_order(&columns))
    }

    fn columns(&self) -> Vec<Permutation> {
        let column = |x| self.symbols().map(|s| self.multiply(s, x)).collect();
        self.symbols().map(column).collect()
    }
}

/// The image of each point.
type Permutation = Vec<Symbol>;

/// The order q! or q!/2 of a transitive group seen at a glance to hold all even permutations.
///
/// A generator with a cycle of prime length p > q/2 has a power that is a p-cycle, which makes a
/// transitive group primitive; by Jordan's theorem (Wielandt, Finite Permutation Groups, 13.9) a
/// primitive group with a p-cycle, p <= q - 3, contains A_q. Among the columns of a large random
/// square there is almost surely such a one, and stabiliser chains of S_q are slow from q = 200 on.
fn giant_order(generators: &[Permutation]) -> Option<UBig> {
    let degree = generators[0].len();
    let cycles: Vec<Vec<usize>> = generators.iter().map(|g| cycle_lengths(g)).collect();
    let witness = |&p: &usize| 2 * p > degree && p + 3 <= degree && is_prime(p);
    cycles.iter().flatten().find(|length| witness(length))?;
    let any_odd = cycles
        .iter()
        .any(|lengths| (degree - lengths.len()) % 2 == 1);
    let first_factor: usize = if any_odd { 2 } else { 3 };
    Some((first_factor..=degree).map(UBig::from).product::<UBig>())
}

fn cycle_lengths(permutation: &[Symbol]) -> Vec<usize> {
    let mut seen = vec![false; permutation.len()];
    let mut lengths = vec![];
    for start in 0..permutation.len() {
        let (mut point, mut length) = (start, 0);
        while !seen[point] {
            seen[point] = true;
            point = permutation[point].into();
            length += 1;
        }
        if length > 0 {
            lengths.push(length);
        }
    }
    lengths
}

fn is_prime(n: usize) -> bool {
    n >= 2
        && (2..)
            .take_while(|d| d * d <= n)
            .all(|d| !n.is_multiple_of(d))
}

/// The order of the group that `generators` generate, by Schreier and Sims in Knuth's form
/// (Combinatorica 11, 33, 1991).
fn group_order(generators: &[Permutation]) -> UBig {
    let mut chain = StabiliserChain { levels: vec![] };
    for generator in generators {
        if !chain.contains(0, generator.clone()) {
            chain.extend(0, generator.clone());
        }
    }
    chain
        .levels
        .iter()
        .map(|level| UBig::from(level.orbit.len()))
        .product()
}

/// The groups G_0 > G_1 > .. where G_{i+1} is the stabiliser in G_i of the base point of level i.
struct StabiliserChain {
    levels: Vec<Level>,
}

/// One group of the chain and its action on the base point.
struct Level {
    base: usize,
    generators: Vec<Permutation>,
    orbit: Vec<usize>,
    /// For each point of the orbit, an element of the group that takes the point to the base.
    homeward: Vec<Option<Permutation>>,
}

impl StabiliserChain {
    /// Whether G_depth holds `element`, which fixes the base points above `depth`.
    fn contains(&self, depth: usize, mut element: Permutation) -> bool {
        for level in &self.levels[depth..] {
            match &level.homeward[usize::from(element[level.base])] {
                Some(homeward) => element
                    .iter_mut()
                    .for_each(|i| *i = homeward[usize::from(*i)]),
                None => return false,
            }
        }
        first_moved(&element).is_none()
    }

    /// Enlarges G_depth and the groups below it by `element`, which G_depth does not hold and which
    /// fixes the base points above `depth`.
    fn extend(&mut self, depth: usize, element: Permutation) {
        if depth == self.levels.len() {
            let base = first_moved(&element).expect("the trivial group holds the identity");
            self.levels.push(Level::trivial(base, element.len()));
        }
        let level = &mut self.levels[depth];
        let known = level.orbit.len();
        let newest = level.generators.len();
        level.generators.push(element);

        let mut next = 0;
        while next < self.levels[depth].orbit.len() {
            // Points known before have met all generators but the newest.
            let first = if next < known { newest } else { 0 };
            for index in first..=newest {
                let Some(stabilising) = self.levels[depth].schreier_generator(next, index) else {
                    continue;
                };
                if !self.contains(depth + 1, stabilising.clone()) {
                    self.extend(depth + 1, stabilising);
                }
            }
            next += 1;
        }
    }
}

impl Level {
    fn trivial(base: usize, degree: usize) -> Level {
        let mut homeward = vec![None; degree];
        homeward[base] = Some((0..degree as Symbol).collect());
        Level {
            base,
            generators: vec![],
            orbit: vec![base],
            homeward,
        }
    }

    /// Follows a generator from a point of the orbit: a new point joins the orbit, a known one
    /// gives the element that goes from the base to the point, on by the generator, and home.
    fn schreier_generator(&mut self, point: usize, generator: usize) -> Option<Permutation> {
        let generator = &self.generators[generator];
        let homeward = self.homeward[self.orbit[point]]
            .as_ref()
            .expect("the orbit has ways home");
        let product = then(&inverse(homeward), generator);
        let image = usize::from(product[self.base]);
        match &self.homeward[image] {
            Some(homeward) => Some(then(&product, homeward)),
            None => {
                self.orbit.push(image);
                self.homeward[image] = Some(inverse(&product));
                None
            }
        }
    }
}

fn then(first: &[Symbol], second: &[Symbol]) -> Permutation {
    first.iter().map(|&i| second[usize::from(i)]).collect()
}

fn inverse(permutation: &[Symbol]) -> Permutation {
    let mut inverse = vec![0; permutation.len()];
    for (i, &image) in permutation.iter().enumerate() {
        inverse[usize::from(image)] = i as Symbol;
    }
    inverse
}

fn first_moved(permutation: &[Symbol]) -> Option<usize> {
    permutation
        .iter()
        .enumerate()
        .position(|(i, &image)| i != usize::from(image))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn closure_order(generators: &[Permutation]) -> usize {
        let mut seen: HashSet<Permutation> = generators.iter().cloned().collect();
        let mut frontier = generators.to_vec();
        while let Some(element) = frontier.pop() {
            for generator in generators {
                let product = then(&element, generator);
                if seen.insert(product.clone()) {
                    frontier.push(product);
                }
            }
        }
        seen.len()
    }

    fn all_triples_associate(square: &LatinSquare) -> bool {
        let multiply = |a, b| square.multiply(a, b);
        square.symbols().all(|a| {
            square.symbols().all(|b| {
                square
                    .symbols()
                    .all(|c| multiply(multiply(a, b), c) == multiply(a, multiply(b, c)))
            })
        })
    }

    fn factorial(n: usize) -> UBig {
        (1..=n).map(UBig::from).product()
    }

    fn from_cycles(degree: usize, cycles: &[&[Symbol]]) -> Permutation {
        let mut permutation: Permutation = (0..degree as Symbol).collect();
        for cycle in cycles {
            for (i, &point) in cycle.iter().enumerate() {
                permutation[usize::from(point) - 1] = cycle[(i + 1) % cycle.len()] - 1;
            }
        }
        permutation
    }

    #[test]
    fn the_paper_square_is_a_quasigroup_whose_columns_generate_s5() {
        let facts = LatinSquare::paper().facts();
        assert_eq!(
            facts,
            Facts {
                associative: false,
                commutative: false,
                left_identity: None,
                right_identity: None,
                identity: None,
                idempotents: 1,
                column_group_order: 120u32.into(),
            }
        );
    }

    #[test]
    fn one_sided_identities_are_told_apart() {
        let subtraction = LatinSquare::tabulate(5, |a, b| (a + 5 - b) % 5).facts();
        assert_eq!(subtraction.right_identity, Some(0));
        assert_eq!(subtraction.left_identity, None);
        assert_eq!(subtraction.identity, None);
        let reversed = LatinSquare::tabulate(5, |a, b| (b + 5 - a) % 5).facts();
        assert_eq!(reversed.left_identity, Some(0));
        assert_eq!(reversed.right_identity, None);
        assert_eq!(reversed.identity, None);
        let shifted = LatinSquare::tabulate(5, |a, b| (a + b + 2) % 5).facts();
        assert_eq!(shifted.identity, Some(3));
        assert!(shifted.associative && shifted.commutative);
    }

    #[test]
    fn subtraction_has_the_dihedral_columns() {
        for q in [3, 5, 12, 31] {
            let facts = LatinSquare::tabulate(q, |a, b| (b + q - a) % q).facts();
            assert_eq!(facts.column_group_order, (2 * q).into(), "q = {q}");
            assert!(!facts.associative && !facts.commutative);
        }
    }

    #[test]
    fn a_square_that_associates_up_to_its_last_generator_is_not_associative() {
        // Swapping an intercalate of Z_2 x Z_2 x Z_2 leaves most triples alone.
        let mut square = LatinSquare::named("z:2*z:2*z:2").unwrap();
        for (s, x) in [(6, 6), (6, 7), (7, 6), (7, 7)] {
            square.table[s * 8 + x] ^= 1;
        }
        assert!(!all_triples_associate(&square));
        assert!(!square.facts().associative);
    }

    #[test]
    fn the_symmetric_and_alternating_groups_regenerate_themselves() {
        assert_eq!(
            LatinSquare::symmetric(6)
                .unwrap()
                .facts()
                .column_group_order,
            720u32.into()
        );
        assert_eq!(
            LatinSquare::alternating(6)
                .unwrap()
                .facts()
                .column_group_order,
            360u32.into()
        );
    }

    fn m12() -> [Permutation; 3] {
        [
            from_cycles(12, &[&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]]),
            from_cycles(12, &[&[3, 7, 11, 8], &[4, 10, 5, 6]]),
            from_cycles(
                12,
                &[&[1, 12], &[2, 11], &[3, 6], &[4, 8], &[5, 9], &[7, 10]],
            ),
        ]
    }

    /// x -> ax, 1/x and x + 1 on the projective line over F_8 with a^3 = a + 1: 0 is point 1, a^k
    /// point 2 + k, infinity point 9.
    fn psl_2_8() -> [Permutation; 3] {
        [
            from_cycles(9, &[&[2, 3, 4, 5, 6, 7, 8]]),
            from_cycles(9, &[&[1, 9], &[3, 8], &[4, 7], &[5, 6]]),
            from_cycles(9, &[&[1, 2], &[3, 5], &[4, 8], &[6, 7]]),
        ]
    }

    #[test]
    fn schreier_sims_finds_mathieu_and_projective_groups() {
        assert_eq!(group_order(&m12()[..2]), 7_920u32.into(), "M11");
        assert_eq!(group_order(&m12()), 95_040u32.into(), "M12");
        assert_eq!(group_order(&psl_2_8()), 504u32.into(), "PSL(2, 8)");
    }

    #[test]
    fn schreier_sims_finds_symmetric_and_alternating_groups_from_two_generators() {
        for n in 3..=30 {
            let all: Vec<Symbol> = (1..=n as Symbol).collect();
            let symmetric = [from_cycles(n, &[&all]), from_cycles(n, &[&[1, 2]])];
            assert_eq!(group_order(&symmetric), factorial(n), "n = {n}");
            let long_odd = if n % 2 == 1 { &all[..] } else { &all[1..] };
            let alternating = [from_cycles(n, &[long_odd]), from_cycles(n, &[&[1, 2, 3]])];
            assert_eq!(
                group_order(&alternating),
                factorial(n) / UBig::from(2u32),
                "n = {n}"
            );
        }
    }

    #[test]
    fn a_giant_seen_at_a_glance_has_the_order_schreier_sims_finds() {
        let mut seen = 0;
        for seed in 0..40 {
            let columns = LatinSquare::random(8 + seed as usize % 13, seed)
                .unwrap()
                .columns();
            if let Some(order) = giant_order(&columns) {
                assert_eq!(order, group_order(&columns), "seed {seed}");
                seen += 1;
            }
        }
        assert!(seen > 30, "{seen} of 40 squares had a witness");
        // (1 .. 5) and (4 .. 8) generate A_8, of order 8!/2.
        let even = [
            from_cycles(8, &[&[1, 2, 3, 4, 5]]),
            from_cycles(8, &[&[4, 5, 6, 7, 8]]),
        ];
        assert_eq!(giant_order(&even), Some(20_160u32.into()));
        assert_eq!(group_order(&even), 20_160u32.into());
    }

    #[test]
    fn a_long_prime_cycle_too_close_to_the_degree_settles_nothing() {
        let affine = LatinSquare::tabulate(7, |a, b| (3 * a + b) % 7);
        assert_eq!(giant_order(&affine.columns()), None, "p = q");
        assert_eq!(giant_order(&m12()), None, "p = q - 1");
        assert_eq!(giant_order(&psl_2_8()), None, "p = q - 2");
        assert_eq!(affine.facts().column_group_order, 42u32.into());
    }

    #[test]
    fn the_columns_of_a_random_square_of_20_symbols_generate_s20() {
        let facts = LatinSquare::random(20, 0).unwrap().facts();
        assert_eq!(facts.column_group_order, factorial(20));
    }

    #[test]
    fn the_columns_of_a_product_generate_a_subgroup_of_the_product() {
        let facts = LatinSquare::named("quasigroup x random:9:1")
            .unwrap()
            .facts();
        assert_eq!(facts.column_group_order, UBig::from(120u32) * factorial(9));
    }

    proptest! {
        #[test]
        fn schreier_sims_agrees_with_brute_force_closure(q in 2usize..=6, seed: u64) {
            let columns = LatinSquare::random(q, seed).unwrap().columns();
            prop_assert_eq!(group_order(&columns), UBig::from(closure_order(&columns)));
        }

        #[test]
        fn schreier_sims_agrees_with_closure_on_any_permutations(
            generators in prop::collection::vec(
                Just((0..6).collect::<Vec<Symbol>>()).prop_shuffle(), 1..4,
            ),
        ) {
            prop_assert_eq!(group_order(&generators), UBig::from(closure_order(&generators)));
        }

        #[test]
        fn associativity_agrees_with_all_triples(q in 2usize..=6, seed: u64) {
            let square = LatinSquare::random(q, seed).unwrap();
            prop_assert_eq!(square.facts().associative, all_triples_associate(&square));
        }
    }
}
