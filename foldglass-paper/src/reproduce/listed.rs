//! Says of an item what it needs and what it took.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::item::Item;
use super::times::{Time, Times};
use crate::error::Error;

/// What an item took.
pub type Measurement = Time;

/// An item, its needs and its times.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Listed {
    /// The LaTeX label.
    pub item: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// What it needs.
    pub needs: &'static str,
    /// What its parts took in the directory asked for, where all were measured.
    pub measured: Option<Measurement>,
    /// Else the seconds they take at most, by a trial; none where nothing is run.
    pub at_most_seconds: Option<f64>,
}

/// What is known of an item; `forecast` tries it where its parts were not measured.
pub fn listed(
    item: &Item,
    directory: &Path,
    forecast: impl FnOnce() -> Result<f64, Error>,
) -> Result<Listed, Error> {
    let measured = Times::read(directory)?.of_item(item);
    let at_most_seconds = if measured.is_some() || item.studies().next().is_none() {
        None
    } else {
        Some(forecast()?)
    };
    Ok(Listed {
        item: item.label,
        title: item.title,
        needs: needs(item),
        measured,
        at_most_seconds,
    })
}

fn needs(item: &Item) -> &'static str {
    let runs = item.needs.iter().any(|need| need.part().is_some());
    match (runs, item.fleets().next().is_some()) {
        (_, false) => "processor",
        (false, true) => "records of a GPU",
        (true, true) => "processor, records of a GPU",
    }
}
