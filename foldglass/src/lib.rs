//! Evaluates, exactly, what reinforcement learning with verifiable rewards sees on iterated
//! quasigroup multiplication.
pub mod quasigroup;
