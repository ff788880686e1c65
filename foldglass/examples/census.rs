//! Counts every code of a class: optima, local maxima and traps (paper, App. G.6).
//!
//! `cargo run --release -p foldglass --example census`

use foldglass::landscape::census::Survey;
use foldglass::prelude::*;
use foldglass::support::exact;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for length in 2..=5 {
        // Parity of inputs that repeat their last symbol nine times in ten.
        let spec = ClassSpec {
            inputs: InputLaw::Markov(exact::parse("9/10")?),
            ..ClassSpec::uniform(Operation::cyclic(2)?, &[length], Shape::untied(0, 0))
        };
        let survey = Survey::new(&spec.lay_out()?, &Reward::ZERO)?;
        let codes = survey.codes();
        let (census, found) = survey.count(Context::default())?;
        let traps: u128 = found.traps.iter().map(|trap| trap.weight).sum();
        let (optimal, maxima) = (found.optimal, found.local_maxima);
        println!("{spec}: {codes} codes, {optimal} optimal, {maxima} other maxima, {traps} traps");
        if let Some(trap) = found.traps.first() {
            let (reward, code) = (census.reward(trap.reward), census.code(trap.code));
            println!("  a trap of reward {reward}: {:?}", code.actions());
        }
    }
    Ok(())
}
