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
mod rows;
mod soften;
mod sums;
mod vector;
mod visits;

use crate::class::PANEL;
pub(crate) use aligned::Aligned;
use panel::Panel;
use product::Product;
pub(crate) use routes::{Columns, Piece, Routes};
pub(crate) use rows::Rows;
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

/// The loops over panels and cells, compiled for one kind of vectors. Each is unsafe to call with buffers
/// that its work's `check` refuses, with a panel that the vectors do not divide, and where the machine has
/// none of these vectors.
#[derive(Clone, Copy)]
struct Loops {
    panels: PanelLoops,
    product: unsafe fn(&Product, *const f64, *const f64, *mut f64),
    soften: unsafe fn(&Soften, &[f64], &[u8], &mut [f64]),
}

#[derive(Clone, Copy)]
struct PanelLoops {
    forward: unsafe fn(&Sums, Panel, Given<'_>, *mut f64),
    backward: unsafe fn(&Sums, Panel, Given<'_>, &mut [f64], Targets),
}

/// Compiles the loops over panels of one width, or of any where it is 0.
macro_rules! panel_loops {
    ($v:ty, $width:literal $(, $features:literal)?) => {{
        $(#[target_feature(enable = $features)])?
        unsafe fn forward(work: &Sums, panel: Panel, given: Given<'_>, post: *mut f64) {
            // SAFETY: the caller's, and the features are those of the vectors.
            unsafe { work.forward_panel::<$v, $width>(panel, given, post) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn backward(
            work: &Sums,
            panel: Panel,
            given: Given<'_>,
            scratch: &mut [f64],
            to: Targets,
        ) {
            // SAFETY: as above.
            unsafe { work.backward_panel::<$v, $width>(panel, given, scratch, to) }
        }
        PanelLoops { forward, backward }
    }};
}

/// Compiles all loops, those over panels for one width.
macro_rules! loops {
    ($v:ty, $width:literal $(, $features:literal)?) => {{
        $(#[target_feature(enable = $features)])?
        unsafe fn product(work: &Product, a: *const f64, b: *const f64, c: *mut f64) {
            // SAFETY: the caller's, and the features are those of the vectors.
            unsafe { work.run::<$v>(a, b, c) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn soften(work: &Soften, values: &[f64], mask: &[u8], policy: &mut [f64]) {
            // SAFETY: as above.
            unsafe { work.run::<$v>(values, mask, policy) }
        }
        Loops { panels: panel_loops!($v, $width $(, $features)?), product, soften }
    }};
}

/// Some pieces, their weights, whether to add, the message and bbar.
type BringBack = unsafe fn(&Routes, Range<usize>, &[f64], bool, &[f64], *mut f64);

/// The loops that carry numbers to other places, as unsafe to call.
#[derive(Clone, Copy)]
struct Carriers {
    send: unsafe fn(&Routes, Range<usize>, &[f64], &[f64], *mut f64),
    bring_back: BringBack,
    read_rows: unsafe fn(&Rows<'_>, &[f64], &mut [f64]),
    write_rows: unsafe fn(&Rows<'_>, &[f64], &mut [f64], f64),
}

/// Compiles the loops that carry, for vectors of four.
macro_rules! carriers {
    ($v:ty $(, $features:literal)?) => {{
        $(#[target_feature(enable = $features)])?
        unsafe fn send(
            work: &Routes,
            pieces: Range<usize>,
            weights: &[f64],
            post: &[f64],
            message: *mut f64,
        ) {
            // SAFETY: the caller's, and the features are those of the vectors.
            unsafe { work.send::<$v>(pieces, weights, post, message) }
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
            unsafe { work.bring_back::<$v>(pieces, weights, add, message, bbar) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn read_rows(work: &Rows<'_>, panel: &[f64], rows: &mut [f64]) {
            // SAFETY: as above.
            unsafe { work.read::<$v>(panel, rows) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn write_rows(work: &Rows<'_>, rows: &[f64], panel: &mut [f64], least: f64) {
            // SAFETY: as above.
            unsafe { work.write::<$v>(rows, panel, least) }
        }
        Carriers { send, bring_back, read_rows, write_rows }
    }};
}

/// The loops for one kind of machine, which is the one this runs on: `available` makes no others.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    /// For panels of eight lanes, and for narrower ones.
    wide: Loops,
    narrow: Loops,
    carriers: Carriers,
}

#[cfg(target_arch = "x86_64")]
const AVX512: Kernels = Kernels {
    wide: loops!(Avx512, 8, "avx512f,avx512vl,avx2,fma"),
    ..AVX2
};

#[cfg(target_arch = "x86_64")]
const AVX2: Kernels = {
    let narrow = loops!(Avx2, 4, "avx2,fma");
    Kernels {
        wide: Loops {
            panels: panel_loops!(Avx2, 0, "avx2,fma"),
            ..narrow
        },
        narrow,
        carriers: carriers!(Avx2, "avx2,fma"),
    }
};

const PORTABLE: Kernels = {
    let loops = loops!(Portable, 0);
    Kernels {
        wide: loops,
        narrow: loops,
        carriers: carriers!(Portable),
    }
};

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
                list.push(AVX512);
            }
            if has_avx2() {
                list.push(AVX2);
            }
        }
        list.push(PORTABLE);
        list
    }

    /// The loops for panels of some width.
    fn loops(&self, width: usize) -> &Loops {
        if width < PANEL {
            &self.narrow
        } else {
            &self.wide
        }
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
            unsafe { (self.loops(panel.width).panels.forward)(work, panel, given, to.place()) }
        });
        if let Some(panel) = work.alone() {
            // SAFETY: just checked, and the machine has the instructions.
            unsafe { self.forward_alone(work, panel, given, scratch, post) }
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
            unsafe { (self.loops(panel.width).panels.backward)(work, panel, given, scratch, to) }
        });
        if let Some(panel) = work.alone() {
            // SAFETY: just checked, and the machine has the instructions.
            unsafe { self.backward_alone(work, panel, given, scratch, &mut results) }
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
            unsafe { (self.carriers.send)(work, pieces, weights, post, to.place()) }
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
            unsafe { (self.carriers.bring_back)(work, pieces, weights, add, message, to.place()) }
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
        unsafe { (self.loops(work.width).soften)(work, values, mask, policy) }
    }

    /// Copies a panel to rows in the order of the cells.
    pub fn read_rows(&self, work: &Rows<'_>, panel: &[f64], rows: &mut [f64]) {
        work.check(panel, rows);
        // SAFETY: just checked, and the machine has the instructions.
        unsafe { (self.carriers.read_rows)(work, panel, rows) }
    }

    /// Copies rows in the order of the cells to a panel; what is below `least` becomes zero.
    pub fn write_rows(&self, work: &Rows<'_>, rows: &[f64], panel: &mut [f64], least: f64) {
        work.check(panel, rows);
        // SAFETY: just checked, and the machine has the instructions.
        unsafe { (self.carriers.write_rows)(work, rows, panel, least) }
    }
}
