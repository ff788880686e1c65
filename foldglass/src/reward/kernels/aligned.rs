//! Holds f64 on cache-line boundaries, so that no vector of a table straddles two lines.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

const LINE: usize = 64;
const HALF_PAGE: usize = 2048;
const HUGE_PAGE: usize = 2 << 20;

/// A fixed number of f64, zero at first, the first on a cache line of its own; large ones ask the
/// system for huge pages, because a pass walks tables of many megabytes front to back.
pub(crate) struct Aligned {
    start: NonNull<f64>,
    len: usize,
    /// How many f64 lie unused before the first.
    lead: usize,
}

// SAFETY: it owns its memory, like a Vec<f64>.
unsafe impl Send for Aligned {}
// SAFETY: a shared one is only read, like a Vec<f64>.
unsafe impl Sync for Aligned {}

impl Aligned {
    pub fn zeros(len: usize) -> Aligned {
        Aligned::led(len, 0)
    }

    /// Zeros that start half a page later than others: a loop that reads the one table and writes
    /// the other at the same place would otherwise wait, because processors compare the low bits of
    /// addresses first.
    pub fn apart(len: usize) -> Aligned {
        Aligned::led(len, HALF_PAGE / size_of::<f64>())
    }

    fn led(len: usize, lead: usize) -> Aligned {
        if len == 0 {
            return Aligned {
                start: NonNull::dangling(),
                len,
                lead: 0,
            };
        }
        let layout = Aligned::layout(lead + len);
        // SAFETY: the layout is not empty.
        let Some(start) = NonNull::new(unsafe { alloc_zeroed(layout) }) else {
            handle_alloc_error(layout)
        };
        #[cfg(target_os = "linux")]
        if layout.align() == HUGE_PAGE {
            // SAFETY: advice on our own fresh pages; a refusal changes nothing.
            unsafe { libc::madvise(start.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE) };
        }
        // SAFETY: that many f64 lie before the `len` that are used.
        let start = unsafe { start.cast::<f64>().add(lead) };
        Aligned { start, len, lead }
    }

    fn layout(len: usize) -> Layout {
        let bytes = len * size_of::<f64>();
        let align = if bytes >= 2 * HUGE_PAGE {
            HUGE_PAGE
        } else {
            LINE
        };
        Layout::from_size_align(bytes, align).expect("a table is smaller than the address space")
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: allocated by `led` with this very layout, and not used again.
            unsafe {
                let start = self.start.sub(self.lead);
                dealloc(start.as_ptr().cast(), Aligned::layout(self.lead + self.len));
            }
        }
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Aligned {
        let mut copy = Aligned::led(self.len, self.lead);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Aligned {
    type Target = [f64];

    #[inline(always)]
    fn deref(&self) -> &[f64] {
        // SAFETY: it owns this many f64, zeros at first; none at all from a dangling start.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Aligned {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f64] {
        // SAFETY: as in `deref`, and borrowed mutably for as long as the slice.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl PartialEq for Aligned {
    fn eq(&self, other: &Aligned) -> bool {
        self[..] == other[..]
    }
}

impl std::fmt::Debug for Aligned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self[..].fmt(f)
    }
}
