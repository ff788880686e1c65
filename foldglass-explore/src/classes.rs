//! Lays out the classes that pages name by the flags of the command line, and keeps a few of them.
//!
//! A page reads no file: a task or a law from a file is known only where the program was started with it
//! or a record of its directory has it. Records hold tables and laws themselves.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use foldglass::{Allowance, Class, ClassSpec, Operation};
use foldglass_report::error::Error;
use foldglass_study::{ClassWords, words};
use serde::{Deserialize, Serialize};

use crate::limits;
use crate::locked::lock;
use crate::refusal::Refusal;

/// A class and the flags that name it.
#[derive(Debug, Clone)]
pub struct KnownClass {
    /// The class.
    pub class: Class,
    /// Its words.
    pub words: ClassWords,
    /// The flags, those of defaults left out.
    pub flags: Vec<String>,
}

impl KnownClass {
    /// A class in words.
    pub fn new(class: Class, words: ClassWords) -> KnownClass {
        let flags = flags(&words);
        KnownClass {
            class,
            words,
            flags,
        }
    }

    /// A class by what it is made of, in words where its square and law have names.
    pub fn of(class: Class, file: &str) -> KnownClass {
        let words = words_of(&class.spec(), file);
        KnownClass::new(class, words)
    }
}

/// A class that flags cannot name, because its table or its law is from a file: as data, which one worker of a page hands
/// to another.
#[derive(Debug, Serialize, Deserialize)]
pub struct HandedClass {
    /// The name of the file in the flags.
    pub file: String,
    /// The class, with its table and its law.
    pub class: ClassSpec,
}

/// The classes that pages have asked for.
#[derive(Default)]
pub struct Classes {
    /// Those of files, which are never forgotten.
    given: Mutex<Vec<Arc<KnownClass>>>,
    recent: Mutex<VecDeque<Arc<KnownClass>>>,
}

/// The most words of a class, and the most bytes of one.
const WORDS: usize = 32;
const WORD: usize = 400;

impl Classes {
    /// Makes a class known that needs files.
    pub fn give(&self, known: KnownClass) -> Arc<KnownClass> {
        let mut given = lock(&self.given);
        if let Some(same) = given.iter().find(|old| old.flags == known.flags) {
            return same.clone();
        }
        given.push(Arc::new(known));
        given[given.len() - 1].clone()
    }

    /// Makes a class known by what it is made of. A table or a law without a name is one of the file `NAME.json`, or of
    /// `NAME-2.json` and so on where another class has that one.
    #[cfg(any(test, feature = "records"))]
    pub fn give_as(&self, class: Class, name: &str) -> (Arc<KnownClass>, String) {
        let mut file = format!("{name}.json");
        let mut number = 1;
        loop {
            let known = self.give(KnownClass::of(class.clone(), &file));
            if known.class == class {
                return (known, file);
            }
            number += 1;
            file = format!("{name}-{number}.json");
        }
    }

    /// The class that flags name.
    pub fn find(&self, flags: &[String], allowance: Allowance) -> Result<Arc<KnownClass>, Refusal> {
        if let Some(known) = self.known(flags) {
            return Ok(known);
        }
        let words = read(flags)?;
        let normal = self::flags(&words);
        if let Some(known) = self.known(&normal) {
            return Ok(known);
        }
        let known = Arc::new(lay_out(words, allowance)?);
        let mut recent = lock(&self.recent);
        recent.push_front(known.clone());
        recent.truncate(limits::CLASSES);
        Ok(known)
    }

    fn known(&self, flags: &[String]) -> Option<Arc<KnownClass>> {
        let same = |known: &&Arc<KnownClass>| known.flags == flags;
        let given = lock(&self.given).iter().find(same).cloned();
        given.or_else(|| lock(&self.recent).iter().find(same).cloned())
    }
}

/// Reads the flags of a class.
fn read(flags: &[String]) -> Result<ClassWords, Refusal> {
    if flags.len() > WORDS || flags.iter().any(|word| word.len() > WORD) {
        return Err(Refusal::unable(format!(
            "a class has at most {WORDS} words of {WORD} letters"
        )));
    }
    let refusal = |problem: String| {
        Refusal::unable(problem)
            .help("the flags of a class, such as --task quasigroup --lengths 8 --window 0,0")
    };
    let (mut task, mut lengths) = (None, None);
    let mut words = ClassWords::new("", &[]);
    let mut given = Vec::new();
    let mut rest = flags.iter();
    while let Some(word) = rest.next() {
        let (flag, mut value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (&word[..], None),
        };
        let flag = if flag == "-w" { "--window" } else { flag };
        if given.contains(&flag) {
            return Err(refusal(format!("{flag} is given twice")));
        }
        given.push(flag);
        let mut value = || {
            let value = value.take().or_else(|| rest.next().map(|word| &word[..]));
            value.ok_or_else(|| refusal(format!("{flag} needs a value")))
        };
        let of = |problem: String| refusal(format!("{flag}: {problem}"));
        match flag {
            "--task" => task = Some(words::full_name(value()?)),
            "--lengths" => lengths = Some(words::lengths(value()?).map_err(of)?),
            "--length-weights" => {
                words.length_weights = Some(words::length_weights(value()?).map_err(of)?);
            }
            "--reward" => words.reward = value()?.parse().map_err(of)?,
            "--window" => words.window = words::window(value()?).map_err(of)?,
            "--memory" => words.memory = words::memory(value()?).map_err(of)?,
            "--inputs" => {
                let law = value()?;
                words::check_law(law).map_err(Error::from)?;
                law.clone_into(&mut words.inputs);
            }
            "--tied" if word == flag => words.tied = true,
            "--max-memory" => return Err(refusal(format!("{word}: a page sets no limit"))),
            _ => return Err(refusal(format!("{word} is not a flag of a class"))),
        }
    }
    let (Some(task), Some(lengths)) = (task, lengths) else {
        return Err(refusal(
            "--task and --lengths are needed to state a class".to_owned(),
        ));
    };
    Ok(ClassWords {
        task,
        lengths,
        ..words
    })
}

fn lay_out(words: ClassWords, allowance: Allowance) -> Result<KnownClass, Refusal> {
    if is_file(&words) {
        return Err(Refusal::unable("a page reads no file").help(
            "start foldglass explore with these class flags, or with a code file of the class; a page without a server \
             shows the class once records of it are dropped on the page and one of their runs is opened",
        ));
    }
    check(&words)?;
    let spec = words.spec("".as_ref()).map_err(Error::from)?;
    let class = spec.lay_out_within(allowance).map_err(Error::from)?;
    check_cells(&class)?;
    Ok(KnownClass::new(class, words))
}

/// Refuses a class that is too large for a page.
pub fn check_cells(class: &Class) -> Result<(), Refusal> {
    if class.cells() <= limits::CELLS && class.q() <= limits::SYMBOLS {
        return Ok(());
    }
    Err(Refusal::unable(format!(
        "{} has {} cells of {} symbols: a page shows up to {} cells of {} symbols",
        class.spec(),
        class.cells(),
        class.q(),
        limits::CELLS,
        limits::SYMBOLS
    )))
}

/// Whether the words name a file.
pub fn is_file(words: &ClassWords) -> bool {
    let task = words.task.starts_with("file:") || words.task.ends_with(".json");
    task || words.inputs.starts_with("product:")
}

/// Refuses, by its words alone, what would take long to lay out.
fn check(words: &ClassWords) -> Result<(), Refusal> {
    // A name that is refused, as one of too many symbols is, is refused where the table is made.
    if Operation::order_of(&words.task).is_ok_and(|order| order > limits::SYMBOLS) {
        return Err(Refusal::unable(format!(
            "--task {}: a page shows up to {} symbols",
            words.task,
            limits::SYMBOLS
        )));
    }
    let longest = words.lengths.iter().max().copied().unwrap_or(0);
    if longest > limits::STEPS || words.lengths.len() > limits::LENGTHS {
        return Err(Refusal::unable(format!(
            "--lengths: a page shows up to {} lengths of up to {} steps",
            limits::LENGTHS,
            limits::STEPS
        )));
    }
    Ok(())
}

/// The flags of a class, those of defaults left out.
pub fn flags(words: &ClassWords) -> Vec<String> {
    let mut flags = Vec::new();
    let mut put = |flag: &str, value: String| flags.extend([flag.to_owned(), value]);
    let lengths: Vec<String> = words.lengths.iter().map(usize::to_string).collect();
    put("--task", words.task.clone());
    put("--lengths", lengths.join(","));
    if let Some(weights) = &words.length_weights {
        put("--length-weights", weights.to_string());
    }
    if !words.reward.is_final() {
        put("--reward", words.reward.to_string());
    }
    let [past, future] = words.window;
    if [past, future] != [0, 0] {
        put("--window", format!("{past},{future}"));
    }
    if words.memory != 1 {
        put("--memory", words.memory.to_string());
    }
    if words.inputs != "uniform" {
        put("--inputs", words.inputs.clone());
    }
    if words.tied {
        flags.push("--tied".to_owned());
    }
    flags
}

/// A class in words; a table or a law without a name is one of a file.
fn words_of(spec: &ClassSpec, file: &str) -> ClassWords {
    let window = spec.shape.window;
    let inputs = match &spec.inputs {
        foldglass::InputLaw::Product(_) => format!("product:{file}"),
        law => law.to_string(),
    };
    let task = name(&spec.square).unwrap_or_else(|| format!("file:{file}"));
    let words = ClassWords::new(&task, &spec.lengths)
        .window(window.past, window.future)
        .tied(spec.shape.tied)
        .inputs(&inputs);
    ClassWords {
        memory: spec.shape.memory,
        length_weights: spec.length_weights.clone(),
        reward: spec.reward.clone(),
        ..words
    }
}

/// The name of a table.
fn name(square: &Operation) -> Option<String> {
    let q = square.q();
    let mut names = vec![
        "parity".to_owned(),
        "quasigroup".to_owned(),
        format!("z:{q}"),
    ];
    names.extend(
        [
            "s:3",
            "q8",
            "a:4",
            "s:4",
            "z:2*z:2",
            "z:2*z:3",
            "z:2*z:2*z:2",
            "flipflop",
            "t:2",
            "t:3",
        ]
        .map(str::to_owned),
    );
    names.extend([
        format!("d:{}", q / 2),
        format!("max:{q}"),
        format!("copy:{q}"),
    ]);
    let is = |name: &String| Operation::named(name).is_ok_and(|known| known == *square);
    names
        .into_iter()
        .filter(|name| Operation::order_of(name) == Ok(q))
        .find(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(flags: &str) -> Result<Arc<KnownClass>, Refusal> {
        let flags: Vec<String> = flags.split(' ').map(str::to_owned).collect();
        Classes::default().find(&flags, Allowance::default())
    }

    #[test]
    fn flags_are_put_in_one_form() {
        let known =
            find("--lengths 4 -w 0,1 --task z:3 --memory 2 --tied --inputs markov:9/10").unwrap();
        let form = "--task z:3 --lengths 4 --window 0,1 --memory 2 --inputs markov:9/10 --tied";
        assert_eq!(known.flags.join(" "), form);
        assert_eq!(find(form).unwrap().class, known.class);
        let joined = form.replace("--window ", "--window=");
        assert_eq!(find(&joined).unwrap().flags, known.flags);
        assert_eq!(
            KnownClass::of(known.class.clone(), "x.json").flags,
            known.flags
        );
    }

    #[test]
    fn a_mistake_in_a_flag_is_named_with_its_value() {
        for (bad, named) in [
            ("--task z:2 --lengths 3,x", "--lengths: 'x'"),
            ("--task z:2 --lengths 3 -w 1", "--window: write P,F"),
            ("--task z:2 --lengths 3 --memory 0", "--memory: a policy"),
            ("--task z:2 --lengths 3 --inputs markov:x", "--inputs"),
            ("--task z:2 --lengths 3 --inputs", "--inputs needs a value"),
            ("--task z:2 --lengths 3 --tied=no", "--tied=no"),
            ("--task z:2 --lengths 3 --task z:3", "--task is given twice"),
            ("--taks z:2 --lengths 3", "--taks"),
            ("z:2 --lengths 3", "z:2"),
            ("--lengths 3", "--task and --lengths"),
        ] {
            let refusal = find(bad).map(|known| known.flags.clone()).expect_err(bad);
            assert_eq!(refusal.status, 422, "{bad}: {refusal:?}");
            assert!(refusal.to_string().contains(named), "{bad}: {refusal:?}");
        }
    }

    #[test]
    fn what_is_too_large_is_refused_before_it_is_made() {
        for bad in [
            "--task z:4 --lengths 1000000000",
            "--task z:60000 --lengths 2",
            "--task s:12 --lengths 2",
            "--task z:30*z:30 --lengths 2",
            "--task t:4 --lengths 2",
            "--task max:37 --lengths 2",
            "--task random:5000 --lengths 2",
            "--task z:2 --lengths 30 --window 500,500",
            "--task z:5 --lengths 8 --memory 9",
            "--task file:/etc/passwd --lengths 2",
            "--task /etc/hosts.json --lengths 2",
            "--task z:2 --lengths 2 --inputs product:/etc/passwd",
            "--task z:2 --lengths 2 --max-memory 1TB",
            "--task z:2 --lengths 2 --json",
            "--task z:2",
            "--help",
        ] {
            let refusal = find(bad).map(|known| known.flags.clone()).expect_err(bad);
            assert_eq!(refusal.status, 422, "{bad}: {refusal:?}");
        }
    }

    #[test]
    fn squares_without_a_name_are_of_a_file() {
        let spec = find("--task random:5:3 --lengths 3").unwrap().class.spec();
        assert_eq!(words_of(&spec, "mine.json").task, "file:mine.json");
        for name in [
            "parity",
            "quasigroup",
            "z:7",
            "s:3",
            "d:5",
            "z:2*z:2",
            "max:4",
            "copy:2",
            "flipflop",
            "t:2",
        ] {
            let spec = find(&format!("--task {name} --lengths 2"))
                .unwrap()
                .class
                .spec();
            assert_eq!(words_of(&spec, "").task, name);
        }
    }
}
