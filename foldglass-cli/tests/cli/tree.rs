//! Holds `tree` to its form, and its leaves to what is known of them.

use serde_json::{Value, json};

use crate::mistakes::refuses;
use crate::support::{Scratch, words};

const PARITY: [&str; 7] = [
    "tree",
    "--task",
    "parity",
    "--lengths",
    "4",
    "--inputs",
    "markov:9/10",
];

fn tree(scratch: &Scratch, more: &[&str]) -> Value {
    scratch.json(&[&PARITY, more].concat())
}

#[test]
fn the_json_has_the_form_of_the_contract() {
    let scratch = Scratch::new();
    let tree = tree(&scratch, &["--orbits"]);
    assert_eq!(
        (&tree["codes"], &tree["nodes"]),
        (&json!("16384"), &json!("2048"))
    );
    let [optimum, trap] = &tree["leaves"].as_array().unwrap()[..] else {
        panic!("{tree}")
    };
    assert_eq!(optimum["id"], 0);
    assert_eq!(
        (&optimum["reward"], &optimum["barrier"]),
        (&json!("1/1"), &Value::Null)
    );
    assert_eq!(
        (&trap["reward"], &trap["barrier"]),
        (&json!("9/10"), &json!("1/25"))
    );
    assert_eq!(
        (&trap["shelf_size"], &optimum["shelf_size"]),
        (&json!("8"), &json!("8"))
    );
    assert_eq!(
        optimum["actions"],
        json!([0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0])
    );
    let saddles = json!([{"id": 2, "reward": "43/50", "children": [0, 1]}]);
    assert_eq!(tree["saddles"], saddles);
    assert_eq!(tree["stuck"]["maxima"], "640");
}

#[test]
fn a_person_sees_leaves_of_a_kind_in_one_line() {
    let scratch = Scratch::new();
    let run = scratch.run(&PARITY);
    let lines: Vec<&str> = run.success().lines().collect();
    assert_eq!(lines[0], "16384 codes");
    assert_eq!(
        lines[2],
        "leaves  reward  barrier  shelf   steepest     random"
    );
    assert!(
        lines[3].starts_with("     8     1/1        -      1   0.670898"),
        "{}",
        run.text
    );
    assert!(
        lines[4].starts_with("     8    9/10     1/25      1"),
        "{}",
        run.text
    );
    assert!(
        run.text
            .contains("saddles  reward  joins\n      2    9/10      4\n")
    );
}

#[test]
fn a_drawing_has_a_line_for_each_leaf() {
    let scratch = Scratch::new();
    tree(&scratch, &["--svg", "tree.svg"]);
    let svg = scratch.read("tree.svg");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    // One more of each colour is in the legend.
    for colour in ["#0072b2", "#d55e00"] {
        assert_eq!(svg.matches(colour).count(), 9, "{colour}");
    }
    assert!(svg.contains("parity, T = 4, inputs markov:9/10") && svg.contains("traps: 8 leaves"));
    tree(&scratch, &["--svg", "few.svg", "--max-leaves", "3"]);
    let few = scratch.read("few.svg");
    assert!(few.contains("3 of 16 leaves drawn"));
    assert_eq!(
        (
            few.matches("#0072b2").count(),
            few.matches("#d55e00").count()
        ),
        (2, 3)
    );
    assert!(few.contains("reward 1: 1 of 8 leaves") && few.contains("traps: 2 of 8 leaves"));
}

#[test]
fn a_single_leaf_is_drawn_too() {
    let scratch = Scratch::new();
    let flags = [
        "tree",
        "--task",
        "parity",
        "--lengths",
        "1",
        "--svg",
        "one.svg",
    ];
    let tree = scratch.json(&flags);
    assert_eq!(tree["leaves"].as_array().unwrap().len(), 1);
    assert_eq!(tree["saddles"], json!([]));
    assert!(!scratch.read("one.svg").contains("NaN"));
}

#[test]
fn the_file_for_barriers_lists_all_codes_and_the_report_says_how_to_read_it() {
    let scratch = Scratch::new();
    let tree = tree(&scratch, &["--vienna", "codes.txt"]);
    let told = json!({"graph": "Q2", "unit": "1/2000", "exact": true});
    assert_eq!(tree["vienna"], told);
    let text = scratch.read("codes.txt");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 16_384);
    assert_eq!(&lines[0][14..], " 0 :: Q2");
    assert!(lines[1].ends_with(" -2000") && lines[8].ends_with(" -2000"));
    assert!(!lines[9].ends_with(" -2000"));
    let run = scratch.run(&[&PARITY[..], &["--vienna", "codes.txt"]].concat());
    let told = "barriers -G Q2 --max 0 --minh 0.5 --bsize codes.txt";
    assert!(run.success().contains(told), "{}", run.text);
}

#[test]
fn tied_classes_and_other_alphabets_are_flooded() {
    let scratch = Scratch::new();
    let tied = ["tree", "--task", "parity", "--lengths", "8", "--tied"];
    let tree = scratch.json(&tied);
    assert_eq!(tree["codes"], "64");
    let law = scratch.file("law.json", "[[1,0,0],[0.5,0.5,0]]");
    let law = format!("product:{law}");
    let flags = ["tree", "--task", "z:3", "--lengths", "2", "--inputs", &law];
    let tree = scratch.json(&[&flags[..], &["--vienna", "codes.txt"]].concat());
    assert_eq!(tree["vienna"]["graph"], "Q3,ABC");
    let fine = "tree --task parity --lengths 4 --inputs markov:999/1000 --vienna fine.txt";
    let run = scratch.run(&words(fine));
    assert!(
        run.success().contains("differ by less than 2^-23"),
        "{}",
        run.text
    );
    assert!(
        scratch
            .read("codes.txt")
            .lines()
            .all(|line| line.starts_with(['A', 'B', 'C']))
    );
}

#[test]
fn what_cannot_be_flooded_is_refused() {
    let scratch = Scratch::new();
    let parity = "tree --task parity --lengths";
    refuses(
        &scratch,
        &format!("{parity} 10 --svg tree.svg --max-memory 1GiB"),
        &[
            "the codes of 38 cells of 2 actions",
            "5.0 TiB",
            "--max-memory",
        ],
    );
    refuses(
        &scratch,
        &format!("{parity} 12 --orbits --max-memory 1GiB"),
        &["the orbits of 46 cells", "640.0 GiB"],
    );
    let quasigroup = "tree --task quasigroup --lengths 7 --window 2,1";
    refuses(
        &scratch,
        quasigroup,
        &["13775 cells of 5 actions", "more than 10^38 bytes"],
    );
    refuses(
        &scratch,
        &format!("{parity} 3 --tied --orbits"),
        &["--orbits", "tied class"],
    );
    refuses(
        &scratch,
        &format!("{parity} 3 --orbits --vienna codes.txt"),
        &["--vienna", "--orbits"],
    );
    refuses(
        &scratch,
        &format!("{parity} 3 --max-leaves 0"),
        &["--max-leaves", "at least 1"],
    );
    refuses(
        &scratch,
        &format!("{parity} 3 --inputs markov:1/10000000019"),
        &["denominator", "62"],
    );
    for flag in ["--svg", "--vienna"] {
        let words = format!("{parity} 3 {flag} no/such/file");
        refuses(&scratch, &words, &["cannot write no/such/file"]);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_flood_without_a_report() {
    let scratch = Scratch::new();
    let flags = [
        "tree",
        "--task",
        "parity",
        "--lengths",
        "8",
        "--orbits",
        "--json",
    ];
    let run = scratch.run_and_interrupt(&flags, std::time::Duration::from_millis(1500));
    assert_eq!((run.code, &run.text[..]), (Some(130), ""), "{}", run.errors);
    assert!(run.errors.contains("interrupted"), "{}", run.errors);
}
