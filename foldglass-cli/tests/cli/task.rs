//! Holds `task` to its form.

use serde_json::json;

use crate::support::Scratch;

#[test]
fn the_json_of_the_papers_square_has_the_form_of_the_contract() {
    let run = Scratch::new().run(&["task", "--task", "quasigroup", "--json"]);
    let version = env!("CARGO_PKG_VERSION");
    let carried = format!(
        "{{\"seed\":0,\"version\":\"{version}\",\"command\":\"task\",\"settings\":\
         {{\"task\":\"quasigroup\"}},\"files_read\":{{}},"
    );
    assert_eq!(
        run.success().strip_prefix(&carried[..]).unwrap(),
        "\"task\":\"quasigroup\",\"q\":5,\
         \"table\":[[1,3,4,0,2],[3,1,0,2,4],[4,2,3,1,0],[2,0,1,4,3],[0,4,2,3,1]],\
         \"latin\":true,\"associative\":false,\"commutative\":false,\"identity\":null,\"left_identity\":null,\
         \"right_identity\":null,\"idempotents\":1,\"column_group_order\":\"120\"}\n"
    );
}

#[test]
fn the_order_of_a_column_group_too_large_to_list_is_null() {
    let scratch = Scratch::new();
    let task = scratch.json(&["task", "--task", "random:24"]);
    assert!(task["column_group_order"].is_null(), "{task}");
    let run = scratch.run(&["task", "--task", "random:24"]);
    assert!(run.success().contains("too large to list"), "{}", run.text);
}

#[test]
fn a_person_sees_the_table_and_the_facts() {
    let run = Scratch::new().run(&["task", "--task", "parity"]);
    assert_eq!(
        run.success(),
        "\
B[s, x]  0  1
      0  0  1
      1  1  0

task                       parity
symbols q                  2
Latin square               yes
associative                yes
commutative                yes
identity                   0, two-sided
a group                    yes
idempotents                1
order of the column group  2
"
    );
}

#[test]
fn a_table_that_is_not_latin_has_no_group_of_columns_and_is_not_a_group() {
    let scratch = Scratch::new();
    let run = scratch.run(&["task", "--task", "flipflop"]);
    assert_eq!(
        run.success(),
        "\
B[s, x]  0  1  2
      0  0  1  2
      1  1  1  2
      2  2  1  2

task                       flipflop
symbols q                  3
Latin square               no
associative                yes
commutative                no
identity                   0, two-sided
a group                    no
idempotents                3
order of the column group  none: the table is not a Latin square
"
    );
    let task = scratch.json(&["task", "--task", "flipflop"]);
    assert_eq!(task["latin"], false);
    assert!(task["column_group_order"].is_null());
}

#[test]
fn a_one_sided_identity_is_said_to_be_one() {
    let scratch = Scratch::new();
    scratch.file("minus.json", "[[0,2,1],[1,0,2],[2,1,0]]");
    let run = scratch.run(&["task", "--task", "minus.json"]);
    assert!(run.success().contains("0, right only"), "{}", run.text);
    let task = scratch.json(&["task", "--task", "minus.json"]);
    assert_eq!(task["right_identity"], 0);
    assert!(task["left_identity"].is_null() && task["identity"].is_null());
}

#[test]
fn a_table_is_read_from_a_file_of_rows_or_an_object() {
    let scratch = Scratch::new();
    scratch.file("rows.json", " [[1,0],\n[0,1]]");
    scratch.file("object", "{\"table\":[[1,0],[0,1]]}");
    for task in ["rows.json", "file:rows.json", "file:object"] {
        assert_eq!(
            scratch.json(&["task", "--task", task])["table"],
            json!([[1, 0], [0, 1]])
        );
    }
}

#[test]
fn a_table_too_wide_for_a_terminal_is_left_to_json() {
    let run = Scratch::new().run(&["task", "--task", "z:41"]);
    assert!(
        run.success().starts_with("B[s, x] is too wide"),
        "{}",
        run.text
    );
}

#[test]
fn a_seed_does_not_change_the_task_and_its_full_name_is_printed() {
    let scratch = Scratch::new();
    let of = |task: &str, seed: &str| scratch.json(&["task", "--task", task, "--seed", seed]);
    let plain = of("random:4", "0");
    for (task, seed) in [("random:4", "8"), ("random:4:0", "5")] {
        let same = of(task, seed);
        assert_eq!(same["table"], plain["table"], "{task} --seed {seed}");
        assert_eq!(same["task"], "random:4:0");
        assert_eq!(same["settings"]["task"], "random:4:0");
    }
    assert_ne!(of("random:4:8", "0")["table"], plain["table"]);
    let product = of("z:2 * random:3", "3");
    assert_eq!(product["task"], "z:2 * random:3:0");
    let text = scratch.run(&["task", "--task", "random:4", "--seed", "3"]);
    assert!(text.success().contains("random:4:0"), "{}", text.text);

    // A study of another seed has the same task, as a command has.
    let study = |seed: u32| {
        let name = format!("s{seed}");
        let content = format!(
            "name = \"{name}\"\nseed = {seed}\n[[class]]\ntask = \"random:4\"\nlengths = 2\n\
             [[dynamics]]\nkind = \"cavi\"\niterations = 3\nruns = 1\ntau = 0.1\n"
        );
        scratch.file("study.toml", &content);
        scratch.run(&["run", "study.toml"]).success();
        let line = scratch.read(&format!("{name}/records.jsonl"));
        serde_json::from_str::<serde_json::Value>(line.trim()).unwrap()
    };
    let [one, other] = [0, 3].map(study);
    assert_eq!(one["class"]["square"], other["class"]["square"]);
    assert_eq!(one["class"]["square"], plain["table"]);
    assert_eq!(
        (&other["task"], &other["class_id"]),
        (&"random:4:0".into(), &"random-4-0_T2_w0-0".into())
    );
    let cavi = "cavi --task random:4 --lengths 2 --tau 0.1 --iterations 3 --runs 1 --seed 3";
    let run = scratch.json(&crate::support::words(cavi));
    assert_eq!(run["class"]["square"], plain["table"]);
    assert_eq!(run["settings"]["task"], "random:4:0");
}
