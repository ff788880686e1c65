//! Quenches tabular RLVR and Monte Carlo on one class and compares where they end (paper, sections 2.1 and 4).
//!
//! `cargo run --release -p foldglass --example quench`

use foldglass::prelude::*;
use foldglass::support::exact;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Parity of correlated inputs, which has traps.
    let spec = ClassSpec {
        inputs: InputLaw::Markov(exact::parse("9/10")?),
        ..ClassSpec::uniform(Operation::cyclic(2)?, &[6], Shape::untied(0, 0))
    };
    let class = spec.lay_out()?;

    // 32 runs of the paper's update at a temperature near 0.
    let settings = cavi::CaviSettings::plain(1e-13, 500);
    let mut solved = 0;
    for group in Runs::builder(&class, settings)
        .seed(1)
        .numbers(0..32)
        .groups()
    {
        let mut runs = group.start()?;
        runs.advance(settings.length());
        let outcomes = runs.outcomes();
        solved += outcomes
            .iter()
            .filter(|outcome| outcome.greedy_reward.is_one())
            .count();
    }
    println!("{spec}: {solved} of 32 runs reach J = 1");

    // 32 chains, annealed from 0.5 to 0.001.
    let chains = Chains::builder(&class, chain::ChainSettings::of(&class)).seed(1);
    let mut solved = 0;
    for group in chains.numbers(0..32).groups() {
        let mut chains = group.start()?;
        for sweep in 0..1000 {
            let tau = 0.5 * (0.001f64 / 0.5).powf(f64::from(sweep) / 999.0);
            chains.sweep(&vec![tau; chains.count()]);
        }
        solved += (0..chains.count())
            .filter(|&c| chains.reward(c) == chains.denominator())
            .count();
    }
    println!("{spec}: {solved} of 32 annealed chains reach J = 1");
    Ok(())
}
