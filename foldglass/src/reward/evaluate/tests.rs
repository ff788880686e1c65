use super::*;
use crate::model::class::{Shape, Window};
use crate::model::inputs::InputLaw;
use crate::model::operation::Operation;
use crate::model::policy::Entries;
use crate::model::task::Task;
use crate::reward::kernels::{self, Kernels};
use crate::reward::layout::{self, Layout, PANEL};
use crate::support::exact::parse;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Classes whose slabs have 1, few and many lanes, with every way to draw a symbol.
fn classes() -> Vec<Class> {
    let laws = [InputLaw::Uniform, InputLaw::Markov(parse("7/10").unwrap())];
    let mut list = Vec::new();
    for law in &laws {
        for (q, lengths) in [(2, &[3, 5][..]), (3, &[4]), (5, &[2, 4]), (7, &[3])] {
            for (past, future) in [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 1)] {
                for (memory, tied) in [(1, false), (1, true), (2, false)] {
                    let square = Operation::random(q, 11).unwrap();
                    let task = Task::new(square, law, lengths).unwrap();
                    let shape = Shape {
                        window: Window { past, future },
                        memory,
                        tied,
                    };
                    let class = Class::new(task, shape).unwrap();
                    if class.cells() < 20_000 {
                        list.push(class);
                    }
                }
            }
        }
    }
    list
}

fn random_row(rng: &mut ChaCha8Rng, q: usize) -> Vec<f64> {
    let raw: Vec<f64> = (0..q)
        .map(|_| (rng.next_u32() % 1000) as f64 + 0.5)
        .collect();
    let sum: f64 = raw.iter().sum();
    raw.iter().map(|p| p / sum).collect()
}

fn zeros(class: &Class, replicas: usize) -> PolicyTable {
    PolicyTable::zeros(Arc::new(Layout::new(class, replicas, kernels::width())))
}

fn random_table(class: &Class, replicas: usize, seed: u64) -> PolicyTable {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut table = zeros(class, replicas);
    for cell in 0..class.cells() {
        for replica in 0..replicas {
            table.write(cell, replica, &random_row(&mut rng, class.q()));
        }
    }
    table
}

/// J, and by cell its values and visits.
fn bits(passes: &Passes) -> (u64, Vec<Vec<u64>>) {
    let class = &passes.layout.class;
    let cell = |cell: usize| {
        let place = passes.layout.place(cell, 0);
        let actions = (0..class.q()).map(|a| passes.values[place.at(a)].to_bits());
        actions
            .chain([passes.visits[place.cell].to_bits()])
            .collect()
    };
    (
        passes.reward(0).to_bits(),
        (0..class.cells()).map(cell).collect(),
    )
}

#[test]
fn every_number_of_threads_gives_the_same_bits() {
    let square = Operation::random(5, 11).unwrap();
    let task = Task::new(square, &InputLaw::Uniform, &[6]).unwrap();
    let class = Class::new(task, Shape::untied(1, 3)).unwrap();
    let table = random_table(&class, 1, 5);
    let run = || {
        let mut passes = Passes::new(&class, 1, Scale::Probability, Allowance::default()).unwrap();
        passes.run(&table.entries, Wants::ALL);
        bits(&passes)
    };
    let alone = run();
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        assert_eq!(pool.build().unwrap().install(run), alone, "{threads}");
    }
}

#[test]
fn every_width_of_vectors_gives_the_same_bits() {
    for class in classes() {
        let table = random_table(&class, 1, 5);
        let mut results = Kernels::available().into_iter().map(|kernels| {
            let mut passes =
                Passes::new(&class, 1, Scale::Probability, Allowance::default()).unwrap();
            passes.kernels = kernels;
            passes.run(&table.entries, Wants::ALL);
            bits(&passes)
        });
        let widest = results.next().unwrap();
        assert!(results.all(|other| other == widest), "{:?}", class.shape());
    }
}

#[test]
fn replicas_side_by_side_are_evaluated_as_if_alone() {
    for class in classes() {
        for replicas in [2, 8] {
            let table = random_table(&class, replicas, 6);
            let mut side =
                Passes::new(&class, replicas, Scale::Probability, Allowance::default()).unwrap();
            side.run(&table.entries, Wants::ALL);
            let mut alone = Evaluator::new(&class).unwrap();
            for replica in 0..replicas {
                let rows: Vec<_> = (0..class.cells()).map(|c| table.row(c, replica)).collect();
                let reward = alone.evaluate(&Policy::from_rows(&class, &rows).unwrap());
                assert!((side.reward(replica) - reward).abs() < 1e-14);
                for cell in 0..class.cells() {
                    let place = side.layout.place(cell, replica);
                    assert!((side.visits[place.cell] - alone.visits(cell)).abs() < 1e-14);
                    for a in 0..class.q() {
                        assert!((side.values[place.at(a)] - alone.value(cell, a)).abs() < 1e-14);
                    }
                }
            }
        }
    }
}

/// With integer weights and a code's table, all arithmetic is on integers below 2^53.
#[test]
fn integer_weights_give_whole_numbers() {
    for class in classes() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let mut table = zeros(&class, 1);
        for cell in 0..class.cells() {
            let mut row = vec![0.0; class.q()];
            row[rng.next_u32() as usize % class.q()] = 1.0;
            table.write(cell, 0, &row);
        }
        let mut passes = Passes::new(&class, 1, Scale::Integer, Allowance::default()).unwrap();
        passes.run(&table.entries, Wants::ALL);
        assert_eq!(passes.reward(0).fract(), 0.0);
        let mut floats = Passes::new(&class, 1, Scale::Probability, Allowance::default()).unwrap();
        floats.run(&table.entries, Wants::ALL);
        let den = class.task().denominator().to_f64().value();
        assert!((passes.reward(0) / den - floats.reward(0)).abs() < 1e-14);
    }
}

#[test]
fn vanishing_probabilities_leave_no_subnormal_number_behind() {
    let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[9]).unwrap();
    let class = Class::new(task, Shape::untied(0, 1)).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let rows: Vec<Vec<f64>> = (0..class.cells())
        .map(|_| {
            let mut row = vec![1e-149; 5];
            row[2] = f64::MIN_POSITIVE / 8.0;
            row[rng.next_u32() as usize % 2] = 1.0;
            row
        })
        .collect();
    let policy = Policy::from_rows(&class, &rows).unwrap();
    let mut evaluator = Evaluator::new(&class).unwrap();
    evaluator.evaluate(&policy);
    let passes = &evaluator.passes;
    let buffers = [
        &evaluator.table.entries,
        &passes.messages.sent,
        &passes.messages.returned,
        &passes.values,
        &passes.visits,
    ];
    for buffer in buffers {
        assert!(!buffer.iter().any(|value| value.is_subnormal()));
    }
}

#[test]
fn tables_in_the_order_of_the_cells_hold_what_single_cells_have() {
    for class in classes() {
        let (q, cells) = (class.q(), class.cells());
        let table = random_table(&class, 1, 9);
        let flat: Vec<f64> = (0..cells).flat_map(|cell| table.row(cell, 0)).collect();
        let policy = Policy::from_flat(&class, &flat).unwrap();
        let mut evaluator = Evaluator::new(&class).unwrap();
        evaluator.evaluate(&policy);
        assert_eq!(evaluator.table, table);
        let (mut visits, mut values) = (vec![f64::NAN; cells], vec![f64::NAN; cells * q]);
        let mut rows = values.clone();
        evaluator.visits_into(&mut visits);
        evaluator.values_into(&mut values);
        policy.rows_into(&mut rows);
        assert_eq!(rows, flat);
        let mut other = Evaluator::new(&class).unwrap();
        assert_eq!(
            other.evaluate_rows(Entries::Double(&flat), 1e-12),
            Ok(evaluator.evaluate(&policy))
        );
        assert_eq!(other.passes.values, evaluator.passes.values);
        rows.fill(f64::NAN);
        other.rows_into(&mut rows);
        assert_eq!(rows, flat);
        for cell in 0..cells {
            assert_eq!(visits[cell], evaluator.visits(cell));
            assert_eq!(values[cell * q..][..q], evaluator.values(cell)[..]);
        }
    }
}

/// An evaluator keeps the rows it has laid out; a policy that changes must not be taken for them.
#[test]
fn a_policy_that_changes_is_laid_out_again() {
    let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[4]).unwrap();
    let class = Class::new(task, Shape::untied(0, 1)).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut evaluator = Evaluator::new(&class).unwrap();
    let rows = random_table(&class, 1, 4).rows(0);
    let mut policy = Policy::from_flat(&class, &rows).unwrap();
    let copy = policy.clone();
    let first = evaluator.evaluate(&policy);
    for cell in 0..10 {
        policy.set_row(cell, &random_row(&mut rng, 5)).unwrap();
        let mut fresh = Evaluator::new(&class).unwrap();
        let again = Policy::from_flat(&class, policy.rows()).unwrap();
        assert_eq!(evaluator.evaluate(&policy), fresh.evaluate(&again));
        assert_ne!(evaluator.evaluate(&policy), first);
    }
    assert_eq!(evaluator.evaluate(&copy), first);
}

/// Where a class lies depends on the machine; copying to plain rows and back does not.
#[test]
fn every_layout_takes_rows_and_gives_them_back() {
    let square = Operation::random(3, 11).unwrap();
    let constant = InputLaw::Markov(parse("1").unwrap());
    let task = Task::new(square, &constant, &[4]).unwrap();
    let few = Class::new(task, Shape::untied(1, 1)).unwrap();
    for class in classes().into_iter().chain([few]) {
        for (replicas, width) in [(1, PANEL / 2), (1, PANEL), (3, PANEL)] {
            let layout = Layout::new(&class, replicas, width);
            assert_eq!(layout.sizes, layout::Sizes::new(&class, replicas, width));
            let mut table = vec![f64::NAN; layout.sizes.entries];
            let mut cells = vec![f64::NAN; layout.sizes.cells];
            let rows = |replica: usize| -> Vec<f64> {
                let entries = 0..class.cells() * class.q();
                entries.map(|n| (n * replicas + replica) as f64).collect()
            };
            for replica in 0..replicas {
                layout.scatter_rows(&rows(replica), replica, &mut table);
            }
            for replica in 0..replicas {
                let rows = rows(replica);
                let mut back = vec![0.0; class.cells() * class.q()];
                layout.gather_rows(&table, replica, &mut back);
                assert_eq!(back, rows);
                for (cell, place) in layout.places(replica).enumerate() {
                    assert_eq!(place, layout.place(cell, replica));
                    for action in 0..class.q() {
                        let entry = rows[cell * class.q() + action];
                        assert_eq!(table[place.at(action)], entry);
                    }
                    cells[place.cell] = cell as f64;
                }
                let mut back = vec![0.0; class.cells()];
                layout.gather_cells(&cells, replica, &mut back);
                assert!(
                    (0..)
                        .zip(back)
                        .all(|(cell, found)| f64::from(cell) == found)
                );
            }
        }
    }
}

/// What is taken in one pass is what a policy of the same rows holds, to the bit, on panels of every width; what is
/// refused is refused in the same words.
#[test]
fn rows_are_taken_like_a_policy_of_them() {
    let mut rng = ChaCha8Rng::seed_from_u64(17);
    let constant = InputLaw::Markov(parse("1").unwrap());
    let task = Task::new(Operation::random(3, 11).unwrap(), &constant, &[4]).unwrap();
    let few = Class::new(task, Shape::untied(1, 1)).unwrap();
    for class in classes().into_iter().chain([few]) {
        let (q, cells) = (class.q(), class.cells());
        // Sums are 1 up to rounding, then some miss it; some entries are too small to be held.
        let exact = random_table(&class, 1, 5).rows(0);
        let mut missing = exact.clone();
        for row in missing.chunks_exact_mut(q) {
            match rng.next_u32() % 4 {
                0 => row.iter_mut().for_each(|p| *p *= 1.0 + 3e-10),
                1 => row.iter_mut().for_each(|p| *p *= 1.0 - 3e-10),
                2 => (row[0], row[1]) = (row[0] + row[1], 1e-200),
                _ => {}
            }
        }
        let single: Vec<f32> = exact.iter().map(|&p| p as f32).collect();
        let given = [
            (Entries::Double(&exact), 1e-9),
            (Entries::Double(&missing), 1e-9),
            (Entries::Single(&single), 1e-5),
        ];
        for (rows, tolerance) in given {
            let policy = Policy::normalized(&class, rows, tolerance).unwrap();
            for width in [PANEL / 2, PANEL] {
                let layout = Arc::new(Layout::new(&class, 1, width));
                let mut table = PolicyTable::zeros(layout.clone());
                assert!(table.take_rows(rows, tolerance));
                let mut want = PolicyTable::zeros(layout);
                want.set_rows(0, policy.rows());
                assert_eq!(table, want, "{class:?}");
            }
        }
        let cell = rng.next_u32() as usize % cells;
        let action = rng.next_u32() as usize % q;
        let mut evaluator = Evaluator::new(&class).unwrap();
        for wrong in [-0.1, -1e-300, 1.5, f64::NAN, f64::INFINITY, 0.0] {
            let mut double = exact.clone();
            let mut single = single.clone();
            double[cell * q + action] = wrong;
            single[cell * q + action] = wrong as f32;
            for (rows, tolerance) in [
                (Entries::Double(&double), 1e-9),
                (Entries::Single(&single), 1e-5),
            ] {
                let refused = Policy::normalized(&class, rows, tolerance).unwrap_err();
                let found = evaluator.evaluate_rows(rows, tolerance).unwrap_err();
                assert_eq!(found.to_string(), refused.to_string());
            }
        }
    }
}

#[test]
fn flat_rows_are_checked_like_single_ones() {
    let task = Task::new(Operation::cyclic(2).unwrap(), &InputLaw::Uniform, &[2]).unwrap();
    let class = Class::new(task, Shape::untied(0, 0)).unwrap();
    let refusal = |rows: &[f64]| Policy::from_flat(&class, rows).unwrap_err().to_string();
    assert!(refusal(&[0.5; 11]).contains("cell 5 has 1 probabilities: it needs q = 2"));
    assert!(refusal(&[0.5; 14]).contains("7 entries: this class has 6 cells"));
    let mut rows = [0.5; 12];
    rows[7] = 0.25;
    assert!(refusal(&rows).contains("cell 3 sums to 0.75"));
    rows[6..8].copy_from_slice(&[-0.5, 1.5]);
    assert!(refusal(&rows).contains("cell 3 gives action 0 the probability -0.5"));
    rows[6..8].copy_from_slice(&[1.0, 1e-200]);
    let policy = Policy::from_flat(&class, &rows).unwrap();
    assert_eq!(policy.row(3), [1.0, 0.0], "too small to be held");
    let mut evaluator = Evaluator::new(&class).unwrap();
    let of_policy = evaluator.evaluate(&policy);
    assert_eq!(
        evaluator.evaluate_rows(Entries::Double(&rows), 1e-9),
        Ok(of_policy)
    );
    assert_eq!(evaluator.table.row(3, 0), [1.0, 0.0]);
    // A policy that is evaluated after other rows is laid out again.
    assert!(
        evaluator
            .evaluate_rows(Entries::Double(&[0.5; 12]), 1e-9)
            .is_ok()
    );
    assert_eq!(evaluator.evaluate(&policy), of_policy);
    rows[6] = 1.01;
    let error = evaluator
        .evaluate_rows(Entries::Double(&rows), 1e-3)
        .unwrap_err();
    let told = "cell 3 gives action 0 the probability 1.01";
    assert!(error.to_string().contains(told), "{error}");
    rows[6] = 0.99;
    let error = evaluator
        .evaluate_rows(Entries::Double(&rows), 1e-3)
        .unwrap_err();
    let told = "cell 3 sums to 0.99: it must sum to 1 within 1e-3";
    assert!(error.to_string().contains(told), "{error}");
    assert!(
        evaluator
            .evaluate_rows(Entries::Double(&rows), 0.02)
            .is_ok()
    );
}

#[test]
fn an_evaluation_that_does_not_fit_is_refused_with_its_size() {
    let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[7]).unwrap();
    let class = Class::new(task, Shape::untied(0, 3)).unwrap();
    let Err(error) = Evaluator::within(&class, Allowance(1 << 20)) else {
        panic!("it fits 1 MiB")
    };
    assert!(error.to_string().contains("MiB are allowed"), "{error}");
}
