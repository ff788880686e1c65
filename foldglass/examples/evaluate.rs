//! Evaluates policies exactly: reward, visits and values of every cell (paper, App. A).
//!
//! `cargo run --release -p foldglass --example evaluate`

use foldglass::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Addition modulo 3 of four symbols; a policy sees (t, x_t, y_{t-1}).
    let spec = ClassSpec::uniform(Operation::cyclic(3)?, &[4], Shape::untied(0, 0));
    let class = spec.lay_out()?;
    let mut evaluator = Evaluator::new(&class)?;
    let chance = evaluator.evaluate(&Policy::uniform(&class));
    println!("{spec}: {} cells, by chance J = {chance:.4}", class.cells());

    // Nine times in ten what the folding code does, else any symbol.
    let fold = Code::fold(&class);
    let rows: Vec<Vec<f64>> = (fold.actions().iter())
        .map(|&right| {
            let p = |action| if action == right { 0.9 } else { 0.05 };
            (0..3).map(p).collect()
        })
        .collect();
    let reward = evaluator.evaluate(&Policy::from_rows(&class, &rows)?);
    println!(
        "90 % fold: J = {reward:.4}, all fold: J = {}",
        count::reward(&fold)
    );

    // What a change of each cell of the last step would do: the derivative of J.
    for (cell, key) in class.keys().enumerate().filter(|(_, key)| key.t == Some(4)) {
        let (x, y) = (key.x[0], key.y[0]);
        let (visits, values) = (evaluator.visits(cell), evaluator.values(cell));
        println!("x = {x:?}, y = {y:?}: d = {visits:.4}, dQ = {values:.4?}");
    }
    Ok(())
}
