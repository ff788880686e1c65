//! A build without networks or Parquet refuses what it lacks, and names the feature.

use foldglass::Unwatched;
use foldglass_study::{Form, Options, Registry, Study, execute_in_memory, forecast, write_table};

fn options(out: std::path::PathBuf) -> Options {
    let mut options = Options::new(out);
    options.threads = 1;
    options.checkpoint_every = std::time::Duration::MAX;
    options
}

/// A wrong program would call `train` an unknown word, or list it among the kinds that it has.
#[test]
fn a_study_of_networks_needs_the_feature_networks() {
    let text = "name = \"n\"\n[[class]]\ntask = \"z:3\"\nlengths = 2\n\
                [[dynamics]]\nkind = \"train\"\nsteps = 1\nruns = 1\n";
    let study = Study::parse(text, 0).unwrap();
    let options = options(std::env::temp_dir().join("foldglass-features-unwritten"));
    let planned = forecast(&study, &Registry::default(), &options, &Unwatched);
    let said = planned
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    let names_it = said.contains("train") && said.contains("its feature `networks`");
    assert_eq!(names_it, !cfg!(feature = "networks"), "{said}");
}

#[test]
fn a_table_as_parquet_needs_the_feature_parquet() {
    let text = "name = \"n\"\n[[class]]\ntask = \"parity\"\nlengths = 2\n\
                [[dynamics]]\nkind = \"chain\"\nkernel = \"metropolis\"\ntau = 0.1\nsweeps = 1\nruns = 1\n";
    let study = Study::parse(text, 0).unwrap();
    let name = format!("foldglass-features-{}.parquet", std::process::id());
    let path = std::env::temp_dir().join(name);
    let options = options(path.with_extension(""));
    let run = execute_in_memory(&study, &Registry::default(), &options, &Unwatched);
    let written = write_table(&run.unwrap().0, Form::Parquet, &path);
    let said = written
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    let is_there = path.is_file();
    let _ = std::fs::remove_file(&path);
    assert_eq!(is_there, cfg!(feature = "parquet"));
    assert_eq!(said.contains("its feature `parquet`"), !is_there, "{said}");
}
