//! Answers the explorer's questions about a landscape (paper, sections 2 to 4 in a picture), free of transport.
//!
//! An [`Explorer`] has one door, [`Explorer::ask`]: a question has a name and a body in JSON, and so has its
//! [`Answer`]. The numbers are those of the libraries and of the commands. Nothing is kept but classes and the
//! runs of pages that are open.
//!
//! [`page`] holds the files of the page that asks. With the feature `server`, the module `server` serves both
//! on this machine.

mod api;
mod classes;
mod command;
mod deadline;
mod explorer;
mod limits;
mod locked;
mod numbers;
pub mod page;
mod refusal;
mod run;
mod runs;
#[cfg(feature = "server")]
pub mod server;
mod visitors;

pub use api::{Answer, QuestionTime, effort};
pub use classes::{KnownClass, check_cells};
pub use deadline::Deadline;
pub use explorer::{Directory, DirectoryKind, Explorer, Given, NoPage};
pub use limits::MEMORY;
pub use refusal::Refusal;
