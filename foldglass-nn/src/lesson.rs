//! Turns a code of a class into a teacher that back ends can follow (paper, app. G.4).

use foldglass::model::class::Class;
use foldglass::model::policy::Code;
use std::collections::HashSet;
use thiserror::Error;

/// Where one step of one length finds its cell: at `first + window * histories + history`, both
/// read as base-q numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LessonStep {
    /// Symbols seen before x_t.
    pub before: usize,
    /// Symbols seen after x_t.
    pub after: usize,
    /// Tokens remembered.
    pub tokens: usize,
    /// The first cell of the step's group.
    pub first: usize,
    /// q to the number of remembered tokens.
    pub histories: usize,
}

/// A code, as something to be imitated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lesson {
    q: usize,
    lengths: Vec<usize>,
    steps: Vec<Vec<LessonStep>>,
    actions: Vec<u8>,
}

/// A class whose codes cannot be taught.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LessonError {
    /// A window cannot occur, so cells are not numbered by their symbols.
    #[error(
        "the window {} of {} never occurs: networks are taught, and read back as, codes of classes in \
         which every window occurs", spelled(.window), step_words(*.t)
    )]
    Gap {
        /// The symbols of the first such window.
        window: Vec<u16>,
        /// Its step; none in a tied class.
        t: Option<usize>,
    },
    /// Weights of lengths or of steps.
    #[error(
        "networks are taught, and read back as, codes of classes with equal weights of lengths and --reward \
         final: here the class is {0}"
    )]
    Weighted(String),
    /// Too many symbols.
    #[error("{0} symbols; at most 255 can be taught")]
    Symbols(usize),
}

fn spelled(window: &[u16]) -> String {
    let symbols: Vec<String> = window.iter().map(u16::to_string).collect();
    symbols.join(",")
}

fn step_words(t: Option<usize>) -> String {
    t.map_or("all steps".to_owned(), |t| format!("step {t}"))
}

/// The first window of a class that cannot occur.
fn gap(class: &Class) -> Option<LessonError> {
    let q = class.q();
    class.groups().iter().find_map(|group| {
        let symbols = group.before + 1 + group.after;
        let occurring: HashSet<usize> = (0..group.windows()).map(|n| group.window(n)).collect();
        let missing = (0..q.pow(symbols as u32)).find(|window| !occurring.contains(window))?;
        let symbol = |place: usize| (missing / q.pow((symbols - 1 - place) as u32) % q) as u16;
        Some(LessonError::Gap {
            window: (0..symbols).map(symbol).collect(),
            t: group.t,
        })
    })
}

impl Lesson {
    /// The lesson of a code. The law of the inputs may be any under which every window occurs.
    pub fn new(code: &Code) -> Result<Lesson, LessonError> {
        let class = code.class();
        let q = class.q();
        if q > 255 {
            return Err(LessonError::Symbols(q));
        }
        let task = class.task();
        if !task.reward().is_final() || !task.length_weights().is_equal() {
            return Err(LessonError::Weighted(class.spec().to_string()));
        }
        if !class.task().inputs().has_full_support()
            && let Some(gap) = gap(class)
        {
            return Err(gap);
        }
        let step = |&node: &usize| {
            let node = &class.nodes()[node];
            let group = &class.groups()[node.group];
            LessonStep {
                before: node.before,
                after: node.after,
                tokens: node.tokens,
                first: group.first_cell,
                histories: group.histories,
            }
        };
        let lengths = class.task().lengths().to_vec();
        let steps = (0..lengths.len())
            .map(|which| class.path(which).iter().map(step).collect())
            .collect();
        let actions = code.actions().iter().map(|&a| a as u8).collect();
        Ok(Lesson {
            q,
            lengths,
            steps,
            actions,
        })
    }

    /// The number of symbols.
    pub fn q(&self) -> usize {
        self.q
    }

    /// The lengths, ascending and equally likely.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// The steps of the length number `which`.
    pub fn steps(&self, which: usize) -> &[LessonStep] {
        &self.steps[which]
    }

    /// The actions of all cells.
    pub fn actions(&self) -> &[u8] {
        &self.actions
    }

    /// Gives a cell another action.
    pub(crate) fn set(&mut self, cell: usize, action: u8) {
        self.actions[cell] = action;
    }

    /// The cell that step t consults, t from 1.
    ///
    /// # Panics
    /// If the input's length is not one of the lesson's.
    pub fn cell(&self, x: &[u8], y: &[u8], t: usize) -> usize {
        let which = self.lengths.iter().position(|&length| length == x.len());
        let step = &self.steps[which.expect("a length of the lesson")][t - 1];
        let number = |part: &[u8]| part.iter().fold(0, |n, &d| n * self.q + usize::from(d));
        let window = number(&x[t - 1 - step.before..t + step.after]);
        step.first + window * step.histories + number(&y[t - 1 - step.tokens..t - 1])
    }

    /// What the code emits on an input.
    pub fn emit(&self, x: &[u8], y: &mut [u8]) {
        for t in 1..=x.len() {
            y[t - 1] = self.actions[self.cell(x, y, t)];
        }
    }
}

/// All inputs of one length, in the order of base-q numbers.
pub fn all_inputs(q: usize, length: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..q.pow(length as u32)).map(move |number| {
        let digit = |place: usize| (number / q.pow((length - 1 - place) as u32) % q) as u8;
        (0..length).map(digit).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::dynamics::chain::random_code;
    use foldglass::model::class::{Class, ClassSpec, Shape};
    use foldglass::model::inputs::InputLaw;
    use foldglass::model::operation::Operation;
    use foldglass::model::task::Task;
    use foldglass::support::exact::parse;
    use foldglass::support::stream::Stream;

    #[test]
    fn a_lesson_consults_the_cells_of_its_class() {
        for (shape, lengths) in [
            (Shape::untied(0, 0), vec![4]),
            (Shape::untied(2, 1), vec![2, 3, 4]),
            (Shape::tied(0, 3), vec![5]),
        ] {
            let task = Task::new(Operation::cyclic(3).unwrap(), &InputLaw::Uniform, &lengths);
            let class = Class::new(task.unwrap(), shape).unwrap();
            let code = random_code(&class, &mut Stream::new(4, 0));
            let lesson = Lesson::new(&code).unwrap();
            for &length in &lengths {
                for x in all_inputs(3, length) {
                    let mut y = vec![0; length];
                    lesson.emit(&x, &mut y);
                    let wide = |s: &[u8]| s.iter().map(|&s| s.into()).collect::<Vec<u16>>();
                    for t in 1..=length {
                        let cell = class.route(&wide(&x), t, &wide(&y));
                        assert_eq!(y[t - 1], code.action(cell) as u8, "{x:?} {t}");
                    }
                }
            }
        }
    }

    fn class_of(law: &InputLaw, shape: Shape) -> Class {
        let task = Task::new(Operation::cyclic(3).unwrap(), law, &[3]).unwrap();
        Class::new(task, shape).unwrap()
    }

    /// Laws by which every window occurs have the cells of the uniform law, and the same lesson.
    #[test]
    fn a_lesson_does_not_depend_on_a_law_under_which_every_window_occurs() {
        let markov = |k: &str| InputLaw::Markov(parse(k).unwrap());
        let row = ["1/2", "1/3", "1/6"].map(|p| parse(p).unwrap()).to_vec();
        let wide = Shape::untied(1, 1);
        for (law, shape) in [
            (markov("9/10"), wide),
            (InputLaw::Product(vec![row; 3]), wide),
            // A symbol never follows itself, which a window of one symbol does not show.
            (markov("0"), Shape::untied(0, 0)),
            (markov("1"), Shape::tied(0, 0)),
        ] {
            let lesson = |law: &InputLaw| {
                let code = random_code(&class_of(law, shape), &mut Stream::new(2, 0));
                Lesson::new(&code).unwrap()
            };
            assert_eq!(lesson(&law), lesson(&InputLaw::Uniform), "{law:?}");
        }
    }

    #[test]
    fn a_window_that_never_occurs_is_named() {
        let markov = |k: &str| InputLaw::Markov(parse(k).unwrap());
        let rows = [["1/2", "1/2", "0"], ["1", "0", "0"], ["1/3", "1/3", "1/3"]];
        let row = |row: [&str; 3]| row.map(|p| parse(p).unwrap()).to_vec();
        let product = InputLaw::Product(rows.map(row).to_vec());
        for (law, shape, said) in [
            (
                markov("0"),
                Shape::untied(1, 0),
                "the window 0,0 of step 2 never",
            ),
            (
                markov("1"),
                Shape::tied(1, 0),
                "the window 0,1 of all steps never",
            ),
            (product, Shape::untied(0, 0), "the window 2 of step 1 never"),
        ] {
            let code = random_code(&class_of(&law, shape), &mut Stream::new(2, 0));
            let error = Lesson::new(&code).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    /// A lesson has neither weights of lengths nor rewards of single steps: networks that learn it weigh all alike.
    #[test]
    fn weights_of_lengths_and_process_rewards_are_not_taught() {
        for (lengths, weights, rule) in [
            (&[2, 3][..], Some("1,2"), "final"),
            (&[3], None, "process"),
            (&[3], None, "process:1,2,4"),
        ] {
            let spec = ClassSpec {
                square: Operation::named("max:2").unwrap(),
                lengths: lengths.to_vec(),
                shape: Shape::untied(0, 0),
                inputs: InputLaw::Uniform,
                length_weights: weights.map(|weights| weights.parse().unwrap()),
                reward: rule.parse().unwrap(),
            };
            let class = spec.lay_out().unwrap();
            let code = random_code(&class, &mut Stream::new(2, 0));
            let error = Lesson::new(&code).unwrap_err();
            assert!(matches!(&error, LessonError::Weighted(_)), "{error}");
        }
    }

    #[test]
    fn inputs_come_in_order() {
        let inputs: Vec<Vec<u8>> = all_inputs(3, 2).collect();
        assert_eq!(inputs.len(), 9);
        assert_eq!(inputs[5], [1, 2]);
    }
}
