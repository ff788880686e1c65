use super::*;
use crate::kernels::Kernels;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    rng.next_u32() as usize % n
}

fn numbers(rng: &mut ChaCha8Rng, count: usize) -> Vec<f64> {
    let number = |_| f64::from(rng.next_u32() % 1999) / 999.0;
    (0..count).map(number).collect()
}

fn random_extent(rng: &mut ChaCha8Rng) -> Extent {
    Extent {
        histories: 1 + below(rng, 2),
        states: 1 + below(rng, 12),
        terms: 1 + below(rng, 6),
        entering: 1 + below(rng, 3),
        actions: 1 + below(rng, 5),
        lanes: Lanes::in_panels(1 + below(rng, 26), [4, 8][below(rng, 2)]),
    }
}

/// All that a step reads and writes, with random numbers in it.
struct Buffers {
    policy: Vec<f64>,
    alpha: Vec<f64>,
    bbar: Vec<f64>,
    weights: Vec<f64>,
    values: Vec<f64>,
    visits: Vec<f64>,
    scratch: Vec<f64>,
}

impl Buffers {
    fn random(rng: &mut ChaCha8Rng, work: &Sums) -> Buffers {
        let extent = &work.extent;
        Buffers {
            policy: numbers(rng, extent.entries()),
            alpha: numbers(rng, extent.alpha()),
            bbar: numbers(rng, extent.post()),
            weights: numbers(rng, extent.weights()),
            values: numbers(rng, extent.entries()),
            visits: numbers(rng, extent.cells()),
            scratch: vec![f64::NAN; work.scratch()],
        }
    }

    fn given(&self) -> Given<'_> {
        Given {
            policy: &self.policy,
            alpha: &self.alpha,
            bbar: &self.bbar,
            weights: &self.weights,
        }
    }
}

/// One lane and history, with its entries looked up one by one.
struct Single<'a> {
    extent: &'a Extent,
    buffers: &'a Buffers,
    history: usize,
    lane: usize,
}

impl Single<'_> {
    fn state_place(&self, s: usize, k: usize) -> usize {
        let row = (self.history * self.extent.terms + k) * self.extent.states + s;
        row * self.extent.lanes.row + self.lane
    }

    fn cell_place(&self, k: usize, n: usize) -> usize {
        let cell = (self.history * self.extent.terms + k) * self.extent.entering + n;
        self.extent
            .lanes
            .seat(self.lane, self.extent.vectors())
            .at(cell)
    }

    fn entry_place(&self, k: usize, j: usize) -> usize {
        let columns = self.extent.columns();
        let vector = (self.history * self.extent.terms + k) * columns + j;
        let vectors = self.extent.vectors() * self.extent.actions;
        self.extent.lanes.seat(self.lane, vectors).at(vector)
    }

    fn post_place(&self, s: usize, j: usize) -> usize {
        let row = (self.history * self.extent.states + s) * self.extent.columns() + j;
        row * self.extent.lanes.row + self.lane
    }

    fn weight(&self, n: usize) -> f64 {
        self.buffers.weights[n * self.extent.lanes.row + self.lane]
    }

    fn bbar(&self, s: usize, j: usize) -> f64 {
        self.buffers.bbar[self.post_place(s, j)] * self.weight(j / self.extent.actions)
    }

    fn alpha(&self, s: usize, k: usize) -> f64 {
        self.buffers.alpha[self.state_place(s, k)]
    }

    fn policy(&self, k: usize, j: usize) -> f64 {
        self.buffers.policy[self.entry_place(k, j)]
    }
}

fn singles<'a>(work: &'a Sums, buffers: &'a Buffers) -> impl Iterator<Item = Single<'a>> {
    let extent = &work.extent;
    (0..extent.histories).flat_map(move |history| {
        (0..extent.lanes.count).map(move |lane| Single {
            extent,
            buffers,
            history,
            lane,
        })
    })
}

/// A chain of fused multiply-adds.
fn chain(start: f64, terms: impl Iterator<Item = (f64, f64)>) -> f64 {
    terms.fold(start, |sum, (a, b)| a.mul_add(b, sum))
}

#[test]
fn every_kernel_sums_post_one_by_one_in_order() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..200 {
        let work = Sums::new(random_extent(&mut rng));
        let extent = &work.extent;
        let mut buffers = Buffers::random(&mut rng, &work);
        for kernels in Kernels::available() {
            let mut post = vec![f64::NAN; extent.post()];
            let mut scratch = std::mem::take(&mut buffers.scratch);
            kernels.forward(&work, buffers.given(), &mut scratch, &mut post);
            buffers.scratch = scratch;
            for one in singles(&work, &buffers) {
                for (s, j) in
                    (0..extent.states).flat_map(|s| (0..extent.columns()).map(move |j| (s, j)))
                {
                    let terms = (0..extent.terms).map(|k| (one.alpha(s, k), one.policy(k, j)));
                    let sum = chain(0.0, terms) * one.weight(j / extent.actions);
                    assert_eq!(post[one.post_place(s, j)], sum, "{extent:?}");
                }
            }
        }
    }
}

#[test]
fn every_kernel_sums_values_and_message_one_by_one_in_order() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for round in 0..300 {
        let work = Sums::new(random_extent(&mut rng));
        let extent = &work.extent;
        let buffers = Buffers::random(&mut rng, &work);
        let (add, wants) = (
            round % 2 == 0,
            [(true, true), (true, false), (false, true)][round % 3],
        );
        for kernels in Kernels::available() {
            let mut values = if wants.0 {
                buffers.values.clone()
            } else {
                Vec::new()
            };
            let mut message = vec![f64::NAN; if wants.1 { extent.alpha() } else { 0 }];
            let results = Results {
                values: &mut values,
                message: &mut message,
                visits: &mut [],
                share: f64::NAN,
                add,
            };
            let mut scratch = buffers.scratch.clone();
            kernels.backward(&work, buffers.given(), &mut scratch, results);
            for one in singles(&work, &buffers) {
                for k in 0..extent.terms {
                    for j in (0..extent.columns()).filter(|_| wants.0) {
                        let place = one.entry_place(k, j);
                        let start = if add { buffers.values[place] } else { 0.0 };
                        let terms = (0..extent.states).map(|s| (one.alpha(s, k), one.bbar(s, j)));
                        assert_eq!(values[place], chain(start, terms), "{extent:?}");
                    }
                    for s in (0..extent.states).filter(|_| wants.1) {
                        let terms =
                            (0..extent.columns()).map(|j| (one.bbar(s, j), one.policy(k, j)));
                        let place = one.state_place(s, k);
                        assert_eq!(message[place], chain(0.0, terms), "{extent:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_kernel_sums_visits_over_the_states() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for round in 0..100 {
        let work = Sums::new(random_extent(&mut rng));
        let buffers = Buffers::random(&mut rng, &work);
        let add = round % 2 == 0;
        for kernels in Kernels::available() {
            let mut visits = buffers.visits.clone();
            let results = Results {
                values: &mut buffers.values.clone(),
                message: &mut [],
                visits: &mut visits,
                share: 0.25,
                add,
            };
            let mut scratch = buffers.scratch.clone();
            kernels.backward(&work, buffers.given(), &mut scratch, results);
            for one in singles(&work, &buffers) {
                for (k, n) in (0..work.extent.terms)
                    .flat_map(|k| (0..work.extent.entering).map(move |n| (k, n)))
                {
                    let place = one.cell_place(k, n);
                    let sum: f64 = (0..work.extent.states).map(|s| one.alpha(s, k)).sum();
                    let before = if add { buffers.visits[place] } else { 0.0 };
                    let expected = sum * 0.25 * one.weight(n) + before;
                    assert!((visits[place] - expected).abs() <= 1e-14 * expected);
                }
            }
        }
    }
}

#[test]
fn a_buffer_one_entry_short_is_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let work = &Sums::new(random_extent(&mut rng));
    let sizes = |short: usize| {
        let extent = &work.extent;
        let sizes = [
            extent.entries(),
            extent.alpha(),
            extent.weights(),
            work.scratch(),
            extent.post(),
            extent.entries(),
            extent.alpha(),
            extent.cells(),
        ];
        std::array::from_fn(|n| vec![0.0; sizes[n] - usize::from(n == short)])
    };
    let accepts = |short: usize| {
        let [
            policy,
            alpha,
            weights,
            scratch,
            bbar,
            mut values,
            mut message,
            mut visits,
        ]: [Vec<f64>; 8] = sizes(short);
        let run = move || {
            let given = Given {
                policy: &policy,
                alpha: &alpha,
                bbar: &bbar,
                weights: &weights,
            };
            let results = Results {
                values: &mut values,
                message: &mut message,
                visits: &mut visits,
                share: 1.0,
                add: false,
            };
            work.check_backward(&given, &scratch, &results);
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_ok()
    };
    assert!(accepts(8));
    assert!((0..8).all(|short| !accepts(short)));
}
