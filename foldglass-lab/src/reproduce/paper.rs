//! Holds the numbers that the paper states, by LaTeX label, and those of the independent prototype
//! (the specification, "Reference values"). Only [`super::compare`] reads them.

use foldglass::stats::Proportion;

use super::landscape::LOOSE;

/// A number as it is stated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stated {
    /// A mean over n runs, as printed: its digits say how far it is rounded.
    Mean {
        /// The digits.
        text: &'static str,
        /// The standard deviation over the runs, where it is stated.
        sd: Option<f64>,
        /// The runs.
        n: u64,
        /// How many of them are at exactly 1, where it is stated.
        ones: Option<u64>,
    },
    /// Runs at exactly 1.
    Count(Proportion),
    /// A quantile over n runs.
    Quantile {
        /// Its value.
        value: f64,
        /// The runs.
        n: u64,
    },
    /// The largest value over n runs.
    Greatest {
        /// It.
        value: f64,
        /// The runs.
        n: u64,
    },
    /// A number, or several, without any chance in it, as exact as the paper has it.
    Exact(&'static str),
    /// The temperature with the largest mean; none where no temperature beats the coldest.
    Peak {
        /// It.
        tau: Option<f64>,
        /// The runs at each temperature.
        n: u64,
    },
}

impl Stated {
    /// The runs it rests on.
    pub fn runs(&self) -> u64 {
        match *self {
            Stated::Mean { n, .. }
            | Stated::Quantile { n, .. }
            | Stated::Greatest { n, .. }
            | Stated::Peak { n, .. } => n,
            Stated::Count(count) => count.trials,
            Stated::Exact(_) => 1,
        }
    }
}

/// What is stated about one quantity of one class.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The class, by its id in the studies.
    pub class: &'static str,
    /// The quantity, as [`super::items`] names it.
    pub quantity: String,
    /// The paper's number.
    pub paper: Stated,
    /// The prototype's.
    pub reference: Option<Stated>,
    /// What a reader should know in any case.
    pub note: &'static str,
    /// Why ours may differ, where the specification knows it.
    pub reason: &'static str,
}

/// All entries of a label.
pub fn entries(label: &str) -> Vec<Entry> {
    match label {
        "tab:equilibration" => equilibration(),
        "tab:shortfall" => shortfall(),
        "tab:regulator" => regulator(),
        "fig:temperature_untied" => figure(),
        "tab:trapsexist" => traps(),
        _ => Vec::new(),
    }
}

/// A mean, its standard deviation not stated.
fn mean(text: &'static str, n: u64) -> Stated {
    Stated::Mean {
        text,
        sd: None,
        n,
        ones: None,
    }
}

/// A mean with its standard deviation.
fn spread(text: &'static str, sd: f64, n: u64) -> Stated {
    Stated::Mean {
        text,
        sd: Some(sd),
        n,
        ones: None,
    }
}

/// A mean next to the number of runs at exactly 1.
fn beside(text: &'static str, ones: u64, n: u64) -> Stated {
    Stated::Mean {
        text,
        sd: None,
        n,
        ones: Some(ones),
    }
}

fn count(successes: u64, trials: u64) -> Stated {
    Stated::Count(Proportion { successes, trials })
}

/// The entries of one label, as they are written down.
#[derive(Default)]
struct List {
    entries: Vec<Entry>,
}

impl List {
    fn add(
        &mut self,
        class: &'static str,
        quantity: impl Into<String>,
        paper: Stated,
    ) -> &mut Entry {
        self.entries.push(Entry {
            class,
            quantity: quantity.into(),
            paper,
            reference: None,
            note: "",
            reason: "",
        });
        self.entries.last_mut().expect("just pushed")
    }
}

const OTHER_CHAIN: &str = "erratum 6: the upper block is not the chain of the middle block";
const TIED_TAU: &str = "the paper states no tau for the tied class; ours is 1e-10";
const QUENCH: &str = "erratum 5: the paper says no quench, ours has 50 iterations at 1e-13";

fn equilibration() -> Vec<Entry> {
    let mut list = List::default();
    for (sweep, text, sd, ones) in [
        (10, "0.747", 0.241, 46),
        (20, "0.888", 0.204, 76),
        (40, "0.985", 0.083, 97),
        (100, "1.000", 0.0, 100),
        (1000, "1.000", 0.0, 100),
    ] {
        let reason =
            "erratum 6: all at the optimum by sweep 100 contradicts the table's own maxima";
        list.add(
            "parity",
            format!("J at sweep {sweep}"),
            spread(text, sd, 100),
        )
        .reason = reason;
        list.add("parity", format!("at 1 at sweep {sweep}"), count(ones, 100))
            .reason = reason;
    }
    for kernel in ["heat bath", "Metropolis"] {
        let entry = list.add(
            "parity",
            format!("at 1 at sweep 10, {kernel} by steps"),
            count(46, 100),
        );
        (entry.note, entry.reason) = ("the middle block's chain", OTHER_CHAIN);
    }
    for (class, kernel, n, values, reference) in [
        (
            "parity",
            "heat bath",
            100,
            [16.0, 50.0, 116.0],
            [16.0, 50.0],
        ),
        (
            "parity",
            "Metropolis",
            100,
            [22.0, 77.0, 199.0],
            [25.0, 71.0],
        ),
        ("z5", "heat bath", 60, [14.0, 30.0, 57.0], [13.0, 28.0]),
        ("z5", "Metropolis", 60, [44.0, 64.0, 119.0], [47.0, 75.0]),
        ("qg", "heat bath", 60, [13.0, 23.0, 40.0], [13.0, 27.0]),
        ("qg", "Metropolis", 60, [48.0, 66.0, 95.0], [48.0, 73.0]),
    ] {
        for (number, name) in ["median", "p90"].into_iter().enumerate() {
            let quantile = |value| Stated::Quantile { value, n };
            let quantity = format!("sweeps to stationarity, {name}, {kernel}");
            list.add(class, quantity, quantile(values[number]))
                .reference = Some(quantile(reference[number]));
        }
        let quantity = format!("sweeps to stationarity, max, {kernel}");
        list.add(
            class,
            quantity,
            Stated::Greatest {
                value: values[2],
                n,
            },
        );
    }
    for (sweep, text) in [(1000, "0.7897"), (5000, "0.9273")] {
        list.add("qg03", format!("J at sweep {sweep}"), mean(text, 12));
    }
    list.add("qg03", "J at sweep 20000", beside("0.9967", 11, 12));
    list.add("qg03", "at 1 at sweep 20000", count(11, 12));
    list.add("qg03", "at 1 at the end", count(12, 12)).note =
        "the paper's last run arrives by sweep 50,000";
    let frozen = spread("0.8969", TIED_SPREAD, 12);
    for (sweep, stated) in [(1000, mean("0.8675", 12)), (5000, frozen), (20000, frozen)] {
        list.add("qg03-tied", format!("J at sweep {sweep}"), stated)
            .note = "tau = 1e-6, that of the paper's twelve tied traps";
    }
    list.add("qg03-tied", "at 1 at sweep 20000", count(0, 12));
    list.entries
}

/// The standard deviation of the rewards at which the tied chains freeze: the text of App. G.6.
const TIED_SPREAD: f64 = 0.044;

/// The rows that tab:shortfall and the plain block of tab:regulator share: mean, sd, at 1, seeds.
const PLAIN: [(&str, &str, f64, u64, u64); 7] = [
    ("parity", "1.0000", 0.0, 100, 100),
    ("z5", "0.7770", 0.1697, 17, 60),
    ("qg", "0.8190", 0.1662, 23, 60),
    ("qg21-345", "0.9837", 0.0055, 0, 12),
    ("qg11-3456", "0.9493", 0.0129, 0, 12),
    ("qg21-456", "0.9626", 0.0062, 0, 12),
    ("qg03", "0.7636", 0.0237, 0, 12),
];

/// The prototype's plain runs: mean and, where it is stated, count.
fn plain_reference(class: &str) -> [Option<Stated>; 2] {
    match class {
        "parity" => [None, Some(count(2988, 3000))],
        "z5" => [Some(spread("0.798", 0.160, 1000)), Some(count(305, 1000))],
        "qg" => [Some(spread("0.793", 0.153, 1000)), Some(count(275, 1000))],
        "qg21-345" => [Some(mean("0.9836", 12)), None],
        "qg11-3456" => [Some(mean("0.9493", 12)), None],
        "qg21-456" => [Some(mean("0.962", 12)), None],
        "qg03" => [Some(mean("0.763", 12)), None],
        "qg03-tied" => [Some(mean("0.644", 12)), None],
        _ => [None, None],
    }
}

fn shortfall() -> Vec<Entry> {
    let mut list = List::default();
    let tied = ("qg03-tied", "0.6541", 0.0298, 0, 12);
    for (class, text, sd, ones, n) in PLAIN.into_iter().chain([tied]) {
        let [mean_reference, count_reference] = plain_reference(class);
        let chain = match class {
            "qg03-tied" => spread("0.8969", TIED_SPREAD, n),
            _ => beside("1.0000", n, n),
        };
        list.add(class, "J, chain", chain);
        if class != "qg03-tied" {
            list.add(class, "at 1, chain", count(n, n));
        }
        let reason = if class == "qg03-tied" { TIED_TAU } else { "" };
        let entry = list.add(class, "J, RLVR", spread(text, sd, n));
        (entry.reference, entry.reason) = (mean_reference, reason);
        if class == "qg03-tied" {
            entry.note = TIED_TAU;
        }
        let entry = list.add(class, "at 1, RLVR", count(ones, n));
        (entry.reference, entry.reason) = (count_reference, reason);
    }
    list.add("untied", "at 1, chain", count(268, 268));
    list.add("untied but parity", "at 1, RLVR", count(40, 168));
    list.entries
}

fn regulator() -> Vec<Entry> {
    let mut list = List::default();
    struct Scan {
        class: &'static str,
        n: u64,
        cold: (&'static str, &'static str, u64),
        best: Option<(&'static str, f64, &'static str, u64)>,
        warm: (&'static str, &'static str),
    }
    let scan = |class, n, cold, best, warm| Scan {
        class,
        n,
        cold,
        best,
        warm,
    };
    for Scan {
        class,
        n,
        cold,
        best,
        warm,
    } in [
        scan(
            "parity",
            100,
            ("1e-15", "1.0000", 100),
            None,
            ("1e-2", "0.5000"),
        ),
        scan("z5", 240, ("1e-12", "0.7995", 84), None, ("1e-7", "0.2061")),
        scan(
            "qg",
            240,
            ("1e-12", "0.7858", 67),
            Some(("1e-10", 1e-10, "0.7992", 75)),
            ("1e-7", "0.2000"),
        ),
        scan(
            "qg21-345",
            12,
            ("1e-13", "0.9837", 0),
            Some(("3.2e-5", 3.2e-5, "1.0000", 12)),
            ("1e-2", "0.9539"),
        ),
        scan(
            "qg11-3456",
            12,
            ("1e-13", "0.9493", 0),
            Some(("5.6e-5", 5.6e-5, "0.9993", 11)),
            ("1e-2", "0.8851"),
        ),
        scan(
            "qg21-456",
            12,
            ("1e-13", "0.9626", 0),
            Some(("1.8e-5", 1.8e-5, "0.9998", 9)),
            ("1e-2", "0.9001"),
        ),
        scan("qg03", 12, ("1e-13", "0.7636", 0), None, ("1e-7", "0.1999")),
    ] {
        let several = ["qg21-345", "qg11-3456", "qg21-456"].contains(&class);
        let reason = if several { QUENCH } else { "" };
        let (tau, text, ones) = cold;
        let entry = list.add(class, at("J", tau), beside(text, ones, n));
        entry.reason = reason;
        if several || class == "qg03" {
            entry.reference = plain_reference(class)[0];
        }
        list.add(class, at("at 1", tau), count(ones, n)).reason = reason;
        let peak = Stated::Peak {
            tau: best.map(|best| best.1),
            n,
        };
        list.add(class, "best tau of the scan", peak).reason = reason;
        if let Some((tau, _, text, ones)) = best {
            let reference = match class {
                "qg21-345" => [Some(beside("1.0000", 12, 12)), None],
                "qg11-3456" => [Some(beside("0.997", 26, 36)), Some(count(26, 36))],
                "qg21-456" => [Some(mean("0.999", 12)), None],
                _ => plain_reference(class),
            };
            let entry = list.add(class, at("J", tau), beside(text, ones, n));
            (entry.reason, entry.reference) = (reason, reference[0]);
            let entry = list.add(class, at("at 1", tau), count(ones, n));
            (entry.reason, entry.reference) = (reason, reference[1]);
        }
        let (tau, text) = warm;
        list.add(class, at("J", tau), mean(text, n)).reason = reason;
    }
    let resets = [
        ("1.0000", 100),
        ("0.9967", 59),
        ("1.0000", 60),
        ("1.0000", 12),
        ("1.0000", 12),
        ("1.0000", 12),
        ("0.9400", 0),
    ];
    for ((class, text, sd, ones, n), (reset_text, reset_ones)) in PLAIN.into_iter().zip(resets) {
        let [mean_reference, count_reference] = plain_reference(class);
        list.add(class, "J, plain", spread(text, sd, n)).reference = mean_reference;
        list.add(class, "at 1, plain", count(ones, n)).reference = count_reference;
        let reference = match class {
            "z5" | "qg" => [None, Some(count(120, 120))],
            "qg03" => [Some(mean("0.937", 6)), Some(count(0, 6))],
            _ => [None, None],
        };
        list.add(class, "J, resets", beside(reset_text, reset_ones, n))
            .reference = reference[0];
        list.add(class, "at 1, resets", count(reset_ones, n))
            .reference = reference[1];
    }
    list.entries
}

/// The figure prints no numbers: they stand in tab:regulator, in its caption and in the text.
fn figure() -> Vec<Entry> {
    let mut list = List::default();
    let table = regulator();
    let points = table.into_iter().filter(|entry| {
        let quantity = &entry.quantity;
        quantity.starts_with("J at tau")
            || quantity == "J, resets"
            || quantity == "best tau of the scan"
    });
    list.entries.extend(points);
    let caption = "the caption of tab:regulator";
    list.add("z5", at("J", "1e-8"), beside("0.8030", 82, 240))
        .note = caption;
    let entry = list.add("qg21-345", at("J", "1e-5"), mean("0.9960", 12));
    (entry.note, entry.reason) = (caption, QUENCH);
    list.entries
}

/// A quantity at a temperature.
fn at(quantity: &str, tau: &str) -> String {
    format!("{quantity} at tau = {tau}")
}

/// Cells, codes, local maxima, traps and barriers for T = 4 to 8, then the tied endpoints.
fn traps() -> Vec<Entry> {
    let mut list = List::default();
    let rows: [(&str, [&str; 4], &str); 5] = [
        ("parity k=9/10 T=4", ["14", "16384", "648", "8"], "1/25"),
        ("parity k=9/10 T=5", ["18", "262144", "14656", "32"], "1/25"),
        (
            "parity k=9/10 T=6",
            ["22", "4194304", "141280", "160"],
            "1/25, 4/125",
        ),
        (
            "parity k=9/10 T=7",
            ["26", "67108864", "3622336", "576"],
            "1/25, 4/125",
        ),
        (
            "parity k=9/10 T=8",
            ["30", "1073741824", "35307392", "2432"],
            "1/25, 4/125, 16/625",
        ),
    ];
    for (class, [cells, codes, maxima, traps], barriers) in rows {
        let last = class == "parity k=9/10 T=8";
        list.add(class, "cells", Stated::Exact(cells));
        list.add(class, "codes", Stated::Exact(codes));
        list.add(class, "local maxima", Stated::Exact(maxima))
            .reason = ERRATUM_MAXIMA;
        if last {
            list.add(class, LOOSE, Stated::Exact(maxima)).note = ERRATUM_MAXIMA;
        }
        list.add(class, "traps", Stated::Exact(traps));
        let rewards = match class {
            "parity k=9/10 T=4" | "parity k=9/10 T=5" => "9/10",
            _ => "9/10, 41/50",
        };
        list.add(class, "rewards of traps", Stated::Exact(rewards))
            .reason = "erratum 2: traps that discard three positions";
        list.add(
            class,
            "barriers: largest single loss",
            Stated::Exact(barriers),
        );
        list.add(
            class,
            "barriers: drop below the trap",
            Stated::Exact(barriers),
        )
        .reason = "erratum 10: the paper's are losses of single changes; some ways out take several in a row";
    }
    list.add("parity k=1/2 T=8", "traps", Stated::Exact("0"));
    let class = "qg03-tied";
    list.add(
        class,
        "J of the endpoints",
        spread("0.897", TIED_SPREAD, 12),
    );
    list.add(class, "endpoints at 1", count(0, 12));
    list.add(class, "certified", count(10, 12));
    list.add(class, "bounded", count(2, 12));
    list.add(class, "escapes", count(0, 12));
    list.add(class, "certified, alone on the shelf", count(2, 12));
    let greatest = |value| Stated::Greatest { value, n: 10 };
    list.add(class, "largest certified shelf", greatest(768.0))
        .note = "erratum 4: another appendix has eleven shelves of up to 26,112";
    list.add(class, "greatest depth of one", greatest(9.0)).note =
        "the paper's is a diameter: ours, from the endpoint, is at most that";
    list.entries
}

const ERRATUM_MAXIMA: &str = "erratum 1: the paper's number counts changes up to 1e-6 as none";
