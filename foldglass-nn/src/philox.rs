//! Draws random numbers from a counter (Philox 4x32, ten rounds), the same on a CPU and a GPU.
//!
//! A draw is addressed by (seed, purpose, step, row, place), so any of them can be had at any time
//! and a checkpoint needs no state of a generator.

/// What a draw decides; different purposes never share a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Training batches.
    Training = 0,
    /// The gate's fresh batches.
    Gate = 16,
    /// Evaluation at the end or now and then.
    Evaluation = 32,
    /// Inputs of distillation.
    Imitation = 48,
    /// Held-out inputs of distillation.
    HeldOut = 64,
}

/// What is drawn for a purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Draw {
    /// A row's length.
    Length = 0,
    /// Its inputs, four a draw.
    Input = 1,
    /// The token of a step, and whether and where exploration moves it.
    Token = 2,
    /// The relabelling of a row.
    Relabelling = 3,
}

/// One seed's numbers for one purpose and step.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    seed: u64,
    purpose: u32,
    step: u32,
}

impl Numbers {
    /// The numbers of a purpose at a step; steps repeat after 2^32.
    pub fn new(seed: u64, purpose: Purpose, step: u64) -> Numbers {
        Numbers {
            seed,
            purpose: purpose as u32,
            step: step as u32,
        }
    }

    /// Four words for a row and a place in it.
    pub fn words(&self, draw: Draw, row: u32, place: u32) -> [u32; 4] {
        philox(
            self.seed,
            [row, place, self.step, self.purpose + draw as u32],
        )
    }
}

/// A whole number on 0..n; off uniform by at most n / 2^32.
#[inline]
pub fn below(word: u32, n: u32) -> u32 {
    ((u64::from(word) * u64::from(n)) >> 32) as u32
}

/// A number in (0, 1): a multiple of 2^-23 plus half of that, so that single precision holds it.
#[inline]
pub fn unit(word: u32) -> f32 {
    ((word >> 9) as f32 + 0.5) / 8_388_608.0
}

/// The ten rounds.
pub fn philox(seed: u64, counter: [u32; 4]) -> [u32; 4] {
    let (mut low, mut high) = (seed as u32, (seed >> 32) as u32);
    let mut c = counter;
    for _ in 0..10 {
        let first = u64::from(c[0]) * 0xD251_1F53;
        let second = u64::from(c[2]) * 0xCD9E_8D57;
        c = [
            (second >> 32) as u32 ^ c[1] ^ low,
            second as u32,
            (first >> 32) as u32 ^ c[3] ^ high,
            first as u32,
        ];
        low = low.wrapping_add(0x9E37_79B9);
        high = high.wrapping_add(0xBB67_AE85);
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rounds_give_the_published_answers() {
        // The known-answer vectors of the method's authors, for 4x32 and ten rounds.
        assert_eq!(
            philox(0, [0; 4]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox(u64::MAX, [u32::MAX; 4]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(
            philox(0x299f_31d0_a409_3822, pi),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn units_lie_inside_the_interval() {
        assert!(unit(0) > 0.0 && unit(u32::MAX) < 1.0);
        assert_eq!((below(0, 5), below(u32::MAX, 5)), (0, 4));
    }
}
