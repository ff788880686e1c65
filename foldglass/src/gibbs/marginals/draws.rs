//! Holds weakly correlated codes, and counts marginals, overlaps and correlations (paper, G.2).

use super::Trajectories;
use crate::model::class::Class;
use crate::model::policy::Policy;
use crate::support::stats::{bhattacharyya, overlap};
use crate::support::stream::Stream;

/// Codes drawn from a state, cell by cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Draws {
    q: usize,
    cells: usize,
    /// By draw: the place of its replica among those kept.
    replica: Vec<usize>,
    /// The actions of a cell in all draws, one cell behind the other.
    actions: Vec<u8>,
}

/// A partition of draws into two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halves {
    /// By draw: whether it belongs to the second.
    second: Vec<bool>,
}

impl Halves {
    /// A random one, into halves that differ by one draw at most.
    pub fn random(draws: usize, stream: &mut Stream) -> Halves {
        let mut second: Vec<bool> = (0..draws).map(|draw| draw >= draws / 2).collect();
        stream.shuffle(&mut second);
        Halves { second }
    }

    /// The first half of the replicas, and the others.
    pub fn by_replica(draws: &Draws) -> Halves {
        let replicas = draws.replica.last().map_or(0, |last| last + 1);
        let is_second = |&replica: &usize| replica >= replicas / 2;
        Halves {
            second: draws.replica.iter().map(is_second).collect(),
        }
    }
}

/// The histograms of a cell in two halves.
struct HalfHistograms {
    first: Vec<f64>,
    second: Vec<f64>,
}

/// How far cells are from independent of each other.
///
/// That of two cells is the Frobenius norm of the covariance of their one-hot actions over the
/// geometric mean of the norms of their own: 0 for independent cells, 1 where one determines the
/// other, |Pearson's r| for two actions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlations {
    /// Pairs of cells looked at.
    pub pairs: usize,
    /// The root of the mean square over them.
    pub root_mean_square: f64,
    /// The same root with the draws of one cell of each pair permuted: the noise.
    pub noise: f64,
    /// The largest.
    pub largest: f64,
}

impl Draws {
    /// One in `thinning` sweeps of some replicas, from a sweep on.
    pub(super) fn thinned(
        trajectories: &Trajectories,
        replicas: &[usize],
        from: usize,
        thinning: usize,
    ) -> Draws {
        let (q, cells) = (trajectories.q, trajectories.cells);
        let sweeps: Vec<usize> = (from..trajectories.sweeps()).step_by(thinning).collect();
        let count = sweeps.len() * replicas.len();
        let mut actions = vec![0; cells * count];
        let mut draw = 0;
        let mut replica = Vec::with_capacity(count);
        for (place, &number) in replicas.iter().enumerate() {
            for &sweep in &sweeps {
                let code = &trajectories.actions[number][sweep * cells..(sweep + 1) * cells];
                for (cell, &action) in code.iter().enumerate() {
                    actions[cell * count + draw] = action;
                }
                replica.push(place);
                draw += 1;
            }
        }
        Draws {
            q,
            cells,
            replica,
            actions,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.replica.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.replica.is_empty()
    }

    /// The actions of a cell.
    pub fn of(&self, cell: usize) -> &[u8] {
        &self.actions[cell * self.len()..(cell + 1) * self.len()]
    }

    /// The histogram of a cell, unsmoothed.
    pub fn marginal(&self, cell: usize) -> Vec<f64> {
        let mut counts = vec![0.0; self.q];
        self.of(cell)
            .iter()
            .for_each(|&action| counts[action as usize] += 1.0);
        let all = self.len() as f64;
        counts.into_iter().map(|count| count / all).collect()
    }

    /// The product of all marginals, as a policy.
    ///
    /// # Panics
    /// If the class is another.
    pub fn policy(&self, class: &Class) -> Policy {
        let rows: Vec<f64> = (0..self.cells).flat_map(|c| self.marginal(c)).collect();
        Policy::from_flat(class, &rows).expect("histograms of the class")
    }

    fn pair(&self, cell: usize, halves: &Halves) -> HalfHistograms {
        let mut counts = [vec![0usize; self.q], vec![0usize; self.q]];
        for (&action, &second) in self.of(cell).iter().zip(&halves.second) {
            counts[usize::from(second)][action as usize] += 1;
        }
        let [first, second] = counts.map(|counts| {
            let all = counts.iter().sum::<usize>().max(1) as f64;
            counts.iter().map(|&count| count as f64 / all).collect()
        });
        HalfHistograms { first, second }
    }

    /// The overlap coefficient between two halves, averaged over some cells; 1 over none.
    pub fn overlap(&self, halves: &Halves, cells: &[usize]) -> f64 {
        let of = |&cell: &usize| {
            let HalfHistograms { first, second } = self.pair(cell, halves);
            overlap(&first, &second)
        };
        mean(cells.iter().map(of)).unwrap_or(1.0)
    }

    /// The Bhattacharyya coefficient between a policy and the first of each pair of halves, averaged
    /// over them and some cells; 1 over none.
    pub fn likeness(&self, policy: &Policy, halves: &[Halves], cells: &[usize]) -> f64 {
        let of = |&cell: &usize| {
            let row = policy.row(cell);
            let coefficient = |half| bhattacharyya(row, &self.pair(cell, half).first);
            mean(halves.iter().map(coefficient)).unwrap_or(1.0)
        };
        mean(cells.iter().map(of)).unwrap_or(1.0)
    }

    /// The likeness of the two halves of each pair, which sampling alone gives.
    pub fn likeness_of_halves(&self, halves: &[Halves], cells: &[usize]) -> f64 {
        let of = |&cell: &usize| {
            let coefficient = |half| {
                let HalfHistograms { first, second } = self.pair(cell, half);
                bhattacharyya(&first, &second)
            };
            mean(halves.iter().map(coefficient)).unwrap_or(1.0)
        };
        mean(cells.iter().map(of)).unwrap_or(1.0)
    }

    /// How correlated cells are whose draws are mixed: over all pairs, or over `most` random ones
    /// where there are more; none where there is no pair.
    pub fn correlations(&self, most: usize, stream: &mut Stream) -> Option<Correlations> {
        let is_mixed = |cell: &usize| self.of(*cell).windows(2).any(|pair| pair[0] != pair[1]);
        let mixed: Vec<usize> = (0..self.cells).filter(is_mixed).collect();
        let pairs = pairs(mixed.len(), most, stream);
        if pairs.is_empty() {
            return None;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        stream.shuffle(&mut order);
        let (mut sum, mut noise, mut largest) = (0.0, 0.0, 0.0f64);
        for &[a, b] in &pairs {
            let (x, y) = (self.of(mixed[a]), self.of(mixed[b]));
            let found = self.connected(x, y.iter().copied());
            let permuted = self.connected(x, order.iter().map(|&draw| y[draw]));
            sum += found * found;
            noise += permuted * permuted;
            largest = largest.max(found);
        }
        let root = |sum: f64| (sum / pairs.len() as f64).sqrt();
        Some(Correlations {
            pairs: pairs.len(),
            root_mean_square: root(sum),
            noise: root(noise),
            largest,
        })
    }

    /// The correlation of two cells, both mixed.
    fn connected(&self, x: &[u8], y: impl Iterator<Item = u8>) -> f64 {
        let q = self.q;
        let mut joint = vec![0usize; q * q];
        for (&a, b) in x.iter().zip(y) {
            joint[a as usize * q + b as usize] += 1;
        }
        let all = x.len() as f64;
        let p = |a: usize, b: usize| joint[a * q + b] as f64 / all;
        let rows: Vec<f64> = (0..q).map(|a| (0..q).map(|b| p(a, b)).sum()).collect();
        let columns: Vec<f64> = (0..q).map(|b| (0..q).map(|a| p(a, b)).sum()).collect();
        let mut square = 0.0;
        for (a, row) in rows.iter().enumerate() {
            for (b, column) in columns.iter().enumerate() {
                square += (p(a, b) - row * column).powi(2);
            }
        }
        square.sqrt() / (own_norm(&rows) * own_norm(&columns)).sqrt()
    }
}

/// The Frobenius norm of the covariance of a one-hot action with itself.
fn own_norm(p: &[f64]) -> f64 {
    let mut square = 0.0;
    for (a, &pa) in p.iter().enumerate() {
        for (b, &pb) in p.iter().enumerate() {
            let own = if a == b { pa } else { 0.0 };
            square += (own - pa * pb).powi(2);
        }
    }
    square.sqrt()
}

/// Pairs of n things: all, or `most` random ones.
fn pairs(n: usize, most: usize, stream: &mut Stream) -> Vec<[usize; 2]> {
    if n < 2 {
        return Vec::new();
    }
    if n * (n - 1) / 2 <= most {
        let all = (0..n).flat_map(|a| (a + 1..n).map(move |b| [a, b]));
        return all.collect();
    }
    let random = |_| {
        let a = stream.below(n as u32) as usize;
        let b = stream.below(n as u32 - 1) as usize;
        [a, if b < a { b } else { b + 1 }]
    };
    (0..most).map(random).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}
