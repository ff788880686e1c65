//! Answers whether a class has traps: by a theorem, by a census, or by quenches (docs/theorems.md).

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

use clap::Args;
use foldglass::landscape::escape;
use foldglass::landscape::law::{Known, known};
use foldglass::landscape::tree::{Nodes, Tree, TreeError};
use foldglass::model::policy::CodeForm;
use foldglass::support::exact::UBig;
use foldglass::support::stats::Proportion;
use foldglass::support::watch::{Observer, Progress};
use foldglass::{Allowance, Class, ClassSpec, Code, Context, Reward};
use foldglass_study::Shard;
use foldglass_study::census::{
    CensusForecast, CensusOptions, CensusPlan, Counted, count, forecast,
};
use foldglass_study::parallel::threads;
use schemars::JsonSchema;
use serde::Serialize;

use self::quenches::{QuenchEnds, quench};
use super::enumerate::grouped;
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::ClassArgs;
use crate::output::{Report, number};
use crate::progress::{Terminal, about, span};

mod quenches;

/// The seconds that a census may take.
const CENSUS_SECONDS: f64 = 10.0;

/// The flags of `benign`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass benign --task quasigroup --lengths 7 --window 0,3
      Does this class have traps? Answered by a theorem.
  foldglass benign --task parity --lengths 2,3,4
      A class that has traps, with one of them.")]
pub struct BenignArgs {
    #[command(flatten)]
    class: ClassArgs,
}

/// What counting all codes of a class came to.
pub enum Counting {
    /// It is done.
    Done {
        /// Codes that are traps.
        traps: u128,
        /// One of them.
        code: Option<Code>,
    },
    /// It would take more than the seconds that are spent on one, or cannot be done.
    Skipped {
        /// What it would take, in words: "takes about 3 h".
        takes: String,
    },
}

impl BenignArgs {
    /// Finds the answer.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Benign, Error> {
        let class = self.class.class()?;
        let allowance = self.class.allowance();
        if let Some(known) = known(&class) {
            return Ok(Benign::by_theorem(&class, known));
        }
        match count_traps(&class, settings, allowance, CENSUS_SECONDS)? {
            Counting::Done { traps, code } => Ok(Benign::by_counting(&class, traps, code)),
            Counting::Skipped { takes } => {
                let ends = quench(&class, settings, allowance)?.ok_or_else(stopped)?;
                Ok(Benign::by_quenches(&class, &takes, ends))
            }
        }
    }
}

fn stopped() -> Error {
    Error::Stopped("stopped before an answer was found".to_owned())
}

/// Counts the traps of a class where that is forecast to take no longer than these seconds.
pub fn count_traps(
    class: &Class,
    settings: &GlobalArgs,
    allowance: Allowance,
    limit: f64,
) -> Result<Counting, Error> {
    let threads = threads(settings.threads, usize::MAX);
    if class.shape().tied {
        return flood(class, threads, allowance, limit);
    }
    let shard = Shard { number: 1, of: 1 };
    let mut options = CensusOptions::default();
    options.threads = threads;
    options.allowance = allowance;
    let plan = || CensusPlan::new(class, &Reward::new(0u8, 1u8), &options);
    let takes = |time: String| format!("takes {time}");
    let skipped = |takes| Ok(Counting::Skipped { takes });
    let said = match plan() {
        Ok(plan) => forecast(plan, shard, limit, &Terminal::new()).ok_or_else(stopped)?,
        Err(error) => return skipped(format!("is refused: {error}")),
    };
    match said {
        CensusForecast {
            at_least: true,
            seconds,
            ..
        } => {
            return skipped(takes(at_least(seconds.max(limit))));
        }
        CensusForecast { seconds, .. } if seconds > limit => {
            return skipped(takes(about(seconds)));
        }
        _ => {}
    }
    let Ok(plan) = plan() else {
        return Err(stopped());
    };
    match count(plan, &options, &Terminal::new())? {
        Counted::Whole(census, count) => Ok(Counting::Done {
            traps: count.traps.iter().map(|trap| trap.weight).sum(),
            code: count.traps.first().map(|trap| census.code(trap.code)),
        }),
        _ => Err(stopped()),
    }
}

/// A lower bound of a time in words.
fn at_least(seconds: f64) -> String {
    format!("at least {}", span(seconds))
}

/// Visits all codes of a tied class, unless that is seen to take too long.
fn flood(
    class: &Class,
    threads: usize,
    allowance: Allowance,
    limit: f64,
) -> Result<Counting, Error> {
    let watch = Projection {
        terminal: Terminal::new(),
        limit,
        begun: Instant::now(),
        seconds: Mutex::new(None),
    };
    let context = Context::default()
        .with_threads(threads)
        .with_memory(allowance)
        .with_observer(&watch);
    match Tree::new(class, Nodes::Codes, context) {
        Ok(tree) => {
            let traps = || tree.leaves.iter().filter(|leaf| leaf.barrier.is_some());
            Ok(Counting::Done {
                traps: traps().map(|leaf| leaf.shelf).sum(),
                code: traps().next().map(|leaf| leaf.code.clone()),
            })
        }
        Err(TreeError::Stopped(_)) => match watch.seconds.into_inner().expect("no panic") {
            Some(seconds) => Ok(Counting::Skipped {
                takes: format!("takes {}", about(seconds)),
            }),
            None => Err(stopped()),
        },
        Err(error) => Ok(Counting::Skipped {
            takes: format!("is refused: {error}"),
        }),
    }
}

/// Ends work that is projected to take longer than a limit.
struct Projection {
    terminal: Terminal,
    /// In seconds.
    limit: f64,
    begun: Instant,
    /// The seconds it would take, where that ended it.
    seconds: Mutex<Option<f64>>,
}

impl Observer for Projection {
    fn report(&self, progress: Progress<'_>) -> ControlFlow<()> {
        let spent = self.begun.elapsed().as_secs_f64();
        let done = progress.done as f64 / progress.all.unwrap_or(1).max(1) as f64;
        // In the first second what is done is too little to tell.
        if spent > 1.0 && spent > self.limit * done {
            *self.seconds.lock().expect("no panic") = Some(spent / done.max(1e-9));
            return ControlFlow::Break(());
        }
        self.terminal.report(progress)
    }
}

/// The answer.
#[derive(JsonSchema, Serialize)]
pub struct Benign {
    answer: &'static str,
    theorem: Option<&'static str>,
    why: String,
    traps: Option<String>,
    code: Option<CodeForm>,
    census_codes: Option<String>,
    quenches: Option<usize>,
    /// How many of them ended at reward 1, in a certified trap, and neither.
    optimal: Option<usize>,
    certified: Option<usize>,
    undecided: Option<usize>,
    upper_95: Option<f64>,
    #[serde(skip)]
    class: ClassSpec,
}

impl Benign {
    fn new(class: &Class, has_traps: bool, why: String) -> Benign {
        Benign {
            answer: if has_traps { "traps" } else { "benign" },
            theorem: None,
            why,
            traps: None,
            code: None,
            census_codes: None,
            quenches: None,
            optimal: None,
            certified: None,
            undecided: None,
            upper_95: None,
            class: class.spec(),
        }
    }

    fn by_theorem(class: &Class, known: Known) -> Benign {
        let none = known.code.is_none();
        let counts = match none {
            true => "counts its traps, and there are none",
            false => "counts its traps",
        };
        let about = match known.theorem {
            Some("A") => format!("Parity with correlated inputs: theorem A {counts}"),
            Some("B") if !class.task().reward().is_final() => format!(
                "Parity with a process reward: theorem B {counts}. It is the landscape of the lengths 1 to T with \
                 the weights of the steps"
            ),
            Some("B") if none => format!(
                "Parity of several lengths: theorem B {counts}, because every length weighs at least as much as \
                 all longer ones together"
            ),
            Some("B") => {
                format!("Parity of several lengths: theorem B {counts}, which answer some lengths wrongly")
            }
            None => "A table for every step (untied), and a process reward in which every step weighs at least as \
                     much as all later ones together: correcting the steps one after the other never lowers the \
                     reward (docs/process.md; `escape` prints the path)"
                .to_owned(),
            _ => "A table for every step (untied), one remembered token, only the last token rewarded, and \
                  independent inputs: a path that never lowers the reward leads from every code to reward 1 \
                  (`escape` prints it)"
                .to_owned(),
        };
        Benign {
            theorem: known.theorem,
            traps: known.traps.map(|traps| traps.to_string()),
            code: known.code.as_ref().map(CodeForm::from),
            ..Benign::new(class, !none, about)
        }
    }

    fn by_counting(class: &Class, traps: u128, code: Option<Code>) -> Benign {
        let why = format!(
            "No theorem applies; all {} codes were counted",
            codes_of(class)
        );
        Benign {
            traps: Some(traps.to_string()),
            code: code.as_ref().map(CodeForm::from),
            census_codes: Some(number_of_codes(class).to_string()),
            ..Benign::new(class, traps > 0, why)
        }
    }

    fn by_quenches(class: &Class, takes: &str, ends: QuenchEnds) -> Benign {
        let fails = escape::assumptions(class);
        let fails = fails.map_or_else(|error| error.to_string(), |()| String::new());
        let QuenchEnds {
            optimal,
            certified,
            undecided,
            code,
            sweeps,
            shelf,
        } = ends;
        let quenches = optimal + certified + undecided;
        let why = format!(
            "{}. Counting all {} codes {takes}. Of {quenches} quenches at zero temperature {optimal} end at \
             reward 1, {certified} in a certified trap and {undecided} undecided (after {sweeps} sweeps a raise \
             is left, or the shelf has more than {shelf} codes)",
            sentence(&fails),
            codes_of(class)
        );
        // Any undecided end may be a trap. A share above this leaves so few possible traps with less than 5 %.
        let possible = Proportion {
            successes: undecided as u64,
            trials: quenches as u64,
        };
        let none = certified == 0;
        Benign {
            answer: if none { "unknown" } else { "traps" },
            code: code.as_ref().map(CodeForm::from),
            census_codes: Some(number_of_codes(class).to_string()),
            quenches: Some(quenches),
            optimal: Some(optimal),
            certified: Some(certified),
            undecided: Some(undecided),
            upper_95: none.then(|| possible.interval(0.9).high),
            ..Benign::new(class, !none, why)
        }
    }
}

fn number_of_codes(class: &Class) -> UBig {
    UBig::from(class.q()).pow(class.cells())
}

/// The number of codes of a class as a person reads it: `1,024`, `5^280`.
pub fn codes_of(class: &Class) -> String {
    match class.cells() as f64 * (class.q() as f64).log10() {
        digits if digits < 15.0 => grouped(&number_of_codes(class).to_string()),
        _ => format!("{}^{}", class.q(), class.cells()),
    }
}

/// With a capital.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

impl Report for Benign {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.clone())
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let answer = match self.answer {
            "benign" => "benign: this class has no traps",
            "traps" => "this class has traps",
            _ => "not known",
        };
        writeln!(out, "answer   {answer}")?;
        if let Some(theorem) = self.theorem {
            writeln!(out, "theorem  {theorem} (docs/theorems.md)")?;
        }
        writeln!(out, "why      {}", self.why)?;
        if let Some(traps) = &self.traps {
            writeln!(out, "traps    {traps} codes")?;
        }
        match self.upper_95 {
            Some(upper) => writeln!(
                out,
                "bound    at most {} of all quenches end in a trap, with 95 % confidence{}",
                number(upper),
                match self.undecided {
                    Some(0) | None => "",
                    Some(_) => "; undecided ends are counted as possible traps",
                }
            ),
            None => Ok(()),
        }
    }
}
