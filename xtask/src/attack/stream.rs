//! Draws what an attack does: one stream a case, the same on every machine.

/// A stream of random numbers (xorshift).
pub struct Stream(u64);

impl Stream {
    /// The stream of a case: of a seed, a kind of attack and its number.
    pub fn new(seed: u64, kind: &str, number: u64) -> Stream {
        // FNV-1a of all three: neighbours share nothing.
        let mut state: u64 = 0xcbf2_9ce4_8422_2325;
        let bytes = seed.to_le_bytes().into_iter().chain(kind.bytes());
        for byte in bytes.chain(number.to_le_bytes()) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut stream = Stream(state | 1);
        (0..8).for_each(|_| _ = stream.next());
        stream
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// A number from 0 to 1.
    pub fn share(&mut self) -> f64 {
        self.next() as f64 / u64::MAX as f64
    }

    /// Any byte.
    pub fn byte(&mut self) -> u8 {
        (self.next() >> 56) as u8
    }

    /// One of a list, which is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_draws_the_same_again_and_its_neighbours_something_else() {
        let draws = |seed, kind, number| {
            let mut stream = Stream::new(seed, kind, number);
            (0..20).map(|_| stream.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draws(1, "bits", 7), draws(1, "bits", 7));
        for other in [(2, "bits", 7), (1, "files", 7), (1, "bits", 8)] {
            assert_ne!(draws(1, "bits", 7), draws(other.0, other.1, other.2));
        }
    }

    #[test]
    fn every_number_below_the_end_comes_up() {
        let mut stream = Stream::new(0, "kills", 0);
        let mut seen = [0; 5];
        (0..1000).for_each(|_| seen[stream.below(5)] += 1);
        assert!(seen.iter().all(|&times| times > 120), "{seen:?}");
        assert!((0..1000).all(|_| (0.0..=1.0).contains(&stream.share())));
    }
}
