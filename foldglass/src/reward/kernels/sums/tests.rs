use super::*;
use crate::reward::kernels::{Kernels, Landing, Moves, Origin};
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

/// Some way for numbers to lie in a message: lanes side by side, entering symbols side by side (each with
/// states of its own, or with those of the first), neither, or several numbers in one place; or they go to
/// several places, one for each symbol drawn on the way.
fn random_routes(rng: &mut ChaCha8Rng, extent: &Extent) -> Routes {
    let (form, draws) = (below(rng, 6), 1 + below(rng, 2) * below(rng, 3));
    let (states, entering, lanes) = (extent.states, extent.entering, extent.lanes.count);
    let (moved, more) = (below(rng, states), below(rng, 3));
    let landing = |from: Origin| {
        let Origin {
            draw,
            state: s,
            entering: e,
            lane,
        } = from;
        let (row, lane) = match form {
            0 => (s * entering + e, lane),
            1 => (lane * states + (s + lane * moved) % states, e),
            2 => (lane * states + (s + e * moved) % states, e),
            3 => (e * states + s, lanes - 1 - lane),
            4 => (s, lane),
            _ => (s, 0),
        };
        Landing {
            row: row * draws + draw,
            lane,
        }
    };
    let turns = form == 1 || form == 2;
    let action = states * if turns { lanes } else { entering } * draws;
    let next = Extent {
        histories: extent.histories,
        states: action,
        terms: extent.actions,
        entering: 1,
        actions: 1,
        lanes: Lanes::in_panels(if turns { entering } else { lanes } + more, 4),
    };
    let history = |h: usize| (extent.histories - 1 - h) * extent.actions * action;
    let moves = Moves {
        action,
        histories: (0..extent.histories).map(history).collect(),
    };
    Routes::new((extent, &next), draws, moves, landing)
}

/// All that a step reads and writes, with random numbers in it.
struct Buffers {
    policy: Vec<f64>,
    alpha: Vec<f64>,
    weights: Vec<f64>,
    mixing: Vec<f64>,
    /// Two of them, one behind the other.
    returned: Vec<f64>,
    values: Vec<f64>,
    visits: Vec<f64>,
    right: Vec<u16>,
    scratch: Vec<f64>,
}

impl Buffers {
    fn random(rng: &mut ChaCha8Rng, work: &Sums, routes: &Routes) -> Buffers {
        let extent = &work.extent;
        let drawn: Vec<f64> = numbers(rng, 16);
        let right = extent.lanes.size(extent.states * extent.entering);
        Buffers {
            policy: numbers(rng, extent.entries()),
            alpha: numbers(rng, extent.alpha()),
            weights: numbers(rng, extent.weights()),
            mixing: routes.weights(|from| drawn[(from.draw + 3 * from.entering + from.lane) % 16]),
            returned: numbers(rng, 2 * routes.reach()),
            values: numbers(rng, extent.entries()),
            visits: numbers(rng, extent.cells()),
            right: (0..right)
                .map(|_| below(rng, extent.actions) as u16)
                .collect(),
            scratch: vec![f64::NAN; work.scratch()],
        }
    }

    fn coming<'a>(&'a self, routes: &'a Routes, starts: &'a [usize], rewards: bool) -> Coming<'a> {
        Coming {
            routes: Some(routes),
            mixing: &self.mixing,
            starts,
            skipped: 0,
            returned: &self.returned,
            reward: rewards.then_some(StepReward {
                amount: 0.75,
                right: &self.right,
            }),
        }
    }

    fn given(&self) -> PassInputs<'_> {
        PassInputs {
            policy: &self.policy,
            alpha: &self.alpha,
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
        let lanes = &self.extent.lanes;
        lanes.place(self.extent.rows(), row, self.lane)
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

    fn weight(&self, n: usize) -> f64 {
        let lanes = &self.extent.lanes;
        self.buffers.weights[lanes.place(self.extent.entering, n, self.lane)]
    }

    /// Where a number of post goes for each symbol drawn, and the weight of that.
    fn ways(&self, routes: &Routes, s: usize, j: usize) -> Vec<(usize, f64)> {
        let from = Origin {
            draw: 0,
            state: s,
            entering: j / self.extent.actions,
            lane: self.lane,
        };
        let number = (self.history, from, j % self.extent.actions);
        routes.ways(number, &self.buffers.mixing)
    }

    /// Weighted bbar: the sum of what came back and, if any, the reward.
    fn bbar(&self, coming: &Coming<'_>, s: usize, j: usize) -> f64 {
        let (e, action) = (j / self.extent.actions, j % self.extent.actions);
        let ways = self.ways(coming.routes.unwrap(), s, j);
        let mut sum = 0.0;
        for message in coming.messages() {
            for &(place, weight) in &ways {
                sum += flushed(message[place] * weight) * self.weight(e);
            }
        }
        let rows = self.extent.states * self.extent.entering;
        let row = s * self.extent.entering + e;
        let right = self.extent.lanes.place(rows, row, self.lane);
        match coming.reward {
            Some(reward) if usize::from(reward.right[right]) == action => {
                sum + reward.amount * self.weight(e)
            }
            _ => sum,
        }
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

fn flushed(value: f64) -> f64 {
    if value < LEAST_MESSAGE { 0.0 } else { value }
}

#[test]
fn every_kernel_sums_post_one_by_one_in_order_and_sends_it() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..400 {
        let work = Sums::new(random_extent(&mut rng));
        let extent = &work.extent;
        let routes = random_routes(&mut rng, extent);
        let buffers = Buffers::random(&mut rng, &work, &routes);
        let mut expected = vec![0.0; routes.reach()];
        for one in singles(&work, &buffers) {
            for (s, j) in
                (0..extent.states).flat_map(|s| (0..extent.columns()).map(move |j| (s, j)))
            {
                let terms = (0..extent.terms).map(|k| (one.alpha(s, k), one.policy(k, j)));
                let sum = flushed(chain(0.0, terms) * one.weight(j / extent.actions));
                for (place, weight) in one.ways(&routes, s, j) {
                    expected[place] += flushed(sum * weight);
                }
            }
        }
        for kernels in Kernels::available() {
            let mut message = vec![0.0; routes.reach()];
            let (mut scratch, steps) = (buffers.scratch.clone(), (&work, &routes));
            let given = buffers.given();
            kernels.forward(steps, given, &buffers.mixing, &mut scratch, &mut message);
            for (sent, expected) in message.iter().zip(&expected) {
                // The order of a sum in one place is that of tiles.
                let bound = if routes.adds() { 1e-13 * expected } else { 0.0 };
                assert!((sent - expected).abs() <= bound, "{routes:?}");
            }
        }
    }
}

#[test]
fn every_kernel_sums_values_and_message_one_by_one_in_order() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for round in 0..600 {
        let work = Sums::new(random_extent(&mut rng));
        let extent = &work.extent;
        let routes = random_routes(&mut rng, extent);
        let buffers = Buffers::random(&mut rng, &work, &routes);
        let (add, wants) = (
            round % 2 == 0,
            [(true, true), (true, false), (false, true)][round % 3],
        );
        let starts = &[0, routes.reach()][..round % 5 % 3];
        let coming = buffers.coming(&routes, starts, round % 7 % 2 == 0);
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
            kernels.backward(&work, buffers.given(), coming, &mut scratch, results);
            for one in singles(&work, &buffers) {
                for k in 0..extent.terms {
                    for j in (0..extent.columns()).filter(|_| wants.0) {
                        let place = one.entry_place(k, j);
                        let start = if add { buffers.values[place] } else { 0.0 };
                        let bbar = |s| one.bbar(&coming, s, j);
                        let terms = (0..extent.states).map(|s| (one.alpha(s, k), bbar(s)));
                        assert_eq!(values[place], chain(start, terms), "{extent:?}");
                    }
                    for s in (0..extent.states).filter(|_| wants.1) {
                        let bbar = |j| one.bbar(&coming, s, j);
                        let terms = (0..extent.columns()).map(|j| (bbar(j), one.policy(k, j)));
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
        let routes = random_routes(&mut rng, &work.extent);
        let buffers = Buffers::random(&mut rng, &work, &routes);
        let (add, coming) = (round % 2 == 0, buffers.coming(&routes, &[], true));
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
            kernels.backward(&work, buffers.given(), coming, &mut scratch, results);
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
fn quads_are_moved_as_they_lie() {
    let extent = |states, lanes| Extent {
        histories: 1,
        states,
        terms: 1,
        entering: 5,
        actions: 5,
        lanes: Lanes::in_panels(lanes, 4),
    };
    let kinds = |extent: &Extent, landing: &dyn Fn(Origin) -> (usize, usize)| {
        let moves = Moves {
            action: 1_000,
            histories: vec![0],
        };
        let next = Extent {
            states: 1_000,
            terms: 5,
            lanes: Lanes::in_panels(9, 4),
            ..extent.clone()
        };
        let landing = |from| {
            let (row, lane) = landing(from);
            Landing { row, lane }
        };
        Routes::new((extent, &next), 1, moves, landing).kinds()
    };
    let side = |from: Origin| (from.state * 5 + from.entering, from.lane);
    assert_eq!(kinds(&extent(5, 9), &side), "CCS");
    let transposed = |from: Origin| (from.lane * 12 + from.state, from.entering);
    assert_eq!(kinds(&extent(5, 9), &transposed), "TTS");
    assert_eq!(kinds(&extent(12, 9), &transposed), "TTS");
    // The last symbol is in the lane that lies behind all rows.
    let behind = |from: Origin| (from.lane * 12 + from.state, from.entering + 4);
    assert_eq!(kinds(&extent(5, 9), &behind), "TTS");
    // Of the first four symbols one is there, or is the last of a quad.
    let broken = |from: Origin| (from.lane * 12 + from.state, 8 - from.entering);
    assert_eq!(kinds(&extent(5, 9), &broken), "SSS");
    let crossing = |from: Origin| (from.state * 5 + from.entering, from.lane + 5);
    assert_eq!(kinds(&extent(5, 4), &crossing), "S");
    // The state of the message depends on the entering symbol: all states must be in one tile.
    let moved = |states: usize| {
        move |from: Origin| {
            let state = (from.state + from.entering) % states;
            (from.lane * states + state, from.entering)
        }
    };
    assert_eq!(kinds(&extent(5, 9), &moved(5)), "TTS");
    assert_eq!(kinds(&extent(12, 9), &moved(12)), "SSS");
}

#[test]
fn places_that_meet_at_any_action_or_history_are_added() {
    let extent = Extent {
        histories: 3,
        states: 2,
        terms: 1,
        entering: 2,
        actions: 3,
        lanes: Lanes::in_panels(5, 4),
    };
    // Twelve rows for each history: four for each action, one for each state and entering symbol.
    let adds = |action: usize, histories: [usize; 3], state: usize, lanes: usize| {
        let next = Extent {
            states: 100,
            lanes: Lanes::in_panels(lanes, 4),
            ..extent.clone()
        };
        let moves = Moves {
            action,
            histories: histories.to_vec(),
        };
        let landing = |from: Origin| Landing {
            row: from.state * state + from.entering,
            lane: from.lane,
        };
        Routes::new((&extent, &next), 1, moves, landing).adds()
    };
    for lanes in [5, 8] {
        assert!(!adds(4, [0, 12, 24], 2, lanes));
        assert!(!adds(4, [24, 0, 12], 2, lanes));
        // State 1 begins where action 1 or 2 of state 0 does.
        assert!(adds(4, [0, 40, 80], 4, lanes));
        assert!(adds(4, [0, 40, 80], 8, lanes));
        // A history begins where another does, or among its actions.
        assert!(adds(4, [0, 24, 24], 2, lanes));
        assert!(adds(4, [0, 12, 20], 2, lanes));
        // All actions lie in one place.
        assert!(adds(0, [0, 12, 24], 2, lanes));
    }
}

#[test]
fn a_buffer_one_entry_short_is_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let work = &Sums::new(random_extent(&mut rng));
    let routes = &random_routes(&mut rng, &work.extent);
    let mixing = routes.weights(|_| 1.0).len();
    let accepts = |short: usize| {
        let extent = &work.extent;
        let sizes = [
            extent.entries(),
            extent.alpha(),
            extent.weights(),
            work.scratch(),
            extent.entries(),
            extent.alpha(),
            extent.cells(),
            routes.reach(),
        ];
        let buffers = std::array::from_fn(|n| vec![0.0; sizes[n] - usize::from(n == short)]);
        let [
            policy,
            alpha,
            weights,
            mut scratch,
            mut values,
            mut message,
            mut visits,
            returned,
        ]: [Vec<f64>; 8] = buffers;
        let mixing = vec![0.0; mixing + usize::from(short == 8)];
        let run = move || {
            let given = PassInputs {
                policy: &policy,
                alpha: &alpha,
                weights: &weights,
            };
            let coming = Coming {
                routes: Some(routes),
                mixing: &mixing,
                starts: &[0],
                skipped: 0,
                returned: &returned,
                reward: None,
            };
            let results = Results {
                values: &mut values,
                message: &mut message,
                visits: &mut visits,
                share: 1.0,
                add: false,
            };
            Kernels::best().backward(work, given, coming, &mut scratch, results);
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_ok()
    };
    assert!(accepts(9));
    assert!((0..9).all(|short| !accepts(short)));
}
