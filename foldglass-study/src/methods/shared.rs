//! Holds the settings that several methods share, and reads them: temperatures, policies, codes.

use foldglass::dynamics::cavi::PriorError;
use foldglass::reward::objectives::Utility;
use foldglass::{Class, Code, Policy};
use serde::Deserialize;

use crate::error::StudyError;
use crate::hash::digest;
use crate::method::{Accepts, MethodSettings, Setting, SettingError, number_name};
use crate::tables::{Source, Tables};

/// The law of the first policies.
pub const INIT: Setting = Setting::new(
    "init",
    Accepts::Words,
    "The distribution of each cell's first row: u_norm (u_a / sum u, u uniform on (0,1)), dirichlet:A \
     or logit_normal:S (softmax of normals of sd S)",
)
.value("LAW")
.default("u_norm");

/// The first policy.
pub const START: Setting = Setting::new(
    "start",
    Accepts::Words,
    "Start every run from this policy: a policy file, FILE#N for one of several, - for stdin",
)
.value("FILE");

/// What divergences are from.
pub const PRIOR: Setting = Setting::new(
    "prior",
    Accepts::Words,
    "Divergences KL(pi || prior) from this policy count in place of entropies: a policy file, FILE#N for \
     one of several",
)
.value("FILE");

/// Whether greedy codes are kept.
pub const KEEP_CODE: Setting = Setting::new(
    "keep_code",
    Accepts::Switch,
    "Keep the greedy codes, with the number of cells whose action was drawn among equals",
);

/// Whether policies are kept.
pub const KEEP_POLICY: Setting = Setting::new(
    "keep_policy",
    Accepts::Switch,
    "Keep the policies at the end",
);

/// The setting `objective`, for rewards of the last token alone.
pub fn utility(
    class: &Class,
    settings: &MethodSettings<'_>,
) -> Result<Option<Utility>, SettingError> {
    let utility = settings.get::<Utility>("objective")?;
    let reward = class.task().reward();
    match utility {
        Some(utility) if !reward.is_final() => {
            let problem = format!(
                "objective = {utility}: it is about the last token of each input, and the reward is {reward}"
            );
            Err(SettingError::of("objective", problem))
        }
        utility => Ok(utility),
    }
}

/// The prior, which forbids no action.
pub fn prior(class: &Class, settings: &MethodSettings<'_>) -> Result<Option<Policy>, SettingError> {
    let prior = policy(class, settings, "prior")?;
    let met = prior.as_ref().map_or(Ok(()), PriorError::check);
    met.map_err(|error| SettingError::of("prior", error.to_string()))?;
    Ok(prior)
}

/// A policy of a key: a table in place, or a file.
pub fn policy(
    class: &Class,
    settings: &MethodSettings<'_>,
    key: &'static str,
) -> Result<Option<Policy>, SettingError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum GivenPolicy {
        File(String),
        Rows { rows: Vec<Vec<f64>> },
    }
    let refuse = |problem: String| SettingError::of(key, format!("{key}: {problem}"));
    let policy = match settings.get(key)? {
        None => return Ok(None),
        Some(GivenPolicy::Rows { rows }) => {
            Policy::from_rows(class, &rows).map_err(|error| refuse(error.to_string()))?
        }
        Some(GivenPolicy::File(name)) => {
            let source = source(settings, &name);
            policy_of(&source, class).map_err(|error| refuse(error.to_string()))?
        }
    };
    Ok(Some(policy))
}

/// The one policy of a file, of this class.
fn policy_of(source: &Source, class: &Class) -> Result<Policy, StudyError> {
    let tables = Tables::policies(source)?;
    tables.check_single()?;
    tables.check_class(class)?;
    Ok(tables.as_policies(class)?.swap_remove(0))
}

/// Refuses what is not a temperature.
pub fn check_temperature(
    settings: &MethodSettings<'_>,
    key: &str,
    tau: f64,
) -> Result<(), SettingError> {
    let met = Accepts::Temperature.met_by(&tau.into());
    settings.check(met, key, number_name(tau), Accepts::Temperature.needed())
}

/// The code of the key `start`: actions in place, or a file.
pub fn start_code(
    class: &Class,
    settings: &MethodSettings<'_>,
) -> Result<Option<Code>, SettingError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum GivenCode {
        File(String),
        Actions { actions: Vec<i64> },
    }
    let refuse = |problem: String| SettingError::of("start", format!("start: {problem}"));
    let code = match settings.get("start")? {
        None => return Ok(None),
        Some(GivenCode::Actions { actions }) => {
            Code::new(class, &actions).map_err(|error| refuse(error.to_string()))?
        }
        Some(GivenCode::File(name)) => {
            let source = source(settings, &name);
            code_of(&source, class).map_err(|error| refuse(error.to_string()))?
        }
    };
    Ok(Some(code))
}

/// The one code of a file, of this class.
fn code_of(source: &Source, class: &Class) -> Result<Code, StudyError> {
    let tables = Tables::codes(source)?;
    tables.check_single()?;
    tables.check_class(class)?;
    Ok(tables.as_codes(class)?.swap_remove(0))
}

/// The file that a setting names, beside the study file where its path is relative.
pub fn source(settings: &MethodSettings<'_>, name: &str) -> Source {
    let mut source = Source::from(name);
    source.path = settings.base().join(source.path);
    source
}

/// What records contain in place of a policy.
pub fn policy_digest(policy: &Policy) -> String {
    let rows = policy.rows().iter();
    let bytes: Vec<u8> = rows.flat_map(|p| p.to_le_bytes()).collect();
    digest(&bytes)
}

/// What records contain in place of codes.
pub fn code_digest(codes: &[Code]) -> String {
    let actions = codes.iter().flat_map(|code| code.actions());
    let bytes: Vec<u8> = actions.flat_map(|action| action.to_le_bytes()).collect();
    digest(&bytes)
}
