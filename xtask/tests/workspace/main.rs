//! The tests of the workspace as a whole: its modules, its names, its dependencies.

mod dependencies;
mod modules;
mod names;
