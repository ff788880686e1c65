//! Evaluates, exactly, what reinforcement learning with verifiable rewards sees on iterated
//! quasigroup multiplication, and runs the dynamics that the paper compares on it.
//!
//! A [`Task`] is a Latin square, an input law and lengths. A [`Class`] is what a policy may depend
//! on, its cells numbered. A [`Policy`] or [`Code`] knows its class; it is evaluated by an
//! [`Evaluator`] (f64, all of App. A) or counted by [`count`] (integers). [`cavi`] and [`chain`] are
//! tabular RLVR and Monte Carlo; [`landscape`] says where they can get stuck, [`thermo`]
//! what holds at a temperature. [`anatomy`] takes a code apart, [`escape`] makes paths of the theorems, [`gauge`] relabels tokens. What a search finds is a [`claim`], and [`check`]
//! re-verifies it.
//!
//! Nothing here reads a file or prints, and no result depends on a clock. Every engine states its memory before it
//! takes it ([`memory`]) and tells an observer how far it is ([`watch`]). With the feature `serde`
//! the types that files hold read and write themselves.
//!
//! ```
//! use foldglass::{Allowance, ClassSpec, Code, Evaluator, LatinSquare, Policy, Shape, count};
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

pub mod anatomy;
pub mod cavi;
pub mod chain;
pub mod check;
pub mod claim;
pub mod class;
pub mod count;
pub mod escape;
pub mod evaluate;
pub mod exact;
pub mod gauge;
pub mod inputs;
#[allow(unsafe_code)]
mod kernels;
pub mod landscape;
pub mod memory;
pub mod names;
pub mod policy;
pub mod quasigroup;
pub mod stats;
pub mod stream;
pub mod task;
pub mod thermo;
pub mod watch;

pub use class::{Class, ClassSpec, Shape, Window};
pub use evaluate::Evaluator;
pub use exact::Reward;
pub use inputs::InputLaw;
pub use memory::Allowance;
pub use policy::{Code, Policy};
pub use quasigroup::{LatinSquare, Symbol};
pub use stream::Stream;
pub use task::Task;
pub use watch::{Observer, Progress, Unwatched};
