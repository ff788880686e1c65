//! Holds `cells` to its form and to the counts of the specification.

use crate::support::Scratch;

#[test]
fn the_json_has_the_form_of_the_contract() {
    let scratch = Scratch::new();
    let run = scratch.run(&["cells", "--task", "quasigroup", "--lengths", "8", "--json"]);
    let class = "{\"class\":{\"square\":[[1,3,4,0,2],[3,1,0,2,4],[4,2,3,1,0],[2,0,1,4,3],[0,4,2,3,1]],\
                 \"lengths\":[8],\"window\":[0,0],\"tied\":false,\"memory\":1,\"inputs\":\"uniform\"},\
                 \"seed\":0,\"version\":\"";
    assert!(run.success().starts_with(class), "{}", run.text);
    let settings = "\"command\":\"cells\",\"settings\":{\"inputs\":\"uniform\",\"length_weights\":null,\
                    \"lengths\":8,\"list\":false,\"max_memory\":null,\"memory\":1,\"reward\":\"final\",\
                    \"task\":\"quasigroup\",\"tied\":false,\"window\":[0,0]},\"files_read\":{}";
    assert!(run.text.contains(settings), "{}", run.text);
    let rest = "\"files_read\":{},\"q\":5,\"count\":180,\
                \"cells\":[{\"t\":1,\"x\":[0],\"y\":null},{\"t\":1,\"x\":[1],";
    assert!(run.text.contains(rest), "{}", run.text);
    assert!(run.text.ends_with(",{\"t\":8,\"x\":[4],\"y\":4}]}\n"));
    assert_eq!(run.json()["cells"].as_array().unwrap().len(), 180);
}

#[test]
fn the_step_is_null_when_tied_and_symbols_outside_are_null() {
    let scratch = Scratch::new();
    let flags = ["--lengths", "2", "--window", "1,1", "--tied", "--json"];
    let run = scratch.run(&[&["cells", "--task", "parity"], &flags[..]].concat());
    let start = ",\"q\":2,\"count\":12,\"cells\":[{\"t\":null,\"x\":[null,0,0],\"y\":null},";
    assert!(run.success().contains(start), "{}", run.text);
    assert!(
        run.text
            .ends_with(",{\"t\":null,\"x\":[1,1,null],\"y\":1}]}\n"),
        "{}",
        run.text
    );
}

#[test]
fn several_remembered_tokens_are_a_list_oldest_first() {
    let scratch = Scratch::new();
    let flags = ["--lengths", "3", "--memory", "2"];
    let class = scratch.json(&[&["cells", "--task", "parity"], &flags[..]].concat());
    let cells: Vec<String> = class["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["y"].to_string())
        .collect();
    assert_eq!(
        cells[..4],
        ["[null,null]", "[null,null]", "[null,0]", "[null,1]"]
    );
    assert_eq!(cells[6..10], ["[0,0]", "[0,1]", "[1,0]", "[1,1]"]);
}

#[test]
fn a_person_sees_the_groups_and_their_sizes() {
    let scratch = Scratch::new();
    let flags = ["--lengths", "3,4", "--window", "1,1"];
    let run = scratch.run(&[&["cells", "--task", "quasigroup"], &flags[..]].concat());
    assert_eq!(
        run.success(),
        "\
t  x        y    cells
1  SEP * *  SEP     25
2  * * *    *      625
3  * * *    *      625
3  * * SEP  *      125
4  * * SEP  *      125

1525 cells of 5 symbols; *: any symbol or token, SEP: nothing stands there
"
    );
}

#[test]
fn a_list_has_every_cell_on_a_line() {
    let scratch = Scratch::new();
    let flags = ["--lengths", "2", "--window", "1,0", "--tied", "--list"];
    let run = scratch.run(&[&["cells", "--task", "parity"], &flags[..]].concat());
    let lines: Vec<&str> = run.success().lines().collect();
    assert_eq!(lines.len(), 1 + 2 + 8);
    assert_eq!(lines[0], "cell  t  x        y");
    assert_eq!(lines[1], "   0  -  SEP 0    SEP");
    assert_eq!(lines[10], "   9  -  1 1      1");
}
