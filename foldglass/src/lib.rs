//! Evaluates, exactly, what reinforcement learning with verifiable rewards sees on iterated
//! quasigroup multiplication, and runs the dynamics that the paper compares on it.
//!
//! A [`task::Task`] is a Latin square, an input law and lengths. A [`class::Class`] is what a
//! policy may depend on, its cells numbered. A [`policy::Policy`] or [`policy::Code`] of a class is
//! evaluated by an [`evaluate::Evaluator`] (f64, all of App. A) or counted by [`count`] (integers).
//! [`cavi`] and [`chain`] are tabular RLVR and Monte Carlo; [`landscape`] says where they can get
//! stuck, and [`thermo`] what holds at a temperature. [`escape`] makes paths of the theorems,
//! [`gauge`] relabels tokens, and [`check`] re-verifies what the others claim.
//!
//! ```
//! use foldglass::class::{Allowance, Class, Shape};
//! use foldglass::count;
//! use foldglass::evaluate::Evaluator;
//! use foldglass::inputs::InputLaw;
//! use foldglass::policy::{Code, Policy};
//! use foldglass::quasigroup::LatinSquare;
//! use foldglass::task::Task;
//!
//! // The paper's 5 x 5 square, inputs of length 4; a policy sees (t, x_t, y_{t-1}).
//! let task = Task::new(LatinSquare::paper(), &InputLaw::Uniform, &[4])?;
//! let class = Class::new(task, Shape::untied(0, 0), Allowance::default())?;
//! assert_eq!(class.cells(), 80);
//!
//! // The code that folds: emit x_1, then B[y, x].
//! let fold = Code::from_fn(&class, |cell| {
//!     let key = class.key(cell);
//!     let x = key.x[0].unwrap();
//!     key.y[0].map_or(x, |y| class.task().square().multiply(y, x))
//! });
//! assert_eq!(count::reward(&class, &fold).to_string(), "1/1");
//!
//! let mut evaluator = Evaluator::new(&class, Allowance::default())?;
//! assert!((evaluator.evaluate(&Policy::uniform(&class)) - 0.2).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod aligned;
pub mod cavi;
pub mod chain;
pub mod check;
pub mod class;
pub mod count;
pub mod escape;
pub mod evaluate;
pub mod exact;
pub mod gauge;
pub mod inputs;
mod kernels;
pub mod landscape;
pub mod policy;
pub mod quasigroup;
pub mod stats;
pub mod stream;
pub mod task;
pub mod thermo;
