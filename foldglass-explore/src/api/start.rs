//! Gives codes to begin with: random, folding, constant, or a trap (paper, sections 2.2 and G.6).

use foldglass::dynamics::chain::random_code;
use foldglass::{Code, Stream, Symbol};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ask, command};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartAsked {
    class: Vec<String>,
    how: How,
    #[serde(default)]
    seed: u64,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum How {
    Random,
    Ground,
    Constant,
    Trap,
}

/// Gives a code.
pub fn start(ask: &Ask<'_>, asked: &StartAsked) -> Result<Value, Refusal> {
    let known = ask.class(&asked.class)?;
    let class = &known.class;
    let code = match asked.how {
        // The code that chain 0 of the seed starts from.
        How::Random => random_code(class, &mut Stream::new(asked.seed, 0)),
        How::Ground => Code::fold(class),
        How::Constant => Code::from_fn(class, |_| (asked.seed % class.q() as u64) as Symbol),
        #[cfg(feature = "ways")]
        How::Trap => super::trap::trap(ask, &known, asked.seed)?,
        #[cfg(not(feature = "ways"))]
        How::Trap => return Err(super::not_here("start")),
    };
    Ok(json!({ "code": code.actions(), "code_file": command::code_file(&code) }))
}
