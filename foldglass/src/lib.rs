//! Evaluates, exactly, what reinforcement learning with verifiable rewards sees on iterated
//! quasigroup multiplication.
mod aligned;
pub mod cavi;
pub mod chain;
pub mod class;
pub mod count;
pub mod evaluate;
pub mod exact;
pub mod inputs;
mod kernels;
pub mod policy;
pub mod quasigroup;
pub mod stats;
pub mod stream;
pub mod task;
