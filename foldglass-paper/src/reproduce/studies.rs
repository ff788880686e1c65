//! Embeds the studies behind the items, and cuts them to the smaller scales.
//!
//! They are files of `foldglass run`: copy one and change it.

use foldglass_study::{Dynamics, Study};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::headlines;

/// A study by its name, with its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StudyText {
    /// Its name, and its directory's.
    pub name: &'static str,
    /// About the processor seconds that it takes in full; only a progress bar rests on it.
    seconds: u32,
    /// What is added to a reproduction's seed: every study has its own, or runs of the same number
    /// would begin alike in two of them, and their rows would not be independent. It stays as it is,
    /// or existing directories are refused.
    offset: u64,
    text: &'static str,
}

macro_rules! source {
    ($name:literal, $seconds:literal, seed $number:literal) => {
        StudyText {
            name: $name,
            seconds: $seconds,
            offset: $number << 32,
            text: include_str!(concat!("../../studies/", $name, ".toml")),
        }
    };
}

/// Parity's way to equilibrium.
pub const APPROACH: StudyText = source!("approach", 1, seed 0);
/// Sweeps to stationarity of the (0,0) classes.
pub const STATIONARITY: StudyText = source!("stationarity", 7, seed 1);
/// Chains of the classes of several lengths.
pub const CHAINS_LENGTHS: StudyText = source!("chains-lengths", 2, seed 2);
/// Chains of the (0,3) class.
pub const CHAINS_WIDE: StudyText = source!("chains-wide", 26, seed 3);
/// The same, tied.
pub const CHAINS_TIED: StudyText = source!("chains-tied", 294, seed 7);
/// Tabular RLVR, undisturbed.
pub const PLAIN: StudyText = source!("plain", 44, seed 4);
/// The same with resets.
pub const RESETS: StudyText = source!("resets", 36, seed 5);
/// The same against the temperature.
pub const SCAN: StudyText = source!("scan", 270, seed 6);
/// Chains of correlated parity, to find its traps.
pub const QUENCH_CORRELATED: StudyText = source!("quench-correlated", 1, seed 8);
/// Those traps at finite temperature.
pub const PURE_CORRELATED: StudyText = source!("pure-states-correlated", 57, seed 9);
/// The tied traps likewise.
pub const PURE_TIED: StudyText = source!("pure-states-tied", 1096, seed 10);
/// Chains and RLVR on several lengths that share cells.
pub const LENGTHS: StudyText = source!("lengths", 120, seed 11);
/// Quenches of correlated parity.
pub const CAPTURE: StudyText = source!("capture", 400, seed 12);
/// Sampled gradients beside exact ones.
pub const SAMPLED: StudyText = source!("sampled", 70, seed 13);

/// All of them, in any order.
#[cfg(test)]
pub const ALL: [StudyText; 14] = [
    APPROACH,
    STATIONARITY,
    CHAINS_LENGTHS,
    CHAINS_WIDE,
    PLAIN,
    RESETS,
    SCAN,
    CHAINS_TIED,
    QUENCH_CORRELATED,
    PURE_CORRELATED,
    PURE_TIED,
    LENGTHS,
    CAPTURE,
    SAMPLED,
];

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// A smoke test of everything: few seeds, and the long runs cut short.
    Smoke,
    /// The runs behind the headline results ([`super::headlines`]), as many as the paper has, and no others.
    Quick,
    /// What the paper ran, but for the long studies of fig:trapsfixed: half of their traps, which is
    /// enough to judge by.
    Short,
    /// What the paper ran.
    Full,
}

impl Scale {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Smoke => "smoke",
            Scale::Quick => "quick",
            Scale::Short => "short",
            Scale::Full => "full",
        }
    }

    /// The directory of a reproduction where none is named. Records in full go on from those of the
    /// short scale, in their place.
    pub fn directory(self) -> &'static str {
        match self {
            Scale::Smoke => "reproduction-smoke",
            Scale::Quick => "reproduction-quick",
            Scale::Short | Scale::Full => "reproduction",
        }
    }
}

/// The most runs of the smoke scale where runs share vectors, and so cost little.
const SMOKE_RUNS: u64 = 8;

/// The most runs of the smoke scale on classes with wide windows, at one temperature and at each of
/// several.
const SMOKE_WIDE_RUNS: u64 = 2;
const SMOKE_SCAN_RUNS: u64 = 1;

/// The most traps of a class at the smoke scale, and the chains to find them among: one in eight ends
/// in one.
const SMOKE_TRAPS: u64 = 1;
const SMOKE_QUENCHES: u64 = 48;

/// The most sweeps of a chain, and the most iterations of CAVI, on them.
const SMOKE_LENGTHS: [(&str, u64); 3] = [("sweeps", 1_000), ("iterations", 300), ("updates", 300)];

impl StudyText {
    /// The study at a scale. `seed` is that of the reproduction.
    pub fn study(&self, scale: Scale, seed: u64) -> Study {
        let seed = seed.wrapping_add(self.offset);
        let mut study = Study::parse(self.text, seed).expect("an embedded study is well-formed");
        match scale {
            Scale::Smoke => shrink(&mut study),
            Scale::Quick => headlines::pick(&mut study),
            Scale::Short => halve(&mut study),
            Scale::Full => {}
        }
        study
    }

    /// About the processor seconds that the study takes at a scale.
    pub fn cost(&self, scale: Scale) -> f64 {
        let runs = |scale| {
            let study = self.study(scale, 0);
            let runs = |of: &Dynamics| {
                // There are never as many traps as a study allows for.
                let most = if of.kind == PURE_STATE {
                    MOST_TRAPS
                } else {
                    u64::MAX
                };
                of.runs.min(most) as f64 * of.points().len() as f64
            };
            study.dynamics.iter().map(runs).sum::<f64>()
        };
        f64::from(self.seconds) * runs(scale) / runs(Scale::Full)
    }
}

/// About the most traps of a class: the paper has 14.
const MOST_TRAPS: u64 = 14;

/// Leaves half of the traps of a class, rounded up: a verdict needs half of the paper's runs.
fn halve(study: &mut Study) {
    for dynamics in &mut study.dynamics {
        if dynamics.kind == PURE_STATE {
            dynamics.runs = dynamics.runs.min(MOST_TRAPS).div_ceil(2);
        }
    }
}

/// Kinds of methods that the studies have, among others.
pub const PURE_STATE: &str = "pure-state";
/// Likewise.
pub const CHAIN: &str = "chain";

fn shrink(study: &mut Study) {
    let is_narrow = |n: usize| study.classes[n].words.window == [0, 0];
    let narrow: Vec<bool> = study
        .dynamics
        .iter()
        .map(|dynamics| study.classes_of(dynamics).all(is_narrow))
        .collect();
    let quenches = study.name == QUENCH_CORRELATED.name;
    for (dynamics, narrow) in study.dynamics.iter_mut().zip(narrow) {
        dynamics.runs = dynamics.runs.min(match (narrow, dynamics.points().len()) {
            _ if dynamics.kind == PURE_STATE => SMOKE_TRAPS,
            _ if quenches => SMOKE_QUENCHES,
            (true, _) => SMOKE_RUNS,
            (false, 1) => SMOKE_WIDE_RUNS,
            (false, _) => SMOKE_SCAN_RUNS,
        });
        if !narrow || [CAPTURE.name, SAMPLED.name].contains(&study.name.as_str()) {
            cut_runs(dynamics);
        }
    }
}

/// Cuts the runs of a dynamics short.
fn cut_runs(dynamics: &mut Dynamics) {
    for (key, most) in SMOKE_LENGTHS {
        let Some(length) = dynamics.settings.get(key).and_then(Value::as_u64) else {
            continue;
        };
        let length = length.min(most);
        dynamics.settings.insert(key.to_owned(), length.into());
        if let Some(Value::Array(marks)) = dynamics.settings.get_mut("checkpoints") {
            marks.retain(|mark| mark.as_u64().is_some_and(|mark| mark <= length));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_is_read_and_named_as_its_file() {
        for source in ALL {
            for scale in [Scale::Smoke, Scale::Quick, Scale::Short, Scale::Full] {
                let study = source.study(scale, 3);
                assert_eq!(study.name, source.name);
                // Most studies have no part in the headline results.
                if scale != Scale::Quick || !study.dynamics.is_empty() {
                    study.checked().unwrap();
                }
            }
        }
    }

    /// Records of earlier versions are read only if these stay.
    #[test]
    fn every_study_has_the_seed_that_it_always_had() {
        let seeds = ALL.map(|source| (source.name, source.study(Scale::Smoke, 5).seed - 5));
        let expected = [
            ("approach", 0),
            ("stationarity", 1 << 32),
            ("chains-lengths", 2 << 32),
            ("chains-wide", 3 << 32),
            ("plain", 4 << 32),
            ("resets", 5 << 32),
            ("scan", 6 << 32),
            ("chains-tied", 7 << 32),
            ("quench-correlated", 8 << 32),
            ("pure-states-correlated", 9 << 32),
            ("pure-states-tied", 10 << 32),
            ("lengths", 11 << 32),
            ("capture", 12 << 32),
            ("sampled", 13 << 32),
        ];
        for (name, seed) in expected {
            assert!(seeds.contains(&(name, seed)), "{name}: {seeds:?}");
        }
    }

    #[test]
    fn no_two_studies_have_the_same_seed() {
        let seeds: std::collections::HashSet<u64> = (0..3)
            .flat_map(|seed| ALL.map(|source| source.study(Scale::Full, seed).seed))
            .collect();
        assert_eq!(seeds.len(), 3 * ALL.len());
    }

    #[test]
    fn the_short_scale_halves_the_traps_and_nothing_else() {
        for source in ALL {
            let (short, full) = (source.study(Scale::Short, 0), source.study(Scale::Full, 0));
            if [PURE_CORRELATED, PURE_TIED].contains(&source) {
                let runs = |study: &Study| study.dynamics.iter().map(|of| of.runs).collect();
                let (short, full): (Vec<u64>, Vec<u64>) = (runs(&short), runs(&full));
                let halves = full.iter().map(|runs| (*runs).min(14).div_ceil(2));
                assert_eq!(short, halves.collect::<Vec<_>>());
            } else {
                assert_eq!(short, full);
            }
            assert!(source.cost(Scale::Smoke) < source.cost(Scale::Full));
        }
        assert_eq!(PURE_TIED.cost(Scale::Full), f64::from(PURE_TIED.seconds));
    }

    #[test]
    fn the_smoke_scale_has_fewer_than_half_of_the_runs() {
        for source in ALL {
            let (smoke, full) = (source.study(Scale::Smoke, 0), source.study(Scale::Full, 0));
            for (smoke, full) in smoke.dynamics.iter().zip(&full.dynamics) {
                assert!(
                    2 * smoke.runs < full.runs,
                    "{} of {}",
                    smoke.id,
                    source.name
                );
                assert_eq!(smoke.axes, full.axes);
            }
        }
    }
}
