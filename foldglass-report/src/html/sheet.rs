//! Renders a table of a page: sorted and filtered by a small script, a link to every row.

use super::{drawing, push};
use crate::page::Sheet;
use crate::prose::escaped;
use crate::table::{Align, Cell};
use crate::words::link_errata;

/// Tables of fewer rows need no search.
const SEARCHED: usize = 8;

/// Writes it.
pub fn write(out: &mut String, sheet: &Sheet) {
    let Sheet { id, table, .. } = sheet;
    let title = if table.title.is_empty() {
        &sheet.id
    } else {
        &table.title
    };
    push(out, format_args!("<div class=\"sheet\" id=\"{id}\">\n"));
    write_tools(out, sheet);
    push(
        out,
        format_args!(
            "<div class=\"scroll\">\n<table>\n<caption>{}</caption>\n",
            escaped(title)
        ),
    );
    write_heads(out, sheet);
    out.push_str("<tbody>\n");
    for number in 0..table.entries().len() {
        write_row(out, sheet, number);
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
    for note in &table.notes {
        push(
            out,
            format_args!("<p class=\"note\">{}</p>\n", escaped(note)),
        );
    }
    out.push_str("</div>\n");
}

/// What a script uses, hidden until it runs, and the table as files.
fn write_tools(out: &mut String, sheet: &Sheet) {
    let Sheet { id, table, .. } = sheet;
    out.push_str("<div class=\"tools\">\n");
    if table.entries().len() >= SEARCHED {
        push(
            out,
            format_args!(
                "<label class=\"live\" hidden>Filter <input type=\"search\" aria-controls=\"{id}\" \
                 placeholder=\"class, quantity, note\"></label>\n"
            ),
        );
        write_choices(out, sheet);
        out.push_str("<output class=\"live\" hidden></output>\n");
    }
    push(
        out,
        format_args!(
            "<span class=\"files\"><a href=\"tables/{id}.csv\" download>CSV</a> <a \
             href=\"tables/{id}.tex\" download>LaTeX</a></span>\n</div>\n"
        ),
    );
}

/// A button for each verdict that occurs.
fn write_choices(out: &mut String, sheet: &Sheet) {
    let Some(column) = sheet.verdicts else {
        return;
    };
    let mut words: Vec<(String, usize)> = Vec::new();
    for row in sheet.table.entries() {
        let word = row[column].text();
        match words.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => words.push((word, 1)),
        }
    }
    if words.len() < 2 {
        return;
    }
    out.push_str(
        "<span class=\"live choices\" role=\"group\" aria-label=\"Verdicts shown\" hidden>",
    );
    for (word, count) in words {
        let class = drawing::class(crate::tone::Tone::of(&word));
        let sign = drawing::sign(class);
        let word = escaped(&word);
        push(
            out,
            format_args!(
                "<button type=\"button\" class=\"{class}\" aria-pressed=\"true\" \
                 data-word=\"{word}\">{sign}{word} <small>{count}</small></button>"
            ),
        );
    }
    out.push_str("</span>\n");
}

fn write_heads(out: &mut String, sheet: &Sheet) {
    out.push_str("<thead><tr>");
    for (n, column) in sheet.table.columns().iter().enumerate() {
        if sheet.beneath == Some(n) {
            continue;
        }
        if draws_before(sheet, n) {
            out.push_str("<th scope=\"col\" class=\"drawn\">drawn</th>");
        }
        let (side, name) = (side(column.align), escaped(&column.heading()));
        push(
            out,
            format_args!(
                "<th scope=\"col\" class=\"{side}\" data-key=\"{}\">{name}</th>",
                column.key
            ),
        );
    }
    out.push_str("</tr></thead>\n");
}

fn draws_before(sheet: &Sheet, column: usize) -> bool {
    !sheet.ranges.is_empty() && sheet.verdicts == Some(column)
}

fn side(align: Align) -> &'static str {
    match align {
        Align::Left => "words",
        Align::Right => "numbers",
    }
}

fn write_row(out: &mut String, sheet: &Sheet, number: usize) {
    let row = &sheet.table.entries()[number];
    let anchor = &sheet.anchors[number];
    push(out, format_args!("<tr id=\"{anchor}\""));
    if let Some(column) = sheet.verdicts {
        push(
            out,
            format_args!(" data-word=\"{}\"", escaped(&row[column].text())),
        );
    }
    out.push('>');
    for (n, (cell, column)) in row.iter().zip(sheet.table.columns()).enumerate() {
        if sheet.beneath == Some(n) {
            continue;
        }
        if draws_before(sheet, n) {
            let drawn = sheet.ranges[number].as_ref().map(drawing::range);
            push(
                out,
                format_args!("<td class=\"drawn\">{}</td>", drawn.unwrap_or_default()),
            );
        }
        let head = escaped(&column.heading());
        let text = written(cell);
        let (side, key) = (side(column.align), &column.key);
        let sort = value(cell).map_or(String::new(), |value| format!(" data-value=\"{value}\""));
        let content = match sheet.tone(row).filter(|_| sheet.verdicts == Some(n)) {
            Some(tone) => {
                let class = drawing::class(tone);
                format!(
                    "<span class=\"verdict {class}\">{}{text}</span>",
                    drawing::sign(class)
                )
            }
            None => text,
        };
        let content = match sheet
            .beneath
            .filter(|_| n == 1)
            .map(|beneath| written(&row[beneath]))
        {
            Some(note) if !note.is_empty() => {
                format!("{content}<small class=\"beneath\">{note}</small>")
            }
            _ => content,
        };
        if n == 0 {
            push(
                out,
                format_args!(
                    "<th scope=\"row\" class=\"{side} k-{key}\"{sort}>{content}<a class=\"anchor\" \
                     href=\"#{anchor}\" aria-label=\"Link to this row\">#</a></th>"
                ),
            );
        } else {
            let empty = if matches!(cell, Cell::Missing) || content.is_empty() {
                " empty"
            } else {
                ""
            };
            push(
                out,
                format_args!(
                    "<td class=\"{side} k-{key}{empty}\" data-head=\"{head}\"{sort}>{content}</td>"
                ),
            );
        }
    }
    out.push_str("</tr>\n");
}

/// What stands in a cell, with links to the errata that it names.
fn written(cell: &Cell) -> String {
    let text = escaped(&cell.text()).replace('\n', " ");
    // A number stays with its spread, an interval in one line; a list of fractions may break.
    let text = match cell {
        Cell::MeanSd { .. } | Cell::Interval { .. } => text.replace(' ', "\u{a0}"),
        _ => text,
    };
    link_errata(&text, |name, id| format!("<a href=\"#{id}\">{name}</a>"))
}

/// The number by which a cell is sorted.
fn value(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Whole(value) => Some(*value as f64),
        Cell::Large(value) => value.to_string().parse().ok(),
        Cell::Real(real) => Some(real.value),
        Cell::Exact(fraction) => {
            let value = foldglass::support::exact::parse(fraction).ok()?;
            Some(value.to_f64().value())
        }
        Cell::CountOf(count) => count.rate(),
        Cell::Flag(flag) => Some(u8::from(*flag).into()),
        Cell::MeanSd { mean, .. } => Some(mean.value),
        Cell::Interval { interval, .. } => Some(interval.low),
        Cell::Text(_) | Cell::Missing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Range;
    use crate::table::{Column, Table};

    #[test]
    fn errata_are_linked_to_by_their_numbers() {
        assert_eq!(
            written(&Cell::from(
                "learned & lost (errata 17), see erratum 4; errata of all"
            )),
            "learned &amp; lost (<a href=\"#erratum-17\">errata 17</a>), see \
             <a href=\"#erratum-4\">erratum 4</a>; errata of all"
        );
    }

    #[test]
    fn a_judged_table_has_signs_ranges_and_a_button_a_verdict() {
        let columns = [Column::words("class"), Column::words("verdict")];
        let row = |n: usize| {
            [
                Cell::from(format!("c{n}")),
                Cell::from(if n == 0 { "differs" } else { "agrees" }),
            ]
        };
        let table = Table::new(columns).rows((0..9).map(row));
        let range = Range {
            interval: [0.0, 1.0],
            ours: 0.5,
            paper: 0.5,
        };
        let ranges = (0..9).map(|n| (n < 2).then_some(range)).collect();
        let sheet = Sheet::new("s", table)
            .keyed(["class"])
            .judged("verdict")
            .drawn(ranges);
        let mut out = String::new();
        write(&mut out, &sheet);
        assert_eq!(out.matches("<button").count(), 2);
        assert_eq!(out.matches("class=\"range\"").count(), 2);
        assert!(
            out.contains("<tr id=\"s--c0\" data-word=\"differs\">"),
            "{out}"
        );
        assert!(out.contains("<span class=\"verdict bad\">"), "{out}");
        assert_eq!(out.matches("<tr").count(), 10);
    }

    #[test]
    fn a_note_stands_beneath_and_has_no_column_of_its_own() {
        let columns = [
            Column::words("class"),
            Column::words("quantity"),
            Column::words("note"),
        ];
        let rows = [["a", "J", "why"], ["b", "J", ""]];
        let table = Table::new(columns).rows(rows.map(|row| row.map(Cell::from)));
        let mut out = String::new();
        write(&mut out, &Sheet::new("s", table).beneath("note"));
        assert!(
            out.contains("J<small class=\"beneath\">why</small></td></tr>"),
            "{out}"
        );
        assert_eq!(
            (
                out.matches("<th scope=\"col\"").count(),
                out.matches("<small").count()
            ),
            (2, 1)
        );
    }
}
