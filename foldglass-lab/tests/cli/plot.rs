//! `plot`: what `summary` prints, drawn.

use crate::mistakes::refuses;
use crate::support::Scratch;

const STUDY: &str = "name = \"warm\"\n\
    [[class]]\nid = \"three\"\ntask = \"parity\"\nlengths = 3\n\
    [[class]]\nid = \"four\"\ntask = \"parity\"\nlengths = 4\n\
    [[dynamics]]\nkind = \"cavi\"\niterations = 60\nruns = 5\n\
    tau = [1e-6, 1e-4, 1e-2, 1.0]\n";

#[test]
fn a_study_is_drawn_by_class_with_its_numbers_on_every_point() {
    let scratch = Scratch::new();
    scratch.file("warm.toml", STUDY);
    scratch.run(&["run", "warm.toml"]).success();
    let drawn = scratch.json(&["plot", "warm"]);
    assert_eq!((&drawn["curves"], &drawn["points"]), (&2.into(), &8.into()));
    assert_eq!(
        (&drawn["quantity"], &drawn["against"]),
        (&"greedy_reward".into(), &"tau".into())
    );
    let svg = scratch.read("warm/greedy_reward.svg");
    assert_eq!(svg.matches("<title>").count(), 8, "{svg}");
    let summary = scratch.json(&["summary", "warm"]);
    let mean = summary["points"][0]["mean"].as_f64().unwrap();
    assert!(svg.contains("<title>three, tau = 1e-6: "), "{svg}");
    let shown = svg.split("<title>three, tau = 1e-6: ").nth(1).unwrap();
    let shown: f64 = shown.split([' ', '<']).next().unwrap().parse().unwrap();
    assert!((shown - mean).abs() < 1e-5, "{shown}, {mean}");
    // The axis is one of logarithms.
    assert!(svg.contains("10⁻⁴"), "{svg}");
    let again = scratch.read("warm/greedy_reward.svg");
    scratch
        .run(&[
            "plot", "warm", "--of", "entropy", "--class", "four", "-o", "e.svg",
        ])
        .success();
    assert_eq!(scratch.read("e.svg").matches("<title>").count(), 4);
    assert_eq!(again, svg);
}

#[test]
fn what_a_study_has_not_is_refused_with_what_is_near() {
    let scratch = Scratch::new();
    scratch.file("warm.toml", STUDY);
    scratch.run(&["run", "warm.toml"]).success();
    refuses(
        &scratch,
        "plot warm --of entropi",
        &["entropi", "is entropy meant?"],
    );
    refuses(
        &scratch,
        "plot warm --against taw",
        &["taw", "is tau meant?"],
    );
    refuses(&scratch, "plot warm --class five", &["five", "three, four"]);
    refuses(&scratch, "plot nowhere", &["nowhere"]);
}
