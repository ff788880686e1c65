//! Draws random numbers from numbered streams: one seed, one stream a run or chain.
//!
//! A stream is addressed by (seed, number, position), so that a run can be interrupted and resumed
//! again anywhere, and its result does not depend on what runs beside it.

use super::vectors::{PORTION, fill_portions};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A stream of random numbers, ChaCha8.
#[derive(Debug, Clone)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// Stream number `number` of `seed`, from its start.
    pub fn new(seed: u64, number: u64) -> Stream {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number);
        Stream(rng)
    }

    /// How far it has come, in words of 32 bits.
    pub fn position(&self) -> u128 {
        self.0.get_word_pos()
    }

    /// Moves the stream to another position.
    pub fn at(mut self, position: u128) -> Stream {
        self.0.set_word_pos(position);
        self
    }

    /// A number uniform on (0, 1): never 0, never 1.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// A whole number uniform on 0..n, without bias.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        // Lemire's method: reject the few words that would favour some results.
        let mut product = u64::from(self.0.next_u32()) * u64::from(n);
        if (product as u32) < n {
            let least = n.wrapping_neg() % n;
            while (product as u32) < least {
                product = u64::from(self.0.next_u32()) * u64::from(n);
            }
        }
        (product >> 32) as u32
    }

    /// Whole numbers uniform on 0..n, without bias, one for each place; n is at most 256.
    pub fn below_all(&mut self, n: u32, places: &mut [u8]) {
        debug_assert!((1..=256).contains(&n));
        self.fill(places);
        let (factor, least) = (n as u16, (256 % n) as u8);
        // At most 255 times 256.
        let product = |byte: u8| u16::from(byte) * factor;
        for some in places.chunks_mut(32) {
            // Loops over bytes without a branch become vectors.
            let is_rare = |byte: u8| (product(byte) as u8) < least;
            let rare = some.iter().fold(false, |rare, &byte| rare | is_rare(byte));
            let below = |byte: u8| (product(byte) >> 8) as u8;
            if rare {
                some.iter_mut().for_each(|place| match is_rare(*place) {
                    true => *place = self.below(n) as u8,
                    false => *place = below(*place),
                });
            } else {
                some.iter_mut().for_each(|place| *place = below(*place));
            }
        }
    }

    /// A random order of the list (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i as u32 + 1) as usize);
        }
    }

    /// Random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        // Up to where a block of sixteen words begins; from there on, many blocks at once.
        let (position, words) = (self.position(), 16);
        let before = 4 * (position.next_multiple_of(words) - position) as usize;
        if bytes.len() < before + PORTION {
            return self.0.fill_bytes(bytes);
        }
        let (before, rest) = bytes.split_at_mut(before);
        self.0.fill_bytes(before);
        let (portions, rest) = rest.as_chunks_mut::<PORTION>();
        let position = self.position();
        let block = (position / words) as u64;
        if fill_portions(&self.0.get_seed(), self.0.get_stream(), block, portions) {
            let filled = portions.len() * PORTION / 4;
            self.0.set_word_pos(position + filled as u128);
        } else {
            self.0.fill_bytes(portions.as_flattened_mut());
        }
        self.0.fill_bytes(rest);
    }
}

/// A yes with a fixed probability, decided by one random byte but for a case in 256, where it takes
/// more: exact to the last bit of the probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coin {
    sure: u32,
    rest: f64,
}

impl Coin {
    /// A coin that says yes with probability `p`.
    ///
    /// # Panics
    /// If `p` lies outside [0, 1].
    pub fn new(p: f64) -> Coin {
        assert!((0.0..=1.0).contains(&p), "a probability: {p}");
        let scaled = p * 256.0;
        Coin {
            sure: scaled as u32,
            rest: scaled.fract(),
        }
    }

    /// Replaces random bytes by their tosses: 1 for yes, 0 for no.
    pub fn toss_all(self, bytes: &mut [u8], stream: &mut Stream) {
        let Ok(sure) = u8::try_from(self.sure) else {
            return bytes.fill(1);
        };
        for some in bytes.chunks_mut(32) {
            // Loops over bytes without a branch become vectors.
            let rare = some.iter().fold(false, |rare, &byte| rare | (byte == sure));
            for few in some.chunks_mut(if rare { 8 } else { 32 }) {
                if rare && few.contains(&sure) {
                    few.iter_mut()
                        .for_each(|byte| *byte = self.toss(*byte, stream).into());
                } else {
                    few.iter_mut()
                        .for_each(|byte| *byte = (*byte < sure).into());
                }
            }
        }
    }

    /// The toss that `byte`, a random one, decides.
    #[inline]
    pub fn toss(self, byte: u8, stream: &mut Stream) -> bool {
        // The rare case is a branch that is well predicted; the common one is none.
        if u32::from(byte) == self.sure {
            return stream.uniform() < self.rest;
        }
        u32::from(byte) < self.sure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_taken_up_again_goes_on_as_before() {
        let mut stream = Stream::new(9, 3);
        (0..17).for_each(|_| _ = stream.below(5));
        let mut again = Stream::new(9, 3).at(stream.position());
        assert!((0..100).all(|_| stream.uniform() == again.uniform()));
        assert_ne!(Stream::new(9, 3).uniform(), Stream::new(9, 4).uniform());
    }

    #[test]
    fn bytes_are_those_of_the_generator_wherever_they_begin_and_end() {
        // Also where the number of a block passes 2^32.
        for start in [0, 16, 5, 31, (1 << 36) - 40, (1 << 68) - 16] {
            for size in [0, 3, 1024, 1028, 5000, 20_481] {
                let mut stream = Stream::new(7, 1 << 40).at(start);
                let mut generator = stream.clone().0;
                let (mut found, mut expected) = (vec![0; size], vec![0; size]);
                stream.fill(&mut found);
                generator.fill_bytes(&mut expected);
                assert!(found == expected, "{size} bytes from {start}");
                assert_eq!(stream.position(), generator.get_word_pos());
                assert_eq!(stream.0.next_u32(), generator.next_u32());
            }
        }
    }

    #[test]
    fn a_coin_says_yes_at_its_rate() {
        for p in [0.0, 0.3, 0.5, 0.02, 1.0] {
            let (coin, mut stream) = (Coin::new(p), Stream::new(1, 0));
            let mut bytes = vec![0; 1_000_000];
            stream.fill(&mut bytes);
            let yes = bytes
                .iter()
                .filter(|&&byte| coin.toss(byte, &mut stream))
                .count() as f64;
            let mut again = Stream::new(1, 0);
            let mut tosses = vec![0; 1_000_000];
            again.fill(&mut tosses);
            coin.toss_all(&mut tosses, &mut again);
            assert_eq!(tosses.iter().map(|&toss| f64::from(toss)).sum::<f64>(), yes);
            assert_eq!(again.position(), stream.position());
            let sd = (1e6 * p * (1.0 - p)).sqrt();
            assert!((yes - 1e6 * p).abs() <= 5.0 * sd, "p = {p}: {yes}");
        }
    }

    #[test]
    fn numbers_below_n_are_equally_frequent() {
        let mut stream = Stream::new(2, 0);
        let mut together = vec![0; 100_000];
        stream.below_all(5, &mut together);
        let alone: Vec<u8> = (0..100_000).map(|_| stream.below(5) as u8).collect();
        for numbers in [alone, together] {
            let mut counts = [0f64; 5];
            numbers.iter().for_each(|&n| counts[n as usize] += 1.0);
            let chi: f64 = counts.iter().map(|c| (c - 2e4).powi(2) / 2e4).sum();
            assert!(chi < 33.4, "chi-square {chi} on 4 degrees, tail 1e-6");
        }
    }
}
