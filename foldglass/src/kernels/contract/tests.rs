use super::*;
use crate::kernels::Kernels;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Every entry that a contraction touches, listed as the structures say.
struct Touched {
    a: Vec<usize>,
    b: Vec<usize>,
    c: usize,
}

/// For each entry of C, the pairs of entries of A and B whose products it sums, in order.
fn touched(work: &Contraction, set: usize) -> Vec<Touched> {
    let (left, right, size) = (&work.left, &work.right, work.size);
    let terms = left.terms.len();
    let sets = |len: usize, one: usize| if len == one { 0 } else { set * one };
    let row_set = sets(left.rows.len(), size.inputs * size.rows);
    let term_set = sets(right.terms.len(), terms);
    let mut list = Vec::new();
    for (block, start) in left.blocks.iter().enumerate() {
        for lane in 0..size.width {
            for i in 0..size.rows {
                for j in 0..size.columns {
                    let mut entry = Touched {
                        a: Vec::new(),
                        b: Vec::new(),
                        c: block * work.out.block + i * work.out.row + j * work.out.column + lane,
                    };
                    for x in 0..size.inputs {
                        for k in 0..terms {
                            let row = left.rows[row_set + x * size.rows + i];
                            entry.a.push(start + row + left.terms[k] + lane);
                            let term = right.terms[term_set + k];
                            let column = j * right.column + lane;
                            entry
                                .b
                                .push(block * right.block + x * right.input + term + column);
                        }
                    }
                    list.push(entry);
                }
            }
        }
    }
    list
}

fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    rng.next_u32() as usize % n
}

fn offsets(rng: &mut ChaCha8Rng, count: usize, most: usize) -> Offsets {
    (0..count).map(|_| below(rng, most)).collect()
}

/// A contraction of any shape, whose entries of C are distinct.
fn random_work(rng: &mut ChaCha8Rng, sets: usize) -> Contraction {
    let size = Size {
        inputs: 1 + below(rng, 3),
        rows: 1 + below(rng, 7),
        columns: 1 + below(rng, 8),
        width: [1, 4, 8][below(rng, 3)],
    };
    let (blocks, terms) = (1 + below(rng, 3), 1 + below(rng, 5));
    let left = Left {
        blocks: offsets(rng, blocks, 40),
        rows: offsets(rng, sets * size.inputs * size.rows, 60),
        terms: offsets(rng, terms, 30),
    };
    let right_sets = if below(rng, 2) == 0 { 1 } else { sets };
    let right = Right {
        block: below(rng, 30),
        input: below(rng, 20),
        terms: offsets(rng, right_sets * terms, 30),
        column: below(rng, 20),
    };
    let column = size.width + below(rng, 3);
    let row = column * size.columns + below(rng, 3);
    let out = Strides {
        block: row * size.rows + below(rng, 3),
        row,
        column,
    };
    Contraction::new(left, right, out, size)
}

fn numbers(rng: &mut ChaCha8Rng, count: usize) -> Vec<f64> {
    let number = |_| f64::from(rng.next_u32() % 1999) / 999.0 - 1.0;
    (0..count).map(number).collect()
}

#[test]
fn the_reach_is_that_of_the_furthest_entry_of_any_set() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for sets in [1, 2, 3].repeat(100) {
        let work = random_work(&mut rng, sets);
        let all: Vec<Touched> = (0..sets).flat_map(|set| touched(&work, set)).collect();
        let furthest = |entries: &mut dyn Iterator<Item = usize>| entries.max().unwrap() + 1;
        let reach = Reach {
            a: furthest(&mut all.iter().flat_map(|t| t.a.iter().copied())),
            b: furthest(&mut all.iter().flat_map(|t| t.b.iter().copied())),
            c: furthest(&mut all.iter().map(|t| t.c)),
        };
        assert_eq!(work.reach, reach, "{work:?}");
    }
}

#[test]
fn every_kernel_does_the_sums_one_by_one_in_their_order() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for sets in [1, 2, 3].repeat(100) {
        let work = random_work(&mut rng, sets);
        let run = Run {
            set: below(&mut rng, sets),
            add: below(&mut rng, 2) == 0,
        };
        let a = numbers(&mut rng, work.reach.a);
        let b = numbers(&mut rng, work.reach.b);
        let c = numbers(&mut rng, work.reach.c);
        let mut slow = c.clone();
        for Touched { a: from, b: by, c } in touched(&work, run.set) {
            let start = if run.add { slow[c] } else { 0.0 };
            let pairs = from.iter().zip(&by);
            slow[c] = pairs.fold(start, |sum, (&i, &j)| a[i].mul_add(b[j], sum));
        }
        for kernels in Kernels::available() {
            let mut fast = c.clone();
            kernels.contract(&work, run, &a, &b, &mut fast);
            assert_eq!(fast, slow, "{run:?} of {work:?}");
        }
    }
}

#[test]
fn a_buffer_one_entry_short_is_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let work = random_work(&mut rng, 1);
    let Reach { a, b, c } = work.reach;
    let accepts = |a: usize, b: usize, c: usize| {
        let run = || work.check(&vec![0.0; a], &vec![0.0; b], &vec![0.0; c]);
        std::panic::catch_unwind(run).is_ok()
    };
    assert!(accepts(a, b, c));
    assert!(!accepts(a - 1, b, c) && !accepts(a, b - 1, c) && !accepts(a, b, c - 1));
}
