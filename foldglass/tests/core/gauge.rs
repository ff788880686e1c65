//! Holds relabellings to what they are: a group that leaves every answer alone.

use crate::common::{exact_inputs, problems};
use foldglass::landscape::gauge::{
    Freedom, GaugeError, Relabelling, agreement, canonical, links, relabelling_between,
};
use foldglass::{
    Class, Code, Context, InputLaw, Operation, Shape, Stream, Symbol, Task, reward::count,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

type Rational = crate::common::Rational;

fn class(q: usize, lengths: &[usize], shape: Shape) -> Class {
    let square = Operation::random(q, 1).unwrap();
    let task = Task::new(square, &InputLaw::Uniform, lengths).unwrap();
    Class::new(task, shape).unwrap()
}

/// A random code; of few tokens sometimes, for those have stabilisers.
fn random_code(class: &Class, stream: &mut Stream) -> Code {
    let tokens = 1 + stream.below(class.q() as u32);
    Code::from_fn(class, |_| stream.below(tokens) as Symbol)
}

fn permutations(q: usize) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for _ in 0..q {
        all = all
            .iter()
            .flat_map(|list: &Vec<i64>| {
                let unused = (0..q as i64).filter(|a| !list.contains(a));
                unused.map(|a| [&list[..], &[a]].concat())
            })
            .collect();
    }
    all
}

/// Every relabelling that the class accepts, out of all lists of permutations.
fn group(class: &Class) -> Vec<Relabelling> {
    let mut lists: Vec<Vec<Vec<i64>>> = vec![Vec::new()];
    for _ in 0..class.task().longest() {
        lists = lists
            .iter()
            .flat_map(|list| {
                let all = permutations(class.q()).into_iter();
                all.map(|g| [&list[..], &[g]].concat())
            })
            .collect();
    }
    lists
        .iter()
        .filter_map(|list| Relabelling::new(class, list).ok())
        .collect()
}

#[test]
fn orbits_are_those_of_the_whole_group() {
    let memory = Shape {
        memory: 2,
        ..Shape::untied(0, 0)
    };
    for (class, order) in [
        (class(2, &[4], Shape::untied(0, 0)), 8),
        (class(3, &[3], Shape::untied(0, 0)), 36),
        (class(3, &[3], Shape::untied(1, 1)), 36),
        (class(3, &[3], memory), 36),
        (class(2, &[2, 4], Shape::untied(0, 1)), 4),
        (class(3, &[3], Shape::tied(0, 0)), 1),
        (class(3, &[4], Shape::tied(0, 1)), 6),
        (class(2, &[4], Shape::tied(0, 2)), 8),
    ] {
        let group = group(&class);
        assert_eq!(group.len(), order);
        assert_eq!(Freedom::of(&class).order(class.q()), order.into());
        let mut smaller = false;
        for seed in 0..60 {
            let code = random_code(&class, &mut Stream::new(seed, 0));
            let orbit: BTreeSet<Vec<Symbol>> = group
                .iter()
                .map(|g| g.apply(&code).actions().to_vec())
                .collect();
            let found = canonical(&code).unwrap();
            assert_eq!(found.orbit, orbit.len().into());
            assert_eq!(found.stabiliser, (order / orbit.len()).into());
            assert_eq!(Some(found.code.actions()), orbit.first().map(|c| &c[..]));
            assert_eq!(found.relabelling.apply(&code), found.code);
            smaller |= orbit.len() < order;
        }
        // Two tokens can never be exchanged for nothing; of three, two unused ones can.
        assert_eq!(smaller, class.q() > 2 && order > 1, "{:?}", class.shape());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn relabelling_changes_no_answer(problem in problems(), seed in any::<u64>()) {
        let class = problem.class();
        let mut stream = Stream::new(seed, 0);
        let code = random_code(&class, &mut stream);
        let [g, h] = [(); 2].map(|()| Relabelling::random(&class, &mut stream));
        let other = g.apply(&code);
        prop_assert_eq!(count::reward(&other), count::reward(&code));
        let found = agreement(&code, &other, Context::default()).unwrap();
        prop_assert_eq!(found.overall, Rational::ONE);
        prop_assert_eq!(h.after(&g).apply(&code), h.apply(&other));
        prop_assert_eq!(g.inverse().apply(&other), code.clone());
        let least = canonical(&code).unwrap();
        prop_assert_eq!(&canonical(&other).unwrap().code, &least.code);
        let again = canonical(&least.code).unwrap();
        prop_assert_eq!((&again.code, again.orbit), (&least.code, least.orbit));
        let between = relabelling_between(&code, &other).unwrap().unwrap();
        prop_assert_eq!(between.apply(&code), other);
    }

    #[test]
    fn agreement_is_that_of_all_inputs(problem in problems(), seed in any::<u64>()) {
        let class = problem.class();
        let mut stream = Stream::new(seed, 0);
        let codes = [(); 2].map(|()| random_code(&class, &mut stream));
        let [a, b] = &codes;
        let found = agreement(a, b, Context::default()).unwrap();
        let answer = |code: &Code, x: &[Symbol]| {
            let mut y = Vec::new();
            for t in 1..=x.len() {
                y.push(code.action(class.route(x, t, &y)));
            }
            y.pop()
        };
        let lengths = class.task().lengths();
        let mut same = vec![Rational::ZERO; lengths.len()];
        let mut overall = Rational::ZERO;
        for (x, p) in exact_inputs(&problem) {
            if answer(a, &x) == answer(b, &x) {
                let which = lengths.iter().position(|&length| length == x.len()).unwrap();
                same[which] += &p / problem.length_share(which);
                overall += p;
            }
        }
        prop_assert_eq!(&found.by_length, &same);
        prop_assert_eq!(found.overall, overall);
        if let Some(g) = relabelling_between(a, b).unwrap() {
            prop_assert_eq!(&g.apply(a), b);
        }
    }

    #[test]
    fn holonomies_are_conjugated(q in 2usize..=4, past in 0usize..=1, seed in any::<u64>()) {
        let class = class(q, &[3], Shape::untied(past, 0));
        let mut stream = Stream::new(seed, 0);
        // Links that are invertible as a rule: rotations of the tokens, one entry changed at times.
        let mut code = Code::from_fn(&class, |cell| {
            let key = class.key(cell);
            let x = key.x[past].unwrap() as usize;
            let y = key.y[0].map_or(0, usize::from);
            ((x * 3 + y + x * key.t.unwrap()) % q) as Symbol
        });
        if stream.below(2) == 0 {
            code.set(stream.below(class.cells() as u32) as usize, 0);
        }
        let g = Relabelling::random(&class, &mut stream);
        let before = links(&code).unwrap();
        let after = links(&g.apply(&code)).unwrap();
        for (before, after) in before.iter().zip(&after) {
            let t = before.t.unwrap();
            let g = &g.steps()[t - 1];
            prop_assert_eq!(before.reference, after.reference);
            for (h, k) in before.holonomies.iter().zip(&after.holonomies) {
                for y in 0..q {
                    prop_assert_eq!(k[g[y] as usize], g[h[y] as usize]);
                }
            }
            if t == 1 {
                for (a, b) in before.maps.iter().zip(&after.maps) {
                    prop_assert_eq!(b[0], g[a[0] as usize]);
                }
            }
        }
    }
}

#[test]
fn the_freedom_of_a_class_is_what_its_cells_leave() {
    for (lengths, shape, free) in [
        (&[8][..], Shape::untied(0, 0), 7),
        (&[7], Shape::untied(2, 1), 6),
        (&[3, 4, 5], Shape::untied(2, 1), 2),
        (&[7], Shape::tied(0, 0), 0),
        (&[7], Shape::tied(1, 0), 0),
        // Steps 1 to 4 share g, steps 5 and 6 have their own, step 7 is read.
        (&[7], Shape::tied(0, 3), 3),
    ] {
        assert_eq!(
            Freedom::of(&class(5, lengths, shape)).free(),
            free,
            "{shape:?}"
        );
    }
}

#[test]
fn codes_of_other_functions_are_no_relabelling() {
    let class = class(3, &[4], Shape::untied(0, 0));
    let code = random_code(&class, &mut Stream::new(3, 0));
    let mut other = code.clone();
    other.set(class.cells() - 1, (code.action(class.cells() - 1) + 1) % 3);
    assert_eq!(relabelling_between(&code, &other), Ok(None));
}

#[test]
fn the_orbit_of_a_constant_code_is_found_though_all_relabellings_tie() {
    let class = class(5, &[8], Shape::untied(0, 0));
    let zero = Code::from_fn(&class, |_| 0);
    let found = canonical(&zero).unwrap();
    // g_t moves 0 to one of five tokens at each of seven steps; the rest of it does nothing.
    assert_eq!(found.orbit, 78_125u32.into());
    assert_eq!(found.code, zero);
}

#[test]
fn what_is_no_relabelling_is_refused() {
    let untied = class(3, &[2], Shape::untied(0, 0));
    let refuse = |class: &Class, steps: &[Vec<i64>]| Relabelling::new(class, steps).unwrap_err();
    let (one, turn) = (vec![0, 1, 2], vec![1, 2, 0]);
    let size = GaugeError::WrongSize { got: 1, want: 2 };
    assert_eq!(refuse(&untied, std::slice::from_ref(&one)), size);
    let error = refuse(&untied, &[vec![0, 0, 1], one.clone()]);
    assert!(matches!(error, GaugeError::NoPermutation { step: 1, .. }));
    assert_eq!(
        refuse(&untied, &[turn.clone(), turn.clone()]),
        GaugeError::Read(2)
    );
    let tied = class(3, &[3], Shape::tied(0, 0));
    let steps = [turn, one.clone(), one];
    assert_eq!(refuse(&tied, &steps), GaugeError::Shared(1, 2));
}

#[test]
fn too_many_unused_tokens_are_refused_before_they_are_tried() {
    let class = class(12, &[2], Shape::untied(0, 0));
    let error = canonical(&Code::from_fn(&class, |_| 0)).unwrap_err();
    assert_eq!(
        error,
        GaugeError::TooMany {
            step: 1,
            tokens: 11,
            q: 12
        }
    );
}

#[test]
fn where_windows_overlap_more_relabellings_change_no_answer() {
    // With window (1, 0) step t + 1 sees x_t: the token of step t may be renamed as x_t says.
    let class = class(2, &[4], Shape::untied(1, 0));
    let code = random_code(&class, &mut Stream::new(6, 0));
    let flip = |t: usize, x: Symbol| if t < 4 { x } else { 0 };
    let mut other = code.clone();
    for cell in 0..class.cells() {
        let key = class.key(cell);
        let (t, x) = (key.t.unwrap(), key.x[1].unwrap());
        let partner = match (key.x[0], key.y[0]) {
            (Some(before), Some(y)) => cell + (y ^ flip(t - 1, before)) as usize - y as usize,
            _ => cell,
        };
        other.set(partner, code.action(cell) ^ flip(t, x));
    }
    let found = agreement(&code, &other, Context::default()).unwrap();
    assert_eq!(found.overall, Rational::ONE);
    assert_eq!(relabelling_between(&code, &other), Ok(None));
}

#[test]
#[should_panic(expected = "codes of one class")]
fn codes_of_different_classes_have_no_agreement() {
    let [a, b] = [Shape::untied(0, 0), Shape::tied(0, 0)].map(|shape| class(2, &[1], shape));
    let [a, b] = [&a, &b].map(|class| Code::from_fn(class, |_| 0));
    assert_eq!(a.actions(), b.actions());
    _ = agreement(&a, &b, Context::default());
}

#[test]
#[should_panic(expected = "codes of one class")]
fn codes_of_different_classes_are_no_relabelling_of_each_other() {
    let [a, b] = [Shape::untied(0, 0), Shape::tied(0, 0)].map(|shape| class(2, &[1], shape));
    let [a, b] = [&a, &b].map(|class| Code::from_fn(class, |_| 0));
    _ = relabelling_between(&a, &b);
}
