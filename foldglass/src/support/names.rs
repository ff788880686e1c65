//! Finds values by the names that users type, and names by values.

use thiserror::Error;

/// An unknown name, with the accepted ones.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{given}` is not accepted: {}", .accepted.join(", "))]
pub struct UnknownName {
    /// The name that was given.
    pub given: String,
    /// The names that are accepted.
    pub accepted: Vec<&'static str>,
}

/// The value of a name, or what is accepted.
///
/// ```
/// let names = [("one", 1), ("two", 2)];
/// assert_eq!(foldglass::support::names::find(&names, "two"), Ok(2));
/// let error = foldglass::support::names::find(&names, "tow").unwrap_err();
/// assert_eq!(error.to_string(), "`tow` is not accepted: one, two");
/// ```
pub fn find<T: Copy>(names: &[(&'static str, T)], text: &str) -> Result<T, UnknownName> {
    let found = names.iter().find(|(name, _)| *name == text);
    found.map(|&(_, value)| value).ok_or_else(|| UnknownName {
        given: text.to_owned(),
        accepted: names.iter().map(|&(name, _)| name).collect(),
    })
}

/// Names the values of an enum without fields: `NAMES`, `name`, `Display` and `FromStr`.
///
/// ```
/// #[derive(Debug, Clone, Copy, PartialEq)]
/// pub enum Side {
///     Left,
///     Right,
/// }
/// foldglass::named_enum!(Side { "left" => Left, "right" => Right });
/// assert_eq!("right".parse(), Ok(Side::Right));
/// assert_eq!(Side::Left.to_string(), "left");
/// ```
#[macro_export]
macro_rules! named_enum {
    ($type:ident { $($name:literal => $variant:ident),+ $(,)? }) => {
        impl $type {
            /// All values, with the names that users type and files have.
            pub const NAMES: [(&'static str, $type); [$($name),+].len()] =
                [$(($name, $type::$variant)),+];

            /// The name of the value.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::support::names::UnknownName;

            fn from_str(text: &str) -> Result<$type, Self::Err> {
                $crate::support::names::find(&$type::NAMES, text)
            }
        }
    };
}
