//! Reads times and sizes as `sbatch` does.

use std::fmt;

use crate::flags::whole;

/// A time limit in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit(pub u64);

/// The shortest: Slurm looks at the clock once a minute, so a warning a minute before the end comes up to
/// two minutes before it.
const SHORTEST: u64 = 3 * 60;

/// The longest whose digits Slurm reads.
const LONGEST: u64 = 365 * 24 * 3600;

/// Reads `90` (minutes), `90:30`, `4:00:00`, `2-12`, `2-12:30` or `2-12:30:00`.
pub fn time(text: &str) -> Result<TimeLimit, String> {
    match seconds(text) {
        None => Err(
            "write minutes, HOURS:MINUTES:SECONDS or DAYS-HOURS, such as 90, 4:00:00 or 2-12"
                .to_owned(),
        ),
        Some(seconds) if seconds < SHORTEST => Err(
            "at least 3 minutes are needed: a task is told to save its work a minute or two before the end"
                .to_owned(),
        ),
        Some(seconds) if seconds > LONGEST => Err("at most 365 days are accepted".to_owned()),
        Some(seconds) => Ok(TimeLimit(seconds)),
    }
}

fn seconds(text: &str) -> Option<u64> {
    let fields = |text: &str| -> Option<Vec<u64>> { text.split(':').map(whole::<u64>).collect() };
    // As Slurm has it: without days the last field of two is seconds, after days it is minutes.
    let (days, hours, minutes, seconds): (u64, u64, u64, u64) = match text.split_once('-') {
        Some((days, rest)) => match fields(rest)?[..] {
            [hours] => (whole(days)?, hours, 0, 0),
            [hours, minutes] => (whole(days)?, hours, minutes, 0),
            [hours, minutes, seconds] => (whole(days)?, hours, minutes, seconds),
            _ => return None,
        },
        None => match fields(text)?[..] {
            [minutes] => (0, 0, minutes, 0),
            [minutes, seconds] => (0, 0, minutes, seconds),
            [hours, minutes, seconds] => (0, hours, minutes, seconds),
            _ => return None,
        },
    };
    let sixty = |high: u64, low: u64| high.checked_mul(60)?.checked_add(low);
    let hours = days.checked_mul(24)?.checked_add(hours)?;
    sixty(sixty(hours, minutes)?, seconds)
}

impl TimeLimit {
    /// Twice the forecast of a task, in whole tens of minutes, a day at most: a task that needs
    /// longer is requeued and resumes.
    pub fn for_forecast(seconds: f64) -> TimeLimit {
        const STEP: u64 = 10 * 60;
        let steps = (2.0 * seconds / STEP as f64).ceil() as u64;
        TimeLimit(steps.clamp(1, 24 * 3600 / STEP) * STEP)
    }
}

impl fmt::Display for TimeLimit {
    /// `04:00:00`, `2-12:00:00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (minutes, seconds) = (self.0 / 60, self.0 % 60);
        let (hours, minutes) = (minutes / 60, minutes % 60);
        let (days, hours) = (hours / 24, hours % 24);
        if days > 0 {
            write!(f, "{days}-")?;
        }
        write!(f, "{hours:02}:{minutes:02}:{seconds:02}")
    }
}

/// Memory in MiB, which Slurm calls megabytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mebibytes(pub u64);

/// Reads `4G`, `512M`, `4GiB`, or megabytes without a unit.
pub fn memory(text: &str) -> Result<Mebibytes, String> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.trim().to_ascii_uppercase();
    let letter = unit.strip_suffix("IB").or(unit.strip_suffix('B'));
    let shift = match letter.unwrap_or(&unit) {
        "M" => Some(0),
        "" if unit.is_empty() => Some(0),
        "G" => Some(10),
        "T" => Some(20),
        _ => None,
    };
    let size = shift.and_then(|shift| whole::<u64>(number)?.checked_mul(1 << shift));
    size.filter(|&mebibytes| mebibytes > 0)
        .map(Mebibytes)
        .ok_or("write megabytes or a size of at least 1M, such as 4096, 512M or 4G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_slurm_reads_them() {
        for (text, seconds, shown) in [
            ("90", 5_400, "01:30:00"),
            ("90:30", 5_430, "01:30:30"),
            ("4:00:00", 14_400, "04:00:00"),
            ("2-12", 216_000, "2-12:00:00"),
            ("2-12:30", 217_800, "2-12:30:00"),
            ("1-00:00:01", 86_401, "1-00:00:01"),
            ("3", 180, "00:03:00"),
        ] {
            assert_eq!(time(text), Ok(TimeLimit(seconds)), "{text}");
            assert_eq!(TimeLimit(seconds).to_string(), shown);
            assert_eq!(time(shown), Ok(TimeLimit(seconds)), "{shown}");
        }
        for bad in [
            "",
            "0",
            "2",
            "2:59",
            "-1",
            "1:2:3:4",
            "1-2:3:4:5",
            "soon",
            "1-",
            "4h",
            "18446744073709551615",
        ] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_limit_is_twice_the_forecast_in_tens_of_minutes() {
        for (seconds, limit) in [
            (0.0, "00:10:00"),
            (300.0, "00:10:00"),
            (301.0, "00:20:00"),
            (3_600.0, "02:00:00"),
            (1e9, "1-00:00:00"),
        ] {
            assert_eq!(TimeLimit::for_forecast(seconds).to_string(), limit);
        }
    }

    #[test]
    fn sizes_are_megabytes_unless_they_say_otherwise() {
        for (text, mebibytes) in [
            ("4096", 4096),
            ("512M", 512),
            ("4G", 4096),
            ("4GiB", 4096),
            ("4gb", 4096),
            ("1T", 1 << 20),
        ] {
            assert_eq!(memory(text), Ok(Mebibytes(mebibytes)), "{text}");
        }
        for bad in ["", "0", "0G", "G", "-1", "1.5G", "4K", "4X", "B", "4IB"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }
}
