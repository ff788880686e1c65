//! Moves distributions towards the softmax of their values, many cells at once (paper, eq. cavi).

use super::vector::{Lane, MAGIC};

/// One damped update: pi += weight * (target - pi) for each cell, where target is the softmax of
/// values / tau, or at tau = 0 uniform over the actions within `tie` of the best.
#[derive(Clone, Copy)]
pub(crate) struct Soften {
    /// Actions.
    pub q: usize,
    /// Lanes of a block.
    pub width: usize,
    /// Cells, idle lanes included: q vectors of `width` lanes for each `width` of them.
    pub cells: usize,
    pub tau: f64,
    pub damping: f64,
    /// How close values count as equal at tau = 0.
    pub tie: f64,
    /// Probabilities below this become zero.
    pub least: f64,
}

impl Soften {
    /// Updates `policy` from `values` where `mask` is 1.
    ///
    /// # Safety
    /// `policy` and `values` have q entries a cell and `mask` one byte, 0 or 1; the machine has the
    /// instructions of `Wide` and `Narrow`.
    #[inline(always)]
    pub unsafe fn run<Wide: Lane, Narrow: Lane>(
        &self,
        values: *const f64,
        mask: *const u8,
        policy: *mut f64,
    ) {
        unsafe {
            match self.width {
                1 => self.vectors::<f64>(values, mask, policy),
                4 => self.vectors::<Narrow>(values, mask, policy),
                _ => self.vectors::<Wide>(values, mask, policy),
            }
        }
    }

    #[inline(always)]
    unsafe fn vectors<V: Lane>(&self, values: *const f64, mask: *const u8, policy: *mut f64) {
        let mut weights = vec![0.0; self.q * V::WIDTH];
        for cells in 0..self.cells / self.width {
            for lane in (0..self.width).step_by(V::WIDTH) {
                unsafe {
                    let chosen = V::bytes(mask.add(cells * self.width + lane));
                    let first = cells * self.width * self.q + lane;
                    let to = weights.as_mut_ptr();
                    self.cell::<V>(values.add(first), chosen, policy.add(first), to);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn cell<V: Lane>(
        &self,
        values: *const f64,
        chosen: V,
        policy: *mut f64,
        weights: *mut f64,
    ) {
        unsafe {
            let mut best = V::load(values);
            for action in 1..self.q {
                best = V::load(values.add(action * self.width)).most(best);
            }
            // Finite also for temperatures whose inverse is not: zero times it must stay zero.
            let cold = (1.0 / self.tau).min(f64::MAX);
            let mut sum = V::zero();
            for action in 0..self.q {
                let behind = V::load(values.add(action * self.width)).minus(best);
                let weight = if self.tau == 0.0 {
                    V::splat(1.0).keep_if_ge(behind, V::splat(-self.tie))
                } else {
                    exp(behind.times(V::splat(cold)))
                };
                weight.store(weights.add(action * V::WIDTH));
                sum = sum.plus(weight);
            }
            let (scale, step) = (
                V::splat(1.0).over(sum),
                chosen.times(V::splat(self.damping)),
            );
            for action in 0..self.q {
                let place = policy.add(action * self.width);
                let now = V::load(place);
                let ahead = V::load(weights.add(action * V::WIDTH))
                    .times(scale)
                    .minus(now);
                step.fma(ahead, now).flush(self.least).store(place);
            }
        }
    }
}

/// e to the power of x <= 0, to about one unit in the last place; zero below -708.
#[inline(always)]
unsafe fn exp<V: Lane>(x: V) -> V {
    /// 1/0! up to 1/13!.
    const TERMS: [f64; 14] = {
        let mut terms = [1.0; 14];
        let mut n = 1;
        let mut factorial = 1.0;
        while n < 14 {
            factorial *= n as f64;
            terms[n] = 1.0 / factorial;
            n += 1;
        }
        terms
    };
    unsafe {
        // When it is cold, actions are as good as the best or far behind.
        if !x.any_between(-708.0, 0.0) {
            return V::splat(1.0).keep_if_ge(x, V::zero());
        }
        let within = x.most(V::splat(-708.0));
        // x = n ln 2 + r with |r| at most half of ln 2.
        let magic = within.fma(V::splat(std::f64::consts::LOG2_E), V::splat(MAGIC));
        let n = magic.minus(V::splat(MAGIC));
        let r = n.fma(V::splat(-6.931_471_803_691_238e-1), within);
        let r = n.fma(V::splat(-1.908_214_929_270_587_7e-10), r);
        // Pairs of terms, then pairs of pairs: short chains, so that several run at once.
        let mut sums = [V::zero(); 7];
        for (n, sum) in sums.iter_mut().enumerate() {
            *sum = r.fma(V::splat(TERMS[2 * n + 1]), V::splat(TERMS[2 * n]));
        }
        let r2 = r.times(r);
        let r4 = r2.times(r2);
        let low = r4.fma(r2.fma(sums[3], sums[2]), r2.fma(sums[1], sums[0]));
        let high = r4.fma(sums[6], r2.fma(sums[5], sums[4]));
        let sum = r4.times(r4).fma(high, low);
        sum.times(V::power_of_two(magic))
            .keep_if_ge(x, V::splat(-708.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_agrees_with_the_standard_library_to_two_units_in_the_last_place() {
        for i in 0..200_000 {
            let x = -(i as f64) * 0.0035 - 1e-7 * i as f64;
            let (ours, theirs) = (unsafe { exp(x) }, x.exp());
            if x >= -708.0 {
                assert!(
                    (ours / theirs - 1.0).abs() < 4.5e-16,
                    "exp({x}): {ours:e} against {theirs:e}"
                );
            } else {
                assert_eq!(ours, 0.0);
            }
        }
        assert_eq!(unsafe { exp(0.0f64) }, 1.0);
        assert_eq!(unsafe { exp(f64::NEG_INFINITY) }, 0.0);
    }
}
