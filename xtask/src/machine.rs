//! Describes the machine that the benchmarks ran on.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// One line: CPU model, cores visible, operating system, rustc.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let plural = if cores == 1 { "core" } else { "cores" };
    let parts = [
        cpu_model(),
        format!("{cores} {plural} visible"),
        operating_system(),
        rustc_version(),
    ];
    parts.join(", ")
}

/// Today in UTC, as `YYYY-MM-DD`.
pub fn today() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

fn cpu_model() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    field(&info, "model name", ':')
        .unwrap_or_else(|| format!("{} CPU of unknown model", std::env::consts::ARCH))
}

fn operating_system() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    field(&release, "PRETTY_NAME", '=').unwrap_or_else(|| std::env::consts::OS.into())
}

fn rustc_version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    match Command::new(rustc).arg("--version").output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().into()
        }
        _ => "rustc of unknown version".into(),
    }
}

/// The value of the first line `key<separator>value`, without quotes.
fn field(text: &str, key: &str, separator: char) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(separator))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().trim_matches('"').to_string())
}

/// The Gregorian date that many days after 1970-01-01.
fn date(days_since_1970: u64) -> String {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let (mut year, mut days) = (1970, days_since_1970);
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_cross_leap_days_and_year_ends() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(11_017), "2000-03-01");
        assert_eq!(date(20_453), "2025-12-31");
        assert_eq!(date(20_454), "2026-01-01");
    }

    #[test]
    fn fields_are_found_by_their_whole_name_and_lose_their_quotes() {
        let text = "NAME=\"Other\"\nPRETTY_NAME=\"Some OS 12\"\n";
        assert_eq!(field(text, "PRETTY_NAME", '='), Some("Some OS 12".into()));
        assert_eq!(field(text, "PRETTY", '='), None);
    }
}
