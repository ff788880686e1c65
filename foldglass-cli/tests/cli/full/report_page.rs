//! Opens a report in a real browser, headless, at the width of a desk and of a hand: no console error,
//! figures visible, nothing wider than the page, landmarks there, tables that sort and filter.
//!
//! Needs Chromium (the package `chromium` of Debian, which `.ci/run` installs); without it the test is skipped,
//! and fails in CI.

use std::fs;
use std::process::Command;

use super::axe;
use super::chromium::{self, Chromium};
use crate::support::Scratch;
use crate::tools;

/// What is asked of the page.
const PROBE: &str = r#"
(() => {
  const page = document;
  const root = page.documentElement;
  const all = (selector) => [...page.querySelectorAll(selector)];
  all("details").forEach((one) => { one.open = true; });
  const width = root.clientWidth;
  const seen = (element) => { const box = element.getBoundingClientRect(); return box.width > 60 && box.height > 40; };
  const wide = all("body *").filter((element) => {
    const box = element.getBoundingClientRect();
    const scrolls = element.closest(".scroll, .patterns, .skip, thead, details:not([open])");
    return box.width > 0 && box.right > width + 1 && !scrolls;
  });
  const answer = {
    width,
    scrollWidth: root.scrollWidth,
    wide: wide.slice(0, 5).map((element) => element.outerHTML.slice(0, 120)),
    scrolling: all(".sheet .scroll").filter((box) => box.offsetParent && box.scrollWidth > box.clientWidth + 1)
      .map((box) => box.parentElement.id + " " + box.scrollWidth + " of " + box.clientWidth),
    figures: all("figure .paper > svg").length,
    visible: all("figure .paper > svg").filter(seen).length,
    landmarks: ["header", "nav", "main", "footer"].map((name) => all(name).length),
    unnamed: all("nav, figure .paper > svg, input").filter((element) =>
      !element.getAttribute("aria-label") && !element.closest("label")).length,
    unreachable: all(".scroll[role=region]").filter((box) => box.tabIndex !== 0).length,
  };
  const sheet = page.getElementById("tab-escape-numbers");
  const rows = () => [...sheet.querySelectorAll("tbody tr")];
  const shown = () => rows().filter((row) => !row.hidden).length;
  const before = shown();
  const input = sheet.querySelector("input");
  input.value = "barrier"; input.dispatchEvent(new Event("input"));
  answer.filtered = [shown(), before, rows().filter((row) => row.dataset.word !== "not stated" && row.textContent.includes("barrier")).length];
  input.value = ""; input.dispatchEvent(new Event("input"));
  const head = sheet.querySelector('th[data-key="n"] button');
  head.click();
  const place = head.parentElement.cellIndex;
  const numbers = rows().map((row) => Number(row.cells[place].dataset.value));
  answer.sorted = numbers.every((n, i) => i === 0 || numbers[i - 1] <= n);
  answer.sort = head.parentElement.getAttribute("aria-sort");
  const theme = page.getElementById("theme");
  const ground = () => getComputedStyle(page.body).backgroundColor;
  const light = ground();
  theme.click();
  answer.themed = ground() !== light;
  return answer;
})()
"#;

#[test]
fn a_report_is_whole_in_a_real_browser_at_the_width_of_a_desk_and_of_a_hand() {
    let Some(browser) = chromium::installed() else {
        return;
    };
    let Some(script) = axe::script() else {
        return;
    };
    let scratch = Scratch::new();
    let made = Command::new(env!("CARGO_BIN_EXE_foldglass"))
        .args([
            "reproduce",
            "tab:containment",
            "tab:escape",
            "fig:temperature_untied_b",
        ])
        .args(["--smoke", "--out", "here", "--quiet"])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let page = fs::canonicalize(scratch.path().join("here/report/index.html")).unwrap();
    let mut chromium = Chromium::start(browser, scratch.path());
    for (width, scheme) in [(1280, "light"), (390, "dark")] {
        chromium.size(width, 900);
        chromium.prefer(&[("prefers-color-scheme", scheme)]);
        chromium.open(&format!("file://{}", page.display()));
        axe::check(&mut chromium, &script, &format!("the report at {width}"));
        chromium.evaluate(
            "document.querySelectorAll('details').forEach((one) => { one.open = true; })",
        );
        axe::check(
            &mut chromium,
            &script,
            &format!("the report unfolded at {width}"),
        );
        chromium.open(&format!("file://{}", page.display()));
        let answer = chromium.evaluate(PROBE);
        assert_eq!(chromium.complaints, Vec::<String>::new(), "at {width}");
        assert_eq!(answer["width"], width, "{answer}");
        assert!(
            answer["scrollWidth"].as_u64().unwrap() <= u64::from(width),
            "{answer}"
        );
        assert_eq!(answer["wide"], serde_json::json!([]), "at {width}");
        assert_eq!(answer["scrolling"], serde_json::json!([]), "at {width}");
        assert_eq!(answer["figures"], 2);
        assert_eq!(answer["visible"], answer["figures"], "at {width}");
        assert_eq!(answer["landmarks"], serde_json::json!([1, 1, 1, 1]));
        assert_eq!(
            (&answer["unnamed"], &answer["unreachable"]),
            (&0.into(), &0.into()),
            "{answer}"
        );
        let [filtered, before, with_word] =
            [0, 1, 2].map(|n| answer["filtered"][n].as_u64().unwrap());
        assert!(
            filtered == with_word && filtered < before && filtered > 0,
            "{answer}"
        );
        assert_eq!(
            (&answer["sorted"], &answer["sort"]),
            (&true.into(), &"ascending".into())
        );
        assert_eq!(answer["themed"], true);
    }
}

#[test]
fn without_a_browser_the_test_fails_in_ci_and_is_listed_elsewhere() {
    let test = "full::report_page::a_report_is_whole_in_a_real_browser_at_the_width_of_a_desk_and_of_a_hand";
    tools::assert_needed(test, "chromium");
}
