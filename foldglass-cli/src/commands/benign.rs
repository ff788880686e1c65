//! Answers whether a class has traps: by a theorem, by a census, or by quenches (docs/theorems.md).

use std::io::{self, Write};

use clap::Args;
use foldglass::dynamics::chain::{ChainError, ChainSettings, Chains, Kernel, Order};
use foldglass::landscape::escape;
use foldglass::landscape::law::{Known, known};
use foldglass::landscape::shelf::{Search, Workers};
use foldglass::model::policy::CodeForm;
use foldglass::proof::claim::Finding;
use foldglass::reward::count as counts;
use foldglass::support::parallel::in_order;
use foldglass::support::watch::{Observer, Progress};
use foldglass::{Allowance, Class, ClassSpec, Code, Context, Reward};
use foldglass_study::Shard;
use foldglass_study::census::{
    CensusForecast, CensusOptions, CensusPlan, Counted, count, forecast,
};
use foldglass_study::parallel::{fitting, threads};
use serde::Serialize;

use super::enumerate::grouped;
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::ClassArgs;
use crate::output::{Report, number};
use crate::progress::{Terminal, about, interrupted};

/// The seconds that a census may take.
const CENSUS_SECONDS: f64 = 10.0;

/// Quenches, their sweeps, and the codes of a shelf that are searched at most.
const QUENCHES: usize = 500;
const SWEEPS: usize = 200;
const SHELF: usize = 2000;

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

/// A finished census.
pub struct FinishedCensus {
    /// Codes that are traps.
    pub traps: u128,
    /// One of them.
    pub code: Option<Code>,
}

impl BenignArgs {
    /// Finds the answer.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Benign, Error> {
        let class = self.class.class()?;
        let allowance = self.class.allowance();
        if let Some(known) = known(&class) {
            return Ok(Benign::by_theorem(&class, known));
        }
        let options = options(settings, allowance);
        let plan = CensusPlan::new(&class, &Reward::new(0u8, 1u8), &options);
        let (codes, said) = match plan {
            Ok(plan) => {
                let codes = plan.survey().codes().to_string();
                let shard = Shard { number: 1, of: 1 };
                let said = forecast(plan, shard, &Terminal::new());
                (codes, Ok(said.ok_or_else(stopped)?))
            }
            Err(error) => {
                let codes = dashu_int::UBig::from(class.q()).pow(class.cells());
                (codes.to_string(), Err(error))
            }
        };
        let short = |said: &CensusForecast| !said.at_least && said.seconds <= CENSUS_SECONDS;
        if said.as_ref().is_ok_and(short)
            && let Some(census) = census(&class, settings, allowance)?
        {
            return Ok(Benign::by_census(&class, census, codes));
        }
        let takes = match said {
            Ok(said) if said.at_least => {
                format!("takes longer than the {CENSUS_SECONDS} s that this command spends on one")
            }
            Ok(said) => format!("takes {}", about(said.seconds)),
            Err(error) => format!("is refused: {error}"),
        };
        let needs = format!("A census of its {} codes {takes}", grouped(&codes));
        let (quenches, certified, code) = quench(&class, settings, allowance)?;
        Ok(Benign::by_quenches(
            &class, codes, &needs, quenches, certified, code,
        ))
    }
}

fn stopped() -> Error {
    Error::Stopped("stopped before an answer was found".to_owned())
}

fn options(settings: &GlobalArgs, allowance: Allowance) -> CensusOptions {
    let mut options = CensusOptions::default();
    options.threads = threads(settings.threads, usize::MAX);
    options.allowance = allowance;
    options
}

/// Counts the traps of a class; none where a census does not apply.
pub fn census(
    class: &Class,
    settings: &GlobalArgs,
    allowance: Allowance,
) -> Result<Option<FinishedCensus>, Error> {
    let options = options(settings, allowance);
    let Ok(plan) = CensusPlan::new(class, &Reward::new(0u8, 1u8), &options) else {
        return Ok(None);
    };
    match count(plan, &options, &Terminal::new())? {
        Counted::Whole(census, count) => Ok(Some(FinishedCensus {
            traps: count.traps.iter().map(|trap| trap.weight).sum(),
            code: count.traps.first().map(|trap| census.code(trap.code)),
        })),
        _ => Err(stopped()),
    }
}

fn refuse(error: ChainError) -> foldglass_study::StudyError {
    match error {
        ChainError::TooLarge(error) => error.into(),
        ChainError::Count(error) => foldglass_study::StudyError::Count(error),
        other => foldglass_study::StudyError::Failed(other.to_string()),
    }
}

/// Walks at zero temperature from random codes, and certifies where they end.
fn quench(
    class: &Class,
    settings: &GlobalArgs,
    allowance: Allowance,
) -> Result<(usize, usize, Option<Code>), Error> {
    let what = format!("a quench of {} cells", class.cells());
    let asked = threads(settings.threads, QUENCHES);
    let threads = fitting(asked, &what, counts::bytes(class), allowance)?;
    let each = allowance.shared(threads);
    let observer = Terminal::new();
    let dynamics = ChainSettings::of(class)
        .with_kernel(Kernel::Metropolis)
        .with_order(Order::Cell);
    let seed = settings.seed;
    let job = |number: usize| -> Result<Option<Option<Code>>, foldglass_study::StudyError> {
        let chain = number as u64..number as u64 + 1;
        let mut walk = Chains::builder(class, dynamics)
            .seed(seed)
            .numbers(chain)
            .within(each)
            .start()
            .map_err(refuse)?;
        for _ in 0..SWEEPS {
            let progress = Progress {
                unit: "quenches",
                done: number as u64,
                all: Some(QUENCHES as u64),
                share: None,
            };
            if observer.hear(progress).is_break() {
                return Ok(None);
            }
            walk.sweep(&[0.0]);
            if walk.reward(0) == walk.denominator() {
                return Ok(Some(None));
            }
        }
        let context = Context::default().with_threads(1).with_memory(each);
        let mut workers = Workers::new(class, context)?;
        let mut search = Search::new(&mut workers, walk.code(0).clone(), SHELF);
        search.explore(&mut workers, context.with_observer(&observer));
        if interrupted() || !search.is_over() {
            return Ok(None);
        }
        let trap = search
            .finish()
            .map(|shelf| shelf.verdict)
            .filter(|verdict| matches!(verdict.finding, Finding::Certified { .. }));
        Ok(Some(trap.map(|verdict| verdict.start)))
    };
    let (mut done, mut certified, mut first) = (0, 0, None);
    let take = |found: Option<Code>| {
        done += 1;
        if let Some(code) = found {
            certified += 1;
            first.get_or_insert(code);
        }
        Ok(())
    };
    in_order(0..threads, QUENCHES, |_| &job, take)?;
    match done {
        QUENCHES => Ok((done, certified, first)),
        _ => Err(stopped()),
    }
}

/// The answer.
#[derive(Serialize)]
pub struct Benign {
    answer: &'static str,
    theorem: Option<&'static str>,
    why: String,
    traps: Option<String>,
    code: Option<CodeForm>,
    census_codes: Option<String>,
    quenches: Option<usize>,
    certified: Option<usize>,
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
            certified: None,
            upper_95: None,
            class: class.spec(),
        }
    }

    fn by_theorem(class: &Class, known: Known) -> Benign {
        let about = match known.theorem {
            Some("A") => {
                "parity with correlated inputs: the ballot words of theorem A count its traps"
            }
            Some("B") if !class.task().reward().is_final() => {
                "parity with a process reward: by theorem B it is the landscape of the lengths 1 to T with \
                 the weights of the steps"
            }
            Some("B") => {
                "parity of several lengths: the right and wrong lengths of theorem B count its traps"
            }
            None => {
                "untied, and a process reward in which every step weighs at least as much as all later ones \
                 together: putting the steps right one after the other never lowers the reward (docs/process.md; \
                 `escape` prints the path)"
            }
            _ => {
                "untied, memory 1, final reward and independent inputs: by theorem C a path that never \
                 lowers the reward leads from every code to reward 1 (`escape` prints it)"
            }
        };
        Benign {
            theorem: known.theorem,
            traps: known.traps.map(|traps| traps.to_string()),
            code: known.code.as_ref().map(CodeForm::from),
            ..Benign::new(class, known.code.is_some(), about.to_owned())
        }
    }

    fn by_census(class: &Class, census: FinishedCensus, codes: String) -> Benign {
        let why = format!(
            "no theorem applies; all {} codes were counted",
            grouped(&codes)
        );
        Benign {
            traps: Some(census.traps.to_string()),
            code: census.code.as_ref().map(CodeForm::from),
            census_codes: Some(codes),
            ..Benign::new(class, census.traps > 0, why)
        }
    }

    fn by_quenches(
        class: &Class,
        codes: String,
        needs: &str,
        quenches: usize,
        certified: usize,
        code: Option<Code>,
    ) -> Benign {
        let fails = escape::assumptions(class);
        let fails = fails.map_or_else(|error| error.to_string(), |()| String::new());
        let why = format!(
            "{fails}. {needs}. {certified} of {quenches} quenches at zero temperature end \
             in a certified trap"
        );
        // With no trap in n quenches, a larger share of them would have shown one with 95 %.
        let upper = 1.0 - 0.05f64.powf(1.0 / quenches as f64);
        let none = certified == 0;
        Benign {
            answer: if none { "unknown" } else { "traps" },
            code: code.as_ref().map(CodeForm::from),
            census_codes: Some(codes),
            quenches: Some(quenches),
            certified: Some(certified),
            upper_95: none.then_some(upper),
            ..Benign::new(class, !none, why)
        }
    }
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
                "bound    at most {} of all quenches end in such a trap, with 95 % confidence",
                number(upper)
            ),
            None => Ok(()),
        }
    }
}
