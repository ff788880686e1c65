//! Reads the network to which networks in training are held.

use std::path::Path;

use foldglass_nn::origin::Origin;
use foldglass_nn::settings::{FleetSettings, Prior, PriorNetwork};
use foldglass_nn::weights::Weights;

use crate::error::StudyError;
use crate::files::read_listed;
use crate::hash::digest;

/// The word for each network's own first weights.
const INITIAL: &str = "initial";

/// Puts a prior into settings: `kl` times the divergence from `which`, `initial` or a file found from `base`, whose
/// weights are returned. A divergence of weight 0 is none.
pub fn set_prior(
    settings: &mut FleetSettings,
    kl: f64,
    which: Option<&str>,
    base: &Path,
) -> Result<Option<Weights>, StudyError> {
    settings.prior = (kl > 0.0).then(|| Prior::initial(kl));
    let given = which.filter(|&which| which != INITIAL);
    let (Some(prior), Some(file)) = (&mut settings.prior, given) else {
        return Ok(None);
    };
    let path = base.join(file);
    let bytes = read_listed(&path).map_err(|source| StudyError::read(&path, source))?;
    let not = |problem: String| StudyError::Content {
        path: path.display().to_string(),
        expected: "a safetensors file of a network like those in training",
        problem,
    };
    prior.network = PriorNetwork::Given(digest(&bytes));
    let origin = Origin::read(&bytes).map_err(|error| not(error.to_string()))?;
    let weights = Weights::from_safetensors(settings.shape, &bytes);
    let weights = weights.map_err(|error| not(error.to_string()))?;
    if let Some(other) = origin.filter(|origin| !is_alike(&origin.settings, settings)) {
        let word = |value: serde_json::Result<serde_json::Value>| {
            let value = value.expect("a word");
            value.as_str().unwrap_or_default().to_owned()
        };
        let told = |of: &FleetSettings| {
            let layout = word(serde_json::to_value(of.layout));
            let norm = word(serde_json::to_value(of.shape.norm));
            let (heads, cap) = (of.shape.heads, of.cap);
            format!("{heads} heads, norm {norm}, layout {layout}, longest length {cap}")
        };
        let (own, needed) = (told(&other.settings), told(settings));
        return Err(not(format!("it has {own}, and what is needed is {needed}")));
    }
    Ok(Some(weights))
}

/// Whether the same weights are the same network under both settings: at all lengths that the second has.
fn is_alike(one: &FleetSettings, other: &FleetSettings) -> bool {
    let positions = |of: &FleetSettings, length| of.layout.geometry(length, of.cap);
    one.shape == other.shape
        && one.layout == other.layout
        && (1..=other.cap).all(|length| positions(one, length) == positions(other, length))
}
