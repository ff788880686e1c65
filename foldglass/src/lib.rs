//! Evaluates, exactly, what reinforcement learning with verifiable rewards sees on iterated
//! quasigroup multiplication.
mod aligned;
pub mod class;
pub mod evaluate;
pub mod exact;
pub mod inputs;
pub mod policy;
pub mod quasigroup;
pub mod task;
