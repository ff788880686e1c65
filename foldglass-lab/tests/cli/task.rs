//! Holds `task` to its form.

use serde_json::json;

use crate::support::Scratch;

#[test]
fn the_json_of_the_papers_square_has_the_form_of_the_contract() {
    let run = Scratch::new().run(&["task", "--task", "quasigroup", "--json"]);
    let version = env!("CARGO_PKG_VERSION");
    let carried =
        format!("{{\"seed\":0,\"version\":\"{version}\",\"command\":\"task\",\"settings\":{{}},");
    assert_eq!(
        run.success().strip_prefix(&carried[..]).unwrap(),
        "\"task\":\"quasigroup\",\"q\":5,\
         \"table\":[[1,3,4,0,2],[3,1,0,2,4],[4,2,3,1,0],[2,0,1,4,3],[0,4,2,3,1]],\
         \"associative\":false,\"commutative\":false,\"identity\":null,\"left_identity\":null,\
         \"right_identity\":null,\"idempotents\":1,\"column_group_order\":\"120\"}\n"
    );
}

#[test]
fn the_order_of_a_large_column_group_is_a_decimal_string() {
    let task = Scratch::new().json(&["task", "--task", "random:24"]);
    assert_eq!(
        task["column_group_order"], "620448401733239439360000",
        "24!"
    );
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
