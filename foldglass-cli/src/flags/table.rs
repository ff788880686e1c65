//! Reads the code or the policy that a command is about.

use clap::Args;
use foldglass::{Class, Code, Policy};
use foldglass_study::tables::{Source, Tables};

use super::ClassArgs;
use crate::error::Error;

/// The flags that name one.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct TableArgs {
    /// A code file, or any file that holds codes: FILE, FILE#N for one of several, - for stdin; a
    /// bare {"actions":[..]}, in the order of `cells`, needs the class flags
    #[arg(short, long, value_name = "FILE")]
    code: Option<Source>,
    /// A policy file, likewise; a bare {"rows":[[..]]} needs the class flags
    #[arg(short, long, value_name = "FILE")]
    policy: Option<Source>,
}

/// What they name.
pub enum CodeOrPolicy {
    /// A deterministic policy.
    Code(Code),
    /// Any other.
    Policy(Policy),
}

impl TableArgs {
    /// Reads it, and its class.
    pub fn read(&self, class: &ClassArgs) -> Result<(Class, CodeOrPolicy), Error> {
        match (&self.code, &self.policy) {
            (Some(source), _) => {
                let (class, code) = one_code(source, class)?;
                Ok((class, CodeOrPolicy::Code(code)))
            }
            (None, Some(source)) => {
                let (class, policy) = one_policy(source, class)?;
                Ok((class, CodeOrPolicy::Policy(policy)))
            }
            (None, None) => unreachable!("clap requires one of the two"),
        }
    }
}

/// The one code of a file, and its class.
pub fn one_code(source: &Source, class: &ClassArgs) -> Result<(Class, Code), Error> {
    let tables = Tables::codes(source)?;
    tables.check_single()?;
    let class = class.class_of(&tables)?;
    let code = tables.as_codes(&class)?.swap_remove(0);
    Ok((class, code))
}

/// The one policy of a file, and its class.
pub fn one_policy(source: &Source, class: &ClassArgs) -> Result<(Class, Policy), Error> {
    let tables = Tables::policies(source)?;
    tables.check_single()?;
    let class = class.class_of(&tables)?;
    let policy = tables.as_policies(&class)?.swap_remove(0);
    Ok((class, policy))
}
