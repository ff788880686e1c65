//! Goes through all codes of parity at small lengths, and its exact thermodynamics at large ones (paper,
//! section 4.2, App. F, Fig. 1).

use foldglass::anatomy::{StepKind, product, steps};
use foldglass::thermo::parity::Parity;
use foldglass::{Code, InputLaw, Reward, Shape, Symbol, count};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::class;
use crate::claims::Bench;
use crate::error::Error;

/// All codes of one length: the formula, dead steps, half-resets, counts by reward.
pub fn codes(bench: &Bench) -> Result<Value, Error> {
    let mut found = serde_json::Map::new();
    for length in 2..=bench.scaled(4, 3) {
        found.insert(format!("T{length}"), codes_of(bench, length)?);
    }
    let mut logs = Vec::new();
    for length in 3..=bench.scaled(5, 4) {
        logs.push(log_z_apart(bench, length)?);
    }
    found.insert("log_z_apart".to_owned(), json!(logs));
    Ok(found.into())
}

fn codes_of(bench: &Bench, length: usize) -> Result<Value, Error> {
    let class = class("parity", &InputLaw::Uniform, &[length], Shape::untied(0, 0));
    let half = Reward::new(1u8, 2u8);
    let (mut formula, mut dead, mut dead_elsewhere) = (0usize, 0usize, 0usize);
    let mut pairs = BTreeMap::from([("one", 0usize), ("half", 0), ("dead", 0)]);
    let mut by_resets: BTreeMap<usize, BTreeMap<String, usize>> = BTreeMap::new();
    let number = 1usize << class.cells();
    for n in 0..number {
        if n % 4096 == 0 {
            bench.go_on()?;
        }
        let code = Code::from_fn(&class, |cell| (n >> cell & 1) as Symbol);
        let reward = count::reward(&code);
        let (factors, said) = product(&code).expect("the formula is for this class");
        formula += usize::from(said == reward);
        let steps = steps(&code);
        if steps.iter().any(|step| step.kind.is_dead()) {
            dead += 1;
            dead_elsewhere += usize::from(reward != half);
        } else {
            let resets = steps
                .iter()
                .filter(|step| step.kind == StepKind::HalfResets);
            let own = by_resets.entry(resets.count()).or_default();
            *own.entry(reward.to_string()).or_default() += 1;
        }
        // The link pairs of the second step, each once for every rest of the code.
        let twice = factors[1].twice.abs();
        *pairs
            .get_mut(["dead", "half", "one"][twice as usize])
            .expect("a kind") += 1;
    }
    let per_pair = number / 16;
    Ok(json!({
        "codes": number, "formula_holds": formula, "dead": dead, "dead_not_half": dead_elsewhere,
        "by_resets": by_resets,
        "pairs": [pairs["one"] / per_pair, pairs["half"] / per_pair, pairs["dead"] / per_pair],
    }))
}

/// ln Z by the closed form and by visiting every code: the largest difference.
fn log_z_apart(bench: &Bench, length: usize) -> Result<f64, Error> {
    let class = class("parity", &InputLaw::Uniform, &[length], Shape::untied(0, 0));
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    let cells = class.cells();
    let mut counter = foldglass::count::Counter::new(
        Code::from_fn(&class, |_| 0),
        foldglass::Allowance::default(),
    )?;
    // By a Gray code, so that each code is one change of the one before.
    for n in 0u64..1 << cells {
        if n % (1 << 14) == 0 {
            bench.go_on()?;
        }
        *counts.entry(counter.reward() as u64).or_default() += 1;
        let cell = (n + 1).trailing_zeros() as usize;
        if cell < cells {
            let action = 1 - counter.code().action(cell);
            counter.set(cell, action);
        }
    }
    let whole = (1u64 << length) as f64;
    let mut worst = 0f64;
    for beta in [0.3, 1.0, 7.7, 31.0, 97.3] {
        let term =
            |(&reward, &count): (&u64, &u64)| count as f64 * (beta * reward as f64 / whole).exp();
        let sum: f64 = counts.iter().map(term).sum();
        let apart = (sum.ln() - Parity::new(length).at(beta).log_z).abs();
        worst = worst.max(apart);
    }
    Ok(worst)
}

/// The transition: where it is, how sharp, what is on either side.
pub fn heat(_: &Bench) -> Result<Value, Error> {
    let ln2 = std::f64::consts::LN_2;
    let mut found = serde_json::Map::new();
    for length in [10usize, 40, 100, 200] {
        let parity = Parity::new(length);
        let leading = 6.0 * length as f64 * ln2;
        let crossing = (6 * length - 2) as f64 * ln2;
        let climb = parity.climb(0.6, 0.9);
        let mean = |beta: f64| parity.at(beta).mean_reward;
        let entropy = |beta: f64| parity.at(beta).entropy;
        let (hot, cold) = (0.9 * crossing, 1.1 * crossing);
        let step = 1e-4;
        let slope =
            (parity.at(crossing + step).log_z - parity.at(crossing - step).log_z) / (2.0 * step);
        let two_level = (-40..=40).map(|n| {
            let beta = crossing + f64::from(n) / 4.0;
            (mean(beta) - Parity::two_level(beta, crossing)).abs()
        });
        let middle = parity.transition();
        found.insert(
            format!("T{length}"),
            json!({
                "leading": leading, "crossing": crossing, "three_quarters": middle.three_quarters,
                "climb": climb.width(), "relative_climb": climb.width() / leading,
                "hot": mean(hot), "cold": mean(cold), "at_leading": mean(leading),
                "entropy_drop": entropy(hot) - entropy(cold),
                "entropy_stated": (3 * length - 1) as f64 * ln2,
                "slope_is_mean": (slope - mean(crossing)).abs(),
                "two_level_apart": two_level.fold(0.0, f64::max),
                "equilibrium_at_1e-13": mean(1e13),
            }),
        );
    }
    Ok(found.into())
}

/// The two codes and two inputs of the figure.
pub fn dictionary(_: &Bench) -> Result<Value, Error> {
    let class = class("parity", &InputLaw::Uniform, &[5], Shape::untied(0, 0));
    let fold = Code::from_fn(&class, |cell| {
        let key = class.key(cell);
        let x = key.x[0].expect("the step's own symbol");
        key.y[0].map_or(x, |y| x ^ y)
    });
    let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].expect("its own symbol"));
    let right = |code: &Code, x: &[Symbol]| {
        let mut y: Vec<Symbol> = Vec::new();
        for t in 1..=x.len() {
            y.push(code.action(class.route(x, t, &y)));
        }
        y[x.len() - 1] == class.task().fold(x)
    };
    let inputs: [[Symbol; 5]; 2] = [[0, 1, 0, 1, 1], [1, 1, 0, 1, 1]];
    let answers = |code: &Code| inputs.iter().filter(|x| right(code, &x[..])).count();
    Ok(json!({
        "parity_right": answers(&fold), "copy_right": answers(&copy),
        "parity_reward": count::reward(&fold).to_string(),
        "copy_reward": count::reward(&copy).to_string(),
    }))
}
