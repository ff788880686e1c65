//! Reads `--max-memory` and asks the machine what it has.

use foldglass::Allowance;

const UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Reads `4GiB`, `1.5 TB`, `1000000`.
pub fn allowance(text: &str) -> Result<Allowance, String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = UNITS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()));
    match (number.parse::<f64>(), unit) {
        (Ok(number), Some(&(_, bytes))) => Ok(Allowance((number * bytes as f64) as u128)),
        _ => Err("write a size such as 512MiB, 4GiB, 1.5TB or a number of bytes".to_owned()),
    }
}

/// The memory available now, where the system says it, else 8 GiB.
pub fn available() -> Allowance {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    mem_available(&meminfo).unwrap_or_default()
}

fn mem_available(meminfo: &str) -> Option<Allowance> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u128 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Allowance(kib << 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        assert_eq!(allowance("4GiB"), Ok(Allowance(4 << 30)));
        assert_eq!(allowance("1.5 kb"), Ok(Allowance(1500)));
        assert_eq!(allowance("0"), Ok(Allowance(0)));
        for bad in ["", "GiB", "4 XB", "-1", "1e9", "1.2.3", "inf"] {
            assert!(allowance(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_line_of_the_available_memory_is_found() {
        let meminfo = "MemTotal:  24000000 kB\nMemAvailable:     2048 kB\n";
        assert_eq!(mem_available(meminfo), Some(Allowance(2 << 20)));
        assert_eq!(mem_available("MemTotal: 1 kB\n"), None);
    }
}
