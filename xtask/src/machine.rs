//! Describes the machine that the benchmarks ran on.

use std::process::Command;

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
    first_line("date", &["-u", "+%F"]).unwrap_or_else(|| "day unknown".into())
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
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    first_line(&rustc, &["--version"]).unwrap_or_else(|| "rustc of unknown version".into())
}

/// What a program prints, if it succeeds.
fn first_line(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next()?.trim().to_owned();
    output.status.success().then_some(line)
}

/// The value of the first line `key<separator>value`, without quotes.
fn field(text: &str, key: &str, separator: char) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(separator))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().trim_matches('"').to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_or_is_missing_has_no_line() {
        assert_eq!(first_line("echo", &["a day"]), Some("a day".into()));
        assert_eq!(first_line("false", &[]), None);
        assert_eq!(first_line("no-such-program", &[]), None);
    }

    #[test]
    fn fields_are_found_by_their_whole_name_and_lose_their_quotes() {
        let text = "NAME=\"Other\"\nPRETTY_NAME=\"Some OS 12\"\n";
        assert_eq!(field(text, "PRETTY_NAME", '='), Some("Some OS 12".into()));
        assert_eq!(field(text, "PRETTY", '='), None);
    }
}
