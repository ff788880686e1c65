use super::*;
use crate::model::class::{Shape, Window};
use crate::model::inputs::InputLaw;
use crate::model::policy::Table;
use crate::model::quasigroup::LatinSquare;
use crate::model::task::Task;
use crate::reward::kernels::Kernels;
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
                    let square = LatinSquare::random(q, 11).unwrap();
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

fn random_table(class: &Class, replicas: usize, seed: u64) -> Table {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut table = Table::zeros(class, class.planes(replicas));
    for cell in 0..class.cells() {
        for replica in 0..replicas {
            table.write(cell, replica, &random_row(&mut rng, class.q()));
        }
    }
    table
}

/// J, and by cell its values and visits.
fn bits(passes: &Passes) -> (u64, Vec<Vec<u64>>) {
    let class = &passes.class;
    let cell = |cell: usize| {
        let place = passes.place(cell);
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
    let square = LatinSquare::random(5, 11).unwrap();
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
                    let place = side.planes.place(&class, cell, replica);
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
        let mut table = Table::zeros(&class, class.planes(1));
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
    let task = Task::new(LatinSquare::paper(), &InputLaw::Uniform, &[9]).unwrap();
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
    let passes = &evaluator.0;
    let buffers = [
        &policy.0.entries,
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
        assert_eq!(policy.0, table);
        let mut evaluator = Evaluator::new(&class).unwrap();
        evaluator.evaluate(&policy);
        let (mut visits, mut values) = (vec![f64::NAN; cells], vec![f64::NAN; cells * q]);
        let mut rows = values.clone();
        evaluator.visits_into(&mut visits);
        evaluator.values_into(&mut values);
        policy.rows_into(&mut rows);
        assert_eq!(rows, flat);
        for cell in 0..cells {
            assert_eq!(visits[cell], evaluator.visits(cell));
            assert_eq!(values[cell * q..][..q], evaluator.values(cell)[..]);
        }
    }
}

#[test]
fn flat_rows_are_checked_like_single_ones() {
    let task = Task::new(LatinSquare::cyclic(2).unwrap(), &InputLaw::Uniform, &[2]).unwrap();
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
}

#[test]
fn an_evaluation_that_does_not_fit_is_refused_with_its_size() {
    let task = Task::new(LatinSquare::paper(), &InputLaw::Uniform, &[7]).unwrap();
    let class = Class::new(task, Shape::untied(0, 3)).unwrap();
    let Err(error) = Evaluator::within(&class, Allowance(1 << 20)) else {
        panic!("it fits 1 MiB")
    };
    assert!(error.to_string().contains("MiB are allowed"), "{error}");
}
