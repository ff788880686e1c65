//! Sends Ctrl-C to commands that would take long: they end within two seconds.

use super::corpus::Corpus;
use super::process::Call;
use super::stream::Stream;
use std::path::Path;
use std::time::Duration;

const LONG: [&str; 16] = [
    "cavi --task z:3 --lengths 3 --tau 1e-3 --iterations 1 --runs 1500000",
    "cavi --task quasigroup --lengths 7 --window 0,3 --tau 1e-6 --iterations 100000000 --runs 1",
    "cavi --task z:3 --lengths 3 --tau 1e-3 --iterations 100000000 --runs 3 --rule gradient:0.1",
    "chain --kernel metropolis --task z:3 --lengths 3 --tau 1e-3 --sweeps 1 --chains 1000000",
    "chain --kernel metropolis --task quasigroup --lengths 7 --window 0,3 --tau 1e-3 --sweeps 100000000 --chains 1 --order cell",
    "chain --kernel metropolis --task z:5 --lengths 8 --tau 1e-3 --sweeps 100000000 --chains 1",
    "enumerate --task z:3 --lengths 4",
    "enumerate --task parity --lengths 13 --inputs markov:9/10",
    "enumerate --task z:3 --lengths 4 --out census",
    "certify --code shelf.json --task z:3 --lengths 8 --cap 50000000",
    "tree --task parity --lengths 6 --inputs markov:9/10",
    "run long.toml --out out",
    "overlap --task z:5 --lengths 8 --tau 1e-3 --sweeps 1000000",
    "parity --length 100000 --tau 0.1,0.2",
    "density --task z:3 --lengths 6",
    "free-energy --task parity --lengths 20 --tau 0.01",
];

const STUDY: &str = r#"name = "long"
[[class]]
task = "z:3"
lengths = 4
[[dynamics]]
kind = "chain"
kernel = "heat-bath"
tau = 1e-3
sweeps = 1000000000
runs = 1000
[[dynamics]]
kind = "cavi"
tau = 1e-3
iterations = 1
runs = 20000000
"#;

/// Starts a long command and sends Ctrl-C at a random moment of its first seconds; gives 1. On a
/// machine that others use too, one late end is forgiven, a second of the same command is not.
pub fn attack(
    corpus: &Corpus,
    folder: &Path,
    number: u64,
    stream: &mut Stream,
) -> Result<u64, String> {
    let shelf = format!("{{\"actions\":{:?}}}", [0; 66]);
    for (name, content) in [("long.toml", STUDY), ("shelf.json", &shelf)] {
        std::fs::write(folder.join(name), content).map_err(|error| error.to_string())?;
    }
    let args = LONG[number as usize % LONG.len()];
    let call = Call::new(&corpus.program, folder, args);
    let wait = Duration::from_secs_f64(0.02 + 2.0 * stream.share() * stream.share());
    let unheard = || {
        let end = call.run(wait);
        let refused = end
            .heard
            .is_none()
            .then(|| format!("it took no Ctrl-C: {}", end.stderr));
        end.fault().or(refused)
    };
    match unheard().and_then(|_| unheard()) {
        Some(fault) => {
            let seconds = wait.as_secs_f64();
            Err(format!("Ctrl-C after {seconds:.2} s: {fault}\n  {call}"))
        }
        None => Ok(1),
    }
}
