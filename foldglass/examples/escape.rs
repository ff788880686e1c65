//! Leads a random code to J = 1 without ever lowering its reward, and checks the path (paper, App. B).
//!
//! `cargo run --release -p foldglass --example escape`

use foldglass::landscape::escape::escape;
use foldglass::prelude::*;
use foldglass::proof::check::path::verify;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let class = ClassSpec::uniform(Operation::paper(), &[5], Shape::untied(0, 0)).lay_out()?;
    let code = chain::random_code(&class, &mut Stream::new(7, 0));
    let path = escape(&code, Context::default())?;
    let neutral = path
        .moves
        .iter()
        .filter(|step| step.reward == path.start_reward)
        .count();
    println!(
        "J = {} at the start, {} changes of single cells",
        path.start_reward,
        path.moves.len()
    );
    println!("{neutral} of them before the first raise");
    for step in path.moves.iter().rev().take(3).rev() {
        println!(
            "cell {}: {} becomes {}, J = {}",
            step.cell, step.from, step.to, step.reward
        );
    }
    // The checker shares no code with the search: it rolls the code out on every input after every change.
    verify(&path, Context::default())?;
    println!(
        "every number of the path is checked; it ends at J = {}",
        path.reward
    );
    Ok(())
}
