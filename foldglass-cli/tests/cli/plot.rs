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
    // One for the picture, one for each point.
    assert!(svg.starts_with("<svg role=\"img\""), "{svg}");
    assert_eq!(svg.matches("<title>").count(), 9, "{svg}");
    let summary = scratch.json(&["summary", "warm"]);
    let mean = summary["points"][0]["mean"].as_f64().unwrap();
    let title = "<title>three, tau = 1e-6, greedy reward: ";
    assert!(svg.contains(title), "{svg}");
    let shown = svg.split(title).nth(1).unwrap();
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
    assert_eq!(scratch.read("e.svg").matches("<title>").count(), 5);
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

const BOTH: &str = "name = \"both\"\n\
    [[class]]\nid = \"p\"\ntask = \"parity\"\nlengths = 3\n\
    [[dynamics]]\nid = \"rlvr\"\nkind = \"cavi\"\niterations = 30\nruns = 4\ntau = [1e-4, 1e-1]\n\
    [[dynamics]]\nid = \"mc\"\nkind = \"chain\"\nkernel = \"metropolis\"\nsweeps = 30\nruns = 4\n\
    tau = [1e-4, 1e-1]\n";

#[test]
fn curves_of_several_quantities_are_named_by_their_own() {
    let scratch = Scratch::new();
    scratch.file("both.toml", BOTH);
    scratch.run(&["run", "both.toml"]).success();
    let drawn = scratch.json(&["plot", "both"]);
    assert_eq!(drawn["quantity"], "reward");
    assert_eq!(
        drawn["quantities"],
        serde_json::json!(["greedy_reward", "reward"])
    );
    let svg = scratch.read("both/reward.svg");
    for said in [
        "p, rlvr, greedy reward",
        "p, mc, reward",
        "The reward of a chain is that of its last code.",
    ] {
        assert!(svg.contains(said), "{said}: {svg}");
    }
    // The axis claims neither: `greedy reward` stands in names of the one curve only.
    let axis = svg.matches(">greedy reward<").count();
    assert_eq!((axis, svg.matches(">reward<").count()), (0, 1), "{svg}");
    let text = scratch.run(&["plot", "both"]);
    let said = "reward (greedy_reward, reward) against tau: 2 curves, 4 points";
    assert!(text.success().contains(said), "{}", text.text);
    let said = [
        "--of at_1",
        "greedy_reward",
        "mean_reward",
        "reward",
        "solved",
    ];
    refuses(&scratch, "plot both --of at_1", &said);
}

#[test]
fn the_share_of_runs_at_1_is_drawn_with_its_interval() {
    let scratch = Scratch::new();
    scratch.file("both.toml", BOTH);
    scratch.run(&["run", "both.toml"]).success();
    let drawn = scratch.json(&["plot", "both", "--of", "solved"]);
    assert_eq!((&drawn["curves"], &drawn["points"]), (&2.into(), &4.into()));
    let svg = scratch.read("both/solved.svg");
    let summary = scratch.json(&["summary", "both"]);
    let point = &summary["points"][0];
    let number = |key: &str| point[key].as_f64().unwrap();
    let share = number("at_one") / number("runs");
    let six = |value: f64| format!("{value:.5e}").parse::<f64>().unwrap();
    let said = format!(
        "p, rlvr, tau = 0.0001, solved: {} ({} to {})",
        six(share),
        six(number("at_one_low")),
        six(number("at_one_high"))
    );
    assert!(svg.contains(&said), "{said}: {svg}");
}
