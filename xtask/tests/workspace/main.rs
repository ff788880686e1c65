//! The tests of the workspace as a whole: its modules, its dependencies.

mod dependencies;
mod modules;
