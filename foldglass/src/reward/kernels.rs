//! Gathers the loops that run on vectors, compiled for each kind of machine (paper, App. A).
//!
//! All that is unsafe in the crate is in this module and in `support::vectors`, and all of it is safe to call from outside:
//! the work of a kernel is described by a structure that knows how many entries of each buffer it
//! reaches, buffers are slices, and a run whose reach passes the end of one is refused, in every
//! build. Finding the reach is done once, where the description is made; comparing it costs a few
//! instructions a run.

#![deny(clippy::undocumented_unsafe_blocks)]

mod aligned;
mod octet;
mod panel;
mod product;
mod routes;
mod scatter;
mod soften;
mod sums;
mod transpose;
mod vector;
mod visits;

use crate::reward::layout::PANEL;
use crate::support::context::ONE_THREAD;
#[cfg(target_arch = "x86_64")]
use crate::support::vectors::{has_avx2, has_avx512};
pub(crate) use aligned::Aligned;
use product::Product;
pub(crate) use routes::{Landing, Moves, Origin, Routes};
use scatter::{Returned, Transfers};
pub(crate) use soften::Soften;
pub(crate) use sums::{Coming, Extent, PassInputs, Results, StepReward, Sums};
use sums::{Targets, Tile};
pub(crate) use transpose::{RowEntry, Transpose, Transposed, fetch};
#[cfg(target_arch = "x86_64")]
use vector::{Avx2, Avx512};
use vector::{Has, Lane, Portable};

/// A place that several threads write around, each where no other does.
#[derive(Clone, Copy)]
struct Shared(*mut f64);

impl Shared {
    fn place(self) -> *mut f64 {
        self.0
    }
}

// SAFETY: dereferenced only in the closure that `forward` gives to `each_tile`, whose tiles write disjoint
// places of the message.
unsafe impl Send for Shared {}
// SAFETY: a shared reference gives only a copy of the pointer, and copies write disjoint places, as for `Send`.
unsafe impl Sync for Shared {}

/// The loops over panels and cells, compiled for one kind of vectors. Each is unsafe to call with buffers
/// that its work's `check` refuses, with a panel that the vectors do not divide, and where the machine has
/// none of these vectors.
#[derive(Clone, Copy)]
struct Loops {
    panels: PanelLoops,
    product: unsafe fn(&Product, &[f64], &[f64], &mut [f64]),
    soften: unsafe fn(&Soften, &[f64], &[u8], &mut [f64]),
}

#[derive(Clone, Copy)]
struct PanelLoops {
    forward: unsafe fn(&Sums, Tile, PassInputs<'_>, &mut [f64]),
    backward: unsafe fn(&Sums, Tile, PassInputs<'_>, &[f64], Targets),
}

/// Compiles the loops over panels of one width, or of any where it is 0.
macro_rules! panel_loops {
    ($v:ty, $width:literal $(, $features:literal)?) => {{
        $(#[target_feature(enable = $features)])?
        unsafe fn forward(work: &Sums, tile: Tile, given: PassInputs<'_>, post: &mut [f64]) {
            // SAFETY: whoever calls a loop has checked the buffers, the panel and the machine, as `Loops` asks; the
            // features enabled here are those of the vectors.
            unsafe { work.forward_tile::<$v, $width>(Has::assume(), tile, given, post) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn backward(
            work: &Sums,
            tile: Tile,
            given: PassInputs<'_>,
            bbar: &[f64],
            to: Targets,
        ) {
            // SAFETY: as for `forward`: the buffers, the panel and the machine were checked by the caller.
            unsafe { work.backward_tile::<$v, $width>(Has::assume(), tile, given, bbar, to) }
        }
        PanelLoops { forward, backward }
    }};
}

/// Compiles all loops, those over panels for one width.
macro_rules! loops {
    ($v:ty, $width:literal $(, $features:literal)?) => {{
        $(#[target_feature(enable = $features)])?
        fn product(work: &Product, a: &[f64], b: &[f64], c: &mut [f64]) {
            // SAFETY: the features are those of the vectors.
            work.run::<$v>(unsafe { Has::assume() }, a, b, c)
        }
        $(#[target_feature(enable = $features)])?
        fn soften(work: &Soften, values: &[f64], mask: &[u8], policy: &mut [f64]) {
            // SAFETY: the features are those of the vectors.
            work.run::<$v>(unsafe { Has::assume() }, values, mask, policy)
        }
        Loops { panels: panel_loops!($v, $width $(, $features)?), product, soften }
    }};
}

/// The loops for one kind of machine, which is the one this runs on: `available` makes no others.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    /// For panels of eight lanes, and for narrower ones.
    wide: Loops,
    narrow: Loops,
    transfers: Transfers,
}

#[cfg(target_arch = "x86_64")]
const AVX512: Kernels = Kernels {
    wide: loops!(Avx512, 8, "avx512f,avx512vl,avx2,fma"),
    transfers: Transfers::AVX512,
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
        transfers: Transfers::AVX2,
    }
};

/// The lanes of any machine. WebAssembly makes each multiply-add by a call: one lane is as fast there as four, and a
/// fourth of the code.
#[cfg(not(target_arch = "wasm32"))]
type FallbackLanes = Portable;
#[cfg(target_arch = "wasm32")]
type FallbackLanes = f64;

const PORTABLE: Kernels = {
    let loops = loops!(FallbackLanes, 0);
    Kernels {
        wide: loops,
        narrow: loops,
        transfers: Transfers::PORTABLE,
    }
};

/// The threads that a step may use: those of the rayon pool it is called in, or the caller's alone.
fn threads() -> usize {
    if ONE_THREAD {
        return 1;
    }
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

    /// Makes the message that a step sends, of alpha and the policy; `mixing` are the weights of symbols drawn
    /// on the way.
    ///
    /// # Panics
    /// If it would leave a buffer, here as in all that follow.
    #[inline(always)]
    pub fn forward(
        &self,
        (work, routes): (&Sums, &Routes),
        given: PassInputs<'_>,
        mixing: &[f64],
        scratch: &mut [f64],
        message: &mut [f64],
    ) {
        work.check_forward(&given, scratch);
        assert!(routes.is_of(&work.extent), "routes of another step");
        routes.check(mixing, message);
        if routes.adds() {
            message.fill(0.0);
        }
        let to = Shared(message.as_mut_ptr());
        work.each_tile(!routes.adds(), scratch, |tile, scratch| {
            // SAFETY: just checked, and the machine has the instructions. Routes that add run on one thread.
            // The others are one-to-one: where they are made, the place of every lane, state, entering
            // symbol, history and action was seen to be taken once, and these are all that a tile
            // writes. Any two tiles differ in their lanes, history or states, so they write disjoint places.
            unsafe {
                match tile.panel.width {
                    1 => self.forward_lone(work, tile, given, scratch),
                    width => (self.loops(width).panels.forward)(work, tile, given, scratch),
                }
                routes.scatter(&self.transfers, tile, mixing, scratch, to.place());
            }
        });
    }

    /// Computes values, message and visits of a step, as far as they are wanted.
    #[inline(always)]
    pub fn backward(
        &self,
        work: &Sums,
        given: PassInputs<'_>,
        coming: Coming<'_>,
        scratch: &mut [f64],
        mut results: Results<'_>,
    ) {
        work.check_backward(&given, scratch, &results);
        coming.check(work);
        if results.values.is_empty() && results.message.is_empty() {
            return;
        }
        let to = results.targets();
        work.each_tile(true, scratch, |tile, scratch| {
            // SAFETY: just checked, and the machine has the instructions; tiles write to lanes and
            // cells of their own, or add to those of tiles before them in the panel.
            unsafe {
                self.gather_bbar(work, tile, given, coming, scratch);
                match tile.panel.width {
                    1 => self.backward_lone(work, tile, given, scratch, to),
                    width => (self.loops(width).panels.backward)(work, tile, given, scratch, to),
                }
            }
        });
    }

    /// Makes weighted bbar of a tile, in scratch.
    ///
    /// # Safety
    /// The buffers are those of `backward`, checked.
    #[inline(always)]
    unsafe fn gather_bbar(
        &self,
        work: &Sums,
        tile: Tile,
        given: PassInputs<'_>,
        coming: Coming<'_>,
        bbar: &mut [f64],
    ) {
        if coming.starts.is_empty() {
            bbar[..work.block(tile)].fill(0.0);
        }
        for (n, message) in coming.messages().enumerate() {
            let from = Returned {
                message,
                mixing: coming.mixing,
                weights: given.weights,
                add: n > 0,
            };
            let routes = coming.routes.expect("routes of what came back");
            // SAFETY: `backward` has checked the buffers, and `coming.check` the routes, for the machine's own
            // transfers.
            unsafe { routes.gather(&self.transfers, tile, from, bbar) };
        }
        if let Some(reward) = coming.reward {
            work.add_reward(tile, given.weights, reward, bbar);
        }
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
}
