use super::*;
use crate::kernels::Kernels;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    rng.next_u32() as usize % n
}

/// Numbers whose sums are exact in any order; some are below the least of a message.
fn numbers(rng: &mut ChaCha8Rng, count: usize) -> Vec<f64> {
    let number = |_| match rng.next_u32() % 16 {
        0 => LEAST_MESSAGE / 2.0,
        n => f64::from(n),
    };
    (0..count).map(number).collect()
}

/// Pieces that are apart from each other in the message and in post, in random order.
fn random_routes(rng: &mut ChaCha8Rng) -> Routes {
    let (rows, count, run) = (
        1 + below(rng, 9),
        1 + below(rng, 9),
        [1, 1, 4, 5][below(rng, 4)],
    );
    let far = rows * run + below(rng, 3);
    let post = run + below(rng, 2) * below(rng, 3);
    let pieces = 1 + below(rng, 4);
    let mut places: Vec<usize> = (0..pieces * rows).map(|n| n * count * (post + 1)).collect();
    for n in (1..places.len()).rev() {
        places.swap(n, below(rng, n + 1));
    }
    let piece = |n: usize| Piece {
        message: (pieces - 1 - n) * count * (far + 1),
        first_in_message: true,
        first_in_post: true,
    };
    let columns = Columns {
        count,
        post,
        message: far,
    };
    Routes::new((0..pieces).map(piece).collect(), places, columns, run)
}

/// Every number's place in post and in the message, with its piece.
fn pairs(work: &Routes) -> Vec<(usize, usize, usize)> {
    let mut list = Vec::new();
    for (n, piece) in work.pieces.iter().enumerate() {
        for r in 0..work.rows {
            for c in 0..work.columns.count {
                for i in 0..work.run {
                    let post = work.post_rows[n * work.rows + r] + c * work.columns.post + i;
                    let message = piece.message + c * work.columns.message + r * work.run + i;
                    list.push((n, post, message));
                }
            }
        }
    }
    list
}

fn flushed(value: f64) -> f64 {
    if value < LEAST_MESSAGE { 0.0 } else { value }
}

#[test]
fn every_kernel_carries_every_number_to_its_place_and_back() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for round in 0..400 {
        let work = random_routes(&mut rng);
        let weights: Vec<f64> = match round % 3 {
            0 => (0..work.pieces.len()).map(|n| 1.0 + n as f64).collect(),
            _ => Vec::new(),
        };
        let weight = |n: usize| weights.get(n).copied().unwrap_or(1.0);
        let post: Vec<f64> = numbers(&mut rng, work.reach.post)
            .into_iter()
            .map(flushed)
            .collect();
        let message = numbers(&mut rng, work.reach.message);
        let add = round % 2 == 0;
        for kernels in Kernels::available() {
            let mut sent = message.clone();
            kernels.send(&work, &weights, &post, &mut sent);
            let mut bbar = post.clone();
            kernels.bring_back(&work, &weights, add, &message, &mut bbar);
            let (mut slow_sent, mut slow_bbar) = (message.clone(), post.clone());
            for (n, from, to) in pairs(&work) {
                slow_sent[to] = flushed(post[from] * weight(n));
                let start = if add { post[from] } else { 0.0 };
                slow_bbar[from] = start + flushed(message[to] * weight(n));
            }
            assert_eq!(sent, slow_sent, "{work:?}");
            assert_eq!(bbar, slow_bbar, "{work:?}");
        }
    }
}

#[test]
fn pieces_that_are_not_the_first_add_to_what_is_there() {
    let piece = |first: bool| Piece {
        message: 0,
        first_in_message: first,
        first_in_post: true,
    };
    let columns = Columns {
        count: 1,
        post: 0,
        message: 0,
    };
    let work = Routes::new(vec![piece(true), piece(false)], vec![0, 2], columns, 2);
    let mut message = [9.0; 2];
    for kernels in Kernels::available() {
        kernels.send(&work, &[1.0, 0.5], &[1.0, 2.0, 4.0, 8.0], &mut message);
        assert_eq!(message, [3.0, 6.0]);
        let mut bbar = [9.0; 4];
        kernels.bring_back(&work, &[1.0, 0.5], false, &message, &mut bbar);
        assert_eq!(bbar, [3.0, 6.0, 1.5, 3.0]);
    }
}

#[test]
fn a_buffer_one_entry_short_is_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for _ in 0..50 {
        let work = random_routes(&mut rng);
        let all = pairs(&work);
        let post = all.iter().map(|pair| pair.1).max().unwrap() + 1;
        let message = all.iter().map(|pair| pair.2).max().unwrap() + 1;
        let accepts = |post: usize, message: usize, weights: usize| {
            let check = || work.check(&vec![1.0; weights], &vec![0.0; post], &vec![0.0; message]);
            std::panic::catch_unwind(check).is_ok()
        };
        assert!(accepts(post, message, 0) && accepts(post, message, work.pieces.len()));
        assert!(!accepts(post - 1, message, 0) && !accepts(post, message - 1, 0));
        assert!(!accepts(post, message, work.pieces.len() + 1));
    }
}
