//! Holds `inspect` to codes whose anatomy is known.

use serde_json::{Value, json};

use crate::mistakes::refuses;
use crate::support::{Scratch, words};

const CORRELATED: &str = "--task parity --lengths 6 --inputs markov:9/10";

fn inspect(scratch: &Scratch, flags: &str) -> Value {
    scratch.json(&words(&format!("inspect {flags}")))
}

fn numbers(value: &Value) -> Vec<u64> {
    let list = value.as_array().unwrap().iter();
    list.map(|number| number.as_u64().unwrap()).collect()
}

#[test]
fn the_copy_code_is_dead_at_every_step_but_the_first() {
    let scratch = Scratch::new();
    scratch.file("copy.json", r#"{"actions":[0,1,0,0,1,1,0,0,1,1]}"#);
    let found = inspect(&scratch, "--code copy.json --task parity --lengths 3");
    assert_eq!(found["reward_exact"], json!("1/2"));
    assert_eq!(found["product_exact"], json!("1/2"));
    let kinds: Vec<&Value> = found["steps"].as_array().unwrap().iter().collect();
    assert_eq!(kinds[0]["kind"], json!("opens"));
    for step in &kinds[1..] {
        assert_eq!((&step["dead"], &step["mu"]), (&json!(true), &json!("0")));
    }
    assert_eq!(
        found["ignored"],
        json!([{"length": 3, "positions": [1, 2]}])
    );
    assert_eq!(
        (&found["wrong"], &found["sampled"]),
        (&json!(4), &json!(false))
    );
    assert_eq!(
        found["causes"],
        json!([{"why": "aliased", "t": 2, "inputs": 4}])
    );
    // The fold itself has nothing to mend.
    scratch.file("fold.json", r#"{"actions":[0,1,0,1,1,0,0,1,1,0]}"#);
    let found = inspect(&scratch, "--code fold.json --task parity --lengths 3");
    assert_eq!(
        (&found["wrong"], &found["product_exact"]),
        (&json!(0), &json!("1/1"))
    );
    assert_eq!(numbers(&found["defended"]), (0..10).collect::<Vec<_>>());
}

#[test]
fn every_trap_of_correlated_parity_ignores_an_even_number_of_positions() {
    let scratch = Scratch::new();
    let census = scratch.run(&words(&format!(
        "enumerate {CORRELATED} --traps traps.json --json"
    )));
    let shelves = census.json()["shelves"].as_u64().unwrap();
    let mut seen = Vec::new();
    for n in 0..shelves {
        let found = inspect(&scratch, &format!("--code traps.json#{n}"));
        let ignored = found["ignored"][0]["positions"].as_array().unwrap();
        assert!(ignored.len() == 2 || ignored.len() == 4, "{found}");
        // By the definition: the answers of all inputs, and of those with one symbol changed.
        assert!(numbers(&found["improvable"]).is_empty());
        assert!(
            found["product_exact"].is_null(),
            "the formula is for uniform inputs"
        );
        seen.push((
            ignored.len(),
            found["reward_exact"].as_str().unwrap().to_owned(),
        ));
    }
    seen.sort();
    seen.dedup();
    assert!(seen.contains(&(2, "9/10".to_owned())), "{seen:?}");
}

#[test]
fn large_classes_are_sampled_and_small_ones_drawn() {
    let scratch = Scratch::new();
    let code = "chain --task quasigroup --lengths 7 --window 0,3 --tied --kernel metropolis --order cell \
                --tau 1e-6 --sweeps 3 --chains 1 --json";
    scratch.file("wide.json", scratch.run(&words(code)).success());
    let found = inspect(&scratch, "--code wide.json --most-inputs 500");
    assert_eq!(
        (&found["sampled"], &found["inputs"]),
        (&json!(true), &json!(500))
    );
    refuses(
        &scratch,
        "inspect --code wide.json --svg wide.svg",
        &["rows"],
    );
    scratch.file("fold.json", r#"{"actions":[0,1,0,1,1,0,0,1,1,0]}"#);
    let run = scratch.run(&words(
        "inspect --code fold.json --task parity --lengths 3 --svg fold.svg",
    ));
    assert!(run.success().contains("drawn to fold.svg"));
    assert!(scratch.read("fold.svg").starts_with("<svg"));
    let csv = scratch.run(&words(
        "inspect --code fold.json --task parity --lengths 3 --format csv",
    ));
    assert!(csv.success().starts_with("t,cells,windows,"));
}
