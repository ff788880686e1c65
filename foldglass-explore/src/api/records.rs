//! Shows the records of the directory that the program was given: points, runs, their codes, and the
//! curves of a fleet while it trains (paper, section 5 and G.5).

use std::collections::BTreeMap;

use foldglass::{Code, Symbol};
use foldglass_report::error::Error;
use foldglass_report::figure::LOOKS;
use foldglass_report::plot;
use foldglass_study::{
    Fields, Folder, Gathered, Record, Registry, gather_folders, quantities, read_lines, summarize,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Ask, command};
use crate::classes::{HandedClass, check_cells, is_file};
use crate::explorer::{Directory, DirectoryKind};
use crate::refusal::Refusal;

/// The most points, runs of a point and points of a fleet's curve that are told of.
const POINTS: usize = 2000;
const RUNS: usize = 1000;
const CURVE: usize = 2000;

/// The most bytes of records that are read.
const BYTES: u64 = 512 << 20;

impl Ask<'_> {
    /// The directory of a study: the one that was given, or a study of the reproduction that was.
    fn study(&self, named: Option<&str>) -> Result<Folder, Refusal> {
        let none = || {
            Refusal::unable("explore was not started with the directory of a study")
                .help("foldglass explore DIR")
        };
        let directory = self.explorer.directory.as_ref().ok_or_else(none)?;
        match (directory.kind, named) {
            (DirectoryKind::Study, None) => Ok(directory.folder.clone()),
            (DirectoryKind::Reproduction, Some(name)) => {
                let studies = directory.studies();
                // A name that is listed leads nowhere else.
                if studies.iter().any(|study| study == name) {
                    return Ok(directory.folder.folder(name));
                }
                Err(Refusal::unable(format!(
                    "the reproduction has no study `{name}`: it has {}",
                    studies.join(", ")
                )))
            }
            _ => Err(none()),
        }
    }

    fn gathered(&self, study: Option<&str>) -> Result<(Folder, Gathered), Refusal> {
        let folder = self.study(study)?;
        check_bytes(&folder)?;
        let found = gather_folders(std::slice::from_ref(&folder)).map_err(Error::from)?;
        Ok((folder, found))
    }
}

fn check_bytes(directory: &Folder) -> Result<(), Refusal> {
    if directory.bytes() <= BYTES {
        return Ok(());
    }
    Err(
        Refusal::unable(format!("the directory holds more than {BYTES} bytes"))
            .help("foldglass summary and foldglass plot read it"),
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListAsked {
    /// A study of a reproduction.
    study: Option<String>,
}

/// A directory as a command names it.
fn shown(directory: &Folder) -> String {
    directory.path().display().to_string()
}

/// What the directory holds.
pub fn list(ask: &Ask<'_>, asked: &ListAsked) -> Result<Value, Refusal> {
    let study_asked = asked.study.as_deref();
    match &ask.explorer.directory {
        None => Ok(json!({ "kind": null })),
        Some(directory) if directory.kind == DirectoryKind::Fleet => fleet(directory),
        Some(directory)
            if directory.kind == DirectoryKind::Reproduction && study_asked.is_none() =>
        {
            Ok(reproduction(directory))
        }
        Some(_) => study(ask, study_asked),
    }
}

/// The studies of a reproduction, each of which can be asked for.
fn reproduction(directory: &Directory) -> Value {
    let shown = shown(&directory.folder);
    json!({
        "kind": "reproduction",
        "name": directory.folder.name(),
        "studies": directory.studies(),
        "command": command::line(["reproduce", "--from", &shown]),
    })
}

fn study(ask: &Ask<'_>, named: Option<&str>) -> Result<Value, Refusal> {
    let (directory, found) = ask.gathered(named)?;
    let registry = Registry::default();
    let points = summarize(&found.records, &registry, None);
    let parameters: Vec<Value> = plot::numbers(&points)
        .into_iter()
        .map(|(name, values)| json!({ "name": name, "values": values }))
        .collect();
    let quantities = quantities(&found.records, &registry);
    let mut classes: Vec<&str> = points.iter().map(|point| &point.class[..]).collect();
    classes.dedup();
    let shown = shown(&directory);
    Ok(json!({
        "kind": "study",
        "name": found.manifest.study.name,
        "done": found.records.len(),
        "missing": found.missing.to_string(),
        "damaged": found.damaged,
        "classes": classes,
        "parameters": parameters,
        "quantities": quantities,
        "mixed": points.iter().any(|point| point.quantity != points[0].quantity),
        "points": points.iter().take(POINTS).collect::<Vec<_>>(),
        "command": command::line(["summary", &shown]),
    }))
}

/// The curves of a fleet, as far as they have come.
fn fleet(directory: &Directory) -> Result<Value, Refusal> {
    let folder = &directory.folder;
    check_bytes(folder)?;
    let mut curves: BTreeMap<u64, Curve> = BTreeMap::new();
    const CURVES: &str = "curves.jsonl";
    let damaged = if folder.has(CURVES) {
        read_lines(folder, CURVES, |_, line: Map<String, Value>| {
            let model = line.get("model").and_then(Value::as_u64).unwrap_or(0);
            curves.entry(model).or_default().push(line);
            Ok(())
        })
        .map_err(Error::from)?
    } else {
        0
    };
    let curves: Vec<Value> = curves
        .into_iter()
        .map(|(model, curve)| curve.told(model))
        .collect();
    Ok(json!({
        "kind": "fleet",
        "name": folder.name(),
        "finished": folder.has("models.json"),
        "damaged": damaged,
        "quantities": QUANTITIES,
        "curves": curves,
        "command": format!("cat {}", command::quoted(&folder.file(CURVES).display().to_string())),
    }))
}

/// What a point of a curve holds beside its step.
const QUANTITIES: [&str; 6] = [
    "gate",
    "length",
    "sampled",
    "entropy",
    "loss",
    "gradient_norm",
];

/// A model and its points; of many, every so manieth.
#[derive(Default)]
struct Curve {
    model: Map<String, Value>,
    points: Vec<Vec<Value>>,
}

impl Curve {
    fn push(&mut self, line: Map<String, Value>) {
        let part = |key: &str| line.get(key).cloned().unwrap_or(Value::Null);
        let point = std::iter::once("step").chain(QUANTITIES).map(part);
        self.points.push(point.collect());
        if self.model.is_empty() {
            for key in ["task", "c", "learning_rate", "seed"] {
                self.model.insert(key.to_owned(), part(key));
            }
        }
    }

    fn told(self, model: u64) -> Value {
        let every = self.points.len().div_ceil(CURVE).max(1);
        let last = self.points.len().saturating_sub(1);
        let kept = self.points.into_iter().enumerate();
        let kept = kept
            .filter(|(n, _)| n % every == 0 || *n == last)
            .map(|(_, point)| point);
        let mut told = self.model;
        told.insert("model".to_owned(), model.into());
        told.insert("points".to_owned(), kept.collect::<Vec<_>>().into());
        Value::Object(told)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlotAsked {
    quantity: Option<String>,
    against: Option<String>,
    /// Only these classes.
    #[serde(default)]
    classes: Vec<String>,
    /// A study of a reproduction.
    study: Option<String>,
}

/// Draws a quantity against a parameter.
pub fn plot(ask: &Ask<'_>, asked: &PlotAsked) -> Result<Value, Refusal> {
    let (directory, found) = ask.gathered(asked.study.as_deref())?;
    let (of, against) = (asked.quantity.as_deref(), asked.against.as_deref());
    let drawn = plot::draw(&found, of, against, &asked.classes)?;
    let mut points = Vec::new();
    for (curve, places) in drawn.curves.iter().zip(&drawn.places) {
        for ((x, summary), at) in curve.points.iter().zip(places) {
            points.push(json!({
                "curve": curve.name,
                "quantity": summary.quantity,
                "x": x,
                "y": summary.mean,
                "low": summary.low,
                "high": summary.high,
                "n": summary.runs,
                "at_one": summary.at_one,
                "at": at,
                "point": {
                    "class": summary.class,
                    "method": summary.method,
                    "parameters": summary.parameters,
                },
            }));
        }
    }
    let shown = shown(&directory);
    let mut words = vec!["plot", &shown, "--against", &drawn.against];
    // Curves of several quantities are drawn where none is asked for.
    if let Some(of) = of {
        words.extend(["--of", of]);
    }
    asked
        .classes
        .iter()
        .for_each(|class| words.extend(["--class", class]));
    let [width, height] = drawn.size;
    let curves = drawn.curves.iter().zip(LOOKS);
    let curves = curves.map(|(curve, look)| json!({ "name": curve.name, "colour": look.colour }));
    Ok(json!({
        "command": command::line(words),
        "svg": drawn.svg,
        "width": width,
        "height": height,
        "quantity": drawn.quantity,
        "against": drawn.against,
        "curves": curves.collect::<Vec<_>>(),
        "points": points,
    }))
}

/// A point, as a plot tells of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointAsked {
    class: String,
    method: String,
    parameters: Fields,
    /// A study of a reproduction.
    study: Option<String>,
}

/// The runs of a point.
pub fn point(ask: &Ask<'_>, asked: &PointAsked) -> Result<Value, Refusal> {
    let (_, found) = ask.gathered(asked.study.as_deref())?;
    let own = |record: &&Record| {
        record.class_id == asked.class
            && record.dynamics == asked.method
            && record.parameters == asked.parameters
    };
    let runs: Vec<&Record> = found.records.iter().filter(own).collect();
    if runs.is_empty() {
        return Err(Refusal::unable("the study has no run at such a point"));
    }
    let row = |record: &&Record| {
        let short = |(_, value): &(&String, &Value)| !value.is_array() && !value.is_object();
        let values: Map<String, Value> = (record.result.iter())
            .filter(short)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        json!({
            "id": record.id,
            "run": record.run,
            "values": values,
            "has_code": record.actions().is_some(),
        })
    };
    Ok(json!({
        "count": runs.len(),
        "runs": runs.iter().take(RUNS).map(row).collect::<Vec<_>>(),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunAsked {
    id: String,
    /// A study of a reproduction.
    study: Option<String>,
}

/// One run: its class, its results and the code it kept.
pub fn run(ask: &Ask<'_>, asked: &RunAsked) -> Result<Value, Refusal> {
    let (_, found) = ask.gathered(asked.study.as_deref())?;
    let record = found.records.iter().find(|record| record.id == asked.id);
    let record =
        record.ok_or_else(|| Refusal::unable(format!("the study has no run `{}`", asked.id)))?;
    let class = record
        .class
        .lay_out_within(ask.explorer.allowance)
        .map_err(Error::from)?;
    check_cells(&class)?;
    let code = record.actions().map(|actions| {
        Code::new(&class, &actions).map_err(|error| Refusal::unable(error.to_string()))
    });
    let code = code.transpose()?;
    let (known, file) = ask.explorer.classes.give_as(class, &record.class_id);
    let handed = is_file(&known.words).then(|| HandedClass {
        file,
        class: record.class.clone(),
    });
    let actions: Option<&[Symbol]> = code.as_ref().map(Code::actions);
    Ok(json!({
        "id": record.id,
        "class": known.flags,
        // For workers that do not have the records.
        "handed": handed,
        "code": actions,
        "kind": record.kind,
        "parameters": record.parameters,
        "settings": record.settings,
        // Seeds of points have 64 bits, more than numbers of JavaScript hold.
        "seed": record.seed.to_string(),
        "run": record.run,
        "command": code.as_ref().map(|_| command::line(["eval", "--code", command::CODE])),
        "code_file": code.as_ref().map(command::code_file),
        "help": code.is_none().then_some("the study keeps no codes: keep_code = true in its dynamics does"),
    }))
}
