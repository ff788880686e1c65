//! Makes the first chapter, which a reviewer reads in a minute: the differences that touch a result, the headline results,
//! how many numbers agree; and the last but one, how a number is judged.

use super::super::compare::{Compared, Comparison, JudgementCounts};
use super::super::headlines::{self, JudgedHeadline};
use super::super::judge::{ComparisonVerdict, LEVEL, Why};
use super::super::records::Records;
use super::super::row::Row;
use super::super::stated::Touches;
use super::super::studies::Scale;
use super::{about, id_of, item, name_of};
use crate::report::page::{AgreementTally, Block, Chapter, Sheet};
use crate::report::words::link_errata;
use crate::report::{Cell, Column, INTERVAL_LEVEL, Table};

/// The chapter.
pub fn chapter(comparison: &Comparison, items: &[&Compared], records: &Records) -> Chapter {
    let scale = records.manifest.scale;
    let rows = || items.iter().flat_map(|item| &item.rows);
    let counts = JudgementCounts::of(rows());
    let mut chapter = Chapter::new("summary", "In a minute");
    if scale == Scale::Smoke {
        chapter = chapter.prose(
            "**Smoke scale**: few seeds and short chains. This page shows that everything runs; it judges only \
             numbers without chance.",
        );
    }
    let matters = matters(comparison);
    if !matters.is_empty() {
        chapter = chapter.prose(format!("### The differences that matter\n\n{matters}"));
    }
    let results = headlines::judged(comparison);
    chapter = chapter
        .prose("### The paper’s results")
        .sheet(results_sheet(&results));
    if scale == Scale::Quick {
        return chapter.prose(
            "A result holds where all its numbers agree with the paper’s. It is not reproduced where one that states it \
             differs, and holds in part where another does. The number shown is one that decides. Each result has a \
             chapter below, with a figure and its other numbers. Everything else that the paper states is compared by \
             `foldglass reproduce`, its statements one by one by `foldglass claims`.",
        );
    }
    let tallies = items.iter().map(|item| tally(item)).collect();
    let fold = |summary: &str, blocks| Block::Folded {
        summary: summary.to_owned(),
        blocks,
    };
    let differing = comparison.differences().len();
    chapter
        .prose("### All numbers")
        .with(Block::Tallies(tallies))
        .prose(headline(&counts, rows()))
        .with(fold(
            &format!("What differs, number by number ({differing})"),
            vec![Block::Prose(differences(comparison))],
        ))
        .with(fold(
            "What cannot be told, and why",
            vec![Block::Prose(untold(items))],
        ))
        .with(fold(
            "What was chosen to fit",
            vec![Block::Prose(CHOICES.to_owned())],
        ))
}

/// The differences that touch a result of the paper, each with its numbers; none where ours do not differ.
fn matters(comparison: &Comparison) -> String {
    let all = comparison.differences().into_iter();
    let own = all.filter(|(_, row)| row.touches == Some(Touches::Result));
    own.map(|(compared, row)| {
        let (name, id) = (name_of(compared.item), id_of(compared.item));
        line(&format!("**[{name}](#{id})**: "), compared, row)
    })
    .collect()
}

/// The headline results, the number that decides each beside it.
fn results_sheet(results: &[JudgedHeadline<'_>]) -> Sheet {
    let interval = format!("{} % interval", 100.0 * INTERVAL_LEVEL);
    let columns = [
        Column::words("result"),
        Column::words("in the paper").key("place"),
        Column::words("number"),
        Column::words("paper"),
        Column::words("ours"),
        Column::words(&interval).key("interval"),
        Column::words("verdict"),
    ];
    let row = |result: &JudgedHeadline<'_>| -> [Cell; 7] {
        let (title, place) = (result.headline.item.title, result.about().number);
        let first = result.deciding();
        let cell = |of: fn(&Row) -> Cell| first.map_or(Cell::Missing, of);
        [
            title.into(),
            place.into(),
            cell(|row| format!("{}: {}", row.row, row.quantity).into()),
            cell(|row| row.paper_cell.clone()),
            cell(|row| row.ours_cell.clone()),
            cell(|row| match (&row.interval_cell, &row.exact) {
                (Cell::Missing, Some(_)) => "exact".into(),
                (interval, _) => interval.clone(),
            }),
            result.verdict().words().into(),
        ]
    };
    let table = Table::new(columns).rows(results.iter().map(row));
    Sheet::new("results", table)
        .keyed(["result"])
        .judged("verdict")
}

fn tally(compared: &Compared) -> AgreementTally {
    let JudgementCounts {
        agree,
        differ,
        cannot_tell,
        ..
    } = compared.counts;
    let says = about(compared.item).map_or(compared.title, |about| about.says);
    AgreementTally {
        id: id_of(compared.item),
        name: name_of(compared.item),
        says: says.to_owned(),
        counts: [agree, differ, cannot_tell],
    }
}

fn headline<'a>(counts: &JudgementCounts, rows: impl Iterator<Item = &'a Row>) -> String {
    let judged = |row: &&Row| {
        row.same_as.is_none()
            && matches!(
                row.verdict,
                ComparisonVerdict::Agrees | ComparisonVerdict::Differs
            )
    };
    let tested = rows.filter(judged).filter(|row| row.p.is_some()).count();
    let JudgementCounts {
        agree,
        differ,
        cannot_tell,
        repeated,
        ..
    } = *counts;
    format!(
        "Of **{}** distinct numbers of the paper that can be judged, **{agree} agree** with ours and **{differ} \
         differ**; {cannot_tell} more cannot be told, and each says why. {repeated} others are the same runs under a \
         second label, and count once. At a level of {} %, {:.1} of the {tested} tests \
         would differ by chance alone.",
        agree + differ,
        100.0 * LEVEL,
        tested as f64 * LEVEL
    )
}

/// What was chosen so that numbers come out.
const CHOICES: &str = "The paper leaves choices open, and agreement comes after making them so that its numbers come out: the law of \
     initial policies, the final quench of the several-length rows, the order of updates (by block of \
     tab:equilibration), the temperature of the tied class, and for transformers the layout of inputs and the gate \
     of the curriculum. The errata say what the other choices give.\n";

/// What differs: the paper's own numbers first, then what depends on a choice of ours; the reason where it is
/// known, and what hangs on it.
fn differences(comparison: &Comparison) -> String {
    let mut text = String::new();
    let all = comparison.differences();
    if all.is_empty() {
        return text + "Nothing does.\n";
    }
    for (touches, title) in [
        (Touches::Result, "Numbers of the paper"),
        (
            Touches::Protocol,
            "Numbers that depend on a choice which the paper leaves open",
        ),
    ] {
        let own = all.iter().filter(|(_, row)| row.touches == Some(touches));
        let mut label = "";
        for (number, (compared, row)) in own.enumerate() {
            if number == 0 {
                text += &format!("{title}:\n\n");
            }
            if compared.item != label {
                label = compared.item;
                let stakes = about(label).map_or("", |about| about.stakes);
                text += &format!("**[{}](#{})**: {stakes}\n\n", name_of(label), id_of(label));
            }
            text += &line("", compared, row);
        }
        text.push('\n');
    }
    text
}

/// A difference as a line of a list, which leads to its row.
fn line(begin: &str, compared: &Compared, row: &Row) -> String {
    let sheet = item::sheet(compared);
    let mut anchors = compared.rows.iter().zip(&sheet.anchors);
    let anchor = anchors.find(|(other, _)| other.key == row.key);
    let anchor = anchor.map_or("", |(_, anchor)| anchor);
    let note = if row.note.is_empty() {
        String::new()
    } else {
        format!(
            " *({})*",
            link_errata(&plain(&row.note), |name, id| format!("[{name}](#{id})"))
        )
    };
    format!(
        "- {begin}[{}, {}](#{anchor}): the paper has {}, ours is {}{note}\n",
        plain(row.row),
        plain(&row.quantity),
        plain(&row.paper_cell.text()),
        plain(&row.ours_cell.text())
    )
}

/// The text with its markup characters escaped.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        if matches!(c, '*' | '_' | '`' | '[' | ']' | '<' | '\\') {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}

/// What cannot be told, by the reason.
fn untold(items: &[&Compared]) -> String {
    let mut text = String::new();
    let mut some = false;
    for why in Why::ALL {
        let is = |row: &&Row| row.why == Some(why) && row.same_as.is_none();
        let own = |item: &&&Compared| item.rows.iter().filter(is).count();
        let places = items.iter().map(|item| (item.item, own(&item)));
        let places = places.filter(|(_, count)| *count > 0);
        let places = places
            .map(|(label, count)| format!("{count} in [{}](#{})", name_of(label), id_of(label)));
        let places: Vec<String> = places.collect();
        if !places.is_empty() {
            some = true;
            text += &format!("- {}: {}\n", why.words(), places.join(", "));
        }
    }
    if !some {
        text += "Everything can.\n";
    }
    text
}

/// How a number is judged.
pub fn how_judged() -> Chapter {
    let text = format!(
        "Both sides are samples. We test whether both come from one distribution, at a level of {} %: Welch’s for means, \
         Fisher’s exact one for numbers of runs, and for quantiles and maxima Fisher’s on how many of ours lie up \
         to the stated value, or above it. Numbers without chance (counts of codes, exact rewards) agree only if \
         they are equal. Intervals are at {} %.\n\n\
         *Would differ* has the outcomes of ours, nearest to the paper’s number, that the same test would have \
         called a difference. Agreement counts only if the test could have found a difference. An effect (something against nothing) is tested \
         as one: two means that agree one by one may differ in it. *Cannot tell* is said with fewer than half of \
         the paper’s runs, where nothing would have differed, where our largest is above the paper’s on too few runs, \
         and where the number is not the paper’s own: assumed in part, or stated of another quantity. *Reference* is an independent prototype, often \
         with more seeds.\n\n\
         In the tables a dot is our number, the line through it its interval, the stroke across the paper’s number. \
         Items that share runs say so and count them once, but count their time each. A chance difference should vanish with another `--seed`.",
        100.0 * LEVEL,
        100.0 * INTERVAL_LEVEL
    );
    Chapter::new("how-judged", "How a number is judged").prose(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_read_as_markup() {
        assert_eq!(plain("Z_5 <1> [a]"), "Z\\_5 \\<1> \\[a\\]");
    }
}
