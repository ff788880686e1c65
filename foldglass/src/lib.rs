//! Evaluates, exactly, what reinforcement learning with verifiable rewards sees on iterated
//! quasigroup multiplication, and runs the dynamics that the paper compares on it.
//!
//! The folders follow the paper. Read them in this order:
//!
//! 1. [`model`]: a [`Task`] is a multiplication table, an input law and lengths. A [`Class`] lists the cells that a
//!    policy may depend on. A [`Code`] gives each cell one action, a [`Policy`] a distribution over actions (section 2).
//! 2. [`reward`]: the exact expected reward J, as an integer for codes ([`reward::count`]) and in f64 for policies
//!    ([`Evaluator`]) (App. A).
//! 3. [`dynamics`]: tabular RLVR and Monte Carlo (section 2.1, App. G).
//! 4. [`gibbs`]: sums over all codes at a temperature (section 3, App. F).
//! 5. [`landscape`]: maxima, traps, barriers and ways out (section 4, App. B, D, E and G.6).
//! 6. [`proof`]: claims about codes, and a checker that shares nothing with the searches.
//! 7. [`support`]: exact numbers, random streams, statistics, memory, progress.
//!
//! Nothing here reads a file or prints, and no result depends on a clock. Every engine states its memory before it
//! takes it ([`support::memory`]) and reports its progress to an observer ([`support::watch`]). With the feature
//! `serde` the types that files hold read and write themselves.
//!
//! ```
//! use foldglass::{Allowance, ClassSpec, Code, Evaluator, LatinSquare, Policy, Shape, reward::count};
//!
//! // The paper's 5 x 5 square, inputs of length 4; a policy sees (t, x_t, y_{t-1}).
//! let spec = ClassSpec::uniform(LatinSquare::paper(), &[4], Shape::untied(0, 0));
//! let class = spec.lay_out(Allowance::default())?;
//! assert_eq!(class.cells(), 80);
//!
//! // The code that folds: emit x_1, then B[y, x].
//! let fold = Code::from_fn(&class, |cell| {
//!     let key = class.key(cell);
//!     let x = key.x[0].unwrap();
//!     key.y[0].map_or(x, |y| class.task().square().multiply(y, x))
//! });
//! assert!(count::reward(&fold).is_one());
//!
//! let mut evaluator = Evaluator::new(&class, Allowance::default())?;
//! assert!((evaluator.evaluate(&Policy::uniform(&class)) - 0.2).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

/// Reads and writes a type as the text of its `FromStr` and `Display`.
#[cfg(feature = "serde")]
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
#[cfg(feature = "serde")]
pub(crate) use serde_as_text;

pub mod dynamics;
pub mod gibbs;
pub mod landscape;
pub mod model;
pub mod proof;
pub mod reward;
pub mod support;

pub use model::class::{Class, ClassSpec, Shape, Window};
pub use model::inputs::InputLaw;
pub use model::policy::{Code, Policy};
pub use model::quasigroup::{LatinSquare, Symbol};
pub use model::task::Task;
pub use reward::evaluate::Evaluator;
pub use support::exact::Reward;
pub use support::memory::Allowance;
pub use support::stream::Stream;
pub use support::watch::{Observer, Progress, Unwatched};
