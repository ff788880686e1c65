//! Draws a quantity of records against a parameter, with intervals, by class and method.

mod picture;

use foldglass_study::{Gathered, PointSummary, Record, Registry, quantities, summarize};
use serde_json::Value;

use crate::error::Error;
use crate::nearest::nearest;
pub use picture::Curve;
use picture::PlotPicture;

/// A quantity of records, drawn against a parameter.
pub struct QuantityPlot {
    /// As SVG.
    pub svg: String,
    /// Its width and height.
    pub size: [f64; 2],
    /// The result that is drawn; `reward` where the methods are judged by several.
    pub quantity: String,
    /// The parameter along the axis.
    pub against: String,
    /// What is drawn.
    pub curves: Vec<Curve>,
    /// By curve and point: where it is in the drawing; none where the axis has no place for it.
    pub places: Vec<Vec<Option<[f64; 2]>>>,
}

/// Draws records: of all classes, or of some.
pub fn draw(
    found: &Gathered,
    of: Option<&str>,
    against: Option<&str>,
    classes: &[String],
) -> Result<QuantityPlot, Error> {
    let points = summarize(&found.records, &Registry::default(), of);
    if points.is_empty() {
        return Err(unknown_result(&found.records, of));
    }
    let points = of_classes(points, classes)?;
    let against = parameter(&points, against)?;
    let curves = curves(&points, &against);
    let quantity = common_quantity(&points);
    let name = &found.manifest.study.name;
    let picture = PlotPicture::new(name, &quantity, &against, &curves).map_err(Error::Usage)?;
    let (svg, places) = (picture.draw(), picture.places());
    Ok(QuantityPlot {
        svg,
        size: picture.size(),
        places,
        quantity,
        against,
        curves,
    })
}

/// The quantity of all points. Where methods are judged by several it is `reward`, or `result` if one of
/// them is not a reward.
fn common_quantity(points: &[PointSummary]) -> String {
    let first = &points[0].quantity;
    if points.iter().all(|point| point.quantity == *first) {
        return first.clone();
    }
    let rewards = points.iter().all(PointSummary::is_bounded);
    if rewards { "reward" } else { "result" }.to_owned()
}

fn of_classes(points: Vec<PointSummary>, classes: &[String]) -> Result<Vec<PointSummary>, Error> {
    let mut known: Vec<&str> = points.iter().map(|point| &point.class[..]).collect();
    known.dedup();
    for class in classes {
        if !known.contains(&&class[..]) {
            return Err(unknown("--class", class, &known));
        }
    }
    let own = |point: &PointSummary| classes.is_empty() || classes.contains(&point.class);
    Ok(points.into_iter().filter(own).collect())
}

/// The parameter along the axis.
fn parameter(points: &[PointSummary], against: Option<&str>) -> Result<String, Error> {
    let values = numbers(points);
    let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    match against {
        Some(name) if names.contains(&name) => Ok(name.to_owned()),
        Some(name) => Err(unknown("--against", name, &names)),
        // The first of those with equally many.
        None => (values.iter().rev())
            .max_by_key(|(_, list)| list.len())
            .map(|(name, _)| (*name).to_owned())
            .ok_or_else(|| {
                Error::Usage(
                    "the points of this study differ in no number: there is nothing to draw \
                              against; `summary` has their table"
                        .to_owned(),
                )
            }),
    }
}
/// The parameters that are numbers, with their values.
pub fn numbers(points: &[PointSummary]) -> Vec<(&str, Vec<f64>)> {
    let mut values: Vec<(&str, Vec<f64>)> = Vec::new();
    for point in points {
        for (name, value) in point.parameters.iter() {
            let Some(number) = value.as_f64() else {
                continue;
            };
            match values.iter_mut().find(|(known, _)| known == name) {
                Some((_, list)) if list.contains(&number) => {}
                Some((_, list)) => list.push(number),
                None => values.push((name, vec![number])),
            }
        }
    }
    values
}

fn unknown(flag: &str, name: &str, known: &[&str]) -> Error {
    let meant = nearest(name, known.iter().copied());
    let meant = meant.map_or(String::new(), |near| format!("is {near} meant? "));
    Error::Usage(format!(
        "{flag} {name}: {meant}there are {}",
        known.join(", ")
    ))
}

/// The points by class, method and the other parameters, in their order.
fn curves(points: &[PointSummary], against: &str) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    let several = points.iter().any(|point| point.method != points[0].method);
    let mixed = points
        .iter()
        .any(|point| point.quantity != points[0].quantity);
    for point in points {
        let Some(x) = point.parameters.get(against).and_then(Value::as_f64) else {
            continue;
        };
        let mut name = point.class.clone();
        if several {
            name += &format!(", {}", point.method);
        }
        if mixed {
            name += &format!(", {}", point.quantity.replace('_', " "));
        }
        for (key, value) in point.parameters.iter().filter(|(key, _)| *key != against) {
            name += &format!(", {key} = {}", foldglass_study::method::shown(value));
        }
        let place = (x, point.clone());
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(place),
            None => curves.push(Curve {
                name,
                points: vec![place],
            }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    curves
}

/// Refuses a result that no run has, or records of which there are none.
pub fn unknown_result(records: &[Record], of: Option<&str>) -> Error {
    if records.is_empty() {
        return Error::Usage("no run is done yet".to_owned());
    }
    let mut names = quantities(records, &Registry::default());
    names.sort_unstable();
    let asked = of.unwrap_or("-");
    let meant = nearest(asked, names.iter().map(String::as_str));
    let meant = meant.map_or(String::new(), |near| format!(" (is {near} meant?)"));
    Error::Usage(format!(
        "--of {asked}: the runs have no such number{meant}: {}",
        names.join(", ")
    ))
}
