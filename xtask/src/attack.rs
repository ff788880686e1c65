//! Attacks the built program: kills, damaged files, flipped bits, extreme flags, signals.
//!
//! Every case draws from a stream of its own, made from the seed, the kind and its number, so it can
//! be repeated alone. Kills and signals fall where the machine's load lets them.

mod bits;
mod corpus;
mod files;
mod flags;
mod kills;
mod mutate;
mod process;
mod signals;
mod stream;

use crate::{Failure, cargo, target_dir};
use corpus::Corpus;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use stream::Stream;

/// What was typed after `cargo xtask attack`.
#[derive(Debug, Clone, PartialEq)]
pub struct AttackOptions {
    seed: u64,
    seconds: u64,
    /// How many attacks of each kind of [`KINDS`].
    most: [u64; KINDS.len()],
    /// A case to repeat, by kind and number.
    case: Option<(usize, u64)>,
    /// The program; none builds it.
    program: Option<PathBuf>,
}

/// A kind of attack: does a case in an empty folder and says how many attacks that were.
struct Kind {
    name: &'static str,
    attack: fn(&Corpus, &Path, u64, &mut Stream) -> Result<u64, String>,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "kills",
        attack: kills::attack,
    },
    Kind {
        name: "files",
        attack: files::attack,
    },
    Kind {
        name: "bits",
        attack: bits::attack,
    },
    Kind {
        name: "flags",
        attack: flags::attack,
    },
    Kind {
        name: "signals",
        attack: signals::attack,
    },
];

impl Default for AttackOptions {
    /// What `cargo xtask test` does: every kind of attack in turn, within a minute.
    fn default() -> AttackOptions {
        AttackOptions {
            seed: 1,
            seconds: 40,
            most: [u64::MAX; KINDS.len()],
            case: None,
            program: None,
        }
    }
}

impl AttackOptions {
    /// The command as one would type it.
    pub fn line(&self) -> String {
        let AttackOptions { seed, seconds, .. } = self;
        format!("cargo xtask attack --seed {seed} --seconds {seconds}")
    }

    /// The same against the program that the tests have built, whatever it was built with.
    pub fn after_tests(self) -> AttackOptions {
        AttackOptions {
            program: Some(built()),
            ..self
        }
    }

    /// The same for fewer seconds, where there is no more time.
    pub fn in_haste(self) -> AttackOptions {
        AttackOptions {
            seconds: self.seconds.min(15),
            ..self
        }
    }

    /// Reads the flags.
    pub fn parse(args: &[String]) -> Result<AttackOptions, Failure> {
        let mut options = AttackOptions::default();
        let mut args = args.iter();
        while let Some(flag) = args.next() {
            let value = args.next().map_or("", String::as_str);
            let number = || {
                value.parse().map_err(|_| {
                    Failure::Usage(format!("{flag} takes a whole number, got {value:?}"))
                })
            };
            let kind = KINDS
                .iter()
                .position(|kind| flag.strip_prefix("--") == Some(kind.name));
            match (flag.as_str(), kind) {
                (_, Some(kind)) => options.most[kind] = number()?,
                ("--seed", _) => options.seed = number()?,
                ("--seconds", _) => options.seconds = number()?,
                ("--program", _) => options.program = Some(value.into()),
                ("--case", _) => options.case = Some(case(value)?),
                _ => return Err(Failure::Usage(format!("attack does not know {flag:?}"))),
            }
        }
        Ok(options)
    }
}

/// Reads `files:17`.
fn case(text: &str) -> Result<(usize, u64), Failure> {
    let read = text.split_once(':').and_then(|(name, number)| {
        let kind = KINDS.iter().position(|kind| kind.name == name)?;
        Some((kind, number.parse().ok()?))
    });
    let names = KINDS.map(|kind| kind.name).join(", ");
    read.ok_or_else(|| {
        Failure::Usage(format!(
            "--case takes KIND:NUMBER, KIND one of {names}, got {text:?}"
        ))
    })
}

/// How far a kind of attack is.
#[derive(Default)]
struct Progress {
    cases: u64,
    attacks: u64,
    failed: u64,
    spent: Duration,
}

/// Runs `cargo xtask attack`.
pub fn run(options: &AttackOptions) -> Result<(), Failure> {
    let program = match &options.program {
        Some(program) => program.clone(),
        None => build()?,
    };
    let folder = target_dir().join(format!("attack-{}", std::process::id()));
    let made = folder.join("corpus");
    fs::create_dir_all(&made).map_err(|error| Failure::Failed(error.to_string()))?;
    let corpus = Corpus::new(&program, &made)
        .map_err(|fault| Failure::Failed(format!("an undisturbed command failed: {fault}")))?;
    let progress = attack(options, &corpus, &folder);
    let failed: u64 = progress.iter().map(|kind| kind.failed).sum();
    let cases: u64 = progress.iter().map(|kind| kind.cases).sum();
    for (kind, progress) in KINDS.iter().zip(&progress) {
        let Progress {
            cases,
            attacks,
            failed,
            spent,
        } = progress;
        let seconds = spent.as_secs_f64();
        println!(
            "{}: {attacks} in {cases} cases, {failed} failed, {seconds:.0} s",
            kind.name
        );
    }
    println!("{} passed, {failed} failed", cases - failed);
    if failed > 0 {
        return Err(Failure::Failed(format!(
            "{failed} attacks got through; their files are in {}",
            folder.display()
        )));
    }
    fs::remove_dir_all(&folder).map_err(|error| Failure::Failed(error.to_string()))
}

/// Attacks in turns, the kind that had the least time first, until all have their number or the
/// time is over.
fn attack(options: &AttackOptions, corpus: &Corpus, folder: &Path) -> [Progress; KINDS.len()] {
    let mut progress: [Progress; KINDS.len()] = Default::default();
    if let Some((kind, number)) = options.case {
        progress[kind].cases = number;
        one(options, corpus, folder, kind, &mut progress[kind]);
        progress[kind].cases = 1;
        return progress;
    }
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(options.seconds) {
        let open = (0..KINDS.len()).filter(|&kind| progress[kind].attacks < options.most[kind]);
        let Some(kind) = open.min_by_key(|&kind| progress[kind].spent) else {
            break;
        };
        one(options, corpus, folder, kind, &mut progress[kind]);
    }
    progress
}

/// Does the next case of a kind in a folder of its own, which stays where it failed.
fn one(
    options: &AttackOptions,
    corpus: &Corpus,
    folder: &Path,
    kind: usize,
    progress: &mut Progress,
) {
    let begun = Instant::now();
    let (Kind { name, attack }, number) = (&KINDS[kind], progress.cases);
    let own = folder.join(format!("{name}-{number}"));
    let made = fs::create_dir_all(&own).map_err(|error| error.to_string());
    let mut stream = Stream::new(options.seed, name, number);
    match made.and_then(|()| attack(corpus, &own, number, &mut stream)) {
        Ok(attacks) => {
            progress.attacks += attacks;
            let _ = fs::remove_dir_all(&own);
        }
        Err(fault) => {
            progress.attacks += 1;
            progress.failed += 1;
            println!("{name} {number}: {fault}");
            println!(
                "  cargo xtask attack --seed {} --case {name}:{number}",
                options.seed
            );
        }
    }
    progress.cases += 1;
    progress.spent += begun.elapsed();
}

/// Where a build for tests leaves the program.
fn built() -> PathBuf {
    target_dir().join("debug/foldglass")
}

/// Builds the program with the profile of the tests.
fn build() -> Result<PathBuf, Failure> {
    let args = [
        "build",
        "--quiet",
        "--package",
        "foldglass-cli",
        "--profile",
        "test",
    ];
    let status = cargo(&args).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(Failure::Failed("foldglass-cli did not build".into()));
    }
    Ok(built())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<AttackOptions, Failure> {
        AttackOptions::parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn counts_and_a_case_are_read() {
        let options = parse(&["--kills", "3", "--seed", "9", "--case", "bits:17"]).unwrap();
        assert_eq!((options.most[0], options.seed, options.seconds), (3, 9, 40));
        assert_eq!(options.case, Some((2, 17)));
    }

    #[test]
    fn a_wrong_flag_is_named() {
        for (args, named) in [
            (vec!["--kills", "many"], "\"many\""),
            (vec!["--seconds"], "\"\""),
            (vec!["--case", "bits"], "\"bits\""),
            (vec!["--fast", "1"], "\"--fast\""),
        ] {
            let error = parse(&args);
            assert!(
                matches!(&error, Err(Failure::Usage(message)) if message.contains(named)),
                "{error:?}"
            );
        }
    }
}
