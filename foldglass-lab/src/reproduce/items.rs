//! Lists what each item measures, in the order of its table.

use foldglass::stats::Proportion;

use super::compare::Measured;
use super::data::{Data, Sample};
use super::landscape::{Endpoint, LOOSE, LOOSE_LENGTH, PARITIES};
use super::studies::{
    APPROACH, CHAINS_LENGTHS, CHAINS_TIED, CHAINS_WIDE, PLAIN, RESETS, SCAN, STATIONARITY, Source,
};
use crate::census::Traps;

/// A table or figure of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// Stationarity of the chains.
    Equilibration,
    /// Chains against RLVR.
    Shortfall,
    /// The temperature scan and the resets, by numbers.
    Regulator,
    /// The same as a figure, part (a).
    Temperature,
    /// All codes of correlated parity, and verdicts on the tied endpoints.
    TrapsExist,
}

/// A measured number of a class.
#[derive(Debug, Clone)]
pub struct Quantity {
    /// The class, by its id in the studies.
    pub class: &'static str,
    /// What it is.
    pub name: String,
    /// What the runs say.
    pub measured: Measured,
}

/// A class: its id in the studies and its name in tables.
pub const CLASSES: [(&str, &str); 8] = [
    ("parity", "parity (0,0) T=10"),
    ("z5", "Z_5 (0,0) T=8"),
    ("qg", "quasigroup (0,0) T=8"),
    ("qg21-345", "quasigroup (2,1) T=3,4,5"),
    ("qg11-3456", "quasigroup (1,1) T=3,4,5,6"),
    ("qg21-456", "quasigroup (2,1) T=4,5,6"),
    ("qg03", "quasigroup (0,3) T=7"),
    ("qg03-tied", "quasigroup (0,3) T=7 tied"),
];

/// The seven untied ones.
pub fn untied() -> impl Iterator<Item = &'static str> {
    CLASSES.into_iter().map(|(id, _)| id).take(7)
}

/// The name of a class or of several.
pub fn name(class: &'static str) -> &'static str {
    let found = CLASSES.into_iter().find(|(id, _)| *id == class);
    found.map_or(class, |(_, name)| name)
}

impl Item {
    /// All, in the order of the paper's appendix.
    pub const ALL: [Item; 5] = [
        Item::Equilibration,
        Item::Shortfall,
        Item::Regulator,
        Item::Temperature,
        Item::TrapsExist,
    ];

    /// The LaTeX label.
    pub fn label(self) -> &'static str {
        match self {
            Item::Equilibration => "tab:equilibration",
            Item::Shortfall => "tab:shortfall",
            Item::Regulator => "tab:regulator",
            Item::Temperature => "fig:temperature_untied",
            Item::TrapsExist => "tab:trapsexist",
        }
    }

    /// The studies whose records it needs.
    pub fn studies(self) -> &'static [Source] {
        match self {
            Item::Equilibration => &[APPROACH, STATIONARITY, CHAINS_WIDE, CHAINS_TIED],
            Item::Shortfall => &[
                STATIONARITY,
                CHAINS_LENGTHS,
                PLAIN,
                CHAINS_WIDE,
                CHAINS_TIED,
            ],
            Item::TrapsExist => &[CHAINS_TIED],
            Item::Regulator | Item::Temperature => &[PLAIN, RESETS, SCAN],
        }
    }

    /// What the records say of it.
    pub fn measure(self, data: &Data) -> Vec<Quantity> {
        let mut list = List(Vec::new());
        match self {
            Item::Equilibration => equilibration(data, &mut list),
            Item::Shortfall => shortfall(data, &mut list),
            Item::Regulator => {
                untied().for_each(|class| list.scan(data, class));
                for class in untied() {
                    list.both(class, "plain", &data.ends(PLAIN, class, "", None));
                    list.both(class, "resets", &data.ends(RESETS, class, "", None));
                }
            }
            Item::TrapsExist => traps(data, &mut list),
            Item::Temperature => {
                untied().for_each(|class| list.scan(data, class));
                list.0
                    .retain(|quantity| !matches!(quantity.measured, Measured::Count(_)));
                for class in untied() {
                    list.add(
                        class,
                        "J, resets".to_owned(),
                        data.ends(RESETS, class, "", None).mean(),
                    );
                }
            }
        }
        list.0
    }

    /// Whether numbers that the paper does not state are shown too.
    pub fn shows_all(self) -> bool {
        self == Item::Temperature
    }
}

struct List(Vec<Quantity>);

impl List {
    fn add(&mut self, class: &'static str, name: String, measured: Measured) {
        self.0.push(Quantity {
            class,
            name,
            measured,
        });
    }

    /// The mean and the runs at 1 of a kind of run.
    fn both(&mut self, class: &'static str, kind: &str, sample: &Sample) {
        self.add(class, format!("J, {kind}"), sample.mean());
        self.add(class, format!("at 1, {kind}"), sample.at_one());
    }

    /// The scan of a class: every temperature, then the best.
    fn scan(&mut self, data: &Data, class: &'static str) {
        let points = scan(data, class);
        for (tau, sample) in &points {
            self.add(class, format!("J at tau = {tau:e}"), sample.mean());
            self.add(class, format!("at 1 at tau = {tau:e}"), sample.at_one());
        }
        let points = points
            .into_iter()
            .map(|(tau, sample)| (tau, sample.rewards));
        self.add(
            class,
            "best tau of the scan".to_owned(),
            Measured::Peak(points.collect()),
        );
    }
}

/// The rewards of a class at each temperature of its scan, the coldest first. That of the (0,3)
/// class begins with its plain runs.
pub fn scan(data: &Data, class: &str) -> Vec<(f64, Sample)> {
    let sources: &[Source] = if class == "qg03" {
        &[PLAIN, SCAN]
    } else {
        &[SCAN]
    };
    let mut points: Vec<(f64, Sample)> = Vec::new();
    for &source in sources {
        for tau in data.temperatures(source, class) {
            points.push((tau, data.ends(source, class, "", Some(tau))));
        }
    }
    points
}

fn equilibration(data: &Data, list: &mut List) {
    for sweep in [10, 20, 40, 100, 1000] {
        let sample = data.after(APPROACH, "parity", "heat-bath", sweep);
        list.add("parity", format!("J at sweep {sweep}"), sample.mean());
        list.add("parity", format!("at 1 at sweep {sweep}"), sample.at_one());
    }
    let kernels = [("heat-bath", "heat bath"), ("metropolis", "Metropolis")];
    for (dynamics, kernel) in kernels {
        let sample = data.after(STATIONARITY, "parity", dynamics, 10);
        list.add(
            "parity",
            format!("at 1 at sweep 10, {kernel} by steps"),
            sample.at_one(),
        );
    }
    for class in ["parity", "z5", "qg"] {
        for (dynamics, kernel) in kernels {
            let values = data.last_changes(STATIONARITY, class, dynamics);
            for (name, level) in [("median", 0.5), ("p90", 0.9)] {
                let quantile = Measured::Quantile {
                    level,
                    values: values.clone(),
                };
                list.add(
                    class,
                    format!("sweeps to stationarity, {name}, {kernel}"),
                    quantile,
                );
            }
            let name = format!("sweeps to stationarity, max, {kernel}");
            list.add(class, name, Measured::Greatest(values));
        }
    }
    for (class, source) in [("qg03", CHAINS_WIDE), ("qg03-tied", CHAINS_TIED)] {
        for sweep in [1000, 5000, 20000] {
            let sample = data.after(source, class, "", sweep);
            list.add(class, format!("J at sweep {sweep}"), sample.mean());
        }
        let sample = data.after(source, class, "", 20000);
        list.add(class, "at 1 at sweep 20000".to_owned(), sample.at_one());
        if class == "qg03" {
            let sample = data.ends(source, class, "", None);
            list.add(class, "at 1 at the end".to_owned(), sample.at_one());
        }
    }
}

/// How the Metropolis chains of a class ended.
fn chains(data: &Data, class: &str) -> Sample {
    match class {
        "parity" | "z5" | "qg" => data.ends(STATIONARITY, class, "metropolis", None),
        "qg03" => data.ends(CHAINS_WIDE, class, "", None),
        "qg03-tied" => data.ends(CHAINS_TIED, class, "", None),
        _ => data.ends(CHAINS_LENGTHS, class, "metropolis", None),
    }
}

fn shortfall(data: &Data, list: &mut List) {
    let (mut all_chains, mut most_rlvr) = (Sample::default(), Sample::default());
    for (class, _) in CLASSES {
        let (chains, rlvr) = (chains(data, class), data.ends(PLAIN, class, "", None));
        list.both(class, "chain", &chains);
        list.both(class, "RLVR", &rlvr);
        if class != "qg03-tied" {
            all_chains.extend(&chains);
            if class != "parity" {
                most_rlvr.extend(&rlvr);
            }
        }
    }
    list.add("untied", "at 1, chain".to_owned(), all_chains.at_one());
    list.add(
        "untied but parity",
        "at 1, RLVR".to_owned(),
        most_rlvr.at_one(),
    );
}

fn traps(data: &Data, list: &mut List) {
    let landscape = &data.landscape;
    for (class, length) in PARITIES {
        let found = landscape.of(length);
        let mut exact = |name: &str, text: Option<String>| {
            list.add(class, name.to_owned(), Measured::Exact(text));
        };
        exact("cells", found.map(|found| found.cells.to_string()));
        exact("codes", found.map(|found| found.codes.clone()));
        exact(
            "local maxima",
            found.map(|found| found.local_maxima.clone()),
        );
        if length == LOOSE_LENGTH {
            exact(LOOSE, landscape.loose.clone());
        }
        let traps = found.and_then(|found| found.traps.as_ref());
        exact("traps", traps.map(|traps| traps.traps.clone()));
        exact("rewards of traps", traps.map(Traps::rewards));
        exact("barriers: largest single loss", traps.map(Traps::losses));
        exact("barriers: drop below the trap", traps.map(Traps::depths));
    }
    list.add(
        "parity k=1/2 T=8",
        "traps".to_owned(),
        Measured::Exact(landscape.uncorrelated.clone()),
    );
    let class = "qg03-tied";
    let verdicts = &landscape.verdicts;
    let ends = data.ends(CHAINS_TIED, class, "", None);
    list.add(class, "J of the endpoints".to_owned(), ends.mean());
    list.add(class, "endpoints at 1".to_owned(), ends.at_one());
    let share = |is: &dyn Fn(&Endpoint) -> bool| {
        Measured::Count(Proportion {
            successes: verdicts.iter().filter(|end| is(end)).count() as u64,
            trials: verdicts.len() as u64,
        })
    };
    for kind in ["certified", "bounded", "escapes"] {
        let measured = share(&|end| end.verdict == kind);
        list.add(class, kind.to_owned(), measured);
    }
    let alone = share(&|end| end.verdict == "certified" && end.shelf == 1);
    list.add(class, "certified, alone on the shelf".to_owned(), alone);
    let certified = || verdicts.iter().filter(|end| end.verdict == "certified");
    let shelves = certified().map(|end| end.shelf as f64).collect();
    list.add(
        class,
        "largest certified shelf".to_owned(),
        Measured::Greatest(shelves),
    );
    let depths = certified().map(|end| end.depth as f64).collect();
    list.add(
        class,
        "greatest depth of one".to_owned(),
        Measured::Greatest(depths),
    );
}

#[cfg(test)]
mod tests {
    use super::super::paper;
    use super::super::studies::Scale;
    use super::*;

    #[test]
    fn every_number_of_the_paper_is_measured_once() {
        for item in Item::ALL {
            let mut data = Data::default();
            for source in item.studies() {
                data.add(*source, source.study(Scale::Full, 0), None)
                    .unwrap();
            }
            let measured = item.measure(&data);
            for entry in paper::entries(item.label()) {
                let same = |quantity: &&Quantity| {
                    quantity.class == entry.class && quantity.name == entry.quantity
                };
                let found: Vec<&Quantity> = measured.iter().filter(same).collect();
                assert_eq!(
                    found.len(),
                    1,
                    "{}: {}, {}",
                    item.label(),
                    entry.class,
                    entry.quantity
                );
                found[0].measured.judge(&entry.paper, 1);
            }
        }
    }
}
