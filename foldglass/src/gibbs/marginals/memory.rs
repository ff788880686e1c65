//! Measures how long cells remember their actions, and thins by it (paper, G.2).

use super::Trajectories;
use crate::support::stats::Autocorrelation;

/// The window of the sum in units of the time itself, as in [`crate::support::stats::integrated_time`].
const WINDOW: f64 = 5.0;

/// How the cells of replicas forget.
pub struct Memory {
    /// By cell: whether it changes.
    pub moving: Vec<bool>,
    /// The slowest time.
    pub slowest: Option<f64>,
    /// Cells whose time is not known.
    pub unresolved: usize,
    /// Twice the slowest time, in whole sweeps.
    pub thinning: usize,
}

/// The integrated autocorrelation time of a cell's one-hot action over replicas of equal length,
/// tau = 1/2 + rho(1) + .. + rho(M).
///
/// rho(t) is the sum over actions of the covariances at lag t over the sum of the variances, with one
/// mean for all replicas. Since the sum over actions of [x_i = a][x_{i+t} = a] is [x_i = x_{i+t}],
/// a lag costs one count of equal actions. The window M is chosen as in
/// [`crate::support::stats::integrated_time`].
///
/// ```
/// use foldglass::support::stats::Autocorrelation;
/// use foldglass::gibbs::marginals::one_hot_time;
/// assert_eq!(one_hot_time(&[vec![2; 50], vec![2; 50]], 3), Autocorrelation::Frozen);
/// ```
///
/// # Panics
/// If the replicas differ in length or an action is not below q.
pub fn one_hot_time(replicas: &[Vec<u8>], q: usize) -> Autocorrelation {
    let length = replicas.first().map_or(0, Vec::len);
    assert!(
        replicas.iter().all(|series| series.len() == length),
        "replicas of one length"
    );
    if length < 2 {
        return Autocorrelation::TooShort { length };
    }
    let mut counts = vec![0usize; q];
    for &action in replicas.iter().flatten() {
        counts[action as usize] += 1;
    }
    let all = (length * replicas.len()) as f64;
    if counts.contains(&(length * replicas.len())) {
        return Autocorrelation::Frozen;
    }
    let shares: Vec<f64> = counts.iter().map(|&count| count as f64 / all).collect();
    let square: f64 = shares.iter().map(|share| share * share).sum();
    // What the values within a lag of either end add to the sum of m_{x_i}, replica by replica.
    let mut ends: f64 = 2.0 * all * square;
    let (mut tau, mut alternating) = (0.5, 0.5);
    for lag in 1..=length / 2 {
        for series in replicas {
            ends -= shares[series[lag - 1] as usize] + shares[series[length - lag] as usize];
        }
        let pairs = ((length - lag) * replicas.len()) as f64;
        let matches: usize = replicas.iter().map(|series| equal(series, lag)).sum();
        let rho = ((matches as f64 - ends) / pairs + square) / (1.0 - square);
        tau += rho;
        alternating += if lag % 2 == 0 { rho } else { -rho };
        if lag as f64 >= WINDOW * f64::max(tau, alternating) {
            if tau <= 0.0 {
                break;
            }
            let error = tau * (2.0 * (2 * lag + 1) as f64 / all).sqrt();
            return Autocorrelation::Time {
                tau,
                error,
                window: lag,
            };
        }
    }
    Autocorrelation::TooShort { length }
}

/// How many actions equal the one a lag later.
fn equal(series: &[u8], lag: usize) -> usize {
    // Bytes are summed in short stretches, so that the loop runs on vectors.
    let (before, after) = (&series[..series.len() - lag], &series[lag..]);
    let stretches = before.chunks(255).zip(after.chunks(255));
    let sum = |(a, b): (&[u8], &[u8])| {
        let equal = a.iter().zip(b).map(|(a, b)| u8::from(a == b));
        equal.sum::<u8>() as usize
    };
    stretches.map(sum).sum()
}

/// The memory of every cell of replicas from a sweep on.
///
/// A cell whose time is not known remembers for longer than a tenth of the sweeps, the longest time
/// whose window fits into half of them: that is what it is thinned by, and it is counted.
pub fn of_cells(trajectories: &Trajectories, replicas: &[usize], from: usize) -> Memory {
    let sweeps = trajectories.sweeps() - from;
    let longest = sweeps as f64 / (2.0 * WINDOW);
    let mut memory = Memory {
        moving: vec![false; trajectories.cells],
        slowest: None,
        unresolved: 0,
        thinning: 1,
    };
    for cell in 0..trajectories.cells {
        let series = trajectories.series(cell, replicas, from);
        let tau = match one_hot_time(&series, trajectories.q) {
            Autocorrelation::Frozen => continue,
            Autocorrelation::Time { tau, .. } => tau,
            Autocorrelation::TooShort { .. } => {
                memory.unresolved += 1;
                longest
            }
        };
        memory.moving[cell] = true;
        memory.slowest = Some(memory.slowest.unwrap_or(0.0).max(tau));
    }
    let twice = 2.0 * memory.slowest.unwrap_or(0.5);
    memory.thinning = (twice.ceil() as usize).clamp(1, sweeps.max(1));
    memory
}
