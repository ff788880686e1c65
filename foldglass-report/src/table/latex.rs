//! Renders tables as LaTeX, with the rules of `booktabs` and no other package.

use std::io::{self, Write};

use super::{Align, Table};

/// Writes a `tabular`, in a `table` with its caption where it has a title.
pub fn write(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let floats = !table.title.is_empty();
    if floats {
        writeln!(out, "\\begin{{table}}\n\\centering")?;
        writeln!(out, "\\caption{{{}}}", escaped(&table.title))?;
    }
    let sides = table.columns().iter().map(|column| match column.align {
        Align::Left => 'l',
        Align::Right => 'r',
    });
    writeln!(out, "\\begin{{tabular}}{{{}}}", sides.collect::<String>())?;
    writeln!(out, "\\toprule")?;
    let heads = table.columns().iter().map(|column| column.heading());
    write_line(out, heads.map(|head| escaped(&head)))?;
    writeln!(out, "\\midrule")?;
    for row in table.entries() {
        write_line(out, row.iter().map(|cell| escaped(&cell.text())))?;
    }
    writeln!(out, "\\bottomrule\n\\end{{tabular}}")?;
    for note in &table.notes {
        writeln!(out, "\\par\\footnotesize {}", escaped(note))?;
    }
    if floats {
        writeln!(out, "\\end{{table}}")?;
    }
    Ok(())
}

fn write_line(out: &mut dyn Write, entries: impl Iterator<Item = String>) -> io::Result<()> {
    let mut entries: Vec<String> = entries.collect();
    // A row that begins with a bracket would be read as the argument of the line break before it.
    if let Some(first) = entries.first_mut().filter(|first| first.starts_with('[')) {
        first.insert_str(0, "{}");
    }
    writeln!(out, "{} \\\\", entries.join(" & "))
}

/// The text as it is, in any font encoding; a space for a break.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '<' => escaped += "\\textless{}",
            '>' => escaped += "\\textgreater{}",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            '±' => escaped += "$\\pm$",
            '×' => escaped += "$\\times$",
            'τ' => escaped += "$\\tau$",
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::super::{Cell, Table};
    use super::*;

    #[test]
    fn special_characters_are_escaped_and_rules_are_of_booktabs() {
        let mut out = Vec::new();
        write(&example(), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\\begin{table}\n\
             \\centering\n\
             \\caption{What 100 \\% of the runs\\_gave}\n\
             \\begin{tabular}{lrrrrl}\n\
             \\toprule\n\
             class & mean J & at 1 & interval & time [s] & exact \\\\\n\
             \\midrule\n\
             Z\\_5 | (0,0), \"T=8\" & 0.798 $\\pm$ 0.160 & 17/60 & 0.75 to 0.85 & 1.5 & 9/10 \\\\\n\
             parity \\{k\\} \\& \\textbackslash{}tau & - & - & - & 2 & - \\\\\n\
             \\bottomrule\n\
             \\end{tabular}\n\
             \\par\\footnotesize one $\\pm$ is a spread; 50\\% \\textless{} all\n\
             \\end{table}\n"
        );
    }

    #[test]
    fn without_a_title_it_does_not_float_and_a_bracket_is_no_argument() {
        let table = Table::of_numbers(["n"]).rows([[Cell::from("[1]")]]);
        let mut out = Vec::new();
        write(&table, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("\\begin{tabular}"), "{text}");
        assert!(text.contains("\n{}[1] \\\\\n"), "{text}");
    }
}
