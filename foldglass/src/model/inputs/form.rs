//! Writes an input law as files have it: "uniform", {"markov":"9/10"}, {"product":[["1/3",..],..]}.

use super::InputLaw;
use crate::support::exact::{lowest_terms, parse};
use dashu_ratio::RBig;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The law of the inputs.
#[derive(JsonSchema, Serialize, Deserialize)]
#[schemars(rename = "InputLaw")]
#[serde(rename_all = "lowercase")]
enum Form {
    Uniform,
    Markov(String),
    Product(Vec<Vec<String>>),
}

crate::schema_as!(InputLaw, Form);

impl Serialize for InputLaw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self {
            InputLaw::Uniform => Form::Uniform,
            InputLaw::Markov(k) => Form::Markov(lowest_terms(k)),
            InputLaw::Product(rows) => {
                let row = |row: &Vec<RBig>| row.iter().map(lowest_terms).collect();
                Form::Product(rows.iter().map(row).collect())
            }
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for InputLaw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<InputLaw, D::Error> {
        let number = |text: &String| parse(text).map_err(D::Error::custom);
        Ok(match Form::deserialize(deserializer)? {
            Form::Uniform => InputLaw::Uniform,
            Form::Markov(k) => InputLaw::Markov(number(&k)?),
            Form::Product(rows) => {
                let row = |row: &Vec<String>| row.iter().map(number).collect();
                InputLaw::Product(rows.iter().map(row).collect::<Result<_, D::Error>>()?)
            }
        })
    }
}
