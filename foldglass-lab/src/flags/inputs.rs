//! Reads the law of the inputs that `--inputs` names.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use foldglass::exact;
use foldglass::inputs::InputLaw;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::error::Error;
use crate::files::File;

/// What `--inputs` holds.
#[derive(Debug, Clone)]
pub struct InputsFlag {
    text: String,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Stated(InputLaw),
    File(PathBuf),
}

impl FromStr for InputsFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<InputsFlag, String> {
        let source = match text.split_once(':') {
            None if text == "uniform" => Source::Stated(InputLaw::Uniform),
            Some(("markov", k)) => {
                let k = exact::parse(k).map_err(|error| error.to_string())?;
                Source::Stated(InputLaw::Markov(k))
            }
            Some(("product", path)) => Source::File(path.into()),
            _ => {
                return Err("accepted: uniform, markov:K (such as markov:9/10), \
                            product:FILE (a JSON list with a row of q probabilities per position)"
                    .to_owned());
            }
        };
        Ok(InputsFlag {
            text: text.to_owned(),
            source,
        })
    }
}

impl fmt::Display for InputsFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text)
    }
}

const EXPECTED: &str = "a product law ([[..]], a row of q probabilities per position, each a \
                        number or a string such as \"1/3\")";

impl InputsFlag {
    /// The same, its file found from a directory.
    pub fn under(mut self, base: &Path) -> InputsFlag {
        if let Source::File(path) = &mut self.source {
            *path = base.join(&path);
        }
        self
    }

    /// The law, read from its file where it stands in one.
    pub fn law(&self) -> Result<InputLaw, Error> {
        let path = match &self.source {
            Source::Stated(law) => return Ok(law.clone()),
            Source::File(path) => path,
        };
        let file = File::at(path)?;
        let rows: Vec<Vec<Literal>> = file.json(EXPECTED)?;
        let probability = |position: usize, symbol: usize, Literal(text): &Literal| {
            exact::parse(text).map_err(|error| {
                let place = format!("position {}, symbol {symbol}: {error}", position + 1);
                file.is_not(EXPECTED, place)
            })
        };
        let row = |(position, row): (usize, &Vec<Literal>)| {
            let entries = row.iter().enumerate();
            entries
                .map(|(symbol, text)| probability(position, symbol, text))
                .collect()
        };
        let rows: Result<_, Error> = rows.iter().enumerate().map(row).collect();
        Ok(InputLaw::Product(rows?))
    }
}

/// A number as it is written, or the content of a string.
struct Literal(String);

impl<'de> Deserialize<'de> for Literal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Literal, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Number(number) => Ok(Literal(number.to_string())),
            Value::String(text) => Ok(Literal(text)),
            other => Err(D::Error::custom(format!("{other} is no probability"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_keeps_every_digit() {
        let text = "[0.1000000000000000055511151231257827, 1e-30, \"1/3\", 1]";
        let literals: Vec<Literal> = serde_json::from_str(text).unwrap();
        let texts: Vec<&str> = literals.iter().map(|literal| &literal.0[..]).collect();
        assert_eq!(texts[0], "0.1000000000000000055511151231257827");
        assert_eq!(exact::parse(texts[1]), exact::parse("1e-30"));
        assert_eq!(texts[2..], ["1/3", "1"]);
    }

    #[test]
    fn a_law_without_a_known_name_is_refused() {
        for bad in [
            "",
            "Uniform",
            "uniform:1",
            "markov",
            "markov:",
            "markov:x",
            "product",
        ] {
            assert!(bad.parse::<InputsFlag>().is_err(), "{bad}");
        }
    }
}
