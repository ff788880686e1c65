//! fig:trapsfixed: Monte Carlo in traps at finite temperature against the CAVI endpoints seeded at
//! its marginals, both families of traps (section 3.3, G.2).

mod figure;

use std::collections::BTreeMap;
use std::fmt;

use foldglass_study::Record;
use serde_json::Value;

use crate::report::Digits;
use crate::reproduce::classes::{ClassId, TIED};
use crate::reproduce::item::{About, Item, Number, RecordFigure};
use crate::reproduce::measured::Measured;
use crate::reproduce::need::Need;
use crate::reproduce::records::Records;
use crate::reproduce::stated::{Entry, count, entry, greatest, mean};
use crate::reproduce::studies::{
    CHAINS_TIED, PURE_CORRELATED, PURE_TIED, QUENCH_CORRELATED, StudyText,
};
use crate::reproduce::traps::is_trapped;

/// The item.
pub static ITEM: Item = Item {
    label: "fig:trapsfixed",
    title: "MC stationary marginals against the CAVI endpoints seeded at them",
    about: Some(About {
        place: 1,
        number: "Fig. 2",
        section: "section 3.3, app. G.2",
        says: "What Monte Carlo settles into is, cell by cell, a fixed point of tabular RLVR.",
        stakes: "If it failed, traps of the spin model would say nothing about training.",
    }),
    needs: &[
        Need::Study(CHAINS_TIED),
        Need::Study(QUENCH_CORRELATED),
        Need::Study(PURE_CORRELATED),
        Need::Study(PURE_TIED),
    ],
    measure,
    paper,
    shows_all: true,
    figure: Some(RecordFigure {
        file: "fig-trapsfixed.svg",
        shows: "Reward, Bhattacharyya coefficient with its null, and entropy of pure states against the temperature, for correlated and for tied traps",
        draw: figure::draw,
    }),
};

/// A class that traps are of.
struct TrapClass {
    class: ClassId,
    /// The study whose chains end in its traps.
    chains: StudyText,
    /// Its cells, and q.
    cells: f64,
    q: f64,
}

impl TrapClass {
    /// The entropy of uniform cells.
    fn uniform(&self) -> f64 {
        self.cells * self.q.ln()
    }
}

/// A panel of the figure.
struct Family {
    class: ClassId,
    title: &'static str,
    source: StudyText,
    classes: &'static [TrapClass],
}

/// The two classes of correlated parity, and both together.
pub const SIX: ClassId = ClassId::new("parity-6", "parity k=9/10 T=6");
/// Likewise.
pub const EIGHT: ClassId = ClassId::new("parity-8", "parity k=9/10 T=8");
/// Likewise.
pub const BOTH: ClassId = ClassId::named("parity k=9/10 T=6, 8");

const FAMILIES: [Family; 2] = [
    Family {
        class: BOTH,
        title: "(a) correlated-input parity traps",
        source: PURE_CORRELATED,
        classes: &[
            TrapClass {
                class: SIX,
                chains: QUENCH_CORRELATED,
                cells: 22.0,
                q: 2.0,
            },
            TrapClass {
                class: EIGHT,
                chains: QUENCH_CORRELATED,
                cells: 30.0,
                q: 2.0,
            },
        ],
    },
    Family {
        class: TIED,
        title: "(b) tied quasigroup traps",
        source: PURE_TIED,
        classes: &[TrapClass {
            class: TIED,
            chains: CHAINS_TIED,
            cells: 4525.0,
            q: 5.0,
        }],
    },
];

/// A trap at a temperature, as it is recorded.
struct TrapRun<'a> {
    class: &'static TrapClass,
    record: &'a Record,
}

impl TrapRun<'_> {
    fn tau(&self) -> f64 {
        let tau = self.record.settings.get("tau").and_then(Value::as_f64);
        tau.expect("a pure state has a temperature")
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.record.result.get(key).and_then(Value::as_f64)
    }

    /// Whether it is a finite-temperature trap.
    fn enters(&self) -> bool {
        self.record.result.get("standing") == Some(&Value::from("trap"))
    }

    fn replicas(&self) -> Vec<f64> {
        let list = self
            .record
            .result
            .get("mean_rewards")
            .and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect()
    }
}

fn runs<'a>(records: &'a Records, family: &'static Family) -> Vec<TrapRun<'a>> {
    let of = |class: &'static TrapClass| {
        let list = records.runs(family.source, class.class.id).into_iter();
        list.map(move |record| TrapRun { class, record })
    };
    family.classes.iter().flat_map(of).collect()
}

/// The temperatures of a family, those without a trap included.
fn temperatures(records: &Records, family: &Family) -> Vec<f64> {
    let mut taus = records.temperatures(family.source, family.classes[0].class.id);
    taus.sort_by(f64::total_cmp);
    taus
}

/// The runs of a family at a temperature.
fn at<'a, 'b>(runs: &'b [TrapRun<'a>], tau: f64) -> Vec<&'b TrapRun<'a>> {
    runs.iter().filter(|run| run.tau() == tau).collect()
}

/// A number of those that are traps.
fn of_traps(runs: &[&TrapRun<'_>], key: &str) -> Vec<f64> {
    let traps = runs.iter().filter(|run| run.enters());
    traps.filter_map(|run| run.number(key)).collect()
}

/// What is measured of a class or a family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrapsFixedQuantity {
    /// Chains that end in a trap.
    Trapped,
    /// A curve at a temperature.
    At(AveragedCurve, f64),
    /// The most draws that are left of a trap.
    MostDraws,
    /// The fewest.
    FewestDraws,
    /// Traps whose CAVI converges at every temperature.
    Converged,
    /// The most cells that stay unstable where it does not.
    Unstable,
    /// The most that the reward is off the trap's there.
    Far,
}

use TrapsFixedQuantity::{At, Converged, Far, FewestDraws, MostDraws, Trapped, Unstable};

/// What is averaged at a temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AveragedCurve {
    /// The reward of the chains.
    Reward,
    /// The share of traps that chains stay in.
    FiniteTraps,
    /// The Bhattacharyya coefficient of CAVI's endpoint and the chains' marginals.
    Overlap,
    /// That of two halves of the draws.
    Null,
    /// The correlation of cells.
    Correlation,
    /// Its noise.
    Noise,
    /// The entropy over that of uniform cells.
    Entropy,
}

impl fmt::Display for TrapsFixedQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trapped => "chains that end in a trap",
            At(curve, tau) => {
                let tau = Digits::Significant(3).text(*tau);
                return write!(f, "{} at tau = {tau}", curve.name());
            }
            MostDraws => "most draws of a finite-temperature trap",
            FewestDraws => {
                "fewest draws of a finite-temperature trap (6 in the paper, of both families)"
            }
            Converged => "traps whose CAVI converges at every temperature",
            Unstable => "most unstable cells of one where it does not, tau <= 1e-6",
            Far => "most that its endpoint's J is off the trap's",
        })
    }
}

impl AveragedCurve {
    fn name(self) -> &'static str {
        match self {
            AveragedCurve::Reward => "MC reward",
            AveragedCurve::FiniteTraps => "finite-temperature traps",
            AveragedCurve::Overlap => "Bhattacharyya",
            AveragedCurve::Null => "its null",
            AveragedCurve::Correlation => "correlation of cells",
            AveragedCurve::Noise => "its noise",
            AveragedCurve::Entropy => "entropy over that of uniform cells",
        }
    }
}

fn measure(records: &Records) -> Vec<Number> {
    let mut list = Vec::new();
    for family in &FAMILIES {
        for class in family.classes {
            let chains = records.runs(class.chains, class.class.id);
            let trapped = Measured::share(chains.into_iter(), is_trapped);
            list.push(Number::new(class.class, Trapped, trapped));
        }
        let runs = runs(records, family);
        for tau in temperatures(records, family) {
            list.extend(point(family, &at(&runs, tau), tau));
        }
        list.extend(texts(family, &runs));
    }
    list
}

/// What the figure shows at a temperature, and how far correlations between cells vanish.
fn point(family: &Family, runs: &[&TrapRun<'_>], tau: f64) -> Vec<Number> {
    let rewards = |runs: Vec<&&TrapRun<'_>>| {
        let mean = |run: &&&TrapRun<'_>| run.number("mean_reward");
        Measured::Mean(runs.iter().filter_map(mean).collect())
    };
    let number = |curve, measured| Number::new(family.class, At(curve, tau), measured);
    let mut list = vec![number(
        AveragedCurve::Reward,
        rewards(runs.iter().collect()),
    )];
    if tau == HOTTEST && family.classes.len() > 1 {
        for TrapClass { class, .. } in family.classes {
            let own = runs
                .iter()
                .filter(|run| run.class.class == *class)
                .collect();
            list.push(Number::new(
                *class,
                At(AveragedCurve::Reward, tau),
                rewards(own),
            ));
        }
    }
    let share = Measured::share(runs.iter(), |run| run.enters());
    list.push(number(AveragedCurve::FiniteTraps, share));
    for (curve, key) in [
        (AveragedCurve::Overlap, "bhattacharyya"),
        (AveragedCurve::Null, "bhattacharyya_null"),
        (AveragedCurve::Correlation, "correlation"),
        (AveragedCurve::Noise, "correlation_noise"),
    ] {
        list.push(number(curve, Measured::Mean(of_traps(runs, key))));
    }
    let entropies = runs.iter().filter(|run| run.enters()).filter_map(|run| {
        let entropy = run.number("entropy")?;
        Some(entropy / run.class.uniform())
    });
    list.push(number(
        AveragedCurve::Entropy,
        Measured::Mean(entropies.collect()),
    ));
    list
}

/// The numbers that the text names.
fn texts(family: &Family, runs: &[TrapRun<'_>]) -> Vec<Number> {
    let entering = || runs.iter().filter(|run| run.enters());
    let draws: Vec<f64> = entering().filter_map(|run| run.number("draws")).collect();
    let fewest = draws.iter().copied().reduce(f64::min);
    // By class and trap: whether CAVI converged at every temperature.
    let mut traps: BTreeMap<(&str, u64), Vec<&TrapRun<'_>>> = BTreeMap::new();
    for run in entering() {
        let trap = (run.class.class.id, run.record.run);
        traps.entry(trap).or_default().push(run);
    }
    let unstable =
        |run: &&TrapRun<'_>| run.number("cavi_unstable").is_some_and(|cells| cells > 0.0);
    let converged = Measured::share(traps.values(), |runs| !runs.iter().any(&unstable));
    let number = |quantity, measured| Number::new(family.class, quantity, measured);
    let mut list = vec![
        number(MostDraws, Measured::Greatest(draws.clone())),
        number(
            FewestDraws,
            Measured::Exact(fewest.map(|draws| draws.to_string())),
        ),
        number(Converged, converged),
    ];
    if family.class == TIED {
        let moving: Vec<&TrapRun<'_>> = entering()
            .filter(unstable)
            .filter(|run| run.tau() <= COLD)
            .collect();
        let cells = moving.iter().filter_map(|run| run.number("cavi_unstable"));
        list.push(number(Unstable, Measured::Greatest(cells.collect())));
        let far = moving.iter().filter_map(|run| {
            Some((run.number("cavi_reward")? - run.number("start_reward")?).abs())
        });
        list.push(number(Far, Measured::Greatest(far.collect())));
    }
    list
}

const HOTTEST: f64 = 0.3;

/// Up to here the tied chains never leave the trap's reward, the paper says.
const COLD: f64 = 1e-6;

const ALL_CODES: &str =
    "the exact mean over all codes at this tau, in place of a number of the paper";

#[rustfmt::skip]
fn paper() -> Vec<Entry> { vec![
    entry(SIX, Trapped, count(13, 128)).reference(count(12, 128)),
    entry(EIGHT, Trapped, count(14, 128)).reference(count(19, 128)),
    entry(SIX, At(AveragedCurve::Reward, 0.3), mean("0.6146", 13)).note(ALL_CODES),
    entry(EIGHT, At(AveragedCurve::Reward, 0.3), mean("0.5748", 14)).note(ALL_CODES),
    entry(BOTH, At(AveragedCurve::Reward, 0.3), mean("0.59", 27)),
    entry(BOTH, MostDraws, greatest(24_000.0, 27)),
    entry(BOTH, Converged, count(27, 27)),

    entry(TIED, Trapped, count(12, 12)),
    entry(TIED, At(AveragedCurve::Reward, 0.001), mean("0.2", 3)).note("the chance value 1/5"),
    entry(TIED, Converged, count(9, 12)),
    entry(TIED, Unstable, greatest(2.0, 3)),
    entry(TIED, Far, greatest(2e-5, 3)),
] }
