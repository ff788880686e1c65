//! Holds what commands print and what files contain to the JSON Schemas in `docs/schemas`, which users have.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::shell::commands;
use crate::support::{Scratch, words};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas")
}

/// All schemas as this version writes them.
fn generated() -> BTreeMap<String, Value> {
    let all = foldglass_cli::schemas().into_iter();
    all.map(|(name, schema)| (name, schema.to_value()))
        .collect()
}

/// The schemas as tests apply them: a key that a schema does not name is refused, also where users may find new ones.
pub struct Schemas(BTreeMap<String, Validator>);

impl Schemas {
    pub fn new() -> Schemas {
        let closed = generated().into_iter().map(|(name, mut schema)| {
            let mut found = BTreeSet::new();
            parts(&schema, false, &mut found);
            close(&mut schema, false, &found);
            let validator = jsonschema::validator_for(&schema);
            (
                name.clone(),
                validator.unwrap_or_else(|error| panic!("{name}: {error}")),
            )
        });
        Schemas(closed.collect())
    }

    /// Holds what a command printed to its schema: what does not fit.
    pub fn check_command(&self, command: &str, printed: &Value) -> String {
        self.check(&format!("commands/{command}.json"), command, printed)
    }

    /// Holds a file, or each of its lines, to the schema of a format.
    pub fn check_file(&self, format: &str, path: &Path) -> String {
        let text = fs::read_to_string(path).unwrap();
        let values = serde_json::Deserializer::from_str(&text).into_iter();
        let values: Vec<Value> = values.map(Result::unwrap).collect();
        assert!(!values.is_empty(), "{}", path.display());
        let (name, what) = (format!("formats/{format}.json"), path.display().to_string());
        values
            .iter()
            .map(|value| self.check(&name, &what, value))
            .collect()
    }

    fn check(&self, name: &str, what: &str, value: &Value) -> String {
        let schema = self
            .0
            .get(name)
            .unwrap_or_else(|| panic!("there is no {name}"));
        let wrong = schema.iter_errors(value);
        wrong
            .map(|error| format!("{what}, {name}: {}: {error}\n", error.instance_path()))
            .collect()
    }
}

/// Refuses unknown keys of an object. Parts of one object (`branch`) know only their own keys: the whole refuses.
fn close(schema: &mut Value, branch: bool, parts: &BTreeSet<String>) {
    let Value::Object(fields) = schema else {
        return;
    };
    let whole = fields.contains_key("properties");
    if whole && !branch && !fields.contains_key("additionalProperties") {
        fields.insert("unevaluatedProperties".to_owned(), false.into());
    }
    for (key, value) in fields.iter_mut() {
        match (&key[..], value) {
            ("properties" | "$defs", Value::Object(inner)) => {
                for (name, inner) in inner {
                    let part = key == "$defs" && parts.contains(&format!("#/$defs/{name}"));
                    close(inner, part, parts);
                }
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(inner)) => {
                let branch = branch || whole;
                inner
                    .iter_mut()
                    .for_each(|inner| close(inner, branch, parts));
            }
            ("items" | "additionalProperties", inner) => close(inner, false, parts),
            _ => {}
        }
    }
}

/// The definitions that are parts of other objects.
fn parts(schema: &Value, branch: bool, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            if let (true, Some(Value::String(name))) = (branch, fields.get("$ref")) {
                found.insert(name.clone());
            }
            let whole = fields.contains_key("properties");
            for (key, inner) in fields {
                let branches = ["anyOf", "oneOf", "allOf"].contains(&&key[..]);
                parts(inner, branches && (whole || branch), found);
            }
        }
        Value::Array(all) => all.iter().for_each(|inner| parts(inner, branch, found)),
        _ => {}
    }
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let generated = generated();
    let text = |schema: &Value| serde_json::to_string_pretty(schema).unwrap() + "\n";
    if std::env::var_os("FOLDGLASS_WRITE_SCHEMAS").is_some() {
        let _ = fs::remove_dir_all(folder());
        for (name, schema) in &generated {
            let path = folder().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text(schema)).unwrap();
        }
    }
    let mut committed = BTreeSet::new();
    for part in ["commands", "formats"] {
        for entry in fs::read_dir(folder().join(part)).unwrap() {
            committed.insert(format!(
                "{part}/{}",
                entry.unwrap().file_name().to_str().unwrap()
            ));
        }
    }
    assert_eq!(committed, generated.keys().cloned().collect());
    for (name, schema) in &generated {
        let kept = fs::read_to_string(folder().join(name)).unwrap();
        assert!(
            kept == text(schema),
            "docs/schemas/{name} differs: run `cargo xtask schemas`"
        );
    }
}

#[test]
fn every_command_has_a_schema_and_every_schema_a_line_in_the_docs() {
    let schemas = generated();
    for command in commands(&Scratch::new()) {
        assert!(
            schemas.contains_key(&format!("commands/{command}.json")),
            "{command}"
        );
    }
    let docs = fs::read_to_string(folder().join("../files.md")).unwrap();
    for name in schemas.keys().filter(|name| name.starts_with("formats/")) {
        assert!(
            docs.contains(&format!("(schemas/{name})")),
            "docs/files.md does not name {name}"
        );
    }
}

#[test]
fn records_of_networks_fit_their_schema() {
    let schema = jsonschema::validator_for(&generated()["formats/fleet-line.json"]).unwrap();
    for name in [
        "containment",
        "correlated-parity",
        "cures",
        "escape",
        "relabelling",
        "screen-options",
    ] {
        let path = folder().join(format!("../../results/{name}.jsonl"));
        for line in fs::read_to_string(path).unwrap().lines() {
            assert!(
                schema.is_valid(&serde_json::from_str(line).unwrap()),
                "{name}: {line}"
            );
        }
    }
    assert!(!schema.is_valid(&json!({"kind": "network", "seed": 0})));
}

#[test]
fn a_key_that_is_missing_or_unknown_does_not_fit_the_schema() {
    let scratch = Scratch::new();
    let printed = scratch.json(&words("density --task parity --lengths 3"));
    let schemas = generated();
    let fits = |name: &str, value: &Value| jsonschema::is_valid(&schemas[name], value);
    let density = "commands/density.json";
    assert!(fits(density, &printed));
    for key in ["version", "seed", "settings", "density_of_states", "codes"] {
        let mut less = printed.clone();
        less.as_object_mut().unwrap().remove(key).unwrap();
        assert!(!fits(density, &less), "{key}");
    }
    let code = json!({"format": "foldglass-code/1", "class": printed["class"], "actions": [0, 1]});
    assert!(fits("formats/code.json", &code));
    for (key, value) in [("format", json!("foldglass-code/9")), ("cells", json!(2))] {
        let mut other = code.clone();
        other[key] = value;
        assert!(!fits("formats/code.json", &other), "{key}");
        let file = scratch.file("other.json", &other.to_string());
        assert_eq!(
            scratch.run(&["eval", "--code", file]).code,
            Some(2),
            "{key}"
        );
    }
}
