//! Says why a request is not answered, in the words of the command line.

use std::fmt;

use foldglass_report::error::{Error, Fault};
use serde::Serialize;

/// A request that is refused.
#[derive(Debug, Serialize)]
pub struct Refusal {
    #[serde(skip)]
    pub(crate) status: u16,
    error: String,
    /// What to write instead.
    help: Option<String>,
}

impl Refusal {
    /// With a status of HTTP.
    pub fn new(status: u16, error: impl Into<String>) -> Refusal {
        Refusal {
            status,
            error: error.into(),
            help: None,
        }
    }

    /// With what to write instead.
    pub fn help(mut self, help: impl Into<String>) -> Refusal {
        self.help = Some(help.into());
        self
    }

    /// What was asked can be read, and cannot be done.
    pub fn unable(error: impl Into<String>) -> Refusal {
        Refusal::new(422, error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let status = match error.fault() {
            Fault::Mistake | Fault::TooLarge | Fault::Unread => 422,
            Fault::Stopped | Fault::Locked => 503,
            Fault::Failure => 500,
        };
        // Advice about flags is no help to a page.
        let words = error.to_string();
        let words = words.trim_end_matches(" (--max-memory sets the limit)");
        Refusal::new(status, words)
    }
}
