//! The loops of machines without AVX2 give the same bits as those of this machine.

use crate::support::{Run, Scratch, words};

#[test]
fn eval_cavi_and_chain_have_the_same_bits_by_the_portable_loops() {
    let scratch = Scratch::new();
    let class = "--task quasigroup --lengths 4 --window 0,1";
    for line in [
        format!("cavi {class} --tau 1e-3 --iterations 20 --runs 9 --policies policies.jsonl"),
        "eval --policy policies.jsonl#0".to_owned(),
        "cavi --task quasigroup --lengths 3,4 --tau 1e-2 --iterations 20 --runs 3".to_owned(),
        format!("chain {class} --kernel metropolis --tau 0.01 --sweeps 50 --chains 9"),
        format!("chain {class} --kernel heat-bath --tau 0.01 --sweeps 20 --chains 3 --order cell"),
    ] {
        let here = scratch.json(&words(&line));
        let mut portable = scratch.command(&[&words(&line)[..], &["--json"]].concat());
        let run = portable.env("FOLDGLASS_PORTABLE", "1").output().unwrap();
        assert_eq!(here, Run::from(run).json(), "{line}");
    }
}
