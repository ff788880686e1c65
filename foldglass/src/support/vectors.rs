//! Compiles loops for each kind of vectors, and runs those of this machine.

mod chacha;
pub(crate) mod small;
mod transpose;

pub(crate) use chacha::{PORTION, fill_portions};
#[cfg(target_arch = "x86_64")]
pub(crate) use transpose::columns;
pub(crate) use transpose::write_rows;

/// Work whose loops are compiled for each kind of vectors.
pub(crate) trait VectorWork {
    /// What it returns.
    type Found;

    /// Does the work. It has to be `#[inline(always)]`, as what it calls: a closure that is not inlined would be
    /// compiled for no vectors in particular.
    fn run(self) -> Self::Found;
}

/// Does some work with the best vectors of this machine. No instruction that rounds differently is among them unless
/// the work asks for it, so the bits are the same.
#[inline(always)]
pub(crate) fn on_vectors<W: VectorWork>(work: W) -> W::Found {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
        fn on_avx512<W: VectorWork>(work: W) -> W::Found {
            work.run()
        }
        #[target_feature(enable = "avx2,fma")]
        fn on_avx2<W: VectorWork>(work: W) -> W::Found {
            work.run()
        }
        if has_avx512() {
            // SAFETY: `has_avx512` has found all four features on this machine.
            return unsafe { on_avx512(work) };
        }
        if has_avx2() {
            // SAFETY: `has_avx2` has found both features on this machine.
            return unsafe { on_avx2(work) };
        }
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx512() -> bool {
    has_avx2() && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2() -> bool {
    !is_held_to_portable() && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// Whether tests hold this machine to the loops that other machines run: `FOLDGLASS_PORTABLE` in a build that checks itself.
#[cfg(target_arch = "x86_64")]
fn is_held_to_portable() -> bool {
    static HELD: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let asked = || std::env::var_os("FOLDGLASS_PORTABLE").is_some();
    cfg!(debug_assertions) && *HELD.get_or_init(asked)
}
