//! Describes a class by plain data: what flags, studies and files state, and what they carry.

use super::{Class, ClassError, Node, Pattern, Shape, Window};
use crate::model::inputs::InputLaw;
use crate::model::operation::Operation;
use crate::model::rewarded::{ExactWeights, RewardRule};
use crate::model::task::{Task, TaskError, sorted};
use crate::support::memory::{Allowance, TooLarge};
use std::fmt;
use thiserror::Error;

/// The widest window and the longest memory accepted. A class that fills it fits no machine; one
/// that does not, for its inputs are short, is the same class with a smaller number.
pub const WIDEST: usize = 1024;

/// All that a class is made of. With the feature `serde` it is the object `class` of every file:
/// `{"square":[[..]],"lengths":[..],"window":[p,f],"tied":..,"memory":..,"inputs":..}`, with `length_weights` and
/// `reward` where they are not the default.
///
/// ```
/// use foldglass::{ClassSpec, Operation, Shape};
/// let spec = ClassSpec::uniform(Operation::paper(), &[7], Shape::tied(0, 3));
/// let class = spec.lay_out().unwrap();
/// assert_eq!(class.cells(), 4525);
/// assert_eq!(class.spec(), spec);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(schemars::JsonSchema, serde::Serialize, serde::Deserialize)
)]
#[cfg_attr(feature = "serde", serde(into = "Form", try_from = "Form"))]
#[cfg_attr(feature = "serde", schemars(with = "Form"))]
pub struct ClassSpec {
    /// The multiplication table B.
    pub square: Operation,
    /// The lengths of the inputs, ascending.
    pub lengths: Vec<usize>,
    /// Window, memory and tying.
    pub shape: Shape,
    /// The law of the inputs.
    pub inputs: InputLaw,
    /// The weights of the lengths, in the order of `lengths`; none where they are equal.
    pub length_weights: Option<ExactWeights>,
    /// Which tokens are rewarded.
    pub reward: RewardRule,
}

/// A description of no class.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// A window or a memory wider than any class.
    #[error(
        "the window ({},{}) with a memory of {} is refused: each is at most {WIDEST}",
        .0.window.past, .0.window.future, .0.memory
    )]
    TooWide(Shape),
    /// No task.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// No class.
    #[error(transparent)]
    Class(ClassError),
    /// Too much memory.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

impl From<ClassError> for SpecError {
    fn from(error: ClassError) -> SpecError {
        match error {
            ClassError::TooLarge(error) => SpecError::TooLarge(error),
            other => SpecError::Class(other),
        }
    }
}

impl ClassSpec {
    /// A class of uniform inputs.
    pub fn uniform(square: Operation, lengths: &[usize], shape: Shape) -> ClassSpec {
        ClassSpec {
            square,
            lengths: lengths.to_vec(),
            shape,
            inputs: InputLaw::Uniform,
            length_weights: None,
            reward: RewardRule::Final,
        }
    }

    /// The same class as [`Class::spec`] would describe it: lengths ascending, their weights with them, and equal
    /// weights left out.
    pub fn canonical(mut self) -> Result<ClassSpec, TaskError> {
        let weights = self.length_weights.as_ref();
        let (lengths, weights) = sorted(&self.lengths, weights)?;
        self.lengths = lengths;
        self.length_weights = Some(weights).filter(|weights| !weights.is_equal());
        // Equal weights of another number than the steps stay: laying the class out refuses them.
        if self.reward.weighs_steps_of(&self.lengths) {
            self.reward = self.reward.canonical();
        }
        Ok(self)
    }

    /// Lays the class out within the memory that is allowed unless more is asked for, or says what is wrong
    /// with it.
    pub fn lay_out(&self) -> Result<Class, SpecError> {
        self.lay_out_within(Allowance::default())
    }

    /// Lays the class out within this memory.
    pub fn lay_out_within(&self, memory: Allowance) -> Result<Class, SpecError> {
        let Window { past, future } = self.shape.window;
        if past.max(future).max(self.shape.memory) > WIDEST {
            return Err(SpecError::TooWide(self.shape));
        }
        memory.check(&self.task_of(), self.task_bytes())?;
        let (square, weights) = (self.square.clone(), self.length_weights.as_ref());
        let task = Task::weighted(square, &self.inputs, &self.lengths, weights, &self.reward)?;
        Ok(Class::within(task, self.shape, memory)?)
    }

    fn task_of(&self) -> String {
        let longest = self.lengths.iter().max().copied().unwrap_or(0);
        format!("a task of length {longest}")
    }

    /// The bytes that are taken before the table of the cells is checked: by position the law and a factor
    /// of the denominator, of which a task has one, by node the node and where it is found.
    fn task_bytes(&self) -> Option<u128> {
        let size = |bytes: usize| bytes as u128;
        let longest = self.lengths.iter().max().map_or(0, |&t| t as u128);
        let factor = match &self.inputs {
            InputLaw::Uniform => u128::from(self.square.q().ilog2() + 1),
            // Denominators of more than 63 bits are refused.
            InputLaw::Markov(_) | InputLaw::Product(_) => 63,
        };
        let positions = longest.checked_mul(size(size_of::<usize>()) + factor.div_ceil(8))?;
        // Steps of several lengths are one node unless one sees the end of its input.
        let ends = size(self.lengths.len()).checked_mul(size(self.shape.window.future))?;
        // Of a B-tree half is filled at least.
        let found =
            2 * size_of::<((usize, usize), usize)>() + 2 * size_of::<(Pattern, Vec<usize>)>();
        let node = size(size_of::<Node>() + found + 4 * size_of::<usize>());
        let nodes = longest.checked_add(ends)?.checked_mul(node)?;
        positions.checked_add(nodes)
    }
}

impl fmt::Display for ClassSpec {
    /// `q=5 T=7 window (0,3) tied`, for messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths: Vec<String> = self.lengths.iter().map(usize::to_string).collect();
        let (q, Shape { window, .. }) = (self.square.q(), self.shape);
        let Window { past, future } = window;
        write!(f, "q={q} T={} window ({past},{future})", lengths.join(","))?;
        if self.shape.memory != 1 {
            write!(f, " memory {}", self.shape.memory)?;
        }
        if self.shape.tied {
            f.write_str(" tied")?;
        }
        if self.inputs != InputLaw::Uniform {
            write!(f, " inputs {}", self.inputs)?;
        }
        if let Some(weights) = &self.length_weights {
            write!(f, " length weights {weights}")?;
        }
        match &self.reward {
            RewardRule::Final => Ok(()),
            rule => write!(f, " reward {rule}"),
        }
    }
}

impl Class {
    /// What it is made of.
    pub fn spec(&self) -> ClassSpec {
        ClassSpec {
            square: self.task().square().clone(),
            lengths: self.task().lengths().to_vec(),
            shape: self.shape(),
            inputs: self.task().inputs().law().clone(),
            length_weights: Some(self.task().length_weights())
                .filter(|weights| !weights.is_equal())
                .cloned(),
            reward: self.task().reward().clone(),
        }
    }
}

/// The keys of the object `class`.
#[cfg(feature = "serde")]
#[derive(schemars::JsonSchema, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Class")]
struct Form {
    square: Operation,
    lengths: Vec<usize>,
    window: [usize; 2],
    tied: bool,
    memory: usize,
    inputs: InputLaw,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    length_weights: Option<ExactWeights>,
    #[serde(default, skip_serializing_if = "RewardRule::is_final")]
    reward: RewardRule,
}

#[cfg(feature = "serde")]
impl From<ClassSpec> for Form {
    fn from(spec: ClassSpec) -> Form {
        let Shape {
            window,
            memory,
            tied,
        } = spec.shape;
        Form {
            square: spec.square,
            lengths: spec.lengths,
            window: [window.past, window.future],
            tied,
            memory,
            inputs: spec.inputs,
            length_weights: spec.length_weights,
            reward: spec.reward,
        }
    }
}

#[cfg(feature = "serde")]
impl TryFrom<Form> for ClassSpec {
    type Error = SpecError;

    /// Puts the lengths in order, and refuses at once what no memory could make a class.
    fn try_from(form: Form) -> Result<ClassSpec, SpecError> {
        let [past, future] = form.window;
        let shape = Shape {
            window: Window { past, future },
            memory: form.memory,
            tied: form.tied,
        };
        if past.max(future).max(form.memory) > WIDEST {
            return Err(SpecError::TooWide(shape));
        }
        let spec = ClassSpec {
            square: form.square,
            lengths: form.lengths,
            shape,
            inputs: form.inputs,
            length_weights: form.length_weights,
            reward: form.reward,
        };
        Ok(spec.canonical()?)
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::*;
    use crate::support::exact::parse;

    fn describe(inputs: InputLaw, lengths: &[usize], shape: Shape) -> (ClassSpec, String) {
        let spec = ClassSpec {
            inputs,
            ..ClassSpec::uniform(Operation::cyclic(2).unwrap(), lengths, shape)
        };
        let text = serde_json::to_string(&spec).unwrap();
        (spec, text)
    }

    #[test]
    fn a_class_survives_its_description() {
        let row = |p: &str, q: &str| vec![parse(p).unwrap(), parse(q).unwrap()];
        let memory = Shape {
            memory: 2,
            ..Shape::untied(0, 0)
        };
        let product = InputLaw::Product(vec![row("1/3", "2/3"), row("0", "1")]);
        let markov = InputLaw::Markov(parse("0.9").unwrap());
        for (law, lengths, shape) in [
            (InputLaw::Uniform, vec![3, 4], Shape::untied(1, 1)),
            (markov, vec![5], Shape::tied(0, 2)),
            (product, vec![2], memory),
        ] {
            let (spec, text) = describe(law, &lengths, shape);
            let read: ClassSpec = serde_json::from_str(&text).unwrap();
            let lay_out = |spec: &ClassSpec| spec.lay_out().unwrap();
            assert!(lay_out(&read) == lay_out(&spec), "{text}");
            assert_eq!(lay_out(&read).spec(), spec);
        }
    }

    #[test]
    fn a_description_has_the_documented_form() {
        let (_, text) = describe(InputLaw::Uniform, &[2], Shape::untied(0, 0));
        assert_eq!(
            text,
            "{\"square\":[[0,1],[1,0]],\"lengths\":[2],\"window\":[0,0],\"tied\":false,\
             \"memory\":1,\"inputs\":\"uniform\"}"
        );
        let law = InputLaw::Markov(parse("0.9").unwrap());
        let (spec, text) = describe(law, &[2], Shape::tied(0, 0));
        assert!(
            text.ends_with("\"inputs\":{\"markov\":\"9/10\"}}"),
            "{text}"
        );
        assert_eq!(
            spec.to_string(),
            "q=2 T=2 window (0,0) tied inputs markov:9/10"
        );
    }

    #[test]
    fn a_long_task_is_charged_for_one_denominator() {
        let allowance = Allowance(64 << 20);
        for (q, length, shape) in [
            (5, 30_000, Shape::untied(0, 0)),
            (5, 40_000, Shape::tied(1, 1)),
            (2, 100_000, Shape::untied(0, 0)),
        ] {
            let square = Operation::cyclic(q).unwrap();
            let spec = ClassSpec::uniform(square, &[length], shape);
            let class = spec.lay_out_within(allowance).unwrap();
            assert_eq!(class.task().longest(), length);
        }
        // Far longer ones are refused before anything is taken.
        for length in [10_000_000, 10_000_000_000, usize::MAX] {
            let (spec, _) = describe(InputLaw::Uniform, &[length], Shape::tied(0, 0));
            let error = spec.lay_out_within(allowance).unwrap_err().to_string();
            assert!(error.contains(&format!("length {length}")), "{error}");
        }
    }

    #[test]
    fn what_describes_no_class_is_refused_with_its_place() {
        let (_, text) = describe(InputLaw::Uniform, &[2], Shape::untied(0, 0));
        for (from, to, said) in [
            ("[0,1],[1,0]", "[0,1],[1,2]", "row 1"),
            ("\"lengths\":[2]", "\"lengths\":[]", "no length"),
            ("\"lengths\":[2]", "\"lengths\":[2,2]", "twice"),
            (
                "\"lengths\":[2]",
                "\"lengths\":[99999999999]",
                "99999999999",
            ),
            ("[0,0]", "[0,9999]", "9999"),
            ("\"memory\":1", "\"memory\":0", "memory of 0"),
            ("\"uniform\"", "{\"markov\":\"x\"}", "`x`"),
            ("\"uniform\"", "{\"markov\":\"3/2\"}", "[0, 1]"),
            ("\"uniform\"", "{\"product\":[[\"1\",\"0\"]]}", "1 rows"),
            ("\"tied\"", "\"knotted\"", "knotted"),
            ("\"uniform\"", "\"gauss\"", "gauss"),
            ("\"memory\":1,", "", "memory"),
        ] {
            assert!(text.contains(from), "{from}");
            let problem = match serde_json::from_str::<ClassSpec>(&text.replace(from, to)) {
                Ok(spec) => spec.lay_out().unwrap_err().to_string(),
                Err(error) => error.to_string(),
            };
            assert!(problem.contains(said), "{problem}");
        }
    }
}
