//! Turns a code of a class into a teacher that back ends can follow (paper, app. G.4).

use foldglass::class::Class;
use foldglass::policy::Code;
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
pub enum LessonError {
    /// Lessons are taught on uniform inputs.
    #[error("only classes with uniform inputs can be taught")]
    Law,
    /// Some windows cannot occur, so cells are not numbered by their symbols.
    #[error("every input needs a probability above 0: some windows of this class never occur")]
    Gaps,
    /// Too many symbols.
    #[error("{0} symbols; at most 255 can be taught")]
    Symbols(usize),
}

impl Lesson {
    /// The lesson of a code.
    pub fn new(code: &Code) -> Result<Lesson, LessonError> {
        let class = code.class();
        if !class.task().inputs().is_uniform() {
            return Err(LessonError::Law);
        }
        let actions = code.actions().iter().map(|&a| a as u8).collect();
        Ok(Lesson {
            actions,
            ..Lesson::places(class)?
        })
    }

    /// Where steps find their cells, without actions; under any law that gives every input a probability.
    pub(crate) fn places(class: &Class) -> Result<Lesson, LessonError> {
        let q = class.q();
        if q > 255 {
            return Err(LessonError::Symbols(q));
        }
        if !class.task().inputs().has_full_support() {
            return Err(LessonError::Gaps);
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
        Ok(Lesson {
            q,
            lengths,
            steps,
            actions: Vec::new(),
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
    use foldglass::chain::random_code;
    use foldglass::class::{Class, Shape};
    use foldglass::inputs::InputLaw;
    use foldglass::memory::Allowance;
    use foldglass::quasigroup::LatinSquare;
    use foldglass::stream::Stream;
    use foldglass::task::Task;

    #[test]
    fn a_lesson_consults_the_cells_of_its_class() {
        for (shape, lengths) in [
            (Shape::untied(0, 0), vec![4]),
            (Shape::untied(2, 1), vec![2, 3, 4]),
            (Shape::tied(0, 3), vec![5]),
        ] {
            let task = Task::new(
                LatinSquare::cyclic(3).unwrap(),
                &InputLaw::Uniform,
                &lengths,
            );
            let class = Class::new(task.unwrap(), shape, Allowance::default()).unwrap();
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

    #[test]
    fn inputs_come_in_order() {
        let inputs: Vec<Vec<u8>> = all_inputs(3, 2).collect();
        assert_eq!(inputs.len(), 9);
        assert_eq!(inputs[5], [1, 2]);
    }
}
