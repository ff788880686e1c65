//! Gathers the loops that run on vectors, compiled for each kind of machine (paper, App. A).

mod contract;
mod gather;
mod soften;
mod vector;

pub(crate) use contract::Contraction;
pub(crate) use gather::Gather;
pub(crate) use soften::Soften;
use vector::Portable;
#[cfg(target_arch = "x86_64")]
use vector::{Avx2, Avx512};

/// The loops compiled for one kind of machine. All of them are unsafe to call in the same way: the
/// offsets of the work must lie within its buffers.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    /// Runs a contraction on A, B and C.
    pub contract: unsafe fn(&Contraction, *const f64, *const f64, *mut f64),
    /// Runs a gather from a row to a message.
    pub gather: unsafe fn(&Gather, *const f64, *mut f64),
    /// Runs an update of a policy from its values and a mask.
    pub soften: unsafe fn(&Soften, *const f64, *const u8, *mut f64),
}

macro_rules! kernels {
    ($wide:ty, $narrow:ty $(, $features:literal)?) => {{
        $(#[target_feature(enable = $features)])?
        unsafe fn contract(work: &Contraction, a: *const f64, b: *const f64, c: *mut f64) {
            unsafe { work.run::<$wide, $narrow>(a, b, c) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn gather(work: &Gather, from: *const f64, to: *mut f64) {
            unsafe { work.run::<$wide, $narrow>(from, to) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn soften(work: &Soften, values: *const f64, mask: *const u8, policy: *mut f64) {
            unsafe { work.run::<$wide, $narrow>(values, mask, policy) }
        }
        Kernels { contract, gather, soften }
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
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                list.push(kernels!(Avx512, Avx2, "avx512f,avx512vl,avx2,fma"));
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                list.push(kernels!(Avx2, Avx2, "avx2,fma"));
            }
        }
        list.push(kernels!(Portable, Portable));
        list
    }
}
