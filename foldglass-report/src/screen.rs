//! Knows the terminal that stdout is, where it is one: how wide, and whether it is written to in colour.

use std::env;
use std::io::{self, IsTerminal};

/// How a person sees what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// The columns of the terminal; none where stdout is no terminal.
    pub width: Option<usize>,
    /// Whether there is bold type and colour: on a terminal, and never with NO_COLOR.
    pub colour: bool,
}

impl Screen {
    /// A file or a pipe: nothing is cut and nothing is coloured.
    pub const PLAIN: Screen = Screen {
        width: None,
        colour: false,
    };

    /// That of stdout.
    pub fn of_stdout() -> Screen {
        if !io::stdout().is_terminal() {
            return Screen::PLAIN;
        }
        let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        Screen {
            width: columns(),
            colour: !set("NO_COLOR") && !dumb,
        }
    }
}

/// Fewer columns are no width that a terminal is used at.
#[cfg(feature = "terminal")]
const LEAST: usize = 20;

#[cfg(feature = "terminal")]
fn columns() -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(io::stdout())?;
    let columns = usize::from(columns);
    (columns >= LEAST).then_some(columns)
}

#[cfg(not(feature = "terminal"))]
fn columns() -> Option<usize> {
    None
}
