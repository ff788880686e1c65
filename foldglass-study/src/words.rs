//! Reads a class in the words that flags and studies share: a task by its name or file, a law of
//! the inputs, lengths and their weights, reward, window, tying, memory.

#[cfg(feature = "networks")]
use foldglass_nn::settings::SettingsError;
use std::path::Path;
use std::str::FromStr;

use foldglass::model::class::{ClassSpec, SpecError, WIDEST};
use foldglass::model::operation::factors;
use foldglass::support::exact;
use foldglass::{ExactWeights, InputLaw, Operation, RewardRule, Shape, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::StudyError;
use crate::files::Input;

/// A class in words.
///
/// ```
/// use foldglass_study::ClassWords;
/// let words = ClassWords::new("quasigroup", &[7]).window(0, 3).tied(true);
/// let class = words.spec("".as_ref()).unwrap().lay_out().unwrap();
/// assert_eq!(class.cells(), 4525);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassWords {
    /// The multiplication table: `z:5`, `quasigroup`, `file:PATH`, `PATH.json`.
    pub task: String,
    /// The lengths of the inputs.
    pub lengths: Vec<usize>,
    /// Their exact weights, in their order; none where they are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_weights: Option<ExactWeights>,
    /// Which tokens are rewarded: `final`, `process` or `process:W1,W2,..`.
    #[serde(default, skip_serializing_if = "RewardRule::is_final")]
    pub reward: RewardRule,
    /// Symbols read before and after x_t.
    #[serde(default)]
    pub window: [usize; 2],
    /// Whether all steps share one table.
    #[serde(default)]
    pub tied: bool,
    /// Tokens remembered.
    #[serde(default = "one")]
    pub memory: usize,
    /// The law of the inputs: `uniform`, `markov:K`, `product:FILE`.
    #[serde(default = "uniform")]
    pub inputs: String,
}

fn one() -> usize {
    1
}

fn uniform() -> String {
    "uniform".to_owned()
}

impl ClassWords {
    /// The untied class of a task with window (0, 0).
    pub fn new(task: &str, lengths: &[usize]) -> ClassWords {
        ClassWords {
            task: task.to_owned(),
            lengths: lengths.to_vec(),
            length_weights: None,
            reward: RewardRule::Final,
            window: [0, 0],
            tied: false,
            memory: 1,
            inputs: uniform(),
        }
    }

    /// The same with another window.
    pub fn window(mut self, past: usize, future: usize) -> ClassWords {
        self.window = [past, future];
        self
    }

    /// The same, tied or not.
    pub fn tied(mut self, tied: bool) -> ClassWords {
        self.tied = tied;
        self
    }

    /// The same with another law of the inputs.
    pub fn inputs(mut self, inputs: &str) -> ClassWords {
        self.inputs = inputs.to_owned();
        self
    }

    /// What it describes. Files are found from `base`.
    pub fn spec(&self, base: &Path) -> Result<ClassSpec, StudyError> {
        let [past, future] = self.window;
        let spec = ClassSpec {
            square: square(&self.task, base)?,
            lengths: self.lengths.clone(),
            shape: Shape {
                window: Window { past, future },
                memory: self.memory,
                tied: self.tied,
            },
            inputs: law(&self.inputs, base)?,
            length_weights: self.length_weights.clone(),
            reward: self.reward.clone(),
        };
        Ok(spec.canonical().map_err(SpecError::from)?)
    }

    /// A name made from the task and the shape: `z-5_T8_w0-0`.
    pub fn id(&self) -> String {
        let lengths: Vec<String> = self.lengths.iter().map(usize::to_string).collect();
        let [past, future] = self.window;
        let mut id = format!("{}_T{}_w{past}-{future}", self.task, lengths.join("-"));
        if self.memory != 1 {
            id += &format!("_m{}", self.memory);
        }
        if self.tied {
            id += "_tied";
        }
        if self.inputs != uniform() {
            id += &format!("_{}", self.inputs);
        }
        if let Some(weights) = &self.length_weights {
            id += &format!("_lengths-{weights}");
        }
        if self.reward != RewardRule::Final {
            id += &format!("_{}", self.reward);
        }
        plain(&id)
    }
}

/// Whether a character may stand in an id.
pub(crate) fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._+-".contains(c)
}

/// A text with a dash for every character that may not stand in an id.
pub(crate) fn plain(text: &str) -> String {
    let one = |c: char| if is_plain(c) { c } else { '-' };
    text.chars().map(one).collect()
}

const SQUARE: &str = "a task file ([[..]] or {\"table\":[[..]]}, rows of whole numbers)";

/// A task file that is an object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    table: Vec<Vec<i64>>,
}

/// The path of a task that is a file.
fn file_of(task: &str) -> Option<&str> {
    let path = task.strip_prefix("file:");
    path.or_else(|| task.ends_with(".json").then_some(task))
}

/// The name of a task with the seeds of its random factors: `random:4` is `random:4:0`.
///
/// ```
/// use foldglass_study::words::full_name;
/// assert_eq!(full_name("z:2*random:4"), "z:2*random:4:0");
/// assert_eq!(full_name("random:4:7"), "random:4:7");
/// assert_eq!(full_name("max:2xrandom:4"), "max:2xrandom:4:0");
/// ```
pub fn full_name(task: &str) -> String {
    if file_of(task).is_some() {
        return task.to_owned();
    }
    let factor = |text: &str| {
        let (name, space) = text.split_at(text.trim_end().len());
        let q = name.trim_start().strip_prefix("random:").unwrap_or("");
        match !q.is_empty() && q.bytes().all(|byte| byte.is_ascii_digit()) {
            true => format!("{name}:0{space}"),
            false => text.to_owned(),
        }
    };
    let (mut named, mut end) = (String::new(), 0);
    for part in factors(task) {
        end += part.len();
        named += &factor(part);
        named += task.get(end..end + 1).unwrap_or("");
        end += 1;
    }
    named
}

/// The operation that a task names, or the table in its file.
pub fn square(task: &str, base: &Path) -> Result<Operation, StudyError> {
    let path = match file_of(task) {
        Some(path) => path,
        None => {
            return Operation::named(task).map_err(|source| StudyError::Square {
                name: task.to_owned(),
                source,
            });
        }
    };
    let file = Input::read(&base.join(path))?;
    let rows: Vec<Vec<i64>> = if file.is_list() {
        file.json(SQUARE)?
    } else {
        file.object::<TableFile>(SQUARE)?.table
    };
    Operation::from_rows(&rows).map_err(|source| StudyError::Square {
        name: file.name,
        source,
    })
}

/// Reads a whole number written in digits alone.
pub fn whole<T: FromStr>(text: &str) -> Option<T> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Reads the lengths of the inputs: `8`, or several as `3,4,5`.
pub fn lengths(text: &str) -> Result<Vec<usize>, String> {
    let one = |part: &str| {
        let part = part.trim();
        let refusal = || format!("'{part}' is not a length: write 8, or several as 3,4,5");
        whole(part).ok_or_else(refusal)
    };
    text.split(',').map(one).collect()
}

/// Reads the weights of lengths, one exact number above 0 for each: `1,2,4`, `1/3,2/3`.
pub fn length_weights(text: &str) -> Result<ExactWeights, String> {
    let read: Result<ExactWeights, _> = text.parse();
    read.map_err(|error| error.to_string())
}

/// Reads a window: the symbols read before and after x_t, as `0,3`.
pub fn window(text: &str) -> Result<[usize; 2], String> {
    let side = |part: &str| whole(part.trim()).filter(|&n| n <= WIDEST);
    let sides = text.split_once(',');
    match sides.map(|(past, future)| (side(past), side(future))) {
        Some((Some(past), Some(future))) => Ok([past, future]),
        _ => Err(format!(
            "write P,F, the symbols read before and after x_t, such as 0,3 (each 0 to {WIDEST})"
        )),
    }
}

/// Reads how many tokens a policy remembers.
pub fn memory(text: &str) -> Result<usize, String> {
    let number = whole(text).filter(|n| (1..=WIDEST).contains(n));
    number.ok_or(format!("a policy remembers 1 to {WIDEST} tokens"))
}

/// What a law may be.
const LAWS: &str = "accepted: uniform, markov:K (such as markov:9/10), product:FILE (a JSON list \
                    with a row of q probabilities per position)";

const PRODUCT: &str = "a product law ([[..]], a row of q probabilities per position, each a number \
                       or a string such as \"1/3\")";

/// The law that a text states, or that in its file.
pub fn law(text: &str, base: &Path) -> Result<InputLaw, StudyError> {
    let refuse = |problem: String| StudyError::Inputs {
        given: text.to_owned(),
        problem,
    };
    match text.split_once(':') {
        None if text == "uniform" => Ok(InputLaw::Uniform),
        Some(("markov", k)) => {
            let k = exact::parse(k).map_err(|error| refuse(error.to_string()))?;
            Ok(InputLaw::Markov(k))
        }
        Some(("product", path)) => product(&Input::read(&base.join(path))?),
        _ => Err(refuse(LAWS.to_owned())),
    }
}

/// Refuses a law that is none by its words alone, before any file is read.
pub fn check_law(text: &str) -> Result<(), StudyError> {
    match text.split_once(':') {
        Some(("product", _)) => Ok(()),
        _ => law(text, Path::new("")).map(drop),
    }
}

/// The probabilities in a file, by their digits.
fn product(file: &Input) -> Result<InputLaw, StudyError> {
    let rows: Vec<Vec<Box<RawValue>>> = file.json(PRODUCT)?;
    let probability = |position: usize, symbol: usize, literal: &RawValue| {
        let text = literal.get();
        let text = match serde_json::from_str::<String>(text) {
            Ok(content) => content,
            Err(_) => text.to_owned(),
        };
        exact::parse(&text).map_err(|error| {
            let place = format!("position {}, symbol {symbol}: {error}", position + 1);
            file.is_not(PRODUCT, place)
        })
    };
    let row = |(position, row): (usize, &Vec<Box<RawValue>>)| {
        let entries = row.iter().enumerate();
        entries
            .map(|(symbol, literal)| probability(position, symbol, literal))
            .collect()
    };
    let rows: Result<_, StudyError> = rows.iter().enumerate().map(row).collect();
    Ok(InputLaw::Product(rows?))
}

/// The words by which a person sets what is wrong with the settings of networks: flags without their dashes, keys of studies
/// with hyphens for underscores. None where the word is not known.
#[cfg(feature = "networks")]
pub fn of_setting(error: &SettingsError) -> &'static [&'static str] {
    let what = match error {
        SettingsError::Inputs(_) => return &["inputs"],
        SettingsError::Shape(_) => return &["width", "heads", "mlp", "vocabulary"],
        SettingsError::Range { what, .. } => *what,
        _ => return &[],
    };
    match what {
        "batch" => &["batch"],
        "cap" => &["longest"],
        "lengths" => &["lengths", "start-length"],
        "length weights" => &["length-weights"],
        "gate period" => &["gate-every"],
        "gate samples" => &["gate-samples"],
        "gate above" => &["gate-above"],
        "evaluation length" => &["test-length"],
        "entropy" => &["entropy"],
        "learning rate" => &["learning-rate"],
        "exploration" => &["epsilon"],
        "clip norm" => &["clip-norm"],
        "weight decay" => &["weight-decay"],
        "kl" => &["kl"],
        "prior" => &["prior"],
        "warm-up" => &["warm-up"],
        "rate floor" => &["cosine"],
        "baseline" => &["baseline", "method"],
        "standardise" => &["standardise", "method"],
        what if what.starts_with("entropy decay") => &["entropy-decay"],
        "entropy form with grpo" => &["convention", "method"],
        what if what.starts_with("adam") => &["adam"],
        what if what.starts_with("grpo") => &["method"],
        what if what.starts_with("relabelling") => &["noise"],
        what if what.starts_with("adaptive") => &["adaptive"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_keeps_every_digit() {
        let text = "[[0.1000000000000000055511151231257827, 1e-30, \"1/3\", 1]]";
        let file = Input::of("law.json", text.as_bytes().to_vec());
        let InputLaw::Product(rows) = product(&file).unwrap() else {
            panic!("a product law")
        };
        let numbers = ["0.1000000000000000055511151231257827", "1e-30", "1/3", "1"];
        assert_eq!(rows[0], numbers.map(|n| exact::parse(n).unwrap()));
        let bad = Input::of("law.json", b"[[true]]".to_vec());
        assert!(
            product(&bad)
                .unwrap_err()
                .to_string()
                .contains("position 1")
        );
    }

    #[test]
    fn a_law_without_a_known_name_is_refused() {
        for bad in [
            "",
            "Uniform",
            "uniform:1",
            "markov",
            "markov:",
            "markov:x",
            "product",
        ] {
            assert!(law(bad, Path::new("")).is_err(), "{bad}");
            assert!(check_law(bad).is_err(), "{bad}");
        }
        assert!(check_law("product:nowhere.json").is_ok());
    }

    #[test]
    fn an_id_is_made_from_task_and_shape() {
        let words = ClassWords::new("z:5", &[3, 4]).window(1, 0).tied(true);
        assert_eq!(words.id(), "z-5_T3-4_w1-0_tied");
        assert_eq!(
            words.inputs("markov:9/10").id(),
            "z-5_T3-4_w1-0_tied_markov-9-10"
        );
        let words = ClassWords {
            length_weights: Some("1,2".parse().unwrap()),
            ..ClassWords::new("parity", &[3, 4])
        };
        assert_eq!(words.id(), "parity_T3-4_w0-0_lengths-1-3-2-3");
        let words = ClassWords {
            reward: "process".parse().unwrap(),
            ..ClassWords::new("parity", &[3])
        };
        assert_eq!(words.id(), "parity_T3_w0-0_process");
    }

    #[test]
    fn lengths_are_a_list_of_whole_numbers() {
        assert_eq!(lengths("8"), Ok(vec![8]));
        assert_eq!(lengths("3,4, 5"), Ok(vec![3, 4, 5]));
        for (bad, part) in [
            ("", "''"),
            ("3,", "''"),
            ("3,x", "'x'"),
            ("-1", "'-1'"),
            ("2.5", "'2.5'"),
        ] {
            assert!(lengths(bad).unwrap_err().contains(part), "{bad}");
        }
    }

    #[test]
    fn a_window_is_two_whole_numbers() {
        assert_eq!(window("2,1"), Ok([2, 1]));
        for bad in ["", "1", "1,", "1,2,3", "-1,0", "a,b", "1025,0"] {
            assert!(window(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_memory_is_at_least_one_token() {
        assert_eq!(memory("2"), Ok(2));
        for bad in ["0", "-1", "1025", "two"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }
}
