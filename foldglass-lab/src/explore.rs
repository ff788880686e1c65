//! Serves the landscape to a page in a browser of this machine (paper, sections 2 to 4 in a picture).
//!
//! A request comes through `server`, which keeps slow and large clients out, and `guard`, which keeps
//! everyone out who does not know the address; `api` answers it on a thread of its own with the numbers
//! of the libraries and the commands. Nothing is kept but classes and the runs of pages that are open.

mod api;
mod classes;
mod deadline;
mod explorer;
mod guard;
mod limits;
mod page;
mod refusal;
mod reply;
mod runs;
mod server;
mod token;
mod visitors;

pub use classes::{Known, check_cells};
pub use explorer::{Directory, End, Explorer, Given, Times};
pub use server::serve;
