//! Describes the files of a reproduction by JSON Schema, from the types that are written and read.

use foldglass_study::schema::{FileSchema, Sealed, read, written};
use schemars::JsonSchema;
use serde_json::json;

use super::basins::BasinRecord;
use super::ends::Ends;
use super::fleets::FleetLine;
use super::items::theorem::PathsRecord;
use super::items::transition::TransitionRecord;
use super::landscape::{CensusRecord, Verdicts};
use super::manifest::ReproductionManifest;
use super::maps::MapRecord;
use super::near_traps::NearTrapRecord;
use super::sampled::SnrRecord;
use super::stalled::StalledRecord;
use super::times::Times;
use super::traps::CodesFile;

fn file<T: JsonSchema>(name: &'static str, title: &str) -> FileSchema {
    let schema = written::<T>("format", name, title);
    FileSchema { name, schema }
}

fn sealed<T: JsonSchema>(name: &'static str, title: &str) -> FileSchema {
    file::<Sealed<T>>(name, title)
}

/// The formats of a directory of `reproduce`.
pub fn formats() -> Vec<FileSchema> {
    let mut fleets = read::<FleetLine>("format", "fleet-line", "A line of fleets/NAME.jsonl");
    let run = json!({
        "description": "How records were made; what else is said of it is for readers.",
        "type": "object",
        "required": ["kind"],
        "properties": { "kind": { "const": "run" } }
    });
    if let Some(lines) = fleets
        .get_mut("anyOf")
        .and_then(|lines| lines.as_array_mut())
    {
        lines.insert(0, run);
    }
    vec![
        sealed::<ReproductionManifest>("reproduction", "reproduce.json: scale, seed and version"),
        sealed::<Times>("reproduction-times", "times.json: what each part took"),
        sealed::<CensusRecord>(
            "reproduction-census",
            "censuses/NAME.json: counts of all codes",
        ),
        sealed::<Verdicts>(
            "reproduction-verdicts",
            "verdicts.json: what the certificates say",
        ),
        sealed::<Ends>("reproduction-ends", "ends-STUDY.json: where runs ended"),
        sealed::<MapRecord>(
            "reproduction-map",
            "maps/NAME.json: which inputs a code gets wrong",
        ),
        sealed::<PathsRecord>(
            "reproduction-paths",
            "paths.json: escapes from random codes",
        ),
        sealed::<TransitionRecord>(
            "reproduction-transition",
            "transition.json: curves of parity",
        ),
        sealed::<BasinRecord>(
            "reproduction-basin",
            "basins/CLASS.json: which maxima ascents reach",
        ),
        sealed::<SnrRecord>(
            "reproduction-ratio",
            "ratios/NAME.json: signal and noise of gradients",
        ),
        sealed::<StalledRecord>(
            "reproduction-stalled",
            "stalled/CLASS.json: runs from stalled policies",
        ),
        sealed::<NearTrapRecord>(
            "reproduction-near-trap",
            "near-traps/TRAP.json: ascents of objectives near a trap",
        ),
        file::<CodesFile>(
            "codes",
            "Codes of one class, such as enumerate --traps writes",
        ),
        FileSchema {
            name: "fleet-line",
            schema: fleets,
        },
    ]
}
