//! Runs a study from a text, kept in a directory: interrupted, the same command resumes it.
//!
//! `cargo run --release -p foldglass-study --example study`

use foldglass::Unwatched;
use foldglass_study::{Options, Registry, Study, execute, gather, summarize};

const STUDY: &str = r#"
name = "quench"

[[class]]
task = "parity"
lengths = 8

[[dynamics]]
kind = "cavi"
tau = [1e-13, 0.05]
iterations = 500
runs = 16

[[dynamics]]
kind = "chain"
tau = [1e-13, 0.05]
sweeps = 500
runs = 16
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = std::env::temp_dir().join("foldglass-example-study");
    let (study, registry) = (Study::parse(STUDY, 1)?, Registry::default());
    execute(&study, &registry, &Options::new(&out), &Unwatched)?;
    let records = gather(std::slice::from_ref(&out))?.records;
    for point in summarize(&records, &registry, None) {
        let solved = point.at_one.map_or("-".to_owned(), |runs| runs.to_string());
        println!(
            "{} {}: {} runs, {solved} at J = 1",
            point.kind, point.class, point.runs
        );
    }
    println!("records in {}", out.display());
    Ok(())
}
