//! Lowers the temperature in the course of a run: simulated annealing, as data.
//!
//! Sweeps are counted from 0, and tau(s) is the temperature of sweep s.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The temperature of every sweep of a run.
///
/// ```
/// use foldglass::dynamics::schedule::Schedule;
/// let schedule: Schedule = "geometric:1e-2,1e-6,2000".parse().unwrap();
/// assert_eq!((schedule.tau(0), schedule.tau(1999), schedule.tau(5000)), (1e-2, 1e-6, 1e-6));
/// assert_eq!(schedule.to_string(), "geometric:1e-2,1e-6,2000");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Schedule {
    /// The same temperature throughout.
    Constant(f64),
    /// tau(s) = from (to / from)^(s / (sweeps - 1)), then `to`.
    Geometric {
        /// The temperature of the first sweep, above 0.
        from: f64,
        /// The temperature of the last sweep and all later ones, above 0.
        to: f64,
        /// How many sweeps lead from one to the other, both included.
        sweeps: u64,
    },
    /// tau(s) = from + (to - from) s / (sweeps - 1), then `to`.
    Linear {
        /// The temperature of the first sweep, at least 0.
        from: f64,
        /// The temperature of the last sweep and all later ones, at least 0.
        to: f64,
        /// How many sweeps lead from one to the other, both included.
        sweeps: u64,
    },
}

impl Schedule {
    /// The temperature of a sweep, counted from 0. A schedule of one sweep begins at its end.
    pub fn tau(&self, sweep: u64) -> f64 {
        match *self {
            Schedule::Constant(tau) => tau,
            Schedule::Geometric { from, to, sweeps } => match share(sweep, sweeps) {
                None => to,
                Some(share) => from * (to / from).powf(share),
            },
            Schedule::Linear { from, to, sweeps } => match share(sweep, sweeps) {
                None => to,
                Some(share) => from + (to - from) * share,
            },
        }
    }
}

/// How much of the way lies behind at a sweep; none from the last sweep on.
fn share(sweep: u64, sweeps: u64) -> Option<f64> {
    let last = sweeps.saturating_sub(1);
    (sweep < last).then(|| sweep as f64 / last as f64)
}

/// A text that names no schedule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` names no schedule of temperatures: TAU with TAU >= 0, geometric:FROM,TO,SWEEPS with \
     FROM and TO > 0, or linear:FROM,TO,SWEEPS with FROM and TO >= 0 (temperatures finite, SWEEPS \
     a whole number >= 1)"
)]
pub struct UnknownSchedule(pub String);

impl FromStr for Schedule {
    type Err = UnknownSchedule;

    fn from_str(text: &str) -> Result<Schedule, UnknownSchedule> {
        match text.split_once(':') {
            None => temperature(text).map(Schedule::Constant),
            Some(("geometric", rest)) => ends(rest)
                .filter(|&(from, to, _)| from > 0.0 && to > 0.0)
                .map(|(from, to, sweeps)| Schedule::Geometric { from, to, sweeps }),
            Some(("linear", rest)) => {
                ends(rest).map(|(from, to, sweeps)| Schedule::Linear { from, to, sweeps })
            }
            Some(_) => None,
        }
        .ok_or_else(|| UnknownSchedule(text.to_owned()))
    }
}

fn temperature(text: &str) -> Option<f64> {
    let tau = text.trim().parse::<f64>().ok();
    // A negative zero is a zero.
    tau.filter(|tau| tau.is_finite() && *tau >= 0.0)
        .map(f64::abs)
}

fn ends(text: &str) -> Option<(f64, f64, u64)> {
    let mut parts = text.split(',');
    let (from, to) = (temperature(parts.next()?)?, temperature(parts.next()?)?);
    let sweeps = parts.next()?.trim().parse().ok().filter(|&n| n >= 1)?;
    parts.next().is_none().then_some((from, to, sweeps))
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Schedule::Constant(tau) => f.write_str(&shortest(tau)),
            Schedule::Geometric { from, to, sweeps } => {
                write!(f, "geometric:{},{},{sweeps}", shortest(from), shortest(to))
            }
            Schedule::Linear { from, to, sweeps } => {
                write!(f, "linear:{},{},{sweeps}", shortest(from), shortest(to))
            }
        }
    }
}

/// The shorter of 0.000001 and 1e-6; both are read back as the same number.
fn shortest(tau: f64) -> String {
    let (plain, scientific) = (tau.to_string(), format!("{tau:e}"));
    if plain.len() < scientific.len() {
        plain
    } else {
        scientific
    }
}

#[cfg(feature = "serde")]
crate::serde_as_text!(Schedule);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_reads_what_it_writes() {
        for text in [
            "0",
            "1",
            "0.5",
            "1e-6",
            "2.5e-13",
            "geometric:1e-2,1e-6,2000",
            "linear:0.25,0,10",
            "linear:0,1e300,1",
        ] {
            let schedule: Schedule = text.parse().unwrap();
            assert_eq!(schedule.to_string(), text);
        }
        let odd = Schedule::Geometric {
            from: 0.1 + 0.2,
            to: 1.0 / 3.0,
            sweeps: u64::MAX,
        };
        assert_eq!(odd.to_string().parse(), Ok(odd));
    }

    #[test]
    fn what_names_no_schedule_is_refused_with_what_does() {
        for text in [
            "",
            "cold",
            "-1",
            "nan",
            "inf",
            "geometric",
            "geometric:1,2",
            "geometric:1,0,5",
            "geometric:0,1,5",
            "geometric:1,2,0",
            "geometric:1,2,3,4",
            "linear:1,2,1.5",
            "linear:1,-2,5",
            "linear:1,2,-5",
            "log:1,2,3",
        ] {
            let error = text.parse::<Schedule>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` names no schedule")));
            assert!(error.contains("geometric:FROM,TO,SWEEPS"), "{error}");
        }
    }

    #[test]
    fn a_schedule_goes_from_its_first_to_its_last_temperature_and_stays() {
        let geometric: Schedule = "geometric:1,1e-4,5".parse().unwrap();
        let linear: Schedule = "linear:1,0,5".parse().unwrap();
        let linearly = [1.0, 0.75, 0.5, 0.25, 0.0, 0.0, 0.0];
        for (sweep, expected) in (0..).zip(linearly) {
            assert_eq!(linear.tau(sweep), expected);
            let tau = 0.1f64.powi(sweep.min(4) as i32);
            assert!((geometric.tau(sweep) / tau - 1.0).abs() < 1e-12);
        }
        assert_eq!(geometric.tau(u64::MAX), 1e-4);
        assert_eq!(Schedule::Constant(0.3).tau(7), 0.3);
        let one: Schedule = "linear:1,0.5,1".parse().unwrap();
        assert_eq!(one.tau(0), 0.5);
    }
}
