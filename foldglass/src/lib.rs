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
//! Nothing here reads a file or prints, and no result depends on a clock or on the number of threads. With the
//! feature `serde` the types that files hold read and write themselves.
//!
//! ```
//! use foldglass::prelude::*;
//!
//! // The paper's 5 x 5 square, inputs of length 4; a policy sees (t, x_t, y_{t-1}).
//! let class = ClassSpec::uniform(Operation::paper(), &[4], Shape::untied(0, 0)).lay_out()?;
//! assert_eq!(class.cells(), 80);
//! // The code that folds, which emits x_1 and then B[y, x], is right on every input.
//! assert!(count::reward(&Code::fold(&class)).is_one());
//! // The uniform policy is right one time in five.
//! let mut evaluator = Evaluator::new(&class)?;
//! assert!((evaluator.evaluate(&Policy::uniform(&class)) - 0.2).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Resources.** What only takes memory is made by `new`, within 8 GiB, or by `within` another [`Allowance`]; both
//! refuse before they take it. What may take long has a [`Context`] as its last argument: memory, threads and an
//! observer that receives progress and may stop it. What was stopped without a result returns an error whose variant
//! is `Stopped`; engines that can be continued ([`dynamics`], [`landscape::shelf`]) keep their state instead.

#![deny(unsafe_code)]

/// Describes a type in JSON Schema as another, in whose form files have it.
#[cfg(feature = "serde")]
macro_rules! schema_as {
    ($type:ty, $form:ty) => {
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                <$form as schemars::JsonSchema>::inline_schema()
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                <$form as schemars::JsonSchema>::schema_name()
            }

            fn schema_id() -> std::borrow::Cow<'static, str> {
                <$form as schemars::JsonSchema>::schema_id()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <$form as schemars::JsonSchema>::json_schema(generator)
            }
        }
    };
}
#[cfg(feature = "serde")]
pub(crate) use schema_as;

/// Reads and writes a type as the text of its `FromStr` and `Display`.
#[cfg(feature = "serde")]
macro_rules! serde_as_text {
    ($type:ty) => {
        crate::schema_as!($type, String);

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
pub use model::operation::{Operation, Symbol};
pub use model::policy::{Code, Policy};
pub use model::rewarded::{ExactWeights, RewardRule};
pub use model::task::Task;
pub use reward::evaluate::Evaluator;
pub use support::context::Context;
pub use support::exact::Reward;
pub use support::memory::Allowance;
pub use support::stream::Stream;
pub use support::watch::{Observer, Progress, Unwatched};

/// The names that most programs need: `use foldglass::prelude::*;`.
pub mod prelude {
    pub use crate::dynamics::cavi::{self, Runs};
    pub use crate::dynamics::chain::{self, Chains, Tempering};
    pub use crate::reward::count::{self, Counter};
    pub use crate::{Allowance, Class, ClassSpec, Code, Context, Evaluator, InputLaw, Operation};
    pub use crate::{ExactWeights, RewardRule};
    pub use crate::{Observer, Policy, Progress, Reward, Shape, Stream, Symbol, Task, Window};
}
