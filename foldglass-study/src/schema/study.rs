//! Describes the file of a study: its keys, and for each kind of dynamics the settings that the method states.

use schemars::{Schema, json_schema};
use serde_json::{Map, Value, json};

use crate::method::{Accepts, Method, Registry};

/// The file as JSON has its TOML.
pub fn schema() -> Schema {
    let kinds: Vec<Value> = Registry::default().methods().map(dynamics).collect();
    json_schema!({
        "type": "object",
        "required": ["name", "class", "dynamics"],
        "additionalProperties": false,
        "properties": {
            "name": { "type": "string" },
            "seed": { "type": "integer", "minimum": 0 },
            "class": { "type": "array", "minItems": 1, "items": class() },
            "dynamics": { "type": "array", "minItems": 1, "items": { "oneOf": kinds } }
        },
        "$defs": {
            "axis": {
                "description": "A list of values, or a range of numbers, on a logarithmic scale where none is named.",
                "anyOf": [
                    { "type": "array" },
                    {
                        "type": "object",
                        "required": ["from", "to", "points"],
                        "additionalProperties": false,
                        "properties": {
                            "from": { "type": "number" },
                            "to": { "type": "number" },
                            "points": { "type": "integer", "minimum": 1 },
                            "scale": { "enum": ["log", "linear"] }
                        }
                    }
                ]
            },
            "grid": { "type": "object", "additionalProperties": { "$ref": "#/$defs/axis" } }
        }
    })
}

/// A `[[class]]`; any of its keys may stand in the grid instead.
fn class() -> Value {
    let whole = json!({ "type": "integer", "minimum": 1 });
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "id": { "type": "string" },
            "grid": { "$ref": "#/$defs/grid" },
            "task": { "type": "string" },
            "lengths": { "anyOf": [whole, { "type": "array", "items": whole }, { "type": "string" }] },
            "length_weights": {},
            "reward": {},
            "window": {
                "type": "array", "minItems": 2, "maxItems": 2, "items": { "type": "integer", "minimum": 0 }
            },
            "tied": { "type": "boolean" },
            "memory": whole,
            "inputs": { "type": "string" }
        }
    })
}

/// A `[[dynamics]]` of a method.
fn dynamics(method: &dyn Method) -> Value {
    let mut properties = Map::new();
    for setting in method.settings() {
        for (number, name) in setting.spellings().enumerate() {
            let mut form = value(setting.accepts);
            if let Value::Object(form) = &mut form {
                form.insert("description".to_owned(), setting.doc.into());
                if number > 0 {
                    form.insert("deprecated".to_owned(), true.into());
                }
            }
            properties.insert(name.to_owned(), form);
        }
    }
    if let Some(Value::Object(tau)) = properties.remove("tau") {
        let number = json!({ "type": "number" });
        let mut form = Map::from_iter([(
            "anyOf".to_owned(),
            json!([number, { "$ref": "#/$defs/axis" }]),
        )]);
        form.extend(tau.into_iter().filter(|(key, _)| key == "description"));
        properties.insert("tau".to_owned(), form.into());
    }
    for (key, form) in [
        ("kind", json!({ "const": method.kind() })),
        ("id", json!({ "type": "string" })),
        (
            "classes",
            json!({ "type": "array", "items": { "type": "string" } }),
        ),
        ("runs", json!({ "type": "integer", "minimum": 1 })),
        ("seed", json!({ "type": "integer", "minimum": 0 })),
        ("common_random_numbers", json!({ "type": "boolean" })),
        ("grid", json!({ "$ref": "#/$defs/grid" })),
    ] {
        properties.insert(key.to_owned(), form);
    }
    json!({
        "type": "object",
        "required": ["kind", "runs"],
        "additionalProperties": false,
        "properties": properties
    })
}

/// The values that a setting accepts.
fn value(accepts: Accepts) -> Value {
    match accepts {
        Accepts::Temperature | Accepts::NotNegative => json!({ "type": "number", "minimum": 0 }),
        Accepts::Share => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        Accepts::AboveZero => json!({ "type": "number", "exclusiveMinimum": 0 }),
        Accepts::Natural => json!({ "type": "integer", "minimum": 0 }),
        Accepts::Count => json!({ "type": "integer", "minimum": 1 }),
        Accepts::Numbers => json!({ "type": "array", "items": { "type": "number" } }),
        Accepts::Switch => json!({ "type": "boolean" }),
        Accepts::Words => json!({}),
    }
}
