//! Says why a fleet cannot be made, trained or taken up.

use thiserror::Error;

use crate::backend::BackendError;
use crate::settings::SettingsError;

/// A fleet that cannot be made, trained or taken up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The back end.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A checkpoint cannot be read or written.
    #[error("checkpoint: {0}")]
    Checkpoint(String),
}
