//! fig:trapsfixed: Monte Carlo in traps at finite temperature against the CAVI endpoints seeded at
//! its marginals, both families of traps (section 3.3, G.2).

mod figure;

use std::collections::BTreeMap;

use foldglass::stats::Proportion;
use foldglass_study::Record;
use serde_json::Value;

use crate::report::Digits;
use crate::reproduce::data::Data;
use crate::reproduce::item::{Figure, Item, Quantity};
use crate::reproduce::measured::Measured;
use crate::reproduce::stated::{Entry, count, entry, greatest, mean};
use crate::reproduce::studies::{
    CHAINS_TIED, PURE_CORRELATED, PURE_TIED, QUENCH_CORRELATED, Source,
};
use crate::reproduce::traps::is_trapped;

/// The item.
pub static ITEM: Item = Item {
    label: "fig:trapsfixed",
    title: "MC stationary marginals against the CAVI endpoints seeded at them",
    studies: &[CHAINS_TIED, QUENCH_CORRELATED, PURE_CORRELATED, PURE_TIED],
    censuses: &[],
    certificates: false,
    work: None,
    fleets: &[],
    measure,
    paper: || PAPER.to_vec(),
    shows_all: true,
    figure: Some(Figure {
        file: "fig-trapsfixed.svg",
        draw: figure::draw,
    }),
};

/// A class that traps are of.
struct TrapClass {
    id: &'static str,
    name: &'static str,
    /// The study whose chains end in its traps.
    chains: Source,
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
    name: &'static str,
    title: &'static str,
    source: Source,
    classes: &'static [TrapClass],
}

const SIX: &str = "parity k=9/10 T=6";
const EIGHT: &str = "parity k=9/10 T=8";
const CORRELATED: &str = "parity k=9/10 T=6, 8";
const TIED: &str = "qg03-tied";

const FAMILIES: [Family; 2] = [
    Family {
        name: CORRELATED,
        title: "(a) correlated-input parity traps",
        source: PURE_CORRELATED,
        classes: &[
            TrapClass {
                id: "parity-6",
                name: SIX,
                chains: QUENCH_CORRELATED,
                cells: 22.0,
                q: 2.0,
            },
            TrapClass {
                id: "parity-8",
                name: EIGHT,
                chains: QUENCH_CORRELATED,
                cells: 30.0,
                q: 2.0,
            },
        ],
    },
    Family {
        name: TIED,
        title: "(b) tied quasigroup traps",
        source: PURE_TIED,
        classes: &[TrapClass {
            id: "qg03-tied",
            name: TIED,
            chains: CHAINS_TIED,
            cells: 4525.0,
            q: 5.0,
        }],
    },
];

/// A trap at a temperature, as it is recorded.
struct Run<'a> {
    class: &'static TrapClass,
    record: &'a Record,
}

impl Run<'_> {
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

fn runs<'a>(data: &'a Data, family: &'static Family) -> Vec<Run<'a>> {
    let of = |class: &'static TrapClass| {
        let records = data.runs(family.source, class.id).into_iter();
        records.map(move |record| Run { class, record })
    };
    family.classes.iter().flat_map(of).collect()
}

/// The temperatures of a family.
fn temperatures(data: &Data, family: &Family) -> Vec<f64> {
    let mut taus = data.temperatures(family.source, family.classes[0].id);
    taus.sort_by(f64::total_cmp);
    taus
}

/// The runs of a family at a temperature.
fn at<'a, 'b>(runs: &'b [Run<'a>], tau: f64) -> Vec<&'b Run<'a>> {
    runs.iter().filter(|run| run.tau() == tau).collect()
}

/// A number of those that are traps.
fn of_traps(runs: &[&Run<'_>], key: &str) -> Vec<f64> {
    let traps = runs.iter().filter(|run| run.enters());
    traps.filter_map(|run| run.number(key)).collect()
}

fn measure(data: &Data) -> Vec<Quantity> {
    let mut list = Vec::new();
    for family in &FAMILIES {
        for class in family.classes {
            let chains = data.runs(class.chains, class.id);
            let trapped = chains.iter().filter(|record| is_trapped(record)).count();
            list.push(Quantity::new(
                class.name,
                "chains that end in a trap",
                of(trapped, chains.len()),
            ));
        }
        let runs = runs(data, family);
        for tau in temperatures(data, family) {
            list.extend(point(family, &at(&runs, tau), tau));
        }
        list.extend(texts(family, &runs));
    }
    list
}

fn of(successes: usize, trials: usize) -> Measured {
    Measured::Count(Proportion {
        successes: successes as u64,
        trials: trials as u64,
    })
}

/// What the figure shows at a temperature, and how far correlations between cells vanish.
fn point(family: &Family, runs: &[&Run<'_>], tau: f64) -> Vec<Quantity> {
    let tau_text = Digits::Significant(3).text(tau);
    let named = |what: &str| format!("{what} at tau = {tau_text}");
    let rewards = |runs: Vec<&&Run<'_>>| {
        let mean = |run: &&&Run<'_>| run.number("mean_reward");
        Measured::Mean(runs.iter().filter_map(mean).collect())
    };
    let mut list = vec![Quantity::new(
        family.name,
        named("MC reward"),
        rewards(runs.iter().collect()),
    )];
    if tau == HOTTEST && family.classes.len() > 1 {
        for class in family.classes {
            let own = runs.iter().filter(|run| run.class.id == class.id).collect();
            list.push(Quantity::new(class.name, named("MC reward"), rewards(own)));
        }
    }
    let entering = runs.iter().filter(|run| run.enters()).count();
    let share = of(entering, runs.len());
    list.push(Quantity::new(
        family.name,
        named("finite-temperature traps"),
        share,
    ));
    for (what, key) in [
        ("Bhattacharyya", "bhattacharyya"),
        ("its null", "bhattacharyya_null"),
        ("correlation of cells", "correlation"),
        ("its noise", "correlation_noise"),
    ] {
        let values = Measured::Mean(of_traps(runs, key));
        list.push(Quantity::new(family.name, named(what), values));
    }
    let entropies = runs.iter().filter(|run| run.enters()).filter_map(|run| {
        let entropy = run.number("entropy")?;
        Some(entropy / run.class.uniform())
    });
    let entropies = Measured::Mean(entropies.collect());
    list.push(Quantity::new(
        family.name,
        named("entropy over that of uniform cells"),
        entropies,
    ));
    list
}

/// The numbers that the text names.
fn texts(family: &Family, runs: &[Run<'_>]) -> Vec<Quantity> {
    let entering = || runs.iter().filter(|run| run.enters());
    let draws: Vec<f64> = entering().filter_map(|run| run.number("draws")).collect();
    let fewest = draws.iter().copied().reduce(f64::min);
    // By class and trap: whether CAVI converged at every temperature.
    let mut traps: BTreeMap<(&str, u64), Vec<&Run<'_>>> = BTreeMap::new();
    for run in entering() {
        traps
            .entry((run.class.id, run.record.run))
            .or_default()
            .push(run);
    }
    let unstable = |run: &&Run<'_>| run.number("cavi_unstable").is_some_and(|cells| cells > 0.0);
    let converged = traps.values().filter(|runs| !runs.iter().any(&unstable));
    let mut list = vec![
        Quantity::new(family.name, MOST_DRAWS, Measured::Greatest(draws.clone())),
        Quantity::new(
            family.name,
            "fewest draws of a finite-temperature trap (6 in the paper, of both families)",
            Measured::Exact(fewest.map(|draws| draws.to_string())),
        ),
        Quantity::new(family.name, CONVERGED, of(converged.count(), traps.len())),
    ];
    if family.name == TIED {
        let moving: Vec<&Run<'_>> = entering()
            .filter(unstable)
            .filter(|run| run.tau() <= COLD)
            .collect();
        let cells = moving.iter().filter_map(|run| run.number("cavi_unstable"));
        list.push(Quantity::new(
            TIED,
            UNSTABLE,
            Measured::Greatest(cells.collect()),
        ));
        let far = moving.iter().filter_map(|run| {
            Some((run.number("cavi_reward")? - run.number("start_reward")?).abs())
        });
        list.push(Quantity::new(TIED, FAR, Measured::Greatest(far.collect())));
    }
    list
}

const HOTTEST: f64 = 0.3;

/// Up to here the tied chains never leave the trap's reward, the paper says.
const COLD: f64 = 1e-6;

const MOST_DRAWS: &str = "most draws of a finite-temperature trap";
const CONVERGED: &str = "traps whose CAVI converges at every temperature";
const UNSTABLE: &str = "most unstable cells of one where it does not, tau <= 1e-6";
const FAR: &str = "most that its endpoint's J is off the trap's";

const ALL_CODES: &str =
    "the exact mean over all codes at this tau, in place of a number of the paper";

#[rustfmt::skip]
const PAPER: &[Entry] = &[
    entry(SIX, "chains that end in a trap", count(13, 128)).reference(count(12, 128)),
    entry(EIGHT, "chains that end in a trap", count(14, 128)).reference(count(19, 128)),
    entry(SIX, "MC reward at tau = 0.3", mean("0.6146", 13)).note(ALL_CODES),
    entry(EIGHT, "MC reward at tau = 0.3", mean("0.5748", 14)).note(ALL_CODES),
    entry(CORRELATED, "MC reward at tau = 0.3", mean("0.59", 27)),
    entry(CORRELATED, MOST_DRAWS, greatest(24_000.0, 27)),
    entry(CORRELATED, CONVERGED, count(27, 27)),

    entry(TIED, "chains that end in a trap", count(12, 12)),
    entry(TIED, "MC reward at tau = 0.001", mean("0.2", 3)).note("the chance value 1/5"),
    entry(TIED, CONVERGED, count(9, 12)),
    entry(TIED, UNSTABLE, greatest(2.0, 3)),
    entry(TIED, FAR, greatest(2e-5, 3)),
];
