//! Moves distributions towards the softmax of their values, many cells at once (paper, eq. cavi).

use super::vector::{Has, Lane, MAGIC};
use crate::reward::layout::PANEL;

/// The most actions of cells that go side by side.
const MOST_ACTIONS: usize = 16;

/// One damped update: pi += weight * (target - pi) for each cell, where target is the softmax of
/// values / tau, or at tau = 0 uniform over the actions within `tie` of the best.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Soften {
    /// Actions.
    pub q: usize,
    /// Lanes of a block.
    pub width: usize,
    pub tau: f64,
    pub damping: f64,
    /// How close values count as equal at tau = 0.
    pub tie: f64,
    /// Probabilities below this become zero.
    pub least: f64,
}

impl Soften {
    /// Refuses buffers that are not of one size: for each block of cells, idle lanes included, q
    /// vectors of values and of the policy, and one of bytes.
    #[inline(always)]
    pub fn check(&self, values: &[f64], mask: &[u8], policy: &[f64]) {
        assert!(
            self.q > 0 && matches!(self.width, 1 | 4 | 8),
            "{self:?} has blocks of no known width"
        );
        let cells = mask.len();
        let entries = cells.checked_mul(self.q);
        assert!(
            cells.is_multiple_of(self.width)
                && entries == Some(values.len())
                && entries == Some(policy.len()),
            "{} values and {} probabilities of {cells} cells with {} actions",
            values.len(),
            policy.len(),
            self.q
        );
    }

    /// Updates `policy` from `values` where `mask` is 1. The width of `V` divides that of the blocks, unless
    /// that is 1.
    #[inline(always)]
    pub fn run<V: Lane>(&self, has: Has<V>, values: &[f64], mask: &[u8], policy: &mut [f64]) {
        match self.q {
            2 => self.panels::<V, 2>(has, values, mask, policy),
            3 => self.panels::<V, 3>(has, values, mask, policy),
            4 => self.panels::<V, 4>(has, values, mask, policy),
            5 => self.panels::<V, 5>(has, values, mask, policy),
            q if q <= MOST_ACTIONS => self.panels::<V, MOST_ACTIONS>(has, values, mask, policy),
            _ => self.one_by_one(values, mask, policy),
        }
    }

    /// Softens panels of at most Q actions.
    #[inline(always)]
    fn panels<V: Lane, const Q: usize>(
        &self,
        has: Has<V>,
        values: &[f64],
        mask: &[u8],
        policy: &mut [f64],
    ) {
        let q = if Q == MOST_ACTIONS { self.q } else { Q };
        if self.width == 1 {
            return self.lone_cells::<V, Q>(has, q, values, mask, policy);
        }
        // A width that the compiler knows: then it knows that no entry leaves a block.
        if self.width == V::WIDTH {
            self.blocks::<V, Q>(has, (q, V::WIDTH), values, mask, policy);
        } else {
            self.blocks::<V, Q>(has, (q, self.width), values, mask, policy);
        }
    }

    /// Softens blocks of cells, `width` side by side.
    #[inline(always)]
    fn blocks<V: Lane, const Q: usize>(
        &self,
        has: Has<V>,
        (q, width): (usize, usize),
        values: &[f64],
        mask: &[u8],
        policy: &mut [f64],
    ) {
        let (rule, block) = (self.rule(has), q * width);
        let blocks = values
            .chunks_exact(block)
            .zip(policy.chunks_exact_mut(block));
        for (mask, (values, policy)) in mask.chunks_exact(width).zip(blocks) {
            for lane in (0..width).step_by(V::WIDTH) {
                let chosen = has.bytes(&mask[lane..]);
                let (values, policy) = (&values[lane..], &mut policy[lane..]);
                rule.cell::<Q>((q, width), chosen, values, policy);
            }
        }
    }

    /// Updates consecutive cells, as many as a vector has lanes at a time.
    #[inline(always)]
    fn lone_cells<V: Lane, const Q: usize>(
        &self,
        has: Has<V>,
        q: usize,
        values: &[f64],
        mask: &[u8],
        policy: &mut [f64],
    ) {
        let rule = self.rule(has);
        let mut transposed = [[0.0; PANEL]; Q];
        let mut transposed_policy = [[0.0; PANEL]; Q];
        let cells = mask.chunks(V::WIDTH).enumerate();
        for (n, mask) in cells {
            let first = n * V::WIDTH * q;
            let mut chosen = [0; PANEL];
            chosen[..mask.len()].copy_from_slice(mask);
            for lane in 0..mask.len() {
                for action in 0..q {
                    transposed[action][lane] = values[first + lane * q + action];
                    transposed_policy[action][lane] = policy[first + lane * q + action];
                }
            }
            let (values, to) = (
                transposed.as_flattened(),
                transposed_policy.as_flattened_mut(),
            );
            rule.cell::<Q>((q, PANEL), has.bytes(&chosen), values, to);
            for lane in 0..mask.len() {
                for action in 0..q {
                    policy[first + lane * q + action] = transposed_policy[action][lane];
                }
            }
        }
    }

    /// The constants of the update, alike for every cell.
    #[inline(always)]
    fn rule<V: Lane>(&self, has: Has<V>) -> UpdateConstants<V> {
        UpdateConstants {
            is_soft: self.tau > 0.0,
            // Finite also for temperatures whose inverse is not: zero times it must stay zero.
            scale: has.splat(if self.tau == 0.0 {
                1.0
            } else {
                (1.0 / self.tau).min(f64::MAX)
            }),
            tie: has.splat(if self.tau == 0.0 { -self.tie } else { 0.0 }),
            far: has.splat(FAR * self.tau),
            damping: has.splat(self.damping),
            least: has.splat(self.least),
        }
    }

    /// Updates cell by cell, for any number of actions.
    fn one_by_one(&self, values: &[f64], mask: &[u8], policy: &mut [f64]) {
        let (q, width) = (self.q, self.width);
        let mut weights = vec![0.0; q];
        for (cell, &chosen) in mask.iter().enumerate() {
            let first = cell / width * width * q + cell % width;
            let at = |action: usize| first + action * width;
            let best = (1..q).fold(values[at(0)], |best, a| values[at(a)].most(best));
            let cold = (1.0 / self.tau).min(f64::MAX);
            let mut sum = 0.0;
            for (action, weight) in weights.iter_mut().enumerate() {
                let behind = values[at(action)] - best;
                *weight = if self.tau == 0.0 {
                    1.0.keep_if_ge(behind, -self.tie)
                } else {
                    exp(behind * cold)
                };
                sum += *weight;
            }
            let (scale, step) = (1.0 / sum, f64::from(chosen) * self.damping);
            for (action, weight) in weights.iter().enumerate() {
                let now = &mut policy[at(action)];
                *now = step.fma(weight * scale - *now, *now).flush(self.least);
            }
        }
    }
}

/// The constants of an update, in every lane.
#[derive(Clone, Copy)]
struct UpdateConstants<V> {
    /// Whether actions that are not the best may have a share.
    is_soft: bool,
    /// What differences of values are multiplied by, from where on they count as none, and from where on
    /// they leave a share.
    scale: V,
    tie: V,
    far: V,
    damping: V,
    least: V,
}

impl<V: Lane> UpdateConstants<V> {
    /// Updates the cells of one vector, whose q actions, at most Q, lie `width` apart.
    #[inline(always)]
    fn cell<const Q: usize>(
        &self,
        (q, width): (usize, usize),
        chosen: V,
        values: &[f64],
        policy: &mut [f64],
    ) {
        let (has, zero, one) = (chosen.has(), chosen.like(0.0), chosen.like(1.0));
        let value = |action: usize| has.load(&values[action * width..]);
        let mut best = value(0);
        for action in 1..q {
            best = value(action).most(best);
        }
        let mut weights = [zero; Q];
        // How many actions are as good as the best, and how far behind the next one is.
        let (mut sum, mut next) = (zero, chosen.like(f64::NEG_INFINITY));
        for (action, to) in weights.iter_mut().enumerate().take(q) {
            let behind = value(action).minus(best);
            *to = one.keep_if_ge(behind, self.tie);
            sum = sum.plus(*to);
            next = to.fma(chosen.like(f64::MIN), behind).most(next);
        }
        // When it is cold, actions are as good as the best or far behind: no exponential then.
        if self.is_soft && next.any_from(self.far) {
            sum = zero;
            for (action, to) in weights.iter_mut().enumerate().take(q) {
                let behind = value(action).minus(best);
                *to = exp(behind.times(self.scale));
                sum = sum.plus(*to);
            }
        }
        let share = one.over(sum);
        let step = chosen.times(self.damping);
        for (action, weight) in weights.iter().enumerate().take(q) {
            let place = &mut policy[action * width..];
            let now = has.load(place);
            let ahead = weight.times(share).minus(now);
            let next = step.fma(ahead, now);
            next.keep_if_ge(next, self.least).store(place);
        }
    }
}

/// Below this x, e to the power of x is subnormal.
const FAR: f64 = -708.0;

/// e to the power of x <= 0, to about one unit in the last place; zero below -708.
#[inline(always)]
fn exp<V: Lane>(x: V) -> V {
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
    let within = x.most(x.like(FAR));
    // x = n ln 2 + r with |r| at most half of ln 2, which is subtracted in two parts.
    let magic = within.fma(x.like(std::f64::consts::LOG2_E), x.like(MAGIC));
    let n = magic.minus(x.like(MAGIC));
    let nearly = n.fma(x.like(-6.931_471_803_691_238e-1), within);
    let r = n.fma(x.like(-1.908_214_929_270_587_7e-10), nearly);
    // Pairs of terms, then pairs of pairs: short chains, so that several run at once.
    let mut sums = [x.like(0.0); 7];
    for (n, sum) in sums.iter_mut().enumerate() {
        *sum = r.fma(x.like(TERMS[2 * n + 1]), x.like(TERMS[2 * n]));
    }
    let r2 = r.times(r);
    let r4 = r2.times(r2);
    let low = r4.fma(r2.fma(sums[3], sums[2]), r2.fma(sums[1], sums[0]));
    let high = r4.fma(sums[6], r2.fma(sums[5], sums[4]));
    let sum = r4.times(r4).fma(high, low);
    sum.times(V::power_of_two(magic)).keep_if_ge(x, x.like(FAR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reward::kernels::Kernels;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn numbers(rng: &mut ChaCha8Rng, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| f64::from(rng.next_u32() % 999) / 999.0)
            .collect()
    }

    #[test]
    fn every_kernel_moves_every_cell_as_one_alone() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (q, width) in [2, 3, 4, 5, 7, 17]
            .into_iter()
            .flat_map(|q| [1, 4, 8].map(|w| (q, w)))
        {
            for tau in [0.0, 1e-3, 0.5] {
                let work = Soften {
                    q,
                    width,
                    tau,
                    damping: 0.25,
                    tie: 1e-9,
                    least: 1e-3,
                };
                let cells = 3 * 8;
                let mask: Vec<u8> = (0..cells).map(|_| (rng.next_u32() % 2) as u8).collect();
                let (values, policy) = (numbers(&mut rng, cells * q), numbers(&mut rng, cells * q));
                let mut slow = policy.clone();
                work.one_by_one(&values, &mask, &mut slow);
                for kernels in Kernels::available() {
                    let mut fast = policy.clone();
                    kernels.soften(&work, &values, &mask, &mut fast);
                    assert_eq!(fast, slow, "{work:?}");
                }
            }
        }
    }

    #[test]
    fn exp_agrees_with_the_standard_library_to_two_units_in_the_last_place() {
        for i in 0..200_000 {
            let x = -(i as f64) * 0.0035 - 1e-7 * i as f64;
            let (ours, theirs) = (exp(x), x.exp());
            if x >= -708.0 {
                assert!(
                    (ours / theirs - 1.0).abs() < 4.5e-16,
                    "exp({x}): {ours:e} against {theirs:e}"
                );
            } else {
                assert_eq!(ours, 0.0);
            }
        }
        assert_eq!(exp(0.0f64), 1.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
    }
}
