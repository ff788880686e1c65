//! Names the forms of a table, for `--format` and for the extensions of files.

use std::path::Path;

/// A form in which tables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Aligned, for a terminal.
    Text,
    /// A list of objects.
    Json,
    /// RFC 4180.
    Csv,
    /// With pipes.
    Markdown,
    /// With `booktabs`.
    Latex,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 5] = [
        Format::Text,
        Format::Json,
        Format::Csv,
        Format::Markdown,
        Format::Latex,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Markdown => "markdown",
            Format::Latex => "latex",
        }
    }

    /// How the names of its files end, after the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Markdown => "md",
            Format::Latex => "tex",
        }
    }

    /// Whether its tables are read by programs, which take all rows as one list.
    pub fn is_data(self) -> bool {
        matches!(self, Format::Json | Format::Csv)
    }

    /// The format of a name; else what is accepted.
    pub fn named(name: &str) -> Result<Format, String> {
        let found = Format::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| format!("accepted: {}", Format::ALL.map(Format::name).join(", ")))
    }

    /// The format of a file by the extension of its name; else what is accepted.
    pub fn of_path(path: &Path) -> Result<Format, String> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let own = |format: &Format| Some(format.extension()) == extension;
        Format::ALL.into_iter().find(own).ok_or_else(|| {
            let known = Format::ALL.map(|format| format!(".{}", format.extension()));
            format!(
                "{} does not end in one of {}",
                path.display(),
                known.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_known_by_its_name_and_by_the_extension_of_a_file() {
        for format in Format::ALL {
            assert_eq!(Format::named(format.name()), Ok(format));
            let path = format!("a.b/table.{}", format.extension());
            assert_eq!(Format::of_path(Path::new(&path)), Ok(format));
        }
    }

    #[test]
    fn another_extension_is_refused_with_the_accepted_ones() {
        for path in ["table", "table.xlsx", "table.CSV", ".csv"] {
            let said = Format::of_path(Path::new(path)).unwrap_err();
            assert!(said.contains(path), "{said}");
            assert!(said.contains(".txt, .json, .csv, .md, .tex"), "{said}");
        }
        assert_eq!(
            Format::named("html").unwrap_err(),
            "accepted: text, json, csv, markdown, latex"
        );
    }
}
