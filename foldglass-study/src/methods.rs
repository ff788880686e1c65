//! Implements the methods that studies know from the start.

pub mod cavi;
pub mod chain;
mod pure_state;
pub mod reinforce;
mod shared;
#[cfg(feature = "networks")]
pub mod train;

pub use cavi::Cavi;
pub use chain::Chain;
pub use pure_state::PureStates;
pub use reinforce::Reinforce;
#[cfg(feature = "networks")]
pub use train::Train;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::method::Registry;

impl Default for Registry {
    /// Tabular RLVR, exact and sampled, Monte Carlo, pure states, and, with the feature `networks`, transformers.
    fn default() -> Registry {
        let mut registry = Registry::empty();
        registry.register(Cavi::damped());
        registry.register(Cavi::gradient());
        registry.register(Chain);
        registry.register(PureStates);
        registry.register(Reinforce);
        #[cfg(feature = "networks")]
        registry.register(Train);
        registry
    }
}

/// A setting in the words of the command line, or as a table.
pub(crate) struct Worded<T>(pub T);

impl<'de, T> Deserialize<'de> for Worded<T>
where
    T: DeserializeOwned + std::str::FromStr<Err: std::fmt::Display>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Worded<T>, D::Error> {
        let read = match Value::deserialize(deserializer)? {
            Value::String(text) => text.parse().map_err(|error: T::Err| error.to_string()),
            other => serde_json::from_value(other).map_err(|error| crate::files::plain(&error)),
        };
        read.map(Worded).map_err(serde::de::Error::custom)
    }
}
