//! Holds refusals of the theorem to naming what it assumes and a class gives away.

use super::*;

/// What a class has of each thing that the theorem assumes; all false is one that it covers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Made {
    tied: bool,
    memory: bool,
    correlated: bool,
    lengths: bool,
    ahead: bool,
    /// Equal weights, or falling ones.
    process: Option<bool>,
}

impl Made {
    fn class(self) -> Class {
        let law = match self.correlated {
            true => InputLaw::Markov(parse("9/10").unwrap()),
            false => InputLaw::Uniform,
        };
        let lengths: &[usize] = if self.lengths { &[2, 3] } else { &[3] };
        let task = Task::new(Operation::cyclic(2).unwrap(), &law, lengths).unwrap();
        let shape = Shape {
            tied: self.tied,
            memory: 1 + usize::from(self.memory),
            ..Shape::untied(0, usize::from(self.ahead))
        };
        let class = Class::new(task, shape).unwrap();
        match self.process {
            None => class,
            Some(true) => reweighed(&class, None, "process:4,2,2"),
            Some(false) => reweighed(&class, None, "process"),
        }
    }

    /// The class changed as one of these phrases says.
    fn with(self, phrase: &str) -> Made {
        match phrase {
            "a table of its own for every step" => Made {
                tied: false,
                ..self
            },
            "--reward final" => Made {
                process: None,
                ..self
            },
            "memory 1" => Made {
                memory: false,
                ..self
            },
            "either one length" => Made {
                lengths: false,
                ..self
            },
            "the window 0,1" => Made {
                ahead: true,
                ..self
            },
            "uniform or product inputs" => Made {
                correlated: false,
                ..self
            },
            _ => {
                assert!(
                    phrase.starts_with("a process reward in which every step"),
                    "{phrase}"
                );
                Made {
                    process: Some(true),
                    ..self
                }
            }
        }
    }
}

/// The phrases of each remedy that a refusal names.
fn remedies(message: &str) -> Vec<Vec<String>> {
    let remedy = message.split("It holds with ").nth(1).unwrap();
    let remedy = remedy.split("; whether").next().unwrap();
    let mut all = Vec::new();
    for way in remedy.split(", or with ") {
        let phrases: Vec<&str> = way
            .split(", and ")
            .flat_map(|part| part.split(", "))
            .collect();
        let phrases = phrases.iter().flat_map(|part| part.split(" and "));
        let phrases: Vec<String> = phrases.map(str::to_owned).collect();
        let either = phrases
            .iter()
            .position(|phrase| phrase.starts_with("either"));
        let Some(either) = either else {
            all.push(phrases);
            continue;
        };
        for choice in phrases[either].clone().split(" or ") {
            let mut one = phrases.clone();
            one[either] = choice.to_owned();
            all.push(one);
        }
    }
    all
}

#[test]
fn a_refusal_names_all_that_fails_and_a_class_that_is_accepted() {
    let (mut refused, mut ways) = (0, 0);
    for bits in 0..48usize {
        let bit = |n: usize| bits >> n & 1 == 1;
        let made = Made {
            tied: bit(0),
            memory: bit(1),
            correlated: bit(2),
            lengths: bit(3) && bits < 16,
            ahead: false,
            process: [None, Some(false), Some(true)][bits / 16],
        };
        let covered = made.process == Some(true) && !made.tied
            || made
                == Made {
                    tied: false,
                    memory: false,
                    correlated: false,
                    lengths: false,
                    ahead: false,
                    process: None,
                };
        let Err(error) = assumptions(&made.class()) else {
            assert!(covered, "{made:?}");
            continue;
        };
        assert!(!covered, "{made:?}");
        refused += 1;
        for way in remedies(&error.to_string()) {
            ways += 1;
            let changed = |skipped: usize| {
                let phrases = way.iter().enumerate().filter(|(n, _)| *n != skipped);
                phrases
                    .fold(made, |made, (_, phrase)| made.with(phrase))
                    .class()
            };
            let class = changed(usize::MAX);
            let zero = Code::from_fn(&class, |_| 0);
            let path = escape(&zero, Context::default());
            assert!(
                path.unwrap_or_else(|_| panic!("{error}")).reward.is_one(),
                "{error}"
            );
            for skipped in 0..way.len() {
                assert!(assumptions(&changed(skipped)).is_err(), "{error}: {way:?}");
            }
        }
    }
    // 16 classes with a final reward but the covered one, 8 with equal weights, of 8 with falling ones the tied;
    // bit 3 is for several lengths, which process rewards do not have.
    assert_eq!((refused, ways), (15 + 16 + 8, 15 + 8 + 2 * 16 + 8));
}

#[test]
fn what_the_theorem_assumes_is_named_where_it_fails() {
    let markov = "each symbol depends on the one before";
    let plain = Made {
        tied: false,
        memory: false,
        correlated: false,
        lengths: false,
        ahead: false,
        process: None,
    };
    let said = |made: Made| assumptions(&made.class()).unwrap_err().to_string();
    assert_eq!(
        said(Made {
            lengths: true,
            correlated: true,
            ..plain
        }),
        format!(
            "the theorem needs either inputs of one length or a window with at least 1 symbol ahead and \
             independent symbols: here there are 2 lengths and the window is 0,0 and {markov}. It holds with \
             either one length or the window 0,1 and uniform or product inputs"
        )
    );
    assert_eq!(
        said(Made {
            memory: true,
            ..plain
        }),
        "the theorem needs a memory of 1 token: here the memory is 2. It holds with memory 1; whether it holds \
         with a longer memory is not known"
    );
    assert_eq!(
        said(Made {
            process: Some(false),
            memory: true,
            correlated: true,
            ..plain
        }),
        format!(
            "the theorem needs the reward of the last token alone, a memory of 1 token, and independent symbols: \
             here it is --reward process, the memory is 2, and {markov}. It holds with --reward final, memory 1, \
             and uniform or product inputs, or with a process reward in which every step weighs at least as much \
             as all later ones together; whether it holds with a longer memory is not known"
        )
    );
    let row = |texts: [&str; 2]| texts.map(|text| parse(text).unwrap()).to_vec();
    let product = InputLaw::Product(vec![row(["1/3", "2/3"]), row(["1", "0"])]);
    let task = Task::new(Operation::cyclic(2).unwrap(), &product, &[2]).unwrap();
    for window in [Shape::untied(0, 0), Shape::untied(1, 0)] {
        assert_eq!(
            assumptions(&Class::new(task.clone(), window).unwrap()),
            Ok(())
        );
    }
}
