//! Trains the paper's one-block transformer by the hundred (paper, section 5 and app. G.4, G.5).
//!
//! [`dense`] is the transformer as it is written down; a [`fleet::Fleet`] trains many of them at
//! once on a [`backend::Backend`], which uses the exact table form of one block.

mod activate;
mod adam;
pub mod backend;
pub mod barrier;
pub mod batch;
pub mod bridge;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod dense;
pub mod distill;
mod error;
pub mod fleet;
pub mod law;
pub mod layout;
pub mod lesson;
pub mod machine;
mod matmul;
pub mod objective;
pub mod origin;
mod pass;
pub mod path;
pub mod philox;
pub mod reference;
pub mod schedule;
pub mod session;
pub mod settings;
pub mod shape;
mod table;
pub mod weights;
pub mod words;
