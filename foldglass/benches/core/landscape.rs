//! Times complete censuses: every code, every trap, the barriers of all shelves. Most are of correlated parity.

use crate::{Held, class, median_time};
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
    let short = parity_of(8, "<= 0.5 s");
    let long = parity_of(10, "<= 20 s");
    let longest = parity_of(11, "");
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
    parity_of(12, "<= 900 s");
}

/// Classes beyond the paper's: several lengths whose end is seen, three symbols, and a table that is not Latin.
pub fn others() {
    let ahead = Shape::untied(0, 1);
    let lengths = class("parity", &[2, 3, 4], ahead);
    print_census("census_lengths_0_1", &lengths, "<= 60 s");
    print_census("census_z3_0_1", &class("z:3", &[1, 2], ahead), "");
    print_census(
        "census_max3",
        &class("max:3", &[3], Shape::untied(0, 0)),
        "",
    );
}

fn parity_of(length: usize, target: &str) -> f64 {
    let class = correlated_parity(length);
    print_census(&format!("census_T{length}"), &class, target)
}

/// Prints the time of a census, and returns it: the median of many short ones, or of a single one
/// that takes longer than the time all of them should.
fn print_census(name: &str, class: &Class, target: &str) -> f64 {
    let start = Instant::now();
    let count = take(class, THREADS);
    let once = start.elapsed();
    let seconds = if once > crate::BUDGET {
        once.as_secs_f64()
    } else {
        median_time(|| {
            black_box(take(black_box(class), THREADS));
        })
    };
    let target = if target.is_empty() {
        String::new()
    } else {
        format!(r#","target":"{target}""#)
    };
    println!(
        r#"{{"name":"{name}","median_s":{seconds:e},"local_maxima":{},"traps":{},"of":"{}^{} codes on {THREADS} threads"{target}}}"#,
        count.local_maxima,
        traps(&count),
        class.q(),
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
    assert!(all.optimal > 0, "the fold is one");
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
