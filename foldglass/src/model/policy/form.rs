//! Holds codes and policies in files that stand alone: format, class, table in the order of the cells.

use super::{Code, Policy, TableError};
use crate::model::class::{ClassSpec, SpecError};
use crate::model::operation::Symbol;
use crate::support::memory::Allowance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What the `format` of a code file says.
pub const CODE_FORMAT: &str = "foldglass-code/1";

/// What the `format` of a policy file says.
pub const POLICY_FORMAT: &str = "foldglass-policy/1";

/// The content of a code file.
///
/// ```
/// use foldglass::model::policy::CodeForm;
/// use foldglass::{Allowance, ClassSpec, Code, Operation, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[2], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let code = Code::from_fn(&class, |cell| (cell % 2) as u16);
/// let text = serde_json::to_string(&CodeForm::from(&code)).unwrap();
/// let read: CodeForm = serde_json::from_str(&text).unwrap();
/// assert_eq!(read.code(Allowance::default()).unwrap(), code);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeForm {
    #[schemars(extend("const" = CODE_FORMAT))]
    format: String,
    class: ClassSpec,
    actions: Vec<Symbol>,
}

/// The content of a policy file.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyForm {
    #[schemars(extend("const" = POLICY_FORMAT))]
    format: String,
    class: ClassSpec,
    rows: Vec<Vec<f64>>,
}

/// Why a form is neither a code nor a policy.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FormError {
    /// Another format.
    #[error("its format is `{got}`, not `{want}`")]
    Format {
        /// What it says.
        got: String,
        /// What is accepted.
        want: &'static str,
    },
    /// No class.
    #[error("its class: {0}")]
    Class(#[from] SpecError),
    /// No table of the class.
    #[error(transparent)]
    Table(#[from] TableError),
}

fn check_format(got: &str, want: &'static str) -> Result<(), FormError> {
    if got == want {
        return Ok(());
    }
    Err(FormError::Format {
        got: got.to_owned(),
        want,
    })
}

impl From<&Code> for CodeForm {
    fn from(code: &Code) -> CodeForm {
        CodeForm {
            format: CODE_FORMAT.to_owned(),
            class: code.class().spec(),
            actions: code.actions().to_vec(),
        }
    }
}

impl CodeForm {
    /// The code it holds.
    pub fn code(&self, memory: Allowance) -> Result<Code, FormError> {
        check_format(&self.format, CODE_FORMAT)?;
        let class = self.class.lay_out_within(memory)?;
        Ok(Code::new(&class, &self.actions)?)
    }
}

impl From<&Policy> for PolicyForm {
    fn from(policy: &Policy) -> PolicyForm {
        let class = policy.class();
        PolicyForm {
            format: POLICY_FORMAT.to_owned(),
            class: class.spec(),
            rows: policy
                .rows()
                .chunks(class.q())
                .map(<[f64]>::to_vec)
                .collect(),
        }
    }
}

impl PolicyForm {
    /// The policy it holds.
    pub fn policy(&self, memory: Allowance) -> Result<Policy, FormError> {
        check_format(&self.format, POLICY_FORMAT)?;
        let class = self.class.lay_out_within(memory)?;
        Ok(Policy::from_rows(&class, &self.rows)?)
    }
}
