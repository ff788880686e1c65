//! Estimates how long work takes from the pieces of it that are done.
//!
//! Work is a list of groups of like pieces: the steps of a series of runs, the parts of a layer of a census, the
//! items of a reproduction. Dry runs and displays of remaining time share this one estimate. It holds no clock: whoever
//! does the work notes the seconds.

/// Groups of pieces of work, and the time that the finished pieces took.
#[derive(Debug, Clone)]
pub struct TimeEstimate {
    groups: Vec<UnitGroup>,
    /// Whether later pieces of a group may take less time than earlier ones.
    falling: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct UnitGroup {
    left: f64,
    done: f64,
    seconds: f64,
    /// The relative cost of a piece.
    weight: f64,
    fit: Fit,
}

/// Sums of a linear fit of ln(seconds of the n-th piece) over ln n.
#[derive(Debug, Clone, Copy, Default)]
struct Fit {
    points: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

/// Pieces from which on their times show whether they fall.
pub const FEW: f64 = 3.0;

impl Fit {
    fn add(&mut self, n: f64, seconds: f64) {
        let (x, y) = (n.ln(), seconds.max(1e-9).ln());
        self.points += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    /// The power of n with which the time of the n-th piece falls, from 0 to 1.
    fn fall(&self) -> f64 {
        if self.points < FEW {
            return 0.0;
        }
        let slope =
            (self.points * self.xy - self.x * self.y) / (self.points * self.xx - self.x * self.x);
        (-slope).clamp(0.0, 1.0)
    }
}

/// The sum of k^-fall over k from 1 to n, as an integral that takes any n.
fn falling_sum(n: f64, fall: f64) -> f64 {
    let antiderivative = |n: f64| {
        if 1.0 - fall < 1e-6 {
            n.ln()
        } else {
            n.powf(1.0 - fall) / (1.0 - fall)
        }
    };
    antiderivative(n + 0.5) - antiderivative(0.5)
}

impl UnitGroup {
    /// The seconds of the first n pieces at the pace of those that are done.
    fn first(&self, n: f64, fall: f64) -> f64 {
        self.seconds * falling_sum(n, fall) / falling_sum(self.done, fall)
    }
}

impl TimeEstimate {
    /// Groups of pieces: their number, and the relative cost of each; the pieces of a group all take about the same time.
    pub fn new(groups: impl IntoIterator<Item = (f64, f64)>) -> TimeEstimate {
        let group = |(left, weight)| UnitGroup {
            left,
            weight,
            ..UnitGroup::default()
        };
        TimeEstimate {
            groups: groups.into_iter().map(group).collect(),
            falling: false,
        }
    }

    /// Pieces that share what they compute: the time of the n-th of a group may fall as a power of n.
    pub fn falling(groups: impl IntoIterator<Item = (f64, f64)>) -> TimeEstimate {
        TimeEstimate {
            falling: true,
            ..TimeEstimate::new(groups)
        }
    }

    /// Counts pieces as done, and the time they took.
    pub fn note(&mut self, group: usize, pieces: f64, seconds: f64) {
        let group = &mut self.groups[group];
        group.left = (group.left - pieces).max(0.0);
        group.done += pieces;
        group.seconds += seconds;
        if self.falling {
            group.fit.add(group.done, seconds / pieces);
        }
    }

    /// Takes pieces away that need not be done.
    pub fn skip(&mut self, group: usize, pieces: f64) {
        let left = &mut self.groups[group].left;
        *left = (*left - pieces).max(0.0);
    }

    /// The pieces of a group that are done.
    pub fn done(&self, group: usize) -> f64 {
        self.groups[group].done
    }

    /// The seconds noted so far.
    pub fn spent(&self) -> f64 {
        self.groups.iter().map(|group| group.seconds).sum()
    }

    /// The seconds of a share of a group's pieces, done or not; none before any piece of any group is done.
    pub fn share_seconds(&self, number: usize, share: f64) -> Option<f64> {
        let group = &self.groups[number];
        let pieces = share * (group.left + group.done);
        if group.done == 0.0 {
            return Some(pieces * group.weight * self.unseen()?);
        }
        let fall = if self.falling { group.fit.fall() } else { 0.0 };
        Some(group.first(pieces, fall))
    }

    /// The least that a share of a group's pieces may take: where few are done, times may fall as 1/n.
    pub fn least_seconds(&self, number: usize, share: f64) -> Option<f64> {
        let group = &self.groups[number];
        if group.done >= FEW || group.done == 0.0 {
            return self.share_seconds(number, share);
        }
        Some(group.first(share * (group.left + group.done), 1.0))
    }

    /// The seconds that the pieces left will take; none before any is done.
    pub fn left(&self) -> Option<f64> {
        let unseen = self.unseen()?;
        let left = self.groups.iter().enumerate().map(|(number, group)| {
            if group.left == 0.0 {
                0.0
            } else if group.done == 0.0 {
                group.left * group.weight * unseen
            } else {
                let all = self.share_seconds(number, 1.0).unwrap_or(0.0);
                (all - group.seconds).max(0.0)
            }
        });
        Some(left.sum())
    }

    /// The share of the time that is over, where it is known.
    pub fn share(&self) -> Option<f64> {
        let spent = self.spent();
        let share = spent / (spent + self.left()?);
        share.is_finite().then_some(share)
    }

    /// The seconds of a piece of weight 1, by those that are done.
    fn unseen(&self) -> Option<f64> {
        let weighed = self.groups.iter().map(|group| group.done * group.weight);
        let weight: f64 = weighed.sum();
        (weight > 0.0).then(|| self.spent() / weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_has_not_begun_is_judged_by_its_weight() {
        let mut work = TimeEstimate::new([(100.0, 2.0), (10.0, 6.0)]);
        assert_eq!(work.left(), None);
        work.note(0, 50.0, 25.0);
        assert_eq!(work.left(), Some(50.0 * 0.5 + 10.0 * 1.5));
        work.note(1, 5.0, 1.0);
        assert_eq!(work.left(), Some(50.0 * 0.5 + 5.0 * 0.2));
        assert_eq!(work.share(), Some(26.0 / 52.0));
    }

    #[test]
    fn pieces_that_need_not_be_done_take_no_time_and_change_no_pace() {
        let mut work = TimeEstimate::new([(1.0, 10.0), (1.0, 5.0)]);
        work.skip(0, 0.5);
        work.note(0, 0.25, 1.0);
        assert_eq!(work.left(), Some(1.0 + 2.0));
        work.skip(1, f64::INFINITY);
        assert_eq!(work.left(), Some(1.0));
        work.skip(0, f64::INFINITY);
        assert_eq!((work.left(), work.share()), (Some(0.0), Some(1.0)));
    }

    #[test]
    fn times_that_fall_go_on_falling_and_others_stay() {
        let noted = |times: &[f64]| {
            let mut work = TimeEstimate::falling([(256.0, 1.0)]);
            times.iter().for_each(|&seconds| work.note(0, 1.0, seconds));
            work
        };
        let near = |found: Option<f64>, expected: f64| {
            let ratio = found.unwrap() / expected;
            assert!((0.9..1.1).contains(&ratio), "{found:?} for {expected}");
        };
        near(noted(&[2.0; 5]).share_seconds(0, 1.0), 2.0 * 256.0);
        near(noted(&[2.0; 5]).share_seconds(0, 0.5), 2.0 * 128.0);
        // 8 / n: the sum of 256 of them. A worker that does half of them learns as much as one that does all.
        let all: f64 = (1..=256).map(|n| 8.0 / f64::from(n)).sum();
        let falling: Vec<f64> = (1..=12).map(|n| 8.0 / f64::from(n)).collect();
        for tried in [3, 5, 12] {
            near(noted(&falling[..tried]).share_seconds(0, 1.0), all);
            assert!(noted(&falling[..tried]).share_seconds(0, 0.5).unwrap() > 0.8 * all);
        }
        // Two may differ by chance; only the least is certain.
        near(noted(&[3.0, 1.0]).share_seconds(0, 1.0), 2.0 * 256.0);
        near(noted(&[8.0]).least_seconds(0, 1.0), 8.0 * 6.24 / 1.0986);
        near(noted(&[2.0; 5]).least_seconds(0, 1.0), 2.0 * 256.0);
    }
}
