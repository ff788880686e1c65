//! Checks that each mistake exits 2 with one message that names the value, and leaves nothing.

use crate::support::Scratch;

/// Runs words split at spaces; requires exit 2, an empty stdout, no new file and one line on stderr
/// that holds all of `said`.
pub fn refuses(scratch: &Scratch, words: &str, said: &[&str]) {
    let args: Vec<&str> = words.split(' ').collect();
    let before = scratch.files();
    for form in [&[][..], &["--json"]] {
        let run = scratch.run(&[&args[..], form].concat());
        assert_eq!(run.code, Some(2), "{words}: {}{}", run.text, run.errors);
        assert_eq!(run.text, "", "{words}");
        assert!(
            run.errors.starts_with("foldglass: error: "),
            "{words}: {}",
            run.errors
        );
        assert_eq!(
            run.errors.matches('\n').count(),
            1,
            "{words}: {}",
            run.errors
        );
        for part in said {
            assert!(
                run.errors.contains(part),
                "{words}: no {part:?} in {}",
                run.errors
            );
        }
    }
    assert_eq!(scratch.files(), before, "{words}");
}

#[test]
fn a_table_that_is_not_q_rows_of_q_symbols_is_refused_with_its_row() {
    let scratch = Scratch::new();
    for (table, said) in [
        ("[[0,1],[1,0],[1,0]]", "row 0"),
        ("{\"table\":[[0,1],[1]]}", "row 1"),
        (
            "[[0,1],[1,2]]",
            "row 1 (counting from 0) holds 2 in column 1",
        ),
        ("[[0,1],[1,-3]]", "row 1 (counting from 0) holds -3"),
        ("[[0]]", "row 0 alone has order 1; at least 2 symbols"),
        ("[]", "at least 2 symbols"),
        ("{}", "missing field `table`"),
        ("{\"table\":[[0,1],[1,0]],\"q\":2}", "unknown field `q`"),
        (
            "[[0,1],[1,0.5]]",
            "`0.5`, expected a whole number at line 1 column",
        ),
        ("7", "not a task file"),
    ] {
        scratch.file("t.json", table);
        refuses(&scratch, "task --task t.json", &["t.json", said]);
        refuses(
            &scratch,
            "cells --task file:t.json --lengths 2",
            &["t.json", said],
        );
    }
}

#[test]
fn an_unknown_task_is_refused_with_what_is_accepted() {
    let scratch = Scratch::new();
    refuses(
        &scratch,
        "task --task foo",
        &["'foo'", "quasigroup", "file:PATH"],
    );
    refuses(&scratch, "task --task z:many", &["z:many", "whole number"]);
    refuses(&scratch, "task --task s:9", &["s:9", "362880", "2048"]);
    refuses(&scratch, "task --task z:1", &["z:1", "at least 2"]);
    refuses(&scratch, "task", &["--task"]);
}

#[test]
fn a_repeat_probability_outside_the_unit_interval_is_refused() {
    let scratch = Scratch::new();
    let cells = "cells --task parity --lengths 3 --inputs";
    for law in ["markov:1.1", "markov:-0.1", "markov:10/9"] {
        refuses(&scratch, &format!("{cells} {law}"), &[law, "[0, 1]"]);
    }
    refuses(
        &scratch,
        &format!("{cells} markov:often"),
        &["often", "9/10"],
    );
    refuses(
        &scratch,
        &format!("{cells} gauss"),
        &["gauss", "uniform", "markov:K", "product:FILE"],
    );
}

#[test]
fn lengths_that_are_none_are_refused() {
    let scratch = Scratch::new();
    let cells = "cells --task parity --lengths";
    refuses(&scratch, &format!("{cells} 0"), &["--lengths", "length 0"]);
    refuses(
        &scratch,
        &format!("{cells} 3,4,3"),
        &["--lengths", "length 3", "twice"],
    );
    refuses(&scratch, &format!("{cells} eight"), &["'eight'", "3,4,5"]);
    refuses(&scratch, &format!("{cells} 3,,4"), &["'3,,4'"]);
    refuses(&scratch, &format!("{cells} -1"), &["'-1'"]);
    refuses(&scratch, "cells --task parity", &["--lengths"]);
}

#[test]
fn a_window_or_a_memory_that_is_none_is_refused() {
    let scratch = Scratch::new();
    let cells = "cells --task parity --lengths 3";
    for window in ["1", "a,b", "-1,0", "1,2,3", "1;2", "99999999999,0"] {
        let said = format!("'{window}'");
        refuses(
            &scratch,
            &format!("{cells} --window {window}"),
            &[&said, "P,F"],
        );
    }
    for memory in ["0", "-1", "two"] {
        let said = format!("'{memory}'");
        refuses(
            &scratch,
            &format!("{cells} --memory {memory}"),
            &[&said, "--memory", "1 to"],
        );
    }
}

#[test]
fn settings_that_are_none_are_refused() {
    let scratch = Scratch::new();
    refuses(
        &scratch,
        "task --task parity --seed -1",
        &["'-1'", "--seed"],
    );
    refuses(
        &scratch,
        "task --task parity --seed x",
        &["'x'", "whole number"],
    );
    refuses(
        &scratch,
        "task --task parity --threads 0",
        &["'0'", "at least 1"],
    );
    refuses(&scratch, "task --task parity --tied", &["'--tied'"]);
    refuses(&scratch, "tasks", &["'tasks'"]);
}

/// What a newcomer types: a file without its flag, the words of another field, a command of another program.
#[test]
fn a_natural_mistake_is_told_what_was_meant() {
    let scratch = Scratch::new();
    let class = "--task parity --lengths 3";
    for (words, said) in [
        ("certify trap.json", "--code trap.json"),
        ("certify --code trap.json", "`law --out`"),
        ("escape --policy policy.json", "`cavi --policies`"),
        ("enumerate parity 6", "--task parity --lengths 6"),
        ("explore quasigroup", "--task quasigroup --lengths 8"),
        ("cells --task Z_5 --lengths 3", "z:5"),
        ("enumarate", "is enumerate meant"),
        ("grpo", "`foldglass help`"),
        ("train --task z:5 --tau 0.3", "--entropy"),
        ("law --lengths 8", "traps|lengths"),
    ] {
        refuses(&scratch, words, &[said]);
    }
    for flag in ["--temperature", "--entropy", "--beta"] {
        refuses(
            &scratch,
            &format!("cavi {class} {flag} 0.1"),
            &[flag, "is --tau"],
        );
    }
    refuses(
        &scratch,
        &format!("chain {class} --tau 0 --kernel heatbath"),
        &["'heatbath'", "heat-bath"],
    );
    refuses(
        &scratch,
        &format!("reinforce {class} --learning-rate 1"),
        &["--estimator is missing", "rloo:G"],
    );
}

#[test]
fn a_product_law_that_does_not_fit_is_refused() {
    let scratch = Scratch::new();
    for (law, said) in [
        ("[[0.5,0.5]]", "1 rows"),
        ("[[0.5,0.5],[1]]", "position 2"),
        ("[[0.5,0.5],[0.3,0.3]]", "3/5"),
        ("[[0.5,0.5],[1.5,-0.5]]", "-1/2"),
        ("[[0.5,0.5],[0.5,\"half\"]]", "`half`"),
        ("[[0.5,0.5],[0.5,null]]", "null"),
        ("[[0.5,0.5],[0.5,", "line 1 column"),
        ("{\"rows\":[]}", "line 1 column"),
    ] {
        scratch.file("law.json", law);
        let words = "cells --task parity --lengths 2 --inputs product:law.json";
        refuses(&scratch, words, &["law.json", said]);
    }
}

#[test]
fn a_code_that_does_not_fit_is_refused() {
    let scratch = Scratch::new();
    for (code, said) in [
        ("{\"actions\":[0]}", "1 entries"),
        ("{\"actions\":[0,1,0]}", "3 entries"),
        ("{\"actions\":[0,2]}", "the action 2"),
        ("{\"actions\":[0,-1]}", "the action -1"),
        ("{\"actions\":[0,0.5]}", "`0.5`"),
        ("{\"actions\":[0,\"1\"]}", "string \"1\""),
        (
            "{\"actions\":[0,1],\"actions\":[0,1]}",
            "duplicate field `actions`",
        ),
        ("{\"rows\":[[1,0],[0,1]]}", "it holds no code"),
        ("{}", "it holds no code"),
        ("[0,1]", "not a file of codes"),
        ("[[0,1]]", "not a file of codes"),
        ("{\"actions\":\"01\"}", "it holds no code"),
        (
            "{\"format\":\"foldglass-code/2\",\"actions\":[0,1]}",
            "`foldglass-code/2`: accepted: foldglass-code/1",
        ),
        ("{\"actions\":[0,1]}{\"actions\":[1,0]}", "holds 2"),
        ("{\"actions\":\n[0,1}", "line 2 column 5"),
        ("{\"actions\":[0,1]} 7", "`7` stands beside"),
        ("{\"actions\":[0,1]} x", "line 1 column 19"),
        ("", "it holds no code"),
    ] {
        scratch.file("code.json", code);
        refuses(
            &scratch,
            "eval --task parity --lengths 1 --code code.json",
            &["code.json", said],
        );
    }
}

#[test]
fn a_policy_that_does_not_fit_is_refused() {
    let scratch = Scratch::new();
    for (policy, said) in [
        ("{\"rows\":[[1,0]]}", "1 entries"),
        ("{\"rows\":[[1,0],[0,0,1]]}", "3 probabilities"),
        ("{\"rows\":[[1,0],[0.5,0.6]]}", "1.1"),
        ("{\"rows\":[[1,0],[-0.5,1.5]]}", "-0.5"),
        ("{\"rows\":[[1,0],[1e999,0]]}", "line 1 column"),
        (
            "{\"rows\":[[1,0],[\"1/2\",0]]}",
            "string \"1/2\", expected a number",
        ),
        ("{\"actions\":[0,1]}", "it holds no policy"),
        (
            "{\"rows\":[[1,0],[1,0]],\"rows\":[[1,0],[1,0]]}",
            "duplicate field `rows`",
        ),
        ("{\"rows\":[[1,0],[1,0]", "line 1 column"),
        ("[[1,0],[1,0]]", "not a file of policies"),
        ("[[[1,0],[1,0]]]", "not a file of policies"),
    ] {
        scratch.file("policy.json", policy);
        let words = "eval --task parity --lengths 1 --policy policy.json";
        refuses(&scratch, words, &["policy.json", said]);
    }
}

#[test]
fn exactly_one_of_code_and_policy_is_needed() {
    let scratch = Scratch::new();
    scratch.file("a.json", "{}");
    let eval = "eval --task parity --lengths 1";
    refuses(&scratch, eval, &["--code <FILE>", "--policy <FILE>"]);
    let both = format!("{eval} --code a.json --policy a.json");
    refuses(&scratch, &both, &["--code <FILE>", "--policy <FILE>"]);
}

#[test]
fn a_missing_file_is_refused_by_name() {
    let scratch = Scratch::new();
    refuses(&scratch, "task --task none.json", &["none.json"]);
    refuses(
        &scratch,
        "cells --task parity --lengths 2 --inputs product:none",
        &["read none"],
    );
    refuses(
        &scratch,
        "eval --task parity --lengths 1 --code none",
        &["cannot read none"],
    );
    refuses(
        &scratch,
        "eval --task parity --lengths 1 --policy .",
        &["cannot read ."],
    );
}

#[test]
fn a_class_too_large_for_memory_is_refused_with_the_size_it_needs() {
    let scratch = Scratch::new();
    let class = "--task quasigroup --lengths 8 --window 2,1 --max-memory";
    let said = ["16900 cells", "660.2 KiB", "100.0 KiB", "--max-memory"];
    refuses(&scratch, &format!("cells {class} 100KiB"), &said);
    scratch.file("code.json", "{\"actions\":[]}");
    refuses(
        &scratch,
        &format!("eval --code code.json {class} 100KiB"),
        &said,
    );
    // The cells fit, what evaluating them takes does not.
    let actions = vec!["0"; 16_900].join(",");
    scratch.file("code.json", &format!("{{\"actions\":[{actions}]}}"));
    refuses(
        &scratch,
        &format!("eval --code code.json {class} 700KiB"),
        &["evaluating 16900 cells"],
    );
    refuses(
        &scratch,
        "cells --task quasigroup --lengths 60 --window 30,20",
        &["cells needs"],
    );
    refuses(
        &scratch,
        "cells --task quasigroup --lengths 999999999999",
        &["999999999999"],
    );
    refuses(
        &scratch,
        &format!("cells {class} lots"),
        &["'lots'", "4GiB"],
    );
}

#[test]
fn a_number_beyond_its_range_is_named_with_the_range() {
    let scratch = Scratch::new();
    let class = "--task parity --lengths 3";
    let beyond = "18446744073709551616";
    for (flags, range) in [
        (
            "reinforce --estimator rloo:2 --learning-rate 1 --batch 5000000000",
            "0 to 4294967295",
        ),
        ("train --adaptive 5000000000,2", "up to 4294967295"),
        (
            "certify --code c.json --max-codes 5000000000",
            "1 to 4294967295",
        ),
        (
            &format!("chain --tau 0 --runs {beyond} {class}"),
            "1 to 18446744073709551615",
        ),
    ] {
        let flags = match flags.starts_with("reinforce") {
            true => format!("{flags} {class}"),
            false => flags.to_owned(),
        };
        let value = if flags.contains(beyond) {
            beyond
        } else {
            "5000000000"
        };
        refuses(&scratch, &flags, &[value, range]);
    }
}

#[test]
fn a_code_that_is_not_there_is_named_with_the_form_of_the_flag() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[0,1,0,1,1,0]}");
    let gauge = "gauge --task parity --lengths 2 --code";
    refuses(
        &scratch,
        &format!("{gauge} none.json#7"),
        &["none.json#7", "FILE#N"],
    );
    refuses(
        &scratch,
        &format!("{gauge} code.json#x"),
        &["code.json#x", "a whole number from 0"],
    );
    let one = ["code.json#7", "FILE#N", "it holds one, #0"];
    refuses(&scratch, &format!("{gauge} code.json#7"), &one);
}
