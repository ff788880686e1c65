//! Saves the states of models and puts them back: what fleets, pupils and trails share.

use crate::backend::{Backend, BackendError, ModelState};
use crate::error::FleetError;
use serde::de::DeserializeOwned;

/// The states of all models of a back end.
pub(crate) fn states(backend: &mut dyn Backend) -> Result<Vec<ModelState>, BackendError> {
    let models = 0..backend.models();
    models.map(|model| backend.state(model)).collect()
}

/// Puts all models of a back end into states that were saved.
pub(crate) fn restore(backend: &mut dyn Backend, saved: &[ModelState]) -> Result<(), FleetError> {
    if saved.len() != backend.models() {
        return Err(other_networks());
    }
    for (model, state) in saved.iter().enumerate() {
        let parameters = backend.state(model)?.weights.len();
        let lists = [&state.weights, &state.mean, &state.square];
        let gathered = state.gathered.len();
        let fits = lists.iter().all(|list| list.len() == parameters)
            && (gathered == 0 || gathered == parameters);
        if !fits {
            return Err(other_networks());
        }
        backend.restore(model, state)?;
    }
    Ok(())
}

/// Reads a checkpoint.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FleetError> {
    postcard::from_bytes(bytes).map_err(|e| FleetError::Checkpoint(e.to_string()))
}

/// A checkpoint of something else.
pub(crate) fn other_networks() -> FleetError {
    FleetError::Checkpoint("it is of other networks".to_owned())
}
