//! Reads `--lengths`, `--window` and `--memory`.

use std::str::FromStr;

use foldglass::class;

use super::{positive, whole};

/// The widest window and the longest memory accepted. A class that fills it fits no machine; one
/// that does not, for its inputs are short, is the same class with a smaller number.
pub const WIDEST: usize = 1024;

/// What `--lengths` holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lengths(pub Vec<usize>);

impl FromStr for Lengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Lengths, String> {
        let one = |part: &str| {
            let part = part.trim();
            let refusal = || format!("'{part}' is no length: write 8, or several as 3,4,5");
            whole(part).ok_or_else(refusal)
        };
        text.split(',')
            .map(one)
            .collect::<Result<_, _>>()
            .map(Lengths)
    }
}

/// Reads `--window P,F`.
pub fn window(text: &str) -> Result<class::Window, String> {
    let side = |part: &str| whole(part.trim()).filter(|&n| n <= WIDEST);
    let sides = text.split_once(',');
    match sides.map(|(past, future)| (side(past), side(future))) {
        Some((Some(past), Some(future))) => Ok(class::Window { past, future }),
        _ => Err(format!(
            "write P,F, the symbols read before and after x_t, such as 0,3 (each 0 to {WIDEST})"
        )),
    }
}

/// Reads `--memory N`.
pub fn memory(text: &str) -> Result<usize, String> {
    let number = positive(text).ok().filter(|&n| n <= WIDEST);
    number.ok_or(format!("a policy remembers 1 to {WIDEST} tokens"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_a_list_of_whole_numbers() {
        let read = |text: &str| text.parse::<Lengths>().map(|lengths| lengths.0);
        assert_eq!(read("8"), Ok(vec![8]));
        assert_eq!(read("3,4, 5"), Ok(vec![3, 4, 5]));
        for (bad, part) in [
            ("", "''"),
            ("3,", "''"),
            ("3,x", "'x'"),
            ("-1", "'-1'"),
            ("2.5", "'2.5'"),
        ] {
            assert!(read(bad).unwrap_err().contains(part), "{bad}");
        }
    }

    #[test]
    fn a_window_is_two_whole_numbers() {
        assert_eq!(window("2,1"), Ok(class::Window { past: 2, future: 1 }));
        for bad in ["", "1", "1,", "1,2,3", "-1,0", "a,b", "1025,0"] {
            assert!(window(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_memory_is_at_least_one_token() {
        assert_eq!(memory("2"), Ok(2));
        for bad in ["0", "-1", "1025", "two"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }
}
