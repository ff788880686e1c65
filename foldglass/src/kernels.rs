//! Gathers the loops that run on vectors, compiled for each kind of machine (paper, App. A).
//!
//! All that is unsafe in the crate is in this module, and all of it is safe to call from outside:
//! the work of a kernel is described by a structure that knows how many entries of each buffer it
//! reaches, buffers are slices, and a run whose reach passes the end of one is refused, in every
//! build. Finding the reach is done once, where the description is made; comparing it costs a few
//! instructions a run.

#![deny(clippy::undocumented_unsafe_blocks)]

mod aligned;
mod panel;
mod product;
mod routes;
mod soften;
mod sums;
mod vector;
mod visits;

pub(crate) use aligned::Aligned;
use panel::Panel;
pub(crate) use routes::{Columns, Piece, Routes};
pub(crate) use soften::Soften;
use std::ops::Range;
use sums::Targets;
pub(crate) use sums::{Extent, Given, Results, Sums};
#[cfg(target_arch = "x86_64")]
use vector::{Avx2, Avx512};
use vector::{Lane, Portable};

/// A place that several threads write around, each where no other does.
#[derive(Clone, Copy)]
struct Shared(*mut f64);

impl Shared {
    fn place(self) -> *mut f64 {
        self.0
    }
}

// SAFETY: it only says where; who follows it answers for the rest.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// Some pieces, their weights, whether to add, the message and bbar.
type BringBack = unsafe fn(&Routes, Range<usize>, &[f64], bool, &[f64], *mut f64);

/// The loops compiled for one kind of machine, which is the one this runs on: `available` makes no
/// others. Each is unsafe to call with buffers that its work's `check` refuses.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    forward_alone: unsafe fn(&Sums, Panel, Given<'_>, &mut [f64], &mut [f64]),
    forward_4: unsafe fn(&Sums, Panel, Given<'_>, *mut f64),
    forward_8: unsafe fn(&Sums, Panel, Given<'_>, *mut f64),
    backward_alone: unsafe fn(&Sums, Panel, Given<'_>, &mut [f64], &mut Results<'_>),
    backward_4: unsafe fn(&Sums, Panel, Given<'_>, &mut [f64], Targets),
    backward_8: unsafe fn(&Sums, Panel, Given<'_>, &mut [f64], Targets),
    send: unsafe fn(&Routes, Range<usize>, &[f64], &[f64], *mut f64),
    bring_back: BringBack,
    soften: unsafe fn(&Soften, &[f64], &[u8], &mut [f64]),
}

macro_rules! kernels {
    ($wide:ty, $narrow:ty $(, $features:literal)?) => {{
        $(#[target_feature(enable = $features)])?
        unsafe fn forward_alone(
            work: &Sums,
            panel: Panel,
            given: Given<'_>,
            scratch: &mut [f64],
            post: &mut [f64],
        ) {
            // SAFETY: the caller's, and the features are those of the vectors.
            unsafe { work.forward_alone::<$wide, $narrow>(panel, given, scratch, post) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn forward_4(work: &Sums, panel: Panel, given: Given<'_>, post: *mut f64) {
            // SAFETY: as above.
            unsafe { work.forward_panel::<$narrow, 4>(panel, given, post) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn forward_8(work: &Sums, panel: Panel, given: Given<'_>, post: *mut f64) {
            // SAFETY: as above.
            unsafe { work.forward_panel::<$wide, 8>(panel, given, post) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn backward_alone(
            work: &Sums,
            panel: Panel,
            given: Given<'_>,
            scratch: &mut [f64],
            results: &mut Results<'_>,
        ) {
            // SAFETY: as above.
            unsafe { work.backward_alone::<$wide, $narrow>(panel, given, scratch, results) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn backward_4(
            work: &Sums,
            panel: Panel,
            given: Given<'_>,
            scratch: &mut [f64],
            to: Targets,
        ) {
            // SAFETY: as above.
            unsafe { work.backward_panel::<$narrow, 4>(panel, given, scratch, to) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn backward_8(
            work: &Sums,
            panel: Panel,
            given: Given<'_>,
            scratch: &mut [f64],
            to: Targets,
        ) {
            // SAFETY: as above.
            unsafe { work.backward_panel::<$wide, 8>(panel, given, scratch, to) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn send(
            work: &Routes,
            pieces: Range<usize>,
            weights: &[f64],
            post: &[f64],
            message: *mut f64,
        ) {
            // SAFETY: as above.
            unsafe { work.send::<$narrow>(pieces, weights, post, message) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn bring_back(
            work: &Routes,
            pieces: Range<usize>,
            weights: &[f64],
            add: bool,
            message: &[f64],
            bbar: *mut f64,
        ) {
            // SAFETY: as above.
            unsafe { work.bring_back::<$narrow>(pieces, weights, add, message, bbar) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn soften(work: &Soften, values: &[f64], mask: &[u8], policy: &mut [f64]) {
            // SAFETY: as above.
            unsafe { work.run::<$wide, $narrow>(values, mask, policy) }
        }
        Kernels { forward_alone, forward_4, forward_8, backward_alone, backward_4, backward_8, send, bring_back, soften }
    }};
}

/// The threads that a step may use: those of the rayon pool it is called in, or the caller's alone.
fn threads() -> usize {
    rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads())
}

/// The lanes of this machine's widest vectors: panels are as wide, so that a pass streams.
pub(crate) fn width() -> usize {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        return Avx512::WIDTH;
    }
    Portable::WIDTH
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") && has_avx2()
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
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
            if has_avx512() {
                list.push(kernels!(Avx512, Avx2, "avx512f,avx512vl,avx2,fma"));
            }
            if has_avx2() {
                list.push(kernels!(Avx2, Avx2, "avx2,fma"));
            }
        }
        list.push(kernels!(Portable, Portable));
        list
    }

    /// Computes post of a step from alpha and the policy; `given.bbar` is not read.
    ///
    /// # Panics
    /// If it would leave a buffer, here as in all that follow.
    #[inline(always)]
    pub fn forward(&self, work: &Sums, given: Given<'_>, scratch: &mut [f64], post: &mut [f64]) {
        work.check_forward(&given, scratch, post);
        let to = Shared(post.as_mut_ptr());
        work.each_panel(scratch, |panel, _| {
            // SAFETY: just checked, and the machine has the instructions; panels write to lanes of their own.
            unsafe {
                match panel.width {
                    4 => (self.forward_4)(work, panel, given, to.place()),
                    _ => (self.forward_8)(work, panel, given, to.place()),
                }
            }
        });
        if let Some(panel) = work.alone() {
            // SAFETY: just checked, and the machine has the instructions.
            unsafe { (self.forward_alone)(work, panel, given, scratch, post) }
        }
    }

    /// Computes values, message and visits of a step, as far as they are wanted.
    #[inline(always)]
    pub fn backward(
        &self,
        work: &Sums,
        given: Given<'_>,
        scratch: &mut [f64],
        mut results: Results<'_>,
    ) {
        work.check_backward(&given, scratch, &results);
        if results.values.is_empty() && results.message.is_empty() {
            return;
        }
        let to = results.targets();
        work.each_panel(scratch, |panel, scratch| {
            // SAFETY: just checked, and the machine has the instructions; panels write to lanes and
            // cells of their own.
            unsafe {
                match panel.width {
                    4 => (self.backward_4)(work, panel, given, scratch, to),
                    _ => (self.backward_8)(work, panel, given, scratch, to),
                }
            }
        });
        if let Some(panel) = work.alone() {
            // SAFETY: just checked, and the machine has the instructions.
            unsafe { (self.backward_alone)(work, panel, given, scratch, &mut results) }
        }
    }

    /// Makes the message that a step sends of its post.
    #[inline(always)]
    pub fn send(&self, work: &Routes, weights: &[f64], post: &[f64], message: &mut [f64]) {
        work.check(weights, post, message);
        let to = Shared(message.as_mut_ptr());
        work.each_part(|pieces| {
            // SAFETY: just checked, and the machine has the instructions; parts write to places of
            // their own.
            unsafe { (self.send)(work, pieces, weights, post, to.place()) }
        });
    }

    /// Makes bbar of a step of the message returned to it, or adds to it.
    #[inline(always)]
    pub fn bring_back(
        &self,
        work: &Routes,
        weights: &[f64],
        add: bool,
        message: &[f64],
        bbar: &mut [f64],
    ) {
        work.check(weights, bbar, message);
        let to = Shared(bbar.as_mut_ptr());
        work.each_part(|pieces| {
            // SAFETY: as in `send`.
            unsafe { (self.bring_back)(work, pieces, weights, add, message, to.place()) }
        });
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
