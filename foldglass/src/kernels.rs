//! Gathers the loops that run on vectors, compiled for each kind of machine (paper, App. A).
//!
//! All that is unsafe in the crate is in this module, and all of it is safe to call from outside:
//! the work of a kernel is described by a structure that knows how many entries of each buffer it
//! reaches, buffers are slices, and a run whose reach passes the end of one is refused, in every
//! build. Finding the reach is done once, where the description is made; comparing it costs a few
//! instructions a run.

#![deny(clippy::undocumented_unsafe_blocks)]

mod aligned;
mod contract;
mod message;
mod soften;
mod stretches;
mod vector;

pub(crate) use aligned::Aligned;
pub(crate) use contract::{Contraction, Left, Offsets, Right, Run, Size, Strides};
pub(crate) use message::{Collect, Dropped, Route, Spread};
pub(crate) use soften::Soften;
pub(crate) use stretches::Stretches;
use vector::Portable;
#[cfg(target_arch = "x86_64")]
use vector::{Avx2, Avx512};

/// The loops compiled for one kind of machine, which is the one this runs on: `available` makes no
/// others. Each is unsafe to call with buffers that its work's `check` refuses.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    contract: unsafe fn(&Contraction, Run, &[f64], &[f64], &mut [f64]),
    stretches: unsafe fn(&Stretches, bool, &[f64], &mut [f64]),
    soften: unsafe fn(&Soften, &[f64], &[u8], &mut [f64]),
}

macro_rules! kernels {
    ($wide:ty, $narrow:ty $(, $features:literal)?) => {{
        $(#[target_feature(enable = $features)])?
        unsafe fn contract(work: &Contraction, run: Run, a: &[f64], b: &[f64], c: &mut [f64]) {
            // SAFETY: the caller's, and the features are those of the vectors.
            unsafe { work.run::<$wide, $narrow>(run, a, b, c) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn stretches(work: &Stretches, add: bool, from: &[f64], to: &mut [f64]) {
            // SAFETY: as above.
            unsafe { work.run::<$wide, $narrow>(add, from, to) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn soften(work: &Soften, values: &[f64], mask: &[u8], policy: &mut [f64]) {
            // SAFETY: as above.
            unsafe { work.run::<$wide, $narrow>(values, mask, policy) }
        }
        Kernels { contract, stretches, soften }
    }};
}

impl Kernels {
    /// The fastest that this machine runs.
    pub fn best() -> Kernels {
        Kernels::available()[0]
    }

    /// All that this machine runs, the fastest first.
    pub fn available() -> Vec<Kernels> {
        let mut list = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
            {
                list.push(kernels!(Avx512, Avx2, "avx512f,avx512vl,avx2,fma"));
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                list.push(kernels!(Avx2, Avx2, "avx2,fma"));
            }
        }
        list.push(kernels!(Portable, Portable));
        list
    }

    /// Runs a contraction on A, B and C.
    ///
    /// # Panics
    /// If it would leave one of them.
    #[inline(always)]
    pub fn contract(&self, work: &Contraction, run: Run, a: &[f64], b: &[f64], c: &mut [f64]) {
        work.check(a, b, c);
        // SAFETY: just checked, and the machine has the instructions.
        unsafe { (self.contract)(work, run, a, b, c) }
    }

    /// Sums stretches of `from` into `to`.
    ///
    /// # Panics
    /// If it would leave one of them.
    #[inline(always)]
    pub fn stretches(&self, work: &Stretches, add: bool, from: &[f64], to: &mut [f64]) {
        work.check(from, to);
        // SAFETY: just checked, and the machine has the instructions.
        unsafe { (self.stretches)(work, add, from, to) }
    }

    /// Updates a policy from its values where the mask is 1.
    ///
    /// # Panics
    /// If they are not of one size.
    #[inline(always)]
    pub fn soften(&self, work: &Soften, values: &[f64], mask: &[u8], policy: &mut [f64]) {
        work.check(values, mask, policy);
        // SAFETY: just checked, and the machine has the instructions.
        unsafe { (self.soften)(work, values, mask, policy) }
    }
}
