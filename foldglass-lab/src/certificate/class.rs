//! Describes a class so that a file needs no other.

use foldglass::class::{Allowance, Class, ClassError, Shape, Window};
use foldglass::exact::{lowest_terms, parse};
use foldglass::inputs::InputLaw;
use foldglass::quasigroup::LatinSquare;
use foldglass::task::Task;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::flags::check_lengths;
use crate::flags::shape::WIDEST;

/// A class in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassFile {
    square: Vec<Vec<i64>>,
    lengths: Vec<usize>,
    window: [usize; 2],
    tied: bool,
    memory: usize,
    inputs: Law,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Law {
    Uniform,
    Markov(String),
    Product(Vec<Vec<String>>),
}

impl Law {
    fn of(law: &InputLaw) -> Law {
        match law {
            InputLaw::Uniform => Law::Uniform,
            InputLaw::Markov(k) => Law::Markov(lowest_terms(k)),
            InputLaw::Product(rows) => Law::Product(
                rows.iter()
                    .map(|row| row.iter().map(lowest_terms).collect())
                    .collect(),
            ),
        }
    }

    fn law(&self) -> Result<InputLaw, String> {
        let number = |text: &String| parse(text).map_err(|error| format!("inputs: {error}"));
        Ok(match self {
            Law::Uniform => InputLaw::Uniform,
            Law::Markov(k) => InputLaw::Markov(number(k)?),
            Law::Product(rows) => {
                let row = |row: &Vec<String>| row.iter().map(number).collect();
                InputLaw::Product(rows.iter().map(row).collect::<Result<_, String>>()?)
            }
        })
    }
}

impl ClassFile {
    /// Describes a class.
    pub fn of(class: &Class) -> ClassFile {
        let Shape {
            window,
            memory,
            tied,
        } = class.shape();
        let task = class.task();
        let row = |row: &[u16]| row.iter().map(|&s| i64::from(s)).collect();
        ClassFile {
            square: task.square().rows().map(row).collect(),
            lengths: task.lengths().to_vec(),
            window: [window.past, window.future],
            tied,
            memory,
            inputs: Law::of(task.inputs().law()),
        }
    }

    /// Lays out the class that is described, or says what is wrong with the description.
    pub fn class(&self, allowance: Allowance) -> Result<Class, String> {
        let square = LatinSquare::from_rows(&self.square)
            .map_err(|error| format!("the square of its class: {error}"))?;
        let says = |error: &dyn ToString| format!("its class: {}", error.to_string());
        let large = |error: ClassError| says(&Error::from(error));
        check_lengths(&self.lengths, square.q(), allowance).map_err(large)?;
        let [past, future] = self.window;
        if past.max(future).max(self.memory) > WIDEST {
            return Err(format!(
                "its class has the window ({past}, {future}) and the memory {}: at most {WIDEST}",
                self.memory
            ));
        }
        let law = self.inputs.law().map_err(|error| says(&error))?;
        let task = Task::new(square, &law, &self.lengths).map_err(|error| says(&error))?;
        let shape = Shape {
            window: Window { past, future },
            memory: self.memory,
            tied: self.tied,
        };
        Class::new(task, shape, allowance).map_err(large)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(law: InputLaw, lengths: &[usize], shape: Shape) -> (Class, String) {
        let task = Task::new(LatinSquare::cyclic(2).unwrap(), &law, lengths).unwrap();
        let class = Class::new(task, shape, Allowance::default()).unwrap();
        let text = serde_json::to_string(&ClassFile::of(&class)).unwrap();
        (class, text)
    }

    #[test]
    fn a_class_survives_its_description() {
        let row = |p: &str, q: &str| vec![parse(p).unwrap(), parse(q).unwrap()];
        for (law, lengths, shape) in [
            (InputLaw::Uniform, vec![3, 4], Shape::untied(1, 1)),
            (
                InputLaw::Markov(parse("0.9").unwrap()),
                vec![5],
                Shape::tied(0, 2),
            ),
            (
                InputLaw::Product(vec![row("1/3", "2/3"), row("0", "1")]),
                vec![2],
                Shape {
                    memory: 2,
                    ..Shape::untied(0, 0)
                },
            ),
        ] {
            let (class, text) = describe(law, &lengths, shape);
            let file: ClassFile = serde_json::from_str(&text).unwrap();
            assert!(file.class(Allowance::default()).unwrap() == class, "{text}");
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
        let (_, text) = describe(law, &[2], Shape::tied(0, 0));
        assert!(
            text.ends_with("\"inputs\":{\"markov\":\"9/10\"}}"),
            "{text}"
        );
    }

    #[test]
    fn what_describes_no_class_is_refused_with_its_place() {
        let (_, text) = describe(InputLaw::Uniform, &[2], Shape::untied(0, 0));
        for (from, to, said) in [
            ("[0,1],[1,0]", "[0,1],[1,1]", "row 1"),
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
        ] {
            let file: ClassFile = serde_json::from_str(&text.replace(from, to)).unwrap();
            let problem = file.class(Allowance::default()).unwrap_err();
            assert!(problem.contains(said), "{problem}");
        }
        for (from, to) in [
            ("\"tied\"", "\"knotted\""),
            ("\"uniform\"", "\"gauss\""),
            ("\"memory\":1,", ""),
        ] {
            assert!(serde_json::from_str::<ClassFile>(&text.replace(from, to)).is_err());
        }
    }
}
