//! `free-energy`: estimates beside the closed form, what is refused, and the figure.

use crate::support::Scratch;
use serde_json::Value;

const PARITY: [&str; 10] = [
    "free-energy",
    "--task",
    "parity",
    "--lengths",
    "4",
    "--tau",
    "0.05,0.1",
    "--learning",
    "4000",
    "--sweeps",
];

#[test]
fn estimates_stand_beside_the_closed_form_and_under_the_loss() {
    let scratch = Scratch::new();
    let args = [&PARITY[..], &["6000", "--svg", "gap.svg"]].concat();
    let report = scratch.json(&args);
    let exact = scratch.json(&["parity", "--length", "4", "--tau", "0.05,0.1"]);
    let points = report["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    for (i, point) in points.iter().enumerate() {
        let number = |key: &str| {
            point[key]
                .as_f64()
                .unwrap_or_else(|| panic!("{key}: {point}"))
        };
        for (key, error) in [
            ("log_z", "log_z_error"),
            ("mean_reward", "mean_reward_error"),
        ] {
            let off = (number(key) - exact[key][i].as_f64().unwrap()).abs();
            // Three half-widths are some six standard errors.
            assert!(off <= 3.0 * number(error), "{key}: {off}, {point}");
        }
        let free_energy = -number("tau") * number("log_z");
        assert!((number("free_energy") - free_energy).abs() < 1e-12);
        let reach = number("tau") * 3.0 * number("log_z_error");
        assert!(number("rlvr_loss") >= free_energy - reach, "{point}");
        assert_eq!(point["reward_difference"], 0.0, "untied: J-tilde is J");
    }
    let svg = scratch.read("gap.svg");
    assert!(svg.contains("<svg") && svg.contains("free energy"));
}

#[test]
fn the_output_does_not_depend_on_the_threads() {
    let scratch = Scratch::new();
    let with = |threads| scratch.json(&[&PARITY[..], &["500", "--threads", threads]].concat());
    assert_eq!(with("1"), with("3"));
}

#[test]
fn what_was_not_crossed_is_refused_with_what_would_help() {
    let scratch = Scratch::new();
    let args = [
        "free-energy",
        "--task",
        "parity",
        "--lengths",
        "12",
        "--tau",
        "0.0206",
        "--learning",
        "200",
        "--sweeps",
        "300",
        "--runs",
        "1",
        "--json",
    ];
    let run = scratch.run(&args);
    assert_eq!(run.code, Some(1), "{}", run.errors);
    let report: Value = serde_json::from_str(&run.text).unwrap();
    let point = &report["points"][0];
    assert!(point["log_z"].is_null() && point["mean_reward"].is_null());
    assert!(point["refused"].as_str().unwrap().contains("more sweeps"));
    assert!(run.errors.contains("1 of 1 temperatures"), "{}", run.errors);
}

#[test]
fn mistakes_name_what_is_accepted() {
    let scratch = Scratch::new();
    for (bad, said) in [
        (["--tau", "0"], "above 0"),
        (["--tau", "nan"], "above 0"),
        (["--replicas", "3"], "at least 4"),
    ] {
        let tau: &[&str] = if bad[0] == "--tau" {
            &[]
        } else {
            &["--tau", "0.1"]
        };
        let args = [
            &["free-energy", "--task", "parity", "--lengths", "4"],
            &bad[..],
            tau,
        ];
        let run = scratch.run(&args.concat());
        assert_eq!(run.code, Some(2), "{bad:?}");
        assert!(run.errors.contains(said), "{}", run.errors);
    }
}
