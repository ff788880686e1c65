//! Reads the code or the policy that a command is about.

use std::path::PathBuf;

use clap::Args;
use foldglass::class::Class;
use foldglass::policy::{Code, Policy};

use crate::error::Error;
use crate::files;

/// The flags that name one.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct TableArgs {
    /// A code: {"actions":[..]}, in the order of `cells`; - reads stdin
    #[arg(long, value_name = "FILE")]
    code: Option<PathBuf>,
    /// A policy: {"rows":[[..]]}, in the order of `cells`; - reads stdin
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

/// What they name.
pub enum CodeOrPolicy {
    /// A deterministic policy.
    Code(Code),
    /// Any other.
    Policy(Policy),
}

impl TableArgs {
    /// Reads it.
    pub fn read(&self, class: &Class) -> Result<CodeOrPolicy, Error> {
        match (&self.code, &self.policy) {
            (Some(path), _) => Ok(CodeOrPolicy::Code(files::code(path, class)?)),
            (None, Some(path)) => Ok(CodeOrPolicy::Policy(files::policy(path, class)?)),
            (None, None) => unreachable!("clap requires one of the two"),
        }
    }
}
