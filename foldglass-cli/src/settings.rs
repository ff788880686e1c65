//! Reads the flags that every command takes.

use clap::Args;
use foldglass_study::Fields;

use crate::flags::{positive, seed};
use crate::report::Format;

/// The flags that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Every command")]
pub struct GlobalArgs {
    /// Write one JSON object to stdout, and nothing else there
    #[arg(long, global = true)]
    pub json: bool,
    /// Write the tables of the report in another form: text, json, csv, markdown or latex
    #[arg(long, global = true, value_name = "FORMAT", value_parser = format, conflicts_with = "json")]
    pub format: Option<Format>,
    /// The seed of everything random
    #[arg(short, long, global = true, value_name = "N", default_value = "0", value_parser = seed)]
    #[arg(allow_negative_numbers = true)]
    pub seed: u64,
    /// Threads to compute with [default: all]; the output does not depend on it
    #[arg(short = 'j', long, global = true, value_name = "N", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Print only errors to stderr: no progress, no remarks
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

fn format(text: &str) -> Result<Format, String> {
    Format::named(text)
}

/// What was typed, and what it means.
pub struct Invocation {
    /// What every command takes.
    pub settings: GlobalArgs,
    /// The command's name.
    pub name: String,
    /// All its flags by name, as typed or with their defaults; null where there is neither.
    pub typed: Fields,
    /// The definition of the whole command line.
    pub program: clap::Command,
}

/// What clap says, without its prefix, the usage and the advice to ask for help.
pub fn one_line(message: &str) -> String {
    let kept = message.split("\n\n").filter(|paragraph| {
        !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more information")
    });
    let words = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = kept.map(words).collect::<Vec<_>>().join("; ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usage_error_is_cut_to_its_message() {
        let clap = "error: unexpected argument '--taks' found\n\n  tip: a similar argument exists: \
                    '--task'\n\nUsage: foldglass task --task <TASK>\n\nFor more information, try '--help'.\n";
        assert_eq!(
            one_line(clap),
            "unexpected argument '--taks' found; tip: a similar argument exists: '--task'"
        );
    }
}
