//! Times complete censuses of correlated parity: every code, every trap, the barriers of all shelves.

use crate::{Held, median_time};
use foldglass::landscape::census::{Count, LeastCost, Survey};
use foldglass::support::watch::Tally;
use foldglass::{
    Allowance, Class, InputLaw, Operation, Reward, Shape, Task, Unwatched, support::exact,
};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Threads of all censuses but the peers'.
const THREADS: usize = 2;

/// The peers' census, on one thread as theirs.
pub fn against_peers() {
    let class = correlated_parity(6);
    let seconds = median_time(|| {
        black_box(take(black_box(&class), 1));
    });
    let count = take(&class, 1);
    println!(
        r#"{{"name":"census_T6","median_s":{seconds:e},"local_maxima":{},"traps":{}}}"#,
        count.local_maxima,
        traps(&count),
    );
}

/// Longer and longer codes, and how the time grows with each step.
pub fn growth() {
    let short = print_census(8, "<= 0.5 s");
    let long = print_census(10, "<= 20 s");
    let longest = print_census(11, "");
    for (name, base_seconds, base) in [
        ("census_growth", long, "T = 10"),
        ("census_growth_by_3", short, "T = 8"),
    ] {
        let held = Held {
            name,
            seconds: longest,
            of: "T = 11",
            base_seconds,
            base,
            target: "",
        };
        held.print();
    }
}

/// The paper's longest.
pub fn longest() {
    print_census(12, "<= 900 s");
}

/// Prints the time of a census, and returns it: the median of many short ones, or of a single one
/// that takes longer than the time all of them should.
fn print_census(length: usize, target: &str) -> f64 {
    let class = correlated_parity(length);
    let start = Instant::now();
    let count = take(&class, THREADS);
    let once = start.elapsed();
    let seconds = if once > crate::BUDGET {
        once.as_secs_f64()
    } else {
        median_time(|| {
            black_box(take(black_box(&class), THREADS));
        })
    };
    let target = if target.is_empty() {
        String::new()
    } else {
        format!(r#","target":"{target}""#)
    };
    println!(
        r#"{{"name":"census_T{length}","median_s":{seconds:e},"local_maxima":{},"traps":{},"of":"2^{} codes on {THREADS} threads"{target}}}"#,
        count.local_maxima,
        traps(&count),
        class.cells(),
    );
    seconds
}

fn correlated_parity(length: usize) -> Class {
    let law = InputLaw::Markov(exact::parse("9/10").unwrap());
    let task = Task::new(Operation::cyclic(2).unwrap(), &law, &[length]).unwrap();
    Class::new(task, Shape::untied(0, 0)).unwrap()
}

/// The number of traps, by all names of their tokens.
fn traps(count: &Count) -> u128 {
    count.traps.iter().map(|trap| trap.weight).sum()
}

/// A whole census, from its plan to the barrier of the last shelf.
fn take(class: &Class, threads: usize) -> Count {
    let survey = Survey::new(class, &Reward::ZERO).unwrap();
    let tally = Tally::new(&Unwatched, "parts", None);
    let census = survey.merged(Allowance::default(), &tally);
    let census = census.expect("nobody stops it");
    let mut all = Count::default();
    let parts = share(
        threads,
        census.parts(),
        || census.visitor(&tally),
        |visitor, part| visitor.part(part).expect("nobody stops it"),
    );
    parts.into_iter().for_each(|count| all += count);
    let shelves: BTreeSet<u128> = all.traps.iter().map(|trap| trap.shelf).collect();
    let shelves: Vec<u128> = shelves.into_iter().collect();
    let barriers = share(
        threads,
        shelves.len(),
        || (),
        |(), shelf| census.barrier(shelves[shelf], usize::MAX, &tally),
    );
    assert!(
        barriers
            .iter()
            .all(|barrier| matches!(barrier, Ok(LeastCost::Of(1..)))),
        "a trap has a barrier"
    );
    let named = class.task().lengths()[0] - 1;
    assert_eq!(
        all.optimal,
        1 << named,
        "the fold, by all names of its tokens"
    );
    all
}

/// Shares jobs among threads, each with its own tools; the results come in no order.
fn share<S, T: Send>(
    threads: usize,
    jobs: usize,
    tools: impl Fn() -> S + Sync,
    job: impl Fn(&mut S, usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut tools = tools();
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= jobs {
                return done;
            }
            done.push(job(&mut tools, number));
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().expect("no panic"));
        }
        done
    })
}
