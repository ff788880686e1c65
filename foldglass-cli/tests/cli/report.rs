//! `report` and `list`: a page from records alone, the same bytes each time.

use std::collections::{BTreeMap, HashSet};
use std::fs;

use serde_json::Value;

use crate::support::{Scratch, contents};

/// The items that are made from committed records, in less than a second.
const ITEMS: [&str; 5] = [
    "tab:containment",
    "tab:escape",
    "fig:temperature_untied_b",
    "text:relabelling",
    "text:cures",
];

fn reproduce(scratch: &Scratch) -> Value {
    let args = [&["reproduce"], &ITEMS[..], &["--smoke", "--out", "here"]].concat();
    scratch.json(&args)
}

/// Whether two directories hold the same; says which file differs.
fn same(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) -> bool {
    let names = one.keys().chain(other.keys());
    let differing = names.filter(|name| one.get(*name) != other.get(*name));
    let differing: Vec<&String> = differing.collect();
    eprintln!("differing: {differing:?}");
    differing.is_empty()
}

#[test]
fn a_report_is_made_from_the_records_alone_and_is_the_same_each_time() {
    let scratch = Scratch::new();
    let reproduced = reproduce(&scratch);
    assert_eq!(reproduced["report"], "here/report/index.html");
    let place = scratch.path().join("here/report");
    let first = contents(&place);
    fs::remove_dir_all(&place).unwrap();
    let written = scratch.json(&["report", "here"]);
    assert_eq!(written["files"], first.len());
    assert!(same(&contents(&place), &first));
    scratch.run(&["report", "here", "--out", "there"]).success();
    assert!(same(&contents(&scratch.path().join("there")), &first));
    for count in ["agree", "differ", "cannot_tell"] {
        assert_eq!(written[count], reproduced[count], "{count}");
    }
}

#[test]
fn a_page_has_every_number_with_a_link_of_its_own() {
    let scratch = Scratch::new();
    let reproduced = reproduce(&scratch);
    let page = scratch.read("here/report/index.html");
    let ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .map(|part| part.split('"').next().unwrap())
        .collect();
    let distinct: HashSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), distinct.len(), "an id is there twice");
    for link in page.split("href=\"#").skip(1) {
        let (id, _) = link.split_once('"').unwrap();
        assert!(distinct.contains(id), "{id}");
    }
    for (item, label) in reproduced["items"].as_array().unwrap().iter().zip(ITEMS) {
        let id = label.replace([':', '_'], "-");
        let rows = format!("<tr id=\"{id}-numbers--");
        assert_eq!(
            page.matches(&rows).count(),
            item["rows"].as_array().unwrap().len()
        );
        let command = format!("<code>foldglass reproduce {label} --smoke</code>");
        assert!(page.contains(&command), "{command}");
    }
    // Where the networks come from, and how long they took, is said.
    for said in [
        "NVIDIA H200",
        "nothing was trained here",
        "47 s on the GPU",
        "erratum-17",
    ] {
        assert!(page.contains(said), "{said}");
    }
    // A figure's points say their numbers.
    assert!(
        page.contains("<title>Z_5, coefficient 0.3, seed 0: "),
        "no title of a point"
    );
    for outward in ["src=\"http", "href=\"http", "@import"] {
        assert!(!page.contains(outward), "{outward}");
    }
}

#[test]
fn a_report_has_a_text_and_every_table_and_figure_as_files() {
    let scratch = Scratch::new();
    reproduce(&scratch);
    let text = scratch.read("here/report/report.md");
    for said in [
        "# RLVR landscapes, reproduced",
        "## Table 4: barriers",
        "### The differences that matter",
        "| class | quantity |",
        "Errata and readings",
    ] {
        assert!(text.contains(said), "{said}");
    }
    let figures = text.split("](figures/").skip(1);
    let figures: Vec<&str> = figures
        .map(|part| part.split(')').next().unwrap())
        .collect();
    assert_eq!(figures.len(), 2);
    for figure in figures {
        assert!(
            scratch
                .read(&format!("here/report/figures/{figure}"))
                .contains("<svg")
        );
    }
    let csv = scratch.read("here/report/tables/tab-escape-numbers.csv");
    assert!(csv.starts_with("class,quantity,paper"), "{csv}");
    let latex = scratch.read("here/report/tables/tab-escape-numbers.tex");
    assert!(latex.contains("\\toprule") && latex.contains("\\caption{tab:escape"));
}

#[test]
fn a_report_of_nothing_says_what_makes_records() {
    let scratch = Scratch::new();
    let run = scratch.run(&["report"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.errors.contains("reproduction") && run.errors.contains("foldglass reproduce"),
        "{}",
        run.errors
    );
    assert!(scratch.files().is_empty());
}

#[test]
fn the_list_says_what_items_need_and_how_long_they_take() {
    let scratch = Scratch::new();
    let list = scratch.json(&["list"]);
    let items = list["items"].as_array().unwrap();
    let of = |label: &str| items.iter().find(|item| item["item"] == label).unwrap();
    let shortfall = of("tab:shortfall");
    assert_eq!(shortfall["needs"], "processor");
    assert!(
        shortfall["at_most_seconds"].as_f64().unwrap() > 1.0,
        "{shortfall}"
    );
    assert!(of("tab:escape")["needs"].as_str().unwrap().contains("GPU"));
    assert!(of("tab:escape")["at_most_seconds"].is_null());
    assert!(scratch.files().is_empty());
}
