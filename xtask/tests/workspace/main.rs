//! The tests of the workspace as a whole: its modules, its names, its dependencies, its release.

mod dependencies;
mod modules;
mod names;
mod release;
